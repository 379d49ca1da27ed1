"""Reading: files and names, settings, the seed, and texts that reproduce a run to the bit."""

import tomllib

import numpy as np
import pytest

import jostle as jo
import rows
from jostle.scenarios import Scenario, ScenarioError, load, names, parse, shipped
from jostle.scenarios.reading import changed
from jostle.scenarios.toml import document
from jostle.study.files import load_study

SMALL = {"hourglass": 20, "silo": 20, "spheres": 20, "jamming": 20, "vibrated_layer": 20}


def few(name):
    if name in ("evacuation", "venel_2009"):
        return ["problem.groups.0.n=10"]
    return [f"problem.n={SMALL[name]}"] if name in SMALL else []


def bits(scenario, steps=5):
    """All numbers of the first steps of a run."""
    run = scenario.build()
    if run.is_density:
        sol = run._replace(t=steps * run.h, every=run.h).solve()
        return run._replace(problem=None), sol.density.tobytes() + sol.pressure.tobytes()
    sol = jo.solve(**run._replace(t=steps * run.h, every=run.h)._asdict())
    return run._replace(problem=None, until=None), sol.q.tobytes() + sol.u.tobytes()


# --- where scenarios come from ---


def test_a_file_and_a_shipped_name_are_both_read(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(load("cradle_apart").text, encoding="utf-8")
    assert load(path).problem == load("cradle_apart").problem == load(str(path)).problem
    assert load(path).name == str(path)
    assert load("cradle_apart").name == "cradle_apart"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("hourglas", "did you mean 'hourglass'?"),
        ("nothing", "give a .toml file, or a name from `jostle list`"),
    ],
)
def test_a_name_that_is_not_shipped_is_answered_with_the_nearest_or_where_to_look(name, hint):
    with pytest.raises(ScenarioError) as error:
        load(name)
    assert str(error.value) == f"unknown scenario {name!r}; {hint}"


@pytest.mark.parametrize("source", ["nowhere.toml", "no/such/folder.toml", "a\0b.toml", "x" * 5000 + ".toml"])
def test_a_file_that_cannot_be_read_is_a_scenario_error(source):
    with pytest.raises(ScenarioError):
        load(source)


def test_a_folder_and_a_file_that_is_no_text_are_scenario_errors(tmp_path):
    with pytest.raises(ScenarioError, match="cannot be read"):
        load(tmp_path)
    path = tmp_path / "bytes.toml"
    path.write_bytes(b'title = "a"\nseed = \xff\xfe')
    with pytest.raises(ScenarioError) as error:
        load(path)
    assert str(error.value) == f"{path}:2: is not valid UTF-8: byte 0xff"


def test_the_error_is_one_of_ours_and_a_value_error():
    assert issubclass(ScenarioError, jo.JostleError)
    assert issubclass(ScenarioError, ValueError)


def test_pydantic_is_not_loaded_before_a_file_is_read():
    import subprocess
    import sys

    program = "import sys, jostle.scenarios as s; s.names(); print('pydantic' in sys.modules, 'numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


# --- settings and the seed ---


def test_settings_change_values_of_every_type():
    scenario = load(
        "silo",
        settings=[
            "problem.n=12", "problem.gravity=[1.0, -2]", "problem.walls.3.radius=0.03", "title=two words",
            "output.contacts=true", "run.until.kind=never", "problem.radii={ uniform = [0.001, 0.002] }",
            'problem.start.lattice="square"', "solver.kind=gauss_seidel", "problem.walls.0.points.0.1=1.7",
        ],
    )  # fmt: skip
    assert scenario.problem.n == 12
    assert scenario.problem.gravity == (1.0, -2.0)
    assert scenario.problem.walls[3].radius == 0.03
    assert scenario.problem.walls[0].points[0] == (-0.2, 1.7)
    assert scenario.title == "two words"
    assert scenario.output.contacts is True
    assert scenario.run.until.kind == "never"
    assert scenario.problem.radii.uniform == (0.001, 0.002)
    assert scenario.problem.start.lattice == "square"
    assert scenario.solver.kind == "gauss_seidel"
    assert scenario.solver.tol == 1e-5, "what the file says stays"


def test_settings_do_not_touch_the_tables_they_start_from():
    data = {"a": {"b": [1, 2]}}
    assert changed(data, ["a.b.1=5", "a.c.d=true"]).data == {"a": {"b": [1, 5], "c": {"d": True}}}
    assert data == {"a": {"b": [1, 2]}}


def test_the_seed_decides_what_is_random():
    first, again, other = (load("jamming", settings=few("jamming"), seed=seed) for seed in (3, 3, 4))
    assert first.seed == 3
    assert bits(first) == bits(again)
    assert bits(first)[1] != bits(other)[1]


