"""Poincaré sections and final states of many copies: `sections`, `advance`.

A section is the state of each copy once per period. Drawn over a parameter (`jo.viz.bifurcation`), sections form a
bifurcation diagram.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, Natural, Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.errors import InvalidValue
from jostle.kernels.reference.copies import ESCAPED
from jostle.kernels.reference.dense import ROUND_OFF
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli
from jostle.vibro.copies import ByEvents, Copies, March, check_skip, step_of

REPEAT_TOLERANCE = 1e-5
"""A section repeats itself if it comes back to within this fraction of the motion of its copy during one period."""
REST = 10.0
"""A copy is at rest if it moves less in the last period than this multiple of `tol` of its motion in the first one."""
STATES_AT_ONCE = 2**24
"""Number of coordinates of all copies that are kept at once to find how far copies move during a period."""


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
    period : array, shape (n,)
        Time T between two sections of each copy.
    extent : array, shape (n, 2)
        How far each copy moves during its first and its last period: the largest range of a coordinate, or of a
        velocity times T / 2 pi, which is the same in a harmonic motion.
    escape : array, shape (n,)
        Time at which a copy went to infinity; its sections are NaN afterwards. inf for copies that did not.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.vibro.Copies(q0=[1.0], force=[0.0], v0=[2.0])
    >>> found = jo.vibro.sections(ball, period=0.5, steps=4, periods=3)
    >>> found.q[0, :, 0].tolist(), found.u[0, :, 0].tolist()
    ([2.0, 3.0, 4.0], [2.0, 2.0, 2.0])
    >>> found.extent.tolist()
    [[1.0, 1.0]]
    """

    copies: Copies
    q: Array
    u: Array
    period: Array
    extent: Array
    escape: Array

    @property
    def points(self) -> Array:
        """(n, k, 2 d): the sections as lengths, q and T u / 2 pi."""
        return np.concatenate([self.q, self.u * (self.period / (2.0 * np.pi))[:, None, None]], axis=2)

    @property
    def noise(self) -> Array:
        """(n,): the round-off of the sections of each copy."""
        return np.asarray(ROUND_OFF * np.abs(self.points).max(axis=(1, 2)))

    def at_rest(self, tol: float = REPEAT_TOLERANCE) -> Booleans:
        """Find the copies that have come to rest.

        Parameters
        ----------
        tol : float, default 1e-5
            A copy is at rest if it moves in the last period at most 10 `tol` of what it moved in the first one.

        Returns
        -------
        array of bool, shape (n,)
            Whether each copy is at rest.

        Examples
        --------
        >>> import jostle as jo
        >>> ball = jo.vibro.Copies(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), restitution=[0.5, 1.0])
        >>> jo.vibro.sections(ball, period=1.0, steps=50, periods=8).at_rest().tolist()
        [True, False]
        """
        first, last = self.extent.T
        at_rest: Booleans = last <= np.maximum(REST * tol * first, self.noise)
        return at_rest

    def periods(self, most: int = 8, tol: float = REPEAT_TOLERANCE) -> Integers:
        """Find the number of sections after which each copy repeats itself.

        Each copy is compared with itself alone. At most half of the saved sections are considered. A copy at rest
        repeats itself after one section, although it may still approach its place.

        Parameters
        ----------
        most : int, default 8
            Longest period that is recognised, in sections.
        tol : float, default 1e-5
            How closely a section must come back, as a fraction of the motion of its copy during one period.

        Returns
        -------
        array of int, shape (n,)
            The number of sections, or 0 for a copy that does not repeat itself.

        Examples
        --------
        >>> import jostle as jo
        >>> ball = jo.vibro.Copies(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), restitution=1.0)
        >>> jo.vibro.sections(ball, period=0.4472135955, steps=20, periods=16).periods().tolist()  # half a bounce
        [2]
        """
        x, allowed = self.points, np.maximum(tol * self.extent[:, 1], self.noise)
        found = np.zeros(len(x), dtype=np.int64)
        for p in range(min(most, x.shape[1] // 2), 0, -1):
            found[np.abs(x[:, p:] - x[:, :-p]).max(axis=(1, 2)) <= allowed] = p
        found[(found == 0) & self.at_rest(tol)] = 1
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
        The states at the ends of the periods after the first `skip`, NaN for copies that have escaped to infinity.

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
    >>> copies = jo.vibro.Copies(
    ...     q0=[-0.5], force=drive, within=jo.HalfSpace([-1.0]), parameters=omega, restitution=0.8
    ... )
    >>> jo.vibro.sections(copies, period=2 * np.pi / omega, steps=32, periods=900, skip=880).periods().tolist()
    [1, 2]
    """
    check_skip(skip, periods)
    h, d = step_of(period, steps, len(copies)), copies.q0.shape[1]
    march, T = March(copies, scheme, h, tolerated=(ESCAPED,)), steps * h
    begin, first = _through_a_period(march, steps, T)
    saved = [begin] if skip == 0 else []
    last = first
    if periods > 1:
        between = max(skip - 1, 0)
        saved.append(march.go(steps, periods - 2, between, max(periods - 2 - between, 0)))
        end, last = _through_a_period(march, steps, T)
        saved.append(end)
    found = np.concatenate(saved, axis=1)
    return Sections(copies, found[:, :, :d], found[:, :, d:], T, np.stack([first, last], axis=1), march.escape)


def _through_a_period(march: March, steps: int, T: Array) -> tuple[Array, Array]:
    """The section (n, 1, 2 d) after a period, and how far each copy moves during it (n,)."""
    n, _, d = march.states.shape
    states = np.concatenate([march.states[:, 0], march.states[:, 2]], axis=1)[:, None]
    low = high = states[:, 0]
    at_once = max(1, STATES_AT_ONCE // (n * 2 * d))
    for done in range(0, steps, at_once):
        count = min(at_once, steps - done)
        states = march.go(1, count, 0, count)
        low, high = np.minimum(low, states.min(axis=1)), np.maximum(high, states.max(axis=1))
    range_of = high - low
    return states[:, -1:], np.maximum(range_of[:, :d].max(axis=1), T / (2.0 * np.pi) * range_of[:, d:].max(axis=1))


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
    >>> ball = jo.vibro.Copies(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), restitution=0.5)
    >>> rested = jo.vibro.advance(ball, t=2.0, h=0.01)
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
    >>> ball = jo.vibro.Copies(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), restitution=0.5)
    >>> hits = jo.vibro.impacts(ball, t=1.2, h=0.1, keep=3)
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
    >>> copies = jo.vibro.Copies(q0=[-0.5], force=drive, within=jo.HalfSpace([-1.0]), restitution=0.8)
    >>> hits = jo.vibro.impacts(copies, t=2000.0, h=0.05, keep=3)
    >>> hits.speed.round(4).tolist()                                  # the period has doubled
    [[0.4501, 0.4564, 0.4501]]
    """
    march = March(copies, scheme, np.array(h), keep)
    march.go(1, steps_in(t, h))
    found, count = march.impacts()
    row = np.where(np.isnan(found[:, :, 2]), -1, np.nan_to_num(found[:, :, 2])).astype(np.int64)
    return CopyImpacts(found[:, :, 0], found[:, :, 1], row, count)
