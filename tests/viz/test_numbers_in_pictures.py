"""The numbers behind a picture: what its colours, its bars and the bytes of its page say."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PolyCollection

import jostle as jo
from jostle.viz import draw
from jostle.viz.drawing import MAX_BAR_WIDTH
from jostle.viz.encoding import MAX_CODE, MAX_NORMAL, Encoder, Scales, scale_of
from jostle.viz.quantities import chosen, offered, surface
from jostle.viz.scene import Scene

HEAD = 72


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def tower():
    """Discs of radii 1 and 0.5, the second on top of the first, on a floor, and a third that rolls away."""
    radii = [1.0, 0.5, 0.25]
    problem = jo.Motion(
        q0=[[0.0, 1.0], [0.0, 2.5], [5.0, 3.0]], v0=[[0.0, 0.0], [0.0, 0.0], [-1.0, 0.5]],
        force=[[0.0, -20.0], [0.0, -10.0], [0.0, 0.0]], within=jo.Balls(radii) & jo.HalfSpace([0, 1], radii=radii),
    )  # fmt: skip
    return jo.solve(problem, jo.Maury(), t=0.1, h=0.025)


def values(scene, name, k=-1):
    return np.asarray(chosen(scene, name).of(scene.frame(k)), dtype=float)


def test_every_quantity_of_a_tower_is_exact(tower):
    scene = Scene(tower)
    expected = {
        "speed": [0.0, 0.0, np.sqrt(1.25)],
        "force": [40.0, 10.0, 0.0],  # what a body carries, above and below
        "pressure": [40.0 / (2 * np.pi), 10.0 / (2 * np.pi * 0.5), 0.0],
        "contacts": [2.0, 1.0, 0.0],
        "radius": [1.0, 0.5, 0.25],
        "mass": [1.0, 1.0, 1.0],
        "number": [0.0, 1.0, 2.0],
        "x": [0.0, 0.0, 4.9],
        "y": [1.0, 2.5, 3.05],
        "vx": [0.0, 0.0, -1.0],
        "vy": [0.0, 0.0, 0.5],
    }
    assert [quantity.name for quantity in offered(scene)] == list(expected)
    for name, numbers in expected.items():
        assert values(scene, name) == pytest.approx(numbers, abs=1e-9), name


@pytest.mark.parametrize("r", [0.5, 2.0])
def test_the_pressure_of_a_ball_is_its_load_over_its_wholesurface(r):
    within = jo.Balls([r]) & jo.HalfSpace([0, 0, 1], radii=r)
    ball = jo.Motion(q0=[[0.0, 0.0, r]], force=[0.0, 0.0, -7.0], within=within)
    sol = jo.solve(ball, jo.Maury(), t=0.1, h=0.05)
    expected = 7.0 / (4.0 * np.pi * r * r)
    assert values(Scene(sol), "pressure") == pytest.approx([expected])
    assert draw(sol, colour="pressure").figure.axes[1].get_ylim()[1] == pytest.approx(expected)
    assert surface(np.array([r]), 3) == pytest.approx([4.0 * np.pi * r * r])
    assert surface(np.array([r]), 2) == pytest.approx([2.0 * np.pi * r])
    assert surface(np.array([r]), 1).tolist() == [2.0]


def test_the_scale_of_bars_is_a_median_and_not_ruled_by_one_impact(tower):
    encoder = Encoder.of(Scene(tower))
    about = Scales(strongest=[9.0, 1.0, 2.0], radii=[7.0, 1.0, 3.0]).about(encoder)
    assert (about["strong"], about["median"]) == (2.0, 3.0)
    scales = Scales()
    for k in range(5):
        scales.take(Scene(tower).frame(k), encoder)
    assert scales.strongest == pytest.approx([30.0] * 4)  # the floor carries all; at the start no force is known
    assert scales.radii == [0.5] * 5
    assert Scales().about(encoder)["strong"] == 1.0


def test_the_colours_of_forces_cover_the_data(tower):
    force, speed = (chosen(Scene(tower), name) for name in ("force", "speed"))
    some = np.arange(1.0, 101.0)
    assert scale_of(force, [some[:50], some[50:]]) == [0.0, 100.0]
    assert scale_of(speed, [some]) == [0.0, 100.0]
    found = Scales()
    encoder = Encoder.of(Scene(tower))
    found.take(Scene(tower).frame(-1), encoder)
    ranges = {each["name"]: (each["range"], each["steep"]) for each in found.about(encoder)["quantities"]}
    assert ranges["x"] == ([pytest.approx(0.0, abs=1e-9), pytest.approx(4.9)], False)
    assert ranges["force"] == ([0.0, pytest.approx(40.0)], True)
    assert not any(each["beyond"] for each in found.about(encoder)["quantities"])
    assert all(each["beyond"] for each in found.about(encoder, some=True)["quantities"])


def test_the_same_value_everywhere_is_both_ends_of_a_scale_unless_its_first_colour_is_fixed(tower):
    x, speed = (chosen(Scene(tower), name) for name in ("x", "speed"))
    assert (x.low, speed.low) == (None, 0.0)
    assert scale_of(x, [np.full(2, 3.0)]) == [3.0, 3.0]
    assert scale_of(speed, [np.zeros(2)]) == scale_of(speed, []) == [0.0, 1.0]


def decoded(encoder, frame):
    """The arrays of a frame of the page in which everybody is there and no radius changes."""
    raw, d = encoder.encoded(frame), encoder.scene.d
    _, m, c, _, step, fast, *low = np.frombuffer(raw, "<f8", 9)
    m, c, at, found = int(m), int(c), HEAD, {}
    for name, kind, count in (
        ("q", "<u2" if encoder.small else "<f4", m * d), ("u", "<i2" if encoder.small else "<f4", m * d),
        ("first", "<i4", c), ("second", "<i4", c), ("force", "<f4", c), ("away", "i1", 3 * c),
    ):  # fmt: skip
        found[name] = np.frombuffer(raw, kind, count, at).astype(float)
        at += -(-found[name].size * np.dtype(kind).itemsize // 4) * 4
    found["q"] = np.array(low[:d]) + step * found["q"].reshape(m, d) + encoder.origin
    found["u"] = fast * found["u"].reshape(m, d)
    found["away"] = found["away"].reshape(c, 3)
    return found


@pytest.mark.parametrize("small", [False, True])
def test_the_page_gets_who_pushes_whom_and_where_the_wall_is(tower, small):
    scene = Scene(tower)
    encoder = replace(Encoder.of(scene), small=small)
    found = decoded(encoder, scene.frame(-1))
    contacts = zip(found["first"], found["second"], found["force"], found["away"].tolist(), strict=True)
    by_pair = {(int(i), int(j)): (force, away) for i, j, force, away in contacts}
    assert by_pair.keys() == {(0, 1), (0, -1)}
    assert by_pair[0, 1] == (pytest.approx(10.0), [0.0, 0.0, 0.0])
    assert by_pair[0, -1] == (pytest.approx(30.0), [0.0, -MAX_NORMAL, 0.0])  # the floor is below
    frame = scene.frame(-1)
    size = 1.0 / MAX_CODE if small else 1e-6
    assert found["q"] == pytest.approx(frame.x, abs=6.0 * size)
    assert found["u"] == pytest.approx(frame.u, abs=2.5 * size)
    assert np.abs(found["u"] - frame.u).max() <= (1.0 / (MAX_CODE - 1) if small else 1e-6)


def test_the_wall_is_on_the_side_that_the_normal_says():
    box = jo.Box([-1.0, -1.0], [1.0, 1.0], radii=0.5)
    for side in ([1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]):
        q0 = 0.5 * np.array([side])
        sol = jo.solve(jo.Motion(q0=q0, force=[side], within=jo.Balls([0.5]) & box), jo.Maury(), t=0.1, h=0.1)
        scene = Scene(sol)
        bars = scene.frame(-1).bars
        assert (bars.end - bars.start).tolist() == pytest.approx(q0)
        assert decoded(Encoder.of(scene), scene.frame(-1))["away"][0, :2].tolist() == [127 * s for s in side]


def test_the_widest_bar_is_a_part_of_the_median_diameter(tower):
    ax = draw(tower)
    bars = next(c for c in ax.collections if isinstance(c, PolyCollection) and c.get_zorder() == 3)
    width = sorted(np.ptp(path.vertices[:, 0]) for path in bars.get_paths())
    assert width == pytest.approx(MAX_BAR_WIDTH[2] * 2.0 * 0.5 * np.sqrt([10.0 / 30.0, 1.0]))


def test_the_colours_of_a_picture_begin_at_zero_and_end_at_the_largest_value(tower):
    bar = draw(tower, colour="speed").figure.axes[1]
    assert bar.get_ylim() == pytest.approx((0.0, np.sqrt(1.25)))
    bar = draw(tower, colour=np.array([3.0, 4.0, 7.0])).figure.axes[1]
    assert bar.get_ylim() == pytest.approx((3.0, 7.0))


def test_the_view_at_first_holds_all_bodies(tower):
    encoder = Encoder.of(Scene(tower))
    home = Scales().about(encoder)["home"]
    lower, upper = (np.array(home[end][:2]) + encoder.origin for end in ("lower", "upper"))
    assert (lower <= [-1.0, 0.0]).all()
    assert (upper >= [5.25, 3.3]).all()
    assert (lower >= [-1.5, -0.5]).all()
    assert (upper <= [6.0, 4.0]).all()
