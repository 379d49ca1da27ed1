"""Each kernel of `kernels.cpu` against its plain NumPy definition, and both against an answer found another way."""

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.sparse import csr_array

from contact_definitions import accelerated_sweeps
from jostle.convex.linear_map import Dense, Sparse
from jostle.convex.metric import metric
from jostle.convex.polyhedron import Polyhedron
from jostle.convex.residuals import residual
from jostle.kernels.reference.dense import EMPTY, ROUND_OFF, SOLVED, UNFINISHED
from jostle.kernels.reference.sweeps import Stop
from kernel_sets import cpu, reference

SHAPES = [(1, 1), (3, 5), (6, 6), (12, 4), (40, 15), (30, 60)]
AGREE = 1e-11
PLENTY = 10_000


def unit_rows(rows):
    return np.ascontiguousarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def problem(m, n, filled=1.0):
    """Unit rows A and offsets s0 such that s0 + A x >= 0 holds for some x, but not for x = 0."""
    random = np.random.default_rng(100 * m + n)
    rows, inside = random.normal(size=(m, n)), random.normal(size=n)
    rows[:, 1:] *= random.uniform(size=(m, n - 1)) < filled
    A = unit_rows(rows)
    margin = random.exponential(0.05, m)
    s0 = margin - A @ inside
    return (A, s0) if s0.min() < 0.0 else (A, margin + A @ inside)


def shortest(A, s0):
    """min |x| subject to s0 + A x >= 0, by non-negative least squares (Lawson & Hanson 1974, chapter 23)."""
    E, f = np.vstack([A.T, -s0]), np.append(np.zeros(A.shape[1]), 1.0)
    r = E @ nnls(E, f, maxiter=1000)[0] - f
    return -r[:-1] / r[-1]


def flower():
    """The twelve contacts of seven equal discs, one in the middle: rank 11 (P39)."""
    angles = np.pi / 3.0 * np.arange(6)
    q = np.vstack([[0.0, 0.0], np.stack([np.cos(angles), np.sin(angles)], axis=1)])
    rows = []
    for i in range(7):
        for j in range(i + 1, 7):
            if abs(np.linalg.norm(q[j] - q[i]) - 1.0) < 1e-9:
                row = np.zeros((7, 2))
                row[i], row[j] = q[i] - q[j], q[j] - q[i]
                rows.append(row.ravel())
    return unit_rows(np.array(rows)), q


def both_exact(A, s0, max_iterations=PLENTY):
    noise = np.full(len(s0), 1e-15)
    allowed = np.zeros(len(s0))
    return reference.exact(A, s0, noise, allowed, max_iterations), cpu.exact(A, s0, noise, allowed, max_iterations)


@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_exact_is_its_definition_and_least_squares_agree(m, n):
    A, s0 = problem(m, n)
    defined, compiled = both_exact(A, s0)
    assert defined[2] == compiled[2] == SOLVED
    assert defined[3] == compiled[3] > 0
    for x, p, _, _ in (defined, compiled):
        np.testing.assert_allclose(x, shortest(A, s0), atol=AGREE)
        np.testing.assert_allclose(A.T @ p, x, atol=AGREE)
        assert p.min() >= 0.0
    np.testing.assert_allclose(compiled[0], defined[0], atol=AGREE)
    np.testing.assert_allclose(compiled[1], defined[1], atol=AGREE)


def test_exact_agrees_where_rows_depend_on_each_other():
    """P39: the flower pressed inwards stops; the multipliers may differ, x and A^T p may not."""
    A, q = flower()
    s0 = A @ -q.ravel()
    assert np.linalg.matrix_rank(A) == 11
    for x, p, status, _ in both_exact(A, s0):
        assert status == SOLVED
        np.testing.assert_allclose(x, q.ravel(), atol=AGREE)
        np.testing.assert_allclose(A.T @ p, x, atol=AGREE)
        assert p.min() >= 0.0


def test_exact_agrees_where_rows_are_repeated():
    A, s0 = problem(12, 4)
    (x, _, _, _), _ = both_exact(A, s0)
    for twice, p, status, _ in both_exact(np.vstack([A, A]), np.concatenate([s0, s0])):
        assert status == SOLVED
        np.testing.assert_allclose(twice, x, atol=AGREE)
        np.testing.assert_allclose(np.vstack([A, A]).T @ p, x, atol=AGREE)


@pytest.mark.parametrize("n", [1, 3, 8])
def test_exact_proves_that_a_set_is_empty(n):
    """Rows that leave no room: p >= 0 with A^T p = 0 and s0 . p < 0, from both."""
    A, s0 = problem(5, n)
    closing = unit_rows(-A[:3].sum(axis=0, keepdims=True))
    A, s0 = np.vstack([A, closing]), np.append(s0, 0.0)
    s0[-1] = -1.0 - s0[:3].sum() / np.linalg.norm(A[:3].sum(axis=0))
    for _, p, status, _ in both_exact(A, s0):
        assert status == EMPTY
        assert p.min() >= 0.0
        assert np.abs(A.T @ p).max() <= AGREE * p.max()
        assert s0 @ p < -1e-3 * p.max()


