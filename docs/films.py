"""Makes the moving pictures of the README and of the first page: python docs/films.py [folder]

An hourglass, a room with two doors and two blocks of a density, from the scenarios of these names. The folder gets an
mp4 file and its first picture (.webp) for each, and jostle.gif for the README. It takes about two minutes on two cores.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
from imageio_ffmpeg import get_ffmpeg_exe
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

import jostle as jo
from jostle._tools.colours import GREEN, LIGHT
from jostle.viz.density_pictures import DensityPicture
from jostle.viz.drawing import AZIMUTH, ELEVATION, Picture
from jostle.viz.movie import between
from jostle.viz.sources import images_of
from jostle.viz.style import BODY_COLOURS

SECONDS, PAUSE = 5.0, 1.0
"""How long a film takes, and how long its last picture stays."""
SIZE = 480
"""Width and height of a film, in pixels."""
POSTER = 0.4
"""The picture that stands for a film, as a part of its duration."""


def hourglass(fps):
    """The pictures of the hourglass, one after the other."""
    sol = jo.scenarios.load("hourglass").build().solve()
    yield from bodies(sol, fps, lambda ax: None)


def evacuation(fps):
    """People who leave a room; the doors are green."""
    scenario = jo.scenarios.load("evacuation")
    sol = scenario.build().solve()

    def doors(ax):
        for door in scenario.problem.exits:
            ax.plot(*np.transpose(door.ends), color=GREEN, linewidth=5.0, solid_capstyle="butt", zorder=5)

    yield from bodies(sol, fps, doors)


def bodies(sol, fps, more):
    picture = Picture.of(sol, range(len(sol.t)), "speed", (AZIMUTH, ELEVATION))
    for t in np.linspace(sol.t[0], sol.t[-1], int(SECONDS * fps)):
        yield pixels(lambda ax, t=t: (picture.onto(ax, between(picture.scene, t), False), clear(ax), more(ax)))


def clear(ax):
    """Without the arrows that show the axes of space."""
    for line in list(ax.lines):
        line.remove()


def blocks(fps):
    """Two blocks of a density that collide, with the pressure."""
    images = images_of(jo.scenarios.load("blocks").build().solve())
    picture = DensityPicture.of(images, range(len(images.t)), "density")
    for k in np.linspace(0, len(images.t) - 1, int(SECONDS * fps)).round().astype(int):
        yield pixels(lambda ax, k=k: picture.onto(ax, int(k), contours=True))


def pixels(draw):
    """(SIZE, SIZE, 3): what is drawn, without axes and title."""
    figure = Figure(figsize=(SIZE / 100, SIZE / 100), dpi=100)
    ax = figure.add_axes((0.02, 0.02, 0.96, 0.96))
    draw(ax)
    for text in list(ax.texts):
        text.remove()
    ax.set_axis_off()
    ax.set_title("")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def mp4(pictures, path, fps):
    """A small film for web pages."""
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{SIZE}x{SIZE}", "-r", str(fps), "-i", "-"]
    kind = ["-c:v", "libx264", "-crf", "27", "-preset", "veryslow", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
    last = [pictures[-1]] * int(PAUSE * fps)
    data = b"".join(picture.tobytes() for picture in [*pictures, *last])
    subprocess.run([get_ffmpeg_exe(), "-y", "-v", "error", *raw, *kind, str(path)], input=data, check=True)


def gif(films, path, fps, height=360):
    """Films side by side, in few colours."""
    rows = []
    for parts in zip(*films, strict=True):
        cut = [Image.fromarray(part).crop(box) for part, box in zip(parts, map(seen, films), strict=True)]
        scaled = [one.resize((round(one.width * height / one.height), height), Image.LANCZOS) for one in cut]
        row = Image.new("RGB", (sum(one.width for one in scaled) + 60, height + 20), "white")
        at = 20
        for one in scaled:
            row.paste(one, (at, 10))
            at += one.width + 20
        rows.append(row)
    palette = Image.new("P", (1, 1))
    palette.putpalette(tones())
    few = [row.quantize(palette=palette, dither=Image.Dither.NONE) for row in rows]
    durations = [round(1000 / fps)] * (len(few) - 1) + [round(1000 * PAUSE)]
    few[0].save(path, save_all=True, append_images=few[1:], duration=durations, loop=0, optimize=True)


def tones():
    """The colours of the gif: white, the doors, and shades of the walls, the glass and the bodies."""
    ramp = BODY_COLOURS(np.linspace(0.0, 1.0, 36))[:, :3]
    part = np.linspace(0.1, 1.0, 10)[:, None]
    shades = [1.0 - part * (1.0 - np.array(to_rgb(colour))) for colour in (LIGHT.wall, LIGHT.glass)]
    every = np.concatenate([[[1.0, 1.0, 1.0], to_rgb(GREEN)], *shades, ramp, 0.8 * ramp[::3], 0.6 * ramp[::4]])
    return np.round(255 * every).astype(int).ravel().tolist()


def seen(film):
    """(left, upper, right, lower): the part of the pictures where anything is drawn."""
    drawn = np.any([(picture < 250).any(axis=2) for picture in film], axis=0)
    rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def main(folder):
    fps = 20
    films = {"grains": list(hourglass(fps)), "crowds": list(evacuation(fps)), "mathematics": list(blocks(fps))}
    for name, film in films.items():
        mp4(film, folder / f"{name}.mp4", fps)
        Image.fromarray(film[int(POSTER * len(film))]).save(folder / f"{name}.webp", quality=80)
    gif([films[name][::2] for name in ("grains", "crowds")], folder / "jostle.gif", fps / 2)


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parent / "_static"))
