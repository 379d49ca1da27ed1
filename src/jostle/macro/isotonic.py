"""Projection on the admissible velocities of a lattice by regressions along its lines, for square and triangular laws.

    min 1/2 |U - sum_k I_k e_k|^2  over  I_k in the polar of the non-decreasing functions along lines e_k,
    u = U - sum_k I_k e_k,   p_k = the sums of I_k along the lines        (Bourdin & Maury 2020, (29) and (35))

by the accelerated gradient (Nesterov 1983) with restarts (O'Donoghue & Candès 2015). The projection on a polar is
y minus its isotonic regression. The Lipschitz constant is the largest eigenvalue of sum_k e_k e_k^T at any size:
3/2 for three directions. Two directions at right angles decouple, with one regression per line.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np

from jostle._tools.arrays import Array
from jostle.convex.metric import Metric
from jostle.convex.projection import Projection
from jostle.convex.rows import Rows
from jostle.macro.lattice import Lattice
from jostle.solvers.base import Solver
from jostle.solvers.interior_point import InteriorPoint

TEST_INTERVAL = 10
"""Number of iterations between two stopping tests."""
INNER_TOLERANCE = 0.5
"""The loop stops at this fraction of tol, so that the common stopping test of the solvers is passed as well."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Isotonic(Solver):
    """Isotonic regressions along the lines of a lattice; `InteriorPoint` takes over if they do not converge."""

    lattice: Lattice
    tol: float = 1e-8
    max_iterations: int = 2000

    def _plan(self, K: Rows) -> Generator[Solver, Projection, None]:
        if len(self.lattice.e) == 2:
            yield self
            return
        second = InteriorPoint(tol=self.tol)
        yield replace(self, max_iterations=max(1, self.max_iterations - second.max_iterations))
        yield second

    def _solve(self, w: Array, K: Rows, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        U, e, runs = w.reshape(-1, 2), self.lattice.e, self.lattice.runs
        if len(e) == 2:
            return self._lines(U, M)
        lost = np.zeros((len(e), len(U)))
        ahead, new, t = lost.copy(), np.empty_like(lost), 1.0
        scaled = along(e, U) * (2.0 / 3.0)
        for k in range(1, self.max_iterations + 1):
            # with e_k . e_l = -1/2, the step ahead_k + (2/3) (U - sum_l ahead_l e_l) . e_k is (2/3) U . e_k + mean
            mean = (ahead[0] + ahead[1] + ahead[2]) / 3.0
            for part, y, line in zip(new, scaled, runs, strict=True):
                moved = y + mean
                np.subtract(moved, line.isotonic(moved), out=part)
            change = new - lost
            if k % TEST_INTERVAL == 0 and self._met(U, new):
                lost = new
                break
            np.subtract(ahead, new, out=ahead)
            if float(np.einsum("kn,kn->", ahead, change)) > 0.0:
                t = 1.0
            faster = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
            np.multiply(change, (t - 1.0) / faster, out=ahead)
            ahead += new
            lost, new, t = new, lost, faster
        mass = M.mass.reshape(-1, 2)[:, 0]
        p = [line.pressure(mass * part)[line.closed] for part, line in zip(lost, runs, strict=True)]
        return (U - together(e, lost)).ravel(), np.concatenate(p), k

    def _lines(self, U: Array, M: Metric) -> tuple[Array, Array, int]:
        """Two directions at right angles: one regression per line."""
        u, p = np.zeros_like(U), []
        mass = M.mass.reshape(-1, 2)[:, 0]
        for e, line in zip(self.lattice.e, self.lattice.runs, strict=True):
            y = U[:, 0] * e[0] + U[:, 1] * e[1]
            kept = line.isotonic(y)
            for axis in (0, 1):
                if e[axis] != 0.0:
                    u[:, axis] += kept * e[axis]
            p.append(line.pressure(mass * (y - kept))[line.closed])
        return u.ravel(), np.concatenate(p), 1

    def _met(self, U: Array, lost: Array) -> bool:
        """The stopping test of all solvers: violation and sum p |s|, relative to the distance moved."""
        taken = together(self.lattice.e, lost)
        u, distance = U - taken, float(np.sqrt((taken**2).sum()))
        product, violation = 0.0, 0.0
        for e, part, line in zip(self.lattice.e, lost, self.lattice.runs, strict=True):
            s = line.rates(u[:, 0] * e[0] + u[:, 1] * e[1])
            product += float((line.pressure(part) * np.abs(s)).sum())
            violation = max(violation, -float(s.min(initial=0.0)))
        tol = INNER_TOLERANCE * self.tol
        return violation <= tol * distance and product <= tol * distance**2


# Sums over two or three directions are written out: starting threads for a matrix product would take longer.
def along(e: Array, u: Array) -> Array:
    """(k, n): the components u . e_k."""
    return np.stack([u[:, 0] * ek[0] + u[:, 1] * ek[1] for ek in e])


def together(e: Array, I: Array) -> Array:  # noqa: E741
    """(n, 2): sum_k I_k e_k."""
    return np.stack([sum(Ik * ek[axis] for Ik, ek in zip(I, e, strict=True)) for axis in (0, 1)], axis=1)
