"""Many copies of a small system by events: flights by the classical Runge-Kutta method, and impacts between them.

    q' = u,  M u' = f(t, q, u) + G^T p,  0 <= p  ⟂  G u' + s'' >= 0  in contacts at rest,   u+ = u- - (1 + e) P_N u-

The gaps are s(t) + G q with constant normals G. A step in which a gap closes ends there: the time of the impact is
found on the flight itself. If the flights between impacts become short compared with the step, the contact comes to
rest. Order 4; where one of several contacts at rest opens, 2. Steps in which nothing happens are done by `glide`
(`kernels.functions`), which is compiled together with the force. Where the motion goes to infinity, steps are halved
until the time of the escape is known.

Tangents (dq, du) are carried along, each with a change of the parameters that belongs to it: over a flight by central
differences of it, and over an impact of row i at the time t with the accelerations a- and a+ by

    tau = -(G_i dq + ds) / (G_i u- + s'),
    dq+ = dq + (u- - u+) tau,      du+ = J (du + a- tau) - (1 + e) N (s'' tau + ds') - a+ tau,      J = du+ / du-,

where tau is how much later the neighbour hits, and ds and ds' are the changes of the gap and of its rate with the
parameters (the saltation matrix; Müller 1995). In contacts at rest G dq + ds = G du + ds' = 0. For Lyapunov exponents
they are made orthonormal after each impact and each step, and the logarithms of what they grew by are summed
(Benettin 1980).

A motion grazes a wall where a gap has a minimum of zero. The minimum that is closest to zero, compared with how fast it
changes along the tangents, is recorded: a positive one where the gap stays open, and -v^2 / 2 a for an impact of speed
v, if the gap would open again with the acceleration a.
"""

from __future__ import annotations

import numpy as np

