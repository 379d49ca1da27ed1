"""Poincaré sections of many copies, their impacts, and where they are after a time: `sections`, `impacts`, `advance`.

A section has the state of each copy once a period. Drawn over a parameter (`jo.viz.bifurcation`) it is a bifurcation
diagram; the impacts, each with its phase and speed, give the impact map.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import Count, Natural, Positive, check_arguments
from jostle.arrays import Array, Integers
from jostle.ensembles.copies import Copies
from jostle.ensembles.marching import ByEvents, March, step_of
from jostle.errors import InvalidValue
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli

REPEATS = 1e-5
"""A section repeats itself if it comes back to within this part of its extent."""


@dataclass(frozen=True, eq=False)
class Sections:
    """The states of n copies once a period, after those that were skipped.

    >>> import jostle as jo
    >>> ball = jo.ensembles.Copies(q0=[1.0], force=[0.0], v0=[2.0])
    >>> found = jo.ensembles.sections(ball, period=0.5, steps=4, periods=3)
    >>> found.q[0, :, 0].tolist(), found.u[0, :, 0].tolist()
    ([2.0, 3.0, 4.0], [2.0, 2.0, 2.0])
    """

    copies: Copies
    q: Array
    """(n, k, d) positions."""
    u: Array
    """(n, k, d) velocities; those of `Paoli` belong to half a step earlier."""

    def periods(self, most: int = 8, tol: float = REPEATS) -> Integers:
        """(n,) after how many sections each copy repeats itself, up to `tol` times the extent of all; 0 if after none.

        At most half of the saved sections, and at most `most`, are looked at.

        >>> import jostle as jo
        >>> ball = jo.ensembles.Copies(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), restitution=1.0)
        >>> jo.ensembles.sections(ball, period=0.4472135955, steps=20, periods=16).periods().tolist()  # half a bounce
        [2]
        """
        both = np.concatenate([self.q, self.u], axis=2)
        extent = max(float(np.ptp(both, axis=(0, 1)).max(initial=0.0)), 1e-300)
        found = np.zeros(len(both), dtype=np.int64)
        for p in range(min(most, both.shape[1] // 2), 0, -1):
            same = np.abs(both[:, p:] - both[:, :-p]).max(axis=(1, 2)) <= tol * extent
            found[same] = p
        return found


@dataclass(frozen=True, eq=False)
class CopyImpacts:
    """The last impacts of n copies, in order of time; NaN where a copy had fewer.

    >>> import jostle as jo
    >>> ball = jo.ensembles.Copies(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), restitution=0.5)
    >>> hits = jo.ensembles.impacts(ball, t=1.2, h=0.1, keep=3)
    >>> hits.t.round(6).tolist(), hits.speed.round(6).tolist(), hits.count.tolist()
    ([[nan, 0.5, 1.0]], [[nan, 5.0, 2.5]], [2])
    """

    t: Array
    """(n, k) when."""
    speed: Array
    """(n, k) how fast the gap closed."""
    row: Integers
    """(n, k) which constraint; -1 where there is no impact."""
    count: Integers
    """(n,) how many impacts there were in all."""


@check_arguments
def sections(
    copies: Copies,
    scheme: ByEvents | Paoli | MoreauJean | None = None,
    *,
    period: ArrayLike,
    steps: Count,
    periods: Count,
    skip: Natural = 0,
) -> Sections:
    """The states of all copies once a period, in `steps` steps each, after the first `skip` of `periods` periods.

    `period` is a number, or one for each copy. The default scheme is `ByEvents`.

    >>> import jostle as jo
    >>> def drive(t, q, u, parameters):
    ...     return np.cos(parameters[0] * t) - q[0]
    >>> omega = np.array([2.63, 2.68])
    >>> copies = jo.ensembles.Copies(
    ...     q0=[-0.5], force=drive, within=jo.HalfSpace([-1.0]), parameters=omega, restitution=0.8
    ... )
    >>> jo.ensembles.sections(copies, period=2 * np.pi / omega, steps=32, periods=900, skip=880).periods().tolist()
    [1, 2]
    """
    if skip >= periods:
        raise InvalidValue(f"skip must be below periods = {periods}, not {skip}: nothing would be saved")
    march = March(copies, scheme, step_of(period, steps, len(copies)))
    saved, d = march.go(steps, periods, skip, periods - skip), copies.q0.shape[1]
    return Sections(copies, saved[:, :, :d], saved[:, :, d:])


@check_arguments
def impacts(
    copies: Copies, scheme: ByEvents | Paoli | MoreauJean | None = None, *, t: Positive, h: Positive, keep: Count = 100
) -> CopyImpacts:
    """The last `keep` impacts of all copies in a time t, with steps h.

    The pairs (phase, speed) of one impact and the next are the impact map:

    >>> import jostle as jo
    >>> def drive(t, q, u, parameters):
    ...     return np.cos(2.68 * t) - q[0]
    >>> copies = jo.ensembles.Copies(q0=[-0.5], force=drive, within=jo.HalfSpace([-1.0]), restitution=0.8)
    >>> hits = jo.ensembles.impacts(copies, t=2000.0, h=0.05, keep=3)
    >>> hits.speed.round(4).tolist()                                  # the period has doubled
    [[0.4501, 0.4564, 0.4501]]
    """
    march = March(copies, scheme, np.array(h), keep)
    march.go(1, _steps(t, h))
    found, count = march.impacts()
    row = np.where(np.isnan(found[:, :, 2]), -1, np.nan_to_num(found[:, :, 2])).astype(np.int64)
    return CopyImpacts(found[:, :, 0], found[:, :, 1], row, count)


@check_arguments
def advance(copies: Copies, scheme: ByEvents | Paoli | MoreauJean | None = None, *, t: Positive, h: Positive) -> Copies:
    """The copies after a time t, with steps h: their q0, v0 and t0 are those of the end.

    >>> import jostle as jo
    >>> ball = jo.ensembles.Copies(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), restitution=0.5)
    >>> rested = jo.ensembles.advance(ball, t=2.0, h=0.01)
    >>> (rested.q0.round(12) + 0.0).tolist(), rested.v0.tolist(), rested.t0.tolist()
    ([[0.0]], [[0.0]], [2.0])
    """
    march = March(copies, scheme, np.array(h))
    march.go(1, _steps(t, h))
    return march.ends


def _steps(t: float, h: float) -> int:
    count = round(t / h)
    if count < 1 or abs(count * h - t) > 1e-9 * t:
        raise InvalidValue(f"t must be a multiple of h: {t:g} is {t / h:.9g} steps of {h:g}")
    return count
