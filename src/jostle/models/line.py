"""Balls on a line: Newton's cradle and a chain on a wall (Bourdin & Maury 2020, sections 2 and 6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, Finite, Natural, NotNegative, check_arguments
from jostle._tools.arrays import finite
from jostle.laws import Restitution
from jostle.problems import Motion
from jostle.sets.balls import Line


@check_arguments
def cradle(
    n: Count = 5,
    *,
    gap: NotNegative = 0.0,
    radius: NotNegative = 0.5,
    striking: Natural = 1,
    e: float = 1.0,
    mass: ArrayLike = 1.0,
) -> Motion:
    """Newton's cradle: n balls in a row, the first `striking` of which arrive together with velocity 1.

    The balls at rest are `gap` apart. If they touch (gap = 0), Moreau's law moves all of them at once. If they are
    apart, they collide two by two and only the last flies off: the result is discontinuous at gap = 0. The striking
    balls start at a distance of gap from the others or, if gap is 0, of one diameter.

    The collisions are a time `gap` apart (the velocity is 1). `Paoli` tells them apart with time steps h <= gap / 2,
    and warns (`CloseImpacts`) if h is too large. Short steps are needed only while balls collide: h may be an array.
    `MoreauJean` resolves the collisions one by one with any h, but the balls overlap by up to h / 2.

    Parameters
    ----------
    n : int, default 5
        Number of balls, at least 1.
    gap : float, default 0.0
        Distance between neighbouring balls at rest, in the unit of `radius`.
    radius : float, default 0.5
        Radius of each ball.
    striking : int, default 1
        Number of balls that arrive with velocity 1.
    e : float, default 1.0
        Restitution coefficient, between 0 and 1.
    mass : float or array_like, shape (n,), default 1.0
        Mass of each ball.

    Returns
    -------
    Motion
        The second-order problem with the n positions on the line as coordinates.

    Examples
    --------
    >>> import jostle as jo
    >>> touching, apart = jo.models.cradle(5), jo.models.cradle(5, gap=0.1)
    >>> jo.solve(touching, jo.Paoli(), t=3.0, h=0.01).u[-1].round(9).tolist()
    [-0.6, 0.4, 0.4, 0.4, 0.4]
    >>> (jo.solve(apart, jo.Paoli(), t=3.0, h=0.01).u[-1].round(9) + 0.0).tolist()
    [0.0, 0.0, 0.0, 0.0, 1.0]
    >>> narrow = jo.models.cradle(5, gap=1e-4)
    >>> h = np.concatenate([np.full(20, 5e-5), np.full(100, 0.01)])
    >>> (jo.solve(narrow, jo.Paoli(), t=h.sum(), h=h).u[-1].round(9) + 0.0).tolist()
    [0.0, 0.0, 0.0, 0.0, 1.0]
    >>> (jo.solve(narrow, jo.MoreauJean(), t=1.0, h=0.01).u[-1].round(9) + 0.0).tolist()
    [0.0, 0.0, 0.0, 0.0, 1.0]
    """
    finite(gap, "gap")
    strikes = np.arange(n) < striking
    centres = 2.0 * radius * np.arange(n)
    centres += np.where(strikes, 0.0, (gap or 2.0 * radius) + gap * (np.arange(n) - striking))
    return Motion(q0=centres, v0=strikes.astype(float), within=Line(np.full(n, radius)), mass=mass, law=Restitution(e))


@check_arguments
def chain(
    n: Count = 6,
    *,
    radius: NotNegative = 0.5,
    height: NotNegative = 0.0,
    gravity: Finite = 9.81,
    e: float = 0.0,
    mass: ArrayLike = 1.0,
) -> Motion:
    """A vertical column of n touching balls above a floor.

    Parameters
    ----------
    n : int, default 6
        Number of balls, at least 1.
    radius : float, default 0.5
        Radius of each ball.
    height : float, default 0.0
        Height of the lowest point of the column above the floor, in the unit of `radius`.
    gravity : float, default 9.81
        Gravitational acceleration, downwards.
    e : float, default 0.0
        Restitution coefficient, between 0 and 1.
    mass : float or array_like, shape (n,), default 1.0
        Mass of each ball, from the lowest to the highest.

    Returns
    -------
    Motion
        The second-order problem with the n heights as coordinates.

    Examples
    --------
    >>> import jostle as jo
    >>> sol = jo.solve(jo.models.chain(3, gravity=1.0), jo.Maury(), t=0.1, h=0.1)
    >>> (sol.multipliers[-1] / 0.1).round(12).tolist()          # each contact carries the balls above it
    [3.0, 2.0, 1.0]
    """
    centres = height + radius * (1.0 + 2.0 * np.arange(n))
    weight = -gravity * np.broadcast_to(np.asarray(mass, dtype=float), (n,))
    floor = Line(np.full(n, radius), lower=0.0)
    return Motion(q0=centres, force=weight, within=floor, mass=mass, law=Restitution(e))
