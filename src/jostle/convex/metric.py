"""The kinetic metric <u, v>_M = u^T M v of a mass.

Moreau's law, and each projection of Bernicot & Lefebvre-Lepot 2010 (remark 4.1) and of
Paoli 2010 (7), use this product instead of the Euclidean one. A mass is a number, one number
per body, one per coordinate, or a symmetric positive definite matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import Array, dot, finite
from jostle.errors import InvalidValue

SYMMETRY = 1e-12
"""Largest |M - M^T| / |M| that still counts as round-off."""

SINGULAR = 16 * float(np.finfo(float).eps)
"""A pivot of M, scaled to ones on its diagonal, below this times its size is a zero that round-off hides."""
MAX_MASS_RATIO = 1.0 / float(np.finfo(float).eps)
"""Largest ratio of two masses: beyond it, the lighter one vanishes in a sum with the heavier one."""


@dataclass(frozen=True, eq=False, slots=True)
class Metric:
    """The inner product <u, v>_M of a mass on flat vectors.

    Attributes
    ----------
    mass : array, shape (N,) or (N, N)
        A diagonal, or a symmetric positive definite matrix.
    root : array, shape (N,) or (N, N)
        For a diagonal 1 / sqrt(mass); for a matrix the inverse of the lower Cholesky factor.
    ratio : float
        The largest mass over the smallest one, on the diagonal of a matrix; moments of inertia do not count.
    diagonal : bool
        True if the mass is a diagonal.

    Examples
    --------
    >>> M = metric([1.0, 4.0], shape=(2,))
    >>> float(M.norm(np.array([3.0, 2.0])))
    5.0
    """

    mass: Array
    root: Array
    ratio: float = 0.0
    diagonal: bool = field(init=False, repr=False)
    _inverse: dict[int, Array | None] = field(default_factory=dict, init=False, repr=False)
    """What `of_bodies` returned, by the number of bodies; `inverse_diagonal` has the number 0."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "diagonal", self.mass.ndim < 2)
        if not self.ratio:
            each = self.mass if self.diagonal else self.mass.diagonal()
            object.__setattr__(self, "ratio", float(each.max()) / float(each.min()) if len(each) else 1.0)

    @property
    def lightest(self) -> float:
        """Smallest eigenvalue of M."""
        return float(self.mass.min()) if self.diagonal else float(np.linalg.eigvalsh(self.mass)[0])

    def times(self, v: Array) -> Array:
        """M v, for a vector v of shape (N,)."""
        return self.mass * v if self.diagonal else self.mass @ v

    def solve(self, v: Array) -> Array:
        """M^-1 v, for a vector v of shape (N,)."""
        return v / self.mass if self.diagonal else self.root.T @ (self.root @ v)

    def inner(self, u: Array, v: Array) -> float:
        """The inner product <u, v>_M of two vectors of shape (N,)."""
        return float(dot(u, self.times(v)))

    def norm(self, v: Array) -> float:
        """The norm |v|_M of a vector of shape (N,)."""
        return float(np.sqrt(max(self.inner(v, v), 0.0)))

    def whiten(self, rows: Array) -> Array:
        """The rows in Euclidean coordinates x of v, |v|_M = |x|: whiten(rows) @ x is rows @ v."""
        return rows * self.root if self.diagonal else rows @ self.root.T

    def unwhiten(self, x: Array) -> Array:
        """The vector v whose Euclidean coordinates are x: |v|_M = |x|."""
        return self.root * x if self.diagonal else self.root.T @ x

    @property
    def inverse_diagonal(self) -> Array:
        """(N,): the diagonal of M^-1, for diagonal metrics only."""
        known = self._inverse.get(0)
        if known is None:
            known = self._inverse[0] = self.root * self.root
        return known

    def of_bodies(self, bodies: int) -> Array | None:
        """(bodies,) one inverse mass for each body; None if the mass is a matrix, or differs within a body."""
        if bodies not in self._inverse:
            mass = self.mass.reshape(bodies, -1) if self.diagonal else None
            alike = mass is not None and bool((mass == mass[:, :1]).all())
            self._inverse[bodies] = self.inverse_diagonal.reshape(bodies, -1)[:, 0].copy() if alike else None
        return self._inverse[bodies]


def of_masses(mass: ArrayLike | Metric, shape: tuple[int, ...]) -> Metric:
    """The metric of the masses of bodies; masses that round-off would make vanish beside others are refused."""
    M = metric(mass, shape)
    if M.ratio > MAX_MASS_RATIO:
        each = M.mass if M.diagonal else M.mass.diagonal()
        raise InvalidValue(
            f"masses from {each.min():.3g} to {each.max():.3g} differ so much that round-off hides how light bodies "
            f"move: use a ratio below {MAX_MASS_RATIO:.1g}, or walls in place of heavy bodies"
        )
    return M


def metric(mass: ArrayLike | Metric, shape: tuple[int, ...]) -> Metric:
    """The metric of a mass, for configurations of the given shape.

    A number, one mass per body (the first axis of shape), one per coordinate, or a full
    symmetric positive definite matrix on the flat coordinates.
    """
    size = math.prod(shape)
    if isinstance(mass, Metric):
        if len(mass.root) != size:
            raise InvalidValue(f"mass is a metric of {len(mass.root)} coordinates, q of shape {shape} has {size}")
        return mass
    M = finite(mass, "mass")
    if M.ndim == 0:
        return _diagonal(np.full(size, M))
    if shape and M.shape == shape[:1]:
        per_coordinate = np.broadcast_to(M.reshape(-1, *[1] * (len(shape) - 1)), shape)
        return _diagonal(per_coordinate.ravel())
    if M.shape == shape:
        return _diagonal(M.ravel())
    if M.shape == (size, size):
        return _matrix(M)
    raise InvalidValue(
        f"mass has shape {M.shape}; for q of shape {shape} give a number, {shape[:1]} (one per "
        f"body), {shape} (one per coordinate) or ({size}, {size}) (a symmetric matrix)"
    )


def _diagonal(m: Array) -> Metric:
    if m.size and m.min() <= 0:
        raise InvalidValue(f"mass must be positive; entry {int(np.argmin(m))} is {m.min():g}")
    return Metric(m, 1.0 / np.sqrt(m))


def _matrix(M: Array) -> Metric:
    skew = np.abs(M - M.T).max()
    if skew > SYMMETRY * np.abs(M).max():
        raise InvalidValue(f"mass matrix is not symmetric: |M - M^T| = {skew:.3g}")
    size = np.sqrt(np.maximum(M.diagonal(), 0.0))
    definite = bool((size > 0.0).all())
    if definite:
        try:
            pivots = np.linalg.cholesky(M / np.outer(size, size)).diagonal()
            definite = bool(pivots.min(initial=1.0) ** 2 > SINGULAR * len(M))
            lower = np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            definite = False
    if not definite:
        lowest = np.linalg.eigvalsh(M)[0]
        raise InvalidValue(f"mass matrix is not positive definite: its smallest eigenvalue is {lowest:.3g}")
    return Metric(M, np.linalg.inv(lower))
