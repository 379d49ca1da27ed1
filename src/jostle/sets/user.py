"""`@constraints`: Q(t) = {q : g(t, q) >= 0} for a g that the user writes in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array
from jostle.convex.maps import Dense
from jostle.errors import InvalidValue, NotFinite, UndefinedGradient
from jostle.sets.base import ConstraintSet, Contacts

Gap = Callable[[float, Array], ArrayLike]
STEP = float(np.cbrt(np.finfo(float).eps))
"""Relative step of the central differences."""
AGREEMENT = 1e-5
"""A given gradient may differ from the differenced one by so much, relative to its size."""


class UserSet(ConstraintSet):
    """{q : g(t, q) >= 0}; made by `constraints`."""

    moving = None

    def __init__(self, g: Gap, gradient: Gap | None, convex: bool | None, length: float | None):
        self.g, self.gradient, self.length = g, gradient, length
        self.convex_gaps = convex
        self.name = getattr(g, "__name__", "constraints")
        self.__doc__ = g.__doc__
        self._checked = gradient is None

    def __call__(self, t: float, q: ArrayLike) -> Array:
        """g(t, q), as the user wrote it."""
        return self.gaps(t, np.asarray(q, dtype=float))

    def linearise(self, t: float, q: Array, reach: float = np.inf) -> Contacts:
        gap = self.gaps(t, q)
        if not np.isfinite(gap).all():
            row = int(np.argmin(np.isfinite(gap)))
            raise NotFinite(f"constraint {row} of {self.name} is {gap[row]} at t = {t:g}, q = {q.tolist()}")
        G = self._differenced(t, q, gap) if self.gradient is None else self._given(t, q, gap)
        size = np.abs(G).max(axis=1, initial=0.0)
        bad = np.flatnonzero(~(np.isfinite(size) & (size > 0)) & (gap <= 0.0))
        if len(bad):
            raise UndefinedGradient(
                f"constraint {bad[0]} of {self.name} is active (g = {gap[bad[0]]:.3g}) at t = {t:g}, "
                f"q = {q.tolist()}, but its gradient is {G[bad[0]].tolist()}: it gives no direction to push"
            )
        if not np.isfinite(size).all():
            G = np.where(np.isfinite(size)[:, None], G, 0.0)
        rows = np.arange(len(gap))
        return Contacts(
            gap, Dense(G), np.stack([np.full_like(rows, -1), rows], axis=1), self.length,
            describe=lambda row: f"constraint {row} of {self.name}", numbers=len(gap),
        )  # fmt: skip

    def gaps(self, t: float, q: Array) -> Array:
        return np.asarray(self.g(t, q), dtype=float).ravel()

    def _differenced(self, t: float, q: Array, gap: Array) -> Array:
        flat = q.ravel()
        scale = max(self.length or 0.0, np.abs(flat).max(initial=0.0), np.abs(gap).max(initial=0.0)) or 1.0
        G = np.empty((len(gap), flat.size))
        for k in range(flat.size):
            step = STEP * max(scale, abs(flat[k]))
            ahead, behind = flat.copy(), flat.copy()
            ahead[k] += step
            behind[k] -= step
            rise = self.gaps(t, ahead.reshape(q.shape)) - self.gaps(t, behind.reshape(q.shape))
            G[:, k] = rise / (ahead[k] - behind[k])
        return G

    def _given(self, t: float, q: Array, gap: Array) -> Array:
        assert self.gradient is not None
        G = np.asarray(self.gradient(t, q), dtype=float)
        if G.size != len(gap) * q.size:
            raise InvalidValue(f"the gradient of {self.name} has shape {G.shape}; expected {(len(gap), *q.shape)}")
        G = G.reshape(len(gap), q.size)
        if not self._checked:
            self._compare(G, self._differenced(t, q, gap))
            self._checked = True
        return G

    def _compare(self, given: Array, differenced: Array) -> None:
        error = np.abs(given - differenced)
        size = np.abs(differenced).max(axis=1, keepdims=True, initial=0.0) + np.abs(given)
        if (error > AGREEMENT * size).any():
            row, k = (int(index) for index in np.argwhere(error > AGREEMENT * size)[0])
            raise InvalidValue(
                f"the gradient of constraint {row} of {self.name} is wrong: d/dq[{k}] is given as "
                f"{given[row, k]:.6g}, differences give {differenced[row, k]:.6g}"
            )


@overload
def constraints(g: Gap, /) -> UserSet: ...
@overload
def constraints(
    *, gradient: Gap | None = None, convex: bool | None = None, length: float | None = None
) -> Callable[[Gap], UserSet]: ...


def constraints(
    g: Gap | None = None,
    /,
    *,
    gradient: Gap | None = None,
    convex: bool | None = None,
    length: float | None = None,
) -> UserSet | Callable[[Gap], UserSet]:
    """Turn g(t, q), every entry of which stays >= 0, into an admissible set.

    `gradient(t, q)` returns dg/dq, shape (m, *q.shape); it is checked once against differences. Without it
    g is differenced. `convex` says whether each entry is convex in q (the linearised schemes then keep
    the guarantee that q stays in Q; if it is not known, they check each step). `length` is the length that
    violations are compared with.

    >>> import jostle as jo
    >>> @jo.constraints
    ... def disc(t, q):
    ...     return [np.linalg.norm(q) - 1.0]
    >>> disc.nearest([0.0, 0.5]).point.round(9).tolist()
    [0.0, 1.0]
    """
    if g is None:
        return lambda function: UserSet(function, gradient, convex, length)
    return UserSet(g, gradient, convex, length)
