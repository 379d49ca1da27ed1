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
FINER, REFINEMENTS = 32.0, 10
"""Without a length the step begins large and is divided by this, at most so many times,"""
SETTLED = 1e-8
"""until no gradient changes by more than this part of it."""
ROUND_OFF = 8 * float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)
AGREEMENT = 1e-5
"""A given gradient may differ from the differenced one by so much, relative to its size."""


class UserSet(ConstraintSet):
    """{q : g(t, q) >= 0}; made by `constraints`."""

    def __init__(self, g: Gap, gradient: Gap | None, convex: bool | None, moving: bool | None, length: float | None):
        self.g, self.gradient, self.length = g, gradient, length
        self.convex_gaps, self.moving = convex, moving
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
            gap,
            Dense(G),
            np.stack([np.full_like(rows, -1), rows], axis=1),
            numbers=len(gap),
            length=self.length,
            describe=lambda row: f"constraint {row} of {self.name}",
            at=q,
        )

    def gaps(self, t: float, q: Array) -> Array:
        return np.asarray(self.g(t, q), dtype=float).ravel()

    def _differenced(self, t: float, q: Array, gap: Array) -> Array:
        """dg/dq by central differences; without a length, the step is refined until it does not matter any more."""
        scale = max(np.abs(q).max(initial=0.0), np.abs(gap).max(initial=0.0)) or 1.0
        step = STEP * (self.length or scale)
        G = self._central(t, q, step, len(gap))
        if self.length is not None:
            return G
        coarse, best = G, np.full(len(gap), np.inf)
        for _ in range(REFINEMENTS):
            step /= FINER
            fine = self._central(t, q, step, len(gap))
            with np.errstate(invalid="ignore", over="ignore"):
                size = np.maximum(np.abs(fine).max(axis=1, initial=0.0), np.abs(coarse).max(axis=1, initial=0.0))
                change = np.abs(fine - coarse).max(axis=1, initial=0.0) / np.maximum(size, TINY)
                noise = ROUND_OFF * (np.abs(gap) / np.maximum(size, TINY) + np.abs(q).max(initial=0.0)) / step
            # Where the change is round-off of the finer step, the coarser one was the better.
            chosen = np.where((change <= noise)[:, None], coarse, fine)
            G = np.where((change < best)[:, None], chosen, G)
            best = np.where(change <= noise, 0.0, np.fmin(best, change))
            coarse = fine
            if (best <= SETTLED).all():
                break
        return G

    def _central(self, t: float, q: Array, step: float, rows: int) -> Array:
        flat = q.ravel()
        G = np.empty((rows, flat.size))
        for k in range(flat.size):
            ahead, behind = flat.copy(), flat.copy()
            ahead[k] += step
            behind[k] -= step
            rise = self.gaps(t, ahead.reshape(q.shape)) - self.gaps(t, behind.reshape(q.shape))
            G[:, k] = rise / (ahead[k] - behind[k]) if ahead[k] > behind[k] else np.nan
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
    *,
    gradient: Gap | None = None,
    convex: bool | None = None,
    moving: bool | None = None,
    length: float | None = None,
) -> Callable[[Gap], UserSet]: ...


def constraints(
    g: Gap | None = None,
    /,
    *,
    gradient: Gap | None = None,
    convex: bool | None = None,
    moving: bool | None = None,
    length: float | None = None,
) -> UserSet | Callable[[Gap], UserSet]:
    """Turn g(t, q), every entry of which stays >= 0, into an admissible set.

    `gradient(t, q)` returns dg/dq, shape (m, *q.shape); it is checked once against differences. Without it
    g is differenced. `convex` says whether each entry is convex in q (the linearised schemes then keep
    the guarantee that q stays in Q; if it is not known, they check each step), `moving` whether g depends on t
    (likewise checked by the schemes that cannot have it). `length` is the length that violations are compared with, a
    radius, say; it is also the scale of the differences, which otherwise has to be searched for.

    >>> import jostle as jo
    >>> @jo.constraints
    ... def disc(t, q):
    ...     return [np.linalg.norm(q) - 1.0]
    >>> disc.nearest([0.0, 0.5]).point.round(9).tolist()
    [0.0, 1.0]
    """
    if g is None:
        return lambda function: UserSet(function, gradient, convex, moving, length)
    return UserSet(g, gradient, convex, moving, length)
