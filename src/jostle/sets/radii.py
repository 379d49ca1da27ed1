"""The radii of bodies, checked."""

from __future__ import annotations

import numpy as np

from jostle.arrays import Array
from jostle.errors import InvalidValue, NotFinite


def body_radii(radii: Array, n: int, t: float, allow_zero: bool = False) -> Array:
    """The radii of n bodies at time t, checked."""
    if radii.ndim > 1 or radii.size not in (1, n):
        raise InvalidValue(f"radii have shape {radii.shape}, there are {n} bodies")
    given = radii.ravel()
    spread = np.broadcast_to(given, (n,))
    if n == 0:
        return spread
    if not np.isfinite(given).all():
        raise NotFinite(f"radius of body {int(np.argmin(np.isfinite(given)))} is not finite at t = {t:g}")
    if given.min() < 0 or (given.min() == 0 and not allow_zero):
        body = int(np.argmin(given))
        raise InvalidValue(f"radius of body {body} is {given[body]:g} at t = {t:g}; it must be positive")
    return spread
