// The scene: turns a frame into balls, bars and walls for a painter, and holds the camera.

const WIDEST = { 2: 0.34, 3: 0.15 }; // width of a strong force's bar in 2-D and 3-D, over the median diameter
const EXIT_WIDTH = 5, TRAIL_WIDTH = 1.5; // pixels
const SPOT = { 2: [0.2, 0.62], 3: [0.24, 0.8] }; // radius and place of the spots of balls that turn, over the radius
const DARK = 110; // mean of red, green and blue up to which a ball has light spots
const NO_RIM = 0xfeffffff; // the last byte of a colour is 254 for a disc without a rim
const MANY = 2000; // bodies or cells: above this number, our own raster replaces WebGL if WebGL runs on the processor
const ON_THE_PROCESSOR = /swiftshader|llvmpipe|softpipe|software|basic render/i;

class Stage {
  constructor(view, source, wish) {
    [this.view, this.source, this.wish] = [view, source, wish]; // wish: {colour, forces, body, contact}
    this.camera = new Camera(source.about.d === 2, source.about.home);
    this.frame = this.saved = null; // what is drawn, which may lie between two frames, and the saved frame
    [this.trail, this.cut] = [[], null]; // lines of trails, oldest first, and the cutting plane
    this.due = false;
    this.painted = () => {}; // called after each picture
  }

  // light: true, false, or null to choose the better one. Returns the choice: "webgl", "light", or "none" for no WebGL.
  choosePainter(light) {
    let canvas = document.createElement("canvas"), found = "light";
    const gl = light === true ? null : canvas.getContext("webgl2", { antialias: true, alpha: false });
    const quick = gl && (light === false || this.source.about.n < MANY || !ON_THE_PROCESSOR.test(rendererOf(gl)));
    if (quick && this.fits(gl)) {
      this.painter = new WebGLPainter(gl);
      canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
      canvas.addEventListener("webglcontextrestored", () => { this.painter = new WebGLPainter(gl); this.load(); });
      found = "webgl";
    } else {
      if (!gl && light !== true) found = "none";
      gl?.getExtension("WEBGL_lose_context")?.loseContext();
      canvas = document.createElement("canvas");
      this.painter = new RasterPainter(canvas.getContext("2d", { alpha: false }));
    }
    this.canvas = canvas;
    this.sharpest = found === "webgl" ? Infinity : 1;
    this.view.replaceChildren(canvas);
    this.fit();
    return found;
  }

  // Tells whether the scene fits into WebGL's textures.
  fits() {
    return true;
  }

  // Names and colours that the legend shows beside the scale.
  marks() {
    return this.source.about.exits?.length ? [["exit", css(this.palette.theme.exit)]] : [];
  }

  get gradient() {
    return this.palette.gradient;
  }

  chooseColours(night) {
    this.palette = palette(night);
  }

  fit() {
    const ratio = Math.min(window.devicePixelRatio || 1, this.sharpest), { clientWidth, clientHeight } = this.view;
    if (!clientWidth || !clientHeight) return;
    const size = [clientWidth, clientHeight].map((side) => Math.round(side * ratio));
    if (this.canvas.width !== size[0] || this.canvas.height !== size[1]) [this.canvas.width, this.canvas.height] = size;
    this.camera.resize(clientWidth, clientHeight);
    if (this.frame) this.paint();
  }

  load() {
    if (!this.frame) return;
    this.loadBodies();
    this.barsAreOld = true; // bars are made when they are shown
    this.loadWalls();
    this.repaint();
  }

  loadBodies() {
    const { number, q, radius } = this.frame, m = number.length, { bodies, theme, categories } = this.palette;
    const { recipe, range, steep, categories: { length } } = this.wish.colour(), rung = ladderOf(range, steep);
    const values = valuesOf(recipe, this.frame, this.source.about);
    const balls = new Float32Array(4 * m), colours = new Uint32Array(m);
    const unknown = packed(mixed([theme.back, theme.wall], 0.4));
    for (let i = 0; i < m; i++) {
      balls[4 * i] = q[3 * i];
      balls[4 * i + 1] = q[3 * i + 1];
      balls[4 * i + 2] = q[3 * i + 2];
      balls[4 * i + 3] = radius[i];
      const step = rung(values[i]);
      if (length) colours[i] = values[i] >= 0 ? packed(categories[values[i] % categories.length]) : unknown;
      else colours[i] = step >= 0 ? bodies[step] : unknown;
    }
    const outlined = this.camera.flat && this.source.owner ? this.outlined(balls, colours) : [balls, colours];
    this.before = outlined[1].length - m; // balls that come before those of the rows
    const spots = this.spots(colours);
    this.painter.load("balls", ...[spots[0], spots[1]].map((more, k) => joinedArrays(outlined[k], more)));
  }

