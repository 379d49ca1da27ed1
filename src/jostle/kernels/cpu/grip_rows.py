"""Blocks of rows of contacts of balls with spin: products with G and its transpose, residuals, and starts of sweeps.

`reference.rates_grips` defines the blocks. The plane is part of space: its third axis is that of the spin.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array
from jostle.kernels.compiling import Floats, Floats2, Ints, OutFloats, OutFloats2, jit
from jostle.kernels.cpu.contacts import BLOCK, MAXIMA, _residual_bodies
from jostle.kernels.parallel import all_finite, cut, together
from jostle.kernels.reference.cones import GripRows, natural_over
from jostle.kernels.reference.dense import ROUND_OFF, TINY
from jostle.kernels.reference.residuals import Answer, residual_of_sums

NOTHING = (0.0, 0.0, 0.0)


@jit(helper=True)
def _vector(array, a):
    """A vector in space: row a of an array (m, d)."""
    return array[a, 0], array[a, 1], array[a, 2] if array.shape[1] == 3 else 0.0


@jit(helper=True)
def _velocity(v, a):
    """The velocity of body a; zero for a wall."""
    return (v[a, 0], v[a, 1], v[a, 2] if v.shape[1] == 6 else 0.0) if a >= 0 else NOTHING


@jit(helper=True)
def _spin(v, a):
    """The spin of body a; zero for a wall."""
    if a < 0:
        return NOTHING
    return (v[a, 3], v[a, 4], v[a, 5]) if v.shape[1] == 6 else (0.0, 0.0, v[a, 2])


@jit(helper=True)
def _write(vector, array, a, first):
    """Write a vector in space into row a of an array, from `first` on as far as the row goes."""
    for k in range(min(3, array.shape[1] - first)):
        array[a, first + k] = vector[k]


@jit(helper=True)
def _dot(x, y):
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]


@jit(helper=True)
def _cross(x, y):
    return x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]


@jit(helper=True)
def _plus(x, factor, y):
    """x + factor y."""
    return x[0] + factor * y[0], x[1] + factor * y[1], x[2] + factor * y[2]


@jit(helper=True)
def _absolute(x):
    return abs(x[0]), abs(x[1]), abs(x[2])


@jit(helper=True)
def _rate(i, j, normal, arms, v, c):
    """The slip of contact c at the velocities and spins v."""
    a, b = i[c], j[c]
    turn = _plus(_plus(NOTHING, arms[c, 0], _spin(v, a)), arms[c, 1], _spin(v, b))
    return _plus(_plus(_velocity(v, b), -1.0, _velocity(v, a)), -1.0, _cross(turn, _vector(normal, c)))


@jit(helper=True)
def _size(i, j, normal, arms, v, c):
    """|G| |v| of the three rows of contact c."""
    a, b, n = i[c], j[c], _absolute(_vector(normal, c))
    spin = _plus(_plus(NOTHING, abs(arms[c, 0]), _absolute(_spin(v, a))), abs(arms[c, 1]), _absolute(_spin(v, b)))
    total = _plus(_absolute(_velocity(v, a)), 1.0, _absolute(_velocity(v, b)))
    return (
        total[0] + n[1] * spin[2] + n[2] * spin[1],
        total[1] + n[2] * spin[0] + n[0] * spin[2],
        total[2] + n[0] * spin[1] + n[1] * spin[0],
    )


@jit(helper=True)
def _nearest(wanted, n, mu, W_n, W_t):
    """The nearest vector in the cone, in the metric W_n n n^T + W_t (1 - n n^T)."""
    normal = _dot(wanted, n)
    tangent = _plus(wanted, -normal, n)
    t = np.sqrt(_dot(tangent, tangent))
    if t > mu * normal:
        normal = (W_n * normal + W_t * mu * t) / (W_n + W_t * mu * mu)
    normal = max(normal, 0.0)
    factor = mu * normal / t if t > mu * normal else 1.0
    return _plus(_plus(NOTHING, normal, n), factor, tangent)


@jit(helper=True)
def _length(x, n, W_n, W_t):
    """The square of the length of a vector in the metric W_n n n^T + W_t (1 - n n^T)."""
    normal = _dot(x, n)
    tangent = _plus(x, -normal, n)
    return W_n * normal * normal + W_t * _dot(tangent, tangent)


@kernels.rates_grips.on("numpy")
def rates_grips(rows: GripRows, v: Array, height: int, chunks: int) -> Array:
    out = np.empty((len(rows.i), height))
    together(_fill_rates, [(*rows, v, *part, out) for part in cut(len(out), chunks)])
    return out


@jit()
def _fill_rates(
    i: Ints, j: Ints, normal: Floats2, arms: Floats2, v: Floats2, first: int, last: int, out: OutFloats2
) -> None:
    """The blocks of some contacts in G v."""
    d, height = normal.shape[1], out.shape[1]
    for c in range(first, last):
        slip = _rate(i, j, normal, arms, v, c)
        for k in range(d):
            out[c, k] = slip[k]
        for k in range(d, height):
            out[c, k] = (v[j[c], k] if j[c] >= 0 else 0.0) - v[i[c], k]


@kernels.adjoint_grips.on("numpy")
def adjoint_grips(rows: GripRows, p: Array, bodies: int, chunks: int) -> Array:
    out = np.zeros((bodies, 3 if rows.normal.shape[1] == 2 else 6))
    together(_add_adjoint, [(*rows, p, *part, out) for part in cut(bodies, chunks)])
    return out


@jit()
def _add_adjoint(
    i: Ints, j: Ints, normal: Floats2, arms: Floats2, p: Floats2, first: int, last: int, out: OutFloats2
) -> None:
    """out_a += (G^T p)_a of the bodies first <= a < last, contact by contact."""
    (m, d), height = normal.shape, p.shape[1]
    for c in range(m):
        for end in range(2):
            a, sign = (i[c], -1.0) if end == 0 else (j[c], 1.0)
            if first <= a < last:
                push = p[c, 0], p[c, 1], p[c, 2] if d == 3 else 0.0
                moment = _cross(push, _vector(normal, c))
                for k in range(d):
                    out[a, k] += sign * p[c, k]
                for k in range(d, out.shape[1]):
                    out[a, k] += arms[c, end] * moment[k - d if d == 3 else 2]
                    if height > d:
                        out[a, k] += sign * p[c, k]


@kernels.whitened_grips.on("numpy")
def whitened_grips(
    rows: GripRows, mu: Array, inverse: Array, w: Array, c: Array, c_noise: Array, guess: Array, chunks: int
) -> tuple[Array, Array, Array]:
    m, d = c.shape
    scale, noise, start = np.empty((m, 2)), np.empty(m), np.empty((m, d))
    given = *rows, mu, inverse, w, c, c_noise, guess
    together(_fill_whitened, [(*given, *part, scale, noise, start) for part in cut(m, chunks)])
    return scale, noise, start


@jit(helper=True)
def _metrics(i, j, arms, inverse, c):
    """W_n and W_t of contact c."""
    a, b = i[c], j[c]
    W_n, turned = inverse[a, 0], inverse[a, 1] * arms[c, 0] ** 2
    if b >= 0:
        W_n += inverse[b, 0]
        turned += inverse[b, 1] * arms[c, 1] ** 2
    return W_n, W_n + turned


@jit()
def _fill_whitened(
    i: Ints, j: Ints, normal: Floats2, arms: Floats2, mu: Floats, inverse: Floats2, w: Floats2, c_: Floats2,
    c_noise: Floats2, guess: Floats2, first: int, last: int, scale: OutFloats2, noise: OutFloats, start: OutFloats2,
) -> None:  # fmt: skip
    """W_n and W_t, the round-off of the slack and the starts of some contacts."""
    for c in range(first, last):
        W_n, W_t = _metrics(i, j, arms, inverse, c)
        scale[c, 0], scale[c, 1] = W_n, W_t
        size = _plus(_absolute(_vector(c_, c)), 1.0, _size(i, j, normal, arms, w, c))
        fuzz = _plus(_vector(c_noise, c), ROUND_OFF, size)
        noise[c] = np.sqrt(fuzz[0] ** 2 + fuzz[1] ** 2 + (fuzz[2] ** 2 if normal.shape[1] == 3 else 0.0))
        _write(_nearest(_vector(guess, c), _vector(normal, c), mu[c], W_n, W_t), start, c, 0)


@kernels.residual_grips.on("numpy")
def residual_grips(
    rows: GripRows, mu: Array, coulomb: bool, answer: Answer, chunks: int
) -> tuple[float, float, float, float]:
    c, c_noise, length, w, mass, u, p = answer
    if not (all_finite(u) and all_finite(p)):
        return np.inf, np.inf, np.inf, np.inf
    force, d = adjoint_grips(rows, p, len(w), chunks), c.shape[1]
    inverse, both = 1.0 / np.ascontiguousarray(mass[:, [0, d]]), np.abs(u) + np.abs(w)
    of_rows, of_bodies = np.zeros((max(1, -(-len(c) // BLOCK)), 6)), np.empty((-(-len(w) // BLOCK), 3))
    given = *rows, mu, coulomb, c, c_noise, length, both, inverse, u, p, of_rows
    together(_residual_rows, [(*given, *part) for part in cut(len(of_rows), chunks)])
    together(_residual_bodies, [(w, mass, u, force, of_bodies, *part) for part in cut(len(of_bodies), chunks)])
    largest, squares = of_rows[:, :MAXIMA].max(axis=0).tolist(), of_bodies.sum(axis=0).tolist()
    product, pushes, natural = of_rows[:, MAXIMA:].sum(axis=0).tolist()
    return *residual_of_sums(*largest, product, pushes, *squares), natural_over(natural, sqrt(squares[0]))


@jit()
def _residual_rows(
    i: Ints, j: Ints, normal: Floats2, arms: Floats2, mu_: Floats, coulomb: bool, c_: Floats2, c_noise: Floats2,
    length: Floats2, both: Floats2, inverse: Floats2, u: Floats2, p_: Floats2, out: OutFloats2,
    first: int, last: int,
) -> None:  # fmt: skip
    """out[block] = the largest violations over lengths, and over sqrt(W_n) where there is none, and distances of p from
    its cone; the sums of the lack of complementarity, of |p| |G| and of the squares of the natural map.

    Of the contacts of each block first <= block < last; `both` is |u| + |w|.
    """
    m, d = normal.shape
    for block in range(first, last):
        relative, violation, away, product, pushes, natural = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for c in range(block * BLOCK, min((block + 1) * BLOCK, m)):
            n, p, mu, offset = _vector(normal, c), _vector(p_, c), mu_[c], _vector(c_, c)
            W_n, W_t = _metrics(i, j, arms, inverse, c)
            s = _plus(offset, 1.0, _rate(i, j, normal, arms, u, c))
            size = _plus(_absolute(offset), 1.0, _size(i, j, normal, arms, both, c))
            fuzz = _plus(_vector(c_noise, c), ROUND_OFF, size)
            noise = np.sqrt(fuzz[0] ** 2 + fuzz[1] ** 2 + (fuzz[2] ** 2 if d == 3 else 0.0))
            s_n, p_n = _dot(s, n), _dot(p, n)
            tangent = _plus(s, -s_n, n)
            slip = np.sqrt(_dot(tangent, tangent))
            margin = s_n if coulomb else s_n - mu * slip
            if abs(margin) <= noise:
                margin = 0.0
            product += abs(p_n * margin)
            if slip > noise:
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
            for k in range(d):
                pushes += abs(p[k]) * np.sqrt(W_n + (W_t - W_n) * (1.0 - n[k] ** 2))
        for k, found in enumerate((relative, violation, away, product, pushes, natural)):
            out[block, k] = found
