"""Study files and `jostle sweep`: the table, what is printed, and messages with the line of what is wrong."""

import json
import sys
from pathlib import Path

import pytest

from jostle.scenarios import ScenarioError
from jostle.study import PreciseMean, SettledCurves, read
from jostle.study.files import load_study

STUDY = """
title = "Two cradles"
scenario = "cradle_apart"
seed = 5
repeat = 2
measures = ["kinetic_energy", "end_time"]

[set]
run.t = 0.1
"run.h" = 0.01

[design]
kind = "grid"
parameters.problem.n = [2, 3]
"""


def written(folder, text, name="study.toml"):
    path = folder / name
    path.write_text(text)
    return path


def test_a_study_file_says_what_is_run(tmp_path):
    study, until = load_study(written(tmp_path, STUDY))
    assert (study.runs, study.seed, study.title, until) == (4, 5, "Two cradles", None)
    assert study.cases == ({"problem.n": 2}, {"problem.n": 3})
    assert study.subject.scenario({}, None).run.t == 0.1


def test_the_study_of_the_guide_and_of_the_benchmark_is_read():
    study, _ = load_study(Path(__file__).parents[2] / "benchmarks" / "evacuations.toml")
    (group,) = study.subject.scenario({}, None).problem.groups
    assert (study.runs, group.n) == (100, 80)


def test_the_other_designs_and_the_rules(tmp_path):
    base = 'function = "study_functions:drawn"\nrepeat = 9\n'
    cube = '[design]\nkind = "latin_hypercube"\nn = 5\nparameters = { k = [0.0, 1.0] }\n'
    rule = '[until]\nkind = "precise_mean"\nmeasure = "value"\nwidth = 0.5\n'
    study, until = load_study(written(tmp_path, base + cube + rule))
    assert len(study.cases) == 5
    assert until == PreciseMean("value", width=0.5)
    listed = 'set = { k = 3 }\n[design]\nkind = "list"\ncases = [{ seed = 1 }, { seed = 2 }]\n'
    study, until = load_study(written(tmp_path, base + listed + '[until]\nkind = "settled_curves"\nerd = 0.1\n'))
    assert study.cases == ({"k": 3, "seed": 1}, {"k": 3, "seed": 2})
    assert until == SettledCurves(erd=0.1)


def test_scenarios_and_modules_are_found_beside_the_study_file(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    written(tmp_path, 'problem = { kind = "cradle" }\nrun = { t = 0.1, h = 0.01 }\n', "mine.toml")
    written(tmp_path, "def twice(sol):\n    return 2.0 * sol.t[-1]\n", "my_own_measures.py")
    study, _ = load_study(written(tmp_path, 'scenario = "mine.toml"\nmeasures = ["my_own_measures:twice"]\n'))
    assert list(study.measured) == ["twice"]


WRONG = {
    'scenario = "cradle_apart"\nmeasure = ["end_time"]': ":2: unknown key 'measure' in the file; did you mean",
    "repeat = 3": "scenario: give either a scenario or a function",
    'scenario = "cradle_apart"\n[design]\nkind = "grit"': 'design.kind = "grit": must be one of "grid", "latin',
    'scenario = "cradle_apart"\nrepeat = 0': ":2: repeat = 0: must be a whole number from 1",
    'scenario = "cradle_apart"\n[design]\nkind = "grid"\nparameters = {}': "must contain at least one parameter",
    'scenario = "cradle_apart"\n[set]\nrun.hh = 1': "unknown key 'hh' in [run]; did you mean 'h'?",
    'scenario = "cradle_apart"\nmeasures = ["end_tim"]': "unknown measure 'end_tim'; did you mean 'end_time'?",
    'scenario = "cradle_apart"\n[until]\nkind = "precise_mean"\nmeasure = "end_time"': ":2: until: give either width",
    'scenario = "missing.toml"': "cannot be read: No such file or directory",
    'function = "math:nothing"': "math has no 'nothing'",
    "scenario =": ":1: invalid TOML",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_in_a_study_file_is_named_with_its_line(text, tmp_path):
    with pytest.raises(ScenarioError) as error:
        load_study(written(tmp_path, text))
    assert WRONG[text] in str(error.value)


def test_the_command_runs_a_study_and_info_reads_it(here, jostle):
    written(here, STUDY)
    code, out, err = jostle("sweep", "study.toml", "--workers", 1)
    assert code == 0, err
    assert "kinetic_energy" in out
    assert "95 % interval" in out
    assert err.startswith("Two cradles\n")
    assert len(read("study")) == 4
    code, out, err = jostle("sweep", "study.toml", "--workers", 1, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["runs"] == 4
    code, out, _ = jostle("info", "study", "--json")
    found = json.loads(out)
    assert (found["status"], found["runs"], found["parameters"]) == ("finished", 4, ["problem.n"])
    code, out, _ = jostle("info", "study.toml", "--json")
    assert (code, json.loads(out)["runs"]) == (0, 4)


def test_info_runs_no_code_of_a_study(here, jostle):
    (here / "own_measures.py").write_text("open('it_ran', 'w').close()\ndef first(sol): return 1.0\n")
    written(here, 'scenario = "cradle_apart"\nmeasures = ["own_measures:first", "end_time"]\n', "a.toml")
    written(here, 'function = "own_measures:first"\nrepeat = 3\nset = { sol = 1 }\n', "b.toml")
    found = [json.loads(jostle("info", name, "--json")[1]) for name in ("a.toml", "b.toml")]
    assert found[0]["measures"] == ["first", "end_time"]
    assert (found[1]["function"], found[1]["runs"], found[1]["parameters"]) == ("own_measures:first", 3, ["sol"])
    assert not (here / "it_ran").exists()
    written(here, 'scenario = "cradle_apart"\nmeasures = ["own_measures:first", "end_tim"]\n', "c.toml")
    assert "unknown measure 'end_tim'" in jostle("info", "c.toml")[2]


def test_a_file_beside_a_study_does_not_stand_in_for_an_installed_module(here, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    (here / "colorsys.py").write_text("raise AssertionError('this file was run')\n")
    (here / "study_module_last.py").write_text("import colorsys\ndef value(): return 1.0\n")
    study, _ = load_study(written(here, 'function = "study_module_last:value"\n'))
    assert study.subject.function() == 1.0
    assert sys.path[-1] == str(here)


def test_the_command_says_what_failed_and_what_is_wrong(here, jostle):
    written(here, 'function = "study_functions:drawn"\n', "drawn.toml")
    code, _, err = jostle("sweep", "drawn.toml")
    assert code == 2
    assert "missing a required argument: 'k'" in err
    written(here, 'scenario = "cradle_apart"\nset = { run.t = 0.1 }\nmeasures = ["evacuation_time"]\n', "cradle.toml")
    code, _, err = jostle("sweep", "cradle.toml", "--workers", 1)
    assert code == 5
    assert "note: run 0 failed: " in err
    code, _, err = jostle("info", "nothing_here.toml")
    assert code == 2
    (here / "empty").mkdir()
    code, _, err = jostle("info", "empty")
    assert (code, err) == (1, "error: empty is not the folder of a study: it has no study.json\n")
