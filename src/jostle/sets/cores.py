"""Contacts of convex cores with each other, and with the cores that obstacles are made of; see `jostle.Shapes`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, Integers, contiguous
from jostle.bodies import pair_keys
from jostle.contacts import Cutoff, Feet, of_bodies
from jostle.kernels.parallel import chunks_of
from jostle.kernels.reference.polyhedra import Solids
from jostle.sets.balls import PairList, near_pairs
from jostle.shapes import Core


class CoreRows(NamedTuple):
    """Rows between the nearest points of cores, see `jostle.kernels.PolygonRows` and `SolidRows`."""

    pairs: Integers
    normal: Array
    gap: Array
    parts: Integers
    weights: Array


class Cores(NamedTuple):
    """Convex cores: those of bodies, or of obstacles."""

    start: Integers
    """(k + 1,) the first corner of each core, and the number of all corners."""
    rounding: Array
    """(k,) the rounding of each core."""
    owner: Integers
    """(k,) the body of each core; different numbers for cores that may touch."""
    kind: Integers | None = None
    """(k,) the number of the polyhedron of each core in `solids`; None in the plane."""
    solids: Solids | None = None
    """The edges and faces of polyhedra; None in the plane."""

    def and_others(self, others: Cores) -> Cores:
        """These cores, and after them others, as two owners: those of one do not meet each other."""
        start = np.append(self.start[:-1], self.start[-1] + others.start)
        owner = np.repeat([0, 1], [len(self.rounding), len(others.rounding)])
        kind, rounding = self.kind, np.append(self.rounding, others.rounding)
        if kind is not None and self.solids is not None:  # others are points: round obstacles
            kind = np.append(kind, np.full(len(others.rounding), len(self.solids.exponent) - 1))
        return Cores(start, rounding, owner, kind, self.solids)

    def near(
        self, x: Array, cutoff: Cutoff, known: PairList | None, hinged: Integers | None = None
    ) -> tuple[CoreRows, PairList | None]:
        """The rows of cores of different owners with corners x, pair by pair; and the list of pairs for next time."""
        first = self.start[:-1]
        each = contiguous(cutoff) if of_bodies(cutoff) else np.full(len(x), cutoff / 2.0)
        centre = (np.minimum.reduceat(x, first) + np.maximum.reduceat(x, first)) / 2.0
        away = ((x - np.repeat(centre, np.diff(self.start), axis=0)) ** 2).sum(axis=1)
        radii, period = np.sqrt(np.maximum.reduceat(away, first)) + self.rounding, np.full(x.shape[1], np.inf)
        (near, _, _), known = near_pairs(centre, radii, np.maximum.reduceat(each, first), period, known)
        one, other = self.owner[near]
        apart = one != other
        if hinged is not None:
            apart &= ~np.isin(pair_keys(one, other), hinged)
        i, j = contiguous(near[:, apart], None)
        chunks, reach = chunks_of(len(i)), np.maximum.reduceat(each, first)
        if self.kind is not None and self.solids is not None:
            given = x, self.start, self.rounding, reach, self.kind, self.solids, i, j, chunks
            return CoreRows(*kernels.near_solids(*given)), known
        flat = kernels.near_polygons(x, self.start, self.rounding, each, i, j, chunks)
        parts = np.concatenate([flat.pairs[:, :1], flat.feet], axis=1)
        weights = np.stack([np.full(len(flat.gap), -1.0), 1.0 - flat.weight, flat.weight], axis=1)
        return CoreRows(flat.pairs, flat.normal, flat.gap, parts, weights), known


def obstacles(sizes: Integers, rounding: Array) -> Cores:
    """The cores of obstacles with these numbers of corners, one after the other."""
    return Cores(np.append(0, np.cumsum(sizes)), rounding, np.zeros(len(sizes), np.int64))


def feet_of(rows: CoreRows, x: Array, rounding: Array) -> Feet:
    """The feet of rows between cores; `rounding` is that of the core of the first number of each pair."""
    first = np.einsum("mk,mkd->md", np.maximum(-rows.weights, 0.0), x[rows.parts])
    return Feet(rows.parts, rows.weights, first + (rounding + rows.gap / 2.0)[:, None] * rows.normal)


def solids_of(cores: Sequence[Core]) -> Solids:
    """The edges and faces of cores in space, and those of a point, none, at the end."""
    faces = [face for core in cores for face in core.faces]
    edges = [np.empty((0, 2), np.int64) if len(core.vertices) < 2 else core.edges for core in cores]

    def starts(parts: Sequence[Any], more: int = 0) -> Integers:
        return np.append(0, np.cumsum([*map(len, parts), *[0] * more], dtype=np.int64))

    return Solids(
        starts(edges, 1),
        np.concatenate([np.empty((0, 2), np.int64), *edges]),
        starts([core.faces for core in cores], 1),
        starts(faces),
        np.concatenate([np.zeros(0, np.int64), *faces]),
        np.zeros(len(cores) + 1),
        np.zeros(len(cores) + 1),
    )
