// The same without WebGL: flat discs on a plain canvas, the far ones first. Slow for many bodies.

class CanvasPainter {
  constructor(context) {
    this.context = context;
  }

  load(what, numbers, colours) {
    this[what] = { numbers, colours };
  }

  paint(camera, { theme, picked, forces }) {
    const { context } = this, place = camera.projection(), ratio = context.canvas.width / camera.width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = css(theme.back);
    context.fillRect(0, 0, camera.width, camera.height);
    const { numbers, colours } = this.balls, seen = [];
    for (let i = 0; 4 * i < numbers.length; i++) {
      const [x, y, depth] = place(numbers[4 * i], numbers[4 * i + 1], numbers[4 * i + 2]);
      seen.push({ i, x, y, depth, r: Math.max(numbers[4 * i + 3] * camera.scale, 0.7) });
    }
    if (!camera.flat) seen.sort((a, b) => a.depth - b.depth);
    for (const { i, x, y, r } of seen) {
      context.beginPath();
      context.arc(x, y, r, 0, 2 * Math.PI);
      context.fillStyle = `rgb(${colours[4 * i]} ${colours[4 * i + 1]} ${colours[4 * i + 2]})`;
      context.fill();
      context.lineWidth = i === picked ? 3 : 0.5;
      context.strokeStyle = i === picked ? css(theme.mark) : css(theme.wall);
      context.stroke();
    }
    this.lines(this.walls, place, (width) => width);
    if (forces) this.lines(this.bars, place, (width) => Math.max(width * camera.scale, 0.8));
  }

  lines({ numbers, colours }, place, width) {
    const { context } = this;
    for (let c = 0; 8 * c < numbers.length; c++) {
      const [a, b, d, wide, e, f, g] = numbers.subarray(8 * c, 8 * c + 7);
      context.beginPath();
      context.moveTo(...place(a, b, d).slice(0, 2));
      context.lineTo(...place(e, f, g).slice(0, 2));
      context.lineWidth = width(wide);
      const [red, green, blue, alpha] = colours.subarray(4 * c, 4 * c + 4);
      context.strokeStyle = `rgb(${red} ${green} ${blue} / ${alpha / 255})`;
      context.stroke();
    }
  }
}

const css = (colour) => `rgb(${colour.map((part) => Math.round(255 * part)).join(" ")})`;
