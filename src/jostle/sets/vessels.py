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

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, InTime, at, contiguous, dot, finite, frozen, place_of
from jostle.errors import InvalidValue
from jostle.sets.surfaces import Lines, Surfaces, limit_of_each
from jostle.sets.walls import Obstacles, same_number

# Surfaces of revolution and their staves: the walls of a `Vessel` at one time.


ON_AXIS = 8 * float(np.finfo(float).eps)
"""Nearer to the axis than this fraction of the distance from the base, the direction e_rho is round-off."""


@dataclass(frozen=True, eq=False, slots=True)
class Revolution(Surfaces):
    """Distances from parts, |(rho, z) - P (rho, z)|, then from staves, which are never nearer than their parts."""

    parts: Lines
    """In the half-plane (rho, z) through x."""
    base: Array
    axis: Array
    across: Array
    """The direction e_rho of points on the axis, where any would do."""
    outwards: Array
    """(staves, 3) outward directions e_j of the staves."""
    of_part: Integers
    """The part that each stave belongs to."""
    straight: ClassVar[bool] = False

    @classmethod
    def around(cls, axis: Array, base: Array, profile: Array, with_staves: Integers, staves: int) -> Revolution:
        across = np.eye(3)[np.argmin(np.abs(axis))]
        across = across - (across @ axis) * axis
        across /= np.linalg.norm(across)
        angle = 2.0 * np.pi * np.arange(staves) / max(staves, 1)
        outwards = np.outer(np.cos(angle), across) + np.outer(np.sin(angle), np.cross(axis, across))
        parts = Lines.between(profile[:-1], profile[1:])
        repeated = np.tile(outwards, (len(with_staves), 1))
        return cls(parts, base, axis, across, repeated, np.repeat(with_staves, staves))

    def distances(self, x: Array) -> Array:
        body = np.tile(place_of(x).arange(len(x)), len(self.of_part))
        stave = np.repeat(place_of(x).arange(len(self.of_part)), len(x))
        to_staves = _norms(self._from_staves(x[body], stave)).reshape(-1, len(x))
        return np.concatenate([self._to_parts(x), to_staves]).T

    def nearest(self, x: Array) -> Array:
        nearest: Array = self._to_parts(x).min(axis=0)
        return nearest

    def near(self, x: Array, limit: Array | float) -> tuple[Integers, Array]:
        to_parts = self._to_parts(x)
        part, body = np.nonzero(~(to_parts > limit))
        of, stave = np.nonzero(part[:, None] == self.of_part)
        to_staves = _norms(self._from_staves(x[body[of]], stave))
        kept = ~(to_staves > limit_of_each(limit, x)[body[of]])
        k = len(self.parts.start) + len(self.of_part)
        row = np.concatenate([body * k + part, (body[of] * k + len(self.parts.start) + stave)[kept]])
        order = np.argsort(row)
        return row[order], np.concatenate([to_parts[part, body], to_staves[kept]])[order]

    def slopes(self, x: Array, wall: Integers) -> tuple[Array, None]:
        from_wall = np.empty_like(x)
        stave = wall >= len(self.parts.start)
        from_wall[stave] = self._from_staves(x[stave], wall[stave] - len(self.parts.start))
        from_wall[~stave] = self._from_parts(x[~stave], wall[~stave])
        distance = _norms(from_wall)
        distance[distance == 0.0] = 1.0
        return from_wall / distance[:, None], None

    def hit(self, after: Revolution, x: Array, y: Array, wall: Integers) -> Booleans:
        # A stave allows what its part allows: only parts are hit.
        part = np.minimum(wall, len(self.parts.start) - 1)
        (_, *here), (_, *there) = self._half_plane(x), after._half_plane(y)
        through = self.parts.hit(after.parts, np.stack(here, axis=1), np.stack(there, axis=1), part)
        return through & (wall < len(self.parts.start))

    def sway(self, after: Revolution) -> float:
        ends = np.concatenate([self.parts.start, self.parts.start + self.parts.along])
        turned = float(np.linalg.norm(after.axis - self.axis)) * float(np.linalg.norm(ends, axis=1).max())
        return self.parts.sway(after.parts) + float(np.linalg.norm(after.base - self.base)) + turned

    def _half_plane(self, x: Array) -> tuple[Array, Array, Array]:
        """rho e_rho, as (3, n), rho and z."""
        from_base = contiguous(x.T - self.base[:, None])
        z = dot(from_base.T, self.axis)
        radial = from_base - self.axis[:, None] * z
        return radial, np.sqrt((radial * radial).sum(axis=0)), z

    def _to_parts(self, x: Array) -> Array:
        """(parts, n) distances."""
        _, rho, z = self._half_plane(x)
        first, second, _ = self.parts.apart(rho, z)
        distances: Array = np.sqrt(first * first + second * second)
        return distances

    def _from_parts(self, x: Array, part: Integers) -> Array:
        """x - P x, each for one part."""
        radial, rho, z = self._half_plane(x)
        on_axis = rho <= ON_AXIS * (np.abs(z) + rho)
        radial = np.where(on_axis, self.across[:, None], radial)
        first, second, _ = self.parts.apart(rho, z, part)
        return (first / np.where(on_axis, 1.0, rho) * radial + second * self.axis[:, None]).T

    def _from_staves(self, x: Array, stave: Integers) -> Array:
        """x - P x, each for one stave: as wide as it likes if the part surrounds x, otherwise a line."""
        radial, rho, z = self._half_plane(x)
        part, outwards = self.of_part[stave], self.outwards[stave].T
        surrounded = self.parts.apart(rho, z, part)[0] < 0.0
        forward = (outwards * radial).sum(axis=0)
        first, second, _ = self.parts.apart(forward, z, part)
        sideways = np.where(surrounded, 0.0, radial - forward * outwards)
        return (first * outwards + sideways + second * self.axis[:, None]).T


def _norms(vectors: Array) -> Array:
    norms: Array = np.sqrt(np.einsum("md,md->m", vectors, vectors))
    return norms


def vector_at(value: InTime, name: str, t: float) -> Array:
    vector = finite(at(value, t), f"{name} of the vessel at t = {t:g}")
    if vector.shape != (3,):
        raise InvalidValue(
            f"{name} of the vessel has shape {vector.shape}; a vessel lives in space, its {name} is (3,)"
        )
    return vector


def level_parts(profile: Array) -> Booleans:
    """The parts that are level and reach the axis: a floor without a hole needs no staves."""
    a, b = profile[:-1], profile[1:]
    return np.asarray((a[:, 1] == b[:, 1]) & (np.minimum(a[:, 0], b[:, 0]) == 0.0))


STAVES = 6
"""Default number of staves of each part."""


@check_arguments
class Vessel(Obstacles):
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

    Examples
    --------
    >>> hopper, top = [(0.2, 0.0), (1.0, 1.0)], (1.0, 3.0)
    >>> silo = Vessel([*hopper, top], radii=0.125)
    >>> silo.gap(0.0, [0.5, 0.0, 2.0]), round(silo.gap(0.0, [0.0, 0.0, 0.0]), 12)
    (0.375, 0.075)
    >>> silo.linearise(0.0, np.array([[0.5, 0.0, 2.0], [0.0, 0.5, 2.0]]), cutoff=0.4).describe(0)
    'body 0 and vessel part 1'
    """

    convex_gaps = False
    curved = thin = on_devices = True

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
