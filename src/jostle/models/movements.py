"""How walls move: they oscillate along a line, turn around a centre, or both.

A point x of a wall is at c + R(t) (x - c) + s(t) at time t, with

    s(t) = amplitude sin(2 pi (frequency t + phase)) direction,      R(t) the rotation by 2 pi frequency t.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, Finite, Positive, check_arguments
from jostle._tools.arrays import Array, finite
from jostle.errors import InvalidValue

FULL_TURN = 2.0 * math.pi
"""The angle of one turn, in radians."""


@check_arguments
@dataclass(frozen=True, eq=False)
class Shaken:
    """A sinusoidal oscillation along a line.

    Parameters
    ----------
    amplitude : float
        Half the distance between the two ends of the oscillation (m).
    frequency : float
        Number of oscillations per second (Hz).
    direction : array_like, shape (d,), optional
        Direction of the oscillation. None means the vertical, which is the last axis.
    phase : float, default 0.0
        Phase at t = 0, in periods; 0.25 starts at the far end.

    Examples
    --------
    >>> Movement(2, shaken=Shaken(0.5, 1.0)).points(np.zeros((1, 2)))(0.25).tolist()
    [[0.0, 0.5]]
    """

    amplitude: Positive
    frequency: Positive
    _: KW_ONLY
    direction: ArrayLike | None = None
    phase: Finite = 0.0

    def __post_init__(self) -> None:
        _check("direction", self.direction)


@check_arguments
@dataclass(frozen=True, eq=False)
class Turning:
    """A rotation around a centre, in 3-D around an axis through it.

    Parameters
    ----------
    frequency : float
        Turns per second (Hz), counter-clockwise; negative values turn clockwise.
    centre : array_like, shape (d,)
        Centre of the rotation (m).
    axis : array_like, shape (3,), optional
        Axis of the rotation in 3-D. None means the vertical.

    Examples
    --------
    >>> drum = Movement(2, turning=Turning(0.25, [1.0, 0.0]))
    >>> drum.points(np.array([2.0, 0.0]))(1.0).round(9).tolist()
    [1.0, 1.0]
    """

    frequency: Finite
    centre: ArrayLike
    _: KW_ONLY
    axis: ArrayLike | None = None

    def __post_init__(self) -> None:
        if finite(self.centre, "centre").ndim != 1:
            raise InvalidValue(f"centre must be a point, not {self.centre!r}")
        _check("axis", self.axis)


@check_arguments
@dataclass(frozen=True, eq=False)
class Movement:
    """The map x -> c + R(t) (x - c) + s(t) of space, for sets whose parameters are functions of time.

    Parameters
    ----------
    d : int
        Dimension of space, 2 or 3.
    shaken : Shaken, optional
        The oscillation s(t). None means that there is none.
    turning : Turning, optional
        The rotation R(t) around c. None means that there is none.

    Examples
    --------
    >>> import jostle as jo
    >>> shaken = Movement(2, shaken=Shaken(0.5, 1.0))
    >>> table = jo.HalfSpace([0.0, 1.0], partial(shaken.offset, np.array([0.0, 1.0]), np.zeros(2)))
    >>> table.gaps(0.25, np.array([[0.0, 2.0]])).tolist()
    [1.5]
    """

    d: Count
    _: KW_ONLY
    shaken: Shaken | None = None
    turning: Turning | None = None

    def __bool__(self) -> bool:
        return self.shaken is not None or self.turning is not None

    def _shift(self, t: float) -> Array:
        """(d,) the oscillation s(t)."""
        if self.shaken is None:
            return np.zeros(self.d)
        along = _direction(self.shaken.direction, self.d)
        return self.shaken.amplitude * math.sin(FULL_TURN * (self.shaken.frequency * t + self.shaken.phase)) * along

    def _turned(self, vectors: Array, t: float) -> Array:
        """(..., d) directions after the rotation, R(t) v."""
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
        """Points after the movement.

        Parameters
        ----------
        points : ndarray, shape (..., d)
            The points before they move (m).
        t : float
            Time (s).

        Returns
        -------
        ndarray, shape (..., d)
            The points at the time (m).
        """
        centre = np.zeros(self.d) if self.turning is None else np.array(self.turning.centre)
        return centre + self._turned(points - centre, t) + self._shift(t)

    def velocity(self, t: float, x: Array) -> Array:
        """The velocities of the points of a wall that are at x at a time: those with which it drags bodies along.

        Parameters
        ----------
        t : float
            Time (s).
        x : ndarray, shape (k, d)
            Points at the time (m).

        Returns
        -------
        ndarray, shape (k, d)
            The velocities (m/s).

        Examples
        --------
        >>> drum = Movement(2, turning=Turning(1.0 / (2.0 * math.pi), [1.0, 0.0]))
        >>> drum.velocity(0.0, np.array([[3.0, 0.0]])).tolist()
        [[0.0, 2.0]]
        """
        found = np.zeros(x.shape)
        if self.shaken is not None:
            rate = FULL_TURN * self.shaken.frequency
            angle = FULL_TURN * (self.shaken.frequency * t + self.shaken.phase)
            found += self.shaken.amplitude * rate * math.cos(angle) * _direction(self.shaken.direction, self.d)
        if self.turning is not None:
            spin, arm = FULL_TURN * self.turning.frequency, x - np.array(self.turning.centre) - self._shift(t)
            if self.d == 2:
                found += spin * np.stack([-arm[:, 1], arm[:, 0]], axis=1)
            else:
                found += np.cross(spin * _direction(self.turning.axis, 3), arm)
        return found

    def offset(self, normal: Array, through: Array, t: float) -> Array:
        """The offset of a plane that moves.

        Parameters
        ----------
        normal : ndarray, shape (d,)
            Normal of the plane before it moves.
        through : ndarray, shape (d,)
            A point of the plane before it moves (m).
        t : float
            Time (s).

        Returns
        -------
        ndarray, shape ()
            The offset at the time, for `HalfSpace`.
        """
        return np.asarray(self._turned(normal, t) @ self.placed(through, t))

    def points(self, points: Array) -> Array | Callable[[float], Array]:
        """Points in the form that constraint sets take: fixed, or a function of time.

        Parameters
        ----------
        points : ndarray, shape (..., d)
            The points before they move (m).

        Returns
        -------
        ndarray or callable (t) -> ndarray
            The points, as a function of time if they move.
        """
        return partial(self.placed, points) if self else points

    def directions(self, vectors: Array) -> Array | Callable[[float], Array]:
        """Directions in the form that constraint sets take; they only turn.

        Parameters
        ----------
        vectors : ndarray, shape (..., d)
            The directions at t = 0.

        Returns
        -------
        ndarray or callable (t) -> ndarray
            The directions, as a function of time if they turn.
        """
        return partial(self._turned, vectors) if self.turning is not None else vectors


def _check(name: str, vector: ArrayLike | None) -> None:
    """Raise unless a direction is a vector that is not zero."""
    if vector is not None and (finite(vector, name).ndim != 1 or not np.any(vector)):
        raise InvalidValue(f"{name} must be a vector that is not zero, not {vector!r}")


def _direction(vector: ArrayLike | None, d: int) -> Array:
    """A unit vector; the vertical by default."""
    given = np.eye(d)[-1] if vector is None else np.array(vector, dtype=float)
    return np.asarray(given / (np.linalg.norm(given) or 1.0))
