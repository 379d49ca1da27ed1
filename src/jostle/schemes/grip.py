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
from jostle.bodies import Bodies, Turning
from jostle.convex.cones import UNIT, Cones
from jostle.convex.lever_blocks import MAX_FEW_BLOCKS, LeverBlocks
from jostle.convex.linear_map import Dense, Grips, LinearMap, Sparse
from jostle.convex.metric import Metric
from jostle.convex.projection import Projection
from jostle.convex.residuals import NO_RESIDUAL
from jostle.convex.rows import Rows
from jostle.errors import InvalidValue, ThrownUp, warn
from jostle.laws import Coulomb, ImpactLaw
from jostle.schemes.state import MIN_WARM_ROWS, State
from jostle.sets.contacts import Contacts, by_pair
from jostle.solvers.base import MAX_DENSE_ENTRIES, Solver, check_round_off

NOTABLE = 1e-3
"""A body is thrown up if it rises at more than this fraction of the velocity at which it slides."""
FRICTIONLESS = Coulomb(0.0)
"""The law of clumps without friction: their balls push along normals alone."""


class Pushed(NamedTuple):
    """What contacts did in a step: the projection, the normal impulse of each row, and how bodies turn after it."""

    projection: Projection
    point: Array
    """The new velocities, in the shape of those before."""
    multipliers: Array
    turning: Turning | None


def push(
    solver: Solver, problem: Any, state: State, contacts: Contacts, K: Rows, w: Array, M: Metric,
    turning: Turning | None,
) -> Pushed:  # fmt: skip
    """The projection of the velocities w on the rows K of contacts: bodies that turn also have spins, and friction.

    `turning` are the turns and spins of bodies at the contacts; None if they do not turn.
    """
    bodies, m, d = problem.bodies, len(contacts.gap), w.shape[-1]
    if m:
        check_round_off(w if turning is None else bodies.velocities(w, turning), K, solver.tol)
    if turning is not None and (m == 0 or _frictionless(problem.law)):
        return _push_along_normals(solver, bodies, state, contacts, K, w, M, turning)
    if turning is None:
        P = solver.project(w, K, M, state.impulses_of(contacts))
        return Pushed(P, P.point, P.multipliers, None)
    place = place_of(contacts.gap)
    blocks, cones, own, others = _blocks(problem, state, contacts, K, turning, d)
    normal, size = cones.axis, cones.height
    first = len(own) * size
    guess = _guess(state, contacts, own, others, normal, size)
    whole = bodies.joined(w, turning.turn, turning.spin)
    P = solver.project(whole, blocks, bodies.with_inertia(M, w.shape), guess)
    p = P.multipliers[:first].reshape(len(own), size)
    along = (p[:, :d] * normal).sum(axis=1)
    if not cones.coulomb:
        _warn_if_thrown(blocks, P, normal, along, size)
    multipliers = place.zeros(m)
    multipliers[own] = along
    if len(others):
        multipliers[others] = P.multipliers[first:]
    tangential = place.zeros((m, d))
    tangential[own] = p[:, :d] - along[:, None] * normal
    moments = place.zeros((m, AXES[d]))
    if size > d:
        moments[own] = p[:, d:]
    u, spin = bodies.split(P.point, turning.turn, w.shape)
    return Pushed(P, u, multipliers, Turning(turning.turn, spin, tangential, moments))


def _frictionless(law: ImpactLaw) -> bool:
    """Whether bodies that turn push along normals alone."""
    return not isinstance(law, Coulomb) or (not isinstance(law.mu, Mapping) and law.mu == 0.0 and not law.rolls)


def _push_along_normals(
    solver: Solver, bodies: Bodies, state: State, contacts: Contacts, K: Rows, w: Array, M: Metric, turning: Turning
) -> Pushed:
    """The projection of bodies that turn without friction: the spins of balls stay as they are."""
    (m, d), place = (len(contacts.gap), w.shape[-1]), place_of(contacts.gap)
    guess = state.impulses_of(contacts) if m >= MIN_WARM_ROWS else None
    turning = turning._replace(tangential=place.zeros((m, d)), rolling=place.zeros((m, AXES[d])))
    if bodies.clumped is None:
        P = solver.project(w, K, M, guess)
        return Pushed(P, P.point, P.multipliers, turning)
    whole = bodies.joined(w, turning.turn, turning.spin)
    if m == 0:
        return Pushed(Projection(whole, np.zeros(0), NO_RESIDUAL, 0, True, solver.name), w, np.zeros(0), turning)
    P = solver.project(
        whole, replace(K, G=on_bodies(K.G, bodies, turning.turn, d)), bodies.with_inertia(M, w.shape), guess
    )
    u, spin = bodies.split(P.point, turning.turn, w.shape)
    return Pushed(P, u, P.multipliers, turning._replace(spin=spin))


