"""Convex plans: the shortest ways in closed form, against the ways on a grid and against the eikonal equation."""

import sys

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import Plan, Room, walk
from jostle.crowds.model.walk import DETOUR, Straight, Walk
from jostle.plans.outlines import HalfPlanes
from plain import crowd

R = 0.25
KITE = [(0, 0), (7, 0), (9, 5), (0, 6)]
DOORS = [((0, 2), (0, 3.2)), ((3, 0), (4, 0))]
ROOM = Room(KITE, doors=DOORS)
BOX = [(0, 0), (9, 0), (9, 4), (0, 4)]


def places(n, margin=1.02 * R):
    """Of the kite, some distance away from its outline."""
    q = np.random.default_rng(0).uniform((0, 0), (9, 6), (20 * n, 2))
    kite = HalfPlanes.of(np.array(KITE, dtype=float))
    return q[kite._replace(offset=kite.offset + margin).inside(q)][:n]


@pytest.mark.parametrize("goal", [None, "door 0", "door 1"])
def test_the_ways_of_a_convex_plan_are_those_that_the_grid_finds(goal):
    pytest.importorskip("shapely")
    exact, grid = walk(ROOM, radius=R, goal=goal), walk(ROOM, radius=R, goal=goal, spacing=0.125 * R)
    assert (type(exact), type(grid)) == (Straight, Walk)
    q = places(200)
    np.testing.assert_allclose(exact.lengths(q), grid.lengths(q), rtol=0.005, atol=0.1 * R)
    clear = np.abs(np.diff(exact.lengths(q), axis=0)[0]) > 0.1
    np.testing.assert_array_equal(exact.chosen(q)[clear], grid.chosen(q)[clear])
    cosine = np.einsum("nd,nd->n", exact(0.0, q), grid(0.0, q))[clear]
    assert np.rad2deg(np.arccos(cosine.clip(-1.0, 1.0))).max() < 10.0
    assert np.median(np.rad2deg(np.arccos(cosine.clip(-1.0, 1.0)))) < 1.0


def test_the_wish_is_minus_the_gradient_of_the_length():
    """|grad d| = 1, and people walk along -grad d; by central differences away from where two exits are equally far."""
    room, step = Room(KITE, doors=DOORS), 1e-6
    wish, q = walk(room, radius=R, speed=1.0), places(300)
    q = q[np.abs(np.diff(wish.lengths(q), axis=0)[0]) > 1e-3]
    slope = np.stack([(wish.length(q + d) - wish.length(q - d)) / (2 * step) for d in step * np.eye(2)], axis=1)
    np.testing.assert_allclose(slope, -wish(0.0, q), atol=1e-6)


def test_beside_a_door_people_walk_along_the_tangent_and_around_the_post():
    """Two metres beside a post and a radius from the wall: along the wall, then a quarter of the circle around it."""
    wish = walk(Room(BOX, doors=[((4, 0), (5, 0))]), radius=R, speed=1.0)
    q = np.array([[2.0, R], [7.0, R], [4.5, 2.0], [4.0 - R / np.sqrt(2), R / np.sqrt(2)]])
    s = np.sqrt(0.5)
    np.testing.assert_allclose(wish(0.0, q), [[1, 0], [-1, 0], [0, -1], [s, s]], atol=1e-12)
    np.testing.assert_allclose(wish.length(q)[:3], [2.0 + R * np.pi / 2, 2.0 + R * np.pi / 2, 2.0], atol=1e-12)


def test_the_detour_around_a_post_is_bounded_for_every_place():
    """`chosen` compares ways whose straight distances differ by less than DETOUR radii, and no others."""
    room = Room(KITE, doors=DOORS)
    wish, q = walk(room, radius=R, speed=1.0), places(2000, margin=R)
    chord = np.sqrt([one.chord(q, wish.radius) for one in wish._exits.each()])
    detour = wish.lengths(q) - chord
    assert detour.min() >= -1e-12
    assert detour.max() <= DETOUR * R
    assert detour.max() > 0.5 * R
    np.testing.assert_array_equal(wish.chosen(q), wish.lengths(q).argmin(axis=0))


