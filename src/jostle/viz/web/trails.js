// Trails: the paths of all bodies over the last frames.

const TRAIL = 24; // largest number of frames
const MOST_LINES = 3e5; // largest number of lines, one per body and frame

// A function of a frame number that returns the lines up to that frame, oldest first: six numbers per line, both ends.
function trailsOf(source) {
  const kept = new Map(); // the lines from frame k - 1 to frame k
  let last = {};

  async function lines(k) {
    const [frame, next] = await Promise.all([source.frame(k - 1), source.frame(k)]), ends = [];
    const [way] = ways(frame, next, rowsIn(next, frame.number), source.about);
    for (let i = 0; i < way.length; i += 3) {
      const start = [...frame.q.subarray(i, i + 3)];
      if (norm(way, i / 3) > 0) ends.push(...start, ...start.map((x, a) => x + way[i + a]));
    }
    return { t: next.t, ends: Float32Array.from(ends) };
  }

  return async (k) => {
    const from = Math.max(k - Math.min(TRAIL, Math.floor(MOST_LINES / source.about.n)), 0);
    if (last.k === k && last.t === source.times[k]) return last.list;
    for (const old of kept.keys()) if (old <= from || old > k) kept.delete(old);
    const list = [];
    for (let j = from + 1; j <= k; j++) {
      if (kept.get(j)?.t !== source.times[j]) kept.set(j, await lines(j));
      list.push(kept.get(j).ends);
    }
    last = { k, t: source.times[k], list };
    return list;
  };
}
