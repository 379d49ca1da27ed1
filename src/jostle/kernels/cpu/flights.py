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

from jostle.kernels.compiling import Floats, Floats2, Force, OutFloats, OutFloats2, OutFloats3, OutInts2, Rows, jit
from jostle.kernels.cpu.copies import FAR, GAP, NOISE, NOTHING, OFFSET, TOUCHED, P, _project, room
from jostle.kernels.reference.copies import (
    DONE,
    GOES_ON,
    HITS,
    MOMENT,
    NOT_FINITE,
    ROW,
    SPEED,
    STATUS,
    TOO_MANY_IMPACTS,
    Common,
    Copies,
    E,
    H,
    Moved,
    Q,
    T,
    U,
)
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

NEW_Q, NEW_U, STAGE_Q, STAGE_U, RATE, SUM, SLOPE, PULL = 0, 1, 2, 3, 4, 5, 6, 7
"""The rows of `vectors`: the end of a flight, a stage of it, u' there, the sums of all u' and of all q', and what u'
would be without the contacts at rest."""
SHIFTED, AHEAD_Q, AHEAD_U, U_BEFORE, PULL_BEFORE = 8, 11, 12, 13, 14
"""Rows of `vectors` for tangents: the state of a neighbour (three), where it ends, and u and u' before an impact."""
RATE_BEFORE, GAP_BEFORE, ACTIVE = 6, 7, 8
"""The rows of `per_row` that contain the rates and gaps at the start of a flight, and the impulses of an impact."""


@jit(helper=True)
def _cone(which: OutFloats, w: OutFloats, per_row: OutFloats2, G: OutFloats2) -> bool:
    """Offsets that make the cone of the rows with a positive entry in `which`; are there any?"""
    m, d = G.shape
    found = False
    for i in range(m):
        per_row[NOISE, i], per_row[OFFSET, i] = 0.0, 0.0
        if which[i] > 0.0:
            found = True
        else:
            largest = 1.0
            for k in range(d):
                largest += abs(G[i, k]) * (abs(w[k]) + 1.0)
            per_row[OFFSET, i] = FAR * largest
    return found


@jit(helper=True)
def _accelerate(
    force: Force, t: float, q: OutFloats, u: OutFloats, parameters: Floats, root: Floats, resting: bool,
    vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2, rows: OutFloats2, work: OutFloats2, lists: OutInts2,
) -> int:  # fmt: skip
    """RATE = u', where contacts at rest do not close; how the copy stands then."""
    d = len(q)
    rate = vectors[RATE]
    rate[0] = np.nan
    force(t, q, u, parameters, rate)
    for k in range(d):
        rate[k] *= root[k] * root[k]
        if not abs(rate[k]) < np.inf:
            return NOT_FINITE
    if resting and _cone(per_row[TOUCHED], rate, per_row, G):
        target = vectors[PULL]
        for k in range(d):
            target[k] = rate[k]
        return _project(target, root, per_row, G, rate, rows, work, lists)
    return GOES_ON


@jit(helper=True)
def _fly(
    force: Force, t: float, s: float, state: OutFloats2, parameters: Floats, root: Floats, resting: bool,
    vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2, rows: OutFloats2, work: OutFloats2, lists: OutInts2,
) -> int:  # fmt: skip
    """NEW_Q and NEW_U after a time s, by the classical Runge-Kutta method; how the copy stands then."""
    d = G.shape[1]
    q, u, stage_q, stage_u, rate = state[Q], state[U], vectors[STAGE_Q], vectors[STAGE_U], vectors[RATE]
    q_sum, u_sum = vectors[SLOPE], vectors[SUM]
    for k in range(d):
        stage_q[k], stage_u[k], u_sum[k], q_sum[k] = q[k], u[k], 0.0, 0.0
    for stage in range(4):
        time = t if stage == 0 else t + s if stage == 3 else t + 0.5 * s
        weight, part = (1.0, 0.5 * s) if stage == 0 else (1.0, s) if stage == 3 else (2.0, s if stage == 2 else 0.5 * s)
        if resting:
            status = _accelerate(
                force, time, stage_q, stage_u, parameters, root, True, vectors, per_row, G, rows, work, lists
            )
            if status != GOES_ON:
                return status
        else:
            rate[0] = np.nan
            force(time, stage_q, stage_u, parameters, rate)
            for k in range(d):
                rate[k] *= root[k] * root[k]
        for k in range(d):
            slope, change = stage_u[k], rate[k]
            u_sum[k] += weight * change
            q_sum[k] += weight * slope
            stage_q[k] = q[k] + part * slope
            stage_u[k] = u[k] + part * change
    for k in range(d):
        vectors[NEW_Q, k] = q[k] + s / 6.0 * q_sum[k]
        vectors[NEW_U, k] = u[k] + s / 6.0 * u_sum[k]
        if not abs(vectors[NEW_Q, k]) + abs(vectors[NEW_U, k]) < np.inf:
            return NOT_FINITE
    return GOES_ON


