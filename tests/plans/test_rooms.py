"""Rooms and the people in them: walls, doors, directions, and crowds that leave."""

import numpy as np
import pytest

import jostle as jo
from plain import crowd

SQUARE = [(0, 0), (10, 0), (10, 8), (0, 8)]
DOOR = ((10, 3.2), (10, 4.8))


def test_walls_are_what_the_doors_leave_of_the_edges():
    room = jo.crowds.Room(SQUARE, doors=[DOOR])
    lengths = np.linalg.norm(room.walls[:, 1] - room.walls[:, 0], axis=1)
    assert lengths.sum() == pytest.approx(36.0 - 1.6, rel=1e-14)
    assert sorted(lengths.round(12)) == [3.2, 3.2, 8.0, 10.0, 10.0]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
@pytest.mark.parametrize("turned", [False, True])
def test_doors_may_be_given_in_any_order_and_either_way_round(order, turned):
    doors = np.array([[(10, 1.0), (10, 2.0)], [(10, 3.0), (10, 4.5)], [(10, 6.0), (10, 7.5)]])[order]
    room = jo.crowds.Room(SQUARE, doors=doors[:, ::-1] if turned else doors)
    right = np.sort(room.walls[(room.walls[:, :, 0] == 10.0).all(axis=1)][:, :, 1], axis=1)
    np.testing.assert_allclose(np.sort(right, axis=0), [[0.0, 1.0], [2.0, 3.0], [4.5, 6.0], [7.5, 8.0]], atol=1e-12)


def test_a_room_knows_who_is_inside_and_when_it_is_empty():
    room = jo.crowds.Room(SQUARE, doors=[DOOR])
    q = np.array([[5.0, 4.0], [10.1, 4.0], [-0.1, 1.0], [9.9, 7.9]])
    assert room.inside(q).tolist() == [True, False, False, True]
    assert not room.empty(jo.schemes.State.of(0.0, q, np.zeros_like(q)))
    assert room.empty(jo.schemes.State.of(0.0, q[1:3], np.zeros((2, 2))))


def test_a_room_is_a_plan_whose_exits_are_its_doors():
    room = jo.crowds.Room(SQUARE, doors=[DOOR, ((0, 3.2), (0, 4.8))])
    plan = jo.crowds.Plan(SQUARE, exits={"door 0": DOOR, "door 1": ((0, 3.2), (0, 4.8))})
    assert type(room) is jo.crowds.Plan
    assert list(room.exits) == ["door 0", "door 1"]
    np.testing.assert_array_equal(room.walls, plan.walls)
    for name in room.exits:
        np.testing.assert_array_equal(room.outward[name], plan.outward[name])


def test_the_corners_of_a_room_may_run_either_way_around():
    room, back = (jo.crowds.Room(corners, doors=[DOOR]) for corners in (SQUARE, SQUARE[::-1]))
    q = np.random.default_rng(0).uniform(-2, 12, (200, 2))
    np.testing.assert_array_equal(room.inside(q), back.inside(q))
    np.testing.assert_allclose(
        jo.crowds.walk(room, radius=0.25)(0.0, q), jo.crowds.walk(back, radius=0.25)(0.0, q), atol=1e-12
    )
    assert back.outward["door 0"].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("corners", "doors", "what"),
    [
        (SQUARE, [((5, 3), (5, 4))], "exit 'door 0' at .* does not lie on an edge"),
        (SQUARE, np.zeros((0, 2, 2)), "needs at least one door"),
        ([(0, 0), (4, 0), (4, np.nan)], [DOOR], "every entry must be finite"),
        ([(0, 0), (4, 0), (2, 0)], [((0, 0), (1, 0))], "not simple"),
    ],
)
def test_impossible_rooms_are_refused(corners, doors, what):
    with pytest.raises(jo.JostleError, match=what):
        jo.crowds.Room(corners, doors=doors)


def test_one_person_in_front_of_a_wide_door_leaves_at_their_own_speed():
    room = jo.crowds.Room(SQUARE, doors=[((10, 0.1), (10, 7.9))])
    one = crowd(1, radius=0.25, room=room, speed=1.4, seed=2)
    x, y = one.q0[0]
    assert 0.35 < y < 7.65
    sol = jo.solve(one, jo.Venel(), t=20.0, h=0.01, until=room.empty)
    assert sol.status == "stopped"
    assert sol.t[-1] == pytest.approx((10.0 - x) / 1.4, abs=0.02)
    np.testing.assert_allclose(sol.q[-1][0, 1], y, atol=1e-9)


def test_a_crowd_never_overlaps_and_leaves():
    room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    people = crowd(15, radius=0.25, room=room, speed=1.4)
    wished = people.velocity(0.0, people.q0)
    np.testing.assert_allclose(np.linalg.norm(wished, axis=1), 1.4, rtol=1e-13)
    sol = jo.solve(people, jo.Venel(), t=20.0, h=0.05, until=room.empty)
    assert sol.status == "stopped"
    assert sol.gaps().min() >= -1e-7 * 0.25
    for k in range(0, len(sol.t), 10):
        apart = np.linalg.norm(sol.q[k][:, None] - sol.q[k], axis=2) + 9.0 * np.eye(15)
        assert np.nanmin(apart) >= 0.5 * (1.0 - 1e-7)  # those who have left are NaN


def test_two_people_fit_in_a_room_with_many_walls():
    """Fewer bodies than walls."""
    room = jo.crowds.Room(SQUARE, doors=[DOOR])
    two = crowd(2, radius=0.25, room=room)
    assert jo.solve(two, jo.Venel(), t=1.0, h=0.1).status == "finished"


def test_a_room_that_is_full_says_so():
    room = jo.crowds.Room([(0, 0), (1, 0), (1, 1), (0, 1)], doors=[((1, 0.2), (1, 0.8))])
    with pytest.raises(jo.InvalidValue, match="no place was found for person"):
        crowd(9, radius=0.25, room=room)


def test_a_crowd_has_its_shape_and_starts_in_its_set():
    people = crowd(25, radius=0.25, room=jo.crowds.Room(SQUARE, doors=[DOOR]))
    assert people.q0.shape == people.velocity(0.0, people.q0).shape == (25, 2)
    assert people.within.gap(0.0, people.q0) >= -1e-12
    sol = jo.solve(people, jo.Venel(), t=0.05, h=0.01)
    assert sol.status == "finished"
    assert np.isfinite(sol.q).all()