# --- texts ---


@pytest.mark.parametrize("name", rows.few(names()))
def test_the_text_of_a_scenario_builds_the_same_bits(name):
    changes = [*few(name), "run.every=0.5", "title='a \"quoted\" \\ title'"]
    scenario = load(name, settings=changes, seed=7)
    again = parse(scenario.text)
    assert again.text == scenario.text
    assert again.model_dump() == scenario.model_dump()
    assert again.seed == 7
    assert bits(again) == bits(scenario)
    assert load(name).model_dump() != scenario.model_dump()


@pytest.mark.parametrize("name", rows.few(names()))
def test_a_scenario_made_in_python_has_a_text_too(name):
    data = tomllib.loads(load(name, settings=few(name)).text)
    scenario = Scenario.model_validate(data)
    assert parse(scenario.text).model_dump() == scenario.model_dump()
    assert bits(parse(scenario.text)) == bits(scenario)


def test_numbers_survive_writing_to_the_last_bit():
    random = np.random.default_rng(0)
    values = [*random.standard_normal(50), 0.1, 1e-300, 5e-324, 1e300, float("inf"), -0.0]
    written = tomllib.loads(document({"a": [float(v) for v in values], "b": {"c": 2**62, "d": True, "e": False}}))
    assert np.array(written["a"]).tobytes() == np.array(values).tobytes()
    assert written["b"] == {"c": 2**62, "d": True, "e": False}


def test_a_scenario_does_not_change():
    from pydantic import ValidationError

    scenario = load("cradle_apart")
    with pytest.raises(ValidationError):
        scenario.seed = 3


def test_the_default_scheme_and_tolerance_fit_the_problem():
    def scheme(name, *settings):
        data = tomllib.loads(load(name, settings=[*few(name), *settings]).text)
        data.pop("scheme", None)
        data.pop("solver", None)
        return Scenario.model_validate(data).build().scheme

    assert scheme("cradle_apart") == jo.Paoli()
    assert scheme("evacuation") == jo.Venel()
    assert scheme("labyrinth") == jo.Venel()
    assert scheme("spheres") == jo.Maury(solver=jo.Automatic(tol=1e-6))
    assert scheme("spheres", "problem.e=0.5") == jo.MoreauJean(solver=jo.Automatic(tol=1e-6))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (["scheme={ kind='gluey', weakest=-0.5 }"], jo.Gluey(weakest=-0.5, solver=jo.Automatic(tol=1e-5))),
        (["scheme={ kind='maury', samples=3 }", "solver={ kind='active_set', tol=1e-9 }"],
         jo.Maury(samples=3, solver=jo.ActiveSet(tol=1e-9))),
        (["solver={ kind='gauss_seidel', max_iterations=40, budget=true }"],
         jo.Maury(solver=jo.GaussSeidel(tol=1e-6, max_iterations=40, budget=True))),
        (["solver={ kind='gauss_seidel', budget=true, overlap=1e-3 }"],
         jo.Maury(solver=jo.GaussSeidel(tol=1e-6, budget=True, overlap=1e-3))),
        (["solver={ kind='gauss_seidel', tol=1e-3 }"], jo.Maury(solver=jo.GaussSeidel(tol=1e-3))),
        (["solver={ kind='interior_point', tol=1e-3 }"], jo.Maury(solver=jo.InteriorPoint(tol=1e-3))),
        (["scheme={ kind='paoli', z=0 }", "solver={ tol=1e-3 }"], jo.Paoli(z=0.0, solver=jo.Automatic(tol=1e-3))),
        (["scheme.kind=moreau_jean", "solver={ kind='active_set' }"], jo.MoreauJean(solver=jo.ActiveSet())),
    ],
)  # fmt: skip
def test_schemes_and_solvers_are_those_of_the_library(settings, expected):
    assert load("spheres", settings=["problem.n=5", *settings]).build().scheme == expected


def test_catching_up_solves_a_labyrinth():
    scenario = load("labyrinth", settings=["scheme.kind=catching_up", "run.t=0.1"])
    assert scenario.build().scheme == jo.CatchingUp()
    assert jo.solve(**scenario.build()._asdict()).status == "finished"


def test_scenarios_larger_than_the_limit_are_refused_before_they_are_read(tmp_path):
    text = shipped("cradle_apart")
    long = text + "# " + 4 * 2**20 * "a"
    (tmp_path / "long.toml").write_text(long)
    for read in (lambda: parse(long), lambda: load(tmp_path / "long.toml"), lambda: load_study(tmp_path / "long.toml")):
        with pytest.raises(
            ScenarioError, match="larger than 4 MB, the limit for scenario files: shorten its lists, or"
        ):
            read()
    assert parse(text + "# " + 2**20 * "a").run.t == parse(text).run.t