  // Discs of clumps: all outlines first, and above them the discs without rims, so that a clump looks like one body.
  outlined(balls, colours) {
    const { theme } = this.palette, edge = packed(mixed([theme.back, theme.wall], 0.7)) & NO_RIM;
    const rim = 0.08 * this.source.about.median;
    const inner = balls.map((x, k) => (k % 4 === 3 ? Math.max(x - rim, 0.7 * x) : x));
    return [joinedArrays(balls, inner), joinedArrays(colours.map(() => edge >>> 0), colours.map((c) => (c & NO_RIM) >>> 0))];
  }

  // Spots on balls that turn and are not part of a clump: one on a disc, six on a sphere; dark ones on light balls.
  spots(colours) {
    const { axes, q, radius, body } = this.frame, { d } = this.source.about;
    if (!axes) return [new Float32Array(0), new Uint32Array(0)];
    const count = new Map(), [size, place] = SPOT[d], spots = [], paint = [];
    const [dark, light] = [[0.1, 0.1, 0.1], [0.95, 0.95, 0.95]].map((grey) => (packed(grey) & NO_RIM) >>> 0);
    const tone = new Uint8Array(colours.buffer, colours.byteOffset, colours.byteLength);
    body.forEach((b) => count.set(b, (count.get(b) ?? 0) + 1));
    for (let i = 0; i < radius.length; i++) {
      if (count.get(body[i]) > 1) continue;
      for (let k = 0; k < (d === 2 ? 1 : d); k++) {
        for (const sign of d === 2 ? [1] : [1, -1]) {
          for (let a = 0; a < 3; a++) {
            const along = a < d ? axes[d * d * i + d * k + a] : 0;
            spots.push(q[3 * i + a] + sign * place * radius[i] * along);
          }
          spots.push(size * radius[i]);
          paint.push(tone[4 * i] + tone[4 * i + 1] + tone[4 * i + 2] > 3 * DARK ? dark : light);
        }
      }
    }
    return [Float32Array.from(spots), Uint32Array.from(paint)];
  }

  // Bars from centre to centre, or to the wall; across the boundary of a periodic cell, one bar from each body.
  loadBars() {
    const { contacts: { force, whole }, q, radius } = this.frame, { about } = this.source, { push, theme } = this.palette;
    const ends = new Float32Array(16 * force.length), colours = new Uint32Array(2 * force.length);
    const strong = Math.max(high(force), 0.05 * about.strong); // so that each frame shows its force network
    const [mark, pull] = [packed(theme.mark), packed(theme.pull)], widest = WIDEST[about.d] * 2 * about.median;
    const chosen = this.wish.contact(), apart = new Float32Array(3), { first, second } = this.frame.contacts;
    let count = 0;
    for (let turn = 0; turn <= force.length; turn++) {
      const c = turn < force.length ? turn : chosen; // the selected contact is drawn last, so that it is visible
      if (c < 0 || (c === chosen && turn === c)) continue;
      const size = Math.min(Math.sqrt(Math.abs(force[c]) / strong), 1.5);
      const across = this.apart(c, apart);
      const length = whole && Math.hypot(...apart);
      for (let end = 0; end <= across; end++) {
        const i = end ? second[c] : first[c], j = end ? first[c] : second[c], sign = end ? -1 : 1;
        for (let a = 0; a < 3; a++) {
          ends[8 * count + a] = q[3 * i + a];
          ends[8 * count + 4 + a] = q[3 * i + a] + sign * apart[a];
          if (!whole) continue;
          // through the point of contact, along the whole force
          const touched = q[3 * i + a] + (sign * radius[i] * apart[a]) / length;
          ends[8 * count + a] = touched - sign * radius[i] * whole[3 * c + a];
          ends[8 * count + 4 + a] = touched + (j < 0 ? 0 : sign * radius[j] * whole[3 * c + a]);
        }
        ends[8 * count + 3] = c === chosen ? widest : size * widest;
        colours[count++] = c === chosen ? mark : force[c] < 0 ? pull : push[Math.round(32 * Math.min(size, 1))];
      }
    }
    this.painter.load("bars", ends.subarray(0, 8 * count), colours.subarray(0, count));
  }

