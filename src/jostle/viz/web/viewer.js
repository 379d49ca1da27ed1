// The page: it shows and plays frames, and handles the controls.

const SPEEDS = [0.125, 0.25, 0.5, 1, 2, 4, 8];
const SECONDS = 10; // seconds in which a run is played at first
const RULER = 120; // pixels: largest length of the scale bar
const AHEAD = 6; // number of frames that are requested in advance
const NO_TRAIL = [];
const TALL = 640; // pixels: a page at least this tall shows a curve at first

const nice = (x) => [1, 2, 5, 10].map((k) => k * 10 ** Math.floor(Math.log10(x))).findLast((k) => k <= x * 1.0001);

// root: the document, or the shadow root of an element that contains the markup.
function mount(root, source) {
  const $ = (id) => root.getElementById(id), night = matchMedia("(prefers-color-scheme: dark)");
  const ranges = {}; // the ends of colour scales that the user has chosen, by the name of the quantity
  const quantity = () => {
    const one = source.about.quantities[$("colour").selectedIndex], [low, high] = ranges[one.name] ?? one.range;
    return { ...one, range: [low, high], beyond: high < one.range[1] || (one.beyond && high === one.range[1]) };
  };
  const [Kind, picker] = source.about.grid ? [FieldStage, cellPicker] : [Stage, bodyPicker];
  const stage = new Kind($("view"), source, {
    colour: quantity, forces: () => $("forces").checked, body: () => subject.row(), contact: () => subject.contactRow(),
    cell: () => subject.cell(),
  });
  const subject = picker($, stage, source, tellAloud, () => curve.renew());
  const own = {
    get label() { return `${quantity().label} of ${subject.selected() ?? "the selection"}`; }, of: (frame) => subject.value(quantity(), frame),
  };
  const curve = curveUnder($, stage, source, () => $("curve").selectedIndex - 1, (k) => { play(false); follow(false); show(k); }, own);
  let shown = -1, wanted = 0, loading = false, played = null;
  let part = 0, wantedPart = 0, pair = {}; // between two frames: the elapsed part of the time, and the frames
  let film = null; // the recorder of a film
  let drawn = null; // the frame to draw, before it is cut
  const trail = trailsOf(source), recent = new Map(); // recent: the two frames that were used last

  const time = (t) => `t = ${short(t)}${source.about.units.time && ` ${source.about.units.time}`}`;

  function say(text) {
    $("message").textContent = text;
    $("message").hidden = !text;
  }

  // Announce a text to screen readers.
  function tellAloud(text) {
    $("said").textContent = text;
  }

  // ---- which frame

  async function show(k, elapsed = 0) {
    [wanted, wantedPart] = [Math.min(Math.max(k, 0), source.count - 1), elapsed];
    if (loading) return;
    loading = true;
    try {
      while (shown !== wanted || part !== wantedPart) await go(wanted, wantedPart);
    } catch (error) {
      say(`Frame ${wanted + 1} cannot be shown: ${error.message}`);
      play(false);
    } finally {
      loading = false;
    }
  }

  async function go(next, elapsed) {
    const inside = elapsed > 0 && next + 1 < source.count;
    const [frame, after] = await Promise.all([decoded(next), inside ? decoded(next + 1) : null]), by = next - shown;
    if (inside && (pair.frame !== frame || pair.after !== after)) {
      pair = { frame, after, at: between(frame, after, source.about) };
    }
    stage.trail = $("trails").checked ? await trail(next) : NO_TRAIL;
    stage.saved = frame;
    drawn = inside ? pair.at(elapsed) : frame;
    [shown, part] = [next, elapsed];
    cut();
    if (by) {
      const stride = played && by > 0 && by < source.count / 4 ? by : 1; // the same number of frames will be skipped
      source.ahead(Array.from({ length: AHEAD }, (_, i) => next + (i + 1) * stride));
      tell();
    }
    curve.show(next, frame, frame.t + (inside ? elapsed * (after.t - frame.t) : 0));
  }

  function cut() {
    if (!drawn) return;
    const { home, origin, units } = source.about, choice = $("cut").selectedIndex;
    stage.cut = cutAt(choice, Number($("place").value) / 100, home);
    stage.frame = cutFrame(drawn, stage.cut);
    if (stage.cut) $("place").setAttribute("aria-valuetext", `${CUTS[choice]} ${short(stage.cut.at + origin[stage.cut.axis])} ${units.length}`);
    stage.load();
  }

  function decoded(k) {
    const found = recent.get(k) ?? source.frame(k).then(subject.loaded);
    recent.delete(k);
    recent.set(k, found);
    if (recent.size > 2) recent.delete(recent.keys().next().value);
    found.catch(() => recent.delete(k));
    return found;
  }

  function tell() {
    const when = time(stage.saved.t), of = `frame ${shown + 1} of ${source.count}`;
    $("frame").value = shown;
    $("frame").setAttribute("aria-valuetext", `${when}, ${of}`);
    $("time").textContent = `${when} · ${of}`;
    tellScale();
    subject.tell();
  }

  function tellScale() {
    const { label: name, beyond, steep, categories, range: [low, high] } = quantity(), most = (beyond ? "≥ " : "") + short(high);
    const label = steep ? `${name}, square-root scale` : name;
    $("scale-name").textContent = label;
    [$("scale-low").textContent, $("scale-high").textContent] = [short(low), most];
    $("amounts").hidden = categories.length > 0;
    $("low").parentElement.hidden = categories.length > 0;
    for (const [k, id] of ["low", "high"].entries()) if (root.activeElement !== $(id)) $(id).value = short(quantity().range[k]);
    const { names } = stage.palette, named = categories.map((name, k) => [name, names[k % names.length]]);
    $("categories").replaceChildren(...(categories.length ? named : stage.marks()).map(([name, colour]) => {
      const item = element("li", name);
      item.style.borderColor = colour;
      return item;
    }));
    const words = categories.length ? categories.join(", ") : `from ${short(low)} to ${most}`;
    $("legend").setAttribute("aria-label", `Colours: ${label}, ${words}`);
  }

  function play(on) {
    const last = shown === source.count - 1;
    if (on && last && source.about.live) return follow(true);
    if (on) follow(false);
    if (on && last) show(0);
    if (on || played) tellAloud(on ? "playing" : `paused at ${time(source.times[wanted])}`);
    const now = performance.now(), from = played && !last ? clock(now) : source.times[last ? 0 : Math.max(shown, 0)];
    played = on ? { since: now, from, speed: Number($("speed").value) } : null;
    $("play").textContent = on ? "Pause" : "Play";
    $("picked").setAttribute("aria-live", on ? "off" : "polite");
    if (film && !on) [film, $("film").textContent] = [film.stop(), "Save film"];
    if (on) requestAnimationFrame(tick);
    else if (wantedPart) show(wanted); // a saved frame
  }

  // The time of the run while it is played.
  const clock = (now) => played.from + (Math.max(now - played.since, 0) / 1000) * played.speed;

  function tick(now) {
    if (!played) return;
    const t = clock(now), { times } = source, last = source.count - 1;
    let k = wanted;
    while (k > 0 && times[k] > t) k--;
    while (k < last && times[k + 1] <= t) k++;
    const smooth = $("smooth").checked && k < last && Math.abs(k - wanted) < 2; // not if frames are skipped
    show(k, smooth ? Math.max(t - times[k], 0) / (times[k + 1] - times[k]) : 0);
    if (k === last && $("loop").checked && !source.about.live) [played.since, played.from] = [now, times[0]];
    else if (k === last) {
      play(false);
      if (source.about.live) follow(true);
      return;
    }
    requestAnimationFrame(tick);
  }

  function step(by) {
    play(false);
    follow(false);
    show(wanted + by);
  }

  // ---- a run in progress

  function follow(on) {
    const before = $("follow").checked;
    $("follow").checked = on && source.about.live;
    if (before !== $("follow").checked) tellAloud(before ? "no longer following the newest frame" : "following the newest frame");
    $("picked").setAttribute("aria-live", $("follow").checked ? "off" : "polite");
    if ($("follow").checked) {
      if (played) play(false);
      show(source.count - 1);
    }
  }

  function renewed() {
    const follows = $("follow").checked, ended = !source.about.live && !$("live").hidden;
    stage.camera.home = source.about.home;
    recent.clear();
    measure();
    if (!played) offerSpeeds();
    if (ended) tellAloud(source.about.note || "the run has ended");
    if (wanted >= source.count) [shown, wanted] = [-1, source.count - 1];
    else if (stage.saved && stage.saved.t !== source.times[shown]) shown = -1; // another frame replaced it
    if (follows || shown < 0) show(follows ? source.count - 1 : wanted);
    if (ended) follow(false);
    curve.read();
    if (stage.frame && shown >= 0) {
      tell();
      stage.load();
    }
  }

  function measure() {
    const { about } = source;
    $("frame").max = source.count - 1;
    $("body").max = about.n - 1;
    $("live").hidden = !about.live;
    $("title").textContent = $("title").parentElement.title = about.title;
    $("note").textContent = about.note;
    const [begin, end] = [time(source.times[0]), short(source.times[source.count - 1])];
    const when = `${source.count} frames from ${begin} to ${end}`;
    $("view").setAttribute("aria-label", `${subject.words()}, ${when}`);
    $("time").textContent = $("time").textContent.replace(/ of \d+$/, ` of ${source.count}`);
  }

  // Choose the speed so that the run is played in SECONDS at first; a growing run may be played faster.
  function offerSpeeds() {
    const pace = nice((source.times[source.count - 1] - source.times[0] || 1) / SECONDS), list = $("speed");
    const chosen = list.options.length ? list.selectedIndex : SPEEDS.indexOf(1);
    list.replaceChildren(...SPEEDS.map((speed) => new Option(`${short(speed * pace)} ×`, speed * pace)));
    list.selectedIndex = chosen;
  }

  // The names of exits, beside them.
  const labels = (source.about.exits ?? []).map(({ name, ends }) => {
    const label = element("span", name);
    label.className = Math.abs(ends[4] - ends[1]) > Math.abs(ends[3] - ends[0]) ? "exit beside" : "exit";
    $("view").after(label);
    return { label, middle: [0, 1, 2].map((a) => (ends[a] + ends[a + 3]) / 2) };
  });

  function placeLabels() {
    const { camera } = stage, project = camera.projection();
    for (const { label, middle } of labels) {
      const [x, y] = project(...middle);
      label.hidden = x < 0 || y < 0 || x > camera.width || y > camera.height;
      [label.style.left, label.style.top] = [`${x}px`, `${y}px`];
    }
  }

  // A round length of at most RULER pixels at the current zoom.
  stage.painted = () => {
    placeLabels();
    if ($("grid").checked) drawAxes($("axes"), stage, source.about);
    const { scale } = stage.camera, length = nice(RULER / scale), unit = source.about.units.length;
    const label = `${short(length)}${unit && ` ${unit}`}`, [mark] = $("ruler").children;
    if ($("ruler").dataset.label !== label) $("ruler").replaceChildren($("ruler").dataset.label = label, mark);
    mark.style.width = `${length * scale}px`;
  };

  // ---- mouse and keys

  const { camera } = stage, viewpoint = () => [camera.turn, camera.rise, camera.nearness, ...camera.target].join();
  let wholeView = viewpoint();
  hands($("view"), stage, subject.click);
  const move = (dx, dy) => (camera.flat ? camera.pan(-dx, -dy) : camera.orbit(-dx, -dy));
  const pan = (dx, dy) => camera.pan(-dx, -dy);
  const select = (list, by, around = false) => {
    const { length } = list.options, next = list.selectedIndex + by;
    list.selectedIndex = around ? (next + length) % length : Math.min(Math.max(next, 0), length - 1);
    list.dispatchEvent(new Event("change"));
    tellAloud(`${list.id}: ${list.selectedOptions[0].text}`);
  };
  const tenth = () => Math.max(Math.round(source.count / 10), 1);
  const help = (on) => {
    $("help").open = on;
    if (on) $("help").querySelector("summary").focus();
  };
  const more = (on) => {
    $("more").open = on;
    if (on) $("more").querySelector("summary").focus();
  };
  const close = () => ($("help").open ? help(false) : $("more").open ? more(false) : subject.forget());
  const forget = keys(root, {
    " ": () => play(!played), ArrowLeft: () => step(-1), ArrowRight: () => step(1),
    PageUp: () => step(-tenth()), PageDown: () => step(tenth()),
    Home: () => step(-source.count), End: () => step(source.count), e: () => follow(!$("follow").checked),
    "shift ArrowLeft": () => move(-40, 0), "shift ArrowRight": () => move(40, 0),
    "shift ArrowUp": () => move(0, -40), "shift ArrowDown": () => move(0, 40),
    w: () => pan(0, -40), a: () => pan(-40, 0), s: () => pan(0, 40), d: () => pan(40, 0),
    "+": () => camera.zoom(1.25), "=": () => camera.zoom(1.25), "-": () => camera.zoom(0.8), 0: showWhole,
    i: () => $("smooth").click(), o: () => $("loop").click(), f: () => $("forces").click(), l: () => $("light").click(), v: subject.goTo,
    x: () => $("grid").click(), g: () => select($("curve"), 1, true), G: () => select($("curve"), -1, true),
    1: () => lookFrom(0), 2: () => lookFrom(1), 3: () => lookFrom(2), r: () => $("trails").click(), z: () => moveCut(5), Z: () => moveCut(-5), S: photo, c: () => select($("colour"), 1, true), C: () => select($("colour"), -1, true),
    "[": () => select($("speed"), -1), "]": () => select($("speed"), 1),
    n: () => subject.next(1), p: () => subject.next(-1), N: () => subject.nextOther(1), P: () => subject.nextOther(-1),
    t: changeTheme,
    "?": () => help(!$("help").open), m: () => more(!$("more").open), Escape: close,
  }, () => stage.repaint());

  $("play").addEventListener("click", () => play(!played));
  $("frame").addEventListener("input", (event) => { play(false); follow(false); show(Number(event.target.value)); });
  $("follow").addEventListener("change", (event) => follow(event.target.checked));
  $("speed").addEventListener("change", () => played && play(true));
  $("colour").addEventListener("change", () => { tellScale(); stage.load(); curve.renew(); });
  for (const id of ["low", "high"]) $(id).addEventListener("change", chooseRange);
  $("side").addEventListener("change", () => lookFrom($("side").selectedIndex - 1));
  $("film").addEventListener("click", saveFilm);
  const switched = (id, words, act = () => {}) => $(id).addEventListener("change", ({ target: { checked } }) => {
    tellAloud(words[checked ? 0 : 1]);
    act();
  });
  switched("smooth", ["interpolating between frames", "saved frames only"]);
  switched("loop", ["repeating the run", "stopping at the end"]);
  switched("forces", ["forces shown", "forces hidden"], () => stage.repaint());
  switched("grid", ["axes shown", "axes hidden"], () => { $("axes").hidden = !$("grid").checked; stage.repaint(); });
  switched("trails", ["trails shown", "trails hidden"], () => { part = NaN; show(wanted, wantedPart); });
  $("curve").addEventListener("change", chooseCurve);
  $("cut").addEventListener("change", () => { $("place").hidden = $("cut").selectedIndex < 1; cut(); });
  $("place").addEventListener("input", cut);
  $("photo").addEventListener("click", photo);
  $("light").addEventListener("change", () => choosePainter($("light").checked));
  $("theme").addEventListener("click", changeTheme);
  $("whole").addEventListener("click", () => { showWhole(); stage.repaint(); });

  // The whole scene, without the corner that the legend covers.
  function showWhole() {
    const view = $("view").getBoundingClientRect(), legend = $("legend").getBoundingClientRect();
    camera.reset([Math.max(view.right - legend.left, 0), Math.max(legend.bottom - view.top, 0)]);
    wholeView = viewpoint();
  }

  function moveCut(by) {
    if ($("cut").selectedIndex < 1) return tellAloud("no cut is chosen");
    $("place").value = Number($("place").value) + by;
    cut();
    tellAloud($("place").getAttribute("aria-valuetext"));
  }

  // The ends of the colour scale; an empty field takes the usual end back.
  function chooseRange() {
    const { name, range } = source.about.quantities[$("colour").selectedIndex];
    ranges[name] = ["low", "high"].map((id, k) => ($(id).value === "" ? range[k] : Number($(id).value)));
    if (ranges[name][0] >= ranges[name][1]) {
      delete ranges[name];
      tellAloud("the lower end must be below the upper end");
    }
    tellScale();
    stage.load();
  }

  function lookFrom(axis) {
    if (axis < 0 || camera.flat) return;
    camera.look(axis);
    $("side").selectedIndex = axis + 1;
    stage.repaint();
    tellAloud($("side").selectedOptions[0].text);
  }

  // A film of the run from its first frame, at the chosen speed, until it ends or pauses.
  async function saveFilm() {
    if (film) return play(false);
    play(false);
    follow(false);
    $("loop").checked = false;
    await show(0);
    film = recordFilm(stage, source);
    if (!film) return say("This browser cannot record films; jostle movie saves one.");
    $("film").textContent = "Stop film";
    play(true);
  }

  function photo() {
    savePicture($, stage, source);
    tellAloud("picture saved");
  }

  function chooseCurve() {
    $("plot").hidden = $("curve").selectedIndex < 1;
    curve.renew();
    if (stage.saved) curve.show(shown, stage.saved, stage.saved.t);
    curve.read();
  }

  function choosePainter(light) {
    const found = stage.choosePainter(light);
    $("light").checked = found !== "webgl";
    if (found === "none") say("This browser has no WebGL 2, so the page draws without the GPU.");
    stage.load();
  }

  // Dark or light, following the system until the user chooses.
  let chosenTheme = null;
  const dark = () => chosenTheme ?? night.matches;
  function changeTheme() {
    chosenTheme = !dark();
    $("viewer").classList.toggle("dark", chosenTheme);
    $("viewer").classList.toggle("light", !chosenTheme);
    chooseColours();
    tellAloud(chosenTheme ? "dark colours" : "light colours");
  }

  function chooseColours() {
    stage.chooseColours(dark());
    $("theme").textContent = dark() ? "Light" : "Dark";
    $("scale").style.background = stage.gradient;
    tellScale();
    stage.load();
    curve.draw();
  }

  const fail = (event) => say(`Something went wrong: ${event.message ?? event.reason?.message ?? event.reason}`);
  const resized = new ResizeObserver(() => {
    stage.fit();
    if (viewpoint() === wholeView && $("view").clientWidth) { // until somebody chooses another view
      showWhole();
      stage.repaint();
    }
    curve.draw();
  });
  const listened = [[night, "change", chooseColours]];
  if (root === document) listened.push([window, "error", fail], [window, "unhandledrejection", fail]);
  for (const [on, kind, act] of listened) on.addEventListener(kind, act);

  for (const { name, label } of source.about.quantities) $("colour").add(new Option(label, name));
  for (const label of ["none", ...curve.curves.map((one) => (one === own ? "selection" : one.label))]) $("curve").add(new Option(label));
  $("curve").selectedIndex = $("viewer").clientHeight < TALL ? 0 : 1;
  for (const choice of CUTS) $("cut").add(new Option(choice));
  $("cut").closest("label").hidden = $("side").closest("label").hidden = camera.flat;
  $("trails").closest("label").hidden = Boolean(source.about.grid) || 2 * source.about.n > MOST_LINES;
  $("forces").closest("label").hidden = !source.about.contacts;
  $("viewer").classList.toggle("fields", Boolean(source.about.grid));
  measure();
  offerSpeeds();
  chooseColours();
  choosePainter(null); // before the first frame is drawn
  resized.observe($("view"));
  chooseCurve();
  show(0);

  return {
    source, stage, say, show, renewed,
    get shown() { return shown; },
    get picked() { return subject.picked; },
    get contact() { return subject.contact; },
    get playing() { return played !== null; },
    values: (name) => subject.values(source.about.quantities.find((one) => one.name === name)),
    place(number) {
      const box = $("view").getBoundingClientRect(), [x, y] = camera.projection()(...subject.place(number));
      return [x + box.left, y + box.top];
    },
    end() {
      play(false);
      curve.end();
      resized.disconnect();
      for (const { label } of labels) label.remove();
      forget();
      for (const [on, kind, act] of listened) on.removeEventListener(kind, act);
    },
  };
}
