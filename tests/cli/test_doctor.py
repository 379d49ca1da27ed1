"""``jostle doctor`` lists every extra; the shell completes commands."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from jostle.cli.machine import EXTRAS

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOR_DEVELOPERS = {"all", "test", "lint", "docs", "release", "dev"}
"""Extras that no feature needs, and `all`."""


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
    assert set(packages("all")) == {package for name in set(EXTRAS) - {"gpu"} for package in packages(name)}


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

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    found = json.loads(jostle("doctor", "--json")[1])
    assert {f"extra_{name}" for name in EXTRAS} <= set(found)
    assert found["extra_plot"] == "matplotlib 1.2: pictures and plots"
    assert found["extra_export"] == "missing gsd: pip install 'jostle[export]' for GSD files for OVITO"
    assert "jostle[gpu]" in found["extra_gpu"]
    assert found["ffmpeg"] == "missing: pip install 'jostle[movie]'"
    assert "no extra needed" in found["browser"]


@pytest.mark.usefixtures("quick")
def test_the_doctor_ends_with_a_verdict(jostle):
    assert jostle("doctor")[1].rstrip().endswith("jostle works. Extras that are missing are optional.")


@pytest.mark.usefixtures("quick")
def test_the_doctor_finds_ffmpeg(jostle):
    imageio = pytest.importorskip("imageio_ffmpeg")
    assert json.loads(jostle("doctor", "--json")[1])["ffmpeg"] == imageio.get_ffmpeg_exe()


def completed(shell, line, folder):
    """The words that a shell offers at the end of a line."""
    words = {"bash": {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}}
    surroundings = {"_JOSTLE_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": line}
    surroundings |= words.get(shell, {}) | {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    return subprocess.run(
        [sys.executable, "-c", "from jostle.cli import app; app(prog_name='jostle')"],
        env={**os.environ, **surroundings}, capture_output=True, text=True, check=False, cwd=folder,
    ).stdout  # fmt: skip


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes_commands(shell, tmp_path):
    offered = completed(shell, "jostle rep", tmp_path)
    assert "repair" in offered
    assert "report" in offered
    assert "resume" not in offered


def test_the_shell_completes_scenarios(tmp_path):
    (tmp_path / "hours.toml").touch()
    assert completed("bash", "jostle run hou", tmp_path).split() == ["hourglass", "hours.toml"]
