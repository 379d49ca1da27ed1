"""Pages of moving densities hold what was computed, are as small as one wishes, and go on with their file."""

import shutil
import zlib

import numpy as np
import pytest
from test_encoding import data

import jostle as jo
from jostle import viz
from jostle.io import Images, Output
from jostle.macro import Flow, Grid, Splitting
from jostle.viz.streaming import FieldStream, continues


def fields(about, raw):
    """t, and the arrays of a frame, (count, nx, ny), as the page reads them."""
    nx, ny = about["grid"]["shape"]
    count = len(about["grid"]["scalars"]) + 2
    whole = zlib.decompress(raw)
    head = np.frombuffer(whole, "<f8", 1 + 2 * count)
    kind = "<u2" if about["small"] else "<f4"
    codes = np.frombuffer(whole, kind, count * nx * ny, head.nbytes).reshape(count, ny, nx).swapaxes(1, 2)
    low, step = head[1:].reshape(count, 2).T[..., None, None]
    return head[0], low + step * codes


def expected(about, sol, k):
    found = {"density": sol.density[k], "pressure": sol.pressure[k]}
    return np.stack([*(found[name] for name in about["grid"]["scalars"]), *np.moveaxis(sol.cells[k], -1, 0)])


@pytest.mark.parametrize("source", ["memory", "file"])
def test_values_are_those_of_the_run(density_run, tmp_path, source):
    place, sol = density_run
    if source == "memory":
        sol = jo.macro.solve(sol.problem, sol.scheme, t=1.0, h=0.05, every=4)
    about, frames = data(viz.page(sol if source == "memory" else place, tmp_path / "a.html"))
    assert about["times"] == sol.t.tolist()
    assert about["note"] == ""
    for k, raw in enumerate(frames):
        t, found = fields(about, raw)
        assert t == sol.t[k]
        assert found == pytest.approx(expected(about, sol, k), rel=1e-6)
    assert about["units"]["length"] == ("" if source == "memory" else "m")
    assert viz.widget(sol).about["lengths"] == [len(raw) for raw in frames]


def test_a_page_that_must_be_smaller_rounds_and_then_leaves_out_frames_and_says_so(tmp_path):
    rng = np.random.default_rng(0)
    noise = {"density": rng.uniform(0.0, 1.0, (20, 30, 20)), "velocity": rng.normal(0.0, 3.0, (20, 30, 20, 2))}
    run = Images(t=np.arange(20.0), lower=np.zeros(2), h=0.1, fields=noise)
    whole = viz.page(run, tmp_path / "whole.html").stat().st_size
    about, frames = data(viz.page(run, tmp_path / "small.html", most_bytes=whole - 1000))
    assert (about["small"], len(frames)) == (True, 20)
    assert about["note"] == "Values are rounded to 1/65535 of their range in each frame."
    _, found = fields(about, frames[7])
    assert found[0] == pytest.approx(noise["density"][7], abs=0.6 / 65535)
    assert found[1] == pytest.approx(noise["velocity"][7, ..., 0], abs=0.6 * np.ptp(noise["velocity"][7]) / 65535)
    path = viz.page(run, tmp_path / "few.html", most_bytes=whole - sum(map(len, frames)) - 40_000)
    about, frames = data(path)
    assert path.stat().st_size <= whole - sum(map(len, frames)) - 40_000
    assert 1 < len(frames) < 20
    assert about["note"].startswith(f"{len(frames)} of the 20 saved frames, to stay below 0.")
    noise["density"][3, 0, 0] = np.nan  # which has no code
    about, _ = data(viz.page(run, tmp_path / "unknown.html", most_bytes=whole - 1000))
    assert not about["small"]


def test_values_are_not_rounded_where_that_would_need_more_room(tmp_path):
    """Whole numbers are deflated better as they are than rounded to fractions of their range."""
    many = np.tile(np.arange(1600.0).reshape(1, 200, 8) * 8.0, (9, 1, 1))
    run = Images(
        t=np.arange(9.0), lower=np.zeros(2), h=0.1, fields={"number": many, "velocity": np.zeros((*many.shape, 2))}
    )
    whole = viz.page(run, tmp_path / "whole.html").stat().st_size
    about, frames = data(viz.page(run, tmp_path / "few.html", most_bytes=whole - 5000))
    assert not about["small"]
    assert 1 < len(frames) < 9


