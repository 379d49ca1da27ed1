"""Many copies of a small system, computed one after the other with Paoli's scheme or with that of Moreau and Jean.

Copies are independent of each other, so that threads can share them. Arrays that travel together are not one tuple
here: with tuples of arrays in place of arguments a step took 10 % longer, and `flights` four times as long to compile.
"""

from __future__ import annotations

import numpy as np

from jostle.kernels.compiling import Floats, Floats2, Force, OutFloats, OutFloats2, OutFloats3, OutInts2, Rows, jit
from jostle.kernels.cpu.dense import VECTORS, _active_set
from jostle.kernels.reference.copies import (
    BEFORE,
    CLOSED,
    DONE,
    ESCAPED,
    GAP_ROUND_OFF,
    GOES_ON,
    HITS,
    HUGE,
    MAX_ITERATIONS,
    MAX_SWEEPS,
    MOMENT,
    NO_NEAREST,
    NO_POINT,
    NO_PROJECTION,
    NOISE_LEVEL,
    NOT_FINITE,
    PAOLI,
    PLACE_ROUND_OFF,
    ROW,
    SPEED,
    STATUS,
    SWEEP_TOLERANCE,
    Common,
    Copies,
    E,
    H,
    Moved,
    Q,
    T,
    U,
)
from jostle.kernels.reference.dense import EMPTY, SOLVED

FORCE, W, X, CORRECTED = 0, 1, 2, 3
"""The rows of `vectors`."""
GAP, OFFSET, P, TOUCHED, NOISE, NOTHING, DRIFT, FIRST_DRIFT, LAST_DRIFT, DEPTH = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
"""The rows of `per_row`."""


def room(m: int, d: int) -> tuple[Floats2, Floats2, Floats2, Floats2, Floats2, OutInts2]:
    """The working arrays for m constraints in d coordinates."""
    most = min(m, d) + 1
    return (
        np.zeros((15, d)), np.zeros((18, m)), np.zeros((m, d)), np.zeros((3, m)),
        np.zeros((m + 2 * most + VECTORS, d + 1)), np.zeros((2, m + 1), np.int64),
    )  # fmt: skip


@jit(helper=True)
def _project(
    w: Floats, root: Floats, per_row: OutFloats2, G: OutFloats2, x: OutFloats, rows: OutFloats2, work: OutFloats2,
    lists: OutInts2,
) -> int:  # fmt: skip
    """x = the projection of w on {v : offset + G v >= 0}, and its multipliers; how the copy stands then."""
    m, d = G.shape
    for i in range(m):
        per_row[P, i] = 0.0
        lists[0, i], lists[1, i] = 0, 0
    lists[0, m], lists[1, m] = 0, 0
    for k in range(d):
        x[k] = 0.0
    status, _ = _active_set(
        G, per_row[OFFSET], w, root, NOISE_LEVEL, per_row[NOISE], per_row[NOTHING], MAX_ITERATIONS,
        x, per_row[P], rows, work, lists,
    )  # fmt: skip
    return GOES_ON if status == SOLVED else NO_POINT if status == EMPTY else NO_PROJECTION


@jit(helper=True)
def _nearest(
    rows_of: Rows, flat: bool, t: float, parameters: Floats, root: Floats, vectors: OutFloats2, per_row: OutFloats2,
    G: OutFloats2, rows: OutFloats2, work: OutFloats2, lists: OutInts2,
) -> int:  # fmt: skip
    """X = the admissible point nearest to W, by projections on the linearised constraints; how the copy stands then."""
    m, d = G.shape
    w, x, corrected = vectors[W], vectors[X], vectors[CORRECTED]
    for k in range(d):
        x[k] = w[k]
    for i in range(m):
        per_row[P, i] = 0.0
    for sweep in range(MAX_SWEEPS):
        per_row[GAP, 0] = np.nan
        rows_of(t, x, parameters, per_row[GAP], G)
        if sweep == 0:
            inside = True
            for i in range(m):
                inside = inside and per_row[GAP, i] >= 0.0
            if inside:
                return GOES_ON
        for i in range(m):
            offset, size = per_row[GAP, i], 0.0
            for k in range(d):
                offset -= G[i, k] * x[k]
                size += abs(G[i, k] * x[k])
            if not abs(offset) < np.inf:
                return NOT_FINITE
            per_row[OFFSET, i], per_row[NOISE, i] = offset, GAP_ROUND_OFF * size
        status = _project(w, root, per_row, G, corrected, rows, work, lists)
        if status != GOES_ON:
            return status
        moved, size = 0.0, 0.0
        for k in range(d):
            moved = max(moved, abs(corrected[k] - x[k]))
            size = max(size, abs(corrected[k]))
            x[k] = corrected[k]
        if flat or moved <= SWEEP_TOLERANCE * size:
            return GOES_ON
    return NO_NEAREST


