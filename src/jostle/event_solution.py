"""What event-driven integration returns: impacts, limits of infinitely many impacts, and the motion between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Integers, finite
from jostle.errors import InvalidValue
from jostle.problems import Motion
from jostle.smooth_paths import Piece
from jostle.statuses import MESSAGES

MAX_PRINTED = 40
"""Largest number of impacts that are printed."""


@dataclass(frozen=True, eq=False)
class Event:
    """One impact, of all contacts that have an impulse at that time."""

    t: float
    pairs: Integers
    """(k, 2): (i, j) two bodies, (i, -1 - w) body i and wall w."""
    before: Array
    """Velocity before, in the shape of q0."""
    after: Array
    """Velocity after, in the shape of q0."""
    impulse: Array
    """(k,) impulse of each contact."""


@dataclass(frozen=True, eq=False)
class Accumulation:
    """The end of infinitely many impacts: from t on the contacts stay closed, with gap rate 0."""

    t: float
    error: float
    """Estimated error of t."""
    pairs: Integers
    """(k, 2) the contacts, as in `Event`."""


@dataclass(frozen=True, eq=False, repr=False)
class EventSolution:
    """The result of `solve_by_events`: the impacts, and the motion as a sequence of parabolas.

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
    """(k,) start times of the pieces of the motion."""
    parabolas: Array
    """(k, 3, N) position, velocity and acceleration at these times. Where the motion is not made of parabolas the
    velocities are those of the `pieces`, and the accelerations are zero."""
    pieces: tuple[Piece, ...] = ()
    """The pieces, displacement and velocity, of a motion that is not made of parabolas."""

    def q(self, t: ArrayLike) -> Array:
        """Positions at one time or an array of times: the shape of t, then that of q0."""
        return self._at(t)[0]

    def u(self, t: ArrayLike) -> Array:
        """Velocities at one time or an array of times, those after the impact at the time of an impact."""
        return self._at(t)[1]

    def _at(self, t: ArrayLike) -> tuple[Array, Array]:
        """Positions and velocities at each time."""
        times = finite(t, "t").ravel()
        if ((times < 0.0) | (times > self.end)).any():
            raise InvalidValue(f"t must lie in [0, {self.end:g}], the times of the solution")
        k = np.searchsorted(self.starts, times, side="right") - 1
        s, (x, u, a) = (times - self.starts[k])[:, None], np.moveaxis(self.parabolas[k], 1, 0)
        positions, velocities = x + s * u + 0.5 * s * s * a, u + s * a
        if self.pieces:
            moved = [self.pieces[each].y(time) for each, time in zip(k, times, strict=True)]
            displacements, velocities = np.moveaxis(np.array(moved).reshape(len(k), 2, -1), 1, 0)
            positions = x + displacements
        shape = np.shape(t) + self.problem.q0.shape
        return positions.reshape(shape), velocities.reshape(shape)

    def __repr__(self) -> str:
        more = f", {len(self.accumulations)} accumulations" if self.accumulations else ""
        return f"EventSolution({len(self.events)} impacts{more}, t = 0 to {self.end:g}, {self.status})"

    def __str__(self) -> str:
        n = len(self.events)
        lines = [f"{n} impact{'s' * (n != 1)} until t = {self.end:g}, {self.status}: {MESSAGES[self.status]}"]
        lines += [f"{'t':>18s}  impulse by contact"] if n else []
        for event in self.events[:MAX_PRINTED]:
            each = (f"{_name(i, j)}: {p:.6g}" for (i, j), p in zip(event.pairs.tolist(), event.impulse, strict=True))
            lines.append(f"{event.t:18.12g}  {', '.join(each)}")
        lines += [f"{'...':>18s}  {n - MAX_PRINTED} more impacts"] if n > MAX_PRINTED else []
        for limit in self.accumulations:
            names = ", ".join(_name(i, j) for i, j in limit.pairs.tolist())
            lines.append(f"{limit.t:18.12g}  accumulation of impacts: {names}")
        return "\n".join(lines)


def _name(i: int, j: int) -> str:
    return f"{i} - {j}" if j >= 0 else f"{i} - wall {-1 - j}"
