"""The history of blocks on a line: the mergers of clusters, and the parabolas along which clusters move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np

from jostle.arrays import Array, Booleans, Integers

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

    def until(self, t: float) -> MergeTree:
        """Select the mergers up to a time, that time included.

        Parameters
        ----------
        t : float
            The latest time.

        Returns
        -------
        MergeTree
            The mergers with `time` <= t.
        """
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
