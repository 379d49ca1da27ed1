"""Exact motion of blocks on a line that touch and do not overlap, without time steps (Bourdin & Maury 2020, section 6).

Masses are lengths, and e = 0: blocks that meet take a common velocity. If no contact opens again, the position at each
time is one projection on K, the set of blocks in order between the walls without overlaps (Natile & Savaré 2009;
Bouchut, Brenier, Cortes & Ripoll 2000),

    X(t) = P_K (X0 + t U0 + t^2/2 a),

because M (X - X0 - t U0 - t^2/2 a) is then the contact force, integrated twice, which acts at closed contacts only. It
is the isotonic regression of X0 + t U0 + t^2/2 a minus the lengths of all blocks to the left, clipped at the walls.
Without forces no contact opens. Forces keep all contacts closed if the accelerations do not increase from left to right
and press against each wall. In all other cases a queue of events follows the blocks from impact to impact.

With e > 0 the impacts of a group can accumulate, and their order is decided by round-off: `jo.solve_by_events` follows
them, and says where it cannot.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments, set_fields
from jostle._tools.arrays import Array, alike, numbers, read_only, shaped
from jostle.errors import InvalidValue, UnresolvedEvent
from jostle.kernels.reference.dense import EPS, ROUND_OFF
from jostle.laws import Restitution
from jostle.problems import Motion
from jostle.sets.balls import Line

MAX_OVERLAP = 1e-12
"""Blocks that overlap by less than this fraction of their length touch."""
SLOWEST = 64 * EPS
"""Relative velocities below this fraction of the largest velocity so far count as zero."""
LEVEL = 64 * EPS
"""Relative accelerations below this fraction of the largest acceleration count as zero."""
MAX_IMPACTS_PER_BLOCK = 1000
"""Largest number of impacts computed, divided by the number of blocks."""


class Merger(NamedTuple):
    """The merger of two clusters of blocks. Cluster k < n is block k; the cluster of the m-th merger is n + m.

    Attributes
    ----------
    time : float
        Time of the merger.
    left : int
        Number of the cluster on the left; -1 is the left wall.
    right : int
        Number of the cluster on the right; -2 is the right wall.
    velocity : float
        Velocity of the new cluster at this time.
    mass : float
        Mass of the blocks of the new cluster.
    first : int
        First block of the new cluster.
    last : int
        Last block of the new cluster.

    Examples
    --------
    >>> import jostle as jo
    >>> jo.macro.StickyBlocks([0, 2], 1, [1, -1]).mergers()
    [Merger(time=0.5, left=0, right=1, velocity=0.0, mass=2.0, first=0, last=1)]
    """

    time: float
    left: int
    right: int
    velocity: float
    mass: float
    first: int
    last: int


@dataclass(eq=False, slots=True)
class _Flight:
    """The flight of a cluster between two impacts, y + s v + s^2/2 a, without the lengths of the blocks on its left."""

    start: float
    first: int
    last: int
    cluster: int
    y: float
    v: float
    a: float
    mass: float
    wall: bool = False
    """True if the cluster contains a wall."""
    end: float = inf
    before: _Flight | None = None
    after: _Flight | None = None

    def at(self, t: float) -> tuple[float, float]:
        """Position and velocity."""
        s = t - self.start
        return self.y + s * (self.v + 0.5 * s * self.a), self.v + s * self.a


@dataclass(frozen=True, eq=False)
class _History:
    """The flights and mergers of all clusters of n blocks."""

    n: int
    flights: Array
    """(6, p): start, end, first block, position, velocity and acceleration of each flight."""
    mergers: list[Merger]
    frame: tuple[float, float]
    """Velocity and acceleration of the frame of reference."""

    def states(self, times: Array) -> tuple[Array, Array]:
        """(k, n) positions minus lengths, and velocities, at times (k,); at an impact, those after it."""
        start, end, first, y, v, a = self.flights
        Y, V = np.empty((2, len(times), self.n))
        for k, t in enumerate(times):
            now = np.flatnonzero((start <= t) & (t < end))
            now = now[np.argsort(first[now])]
            now = np.repeat(now, np.diff(first[now], append=self.n).astype(np.int64))
            s = t - start[now]
            Y[k], V[k] = y[now] + s * (v[now] + 0.5 * s * a[now]), v[now] + s * a[now]
        speed, change = self.frame
        return Y + (times * (speed + 0.5 * times * change))[:, None], V + (speed + times * change)[:, None]


class _Events:
    """Follows clusters from impact to impact: the next contact that closes is the first one of a queue.

    With e = 0 nothing accumulates, and the order of impacts at one time does not matter: clusters that touch and
    approach each other take their mean velocity, and neighbours among them that nothing pulls apart merge for good.
    """

    def __init__(self, y: Array, v: Array, a: Array, mass: Array, walls: tuple[float, float], scale: float):
        self.frame = 0.0, 0.0
        if walls == (-inf, inf):  # equal accelerations become exactly 0, and a common velocity costs no precision
            self.frame = _common(v, mass), _common(a, mass)
            v, a = v - self.frame[0], a - self.frame[1]
        n = self.n = len(y)
        self.noise, self.mergers = ROUND_OFF * scale, list[Merger]()
        self.level, self.fastest = LEVEL * float(np.abs(a).max()), float(np.abs(v).max())
        self.queue, self.watched = list[tuple[float, int, _Flight, _Flight]](), 0
        row = [_Flight(0.0, 0, -1, -1, walls[0], 0.0, 0.0, 0.0, wall=True)]
        row += [_Flight(0.0, k, k, k, *one) for k, one in enumerate(np.stack([y, v, a, mass], axis=1).tolist())]
        row += [_Flight(0.0, n, n - 1, -2, walls[1], 0.0, 0.0, 0.0, wall=True)]
        self.flights = row[:]
        self._place(None, row, None, 0.0)

    def history(self) -> _History:
        impacts = 0
        while self.queue:
            now, _, left, right = heappop(self.queue)
            if left.end < inf or right.end < inf:  # one of them has another velocity by now
                continue
            impacts += 1
            if impacts > MAX_IMPACTS_PER_BLOCK * self.n:
                raise _unresolved(now, impacts - 1)
            self._impact(now, left, right)
        rows = [(one.start, one.end, one.first, one.y, one.v, one.a) for one in self.flights if one.mass > 0.0]
        speed, change = self.frame
        mergers = [merger._replace(velocity=merger.velocity + speed + merger.time * change) for merger in self.mergers]
        return _History(self.n, np.array(rows).T, mergers, self.frame)

    def _place(self, before: _Flight | None, row: list[_Flight], after: _Flight | None, now: float) -> None:
        """Put flights into the line between two others, and the times at which their contacts close into the queue."""
        for left, right in pairwise([before, *row, after]):
            if left is not None:
                left.after = right
            if right is not None:
                right.before = left
            if left is not None and right is not None:
                (y, v), (other, u) = left.at(now), right.at(now)
                slow = SLOWEST * self.fastest
                s = _closing_time(other - y, u - v, right.a - left.a, self.noise, slow, self.level)
                if s < inf:
                    self.watched += 1
                    heappush(self.queue, (now + s, self.watched, left, right))

    def _impact(self, now: float, left: _Flight, right: _Flight) -> None:
        """Moreau's law with e = 0 for two clusters that meet, and all that touch them and approach."""
        group, (y, v), mass, wall = deque([left]), left.at(now), left.mass, left.wall
        joins: _Flight | None = right
        while joins is not None:
            other, u = joins.at(now)
            self.fastest = max(self.fastest, abs(u), abs(v))
            if joins.wall:
                y, v, wall = joins.y, 0.0, True
            elif not wall:
                mass += joins.mass
                y, v = y + joins.mass / mass * (other - y), v + joins.mass / mass * (u - v)
            (group.append if joins is group[-1].after else group.appendleft)(joins)
            slow, before, after, joins = SLOWEST * self.fastest, group[0].before, group[-1].after, None
            if before is not None and group[0].at(now)[0] - before.at(now)[0] <= self.noise:
                joins = before if before.at(now)[1] > v + slow else None
            if joins is None and after is not None and after.at(now)[0] - group[-1].at(now)[0] <= self.noise:
                joins = after if after.at(now)[1] < v - slow else None
        kept: list[_Flight] = []
        for one in group:
            one.end = now
            kept.append(_Flight(now, one.first, one.last, one.cluster, y, v, one.a, one.mass, one.wall))
            while len(kept) > 1 and kept[-1].a - kept[-2].a <= self.level:
                kept[-2:] = [self._merged(now, *kept[-2:])]
        self.flights += kept
        self._place(before, kept, after, now)

    def _merged(self, now: float, left: _Flight, right: _Flight) -> _Flight:
        cluster, mass, wall = self.n + len(self.mergers), left.mass + right.mass, left.wall or right.wall
        self.mergers.append(Merger(now, left.cluster, right.cluster, left.v, mass, left.first, right.last))
        a = 0.0 if wall else left.a + right.mass / mass * (right.a - left.a)
        return _Flight(now, left.first, right.last, cluster, left.y, left.v, a, mass, wall)


