"""Coulomb's law to high accuracy: a semismooth Newton method inside an augmented Lagrangian.

In coordinates x of u - w where the metric is Euclidean, s = s0 + A x and x = A^T p. With P the law of one contact
(p_n >= 0, and |p_T| <= mu p_n), Coulomb's law is p = P(p - rho s) for any rho > 0. Each round keeps p and finds the x
with

    F(x) = x - A^T P(p - rho (s0 + A x)) = 0

by Newton's method, whose matrices 1 + rho A^T P' A are never singular for small rho; then p becomes P(p - rho s). With
a large rho few rounds are enough, also where contacts depend on each other: sweeps then shift impulses from contact to
contact by tiny amounts, without end. So rho grows while Newton's method needs few iterations, and shrinks where it
fails. (Alart & Curnier 1991; the proximal form is that of Rockafellar 1976.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans
from jostle.convex.cones import Cones
from jostle.convex.metric import Metric
from jostle.convex.rows import Rows
from jostle.errors import InvalidValue
from jostle.kernels.reference.cones import laws_of_blocks, lengths, parts
from jostle.kernels.reference.dense import TINY
from jostle.solvers.base import Declined, Solver

LEAST_RHO, MOST_RHO = 0.1, 1e9
"""The smallest and the largest rho, in units of the inverse of the local matrix of a contact."""
MOST_ROUND = 12
"""Largest number of Newton iterations of a round."""
WORSE = 2.0
"""A round is given up if its residual exceeds that of the round before by this factor."""
SOLVED = 1e-3
"""A round ends when |F| is this fraction of what it was at its start."""
ROUND_OFF = 1e-13
"""... or this fraction of |x|."""
SHORTEST = 1e-3
"""Shortest part of a Newton step; a round fails if that does not lower |F|."""
MOST_IDLE = 100
"""The method is given up when this number of Newton iterations has not halved the residual of its best round."""
MOST_GROWN = 1e6
"""Multipliers that exceed those of single contacts by this factor grow without end: the contacts lock."""
ORDERING: dict[str, Any] = {
    "permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.01, "options": {"SymmetricMode": True},
}  # fmt: skip
"""The matrices of Newton's method have symmetric patterns: such orderings give factors with a third fewer entries."""
MARGIN = 1.05
"""Answers are a little better than the tolerance asks, so that the stopping test from outside agrees."""
MAX_UNKNOWNS = {1: 20_000, 2: 20_000, 3: 4000}
"""More coordinates than this, by the dimension of space, are left to sweeps: the factors would take minutes."""