from jostle.kernels.compiling import (
    Floats,
    Floats2,
    Force,
    Glide,
    OutFloats,
    OutFloats2,
    OutFloats3,
    OutInts2,
    Rows,
    jit,
)
from jostle.kernels.cpu.copies import FAR, GAP, NOISE, NOTHING, OFFSET, TOUCHED, P, _project, room
from jostle.kernels.reference.copies import (
    BEFORE,
    DONE,
    ESCAPED,
    GOES_ON,
    HITS,
    HUGE,
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
SHORTEST_STEP = 1e-12
"""Steps are not halved below this fraction of the time step."""
ESCAPE_GROWTH = 1e3
"""A motion escapes if it is not resolved even then, and has grown by this factor in one time step."""
MAX_IMPACTS = 10_000
"""Largest number of impacts in one step."""
MAX_ATTEMPTS = 100
"""Largest number of flights that are computed to find the time of an impact."""
FIRST_BISECTION = 30
"""Number of flights after which the time of an impact is found by bisection."""
TIME_ROUND_OFF = 4e-16
"""Relative accuracy of the time of an impact."""
CONVERGED = 1e-7
"""A step of Chebyshev's method, of order 3, for the time of an impact is the last one if it is shorter than this
fraction of the flight."""
UNTRIED = 1e-3
"""The first step is the last one if it is shorter than `CONVERGED` by this factor, times the square of the lag over the
flight: the positions at the ends of longer and longer flights do not change exactly as their velocities say."""
LOW = 0.1
"""A minimum of a gap below this fraction of the gaps at both ends of a flight is computed on the flight itself."""
LONGER = 3.0
"""The flight after an impact is first computed for this multiple of v / a: twice would be exact if a were constant."""
OPENING = 1e-8
"""Accuracy of the time at which a contact at rest opens, as a fraction of the flight: the gap grows slowly at first."""
RELEASE = 1e-13
"""A contact at rest opens if the force accelerates it by more than this fraction of the accelerations."""
LAG = 0.25
"""Distance of the times at which walls are looked at to find how fast they move, as a fraction of the step."""

TANGENT_STEP = 1e-5
"""Step of the central differences of a flight, as a fraction of the state."""
LOST = 1e-8
"""A tangent that shrinks to less than this factor in one impact or one step has come to nothing."""

NEW_Q, NEW_U, STAGE_Q, STAGE_U, RATE, SUM, SLOPE, PULL = 0, 1, 2, 3, 4, 5, 6, 7
"""The rows of `vectors`: the end of a flight, a stage of it, u' there, the sums of all u' and of all q', and what u'
would be without the contacts at rest."""
SHIFTED, AHEAD_Q, AHEAD_U, U_BEFORE, PULL_BEFORE = 8, 11, 12, 13, 14
"""Rows of `vectors` for tangents: the state of a neighbour (three), where it ends, and u and u' before an impact."""
RATE_BEFORE, GAP_BEFORE, ACTIVE, RATE_AFTER, SHIFT, DRIFT, CURVE = 6, 7, 8, 9, 10, 11, 12
"""The rows of `per_row` that contain the rates and gaps at the start of a flight, the impulses of an impact, the rates
at the end of a flight, and s, s' and s''."""
BESIDE, D_GAP, D_RATE = 13, 16, 17
"""The rows of `per_row` for neighbours with other parameters: their s, s' and s'', and changes of gaps and rates."""
SLOPES = (-1.0 / 60.0, 3.0 / 20.0, -3.0 / 4.0, 0.0, 3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0)
BENDS = (1.0 / 90.0, -3.0 / 20.0, 3.0 / 2.0, -49.0 / 18.0, 3.0 / 2.0, -3.0 / 20.0, 1.0 / 90.0)
"""Weights of seven equidistant values in their first and second derivative, of order 6."""


@jit(helper=True)
def _walls(
    rows_of: Rows, moving: bool, t: float, lag: float, reference: OutFloats, parameters: OutFloats,
    per_row: OutFloats2, G: OutFloats2, first: int,
) -> None:  # fmt: skip
    """s, s' and s'' at the time t, into three rows of `per_row`: the gaps are s + G q."""
    m = len(G)
    for row in range(first, first + 3):
        for i in range(m):
            per_row[row, i] = 0.0
    for j in range(7):
        if not moving and j != 3:
            continue
        per_row[GAP, 0] = np.nan
        rows_of(t + (j - 3) * lag, reference, parameters, per_row[GAP], G)
        for i in range(m):
            s = per_row[GAP, i] - _along(i, G, reference)
            if j == 3:
                per_row[first, i] = s
            if moving:
                per_row[first + 1, i] += SLOPES[j] * s / lag
                per_row[first + 2, i] += BENDS[j] * s / (lag * lag)


@jit(helper=True)
def _along(i: int, G: OutFloats2, x: OutFloats) -> float:
    """G_i x."""
    total = 0.0
    for k in range(G.shape[1]):
        total += G[i, k] * x[k]
    return total


@jit(helper=True)
def _reacted(
    which: int, offset: int, w: OutFloats, root: Floats, x: OutFloats, per_row: OutFloats2, G: OutFloats2,
    rows: OutFloats2, work: OutFloats2, lists: OutInts2, held: bool,
) -> int:  # fmt: skip
    """x = the projection of w on {v : offset + G v >= 0} of the rows with a positive entry in `which`; its status.

    A single row is an equality if it is `held`.
    """
    m, d = G.shape
    found, last = 0, 0
    for i in range(m):
        per_row[P, i] = 0.0
        if per_row[which, i] > 0.0:
            found, last = found + 1, i
    for k in range(d):
        x[k] = w[k]
    if found == 0:
        return GOES_ON
    if found == 1:
        rate, square = per_row[offset, last] + _along(last, G, w), 0.0
        if not abs(rate) < np.inf:
            return NOT_FINITE
        if rate < 0.0 or held:
            for k in range(d):
                square += (G[last, k] * root[k]) ** 2
            per_row[P, last] = -rate / square
            for k in range(d):
                x[k] += root[k] * root[k] * G[last, k] * per_row[P, last]
        return GOES_ON
    for i in range(m):
        per_row[NOISE, i], per_row[OFFSET, i] = 0.0, per_row[offset, i]
        if per_row[which, i] <= 0.0:
            largest = 1.0
            for k in range(d):
                largest += abs(G[i, k]) * (abs(w[k]) + 1.0)
            per_row[OFFSET, i] = FAR * largest
    return _project(w, root, per_row, G, x, rows, work, lists)


@jit(helper=True)
def _accelerate(
    force: Force, t: float, q: OutFloats, u: OutFloats, parameters: Floats, root: Floats, resting: bool,
    vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2, rows: OutFloats2, work: OutFloats2, lists: OutInts2,
) -> int:  # fmt: skip
    """RATE = u', where contacts at rest do not close (a single one does not open either), and PULL = u' without them;
    how the copy stands then."""
    rate, pull = vectors[RATE], vectors[PULL]
    rate[0] = np.nan
    force(t, q, u, parameters, rate)
    for k in range(len(q)):
        rate[k] *= root[k] * root[k]
        pull[k] = rate[k]
        if not abs(rate[k]) < np.inf:
            return NOT_FINITE
    if not resting:
        return GOES_ON
    return _reacted(TOUCHED, CURVE, pull, root, rate, per_row, G, rows, work, lists, True)


@jit(helper=True)
def _finite(vectors: OutFloats2) -> int:
    """How a copy stands after a flight."""
    for k in range(vectors.shape[1]):
        if not abs(vectors[NEW_Q, k]) + abs(vectors[NEW_U, k]) < np.inf:
            return NOT_FINITE
    return GOES_ON


@jit(helper=True)
def _fly(
    force: Force, glide: Glide, rows_of: Rows, moving: bool, t: float, s: float, lag: float, state: OutFloats2,
    reference: OutFloats, parameters: OutFloats, root: Floats, resting: bool, vectors: OutFloats2, per_row: OutFloats2,
    G: OutFloats2, rows: OutFloats2, work: OutFloats2, lists: OutInts2,
) -> int:  # fmt: skip
    """NEW_Q and NEW_U after a time s, by the classical Runge-Kutta method; how the copy stands then."""
    if not resting and glide(t, 0, 0, s, -1, state, parameters, root, per_row[SHIFT], G, vectors) > 0:
        return _finite(vectors)
    d = G.shape[1]
    q, u, stage_q, stage_u, rate = state[Q], state[U], vectors[STAGE_Q], vectors[STAGE_U], vectors[RATE]
    q_sum, u_sum = vectors[SLOPE], vectors[SUM]
    for k in range(d):
        stage_q[k], stage_u[k], u_sum[k], q_sum[k] = q[k], u[k], 0.0, 0.0
    for stage in range(4):
        time = t if stage == 0 else t + s if stage == 3 else t + 0.5 * s
        weight, part = (1.0, 0.5 * s) if stage == 0 else (1.0, s) if stage == 3 else (2.0, s if stage == 2 else 0.5 * s)
        if resting:
            if moving and stage != 2:
                _walls(rows_of, moving, time, lag, reference, parameters, per_row, G, SHIFT)
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
    return _finite(vectors)


@jit(helper=True)
def _size(h: float, state: OutFloats2) -> float:
    """How large a state is, as a length."""
    size = 0.0
    for k in range(state.shape[1]):
        size = max(size, abs(state[Q, k]) + h * abs(state[U, k]))
    return size


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
def _crossing(before: float, rate: float, after: float, rate_after: float, s: float) -> float:
    """The part of a flight of length s at which the same cubic becomes negative; after < 0."""
    a = 2.0 * (before - after) + s * (rate + rate_after)
    b = -3.0 * (before - after) - s * (2.0 * rate + rate_after)
    bend, rate = after - before - s * rate, s * rate  # the parabola through both ends with the first rate
    root = np.sqrt(max(rate * rate - 4.0 * bend * before, 0.0))
    low, high, x = 0.0, 1.0, (rate + root) / (-2.0 * bend) if rate > 0.0 else 2.0 * before / (root - rate)
    x = x if 0.0 < x < 1.0 else 0.5
    for _ in range(60):
        value = ((a * x + b) * x + rate) * x + before
        slope = (3.0 * a * x + 2.0 * b) * x + rate
        if value > 0.0:
            low = x
        else:
            high = x
        new = x - value / slope if slope < 0.0 else 0.5 * (low + high)
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - x) < 1e-9:
            return new
        x = new
    return x


