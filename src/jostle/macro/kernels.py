"""The loops of densities: blocks on a line, envelopes of parabolas, the obstacle problem, isotonic regression.

Blocks on a line under constant accelerations go from impact to impact (Bourdin & Maury 2020, (45)).
Without their lengths blocks are points y_1 <= ... <= y_n between two walls. A closed contact whose sides neither
approach nor are pulled apart joins them into one cluster for good. Between impacts a cluster moves along a parabola,
with the mean acceleration of its blocks; a cluster that contains a wall is at rest. All closed contacts of an impact
that do not separate take part in Moreau's law u+ = (1 + e) P_C u- - e u-, in which P_C u- is the mean velocity of the
clusters, or 0 if one of them is at rest at a wall.

With 0 < e < 1 infinitely many impacts of a group may accumulate in a finite time. Their gaps and times shrink by up to
seven digits for each digit of their velocities, far below the round-off of positions. So impacts that follow each other
closely are one burst: it adds up flights, gaps and relative velocities, not times, positions and velocities.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf, sqrt

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle.kernels.interface import kernel
from jostle.kernels.reference.dense import EPS, ROUND_OFF

SLOWEST = 64 * EPS
"""Relative velocities below this fraction of the largest velocity so far count as zero."""
LEVEL = 64 * EPS
"""Relative accelerations below this fraction of the largest acceleration count as zero."""
FLEETING = 2.0**-16
"""With 0 < e < 1, impacts that follow within this fraction of the time so far belong to one burst, in which gaps and
relative velocities keep their relative precision however small they become."""
COLLAPSED = SLOWEST**2
"""A burst has an accumulation point where blocks approach each other more slowly than this fraction of the largest
velocity so far."""


@kernel("jostle.macro.compiled")
def collisions(
    y: Array, v: Array, a: Array, mass: Array, walls: Array, e: float, until: float, scale: float, most: int
) -> tuple[Array, Integers, Array, Integers, Array, int]:
    """What happens to n points up to a time: the parabolas that begin at impacts, the mergers, the number of impacts.

    walls (2,) are infinite where there is no wall; scale is a length whose round-off is that of the positions. Returns
    the times of the last impact and of the next one (2,); the cluster (p,) of each parabola, and its time, position and
    velocity (p, 3); for each merger the two clusters, its first and its last point (k, 4), and its time, velocity, mass
    and acceleration (k, 4); and the number of impacts, at most `most`. Cluster c < n is
    point c, n + m that of the m-th merger, -1 the wall on the left and -2 the one on the right.
    """
    line = _Line(y, v, a, mass, walls, e, scale)
    while line.impacts < most and line.next_time() <= until and line.next_time() < inf:
        line.burst(until, most)
    parabolas = np.array([entry[1:] for entry in line.parabolas]).reshape(-1, 3)
    clusters = np.array([entry[0] for entry in line.parabolas], dtype=np.int64)
    pairs = np.array([entry[:4] for entry in line.mergers], dtype=np.int64).reshape(-1, 4)
    merged = np.array([entry[4:] for entry in line.mergers], dtype=float).reshape(-1, 4)
    return np.array([line.now, line.next_time()]), clusters, parabolas, pairs, merged, line.impacts


def closing_time(gap: float, rate: float, change: float, noise: float, slow: float, level: float) -> float:
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


@dataclass(eq=False)
class _Cluster:
    first: int
    last: int
    name: int
    y: float
    v: float
    a: float
    mass: float
    held: bool = False
    since: float = 0.0
    changed: bool = False

    def move(self, s: float) -> None:
        self.y, self.v = self.y + s * (self.v + 0.5 * s * self.a), self.v + s * self.a

    def joined(self, other: _Cluster, name: int) -> _Cluster:
        """This cluster and its neighbour on the right, with the velocity that both have."""
        mass, held = self.mass + other.mass, self if self.held else other
        if self.held or other.held:
            return _Cluster(self.first, other.last, name, held.y, 0.0, 0.0, mass, True, self.since, True)
        part = other.mass / mass
        v, a = self.v + part * (other.v - self.v), self.a + part * (other.a - self.a)
        return _Cluster(self.first, other.last, name, self.y, v, a, mass, False, self.since, True)


@dataclass
class _Contact:
    """A contact of a burst, between a cluster and its neighbour on the left."""

    gap: float
    rate: float
    change: float
    noise: float

    def move(self, s: float) -> None:
        """Advance the gap and its rate; where they cancel to round-off, they are zero."""
        gap, change = self.gap + s * (self.rate + 0.5 * s * self.change), s * self.change
        self.gap = 0.0 if gap < ROUND_OFF * (self.gap + s * (abs(self.rate) + abs(change))) else gap
        self.push(change)

    def push(self, change: float) -> None:
        """Change the rate; where it cancels to round-off, it is zero."""
        rate = self.rate + change
        self.rate = 0.0 if abs(rate) <= ROUND_OFF * (abs(self.rate) + abs(change)) else rate


class _Line:
    def __init__(self, y: Array, v: Array, a: Array, mass: Array, walls: Array, e: float, scale: float):
        n = len(y)
        self.row = [_Cluster(k, k, k, float(y[k]), float(v[k]), float(a[k]), float(mass[k])) for k in range(n)]
        self.row.insert(0, _Cluster(-1, -1, -1, float(walls[0]), 0.0, 0.0, 0.0, True))
        self.row.append(_Cluster(n, n, -2, float(walls[1]), 0.0, 0.0, 0.0, True))
        self.n, self.e, self.scale, self.now, self.impacts = n, e, scale, 0.0, 0
        self.fleeting = FLEETING if 0.0 < e < 1.0 else 0.0
        self.fastest, self.level = max(map(abs, v), default=0.0), LEVEL * max(map(abs, a), default=0.0)
        self.parabolas: list[tuple[int, float, float, float]] = []
        self.mergers: list[tuple[int, int, int, int, float, float, float, float]] = []
        self.times: dict[int, float] = {}
        """Times of the next impacts of contacts, each of which has the number of the first point on its right."""
        self.contacts: dict[int, _Contact] = {}
        """Contacts of the burst."""
        for right in self.row[1:]:
            self.watch(right)

    def next_time(self) -> float:
        return min(self.times.values(), default=inf)

    def place(self, contact: int) -> int:
        """The place in the row of the cluster on the right of a contact."""
        return next(i for i, cluster in enumerate(self.row) if cluster.first == contact)

    def between(self, right: _Cluster) -> _Contact:
        """The gap on the left of a cluster, its rate and change of rate now, and its round-off: below, it is closed."""
        left = self.row[self.row.index(right) - 1]
        s, t = self.now - left.since, self.now - right.since
        gap = right.y + t * (right.v + 0.5 * t * right.a) - left.y - s * (left.v + 0.5 * s * left.a)
        noise = ROUND_OFF * (self.scale + abs(left.y if abs(left.y) < inf else right.y))
        return _Contact(gap, right.v + t * right.a - left.v - s * left.a, right.a - left.a, noise)

    def watch(self, right: _Cluster) -> None:
        """Find the next impact of a contact."""
        c, slow = self.between(right), SLOWEST * self.fastest
        self.times[right.first] = self.now + closing_time(c.gap, c.rate, c.change, c.noise, slow, self.level)

    def burst(self, until: float, most: int) -> None:
        """The next impact, and those that follow within a fleeting time, of all clusters between them."""
        key = self.next_time()
        contact = next(right.first for right in self.row[1:] if self.times[right.first] == key)
        begin = end = self.place(contact)
        self.now = max(self.now, key)
        start, elapsed, recorded = self.now, 0.0, 0.0
        while True:
            begin, end = self.grown(contact, begin, end)
            self.impacts += 1
            self.collide(begin, end)
            end = self.merge(begin, end)
            s, contact = self.soonest(begin, end)
            if start + elapsed + s > self.next_time():
                s = max(self.next_time() - self.now, 0.0)
                contact = next(right.first for right in self.row[1:] if self.times.get(right.first) == self.next_time())
            if s > self.fleeting * self.now or start + elapsed + s > until or self.impacts >= most:
                break
            elapsed += s
            if elapsed - recorded > ROUND_OFF * start:
                self.record(begin, end)
                self.now, recorded = start + elapsed, elapsed
            for cluster in self.row[begin:end]:
                cluster.move(s)
                cluster.since = self.now
            for one in self.contacts.values():
                one.move(s)
        self.record(begin, end)
        self.contacts.clear()
        for right in self.row[max(begin, 1) : end + 1]:
            self.watch(right)

    def grown(self, contact: int, begin: int, end: int) -> tuple[int, int]:
        """The clusters of the burst, with those at a contact that closes, and those that touch them."""
        place = self.place(contact)
        if begin == end:
            begin, end = self.admitted(place - 1, place + 1)
        while begin > 0 and (begin >= place or self.contacts[self.row[begin].first].gap == 0.0):
            begin, end = self.admitted(begin - 1, end)
        while end < len(self.row) and (end <= place or self.contacts[self.row[end].first].gap == 0.0):
            begin, end = self.admitted(begin, end + 1)
        self.contacts[contact].gap = 0.0
        return begin, end

    def admitted(self, begin: int, end: int) -> tuple[int, int]:
        """Move clusters to the time of the burst, and find the gaps and the rates of their contacts."""
        for cluster in self.row[begin:end]:
            cluster.move(self.now - cluster.since)
            cluster.since = self.now
            self.fastest = max(self.fastest, abs(cluster.v))
        for right in self.row[max(begin, 1) : end + 1]:
            if right.first not in self.contacts:
                one = self.contacts[right.first] = self.between(right)
                one.gap = 0.0 if one.gap <= one.noise else one.gap
                one.rate = 0.0 if abs(one.rate) <= SLOWEST * self.fastest else one.rate
                del self.times[right.first]
        return begin, end

    def soonest(self, begin: int, end: int) -> tuple[float, int]:
        """The time until the next contact of the burst closes, and this contact."""
        found = (inf, -1)
        for left, right in pairwise(self.row[max(begin - 1, 0) : end + 1]):
            one = self.contacts[right.first]
            one.change = right.a - left.a
            time = closing_time(one.gap, one.rate, one.change, 0.0, 0.0, self.level)
            found = (time, right.first) if time < found[0] else found
        return found

    def collide(self, begin: int, end: int) -> None:
        """Moreau's law for all contacts that are closed and do not separate."""
        slow, contacts = SLOWEST * self.fastest, [self.contacts[one.first] for one in self.row[begin + 1 : end]]
        closed = [one.gap == 0.0 and one.rate <= 0.0 for one in contacts]
        at_rest = [one.gap <= one.noise and abs(one.rate) <= slow for one in contacts]
        k = 0
        while k < len(contacts):
            if not closed[k]:
                k += 1
                continue
            first = k
            while k < len(contacts) and closed[k]:
                k += 1
            e = self.e
            if -min(one.rate for one in contacts[first:k]) <= COLLAPSED * self.fastest:
                e = 0.0  # the limit of infinitely many impacts: all contacts of the group close together
                while first > 0 and at_rest[first - 1]:
                    first -= 1
                while k < len(contacts) and at_rest[k]:
                    k += 1
            self.hit(begin + first, begin + k + 1, e)

    def hit(self, begin: int, end: int, e: float) -> None:
        """Give the clusters of an impact one place, and the velocities of Moreau's law."""
        run, contacts = self.row[begin:end], [self.contacts[one.first] for one in self.row[begin + 1 : end]]
        offsets = np.cumsum([0.0] + [one.rate for one in contacts]).tolist()
        y, mean, mass = run[0].y, 0.0, run[0].mass
        for cluster, offset in zip(run[1:], offsets[1:], strict=True):
            mass += cluster.mass
            if mass > 0.0:
                y += cluster.mass / mass * (cluster.y - y)
                mean += cluster.mass / mass * (offset - mean)
        for cluster, offset in zip(run, offsets, strict=True):
            if cluster.held:
                y, mean = cluster.y, offset
        for cluster, offset in zip(run, offsets, strict=True):
            if not cluster.held:
                cluster.y, cluster.changed = y, True
                cluster.v += (1.0 + e) * (mean - offset)
        for one in contacts:
            one.gap, one.rate = 0.0, -e * one.rate + 0.0
        if not run[0].held:
            self.contacts[run[0].first].push((1.0 + e) * mean)
        if not run[-1].held:
            self.contacts[self.row[end].first].push((1.0 + e) * (offsets[-1] - mean))

    def merge(self, begin: int, end: int) -> int:
        """Join neighbours at rest with each other that nothing pulls apart; returns the new end of the burst."""
        kept: list[_Cluster] = []
        for cluster in self.row[begin:end]:
            kept.append(cluster)
            while len(kept) > 1:
                left, right = kept[-2:]
                one = self.contacts[right.first]
                if one.gap > 0.0 or one.rate != 0.0 or right.a - left.a > self.level:
                    break
                del self.contacts[right.first]
                joined = left.joined(right, self.n + len(self.mergers))
                kept[-2:] = [joined]
                first, last = max(joined.first, 0), min(joined.last, self.n - 1)
                self.mergers.append((left.name, right.name, first, last, self.now, joined.v, joined.mass, joined.a))
        self.row[begin:end] = kept
        return begin + len(kept)

    def record(self, begin: int, end: int) -> None:
        """Begin a parabola for each cluster whose velocity has changed."""
        for cluster in self.row[begin:end]:
            if cluster.changed and cluster.name >= 0:
                self.parabolas.append((cluster.name, self.now, cluster.y, cluster.v))
            cluster.changed = False


