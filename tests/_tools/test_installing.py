"""The command that installs missing packages is one that this environment can run."""

import importlib.metadata
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import jostle
from commands import run_commands
from jostle._tools import installing as module
from jostle._tools.installing import installing, missing

CLONE = Path(jostle.__file__).parents[2]


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """Pretend an environment in /tmp/.../env with some of pip and uv as modules, and some programs on the path."""

    def pretend(*modules, programs=()):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "executable", str(tmp_path / "env" / "bin" / "python"))
        monkeypatch.setattr(module, "find_spec", lambda name: name if name in modules else None)
        monkeypatch.setattr(shutil, "which", dict(programs).get)

    return pretend


def test_pip_of_this_python_installs_where_it_is(environment):
    environment("pip", "uv")
    assert installing(extras="plot,movie") == "env/bin/python -m pip install 'jostle[plot,movie]'"


def test_an_environment_without_pip_uses_its_uv(environment):
    environment("uv")
    assert installing(extras="crowd") == "env/bin/python -m uv pip install 'jostle[crowd]'"


def test_an_environment_with_neither_is_named_to_those_outside(environment):
    environment(programs={"uv": "/usr/bin/uv"})
    assert installing(extras="crowd") == "uv pip install 'jostle[crowd]' --python env/bin/python"
    environment()
    assert installing("jupyterlab") == "python3 -m pip --python env/bin/python install jupyterlab"


def test_an_active_environment_needs_no_path(environment, tmp_path):
    environment("pip", programs={"python": "/usr/bin/python", "python3": str(tmp_path / "env" / "bin" / "python3")})
    assert installing(extras="plot") == "python3 -m pip install 'jostle[plot]'"


def test_a_python_elsewhere_is_named_in_full_and_quoted(environment, tmp_path, monkeypatch):
    environment("pip")
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    monkeypatch.setattr(sys, "executable", "/my envs/a/bin/python")
    assert installing(extras="plot") == "'/my envs/a/bin/python' -m pip install 'jostle[plot]'"


def test_sources_that_are_not_installed_are_named_by_their_folder(environment, monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    environment("pip")
    monkeypatch.setattr(module, "distribution", absent)
    assert installing(extras="plot") == f"env/bin/python -m pip install -e '{CLONE}[plot]'"


def test_the_command_runs_here_without_a_package_of_this_name_in_any_index():
    """With all packages of the extra present it has nothing to do, and reads no index."""
    command = installing(extras="plot").replace(" install ", " install --dry-run --no-index ")
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_command_stands_on_a_line_of_its_own(tmp_path, monkeypatch):
    words, command = str(missing("a table needs pyarrow", "tables")).splitlines()
    assert words == "a table needs pyarrow. To install it:"
    assert command == f"  {installing(extras='tables')}"
    for name in ("gsd", "imageio_ffmpeg"):
        (tmp_path / f"{name}.py").write_text("raise ModuleNotFoundError(__name__)")
    ball = jostle.Motion(q0=[[1.0]], force=[[-10.0]], within=jostle.HalfSpace([1.0]))
    run = jostle.io.write(jostle.solve(ball, jostle.Maury(), t=0.2, h=0.1), tmp_path / "ball.vtkhdf")
    monkeypatch.setenv("COLUMNS", "80")
    lines = run_commands(["export", run, "-o", "ball.gsd"], ["movie", run, "-o", "ball.mp4"], folder=tmp_path)
    for (code, _, err), extra in zip(lines, ("export", "movie"), strict=True):
        assert code == 1
        assert err.splitlines()[1].endswith(f"pip install 'jostle[{extra}]'")
