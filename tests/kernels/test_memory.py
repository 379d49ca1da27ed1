"""Memory that is kept: each call of a kernel has its own, and freed memory stays with the process."""

from __future__ import annotations

import platform
import subprocess
import sys

import numpy as np
import pytest
from rows_in_space import sweeping

from jostle.kernels import memory as kept
from jostle.kernels.memory import LINE, working_memory
from kernel_sets import cpu


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(kept, "_kept", [])


def take(*shapes):
    """The addresses of new arrays, which are filled with NaN."""
    with working_memory() as memory:
        arrays = [memory.array(shape, np.float64) for shape in shapes]
        for array in arrays:
            array[:] = np.nan
        return [array.ctypes.data for array in arrays]


def test_arrays_begin_at_cache_lines_and_share_nothing():
    for _ in range(3):  # own memory, and then kept memory
        with working_memory() as memory:
            arrays = [memory.array((3, k), kind) for k, kind in ((5, np.float64), (7, np.uint32), (1, np.int64))]
            for number, array in enumerate(arrays):
                array[:] = number
        assert all(array.ctypes.data % LINE == 0 for array in arrays)
        assert [np.unique(array).tolist() for array in arrays] == [[0], [1], [2]]


def test_the_memory_of_a_call_serves_the_next_one():
    take((10,), (20,))
    first = take((10,), (20,))
    assert take((10,), (20,)) == first
    assert take((30,)) == first[:1], "and smaller ones"
    assert take((10,), (22,)) == first, "and somewhat larger ones"


def test_who_calls_while_the_memory_is_in_use_gets_another():
    take((10,))
    with working_memory() as memory:
        mine = memory.array((10,), np.float64)
        mine[:] = 1.0
        take((10,))
        take((10,))
        assert np.all(mine == 1.0)


def test_the_block_does_not_grow_without_limit(monkeypatch):
    monkeypatch.setattr(kept, "MOST_KEPT", 1000)
    take((10,))
    small = take((10,))
    assert take((10,), (1000,))[:1] == small, "what fits lies in it"
    take((1000,))
    assert 80 <= kept._kept[0].block.size < 1000


def test_nothing_is_kept_of_a_call_that_failed():
    take((10,))
    with pytest.raises(ZeroDivisionError), working_memory():
        1 / 0  # noqa: B018
    assert kept._kept == []


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
    for _ in range(2):
        take((100_000,))
        again, count = cpu.gauss_seidel(*problem)
        assert kept._kept[0].block.size >= 800_000, "it used that memory"
        assert (again.tobytes(), count) == (p.tobytes(), iterations)


def test_a_result_is_not_lost_where_memory_for_the_next_call_is_missing(monkeypatch):
    def missing(*_):
        raise MemoryError

    with working_memory() as memory:
        array = memory.array((10,), np.float64)
        monkeypatch.setattr(kept.np, "empty", missing)
    monkeypatch.undo()
    array[:] = 1.0
    assert array.sum() == 10.0


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
