// The viewer in a notebook: Python hands over the frames, all at once, and those of a run that goes on as they come.

class PackedSource extends Source {
  constructor(about, data) {
    super({ ...about, times: [] });
    this.packed = [];
    let end = 0;
    this.take(0, about.lengths.filter((length) => (end += length) <= data.byteLength), data);
    this.renew(about);
  }

  // Frames number first, first + 1, ... one after the other in the bytes of data.
  take(first, lengths, { buffer, byteOffset }) {
    lengths.forEach((length, i) => {
      this.packed[first + i] ??= buffer.slice(byteOffset, byteOffset + length);
      byteOffset += length;
    });
  }

  // The first frame that has not come; as many as there are, if all have.
  missing(about) {
    const found = about.lengths.findIndex((_, k) => !this.packed[k]);
    return found < 0 ? about.lengths.length : found;
  }

  // Show the frames up to the first that is missing.
  renew(about) {
    super.renew({ ...about, times: about.times.slice(0, this.packed ? this.missing(about) : 0) });
  }

  async bytes(k) {
    return this.packed[k];
  }

  // All frames as one piece, as Python hands them over.
  async whole() {
    return new DataView(await new Blob(this.packed.slice(0, this.count)).arrayBuffer());
  }
}

function render({ model, el }) {
  const host = document.createElement("div");
  host.style.height = `${model.get("height")}px`;
  host.dataset.lmSuppressShortcuts = "true"; // keys are for the viewer, not for the notebook
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

  // A page that is opened while the run goes on has missed the frames that were sent before.
  function askFor(about) {
    const first = source.missing(about);
    if (first < about.lengths.length) model.send({ missing: first });
  }

  function renewed() {
    const about = model.get("about");
    if (about.session !== source.about.session) return begin(); // another run took its place
    if (about.edition !== source.about.edition) {
      source.packed = []; // frames were left out, to make room for more
      source.take(0, about.lengths, model.get("frames"));
    }
    source.renew(about);
    host.viewer.renewed();
    askFor(about);
    if (!about.live) source.whole().then((bytes) => model.set("frames", bytes)); // for the notebook that is saved
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
