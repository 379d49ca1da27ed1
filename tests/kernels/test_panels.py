"""The dense arithmetic of one front, and the passes of the interior point method over the rows, by dense matrices."""

import os
import subprocess
import sys

import numpy as np
import pytest

from jostle.kernels import reference
from jostle.kernels.cpu import passes
from jostle.kernels.cpu.multifrontal import arranged
from jostle.kernels.cpu.panels import BLOCK, LARGE, NO_PIVOT, backward, eliminate, forward


@pytest.mark.parametrize("r", [0, 1, 3, 29, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 22, LARGE, LARGE + 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 13])
def test_a_front_is_eliminated_as_cholesky_does(k, r):
    """R, what is left of the other rows, and both halves of a solution; what lies below the diagonal is not read."""
    random, width, at = np.random.default_rng([k, r]), k + r, 5
    A = random.normal(size=(width, 2 * width))
    A = A @ A.T + np.eye(width)
    panel, rest = np.full(at + k * width, np.nan), np.full(r * r, np.nan)
    upper = np.triu_indices(width)
    square = np.full((width, width), np.nan)
    square[upper] = A[upper]
    panel[at:], rest[:] = square[:k].ravel(), square[k:, k:].ravel()
    panel[at:][np.isnan(panel[at:])] = rest[np.isnan(rest)] = 1e3
    assert eliminate(panel, at, k, width, rest) == 0
    R11 = np.linalg.cholesky(A[:k, :k]).T
    R12 = np.linalg.solve(R11.T, A[:k, k:])
    R = panel[at:].reshape(k, width)
    np.testing.assert_allclose(np.diag(R), 1.0 / np.diag(R11), rtol=1e-11)
    np.testing.assert_allclose(np.triu(R[:, :k], 1), np.triu(R11, 1), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(R[:, k:], R12, rtol=1e-10, atol=1e-10)
    left = A[k:, k:] - R12.T @ R12
    np.testing.assert_allclose(np.triu(rest.reshape(r, r)), np.triu(left), rtol=1e-9, atol=1e-9)
    b = random.normal(size=width)
    v = b.copy()
    forward(panel, at, k, width, v)
    y = np.linalg.solve(R11.T, b[:k])
    np.testing.assert_allclose(v, np.append(y, b[k:] - R12.T @ y), rtol=1e-9, atol=1e-9)
    v = b.copy()
    backward(panel, at, k, width, v)
    expected = np.append(np.linalg.solve(R11, b[:k] - R12 @ b[k:]), b[k:])
    np.testing.assert_allclose(v, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("k", [3, LARGE + 20])
def test_a_coordinate_whose_pivot_fails_does_not_move(k):
    """Where the matrix is singular, what is left of the diagonal is zero, or less by round-off."""
    A = np.eye(k)
    A[1, 1] = -1.0
    panel, v = A.ravel(), np.ones(k)
    assert eliminate(panel, 0, k, k, np.empty(0)) == 1
    assert panel[k + 1] == pytest.approx(1.0 / NO_PIVOT)
    forward(panel, 0, k, k, v)
    backward(panel, 0, k, k, v)
    np.testing.assert_allclose(v, np.where(np.arange(k) == 1, 0.0, 1.0), atol=1e-100)


every_kind = pytest.mark.parametrize(
    ("n", "d", "pairs"), [(n, d, pairs) for n in (1, 2, 40) for d in (1, 2, 3) for pairs in (False, True)]
)


def some_rows(n, d, pairs):
    """(i, j, e, random): rows between random bodies and walls, some of them twice, or with walls only."""
    random = np.random.default_rng([n, d, pairs])
    i, j = random.integers(0, n, 3 * n), random.integers(-2, n if pairs else 0, 3 * n)
    i, j = i[i != j], j[i != j]
    return i, j, random.normal(size=(len(i), d)), random


@every_kind
def test_rows_are_arranged_by_the_first_of_their_bodies(n, d, pairs):
    """The same rows of G, each from the body that is eliminated first to the other one, or to the wall."""
    i, j, e, random = some_rows(n, d, pairs)
    place = random.permutation(n)
    rows, first, second, turned, start = arranged(i, j, e, place)
    assert sorted(rows.tolist()) == list(range(len(i)))
    assert (first == np.repeat(np.arange(n), np.diff(start))).all()
    assert ((second == -1) | (second > first)).all()
    G = reference.pairs_to_dense(place[i], np.where(j >= 0, place[np.maximum(j, 0)], -1), e, n)
    assert (reference.pairs_to_dense(first, second, turned, n) == G[rows]).all()


@every_kind
def test_each_pass_over_the_rows_is_what_it_says(n, d, pairs):
    i, j, e, random = some_rows(n, d, pairs)
    x = random.normal(size=(n, d))
    _, i, j, e, start = arranged(i, j, e, random.permutation(n))
    G, m = reference.pairs_to_dense(i, j, e, n), len(i)
    s0, wanted, primal = random.normal(size=(3, m))
    s, p, violation = 10.0 ** random.uniform(-8.0, 8.0, (3, m))
    mass = random.uniform(0.2, 5.0, (n, d))
    pull = passes.force(start, j, e, p, n)
    np.testing.assert_allclose(pull.ravel(), G.T @ p, rtol=1e-10, atol=1e-14 * p.max())
    found = passes.quality(i, j, e, mass, s0, p, pull, violation, 1e-4)
    moved = (G.T @ p) / mass.ravel()
    slack, size = s0 + G @ moved, mass.ravel() @ moved**2
    assert found == pytest.approx(max(0.0, (-slack / violation).max(), p @ np.abs(slack) / (1e-4 * size)), rel=1e-6)
    W, over_s, over_p = passes.weights(s, p)
    np.testing.assert_allclose(W, np.where(p < passes.NOTHING * s, 0.0, p / s))
    np.testing.assert_allclose(over_s * s, 1.0)
    np.testing.assert_allclose(over_p * p, 1.0)
    lack = passes.lacks(i, j, e, s0, x, s)
    np.testing.assert_allclose(lack, s0 + G @ x.ravel() - s, rtol=1e-9, atol=1e-13)
    assert (passes.lacks(i, j, e, s0, x, s0 + G @ x.ravel()) == 0.0).all()
    ds, dp, step = passes.direction(i, j, e, x, wanted, p, primal, over_s, over_p)
    np.testing.assert_allclose(ds, G @ x.ravel() + primal, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(dp, (wanted - p * ds) / s, rtol=1e-9, atol=1e-12 * np.abs(dp).max())
    longest = min([1.0, *(-s / ds)[ds < 0.0], *(-p / dp)[dp < 0.0]])
    assert step == pytest.approx(longest, rel=1e-12)
    product = passes.mean_product(s, ds, p, dp, step)
    assert product == pytest.approx(((s + step * ds) * (p + step * dp)).mean(), rel=1e-6, abs=1e-12 * (s * p).max())


LIMITED = """
import threadpoolctl
from jostle.kernels import compiled


def threads():
    return [found["num_threads"] for found in threadpoolctl.threadpool_info() if found["user_api"] == "blas"]


try:
    with compiled().one_blas_thread():
        import scipy.linalg
        limited = threads()
        raise KeyboardInterrupt
except KeyboardInterrupt:
    pass
assert limited and set(limited) == {1}, limited
assert set(threads()) == {2}, threads()
"""


def test_the_products_of_a_fresh_process_run_on_one_thread_and_all_others_as_before():
    """Numba loads its BLAS, SciPy's, at the first product; it is limited all the same, until Ctrl-C if that comes."""
    many = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", LIMITED], check=True, env=many)
