"""Blocks on a line under constant accelerations, from impact to impact (Bourdin & Maury 2020, (45)).

Without their lengths blocks are points y_1 <= ... <= y_n between two walls. A closed contact whose sides neither
approach nor are pulled apart joins them into one cluster for good. Between impacts a cluster moves along a parabola,
with the mean acceleration of its blocks; a cluster that contains a wall is at rest. All closed contacts of an impact
that do not separate take part in Moreau's law u+ = (1 + e) P_C u- - e u-, in which P_C u- is the mean velocity of the
clusters, or 0 if one of them is at rest at a wall.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf, sqrt

import numpy as np

from jostle.arrays import Array, Integers
from jostle.kernels.reference.dense import EPS, ROUND_OFF

SLOWEST = 64 * EPS
"""Relative velocities below this fraction of the largest velocity so far count as zero."""
LEVEL = 64 * EPS
"""Relative accelerations below this fraction of the largest acceleration count as zero."""
TIGHT = 100.0
"""Contacts that have opened by less than this multiple of the round-off since their last impact collide one by one."""
CALM = 1e-10
"""Such contacts, unless e = 1, stick where their relative velocity is below this fraction of the largest so far."""
REMAINING = 1e-8
"""Two clusters stick at the limit of their impacts when it is nearer than this fraction of their longest flight."""
FLIGHT, LIMIT, AGAIN = range(3)
"""Next impact of a contact: after a flight; the limit of infinitely many; or now, after all others of this time."""


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
    impacts = 0
    while impacts < most and line.goes_on(until):
        line.impact()
        impacts += 1
    parabolas = np.array([entry[1:] for entry in line.parabolas]).reshape(-1, 3)
    clusters = np.array([entry[0] for entry in line.parabolas], dtype=np.int64)
    pairs = np.array([entry[:4] for entry in line.mergers], dtype=np.int64).reshape(-1, 4)
    merged = np.array([entry[4:] for entry in line.mergers], dtype=float).reshape(-1, 4)
    return np.array([line.now, line.next_time()]), clusters, parabolas, pairs, merged, impacts


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


def widest_gap(gap: float, rate: float, change: float) -> float:
    """The largest gap from now on, if the contact closes again by itself; else the gap now."""
    return gap - 0.5 * rate * rate / change if rate > 0.0 > change else gap


def same_time(now: float, noise: float, fastest: float) -> float:
    """Impacts that are less than this apart in time may be simultaneous: the round-off of the time of an impact."""
    return ROUND_OFF * now + (noise / fastest if fastest > 0.0 else 0.0)


@dataclass
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

    def move(self, now: float) -> None:
        s = now - self.since
        self.y, self.v, self.since = self.y + s * (self.v + 0.5 * s * self.a), self.v + s * self.a, now

    def joined(self, other: _Cluster, name: int) -> _Cluster:
        """This cluster and its neighbour on the right, with the velocity that both have."""
        mass, held = self.mass + other.mass, self if self.held else other
        if self.held or other.held:
            return _Cluster(self.first, other.last, name, held.y, 0.0, 0.0, mass, True, self.since)
        part = other.mass / mass
        v, a = self.v + part * (other.v - self.v), self.a + part * (other.a - self.a)
        return _Cluster(self.first, other.last, name, self.y, v, a, mass, False, self.since)


@dataclass
class _Contact:
    """What is remembered of a contact; it is found by the first point on its right."""

    last: float = 0.0
    """Time of its last impact."""
    longest: float = 0.0
    """Longest flight between two of its impacts."""
    widest: float = inf
    """Largest gap since its last impact."""
    time: float = inf
    """Time of its next impact."""
    kind: int = FLIGHT
    """What this time is."""


class _Line:
    def __init__(self, y: Array, v: Array, a: Array, mass: Array, walls: Array, e: float, scale: float):
        n = len(y)
        self.row = [_Cluster(k, k, k, float(y[k]), float(v[k]), float(a[k]), float(mass[k])) for k in range(n)]
        self.row.insert(0, _Cluster(-1, -1, -1, float(walls[0]), 0.0, 0.0, 0.0, True))
        self.row.append(_Cluster(n, n, -2, float(walls[1]), 0.0, 0.0, 0.0, True))
        self.contacts = {k: _Contact() for k in range(n + 1)}
        self.n, self.e, self.scale, self.now, self.key = n, e, scale, 0.0, -1.0
        self.fastest, self.level = max(map(abs, v), default=0.0), LEVEL * max(map(abs, a), default=0.0)
        self.parabolas: list[tuple[int, float, float, float]] = []
        self.mergers: list[tuple[int, int, int, int, float, float, float, float]] = []
        for left, right in pairwise(self.row):
            self.watch(left, right, 0.0)

    def next_time(self) -> float:
        return min((contact.time for contact in self.contacts.values()), default=inf)

    def goes_on(self, until: float) -> bool:
        """Is there another impact up to a time? Those that follow at the time of the last one belong to it."""
        key = self.next_time()
        again = any(contact.kind == AGAIN and contact.time == key for contact in self.contacts.values())
        return key < inf and (again or key <= until)

    def between(self, left: _Cluster, right: _Cluster) -> tuple[float, float, float, float]:
        """The gap, its rate and its change of rate now, and its round-off, below which it counts as closed."""
        s, t = self.now - left.since, self.now - right.since
        gap = right.y + t * (right.v + 0.5 * t * right.a) - left.y - s * (left.v + 0.5 * s * left.a)
        noise = ROUND_OFF * (self.scale + abs(left.y if abs(left.y) < inf else right.y))
        return gap, right.v + t * right.a - left.v - s * left.a, right.a - left.a, noise

    def watch(self, left: _Cluster, right: _Cluster, used: float) -> None:
        """Find the next impact of a contact; used is the restitution of the one that it has just had, or 0."""
        contact, slow = self.contacts[right.first], SLOWEST * self.fastest
        gap, rate, change, noise = self.between(left, right)
        time, contact.kind = closing_time(gap, rate, change, noise, slow, self.level), FLIGHT
        contact.widest = max(contact.widest, widest_gap(gap, rate, change))
        if 0.0 < used < 1.0 and rate > slow and change < -self.level:
            remaining = -2.0 * rate / change / (1.0 - used)
            if remaining <= REMAINING * contact.longest:
                time, contact.kind = remaining, LIMIT
        contact.time = self.now + time
        if self.e > 0.0 and contact.time <= self.key:
            contact.time, contact.kind = self.key + same_time(self.now, noise, self.fastest), AGAIN
        elif self.key >= 0.0 and gap <= noise and abs(rate) <= slow:
            contact.kind = AGAIN

    def takes_part(self, left: _Cluster, right: _Cluster) -> bool:
        gap, rate, _, noise = self.between(left, right)
        slow, contact = SLOWEST * self.fastest, self.contacts[right.first]
        if gap > noise or rate > slow:
            return False
        if self.e == 0.0:
            return True
        if contact.kind == AGAIN and contact.time > self.key + 0.5 * same_time(self.now, noise, self.fastest):
            return False
        return rate >= -slow or contact.widest > TIGHT * noise

    def rests(self, left: _Cluster, right: _Cluster) -> bool:
        return abs(right.v - left.v) <= SLOWEST * self.fastest and right.a - left.a <= self.level

    def impact(self) -> None:
        """The next impact, of all clusters that take part in it."""
        self.key = self.next_time()
        place = {cluster.first: i for i, cluster in enumerate(self.row)}
        where = next(place[k] for k in sorted(place) if k in self.contacts and self.contacts[k].time <= self.key) - 1
        begin, end = where, where + 2
        kind = self.contacts[self.row[begin + 1].first].kind
        self.now = self.now if kind == AGAIN else max(self.now, self.key)
        while kind != LIMIT and begin > 0 and self.takes_part(self.row[begin - 1], self.row[begin]):
            begin -= 1
        while kind != LIMIT and end < len(self.row) and self.takes_part(self.row[end - 1], self.row[end]):
            end += 1
        contact = self.contacts[self.row[where + 1].first]
        tight = self.e < 1.0 and contact.widest <= TIGHT * self.between(*self.row[where : where + 2])[3]
        run = self.row[begin:end]
        for cluster in run:
            cluster.move(self.now)
            self.fastest = max(self.fastest, abs(cluster.v))
        used = self.collide(run, 0.0 if kind == LIMIT else self.e, CALM if tight else SLOWEST)
        kept = self.merged(run)
        self.row[begin:end] = kept
        self.parabolas += [(one.name, self.now, one.y, one.v) for one in kept if one.name >= 0]
        for left, right in pairwise(kept):
            contact = self.contacts[right.first]
            contact.longest = max(contact.longest, self.now - contact.last)
            contact.last, contact.widest = self.now, 0.0
            self.watch(left, right, used)
        if begin > 0:
            self.watch(self.row[begin - 1], kept[0], 0.0)
        if begin + len(kept) < len(self.row):
            self.watch(kept[-1], self.row[begin + len(kept)], 0.0)

    def collide(self, run: list[_Cluster], e: float, slowest: float) -> float:
        """Give all clusters of a run one place, and the velocities of Moreau's law; returns the restitution."""
        closing = max(left.v - right.v for left, right in pairwise(run))
        used = 0.0 if closing <= slowest * self.fastest else e
        y, v, mass = run[0].y, run[0].v, run[0].mass
        for cluster in run[1:]:
            mass += cluster.mass
            if mass > 0.0:
                y += cluster.mass / mass * (cluster.y - y)
                v += cluster.mass / mass * (cluster.v - v)
        for cluster in run:
            if cluster.held:
                y, v = cluster.y, 0.0
        for cluster in run:
            if not cluster.held:
                cluster.y, cluster.v = y, v + used * (v - cluster.v)
        return used

    def merged(self, run: list[_Cluster]) -> list[_Cluster]:
        """The clusters that are left of a run after the impact: neighbours at rest with each other are joined."""
        kept: list[_Cluster] = []
        for cluster in run:
            kept.append(cluster)
            while len(kept) > 1 and self.rests(*kept[-2:]):
                left, right = kept[-2:]
                del self.contacts[right.first]
                one = left.joined(right, self.n + len(self.mergers))
                kept[-2:] = [one]
                first, last = max(one.first, 0), min(one.last, self.n - 1)
                self.mergers.append((left.name, right.name, first, last, self.now, one.v, one.mass, one.a))
        return kept
