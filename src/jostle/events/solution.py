"""What event-driven integration returns: impacts, limits of infinitely many impacts, and the motion between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jostle._tools.arrays import Array, Integers, finite
from jostle._tools.smooth_paths import Piece
from jostle.errors import InvalidValue
from jostle.problems import Motion
from jostle.result.energies import Energy, kinetic_of
from jostle.result.facts import Facts
from jostle.result.impacts import Impacts
from jostle.result.recording import STATISTICS
from jostle.result.solution import Solution
from jostle.result.status import MESSAGES

MAX_PRINTED = 40
"""Largest number of impacts that are printed."""


@dataclass(frozen=True, eq=False)
class Event:
    """One impact of `solve_by_events`, of all contacts that have an impulse at that time.

    Attributes
    ----------
    t : float
        Time of the impact.
    pairs : array of int, shape (k, 2)
        Who met: (i, j) two bodies, (i, -1 - w) body i and wall w.
    before : array
        Velocity before, in the shape of q0.
    after : array
        Velocity after, in the shape of q0.
    impulse : array, shape (k,)
        Impulse of each contact.
    rates : array, shape (2, k)
        Gap rate of each contact before and after.
    """

    t: float
    pairs: Integers
    before: Array
    after: Array
    impulse: Array
    rates: Array


@dataclass(frozen=True, eq=False)
class Accumulation:
    """The limit of infinitely many impacts: from then on the contacts stay closed, with gap rate 0.

    Attributes
    ----------
    t : float
        Time of the limit.
    error : float
        Estimated error of `t`: that of the extrapolation of the impacts, and the round-off of each contact, but
        not what earlier impacts make of it.
    pairs : array of int, shape (k, 2)
        The contacts, as in `Event`.
    """

    t: float
    error: float
    pairs: Integers


class Flight(NamedTuple):
    """How the motion from one event to the next begins; flat arrays, as derivatives need them."""

    t: float
    x: Array
    before: Array
    """Velocities before the impacts at this time."""
    u: Array
    closed: Integers
    """The rows that are closed at this time."""
    kept: Integers
    """The rows that stay closed during the flight."""
    events: int
    """Number of impacts so far, with those at this time."""
    accumulations: int
    """Number of accumulations so far, with one at this time."""


@dataclass(frozen=True, eq=False, repr=False)
class EventSolution:
    """The result of `solve_by_events`: the impacts, and the motion between them. It prints as a table.

    Attributes
    ----------
    problem : Motion
        The problem that was solved.
    events : tuple of Event
        The impacts, in order of time.
    accumulations : tuple of Accumulation
        Limits of infinitely many impacts.
    end : float
        Time up to which the motion is known.
    status : str
        "finished", or "failed" in ``error.solution``.
    starts : array, shape (k,)
        Start times of the pieces of the motion.
    parabolas : array, shape (k, 3, N)
        Position, velocity and acceleration at the start times. Where the motion does not consist of parabolas the
        velocities are those of the `pieces`, and the accelerations are zero.
    pieces : tuple of Piece
        The pieces, displacement and velocity, of a motion that does not consist of parabolas.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> print(jo.solve_by_events(ball, t=1.1))
    2 impacts until t = 1.1, finished: reached the end time
                     t  impulse by contact
                   0.5  0 - wall 0: 7.5
                     1  0 - wall 0: 3.75
    """

    problem: Motion
    events: tuple[Event, ...]
    accumulations: tuple[Accumulation, ...]
    end: float
    status: str
    starts: Array
    parabolas: Array
    pieces: tuple[Piece, ...] = ()

    @property
    def start(self) -> float:
        """Start time."""
        return float(self.starts[0])

    def impacts(self, speed: float = 0.0) -> Impacts:
        """The impacts as one table, with a row for each contact of each impact.

        Parameters
        ----------
        speed : float, default 0.0
            Contacts whose gap closed at this rate or more slowly are left out.

        Returns
        -------
        Impacts
            Times, pairs, gap rates before and after, and impulses; `t` and `moment` are the same.

        Examples
        --------
        >>> import jostle as jo
        >>> ball = jo.Motion(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
        >>> print(jo.solve_by_events(ball, t=1.1).impacts())
        2 impacts
                 t  pair          before     after   impulse
            0.5000  0 - wall 0   -5.0000    2.5000    7.5000
            1.0000  0 - wall 0   -2.5000    1.2500    3.7500
        """
        t = np.repeat([event.t for event in self.events], [len(event.pairs) for event in self.events])
        pairs = np.concatenate([np.zeros((0, 2), dtype=np.int64), *(event.pairs for event in self.events)])
        before, after = np.concatenate([np.zeros((2, 0)), *(event.rates for event in self.events)], axis=1)
        impulse = np.concatenate([np.zeros(0), *(event.impulse for event in self.events)])
        return Impacts(t, pairs, before, after, impulse, t, bodies=self.problem.bodies).faster_than(speed)

    def energy(self, t: ArrayLike) -> Energy:
        """Kinetic and potential energy at some times.

        The kinetic energy is 1/2 |u|_M^2, at the time of an impact that after it. The potential energy is the potential
        of the problem, or -f . q if the force is constant.

        Parameters
        ----------
        t : array_like, shape (k,)
            Times from `start` to `end`.

        Returns
        -------
        Energy
            Arrays `kinetic`, `potential` and `total`; `potential` and `total` are None if the potential is not known.

        Examples
        --------
        >>> import jostle as jo
        >>> ball = jo.Motion(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
        >>> jo.solve_by_events(ball, t=1.1).energy([0.0, 0.4, 0.5, 0.9]).total.round(9).tolist()
        [12.5, 12.5, 3.125, 3.125]
        """
        return self.sampled(t).energy()

    def sampled(self, t: ArrayLike) -> Solution:
        """The motion at some times as a `Solution`, as the functions of `jostle.viz` and `jostle.io` take it.

        It has all impacts, and no contact forces. Its steps are the impacts, with the energy that they dissipate, which
        is not known for walls that move.

        Parameters
        ----------
        t : array_like, shape (k,)
            Times from `start` to `end`, in order.

        Returns
        -------
        Solution
            Positions and velocities at these times, and the impacts.

        Examples
        --------
        >>> import jostle as jo
        >>> ball = jo.Motion(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
        >>> sol = jo.solve_by_events(ball, t=1.1).sampled([0.0, 0.5, 1.0])
        >>> sol.t.tolist(), len(sol.impacts())
        ([0.0, 0.5, 1.0], 2)
        """
        times = finite(t, "t").ravel()
        q, u = self._at(times)
        nothing = (np.zeros(0),) * len(times), (np.zeros((0, 2), dtype=np.int64),) * len(times)
        dimension = q.shape[-1] if q.ndim == 3 else 0
        normals = (np.zeros((0, dimension)),) * len(times)
        moved = self.problem, None, times, q, u
        return Solution(
            *moved, *nothing, normals, self._statistics(), self.status, recorded=self.impacts(), contacts_saved=False
        )

    def _statistics(self) -> NDArray[Any]:
        """One record for each impact."""
        stats = np.zeros(len(self.events), dtype=STATISTICS)
        stats["t"], stats["converged"] = [event.t for event in self.events], True
        stats["rows"] = stats["active"] = [len(event.pairs) for event in self.events]
        before, after = (np.array([getattr(event, name) for event in self.events]) for name in ("before", "after"))
        if self.problem.within.moving is not False:
            stats["dissipated"] = np.nan
        elif self.events:
            places, facts = self.q(stats["t"]), Facts(order=2)
            stats["dissipated"] = np.subtract(*(kinetic_of(self.problem, facts, places, u) for u in (before, after)))
        return stats

    def q(self, t: ArrayLike) -> Array:
        """Positions at one time or at several times.

        Parameters
        ----------
        t : float or array_like
            Times from `start` to `end`.

        Returns
        -------
        array
            Positions, in the shape of `t` followed by that of q0.
        """
        return self._at(t)[0]

    def u(self, t: ArrayLike) -> Array:
        """Velocities at one time or at several times.

        Parameters
        ----------
        t : float or array_like
            Times from `start` to `end`.

        Returns
        -------
        array
            Velocities, in the shape of `t` followed by that of q0; at the time of an impact, those after it.
        """
        return self._at(t)[1]

    def _at(self, t: ArrayLike) -> tuple[Array, Array]:
        """Positions and velocities at each time."""
        times = finite(t, "t").ravel()
        if ((times < self.start) | (times > self.end)).any():
            raise InvalidValue(f"t must lie in [{self.start:g}, {self.end:g}], the times of the solution")
        positions, velocities = self._states(np.searchsorted(self.starts, times, side="right") - 1, times)
        shape = np.shape(t) + self.problem.q0.shape
        return positions.reshape(shape), velocities.reshape(shape)

    def _states(self, k: Integers, times: Array) -> tuple[Array, Array]:
        """(n, N) each: positions and velocities at times (n,), by the pieces of the motion with the numbers k (n,)."""
        s, (x, u, a) = (times - self.starts[k])[:, None], np.moveaxis(self.parabolas[k], 1, 0)
        if not self.pieces:
            return x + s * u + 0.5 * s * s * a, u + s * a
        moved = [self.pieces[each].y(time) for each, time in zip(k, times, strict=True)]
        displacements, velocities = np.moveaxis(np.array(moved).reshape(len(k), 2, -1), 1, 0)
        return x + displacements, velocities

    def __repr__(self) -> str:
        more = f", {len(self.accumulations)} accumulations" if self.accumulations else ""
        return f"EventSolution({len(self.events)} impacts{more}, t = {self.start:g} to {self.end:g}, {self.status})"

    def __str__(self) -> str:
        n = len(self.events)
        lines = [f"{n} impact{'s' * (n != 1)} until t = {self.end:g}, {self.status}: {MESSAGES[self.status]}"]
        lines += [f"{'t':>18s}  impulse by contact"] if n else []
        for event in self.events[:MAX_PRINTED]:
            each = (
                f"{self.problem.bodies.pair_name(i, j)}: {p:.6g}"
                for (i, j), p in zip(event.pairs.tolist(), event.impulse, strict=True)
            )
            lines.append(f"{event.t:18.12g}  {', '.join(each)}")
        lines += [f"{'...':>18s}  {n - MAX_PRINTED} more impacts"] if n > MAX_PRINTED else []
        for limit in self.accumulations:
            names = ", ".join(self.problem.bodies.pair_name(i, j) for i, j in limit.pairs.tolist())
            lines.append(f"{limit.t:18.12g}  accumulation of impacts: {names}")
        return "\n".join(lines)
