// Cells of a grid as an image, for both painters. The numbers are x and y of two opposite corners of the box; the
// colours are those of the cells, row by row from below. Colours of cells smaller than a pixel are averaged.

const CELLS_VERTEX = `${PROGRAM}
  out vec2 at;
  void main() {
    vec4 box = texel(numbers, 0);
    at = 0.5 + 0.5 * corners[gl_VertexID];
    vec3 seen = axes * (vec3(mix(box.xy, box.zw, at), 0.0) - target);
    gl_Position = vec4(seen.xy * scale, 0.0, 1.0);
  }`;

const CELLS_FRAGMENT = `#version 300 es
  precision highp float; precision highp sampler2D;
  uniform sampler2D colours;
  in vec2 at; out vec4 result;
  void main() { result = texture(colours, at); }`;

// Make a texture of the same size as the image.
function fillImage(gl, texture, colours, width) {
  const bytes = new Uint8Array(colours.buffer, colours.byteOffset, 4 * colours.length);
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, width, colours.length / width, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
  gl.generateMipmap(gl.TEXTURE_2D);
}

// Draw the image into the pixels of a RasterPainter, whose `place` returns the position of a point.
function drawCells({ pixels, place, image: { width: columns, height: rows } }, { numbers, colours, width }) {
  const low = new Float64Array(3), high = new Float64Array(3), height = colours.length / width;
  place(numbers[0], numbers[1], 0, low);
  place(numbers[2], numbers[3], 0, high);
  const across = spans(low[0], high[0], width, columns), down = spans(low[1], high[1], height, rows);
  const bytes = new Uint8Array(colours.buffer, colours.byteOffset, 4 * colours.length);
  for (let row = 0; row < rows; row++) {
    const [j, lastJ] = [down[2 * row], down[2 * row + 1]];
    if (j < 0) continue;
    for (let column = 0; column < columns; column++) {
      const [i, lastI] = [across[2 * column], across[2 * column + 1]];
      if (i < 0) continue;
      const one = i === lastI && j === lastJ;
      pixels[row * columns + column] = one ? colours[j * width + i] : mean(bytes, width, i, lastI, j, lastJ);
    }
  }
}

// The first and the last cell in each pixel, along one axis; -1 outside. Cells extend from `start` to `end`, in pixels;
// a pixel contains the cell at its middle, or all cells that begin in it.
function spans(start, end, count, length) {
  const out = new Int32Array(2 * length).fill(-1), each = count / (end - start);
  for (let pixel = 0; pixel < length; pixel++) {
    const middle = Math.floor((pixel + 0.5 - start) * each);
    if (!(middle >= 0 && middle < count)) continue;
    const ends = [pixel, pixel + 1].map((edge) => Math.ceil((edge - start) * each)).sort((a, b) => a - b);
    const several = ends[1] - ends[0] > 1;
    out[2 * pixel] = several ? Math.max(ends[0], 0) : middle;
    out[2 * pixel + 1] = several ? Math.min(ends[1], count) - 1 : middle;
  }
  return out;
}

function mean(bytes, width, i, lastI, j, lastJ) {
  let red = 0, green = 0, blue = 0;
  for (let y = j; y <= lastJ; y++) {
    for (let x = i; x <= lastI; x++) {
      const k = 4 * (y * width + x);
      red += bytes[k];
      green += bytes[k + 1];
      blue += bytes[k + 2];
    }
  }
  const n = (lastI - i + 1) * (lastJ - j + 1);
  return ((255 << 24) | (Math.round(blue / n) << 16) | (Math.round(green / n) << 8) | Math.round(red / n)) >>> 0;
}
