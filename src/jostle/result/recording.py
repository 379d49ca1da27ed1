"""What a run writes down while it goes: frames, statistics, impacts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers, lowest, moved_to, place_of, read_only, to_host
from jostle._tools.rotations import AXES
from jostle.convex.metric import Metric
from jostle.problems import Motion
from jostle.result.impacts import Impacts
from jostle.result.solution import Solution
from jostle.schemes.base import Scheme
from jostle.schemes.grip import dragged
from jostle.schemes.state import POSITION_ROUND_OFF, State
from jostle.sets.base import ConstraintSet, in_motion
from jostle.sets.contacts import Contacts, by_pair
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
    if problem.bodies.clumped is None:
        return acceleration
    return acceleration.reshape(len(problem.q0), -1)[problem.bodies.clumped.owner].ravel()  # but for the spins


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
NO_PAIRS = np.zeros((0, 2), dtype=np.int64)


class ImpactLog:
    """Finds the contacts that close: a pair with p > 0 now that had p = 0 in the step before; no equalities."""

    def __init__(
        self, within: ConstraintSet, start: State, linearised: bool = True, acceleration: Array | None = None
    ) -> None:
        self.within, self.linearised, self.acceleration = within, linearised, acceleration
        self.events: list[tuple[Any, ...]] = []
        self.steps: list[tuple[Any, float]] = []
        """Start q and length h of the last two steps."""
        pairs, p, _ = contacts_of(start)
        self.touching = pairs[p != 0.0]
        self.fresh: Contacts | None = None

    def add(self, before: State, after: State, h: float) -> None:
        contacts, p = after.contacts, after.multipliers
        assert contacts is not None
        self.steps = [*self.steps[-1:], (before.centres, h)]
        pushed = p if contacts.equal is None else np.where(contacts.equal, 0.0, p)  # equalities do not close
        rows = pushed.nonzero()[0]
        pairs, touching = contacts.pairs[rows], moved_to(self.touching, p)
        if self.fresh is None and len(pairs) == len(touching) and (pairs == touching).all():
            return
        new = rows[by_pair(touching, place_of(pairs).ones(len(touching)), pairs) == 0.0]
        if self.fresh is not None:
            self._second_step(before, after, h, pairs, p[rows], contacts.pairs[new])
        if len(new):
            chosen = in_motion(self.within, contacts, before.centres).only(new)
            drift = drifts(chosen, before.t, h, self.linearised)
            rate = chosen.G @ before.velocities.ravel() + drift[0]
            speeds = MIN_APPROACH * np.abs(before.velocities) + POSITION_ROUND_OFF * np.abs(before.centres) / h
            rate = np.where(np.abs(rate) <= chosen.G.magnitude(speeds.ravel()), 0.0, rate)
            rate_after = chosen.G @ after.velocities.ravel() + drift[1]
            moments = self._moments(before, chosen, rate)
            friction = after.impulses.tangential
            grip = () if friction is None else (friction[new],)
            self.events.append((after.t, *map(to_host, (chosen.pairs, rate, rate_after, p[new], moments, *grip))))
            self.fresh = chosen
        self.touching = pairs

    def _moments(self, before: State, contacts: Contacts, rate: Array) -> Array:
        """The times at which contacts closed in the step from `before`, which approached at these rates."""
        h = self.steps[-1][1]
        if contacts.at is None:
            return np.full(len(rate), before.t + h)
        gap = contacts.gap
        if contacts.gap_at is not None:
            gap = contacts.gap_at(before.t, place_of(gap).arange(len(gap)))
        gap = gap + contacts.G @ (before.centres - contacts.at).ravel()
        earliest, bend = 0.0, 0.0 * rate
        if self.acceleration is not None:
            bend = contacts.G @ moved_to(self.acceleration, rate)
        if len(self.steps) == 2:
            (q, earliest), u = self.steps[0], before.velocities
            off = np.abs(before.centres - q - earliest * u).max()
            if off <= SAME_STEP * earliest * np.abs(u).max():
                rate = rate + earliest / 2.0 * bend
        s = _first_root(gap, rate, bend / 2.0)
        inside = np.isfinite(s) & (s <= h) & (s >= -earliest)
        return before.t + np.where(inside, s, h)

    def _second_step(
        self, before: State, after: State, h: float, pairs: Integers, p: Array, new: Integers
    ) -> None:  # fmt: skip
        """Continue the impact of the step before in this step, in which the pairs `new` close.

        An impact that was over after its first step keeps its rate if its contact, or one of its bodies with another
        one, closes again.
        """
        chosen = self.fresh
        assert chosen is not None
        rate_before, rate_after, impulse = self.events[-1][2:5]
        more = to_host(by_pair(pairs, p, chosen.pairs))
        impulse += more
        friction = after.impulses.tangential
        if friction is not None and after.contacts is not None:
            for grip, now in zip(self.events[-1][6].T, friction.T, strict=True):
                grip += to_host(by_pair(after.contacts.pairs, now.copy(), chosen.pairs))
        rate = to_host(chosen.G @ after.velocities.ravel() + drifts(chosen, before.t, h, self.linearised)[1])
        over, again = rate_after >= MIN_APPROACH * rate_before, (more != 0.0) & (rate < rate_after)
        met = (more == 0.0) & self._met(to_host(chosen.pairs), to_host(new))
        free = 0.0 if self.acceleration is None else h * to_host(chosen.G @ moved_to(self.acceleration, p))
        rate_after[:] = np.where(over & (met | again), rate_after + np.where(met, free, 0.0), rate)
        self.fresh = None

    def _met(self, pairs: Integers, others: Integers) -> Booleans:
        """Which pairs have a body that is in one of the other pairs; constraints on the configuration have all."""
        if len(others) == 0 or (others[:, 0] < 0).any():
            return np.full(len(pairs), len(others) > 0)
        balls = others[others >= 0]
        there = np.isin(self.within.bodies.owners(np.maximum(pairs, 0)), self.within.bodies.owners(balls))
        return np.asarray((there & (pairs >= 0)).any(axis=1) | (pairs[:, 0] < 0))

    def result(self) -> Impacts:
        clumped = self.within.bodies.clumped
        if not self.events:
            nothing = np.zeros(0)
            return Impacts(nothing, NO_PAIRS, nothing, nothing, nothing, nothing, clumped=clumped)
        t = np.concatenate([np.full(len(event[1]), event[0]) for event in self.events])
        columns: list[Any] = [
            np.concatenate([event[k] for event in self.events]) for k in range(1, len(self.events[0]))
        ]
        return replace(Impacts(t, *columns), clumped=clumped)


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
        bodies = after.pose.bodies
        added = float((after.pushes() * (0.5 * (before.u + after.u)).ravel()).sum())
        added += bodies.energy_of_spins(after.w) - bodies.energy_of_spins(before.w)  # bodies turn freely otherwise
        touching = (contacts.pairs[:, 0] >= 0).nonzero()[0]
        drag = dragged(problem, contacts.only(touching), before.t, before.centres.reshape(-1, friction.shape[1]))
        work = -float((friction[touching] * drag).sum())
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
    return lowest(state.within(problem.within).linearise(state.t, state.centres, 0.0).margin, np.inf)


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

    @property
    def saved_at(self) -> float:
        """The time of the last saved state."""
        return float(self.frames[-1].t)

    @property
    def broken(self) -> bool:
        """True if nothing can be saved any more."""
        return False

    @property
    def counted(self) -> tuple[int, int]:
        """Number of frames and of step records that were given to a file."""
        return 0, 0

    def save(self, state: Any) -> None:
        """Keep a state."""
        raise NotImplementedError

    def add(self, before: Any, after: Any, h: float) -> None:
        """Note a step of length h."""
        raise NotImplementedError

    def commit(self) -> None:
        """Make all that was given to a file safe."""

    def seal(self, frames: int) -> int:
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

    @staticmethod
    def of(state: State) -> Turned | None:
        """That of a state; None if its bodies do not turn."""
        orientation, spin, (_, tangential, rolling) = state.orientation, state.spin, state.impulses
        if orientation is None or spin is None:
            return None
        if tangential is None or rolling is None:
            d = state.q.shape[-1]
            tangential, rolling = np.zeros((0, d)), np.zeros((0, AXES[d]))
        return Turned(orientation, spin, tangential, rolling)


class Frame(NamedTuple):
    """What is kept of a saved state."""

    t: float
    q: Array
    u: Array
    multipliers: Array
    pairs: Integers
    normals: Array
    z: Array | None
    duration: float
    turned: Turned | None = None


class MemorySaver(Saver):
    """Collects what becomes the `Solution`."""

    def __init__(self, problem: Any, scheme: Any, start: State):
        self.problem, self.scheme = problem, scheme
        self.frames: list[Frame] = []
        self.stats: list[tuple[Any, ...]] = []
        self.last: tuple[Any, Any, Any] = None, None, None
        """G, the pairs and the normals of the last saved state; a set whose G does not change returns the same ones."""
        self.log: ImpactLog | None = None
        if isinstance(problem, Motion):
            self.log = ImpactLog(problem.within, start, scheme.linearises, constant_acceleration(problem))
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
        self.frames.append(Frame(state.t, q, state.u, p, pairs, normals, z, state.duration, Turned.of(state)))

    def add(self, before: State, after: State, h: float) -> None:
        self.stats.append(record_of(self.problem, self.scheme, before, after, h))
        if self.log is not None:
            self.log.add(before, after, h)

    def solution(self, status: str) -> Solution:
        t, q, u, multipliers, pairs, normals, z, durations, turned = zip(*self.frames, strict=True)
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
            durations=read_only(np.array(durations)),
            **({} if turned[0] is None else turned_frames(turned)),
        )


def turned_frames(turned: tuple[Turned, ...]) -> dict[str, Any]:
    """The orientations, spins and impulses of friction of saved states, as a `Solution` keeps them."""
    return {
        "orientation": read_only(np.stack([one.orientation for one in turned])),
        "spin": read_only(np.stack([one.spin for one in turned])),
        "tangential": tuple(one.tangential for one in turned),
        "rolling": tuple(one.rolling for one in turned),
    }
