"""Blocks on a line from impact to impact: the times of all contacts in a tournament tree.

Body k is point k - 1, and bodies 0 and n + 1 are the walls. Contact k is that between body k and the one before. A
cluster has the number of its first body, so that its contact on the left has the same number.
"""

from __future__ import annotations

from math import inf

import numpy as np

from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.signatures import Floats, Ints, OutBools, OutFloats, OutFloats2, OutInts, OutInts2
from jostle.kernels.reference import blocks as definition
from jostle.kernels.reference.blocks import AGAIN, CALM, FLIGHT, LEVEL, LIMIT, REMAINING, SLOWEST, TIGHT
from jostle.kernels.reference.dense import ROUND_OFF

Y, V, A, MASS, SINCE, LAST, LONGEST, WIDEST = range(8)
"""Columns of the state, one line of the cache: position, velocity, acceleration and mass of a cluster, and their time;
time of the last impact of its contact on the left, longest flight, and largest gap since then."""
NOW, KEY, FASTEST = range(3)
"""Places of the time of the last impact, of its key in the tree, and of the largest velocity so far."""
IMPACTS, MERGERS, PARABOLAS = range(3)
"""Places of the numbers of impacts and mergers so far, and of the parabolas since the buffer was last emptied."""
BITS = 3
"""Each node of the tournament tree holds the smallest of 2^BITS below: one line of the cache."""
BUFFERED = 1000
"""Smallest number of parabolas that are kept before the buffer is emptied."""

closing_time = jit(helper=True)(definition.closing_time)
same_time = jit(helper=True)(definition.same_time)
widest_gap = jit(helper=True)(definition.widest_gap)


def collisions(
    y: Floats, v: Floats, a: Floats, mass: Floats, walls: Floats, e: float, until: float, scale: float, most: int
) -> tuple[Floats, OutInts, Floats, OutInts2, Floats, int]:
    """The parabolas and mergers of n points up to a time: see `reference.collisions`."""
    n = len(y)
    state = np.zeros((n + 2, 8))
    state[1:-1, :4] = np.stack([y, v, a, mass], axis=1)
    state[0, Y], state[-1, Y] = walls
    state[:, WIDEST] = np.inf
    first, last, name = np.arange(n + 2), np.arange(n + 2), np.arange(n + 2) - 1
    name[-1] = -2
    held, kind = np.zeros(n + 2, dtype=bool), np.full(n + 2, FLIGHT)
    held[[0, -1]] = True
    tree, levels = _tree(n + 2)
    so_far = np.array([0.0, -1.0, np.abs(v).max(initial=0.0)])
    level, counts, stack = LEVEL * np.abs(a).max(initial=0.0), np.zeros(3, np.int64), np.empty(n + 2, np.int64)
    clusters, parabolas = np.empty(2 * n + BUFFERED, np.int64), np.empty((2 * n + BUFFERED, 3))
    pairs, merged = np.empty((n + 1, 4), np.int64), np.empty((n + 1, 4))
    _watch_all(state, kind, tree, levels, so_far, level, scale, e)
    found = []
    while True:
        more = _follow(
            state, first, last, name, held, kind, tree, levels, so_far, counts, stack,
            clusters, parabolas, pairs, merged, e, until, scale, level, most,
        )  # fmt: skip
        found.append((clusters[: counts[PARABOLAS]].copy(), parabolas[: counts[PARABOLAS]].copy()))
        counts[PARABOLAS] = 0
        if not more:
            break
    k = counts[MERGERS]
    every = (np.concatenate(part) for part in zip(*found, strict=True))
    return np.array([so_far[NOW], tree[-1]]), *every, pairs[:k].copy(), merged[:k].copy(), int(counts[IMPACTS])


def _tree(leaves: int) -> tuple[Floats, Ints]:
    """A tournament tree without times, level by level from the leaves to the root, and where each level begins."""
    sizes = []
    while leaves > 1:
        sizes.append(-(-leaves >> BITS << BITS))
        leaves = sizes[-1] >> BITS
    levels = np.concatenate([[0], np.cumsum(sizes)])
    return np.full(levels[-1] + 1, np.inf), levels


@jit(helper=True)
def _between(state: OutFloats2, left: int, right: int, now: float, scale: float) -> tuple[float, float, float, float]:
    """The gap, its rate and its change of rate now, and its round-off."""
    s, t = now - state[left, SINCE], now - state[right, SINCE]
    gap = (
        state[right, Y]
        + t * (state[right, V] + 0.5 * t * state[right, A])
        - state[left, Y]
        - s * (state[left, V] + 0.5 * s * state[left, A])
    )
    place = state[left, Y] if abs(state[left, Y]) < inf else state[right, Y]
    rate = state[right, V] + t * state[right, A] - state[left, V] - s * state[left, A]
    return gap, rate, state[right, A] - state[left, A], ROUND_OFF * (scale + abs(place))