@jit(helper=True)
def _cubic(before: float, rate: float, after: float, rate_after: float, s: float, x: float) -> float:
    """The same cubic at the part x."""
    a = 2.0 * (before - after) + s * (rate + rate_after)
    b = -3.0 * (before - after) - s * (2.0 * rate + rate_after)
    return ((a * x + b) * x + s * rate) * x + before


@jit(helper=True)
def _closing(
    force: Force, glide: Glide, rows_of: Rows, moving: bool, t: float, s: float, lag: float, state: OutFloats2,
    parameters: OutFloats, root: Floats, resting: bool, vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2,
    rows: OutFloats2, work: OutFloats2, lists: OutInts2, dip: OutFloats,
) -> tuple[int, float, float, int]:  # fmt: skip
    """The first row that closes in a flight of length s, which has been computed, or -1; when; up to which time a
    flight was computed last; and how the copy stands.

    GAP_BEFORE and RATE_BEFORE are those at its begin. The time is found by Chebyshev's method on the flight. `dip`
    becomes the row, the time and the size of the smallest minimum of a gap that stays open, row -1 if there is none.
    """
    m = len(G)
    first, moment, flown = -1, s, s
    dip[0], dip[2] = -1.0, np.inf
    if moving:
        _walls(rows_of, moving, t + s, lag, state[BEFORE], parameters, per_row, G, SHIFT)
    for i in range(m):
        per_row[GAP, i] = per_row[SHIFT, i] + _along(i, G, vectors[NEW_Q])
        per_row[RATE_AFTER, i] = per_row[DRIFT, i] + _along(i, G, vectors[NEW_U])
        if not abs(per_row[GAP, i]) < np.inf:
            return -1, s, s, NOT_FINITE
    for i in range(m):
        per_row[ACTIVE, i] = per_row[GAP, i]
    for i in range(m):
        if per_row[TOUCHED, i] > 0.0:
            continue
        g_low, g_high, rate, rate_after = per_row[GAP_BEFORE, i], per_row[ACTIVE, i], per_row[RATE_BEFORE, i], 0.0
        rate_after = per_row[RATE_AFTER, i]
        high, guess = s, 0.0
        if g_low < 0.0 and rate >= 0.0 and g_high >= g_low:  # it opens from behind the wall, where round-off put it
            continue
        if g_high >= 0.0:
            if not (rate < 0.0 and rate_after > 0.0):
                continue
            part = _lowest(g_low, rate, g_high, rate_after, s)
            if not 0.0 < part < 1.0:
                continue
            bottom = _cubic(g_low, rate, g_high, rate_after, s, part)
            bend = ((6.0 * g_low - 6.0 * g_high + 3.0 * s * (rate + rate_after)) * 2.0 * part) / (s * s)
            bend += (-6.0 * (g_low - g_high) - 2.0 * s * (2.0 * rate + rate_after)) / (s * s)
            high = part * s
            if bottom < LOW * max(g_low, g_high) and bend > 0.0:  # where is it lowest on the flight itself?
                for _ in range(2):
                    flown = high
                    status = _fly(
                        force, glide, rows_of, moving, t, flown, lag, state, state[BEFORE], parameters, root, resting,
                        vectors, per_row, G, rows, work, lists,
                    )  # fmt: skip
                    if status != GOES_ON:
                        return -1, s, s, status
                    if moving:
                        _walls(rows_of, moving, t + flown, lag, state[BEFORE], parameters, per_row, G, SHIFT)
                    slope = per_row[DRIFT, i] + _along(i, G, vectors[NEW_U])
                    bottom = per_row[SHIFT, i] + _along(i, G, vectors[NEW_Q]) - slope * slope / (2.0 * bend)
                    high = min(max(flown - slope / bend, 0.0), s)
            if bottom >= 0.0:
                if bottom < dip[2]:
                    dip[0], dip[1], dip[2] = i, high, bottom
                continue
            guess = high * (1.0 - np.sqrt(min(max(2.0 * -bottom / bend / (high * high), 0.0), 1.0)))
            rate_after = 0.0
        if g_low <= 0.0 and rate <= 0.0:  # it touches, and closes at once
            return i, 0.0, flown, GOES_ON
        fastest, least = max(abs(rate), abs(rate_after)), TIME_ROUND_OFF * (abs(t) + s)
        low, middle, last, ratio, flown_before, g_before, slope_before = 0.0, guess, False, 1.0, 0.0, 0.0, 0.0
        if guess <= 0.0:
            middle = high * _crossing(g_low, rate, g_high, rate_after, s)
        for attempt in range(MAX_ATTEMPTS):
            flown = middle
            status = _fly(
                force, glide, rows_of, moving, t, middle, lag, state, state[BEFORE], parameters, root, resting, vectors,
                per_row, G, rows, work, lists,
            )  # fmt: skip
            if status != GOES_ON:
                return -1, s, s, status
            if last:
                break
            if moving:
                _walls(rows_of, moving, t + middle, lag, state[BEFORE], parameters, per_row, G, SHIFT)
            g = per_row[SHIFT, i] + _along(i, G, vectors[NEW_Q])
            slope = per_row[DRIFT, i] + _along(i, G, vectors[NEW_U])
            if g == 0.0:
                break
            if g > 0.0:
                low = middle
            else:
                high = middle
            bend, allowed = (6.0 * (g_low - g) / middle + 2.0 * rate + 4.0 * slope) / middle, CONVERGED * s
            if attempt > 0:  # how fast the end of the flight moves with its length, beside its velocity
                ratio = (g - g_before) / (middle - flown_before) / (0.5 * (slope + slope_before))
            else:
                allowed *= min(1.0, UNTRIED * (lag / s) ** 2)
            flown_before, g_before, slope_before = middle, g, slope
            slope = slope * ratio if 0.5 < ratio < 2.0 else slope
            new = middle - g / slope * (1.0 + 0.5 * bend * g / (slope * slope)) if slope < 0.0 else -1.0
            if attempt >= FIRST_BISECTION or not low < new < high:
                new = 0.5 * (low + high)
                last = high - low <= least
            else:
                last = abs(new - middle) <= max(least, allowed * min(1.0, abs(slope) / fastest))
            middle = new
        if middle < moment or first < 0:
            first, moment = i, middle
    return first, moment, flown, GOES_ON


