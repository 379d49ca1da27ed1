"""What people wish: shortest ways against a visibility graph, strategies, journeys."""

from functools import partial

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import AvoidJams, Following, FreeWish, Inhibition, Journey, Plan, walk
from plain import crowd
from rows import whole

shapely = pytest.importorskip("shapely")

R = 0.25
BOX = [(0, 0), (20, 0), (20, 12), (0, 12)]


# --- the oracle: exact shortest ways by a visibility graph around rounded walls ---

ROUND = 8
"""Pieces of a quarter of a circle: chords are 0.2 % of an arc too short."""


def free_area(plan, radius):
    """Where the centre of a disc may be."""
    return plan.area.difference(
        shapely.union_all(shapely.buffer(shapely.linestrings(plan.walls), radius, quad_segs=ROUND))
    )


def turning_points(area):
    """The corners at which a shortest way can turn: where the area is not convex."""
    found = [np.zeros((0, 2))]
    for part in shapely.get_parts(shapely.orient_polygons(area)):
        for ring in (part.exterior, *part.interiors):
            x = np.array(ring.coords)[:-1]
            a, b = x - np.roll(x, 1, axis=0), np.roll(x, -1, axis=0) - x
            found.append(x[a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0] < -1e-12])
    return np.concatenate(found)


def sees(area, x, y):
    return shapely.covers(area, shapely.linestrings(np.stack([x, y], axis=1)))


def geodesics(plan, radius, q):
    """(n,) the lengths of the shortest ways from q to where a disc can cross an exit."""
    exact = free_area(plan, radius)
    area = exact.buffer(1e-6 * radius)
    shapely.prepare(area)
    x = np.concatenate([q, turning_points(exact)])
    length = np.full(len(x), np.inf)
    for ends in plan.exits.values():
        middle, half = ends.mean(axis=0), (ends[1] - ends[0]) / 2.0
        half = half * (1.0 - radius / np.linalg.norm(half))
        part = np.clip((x - middle) @ half / (half @ half), -1.0, 1.0)
        for target in (
            middle + part[:, None] * half,
            np.tile(middle + half, (len(x), 1)),
            np.tile(middle - half, (len(x), 1)),
        ):
            direct = sees(area, x, target + 1e-8 * (x - target))
            length = np.where(direct, np.minimum(length, np.linalg.norm(x - target, axis=1)), length)
    n, corners = len(q), x[len(q) :]
    i, j = (k.ravel() for k in np.meshgrid(np.arange(len(x)), np.arange(len(corners)), indexing="ij"))
    apart = np.where(sees(area, x[i], corners[j]), np.linalg.norm(x[i] - corners[j], axis=1), np.inf).reshape(
        len(x), -1
    )
    while len(corners):
        shorter = np.minimum(length, (apart + length[n:]).min(axis=1))
        if (shorter == length).all():
            break
        length = shorter
    return length[:n]


# --- shortest ways ---


def plans():
    slope = np.array([(14.0, 4.0), (8.0, 10.0)])
    return {
        "blocks": Plan(
            shapely.Polygon(BOX, [[(5, 3), (8, 3), (8, 9), (5, 9)], [(12, 0.8), (13, 0.8), (13, 10.5), (12, 10.5)]]),
            exits={"east": ((20, 5), (20, 6.2)), "south": ((2, 0), (3, 0))},
        ),
        "corner": Plan([(0, 0), (6, 0), (6, 2), (2, 2), (2, 5), (0, 5)], exits={"north": ((0.4, 5), (1.6, 5))}),
        "oblique": Plan(
            shapely.Polygon(
                [(0, 0), (9, -3), (14, 4), (8, 10), (1, 8)],
                [[(4, 2), (6, 1.2), (6.4, 4.5), (5, 6)], [(8, 5), (10, 4), (9, 7)]],
            ),
            exits={"slope": slope[0] + np.array([[0.3], [0.45]]) * (slope[1] - slope[0])},
        ),
        "narrow doors": Plan(
            [[(0, 0), (5, 0), (5, 5), (0, 5)], [(5, 0), (10, 0), (10, 5), (5, 5)], [(0, 5), (10, 5), (10, 8), (0, 8)]],
            doors=[((5, 2.3), (5, 2.9)), ((7, 5), (7.501, 5))],
            exits={"west": ((0, 6), (0, 6.52))},
        ),
        "spiral": Plan(
            [(0, 0), (9, 0), (9, 9), (0, 9), (0, 2), (7, 2), (7, 7), (2, 7), (2, 4), (5, 4), (5, 5), (3, 5), (3, 6),
             (6, 6), (6, 3), (1, 3), (1, 8), (8, 8), (8, 1), (0, 1)],
            exits={"end": ((0, 0.1), (0, 0.9))},
        ),
    }  # fmt: skip


