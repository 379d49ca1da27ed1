"""Crowds on plans: starts, refusals, symmetry, rate independence, counterflow, thousands of people."""

from functools import partial

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import Group, Inhibition, Plan, Room, walk
from plain import crowd
from rows import whole


def behaviour_of(T):
    """A time gap, or none."""
    return None if T is None else partial(Inhibition, T=T)


shapely = pytest.importorskip("shapely")

R = 0.25
BOX = [(0, 0), (8, 0), (8, 6), (0, 6)]


def hall(width=1.2):
    """A hall with a column in front of its exit."""
    column = [(5, 2.5), (6, 2.5), (6, 3.5), (5, 3.5)]
    return Plan(shapely.Polygon(BOX, [column]), exits={"east": ((8, 3 - width / 2), (8, 3 + width / 2))})


def two_halls():
    """Joined by nothing: nobody comes from the right one to the exit of the left one."""
    return Plan([BOX, np.add(BOX, (20, 0))], exits={"west": ((0, 2), (0, 3))})


def smallest_gap(q, radii):
    here = np.isfinite(q).all(axis=1)
    q, radii = q[here], np.broadcast_to(radii, len(here))[here]
    apart = np.linalg.norm(q[:, None] - q, axis=2) - radii[:, None] - radii + np.diag(np.full(len(q), 99.0))
    return apart.min(initial=99.0)


def test_people_around_a_column_leave_and_never_overlap():
    plan, radii = hall(), np.linspace(0.18, 0.3, 40)
    people = crowd(40, radius=radii, room=plan, speed=np.linspace(1.0, 1.6, 40), seed=1, outlet=1.0)
    sol = jo.solve(people, jo.Venel(), t=60.0, h=0.05, until=plan.empty)
    assert sol.status == "stopped"
    assert min(smallest_gap(q, radii) for q in sol.q) >= -1e-7 * R
    assert sol.gaps().min() >= -1e-7 * R


def test_people_who_are_out_are_taken_out_where_it_was_said():
    plan = hall()
    people = crowd(5, radius=R, room=plan, speed=1.4, outlet=2.0)
    sol = jo.solve(people, jo.Venel(), t=30.0, h=0.05)
    assert not np.isfinite(sol.q[-1]).any()
    furthest = np.nanmax(sol.q[..., 0])
    assert 10.0 - 1.4 * 0.05 < furthest <= 10.0 + 1e-9


@pytest.mark.parametrize("T", [whole(None), 0.6])
def test_the_resumed_evacuation_is_the_one_that_was_never_interrupted(T, tmp_path):
    plan = hall()

    def go(t, **more):
        people = crowd(20, radius=R, room=plan, speed=1.4, behaviour=behaviour_of(T))
        return jo.solve(people, jo.Venel(), t=t, h=0.05, **more)

    whole = go(6.0)
    go(3.0, output=jo.io.Output(checkpoint=tmp_path / "run.checkpoint"))
    again = go(6.0, output=jo.io.Output(checkpoint=tmp_path / "run.checkpoint", resume=True))
    np.testing.assert_array_equal(again.q[-1], whole.q[-1])


@pytest.mark.parametrize("T", [None, 0.6])
def test_a_symmetric_crowd_stays_symmetric(T):
    """Mirror images about y = 3: exits, column and places are; so is what follows, to round-off that grows slowly."""
    plan = hall()
    half = crowd(10, radius=R, room=plan, start=[(0.3, 3.4), (4.5, 3.4), (4.5, 5.8), (0.3, 5.8)], seed=5).q0
    q0 = np.concatenate([half, half * [1, -1] + [0, 6]])
    people = crowd(20, radius=R, room=plan, q0=q0, speed=1.2, behaviour=behaviour_of(T))
    sol = jo.solve(people, jo.Venel(solver=jo.Automatic(tol=1e-11)), t=3.0, h=0.05)
    q = sol.q[-1]
    np.testing.assert_allclose(q[10:], q[:10] * [1, -1] + [0, 6], atol=1e-8)
    assert np.abs(q - q0).max() > 2.0


def test_a_person_on_the_axis_stays_on_it():
    plan = Plan(BOX, exits={"east": ((8, 2.4), (8, 3.6))})
    one = crowd(1, radius=R, room=plan, q0=[[1.0, 3.0]], speed=1.3)
    sol = jo.solve(one, jo.Venel(), t=6.0, h=0.05)
    np.testing.assert_allclose(sol.q[:, 0, 1], 3.0, atol=1e-12)