def _common(values: Array, mass: Array) -> float:
    return float(values[0] if (values == values[0]).all() else np.average(values, weights=mass))


def _closing_time(gap: float, rate: float, change: float, noise: float, slow: float, level: float) -> float:
    """The time until gap + s rate + s^2 change / 2 falls to zero; 0 for closed contacts that are not pulled apart."""
    if gap == inf:
        return inf
    if abs(change) <= level:
        change = 0.0
    if gap <= noise and abs(rate) <= slow:
        return inf if change > 0.0 else 0.0
    if gap <= noise:
        gap = 0.0
    if rate >= 0.0:
        return inf if change >= 0.0 else (rate + sqrt(rate * rate - 2.0 * gap * change)) / -change
    square = rate * rate - 2.0 * gap * change
    return inf if square < 0.0 else 2.0 * gap / (sqrt(square) - rate)


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class StickyBlocks:
    """Blocks on a line that collide and stick, followed exactly without time steps: Moreau's law with e = 0.

    Masses are lengths. Blocks that meet stick, and separate only where forces pull them apart or away from a wall.
    Blocks that bounce are refused: ``jo.solve_by_events(blocks.motion(), t=...)`` follows them.

    Parameters
    ----------
    x : array_like, shape (n,)
        Left edges of the blocks at time 0, from left to right.
    lengths : float or array_like, shape (n,)
        Lengths of the blocks, positive, which are also their masses.
    v : float or array_like, shape (n,)
        Velocities at time 0.
    acceleration : float or array_like, shape (n,), default 0.0
        Constant accelerations of free blocks.
    restitution : float, default 0.0
        Restitution coefficient e of `motion`, between 0 and 1; all other methods need e = 0.
    walls : (float, float), default (-inf, inf)
        Positions of the left and the right wall; infinite where there is none.

    Examples
    --------
    >>> blocks = StickyBlocks([0, 2, 6], [1, 2, 1], [1, 0, -1])
    >>> blocks.at(2.0).tolist()
    [1.25, 2.25, 4.25]
    >>> [(m.time, m.left, m.right, round(m.velocity, 6)) for m in blocks.mergers()]
    [(1.0, 0, 1, 0.333333), (1.75, 3, 2, 0.0)]
    """

    x: Array
    lengths: Array
    v: Array
    acceleration: Array
    restitution: float
    walls: tuple[float, float]

    def __init__(
        self,
        x: ArrayLike,
        lengths: ArrayLike,
        v: ArrayLike,
        *,
        acceleration: ArrayLike = 0.0,
        restitution: float = 0.0,
        walls: tuple[float, float] = (-inf, inf),
    ):
        left = shaped(x, "x", -1)
        size, speed, a = (
            alike(value, name, left, "x")
            for value, name in ((lengths, "lengths"), (v, "v"), (acceleration, "acceleration"))
        )
        if len(left) == 0 or not (size > 0.0).all():
            raise InvalidValue("x must have at least one left edge, and all lengths must be positive")
        left, size, speed, a = (read_only(values) for values in (left, size, speed, a))
        set_fields(self, x=left, lengths=size, v=speed, acceleration=a)
        set_fields(self, restitution=Restitution(restitution).number, walls=_walls(walls))
        self._check_overlaps()

    def _check_overlaps(self) -> None:
        """Refuse blocks that are not in order between the walls."""
        right, (lower, upper) = self.x + self.lengths, self.walls
        overlap = np.concatenate([[lower - self.x[0]], right[:-1] - self.x[1:], [right[-1] - upper]])
        k = int(np.argmax(overlap))
        if overlap[k] <= MAX_OVERLAP * (np.abs(self.x).max() + self.lengths.max()):
            return
        if 0 < k < len(self.x):
            raise InvalidValue(
                f"blocks {k - 1} and {k} overlap by {overlap[k]:.3g}: list them from left to right, without overlaps"
            )
        block, wall = (0, f"left, at {lower:g}") if k == 0 else (k - 1, f"right, at {upper:g}")
        raise InvalidValue(f"block {block} is {overlap[k]:.3g} inside the wall on the {wall}: move one of them")

    @property
    def before(self) -> Array:
        """(n,): total length of all blocks to the left of each block."""
        return np.concatenate([[0.0], np.cumsum(self.lengths)[:-1]])

    @property
    def sticks(self) -> bool:
        """True if no contact ever opens; then `at` computes X(t) = P_K (X0 + t U0 + t^2/2 a).

        >>> [StickyBlocks([0, 2], 1, 0, acceleration=a).sticks for a in ([1, -1], [-1, 1])]
        [True, False]
        """
        self._refuse_restitution()
        a, (lower, upper) = self.acceleration, self.walls
        to_the_left, to_the_right = lower == -inf or a[0] <= 0.0, upper == inf or a[-1] >= 0.0
        return bool((np.diff(a) <= 0.0).all()) and to_the_left and to_the_right

    def _refuse_restitution(self) -> None:
        if self.restitution > 0.0:
            raise InvalidValue(
                f"StickyBlocks follows blocks that stick, restitution=0, not {self.restitution:g}: for blocks that "
                "bounce call jo.solve_by_events(blocks.motion(), t=...), whose positions are the centres"
            )

    def at(self, t: ArrayLike) -> Array:
        """Compute the left edges: by isotonic regression where no contact opens (`sticks`), otherwise impact by impact.

        Parameters
        ----------
        t : float or array_like
            Times, not negative.

        Returns
        -------
        array, shape (..., n)
            Left edges at each time.
        """
        if not self.sticks:
            return self._followed(t)
        times = _times(t)
        free = [self.x + s * (self.v + 0.5 * s * self.acceleration) - self.before for s in times.ravel()]
        X = np.array([self._project(row) for row in free]).reshape(-1, len(self.x)) + self.before
        return X.reshape(*times.shape, len(self.x))

    def _followed(self, t: ArrayLike) -> Array:
        """The left edges impact by impact; they are those of `at`, whether or not a contact opens."""
        times = _times(t)
        Y, _ = self._history.states(times.ravel())
        return (Y + self.before).reshape(*times.shape, len(self.x))

    def velocities(self, t: ArrayLike) -> Array:
        """Compute the velocities; at the time of an impact, those after it.

        Parameters
        ----------
        t : float or array_like
            Times, not negative.

        Returns
        -------
        array, shape (..., n)
            Velocities at each time.

        Examples
        --------
        >>> StickyBlocks([0, 2], 1, [1, -1]).velocities([0.25, 0.5]).tolist()
        [[1.0, -1.0], [0.0, 0.0]]
        """
        times = _times(t)
        return self._history.states(times.ravel())[1].reshape(*times.shape, len(self.x))

    def momentum(self, t: ArrayLike) -> Array:
        """Compute the total momentum, which only walls and forces change.

        Parameters
        ----------
        t : float or array_like
            Times, not negative.

        Returns
        -------
        array, shape (...)
            The sum of m v at each time.

        Examples
        --------
        >>> StickyBlocks([0, 2], 1, [1, -2]).momentum([0.0, 1.0]).tolist()
        [-1.0, -1.0]
        """
        return np.asarray(self.velocities(t) @ self.lengths)

    def energy(self, t: ArrayLike) -> Array:
        """Compute the total energy, which never grows.

        Parameters
        ----------
        t : float or array_like
            Times, not negative.

        Returns
        -------
        array, shape (...)
            The sum of m (v^2/2 - a x) at each time.

        Examples
        --------
        >>> StickyBlocks([0, 2], 1, [1, -1]).energy([0.0, 1.0]).tolist()
        [1.0, 0.0]
        """
        potential = self.at(t) @ (self.lengths * self.acceleration)
        return np.asarray(0.5 * self.velocities(t) ** 2 @ self.lengths - potential)

    def mergers(self, until: float = inf) -> list[Merger]:
        """List the mergers of clusters up to a time, in order.

        Blocks that touch at time 0 and stay in touch merge then. Clusters that forces pull apart as they touch do not
        merge.

        Parameters
        ----------
        until : float, default inf
            The latest time, not negative.

        Returns
        -------
        list of Merger
            The mergers; ``np.array(mergers)`` and ``pandas.DataFrame(mergers)`` are tables of them.

        Examples
        --------
        >>> import jostle as jo
        >>> mergers = jo.macro.StickyBlocks([0, 2, 6], [1, 2, 1], [1, 0, -1]).mergers()
        >>> [(m.time, m.left, m.right, m.mass) for m in mergers]
        [(1.0, 0, 1, 3.0), (1.75, 3, 2, 4.0)]
        """
        if not until >= 0.0:
            raise InvalidValue(f"until must be a time >= 0, not {until}")
        return [merger for merger in self._history.mergers if merger.time <= until]

    def motion(self) -> Motion:
        """Return the microscopic model, (45): balls on a line with diameters and masses equal to the lengths.

        This is the problem for blocks that bounce, whose `restitution` is positive: `jo.solve_by_events` follows their
        impacts one by one.

        Returns
        -------
        Motion
            The problem; its positions are the centres of the blocks, x + lengths / 2.

        Examples
        --------
        >>> import jostle as jo
        >>> blocks = StickyBlocks([0, 2], 1, [1, -1])
        >>> sol = jo.solve(blocks.motion(), jo.Maury(), t=2.0, h=0.1)
        >>> sol.q[-1].round(9).tolist(), (blocks.at(2.0) + blocks.lengths / 2).tolist()
        ([1.0, 2.0], [1.0, 2.0])
        >>> elastic = StickyBlocks([0, 2], 1, [1, -1], restitution=1.0)
        >>> (jo.solve_by_events(elastic.motion(), t=2.0).q(2.0) - elastic.lengths / 2).round(9).tolist()
        [-1.0, 3.0]
        """
        lower, upper = self.walls
        return Motion(
            q0=self.x + 0.5 * self.lengths,
            v0=self.v,
            force=self.lengths * self.acceleration,
            mass=self.lengths,
            within=Line(0.5 * self.lengths, lower=lower, upper=upper),
            law=Restitution(self.restitution),
        )

    @property
    def _room(self) -> tuple[float, float]:
        """Smallest and largest position of a block, minus the lengths of the blocks to its left."""
        return self.walls[0], self.walls[1] - float(self.lengths.sum())

    def _project(self, y: Array) -> Array:
        """The nearest positions, minus lengths, that are in order between the walls."""
        from scipy.optimize import isotonic_regression

        lower, upper = self._room
        return np.asarray(np.clip(isotonic_regression(y, weights=self.lengths).x, lower, max(lower, upper)))

    @cached_property
    def _history(self) -> _History:
        self._refuse_restitution()
        y, scale = self._project(self.x - self.before), float(np.abs(self.x).max() + self.lengths.sum())
        return _Events(y, self.v, self.acceleration, self.lengths, self._room, scale).history()


def _walls(walls: tuple[float, float]) -> tuple[float, float]:
    if np.shape(walls) != (2,) or not walls[0] < inf or not walls[1] > -inf or not walls[0] < walls[1]:
        raise InvalidValue(f"walls must be (left, right) with left < right, -inf or inf for no wall, not {walls}")
    return float(walls[0]), float(walls[1])


def _times(t: ArrayLike) -> Array:
    times = numbers(t, "t")
    if not ((times >= 0.0) & (times < inf)).all():
        wrong = times[~((times >= 0.0) & (times < inf))].ravel()[0]
        raise InvalidValue(f"t must be a finite time >= 0, not {wrong}")
    return times


def _unresolved(time: float, impacts: int) -> UnresolvedEvent:
    error = UnresolvedEvent(
        f"more than {impacts} impacts up to t = {time:.6g}: jo.solve_by_events(blocks.motion(), t=...) follows the "
        "blocks up to earlier times"
    )
    error.time = time
    return error
