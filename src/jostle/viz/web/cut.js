// The cutting plane in 3-D: balls whose centre lies on one side of a plane across x, y or z are hidden.

const CUTS = ["none", "x <", "x >", "y <", "y >", "z <", "z >"]; // the bodies that remain visible

// The plane {axis, sign, at}; null without a cut. part: its place in the box of the first view, between 0 and 1.
function cutAt(choice, part, { lower, upper }) {
  if (choice < 1) return null;
  const axis = (choice - 1) >> 1;
  return { axis, sign: choice % 2 ? 1 : -1, at: lower[axis] + part * (upper[axis] - lower[axis]) };
}

// The frame without the hidden balls: their position is NaN, so that they are neither drawn nor found.
function cutFrame(frame, cut) {
  if (!cut) return frame;
  const q = frame.q.slice();
  for (let i = 0; i < q.length; i += 3) if (cut.sign * (q[i + cut.axis] - cut.at) > 0) q.fill(NaN, i, i + 3);
  return { ...frame, q };
}

// The lines, six numbers each, without those that end on the hidden side.
function cutLines(lines, cut) {
  if (!cut) return lines;
  const hidden = (k) => cut.sign * (lines[6 * Math.floor(k / 6) + 3 + cut.axis] - cut.at) > 0;
  return lines.filter((_, k) => !hidden(k));
}

// The outline of the plane in the box: four lines, six numbers each.
function outlineOf({ axis, at }, { lower, upper }) {
  const [b, c] = [0, 1, 2].filter((a) => a !== axis);
  const corners = [[lower, lower], [upper, lower], [upper, upper], [lower, upper]].map(([one, two]) => {
    const point = [0, 0, 0];
    [point[axis], point[b], point[c]] = [at, one[b], two[c]];
    return point;
  });
  return corners.flatMap((point, k) => [...point, ...corners[(k + 1) % 4]]);
}
