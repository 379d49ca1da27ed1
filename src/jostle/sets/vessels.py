"""Vessels: surfaces of revolution as walls for balls. Cylinder, cone, hopper, silo, hourglass.

In the half-plane (rho, z) of distance from the axis and height along it a vessel is a polyline, and the gap of a ball
and one part of it is

    g = |(rho, z) - P (rho, z)| - r,      grad g = n_rho e_rho + n_z axis,

with P the nearest point of the part and n the unit vector from it: the wall is thin, rims are rings. Around the
circumference the gap is concave, as that of `Inside`: a linearised step of length l along the wall ends l^2 / 2 rho
too far out, and the next one brings it back.

Near the axis that is no small number: g has a kink there, the wall is equally far on all sides, and the one row of the
nearest side does not contain the others. So every part also has staves, as a barrel has, flat boards that touch it from
outside at fixed angles. For a ball that the part surrounds (P is further from the axis than the ball), the gap of the
stave at e_j is the same formula with e_j . q in the place of rho: never smaller than g, and convex. It allows what
the wall allows, and a ball in the tip of a cone rests on it. For all other balls a stave is only the line in which it
touches the wall.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from jostle.arguments import check_arguments
from jostle.arrays import Array, InTime, finite, frozen
from jostle.errors import InvalidValue
from jostle.sets.revolution import Revolution, level_parts, vector_at
from jostle.sets.surfaces import Surfaces
from jostle.sets.wall_sets import Walls, same_number

STAVES = 6
"""Default number of staves of each part."""


@check_arguments
class Vessel(Walls):
    """The wall that a polyline makes when it turns around an axis, for balls on either side: silo, hopper, hourglass.

    Two points of equal radii make a cylinder, two others a cone; a part of constant height is a floor, or a lid with a
    hole. Everything may be a function of time: a silo that is shaken, a bottle that tilts.

    Parameters
    ----------
    profile : array_like, shape (k, 2), or callable (t) -> array
        Points (radius, height) of the polyline.
    radii : float, array_like, shape (n,), or callable (t) -> array, optional
        Radii of the balls. None: those of the `Balls` in an intersection.
    axis : array_like, shape (3,), or callable (t) -> array, default (0, 0, 1)
        Direction of the axis, of any length but 0.
    base : array_like, shape (3,), or callable (t) -> array, default (0, 0, 0)
        The point of the axis that heights are counted from.
    staves : int, default 6
        Number of flat boards for each part that hold a ball near the axis; 0 is enough for a wide vessel.

    Raises
    ------
    InvalidValue
        If the profile is not a polyline of two points or more with radii that are not negative, the axis is zero, or
        `staves` is negative.

    Examples
    --------
    >>> hopper, top = [(0.2, 0.0), (1.0, 1.0)], (1.0, 3.0)
    >>> silo = Vessel([*hopper, top], radii=0.125)
    >>> silo.gap(0.0, [0.5, 0.0, 2.0]), round(silo.gap(0.0, [0.0, 0.0, 0.0]), 12)
    (0.375, 0.075)
    >>> silo.linearise(0.0, np.array([[0.5, 0.0, 2.0], [0.0, 0.5, 2.0]]), reach=0.4).describe(0)
    'body 0 and vessel part 1'
    """

    convex_gaps = False
    curved = passable = thin = on_devices = True

    def __init__(
        self,
        profile: InTime,
        *,
        radii: InTime | None = None,
        axis: InTime = (0.0, 0.0, 1.0),
        base: InTime = (0.0, 0.0, 0.0),
        staves: int = STAVES,
    ):
        super().__init__(radii, profile, axis, base)
        self.profile, self.axis, self.base = frozen(profile), frozen(axis), frozen(base)
        self.dimension, self.staves = 3, staves
        if isinstance(staves, float) or staves < 0:
            raise InvalidValue(f"a vessel cannot have {staves} staves; use 6, or 0 for a wide vessel")
        first = _profile(profile, 0.0)
        self._discs = level_parts(first)
        self.names = tuple(f"vessel part {k}" for k in range(len(first) - 1)) + tuple(
            f"stave {j} of vessel part {k}" for k in np.flatnonzero(~self._discs) for j in range(staves)
        )
        self._surfaces(0.0)

    def _surfaces(self, t: float) -> Surfaces:
        profile = _profile(self.profile, t)
        same_number(self._discs, len(profile) - 1, "vessel part", t)
        base, along = vector_at(self.base, "base", t), vector_at(self.axis, "axis", t)
        size = float(np.linalg.norm(along))
        if size == 0.0:
            raise InvalidValue(f"the axis of a vessel is a direction such as (0, 0, 1); at t = {t:g} it is zero")
        return Revolution.around(along / size, base, profile, np.flatnonzero(~self._discs), self.staves)


def _profile(profile: InTime, t: float) -> Array:
    """(points, 2) the profile at time t, checked."""
    name = f"profile at t = {t:g}" if callable(profile) else "profile"
    points = finite(profile(t) if callable(profile) else profile, name)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < 2:
        raise InvalidValue(
            f"{name} has shape {points.shape}; it is a list of two or more points (radius, height), such as "
            f"[(1.0, 0.0), (1.0, 2.0)] for a cylinder"
        )
    if points[:, 0].min() < 0.0:
        k = int(np.argmin(points[:, 0]))
        raise InvalidValue(
            f"point {k} of the {name} has radius {points[k, 0]:g}; a distance from the axis is not negative, and "
            f"points are (radius, height), in this order"
        )
    for k, (a, b) in enumerate(pairwise(points)):
        if (a == b).all():
            raise InvalidValue(f"points {k} and {k + 1} of the {name} are the same, {a.tolist()}; drop one of them")
        if a[0] == b[0] == 0.0:
            raise InvalidValue(
                f"points {k} and {k + 1} of the {name} are both on the axis, which makes a needle along it; end the "
                f"profile there, it need not be closed"
            )
    return points
