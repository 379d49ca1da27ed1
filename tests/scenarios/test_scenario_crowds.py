"""Scenarios of people on floor plans: they leave, by the exits they are sent to; what does not fit is refused."""

from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np
import pytest

import jostle as jo
from jostle.scenarios import ScenarioError, load, parse
from plain import crowd

HALL = """
[problem]
kind = "crowd"
{more}
[[problem.rooms]]
corners = [[0, 0], [8, 0], [8, 4], [0, 4]]
[[problem.exits]]
name = "west"
ends = [[0, 2.5], [0, 1.5]]
[[problem.exits]]
name = "east"
ends = [[8, 1.5], [8, 2.5]]
{groups}
[run]
t = 30.0
h = 0.05
every = 0.05
"""
TWO = """
[[problem.groups]]
n = 5
start = [[4.2, 0], [8, 0], [8, 4], [4.2, 4]]
goal = "west"
[[problem.groups]]
places = [[0.5, 0.5], [0.5, 2.0]]
goal = "east"
radius = 0.3
speed = 0.9
"""


def hall(groups=TWO, more=""):
    return parse(HALL.format(more=more, groups=groups), "hall.toml")


def solved(scenario, **more):
    return jo.solve(**scenario.build()._replace(**more)._asdict())


@cache
def solved_with(name, *settings):
    """The run of a shipped scenario with these settings, for all tests that look at it."""
    return solved(load(name, settings=settings))


def left_at(sol, lines):
    """(n,) the exit by which each person left: the number of the line they crossed last."""
    exit_of = np.full(len(sol.q[0]), -1)
    for k, line in enumerate(lines):
        exit_of[jo.crowds.crossings(sol, line).person] = k
    return exit_of


def test_each_group_leaves_by_its_exit():
    sol = solved(hall(more='behaviour = { kind = "plain" }'))
    assert sol.status == "stopped"
    assert left_at(sol, [((0, 0), (0, 4)), ((8, 0), (8, 4))]).tolist() == [0] * 5 + [1] * 2
    assert sol.problem.within.bodies.radii_at(0.0).tolist() == [0.2] * 5 + [0.3] * 2
    start = sol.q[0]
    assert (start[:5, 0] > 4.2).all()
    np.testing.assert_array_equal(start[5:], [[0.5, 0.5], [0.5, 2.0]])
    alone = np.linalg.norm(sol.u[1][5:], axis=1)
    np.testing.assert_allclose(alone, 0.9)


def test_people_walk_as_pedestrians_unless_the_file_says_otherwise():
    def speeds(more):
        """Of two in a row, 0.3 apart."""
        groups = '[[problem.groups]]\nplaces = [[4.0, 2.0], [4.7, 2.0]]\ngoal = "east"\n'
        sol = solved(hall(groups, more), t=0.05)
        return np.linalg.norm(sol.u[1], axis=1)

    T = jo.crowds.Pedestrians().T_file
    np.testing.assert_allclose(speeds(""), [0.3 / T, 1.34])
    np.testing.assert_allclose(speeds('behaviour = { kind = "pedestrians", T_file = 1.5 }'), [0.2, 1.34])
    np.testing.assert_allclose(speeds('behaviour = { kind = "inhibition" }'), [0.3 / jo.crowds.TIME_GAP, 1.34])
    np.testing.assert_allclose(speeds('behaviour = { kind = "inhibition", T = 1.5 }'), [0.2, 1.34])
    np.testing.assert_allclose(speeds('behaviour = { kind = "plain" }'), [1.34, 1.34])
    with pytest.raises(ScenarioError, match='must be one of "following", "inhibition", "pedestrians", "plain"'):
        speeds('behaviour = { kind = "plaine" }')


@dataclass(frozen=True, eq=False)
class Tired(jo.crowds.Behaviour):
    """People walk slower and slower."""

    half_time: float = field(default=30.0, metadata={"description": "Time after which people walk half as fast (s)."})

    def towards(self, t, q, goal):
        return np.exp2(-t / self.half_time) * self.wish.towards(t, q, goal)


def test_a_file_names_a_behaviour_that_a_script_registered(monkeypatch):
    monkeypatch.setattr(jo.crowds.BEHAVIOURS, "_items", dict(jo.crowds.BEHAVIOURS._items))
    jo.crowds.BEHAVIOURS.register("tired", Tired)
    groups = '[[problem.groups]]\nplaces = [[4.0, 2.0], [4.7, 2.0]]\ngoal = "east"\n'
    theirs = hall(groups, 'behaviour = { kind = "tired", half_time = 4.0 }').build().problem
    np.testing.assert_allclose(np.linalg.norm(theirs.velocity(4.0, theirs.q0), axis=1), 0.67)
    group = jo.crowds.Group("group 0", places=[[4.0, 2.0], [4.7, 2.0]], radius=0.2, speed=1.34, goal="east")
    mine = crowd(group, room=theirs.plan, behaviour=partial(Tired, half_time=4.0))
    np.testing.assert_array_equal(mine.velocity(4.0, mine.q0), theirs.velocity(4.0, mine.q0))
    with pytest.raises(ScenarioError, match=r"unknown key 'half' in \[problem\.behaviour\]; did you mean 'half_time'"):
        hall(groups, 'behaviour = { kind = "tired", half = 4.0 }')
    with pytest.raises(jo.InvalidValue, match="the behaviour 'lazy' must be a dataclass"):
        jo.crowds.BEHAVIOURS.register("lazy", 3)


