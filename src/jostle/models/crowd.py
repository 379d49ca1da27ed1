"""People who leave a room: Venel 2009, section 4.2, for convex rooms.

Everyone wishes to walk straight to the nearest door; the actual velocities are the nearest ones at which discs neither
overlap nor cross walls.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Booleans, finite
from jostle.errors import InvalidValue
from jostle.problems import Sweeping
from jostle.schemes.base import State
from jostle.sets.balls import Balls
from jostle.sets.walls import Segments

ON_EDGE = 1e-9


class Room:
    """A convex polygon with doors in its edges; corners counter-clockwise.

    >>> room = Room([(0, 0), (10, 0), (10, 8), (0, 8)], doors=[((10, 3.2), (10, 4.8))])
    >>> room.inside(np.array([[5.0, 4.0], [11.0, 4.0]])).tolist()
    [True, False]
    """

    def __init__(self, corners: ArrayLike, *, doors: ArrayLike):
        self.corners = finite(corners, "corners").reshape(-1, 2)
        self.doors = finite(doors, "doors").reshape(-1, 2, 2)
        if len(self.doors) == 0:
            raise InvalidValue("a room needs a door: nobody could leave it")
        self.along = along = np.roll(self.corners, -1, axis=0) - self.corners
        following = np.roll(along, -1, axis=0)
        turns = along[:, 0] * following[:, 1] - along[:, 1] * following[:, 0]
        if (turns <= 0).any():
            raise InvalidValue("the corners of a room must run counter-clockwise around a convex polygon")
        lengths = np.linalg.norm(along, axis=1)
        self.inward = np.stack([-along[:, 1], along[:, 0]], axis=1) / lengths[:, None]
        self.edge_of_door = [self._edge(door) for door in self.doors]
        self.walls = self._walls(along, lengths)

    def _heights(self, points: Array) -> Array:
        """Distance of points (n, 2) from the lines of the edges, positive inside: (n, edges)."""
        return np.asarray(np.einsum("nkd,kd->nk", points[:, None, :] - self.corners, self.inward))

    def _edge(self, door: Array) -> int:
        size = np.ptp(self.corners, axis=0).max()
        on = np.flatnonzero((np.abs(self._heights(door)) <= ON_EDGE * size).all(axis=0))
        for edge in on:
            start, along = self.corners[edge], self.along[edge]
            part = (door - start) @ along / (along @ along)
            if part.min() >= -ON_EDGE and part.max() <= 1.0 + ON_EDGE and np.ptp(part) > 0.0:
                return int(edge)
        raise InvalidValue(f"door {door.tolist()} does not lie in an edge of the room")

    def _walls(self, along: Array, lengths: Array) -> Array:
        """What is left of the edges when the doors are cut out: segments (k, 2, 2)."""
        walls = []
        for edge, start in enumerate(self.corners):
            doors = self.doors[np.array(self.edge_of_door, dtype=int) == edge]
            cuts = np.sort((doors - start) @ along[edge] / lengths[edge] ** 2, axis=None)
            ends = np.concatenate([[0.0], cuts, [1.0]]).reshape(-1, 2)
            walls += [start + part[:, None] * along[edge] for part in ends if part[1] > part[0]]
        return np.array(walls)

    def inside(self, q: Array) -> Booleans:
        """Which centres (n, 2) are in the room."""
        return np.asarray((self._heights(q) > 0.0).all(axis=1))

    def empty(self, state: State) -> bool:
        """Has everyone left? For `solve(..., until=room.empty)`."""
        inside, presence = self.inside(state.q), state.presence
        return not (inside if presence is None else inside & presence.here).any()

    def direction(self, q: Array, radius: float) -> Array:
        """Unit vectors (n, 2) along which people at q wish to walk."""
        shrunk = self._shrunk(radius)
        start, along = shrunk[:, 0], shrunk[:, 1] - shrunk[:, 0]
        square = np.einsum("kd,kd->k", along, along)
        part = np.einsum("nkd,kd->nk", q[:, None, :] - start, along) / np.where(square > 0, square, 1.0)
        target = start + np.clip(part, 0.0, 1.0)[:, :, None] * along
        nearest = np.argmin(np.linalg.norm(target - q[:, None, :], axis=2), axis=1)
        aim = target[np.arange(len(q)), nearest]
        outward = -self.inward[np.array(self.edge_of_door)[nearest]]
        way = np.where(self.inside(q)[:, None], aim + radius * outward - q, outward)
        return np.asarray(way / np.linalg.norm(way, axis=1, keepdims=True))

    def _shrunk(self, radius: float) -> Array:
        """The part of each door that a centre can pass."""
        middle = self.doors.mean(axis=1, keepdims=True)
        half = self.doors - middle
        size = np.linalg.norm(half, axis=2, keepdims=True)
        return np.asarray(middle + half * np.maximum(1.0 - radius / size, 0.0))


def crowd(n: int, *, radius: float, room: Room, speed: float = 1.0, seed: int = 0) -> Sweeping:
    """n people, discs of the same radius, placed at random in the room, who wish to leave it.

    >>> import jostle as jo
    >>> room = jo.models.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    >>> people = jo.models.crowd(8, radius=0.25, room=room, speed=1.4)
    >>> jo.solve(people, jo.Venel(), t=20.0, h=0.05, until=room.empty).status
    'stopped'
    """
    q0 = _places(n, radius, room, np.random.default_rng(seed))
    return Sweeping(
        q0=q0,
        velocity=lambda t, q: speed * room.direction(q, radius),
        within=Balls(np.full(n, radius)) & Segments(room.walls, radii=radius),
    )


TRIES = 2000
"""Random places tried for each person."""


def _places(n: int, radius: float, room: Room, random: np.random.Generator) -> Array:
    """Random sequential addition."""
    low, high = room.corners.min(axis=0), room.corners.max(axis=0)
    placed = np.empty((n, 2))
    for person in range(n):
        candidates = random.uniform(low, high, (TRIES, 2))
        fits = (room._heights(candidates) > radius).all(axis=1)
        apart = np.linalg.norm(candidates[:, None, :] - placed[:person], axis=2)
        fits &= (apart > 2.0 * radius).all(axis=1)
        if not fits.any():
            raise InvalidValue(f"no place was found for person {person} of {n}; take fewer, or a larger room")
        placed[person] = candidates[np.argmax(fits)]
    return placed
