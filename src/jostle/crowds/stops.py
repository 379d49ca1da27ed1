"""Places that people pass on a journey: stops, areas in which they wait, and queues in which they are served."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, finite, shaped
from jostle.crowds.distributions import Distribution
from jostle.crowds.outlines import own_nearest, package
from jostle.errors import InvalidValue


@check_arguments
@dataclass(frozen=True, eq=False)
class Stop:
    """A point or a segment that people pass, where they may stand for a while.

    Parameters
    ----------
    place : array_like, shape (2,) or (2, 2)
        The point, or the two ends of the segment (m).
    dwell : float or Distribution, default 0.0
        Time that each person stands there (s): one for all, or drawn for each.
    until : float, default -inf
        Earliest time at which people leave (s).
    reach : float, optional
        Distance (m) at which the stop counts as reached. None means the reach of the journey.

    Raises
    ------
    InvalidValue
        If the place is neither a point nor a segment, or if a time is out of range.

    Examples
    --------
    >>> Stop((2.0, 1.0), dwell=30.0).target.tolist()
    [[2.0, 1.0], [2.0, 1.0]]
    """

    place: ArrayLike
    _: KW_ONLY
    dwell: float | Distribution = 0.0
    until: float = -np.inf
    reach: Positive | None = None

    def __post_init__(self) -> None:
        ends = finite(self.place, "place")
        if ends.shape not in ((2,), (2, 2)):
            raise InvalidValue(f"place of a stop must be a point or a segment, not of shape {ends.shape}")
        object.__setattr__(self, "place", np.array(np.broadcast_to(ends, (2, 2))))
        _check_times(self.dwell, self.until)

    @property
    def target(self) -> Array:
        """(2, 2) segment to which people walk."""
        return np.asarray(self.place)

    def reached(self, q: Array, reach: float) -> Booleans:
        """Tell who has reached the stop.

        Parameters
        ----------
        q : ndarray, shape (n, 2)
            Positions (m).
        reach : float
            Distance (m) at which it counts as reached, unless the stop has its own.

        Returns
        -------
        ndarray of bool, shape (n,)
            True for people who have reached it.
        """
        away = q - own_nearest(np.broadcast_to(self.target, (len(q), 2, 2)), q)
        return np.asarray(np.linalg.norm(away, axis=1) <= (reach if self.reach is None else self.reach))


@check_arguments
@dataclass(frozen=True, eq=False)
class WaitingArea:
    """A polygon in which people wait, each at a point of their own.

    Parameters
    ----------
    corners : array_like, shape (k, 2)
        Corners of the polygon (m), in order around it.
    dwell : float or Distribution, default 0.0
        Time that each person waits (s): one for all, or drawn for each.
    until : float, default -inf
        Earliest time at which people leave (s).

    Raises
    ------
    InvalidValue
        If the polygon crosses itself, or if a time is out of range.

    Examples
    --------
    >>> area = WaitingArea([(0, 0), (4, 0), (4, 2), (0, 2)], until=120.0)
    >>> area.reached(np.array([[1.0, 1.0], [5.0, 1.0]]), 0.5).tolist()
    [True, False]
    """

    corners: ArrayLike
    _: KW_ONLY
    dwell: float | Distribution = 0.0
    until: float = -np.inf

    def __post_init__(self) -> None:
        corners = shaped(self.corners, "corners", -1, 2)
        shape = package("shapely").Polygon(corners) if len(corners) > 2 else None
        if shape is None or not shape.is_valid or not shape.area > 0.0:
            raise InvalidValue(f"a waiting area must be a polygon that does not cross itself, not {corners.tolist()}")
        object.__setattr__(self, "corners", corners)
        _check_times(self.dwell, self.until)

    @property
    def target(self) -> Array:
        """(2, 2) a point of the area, as a segment."""
        point = package("shapely").Polygon(self.corners).representative_point()
        return np.array([[point.x, point.y]] * 2)

    def reached(self, q: Array, reach: float) -> Booleans:
        """Tell who is in the area.

        Parameters
        ----------
        q : ndarray, shape (n, 2)
            Positions (m).
        reach : float
            Not used; a `Stop` has the same parameter.

        Returns
        -------
        ndarray of bool, shape (n,)
            True for people in the area.
        """
        return np.asarray(package("shapely").contains_xy(package("shapely").Polygon(self.corners), q), dtype=bool)

    def points(self, n: int, random: np.random.Generator) -> Array:
        """Random points in the area.

        Parameters
        ----------
        n : int
            Number of points.
        random : numpy.random.Generator
            Source of random numbers.

        Returns
        -------
        ndarray, shape (n, 2)
            The points (m).
        """
        corners = np.asarray(self.corners)
        found = np.empty((0, 2))
        while len(found) < n:
            tried = random.uniform(corners.min(axis=0), corners.max(axis=0), (2 * n + 8, 2))
            found = np.concatenate([found, tried[self.reached(tried, 0.0)]])
        return found[:n]


@check_arguments
@dataclass(frozen=True, eq=False)
class Queue:
    """A line in which people stand one behind the other and are served at its head, in the order in which they came.

    People walk to the tail, then up to the last person in the line. If there are more people than places, the queue
    continues along its last piece.

    Parameters
    ----------
    line : array_like, shape (k, 2)
        Points of the line from its head to its tail (m).
    service : float or Distribution
        Time that each person is served at the head (s): one for all, or drawn for each.
    spacing : float, default 0.6
        Distance between neighbours in the queue (m).
    until : float, default -inf
        Earliest time at which people leave (s).

    Raises
    ------
    InvalidValue
        If the line has fewer than two different points, or if a time is out of range.

    Examples
    --------
    >>> queue = Queue([(2.0, 0.0), (2.0, 4.0)], service=20.0, spacing=0.8)
    >>> queue.places(np.array([0, 2])).round(6).tolist()
    [[2.0, 0.0], [2.0, 1.6]]
    """

    line: ArrayLike
    _: KW_ONLY
    service: float | Distribution
    spacing: Positive = 0.6
    until: float = -np.inf

    def __post_init__(self) -> None:
        line = shaped(self.line, "line", -1, 2)
        if len(line) < 2 or not (np.linalg.norm(np.diff(line, axis=0), axis=1) > 0.0).all():
            raise InvalidValue(f"the line of a queue must be two or more different points, not {line.tolist()}")
        object.__setattr__(self, "line", line)
        _check_times(self.service, self.until)

    @property
    def dwell(self) -> float | Distribution:
        """The time that each person stands at the head."""
        return self.service

    @property
    def target(self) -> Array:
        """(2, 2) tail of the queue, to which people walk, as a segment."""
        return np.array([np.asarray(self.line)[-1]] * 2)

    @property
    def head(self) -> Array:
        """(2,) head of the queue, where people are served."""
        return np.asarray(np.asarray(self.line, dtype=float)[0])

    def places(self, number: Any) -> Array:
        """The places in the queue.

        Parameters
        ----------
        number : array_like of int, shape (k,)
            Numbers of the places, counted from the head, which is 0.

        Returns
        -------
        ndarray, shape (k, 2)
            The places (m).
        """
        line = np.asarray(self.line, dtype=float)
        pieces = np.diff(line, axis=0)
        lengths = np.linalg.norm(pieces, axis=1)
        before = np.concatenate([[0.0], np.cumsum(lengths)])
        along = self.spacing * np.asarray(number)
        piece = np.clip(np.searchsorted(before, along, side="right") - 1, 0, len(pieces) - 1)
        part = (along - before[piece]) / lengths[piece]
        return np.asarray(line[piece] + part[:, None] * pieces[piece])


AnyStop = Stop | WaitingArea | Queue


def _check_times(dwell: float | Distribution, until: float) -> None:
    if not isinstance(dwell, Distribution) and not 0.0 <= dwell < np.inf:
        raise InvalidValue(f"dwell and service must be 0 or more, in seconds, not {dwell}")
    if not until < np.inf:
        raise InvalidValue(f"until must be a time, not {until}: nobody would ever leave")
