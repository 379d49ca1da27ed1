"""Crowds on their plans: names, scale bar, counters, rings of people in jams, maps."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import EllipseCollection, LineCollection, QuadMesh

import jostle as jo
from jostle._tools.colours import GROUPS, LIGHT
from jostle.crowds import DXF, read_plan, write_plan
from jostle.crowds.model.facts import crowd_facts
from jostle.viz.floor_plans import EXIT_COLOUR, JAM_COLOUR, LAYERS
from plain import crowd
from rows import few

matplotlib.use("Agg")
pytest.importorskip("shapely")


@pytest.fixture(scope="module")
def run():
    rooms = [[(0, 0), (6, 0), (6, 4), (0, 4)], [(6, 0), (12, 0), (12, 4), (6, 4)]]
    exits = {"east": ((12, 1), (12, 1.5)), "west": ((0, 1), (0, 2))}
    plan = jo.crowds.Plan(rooms, exits=exits, doors=[((6, 1), (6, 2))], columns=[(3, 3, 0.3)])
    groups = [
        jo.crowds.Group("adults", 12, radius=0.2, speed=1.3, goal="east"),
        jo.crowds.Group("children", 8, radius=0.15, speed=1.0, goal="west"),
    ]
    people = crowd(groups, room=plan)
    return jo.solve(people, jo.Venel(), t=12.0, h=0.1, every=0.5)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def words(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


def test_openings_have_names_and_there_is_a_scale_bar(run):
    ax = jo.viz.plan(run, 4)
    assert words(ax) == ["east", "west", "door 0", "2 m"]
    labels = [text.get_text() for text in ax.figure.legends[0].get_texts()]
    assert labels[:2] == ["adults", "children"]
    assert "in a jam" in labels[2]


def test_people_who_have_not_come_in_yet_are_not_counted_inside():
    floor = [(0, 0), (6, 0), (6, 4), (0, 4)]
    plan = jo.crowds.Plan(floor, exits={"east": ((6, 1), (6, 2))})
    people = crowd(jo.crowds.Group("late", 3, radius=0.2, enters=[0.0, 0.0, 2.0], start=floor), room=plan)
    sol = jo.solve(people, jo.Venel(), t=3.0, h=0.1)
    assert "inside 2    out 0" in jo.viz.plan(sol, 1).get_title(loc="left")


def test_names_of_openings_are_where_nobody_walks():
    """The stairs are at the lower corners of a stand, in the middle of the picture."""
    stand = jo.scenarios.load("stand").build()
    ax = jo.viz.plan(stand.problem.plan)
    ax.figure.canvas.draw()
    boxes = {
        text.get_text().split(",")[0]: text.get_window_extent().transformed(ax.transData.inverted())
        for text in ax.texts
    }
    for name in ("west stairs", "east stairs", "street"):
        box = boxes[name]
        x, y = np.meshgrid(np.linspace(box.x0, box.x1, 20), np.linspace(box.y0, box.y1, 5))
        assert not stand.problem.plan.inside(np.stack([x.ravel(), y.ravel()], axis=1)).any(), name


def test_counters_count_by_exit(run):
    uses = jo.crowds.exit_use(run)
    for k in (0, 8, -1):
        out = {name: int((use.t <= run.t[k]).sum()) for name, use in uses.items()}
        title = jo.viz.plan(run, k).get_title(loc="left")
        total = sum(out.values())
        assert f"inside {20 - total}    out {total}  (east {out['east']}, west {out['west']})" in title


def test_people_in_a_jam_have_a_ring(run):
    plan = run.problem.plan
    slow = [np.linalg.norm(u, axis=1) < 0.2 * crowd_facts(run).speeds for u in run.u]
    counts = [
        int((each & plan.inside(q) & np.isfinite(q).all(axis=1)).sum()) for each, q in zip(slow, run.q, strict=True)
    ]
    k = 1 + int(np.argmax(counts[1:]))
    discs = next(each for each in jo.viz.plan(run, k).collections if isinstance(each, EllipseCollection))
    red = matplotlib.colors.to_rgba(JAM_COLOUR)
    ringed = (np.abs(discs.get_edgecolors() - red).max(axis=1) < 1e-6).sum()
    assert ringed == counts[k] > 0


@pytest.mark.parametrize("layer", few(LAYERS))
def test_every_layer_is_drawn_with_the_walls_over_it(run, layer):
    ax = jo.viz.plan(run, layer=layer)
    mesh = next(each for each in ax.collections if isinstance(each, QuadMesh))
    walls = [each for each in ax.collections if not isinstance(each, QuadMesh)]
    assert min(wall.get_zorder() for wall in walls) > mesh.get_zorder()
    assert len(ax.figure.axes) == 2
    ax.figure.canvas.draw()


def test_the_map_of_forces_has_the_largest_force(run):
    ax = jo.viz.plan(run, layer="force")
    mesh = next(each for each in ax.collections if isinstance(each, QuadMesh))
    area = run.problem.plan
    loads = jo.crowds.crowd_forces(run).load
    inside = np.array([area.inside(q) & np.isfinite(q).all(axis=1) for q in run.q])
    assert mesh.get_array().max() == pytest.approx(loads[inside].max())


def test_wide_plans_are_drawn_below_each_other():
    hall = jo.crowds.Plan([(0, 0), (60, 0), (60, 15), (0, 15)], exits={"east": ((60, 5), (60, 8))})
    people = crowd(5, radius=0.2, room=hall, speed=1.3)
    figure = jo.viz.plans(jo.solve(people, jo.Venel(), t=1.0, h=0.1), 3)
    left, bottom = zip(*[ax.get_position().p0 for ax in figure.axes], strict=True)
    figure.canvas.draw()
    assert len(set(left)) == 1
    assert list(bottom) == sorted(bottom, reverse=True)
    across = 0.4 / 60.0 * figure.get_figwidth() * 100
    assert across > 6.0, "pixels of a person at 100 dots per inch"


def test_an_unknown_layer_names_those_that_there_are(run):
    with pytest.raises(jo.InvalidValue, match="'level of service', 'speed'"):
        jo.viz.plan(run, layer="heat")


def test_people_who_have_not_reacted_are_not_in_a_jam():
    plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"east": ((9, 1), (9, 2))})
    people = crowd(1, radius=0.2, room=plan, q0=[[2.0, 1.5]], speed=1.0, reaction=5.0)
    sol = jo.solve(people, jo.Venel(), t=2.0, h=0.1, every=1.0)
    ax = jo.viz.plan(sol)
    [discs] = [one for one in ax.collections if type(one).__name__ == "EllipseCollection"]
    assert discs.get_edgecolor()[0].tolist() == [1.0, 1.0, 1.0, 1.0]


def test_a_plan_is_drawn_before_a_run_with_the_widths_of_its_openings(run):
    ax = jo.viz.plan(run.problem.plan)
    assert words(ax) == ["east, 0.50 m", "west, 1.00 m", "door 0, 1.00 m", "2 m"]
    assert ax.get_title(loc="left") == "47.72 m²    2 exits, together 1.50 m wide"
    assert not any(isinstance(each, EllipseCollection) for each in ax.collections)
    walls = next(each for each in ax.collections if isinstance(each, LineCollection))
    assert len(walls.get_segments()) == len(run.problem.plan.walls)
    assert ax.figure.legends == []


def test_people_are_drawn_where_they_start(run):
    ax = jo.viz.plan(run.problem)
    discs = next(each for each in ax.collections if isinstance(each, EllipseCollection))
    assert discs.get_offsets().tolist() == run.problem.q0.tolist()
    colours = {tuple(each) for each in discs.get_facecolors().tolist()}
    assert colours == {matplotlib.colors.to_rgba(GROUPS[k]) for k in (0, 1)}
    assert ax.get_title(loc="left").endswith("20 people")
    assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == ["adults", "children"]
    other = jo.viz.plan(run.problem, ax=plt.figure().subplots())
    assert other.figure.legends == []


def test_floors_stairs_gates_and_those_who_come_later_are_drawn():
    floors = [[(0, 0), (6, 0), (6, 4), (0, 4)], [(16, 0), (22, 0), (22, 4), (16, 4)]]
    stairs = jo.crowds.Link("stairs <1>", ((6, 1), (6, 2)), ((16, 1), (16, 2)), length=5.0)
    plan = jo.crowds.Plan(floors, exits={"east": ((22, 1), (22, 3))}, links=[stairs])
    group = jo.crowds.Group("late", 4, radius=0.2, enters=[0.0, 0.0, 5.0, 9.0], start=floors[0])
    people = crowd([group], room=plan, gates=[jo.crowds.Gate("east", open=[(10.0, 60.0)], most=30)])
    ax = jo.viz.plan(people)
    said = words(ax)
    assert "east, 2.00 m, open 10 to 60 s, for 30 people" in said
    assert "stairs <1>, 1.00 m, 5 m long" in said
    assert {"29 m²", "24 m²"} <= set(said)
    assert ax.get_title(loc="left").endswith("4 people, 2 of them later")
    assert sum(line.get_linestyle() == "--" for line in ax.lines) == 1, "the region in which they appear"
    colours = {line.get_color(): line.get_xydata().tolist() for line in ax.lines}
    assert colours[LIGHT.wall] == [[22.0, 1.0], [22.0, 3.0]], "it is closed at the start"
    assert EXIT_COLOUR not in colours
    ax.figure.canvas.draw()


def test_a_plan_has_no_frames_and_no_maps(run):
    for wrong in ({"layer": "density"}, {"k": 3}):
        with pytest.raises(jo.InvalidValue, match="belong to a run"):
            jo.viz.plan(run.problem.plan, **wrong)


def test_pictures_show_names_of_rooms_and_the_state_of_gates(tmp_path):
    """The side exit opens after 2 s; the main exit closes behind the first person. A file keeps all of it."""
    text = """
