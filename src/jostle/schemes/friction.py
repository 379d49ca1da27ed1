"""Projections on the contacts of bodies, with friction where the law has it.

In each contact of bodies that turn, the relative velocity of the two surfaces is a block of d rows in fixed axes,
s = c + G w, and friction allows impulses p in a cone around the normal (see `convex.cones.Cones`). Rolling resistance
adds the relative spin to the block. Everything else (rods, constraints of the user) stays a row, and so do contacts
without friction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from jostle._tools.arrays import Array, Integers, contiguous, place_of
from jostle._tools.rotations import AXES
from jostle.contacts import Contacts, by_pair
from jostle.convex.cones import UNIT, Cones
from jostle.convex.linear_map import MAX_FEW_BLOCKS, BallBlocks, LinearMap, Sparse
from jostle.convex.metric import Metric
from jostle.convex.projection import Projection
from jostle.convex.residuals import NO_RESIDUAL
from jostle.convex.rows import Rows
from jostle.errors import InvalidValue, ThrownUp, warn
from jostle.laws import Coulomb, ImpactLaw
from jostle.schemes.state import MIN_WARM_ROWS, Impulses, State
from jostle.solvers.base import Solver

NOTABLE = 1e-3
"""A body is thrown up if it rises at more than this fraction of the velocity at which it slides."""


def project_on_contacts(
    solver: Solver, problem: Any, state: State, contacts: Contacts, K: Rows, w: Array, M: Metric
) -> tuple[Projection, Impulses]:
    """The projection of the velocities w on the rows K of contacts on w, and the impulses of the contacts."""
    m, pose = len(contacts.gap), contacts.pose
    if m == 0:
        return without_contacts(solver, contacts, w)
    if pose is None:
        P = solver.project(w, K, M, state.impulses_of(contacts))
        return P, Impulses(P.multipliers)
    place, d = place_of(contacts.gap), pose.q.shape[-1]
    tangential, moments = place.zeros((m, d)), place.zeros((m, AXES[d]))
    if not _has_cones(problem.law):
        guess = state.impulses_of(contacts) if m >= MIN_WARM_ROWS else None
        P = solver.project(w, replace(K, G=contacts.on_bodies(state.t)), M, guess)
        return P, Impulses(P.multipliers, tangential, moments)
    blocks, cones, own, others = _blocks(problem.law, contacts, K, state.t)
    first, normal, multipliers = cones.rows, cones.axis, place.zeros(m)
    P = solver.project(w, blocks, M, _guess(state, contacts, own, others, cones))
    p = cones.blocks_of(P.multipliers)
    along = (p[:, :d] * normal).sum(axis=1)
    if not cones.coulomb:
        _warn_if_thrown(blocks, P, cones, along)
    multipliers[own] = along
    if len(others):
        multipliers[others] = P.multipliers[first:]
    tangential[own] = p[:, :d] - along[:, None] * normal
    if cones.height > d:
        moments[own] = p[:, d:]
    return P, Impulses(multipliers, tangential, moments)


def without_contacts(solver: Solver, contacts: Contacts, w: Array) -> tuple[Projection, Impulses]:
    """Velocities w that nothing changes, as a projection, and no impulses."""
    place, pose = place_of(contacts.gap), contacts.pose
    P = Projection(w, place.zeros(0), NO_RESIDUAL, 0, True, solver.name)
    if pose is None:
        return P, Impulses(P.multipliers)
    d = pose.q.shape[-1]
    return P, Impulses(P.multipliers, place.zeros((0, d)), place.zeros((0, AXES[d])))


def _has_cones(law: ImpactLaw) -> bool:
    """Whether impulses lie in cones, and not along normals alone."""
    return isinstance(law, Coulomb) and (isinstance(law.mu, Mapping) or law.mu != 0.0 or law.rolls)


def has_friction(problem: Any) -> bool:
    """Whether bodies obey Coulomb's law with friction."""
    return isinstance(problem.law, Coulomb) and problem.law.exact and problem.law.mu != 0.0


