"""Many copies of a small system by events: flights by the classical Runge-Kutta method, and impacts between them.

    q' = u,  M u' = f(t, q, u) + G^T p,  0 <= p  ⟂  G u' >= 0  in contacts at rest,      u+ = u- - (1 + e) P_N u-

The gaps are affine in q and do not move. A step in which a gap closes ends there: the time of the impact is found on
the flight itself. If the flights between impacts become short compared with the step, the contact comes to rest.
Order 4; where a contact at rest opens, 2.
"""

from __future__ import annotations

import numpy as np

from jostle.arrays import Array, Integers
from jostle.kernels.reference.copies import NOT_FINITE, TOO_MANY_IMPACTS, Copy, Force, Moved, Rows, Stopped, moved
from jostle.kernels.reference.dense import DEPENDENT

SHORTEST_FLIGHT = 1e-3
"""A contact whose next flight would be shorter than this fraction of a time step comes to rest."""
MAX_IMPACTS = 10_000
"""Largest number of impacts in one step."""
MAX_ATTEMPTS = 100
"""Largest number of flights that are computed to find the time of an impact."""
FIRST_BISECTION = 30
"""Number of flights after which the time of an impact is found by bisection."""
TIME_ROUND_OFF = 4e-16
"""Relative accuracy of the time of an impact."""
RELEASE = 1e-13
"""A contact at rest opens if its gap grows faster than this fraction of the velocities, with and without contact."""


def fly(
    force: Force,
    rows: Rows,
    numbers: Array,
    parameters: Array,
    root: Array,
    states: Array,
    counts: Integers,
    touched: Array,
    hits: Array,
    steps: int,
    sections: int,
    skipped: int,
    kept: int,
) -> Moved:
    """All copies go on for `sections` times `steps` steps; see `copies.march`. touched is 1 in contacts at rest."""
    given = numbers, parameters, root, states, counts, touched, hits
    return moved(_step, force, rows, given, steps, sections, skipped, kept)


def _step(copy: Copy) -> None:
    """A step of length h: flights, and the impacts between them."""
    past = 0.0
    for _ in range(MAX_IMPACTS):
        t, s = copy.t + past, copy.h - past
        row, s = _first_to_close(copy, t, s)
        copy.q[:], copy.u[:] = _flight(copy, t, s)
        G, F = copy.gaps(t, copy.q)[1], copy.acceleration(t + s, copy.q, copy.u)
        copy.touched[G @ copy.u > RELEASE * np.abs(G) @ (np.abs(copy.u) + s * np.abs(F))] = 0.0
        if row < 0:
            return
        past += s
        _hit(copy, copy.t + past, row)
        if past >= copy.h:
            return
    raise Stopped(TOO_MANY_IMPACTS)


def _on_contacts(copy: Copy, w: Array) -> Array:
    """The vector nearest to w that does not close a contact in `touched`."""
    G = copy.gaps(copy.t, copy.q)[1][copy.touched > 0.0]
    return copy.project(w, G, np.zeros(len(G)), np.zeros(len(G)))[0]


def _flight(copy: Copy, t: float, s: float) -> tuple[Array, Array]:
    """q and u after a time s, by the classical Runge-Kutta method; contacts at rest do not close."""

    def rate(time: float, q: Array, u: Array) -> tuple[Array, Array]:
        F = copy.acceleration(time, q, u)
        if not np.isfinite(F).all():
            raise Stopped(NOT_FINITE)
        return u, _on_contacts(copy, F)

    q, u = copy.q, copy.u
    v1, a1 = rate(t, q, u)
    v2, a2 = rate(t + s / 2.0, q + s / 2.0 * v1, u + s / 2.0 * a1)
    v3, a3 = rate(t + s / 2.0, q + s / 2.0 * v2, u + s / 2.0 * a2)
    v4, a4 = rate(t + s, q + s * v3, u + s * a3)
    q, u = q + s / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4), u + s / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    if not (np.isfinite(q).all() and np.isfinite(u).all()):
        raise Stopped(NOT_FINITE)
    return q, u


