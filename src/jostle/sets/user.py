"""`@constraints`, Q(t) = {q : g(t, q) >= 0} or {q : g(t, q) = 0}, for a g that the user writes."""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, floats, numbers, real
from jostle._tools.pickling import by_name, has_name
from jostle.contacts import Contacts, deepest
from jostle.convex.linear_map import Dense
from jostle.convex.rows import lengths
from jostle.errors import InvalidValue, NotFinite, UndefinedGradient
from jostle.sets.base import ConstraintSet, margins, parts
from jostle.sets.gradient_search import CERTAIN_ERROR, Differences, Gradient, wrong_entry

Gap = Callable[[float, Array], ArrayLike]
MAX_GRADIENT_CHECKS = 10
"""Number of linearisations in which a given gradient is compared with differences until a comparison is certain."""
MAX_SINGLE_MOVES = 100
"""With at most this many coordinates, each of them is moved to check a given gradient."""
SHARED_DIRECTIONS = 2
"""Number of directions in which the coordinates whose entries of a given gradient are zero are moved together."""


@check_arguments
class UserSet(ConstraintSet):
    """The set {q : g(t, q) >= 0}, or with `equalities` {q : g(t, q) = 0}; `constraints` makes it."""

    def __init__(
        self,
        g: Gap,
        gradient: Gap | None,
        convex: bool | None,
        moving: bool | None,
        length: Positive | None,
        equalities: bool = False,
    ):
        self.g, self.gradient, self.length = g, gradient, length
        self.convex_gaps, self.moving = convex, moving
        self.equalities = self.curved = equalities
        self.name = getattr(g, "__name__", "constraints")
        self.__doc__ = g.__doc__
        self.differences = Differences(self.gaps, length)
        self._unchecked: Booleans | None = None
        self._checks = 0 if gradient is None else MAX_GRADIENT_CHECKS

    def __reduce__(self) -> Any:
        """A set that has taken the name of its function is pickled by that name: the function has no other one."""
        module, name = getattr(self.g, "__module__", ""), getattr(self.g, "__qualname__", "")
        if has_name(self, module, name):
            return by_name, (module, name)
        return copyreg.__newobj__, (type(self),), self.__getstate__()  # type: ignore[attr-defined]

    def __call__(self, t: float, q: ArrayLike) -> Array:
        """g(t, q), as the user wrote it."""
        return self.gaps(t, floats(q, name="q"))

    def linearise(self, t: float, q: Array, cutoff: float = np.inf) -> Contacts:
        gap = self.gaps(t, q)
        if not np.isfinite(gap).all():
            row = int(np.argmin(np.isfinite(gap)))
            raise NotFinite(f"constraint {row} of {self.name} is {gap[row]} at t = {t:g}, q = {q.tolist()}")
        G = self.differences(t, q, gap) if self.gradient is None else self._given(t, q, gap)
        size = np.abs(G).max(axis=1, initial=0.0)
        bad = np.flatnonzero(~(np.isfinite(size) & (size > 0)) & ((gap <= 0.0) | self.equalities))
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
            constraint_count=len(gap),
            length=self.length,
            describe=lambda row: f"{'equality' if self.equalities else 'constraint'} {row} of {self.name}",
            at=q,
            equal=np.ones(len(gap), dtype=bool) if self.equalities else None,
            gap_at=None if self.moving is False else (lambda time, some: self.gaps(time, q)[some]),
        )

    def gaps(self, t: float, q: Array) -> Array:
        value = self.g(t, q)
        found = real(value)
        if found is not None and found.dtype.kind in "biu":
            raise InvalidValue(
                f"{self.name} returned whole numbers or True and False at t = {t:g}, which jump: a gap a >= b is the "
                f"number a - b, a float that depends continuously on q"
            )
        return numbers(value, f"what {self.name} returned at t = {t:g}").ravel()

    def overlap(self, t: float, q: Array) -> float:
        margin = margins(self, t, q)  # the gradients are not needed, and differences of the gaps are costly
        return deepest(margin, lengths(self.length, len(margin)))

    def _given(self, t: float, q: Array, gap: Array) -> Array:
        assert self.gradient is not None
        G = numbers(self.gradient(t, q), f"what the gradient of {self.name} returned at t = {t:g}")
        if G.size != len(gap) * q.size:
            raise InvalidValue(f"the gradient of {self.name} has shape {G.shape}; expected {(len(gap), *q.shape)}")
        G = G.reshape(len(gap), q.size)
        if self._checks:
            self._checks -= 1
            self._compare(*self._differenced(t, q, gap, G))
        return G

    def _differenced(self, t: float, q: Array, gap: Array, G: Array) -> tuple[Array, Gradient]:
        """A given gradient, and differences to compare it with.

        With many coordinates, only those on which g depends, according to the gradient, are moved one by one; the
        others are moved together. If g depends on these as well, all are moved one by one, to find the wrong entry.
        """
        used, place = (G != 0.0).any(axis=0), q.ravel()
        count = int(used.sum())
        if q.size > MAX_SINGLE_MOVES and count + SHARED_DIRECTIONS < q.size:
            together = np.random.default_rng(0).uniform(-1.0, 1.0, (SHARED_DIRECTIONS, q.size - count))

            def moved(t: float, y: Array) -> Array:
                x = place.copy()
                x[used], x[~used] = y[:count], x[~used] + y[count:] @ together
                return self.gaps(t, x.reshape(q.shape))

            zeros = np.zeros((len(G), SHARED_DIRECTIONS))
            given = np.concatenate([G[:, used], zeros], axis=1)
            found = Differences(moved).search(t, np.append(place[used], zeros[0]), gap)
            if wrong_entry(given, found) is None:
                return given, found
        return G, self.differences.search(t, q, gap)

    def _compare(self, given: Array, found: Gradient) -> None:
        """Refuse a gradient that differs from the differences, where these are certain; else try again next time."""
        before = np.ones(len(given), dtype=bool) if self._unchecked is None else self._unchecked
        if len(before) != len(given):
            before = np.ones(len(given), dtype=bool)
        wrong = wrong_entry(given, found, before)
        if wrong is not None:
            raise InvalidValue(
                f"the gradient of constraint {wrong[0]} of {self.name} is wrong: d/dq[{wrong[1]}] is given as "
                f"{given[wrong]:.6g}, differences give {found.G[wrong]:.6g}"
            )
        self._unchecked = before & (found.error > CERTAIN_ERROR)
        if not self._unchecked.any():
            self._checks = 0


