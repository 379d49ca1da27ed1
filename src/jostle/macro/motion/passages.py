"""Passages from some cells of a grid to others, such as stairs between floors that are drawn side by side.

A passage leads one way. In time h a cell at its start gives at most the fraction |u| h / side of its density, where u
is the speed of the people there, and a cell at its end takes at most the room it has. People who do not fit wait at the
start: no pressure passes through a passage, as none passes between people on stairs and people on the next floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array, Integers, finite, shaped
from jostle.errors import InvalidValue

Faces = tuple[Array, Array]
"""Numbers on the faces across x, (nx + 1, ny), and on the faces across y, (nx, ny + 1)."""


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class Passage:
    """A one-way passage from cells of a grid to other cells, such as stairs between floors.

    The first cells of the start lead to the first cells of the end, the last ones to the last ones.

    Parameters
    ----------
    start : array_like of int, shape (m, 2)
        Indices [i, j] of the cells where the passage begins, from one side to the other.
    end : array_like of int, shape (k, 2)
        Indices [i, j] of the cells where the passage ends, in the same order.
    outward : array_like, shape (2,)
        Direction in which people leave the cells of the start; any length except zero.

    Attributes
    ----------
    shares : array, shape (m, k)
        Fraction of each cell of the start that leads to each cell of the end.

    Raises
    ------
    InvalidValue
        If `outward` is zero, or the indices are not whole numbers or repeat a cell.

    Examples
    --------
    >>> import jostle as jo
    >>> grid = jo.macro.Grid([0, 0], [6, 1], h=1.0, closed=True)
    >>> stairs = Passage([[2, 0]], [[4, 0]], outward=[1, 0])
    >>> people = jo.macro.Crowd(grid=grid, density=[[1], [1], [1], [0], [0], [0]], velocity=grid.velocity(1.0, 0),
    ...                         walls=[[0], [0], [0], [1], [0], [0]], passages=[stairs])
    >>> sol = jo.macro.solve(people, jo.macro.Splitting(), t=9.0, h=0.5)
    >>> sol.density[-1].ravel().round(6).tolist()                                # there is room for two
    [0.0, 0.0, 1.0, 0.0, 1.0, 1.0]
    """

    start: Integers
    end: Integers
    outward: Array

    def __init__(self, start: ArrayLike, end: ArrayLike, outward: ArrayLike):
        direction = shaped(outward, "outward", 2)
        length = float(np.linalg.norm(direction))
        if not length > 0.0:
            raise InvalidValue("outward must not be zero")
        for name, cells in (("start", start), ("end", end)):
            object.__setattr__(self, name, _indices(cells, name))
        object.__setattr__(self, "outward", direction / length)

    @cached_property
    def shares(self) -> Array:
        """(m, k): fraction of each cell of the start that leads to each cell of the end; both ends are equally wide."""
        left = np.linspace(0.0, 1.0, len(self.start) + 1)
        right = np.linspace(0.0, 1.0, len(self.end) + 1)
        low, high = (np.maximum.outer(left[:-1], right[:-1]), np.minimum.outer(left[1:], right[1:]))
        return np.asarray(np.maximum(high - low, 0.0) * len(self.start))

    def speeds(self, u: Faces) -> Array:
        """Compute how fast people leave the cells of the start.

        The speed is u . outward, where each component of u is the larger of the two faces of the cell, because the face
        at the passage is closed.

        Parameters
        ----------
        u : tuple of array
            Velocities on the faces across x, (nx + 1, ny), and across y, (nx, ny + 1).

        Returns
        -------
        array, shape (m,)
            The speeds, not negative.
        """
        i, j = self.start.T
        x, y = (
            np.where(np.abs(before) > np.abs(after), before, after)
            for before, after in ((u[0][i, j], u[0][i + 1, j]), (u[1][i, j], u[1][i, j + 1]))
        )
        return np.asarray(np.maximum(x * self.outward[0] + y * self.outward[1], 0.0))


def passed(passages: Sequence[Passage], density: Array, u: Faces, cells: float) -> Array:
    """(nx, ny): the density after people with velocities u on the faces have used all passages.

    `cells` is the number of cells that people cross at speed 1: the time divided by the side of a cell.
    """
    if not passages:
        return density
    density = density.copy()
    for passage in passages:
        start, end = tuple(passage.start.T), tuple(passage.end.T)
        part = np.minimum(passage.speeds(u) * cells, 1.0)
        asked = (part * density[start])[:, None] * passage.shares
        room, wanted = np.maximum(1.0 - density[end], 0.0), asked.sum(axis=0)
        asked *= np.divide(room, wanted, out=np.ones_like(room), where=wanted > room)
        density[start] -= asked.sum(axis=1)
        density[end] += asked.sum(axis=0)
    return density


def _indices(cells: ArrayLike, name: str) -> Integers:
    found = finite(cells, name)
    if found.ndim != 2 or found.shape[1] != 2 or len(found) == 0 or (found != np.rint(found)).any():
        raise InvalidValue(f"{name} must be the indices [i, j] of one cell or more, not {cells!r}")
    indices = found.astype(np.int64)
    if len(np.unique(indices, axis=0)) < len(indices):
        raise InvalidValue(f"{name} contains a cell twice: {cells!r}")
    return indices
