"""The state of a run at one time: what a scheme gets, and what a step returns."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, contiguous, place_of
from jostle.bodies import POINTS
from jostle.contacts import Contacts, by_pair
from jostle.convex.projection import Projection
from jostle.errors import InvalidValue
from jostle.kernels import GripRows
from jostle.kernels.parallel import chunks_of
from jostle.pose import Pose
from jostle.sets.base import ConstraintSet, of_present
from jostle.sets.presence import Presence

MIN_WARM_ROWS, MIN_WARM_CONTACTS = 60, 8
"""Projections with at least this many rows, or contacts with friction, start from the multipliers of the step before.
Fewer are solved exactly in a few sweeps from zero, and a warm start would be left as soon as it is within tol."""
POSITION_ROUND_OFF = 64 * float(np.finfo(float).eps)
"""Round-off of a displacement in one step, as a fraction of the positions."""


class Impulses(NamedTuple):
    """The impulses of all contacts of a step."""

    normal: Array = np.zeros(0)
    """(m,) p >= 0 for each row, of any sign in equalities."""
    tangential: Array | None = None
    """(m, d) along the surfaces, on the second body of the pair; None if bodies do not turn."""
    rolling: Array | None = None
    """(m, 1) or (m, 3) angular impulses of rolling resistance, on the second body; None if bodies do not turn."""


NO_IMPULSES = Impulses()


@dataclass(frozen=True, eq=False)
class State:
    """Where a run stands at one time.

    A scheme's `step` returns all but the presence, and `Scheme.advance` adds that; it also measures the overshoot, and
    the impulse time if the scheme does not say it. `State.of` makes a state of t, q and u, and `replace` another state.

    Attributes
    ----------
    t : float
        Time.
    pose : Pose
        Positions and orientations of all bodies.
    w : array
        Velocities of all that moves: u if bodies do not turn, else (n, d + s), translation and spin; see `jostle.pose`.
    projection : Projection or None
        The projection of the last step; None at the start.
    contacts : Contacts or None
        The linearised constraints of the last step; None at the start.
    impulses : Impulses
        The impulses of these contacts, with friction.
    memory : object
        What the scheme remembers beyond the pose and w; a NamedTuple of the class `Scheme.memory_type`, or None.
    overshoot : float
        The deepest overlap of q that ``projection.residual.primal`` does not bound, as a fraction of the length of the
        contacts. `Maury` and `Venel` have one where they went through a curved wall (see `ConstraintSet.curved`);
        `MoreauJean`, and `Paoli` with e > 0, have one wherever bodies overlap, because they do not project q itself.
    presence : Presence or None
        Who is present; None: everyone.
    impulse_time : float
        Time over which the multipliers acted. NaN stands for the length of the step; see `Solution.impulse_time`.

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
    pose: Pose
    w: Array
    projection: Projection | None = None
    contacts: Contacts | None = None
    impulses: Impulses = NO_IMPULSES
    memory: Any = None
    overshoot: float = 0.0
    presence: Presence | None = None
    impulse_time: float = np.nan

    @staticmethod
    def of(
        t: float,
        q: Array,
        u: Array,
        projection: Projection | None = None,
        contacts: Contacts | None = None,
        multipliers: Array | None = None,
        **more: Any,
    ) -> State:
        """The state of bodies that do not turn.

        Parameters
        ----------
        t, q, u : float, array, array
            Time, positions, and velocities, in the shape of q0.
        projection, contacts : Projection, Contacts
            The projection of the step, and the contacts that it was on.
        multipliers : array, shape (m,)
            p >= 0 for each row of the contacts: impulses in second order, reactions in first order.
        **more : object
            Other attributes of the state, by name.

        Returns
        -------
        State
            The state.

        Examples
        --------
        >>> State.of(0.0, np.array([1.0]), np.array([2.0])).replace(u=np.array([3.0])).u.tolist()
        [3.0]
        """
        impulses = NO_IMPULSES if multipliers is None else Impulses(multipliers)
        return State(t, Pose(POINTS, q), u, projection, contacts, impulses, **more)

    # Attributes of attributes, by `attrgetter`: a step asks for them some twenty times.

    q = property(attrgetter("pose.q"), doc="Positions, in the shape of q0; read-only.")
    centres = property(attrgetter("pose.centres"), doc="Positions of all balls: q itself if each body is one ball.")
    multipliers = property(
        attrgetter("impulses.normal"),
        doc="(m,) p >= 0 for each row of `contacts`: impulses, or reactions in first order. Any sign in equalities.",
    )

    @property
    def u(self) -> Array:
        """Velocities, in the shape of q0; read-only."""
        return self.w if self.pose.orientation is None else self._u

    @cached_property
    def _u(self) -> Array:
        return self.pose.translation(self.w)

    @property
    def orientation(self) -> Array | None:
        """(n,) angles or (n, 4) quaternions: how bodies are turned, as in `Solution`; None if they do not turn."""
        return self.pose.as_given

    @cached_property
    def spin(self) -> Array | None:
        """(n,) or (n, 3): angular velocities about fixed axes; None if bodies do not turn."""
        return self.pose.spin(self.w)

    @property
    def velocities(self) -> Array:
        """The velocities of all balls: u itself if each body is one ball."""
        return self.u if self.pose.bodies.parts is None else self._velocities

    @cached_property
    def _velocities(self) -> Array:
        return self.pose.velocities(self.w)

    def replace(self, **changes: Any) -> State:
        """The same state with other attributes.

        Parameters
        ----------
        **changes : object
            Attributes by name; also q, u, orientation, spin and multipliers.

        Returns
        -------
        State
            The other state. With another orientation, bodies keep their spins about fixed axes.

        Examples
        --------
        >>> import jostle as jo
        >>> disc = jo.Motion(q0=[0.0, 1.0], spin0=2.0, within=jo.HalfSpace([0, 1]), law=jo.Coulomb(0.5))
        >>> state = jo.Maury().start(disc, 0.0).replace(u=np.array([3.0, 0.0]))
        >>> state.w.tolist(), state.replace(spin=np.array([1.0])).w.tolist()
        ([[3.0, 0.0, 2.0]], [[3.0, 0.0, 1.0]])
        """
        own = {name: changes.pop(name) for name in ("q", "u", "orientation", "spin") if name in changes}
        if "multipliers" in changes:
            changes["impulses"] = self.impulses._replace(normal=changes.pop("multipliers"))
        if unknown := changes.keys() - {each.name for each in fields(self)}:
            raise InvalidValue(f"a state has no {min(unknown)!r}")
        after = replace(self, **changes) if changes else self
        pose, w = after.pose, after.w
        if not own:
            return after
        if pose.orientation is None:
            if own.keys() & {"orientation", "spin"}:
                raise InvalidValue("the bodies of this state do not turn: it has no orientation and no spin")
            return replace(after, pose=pose.at(own["q"]) if "q" in own else pose, w=own.get("u", w))
        for name, value in own.items():
            if np.shape(value) != np.shape(getattr(self, name)):
                raise InvalidValue(f"{name} must have shape {np.shape(getattr(self, name))}, not {np.shape(value)}")
        if "orientation" in own:
            pose = Pose.of(pose.bodies, pose.q, own["orientation"])
        if "q" in own:
            pose = pose.at(own["q"])
        if own.keys() & {"orientation", "spin"}:
            w = pose.joined(own.get("u", after.u), own.get("spin", after.spin))
        elif "u" in own:
            d = pose.q.shape[-1]
            w = np.concatenate([np.reshape(own["u"], (len(w), d)), w[:, d:]], axis=1)
        return replace(after, pose=pose, w=w)

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
        pose = self.pose.at(presence.placed(self.q))
        return replace(self, pose=pose, w=presence.still(self.w), presence=presence)

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

    def pushes(self) -> Array:
        """The impulses of all contacts of the last step on the bodies.

        Returns
        -------
        array, shape (N,)
            One impulse for each coordinate of u, with friction.
        """
        assert self.contacts is not None
        tangential, of_parts = self.impulses.tangential, self.impulses.normal[: self.contacts.G.shape[0]]
        on_parts: Array = self.contacts.G.adjoint(of_parts)
        if tangential is None:
            return on_parts
        own, d = self.contacts.pairs[:, 0] >= 0, tangential.shape[1]
        (i, j), p, place = self.contacts.pairs[own].T, tangential[own], place_of(on_parts)
        at_centres = GripRows(contiguous(i, None), contiguous(j, None), place.zeros(p.shape), place.zeros((len(p), 2)))
        on_parts = on_parts.reshape(-1, d)
        on_parts = on_parts + kernels.adjoint_grips(at_centres, p, len(on_parts), chunks_of(len(p)))[:, :d]
        bodies = on_parts if self.pose.bodies.single else contiguous(self.pose.impulse(on_parts)[:, :d])
        if (joints := self.contacts.joints) is not None:
            of_joints = joints.G.adjoint(self.impulses.normal[len(of_parts) :])
            bodies = bodies + of_joints.reshape(len(bodies), -1)[:, :d]
        return bodies.ravel()

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
        fewest = MIN_WARM_ROWS if self.pose.orientation is None else MIN_WARM_CONTACTS
        if self.contacts is None or len(contacts.gap) < fewest:
            return None
        return by_pair(self.contacts.pairs, self.impulses.normal, contacts.pairs)
