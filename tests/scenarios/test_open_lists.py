"""A scheme, a solver and a kind of problem of another package: each is one file, and scenario files can use it."""

import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import jostle as jo
from commands import run_commands
from jostle.errors import BrokenPlugin
from jostle.scenarios import KINDS, ScenarioError, load, names, parse, shipped
from jostle.schemes import SCHEMES
from jostle.solvers import SOLVERS

SOURCES = Path(__file__).with_name("plugin_package")
ENTRY_POINTS = """
[jostle.schemes]
damped = jostle_drop.damped:Damped
[jostle.solvers]
plain_sweeps = jostle_drop.plain_sweeps:PlainSweeps
[jostle.scenarios]
drop = jostle_drop.drop:Drop
"""
FILE = """
[problem]
kind = "drop"
heights = [0.5, 1.0]
[scheme]
kind = "damped"
rate = 2.0
[solver]
kind = "plain_sweeps"
sweeps = 2
[run]
t = 1.0
h = 0.01
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the package `jostle_drop` is installed."""
    here = tmp_path_factory.mktemp("installed")
    shutil.copytree(SOURCES, here / "jostle_drop")
    (here / "jostle_drop" / "__init__.py").write_text("")
    metadata = here / "jostle_drop-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: jostle-drop\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    return here


@pytest.fixture
def jostle(folder, tmp_path):
    """Runs commands in a process that has the package."""
    return partial(run_commands, folder=folder, cwd=tmp_path)


COMMANDS = (
    "run two.toml --json", "resume two.vtkhdf --set run.t=1.5 --json",
    "list", "new drop", "run drop.toml -q", "run drop -q -o again.vtkhdf",
    "dev schema", "doctor --json",
)  # fmt: skip


@pytest.fixture(scope="module")
def answers(folder, tmp_path_factory):
    """The answers to the commands, all in one process, and the folder in which they were given."""
    cwd = tmp_path_factory.mktemp("answers")
    (cwd / "two.toml").write_text(FILE)
    return dict(zip(COMMANDS, run_commands(*COMMANDS, folder=folder, cwd=cwd), strict=True)), cwd


@pytest.fixture
def registered(monkeypatch):
    """The three as a script registers them, until the end of the test."""
    monkeypatch.syspath_prepend(SOURCES)
    from damped import Damped
    from drop import Drop
    from plain_sweeps import PlainSweeps

    for registry in (SCHEMES, SOLVERS, KINDS):
        registry.names()
        monkeypatch.setattr(registry, "_items", dict(registry._items))
    SCHEMES.register("damped", Damped)
    SOLVERS.register("plain_sweeps", PlainSweeps)
    KINDS.register("drop", Drop)
    return Damped, PlainSweeps


@pytest.mark.parametrize("file", sorted(SOURCES.glob("*.py")), ids=lambda file: file.stem)
def test_each_is_one_file_of_at_most_forty_lines(file):
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 40


def test_the_command_line_runs_and_resumes_a_scenario_of_a_plugin(answers):
    said, cwd = answers
    code, out, err = said["run two.toml --json"]
    assert (code, err) == (0, "")
    assert json.loads(out)["status"] == "finished"
    code, out, err = said["resume two.vtkhdf --set run.t=1.5 --json"]
    assert (code, json.loads(out)["t"]) == (0, 1.5)
    sol = jo.io.read(cwd / "two.vtkhdf")
    assert set(sol.stats["solver"].tolist()) == {"PlainSweeps"}
    assert sol.q[0].tolist() == [[0.0, 0.5], [2.0, 1.0]]
    assert abs(sol.q[-1, :, 1]).max() < 0.2, "both have fallen"
    slower = -9.81 * 0.01 / (1.0 + 0.02)
    np.testing.assert_allclose(
        sol.u[2, 0, 1], slower - 9.81 * 0.01, rtol=1e-6, err_msg="damped with the rate of the file"
    )


def test_the_schema_has_the_tables_of_plugins(answers):
    code, out, err = answers[0]["dev schema"]
    assert (code, err) == (0, "")
    tables = json.loads(out)["$defs"]
    assert tables["DampedTable"]["properties"]["rate"]["default"] == 1.0
    assert tables["PlainSweepsTable"]["properties"]["sweeps"]["description"].startswith("Sweeps over all contacts")
    assert tables["Drop"]["properties"]["kind"]["const"] == "drop"
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json.loads(out))
    import tomllib

    assert list(validator.iter_errors(tomllib.loads(FILE))) == []
    assert list(validator.iter_errors(tomllib.loads(FILE.replace('"drop"', '"drip"')))) != []


def test_new_and_list_know_the_example_of_a_plugin(answers):
    said, cwd = answers
    assert "Three balls fall on a floor" in said["list"][1]
    assert said["new drop"][0] == 0
    assert said["run drop.toml -q"] == said["run drop -q -o again.vtkhdf"] == (0, "", "")
    first, second = (jo.io.read(cwd / name) for name in ("drop.vtkhdf", "again.vtkhdf"))
    np.testing.assert_array_equal(first.q[:], second.q[:])


def test_doctor_lists_plugins(answers):
    code, out, err = answers[0]["doctor --json"]
    assert (code, err) == (0, "")
    assert json.loads(out)["plug_ins"] == ["kind of problem drop", "scheme damped", "solver plain_sweeps"]


