"""What the sets of jostle are trusted with in each step: their numbers, and lists of neighbours that still serve."""

from dataclasses import replace

import numpy as np
import pytest

import jostle as jo
from device_scenes import SCENES, spread
from jostle.contacts import check_bodies, check_owned


@pytest.mark.parametrize("scene", SCENES.values(), ids=list(SCENES))
def test_numbers_that_are_not_checked_in_each_step_are_right(scene):
    problem = scene()
    for Q in getattr(problem.within, "sets", (problem.within,)):
        for cutoff in (np.inf, 0.5):
            contacts = Q.near(0.0, problem.q0, cutoff)
            check_owned(repr(Q), contacts.pairs, contacts.constraint_count)
            check_bodies(repr(Q), contacts.pairs, len(problem.q0))
            assert contacts.length.shape == contacts.gap.shape
            assert (contacts.length >= 0.0).all()


def test_a_set_of_a_user_beside_them_is_still_checked():
    class Greedy(jo.ConstraintSet):
        def linearise(self, t, q, cutoff=np.inf):
            found = jo.HalfSpace([0.0, 1.0]).near(t, q, cutoff)
            return jo.sets.Contacts(found.gap, found.G, found.pairs - [0, 1], constraint_count=1)

    within = jo.Balls(np.full(2, 0.1)) & jo.HalfSpace([1.0, 0.0]) & Greedy()
    with pytest.raises(jo.InvalidValue, match=r"constraint number 1 .*declares constraint_count=1"):
        within.near(0.0, np.ones((2, 2)) + np.eye(2), np.inf)


def test_a_class_of_a_user_does_not_inherit_the_trust():
    class Shifted(jo.HalfSpace):
        def linearise(self, t, q, cutoff=np.inf):
            found = super().linearise(t, q, cutoff)
            return replace(found, pairs=found.pairs - [0, 1])

    within = jo.Balls(np.full(2, 0.1)) & Shifted([1.0, 0.0], radii=0.1) & jo.HalfSpace([0.0, 1.0])
    with pytest.raises(jo.InvalidValue, match=r"constraint number 1 .*declares constraint_count=1"):
        within.near(0.0, np.ones((2, 2)) + np.eye(2), np.inf)


def test_a_reach_may_be_a_whole_number():
    """Also with so many bodies that compiled loops look for the sides of the box."""
    q = np.random.default_rng(0).uniform(0.0, 10.0, (20_001, 2))
    box = jo.Box([0, 0], [10, 10], radii=0.01)
    assert box.linearise(0.0, q, 1).pairs.tolist() == box.linearise(0.0, q, 1.0).pairs.tolist()


def test_places_and_reaches_may_be_whole_numbers():
    q, cutoff = np.array([[1, 1], [4, 1]]), np.array([3, 0, 3, 0])[::2]
    for Q in (jo.Balls([0.5, 0.5]), jo.Box([0, 0], [9, 9], radii=0.5)):
        found, expected = Q.linearise(0.0, q, cutoff), Q.linearise(0.0, q.astype(float), cutoff.astype(float))
        assert found.gap.tolist() == expected.gap.tolist()
        assert found.pairs.tolist() == expected.pairs.tolist()
        assert len(found.gap) > 0


@pytest.fixture
def balls():
    """100 balls that have made a list of neighbours, which serves at the same place."""
    Q, q = jo.Balls(np.full(100, 0.4)), spread(100, 2, [0, 0], [10, 10])
    Q.near(0.0, q, np.full(100, 0.1))
    return Q, q


def test_a_ball_that_is_nowhere_is_named_although_a_list_is_known(balls):
    Q, q = balls
    q = q.copy()
    q[7, 1] = np.nan
    with pytest.raises(jo.errors.NotFinite, match=r"position of ball 7 is \[.*nan\]"):
        Q.near(0.0, q, np.full(100, 0.1))


@pytest.mark.parametrize("cutoff", [np.inf, np.nan])
def test_a_reach_that_is_not_finite_finds_all_pairs_although_a_list_is_known(balls, cutoff):
    Q, q = balls
    each = np.full(100, 0.1)
    each[3] = cutoff
    found = Q.near(0.0, q, each).pairs
    assert {tuple(sorted((3, other))) for other in range(100) if other != 3} <= set(map(tuple, found.tolist()))
