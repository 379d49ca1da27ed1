"""Surfaces of revolution and their staves: the walls of a `Vessel` at one time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jostle.arrays import Array, Booleans, Integers, InTime, at, contiguous, dot, finite, place_of
from jostle.errors import InvalidValue
from jostle.sets.surfaces import Lines, Surfaces, limit_of_each

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
        """A stave allows what its part allows: only parts are hit."""
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
