"""The state of a run at one time: what a scheme gets, and what a step returns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, contiguous, place_of
from jostle.bodies import Bodies, Turning
from jostle.convex.projection import Projection
from jostle.kernels import GripRows
from jostle.kernels.parallel import chunks_of
from jostle.sets.base import ConstraintSet, of_present
from jostle.sets.contacts import Contacts, by_pair
from jostle.sets.presence import Presence

MIN_WARM_ROWS, MIN_WARM_CONTACTS = 60, 8
"""Projections with at least this many rows, or contacts with friction, start from the multipliers of the step before.
Fewer are solved exactly in a few sweeps from zero, and a warm start would be left as soon as it is within tol."""
POSITION_ROUND_OFF = 64 * float(np.finfo(float).eps)
"""Round-off of a displacement in one step, as a fraction of the positions."""


class State(NamedTuple):
    """Where a run stands at one time.

    A scheme's `step` returns t, q and u, the projection with its contacts and multipliers, and its memory;
    `Scheme.advance` adds the overshoot, the presence and the duration.

    Attributes
    ----------
    t : float
        Time.
    q : array
        Positions, in the shape of q0; read-only.
    u : array
        Velocities, in the shape of q0; read-only.
    projection : Projection or None
        The projection of the last step; None at the start.
    contacts : Contacts or None
        The linearised constraints of the last step; None at the start.
    multipliers : array, shape (m,)
        p >= 0 for each row of `contacts`, of any sign in equalities: impulses in second order, reactions M (u - U) =
        G^T p in first order.
    memory : object
        What the scheme remembers beyond q and u; a NamedTuple of the class `Scheme.remembers`, or None.
    overshoot : float
        The deepest overlap of q that ``projection.residual.primal`` does not bound, as a fraction of the length of the
        contacts. `Maury` and `Venel` have one where they went through a curved wall (see `ConstraintSet.curved`);
        `MoreauJean`, and `Paoli` with e > 0, have one wherever bodies overlap, because they do not project q itself.
    presence : Presence or None
        Who is present; None: everyone.
    duration : float
        Time over which the multipliers acted. NaN stands for the length of the step; see `Solution.duration`.
    turning : Turning or None
        How bodies are turned and turn, and the tangential impulses of the last step; None if they do not turn.

    Examples
    --------
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
    contacts: Contacts | None = None
    multipliers: Array = np.zeros(0)
    memory: Any = None
    overshoot: float = 0.0
    presence: Presence | None = None
    duration: float = np.nan
    turning: Turning | None = None

    @property
    def spin(self) -> Array | None:
        """(n,) or (n, 3): angular velocities; None if bodies do not turn."""
        return None if self.turning is None else self.turning.spin

    def of_balls(self, bodies: Bodies) -> State:
        """The state as sets see it: positions and velocities of balls.

        Parameters
        ----------
        bodies : Bodies
            The bodies of the problem.

        Returns
        -------
        State
            The state itself if each body is one ball.
        """
        if bodies.clumped is None:
            return self
        q, u = bodies.places(self.q, self.turning), bodies.velocities(self.u, self.turning)
        return self._replace(q=q, u=u)

    def with_presence(self, presence: Presence) -> State:
        """The state of those who are present: the others are put aside and have no velocity and no spin.

        Parameters
        ----------
        presence : Presence
            Who is present.

        Returns
        -------
        State
            The same state for them.
        """
        turning = self.turning
        if turning is not None:
            turning = turning._replace(spin=presence.still(turning.spin))
        q, u = presence.placed(self.q), presence.still(self.u)
        return self._replace(q=q, u=u, presence=presence, turning=turning)

    def within(self, Q: ConstraintSet) -> ConstraintSet:
        """The admissible set of the bodies that are present.

        Parameters
        ----------
        Q : ConstraintSet
            Admissible set of all bodies.

        Returns
        -------
        ConstraintSet
            Q, without the contacts of bodies that are not present.
        """
        return Q if self.presence is None else of_present(Q, self.presence)

    def pushes(self, bodies: Bodies) -> Array:
        """The impulses of all contacts of the last step on the bodies.

        Parameters
        ----------
        bodies : Bodies
            The bodies of the problem.

        Returns
        -------
        array, shape (N,)
            One impulse for each coordinate of u, with friction.
        """
        assert self.contacts is not None
        on_balls: Array = self.contacts.G.adjoint(self.multipliers)
        if self.turning is None:
            return on_balls
        own, d = self.contacts.pairs[:, 0] >= 0, self.turning.tangential.shape[1]
        (i, j), p, place = self.contacts.pairs[own].T, self.turning.tangential[own], place_of(on_balls)
        at_centres = GripRows(contiguous(i, None), contiguous(j, None), place.zeros(p.shape), place.zeros((len(p), 2)))
        on_balls = on_balls.reshape(-1, d)
        on_balls = on_balls + kernels.adjoint_grips(at_centres, p, len(on_balls), chunks_of(len(p)))[:, :d]
        if bodies.clumped is None:
            return on_balls.ravel()
        on_bodies = np.zeros((len(self.turning.turn), d))
        np.add.at(on_bodies, bodies.clumped.owner, on_balls)
        return on_bodies.ravel()

    def impulses_of(self, contacts: Contacts) -> Array | None:
        """The multipliers that the same pairs had in the last step, as a start for the next projection.

        Parameters
        ----------
        contacts : Contacts
            The contacts of the next projection.

        Returns
        -------
        array, shape (m,), or None
            One multiplier for each contact, 0 for new ones; None where a warm start does not pay.
        """
        if self.contacts is None or len(contacts.gap) < (MIN_WARM_ROWS if self.turning is None else MIN_WARM_CONTACTS):
            return None
        return by_pair(self.contacts.pairs, self.multipliers, contacts.pairs)
