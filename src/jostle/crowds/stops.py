"""Places that people pass on a journey: a stop, an area in which they wait, a queue in which they are served."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import Positive, check_arguments
from jostle.arrays import Array, Booleans, finite, shaped
from jostle.crowds.distributions import Distribution
from jostle.crowds.outlines import own_nearest, package
from jostle.errors import InvalidValue


@check_arguments
@dataclass(frozen=True, eq=False)
class Stop:
    """A point or a segment that people pass, where they stand for the time `dwell` and not before the time `until`.

    `dwell` (s) is one for all or drawn from a `Distribution`, for each person. A stop counts as reached within `reach`
    of it, or within the reach of the journey if that is not given.

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
        """(2, 2) the segment to which people walk."""
        return np.asarray(self.place)

    def reached(self, q: Array, reach: float) -> Booleans:
        """(n,) who has come here."""
        away = q - own_nearest(np.broadcast_to(self.target, (len(q), 2, 2)), q)
        return np.asarray(np.linalg.norm(away, axis=1) <= (reach if self.reach is None else self.reach))


@check_arguments
@dataclass(frozen=True, eq=False)
class WaitingArea:
    """A polygon in which people wait, each at a point of their own, for the time `dwell` and until the time `until`.

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
        """(n,) who is in the area."""
        return np.asarray(package("shapely").contains_xy(package("shapely").Polygon(self.corners), q), dtype=bool)

    def points(self, n: int, random: np.random.Generator) -> Array:
        """(n, 2) random points of the area."""
        corners = np.asarray(self.corners)
        found = np.empty((0, 2))
        while len(found) < n:
            tried = random.uniform(corners.min(axis=0), corners.max(axis=0), (2 * n + 8, 2))
            found = np.concatenate([found, tried[self.reached(tried, 0.0)]])
        return found[:n]


@check_arguments
@dataclass(frozen=True, eq=False)
class Queue:
    """A line in which people stand one behind the other, and from whose head each goes on after the time `service`.

    `line` (k, 2) are points from the head to the tail. People walk to the tail, then up to the last who stand there,
    `spacing` (m) apart, and further back along its last piece if there are more. They are served in the order in which
    they came.

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
        """(2, 2) the tail, to which people walk, as a segment."""
        return np.array([np.asarray(self.line)[-1]] * 2)

    @property
    def head(self) -> Array:
        """(2,) where people are served."""
        return np.asarray(np.asarray(self.line, dtype=float)[0])

    def places(self, number: Any) -> Array:
        """(k, 2) where those with these numbers (k,) stand, counted from the head."""
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
        raise InvalidValue(f"until must be a time, not {until}: nobody would ever go on")
