"""Walls beside balls have the radii of these, unless they are given others."""

import numpy as np
import pytest

import jostle as jo

RADII = np.array([0.2, 0.4])
BODIES = np.array([[1.0, 1.0], [3.0, 2.0]])

WALLS = {
    "half-space": lambda **radii: jo.HalfSpace([0.0, 1.0], **radii),
    "box": lambda **radii: jo.Box([0.0, 0.0], [5.0, np.inf], **radii),
    "outside": lambda **radii: jo.Outside([[7.0, 1.0]], 1.0, **radii),
    "inside": lambda **radii: jo.Inside([2.0, 2.0], 9.0, **radii),
    "segments": lambda **radii: jo.Segments([[[0.0, 0.0], [4.0, 0.0]]], **radii),
    "polygons": lambda **radii: jo.Polygons([(6.0, 0.0), (7.0, 0.0), (7.0, 1.0)], **radii),
    "moving": lambda **radii: jo.HalfSpace([0.0, 1.0], lambda t: 0.1 * t, **radii),
}
every_wall = pytest.mark.parametrize("wall", WALLS.values(), ids=WALLS)


@every_wall
@pytest.mark.parametrize("radii", [RADII, lambda t: (1.0 + t) * RADII], ids=["fixed", "growing"])
@pytest.mark.parametrize("t", [0.0, 0.5])
def test_walls_take_the_radii_of_the_balls_whatever_the_order(wall, radii, t):
    wanted = wall(radii=radii).gaps(t, BODIES)
    for Q in (jo.Balls(radii) & wall(), wall() & jo.Balls(radii), jo.Free() & wall() & jo.Balls(radii)):
        found = Q.linearise(t, BODIES)
        np.testing.assert_array_equal(found.gap[found.pairs[:, 1] < 0], wanted)
        assert Q.moving == (callable(radii) or wall().moving)


@every_wall
def test_radii_that_are_given_stay(wall):
    Q = jo.Balls(RADII) & wall(radii=0.1)
    found = Q.linearise(0.0, BODIES)
    np.testing.assert_array_equal(found.gap[found.pairs[:, 1] < 0], wall(radii=0.1).gaps(0.0, BODIES))


def test_zero_keeps_the_centres_inside():
    Q = jo.Balls(RADII) & jo.Box([0.0, 0.0], [5.0, 5.0], radii=0.0)
    assert Q.gap(0.0, [[0.0, 0.0], [3.0, 3.0]]) == 0.0


def test_the_wall_itself_is_not_changed():
    floor = jo.HalfSpace([0.0, 1.0])
    _ = jo.Balls(RADII) & floor
    assert floor.gaps(0.0, BODIES).tolist() == [1.0, 2.0]
    assert (jo.Balls([0.5, 0.5]) & floor).gap(0.0, BODIES) == 0.5


def test_walls_alone_are_for_points():
    assert (jo.HalfSpace([0.0, 1.0]) & jo.Box([0.0, 0.0], [9.0, 9.0])).gap(0.0, BODIES) == 1.0


def test_thin_walls_need_radii():
    with pytest.raises(jo.InvalidValue, match=r"no point can overlap: give radii=, or intersect it with Balls"):
        jo.Segments([[[0.0, 0.0], [4.0, 0.0]]]).gap(0.0, BODIES)
    with pytest.raises(jo.InvalidValue, match=r"no point can overlap"):
        jo.Vessel([(1.0, 0.0), (1.0, 3.0)]).gap(0.0, [[0.0, 0.0, 1.0]])


def test_balls_of_different_radii_leave_no_choice_to_a_wall():
    two = jo.Balls(RADII) & jo.Balls(2.0 * RADII)
    with pytest.raises(jo.InvalidValue, match="HalfSpace stands beside balls of different radii; give it radii="):
        two & jo.HalfSpace([0.0, 1.0])
    assert (jo.Balls(RADII) & jo.Balls(RADII.copy()) & jo.HalfSpace([0.0, 1.0])).gap(0.0, BODIES) == pytest.approx(0.8)


def test_balls_that_swell_differently_leave_no_choice_to_a_wall_although_they_begin_alike():
    growing = jo.Balls(lambda t: (1.0 + t) * RADII)
    for other in (jo.Balls(lambda t: (1.0 + 2.0 * t) * RADII), jo.Balls(RADII)):
        for two in (growing & other, other & growing):
            with pytest.raises(jo.InvalidValue, match="HalfSpace stands beside balls of different radii; give it"):
                two & jo.HalfSpace([0.0, 1.0])


def test_a_heap_stands_on_its_floor_though_nobody_said_how_thick_its_balls_are_there():
    heap = jo.Motion(q0=[[0.0, 0.5], [0.3, 1.6]], force=[0.0, -9.81], within=jo.Balls([0.5, 0.5]) & jo.Box(
        [-0.6, 0.0], [0.8, np.inf]))  # fmt: skip
    sol = jo.solve(heap, jo.Maury(), t=2.0, h=0.01)
    assert sol.q[-1, :, 1].min() == pytest.approx(0.5, abs=1e-8)
    assert np.abs(sol.q[:, :, 0] - 0.1).max() <= 0.2 + 1e-8


def test_a_line_of_balls_keeps_its_number_of_radii():
    balls = jo.Line(lambda t: [0.1, 0.2] if t == 0.0 else [0.1])
    with pytest.raises(jo.InvalidValue, match=r"there are 1 radii at t = 1, and 2 balls"):
        balls.gap(1.0, [0.0, 1.0])
