"""Groups of people in Python: names, sizes, speeds, goals and places, and who belongs to which in the result."""

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import AvoidJams, Group, Inhibition, Plan, Room
from plain import crowd

BOX = [(0, 0), (14, 0), (14, 4), (0, 4)]
EXITS = {"west": ((0, 0.1), (0, 3.9)), "east": ((14, 0.1), (14, 3.9))}
PLAN = Plan(BOX, exits=EXITS)
LEFT, RIGHT = ([(x, 0), (x + 5, 0), (x + 5, 4), (x, 4)] for x in (0, 9))


def groups():
    return [
        Group("visitors", 6, radius=0.2, speed=1.3, goal="east", start=LEFT),
        Group("guards", places=[[7.0, 1.0], [7.0, 3.0]], radius=0.3, speed=[0.8, 0.9], goal=["east", None]),
        Group("staff", 3, radius=0.25, speed=1.1, start=RIGHT),
    ]


def test_everyone_has_the_size_speed_goal_and_place_of_their_group():
    people = crowd(groups(), room=PLAN, seed=3)
    assert people.groups == ("visitors", "guards", "staff")
    assert people.group.tolist() == [0] * 6 + [1] * 2 + [2] * 3
    assert people.members("guards").tolist() == [6, 7]
    assert people.within.bodies.radii_at(0.0).tolist() == [0.2] * 6 + [0.3] * 2 + [0.25] * 3
    assert people.wish.speeds(11).tolist() == [1.3] * 6 + [0.8, 0.9] + [1.1] * 3
    assert people.wish.own(11).tolist() == [1] * 6 + [1, -1] + [-1] * 3
    assert (people.q0[:6, 0] < 5.0).all()
    assert people.q0[6:8].tolist() == [[7.0, 1.0], [7.0, 3.0]]
    assert (people.q0[8:, 0] > 9.0).all()


def test_a_dense_group_keeps_away_from_walls_and_others_after_a_smaller_person():
    child = Group("child", places=[[2.0, 2.0]], radius=0.1)
    adults = Group("adults", 50, radius=0.25, start=LEFT)
    people = crowd([child, adults], room=PLAN)
    assert people.within.gap(0.0, people.q0) >= 0.0


def test_a_crowd_without_groups_is_one_group():
    people = crowd(4, radius=0.2, room=PLAN, speed=1.3, seed=1)
    alone = crowd(Group("people", 4, radius=0.2, speed=1.3), room=PLAN, seed=1)
    assert people.groups == alone.groups == ("people",)
    np.testing.assert_array_equal(people.group, np.zeros(4))
    np.testing.assert_array_equal(people.q0, alone.q0)
    np.testing.assert_array_equal(people.velocity(0.0, people.q0), alone.velocity(0.0, people.q0))


def test_the_result_tells_groups_apart():
    """Everyone leaves; each group by its own exit, and the slow ones last."""
    people = crowd(groups(), room=PLAN, seed=3)
    sol = jo.solve(people, jo.Venel(), t=60.0, h=0.1, until=PLAN.empty)
    times = jo.crowds.leaving_times(sol)
    last = {name: times[sol.problem.members(name)].max() for name in sol.problem.groups}
    assert np.isfinite(times).all()
    assert last["staff"] < last["visitors"]
    assert times[6] == pytest.approx(7.0 / 0.8, abs=0.1)
    east = jo.crowds.crossings(sol, EXITS["east"]).person
    assert set(sol.problem.members("visitors")) <= set(east)


def test_a_behaviour_around_the_wish_of_groups_keeps_the_groups():
    people = crowd(groups(), room=PLAN, seed=3)
    clever = crowd(groups(), room=PLAN, seed=3, behaviour=AvoidJams)
    assert clever.groups == people.groups
    np.testing.assert_array_equal(clever.group, people.group)
    np.testing.assert_array_equal(clever.wish.own(11), people.wish.own(11))


