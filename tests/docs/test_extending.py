"""The extensions of docs/about/extending.md: each is one file, does what it says, and cannot corrupt its neighbours."""

import importlib.util
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

import jostle as jo
from jostle.scenarios import KINDS
from jostle.schemes import SCHEMES
from jostle.solvers import SOLVERS
from plain import crowd

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "extensions"
MOST_LINES = 40
LISTS = (KINDS, SCHEMES, SOLVERS, jo.crowds.BEHAVIOURS, jo.crowds.PLAN_FORMATS, jo.io.EXPORTS, jo.viz.QUANTITIES)


@pytest.fixture
def extension(monkeypatch):
    """extension(name) is the module of that file; what it adds to open lists is taken back after the test."""
    for each in LISTS:
        monkeypatch.setattr(each, "_items", dict(each._items))

    def load(name):
        spec = importlib.util.spec_from_file_location(f"extension_{name}", FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look for the module of a class
        spec.loader.exec_module(module)
        return module

    return load


def test_every_extension_is_one_short_file_that_the_documentation_shows():
    page = (ROOT / "docs" / "about" / "extending.md").read_text()
    names = sorted(path.name for path in FOLDER.glob("*.py"))
    assert len(names) == 10
    for name in names:
        lines = (FOLDER / name).read_text().splitlines()
        assert len(lines) <= MOST_LINES, name
        assert max(map(len, lines)) <= 90, name  # so that the page shows whole lines
        assert f"../examples/extensions/{name}" in page


def test_the_problem_has_its_source_and_its_outlet_in_every_run(extension):
    mixer = extension("mixer").Mixer(30, radius=0.3)
    sol = jo.solve(mixer, jo.Maury(), t=2.0, h=0.02)
    there = np.isfinite(sol.q).all(axis=2)
    assert there.any(axis=0).all()  # all have come
    assert (sol.q[there][:, 1] > -0.3).all()
    assert not there[-1].all()  # and some have left
    assert jo.solve(mixer, jo.Maury(), t=60.0, h=0.02, every=1.0).status == "stopped"
    with pytest.warns(jo.errors.LongStep):
        jo.solve(mixer, jo.Maury(), t=0.2, h=0.1)


def test_the_scheme_is_of_second_order_in_free_flight(extension):
    HalfKick = extension("half_kick").HalfKick
    spring = jo.Motion(q0=[1.0], force=lambda t, q: -q)
    errors = [abs(jo.solve(spring, HalfKick(), t=1.0, h=h).q[-1, 0] - np.cos(1.0)) for h in (0.04, 0.02, 0.01)]
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 4.0, rtol=0.05)


def test_the_scheme_keeps_bodies_apart_and_is_chosen_by_its_name(extension):
    HalfKick = extension("half_kick").HalfKick
    text = 'problem = { kind = "cradle", e = 0.0 }\nscheme = { kind = "half_kick" }\nrun = { t = 1.0, h = 0.01 }'
    assert type(jo.scenarios.parse(text).build().scheme) is HalfKick
    sol = jo.solve(jo.models.chain(5), HalfKick(), t=0.2, h=0.01)
    assert sol.overlap < 1e-8


def test_the_scheme_forgets_nobody_who_comes_or_goes(extension):
    """It does not say that bodies may come and go, so that it is refused rather than wrong."""
    HalfKick = extension("half_kick").HalfKick
    some = jo.Motion(q0=[[0.0, 0.0], [3.0, 0.0]], within=jo.Balls([0.5, 0.5]), present=[True, False])
    with pytest.raises(jo.errors.SchemeRefuses, match="none may come or go"):
        jo.solve(some, HalfKick(), t=0.1, h=0.01)


def test_the_set_is_walked_around(extension):
    OutsideEllipse = extension("outside_ellipse").OutsideEllipse
    drift = jo.Sweeping(q0=[-4.0, 0.1], velocity=[1.0, 0.0], within=OutsideEllipse(2.0, 1.0) & jo.Box([-5, -5], [5, 5]))
    sol = jo.solve(drift, jo.Venel(), t=12.0, h=0.01)
    assert sol.q[-1, 0] == pytest.approx(5.0)
    assert sol.gaps().min() >= -1e-9


