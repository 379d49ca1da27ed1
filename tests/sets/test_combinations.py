"""Intersections, and the bodies that their sets share: an intersection has nothing to forget."""

import numpy as np
import pytest

import jostle as jo
from jostle.bodies import Bodies
from jostle.sets.base import ConstraintSet, Intersection, anew, of_present, parts
from jostle.sets.presence import Presence
from jostle.sets.surfaces import Crossing

FROM_LINEARISE = {"contacts", "near"}
"""Members of a set that follow from its linearised constraints."""
OF_THE_PARTS = {"for_bodies", "on_devices", "crossing", "hinged"}
"""Members that each part is asked for."""


def test_an_intersection_answers_for_every_member_of_a_set():
    both = jo.Balls([1.0, 1.0]) & jo.HalfSpace([0.0, 1.0])
    members = {name for name in dir(ConstraintSet) if not name.startswith("_")}
    assert members <= set(vars(both)) | set(vars(Intersection)) | FROM_LINEARISE | OF_THE_PARTS
    assert len(members) == 20


@pytest.mark.parametrize("kind", [jo.Balls, jo.Line])
def test_all_sets_of_an_intersection_share_the_bodies(kind):
    floor, ceiling = jo.HalfSpace([1.0], radii=0.0), jo.HalfSpace([-1.0], -9.0)
    within = kind([0.5, 0.25]) & floor & ceiling & jo.Box([-1.0], [9.0])
    assert [Q.bodies is within.bodies for Q in parts(within)] == [True, False, True, True]
    assert within.bodies is within.sets[0].bodies
    assert within.bodies.apart
    assert ceiling.bodies.radii is None, "the wall that was given stays as it is"


def test_walls_keep_their_own_radii_and_give_them_to_nobody():
    within = jo.HalfSpace([1.0], radii=0.5) & jo.Box([-1.0], [9.0])
    assert [Q.bodies.radii_at(0.0).item() for Q in parts(within)] == [0.5, 0.0]
    assert within.bodies.largest == 0.5
    assert not within.bodies.apart


def test_an_intersection_of_intersections_is_one():
    one, other = jo.Balls(0.5) & jo.HalfSpace([0.0, 1.0]), jo.Box([0, 0], [9, 9]) & jo.Outside([4, 4], 1.0)
    assert [type(Q) for Q in (one & other).sets] == [jo.Balls, jo.HalfSpace, jo.Box, jo.Outside]
    assert all(Q.bodies.radii_at(0.0) == 0.5 for Q in (one & other).sets)