def test_a_crowd_has_a_time_step_of_which_nobody_is_warned(recwarn):
    text = hall().text
    assert "h = 0.05\n" in text
    run = parse(text.replace("h = 0.05\n", "")).build()
    assert run.h == 0.05 < run.problem.longest_step()
    jo.solve(**run._replace(t=0.1)._asdict())
    assert not recwarn.list
    with pytest.raises(ScenarioError, match=r"missing key 'h' in \[run\]"):
        parse('[problem]\nkind = "cradle"\n[run]\nt = 1.0\n')


def test_parameters_of_pedestrians_in_a_file_are_those_of_python():
    said = {"T": 0.6, "T_file": 0.9, "strip": 0.8, "own": 1.0, "others": 2.0, "strength": 3.0, "decay": 0.2}
    words = ", ".join(f"{name} = {value}" for name, value in said.items())
    theirs = hall(more=f'behaviour = {{ kind = "pedestrians", {words} }}').build().problem
    walk, radii = theirs.wish.wish.wish.wish, theirs.within.bodies.radii_at(0.0)
    mine = jo.crowds.Pedestrians(**said)(walk, theirs.plan, radii)
    np.testing.assert_array_equal(mine(0.0, theirs.q0), theirs.velocity(0.0, theirs.q0))


def test_who_avoids_jams_takes_the_free_exit():
    waiting = [[0.5 + 0.45 * (k % 3), 0.5 + 0.45 * (k // 3)] for k in range(21)]
    groups = f"[[problem.groups]]\nplaces = {[*waiting, [3.5, 2.0]]}\n"
    lines = [((0, 0), (0, 4)), ((8, 0), (8, 4))]
    assert left_at(solved(hall(groups)), lines).tolist() == [0] * 22
    assert left_at(solved(hall(groups, "avoid_jams = true")), lines)[-1] == 1


COUNTERFLOW = ["problem.groups.0.n=6", "problem.groups.1.n=6"]
STAND = ["problem.groups.0.n=14"]


@pytest.mark.parametrize(
    ("name", "settings", "latest"),
    [
        ("bottleneck", ["problem.groups.0.n=15"], 30.0),
        ("classroom", [], 45.0),
        ("counterflow", COUNTERFLOW, 40.0),
        ("stand", STAND, 60.0),
    ],
)
def test_everyone_leaves_and_nobody_overlaps(name, settings, latest):
    sol = solved_with(name, *settings)
    assert sol.status == "stopped"
    assert sol.t[-1] < latest
    assert sol.gaps().min() >= -1e-8 * 0.2


def test_in_the_counterflow_each_side_comes_to_the_other():
    sol = solved_with("counterflow", *COUNTERFLOW)
    found = left_at(sol, [((0, 0), (0, 8)), ((26, 0), (26, 8))])
    assert found.tolist() == [1] * 6 + [0] * 6


def test_spectators_of_the_stand_take_both_stairs():
    sol = solved_with("stand", *STAND)
    west, east = (jo.crowds.crossings(sol, ((x, -3.0), (x + 1.2, -3.0))).person for x in (0.0, 14.8))
    assert len(west) > 4
    assert len(east) > 4
    assert sorted([*west, *east]) == list(range(14))


@pytest.mark.parametrize(
    ("groups", "more", "where", "message"),
    [
        (TWO.replace('"west"', '"wset"'), "", "problem.groups.0.goal", 'one of the exits "west", "east"'),
        ("[[problem.groups]]\n", "", "problem.groups.0", "either n = ... or places = ..."),
        ("[[problem.groups]]\nn = 3\nplaces = [[1, 1]]\n", "", "problem.groups.0", "either n = ... or places"),
        ("[[problem.groups]]\nplaces = [[9, 1]]\n", "", "problem.groups.0", "person 0 at [9.0, 1.0] is outside"),
        ("[[problem.groups]]\nplaces = [[1, 1], [1.3, 1]]\n", "", "problem.groups.0", "people 0 and 1"),
        (TWO.replace("[0.5, 2.0]", "[0.6, 0.6]"), "", "problem.groups.1", "people 5 and 6"),
        ("[[problem.groups]]\nn = 500\n", "", "problem.groups.0", "take fewer people or a larger room"),
        ("[[problem.groups]]\nplaces = [[2, 2]]\nradius = 0.6\n", "", "problem.groups.0", "cannot reach their exit"),
        (TWO.replace("0.9", '"weidman"'), "", 'problem.groups.1.speed = "weidman"', 'did you mean "weidmann"?'),
        (TWO.replace("0.9", "134.0"), "", "problem.groups.1.speed = 134.0", "at most 10 m/s; divide km/h by 3.6"),
        (TWO, 'behaviour = { kind = "inhibition", T = -1 }', "problem.behaviour.T", "must be a positive number"),
        (TWO, "behaviour = 'yes'", "problem.behaviour", "must be a table, such as { kind ="),
        (TWO, "doors = [[[4, 0], [4, 4]]]", "problem.doors.0", "door 0 does not lie between two rooms"),
        (TWO, "rooom = 1", "unknown key 'rooom' in [problem]", "rooms"),
        (TWO, "stops = [{ kind = 'stop', name = 's', place = 3 }]", "problem.stops.0.place = 3", "must be a list"),
        (TWO, "stops = [{ kind = 'stop', name = 's', place = { x = 3 } }]", "problem.stops.0.place", "must be a list"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(groups, more, where, message):
    with pytest.raises(ScenarioError) as error:
        hall(groups, more).build()
    assert "hall.toml" in str(error.value)
    assert where in str(error.value)
    assert message in str(error.value)


def test_an_outline_that_meets_itself_is_refused():
    text = HALL.format(more="", groups=TWO).replace("[8, 4], [0, 4]]", "[0, 4], [8, 4]]")
    with pytest.raises(ScenarioError, match=r"problem\.rooms.*not simple"):
        parse(text, "hall.toml").build()


def test_groups_of_one_region_make_room_for_each_other():
    groups = "[[problem.groups]]\nn = 40\n[[problem.groups]]\nplaces = [[4, 2]]\n"
    groups += "[[problem.groups]]\nn = 20\nradius = 0.3\n"
    run = hall(groups).build()
    assert len(run.problem.q0) == 61
    assert run.problem.q0[40].tolist() == [4.0, 2.0]
    assert run.problem.within.gap(0.0, run.problem.q0) > 0.0
    assert run.problem.within.bodies.radii_at(0.0)[[0, 40, 41]].tolist() == [0.2, 0.2, 0.3]


@pytest.mark.parametrize(
    ("old", "new", "where", "message"),
    [
        ("ends = [[8, 1.5], [8, 2.5]]", "ends = [[7, 1.5], [7, 2.5]]", "problem.exits.1", "does not lie on an edge"),
        ('name = "east"', 'name = "west"', "problem.exits.1.name", "another exit"),
        ("[8, 0], [8, 4], [4.2, 4]]", "[8, 4], [8, 0], [4.2, 4]]", "problem.groups.0", "cross itself"),
        ("[[4.2, 0], [8, 0], [8, 4], [4.2, 4]]", "[[9, 0], [10, 0], [10, 1]]", "problem.groups.0", "overlaps the plan"),
    ],
)
def test_what_is_wrong_is_named_at_its_own_key(old, new, where, message):
    text = HALL.format(more="", groups=TWO)
    assert old in text
    with pytest.raises(ScenarioError) as error:
        parse(text.replace(old, new), "hall.toml").build()
    assert where in str(error.value)
    assert message in str(error.value)


def test_groups_have_the_names_of_the_file_in_the_result():
    named = TWO.replace("[[problem.groups]]\nn", '[[problem.groups]]\nname = "visitors"\nn')
    people = hall(named).build().problem
    assert people.groups == ("visitors", "group 1")
    assert people.group.tolist() == [0] * 5 + [1] * 2
    assert people.members("visitors").tolist() == [0, 1, 2, 3, 4]
    both = named.replace("[[problem.groups]]\nplaces", '[[problem.groups]]\nname = "visitors"\nplaces')
    with pytest.raises(ScenarioError, match=r"problem\.groups\.1\.name = .*must not be the name of another group"):
        hall(both)


def test_a_file_and_python_build_the_same_people():
    plan = jo.crowds.Plan(
        [[0, 0], [8, 0], [8, 4], [0, 4]], exits={"west": ((0, 2.5), (0, 1.5)), "east": ((8, 1.5), (8, 2.5))}
    )
    region = [[4.2, 0], [8, 0], [8, 4], [4.2, 4]]
    groups = [
        jo.crowds.Group("group 0", 5, radius=0.2, speed=1.34, goal="west", start=region),
        jo.crowds.Group("group 1", places=[[0.5, 0.5], [0.5, 2.0]], radius=0.3, speed=0.9, goal="east"),
    ]
    mine = crowd(groups, room=plan, behaviour=jo.crowds.Pedestrians())
    theirs = hall().build().problem
    np.testing.assert_array_equal(mine.q0, theirs.q0)
    np.testing.assert_array_equal(mine.velocity(0.0, mine.q0), theirs.velocity(0.0, mine.q0))
    assert (mine.groups, mine.group.tolist()) == (theirs.groups, theirs.group.tolist())


def test_columns_stand_in_the_way():
    run = hall(more="columns = [[4, 2, 0.7]]").build()
    assert run.problem.within.gap(0.0, np.where(np.arange(7)[:, None] == 0, [4.0, 2.8], run.problem.q0)) < 0.0
    with pytest.raises(ScenarioError, match=r"problem\.columns.*positive radius"):
        hall(more="columns = [[4, 2, -1]]").build()
