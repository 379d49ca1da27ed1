"""The command line, as a person uses it."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import typer

import jostle as jo
from jostle.cli import main
from jostle.cli.runs import Compute, _show_result
from numbers_of_files import contents
from rows import whole

DATA = Path(__file__).parents[1] / "data"
SMALL = ["--set", "problem.n=60", "--set", "run.t=0.4"]
CRADLE = ["cradle_apart", "--set", "run.t=0.3"]
"""A run of 150 steps."""


def test_a_scenario_becomes_a_trajectory_a_checkpoint_and_a_summary(here, jostle):
    code, out, err = jostle("run", "cradle_apart", "--set", "run.t=1.2")
    assert code == 0
    assert sorted(os.listdir(here)) == ["cradle_apart.checkpoint", "cradle_apart.vtkhdf"]
    for words in ("finished", "600", "worst overlap", "steps per second"):
        assert words in out
    assert "cradle_apart.vtkhdf: the trajectory" in err
    assert "jostle view cradle_apart.vtkhdf" in err
    assert "cradle_apart.checkpoint: the last state; you can delete it, unless you want to make the run longer" in err
    assert "jostle resume cradle_apart.vtkhdf --set run.t=" in err
    sol = jo.io.read(here / "cradle_apart.vtkhdf")
    assert (sol.u[-1].round(6) + 0.0).tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    about = jo.io.about(here / "cradle_apart.vtkhdf")
    assert about["scenario"] == jo.scenarios.load("cradle_apart", settings=["run.t=1.2"]).text
    assert about["seed"] == "0"
    assert about["version of numpy"] == np.__version__


def test_the_version_is_that_of_the_package(jostle):
    assert jostle("--version") == (0, f"jostle {jo.__version__}\n", "")


def test_the_summaries_of_commands_are_not_cut(jostle):
    shown = []
    for group in [], ["dev"]:
        code, out, _ = jostle(*group, "--help")
        listed = out.split("Commands:")[1]
        assert (code, "..." in listed) == (0, False)
        shown.append(re.findall(r"^  ([a-z]+)", listed, re.M))
    assert shown[0][:5] == ["list", "run", "view", "plot", "movie"]
    assert (shown[0][-1], "repair" in shown[0], "repair" in shown[1]) == ("dev", False, True)


def test_quiet_says_nothing_and_json_is_one_line(here, jostle):
    assert jostle("run", *CRADLE, "--quiet", "-o", "a.vtkhdf") == (0, "", "")
    code, out, err = jostle("run", *CRADLE, "--json", "-o", "b.vtkhdf")
    found = json.loads(out)
    assert (code, err, found["status"], found["steps"], found["frames"]) == (0, "", "finished", 150, 16)
    assert found["bytes"] == (here / "b.vtkhdf").stat().st_size
    assert contents("a.vtkhdf") == contents("b.vtkhdf")


def test_settings_and_the_seed_reach_the_run_and_stay_in_its_file(here, jostle):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert jostle("run", "spheres", *SMALL, "--seed", seed, "-q", "-o", f"{name}.vtkhdf")[0] == 0
    a, b, c = (contents(f"{name}.vtkhdf") for name in "abc")
    assert a == b
    assert a["VTKHDF/Points"] != c["VTKHDF/Points"]
    again = jo.scenarios.parse(jo.io.about(here / "c.vtkhdf")["scenario"])
    assert (again.problem.n, again.run.t, again.seed) == (60, 0.4, 2)


def test_a_trajectory_that_is_there_is_kept_unless_one_says_so(here, jostle):
    jostle("run", *CRADLE, "-q")
    before = (here / "cradle_apart.vtkhdf").read_bytes()
    code, _, err = jostle("run", *CRADLE)
    assert code == 1
    for words in ("cradle_apart.vtkhdf exists", "jostle resume", "--overwrite"):
        assert words in err
    assert (here / "cradle_apart.vtkhdf").read_bytes() == before
    assert jostle("run", *CRADLE, "-q", "--overwrite", "--set", "problem.n=3")[0] == 0
    assert jo.io.read(here / "cradle_apart.vtkhdf").q.shape[1] == 3


def test_overwrite_keeps_what_it_cannot_replace(here, jostle):
    """A scenario that cannot be built, or a trajectory that is being written, costs nothing."""
    jostle("run", *CRADLE, "-q")
    before = (here / "cradle_apart.vtkhdf").read_bytes()
    outside = ["--set", "problem.start.upper=[-9, -9, 0]", "--overwrite", "-o", "cradle_apart.vtkhdf"]
    assert jostle("run", "spheres", *outside)[0] == 2
    assert (here / "cradle_apart.vtkhdf").read_bytes() == before
    with jo.io.Writer(here / "a.vtkhdf", shape=(5,), about={}):
        code, _, err = jostle("run", *CRADLE, "--overwrite", "-o", "a.vtkhdf")
        assert code == 1
        assert "is being written" in err
        assert (here / "a.vtkhdf").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "hourglas"], "did you mean 'hourglass'?"),
        (["run", "nowhere.toml"], "nowhere.toml: cannot be read"),
        (["run", "spheres", "--set", "run.stepp=1"], "unknown key 'stepp' in [run]; the keys are"),
        (["run", "spheres", "--set", "run.h"], "run.h"),
        (["new", "nonsense"], "unknown scenario 'nonsense'"),
    ],
)
def test_a_wrong_scenario_is_exit_code_two_and_a_line_that_helps(here, jostle, arguments, words):
    code, out, err = jostle(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err
    assert os.listdir(here) == []


@pytest.mark.parametrize("command", ["info", "resume", "export", "view", "plot"])
@pytest.mark.parametrize("content", [None, b"", b"nonsense" * 100])
def test_a_missing_or_broken_trajectory_is_exit_code_one(here, jostle, command, content):
    if content is not None:
        (here / "run.vtkhdf").write_bytes(content)
    code, out, err = jostle(command, "run.vtkhdf", *(["-o", "a.csv"] if command == "export" else []))
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert "run.vtkhdf" in err


def test_a_step_that_is_not_solved_is_exit_code_one_or_three(here, jostle):
    hard = ["--set", "problem.n=100", "--set", 'solver.kind="gauss_seidel"', "--set", "solver.max_iterations=1"]
    short = ["--set", "run.t=0.4", "-o"]
    code, _, err = jostle("run", "spheres", *hard, *short, "a.vtkhdf")
    assert code == 1
    assert "step " in err
    assert jo.io.read(here / "a.vtkhdf").status == "failed"
    code, out, _ = jostle("run", "spheres", *hard, "--set", "run.strict=false", *short, "b.vtkhdf")
    assert code == 3
    assert "not converged" in out


@pytest.mark.parametrize(("status", "code"), [("finished", 4), ("blocked", 4), ("not converged", 3)])
def test_steps_that_were_not_solved_count_more_than_people_who_are_stuck(here, status, code):
    quietly = Compute(threads=None, device="cpu", seconds=60.0, quiet=True, as_json=False)
    with pytest.raises(typer.Exit) as ended:
        _show_result({"status": status, "crowd": {"blocked": True}}, {}, here / "a.vtkhdf", quietly)
    assert ended.value.exit_code == code


def test_threads_are_checked(here, jostle):
    code, _, err = jostle("run", "cradle_apart", "--threads", 100_000)
    assert code == 2
    assert "threads must be between 1 and" in err
    code, _, err = jostle("run", "cradle_apart", "--device", "tpu")
    assert code == 2
    assert "device 'tpu' is not supported; use 'cpu' or 'cuda'" in err


def test_new_copies_a_scenario_that_runs(here, jostle):
    code, out, _ = jostle("new", "cradle_touching", "-o", "mine.toml")
    assert code == 0
    assert "jostle run mine.toml" in out
    assert (here / "mine.toml").read_text() == jo.scenarios.shipped("cradle_touching")
    code, _, err = jostle("new", "cradle_apart", "-o", "mine.toml")
    assert code == 1
    assert "mine.toml exists" in err
    assert jostle("run", "mine.toml", "-q", "--set", "run.t=0.1")[0] == 0
    assert (here / "mine.vtkhdf").exists()


def test_list_schema_and_doctor_can_be_read_by_machines(jostle):
    titles = json.loads(jostle("list", "--json")[1])
    assert set(titles) == set(jo.scenarios.names())
    assert all(titles.values())
    assert json.loads(jostle("dev", "schema")[1]) == jo.scenarios.schema()
    found = json.loads(jostle("doctor", "--json")[1])
    assert found["version_jostle"] == jo.__version__
    assert found["trajectory"] == "101 frames written and read"
    assert "device" in found["gpu"]
    listed = jostle("list")[1].splitlines()
    assert any(line.startswith("  hourglass ") for line in listed)
    assert [line for line in listed if line != line.rstrip()] == []


def test_info_of_scenarios_and_trajectories(here, jostle):
    found = json.loads(jostle("info", "spheres", "--json")[1])
    assert (found["kind"], found["bodies"], found["scheme"]) == ("grains", 400, "Maury")
    jostle("run", *CRADLE, "-q", "--seed", "4")
    found = json.loads(jostle("info", "cradle_apart.vtkhdf", "--json")[1])
    assert (found["status"], found["frames"], found["seed"]) == ("finished", 16, "4")
    (here / "cradle_apart.checkpoint").unlink()
    assert json.loads(jostle("info", "cradle_apart.vtkhdf", "--json")[1])["checkpoint"] == ""
    assert "checkpoint" not in jostle("info", "cradle_apart.vtkhdf")[1]
    assert "seed = 4" in jostle("info", "cradle_apart.vtkhdf", "--scenario")[1]


def test_exports_for_other_programs(here, jostle):
    jostle("run", *CRADLE, "-q")
    for suffix in ("csv", "npz", "gsd", "pvd"):
        code, out, _ = jostle("export", "cradle_apart.vtkhdf", "-o", f"a.{suffix}")
        assert code == 0
        assert f"a.{suffix}" in out
        assert (here / f"a.{suffix}").stat().st_size > 100


LONG = ["--set", "problem.n=60", "--set", "run.t=0.2", "--set", "run.h=0.004", "-q"]
"""The silo with few discs and long steps, of which it takes fifty."""
OFTEN = ["--checkpoint", "0.05", "-q"]
KILLED = """
import os, signal, sys
from jostle import cli, terminal

