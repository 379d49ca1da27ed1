"""A file alone is drawn as the run itself: walls at rest and moving, groups, units, colours of plug-ins."""

import json
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from browsing import facts, image, place, scrub
from matplotlib.collections import EllipseCollection

import jostle as jo
from jostle.viz.movie import between
from jostle.viz.quantities import chosen
from jostle.viz.scene import Scene
from plain import crowd
from rows import few


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def shaken():
    """A disc that rests on a floor that goes up and down slower than things fall, beside a turning obstacle."""

    def paddle(t):
        turn = np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
        return np.array([[-1.0, -0.1], [1.0, -0.1], [1.0, 0.1], [-1.0, 0.1]]) @ turn.T + [5.0, 3.0]

    floor = jo.HalfSpace([0.0, 1.0], offset=lambda t: 0.1 * np.sin(5.0 * t), radii=0.5)
    within = jo.Balls([0.5]) & floor & jo.Polygons(paddle, radii=0.5)
    return jo.Motion(q0=[[0.0, 0.5]], force=[0.0, -10.0], within=within), jo.Maury()


def in_a_box():
    return jo.models.spheres(np.full(5, 0.4), box=([0, 0], [3, np.inf])), jo.Maury()


def in_a_silo():
    silo = jo.Vessel([(0.3, 0.0), (1.5, 1.0), (1.5, 3.0)], radii=0.2, base=lambda t: [0.05 * np.sin(t), 0.0, 0.0])
    q0 = [[0.0, 0.0, 2.0], [0.5, 0.0, 2.5]]
    return jo.Motion(q0=q0, force=[0.0, 0.0, -1.0], within=jo.Balls([0.2, 0.2]) & silo), jo.Maury()


def in_a_ring():
    within = jo.Balls([0.1, 0.1], period=[3.0, np.inf]) & jo.HalfSpace([0.0, 1.0], radii=0.1)
    return jo.Motion(q0=[[0.5, 1.0], [2.5, 1.0]], v0=[[1.0, 0.0], [0.0, 0.0]], within=within), jo.Maury()


def on_a_line():
    return jo.models.chain(3, gravity=1.0), jo.Maury()


def among_people():
    room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    return crowd(4, radius=0.25, room=room), jo.Venel()


def in_a_corner():
    """One body whose q has the shape (3,)."""
    return jo.Motion(q0=[1.0, 2.0, 3.0], v0=[0.0, 0.0, -1.0], within=jo.HalfSpace([0, 0, 1])), jo.Maury()


RUNS = [shaken, in_a_box, in_a_silo, in_a_ring, on_a_line, among_people, in_a_corner]


@pytest.fixture(scope="module", params=few(RUNS), ids=lambda run: run.__name__)
def both(request, tmp_path_factory):
    """The solution in memory, and the file that the same run wrote."""
    problem, scheme = request.param()
    settings = {"t": 1.0, "h": 0.05, "every": 0.25}
    path = tmp_path_factory.mktemp("both") / "run.vtkhdf"
    jo.solve(problem, scheme, **settings, output=jo.io.Output(path, contacts=True, dtype=float))
    return jo.solve(problem, scheme, **settings), jo.io.read(path)


def test_walls_are_the_same_at_saved_times_and_in_between(both):
    memory, file = map(Scene, both)
    assert (memory.dimension, memory.count, memory.sized) == (file.dimension, file.count, file.sized)
    view = memory.view(memory.frame(0))
    for seen, other in zip(view, file.view(file.frame(0)), strict=True):
        np.testing.assert_array_equal(seen, other)
    for t in (0.0, 0.1, 0.25, 0.6, 1.0):
        ours, theirs = (scene.walls(t, view.wider(0.1)) for scene in (memory, file))
        assert [line.kind for line in ours] == [line.kind for line in theirs] != []
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a.points, b.points)


def test_pictures_are_the_same(both):
    pictures = []
    for shown in both:
        figure = jo.viz.strip(shown, 2)
        figure.set_dpi(50)
        figure.canvas.draw()
        pictures.append(np.asarray(figure.canvas.buffer_rgba()))
    np.testing.assert_array_equal(*pictures)


def test_pages_are_the_same(both, tmp_path):
    pages = [jo.viz.page(shown, tmp_path / f"{k}.html").read_text() for k, shown in enumerate(both)]
    assert pages[0] == pages[1]


def test_a_body_on_a_moving_wall_stays_on_it_in_a_film(tmp_path):
    """Between saved times both move straight on, in memory and in a file."""
    problem, scheme = shaken()
    settings = {"t": 1.0, "h": 0.01, "every": 0.2}
    jo.solve(problem, scheme, **settings, output=jo.io.Output(tmp_path / "run.vtkhdf", dtype=float))
    for sol in (jo.solve(problem, scheme, **settings), jo.io.read(tmp_path / "run.vtkhdf")):
        scene = Scene(sol)
        for t in np.linspace(0.0, 1.0, 37):
            frame = between(scene, t)
            (floor,) = (shape for shape in scene.shapes(t) if shape.kind == "plane")
            assert frame.x[0, 1] - frame.radii[0] == pytest.approx(floor.points[1, 0], abs=1e-9)


def test_a_file_that_is_copied_is_drawn_the_same(tmp_path):
    problem, scheme = shaken()
    path = jo.io.write(jo.solve(problem, scheme, t=0.5, h=0.05), tmp_path / "run.vtkhdf", dtype=float)
    copy = jo.io.export(path, tmp_path / "copy.vtkhdf")
    pages = [jo.viz.page(each, tmp_path / "run.html", title="run").read_text() for each in (path, copy)]
    assert pages[0] == pages[1]


