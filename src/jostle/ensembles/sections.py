"""Poincaré sections and final states of many copies: `sections`, `advance`.

A section is the state of each copy once per period. Drawn over a parameter (`jo.viz.bifurcation`), sections form a
bifurcation diagram.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, Natural, Positive, check_arguments
from jostle._tools.arrays import Array, Integers
from jostle.ensembles.copies import ByEvents, Copies, March, check_skip, step_of
from jostle.errors import InvalidValue
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli

REPEAT_TOLERANCE = 1e-5
"""A section repeats itself if it comes back to within this fraction of the extent of all sections."""


@dataclass(frozen=True, eq=False)
class Sections:
    """The states of n copies once per period, found by `sections`.

    Attributes
    ----------
    copies : Copies
        The copies.
    q : array, shape (n, k, d)
        Positions at the saved sections.
    u : array, shape (n, k, d)
        Velocities at the saved sections; with `Paoli`, half a step earlier.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.ensembles.Copies(q0=[1.0], force=[0.0], v0=[2.0])
    >>> found = jo.ensembles.sections(ball, period=0.5, steps=4, periods=3)
    >>> found.q[0, :, 0].tolist(), found.u[0, :, 0].tolist()
    ([2.0, 3.0, 4.0], [2.0, 2.0, 2.0])
    """

    copies: Copies
    q: Array
    u: Array

    def periods(self, most: int = 8, tol: float = REPEAT_TOLERANCE) -> Integers:
        """Find the number of sections after which each copy repeats itself.

        At most half of the saved sections are considered.

        Parameters
        ----------
        most : int, default 8
            Longest period that is recognised, in sections.
        tol : float, default 1e-5
            How closely a section must come back, as a fraction of the extent of all sections.

        Returns
        -------
        array of int, shape (n,)
            The number of sections, or 0 for a copy that does not repeat itself.

        Examples
        --------
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
    """Compute the states of all copies once per period (Poincaré sections).

    Parameters
    ----------
    copies : Copies
        The copies.
    scheme : ByEvents, Paoli or MoreauJean, optional
        The scheme. None: `ByEvents`.
    period : float or array_like, shape (n,)
        Time between two sections, for all copies or for each copy.
    steps : int
        Number of time steps per period.
    periods : int
        Number of periods to compute.
    skip : int, default 0
        Number of first periods that are not saved, less than `periods`.

    Returns
    -------
    Sections
        The states at the ends of the periods after the first `skip`.

    Raises
    ------
    NotConverged
        If a copy has too many impacts in one step.

    Examples
    --------
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
    check_skip(skip, periods)
    march = March(copies, scheme, step_of(period, steps, len(copies)))
    saved, d = march.go(steps, periods, skip, periods - skip), copies.q0.shape[1]
    return Sections(copies, saved[:, :, :d], saved[:, :, d:])


@check_arguments
def advance(copies: Copies, scheme: ByEvents | Paoli | MoreauJean | None = None, *, t: Positive, h: Positive) -> Copies:
    """Advance all copies by a time t.

    Parameters
    ----------
    copies : Copies
        The copies.
    scheme : ByEvents, Paoli or MoreauJean, optional
        The scheme. None: `ByEvents`.
    t : float
        Duration of the motion, a multiple of h.
    h : float
        Time step.

    Returns
    -------
    Copies
        The copies with q0, v0 and t0 at the end of the motion.

    Raises
    ------
    SchemeRefuses
        If the scheme does not support the constraints.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.ensembles.Copies(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), restitution=0.5)
    >>> rested = jo.ensembles.advance(ball, t=2.0, h=0.01)
    >>> (rested.q0.round(12) + 0.0).tolist(), rested.v0.tolist(), rested.t0.tolist()
    ([[0.0]], [[0.0]], [2.0])
    """
    march = March(copies, scheme, np.array(h))
    march.go(1, steps_in(t, h))
    return march.ends


def steps_in(t: float, h: float) -> int:
    """Number of steps of length h in a time t, which must be a multiple of h."""
    count = round(t / h)
    if count < 1 or abs(count * h - t) > 1e-9 * t:
        raise InvalidValue(f"t must be a multiple of h: {t:g} is {t / h:.9g} steps of {h:g}")
    return count


# The impacts of many copies: their times, phases and speeds give the impact map.


@dataclass(frozen=True, eq=False)
class CopyImpacts:
    """The last impacts of n copies in the order of time, found by `impacts`.

    Attributes
    ----------
    t : array, shape (n, k)
        Times of the impacts; NaN where a copy had fewer than k.
    speed : array, shape (n, k)
        Speeds at which the gaps closed; NaN where a copy had fewer than k impacts.
    row : array of int, shape (n, k)
        Number of the constraint; -1 where there is no impact.
    count : array of int, shape (n,)
        Total number of impacts of each copy.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.ensembles.Copies(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), restitution=0.5)
    >>> hits = jo.ensembles.impacts(ball, t=1.2, h=0.1, keep=3)
    >>> hits.t.round(6).tolist(), hits.speed.round(6).tolist(), hits.count.tolist()
    ([[nan, 0.5, 1.0]], [[nan, 5.0, 2.5]], [2])
    """

    t: Array
    speed: Array
    row: Integers
    count: Integers


@check_arguments
def impacts(
    copies: Copies, scheme: ByEvents | Paoli | MoreauJean | None = None, *, t: Positive, h: Positive, keep: Count = 100
) -> CopyImpacts:
    """Compute the last impacts of all copies.

    The pairs (phase, speed) of one impact and the next are the impact map.

    Parameters
    ----------
    copies : Copies
        The copies.
    scheme : ByEvents, Paoli or MoreauJean, optional
        The scheme. None: `ByEvents`.
    t : float
        Duration of the motion, a multiple of h.
    h : float
        Time step.
    keep : int, default 100
        Number of impacts of each copy that are kept.

    Returns
    -------
    CopyImpacts
        Times, speeds and constraints of the last impacts.

    Examples
    --------
    >>> import jostle as jo
    >>> def drive(t, q, u, parameters):
    ...     return np.cos(2.68 * t) - q[0]
    >>> copies = jo.ensembles.Copies(q0=[-0.5], force=drive, within=jo.HalfSpace([-1.0]), restitution=0.8)
    >>> hits = jo.ensembles.impacts(copies, t=2000.0, h=0.05, keep=3)
    >>> hits.speed.round(4).tolist()                                  # the period has doubled
    [[0.4501, 0.4564, 0.4501]]
    """
    march = March(copies, scheme, np.array(h), keep)
    march.go(1, steps_in(t, h))
    found, count = march.impacts()
    row = np.where(np.isnan(found[:, :, 2]), -1, np.nan_to_num(found[:, :, 2])).astype(np.int64)
    return CopyImpacts(found[:, :, 0], found[:, :, 1], row, count)