@jit(helper=True)
def _opening(
    force: Force, glide: Glide, rows_of: Rows, moving: bool, t: float, s: float, lag: float, held: int,
    state: OutFloats2, parameters: OutFloats, root: Floats, vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2,
    rows: OutFloats2, work: OutFloats2, lists: OutInts2,
) -> tuple[float, int]:  # fmt: skip
    """When the force opens the only contact at rest in a flight of length s, which has been computed and is computed up
    to there; s if it does not. By the Illinois variant of the false position."""
    low, high, p_low, p_high, side, middle = 0.0, s, 0.0, 0.0, 0, s
    for attempt in range(MAX_ATTEMPTS):
        if attempt > 0:
            status = _fly(
                force, glide, rows_of, moving, t, middle, lag, state, state[BEFORE], parameters, root, True, vectors,
                per_row, G, rows, work, lists,
            )  # fmt: skip
            if status != GOES_ON:
                return middle, status
        status = _accelerate(
            force, t + middle, vectors[NEW_Q], vectors[NEW_U], parameters, root, False, vectors, per_row, G, rows, work,
            lists,
        )  # fmt: skip
        if status != GOES_ON:
            return middle, status
        push, size = per_row[CURVE, held] + _along(held, G, vectors[PULL]), abs(per_row[CURVE, held])
        for k in range(G.shape[1]):
            size += abs(G[held, k] * vectors[PULL, k])
        if attempt == 0:
            if push <= RELEASE * size:
                return s, GOES_ON
            p_high, middle = push, 0.0
            continue
        if attempt == 1:
            if push >= 0.0:
                return 0.0, GOES_ON
            p_low = push
        elif push > 0.0:
            high, p_high, p_low, side = middle, push, p_low * (0.5 if side == 1 else 1.0), 1
        else:
            low, p_low, p_high, side = middle, push, p_high * (0.5 if side == -1 else 1.0), -1
        new = (low * p_high - high * p_low) / (p_high - p_low)
        if attempt > 1 and abs(new - middle) <= OPENING * s:
            return middle, GOES_ON
        middle = new if attempt < FIRST_BISECTION else 0.5 * (low + high)
    return middle, GOES_ON