def test_groups_can_be_inhibited_and_resumed(tmp_path):
    def go(t, **more):
        people = crowd(groups(), room=PLAN, seed=3, behaviour=Inhibition)
        return jo.solve(people, jo.Venel(), t=t, h=0.1, **more)

    whole = go(4.0)
    go(2.0, output=jo.io.Output(checkpoint=tmp_path / "c"))
    np.testing.assert_array_equal(
        go(4.0, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True)).q[-1], whole.q[-1]
    )
    people = crowd(groups(), room=PLAN, seed=3, behaviour=Inhibition)
    object.__setattr__(people, "groups", ("visitors", "guards", "cleaners"))
    with pytest.raises(jo.InvalidValue, match="belongs to another run"):
        jo.solve(
            people,
            jo.Venel(),
            t=4.0,
            h=0.1,
            output=jo.io.Output(checkpoint=tmp_path / "c", resume=True),
        )


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Group("a", radius=0.2), "group 'a' needs either n="),
        (lambda: Group("a", 2, radius=0.2, places=[[1, 1], [2, 2]]), "needs either n="),
        (lambda: Group("a", radius=0.2, places=[1, 1, 2]), r"places of group 'a' have shape \(3,\)"),
        (lambda: Group("a", radius=0.2, places=[[1, 1]], start=LEFT), "takes no start"),
        (lambda: Group("a", 0, radius=0.2), "at least one person"),
        (lambda: Group("a", 2, radius=[0.2] * 3), "radii have shape"),
        (lambda: Group("a", 2, radius=0.2, speed=[1.0] * 3), "speed has shape"),
        (lambda: Group("a", 2, radius=0.2, speed=-1.0), "speed must not be negative"),
        (lambda: Group("a", 2, radius=0.2, speed=50.0), "faster than people run"),
        (lambda: Group("a", 2, radius=0.2, goal=["east"]), "1 names, but there are 2 people"),
        (lambda: Group(3, 2, radius=0.2), "name must be a text"),
        (lambda: crowd([], room=PLAN), "at least one group"),
        (lambda: crowd([Group("a", 1, radius=0.2)] * 2, room=PLAN), "different names"),
        (lambda: crowd([Group("a", 1, radius=0.2)], room=PLAN, radius=0.3), "takes no radius: give it to each Group"),
        (lambda: crowd([Group("a", 1, radius=0.2)], room=PLAN, speed=1.4), "takes no speed"),
        (lambda: crowd([Group("a", 1, radius=0.2)], room=PLAN, q0=[[1, 1]]), "takes no q0"),
        (lambda: crowd(np.ones((3, 2)), room=PLAN, radius=0.2), r"array of shape \(3, 2\); give positions as q0="),
        (lambda: crowd([3, 4], room=PLAN), r"n must be .* a jo\.crowds\.Group"),
        (lambda: crowd([Group("a", 1, radius=0.2, goal="north")], room=PLAN), "no exit 'north'"),
        (
            lambda: crowd([Group("a", 3, radius=0.2), Group("b", 900, radius=0.2)], room=PLAN),
            "group 'b': no place was found for person .* of 900",
        ),
        (
            lambda: crowd([Group("a", 1, radius=0.2, speed=1.3)], room=PLAN, wish=lambda t, q: q),
            "neither speed nor goal",
        ),
        (lambda: crowd(2, radius=0.2, room=PLAN).members("guards"), "no group 'guards'; the groups are 'people'"),
    ],
)
def test_impossible_groups_are_refused_by_name(make, says):
    with pytest.raises(jo.JostleError, match=says):
        make()


def test_a_group_does_not_change_with_the_list_it_was_made_of():
    places = np.array([[1.0, 1.0], [2.0, 2.0]])
    group = Group("a", places=places, radius=0.2)
    places[:] = 9.0
    assert crowd(group, room=Room(BOX, doors=[EXITS["east"]])).q0.tolist() == [[1.0, 1.0], [2.0, 2.0]]


@pytest.mark.parametrize("density", [3.0, 5.0, 6.0])
def test_people_are_placed_at_random_up_to_six_a_square_metre(density):
    """Random sequential addition ends at 4.3."""
    plan = Plan([(0, 0), (12, 0), (12, 10), (0, 10)], exits={"east": ((12, 4), (12, 6))})
    n = int(density * 120)
    one, other = (crowd(n, radius=0.2, room=plan, seed=seed).q0 for seed in (0, 1))
    np.testing.assert_array_equal(one, crowd(n, radius=0.2, room=plan, seed=0).q0)
    assert np.abs(one - other).max() > 0.01
    assert (jo.Balls(np.full(n, 0.2)) & jo.Segments(plan.walls, radii=0.2)).gap(0.0, one) > 0.0
    quarter = (one < [6.0, 5.0]).all(axis=1).mean()
    assert quarter == pytest.approx(0.25, abs=0.05)


def test_what_is_reachable_is_said():
    plan = Plan([(0, 0), (12, 0), (12, 10), (0, 10)], exits={"east": ((12, 4), (12, 6))})
    message = r"a lattice has room for (\d+), (\d\.\d+) per square metre \(at most 7.22 far from walls\)"
    with pytest.raises(jo.InvalidValue, match=message) as error:
        crowd(900, radius=0.2, room=plan)
    room = int(str(error.value).split("room for ")[1].split(",")[0])
    assert 750 < room < 870
    crowd(room - 40, radius=0.2, room=plan)


def test_times_of_entry_are_drawn_from_a_distribution():
    plan = jo.crowds.Plan([(0, 0), (6, 0), (6, 4), (0, 4)], exits={"east": ((6, 1), (6, 3))})

    def entries(seed, mean=30.0, **said):
        group = jo.crowds.Group("late", 20, radius=0.2, enters=jo.crowds.Normal(mean, 10.0, **said))
        return crowd(group, room=plan, seed=seed).entries[0].times

    times = entries(1, low=0.0)
    assert times.shape == (20,)
    assert (times > 0.0).all()
    assert 20.0 < times.mean() < 40.0
    np.testing.assert_array_equal(times, entries(1, low=0.0))
    assert (times != entries(2, low=0.0)).all()
    with pytest.raises(jo.InvalidValue, match=r"the enters -.* was drawn .* must be 0 or more"):
        entries(1, mean=0.0)
