"""Admissible sets Q(t) = {q : g_i(t, q) >= 0}: what every set can do, no constraint at all, and intersections.

`linearise(t, q)` returns the `Contacts` of a set at a configuration.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Booleans, InTime, place_of
from jostle.convex.maps import Dense
from jostle.convex.metric import Metric
from jostle.convex.projection import Projection
from jostle.errors import InvalidValue
from jostle.plugins import is_of_jostle
from jostle.sets.contacts import Contacts, Reach
from jostle.sets.crossings import Crossing, Step
from jostle.sets.differences import Differences
from jostle.sets.joined import joined
from jostle.sets.linearised import LinearisedSet
from jostle.sets.nearest import DEFAULT_SOLVER, nearest
from jostle.sets.numbering import check_owned, check_unchanged
from jostle.solvers.base import Solver
from jostle.solvers.project import require


class ConstraintSet(LinearisedSet):
    """An admissible set Q(t) = {q : g_i(t, q) >= 0}. ``Q1 & Q2`` is the intersection of two sets.

    A new set inherits from this class and defines `linearise`; the attributes below describe it, and may be set in the
    class or in each object.

    Attributes
    ----------
    convex_gaps : bool or None
        True if every g_i(t, .) is convex, as Bernicot & Lefebvre-Lepot 2010 and Venel 2009 ask; None: not known.
    moving : bool or None
        True if the set depends on time; None: not known. False is compared with the gaps in some steps of a run.
    equalities : bool
        True if the constraints are equalities, g_i = 0. All of a set are, or none; an intersection may have both.
    curved : bool
        True for the inside of a curved wall, where linearised schemes overshoot by O(h^2), measure that and report it.
    flat : bool
        True if every gap is linear in q, with the same gradient at all times and places.
    radii_of_bodies : array, callable (t) -> array, or None
        Radii that walls beside this set take over; None: the set does not say how large the bodies are.
    takes_radii : bool
        True if the set takes over the radii of the bodies in an intersection; it then defines `with_radii`.
    remembers : type or None
        The NamedTuple class of `memory`, for checkpoints.
    memory : object
        What earlier configurations have shown and later gradients depend on; a tuple of the class `remembers`, or None.
    by_body : bool
        True if `linearise` takes a reach for each body; otherwise it gets twice the largest for all.
    on_devices : bool
        True if `linearise` takes arrays of CuPy as well, and each row is a contact of bodies; otherwise runs on a GPU
        are refused.

    Examples
    --------
    >>> import jostle as jo
    >>> Q = jo.HalfSpace([0.0, 1.0]) & jo.Outside([0.0, 0.0], 1.0)
    >>> Q.gap(0.0, [0.0, 3.0]), Q.gap(0.0, [5.0, 0.5])
    (2.0, 0.5)
    """

    def with_radii(self, radii: InTime) -> ConstraintSet:
        """The same set for bodies of given radii; only sets with `takes_radii` define it.

        Parameters
        ----------
        radii : array or callable (t) -> array
            Radii of the bodies.

        Returns
        -------
        ConstraintSet
            The set for these bodies.
        """
        raise NotImplementedError

    def anew(self) -> ConstraintSet:
        """The same set without the data that it stores about earlier configurations.

        Returns
        -------
        ConstraintSet
            A copy, or the set itself if it keeps nothing.
        """
        return self

    def __repr__(self) -> str:
        return type(self).__name__

    def __bool__(self) -> bool:
        raise InvalidValue("a set is not true or false: write Q1 & Q2, not Q1 and Q2")

    def __and__(self, other: ConstraintSet) -> Intersection:
        if not isinstance(other, ConstraintSet):
            raise InvalidValue(f"Q1 & Q2 is the intersection of two admissible sets, and the second is {other!r}")
        return Intersection(_parts(self) + _parts(other))

    def nearest(
        self,
        q: ArrayLike,
        *,
        mass: ArrayLike | Metric = 1.0,
        t: float = 0.0,
        solver: Solver | None = None,
    ) -> Projection:
        """The nearest admissible configuration P_Q(q) in the norm of a mass; a local one if Q is not convex.

        Parameters
        ----------
        q : array_like
            Configuration.
        mass : float, array_like or Metric, default 1.0
            One number, one for each body, one for each coordinate, or a symmetric positive definite matrix.
        t : float, default 0.0
            Time.
        solver : Solver, optional
            Solves the projections. None: ``Automatic()``.

        Returns
        -------
        Projection
            The nearest point, with its multipliers.

        Raises
        ------
        NotConverged
            If the answer misses the tolerance.

        Examples
        --------
        >>> import jostle as jo
        >>> disc = jo.Outside(centre=[0.0, 0.0], radius=1.0)
        >>> disc.nearest([0.3, 0.2], mass=[1.0, 4.0]).point.round(10).tolist()
        [0.9703379662, 0.2417524176]
        """
        solver = solver or DEFAULT_SOLVER
        return require(nearest(self, np.asarray(q, dtype=float), mass, t, solver)[0], solver)

    def part(self, chosen: Callable[[ConstraintSet], bool]) -> ConstraintSet:
        """The sets of an intersection that a function chooses, such as those with equalities.

        Parameters
        ----------
        chosen : callable (set) -> bool
            Which sets to keep.

        Returns
        -------
        ConstraintSet
            The intersection of the chosen sets; `Free` if there are none. A set that is no intersection is its only
            part.

        Examples
        --------
        >>> import jostle as jo
        >>> pendulum = jo.Rods([(0, 1)], 1.0) & jo.HalfSpace([0.0, 1.0])
        >>> pendulum.part(lambda Q: Q.equalities)
        Rods(1)
        """
        return self if chosen(self) else Free()


class Free(ConstraintSet):
    """The whole space: no constraint at all.

    Examples
    --------
    >>> import jostle as jo
    >>> jo.Free().gap(0.0, [1.0, 2.0])
    inf
    """

    convex_gaps, moving, flat, on_devices = True, False, True, True

    def overlap(self, t: float, q: Array) -> float:
        """The deepest overlap, which is 0.

        Parameters
        ----------
        t : float
            Time.
        q : array
            Configuration.

        Returns
        -------
        float
            0.
        """
        return 0.0

    def linearise(self, t: float, q: Array, reach: float = np.inf) -> Contacts:
        """No contacts.

        Parameters
        ----------
        t : float
            Time.
        q : array
            Configuration.
        reach : float, default inf
            Without effect.

        Returns
        -------
        Contacts
            Contacts without rows.
        """
        nothing = place_of(q).zeros(0)
        pairs = place_of(q).zeros((0, 2), dtype=np.int64)
        return Contacts(nothing, Dense(place_of(q).zeros((0, q.size))), pairs, numbers=0, bend=nothing)


class Intersection(ConstraintSet):
    """Q1 ∩ Q2 ∩ ...: all constraints at once (so obstacles add up to their union)."""

    by_body = True

    def __init__(self, sets: tuple[ConstraintSet, ...]):
        self.sets = sets = _with_common_radii(sets)
        self._numbers: tuple[int, ...] | None = None
        convex, moving = [Q.convex_gaps for Q in sets], [Q.moving for Q in sets]
        self.convex_gaps = False if False in convex else None if None in convex else True
        self.moving = True if True in moving else None if None in moving else False
        self.flat = all(Q.flat for Q in sets)
        self.equalities = any(Q.equalities for Q in sets)
        self.curved = any(Q.curved for Q in sets) and all(Q.curved for Q in sets if Q.convex_gaps is False)

    def anew(self) -> ConstraintSet:
        other = copy(self)
        other.sets = tuple(Q.anew() for Q in self.sets)
        return other

    def __repr__(self) -> str:
        return " & ".join(map(repr, self.sets))

    def gaps(self, t: float, q: Array) -> Array:
        return np.concatenate([Q.gaps(t, q) for Q in self.sets])

    def margins(self, t: float, q: Array) -> Array:
        return np.concatenate([Q.margins(t, q) for Q in self.sets])

    def gap(self, t: float, q: ArrayLike) -> float:
        return min((Q.gap(t, q) for Q in self.sets), default=np.inf)

    def overlap(self, t: float, q: Array) -> float:
        return max((Q.overlap(t, q) for Q in self.sets), default=0.0)

    def widest(self) -> float:
        return max((Q.widest() for Q in self.sets), default=0.0)

    def radii_at(self, t: float) -> Array:
        return max((Q.radii_at(t) for Q in self.sets), key=lambda radii: (radii.size, radii.max(initial=0.0)))

    def excluding(self, t: float, n: int) -> Array | None:
        return next((radii for Q in self.sets if (radii := Q.excluding(t, n)) is not None), None)

    def widths(self, t: float, radii: Array, d: int) -> Array:
        return np.asarray(np.min([Q.widths(t, radii, d) for Q in self.sets], axis=0, initial=np.inf))

    def part(self, chosen: Callable[[ConstraintSet], bool]) -> ConstraintSet:
        sets = tuple(Q for Q in self.sets if chosen(Q))
        return Intersection(sets) if sets else Free()

    def crossing(self, step: Step) -> Crossing | None:
        found = (Q.crossing(step) for Q in self.sets)
        return next((crossing for crossing in found if crossing is not None), None)

    def differenced(self) -> tuple[Differences, ...]:
        return tuple(one for Q in self.sets for one in Q.differenced())

    def moves(self, times: tuple[float, float], q: Array) -> bool:
        found = [Q.moves(times, q) for Q in self.sets]  # all of them: one may contradict what it says
        return any(found)

    def check_rest(self, times: tuple[float, float], q: Array) -> None:
        for Q in self.sets:
            Q.check_rest(times, q)

    def check_declaration(self, times: tuple[float, float], q: Array, present: Booleans | None) -> None:
        for Q in self.sets:
            Q.check_declaration(times, q, present)

    def linearise(self, t: float, q: Array, reach: Reach = np.inf) -> Contacts:
        parts = [_trusted(Q, Q.near(t, q, reach)) for Q in self.sets]
        return joined(parts, self._owned(parts, t), q)

    def _owned(self, parts: list[Contacts], t: float) -> tuple[int, ...]:
        """Number of constraint numbers that each part owns, checked: two constraints must never share one."""
        owned = tuple(part.numbers for part in parts)
        self._numbers = self._numbers or owned
        for Q, part, before in zip(self.sets, parts, self._numbers, strict=True):
            if not part.known:
                check_owned(repr(Q), part.pairs, part.numbers)
            check_unchanged(repr(Q), part.numbers, before, t)
        return owned


def _with_common_radii(sets: tuple[ConstraintSet, ...]) -> tuple[ConstraintSet, ...]:
    """The sets, in which walls that were given no radii have those of the balls beside them."""
    known = [Q.radii_of_bodies for Q in sets if Q.radii_of_bodies is not None]
    if not known or not any(Q.takes_radii for Q in sets):
        return sets
    if not all(_same(radii, known[0]) for radii in known[1:]):
        wall = next(Q for Q in sets if Q.takes_radii)
        raise InvalidValue(f"{wall!r} stands beside balls of different radii; give it radii=")
    return tuple(Q.with_radii(known[0]) if Q.takes_radii else Q for Q in sets)


def _trusted(Q: ConstraintSet, contacts: Contacts) -> Contacts:
    """The contacts; those of a class outside jostle are checked, also if it inherits what `known` promises."""
    return contacts if is_of_jostle(Q) or not contacts.known else replace(contacts, known=False)


def _same(one: InTime, other: InTime) -> bool:
    """Whether the radii are the same function of time, or the same numbers."""
    if callable(one) or callable(other):
        return one is other
    return np.array_equal(one, other)


def _parts(Q: ConstraintSet) -> tuple[ConstraintSet, ...]:
    return Q.sets if isinstance(Q, Intersection) else (Q,)
