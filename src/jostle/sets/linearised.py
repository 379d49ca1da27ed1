"""What follows from the linearised constraints of a set: gaps, margins, overlaps, and whether the set moves."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Integers, highest, lowest
from jostle.errors import InvalidValue
from jostle.sets.contacts import CLOSED, Contacts, Reach, by_pair, check_start, of_bodies
from jostle.sets.traits import SetTraits


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
        """The contacts within reach, ready for a moving set.

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
        return self.in_motion(self.linearise(t, q, reach), q)

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
        now, then = (self.gaps(t, q) for t in times)
        return bool(np.abs(then - now).max(initial=0.0) > CLOSED * np.abs(now).max(initial=0.0))

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
