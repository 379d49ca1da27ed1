"""Wheels with compiled kernels: `pip install .` builds one, with the hook `compile_kernels.py` of the real project."""

import shutil
import tomllib
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.hooks.custom import CustomBuildHook
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HOOK = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
WARM_UP = """
from pathlib import Path

FOLDER = Path(__file__).parent / "__pycache__"
FILES = [FOLDER / "kernel.present.nbc", FOLDER / "other.present.nbc"]

def warm_up(processes):
    for file in FILES:
        file.write_text("compiled")
        yield file.name, 1, 2

def compiled_files():
    print("a line that is no path")
    return [(FILES[0], "jostle/kernels/cpu/__pycache__"), (FILES[1], "jostle/crowds/model/__pycache__")]
"""


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A function that builds a wheel of a project with the given `warm_up.py`; returns its path and its files."""
    monkeypatch.delenv("HATCH_BUILD_NO_HOOKS", raising=False)  # the Makefile sets it
    root = tmp_path / "a project"
    kernels = root / "src" / "jostle" / "kernels"
    (kernels / "cpu" / "__pycache__").mkdir(parents=True)
    (kernels / "cpu" / "__pycache__" / "kernel.old.nbc").touch()
    for name in ("pyproject.toml", "compile_kernels.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, root)
    (root / "docs" / "teaching").mkdir(parents=True)
    (root / "src" / "jostle" / "__init__.py").write_text('__version__ = "1.0"')
    (kernels / "parallel.py").write_text("def threads(): return 2")

    def build(warm_up):
        (kernels / "cpu" / "warm_up.py").write_text(warm_up)
        (wheel,) = WheelBuilder(str(root)).build(directory=str(tmp_path), versions=["standard"])
        with zipfile.ZipFile(wheel) as archive:
            return Path(wheel).name, {name: archive.read(name).decode() for name in archive.namelist()}

    return build


def kernels_in(files):
    return sorted(name for name in files if name.endswith(".nbc"))


def test_a_wheel_contains_the_kernels_that_were_compiled_and_no_others(built, capfd):
    name, files = built(WARM_UP)
    beside_sources = [
        "jostle/crowds/model/__pycache__/other.present.nbc",
        "jostle/kernels/cpu/__pycache__/kernel.present.nbc",
    ]
    assert kernels_in(files) == beside_sources
    assert not name.endswith("-py3-none-any.whl")
    assert "Root-Is-Purelib: false" in files["jostle-1.0.dist-info/WHEEL"]
    assert all(f"{kernel}," in files["jostle-1.0.dist-info/RECORD"] for kernel in kernels_in(files))
    assert "first runs" not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("warm_up", "reason"),
    [
        ("import no_such_numba", "ModuleNotFoundError: No module named 'no_such_numba'"),
        ("import os; os._exit(3)", "exit status 3"),
        ("warm_up = lambda n: []; compiled_files = lambda: []", "numba compiled none"),
    ],
)
def test_if_the_kernels_cannot_be_compiled_one_line_says_why_and_the_wheel_has_none(built, capfd, warm_up, reason):
    name, files = built(warm_up)
    assert kernels_in(files) == []
    assert name == "jostle-1.0-py3-none-any.whl"
    lines = "".join(capfd.readouterr()).splitlines()
    assert lines == [f"the wheel has no compiled kernels, and first runs compile them: {reason}"]


def test_no_kernels_are_compiled_without_the_hook_nor_for_an_editable_installation(built, monkeypatch):
    data = {}
    CustomBuildHook(str(ROOT), HOOK, None, None, "", "wheel").initialize("editable", data)
    assert data == {}
    monkeypatch.setenv("HATCH_BUILD_NO_HOOKS", "1")
    name, files = built(WARM_UP)
    assert (name, kernels_in(files)) == ("jostle-1.0-py3-none-any.whl", [])
    assert WheelBuilder(str(ROOT)).config.dependencies == []


def test_the_hook_needs_what_jostle_needs_and_is_part_of_the_source_distribution():
    assert HOOK["require-runtime-dependencies"]
    assert f"/{HOOK['path']}" in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
