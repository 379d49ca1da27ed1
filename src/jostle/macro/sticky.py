"""Sticky blocks on a line: e = 0, no force; blocks that meet go on together (Bourdin & Maury 2020, section 6).

With masses equal to lengths and K the blocks in order that do not overlap, the whole evolution is one projection,

    X(t) = P_K (X0 + t U0)        (Natile & Savaré 2009; Bouchut, Brenier, Cortes & Ripoll 2000)

that is, the isotonic regression of X0 + t U0 minus the lengths of all blocks to the left. The same evolution, merger by
merger, comes from an exact queue of events.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array, alike, shaped
from jostle.errors import InvalidValue

MAX_OVERLAP = 1e-12
"""Blocks that overlap by less than this fraction of their length touch."""


@dataclass(frozen=True)
class Merger:
    """Two clusters meet. Cluster k < n is block k; the cluster of the m-th merger is n + m.

    >>> StickyBlocks([0, 2], 1, [1, -1]).mergers()
    [Merger(time=0.5, left=0, right=1, velocity=0.0, mass=2.0)]
    """

    time: float
    left: int
    right: int
    velocity: float
    """of both, from then on."""
    mass: float


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class StickyBlocks:
    """Blocks with left edges x, lengths and velocities v, from left to right.

    >>> blocks = StickyBlocks([0, 2, 6], [1, 2, 1], [1, 0, -1])
    >>> blocks.at(2.0).tolist()
    [1.25, 2.25, 4.25]
    >>> [(m.time, m.left, m.right, round(m.velocity, 6)) for m in blocks.mergers()]
    [(1.0, 0, 1, 0.333333), (1.75, 3, 2, 0.0)]
    """

    x: Array
    lengths: Array
    v: Array

    def __init__(self, x: ArrayLike, lengths: ArrayLike, v: ArrayLike):
        left = shaped(x, "x", -1)
        size, speed = (alike(value, name, left, "x") for value, name in ((lengths, "lengths"), (v, "v")))
        if left.ndim != 1 or not (size > 0.0).all():
            raise InvalidValue("sticky blocks need a row of left edges and positive lengths")
        overlap = left[:-1] + size[:-1] - left[1:]
        if len(left) > 1 and overlap.max() > MAX_OVERLAP * (np.abs(left).max() + size.max()):
            k = int(np.argmax(overlap))
            raise InvalidValue(
                f"blocks {k} and {k + 1} overlap by {overlap[k]:.3g}: give them from left to right, apart"
            )
        object.__setattr__(self, "x", left)
        object.__setattr__(self, "lengths", np.array(size))
        object.__setattr__(self, "v", np.array(speed))

    @property
    def before(self) -> Array:
        """(n,): the length of all blocks to the left of each."""
        return np.concatenate([[0.0], np.cumsum(self.lengths)[:-1]])

    def at(self, t: float) -> Array:
        """The left edges at time t >= 0, by isotonic regression."""
        from scipy.optimize import isotonic_regression

        t = _time(t)
        free = self.x + t * self.v - self.before
        return np.asarray(isotonic_regression(free, weights=self.lengths).x) + self.before

    def mergers(self, until: float = np.inf) -> list[Merger]:
        """All mergers up to a time, in order: the merge tree."""
        n = len(self.x)
        y = (self.x - self.before).tolist()  # without their lengths blocks are points
        mass, speed, since = self.lengths.tolist(), self.v.tolist(), [0.0] * n
        before, after = list(range(-1, n - 1)), [*range(1, n), -1]
        alive, queue = [True] * n, list[tuple[float, int, int]]()
        found: list[Merger] = []

        def watch(a: int, b: int, now: float) -> None:
            if a < 0 or b < 0 or speed[a] <= speed[b]:
                return
            gap = (y[b] + speed[b] * (now - since[b])) - (y[a] + speed[a] * (now - since[a]))
            heapq.heappush(queue, (now + max(gap, 0.0) / (speed[a] - speed[b]), a, b))

        for k in range(n - 1):
            watch(k, k + 1, 0.0)
        while queue and queue[0][0] <= until:
            time, a, b = heapq.heappop(queue)
            if not (alive[a] and alive[b]):
                continue
            total, c = mass[a] + mass[b], len(mass)
            alive[a] = alive[b] = False
            here = [y[k] + speed[k] * (time - since[k]) for k in (a, b)]
            y.append((mass[a] * here[0] + mass[b] * here[1]) / total)
            speed.append((mass[a] * speed[a] + mass[b] * speed[b]) / total)
            mass.append(total)
            since.append(time)
            alive.append(True)
            before.append(before[a])
            after.append(after[b])
            if before[a] >= 0:
                after[before[a]] = c
            if after[b] >= 0:
                before[after[b]] = c
            found.append(Merger(time, a, b, speed[c], total))
            watch(before[c], c, time)
            watch(c, after[c], time)
        return found

    def followed(self, t: float) -> Array:
        """The left edges at time t by the queue of events: the same as `at`, merger by merger."""
        t = _time(t)
        n, mergers = len(self.x), self.mergers(until=t)
        y, v, m = list(self.x - self.before), list(self.v), list(self.lengths)
        since, parent = [0.0] * n, list(range(n + len(mergers)))
        for k, event in enumerate(mergers):
            a, b = event.left, event.right
            here = [y[c] + v[c] * (event.time - since[c]) for c in (a, b)]
            y.append((m[a] * here[0] + m[b] * here[1]) / event.mass)
            v.append(event.velocity)
            m.append(event.mass)
            since.append(event.time)
            parent[a] = parent[b] = n + k
        last = np.arange(n + len(mergers))
        for c in range(n + len(mergers) - 1, -1, -1):
            last[c] = c if parent[c] == c else last[parent[c]]
        now = np.array([y[c] + v[c] * (t - since[c]) for c in range(n + len(mergers))])
        return np.asarray(now[last[:n]] + self.before)


def _time(t: float) -> float:
    if not 0.0 <= t < np.inf:
        raise InvalidValue(f"blocks stick for good: t must be a finite time, not negative, not {t}")
    return float(t)
