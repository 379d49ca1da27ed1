"""The first-order projection: projected Gauss-Seidel sweeps over the multipliers, accelerated by Nesterov's momentum.

Each iteration is one sweep over the rows, scaled to length one, and one step of momentum, which is restarted where it
points uphill. The sweep is a fused loop where all rows are contacts of bodies, and goes over sparse rows otherwise,
contacts and general rows together. An equality is swept as two inequalities, s >= 0 and -s >= 0, whose multipliers are
the two parts of its own, p = p_+ - p_-.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, place_of
from jostle.convex.linear_map import MAX_FEW_BLOCKS, NormalRows, stacked
from jostle.convex.metric import Metric
from jostle.convex.projection import Projection
from jostle.convex.residuals import Residual
from jostle.convex.rows import Rows
from jostle.errors import InvalidValue
from jostle.kernels import Answer, Blocks, ContactRows, Stop
from jostle.kernels.parallel import by_rows, threads
from jostle.kernels.reference.cones import metrics_of_blocks, nearest_in_cones
from jostle.solvers.base import LOOSE, Solver, unit_rows

TEST_INTERVAL = 20
"""Largest number of iterations between two stopping tests, until a tenth of those done exceeds it."""
PARALLEL_ROWS = 20_000
"""From this many contacts on, several threads sweep. Fewer are one block, on one thread: waiting for the others would
take about as long as a sweep."""
ROWS_A_THREAD = 4000
"""A thread is given at least this many contacts."""
CONE_TOLERANCE, TIGHT_CONE_TOLERANCE = 0.7, 0.1
"""The loops over contacts with friction stop at this fraction of tol; at the second one if tol is below `LOOSE`."""
AIM, TIGHTEST_AIM, AIMED_SWEEPS = 0.01, 1e-5, 60
"""With friction, the first sweeps aim at this fraction of tol, or at this tolerance if that is looser, but are no more
than this many. What rests is nearly solved by the impulses of the step before, and what starts from better ones needs
fewer sweeps in hard steps: a pile of 1000 discs settled in less time, and moved fifty times less at rest."""
AT_ONCE = 200
"""Most sweeps over a few contacts with friction, before the usual course of a projection begins anew."""
INNER_TOLERANCE = 0.5
"""The loop stops at this fraction of tol, so that the stopping test from outside agrees with it."""


@dataclass(frozen=True, kw_only=True)
class GaussSeidel(Solver):
    """Accelerated Gauss-Seidel sweeps: many cheap iterations, for large problems and loose tolerances.

    Parameters
    ----------
    tol : float, default 1e-6
        Largest residual of an answer that counts as converged; dimensionless, between 0 and 1.
    max_iterations : int, default 200000
        Largest number of sweeps of one projection.
    budget : bool, default False
        Whether an answer that misses the tolerance is taken all the same, as in game physics: `solve` does not raise,
        the run ends with the status "budget", and ``sol.stats`` has the overlap and the residual of each step.
    overlap : float, default 0.0
        Largest overlap at which the sweeps stop, whatever the impulses are, as a fraction of the smallest radius, from
        0 to 1; it needs a budget. 0 stops at `tol` alone.

    Notes
    -----
    The constraint g / h + G u >= 0 of the next step repairs what this one left, so warm-started iterations, too few for
    any one projection, hold a pile over many steps. Most steps of a pile need few iterations, and the blow of a falling
    body needs many: to stop at a given overlap leaves much smaller worst ones in the same time than a fixed number of
    iterations.

    Examples
    --------
    >>> import jostle as jo
    >>> K = jo.convex.Cone([[1.0, 0.0], [0.0, 1.0]])
    >>> jo.GaussSeidel(tol=1e-6).project([-1.0, 2.0], K).point.round(6) + 0.0
    array([0., 2.])
    >>> import numpy as np
    >>> heap = jo.models.spheres(np.full(200, 0.5), box=([0, 0], [12, np.inf]))
    >>> hurried = jo.GaussSeidel(max_iterations=400, budget=True, overlap=1e-3)
    >>> sol = jo.solve(heap, jo.Maury(solver=hurried), t=0.5, h=0.01)
    >>> sol.status, bool(sol.gaps().min() > -1e-3 * 0.5)
    ('budget', True)
    """

    kernels: ClassVar[frozenset[str]] = frozenset({"gauss_seidel"})
    takes_cones: ClassVar[bool] = True

    tol: float = 1e-6
    max_iterations: int = 200_000
    budget: bool = False
    overlap: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.overlap < 1.0:
            raise InvalidValue(f"overlap is a fraction of the smallest radius, from 0 to 1, not {self.overlap}")
        if self.overlap > 0.0 and not self.budget:
            raise InvalidValue(
                "overlap= stops sweeps that missed the tolerance, which a run takes with budget=True only"
            )

    @property
    def strict(self) -> bool:
        return not self.budget

    def _plan(self, K: Rows) -> Generator[Solver, Projection, None]:
        if self.overlap == 0.0:
            yield from aimed(K, self.tol)
        yield self

    def _solve(self, w: Array, K: Rows, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        if K.cones is not None:
            return self._on_cones(w, K, M, slack, guess)
        if K.equal is not None:
            return self._as_inequalities(w, K, M, slack, guess)
        unit, s0, noise = self._whitened(w, K, M, slack)
        start = place_of(unit).zeros(len(unit)) if guess is None else by_rows(_scaled, (guess, unit))
        stop = Stop(*self._stop(K, unit, s0, noise, INNER_TOLERANCE), self.max_iterations, TEST_INTERVAL)
        contacts = K.G.contacts
        inverse = M.of_bodies(contacts.bodies) if contacts is not None and len(K.G.others) == 0 else None
        if contacts is not None and inverse is not None:
            p, iterations = _on_contacts(contacts, inverse, unit, s0, start, stop)
            return w + M.solve(K.G.adjoint(p)), p, iterations
        A = unit_rows(K.G, M, unit)
        x, p, iterations = kernels.sweep_rows(A.data, A.indices, A.indptr, A.shape[1], s0, start, stop)
        return w + M.unwhiten(x), p / unit, iterations

    def _stop(self, K: Rows, unit: Array, s0: Array, noise: Array, part: float) -> tuple[Array, float]:
        if self.overlap == 0.0:
            return super()._stop(K, unit, s0, noise, part)
        if not (K.length > 0.0).all():
            row = K.describe(int(np.argmin(K.length > 0.0)))
            raise InvalidValue(f"overlap is a fraction of the smallest radius, and {row} has none; leave overlap out")
        return np.maximum(self.overlap * K.length / unit, noise), np.inf

    @property
    def _part(self) -> float:
        """The fraction of tol at which loops over contacts with friction stop."""
        return CONE_TOLERANCE if self.tol >= LOOSE else TIGHT_CONE_TOLERANCE

    def _on_cones(self, w: Array, K: Rows, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        """(u, p, iterations) where the first rows are blocks in friction cones, divided by their lengths."""
        cones = K.cones
        assert cones is not None
        inverse = K.G.swept(cones, K.equal, M)
        if inverse is not None:
            return self._on_blocks(w, K, M, guess, inverse, self.max_iterations)
        b, first = len(cones.mu), cones.rows
        local = K.G.local_matrices(b, cones.height, M)
        scale = metrics_of_blocks(local, cones.axis)
        norms, _, noise = K.G.whitened(K.c, K.noise, M, w, slack)
        unit = np.append(np.sqrt(scale[:, 0]).repeat(cones.height), np.where(norms[first:] > 0.0, norms[first:], 1.0))
        noise[:first] *= np.where(norms[:first] > 0.0, norms[:first], 1.0) / unit[:first]
        s0 = slack / unit
        start = np.zeros(len(s0)) if guess is None else guess * unit
        free = np.zeros(len(s0) - first, dtype=bool) if K.equal is None else K.equal[first:]
        square, quiet = scale[:, :1], np.sqrt(np.square(cones.blocks_of(noise)).sum(axis=1))
        kinds = cones.axis, cones.mu, cones.resistance
        blocks = Blocks(*kinds, local / square[:, None], scale / square, cones.coulomb, quiet, free)
        start[:first] = nearest_in_cones(cones.blocks_of(start), *kinds, blocks.scale).ravel()
        start[first:] = np.where(free, start[first:], np.maximum(start[first:], 0.0))
        stop = Stop(*self._stop(K, unit, s0, noise, self._part), self.max_iterations, TEST_INTERVAL)
        A = unit_rows(K.G, M, unit)
        x, p, iterations = kernels.sweep_cones(A.data, A.indices, A.indptr, A.shape[1], s0, start, blocks, stop)
        return w + M.unwhiten(x), p / unit, iterations

    def _on_blocks(
        self, w: Array, K: Rows, M: Metric, guess: Array | None, inverse: Array, most: int
    ) -> tuple[Array, Array, int]:
        """(u, p, iterations) by the fused loop over contacts with friction, after at most this many iterations."""
        cones = K.cones
        assert cones is not None
        m, d = cones.axis.shape
        blocks = K.G.prepared(cones, inverse, w, K.c, K.noise, guess)
        least = float((blocks.margin / blocks.unit).min())
        if not -np.inf < least < 0.0:  # nothing is violated, or something is not finite
            return w.copy(), place_of(w).zeros(m * d), 0
        length, tol = K.length[::d], self._part * self.tol
        if self.overlap == 0.0:
            violation = tol * np.where(length > 0.0, length, -least * blocks.unit)
        else:
            violation, tol = self.overlap * length, np.inf
        stop = Stop(np.maximum(violation, blocks.noise), tol, most, TEST_INTERVAL)
        p, iterations = K.G.sweep(blocks, inverse, cones.coulomb, stop, _sweeping_threads(m))
        return w + M.solve(K.G.adjoint(p.ravel())), p.ravel(), iterations

    def _swept_at_once(self, w: Array, K: Rows, M: Metric, guess: Array | None, name: str) -> Projection | None:
        cones, inverse = K.cones, K.G.swept(K.cones, K.equal, M)
        if cones is None or inverse is None or len(cones.mu) > MAX_FEW_BLOCKS or not self.strict:
            return None
        first, near = self._nearer(K)
        flat = w.ravel()
        u, p, iterations = first._on_blocks(flat, near, M, guess, inverse, min(AT_ONCE, self.max_iterations))
        found = K.G.residuals(Answer(K.c, K.noise, K.length, flat, M.mass, u, p), cones, M)
        assert found is not None
        residual, solver = Residual(*found), self.name if iterations else name
        return Projection(u.reshape(w.shape), p, residual, iterations, residual.within(self.tol), solver)

    def _nearer(self, K: Rows) -> tuple[GaussSeidel, Rows]:
        """The solver and the rows with which the first sweeps aim far below what is allowed; see `aimed`."""
        part = max(AIM, TIGHTEST_AIM / self.tol)
        if part >= 1.0 or K.cones is None or not K.cones.coulomb:
            return self, K
        return replace(self, tol=part * self.tol), replace(K, noise=part * K.noise)

    def _as_inequalities(
        self, w: Array, K: Rows, M: Metric, slack: Array, guess: Array | None
    ) -> tuple[Array, Array, int]:
        """(u, p, iterations) where some rows are equalities: each is swept with its opposite, as two inequalities."""
        assert K.equal is not None
        rows, m = np.flatnonzero(K.equal), len(slack)
        both = Rows(
            stacked(K.G, K.G.rows(rows).opposite()),
            np.append(K.c, -K.c[rows]),
            np.append(K.length, K.length[rows]),
            np.append(K.noise, K.noise[rows]),
            None,
            lambda row: K.describe(row if row < m else int(rows[row - m])),
        )
        parts = None if guess is None else np.append(np.maximum(guess, 0.0), np.maximum(-guess[rows], 0.0))
        u, p, iterations = self._solve(w, both, M, np.append(slack, -slack[rows]), parts)
        signed = p[:m].copy()
        signed[rows] -= p[m:]
        return u, signed, iterations


class _Aimed(GaussSeidel):
    """A few sweeps that stop at errors far below those that are allowed."""

    examined: ClassVar[bool] = False

    @property
    def strict(self) -> bool:
        return False

    @property
    def name(self) -> str:
        return GaussSeidel.__name__

    def _solve(self, w: Array, K: Rows, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        solver, near = self._nearer(K)
        return GaussSeidel._solve(solver, w, near, M, slack, guess)


def aimed(K: Rows, tol: float) -> Iterator[Solver]:
    """What is tried first with Coulomb's law, unless tol is small: a few sweeps that aim far below what is allowed."""
    if K.cones is not None and K.cones.coulomb and tol > TIGHTEST_AIM:
        yield _Aimed(tol=tol, max_iterations=AIMED_SWEEPS)


def _scaled(guess: Array, unit: Array) -> Array:
    """The multipliers of rows of length one that a guess stands for."""
    return np.maximum(guess, 0.0) * unit


def _on_contacts(
    contacts: NormalRows, inverse: Array, unit: Array, s0: Array, start: Array, stop: Stop
) -> tuple[Array, int]:
    """(p, iterations) by the fused loop over contacts of bodies with these inverse masses."""
    rows = ContactRows(contacts.i, contacts.j, contacts.normal)
    chunks = _sweeping_threads(len(unit))
    scaled, iterations = kernels.gauss_seidel(rows, unit, inverse, s0, start, stop, chunks, contacts.positions)
    return by_rows(np.divide, (scaled, unit)), iterations


def _sweeping_threads(rows: int) -> int:
    """The number of threads that sweep over this many contacts."""
    return max(1, min(threads(), rows // ROWS_A_THREAD)) if rows >= PARALLEL_ROWS else 1
