"""People who are wider than their wish was made for are refused where there is an opening that they do not fit."""

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import AvoidJams, Following, FreeWish, Inhibition, Journey, Link, Plan
from jostle.plans.openings import openings
from plain import crowd

pytest.importorskip("shapely")

ROOMS = [[(0, 0), (5, 0), (5, 4), (0, 4)], [(5, 0), (10, 0), (10, 4), (5, 4)]]
EXITS = {"east": ((10, 1), (10, 3))}
Q = np.array([[2.0, 2.0], [8.0, 2.0]])


def two_rooms(width, **more):
    return Plan(ROOMS, exits=EXITS, doors=[((5, 2 - width / 2), (5, 2 + width / 2))], **more)


WRAPPED = {
    "walk": lambda wish: wish,
    "inhibition": lambda wish: Inhibition(wish, 0.4),
    "following": lambda wish: Following(wish, 0.4, sight=1.0),
    "AvoidJams": AvoidJams,
    "Journey": lambda wish: Journey(wish, [None], people=2, reach=0.5),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_a_narrow_inner_door_is_refused_where_the_walk_is_of_smaller_people(name):
    plan = two_rooms(0.6)
    wish = WRAPPED[name](jo.crowds.walk(plan, radius=0.2))
    with pytest.raises(jo.InvalidValue) as error:
        crowd(2, radius=0.4, room=plan, q0=Q, wish=wish)
    for words in ("person 0", "is 0.8 wide", "door 0 from [5.0, 1.7] to [5.0, 2.3], 0.6 wide", "people 0.4 wide"):
        assert words in str(error.value)
    assert "jo.crowds.walk(plan, radius=0.4)" in str(error.value)


def test_people_whose_wish_is_their_own_are_sent_around_a_narrow_door_or_refused():
    plan = Plan(ROOMS, exits=EXITS, doors=[((5, 1.7), (5, 2.3)), ((5, 2.8), (5, 3.9))])
    people = crowd(2, radius=0.4, room=plan, q0=Q, speed=1.3)
    sol = jo.solve(people, jo.Venel(), t=30.0, h=0.05, until=plan.empty)
    assert sol.status == "stopped"
    with pytest.raises(jo.InvalidValue, match=r"person 0 at .* cannot reach their exit"):
        crowd(2, radius=0.4, room=two_rooms(0.6), q0=Q, speed=1.3)


@pytest.mark.parametrize(
    ("width", "radii", "refused"),
    [(0.6, [0.2, 0.4], 1), (0.6, [0.29, 0.25], None), (0.9, [0.4, 0.4], None), (0.35, [0.4, 0.4], None)],
    ids=["one", "none is too wide", "the door is wide", "nobody takes it for open"],
)
def test_only_a_door_that_the_wish_takes_for_open_and_somebody_does_not_fit_through_is_refused(width, radii, refused):
    plan = Plan(ROOMS, exits=EXITS, doors=[((5, 2 - width / 2), (5, 2 + width / 2)), ((5, 2.8), (5, 3.9))])
    wish = jo.crowds.walk(plan, radius=0.2)
    if refused is None:
        assert crowd(2, radius=radii, room=plan, q0=Q, wish=wish).wish is wish
    else:
        with pytest.raises(jo.InvalidValue, match=f"person {refused} .* does not fit through door 0"):
            crowd(2, radius=radii, room=plan, q0=Q, wish=wish)


def test_each_person_is_compared_with_the_ways_of_their_own_radius():
    plan = two_rooms(0.6)
    assert jo.crowds.walk(plan, radius=[0.2, 0.28]).widest(2).tolist() == [0.2, 0.28]
    with pytest.raises(jo.InvalidValue, match=r"person 1 .* is 0.8 wide .* people 0.56 wide"):
        crowd(2, radius=[0.2, 0.4], room=plan, q0=Q, wish=jo.crowds.walk(plan, radius=[0.2, 0.28]))


def test_a_wish_without_ways_takes_nothing_for_open():
    plan = two_rooms(0.6)
    for wish in (lambda t, q: [1.0, 0.0], FreeWish(lambda t, q: [1.0, 0.0], nearer=None)):
        assert crowd(2, radius=0.4, room=plan, q0=Q, wish=wish).wish.widest(2).tolist() == [np.inf, np.inf]


def test_the_wish_of_a_behaviour_and_of_a_caller_is_checked_too():
    plan = Plan(ROOMS, exits=EXITS, doors=[((5, 1.7), (5, 2.3)), ((5, 2.8), (5, 3.9))])
    people = crowd(2, radius=0.4, room=plan, q0=Q, speed=1.3)
    other = crowd(2, radius=0.4, room=plan, q0=Q, speed=1.3, behaviour=AvoidJams)
    assert other.wish.widest(2).tolist() == [0.4, 0.4]
    np.testing.assert_array_equal(other.q0, people.q0)
    with pytest.raises(jo.InvalidValue, match="does not fit through door 0"):
        crowd(2, radius=0.4, room=plan, q0=Q, wish=jo.crowds.walk(plan, radius=0.2))


OBSTACLES = {
    "two columns": ({"columns": [(2.5, 1.0, 0.7), (2.5, 3.0, 0.7)]}, 0.6),
    "a column and a wall": ({"columns": [(2.5, 2.0, 1.4)]}, 0.6),
    "a thin wall": ({"walls": [((2.5, 0.0), (2.5, 3.4))]}, 0.6),
    "a corridor": ({"walls": [((1.0, 1.7), (4.0, 1.7)), ((1.0, 2.3), (4.0, 2.3))]}, 0.6),
    "a corridor with a closed end": (
        {"walls": [((1.0, 1.7), (4.0, 1.7)), ((1.0, 2.3), (4.0, 2.3)), ((1.0, 1.7), (1.0, 2.3))]},
        0.6,
    ),
}


@pytest.mark.parametrize("name", OBSTACLES)
def test_gaps_between_walls_and_columns_are_openings_too(name):
    more, width = OBSTACLES[name]
    found = openings(two_rooms(0.9, **more), 0.5, 0.8)
    assert found
    assert {one.name for one in found} == {"the gap"}
    assert found[0].width == pytest.approx(width, abs=2e-3)
    with pytest.raises(jo.InvalidValue, match="does not fit through the gap from"):
        crowd(
            2,
            radius=0.4,
            room=two_rooms(0.9, **more),
            q0=[[0.6, 0.6], [8, 2]],
            wish=jo.crowds.walk(two_rooms(0.9, **more), radius=0.2),
        )


@pytest.mark.parametrize(
    "area",
    [
        [(0, 0), (10, 0), (10, 4), (5.6, 4), (5.6, 3.4), (5, 3.4), (5, 4), (0, 4)],
        [(0, 0), (10, 0), (10, 4), (6, 4), (6, 3.4), (0, 3.4)],
    ],
    ids=["a block on the wall", "a step in the wall"],
)
def test_short_walls_are_no_openings(area):
    assert openings(Plan(area, exits=EXITS), 0.5, 0.8) == []


def test_stairs_are_openings():
    link = Link("down", ((0, 1.7), (0, 2.3)), ((20, 1), (20, 1.6)), length=3.0)
    plan = Plan([*ROOMS, np.add(ROOMS[0], (20, 0))], exits=EXITS, doors=[((5, 1), (5, 3))], links=[link])
    assert openings(plan, 0.5, 0.8)[0].name == "stairs 'down'"
