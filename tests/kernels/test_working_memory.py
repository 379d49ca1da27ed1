"""Memory that a kernel keeps: each call has its own, and results do not depend on what was left in it."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.kernels import cpu
from jostle.kernels.cpu import working_memory as kept
from jostle.kernels.cpu.working_memory import LINE, working_memory


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


@pytest.mark.parametrize("d", [1, 2, 3, 4, 9])
def test_sweeps_do_not_read_what_others_left(d):
    """The records of d coordinates have more than d numbers: those behind must be zero, whatever was there."""
    random, n, m = np.random.default_rng(d), 30, 60
    i = random.integers(0, n - 1, m)
    j = np.where(random.uniform(size=m) < 0.2, -1, i + 1)
    normal = random.normal(size=(m, d))
    unit = np.sqrt((normal**2).sum(axis=1) * np.where(j < 0, 1.0, 2.0))
    s0, start = random.normal(size=m), random.uniform(size=m)
    problem = i, j, normal, unit, np.ones(n), s0, start, np.full(m, 1e-9), 1e-12, 500, 20, 1, None
    p, iterations = cpu.gauss_seidel(*problem)
    for _ in range(2):
        take((100_000,))
        again, count = cpu.gauss_seidel(*problem)
        assert kept._kept[0].block.size >= 800_000, "it used that memory"
        assert (again.tobytes(), count) == (p.tobytes(), iterations)