def test_a_broken_plugin_is_named_where_it_is_used_and_harms_nobody_else(jostle, folder, tmp_path):
    source = folder / "jostle_drop" / "damped.py"
    text = source.read_text()
    source.write_text("import nothing_of_this_name\n")
    try:
        (tmp_path / "two.toml").write_text(FILE)
        (code, out, err), another, schema, doctor = jostle(
            "run two.toml", "run cradle_apart --set run.t=0.1 -q", "dev schema", "doctor --json"
        )
        assert (code, out) == (1, "")
        assert "the scheme 'damped' of package 'jostle-drop' cannot be used: ModuleNotFoundError" in err
        assert "Traceback" not in err
        assert another == (0, "", "")
        assert "package 'jostle-drop'" in schema[2]
        assert doctor[0] == 0
        broken = [each for each in json.loads(doctor[1])["plug_ins"] if each.startswith("broken: ")]
        assert any("package 'jostle-drop'" in each for each in broken)
    finally:
        source.write_text(text)


def test_a_script_registers_a_scheme_a_solver_and_a_kind(registered):
    Damped, PlainSweeps = registered
    run = parse(FILE).build()
    assert run.scheme == Damped(rate=2.0, solver=PlainSweeps(sweeps=2))
    assert jo.solve(**run._asdict()).status == "finished"
    assert "drop" in names()
    assert parse(shipped("drop")).build().problem.q0.shape == (3, 2)
    assert load("drop", settings=["problem.heights=[4.0]"]).problem.heights == (4.0,)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("rate = 2.0", "rate = -2.0", "my.toml:5: scheme: rate must not be negative, it is -2.0"),
        ("rate = 2.0", 'rate = "fast"', 'my.toml:7: scheme.rate = "fast": must be a number'),
        ("rate = 2.0", "rat = 2.0", "my.toml:7: unknown key 'rat' in [scheme]; did you mean 'rate'?"),
        ("sweeps = 2", "sweeps = 2.5", "my.toml:10: solver.sweeps = 2.5: must be a whole number"),
        ("heights = [0.5, 1.0]", "heights = [0.5, 0]", "my.toml:4: problem.heights.1 = 0: must be a positive number"),
        ('kind = "drop"', 'kind = "dorp"',
         'my.toml:3: problem.kind = "dorp": must be one of "cradle", "crowd", "crowd_density", "drop", "flow", '
         '"grains", "labyrinth"; did you mean "drop"?'),
        ('kind = "damped"', 'kind = "damp"',
         'my.toml:6: scheme.kind = "damp": must be one of "barrier", "catching_up", "damped", "gluey", "impacts", '
         '"maury", "moreau_jean", "paoli", "splitting", "venel"; did you mean "damped"?'),
    ],
)  # fmt: skip
def test_mistakes_in_the_tables_of_plugins_are_named_like_all_others(registered, right, wrong, message):
    assert FILE.count(right) == 1
    with pytest.raises(ScenarioError) as error:
        parse(FILE.replace(right, wrong), "my.toml").build()
    assert str(error.value) == message


def test_a_scheme_of_a_plugin_is_recommended_where_it_fits(registered):
    moving = jo.HalfSpace([1.0], lambda t: -t)
    bouncing = jo.Motion(q0=[1.0], within=moving, law=jo.Restitution(0.5))
    with pytest.raises(
        jo.errors.SchemeRefuses, match=r"needs a set that does not move; use MoreauJean or damped\.Damped$"
    ):
        jo.solve(bouncing, jo.Paoli(), t=1.0, h=0.1)
    text = jo.scenarios.shipped("jamming")
    settings = ["problem.e=0.5", "scheme.kind=paoli"]
    with pytest.raises(ScenarioError, match=r'"paoli" cannot handle a moving set; use "moreau_jean" or "damped"'):
        parse(text, settings=settings)
    parse(text, settings=["problem.e=0.5", "scheme.kind=damped"])


def test_no_scheme_is_recommended_for_what_it_inherits(registered):
    """`Gluey` has the capabilities of `Maury`, and solves another problem."""
    bouncing = jo.Motion(q0=[1.0], law=jo.Restitution(0.5))
    with pytest.raises(jo.errors.SchemeRefuses, match=r"use Paoli, MoreauJean or damped\.Damped$"):
        jo.solve(bouncing, jo.Maury(), t=1.0, h=0.1)
    with pytest.raises(jo.errors.SchemeRefuses, match=r"use Maury, Paoli, MoreauJean or damped\.Damped$"):
        jo.solve(jo.Motion(q0=[1.0]), jo.Venel(), t=1.0, h=0.1)


@pytest.mark.parametrize(
    ("registry", "words"),
    [(SCHEMES, "inherits from jo.Scheme"), (SOLVERS, "inherits from jo.Solver"), (KINDS, "inherits from ProblemTable")],
)
def test_what_is_registered_must_be_of_the_right_sort(registry, words):
    with pytest.raises(jo.InvalidValue, match=words):
        registry.register("wrong", object())


def test_the_name_of_a_kind_is_the_one_in_its_table(registered):
    with pytest.raises(jo.InvalidValue, match='Drop must have the field `kind: Literal\\["fall"\\]`'):
        KINDS.register("fall", KINDS.get("drop"))


def test_a_scheme_with_an_option_that_no_file_can_give_says_so(registered):
    from dataclasses import dataclass

    @dataclass(frozen=True, kw_only=True)
    class Odd(jo.Maury):
        field_of_force: object

    SCHEMES.register("odd", Odd)
    with pytest.raises(ScenarioError, match="Odd cannot be used in scenario files"):
        parse(FILE.replace('"damped"\nrate = 2.0', '"odd"'))


def test_a_name_of_jostle_cannot_be_taken():
    with pytest.raises(jo.InvalidValue, match="the scheme 'maury' is already defined by jostle"):
        SCHEMES.register("maury", jo.Paoli)
    assert issubclass(BrokenPlugin, ImportError)
