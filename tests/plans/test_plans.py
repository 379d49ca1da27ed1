"""Floor plans: walls, exits, stairs, files, and what they refuse."""

import json

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import DXF, WKT, Area, Link, Picture, Plan, Room, read_plan, write_plan
from jostle.plans.plan import far_from
from jostle.plans.stored import plan_of, restored, stored
from plain import crowd

shapely = pytest.importorskip("shapely")

HOLED = shapely.Polygon([(0, 0), (8, 0), (8, 6), (0, 6)], [[(3, 2), (5, 2), (5, 4), (3, 4)]])
EXITS = {"east": ((8, 2.5), (8, 3.5)), "south": ((1, 0), (2.2, 0))}
OBLIQUE = shapely.Polygon([(0, 0), (9, -3), (14, 4), (8, 10), (1, 8)], [[(4, 2), (6, 1.2), (6.4, 4.5), (5, 6)]])
ROOMS = [[(0, 0), (5, 0), (5, 5), (0, 5)], [(5, 0), (10, 0), (10, 5), (5, 5)], [(0, 5), (10, 5), (10, 8), (0, 8)]]


def along(a, b, parts):
    a, b = np.array(a, dtype=float), np.array(b, dtype=float)
    return a + np.array(parts)[:, None] * (b - a)


def plans():
    return {
        "holed": Plan(HOLED, exits=EXITS),
        "oblique": Plan(OBLIQUE, exits={"slope": along((14, 4), (8, 10), [0.3, 0.45])}),
        "rooms": Plan(ROOMS, doors=[((5, 2), (5, 3)), ((7, 5), (8, 5))], exits={"west": ((0, 6), (0, 7))}),
        "thin wall": Plan(HOLED, exits=EXITS, walls=[[(0, 4.5), (2, 4.5)]]),
    }


def total(segments):
    return np.linalg.norm(segments[:, 1] - segments[:, 0], axis=1).sum()


def same_walls(one, other):
    lines = [shapely.union_all(shapely.linestrings(plan.walls)) for plan in (one, other)]
    return shapely.hausdorff_distance(*lines) < 1e-9 and total(one.walls) == pytest.approx(total(other.walls), rel=1e-9)


def test_walls_are_the_outline_without_the_exits():
    plan = plans()["holed"]
    assert total(plan.walls) == pytest.approx(28.0 + 8.0 - 1.0 - 1.2, rel=1e-14)
    assert len(plan.walls) == 10
    ends = {tuple(point) for point in plan.walls.reshape(-1, 2)}
    assert {(8.0, 2.5), (8.0, 3.5), (1.0, 0.0), (2.2, 0.0)} <= ends
    assert plan.outward["east"].tolist() == [1.0, 0.0]
    assert plan.outward["south"].tolist() == [0.0, -1.0]


def test_a_wall_between_two_rooms_is_one_wall_with_its_doors_cut_out():
    plan = plans()["rooms"]
    assert total(plan.walls) == pytest.approx(2 * (10 + 8) + 10 + 5 - 1 - 1 - 1, rel=1e-12)
    assert plan.area.area == pytest.approx(80.0)
    assert plan.inside(np.array([[5.0, 2.5], [5.0, 1.0], [11.0, 1.0]])).tolist() == [True, True, False]


def test_an_exit_may_go_over_several_edges_in_one_line_and_round_holes():
    plan = Plan([(0, 0), (2, 0), (4, 0), (4, 3), (0, 3)], exits={"wide": ((1, 0), (3, 0))})
    assert total(plan.walls) == pytest.approx(12.0)
    inner = Plan(HOLED, exits={"court": ((3, 2.5), (3, 3.5))})
    assert inner.outward["court"].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("turned", [False, True])
def test_the_outline_may_run_either_way_round(turned):
    corners = [(0, 0), (6, 0), (6, 2), (2, 2), (2, 5), (0, 5)]
    plan = Plan(corners[::-1] if turned else corners, exits={"north": ((0.4, 5), (1.6, 5))})
    assert plan.outward["north"].tolist() == [0.0, 1.0]


