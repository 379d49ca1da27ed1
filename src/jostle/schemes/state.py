"""The state of a run at one time: what a scheme gets, and what a step returns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jostle.arrays import Array
from jostle.convex.projection import Projection
from jostle.sets.base import ConstraintSet
from jostle.sets.contacts import Contacts, by_pair
from jostle.sets.presence import Presence

MIN_WARM_ROWS = 100
"""Projections with at least this many rows start from the multipliers of the step before."""


class State(NamedTuple):
    """Where a run stands at time t.

    A scheme's `step` returns t, q and u, the projection with its contacts and multipliers, and its memory;
    `Scheme.advance` adds the overshoot, the presence and the duration.

    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> scheme = jo.Maury()
    >>> state = scheme.advance(ball, scheme.start(ball, 0.0), h=0.1)
    >>> state.t, state.q.tolist(), state.u.tolist(), state.multipliers.tolist()
    (0.1, [0.9], [-1.0], [0.0])
    """

    t: float
    q: Array
    u: Array
    projection: Projection | None = None
    """The projection of the last step."""
    contacts: Contacts | None = None
    """The linearised constraints of the last step."""
    multipliers: Array = np.zeros(0)
    """p >= 0 per row of contacts, of any sign in equalities: impulses (second order), or reactions M (u - U) = G^T p
    (first order)."""
    memory: Any = None
    """What the scheme needs to remember beyond q and u."""
    overshoot: float = 0.0
    """The deepest overlap of q that ``projection.residual.primal`` does not bound, over the length of the contacts.

    `Maury` and `Venel` have one where they went through a curved wall (see `ConstraintSet.curved`); `MoreauJean`, and
    `Paoli` with e > 0, have one wherever bodies overlap, because they do not project q itself."""
    presence: Presence | None = None
    """Who is there; None: everyone."""
    duration: float = np.nan
    """The time over which the multipliers acted. NaN stands for the length of the step; see `Solution.duration`."""

    def within(self, Q: ConstraintSet) -> ConstraintSet:
        """Q for the bodies that are there."""
        return Q if self.presence is None else self.presence.within(Q)

    def impulses_of(self, contacts: Contacts) -> Array | None:
        """The multipliers that the same pairs had in the last step; None where a warm start does not pay."""
        if self.contacts is None or len(contacts.gap) < MIN_WARM_ROWS or not self.multipliers.any():
            return None
        return by_pair(self.contacts.pairs, self.multipliers, contacts.pairs)
