// The viewer in a notebook: the frames are bytes that Python handed over, one after the other.

class PackedSource extends Source {
  constructor(about, data) {
    super(about);
    this.data = data;
    this.starts = [];
    let at = 0;
    for (const length of about.lengths) {
      this.starts.push(at);
      at += length;
    }
  }

  async bytes(k) {
    const { buffer, byteOffset } = this.data, at = byteOffset + this.starts[k];
    return buffer.slice(at, at + this.about.lengths[k]);
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
  root.innerHTML = MARKUP;
  host.viewer = mount(root, new PackedSource(model.get("about"), model.get("frames")));
  return () => host.viewer.end();
}

export default { render };