def test_a_plan_knows_how_far_outside_people_are_and_when_it_is_empty():
    plan = plans()["holed"]
    q = np.array([[1.0, 1.0], [9.5, 3.0], [4.0, 3.0]])
    assert plan.outside(q).tolist() == [0.0, 1.5, 1.0]
    assert not plan.empty(jo.schemes.State.of(0.0, q, np.zeros_like(q)))
    assert plan.empty(jo.schemes.State.of(0.0, q[1:2], np.zeros((1, 2))))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Plan(HOLED, exits={}), "needs at least one exit"),
        (lambda: Plan(HOLED, exits={"mid": ((7, 1), (7, 2))}), "exit 'mid'.*does not lie on an edge.*1 away.*move it"),
        (lambda: Plan(HOLED, exits={"long": ((8, 5), (8, 7))}), "exit 'long'.*does not lie on an edge"),
        (lambda: Plan(HOLED, exits={"dot": ((8, 5), (8, 5))}), "exit 'dot' must be two different points"),
        (lambda: Plan([(0, 0), (2, 2), (2, 0), (0, 2)], exits=EXITS), "not simple: Self-intersection"),
        (lambda: Plan([(0, 0), (1, 0)], exits=EXITS), "corners"),
        (lambda: Plan(ROOMS[:2], exits={"a": ((5, 1), (5, 2))}), "exit 'a'.*from one room to another; make it a door"),
        (lambda: Plan(ROOMS[:2], exits={"a": ((0, 1), (0, 2))}, doors=[((0, 3), (0, 4))]), "door 0 does not lie"),
        (lambda: Plan([ROOMS[0], np.add(ROOMS[0], 1.0)], exits={"a": ((0, 1), (0, 2))}), "rooms 0 and 1 overlap by 16"),
        (lambda: WKT().loads("POLYGON ((0 0"), "not well-known text"),
        (lambda: WKT().loads("POINT (0 0)"), "no polygon"),
        (lambda: WKT(names=["one"]).loads(WKT().dumps(plans()["holed"])), "1 names, but the text has 2 exits"),
        (lambda: Link("up", ((0, 0), (0, 1)), ((5, 0), (5, 2)), length=3.0), "1 wide at its start and 2 at its end"),
        (lambda: Plan(HOLED, exits=EXITS, links=[Link("a", ((3, 2.5), (3, 3.5)), ((0, 1), (0, 2)), length=4.0)]),
         "link 'a'.*run through the plan"),
        (lambda: Plan(HOLED, exits=EXITS, links=[Link("a", ((0, 2), (0, 3)), ((7, 1), (7, 2)), length=4.0)]),
         "not on an edge"),
    ],
)  # fmt: skip
def test_impossible_plans_are_refused_by_name(make, says):
    with pytest.raises(jo.InvalidValue, match=says):
        make()


# --- files ---


@pytest.mark.parametrize("name", plans())
def test_text_keeps_a_plan_to_the_last_digit(name):
    plan = plans()[name]
    again = WKT(names=list(plan.exits)).loads(WKT().dumps(plan))
    assert again.area.equals(plan.area)
    assert {name: ends.tolist() for name, ends in again.exits.items()} == {n: e.tolist() for n, e in plan.exits.items()}
    assert same_walls(again, plan)


@pytest.mark.parametrize("name", plans())
def test_a_drawing_keeps_walls_and_the_names_of_exits(name, tmp_path):
    pytest.importorskip("ezdxf")
    plan = plans()[name]
    write_plan(plan, tmp_path / "plan.dxf")
    again = read_plan(tmp_path / "plan.dxf", DXF())
    assert set(again.exits) == set(plan.exits)
    assert again.area.symmetric_difference(plan.area).area < 1e-9
    assert same_walls(again, plan)


def test_names_of_exits_that_a_drawing_forbids_are_kept(tmp_path):
    pytest.importorskip("ezdxf")
    plan = Plan([(0, 0), (4, 0), (4, 3), (0, 3)], exits={"north/south 50%": ((4, 1), (4, 2))})
    write_plan(plan, tmp_path / "plan.dxf")
    assert list(read_plan(tmp_path / "plan.dxf").exits) == ["north/south 50%"]


