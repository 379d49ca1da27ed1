"""Lyapunov exponents of many copies: the rate at which two copies that start side by side move apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import Count, Natural, check_arguments
from jostle.arrays import Array
from jostle.ensembles.copies import Copies
from jostle.ensembles.marching import ByEvents, March, check_skip, check_smooth, step_of
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli

SEPARATION = 1e-7
"""Distance of the second motion that measures a Lyapunov exponent, as a fraction of the largest state so far."""


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

    A positive exponent means chaos. A second motion beside each copy is rescaled to a small distance after each period
    (Benettin's method).

    Parameters
    ----------
    copies : Copies
        The copies.
    scheme : ByEvents, optional
        The scheme. None: `ByEvents`. Others are refused, because their motions do not depend smoothly on the start.
    period : float or array_like, shape (n,)
        Time between two rescalings, for all copies or for each copy.
    steps : int
        Number of time steps per period.
    periods : int
        Number of periods to compute.
    skip : int, default 0
        Number of first periods that are left out of the mean, less than `periods`.

    Returns
    -------
    array, shape (n,)
        The exponents, in one over the unit of time.

    Raises
    ------
    InvalidValue
        If `skip` is not below `periods`, or `period` does not fit the copies.
    SchemeRefuses
        If the scheme is `Paoli` or `MoreauJean`.

    Examples
    --------
    >>> import jostle as jo
    >>> def swing(t, q, u, parameters):
    ...     return -q[0] - 0.1 * u[0]
    >>> copies = jo.ensembles.Copies(q0=[1.0], force=swing)
    >>> jo.ensembles.lyapunov_exponents(copies, period=2 * np.pi, steps=100, periods=50).round(3).tolist()
    [-0.05]
    """
    check_smooth(scheme, "Lyapunov exponents")
    check_skip(skip, periods)
    n, d = copies.q0.shape
    h = step_of(period, steps, n)
    trial = March(copies, scheme, h)
    trial.go(steps, 1)  # the size of the motion, because copies may start at rest at the origin
    march = March(copies.repeated(2), scheme, np.tile(h, 2))
    first, second = march.states[:n], march.states[n:]
    scale = np.maximum(_size(first), _size(trial.states))
    scale[scale == 0.0] = 1.0  # nothing moves
    wanted = SEPARATION * scale
    second += (wanted / np.sqrt(2.0 * d))[:, None, None]
    growth = np.zeros(n)
    for number in range(periods):
        march.go(steps, 1)
        apart = second - first
        distance = np.sqrt((apart[:, 0] ** 2 + apart[:, 2] ** 2).sum(axis=1))
        lost = distance == 0.0  # both have come to rest at the same position
        if number >= skip:
            growth += np.log(np.where(lost, np.finfo(float).eps, distance / wanted))
        scale = np.maximum(scale, _size(first))
        wanted = SEPARATION * scale
        factor = np.where(lost, 0.0, wanted / np.where(lost, 1.0, distance))
        second[:] = first + apart * factor[:, None, None]
        second[lost, 0] += (wanted / np.sqrt(2.0 * d))[lost, None]
    return growth / ((periods - skip) * h * steps)


def _size(states: Array) -> Array:
    """(n,): the largest coordinate or velocity of each copy."""
    return np.asarray(np.abs(states).max(axis=(1, 2)))
