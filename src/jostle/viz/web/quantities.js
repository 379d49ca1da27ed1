// What bodies may be coloured by: the same values as in quantities.py.

function valuesOf(key, frame, about) {
  const m = frame.number.length, out = new Float32Array(m), kind = key.slice(0, 1), axis = Number(key.slice(1));
  if (key.startsWith("given")) return frame.given[Number(key.slice(5))];
  if (key === "force") return frame.load;
  if (key === "contacts") return frame.touching;
  if (key === "radius") return frame.radius;
  if (key === "number") return frame.number;
  if (key === "speed") for (let i = 0; i < m; i++) out[i] = norm(frame.u, i);
  else if (key === "pressure") for (let i = 0; i < m; i++) out[i] = frame.load[i] / surface(frame.radius[i], about);
  else if (kind === "q") for (let i = 0; i < m; i++) out[i] = frame.q[3 * i + axis] + about.origin[axis];
  else for (let i = 0; i < m; i++) out[i] = frame.u[3 * i + axis];
  return out;
}

const surface = (r, about) => (about.dimension === 2 ? 2 * Math.PI * r : 4 * Math.PI * r * r);
const norm = (v, i) => Math.sqrt(v[3 * i] ** 2 + v[3 * i + 1] ** 2 + v[3 * i + 2] ** 2);

// What the contacts do to each body: load, the sum of all forces; touching, how many there are.
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
  return frame;
}

const usual = (x) => x === 0 || (Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5);
const short = (x) => (Number.isNaN(x) ? "unknown" : usual(x) ? String(+x.toPrecision(4)) : x.toExponential(2));
