"""Pictures and films stand in the middle of their figure, and the scene is as large as its shape allows."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image
from test_movie import pictures

import jostle as jo
from jostle import viz
from plain import crowd
from rows import whole

WHITE = 250
"""Pixels that are darker than this value in one of their colours are drawn."""
UNEVEN = 0.02
"""Largest difference between opposite margins, as a fraction of the longer side of the picture."""
FILLED = 0.06
"""Largest margin on both sides of a direction that limits the scene, with a title or the labels of the axes."""


def sheet():
    """A wide plan of discs on a table, five times as wide as high."""
    q0 = [[x, 0.5] for x in np.arange(1.0, 20.0)]
    return jo.solve(
        jo.Motion(q0=q0, force=[0.0, -1.0], within=jo.Balls([0.4] * 19) & jo.Box([0, 0], [20, 4], radii=0.4)),
        jo.Maury(), t=1.0, h=0.5,
    )  # fmt: skip


def shaft(d):
    """A few balls in a narrow, high box."""
    q0 = [[0.5] * (d - 1) + [z] for z in (0.7, 2.5, 7.4)]
    within = jo.Balls([0.4] * 3) & jo.Box([0.0] * d, [1.0] * (d - 1) + [8.0], radii=0.4)
    return jo.solve(jo.Motion(q0=q0, force=[0.0] * (d - 1) + [-1.0], within=within), jo.Maury(), t=1.0, h=0.5)


def tray():
    """Balls in a flat box in space."""
    q0 = [[x, y, 0.5] for x in (1.0, 3.0, 7.0) for y in (1.0, 4.0)]
    within = jo.Balls([0.4] * 6) & jo.Box([0, 0, 0], [8, 5, 1], radii=0.4)
    return jo.solve(jo.Motion(q0=q0, force=[0.0, 0.0, -1.0], within=within), jo.Maury(), t=1.0, h=0.5)


def people():
    """People in a room with one exit."""
    room = jo.crowds.Room([(0, 0), (6, 0), (6, 4), (0, 4)], doors=[((6, 1), (6, 2.2))])
    return jo.solve(crowd(8, radius=0.25, room=room, speed=1.0), jo.Venel(), t=1.0, h=0.1, every=0.5)


def on_a_line():
    """Balls on a line, which have no vertical axis."""
    return jo.solve(
        jo.Motion(q0=[[0.0], [3.0]], v0=[[1.0], [0.0]], within=jo.Balls([0.5, 0.5])), jo.Maury(), t=1.0, h=0.5
    )


def block():
    """A density that moves through a channel."""
    grid = jo.macro.Grid([0, 0], [3, 1], h=1 / 8, closed=((False, False), (True, True)))
    moving = jo.macro.Flow(grid=grid, density=grid.block([0, 0], [1, 1]), velocity=grid.velocity(1.0, 0))
    return jo.macro.solve(moving, jo.macro.Splitting(), t=0.5, h=0.25)


SCENES = {
    "wide": sheet, "high": lambda: shaft(2), "high in space": lambda: shaft(3), "flat in space": tray,
    "people": people, "line": on_a_line, "density": block,
}  # fmt: skip


@pytest.fixture(scope="module", params=[name if name in ("high in space", "people", "density") else whole(name)
                                        for name in SCENES])  # fmt: skip
def scene(request):
    return SCENES[request.param]()


def margins(picture):
    """Left, right, upper and lower margins without anything drawn, as fractions of the longer side."""
    drawn = picture[..., :3].min(axis=2) < WHITE
    columns, rows = (np.flatnonzero(drawn.any(axis=axis)) for axis in (0, 1))
    height, width = drawn.shape
    ends = [columns[0], width - 1 - columns[-1], rows[0], height - 1 - rows[-1]]
    return [end / max(drawn.shape) for end in ends]


def assert_in_the_middle(picture):
    left, right, top, bottom = margins(picture)
    assert abs(left - right) < UNEVEN, f"columns: {left:.3f} empty on the left, {right:.3f} on the right"
    assert abs(top - bottom) < UNEVEN, f"rows: {top:.3f} empty above, {bottom:.3f} below"
    assert min(left, top) < FILLED, f"{left:.3f} empty on the left and {top:.3f} above: the scene could be larger"


@pytest.mark.parametrize("size", [None, (720, 720), (1280, 720), (640, 960)])
def test_a_film_of_any_size_has_its_scene_and_its_colour_bar_in_the_middle(scene, size, tmp_path):
    shown, _ = pictures(viz.animate(scene, tmp_path / "film.gif", speed=25.0, size=size))
    assert_in_the_middle(shown[-1])


def drawn(figure):
    """The pixels of a figure as it is saved, without a tight bounding box."""
    saved = io.BytesIO()
    figure.savefig(saved, format="png")
    plt.close(figure)
    return np.asarray(Image.open(saved).convert("RGB"))


def is_density(scene):
    return isinstance(scene, jo.macro.Evolution)


@pytest.mark.parametrize("number", [1, 3])
def test_several_moments_stand_in_the_middle_with_their_colour_bar(scene, number):
    several = viz.densities if is_density(scene) else viz.strip
    assert_in_the_middle(drawn(several(scene, number)))


def test_a_picture_stands_in_the_middle_with_its_colour_bar(scene):
    one = viz.density if is_density(scene) else viz.draw
    assert_in_the_middle(drawn(one(scene).figure))


@pytest.mark.parametrize("layer", [None, "density"])
def test_a_floor_plan_stands_in_the_middle(layer):
    left, right, *_ = margins(drawn(viz.plan(people(), layer=layer).figure))
    assert abs(left - right) < UNEVEN


def test_a_field_stands_in_the_middle_with_its_colour_bar():
    grid = jo.macro.Grid([0, 0], [1, 3], h=1 / 8)
    assert_in_the_middle(drawn(viz.field(grid, grid.centres[0], name="$x$").figure))
