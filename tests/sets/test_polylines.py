"""Walls as lines: every point of a line is on its wall."""

import numpy as np
import pytest

import jostle as jo
from jostle.sets.outlines import View, enclosure, holding_walls, line_segments, may_move, outlines, shapes_of

PLANE = View(np.array([-4.0, -3.0]), np.array([5.0, 6.0]))
SPACE = View(np.array([-4.0, -3.0, -2.0]), np.array([5.0, 6.0, 7.0]))
SQUARE = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
T = 0.7

WALLS = {
    "floor": (jo.HalfSpace([0.0, 2.0], offset=1.0), PLANE),
    "slope": (jo.HalfSpace([1.0, 1.0], offset=0.3), PLANE),
    "slope in space": (jo.HalfSpace([1.0, 2.0, 3.0], offset=lambda t: t), SPACE),
    "box": (jo.Box([0, 0], [3, 2]), PLANE),
    "open box": (jo.Box([0, 0], [3, np.inf]), PLANE),
    "box in space": (jo.Box([0, 0, 0], [3, 2, np.inf]), SPACE),
    "floor in space": (jo.Box([-np.inf, -np.inf, 0], np.full(3, np.inf)), SPACE),
    "discs": (jo.Outside([[0.0, 0.0], [3.0, 1.0]], [0.5, 1.0]), PLANE),
    "bowl": (jo.Inside([1.0, 1.0, 1.0], lambda t: 1.0 + t), SPACE),
    "line_segments": (jo.Segments(lambda t: [[[0, t], [4, 0]]], radii=0.0), PLANE),
    "polygon": (jo.Polygons(SQUARE), PLANE),
    "moving polygons": (jo.Polygons(lambda t: [SQUARE + t, SQUARE - 3.0]), PLANE),
    "vessel": (
        jo.Vessel([(1.0, 2.0), (0.2, 0.0), (0.5, -0.6)], radii=0.0, axis=[1.0, 1.0, 0.0], base=[0, 1, 0]),
        SPACE,
    ),
    "line": (jo.HalfSpace([-2.0], offset=-3.0), View(np.array([0.0]), np.array([9.0]))),
}


@pytest.mark.parametrize("name", WALLS)
def test_every_point_of_an_outline_is_on_the_wall(name):
    wall, view = WALLS[name]
    lines = outlines(shapes_of(wall, T), view)
    assert lines
    for line in lines:
        middles = (line.points[1:] + line.points[:-1]) / 2.0 if "olygon" in name or "box" in name else line.points
        for point in [*line.points, *middles]:
            smallest = abs(wall.gap(T, point))
            assert smallest == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", WALLS)
def test_the_view_grows_until_the_wall_is_in_it(name):
    wall, view = WALLS[name]
    speck = View(view.centre, view.centre)
    shapes = shapes_of(wall, T)
    grown = holding_walls(shapes, speck)
    assert (grown.lower <= speck.lower).all()
    assert outlines(shapes, grown.wider(0.1))


def test_walls_without_an_end_are_cut_at_the_view():
    (line,) = outlines(shapes_of(jo.HalfSpace([1.0, 1.0]), 0.0), View(np.array([-1.0, -1.0]), np.array([2.0, 2.0])))
    assert sorted(line.points.tolist()) == [[-1.0, 1.0], [1.0, -1.0]]
    assert outlines(shapes_of(jo.HalfSpace([1.0, 0.0], offset=9.0), 0.0), PLANE) == []


@pytest.mark.parametrize(
    ("upper", "edges"), [([3, 2, 1], 12), ([3, 2, np.inf], 8), ([3, np.inf, np.inf], 5), ([np.inf] * 3, 3)]
)
def test_a_box_has_the_edges_where_two_of_its_walls_meet(upper, edges):
    assert len(outlines(shapes_of(jo.Box([0, 0, 0], upper), 0.0), SPACE)) == edges


def test_sets_that_have_no_shape_are_left_out():
    @jo.constraints
    def somewhere(t, q):
        return q - 1.0

    assert shapes_of(somewhere & jo.Balls([1.0]) & jo.Free(), 0.0) == ()
    assert shapes_of(None, 0.0) == ()
    assert outlines(shapes_of(jo.Box([0, 0, 0], [1, 1, 1]), 0.0), PLANE) == []


def test_walls_are_where_they_are_at_that_time():
    piston = jo.HalfSpace([1.0, 0.0], offset=lambda t: t)
    assert [outlines(shapes_of(piston, t), PLANE)[0].points[0, 0] for t in (0.0, 2.0)] == [0.0, 2.0]
    assert may_move(piston & jo.Balls([1.0]))
    assert not may_move(jo.Box([0, 0], [1, 1], radii=lambda t: t) & jo.Balls(lambda t: [t]))


def test_obstacles_do_not_enclose_and_rooms_do():
    room = jo.crowds.Room([(0, 0), (6, 0), (6, 5), (0, 5)], doors=[((6, 1.7), (6, 3.3))])
    assert enclosure(shapes_of(jo.Segments(room.walls, radii=0.2), 0.0), 2).upper.tolist() == [6.0, 5.0]
    assert enclosure(shapes_of(jo.Outside([1.0, 1.0], 0.5), 0.0), 2).upper.tolist() == [np.inf, np.inf]


def test_no_lines_have_no_pieces():
    assert line_segments([], 3).shape == (0, 2, 3)
