"""Lifts that take time: people ride, the doors are closed meanwhile, and the lift comes back."""

from types import SimpleNamespace

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import Group, Link, Plan
from jostle.crowds.model.stairs import LiftDoors
from jostle.plans.stored import plan_of
from jostle.scenarios import parse
from jostle.schemes.state import State
from jostle.sets.surfaces import Step
from plain import crowd

GROUND, UPPER = [(0, 0), (4, 0), (4, 3), (0, 3)], [(20, 0), (24, 0), (24, 3), (20, 3)]
START, END = ((20, 1), (20, 2)), ((4, 1), (4, 2))
R, H, EVERY, TRAVEL, DOORS = 0.2, 0.1, 15.0, 4.0, 1.5
RIDE = TRAVEL + 2 * DOORS


def building(length=1.5, **said):
    link = Link("lift", START, END, length=length, **{"every": EVERY, "travel": TRAVEL, "doors": DOORS, **said})
    return Plan([GROUND, UPPER], exits={"street": ((0, 1), (0, 2))}, links=[link])


def gone(n=14, t=90.0, plan=None, **said):
    """People upstairs, more than the cabin holds, until all are out."""
    plan = plan or building()
    people = crowd(Group("all", n, radius=R, speed=1.0, start=UPPER), room=plan, seed=1)
    said = {"until": plan.empty, **said}
    return jo.solve(people, jo.Venel(), t=t, h=H, every=H, **said)


@pytest.fixture(scope="module")
def sol():
    return gone()


def test_people_step_off_exactly_when_the_lift_arrives(sol):
    downstairs = np.nanmin(np.where(sol.q[:, :, 0] < 10.0, sol.t[:, None], np.nan), axis=0)
    assert sorted({round(float(t), 6) for t in downstairs}) == [EVERY + RIDE, 2 * EVERY + RIDE]
    assert sol.status == "stopped"
    assert sol.overlap < 1e-6


def test_nobody_enters_or_leaves_the_cabin_while_the_lift_is_away(sol):
    """The lift is away from 15 s to 29 s; more people stand at the door, who enter when it is back."""
    inside = (sol.q[..., 0] > 10.0) & (sol.q[..., 0] < 20.0 - 1e-6)
    riding = (sol.t > EVERY - 1e-6) & (sol.t < EVERY + RIDE - 1e-6)
    back = (sol.t > EVERY + RIDE - 1e-6) & (sol.t < EVERY + 2 * RIDE + 1e-6)
    assert 4 < inside[riding][0].sum() < 14
    assert (inside[riding] == inside[riding][0]).all()
    assert not inside[back].any()
    assert inside[(sol.t > EVERY + 2 * RIDE) & (sol.t < 2 * EVERY)].any()


def test_a_person_in_the_doorway_is_not_pushed_when_the_door_closes():
    """Their centre is 5 cm before the door when it closes, or 5 cm behind it."""
    plan, at = building(), {}
    for x in (20.05, 19.95):
        q0 = np.array([(x, 1.5), (19.5, 1.5)])
        with pytest.warns(jo.errors.Implausible, match="hardly moves"):
            people = crowd(2, radius=R, q0=q0, speed=1e-3, room=plan)
        sol = jo.solve(people, jo.Venel(), t=EVERY + RIDE, h=H, every=H)
        assert sol.overlap < 1e-6
        assert np.abs(np.diff(sol.q[:-1], axis=0)).max() < 1e-3
        at[x] = sol.q[-1, 0, 0] < 10.0
    assert at == {20.05: False, 19.95: True}


def at_the_closed_door(*places):
    """People at a door that has closed while the others were in the cabin, and the set of their positions."""
    plan = building()
    people = crowd(len(places), radius=R, q0=places, speed=1.0, room=plan)
    change, state = people.changes(), jo.Venel().start(people, 0.0)
    change[-1](state.replace(t=EVERY))
    return people, state


