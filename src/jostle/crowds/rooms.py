"""Rooms: plans of one polygon, whose doors are exits.

In a convex room the shortest way is straight to the nearest place of a door where a centre can pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array, Booleans, Integers, shaped
from jostle.crowds.goals import Goal
from jostle.crowds.outlines import cut, nearest_on, package, ring_edges, shrunk
from jostle.crowds.plans import Plan, _rooms
from jostle.crowds.walk import numbers, sizes_and_speeds
from jostle.crowds.ways import FIT
from jostle.crowds.wish import Wish
from jostle.errors import InvalidValue


@check_arguments
class Room(Plan):
    """A simple polygon with doors in its edges; corners counter-clockwise. The doors are exits "door 0", "door 1", ...

    >>> room = Room([(0, 0), (10, 0), (10, 8), (0, 8)], doors=[((10, 3.2), (10, 4.8))])
    >>> room.inside(np.array([[5.0, 4.0], [11.0, 4.0]])).tolist()
    [True, False]
    """

    def __init__(self, corners: ArrayLike, *, doors: ArrayLike):
        self.corners = shaped(corners, "corners", -1, 2)
        self.doors = shaped(doors, "doors", -1, 2, 2)
        if len(self.doors) == 0:
            raise InvalidValue("a room needs a door: nobody could leave it")
        edges = ring_edges(self.corners)
        self.along = along = edges[:, 1] - edges[:, 0]
        following = np.roll(along, -1, axis=0)
        turns = along[:, 0] * following[:, 1] - along[:, 1] * following[:, 0]
        angles = np.arctan2(turns, np.einsum("kd,kd->k", along, following))
        if not angles.sum() > np.pi or (along == 0.0).all(axis=1).any():
            raise InvalidValue("the corners of a room must be different, and run counter-clockwise around it")
        self.convex = bool((turns > 0).all() and angles.sum() < 3.0 * np.pi)
        if not self.convex:
            self._rooms = _rooms(self.corners)
        self.inward = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1)[:, None]
        found = cut(edges, self.doors)
        for door, covered in zip(self.doors, found.covered, strict=True):
            if covered < 1.0:
                raise InvalidValue(f"door {door.tolist()} does not lie in an edge of the room")
        self.exits = {f"door {k}": door for k, door in enumerate(self.doors)}
        self.outward = dict(zip(self.exits, found.outward, strict=True))
        self.walls, self.thin = found.walls, np.zeros((0, 2, 2))
        self.links, self.shafts, self._ways = {}, {}, {}
        self.columns = np.zeros((0, 3))

    @cached_property
    def area(self) -> Any:
        """The polygon of shapely."""
        shapely = package("shapely")
        area = shapely.Polygon(self.corners)
        shapely.prepare(area)
        return area

    def _heights(self, points: Array) -> Array:
        """Distance of points (n, 2) from the lines of the edges, positive inside: (n, edges)."""
        return np.asarray(np.einsum("nkd,kd->nk", points[:, None, :] - self.corners, self.inward))

    def inside(self, q: Array) -> Booleans:
        """Which centres (n, 2) are in the room."""
        return np.asarray((self._heights(q) > 0.0).all(axis=1)) if self.convex else super().inside(q)

    def outside(self, q: Array) -> Array:
        """(n,) how far centres are out of the room; 0 inside."""
        if not self.convex:
            return super().outside(q)
        x = np.asarray(q, dtype=float)
        apart = np.linalg.norm(x - nearest_on(ring_edges(self.corners), x), axis=2).min(axis=0)
        return np.asarray(np.where(self.inside(x), 0.0, apart))

    def direction(self, q: Array, radius: ArrayLike, door: Integers | None = None) -> Array:
        """Unit vectors (n, 2) along which people at q wish to walk: to the nearest door, or to their own (n,)."""
        size = np.asarray(radius, dtype=float)
        if not self.convex:
            ways = self.ways(float(size))
            return ways.directions(q, ways.choice(q) if door is None else door)
        aim, door = self.aim(q, size, door)
        outward = np.array(list(self.outward.values()))[door]
        beyond = size[:, None] * outward if size.ndim else size * outward
        way = np.where(self.inside(q)[:, None], aim + beyond - q, outward)
        return np.asarray(way / np.linalg.norm(way, axis=1, keepdims=True))

    def aim(self, q: Array, size: Array, door: Integers | None = None) -> tuple[Array, Integers]:
        """(n, 2) the nearest place where a centre can pass a door, and (n,) which: their own, or the nearest if < 0."""
        target, far, fits = self.targets(q, size)
        nearest = np.argmin(np.where(fits | ~fits.any(axis=-1, keepdims=True), far, np.inf), axis=1)
        chosen = nearest if door is None else np.where(np.asarray(door) < 0, nearest, door)
        return target[np.arange(len(q)), chosen], chosen

    def targets(self, q: Array, size: Array) -> tuple[Array, Array, Booleans]:
        """Of each door the place that a centre can pass next (n, doors, 2), how far it is, and whether they fit."""
        start, along = self.doors[:, 0], self.doors[:, 1] - self.doors[:, 0]
        width = np.linalg.norm(along, axis=1)
        part = np.einsum("nkd,kd->nk", q[:, None, :] - start, along) / width**2
        margin = np.minimum(size[..., None] / width, 0.5)
        target = start + np.clip(part, margin, 1.0 - margin)[:, :, None] * along
        far = np.linalg.norm(target - q[:, None, :], axis=2)
        return target, far, np.asarray(width >= (1.0 + FIT) * 2.0 * size[..., None])

    def walk(
        self, *, radius: ArrayLike, speed: ArrayLike = 1.0, goal: str | Sequence[str | None] | None = None
    ) -> Wish:
        """The wish to walk to the nearest door, or to the one that `goal` names: straight, if the room is convex."""
        if not self.convex:
            return super().walk(radius=radius, speed=speed, goal=goal)
        size, pace = sizes_and_speeds(radius, speed)
        return Straight(self, size, pace, numbers(goal, list(self.exits)))

    def check_ways(self, q: Array, radii: Array, wish: Wish | Callable[[float, Array], ArrayLike]) -> None:
        """Raise, naming the person and the door, if somebody is too wide."""
        widths = np.linalg.norm(self.doors[:, 1] - self.doors[:, 0], axis=1)
        wide = np.flatnonzero(2.0 * radii * (1.0 + FIT) > widths.max())
        if self.convex and len(wide):
            raise InvalidValue(
                f"person {wide[0]} is {2.0 * radii[wide[0]]:g} wide, and the widest door, {int(np.argmax(widths))}, "
                f"{widths.max():g}: widen it, or take smaller people"
            )
        super().check_ways(q, radii, wish)


@dataclass(frozen=True, eq=False)
class Straight(Wish):
    """The wish of people in a convex room: straight to the nearest door, or to their own."""

    room: Room
    radius: Array
    """() or (n,)"""
    speed: Array
    """() or (n,)"""
    door: Integers
    """() or (n,) the number of the door, or NEAREST."""

    @property
    def goals(self) -> tuple[Goal, ...]:
        widest = float(self.radius.max())
        ends = zip(self.room.exits.items(), self.room.outward.values(), strict=True)
        return tuple(
            Goal(name, shrunk(door, widest), outward, float(np.linalg.norm(door[1] - door[0])))
            for (name, door), outward in ends
        )

    @property
    def eligible(self) -> int:
        return len(self.room.doors)

    def own(self, n: int) -> Integers:
        return np.broadcast_to(self.door, (n,))

    def speeds(self, n: int) -> Array:
        return np.broadcast_to(self.speed, (n,))

    def chosen(self, q: Array) -> Integers:
        return self.room.aim(q, self.radius, self.door)[1]

    def towards(self, t: float, q: Array, goal: Integers) -> Array:
        return np.asarray(self.speed[..., None] * self.room.direction(q, self.radius, goal))

    def distance(self, q: Array, goal: Integers) -> Array:
        return np.asarray(self.lengths(q)[goal, np.arange(len(q))])

    def lengths(self, q: Array) -> Array:
        _, far, fits = self.room.targets(q, self.radius)
        return np.where(fits & self.room.inside(q)[:, None], far, np.inf).T
