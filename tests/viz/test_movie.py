"""Films: as many pictures as there should be, evenly in time, of what is there."""

import io
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import imageio_ffmpeg
import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image, ImageSequence
from rich.console import Console
from typer.testing import CliRunner

import jostle as jo
from commands import run_commands
from jostle import viz
from jostle._tools.installing import installing
from jostle.cli import app
from jostle.errors import WriteFailed
from jostle.terminal import progress_bar
from jostle.viz import movie
from jostle.viz.movie import between
from jostle.viz.scene import Scene
from rows import whole


def pictures(path):
    """What a player sees: the pictures (k, height, width, 3) and how many of them there are a second."""
    if path.suffix == ".gif":
        with Image.open(path) as film:
            found = [(np.asarray(each.convert("RGB")), each.info["duration"]) for each in ImageSequence.Iterator(film)]
        return np.stack([each for each, _ in found]), [duration for _, duration in found]
    program = imageio_ffmpeg.get_ffmpeg_exe()
    said = subprocess.run([program, "-i", path], capture_output=True, text=True, check=False).stderr
    width, height = (int(each) for each in re.search(r"h264.* (\d+)x(\d+)[, ]", said).groups())
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-v", "error", "-"]
    played = subprocess.run([program, "-i", path, *raw], capture_output=True, check=True).stdout
    rate = float(re.search(r"([\d.]+) fps", said).group(1))
    return np.frombuffer(played, np.uint8).reshape(-1, height, width, 3), rate


