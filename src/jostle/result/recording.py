"""What a run writes down while it goes: frames, statistics, impacts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jostle._tools.arrays import Array, Booleans, Integers, lowest, moved_to, place_of, read_only, to_host
from jostle._tools.rotations import AXES
from jostle.bodies import UNTURNED, contact_points
from jostle.contacts import Contacts, by_pair
from jostle.convex.linear_map import LinearMap
from jostle.convex.metric import Metric
from jostle.laws import Coulomb
from jostle.problems import Motion
from jostle.result.impacts import Impacts, impact_type
from jostle.result.solution import Solution
from jostle.schemes.base import Scheme
from jostle.schemes.friction import surface_velocities
from jostle.schemes.state import POSITION_ROUND_OFF, State
from jostle.sets.base import in_motion
from jostle.solvers.base import MAX_NAME_LENGTH

# When an impact happened inside a time step: the root of the gap along the free flight around the step.
#
# A scheme knows in which step a contact closed. Around the start t^n of this step the motion without the contact is
#
#     q(t^n + s) = q^n + s v + s^2 a / 2,
#
# with the velocity v at t^n and the acceleration a where it is constant (else a = 0 here). Maury's and Paoli's
# velocities, with which q^n = q^{n-1} + h u^n, belong to the middle of the last step, so that v = u^n + h a / 2; those
# of Moreau and Jean are v = u^n. The gap, linear in q, has its first root at a time whose error is O(h^2) against the
# motion that the scheme computes, and zero for a plane and a constant force. Errors of q^n come on top.


SAME_STEP = 1e-9
"""A step that differs from h u by less than this fraction of it is h u."""


def constant_acceleration(problem: Motion) -> Array | None:
    """M^-1 f where force and mass are constant; None where they are functions."""
    if problem.constant_force is None or not isinstance(problem.mass, Metric):
        return None
    acceleration = problem.mass.solve(problem.constant_force.ravel())
    if problem.bodies.parts is None:
        return acceleration
    return acceleration.reshape(len(problem.q0), -1)[problem.bodies.parts.owner].ravel()  # but for the spins


def _first_root(c: Array, b: Array, a: Array) -> Array:
    """Where c + b s + a s^2 goes from positive to negative, near 0 if b < 0; not finite if it does not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(b * b - 4.0 * a * c)
        falling = 2.0 * c / (root - b)
        rising = np.where(a < 0.0, (b + root) / (-2.0 * a), np.inf)
        return np.where(b < 0.0, falling, rising)


# Which contacts close in a step, when and how fast, and the work of contacts and moving walls.


MIN_APPROACH = 1e-9
"""A gap that closes at less than this fraction of the velocities is not an approach."""
NO_PAIRS, NO_ROWS = np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64)


class Closing(NamedTuple):
    """What an `ImpactLog` remembers from one step to the next, as numbers and arrays, which a checkpoint can store."""

    touching: Integers
    """(k, 2) the pairs with p != 0 in the last step."""
    q: Array = np.zeros(0)
    h: float = 0.0
    """Start q and length h of the last step; h = 0 before the first one."""
    open: NDArray[Any] = np.zeros(0, dtype=impact_type())
    """(m,) the impacts that began in the last step, whose rates and impulses change in the next one."""
    drift: Array = np.zeros(0)
    """(m,) dg/dt of their gaps after the step."""
    row: Integers = NO_ROWS
    column: Integers = NO_ROWS
    value: Array = np.zeros(0)
    """The gradients of their gaps, entry by entry."""

    def rates(self, u: Array) -> Array:
        """(m,) G u of the impacts that began in the last step."""
        moved = to_host(u.ravel()[moved_to(self.column, u)])
        return np.asarray(np.bincount(self.row, self.value * moved, len(self.open)), dtype=float)