@jit(helper=True)
def _rate(i: int, G: OutFloats2, u: OutFloats) -> float:
    total = 0.0
    for k in range(G.shape[1]):
        total += G[i, k] * u[k]
    return total


@jit(helper=True)
def _lowest(before: float, rate: float, after: float, rate_after: float, s: float) -> float:
    """The part of a flight of length s at which the cubic through both ends, with these rates, is lowest."""
    a = 6.0 * (before - after) + 3.0 * s * (rate + rate_after)
    b = -6.0 * (before - after) - 2.0 * s * (2.0 * rate + rate_after)
    c = s * rate
    root = b * b - 4.0 * a * c
    if root > 0.0 and b > 0.0:  # a may be round-off
        return -2.0 * c / (b + np.sqrt(root))
    return (-b + np.sqrt(root)) / (2.0 * a) if root > 0.0 and a > 0.0 else 1.0


@jit(helper=True)
def _closing(
    force: Force, rows_of: Rows, t: float, s: float, state: OutFloats2, parameters: Floats, root: Floats, resting: bool,
    vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2, rows: OutFloats2, work: OutFloats2, lists: OutInts2,
) -> tuple[int, float, int]:  # fmt: skip
    """(row, time, status) of the first gap that closes in a flight of length s, which has been computed; row -1: none.

    GAP_BEFORE and RATE_BEFORE are those at its begin. The time is found on the flight by bisection and secants.
    """
    m = len(G)
    first, moment = -1, s
    rows_of(t + s, vectors[NEW_Q], parameters, per_row[GAP], G)
    for i in range(m):
        if per_row[TOUCHED, i] > 0.0:
            continue
        low, high = 0.0, s
        g_low, g_high = per_row[GAP_BEFORE, i], per_row[GAP, i]
        rate, rate_after = per_row[RATE_BEFORE, i], _rate(i, G, vectors[NEW_U])
        if not abs(g_high) < np.inf:
            return -1, s, NOT_FINITE
        if g_high >= 0.0:
            if not (rate < 0.0 and rate_after > 0.0):
                continue
            part = _lowest(g_low, rate, g_high, rate_after, s)
            if not 0.0 < part < 1.0:
                continue
            high = part * s  # does it dip below zero in between?
            bound = g_low + rate * high + (3.0 * (g_high - g_low) - s * (2.0 * rate + rate_after)) * part * part
            bound += (2.0 * (g_low - g_high) + s * (rate + rate_after)) * part * part * part
            if bound >= 0.0:
                continue
            g_high = bound
        if g_low <= 0.0 and rate <= 0.0:  # it touches, and closes at once
            return i, 0.0, GOES_ON
        rising, middle = g_low <= 0.0 or rate > 0.0, 0.0  # first a time at which it is well open is looked for
        if rising:
            middle = min(_lowest(-g_low, -rate, -g_high, -rate_after, s) * s, 0.5 * high)
        side, least = 0, TIME_ROUND_OFF * (abs(t) + s)
        for attempt in range(MAX_ATTEMPTS):
            if not rising:  # the Illinois variant of the false position, away from both ends; if it is slow, bisection
                middle = (low * g_high - high * g_low) / (g_high - g_low)
                middle = min(max(middle, low + least), high - least)
                if attempt >= FIRST_BISECTION or not low < middle < high:
                    middle = 0.5 * (low + high)
            status = _fly(force, t, middle, state, parameters, root, resting, vectors, per_row, G, rows, work, lists)
            if status != GOES_ON:
                return -1, s, status
            rows_of(t + middle, vectors[NEW_Q], parameters, per_row[GAP], G)
            g = per_row[GAP, i]
            if rising:
                rising, low, g_low = g <= 0.0, middle, g
                middle *= 0.5
            elif g <= 0.0:
                high, g_high = middle, g
                g_low *= 0.5 if side == -1 else 1.0
                side = -1
            else:
                low, g_low = middle, g
                g_high *= 0.5 if side == 1 else 1.0
                side = 1
            if not rising and (high - low <= least or g == 0.0):
                break
        if rising:
            return i, 0.0, GOES_ON
        if high < moment or first < 0:
            first, moment = i, high
    return first, moment, GOES_ON


