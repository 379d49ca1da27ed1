"""Systems that hit a stop: impact oscillator, double pendulum, ball on a vibrating table (Paoli 2005 and 2010)."""

from __future__ import annotations

from functools import partial

import numpy as np

from jostle._tools.arguments import Finite, check_arguments
from jostle._tools.arrays import Array
from jostle.laws import Restitution
from jostle.problems import Motion
from jostle.sets.walls import HalfSpace

TURN = 2.0 * np.pi
"""Angular frequency of a table that oscillates once per unit of time."""


@check_arguments
def impact_oscillator(
    *, omega: Finite = 2.6, stop: Finite = 0.0, e: float = 0.8, x0: Finite = -0.5, v0: Finite = 0.0
) -> Motion:
    """The Shaw-Holmes oscillator: x'' + x = cos(omega t) with a stop, x <= stop.

    Parameters
    ----------
    omega : float, default 2.6
        Angular frequency of the drive, in units of the natural frequency.
    stop : float, default 0.0
        Position of the stop.
    e : float, default 0.8
        Restitution coefficient at the stop, between 0 and 1.
    x0 : float, default -0.5
        Position at the start, at most `stop`.
    v0 : float, default 0.0
        Velocity at the start.

    Returns
    -------
    Motion
        The second-order problem with the coordinate x.

    Examples
    --------
    >>> import jostle as jo
    >>> sol = jo.solve(jo.models.impact_oscillator(), jo.Paoli(), t=10.0, h=0.01)
    >>> len(sol.impacts()) > 2
    True
    """
    return Motion(
        q0=[x0], v0=[v0], force=partial(_driven, omega),
        within=HalfSpace([-1.0], -stop), law=Restitution(e),
    )  # fmt: skip


def _driven(omega: float, t: float, q: Array) -> Array:
    return np.asarray(np.cos(omega * t) - q)


@check_arguments
def double_pendulum(*, angles: tuple[Finite, Finite] = (0.6, 0.2), e: float = 0.5, gravity: Finite = 9.81) -> Motion:
    """Two unit point masses on unit rods, where a stop keeps the first angle at theta_1 >= 0.

    The mass matrix M(theta) depends on the angles, which are measured from the downward vertical.

    Parameters
    ----------
    angles : pair of float, default (0.6, 0.2)
        Angles of both rods at the start, in radians. The first is 0 or more.
    e : float, default 0.5
        Restitution coefficient at the stop, between 0 and 1.
    gravity : float, default 9.81
        Gravitational acceleration, in rod lengths per time squared.

    Returns
    -------
    Motion
        The second-order problem with the two angles as coordinates, for `Paoli`.

    Examples
    --------
    >>> import jostle as jo
    >>> sol = jo.solve(jo.models.double_pendulum(), jo.Paoli(), t=1.0, h=1e-3)
    >>> sol.impacts().t.round(2).tolist()
    [0.46]
    """
    return Motion(
        q0=list(angles), force=partial(_of_pendulum, gravity), mass=_mass_of_pendulum,
        within=HalfSpace([1.0, 0.0]), law=Restitution(e),
    )  # fmt: skip


def _mass_of_pendulum(q: Array) -> Array:
    coupling = np.cos(q[0] - q[1])
    return np.array([[2.0, coupling], [coupling, 1.0]])


def _of_pendulum(gravity: float, t: float, q: Array, u: Array) -> Array:
    sine = np.sin(q[0] - q[1])
    return np.array([-sine * u[1] ** 2 - 2.0 * gravity * np.sin(q[0]), sine * u[0] ** 2 - gravity * np.sin(q[1])])


@check_arguments
def vibrating_table(Gamma: Finite = 2.0, *, e: float = 0.0, height: Finite = 0.0) -> Motion:
    """A ball on a table whose height is A sin(2 pi t), under gravity 1: it takes off if Gamma > 1.

    Gamma = A (2 pi)^2 is the largest acceleration of the table, in units of gravity. For e = 0 the coordinate is the
    height of the ball in space, and the table moves (use `Maury`). For e > 0 the coordinate is the height of the ball
    above the table (use `Paoli`), and the acceleration of the table appears as a force. In both cases the ball starts
    with the velocity of the table.

    Parameters
    ----------
    Gamma : float, default 2.0
        Largest acceleration of the table divided by gravity.
    e : float, default 0.0
        Restitution coefficient, between 0 and 1.
    height : float, default 0.0
        Height of the ball above the table at the start, 0 or more.

    Returns
    -------
    Motion
        The second-order problem with one coordinate; time is in periods of the table.

    Examples
    --------
    >>> import jostle as jo
    >>> sol = jo.solve(jo.models.vibrating_table(2.0), jo.Maury(), t=1.0, h=1e-3)
    >>> float(sol.q.max().round(3))                              # the table reaches 0.051 only
    0.063
    """
    amplitude = Gamma / TURN**2
    if e == 0.0:
        table = HalfSpace([1.0], offset=partial(_sine, amplitude))
        return Motion(q0=[height], v0=[amplitude * TURN], force=[-1.0], within=table)
    return Motion(
        q0=[height], force=partial(_above_table, Gamma),
        within=HalfSpace([1.0]), law=Restitution(e),
    )  # fmt: skip


def _sine(amplitude: float, t: float) -> float:
    return float(amplitude * np.sin(TURN * t))


def _above_table(Gamma: float, t: float, q: Array) -> list[float]:
    return [-1.0 + Gamma * np.sin(TURN * t)]