def test_half_the_speed_is_the_same_path_in_twice_the_time():
    """The sweeping process does not know about time: U / 2 with 2 h gives the same places to round-off."""
    plan = hall()
    paths = []
    for slow in (1.0, 2.0):
        people = crowd(30, radius=R, room=plan, speed=1.4 / slow, seed=2)
        paths.append(jo.solve(people, jo.Venel(), t=4.0 * slow, h=0.05 * slow).q)
    np.testing.assert_allclose(paths[0], paths[1], atol=1e-9)


def test_people_on_a_wall_and_in_a_corner_get_away():
    plan = hall()
    q0 = [[R, R], [R, 6 - R], [4.0, R], [5 - R, 3.0], [6 + R, 2.5], [8 - R, 6 - R]]
    people = crowd(6, radius=R, room=plan, q0=q0, speed=1.4)
    assert people.within.gap(0.0, people.q0) == pytest.approx(0.0, abs=1e-15)
    sol = jo.solve(people, jo.Venel(), t=20.0, h=0.05, until=plan.empty)
    assert sol.status == "stopped"


def test_a_door_must_be_a_little_wider_than_a_person():
    """Exactly as wide: refused. A thousandth of a millimetre more: they pass."""
    with pytest.raises(jo.InvalidValue, match=r"cannot reach their exit.*'east' \(0.5 wide\)"):
        crowd(1, radius=R, room=hall(width=2 * R), q0=[[1.0, 3.0]])
    plan = hall(width=2 * R + 1e-6)
    one = crowd(1, radius=R, room=plan, q0=[[1.0, 4.0]], speed=1.4)
    assert jo.solve(one, jo.Venel(), t=20.0, h=0.05, until=plan.empty).status == "stopped"


def test_whoever_stands_in_a_door_exactly_as_wide_walks_out_of_it():
    room = Room(BOX, doors=[((8, 2.75), (8, 3.25))])
    in_the_door = jo.Sweeping(q0=[[8.0, 3.0]], velocity=[[1.4, 0.0]], within=jo.Segments(room.walls, radii=R))
    sol = jo.solve(in_the_door, jo.Venel(), t=1.0, h=0.05)
    np.testing.assert_allclose(sol.q[-1], [[9.4, 3.0]], atol=1e-9)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: crowd(2, radius=R, room=hall(), q0=[[1, 1], [9, 3]]), r"person 1 at \[9.0, 3.0\] is outside"),
        (lambda: crowd(1, radius=R, room=hall(), q0=[[5.5, 3.0]]), "person 0 .* is outside"),
        (lambda: crowd(2, radius=R, room=hall(), q0=[[1, 1], [1.3, 1]]), r"the gap of people 0 and 1 is -2\.00e-01"),
        (lambda: crowd(1, radius=R, room=hall(), q0=[[0.1, 3.0]]), "person 0 and segment"),
        (lambda: crowd(1, radius=R, room=two_halls(), q0=[[25, 3]]), "person 0 at .*cannot reach their exit"),
        (lambda: crowd(3, radius=[0.2, 0.7, 0.2], room=hall(), q0=[[1, 1], [3, 3], [1, 5]]), "person 1 .*1.4 wide"),
        (
            lambda: crowd(1, radius=0.7, room=Room(BOX, doors=[((8, 2), (8, 3))])),
            r"person 0 at .*, 1.4 wide, cannot reach their exit: .*'door 0' \(1 wide\)",
        ),
        (lambda: crowd(400, radius=R, room=hall()), "no place was found for person .* m wide"),
        (lambda: crowd(2, radius=R, room=hall(), goal="west"), "no exit 'west'; the exits are 'east'"),
        (lambda: crowd(2, radius=R, room=hall(), goal=["east"]), "1 names, but there are 2 people"),
        (lambda: crowd(2, radius=[R] * 3, room=hall()), "radii have shape"),
        (lambda: crowd(2, radius=R, room=hall(), speed=[1.0] * 3), "speed has shape"),
        (lambda: crowd(1, radius=R, room=hall(), speed=134.0), r"speed 134 m/s is faster.*10 m/s; .*divided by 3.6"),
        (lambda: crowd(2, radius=R, room=hall(), speed=[1.3, 134.0]), "speed 134 m/s of person 1 is faster"),
        (lambda: crowd(1, radius=R, room=Room(BOX, doors=[((8, 2), (8, 3))]), speed=50.0), "speed 50 m/s is faster"),
        (lambda: crowd(1, radius=R, room=hall(), wish=walk(hall(), radius=R, speed=134.0)), "speed 134 m/s is faster"),
        (lambda: crowd(0, radius=R, room=hall()), "at least one person"),
        (lambda: crowd(2, radius=R, room=hall(), q0=[[1, 1]]), "q0 has shape"),
        (lambda: crowd(2, radius=R, room=hall(), behaviour=behaviour_of(0.0)), "T must be a positive number"),
        (lambda: crowd(2, radius=R, room=hall(), speed=1.4, wish=lambda t, q: q), "neither speed nor goal"),
        (lambda: crowd(2, radius=-1.0, room=hall()), "radius of body 0 is -1"),
    ],
)
def test_impossible_crowds_are_refused_by_name(make, says):
    with pytest.raises(jo.JostleError, match=says):
        make()