def test_exact_says_when_it_ran_out_of_iterations():
    A, s0 = problem(40, 15)
    defined, compiled = both_exact(A, s0, max_iterations=2)
    assert defined[2:] == compiled[2:] == (UNFINISHED, 2)
    np.testing.assert_allclose(compiled[0], defined[0], atol=AGREE)


def test_exact_without_rows_stays_where_it_is():
    for x, p, status, iterations in both_exact(np.zeros((0, 3)), np.zeros(0)):
        assert (x == 0.0).all()
        assert (len(p), status, iterations) == (0, SOLVED, 0)


@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_project_dense_whitens_and_comes_back(m, n):
    """The kernel against the definition: coordinates x = sqrt(mass) (u - w), rows of length one."""
    random = np.random.default_rng(m + n)
    A, s0 = problem(m, n)
    stretch, mass, w = random.uniform(0.1, 10.0, m), random.uniform(0.01, 100.0, n), random.normal(size=n)
    root = 1.0 / np.sqrt(mass)
    G = np.ascontiguousarray(stretch[:, None] * A / root)
    c = stretch * s0 - G @ w
    x, p, status, iterations = reference.exact(A, s0, np.full(m, 1e-15), np.zeros(m), PLENTY)
    u, q, status_dense, iterations_dense = cpu.project_dense(G, c, w, root, ROUND_OFF, *np.zeros((2, m)), PLENTY)
    assert (status, iterations) == (status_dense, iterations_dense)
    assert status == SOLVED
    np.testing.assert_allclose(u, w + root * x, atol=1e-10)
    np.testing.assert_allclose(q, p / stretch, atol=1e-9)


def as_csr(A):
    rows = csr_array(A)
    return rows.data, rows.indices, rows.indptr, A.shape[1]


@pytest.mark.parametrize("steps", [1, 7, 20, 45, 150])
def test_sweeps_over_sparse_rows_make_the_same_steps(steps):
    A, s0 = problem(40, 15, filled=0.4)
    start = np.random.default_rng(1).uniform(0.0, 0.1, len(s0))
    given = start.copy()
    stop = Stop(np.zeros(len(s0)), 1e-30, steps, 20)
    x, p, iterations = accelerated_sweeps(A, s0, start, stop)
    x_fast, p_fast, iterations_fast = cpu.sweep_rows(*as_csr(A), s0, start, stop)
    assert iterations == iterations_fast == steps
    np.testing.assert_allclose(p_fast, p, rtol=1e-8, atol=1e-10 * np.abs(p).max())
    np.testing.assert_allclose(x_fast, x, rtol=1e-8, atol=1e-10 * np.abs(x).max())
    assert (start == given).all()  # not written into


def test_sweeps_over_sparse_rows_stop_at_the_same_iteration_and_at_the_projection():
    A, s0 = problem(40, 15, filled=0.4)
    stop = Stop(np.full(len(s0), 1e-9), 1e-9, PLENTY, 20)
    x, p, iterations = accelerated_sweeps(A, s0, np.zeros(len(s0)), stop)
    x_fast, p_fast, iterations_fast = cpu.sweep_rows(*as_csr(A), s0, np.zeros(len(s0)), stop)
    assert iterations == iterations_fast < PLENTY
    np.testing.assert_allclose(x_fast, x, atol=1e-9)
    for found, multipliers in ((x, p), (x_fast, p_fast)):
        s = s0 + A @ found
        assert s.min() >= -1e-9
        assert multipliers @ np.abs(s) <= 1e-9 * (found @ found)
        assert np.linalg.norm(found - shortest(A, s0)) <= np.sqrt(2e-9) * np.linalg.norm(found)


def test_sweeps_over_sparse_rows_started_at_the_answer_stop_at_once():
    A, s0 = problem(12, 4)
    (_, p, _, _), _ = both_exact(A, s0)
    stop = Stop(np.full(len(s0), 1e-9), 1e-9, PLENTY, 20)
    assert accelerated_sweeps(A, s0, p, stop)[2] == 0
    assert cpu.sweep_rows(*as_csr(A), s0, p, stop)[2] == 0


def both_residuals(G, c, w, mass, u, p, length):
    """From the dense kernel, and from the generic formula (which sparse rows take)."""
    M = metric(mass, w.shape)
    dense, generic = (Polyhedron(rows, c, length=length) for rows in (Dense(G), Sparse(csr_array(G))))
    return residual(w, dense, M, u, p), residual(w, generic, M, u, p)