@pytest.fixture
def counterflow(tmp_path):
    """Two groups of one, in metres and seconds."""
    walkers = jo.Sweeping(q0=[[0.0, 0.0], [4.0, 0.0], [2.0, 2.0]], velocity=[0.1, 0.0], within=jo.Balls([0.3] * 3))
    groups = {"to the east": [0], "to the west": [1]}
    output = jo.io.Output(tmp_path / "run.vtkhdf", units=jo.io.SI, groups=groups, contacts=True)
    return jo.solve(walkers, jo.Venel(), t=1.0, h=0.5, output=output)


def test_units_are_written_where_they_are_known(counterflow):
    ax = jo.viz.draw(counterflow, 1)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("$x$ (m)", "$y$ (m)", "t = 0.5 s")
    assert ax.figure.axes[1].get_ylabel() == "speed (m/s)"
    assert jo.viz.draw(counterflow, colour="force").figure.axes[1].get_ylabel() == "reaction (m/s)"
    assert jo.viz.draw(counterflow, colour="number").figure.axes[1].get_ylabel() == "body number"


@pytest.mark.parametrize(
    ("name", "dimension", "unit"), [("force", 2, "N"), ("pressure", 2, "N/m"), ("pressure", 3, "Pa"), ("mass", 2, "kg")]
)
def test_forces_have_the_units_of_forces(tmp_path, name, dimension, unit):
    up = np.eye(dimension)[-1]
    ball = jo.Motion(q0=[up], force=-10.0 * up, within=jo.Balls([1.0]) & jo.HalfSpace(up, radii=1.0))
    output = jo.io.Output(tmp_path / "run.vtkhdf", units=jo.io.SI, contacts=True)
    scene = Scene(jo.solve(ball, jo.Maury(), t=0.1, h=0.1, output=output))
    assert chosen(scene, name).title(scene) == f"{name} ({unit})"


def test_groups_have_colours_of_their_own_and_names(counterflow):
    ax = jo.viz.draw(counterflow, colour="group")
    discs = next(c for c in ax.collections if isinstance(c, EllipseCollection))
    discs.update_scalarmappable()
    colours = [tuple(colour) for colour in discs.get_facecolor()]
    assert len(set(colours)) == 3, "two groups, and one who belongs to none"
    assert [text.get_text() for text in ax.figure.axes[1].get_yticklabels()] == ["to the east", "to the west"]


def test_a_run_without_groups_cannot_be_coloured_by_them(pile):
    with pytest.raises(jo.InvalidValue, match="the colour 'group' needs several groups of bodies"):
        jo.viz.draw(pile, colour="group")


def test_the_page_shows_groups_and_units(opened, counterflow):
    tab = opened(counterflow)
    assert tab.locator("#time").inner_text() == "t = 0 s · frame 1 of 3"
    assert tab.locator("#categories li").count() == 0
    assert tab.locator("#scale-name").inner_text() == "speed (m/s)"
    tab.locator("#colour").select_option("group")
    assert tab.locator("#categories li").all_inner_texts() == ["to the east", "to the west"]
    assert not tab.locator("#amounts").is_visible()
    assert tab.locator("#legend").get_attribute("aria-label") == "Colours: group, to the east, to the west"
    seen = image(tab)
    (a, b), (c, d), (e, f) = (np.round(place(tab, number)).astype(int) for number in range(3))
    assert seen[b, a].tolist() == pytest.approx([0x00, 0x72, 0xB2], abs=12)
    assert seen[d, c].tolist() == pytest.approx([0xF0, 0xE4, 0x42], abs=20)
    assert np.ptp(seen[f, e]) < 20, "not in a group is grey"
    for number, name in enumerate(["to the east", "to the west", "none"]):
        tab.locator("#body").fill(str(number))
        assert facts(tab)["group"] == name
    tab.locator("#colour").select_option("speed")
    assert tab.locator("#amounts").is_visible()


def test_the_page_shows_a_colour_of_a_plug_in(opened, pile, monkeypatch):
    monkeypatch.setattr(jo.viz.QUANTITIES, "_items", dict(jo.viz.QUANTITIES._items))
    jo.viz.QUANTITIES.register("energy", lambda frame: 0.5 * frame.mass * frame.speed**2)
    tab = opened(pile)
    scrub(tab, 10)
    scene = Scene(pile)
    for name in ("energy", "mass"):
        expected = chosen(scene, name).of(scene.frame(10))
        assert tab.evaluate("name => [...viewer.values(name)]", name) == pytest.approx(expected, rel=1e-5)
    tab.locator("#colour").select_option("energy")
    assert tab.locator("#scale-name").inner_text() == "energy"


def test_the_page_of_a_file_draws_moving_walls_frame_by_frame(opened, tmp_path):
    problem, scheme = shaken()
    path = tmp_path / "run.vtkhdf"
    jo.solve(problem, scheme, t=1.0, h=0.05, output=jo.io.Output(path, dtype=float))
    tab, heights = opened(path), []
    for k in (0, 6, 12):
        scrub(tab, k)
        walls = tab.evaluate("() => [...viewer.stage.frame.walls]")
        heights.append(walls[1] + tab.evaluate("() => viewer.source.about.origin[1]"))
    assert heights == pytest.approx([0.1 * np.sin(5.0 * 0.05 * k) for k in (0, 6, 12)], abs=1e-6)


def test_names_of_walls_reach_the_page(tmp_path):
    problem, scheme = in_a_box()
    text = jo.viz.page(jo.solve(problem, scheme, t=0.1, h=0.1), tmp_path / "run.html").read_text()
    about = json.loads(re.search('<script id="about"[^>]*>(.*?)</script>', text, re.DOTALL)[1])
    assert about["wall_names"] == ["wall q[0] >= lower", "wall q[1] >= lower", "wall q[0] <= upper"]
