"""Every option of every command does something: none is taken and then forgotten."""

import json
import shutil
import socket
import sys
import webbrowser
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import h5py
import matplotlib.pyplot as plt
import numpy as np
import pytest
import typer

import jostle as jo
from jostle._tools.installing import installing
from jostle.cli import app

SHORT = ["cradle_apart", "--set", "run.t=0.02"]
LONGER = ["a.vtkhdf", "--set", "run.t=0.04"]


@pytest.fixture
def pair(here):
    """pair.vtkhdf: a fast disc hits another."""
    two = jo.Motion(q0=[[0.0, 0.0], [1.5, 0.0]], v0=[[2.0, 0.0], [0.0, 0.0]], within=jo.Balls([0.5, 0.5]))
    return jo.io.write(jo.solve(two, jo.Maury(), t=1.0, h=0.1), "pair.vtkhdf")


def is_json(result):
    try:
        return isinstance(json.loads(result[1]), dict)
    except ValueError:
        return False


def refused(words, code=2):
    return lambda result: result[0] == code and words in result[2]


def bodies(n):
    return lambda result: result[0] == 0 and json.loads(result[1])["bodies"] == n


def silent(result):
    return result == (0, "", "")


CASES = {
    ("report", "runs"): (["cradle_apart"], ["--runs", "2"], refused("reports are about people")),
    ("report", "aset"): (["cradle_apart", "--runs", "2"], ["--aset", "-1"], refused("aset")),
    ("run", "output"): ([*SHORT, "-q"], ["-o", "b.vtkhdf"], lambda _: jo.io.about("b.vtkhdf")),
    ("run", "settings"): ([*SHORT, "--json"], ["--set", "problem.n=3"], bodies(3)),
    ("run", "seed"): ([*SHORT, "-q"], ["--seed", "7"], lambda _: jo.io.about("cradle_apart.vtkhdf")["seed"] == "7"),
    ("run", "threads"): ([*SHORT, "-q"], ["--threads", "100000"], refused("threads must be")),
    ("run", "device"): ([*SHORT, "-q"], ["--device", "cuda"], refused("device 'cuda'", code=1)),
    ("run", "checkpoint"): ([*SHORT, "-q"], ["--checkpoint", "-1"], refused("-1")),
    ("run", "overwrite"): ([*SHORT, "-q", "-o", "a.vtkhdf"], ["--overwrite"], silent),
    ("run", "quiet"): (SHORT, ["-q"], silent),
    ("run", "as_json"): (SHORT, ["--json"], is_json),
    ("resume", "settings"): (["a.vtkhdf", "--json"], ["--set", "run.t=0.04"], lambda r: json.loads(r[1])["t"] == 0.04),
    ("resume", "threads"): ([*LONGER, "-q"], ["--threads", "100000"], refused("threads must be")),
    ("resume", "device"): ([*LONGER, "-q"], ["--device", "cuda"], refused("device 'cuda'", code=1)),
    ("resume", "checkpoint"): ([*LONGER, "-q"], ["--checkpoint", "-1"], refused("-1")),
    ("resume", "quiet"): (["a.vtkhdf"], ["-q"], silent),
    ("resume", "as_json"): (["a.vtkhdf"], ["--json"], is_json),
    ("export", "overwrite"): (["a.vtkhdf", "-o", "a.csv"], ["--overwrite"], lambda r: r[0] == 0),
    ("view", "overwrite"): (["a.vtkhdf", "-o", "old.html"], ["--overwrite"], lambda r: r[0] == 0),
    ("plot", "overwrite"): (["a.vtkhdf", "-o", "old.png"], ["--overwrite"], lambda r: r[0] == 0),
    ("movie", "overwrite"): (["a.vtkhdf", "-o", "old.gif"], ["--overwrite"], lambda r: r[0] == 0),
    ("list", "as_json"): ([], ["--json"], is_json),
    ("info", "text"): (["cradle_apart"], ["--scenario"], lambda r: r[1] == jo.scenarios.shipped("cradle_apart")),
    ("info", "impacts"): (["a.vtkhdf"], ["--impacts"], lambda r: r[1] == f"{jo.io.read('a.vtkhdf').impacts()}\n"),
    ("info", "as_json"): (["cradle_apart"], ["--json"], is_json),
    ("doctor", "as_json"): ([], ["--json"], is_json),
    ("doctor", "warm_up"): (["--json"], ["--warm-up"], lambda r: json.loads(r[1]).get("kernels_compiled") == 1),
}  # fmt: skip
BELOW = {
    *(("dev repair", "in_place"), ("dev repair", "target")),  # in cli/test_repair.py
    *(("dev lessons", "overwrite"), ("dev lessons", "directory")),  # in cli/test_lessons.py
    ("view", "save"),
    ("view", "browser"),
    ("view", "port"),
    ("plot", "save"),
    ("plot", "moments"),
    ("plot", "colour"),
    ("movie", "speed"),
    ("movie", "colour"),
    *(("plot", "at"), ("plot", "dpi"), ("movie", "size"), ("movie", "fps")),
    *(("new", "file"), ("export", "target"), ("movie", "target"), ("report", "target")),  # in all their tests
    *(("plot", "layer"), ("report", "author"), ("report", "film"), ("report", "overwrite")),  # test_cli_crowds.py
    ("dev verify", "as_json"),  # tests/verification/
    *(("sweep", option) for option in ("output", "workers", "dask", "retry_failed", "quiet", "as_json")),
}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The folder of a run, with its trajectory a.vtkhdf."""
    folder = tmp_path_factory.mktemp("done")
    with pytest.raises(SystemExit):
        app(["run", *SHORT, "-q", "-o", str(folder / "a.vtkhdf")])
    return folder


@pytest.mark.parametrize(("command", "option"), CASES)
def test_an_option_is_obeyed(here, jostle, done, monkeypatch, command, option):
    monkeypatch.setattr("jostle.kernels.cpu.warm_up.warm_up", lambda _: [("a kernel", 1, 1)])  # `make test` runs it
    arguments, more, obeyed = CASES[command, option]

    def result(*extra):
        for file in here.iterdir():
            file.unlink()
        if "a.vtkhdf" in arguments:
            shutil.copytree(done, here, dirs_exist_ok=True)
        for name in arguments:
            if name == "a.csv" or name.startswith("old."):
                Path(name).write_text("old")
        return jostle(*command.split(), *arguments, *extra)

    def holds(found):
        try:
            return bool(obeyed(found))
        except jo.JostleError:
            return False

    assert not holds(result())
    assert holds(result(*more))


def test_every_option_of_every_command_is_tested():
    commands = dict(typer.main.get_command(app).commands)
    commands |= {f"dev {name}": command for name, command in commands.pop("dev").commands.items()}
    found = {
        (command, option.name)
        for command, parts in commands.items()
        for option in parts.params
        if option.param_type_name == "option" and option.name != "help"
    }
    assert found == set(CASES) | BELOW


def test_a_picture_has_the_moments_that_are_asked_for(pair, jostle, monkeypatch):
    asked = []

    def strip(sol, moments, *, colour):
        asked.append((moments, colour))
        return plt.figure()

    monkeypatch.setattr("jostle.viz.drawing.strip", strip)
    for options in ([], ["--moments", "1"], ["--moments", "4", "--colour", "vx"], ["--at", "0.5", "--at", "1"]):
        assert jostle("plot", pair, "--overwrite", *options)[0] == 0
    plt.close("all")
    assert asked == [(3, "speed"), (1, "speed"), (4, "vx"), ([0.5, 1.0], "speed")]


def test_a_film_has_the_speed_and_the_colours_that_are_asked_for(pair, jostle, monkeypatch):
    asked = []

    def animate(sol, target, *, speed, colour, size, fps, progress):
        asked.append((str(target), speed, colour, size, fps))
        return target

    monkeypatch.setattr("jostle.viz.movie.animate", animate)
    assert jostle("movie", pair) == (0, "pair.mp4\n", "")
    assert jostle("movie", pair, "-o", "a.gif", "--speed", "4", "--colour", "pressure") == (0, "a.gif\n", "")
    assert jostle("movie", pair, "--size", "640x480", "--fps", "50") == (0, "pair.mp4\n", "")
    assert asked == [
        ("pair.mp4", 1.0, None, None, 25),
        ("a.gif", 4.0, "pressure", None, 25),
        ("pair.mp4", 1.0, None, (640, 480), 50),
    ]
    for wrong in ("640", "641x480", "0x0"):
        code, _, err = jostle("movie", pair, "--size", wrong)
        assert (code, "--size must be two even numbers" in err) == (2, True)


@pytest.mark.parametrize(("option", "opened"), [([], True), (["--no-browser"], False)])
def test_the_browser_is_opened_unless_one_says_no(pair, jostle, monkeypatch, option, opened):
    asked = []
    monkeypatch.setattr(webbrowser, "open", lambda address: asked.append(address) or True)
    monkeypatch.setattr(jo.viz.Server, "wait", lambda server: None)
    code, out, _ = jostle("view", pair, *option)
    assert code == 0
    assert asked == ([out.splitlines()[0]] if opened else [])


def test_view_uses_the_port_that_is_given_if_it_is_free(pair, jostle, monkeypatch):
    monkeypatch.setattr(jo.viz.Server, "wait", lambda server: None)
    with socket.socket() as mine:
        mine.bind(("127.0.0.1", 0))
        mine.listen()
        port = mine.getsockname()[1]
        code, _, said = jostle("view", pair, "--no-browser", "--port", str(port))
        assert code != 0
        assert f"port {port} cannot be used" in said
    code, out, _ = jostle("view", pair, "--no-browser", "--port", str(port))
    assert code == 0
    assert out.startswith(f"http://127.0.0.1:{port}/")


def test_names_of_pages_and_pictures_are_those_that_are_asked_for(pair, jostle):
    assert jostle("plot", pair)[1] == "pair.png\n"
    assert jostle("plot", pair, "-o", "b.png", "--dpi", "65")[1] == "b.png\n"
    assert plt.imread("b.png").shape[0] == pytest.approx(plt.imread("pair.png").shape[0] / 2, abs=2)
    assert jostle("view", pair, "-o", "b.html")[1] == "b.html\n"


@pytest.mark.each_value
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("contacts", ["true", "false"])
def test_what_the_table_output_says_is_in_the_file(here, jostle, precision, contacts):
    said = ["--set", f"output.precision={precision}", "--set", f"output.contacts={contacts}"]
    touching = ["cradle_touching", "--set", "run.t=2.0", "--set", "run.h=0.02"]
    assert jostle("run", *touching, *said, "-q", "-o", "a.vtkhdf")[0] == 0
    with h5py.File("a.vtkhdf") as file:
        assert file["VTKHDF/Points"].dtype == np.dtype(precision)
    assert any(map(len, jo.io.read("a.vtkhdf").pairs)) == (contacts == "true")


class Cluster:
    """A Dask client that only notes what it was asked for."""

    def __init__(self, **scheduler):
        self.scheduler = scheduler

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def get_executor(self):
        return self.scheduler


def test_the_options_of_a_sweep_are_obeyed(here, jostle, monkeypatch):
    asked, real = [], jo.study.sweep

    def sweep(study, **options):
        asked.append({name: str(options[name]) for name in ("executor", "workers", "folder", "retry_failed")})
        with ThreadPoolExecutor(1) as threads:
            return real(study, executor=threads)

    monkeypatch.setattr("jostle.study.sweep", sweep)
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Cluster))
    Path("few.toml").write_text('scenario = "cradle_apart"\nset = { run.t = 0.02 }\nmeasures = ["end_time"]\n')
    code, out, err = jostle("sweep", "few.toml")
    assert code == 0
    assert "0.02" in out
    assert "few/table.csv" in err
    assert jostle("sweep", "few.toml", "-q") == (0, "", "")
    assert is_json(jostle("sweep", "few.toml", "--json"))
    jostle("sweep", "few.toml", "-o", "there", "--workers", 3, "--retry-failed")
    jostle("sweep", "few.toml", "--dask", "tcp://10.0.0.1:8786")
    jostle("sweep", "few.toml", "--dask", "scheduler.json")
    plain = {"executor": "None", "workers": "None", "folder": "few", "retry_failed": "False"}
    assert asked == [
        plain, plain, plain, {"executor": "None", "workers": "3", "folder": "there", "retry_failed": "True"},
        {**plain, "executor": "{'address': 'tcp://10.0.0.1:8786'}"},
        {**plain, "executor": "{'scheduler_file': 'scheduler.json'}"},
    ]  # fmt: skip
    monkeypatch.setitem(sys.modules, "distributed", None)
    told = jostle("sweep", "few.toml", "--dask", "tcp://10.0.0.1:8786")[2]
    assert f"  {installing(extras='cluster')}" in told.splitlines()