def five_point(east: Array, north: Array, extra: Array) -> Array:
    """The matrix with (A p)_c = extra_c p_c + the sum over four neighbours of weight (p_c - p_neighbour).

    All arguments (nx, ny): east is the weight between [i, j] and [i + 1, j], north between [i, j] and [i, j + 1].
    """
    number = np.arange(extra.size).reshape(extra.shape)
    A = np.diag(extra.ravel())
    for weight, here, there in ((east, np.s_[:-1, :], np.s_[1:, :]), (north, np.s_[:, :-1], np.s_[:, 1:])):
        for a, b, w in zip(number[here].ravel(), number[there].ravel(), weight[here].ravel(), strict=True):
            A[a, a], A[b, b], A[a, b], A[b, a] = A[a, a] + w, A[b, b] + w, A[a, b] - w, A[b, a] - w
    return A


@kernel("jostle.macro.compiled")
def obstacle(
    east: Array, north: Array, extra: Array, b: Array, start: Array, jammed: Booleans, held: Booleans,
    precision: float, tol: float, zero: float, most: int, cycles: int,
) -> tuple[Array, int, int]:  # fmt: skip
    """(p, steps, cycles) with p >= 0, A p - b >= 0, p (A p - b) = 0 on the cells of a grid, A = `five_point`.

    Primal-dual active sets: the jammed cells to start from are given; those that are held stay jammed. p is zero where
    A has no diagonal; elsewhere A must be positive definite. Linear systems are solved here without a start, exactly.
    An implementation may start from `start` and solve them up to `precision`, in the last steps up to tol (of |b|), in
    no more than `cycles` cycles each; there an entry of p below the part `zero` of the largest, or one of A p - b below
    that part of the largest |b|, has no sign.
    """
    A, load = five_point(east, north, extra), b.ravel()
    there = A.diagonal() > 0.0
    now, p = jammed.ravel() & there, np.zeros(len(load))
    for step in range(most):
        p[:] = 0.0
        p[now] = np.linalg.solve(A[np.ix_(now, now)], load[now])
        following = (np.where(now, p > 0.0, A @ p < load) | held.ravel()) & there
        if (following == now).all():
            return p.reshape(b.shape), step + 1, 0
        now = following
    return p.reshape(b.shape), most, 0