@jit(helper=True)
def _hit(
    force: Force, t: float, h: float, e: float, row: int, state: OutFloats2, parameters: Floats, root: Floats,
    vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2, rows: OutFloats2, work: OutFloats2, lists: OutInts2,
    hits: OutFloats2, counts: OutInts2, c: int,
) -> int:  # fmt: skip
    """The impact of a row, and of contacts at rest, by Moreau's law; those whose next flight is short stay closed."""
    m, d = G.shape
    u, target, found = state[U], vectors[STAGE_U], vectors[NEW_U]
    if len(hits):
        here = counts[c, HITS] % len(hits)
        hits[here, MOMENT], hits[here, SPEED], hits[here, ROW] = t, -_rate(row, G, u), row
    counts[c, HITS] += 1
    per_row[TOUCHED, row] = 1.0
    for k in range(d):
        target[k] = u[k]
    _cone(per_row[TOUCHED], target, per_row, G)
    status = _project(target, root, per_row, G, found, rows, work, lists)
    if status != GOES_ON:
        return status
    for k in range(d):
        found[k] = (1.0 + e) * found[k] - e * target[k]
    status = _accelerate(force, t, state[Q], found, parameters, root, False, vectors, per_row, G, rows, work, lists)
    if status != GOES_ON:
        return status
    for i in range(m):
        if per_row[TOUCHED, i] > 0.0:
            away, push = _rate(i, G, found), _rate(i, G, vectors[RATE])
            if not (push < 0.0 and 2.0 * away <= -push * SHORTEST_FLIGHT * h):
                per_row[TOUCHED, i] = 0.0
    for k in range(d):
        u[k] = found[k]
    _stop(per_row[TOUCHED], u, root, G, work)
    return GOES_ON


@jit(helper=True)
def _stop(which: OutFloats, u: OutFloats, root: Floats, G: OutFloats2, work: OutFloats2) -> None:
    """Remove from u what opens or closes the rows with a positive entry in `which`: G u = 0 there."""
    m, d = G.shape
    count = 0
    for i in range(m):
        if which[i] > 0.0:
            whole, left = 0.0, 0.0
            for k in range(d):
                work[count, k] = G[i, k] * root[k]
                whole += work[count, k] ** 2
            for _ in range(2):  # the second time removes the round-off of the first
                for b in range(count):
                    _remove(work[b], work[count], d)
            for k in range(d):
                left += work[count, k] ** 2
            if left > DEPENDENT * DEPENDENT * whole:
                for k in range(d):
                    work[count, k] /= np.sqrt(left)
                count += 1
    if count == 0:
        return
    x = work[count]
    for k in range(d):
        x[k] = u[k] / root[k]
    for b in range(count):
        _remove(work[b], x, d)
    for k in range(d):
        u[k] = x[k] * root[k]


@jit(helper=True)
def _remove(unit: OutFloats, x: OutFloats, d: int) -> None:
    """x = x - (unit . x) unit."""
    along = 0.0
    for k in range(d):
        along += unit[k] * x[k]
    for k in range(d):
        x[k] -= along * unit[k]


@jit(helper=True)
def _carry(
    force: Force, t: float, s: float, state: OutFloats2, tangents: OutFloats2, parameters: Floats, root: Floats,
    resting: bool, vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2, rows: OutFloats2, work: OutFloats2,
    lists: OutInts2,
) -> int:  # fmt: skip
    """The tangents after a flight of length s, by central differences; how the copy stands then."""
    d = G.shape[1]
    size = 0.0
    for k in range(d):
        size = max(size, abs(state[Q, k]), abs(state[U, k]), abs(vectors[NEW_Q, k]), abs(vectors[NEW_U, k]))
    step = TANGENT_STEP * (size if size > 0.0 else 1.0)
    shifted = vectors[SHIFTED : SHIFTED + 3]
    for j in range(len(tangents)):
        tangent = tangents[j]
        for k in range(d):
            shifted[Q, k], shifted[U, k] = state[Q, k] + step * tangent[k], state[U, k] + step * tangent[d + k]
        status = _fly(force, t, s, shifted, parameters, root, resting, vectors, per_row, G, rows, work, lists)
        if status != GOES_ON:
            return status
        for k in range(d):
            vectors[AHEAD_Q, k], vectors[AHEAD_U, k] = vectors[NEW_Q, k], vectors[NEW_U, k]
            shifted[Q, k], shifted[U, k] = state[Q, k] - step * tangent[k], state[U, k] - step * tangent[d + k]
        status = _fly(force, t, s, shifted, parameters, root, resting, vectors, per_row, G, rows, work, lists)
        if status != GOES_ON:
            return status
        for k in range(d):
            tangent[k] = (vectors[AHEAD_Q, k] - vectors[NEW_Q, k]) / (2.0 * step)
            tangent[d + k] = (vectors[AHEAD_U, k] - vectors[NEW_U, k]) / (2.0 * step)
    return GOES_ON