@pytest.mark.parametrize("length", [None, 0.37, [0.37, 0.0, 1.2] * 3], ids=["none", "one", "some"])
@pytest.mark.parametrize("kind", ["far", "near", "negative", "still", "inside"])
def test_residual_dense_is_the_generic_residual(kind, length):
    random = np.random.default_rng(11)
    G, w, mass = random.normal(size=(9, 5)), random.normal(size=5), random.uniform(0.1, 4.0, 5)
    c = random.normal(size=9) - 0.5
    p = random.exponential(1.0, 9)
    u = w + G.T @ p / mass
    if kind == "near":
        u = u + 1e-7 * random.normal(size=5)
    if kind == "far":
        u = u + random.normal(size=5)
    if kind == "negative":
        p = p - 2.0
    if kind == "still":
        u = w
    if kind == "inside":
        c, p, u = np.abs(G @ w) + 1.0 - G @ w, np.zeros(9), w
    kernel, generic = both_residuals(G, c, w, mass, u, p, length)
    for name in ("primal", "dual", "complementarity"):
        assert getattr(kernel, name) == pytest.approx(getattr(generic, name), rel=1e-10, abs=1e-14)
    worst = max(kernel.primal, kernel.dual, kernel.complementarity)
    assert worst == 0.0 if kind == "inside" else worst > 1e-8


def test_both_residuals_are_what_a_hand_finds():
    """w = (0, 0), mass (1, 4), rows x + 2 y >= 2 and x >= 5, u = (1, 0), p = (1, -1/2)."""
    G, c = np.array([[1.0, 2.0], [1.0, 0.0]]), np.array([-2.0, -5.0])
    u, p = np.array([1.0, 0.0]), np.array([1.0, -0.5])
    # |u - w|_M = 1; slack (-1, -4); |G_i| in the dual norm: sqrt(1 + 4/4), 1; M (u - w) - G^T p = (1/2, -2),
    # whose dual norm is sqrt(1/4 + 4/4); the negative multiplier adds 1/2
    dual = np.sqrt(1.25) + 0.5
    for found in both_residuals(G, c, np.zeros(2), [1.0, 4.0], u, p, None):
        assert found.primal == pytest.approx(4.0, rel=1e-13)
        assert found.dual == pytest.approx(dual, rel=1e-13)
        assert found.complementarity == pytest.approx(1.0 * 1.0 + 0.5 * 4.0, rel=1e-13)
        assert found.eta == pytest.approx(np.sqrt(6.0), rel=1e-13)
    for found in both_residuals(G, c, np.zeros(2), [1.0, 4.0], u, p, 8.0):
        assert found.primal == pytest.approx(4.0 / 8.0, rel=1e-13)
    for found in both_residuals(G, c, u, [1.0, 4.0], u, p, None):  # nothing moved, and yet rows are violated
        assert found.primal == found.dual == found.complementarity == np.inf


def test_residuals_are_plain_numbers_in_every_metric():
    """So that `P.converged is True` holds, and a residual prints as a number."""
    G, c, u, p = np.array([[1.0, 2.0]]), np.array([-2.0]), np.array([1.0, 0.3]), np.array([0.5])
    for mass in (1.0, [[2.0, 1.0], [1.0, 3.0]]):
        for found in both_residuals(G, c, np.zeros(2), mass, u, p, None):
            assert [type(value) for value in (found.primal, found.dual, found.complementarity)] == [float] * 3
            assert found.within(1e-3) is False


def test_round_off_is_not_a_residual():
    """A slack of a few ulps of its terms counts as zero, in both."""
    G, c = np.array([[1.0 / 3.0, 1.0]]), np.array([-1.0])
    w = np.array([0.0, 0.0])
    u = w + G[0] * (1.0 / (G[0] @ G[0]))
    p = np.array([1.0 / (G[0] @ G[0])])
    u = u - np.array([0.0, 4e-16])
    for found in both_residuals(G, c, w, 1.0, u, p, None):
        assert (found.primal, found.dual, found.complementarity) == (0.0, 0.0, 0.0)


def test_all_pairs_is_the_double_loop():
    random = np.random.default_rng(5)
    q, radii, cutoff = random.uniform(0.0, 4.0, (12, 3)), random.uniform(0.2, 0.5, 12), 0.8
    expected = []
    for i in range(12):
        for j in range(i + 1, 12):
            distance = np.sqrt(((q[j] - q[i]) ** 2).sum())
            if distance - radii[i] - radii[j] <= cutoff:
                expected.append((i, j, *((q[j] - q[i]) / distance), distance - radii[i] - radii[j]))
    (i, j), normal, gap = reference.all_pairs(q, radii, np.full(12, cutoff / 2.0), np.full(q.shape[1], np.inf))
    assert 0 < len(expected) < 66
    np.testing.assert_allclose(np.column_stack([i, j, normal, gap]), expected, rtol=1e-13)