@kernel("jostle.macro.compiled")
def isotonic(y: Array, mass: Array, order: Integers, starts: Integers, low: Booleans, high: Booleans) -> Array:
    """(n,) run by run, the nearest non-decreasing u to y, >= 0 after a wall (low), <= 0 before one (high).

    The points of run r are order[starts[r]:starts[r + 1]]; mass of length 0: all one.
    """
    u = np.empty(len(y))
    for run, (a, b) in enumerate(pairwise(starts)):
        points = order[a:b]
        u[points] = _pooled(y[points], mass[points] if len(mass) else np.ones(b - a))
        u[points] = np.maximum(u[points], 0.0) if low[run] else u[points]
        u[points] = np.minimum(u[points], 0.0) if high[run] else u[points]
    return u


def _pooled(y: Array, mass: Array) -> Array:
    """u_i is the largest, over where a block may begin, of the smallest mean of y up to where it may end."""
    n = len(y)
    total, sums = np.concatenate([[0.0], np.cumsum(mass)]), np.concatenate([[0.0], np.cumsum(mass * y)])
    mean = [[(sums[b] - sums[a]) / (total[b] - total[a]) for b in range(a + 1, n + 1)] for a in range(n)]
    return np.array([max(min(mean[a][i - a :]) for a in range(i + 1)) for i in range(n)])


