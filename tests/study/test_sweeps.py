"""Sweeps: the same table however it is computed, recorded errors, journals that are continued, rules that end."""

import json
import signal
from collections import deque
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from queue import LifoQueue
from threading import Thread

import numpy as np
import pytest
import study_functions
from serial_executor import Serial
from study_functions import drawn

import jostle as jo
from jostle.study import PreciseMean, SettledCurves, Study, grid, read, sweep
from jostle.study.cases import seed_of

SERIAL = Serial()
SHORT = jo.scenarios.load("cradle_apart", settings=["run.t=0.1", "run.h=0.01"])
CRADLE = {"over": grid({"problem.n": [2, 3]}), "measures": ["kinetic_energy", "study_functions:last_velocity"]}


class Backwards(Executor):
    """Does the run first that was handed over last."""

    def __init__(self):
        self.waiting = LifoQueue()
        Thread(target=self.work, daemon=True).start()

    def submit(self, function, /, *arguments):
        self.waiting.put((future := Future(), function, arguments))
        return future

    def work(self):
        while True:
            future, function, arguments = self.waiting.get()
            if future.set_running_or_notify_cancel():
                future.set_result(function(*arguments))


def columns(results):
    return {name: column.tolist() for name, column in results.table.items()}


def test_a_scenario_is_run_with_the_settings_of_each_case():
    found = sweep(Study(SHORT, repeat=2, **CRADLE), executor=SERIAL)
    assert list(found.table) == [
        "run", "case", "repetition", "seed", "problem.n", "status", "kinetic_energy", "last_velocity", "error",
    ]  # fmt: skip
    assert found["problem.n"].tolist() == [2, 3, 2, 3]
    assert found["repetition"].tolist() == [0, 0, 1, 1]
    assert found["kinetic_energy"].round(9).tolist() == [0.5] * 4
    assert found["last_velocity"].tolist() == [0.0] * 4
    assert set(found["status"]) == {"finished"}
    assert found.failures == {}


def test_the_table_depends_neither_on_the_order_nor_on_the_number_of_workers():
    study = Study(drawn, over=grid({"k": range(5)}), repeat=4, seed=9)
    reference = columns(sweep(study, executor=SERIAL, workers=1))
    assert columns(sweep(study, executor=Backwards(), workers=5)) == reference
    with ThreadPoolExecutor(3) as threads:
        assert columns(sweep(study, executor=threads)) == reference
    assert reference["seed"] == [seed_of(9, number) for number in range(20)]
    assert len(set(reference["value"])) == 20


def test_seeds_derive_from_the_study_and_the_number_of_the_run():
    state = np.random.SeedSequence(5, spawn_key=(7,)).generate_state(1, np.uint64)
    assert seed_of(5, 7) == int(state[0]) >> 1
    own = sweep(Study(drawn, over=grid({"k": [0], "seed": [11, 12]})), executor=SERIAL)
    assert own["seed"].tolist() == [11, 12]
    assert own["value"].tolist() == [drawn(0, 11)["value"], drawn(0, 12)["value"]]


def test_the_seed_of_a_run_is_that_of_its_scenario():
    study = Study("evacuation", measures={"x": "study_functions:first_place"}, seed=4, repeat=2)
    quick = jo.scenarios.load("evacuation", settings=["problem.groups.0.n=2", "run.t=0.1"])
    found = sweep(Study(quick, measures=study.measures, seed=4, repeat=2), executor=SERIAL)
    alone = jo.scenarios.parse(quick.text, seed=int(found["seed"][1])).build().problem.q0[0, 0]
    assert found["x"].tolist()[1] == alone
    assert found["x"][0] != found["x"][1]


def fails(k):
    if k == 1:
        raise ZeroDivisionError("one\nis wrong")
    return k