def test_round_walls_of_a_drawing_are_polylines_within_a_centimetre_and_columns_are_exact(tmp_path):
    ezdxf = pytest.importorskip("ezdxf")
    drawing = ezdxf.new()
    space, layer = drawing.modelspace(), {"layer": "WALLS"}
    space.add_arc((0, 0), 5000.0, 0, 180, dxfattribs=layer)
    space.add_circle((0, 2500), 600.0, dxfattribs=layer)
    for a, b in (((-5000, 0), (-600, 0)), ((600, 0), (5000, 0))):
        space.add_line(a, b, dxfattribs=layer)
    space.add_line((-600, 0), (600, 0), dxfattribs={"layer": "EXITS"})
    drawing.saveas(tmp_path / "half.dxf")
    plan = read_plan(tmp_path / "half.dxf", DXF(scale=0.001))
    assert list(plan.exits) == ["exit 0"]
    assert plan.area.area == pytest.approx(np.pi * (12.5 - 0.36), rel=0.005)
    np.testing.assert_allclose(plan.columns, [[0.0, 2.5, 0.6]], atol=1e-12)
    corners = np.array(plan.area.exterior.coords)
    round_ones = corners[np.abs(corners[:, 1]) > 1e-9]
    assert np.abs(np.linalg.norm(round_ones, axis=1) - 5.0).max() < 1e-9
    middles = plan.walls.mean(axis=1)
    middles = middles[np.abs(middles[:, 1]) > 1e-9]
    assert 0.0 < np.abs(np.linalg.norm(middles, axis=1) - 5.0).max() <= 0.01


def test_a_drawing_that_is_open_says_where(tmp_path):
    ezdxf = pytest.importorskip("ezdxf")
    drawing = ezdxf.new()
    corners = [(0, 0), (4, 0), (4, 3), (0, 3), (0, 0.1)]
    drawing.modelspace().add_lwpolyline(corners, dxfattribs={"layer": "WALLS"})
    drawing.modelspace().add_line((4, 1), (4, 2), dxfattribs={"layer": "EXITS"})
    drawing.saveas(tmp_path / "open.dxf")
    with pytest.raises(jo.InvalidValue, match=r"exit 0.*no closed area.*loose ends at.*0\.1 apart"):
        read_plan(tmp_path / "open.dxf", DXF())
    with pytest.raises(jo.InvalidValue, match=r"layer 'Walls2'.*its layers are.*WALLS"):
        read_plan(tmp_path / "open.dxf", DXF(walls="Walls2"))
    with pytest.raises(jo.InvalidValue, match="cannot be read"):
        read_plan(tmp_path / "nothing.dxf", DXF())


@pytest.mark.parametrize("scale", [0.1, 0.5])
def test_a_picture_keeps_a_plan_whose_corners_are_corners_of_pixels(scale, tmp_path):
    pytest.importorskip("PIL")
    exits = {"south": ((1, 0), (2.5, 0)), "east": ((8, 2.5), (8, 3.5))}
    plan = Plan(HOLED, exits=exits)
    write_plan(plan, tmp_path / "plan.png", Picture(scale=scale))
    again = read_plan(tmp_path / "plan.png", Picture(scale=scale))
    shift = again.area.bounds[0]
    moved = shapely.transform(plan.area, lambda x: x + shift)
    assert again.area.symmetric_difference(moved).area < 1e-12
    assert len(again.walls) == len(plan.walls)
    for found, ends in zip(again.exits.values(), exits.values(), strict=True):
        np.testing.assert_allclose(np.sort(found, axis=0), np.sort(np.array(ends) + shift, axis=0), atol=1e-12)


