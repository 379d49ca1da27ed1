"""Periodic orbits of many copies, their multipliers, and Lyapunov exponents.

With the map F that takes the state (q, u) of a copy to the state some periods later, an orbit is a solution of
F(x) = x, found by Newton's method, and its multipliers are the eigenvalues of dF. It is stable if all multipliers lie
inside the unit circle. The period doubles where one multiplier is -1, that is, det(dF + I) = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jostle._tools.arguments import Count, Natural, check_arguments
from jostle._tools.arrays import Array, Booleans
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli
from jostle.vibro.copies import ByEvents, CompiledScheme, Copies, March, changed, check_skip, check_smooth, step_of

DIFFERENCE = 1e-6
"""Step of the central differences of the map, as a fraction of the state."""
ORBIT_TOLERANCE = 1e-10
"""An orbit is found when a Newton step moves it by less than this fraction of the state."""


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
    converged : array of bool, shape (n,)
        Whether the orbit was found.

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
    converged: Booleans

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

    Orbits need not be stable. The multipliers are as accurate as the scheme.

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
        The orbits, with `converged` telling which were found.

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
    x = np.concatenate([copies.q0, copies.v0], axis=1)
    image = _mapped(copies, scheme, h, x, steps * times)  # the size of the motion, if a copy starts near the origin
    scale = np.maximum(np.abs(x), np.abs(image)).max(axis=1, keepdims=True)
    scale[scale == 0.0] = 1.0  # nothing moves
    offsets = np.concatenate([np.zeros((1, 2 * d)), np.eye(2 * d), -np.eye(2 * d)])
    derivative, converged = np.zeros((n, 2 * d, 2 * d)), np.zeros(n, dtype=bool)
    for _ in range(max_iterations):
        step = DIFFERENCE * scale
        starts = (x + offsets[:, None, :] * step).reshape(-1, 2 * d)
        ends = _mapped(copies, scheme, h, starts, steps * times).reshape(len(offsets), n, 2 * d)
        change = ends[1 : 2 * d + 1] - ends[2 * d + 1 :]
        derivative = np.moveaxis(change, 0, 2) / (2.0 * step[:, None, :])
        move = np.linalg.solve(np.eye(2 * d) - derivative, (ends[0] - x)[:, :, None])[:, :, 0]
        converged = (np.abs(move) <= ORBIT_TOLERANCE * scale).all(axis=1)
        if converged.all():
            break
        x = np.where(converged[:, None], x, x + move)
    return Orbits(x[:, :d].copy(), x[:, d:].copy(), derivative, converged)


def _mapped(copies: Copies, scheme: CompiledScheme | None, h: Array, x: Array, steps: int) -> Array:
    """The states that x reach after `steps` steps; x (k n, 2 d) are k blocks of states of the n copies."""
    d, blocks = copies.q0.shape[1], len(x) // len(copies)
    own = {name: np.concatenate([getattr(copies, name)] * blocks) for name in ("parameters", "restitution", "t0")}
    march = March(changed(copies, q0=x[:, :d], v0=x[:, d:], **own), scheme, np.tile(h, blocks))
    march.go(steps, 1)
    return np.concatenate([march.states[:, 0], march.states[:, 2]], axis=1)


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
    separation across it ends, and with one coordinate there is no other.

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
        The exponents, in one over the unit of time; -inf where separations end.

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
        impacts with e = 0.

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
    march = March(copies, scheme, h, tangents=count)
    march.go(steps, skip)
    march.tangents[:, :, -1] = 0.0
    march.go(steps, periods - skip)
    exponents = march.tangents[:, :, -1] / ((periods - skip) * steps * h)[:, None]
    return np.flip(np.sort(exponents, axis=1), axis=1)