@pytest.mark.parametrize("Q", [jo.Balls([0.5, 0.5]), jo.Line([0.5, 0.5]), jo.HalfSpace([1.0], radii=0.5)], ids=repr)
def test_radii_cannot_be_replaced(Q):
    """What follows from them, in the walls beside it too, would still be that of the old ones."""
    with pytest.raises(AttributeError, match="radii"):
        Q.radii = [1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        Q.radii[...] = 1.0


def test_a_set_of_ones_own_says_how_large_the_bodies_are():
    class Rail(jo.ConstraintSet):
        bodies = Bodies([0.5, 0.25], apart=True)

    wall = (Rail() & jo.HalfSpace([0.0, 1.0])).sets[1]
    assert wall.gap(0.0, np.array([[0.0, 2.0], [5.0, 1.0]])) == 0.75


def test_crossings_are_noticed_also_if_the_class_learns_later_to_find_them():
    class Floor(jo.HalfSpace):
        pass

    ball = jo.Motion(q0=[[0.0, 2.0]], within=jo.Balls([0.5]) & Floor([0.0, 1.0]))
    jo.solve(ball, jo.Maury(), t=0.1, h=0.1)
    Floor.crossing = lambda self, step: Crossing(0, "the floor", 1.0, 0.5)
    with pytest.raises(jo.LeftTheSet, match="ball 0 went through the floor"):
        jo.solve(ball, jo.Maury(), t=0.1, h=0.1)


def test_with_a_presence_only_those_present_have_contacts():
    q = np.array([[0.0, 0.5], [0.9, 0.5], [5.0, 0.2]])
    for within in (jo.Balls([0.5] * 3) & jo.HalfSpace([0.0, 1.0]), jo.Balls([0.5] * 3)):
        there = of_present(within, Presence.of(q, [True, False, True], 0.5))
        pairs = there.linearise(0.0, q).pairs.tolist()
        assert pairs == [pair for pair in within.linearise(0.0, q).pairs.tolist() if 1 not in pair]
        assert (
            there.gap(0.0, q)
            == there.gaps(0.0, q).min()
            == pytest.approx(-0.3 if len(parts(within)) > 1 else 4.0, abs=0.01)
        )
        assert within.gap(0.0, q) < 0.0
        assert there.bodies is within.bodies


def test_a_copy_for_another_device_keeps_no_arrays():
    within = jo.Balls([0.5, 0.5]) & jo.Box([0, 0], [9, 9])
    within.linearise(0.0, np.array([[1.0, 1.0], [3.0, 3.0]]))
    for Q, other in zip(within.sets, anew(within).sets, strict=True):
        assert Q._kept
        assert Q.bodies._kept
        assert not other._kept
        assert not other.bodies._kept


class Grows(jo.ConstraintSet):
    """Floors, one below the other, of which the second is there later."""

    convex_gaps = True
    moving = True

    def linearise(self, t, q, cutoff=np.inf):
        k, n = 1 if t < 0.25 else 2, len(q)
        body, wall = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
        G = jo.convex.NormalRows(body, -1 - wall, np.tile([0.0, -1.0], (n * k, 1)), n)
        return jo.sets.Contacts(
            q[body, 1] + wall, G, np.stack([body, -1 - wall], axis=1), constraint_count=k, length=0.1
        )


@pytest.mark.parametrize("present", [None, [True, True, False]])
def test_numbers_that_change_are_noticed_also_where_bodies_come_and_go(present):
    within = Grows() & jo.Box([-9, -9], [9, 9]) & jo.Balls(0.1)
    people = jo.Sweeping(q0=[[0, 1], [1, 1], [5, 1]], velocity=[0.0, -1.0], within=within, present=present)
    with pytest.raises(jo.InvalidValue, match=r"Grows declares constraint_count=2 .* constraint_count=1 before"):
        jo.solve(people, jo.Venel(), t=0.5, h=0.05)


def test_obstacles_at_rest_are_built_once(monkeypatch):
    built = []
    surfaces = jo.Polygons._surfaces
    monkeypatch.setattr(jo.Polygons, "_surfaces", lambda self, t: built.append(t) or surfaces(self, t))
    square = jo.Polygons([[[-1, -1], [1, -1], [1, 0], [-1, 0]]])
    ball = jo.Motion(q0=[[1.2, 5.0]], v0=[0.0, -30.0], within=jo.Balls([0.1]) & square)
    before = len(built)
    jo.solve(ball, jo.MoreauJean(), t=0.3, h=0.01)
    assert len(built) - before <= 2


def test_radii_that_are_functions_of_time_are_not_asked_before_the_run():
    within = jo.HalfSpace([1.0], radii=lambda t: [0.1 / t]) & jo.Box([-1.0], [9.0])
    ball = jo.Sweeping(q0=[1.0], velocity=[-1.0], within=within)
    assert jo.solve(ball, jo.Venel(), t=(1.0, 4.0), h=0.1).q[-1] == pytest.approx([0.025])


def test_a_wall_of_an_intersection_does_not_keep_bodies_apart_by_itself():
    q = np.full((100, 2), 2.5)
    box = (jo.Balls(np.full(100, 0.5)) & jo.Box([0, 0], [5, 5])).sets[1]
    assert (jo.nearest(q, box).point == q).all()
    assert (box & jo.HalfSpace([0.0, 1.0])).sets[1].bodies.radii is None


def test_numbers_of_any_type_in_any_order_are_those_of_doubles():
    """Compiled loops take doubles and 64-bit integers, one after the other."""

    class Floors(jo.ConstraintSet):
        def linearise(self, t, q, cutoff=np.inf):
            pairs = np.stack([np.full(n, -1), np.arange(n)], dtype=np.int32).T
            gap = np.repeat(q.astype(np.float32), 2)[::2]
            G = jo.convex.linear_map.Dense(np.asfortranarray(np.eye(n), dtype=np.float32))
            return jo.sets.Contacts(gap, G, pairs, constraint_count=n, length=1.0)

    n = 70  # so many that steps begin with the multipliers of the step before
    heights = jo.Motion(q0=np.linspace(0.5, 1.0, n), force=np.full(n, -10.0), within=Floors())
    np.testing.assert_allclose(jo.solve(heights, jo.Maury(), t=1.0, h=0.01).q[-1], 0.0, atol=1e-6)


def test_an_intersection_serves_problems_of_several_sizes():
    """The number of gaps of a function is that of the bodies: it may differ between problems, and not within one."""
    above = jo.constraints(convex=True, moving=False)(lambda t, q: q[:, 1])
    within = above & jo.HalfSpace([1.0, 0.0], -10.0)
    for n in (3, 5, 2):
        sol = jo.solve(jo.Motion(q0=np.ones((n, 2)), force=[0.0, -1.0], within=within), jo.Maury(), t=3.0, h=0.1)
        np.testing.assert_allclose(sol.q[-1], [[1.0, 0.0]] * n, atol=1e-12)


LINE_AND_PLANE = {
    "balls on a line, and the plane of both": (
        jo.Balls([0.1, 0.1]), jo.HalfSpace([-1.0, 2.0], 1.9, radii=0), [0.0, 1.0]
    ),
    "a wall for each coordinate, and a plane": (jo.HalfSpace([1.0]), jo.HalfSpace([1.0, 1.0], 2.0), [1.0, 2.0]),
    "a wall, and no balls": (jo.HalfSpace([0.0, 1.0]), jo.Balls(1.0), np.zeros((0, 2))),
}  # fmt: skip


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("case", LINE_AND_PLANE)
def test_parts_may_see_the_same_coordinates_as_other_bodies(case, turned):
    one, other, q0 = LINE_AND_PLANE[case]
    within, q = (other & one if turned else one & other), np.asarray(q0, dtype=float)
    found = within.linearise(0.0, q)
    alone = [Q.linearise(0.0, q) for Q in within.sets]
    assert found.G.shape == (sum(len(each.gap) for each in alone), q.size)
    np.testing.assert_array_equal(found.gap, np.concatenate([each.gap for each in alone]))
    rates = np.concatenate([each.G @ np.arange(1.0, q.size + 1.0) for each in alone if len(each.gap)] or [np.zeros(0)])
    np.testing.assert_allclose(found.G @ np.arange(1.0, q.size + 1.0), rates, atol=1e-15)
    if q.size:
        sol = jo.solve(jo.Motion(q0=q, within=within, force=-1.0 * np.ones(q.shape)), jo.Maury(), t=0.5, h=0.01)
        assert sol.overlap < 1e-9
