"""The time steps of a run, and the times at which it saves a frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import Array
from jostle.errors import InvalidValue

Span = float | tuple[float, float]
"""The end of a run that starts at 0, or its start and its end."""
STEP_TOLERANCE = 1e-9
"""T counts as a multiple of h, and a time as reached, up to this fraction of a step, or of T for an array of steps."""
TIME_ROUND_OFF = 8 * float(np.finfo(float).eps)
"""Times are known up to this fraction of the latest one."""


def start_and_end(t: Span) -> tuple[float, float]:
    """The start and the end of a run.

    >>> start_and_end(2.0), start_and_end((1, 2))
    ((0.0, 2.0), (1.0, 2.0))
    """
    if np.ndim(t) and np.size(t) != 2:
        raise InvalidValue(f"t must be the end, or the pair (start, end), not {np.size(t)} times; `every` saves fewer")
    start, end = (float(time) for time in np.ravel(t)) if np.ndim(t) else (0.0, float(t))  # type: ignore[arg-type]
    if not np.isfinite(end - start) or end < start:
        raise InvalidValue(f"t must be a time after the start {start:g}, not {end:g}")
    return start, end


class Step(NamedTuple):
    """One step of a run."""

    t: float
    """The time that the step leads to."""
    h: float
    shared: bool
    """True if every run with the same h and a later end has this step too; False if it was cut to end at t."""


@dataclass(frozen=True, eq=False)
class Grid:
    """All steps of a run from its start to its end.

    >>> [round(step.t, 6) for step in Grid.of(1.0, 0.3).after(2)]
    [0.9, 1.0]
    """

    start: float
    end: float
    count: int
    """Number of steps."""
    sizes: Array
    """The length of a step, or the lengths (count,) of all."""

    @staticmethod
    def of(t: Span, h: float | ArrayLike) -> Grid:
        """Steps of length h, or of all lengths h, from 0 or t[0] to t or t[1]."""
        start, end = start_and_end(t)
        sizes = np.asarray(h, dtype=float)
        if sizes.ndim > 1 or sizes.size == 0 or not np.isfinite(sizes).all() or (sizes <= 0).any():
            raise InvalidValue(f"h must be positive and finite, a number or one step after the other, not {h!r}")
        if float(sizes.min()) < TIME_ROUND_OFF * max(abs(start), abs(end)):
            raise InvalidValue(
                f"steps of {float(sizes.min()):g} are below the round-off of times near {max(abs(start), abs(end)):g}; "
                f"start the run at t = 0, or choose longer steps"
            )
        if sizes.ndim == 0:
            return Grid(start, end, _count(start, end, float(sizes)), sizes)
        last = (start + np.cumsum(sizes))[-1]
        if abs(last - end) > STEP_TOLERANCE * (end - start):
            raise InvalidValue(f"the steps h lead to t = {last:.12g}, not to {end:.12g}")
        return Grid(start, end, len(sizes), sizes)

    def check_reached(self, done: int, now: float) -> None:
        """Refuse to resume a run after `done` steps, at the time `now`, if that is after the end of these steps."""
        if done > self.count or self.end < now - STEP_TOLERANCE * abs(float(self.sizes.max())):
            raise InvalidValue(
                f"the run has reached t = {now:g}, and cannot go back to t = {self.end:g}: resume it with a later t, "
                f"or start a new run"
            )

    def after(self, done: int) -> Iterator[Step]:
        """The remaining steps after `done` of them."""
        if self.sizes.ndim:
            ends, lengths = self.start + np.cumsum(self.sizes), self.sizes.tolist()
            for n in range(done, self.count):
                last = n + 1 == self.count
                yield Step(self.end if last else float(ends[n]), lengths[n], not last or float(ends[n]) == self.end)
            return
        h = float(self.sizes)
        for n in range(done, self.count - 1):
            yield Step(self.start + (n + 1) * h, h, True)
        if done < self.count:
            t, before = self.start + self.count * h, self.start + (self.count - 1) * h
            whole = abs(t - self.end) <= _slack(self.start, self.end, h)
            yield Step(self.end, h if whole else self.end - before, t == self.end)


def _slack(start: float, end: float, h: float) -> float:
    """Times that differ by less than this are the same."""
    return STEP_TOLERANCE * h + TIME_ROUND_OFF * max(abs(start), abs(end))


def _count(start: float, end: float, h: float) -> int:
    """Number of steps of length h, the last of which may be shorter."""
    nearest = round((end - start) / h)
    if abs(start + nearest * h - end) <= _slack(start, end, h):
        apart = end - start > TIME_ROUND_OFF * max(abs(start), abs(end))
        return max(nearest, int(apart))  # an end that is very near, for this h, is reached by one short step
    return int(np.floor((end - start) / h)) + 1


class Saving:
    """Decides whether a frame is saved after a step; `every` counts steps (an int) or measures time (a float)."""

    def __init__(self, every: Any, start: float):
        if every is not None and not every > 0:
            raise InvalidValue(f"every must be positive, not {every}")
        self.every, self.start = every.item() if isinstance(every, np.ndarray) else every, start

    def __call__(self, number: int, before: float, t: float) -> bool:
        """Whether step `number`, from time `before` to t, is the first one at or after a multiple of `every`."""
        if self.every is None:
            return True
        if isinstance(self.every, Integral):
            return number % int(self.every) == 0
        return self._reached(t) > self._reached(before)

    def _reached(self, t: float) -> float:
        """Number of multiples of `every` that the time t has reached."""
        slack = STEP_TOLERANCE * self.every + TIME_ROUND_OFF * max(abs(self.start), abs(t))
        return float(np.floor((t - self.start + slack) / self.every))