def test_people_may_run_and_lengths_may_be_in_millimetres():
    with pytest.warns(jo.errors.Implausible, match="speed 9.5 m/s, everybody runs"):
        runner = crowd(1, radius=R, room=hall(), speed=9.5)
    assert runner.velocity(0.0, np.array([[1.0, 3.0]])).max() <= 9.5
    millimetres = Plan([(0, 0), (8000, 0), (8000, 6000), (0, 6000)], exits={"east": ((8000, 2400), (8000, 3600))})
    one = crowd(1, radius=250.0, room=millimetres, speed=1340.0, q0=[[1000.0, 3000.0]])
    np.testing.assert_allclose(one.velocity(0.0, one.q0), [[1340.0, 0.0]], rtol=1e-9)


@pytest.mark.parametrize(
    ("speed", "says"),
    [
        (0.0, "speed 0 m/s, everybody hardly moves"),
        ([1.2, 0.0], "speed 0 m/s, person 1 hardly moves"),
        (1e-9, "hardly moves"),
        (4.7, "speed 4.7 m/s, everybody runs"),
        ([9.8, 1.0], "speed 9.8 m/s, person 0 runs"),
    ],
)
def test_speeds_at_which_nobody_walks_are_told(speed, says):
    with pytest.warns(jo.errors.Implausible, match=says):
        Group("some", 2, radius=0.2, speed=speed)


@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_speeds_of_real_people_are_not_told_in_any_unit(unit):
    for speed in (0.1, 0.5, 1.34, 2.2, 3.5):
        Group("some", 2, radius=0.25 * unit, speed=speed * unit)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"reaction": 1e290}, "is 1e[+]290 s.*must be from 0 to 86400 s"),
        ({"reaction": [3.0, 1e6]}, "1e[+]06 s for person 1; a reaction time"),
        ({"reaction": jo.crowds.Uniform(1e7, 1e9)}, "is .* s for person .*; a reaction time"),
        ({"reaction": np.inf}, "reaction is inf"),
        ({"enters": 1e250}, "enters is 1e[+]250 s, and must be at most .* a year"),
    ],
)
def test_people_who_never_react_or_enter_are_refused(wrong, says):
    with pytest.raises(jo.JostleError, match=says):
        Group("late", 2, radius=0.2, **wrong).drawn(np.random.default_rng(0))


def test_reaction_times_of_a_behaviour_are_refused_like_those_of_a_group():
    for times in (1e200, [0.0, -1.0], [1e9, 0.0]):
        with pytest.raises(jo.InvalidValue, match="reaction time"):
            jo.crowds.Reaction(walk(hall(), radius=R, speed=1.0), times=times)


def test_a_person_wider_than_the_plan_and_more_people_than_there_are_have_no_place():
    with pytest.raises(jo.InvalidValue, match=r"a person is 2e.200 m wide, and the plan"):
        crowd(2, radius=1e200, room=hall(), speed=1e200)
    with pytest.raises(jo.InvalidValue, match="table must have rows"):
        jo.crowds.timetable([(0.0, 3), (5.0, 1e30)])


def test_a_crowd_starts_in_the_part_of_the_plan_that_was_given():
    start = shapely.Polygon([(0, 0), (3, 0), (0, 3)])
    people = crowd(12, radius=0.2, room=hall(), start=start, seed=4)
    assert shapely.contains_xy(start, people.q0).all()
    assert people.within.gap(0.0, people.q0) > 0.0
    np.testing.assert_array_equal(people.q0, crowd(12, radius=0.2, room=hall(), start=start, seed=4).q0)


