"""Memory: sweeps read no entry that they have not written, and freed memory may stay with the process."""

from __future__ import annotations

import platform
import subprocess
import sys

import numpy as np
import pytest
from rows_in_space import sweeping

from kernel_sets import cpu


@pytest.mark.each_value
@pytest.mark.parametrize("chunks", [1, 3])
@pytest.mark.parametrize("blocks", ["one block", "many blocks"])
@pytest.mark.parametrize("d", [2, 3])
def test_sweeps_do_not_read_what_others_left(d, blocks, chunks, monkeypatch):
    """The records of d coordinates have more than d numbers: those behind must be zero, whatever was there."""
    if blocks == "many blocks":
        monkeypatch.setattr("jostle.kernels.cpu.arrangement.BLOCKED_ROWS", 10)
        monkeypatch.setattr("jostle.kernels.cpu.arrangement.ROWS_A_BLOCK", 4)
        monkeypatch.setattr("jostle.kernels.cpu.arrangement.LEAST_ROWS_A_BLOCK", 4)
    problem = sweeping(d, chunks)
    p, iterations = cpu.gauss_seidel(*problem)
    assert p.any()
    empty = np.empty

    def dirty(*arguments, **keywords):
        array = empty(*arguments, **keywords)
        array.view(np.uint8)[...] = 0xFF  # NaN, and indices that lie outside
        return array

    monkeypatch.setattr(np, "empty", dirty)
    again, count = cpu.gauss_seidel(*problem)
    assert (again.tobytes(), count) == (p.tobytes(), iterations)


PROGRAM = """
import resource
import numpy as np
from jostle.kernels.memory import keep_freed_memory
if {keep}:
    assert keep_freed_memory()
def step():
    arrays = [np.ones(300_000) for _ in range(40)]  # 96 MB
for _ in range(3):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_arrays_of_the_next_step_need_no_new_pages():
    def faults(keep):
        program = PROGRAM.format(keep=keep)
        return int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout)

    assert 10 * faults(True) < faults(False)
