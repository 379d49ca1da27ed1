"""Two motions of a particle above a floor under one force, and how well each satisfies the equations of motion.

That a force may allow two motions was shown by Schatzman 1978; Ballard 2000 gave the example of `counterexamples`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array
from jostle.sets.walls import HalfSpace

FLOOR = HalfSpace([1.0])
GAUSS_POINTS = 12
"""Number of quadrature points for the integral of the force over one interval."""
FLOOR_TOLERANCE = 1e-12
"""The particle is at the floor if its height is at most this fraction of its largest height."""


class FloorMotion(Protocol):
    """The motion of a particle above a floor."""

    def q(self, t: ArrayLike) -> Array:
        """Heights at some times."""
        ...

    def u(self, t: ArrayLike) -> Array:
        """Velocities at some times; at the time of an impact, the velocity after it."""
        ...

    def changes(self, start: float, end: float) -> Array:
        """Times in an interval at which the particle lands, hits the floor or takes off."""
        ...


class Conditions(NamedTuple):
    """Errors of a motion, relative to its largest height or velocity; for a solution all of them are round-off."""

    overlap: float
    """Largest depth below the floor."""
    position: float
    """Largest difference between the change of q and the integral of u."""
    momentum: float
    """Largest impulse of the floor while the particle is above it."""
    pull: float
    """Largest impulse with which the floor pulls the particle."""
    law: float
    """Largest |u+ + e u-| at an impact."""


@dataclass(frozen=True, eq=False)
class TwoMotions:
    """One force and the two motions that it allows, for start <= t <= end.

    Attributes
    ----------
    force : callable (t) -> float
        The force on the particle of mass 1.
    e : float
        Restitution coefficient at the floor.
    first : FloorMotion
        The first motion: ``q(t)`` and ``u(t)`` are its heights and velocities at one time or several.
    second : FloorMotion
        The second motion.
    start : float
        Start of the interval in which `check` looks. Both motions continue down to t = 0 in the same way.
    end : float
        End of the interval in which `check` looks.
    jumps : callable (start, end) -> array
        Times in an interval at which the force jumps.

    Examples
    --------
    >>> import jostle as jo
    >>> pair = jo.models.two_inelastic_motions()
    >>> [motion.q(1.0).round(7).tolist() for motion in (pair.first, pair.second)]
    [0.0, 0.0171875]
    >>> max(max(errors) for errors in pair.check()) < 1e-12
    True
    """

    force: Callable[[float], float]
    e: float
    first: FloorMotion
    second: FloorMotion
    start: float
    end: float
    jumps: Callable[[float, float], Array]

    def check(self, start: float | None = None, end: float | None = None) -> tuple[Conditions, Conditions]:
        """Measure how well both motions satisfy the conditions of a solution in an interval of time.

        Parameters
        ----------
        start : float, optional
            Start of the interval, positive. By default it is the field `start`.
        end : float, optional
            End of the interval. By default it is the field `end`.

        Returns
        -------
        pair of Conditions
            The largest errors of the first and of the second motion, relative to its largest height or velocity:
            overlap, position, momentum, pull, law. All of them are round-off for a solution.
        """
        a, b = self.start if start is None else start, self.end if end is None else end
        return self._conditions(self.first, a, b), self._conditions(self.second, a, b)

    def _conditions(self, motion: FloorMotion, start: float, end: float) -> Conditions:
        """The errors of one motion. The time is cut where the force jumps and where the particle lands or takes off."""
        even = np.geomspace(start, end, 400) if start > 0.0 else np.linspace(start, end, 400)
        t = np.unique(np.concatenate([even, self.jumps(start, end), motion.changes(start, end)]))
        t = t[np.concatenate([[True], np.diff(t) > 1e-13 * end])]
        x, weights = np.polynomial.legendre.leggauss(GAUSS_POINTS)
        half = np.diff(t)[:, None] / 2.0
        nodes = t[:-1, None] + half * (1.0 + x)
        forces = np.array([[self.force(s) for s in row] for row in nodes])
        q, u, inside = motion.q(t), motion.u(t), motion.u(nodes.ravel()).reshape(nodes.shape)
        high, fast = float(np.abs(q).max()) or 1.0, float(np.abs(u).max()) or 1.0
        pushed = (half * forces) @ weights
        reaction = np.diff(u) - pushed
        above = motion.q(nodes.ravel()).reshape(nodes.shape).min(axis=1) > FLOOR_TOLERANCE * high
        lands = above & (q[1:] <= FLOOR_TOLERANCE * high)
        before = (u[:-1] + pushed)[lands]
        return Conditions(
            abs(float(q.min(initial=0.0))) / high,
            float(np.abs(np.diff(q) - (half * inside) @ weights).max()) / high,
            float(np.abs(reaction[above & ~lands]).max(initial=0.0)) / fast,
            float((-reaction).max(initial=0.0)) / fast,
            float(np.abs(u[1:][lands] + self.e * before).max(initial=0.0)) / fast,
        )