PLANS = plans()


def some_places(plan, n, seed=1):
    low, high = np.array(plan.area.bounds).reshape(2, 2)
    q = np.random.default_rng(seed).uniform(low, high, (100 * n, 2))
    return q[shapely.contains_xy(free_area(plan, R), q)][:n]


@pytest.mark.parametrize("name", [name if name in ("oblique", "blocks") else whole(name) for name in PLANS])
def test_a_hundred_people_alone_walk_the_shortest_way(name):
    """Their time is that of the exact geodesic, up to 2 % and half a radius; the walls never stop them."""
    plan, h = PLANS[name], 0.05
    q = some_places(plan, 100)
    exact = geodesics(plan, R, q)
    assert np.isfinite(exact).all()
    wish = walk(plan, radius=R, speed=1.0)
    np.testing.assert_allclose(wish.length(q), exact, rtol=0.02, atol=0.5 * R)
    left, slowest = np.full(len(q), np.inf), np.ones(len(q))

    def watch(progress):
        speed = np.linalg.norm(progress.state.u, axis=1)
        inside = np.isinf(left)
        slowest[inside] = np.minimum(slowest, speed)[inside]
        left[inside & ~plan.inside(progress.state.q)] = progress.t

    alone = jo.Sweeping(q0=q, velocity=wish, within=jo.Segments(plan.walls, radii=R))
    jo.solve(alone, jo.Venel(), t=1.1 * exact.max() + 1.0, h=h, every=1000, until=plan.empty, progress=watch)
    assert np.isfinite(left).all()
    assert (left <= 1.02 * exact + 0.5 * R + h).all()
    assert (left >= 0.995 * exact - 1e-9).all()
    assert np.median((left - 0.5 * h) / exact) < 1.01
    assert slowest.min() > 0.3


def test_in_a_convex_area_people_walk_straight():
    plan = Plan([(0, 0), (6, 0), (6, 5), (0, 5)], exits={"east": ((6, 2), (6, 3))})
    q = np.array([[1.0, 2.5], [3.0, 2.3], [1.0, 0.6]])
    u = walk(plan, radius=R, speed=1.4)(0.0, q)
    np.testing.assert_allclose(u[:2], [[1.4, 0.0], [1.4, 0.0]], atol=1e-12)
    assert np.linalg.norm(u, axis=1) == pytest.approx(1.4, rel=1e-14)


@pytest.mark.parametrize("name", PLANS)
def test_nobody_wishes_through_a_wall_or_faster_than_they_can(name):
    plan = PLANS[name]
    speeds = np.random.default_rng(2).uniform(0.5, 1.5, 400)
    q = some_places(plan, 400)
    u = walk(plan, radius=R, speed=speeds)(0.0, q)
    np.testing.assert_allclose(np.linalg.norm(u, axis=1), speeds, rtol=1e-13)
    contacts = jo.Segments(plan.walls, radii=R).linearise(0.0, q, 0.02 * R)
    into_the_wall = (contacts.G @ (u / speeds[:, None]).ravel())[contacts.gap < 0.02 * R]
    assert into_the_wall.min(initial=0.0) > -0.5


