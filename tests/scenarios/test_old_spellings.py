"""Scenario files in the spelling of earlier versions are still read, and the remark says what to write instead."""

import re
import warnings

import numpy as np
import pytest

import jostle as jo
from jostle.cli import main
from jostle.errors import OldSpelling
from jostle.scenarios import ScenarioError, load, parse
from jostle.solvers import SOLVERS

OLD_ROOM = """
[problem]
kind = "crowd"
n = 12
radius = 0.22
speed = 1.2
corners = [[0.0, 0.0], [9.0, 0.0], [9.0, 6.0], [0.0, 6.0]]
doors = [
    [[9.0, 2.4], [9.0, 3.6]],
    [[1.5, 0.0], [2.5, 0.0]],
]
outlet = 0.7
[run]
t = 3.0
h = 0.05
"""
NEW_ROOM = """
[problem]
kind = "crowd"
inhibition = false
outlet = 0.7
[[problem.rooms]]
corners = [[0.0, 0.0], [9.0, 0.0], [9.0, 6.0], [0.0, 6.0]]
[[problem.exits]]
name = "door 0"
ends = [[9.0, 2.4], [9.0, 3.6]]
[[problem.exits]]
name = "door 1"
ends = [[1.5, 0.0], [2.5, 0.0]]
[[problem.groups]]
n = 12
radius = 0.22
speed = 1.2
[run]
t = 3.0
h = 0.05
"""


def quietly(text, *settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OldSpelling)
        return parse(text, "old.toml", settings=settings)


def bits(scenario):
    sol = jo.solve(**scenario.build()._asdict())
    return sol.q.tobytes()


def test_a_building_is_a_crowd_now():
    new = jo.scenarios.shipped("bottleneck")
    with pytest.warns(OldSpelling, match=r'^old.toml:17: kind = "building" is deprecated; write kind = "crowd"$'):
        old = parse(new.replace('kind = "crowd"', 'kind = "building"'), "old.toml")
    assert old.problem == parse(new).problem


@pytest.mark.parametrize(("old", "new"), [("exact", jo.ActiveSet), ("nesterov", jo.GaussSeidel)])
def test_a_solver_that_has_another_name_now_is_found_by_its_old_one(old, new):
    text = f'problem = {{ kind = "cradle" }}\nrun = {{ t = 1.0, h = 0.1 }}\n[solver]\nkind = "{old}"\ntol = 1e-7\n'
    with pytest.warns(
        OldSpelling, match=rf'^old.toml:4: kind = "{old}" is deprecated; write kind = "[a-z_]+"$'
    ) as said:
        scenario = parse(text, "old.toml")
    assert scenario.build().scheme.solver == new(tol=1e-7)
    today = re.search('write kind = "(.*)"', str(said[0].message))[1]
    assert parse(text.replace(old, today)).build().scheme == scenario.build().scheme
    with pytest.warns(OldSpelling, match=f"^spheres, setting 'solver.kind={old}': "):
        load("spheres", settings=[f"solver.kind={old}"])


def test_a_solver_of_a_plugin_keeps_its_name(monkeypatch):
    class Exact(jo.GaussSeidel):
        pass

    monkeypatch.setattr(SOLVERS, "_items", {**SOLVERS._items, "exact": Exact})
    scenario = parse('problem = { kind = "cradle" }\nrun = { t = 1.0, h = 0.1 }\nsolver = { kind = "exact" }')
    assert scenario.build().scheme.solver == Exact()


def test_a_room_with_corners_and_doors_is_the_same_room_to_the_bit():
    with pytest.warns(OldSpelling, match=r"^old.toml:7: corners, doors, .*write \[\[problem.rooms\]\]"):
        old = parse(OLD_ROOM, "old.toml")
    assert old.problem == parse(NEW_ROOM).problem
    assert bits(old) == bits(parse(NEW_ROOM))


