"""Large projections: sweeps with momentum over the rows, and an interior point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Shorts
from jostle.kernels.reference.contacts import ContactRows, pairs_to_dense
from jostle.kernels.reference.dense import exact

RISE = 1e-13
"""The dual objective rose if it did so by more than this fraction of itself."""
DRIFT = 1e-9
"""Sweeps move velocities by increments, and gather round-off. If the tolerance of the complementarity is smaller than
this, or infinite, a test that was passed is repeated with velocities that are computed anew."""
FAR = 3.0
"""A row is out of reach if its slack exceeds FAR times what it changed between two tests."""
WINDOW = 50
"""Number of sweeps after which the momentum is judged by the sizes of their steps, by Coulomb's law."""
DAMPING = 0.12
"""Smallest damping of the momentum by Coulomb's law: its factor is at most one minus the damping."""


class Stop(NamedTuple):
    """When sweeps stop: no s_i below -violation_i, and sum p |s| <= tol |x|^2; or after max_iterations.

    `every` says how often this is tested, see `next_test`.
    """

    violation: Array
    tol: float
    max_iterations: int
    every: int


def next_test(iteration: int, every: int) -> int:
    """The iteration of the next stopping test: at first twice as late as the last, later after `every` or a tenth more.

    >>> tests = [0]
    >>> while tests[-1] < 240:
    ...     tests.append(next_test(tests[-1], 20))
    >>> tests[:5], tests[-3:]
    ([0, 5, 10, 20, 40], [200, 220, 242])
    """
    return iteration + max(min(every, max(iteration, every // 4, 1)), iteration // 10)


def complementary(product: float, tol: float, size: float) -> bool:
    """Is sum p |s| at most tol |x|^2? An infinite tol asks for nothing, also where x = 0."""
    return bool(tol == np.inf or product <= tol * size)


class Laws(NamedTuple):
    """What units of rows that are swept as one, such as those of a contact with friction, do and obey."""

    rows: list[slice]
    """The rows of each unit."""
    step: Callable[[int, Array, Array], Array]
    """step(k, y, s): the multipliers that solve unit k alone, whose slack is s for its multipliers y."""
    test: Callable[[Array, Array], tuple[Array, float]]
    """test(s, p): how far each unit is from being violated, and the lack of complementarity of all of them."""
    coulomb: bool = False
    """Whether the momentum is limited, as Coulomb's law needs it, which is not the minimum of a function."""


def damped(damping: float, steps: float, steps_before: float) -> float:
    """The damping of the momentum after another window of sweeps, in which the squares of all steps add up to `steps`.

    Coulomb's law is not the minimum of a function, so that momentum can carry the iteration away: steps that grow
    double the damping, smaller ones reduce it, down to `DAMPING`.
    """
    return min(1.0, 2.0 * damping) if steps > steps_before else max(DAMPING, 0.8 * damping)


def accelerated_sweeps(A: Any, s0: Array, p: Array, stop: Stop, laws: Laws | None = None) -> tuple[Array, Array, int]:
    """The dual problem for unit rows: Nesterov's momentum around one Gauss-Seidel sweep over the rows, or over units.

    A sweep from y gives p; y moves on by the momentum. It starts anew from p when the sweep went against the way
    of p, or when the dual objective s0 . p + 1/2 |A^T p|^2 rose: the sweep alone lowers it, its acceleration need not.
    By Coulomb's law it starts anew, and is limited to less, when the steps of `WINDOW` sweeps were larger than those of
    the sweeps before. Stops when s_i >= -violation_i and sum p |s| <= tol |x|^2, looked at by `next_test`; the
    violation of a unit is that of its first row. From one test to the next, rows without a multiplier are left out if
    their slack exceeds `FAR` times its change since the test before. Returns (x, p, iterations); iterations =
    max_iterations means that it did not stop.
    """
    violation, tol, max_iterations, every = stop
    if laws is None:
        each = [slice(k, k + 1) for k in range(len(p))]
        laws = Laws(each, lambda k, y, s: np.maximum(0.0, y - s), lambda s, p: (s, float(p @ np.abs(s))))
    rows, step, test, coulomb = laws
    allowed = violation[[at.start for at in rows]]
    p, y, x = p.copy(), p.copy(), A.T @ p
    v, theta, lowest, restart, tested = x.copy(), 1.0, np.inf, False, 0
    before, kept = np.full(len(rows), -np.inf), np.ones(len(rows), dtype=bool)
    damping, steps, steps_before = DAMPING, 0.0, np.inf
    for iteration in range(max_iterations):
        if iteration == tested:
            tested = next_test(iteration, every)
            margin, product = test(s0 + A @ x, p)
            if (margin >= -allowed).all() and complementary(product, tol, x @ x):
                return x, p, iteration
            loaded = np.array([p[at].any() or y[at].any() for at in rows], dtype=bool)
            kept, before = loaded | (margin <= FAR * np.abs(margin - before)), margin
        if restart:
            theta, y, v = 1.0, p.copy(), x.copy()
        after = theta * (np.sqrt(theta * theta + 4.0) - theta) / 2.0
        beta = 0.0 if restart else theta * (1.0 - theta) / (theta * theta + after)
        if coulomb:
            beta = min(beta, 1.0 - damping)
        p_before, x_before, against = p.copy(), x, 0.0
        for k in np.flatnonzero(kept).tolist():
            at = rows[k]
            q = step(k, y[at], s0[at] + A[at] @ v)
            v = v + A[at].T @ (q - y[at])
            against -= float((q - y[at]) @ (q - p[at]))
            steps += float((q - y[at]) @ (q - y[at]))
            p[at] = q
        x, objective = v, s0 @ p + 0.5 * v @ v
        y, v, theta = p + beta * (p - p_before), x + beta * (x - x_before), after
        restart = bool(against > 0.0 or (not coulomb and objective > lowest + RISE * abs(lowest)))
        lowest = objective
        if (iteration + 1) % WINDOW == 0:
            restart = restart or (coulomb and steps > steps_before)
            damping = damped(damping, steps, steps_before)
            steps, steps_before = 0.0, steps
    return A.T @ p, p, max_iterations


def from_csr(data: Array, indices: Shorts, indptr: Shorts, n: int) -> Array:
    """Rows in CSR form with n columns as a dense array."""
    A = np.zeros((len(indptr) - 1, n))
    np.add.at(A, (np.repeat(np.arange(len(A)), np.diff(indptr)), indices), data)
    return A


def sweep_rows(
    data: Array, indices: Shorts, indptr: Shorts, n: int, s0: Array, start: Array, stop: Stop
) -> tuple[Array, Array, int]:
    """`accelerated_sweeps` over unit rows in CSR form with n columns, from the multipliers `start`."""
    return accelerated_sweeps(from_csr(data, indices, indptr, n), s0, start, stop)


def gauss_seidel(
    rows: ContactRows, unit: Array, inverse: Array, s0: Array, start: Array, stop: Stop, chunks: int,
    places: Array | None,
) -> tuple[Array, int]:  # fmt: skip
    """(p, iterations) of `accelerated_sweeps` over contacts, divided by their length `unit`.

    inverse (bodies,) are the inverse masses. An implementation may take the rows in an order of its own, which may
    depend on how many chunks of bodies are swept at the same time, and on their places (bodies, d), if known.
    """
    A = pairs_to_dense(rows, len(inverse)) * np.sqrt(np.repeat(inverse, rows.normal.shape[1]))
    _, p, iterations = accelerated_sweeps(A / unit[:, None], s0, start, stop)
    return p, iterations


def interior_point(
    rows: ContactRows, mass: Array, s0: Array, start: Array, places: Array, violation: Array, tol: float,
    max_iterations: int, most_numbers: int, chunks: int,
) -> tuple[Array, int, float, int]:  # fmt: skip
    """(p, iterations, quality, numbers) of min 1/2 |x|_M^2, s0 + G x >= 0, whose rows have length one in the metric.

    With x = M^-1 G^T p and s = s0 + G x, the quality is the largest of -s_c / violation_c and
    sum p |s| / (tol |x|_M^2): at most one if the problem is solved. The last is how many numbers the
    factors have: if that exceeds `most_numbers`, nothing is computed, and p is zero. `chunks` threads share the
    work. `start` are multipliers to start from, if any is positive. Here there are no factors, and the answer is that
    of `exact`.
    """
    A, nothing = pairs_to_dense(rows, len(mass)) / np.sqrt(mass.ravel()), np.zeros(len(s0))
    x, p, _, iterations = exact(A, s0, nothing, nothing, max_iterations)
    s, size = s0 + A @ x, float(x @ x)
    product = float(p @ np.abs(s)) / (tol * size) if size > 0.0 else 0.0
    return p, iterations, max(product, float((-s / violation).max(initial=0.0))), 0