def test_a_picture_with_oblique_walls_is_straightened_on_request(tmp_path):
    pytest.importorskip("PIL")
    plan = plans()["oblique"]
    write_plan(plan, tmp_path / "plan.png", Picture(scale=0.05))
    with pytest.raises(jo.InvalidValue, match=r"not straight.*give a tolerance"):
        read_plan(tmp_path / "plan.png", Picture(scale=0.05))
    again = read_plan(tmp_path / "plan.png", Picture(scale=0.05, tolerance=0.1))
    assert len(again.walls) < 30
    assert again.area.area == pytest.approx(plan.area.area, rel=0.01)


def test_outside_of_a_painted_room_is_not_floor(tmp_path):
    image = pytest.importorskip("PIL.Image")
    pixels = np.full((20, 30, 3), 255, dtype=np.uint8)
    pixels[4:16, 5:25] = (20, 10, 10)
    pixels[6:14, 7:23] = 255
    pixels[8:11, 23:25] = (250, 5, 5)
    image.fromarray(pixels).save(tmp_path / "room.png")
    plan = read_plan(tmp_path / "room.png", Picture(scale=0.2))
    assert plan.area.area == pytest.approx(8 * 16 * 0.04)
    np.testing.assert_allclose(np.sort(plan.exits["exit 0"], axis=0), [[4.6, 1.8], [4.6, 2.4]])


# --- rooms are plans ---


def test_a_room_that_is_not_convex_is_a_room():
    room = Room([(0, 0), (6, 0), (6, 2), (2, 2), (2, 5), (0, 5)], doors=[((0.4, 5), (1.6, 5))])
    people = crowd(12, radius=0.25, room=room, speed=1.4)
    sol = jo.solve(people, jo.Venel(), t=30.0, h=0.05, until=room.empty)
    assert sol.status == "stopped"
    assert sol.gaps().min() >= -1e-7 * 0.25


def test_the_rooms_of_a_plan_may_have_different_numbers_of_corners():
    triangle, square = [(4, 0), (8, 0), (4, 3)], [(0, 0), (4, 0), (4, 3), (0, 3)]
    exits, doors = {"west": ((0, 1), (0, 2))}, [((4, 1), (4, 2))]
    plans = [
        Plan(rooms, exits=exits, doors=doors) for rooms in ([square, triangle], [square, shapely.Polygon(triangle)])
    ]
    assert same_walls(*plans)
    assert plans[0].area.area == pytest.approx(12.0 + 6.0)


def test_rooms_are_refused_if_they_cross_themselves_or_run_twice_around():
    star = [(np.cos(a), np.sin(a)) for a in 4.0 * np.pi * np.arange(5) / 5.0]
    with pytest.raises(jo.InvalidValue, match="not simple"):
        Room(star, doors=[star[:2]])
    with pytest.raises(jo.InvalidValue, match="not simple"):
        Room([(0, 0), (2, 2), (2, 0), (0, 2)], doors=[((0, 0), (2, 2))])


# --- stairs ---


def two_floors(length=3.0):
    upper = shapely.Polygon([(20, 0), (26, 0), (26, 4), (20, 4)])
    lower = shapely.Polygon([(0, 0), (6, 0), (6, 4), (0, 4)])
    stairs = Link("stairs", ((26, 1), (26, 2.2)), ((0, 1), (0, 2.2)), length=length)
    return Plan([upper, lower], exits={"street": ((6, 1.5), (6, 2.5))}, links=[stairs])


def test_people_take_the_stairs_and_need_the_time_of_their_length():
    plan = two_floors()
    one = crowd(1, radius=0.25, room=plan, speed=1.0, q0=[[22.0, 1.6]])
    wish = jo.crowds.walk(plan, radius=0.25)
    way = 4.0 + (3.0 - 0.25) + (6.0 - 0.25)
    assert wish.length(one.q0)[0] == pytest.approx(way, abs=0.1)
    sol = jo.solve(one, jo.Venel(), t=30.0, h=0.02, until=plan.empty)
    assert sol.status == "stopped"
    assert sol.t[-1] == pytest.approx(way, abs=0.1)
    jump = np.argmax(np.abs(np.diff(sol.q[:, 0, 0])))
    assert sol.q[jump, 0, 0] == pytest.approx(29.0 - 0.25, abs=0.05)
    assert sol.q[jump + 1, 0, 0] == pytest.approx(0.25, abs=0.03)
    assert sol.q[jump + 1, 0, 1] == pytest.approx(sol.q[jump, 0, 1])


