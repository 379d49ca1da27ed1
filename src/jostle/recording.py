"""What a run writes down while it goes: frames, statistics, impacts."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from jostle.arrays import Array, Integers, lowest
from jostle.impact_log import ImpactLog, contacts_of, works
from jostle.impact_times import ImpactTimes, constant_acceleration
from jostle.problems import Motion
from jostle.schemes.state import State
from jostle.solution import Solution
from jostle.step_statistics import STATISTICS


def shown(state: State) -> Array:
    """q, NaN for those who are not there."""
    return state.q if state.presence is None else np.where(state.presence.here[:, None], state.q, np.nan)


def smallest_gap(problem: Any, state: State) -> float:
    """The smallest gap at a state, negative for an overlap; inf where no two bodies are near each other."""
    return lowest(state.within(problem.within).linearise(state.t, state.q, 0.0).margin, np.inf)


def record_of(problem: Any, linearised: bool, before: State, state: State, h: float) -> tuple[Any, ...]:
    """A record of `STATISTICS` of the step of length h that led to the state.

    `linearised` says whether the step kept linearised constraints.
    """
    P = state.projection
    assert P is not None
    energy = works(problem.within, linearised, before, state, h) if isinstance(problem, Motion) else (0.0, 0.0)
    r, p = P.residual, state.multipliers
    return (
        state.t, h, len(p), int(np.count_nonzero(p)), P.iterations, r.primal, r.dual, r.complementarity,
        state.overshoot, P.converged, P.solver, *energy,
    )  # fmt: skip


class Recording(Protocol):
    """What `solve` asks of a recorder, in memory or in a file."""

    @property
    def saved_at(self) -> float:
        """The time of the last saved state."""

    @property
    def broken(self) -> bool:
        """True if nothing can be saved any more."""

    def save(self, state: State) -> None:
        """Keep a state."""

    def add(self, before: State, after: State, h: float) -> None:
        """Note a step of length h."""

    @property
    def counted(self) -> tuple[int, int]:
        """Number of frames and of step records that were given to a file."""

    def commit(self) -> None:
        """Make all that was given to a file safe."""

    def solution(self, status: str) -> Solution:
        """The end."""


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


class Recorder:
    """Collects what becomes the `Solution`."""

    broken = False
    """True if nothing can be saved any more."""
    counted = (0, 0)
    """Number of frames and of step records in a file."""

    def __init__(self, problem: Any, scheme: Any, start: State):
        self.problem, self.scheme = problem, scheme
        self.frames: list[Frame] = []
        self.stats: list[tuple[Any, ...]] = []
        self.log = ImpactLog(problem.within, start, scheme.linearises) if isinstance(problem, Motion) else None
        if self.log is not None:
            self.log.times = ImpactTimes(constant_acceleration(problem))
        self.save(start)

    @property
    def saved_at(self) -> float:
        """The time of the last saved state."""
        return self.frames[-1].t

    def save(self, state: State) -> None:
        pairs, multipliers, normals = contacts_of(state)
        z = getattr(state.memory, "z", None)
        self.frames.append(Frame(state.t, shown(state), state.u, multipliers, pairs, normals, z, state.duration))

    def commit(self) -> None:
        """Nothing is in a file."""

    def add(self, before: State, after: State, h: float) -> None:
        self.stats.append(record_of(self.problem, self.scheme.linearises, before, after, h))
        if self.log is not None:
            self.log.add(before, after, h)

    def solution(self, status: str) -> Solution:
        frames = self.frames
        paoli = [frame.z for frame in frames[1:] if frame.z is not None]
        return Solution(
            self.problem,
            self.scheme,
            _frozen(np.array([frame.t for frame in frames])),
            _frozen(np.stack([frame.q for frame in frames])),
            _frozen(np.stack([frame.u for frame in frames])),
            tuple(frame.multipliers for frame in frames),
            tuple(frame.pairs for frame in frames),
            tuple(frame.normals for frame in frames),
            np.array(self.stats, dtype=STATISTICS),
            status,
            _frozen(np.stack([frames[0].q, *paoli])) if paoli else None,
            None if self.log is None else self.log.result(),
            durations=_frozen(np.array([frame.duration for frame in frames])),
        )


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
