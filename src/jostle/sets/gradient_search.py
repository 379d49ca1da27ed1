"""Gradients of a function g(t, q) by central differences, with a step that is searched for once and then remembered.

The step s has to be far above the round-off of g and far below the lengths over which g bends. Neither can be read off
q and g(t, q): 1 - |q - e| at q = 1e-12 e is the small difference of two numbers of size 1. So the search climbs a
ladder of steps s = 16^k, beginning where q + s is hardly different from q, and judges each rung by its neighbours:

    error_k = max(|D_k - D_{k-1}|, |D_{k+1} - D_k|) / |D_k|,

and at least 16^-j on the j-th rung above the first one on which g changes at all: one rung up, the error by round-off
falls to a 16th, and that by curvature grows 256-fold. A rung on which the second differences are as large as the first
ones sees a kink, or the far field of g, and does not count. The first minimum of the error is taken: longer steps may
be whole periods of g, across which it looks straight.

Afterwards a linearisation costs 2 N evaluations; the second differences, which these contain, and the sizes of q and g
show whether the step is still good. Lengths enter only through q, g and g's own behaviour: units do not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans
from jostle._tools.of_run import Remembers
from jostle.differences import EPS, RELATIVE_STEP
from jostle.errors import InvalidValue

RUNG, LEAP = 4, 16
"""Powers of two between neighbouring rungs, and between those tried while g does not change at all."""
MIN_EXPONENT, MAX_EXPONENT = -960, 960
"""Smallest and largest power of two among the steps that are tried."""
MAX_RUNGS = 18
"""Number of rungs tried after the first one on which g changes; 16^13 is 1 over the round-off."""
FLAT_EXPONENT = 24
"""A gap that is not zero and does not change up to a step of 2^FLAT_EXPONENT times the size of q and g is constant."""
KINK_TOLERANCE = 1e-3
"""At a kink, the differences on the two lowest rungs on which g changes agree up to this fraction."""
MAX_ERROR = 0.1
"""Largest relative error of a gradient; with a larger one the gradient is undefined."""
SETTLED_ERROR = 1e-10
"""A relative error below this value ends the search."""
SHARED_ERROR = 1e-8
"""Constraints share a step if all their relative errors stay below this value."""
RISEN, PLAUSIBLE_ERROR = 32.0, 1e-2
"""The search of a constraint ends where, on two rungs, its error is larger by the factor RISEN than a plausible one
further down."""
MAX_SEARCH_CURVATURE = 1e-2
"""Rungs of the search with larger second differences, relative to the first ones, are skipped."""
MAX_REMEMBERED_CURVATURE = 1e-5
"""A remembered step serves up to these second differences, relative to the first ones: their square is the error."""
CURVED = 1e-6
"""Second differences above this value, relative to the first ones, show that curvature limits the step."""
GAP_NOISE = 8.0 * EPS
"""Round-off of g, relative to the size of q and g."""
NEGLIGIBLE_NOISE = 1e-9
"""Round-off, relative to the first differences, that need not be reduced by a longer step."""
AGREEMENT = 1e-5
"""A given gradient may differ from the differenced one by this fraction of its size."""
CERTAIN_ERROR = 1e-6
"""Differences with a larger estimated error say nothing about a given gradient."""


class Gradient(NamedTuple):
    """dg/dq (m, N), and how far each row may be trusted."""

    G: Array
    error: Array
    """(m,) the estimated error of each row, relative to its largest entry; infinite if there is no gradient."""


class Steps(NamedTuple):
    """What is remembered of a search."""

    step: Array
    """(m,) the step of each constraint."""
    noise: Array
    """(m,) the round-off, relative to the first differences, up to which the step serves."""
    curvature: Array
    """(m,) the second differences, relative to the first ones, up to which the step serves."""
    least: Array
    """(m,) those below which a longer step would serve better, if there is round-off to be gained on."""
    radius: Array
    """(m,) how far around the place of the search g did not change at all; zero where it did."""
    place: Array
    """(N,) where the search was."""


class Rung(NamedTuple):
    """Differences with one step s."""

    s: float
    D: Array
    """(m, N) first differences over 2 s; NaN where g is not finite."""
    size: Array
    """(m,) the largest entry of each row of D."""
    curvature: Array
    """(m,) the largest second difference of each row, relative to the largest first difference."""
    noise: Array
    """(m,) the round-off that the sizes of q and g make, relative to the largest first difference."""
    changes: Booleans
    """(m,) whether g differs at all from its value at q."""


class Differences(Remembers):
    """The gradient of g, evaluated as seldom as the remembered step allows. It belongs to the run, as all memories."""

    memory_type = Steps

    def __init__(self, g: Callable[[float, Array], Array], length: float | None = None):
        self.g, self.length = g, length

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy begins with a search."""
        return type(self), (self.g, self.length)

    def restore(self, memory: Steps | None) -> None:
        if memory is not None:
            *rows, place = map(np.asarray, memory)
            fits = np.ndim(place) == 1 and {row.shape for row in rows} == {np.shape(rows[0])[:1]}
            if not (fits and min(row.min(initial=0.0) for row in rows) >= 0.0 and rows[0].min(initial=1.0) > 0.0):
                raise InvalidValue("these are no difference steps of constraints")
        super().restore(memory)

    def __call__(self, t: float, q: Array, gap: Array) -> Array:
        """(m, N) dg/dq at q, where g is gap; zero in rows that have no gradient."""
        steps = self.memory
        if steps is None and self.length is not None:
            steps = _same(len(gap), RELATIVE_STEP * self.length, q)
        if steps is None or len(steps.step) != len(gap) or len(steps.place) != q.size:
            return self.search(t, q, gap).G
        G, trusted = np.zeros((len(gap), q.size)), np.zeros(len(gap), dtype=bool)
        for s in np.unique(steps.step):
            rows, rung = steps.step == s, self._rung(t, q, gap, float(s))
            serves = (rung.size > 0.0) & (rung.curvature <= steps.curvature) & (rung.noise <= steps.noise)
            serves &= (rung.curvature >= steps.least) | (rung.noise <= NEGLIGIBLE_NOISE)
            constant = ~rung.changes & (np.abs(q.ravel() - steps.place).max(initial=0.0) <= steps.radius / 2.0)
            trusted[rows] = np.where(steps.radius > 0.0, constant, serves)[rows]
            G[rows] = rung.D[rows]
        if trusted.all():
            self.memory = steps
            return G
        return self.search(t, q, gap).G

    def search(self, t: float, q: Array, gap: Array) -> Gradient:
        """The gradient, by the step that the ladder finds; it is remembered."""
        ladder = _Ladder(gap, q.ravel())
        while ladder.climbing:
            ladder.add(self._rung(t, q, gap, 2.0**ladder.power))
        found, self.memory = ladder.result()
        return found

    def _rung(self, t: float, q: Array, gap: Array, s: float) -> Rung:
        flat, m = q.ravel(), len(gap)
        first, second, width = np.zeros((m, flat.size)), np.zeros((m, flat.size)), np.ones(flat.size)
        changes = np.zeros(m, dtype=bool)
        with np.errstate(all="ignore"):
            for k in range(flat.size):
                ends = [flat.copy(), flat.copy()]
                ends[0][k] += s
                ends[1][k] -= s
                if not ends[0][k] > ends[1][k]:
                    continue
                ahead, behind = (self._values(t, end.reshape(q.shape), m) for end in ends)
                width[k] = ends[0][k] - ends[1][k]
                first[:, k], second[:, k] = ahead - behind, (ahead - gap) + (behind - gap)
                changes |= (ahead != gap) | (behind != gap)
            D = first / width
            size, rise = np.abs(D).max(axis=1, initial=0.0), np.abs(first).max(axis=1, initial=0.0)
            curvature = np.abs(second).max(axis=1, initial=0.0) / rise
            noise = GAP_NOISE * (np.abs(flat).max(initial=0.0) / s + np.abs(gap) / rise)
        return Rung(s, D, size, curvature, noise, changes)

    def _values(self, t: float, q: Array, m: int) -> Array:
        values = self.g(t, q)
        if len(values) != m:
            raise InvalidValue(
                f"there are {len(values)} constraints at t = {t:g}, q = {q.tolist()}, and {m} nearby; their number is "
                f"fixed: return a large value for those that do not matter"
            )
        return values


