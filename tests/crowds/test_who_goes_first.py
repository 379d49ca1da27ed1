"""Who is before whom: on stairs, on journeys, at exits with queues, and beyond an exit."""

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import AvoidJams, Inhibition, Journey, Link, Plan, Room, walk
from jostle.schemes.state import State
from plain import crowd

pytest.importorskip("shapely")

R = 0.25
FLOOR = np.array([(0, 0), (4, 0), (4, 3), (0, 3)])


def three_floors():
    """The upper stairs come first: what is left of the way behind them is known only when the lower ones are."""
    upper = Link("upper", ((44, 1), (44, 2)), ((20, 1), (20, 2)), length=3.0)
    lower = Link("lower", ((24, 1), (24, 2)), ((0, 1), (0, 2)), length=3.0)
    floors = [FLOOR, np.add(FLOOR, (20, 0)), np.add(FLOOR, (40, 0))]
    return Plan(floors, exits={"south": ((1, 0), (2, 0))}, links=[upper, lower])


def test_the_way_down_two_flights_of_stairs_is_the_sum_of_its_parts():
    wish = walk(three_floors(), radius=R)
    ground = np.hypot(1.25 - R, 1.5)
    first, second, third = ground, 3.0 + (3.0 - R) + ground, 3.0 + (3.0 - R) + (4.0 - R) + (3.0 - R) + ground
    found = wish.length(np.array([[R, 1.5], [21.0, 1.5], [41.0, 1.5]]))
    np.testing.assert_allclose(found, [first, second, third], atol=0.1)
    assert wish.chosen(np.array([[41.0, 1.5], [21.0, 1.5]])).tolist() == [1, 2]


def test_lengths_between_nodes_are_linear_around_the_nearest_one():
    """The distance from a point in a convex room is known everywhere; at the nearest node it is off by half a step."""
    plan, desk = Plan([(0, 0), (6, 0), (6, 5), (0, 5)], exits={"east": ((6, 2), (6, 3))}), np.array([2.9, 2.4])
    ways = jo.crowds.shortest_paths(plan, R, stops={"desk": desk})
    q = np.random.default_rng(0).uniform((0.3, 0.3), (5.7, 4.7), (500, 2))
    q = q[np.linalg.norm(q - desk, axis=1) > 0.5]
    exact, step = np.linalg.norm(q - desk, axis=1), ways.grid.step
    assert np.abs(ways.length(q, np.ones(len(q), dtype=int)) - exact).max() < 0.1 * step
    assert np.abs(ways.lengths(q)[1] - exact).max() > 0.4 * step


def test_only_those_who_go_to_an_exit_stand_in_its_queue():
    """Twenty people stand before the near exit, but they go to the far one: who comes last takes the near exit."""
    plan = Plan([(0, 0), (12, 0), (12, 4), (0, 4)], exits={"near": ((0, 1.5), (0, 2.5)), "far": ((12, 1.5), (12, 2.5))})
    others = np.array([[x, y] for x in (0.5, 1.1, 1.7, 2.3, 2.9) for y in (0.5, 1.5, 2.5, 3.5)])
    q = np.concatenate([others, [[4.5, 2.0]]])
    away, here = (
        AvoidJams(walk(plan, radius=R, speed=1.4, goal=[goal] * 20 + [None])).chosen(q)[-1] for goal in ("far", "near")
    )
    assert (away, here) == (0, 1)
    jammed = AvoidJams(walk(plan, radius=R, speed=1.4, goal=["near"] * 20 + [None])).chosen(q)
    assert jammed.tolist() == [0] * 20 + [1]


def test_people_choose_by_where_the_others_go_now_not_by_where_they_went_first():
    """All are nearer to the first of two equal exits; they share them, and those furthest from it leave it."""
    plan = Plan([(0, 0), (12, 0), (12, 4), (0, 4)], exits={"a": ((0, 1.5), (0, 2.5)), "b": ((12, 1.5), (12, 2.5))})
    q = np.array([[x, y] for x in np.arange(0.5, 5.6, 0.6) for y in (0.5, 1.5, 2.5, 3.5)])
    wish = AvoidJams(walk(plan, radius=R, speed=1.4))
    goal = wish.chosen(q)
    assert 12 <= (goal == 1).sum() <= 24
    assert q[goal == 1, 0].min() > q[goal == 0, 0].max()


def test_of_two_at_the_end_of_the_stairs_the_one_further_along_comes_off_first():
    """Side by side there is room for both on the stairs, but not on the landing: one of them waits."""
    link = Link("stairs", ((24, 1), (24, 2.2)), ((0, 1), (0, 2.2)), length=3.0)
    plan = Plan([FLOOR, np.add(FLOOR, (20, 0))], exits={"south": ((2, 0), (3, 0))}, links=[link])
    late, apart = 0.04 * R, np.sqrt(4.0 - 0.04**2) * R
    for last in (0, 1):
        q = np.array([[27.0 - R, 1.3], [27.0 - R, 1.3 + apart]])
        q[last, 0] -= late
        people = crowd(2, radius=R, room=plan, speed=1.0, q0=q)
        stairs = people.changes()[0]
        after = stairs(State.of(0.0, q, 0.0 * q, None)).q
        np.testing.assert_array_equal(after[last], q[last])
        assert after[1 - last, 0] == pytest.approx(R)


def test_whoever_is_near_several_stops_at_once_passes_all_of_them():
    plan = Plan([(0, 0), (8, 0), (8, 4), (0, 4)], exits={"east": ((8, 1.5), (8, 2.5))})
    stops = {"desk": (1, 3), "board": (1.3, 3), "door": (1, 2.7)}
    journey = Journey(
        walk(plan, radius=R, stops=stops), [["desk", "board", "door", "east"], ["desk", "east"]], people=2, reach=0.5
    )
    u = journey(0.0, np.array([[1.0, 3.0], [4.0, 1.0]]))
    assert journey.stage.tolist() == [3, 0]
    assert u[0, 0] > 0.9
    assert u[1, 0] < 0.0


@pytest.mark.parametrize("kind", [Room, Plan])
def test_those_who_have_left_are_before_all_others(kind):
    """They walk on outward, and people behind them wait; nobody waits for those who are still inside."""
    corners, door = [(0, 0), (6, 0), (6, 4), (0, 4)], ((6, 1.5), (6, 2.5))
    plan = Room(corners, doors=[door]) if kind is Room else Plan(corners, exits={"east": door})
    wish = jo.crowds.walk(plan, radius=R, speed=1.4)
    q = np.array([[5.7, 2.0], [6.5, 2.0], [4.0, 2.0]])
    rank, goal = wish.order(q)
    assert np.argsort(rank).tolist() == [1, 0, 2]
    assert rank[1] == -np.inf
    assert len(set(goal.tolist())) == 1
    speed = np.linalg.norm(Inhibition(wish, np.full(3, R), T=1.0)(0.0, q), axis=1)
    np.testing.assert_allclose(speed, [0.3, 1.4, 1.2], atol=1e-9)
