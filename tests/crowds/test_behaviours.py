"""Behaviours around wishes: nothing that the inner wish says is lost, and a plain function is refused."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import (
    AvoidJams,
    Following,
    FreeWish,
    Inhibition,
    Journey,
    KnownExits,
    Plan,
    Reaction,
    Room,
    Together,
    Wish,
    walk,
)
from jostle.crowds.model.behaviours import ahead
from jostle.crowds.model.wish import Behaviour
from jostle.problems import Remembers
from plain import crowd

pytest.importorskip("shapely")

R, N = 0.25, 12
BOX = [(0, 0), (9, 0), (9, 4), (0, 4)]
EXITS = {"west": ((0, 1.4), (0, 2.6)), "east": ((9, 1.4), (9, 2.6))}
Q = np.array([[x, y] for x in (1.0, 3.0, 5.5, 7.5) for y in (0.6, 2.0, 3.4)])
PLAN = Plan(BOX, exits=EXITS)
ROOM = Room(BOX, doors=[EXITS["west"], EXITS["east"]])

WISHES = {
    "walk": lambda: walk(PLAN, radius=R, speed=1.3, stops={"desk": (4, 2)}),
    "straight": lambda: jo.crowds.walk(ROOM, radius=R, speed=1.3),
    "free": lambda: FreeWish(lambda t, q: [1.3, 0.0], nearer=lambda q: 9.0 - q[:, 0]),
}
BEHAVIOURS = {
    "inhibition": lambda wish: Inhibition(wish, np.full(N, R), T=0.8),
    "following": lambda wish: Following(wish, np.full(N, R), sight=1.5),
    "AvoidJams": AvoidJams,
    "Reaction": lambda wish: Reaction(wish, 0.5),
    "KnownExits": lambda wish: KnownExits(wish, np.ones((N, 2), dtype=bool)),
    "Together": lambda wish: Together(wish, np.full(N, -1)),
    "Journey": lambda wish: Journey(wish, [None], people=N, reach=0.5),
}


def around(names, wish):
    for name in names:
        wish = BEHAVIOURS[name](wish)
    return wish


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_a_behaviour_refuses_a_function_that_does_not_say_who_is_nearer(name):
    inner = WISHES["walk"]()
    with pytest.raises(jo.InvalidValue, match=r"needs a wish that knows who is nearer.*FreeWish\(function, nearer"):
        BEHAVIOURS[name](lambda t, q: inner(t, q))


def test_the_velocity_of_a_problem_is_no_wish_and_is_refused():
    people = crowd(N, radius=R, room=PLAN, q0=Q)
    with pytest.raises(jo.InvalidValue, match="needs a wish that knows who is nearer"):
        Inhibition(people.velocity, R)
    with pytest.raises(jo.InvalidValue, match="needs a wish that knows who is nearer"):
        crowd(N, radius=R, room=PLAN, q0=Q, wish=lambda t, q: 0.0 * q, behaviour=Inhibition)


@pytest.mark.each_value
@pytest.mark.parametrize("base", ["walk", "straight"])
@pytest.mark.parametrize(
    ("inner", "outer"), [(a, b) for a in (None, *BEHAVIOURS) for b in BEHAVIOURS if (a, b) != ("Journey", "Journey")]
)
def test_every_behaviour_around_every_wish_keeps_ranks_goals_and_reach(base, inner, outer):
    """The rank is the way to the goal that is walked to, whoever chose it."""
    wish = WISHES[base]()
    made = around([name for name in (inner, outer) if name], wish)
    assert isinstance(made, Wish)
    goal = made.chosen(Q)
    rank, to = made.order(Q)
    np.testing.assert_array_equal(to, goal)
    np.testing.assert_array_equal(rank, wish.distance(Q, goal))
    np.testing.assert_array_equal(made.length(Q), wish.distance(Q, goal))
    np.testing.assert_array_equal(made.lengths(Q), wish.lengths(Q))
    assert [one.name for one in made.goals] == [one.name for one in wish.goals]
    assert made.eligible == wish.eligible == 2
    np.testing.assert_array_equal(made.speeds(N), np.full(N, 1.3))
    u = made(0.0, Q)
    assert u.shape == (N, 2)
    assert (np.linalg.norm(u, axis=1) <= 1.3 * (1 + 1e-12)).all()
    outside = np.array([[-1.0, 2.0]] * N)
    assert (made.order(outside)[0] == -np.inf).all()  # who has left is before everyone
    assert (made.length(outside) == np.inf).all()


class Spy(Wish):
    """A wish whose answers are its own."""

    goals, eligible, memory_type, closed = ("goals",), 2, tuple, "closed"
    memory = property(lambda self: "memory")

    def __init__(self):
        self.asked = []

    def _answer(self, name, *given):
        self.asked.append((name, *given))
        return name, *given

    def own(self, n):
        return self._answer("own", n)

    def speeds(self, n):
        return self._answer("speeds", n)

    def widest(self, n):
        return self._answer("widest", n)

    def chosen(self, q):
        return self._answer("chosen", q)

    def towards(self, t, q, goal):
        return self._answer("towards", t, q, goal)

    def distance(self, q, goal):
        return self._answer("distance", q, goal)

    def lengths(self, q):
        return self._answer("lengths", q)

    def order(self, q, goal=None):
        return self._answer("order", q, goal)

    def waits(self, t, n):
        return self._answer("waits", t, n)

    def cut_off(self, q, goal):
        return self._answer("cut_off", q, goal)

    def remember(self, t, q):
        return self._answer("remember", t, q)

    def restore(self, memory):
        return self._answer("restore", memory)


ASKED = {
    "own": (3,), "speeds": (3,), "widest": (3,), "chosen": ("q",), "towards": (0.5, "q", "goal"),
    "distance": ("q", "goal"), "lengths": ("q",), "order": ("q", "goal"), "waits": (0.5, 3),
    "cut_off": ("q", "goal"),
    "remember": (0.5, "q"), "restore": ("memory",),
}  # fmt: skip
READ = {"goals", "eligible", "memory_type", "memory", "longest_step", "closed"}
CHANGED = {
    "Inhibition": {"towards"},
    "Following": {"towards"},
    "AvoidJams": {"chosen"},
    "Reaction": {"towards", "waits"},
    "Journey": {"own", "chosen", "towards", "waits", "remember", "memory_type", "memory", "restore"},
    "GatedWalk": {"chosen", "towards", "distance", "lengths", "order", "cut_off", "closed"},
    "KnownExits": {"chosen", "distance", "lengths"},
    "StairPaces": {"towards"},
    "TakingTurns": {"towards", "waits", "memory_type", "memory", "restore"},
    "Together": {"chosen", "towards"},
    "Quickest": {"towards", "memory_type", "memory", "restore"},
    "Repulsion": {"towards"},
    "Sized": set(),
    "TimeGap": {"towards", "longest_step"},
}
"""What each behaviour says itself."""


def kinds(kind):
    """All classes of jostle that derive from one, without those that are not complete."""
    below = [inner for one in kind.__subclasses__() for inner in (one, *kinds(one))]
    return [one for one in below if one.__module__.startswith("jostle") and not one.__abstractmethods__]


def test_what_a_wish_says_is_known_here():
    said = {name for kind in (Wish, Remembers) for name in vars(kind) if not name.startswith("_")}
    assert said == {*ASKED, *READ, "length"}  # the length follows from distance and chosen
    assert {kind.__name__ for kind in kinds(Behaviour)} == set(CHANGED)


@pytest.mark.parametrize("kind", kinds(Behaviour), ids=lambda kind: kind.__name__)
def test_a_behaviour_passes_on_all_that_it_does_not_change(kind):
    made, spy = object.__new__(kind), Spy()
    object.__setattr__(made, "wish", spy)
    own = {name for one in kind.__mro__ if issubclass(one, Behaviour) and one is not Behaviour for name in vars(one)}
    own |= {"memory_type", "memory", "restore"} if "notes" in own else set()
    assert {name for name in own if name in {*ASKED, *READ}} == CHANGED[kind.__name__]
    for name in READ - CHANGED[kind.__name__]:
        assert getattr(made, name) is getattr(spy, name)
    for name, given in ASKED.items():
        if name not in CHANGED[kind.__name__]:
            found = getattr(made, name)(*given)
            assert spy.asked[-1] == (name, *given)
            assert found == ((name, *given) if name not in ("remember", "restore") else None)


@pytest.mark.parametrize("names", [("inhibition",), ("following",), ("following", "inhibition")])
def test_the_order_of_a_free_wish_is_the_one_that_was_given(names):
    made = around(names, WISHES["free"]())
    rank, goal = made.order(Q)
    np.testing.assert_array_equal(rank, 9.0 - Q[:, 0])
    assert len(set(goal.tolist())) == 1


def test_inhibition_counts_the_nearer_ones_alone():
    """Two face each other in the strip ahead: with a rank one of them goes on, without a rank both slow down."""
    q = np.array([[1.0, 0.0], [2.0, 0.0]])
    meet = np.array([[1.0, 0.0], [-1.0, 0.0]])
    ranked = Inhibition(FreeWish(lambda t, q: meet, nearer=lambda q: q[:, 0]), [R, R], T=1.0)(0.0, q)
    alone = Inhibition(FreeWish(lambda t, q: meet, nearer=None), [R, R], T=1.0)(0.0, q)
    np.testing.assert_allclose(ranked, [[1.0, 0.0], [-0.5, 0.0]])
    np.testing.assert_allclose(alone, [[0.5, 0.0], [-0.5, 0.0]])


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_of_two_who_are_each_ahead_of_the_other_the_one_who_looks_straighter_at_them_is_behind(order):
    """Side by side before a door: one sees the other at 50 degrees, and is seen at 70."""
    angle = np.deg2rad(50.0)
    q = np.array([[0.0, 0.0], [0.51 * np.cos(angle), 0.51 * np.sin(angle)]])[order]
    ways = np.array([[1.0, 0.0], [np.cos(np.deg2rad(60.0)), -np.sin(np.deg2rad(60.0))]])[order]
    found = ahead(jo.Balls([R, R]), q, ways, np.full(2, R), 1.0)
    assert found.walker.tolist() == [order.index(0)]
    assert found.other.tolist() == [order.index(1)]


def test_another_seed_gives_other_places_and_the_same_seed_the_same():
    places = [crowd(5, radius=R, room=ROOM, seed=seed).q0 for seed in (0, 1, 1)]
    np.testing.assert_array_equal(places[1], places[2])
    assert np.abs(places[0] - places[1]).max() > 0.1
    np.testing.assert_array_equal(crowd(5, radius=R, room=ROOM).q0, places[0])


def test_those_with_a_goal_on_their_journey_keep_it_and_the_others_avoid_jams():
    """All at the left: at the stage "west" nobody changes; at the stage of the nearest exit some go east."""
    q = np.array([[x, y] for x in (0.5, 1.5, 2.5, 3.5) for y in (0.6, 2.0, 3.4)])
    for made in (
        lambda stage: AvoidJams(Journey(WISHES["walk"](), ["west", None], people=N, reach=0.5, stage=stage)),
        lambda stage: Journey(AvoidJams(WISHES["walk"]()), ["west", None], people=N, reach=0.5, stage=stage),
    ):
        assert made(np.zeros(N)).chosen(q).tolist() == [0] * N
        assert 0 < made(np.ones(N)).chosen(q).sum() < N


class Called(NamedTuple):
    calls: int


class Calls(Behaviour):
    """A behaviour that counts its steps."""

    notes = Called

    def __init__(self, wish):
        super().__init__(wish)
        self.note(None)

    def note(self, noted):
        super().note(noted or Called(0))

    def remember(self, t, q):
        super().remember(t, q)
        self.note(Called(self.noted.calls + 1))


def test_behaviours_with_memories_of_their_own_share_a_checkpoint(tmp_path):
    def people():
        journey = Journey(jo.crowds.walk(PLAN, radius=R, stops={"desk": (5, 2)}), ["desk", "east"], people=1, reach=0.5)
        return crowd(1, radius=R, room=PLAN, q0=[[2.0, 2.0]], wish=Calls(Inhibition(journey, R)))

    jo.solve(people(), jo.Venel(), t=1.0, h=0.05, output=jo.io.Output(checkpoint=tmp_path / "c"))
    resumed = people()
    go_on = jo.io.Output(checkpoint=tmp_path / "c", resume=True)
    after = jo.solve(resumed, jo.Venel(), t=4.0, h=0.05, output=go_on)
    whole = people()
    np.testing.assert_array_equal(after.q[-1], jo.solve(whole, jo.Venel(), t=4.0, h=0.05).q[-1])
    assert resumed.wish.memory._asdict().keys() == {"calls", "stage", "there", "since", "ticket"}
    assert resumed.wish.memory.calls == whole.wish.memory.calls == 80
    assert resumed.wish.memory.stage.tolist() == [1]
    whole.wish.restore(None)
    assert (whole.wish.memory.calls, whole.wish.memory.stage.tolist()) == (0, [0])
    with pytest.raises(jo.InvalidValue, match="cannot wrap a wish whose memory already has calls"):
        Calls(Calls(jo.crowds.walk(PLAN, radius=R)))


def test_an_inhibited_journey_goes_on_through_its_stages():
    journey = Journey(WISHES["walk"](), ["desk", "east"], people=1, reach=0.5)
    made = Following(Inhibition(journey, R), R, sight=1.0)
    np.testing.assert_allclose(made(0.0, np.array([[2.0, 2.0]])), [[1.3, 0.0]], atol=1e-9)
    assert journey.stage.tolist() == [0]
    np.testing.assert_allclose(made(0.0, np.array([[4.4, 2.0]])), [[1.3, 0.0]], atol=1e-9)
    assert journey.stage.tolist() == [1]
    assert made.chosen(np.array([[4.4, 2.0]])).tolist() == [1]


@pytest.mark.parametrize(
    "make", [lambda wish: Following(wish, 0.7, sight=1.0), lambda wish: Inhibition(wish, 0.7), AvoidJams]
)
@pytest.mark.parametrize("plan", [PLAN, ROOM])
def test_an_exit_that_is_too_narrow_is_refused_through_every_behaviour(make, plan):
    wish = make(jo.crowds.walk(plan, radius=0.7))
    with pytest.raises(jo.InvalidValue, match=r"1.4 wide"):
        crowd(1, radius=0.7, room=plan, q0=[[4.0, 2.0]], wish=wish)


@pytest.mark.parametrize("plan", [PLAN, ROOM])
def test_an_exit_that_is_too_narrow_is_refused_where_the_walk_is_of_smaller_people(plan):
    with pytest.raises(jo.InvalidValue, match=r"1.4 wide and does not fit through exit '.*' from .*, 1.2 wide"):
        crowd(1, radius=0.7, room=plan, q0=[[4.0, 2.0]], wish=jo.crowds.walk(plan, radius=0.2))


def test_in_a_room_too_a_door_of_ones_own_must_be_wide_enough():
    room = Room(BOX, doors=[((0, 1), (0, 3)), ((9, 1.8), (9, 2.2))])
    assert crowd(1, radius=R, room=room, q0=[[4.0, 2.0]], goal="door 0").velocity(0.0, np.array([[4.0, 2.0]]))[0, 0] < 0
    with pytest.raises(jo.InvalidValue, match="cannot reach their exit"):
        crowd(1, radius=R, room=room, q0=[[4.0, 2.0]], goal="door 1")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: AvoidJams(WISHES["free"]()), "the wish has none"),
        (lambda: AvoidJams(WISHES["walk"](), flow=0.0), "flow must be a positive number"),
        (lambda: Journey(WISHES["walk"](), ["west"], people=1, reach=0.0), "reach must be a positive number"),
        (lambda: Journey(WISHES["free"](), ["west"], people=1, reach=0.5), "no exit 'west'"),
        (lambda: jo.crowds.walk(ROOM, radius=R, speed=-1.0), "speed not negative"),
        (lambda: jo.crowds.walk(ROOM, radius=0.0), "radius must be positive"),
        (lambda: walk(PLAN, radius=R, speed=-1.0), "speed not negative"),
        (lambda: FreeWish(None, nearer=None), "must be a function"),
        (lambda: FreeWish(lambda t, q: q, nearer=3.0), "nearer of a FreeWish must be a function"),
        (lambda: FreeWish(lambda t, q: q, nearer=lambda q: 1.0).order(Q), r"\(n,\) distances"),
        (lambda: FreeWish(lambda t, q: q, nearer=lambda q: np.full(N, np.nan)).order(Q), "distances, not NaN"),
        (lambda: FreeWish(lambda t, q: [1.0], nearer=None)(0.0, Q), r"\(n, 2\) velocities"),
        (lambda: FreeWish(lambda t, q: q, nearer=None).length(Q), "no exits"),
        (lambda: FreeWish(lambda t, q: q, nearer=None).speeds(N), "no exits"),
        (lambda: FreeWish(lambda t, q: None, nearer=None)(0.0, Q), "the result of the wish at t = 0 must be numbers"),
        (
            lambda: BEHAVIOURS["Journey"](BEHAVIOURS["Journey"](WISHES["walk"]())),
            "all stops of a journey into one route",
        ),
        (
            lambda: BEHAVIOURS["Journey"](around(["Journey", "inhibition"], WISHES["walk"]())),
            "all stops of a journey into one route",
        ),
    ],
)
def test_nonsense_is_refused_with_the_remedy(make, says):
    with pytest.raises(jo.InvalidValue, match=says):
        make()


def test_a_function_in_a_crowd_is_a_free_wish_and_stays_itself():
    def east(t, q):
        return [1.0 + t, 0.0]

    people = crowd(N, radius=R, room=PLAN, q0=Q, wish=east)
    assert isinstance(people.wish, FreeWish)
    assert people.wish.function is east
    assert people.velocity(0.5, Q).tolist() == [[1.5, 0.0]] * N
    with pytest.raises(jo.errors.NotFinite, match=r"velocity is nan at index \(0, 0\), t = 0"):
        crowd(N, radius=R, room=PLAN, q0=Q, wish=lambda t, q: np.nan * q).velocity(0.0, Q)


def eastwards(t, q):
    return [1.3, 0.0]


def to_the_east(q):
    return 9.0 - q[:, 0]


@pytest.mark.each_value
@pytest.mark.parametrize("behaviour", [(), *([name] for name in BEHAVIOURS)], ids=str)
@pytest.mark.parametrize("base", ["walk", "straight", "free"])
def test_a_crowd_with_every_wish_runs_bit_for_bit_after_pickling(base, behaviour):
    wish = FreeWish(eastwards, nearer=to_the_east) if base == "free" else WISHES[base]()
    if base != "free" or behaviour in (["inhibition"], ["following"]):  # the others need goals
        wish = around(behaviour, wish)
    people = crowd(N, radius=R, room=PLAN, q0=Q, wish=wish)
    restored = pickle.loads(pickle.dumps(people))
    runs = [jo.solve(one, jo.Venel(), t=0.3, h=0.05) for one in (people, restored)]
    np.testing.assert_array_equal(runs[1].q, runs[0].q)


@pytest.mark.parametrize("behaviour", [jo.crowds.TimeGap, jo.crowds.Repulsion])
def test_radii_that_no_person_can_have_are_refused(behaviour):
    east = jo.crowds.FreeWish(lambda t, q: [1.0, 0.0], nearer=None)
    with pytest.raises(jo.InvalidValue, match=r"radii must be positive; the smallest is -0\.2"):
        behaviour(east, [0.2, -0.2])
    with pytest.raises(jo.InvalidValue, match=r"radii has shape \(2,\), the list of people has shape \(3,\)"):
        behaviour(east, [0.2, 0.2])(0.0, np.zeros((3, 2)))
