"""``jostle doctor`` lists every extra; the shell completes commands."""

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from jostle._tools.installing import installing
from jostle.cli.machine import EXTRAS, MISSING, _extra
from jostle.io.saving import versions

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOR_DEVELOPERS = {"all", "test", "lint", "docs", "release", "dev"}
"""Extras that no feature needs, and `all`."""
NOT_IN_ALL = {"gpu", "torch", "jax"}
"""Extras that are large, or need a GPU."""


def packages(extra):
    """The packages of an extra in pyproject.toml, those of extras in it included."""
    for requirement in PROJECT["optional-dependencies"][extra]:
        inner = re.fullmatch(r"jostle\[(.*)\]", requirement)
        if inner:
            yield from (package for name in inner[1].split(",") for package in packages(name))
        else:
            yield re.split("[<>=~ ]", requirement)[0]


def test_the_extras_are_those_of_the_package():
    assert set(EXTRAS) | FOR_DEVELOPERS == set(PROJECT["optional-dependencies"])
    for name, (_, listed) in EXTRAS.items():
        assert set(listed) == set(packages(name))
    assert set(packages("all")) == {package for name in set(EXTRAS) - NOT_IN_ALL for package in packages(name)}


@pytest.fixture
def quick(monkeypatch):
    """A doctor that measures nothing."""
    for name in ("_kernels", "_disk"):
        monkeypatch.setattr(f"jostle.cli.machine.{name}", dict)


@pytest.mark.usefixtures("quick")
def test_the_doctor_names_what_each_extra_is_for_and_how_to_install_it(jostle, monkeypatch):
    def version(name):
        if name in ("gsd", "cupy-cuda12x"):
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.2"

    versions()  # which are kept as long as the process lasts, are the true ones
    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    found = json.loads(jostle("doctor", "--json")[1])
    assert {f"extra_{name}" for name in EXTRAS} <= set(found)
    assert found["extra_plot"] == "matplotlib 1.2: pictures and plots"
    assert found["extra_export"] == "missing gsd: GSD files for OVITO"
    assert found["install"] == {name: installing(extras=name) for name in ("export", "gpu")}
    assert found["ffmpeg"] == "missing: it comes with the extra movie"
    assert "no extra needed" in found["browser"]


INSTALL = "To install one of them (`jostle[all]` is all of them but torch, jax and gpu):"


@pytest.mark.usefixtures("quick")
def test_the_doctor_ends_with_a_verdict(jostle):
    said = jostle("doctor")[1].splitlines()
    verdict = said.index("jostle works. Extras that are missing are optional.")
    commands = [f"  {installing(extras=name)}" for name in EXTRAS if _extra(name).startswith(MISSING)]
    assert said[verdict + 1 :] == ([INSTALL, *commands] if commands else [])


@pytest.mark.usefixtures("quick")
def test_the_doctor_finds_ffmpeg(jostle):
    imageio = pytest.importorskip("imageio_ffmpeg")
    assert json.loads(jostle("doctor", "--json")[1])["ffmpeg"] == imageio.get_ffmpeg_exe()


CASES = {"bash": "jostle rep", "zsh": "jostle rep", "fish": "jostle rep", "scenarios": "jostle run hou"}
COMPLETE = """
import contextlib, io, json, os, sys
from jostle.cli import app

answers = {}
for name, line in json.loads(sys.argv[1]).items():
    shell = "bash" if name == "scenarios" else name
    os.environ |= {"_JOSTLE_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": line}
    os.environ |= {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        app(prog_name="jostle")
    answers[name] = out.getvalue()
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def completed(tmp_path_factory):
    """The words that shells offer at the ends of the lines."""
    folder = tmp_path_factory.mktemp("shell")
    (folder / "hours.toml").touch()
    command = [sys.executable, "-c", COMPLETE, json.dumps(CASES)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes_commands(shell, completed):
    offered = completed[shell]
    assert "report" in offered
    assert "resume" not in offered


def test_the_shell_completes_scenarios(completed):
    assert completed["scenarios"].split() == ["hourglass", "hours.toml"]
