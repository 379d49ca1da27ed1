"""Large projections: sweeps with momentum over the rows, and an interior point."""

from __future__ import annotations

from typing import NamedTuple

from jostle._tools.arrays import Array, Shorts
from jostle.kernels.interface import Kernel
from jostle.kernels.reference.contacts import ContactRows

RISE = 1e-13
"""The dual objective rose if it did so by more than this fraction of itself."""
DRIFT = 1e-9
"""Sweeps move velocities by increments, and gather round-off. If the tolerance of the complementarity is smaller than
this, or infinite, a test that was passed is repeated with velocities that are computed anew."""
FAR = 3.0
"""A row is out of reach if its slack exceeds FAR times what it changed between two tests."""
WINDOW = 50
"""Number of sweeps after which the momentum is judged by the sizes of their steps, by Coulomb's law."""
DAMPING, TIGHT_DAMPING, TIGHT = 0.12, 0.02, 5e-6
"""Smallest damping of the momentum by Coulomb's law, whose factor is at most one minus the damping; the second one if
the complementarity has to fall below the third number, which takes hundreds of sweeps in hard steps."""


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


def least_damping(tol: float) -> float:
    """The first and smallest damping of the momentum by Coulomb's law, for a tolerance of the complementarity."""
    return TIGHT_DAMPING if tol < TIGHT else DAMPING


def damped(damping: float, steps: float, steps_before: float, least: float) -> float:
    """The damping of the momentum after another window of sweeps, in which the squares of all steps add up to `steps`.

    Coulomb's law is not the minimum of a function, so that momentum can carry the iteration away: steps that grow
    double the damping, smaller ones reduce it, down to `least`.
    """
    return min(1.0, 2.0 * damping) if steps > steps_before else max(least, 0.8 * damping)


@Kernel
def sweep_rows(
    data: Array, indices: Shorts, indptr: Shorts, n: int, s0: Array, start: Array, stop: Stop
) -> tuple[Array, Array, int]:
    """`accelerated_sweeps` over unit rows in CSR form with n columns, from the multipliers `start`."""
    raise NotImplementedError


@Kernel
def gauss_seidel(
    rows: ContactRows, unit: Array, inverse: Array, s0: Array, start: Array, stop: Stop, chunks: int,
    places: Array | None,
) -> tuple[Array, int]:  # fmt: skip
    """(p, iterations) of `accelerated_sweeps` over contacts, divided by their length `unit`.

    inverse (bodies,) are the inverse masses. An implementation may take the rows in an order of its own, which may
    depend on how many chunks of bodies are swept at the same time, and on their places (bodies, d), if known.
    """
    raise NotImplementedError


@Kernel
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
    raise NotImplementedError
