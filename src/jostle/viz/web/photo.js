// Saves the picture as a PNG file, with the title, the time, the scale bar, the legend and the curve; and films.

const BAND = 40; // pixels: height of the lines of words above and below the picture

function savePicture($, stage, source) {
  stage.paint(); // WebGL keeps its picture only until the next one
  const { camera: { width, height }, canvas, palette: { theme } } = stage, plot = $("plot");
  const curve = plot.hidden ? 0 : CURVE_HEIGHT, photo = document.createElement("canvas"), below = BAND + height + BAND / 2;
  const pen = penOn(photo, width, 2 * BAND + height + curve, $("viewer"));
  pen.fillStyle = css(theme.back);
  pen.fillRect(0, 0, width, 2 * BAND + height + curve);
  pen.drawImage(canvas, 0, BAND, width, height);
  if (!$("axes").hidden) pen.drawImage($("axes"), 0, BAND, width, height);
  if (curve) pen.drawImage(plot, 0, 2 * BAND + height, width, curve);
  [pen.fillStyle, pen.strokeStyle, pen.lineWidth, pen.textBaseline] = [css(theme.wall), css(theme.wall), 2, "middle"];
  const write = (text, x, y, align = "left") => { pen.textAlign = align; pen.fillText(text, x, y); };
  for (const label of $("view").parentElement.querySelectorAll(".exit:not([hidden])")) {
    const [x, y] = [parseFloat(label.style.left), BAND + parseFloat(label.style.top)];
    if (label.classList.contains("beside")) write(label.textContent, x + 8, y);
    else write(label.textContent, x, y + 14, "center");
  }
  write(source.about.title, 16, BAND / 2);
  write($("time").textContent, width - 16, BAND / 2, "right");
  const [mark] = $("ruler").children, long = parseFloat(mark.style.width);
  pen.fillRect(16, below - 1, long, 2);
  write($("ruler").dataset.label, 24 + long, below);
  drawLegend(pen, $, stage, width - 16, below, write);
  photo.toBlob((blob) => download(blob, `${source.about.title} t=${short(stage.saved.t)}.png`));
}

function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[\\/:*?"<>|]/g, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Records the picture until stop() of what it returns, and saves the film; null where the browser cannot record.
function recordFilm(stage, source) {
  if (!window.MediaRecorder || !stage.canvas.captureStream) return null;
  const parts = [], recorder = new MediaRecorder(stage.canvas.captureStream(30), { videoBitsPerSecond: 8e6 });
  recorder.ondataavailable = ({ data }) => parts.push(data);
  recorder.onstop = () => download(new Blob(parts, { type: recorder.mimeType }), `${source.about.title}.${recorder.mimeType.includes("mp4") ? "mp4" : "webm"}`);
  recorder.start();
  return recorder;
}

// The colours and their names, from right to left; end: the right end.
function drawLegend(pen, $, stage, end, y, write) {
  const put = (text) => { write(text, end, y, "right"); end -= pen.measureText(text).width + 6; };
  const box = (colour, wide) => { pen.fillStyle = colour; pen.fillRect(end - wide, y - 6, wide, 12); end -= wide + 8; };
  const ink = pen.fillStyle;
  for (const item of [...$("categories").children].reverse()) {
    put(item.textContent);
    box(item.style.borderColor, 12);
    pen.fillStyle = ink;
  }
  if (!$("amounts").hidden) {
    put($("scale-high").textContent);
    const stops = stage.gradient.match(/#\w+/g), shades = pen.createLinearGradient(end - 120, 0, end, 0);
    stops.forEach((colour, k) => shades.addColorStop(k / (stops.length - 1), colour));
    box(shades, 120);
    pen.fillStyle = ink;
    put($("scale-low").textContent);
  }
  put($("scale-name").textContent);
}
