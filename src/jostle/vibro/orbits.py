"""Periodic orbits of many copies, their multipliers, and Lyapunov exponents.

With the map F that takes the state (q, u) of a copy to the state some periods later, an orbit is a solution of
F(x) = x, found by Newton's method, and its multipliers are the eigenvalues of dF, which is a product of linearised
flights and saltation matrices (`kernels.cpu.flights`). It is stable if all multipliers lie inside the unit circle. The
period doubles where one multiplier is -1, that is, det(dF + I) = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jostle._tools.arguments import Count, Natural, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.kernels.reference.copies import ESCAPED, GOES_ON, HITS, STATUS
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli
from jostle.vibro.copies import (
    ByEvents,
    CompiledScheme,
    Copies,
    March,
    changed,
    check_skip,
    check_smooth,
    chosen,
    step_of,
    walls,
)

ORBIT_TOLERANCE = 1e-10
"""An orbit is found when a Newton step moves it by less than this fraction of the state."""
LONGEST_MOVE = 2.0
"""Longest Newton step, as a multiple of the state."""
MAX_RETREATS = 8
"""How often in a row a Newton step is halved because the motion after it ends."""
SINGULAR = 1e-12
"""A multiplier this close to 1 makes Newton's method impossible."""
ANY_END = tuple(range(GOES_ON + 1, ESCAPED + 1))
"""Every status of a copy that has stopped."""


@dataclass(frozen=True, eq=False)
class Orbits:
    """Periodic orbits of n copies, each given by its state at the start of a period; found by `periodic_orbits`.

    Attributes
    ----------
    q : array, shape (n, d)
        Positions at the start of a period.
    u : array, shape (n, d)
        Velocities at the start of a period.
    derivative : array, shape (n, 2 d, 2 d)
        Derivative dF of the map at the orbit.
    reason : array of str, shape (n,)
        Why no orbit was found; "" where it was.
    margin : array, shape (n,)
        How far the orbit is from grazing: the smallest change of its start, as a fraction of its size, at which, to
        first order, an impact vanishes or another one appears. dF describes smaller changes only; inf if no gap has a
        minimum and nothing hits.

    Examples
    --------
    >>> import jostle as jo
    >>> def swing(t, q, u, parameters):
    ...     return -q[0] - 0.1 * u[0] + np.cos(parameters[0] * t)
    >>> omega = np.array([1.5, 2.0])
    >>> copies = jo.vibro.Copies(q0=[0.0], force=swing, parameters=omega)
    >>> found = jo.vibro.periodic_orbits(copies, period=2 * np.pi / omega, steps=100)
    >>> found.q.round(6).tolist()                               # (1 - omega^2) / ((1 - omega^2)^2 + (0.1 omega)^2)
    [[-0.788643], [-0.331858]]
    >>> abs(found.multipliers[0]).round(6).tolist()             # exp(-0.05 T)
    [0.811039, 0.811039]
    """

    q: Array
    u: Array
    derivative: Array
    reason: NDArray[np.str_]
    margin: Array

    @property
    def converged(self) -> Booleans:
        """(n,): whether the orbit was found."""
        found: Booleans = self.reason == ""
        return found

    @property
    def multipliers(self) -> NDArray[np.complex128]:
        """(n, 2 d): the eigenvalues of dF; NaN where no orbit was found."""
        found = np.full(self.derivative.shape[:2], np.nan, dtype=complex)
        found[self.converged] = np.linalg.eigvals(self.derivative[self.converged])
        return found

    @property
    def stable(self) -> Booleans:
        """(n,): whether the orbit was found and all multipliers lie inside the unit circle."""
        size = np.abs(self.multipliers).max(axis=1)
        stable: Booleans = self.converged & (np.where(np.isnan(size), np.inf, size) < 1.0)
        return stable

    @property
    def doubling(self) -> Array:
        """(n,): det(dF + I), which is zero where the period doubles; NaN where no orbit was found."""
        size = self.derivative.shape[1]
        return np.where(self.converged, np.linalg.det(self.derivative + np.eye(size)), np.nan)