def _entries(G: LinearMap) -> tuple[Integers, Integers, Array]:
    """The rows, columns and values of the entries of a map."""
    contacts = G.contacts
    if contacts is not G:
        found = G.tocsr().tocoo()
        return found.row, found.col, found.data
    i, j, normal = (to_host(each) for each in (contacts.i, contacts.j, contacts.normal))
    (m, d), two = normal.shape, j >= 0
    row, axis = np.repeat(np.arange(m), d).reshape(m, d), np.arange(d)
    of_first = row, i[:, None] * d + axis, -normal
    of_second = row[two], j[two, None] * d + axis, normal[two]
    rows, columns, values = (np.append(one, other) for one, other in zip(of_first, of_second, strict=True))
    return rows, columns, values


def impact_type_of(state: State) -> np.dtype[Any]:
    """The type of the records of impacts of a run: with friction if bodies turn."""
    return impact_type(0 if state.pose.orientation is None else state.q.shape[-1])


class ImpactLog:
    """Finds the contacts that close: a pair with p > 0 now that had p = 0 in the step before; no equalities.

    `closed` are the records of impacts whose two steps are over, which a saver may take away.
    """

    def __init__(self, problem: Motion, scheme: Scheme, start: State, memory: Closing | None = None) -> None:
        """`memory` is that of the log of a run that is resumed from `start`."""
        self.within, self.bodies, self.linearised = problem.within, problem.bodies, scheme.linearises
        self.acceleration = constant_acceleration(problem)
        pairs, p, _ = contacts_of(start)
        self.kind = impact_type_of(start)
        self.memory = Closing(pairs[p != 0.0], open=np.zeros(0, dtype=self.kind)) if memory is None else memory
        self.closed: list[NDArray[Any]] = []

    def add(self, before: State, after: State, h: float) -> int:
        """Note a step of length h; the number of impacts that are over with it."""
        contacts, p, last = after.contacts, after.multipliers, self.memory
        assert contacts is not None
        pushed = p if contacts.equal is None else np.where(contacts.equal, 0.0, p)  # equalities do not close
        rows = pushed.nonzero()[0]
        pairs, touching = contacts.pairs[rows], moved_to(last.touching, p)
        self.memory = Closing(pairs, before.centres, h, last.open[:0])
        if len(last.open) == 0 and len(pairs) == len(touching) and (pairs == touching).all():
            return 0
        new = rows[by_pair(touching, place_of(pairs).ones(len(touching)), pairs) == 0.0]
        if len(last.open):
            self.closed.append(self._second_step(last, before, after, h, contacts.pairs[new]))
        if len(new) == 0:
            return len(last.open)
        chosen = in_motion(self.within, contacts, before.centres).only(new)
        drift = drifts(chosen, before.t, h, self.linearised)
        rate = chosen.G @ before.velocities.ravel() + drift[0]
        speeds = MIN_APPROACH * np.abs(before.velocities) + POSITION_ROUND_OFF * np.abs(before.centres) / h
        rate = np.where(np.abs(rate) <= chosen.G.magnitude(speeds.ravel()), 0.0, rate)
        rate_after = chosen.G @ after.velocities.ravel() + drift[1]
        moments = self._moments(last, before, chosen, rate, h)
        grip = () if after.impulses.tangential is None else (after.impulses.tangential[new],)
        columns = map(to_host, (chosen.pairs, rate, rate_after, p[new], moments, *grip))
        open_ones = np.zeros(len(new), dtype=self.kind)
        for name, values in zip(self.kind.names or (), (after.t, *columns), strict=True):
            open_ones[name] = values
        self.memory = Closing(pairs, before.centres, h, open_ones, to_host(drift[1]), *_entries(chosen.G))
        return len(last.open)

    def _moments(self, last: Closing, before: State, contacts: Contacts, rate: Array, h: float) -> Array:
        """The times at which contacts closed in the step from `before`, which approached at these rates."""
        if contacts.at is None:
            return np.full(len(rate), before.t + h)
        gap = contacts.gap
        if contacts.gap_at is not None:
            gap = contacts.gap_at(before.t, place_of(gap).arange(len(gap)))
        gap = gap + contacts.G @ (before.centres - contacts.at).ravel()
        earliest, bend = last.h, 0.0 * rate
        if self.acceleration is not None:
            bend = contacts.G @ moved_to(self.acceleration, rate)
        if earliest:
            u = before.velocities
            off = np.abs(before.centres - moved_to(last.q, u) - earliest * u).max()
            if off <= SAME_STEP * earliest * np.abs(u).max():
                rate = rate + earliest / 2.0 * bend
        s = _first_root(gap, rate, bend / 2.0)
        inside = np.isfinite(s) & (s <= h) & (s >= -earliest)
        return before.t + np.where(inside, s, h)

    def _second_step(self, last: Closing, before: State, after: State, h: float, new: Integers) -> NDArray[Any]:
        """The impacts that began in the step before, with what this step does to them, in which the pairs `new` close.

        An impact that was over after its first step keeps its rate if its contact, or one of its bodies with another
        one, closes again.
        """
        contacts, found = after.contacts, last.open.copy()
        assert contacts is not None
        pairs, impulse = moved_to(np.ascontiguousarray(found["pair"]), contacts.pairs), after.multipliers
        if contacts.equal is not None:
            impulse = np.where(contacts.equal, 0.0, impulse)
        more = to_host(by_pair(contacts.pairs, impulse, pairs))
        found["impulse"] += more
        if after.impulses.tangential is not None:
            for grip, now in zip(found["tangential"].T, after.impulses.tangential.T, strict=True):
                grip += to_host(by_pair(contacts.pairs, now.copy(), pairs))
        rate_after = found["after"]
        rate = last.rates(after.velocities) + self._drift(last, pairs, before, contacts, h)
        over, again = rate_after >= MIN_APPROACH * found["before"], (more != 0.0) & (rate < rate_after)
        met = (more == 0.0) & self._met(found["pair"], to_host(new))
        free = 0.0 if self.acceleration is None else h * last.rates(self.acceleration)
        kept = rate_after + np.where(met, free, 0.0)
        found["after"] = np.where(over & (met | again), kept, rate)
        return found

    def _drift(self, last: Closing, pairs: Integers, before: State, contacts: Contacts, h: float) -> Array:
        """dg/dt of the impacts of the step before after this one; those that are out of reach now keep theirs."""
        if self.within.moving is False:
            return last.drift
        numbers: NDArray[Any] = place_of(pairs).arange(len(contacts.pairs)) + 0.0
        row = np.asarray(to_host(by_pair(contacts.pairs, numbers, pairs, -1.0)), dtype=np.int64)
        drift, near = last.drift.copy(), np.flatnonzero(row >= 0)
        there = in_motion(self.within, contacts.only(moved_to(row[near], pairs)), before.centres)
        drift[near] = to_host(drifts(there, before.t, h, self.linearised)[1])
        return drift

    def _met(self, pairs: Integers, others: Integers) -> Booleans:
        """Which pairs have a body that is in one of the other pairs; constraints on the configuration have all."""
        if len(others) == 0 or (others[:, 0] < 0).any():
            return np.full(len(pairs), len(others) > 0)
        balls = others[others >= 0]
        there = np.isin(self.bodies.owners(np.maximum(pairs, 0)), self.bodies.owners(balls))
        return np.asarray((there & (pairs >= 0)).any(axis=1) | (pairs[:, 0] < 0))

    def take(self) -> NDArray[Any]:
        """The impacts whose two steps are over, which the log then forgets."""
        taken, self.closed = np.concatenate([*self.closed, self.memory.open[:0]]), []
        return taken

    def result(self) -> Impacts:
        """All impacts that were not taken away."""
        return Impacts.of(np.concatenate([*self.closed, self.memory.open]), self.bodies)


