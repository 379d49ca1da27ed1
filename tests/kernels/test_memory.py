"""Memory: sweeps read no entry that they have not written."""

from __future__ import annotations

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
