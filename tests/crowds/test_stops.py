"""Routes with stops, waiting areas and queues; exits that people know; families."""

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import (
    Group,
    Inhibition,
    Journey,
    KnownExits,
    Normal,
    Plan,
    Queue,
    Stop,
    Together,
    Uniform,
    WaitingArea,
)
from jostle.crowds.model.behaviours import SLOWEST
from jostle.scenarios import ScenarioError, parse
from plain import crowd
from rows import whole

BOX = [(0, 0), (12, 0), (12, 5), (0, 5)]
EXITS = {"west": ((0, 2), (0, 3)), "east": ((12, 2), (12, 3))}
PLAN = Plan(BOX, exits=EXITS)
H = 0.1


def solved(people, t=60.0, h=H, **more):
    return jo.solve(people, jo.Venel(), t=t, h=h, until=PLAN.empty, **more)


def test_people_stand_at_a_stop_for_their_dwell_time_and_go_on():
    group = Group("one", places=[[2.0, 2.5]], radius=0.2, speed=1.0, route=["desk"], goal="west")
    sol = solved(crowd(group, room=PLAN, stops={"desk": Stop((6.0, 2.5), dwell=8.0)}))
    x = sol.q[:, 0, 0]
    assert x.max() == pytest.approx(5.6, abs=0.11)  # within the reach, twice the radius
    standing = sol.t[np.abs(x - x.max()) < 1e-9]
    assert np.ptp(standing) == pytest.approx(8.0, abs=2 * H)
    assert sol.status == "stopped"
    assert sol.t[-1] == pytest.approx(3.6 + 8.0 + 5.6, abs=0.5)


@pytest.mark.parametrize(
    "stop", [WaitingArea([(5, 1), (9, 1), (9, 4), (5, 4)], until=9.0), whole(Stop((6.0, 2.5), dwell=2.0))]
)
def test_people_who_take_the_quickest_way_go_to_their_own_places_and_on(stop):
    group = Group("all", 4, radius=0.2, speed=1.2, route=["hall"], start=[(0, 1), (3, 1), (3, 4), (0, 4)], goal="east")
    said = {"room": PLAN, "stops": {"hall": stop}, "seed": 2}
    plain, quick = (solved(crowd(group, **said, behaviour=how), 40.0, 0.07) for how in (None, jo.crowds.Pedestrians()))
    assert plain.status == quick.status == "stopped"
    if isinstance(stop, WaitingArea):  # each has stood at their place
        at = [sol.q[np.searchsorted(sol.t, 8.9)] for sol in (plain, quick)]
        np.testing.assert_allclose(at[0], at[1], atol=0.45)


def test_nobody_leaves_a_waiting_area_before_its_time_and_each_has_a_place():
    area = [(5, 1), (9, 1), (9, 4), (5, 4)]
    group = Group("all", 8, radius=0.2, speed=1.2, route=["hall"], start=[(0, 0), (3, 0), (3, 5), (0, 5)], goal="east")
    sol = solved(crowd(group, room=PLAN, stops={"hall": WaitingArea(area, until=20.0)}, seed=2))
    at_20 = sol.q[np.searchsorted(sol.t, 19.9)]
    assert (at_20[:, 0] > 5.0).all()
    assert (at_20[:, 0] < 9.0).all()
    assert np.ptp(at_20[:, 0]) > 1.5  # not all at the rim
    assert sol.status == "stopped"
    assert sol.t[-1] > 22.0


def test_the_places_of_a_queue_follow_its_bends_and_go_on_after_its_end():
    queue = Queue([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)], service=1.0, spacing=0.75)
    np.testing.assert_allclose(queue._places(np.arange(4)), [[0.0, 0.0], [0.75, 0.0], [1.0, 0.5], [1.0, 1.25]])


def test_a_queue_serves_in_the_order_of_arrival():
    q = [[4.0, 2.5], [1.0, 2.5], [2.5, 2.5]]
    queue = Queue([(8.0, 2.5), (5.0, 2.5)], service=4.0, spacing=0.7)
    group = Group("all", places=q, radius=0.2, speed=1.2, route=["counter"], goal="east")
    people = crowd(group, room=PLAN, stops={"counter": queue})
    sol = solved(people)
    left = jo.crowds.leaving_times(sol)
    assert np.argsort(left).tolist() == [0, 2, 1]
    np.testing.assert_allclose(np.diff(np.sort(left)), 4.0, atol=1.0)
    assert (np.diff(np.sort(left)) > 3.9).all()


