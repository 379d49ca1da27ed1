"""Contacts of convex cores with each other, and with the cores that obstacles are made of; see `jostle.Shapes`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, Integers, contiguous
from jostle.bodies import Bodies
from jostle.contacts import Cutoff, Feet, of_bodies
from jostle.kernels.parallel import chunks_of
from jostle.kernels.reference.polygons import PolygonRows
from jostle.sets.balls import PairList, near_pairs


class Cores(NamedTuple):
    """Convex cores: those of bodies, or of obstacles."""

    start: Integers
    """(k + 1,) the first corner of each core, and the number of all corners."""
    rounding: Array
    """(k,) the rounding of each core."""
    owner: Integers
    """(k,) the body of each core; different numbers for cores that may touch."""

    def and_others(self, others: Cores) -> Cores:
        """These cores, and after them others, as two owners: those of one do not meet each other."""
        start = np.append(self.start[:-1], self.start[-1] + others.start)
        owner = np.repeat([0, 1], [len(self.rounding), len(others.rounding)])
        return Cores(start, np.append(self.rounding, others.rounding), owner)

    def near(self, x: Array, cutoff: Cutoff, known: PairList | None) -> tuple[PolygonRows, PairList | None]:
        """The rows of cores of different owners with corners x, pair by pair; and the list of pairs for next time."""
        first = self.start[:-1]
        each = contiguous(cutoff) if of_bodies(cutoff) else np.full(len(x), cutoff / 2.0)
        centre = (np.minimum.reduceat(x, first) + np.maximum.reduceat(x, first)) / 2.0
        away = ((x - np.repeat(centre, np.diff(self.start), axis=0)) ** 2).sum(axis=1)
        radii, period = np.sqrt(np.maximum.reduceat(away, first)) + self.rounding, np.full(x.shape[1], np.inf)
        (near, _, _), known = near_pairs(centre, radii, np.maximum.reduceat(each, first), period, known)
        i, j = contiguous(near[:, self.owner[near[0]] != self.owner[near[1]]], None)
        return kernels.near_polygons(x, self.start, self.rounding, each, i, j, chunks_of(len(i))), known


def cores_of(bodies: Bodies) -> Cores:
    """The cores of bodies that are convex shapes."""
    made_of = bodies.parts
    assert made_of is not None
    assert made_of.core is not None
    start = np.append(np.flatnonzero(np.diff(made_of.core, prepend=-1)), len(made_of.owner))
    return Cores(start, bodies.radii_at(0.0)[start[:-1]], made_of.owner[start[:-1]])


def obstacles(sizes: Integers, rounding: Array) -> Cores:
    """The cores of obstacles with these numbers of corners, one after the other."""
    return Cores(np.append(0, np.cumsum(sizes)), rounding, np.zeros(len(sizes), np.int64))


def feet_of(rows: PolygonRows, x: Array, rounding: Array) -> Feet:
    """The feet of rows between cores; `rounding` is that of the core below each vertex."""
    back = 1.0 - rows.weight
    foot = back[:, None] * x[rows.feet[:, 0]] + rows.weight[:, None] * x[rows.feet[:, 1]]
    parts = np.concatenate([rows.pairs[:, :1], rows.feet], axis=1)
    weights = np.stack([np.full(len(back), -1.0), back, rows.weight], axis=1)
    return Feet(parts, weights, foot - (rounding + rows.gap / 2.0)[:, None] * rows.normal)
