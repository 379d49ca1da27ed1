"""People who come in by a timetable, and doors that open and close at times or by counting."""

import pickle

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import Gate, Group, Plan, Stop, arrivals, timetable
from jostle.crowds.measure.moves import radii_in
from jostle.crowds.model.crowd import STANDSTILL
from jostle.scenarios import ScenarioError, parse
from plain import crowd
from rows import whole

ROOMS = [[(0, 0), (6, 0), (6, 4), (0, 4)], [(6, 0), (10, 0), (10, 4), (6, 4)]]
EXITS = {"west": ((0, 1.5), (0, 2.5)), "east": ((10, 1.5), (10, 2.5))}
PLAN = Plan(ROOMS, exits=EXITS, doors=[((6, 1.4), (6, 2.6))])
ROUND = Plan(
    [[(0, 0), (6, 0), (6, 6), (0, 6)], [(6, 0), (10, 0), (10, 6), (6, 6)]],
    exits=EXITS,
    doors=[((6, 1.4), (6, 2.6)), ((6, 4.4), (6, 5.6))],
)
"""Two doors between two rooms."""
LEFT, RIGHT = [(1, 1), (5, 1), (5, 3), (1, 3)], [(7, 1), (9, 1), (9, 3), (7, 3)]
H = 0.1
SHORT = 0.07
"""The longest step of pedestrians without a warning."""


def solved(people, t=40.0, h=H, **more):
    plan = people.plan
    return jo.solve(people, jo.Venel(), t=t, h=h, until=plan.empty, **more)


def test_a_gate_is_open_from_the_start_of_an_interval_and_closed_from_its_end_on():
    gate = Gate("east", open=[(10.0, 20.0)])
    assert [gate.is_open(t) for t in (9.9, 10.0, 19.9, 20.0)] == [False, True, True, False]


def test_people_come_in_at_their_times_and_leave():
    group = Group("late", 6, radius=0.2, speed=1.2, start=LEFT, enters=timetable([(0.0, 2), (3.0, 1), (8.0, 3)]))
    people = crowd(group, room=PLAN, seed=1)
    sol = solved(people)
    here = np.isfinite(sol.q).all(axis=2)
    came = np.where(here.any(axis=0), sol.t[here.argmax(axis=0)], np.nan)
    assert came[:2].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(came[2:], [3.0, 8.0, 8.0, 8.0], atol=5 * H)
    assert (came[2:] >= [3.0, 8.0, 8.0, 8.0]).all()
    first = sol.q[here.argmax(axis=0), np.arange(6)]
    assert ((first > [1, 1]) & (first < [5, 3])).all()
    assert sol.status == "stopped"
    assert sol.overlap < 1e-6
    assert np.isfinite(jo.crowds.leaving_times(sol)).all()


def test_who_has_not_come_yet_has_no_size_in_a_file(tmp_path):
    group = Group("late", 2, radius=0.2, speed=0.5, start=LEFT, enters=timetable([(0.0, 1), (0.5, 1)]))
    people = crowd(group, room=PLAN, seed=1)
    sol = solved(people, 1.0, output=tmp_path / "late.vtkhdf")
    assert np.isfinite(sol.q[-1]).all()
    first, last = (radii_in(jo.io.read(tmp_path / "late.vtkhdf"), k) for k in (0, -1))
    assert first == pytest.approx([0.2, 0.0])
    assert last == pytest.approx([0.2, 0.2])


def test_nobody_comes_in_where_there_is_no_room():
    """A region as large as one person: the second waits until the first has gone on."""
    spot = [(3.0, 2.0), (3.1, 2.0), (3.1, 2.1), (3.0, 2.1)]
    people = crowd(Group("late", 3, radius=0.2, speed=0.5, start=spot, enters=1.0), room=PLAN)
    sol = solved(people, 8.0)
    here = np.isfinite(sol.q).all(axis=2)
    came = np.sort(sol.t[here.argmax(axis=0)])
    assert (np.diff(came) > 0.5).all()
    assert sol.overlap < 1e-6