def test_a_crowd_on_the_stairs_never_overlaps_and_leaves():
    plan = two_floors(length=2.0)
    people = crowd(25, radius=0.25, room=plan, speed=1.4, seed=3)
    sol = jo.solve(people, jo.Venel(), t=60.0, h=0.05, until=plan.empty)
    assert sol.status == "stopped"
    for q in sol.q:
        here = q[np.isfinite(q).all(axis=1)]
        apart = np.linalg.norm(here[:, None] - here, axis=2) + 9.0 * np.eye(len(here))
        assert apart.min(initial=9.0) >= 0.5 * (1.0 - 1e-7)


def colonnade(**more):
    return Plan(
        [(0, 0), (8, 0), (8, 6), (0, 6)],
        exits={"east": ((8, 2.4), (8, 3.6))},
        columns=[(4, 3, 0.8), (6, 1, 0.5)],
        **more,
    )


def test_people_touch_a_round_column_where_it_is():
    """Who is pushed straight against a column stops at the sum of the radii, to round-off."""
    plan = colonnade()
    people = crowd(1, radius=0.25, room=plan, q0=[[1.0, 3.0]], wish=lambda t, q: np.array([1.0, 0.0]) + 0.0 * q)
    sol = jo.solve(people, jo.Venel(), t=4.0, h=0.05)
    np.testing.assert_allclose(sol.q[-1], [[4.0 - 0.8 - 0.25, 3.0]], atol=1e-12)


def test_everyone_walks_around_the_columns():
    plan = colonnade()
    people = crowd(40, radius=0.25, room=plan, speed=1.3, seed=3)
    apart = np.linalg.norm(people.q0[:, None] - plan.columns[:, :2], axis=2) - plan.columns[:, 2]
    assert apart.min() >= 0.25
    sol = jo.solve(people, jo.Venel(), t=60.0, h=0.05, until=plan.empty)
    assert sol.status == "stopped"
    assert sol.gaps().min() >= -1e-8
    above = np.array([2.0, 3.5])
    way = jo.crowds.walk(plan, radius=0.25)(0.0, above[None])[0]
    towards = np.array([4.0, 3.0]) - above
    tangent = np.arctan2(towards[1], towards[0]) + np.arcsin((0.8 + 0.25) / np.linalg.norm(towards))
    assert np.arctan2(way[1], way[0]) == pytest.approx(tangent, abs=0.05)


def test_a_place_in_a_column_is_outside_of_the_plan():
    with pytest.raises(jo.InvalidValue, match="outside the plan"):
        crowd(1, radius=0.25, room=colonnade(), q0=[[4.2, 3.1]])


def test_circles_of_a_drawing_are_columns(tmp_path):
    plan = colonnade()
    write_plan(plan, tmp_path / "hall.dxf")
    again = read_plan(tmp_path / "hall.dxf", DXF())
    np.testing.assert_allclose(again.columns, plan.columns, atol=1e-12)
    assert again.area.area == pytest.approx(plan.area.area, rel=1e-9)
    assert len(again.walls) == len(plan.walls)


def test_a_circle_that_is_the_outline_is_no_column(tmp_path):
    import ezdxf

    drawing = ezdxf.new()
    space = drawing.modelspace()
    space.add_circle((0, 0), 5.0, dxfattribs={"layer": "WALLS"})
    space.add_circle((1, 1), 0.5, dxfattribs={"layer": "WALLS"})
    for y in (-1.0, 1.0):
        space.add_line((4.0, y), (7.0, y), dxfattribs={"layer": "WALLS"})
    space.add_line((7, -1), (7, 1), dxfattribs={"layer": "EXITS"})
    drawing.saveas(tmp_path / "round.dxf")
    plan = read_plan(tmp_path / "round.dxf", DXF())
    assert plan.inside(np.array([[6.0, 0.0]])).all()


