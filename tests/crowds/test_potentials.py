"""Potentials of goals that are found only as far as people need them, and by several threads."""

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import Pedestrians, Plan
from jostle.crowds.model import quickest
from jostle.kernels.parallel import threads, use_threads
from jostle.plans import ways
from plain import crowd
from rows import whole

pytest.importorskip("shapely")

R, V = 0.2, 1.34
HALL = [(0, 0), (20, 0), (20, 4), (12, 4), (12, 12), (8, 12), (8, 4), (0, 4)]
EXITS = {"west": ((0, 1), (0, 3)), "east": ((20, 1), (20, 3)), "north": ((9, 12), (11, 12))}


def hall():
    return Plan(HALL, exits=EXITS, walls=[[[5.0, 0.0], [5.0, 2.0]]])


def people_of(plan):
    """Thirty people near the west exit, ten on the way to the others, and two who touch walls."""
    random = np.random.default_rng(5)
    q = np.concatenate(
        [random.uniform([0.3, 0.3], [4.5, 3.7], (30, 2)), random.uniform([9.0, 1.0], [15.0, 3.0], (10, 2))]
    )
    q = np.concatenate([q, [[5.2, 1.0], [8.2, 8.0]]])
    return q, quickest.Quickest(jo.crowds.walk(plan, radius=R, speed=V), plan, R)


def nodes_known(wish):
    return [float(np.isfinite(one.direction).mean()) for one in wish._potentials.values()]


def test_potentials_that_end_behind_the_last_person_have_the_bits_of_whole_ones(monkeypatch):
    q, part = people_of(hall())
    found = part(0.0, q)
    monkeypatch.setattr(quickest, "LAST", 0)
    q, whole = people_of(hall())
    np.testing.assert_array_equal(found, whole(0.0, q))
    assert max(nodes_known(part)) < 1.0 == min(nodes_known(whole))


@pytest.mark.parametrize("margin", [1, whole(3), whole(400)])
def test_the_first_window_does_not_change_the_ways(monkeypatch, margin):
    q, wish = people_of(hall())
    found = wish(0.0, q)
    monkeypatch.setattr(quickest, "MARGIN", margin)
    q, other = people_of(hall())
    np.testing.assert_array_equal(found, other(0.0, q))


def test_people_who_leave_the_known_part_walk_by_the_same_potential(monkeypatch):
    """People are moved, within the time in which they do not look around, to where nobody has been."""
    q, part = people_of(hall())
    part(0.0, q)
    goal, moved = part.chosen(q), q.copy()
    moved[:3] = [[19.0, 0.5], [11.5, 11.0], [-0.7, 2.0]]
    found = part.towards(0.1, moved, goal)
    monkeypatch.setattr(quickest, "LAST", 0)
    q, whole = people_of(hall())
    whole(0.0, q)
    np.testing.assert_array_equal(found, whole.towards(0.1, moved, goal))
    assert np.isfinite(found).all()


def test_a_march_that_comes_to_the_border_of_its_window_is_repeated(monkeypatch):
    """An empty way around leads out of the rectangle around people and goal."""
    plan = Plan(
        [(0, 0), (12, 0), (12, 9), (0, 9)], exits={"out": ((0, 0.5), (0, 1.5))}, walls=[[[3.0, 0.0], [3.0, 8.0]]]
    )
    q = np.array([[4.0, 1.0], [4.0, 2.0]])
    monkeypatch.setattr(quickest, "MARGIN", 2)
    found = quickest.Quickest(jo.crowds.walk(plan, radius=R, speed=V), plan, R)(0.0, q)
    monkeypatch.setattr(quickest, "LAST", 0)
    np.testing.assert_array_equal(found, quickest.Quickest(jo.crowds.walk(plan, radius=R, speed=V), plan, R)(0.0, q))
    assert (found[:, 1] > 0.5 * V).all()


def test_wishes_do_not_depend_on_the_number_of_threads(monkeypatch):
    """Nor does a short run, in which each thread has a few people."""
    monkeypatch.setattr(ways, "PEOPLE_A_CHUNK", 10)
    before, found = threads(), []
    try:
        for count in (1, 2):
            use_threads(min(count, before))
            plan = hall()
            people = crowd(60, radius=R, speed=V, room=plan, seed=0, behaviour=Pedestrians())
            found.append(jo.solve(people, jo.Venel(), t=1.0, h=0.05).q[-1])
    finally:
        use_threads(before)
    np.testing.assert_array_equal(*found)


def test_densities_have_the_weights_of_people_and_add_up():
    """Each group has the density that it has alone; all rows are found whatever their number in a piece."""
    q, wish = people_of(hall())
    goal, whole_grid = wish.chosen(q), quickest.Window((0, 0), wish.floor.grid.shape)
    wish(0.0, q)

    def cost(weights):
        return quickest._cost(*wish.floor.density(q, weights, 0.35), whole_grid)

    own, others = cost(0.8 * (goal == 0)), cost(4.0 * (goal != 0))
    np.testing.assert_allclose(quickest._cost(*wish._density(0), whole_grid), own + others - 1.0, rtol=1e-13)
    assert (cost(np.zeros(len(q))) == 1.0).all()


def test_people_without_a_quickest_way_keep_the_direction_of_the_wish_inside(monkeypatch):
    """A way that cannot be found on the whole grid either was looked for without end."""
    q, wish = people_of(hall())
    calls = []

    def unknown(places, *rest):
        calls.append(len(places))
        return np.full((len(places), 2), np.nan)

    monkeypatch.setattr(quickest, "headings", unknown)
    np.testing.assert_allclose(wish(0.0, q), wish.wish(0.0, q), rtol=1e-14, atol=1e-14)
    assert len(calls) == quickest.LAST + 1


def test_directions_are_continued_to_the_walls_and_not_into_them():
    q, wish = people_of(hall())
    wish(0.0, q)
    inside = wish.floor.inside.reshape(wish.floor.grid.shape)
    layers = [places for frame in wish._frames.values() for places, _ in frame.layers]
    assert len(layers) > 0
    for places in layers:
        assert inside[tuple(places.T)].all()