def gated(*gates, **more):
    said = {"radius": 0.2, "speed": 1.2, "start": RIGHT, **more}
    return crowd(Group("all", 6, **said), room=PLAN, seed=2, gates=gates)


def left_by(sol, name):
    return sorted(jo.crowds.crossings(sol, EXITS[name]).person.tolist())


def test_people_take_another_exit_while_theirs_is_closed():
    assert left_by(solved(gated(Gate("east", open=[(100.0, 200.0)]))), "west") == list(range(6))
    assert left_by(solved(gated(Gate("door 0", open=[(100.0, 200.0)]))), "east") == list(range(6))


def test_the_quickest_way_does_not_lead_through_a_gate_that_is_closed():
    shut, q = Gate("door 0", open=[(5.0, np.inf)]), np.array([[7.0, 2.0]])
    said = {"places": q, "radius": 0.2, "speed": 1.2, "goal": "west"}
    people = crowd(Group("one", **said), room=ROUND, gates=[shut], behaviour=jo.crowds.Pedestrians())
    sol = solved(people, 5.0, SHORT)
    assert sol.q[:, 0, 1].max() > 4.2  # through the other door, above
    assert jo.crowds.crossings(sol, ((6, 1.4), (6, 2.6))).person.size == 0
    people = crowd(Group("one", **said), room=PLAN, gates=[shut], behaviour=jo.crowds.Pedestrians())
    left = jo.crowds.leaving_times(solved(people, h=SHORT))
    assert np.isfinite(left).all()  # there is no other door: they wait until this one opens


def test_people_wait_before_a_gate_that_is_closed_and_pass_when_it_opens():
    people = gated(Gate("east", open=[(6.0, 99.0)]), Gate("door 0", open=[(90.0, 99.0)]))
    sol = solved(people)
    at_6 = sol.q[np.searchsorted(sol.t, 5.9)]
    assert np.isfinite(at_6).all()
    assert (at_6[:, 0] <= 10.0 - 0.2 + 1e-9).all()  # the closed gate is a wall
    assert at_6[:, 0].max() > 9.7
    assert sol.status == "stopped"
    assert jo.crowds.leaving_times(sol).min() > 6.0


def test_pedestrians_know_closed_gates_wait_before_them_and_stand_in_queues():
    """The quickest ways lead around closed gates; who stands in a queue is not led away."""
    stops = {"till": jo.crowds.Queue([(4.0, 2.0), (2.0, 2.0)], service=2.0)}
    for gates, route, by in (
        ([Gate("west", open=[(50.0, 99.0)])], (), "east"),
        ([Gate("west", open=[(5.0, 99.0)]), Gate("door 0", open=[(90.0, 99.0)])], (), "west"),
        ([], ["till"], "east"),
    ):
        goal = "east" if route else None
        group = Group("all", places=[[2.0, 1.0], [2.0, 3.0]], radius=0.2, speed=1.2, route=route, goal=goal)
        people = crowd(group, room=PLAN, gates=gates, stops=stops, behaviour=jo.crowds.Pedestrians())
        sol = solved(people, h=SHORT)
        assert sol.status == "stopped"
        assert left_by(sol, by) == [0, 1]
        if route:
            assert abs(np.subtract(*jo.crowds.leaving_times(sol))) > 1.9