def test_the_defaults_of_a_room_are_what_they_were():
    few = OLD_ROOM.replace("radius = 0.22\n", "").replace("speed = 1.2\n", "").replace("outlet = 0.7\n", "")
    problem = quietly(few).problem
    assert (problem.groups[0].radius, problem.groups[0].speed, problem.outlet) == (0.25, 1.4, 2.0)
    assert problem.inhibition is False


def test_a_file_in_the_new_spelling_has_no_remark():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in jo.scenarios.names():
            load(name)
        parse(NEW_ROOM)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("n = 12", "n = -3", "old.toml:4: problem.groups.0.n = -3: must be a whole number from 1"),
        ("radius = 0.22", "radius = 'a'", 'old.toml:5: problem.groups.0.radius = "a": must be a positive number'),
        ("[1.5, 0.0]", "[1.5, 'x']", 'old.toml:10: problem.exits.1.ends.0.1 = "x": must be a number'),
        ("[9.0, 6.0]", "[9.0, 6.0, 1]", "old.toml:7: problem.rooms.0.corners.2 = [9.0, 6.0, 1]: must have at most 2"),
        ("n = 12\n", "", "problem.groups.0: must have either n"),
        ("outlet = 0.7", "outlt = 0.7", "old.toml:12: unknown key 'outlt' in [problem]; did you mean 'outlet'?"),
        ("outlet = 0.7", "groups = []", "old.toml:7: unknown key 'corners' in [problem]"),
    ],
)
def test_what_is_wrong_in_an_old_file_is_named_at_its_line(old, new, message):
    assert OLD_ROOM.count(old) == 1
    with pytest.raises(ScenarioError) as error:
        quietly(OLD_ROOM.replace(old, new))
    assert message in str(error.value)


@pytest.mark.parametrize(
    "value", ["-3", "'a'", "[]", "[[]]", "{ a = 1 }", "[[[9.0, 2.4]]]", "[[9.0, 2.4], [9.0, 3.6]]", "true"]
)
@pytest.mark.parametrize("key", ["corners", "doors", "n", "radius", "outlet"])
def test_nonsense_in_an_old_file_is_a_scenario_error(key, value):
    line = next(line for line in OLD_ROOM.splitlines() if line.startswith(f"{key} ="))
    text = OLD_ROOM.replace(f"{line}\n", f"{key} = {value}\n")
    text = (
        text.replace("    [[9.0, 2.4], [9.0, 3.6]],\n    [[1.5, 0.0], [2.5, 0.0]],\n]\n", "")
        if key == "doors"
        else text
    )
    with pytest.raises(ScenarioError):
        quietly(text).build()


def test_settings_of_the_only_group_may_be_set_as_before():
    with pytest.warns(
        OldSpelling, match=r"^evacuation, setting 'problem.n=5': problem.n is deprecated; set problem.gr"
    ):
        scenario = load("evacuation", settings=["problem.n=5"])
    assert scenario.problem.groups[0].n == 5
    assert quietly(OLD_ROOM, "problem.n=4", "problem.speed=0.5").problem.groups[0].speed == 0.5
    with pytest.raises(ScenarioError, match=r"setting 'problem.n=5': unknown key 'n' in \[problem\]"):
        load("counterflow", settings=["problem.n=5"])


def test_the_text_of_an_old_file_with_settings_is_in_the_new_spelling():
    text = quietly(OLD_ROOM, "problem.n=4").text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = parse(text)
    assert again.problem == quietly(OLD_ROOM, "problem.n=4").problem


@pytest.mark.filterwarnings("default")
def test_the_command_line_notes_an_old_spelling_and_runs_the_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.toml").write_text(OLD_ROOM)
    with pytest.raises(SystemExit) as ended:
        main(["run", "old.toml", "-q"])
    assert not ended.value.code
    said = capsys.readouterr().err
    assert said.startswith("warning: old.toml:7: corners, doors, n, radius and speed in [problem] are deprecated; ")
    assert said.count("\n") == 1
    assert np.isfinite(jo.io.read(tmp_path / "old.vtkhdf").q[0]).all()
