// Curved walls in 3-D: a profile (radius, height) that is rotated around an axis. WebGL draws them as glass, which
// is more opaque where it is seen from the side. A patch has four corners, each with its normal: 32 numbers.

const AROUND = 64; // number of patches around the axis
const SMOOTH = 0.7; // pieces of a profile are joined smoothly if the cosine of their angle is larger

const GLASS_VERTEX = `${PROGRAM}
  const int order[6] = int[](0, 1, 2, 2, 1, 3);
  out vec3 normal, paint;
  void main() {
    int k = 8 * (gl_VertexID / 6) + 2 * order[gl_VertexID % 6];
    vec3 seen = axes * (texel(numbers, k).xyz - target);
    normal = axes * texel(numbers, k + 1).xyz;
    paint = texel(colours, gl_VertexID / 6).rgb;
    gl_Position = vec4(seen.xy * scale, -seen.z * depth, 1.0);
  }`;

const GLASS_FRAGMENT = `#version 300 es
  precision highp float;
  in vec3 normal, paint; out vec4 result;
  void main() {
    vec3 unit = normalize(normal);
    if (unit.z < 0.0) unit = -unit;
    float shine = pow(max(dot(reflect(-${LIGHT}, unit), vec3(0, 0, 1)), 0.0), 40.0);
    result = vec4(mix(paint, vec3(1), shine), 0.05 + 0.6 * pow(1.0 - unit.z, 2.5) + 0.25 * shine);
  }`;

// Two unit vectors perpendicular to the axis.
function acrossAxis([x, y, z]) {
  const size = Math.hypot(x, y), a = size > 1e-9 ? [-y / size, x / size, 0] : [1, 0, 0];
  return [a, [y * a[2] - z * a[1], z * a[0] - x * a[2], x * a[1] - y * a[0]]];
}

// Convert (radius, height) and an angle to a point in space.
function turned({ axis }) {
  const [a, b] = acrossAxis(axis);
  return ([radius, height], angle) => {
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    return [0, 1, 2].map((k) => radius * (c * a[k] + s * b[k]) + height * axis[k]);
  };
}

const angleOf = (k) => (2 * Math.PI * k) / AROUND;

function patches(surface) {
  const { base, profile } = surface, at = turned(surface), out = [];
  const pieces = profile.slice(1).map((end, k) => [profile[k], end]).filter(([[r, h], [s, g]]) => Math.hypot(s - r, g - h) > 0);
  const across = pieces.map(([[r, h], [s, g]]) => [(g - h) / Math.hypot(s - r, g - h), (r - s) / Math.hypot(s - r, g - h)]);
  const normalAt = (k, other) => {
    const [n, m] = [across[k], across[other] ?? across[k]];
    return n[0] * m[0] + n[1] * m[1] > SMOOTH ? [n[0] + m[0], n[1] + m[1]] : n;
  };
  for (const [k, ends] of pieces.entries()) {
    const normals = [normalAt(k, k - 1), normalAt(k, k + 1)];
    for (let turn = 0; turn < AROUND; turn++) {
      for (const [end, step] of [[0, 0], [0, 1], [1, 0], [1, 1]]) {
        const angle = angleOf(turn + step);
        out.push(...at(ends[end], angle).map((x, axis) => x + base[axis]), 0, ...at(normals[end], angle), 0);
      }
    }
  }
  return out;
}

// The open ends of a profile, drawn as lines.
function rims(surface) {
  const { base, profile } = surface, at = turned(surface);
  return [profile[0], profile[profile.length - 1]].filter(([radius]) => radius > 0).flatMap((end) =>
    Array.from({ length: AROUND }, (_, k) => [k, k + 1]).flat()
      .flatMap((k) => at(end, angleOf(k)).map((x, axis) => x + base[axis])));
}