def test_the_rows_of_closed_doors_do_not_depend_on_the_places_of_people():
    """Searches for the nearest point number the rows: they need the same ones everywhere."""
    places = [(20.3, 1.5), (19.5, 1.5), (23.0, 0.5), (2.0, 1.5)]
    people, _ = at_the_closed_door(*places)
    doors = people.within.sets[-1]
    there = doors.linearise(0.0, np.array(places))
    gap = dict(zip(there.pairs[:, 0].tolist(), there.gap.tolist(), strict=True))
    assert sorted(gap) == [0, 1, 2, 3]
    assert gap[0] == pytest.approx(0.3)
    assert gap[1] == pytest.approx(0.5)
    assert min(gap[2], gap[3]) > 1.0
    for moved in ((20.3, 0.5), (19.9, 1.5), (1.0, 1.5), (40.0, 40.0)):
        other = doors.linearise(0.0, np.array([moved, *places[1:]]))
        assert (other.pairs == there.pairs).all()
    assert len(doors.linearise(0.0, np.array(places), 0.4).gap) == 1


def test_catching_up_does_not_lose_count_of_the_rows_of_a_lift():
    plan = building()
    people = crowd(Group("all", 10, radius=R, speed=1.0, start=UPPER), room=plan, seed=1)
    sol = jo.solve(people, jo.CatchingUp(), t=EVERY + 1.0, h=H, every=0.25)
    inside = (sol.q[..., 0] > 10.0) & (sol.q[..., 0] < 20.0 - 1e-6)
    closed = sol.t > EVERY + 1e-6
    assert closed.sum() >= 3
    assert (inside[closed] == inside[closed][0]).all()


def test_a_person_who_passes_a_closed_door_is_an_error():
    """A solver that leaves overlaps may push somebody through; the door would not hold them any more."""
    people, state = at_the_closed_door((20.05, 1.5), (19.5, 1.5), (23.0, 0.5))
    doors = people.within.sets[-1]
    for x, passed in ((20.0, False), (19.995, False), (19.98, True), (19.0, True)):
        end = np.array([(x, 1.5), *state.q[1:]])
        found = doors.crossing(Step((EVERY, EVERY + H), (state.q, end)))
        assert (found is not None) == passed
    assert found.body == 0
    assert found.wall == "the closed door of the lift 'lift'"
    assert found.moved == pytest.approx(1.05)
    out = np.array([state.q[0], (20.05, 1.5), state.q[2]])
    assert doors.crossing(Step((EVERY, EVERY + H), (state.q, out))).body == 1


def test_a_lift_without_travel_time_moves_people_at_once():
    plan = building(travel=0.0, doors=0.0)
    people = crowd(1, radius=R, q0=[(19.0, 1.5)], room=plan)
    sol = jo.solve(people, jo.Venel(), t=EVERY, h=H, every=H)
    assert (sol.q[:, 0, 0] < 10.0).tolist() == [False] * 150 + [True]


def test_a_crowd_that_waits_for_a_lift_is_not_blocked():
    plan = building(every=60.0, travel=20.0)
    people = crowd(Group("late", places=[(20.5, 1.5)], radius=R, speed=1.0), room=plan)
    change, state = people.changes(), jo.Venel().start(people, 0.0)
    doors = change[-1]
    assert not people._anyone_waits(state.replace(t=50.0))
    doors.restore(None)
    assert people._anyone_waits(doors(state.replace(t=70.0)))


def test_a_lift_that_is_away_is_resumed_to_the_bit(tmp_path):
    whole = gone(t=20.0, until=None)
    gone(t=17.0, until=None, output=jo.io.Output(checkpoint=tmp_path / "c"))
    resumed = gone(t=20.0, until=None, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True))
    np.testing.assert_array_equal(resumed.q[-1], whole.q[-1])


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"every": 14.0}, "'lift' is to leave every 14 s, but with travel=4 and doors=1.5 it is back only after 14 s"),
        ({"every": None}, "'lift' has a travel time or doors, but no time between two trips"),
        ({"travel": -1.0}, "travel must be a number that is 0 or more"),
        ({"doors": np.inf}, "doors must be a number that is 0 or more"),
    ],
)
def test_impossible_lifts_are_refused(said, message):
    with pytest.raises(jo.InvalidValue, match=message):
        building(**said)