@jit(helper=True)
def _next_impact(
    state: OutFloats2,
    kind: OutInts,
    left: int,
    right: int,
    so_far: OutFloats,
    level: float,
    scale: float,
    e: float,
    used: float,
) -> float:
    """The time of the next impact of a contact; used is the restitution of the one that it has just had, or 0."""
    slow = SLOWEST * so_far[FASTEST]
    gap, rate, change, noise = _between(state, left, right, so_far[NOW], scale)
    time = closing_time(gap, rate, change, noise, slow, level)
    kind[right] = FLIGHT
    state[right, WIDEST] = max(state[right, WIDEST], widest_gap(gap, rate, change))
    if 0.0 < used < 1.0 and rate > slow and change < -level:
        remaining = -2.0 * rate / change / (1.0 - used)
        if remaining <= REMAINING * state[right, LONGEST]:
            time = remaining
            kind[right] = LIMIT
    time += so_far[NOW]
    if e > 0.0 and time <= so_far[KEY]:
        time = so_far[KEY] + same_time(so_far[NOW], noise, so_far[FASTEST])
        kind[right] = AGAIN
    elif so_far[KEY] >= 0.0 and gap <= noise and abs(rate) <= slow:
        kind[right] = AGAIN
    return time


@jit()
def _watch_all(
    state: OutFloats2,
    kind: OutInts,
    tree: OutFloats,
    levels: Ints,
    so_far: OutFloats,
    level: float,
    scale: float,
    e: float,
) -> None:
    """The times of all contacts, and the tree above them."""
    for k in range(1, len(state)):
        tree[k] = _next_impact(state, kind, k - 1, k, so_far, level, scale, e, 0.0)
    for height in range(1, len(levels)):
        for node in range(levels[height] - levels[height - 1] >> BITS):
            tree[levels[height] + node] = _least(tree, levels[height - 1] + (node << BITS))


@jit(helper=True)
def _least(tree: OutFloats, start: int) -> float:
    """The smallest of the nodes under one."""
    least = tree[start]
    for node in range(start + 1, start + (1 << BITS)):
        least = min(least, tree[node])
    return least


@jit(helper=True)
def _set_time(tree: OutFloats, levels: Ints, contact: int, time: float) -> None:
    """Set the time of a contact, and update the nodes above it."""
    node = contact
    tree[node] = time
    for height in range(1, len(levels)):
        least = tree[levels[height - 1] + node]
        node >>= BITS
        place = levels[height] + node
        if least > tree[place]:
            least = _least(tree, levels[height - 1] + (node << BITS))
        if least == tree[place]:
            return
        tree[place] = least


@jit(helper=True)
def _first_contact(tree: OutFloats, levels: Ints) -> int:
    """The contact with the smallest time; the leftmost one of several."""
    node, least = 0, tree[len(tree) - 1]
    for height in range(len(levels) - 2, -1, -1):
        node <<= BITS
        while tree[levels[height] + node] != least:
            node += 1
    return node


@jit(helper=True)
def _takes_part(
    state: OutFloats2,
    kind: OutInts,
    tree: OutFloats,
    left: int,
    right: int,
    so_far: OutFloats,
    scale: float,
    e: float,
) -> bool:
    gap, rate, _, noise = _between(state, left, right, so_far[NOW], scale)
    slow = SLOWEST * so_far[FASTEST]
    if gap > noise or rate > slow:
        return False
    if e == 0.0:
        return True
    if kind[right] == AGAIN and tree[right] > so_far[KEY] + 0.5 * same_time(so_far[NOW], noise, so_far[FASTEST]):
        return False
    return rate >= -slow or state[right, WIDEST] > TIGHT * noise


@jit(helper=True)
def _collide(
    state: OutFloats2, last: OutInts, held: OutBools, begin: int, end: int, so_far: OutFloats, e: float, slowest: float
) -> float:
    """Move the clusters begin to end to one place, with the velocities of Moreau's law; returns the restitution."""
    now, closing, before = so_far[NOW], -inf, -inf
    y, v, mass, at_rest, wall = state[begin, Y], 0.0, 0.0, False, 0.0
    k = begin
    while k <= end:
        s = now - state[k, SINCE]
        state[k, Y] += s * (state[k, V] + 0.5 * s * state[k, A])
        state[k, V] += s * state[k, A]
        state[k, SINCE] = now
        so_far[FASTEST] = max(so_far[FASTEST], abs(state[k, V]))
        closing, before = max(closing, before - state[k, V]), state[k, V]
        if k == begin:
            y, v, mass = state[k, Y], state[k, V], state[k, MASS]
        else:
            mass += state[k, MASS]
            if mass > 0.0:
                y += state[k, MASS] / mass * (state[k, Y] - y)
                v += state[k, MASS] / mass * (state[k, V] - v)
        if held[k]:
            at_rest, wall = True, state[k, Y]
        k = last[k] + 1
    if at_rest:
        y, v = wall, 0.0
    used = 0.0 if closing <= slowest * so_far[FASTEST] else e
    k = begin
    while k <= end:
        if not held[k]:
            state[k, Y], state[k, V] = y, v + used * (v - state[k, V])
        k = last[k] + 1
    return used