@dataclass(frozen=True, kw_only=True)
class AugmentedNewton(Solver):
    """Newton's method for Coulomb's law; `Automatic` uses it where sweeps are slow.

    >>> import jostle as jo
    >>> floor = jo.convex.Cones(axis=[[0.0, 1.0]], mu=[0.5])
    >>> K = jo.convex.Polyhedron([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], cones=floor)
    >>> (AugmentedNewton().project([3.0, -1.0], K).point.round(9) + 0.0).tolist()
    [2.5, 0.0]
    """

    kernels: ClassVar[frozenset[str]] = frozenset()
    takes_cones: ClassVar[bool] = True
    slow: ClassVar[bool] = True

    max_iterations: int = 300
    rho: float = 10.0
    """The first rho, in units of the inverse of the local matrix of a contact; positive."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not LEAST_RHO <= self.rho <= MOST_RHO:
            raise InvalidValue(f"rho must lie between {LEAST_RHO:g} and {MOST_RHO:g}, not {self.rho}")

    def _solve(self, w: Array, K: Rows, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        if K.cones is None or not K.cones.coulomb or not M.diagonal:
            raise Declined("it solves Coulomb's law in a diagonal metric")
        most = MAX_UNKNOWNS[K.cones.axis.shape[1]]
        if len(w) > most:
            raise Declined(f"there are {len(w)} coordinates, more than {most}")
        A = K.G.tocsr().copy()
        A.data = A.data * M.root[A.indices]
        system = _System(A, slack, K.cones, K.equal, _scales(A, K.cones))
        p = np.zeros(len(slack)) if guess is None else guess
        with np.errstate(over="ignore", invalid="ignore"):  # of a contact that locks, impulses grow without end
            p, iterations = self._rounds(system, K, system.law(p)[0])
        return w + M.unwhiten(A.T @ p), p, iterations

    def _rounds(self, system: _System, K: Rows, p: Array) -> tuple[Array, int]:
        """The multipliers of the best round, and the number of Newton iterations."""
        rho, used, x = self.rho, 0, system.A.T @ p
        best, least = p, system.quality(p, K, self.tol)
        last, most = least, MOST_GROWN * float(np.abs(system.scale * system.s0).max(initial=0.0))
        halved, since = least, 0
        while used < min(self.max_iterations, since + MOST_IDLE) and least > 1.0:
            found = system.newton(p, x, rho, self.max_iterations - used)
            used += max(found.iterations, 1)
            quality = system.quality(found.p, K, self.tol) if found.solved else np.inf
            if not quality <= WORSE * last:
                rho /= 4.0
                if rho < LEAST_RHO:
                    break
                continue
            p, x, last = found.p, system.A.T @ found.p, quality
            if np.abs(p).max() > most:
                break
            if quality < least:
                best, least = p, quality
            if least <= 0.5 * halved:
                halved, since = least, used
            rho = min(MOST_RHO, rho * (4.0 if found.iterations <= 4 else 2.0 if found.iterations <= 7 else 1.0))
        return best, used


class _Found(NamedTuple):
    """The end of a round."""

    p: Array
    iterations: int
    solved: bool


class _System(NamedTuple):
    """The projection in coordinates where the metric is Euclidean."""

    A: Any
    s0: Array
    cones: Cones
    equal: Booleans | None
    scale: Array
    """(rows,) the inverse of what rho is measured in."""

    def law(self, q: Array) -> tuple[Array, Any]:
        """P(q) and its parts, by which `slope` finds P'(q)."""
        cones = self.cones
        normal, tangent, spin = parts(cones.blocks_of(q), cones.axis)
        a = np.maximum(normal, 0.0)
        t, r = lengths(tangent), lengths(spin)
        f, g = (
            np.where(size <= by * a, 1.0, by * a / np.where(size > by * a, size, 1.0))
            for by, size in ((cones.mu, t), (cones.resistance, r))
        )
        p = q.copy()
        blocks = np.concatenate([a[:, None] * cones.axis + f[:, None] * tangent, g[:, None] * spin], axis=1)
        p[: cones.rows] = blocks.ravel()
        rest = q[cones.rows :]
        free = np.zeros(len(rest), dtype=bool) if self.equal is None else self.equal[cones.rows :]
        p[cones.rows :] = np.where(free, rest, np.maximum(rest, 0.0))
        return p, (a, tangent, t, f, spin, r, g, free | (rest > 0.0))

    def slope(self, known: Any) -> Any:
        """P'(q) as a sparse matrix."""
        from scipy.sparse import block_diag, bsr_array, csr_array, diags_array

        a, tangent, t, f, spin, r, g, rest = known
        axis, b = self.cones.axis, len(a)
        (d, e), there = (axis.shape[1], self.cones.height), a > 0.0
        D, nn = np.zeros((b, e, e)), axis[:, :, None] * axis[:, None, :]
        D[:, :d, :d] = nn
        for vectors, sizes, factor, by, first, whole in (
            (tangent, t, f, self.cones.mu, 0, np.eye(d) - nn),
            (spin, r, g, self.cones.resistance, d, np.broadcast_to(np.eye(e - d), (b, e - d, e - d))),
        ):
            slides, last = factor < 1.0, first + vectors.shape[1]
            along = np.where(slides[:, None], vectors / np.maximum(sizes, TINY)[:, None], 0.0)
            D[:, first:last, first:last] += factor[:, None, None] * (whole - along[:, :, None] * along[:, None, :])
            D[:, first:last, :d] += np.where(slides, by, 0.0)[:, None, None] * along[:, :, None] * axis[:, None, :]
        D[~there] = 0.0
        blocks = csr_array(bsr_array((D, np.arange(b), np.arange(b + 1)), shape=(b * e, b * e)))
        return blocks if len(rest) == 0 else csr_array(block_diag([blocks, diags_array(rest.astype(float))]))

    def newton(self, p: Array, x: Array, rho: float, most: int) -> _Found:
        """Newton's method for F(x) = 0 at fixed p and rho."""
        by = rho * self.scale

        def F(x: Array) -> tuple[Array, Array, Any]:
            q, known = self.law(p - by * (self.s0 + self.A @ x))
            return x - self.A.T @ q, q, known

        rest, q, known = F(x)
        size = first = float(np.linalg.norm(rest))
        goal, iterations = max(SOLVED * first, ROUND_OFF * float(np.linalg.norm(x))), 0
        while size > goal:
            if iterations >= min(MOST_ROUND, most):
                return _Found(q, iterations, size < 0.5 * first)
            iterations += 1
            try:
                way, part = self._step(known, by, rest), 1.0
            except RuntimeError:  # the matrix is singular
                return _Found(q, iterations, size < 0.5 * first)
            while True:
                tried = F(x - part * way)
                now = float(np.linalg.norm(tried[0]))
                if now <= (1.0 - SHORTEST * part) * size:
                    break
                part /= 2.0
                if part < SHORTEST or not np.isfinite(now):
                    return _Found(q, iterations, size < 0.5 * first)
            x, (rest, q, known), size = x - part * way, tried, now
        return _Found(q, iterations, True)

    def _step(self, known: Any, by: Array, rest: Array) -> Array:
        """(1 + rho A^T P' A)^-1 F."""
        from scipy.sparse import csc_array, eye_array
        from scipy.sparse.linalg import splu

        scaled = self.A.copy()
        scaled.data = scaled.data * np.repeat(by, np.diff(scaled.indptr))
        J = self.A.T @ (self.slope(known) @ scaled)
        factors = splu(csc_array(J + eye_array(J.shape[0])), **ORDERING)
        return np.asarray(factors.solve(rest))

    def quality(self, p: Array, K: Rows, tol: float) -> float:
        """The worst of violation and complementarity, in units of what is allowed: solved if it is at most one."""
        x = self.A.T @ p
        s, cones, size = self.s0 + self.A @ x, self.cones, float(x @ x)
        blocks, quiet = (cones.blocks_of(s), cones.blocks_of(p)), lengths(cones.blocks_of(K.noise))
        margin, lack = laws_of_blocks(*blocks, cones.axis, cones.mu, cones.resistance, cones.coulomb, quiet)
        rest, mine = s[cones.rows :], p[cones.rows :]
        below = -rest if self.equal is None else np.where(self.equal[cones.rows :], np.abs(rest), -rest)
        length = np.append(K.length[: cones.rows : cones.height], K.length[cones.rows :])
        noise = np.append(K.noise[: cones.rows : cones.height], K.noise[cones.rows :])
        far = np.append(-margin, below)
        unit = np.where(length > 0.0, length, np.sqrt(size)) * tol + noise + TINY
        product = float(lack.sum() + np.abs(mine * rest).sum())
        return MARGIN * max(float((far / unit).max(initial=0.0)), product / (tol * size + TINY))


def _scales(A: Any, cones: Cones) -> Array:
    """(rows,) the inverse of the mean diagonal of the local matrix of each block, and of the square of other rows."""
    squares = np.asarray(A.multiply(A).sum(axis=1)).ravel()
    each = squares.copy()
    each[: cones.rows] = np.repeat(cones.blocks_of(squares).mean(axis=1), cones.height)
    return np.asarray(1.0 / np.maximum(each, TINY))