def test_people_of_all_sizes_and_speeds_have_their_own_ways():
    room = Room(BOX, doors=[((0, 1), (0, 3)), ((9, 1.8), (9, 2.2))])
    radius = np.array([0.15, 0.3])
    q = np.array([[8.0, 2.0], [8.0, 2.0]])
    wish = walk(room, radius=radius, speed=[1.0, 1.5])
    assert wish.chosen(q).tolist() == [1, 0]  # 0.6 wide, the second does not fit through the near door
    np.testing.assert_allclose(wish(0.0, q), [[1.0, 0.0], [-1.5, 0.0]], atol=1e-12)
    assert wish.lengths(q)[1].tolist() == [pytest.approx(1.0), np.inf]
    assert wish.widest(2).tolist() == radius.tolist()


def test_whoever_has_left_walks_on_outward_whatever_their_goal():
    wish = walk(Room(BOX, doors=[((0, 1), (0, 3)), ((9, 1), (9, 3))]), radius=R, speed=1.0, goal="door 0")
    np.testing.assert_allclose(wish(0.0, np.array([[9.5, 2.0], [-0.5, 1.0]])), [[1, 0], [-1, 0]], atol=1e-12)


def test_ways_do_not_depend_on_the_units():
    q = places(50)
    metres, millimetres = (Room(k * np.array(KITE), doors=k * np.array(DOORS)) for k in (1.0, 1000.0))
    np.testing.assert_allclose(
        jo.crowds.walk(millimetres, radius=1000 * R).lengths(1000 * q),
        1000 * jo.crowds.walk(metres, radius=R).lengths(q),
        rtol=1e-12,
    )


def test_a_convex_room_needs_no_shapely(monkeypatch):
    """The third program of the documentation runs without the extra `crowd`; an area with a corner inwards does not."""
    monkeypatch.setitem(sys.modules, "shapely", None)
    room = Room(BOX, doors=[((9, 1.2), (9, 2.8))])
    people = crowd(8, radius=R, room=room, speed=1.4, behaviour=jo.crowds.Inhibition)
    sol = jo.solve(people, jo.Venel(), t=30.0, h=0.1, until=room.empty)
    assert sol.status == "stopped"
    with pytest.raises(jo.errors.MissingPackage, match=r"jostle\[crowd\]"):
        Room([(0, 0), (6, 0), (6, 2), (2, 2), (2, 5), (0, 5)], doors=[((0.4, 5), (1.6, 5))])


def test_obstacles_make_a_plan_that_is_not_convex():
    shapely = pytest.importorskip("shapely")
    exits = {"east": ((9, 1), (9, 3))}
    assert Plan(BOX, exits=exits).convex
    assert Plan(shapely.Polygon(BOX), exits=exits).convex
    assert not Plan(BOX, exits=exits, columns=[(4, 2, 0.3)]).convex
    assert not Plan(BOX, exits=exits, walls=[((4, 1), (4, 2))]).convex
    assert not Plan(shapely.Polygon(BOX, [[(4, 1), (5, 1), (5, 2)]]), exits=exits).convex
    column = Plan(BOX, exits=exits, columns=[(4, 2, 0.3)])
    assert column.inside(np.array([[4.0, 2.0], [5.0, 2.0]])).tolist() == [False, True]


@pytest.mark.parametrize("area", [KITE, KITE[::-1], [*KITE, (0, 3)]], ids=["one way", "the other", "a flat corner"])
def test_half_planes_say_what_shapely_says(area):
    shapely = pytest.importorskip("shapely")
    q = np.random.default_rng(1).uniform(-3, 12, (2000, 2))
    plan, polygon = HalfPlanes.of(np.array(area, dtype=float)), shapely.Polygon(area)
    np.testing.assert_array_equal(plan.inside(q), shapely.contains_xy(polygon, q))
    np.testing.assert_allclose(plan.outside(q), shapely.distance(polygon, shapely.points(q)), atol=1e-12)


@pytest.mark.parametrize(
    "ring",
    [
        [(0, 0), (4, 0), (2, 0), (4, 3)],
        [(np.cos(a), np.sin(a)) for a in 4.0 * np.pi * np.arange(5) / 5.0],
        [(0, 0), (2, 2), (2, 0), (0, 2)],
        [(0, 0), (4, 0), (4, 0)],
        [(0, 0), (1, 1), (2, 2)],
    ],
    ids=["a spike", "twice around", "crossed", "two corners", "one line"],
)
def test_what_is_no_convex_polygon_has_no_half_planes(ring):
    assert HalfPlanes.of(np.array(ring, dtype=float)) is None
