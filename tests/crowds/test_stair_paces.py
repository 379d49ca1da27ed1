"""Stairs with a speed of their own, landings, both directions, lifts; routes over several floors."""

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import Group, Link, Plan, Stop
from jostle.plans.links import STAIR_PACES
from jostle.scenarios import parse
from jostle.schemes.state import State
from plain import crowd
from rows import whole

GROUND, UPPER = [(0, 0), (4, 0), (4, 3), (0, 3)], [(20, 0), (24, 0), (24, 3), (20, 3)]
START, END = ((20, 1), (20, 2)), ((4, 1), (4, 2))
LENGTH, R, H = 6.0, 0.2, 0.1


def building(exits=None, **said):
    link = Link("stairs", START, END, length=LENGTH, **said)
    return Plan([GROUND, UPPER], exits=exits or {"street": ((0, 1), (0, 2))}, links=[link])


def alone(plan, q0=(22.0, 1.5), t=40.0, speed=1.0, **said):
    stops = said.pop("stops", None)
    people = crowd(Group("one", places=[q0], radius=R, speed=speed, **said), room=plan, stops=stops)
    return jo.solve(people, jo.Venel(), t=t, h=H, until=plan.empty)


@pytest.mark.parametrize(
    ("said", "longer"),
    [
        ({}, 0.0),
        whole(({"pace": 0.5}, LENGTH - R)),
        ({"pace": "down"}, (1.0 / STAIR_PACES["down"] - 1.0) * (LENGTH - R)),
        ({"pace": "up"}, (1.0 / STAIR_PACES["up"] - 1.0) * (LENGTH - R)),
        ({"pace": 0.5, "flights": [(0.0, 2.0), (4.0, 5.0)]}, 3.0),
    ],
)
def test_stairs_are_walked_at_their_pace(said, longer):
    level = 2.0 + (LENGTH - R) + (4.0 - R)
    assert alone(building(**said)).t[-1] == pytest.approx(level + longer, abs=0.3)


def test_people_beside_stairs_are_not_on_them():
    around = [(0, 0), (4, 0), (4, 4), (8, 4), (8, 6), (0, 6)]
    link = Link("stairs", ((4, 1), (4, 2)), ((20, 1), (20, 2)), length=3.0, pace=0.5)
    plan = Plan([around, UPPER], exits={"street": ((8, 4.5), (8, 5.5))}, links=[link])
    people = crowd(2, radius=R, speed=1.0, room=plan, q0=[(6.0, 5.0), (5.0, 1.5)])
    np.testing.assert_allclose(np.linalg.norm(people.velocity(0.0, people.q0), axis=1), [1.0, 0.5])


def test_a_crowd_on_stairs_is_slower_by_the_pace_too():
    """The gap of 0.35 m ahead of the first person allows 0.5 m/s on level ground; nobody is ahead of the second."""
    plan = building(pace="up")
    q0 = [(19.0, 1.5), (19.75, 1.5), (21.0, 1.5), (21.75, 1.5)]
    people = crowd(4, radius=R, speed=1.0, room=plan, q0=q0, behaviour=jo.crowds.Pedestrians(T_file=0.7))
    speeds = np.linalg.norm(people.velocity(0.0, people.q0), axis=1)
    np.testing.assert_allclose(speeds, [STAIR_PACES["up"], STAIR_PACES["up"] * 0.5, 1.0, 0.5], rtol=1e-3)


def test_behaviours_of_a_file_walk_on_stairs_as_those_of_a_program():
    text = """
[problem]
kind = "crowd"
behaviour = { kind = "pedestrians", T_file = 0.7 }
rooms = [{ corners = [[0, 0], [4, 0], [4, 3], [0, 3]] }, { corners = [[20, 0], [24, 0], [24, 3], [20, 3]] }]
exits = [{ name = "street", ends = [[0, 1], [0, 2]] }]
stairs = [{ name = "stairs", start = [[20, 1], [20, 2]], end = [[4, 1], [4, 2]], length = 6.0, pace = "up" }]
groups = [{ places = [[19.0, 1.5], [19.75, 1.5]], radius = 0.2, speed = 1.0, reaction = [0.0, REACTION] }]
[run]
t = 40.0
"""
    for reaction, second in ((0.0, STAIR_PACES["up"] * 0.5), (9.0, 0.0)):
        people = parse(text.replace("REACTION", str(reaction))).build().problem
        speeds = np.linalg.norm(people.velocity(0.0, people.q0), axis=1)
        np.testing.assert_allclose(speeds, [STAIR_PACES["up"], second], rtol=1e-3)


def test_another_behaviour_around_the_wish_does_not_slow_people_on_stairs_twice():
    plan = building(pace="up")
    people = crowd(1, radius=R, speed=1.0, room=plan, q0=[(19.0, 1.5)], behaviour=jo.crowds.AvoidJams)
    assert np.linalg.norm(people.velocity(0.0, people.q0)) == pytest.approx(STAIR_PACES["up"])


