// Light and dark colours; THEMES comes from jostle/_tools/colours.py.

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);

function mixed(stops, x) {
  const at = Math.min(Math.floor(x * (stops.length - 1)), stops.length - 2), part = x * (stops.length - 1) - at;
  return stops[at].map((a, c) => a + part * (stops[at + 1][c] - a));
}

// A colour as four bytes in one number, in the byte order of the machine.
const packed = (colour) =>
  new Uint32Array(new Uint8Array([...colour.map((part) => Math.round(255 * part)), 255]).buffer)[0];

const css = (colour) => `rgb(${colour.map((part) => Math.round(255 * part)).join(" ")})`;
const gradient = (stops) => `linear-gradient(to right, ${stops.join(", ")})`;
const ladder = (stops, last) => Uint32Array.from({ length: last + 1 }, (_, k) => packed(mixed(stops, k / last)));
// The number of the colour of a value, 0 to 255; NaN if it is unknown. Steep: colours follow the square root.
function ladderOf([low, high], steep) {
  return (value) => {
    const part = Math.min(Math.max((value - low) / (high - low || 1), 0), 1);
    return Math.round(255 * (steep ? Math.sqrt(part) : part));
  };
}

// theme: colours by name; bodies, cells: 256 steps; push: 33 steps, weak to strong; categories: one colour per group.
function palette(night) {
  const { bodies, cells, groups, ...single } = night ? THEMES.dark : THEMES.light;
  const theme = Object.fromEntries(Object.entries(single).map(([part, hex]) => [part, rgb(hex)]));
  return {
    theme, push: ladder([theme.weak, theme.push], 32),
    bodies: ladder(bodies.map(rgb), 255), cells: ladder(cells.map(rgb), 255),
    categories: groups.map(rgb), names: groups,
    gradient: gradient(bodies), cellGradient: gradient(cells),
  };
}
