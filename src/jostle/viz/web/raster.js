// A painter that needs no graphics card: it writes balls and lines into the pixels one by one. With many bodies, this
// is faster than the 2-D canvas of the browser and than WebGL on the processor. It takes the same arrays as webgl.js.

const SHADES = 64; // number of steps across a ball in the table of its shading
const SUN = [-0.45, 0.65, 0.75].map((part) => part / Math.hypot(0.45, 0.65, 0.75));

class RasterPainter {
  constructor(context) {
    this.context = context;
    this.balls = this.bars = this.walls = { numbers: new Float32Array(0), colours: new Uint32Array(0) };
    [this.shade, this.height] = [new Float32Array(SHADES * SHADES), new Float32Array(SHADES * SHADES).fill(-1)];
    for (let k = 0; k < SHADES * SHADES; k++) {
      const x = (2 * ((k % SHADES) + 0.5)) / SHADES - 1, y = 1 - (2 * (Math.floor(k / SHADES) + 0.5)) / SHADES;
      const h = Math.sqrt(1 - x * x - y * y);
      if (!(h >= 0)) continue;
      const lit = Math.max(x * SUN[0] + y * SUN[1] + h * SUN[2], 0);
      [this.shade[k], this.height[k]] = [Math.min((0.54 + 0.56 * lit) * (0.76 + 0.24 * h), 1), h];
    }
  }

  load(what, numbers, colours, width = 0) {
    this[what] = { numbers, colours, width };
  }

  paint(camera, { theme, picked, forces }) {
    const { width, height } = this.context.canvas, ratio = width / camera.width;
    if (this.image?.width !== width || this.image.height !== height) {
      this.image = this.context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.bytes = this.image.data;
      this.depth = camera.flat ? null : new Float32Array(width * height);
    }
    this.pixels.fill(packed(theme.back));
    this.depth?.fill(-Infinity);
    const [right, up, eye] = camera.axes(), [a, b, c] = camera.target, s = ratio * camera.scale;
    const [x0, y0] = [width / 2, height / 2];
    this.place = (x, y, z, out) => {
      const dx = x - a, dy = y - b, dz = z - c;
      out[0] = x0 + s * (dx * right[0] + dy * right[1] + dz * right[2]);
      out[1] = y0 - s * (dx * up[0] + dy * up[1] + dz * up[2]);
      out[2] = s * (dx * eye[0] + dy * eye[1] + dz * eye[2]);
    };
    if (this.cells) drawCells(this, this.cells);
    this.drawBalls(s, picked, camera.flat, theme);
    this.drawLines(this.walls, this.depth, (wide) => wide * ratio);
    if (forces) this.drawLines(this.bars, null, (wide) => Math.max(wide * s, 0.4));
    this.context.putImageData(this.image, 0, 0);
  }

  drawBalls(s, picked, flat, theme) {
    const { numbers, colours } = this.balls, at = new Float64Array(3), { width, height } = this.image;
    const [edge, mark] = [theme.wall, theme.mark].map((colour) => colour.map((part) => 255 * part));
    const tone = new Uint8Array(colours.buffer, colours.byteOffset, colours.byteLength), rim = [0, 0, 0];
    for (let i = 0; i < colours.length; i++) {
      this.place(numbers[4 * i], numbers[4 * i + 1], numbers[4 * i + 2], at);
      const r = Math.max(numbers[4 * i + 3] * s, 0.7), [x, y] = at;
      if (x + r < 0 || y + r < 0 || x - r > width || y - r > height) continue;
      const chosen = i === picked;
      if (!flat) {
        this.sphere(x, y, at[2], r, tone, 4 * i, chosen ? mark : null);
        continue;
      }
      const thick = chosen ? Math.max(0.2 * r, 3) : r < 2.5 || tone[4 * i + 3] === 254 ? 0 : Math.min(1.2, 0.14 * r);
      for (let c = 0; c < 3; c++) rim[c] = chosen ? mark[c] : 0.5 * (tone[4 * i + c] + edge[c]);
      this.disc(x, y, r, colours[i], tone, 4 * i, rim, thick);
    }
  }

  // Draw a disc with smooth edges and a rim of another colour.
  disc(x, y, r, colour, tone, t, rim, thick) {
    const { pixels } = this, { width, height } = this.image, outer = (r + 0.5) ** 2;
    const inside = Math.max(r - thick - 0.5, 0), inner = inside * inside;
    const last = Math.min(Math.floor(y + r), height - 1);
    for (let row = Math.max(Math.floor(y - r), 0); row <= last; row++) {
      const dy = row + 0.5 - y, wide = Math.sqrt(Math.max(outer - dy * dy, 0)), deep = inner - dy * dy;
      const solid = deep > 0 ? Math.sqrt(deep) : -1, end = Math.min(Math.floor(x + wide), width - 1);
      const [from, to] = [Math.ceil(x - solid - 0.5), Math.floor(x + solid - 0.5)];
      for (let column = Math.max(Math.floor(x - wide), 0); column <= end; column++) {
        if (solid >= 0 && column >= from && column <= to) {
          const stop = Math.min(to, end);
          pixels.fill(colour, row * width + column, row * width + stop + 1);
          column = stop;
          continue;
        }
        const dx = column + 0.5 - x, distance = Math.sqrt(dx * dx + dy * dy), cover = Math.min(r + 0.5 - distance, 1);
        if (cover <= 0) continue;
        const own = thick ? Math.min(Math.max(r - thick + 0.5 - distance, 0), 1) : 1;
        this.blend(row * width + column, cover, own, tone[t], tone[t + 1], tone[t + 2], rim);
      }
    }
  }