def place(picture):
    """The middle of what is dark blue inside the frame, along x, as a part of the width of the picture."""
    red, blue = picture[..., 0].astype(int), picture[..., 2].astype(int)
    dark = (blue - red > 40) & (red < 60)
    dark[:, int(0.8 * dark.shape[1]) :] = False  # not the colour bar
    return dark.nonzero()[1].mean() / dark.shape[1]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Small pictures are drawn and encoded faster."""
    monkeypatch.setattr("jostle.viz.movie.DPI", 50)
    monkeypatch.setattr("jostle.viz.movie.LARGEST_SIZE", (580, 436))


@pytest.fixture(scope="module")
def walk():
    """A disc that walks evenly, saved at uneven times, and one that stands far away."""
    pair = jo.Motion(q0=[[0.0, 0.0], [5.0, 2.0]], v0=[[1.0, 0.0], [0.0, 0.0]], within=jo.Balls([0.5, 0.5]))
    return jo.solve(pair, jo.Maury(), t=2.0, h=np.array([0.1, 0.5, 0.05, 0.35, 0.7, 0.3]))


@pytest.mark.parametrize("suffix", [".mp4", whole(".gif")])
def test_time_runs_evenly_whenever_it_was_saved(walk, tmp_path, suffix):
    path = viz.animate(walk, tmp_path / f"walk{suffix}", speed=5.0)
    shown, rate = pictures(path)
    assert len(shown) == 11  # 2 of time, 5 a second, 25 pictures a second, and the first
    assert rate == (25.0 if suffix == ".mp4" else [40] * 11)
    steps = np.diff([place(picture) for picture in shown])
    assert steps.mean() > 0.005
    assert steps == pytest.approx(steps.mean(), rel=0.25)


def test_size_and_frames_per_second_are_those_asked_for(walk, tmp_path):
    shown, rate = pictures(viz.animate(walk, tmp_path / "walk.mp4", speed=20.0, size=(320, 200), fps=10))
    assert (shown.shape[1:3], len(shown), rate) == ((200, 320), 2, 10.0)
    with pytest.raises(jo.InvalidValue, match="fps must be between 1 and 100"):
        viz.animate(walk, tmp_path / "b.mp4", fps=101)


def test_each_picture_is_the_whole_figure_although_axes_are_drawn_once(walk, monkeypatch):
    times, drawn = movie.moments(walk.t, 2.0)[:3], []
    picture, paint = movie._of_bodies(walk, times, "speed", (-62.0, 16.0), True)
    figure = movie._figure(picture, None)

    def add(pixels):
        painted = pixels.copy()
        figure.canvas.draw()
        drawn.append((painted, np.asarray(figure.canvas.buffer_rgba())[..., :3].copy()))

    movie._record(SimpleNamespace(add=add), figure, times, paint, None)
    assert len(drawn) == 3
    assert (drawn[0][0] != drawn[2][0]).any()
    for painted, whole_figure in drawn:
        np.testing.assert_array_equal(painted, whole_figure)


def test_width_and_height_are_even(walk, tmp_path):
    shown, _ = pictures(viz.animate(walk, tmp_path / "walk.mp4", speed=20.0))
    assert shown.shape[1] % 2 == shown.shape[2] % 2 == 0
    assert len(shown) == 3


def test_space_is_filmed_with_the_near_before_the_far(two_balls, tmp_path):
    """As in the pictures: seen along y, ball 0 is in front, and it is the light one."""
    for azimuth, light in ((-90.0, True), (90.0, False)):
        view = (azimuth, 0.0)
        shown, _ = pictures(viz.animate(two_balls, tmp_path / "two.gif", speed=10.0, colour=[0.0, 1.0], view=view))
        left = shown[-1][:, : int(0.75 * shown.shape[2])].astype(int)  # without the colour bar
        dark = (left[..., 2] - left[..., 0] > 30) & (left[..., 0] < 90)
        assert (dark.sum() < 0.5 * _disc(left)) == light


def _disc(picture):
    """The pixels of one of two discs that overlap by most of their width, roughly: half of what is not white."""
    return 0.5 * (picture.min(axis=2) < 250).sum()


def test_bodies_move_straight_on_between_saved_times(walk):
    scene = Scene(walk)
    assert between(scene, 0.35).x[0] == pytest.approx([0.35, 0.0])
    assert between(scene, 2.0).x[0] == pytest.approx([2.0, 0.0])


def test_through_the_end_of_a_periodic_cell_one_goes_the_short_way():
    turning = jo.Motion(q0=[[1.5, 0.0]], v0=[[1.0, 0.0]], within=jo.Balls([0.1], period=[2.0, np.inf]))
    scene = Scene(jo.solve(turning, jo.Maury(), t=0.9, h=0.1, every=0.9))
    assert [between(scene, t).x[0, 0] for t in (0.2, 0.8)] == pytest.approx([1.7, 0.3])


def test_forces_go_with_their_bodies(pile):
    scene = Scene(pile)
    t = 0.5 * (pile.t[-2] + pile.t[-1])
    frame = between(scene, t)
    i, j = frame.bars.rows.T
    assert frame.bars.start == pytest.approx(frame.x[i])
    both = j >= 0
    assert both.any()
    assert frame.bars.end[both] == pytest.approx(frame.x[j[both]])


def test_those_who_leave_stay_until_the_nearer_time_without_them(leaving):
    scene = Scene(leaving)
    counts = [len(between(scene, t).x) for t in np.linspace(0.0, 1.0, 41)]
    assert counts[0] == 3
    assert counts[-1] == 1
    assert (np.diff(counts) <= 0).all()


def test_progress_is_told_picture_by_picture(walk, tmp_path):
    told = []
    viz.animate(walk, tmp_path / "walk.gif", speed=20.0, progress=told.append)
    assert [(drawn.step, drawn.steps) for drawn in told] == [(k, 3) for k in range(1, 4)]
    assert [drawn.t for drawn in told] == pytest.approx([0.0, 0.8, 1.6])


def test_the_bar_of_runs_follows_films_too(walk, tmp_path):
    screen = io.StringIO()
    with progress_bar(Console(file=screen, force_terminal=True, width=120)) as bar:
        viz.animate(walk, tmp_path / "walk.gif", speed=20.0, progress=bar)
    assert bar.steps == 3
    assert "100%" in screen.getvalue()
    assert "frames/s" in screen.getvalue()


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_ctrl_c_leaves_no_figure_open_and_no_part_of_a_file(walk, tmp_path, suffix):
    def interrupt(drawn):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        viz.animate(walk, tmp_path / f"walk{suffix}", progress=interrupt)
    assert list(tmp_path.iterdir()) == []
    assert plt.get_fignums() == []


@pytest.mark.parametrize("says", ["no space left", "[out#0/mp4 @ 0x55d0c0ffee] no space left"])
def test_what_ffmpeg_complains_about_is_told_without_addresses(says, walk, tmp_path, monkeypatch):
    program = tmp_path / "ffmpeg"
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", lambda: str(program))
    with pytest.raises(WriteFailed, match=r"walk\.mp4 cannot be written: no space left$"):
        viz.animate(walk, tmp_path / "walk.mp4")
    assert list(tmp_path.iterdir()) == [program]


@pytest.mark.parametrize("name", ["walk.avi", "walk"])
def test_other_kinds_of_films_are_refused(walk, tmp_path, name):
    with pytest.raises(jo.InvalidValue, match=r"must end in \.mp4 or \.gif"):
        viz.animate(walk, tmp_path / name)


@pytest.mark.parametrize("speed", [0.0, -1.0, np.inf, np.nan])
def test_a_speed_must_be_positive(walk, tmp_path, speed):
    with pytest.raises(jo.InvalidValue, match="speed must be positive and finite"):
        viz.animate(walk, tmp_path / "walk.gif", speed=speed)


def test_without_imageio_ffmpeg_the_error_says_how_to_get_it(walk, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ImportError, match=rf"(?m)^  {re.escape(installing(extras='movie'))}$"):
        viz.animate(walk, tmp_path / "walk.mp4")
    assert viz.animate(walk, tmp_path / "walk.gif", speed=20.0).exists()


def test_the_command_line_makes_a_film_of_a_trajectory(walk, tmp_path):
    trajectory = tmp_path / "walk.vtkhdf"
    jo.io.write(walk, trajectory)
    result = CliRunner().invoke(app, ["movie", str(trajectory), "--speed", "20", "--colour", "pressure"])
    assert result.exit_code == 0, result.output
    assert result.output.strip() == str(tmp_path / "walk.mp4")
    assert len(pictures(tmp_path / "walk.mp4")[0]) == 3


def test_a_film_may_be_called_as_one_likes(walk, tmp_path):
    for name in ("-12:30.mp4", "a" * 251 + ".mp4"):
        assert len(pictures(viz.animate(walk, tmp_path / name, speed=20.0))[0]) == 3
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere/walk", "No such file or directory"),
        ("a_file/walk", "Not a directory"),
        ("a_folder", "Is a directory"),
        ("a" * 252, "File name too long"),
    ],
)
def test_a_film_that_cannot_be_written_is_refused_before_a_picture_is_drawn(walk, tmp_path, suffix, name, words):
    (tmp_path / "a_file").touch()
    (tmp_path / f"a_folder{suffix}").mkdir()
    told = []
    with pytest.raises(WriteFailed, match=f"{suffix} cannot be written: {words}$"):
        viz.animate(walk, tmp_path / f"{name}{suffix}", progress=told.append)
    assert told == []
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("speed", [1e-15, 5e-324])
def test_a_film_without_end_is_refused_before_it_takes_all_memory(walk, tmp_path, speed):
    with pytest.raises(jo.InvalidValue, match=r"have (5e\+16|inf) frames, at most 1000000 .* 0\.0333 gives"):
        viz.animate(walk, tmp_path / "walk.mp4", speed=speed)


@pytest.mark.whole
def test_a_film_of_a_file_is_that_of_its_solution(walk, tmp_path):
    path = jo.io.write(walk, tmp_path / "walk.vtkhdf", dtype=float)
    films = [viz.animate(shown, tmp_path / "walk.gif", speed=20.0).read_bytes() for shown in (path, str(path))]
    assert films[0] == films[1]
    assert len(pictures(tmp_path / "walk.gif")[0]) == 3


def test_a_film_does_not_replace_what_it_shows(walk, tmp_path):
    path = jo.io.write(walk, tmp_path / "walk.vtkhdf").rename(tmp_path / "walk.mp4")
    before = path.read_bytes()
    with pytest.raises(jo.InvalidValue, match="is the trajectory itself"):
        viz.animate(path, path)
    assert path.read_bytes() == before


def test_who_jumps_does_not_fly(tmp_path):
    """Two people walk; one takes the stairs at t = 1, from x = 1 to another floor, at x = 50."""
    path = tmp_path / "stairs.vtkhdf"
    with jo.io.Writer(path, shape=(2, 2), about={}) as writer:
        for k, x in enumerate((0.0, 0.5, 50.0, 50.5)):
            writer.frame(0.5 * k, [[x, 0.0], [0.5 * k, 5.0]], [[1.0, 0.0], [1.0, 0.0]], radii=0.25)
    scene = Scene(jo.io.read(path))
    seen = [between(scene, t).x[:, 0].tolist() for t in (0.25, 0.5, 0.7, 0.8, 1.0, 1.25)]
    jumping, walking = zip(*seen, strict=True)
    assert jumping == pytest.approx([0.25, 0.5, 0.5, 50.0, 50.0, 50.25])
    assert walking == pytest.approx([0.25, 0.5, 0.7, 0.8, 1.0, 1.25])


BROKEN = "raise ImportError('DLL load failed')"
ABSENT = "raise ModuleNotFoundError('no matplotlib')"


@pytest.mark.parametrize("why", [whole(BROKEN), ABSENT])
def test_without_a_matplotlib_that_works_commands_say_how_to_get_it(walk, tmp_path, why):
    trajectory = jo.io.write(walk, tmp_path / "walk.vtkhdf")
    (tmp_path / "matplotlib.py").write_text(why)
    for code, out, err in run_commands(["plot", trajectory], ["movie", trajectory], folder=tmp_path):
        assert (code, out, len(err.splitlines())) == (1, "", 2)
        assert err.startswith("error: ")
        assert "need matplotlib" in err
        assert "pip install 'jostle[" in err.splitlines()[1]
    found = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(found)}
    program = "import jostle as jo; jo.viz.draw"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=path, check=False)
    assert "MissingPackage: jostle.viz.draw and other pictures need matplotlib" in done.stderr