@pytest.mark.parametrize("columns", [[(1, 1)], [(1, 1, 0)], [(1, 1, -2)], [(1, np.nan, 1)]])
def test_columns_are_places_and_positive_radii(columns):
    with pytest.raises(jo.InvalidValue, match="columns must be"):
        Plan([(0, 0), (4, 0), (4, 4), (0, 4)], exits={"a": ((4, 1), (4, 2))}, columns=columns)


def test_very_large_plans_have_wider_grids_whose_ways_are_as_long(monkeypatch):
    """The spacing grows from a quarter to half of the radius; lengths stay within a few centimetres."""
    from jostle.plans import ways

    square, block = [(0, 0), (14, 0), (14, 9), (0, 9)], [(5, 3), (9, 3), (9, 6), (5, 6)]
    exits = {"west": ((0, 4), (0, 5)), "east": ((14, 1), (14, 2))}

    def found():
        return jo.crowds.shortest_paths(Plan(shapely.Polygon(square, [block]), exits=exits), 0.25)

    fine = found()
    monkeypatch.setattr(ways, "FINE_VALUES", 1000)
    wide = found()
    assert fine.grid.step == 0.0625
    assert wide.grid.step == 0.125
    q = np.random.default_rng(0).uniform([0.5, 0.5], [13.5, 8.5], (400, 2))
    q = q[shapely.distance(shapely.Polygon(block), shapely.points(q)) > 0.3]
    assert np.abs(fine.lengths(q) - wide.lengths(q)).max() < 0.15
    for goal in (0, 1):
        far = [one.length(q, np.full(len(q), goal)) for one in (fine, wide)]
        assert np.abs(far[0] - far[1]).max() < 0.06


UPPER = [(12, 0), (20, 0), (20, 6), (12, 6)]
"""A floor beside a floor that ends at x = 8."""
FLOOR = [(0, 0), (8, 0), (8, 6), (0, 6)]


@pytest.mark.parametrize(
    ("openings", "message"),
    [
        ({"exits": {"a": ((8, 1), (8, 3)), "b": ((8, 4), (8, 2))}}, "exit 'a' and exit 'b' overlap"),
        ({"exits": {"a": ((8, 1), (8, 2)), "b": ((8, 2), (8, 1))}}, "exit 'a' and exit 'b' overlap"),
        (
            {
                "exits": {"a": ((0, 1), (0, 2)), "b": ((12, 1), (12, 2))},
                "links": [Link("s", ((12, 1.5), (12, 2.5)), ((8, 1), (8, 2)), length=2.0)],
            },
            "exit 'b' and link 's' overlap",
        ),
        (
            {
                "exits": {"a": ((0, 1), (0, 2))},
                "links": [
                    Link("s", ((12, 1), (12, 2)), ((8, 1), (8, 2)), length=3.0),
                    Link("t", ((8, 1.5), (8, 2.5)), ((12, 3), (12, 4)), length=2.0),
                ],
            },
            "the stairs of links 's' and 't' would run through each other",
        ),
    ],
)
def test_openings_and_stairs_do_not_overlap(openings, message):
    with pytest.raises(jo.InvalidValue, match=message):
        Plan([FLOOR, UPPER], **openings)
    beside = Plan(FLOOR, exits={"a": ((8, 1), (8, 2)), "b": ((8, 2), (8, 3))})
    assert list(beside.exits) == ["a", "b"]


@pytest.mark.parametrize("gap", [1.0, 1.5, 1.7])
def test_a_floor_behind_an_exit_does_not_hold_up_people_who_leave(gap):
    """People leave the plan by 0.8 m: a floor within 1.6 m kept them in front of it, and those behind them inside."""
    floors = [FLOOR, [(8 + gap, 0), (14, 0), (14, 6), (8 + gap, 6)]]
    plan = Plan(floors, exits={"east": ((8, 2), (8, 4)), "far": ((14, 2), (14, 4))})
    one = {"radius": 0.2, "room": plan, "q0": [[6.0, 3.0]]}
    if gap > 1.6:
        assert len(crowd(1, **one).changes()) == 1
        return
    with pytest.raises(
        jo.InvalidValue, match=f"{gap:g} m behind exit 'east' is another part of the plan.* 1.6 m of free"
    ):
        crowd(1, **one)
    assert len(crowd(1, outlet=0.4, **one).changes()) == 1


