"""A wish that does not change in time, on the faces of cells, such that a path leads from every cell to an exit.

Cells approximate slanted walls roughly: people who follow a wish along a wall may enter a cell that all wishes lead
into, and none out of. From such a cell they wish to go to a neighbour from which a way leads on.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jostle._tools.arrays import Array, Booleans
from jostle.errors import InvalidValue
from jostle.macro.motion.domain import Domain, Faces, after, before
from jostle.macro.motion.problems import Crowd

ZERO = 1e-9
"""Wishes below this fraction of the largest wish are zero."""
WAYS = ((0, 1), (0, -1), (1, 1), (1, -1))
"""The four neighbours of a cell: axis and sign of the direction."""


def steady(people: Crowd) -> Crowd:
    """The same crowd, with its wish evaluated once in each cell."""
    domain, grid = people.domain, people.grid
    U = np.zeros((*grid.shape, 2))
    U[domain.zone] = np.asarray(people.velocity(0.0, people.places))  # type: ignore[operator]
    fastest = float(np.linalg.norm(U, axis=-1).max(initial=0.0))
    known = np.linalg.norm(U, axis=-1) > ZERO * fastest
    while True:
        reached = np.zeros_like(known)
        for axis, way in WAYS:
            new = domain.zone & ~known & ~reached & _joined(domain, axis, way) & np.roll(known, -way, axis)
            U[new, axis] = way * fastest
            reached |= new
        if not reached.any():
            break
        known |= reached
    lost = domain.zone & ~known & (np.asarray(people.density) > 0.0)
    if lost.any():
        i, j = np.argwhere(lost)[0]
        place = [float(centre[i, j]) for centre in grid.centres]
        raise InvalidValue(f"the wish at {place} is zero: no path leads from there to the goal; keep that part empty")
    there = domain.zone.astype(float)
    cells = grid.velocity(U[..., 0], U[..., 1])
    u = _leading_out(domain, U, (cells.faces(0, there).copy(), cells.faces(1, there).copy()), fastest)
    return replace(people, velocity=grid.velocity(*u))


def _leading_out(domain: Domain, U: Array, u: Faces, fastest: float) -> Faces:
    """The velocities u on faces, changed where no way leads from a cell to an exit or a passage."""
    least = ZERO * fastest
    free = _led_out(domain, u, least)
    while True:
        best, choice = np.full(free.shape, -np.inf), np.full(free.shape, -1)
        for k, (axis, way) in enumerate(WAYS):
            possible = domain.zone & ~free & _joined(domain, axis, way) & np.roll(free, -way, axis)
            better = possible & (way * U[..., axis] > best)
            best[better], choice[better] = way * U[better, axis], k
        if (choice < 0).all():
            return u
        for k, (axis, way) in enumerate(WAYS):
            u[axis][after(axis) if way > 0 else before(axis)][choice == k] = way * fastest
        free |= choice >= 0


def _led_out(domain: Domain, u: Faces, least: float) -> Booleans:
    """(nx, ny) whether the velocities lead from each cell to an exit, an open side or a passage; True in exits."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    number = np.arange(domain.zone.size).reshape(domain.zone.shape)
    outside = domain.zone.size
    where, here = [number[domain.exits]], [np.full(int(domain.exits.sum()), outside)]
    for axis, way in WAYS:
        out = way * u[axis][after(axis) if way > 0 else before(axis)] > least
        out &= domain.zone & _joined(domain, axis, way)
        where.append(number[out])
        here.append(np.roll(number, -way, axis)[out])
    for passage in domain.passages:
        leaves = passage.start[passage.speeds(u) > least]
        where.append(number[tuple(leaves.T)])
        here.append(np.full(len(leaves), outside))
    i, j = np.concatenate(here), np.concatenate(where)
    graph = coo_array((np.ones(len(i)), (i, j)), shape=(outside + 1, outside + 1)).tocsr()
    found = breadth_first_order(graph, outside, return_predecessors=False)
    led = np.zeros(outside + 1, dtype=bool)
    led[found] = True
    return np.asarray(led[:-1].reshape(domain.zone.shape))


def _joined(domain: Domain, axis: int, way: int) -> Booleans:
    """(nx, ny) whether the face of each cell in this direction is open."""
    return domain.open[axis][after(axis) if way > 0 else before(axis)]
