"""Compile the kernels while a wheel is built, so that the first run after ``pip install .`` need not compile them.

Hatchling, which builds the wheel, calls this hook (`pyproject.toml`). Compiled kernels fit one version of Python and of
numba and one kind of processor; elsewhere they are not used, and jostle compiles when it first needs a kernel. Editable
installations and the wheels of ``make dist`` do not contain any.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAM = """
from jostle.kernels.cpu.warm_up import compiled_files, warm_up
from jostle.kernels.parallel import threads

for _ in warm_up(threads()):
    pass
for path, folder in compiled_files():
    print(folder, path, sep="\\t")
"""
"""Program that compiles all kernels on all cores, and prints the folder of each file in the wheel, and its path."""


class CompileKernels(BuildHookInterface):
    """Add compiled kernels to a wheel; if they cannot be compiled, warn and build the wheel without them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernels for a standard wheel, but not for an editable one."""
        if version != "standard":
            return
        paths, problem = compiled(Path(self.root))
        if not paths:
            self.app.display_warning(f"the wheel has no compiled kernels, and first runs compile them: {problem}")
            return
        build_data["force_include"] |= {path: f"{folder}/{Path(path).name}" for folder, path in paths}
        build_data |= {"pure_python": False, "infer_tag": True}  # for this Python and this platform only


def compiled(root: Path) -> tuple[list[list[str]], str]:
    """Compile the kernels in another process; return the folders and paths of the files, or none and the reason."""
    paths = [str(root / "src"), os.environ.get("PYTHONPATH", "")]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)
    if done.returncode:
        return [], (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    lines = [line.split("\t") for line in done.stdout.splitlines() if line.endswith(".nbc")]
    return lines, "numba compiled none"