def test_ways_are_as_symmetric_as_the_plan():
    """Four exits and four columns, images of each other: so are distances and directions, to round-off."""
    places = np.array([[1, 1], [5, 1], [1, 5], [5, 5]])
    square = np.array([[-0.4, -0.4], [0.4, -0.4], [0.4, 0.4], [-0.4, 0.4]])
    exits = {"east": ((6, 2.5), (6, 3.5)), "west": ((0, 2.5), (0, 3.5))}
    exits |= {"north": ((2.5, 6), (3.5, 6)), "south": ((2.5, 0), (3.5, 0))}
    plan = Plan(shapely.Polygon([(0, 0), (6, 0), (6, 6), (0, 6)], [p + square for p in places]), exits=exits)
    for spacing in (0.0625, 0.07):
        ways = jo.crowds.shortest_paths(plan, R, spacing=spacing)
        east, west, north, south = ways.distance.reshape(4, *ways.grid.shape)
        known = np.isfinite(east)
        to_east, to_west = (np.asarray(one, dtype=float) @ [1.0, 1.0j] for one in ways.direction[:2])
        for image in (east[:, ::-1], west[::-1], north.T, south[:, ::-1].T):
            np.testing.assert_allclose(image, east, atol=1e-13)
        np.testing.assert_allclose(-np.conj(to_west[::-1])[known], to_east[known], atol=1e-12)
        np.testing.assert_allclose(np.conj(to_east[:, ::-1])[known], to_east[known], atol=1e-12)


@pytest.mark.parametrize("width", [0.4, 0.47, 0.49, 0.498, 0.5])
def test_people_do_not_walk_into_a_door_that_is_too_narrow_for_them(width):
    """Up to exactly their own width: they take the other door, though they see the exit through this one."""
    rooms = [[(0, 0), (5, 0), (5, 12), (0, 12)], [(5, 0), (10, 0), (10, 12), (5, 12)]]
    doors = [((5, 2.5 - width / 2), (5, 2.5 + width / 2)), ((5, 10), (5, 11))]
    wish = walk(Plan(rooms, doors=doors, exits={"east": ((10, 2), (10, 3))}), radius=R, speed=1.0)
    q = np.array([[4.5, 2.5], [2.0, 2.5]])
    assert (wish.length(q) > 16.0).all()
    assert (wish(0.0, q)[:, 1] > 0.9).all()


def test_people_walk_through_a_door_that_is_a_little_wider_than_they_are():
    rooms = [[(0, 0), (5, 0), (5, 12), (0, 12)], [(5, 0), (10, 0), (10, 12), (5, 12)]]
    doors = [((5, 2.5 - 0.2501), (5, 2.5 + 0.2501)), ((5, 10), (5, 11))]
    wish = walk(Plan(rooms, doors=doors, exits={"east": ((10, 2), (10, 3))}), radius=R, speed=1.0)
    np.testing.assert_allclose(wish(0.0, np.array([[2.0, 2.5]])), [[1.0, 0.0]], atol=1e-3)


def test_people_do_not_squeeze_between_two_columns():
    """Round columns 0.49 apart hide the exit behind them from people 0.5 wide."""
    columns = [(5.0, 2.5 - 0.745, 0.5), (5.0, 2.5 + 0.745, 0.5)]
    plan = Plan([(0, 0), (10, 0), (10, 5), (0, 5)], exits={"east": ((10, 2), (10, 3))}, columns=columns)
    wish = walk(plan, radius=R, speed=1.0)
    assert wish.length(np.array([[3.0, 2.5]]))[0] > 7.2
    assert wish(0.0, np.array([[4.3, 2.8]]))[0, 1] > 0.5


def test_wishes_do_not_depend_on_the_units():
    plan = PLANS["corner"]
    q = some_places(plan, 50)
    small = Plan(np.array(plan.area.exterior.coords)[:-1] / 1000, exits={"north": plan.exits["north"] / 1000})
    u, v = walk(plan, radius=R)(0.0, q), walk(small, radius=R / 1000)(0.0, q / 1000)
    np.testing.assert_allclose(u, v, atol=1e-6)


