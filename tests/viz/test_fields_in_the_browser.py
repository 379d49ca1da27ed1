"""The page of a moving density in a real browser: cells, walls and exits, colours, what a cell says, keys."""

import itertools

import numpy as np
import pytest
from browsing import facts, image, picked, place, play_faster, scrub, wait_until
from test_viewer import WITHOUT_WEBGL

from jostle import viz
from jostle._tools.colours import LIGHT
from jostle.io import Images
from jostle.io.images import ImageWriter
from jostle.io.new_files import Lock
from rows import whole

EMPTY, FULL, WALL, EXIT, MARK = (
    tuple(bytes.fromhex(colour[1:]))
    for colour in (LIGHT.cells[0], LIGHT.cells[-1], LIGHT.solid, LIGHT.exit, LIGHT.mark)
)
"""Colours of cells by day, and of the frame around the picked cell."""


def cell(sol, x, y):
    """The number of the cell at a point."""
    i, j = (int(v / sol.problem.grid.h) for v in (x, y))
    return i + sol.density.shape[1] * j


def colour(tab, seen, number):
    """The colour in the middle of a cell."""
    left, top = tab.evaluate("() => { const b = view.getBoundingClientRect(); return [b.left, b.top]; }")
    x, y = place(tab, number)
    return tuple(seen[round(y - top), round(x - left)].tolist())


def values(tab, name):
    """(n,) as the page colours cells; NaN where they are not known."""
    found = tab.evaluate("name => [...viewer.values(name)].map((x) => (Number.isNaN(x) ? null : x))", name)
    return np.array(found, dtype=float)


def flat(frame):
    return np.asarray(frame).T.ravel()


@pytest.mark.parametrize("before", [whole(""), WITHOUT_WEBGL], ids=["webgl", "plain canvas"])
def test_cells_walls_and_exits_are_drawn_with_the_colours_of_the_legend(opened, density_run, before):
    file, sol = density_run
    tab = opened(file, before=before, page={"title": "Blocks"}, size=(900, 600))
    for k in (0, 5):
        scrub(tab, k)
        assert values(tab, "density") == pytest.approx(flat(sol.density[k]), abs=1e-6)
        assert values(tab, "pressure") == pytest.approx(flat(sol.pressure[k]), rel=1e-6)
        speed = np.where(sol.density[k] > 1e-3, np.linalg.norm(sol.cells[k], axis=-1), np.nan)
        assert values(tab, "speed") == pytest.approx(flat(speed), rel=1e-6, nan_ok=True)
    seen = image(tab)
    fullest = int(flat(sol.density[5]).argmax())
    assert flat(sol.density[5])[fullest] == pytest.approx(1.0, abs=1e-6)
    expected = {cell(sol, 0.1, 0.1): EMPTY, fullest: FULL, cell(sol, 1.6, 1.9): WALL, cell(sol, 3.9, 0.1): EXIT}
    assert {number: colour(tab, seen, number) for number in expected} == expected
    assert tab.locator("#legend").inner_text().split("\n") == ["density", "0", "1", "wall", "exit"]
    tab.locator("#colour").select_option("speed")
    assert colour(tab, image(tab), cell(sol, 0.1, 0.1)) == (255, 255, 255), "no speed without mass"
    assert tab.locator("#scale-name").inner_text() == "speed (m/s)"
    tab.locator("#colour").select_option("pressure")
    assert tab.locator("#scale-name").inner_text() == "pressure (m²/s²), square-root scale"
    assert tab.locator("#scale-high").inner_text() == f"{sol.pressure[:].max():.4g}"
    assert tab.locator("#title").inner_text() == "Blocks"
    assert tab.locator("#body").is_hidden()


