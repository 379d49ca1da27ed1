// The viewer in a notebook. Python sends all frames at once, and the new frames of a run in progress one by one.

class PackedSource extends Source {
  constructor(about, data) {
    super({ ...about, times: [] });
    this.packed = [];
    let end = 0;
    this.take(0, about.lengths.filter((length) => (end += length) <= data.byteLength), data);
    this.renew(about);
  }

  // Add the frames with the numbers first, first + 1, ..., which are stored one after the other in data.
  take(first, lengths, { buffer, byteOffset }) {
    lengths.forEach((length, i) => {
      this.packed[first + i] ??= buffer.slice(byteOffset, byteOffset + length);
      byteOffset += length;
    });
  }

  // The number of the first missing frame, or the number of frames if none is missing.
  missing(about) {
    const found = about.lengths.findIndex((_, k) => !this.packed[k]);
    return found < 0 ? about.lengths.length : found;
  }

  // Show the frames before the first missing one.
  renew(about) {
    super.renew({ ...about, times: about.times.slice(0, this.packed ? this.missing(about) : 0) });
  }

  async bytes(k) {
    return this.packed[k];
  }

  // All frames in one block, in the format that Python sends.
  async whole() {
    return new DataView(await new Blob(this.packed.slice(0, this.count)).arrayBuffer());
  }
}

function render({ model, el }) {
  const host = document.createElement("div");
  host.style.height = `${model.get("height")}px`;
  host.dataset.lmSuppressShortcuts = "true"; // the viewer handles the keys, not the notebook
  el.append(host);
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  root.adoptedStyleSheets = [sheet];

  let source;
  function begin() {
    host.viewer?.end();
    root.innerHTML = MARKUP;
    source = new PackedSource(model.get("about"), model.get("frames"));
    host.viewer = mount(root, source);
    askFor(model.get("about"));
  }

  // A page that is opened during the run has missed the frames that were sent before.
  function askFor(about) {
    const first = source.missing(about);
    if (first < about.lengths.length) model.send({ missing: first });
  }

  function renewed() {
    const about = model.get("about");
    if (about.session !== source.about.session) return begin(); // another run replaced this one
    if (about.edition !== source.about.edition) {
      source.packed = []; // frames were left out, to limit the memory
      source.take(0, about.lengths, model.get("frames"));
    }
    source.renew(about);
    host.viewer.renewed();
    askFor(about);
    if (!about.live) source.whole().then((bytes) => model.set("frames", bytes)); // stored in the saved notebook
  }

  function came({ first, lengths }, [data]) {
    source.take(first, lengths, data);
    const about = model.get("about");
    if (source.count < source.missing(about)) {
      source.renew(about);
      host.viewer.renewed();
    }
  }

  begin();
  model.on?.("change:about", renewed);
  model.on?.("msg:custom", came);
  return () => {
    model.off?.("change:about", renewed);
    model.off?.("msg:custom", came);
    host.viewer.end();
  };
}

export default { render };
