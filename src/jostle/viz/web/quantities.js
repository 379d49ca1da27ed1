// The values of a quantity, one per body. Python defines the list of quantities in quantities.py. A recipe is
//
//     {part: "sent" or "constant", index}    values that came with the frame, or once for all bodies
//     {part, axis, overSurface}              a part of the frame; for a vector, one component or the length (axis: null)

function valuesOf({ part, axis, index, overSurface }, frame, about) {
  if (part === "sent") return frame.sent[index];
  if (part === "constant") return frame.constant(index);
  const { number, body, q, u, radius, load, touching } = frame, origin = part === "x" ? about.origin : [0, 0, 0];
  const stored = { body, x: q, u, radii: radius, force: load, contacts: touching }[part], m = number.length;
  const vector = part === "x" || part === "u";
  if (!vector && !overSurface) return stored;
  const out = new Float32Array(m);
  for (let i = 0; i < m; i++) {
    const value = !vector ? stored[i] : axis === null ? norm(stored, i) : stored[3 * i + axis] + origin[axis];
    out[i] = overSurface ? value / surface(radius[i], about.dimension) : value;
  }
  return out;
}

const surface = (r, dimension) => [2, 2 * Math.PI * r, 4 * Math.PI * r * r][dimension - 1];
const norm = (v, i) => Math.sqrt(v[3 * i] ** 2 + v[3 * i + 1] ** 2 + v[3 * i + 2] ** 2);

// Sums over the contacts of each body: load is the sum of the forces, touching the number of contacts. All balls of a
// clump have those of their body.
function addLoads(frame) {
  const { number, contacts: { first, second, force } } = frame;
  frame.load = new Float32Array(number.length);
  frame.touching = new Float32Array(number.length);
  for (let c = 0; c < force.length; c++) {
    const i = first[c], j = second[c], size = Math.abs(force[c]);
    frame.load[i] += size;
    frame.touching[i]++;
    if (j < 0) continue;
    frame.load[j] += size;
    frame.touching[j]++;
  }
  if (frame.body !== number) for (const values of [frame.load, frame.touching]) {
    const sums = new Map();
    frame.body.forEach((b, i) => sums.set(b, (sums.get(b) ?? 0) + values[i]));
    frame.body.forEach((b, i) => { values[i] = sums.get(b); });
  }
  return frame;
}

const usual = (x) => x === 0 || (Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5);
const short = (x) => (Number.isNaN(x) ? "unknown" : usual(x) ? String(+x.toPrecision(4)) : x.toExponential(2));
