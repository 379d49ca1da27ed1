"""Exact motion of blocks on a line that touch and do not overlap, without time steps (Bourdin & Maury 2020, section 6).

Masses are lengths. With e = 0 blocks that meet stay together. If no contact opens again, the position at each time is
one projection on K, the set of blocks in order between the walls without overlaps (Natile & Savaré 2009; Bouchut,
Brenier, Cortes & Ripoll 2000),

    X(t) = P_K (X0 + t U0 + t^2/2 a),

because M (X - X0 - t U0 - t^2/2 a) is then the contact force, integrated twice, which acts at closed contacts only. It
is the isotonic regression of X0 + t U0 + t^2/2 a minus the lengths of all blocks to the left, clipped at the walls.
Without forces no contact opens. Forces keep all contacts closed if the accelerations do not increase from left to right
and press against each wall. In all other cases, and with e > 0, blocks are followed from impact to impact.

Impacts are discontinuous: two impacts in close succession have another outcome than one impact of all blocks. Gaps
below the round-off of positions count as closed. So the result depends on round-off where contacts close at times that
differ by round-off alone, and where large groups with e near the largest value at which they stick almost come to rest,
so that their gaps are round-off. Computations of the mirrored motion in other units of time show where, because nothing
but their round-off differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments, set_fields
from jostle._tools.arrays import Array, Booleans, Integers, alike, numbers, read_only, shaped
from jostle.errors import DependsOnRoundOff, InvalidValue, UnresolvedEvent, warn
from jostle.laws import Restitution
from jostle.macro.kernels import collisions
from jostle.problems import Motion
from jostle.sets.balls import Line

# The history of blocks on a line: the mergers of clusters, and the parabolas along which clusters move.


MAX_PRINTED = 8
"""Largest number of mergers that are printed."""


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

    Examples
    --------
    >>> import jostle as jo
    >>> jo.macro.StickyBlocks([0, 2], 1, [1, -1]).mergers()
    [Merger(time=0.5, left=0, right=1, velocity=0.0, mass=2.0)]
    """

    time: float
    left: int
    right: int
    velocity: float
    mass: float


@dataclass(frozen=True, eq=False, repr=False)
class MergeTree(Sequence[Merger]):
    """All mergers up to a time, in order: a sequence of `Merger`, also available as arrays.

    Attributes
    ----------
    time : array, shape (k,)
        Times of the mergers, in order.
    left : array of int, shape (k,)
        Numbers of the clusters on the left; -1 is the left wall.
    right : array of int, shape (k,)
        Numbers of the clusters on the right; -2 is the right wall.
    velocity : array, shape (k,)
        Velocities of the new clusters at these times.
    mass : array, shape (k,)
        Masses of the blocks of the new clusters.
    first : array of int, shape (k,)
        First block of each new cluster.
    last : array of int, shape (k,)
        Last block of each new cluster.

    Examples
    --------
    >>> import jostle as jo
    >>> tree = jo.macro.StickyBlocks([0, 2, 6], [1, 2, 1], [1, 0, -1]).mergers()
    >>> tree.time.tolist(), tree.left.tolist(), tree.right.tolist(), tree.mass.tolist()
    ([1.0, 1.75], [0, 3], [1, 2], [3.0, 4.0])
    """

    time: Array
    left: Integers
    right: Integers
    velocity: Array
    mass: Array
    first: Integers
    last: Integers

    def __len__(self) -> int:
        return len(self.time)

    @overload
    def __getitem__(self, index: int) -> Merger: ...
    @overload
    def __getitem__(self, index: slice) -> list[Merger]: ...
    def __getitem__(self, index: int | slice) -> Merger | list[Merger]:
        if isinstance(index, slice):
            return list(map(Merger, *(column[index].tolist() for column in self._columns)))
        return Merger(*(column[index].item() for column in self._columns))

    def __iter__(self) -> Iterator[Merger]:
        return iter(self[:])

    def __repr__(self) -> str:
        more = f", ... {len(self) - MAX_PRINTED} more" if len(self) > MAX_PRINTED else ""
        return f"[{', '.join(map(repr, self[:MAX_PRINTED]))}{more}]"

    @property
    def _columns(self) -> tuple[Array, Integers, Integers, Array, Array]:
        return self.time, self.left, self.right, self.velocity, self.mass

    def _until(self, t: float) -> MergeTree:
        """The mergers up to a time, that time included."""
        k = int(np.searchsorted(self.time, t, side="right"))
        return replace(self, **{column.name: getattr(self, column.name)[:k] for column in fields(self)})


