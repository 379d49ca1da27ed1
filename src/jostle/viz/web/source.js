// A source of frames. The viewer uses only these members of a source:
//
//     about             data that are the same for all frames (written by encoding.py)
//     count, times      the number of frames and their times
//     async frame(k)    {t, number, body, q, u, radius, sent, constant, axes, walls,
//                        contacts: {first, second, force, away, whole}}
//     ahead(list)       announces the frames that will be needed next
//
// All arrays are typed arrays, and positions are relative to about.origin. For the m balls that are present: number,
// the number of its body, radius, each of sent and constant(index) (m), q and u (3 m), and axes (d d m), null if bodies
// do not turn. For c contacts: the rows of both balls, where second = -1 - w for wall w, the force, the position of the
// wall, away (3 c), and the direction of the force, whole (3 c), null without friction. walls (6 w): the two ends of
// each line. A subclass only needs to define bytes(k). Frames of a density are different: see fields.js.

const HEAD = 9;

class Source {
  constructor(about) {
    this.renew(about);
  }

  renew(about) {
    this.about = about;
    this.times = about.times;
    this.count = about.times.length;
    this.radius = about.radii && new Float32Array(bytesOf(about.radii));
    this.constant = (about.constant || []).map((text) => new Float32Array(bytesOf(text)));
    this.owner = about.owner && new Int32Array(bytesOf(about.owner));
    this.walls = about.walls && spread(new Float32Array(bytesOf(about.walls)), about.d);
    if (!about.grid && this.everyone?.length !== about.n) this.everyone = Uint32Array.from({ length: about.n }, (_, i) => i);
  }

  ahead() {}

  async frame(k) {
    const bytes = await this.bytes(k);
    return this.about.grid ? decodedFields(bytes, this.about) : this.decoded(bytes);
  }

  decoded(buffer) {
    const { about } = this, [t, m, c, w, step, fast, ...low] = new Float64Array(buffer, 0, HEAD);
    const take = reader(buffer, 8 * HEAD);
    const number = m === about.n ? this.everyone : take(Uint32Array, m);
    const [places, speeds] = about.small ? [Uint16Array, Int16Array] : [Float32Array, Float32Array];
    const q = spread(take(places, m * about.d), about.d, low, step);
    const u = spread(take(speeds, m * about.d), about.d, [0, 0, 0], fast);
    const radius = this.radius ? chosen(this.radius, number) : take(Float32Array, m);
    const sent = Array.from({ length: about.sent }, () => take(Float32Array, m));
    const constant = (index) => chosen(this.constant[index], number);
    const first = take(Int32Array, c), second = take(Int32Array, c), force = take(Float32Array, c);
    const away = scaled(take(Int8Array, 3 * c), 1 / 127);
    const whole = about.turns ? scaled(take(Int8Array, 3 * c), 1 / 127) : null;
    const axes = about.turns ? scaled(take(Int8Array, m * about.d * about.d), 1 / 127) : null;
    const walls = this.walls || spread(take(Float32Array, 2 * w * about.d), about.d);
    const body = this.owner ? chosen(this.owner, number) : number;
    return { t, number, body, q, u, radius, sent, constant, axes, contacts: { first, second, force, away, whole }, walls };
  }
}

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64).buffer;
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes.buffer;
}

// Reads one array after the other; each begins at a multiple of four bytes.
function reader(buffer, at) {
  return (Type, length) => {
    const array = new Type(buffer, at, length);
    at += 4 * Math.ceil(array.byteLength / 4);
    return array;
  };
}

function chosen(values, rows) {
  const out = new Float32Array(rows.length);
  for (let i = 0; i < rows.length; i++) out[i] = values[rows[i]];
  return out;
}

function scaled(values, by, low = 0) {
  const out = new Float32Array(values.length);
  for (let i = 0; i < values.length; i++) out[i] = low + by * values[i];
  return out;
}

// Convert points with d coordinates to points in space: low + step times the stored value.
function spread(stored, d, low = [0, 0, 0], step = 1) {
  const m = stored.length / d, out = new Float32Array(3 * m);
  for (let a = 0; a < d; a++) {
    const start = low[a];
    for (let i = 0; i < m; i++) out[3 * i + a] = start + step * stored[i * d + a];
  }
  return out;
}