def test_people_who_miss_their_train_end_the_run_when_nobody_moves_any_more(tmp_path):
    """The last person of the train is in its door, and beyond the grid of ways, when the door closes."""
    train = Group("in time", places=[[9.4, 2.0]], radius=0.2, speed=1.2, goal="east")
    late = Group("late", places=[[6.8, 2.0], [6.8, 3.0]], radius=0.2, speed=1.2, knows=["east"])
    both = Group("knows both", places=[[2.0, 2.0]], radius=0.2, speed=1.2, knows=["east", "west"])
    groups, gates = [train, late, both], [Gate("east", open=[(0.0, 0.8)])]
    people = crowd(groups, room=PLAN, gates=gates, behaviour=jo.crowds.Pedestrians())
    sol = jo.solve(people, jo.Venel(), t=60.0, h=0.07, every=3)
    assert sol.status == "blocked"
    assert sol.t[-1] < 20.0
    assert left_by(sol, "east") == [0]
    assert left_by(sol, "west") == [3]
    assert (sol.q[-1, 1:3, 0] > 8.5).all()  # in front of the door
    for found in (sol, jo.io.read(jo.io.write(sol, tmp_path / "train.vtkhdf"))):
        summary = jo.crowds.crowd_summary(found)
        assert (summary.inside, summary.missed, summary.standing, summary.blocked) == (2, 2, 0, False)
        assert summary.rows()["missed"] == 2


def test_people_wait_as_long_as_a_closed_gate_is_still_to_open():
    """Also those who could leave by another exit: nobody is cut off here."""
    people = gated(Gate("east", open=[(6.0, 9.0), (20.0, 30.0)], most=4))

    def waits(**memory):
        people.gates.restore(people.gates.first._replace(**memory))
        return [people._anyone_waits(jo.Venel().start(people, t)) for t in (5.0, 15.0, 25.0)]

    assert waits() == [True, True, False]
    assert waits(passed=np.arange(6)[None] < 3) == [True, True, False]
    assert waits(passed=np.arange(6)[None] < 4) == [False, False, False]  # it does not open again
    assert waits(shut=np.array([False])) == [False, False, False]


def test_all_people_of_a_goal_may_be_beyond_the_ways_when_their_exit_is_closed():
    """On a plan that is larger than the window of a goal."""
    plan = Plan([(0, 0), (30, 0), (30, 3), (0, 3)], exits={"west": ((0, 1), (0, 2)), "east": ((30, 1), (30, 2))})
    groups = [Group(to, places=[[x, 1.5]], radius=0.2, speed=1.2, goal=to) for to, x in (("east", 28), ("west", 4))]
    gates = [Gate("east", open=[(5.0, 9.0)])]
    people = crowd(groups, room=plan, gates=gates, behaviour=jo.crowds.Pedestrians())
    np.testing.assert_allclose(people.velocity(0.0, np.array([[40.0, 1.5], [4.0, 1.5]]))[:, 0], [1.2, -1.2], atol=1e-6)


def test_nobody_takes_an_exit_that_they_do_not_know_while_theirs_is_closed():
    sol = solved(gated(Gate("east", open=[(3.0, 99.0)]), knows=["east"]))
    assert left_by(sol, "east") == list(range(6))


def test_a_gate_that_counts_closes_behind_the_last():
    people = gated(Gate("east", most=3))
    sol = solved(people)
    assert len(left_by(sol, "east")) == 3
    assert len(left_by(sol, "west")) == 3
    assert people.gates.memory.passed.sum() == 3


def test_a_gate_does_not_close_on_people():
    people = crowd(
        Group("all", places=[[9.9, 2.0]], radius=0.2, speed=0.1, goal="east"),
        room=PLAN, gates=[Gate("east", open=[(0.0, 1.0)])],
    )  # fmt: skip
    sol = jo.solve(people, jo.Venel(), t=8.0, h=H)
    assert sol.overlap < 1e-9
    assert left_by(sol, "east") == [0]
    assert people.gates.shut.tolist() == [True]