  blend(pixel, cover, own, red, green, blue, rim) {
    const { bytes } = this, k = 4 * pixel;
    bytes[k] += cover * (rim[0] + own * (red - rim[0]) - bytes[k]);
    bytes[k + 1] += cover * (rim[1] + own * (green - rim[1]) - bytes[k + 1]);
    bytes[k + 2] += cover * (rim[2] + own * (blue - rim[2]) - bytes[k + 2]);
  }

  sphere(x, y, z, r, tone, t, mark) {
    const { pixels, depth, shade, height: dome } = this, { width, height } = this.image, step = SHADES / (2 * r);
    const last = Math.min(Math.floor(y + r), height - 1), end = Math.min(Math.floor(x + r), width - 1);
    const [red, green, blue] = mark ?? [tone[t], tone[t + 1], tone[t + 2]];
    const hole = mark ? (1 - Math.max(0.2, 3 / r)) ** 2 : -1;
    for (let row = Math.max(Math.floor(y - r), 0); row <= last; row++) {
      const v = Math.floor((row + 0.5 - y + r) * step);
      if (v < 0 || v >= SHADES) continue;
      for (let column = Math.max(Math.floor(x - r), 0); column <= end; column++) {
        const u = Math.floor((column + 0.5 - x + r) * step), pixel = row * width + column;
        if (u < 0 || u >= SHADES) continue;
        const h = dome[v * SHADES + u], near = z + r * h;
        if (h < 0 || near <= depth[pixel]) continue;
        depth[pixel] = near;
        if (mark && 1 - h * h < hole) {
          const k = shade[v * SHADES + u];
          pixels[pixel] = (255 << 24) | ((tone[t + 2] * k) << 16) | ((tone[t + 1] * k) << 8) | (tone[t] * k);
          continue;
        }
        const k = mark ? 1 : shade[v * SHADES + u];
        pixels[pixel] = (255 << 24) | ((blue * k) << 16) | ((green * k) << 8) | (red * k);
      }
    }
  }

  // Draw lines in steps of a pixel along the longer side; if depths are given, nearer balls hide them.
  drawLines({ numbers, colours }, depth, width) {
    const a = new Float64Array(3), b = new Float64Array(3), { bytes, image: { width: columns, height: rows } } = this;
    const tone = new Uint8Array(colours.buffer, colours.byteOffset, colours.byteLength);
    for (let c = 0; c < colours.length; c++) {
      this.place(numbers[8 * c], numbers[8 * c + 1], numbers[8 * c + 2], a);
      this.place(numbers[8 * c + 4], numbers[8 * c + 5], numbers[8 * c + 6], b);
      const flat = Math.abs(b[0] - a[0]) >= Math.abs(b[1] - a[1]), m = flat ? 0 : 1, forward = a[m] <= b[m];
      const start = forward ? a[m] : b[m], side = forward ? a[1 - m] : b[1 - m], deep = forward ? a[2] : b[2];
      const length = Math.abs(b[m] - a[m]), sign = (forward ? 1 : -1) / (length || 1);
      const slope = (b[1 - m] - a[1 - m]) * sign, rise = (b[2] - a[2]) * sign;
      const full = width(numbers[8 * c + 3]), cover = Math.min(full, 1);
      const half = 0.5 * Math.max(full, 1) * Math.sqrt(1 + slope * slope);
      const last = Math.min(Math.ceil(start + length), flat ? columns : rows) - 1, most = (flat ? rows : columns) - 1;
      const red = tone[4 * c], green = tone[4 * c + 1], blue = tone[4 * c + 2];
      for (let i = Math.max(Math.floor(start), 0); i <= last; i++) {
        const along = Math.min(Math.max(i + 0.5 - start, 0), length), middle = side + slope * along;
        const low = middle - half, high = middle + half, end = Math.min(Math.floor(high), most);
        for (let j = Math.max(Math.floor(low), 0); j <= end; j++) {
          const part = cover * (Math.min(high - j, 1) - Math.max(low - j, 0));
          const pixel = flat ? j * columns + i : i * columns + j;
          if (part <= 0 || (depth && deep + rise * along < depth[pixel])) continue;
          const k = 4 * pixel;
          bytes[k] += part * (red - bytes[k]);
          bytes[k + 1] += part * (green - bytes[k + 1]);
          bytes[k + 2] += part * (blue - bytes[k + 2]);
        }
      }
    }
  }
}
