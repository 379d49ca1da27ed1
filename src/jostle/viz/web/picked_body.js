// The selected body or contact, and the values that the panel shows for it.

function bodyPicker($, stage, source, tellAloud, changed) {
  let picked = null, contact = null, anchor = null; // the selection, and the body whose contacts are listed
  let measured = null; // the body whose distance to the selected one is shown
  const row = () => (picked === null || !stage.frame ? -1 : stage.frame.number.indexOf(picked));
  const contactRow = () => (contact === null ? -1 : rowOfContact(stage.frame, contact));

  function pick(number) {
    const bars = contact !== null;
    picked = number === null || !(number >= 0 && number < source.about.n) ? null : Math.floor(number);
    [contact, anchor, measured] = [null, picked, null];
    choose(bars);
  }

  function pickContact(c) {
    [contact, picked] = [namesOf(stage.frame, c), null];
    choose(true);
  }

  function choose(bars) {
    $("body").value = anchor ?? "";
    tell();
    changed();
    stage.barsAreOld ||= bars;
    stage.repaint();
  }

  function tell() {
    $("picked").hidden = picked === null && contact === null;
    if ($("picked").hidden || !stage.frame) return;
    const i = contact ? contactRow() : row();
    const [one, other] = (contact ?? [picked]).map((number) => nameOf(source, number));
    $("picked-name").textContent = contact ? `Contact of ${one} and ${other}` : one[0].toUpperCase() + one.slice(1);
    let facts = [["", contact ? "no force at this time" : "absent at this time"]];
    if (i >= 0) facts = contact ? contactFacts(stage, source.about, i) : bodyFacts(stage.saved, source.about, i);
    const j = i < 0 || contact || measured === null ? -1 : stage.frame.number.indexOf(measured);
    if (j >= 0) facts = [...distanceFacts(source, stage.saved, i, j, measured), ...facts];
    tellFacts($, facts);
  }

  // With `more`, the distance of the body to the selected one is shown.
  function click(x, y, more) {
    const aside = more && picked !== null ? bodyAt(stage, x, y) : -1;
    if (aside >= 0) {
      measured = stage.frame.number[aside];
      return tell();
    }
    const c = $("forces").checked ? contactAt(stage, x, y) : -1, i = c < 0 ? bodyAt(stage, x, y) : -1;
    if (c >= 0) {
      anchor = null;
      pickContact(c);
    } else pick(i < 0 ? null : stage.frame.number[i]);
  }

  function next(by) {
    const { number } = stage.frame, from = anchor ?? (by > 0 ? -1 : source.about.n);
    const order = by > 0 ? number : [...number].reverse(), found = order.find((one) => (one - from) * by > 0);
    if (number.length) pick(found ?? order[0]);
  }

  function nextOther(by) {
    const order = strongest(stage.frame, anchor), at = contact ? order.indexOf(contactRow()) : by > 0 ? -1 : 0;
    if (order.length) pickContact(order[(at + by + order.length) % order.length]);
    else if (!source.about.contacts) tellAloud("contacts were not saved");
    else tellAloud(`${anchor === null ? "no contact carries" : `${nameOf(source, anchor)} has no contact with`} a force`);
  }

  function goTo() {
    const c = contactRow(), i = c >= 0 ? stage.frame.contacts.first[c] : row();
    if (i < 0) return;
    stage.camera.target = [...stage.saved.q.subarray(3 * i, 3 * i + 3)];
    const pixels = stage.frame.radius[i] * stage.camera.scale;
    if (pixels < 20) stage.camera.nearness *= 20 / pixels;
  }

  $("body").addEventListener("input", ({ target: { value } }) => pick(value === "" ? null : Number(value)));

  return {
    tell, click, next, nextOther, goTo, row, contactRow,
    loaded: addLoads,
    forget: () => pick(null),
    words: () => `${source.owner ? new Set(source.owner).size : source.about.n} bodies in ${source.about.dimension} dimensions`,
    get picked() { return picked; },
    get contact() { return contact; },
    values: ({ recipe }) => valuesOf(recipe, stage.frame, source.about),
    selected: () => (picked === null ? null : nameOf(source, picked)),
    value: ({ recipe }, frame) => valuesOf(recipe, frame.load ? frame : addLoads(frame), source.about)[frame.number.indexOf(picked)] ?? NaN,
    place(number) {
      const i = stage.frame.number.indexOf(number);
      return stage.frame.q.subarray(3 * i, 3 * i + 3);
    },
  };
}
