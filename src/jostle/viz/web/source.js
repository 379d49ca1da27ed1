// Where frames come from. The viewer asks a source for nothing but
//
//     about             what is the same for all frames (written by viewer.py and encoding.py)
//     count, times      how many frames there are, and when
//     async frame(k)    {t, number, q, u, radius, contacts: {first, second, force, away}, walls}
//
// so that frames may as well be streamed by a server. Of m bodies that are there: number, radius (m), q and u (3 m).
// Of c contacts: the rows of both bodies, second = -1 for a wall, the force, and where the wall is, away (3 c).
// walls (6 w): the two ends of each line. All of them typed arrays; places are counted from about.origin.

class EmbeddedSource {
  constructor(about, lines) {
    this.about = about;
    this.lines = lines;
    this.count = about.frames.length;
    this.times = about.frames.map((frame) => frame.t);
    this.radius = about.radii && new Float32Array(bytesOf(about.radii));
    this.walls = about.walls && spread(new Float32Array(bytesOf(about.walls)), about.d);
    this.everyone = Uint32Array.from({ length: about.n }, (_, i) => i);
  }

  async frame(k) {
    const { about } = this;
    const { t, m, c, w, low, step, fast } = about.frames[k];
    const take = reader(bytesOf(this.lines[k]));
    const number = m === about.n ? this.everyone : take(Uint32Array, m);
    const [places, speeds] = about.small ? [Uint16Array, Int16Array] : [Float32Array, Float32Array];
    const q = spread(take(places, m * about.d), about.d, low, step);
    const u = spread(take(speeds, m * about.d), about.d, 0, fast);
    const radius = this.radius ? Float32Array.from(number, (i) => this.radius[i]) : take(Float32Array, m);
    const first = take(Int32Array, c), second = take(Int32Array, c), force = take(Float32Array, c);
    const away = Float32Array.from(take(Int8Array, 3 * c), (part) => part / 127);
    const walls = this.walls || spread(take(Float32Array, 2 * w * about.d), about.d);
    return { t, number, q, u, radius, contacts: { first, second, force, away }, walls };
  }
}

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64).buffer;
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes.buffer;
}

// Reads one array after the other; each begins at a multiple of four bytes.
function reader(buffer) {
  let at = 0;
  return (Type, length) => {
    const array = new Type(buffer, at, length);
    at += 4 * Math.ceil(array.byteLength / 4);
    return array;
  };
}

// Points of d coordinates as points of space: low + step times what was stored.
function spread(stored, d, low = 0, step = 1) {
  const m = stored.length / d, out = new Float32Array(3 * m);
  for (let a = 0; a < d; a++) {
    const start = low[a] ?? low;
    for (let i = 0; i < m; i++) out[3 * i + a] = start + step * stored[i * d + a];
  }
  return out;
}