def test_quantities_of_bodies_are_refused(density_run, tmp_path):
    for show in (
        lambda **more: viz.page(density_run[1], tmp_path / "a.html", **more),
        lambda **more: viz.serve(density_run[0], **more),
    ):
        with pytest.raises(jo.InvalidValue, match="a density does not have"):
            show(quantities={"age": [1.0]})


@pytest.fixture
def written(tmp_path):
    """written(t, velocity) is the file of a run, which replaces the one before."""
    grid = Grid([0, 0], [2, 1], h=1 / 4)

    def write(t, velocity=1.0):
        flow = Flow(grid=grid, density=grid.block([0, 0], [1, 1]), velocity=grid.velocity(velocity, 0))
        output = Output(tmp_path / "run.vtkhdf", overwrite=True)
        jo.macro.solve(flow, Splitting(), t=t, h=0.1, output=output)
        return tmp_path / "run.vtkhdf"

    return write


def test_a_file_that_goes_on_is_followed_and_another_run_is_another(written, monkeypatch):
    monkeypatch.setattr("jostle.viz.streaming.MIN_INTERVAL", 0.0)
    monkeypatch.setattr("jostle.viz.streaming.IDLE_FACTOR", 0.0)
    place = written(0.2)
    stream = FieldStream(jo.io.read_images(place))
    first, about = stream.header()
    assert (len(about["times"]), about["session"], about["live"]) == (3, 0, False)
    assert stream.header()[0] == first
    written(0.4)
    tag, about = stream.header()
    assert tag != first
    assert (len(about["times"]), about["session"]) == (5, 0)
    assert stream.frame(4) is not None
    written(0.4, velocity=0.5)
    assert stream.header()[1]["session"] == 1
    place.unlink()
    assert "run.vtkhdf" in stream.header()[1]["note"]
    written(0.4, velocity=0.5)
    about = stream.header()[1]
    assert (about["note"], about["session"]) == ("", 1)


def test_the_last_frame_of_an_unfinished_run_may_give_way_but_not_change():
    def run(t, mass, status="running"):
        field = {"density": np.zeros((len(t), 2, 2))}
        return Images(
            t=np.array(t), lower=np.zeros(2), h=1.0, fields=field, totals={"mass": np.array(mass)}, status=status
        )

    short = run([0.0, 0.15], [1.0, 0.9])
    assert continues(short, run([0.0, 0.2, 0.3], [1.0, 0.8, 0.7]))
    assert continues(run([0.0, 0.2, 0.3], [1.0, 0.8, 0.7]), short)
    assert not continues(short, run([0.0, 0.15], [1.0, 0.8]))
    assert not continues(short, run([0.0, 0.2], [0.9, 0.8]))
    assert not continues(run([0.0, 0.15], [1.0, 0.9], "finished"), run([0.0, 0.2, 0.3], [1.0, 0.8, 0.7]))


def test_a_run_is_live_until_its_process_ends(density_run, tmp_path):
    _, sol = density_run
    seen = []

    def look(state):
        seen.append(FieldStream(jo.io.read_images(tmp_path / "run.vtkhdf")).header()[1])
        shutil.copy(tmp_path / "run.vtkhdf", tmp_path / "killed.vtkhdf")  # as kill -9 would leave it
        seen.append(FieldStream(jo.io.read_images(tmp_path / "killed.vtkhdf")).header()[1])

    output = jo.io.Output(tmp_path / "run.vtkhdf", checkpoint=tmp_path / "run.checkpoint", seconds=0.0)
    jo.macro.solve(sol.problem, Splitting(), t=0.05, h=0.05, output=output, progress=look)
    assert [about["live"] for about in seen] == [True, False]
    assert seen[0]["note"] == ""
    assert "the process that wrote killed.vtkhdf ended. Continue it with jostle resume" in seen[1]["note"]


def test_the_command_saves_a_page_of_a_density(density_run, tmp_path, jostle):
    place, sol = density_run
    code, out, _ = jostle("view", place, "-o", tmp_path / "a.html")
    assert (code, out.strip()) == (0, str(tmp_path / "a.html"))
    about, frames = data(tmp_path / "a.html")
    assert (about["title"], len(frames)) == ("blocks", len(sol.t))