@pytest.mark.parametrize("closing", [{"most": 4}, {"open": [(0.0, 1.5)]}])
def test_a_gate_closes_although_people_push_through_it_without_a_break(closing):
    """A gate that waited until nobody stands in it let everybody pass. Those who stand in it may pass: two at most."""
    places = [[9.5 - 0.41 * k, 1.75 + 0.5 * j] for k in range(8) for j in range(2)]
    group = Group("all", places=places, radius=0.2, speed=1.0, goal="east")
    people = crowd(group, room=PLAN, gates=[Gate("east", **closing)])
    sol = jo.solve(people, jo.Venel(), t=8.0, h=H)
    passed = jo.crowds.crossings(sol, EXITS["east"])
    in_time = 4 if "most" in closing else int((passed.t <= 1.5).sum())
    assert 4 <= in_time <= len(passed) <= in_time + 2
    assert (sol.q[-1][np.isfinite(sol.q[-1]).all(axis=1), 0] <= 10.0 - 0.2 + 1e-6).all()
    assert sol.overlap < 1e-6


@pytest.mark.parametrize("t", [whole(3.0), 6.5])
def test_gates_and_entries_are_resumed_to_the_bit(tmp_path, t):
    def go(end, **more):
        groups = [
            Group("all", 6, radius=0.2, speed=1.2, start=RIGHT),
            Group("late", 4, radius=0.2, start=LEFT, goal="east", enters=arrivals(4, rate=1.0, start=2.0)),
        ]
        gates = [Gate("east", open=[(5.0, 99.0)], most=4), Gate("door 0", open=[(2.0, 6.0)])]
        people = crowd(groups, room=PLAN, seed=4, gates=gates)
        return jo.solve(people, jo.Venel(), t=end, h=H, **more)

    go(t, output=jo.io.Output(checkpoint=tmp_path / "c"))
    np.testing.assert_array_equal(
        go(9.0, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True)).q[-1], go(9.0).q[-1]
    )


def test_the_same_people_may_be_resumed_and_run_again(tmp_path):
    """What gates and walks have found during a run is no part of what identifies it."""
    people = gated(Gate("east", open=[(3.0, 99.0)]))
    jo.solve(people, jo.Venel(), t=4.0, h=H, output=jo.io.Output(checkpoint=tmp_path / "c"))
    resumed = jo.solve(people, jo.Venel(), t=6.0, h=H, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True))
    np.testing.assert_array_equal(jo.solve(people, jo.Venel(), t=6.0, h=H).q[-1], resumed.q[-1])