@dataclass(frozen=True, eq=False)
class History:
    """The motion of n blocks up to a time: parabolas of clusters, in the order of their start times."""

    end: float
    tree: MergeTree
    start: Array
    """(p,) start times; the first n parabolas are those of the blocks at time 0."""
    cluster: Integers
    """(p,) cluster of each parabola."""
    y: Array
    """(p,) position at the start time, minus the lengths of the blocks to the left; one value per cluster."""
    v: Array
    """(p,) velocity at the start time."""
    acceleration: Array
    """(c,) acceleration of each cluster."""

    @cached_property
    def birth(self) -> Array:
        """(c,) time at which each cluster forms."""
        return np.concatenate([np.zeros(len(self.acceleration) - len(self.tree)), self.tree.time])

    @cached_property
    def death(self) -> Array:
        """(c,) time at which each cluster becomes part of a larger one; infinite if it never does."""
        death = np.full(len(self.acceleration), np.inf)
        for parts in (self.tree.left, self.tree.right):
            merged = parts >= 0
            death[parts[merged]] = self.tree.time[merged]
        return death

    def states(self, times: Array) -> tuple[Array, Array]:
        """(k, n) positions minus lengths, and velocities, at times (k,); at an impact, those after it."""
        n = len(self.acceleration) - len(self.tree)
        first = np.concatenate([np.arange(n), self.tree.first])
        latest, seen = np.zeros(len(first), dtype=np.int64), 0
        Y, V = np.empty((2, len(times), n))
        for k in np.argsort(times, kind="stable"):
            upto = int(np.searchsorted(self.start, times[k], side="right"))
            latest[self.cluster[seen:upto]] = np.arange(seen, upto)  # the last of several parabolas of a cluster
            seen = upto
            owner = latest[_owners(first, (self.birth <= times[k]) & (self.death > times[k]), n)]
            s, a = times[k] - self.start[owner], self.acceleration[self.cluster[owner]]
            Y[k], V[k] = self.y[owner] + s * (self.v[owner] + 0.5 * s * a), self.v[owner] + s * a
        return Y, V


def _owners(first: Integers, alive: Booleans, n: int) -> Integers:
    """(n,) the cluster of each block, from the first blocks of the clusters that exist at one time."""
    begins, owner = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    clusters = np.flatnonzero(alive)
    begins[first[clusters]], owner[first[clusters]] = 1, clusters
    there: Integers = owner[np.maximum.accumulate(np.where(begins == 1, np.arange(n), 0))]
    return there


