"""How deep bodies overlap in a solution, and how deep its scheme may let them overlap.

With w the way of the two sides of a contact against each other in one step, w_n its part along the normal, b the
curvature of the gap, d^2 g = b (I - n n^T), and e the restitution, a gap shrinks in one step by at most w_n + |b| w^2
/ 2, and the gap of a body that was outside is at least

    Maury, Venel   0 where b >= 0 (the linearised gap is below the gap), otherwise -|b| w^2 / 2
    CatchingUp     0: q is projected on Q itself
    Paoli          -e / (1 + e) w_n - |b| w^2 / 2 with the ways of two steps: U^{n+1} = Z - e (U^{n-1} - Z), Z in K, is
                   as far from Z as e / (1 + e) (U^{n+1} - U^{n-1})
    MoreauJean     -w_n - |b| w^2 / 2 of the steps since it closed: contacts are closed at midpoints, and what overlaps
                   may stay there

At the ends of a step; between them, bodies go straight past each other, and come nearer by at most b w^2 / 8. A wall
that moves adds how far it moves in a step. Of constraints of the user and of clumps, b is not known: they may overlap
by w.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Integers
from jostle.contacts import Contacts, by_pair
from jostle.convex.metric import metric
from jostle.problems import Motion, Sweeping
from jostle.result.solution import Solution
from jostle.schemes.base import Scheme
from jostle.schemes.catching_up import CatchingUp
from jostle.schemes.paoli import Paoli
from jostle.sets.base import ConstraintSet
from jostle.theory.places import place, restitution, state_of

OVERLAP_TOLERANCE = 1e-6
"""Overlaps up to this fraction of the length of a constraint are round-off and the tolerance of the solver."""
ROUNDINGS = 16.0
"""Roundings of a coordinate in a step: of the gap, the projection and the displacement."""
BETWEEN = (0.25, 0.5, 0.75, 1.0)
"""Fractions of each step at which the gaps are checked."""


class Overlap(NamedTuple):
    """An overlap and how deep it may be, relative to the length of its constraint."""

    depth: float
    allowed: float
    where: str

    def excess(self) -> tuple[bool, float]:
        """By which overlaps are compared: those that are not allowed come last, and then the deepest."""
        return self.depth > self.allowed, self.depth


def overlaps(sol: Solution, missing: str) -> Iterator[Overlap]:
    """The worst overlap of each frame but the first, and between it and the one before, if all steps were saved."""
    problem = sol.problem
    assert isinstance(problem, Motion | Sweeping)
    within, allowance = problem.within, _Allowance(sol, missing)
    q = np.array([sol.places(k) for k in range(len(sol.t))], dtype=float)
    sizes = np.fmax.accumulate(np.abs(q))  # so far: a body at the origin has the round-off of where it came from
    for k in range(1, len(sol.t)):
        worst = Overlap(0.0, OVERLAP_TOLERANCE, "")
        for part in (1.0,) if missing or within.bodies.parts is not None else BETWEEN:  # clumps turn in between
            t = float((1.0 - part) * sol.t[k - 1] + part * sol.t[k])
            x, Q = (1.0 - part) * q[k - 1] + part * q[k], within
            if not np.isfinite(x).all():
                here = place(problem, t, x)
                x, Q = here.q, here.within
            if Q.overlap(t, x) == 0.0:
                allowance.nothing(part)
                continue
            found = _worst(Q, t, x, sizes[k] if x.shape == q[k].shape else np.abs(x), k, part, allowance)
            worst = max(worst, found, key=Overlap.excess)
        yield worst


def _worst(Q: ConstraintSet, t: float, x: Array, sizes: Array, k: int, part: float, allowance: _Allowance) -> Overlap:
    """The worst overlap at x, which is computed from coordinates of these sizes."""
    contacts = Q.near(t, x, 0.0)
    contacts = contacts.only(np.flatnonzero(contacts.margin < 0.0))
    if len(contacts.gap) == 0:
        return Overlap(0.0, OVERLAP_TOLERANCE, "")
    by_place = np.abs(contacts.gap) + contacts.G.magnitude(np.nan_to_num(sizes).ravel())
    size = np.where(contacts.length > 0.0, contacts.length, by_place)
    unit = np.where(contacts.length > 0.0, contacts.length, 1.0)
    noise = ROUNDINGS * np.finfo(allowance.sol.q.dtype).eps * by_place
    allowed = allowance.of(contacts, k, part) + OVERLAP_TOLERANCE * size + noise
    row = int(np.argmax(-contacts.margin / allowed))
    depth, most = float(-contacts.margin[row] / unit[row]), float(allowed[row] / unit[row])
    return Overlap(depth, most, f"deepest at t = {t:.4g}, {contacts.describe(row)}")


class _Allowance:
    """How deep the scheme of a solution lets bodies overlap, step by step."""

    def __init__(self, sol: Solution, missing: str):
        assert isinstance(sol.problem, Motion | Sweeping)
        self.sol, self.missing, self.problem = sol, missing, sol.problem
        scheme = sol.scheme
        self.exact = isinstance(scheme, CatchingUp)
        self.linearises = isinstance(scheme, Scheme) and scheme.linearises
        self.e = (restitution(sol.problem) or 0.0) if isinstance(scheme, Paoli) else None
        self.pairs, self.depth = np.zeros((0, 2), dtype=np.int64), np.zeros(0)
        """The pairs that overlap, and how deep they may since they closed, for schemes that leave overlaps."""
        self.longest = float(sol.stats["h"].max(initial=0.0)) if missing else 0.0
        speeds = np.nan_to_num(np.asarray(sol.u, dtype=float)).reshape(len(sol.u), -1)
        self.fastest = float(np.linalg.norm(speeds, axis=1).max(initial=0.0))

    def nothing(self, part: float) -> None:
        """No body overlaps after this part of a step."""
        if part == 1.0:
            self.pairs, self.depth = self.pairs[:0], self.depth[:0]

    def of(self, contacts: Contacts, k: int, part: float) -> Array:
        """(m,) how deep contacts may overlap in the step to frame k, after this part of it."""
        if self.missing:
            return 2.0 * self.longest * self.fastest * size_of(contacts)
        bend = np.nan_to_num(contacts.curvatures)
        known = np.isfinite(contacts.curvatures) & (self.problem.bodies.parts is None)
        known |= self.linearises and self.problem.within.convex_gaps is True
        (closing, way), (earlier, before) = self._ways(contacts, k), self._ways(contacts, k - 1)
        step = np.maximum(way, before)
        turned, sway = np.abs(bend) * step**2 / 2.0, self._sway(contacts, k)
        if self.exact:
            allowed = np.zeros(len(way))
        elif self.e is not None:
            two = np.maximum(closing + earlier, earlier + self._ways(contacts, k - 2)[0])
            allowed = self.e / (1.0 + self.e) * two + (4.0 * turned if self.e > 0.0 else 0.0)
        elif self.linearises:
            allowed = np.where(bend < 0.0, turned, 0.0)
        else:
            now = np.maximum(closing, earlier) + turned + sway
            allowed = np.maximum(by_pair(self.pairs, self.depth, contacts.pairs), now)
            if part == 1.0:
                self.pairs, self.depth = contacts.pairs, allowed
        if part < 1.0:
            allowed = allowed + sway + (0.0 if self.linearises else np.maximum(bend, 0.0) * way**2 / 8.0)
        allowed = np.where(known, allowed, np.maximum(allowed, step))
        if contacts.equal is None:
            return np.asarray(allowed)
        longest = float(self.sol.stats["h"].max(initial=0.0)) * self.fastest
        return np.where(contacts.equal, longest * size_of(contacts), allowed)

    def _ways(self, contacts: Contacts, k: int) -> tuple[Array, Array]:
        """(m,) the way of the two sides along the normal, and in all, in the step to frame k."""
        k = max(k, 0)
        h = float(self.sol.stats["h"][max(k - 1, 0)])
        u = state_of(self.sol, k).velocities
        whole = h * relative_speeds(contacts, u)
        along = h * np.abs(contacts.G @ np.nan_to_num(u).ravel())
        return np.where(contacts.pairs[:, 0] >= 0, along, whole), whole

    def _sway(self, contacts: Contacts, k: int) -> Array:
        """(m,) how much the gaps change in the step to frame k because the set moves, and turns."""
        if contacts.gap_at is None or contacts.at is None:
            return np.zeros(len(contacts.gap))
        rows: Integers = np.arange(len(contacts.gap))
        times = self.sol.t[k - 1], (self.sol.t[k - 1] + self.sol.t[k]) / 2.0, self.sol.t[k]
        gaps = np.array([contacts.gap_at(float(t), rows) for t in times] + [contacts.gap])
        way = float(self.sol.stats["h"][k - 1]) * np.nan_to_num(np.asarray(self.sol.u[k], dtype=float)).ravel()
        turned = np.zeros(len(contacts.gap))
        if len(way) == contacts.G.shape[1]:
            ends = [self.problem.within.linearise(float(t), contacts.at) for t in (times[0], times[-1])]
            turned = np.abs(np.subtract(*(by_pair(end.pairs, end.G @ way, contacts.pairs) for end in ends)))
        return np.asarray(2.0 * (gaps.max(axis=0) - gaps.min(axis=0)) + turned)


def size_of(contacts: Contacts) -> Array:
    """(m,) the Euclidean length of the gradients: how much a gap may change for the length of a way."""
    return np.asarray(contacts.G.norms(metric(1.0, (contacts.G.shape[1],))))


def relative_speeds(contacts: Contacts, u: Array) -> Array:
    """(m,) how fast the two sides of each contact move against each other: no gap changes faster, walls at rest."""
    first, second = contacts.pairs.T
    u, of_bodies = np.nan_to_num(u), first >= 0
    whole = float(np.linalg.norm(u)) * size_of(contacts)
    if not of_bodies.any():
        return whole
    v = u.reshape(contacts.part_count, -1)
    relative = v[np.maximum(first, 0)] - np.where(second[:, None] >= 0, v[np.maximum(second, 0)], 0.0)
    return np.where(of_bodies, np.linalg.norm(relative, axis=1), whole)