def test_a_lift_leaves_at_the_step_whose_end_is_its_time():
    """18 steps of 0.15 s end at 2.7 s up to round-off: a little before it."""
    plan = building(every=2.7)
    people = crowd(1, radius=R, q0=[(18.0, 1.5)], room=plan)
    sol = jo.solve(people, jo.Venel(), t=3.0, h=0.15, every=0.15)
    assert 18 * 0.15 < 2.7
    assert (sol.q[:, 0, 0] < 10.0).tolist() == [False] * 18 + [True] * 3


def test_stairs_with_both_directions_let_people_pass_up_and_down():
    """Each has an exit on the other floor; both meet on the stairs, which are wide enough."""
    plan = building({"street": ((0, 1), (0, 2)), "roof": ((24, 1), (24, 2))}, both=True, pace="down")
    groups = [
        Group("down", places=[(22.0, 1.7)], radius=R, speed=1.0, route=["stairs"], goal="street"),
        Group("up", places=[(2.0, 1.3)], radius=R, speed=1.0, route=["stairs (back)"], goal="roof"),
    ]
    people = crowd(groups, room=plan)
    sol = jo.solve(people, jo.Venel(), t=60.0, h=H, until=plan.empty)
    assert sol.status == "stopped"
    assert jo.crowds.crossings(sol, plan.exits["street"]).person.tolist() == [0]
    assert jo.crowds.crossings(sol, plan.exits["roof"]).person.tolist() == [1]
    left = jo.crowds.leaving_times(sol)
    down, up = (2.0 + (LENGTH - R) / STAIR_PACES[way] + 4.0 for way in ("down", "up"))
    np.testing.assert_allclose(left, [down, up], atol=0.8)


def test_two_people_who_want_each_others_place_at_the_end_of_stairs_step_aside():
    """Each stands where the other would appear; people who do not step aside wait there for ever."""
    plan = building({"street": ((0, 1), (0, 2)), "roof": ((24, 1), (24, 2))}, both=True)
    top, bottom = (20.0 - LENGTH + 2 * R, 1.3), (4.0 - 2 * R, 1.3)
    groups = [Group(to, places=[q], radius=R, goal=to) for to, q in (("street", top), ("roof", bottom))]
    people = crowd(groups, room=plan)
    sol = jo.solve(people, jo.Venel(), t=15.0, h=H, until=plan.empty)
    assert sol.status == "stopped"


def test_on_narrow_stairs_one_direction_walks_at_a_time_and_a_resumed_run_knows_whose_turn_it_is(tmp_path):
    plan = building({"street": ((0, 1), (0, 2)), "roof": ((24, 1), (24, 2))}, both=True)

    def go(t, **more):
        groups = [Group("street", 4, radius=R, goal="street", start=UPPER)]
        groups += [Group("roof", 4, radius=R, goal="roof", start=GROUND)]
        people = crowd(groups, room=plan, seed=1, behaviour=jo.crowds.Pedestrians())
        return jo.solve(people, jo.Venel(), t=t, h=0.05, **more)

    sol = go(60.0)
    assert sol.status == "stopped"
    part, depth = plan.shafts["stairs"].where(sol.q.reshape(-1, 2))
    on = ((part > 0.0) & (part < 1.0) & (depth > 0.0) & (depth < LENGTH)).reshape(sol.q.shape[:2])
    down, up = on[:, :4].any(axis=1), on[:, 4:].any(axis=1)
    assert (down | up).any()
    assert not (down & up).any()
    go(4.2, output=jo.io.Output(checkpoint=tmp_path / "c"))
    resumed = go(6.0, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True))
    np.testing.assert_array_equal(resumed.q[-1], sol.q[np.searchsorted(sol.t, 6.0 - 1e-9)])