def test_people_beyond_an_exit_walk_on_outward():
    wish = walk(PLANS["blocks"], radius=R, speed=1.4)
    q = np.array([[20.1, 5.6], [21.0, 4.0], [500.0, 5.0], [2.5, -0.1], [2.5, -300.0]])
    np.testing.assert_allclose(wish(0.0, q), 1.4 * np.array([[1, 0], [1, 0], [1, 0], [0, -1], [0, -1]]), atol=1e-12)


def test_goals_radii_and_speeds_are_each_persons_own():
    plan = PLANS["blocks"]
    q = np.array([[10.0, 6.0]] * 3)
    wish = walk(plan, radius=[0.2, 0.3, 0.2], speed=[1.0, 1.2, 1.4], goal=["east", "south", None])
    u = wish(0.0, q)
    np.testing.assert_allclose(np.linalg.norm(u, axis=1), [1.0, 1.2, 1.4], rtol=1e-13)
    assert wish.chosen(q).tolist()[:2] == [0, 1]
    assert len(wish.ways) == 2
    with pytest.raises(jo.InvalidValue, match="no exit 'west'; the exits are 'east', 'south'"):
        walk(plan, radius=0.2, goal="west")


def test_people_do_not_pass_what_is_closed_to_them():
    plan = PLANS["blocks"]
    q = np.array([[10.0, 1.5]])
    known, not_known = (
        walk(plan, radius=R, goal="east"),
        walk(plan, radius=R, goal="east", closed=[((12, 10.5), (12, 12))]),
    )
    assert (
        not_known.length(np.array([[10.0, 11.0]]))[0] == np.inf or not_known.length(q)[0] >= known.length(q)[0] - 1e-9
    )
    below = walk(plan, radius=R, goal="south", closed=[((0, 9), (5, 9))])
    assert (
        below.length(np.array([[2.0, 10.0]]))[0]
        > walk(plan, radius=R, goal="south").length(np.array([[2.0, 10.0]]))[0] + 1.0
    )


# --- strategies ---


def eastward(speeds):
    """All walk to the east, and who is further east is nearer."""
    return FreeWish(lambda t, q: speeds[:, None] * np.array([1.0, 0.0]), nearer=lambda q: -q[:, 0])


def queue(n, gap, r=R):
    q = np.zeros((n, 2))
    q[:, 0] = -(2 * r + gap) * np.arange(n)
    return q


def test_a_queue_keeps_its_distance_s_equal_to_v_times_T():
    """Behind a leader at speed v everyone comes to walk at v, s = v T behind the next."""
    n, T, v = 8, 0.8, 0.5
    speeds = np.array([v] + [1.4] * (n - 1))
    wish = Inhibition(eastward(speeds), np.full(n, R), T=T)
    sol = jo.solve(
        jo.Sweeping(q0=queue(n, 0.05), velocity=wish, within=jo.Balls(np.full(n, R))), jo.Venel(), t=40.0, h=0.05
    )
    gaps = -np.diff(sol.q[-1][:, 0]) - 2 * R
    np.testing.assert_allclose(gaps, v * T, atol=1e-3)
    np.testing.assert_allclose(sol.u[-1][:, 0], v, atol=1e-3)
    assert all(len(p) == 0 or p.max() == 0.0 for p in sol.multipliers)


def test_inhibition_looks_at_the_strip_ahead_only():
    q = np.array([[0.0, 0.0], [1.0, 0.4], [1.0, -0.6], [-0.6, 0.0]])
    u = Inhibition(eastward(np.full(4, 1.4)), np.full(4, R), T=1.0)(0.0, q)
    assert u[0].tolist() == pytest.approx([np.hypot(1.0, 0.4) - 0.5, 0.0])
    assert u[1:3].tolist() == [[1.4, 0.0]] * 2
    assert u[3, 0] == pytest.approx(0.1)
    u = Inhibition(eastward(np.full(2, 1.4)), [R, R], T=1.0)(0.0, queue(2, 1.39))
    assert u[:, 0] == pytest.approx([1.4, 1.39])  # as soon as the free distance is below v0 T


