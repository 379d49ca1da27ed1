// Finds the body or the contact under a point of the page, and the values that the panel shows for it.

const NEAR = 5; // pixels: a press that moves less than this is a click, and a body counts as at least this large
const LONG = 14; // pixels: bars shorter than this cannot be selected

// The row of the body under a point of the page that is nearest to the camera; -1 for none.
function bodyAt({ camera, frame }, x, y) {
  const place = camera.projection();
  let best = -1, front = -Infinity;
  for (let i = 0; i < frame.number.length; i++) {
    const [a, b, depth] = place(frame.q[3 * i], frame.q[3 * i + 1], frame.q[3 * i + 2]);
    const r = Math.max(frame.radius[i], NEAR / camera.scale), away = Math.hypot(a - x, b - y) / camera.scale;
    const surface = camera.flat ? -away / r : depth + Math.sqrt(Math.max(r * r - away * away, 0));
    if (away <= r && surface > front) [best, front] = [i, surface];
  }
  return best;
}

// The contact whose bar is nearest to the point, in the middle of the bar (for a wall: up to its end); -1 for none.
function contactAt(stage, x, y) {
  const { camera, frame: { q, contacts: { first, second, force } } } = stage;
  const place = camera.projection(), apart = new Float32Array(3);
  let best = -1, nearest = NEAR;
  for (let c = 0; c < force.length; c++) {
    const across = stage.apart(c, apart);
    for (let end = 0; end <= across; end++) {
      const i = end ? second[c] : first[c], sign = end ? -1 : 1, from = [0, 1, 2].map((a) => q[3 * i + a]);
      const [a, b] = place(...from), [e, f] = place(...from.map((p, k) => p + sign * apart[k]));
      const length = Math.hypot(e - a, f - b), s = ((x - a) * (e - a) + (y - b) * (f - b)) / (length * length);
      if (length < LONG || s < 0.3 || s > (second[c] < 0 ? 1.05 : 0.7)) continue;
      const off = Math.abs((x - a) * (f - b) - (y - b) * (e - a)) / length;
      if (off < nearest) [best, nearest] = [c, off];
    }
  }
  return best;
}

// Contacts of a frame as body numbers instead of rows: [first, second], second < 0 for a wall.
function namesOf({ number, contacts: { first, second } }, c) {
  return [number[first[c]], second[c] < 0 ? second[c] : number[second[c]]];
}

// What a ball, by its number, or a wall is called; as `Bodies.name` in Python.
function nameOf({ owner, about: { called } }, number) {
  if (number < 0) return `wall ${-1 - number}`;
  return owner ? `${called} ${owner[number]}, ball ${number - owner.indexOf(owner[number])}` : `${called} ${number}`;
}

function rowOfContact(frame, pair) {
  const { force } = frame.contacts;
  for (let c = 0; c < force.length; c++) {
    const [i, j] = namesOf(frame, c);
    if ((i === pair[0] && j === pair[1]) || (i === pair[1] && j === pair[0])) return c;
  }
  return -1;
}

// The contacts of a body, or of all bodies, strongest first, up to a given number.
function strongest(frame, number, most = 1000) {
  const { force } = frame.contacts, found = [];
  for (let c = 0; c < force.length; c++) if (number === null || namesOf(frame, c).includes(number)) found.push(c);
  return found.sort((a, b) => Math.abs(force[b]) - Math.abs(force[a])).slice(0, most);
}

function bodyFacts(frame, about, i) {
  const parts = (v) => [...v.subarray(3 * i, 3 * i + about.dimension)];
  const point = (v, from = [0, 0, 0]) => parts(v).map((x, a) => short(x + from[a])).join(", ");
  const told = ({ recipe, categories }) => {
    if (recipe.part === "radii" && about.points) return "none";
    const value = valuesOf(recipe, frame, about)[i];
    return categories.length ? categories[value] ?? "none" : short(value);
  };
  const scalars = about.quantities.filter(({ recipe: { part, axis } }) => part !== "body" && !Number.isInteger(axis));
  return [
    [about.titles.position, point(frame.q, about.origin)], [about.titles.velocity, point(frame.u)],
    ...scalars.map((quantity) => [quantity.label, told(quantity)]),
    ...(about.contacts ? [] : [["contacts", "not saved"]]),
  ];
}

// The distance of two bodies between their centres and between their surfaces, to the nearest image of a periodic cell.
function distanceFacts(source, { q, radius }, i, j, number) {
  const { period } = source.about, apart = [0, 1, 2].map((a) => {
    const way = q[3 * j + a] - q[3 * i + a];
    return period[a] ? way - Math.round(way / period[a]) * period[a] : way;
  });
  const length = Math.hypot(...apart), to = nameOf(source, number);
  return [[`distance to ${to}`, short(length)], [`gap to ${to}`, short(length - radius[i] - radius[j])]];
}

function contactFacts(stage, about, c) {
  const { saved: frame } = stage, { force, first } = frame.contacts, way = new Float32Array(3), i = first[c];
  stage.apart(c, way, frame);
  const length = Math.hypot(...way) || 1, axes = [0, 1, 2].slice(0, about.dimension);
  const at = axes.map((a) => short(frame.q[3 * i + a] + about.origin[a] + (frame.radius[i] * way[a]) / length));
  const wall = about.wall_names[-1 - frame.contacts.second[c]];
  return [
    [about.titles.force, short(force[c])], [about.titles.at, at.join(", ")],
    ["direction", axes.map((a) => short(way[a] / length)).join(", ")],
    ...(wall ? [["wall", wall]] : []),
  ];
}

function element(tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

// Write names and values into the panel of the selection.
function tellFacts($, facts) {
  $("picked-facts").replaceChildren(...facts.flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
}
