// The selected cell, and the values that the panel shows for it.

function cellPicker($, stage, source, tellAloud, changed) {
  let picked = null;
  const { shape: [nx, ny], h, lower, scalars, velocity } = source.about.grid;

  function centre(cell) {
    const [left, bottom, right, top] = stage.edges(cell);
    return [(left + right) / 2, (bottom + top) / 2, 0];
  }

  function pick(cell) {
    picked = cell;
    tell();
    changed();
    if (stage.frame) stage.loadSides();
    stage.repaint();
  }

  function tell() {
    $("picked").hidden = picked === null;
    if (picked === null || !stage.frame) return;
    $("picked-name").textContent = `Cell ${picked % nx}, ${Math.floor(picked / nx)}`;
    tellFacts($, facts(picked));
  }

  function facts(cell) {
    const { fields, u } = stage.saved, { quantities } = source.about, [i, j] = [cell % nx, Math.floor(cell / nx)];
    const where = [source.about.titles.centre, [lower[0] + (i + 0.5) * h, lower[1] + (j + 0.5) * h].map(short).join(", ")];
    if (stage.walls[cell]) return [where, ["", "wall"]];
    const label = (name) => quantities.find((one) => one.name === name).label;
    const order = quantities.map(({ name }) => name).filter((name) => scalars.includes(name));
    return [
      where, ...order.map((name) => [label(name), short(fields[name][cell])]),
      ...(u ? [[velocity, u.map((part) => short(part[cell])).join(", ")]] : []),
      ...(stage.exits[cell] ? [["", "exit"]] : []),
    ];
  }

  // The first cell is the one with the largest density.
  function next(right, up) {
    if (picked === null) {
      const values = stage.frame.fields.density ?? Object.values(stage.frame.fields)[0];
      return pick(values.reduce((best, value, cell) => (value > values[best] ? cell : best), 0));
    }
    const i = (picked % nx) + right, j = Math.floor(picked / nx) + up;
    if (i >= 0 && i < nx && j >= 0 && j < ny) pick(i + nx * j);
    else tellAloud("end of the grid");
  }

  function goTo() {
    if (picked === null) return;
    const pixels = h * stage.camera.scale;
    stage.camera.target = centre(picked);
    if (pixels < 20) stage.camera.nearness *= 20 / pixels;
  }

  return {
    tell, goTo,
    loaded: (frame) => frame,
    click: (x, y) => pick(stage.cellAt(x, y)),
    forget: () => pick(null),
    next: (by) => next(by, 0),
    nextOther: (by) => next(0, by),
    words: () => `A density on ${nx} by ${ny} cells`,
    cell: () => picked,
    get picked() { return picked; },
    selected: () => (picked === null ? null : `cell ${picked % nx}, ${Math.floor(picked / nx)}`),
    value: ({ recipe: { name } }, frame) => (picked === null ? NaN : cellValues(name, frame, source.about.grid)[picked]),
    values: ({ recipe: { name } }) => cellValues(name, stage.frame, source.about.grid),
    place: centre,
    row: () => -1,
    contactRow: () => -1,
  };
}