def test_nobody_overtakes_the_head_of_a_queue_however_short_their_own_service_is():
    walk = jo.crowds.walk(PLAN, radius=0.2, stops={"counter": (8.0, 2.5)})
    queue = Queue([(8.0, 2.5), (5.0, 2.5)], service=4.0, spacing=0.7)
    journey = Journey(walk, ["counter", "east"], people=2, reach=0.4, stops={"counter": queue})
    [service] = (times for times in journey.dwell.values() if times.any())
    service[1] = 0.0
    passed = []
    for t in (0.0, 1.0, 4.0):
        journey.remember(t, np.array([[8.0, 2.5], [7.3, 2.5]]))
        passed.append(journey.stage.tolist())
    assert passed == [[0, 0], [0, 0], [1, 1]]


def test_people_who_start_beside_the_head_of_a_queue_go_to_its_tail_and_do_not_block_it():
    queue = Queue([(8.0, 1.0), (8.0, 4.0)], service=1.0)
    group = Group("all", 6, radius=0.2, route=["counter"], start=[(6, 0.5), (7.5, 0.5), (7.5, 2), (6, 2)], goal="west")
    sol = solved(crowd(group, room=PLAN, stops={"counter": queue}, behaviour=Inhibition, seed=1))
    assert sol.status == "stopped"
    assert (np.diff(np.sort(jo.crowds.leaving_times(sol))) > 0.9).all()


def test_dwell_times_are_drawn_for_each_by_the_seed():
    stops = {"desk": Stop((6.0, 2.5), dwell=Uniform(5.0, 9.0), reach=2.0)}
    group = Group("all", places=[[2.0, 1.5], [2.0, 3.5]], radius=0.2, speed=1.2, route=["desk"], goal="east")
    made = [crowd(group, room=PLAN, stops=stops, seed=seed).wish for seed in (1, 1, 2)]
    desk = [goal.name for goal in made[0].goals].index("desk")
    np.testing.assert_array_equal(made[0].dwell[desk], made[1].dwell[desk])
    assert (made[0].dwell[desk] != made[2].dwell[desk]).all()
    assert np.ptp(made[0].dwell[desk]) > 0.0
    with pytest.raises(jo.InvalidValue, match=r"dwell time of -.* was drawn.*limit low = 0"):
        crowd(group, room=PLAN, stops={"desk": Stop((6.0, 2.5), dwell=Normal(0.0, 1.0))})


@pytest.mark.parametrize("kind", ["stop", whole("area"), "queue"])
def test_a_journey_with_stops_is_resumed_to_the_bit(tmp_path, kind):
    stop = {
        "stop": Stop((6.0, 2.5), dwell=Uniform(1.0, 3.0), reach=1.0),
        "area": WaitingArea([(5, 1), (9, 1), (9, 4), (5, 4)], dwell=2.0),
        "queue": Queue([(7.0, 2.5), (4.0, 2.5)], service=1.0),
    }[kind]

    def go(t, **more):
        group = Group("all", 4, radius=0.2, speed=1.5, route=["a"], start=[(2, 1), (4, 1), (4, 4), (2, 4)], goal="east")
        people = crowd(group, room=PLAN, stops={"a": stop}, seed=3, behaviour=Inhibition)
        return jo.solve(people, jo.Venel(), t=t, h=0.1, **more)

    expected = go(7.0).q[-1]
    go(3.5, output=jo.io.Output(checkpoint=tmp_path / "c"))
    resumed = go(7.0, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True))
    np.testing.assert_array_equal(resumed.q[-1], expected)


def test_people_take_the_nearest_exit_that_they_know():
    places = [[2.0, 1.0], [2.0, 4.0]]
    groups = [
        Group("guests", places=places[:1], radius=0.2, knows=["east"]),
        Group("staff", places=places[1:], radius=0.2, knows=["east", "west"]),
    ]
    wish = crowd(groups, room=PLAN).wish
    assert isinstance(wish, KnownExits)
    assert wish.chosen(np.array(places)).tolist() == [1, 0]
    jammed = jo.crowds.AvoidJams(wish)
    assert jammed.chosen(np.array(places)).tolist() == [1, 0]


