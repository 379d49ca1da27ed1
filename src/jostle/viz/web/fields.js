// Frames of a moving density, as encoding.py writes them:
//
//     {t, fields, u}    fields: one number per cell, by field name; u: both components of the velocity, or null
//
// Entry i + nx j of each array belongs to cell (i, j), counted from the lower left corner.

async function decodedFields(bytes, { small, grid }) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer(), n = grid.shape[0] * grid.shape[1];
  const count = grid.scalars.length + (grid.velocity === null ? 0 : 2);
  const head = new Float64Array(buffer, 0, 1 + 2 * count), take = reader(buffer, head.byteLength);
  const arrays = Array.from({ length: count }, (_, k) => {
    const stored = take(small ? Uint16Array : Float32Array, n);
    return small ? scaled(stored, head[2 + 2 * k], head[1 + 2 * k]) : stored;
  });
  const fields = Object.fromEntries(grid.scalars.map((name, k) => [name, arrays[k]]));
  return { t: head[0], fields, u: grid.velocity === null ? null : arrays.slice(-2) };
}

// One number per cell; the speed is unknown in cells without mass.
function cellValues(name, { fields, u }, { vacuum }) {
  if (name in fields) return fields[name];
  const [x, y] = u, { density } = fields, out = new Float32Array(x.length);
  for (let c = 0; c < out.length; c++) {
    out[c] = density && !(density[c] > vacuum) ? NaN : Math.sqrt(x[c] * x[c] + y[c] * y[c]);
  }
  return out;
}

// Marks the cells that are walls or exits, with one byte per cell.
function maskOf(bits, n) {
  const out = new Uint8Array(n), packedBits = bits && new Uint8Array(bytesOf(bits));
  if (bits) for (let c = 0; c < n; c++) out[c] = (packedBits[c >> 3] >> (c & 7)) & 1;
  return out;
}
