"""The dense arithmetic of one front, and the passes of the interior point method over the rows, by dense matrices."""

import os
import subprocess
import sys

import numpy as np
import pytest
from from_python import from_python

from jostle.kernels import ContactRows
from jostle.kernels.cpu import barrier, multifrontal
from jostle.kernels.cpu.multifrontal import BLOCK, LARGE, NO_PIVOT, ONE, OTHER, arranged
from kernel_sets import reference

forward, backward = from_python(multifrontal.forward), from_python(multifrontal.backward)
by_loops = from_python(multifrontal.eliminate, products="Nothing")
by_products = from_python(multifrontal.eliminate, products="bool")


def eliminate(*front, products):
    """Eliminate a front by loops alone, or with matrix products where it is large."""
    return by_products(*front, True) if products else by_loops(*front, None)


@pytest.mark.each_value
@pytest.mark.parametrize("r", [0, 1, 3, 29, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 22, LARGE, LARGE + 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 13])
@pytest.mark.parametrize("products", [False, True], ids=["loops", "products"])
def test_a_front_is_eliminated_as_cholesky_does(k, r, products):
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
    assert eliminate(panel, at, k, width, rest, products=products) == 0
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


@pytest.mark.parametrize("products", [False, True], ids=["loops", "products"])
@pytest.mark.parametrize("k", [3, LARGE + 20])
def test_a_coordinate_whose_pivot_fails_does_not_move(k, products):
    """Where the matrix is singular, what is left of the diagonal is zero, or less by round-off."""
    A = np.eye(k)
    A[1, 1] = -1.0
    panel, v = A.ravel(), np.ones(k)
    assert eliminate(panel, 0, k, k, np.empty(0), products=products) == 1
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


@pytest.mark.each_value
@every_kind
def test_rows_are_arranged_by_the_first_of_their_bodies(n, d, pairs):
    """The same rows of G, each from the body that is eliminated first to the other one, or to the wall."""
    i, j, e, random = some_rows(n, d, pairs)
    place = random.permutation(n)
    rows, (first, second, _), turned, start = arranged(i, j, e, place)
    assert sorted(rows.tolist()) == list(range(len(i)))
    assert (first == np.repeat(np.arange(n), np.diff(start))).all()
    assert ((second == -1) | (second > first)).all()
    G = reference.pairs_to_dense(ContactRows(place[i], np.where(j >= 0, place[np.maximum(j, 0)], -1), e), n)
    assert (reference.pairs_to_dense(ContactRows(first, second, turned), n) == G[rows]).all()