step, show = int(sys.argv[1]), terminal.ProgressBar.__call__

def show_and_hit(bar, progress):
    show(bar, progress)
    if progress.step == step:
        os.kill(os.getpid(), signal.SIGKILL)

terminal.ProgressBar.__call__ = show_and_hit
cli.main(sys.argv[2:])
"""
"""The command line, in a process that gets a signal in a given step."""


def killed(step, *arguments):
    """Run a command in a process that is killed after a step."""
    command = [sys.executable, "-c", KILLED, str(step), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """What the file of the long run contains if nothing interrupts it."""
    path = tmp_path_factory.mktemp("silo") / "silo.vtkhdf"
    with pytest.raises(SystemExit) as ended:
        main(["run", "silo", *LONG, "-o", str(path)])
    assert not ended.value.code
    return contents(path)


def test_an_interrupted_run_is_resumed_from_the_command_line(here, jostle, uninterrupted, monkeypatch):
    def ctrl_c(bar, progress):
        if progress.step == 30:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as there:
        there.setattr("jostle.terminal.ProgressBar.__call__", ctrl_c)
        code, _, err = jostle("run", "silo", "-o", "a.vtkhdf", *LONG, *OFTEN)
    assert code == 130
    assert "interrupted after step 30" in err
    assert "jostle resume a.vtkhdf" in err
    assert "Traceback" not in err
    assert json.loads(jostle("info", "a.vtkhdf", "--json")[1])["status"] == "interrupted"
    assert jostle("resume", "a.vtkhdf", "-q")[0] == 0
    assert contents("a.vtkhdf") == uninterrupted
    code, out, _ = jostle("resume", "a.vtkhdf", "--json", "--set", "run.t=0.21")  # for longer
    assert (code, json.loads(out)["t"]) == (0, 0.21)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["SIGTERM", "SIGHUP"])
def test_a_batch_system_that_ends_a_run_interrupts_it(here, jostle, uninterrupted, monkeypatch, number, code):
    def end(bar, progress):
        if progress.step == 30:
            signal.raise_signal(number)

    with monkeypatch.context() as there:
        there.setattr("jostle.terminal.ProgressBar.__call__", end)
        ended, _, err = jostle("run", "silo", "-o", "a.vtkhdf", *LONG)
    assert ended == code
    assert "interrupted after step 30" in err
    sol = jo.io.read("a.vtkhdf")
    assert (sol.status, len(sol.stats)) == ("interrupted", 30)
    assert jostle("resume", "a.vtkhdf", "-q")[0] == 0
    assert contents("a.vtkhdf") == uninterrupted
    assert signal.getsignal(number) is signal.SIG_DFL


def test_a_batch_system_that_ends_a_study_keeps_its_finished_runs(here, jostle, monkeypatch):
    def end(bar, progress):
        if progress.step == 2:
            signal.raise_signal(signal.SIGTERM)

    Path("few.toml").write_text('scenario = "cradle_apart"\nmeasures = ["kinetic_energy"]\nrepeat = 3\n')
    with monkeypatch.context() as there:
        there.setattr("jostle.terminal.ProgressBar.__call__", end)
        there.setattr("jostle.cli.sweeps._executor", lambda address: ThreadPoolExecutor(1))
        code, _, err = jostle("sweep", "few.toml", "--workers", 1)
    assert code == 143
    assert "interrupted: 2 of 3 runs are finished; repeat the command to continue few" in err
    assert len(jo.study.read("few")) == 2


def test_a_run_that_is_killed_again_and_again_ends_as_if_it_had_not_been(here, jostle, uninterrupted):
    """kill -9 in some steps; each time what was acknowledged is there, and the rest is done again."""
    start, go_on = ["run", "silo", "-o", "a.vtkhdf", *LONG, "--checkpoint", "0"], ["resume", "a.vtkhdf", *OFTEN]
    for arguments, step in ((start, 20), (go_on, 45)):
        done = killed(step, *arguments)
        assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")
        assert len(jo.io.read(here / "a.vtkhdf").t) > 1
    assert jostle("resume", "a.vtkhdf", "-q")[0] == 0
    assert contents("a.vtkhdf") == uninterrupted


@pytest.mark.whole
def test_a_run_that_is_killed_at_any_moment_ends_as_if_it_had_not_been(here, jostle, uninterrupted):
    """kill -9 at moments that have nothing to do with steps, or, on a busy machine, when all is done."""
    random, arguments = np.random.default_rng(0), ["run", "silo", "-o", "a.vtkhdf", *LONG]
    for _ in range(2):
        with subprocess.Popen([sys.executable, "-m", "jostle", *arguments, *OFTEN]) as process:
            while process.poll() is None and not os.path.exists("a.checkpoint"):
                time.sleep(0.005)
            time.sleep(0.3 * random.random())
            process.kill()
        arguments = ["resume", "a.vtkhdf"]
    assert jostle("resume", "a.vtkhdf", "-q")[0] == 0
    assert contents("a.vtkhdf") == uninterrupted


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_is_shown_in_a_terminal_only(here, jostle, monkeypatch):
    command, terminal = ["run", "silo", *LONG[:-1], "-o"], Terminal()
    with monkeypatch.context() as there:
        there.setattr(sys, "stderr", terminal)
        there.setattr("jostle.terminal.REFRESH_INTERVAL", 0.0)  # the run may end before the first one is over
        assert jostle(*command, "a.vtkhdf")[0] == 0
    for words in ("steps/s", "overlap", "residual", "left", "100%"):
        assert words in terminal.getvalue()
    code, out, err = jostle(*command, "b.vtkhdf")
    assert code == 0
    assert "steps/s" not in err
    assert "\x1b" not in out + err


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    one = jo.Motion(q0=[[0.0, 0.0]], v0=[[1.0, 0.0]], within=jo.Balls([0.5]))
    return jo.io.write(jo.solve(one, jo.Maury(), t=1.0, h=0.1), tmp_path_factory.mktemp("walk") / "walk.vtkhdf")


@pytest.fixture
def walk(here, walked):
    """A trajectory, walk.vtkhdf: a disc that walks."""
    return Path(shutil.copy(walked, "walk.vtkhdf"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["view", "-o", "walk.vtkhdf"], "the name of a page must end in .html or .htm, not be 'walk.vtkhdf'"),
        (["view", "-o", "no/x.html"], "no/x.html cannot be written: No such file or directory"),
        (["view", "-o", "walk.vtkhdf/x.html"], "cannot be written: Not a directory"),
        (["plot", "-o", "walk.vtkhdf"], "the name of a picture must end in .png, .pdf, "),
        (["plot", "-o", "x.xyz"], "not be 'x.xyz'"),
        (["plot", "-o", "x"], "not be 'x'"),
        (["plot", "-o", "no/x.png"], "no/x.png cannot be written: No such file or directory"),
        (["plot", "-o", "walk.vtkhdf/x.png"], "cannot be written: Not a directory"),
        (["movie", "-o", "walk.vtkhdf"], "the name of a film must end in .mp4 or .gif, not be 'walk.vtkhdf'"),
        (["movie", "-o", "no/x.mp4"], "no/x.mp4 cannot be written: No such file or directory"),
        (["movie", "--speed", "1e-15"], "would have 2.5e+16 frames"),
    ],
)
def test_what_cannot_be_written_is_one_line_and_costs_nothing(here, walk, jostle, arguments, words):
    before = walk.read_bytes()
    command, *rest = arguments
    code, out, err = jostle(command, "walk.vtkhdf", *rest)
    assert (code, out, len(err.splitlines())) == (1 if "cannot be written" in words else 2, "", 1)
    assert err.startswith("error: ")
    assert words in err
    assert walk.read_bytes() == before
    assert os.listdir(here) == ["walk.vtkhdf"]


@pytest.mark.parametrize(("command", "suffix"), [("view", ".html"), ("plot", ".png"), ("movie", ".gif")])
def test_a_trajectory_of_any_name_is_not_replaced_by_its_picture(here, walk, jostle, command, suffix):
    named = walk.rename(f"walk{suffix}")
    before = named.read_bytes()
    code, out, err = jostle(command, f"walk{suffix}", "-o", f"walk{suffix}")
    assert (code, out) == (2, "")
    assert "is the trajectory itself" in err
    assert named.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="has no limits of file sizes")
@pytest.mark.parametrize(("command", "target"), [("view", "x.html"), whole(("plot", "x.png")), ("movie", "x.gif")])
def test_a_full_disk_leaves_no_part_of_a_page_a_picture_or_a_film(here, walk, jostle, full_disk, command, target):
    where = ["-o", target, *(["--speed", "10"] if command == "movie" else [])]
    with full_disk(4000):
        code, out, err = jostle(command, "walk.vtkhdf", *where)
    assert (code, out) == (1, "")
    assert err.splitlines()[-1] == f"error: {target} cannot be written: File too large"
    assert "Traceback" not in err
    assert os.listdir(here) == ["walk.vtkhdf"]


@pytest.mark.parametrize("suffix", [".PNG", whole(".pdf"), whole(".svg")])
def test_a_picture_is_of_the_kind_that_its_name_says(here, walk, jostle, suffix):
    assert jostle("plot", "walk.vtkhdf", "-o", f"x{suffix}") == (0, f"x{suffix}\n", "")
    begin = (here / f"x{suffix}").read_bytes()[:8]
    assert begin.startswith({".PNG": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}[suffix])


def test_a_plot_has_as_many_moments_as_it_is_asked_for(here, walk, jostle, monkeypatch):
    from matplotlib.figure import Figure

    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *_, **__: figures.append(len(self.axes) - 1))  # a colour bar
    for moments in (["--moments", 1], ["--moments", 5], []):
        assert jostle("plot", "walk.vtkhdf", "-o", "x.png", "--overwrite", *moments)[0] == 0
    assert figures == [1, 5, 3]


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_trajectory_has_the_precision_of_its_scenario(here, jostle, precision):
    few = ["--set", "run.t=0.02", "--set", f"output.precision={precision}"]
    assert jostle("run", "cradle_apart", "-q", "-o", "a.vtkhdf", *few)[0] == 0
    sol = jo.io.read(here / "a.vtkhdf")
    run = jo.scenarios.load("cradle_apart", settings=["run.t=0.02"]).build()
    exact = jo.solve(run.problem, run.scheme, t=run.t, h=run.h, every=run.every)
    stored = np.asarray(exact.q, dtype=precision).astype(float)
    assert sol.q.source.dtype == np.dtype(precision)
    np.testing.assert_array_equal(np.asarray(sol.q), stored)


SHOWN = {"view": ["-o", "a.html"], "plot": ["-o", "a.png"], "movie": ["-o", "a.gif", "--speed", "10"]}


@pytest.fixture
def walls_seen(monkeypatch):
    """How many lines of walls were drawn, each time that some were."""
    from jostle.viz.scene import Scene

    plain, seen = Scene.walls, []

    def walls(self, *arguments):
        seen.append(len(plain(self, *arguments)))
        return plain(self, *arguments)

    monkeypatch.setattr(Scene, "walls", walls)
    return seen


@pytest.mark.parametrize("command", ["view", whole("plot"), whole("movie")])
def test_a_run_whose_scenario_cannot_be_built_is_shown_with_its_walls(here, jostle, monkeypatch, command, walls_seen):
    pytest.importorskip("shapely")
    few = ["--set", "problem.groups.0.n=3", "--set", "run.t=1"]
    assert jostle("run", "bottleneck", "-q", "-o", "a.vtkhdf", *few)[0] == 0
    monkeypatch.setitem(sys.modules, "shapely", None)
    target = next(word for word in SHOWN[command] if word.startswith("a."))
    assert jostle(command, "a.vtkhdf", *SHOWN[command]) == (0, f"{target}\n", "")
    assert min(walls_seen) > 4
    assert jostle("info", "bottleneck")[0] == 1, "a missing package is no fault of the scenario"


def test_people_at_a_door_are_filmed(here, jostle):
    """Walls have higher numbers than the few who are left."""
    pytest.importorskip("shapely")
    few = ["--set", "problem.groups.0.n=5", "--set", "run.t=10", "--set", "run.h=0.05"]
    assert jostle("run", "bottleneck", "-q", "-o", "a.vtkhdf", *few)[0] == 0
    assert jostle("movie", "a.vtkhdf", "-o", "a.gif", "--speed", "50") == (0, "a.gif\n", "")


def test_ctrl_c_while_python_starts_is_quiet(here):
    (here / "typer.py").write_text("raise KeyboardInterrupt")
    path = {**os.environ, "PYTHONPATH": str(here)}
    done = subprocess.run(
        [sys.executable, "-m", "jostle", "list"], capture_output=True, text=True, env=path, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
