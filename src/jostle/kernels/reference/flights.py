"""Many copies of a small system by events: flights by the classical Runge-Kutta method, and impacts between them.

    q' = u,  M u' = f(t, q, u) + G^T p,  0 <= p  ⟂  G u' >= 0  in contacts at rest,      u+ = u- - (1 + e) P_N u-

The gaps are affine in q and do not move. A step in which a gap closes ends there: the time of the impact is found on
the flight itself. If the flights between impacts become short compared with the step, the contact comes to rest.
Order 4; where a contact at rest opens, 2.

Tangents (dq, du) are carried along: over a flight by central differences of it, and over an impact of row i at the time
t with the accelerations a- and a+ by

    tau = -G_i dq / G_i u-,      dq+ = dq + (u- - u+) tau,      du+ = J (du + a- tau) - a+ tau,      J = du+ / du-,

where tau is how much later the neighbour hits (the saltation matrix; Müller 1995). In contacts at rest G dq = G du = 0.
They are made orthonormal after each impact and each step, and the logarithms of what they grew by are summed
(Benettin 1980).
"""

from __future__ import annotations

import numpy as np

from jostle._tools.arrays import Array, Integers
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

TANGENT_STEP = 1e-5
"""Step of the central differences of a flight, as a fraction of the state."""
LOST = 1e-8
"""A tangent that shrinks to less than this factor in one impact or one step has come to nothing."""


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
    tangents: Array,
    steps: int,
    sections: int,
    skipped: int,
    kept: int,
) -> Moved:
    """All copies go on for `sections` times `steps` steps; see `copies.march`. touched is 1 in contacts at rest.

    tangents (n, k, 2 d + 1) are k orthonormal vectors (dq, du) of each copy, and the sums of the logarithms of their
    growth; they are returned after hits.
    """
    given = numbers, parameters, root, states, counts, touched, hits, tangents
    return moved(_step, force, rows, given, steps, sections, skipped, kept)


def _step(copy: Copy) -> None:
    """A step of length h: flights, and the impacts between them."""
    past = 0.0
    _stop_tangents(copy, copy.gaps(copy.t, copy.q)[1])
    for _ in range(MAX_IMPACTS):
        t, s = copy.t + past, copy.h - past
        row, s = _first_to_close(copy, t, s)
        _carry(copy, t, s)
        copy.q[:], copy.u[:] = _flight(copy, t, s)
        G, F = copy.gaps(t, copy.q)[1], copy.acceleration(t + s, copy.q, copy.u)
        copy.touched[G @ copy.u > RELEASE * np.abs(G) @ (np.abs(copy.u) + s * np.abs(F))] = 0.0
        if row < 0:
            break
        past += s
        _hit(copy, copy.t + past, row)
        if past >= copy.h:
            break
    else:
        raise Stopped(TOO_MANY_IMPACTS)
    _orthonormalise(copy.tangents)


def _carry(copy: Copy, t: float, s: float) -> None:
    """The tangents after a flight of length s, by central differences."""
    start, d = np.concatenate([copy.q, copy.u]), len(copy.q)
    size = max(np.abs(start).max(), np.abs(_flight(copy, t, s)).max()) or 1.0
    for tangent in copy.tangents[:, : 2 * d]:
        step, ends = TANGENT_STEP * size, []
        for sign in (1.0, -1.0):
            copy.q[:], copy.u[:] = np.split(start + sign * step * tangent, 2)
            ends.append(np.concatenate(_flight(copy, t, s)))
        tangent[:] = (ends[0] - ends[1]) / (2.0 * step)
    copy.q[:], copy.u[:] = np.split(start, 2)


def _stop_tangents(copy: Copy, G: Array) -> None:
    """Neighbours of a copy with contacts at rest have them, too: G dq = G du = 0."""
    d, rest = len(copy.q), copy.touched > 0.0
    for tangent in copy.tangents:
        tangent[:d], tangent[d : 2 * d] = _along(copy, G[rest], tangent[:d]), _along(copy, G[rest], tangent[d : 2 * d])


def _along(copy: Copy, G: Array, v: Array) -> Array:
    """The vector nearest to v with G v = 0."""
    A = G * copy.root
    return np.asarray(v - copy.root * np.linalg.lstsq(A, A @ (v / copy.root), rcond=DEPENDENT)[0])


def _orthonormalise(tangents: Array) -> None:
    """The tangents as an orthonormal basis; the last column adds up the logarithms of their growth, -inf if lost."""
    basis, total = tangents[:, :-1], tangents[:, -1]
    for j, one in enumerate(basis):
        for _ in range(2):
            one -= basis[:j].T @ (basis[:j] @ one)
        length = np.linalg.norm(one)
        with np.errstate(divide="ignore"):
            total[j] += np.log(length if length > LOST else 0.0)
        if length <= LOST:
            one[:] = 0.0
            one[np.argmin((basis[:j] ** 2).sum(axis=0))] = 1.0
            for _ in range(2):
                one -= basis[:j].T @ (basis[:j] @ one)
            length = np.linalg.norm(one)
        one /= length


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
    before, pulled = copy.u.copy(), _on_contacts(copy, copy.acceleration(t, copy.q, copy.u))
    copy.touched[row] = 1.0
    closed = G[copy.touched > 0.0]
    found, p = copy.project(before, closed, np.zeros(len(closed)), np.zeros(len(closed)))
    u = (1.0 + e) * found - e * before
    push = G @ copy.acceleration(t, copy.q, u)
    if not np.isfinite(push).all():
        raise Stopped(NOT_FINITE)
    stays = (push < 0.0) & (2.0 * (G @ u) <= -push * SHORTEST_FLIGHT * copy.h)
    copy.touched[:] = np.where(stays & (copy.touched > 0.0), 1.0, 0.0)
    copy.u[:] = _along(copy, G[copy.touched > 0.0], u)  # contacts at rest keep no velocity, neither into nor away
    released, d = _on_contacts(copy, copy.acceleration(t, copy.q, copy.u)), len(before)
    for tangent in copy.tangents:
        dq, du, rate = tangent[:d], tangent[d : 2 * d], G[row] @ before
        tau = -(G[row] @ dq) / rate if rate != 0.0 else 0.0
        hit = du + pulled * tau
        dq += (before - copy.u) * tau
        du[:] = (1.0 + e) * _along(copy, closed[p > 0.0], hit) - e * hit - released * tau
    _stop_tangents(copy, G)
    _orthonormalise(copy.tangents)
