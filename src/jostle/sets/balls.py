"""Balls that do not overlap, D_ij = |q_j - q_i| - (r_i + r_j) >= 0, and balls on a line.

Bernicot & Lefebvre-Lepot 2010, section 4; Venel 2009 (40). The gaps are convex, so their linearised
constraint keeps the balls apart whatever the step. Radii may depend on time: the constraint is taken at
t^{n+1}, which contains the rate r_i' + r_j' that the printed cone of section 4 leaves out.
"""

from __future__ import annotations

import numpy as np

from jostle.arrays import Array, Integers, InTime, at, frozen
from jostle.convex.maps import Dense, LinearMap, Pairs
from jostle.errors import InvalidValue, UndefinedGradient
from jostle.kernels import compiled
from jostle.sets.base import ConstraintSet, Contacts, Free
from jostle.sets.walls import body_radii

FEW = 64
"""Up to so many balls all pairs are looked at."""


class Balls(ConstraintSet):
    """n balls in d dimensions that may touch and never overlap; q has shape (n, d).

    >>> Balls([1.0, 2.0]).gap(0.0, [[0.0, 0.0], [3.0, 4.0]])
    2.0
    """

    convex_gaps = True

    def __init__(self, radii: InTime):
        self.radii = frozen(radii)
        self.moving = callable(radii)

    def linearise(self, t: float, q: Array, reach: float = np.inf) -> Contacts:
        radii = at(self.radii, t)
        n = len(q) if radii.ndim == 0 else len(radii)
        if n == 0 and q.size == 0:
            return Free().linearise(t, q)
        if n == 0 or q.size % n or (q.ndim > 1 and len(q) != n):
            raise InvalidValue(f"there are {n} radii; q has shape {q.shape}, expected ({n}, d)")
        radii = body_radii(radii, n, t)
        x = q.reshape(n, -1)
        i, j, normal, gap = near_pairs(x, radii, reach)
        if not np.isfinite(normal).all() and np.isfinite(x).all():
            c = int(np.argmin(np.isfinite(normal).all(axis=1)))
            raise UndefinedGradient(
                f"balls {i[c]} and {j[c]} have the same centre {x[i[c]].tolist()}; the direction "
                f"between them is undefined: move one of them"
            )
        return Contacts(
            gap, Pairs(i, j, normal, n), np.stack([i, j], axis=1), float(radii.min()), reach,
            describe=lambda row: f"balls {i[row]} and {j[row]}", at=q,
            bend=1.0 / (gap + radii[i] + radii[j]), bodies=n,
        )  # fmt: skip


def near_pairs(x: Array, radii: Array, reach: float) -> tuple[Integers, Integers, Array, Array]:
    """(i, j, normal, gap) of the pairs with gap <= reach, i < j, in order."""
    if len(x) <= FEW or not np.isfinite(reach) or not np.isfinite(x).all():
        i, j, normal, gap = compiled().all_pairs(np.ascontiguousarray(x), np.ascontiguousarray(radii), reach)
        return i, j, normal, gap
    from scipy.spatial import KDTree

    found = KDTree(x).query_pairs(reach + 2.0 * radii.max(), output_type="ndarray")
    found = found[np.lexsort((found[:, 1], found[:, 0]))].astype(np.int64)
    i, j = found[:, 0], found[:, 1]
    apart = x[j] - x[i]
    distance = np.linalg.norm(apart, axis=1)
    gap = distance - radii[i] - radii[j]
    near = gap <= reach
    with np.errstate(invalid="ignore"):
        return i[near], j[near], apart[near] / distance[near, None], gap[near]


class Line(ConstraintSet):
    """Balls on a line that keep their order, q_{i+1} - q_i >= r_i + r_{i+1}, between two walls or none.

    >>> Line([0.5, 0.5, 1.0], lower=-1.0).linearise(0.0, np.array([0.0, 1.0, 3.0])).gap.tolist()
    [0.5, 0.0, 0.5]
    """

    convex_gaps = flat = True

    def __init__(self, radii: InTime, *, lower: float = -np.inf, upper: float = np.inf):
        self.radii = frozen(radii)
        self.moving = callable(radii)
        self.lower, self.upper = lower, upper
        n = at(radii, 0.0).size
        left = np.arange(-1, n)
        right = left + 1
        kept = np.ones(n + 1, dtype=bool)
        kept[0], kept[-1] = lower > -np.inf, upper < np.inf
        if n == 0:
            kept[:] = False
        self._kept = kept
        # A wall is row (body, -1) below the first ball and (body, -2) above the last.
        i = np.where(left < 0, right, left)
        j = np.where(left < 0, -1, np.where(right == n, -2, right))
        normal = np.where(left < 0, -1.0, 1.0)[:, None]
        pairs = Pairs(i[kept], j[kept], normal[kept], n)
        self._G: LinearMap = Dense(pairs.toarray()) if n <= FEW else pairs
        self._pairs = np.stack([pairs.i, pairs.j], axis=1)

    def linearise(self, t: float, q: Array, reach: float = np.inf) -> Contacts:
        radii = at(self.radii, t)
        radii = body_radii(radii, radii.size, t, allow_zero=True)
        if q.size != len(radii):
            raise InvalidValue(f"there are {len(radii)} radii; q has shape {q.shape}")
        x = q.ravel()
        ends = np.concatenate([[self.lower], x + radii]), np.concatenate([x - radii, [self.upper]])
        return Contacts(
            (ends[1] - ends[0])[self._kept], self._G, self._pairs,
            float(radii.min()) if len(radii) and radii.all() else None,
            describe=self._describe, numbers=2, at=q, bend=np.zeros(len(self._pairs)), bodies=len(radii),
        )  # fmt: skip

    def _describe(self, row: int) -> str:
        i, j = self._pairs[row]
        return f"balls {i} and {j}" if j >= 0 else f"ball {i} and the {'lower' if j == -1 else 'upper'} wall"