def test_doors_that_the_admissible_set_does_not_have_are_an_error():
    west = jo.crowds.FreeWish(lambda t, q: [-1.0, 0.0], nearer=None)
    with pytest.raises(jo.InvalidValue, match=r"make the people with jo\.crowds\.crowd"):
        jo.crowds.Crowd(q0=[[22.0, 1.5]], wish=west, within=jo.Balls([R]), plan=building())


FILE = """
[problem]
kind = "crowd"
behaviour = { kind = "plain" }
rooms = [{ corners = [[0, 0], [4, 0], [4, 3], [0, 3]] }, { corners = [[20, 0], [24, 0], [24, 3], [20, 3]] }]
exits = [{ name = "street", ends = [[0, 1], [0, 2]] }]
groups = [{ places = [[22.0, 1.5]], radius = 0.2, speed = 1.0 }]
[[problem.stairs]]
name = "lift"
start = [[20, 1], [20, 2]]
end = [[4, 1], [4, 2]]
length = 1.5
every = 15.0
travel = 4.0
doors = 1.5
[run]
t = 60.0
h = 0.1
every = 0.1
"""


def test_a_file_gives_a_lift_its_times_and_a_trajectory_keeps_them(tmp_path):
    sol = jo.solve(**parse(FILE).build()._asdict())
    assert sol.t[(sol.q[:, 0, 0] < 10.0).argmax()] == pytest.approx(EVERY + RIDE)
    jo.io.write(sol, tmp_path / "lift.vtkhdf")
    stored = plan_of(jo.io.read(tmp_path / "lift.vtkhdf")).links["lift"]
    assert (stored.every, stored.travel, stored.doors) == (EVERY, TRAVEL, DOORS)
    with pytest.raises(jo.scenarios.ScenarioError, match="is back only after 14 s"):
        parse(FILE.replace("every = 15.0", "every = 12.0")).build()
    with pytest.raises(jo.scenarios.ScenarioError, match=r"stairs.*every.*let the lift arrive before the end"):
        parse(FILE.replace("t = 60.0", "t = 22.0"))


def test_pictures_and_reports_say_the_times_of_a_lift():
    from jostle.viz.crowd_report import assumptions

    built = parse(FILE.replace("t = 60.0", "t = 23.0").replace("h = 0.1", "h = 23.0")).build()
    sol = jo.solve(**{**built._asdict(), "t": 0.2, "h": 0.1, "every": 0.1})
    times = "every 15 s, travel 4 s, doors 1.5 s"
    assert dict(assumptions(sol, np.array([R]), {}))["lift 'lift'"] == times
    assert f"lift, {times}" in building()._repr_html_()


def test_nobody_comes_into_a_lift_while_it_is_away():
    """Who is in its cabin when the doors close rides; who is there later does not."""
    lift = SimpleNamespace(phase=int, inside=lambda q: q[:, 0] > 0.0)
    doors, inside = LiftDoors([lift], 2), []
    for t, x in ((1.0, [1.0, -1.0]), (2.0, [1.0, 1.0]), (0.0, [-1.0, 1.0]), (1.0, [-1.0, 1.0])):
        q = np.array([[x[0], 0.0], [x[1], 0.0]])
        doors(State.of(t, q, 0.0 * q))
        inside.append(doors.memory.inside[0].tolist())
    assert inside == [[True, False], [True, False], [False, False], [False, True]]


def test_a_density_takes_no_lift():
    with pytest.raises(jo.InvalidValue, match="'lift' is a lift, which takes people at fixed times"):
        jo.crowds.density(5, room=building(), radius=R, h=0.25)