def test_the_set_and_its_neighbours_never_share_a_number(extension):
    """Gluey contacts remember impulses by pair: with shared numbers a ball glued to the floor stays glued to both."""
    OutsideEllipse = extension("outside_ellipse").OutsideEllipse
    sets = jo.HalfSpace([0, 1]) & OutsideEllipse(2.0, 1.0) & OutsideEllipse(0.5, 0.5) & jo.Box([-9, -9], [9, 9])
    for q in ([3.0, 1.0], [0.0, 4.0]):
        pairs = sets.linearise(0.0, np.array(q)).pairs
        assert len(np.unique(pairs, axis=0)) == len(pairs) == 7
    alone, beside = (
        jo.solve(
            jo.Motion(q0=[3.0, 0.0], v0=[1.0, 0.0], force=lambda t, q: [0.0, -1.0 if t < 1.0 else 2.0], within=within),
            jo.Gluey(), t=3.0, h=0.01,
        ).q
        for within in (jo.HalfSpace([0, 1]), OutsideEllipse(2.0, 1.0) & jo.HalfSpace([0, 1]))
    )  # fmt: skip
    np.testing.assert_allclose(beside, alone, atol=1e-12)
    assert alone[-1, 1] > 0.5


def test_a_set_that_lies_about_its_numbers_is_refused(extension):
    OutsideEllipse = extension("outside_ellipse").OutsideEllipse

    class Forgetful(OutsideEllipse):
        def linearise(self, t, q, cutoff=np.inf):
            from dataclasses import replace

            return replace(super().linearise(t, q), constraint_count=0)

    within = Forgetful(2.0, 1.0) & jo.HalfSpace([0, 1])
    with pytest.raises(jo.InvalidValue, match="Forgetful"):
        jo.solve(jo.Motion(q0=[3.0, 1.0], within=within), jo.Maury(), t=0.1, h=0.01)


def test_the_piston_pushes_the_beads_and_never_pulls(extension):
    module = extension("piston")
    sol = jo.solve(module.beads(), jo.Venel(), t=np.pi, h=0.005)
    assert sol.q[-1, 0] == pytest.approx(0.1 + module.STROKE, abs=1e-4)
    assert (np.diff(sol.q, axis=0) >= -1e-12).all()
    assert sol.gaps().min() >= -1e-9


def test_the_length_of_the_piston_is_its_own(extension):
    """A bead may be as small as it likes: the row of the piston is judged by the length that it was given."""
    module = extension("piston")
    contacts = (jo.Line([1e-3, 1e-3]) & module.piston).linearise(0.0, np.array([1.0, 2.0]))
    assert contacts.length.tolist() == [1e-3, 0.1]


def test_the_solver_finds_the_weights_of_a_column(extension):
    solver = extension("projected_gauss_seidel").ProjectedGaussSeidel()
    sol = jo.solve(jo.models.chain(5), jo.Maury(solver=solver), t=0.1, h=0.01)
    weights = np.sort(sol.multipliers[-1])[::-1] / 0.01 / 9.81
    np.testing.assert_allclose(weights, [5, 4, 3, 2, 1], rtol=1e-3)
    assert set(sol.stats["solver"]) == {"ProjectedGaussSeidel"}


def test_a_solver_that_gives_up_is_not_believed(extension):
    solver = extension("projected_gauss_seidel").ProjectedGaussSeidel(max_iterations=1)
    with pytest.raises(jo.NotConverged, match="ProjectedGaussSeidel"):
        jo.solve(jo.models.chain(5), jo.Maury(solver=solver), t=0.1, h=0.01)


def test_the_solver_is_chosen_by_its_name(extension):
    extension("projected_gauss_seidel")
    text = jo.scenarios.shipped("cradle_touching") + '\n[solver]\nkind = "projected_gauss_seidel"\ntol = 1e-5\n'
    assert jo.scenarios.parse(text).build().scheme.solver.tol == 1e-5


def room():
    return jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])


def test_tired_people_leave_later_and_everything_else_is_passed_on(extension):
    tired, plan = extension("fatigue").tired, room()
    people = crowd(8, radius=0.25, room=plan, speed=1.34)
    slow = tired(8, radius=0.25, room=plan, half_time=8.0)
    ends = [jo.solve(each, jo.Venel(), t=60.0, h=0.05, until=plan.empty).t[-1] for each in (people, slow)]
    assert ends[0] < ends[1] < 60.0
    assert [goal.name for goal in slow.wish.goals] == [goal.name for goal in people.wish.goals]
    np.testing.assert_array_equal(slow.wish.order(people.q0)[0], people.wish.order(people.q0)[0])


def test_a_behaviour_around_the_behaviour_still_knows_who_is_nearer(extension):
    module, plan = extension("fatigue"), room()

    def behave(wish, plan, radii):
        return jo.crowds.Inhibition(module.Fatigue(wish), radii)

    wrapped = crowd(20, radius=0.2, room=plan, behaviour=behave)
    assert jo.solve(wrapped, jo.Venel(), t=90.0, h=0.05, until=plan.empty).status == "stopped"