@jit(helper=True)
def _stop_tangents(
    tangents: OutFloats2, root: Floats, per_row: OutFloats2, G: OutFloats2, work: OutFloats2
) -> None:  # fmt: skip
    """Neighbours of a copy with contacts at rest have them, too: G dq = G du = 0."""
    d = G.shape[1]
    for j in range(len(tangents)):
        _stop(per_row[TOUCHED], tangents[j, :d], root, G, work)
        _stop(per_row[TOUCHED], tangents[j, d : 2 * d], root, G, work)


@jit(helper=True)
def _across(
    force: Force, t: float, e: float, row: int, state: OutFloats2, tangents: OutFloats2, parameters: Floats,
    root: Floats, vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2, rows: OutFloats2, work: OutFloats2,
    lists: OutInts2,
) -> int:  # fmt: skip
    """The tangents after the impact of a row, which `_hit` has computed; how the copy stands then."""
    m, d = G.shape
    u, before, pulled, free = state[U], vectors[U_BEFORE], vectors[PULL_BEFORE], vectors[AHEAD_U]
    resting = False
    for i in range(m):
        per_row[ACTIVE, i] = per_row[P, i]
        resting = resting or per_row[TOUCHED, i] > 0.0
    status = _accelerate(force, t, state[Q], u, parameters, root, resting, vectors, per_row, G, rows, work, lists)
    if status != GOES_ON:
        return status
    released, rate = vectors[RATE], _rate(row, G, before)
    for j in range(len(tangents)):
        dq, du = tangents[j, :d], tangents[j, d : 2 * d]
        tau = -_rate(row, G, dq) / rate if rate != 0.0 else 0.0
        for k in range(d):
            dq[k] += (before[k] - u[k]) * tau
            du[k] += pulled[k] * tau
            free[k] = du[k]
        _stop(per_row[ACTIVE], free, root, G, work)
        for k in range(d):
            du[k] = (1.0 + e) * free[k] - e * du[k] - released[k] * tau
    _stop_tangents(tangents, root, per_row, G, work)
    _orthonormalise(tangents)
    return GOES_ON


@jit(helper=True)
def _orthonormalise(tangents: OutFloats2) -> None:
    """The tangents as an orthonormal basis; the last column adds up the logarithms of their growth, -inf if lost."""
    size = tangents.shape[1] - 1
    for j in range(len(tangents)):
        length = _orthogonal(tangents, j, size)
        if length > LOST:
            tangents[j, size] += np.log(length)
        else:
            tangents[j, size] = -np.inf
            axis, least = 0, np.inf
            for k in range(size):
                tangents[j, k] = 0.0
                taken = 0.0
                for b in range(j):
                    taken += tangents[b, k] ** 2
                if taken < least:
                    axis, least = k, taken
            tangents[j, axis] = 1.0
            length = _orthogonal(tangents, j, size)
        for k in range(size):
            tangents[j, k] /= length


@jit(helper=True)
def _orthogonal(tangents: OutFloats2, j: int, size: int) -> float:
    """Remove the earlier tangents from tangent j; the length of what is left."""
    for _ in range(2):  # the second time removes the round-off of the first
        for b in range(j):
            _remove(tangents[b], tangents[j], size)
    square = 0.0
    for k in range(size):
        square += tangents[j, k] ** 2
    return np.sqrt(square)