@jit(helper=True)
def _note(
    t: float, later: float, root: Floats, u: Floats, vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2,
    hits: OutFloats2, count: int,
) -> int:  # fmt: skip
    """Record the contacts that closed in a step from t with the velocity u of the time t - later; their number.

    GAP holds the gaps at t. The last impacts are kept.
    """
    m, d = G.shape
    for i in range(m):
        if per_row[P, i] > 0.0 and per_row[TOUCHED, i] == 0.0:
            rate, push = per_row[DRIFT, i], 0.0
            for k in range(d):
                rate += G[i, k] * u[k]
                push += G[i, k] * vectors[FORCE, k] * root[k] * root[k]
            rate += later * push
            if rate < 0.0:
                delay = -per_row[GAP, i] / rate
                for _ in range(3):  # gap + rate delay + push delay^2 / 2 = 0
                    if rate + 0.5 * push * delay < 0.0:
                        delay = -per_row[GAP, i] / (rate + 0.5 * push * delay)
                if len(hits):
                    here = count % len(hits)
                    hits[here, MOMENT], hits[here, SPEED], hits[here, ROW] = t + delay, -(rate + push * delay), i
                count += 1
        per_row[TOUCHED, i] = per_row[P, i]
    return count


@jit(helper=True)
def _paoli(
    force: Force, rows_of: Rows, flat: bool, t: float, h: float, e: float, begun: bool, parameters: Floats,
    root: Floats, state: OutFloats2, vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2, rows: OutFloats2,
    work: OutFloats2, lists: OutInts2, hits: OutFloats2, counts: OutInts2, c: int,
) -> int:  # fmt: skip
    """Paoli 2010 (4)-(7), with z(h) = h F / 2 in the first step."""
    m, d = G.shape
    q, before, u = state[Q], state[BEFORE], state[U]
    vectors[FORCE, 0] = np.nan
    force(t, q, u, parameters, vectors[FORCE])
    for k in range(d):
        F = vectors[FORCE, k] * root[k] * root[k]
        if begun:
            vectors[W, k] = (q[k] + 1.0 * (q[k] - before[k]) + h * (h + h) / 2.0 * F + e * before[k]) / (1.0 + e)
        else:
            vectors[W, k] = q[k] + h * u[k] + h * (0.5 * h * F)
        if not abs(vectors[W, k]) < np.inf:
            return NOT_FINITE
    status = _nearest(rows_of, flat, t, parameters, root, vectors, per_row, G, rows, work, lists)
    if status != GOES_ON:
        return status
    closes, touched = False, False
    for i in range(m):
        closes = closes or (per_row[P, i] > 0.0 and per_row[TOUCHED, i] == 0.0)
        touched = touched or per_row[TOUCHED, i] > 0.0
    if closes:
        rows_of(t, q, parameters, per_row[GAP], G)
        counts[c, HITS] = _note(t, 0.5 * h if begun else 0.0, root, u, vectors, per_row, G, hits, counts[c, HITS])
    elif touched:
        for i in range(m):
            per_row[TOUCHED, i] = per_row[P, i]
    for k in range(d):
        after = (1.0 + e) * vectors[X, k] - e * before[k] if begun else vectors[X, k]
        u[k] = (after - q[k]) / h
        before[k], q[k] = q[k], after
    return GOES_ON


