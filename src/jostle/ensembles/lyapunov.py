"""Lyapunov exponents of many copies: the rates at which copies that start side by side move apart.

Small separations obey the linearised motion, which impacts make jump (`kernels.reference.flights`). Orthonormal
separations are followed, and made orthonormal again after each step (Benettin, Galgani, Giorgilli, Strelcyn 1980). The
sum of all exponents is the mean rate at which volumes of neighbouring states grow: by div f / M in flight, and by
2 log e in each impact of one contact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, Natural, check_arguments
from jostle._tools.arrays import Array
from jostle.ensembles.copies import ByEvents, CompiledScheme, Copies, March, check_skip, check_smooth, step_of
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli


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

    Raises
    ------
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
    >>> ball = jo.ensembles.Copies(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), restitution=0.5)
    >>> jo.ensembles.lyapunov_exponents(ball, period=1.0, steps=50, periods=5).tolist()          # it comes to rest
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
    array, shape (n, 2 d)
        The exponents, in one over the unit of time; -inf where separations end, as in contacts that come to rest and in
        impacts with e = 0.

    Raises
    ------
    SchemeRefuses
        If the scheme is `Paoli` or `MoreauJean`.

    Examples
    --------
    >>> import jostle as jo
    >>> def overdamped(t, q, u, parameters):
    ...     return -2.0 * q[0] - 3.0 * u[0]                                            # exp(-t) and exp(-2 t)
    >>> copies = jo.ensembles.Copies(q0=[1.0], force=overdamped)
    >>> jo.ensembles.lyapunov_spectra(copies, period=1.0, steps=50, periods=60, skip=20).round(4).tolist()
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
