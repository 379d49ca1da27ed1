"""Freed memory that stays with the process."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
from jostle.kernels.freed_memory import keep_freed_memory
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
