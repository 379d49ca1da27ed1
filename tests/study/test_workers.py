"""Processes that die: only a run that always kills its process is lost, and a killed study goes on where it stopped."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import pytest
import study_functions
from serial_executor import Serial

import jostle as jo
from jostle.study import Study, grid, read, sweep
from jostle.study.executing import ONE_THREAD

PROGRAM = """
import sys
import study_functions
from jostle.study import Study, grid, sweep

if __name__ == "__main__":
    study = Study(study_functions.kills_the_study, over=grid({"k": range(10), "folder": [sys.argv[1]]}), seed=3)
    sweep(study, folder=sys.argv[2], workers=1)
"""


def study_of(function, folder, count=8):
    return Study(function, over=grid({"k": range(count), "folder": [str(folder)]}), seed=3)


def undisturbed(folder, count=8):
    """The table without accidents."""
    return columns(sweep(study_of(study_functions.calm, folder, count), executor=Serial()))


def tries(folder, k):
    return (folder / f"tried_{k}").stat().st_size


def columns(results):
    return {name: column.tolist() for name, column in results.table.items()}


def test_a_killed_process_costs_only_its_run_which_is_tried_again(tmp_path):
    found = sweep(study_of(study_functions.kills_its_process, tmp_path), workers=2)
    assert columns(found) == undisturbed(tmp_path)
    assert [tries(tmp_path, k) for k in range(8)] == [1, 1, 1, 1, 2, 1, 1, 1]


def test_a_run_that_always_kills_its_process_is_recorded_as_failed(tmp_path):
    found = sweep(study_of(study_functions.always_kills_its_process, tmp_path, 2), workers=1)
    assert list(found.failures) == [1]
    assert "died 3 times" in found.failures[1]
    assert "exit code 7" in found.failures[1]
    assert [tries(tmp_path, k) for k in range(2)] == [1, 3]


def test_a_study_that_was_killed_goes_on_where_it_stopped_and_has_the_same_table(tmp_path):
    tried, folder, program = tmp_path / "tried", tmp_path / "study", tmp_path / "program.py"
    tried.mkdir()
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(tried), str(folder)]
    path = [str(tmp_path), *sys.path]
    killed = subprocess.run(command, env=environment(path), capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    finished = list(read(folder)["k"])
    assert 4 <= len(finished) <= 6
    found = sweep(study_of(study_functions.kills_the_study, tried, 10), folder=folder, executor=Serial())
    assert columns(found) == undisturbed(tried, 10)
    assert sum(tries(tried, k) for k in finished) == len(finished) + 1  # one is repeated to compare its results
    whole = sweep(study_of(study_functions.kills_the_study, tried, 10), folder=tmp_path / "whole", executor=Serial())
    assert (folder / "table.csv").read_bytes() == (tmp_path / "whole" / "table.csv").read_bytes()
    assert columns(whole) == columns(found)


def environment(path):
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def test_a_program_without_a_protected_main_part_is_told_what_to_do(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("from jostle.study import Study, sweep\nsweep(Study(dict), workers=1)\n")
    done = subprocess.run(
        [sys.executable, str(program)], env=environment(sys.path), capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1].startswith("jostle.study.executing.NoWorkers: ")
    assert 'if __name__ == "__main__":' in done.stderr.splitlines()[-1]


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_loses_a_worker_and_gives_the_same_table(tmp_path):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options, env=ONE_THREAD) as cluster, distributed.Client(cluster) as client:
        before = set(client.run(study_functions.os.getpid).values())
        assert len(before) == 2
        found = sweep(study_of(study_functions.kills_its_process, tmp_path), executor=client.get_executor())
    assert columns(found) == undisturbed(tmp_path)
    assert tries(tmp_path, 4) == 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_broken_pool_of_the_user_says_so_and_keeps_the_finished_runs(tmp_path):
    study = study_of(study_functions.always_kills_its_process, tmp_path, 3)
    with ProcessPoolExecutor(1) as pool, pytest.raises(jo.study.ExecutorBroke, match="takes no more runs") as broke:
        sweep(study, executor=pool, workers=1)
    assert broke.value.results["k"].tolist() == [0]