def drifts(contacts: Contacts, t: float, h: float, linearised: bool) -> tuple[Array, Array]:
    """dg/dt of contacts before and after a step from t to t + h, where their bodies stay.

    A step that keeps linearised constraints has one rate of each wall; other steps have one at each of their ends.
    """
    if contacts.gap_at is None or not linearised:
        return contacts.drifts(t, h)
    rows = place_of(contacts.gap).arange(len(contacts.gap))
    mean = (contacts.gap_at(t + h, rows) - contacts.gap_at(t, rows)) / h
    return mean, mean


def works(problem: Motion, linearised: bool, before: State, after: State, h: float) -> tuple[float, float]:
    """The energy that the contacts dissipated in a step of a `Motion`, and the work of walls and radii that move.

    An impact at one time, which leads to a state of the time before, is a step at the rates of that time.

    The kinetic energy changes by the impulses times the mean of the two velocities. With the rates c = G u + dg/dt of
    the gaps, the contacts add p . G (u^n + u^{n+1}) / 2 = p . (c^n + c^{n+1}) / 2 - p . (d^n + d^{n+1}) / 2: what is
    dissipated, with the other sign, and the work of what moves.
    """
    contacts, p = after.contacts, after.multipliers
    assert contacts is not None
    rows = p.nonzero()[0]
    if len(rows) == 0:
        return 0.0, 0.0
    work, friction = 0.0, after.impulses.tangential
    if friction is None:
        added = float((p * (contacts.G @ (0.5 * (before.u + after.u).ravel()))).sum())
    else:
        bodies, mean = after.pose.bodies, 0.5 * (before.w + after.w)
        if (joints := contacts.joints) is not None:
            driven = len(p) - len(joints.rate) + np.flatnonzero(joints.driven)
            work = float((p[driven] * contacts.rates(mean)[driven]).sum())
        added = float((after.pushes() * (0.5 * (before.u + after.u)).ravel()).sum())
        added += bodies.energy_of_spins(after.w) - bodies.energy_of_spins(before.w)  # bodies turn freely otherwise
        if problem.torque is not None and h > 0.0:
            middle = before.pose if linearised else before.pose.moved(before.w, h / 2.0)[0]
            added -= problem.work_of_torque(before.t + h / 2.0, middle, before.w, mean, h)
        if isinstance(problem.law, Coulomb) and problem.law.surface_velocity:
            touching = (contacts.pairs[:, 0] >= 0).nonzero()[0]
            surfaces = surface_velocities(problem.law, contacts.only(touching), before.t)
            work -= float((friction[touching] * surfaces).sum())
    if problem.within.moving is False:
        return work - added, work
    drift = drifts(in_motion(problem.within, contacts, before.centres).only(rows), before.t, h, linearised)
    work -= 0.5 * float((p[rows] * (drift[0] + drift[0 if after.t == before.t else 1])).sum())
    return work - added, work


