"""Sets that act on each body alone: half-space, box, outside and inside of a ball, segments.

A configuration q is one body, shape (d,), or n of them, shape (n, d). With `radii` the bodies are balls and
gaps are measured from their surfaces. Centres, offsets and radii may be functions of time.

All gaps are convex in q, as the linearised schemes ask, but for `Inside`: the gap R - |q| is concave.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Integers, InTime, at, frozen
from jostle.convex.maps import Dense, LinearMap, Pairs
from jostle.errors import InvalidValue, NotFinite, UndefinedGradient
from jostle.sets.base import ConstraintSet, Contacts


class Walls(ConstraintSet):
    """k walls for each of n bodies. A new kind of wall defines `_distances`."""

    convex_gaps = True
    dimension: int
    names: tuple[str, ...]
    own_length: float | None = None

    def __init__(self, radii: InTime, *in_time: InTime):
        self.radii = frozen(radii)
        self.moving = any(callable(value) for value in (radii, *in_time))
        self._maps: dict[int, LinearMap] = {}

    def _distances(self, t: float, x: Array) -> tuple[Array, Array, Array]:
        """Of n points (n, d): gaps (n, k), their gradients (n, k, d), and `Contacts.bend` (n, k)."""
        raise NotImplementedError

    def linearise(self, t: float, q: Array, reach: float = np.inf) -> Contacts:
        d = self.dimension
        if q.size % d or (q.ndim > 1 and q.shape[-1] != d):
            raise InvalidValue(f"{type(self).__name__} lives in dimension {d}; q has shape {q.shape}")
        x = q.reshape(-1, d)
        gap, gradient, bend = self._distances(t, x)
        n, k = gap.shape
        radii = at(self.radii, t)
        length = self.own_length
        if radii.ndim or radii:
            radii = body_radii(radii, n, t, allow_zero=True)
            gap = gap - radii[:, None]
            smallest = float(radii.min(initial=np.inf))
            if 0.0 < smallest < np.inf:
                length = smallest if length is None else min(length, smallest)
        pairs = body_wall_pairs(n, k)
        G = self._maps.get(n) if self.flat else None
        if G is None:
            G = Dense(gradient[0]) if n == 1 else Pairs(pairs[:, 0], pairs[:, 1], -gradient.reshape(n * k, d), n)
            if self.flat:
                self._maps[n] = G
        gap, bend, near = gap.ravel(), bend.ravel(), np.inf
        if n > 1 and reach < np.inf:
            rows = np.flatnonzero(gap <= reach)
            gap, bend, G, pairs, near = gap[rows], bend[rows], G.rows(rows), pairs[rows], reach

        def describe(row: int) -> str:
            body, wall = pairs[row]
            return f"body {body} and {self.names[-1 - wall]}"

        return Contacts(gap, G, pairs, length, near, describe, k, q, bend, n)


@lru_cache(maxsize=64)
def body_wall_pairs(n: int, k: int) -> Integers:
    """(n k, 2): (body, -1 - wall), body by body."""
    pairs = np.empty((n, k, 2), dtype=np.int64)
    pairs[:, :, 0] = np.arange(n)[:, None]
    pairs[:, :, 1] = -1 - np.arange(k)
    pairs.setflags(write=False)
    return pairs.reshape(n * k, 2)


def body_radii(radii: Array, n: int, t: float, allow_zero: bool = False) -> Array:
    """The radii of n bodies at time t, checked."""
    if radii.ndim > 1 or radii.size not in (1, n):
        raise InvalidValue(f"radii have shape {radii.shape}, there are {n} bodies")
    spread = np.broadcast_to(radii.ravel(), (n,))
    if not np.isfinite(spread).all():
        raise NotFinite(f"radius of body {int(np.argmin(np.isfinite(spread)))} is not finite at t = {t:g}")
    if n and (spread.min() < 0 or (spread.min() == 0 and not allow_zero)):
        body = int(np.argmin(spread))
        raise InvalidValue(f"radius of body {body} is {spread[body]:g} at t = {t:g}; it must be positive")
    return spread


class HalfSpace(Walls):
    """{q : normal . q >= offset}: a floor, a wall, a moving or turning plane.

    >>> HalfSpace(normal=[0, 1]).gap(0.0, [3.0, 2.0])
    2.0
    >>> table = HalfSpace(normal=[1.0], offset=lambda t: 0.1 * np.sin(t))
    >>> table.moving
    True
    """

    def __init__(self, normal: InTime, offset: InTime = 0.0, *, radii: InTime = 0.0):
        super().__init__(radii, normal, offset)
        self.normal, self.offset = frozen(normal), frozen(offset)
        self.dimension = at(normal, 0.0).size
        self.names = (f"plane {self._words()}",)
        self.flat = not callable(normal)
        self._unit = self._normal(0.0) if self.flat else None

    def _words(self) -> str:
        where = "moving" if self.moving else f"at offset {self.offset:g}"
        return f"with normal {'turning' if callable(self.normal) else self.normal.tolist()}, {where}"

    def _normal(self, t: float) -> tuple[Array, float]:
        normal = at(self.normal, t).ravel()
        size = float(np.linalg.norm(normal))
        if not 0.0 < size < np.inf:
            raise UndefinedGradient(f"the normal of a half-space is {normal.tolist()} at t = {t:g}")
        return (normal / size)[None, None, :], size

    def _distances(self, t: float, x: Array) -> tuple[Array, Array, Array]:
        unit, size = self._unit or self._normal(t)
        gap = (x @ unit[0, 0] - at(self.offset, t) / size)[:, None]
        return gap, unit if len(x) == 1 else np.repeat(unit, len(x), axis=0), np.zeros(gap.shape)


class Box(Walls):
    """{q : lower <= q <= upper}; infinite entries are no wall.

    >>> Box(lower=[0, 0], upper=[2, np.inf]).gap(0.0, [0.5, 9.0])
    0.5
    """

    flat = True

    def __init__(self, lower: InTime, upper: InTime, *, radii: InTime = 0.0):
        super().__init__(radii, lower, upper)
        self.lower, self.upper = frozen(lower), frozen(upper)
        low, high = np.broadcast_arrays(np.atleast_1d(at(lower, 0.0)), np.atleast_1d(at(upper, 0.0)))
        for name, ends in (("lower", low), ("upper", high)):
            if np.isnan(ends).any():
                raise InvalidValue(f"{name} of the box is {ends.tolist()}; use infinity for an open side")
        if (low > high).any():
            raise InvalidValue(f"box is empty: lower {low.tolist()} exceeds upper {high.tolist()}")
        self.dimension = low.size
        self._low, self._high = np.flatnonzero(low > -np.inf), np.flatnonzero(high < np.inf)
        width = float((high - low).min(initial=np.inf))
        self.own_length = width if 0.0 < width < np.inf else None
        identity = np.eye(self.dimension)
        self._gradient = np.concatenate([identity[self._low], -identity[self._high]])[None]
        self.names = tuple(f"wall q[{a}] >= lower" for a in self._low) + tuple(
            f"wall q[{a}] <= upper" for a in self._high
        )

    def _distances(self, t: float, x: Array) -> tuple[Array, Array, Array]:
        below, above = (x - at(self.lower, t))[:, self._low], (at(self.upper, t) - x)[:, self._high]
        gap = np.concatenate([below, above], axis=1)
        return gap, np.repeat(self._gradient, len(x), axis=0), np.zeros(gap.shape)


class Outside(Walls):
    """{q : |q - centre_k| >= radius_k}: round obstacles; centre (d,) or (k, d).

    >>> Outside(centre=[[0.0, 0.0], [5.0, 0.0]], radius=1.0).gap(0.0, [2.0, 0.0])
    1.0
    """

    sign = 1.0
    kind = "obstacle"

    def __init__(self, centre: InTime, radius: InTime, *, radii: InTime = 0.0):
        super().__init__(radii, centre, radius)
        self.centre, self.radius = frozen(centre), frozen(radius)
        centres = np.atleast_2d(at(centre, 0.0))
        self.dimension = centres.shape[1]
        size = np.broadcast_to(at(radius, 0.0), (len(centres),))
        if not (size >= 0).all():
            raise InvalidValue(f"radius must not be negative: {size.tolist()}")
        self.own_length = float(size.min()) or None
        self.names = tuple(f"{self.kind} {k}" for k in range(len(centres)))

    def _distances(self, t: float, x: Array) -> tuple[Array, Array, Array]:
        apart = x[:, None, :] - np.atleast_2d(at(self.centre, t))
        distance = np.sqrt(np.einsum("nkd,nkd->nk", apart, apart))
        radius = at(self.radius, t)
        if not radius.min(initial=0.0) >= 0.0:
            k = int(np.argmin(np.broadcast_to(radius, (len(self.names),))))
            raise InvalidValue(f"radius of {self.names[k]} is {radius.min():g} at t = {t:g}; it must not be negative")
        gap = self.sign * (distance - radius)
        if not distance.all():
            body, k = (int(index) for index in np.argwhere(distance == 0.0)[0])
            if gap[body, k] <= 0.0:
                raise UndefinedGradient(
                    f"body {body} sits exactly on the centre of {self.names[k]}; the distance has no "
                    f"gradient there: move it off the centre"
                )
            distance = np.where(distance == 0.0, 1.0, distance)
        return gap, self.sign * apart / distance[:, :, None], self.sign / distance


class Inside(Outside):
    """{q : |q - centre_k| <= radius_k}: a bowl, a string. Not for linearised schemes: the gap is concave.

    >>> Inside(centre=[0.0, 0.0], radius=1.0).nearest([3.0, 4.0]).point.round(12).tolist()
    [0.6, 0.8]
    """

    sign = -1.0
    kind = "container"
    convex_gaps = False


class Segments(Walls):
    """{q : dist(q, segment_k) >= 0} for discs: thin straight walls in the plane, ends (k, 2, 2).

    >>> Segments([[[0, 0], [4, 0]]], radii=0.5).gap(0.0, [2.0, 1.5])
    1.0
    """

    def __init__(self, ends: ArrayLike, *, radii: InTime):
        super().__init__(radii)
        self.ends = np.array(ends, dtype=float).reshape(-1, 2, 2)
        self.dimension = 2
        self.names = tuple(f"segment {a.tolist()} to {b.tolist()}" for a, b in self.ends)

    def _distances(self, t: float, x: Array) -> tuple[Array, Array, Array]:
        start, along = self.ends[:, 0], self.ends[:, 1] - self.ends[:, 0]
        offset = x[:, None, :] - start
        square = np.einsum("kd,kd->k", along, along)
        part = np.clip(np.einsum("nkd,kd->nk", offset, along) / np.where(square > 0, square, 1.0), 0.0, 1.0)
        apart = offset - part[:, :, None] * along
        distance = np.sqrt(np.einsum("nkd,nkd->nk", apart, apart))
        if not distance.all():
            body, k = (int(index) for index in np.argwhere(distance == 0.0)[0])
            raise UndefinedGradient(f"the centre of body {body} lies on {self.names[k]}; move it off the wall")
        at_an_end = (part == 0.0) | (part == 1.0)
        return distance, apart / distance[:, :, None], np.where(at_an_end, 1.0 / distance, 0.0)
