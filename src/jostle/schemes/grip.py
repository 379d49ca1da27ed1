"""Contacts of bodies that turn: from rows on balls to blocks on bodies, with friction cones; and back.

A set knows balls and normals. A body that turns feels a contact at the end of a lever l from its centre of mass, where
its surface moves at v + spin x l. In each contact the relative velocity of the two surfaces is a block of d rows in
fixed axes, s = c + G u, and friction allows impulses p in a cone around the normal (see `convex.cones.Cones`). Rolling
resistance adds the relative spin to the block. Everything else (rods, constraints of the user) stays a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Integers, contiguous, place_of
from jostle._tools.rotations import AXES
from jostle.bodies import Bodies
from jostle.convex.cones import UNIT, Cones
from jostle.convex.lever_blocks import MAX_FEW_BLOCKS, LeverBlocks
from jostle.convex.linear_map import Grips, LinearMap, Sparse
from jostle.convex.metric import Metric
from jostle.convex.projection import Projection
from jostle.convex.residuals import NO_RESIDUAL
from jostle.convex.rows import Rows
from jostle.errors import InvalidValue, ThrownUp, warn
from jostle.laws import Coulomb, ImpactLaw
from jostle.pose import Pose, at_lever
from jostle.schemes.state import MIN_WARM_ROWS, Impulses, State
from jostle.sets.contacts import Contacts, by_pair
from jostle.solvers.base import Solver, check_round_off

NOTABLE = 1e-3
"""A body is thrown up if it rises at more than this fraction of the velocity at which it slides."""
FRICTIONLESS = Coulomb(0.0)
"""The law of clumps without friction: their balls push along normals alone."""


def push(
    solver: Solver, problem: Any, state: State, pose: Pose, contacts: Contacts, K: Rows, w: Array, M: Metric
) -> tuple[Projection, Impulses]:
    """The projection of the velocities w on the rows K of contacts, and the impulses of the contacts.

    Bodies have the pose at their contacts. Those that turn also have friction, if their law has it.
    """
    m = len(contacts.gap)
    if m:
        check_round_off(pose.velocities(w), K, solver.tol)
    if pose.orientation is None:
        P = solver.project(w, K, M, state.impulses_of(contacts))
        return P, Impulses(P.multipliers)
    place, d = place_of(contacts.gap), pose.q.shape[-1]
    multipliers, tangential, moments = place.zeros(m), place.zeros((m, d)), place.zeros((m, AXES[d]))
    if m == 0:
        return Projection(w, multipliers, NO_RESIDUAL, 0, True, solver.name), Impulses(multipliers, tangential, moments)
    if problem.bodies.clumped is not None and _frictionless(problem.law):
        guess = state.impulses_of(contacts) if m >= MIN_WARM_ROWS else None
        P = solver.project(w, replace(K, G=pose.on_bodies(K.G)), M, guess)
        return P, Impulses(P.multipliers, tangential, moments)
    blocks, cones, own, others = _blocks(problem, state, pose, contacts, K)
    normal, size = cones.axis, cones.height
    first = len(own) * size
    P = solver.project(w, blocks, M, _guess(state, contacts, own, others, normal, size))
    p = P.multipliers[:first].reshape(len(own), size)
    along = (p[:, :d] * normal).sum(axis=1)
    if not cones.coulomb:
        _warn_if_thrown(blocks, P, normal, along, size)
    multipliers[own] = along
    if len(others):
        multipliers[others] = P.multipliers[first:]
    tangential[own] = p[:, :d] - along[:, None] * normal
    if size > d:
        moments[own] = p[:, d:]
    return P, Impulses(multipliers, tangential, moments)


def _frictionless(law: ImpactLaw) -> bool:
    """Whether bodies that turn push along normals alone."""
    return not isinstance(law, Coulomb) or (not isinstance(law.mu, Mapping) and law.mu == 0.0 and not law.rolls)


def _blocks(
    problem: Any, state: State, pose: Pose, contacts: Contacts, K: Rows
) -> tuple[Rows, Cones, Integers, Integers]:
    """Rows of contacts of balls as blocks on bodies, and all other rows; the cones; and the numbers of both kinds."""
    place, d = place_of(contacts.gap), pose.q.shape[-1]
    touching = contacts.pairs[:, 0] >= 0
    rows = np.flatnonzero(touching) if not touching.all() else None
    chosen = contacts if rows is None else contacts.only(rows)
    centres = state.centres.reshape(-1, d)
    G, cones = grip(problem, chosen, pose, state.t, centres)
    normal, size = cones.axis, cones.height
    own, others = place.arange(len(contacts.gap)), place.zeros(0, dtype=np.int64)
    if rows is not None:
        own, others = rows, np.flatnonzero(~touching)
    first, by_block = len(own) * size, place.zeros((len(own), size))
    by_block[:, :d] = K.c[own, None] * normal
    if _law(problem).surface_velocity:
        surfaces = surface_velocities(problem, chosen, state.t, centres)
        by_block[:, :d] += surfaces - (surfaces * normal).sum(axis=1)[:, None] * normal
    c, equal = by_block.ravel(), None
    length, noise = (np.repeat(each[own], size) for each in (K.length, K.noise))
    if len(others):
        from scipy.sparse import csr_array, vstack

        G = Sparse(csr_array(vstack([G.tocsr(), pose.on_bodies(K.G.rows(others)).tocsr()])))
        c, length, noise = (
            np.append(one, two[others]) for one, two in ((c, K.c), (length, K.length), (noise, K.noise))
        )
        equal = None if K.equal is None else np.append(np.zeros(first, dtype=bool), K.equal[others])

    def describe(row: int) -> str:
        return K.describe(int(own[row // size] if row < first else others[row - first]))

    return Rows(G, c, length, noise, equal, describe, cones, K.most), cones, own, others


def grip(problem: Any, contacts: Contacts, pose: Pose, t: float, centres: Array) -> tuple[LinearMap, Cones]:
    """The blocks of contacts of balls with these centres: a map on velocities w, and cones."""
    law, d = _law(problem), centres.shape[1]
    normal = contacts.normals.reshape(len(contacts.gap), d)
    if not (np.abs((normal * normal).sum(axis=1) - 1.0) <= UNIT).all():
        raise InvalidValue("friction needs gaps that are distances: scale each gap so that its gradient has length one")
    rolling = law.resistance(contacts) if law.rolls else None
    lever = _Levers.of(problem.bodies, contacts, normal, pose, t)
    G = lever.grips(normal, pose, centres, rolling is not None)
    return G, Cones(normal, law.friction(contacts), law.exact, rolling)


def surface_velocities(problem: Any, contacts: Contacts, t: float, centres: Array) -> Array:
    """(m, d) the velocity of the surface of the wall in each contact of balls with these centres, 0 between balls."""
    balls, normal = contacts.pairs[:, 0], contacts.normals.reshape(len(contacts.gap), centres.shape[1])
    radii, _ = problem.bodies.sizes(t, centres)
    points = centres[balls] + (0.0 if radii is None else radii[balls, None] * normal)
    return _law(problem).surface_velocities(contacts, t, points)


def rubs(problem: Any) -> bool:
    """Whether bodies obey Coulomb's law with friction."""
    return isinstance(problem.law, Coulomb) and problem.law.exact and problem.law.mu != 0.0