def test_a_failed_run_is_recorded_with_its_error_and_the_others_go_on():
    found = sweep(Study(fails, over=grid({"k": [0, 1, 2]})), executor=SERIAL)
    assert found["result"].tolist()[::2] == [0, 2]
    assert np.isnan(found["result"][1])
    assert found["status"].tolist() == ["finished", "failed", "finished"]
    assert found.failures[1].startswith("ZeroDivisionError: one is wrong (test_sweeps.py, line ")
    assert found.summary("result").n == 2
    twice = sweep(Study(fails, over=grid({"k": [0, 1, 2]}), repeat=2), executor=SERIAL).summaries()
    assert twice["failed"].tolist() == [0, 2, 0]
    assert twice["n"].tolist() == [2, 0, 2]


@pytest.mark.parametrize(
    ("measure", "words"),
    [("not_a_number", "'not_a_number' is NaN"), ("two_numbers", "must return one number, not an array of shape (2,)")],
)
def test_a_measure_that_gives_no_number_fails_the_run(measure, words):
    found = sweep(Study(SHORT, measures=[f"study_functions:{measure}"]), executor=SERIAL)
    assert words in found.failures[0]


def test_measures_of_a_run_that_returns_no_solution_are_an_error():
    found = sweep(Study(fails, over=[{"k": 0}], measures=["end_time"]), executor=SERIAL)
    assert "need a Solution, but the run returned int" in found.failures[0]


def test_a_journal_is_continued_extended_and_checked(tmp_path):
    tried, folder = tmp_path / "tried", tmp_path / "study"
    tried.mkdir()
    over = grid({"k": range(3), "folder": [str(tried)]})

    def study(**other):
        return Study(study_functions.calm_and_noted, **{"over": over, "repeat": 2, "seed": 1, **other})

    whole = sweep(study(), folder=folder, executor=SERIAL)
    journal = folder / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(lines) == 6
    table = (folder / "table.csv").read_bytes()
    journal.write_bytes(b"".join(lines[:3]) + lines[3][:-9])  # killed in the middle of a line
    assert len(read(folder)) == 3
    again = sweep(study(), folder=folder, executor=SERIAL)
    assert (folder / "table.csv").read_bytes() == table
    assert columns(again) == columns(whole)
    tries = [(tried / f"tried_{k}").stat().st_size for k in range(3)]
    assert sorted(tries) == [3, 3, 4]  # the one that was cut off, and one that was repeated to compare its results
    longer = sweep(study(repeat=3), folder=folder, executor=SERIAL)
    assert len(longer) == 9
    assert columns(longer)["value"][:6] == columns(whole)["value"]
    assert columns(read(folder)) == columns(longer)
    with pytest.raises(jo.JostleError, match=r"contains another study: its seed is 1, not 2\. Choose another folder"):
        sweep(study(seed=2), folder=folder, executor=SERIAL)
    with pytest.raises(jo.JostleError, match="its cases is"):
        sweep(study(over=over[:2]), folder=folder, executor=SERIAL)


def test_a_damaged_line_in_the_middle_is_named(tmp_path):
    study = Study(drawn, over=grid({"k": range(3)}))
    sweep(study, folder=tmp_path / "study", executor=SERIAL)
    journal = tmp_path / "study" / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole.replace(b'"run": 1', b'"run" 1'))
    with pytest.raises(jo.JostleError, match="line 2 is damaged"):
        sweep(study, folder=tmp_path / "study", executor=SERIAL)
    second = whole.index(b"\n") + 1
    for place in range(second, whole.index(b"\n", second)):  # the bit makes other digits, letters and marks of each
        journal.write_bytes(whole[:place] + bytes([whole[place] ^ 2]) + whole[place + 1 :])
        with pytest.raises(jo.JostleError, match=r"line [23] is damaged"):
            read(tmp_path / "study")


