"""How walls move: shaken to and fro along a line, turning around a centre, or both.

A point x of a wall is at c + R(t) (x - c) + s(t) at time t, with

    s(t) = amplitude sin(2 pi (frequency t + phase)) direction,      R(t) the turn by 2 pi frequency t.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from pydantic import Field

from jostle.arrays import Array
from jostle.scenarios.fields import Number, Positive, Table, Vector

FULL_TURN = 2.0 * math.pi
"""The angle of one turn, in radians."""


class Shaken(Table):
    """To and fro along a line, as a sine of time."""

    vectors: ClassVar[tuple[str, ...]] = ("direction",)
    amplitude: Positive = Field(description="Half of the way between the two ends (m).")
    frequency: Positive = Field(description="Oscillations in one second (Hz).")
    direction: Vector | None = Field(None, description="Along which it moves; upwards if not given.")
    phase: Number = Field(0.0, description="Part of an oscillation that is over at t = 0; 0.25 starts at the far end.")


class Turning(Table):
    """Around a centre, in space around an axis through it."""

    vectors: ClassVar[tuple[str, ...]] = ("centre", "axis")
    frequency: Number = Field(description="Turns in one second (Hz), counter-clockwise; negative ones go clockwise.")
    centre: Vector = Field(description="The point that stays where it is.")
    axis: Vector | None = Field(None, description="In space, the axis to turn around; upwards if not given.")


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
        """The offset at time t of the plane that has this normal, and goes through this point, at rest."""
        return np.asarray(self.turned(normal, t) @ self.placed(through, t))

    def points(self, points: Array) -> Array | Callable[[float], Array]:
        """The points as the sets of the library take them: fixed ones, or a function of time."""
        return partial(self.placed, points) if self else points

    def directions(self, vectors: Array) -> Array | Callable[[float], Array]:
        """The same for directions, which only turn."""
        return partial(self.turned, vectors) if self.turning is not None else vectors


def _direction(vector: tuple[float, ...] | None, d: int) -> Array:
    """A unit vector, the vertical one by default."""
    given = np.eye(d)[-1] if vector is None else np.array(vector)
    return np.asarray(given / (np.linalg.norm(given) or 1.0))