@jit(helper=True)
def _hit(
    force: Force, t: float, h: float, e: float, row: int, state: OutFloats2, parameters: Floats, root: Floats,
    vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2, rows: OutFloats2, work: OutFloats2, lists: OutInts2,
    hits: OutFloats2, counts: OutInts2, c: int,
) -> int:  # fmt: skip
    """The impact of a row, and of contacts at rest, by Moreau's law; those whose next flight is short stay closed.

    ACTIVE holds the impulses.
    """
    m, d = G.shape
    u, found = state[U], vectors[NEW_U]
    speed = -per_row[DRIFT, row] - _along(row, G, u)
    if len(hits):
        here = counts[c, HITS] % len(hits)
        hits[here, MOMENT], hits[here, SPEED], hits[here, ROW] = t, speed, row
    counts[c, HITS] += 1
    per_row[TOUCHED, row] = 1.0
    status = _reacted(TOUCHED, DRIFT, u, root, found, per_row, G, rows, work, lists, False)
    if status != GOES_ON:
        return status
    for k in range(d):
        u[k] = (1.0 + e) * found[k] - e * u[k]
    status = _accelerate(force, t, state[Q], u, parameters, root, False, vectors, per_row, G, rows, work, lists)
    if status != GOES_ON:
        return status
    for i in range(m):
        per_row[ACTIVE, i] = per_row[P, i]
        if per_row[TOUCHED, i] > 0.0:
            away = per_row[DRIFT, i] + _along(i, G, u)
            push = per_row[CURVE, i] + _along(i, G, vectors[RATE])
            touches = i == row and speed <= 0.0 and away <= 0.0  # and is pressed a moment later
            if not (touches or (push < 0.0 and 2.0 * away <= -push * SHORTEST_FLIGHT * h)):
                per_row[TOUCHED, i] = 0.0
    _stop(TOUCHED, DRIFT, u, root, per_row, G, work)
    return GOES_ON


@jit(helper=True)
def _stop(
    which: int, offset: int, u: OutFloats, root: Floats, per_row: OutFloats2, G: OutFloats2, work: OutFloats2
) -> None:  # fmt: skip
    """Change u such that offset + G u = 0 in the rows with a positive entry in `which`."""
    m, d = G.shape
    count = 0
    for i in range(m):
        if per_row[which, i] > 0.0:
            whole, left = 0.0, 0.0
            for k in range(d):
                work[count, k] = G[i, k] * root[k]
                whole += work[count, k] ** 2
            work[count, d] = per_row[offset, i]
            for _ in range(2):  # the second time removes the round-off of the first
                for b in range(count):
                    along = _remove(work[b], work[count], d, 0.0)
                    work[count, d] -= along * work[b, d]
            for k in range(d):
                left += work[count, k] ** 2
            if left > DEPENDENT * DEPENDENT * whole:
                for k in range(d + 1):
                    work[count, k] /= np.sqrt(left)
                count += 1
    if count == 0:
        return
    x = work[count]
    for k in range(d):
        x[k] = u[k] / root[k]
    for b in range(count):
        _remove(work[b], x, d, work[b, d])
    for k in range(d):
        u[k] = x[k] * root[k]


@jit(helper=True)
def _remove(unit: OutFloats, x: OutFloats, d: int, offset: float) -> float:
    """x = x - (offset + unit . x) unit; what stands in brackets."""
    along = offset
    for k in range(d):
        along += unit[k] * x[k]
    for k in range(d):
        x[k] -= along * unit[k]
    return along


@jit(helper=True)
def _beside(
    rows_of: Rows, moving: bool, t: float, lag: float, j: int, state: OutFloats2, parameters: Floats,
    directions: Floats2, other: OutFloats, per_row: OutFloats2, G: OutFloats2,
) -> None:  # fmt: skip
    """D_GAP and D_RATE: the changes of the gaps and their rates along the change of parameters of tangent j."""
    m, changes = len(G), False
    for i in range(m):
        per_row[D_GAP, i], per_row[D_RATE, i] = 0.0, 0.0
    for k in range(len(parameters)):
        changes = changes or directions[j, k] != 0.0
    if not changes:
        return
    for sign in (1.0, -1.0):
        for k in range(len(parameters)):
            other[k] = parameters[k] + sign * TANGENT_STEP * directions[j, k]
        _walls(rows_of, moving, t, lag, state[BEFORE], other, per_row, G, BESIDE)
        for i in range(m):
            per_row[D_GAP, i] += sign * per_row[BESIDE, i] / (2.0 * TANGENT_STEP)
            per_row[D_RATE, i] += sign * per_row[BESIDE + 1, i] / (2.0 * TANGENT_STEP)


@jit(helper=True)
def _carry(
    force: Force, glide: Glide, rows_of: Rows, moving: bool, t: float, s: float, lag: float, state: OutFloats2,
    tangents: OutFloats2, directions: Floats2, parameters: Floats, other: OutFloats, root: Floats, resting: bool,
    vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2, rows: OutFloats2, work: OutFloats2, lists: OutInts2,
) -> int:  # fmt: skip
    """The tangents after a flight of length s, by central differences; how the copy stands then."""
    d = G.shape[1]
    size = 0.0
    for k in range(d):
        size = max(size, abs(state[Q, k]), abs(state[U, k]), abs(vectors[NEW_Q, k]), abs(vectors[NEW_U, k]))
    shifted = vectors[SHIFTED : SHIFTED + 3]
    for j in range(len(tangents)):
        tangent, length, changes = tangents[j], 0.0, 0.0
        for k in range(2 * d):
            length = max(length, abs(tangent[k]))
        for k in range(len(parameters)):
            if directions[j, k] != 0.0:
                changes = 1.0
        if length == 0.0 and changes == 0.0:
            continue
        step = TANGENT_STEP / max(length / size if size > 0.0 else length, changes)
        for sign in (1.0, -1.0):
            for k in range(d):
                shifted[Q, k] = state[Q, k] + sign * step * tangent[k]
                shifted[U, k] = state[U, k] + sign * step * tangent[d + k]
            for k in range(len(parameters)):
                other[k] = parameters[k] + sign * step * directions[j, k]
            status = _fly(
                force, glide, rows_of, moving, t, s, lag, shifted, state[BEFORE], other, root, resting, vectors,
                per_row, G, rows, work, lists,
            )  # fmt: skip
            if status != GOES_ON:
                return status
            if sign > 0.0:
                for k in range(d):
                    vectors[AHEAD_Q, k], vectors[AHEAD_U, k] = vectors[NEW_Q, k], vectors[NEW_U, k]
        for k in range(d):
            tangent[k] = (vectors[AHEAD_Q, k] - vectors[NEW_Q, k]) / (2.0 * step)
            tangent[d + k] = (vectors[AHEAD_U, k] - vectors[NEW_U, k]) / (2.0 * step)
    return GOES_ON


