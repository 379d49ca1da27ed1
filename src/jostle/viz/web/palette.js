// Colours, by day and by night.

const STOPS = {
  light: ["#eef3f9", "#c9ddee", "#8fbfdf", "#4a95c9", "#1c65a8", "#0b3a75", "#061b45"],
  dark: ["#42547d", "#3c6ea6", "#3592c0", "#48b8bd", "#8fd8a6", "#d9eb9a", "#fdf6b4"],
};
// Cells: no density is nearly the page itself.
const CELL_STOPS = {
  light: STOPS.light,
  dark: ["#1a2130", "#1d3a63", "#225d9c", "#3a8ace", "#74b5ea", "#b3d8f7", "#eaf5ff"],
};
const THEMES = {
  light: {
    back: "#ffffff", wall: "#20242c", mark: "#c2189b", weak: "#ea8a3c", push: "#d55e00", pull: "#7b3294",
    solid: "#8b8f96", exit: "#2fae87",
  },
  dark: {
    back: "#12151c", wall: "#c9d1de", mark: "#ff6ad5", weak: "#d97a22", push: "#ff9a2e", pull: "#c79bff",
    solid: "#7d838d", exit: "#1f9e78",
  },
};

const CATEGORIES = {
  light: ["#0072b2", "#f0e442", "#009e73", "#cc79a7", "#56b4e9", "#000000"],
  dark: ["#3d9fe0", "#f0e442", "#2fd3a4", "#e39ac6", "#b3d9ff", "#ffffff"],
};

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);

function mixed(stops, x) {
  const at = Math.min(Math.floor(x * (stops.length - 1)), stops.length - 2), part = x * (stops.length - 1) - at;
  return stops[at].map((a, c) => a + part * (stops[at + 1][c] - a));
}

// A colour as four bytes in one number, in the order of the machine.
const packed = (colour) =>
  new Uint32Array(new Uint8Array([...colour.map((part) => Math.round(255 * part)), 255]).buffer)[0];

const gradient = (stops) => `linear-gradient(to right, ${stops.join(", ")})`;
const ladder = (stops, last) => Uint32Array.from({ length: last + 1 }, (_, k) => packed(mixed(stops, k / last)));

// theme: colours by name; bodies, cells: 256 steps; push: 33 steps from weak to strong; categories: one colour a group.
function palette(night) {
  const name = night ? "dark" : "light";
  const theme = Object.fromEntries(Object.entries(THEMES[name]).map(([part, hex]) => [part, rgb(hex)]));
  return {
    theme, push: ladder([theme.weak, theme.push], 32),
    bodies: ladder(STOPS[name].map(rgb), 255), cells: ladder(CELL_STOPS[name].map(rgb), 255),
    categories: CATEGORIES[name].map(rgb), names: CATEGORIES[name],
    gradient: gradient(STOPS[name]), cellGradient: gradient(CELL_STOPS[name]),
  };
}