@every_kind
def test_each_pass_over_the_rows_is_what_it_says(n, d, pairs):
    i, j, e, random = some_rows(n, d, pairs)
    _, ends, e, start = arranged(i, j, e, random.permutation(n))
    G, m = reference.pairs_to_dense(ContactRows(ends[ONE], ends[OTHER], e), n), len(i)
    row, body = random.normal(size=(16, m)), random.normal(size=(6, n * d))
    s, p, row[barrier.VIOLATION] = 10.0 ** random.uniform(-8.0, 8.0, (3, m))
    row[barrier.S], row[barrier.P] = s, p
    s0, wanted, x, mass = row[barrier.S0], row[barrier.WANTED], body[barrier.X], random.uniform(0.2, 5.0, n * d)
    from_python(barrier.force)(start, ends, e, row, barrier.P, body, barrier.PULL)
    pull = G.T @ p
    np.testing.assert_allclose(body[barrier.PULL], pull, rtol=1e-10, atol=1e-14 * p.max())
    assert from_python(barrier.balance)(mass, body) == pytest.approx(np.abs(mass * x - pull).max(), rel=1e-10)
    np.testing.assert_allclose(body[barrier.DUAL], mass * x - pull, rtol=1e-9, atol=1e-14 * p.max())
    size = from_python(barrier.moved)(mass, body, barrier.PULL)
    moved = pull / mass
    assert size == pytest.approx(mass @ moved**2, rel=1e-10)
    found = from_python(barrier.quality)(ends, e, row, barrier.P, body, size, 1e-4)
    slack = s0 + G @ moved
    worst, product = (-slack / row[barrier.VIOLATION]).max(), p @ np.abs(slack)
    assert found == pytest.approx(max(0.0, worst, product / (1e-4 * size)), rel=1e-6)
    mean, largest = from_python(barrier.lacks)(ends, e, row, body)
    lack = s0 + G @ x - s
    assert (mean, largest) == pytest.approx(((s * p).mean(), np.abs(lack).max()), rel=1e-10)
    np.testing.assert_allclose(row[barrier.PRIMAL], lack, rtol=1e-9, atol=1e-13)
    from_python(barrier.weights)(row)
    np.testing.assert_allclose(row[barrier.WEIGHT], np.where(p < barrier.NOTHING * s, 0.0, p / s))
    np.testing.assert_allclose(row[barrier.OVER_S] * s, 1.0)
    np.testing.assert_allclose(row[barrier.OVER_P] * p, 1.0)
    np.testing.assert_allclose(wanted, -s * p)
    from_python(barrier.corrected)(ends, e, row, body)
    changed = row[barrier.WEIGHT] * (G @ moved)
    near = 1e-9 * (p + np.abs(changed)).max()
    np.testing.assert_allclose(row[barrier.GIVEN], np.maximum(p + changed, 0.0), rtol=1e-9, atol=near)
    wanted[:] = random.normal(size=m)
    from_python(barrier.pushed)(row)
    np.testing.assert_allclose(row[barrier.PUSH], (wanted - p * row[barrier.PRIMAL]) / s, rtol=1e-12)
    for way in range(2):
        step = from_python(barrier.direction)(ends, e, row, body, way)
        ds, dp = row[barrier.DS + way], row[barrier.DP + way]
        np.testing.assert_allclose(ds, G @ body[barrier.DX + way] + lack, rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(dp, (wanted - p * ds) / s, rtol=1e-9, atol=1e-12 * np.abs(dp).max())
        assert step == pytest.approx(min([1.0, *(-s / ds)[ds < 0.0], *(-p / dp)[dp < 0.0]]), rel=1e-12)
        product = ((s + step * ds) * (p + step * dp)).mean()
        found = from_python(barrier.mean_product)(row, way, step)
        assert found == pytest.approx(product, rel=1e-6, abs=1e-12 * (s * p).max())
    after = np.maximum(s + 0.5 * step * ds, barrier.TINY), np.maximum(p + 0.5 * step * dp, barrier.TINY)
    x = x + 0.5 * step * body[barrier.DX + 1]
    total = from_python(barrier.advance)(row, body, 1, 0.5 * step)
    assert total == pytest.approx(sum(after[0] + after[1]), rel=1e-12)
    np.testing.assert_allclose(row[[barrier.S, barrier.P]], after, rtol=1e-12)
    np.testing.assert_allclose(body[barrier.X], x, rtol=1e-12)


def test_round_off_in_what_a_step_lacks_is_no_lack():
    i, j, e, random = some_rows(40, 3, True)
    _, ends, e, _ = arranged(i, j, e, random.permutation(40))
    row, body = random.normal(size=(16, len(i))), random.normal(size=(6, 120))
    row[barrier.S] = (
        row[barrier.S0] + reference.pairs_to_dense(ContactRows(ends[ONE], ends[OTHER], e), 40) @ body[barrier.X]
    )
    assert from_python(barrier.lacks)(ends, e, row, body)[1] == 0.0
    assert (row[barrier.PRIMAL] == 0.0).all()


LIMITED = """
import threadpoolctl
from jostle.kernels.parallel import one_blas_thread


def threads():
    return [found["num_threads"] for found in threadpoolctl.threadpool_info() if found["user_api"] == "blas"]


try:
    with one_blas_thread():
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