def test_two_groups_walk_past_each_other():
    """Counterflow in two lanes: each group has its own exit. (Head on they would stop: nobody steps aside.)"""
    plan = Plan(
        [(0, 0), (14, 0), (14, 4), (0, 4)], exits={"west": ((0, 0.1), (0, 3.9)), "east": ((14, 0.1), (14, 3.9))}
    )
    east = np.array([[x, y] for x in (1.0, 2.0, 3.0) for y in (0.6, 1.4)])
    q0 = np.concatenate([east, [14, 4] - east])
    people = crowd(12, radius=0.2, room=plan, q0=q0, goal=["east"] * 6 + ["west"] * 6, speed=1.3)
    u = people.velocity(0.0, people.q0)
    np.testing.assert_allclose(u[:, 0], np.repeat([1.3, -1.3], 6), rtol=1e-9)
    sol = jo.solve(people, jo.Venel(), t=30.0, h=0.05, until=plan.empty)
    assert sol.status == "stopped"
    last = sol.q[np.isfinite(sol.q).all(axis=2).sum(axis=0) - 1, np.arange(12), 0]  # before the outlet took them
    assert (last[:6] > 13.0).all()
    assert (last[6:] < 1.0).all()


def test_a_wish_may_be_any_function():
    people = crowd(3, radius=R, room=hall(), wish=lambda t, q: np.array([np.sin(t), 0.0]) + 0.0 * q)
    assert people.velocity(np.pi / 2, people.q0).tolist() == [[1.0, 0.0]] * 3


def test_inhibition_keeps_people_from_pushing():
    """With a time of 0.5 s to the next one, multipliers at a door are smaller than without."""
    plan, pushed = hall(), []
    for T in (None, 0.5):
        people = crowd(40, radius=0.2, room=plan, speed=1.3, behaviour=behaviour_of(T))
        sol = jo.solve(people, jo.Venel(), t=90.0, h=0.05, until=plan.empty)
        assert sol.status == "stopped"
        pushed.append(np.mean([p.sum() for p in sol.multipliers]))
    assert pushed[1] < 0.5 * pushed[0]


def test_ten_thousand_people_find_places_between_columns():
    side = 70.0
    columns = [[(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)] for x in range(5, 66, 10) for y in range(5, 66, 10)]
    plan = Plan(
        shapely.Polygon([(0, 0), (side, 0), (side, side), (0, side)], columns), exits={"a": ((side, 30), (side, 33))}
    )
    people = crowd(10_000, radius=0.2, room=plan, wish=lambda t, q: 0.0 * q)
    assert people.within.gap(0.0, people.q0) > 0.0
    assert plan.inside(people.q0).all()


def test_a_room_in_millimetres_is_suspected():
    room = Room([(0, 0), (6000, 0), (6000, 5000), (0, 5000)], doors=[((6000, 2000), (6000, 3200))])
    with pytest.warns(jo.errors.Implausible, match=r"6000 m long .* in millimetres"):
        crowd(1, radius=0.2, room=room)
    crowd(1, radius=200.0, speed=1300.0, room=room)  # everything in millimetres


def test_people_of_a_file_and_of_python_are_the_same_if_nothing_is_said():
    text = """
        [problem]
        kind = "crowd"
        rooms = [{ corners = [[0, 0], [6, 0], [6, 4], [0, 4]] }]
        exits = [{ name = "east", ends = [[6, 1], [6, 2.2]] }]
        groups = [{ n = 12 }]
        [run]
        t = 1.0
    """
    plan = Plan([(0, 0), (6, 0), (6, 4), (0, 4)], exits={"east": ((6, 1), (6, 2.2))})
    of_file, of_python = jo.scenarios.parse(text, seed=7).build().problem, jo.crowds.crowd(12, room=plan, seed=7)
    np.testing.assert_array_equal(of_file.q0, of_python.q0)
    np.testing.assert_array_equal(of_file.velocity(0.0, of_file.q0), of_python.velocity(0.0, of_python.q0))
    assert of_file.behaviour == of_python.behaviour
    plain = jo.crowds.crowd(12, room=plan, seed=7, behaviour=jo.crowds.Plain())
    assert np.linalg.norm(plain.velocity(0.0, plain.q0), axis=1) == pytest.approx(1.34)
