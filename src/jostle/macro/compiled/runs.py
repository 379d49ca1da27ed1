"""Isotonic regression along many runs of points: pools of adjacent violators, all runs in one call."""

from __future__ import annotations

import numpy as np

from jostle.kernels.compiling import Bools, Floats, Ints, OutFloats, OutInts, jit
from jostle.macro import kernels


@kernels.isotonic.on("numpy")
def isotonic(y: Floats, mass: Floats, order: Ints, starts: Ints, low: Bools, high: Bools) -> Floats:
    """The projection of y, run by run: see `kernels.isotonic`. mass of length 0: all one."""
    n = len(order)
    out = np.empty(n)
    _pool(y, mass, order, starts, low, high, np.empty(n), np.empty(n), np.empty(n, np.int64), out)
    return out


@jit()
def _pool(
    y: Floats,
    mass: Floats,
    order: Ints,
    starts: Ints,
    low: Bools,
    high: Bools,
    value: OutFloats,
    weight: OutFloats,
    first: OutInts,
    out: OutFloats,
) -> None:
    """Blocks of a run lie on a stack: their values, weights, and where they begin."""
    alike = len(mass) == 0
    for run in range(len(low)):
        a, end, top = starts[run], starts[run + 1], -1
        for c in range(a, end):
            v, m, begin = y[order[c]], 1.0 if alike else mass[order[c]], c
            while top >= 0 and value[top] >= v:
                v = (weight[top] * value[top] + m * v) / (weight[top] + m)
                m += weight[top]
                begin = first[top]
                top -= 1
            top += 1
            value[top], weight[top], first[top] = v, m, begin
        for block in range(top, -1, -1):
            v = value[block]
            if low[run]:
                v = max(v, 0.0)
            if high[run]:
                v = min(v, 0.0)
            for c in range(first[block], end):
                out[order[c]] = v
            end = first[block]


@kernels.pressures.on("numpy")
def pressures(lost: Floats, mass: Floats, order: Ints, starts: Ints, low: Bools, high: Bools) -> Floats:
    """The pressures at the edges of all runs, never negative, for lost = y - u: see `kernels.isotonic`."""
    out = np.empty(len(order) + len(low))
    _add_up(lost, mass, order, starts, low, high, out)
    return out


@jit()
def _add_up(lost: Floats, mass: Floats, order: Ints, starts: Ints, low: Bools, high: Bools, out: OutFloats) -> None:
    alike = len(mass) == 0
    for run in range(len(low)):
        a, b = starts[run], starts[run + 1]
        e, p, least = a + run, 0.0, 0.0
        out[e] = 0.0
        for c in range(a, b):
            p += lost[order[c]] * (1.0 if alike else mass[order[c]])
            out[e + 1 + c - a] = p
            least = min(least, p)
        base = 0.0
        if low[run]:
            base = least if high[run] else p
        for c in range(e, e + b - a + 1):
            out[c] = max(out[c] - base, 0.0)
        if not low[run]:
            out[e] = 0.0
        if not high[run]:
            out[e + b - a] = 0.0