@jit(helper=True)
def _moreau_jean(
    force: Force, rows_of: Rows, flat: bool, moving: bool, length: Floats, t: float, h: float, e: float,
    parameters: Floats, root: Floats, state: OutFloats2, vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2,
    rows: OutFloats2, work: OutFloats2, lists: OutInts2, hits: OutFloats2, counts: OutInts2, c: int,
) -> int:  # fmt: skip
    """The contacts closed at the midpoint obey the law; the others are left out by an infinite offset."""
    m, d = G.shape
    q, u, place = state[Q], state[U], vectors[CORRECTED]
    vectors[FORCE, 0] = np.nan
    for k in range(d):
        place[k] = q[k] + h / 2.0 * u[k]
    force(t + h / 2.0, place, u, parameters, vectors[FORCE])
    for k in range(d):
        predicted = u[k] + h * (vectors[FORCE, k] * root[k] * root[k])
        vectors[X, k] = predicted
        vectors[W, k] = (predicted + e * u[k]) / (1.0 + e)
        if flat:
            place[k] = q[k]
        if not abs(predicted) < np.inf:
            return NOT_FINITE
    per_row[GAP, 0] = np.nan
    if moving:
        rows_of(t, place, parameters, per_row[FIRST_DRIFT], G)
        rows_of(t + h, place, parameters, per_row[LAST_DRIFT], G)
    rows_of(t + h / 2.0, place, parameters, per_row[GAP], G)
    touching = touched = False
    for i in range(m):
        gap, rate, size, way = per_row[GAP, i], 0.0, 0.0, 0.0
        for k in range(d):
            rate += G[i, k] * u[k]
            size += abs(G[i, k] * q[k])
            way += abs(G[i, k]) * h / 2.0 * (abs(u[k]) + abs(vectors[X, k]))
        if not abs(gap) + size + way < np.inf:
            return NOT_FINITE
        there = gap + h / 2.0 * rate if flat else gap
        closed = there <= (CLOSED * length[i] if length[i] > 0.0 else CLOSED * way + PLACE_ROUND_OFF * size)
        start = end = 0.0
        if moving:  # d at both ends, by the parabola through three gaps; the law is one on relative velocities
            first, last = per_row[FIRST_DRIFT, i], per_row[LAST_DRIFT, i]
            half, whole = gap - first, last - first
            start, end = (4.0 * half - whole) / h, (3.0 * whole - 4.0 * half) / h
            per_row[DRIFT, i], per_row[GAP, i] = start, first
        before = e * start
        if not flat:
            per_row[GAP, i] -= h / 2.0 * rate
            per_row[DEPTH, i] = max(per_row[DEPTH, i], there) if closed else -np.inf
            if closed:
                before = min(before, (there - per_row[DEPTH, i]) / h - e * rate)
        touching = touching or closed
        touched = touched or per_row[TOUCHED, i] > 0.0
        per_row[NOISE, i], per_row[P, i] = 0.0, 0.0
        per_row[OFFSET, i] = (end + before) / (1.0 + e) if closed else np.inf
    if touching:
        for i in range(m):  # a row that is far takes no part: its offset exceeds all rates
            if per_row[OFFSET, i] == np.inf:
                largest = 1.0
                for k in range(d):
                    largest += abs(G[i, k]) * (abs(vectors[W, k]) + 1.0)
                per_row[OFFSET, i] = FAR * largest
        status = _project(vectors[W], root, per_row, G, vectors[CORRECTED], rows, work, lists)
        if status != GOES_ON:
            return status
        for k in range(d):
            vectors[X, k] = (1.0 + e) * vectors[CORRECTED, k] - e * u[k]
    if touching or touched:
        counts[c, HITS] = _note(t, 0.0, root, u, vectors, per_row, G, hits, counts[c, HITS])
    for k in range(d):
        q[k] += h * (u[k] + vectors[X, k]) / 2.0
        u[k] = vectors[X, k]
    return GOES_ON


FAR = 1e8
"""The offset of a row that takes no part in a projection, in multiples of the rates."""


def march(common: Common, scheme: int, copies: Copies, steps: int, sections: int, skipped: int, kept: int) -> Moved:
    """All copies go on for `sections` times `steps` steps; `kept` sections after the first `skipped` ones are saved."""
    new, saved = copies.copied(), copies.room_to_save(kept)
    force, rows, flat, moving, length, root, *_ = common
    given = length, *new[:2], root, *new[2:6], new.escape, saved, steps, sections, skipped
    _march(force, rows, scheme, flat, moving, *given, *room(new.touched.shape[2], new.states.shape[2]))
    return new, saved


@jit()
def _march(
    force: Force, rows_of: Rows, scheme: int, flat: bool, moving: bool, length: Floats, numbers: Floats2,
    parameters: Floats2, root: Floats, states: OutFloats3, counts: OutInts2, touched: OutFloats3, hits: OutFloats3,
    escape: OutFloats, saved: OutFloats3, steps: int, sections: int, skipped: int, vectors: OutFloats2,
    per_row: OutFloats2, G: OutFloats2, rows: OutFloats2, work: OutFloats2, lists: OutInts2,
) -> None:  # fmt: skip
    m, d = G.shape
    for c in range(len(states)):
        t0, h, e = numbers[c, T], numbers[c, H], numbers[c, E]
        for i in range(m):
            per_row[TOUCHED, i], per_row[DEPTH, i] = touched[c, 0, i], touched[c, 1, i]
            per_row[NOTHING, i], per_row[DRIFT, i] = 0.0, 0.0
        for section in range(sections):
            if counts[c, STATUS] != GOES_ON:
                break
            for _ in range(steps):
                done = counts[c, DONE]
                t = t0 + done * h
                if scheme == PAOLI:
                    status = _paoli(
                        force, rows_of, flat, t, h, e, done > 0, parameters[c], root, states[c], vectors, per_row, G,
                        rows, work, lists, hits[c], counts, c,
                    )  # fmt: skip
                else:
                    status = _moreau_jean(
                        force, rows_of, flat, moving, length, t, h, e, parameters[c], root, states[c], vectors, per_row,
                        G, rows, work, lists, hits[c], counts, c,
                    )  # fmt: skip
                if status != GOES_ON:
                    for k in range(d):
                        if status == NOT_FINITE and abs(states[c, Q, k]) + h * abs(states[c, U, k]) > HUGE:
                            status, escape[c] = ESCAPED, t
                    counts[c, STATUS] = status
                    break
                counts[c, DONE] = done + 1
            else:
                if 0 <= section - skipped < saved.shape[1]:
                    for k in range(d):
                        saved[c, section - skipped, k] = states[c, Q, k]
                        saved[c, section - skipped, d + k] = states[c, U, k]
        for i in range(m):
            touched[c, 0, i], touched[c, 1, i] = per_row[TOUCHED, i], per_row[DEPTH, i]
