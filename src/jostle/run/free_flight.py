"""Steps of a small system in free flight, many at a time; bit-identical to single steps.

A step of one body takes much longer than its formula: contacts, checks, a projection that changes nothing.
Between impacts, with a constant force and flat constraints at rest, only the formulas of the schemes are left, which
are computed here with numbers instead of arrays.

The steps around a contact are left to the scheme itself: a flight starts after some free steps, and ends some steps
before the first one in which a gap could matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans
from jostle.laws import aimed, reflected
from jostle.problems import Motion
from jostle.result.recording import Frame, MemorySaver, constant_acceleration
from jostle.run.steps import Grid, Saving
from jostle.schemes.moreau_jean import MoreauJean, by_mean
from jostle.schemes.paoli import NO_PAIRS, Memory, Paoli, free
from jostle.schemes.state import State
from jostle.solvers.base import Solver

MAX_COORDINATES = 6
"""Systems with more coordinates than this step faster as arrays."""
FREE_STEPS = 4
"""Number of steps without a contact that the scheme itself does before a flight, and after it."""
FIRST_LENGTH, MAX_LENGTH = 32, 1024
"""Number of steps of the first flight after a contact, and of the longest; each is twice as long as the one before."""
CLEARANCE = 1e-8
"""A gap below this fraction of the coordinates may matter: a contact begins at a tenth of it."""


class Flown(NamedTuple):
    """The steps of a flight."""

    t: list[float]
    q: Array
    u: Array
    z: Array | None


class FreeFlight:
    """The flights of one run."""

    def __init__(self, problem: Motion, scheme: Paoli | MoreauJean, h: float, acceleration: Array):
        contacts = problem.within.linearise(0.0, np.zeros_like(problem.q0))
        self.G, self.offset = contacts.G.toarray(), contacts.gap
        self.scheme, self.h, self.F, self.e = scheme, h, acceleration.tolist(), float(problem.law.number)
        self.free = 0
        """Number of steps without a contact that the scheme has done since the last flight."""
        self.length = FIRST_LENGTH

    @staticmethod
    def of(problem: Any, scheme: Any, grid: Grid) -> FreeFlight | None:
        """The flights of a run, if it can have any."""
        if type(scheme) not in (Paoli, MoreauJean) or not isinstance(problem, Motion) or problem.bodies.turn:
            return None
        within, solver = problem.within, scheme.solver
        acceleration = constant_acceleration(problem)
        small = problem.q0.ndim == 1 and problem.q0.size <= MAX_COORDINATES and problem.presence is None
        if acceleration is None or not small or problem.law.uniform is None:
            return None
        if not within.flat or within.moving is not False or within.equalities:
            return None
        if grid.sizes.ndim or type(solver).project is not Solver.project or getattr(scheme, "implicit", False):
            return None
        return FreeFlight(problem, scheme, float(grid.sizes), acceleration)

    def over(self, saver: MemorySaver, state: State, number: int, grid: Grid, due: Saving) -> tuple[State, int]:
        """Fly on from the state of step `number` if possible; the state and the number of the last step."""
        flown = self.after(state, number, grid)
        if flown is None:
            return state, number
        assert state.contacts is not None
        name, rows, h = self.scheme.solver.name, len(state.multipliers), self.h
        saver.stats += [(t, h, rows, 0, 0, 0.0, 0.0, 0.0, 0.0, True, name, 0.0, 0.0) for t in flown.t]
        p, pairs, normals = state.multipliers, state.contacts.pairs, state.contacts.normals
        z, before = flown.z, state.t
        for k, t in enumerate(flown.t):
            if due.every is None or due(number + 1 + k, before, t):
                where = None if z is None else z[k]
                saver.frames.append(Frame(t, flown.q[k], flown.u[k], p, pairs, normals, where, state.impulse_time))
            before = t
        q, u, memory = flown.q[-1], flown.u[-1], state.memory
        if z is not None:
            rest = np.zeros_like(q)
            memory = Memory(flown.q[-2], h, z[-1], rest, h, flown.u[-2], NO_PAIRS, memory.warned)
        return state.replace(t=flown.t[-1], q=q, u=u, memory=memory), number + len(flown.t)

    def after(self, state: State, number: int, grid: Grid) -> Flown | None:
        """The flight that follows the state of step `number`, if there is one; never with the last step of a run."""
        self.free = 0 if state.multipliers.any() else self.free + 1
        if self.free == 0:
            self.length = FIRST_LENGTH
        most = min(self.length, grid.count - 1 - number)
        if self.free < FREE_STEPS or most < 2 * FREE_STEPS:
            return None
        self.free = 0
        fly: Callable[..., tuple[Array, Array, Array | None, Booleans]]
        fly = self._paoli if isinstance(self.scheme, Paoli) else self._moreau_jean
        with np.errstate(all="ignore"):
            q, u, z, clear = fly(state, most)
        count = most if clear.all() else int(np.argmin(clear)) - FREE_STEPS
        self.length = min(2 * self.length, MAX_LENGTH) if count == most else FIRST_LENGTH
        if count < FREE_STEPS:
            return None
        t = [grid.start + (number + k) * self.h for k in range(1, count + 1)]
        for array in (q, u):
            array.setflags(write=False)
        return Flown(t, q[:count], u[:count], None if z is None else z[:count])

    def _paoli(self, state: State, most: int) -> tuple[Array, Array, Array | None, Booleans]:
        h, e = self.h, self.e
        kept = []
        for q, before, F in zip(state.q.tolist(), state.memory.before.tolist(), self.F, strict=True):
            path = []
            for _ in range(most):
                X = before + 0.0
                W = aimed(free(q, before, h, h, F), X, e)
                before, q = q, reflected(W, X, e)
                path.append((q, (q - before) / h, W))
            kept.append(path)
        q, u, W = np.array(kept).transpose(2, 1, 0).copy()
        return q, u, W, self._clear(W) & self._clear(q)

    def _moreau_jean(self, state: State, most: int) -> tuple[Array, Array, Array | None, Booleans]:
        h, e = self.h, self.e
        kept = []
        for q, u, F in zip(state.q.tolist(), state.u.tolist(), self.F, strict=True):
            path = []
            for _ in range(most):
                after = reflected(aimed(u + h * F, u, e), u, e)
                q, u = by_mean(q, u, after, h), after
                path.append((q, u))
            kept.append(path)
        q, u = np.array(kept).transpose(2, 1, 0).copy()
        # a contact counts as closed by its gap in the middle of the step that begins at q
        first = np.concatenate([state.q[None], q[:-1]]) + h / 2.0 * np.concatenate([state.u[None], u[:-1]])
        return q, u, None, self._clear(first) & self._clear(q)

    def _clear(self, points: Array) -> Booleans:
        """(k,) whether all gaps at k points are so large that they cannot matter."""
        gap = points @ self.G.T + self.offset
        size = np.abs(points) @ np.abs(self.G).T + np.abs(self.offset)
        clear = (np.isfinite(gap) & (gap > CLEARANCE * size)).all(axis=1) & np.isfinite(points).all(axis=1)
        return np.asarray(clear)
