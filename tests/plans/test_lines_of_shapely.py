"""Plans take areas and lines as shapely and PedPy have them."""

from types import SimpleNamespace

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import WKT, Plan, Room
from plain import crowd

shapely = pytest.importorskip("shapely")

CORNERS = [(0, 0), (6, 0), (6, 4), (0, 4)]
EAST = [(6, 1), (6, 2)]


def same(plan, other):
    """Two plans with the same exits, walls and area."""
    assert [*plan.exits] == [*other.exits]
    for name in plan.exits:
        np.testing.assert_array_equal(plan.exits[name], other.exits[name])
    assert plan.walls.shape == other.walls.shape
    assert plan.convex == other.convex
    assert plan.area.equals(other.area)


@pytest.mark.parametrize(
    "line",
    [
        shapely.LineString(EAST),
        shapely.LineString([(*point, 1.5) for point in EAST]),
        SimpleNamespace(line=shapely.LineString(EAST)),
    ],
    ids=["line", "line in space", "with a line"],
)
def test_exits_doors_and_links_may_be_lines_of_shapely(line):
    same(Plan(CORNERS, exits={"east": line}), Plan(CORNERS, exits={"east": EAST}))
    same(Room(CORNERS, doors=[line]), Room(CORNERS, doors=[EAST]))
    rooms = [CORNERS, [(6, 0), (9, 0), (9, 4), (6, 4)]]
    west = {"west": shapely.LineString([(0, 1), (0, 2)])}
    same(Plan(rooms, exits=west, doors=[line]), Plan(rooms, exits={"west": [(0, 1), (0, 2)]}, doors=[EAST]))
    text = "POLYGON ((0 0, 6 0, 6 4, 0 4, 0 0))"
    same(WKT(openings={"east": line}).loads(text), WKT(openings={"east": EAST}).loads(text))
    link = jo.crowds.Link("up", line, shapely.LineString([(10, 1), (10, 2)]), length=4.0)
    np.testing.assert_array_equal(link.start, EAST)


def test_areas_may_be_those_of_pedpy():
    pedpy = pytest.importorskip("pedpy")
    area, plain = pedpy.WalkableArea(CORNERS), Plan(CORNERS, exits={"east": EAST})
    same(Plan(area, exits={"east": EAST}), plain)
    same(Room(area, doors=[EAST]), Room(CORNERS, doors=[EAST]))
    same(Room(area.polygon, doors=[EAST]), Room(CORNERS, doors=[EAST]))
    holed = pedpy.WalkableArea(CORNERS, obstacles=[[(2, 1), (3, 1), (3, 2), (2, 2)]])
    assert Plan(holed, exits={"east": EAST}).size == pytest.approx(23.0)
    other = pedpy.WalkableArea([(6, 0), (9, 0), (9, 4), (6, 4)])
    exits, doors = {"out": shapely.LineString([(9, 1), (9, 2)])}, [shapely.LineString(EAST)]
    assert Plan([area, other], exits=exits, doors=doors).size == pytest.approx(36.0)
    sol = jo.solve(crowd(6, radius=0.2, room=plain), jo.Venel(), t=1.0, h=0.1)
    M = pedpy.MeasurementArea([(3, 1), (6, 1), (6, 3), (3, 3)])
    for ours, theirs in zip(
        jo.crowds.densities(sol, plain, [(3, 1), (6, 1), (6, 3), (3, 3)]),
        jo.crowds.densities(sol, area, M),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, equal_nan=True)
    line = pedpy.MeasurementLine(EAST)
    np.testing.assert_array_equal(jo.crowds.flow(sol, line).count, jo.crowds.flow(sol, line.line).count)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (shapely.LineString([(6, 1), (6, 1.5), (6, 2)]), "exit 'east' must be two points"),
        (shapely.Point(6, 1), "exit 'east' must be two points"),
        (shapely.MultiLineString([EAST]), "exit 'east' must be two points"),
        (shapely.LineString(), "exit 'east' must be two points"),
        (shapely.LineString([(6, 1), (6, 1)]), "exit 'east' must be two different points"),
        (shapely.LineString([(6, 1), (7, 2)]), "exit 'east' .* does not lie on an edge"),
    ],
)
def test_lines_that_are_no_exit_are_refused(line, message):
    with pytest.raises(jo.InvalidValue, match=message):
        Plan(CORNERS, exits={"east": line})


def test_a_room_has_one_outline():
    with pytest.raises(jo.InvalidValue, match="polygon"):
        Room(shapely.LineString(EAST), doors=[EAST])
    with pytest.raises(jo.InvalidValue, match="at least one door"):
        Room(CORNERS, doors=[])