MAX_OVERLAP = 1e-12
"""Blocks that overlap by less than this fraction of their length touch."""
MAX_IMPACTS = 5_000_000
"""Largest number of impacts computed for one history."""
UNITS_OF_TIME = 0.7, 1.1
"""Factors of all velocities in the two further computations that show whether the motion depends on round-off."""
MAX_DIFFERENCE = 1e-8
"""Two computations agree if no position differs by more than this fraction of the length of the whole row."""
COMPARED_TIMES = 65
"""Number of times at which two computations are compared."""
AFTER_THE_LAST = 2.0
"""Without an end, computations are compared at least up to this multiple of the time of their last impact."""
BISECTIONS = 40
"""Number of bisections that find the first time at which two computations differ."""


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class StickyBlocks:
    """Blocks on a line that collide and stick or bounce, followed exactly without time steps.

    Masses are lengths. Impacts follow Moreau's law at all closed contacts together. With e = 0 blocks that meet stick,
    and separate only where forces pull them apart or away from a wall. With 0 < e < 1 the impacts of a group may
    accumulate; all blocks of the group stick together at the limit.

    The motion depends on round-off where contacts close at times that differ by round-off alone, and, with e > 0, where
    a group of blocks almost comes to rest without sticking, so that its gaps fall below the round-off of positions.
    With 0 < e < 1 each motion is computed three times, two of them mirrored and in other units of time. If the results
    differ, the warning `jo.errors.DependsOnRoundOff` names the first time and the blocks. Without the warning
    a motion can still depend on round-off, if all three computations agree by chance.

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
        Restitution coefficient e, between 0 and 1.
    walls : (float, float), default (-inf, inf)
        Positions of the left and the right wall; infinite where there is none.

    Examples
    --------
    >>> blocks = StickyBlocks([0, 2, 6], [1, 2, 1], [1, 0, -1])
    >>> blocks.at(2.0).tolist()
    [1.25, 2.25, 4.25]
    >>> [(m.time, m.left, m.right, round(m.velocity, 6)) for m in blocks.mergers()]
    [(1.0, 0, 1, 0.333333), (1.75, 3, 2, 0.0)]
    >>> bouncing = StickyBlocks([1.25], 1, 0, acceleration=-10, restitution=0.5, walls=(0, np.inf))
    >>> bouncing.at([0.5, 0.75, 1.5, 2.0]).round(9).ravel().tolist()        # impacts at 0.5, 1.0, 1.25 ... 1.5
    [0.0, 0.3125, 0.0, 0.0]
    """

    x: Array
    lengths: Array
    v: Array
    acceleration: Array
    restitution: float
    walls: tuple[float, float]
    _known: list[History] = field(repr=False)

    def __init__(
        self,
        x: ArrayLike,
        lengths: ArrayLike,
        v: ArrayLike,
        *,
        acceleration: ArrayLike = 0.0,
        restitution: float = 0.0,
        walls: tuple[float, float] = (-np.inf, np.inf),
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
        set_fields(self, restitution=Restitution(restitution).number, walls=_walls(walls), _known=[])
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
        a, (lower, upper) = self.acceleration, self.walls
        to_the_left, to_the_right = lower == -np.inf or a[0] <= 0.0, upper == np.inf or a[-1] >= 0.0
        return self.restitution == 0.0 and bool((np.diff(a) <= 0.0).all()) and to_the_left and to_the_right

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

        Raises
        ------
        UnresolvedEvent
            If there are more than 5 000 000 impacts up to the latest time.
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
        Y, _ = self._states(times)
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
        return self._states(times)[1].reshape(*times.shape, len(self.x))

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
        """Compute the total energy, which never grows and is constant with e = 1.

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

    def mergers(self, until: float = np.inf) -> MergeTree:
        """List the mergers of clusters up to a time, in order.

        Blocks that touch at time 0 and stay in touch merge then. With e > 0 clusters merge at the limit of infinitely
        many impacts. Clusters that forces pull apart as they touch do not merge.

        Parameters
        ----------
        until : float, default inf
            The latest time, not negative.

        Returns
        -------
        MergeTree
            The mergers.
        """
        if not until >= 0.0:
            raise InvalidValue(f"until must be a time >= 0, not {until}")
        return self._history(float(until)).tree._until(until)

    def motion(self) -> Motion:
        """Return the microscopic model, (45): balls on a line with diameters and masses equal to the lengths.

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

    @property
    def _frame(self) -> tuple[float, float]:
        """Velocity and acceleration of the frame of reference: that of the blocks if there are no walls, else zero."""
        # Equal accelerations become exactly 0 in this frame, and a common velocity costs no precision.
        if self.walls != (-np.inf, np.inf):
            return 0.0, 0.0
        v, a = (
            float(values[0] if (values == values[0]).all() else np.average(values, weights=self.lengths))
            for values in (self.v, self.acceleration)
        )
        return v, a

    def _states(self, times: Array) -> tuple[Array, Array]:
        """(k, n) positions minus lengths, and velocities, at all times."""
        t = times.ravel()
        Y, V = self._history(float(t.max(initial=0.0))).states(t)
        v, a = self._frame
        return Y + (t * (v + 0.5 * t * a))[:, None], V + (v + t * a)[:, None]

    def _history(self, until: float) -> History:
        """The history up to a time; with e = 0 and contacts that stay closed, the whole history."""
        if not self._known or self._known[-1].end < until:
            self._known[:] = [self._follow(np.inf if self.sticks else until)]
        return self._known[-1]

    def _follow(self, until: float) -> History:
        y, (v, a) = self._project(self.x - self.before), self._frame
        speed, acceleration, walls = self.v - v, self.acceleration - a, np.array(self._room)
        found = self._computed(y, speed, acceleration, self.lengths, walls, until)
        if 0.0 < self.restitution < 1.0:
            others = []
            for c in UNITS_OF_TIME:
                mirrored = -y[::-1], -c * speed[::-1], -c * c * acceleration[::-1], self.lengths[::-1].copy()
                others.append((c, self._computed(*mirrored, -walls[::-1], until / c)))
            self._compare(found, others)
        tree = replace(found.tree, velocity=found.tree.velocity + v + found.tree.time * a)
        return replace(found, tree=tree)

    @property
    def _scale(self) -> float:
        return float(np.abs(self.x).max() + self.lengths.sum())

    def _computed(self, y: Array, v: Array, a: Array, mass: Array, walls: Array, until: float) -> History:
        """The history of points that start at y, in the frame of reference."""
        times, clusters, parabolas, pairs, merged, impacts = collisions(
            y, v, a, mass, walls, self.restitution, until, self._scale, MAX_IMPACTS
        )
        if impacts >= MAX_IMPACTS and times[1] <= until and times[1] < np.inf:
            raise _unresolved(float(times[0]))
        time, velocity, total, of_cluster = merged.T
        left, right, first, last = pairs.T
        return History(
            until,
            MergeTree(time, left, right, velocity, total, first, last),
            np.concatenate([np.zeros(len(y)), parabolas[:, 0]]),
            np.concatenate([np.arange(len(y)), clusters]),
            np.concatenate([y, parabolas[:, 1]]),
            np.concatenate([v, parabolas[:, 2]]),
            np.concatenate([a, of_cluster]),
        )

    def _compare(self, found: History, others: list[tuple[float, History]]) -> None:
        """Warn if the same motion, computed in a mirror and in other units of time, is another one."""

        def differences(times: Array) -> Array:
            Y = found.states(times)[0]
            apart = [np.abs(Y + other.states(times / c)[0][:, ::-1]) for c, other in others]
            return np.asarray(np.max(apart, axis=0))

        end = found.end
        if end == np.inf:  # impacts change velocities, which change positions later only
            last = max(float(c * each.start.max(initial=0.0)) for c, each in [(1.0, found), *others])
            fastest = float(np.abs(found.v).max())
            end = max(AFTER_THE_LAST * last, self._scale / fastest if fastest > 0.0 else 0.0)
        allowed, times = MAX_DIFFERENCE * self._scale, np.linspace(0.0, end, COMPARED_TIMES)
        apart = differences(times)
        different = np.flatnonzero((apart > allowed).any(axis=1))
        if len(different) == 0:
            return
        early, late = times[max(different[0] - 1, 0)], times[different[0]]
        for _ in range(BISECTIONS):
            middle = 0.5 * (early + late)
            early, late = (early, middle) if (differences(np.array([middle])) > allowed).any() else (middle, late)
        blocks = np.flatnonzero(differences(np.array([late]))[0] > allowed)
        named = f"block {blocks[0]}" if len(blocks) == 1 else f"blocks {blocks[0]} to {blocks[-1]}"
        warn(
            f"the motion depends on round-off from t = {late:.6g} on, first at {named}: computed again, in a mirror "
            f"and in other units of time, positions up to t = {end:g} differ by up to {apart.max():.3g}. Impacts "
            "near these blocks follow each other within round-off, and their order decides. Ask for earlier times, or "
            "take all these motions as possible",
            DependsOnRoundOff,
        )


def _walls(walls: tuple[float, float]) -> tuple[float, float]:
    if np.shape(walls) != (2,) or not walls[0] < np.inf or not walls[1] > -np.inf or not walls[0] < walls[1]:
        raise InvalidValue(f"walls must be (left, right) with left < right, -inf or inf for no wall, not {walls}")
    return float(walls[0]), float(walls[1])


def _times(t: ArrayLike) -> Array:
    times = numbers(t, "t")
    if not ((times >= 0.0) & (times < np.inf)).all():
        wrong = times[~((times >= 0.0) & (times < np.inf))].ravel()[0]
        raise InvalidValue(f"t must be a finite time >= 0, not {wrong}")
    return times


def _unresolved(time: float) -> UnresolvedEvent:
    error = UnresolvedEvent(
        f"more than {MAX_IMPACTS} impacts up to t = {time:.6g}: ask for earlier times (mergers(until=...)), or use "
        "fewer blocks or another restitution coefficient"
    )
    error.time = time
    return error
