"""What people do about the others near them, in loops over pairs; and how dense they are, in passes over a grid."""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.signatures import Bools2, Floats, Floats2, Ints, OutFloats, OutFloats2, OutFloats3, Shorts


def turned(
    i: Shorts, j: Shorts, q: Floats2, radii: Floats, direction: Floats2, strength: float, decay: float
) -> Floats2:
    """The directions that others have turned: see `reference.turned`."""
    out = direction.copy()
    _turn(i, j, q, radii, direction, strength, decay, out)
    return out


@jit()
def _turn(
    i: Shorts,
    j: Shorts,
    q: Floats2,
    radii: Floats,
    direction: Floats2,
    strength: float,
    decay: float,
    out: OutFloats2,
) -> None:
    for k in range(len(i)):
        a, b = i[k], j[k]
        x, y = q[b, 0] - q[a, 0], q[b, 1] - q[a, 1]
        apart = np.sqrt(x * x + y * y)
        push = strength * np.exp(-(apart - radii[a] - radii[b]) / decay)
        scale = push / apart if apart > 0.0 else 0.0
        out[a, 0] -= scale * x
        out[a, 1] -= scale * y
        out[b, 0] += scale * x
        out[b, 1] += scale * y
    for a in range(len(q)):
        size = np.sqrt(out[a, 0] ** 2 + out[a, 1] ** 2)
        if direction[a, 0] == 0.0 and direction[a, 1] == 0.0:
            size = 0.0
        out[a, 0] = out[a, 0] / size if size > 0.0 else 0.0
        out[a, 1] = out[a, 1] / size if size > 0.0 else 0.0


def gaps_ahead(i: Shorts, j: Shorts, q: Floats2, radii: Floats, direction: Floats2) -> Floats:
    """The free distances to the next person ahead: see `reference.gaps_ahead`."""
    out = np.full(len(q), np.inf)
    _look_ahead(i, j, q, radii, direction, out)
    return out


@jit()
def _look_ahead(i: Shorts, j: Shorts, q: Floats2, radii: Floats, direction: Floats2, out: OutFloats) -> None:
    for k in range(len(i)):
        a, b = i[k], j[k]
        x, y = q[b, 0] - q[a, 0], q[b, 1] - q[a, 1]
        width = radii[a] + radii[b]
        gap = np.sqrt(x * x + y * y) - width
        if (
            gap < out[a]
            and x * direction[a, 0] + y * direction[a, 1] > 0.0
            and abs(x * direction[a, 1] - y * direction[a, 0]) < width
        ):
            out[a] = gap
        if (
            gap < out[b]
            and x * direction[b, 0] + y * direction[b, 1] < 0.0
            and abs(x * direction[b, 1] - y * direction[b, 0]) < width
        ):
            out[b] = gap


def spread(amount: Floats2, east: Bools2, north: Bools2, part: float, passes: int) -> Floats2:
    """An amount after some passes of exchange between neighbours: see `reference.spread`."""
    both = np.empty((2, *amount.shape))
    both[0] = amount
    free = np.zeros(amount.shape, dtype=bool)
    free[1:-1, 1:-1] = (east[1:-1] & east[:-2])[:, 1:-1] & north[1:-1, 1:-1] & north[1:-1, :-2]
    _exchange(both, east, north, np.flatnonzero(~free), part, passes)
    return both[passes % 2]


@jit()
def _exchange(both: OutFloats3, east: Bools2, north: Bools2, bound: Ints, part: float, passes: int) -> None:
    """Pass after pass from one half of `both` to the other.

    `bound` are the nodes at the edge of the grid and those with a closed link: the loop over all other nodes has no
    branches, so that several of them are computed at a time.
    """
    _, rows, columns = both.shape
    for k in range(passes):
        amount, out = both[k % 2], both[1 - k % 2]
        for i in range(1, rows - 1):
            above, here, below, to = amount[i + 1], amount[i], amount[i - 1], out[i]
            for j in range(1, columns - 1):
                x = here[j]
                to[j] = x + part * ((above[j] - x) + (below[j] - x) + (here[j + 1] - x) + (here[j - 1] - x))
        for node in bound:
            i, j = node // columns, node % columns
            x, gain = amount[i, j], 0.0
            if i + 1 < rows and east[i, j]:
                gain += amount[i + 1, j] - x
            if i > 0 and east[i - 1, j]:
                gain += amount[i - 1, j] - x
            if j + 1 < columns and north[i, j]:
                gain += amount[i, j + 1] - x
            if j > 0 and north[i, j - 1]:
                gain += amount[i, j - 1] - x
            out[i, j] = x + part * gain
