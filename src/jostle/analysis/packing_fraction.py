"""The packing fraction: the volume of the balls in a region over the volume of the region."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle.analysis.cut_balls import volumes_inside
from jostle.arguments import check_arguments
from jostle.arrays import Array, finite
from jostle.errors import InvalidValue
from jostle.sets.radii import body_radii

PERIOD_TOLERANCE = 1e-9
"""Relative difference up to which the width of a region counts as one period."""


@check_arguments
def packing_fraction(
    q: ArrayLike, radii: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, period: ArrayLike | None = None
) -> float:
    """The fraction of a rectangular region that discs or spheres occupy, if they do not overlap.

    Balls that the boundary cuts are counted with the volume inside, which is exact, also at edges and corners. With a
    period the images are counted as well; along an axis on which the region is one period wide nothing is cut.

    Parameters
    ----------
    q : array_like, shape (n, d)
        Positions of the balls, d = 2 or 3. Balls whose position is NaN are absent.
    radii : float or array_like, shape (n,)
        Radius of all balls or of each ball.
    lower : float or array_like, shape (d,)
        Lower corner of the region.
    upper : float or array_like, shape (d,)
        Upper corner of the region.
    period : float or array_like, shape (d,), optional
        Period along each axis, as in `Balls`; infinite along axes without a period. None means no period.

    Returns
    -------
    float
        Occupied volume divided by the volume of the region.

    Raises
    ------
    InvalidValue
        If the region is empty or wider than a period, or if the dimension is neither 2 nor 3.

    Examples
    --------
    >>> round(packing_fraction([[0.0, 0.0]], 1.0, [-1, -1], [1, 1]), 9)                       # pi / 4
    0.785398163
    >>> round(packing_fraction([[0.0, 0.0, 0.0]], 1.0, [0, 0, 0], [1, 1, 1]), 9)              # pi / 6
    0.523598776
    >>> round(packing_fraction([[0.0, 0.0]], 1.0, [-4, -4], [4, 4], period=8.0), 9)           # pi / 64
    0.049087385
    """
    x = np.asarray(q, dtype=float)
    if x.ndim != 2 or x.shape[1] not in (2, 3):
        raise InvalidValue(f"q must have one row per ball, shape (n, 2) or (n, 3), not {x.shape}")
    n, d = x.shape
    there = ~np.isnan(x).all(axis=1)
    x, r = finite(x[there], "q"), body_radii(finite(radii, "radii"), n, 0.0, allow_zero=True)[there]
    low, high = (_ends(ends, name, d) for ends, name in ((lower, "lower"), (upper, "upper")))
    if not (low < high).all():
        raise InvalidValue(f"the region is empty: lower {low.tolist()}, upper {high.tolist()}")
    volume = float(np.prod(high - low))
    if period is not None:
        x, r, low, high = _unfolded(x, r, low, high, period)
    return float(volumes_inside(x, r, low, high).sum() / volume)


def _ends(ends: ArrayLike, name: str, d: int) -> Array:
    found = finite(ends, name)
    if found.shape not in ((), (d,)):
        raise InvalidValue(f"{name} has shape {found.shape}, expected a number or shape ({d},)")
    return np.array(np.broadcast_to(found, (d,)))


def _unfolded(x: Array, r: Array, low: Array, high: Array, period: ArrayLike) -> tuple[Array, Array, Array, Array]:
    """The balls with their images near the region, and the region, open along the axes where it is one period wide."""
    P = np.asarray(period, dtype=float)
    if P.shape not in ((), low.shape) or not (P > 0.0).all():
        raise InvalidValue(f"period must be positive, one number or one for each of {len(low)} axes, not {period!r}")
    P = np.broadcast_to(P, low.shape)
    width = high - low
    if (width > P * (1.0 + PERIOD_TOLERANCE)).any():
        raise InvalidValue(
            f"the region is {width.tolist()} wide, more than the period {P.tolist()}: balls would count twice"
        )
    whole = width >= P * (1.0 - PERIOD_TOLERANCE)
    for axis in np.flatnonzero(np.isfinite(P) & ~whole):
        step = np.zeros(len(low))
        step[axis] = P[axis]
        middle = (low[axis] + high[axis]) / 2.0
        reach = int(np.ceil(float(r.max(initial=0.0)) / P[axis]))
        x = x - step * np.round((x[:, axis] - middle) / P[axis])[:, None]
        images = np.arange(-reach, reach + 1)
        x, r = (x + images[:, None, None] * step).reshape(-1, len(low)), np.tile(r, len(images))
        near = np.abs(x[:, axis] - middle) < width[axis] / 2.0 + r
        x, r = x[near], r[near]
    return x, r, np.where(whole, -np.inf, low), np.where(whole, np.inf, high)