def test_who_has_left_is_found_the_same_way_among_many_people():
    """Most of them are told apart by cells; the others by their distances, to the limit and to the bit."""
    plan = Plan(
        [(0, 0), (6, 0), (6, 2), (2, 2), (2, 5), (0, 5)], exits={"north": ((0.4, 5), (1.6, 5))}, columns=[(4, 1, 0.3)]
    )
    q = np.random.default_rng(0).uniform(-2.0, 8.0, (4000, 2))
    q = np.concatenate([q, [[-1e5, -2e5], [6.8, 1.0], [6.8 + 1e-12, 1.0], [1.0, 5.8]]])
    few = [far_from(plan, 0.8, some) for some in np.array_split(q, 4)]
    many = far_from(plan, 0.8, q)
    np.testing.assert_array_equal(many, np.concatenate(few))
    np.testing.assert_array_equal(many, plan.outside(q) > 0.8)


STORED = {
    "convex": lambda: Plan([(0, 0), (9, 0), (9, 4), (0, 4)], exits={"east": ((9, 1), (9, 2))}, labels={"hall": (4, 2)}),
    "two floors": lambda: Plan(
        [[(0, 0), (4, 0), (4, 3), (0, 3)], [(20, 0), (24, 0), (24, 3), (20, 3)]],
        exits={"street": ((0, 1), (0, 2))},
        links=[
            jo.crowds.Link("stairs", ((24, 1), (24, 2)), ((4, 1), (4, 2)), length=5.0, pace="up", both=True),
            jo.crowds.Link("lift", ((20, 1), (20, 2)), ((4, 0), (4, 1)), length=1.5, every=40.0, travel=8.0, doors=2.0),
        ],
    ),
    "holes, doors, columns and thin walls": lambda: Plan(
        [
            shapely.Polygon([(0, 0), (6, 0), (6, 6), (0, 6)], [[(1, 1), (2, 1), (2, 2), (1, 2)]]),
            [(6, 0), (9, 0), (9, 6), (6, 6)],
        ],
        exits={"east": ((9, 1), (9, 2))},
        doors=[((6, 2), (6, 4))],
        walls=[((3, 0), (3, 4))],
        columns=[(7.5, 4.5, 0.3)],
        areas=[Area("row 1", [(0, 4), (6, 4), (6, 5)], counts=False)],
    ),
}


@pytest.mark.parametrize("name", STORED)
def test_a_plan_that_was_stored_is_the_same_plan(name):
    plan = STORED[name]()
    again = restored(json.loads(json.dumps(stored(plan))))
    assert again.area.equals(plan.area)
    np.testing.assert_array_equal(again.walls, plan.walls)
    np.testing.assert_array_equal(again.columns, plan.columns)
    assert stored(again) == stored(plan)
    assert (again.convex, repr(again)) == (plan.convex, repr(plan))


def test_people_walk_in_the_plan_that_a_trajectory_has(tmp_path):
    plan = STORED["holes, doors, columns and thin walls"]()
    people = crowd(6, radius=0.2, room=plan)
    jo.solve(people, jo.Venel(), t=1.0, h=0.1, output=tmp_path / "run.vtkhdf")
    again = crowd(6, radius=0.2, room=plan_of(jo.io.read(tmp_path / "run.vtkhdf")))
    found = [jo.solve(one, jo.Venel(), t=2.0, h=0.1).q[-1] for one in (people, again)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(
    "change", [{"rooms": [[[[0, 0], [1, 0]]]]}, {"rooms": 3}, {"exits": []}, {"links": [{"name": 1}]}]
)
def test_a_stored_plan_that_is_damaged_is_refused(change):
    with pytest.raises(jo.InvalidValue):
        restored(stored(STORED["convex"]()) | change)
