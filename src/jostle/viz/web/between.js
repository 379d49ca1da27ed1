// Pictures between two saved frames, for smooth playback. Positions, axes, walls and cells move linearly from one frame
// to the next. Velocities and forces remain those of the earlier frame.

const JUMP = 2; // a body that is farther away than this many times the largest speed allows does not move linearly

// A function of the elapsed part of the time between two frames, 0 <= part < 1, that returns the frame to draw.
function between(frame, next, about) {
  if (about.grid) return (part) => ({
    ...frame, u: frame.u?.map((values, a) => mix(values, next.u[a], part)),
    fields: Object.fromEntries(Object.entries(frame.fields).map(([name, values]) => [name, mix(values, next.fields[name], part)])),
  });
  const rows = rowsIn(next, frame.number), [way, shift] = ways(frame, next, rows, about), { axes, walls, q } = frame;
  const sameWalls = walls === next.walls || walls.length !== next.walls.length;
  return (part) => ({
    ...frame,
    q: q.map((x, k) => x + part * way[k] + (part < 0.5 ? 0 : shift[k])),
    axes: axes && turnedAxes(axes, next.axes, rows, part, about.d),
    walls: sameWalls ? walls : mix(walls, next.walls, part),
  });
}

const mix = (a, b, part) => a.map((x, k) => x + part * (b[k] - x));

// The row of each body in a frame; -1 for absent bodies.
function rowsIn(frame, numbers) {
  if (frame.number === numbers) return Int32Array.from(numbers, (_, i) => i);
  const row = new Map();
  frame.number.forEach((one, i) => row.set(one, i));
  return Int32Array.from(numbers, (one) => row.get(one) ?? -1);
}

// The displacement of each body until the next frame, and its shift where it crosses the end of a periodic cell, in the
// middle of the time. Bodies that leave, and people who take stairs, wait.
function ways({ t, q, u, radius }, next, rows, { period }) {
  const way = new Float32Array(q.length), shift = new Float32Array(q.length);
  let fast = 0;
  for (const speeds of [u, next.u]) for (let i = 0; i < speeds.length / 3; i++) fast = Math.max(fast, norm(speeds, i));
  const reach = JUMP * fast * (next.t - t);
  for (let i = 0; i < rows.length; i++) {
    if (rows[i] < 0) continue;
    for (let a = 0; a < 3; a++) {
      const apart = next.q[3 * rows[i] + a] - q[3 * i + a], turns = period[a] ? Math.round(apart / period[a]) : 0;
      shift[3 * i + a] = turns * (period[a] ?? 0);
      way[3 * i + a] = apart - shift[3 * i + a];
    }
    if (norm(way, i) > reach + radius[i]) for (const moves of [way, shift]) moves.fill(0, 3 * i, 3 * i + 3);
  }
  return [way, shift];
}

// The axes of bodies that turn, as unit vectors with d components.
function turnedAxes(axes, next, rows, part, d) {
  const out = axes.slice(), each = d * d;
  for (let i = 0; i < rows.length; i++) {
    if (rows[i] < 0) continue;
    for (let k = 0; k < each; k += d) {
      let square = 0;
      for (let a = k; a < k + d; a++) {
        out[each * i + a] += part * (next[each * rows[i] + a] - axes[each * i + a]);
        square += out[each * i + a] ** 2;
      }
      for (let a = k; a < k + d; a++) out[each * i + a] /= Math.sqrt(square) || 1;
    }
  }
  return out;
}