def test_the_kind_of_scenario_is_built_checked_and_shown(extension):
    extension("drop")
    run = jo.scenarios.parse('problem = { kind = "drop", height = 2.0 }\nrun = { t = 1.0, h = 0.01 }').build()
    assert run.problem.q0.tolist() == [2.0]
    with pytest.raises(jo.JostleError, match="heigth"):
        jo.scenarios.parse('problem = { kind = "drop", heigth = 2.0 }\nrun = { t = 1.0, h = 0.01 }')
    with pytest.raises(jo.InvalidValue, match="already defined by jostle"):
        KINDS.register("cradle", KINDS.get("drop"))


@pytest.fixture
def pair(tmp_path):
    """Two discs of mass 2 and 3, one of which moves, with units; one in space that leaves."""
    two = jo.Motion(
        q0=[[0.0, 0.0], [2.0, 1.0]], v0=[[1.0, 0.0], [0.0, 0.0]], mass=[2.0, 3.0], within=jo.Balls([0.4] * 2)
    )
    gone = jo.Outlet(lambda q: q[:, 0] > 1.5)
    output = jo.io.Output(tmp_path / "pair.vtkhdf", dtype=float, units=jo.io.SI)
    return jo.solve(two, jo.Maury(), t=0.2, h=0.1, changes=gone, output=output)


def test_the_format_writes_those_who_are_there(extension, pair, tmp_path):
    extension("xyz_files")
    lines = jo.io.export(pair, tmp_path / "pair.xyz").read_text().splitlines()
    assert lines == ["2", "t = 0", "A 0 0 0", "A 2 1 0", "1", "t = 0.1", "A 0.1 0 0", "1", "t = 0.2", "A 0.2 0 0"]


GEOJSON = """{"type": "FeatureCollection", "features": [
  {"properties": {}, "geometry": {"type": "Polygon",
    "coordinates": [[[0, 0], [800, 0], [800, 400], [0, 400], [0, 0]]]}},
  {"properties": {"exit": "east"}, "geometry": {"type": "LineString", "coordinates": [[800, 100], [800, 300]]}},
  {"properties": {}, "geometry": {"type": "LineString", "coordinates": [[400, 0], [400, 150], [500, 150]]}}
]}"""


def test_the_plan_is_read_by_its_suffix_in_python_and_in_scenarios(extension, tmp_path):
    module = extension("geojson_plans")
    (tmp_path / "floor.geojson").write_text(GEOJSON)
    plan = jo.crowds.read_plan(tmp_path / "floor.geojson", module.GeoJSON(scale=0.01))
    assert (plan.size, list(plan.exits), len(plan.walls)) == (pytest.approx(32.0), ["east"], 7)
    problem = 'problem = { kind = "crowd", groups = [{ n = 3 }], plan = { file = "floor.geojson", scale = 0.01 } }'
    (tmp_path / "floor.toml").write_text(f"{problem}\nrun = {{ t = 1.0, h = 0.1 }}")
    found = jo.scenarios.load(tmp_path / "floor.toml").build().problem.plan
    np.testing.assert_array_equal(found.walls, plan.walls)
    with pytest.raises(jo.InvalidValue, match="GeoJSON reads floor plans, and does not write them"):
        jo.crowds.write_plan(plan, tmp_path / "again.geojson")


def test_a_plan_format_without_suffixes_or_with_a_known_name_is_refused(extension):
    module = extension("geojson_plans")
    with pytest.raises(jo.InvalidValue, match=r"inherits from .*PlanFormat and has suffixes"):
        jo.crowds.PLAN_FORMATS.register("nameless", jo.crowds.PlanFormat)
    with pytest.raises(jo.InvalidValue, match="already defined by jostle"):
        jo.crowds.PLAN_FORMATS.register("dxf", module.GeoJSON)


def test_the_colour_is_the_kinetic_energy_with_its_unit(extension, pair, tmp_path):
    extension("kinetic_energy")
    ax = jo.viz.draw(pair, 0, colour="energy")
    assert ax.collections[0].get_array().tolist() == [1.0, 0.0]
    assert ax.figure.axes[1].get_ylabel() == "kinetic energy (J)"
    assert "kinetic energy" in jo.viz.page(pair, tmp_path / "pair.html").read_text()
    plt.close("all")
    walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0])
    with pytest.raises(jo.InvalidValue, match="the colour 'energy' needs masses, and none are known"):
        jo.viz.draw(jo.solve(walker, jo.Venel(), t=0.2, h=0.1), colour="energy")