class Mapped(NamedTuple):
    """The map F of n copies at their starts. States are lengths, (q, u T / 2 pi) with the period T of the force."""

    end: Array
    """(n, 2 d) F(x)."""
    derivative: Array
    """(n, 2 d, 2 d + p) the derivative of F in x, and along p changes of the parameters."""
    lowest: Array
    """(n,) the minimum of a gap that is closest to zero; negative if there is an impact (see `kernels.cpu.flights`)."""
    slope: Array
    """(n, 2 d + p) the derivative of that minimum."""
    hits: Integers
    """(n,) number of impacts."""
    rests: Booleans
    """(n,) whether a contact is at rest at the end."""
    reasons: list[str]
    """Why each motion ended before; "" if it did not."""

    @property
    def margin(self) -> Array:
        """(n,) how far the states are from grazing, to first order."""
        d = self.end.shape[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.abs(self.lowest) / np.linalg.norm(self.slope[:, :d], axis=1)
        return np.where(np.isnan(distance), np.inf, distance)


def mapped(copies: Copies, h: Array, steps: int, unit: Array, directions: Array | None = None) -> Mapped:
    """F after `steps` steps h; velocities are multiplied by `unit` (n,)."""
    n, d = copies.q0.shape
    weights = np.concatenate([np.ones((n, d)), np.repeat(unit[:, None], d, axis=1)], axis=1)
    count = 0 if directions is None else len(directions)
    tangents = np.zeros((n, 2 * d + count, 2 * d))
    tangents[:, : 2 * d] = np.eye(2 * d) / weights[:, None, :]
    changes = np.zeros((2 * d + count, copies.parameters.shape[1] + 1))
    if directions is not None:
        changes[2 * d :] = directions
    march = March(copies, None, h, tangents=tangents, directions=changes, tolerated=ANY_END)
    march.go(steps, 1)
    end = np.concatenate([march.states[:, 0], march.states[:, 2]], axis=1) * weights
    derivative = np.swapaxes(march.tangents[:, :, : 2 * d], 1, 2) * weights[:, :, None]
    reasons = march.reasons()
    for k in np.flatnonzero(~np.isfinite(derivative).all(axis=(1, 2)) & (march.counts[:, STATUS] == GOES_ON)):
        reasons[k] = "the derivative of the motion is not finite"
    rests: Booleans = np.any(march.touched[:, 0] > 0.0, axis=1)
    return Mapped(end, derivative, march.grazing[:, 0], march.grazing[:, 1:], march.counts[:, HITS], rests, reasons)


def in_front_of_walls(copies: Copies, q: Array) -> Array:
    """(n, d) the positions q, moved onto walls that they are behind."""
    there = changed(copies, q0=q)
    for _ in range(copies.constraints + 1):
        gap, G = walls(there)
        behind = np.flatnonzero((gap < 0.0).any(axis=1))
        if len(behind) == 0:
            break
        moved = there.q0.copy()
        for k in behind:
            row = int(gap[k].argmin())
            moved[k] -= G[k, row] * gap[k, row] / (G[k, row] @ G[k, row])
        there = changed(copies, q0=moved)
    return there.q0


@check_arguments
def periodic_orbits(
    copies: Copies,
    scheme: ByEvents | Paoli | MoreauJean | None = None,
    *,
    period: ArrayLike,
    steps: Count,
    times: Count = 1,
    max_iterations: Count = 30,
) -> Orbits:
    """Find periodic orbits by Newton's method, from the starts of the copies.

    Orbits need not be stable. A copy from which no orbit is found is marked with the reason; it does not affect the
    others. Iterates stay in front of the walls.

    Parameters
    ----------
    copies : Copies
        The copies, which start close to the orbits.
    scheme : ByEvents, optional
        The scheme. None: `ByEvents`. Others are refused, because their motions do not depend smoothly on the start.
    period : float or array_like, shape (n,)
        Period of the force, for all copies or for each copy.
    steps : int
        Number of time steps per period.
    times : int, default 1
        Number of periods after which the orbit repeats itself.
    max_iterations : int, default 30
        Largest number of Newton steps.

    Returns
    -------
    Orbits
        The orbits, with `converged` telling which were found, and `reason` why the others were not.

    Examples
    --------
    >>> import jostle as jo
    >>> from scipy.optimize import brentq
    >>> def drive(t, q, u, parameters):
    ...     return np.cos(parameters[0] * t) - q[0]
    >>> def doubling(omega):
    ...     start = jo.vibro.Copies(
    ...         q0=[-0.65], v0=[0.02], force=drive, within=jo.HalfSpace([-1.0]), parameters=[omega], restitution=0.8
    ...     )
    ...     return jo.vibro.periodic_orbits(start, period=2 * np.pi / omega, steps=128).doubling[0]
    >>> round(float(brentq(doubling, 2.64, 2.67)), 6)                    # 2.65334772786 is exact
    2.653348
    """
    check_smooth(scheme, "periodic orbits and multipliers")
    n, d = copies.q0.shape
    h = step_of(period, steps, n)
    unit = steps * h / (2.0 * np.pi)
    weights = np.concatenate([np.ones((n, d)), np.repeat(unit[:, None], d, axis=1)], axis=1)
    x = np.concatenate([copies.q0, copies.v0], axis=1) * weights
    before, retreats = x.copy(), np.zeros(n, dtype=int)
    scale, margin = np.zeros(n), np.full(n, np.inf)
    derivative, reason = (
        np.zeros((n, 2 * d, 2 * d)),
        np.array([f"not found in {max_iterations} Newton steps"] * n, object),
    )
    left = np.arange(n)
    for iteration in range(max_iterations):
        start = chosen(copies, left, q0=x[left, :d], v0=x[left, d:] / weights[left, d:])
        F = mapped(start, h[left], steps * times, unit[left])
        ended = np.array([bool(why) for why in F.reasons])
        if iteration == 0:
            scale = np.maximum(np.abs(x), np.where(ended[:, None], 0.0, np.abs(F.end))).max(axis=1)
            scale[scale == 0.0] = 1.0  # nothing moves
        away = ended & ((retreats[left] >= MAX_RETREATS) | (iteration == 0))
        reason[left[away]] = [why for why, gone in zip(F.reasons, away, strict=True) if gone]
        retreats[left] = np.where(ended, retreats[left] + 1, 0)
        residual, dF = F.end - x[left], F.derivative[:, :, : 2 * d]
        system = np.where(ended[:, None, None], np.eye(2 * d), np.eye(2 * d) - dF)
        singular = np.linalg.svd(system, compute_uv=False)[:, -1] <= SINGULAR
        reason[left[singular]] = "a multiplier is 1, so that Newton's method cannot be used"
        system[singular] = np.eye(2 * d)
        move = np.linalg.solve(system, residual[:, :, None])[:, :, 0]
        found = ~ended & ~singular & (np.abs(move).max(axis=1) <= ORBIT_TOLERANCE * scale[left])
        close = F.margin / scale[left]
        grazes = found & (close <= 100.0 * ORBIT_TOLERANCE)
        reason[left[found]] = ""
        reason[left[grazes]] = "it grazes a wall, up to round-off, where there are no multipliers"
        derivative[left], margin[left] = dF / weights[left, :, None] * weights[left, None, :], close
        length = np.abs(move).max(axis=1, keepdims=True) / scale[left, None]
        move /= np.maximum(length / LONGEST_MOVE, 1.0)
        new = np.where(ended[:, None], 0.5 * (x[left] + before[left]), x[left] + move)
        goes_on = ~(found | singular | away)
        before[left] = np.where((ended | found)[:, None], before[left], x[left])
        x[left[goes_on]] = new[goes_on]
        left = left[goes_on]
        if len(left) == 0:
            break
        x[left, :d] = in_front_of_walls(chosen(copies, left), x[left, :d])
    text = np.array(reason.tolist())
    return Orbits(x[:, :d].copy(), x[:, d:] / weights[:, d:], derivative, text, margin)


# Lyapunov exponents of many copies: the rates at which copies that start side by side move apart.
#
# Small separations obey the linearised motion, which impacts make jump (`kernels.cpu.flights`). Orthonormal separations
# are followed, and made orthonormal again after each step (Benettin, Galgani, Giorgilli, Strelcyn 1980). The sum of all
# exponents is the mean rate at which volumes of neighbouring states grow: by div f / M in flight, and by 2 log e in
# each impact of one contact.


@check_arguments
def lyapunov_exponents(
    copies: Copies,
    scheme: ByEvents | Paoli | MoreauJean | None = None,
    *,
    period: ArrayLike,
    steps: Count,
    periods: Count,
    skip: Natural = 0,
) -> Array:
    """Compute the largest Lyapunov exponent of each copy: the rate at which neighbouring motions separate.

    A positive exponent means chaos. It is -inf if neighbouring motions become one: where a contact comes to rest, a
    separation across it ends, and with one coordinate there is no other. It is NaN for a copy that escapes to infinity.

    Parameters
    ----------
    copies : Copies
        The copies.
    scheme : ByEvents, optional
        The scheme. None: `ByEvents`. Others are refused, because their motions do not depend smoothly on the start.
    period : float or array_like, shape (n,)
        Unit of `periods`, for all copies or for each copy.
    steps : int
        Number of time steps per period.
    periods : int
        Number of periods to compute.
    skip : int, default 0
        Number of first periods that are left out of the mean, less than `periods`.

    Returns
    -------
    array, shape (n,)
        The exponents, in one over the unit of time; -inf where separations end, NaN for copies that escape.

    Examples
    --------
    >>> import jostle as jo
    >>> def swing(t, q, u, parameters):
    ...     return -q[0] - 0.1 * u[0]
    >>> copies = jo.vibro.Copies(q0=[1.0], force=swing)
    >>> jo.vibro.lyapunov_exponents(copies, period=2 * np.pi, steps=100, periods=50).round(3).tolist()
    [-0.05]
    >>> ball = jo.vibro.Copies(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), restitution=0.5)
    >>> jo.vibro.lyapunov_exponents(ball, period=1.0, steps=50, periods=5).tolist()          # it comes to rest
    [-inf]
    """
    return _exponents(copies, scheme, period, steps, periods, skip, 1)[:, 0]


@check_arguments
def lyapunov_spectra(
    copies: Copies,
    scheme: ByEvents | Paoli | MoreauJean | None = None,
    *,
    period: ArrayLike,
    steps: Count,
    periods: Count,
    skip: Natural = 0,
) -> Array:
    """Compute all 2 d Lyapunov exponents of each copy, the largest first.

    Their sum is the mean rate at which volumes of neighbouring states grow; an impact in one contact multiplies them by
    e^2.

    Parameters
    ----------
    copies, scheme, period, steps, periods, skip : Copies, ByEvents, float, int, int, int
        The same as for `lyapunov_exponents`.

    Returns
    -------
    array, shape (n, 2 d)
        The exponents, in one over the unit of time; -inf where separations end, as in contacts that come to rest and in
        impacts with e = 0; NaN for copies that escape.

    Examples
    --------
    >>> import jostle as jo
    >>> def overdamped(t, q, u, parameters):
    ...     return -2.0 * q[0] - 3.0 * u[0]                                            # exp(-t) and exp(-2 t)
    >>> copies = jo.vibro.Copies(q0=[1.0], force=overdamped)
    >>> jo.vibro.lyapunov_spectra(copies, period=1.0, steps=50, periods=60, skip=20).round(4).tolist()
    [[-1.0, -2.0]]
    """
    return _exponents(copies, scheme, period, steps, periods, skip, 2 * copies.q0.shape[1])


def _exponents(
    copies: Copies, scheme: CompiledScheme | None, period: ArrayLike, steps: int, periods: int, skip: int, count: int
) -> Array:
    """(n, count): the largest exponents."""
    check_smooth(scheme, "Lyapunov exponents")
    check_skip(skip, periods)
    h = step_of(period, steps, len(copies))
    march = March(copies, scheme, h, tangents=count, tolerated=(ESCAPED,))
    march.go(steps, skip)
    march.tangents[:, :, -1] = 0.0
    march.go(steps, periods - skip)
    exponents = march.tangents[:, :, -1] / ((periods - skip) * steps * h)[:, None]
    exponents[np.isfinite(march.escape)] = np.nan
    return np.flip(np.sort(exponents, axis=1), axis=1)
