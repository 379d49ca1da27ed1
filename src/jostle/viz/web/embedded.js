// The self-contained page: its frames are embedded as text.

class EmbeddedSource extends Source {
  constructor(about, lines) {
    super(about);
    this.lines = lines;
  }

  async bytes(k) {
    return bytesOf(this.lines[k]);
  }
}

{
  const text = (id) => document.getElementById(id).textContent;
  const source = new EmbeddedSource(JSON.parse(text("about")), text("frames").trim().split("\n"));
  window.viewer = mount(document, source);
}