def _blocks(
    problem: Any, state: State, contacts: Contacts, K: Rows, turning: Turning, d: int
) -> tuple[Rows, Cones, Integers, Integers]:
    """Rows of contacts of balls as blocks on bodies, and all other rows; the cones; and the numbers of both kinds."""
    bodies, place = problem.bodies, place_of(contacts.gap)
    touching = contacts.pairs[:, 0] >= 0
    rows = np.flatnonzero(touching) if not touching.all() else None
    chosen = contacts if rows is None else contacts.only(rows)
    places = bodies.places(state.q, state.turning).reshape(-1, d)
    G, cones = grip(problem, chosen, turning, state.t, places)
    normal, size = cones.axis, cones.height
    own, others = place.arange(len(contacts.gap)), place.zeros(0, dtype=np.int64)
    if rows is not None:
        own, others = rows, np.flatnonzero(~touching)
    first, by_block = len(own) * size, place.zeros((len(own), size))
    by_block[:, :d] = K.c[own, None] * normal
    if _law(problem).drag:
        drag = dragged(problem, chosen, state.t, places)
        by_block[:, :d] += drag - (drag * normal).sum(axis=1)[:, None] * normal
    c, equal = by_block.ravel(), None
    length, noise = (np.repeat(each[own], size) for each in (K.length, K.noise))
    if len(others):
        from scipy.sparse import csr_array, vstack

        G = Sparse(csr_array(vstack([G.tocsr(), on_bodies(K.G.rows(others), bodies, turning.turn, d).tocsr()])))
        c, length, noise = (
            np.append(one, two[others]) for one, two in ((c, K.c), (length, K.length), (noise, K.noise))
        )
        equal = None if K.equal is None else np.append(np.zeros(first, dtype=bool), K.equal[others])

    def describe(row: int) -> str:
        return K.describe(int(own[row // size] if row < first else others[row - first]))

    return Rows(G, c, length, noise, equal, describe, cones, K.most), cones, own, others


def grip(problem: Any, contacts: Contacts, turning: Turning, t: float, places: Array) -> tuple[LinearMap, Cones]:
    """The blocks of contacts of balls at these places: a map on velocities and spins, and cones."""
    law, d = _law(problem), places.shape[1]
    normal = contacts.normals.reshape(len(contacts.gap), d)
    if not (np.abs((normal * normal).sum(axis=1) - 1.0) <= UNIT).all():
        raise InvalidValue("friction needs gaps that are distances: scale each gap so that its gradient has length one")
    rolling = law.resistance(contacts) if law.rolls else None
    lever = _Levers.of(problem.bodies, contacts, normal, turning.turn, t)
    G = lever.grips(normal, problem.bodies, turning.turn, places, rolling is not None)
    return G, Cones(normal, law.friction(contacts), law.exact, rolling)


def dragged(problem: Any, contacts: Contacts, t: float, places: Array) -> Array:
    """(m, d) the velocity of the surface of the wall in each contact of balls at these places, 0 between balls."""
    balls, normal = contacts.pairs[:, 0], contacts.normals.reshape(len(contacts.gap), places.shape[1])
    radii, _ = problem.bodies.sizes(t, places)
    return _law(problem).dragged(contacts, t, places[balls] + (0.0 if radii is None else radii[balls, None] * normal))


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


def turned_on(problem: Any, turning: Turning, h: float) -> Turning:
    """How bodies are turned and turn after a time h without contacts."""
    turn, spin = problem.bodies.rotated(turning.turn, turning.spin, h)
    return turning._replace(turn=turn, spin=spin)


def _guess(state: State, contacts: Contacts, own: Integers, others: Integers, normal: Array, size: int) -> Array | None:
    """The impulses that the same contacts had in the last step, one for each row of the blocks."""
    known, last = state.impulses_of(contacts), state.turning
    if known is None or last is None or state.contacts is None:
        return None
    (m, d), pairs = normal.shape, state.contacts.pairs
    p = place_of(normal).zeros((m, size))
    wanted = contacts.pairs[own]
    for axis in range(d):
        values = contiguous(last.tangential[:, axis])
        p[:, axis] = known[own] * normal[:, axis] + by_pair(pairs, values, wanted)
    for axis in range(size - d):
        p[:, d + axis] = by_pair(pairs, contiguous(last.rolling[:, axis]), wanted)
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
    def of(bodies: Bodies, contacts: Contacts, normal: Array, turn: Array, t: float) -> _Levers:
        """The levers of contacts between balls at the time t."""
        i, j = contacts.pairs.T
        place, wall = place_of(normal), j < 0
        balls = len(turn) if bodies.clumped is None else len(bodies.clumped.owner)
        sizes, _ = bodies.sizes(t, place.empty(balls))
        radii = place.zeros((len(i), 2))
        if sizes is not None:
            radii[:, 0], radii[:, 1] = sizes[i], np.where(wall, 0.0, sizes[np.maximum(j, 0)])
        radii[~wall] += contacts.gap[~wall, None] / 2.0  # both touch the same point: angular momentum stays as it is
        first = radii[:, :1] * normal + bodies.levers(turn, i)
        second = bodies.levers(turn, np.maximum(j, 0)) - radii[:, 1:] * normal
        other = np.where(wall, -1, bodies.owners(np.maximum(j, 0)))
        return _Levers(bodies.owners(i), other, first, np.where(wall[:, None], 0.0, second), radii)

    def grips(self, normal: Array, bodies: Bodies, turn: Array, places: Array, rolls: bool) -> LinearMap:
        """The relative velocities of the surfaces, and the relative spins if that is wanted, as a map."""
        n = len(turn)
        few = len(normal) <= MAX_FEW_BLOCKS and isinstance(normal, np.ndarray)
        if bodies.clumped is None and not bodies.own_axes and (rolls or not few):
            return Grips(self.i, self.j, normal, self.radii, n, places, rolls)
        d, s = normal.shape[1], AXES[normal.shape[1]]
        R = bodies.oriented(turn).rotations if bodies.own_axes else None
        blocks = []
        for body, lever, sign in ((self.i, self.first, -1.0), (self.j, self.second, 1.0)):
            block = np.zeros((len(body), d + s if rolls else d, d + s))
            block[:, :d] = sign * _at_lever(lever, None if R is None else R[body])
            if rolls:
                block[:, d:, d:] = sign * (np.eye(s) if R is None else R[body])
            block[body < 0] = 0.0
            blocks.append(block)
        if bodies.clumped is not None:  # each is about where its first ball is
            places = places[np.searchsorted(bodies.clumped.owner, np.arange(n))]
        return LeverBlocks(self.i, self.j, blocks[0], blocks[1], n, places)


def _at_lever(lever: Array, R: Array | None) -> Array:
    """(m, d, d + s) matrices of v + spin x lever; the spins are about the axes R (m, 3, 3) of bodies, if given."""
    m, d = lever.shape
    block = np.zeros((m, d, d + AXES[d]))
    block[:, :, :d] = np.eye(d)
    if d == 2:
        block[:, 0, 2], block[:, 1, 2] = -lever[:, 1], lever[:, 0]
        return block
    x, y, z = lever.T
    block[:, 0, 4], block[:, 0, 5] = z, -y
    block[:, 1, 3], block[:, 1, 5] = -z, x
    block[:, 2, 3], block[:, 2, 4] = y, -x
    if R is not None:
        block[:, :, 3:] = block[:, :, 3:] @ R
    return block


def on_bodies(G: LinearMap, bodies: Bodies, turn: Array, d: int) -> LinearMap:
    """Rows on the velocities of balls as rows on those of bodies, with their spins."""
    balls = np.arange(G.shape[1] // d)
    owner, lever = bodies.owners(balls), np.broadcast_to(bodies.levers(turn, balls), (len(balls), d))
    R = bodies.oriented(turn).rotations[owner] if bodies.own_axes else None
    block, width = _at_lever(lever, R), d + AXES[d]
    if G.shape[0] * G.shape[1] <= MAX_DENSE_ENTRIES:
        by_ball = np.einsum("mbi,bij->mbj", G.toarray().reshape(G.shape[0], len(balls), d), block)
        return Dense(
            np.add.reduceat(by_ball, np.searchsorted(owner, np.arange(len(turn))), axis=1).reshape(G.shape[0], -1)
        )
    from scipy.sparse import csr_array

    rows = np.broadcast_to((d * balls)[:, None, None] + np.arange(d)[:, None], block.shape)
    columns = np.broadcast_to((width * owner)[:, None, None] + np.arange(width), block.shape)
    shape = (d * len(balls), width * len(turn))
    return Sparse(csr_array(G.tocsr() @ csr_array((block.ravel(), (rows.ravel(), columns.ravel())), shape=shape)))