def _blocks(law: Coulomb, contacts: Contacts, K: Rows, t: float) -> tuple[Rows, Cones, Integers, Integers]:
    """Rows of contacts as blocks on bodies, and all other rows; the cones; and the numbers of both kinds."""
    pose, place = contacts.pose, place_of(contacts.gap)
    assert pose is not None
    touching = contacts.pairs[:, 0] >= 0
    if contacts.equal is not None:
        touching &= ~contacts.equal
    all_touch = bool(touching.all())
    chosen = contacts if all_touch else contacts.only(np.flatnonzero(touching))
    own = place.arange(len(contacts.gap)) if all_touch else np.flatnonzero(touching)
    others = place.zeros(0, dtype=np.int64) if all_touch else np.flatnonzero(~touching)
    G, cones = friction_blocks(law, chosen, t)
    normal, size, d = cones.axis, cones.height, cones.axis.shape[1]
    first, by_block = cones.rows, place.zeros((len(own), size))
    by_block[:, :d] = K.c[own, None] * normal
    if law.surface_velocity:
        surfaces = surface_velocities(law, chosen, t)
        by_block[:, :d] += surfaces - (surfaces * normal).sum(axis=1)[:, None] * normal
    c, length, noise = by_block.ravel(), np.repeat(K.length[own], size), np.repeat(K.noise[own], size)
    equal, bound = None, None
    if len(others):
        from scipy.sparse import csr_array, vstack

        G = Sparse(csr_array(vstack([G.tocsr(), K.G.rows(others).tocsr()])))
        c, length, noise = (
            np.append(one, two[others]) for one, two in ((c, K.c), (length, K.length), (noise, K.noise))
        )
        equal = None if K.equal is None else np.append(np.zeros(first, dtype=bool), K.equal[others])
        bound = None if K.bound is None else np.append(np.full(first, np.inf), K.bound[others])

    def describe(row: int) -> str:
        return K.describe(int(own[row // size] if row < first else others[row - first]))

    return Rows(G, c, length, noise, equal, describe, cones, bound), cones, own, others


def friction_blocks(law: Coulomb, contacts: Contacts, t: float) -> tuple[LinearMap, Cones]:
    """The blocks of contacts of bodies that turn: a map on their velocities w, and friction cones."""
    pose = contacts.pose
    assert pose is not None
    (m, d), rolls = (len(contacts.gap), pose.q.shape[-1]), law.rolls
    normal = contacts.normals.reshape(m, d)
    if not (np.abs((normal * normal).sum(axis=1) - 1.0) <= UNIT).all():
        raise InvalidValue("friction needs gaps that are distances: scale each gap so that its gradient has length one")
    cones = Cones(normal, law.friction(contacts), law.exact, law.resistance(contacts) if rolls else None)
    (i, j), positions = contacts.bodies.T, pose.q.reshape(-1, d)
    few = m <= MAX_FEW_BLOCKS and isinstance(normal, np.ndarray)
    if pose.bodies.single and pose.axes is None and (rolls or not few):
        arms = contacts.arms(t)
        return BallBlocks(i, j, normal, len(positions), positions, True, arms=arms, rolling=rolls), cones
    return contacts.blocks(t, rolling=rolls), cones


def surface_velocities(law: Coulomb, contacts: Contacts, t: float) -> Array:
    """(m, d) the velocity of the surface of the wall in each contact of bodies, 0 between bodies."""
    pose = contacts.pose
    assert pose is not None
    first = contacts.bodies[:, 0]
    return law.surface_velocities(contacts, t, pose.q.reshape(-1, pose.q.shape[-1])[first] + contacts.levers(t)[0])


def _warn_if_thrown(K: Rows, P: Projection, cones: Cones, pushed: Array) -> None:
    """Warn if the convex law opens a closed contact because it slides."""
    d = cones.axis.shape[1]
    before, after = (cones.blocks_of(rows)[:, :d] for rows in (K.c, K.slack(P.point.ravel())))
    gap, rate = (before * cones.axis).sum(axis=1), ((after - before) * cones.axis).sum(axis=1)
    thrown = (pushed > 0.0) & (rate > NOTABLE * np.linalg.norm(after, axis=1)) & (gap <= rate)
    if thrown.any():
        warn(
            "the convex law of friction threw a body up that slides, at mu |s_T| / (1 + mu^2) and for every h: take "
            "jo.Coulomb, which does not",
            ThrownUp,
        )


def _guess(state: State, contacts: Contacts, own: Integers, others: Integers, cones: Cones) -> Array | None:
    """The impulses that the same contacts had in the last step, one for each row of the blocks."""
    known, (_, tangential, moments) = state.impulses_of(contacts), state.impulses
    if known is None or tangential is None or moments is None or state.contacts is None:
        return None
    (m, d), pairs, normal = cones.axis.shape, state.contacts.pairs, cones.axis
    p, wanted = place_of(normal).zeros((m, cones.height)), contacts.pairs[own]
    for axis in range(d):
        values = contiguous(tangential[:, axis])
        p[:, axis] = known[own] * normal[:, axis] + by_pair(pairs, values, wanted)
    for axis in range(cones.height - d):
        p[:, d + axis] = by_pair(pairs, contiguous(moments[:, axis]), wanted)
    return np.concatenate([p.ravel(), known[others]])