def test_a_damaged_description_of_a_study_is_refused(tmp_path):
    """A flipped bit in a parameter would give the results to another case."""
    folder = tmp_path / "study"
    sweep(Study(drawn, over=grid({"k": [1, 4]})), folder=folder, executor=SERIAL)
    text = (folder / "study.json").read_text()
    (folder / "study.json").write_text(text.replace('"k": 4', '"k": 5'))
    with pytest.raises(jo.JostleError, match=r"study\.json is damaged"):
        read(folder)


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("important")
    with pytest.raises(jo.JostleError, match="contains other files and no study"):
        sweep(Study(drawn, over=[{"k": 1}]), folder=tmp_path, executor=SERIAL)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_unfinished_study_is_read_as_far_as_it_is(tmp_path):
    lengths = []

    def look(progress):
        lengths.append(len(read(tmp_path / "study")))

    sweep(Study(drawn, over=grid({"k": range(3)})), folder=tmp_path / "study", executor=SERIAL, progress=look)
    assert lengths == [0, 1, 2, 3]


def test_two_sweeps_do_not_write_one_journal(tmp_path):
    study = Study(drawn, over=[{"k": 1}])

    def second(progress):
        with pytest.raises(jo.JostleError, match="another process runs the study in"):
            sweep(study, folder=tmp_path / "study", executor=SERIAL)

    sweep(study, folder=tmp_path / "study", executor=SERIAL, progress=second)


def test_failed_runs_are_repeated_only_when_asked(tmp_path):
    tried = tmp_path / "tried"
    tried.mkdir()
    study = Study(study_functions.fails_first, over=[{"k": 0, "folder": str(tried)}])
    folder = tmp_path / "study"
    assert list(sweep(study, folder=folder, executor=SERIAL).failures) == [0]
    assert list(sweep(study, folder=folder, executor=SERIAL).failures) == [0]
    assert sweep(study, folder=folder, executor=SERIAL, retry_failed=True)["result"].tolist() == [2]
    assert read(folder)["result"].tolist() == [2]


def test_ctrl_c_keeps_the_finished_runs(tmp_path):
    def hit(progress):
        if progress.step == 3:
            signal.raise_signal(signal.SIGINT)

    study = Study(drawn, over=grid({"k": range(10)}))
    with pytest.raises(
        jo.errors.Interrupted, match=r"3 of 10 runs are finished; repeat the call to continue"
    ) as stopped:
        sweep(study, executor=SERIAL, workers=1, folder=tmp_path / "study", progress=hit)
    assert len(stopped.value.results) == 3
    assert columns(sweep(study, executor=SERIAL, folder=tmp_path / "study")) == columns(sweep(study, executor=SERIAL))


def test_a_rule_ends_each_case_at_the_same_run_however_many_are_under_way(tmp_path):
    study = Study(study_functions.spread, over=grid({"width": [0.1, 1.0, 100.0]}), repeat=60, seed=2)
    rule = PreciseMean("value", width=0.4, least=4)
    one = sweep(study, executor=SERIAL, workers=1, until=rule)
    counts = np.bincount(one["case"]).tolist()
    assert counts[0] == 4
    assert 4 < counts[1] < 60
    assert counts[2] == 60
    assert one.settled == (True, True, False)
    assert one.summary("value", 1).width <= 0.4
    several = sweep(study, executor=Backwards(), workers=5, until=rule, folder=tmp_path / "study")
    assert columns(several) == columns(one)
    assert columns(read(tmp_path / "study")) == columns(one)


def test_a_rule_about_what_is_not_measured_is_an_error():
    study = Study(SHORT, measures=["end_time"])
    with pytest.raises(jo.InvalidValue, match=r"until: the study has no measure 'end_tme'; did you mean 'end_time'\?"):
        sweep(study, executor=SERIAL, until=PreciseMean("end_tme", width=1.0))
    with pytest.raises(jo.InvalidValue, match="until: the study has no curve 'leaving_times'"):
        sweep(study, executor=SERIAL, until=SettledCurves())