def wrong_entry(given: Array, found: Gradient, rows: Booleans | slice = slice(None)) -> tuple[int, int] | None:
    """The first entry (row, k) of a given gradient that differs from differences that are certain, if any."""
    size = np.abs(found.G).max(axis=1, keepdims=True, initial=0.0) + np.abs(given)
    wrong = np.zeros(given.shape, dtype=bool)
    wrong[rows] = ((found.error <= CERTAIN_ERROR)[:, None] & ~(np.abs(given - found.G) <= AGREEMENT * size))[rows]
    if not wrong.any():
        return None
    row, k = np.argwhere(wrong)[0]
    return int(row), int(k)


def _same(m: int, step: float, q: Array) -> Steps:
    """A given step for all constraints."""
    every = np.ones(m)
    return Steps(step * every, SHARED_ERROR * every, MAX_SEARCH_CURVATURE * every, 0.0 * every, 0.0 * every, q.ravel())


class _Ladder:
    """The rungs that were tried, and where to go on."""

    def __init__(self, gap: Array, q: Array):
        m, far = len(gap), float(np.abs(q).max(initial=0.0))
        self.gap, self.q = gap, q
        self.far = far
        """Distance of q from the origin: steps below the round-off of q have no effect."""
        self.flat = 2.0**FLAT_EXPONENT * max(far, float(np.abs(gap).max(initial=0.0)))
        lowest = np.log2(max(16.0 * EPS * far, 2.0**MIN_EXPONENT))
        self.power = int(np.floor(lowest / RUNG)) * RUNG
        self.rungs: list[Rung] = []
        self.errors: list[Array] = []
        """(m,) of all rungs but the last one."""
        self.low = np.full(m, np.inf)
        """(m,) how much the two lowest rungs on which a constraint changes differ."""
        self.onset = np.full(m, -1)
        """The first rung on which each constraint changes."""
        self.done = np.zeros(m, dtype=bool)
        self.top = np.full(m, MAX_EXPONENT)
        """(m,) the number of rungs among which the step of each constraint is chosen: those until its search ended."""
        self.leaping = False

    @property
    def climbing(self) -> bool:
        return not self.done.all() and self.power <= MAX_EXPONENT

    def add(self, rung: Rung) -> None:
        """Judge the rung below by the new one, and choose the next power."""
        new = rung.changes & (self.onset < 0) & ~self.done
        if self.leaping and new.any():
            self.leaping = False
            self.power += RUNG - LEAP
            return
        self.onset[new] = len(self.rungs)
        self.rungs.append(rung)
        if len(self.rungs) > 1:
            self.errors.append(self._error(len(self.rungs) - 2))
            settled = self._settled()
            self.top[settled & ~self.done] = len(self.errors)
            self.done |= settled
        if rung.s > self.flat:
            self.done |= (self.onset < 0) & (self.gap != 0.0)
        self.leaping = not (~self.done & (self.onset >= 0)).any()
        self.power += LEAP if self.leaping else RUNG

    def _error(self, k: int) -> Array:
        """(m,) the error of rung k, by the rungs beside it and by how far it is above the round-off of g."""
        D, size = self.rungs[k].D, self.rungs[k].size
        with np.errstate(all="ignore"):
            above = np.abs(D - self.rungs[k + 1].D).max(axis=1, initial=0.0) / size
            below = np.abs(D - self.rungs[k - 1].D).max(axis=1, initial=0.0) / size if k else above
        self.low = np.where(self.onset == k, above, self.low)
        change = np.maximum(above, below)
        floor = 2.0 ** (-RUNG * np.maximum(k - self.onset, 0.0))
        usable = (self.onset >= 0) & (k > self.onset) & (size > 0.0) & np.isfinite(change)
        return np.where(usable, np.maximum(change, floor), np.inf)

    def _smooth(self) -> Array:
        """(rungs - 1, m) the errors, infinite on rungs that see a kink."""
        return np.array([
            np.where(rung.curvature <= MAX_SEARCH_CURVATURE, np.maximum(error, rung.curvature**2), np.inf)
            for rung, error in zip(self.rungs, self.errors, strict=False)
        ])  # fmt: skip

    def _settled(self) -> Booleans:
        """The constraints that need no further rung: the error is small or grows, or the ladder is long enough."""
        smooth = self._smooth()
        best, last = smooth.min(axis=0), smooth[-1]
        grows = (best <= SHARED_ERROR) & (last > 4.0 * best)
        risen = (best <= PLAUSIBLE_ERROR) & (smooth[-2:].min(axis=0) > RISEN * best)
        long = (self.onset >= 0) & (len(self.rungs) - self.onset > MAX_RUNGS)
        return np.asarray((best <= SETTLED_ERROR) | grows | risen | long)

    def result(self) -> tuple[Gradient, Steps]:
        """The gradient, and the steps to remember: one for all constraints, if it serves all."""
        m = len(self.gap)
        if not self.errors:
            return Gradient(np.zeros((m, len(self.q))), np.full(m, np.inf)), _same(m, RELATIVE_STEP, self.q)
        error = self._smooth()
        kinked = ~np.isfinite(error).any(axis=0)
        if kinked.any():  # q is on a kink, or so near that g bends below its round-off: take the mean of both sides
            near = np.array([(rung.s <= self.far) | (self.low <= KINK_TOLERANCE) for rung in self.rungs[:-1]])
            error = np.where(kinked & near, np.array(self.errors), error)
        rows = np.arange(m)
        chosen = np.where(np.arange(len(error))[:, None] < self.top, error, np.inf).argmin(axis=0)
        there = error[chosen, rows] <= MAX_ERROR
        if there.any():
            common = int(error[:, there].max(axis=1).argmin())
            own = np.array([self.rungs[k].D[row] for row, k in enumerate(chosen)])
            with np.errstate(all="ignore"):
                apart = np.abs(self.rungs[common].D - own).max(axis=1, initial=0.0)
            limit = np.where(there, np.maximum(SHARED_ERROR, error[chosen, rows]), 0.0)
            shared = there & (error[common] <= limit) & (apart <= limit * np.abs(own).max(axis=1, initial=0.0))
            chosen[shared | ~there] = common
        found, rung = error[chosen, rows], [self.rungs[k] for k in chosen]
        G = np.where(there[:, None], np.array([at.D[row] for row, at in enumerate(rung)]), 0.0)
        curvature, noise = (
            np.array([getattr(at, name)[k] for k, at in enumerate(rung)]) for name in ("curvature", "noise")
        )
        below = np.array([at.s for at in self.rungs])[np.maximum(self.onset, 0) - 1]  # the last one, if g never changes
        steps = Steps(
            np.array([at.s for at in rung]),
            np.nan_to_num(np.where(there, np.maximum(found, 4.0 * noise), 0.0)),  # no infinities, for checkpoints
            np.nan_to_num(np.where(there & ~kinked, np.maximum(MAX_REMEMBERED_CURVATURE, 4.0 * curvature), 0.0)),
            np.nan_to_num(np.where(curvature > CURVED, curvature / 16.0, 0.0)),
            np.where(there | (self.onset == 0), 0.0, below),
            self.q,
        )
        return Gradient(G, np.where(there & ~kinked, found, np.inf)), steps
