// Draws a moving density: cells, walls and exits, the sides of the grid, and the selected cell.

const DASHES = 90; // number of dashes along two sides of the grid together
const LEAST_MARK = 10; // pixels: smallest size of the frame around the selected cell

class FieldStage extends Stage {
  constructor(view, source, wish) {
    super(view, source, wish); // wish: {colour, cell}
    const { grid, n, home: { lower, upper } } = source.about;
    [this.walls, this.exits] = [maskOf(grid.walls, n), maskOf(grid.exits, n)];
    this.box = Float32Array.of(lower[0], lower[1], upper[0], upper[1]);
  }

  fits(gl) {
    return Math.max(...this.source.about.grid.shape) <= gl.getParameter(gl.MAX_TEXTURE_SIZE);
  }

  get gradient() {
    return this.palette.cellGradient;
  }

  marks() {
    const { grid } = this.source.about, { theme } = this.palette;
    return [["wall", grid.walls, theme.solid], ["exit", grid.exits, theme.exit]]
      .filter(([, there]) => there)
      .map(([name, , colour]) => [name, css(colour)]);
  }

  load() {
    if (!this.frame) return;
    this.loadCells();
    this.loadSides();
    this.repaint();
  }

  loadCells() {
    const { grid, n } = this.source.about, { cells, theme } = this.palette;
    const { recipe, range, steep } = this.wish.colour(), rung = ladderOf(range, steep), values = cellValues(recipe.name, this.frame, grid);
    const colours = new Uint32Array(n);
    const [wall, exit, none] = [theme.solid, theme.exit, theme.back].map(packed);
    for (let c = 0; c < n; c++) {
      const step = rung(values[c]);
      if (this.walls[c]) colours[c] = wall;
      else if (this.exits[c]) colours[c] = exit;
      else colours[c] = step >= 0 ? cells[step] : none;
    }
    this.painter.load("cells", this.box, colours, grid.shape[0]);
  }

  // Closed sides are solid lines, open sides are dashed, and the selected cell has a frame.
  loadSides() {
    const { closed } = this.source.about.grid, [left, bottom, right, top] = this.box, { theme } = this.palette;
    const lines = [], colours = [], [solid, faint] = [theme.wall, mixed([theme.back, theme.wall], 0.5)].map(packed);
    const add = (ends, width, colour) => {
      lines.push(ends[0], ends[1], 0, width, ends[2], ends[3], 0, 0);
      colours.push(colour);
    };
    const dash = (right - left + top - bottom) / DASHES;
    const side = (shut, x0, y0, x1, y1) => {
      if (shut) return add([x0, y0, x1, y1], 2.5, solid);
      const length = Math.hypot(x1 - x0, y1 - y0), count = 2 * Math.max(Math.round(length / dash / 2), 1) + 1;
      const at = (k) => [x0 + ((x1 - x0) * k) / count, y0 + ((y1 - y0) * k) / count];
      for (let k = 0; k < count; k += 2) add([...at(k), ...at(k + 1)], 1, faint);
    };
    side(closed[0][0], left, bottom, left, top);
    side(closed[0][1], right, bottom, right, top);
    side(closed[1][0], left, bottom, right, bottom);
    side(closed[1][1], left, top, right, top);
    const cell = this.wish.cell();
    if (cell !== null) {
      const mark = packed(theme.mark), short = LEAST_MARK / this.camera.scale - this.source.about.grid.h;
      const [a, b, c, d] = this.edges(cell).map((edge, k) => edge + ((k < 2 ? -1 : 1) * Math.max(short, 0)) / 2);
      for (const ends of [[a, b, c, b], [c, b, c, d], [c, d, a, d], [a, d, a, b]]) add(ends, 2.5, mark);
    }
    this.painter.load("walls", Float32Array.from(lines), Uint32Array.from(colours));
  }

  paint() {
    if (this.frame && this.wish.cell() !== null) this.loadSides(); // the size of the frame depends on the scale
    super.paint();
  }

  // The edges of a cell: left, bottom, right, top.
  edges(cell) {
    const { shape: [nx], h } = this.source.about.grid, i = cell % nx, j = Math.floor(cell / nx);
    return [this.box[0] + i * h, this.box[1] + j * h, this.box[0] + (i + 1) * h, this.box[1] + (j + 1) * h];
  }

  // The cell under a point of the page; null outside the grid.
  cellAt(x, y) {
    const { camera, source: { about: { grid: { shape: [nx, ny], h } } } } = this;
    const i = Math.floor((camera.target[0] + (x - camera.width / 2) / camera.scale - this.box[0]) / h);
    const j = Math.floor((camera.target[1] - (y - camera.height / 2) / camera.scale - this.box[1]) / h);
    return i >= 0 && i < nx && j >= 0 && j < ny ? i + nx * j : null;
  }
}