def test_a_cell_is_read_by_a_click_and_by_keys(served, density_run):
    file, sol = density_run
    tab = served(file, size=(900, 600))
    words = "A density on 16 by 8 cells, 6 frames from t = 0 s to 1"
    assert tab.locator("#view").get_attribute("aria-label") == words
    tab.keyboard.press("End")
    wait_until(tab, "() => viewer.shown === 5")
    number = cell(sol, 1.6, 1.1)
    tab.mouse.click(*place(tab, number))
    assert picked(tab) == number
    assert tab.locator("#picked-name").inner_text() == "Cell 6, 4"
    told = facts(tab)
    assert list(told) == ["centre (m)", "density", "pressure (m²/s²)", "velocity (m/s)"]
    assert told["centre (m)"] == "1.625, 1.125"
    assert float(told["density"]) == pytest.approx(sol.density[5, 6, 4], rel=1e-3)
    assert float(told["pressure (m²/s²)"]) == pytest.approx(sol.pressure[5, 6, 4], rel=1e-3)
    assert [float(v) for v in told["velocity (m/s)"].split(",")] == pytest.approx(sol.cells[5, 6, 4], abs=1e-3)
    for key, there in (("n", "7, 4"), ("Shift+N", "7, 5"), ("p", "6, 5"), ("Shift+P", "6, 4")):
        tab.keyboard.press(key)
        assert tab.locator("#picked-name").inner_text() == f"Cell {there}"
    tab.mouse.click(*place(tab, cell(sol, 1.6, 1.9)))
    assert facts(tab) == {"centre (m)": "1.625, 1.875", "": "wall"}
    assert (image(tab) == MARK).all(axis=2).sum() > 20, "the picked cell has a frame"
    tab.set_viewport_size({"width": 390, "height": 700})
    tops = [tab.locator(name).bounding_box() for name in ("#title", "#legend", "#view", "#picked", "footer")]
    assert all(a["y"] + a["height"] <= b["y"] + 1 for a, b in itertools.pairwise(tops)), "words hide no cell"
    tab.keyboard.press("Escape")
    assert picked(tab) is None
    assert not (image(tab) == MARK).all(axis=2).any()
    tab.keyboard.press("n")
    assert picked(tab) == int(flat(sol.density[5].astype(np.float32)).argmax()), "the fullest comes first"
    tab.keyboard.press("c")
    assert tab.locator("#said").inner_text() == "colour: speed (m/s)"
    scrub(tab, 3)
    play_faster(tab)
    tab.locator("#play").click()
    wait_until(tab, "() => viewer.shown === 5 && !viewer.playing")


@pytest.mark.parametrize("before", ["", whole(WITHOUT_WEBGL)], ids=["webgl", "plain canvas"])
def test_cells_smaller_than_a_pixel_are_mixed_and_rounded_pages_are_read(opened, tmp_path, before):
    """Every other column is full, and no column can be seen alone."""
    stripes = np.zeros((1, 1600, 8))
    stripes[:, ::2] = 1.0
    fields = {"density": stripes, "number": np.random.default_rng(0).uniform(0.0, 100.0, stripes.shape)}
    many = Images(t=np.zeros(1), lower=np.zeros(2), h=1.0, fields=fields)
    whole = viz.page(many, tmp_path / "whole.html").stat().st_size
    tab = opened(many, before=before, page={"most_bytes": whole - 1000}, size=(900, 600))
    if not before:  # WebGL on the processor is not taken for as many cells
        tab.locator("#light").uncheck()
    assert "rounded to 1/65535" in tab.locator("#note").inner_text()
    assert values(tab, "number") == pytest.approx(flat(fields["number"][0]), abs=1e-3)
    left, right = place(tab, 4 * 1600 + 100), place(tab, 4 * 1600 + 1500)
    row = image(tab)[round(left[1]) - 1, round(left[0]) : round(right[0])]
    assert len(row) > 300
    assert row[:, 0].max() < EMPTY[0] - 40
    assert row[:, 0].min() > FULL[0] + 40


def test_the_state_at_a_checkpoint_gives_way_to_the_frame_that_follows(served, tmp_path):
    """An unfinished file may end with the state at its checkpoint, which is not a frame of the resumed run."""
    locks = []

    def written(t, level):
        fields = {"density": np.full((3, 4, 3), level)}
        run = Images(t=np.array([0.0, 0.1, t]), lower=np.zeros(2), h=1.0, fields=fields, status="running")
        with ImageWriter(tmp_path / "new.vtkhdf", run) as file:
            for time, density in zip(run.t, fields["density"], strict=True):
                file.frame(float(time), {"density": density})
            file.close(run.status)
        (tmp_path / "new.vtkhdf").replace(tmp_path / "run.vtkhdf")
        locks.append(Lock(tmp_path / "run.vtkhdf"))  # as of a run in progress
        return tmp_path / "run.vtkhdf"

    tab = served(written(0.15, 0.25))
    assert tab.locator("#note").inner_text() == ""
    assert tab.locator("#live").is_visible()
    scrub(tab, 2)
    assert values(tab, "density") == pytest.approx(0.25)
    tab.evaluate("() => (window.same = true)")
    written(0.2, 0.75)
    wait_until(tab, "() => viewer.stage.frame.t === 0.2")
    assert values(tab, "density") == pytest.approx(0.75)
    assert tab.locator("#time").inner_text() == "t = 0.2 · frame 3 of 3"
    assert tab.evaluate("window.same"), "the page was not loaded anew"
