"""Balls on a line, in a rack, in a box and in a labyrinth.

Newton's cradle and a chain on a wall: Bourdin & Maury 2020, sections 2 and 6. The break of a rack: many simultaneous
impacts in the plane. Discs or spheres that settle in a box: Bernicot & Lefebvre-Lepot 2010, section 4. The ball in a
labyrinth of holes, driven by the tilt of the board: Venel 2009, section 4.1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, Finite, Natural, NotNegative, Positive, check_arguments
from jostle._tools.arrays import Array, finite
from jostle.bodies import body_radii
from jostle.errors import InvalidValue
from jostle.laws import Restitution
from jostle.problems import Motion, Sweeping
from jostle.sets.balls import Balls, Line
from jostle.sets.walls import Box, Outside


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


@check_arguments
def rack(rows: Count = 4, *, radius: Positive = 0.5, gap: NotNegative = 0.0, e: float = 0.0) -> Motion:
    """A cue ball (body 0) that moves with velocity (1, 0) towards the apex of a triangular rack of touching discs.

    With four rows or more there are more contacts than velocity components: the multipliers are not unique, the
    velocities are.

    Parameters
    ----------
    rows : int, default 4
        Number of rows of the rack, which holds rows (rows + 1) / 2 discs.
    radius : float, default 0.5
        Radius of all discs.
    gap : float, default 0.0
        Distance between the cue ball and the apex at the start, in the unit of `radius`.
    e : float, default 0.0
        Restitution coefficient, between 0 and 1.

    Returns
    -------
    Motion
        The second-order problem in the plane.

    Examples
    --------
    >>> import jostle as jo
    >>> break_ = jo.models.rack(rows=3)
    >>> contacts = break_.within.linearise(0.0, break_.q0)
    >>> jo.impact(break_.v0, contacts.cone()).velocity[0].round(9).tolist()
    [0.193548387, 0.0]
    """
    d = 2.0 * radius
    centres = [[-d - gap, 0.0]]
    for row in range(rows):
        for k in range(row + 1):
            centres.append([row * d * np.sqrt(3.0) / 2.0, (k - row / 2.0) * d])
    q0 = np.array(centres)
    v0 = np.zeros_like(q0)
    v0[0, 0] = 1.0
    return Motion(q0=q0, v0=v0, within=Balls(np.full(len(q0), radius)), law=Restitution(e))


START_SPACING = 1.02
"""Spacing of the lattice at the start, in multiples of the largest diameter."""


@check_arguments
def spheres(radii: ArrayLike, *, box: tuple[ArrayLike, ArrayLike], gravity: Finite = 9.81, seed: Natural = 0) -> Motion:
    """Discs or spheres of unit density that fall from a loose lattice into a box.

    The last axis is vertical. The balls stand on the lattice in the order of `radii`, from the floor upwards, each
    shifted a little sideways at random.

    Parameters
    ----------
    radii : array_like, shape (n,)
        Radius of each ball, positive.
    box : pair of array_like, shape (d,)
        Lower and upper corner of the box, d = 2 or 3. The upper end of the last axis may be infinite.
    gravity : float, default 9.81
        Gravitational acceleration, downwards.
    seed : int, default 0
        Seed of the random shifts.

    Returns
    -------
    Motion
        The second-order problem. The mass of a ball is its area in 2-D, its volume in 3-D.

    Examples
    --------
    >>> import jostle as jo
    >>> heap = jo.models.spheres(np.full(12, 0.5), box=([0, 0], [4, np.inf]))
    >>> sol = jo.solve(heap, jo.Maury(), t=1.0, h=0.01)
    >>> bool(sol.gaps().min() >= -1e-8)
    True
    """
    lower, upper = finite(box[0], "box"), np.asarray(box[1], dtype=float)
    size = finite(radii, "radii")
    size = body_radii(size, size.size, 0.0)
    d = len(lower)
    random = np.random.default_rng(seed)
    q0 = _lattice(len(size), 2.0 * START_SPACING * float(size.max()), lower, upper)
    q0[:, :-1] += random.uniform(-0.5, 0.5, (len(size), d - 1)) * (START_SPACING - 1.0) * size.max()
    mass = np.pi * size**2 if d == 2 else 4.0 / 3.0 * np.pi * size**3
    weight = np.zeros((len(size), d))
    weight[:, -1] = -gravity * mass
    within = Balls(size) & Box(lower, upper, radii=size)
    return Motion(q0=q0, force=weight, mass=mass, within=within)


def _lattice(n: int, spacing: float, lower: Array, upper: Array) -> Array:
    """n points of a cubic lattice, from the floor upwards, at least half a spacing away from the walls."""
    width = upper[:-1] - lower[:-1]
    if not np.isfinite(width).all():
        raise InvalidValue(f"only the top of the box may be open; upper is {upper.tolist()}")
    counts = np.floor(width / spacing).astype(int)
    if (counts < 1).any():
        raise InvalidValue(f"the box is {width.min():g} wide, the largest ball needs {spacing:g}")
    layer = int(np.prod(counts))
    index = np.unravel_index(np.arange(n) % layer, tuple(counts))
    heights = (np.arange(n) // layer + 0.5) * spacing
    if heights[-1] + spacing / 2.0 > upper[-1] - lower[-1]:
        raise InvalidValue(
            f"the box is {upper[-1] - lower[-1]:g} high; {n} balls on the initial lattice need "
            f"{heights[-1] + spacing / 2.0:g}"
        )
    columns = [(k + 0.5) * w / count for k, w, count in zip(index, width, counts, strict=True)]
    return np.stack([*columns, heights], axis=1) + lower


HOLES = np.array([[1.4, 0.8], [2.1, 2.2], [2.9, 0.9], [3.4, 2.9], [4.2, 1.5], [4.9, 3.1], [5.2, 0.7]])
"""Centres of the holes in the board [0, 6] x [0, 4]; the radius of each is 1/2."""
TILTS = ((0.0, (1.0, 0.3)), (5.0, (0.2, 1.0)), (7.5, (1.0, -0.15)))
"""Start time of each tilt of the board, with the velocity that it gives a free ball."""


@check_arguments
def labyrinth(q0: tuple[float, float] = (0.5, 0.6)) -> Sweeping:
    """A ball that slides around holes and along walls while the board is tilted in three directions in turn.

    The board is the rectangle [0, 6] x [0, 4] with seven holes of radius 1/2. The ball is a point with two coordinates.

    Parameters
    ----------
    q0 : pair of float, default (0.5, 0.6)
        Position of the ball at the start, on the board and outside the holes.

    Returns
    -------
    Sweeping
        The first-order problem, for `Venel` or `CatchingUp`.

    Examples
    --------
    >>> import jostle as jo
    >>> sol = jo.solve(jo.models.labyrinth(), jo.Venel(), t=10.0, h=0.01)
    >>> bool(sol.gaps().min() >= -1e-9)
    True
    """

    def tilt(t: float, q: Array) -> tuple[float, float]:
        return [velocity for start, velocity in TILTS if t >= start][-1]

    return Sweeping(q0=list(q0), velocity=tilt, within=Box([0.0, 0.0], [6.0, 4.0]) & Outside(HOLES, 0.5))