def test_trajectories_are_kept_where_asked(tmp_path):
    study = Study(SHORT, trajectories=True, repeat=2)
    with pytest.raises(jo.InvalidValue, match="folder is missing"):
        sweep(study, executor=SERIAL)
    sweep(study, folder=tmp_path / "study", executor=SERIAL)
    files = sorted((tmp_path / "study" / "trajectories").iterdir())
    assert [file.name for file in files] == ["000000.vtkhdf", "000001.vtkhdf"]
    assert round(jo.io.read(files[1]).t[-1], 9) == 0.1
    assert jo.io.about(files[1])["run"] == "1"


def test_tables_are_read_by_others(tmp_path):
    parquet, pandas = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pandas")
    found = sweep(Study(fails, over=grid({"k": [0, 1, 2]})), folder=tmp_path / "study", executor=SERIAL)
    there = parquet.read_table(tmp_path / "study" / "table.parquet").to_pydict()
    assert there["k"] == [0, 1, 2]
    assert there["result"] == [0, None, 2]
    frame = pandas.read_csv(tmp_path / "study" / "table.csv")
    assert frame["seed"].tolist() == found["seed"].tolist()
    assert pandas.DataFrame(found.table)["status"].tolist() == ["finished", "failed", "finished"]
    summary = pandas.read_csv(tmp_path / "study" / "summary.csv")
    assert summary["n"].tolist() == [1, 0, 1]


def test_the_description_of_a_study_is_plain_json(tmp_path):
    sweep(Study(SHORT, measures=["end_time"], title="A title"), folder=tmp_path / "study", executor=SERIAL)
    found = json.loads((tmp_path / "study" / "study.json").read_text())
    assert found["title"] == "A title"
    assert found["identity"]["measures"] == {"end_time": "jostle.study.measures:end_time"}


def times(factor):
    def value(x):
        return factor * x

    return value


def product(x, factor):
    return factor * x


def from_deque(factor):
    values = deque([factor])
    return lambda x: values[0] * x


@pytest.mark.parametrize(
    ("study_of", "name"),
    [
        (lambda factor: Study(times(factor), over=[{"x": 1.0}]), "result"),
        (lambda factor: Study(from_deque(factor), over=[{"x": 1.0}]), "result"),
        (lambda factor: Study(partial(product, factor=factor), over=[{"x": 1.0}]), "result"),
        (lambda factor: Study(SHORT, measures={"end": lambda sol: factor}), "end"),
    ],
    ids=["closure", "opaque data", "partial", "measure"],
)
def test_a_study_is_not_continued_with_a_function_that_has_changed(study_of, name, tmp_path):
    with ThreadPoolExecutor(1) as threads:
        first = sweep(study_of(2.0), folder=tmp_path / "study", executor=threads)
        with pytest.raises(jo.JostleError, match=rf"with other functions: in run 0, {name} was 2\.0, now 3\.0"):
            sweep(study_of(3.0), folder=tmp_path / "study", executor=threads)
        again = sweep(study_of(2.0), folder=tmp_path / "study", executor=threads)
    assert columns(again) == columns(first)


def test_a_function_that_was_mended_repeats_the_failed_runs(tmp_path):
    mended = []

    def inverse(k):
        return 1.0 / k if k or not mended else 0.0

    study = Study(inverse, over=grid({"k": [0, 1, 2]}))
    with ThreadPoolExecutor(1) as threads:
        assert list(sweep(study, folder=tmp_path / "study", executor=threads).failures) == [0]
        mended.append(True)
        found = sweep(study, folder=tmp_path / "study", executor=threads, retry_failed=True)
    assert found["result"].tolist() == [0.0, 1.0, 0.5]


def test_a_study_with_results_that_cannot_be_repeated_is_continued_with_a_warning(tmp_path):
    calls = iter(range(99))
    study = Study(lambda k: next(calls), over=grid({"k": [0, 1]}))
    with ThreadPoolExecutor(1) as threads:
        sweep(study, folder=tmp_path / "study", executor=threads)
        with pytest.warns(
            jo.errors.NotReproducible, match=r"run [01] gives other results each time .* result was [01], now 2"
        ):
            found = sweep(study, folder=tmp_path / "study", executor=threads)
    assert found["result"].tolist() == [0, 1]