[problem]
kind = "crowd"
behaviour = { kind = "plain" }
rooms = [{ corners = [[0, 0], [9, 0], [9, 3], [0, 3]] }]
labels = [{ name = "Hall", place = [4.5, 1.5] }]
exits = [{ name = "main", ends = [[9, 1], [9, 2]] }, { name = "side", ends = [[0, 1], [0, 2]] }]
gates = [{ at = "main", most = 1 }, { at = "side", open = [[2.0, inf]] }]
groups = [{ places = [[7.5, 1.5], [5.5, 1.5]], radius = 0.2, speed = 1.0, goal = "main" }]
[run]
t = 4.0
h = 0.1
every = 0.5
"""
    run = jo.scenarios.parse(text).build()
    sol = jo.solve(**run._replace(until=None)._asdict())
    jo.io.write(sol, tmp_path / "run.vtkhdf")
    for shown in (sol, jo.io.read(tmp_path / "run.vtkhdf")):
        early, late = words(jo.viz.plan(shown, 2)), words(jo.viz.plan(shown, -1))
        assert {"Hall", "main (open)", "side (closed)"} <= set(early)
        assert {"main (closed)", "side (open)"} <= set(late)


def test_names_of_rooms_are_texts_of_a_drawing(tmp_path):
    pytest.importorskip("ezdxf")
    exits = {"east": ((9, 1), (9, 2))}
    plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits=exits, labels={"Hall 1": (4.5, 1.5)})
    write_plan(plan, tmp_path / "plan.dxf")
    assert {name: at.tolist() for name, at in read_plan(tmp_path / "plan.dxf", DXF()).labels.items()} == {
        "Hall 1": [4.5, 1.5]
    }
    text = """
