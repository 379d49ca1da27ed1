"""What people do about the others near them, in loops over pairs; and how dense they are, in passes over a grid."""

from __future__ import annotations

import numpy as np

from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.signatures import Bools2, Floats, Floats2, OutFloats, OutFloats2, Shorts


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
    found, other = amount.copy(), np.empty_like(amount)
    for _ in range(passes):
        _exchange(found, east, north, part, other)
        found, other = other, found
    return found


@jit()
def _exchange(amount: Floats2, east: Bools2, north: Bools2, part: float, out: OutFloats2) -> None:
    rows, columns = amount.shape
    for i in range(rows):
        for j in range(columns):
            here, gain = amount[i, j], 0.0
            if i + 1 < rows and east[i, j]:
                gain += amount[i + 1, j] - here
            if i > 0 and east[i - 1, j]:
                gain += amount[i - 1, j] - here
            if j + 1 < columns and north[i, j]:
                gain += amount[i, j + 1] - here
            if j > 0 and north[i, j - 1]:
                gain += amount[i, j - 1] - here
            out[i, j] = here + part * gain