@jit(helper=True)
def _step(
    force: Force, rows_of: Rows, t: float, h: float, e: float, parameters: Floats, root: Floats, state: OutFloats2,
    vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2, rows: OutFloats2, work: OutFloats2, lists: OutInts2,
    hits: OutFloats2, tangents: OutFloats2, counts: OutInts2, c: int,
) -> int:  # fmt: skip
    """A step of length h: flights, and the impacts between them; how the copy stands then."""
    m, d = G.shape
    past, followed = 0.0, len(tangents) > 0
    rows_of(t, state[Q], parameters, per_row[GAP_BEFORE], G)
    _stop_tangents(tangents, root, per_row, G, work)
    for _ in range(MAX_IMPACTS):
        s, resting = h - past, False
        for i in range(m):
            resting = resting or per_row[TOUCHED, i] > 0.0
            per_row[RATE_BEFORE, i] = _rate(i, G, state[U])
        status = _fly(force, t + past, s, state, parameters, root, resting, vectors, per_row, G, rows, work, lists)
        if status != GOES_ON:
            return status
        row, moment, status = _closing(
            force, rows_of, t + past, s, state, parameters, root, resting, vectors, per_row, G, rows, work, lists
        )
        if status != GOES_ON:
            return status
        if followed:
            status = _carry(
                force, t + past, moment, state, tangents, parameters, root, resting, vectors, per_row, G, rows, work,
                lists,
            )  # fmt: skip
            if status != GOES_ON:
                return status
        if row >= 0 or followed:
            status = _fly(
                force, t + past, moment, state, parameters, root, resting, vectors, per_row, G, rows, work, lists
            )
            if status != GOES_ON:
                return status
        for k in range(d):
            state[Q, k], state[U, k] = vectors[NEW_Q, k], vectors[NEW_U, k]
        for i in range(m):
            if per_row[TOUCHED, i] > 0.0:
                size = 0.0
                for k in range(d):
                    size += abs(G[i, k]) * (abs(state[U, k]) + s * abs(vectors[PULL, k]))
                if _rate(i, G, state[U]) > RELEASE * size:
                    per_row[TOUCHED, i] = 0.0
        if row < 0:
            _orthonormalise(tangents)
            return GOES_ON
        past += moment
        if followed:
            status = _accelerate(
                force, t + past, state[Q], state[U], parameters, root, resting, vectors, per_row, G, rows, work, lists
            )
            if status != GOES_ON:
                return status
            for k in range(d):
                vectors[U_BEFORE, k], vectors[PULL_BEFORE, k] = state[U, k], vectors[RATE, k]
        status = _hit(
            force, t + past, h, e, row, state, parameters, root, vectors, per_row, G, rows, work, lists, hits, counts, c
        )
        if status != GOES_ON:
            return status
        if followed:
            status = _across(
                force, t + past, e, row, state, tangents, parameters, root, vectors, per_row, G, rows, work, lists
            )
            if status != GOES_ON:
                return status
        rows_of(t + past, state[Q], parameters, per_row[GAP_BEFORE], G)
        if past >= h:
            return GOES_ON
    return TOO_MANY_IMPACTS


def fly(common: Common, copies: Copies, steps: int, sections: int, skipped: int, kept: int) -> Moved:
    """All copies go on for `sections` times `steps` steps, see `copies.march`; the gaps are affine and do not move."""
    new, saved = copies.copied(), copies.room_to_save(kept)
    working = room(new.touched.shape[2], new.states.shape[2])
    given = *new[:2], common.root, *new[2:], saved, steps, sections, skipped
    _fly_all(common.force, common.rows, *given, *working)
    return new, saved


@jit()
def _fly_all(
    force: Force, rows_of: Rows, numbers: Floats2, parameters: Floats2, root: Floats, states: OutFloats3,
    counts: OutInts2, touched: OutFloats3, hits: OutFloats3, tangents: OutFloats3, saved: OutFloats3, steps: int,
    sections: int, skipped: int,
    vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2, rows: OutFloats2, work: OutFloats2, lists: OutInts2,
) -> None:  # fmt: skip
    m, d = G.shape
    for c in range(len(states)):
        t0, h, e = numbers[c, T], numbers[c, H], numbers[c, E]
        for i in range(m):
            per_row[TOUCHED, i], per_row[NOTHING, i] = touched[c, 0, i], 0.0
        for section in range(sections):
            if counts[c, STATUS] != GOES_ON:
                break
            for _ in range(steps):
                done = counts[c, DONE]
                status = _step(
                    force, rows_of, t0 + done * h, h, e, parameters[c], root, states[c], vectors, per_row, G, rows,
                    work, lists, hits[c], tangents[c], counts, c,
                )  # fmt: skip
                if status != GOES_ON:
                    counts[c, STATUS] = status
                    break
                counts[c, DONE] = done + 1
            else:
                if 0 <= section - skipped < saved.shape[1]:
                    for k in range(d):
                        saved[c, section - skipped, k] = states[c, Q, k]
                        saved[c, section - skipped, d + k] = states[c, U, k]
        for i in range(m):
            touched[c, 0, i] = per_row[TOUCHED, i]
