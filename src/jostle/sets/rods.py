"""Rods of given lengths between bodies, and between bodies and points: D_k = |q_j - q_i| - L_k = 0.

Chains, pendulums and trusses are made of them. The rows are equalities: a rod pulls as well as it pushes, p > 0 being
compression and p < 0 tension. The schemes that linearise the gaps go along the tangent, and leave the set by O(h^2) in
a step: the length is too large by h^2 |v|^2 / 2 L after a step across the rod at the speed v. The next step takes the
error back, so that it does not grow with time; ``sol.overlap`` is the largest one, over the length of the rod.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Integers, InTime, at, frozen, read_only
from jostle.bodies import Bodies
from jostle.contacts import Contacts, deepest
from jostle.convex.linear_map import Dense, LinearMap, NormalRows
from jostle.errors import InvalidValue, NotFinite, UndefinedGradient
from jostle.sets.base import ConstraintSet
from jostle.solvers.base import MAX_DENSE_ENTRIES


@check_arguments
class Rods(ConstraintSet):
    """Rods of given lengths between bodies, or between bodies and points; q has shape (n, d).

    Chains, pendulums and trusses are made of them. Intersect with `Balls` and walls for bodies that have contacts too.

    Parameters
    ----------
    pairs : array_like of int, shape (m, 2)
        Numbers of the two bodies of each rod; -1 - k in second place stands for point k. Beside `Clumps` they are
        numbers of balls, counted through all clumps, as in ``sol.places(k)``.
    lengths : float, array_like, shape (m,), or callable (t) -> array
        Length of all rods, or of each; positive.
    points : array_like, shape (k, d), or callable (t) -> array, optional
        Points that rods end at. None: all rods are between bodies.

    Examples
    --------
    >>> import jostle as jo
    >>> double = Rods([(0, -1), (0, 1)], lengths=[1.0, 0.5], points=[[0.0, 0.0]])      # body 0 hangs from point 0
    >>> double.linearise(0.0, np.array([[0.0, -1.0], [0.0, -1.6]])).gap.round(12).tolist()
    [0.0, 0.1]
    >>> pendulum = jo.Motion(q0=[[1.0, 0.0]], force=[0.0, -9.81], within=Rods([(0, -1)], 1.0, points=[[0.0, 0.0]]))
    >>> sol = jo.solve(pendulum, jo.Maury(), t=1.0, h=1e-2)
    >>> sol.overlap < 1e-3
    True
    """

    convex_gaps, curved, equalities = False, True, True

    def __init__(self, pairs: Integers, lengths: InTime, *, points: InTime | None = None):
        self.pairs = _pairs(pairs)
        self._last_body = int(self.pairs.max(initial=-1))
        self._numbers = np.arange(len(self.pairs))
        self._rows = read_only(np.stack([np.full_like(self._numbers, -1), self._numbers], axis=1))
        self._between = np.flatnonzero(self.pairs[:, 1] >= 0)
        self.lengths = frozen(lengths)
        self.points = None if points is None else frozen(points)
        self.moving = callable(lengths) or callable(points)
        self._known_lengths = None if callable(lengths) else self._checked_lengths(0.0)
        self._known_points = None if callable(points) else self._checked_points(0.0)

    def __repr__(self) -> str:
        return f"Rods({len(self.pairs)})"

    def for_bodies(self, bodies: Bodies) -> ConstraintSet:
        # The same rods, which name the bodies that their balls belong to.
        if bodies.parts is not None:
            owner = bodies.parts.owner
            own = np.flatnonzero((self.pairs.max(axis=1, initial=0) < len(owner)) & (self.pairs[:, 1] >= 0))
            own = own[owner[self.pairs[own, 0]] == owner[self.pairs[own, 1]]]
            if len(own):
                one, other = self.pairs[own[0]].tolist()
                raise InvalidValue(
                    f"rod {own[0]} joins {bodies.names(one, other)}, which are rigid together: leave it out"
                )
        rods = copy(self)
        rods.bodies = Bodies(parts=bodies.parts, called=bodies.called)
        return rods

    def linearise(self, t: float, q: Array, cutoff: float = np.inf) -> Contacts:
        # The gap and the direction of each rod.
        apart, distance, length = self._measured(t, q)
        if not distance.min(initial=1.0) > 0.0 and np.isfinite(distance).all():
            raise UndefinedGradient(
                f"the ends of {self._describe(int(np.argmin(distance)))} have the same position at t = {t:g}, so that "
                f"its direction is undefined; move one of them"
            )
        normal, (n, d) = apart / distance[:, None], (q.size // apart.shape[1], apart.shape[1])
        return Contacts(
            distance - length,
            self._map(normal, n, d),
            self._rows,
            constraint_count=len(self.pairs),
            length=length,
            describe=self._describe,
            at=q,
            part_count=n,
            equal=np.ones(len(self.pairs), dtype=np.bool_),
        )

    def gaps(self, t: float, q: Array) -> Array:
        # By how much each rod is too long.
        _, distance, length = self._measured(t, q)
        return distance - length

    def overlap(self, t: float, q: Array) -> float:
        # The largest error of a length, as a fraction of the length.
        _, distance, length = self._measured(t, q)
        return deepest(-np.abs(distance - length), length)

    def _measured(self, t: float, q: Array) -> tuple[Array, Array, Array]:
        """(m, d) from the first end of each rod to the second, (m,) their distances, (m,) the lengths of the rods."""
        points, (i, j) = self._points(t), self.pairs.T
        if q.ndim == 2:
            x = q
        elif points is None or q.size % points.shape[1]:
            raise InvalidValue(f"rods need one position for each body, q of shape (n, d); q has shape {q.shape}")
        else:
            x = q.reshape(-1, points.shape[1])
        if self._last_body >= len(x):
            kind = "body" if self.bodies.parts is None else "ball"
            raise InvalidValue(
                f"a rod names {kind} {self._last_body}, and there are {len(x)}, numbered from 0 to {len(x) - 1}"
            )
        if points is None:
            end = x[j]
        elif points.shape[1] != x.shape[1]:
            raise InvalidValue(f"the points live in dimension {points.shape[1]}, the bodies in dimension {x.shape[1]}")
        else:
            end = np.concatenate([x, points[::-1]])[j]  # point k is the (k + 1)-th from the end
        apart = end - x[i]
        return apart, np.sqrt(np.einsum("md,md->m", apart, apart)), self._lengths(t)

    def _map(self, normal: Array, n: int, d: int) -> LinearMap:
        """normal . (u_j - u_i), without the second term where the end is a point."""
        if len(normal) * n * d <= MAX_DENSE_ENTRIES:
            (i, j), bodies, G = self.pairs.T, self._between, np.zeros((len(normal), n, d))
            G[self._numbers, i] = -normal
            G[bodies, j[bodies]] = normal[bodies]
            return Dense(G.reshape(len(normal), n * d))
        i, j = self.pairs.T
        return NormalRows(i, j, normal, n, touching=False)

    def _lengths(self, t: float) -> Array:
        return self._checked_lengths(t) if self._known_lengths is None else self._known_lengths

    def _points(self, t: float) -> Array | None:
        return self._checked_points(t) if callable(self.points) else self._known_points

    def _checked_lengths(self, t: float) -> Array:
        length = at(self.lengths, t)
        if length.ndim > 1 or length.size not in (1, len(self.pairs)):
            raise InvalidValue(f"there are {len(self.pairs)} rods and lengths of shape {length.shape}")
        if not np.isfinite(length).all():
            raise NotFinite(f"lengths[{int(np.argmin(np.isfinite(length.ravel())))}] is not finite at t = {t:g}")
        if length.min(initial=1.0) <= 0.0:
            row = int(np.argmin(length))
            raise InvalidValue(f"lengths[{row}] is {length.ravel()[row]:g} at t = {t:g}; it must be positive")
        return np.broadcast_to(length.ravel(), (len(self.pairs),))

    def _checked_points(self, t: float) -> Array | None:
        last = -1 - int(self.pairs.min(initial=0))
        if self.points is None:
            if last >= 0:
                raise InvalidValue(f"a rod ends at point {last}, and there are no points; give points=")
            return None
        points = at(self.points, t)
        if points.ndim != 2 or len(points) <= last:
            raise InvalidValue(f"points must have shape (k, d), with k > {last}, not {points.shape}")
        if not np.isfinite(points).all():
            raise NotFinite(f"point {int(np.argmin(np.isfinite(points).all(axis=1)))} is not finite at t = {t:g}")
        return points

    def _describe(self, row: int) -> str:
        i, j = self.pairs[row].tolist()
        ends = self.bodies.names(i, j) if j >= 0 else f"{self.bodies.name(i)} and point {-1 - j}"
        return f"rod {row} between {ends}"


def _pairs(pairs: ArrayLike) -> Integers:
    given = np.array(pairs)
    if given.size == 0:
        given = np.zeros((0, 2), dtype=np.int64)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise InvalidValue(
            f"pairs must be two whole numbers for each rod, shape (m, 2), not {given.dtype} of {given.shape}"
        )
    wrong = np.flatnonzero((given[:, 0] < 0) | (given[:, 0] == given[:, 1]))
    if len(wrong):
        raise InvalidValue(
            f"rod {wrong[0]} is between {given[wrong[0]].tolist()}: the first must be a body, 0 or larger, and the "
            f"second another body, or -1 - k for point k"
        )
    return read_only(given.astype(np.int64))
