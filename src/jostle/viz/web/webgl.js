// Painters get the scene as plain arrays. Balls have four numbers each: position and radius. Bars and walls have eight
// numbers each: one end, the width, the other end, an unused number. Widths of bars are lengths, widths of walls are
// pixels. Colours are four bytes each, as one number.
//
// Each shape is a square of two triangles, whose numbers are read from a texture by the number of the vertex, so one
// call draws all shapes. GL points are not used: they vanish when their centre leaves the page, and their size is
// limited.

const LIGHT = "normalize(vec3(-0.45, 0.65, 0.75))";
const WIDTH = 1024; // texels per row
const PROGRAM = `#version 300 es
  precision highp float; precision highp sampler2D;
  uniform mat3 axes; uniform vec3 target; uniform vec2 scale; uniform float depth, pixel, deep;
  uniform sampler2D numbers, colours;
  const vec2 corners[6] = vec2[](vec2(-1, -1), vec2(1, -1), vec2(-1, 1), vec2(-1, 1), vec2(1, -1), vec2(1, 1));
  vec4 texel(sampler2D from, int k) { return texelFetch(from, ivec2(k % ${WIDTH}, k / ${WIDTH}), 0); }
`;

const BALL_VERTEX = `${PROGRAM}
  uniform int picked;
  out vec2 at; out float far; flat out vec3 paint; flat out float height, ring, rimmed;
  void main() {
    int k = gl_VertexID / 6;
    vec4 ball = texel(numbers, k);
    vec3 seen = axes * (ball.xyz - target);
    float r = max(ball.w, 0.7 * pixel);
    at = corners[gl_VertexID % 6] * (1.0 + 1.5 * pixel / r);
    paint = texel(colours, k).rgb; rimmed = step(0.998, texel(colours, k).a); height = 0.5 * r * depth; ring = float(k == picked);
    gl_Position = vec4((seen.xy + at * r) * scale, -seen.z * depth, 1.0);
    far = clamp(0.5 - seen.z / deep, 0.0, 1.0);
  }`;

const BALL_FRAGMENT = `#version 300 es
  precision highp float;
  uniform bool flat_; uniform vec3 back, mark, edge_;
  in vec2 at; in float far; flat in vec3 paint; flat in float height, ring, rimmed; out vec4 result;
  void main() {
    float rho = length(at), edge = fwidth(rho);
    float cover = 1.0 - smoothstep(1.0 - edge, 1.0 + edge * 0.5, rho);
    if (cover <= 0.0) discard;
    float h = sqrt(max(1.0 - rho * rho, 0.0));
    vec3 normal = vec3(at, h), seen;
    float lit = max(dot(normal, ${LIGHT}), 0.0);
    if (flat_) {
      seen = paint * (0.94 + 0.06 * lit);
      float rim = min(2.4 * edge, 0.14); // a thin rim, thinner on small discs
      seen = mix(seen, edge_, 0.5 * rimmed * smoothstep(1.0 - rim - edge, 1.0 - rim, rho) * (1.0 - smoothstep(0.1, 0.4, edge)));
    } else {
      float shine = pow(max(dot(reflect(-${LIGHT}, normal), vec3(0, 0, 1)), 0.0), 24.0);
      seen = paint * (0.54 + 0.56 * lit) * (0.76 + 0.24 * h) + 0.2 * shine;
      seen = mix(seen, back, 0.3 * far);
    }
    if (ring > 0.5 && rho > 1.0 - max(0.2, 3.0 * edge)) seen = mark;
    result = vec4(seen, cover);
    gl_FragDepth = flat_ ? gl_FragCoord.z : gl_FragCoord.z - h * height;
  }`;

const BAR_VERTEX = `${PROGRAM}
  uniform bool inPixels;
  out vec4 paint; out float far;
  void main() {
    int k = gl_VertexID / 6;
    vec4 start = texel(numbers, 2 * k), end = texel(numbers, 2 * k + 1);
    vec2 corner = corners[gl_VertexID % 6];
    vec3 a = axes * (start.xyz - target), b = axes * (end.xyz - target), p = corner.x < 0.0 ? a : b;
    vec2 along = b.xy - a.xy;
    float size = length(along), width = start.w;
    vec2 way = size > 0.0 ? along / size : vec2(1, 0);
    float half_ = 0.5 * (inPixels ? width * pixel : max(width, 0.8 * pixel));
    p.xy += corner.y * half_ * vec2(-way.y, way.x) + (inPixels ? corner.x * half_ * way : vec2(0));
    gl_Position = vec4(p.xy * scale, -p.z * depth, 1.0);
    paint = texel(colours, k);
    if (!inPixels) paint.a *= clamp(width / (0.8 * pixel), 0.05, 1.0); // a line thinner than a pixel is fainter
    far = clamp(0.5 - p.z / deep, 0.0, 1.0);
  }`;

