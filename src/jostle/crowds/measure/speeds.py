"""Walking speeds of people, from their displacement over a time around each frame.

With a window w,

    v_i(t) = |x_i(t + w / 2) - x_i(t - w / 2)| / w

(Steffen & Seyfried 2010; `compute_individual_speed` of PedPy, with one-sided windows at the ends). Steps of a few
hundredths of a second sway: the speed in one step is larger than the speed at which people get ahead. Only positions in
the walkable area count. Where a person is not there at one end of the window, or took stairs in between, the other half
is used, and a shorter window if neither half is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from jostle._tools.arrays import Array
from jostle.crowds.measure.moves import jumps
from jostle.plans.plan import present
from jostle.result.solution import Solution

FRAME_STEP = 5
"""Default number of saved frames before and after a frame between which people are followed; PedPy's usual value."""
LONGEST_SIDE = 1.0
"""Longest default time before and after a frame (s): people walk a few steps in it, and hardly change their speed."""
TIME_TOLERANCE = 1e-6
"""Part of the time between frames by which a window may begin before the first frame, or end after the last one."""


class Speeds:
    """The places and the speeds of people in some frames of a run, in a walkable area.

    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.5, 0.5]], velocity=[1.5, 0.0], within=jo.Balls([0.2]))
    >>> sol = jo.solve(walker, jo.Venel(), t=1.0, h=0.1)
    >>> area = jo.crowds.Room([(0, 0), (4, 0), (4, 1), (0, 1)], doors=[((4, 0), (4, 1))]).area
    >>> [Speeds(sol, area, [k]).of(k).round(9).tolist() for k in (0, 5)]
    [[1.5], [1.5]]
    """

    def __init__(self, sol: Solution, area: object, frames: Sequence[int], window: float | None = None) -> None:
        self.sol, self.area, self.t = sol, area, np.asarray(sol.t)
        self.spacing = float(np.median(np.diff(self.t))) if len(self.t) > 1 else 0.0
        self.side = min(FRAME_STEP * self.spacing, LONGEST_SIDE) if window is None else window / 2.0
        self.first = max(min((k - self._reach(k) for k in frames), default=0), 0)
        last = min(max((k + self._reach(k) for k in frames), default=0), len(self.t) - 1)
        breaks = jumps(sol, range(self.first, last + 1), absent=True)
        self.parts = np.zeros((len(breaks) + 1, sol.q.shape[1]), dtype=np.int32)
        """(frames, n) number of times that each person took stairs, or was absent, before each frame."""
        breaks.cumsum(axis=0, out=self.parts[1:])
        self.kept: dict[int, Array] = {}

    def place(self, k: int) -> Array:
        """(n, 2) positions in frame k, NaN for people who are not in the area."""
        if k not in self.kept:
            q = np.asarray(self.sol.q[k])
            self.kept[k] = np.where(present(q, self.area)[:, None], q, np.nan)
        return self.kept[k]

    def of(self, k: int) -> Array:
        """(n,) speeds in frame k, NaN for people who are not in the area."""
        here = self.place(k)
        unknown = np.isfinite(here).all(axis=1)
        speed = np.where(unknown, np.linalg.norm(np.asarray(self.sol.u[k]), axis=1), np.nan)  # of who is seen once
        for before, after in self._windows(k):
            (start, since), (end, until) = (self._followed(k, j) for j in (before, after))
            known = unknown & (until > since)
            speed[known] = np.linalg.norm(end - start, axis=1)[known] / (until - since)[known]
            unknown &= ~known
            if not unknown.any():
                break
        for old in [j for j in self.kept if j < k and self.t[j] < self.t[k] - self.side - self.spacing]:
            del self.kept[old]
        return speed

    def _followed(self, k: int, j: int | None) -> tuple[Array, Array]:
        """(n, 2) positions and (n,) times in frame j of those who are followed from there to frame k, or of frame k."""
        here, now = self.place(k), np.full(len(self.place(k)), self.t[k])
        if j is None:
            return here, now
        there = self.place(j)
        known = np.isfinite(there).all(axis=1) & (self.parts[j - self.first] == self.parts[k - self.first])
        return np.where(known[:, None], there, here), np.where(known, self.t[j], now)

    def _windows(self, k: int) -> Iterator[tuple[int | None, int | None]]:
        """The frames at both ends of windows around frame k, the widest one first; None beyond the run."""
        yield self._end(k, -1.0), self._end(k, 1.0)
        for step in range(self._reach(k) - 1, 0, -1):
            yield (k - step if k >= step else None), (k + step if k + step < len(self.t) else None)

    def _reach(self, k: int) -> int:
        """The number of frames from frame k to an end of the widest window around it."""
        ends = [self._end(k, sign) for sign in (-1.0, 1.0)]
        return max((abs(j - k) for j in ends if j is not None), default=len(self.t))

    def _end(self, k: int, sign: float) -> int | None:
        """The frame nearest to one end of the window around frame k, at least the next one; None beyond the run."""
        at, slack = self.t[k] + sign * self.side, TIME_TOLERANCE * self.spacing
        if not self.t[0] - slack <= at <= self.t[-1] + slack:
            return None
        nearest = int(np.abs(self.t - at).argmin())
        j = min(nearest, k - 1) if sign < 0.0 else max(nearest, k + 1)
        return j if 0 <= j < len(self.t) else None
