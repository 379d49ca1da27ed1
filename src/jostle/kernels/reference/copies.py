"""Many copies of a small system by Paoli's scheme, or by that of Moreau and Jean, in steps of one length.

The formulas are those of `schemes.paoli` and `schemes.moreau_jean` for a diagonal mass and inequalities. The functions
of the user are force(t, q, u, parameters, out) and rows(t, q, parameters, gap, G), which write what they compute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jostle._tools.arrays import Array, Integers
from jostle.kernels.reference.dense import EMPTY, SOLVED, project_dense

PAOLI, MOREAU_JEAN = 0, 1
"""The schemes."""
GOES_ON, NOT_FINITE, NO_PROJECTION, NO_NEAREST, NO_POINT, TOO_MANY_IMPACTS = 0, 1, 2, 3, 4, 5
"""Status of a copy: it continues, or it was ended by a number that is not finite, a projection that did not converge, a
search for the nearest admissible point that did not converge, contradictory constraints, or too many impacts."""
T, H, E = 0, 1, 2
"""The columns of `numbers`: the first time, the time step, and the restitution."""
Q, BEFORE, U = 0, 1, 2
"""The rows of a state: q, the q of the step before (for Paoli's scheme), and u."""
DONE, STATUS, HITS = 0, 1, 2
"""The columns of `counts`: number of steps done, status of the copy, and number of impacts."""
MOMENT, SPEED, ROW = 0, 1, 2
"""The columns of a recorded impact: when the gap closed, how fast, and its number."""
MAX_SWEEPS = 50
"""Largest number of linearisations in the search for the nearest admissible point."""
SWEEP_TOLERANCE = 1e-13
"""The search ends when the point moves by less than this fraction of the coordinates."""
MAX_ITERATIONS = 1000
"""Largest number of iterations of the active-set method."""
CLOSED = 1e-9
"""A gap below this fraction of its length, or of the coordinates and the way of half a step, is a contact."""
GAP_ROUND_OFF = 4 * float(np.finfo(float).eps)
"""The round-off of a gap, as a fraction of the coordinates that it depends on."""
NOISE_LEVEL = 4 * float(np.finfo(float).eps)
"""The round-off of the rate of a gap, as a fraction of the velocities that it depends on."""

Force = Callable[[float, Array, Array, Array, Array], None]
Rows = Callable[[float, Array, Array, Array, Array], None]
Moved = tuple[Array, ...]
"""What `march` and `fly` return: the new states, counts, touched and hits, with `fly` the tangents, and q and u at the
ends of sections."""


class Stopped(Exception):
    """A copy cannot go on, for a reason that its status names."""


def march(
    force: Force,
    rows: Rows,
    scheme: int,
    flat: bool,
    moving: bool,
    length: Array,
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
    """All copies go on for `sections` times `steps` steps; `kept` sections after the first `skipped` ones are saved.

    length (m,) is what the gaps are compared with, 0 for the coordinates; root (d,) are the inverse roots of the
    masses. Of each of n copies come numbers (n, 3), parameters (n, k), states (n, 3, d), counts (n, 3), touched (n, 2,
    m) with the multipliers of its last step and, for Moreau and Jean, the largest gap of each contact since it closed
    (-inf: open), and its last impacts, hits (n, number, 3), at their number modulo those that there is room for. The
    saved sections (n, kept, 2 d) are NaN where a copy has stopped.
    """

    def step(copy: Copy) -> None:
        if scheme == PAOLI:
            _paoli(copy, flat)
        else:
            _moreau_jean(copy, flat, moving, length)

    given = numbers, parameters, root, states, counts, touched, hits
    return moved(step, force, rows, given, steps, sections, skipped, kept)


class Copy:
    """One copy in motion. Its arrays are written into."""

    def __init__(self, force: Force, rows: Rows, c: int, given: tuple[Any, ...]):
        numbers, parameters, root, states, counts, touched, hits, *tangents = given
        self.force, self.rows, self.parameters, self.root = force, rows, parameters[c], root
        self.t0, self.h, self.e = numbers[c].tolist()
        self.q, self.before, self.u = states[c]
        self.counts, (self.touched, self.depth), self.hits = counts[c], touched[c], hits[c]
        self.tangents = tangents[0][c] if tangents else np.zeros((0, 1))

    @property
    def t(self) -> float:
        return float(self.t0 + self.counts[DONE] * self.h)

    def acceleration(self, t: float, q: Array, u: Array) -> Array:
        F = np.full(len(q), np.nan)
        self.force(t, q, u, self.parameters, F)
        return np.asarray(F * self.root * self.root)

    def gaps(self, t: float, q: Array) -> tuple[Array, Array]:
        gap, G = np.full(len(self.touched), np.nan), np.full((len(self.touched), len(q)), np.nan)
        self.rows(t, q, self.parameters, gap, G)
        return gap, G

    def project(self, w: Array, G: Array, offset: Array, noise: Array) -> tuple[Array, Array]:
        """The projection of w on {v : offset + G v >= 0}, and its multipliers."""
        v, p, status, _ = project_dense(
            G, offset, w, self.root, NOISE_LEVEL, noise, np.zeros(len(offset)), MAX_ITERATIONS
        )
        if status != SOLVED:
            raise Stopped(NO_POINT if status == EMPTY else NO_PROJECTION)
        return v, p

    def record(self, t: float, speed: float, row: int) -> None:
        """Record an impact; the last ones are kept."""
        if len(self.hits):
            self.hits[self.counts[HITS] % len(self.hits)] = t, speed, row
        self.counts[HITS] += 1


def moved(
    step: Callable[[Copy], None], force: Force, rows: Rows, given: tuple[Any, ...], steps: int, sections: int,
    skipped: int, kept: int,
) -> Moved:  # fmt: skip
    """Do the steps of all copies, one after the other; see `march`."""
    given = (*given[:3], *(array.copy() for array in given[3:]))
    n, _, d = given[3].shape
    saved = np.full((n, kept, 2 * d), np.nan)
    for c in range(n):
        copy = Copy(force, rows, c, given)
        for section in range(sections):
            try:
                for _ in range(steps if copy.counts[STATUS] == GOES_ON else 0):
                    step(copy)
                    copy.counts[DONE] += 1
            except Stopped as stopped:
                copy.counts[STATUS] = stopped.args[0]
            if copy.counts[STATUS] == GOES_ON and 0 <= section - skipped < kept:
                saved[c, section - skipped] = np.concatenate([copy.q, copy.u])
    return *given[3:], saved


def _finite(*arrays: Array) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        raise Stopped(NOT_FINITE)


def _paoli(copy: Copy, flat: bool) -> None:
    """Paoli 2010 (4)-(7), with z(h) = h F / 2 in the first step."""
    t, h, e, q, u, before = copy.t, copy.h, copy.e, copy.q, copy.u, copy.before
    begun, F = copy.counts[DONE] > 0, copy.acceleration(t, q, u)
    w = (2.0 * q - before + h * h * F + e * before) / (1.0 + e) if begun else q + h * u + h * h / 2.0 * F
    _finite(w)
    x, p = _nearest(copy, t, w, flat)
    if (p[copy.touched == 0.0] > 0.0).any():
        gap, G = copy.gaps(t, q)
        _note(copy, p, gap, G, np.zeros(len(gap)), F, 0.5 * h if begun else 0.0)
    copy.touched[:] = p
    after = (1.0 + e) * x - e * before if begun else x
    copy.u[:] = (after - q) / h
    copy.before[:] = q
    copy.q[:] = after


def _nearest(copy: Copy, t: float, w: Array, flat: bool) -> tuple[Array, Array]:
    """The admissible point nearest to w, by projections on the linearised constraints, and its multipliers."""
    x = w
    for sweep in range(MAX_SWEEPS):
        gap, G = copy.gaps(t, x)
        if sweep == 0 and (gap >= 0.0).all():
            return w, np.zeros(len(gap))
        offset = gap - G @ x
        _finite(offset)
        corrected, p = copy.project(w, G, offset, GAP_ROUND_OFF * np.abs(G * x).sum(axis=1))
        way, x = np.abs(corrected - x).max(), corrected
        if flat or way <= SWEEP_TOLERANCE * np.abs(x).max():
            return x, p
    raise Stopped(NO_NEAREST)


def _moreau_jean(copy: Copy, flat: bool, moving: bool, length: Array) -> None:
    """The contacts closed at the midpoint of the step obey the law, and curved ones do not sink."""
    t, h, e, q, u = copy.t, copy.h, copy.e, copy.q, copy.u
    midpoint = q + h / 2.0 * u
    F = copy.acceleration(t + h / 2.0, midpoint, u)
    after = u + h * F
    _finite(after)
    w = (after + e * u) / (1.0 + e)
    place = q if flat else midpoint
    gap, G = copy.gaps(t + h / 2.0, place)
    rate = G @ u
    size = np.abs(gap) + np.abs(G) @ (np.abs(q) + h / 2.0 * (np.abs(u) + np.abs(after)))
    _finite(size)
    there = gap + h / 2.0 * rate if flat else gap
    closed = there <= CLOSED * np.where(length > 0.0, length, size)
    start = end = np.zeros(len(gap))
    if moving:  # d at both ends, by the parabola through three gaps; the law is one on relative velocities
        first = copy.gaps(t, place)[0]
        half, whole = gap - first, copy.gaps(t + h, place)[0] - first
        start, end, gap = (4.0 * half - whole) / h, (3.0 * whole - 4.0 * half) / h, first
    p, offset = np.zeros(len(gap)), (end + e * start) / (1.0 + e)
    if not flat:
        gap = gap - h / 2.0 * rate
        copy.depth[:] = np.where(closed, np.maximum(copy.depth, there), -np.inf)
        sunk = np.where(closed, there - copy.depth, 0.0) / h
        offset = (end + np.minimum(e * start, sunk - e * rate)) / (1.0 + e)
    if closed.any():
        v, p[closed] = copy.project(w, G[closed], offset[closed], np.zeros(np.count_nonzero(closed)))
        after = (1.0 + e) * v - e * u
    _note(copy, p, gap, G, start, F, 0.0)
    copy.touched[:] = p
    copy.q += h * (u + after) / 2.0
    copy.u[:] = after


def _note(copy: Copy, p: Array, gap: Array, G: Array, drift: Array, F: Array, later: float) -> None:
    """Record the contacts that closed in this step.

    The velocity is that of the time t - later, and the gaps are those at t. The moment is that at which
    gap + rate s + push s^2 / 2 falls to zero, after three iterations.
    """
    push = G @ F
    rate = drift + G @ copy.u + later * push
    for i in np.flatnonzero((p > 0.0) & (copy.touched == 0.0) & (rate < 0.0)):
        delay = -gap[i] / rate[i]
        for _ in range(3):
            if rate[i] + 0.5 * push[i] * delay < 0.0:
                delay = -gap[i] / (rate[i] + 0.5 * push[i] * delay)
        copy.record(copy.t + delay, -(rate[i] + push[i] * delay), int(i))