const BAR_FRAGMENT = `#version 300 es
  precision highp float;
  uniform vec3 back; uniform float mist;
  in vec4 paint; in float far; out vec4 result;
  void main() { result = vec4(mix(paint.rgb, back, mist * far), paint.a); }`;

class WebGLPainter {
  constructor(gl) {
    this.gl = gl;
    gl.bindVertexArray(gl.createVertexArray());
    this.balls = this.program(BALL_VERTEX, BALL_FRAGMENT, 4);
    this.bars = this.program(BAR_VERTEX, BAR_FRAGMENT, 8);
    this.walls = this.program(BAR_VERTEX, BAR_FRAGMENT, 8);
    this.cells = this.program(CELLS_VERTEX, CELLS_FRAGMENT, 4);
    this.glass = this.program(GLASS_VERTEX, GLASS_FRAGMENT, 32);
  }

  program(vertex, fragment, each) {
    const { gl } = this, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const at = (name) => gl.getUniformLocation(program, name);
    return { program, at, each, count: 0, numbers: gl.createTexture(), colours: gl.createTexture() };
  }

  // width: number of columns of an image, whose colours are cells in rows.
  load(what, numbers, colours, width = 0) {
    const { gl } = this, part = this[what];
    part.count = numbers.length / part.each;
    this.fill(part.numbers, numbers, gl.RGBA32F, gl.FLOAT);
    if (width) return fillImage(gl, part.colours, colours, width);
    const bytes = new Uint8Array(colours.buffer, colours.byteOffset, 4 * colours.length);
    this.fill(part.colours, bytes, gl.RGBA8, gl.UNSIGNED_BYTE);
  }

  fill(texture, data, format, type) {
    const { gl } = this, rows = Math.ceil(data.length / 4 / WIDTH) || 1, whole = new data.constructor(4 * WIDTH * rows);
    whole.set(data);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.texImage2D(gl.TEXTURE_2D, 0, format, WIDTH, rows, 0, gl.RGBA, type, whole);
  }

  paint(camera, { reach, theme, picked, forces }) {
    const { gl } = this, { width, height } = gl.canvas;
    gl.viewport(0, 0, width, height);
    gl.clearColor(...theme.back, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ZERO, gl.ONE);
    this.view = { camera, back: theme.back, depth: 1 / reach };
    if (camera.flat) gl.disable(gl.DEPTH_TEST);
    else {
      gl.enable(gl.DEPTH_TEST);
      gl.disable(gl.BLEND);
      gl.enable(gl.SAMPLE_ALPHA_TO_COVERAGE); // smooth edges, whatever is behind them
    }
    this.draw("cells", () => {});
    this.draw("balls", (set) => {
      gl.uniform1i(set("flat_"), camera.flat);
      gl.uniform1i(set("picked"), picked);
      gl.uniform3fv(set("mark"), theme.mark);
      gl.uniform3fv(set("edge_"), theme.wall);
    });
    gl.disable(gl.SAMPLE_ALPHA_TO_COVERAGE);
    gl.enable(gl.BLEND);
    const bars = (mist, inPixels) => (set) => {
      gl.uniform1f(set("mist"), camera.flat ? 0 : mist);
      gl.uniform1i(set("inPixels"), inPixels);
    };
    this.draw("walls", bars(0.4, true));
    gl.depthMask(false);
    this.draw("glass", () => {});
    gl.depthMask(true);
    gl.clear(gl.DEPTH_BUFFER_BIT); // forces are visible through the balls
    if (forces) this.draw("bars", bars(0.6, false));
  }

  draw(what, uniforms) {
    const { gl } = this, { camera, back, depth } = this.view, part = this[what];
    if (!part.count) return;
    gl.useProgram(part.program);
    for (const [unit, name] of ["numbers", "colours"].entries()) {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, part[name]);
      gl.uniform1i(part.at(name), unit);
    }
    gl.uniformMatrix3fv(part.at("axes"), true, camera.axes().flat());
    gl.uniform3fv(part.at("target"), camera.target);
    gl.uniform2f(part.at("scale"), (2 * camera.scale) / camera.width, (2 * camera.scale) / camera.height);
    gl.uniform1f(part.at("depth"), depth);
    gl.uniform1f(part.at("pixel"), 1 / camera.scale);
    gl.uniform1f(part.at("deep"), camera.extent()[2] || 1);
    gl.uniform3fv(part.at("back"), back);
    uniforms(part.at);
    gl.drawArrays(gl.TRIANGLES, 0, 6 * part.count);
  }
}