@jit(helper=True)
def _stop_tangents(
    rows_of: Rows, moving: bool, t: float, lag: float, state: OutFloats2, tangents: OutFloats2, directions: Floats2,
    parameters: Floats, other: OutFloats, root: Floats, per_row: OutFloats2, G: OutFloats2, work: OutFloats2,
) -> None:  # fmt: skip
    """Neighbours of a copy with contacts at rest have them, too: G dq + ds = G du + ds' = 0."""
    m, d = G.shape
    resting = False
    for i in range(m):
        resting = resting or per_row[TOUCHED, i] > 0.0
    if not resting:
        return
    for j in range(len(tangents)):
        _beside(rows_of, moving, t, lag, j, state, parameters, directions, other, per_row, G)
        _stop(TOUCHED, D_GAP, tangents[j, :d], root, per_row, G, work)
        _stop(TOUCHED, D_RATE, tangents[j, d : 2 * d], root, per_row, G, work)


@jit(helper=True)
def _across(
    force: Force, rows_of: Rows, moving: bool, t: float, lag: float, e: float, row: int, state: OutFloats2,
    tangents: OutFloats2, directions: Floats2, parameters: Floats, other: OutFloats, root: Floats, vectors: OutFloats2,
    per_row: OutFloats2, G: OutFloats2, rows: OutFloats2, work: OutFloats2, lists: OutInts2, renewed: bool,
    grazing: OutFloats,
) -> int:  # fmt: skip
    """The tangents after the impact of a row, which `_hit` has computed; how the copy stands then."""
    m, d = G.shape
    u, before, pulled, free = state[U], vectors[U_BEFORE], vectors[PULL_BEFORE], vectors[AHEAD_U]
    resting = False
    for i in range(m):
        resting = resting or per_row[TOUCHED, i] > 0.0
    status = _accelerate(force, t, state[Q], u, parameters, root, resting, vectors, per_row, G, rows, work, lists)
    if status != GOES_ON:
        return status
    released, rate = vectors[RATE], per_row[DRIFT, row] + _along(row, G, before)
    away = per_row[CURVE, row] + _along(row, G, pulled)
    if away > 0.0:
        _note_grazing(
            rows_of, moving, t, lag, row, -rate * rate / (2.0 * away), 0.0, state, tangents, directions, parameters,
            other, per_row, G, grazing,
        )  # fmt: skip
    for j in range(len(tangents)):
        dq, du = tangents[j, :d], tangents[j, d : 2 * d]
        _beside(rows_of, moving, t, lag, j, state, parameters, directions, other, per_row, G)
        tau = -(_along(row, G, dq) + per_row[D_GAP, row]) / rate if rate != 0.0 else 0.0
        for i in range(m):
            per_row[D_RATE, i] += per_row[CURVE, i] * tau
        for k in range(d):
            dq[k] += (before[k] - u[k]) * tau
            du[k] += pulled[k] * tau
            free[k] = du[k]
        _stop(ACTIVE, D_RATE, free, root, per_row, G, work)
        for k in range(d):
            du[k] = (1.0 + e) * free[k] - e * du[k] - released[k] * tau
            du[k] += directions[j, len(parameters)] * (u[k] - before[k]) / (1.0 + e)
    _stop_tangents(rows_of, moving, t, lag, state, tangents, directions, parameters, other, root, per_row, G, work)
    if renewed:
        _orthonormalise(tangents)
    return GOES_ON


@jit(helper=True)
def _note_grazing(
    rows_of: Rows, moving: bool, t: float, lag: float, row: int, lowest: float, later: float, state: OutFloats2,
    tangents: OutFloats2, directions: Floats2, parameters: Floats, other: OutFloats, per_row: OutFloats2,
    G: OutFloats2, grazing: OutFloats,
) -> None:  # fmt: skip
    """Record a minimum of a gap, at the time t - later, and how it changes along the tangents, if none is closer to
    zero: in multiples of its change along the tangents that leave the parameters as they are."""
    d = G.shape[1]
    square = 0.0
    for turn in range(2):
        for j in range(len(tangents)):
            change = _along(row, G, tangents[j, :d]) - later * _along(row, G, tangents[j, d : 2 * d])
            if turn == 0 and j < 2 * d:
                square += change * change
            elif turn == 1:
                _beside(rows_of, moving, t, lag, j, state, parameters, directions, other, per_row, G)
                grazing[1 + j] = change + per_row[D_GAP, row]
        if turn == 0:
            old = 0.0
            for j in range(min(2 * d, len(tangents))):
                old += grazing[1 + j] ** 2
            if not abs(lowest) * np.sqrt(old) < abs(grazing[0]) * np.sqrt(square):
                return
            grazing[0] = lowest


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
            _remove(tangents[b], tangents[j], size, 0.0)
    square = 0.0
    for k in range(size):
        square += tangents[j, k] ** 2
    return np.sqrt(square)


