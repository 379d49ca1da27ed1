"""What jostle uses of numba, some of it beyond the public interface: a newer numba that breaks it is noticed here."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import numba
from packaging.specifiers import SpecifierSet

import jostle

SOURCE = Path(jostle.__file__).parent
DOCUMENTED = {"numba.core.cgutils", "numba.core.errors", "numba.core.types"}
"""What numba's manual names for extensions and for errors."""

PROGRAM = """
from __future__ import annotations

import numpy as np
from jostle.kernels.compiling import Floats, OutFloats, jit

def doubled(x: Floats, out: OutFloats) -> float:
    for k in range(len(x)):
        out[k] = 2.0 * x[k]
    return out[0]

inner = jit(helper=True)(doubled)

def twice(x: Floats, out: OutFloats) -> float:
    return inner(x, out)

outer, x = jit()(twice), np.arange(1.0, 4.0)
x.flags.writeable = False
assert outer(x, np.empty(3)) == 2.0
assert outer(np.arange(1.0, 4.0), np.empty(3)) == 2.0
try:
    outer(x, x)
except TypeError:
    print(len(outer.overloads), sum(outer.stats.cache_hits.values()))
"""
"""Prints how often a kernel was compiled or loaded, and how often it was loaded."""


def advice(problem):
    return (
        f"numba {numba.__version__}: {problem}. jostle/kernels/compiling.py, cpu/meeting.py and cpu/records.py use "
        "numba beyond its public interface: repair them, run tests/kernels and tests/golden.py with this version of "
        "numba, and then raise the upper bound of numba in pyproject.toml"
    )


def test_this_numba_was_tried():
    project = (SOURCE.parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    (admitted,) = (SpecifierSet(one) for one in re.findall(r'"numba([<>=0-9.,]+)"', project))
    assert any(one.operator == "<" for one in admitted)
    assert admitted.contains(numba.__version__), advice(f"jostle was tried with numba {admitted}")


def test_this_numba_does_what_the_kernels_need(tmp_path):
    """A kernel is compiled once for all arrays that it may be called with, refuses others, and is found on disk."""
    program = tmp_path / "kernels_of_test.py"
    program.write_text(PROGRAM)
    for loaded in (0, 1):
        done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
        assert done.returncode == 0, advice(f"a kernel fails with {done.stderr.strip().splitlines()[-1:]}")
        assert done.stdout == f"1 {loaded}\n", advice("a kernel is not compiled once and then loaded from the disk")


def test_only_one_file_uses_numba_beyond_its_public_interface():
    found = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "numba" in text else ():
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numba."):
                of_core = {f"numba.core.{one.name}" for one in node.names}
                names = of_core if node.module == "numba.core" else {node.module}
            elif isinstance(node, ast.Import):
                names = {one.name for one in node.names if one.name.startswith("numba.")}
            else:
                continue
            private = {name for name in names if name not in DOCUMENTED and not name.startswith("numba.extending")}
            if private:
                found.add(path.relative_to(SOURCE).as_posix())
    assert found == {"kernels/compiling.py"}
