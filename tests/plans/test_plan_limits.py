"""Drawings and pictures from strangers: units, limits that are named, and no error of other packages."""

import os
import random
import struct
import zlib
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from jostle.crowds import DXF, WKT, Picture, read_plan
from jostle.errors import InvalidValue, JostleError, JostleWarning
from jostle.plans import dxf, limits, picture
from jostle.plans.dxf import METRES
from jostle.plans.wkt import geometry_of
from jostle.scenarios import ScenarioError, load

ezdxf = pytest.importorskip("ezdxf")
image = pytest.importorskip("PIL.Image")


def room(path, unit, size=10.0, change=None):
    """A square room with an exit, of this size in units of the drawing."""
    drawing = ezdxf.new(units=unit)
    space, s = drawing.modelspace(), size
    for a, b in (((0, 0), (s, 0)), ((s, s), (0, s)), ((0, s), (0, 0)), ((s, 0), (s, 0.4 * s)), ((s, 0.6 * s), (s, s))):
        space.add_line(a, b, dxfattribs={"layer": "WALLS"})
    space.add_line((s, 0.4 * s), (s, 0.6 * s), dxfattribs={"layer": "EXITS"})
    if change is not None:
        change(drawing, space)
    drawing.header["$INSUNITS"] = unit
    drawing.saveas(path)
    return path


def width(plan):
    low, _, high, _ = plan.area.bounds
    return high - low


@pytest.mark.parametrize("code", METRES)
def test_lengths_are_metres_in_every_unit(tmp_path, code):
    path = room(tmp_path / "room.dxf", code, 10.0 / METRES[code])
    assert width(read_plan(path, DXF())) == pytest.approx(10.0, rel=1e-9)
    known = ezdxf.units.METER_FACTOR[code]
    if known is not None:
        assert METRES[code] == pytest.approx(1.0 / known, rel=2e-3)  # its factors are rounded


def test_a_drawing_in_millimetres_is_no_room_of_ten_kilometres(tmp_path):
    path = room(tmp_path / "room.dxf", 4, 10_000.0)
    assert width(read_plan(path, DXF())) == pytest.approx(10.0)
    assert width(read_plan(path, DXF(scale=1e-2))) == pytest.approx(100.0)  # a scale is stronger than the header


def test_a_drawing_without_a_unit_needs_a_scale(tmp_path):
    path = room(tmp_path / "room.dxf", 0, 10_000.0)
    with pytest.raises(InvalidValue, match=r"has no unit in its header .*give scale="):
        read_plan(path, DXF())
    assert width(read_plan(path, DXF(scale=0.001))) == pytest.approx(10.0)
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InvalidValue, match="scale must be a positive number"):
            read_plan(path, DXF(scale=wrong))


@pytest.mark.parametrize(("unit", "size", "metres"), [(6, 10_000.0, "1e+04"), (4, 10.0, "0.01"), (6, 2001.0, "2e+03")])
def test_a_building_of_an_implausible_size_is_refused(tmp_path, unit, size, metres):
    path = room(tmp_path / "room.dxf", unit, size)
    with pytest.raises(InvalidValue, match=rf"would measure {metres.replace('+', '.')} m,.*give scale=") as caught:
        read_plan(path, DXF())
    scale = float(str(caught.value).rsplit("=", 1)[1])
    assert width(read_plan(path, DXF(scale=scale))) == pytest.approx(size * METRES[unit])


def nested(depth, each, leaf=True):
    def change(drawing, space):
        block = drawing.blocks.new("B0")
        if leaf:
            block.add_line((0, 0), (1, 1))
        for level in range(1, depth):
            block = drawing.blocks.new(f"B{level}")
            for _ in range(each):
                block.add_blockref(f"B{level - 1}", (0, 0))
        space.add_blockref(f"B{depth - 1}", (0, 0))

    return change