def contacts_of(state: State) -> tuple[Integers, Array, Array]:
    """The pairs, multipliers and normals of the step that led to the state."""
    if state.contacts is None:
        return NO_PAIRS, state.multipliers, np.zeros((0, 0))
    return state.contacts.pairs, state.multipliers, state.contacts.normals


# What is recorded about each step of a run.


STATISTICS = np.dtype(
    [
        ("t", float),
        ("h", float),
        ("rows", np.int64),
        ("active", np.int64),
        ("iterations", np.int64),
        ("primal", float),
        ("dual", float),
        ("complementarity", float),
        ("overshoot", float),
        ("converged", bool),
        ("solver", f"U{MAX_NAME_LENGTH}"),
        ("dissipated", float),
        ("wall_work", float),
    ]
)
"""One record per step: the time it led to, its length, the rows and active rows of its projection, iterations, the
three dimensionless residuals of the projection, the deepest overlap that `primal` does not bound, whether it converged,
which solver did it, and of a `Motion` the energy that its contacts dissipated and the work of moving walls and radii.

`primal` is the worst violation of the constraints that were projected on, over the smallest radius. With `Maury` and
`Venel` it bounds every overlap of convex gaps; with `CatchingUp`, and `Paoli` with e = 0, it is the worst overlap.
`overshoot`, over the same length, is the true overlap of the positions reached where `primal` does not give it: behind
curved walls, and everywhere with `MoreauJean`, and with `Paoli` if e > 0. ``sol.overlap`` is the larger of both. Where
the set has no radius, `overshoot` is the depth itself."""


