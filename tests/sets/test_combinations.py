"""Intersections, and the bodies that their sets share: an intersection has nothing to forget."""

import numpy as np
import pytest

import jostle as jo
from jostle.bodies import Bodies
from jostle.sets.base import ConstraintSet, Intersection, anew, parts
from jostle.sets.presence import Presence
from jostle.sets.surfaces import Crossing

FROM_LINEARISE = {"near", "nearest"}
"""Members of a set that follow from its linearised constraints."""
OF_THE_PARTS = {"for_bodies", "on_devices", "crossing"}
"""Members that each part is asked for."""


def test_an_intersection_answers_for_every_member_of_a_set():
    both = jo.Balls([1.0, 1.0]) & jo.HalfSpace([0.0, 1.0])
    members = {name for name in dir(ConstraintSet) if not name.startswith("_")}
    assert members <= set(vars(both)) | set(vars(Intersection)) | FROM_LINEARISE | OF_THE_PARTS
    assert len(members) == 16


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
    with pytest.raises(jo.LeftTheSet, match="body 0 went through the floor"):
        jo.solve(ball, jo.Maury(), t=0.1, h=0.1)


def test_with_a_presence_only_those_present_have_contacts():
    q = np.array([[0.0, 0.5], [0.9, 0.5], [5.0, 0.2]])
    for within in (jo.Balls([0.5] * 3) & jo.HalfSpace([0.0, 1.0]), jo.Balls([0.5] * 3)):
        there = Presence.of(q, [True, False, True], 0.5).within(within)
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