def test_people_with_gates_entries_and_routes_can_be_pickled():
    group = Group(
        "all", 4, radius=0.2, start=RIGHT, enters=arrivals(4, rate=1.0), reaction=2.0, route=["desk"], family=2,
        knows=["west", "east"],
    )  # fmt: skip
    stops = {"desk": jo.crowds.Stop((8.0, 2.0), dwell=1.0)}
    people = crowd(group, room=PLAN, gates=[Gate("east", open=[(4.0, 99.0)])], stops=stops, seed=1)
    again = pickle.loads(pickle.dumps(people))
    found = [jo.solve(one, jo.Venel(), t=7.0, h=H).q[-1] for one in (people, again)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gated(Gate("north", most=3)), "there is no exit or door 'north'; there are 'west', 'east', 'door 0'"),
        (lambda: gated(Gate("east", most=3), Gate("east", most=4)), "two gates have the same name"),
        (lambda: gated(Gate("east", open=[(3.0, 2.0)])), r"intervals \(from, to\) with from < to"),
        (
            lambda: Gate("east", open=[(1.0, 4.0), (3.0, 9.0)]),
            r"overlap or .*: \[1.0, 4.0\] and \[3.0, 9.0\]",
        ),
        (lambda: Gate("east", open=[(6.0, 8.0), (1.0, 2.0)]), "overlap or are not in order"),
        (lambda: Gate("east", open=[(0.0, np.inf), (7.0, 8.0)]), "overlap or are not in order"),
        (lambda: Gate("east", open=[(0.0, 1.0), (2.0, 9.0), (2.0, 9.0)]), "overlap or are not in order"),
        (lambda: Gate("east"), "gate 'east' would never change"),
        (
            lambda: gated(Gate("east", open=[(-2.0, -1.0)]), Gate("west", open=[(-2.0, -1.0)])),
            "gate 'east' never opens, and person 0 .* has no other way out",
        ),
        (lambda: Group("a", places=[[1, 1]], radius=0.2, enters=3.0), "has places, so it is present from the start"),
        (lambda: gated(enters=3.0, start=[(20, 20), (21, 20), (21, 21)]), "no room for a person 0.4 wide"),
        (lambda: timetable([(0.0, 1.5)]), r"rows \(time, number of people\)"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(jo.InvalidValue, match=message):
        make()


FILE = """
[problem]
kind = "crowd"
rooms = [{{ corners = [[0, 0], [6, 0], [6, 4], [0, 4]] }}, {{ corners = [[6, 0], [10, 0], [10, 4], [6, 4]] }}]
doors = [[[6, 1.4], [6, 2.6]]]
exits = [{{ name = "east", ends = [[10, 1.5], [10, 2.5]] }}]
gates = [{gate}]
[[problem.groups]]
n = 3
start = [[1, 1], [5, 1], [5, 3], [1, 3]]
enters = {enters}
[run]
t = 60.0
h = 0.07
"""
GATE = '{ at = "door 0", open = [[13.0, inf]] }'


def from_file(gate=GATE, enters='{ kind = "timetable", rows = [[0.0, 1], [28.0, 2]] }'):
    return parse(FILE.format(gate=gate, enters=enters), "f.toml")


def test_a_file_has_timetables_and_gates_and_is_not_blocked_while_something_is_due():
    """One waits at the door for longer than a standstill; then nobody is there for as long, until 28 s."""
    sol = jo.solve(**from_file().build()._replace(h=0.07)._asdict())
    assert sol.status == "stopped"
    assert 31.0 < sol.t[-1] < 43.0
    waits = (sol.q[:, :, 0] > 5.5).any(axis=1) & (sol.t < 13.0)
    assert np.ptp(sol.t[waits]) > STANDSTILL
    assert 13.0 < np.sort(jo.crowds.leaving_times(sol))[0] < 28.0 - STANDSTILL


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            {"enters": '{ kind = "timetable", rows = [[0.0, 1], [70.0, 2]] }'},
            "must end before the end of the run, t = 60",
        ),
        ({"enters": '{ kind = "timetable", rows = [[0.0, 1]] }'}, "must be a timetable of n = 3 people, not of 1"),
        ({"enters": '{ kind = "steady", rate = 0.01 }'}, "must end before the end of the run"),
        ({"gate": '{ at = "door 1", most = 3 }'}, 'must be one of "east", "door 0", each once'),
        ({"gate": '{ at = "east", open = [[70.0, 80.0]] }'}, "must begin before the end of the run, t = 60"),
        ({"gate": '{ at = "east" }'}, "gate 'east' would never change: give open"),
    ],
)
def test_mistakes_in_a_file_are_named(said, message):
    with pytest.raises(ScenarioError) as error:
        from_file(**said)
    assert message in str(error.value)


def test_a_person_who_passes_a_gate_twice_counts_once():
    visitor = Group("visitor", places=[[4.6, 2.0]], radius=0.2, speed=1.2, route=["shop"], goal="west")
    late = Group("late", places=[[2.0, 1.0]], radius=0.2, speed=1.2, reaction=8.0, route=["shop"], goal="west")
    people = crowd([visitor, late], room=PLAN, stops={"shop": Stop((7.0, 2.0))}, gates=[Gate("door 0", most=2)])
    sol = solved(people)
    assert jo.crowds.crossings(sol, PLAN.doors[0]).person.tolist() == [0, 0, 1, 1]
    assert np.isfinite(jo.crowds.leaving_times(sol)).all()
    assert jo.crowds.crowd_summary(sol).gates["door 0"].shape == (2,)
