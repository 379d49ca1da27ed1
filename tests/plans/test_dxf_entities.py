"""Walls of a DXF drawing that are drawn by blocks, filled areas and wide lines are walls, or are refused."""

from contextlib import nullcontext

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import DXF, read_plan

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
    return read_plan(path, DXF()).size


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
    with nullcontext() if walls else pytest.warns(jo.JostleWarning, match="'FURNITURE'"):
        assert size(drawing, tmp_path / "hall.dxf") == pytest.approx(59.0 if walls else 60.0)


def test_dimensions_and_texts_on_the_layer_of_the_walls_are_not_walls(tmp_path):
    drawing, space = hall()
    space.add_linear_dim((0, 3), (0, 3), (10, 3), dxfattribs=WALLS).render()
    space.add_text("Hall", dxfattribs={**WALLS, "insert": (2, 2)})
    drawing.saveas(tmp_path / "hall.dxf")
    assert len(read_plan(tmp_path / "hall.dxf", DXF()).walls) == 5


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


def added(space, kind, layer):
    """Draw a thing of a kind on a layer, in the middle of the hall."""
    on = {"layer": layer}
    if kind == "line":
        space.add_line((7, 0), (7, 4), dxfattribs=on)
    elif kind == "circle":
        space.add_circle((4.5, 2.5), 0.3, dxfattribs=on)
    elif kind == "hatch":
        space.add_hatch(dxfattribs=on).paths.add_polyline_path(SQUARE, is_closed=True)
    elif kind == "solid":
        space.add_solid([SQUARE[k] for k in (0, 1, 3, 2)], dxfattribs=on)
    elif kind == "wide":
        space.add_lwpolyline([(4, 2, 0.3, 0.3), (5, 2, 0.3, 0.3)], format="xyse", dxfattribs=on)
    else:
        space.doc.blocks.new("COLUMN").add_lwpolyline(SQUARE, close=True, dxfattribs={"layer": "0"})
        space.add_blockref("COLUMN", (0, 0), dxfattribs=on)


KINDS = ("line", "circle", "hatch", "solid", "wide", "block")
LAYERS = (
    "columns",
    "pillars",
    "Stützen",
    "WALLS-inner",
    "A-WALL",
    "EXIT-north",
    "Exits_north",
    "0",
    "FURNITURE",
    "ROOMS",
)


@pytest.mark.parametrize(
    ("kind", "layer"), [*((kind, "A-COLS") for kind in KINDS), *(("circle", layer) for layer in LAYERS)]
)
def test_layers_on_which_something_is_drawn_and_which_are_not_read_are_named(tmp_path, kind, layer):
    """A column on such a layer was missing in the plan, and nobody was told."""
    drawing, space = hall()
    added(space, kind, layer)
    added(space, "line", layer)
    with pytest.warns(jo.JostleWarning, match=rf"layers '{layer}' of .* are not read.*walls=\['WALLS', ") as told:
        assert size(drawing, tmp_path / "hall.dxf") == pytest.approx(60.0)
    assert len(told) == 1


@pytest.mark.parametrize("state", ["on", "off", "freeze"])
def test_all_layers_that_are_not_read_are_named_once_whether_they_are_on_or_not(tmp_path, state):
    drawing, space = hall()
    for layer in ("Stühle", "A-COLS"):
        getattr(drawing.layers.add(layer), state)()
        for kind in ("circle", "line", "hatch"):
            added(space, kind, layer)
    with pytest.warns(jo.JostleWarning, match="layers 'A-COLS', 'Stühle' of ") as told:
        size(drawing, tmp_path / "hall.dxf")
    assert len(told) == 1
    getattr(drawing.layers.add("WALLS"), state)()
    with pytest.warns(jo.JostleWarning, match="layers 'A-COLS', 'Stühle' of "):
        assert size(drawing, tmp_path / "hall.dxf") == pytest.approx(60.0)


@pytest.mark.parametrize("kind", ["circle", "hatch", "solid", "block"])
def test_walls_and_columns_may_be_on_several_layers(tmp_path, kind):
    drawing, space = hall()
    added(space, kind, "Stützen")
    drawing.saveas(tmp_path / "hall.dxf")
    plan = read_plan(tmp_path / "hall.dxf", DXF(walls=["walls", "Stützen"]))
    taken = 0.3**2 * np.pi if kind == "circle" else 1.0
    assert plan.size == pytest.approx(60.0 - taken, abs=2e-3)
    assert len(plan.columns) == (kind == "circle")


SCENARIO = """
[problem]
kind = "crowd"
plan = { file = "hall.dxf", walls = LAYERS }
groups = [{ n = 2, radius = 0.2 }]

[scheme]
kind = "venel"

[run]
t = 1.0
h = 0.05
"""


def test_a_scenario_reads_columns_from_several_layers(tmp_path):
    drawing, space = hall()
    added(space, "circle", "A-COLS")
    drawing.saveas(tmp_path / "hall.dxf")
    file = tmp_path / "hall.toml"
    file.write_text(SCENARIO.replace("LAYERS", '["WALLS", "A-COLS"]'))
    assert len(jo.scenarios.load(file).build().problem.plan.columns) == 1
    file.write_text(SCENARIO.replace("LAYERS", '"WALLS"'))
    with pytest.warns(jo.JostleWarning, match="layers 'A-COLS' of ") as told:
        jo.scenarios.load(file).build()
    assert len(told) == 1


def test_a_filled_area_on_the_layer_of_an_exit_is_named(tmp_path):
    drawing, space = hall()
    added(space, "solid", "EXITS-east")
    with pytest.warns(jo.JostleWarning, match=r"layers 'EXITS-east' \(SOLID\) of "):
        assert size(drawing, tmp_path / "hall.dxf") == pytest.approx(60.0)


def test_layers_of_texts_and_dimensions_cause_no_warning(tmp_path):
    drawing, space = hall()
    space.add_linear_dim((0, 3), (0, 3), (10, 3), dxfattribs={"layer": "A-DIMS"}).render()
    space.add_text("Hall", dxfattribs={"layer": "A-TEXT", "insert": (2, 2)})
    drawing.layers.add("EMPTY")
    drawing.saveas(tmp_path / "hall.dxf")
    assert len(read_plan(tmp_path / "hall.dxf", DXF()).walls) == 5


def test_walls_need_a_layer(tmp_path):
    hall()[0].saveas(tmp_path / "hall.dxf")
    with pytest.raises(jo.InvalidValue, match="at least one layer"):
        read_plan(tmp_path / "hall.dxf", DXF(walls=[]))
    with pytest.raises(jo.InvalidValue, match=r"layer 'A or B' of .* has no lines"):
        read_plan(tmp_path / "hall.dxf", DXF(walls=["A", "B"]))
