// The curve under the picture: one number per frame over time, with a mark at the time that is shown.

const MOST_POINTS = 400; // largest number of frames that are read for a curve in advance
const MOST_READ = 4e6; // bodies or cells: largest number, over all frames, that are read in advance
const CURVE_HEIGHT = 84, LEFT = 64, RIGHT = 16, ABOVE = 22, BELOW = 18; // pixels

// The numbers that can be drawn, the most telling first: {label, of}, where of(frame) is the number.
function curvesOf({ about, owner }) {
  if (about.grid) {
    const last = ({ recipe }) => recipe.name === "density"; // whose largest value is one in most frames
    return [...about.quantities].sort((a, b) => last(a) - last(b)).map(({ label, recipe: { name } }) => ({
      label: `largest ${label}`, of: (frame) => largest(cellValues(name, frame, about.grid)),
    }));
  }
  const { titles, contacts, exits, outline, quantities } = about, mass = quantities.find(({ name }) => name === "mass")?.recipe;
  const inside = outline?.length && { label: "people inside", of: ({ q, number }) => number.reduce((sum, _, i) => sum + isInside(q[3 * i], q[3 * i + 1], outline), 0) };
  const present = { label: exits.length ? "people present" : "bodies present", of: (frame) => (owner ? new Set(frame.body).size : frame.number.length) };
  const there = inside || present; // people who have left stay in the run for a few steps behind the exit
  const energy = mass && titles.energy && { label: titles.energy, of: (frame) => kineticEnergy(frame, valuesOf(mass, frame, about)) };
  const force = contacts && { label: `largest contact ${titles.force}`, of: (frame) => largest(frame.contacts.force) };
  return (exits.length ? [there, force, energy] : [energy, force, there]).filter(Boolean);
}

// Whether a point is inside an area, by the number of sides of its rings to the right of the point.
function isInside(x, y, rings) {
  let inside = false;
  for (const ring of rings) {
    for (let k = 0, last = ring.length - 2; k < ring.length; last = k, k += 2) {
      const [x0, y0, x1, y1] = [ring[last], ring[last + 1], ring[k], ring[k + 1]];
      if (y0 > y !== y1 > y && x < x0 + ((x1 - x0) * (y - y0)) / (y1 - y0)) inside = !inside;
    }
  }
  return inside;
}

// The largest size of a number; 0 if there are none.
const largest = (values) => values.reduce((most, value) => (Math.abs(value) > most ? Math.abs(value) : most), 0);
const kineticEnergy = ({ u }, mass) => mass.reduce((sum, m, i) => sum + 0.5 * m * norm(u, i) ** 2, 0);

