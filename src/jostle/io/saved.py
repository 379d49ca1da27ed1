"""The saved states of a solution, in memory or in a file, one at a time, for exports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from jostle._tools.arrays import Array
from jostle.io.frames_in_file import Source as Stored
from jostle.io.lazy_arrays import Ragged, States
from jostle.io.pictures import Picture, Scene
from jostle.result.solution import Solution
from jostle.sets.shapes import Shape


def file_of(sol: Solution) -> Stored | None:
    """The file from which a solution was read, or None."""
    q: Any = sol.q
    return q.source if isinstance(q, States) else None


def durations(sol: Solution) -> Array:
    """(k,) the time over which the multipliers of each frame acted; NaN if unknown."""
    return np.full(len(sol.t), np.nan) if sol.durations is None else np.array(sol.durations)


def precision(sol: Solution) -> np.dtype[Any]:
    """The precision of the numbers in the file, or in memory."""
    stored = file_of(sol)
    return np.dtype(float) if stored is None else stored.dtype


def radii(sol: Solution) -> Iterable[Any]:
    """The radii in each frame: from the file, from the problem, or 0."""
    stored = file_of(sol)
    if stored is not None:
        return Ragged(stored, stored.radii)
    return (0.0 if sol.problem is None else sol.problem.within.radii_at(t) for t in sol.t)


def shapes(sol: Solution) -> Iterator[tuple[Shape, ...]]:
    """The shapes of the walls in each frame; walls at rest are computed once."""
    now = sol.shapes(0)
    for k in range(len(sol.t)):
        now = sol.shapes(k) if k and sol.facts.walls_move else now
        yield now


def pictures(sol: Solution, contacts: bool = False) -> Iterator[tuple[float, Picture]]:
    """Yield the time and the picture of each frame."""
    rods = sol.facts.rods if contacts else ()
    scene = Scene(sol.q.shape[1:], contacts=contacts, dtype=precision(sol), dimension=sol.facts.dimension, rods=rods)
    touching = (sol.pairs, sol.multipliers, sol.normals) if contacts else ([()] * len(sol.t),) * 3
    walls = shapes(sol) if contacts else [()] * len(sol.t)
    for t, *state in zip(sol.t, sol.q, sol.u, radii(sol), *touching, walls, strict=True):
        yield float(t), scene.picture(*state)
