"""Walls of a DXF drawing that are drawn by blocks, filled areas and wide lines are walls, or are refused."""

import pytest

import jostle as jo
from jostle.crowds import Plan

ezdxf = pytest.importorskip("ezdxf")
pytest.importorskip("shapely")

WALLS = {"layer": "WALLS"}
SQUARE = [(4, 2), (5, 2), (5, 3), (4, 3)]


def hall():
    """A drawing of a hall of 60 square metres."""
    drawing = ezdxf.new(units=6)
    space = drawing.modelspace()
    space.add_lwpolyline([(10, 3), (10, 6), (0, 6), (0, 0), (10, 0), (10, 2)], dxfattribs=WALLS)
    space.add_line((10, 2), (10, 3), dxfattribs={"layer": "EXITS-east"})
    return drawing, space


def size(drawing, path):
    drawing.saveas(path)
    return Plan.from_dxf(path).size


def hatch(space):
    space.add_hatch(dxfattribs=WALLS).paths.add_polyline_path(SQUARE, is_closed=True)


@pytest.mark.parametrize(
    "add",
    [
        lambda space: space.add_solid([SQUARE[k] for k in (0, 1, 3, 2)], dxfattribs=WALLS),
        lambda space: space.add_3dface(SQUARE, dxfattribs=WALLS),
        hatch,
    ],
    ids=["solid", "face", "hatch"],
)
def test_a_filled_column_is_an_obstacle(tmp_path, add):
    drawing, space = hall()
    add(space)
    assert size(drawing, tmp_path / "hall.dxf") == pytest.approx(59.0)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(("inside", "inserted"), [("0", "WALLS"), ("WALLS", "0"), ("0", "FURNITURE")])
def test_lines_on_layer_0_of_a_block_are_on_the_layer_of_the_block(tmp_path, inside, inserted, nested):
    drawing, space = hall()
    drawing.blocks.new("COLUMN").add_lwpolyline(SQUARE, close=True, dxfattribs={"layer": inside})
    drawing.blocks.new("PAIR").add_blockref("COLUMN", (0, 1), dxfattribs={"layer": "0"})
    space.add_blockref("PAIR" if nested else "COLUMN", (1, 0), dxfattribs={"layer": inserted})
    walls = "WALLS" in (inside, inserted)
    assert size(drawing, tmp_path / "hall.dxf") == pytest.approx(59.0 if walls else 60.0)


def test_dimensions_and_texts_on_the_layer_of_the_walls_are_not_walls(tmp_path):
    drawing, space = hall()
    space.add_linear_dim((0, 3), (0, 3), (10, 3), dxfattribs=WALLS).render()
    space.add_text("Hall", dxfattribs={**WALLS, "insert": (2, 2)})
    drawing.saveas(tmp_path / "hall.dxf")
    assert len(Plan.from_dxf(tmp_path / "hall.dxf").walls) == 5


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda space: space.add_lwpolyline([(4, 2, 0.3, 0.3), (5, 2, 0.3, 0.3)], format="xyse", dxfattribs=WALLS),
         "polyline with a width"),
        (lambda space: space.add_xline((4, 2), (1, 0), dxfattribs=WALLS), "of the type XLINE, which is not read"),
        (lambda space: space.add_line((2, 6), (3, 6), dxfattribs={"layer": "EXITS-east"}), "has two lines"),
    ],
    ids=["width", "line without ends", "two exits"],
)  # fmt: skip
def test_what_would_be_lost_is_refused(tmp_path, add, message):
    drawing, space = hall()
    add(space)
    with pytest.raises(jo.InvalidValue, match=message):
        size(drawing, tmp_path / "hall.dxf")


@pytest.mark.parametrize("layer", ["WALLS-inner", "A-WALL", "EXIT-north", "Exits_north"])
def test_layers_that_sound_like_walls_or_exits_and_are_not_read_are_named(tmp_path, layer):
    """A wall on such a layer was missing in the plan, and nobody was told."""
    drawing, space = hall()
    space.add_line((4, 0), (4, 4), dxfattribs={"layer": layer})
    with pytest.warns(jo.JostleWarning, match=f"layers '{layer}' of .* are not read"):
        assert size(drawing, tmp_path / "hall.dxf") == pytest.approx(60.0)


def test_other_layers_cause_no_warning(tmp_path, recwarn):
    drawing, space = hall()
    space.add_line((4, 0), (4, 4), dxfattribs={"layer": "FURNITURE"})
    size(drawing, tmp_path / "hall.dxf")
    assert not [one for one in recwarn if issubclass(one.category, jo.JostleWarning)]