def recursive(drawing, space):
    drawing.blocks.new("A").add_blockref("B", (0, 0))
    drawing.blocks.new("B").add_blockref("A", (0, 0))
    space.add_blockref("A", (0, 0))


def array_of(drawing, space):
    drawing.blocks.new("A").add_line((0, 0), (1, 1))
    space.add_blockref(
        "A", (0, 0), dxfattribs={"row_count": 30000, "column_count": 30000, "row_spacing": 1, "column_spacing": 1}
    )


BOMBS = {
    "nested": (nested(12, 10), "entities, blocks expanded, more than the limit MAX_ENTITIES = 200000"),
    "nested and empty": (nested(12, 10, leaf=False), "MAX_ENTITIES"),
    "deep": (nested(40, 1), "blocks inside each other, more than the limit MAX_NESTING = 32"),
    "recursive": (recursive, "contains itself"),
    "array": (array_of, "MAX_ENTITIES"),
    "circle": (
        lambda _, space: space.add_circle((0, 0), 1e12, dxfattribs={"layer": "WALLS"}),
        r"curve \(CIRCLE\).*more than the limit MAX_CURVE = 10000",
    ),
    "ellipse": (lambda _, space: space.add_ellipse((0, 0), (1e12, 0), dxfattribs={"layer": "WALLS"}), "MAX_CURVE"),
    "spline": (
        lambda _, space: space.add_spline_control_frame(
            [(0, 0), (1e12, 1e12), (0, 5), (1, 1)], dxfattribs={"layer": "WALLS"}
        ),
        "MAX_CURVE",
    ),
    "bulge": (
        lambda _, space: space.add_lwpolyline([(0, 0, 1e12), (1, 1, 0)], format="xyb", dxfattribs={"layer": "WALLS"}),
        "MAX_CURVE",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_drawings_that_would_not_end_are_refused_by_the_name_of_a_limit(tmp_path, name):
    change, match = BOMBS[name]
    path = room(tmp_path / "room.dxf", 6, change=change)
    with pytest.raises(InvalidValue, match=match) as caught:
        read_plan(path, DXF())
    assert str(path) in str(caught.value)


def test_blocks_are_still_read(tmp_path):
    def change(drawing, space):
        drawing.blocks.new("COLUMN").add_circle((0, 0), 0.3, dxfattribs={"layer": "WALLS"})
        space.add_blockref("COLUMN", (5, 5))

    plan = read_plan(room(tmp_path / "room.dxf", 6, change=change), DXF())
    np.testing.assert_allclose(plan.columns, [[5.0, 5.0, 0.3]])


def test_corners_that_crowd_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(dxf, "CROWDED", 3)

    def change(_, space):
        for k in range(60):
            space.add_line((1 + 1e-6 * k, 1), (2, 2 + 1e-6 * k), dxfattribs={"layer": "WALLS"})

    with pytest.raises(InvalidValue, match="CROWDED"):
        read_plan(room(tmp_path / "room.dxf", 6, change=change), DXF())
    monkeypatch.setattr(dxf, "MAX_CORNERS", 50)
    with pytest.raises(InvalidValue, match=r"corners, more than the limit MAX_CORNERS = 50"):
        read_plan(room(tmp_path / "room.dxf", 6, change=change), DXF())


@pytest.mark.parametrize("kind", ["tangled", "parallel"])
def test_a_tangle_of_lines_is_refused_before_their_corners_are_computed(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_CROSSINGS", 500)
    monkeypatch.setattr(limits, "MAX_NEAR_LINES", 3000)
    monkeypatch.setattr(dxf, "_enclosed", None)  # asks GEOS
    rng = np.random.default_rng(0)
    lines = rng.uniform(1.0, 9.0, (100, 2, 2))
    if kind == "parallel":  # lines whose boxes overlap, and which do not cross
        lines = np.array([[1.0, 1.0], [8.0, 8.0]]) + rng.uniform(0.0, 1.0, (100, 1, 1)) * [0.4, -0.4]

    def change(_, space):
        for a, b in lines:
            space.add_line(a, b, dxfattribs={"layer": "WALLS"})

    words = {"tangled": "cross, more than the limit MAX_CROSSINGS = 500", "parallel": "MAX_NEAR_LINES = 3000"}[kind]
    with pytest.raises(InvalidValue, match=words):
        read_plan(room(tmp_path / "room.dxf", 6, change=change), DXF())


@given(st.lists(st.tuples(*4 * [st.integers(0, 6)]), min_size=2, max_size=12))
def test_the_lines_that_cross_are_those_that_cross_in_geos(ends):
    import shapely

    segments = np.array([(end[:2], end[2:]) for end in ends if end[:2] != end[2:]], dtype=float)
    assume(len(segments))
    lines = shapely.linestrings(segments)
    expected = sum(shapely.crosses(lines[i], lines[j]) for i in range(len(lines)) for j in range(i))
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(limits, "MAX_CROSSINGS", expected)
        limits.check_crossings(segments, "these")
        changed.setattr(limits, "MAX_CROSSINGS", expected - 1)
        with pytest.raises(InvalidValue, match=f"these has {expected} pairs of lines that cross"):
            limits.check_crossings(segments, "these")


@pytest.mark.parametrize("deep", [False, True], ids=["", "in a block"])
def test_walls_in_another_drawing_are_named(deep, tmp_path):
    def change(drawing, space):
        drawing.add_xref_def("core walls.dwg", "core")
        if deep:
            block = drawing.blocks.new("floor")
            block.add_blockref("core", (0, 0))
            space.add_blockref("floor", (0, 0))
        else:
            space.add_blockref("core", (0, 0), dxfattribs={"layer": "WALLS"})

    with pytest.warns(JostleWarning, match=r"refers to other drawings, which are not read: core walls\.dwg"):
        plan = read_plan(room(tmp_path / "room.dxf", 6, change=change), DXF())
    assert width(plan) == pytest.approx(10.0)


@pytest.mark.parametrize("text", ["GEOMETRYCOLLECTION (", "("], ids=["collections", "parentheses"])
def test_nested_well_known_text_is_refused_and_does_not_end_the_process(text):
    for depth in (40, 100_000):
        with pytest.raises(InvalidValue, match=r"nested \d+ deep, more than MAX_DEPTH = 32"):
            WKT().loads(text * depth + "POLYGON ((0 0, 4 0, 4 3, 0 3, 0 0))" + ")" * depth)
        with pytest.raises(InvalidValue, match="more than MAX_DEPTH"):
            geometry_of(text * depth)


def test_damaged_drawings_never_raise_an_error_of_others(tmp_path):
    path = room(tmp_path / "room.dxf", 6, change=nested(3, 2))
    whole, chance = path.read_bytes(), random.Random(0)
    for _ in range(30):
        broken = bytearray(whole)
        for at in chance.sample(range(len(whole)), chance.choice([3, 300])):
            broken[at] = chance.randrange(256)
        path.write_bytes(broken[: chance.randrange(len(whole) // 2, len(whole))])
        try:
            read_plan(path, DXF())
        except JostleError as error:
            assert str(path) in str(error)  # noqa: PT017


def test_pipes_folders_and_large_files_are_refused_at_once(tmp_path, monkeypatch):
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    for read in (lambda path: read_plan(path, DXF()), lambda path: read_plan(path, Picture(scale=1.0))):
        for path, match in ((pipe, "not a regular file"), (tmp_path, "not a regular file"), ("\0", "cannot be read")):
            with pytest.raises(InvalidValue, match=match):
                read(path)
    with pytest.raises(ScenarioError, match="is a pipe or a device"):
        load(pipe)
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", 1000)
    with pytest.raises(InvalidValue, match=r"bytes, more than the limit MAX_FILE_BYTES = 1000"):
        read_plan(room(tmp_path / "room.dxf", 6), DXF())


def declared(path, columns, rows):
    """A PNG that says how large it is, and has no pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b""))
    return path


@pytest.mark.filterwarnings("error")
def test_pictures_of_too_many_pixels_are_refused_before_they_are_unpacked(tmp_path):
    for side in (5001, 9000, 60_000):
        with pytest.raises(InvalidValue, match="limit MAX_PIXELS = 25000000"):
            read_plan(declared(tmp_path / "large.png", side, side), Picture(scale=0.1))


def test_a_photograph_is_refused_before_its_outline_is_traced(tmp_path, monkeypatch):
    monkeypatch.setattr(picture, "MAX_RUNS", 100)
    pixels = np.random.default_rng(0).integers(0, 2, (60, 60, 1)) * np.array([[[255, 255, 255]]])
    pixels[30:33] = 255
    pixels[30, 59] = (255, 0, 0)
    image.fromarray(pixels.astype(np.uint8)).save(tmp_path / "noise.png")
    with pytest.raises(InvalidValue, match=r"runs of pixels.*MAX_RUNS = 100"):
        read_plan(tmp_path / "noise.png", Picture(scale=0.1))


def test_noise_is_refused_before_its_outline_is_traced(tmp_path, monkeypatch):
    """The outline of each speck takes GEOS a while, although there are few runs of pixels."""
    monkeypatch.setattr(picture, "_runs", None)
    pixels = np.where(np.random.default_rng(0).random((250, 250, 1)) < 0.3, 0, 255) * np.ones(3, dtype=int)
    pixels[0] = pixels[-1] = pixels[:, 0] = pixels[:, -1] = 0
    pixels[1, 9:14], pixels[0, 9:14] = 255, (255, 0, 0)
    image.fromarray(pixels.astype(np.uint8)).save(tmp_path / "noise.png")
    with pytest.raises(InvalidValue, match=r"noise\.png has \d+ corners, more than .* MAX_PICTURE_CORNERS = 20000"):
        read_plan(tmp_path / "noise.png", Picture(scale=0.1))


@given(arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 6))))
def test_the_corners_of_pixels_are_those_of_their_outline(pixels):
    import shapely

    row, column = np.nonzero(pixels)
    area = shapely.union_all(shapely.box(column, row, column + 1, row + 1))
    rings = shapely.get_rings(shapely.get_parts(shapely.simplify(area, 0.0))) if pixels.any() else []
    turns = 0
    for ring in rings:
        step = np.sign(np.diff(shapely.get_coordinates(ring), axis=0))
        turns += int((step != np.roll(step, 1, axis=0)).any(axis=1).sum())
    assert picture._corners(pixels) == turns


def test_broken_pictures_never_raise_an_error_of_others(tmp_path):
    path = tmp_path / "room.png"
    pixels = np.full((20, 20, 3), 0, dtype=np.uint8)
    pixels[2:18, 2:18] = 255
    pixels[8:12, 18:] = (255, 0, 0)
    image.fromarray(pixels).save(path)
    assert width(read_plan(path, Picture(scale=0.5))) == pytest.approx(8.0)
    for wrong in ([0, 0], "red", [300, 0, 0], [[0, 0, 0]]):
        with pytest.raises(InvalidValue, match="colour"):
            read_plan(path, Picture(scale=0.5, exit_colour=wrong))
    whole, chance = path.read_bytes(), random.Random(1)
    for _ in range(40):
        broken = bytearray(whole)
        for at in chance.sample(range(len(whole)), 3):
            broken[at] = chance.randrange(256)
        path.write_bytes(broken[: chance.randrange(len(whole) // 2, len(whole) + 1)])
        with suppress(JostleError):
            read_plan(path, Picture(scale=0.5))
    path.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n")
    with pytest.raises(InvalidValue, match="cannot be read as a picture"):
        read_plan(path, Picture(scale=0.5))
    with pytest.raises(InvalidValue, match="No such file"):
        read_plan(tmp_path / "nothing.png", Picture(scale=0.5))
