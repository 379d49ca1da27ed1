"""What follows from the linearised constraints of a set: gaps, margins, overlaps, and whether the set moves."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Booleans, Integers, highest, lowest, to_host
from jostle.errors import InvalidValue
from jostle.plugins import is_of_jostle
from jostle.sets.contacts import CLOSED, Contacts, Reach, by_pair, check_start, of_bodies
from jostle.sets.traits import SetTraits


def moved_row(now: Array, then: Array) -> int | None:
    """The row whose gap differs most between two times, if it differs by more than round-off; otherwise None.

    A gap that is NaN or infinite at both times does not differ.

    >>> moved_row(np.array([1.0, np.nan, np.inf]), np.array([1.5, np.nan, np.inf]))
    0
    >>> moved_row(np.array([1.0, np.nan]), np.array([1.0 + 1e-15, np.nan]))
    """
    if now.shape != then.shape:
        return min(len(now), len(then))  # the first row that only one of them has
    change, other = np.zeros(len(now)), (now != then) & ~(np.isnan(now) & np.isnan(then))
    change[other] = np.nan_to_num(np.abs(then[other] - now[other]), nan=np.inf)
    largest = np.abs(now).max(initial=0.0, where=np.isfinite(now))
    return int(np.argmax(change)) if change.max(initial=0.0) > CLOSED * largest else None


class LinearisedSet(SetTraits):
    """A set that is known by its linearised constraints; `ConstraintSet` adds projections and intersections."""

    def linearise(self, t: float, q: Array, reach: Any = np.inf) -> Contacts:
        """Gaps and gradients of the set at a configuration.

        Parameters
        ----------
        t : float
            Time.
        q : array
            Configuration: shape (d,) for one body, (n, d) for n bodies, or that of the problem.
        reach : float or array, shape (n,), default inf
            Pairs whose gap is larger may be left out: one number for all pairs, or one for each body, of which a pair
            has the sum.

        Returns
        -------
        Contacts
            One row for each constraint.
        """
        raise NotImplementedError

    def near(self, t: float, q: Array, reach: Reach) -> Contacts:
        """The contacts within reach, ready for a moving set, with the configuration that they belong to.

        Parameters
        ----------
        t : float
            Time.
        q : array
            Configuration.
        reach : float or array, shape (n,)
            Pairs whose gap is larger may be left out; see `linearise`. A set without `by_body` gets one number for all
            pairs.

        Returns
        -------
        Contacts
            The contacts, with `Contacts.gap_at` if the set may move.
        """
        if of_bodies(reach) and not self.by_body:
            reach = 2.0 * highest(reach, 0.0)
        contacts = self.linearise(t, q, reach)
        if contacts.at is None:  # without it, the round-off of a gap would be an overlap, or a contact would be open
            contacts = replace(contacts, at=q)
        return self.in_motion(contacts, q)

    def in_motion(self, contacts: Contacts, q: Array) -> Contacts:
        """Contacts of this set with `Contacts.gap_at`, if the set may move and did not give it.

        Parameters
        ----------
        contacts : Contacts
            Contacts of this set.
        q : array
            The configuration that they belong to.

        Returns
        -------
        Contacts
            The contacts that schemes use.
        """
        if self.moving is False or contacts.gap_at is not None:
            return contacts
        return replace(contacts, gap_at=partial(self._gaps_of, contacts.pairs, q))

    def _gaps_of(self, pairs: Integers, q: Array, t: float, rows: Integers) -> Array:
        """The gaps of some pairs at time t, for sets that do not give `Contacts.gap_at` themselves."""
        there = self.linearise(t, q)
        found = by_pair(there.pairs, there.gap, pairs[rows], np.nan)
        if np.isnan(found).any():
            row = pairs[rows][int(np.argmax(np.isnan(found)))].tolist()
            raise InvalidValue(f"{self!r} has no row for the pair {row} at t = {t:g}; without a reach it must have all")
        return found

    def gaps(self, t: float, q: Array) -> Array:
        """All gaps at a configuration, without their gradients.

        Parameters
        ----------
        t : float
            Time.
        q : array
            Configuration.

        Returns
        -------
        array, shape (m,)
            g_i(t, q).
        """
        return self.linearise(t, q).gap

    def margins(self, t: float, q: Array) -> Array:
        """How far a configuration is from violating each constraint.

        Parameters
        ----------
        t : float
            Time.
        q : array
            Configuration.

        Returns
        -------
        array, shape (m,)
            The gap of an inequality, -|g_i| of an equality: negative where q is not in Q(t).
        """
        return -np.abs(self.gaps(t, q)) if self.equalities else self.gaps(t, q)

    def gap(self, t: float, q: ArrayLike) -> float:
        """The smallest gap at a configuration.

        Parameters
        ----------
        t : float
            Time.
        q : array_like
            Configuration.

        Returns
        -------
        float
            The smallest gap, -|g_i| of an equality; infinite without constraints.
        """
        return lowest(self.margins(t, np.asarray(q, dtype=float)), np.inf)

    def overlap(self, t: float, q: Array) -> float:
        """The deepest overlap at a configuration.

        Parameters
        ----------
        t : float
            Time.
        q : array
            Configuration.

        Returns
        -------
        float
            The overlap as a fraction of the length of its constraint, such as the smallest radius; 0 if there is none.
        """
        return self.linearise(t, q, 0.0).overlap()

    def moves(self, times: tuple[float, float], q: Array) -> bool:
        """Whether the set depends on time; if it does not say so, whether its gaps differ between two times.

        Parameters
        ----------
        times : (float, float)
            The two times.
        q : array
            Configuration at which the gaps are compared.

        Returns
        -------
        bool
            `moving`, or what the comparison shows.
        """
        if self.moving is not None:
            return self.moving
        return moved_row(*(self.gaps(t, q) for t in times)) is not None

    def check_rest(self, times: tuple[float, float], q: Array) -> None:
        """Refuse a set that says that it is at rest (``moving=False``), although its gaps differ between two times.

        Parameters
        ----------
        times : (float, float)
            The two times.
        q : array
            Configuration at which the gaps are compared.
        """
        if self.moving is False:
            self.moves(times, q)

    def check_declaration(self, times: tuple[float, float], q: Array, present: Booleans | None) -> None:
        """Refuse a class outside jostle that declares ``moving = False``, although its gaps differ between two times.

        `solve` asks from time to time, since a comparison costs two linearisations. With many bodies, only gaps up to
        about the distance of neighbours are compared.

        Parameters
        ----------
        times : (float, float)
            The two times.
        q : array
            Configuration at which the gaps are compared.
        present : array of bool, shape (n,), or None
            Which bodies are present; the others are far away. None: all.

        Raises
        ------
        InvalidValue
            If a gap differs; the message names the class and the constraint.
        """
        if self.moving is not False or is_of_jostle(self):
            return
        there = q if present is None else q[present]
        spread = float(np.ptp(there, axis=0).max()) if q.ndim == 2 and len(there) else 0.0
        reach = spread / len(there) ** (1.0 / q.shape[1]) if spread > 0.0 else np.inf
        before, contacts = (to_host(self.linearise(t, q, reach)) for t in times)
        then = by_pair(before.pairs, before.gap, contacts.pairs, reach)  # a pair that is left out is beyond the reach
        row = moved_row(contacts.gap, then)
        if row is None:
            return
        known = (before.pairs == contacts.pairs[row]).all(axis=1).any()
        name = type(self).__name__
        raise InvalidValue(
            f"the gap of {contacts.describe(row)} of {name} is {'' if known else 'above '}{then[row]:.6g} at "
            f"t = {times[0]:g} and {contacts.gap[row]:.6g} at t = {times[1]:g} at the same q, although {name} declares "
            f"moving = False: set moving = True in the class, or leave it out"
        )

    def check_start(self, t: float, q: Array) -> None:
        """Refuse a start that is not admissible.

        Parameters
        ----------
        t : float
            Start time.
        q : array
            Configuration at the start.

        Raises
        ------
        InfeasibleStart
            If q is not in Q(t); the message names the worst pairs.
        """
        check_start(self.linearise(t, q, reach=0.0))
