"""Scenario files whose floor plan is a drawing, a picture or well-known text."""

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import WKT, Picture, write_plan
from jostle.scenarios import ScenarioError, load, parse

pytest.importorskip("ezdxf")
BOX = [(0, 0), (8, 0), (8, 4), (0, 4)]
EAST, STAIRS = ((8, 1), (8, 3)), ((0, 1), (0, 2))
REST = """
groups = [{ n = 4 }]
[run]
t = 60.0
h = 0.05
"""


def hall(**exits):
    return jo.crowds.Plan(BOX, exits=exits, walls=[[(4, 0), (4, 2)]])


def write(folder, plan, rest=REST, more=""):
    file = folder / "building.toml"
    file.write_text(f'[problem]\nkind = "crowd"\nplan = {plan}\n{more}{rest}')
    return file


def test_a_drawing_is_the_plan_in_the_unit_of_the_drawing(tmp_path):
    ezdxf = pytest.importorskip("ezdxf")
    drawing = ezdxf.new()
    drawing.units = ezdxf.units.MM
    for a, b in [((8000, 1000), (8000, 0)), ((8000, 0), (0, 0)), ((0, 0), (0, 4000)), ((0, 4000), (8000, 4000))]:
        drawing.modelspace().add_line(a, b, dxfattribs={"layer": "WALLS"})
    drawing.modelspace().add_line((8000, 4000), (8000, 3000), dxfattribs={"layer": "WALLS"})
    drawing.modelspace().add_line((8000, 1000), (8000, 3000), dxfattribs={"layer": "EXITS-east"})
    drawing.saveas(tmp_path / "floor.dxf")
    plan = load(write(tmp_path, '"floor.dxf"')).build().problem.plan
    assert plan.area.area == pytest.approx(32.0)
    np.testing.assert_allclose(np.sort(plan.exits["east"], axis=0), EAST)


@pytest.mark.parametrize("kind", ["dxf", "png", "wkt"])
def test_every_kind_of_drawing_gives_the_same_building(tmp_path, kind):
    plan, file = hall(east=EAST), tmp_path / f"floor.{kind}"
    write_plan(plan, file, Picture(scale=0.1) if kind == "png" else None)
    said = f'{{ file = "{file.name}", scale = {0.1 if kind == "png" else 1.0} }}'
    scenario = load(write(tmp_path, said))
    sol = jo.solve(**scenario.build()._asdict())
    assert sol.status == "stopped"
    assert sol.problem.plan.area.area == pytest.approx(32.0, rel=0.01)
    again = parse(scenario.text).build().problem  # the text of the scenario has all that the drawing said
    np.testing.assert_array_equal(again.q0, sol.problem.q0)
    np.testing.assert_array_equal(again.plan.walls, sol.problem.plan.walls)


def test_well_known_text_has_the_scale_that_the_file_gives(tmp_path):
    places = [[(100.0 * x, 100.0 * y) for x, y in points] for points in (BOX, EAST)]
    plan = jo.crowds.Plan(places[0], exits={"east": places[1]}, walls=[[(400, 0), (400, 200)]])  # in centimetres
    (tmp_path / "floor.wkt").write_text(WKT().dumps(plan))
    found = load(write(tmp_path, '{ file = "floor.wkt", scale = 0.01 }')).build().problem.plan
    metres = hall(east=EAST)
    assert found.area.equals_exact(metres.area, 1e-12, normalize=True)
    np.testing.assert_allclose(found.exits["exit 0"], metres.exits["east"])
    np.testing.assert_allclose(np.sort(found.walls, axis=0), np.sort(metres.walls, axis=0))


def test_floors_of_two_drawings_are_joined_by_stairs_at_their_openings(tmp_path):
    write_plan(hall(east=EAST, foot=STAIRS), tmp_path / "ground.dxf")
    write_plan(hall(top=STAIRS), tmp_path / "upper.dxf")
    plan = '[{ file = "ground.dxf" }, { file = "upper.dxf", shift = [30.0, 0.0] }]'
    more = 'stairs = [{ name = "stairs", start = "top", end = "foot", length = 5.0, pace = "down" }]\n'
    rest = REST.replace("n = 4", "places = [[32.0, 1.0]]")
    sol = jo.solve(**load(write(tmp_path, plan, rest, more)).build()._asdict())
    assert sol.status == "stopped"
    assert list(sol.problem.plan.exits) == ["east"]
    assert jo.crowds.crossings(sol, EAST).person.tolist() == [0]


@pytest.mark.parametrize(
    ("plan", "more", "message"),
    [
        ('"missing.dxf"', "", "building.toml:3: problem.plan: .*missing.dxf cannot be read as a DXF drawing"),
        ('"floor.svg"', "", "floor.svg: unknown kind of drawing; the suffixes are .dxf, .png, .bmp"),
        ('{ file = "floor.png" }', "", "a .png drawing needs scale = "),
        ('[{ file = "floor.wkt" }, { file = "floor.wkt" }]', "", "problem.plan.1: two drawings have an exit 'exit 0'"),
        (
            '"floor.wkt"', 'stairs = [{ name = "s", start = "top", end = "exit 0", length = 5.0 }]\n',
            'problem.stairs.0.start: must be two points, or one of "exit 0"',
        ),
        ("3", "", "problem.plan"),
        ('"floor.wkt"', "rooms = 3\n", "building.toml:4: problem.rooms = 3: must be a list"),
        ('"floor.wkt"', "exits = 3\n", "building.toml:4: problem.exits = 3: must be a list"),
        ('{ file = "floor.wkt", scal = 2.0 }', "", "unknown key 'scal'"),
        ('{ file = "floor.wkt", tolerance = 0.1 }', "", "plan.tolerance = 0.1: must be left out: it is for .png"),
        ('{ file = "floor.wkt", walls = "A" }', "", 'plan.walls = "A": must be left out: it is for .dxf'),
        ('[{ file = "a.png", scale = 0.1, exits = "B" }]', "", 'plan.0.exits = "B": must be left out: it is for .dxf'),
    ],
)  # fmt: skip
def test_mistakes_are_named(tmp_path, plan, more, message):
    (tmp_path / "floor.wkt").write_text(WKT().dumps(hall(east=EAST)))
    with pytest.raises(ScenarioError, match=message):
        load(write(tmp_path, plan, more=more))


def test_a_text_without_a_folder_reads_no_drawing(tmp_path):
    text = write(tmp_path, '"floor.dxf"').read_text()
    with pytest.raises(ScenarioError, match="a drawing needs a scenario file"):
        parse(text)
    with pytest.raises(ScenarioError, match=r"the key 'rooms' is missing: give rooms = .* or plan = "):
        parse(text.replace('plan = "floor.dxf"', ""))


def test_a_scenario_that_its_drawings_make_too_long_is_refused(tmp_path, monkeypatch):
    """The trajectory contains both in one text, and could not be resumed."""
    (tmp_path / "floor.wkt").write_text(WKT().dumps(hall(east=EAST)))
    file = write(tmp_path, '{ file = "floor.wkt", scale = 1.0 }')
    monkeypatch.setattr("jostle.scenarios.toml.MAX_FILE_SIZE", len(file.read_text()) + 20)
    with pytest.raises(ScenarioError, match=r"building\.toml with its drawings: is larger than"):
        load(file)
