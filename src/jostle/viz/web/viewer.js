// The page: what is shown, how it is played, and what the controls do.

const STOPS = {
  light: ["#eef3f9", "#c9ddee", "#8fbfdf", "#4a95c9", "#1c65a8", "#0b3a75", "#061b45"],
  dark: ["#42547d", "#3c6ea6", "#3592c0", "#48b8bd", "#8fd8a6", "#d9eb9a", "#fdf6b4"],
};
const THEMES = {
  light: { back: "#ffffff", wall: "#20242c", mark: "#c2189b", weak: "#ea8a3c", push: "#d55e00", pull: "#7b3294" },
  dark: { back: "#12151c", wall: "#c9d1de", mark: "#ff6ad5", weak: "#d97a22", push: "#ff9a2e", pull: "#c79bff" },
};
const WIDEST = { 2: 0.34, 3: 0.15 }; // the bar of a strong force, in plane and space, as a part of the median diameter
const NEAR = 5; // pixels: a press that moves less is a click
const SPEEDS = [0.125, 0.25, 0.5, 1, 2, 4, 8];
const SECONDS = 10; // what a run takes at first

const $ = (id) => document.getElementById(id);
const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
const usual = (x) => x === 0 || (Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5);
const short = (x) => (usual(x) ? String(+x.toPrecision(4)) : x.toExponential(2));
const norm = (v, i) => Math.hypot(v[3 * i], v[3 * i + 1], v[3 * i + 2]);

