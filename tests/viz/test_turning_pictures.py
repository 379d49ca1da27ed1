"""Pictures of bodies that turn: spots that turn with balls, clumps as one body, bars along whole forces."""

import numpy as np
import pytest
from browsing import facts, image, place, scrub, wait_until
from matplotlib import pyplot as plt
from matplotlib.collections import EllipseCollection
from test_encoding import data

import jostle as jo
from jostle import viz
from jostle._tools.rotations import matrices
from jostle.errors import InvalidValue
from jostle.viz.drawing import SPOT_PLACE, SPOT_SIZE, directions
from jostle.viz.movie import between
from jostle.viz.scene import Scene

DUMBBELL, DISC = ([[-1.0, 0.0], [1.0, 0.0]], 0.5), ([[0.0, 0.0]], 0.5)


@pytest.fixture(scope="module")
def rolling():
    """A disc that slides and then rolls, and one that waits; contacts with friction."""
    disc = jo.Motion(
        q0=[[0.0, 1.0], [6.0, 0.5]], v0=[[3.0, 0.0], [0.0, 0.0]], force=[0.0, -10.0], law=jo.Coulomb(mu=0.5),
        within=jo.Balls([1.0, 0.5]) & jo.HalfSpace([0.0, 1.0]),
    )  # fmt: skip
    return jo.solve(disc, jo.Maury(), t=0.6, h=0.02)


@pytest.fixture(scope="module")
def spheres():
    """Two spheres that spin in the air."""
    two = jo.Motion(
        q0=[[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]], spin0=[[0.0, 0.0, 2.0], [1.0, 0.0, 0.0]], law=jo.Coulomb(mu=0.1),
        within=jo.Balls([1.0, 0.5]),
    )  # fmt: skip
    return jo.solve(two, jo.Maury(), t=0.5, h=0.1)


@pytest.fixture(scope="module")
def clumps():
    """A dumbbell that turns and lies on a floor, and a disc that falls."""
    both = jo.Motion(
        q0=[[0.0, 0.5], [5.0, 4.0]], v0=[[1.0, 0.0], [0.0, -1.0]], force=[[0.0, -10.0], [0.0, 0.0]], spin0=[0.0, 2.0],
        law=jo.Coulomb(mu=0.3), within=jo.Clumps([DUMBBELL, DISC]) & jo.HalfSpace([0.0, 1.0]),
    )  # fmt: skip
    return jo.solve(both, jo.Maury(), t=0.4, h=0.02)


@pytest.fixture(scope="module")
def tumbling():
    """A dumbbell that turns in the air."""
    one = jo.Motion(q0=[[0.0, 3.0]], v0=[1.0, 0.0], spin0=3.0, within=jo.Clumps([DUMBBELL]))
    return jo.solve(one, jo.Maury(), t=0.6, h=0.02, every=0.2)


def ellipses(ax):
    """All collections of ellipses."""
    return [one for one in ax.collections if isinstance(one, EllipseCollection)]


def spots_of(ax):
    """The places and widths of the spots of discs."""
    found = [one for one in ellipses(ax) if one.get_zorder() == 2.2]
    return np.concatenate([one.get_offsets() for one in found]), np.concatenate([one.get_widths() for one in found])