  // Write the vector from the first body of a contact to the second body, or to the wall, into `out`.
  // Return 1 if the vector crosses a periodic boundary, and 0 otherwise.
  apart(c, out, frame = this.frame) {
    const { q, radius, contacts: { first, second, away } } = frame, { period } = this.source.about;
    const i = first[c], j = second[c];
    let across = 0;
    for (let a = 0; a < 3; a++) {
      out[a] = j < 0 ? radius[i] * away[3 * c + a] : q[3 * j + a] - q[3 * i + a];
      const turns = j < 0 || !period[a] ? 0 : Math.round(out[a] / period[a]);
      if (!turns) continue;
      across = 1;
      out[a] -= turns * period[a];
    }
    return across;
  }

  loadWalls() {
    const { walls: all } = this.frame, known = [all, this.painter, this.palette, this.trail, this.cut];
    if (known.every((one, k) => one === this.wallsOf?.[k])) return; // the walls have not moved and are already loaded
    this.wallsOf = known;
    const flat = this.camera.flat, { about } = this.source, { theme } = this.palette;
    const glass = this.painter.glass && about.glass ? about.glass : [];
    const lines = glass.length ? all.subarray(0, all.length - 6 * about.wires) : all;
    const walls = Float32Array.from([...lines, ...glass.flatMap(rims)]), w = walls.length / 6;
    const ends = new Float32Array(8 * w), colour = packed(mixed([theme.back, theme.wall], flat ? 1 : 0.55));
    for (let k = 0; k < w; k++) {
      ends.set(walls.subarray(6 * k, 6 * k + 3), 8 * k);
      ends.set(walls.subarray(6 * k + 3, 6 * k + 6), 8 * k + 4);
      ends[8 * k + 3] = flat ? 2 : 1.2;
    }
    const parts = [ends], paints = [new Uint32Array(w).fill(colour)];
    const add = (lines, width, paint) => { // six numbers per line
      const part = new Float32Array((8 * lines.length) / 6);
      for (let k = 0; k < part.length / 8; k++) {
        part.set(lines.slice(6 * k, 6 * k + 3), 8 * k);
        part.set(lines.slice(6 * k + 3, 6 * k + 6), 8 * k + 4);
        part[8 * k + 3] = width;
      }
      parts.push(part);
      paints.push(new Uint32Array(part.length / 8).fill(packed(paint)));
    };
    this.trail.forEach((lines, k) => add(cutLines(lines, this.cut), TRAIL_WIDTH, mixed([theme.back, theme.mark], 0.1 + (0.6 * (k + 1)) / this.trail.length)));
    add((about.exits ?? []).flatMap((exit) => exit.ends), EXIT_WIDTH, theme.exit);
    if (this.cut) add(outlineOf(this.cut, about.home), EXIT_WIDTH / 2, theme.mark);
    this.painter.load("walls", parts.reduce(joinedArrays), paints.reduce(joinedArrays));
    if (!this.painter.glass) return;
    const quads = Float32Array.from(glass.flatMap(patches));
    this.painter.load("glass", quads, new Uint32Array(quads.length / 32).fill(packed(theme.glass)));
  }

  repaint() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => this.paint());
  }

  paint() {
    this.due = false;
    if (!this.frame) return;
    const { camera, palette: { theme }, source: { about } } = this;
    if (this.barsAreOld && this.wish.forces()) {
      this.loadBars();
      this.barsAreOld = false;
    }
    const reach = 2 * Math.hypot(...camera.target) + Math.max(about.reach, 1 / camera.scale);
    const row = this.wish.body(), picked = row < 0 ? row : row + (this.before ?? 0);
    this.painter.paint(camera, { reach, theme, picked, forces: this.wish.forces() });
    this.painted();
  }
}

function joinedArrays(one, two) {
  if (!two.length) return one;
  const out = new one.constructor(one.length + two.length);
  out.set(one);
  out.set(two, one.length);
  return out;
}

// A high quantile of the forces of a frame, from a sample of some thousands.
function high(force) {
  const every = Math.ceil(force.length / 4000) || 1, some = new Float32Array(Math.ceil(force.length / every));
  for (let k = 0; k < some.length; k++) some[k] = Math.abs(force[k * every]);
  return some.sort()[Math.floor(0.95 * some.length)] || 0;
}

function rendererOf(gl) {
  const more = gl.getExtension("WEBGL_debug_renderer_info");
  return String(gl.getParameter(more ? more.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
}
