"""Problems with two solutions: one particle above a floor, one force, one initial state, two motions.

    q'' = f(t) + reaction,   q >= 0,   u+ = -e u- at impacts,   q(0) = u(0) = 0

All three forces change infinitely often as t tends to 0 (Schatzman 1978, Ballard 2000; Bourdin & Maury 2020, Fig. 9).
Both motions are computed without time steps, and `check` measures how well each satisfies the conditions above.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, finite
from jostle.errors import InvalidValue
from jostle.events.solution import EventSolution
from jostle.events.solve import solve_by_events
from jostle.laws import Restitution
from jostle.problems import Motion
from jostle.sets.walls import HalfSpace

# Two motions of a particle above a floor under one force, and how well each satisfies the equations of motion.
#
# That a force may allow two motions was shown by Schatzman 1978; Ballard 2000 gave the example of `counterexamples`.


FLOOR = HalfSpace([1.0])
GAUSS_POINTS = 12
"""Number of quadrature points for the integral of the force over one interval."""
FLOOR_TOLERANCE = 1e-12
"""The particle is at the floor if its height is at most this fraction of its largest height."""


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
    first : SelfSimilar or Heights
        The first motion: ``q(t)`` and ``u(t)`` are its heights and velocities at one time or several.
    second : SelfSimilar or Heights
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
    first: SelfSimilar | Heights
    second: SelfSimilar | Heights
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

    def _conditions(self, motion: SelfSimilar | Heights, start: float, end: float) -> Conditions:
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


SMOOTH_FORCE_END = 0.28
"""Time up to which both motions under the smooth force fly over every second pulse."""


@dataclass(frozen=True, eq=False)
class SelfSimilar:
    """A motion with q(r t) = r^2 q(t), made of parabolas in [start, r start)."""

    starts: Array
    """(k,) start times of the parabolas in the first period."""
    parabolas: Array
    """(k, 3) position, velocity and acceleration at the start times."""
    ratio: float
    """r, the ratio between the lengths of successive periods."""

    def q(self, t: ArrayLike) -> Array:
        """Heights at some times."""
        scale, s, (x, v, a) = self._piece(t)
        return np.asarray(scale**2 * (x + s * v + 0.5 * s * s * a))

    def u(self, t: ArrayLike) -> Array:
        """Velocities at some times."""
        scale, s, (_, v, a) = self._piece(t)
        return np.asarray(scale * (v + s * a))

    def changes(self, start: float, end: float) -> Array:
        """Times in an interval at which a parabola begins."""
        first = math.floor(math.log(start / self.starts[0], self.ratio))
        last = math.ceil(math.log(end / self.starts[0], self.ratio))
        return _between(np.concatenate([self.starts * self.ratio**k for k in range(first, last + 1)]), start, end)

    def _piece(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """The scale of the period that t is in, the scaled time since its parabola began, and that parabola."""
        times = finite(t, "t")
        if (times < 0.0).any():
            raise InvalidValue("t must be 0 or more")
        scale = np.zeros(times.shape)
        some = times > 0.0
        period = np.floor(np.log(times[some] / self.starts[0]) / math.log(self.ratio) + 1e-14)
        scale[some] = self.ratio**period
        local = np.divide(times, scale, out=np.full(times.shape, self.starts[0]), where=some)
        k = np.searchsorted(self.starts, local, side="right") - 1
        k = np.maximum(k, 0)
        return scale, local - self.starts[k], np.moveaxis(self.parabolas[k], -1, 0)


@dataclass(frozen=True, eq=False)
class Heights:
    """An event-driven motion of one coordinate."""

    run: EventSolution

    def q(self, t: ArrayLike) -> Array:
        """Heights at some times."""
        return self.run.q(t)[..., 0]

    def u(self, t: ArrayLike) -> Array:
        """Velocities at some times."""
        return self.run.u(t)[..., 0]

    def changes(self, start: float, end: float) -> Array:
        """Times in an interval at which a piece of the motion begins."""
        return _between(self.run.starts, start, end)


def two_inelastic_motions() -> TwoMotions:
    """Two motions with e = 0 under a force made of pulses: 1.6 on [2^n, 1.25 2^n) and -1 elsewhere, for all integers n.

    This is Fig. 9 of Bourdin & Maury 2020. The first motion takes off at t = 4^k, flies over the pulse at 2 4^k, lands
    and waits for the next pulse, which finds it at rest. The second motion does the same from t = 2 4^k on.

    Returns
    -------
    TwoMotions
        The force and both motions.

    Examples
    --------
    >>> import jostle as jo
    >>> pair = jo.models.two_inelastic_motions()
    >>> [motion.q([1.0, 2.0]).round(12).tolist() for motion in (pair.first, pair.second)]
    [[0.0, 0.06875], [0.0171875, 0.0]]
    """
    pulses = ((1.0, 1.6), (1.25, -1.0), (2.0, 1.6), (2.5, -1.0), (4.0, 1.6))

    def force(t: float) -> float:
        return 1.6 if math.frexp(t)[0] < 0.625 else -1.0

    first = _by_pulses(pulses)
    second = SelfSimilar(2.0 * first.starts, first.parabolas * np.array([4.0, 2.0, 1.0]), 4.0)
    return TwoMotions(force, 0.0, first, second, 2.0**-6, 4.0, _jumps(1.0, 1.25))


@check_arguments
def two_motions_with_restitution(e: float = 0.5) -> TwoMotions:
    """Two motions with e > 0 under a force that always presses: the particle rests, or it bounces with q(2 t) = 4 q(t).

    The force is -1 on [2^n, (1 + a) 2^n) and -(2 / e)^2 on [(1 + a) 2^n, 2^(n + 1)), with a = 2 / (2 + e), for all
    integers n. The bouncing particle leaves the floor at t = 2^n with velocity a 2^n.

    Parameters
    ----------
    e : float, default 0.5
        Restitution coefficient, above 0 and at most 1.

    Returns
    -------
    TwoMotions
        The force and both motions: the first rests, the second bounces.

    Examples
    --------
    >>> import jostle as jo
    >>> pair = jo.models.two_motions_with_restitution(0.5)
    >>> pair.first.q([1.0, 1.8]).tolist(), pair.second.q(1.8).round(12).tolist(), pair.second.u(1.0).tolist()
    ([0.0, 0.0], 0.32, 0.8)
    """
    if not Restitution(e).number > 0.0:
        raise InvalidValue("e must be positive; jo.models.two_inelastic_motions() has e = 0")
    a = 2.0 / (2.0 + e)
    strong = -((2.0 / e) ** 2)

    def force(t: float) -> float:
        return -1.0 if 2.0 * math.frexp(t)[0] < 1.0 + a else strong

    rest = SelfSimilar(np.array([1.0]), np.zeros((1, 3)), 2.0)
    up, down = [0.0, a, -1.0], [0.5 * a * a, 0.0, strong]
    bounces = SelfSimilar(np.array([1.0, 1.0 + a]), np.array([up, down]), 2.0)
    return TwoMotions(force, float(e), rest, bounces, 2.0**-6, 4.0, _jumps(1.0, 1.0 + a))


@cache
def two_motions_under_a_smooth_force() -> TwoMotions:
    """Two motions with e = 0 under the infinitely smooth force f(t) = exp(-1/t) (6 sin(1/t^3) - 1), f(0) = 0.

    The force becomes positive at t_n = (pi - asin(1/6) + 2 pi n)^(-1/3). One motion takes off at the times t_n with
    even n, the other at those with odd n. They are integrated from rest at t_40 and t_41; `start` is t_40.

    Returns
    -------
    TwoMotions
        The force and both motions.

    Examples
    --------
    >>> import jostle as jo
    >>> pair = jo.models.two_motions_under_a_smooth_force()
    >>> [f"{motion.q(0.28):.5e}" for motion in (pair.first, pair.second)]
    ['1.25841e-07', '2.59553e-07']
    """

    def force(t: float) -> float:
        return math.exp(-1.0 / t) * (6.0 * math.sin(t**-3) - 1.0) if t > 0.0 else 0.0

    starts = [(math.pi - math.asin(1.0 / 6.0) + 2.0 * math.pi * n) ** (-1.0 / 3.0) for n in (40, 41)]
    first, second = (_from_rest(force, start, SMOOTH_FORCE_END) for start in starts)
    return TwoMotions(force, 0.0, first, second, starts[0], SMOOTH_FORCE_END, lambda start, end: np.zeros(0))


def _from_rest(force: Callable[[float], float], start: float, end: float) -> Heights:
    problem = Motion(q0=[0.0], force=lambda t, q: [force(t)], within=FLOOR)
    return Heights(solve_by_events(problem, t=(start, end)))


def _by_pulses(pulses: tuple[tuple[float, float], ...]) -> SelfSimilar:
    """The inelastic motion from rest under a piecewise constant force, given by (start, value) of each piece."""
    starts, parabolas = [], []
    q, u = np.zeros(1), np.zeros(1)
    for (t, force), (until, _) in pairwise(pulses):
        run = solve_by_events(Motion(q0=q, v0=u, force=[force], within=FLOOR), t=until - t)
        starts.append(t + run.starts)
        parabolas.append(run.parabolas[:, :, 0])
        q, u = run.q(until - t), run.u(until - t)
    return SelfSimilar(np.concatenate(starts), np.concatenate(parabolas), pulses[-1][0] / pulses[0][0])


def _jumps(*places: float) -> Callable[[float, float], Array]:
    """A function that lists the times 2^n x in an interval, for all integers n and the given x."""

    def jumps(start: float, end: float) -> Array:
        octaves = range(math.floor(math.log2(start)) - 1, math.ceil(math.log2(end)) + 1)
        return _between(np.array([place * 2.0**n for n in octaves for place in places]), start, end)

    return jumps


def _between(times: Array, start: float, end: float) -> Array:
    return np.asarray(times[(times > start) & (times < end)])