function start(source) {
  const { about } = source, canvas = $("view"), night = matchMedia("(prefers-color-scheme: dark)");
  const camera = new Camera(about.d === 2, about.home);
  const values = {
    speed: (frame) => Float32Array.from(frame.number, (_, i) => norm(frame.u, i)),
    force: (frame) => frame.load,
    radius: (frame) => frame.radius,
    number: (frame) => Float32Array.from(frame.number),
  };
  let painter, frame, theme, table, tones;
  let shown = -1, wanted = 0, loading = false, due = false, played = null, picked = null;

  // ---- what is to be seen

  function choosePainter() {
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: false });
    painter = gl ? new WebGLPainter(gl) : new CanvasPainter(canvas.getContext("2d"));
    if (!gl) say("This browser offers no WebGL 2, so bodies are drawn as flat discs, which is slow for many of them.");
  }

  function chooseColours() {
    const name = night.matches ? "dark" : "light", stops = STOPS[name].map(rgb);
    theme = Object.fromEntries(Object.entries(THEMES[name]).map(([part, hex]) => [part, rgb(hex)]));
    const steps = (stops, last) => Array.from({ length: last + 1 }, (_, k) => [...bytes(mixed(stops, k / last)), 255]);
    table = steps(stops, 255);
    tones = { push: steps([theme.weak, theme.push], 32), pull: [...bytes(theme.pull), 255] };
    $("scale").style.background = `linear-gradient(to right, ${STOPS[name].join(", ")})`;
  }

  function mixed(stops, x) {
    const at = Math.min(Math.floor(x * (stops.length - 1)), stops.length - 2), part = x * (stops.length - 1) - at;
    return stops[at].map((a, c) => a + part * (stops[at + 1][c] - a));
  }

  const bytes = (colour) => colour.map((part) => Math.round(255 * part));

  function loadBodies() {
    const { number, q, radius } = frame, m = number.length, { name, value, low, high } = scale();
    const balls = new Float32Array(4 * m), colours = new Uint8Array(4 * m);
    for (let i = 0; i < m; i++) {
      for (let a = 0; a < 3; a++) balls[4 * i + a] = q[3 * i + a];
      balls[4 * i + 3] = radius[i];
      colours.set(table[Math.round(255 * Math.min(Math.max((value[i] - low) / (high - low || 1), 0), 1))], 4 * i);
    }
    painter.load("balls", balls, colours);
    const most = ($("colour").value === "force" ? "≥ " : "") + short(high);
    $("scale-name").textContent = name;
    [$("scale-low").textContent, $("scale-high").textContent] = [short(low), most];
    $("legend").setAttribute("aria-label", `Colours: ${name}, from ${short(low)} to ${most}`);
  }

  function scale() {
    const by = $("colour").value, [low, high] = about.ranges[by];
    return { name: $("colour").selectedOptions[0].text, value: values[by](frame), low, high };
  }

  // Bars from centre to centre, or to the wall; across the end of a periodic cell, one from each body.
  function loadBars() {
    const { first, second, force, away } = frame.contacts, { q, radius } = frame, apart = [0, 0, 0];
    const ends = new Float32Array(16 * force.length), colours = new Uint8Array(8 * force.length);
    const sorted = force.map(Math.abs).sort(), high = sorted[Math.floor(0.95 * sorted.length)] || 0;
    const strong = Math.max(high, 0.05 * about.strong); // of this frame, so that its network is seen
    let count = 0;
    const bar = (i, sign, size, tone) => {
      for (let a = 0; a < 3; a++) {
        ends[8 * count + a] = q[3 * i + a];
        ends[8 * count + 4 + a] = q[3 * i + a] + sign * apart[a];
      }
      ends[8 * count + 3] = size * WIDEST[about.d] * 2 * about.median;
      colours.set(tone, 4 * count++);
    };
    for (let c = 0; c < force.length; c++) {
      const i = first[c], j = second[c], size = Math.min(Math.sqrt(Math.abs(force[c]) / strong), 1.5);
      const tone = force[c] < 0 ? tones.pull : tones.push[Math.round(32 * Math.min(size, 1))];
      let across = false;
      for (let a = 0; a < 3; a++) {
        apart[a] = j < 0 ? radius[i] * away[3 * c + a] : q[3 * j + a] - q[3 * i + a];
        const turns = j < 0 || !about.period[a] ? 0 : Math.round(apart[a] / about.period[a]);
        if (turns) across = true;
        apart[a] -= turns * about.period[a];
      }
      bar(i, 1, size, tone);
      if (across) bar(j, -1, size, tone);
    }
    painter.load("bars", ends.subarray(0, 8 * count), colours.subarray(0, 4 * count));
  }

  function loadWalls() {
    const w = frame.walls.length / 6, ends = new Float32Array(8 * w), colours = new Uint8Array(4 * w);
    const colour = [...bytes(mixed([theme.back, theme.wall], about.d === 2 ? 1 : 0.55)), 255];
    for (let k = 0; k < w; k++) {
      ends.set(frame.walls.subarray(6 * k, 6 * k + 3), 8 * k);
      ends.set(frame.walls.subarray(6 * k + 3, 6 * k + 6), 8 * k + 4);
      ends[8 * k + 3] = about.d === 2 ? 2 : 1.2;
      colours.set(colour, 4 * k);
    }
    painter.load("walls", ends, colours);
  }

  function load() {
    if (!frame) return;
    loadBodies();
    loadBars();
    loadWalls();
    repaint();
  }

  function repaint() {
    if (!due) requestAnimationFrame(paint);
    due = true;
  }

  function paint() {
    due = false;
    if (!frame) return;
    const reach = 2 * Math.hypot(...camera.target) + Math.max(about.reach, 1 / camera.scale);
    painter.paint(camera, { reach, theme, picked: row(), forces: $("forces").checked });
  }

  // ---- which frame

  async function show(k) {
    wanted = Math.min(Math.max(k, 0), source.count - 1);
    if (loading) return;
    loading = true;
    while (shown !== wanted) {
      const next = wanted;
      frame = await source.frame(next);
      frame.load = carried(frame);
      shown = next;
      tell();
      load();
    }
    loading = false;
  }

  function carried({ number, contacts: { first, second, force } }) {
    const load = new Float32Array(number.length);
    for (let c = 0; c < force.length; c++) {
      load[first[c]] += Math.abs(force[c]);
      if (second[c] >= 0) load[second[c]] += Math.abs(force[c]);
    }
    return load;
  }

  function tell() {
    const when = `t = ${short(frame.t)}`, of = `frame ${shown + 1} of ${source.count}`;
    $("frame").value = shown;
    $("frame").setAttribute("aria-valuetext", `${when}, ${of}`);
    $("time").textContent = `${when} · ${of}`;
    tellPicked();
  }

  function play(on) {
    if (on && shown === source.count - 1) show(0);
    played = on ? { since: performance.now(), from: source.times[shown === source.count - 1 ? 0 : shown] } : null;
    $("play").textContent = on ? "Pause" : "Play";
    $("picked").setAttribute("aria-live", on ? "off" : "polite");
    if (on) requestAnimationFrame(tick);
  }

  function tick(now) {
    if (!played) return;
    const t = played.from + (Math.max(now - played.since, 0) / 1000) * Number($("speed").value);
    let k = wanted;
    while (k > 0 && source.times[k] > t) k--;
    while (k < source.count - 1 && source.times[k + 1] <= t) k++;
    show(k);
    if (k === source.count - 1) play(false);
    else requestAnimationFrame(tick);
  }

  function step(by) {
    play(false);
    show(wanted + by);
  }

  // ---- one body

  const row = () => (picked === null || !frame ? -1 : frame.number.indexOf(picked));

  function pick(number) {
    picked = number === null || !(number >= 0 && number < about.n) ? null : Math.floor(number);
    $("body").value = picked ?? "";
    tellPicked();
    repaint();
  }

  function tellPicked() {
    $("picked").hidden = picked === null;
    if (picked === null || !frame) return;
    const i = row(), parts = (v) => [...v.subarray(3 * i, 3 * i + about.dimension)];
    const point = (v, from = [0, 0, 0]) => parts(v).map((x, a) => short(x + from[a])).join(", ");
    const said = i < 0 ? [["", "not there at this time"]] : [
      ["position", point(frame.q, about.origin)], ["velocity", point(frame.u)], ["speed", short(norm(frame.u, i))],
      ["radius", about.points ? "none" : short(frame.radius[i])], [about.force_name, short(frame.load[i])],
    ];
    $("picked-name").textContent = `Body ${picked}`;
    $("picked-facts").replaceChildren(...said.flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
  }

  function element(tag, text) {
    const made = document.createElement(tag);
    made.textContent = text;
    return made;
  }

  // The nearest to the eye of all bodies under a point of the page.
  function bodyAt(x, y) {
    const place = camera.projection();
    let best = null, front = -Infinity;
    for (let i = 0; i < frame.number.length; i++) {
      const [a, b, depth] = place(frame.q[3 * i], frame.q[3 * i + 1], frame.q[3 * i + 2]);
      const r = Math.max(frame.radius[i], NEAR / camera.scale), away = Math.hypot(a - x, b - y) / camera.scale;
      const surface = camera.flat ? -away / r : depth + Math.sqrt(Math.max(r * r - away * away, 0));
      if (away <= r && surface > front) [best, front] = [frame.number[i], surface];
    }
    return best;
  }

  // ---- hands: mouse, fingers, keys

  const held = new Map();
  let moved = 0;
  const onCanvas = ({ clientX, clientY }) => {
    const { left, top } = canvas.getBoundingClientRect();
    return [clientX - left, clientY - top];
  };

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    if (held.size === 0) moved = 0;
    held.set(event.pointerId, onCanvas(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held.has(event.pointerId)) return;
    const before = [...held.values()], [x, y] = onCanvas(event), [x0, y0] = held.get(event.pointerId);
    held.set(event.pointerId, [x, y]);
    moved += Math.hypot(x - x0, y - y0);
    const pans = camera.flat || event.shiftKey || event.buttons & 6;
    if (held.size > 1) pinch(before, [...held.values()]);
    else if (moved > NEAR) pans ? camera.pan(x - x0, y - y0) : camera.orbit(x - x0, y - y0);
    repaint();
  });
  canvas.addEventListener("pointerup", (event) => {
    held.delete(event.pointerId);
    if (moved <= NEAR && held.size === 0 && event.button === 0) pick(bodyAt(...onCanvas(event)));
  });
  canvas.addEventListener("pointercancel", (event) => held.delete(event.pointerId));
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    camera.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...onCanvas(event));
    repaint();
  }, { passive: false });

  function pinch([a, b], [c, d]) {
    const middle = (p, q) => [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2];
    const apart = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]) || 1;
    const [from, to] = [middle(a, b), middle(c, d)];
    camera.pan(to[0] - from[0], to[1] - from[1]);
    camera.zoom(apart(c, d) / apart(a, b), ...to);
  }

  const move = (dx, dy) => (camera.flat ? camera.pan(-dx, -dy) : camera.orbit(-dx, -dy));
  const select = (list, by) => {
    list.selectedIndex = Math.min(Math.max(list.selectedIndex + by, 0), list.options.length - 1);
    list.dispatchEvent(new Event("change"));
  };
  const keys = {
    " ": () => play(!played), ArrowLeft: () => step(-1), ArrowRight: () => step(1),
    Home: () => step(-source.count), End: () => step(source.count),
    "shift ArrowLeft": () => move(-40, 0), "shift ArrowRight": () => move(40, 0),
    "shift ArrowUp": () => move(0, -40), "shift ArrowDown": () => move(0, 40),
    "+": () => camera.zoom(1.25), "=": () => camera.zoom(1.25), "-": () => camera.zoom(0.8), 0: () => camera.reset(),
    f: () => $("forces").click(), c: () => select($("colour"), $("colour").selectedIndex === 3 ? -3 : 1),
    "[": () => select($("speed"), -1), "]": () => select($("speed"), 1), Escape: () => pick(null),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const on = event.target, typing = on.matches("select, input[type=number]");
    const presses = event.key === " " && on.matches("button, summary, input[type=checkbox]");
    const slides = on.matches("input[type=range]") && !event.shiftKey && /^(Arrow|Home|End)/.test(event.key);
    const act = keys[(event.shiftKey && event.key.startsWith("Arrow") ? "shift " : "") + event.key];
    if (!act || presses || slides || (typing && event.key !== "Escape")) return;
    event.preventDefault();
    act();
    repaint();
  });

  // ---- controls

  $("play").addEventListener("click", () => play(!played));
  $("frame").addEventListener("input", (event) => { play(false); show(Number(event.target.value)); });
  $("speed").addEventListener("change", () => played && play(true));
  $("colour").addEventListener("change", () => frame && load());
  $("forces").addEventListener("change", repaint);
  $("body").addEventListener("input", (event) => pick(event.target.value === "" ? null : Number(event.target.value)));
  $("whole").addEventListener("click", () => { camera.reset(); repaint(); });
  night.addEventListener("change", () => { chooseColours(); load(); });
  canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  canvas.addEventListener("webglcontextrestored", () => { choosePainter(); load(); });
  function fit() {
    const ratio = window.devicePixelRatio || 1, { clientWidth, clientHeight } = canvas;
    if (!clientWidth || !clientHeight) return;
    [canvas.width, canvas.height] = [Math.round(clientWidth * ratio), Math.round(clientHeight * ratio)];
    camera.resize(clientWidth, clientHeight);
    paint();
  }

  const [begin, end] = [source.times[0], source.times[source.count - 1]];
  const pace = nice((end - begin || 1) / SECONDS);
  for (const speed of SPEEDS) $("speed").add(new Option(`${short(speed * pace)} ×`, speed * pace, false, speed === 1));
  $("frame").max = source.count - 1;
  $("body").max = about.n - 1;
  $("colour").options[1].text = about.force_name;
  const when = `${source.count} frames from t = ${short(begin)} to ${short(end)}`;
  canvas.setAttribute("aria-label", `${about.n} bodies in ${about.dimension} dimensions, ${when}`);
  choosePainter();
  chooseColours();
  fit(); // before anything is painted
  new ResizeObserver(fit).observe(canvas);
  show(0);

  return {
    source,
    get shown() { return shown; },
    get picked() { return picked; },
    get playing() { return played !== null; },
    place(number) {
      const i = frame.number.indexOf(number), box = canvas.getBoundingClientRect();
      const [x, y] = camera.projection()(...frame.q.subarray(3 * i, 3 * i + 3));
      return [x + box.left, y + box.top];
    },
  };
}

const nice = (x) => [1, 2, 5, 10].map((k) => k * 10 ** Math.floor(Math.log10(x))).findLast((k) => k <= x * 1.0001);

function say(text) {
  $("message").textContent = text;
  $("message").hidden = false;
}

window.addEventListener("error", (event) => say(`Something went wrong: ${event.message}`));
window.addEventListener("unhandledrejection", (event) => say(`Something went wrong: ${event.reason}`));
const about = JSON.parse($("about").textContent);
window.viewer = start(new EmbeddedSource(about, $("frames").textContent.trim().split("\n")));