@kernel("jostle.macro.compiled")
def pressures(lost: Array, mass: Array, order: Integers, starts: Integers, low: Booleans, high: Booleans) -> Array:
    """(n + runs,) at the edges of all runs, the sum of mass times what was lost, from a free end on.

    Between two walls the least pressure is zero; at a free end it is zero, and nowhere is it negative.
    """
    edges = []
    for run, (a, b) in enumerate(pairwise(starts)):
        points = order[a:b]
        p = np.concatenate([[0.0], np.cumsum((mass[points] if len(mass) else 1.0) * lost[points])])
        p -= p.min() if low[run] and high[run] else p[-1] if low[run] else 0.0
        p = np.maximum(p, 0.0)
        p[0], p[-1] = p[0] if low[run] else 0.0, p[-1] if high[run] else 0.0
        edges.append(p)
    return np.concatenate(edges)


@kernel("jostle.macro.compiled")
def envelopes(p: Array) -> Array:
    """(m, n): for each row, and i = 0 ... n - 1, the least (i - y)^2 / 2 + p(y) over 0 <= y <= n - 1.

    The least value over the whole numbers y = j is looked for first. Between j and its neighbours p is then taken for a
    parabola, with the smaller of the second differences at both ends (that of the next place at an end of the row), so
    that a kink of p stays one.
    """
    n = p.shape[1]
    place = np.arange(n)
    f = 0.5 * (place[:, None] - place) ** 2 + p[:, None]
    least = f.argmin(axis=2)[..., None]
    bend = np.ones_like(p)
    if n > 2:
        bend[:, 1:-1] += p[:, 2:] - 2.0 * p[:, 1:-1] + p[:, :-2]
        bend[:, 0], bend[:, -1] = bend[:, 1], bend[:, -2]
    value = np.take_along_axis(f, least, axis=2)
    gain = np.zeros_like(value)
    for step in (-1, 1):
        beside = np.clip(least + step, 0, n - 1)
        rise = np.take_along_axis(f, beside, axis=2) - value
        at, other = (np.take_along_axis(np.broadcast_to(bend[:, None], f.shape), k, axis=2) for k in (least, beside))
        curvature = np.where(beside == least, 0.0, np.minimum(at, other))
        reach = np.maximum(0.5 * curvature - rise, 0.0)
        gain = np.maximum(gain, np.divide(reach**2, 2.0 * curvature, out=np.zeros_like(reach), where=curvature > 0.0))
    return np.asarray((value - gain)[..., 0])