// chosen(): the number of the curve, -1 for none; goTo(k): show a frame; own: the curve of what is selected.
function curveUnder($, stage, source, chosen, goTo, own) {
  const curves = [...curvesOf(source), own], known = new Map(), canvas = $("plot"); // known: {t, values} of each frame that was read
  let now = 0, reading = false, ended = false;

  const has = (k) => known.get(k)?.t === source.times[k];
  const add = (k, frame) => has(k) || known.set(k, { t: source.times[k], values: curves.map(({ of }) => of(frame)) });
  const numbers = () => [...known.keys()].filter(has).sort((a, b) => a - b);

  // Every first, second, fourth ... frame and the last one, within the limits.
  function needed() {
    const { about: { n }, count } = source, most = Math.max(Math.min(MOST_POINTS, MOST_READ / (n || 1)), 8);
    const stride = 2 ** Math.max(Math.ceil(Math.log2(count / most)), 0);
    return Array.from({ length: Math.ceil(count / stride) }, (_, i) => i * stride).concat(count - 1).filter((k) => !has(k));
  }

  async function read() {
    if (reading || chosen() < 0) return;
    reading = true;
    try {
      for (let list = needed(); list.length && chosen() >= 0 && !ended; list = needed()) {
        for (const until = performance.now() + 30; list.length && performance.now() < until;) {
          const k = list.shift();
          add(k, await source.frame(k));
        }
        draw();
        await new Promise((done) => setTimeout(done)); // the page reacts in between
      }
    } catch {
      // the page tells the error when it shows the frame
    } finally {
      reading = false;
    }
  }

  function area() {
    const { clientWidth: width } = canvas, [first, last] = [source.times[0], source.times[source.count - 1]];
    const x = (t) => LEFT + ((width - LEFT - RIGHT) * (t - first)) / (last - first || 1);
    return { width, first, last, x };
  }

  function draw() {
    if (ended || chosen() < 0 || !canvas.clientWidth) return;
    const { width, first, last, x } = area(), c = chosen(), found = numbers(), { theme } = stage.palette;
    const values = found.map((k) => known.get(k).values[c]), finite = values.filter(Number.isFinite);
    const low = Math.min(0, ...finite), top = Math.max(low, ...finite), high = top > low ? top : low + 1;
    const y = (value) => CURVE_HEIGHT - BELOW - ((CURVE_HEIGHT - ABOVE - BELOW) * (value - low)) / (high - low);
    const pen = penOn(canvas, width, CURVE_HEIGHT), line = (colour, thick, ...points) => {
      pen.beginPath();
      [pen.strokeStyle, pen.lineWidth] = [css(colour), thick];
      points.forEach(([a, b]) => (Number.isFinite(b) ? pen.lineTo(a, b) : 0));
      pen.stroke();
    };
    const faint = mixed([theme.back, theme.wall], 0.3), at = known.get(found.findLast((k) => source.times[k] <= now));
    line(faint, 1, [LEFT, y(low)], [width - RIGHT, y(low)]);
    line(faint, 1, [LEFT, y(high)], [LEFT, y(low)]);
    line(theme.wall, 1.6, ...found.map((k, i) => [x(source.times[k]), y(values[i])]));
    line(theme.mark, 2, [x(now), ABOVE - 4], [x(now), CURVE_HEIGHT - BELOW]);
    const some = found.length < source.count ? `, ${found.length} of ${source.count} frames` : "";
    const value = at ? short(at.values[c]) : "unknown", unit = source.about.units.time;
    pen.fillStyle = css(theme.wall);
    const write = (text, a, b, align) => { pen.textAlign = align; pen.fillText(text, a, b); };
    write(`${curves[c].label}: ${value}${some}`, LEFT, 12, "left");
    write(short(high), LEFT - 6, y(high) + 6, "right");
    write(short(low), LEFT - 6, y(low) + 2, "right");
    write(`t = ${short(first)}`, LEFT, CURVE_HEIGHT - 4, "left");
    write(`${short(last)}${unit && ` ${unit}`}`, width - RIGHT, CURVE_HEIGHT - 4, "right");
    canvas.setAttribute("aria-label", `${curves[c].label} from ${short(low)} to ${short(top)}, now ${value}`);
  }

  canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); point(event); });
  canvas.addEventListener("pointermove", (event) => event.buttons & 1 && point(event));
  function point({ clientX }) {
    const { x } = area(), at = clientX - canvas.getBoundingClientRect().left;
    goTo(source.times.reduce((best, t, k) => (Math.abs(x(t) - at) < Math.abs(x(source.times[best]) - at) ? k : best), 0));
  }

  return {
    curves, draw, read,
    // Draw the mark at a time; the frame adds a point.
    show(k, frame, t) {
      now = t;
      if (chosen() < 0) return;
      add(k, frame);
      draw();
    },
    // The curve of what is selected shows something else from now on.
    renew() {
      if (curves[chosen()] !== own) return;
      known.clear();
      if (stage.saved) add(source.times.indexOf(stage.saved.t), stage.saved);
      draw();
      return read();
    },
    end() { ended = true; },
  };
}

// The pen of an empty canvas for drawings and words, in CSS pixels, with the font of an element.
function penOn(canvas, width, height, like = canvas) {
  const ratio = window.devicePixelRatio || 1, pen = canvas.getContext("2d");
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = `12px ${getComputedStyle(like).fontFamily}`;
  pen.lineJoin = "round";
  return pen;
}