def _law(problem: Any) -> Coulomb:
    return problem.law if isinstance(problem.law, Coulomb) else FRICTIONLESS


def _warn_if_thrown(K: Rows, P: Projection, normal: Array, pushed: Array, size: int) -> None:
    """Warn if the convex law opens a closed contact because it slides."""
    (m, d), flat = normal.shape, P.point.ravel()
    before, after = (rows[: m * size].reshape(m, size)[:, :d] for rows in (K.c, K.slack(flat)))
    gap, rate = (before * normal).sum(axis=1), ((after - before) * normal).sum(axis=1)
    thrown = (pushed > 0.0) & (rate > NOTABLE * np.linalg.norm(after, axis=1)) & (gap <= rate)
    if thrown.any():
        warn(
            "the convex law of friction threw a body up that slides, at mu |s_T| / (1 + mu^2) and for every h: take "
            "jo.Coulomb, which does not",
            ThrownUp,
        )


def _guess(state: State, contacts: Contacts, own: Integers, others: Integers, normal: Array, size: int) -> Array | None:
    """The impulses that the same contacts had in the last step, one for each row of the blocks."""
    known, (_, tangential, moments) = state.impulses_of(contacts), state.impulses
    if known is None or tangential is None or moments is None or state.contacts is None:
        return None
    (m, d), pairs = normal.shape, state.contacts.pairs
    p = place_of(normal).zeros((m, size))
    wanted = contacts.pairs[own]
    for axis in range(d):
        values = contiguous(tangential[:, axis])
        p[:, axis] = known[own] * normal[:, axis] + by_pair(pairs, values, wanted)
    for axis in range(size - d):
        p[:, d + axis] = by_pair(pairs, contiguous(moments[:, axis]), wanted)
    return np.concatenate([p.ravel(), known[others]])