def differences_of(within: ConstraintSet) -> tuple[Differences, ...]:
    """The differences that gradients of a set are computed by, whose steps a run remembers."""
    return tuple(Q.differences for Q in parts(within) if isinstance(Q, UserSet) and Q.gradient is None)


@overload
def constraints(g: Gap, /, *, equal: bool = False) -> UserSet: ...
@overload
def constraints(
    *,
    equal: bool = False,
    gradient: Gap | None = None,
    convex: bool | None = None,
    moving: bool | None = None,
    length: Positive | None = None,
) -> Callable[[Gap], UserSet]: ...


@check_arguments
def constraints(
    g: Gap | None = None,
    /,
    *,
    equal: bool = False,
    gradient: Gap | None = None,
    convex: bool | None = None,
    moving: bool | None = None,
    length: Positive | None = None,
) -> UserSet | Callable[[Gap], UserSet]:
    """Turn a function g(t, q), every entry of which stays >= 0, into an admissible set; a decorator.

    With ``equal=True`` every entry stays 0: a bead on a wire, a joint, a rolling disc. The schemes that linearise the
    gaps leave a curved {g = 0} by O(h^2) in each step and come back in the next one; ``sol.overlap`` and ``sol.gaps()``
    show by how much.

    Parameters
    ----------
    g : callable (t, q) -> array_like
        The gaps, m numbers. Left out in ``@jo.constraints(convex=True)``.
    equal : bool, default False
        Whether the gaps stay 0 instead of >= 0.
    gradient : callable (t, q) -> array_like, optional
        dg/dq, shape (m, *q.shape); it is checked against differences. None: g is differenced, which takes two
        evaluations of g for each coordinate in every step; give the gradient if there are many bodies.
    convex : bool, optional
        Whether each entry is convex in q; the linearised schemes then keep q in Q. None: not known, and these schemes
        check each step. Equalities are not convex in this sense.
    moving : bool, optional
        Whether g depends on t. None: not known, and the schemes that need a set at rest check each step.
    length : float, optional
        What violations are compared with, such as a radius or the clearance of a bearing; positive, in the unit of g.
        With `MoreauJean` and `Paoli`, an overlap larger than it raises `LeftTheSet`. It is also the scale of the
        differences. None: violations are compared with the distance moved, no depth raises an error with `MoreauJean`
        and `Paoli`, ``sol.overlap`` is in the unit of g, and the scale is searched for.

    Returns
    -------
    ConstraintSet
        The set; or a decorator, if g is left out.

    Examples
    --------
    >>> import jostle as jo
    >>> @jo.constraints
    ... def disc(t, q):
    ...     return [np.linalg.norm(q) - 1.0]
    >>> jo.nearest([0.0, 0.5], disc).point.round(9).tolist()
    [0.0, 1.0]
    >>> @jo.constraints(equal=True)
    ... def circle(t, q):
    ...     return [np.linalg.norm(q) - 1.0]
    >>> jo.nearest([0.0, 3.0], circle).point.round(9).tolist(), jo.nearest([0.0, 0.5], circle).point.round(9).tolist()
    ([0.0, 1.0], [0.0, 1.0])
    >>> circle.gap(0.0, [0.0, 3.0])                             # 2 outside, which violates it like 2 inside
    -2.0
    """
    if equal:
        if convex:
            raise InvalidValue("equal=True and convex=True exclude each other: a gap that stays 0 has two sides")
        convex = False

    def made(function: Gap) -> UserSet:
        return UserSet(function, gradient, convex, moving, length, equal)

    return made if g is None else made(g)