@jit(helper=True)
def _join(state: OutFloats2, held: OutBools, first: OutInts, last: OutInts, left: int, right: int) -> None:
    mass = state[left, MASS] + state[right, MASS]
    if held[left] or held[right]:
        if not held[left]:
            state[left, Y] = state[right, Y]
        state[left, V], state[left, A], held[left] = 0.0, 0.0, True
    else:
        part = state[right, MASS] / mass
        state[left, V] += part * (state[right, V] - state[left, V])
        state[left, A] += part * (state[right, A] - state[left, A])
    state[left, MASS] = mass
    last[left] = last[right]
    first[last[left]] = left


@jit()
def _follow(
    state: OutFloats2,
    first: OutInts,
    last: OutInts,
    name: OutInts,
    held: OutBools,
    kind: OutInts,
    tree: OutFloats,
    levels: Ints,
    so_far: OutFloats,
    counts: OutInts,
    stack: OutInts,
    clusters: OutInts,
    parabolas: OutFloats2,
    pairs: OutInts2,
    merged: OutFloats2,
    e: float,
    until: float,
    scale: float,
    level: float,
    most: int,
) -> bool:
    """Continue until the time, the largest number of impacts, or until the buffer may be full; True if it may."""
    bodies, root = len(state), len(tree) - 1
    while counts[IMPACTS] < most and tree[root] < inf:
        contact = _first_contact(tree, levels)
        if tree[root] > until and kind[contact] != AGAIN:
            return False
        if counts[PARABOLAS] + bodies > len(clusters):
            return True
        so_far[KEY] = tree[root]
        if kind[contact] != AGAIN:
            so_far[NOW] = max(so_far[NOW], tree[root])
        begin, end = first[contact - 1], last[contact]
        alone = kind[contact] == LIMIT
        noise = _between(state, begin, contact, so_far[NOW], scale)[3]
        slowest = CALM if e < 1.0 and state[contact, WIDEST] <= TIGHT * noise else SLOWEST
        while not alone and begin > 0 and _takes_part(state, kind, tree, first[begin - 1], begin, so_far, scale, e):
            begin = first[begin - 1]
        while not alone and end + 1 < bodies:
            if not _takes_part(state, kind, tree, first[end], end + 1, so_far, scale, e):
                break
            end = last[end + 1]
        used = _collide(state, last, held, begin, end, so_far, 0.0 if alone else e, slowest)
        counts[IMPACTS] += 1
        slow = SLOWEST * so_far[FASTEST]
        top, k = -1, begin
        while k <= end:
            top += 1
            stack[top] = k
            k = last[k] + 1
            while top > 0:
                left, right = stack[top - 1], stack[top]
                change = state[right, A] - state[left, A]
                if abs(state[right, V] - state[left, V]) > slow or change > level:
                    break
                m = counts[MERGERS]
                pairs[m, 0], pairs[m, 1] = name[left], name[right]
                _join(state, held, first, last, left, right)
                _set_time(tree, levels, right, inf)
                pairs[m, 2], pairs[m, 3] = max(left, 1) - 1, min(last[left], bodies - 2) - 1
                merged[m, 0], merged[m, 1] = so_far[NOW], state[left, V]
                merged[m, 2], merged[m, 3] = state[left, MASS], state[left, A]
                name[left] = bodies - 2 + m
                counts[MERGERS] += 1
                top -= 1
        for one in range(top + 1):
            k = stack[one]
            if name[k] >= 0:
                p = counts[PARABOLAS]
                clusters[p] = name[k]
                parabolas[p, 0], parabolas[p, 1], parabolas[p, 2] = so_far[NOW], state[k, Y], state[k, V]
                counts[PARABOLAS] += 1
            if one > 0:
                state[k, LONGEST] = max(state[k, LONGEST], so_far[NOW] - state[k, LAST])
                state[k, LAST], state[k, WIDEST] = so_far[NOW], 0.0
                time = _next_impact(state, kind, stack[one - 1], k, so_far, level, scale, e, used)
                _set_time(tree, levels, k, time)
        if begin > 0:
            time = _next_impact(state, kind, first[begin - 1], begin, so_far, level, scale, e, 0.0)
            _set_time(tree, levels, begin, time)
        if end + 1 < bodies:
            time = _next_impact(state, kind, first[end], end + 1, so_far, level, scale, e, 0.0)
            _set_time(tree, levels, end + 1, time)
    return False