@pytest.mark.parametrize(("each", "held"), [(5, False), (6, True)])
def test_on_wide_stairs_people_take_turns_when_they_are_more_than_two_per_square_metre(each, held):
    """Stairs of 1.5 m x 3.5 m: ten people pass each other, of twelve those wait who are further away."""
    start, end = ((20, 0.5), (20, 2)), ((4, 0.5), (4, 2))
    exits = {"street": ((0, 1), (0, 2)), "roof": ((24, 1), (24, 2))}
    plan = Plan([GROUND, UPPER], exits=exits, links=[Link("stairs", start, end, length=3.5, both=True)])
    y = 0.6 + 0.5 * (np.arange(each) % 3)
    down = np.stack([20.3 + 0.5 * (np.arange(each) // 3), y], axis=1)
    up = np.stack([3.5 - 0.5 * (np.arange(each) // 3), y], axis=1)
    groups = [Group(to, places=q, radius=R, goal=to) for to, q in (("street", down), ("roof", up))]
    people = crowd(groups, room=plan)
    u = people.velocity(0.0, people.q0)
    assert (u[:each, 0] < 0.0).all()
    assert (u[each:, 0] <= 0.0).all() if held else (u[each:, 0] > 0.0).all()


def test_a_place_at_the_end_of_stairs_where_somebody_stands_is_taken():
    """A contact with somebody at the same point has no normal."""
    plan = building({"street": ((0, 1), (0, 2)), "roof": ((24, 1), (24, 2))}, both=True)
    place = plan.passages[1].places(np.array([0.5]), np.array([R]))[0]
    places = {"roof": (4.0 - 1.04 * R, 1.5), "street": place}
    people = crowd([Group(to, places=[q], radius=R, goal=to) for to, q in places.items()], room=plan)
    stairs = people.changes()[1]
    state = State.of(0.0, people.q0, np.zeros((2, 2)))
    moved = people.q0.copy()
    moved[0] = place
    assert not stairs._free(state, moved, 0)
    assert np.linalg.norm(np.diff(stairs(state).q, axis=0)) >= 2.0 * R * (1.0 - 1e-6)


def test_the_nearest_exit_may_be_over_stairs_that_are_walked_back():
    """The only exit is at the top: people on the ground take the stairs against their direction."""
    plan = building({"roof": ((24, 1), (24, 2))}, both=True)
    sol = alone(plan, (2.0, 1.5))
    assert sol.status == "stopped"
    assert sol.t[-1] == pytest.approx(2.0 + LENGTH + 4.0, abs=0.8)


def test_a_lift_takes_all_who_are_in_it_at_its_times():
    plan = building(every=15.0)
    people = crowd(Group("all", 4, radius=R, speed=1.0, start=UPPER), room=plan, seed=1)
    sol = jo.solve(people, jo.Venel(), t=60.0, h=H, until=plan.empty)
    on_ground = np.nanmin(np.where(sol.q[:, :, 0] < 10.0, sol.t[:, None], np.nan), axis=0)
    np.testing.assert_allclose(on_ground, 15.0, atol=H)
    assert sol.status == "stopped"
    assert sol.overlap < 1e-6


def test_a_route_leads_over_the_stairs_to_a_stop_on_another_floor():
    stops = {"desk": Stop((2.0, 2.5), dwell=3.0)}
    ends = []
    for route in (["stairs", "desk"], ["desk"]):  # the stairs need not be named
        sol = alone(building(), route=route, stops=stops)
        assert sol.status == "stopped"
        assert np.linalg.norm(sol.q[:, 0] - [2.0, 2.5], axis=1).min() < 2 * R
        ends.append(sol.t[-1])
    assert ends[0] == ends[1]


def test_an_exit_on_another_floor_may_be_a_goal():
    plan = building({"street": ((0, 1), (0, 2)), "roof": ((24, 1), (24, 2))})
    assert jo.crowds.crossings(alone(plan, goal="street"), plan.exits["street"]).person.tolist() == [0]
    with pytest.raises(jo.InvalidValue, match=r"person 0 at .* cannot walk from the start to 'roof'.*add stairs"):
        alone(plan, (2.0, 1.5), goal="roof")


@pytest.mark.parametrize("said", [whole({"both": True, "pace": "down"}), {"every": 4.0}])
def test_stairs_are_resumed_to_the_bit(tmp_path, said):
    def go(t, **more):
        plan = building(**said)
        people = crowd(Group("all", 5, radius=R, speed=1.3, start=UPPER), room=plan, seed=3)
        return jo.solve(people, jo.Venel(), t=t, h=0.1, **more)

    go(5.0, output=jo.io.Output(checkpoint=tmp_path / "c"))
    np.testing.assert_array_equal(
        go(10.0, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True)).q[-1], go(10.0).q[-1]
    )


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"pace": "sideways"}, 'must be a positive number, "up" or "down"'),
        ({"pace": -1.0}, 'must be a positive number, "up" or "down"'),
        ({"flights": [(0.0, 9.0)]}, "intervals .* within its length 6"),
        ({"every": 9.0, "both": True}, "is a lift \\(every=9\\) and goes one way"),
        ({"every": 9.0, "pace": 0.5}, "leave out pace"),
    ],
)
def test_impossible_stairs_are_refused(said, message):
    with pytest.raises(jo.InvalidValue, match=message):
        building(**said)


def test_a_file_says_all_that_stairs_can():
    text = """
[problem]
kind = "crowd"
behaviour = { kind = "plain" }
rooms = [{ corners = [[0, 0], [4, 0], [4, 3], [0, 3]] }, { corners = [[20, 0], [24, 0], [24, 3], [20, 3]] }]
exits = [{ name = "street", ends = [[0, 1], [0, 2]] }]
stairs = [{ name = "stairs", start = [[20, 1], [20, 2]], end = [[4, 1], [4, 2]], length = 6.0, SAID }]
groups = [{ places = [[22.0, 1.5]], radius = 0.2, speed = 1.0 }]
[run]
t = 40.0
h = 0.1
"""

    def ends(said):
        return jo.crowds.evacuation_time(jo.solve(**parse(text.replace("SAID", said)).build()._asdict()))

    slow = jo.crowds.evacuation_time(alone(building(pace=0.5, flights=[(0.0, 2.0)], both=True)))
    assert ends("pace = 0.5, flights = [[0.0, 2.0]], both = true") == pytest.approx(slow, abs=0.01)
    assert ends("every = 20.0") > 20.0
    with pytest.raises(jo.scenarios.ScenarioError, match='must be a positive number, "up" or "down"'):
        parse(text.replace("SAID", 'pace = "left"'))
