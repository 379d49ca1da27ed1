"""`reference.sweep_levers` and what goes with it: contacts at the ends of levers, such as those of clumps.

The sweeps are those of `grips`, with any local matrix: groups and colours of `arrangement`, the iteration of `loop`. A
body has two records, its velocity and its spin. Spins are in units in which each has inertia one, so that a contact has
one matrix for each body, from its spin to the slip, whose transpose turns impulses into spins. The plane is part of
space: its spin is the third one.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array
from jostle.kernels.compiling import (
    Floats,
    Floats2,
    Floats3,
    Indices2,
    Ints,
    OutFloats,
    OutFloats2,
    OutFloats3,
    OutIndices,
    OutIndices2,
    OutInts,
    jit,
)
from jostle.kernels.cpu.arrangement import FIRST, ROW, SECOND, GivenRows, arranged
from jostle.kernels.cpu.contacts import _add_coordinate
from jostle.kernels.cpu.grip_rows import _dot, _length, _nearest, _plus, _vector, _write
from jostle.kernels.cpu.loop import PIECE, SUMS, V, at_rest, iterated, loop_of
from jostle.kernels.cpu.meeting import new_meeting
from jostle.kernels.memory import aligned
from jostle.kernels.parallel import all_finite, cut, together
from jostle.kernels.reference.cones import COUPLED, natural_over
from jostle.kernels.reference.dense import ROUND_OFF, TINY
from jostle.kernels.reference.levers import LOCAL_STEPS, Cone, Lever, LeverRows
from jostle.kernels.reference.residuals import Answer, residual_of_sums
from jostle.kernels.reference.sweeps import FAR, Stop

IN_ORDER = 64
"""Up to this many contacts are swept in the order in which they were given."""
N, MU, BY_N, BY_T, S, P, Y, W, A, B = 0, 3, 4, 5, 6, 9, 12, 15, 21, 30
"""Entries of a contact: normal, friction coefficient, 1 / W_n, 1 / W_t, slack at w, multiplier, the one that the sweep
starts from, the upper half of the local matrix, and the matrices from both spins to the slip, by rows."""
W_N, VIOLATION, NOISE, STUCK, BEFORE, NUMBERS = 39, 40, 41, 42, 43, 44
"""W_n, the allowed violation of the normal slack, the margins and the slips that count as zero, and the margin at the
test before; and how many entries there are."""


# Blocks of rows: products with G and its transpose, local matrices, starts of sweeps, and residuals.


@kernels.rates_levers.on("numpy")
def rates_levers(rows: LeverRows, v: Array) -> Array:
    out = np.zeros(rows.first.shape[:2])
    _add_rates(*rows, v, False, out)
    return out


@jit()
def _add_rates(i: Ints, j: Ints, first: Floats3, second: Floats3, v: Floats2, sizes: bool, out: OutFloats2) -> None:
    """out += G v, or |G| v."""
    m, e, width = first.shape
    for c in range(m):
        for k in range(e):
            total = 0.0
            for x in range(width):
                g = first[c, k, x]
                total += (abs(g) if sizes else g) * v[i[c], x]
            if j[c] >= 0:
                for x in range(width):
                    g = second[c, k, x]
                    total += (abs(g) if sizes else g) * v[j[c], x]
            out[c, k] += total


@kernels.adjoint_levers.on("numpy")
def adjoint_levers(rows: LeverRows, p: Array, bodies: int) -> Array:
    out = np.zeros((bodies, rows.first.shape[2]))
    _add_adjoint(*rows, p, out)
    return out


@jit()
def _add_adjoint(i: Ints, j: Ints, first: Floats3, second: Floats3, p: Floats2, out: OutFloats2) -> None:
    """out += G^T p."""
    m, e, width = first.shape
    for c in range(m):
        for k in range(e):
            if p[c, k] != 0.0:
                for x in range(width):
                    out[i[c], x] += first[c, k, x] * p[c, k]
                if j[c] >= 0:
                    for x in range(width):
                        out[j[c], x] += second[c, k, x] * p[c, k]


@kernels.local_levers.on("numpy")
def local_levers(rows: LeverRows, inverse: Array) -> Array:
    m, e, _ = rows.first.shape
    out = np.empty((m, e, e))
    _fill_local(*rows, inverse, out)
    return out


@jit()
def _fill_local(i: Ints, j: Ints, first: Floats3, second: Floats3, inverse: Floats2, out: OutFloats3) -> None:
    """The local matrices of all contacts."""
    m, e, width = first.shape
    for c in range(m):
        for one in range(e):
            for other in range(one, e):
                total = 0.0
                for x in range(width):
                    total += first[c, one, x] * inverse[i[c], x] * first[c, other, x]
                if j[c] >= 0:
                    for x in range(width):
                        total += second[c, one, x] * inverse[j[c], x] * second[c, other, x]
                out[c, one, other] = out[c, other, one] = total


@jit(helper=True)
def _times(local, c, x):
    """The local matrix of contact c times a vector in space."""
    d = local.shape[1]
    y = (local[c, 0, 0] * x[0] + local[c, 0, 1] * x[1], local[c, 1, 0] * x[0] + local[c, 1, 1] * x[1], 0.0)
    if d == 2:
        return y
    return (
        y[0] + local[c, 0, 2] * x[2],
        y[1] + local[c, 1, 2] * x[2],
        local[c, 2, 0] * x[0] + local[c, 2, 1] * x[1] + local[c, 2, 2] * x[2],
    )


@jit(helper=True)
def _metrics(local, n, c):
    """W_n and W_t of contact c, see `reference.metrics_of_blocks`: smallest, where the coupling is divided evenly."""
    along = _times(local, c, n)
    W_n = _dot(along, n)
    aside = _plus(along, -W_n, n)
    coupling = np.sqrt(_dot(aside, aside))
    trace, square = -W_n, W_n * W_n
    for k in range(local.shape[1]):
        trace += local[c, k, k]
    for k in range(local.shape[1]):
        for x in range(local.shape[1]):
            square += local[c, k, x] ** 2
    square -= 2.0 * _dot(along, along)  # the sum of squares of the tangential part, which is that of its eigenvalues
    W_t = 0.5 * (trace + np.sqrt(max(2.0 * square - trace * trace, 0.0)))
    if coupling > COUPLED * np.sqrt(W_n * W_t):
        ratio = np.sqrt(max(W_n, TINY)) / np.sqrt(max(W_t, TINY))
        W_n, W_t = W_n + coupling * ratio, W_t + coupling / ratio
    W_n = W_n if W_n > 0.0 else 1.0
    return W_n, W_t if COUPLED * W_n < W_t else W_n


@jit(helper=True)
def _round_off(noise, c_noise, c_, normal, c):
    """The length of the round-off of contact c; `noise` has the sizes of its terms but c."""
    total = 0.0
    for k in range(normal.shape[1]):
        total += (c_noise[c, k] + ROUND_OFF * (abs(c_[c, k]) + noise[c, k])) ** 2
    return np.sqrt(total)


@kernels.whitened_levers.on("numpy")
def whitened_levers(
    rows: LeverRows, cone: Cone, coulomb: bool, inverse: Array, w: Array, c: Array, c_noise: Array, guess: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    m, d = cone.normal.shape
    local, s0, sizes, start = np.empty((m, d, d)), c.copy(), np.zeros((m, d)), np.empty((m, d))
    scale, noise, margin = np.empty((m, 2)), np.empty((m, 2)), np.empty(m)
    _fill_local(*rows, inverse, local)
    _add_rates(*rows, w, False, s0)
    _add_rates(*rows, np.abs(w), True, sizes)
    _fill_whitened(*cone, coulomb, local, s0, sizes, c, c_noise, guess, scale, noise, start, margin)
    return local, scale, noise, s0, start, margin


@jit()
def _fill_whitened(
    normal: Floats2, mu: Floats, stuck: Floats, coulomb: bool, local: Floats3, s0: Floats2, sizes: Floats2,
    c_: Floats2, c_noise: Floats2, guess: Floats2, scale: OutFloats2, noise: OutFloats2, start: OutFloats2,
    margin: OutFloats,
) -> None:  # fmt: skip
    """W_n and W_t, what counts as zero, starts and margins of all contacts."""
    for c in range(len(mu)):
        n, s = _vector(normal, c), _vector(s0, c)
        W_n, W_t = _metrics(local, n, c)
        scale[c, 0], scale[c, 1] = W_n, W_t
        noise[c, 0] = _round_off(sizes, c_noise, c_, normal, c)
        noise[c, 1] = max(noise[c, 0], stuck[c])
        _write(_nearest(_vector(guess, c), n, mu[c], W_n, W_t), start, c, 0)
        found = _dot(s, n)
        if not coulomb:
            tangent = _plus(s, -found, n)
            found -= mu[c] * np.sqrt(_dot(tangent, tangent))
        margin[c] = 0.0 if abs(found) <= noise[c, 0] else found


@kernels.residual_levers.on("numpy")
def residual_levers(rows: LeverRows, cone: Cone, coulomb: bool, answer: Answer) -> tuple[float, float, float, float]:
    c, c_noise, length, w, mass, u, p = answer
    if not (all_finite(u) and all_finite(p)):
        return np.inf, np.inf, np.inf, np.inf
    force, (m, d) = adjoint_levers(rows, p, len(w)), c.shape
    inverse, both = 1.0 / mass, np.abs(u) + np.abs(w)
    local, slack, sizes, out = np.empty((m, d, d)), c.copy(), np.zeros((m, d)), np.zeros(9)
    _fill_local(*rows, inverse, local)
    _add_rates(*rows, u, False, slack)
    _add_rates(*rows, both, True, sizes)
    _residual_rows(*cone, coulomb, local, slack, sizes, c, c_noise, length, p, out)
    _residual_bodies(w, mass, u, force, out[6:])
    *largest, product, pushes, natural, distance, size, lack = out.tolist()
    return *residual_of_sums(*largest, product, pushes, distance, size, lack), natural_over(natural, sqrt(distance))


@jit()
def _residual_bodies(w: Floats2, mass: Floats2, u: Floats2, force: Floats2, out: OutFloats) -> None:
    """out = the sums of `reference.residuals.add_coordinate`."""
    sums = 0.0, 0.0, 0.0
    for a in range(w.shape[0]):
        for k in range(w.shape[1]):
            sums = _add_coordinate(sums, u[a, k], w[a, k], mass[a, k], force[a, k])
    for k in range(3):
        out[k] = sums[k]


@jit()
def _residual_rows(
    normal: Floats2, mu_: Floats, stuck: Floats, coulomb: bool, local: Floats3, slack: Floats2, sizes: Floats2,
    c_: Floats2, c_noise: Floats2, length: Floats2, p_: Floats2, out: OutFloats,
) -> None:  # fmt: skip
    """The first entries of out = what `grip_rows._residual_rows` finds in contacts of balls."""
    relative, violation, away, product, pushes, natural = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(len(mu_)):
        n, p, mu, s = _vector(normal, c), _vector(p_, c), mu_[c], _vector(slack, c)
        W_n, W_t = _metrics(local, n, c)
        noise = _round_off(sizes, c_noise, c_, normal, c)
        s_n, p_n = _dot(s, n), _dot(p, n)
        tangent = _plus(s, -s_n, n)
        slip = np.sqrt(_dot(tangent, tangent))
        margin = s_n if coulomb else s_n - mu * slip
        if abs(margin) <= noise:
            margin = 0.0
        product += abs(p_n * margin)
        if slip > max(noise, stuck[c]):
            product += abs(p_n * mu * slip + _dot(p, tangent))
        if margin < 0.0 and length[c, 0] > 0.0:
            relative = max(relative, -margin / length[c, 0])
        elif not margin >= 0.0:
            violation = max(violation, -margin / max(np.sqrt(W_n), TINY))
        outside = _length(_plus(p, -1.0, _nearest(p, n, mu, W_n, W_t)), n, W_n, W_t)
        if outside > ROUND_OFF**2 * _length(p, n, W_n, W_t):
            away = max(away, np.sqrt(outside))
        shift = mu * slip if coulomb else 0.0
        wanted = _plus(_plus(p, -(s_n + shift) / W_n, n), -1.0 / W_t, tangent)
        natural += _length(_plus(p, -1.0, _nearest(wanted, n, mu, W_n, W_t)), n, W_n, W_t)
        for k in range(normal.shape[1]):
            pushes += abs(p[k]) * np.sqrt(local[c, k, k])
    for k, found in enumerate((relative, violation, away, product, pushes, natural)):
        out[k] = found


# Sweeps.


@kernels.sweep_levers.on("numpy")
def sweep_levers(
    lever: Lever, inverse: Array, s0: Array, start: Array, coulomb: bool, stop: Stop, chunks: int,
    places: Array | None,
) -> tuple[Array, int]:  # fmt: skip
    n, (m, d), roots = len(inverse), lever.normal.shape, np.sqrt(inverse[:, lever.normal.shape[1] :])
    if m <= IN_ORDER:
        return _sweep_in_order(lever, inverse, roots, s0, start, coulomb, stop)
    nothing = np.zeros(m)
    given = GivenRows(lever.i, lever.j, lever.normal, nothing + 1.0, nothing, nothing, nothing)
    number, index, _, _, ends, groups = arranged(given, n, places, chunks)
    blocks, pieces, masses = len(ends) - 1, cut(m, chunks), np.ones((n, 2))
    both = (2 * number[:, None] + np.arange(2, dtype=np.uint32)).ravel()
    masses[:, 0] = inverse[:, 0]
    body = at_rest(both, masses.ravel(), 2 * blocks, 3, chunks)
    contact, kept = aligned((m, NUMBERS), np.float64), np.zeros(blocks, np.int64)
    rest = *lever, stop.violation, s0, start, roots, contact
    together(_enter, [(index, *part, *rest) for part in pieces])
    sweeps = _Sweeps((0,) * 3, index, contact, np.empty(m, np.uint32), body, ends, kept, coulomb)
    iterations = iterated(_iterate, sweeps, groups, 2 * n, stop, chunks)
    p = np.empty((m, d))
    together(_put_back, [(index, contact, *part, p) for part in pieces])
    return p, iterations


def _sweep_in_order(
    lever: Lever, inverse: Array, roots: Array, s0: Array, start: Array, coulomb: bool, stop: Stop
) -> tuple[Array, int]:
    """The same by one thread, over one block of contacts in the order in which they are given."""
    n, (m, d) = len(inverse), lever.normal.shape
    index, body, contact = np.empty((3, m), np.uint32), np.zeros((3, 2 * n + 2, 4)), np.empty((m, NUMBERS))
    _in_order(lever.i, lever.j, inverse, index, body)
    _enter(index, 0, m, *lever, stop.violation, s0, start, roots, contact)
    sweeps = _Sweeps(
        (0,) * 3, index, contact, np.empty(m, np.uint32), body, np.array([0, m]), np.zeros(1, np.int64), coulomb
    )
    pieces = -(-2 * n // PIECE)
    tasks, sums = np.array([[0, 1], [0, pieces]]), np.zeros((2, 2, 1 + pieces))
    iterations = _iterate(sweeps, 0, new_meeting(), tasks, 2 * n, sums, *stop[1:])
    p = np.empty((m, d))
    _put_back(index, contact, 0, m, p)
    return p, iterations


@jit()
def _in_order(i: Ints, j: Ints, inverse: Floats2, index: OutIndices2, body: OutFloats3) -> None:
    """The contacts in the order in which they are given, as one block, and the records of bodies at rest, zero so far.

    The last two records are those of the wall.
    """
    n = len(inverse)
    for a in range(n):
        body[V, 2 * a, 3], body[V, 2 * a + 1, 3] = inverse[a, 0], 1.0
        for x in range(V + 1, 3):
            body[x, 2 * a, 3], body[x, 2 * a + 1, 3] = 1.0 / inverse[a, 0], 1.0
    for c in range(len(i)):
        index[FIRST, c], index[SECOND, c], index[ROW, c] = i[c], j[c] if j[c] >= 0 else n, c


@jit()
def _enter(
    index: Indices2, begin: int, end: int, i: Ints, j: Ints, first: Floats3, second: Floats3, normal: Floats2,
    mu: Floats, local: Floats3, scale: Floats2, noise: Floats2, violation: Floats, s0: Floats2, start: Floats2,
    roots: Floats2, contact: OutFloats2,
) -> None:  # fmt: skip
    """Write the entries of some contacts."""
    d, spins = normal.shape[1], roots.shape[1]
    for to in range(begin, end):
        c = index[ROW, to]
        for k in range(NUMBERS):
            contact[to, k] = 0.0
        for k in range(d):
            contact[to, N + k], contact[to, S + k] = normal[c, k], s0[c, k]
            contact[to, P + k] = contact[to, Y + k] = start[c, k]
            for x in range(spins):
                at = 3 * k + (x if d == 3 else 2)
                contact[to, A + at] = first[c, k, d + x] * roots[i[c], x]
                if j[c] >= 0:
                    contact[to, B + at] = second[c, k, d + x] * roots[j[c], x]
        contact[to, W], contact[to, W + 1], contact[to, W + 3] = local[c, 0, 0], local[c, 0, 1], local[c, 1, 1]
        if d == 3:
            contact[to, W + 2], contact[to, W + 4], contact[to, W + 5] = local[c, 0, 2], local[c, 1, 2], local[c, 2, 2]
        contact[to, W_N] = scale[c, 0]
        contact[to, MU], contact[to, BY_N], contact[to, BY_T] = mu[c], 1.0 / scale[c, 0], 1.0 / scale[c, 1]
        contact[to, VIOLATION], contact[to, NOISE], contact[to, STUCK] = violation[c], noise[c, 0], noise[c, 1]
        contact[to, BEFORE] = -np.inf


@jit()
def _put_back(index: Indices2, contact: Floats2, first: int, last: int, p: OutFloats2) -> None:
    """The multipliers of some contacts, in the order in which the contacts were given."""
    for c in range(first, last):
        for k in range(p.shape[1]):
            p[index[ROW, c], k] = contact[c, P + k]


class _Sweeps(NamedTuple):
    """Contacts and bodies in the order of the sweeps, and which contacts are swept."""

    axes: tuple[int, ...]
    index: Indices2
    contact: OutFloats2
    swept: OutIndices
    """The contacts of each block that are swept, from where its contacts begin."""
    body: OutFloats3
    ends: Ints
    kept: OutInts
    """How many contacts of each block are swept."""
    coulomb: bool


@jit(helper=True, fastmath=SUMS)
def _read(array, at, first):
    """Three numbers of a record."""
    return array[at, first], array[at, first + 1], array[at, first + 2]


@jit(helper=True, fastmath=SUMS)
def _turned(contact, c, first, x):
    """The matrix at `first` of contact c times a vector."""
    return (
        contact[c, first] * x[0] + contact[c, first + 1] * x[1] + contact[c, first + 2] * x[2],
        contact[c, first + 3] * x[0] + contact[c, first + 4] * x[1] + contact[c, first + 5] * x[2],
        contact[c, first + 6] * x[0] + contact[c, first + 7] * x[1] + contact[c, first + 8] * x[2],
    )


@jit(helper=True, fastmath=SUMS)
def _slip(sweeps, c, x):
    """The slack of a contact at the velocities x."""
    contact, body = sweeps.contact, sweeps.body
    a, b = 2 * np.uint64(sweeps.index[FIRST, c]), 2 * np.uint64(sweeps.index[SECOND, c])
    one = _turned(contact, c, A, (body[x, a + 1, 0], body[x, a + 1, 1], body[x, a + 1, 2]))
    other = _turned(contact, c, B, (body[x, b + 1, 0], body[x, b + 1, 1], body[x, b + 1, 2]))
    return (
        contact[c, S] + (body[x, b, 0] - body[x, a, 0]) + (one[0] + other[0]),
        contact[c, S + 1] + (body[x, b, 1] - body[x, a, 1]) + (one[1] + other[1]),
        contact[c, S + 2] + (body[x, b, 2] - body[x, a, 2]) + (one[2] + other[2]),
    )


@jit(helper=True, fastmath=SUMS)
def _push(sweeps, c, x, p):
    """x += M^-1 G_c^T p for the multiplier p of a contact."""
    contact, body = sweeps.contact, sweeps.body
    a, b = 2 * np.uint64(sweeps.index[FIRST, c]), 2 * np.uint64(sweeps.index[SECOND, c])
    one, other = body[V, a, 3], body[V, b, 3]
    for k in range(3):
        body[x, a, k] -= one * p[k]
        body[x, b, k] += other * p[k]
    for k in range(3):
        body[x, a + 1, k] += contact[c, A + k] * p[0] + contact[c, A + 3 + k] * p[1] + contact[c, A + 6 + k] * p[2]
    for k in range(3):
        body[x, b + 1, k] += contact[c, B + k] * p[0] + contact[c, B + 3 + k] * p[1] + contact[c, B + 6 + k] * p[2]


@jit(helper=True, fastmath=SUMS)
def _step(q, s, n, mu, by_n, by_t, coulomb):
    """The law of a contact whose slack is s for the multiplier q, with the local matrix of W_n and W_t."""
    s_n, q_n = _dot(s, n), _dot(q, n)
    along, wanted = q_n - by_t * s_n, q_n - by_n * s_n
    tx, ty, tz = q[0] - by_t * s[0] - along * n[0], q[1] - by_t * s[1] - along * n[1], q[2] - by_t * s[2] - along * n[2]
    t = np.sqrt(tx * tx + ty * ty + tz * tz)
    if not coulomb and t > mu * wanted:
        ratio = mu * by_n / by_t
        wanted = (wanted + ratio * t) / (1.0 + ratio * mu)
    wanted = max(wanted, 0.0)
    factor = mu * wanted / t if t > mu * wanted else 1.0
    return wanted * n[0] + factor * tx, wanted * n[1] + factor * ty, wanted * n[2] + factor * tz


@jit(helper=True, fastmath=SUMS)
def _sweep(sweeps, block, anew, beta):
    """A Gauss-Seidel sweep over selected contacts: P and Y anew, v those of P."""
    contact, coulomb, against, total = sweeps.contact, sweeps.coulomb, 0.0, 0.0
    source, first = np.uint64(P if anew else Y), sweeps.ends[block]
    for r in range(np.uint64(first), np.uint64(first + sweeps.kept[block])):
        c = np.uint64(sweeps.swept[r])
        s, n, y, p = _slip(sweeps, c, V), _read(contact, c, N), _read(contact, c, source), _read(contact, c, P)
        mu, by_n, by_t = contact[c, MU], contact[c, BY_N], contact[c, BY_T]
        q = _step(y, s, n, mu, by_n, by_t, coulomb)
        for _ in range(LOCAL_STEPS - 1):
            dx, dy, dz = q[0] - y[0], q[1] - y[1], q[2] - y[2]
            xx, xy, xz = _read(contact, c, W)
            yy, yz, zz = _read(contact, c, W + 3)
            moved = (
                s[0] + (xx * dx + xy * dy + xz * dz),
                s[1] + (xy * dx + yy * dy + yz * dz),
                s[2] + (xz * dx + yz * dy + zz * dz),
            )
            q = _step(q, moved, n, mu, by_n, by_t, coulomb)
        step = q[0] - y[0], q[1] - y[1], q[2] - y[2]
        way = q[0] - p[0], q[1] - p[1], q[2] - p[2]
        _push(sweeps, c, V, step)
        for k in range(3):
            contact[c, P + k], contact[c, Y + k] = q[k], q[k] + beta * way[k]
        W_n = contact[c, W_N]
        against -= W_n * _dot(step, way)
        total += W_n * _dot(step, step) if coulomb else _dot(_read(contact, c, S), q)
    return against, total


@jit(helper=True, fastmath=SUMS)
def _point(sweeps, block, x):
    """x += M^-1 G^T p."""
    for c in range(np.uint64(sweeps.ends[block]), np.uint64(sweeps.ends[block + 1])):
        p = _read(sweeps.contact, c, P)
        if p[0] != 0.0 or p[1] != 0.0 or p[2] != 0.0:
            _push(sweeps, c, x, p)


@jit(helper=True, fastmath=SUMS)
def _test(sweeps, block, x):
    """At x: the lack of complementarity, and how many contacts are violated by too much; selects those to be swept."""
    contact, first, kept = sweeps.contact, sweeps.ends[block], 0
    product, violated = 0.0, 0.0
    for c in range(np.uint64(first), np.uint64(sweeps.ends[block + 1])):
        s, n, p, mu = _slip(sweeps, c, x), _read(contact, c, N), _read(contact, c, P), contact[c, MU]
        s_n, p_n = _dot(s, n), _dot(p, n)
        tx, ty, tz = s[0] - s_n * n[0], s[1] - s_n * n[1], s[2] - s_n * n[2]
        slip = np.sqrt(tx * tx + ty * ty + tz * tz)
        margin = s_n if sweeps.coulomb else s_n - mu * slip
        if abs(margin) <= contact[c, NOISE]:
            margin = 0.0
        product += abs(p_n * margin)
        if slip > contact[c, STUCK]:
            product += abs(p_n * mu * slip + p[0] * tx + p[1] * ty + p[2] * tz)
        if not margin >= -contact[c, VIOLATION]:
            violated += 1.0
        loaded = p_n != 0.0 or contact[c, Y] != 0.0 or contact[c, Y + 1] != 0.0 or contact[c, Y + 2] != 0.0
        if loaded or margin <= FAR * abs(margin - contact[c, BEFORE]):
            sweeps.swept[first + kept] = c
            kept += 1
        contact[c, BEFORE] = margin
    sweeps.kept[block] = kept
    return product, violated


_iterate = loop_of("levers", _sweep, _point, _test)
