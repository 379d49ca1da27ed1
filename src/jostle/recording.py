"""What a run writes down while it goes: frames, statistics, impacts."""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.arrays import Array
from jostle.problems import Motion
from jostle.schemes.base import State
from jostle.sets.base import ConstraintSet, Contacts
from jostle.solution import STATISTICS, Impacts, Solution

SLOW = 1e-9
"""A gap that closes at less than this part of the velocities is not an approach,"""
ROUND_OFF = 64 * float(np.finfo(float).eps)
"""nor one that closes at less than this part of the positions over h."""
TIME_STEP = float(np.cbrt(np.finfo(float).eps))
"""Relative step of the differences in time."""
NO_PAIRS = np.zeros((0, 2), dtype=np.int64)


class ImpactLog:
    """Finds the contacts that close: a pair with p > 0 now that had p = 0 in the step before."""

    def __init__(self, within: ConstraintSet) -> None:
        self.within = within
        self.events: list[tuple[float, Array, Array, Array, Array]] = []
        self.touching: dict[tuple[int, int], int] = {}
        self.fresh: tuple[Contacts, list[int], list[tuple[int, int]]] | None = None
        self.same: tuple[bytes, Any] | None = None
        """The active rows and the pairs of the step before: if they are the same again, nothing closes."""

    def add(self, before: State, after: State, h: float) -> None:
        contacts, p = after.contacts, after.multipliers
        assert contacts is not None
        active = p > 0.0
        same = active.tobytes(), contacts.pairs
        unchanged = self.same is not None and self.same[0] == same[0] and self.same[1] is same[1]
        self.same = same
        if unchanged and self.fresh is None:
            return
        rows = np.flatnonzero(active).tolist()
        touching = {(i, j): row for row, (i, j) in zip(rows, contacts.pairs[rows].tolist(), strict=True)}
        self._second_step(after, h, touching)
        new = [pair for pair in touching if pair not in self.touching]
        if new:
            chosen = [touching[pair] for pair in new]
            rate = self._rates(before, h, contacts, chosen)
            speeds = SLOW * np.abs(before.u) + ROUND_OFF * np.abs(before.q) / h
            noise = contacts.G.rows(np.array(chosen)).magnitude(speeds.ravel())
            rate = np.where(np.abs(rate) <= noise, 0.0, rate)
            self.events.append((after.t, np.array(new), rate, np.zeros(len(new)), p[chosen].copy()))
            self._after(after, h, contacts, chosen)
            self.fresh = (contacts, chosen, new)
        self.touching = touching

    def _second_step(self, after: State, h: float, touching: dict[tuple[int, int], int]) -> None:
        """The impact of the step before goes on in this one."""
        if self.fresh is None:
            return
        contacts, chosen, pairs = self.fresh
        self._after(after, h, contacts, chosen)
        impulse = self.events[-1][4]
        for k, pair in enumerate(pairs):
            if pair in touching:
                impulse[k] += after.multipliers[touching[pair]]
        self.fresh = None

    def _after(self, state: State, h: float, contacts: Contacts, rows: list[int]) -> None:
        self.events[-1][3][:] = self._rates(state, h, contacts, rows)

    def _rates(self, state: State, h: float, contacts: Contacts, rows: list[int]) -> Array:
        """G u + dg/dt of some rows; the second term by differences, where the set moves."""
        rate = contacts.G.rows(np.array(rows)) @ state.u.ravel()
        if self.within.moving is False:
            return rate
        step = TIME_STEP * max(abs(state.t), h)
        ahead, behind = (self.within.linearise(state.t + s, state.q) for s in (step, -step))
        keys = {pair: row for row, pair in enumerate(map(tuple, ahead.pairs.tolist()))}
        at = [keys[tuple(contacts.pairs[row].tolist())] for row in rows]
        return rate + (ahead.gap[at] - behind.gap[at]) / (2.0 * step)

    def result(self) -> Impacts:
        if not self.events:
            nothing = np.zeros(0)
            return Impacts(nothing, NO_PAIRS, nothing, nothing, nothing)
        t = np.concatenate([np.full(len(event[1]), event[0]) for event in self.events])
        columns = [np.concatenate([event[k] for event in self.events]) for k in range(1, 5)]
        return Impacts(t, *columns)


class Recorder:
    """Collects what becomes the `Solution`."""

    def __init__(self, problem: Any, scheme: Any, start: State):
        self.problem, self.scheme = problem, scheme
        self.frames: list[State] = []
        self.stats: list[tuple[Any, ...]] = []
        self.log = ImpactLog(problem.within) if isinstance(problem, Motion) else None
        self.save(start)

    def save(self, state: State) -> None:
        self.frames.append(state._replace(projection=None))

    def add(self, before: State, after: State, h: float) -> None:
        P = after.projection
        assert P is not None
        r = P.residual
        active = int(np.count_nonzero(after.multipliers)) if P.iterations else 0
        self.stats.append(
            (after.t, h, len(after.multipliers), active, P.iterations, r.primal, r.dual, r.complementarity,
             P.converged, P.solver)
        )  # fmt: skip
        if self.log is not None:
            self.log.add(before, after, h)

    def solution(self, status: str) -> Solution:
        frames = self.frames
        paoli = [frame.memory.z for frame in frames[1:] if hasattr(frame.memory, "z")]
        return Solution(
            self.problem,
            self.scheme,
            np.array([frame.t for frame in frames]),
            np.stack([frame.q for frame in frames]),
            np.stack([frame.u for frame in frames]),
            tuple(frame.multipliers for frame in frames),
            tuple(NO_PAIRS if frame.contacts is None else frame.contacts.pairs for frame in frames),
            np.array(self.stats, dtype=STATISTICS),
            status,
            np.stack([frames[0].q, *paoli]) if paoli else None,
            None if self.log is None else self.log.result(),
        )