@pytest.mark.parametrize("T", [0.1, 1.0, 5.0])
def test_strategies_never_make_people_faster_nor_turn_them(T):
    plan = PLANS["blocks"]
    people = crowd(300, radius=R, room=plan, speed=np.linspace(0.5, 1.5, 300))
    plain = people.velocity(0.0, people.q0)
    way = jo.crowds.walk(plan, radius=R, speed=np.linspace(0.5, 1.5, 300))
    for wish in (Inhibition(way, np.full(300, R), T=T), Following(way, np.full(300, R), sight=T)):
        u = wish(0.0, people.q0)
        speed, before = np.linalg.norm(u, axis=1), np.linalg.norm(plain, axis=1)
        assert (speed <= before * (1 + 1e-12)).all()
        np.testing.assert_allclose(u * before[:, None], plain * speed[:, None], atol=1e-12)
    assert (speed < before).any()


def test_people_slow_down_behind_a_slower_one_and_then_walk_as_slowly():
    speeds = np.array([0.4, 1.4])
    wish = Following(eastward(speeds), [R, R], sight=2.0)
    sol = jo.solve(jo.Sweeping(q0=queue(2, 3.0), velocity=wish, within=jo.Balls([R, R])), jo.Venel(), t=30.0, h=0.1)
    assert sol.u[-1][1, 0] == pytest.approx(0.4, abs=1e-3)
    assert sol.u[0:20][:, 1, 0].max() == pytest.approx(1.4)


def test_people_leave_a_jam_for_another_exit_and_are_out_sooner():
    plan = Plan([(0, 0), (12, 0), (12, 4), (0, 4)], exits={"near": ((0, 1.4), (0, 2.6)), "far": ((12, 1.4), (12, 2.6))})
    start = [(0.1, 0.1), (5, 0.1), (5, 3.9), (0.1, 3.9)]
    common = {"radius": 0.2, "room": plan, "start": start, "behaviour": partial(Inhibition, T=0.5)}
    wish = AvoidJams(walk(plan, radius=0.2, speed=1.4))
    last = []
    for given in ({"speed": 1.4}, {"wish": wish}):
        people = crowd(50, **common, **given)
        sol = jo.solve(people, jo.Venel(), t=120.0, h=0.1, until=plan.empty)
        assert sol.status == "stopped"
        last.append(sol.t[-1])
    assert wish.chosen(people.q0).max() == 1
    assert last[1] < last[0]


# --- journeys ---


def test_people_pass_the_places_of_their_journey_in_order():
    plan = PLANS["blocks"]
    stops = {"desk": (10, 11), "gate": ((9, 1), (11, 1))}
    q0 = np.array([[2.0, 6.0], [2.0, 8.0]])
    journey = Journey(
        walk(plan, radius=R, speed=1.4, stops=stops), [["desk", "gate", "east"], ["gate", None]], people=2, reach=0.5
    )
    people = crowd(2, radius=R, room=plan, q0=q0, wish=journey)
    sol = jo.solve(people, jo.Venel(), t=60.0, h=0.1, until=plan.empty)
    assert sol.status == "stopped"
    at_desk = np.argmin(np.linalg.norm(sol.q[:, 0] - [10, 11], axis=1))
    at_gate = np.argmin(np.abs(sol.q[at_desk:, 0] - [10, 1]).max(axis=1)) + at_desk
    assert np.linalg.norm(sol.q[at_desk, 0] - [10, 11]) <= 0.6
    assert sol.q[at_gate, 0, 1] <= 1.6
    assert sol.q[-1, 0, 0] > 20.0 or sol.q[-1, 0, 1] < 0.0
    assert journey.stage.tolist() == [2, 1]
    with pytest.raises(jo.InvalidValue, match=r"stop 'wall'.*inside the plan"):
        walk(plan, radius=R, stops={"wall": (6, 6)})
    with pytest.raises(jo.InvalidValue, match="1 routes, but 2 people"):
        Journey(journey.wish, [["desk"]], people=2, reach=0.5)