@jit(helper=True)
def _step(
    force: Force, glide: Glide, rows_of: Rows, moving: bool, t: float, h: float, e: float, parameters: Floats,
    own: OutFloats, other: OutFloats, root: Floats, state: OutFloats2, vectors: OutFloats2, per_row: OutFloats2,
    G: OutFloats2, rows: OutFloats2, work: OutFloats2, lists: OutInts2, dip: OutFloats, hits: OutFloats2,
    tangents: OutFloats2, directions: Floats2, renewed: bool, grazing: OutFloats, counts: OutInts2, c: int,
) -> tuple[int, float]:  # fmt: skip
    """A step of length h: flights, and the impacts between them; how the copy stands then, and how far it has come."""
    m, d = G.shape
    past, longest, lag, followed = 0.0, h, LAG * h, len(tangents) > 0
    begin = _size(h, state)
    if moving:
        _walls(rows_of, moving, t, lag, state[BEFORE], own, per_row, G, SHIFT)
    if followed:
        _stop_tangents(rows_of, moving, t, lag, state, tangents, directions, parameters, other, root, per_row, G, work)
    for _ in range(MAX_IMPACTS):
        s, count, held = min(h - past, longest), 0, -1
        for i in range(m):
            if per_row[TOUCHED, i] > 0.0:
                count, held = count + 1, i
            per_row[GAP_BEFORE, i] = per_row[SHIFT, i] + _along(i, G, state[Q])
            per_row[RATE_BEFORE, i] = per_row[DRIFT, i] + _along(i, G, state[U])
        resting = count > 0
        status = _fly(
            force, glide, rows_of, moving, t + past, s, lag, state, state[BEFORE], own, root, resting, vectors, per_row,
            G, rows, work, lists,
        )  # fmt: skip
        if status != GOES_ON and status != NOT_FINITE:
            return status, past
        if status == NOT_FINITE or (count < 2 and not resolved(s, state, vectors)):
            if s > SHORTEST_STEP * h:
                longest = 0.5 * s
                if moving:
                    _walls(rows_of, moving, t + past, lag, state[BEFORE], own, per_row, G, SHIFT)
                continue
            now = _size(h, state)
            if now > ESCAPE_GROWTH * begin or now > HUGE:
                return ESCAPED, past
            if status != GOES_ON:
                return status, past
        longest, opening = 2.0 * s, s
        if count == 1:
            opening, status = _opening(
                force,
                glide,
                rows_of,
                moving,
                t + past,
                s,
                lag,
                held,
                state,
                own,
                root,
                vectors,
                per_row,
                G,
                rows,
                work,
                lists,
            )
            if status != GOES_ON:
                return status, past
        opens, s = opening < s, opening
        row, moment, flown, status = _closing(
            force, glide, rows_of, moving, t + past, s, lag, state, own, root, resting, vectors, per_row, G, rows, work,
            lists, dip,
        )  # fmt: skip
        if status != GOES_ON:
            return status, past
        if followed:
            status = _carry(
                force, glide, rows_of, moving, t + past, moment, lag, state, tangents, directions, parameters, other,
                root, resting, vectors, per_row, G, rows, work, lists,
            )  # fmt: skip
            if status != GOES_ON:
                return status, past
        if flown != moment or followed:
            status = _fly(
                force, glide, rows_of, moving, t + past, moment, lag, state, state[BEFORE], own, root, resting, vectors,
                per_row, G, rows, work, lists,
            )  # fmt: skip
            if status != GOES_ON:
                return status, past
        for k in range(d):
            state[Q, k], state[U, k] = vectors[NEW_Q, k], vectors[NEW_U, k]
        past = past + moment if row >= 0 or opens or moment < h - past else h
        if moving:
            _walls(rows_of, moving, t + past, lag, state[BEFORE], own, per_row, G, SHIFT)
        if followed and dip[0] >= 0.0 and (row < 0 or dip[1] < moment):
            _note_grazing(
                rows_of, moving, t + past, lag, int(dip[0]), dip[2], moment - dip[1], state, tangents, directions,
                parameters, other, per_row, G, grazing,
            )  # fmt: skip
        if opens and row < 0:
            per_row[TOUCHED, held] = 0.0
        elif resting:
            status = _release(force, t + past, state, own, root, vectors, per_row, G, rows, work, lists)
            if status != GOES_ON:
                return status, past
        if row >= 0:
            if followed:
                status = _accelerate(
                    force, t + past, state[Q], state[U], own, root, resting, vectors, per_row, G, rows, work, lists
                )
                if status != GOES_ON:
                    return status, past
                for k in range(d):
                    vectors[U_BEFORE, k], vectors[PULL_BEFORE, k] = state[U, k], vectors[RATE, k]
            status = _hit(
                force, t + past, h, e, row, state, own, root, vectors, per_row, G, rows, work, lists, hits, counts, c
            )
            if status != GOES_ON:
                return status, past
            push = per_row[CURVE, row] + _along(row, G, vectors[RATE])
            if push < 0.0:  # the next impact is expected after 2 away / -push
                longest = LONGER * (per_row[DRIFT, row] + _along(row, G, state[U])) / -push
                longest = longest if longest > SHORTEST_FLIGHT * h else h
            if followed:
                status = _across(
                    force, rows_of, moving, t + past, lag, e, row, state, tangents, directions, parameters, other, root,
                    vectors, per_row, G, rows, work, lists, renewed, grazing,
                )  # fmt: skip
                if status != GOES_ON:
                    return status, past
        elif renewed:
            _orthonormalise(tangents)
        if past >= h:
            return GOES_ON, past
    return TOO_MANY_IMPACTS, past


