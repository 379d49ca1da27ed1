"""The 1-D law: u is the projection of U on the functions that do not decrease along saturated intervals.

    u + dp/dx = U,   du/dx >= 0,   p >= 0,   p du/dx = 0        (Bourdin & Maury 2020, (15)-(18))

For a U that is constant in each cell the result, an isotonic regression, is exact. Cells of equal width h behave as a
row of grains: u are their velocities and p / h the impulses at their contacts, so the microscopic and the macroscopic
law give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import set_fields
from jostle._tools.arrays import Array, Booleans, finite
from jostle.convex.linear_map import NormalRows
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Cone
from jostle.convex.residuals import Residual
from jostle.convex.rows import Rows
from jostle.errors import InvalidValue
from jostle.laws import Impact, Restitution, impact
from jostle.macro.checks import truths
from jostle.macro.lattice import Runs
from jostle.solvers.base import Solver

GAUSS_POINTS = 8
"""Number of quadrature points for the mean of a function over a cell."""


@dataclass(frozen=True, eq=False)
class LineCollision:
    """The result of an impact on a line.

    Attributes
    ----------
    u : array, shape (n,)
        Velocities in the cells after the impact.
    pressure : array, shape (n + 1,)
        Impulse p at the edges of the cells; the factor 1 + e is included.
    hit : Impact
        Velocities and impulses of the saturated cells, with their projection.

    Examples
    --------
    >>> after = Interval([0.0, 1.0, 2.0]).impact([1.0, -1.0], restitution=1.0)
    >>> after.u.tolist(), after.pressure.tolist(), after.residual.within(1e-12)
    ([-1.0, 1.0], [0.0, 2.0, 0.0], True)
    """

    u: Array
    pressure: Array
    hit: Impact

    @property
    def residual(self) -> Residual:
        """How far (u, p) is from the optimality conditions."""
        return self.hit.projection.residual


@dataclass(frozen=True, eq=False, init=False)
class Interval:
    """The impact law in one dimension: velocities do not decrease along saturated intervals.

    Parameters
    ----------
    edges : array_like, shape (n + 1,)
        Edges of the cells, increasing.
    saturated : array_like of bool, shape (n,), optional
        The saturated cells, in which the density is one. None: all cells.
    closed : (bool, bool), default (False, False)
        Whether there is a wall at the left end and at the right end.

    Examples
    --------
    >>> law = Interval(np.linspace(-1, 1, 11))
    >>> after = law.impact(lambda x: -x)                  # u = 0, p = (1 - x^2) / 2
    >>> after.u.round(12).tolist() == [0.0] * 10, after.pressure.round(12).tolist()[4:7]
    (True, [0.48, 0.5, 0.48])
    """

    edges: Array
    saturated: Booleans
    closed: tuple[bool, bool]

    def __init__(
        self, edges: ArrayLike, saturated: ArrayLike | None = None, *, closed: tuple[bool, bool] = (False, False)
    ):
        x = finite(edges, "edges")
        if x.ndim != 1 or len(x) < 2 or not (np.diff(x) > 0.0).all():
            raise InvalidValue("edges must be two or more increasing numbers")
        zone = np.ones(len(x) - 1, dtype=bool) if saturated is None else truths(saturated, "saturated")
        if zone.shape != (len(x) - 1,):
            raise InvalidValue(f"saturated must be one boolean per cell, ({len(x) - 1},), not shape {zone.shape}")
        if np.shape(closed) != (2,) or not all(isinstance(end, bool | np.bool_) for end in closed):
            raise InvalidValue(f"closed must be (left, right), not {closed!r}")
        set_fields(self, edges=x, saturated=zone, closed=(bool(closed[0]), bool(closed[1])))

    @cached_property
    def runs(self) -> Runs:
        """The saturated intervals; numbers count saturated cells only."""
        cells = np.flatnonzero(self.saturated)
        starts = np.concatenate([[0], np.flatnonzero(np.diff(cells) != 1) + 1, [len(cells)]]) if len(cells) else [0]
        begin, end = np.array(starts[:-1], dtype=int), np.array(starts[1:], dtype=int) - 1
        low = (cells[begin] == 0) & self.closed[0]
        high = (cells[end] == len(self.saturated) - 1) & self.closed[1]
        return Runs(np.arange(len(cells)), np.asarray(starts, dtype=int), low, high, self.mass)

    @cached_property
    def mass(self) -> Array:
        """(m,): the widths of the saturated cells."""
        return np.asarray(np.diff(self.edges)[self.saturated])

    @cached_property
    def cone(self) -> Cone:
        """The admissible velocities: one row per contact, walls included."""
        first, second, sign = self.runs.contacts()
        return Cone(NormalRows(first, second, sign[:, None], len(self.mass)))

    def sample(self, velocity: ArrayLike | Callable[[Array], ArrayLike]) -> Array:
        """Return the mean velocity in each cell.

        Parameters
        ----------
        velocity : float, array_like, shape (n,), or callable (x) -> array
            One number, one number per cell, or a function of the position, which is averaged by Gauss quadrature.

        Returns
        -------
        array, shape (n,)
            The velocities of the cells.
        """
        if not callable(velocity):
            given = finite(velocity, "a velocity")
            if given.shape not in ((), self.saturated.shape):
                raise InvalidValue(
                    f"velocity must be one number, or one per cell, {self.saturated.shape}, not shape {given.shape}"
                )
            return np.array(np.broadcast_to(given, self.saturated.shape))
        s, w = np.polynomial.legendre.leggauss(GAUSS_POINTS)
        middle, half = 0.5 * (self.edges[1:] + self.edges[:-1]), 0.5 * np.diff(self.edges)
        values = np.asarray(velocity(middle[:, None] + half[:, None] * s), dtype=float)
        return finite((np.broadcast_to(values, (len(middle), GAUSS_POINTS)) * w).sum(axis=1) / 2.0, "a velocity")

    def impact(self, velocity: ArrayLike | Callable[[Array], ArrayLike], *, restitution: float = 0.0) -> LineCollision:
        """Apply the law: u = U - (1 + e) dp/dx.

        Parameters
        ----------
        velocity : float, array_like, shape (n,), or callable (x) -> array
            Velocity U before the impact, as for `sample`.
        restitution : float, default 0.0
            Restitution coefficient e, between 0 and 1.

        Returns
        -------
        LineCollision
            The velocities after the impact and the pressure.
        """
        u, p = self.sample(velocity), np.zeros(len(self.edges))
        U = u[self.saturated]
        hit = impact(U, self.cone, law=Restitution(restitution), mass=self.mass, solver=Regression(runs=self.runs))
        u[self.saturated] = hit.velocity
        by_edge, cells = self.runs.on_edges(hit.impulse), np.flatnonzero(self.saturated)
        p[cells] = by_edge[self.runs.edges - 1]
        p[cells + 1] = by_edge[self.runs.edges]
        return LineCollision(u, p, hit)


@dataclass(frozen=True, kw_only=True, eq=False)
class Regression(Solver):
    """Projection by one isotonic regression."""

    runs: Runs

    def _solve(self, w: Array, K: Rows, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        u = self.runs.isotonic(w)
        return u, self.runs.pressure(w - u)[self.runs.closed], 1