def shown(state: State) -> Array:
    """q, NaN for those who are not there."""
    return state.q if state.presence is None else np.where(state.presence.here[:, None], state.q, np.nan)


def smallest_gap(problem: Any, state: State) -> float:
    """The smallest gap at a state, negative for an overlap; inf where no two bodies are near each other."""
    return lowest(state.within(problem.within).contacts(state.t, state.pose, 0.0).margin, np.inf)


def record_of(problem: Any, scheme: Scheme, before: State, state: State, h: float) -> tuple[Any, ...]:
    """A record of `STATISTICS` of the step of length h that led to the state."""
    P = state.projection
    assert P is not None
    energy = 0.0, 0.0
    if isinstance(problem, Motion):
        presence = before.presence if problem.within.equalities else None
        begun = scheme.begun(problem if presence is None else problem.of_those_present(presence), before, h)
        energy = works(problem, scheme.linearises, begun, state, h)
        if begun is not before:
            lost = works(problem, scheme.linearises, before, begun, h)
            energy = energy[0] + lost[0], energy[1] + lost[1]
    r, p = P.residual, state.multipliers
    return (
        state.t, h, len(p), len(p.nonzero()[0]), P.iterations, r.primal, r.dual, r.complementarity,
        state.overshoot, P.converged, P.solver, *energy,
    )  # fmt: skip


class Saver:
    """What the time loop asks of a saver; the answers here are those of one that keeps its frames in memory."""

    frames: list[Any]
    log: ImpactLog | None = None
    """The impacts of a `Motion`."""

    @property
    def saved_at(self) -> float:
        """The time of the last saved state."""
        return float(self.frames[-1].t)

    @property
    def broken(self) -> bool:
        """True if nothing can be saved any more."""
        return False

    @property
    def counted(self) -> tuple[int, int, int]:
        """Number of frames, of step records and of impacts that were given to a file."""
        return 0, 0, 0

    def save(self, state: Any) -> None:
        """Keep a state."""
        raise NotImplementedError

    def add(self, before: Any, after: Any, h: float) -> None:
        """Note a step of length h."""
        raise NotImplementedError

    def commit(self) -> None:
        """Make all that was given to a file safe."""

    def frame_checksum(self, frames: int) -> int:
        """A number by which the file of the run is recognised when it is resumed; 0 without a file."""
        return 0

    def solution(self, status: str) -> Any:
        """What was kept, as the result of a run that ended with this status."""
        raise NotImplementedError


class Turned(NamedTuple):
    """How bodies are turned and turn at one time, and the friction in its contacts, as a `Solution` has them."""

    orientation: Array
    spin: Array
    tangential: Array
    rolling: Array
    points: Array | None = None
    """Where contacts act, if `contact_points` does not say it."""

    @staticmethod
    def of(state: State) -> Turned | None:
        """That of a state, where bodies that are away are not turned; None if its bodies do not turn."""
        if state.pose.orientation is None:
            return None
        orientation, spin, (_, tangential, rolling) = state.orientation, state.spin, state.impulses
        assert orientation is not None
        assert spin is not None
        if state.presence is not None:  # files do not have those who are away
            here, away = state.presence.here, 0.0 if orientation.ndim == 1 else UNTURNED
            orientation = np.where(here if orientation.ndim == 1 else here[:, None], orientation, away)
        if tangential is None or rolling is None:
            d = state.q.shape[-1]
            tangential, rolling = np.zeros((0, d)), np.zeros((0, AXES[d]))
        return Turned(orientation, spin, tangential, rolling, _points(state))


