// The page: what is shown, how it is played, and what the controls do.

const SPEEDS = [0.125, 0.25, 0.5, 1, 2, 4, 8];
const SECONDS = 10; // what a run takes at first
const AHEAD = 6; // frames that are asked for before they are wanted

const nice = (x) => [1, 2, 5, 10].map((k) => k * 10 ** Math.floor(Math.log10(x))).findLast((k) => k <= x * 1.0001);

// root: the document, or the shadow of an element that holds the markup.
function mount(root, source) {
  const $ = (id) => root.getElementById(id), night = matchMedia("(prefers-color-scheme: dark)");
  const quantity = () => source.about.quantities[$("colour").selectedIndex];
  const stage = new Stage($("view"), source, {
    colour: quantity, forces: () => $("forces").checked, body: () => row(), contact: () => contactRow(),
  });
  let shown = -1, wanted = 0, loading = false, played = null;
  let picked = null, contact = null, anchor = null; // a body, or a contact, and the body whose contacts are looked at

  const time = (t) => `t = ${short(t)}${source.about.units.time && ` ${source.about.units.time}`}`;

  function say(text) {
    $("message").textContent = text;
    $("message").hidden = !text;
  }

  // For those who do not see it.
  const tellAloud = (text) => ($("said").textContent = text);

  // ---- which frame

  async function show(k) {
    wanted = Math.min(Math.max(k, 0), source.count - 1);
    if (loading) return;
    loading = true;
    try {
      while (shown !== wanted) await go(wanted);
    } catch (error) {
      say(`Frame ${wanted + 1} cannot be shown: ${error.message}`);
      play(false);
    } finally {
      loading = false;
    }
  }

  async function go(next) {
    const frame = await source.frame(next), by = next - shown;
    stage.frame = addLoads(frame);
    shown = next;
    const stride = played && by > 0 && by < source.count / 4 ? by : 1; // if some are passed over, the next will be too
    source.ahead(Array.from({ length: AHEAD }, (_, i) => next + (i + 1) * stride));
    tell();
    stage.load();
  }

  function tell() {
    const when = time(stage.frame.t), of = `frame ${shown + 1} of ${source.count}`;
    $("frame").value = shown;
    $("frame").setAttribute("aria-valuetext", `${when}, ${of}`);
    $("time").textContent = `${when} · ${of}`;
    tellScale();
    tellPicked();
  }

  function tellScale() {
    const { label, beyond, categories, range: [low, high] } = quantity(), most = (beyond ? "≥ " : "") + short(high);
    $("scale-name").textContent = label;
    [$("scale-low").textContent, $("scale-high").textContent] = [short(low), most];
    $("amounts").hidden = categories.length > 0;
    $("categories").replaceChildren(...categories.map((name, k) => {
      const item = element("li", name), { names } = stage.palette;
      item.style.borderColor = names[k % names.length];
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
    played = on ? { since: performance.now(), from: source.times[last ? 0 : Math.max(shown, 0)] } : null;
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
    if (k < source.count - 1) requestAnimationFrame(tick);
    else {
      play(false);
      if (source.about.live) follow(true);
    }
  }

  function step(by) {
    play(false);
    follow(false);
    show(wanted + by);
  }

  // ---- a run that goes on

  function follow(on) {
    const before = $("follow").checked;
    $("follow").checked = on && source.about.live;
    if (before !== $("follow").checked) tellAloud(before ? "not following" : "following the end");
    $("picked").setAttribute("aria-live", $("follow").checked ? "off" : "polite");
    if ($("follow").checked) {
      if (played) play(false);
      show(source.count - 1);
    }
  }

  function renewed() {
    const follows = $("follow").checked, ended = !source.about.live && !$("live").hidden;
    stage.camera.home = source.about.home;
    measure();
    if (!played) offerSpeeds();
    if (ended) tellAloud(source.about.note || "the run has ended");
    if (wanted >= source.count) [shown, wanted] = [-1, source.count - 1];
    if (follows || shown < 0) show(follows ? source.count - 1 : wanted);
    if (ended) follow(false);
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
    $("title").textContent = $("title").title = about.title;
    $("note").textContent = about.note;
    const [begin, end] = [time(source.times[0]), short(source.times[source.count - 1])];
    const when = `${source.count} frames from ${begin} to ${end}`;
    $("view").setAttribute("aria-label", `${about.n} bodies in ${about.dimension} dimensions, ${when}`);
    $("time").textContent = $("time").textContent.replace(/ of \d+$/, ` of ${source.count}`);
  }

  // So that a run takes some seconds at first; as it grows, it may be played faster.
  function offerSpeeds() {
    const pace = nice((source.times[source.count - 1] - source.times[0] || 1) / SECONDS), list = $("speed");
    const chosen = list.options.length ? list.selectedIndex : SPEEDS.indexOf(1);
    list.replaceChildren(...SPEEDS.map((speed) => new Option(`${short(speed * pace)} ×`, speed * pace)));
    list.selectedIndex = chosen;
  }

  // ---- one body, one contact

  const row = () => (picked === null || !stage.frame ? -1 : stage.frame.number.indexOf(picked));
  const contactRow = () => (contact === null ? -1 : rowOfContact(stage.frame, contact));

  function pick(number) {
    const bars = contact !== null;
    picked = number === null || !(number >= 0 && number < source.about.n) ? null : Math.floor(number);
    [contact, anchor] = [null, picked];
    choose(bars);
  }

  function pickContact(c) {
    [contact, picked] = [namesOf(stage.frame, c), null];
    choose(true);
  }

  function choose(bars) {
    $("body").value = anchor ?? "";
    tellPicked();
    stage.barsAreOld ||= bars;
    stage.repaint();
  }

  function tellPicked() {
    $("picked").hidden = picked === null && contact === null;
    if ($("picked").hidden || !stage.frame) return;
    const i = contact ? contactRow() : row();
    const name = contact ? `Contact of body ${contact[0]} and ${partner(contact[1])}` : `Body ${picked}`;
    $("picked-name").textContent = name;
    let facts = [["", contact ? "no force at this time" : "not there at this time"]];
    if (i >= 0) facts = contact ? contactFacts(stage, source.about, i) : bodyFacts(stage.frame, source.about, i);
    $("picked-facts").replaceChildren(...facts.flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
  }

  function element(tag, text) {
    const made = document.createElement(tag);
    made.textContent = text;
    return made;
  }

  function nextBody(by) {
    const { number } = stage.frame, from = anchor ?? (by > 0 ? -1 : source.about.n);
    const order = by > 0 ? number : [...number].reverse(), found = order.find((one) => (one - from) * by > 0);
    if (number.length) pick(found ?? order[0]);
  }

  function nextContact(by) {
    const order = strongest(stage.frame, anchor), at = contact ? order.indexOf(contactRow()) : by > 0 ? -1 : 0;
    if (order.length) pickContact(order[(at + by + order.length) % order.length]);
    else if (!source.about.contacts) tellAloud("contacts were not saved");
    else tellAloud(anchor === null ? "no contact carries a force" : `body ${anchor} has no contact with a force`);
  }

  function goToPicked() {
    const c = contactRow(), i = c >= 0 ? stage.frame.contacts.first[c] : row();
    if (i < 0) return;
    stage.camera.target = [...stage.frame.q.subarray(3 * i, 3 * i + 3)];
    const pixels = stage.frame.radius[i] * stage.camera.scale;
    if (pixels < 20) stage.camera.nearness *= 20 / pixels;
  }

  // ---- hands and keys

  const { camera } = stage;
  hands($("view"), stage, (x, y) => {
    const c = $("forces").checked ? contactAt(stage, x, y) : -1, i = c < 0 ? bodyAt(stage, x, y) : -1;
    if (c >= 0) {
      anchor = null;
      pickContact(c);
    } else pick(i < 0 ? null : stage.frame.number[i]);
  });
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
  const forget = keys(root, {
    " ": () => play(!played), ArrowLeft: () => step(-1), ArrowRight: () => step(1),
    PageUp: () => step(-tenth()), PageDown: () => step(tenth()),
    Home: () => step(-source.count), End: () => step(source.count), e: () => follow(!$("follow").checked),
    "shift ArrowLeft": () => move(-40, 0), "shift ArrowRight": () => move(40, 0),
    "shift ArrowUp": () => move(0, -40), "shift ArrowDown": () => move(0, 40),
    w: () => pan(0, -40), a: () => pan(-40, 0), s: () => pan(0, 40), d: () => pan(40, 0),
    "+": () => camera.zoom(1.25), "=": () => camera.zoom(1.25), "-": () => camera.zoom(0.8), 0: () => camera.reset(),
    f: () => $("forces").click(), l: () => $("light").click(), v: goToPicked,
    c: () => select($("colour"), 1, true), C: () => select($("colour"), -1, true),
    "[": () => select($("speed"), -1), "]": () => select($("speed"), 1),
    n: () => nextBody(1), p: () => nextBody(-1), N: () => nextContact(1), P: () => nextContact(-1),
    "?": () => help(!$("help").open), Escape: () => ($("help").open ? help(false) : pick(null)),
  }, () => stage.repaint());

  $("play").addEventListener("click", () => play(!played));
  $("frame").addEventListener("input", (event) => { play(false); follow(false); show(Number(event.target.value)); });
  $("follow").addEventListener("change", (event) => follow(event.target.checked));
  $("speed").addEventListener("change", () => played && play(true));
  $("colour").addEventListener("change", () => { tellScale(); stage.load(); });
  $("forces").addEventListener("change", () => {
    tellAloud($("forces").checked ? "forces shown" : "forces hidden");
    stage.repaint();
  });
  $("light").addEventListener("change", () => choosePainter($("light").checked));
  $("body").addEventListener("input", (event) => pick(event.target.value === "" ? null : Number(event.target.value)));
  $("whole").addEventListener("click", () => { camera.reset(); stage.repaint(); });

  function choosePainter(light) {
    const found = stage.choosePainter(light);
    $("light").checked = found !== "webgl";
    if (found === "none") say("This browser offers no WebGL 2, so bodies are drawn without the graphics card.");
    stage.load();
  }

  function chooseColours() {
    stage.chooseColours(night.matches);
    $("scale").style.background = stage.palette.gradient;
    tellScale();
    stage.load();
  }

  const fail = (event) => say(`Something went wrong: ${event.message ?? event.reason?.message ?? event.reason}`);
  const resized = new ResizeObserver(() => stage.fit());
  const listened = [[night, "change", chooseColours]];
  if (root === document) listened.push([window, "error", fail], [window, "unhandledrejection", fail]);
  for (const [on, kind, act] of listened) on.addEventListener(kind, act);

  for (const { name, label } of source.about.quantities) $("colour").add(new Option(label, name));
  $("forces").closest("label").hidden = !source.about.contacts;
  measure();
  offerSpeeds();
  chooseColours();
  choosePainter(null); // before anything is painted
  resized.observe($("view"));
  show(0);

  return {
    source, stage, say, renewed,
    get shown() { return shown; },
    get picked() { return picked; },
    get contact() { return contact; },
    get playing() { return played !== null; },
    values(name) {
      const { recipe } = source.about.quantities.find((one) => one.name === name);
      return valuesOf(recipe, stage.frame, source.about);
    },
    place(number) {
      const i = stage.frame.number.indexOf(number), box = $("view").getBoundingClientRect();
      const [x, y] = camera.projection()(...stage.frame.q.subarray(3 * i, 3 * i + 3));
      return [x + box.left, y + box.top];
    },
    end() {
      play(false);
      resized.disconnect();
      forget();
      for (const [on, kind, act] of listened) on.removeEventListener(kind, act);
    },
  };
}
