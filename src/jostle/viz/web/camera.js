// Camera with a parallel projection, so that lengths can be compared everywhere. In 2-D the camera moves; in 3-D it
// rotates around a point. Angles are in radians, lengths on the page in CSS pixels.

const CLEARLY = 1.2; // ratio of sizes

class Camera {
  constructor(flat, home) {
    this.flat = flat;
    this.home = home;
    this.width = this.height = 1;
    this.reset();
  }

  // Shows the whole home box. In 2-D it is moved below a legend at the top right if it would lie behind the legend, or
  // to the left of it if that shows the box clearly larger. `cover` is the width and the height of the legend's corner.
  // In 3-D the camera rotates around the middle of the box, which stays in the middle of the view.
  reset(cover = [0, 0]) {
    const { lower, upper } = this.home;
    this.target = lower.map((low, a) => (low + upper[a]) / 2);
    [this.turn, this.rise] = this.flat ? [0, Math.PI / 2] : [0.49, 0.28];
    this.whole = this.extent();
    this.nearness = 0.86;
    const [w, h] = this.whole, { width, height, scale } = this, [right, top] = cover;
    const fitting = Math.min(width / w, height / h);
    if (!this.flat || w * scale <= width - 2 * right || h * scale <= height - 2 * top || fitting === Infinity) return;
    const beside = Math.min((width - right) / w, height / h), below = Math.min(width / w, (height - top) / h);
    const left = beside > CLEARLY * below;
    this.nearness *= (left ? beside : below) / fitting;
    this.pan(...(left ? [-right / 2, 0] : [0, top / 2]));
  }

  // Look along x, along y from the front, or along z from above, at the whole box.
  look(axis) {
    this.reset();
    [this.turn, this.rise] = [[Math.PI / 2, 0], [0, 0], [0, Math.PI / 2]][axis];
    this.whole = this.extent();
  }

  resize(width, height) {
    [this.width, this.height] = [width, height];
  }

  // Pixels per unit of length.
  get scale() {
    const fitting = Math.min(this.width / this.whole[0], this.height / this.whole[1]);
    return this.nearness * (fitting < Infinity ? fitting : 1);
  }

  // Width and height of the home box on the page, in the units of the box.
  extent() {
    const half = this.home.upper.map((high, a) => (high - this.home.lower[a]) / 2);
    return this.axes().map((axis) => 2 * axis.reduce((sum, part, a) => sum + Math.abs(part) * half[a], 0));
  }

  // Unit vectors to the right, upwards and towards the camera.
  axes() {
    const [c, s, C, S] = [Math.cos(this.turn), Math.sin(this.turn), Math.cos(this.rise), Math.sin(this.rise)];
    return [[c, s, 0], [-S * s, S * c, C], [C * s, -C * c, S]];
  }

  // Positions of points on the page: x, y, and the depth towards the camera.
  projection() {
    const [right, up, eye] = this.axes(), [a, b, c] = this.target, { scale, width, height } = this;
    return (x, y, z) => {
      const dx = x - a, dy = y - b, dz = z - c;
      return [
        width / 2 + scale * (dx * right[0] + dy * right[1] + dz * right[2]),
        height / 2 - scale * (dx * up[0] + dy * up[1] + dz * up[2]),
        dx * eye[0] + dy * eye[1] + dz * eye[2],
      ];
    };
  }

  pan(dx, dy) {
    const [right, up] = this.axes();
    this.target = this.target.map((x, a) => x - (dx * right[a] - dy * up[a]) / this.scale);
  }

  orbit(dx, dy) {
    this.turn -= 0.008 * dx;
    this.rise = Math.min(Math.max(this.rise + 0.008 * dy, -Math.PI / 2), Math.PI / 2);
  }

  // Zoom while the point under (x, y) stays in place.
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    this.pan(this.width / 2 - x, this.height / 2 - y);
    this.nearness *= factor;
    this.pan(x - this.width / 2, y - this.height / 2);
  }
}