def _points(state: State) -> Array | None:
    """(m, d) where contacts act on the surfaces of their first bodies, those between corners of shapes, too.

    Points of contact move with the corners that carry them in the step.
    """
    if not state.pose.bodies.has_cores:
        return None
    x, contacts = state.centres, state.contacts
    if not isinstance(contacts, Contacts) or contacts.feet is None or contacts.at is None:
        return np.zeros((0, x.shape[1]))
    points = contact_points(x, state.pose.bodies.radii_at(state.t), contacts.pairs, contacts.normals)
    parts, weights, before = contacts.feet
    carried = before + np.einsum("mk,mkd->md", np.maximum(-weights, 0.0), (x - contacts.at.reshape(x.shape))[parts])
    return np.where(np.isfinite(before), carried, points)


class Frame(NamedTuple):
    """What is kept of a saved state."""

    t: float
    q: Array
    u: Array
    multipliers: Array
    pairs: Integers
    normals: Array
    z: Array | None
    impulse_time: float
    turned: Turned | None = None


class MemorySaver(Saver):
    """Collects what becomes the `Solution`."""

    def __init__(self, problem: Any, scheme: Any, start: State, memory: Closing | None = None):
        """`memory` is that of the impacts of a run that is resumed from `start`."""
        self.problem, self.scheme = problem, scheme
        self.frames: list[Frame] = []
        self.stats: list[tuple[Any, ...]] = []
        self.last: tuple[Any, Any, Any] = None, None, None
        """G, the pairs and the normals of the last saved state; a set whose G does not change returns the same ones."""
        self.log = ImpactLog(problem, scheme, start, memory) if isinstance(problem, Motion) else None
        self.save(start)

    def save(self, state: State) -> None:
        contacts = state.contacts
        G = getattr(contacts, "G", None)  # a checkpoint does not have it
        if contacts is None:
            pairs, _, normals = contacts_of(state)
        elif G is not None and G is self.last[0] and contacts.pairs is self.last[1] and contacts.known:
            _, pairs, normals = self.last
        else:
            self.last = _, pairs, normals = G, contacts.pairs, read_only(contacts.normals[:])
        z = getattr(state.memory, "z", None)
        q = state.q if state.presence is None else shown(state)
        p = state.multipliers
        turned = None if state.pose.orientation is None else Turned.of(state)
        self.frames.append(Frame(state.t, q, state.u, p, pairs, normals, z, state.impulse_time, turned))

    def add(self, before: State, after: State, h: float) -> None:
        self.stats.append(record_of(self.problem, self.scheme, before, after, h))
        if self.log is not None:
            self.log.add(before, after, h)

    def solution(self, status: str) -> Solution:
        t, q, u, multipliers, pairs, normals, z, impulse_times, turned = zip(*self.frames, strict=True)
        paoli = [one for one in z[1:] if one is not None]
        return Solution(
            self.problem,
            self.scheme,
            read_only(np.array(t)),
            read_only(np.stack(q)),
            read_only(np.stack(u)),
            multipliers,
            pairs,
            normals,
            np.array(self.stats, dtype=STATISTICS),
            status,
            read_only(np.stack([q[0], *paoli])) if paoli else None,
            None if self.log is None else self.log.result(),
            impulse_times=read_only(np.array(impulse_times)),
            **({} if turned[0] is None else turned_frames(turned)),
        )


def turned_frames(turned: tuple[Turned, ...]) -> dict[str, Any]:
    """The orientations, spins and impulses of friction of saved states, as a `Solution` keeps them."""
    points = tuple(one.points for one in turned)
    return {
        **({} if points[0] is None else {"points": points}),
        "orientation": read_only(np.stack([one.orientation for one in turned])),
        "spin": read_only(np.stack([one.spin for one in turned])),
        "tangential": tuple(one.tangential for one in turned),
        "rolling": tuple(one.rolling for one in turned),
    }