@pytest.mark.parametrize("k", [0, 10, -1])
def test_a_spot_turns_with_its_disc(rolling, k):
    ax = viz.draw(rolling, k)
    places, widths = spots_of(ax)
    angle = rolling.orientation[k]
    radii = np.array([1.0, 0.5])
    expected = rolling.q[k] + SPOT_PLACE * radii[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert np.asarray(places) == pytest.approx(expected)
    assert widths == pytest.approx(2.0 * SPOT_SIZE * radii)
    plt.close(ax.figure)


def test_discs_that_do_not_turn_have_none(pile):
    ax = viz.draw(pile)
    assert {one.get_zorder() for one in ellipses(ax)} == {2}
    plt.close(ax.figure)


@pytest.mark.parametrize("k", [0, 3])
def test_a_sphere_has_spots_on_the_side_that_is_seen(spheres, k):
    view = (-62.0, 16.0)
    ax = viz.draw(spheres, k, view=view)
    (balls,) = ellipses(ax)
    layers = 6
    heights, offsets = balls._heights.reshape(2, -1), np.asarray(balls.get_offsets()).reshape(2, -1, 2)
    assert heights.shape[1] == layers + 6
    for row, ball in enumerate(np.argsort(spheres.q[k] @ directions(view)[2])):
        axes = matrices(spheres.orientation[k])[ball].T @ directions(view).T  # the axes of the ball, as they are seen
        seen = np.concatenate([axes, -axes])
        shown = 2.0 * heights[row, layers:] > 0.0
        assert shown.tolist() == (seen[:, 2] > 0.0).tolist()
        assert shown.sum() == 3
        r, middle = [1.0, 0.5][ball], (spheres.q[k, ball] @ directions(view).T)[:2]
        rim = np.sqrt(1.0 - SPOT_SIZE**2)
        assert offsets[row, layers:][shown] == pytest.approx(middle + rim * r * seen[shown, :2])
    plt.close(ax.figure)


def test_a_clump_has_one_colour_no_inner_outlines_and_no_spots(clumps):
    ax = viz.draw(clumps, -1, colour="force")
    discs, *more = ellipses(ax)
    colours = np.asarray(discs.get_array())
    assert len(colours) == 3
    assert colours[0] == colours[1] > 0.0
    covers = [one for one in more if one.get_zorder() == 2.1 and len(one.get_offsets())]
    assert len(covers) == 1
    assert np.asarray(covers[0].get_offsets()) == pytest.approx(clumps.places(-1)[:2])
    assert covers[0].get_linewidth() == [0.0]
    assert np.asarray(covers[0].get_array()).tolist() == colours[:2].tolist()
    assert len(spots_of(ax)[0]) == 1
    plt.close(ax.figure)


def test_numbers_of_a_clump_are_those_of_its_body(clumps):
    frame = Scene(clumps).frame(-1)
    assert frame.body.tolist() == [0, 0, 1]
    assert frame.u.tolist() == clumps.u[-1][[0, 0, 1]].tolist()
    assert frame.spin.tolist() == clumps.spin[-1][[0, 0, 1]].tolist()
    assert frame.contacts.tolist() == [2.0, 2.0, 0.0]
    assert frame.force[0] == frame.force[1] == pytest.approx(np.abs(frame.bars.force).sum())
    ax = viz.draw(clumps, -1, colour=[3.0, 7.0])
    assert np.asarray(ellipses(ax)[0].get_array()).tolist() == [3.0, 3.0, 7.0]
    plt.close(ax.figure)
    with pytest.raises(InvalidValue, match=r"one number per body, shape \(2,\)"):
        viz.draw(clumps, -1, colour=[1.0, 2.0, 3.0])


@pytest.mark.parametrize("name", ["number", "mass", "spin", "speed"])
def test_a_clump_is_coloured_as_one_body(clumps, name):
    ax = viz.draw(clumps, -1, colour=name)
    colours = np.asarray(ellipses(ax)[0].get_array())
    expected = {"number": [0.0, 1.0], "mass": [1.0, 1.0], "spin": clumps.spin[-1].tolist()}
    expected["speed"] = np.linalg.norm(clumps.u[-1], axis=1).tolist()
    assert colours.tolist() == [expected[name][body] for body in (0, 0, 1)]
    plt.close(ax.figure)


def test_spin_is_no_colour_of_bodies_that_do_not_turn(pile):
    with pytest.raises(InvalidValue, match="needs bodies that turn"):
        viz.draw(pile, colour="spin")


def test_paths_are_those_of_bodies(clumps):
    ax = viz.paths(clumps)
    ways = [line.get_xydata() for line in ax.lines if len(line.get_xdata()) == len(clumps.t)]
    assert len(ways) == 2
    assert ways[0] == pytest.approx(clumps.q[:, 0])
    plt.close(ax.figure)


def test_a_bar_has_the_direction_and_the_size_of_the_whole_force(rolling):
    bars, k = Scene(rolling).frame(3).bars, 3
    row = int(np.flatnonzero(bars.rows[:, 0] == 0)[0])
    p, friction = rolling.multipliers[k], rolling.tangential[k]
    mine = int(np.flatnonzero(rolling.pairs[k][:, 0] == 0)[0])
    assert abs(friction[mine, 0]) == pytest.approx(0.5 * p[mine])  # it slides
    whole = (p[mine] * rolling.normals[k][mine] + friction[mine]) / 0.02
    assert bars.force[row] == pytest.approx(np.linalg.norm(whole))
    along = bars.end[row] - bars.start[row]
    assert along / np.linalg.norm(along) == pytest.approx(whole / np.linalg.norm(whole))
    assert bars.end[row] == pytest.approx(rolling.q[k, 0] - [0.0, 1.0])  # the point of contact
    assert np.linalg.norm(along) == pytest.approx(1.0)


def test_films_turn_between_saved_times(rolling):
    scene = Scene(rolling)
    frame = between(scene, 0.31)
    angle = 0.5 * (rolling.orientation[15] + rolling.orientation[16])
    assert frame.axes[:, :, 0] == pytest.approx(np.stack([np.cos(angle), np.sin(angle)], axis=1))


def test_films_turn_in_space(spheres):
    frame = between(Scene(spheres), 0.25)
    mean = spheres.orientation[2] + spheres.orientation[3]
    mean /= np.linalg.norm(mean, axis=1)[:, None]
    assert frame.axes == pytest.approx(matrices(mean))


def test_films_keep_clumps_rigid(tumbling):
    scene = Scene(tumbling)
    for t in (0.05, 0.1, 0.3):
        x = between(scene, t).x
        assert np.linalg.norm(x[1] - x[0]) == pytest.approx(2.0)
        assert x.mean(axis=0) == pytest.approx([t, 3.0])
        assert np.arctan2(*(x[1] - x[0])[::-1]) == pytest.approx(3.0 * t)


def test_a_file_is_drawn_like_its_solution(clumps, tmp_path):
    jo.io.write(clumps, tmp_path / "a.vtkhdf", dtype="float64")
    here, there = Scene(clumps), Scene(jo.io.read(tmp_path / "a.vtkhdf"))
    for one, other in zip(here.frames(range(5)), there.frames(range(5)), strict=True):
        for name in ("x", "u", "radii", "axes", "spin", "body", "force"):
            assert np.asarray(getattr(one, name)).tolist() == np.asarray(getattr(other, name)).tolist()
        assert one.bars.end.tolist() == other.bars.end.tolist()


def test_a_page_has_axes_and_owners(clumps, tmp_path):
    about, frames = data(viz.page(clumps, tmp_path / "a.html"))
    assert about["turns"]
    frame, raw = Scene(clumps).frame(-1), frames[-1]
    stored = np.frombuffer(raw, "i1", 12, len(raw) - 12).reshape(3, 2, 2)
    assert stored / 127.0 == pytest.approx(frame.axes.transpose(0, 2, 1), abs=0.005)


def test_a_page_of_bodies_that_do_not_turn_has_neither(pile, tmp_path):
    about, _ = data(viz.page(pile, tmp_path / "a.html"))
    assert not about["turns"]
    assert about["owner"] is None


DARK = 110


@pytest.mark.parametrize("light", [False, True])
def test_the_page_shows_a_spot_where_it_is(rolling, opened, light):
    tab = opened(rolling)
    tab.locator("#forces").uncheck()
    if light:
        tab.locator("#light").check()
    scrub(tab, 12)
    turned = rolling.orientation[12, 0]
    x, y = place(tab, 0)
    scale = tab.evaluate("() => viewer.stage.camera.scale")
    pixels = image(tab).mean(axis=2)
    top = tab.locator("#view").bounding_box()

    def seen(angle):
        """The brightness of the disc where a spot at this angle would be."""
        right, down = x - top["x"] + 0.62 * scale * np.cos(angle), y - top["y"] - 0.62 * scale * np.sin(angle)
        return float(pixels[int(down), int(right)])

    assert abs(seen(turned) - seen(turned + np.pi)) > 60.0
    assert abs(seen(turned + np.pi) - seen(turned + 0.5 * np.pi)) < 40.0


@pytest.mark.parametrize("light", [False, True])
def test_the_page_draws_a_clump_without_outlines_inside(tumbling, opened, light):
    close = jo.Motion(q0=[[0.0, 0.0]], within=jo.Clumps([([[-0.4, 0.0], [0.4, 0.0]], 0.5)]))
    tab = opened(jo.solve(close, jo.Maury(), t=0.2, h=0.1))
    if light:
        tab.locator("#light").check()
    wait_until(tab, "() => viewer.stage.painter.balls !== undefined")
    pixels, box = image(tab).mean(axis=2), tab.locator("#view").bounding_box()
    x, y = place(tab, 0)
    scale, (row, middle) = tab.evaluate("() => viewer.stage.camera.scale"), (int(y - box["y"]), x - box["x"])
    inside = pixels[row, int(middle) : int(middle + 0.8 * scale)]  # from one centre to the other
    assert np.ptp(inside) < 12.0
    rim = pixels[row, int(middle - 0.52 * scale) : int(middle - 0.4 * scale)]
    assert np.ptp(rim) > 60.0


def test_the_page_names_the_body_of_a_ball(clumps, opened):
    tab = opened(clumps)
    scrub(tab, 5)
    tab.locator("#body").fill("1")
    assert tab.locator("#picked-name").inner_text() == "Clump 0, ball 1"
    assert facts(tab)["contacts"] == "2"
    values = tab.evaluate("() => [...viewer.values('number')]")
    assert values == [0, 0, 1]
    assert tab.evaluate("() => [...viewer.values('mass')]") == [1, 1, 1]
    assert tab.evaluate("() => [...viewer.values('force')]")[:2] == pytest.approx([10.0, 10.0], rel=0.2)
