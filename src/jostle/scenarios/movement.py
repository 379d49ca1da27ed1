"""How walls move: they oscillate along a line, turn around a centre, or both.

A point x of a wall is at c + R(t) (x - c) + s(t) at time t, with

    s(t) = amplitude sin(2 pi (frequency t + phase)) direction,      R(t) the rotation by 2 pi frequency t.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from pydantic import Field

from jostle._tools.arrays import Array
from jostle.scenarios.fields import Number, Positive, Table, Vector

FULL_TURN = 2.0 * math.pi
"""The angle of one turn, in radians."""


class Shaken(Table):
    """A sinusoidal oscillation along a line."""

    vectors: ClassVar[tuple[str, ...]] = ("direction",)
    amplitude: Positive = Field(description="Half the distance between the two ends of the oscillation (m).")
    frequency: Positive = Field(description="Number of oscillations per second (Hz).")
    direction: Vector | None = Field(None, description="Direction of the oscillation; vertical by default.")
    phase: Number = Field(0.0, description="Phase at t = 0, in periods; 0.25 starts at the far end.")


class Turning(Table):
    """A rotation around a centre, in 3-D around an axis through it."""

    vectors: ClassVar[tuple[str, ...]] = ("centre", "axis")
    frequency: Number = Field(description="Turns per second (Hz), counter-clockwise; negative values turn clockwise.")
    centre: Vector = Field(description="Centre of the rotation (m).")
    axis: Vector | None = Field(None, description="Axis of the rotation in 3-D; vertical by default.")


@dataclass(frozen=True, eq=False)
class Movement:
    """The map x -> c + R(t) (x - c) + s(t) of dimension d.

    >>> table = Movement(2, Shaken(amplitude=0.5, frequency=1.0), None)
    >>> table.points(np.zeros((1, 2)))(0.25).tolist()
    [[0.0, 0.5]]
    """

    d: int
    shaken: Shaken | None
    turning: Turning | None

    def __bool__(self) -> bool:
        return self.shaken is not None or self.turning is not None

    def shift(self, t: float) -> Array:
        """s(t)."""
        if self.shaken is None:
            return np.zeros(self.d)
        along = _direction(self.shaken.direction, self.d)
        return self.shaken.amplitude * math.sin(FULL_TURN * (self.shaken.frequency * t + self.shaken.phase)) * along

    def turned(self, vectors: Array, t: float) -> Array:
        """R(t) v of vectors (..., d)."""
        if self.turning is None:
            return vectors
        angle = FULL_TURN * self.turning.frequency * t
        cosine, sine = math.cos(angle), math.sin(angle)
        if self.d == 2:
            return np.asarray(vectors @ np.array([[cosine, sine], [-sine, cosine]]))
        axis = _direction(self.turning.axis, 3)
        along = (vectors @ axis)[..., None] * axis
        return np.asarray(along + cosine * (vectors - along) + sine * np.cross(axis, vectors))

    def placed(self, points: Array, t: float) -> Array:
        """Where points (..., d) are at time t."""
        centre = np.zeros(self.d) if self.turning is None else np.array(self.turning.centre)
        return centre + self.turned(points - centre, t) + self.shift(t)

    def offset(self, normal: Array, through: Array, t: float) -> Array:
        """The offset at time t of a plane that, before it moves, has this normal and contains the point `through`."""
        return np.asarray(self.turned(normal, t) @ self.placed(through, t))

    def points(self, points: Array) -> Array | Callable[[float], Array]:
        """The points in the form that constraint sets take: fixed, or a function of time."""
        return partial(self.placed, points) if self else points

    def directions(self, vectors: Array) -> Array | Callable[[float], Array]:
        """Directions in the form that constraint sets take; they only turn."""
        return partial(self.turned, vectors) if self.turning is not None else vectors


def _direction(vector: tuple[float, ...] | None, d: int) -> Array:
    """A unit vector; the vertical by default."""
    given = np.eye(d)[-1] if vector is None else np.array(vector)
    return np.asarray(given / (np.linalg.norm(given) or 1.0))
