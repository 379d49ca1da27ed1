"""What a study may be: designs, names, and errors that say what to do."""

import numpy as np
import pytest
from study_functions import drawn

import jostle as jo
from jostle.study import Study, grid, latin_hypercube, write_table
from jostle.study.cases import packed


def test_a_grid_has_all_combinations():
    found = grid({"a": [1, 2], "b": ["xy", "z"], "c": range(2)})
    assert len(found) == 2 * 2 * 2
    assert found[1] == {"a": 1, "b": "xy", "c": 1}


def test_a_latin_hypercube_has_one_point_in_each_slice_of_each_parameter():
    found = latin_hypercube({"a": (0.0, 1.0), "b": (-5.0, 5.0)}, 20, seed=3)
    a, b = (np.array([case[name] for case in found]) for name in "ab")
    assert sorted(np.floor(20 * a).astype(int)) == list(range(20))
    assert sorted(np.floor(2 * (b + 5.0)).astype(int)) == list(range(20))
    assert found == latin_hypercube({"a": (0.0, 1.0), "b": (-5.0, 5.0)}, 20, seed=3)


WRONG = {
    "empty design": (lambda: Study(drawn, over=[]), "over has no cases"),
    "empty grid": (lambda: grid({}), "must contain at least one parameter"),
    "no values": (lambda: grid({"a": []}), "'a' has no values"),
    "a text for values": (lambda: grid({"a": "abc"}), "'a' needs a list of values"),
    "ends in the wrong order": (lambda: latin_hypercube({"a": (2, 1)}, 3), "low < high"),
    "one end": (lambda: latin_hypercube({"a": (2,)}, 3), "each entry|two ends"),
    "cases that differ": (lambda: Study(drawn, over=[{"k": 1}, {"q": 1}]), "all cases must have the same parameters"),
    "unknown measure": (
        lambda: Study("cradle_apart", measures=["evacuation_tim"]),
        "unknown measure 'evacuation_tim'; did you mean 'evacuation_time'?",
    ),
    "unknown curve": (lambda: Study("cradle_apart", curves=["leaving"]), "unknown curve 'leaving'"),
    "no such module": (lambda: Study("cradle_apart", measures=["nowhere:f"]), "'nowhere:f' cannot be imported"),
    "no such function": (lambda: Study("cradle_apart", measures=["math:f"]), "math has no 'f'"),
    "a measure of two things": (
        lambda: Study("cradle_apart", measures=["study_functions:drawn"]), "must be a function of a solution",
    ),
    "the same name twice": (lambda: Study("cradle_apart", measures=["end_time"] * 2), "two entries named 'end_time'"),
    "a name that is taken": (
        lambda: Study("cradle_apart", measures={"run": "end_time"}), "would have the name 'run'",
    ),
    "unknown path": (
        lambda: Study("cradle_apart", over=grid({"problem.nn": [2]})),
        "unknown key 'nn' in [problem]; did you mean 'n'?",
    ),
    "a wrong value in a later case": (
        lambda: Study("cradle_apart", over=grid({"problem.n": [2, 3, -1]})), "setting 'problem.n=-1'",
    ),
    "an entry that a list does not have": (
        lambda: Study("evacuation", over=grid({"problem.groups.3.n": [2]})), "it has no entry '3'",
    ),
    "unknown scenario": (lambda: Study("evacution"), "did you mean 'evacuation'?"),
    "unknown parameter": (
        lambda: Study(drawn, over=grid({"kk": [2]})), "drawn has no parameter 'kk'; did you mean 'k'?",
    ),
    "missing parameter": (lambda: Study(drawn), "missing a required argument: 'k'"),
    "an object": (lambda: Study(drawn, over=[{"k": object()}]), "the parameter 'k' must be a number, a string"),
    "a seed that is none": (lambda: Study(drawn, over=[{"k": 1, "seed": -1}]), "a seed must be a whole number"),
    "not a subject": (lambda: Study(3), "of must be a scenario"),
    "no table": (lambda: write_table({"a": [1]}, "a.txt"), "must end in .csv or .parquet, not be 'a.txt'"),
    "columns of different lengths": (lambda: write_table({"a": [1], "b": []}, "a.csv"), "equal length"),
    "two widths": (lambda: jo.study.PreciseMean("a", width=1.0, relative=1.0), "either width"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_before_anything_runs(name):
    call, words = WRONG[name]
    with pytest.raises(jo.JostleError) as error:
        call()
    assert any(part in str(error.value) for part in words.split("|"))


def test_functions_that_cannot_travel_are_named(monkeypatch):
    monkeypatch.setattr("jostle.study.cases.find_spec", lambda name: None)
    with pytest.raises(jo.InvalidValue, match="define it with `def` at the top level of a module"):
        packed(lambda: 0)


def test_there_is_a_word_for_the_columns_that_are_not_there():
    from serial_executor import Serial

    from jostle.study import sweep

    found = sweep(Study(drawn, over=[{"k": 1}]), executor=Serial())
    with pytest.raises(jo.InvalidValue, match=r"unknown column 'valu'; did you mean 'value'\?"):
        found["valu"]
    with pytest.raises(jo.InvalidValue, match="unknown curve 'times'"):
        found.curves("times")
    with pytest.raises(jo.InvalidValue, match="'k' is not a measure"):
        found.summary("k")
    with pytest.raises(jo.InvalidValue, match="unknown case 7"):
        found.summary("value", 7)


def test_a_parquet_file_without_pyarrow_names_the_extra(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(jo.errors.MissingPackage, match=r"jostle\[tables\]"):
        write_table({"a": np.array([1])}, tmp_path / "a.parquet")
