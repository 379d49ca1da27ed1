"""The stopping test of the sweeps near round-off."""

import numpy as np
import pytest

from jostle import kernels
from jostle.kernels import ContactRows, Stop
from jostle.kernels.reference.sweeps import DRIFT

N = 60
"""Number of balls."""
TIGHT = DRIFT / 2.0
"""A tolerance of the complementarity below which the stopping test is repeated without the drift of round-off."""


def pressed(seed, violation, tol=TIGHT):
    """(iterations, exact slacks, allowed violations) of balls in a row that are pressed against a wall."""
    before, ball = np.arange(N) - 1, np.arange(N)
    wall = before < 0
    i, j = np.where(wall, ball, before), np.where(wall, -1, ball)
    normal, unit = np.where(wall, -1.0, 1.0)[:, None], np.where(wall, 1.0, np.sqrt(2.0))
    w = -np.random.default_rng(seed).uniform(0.5, 1.5, N) * (1.0 + ball)
    s0 = np.where(wall, w, w - np.roll(w, 1)) / unit
    inverse, allowed = np.ones(N), np.full(N, violation * N * N)
    rows, stop = ContactRows(i, j, normal), Stop(allowed, tol, 30_000, 20)
    p, iterations = kernels.gauss_seidel(rows, unit, inverse, s0, np.zeros(N), stop, 1, None)
    A = (np.eye(N) - np.where(wall[:, None], 0.0, np.eye(N, k=-1))) / unit[:, None]
    return iterations, s0 + A @ (A.T @ p), allowed


def test_a_test_that_only_round_off_passed_is_repeated_soon():
    """Sweeps move x by increments. If the test passes with this x and fails with the exact one, which now replaces it,
    a few more iterations are enough; the next regular test comes only after a tenth of all iterations."""
    loose = [pressed(seed, 1e-11)[0] for seed in range(6)]
    tight = [pressed(seed, 1e-15)[0] for seed in range(6)]
    assert sum(tight) <= 2 * sum(loose)
    assert max(tight) < 10_000


@pytest.mark.parametrize("tol", [TIGHT, np.inf])
@pytest.mark.parametrize("violation", [1e-8, 1e-13, 1e-15])
def test_the_stopping_test_holds_for_the_velocities_of_the_multipliers(violation, tol):
    """Also if violations alone are tested, as a budget of overlaps does."""
    for seed in range(6):
        iterations, slack, allowed = pressed(seed, violation, tol)
        assert iterations < 30_000
        assert (slack >= -2.0 * allowed).all()