class _Levers(NamedTuple):
    """The two bodies of each contact, the second one -1 for a wall, and the levers (m, d) to the point of contact."""

    i: Integers
    j: Integers
    first: Array
    second: Array
    radii: Array
    """(m, 2) from the centres of the two balls to the point of contact, half-way in their gap; 0 for a wall."""

    @staticmethod
    def of(bodies: Bodies, contacts: Contacts, normal: Array, pose: Pose, t: float) -> _Levers:
        """The levers of contacts between balls at the time t."""
        i, j = contacts.pairs.T
        place, wall = place_of(normal), j < 0
        sizes, _ = bodies.sizes(t, pose.centres.reshape(-1, normal.shape[1]))
        radii = place.zeros((len(i), 2))
        if sizes is not None:
            radii[:, 0], radii[:, 1] = sizes[i], np.where(wall, 0.0, sizes[np.maximum(j, 0)])
        radii[~wall] += contacts.gap[~wall, None] / 2.0  # both touch the same point: angular momentum stays as it is
        first, second = radii[:, :1] * normal, -radii[:, 1:] * normal
        if bodies.clumped is not None:
            first, second = first + pose.levers[i], pose.levers[np.maximum(j, 0)] + second
        other = np.where(wall, -1, bodies.owners(np.maximum(j, 0)))
        return _Levers(bodies.owners(i), other, first, np.where(wall[:, None], 0.0, second), radii)

    def grips(self, normal: Array, pose: Pose, centres: Array, rolls: bool) -> LinearMap:
        """The relative velocities of the surfaces, and the relative spins if that is wanted, as a map."""
        bodies, d, s = pose.bodies, normal.shape[1], AXES[normal.shape[1]]
        few = len(normal) <= MAX_FEW_BLOCKS and isinstance(normal, np.ndarray)
        if bodies.clumped is None and pose.axes is None and (rolls or not few):
            return Grips(self.i, self.j, normal, self.radii, len(centres), centres, rolls)
        blocks = []
        for body, lever, sign in ((self.i, self.first, -1.0), (self.j, self.second, 1.0)):
            R = None if pose.axes is None else pose.axes[body]
            block = np.zeros((len(body), d + s if rolls else d, d + s))
            block[:, :d] = sign * at_lever(lever, R)
            if rolls:
                block[:, d:, d:] = sign * (np.eye(s) if R is None else R)
            block[body < 0] = 0.0
            blocks.append(block)
        places = pose.q.reshape(-1, d)
        return LeverBlocks(self.i, self.j, blocks[0], blocks[1], len(places), places)