def test_nobody_leaves_by_an_exit_that_they_do_not_know():
    """A person who fits through an unknown exit alone is refused, and not sent there."""
    exits = {"narrow": ((0, 1), (0, 1.3)), "wide": ((9, 1), (9, 2.5))}
    plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 4), (0, 4)], exits=exits)
    group = Group("guests", places=[[2.0, 2.0], [4.0, 3.0]], radius=0.2, knows=["narrow"])
    with pytest.raises(jo.InvalidValue, match=r"person 0 .* cannot reach their exit, nor can 1 others"):
        crowd(group, room=plan)
    knows_both = Group("staff", places=[[2.0, 2.0]], radius=0.2, knows=["narrow", "wide"])
    assert crowd(knows_both, room=plan).wish.chosen(np.array([[2.0, 2.0]])).tolist() == [1]


def test_a_known_exit_has_its_length_and_an_unknown_one_none():
    places = np.array([[2.0, 1.0], [2.0, 4.0]])
    groups = [
        Group("guests", places=places[:1], radius=0.2, knows=["east"]),
        Group("guides", places=places[1:], radius=0.2, goal="west"),
    ]
    wish = crowd(groups, room=PLAN).wish
    west, east = np.zeros(2, dtype=int), np.ones(2, dtype=int)
    assert np.isfinite(wish.distance(places, west)).tolist() == [False, True]
    np.testing.assert_array_equal(wish.distance(places, east), wish.wish.distance(places, east))
    assert wish.chosen(places).tolist() == [1, 0]
    nothing_but_east = KnownExits(
        wish.wish, [[False, True], [False, True]]
    )  # a goal of their own is known all the same
    np.testing.assert_array_equal(nothing_but_east.distance(places, west), wish.distance(places, west))


def test_a_family_stays_together_and_others_do_not():
    q = [[2.0, 2.0], [2.0, 3.0], [3.0, 2.5]]
    together, alone = (
        crowd(Group("f", places=q, radius=0.2, speed=[1.5, 0.6, 1.5], goal="east", family=n), room=PLAN, outlet=9.0)
        for n in (3, 1)
    )
    assert isinstance(together.wish, Together)
    spread = [np.ptp(jo.solve(p, jo.Venel(), t=8.0, h=H).q[-1][:, 0]) for p in (together, alone)]
    assert spread[0] < 1.8
    assert spread[1] > 6.0


def test_people_of_different_groups_are_in_different_families():
    groups = [Group(name, places=[[x, 1.0], [x, 2.0]], radius=0.2, family=2) for name, x in (("a", 2.0), ("b", 5.0))]
    wish = crowd(groups, room=PLAN).wish
    assert isinstance(wish, Together)
    assert wish.family.tolist() == [0, 0, 1, 1]


def test_people_who_are_alone_are_no_family():
    q = np.array([[2.0, 2.0], [4.0, 2.0], [6.0, 2.0], [8.0, 2.0]])
    walk = jo.crowds.walk(PLAN, radius=0.2, speed=[1.0, 0.5, 1.0, 1.5])
    np.testing.assert_array_equal(Together(walk, [-1, -1, 0, -1], apart=0.1)(0.0, q), walk(0.0, q))


def test_who_is_far_ahead_of_the_family_slows_down_but_never_stops():
    wish = Together(jo.crowds.walk(PLAN, radius=0.2, speed=1.0, goal="east"), [0, 0], apart=1.0)
    for ahead, part in ((0.5, 1.0), (1.5, 0.5), (4.0, SLOWEST)):
        u = wish(0.0, np.array([[2.0 + ahead, 2.5], [2.0, 2.5]]))
        np.testing.assert_allclose(u[:, 0], [part, 1.0], atol=1e-6)


WALL = Plan([[(0, 0), (6, 0), (6, 5), (0, 5)], [(6, 0), (12, 0), (12, 5), (6, 5)]], exits=EXITS)