[problem]
kind = "crowd"
plan = { file = "plan.dxf", shift = [10.0, 0.0] }
groups = [{ n = 1 }]
[run]
t = 9.0
"""
    (tmp_path / "hall.toml").write_text(text)
    scenario = jo.scenarios.load(tmp_path / "hall.toml")
    assert [(one.name, one.place) for one in scenario.problem.labels] == [("Hall 1", (14.5, 1.5))]


def test_names_with_dollar_signs_are_drawn_as_they_are(tmp_path):
    """Dollar signs enclose formulas in matplotlib, and most names are not formulas."""
    odd = r"gate $\x$"
    box, exits = [(0, 0), (6, 0), (6, 4), (0, 4)], {odd: ((6, 1), (6, 2)), "west $1$": ((0, 1), (0, 2))}
    room = jo.crowds.Plan(box, exits=exits, labels={odd: (3, 3)})
    groups = [jo.crowds.Group(name, 2, radius=0.2) for name in (odd, "others")]
    people = crowd(groups, room=room)
    sol = jo.solve(people, jo.Venel(), t=1.0, h=0.1, every=0.5)
    drawn = [jo.viz.plan(room), jo.viz.plan(people), jo.viz.plan(sol), jo.viz.draw(sol, colour="group")]
    for number, one in enumerate(drawn):
        figure = one if hasattr(one, "savefig") else one.figure
        figure.savefig(tmp_path / f"{number}.png")  # matplotlib reads formulas when it draws
        found = figure.findobj(lambda text: isinstance(text, matplotlib.text.Text) and "gate" in text.get_text())
        assert found
        assert all("$" not in text.get_text().replace(r"\$", "") for text in found)
    html = jo.viz.report(sol, tmp_path / "run.html", film=False).read_text()
    assert odd in html