def _first_to_close(copy: Copy, t: float, s: float) -> tuple[int, float]:
    """The first gap that closes in a flight of length s, and when; -1 and s if there is none."""
    q, u = _flight(copy, t, s)
    (before, G), (after, _) = copy.gaps(t, copy.q), copy.gaps(t + s, q)
    first, moment = -1, s
    for i in np.flatnonzero(copy.touched == 0.0):
        if not np.isfinite(after[i]):
            raise Stopped(NOT_FINITE)
        ends = float(before[i]), float(G[i] @ copy.u), float(after[i]), float(G[i] @ u)
        high = s if after[i] < 0.0 else _dip(*ends, s)
        if high < 0.0:
            continue
        if before[i] <= 0.0 and ends[1] <= 0.0:  # it touches, and closes at once
            return int(i), 0.0
        time = _closing(copy, t, int(i), ends, s, high)
        if time == 0.0:
            return int(i), 0.0
        if first < 0 or time < moment:
            first, moment = int(i), time
    return first, moment


def _closing(copy: Copy, t: float, i: int, ends: tuple[float, float, float, float], s: float, high: float) -> float:
    """When a gap closes before the time `high`; 0 if it has never been open."""

    def gap(time: float) -> float:
        return float(copy.gaps(t + time, _flight(copy, t, time)[0])[0][i])

    low = 0.0
    before, rate, after, rate_after = ends
    if before <= 0.0 or rate > 0.0:  # first a time at which it is well open is looked for
        low = min(_lowest(-before, -rate, -after, -rate_after, s) * s, 0.5 * high)
        for _ in range(MAX_ATTEMPTS):
            if gap(low) > 0.0:
                break
            low *= 0.5
        else:
            return 0.0
    while high - low > TIME_ROUND_OFF * (abs(t) + s) and low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if gap(middle) <= 0.0 else (middle, high)
    return high


def _dip(before: float, rate: float, after: float, rate_after: float, s: float) -> float:
    """When a gap that is open at both ends is lowest, if the cubic through both ends is negative there; else -1."""
    if not rate < 0.0 < rate_after:
        return -1.0
    part = _lowest(before, rate, after, rate_after, s)
    square = 3.0 * (after - before) - s * (2.0 * rate + rate_after)
    cube = 2.0 * (before - after) + s * (rate + rate_after)
    lowest = before + s * rate * part + square * part**2 + cube * part**3
    return part * s if 0.0 < part < 1.0 and lowest < 0.0 else -1.0


def _lowest(before: float, rate: float, after: float, rate_after: float, s: float) -> float:
    """The part of a flight of length s at which the cubic through both ends, with these rates, is lowest."""
    a = 6.0 * (before - after) + 3.0 * s * (rate + rate_after)
    b = -6.0 * (before - after) - 2.0 * s * (2.0 * rate + rate_after)
    c = s * rate
    root = b * b - 4.0 * a * c
    if root > 0.0 and b > 0.0:  # a may be round-off
        return float(-2.0 * c / (b + np.sqrt(root)))
    return float((-b + np.sqrt(root)) / (2.0 * a)) if root > 0.0 and a > 0.0 else 1.0


def _hit(copy: Copy, t: float, row: int) -> None:
    """The impact of a row, and of contacts at rest, by Moreau's law; those whose next flight is short stay closed."""
    G, e = copy.gaps(t, copy.q)[1], copy.e
    copy.record(t, -float(G[row] @ copy.u), row)
    copy.touched[row] = 1.0
    u = (1.0 + e) * _on_contacts(copy, copy.u) - e * copy.u
    push = G @ copy.acceleration(t, copy.q, u)
    if not np.isfinite(push).all():
        raise Stopped(NOT_FINITE)
    stays = (push < 0.0) & (2.0 * (G @ u) <= -push * SHORTEST_FLIGHT * copy.h)
    copy.touched[:] = np.where(stays & (copy.touched > 0.0), 1.0, 0.0)
    A = (G * copy.root)[copy.touched > 0.0]  # contacts at rest keep no velocity, neither into them nor away
    copy.u[:] = u - copy.root * np.linalg.lstsq(A, A @ (u / copy.root), rcond=DEPENDENT)[0]