@pytest.mark.parametrize(
    ("plan", "said", "stops", "message"),
    [
        (WALL, {"route": ["far"], "goal": "west"}, {"far": Stop((9, 2))}, r"cannot walk from the start to 'far'"),
        (PLAN, {"route": ["fra"]}, {"far": Stop((9, 2))}, r"route of group 'g' names 'fra'; the stops .* are 'far'"),
        (PLAN, {"route": ["far"]}, {}, r"are none: give crowd\(\.\.\., stops="),
        (PLAN, {"knows": ["north"]}, {}, "knows of group 'g' names 'north'; the exits and stairs are 'west', 'east'"),
        (PLAN, {"knows": ["west"], "goal": "east"}, {}, "goal 'east', which it does not know"),
        (PLAN, {"route": ["far"]}, {"far": Stop((19, 2))}, "stop 'far' must be a point or a segment inside the plan"),
        (WALL, {"route": ["q"]}, {"q": Queue([(4, 2), (8, 2)], service=1.0)}, "line of queue 'q', .* passes a wall"),
        (PLAN, {"route": ["q"]}, {"q": Queue([(4, 2), (4.3, 2)], service=1.0)}, "queue 'q' is 0.3 m long, too short"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(plan, said, stops, message):
    with pytest.raises(jo.InvalidValue, match=message):
        crowd(Group("g", places=[[2.0, 2.0]], radius=0.2, **said), room=plan, stops=stops)


FILE = """
[problem]
kind = "crowd"
rooms = [{{ corners = [[0, 0], [12, 0], [12, 5], [0, 5]] }}]
exits = [{{ name = "west", ends = [[0, 2], [0, 3]] }}, {{ name = "east", ends = [[12, 2], [12, 3]] }}]
stops = [
    {{ name = "desk", kind = "stop", place = [5, 2.5], dwell = 15.0 }},
    {{ name = "hall", kind = "area", corners = [[5, 1], [9, 1], [9, 4], [5, 4]], until = 30.0 }},
    {{ name = "till", kind = "queue", line = [[10, 2.5], [8, 2.5]], service = 2.0 }},
]
[[problem.groups]]
places = [[2.0, 2.0], [2.0, 3.0]]
{said}
[run]
t = 80.0
h = 0.07
"""


def test_a_file_says_routes_known_exits_and_families():
    """They stand at the desk for 15 s, longer than a crowd may stand before it counts as blocked."""
    run = parse(FILE.format(said='route = ["desk", "hall", "till"]\nknows = ["east"]\nfamily = 2'), "f.toml").build()
    sol = jo.solve(**run._asdict())
    assert sol.status == "stopped"
    assert 33.0 < sol.t[-1] < 60.0
    assert set(jo.crowds.crossings(sol, EXITS["east"]).person) == {0, 1}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ('route = ["dsk"]', 'problem.groups.0.route.0 = "dsk": must be one of "desk", "hall", "till"'),
        ('knows = ["north"]', 'problem.groups.0.knows.0 = "north": must be one of "west", "east"'),
        ("reaction = 90.0", "must be before the end of the run, t = 80"),
    ],
)
def test_mistakes_of_groups_in_a_file_are_named(said, message):
    with pytest.raises(ScenarioError) as error:
        parse(FILE.format(said=said), "f.toml")
    assert message in str(error.value)


def test_mistakes_of_stops_in_a_file_are_named():
    text = FILE.format(said="")
    for old, new, message in [
        (
            "until = 30.0",
            "until = 90.0",
            "stops.1.until = 90.0: must be before the end of the run, t = 80: nobody would",
        ),
        ('"till"', '"desk"', "must not be the name of another exit, stairs or stop"),
        ("dwell = 15.0", "dwell = [15.0]", "must be a number that is 0 or more; or a distribution such as"),
        ("place = [5, 2.5]", "place = [25, 2.5]", "stop 'desk' must be a point or a segment inside the plan"),
    ]:
        with pytest.raises(ScenarioError) as error:
            parse(text.replace(old, new), "f.toml").build()
        assert message in str(error.value)


def test_paths_that_are_kept_belong_to_their_own_stops_and_closed_doors():
    """Whatever was asked for before, and whatever the names of the stops are."""
    walls, door = [((6, 0), (6, 2)), ((6, 3), (6, 5))], [[6.0, 2.0], [6.0, 3.0]]
    asked = [{"closed": [door]}, {"stops": {"": door}}, {}, {"stops": {"desk": door}}]
    shared = Plan(BOX, exits=EXITS, walls=walls)
    for said in asked:
        kept, fresh = (
            jo.crowds.shortest_paths(plan, 0.4, spacing=0.2, **said)
            for plan in (shared, Plan(BOX, exits=EXITS, walls=walls))
        )
        assert [goal.name for goal in kept.goals] == [goal.name for goal in fresh.goals]
        np.testing.assert_array_equal(kept.distance, fresh.distance)
        assert jo.crowds.shortest_paths(shared, 0.4, spacing=0.2, **said) is kept
