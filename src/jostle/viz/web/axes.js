// Axes over the picture: in 2-D, coordinates along the lower and the left edge; in 3-D, the directions of x, y and z.

const TICKS = 140; // pixels: largest distance between two ticks
const ARROW = 34; // pixels: length of the arrows of x, y and z

function drawAxes(canvas, { camera, palette: { theme } }, about) {
  const { width, height } = camera, pen = penOn(canvas, width, height);
  const unit = about.units.length && ` (${about.units.length})`;
  [pen.strokeStyle, pen.fillStyle, pen.lineWidth] = [css(theme.wall), css(theme.wall), 1.5];
  const line = (a, b, c, d) => { pen.beginPath(); pen.moveTo(a, b); pen.lineTo(c, d); pen.stroke(); };
  const write = (text, x, y, align = "center") => {
    pen.save();
    [pen.textAlign, pen.textBaseline, pen.lineWidth, pen.strokeStyle] = [align, "middle", 4, css(theme.back)];
    pen.strokeText(text, x, y);
    pen.fillText(text, x, y);
    pen.restore();
  };
  if (!camera.flat) {
    const [right, up] = camera.axes(), [x, y] = [24 + ARROW, height - 60 - ARROW];
    ["x", "y", "z"].forEach((name, a) => {
      const [dx, dy] = [ARROW * right[a], -ARROW * up[a]];
      line(x, y, x + dx, y + dy);
      write(name, x + 1.3 * dx, y + 1.3 * dy);
    });
    return;
  }
  // Round coordinates between two ends, relative to the origin of the positions.
  const origin = about.origin ?? about.grid.lower.map((low, a) => low - about.home.lower[a]), step = nice(TICKS / camera.scale);
  const ticks = (a, length) => {
    const low = camera.target[a] + origin[a] - length / 2 / camera.scale, first = Math.ceil(low / step);
    const count = Math.max(Math.floor((low + length / camera.scale) / step) - first + 1, 0);
    return Array.from({ length: count }, (_, i) => [(first + i) * step, ((first + i) * step - low) * camera.scale]);
  };
  for (const [value, x] of ticks(0, width)) {
    line(x, height, x, height - 6);
    if (x > 60 && x < width - 60) write(short(value), x, height - 14);
  }
  write(`x${unit}`, width - 10, height - 14, "right");
  if (about.dimension < 2) return;
  for (const [value, y] of ticks(1, height)) {
    line(0, height - y, 6, height - y);
    if (y > 24 && y < height - 24) write(short(value), 10, height - y, "left");
  }
  write(`y${unit}`, 10, 12, "left");
}