@jit(helper=True)
def _release(
    force: Force, t: float, state: OutFloats2, parameters: Floats, root: Floats, vectors: OutFloats2,
    per_row: OutFloats2, G: OutFloats2, rows: OutFloats2, work: OutFloats2, lists: OutInts2,
) -> int:  # fmt: skip
    """Of several contacts at rest, those that the force opens are none; the others have neither a gap nor a rate."""
    m, d = G.shape
    status = _accelerate(force, t, state[Q], state[U], parameters, root, True, vectors, per_row, G, rows, work, lists)
    for i in range(m):
        if per_row[TOUCHED, i] > 0.0:
            size = abs(per_row[CURVE, i])
            for k in range(d):
                size += abs(G[i, k]) * abs(vectors[PULL, k])
            if per_row[CURVE, i] + _along(i, G, vectors[RATE]) > RELEASE * size:
                per_row[TOUCHED, i] = 0.0
    _stop(TOUCHED, SHIFT, state[Q], root, per_row, G, work)
    _stop(TOUCHED, DRIFT, state[U], root, per_row, G, work)
    return status


@jit(helper=True)
def resolved(s: float, state: OutFloats2, vectors: OutFloats2) -> bool:
    """Whether q changes in a flight of length s as the velocities at its ends say, roughly."""
    way, speed, size = 0.0, 0.0, 0.0
    for k in range(state.shape[1]):
        old, new = state[U, k], vectors[NEW_U, k]
        way = max(way, abs(vectors[NEW_Q, k] - state[Q, k] - 0.5 * s * (old + new)))
        speed, size = max(speed, abs(old) + abs(new - old)), max(size, abs(state[Q, k]))
    return way <= COARSE * s * speed + Q_NOISE * size


COARSE = 0.3
"""A flight is too long if q differs by more than this fraction from what the trapezoidal rule says; from rest, with a
force that grows like t, they differ by a sixth."""
Q_NOISE = 1e-12
"""Differences of q below this fraction of q are round-off."""


def fly(common: Common, copies: Copies, steps: int, sections: int, skipped: int, kept: int) -> Moved:
    """All copies go on for `sections` times `steps` steps, see `copies.march`; the gaps are affine."""
    new, saved = copies.copied(), copies.room_to_save(kept)
    working = room(new.touched.shape[2], new.states.shape[2])
    own = np.zeros((2, new.parameters.shape[1]))
    followed = *new[2:7], common.directions, new.grazing, new.escape
    given = *new[:2], common.root, *followed, saved, steps, sections, skipped, own, np.zeros(3)
    _fly_all(common.force, common.rows, common.glide, common.moving, common.renewed, *given, *working)
    return new, saved


@jit()
def _fly_all(
    force: Force, rows_of: Rows, glide: Glide, moving: bool, renewed: bool, numbers: Floats2, parameters: Floats2,
    root: Floats, states: OutFloats3, counts: OutInts2, touched: OutFloats3, hits: OutFloats3, tangents: OutFloats3,
    directions: Floats2, grazing: OutFloats2, escape: OutFloats, saved: OutFloats3, steps: int, sections: int,
    skipped: int, own: OutFloats2, dip: OutFloats, vectors: OutFloats2, per_row: OutFloats2, G: OutFloats2,
    rows: OutFloats2, work: OutFloats2, lists: OutInts2,
) -> None:  # fmt: skip
    m, d = G.shape
    gliding = not moving and tangents.shape[1] == 0
    for c in range(len(states)):
        t0, h, e, state = numbers[c, T], numbers[c, H], numbers[c, E], states[c]
        for k in range(own.shape[1]):
            own[0, k] = parameters[c, k]
        for i in range(m):
            per_row[TOUCHED, i], per_row[NOTHING, i] = touched[c, 0, i], 0.0
        _walls(rows_of, moving, t0, LAG * h, state[BEFORE], own[0], per_row, G, SHIFT)
        for section in range(sections):
            if counts[c, STATUS] != GOES_ON:
                break
            left = steps
            while left > 0:
                if gliding:
                    count, held = 0, -1
                    for i in range(m):
                        if per_row[TOUCHED, i] > 0.0:
                            count, held = count + 1, i
                    if count < 2:
                        done = glide(
                            t0, counts[c, DONE], left, h, held, state, parameters[c], root, per_row[SHIFT], G, vectors
                        )
                        counts[c, DONE] += done
                        left -= done
                        if left == 0:
                            break
                t = t0 + counts[c, DONE] * h
                status, past = _step(
                    force, glide, rows_of, moving, t, h, e, parameters[c], own[0], own[1], root, state, vectors,
                    per_row, G, rows, work, lists, dip, hits[c], tangents[c], directions, renewed, grazing[c], counts,
                    c,
                )  # fmt: skip
                if status != GOES_ON:
                    counts[c, STATUS], escape[c] = status, t + past if status == ESCAPED else np.inf
                    break
                counts[c, DONE] += 1
                left -= 1
            if left == 0 and 0 <= section - skipped < saved.shape[1]:
                for k in range(d):
                    saved[c, section - skipped, k] = state[Q, k]
                    saved[c, section - skipped, d + k] = state[U, k]
        for i in range(m):
            touched[c, 0, i] = per_row[TOUCHED, i]
