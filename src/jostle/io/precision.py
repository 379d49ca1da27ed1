"""Whether the type of the numbers in a trajectory file can hold the positions of its bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from jostle._tools.arrays import Array
from jostle.errors import InvalidValue

TINY = float(np.finfo(float).tiny)
"""Smallest positive double of full precision."""
NEGLIGIBLE_ROUNDING = 1e-3
"""Single precision is chosen if it rounds positions by at most this fraction of the smallest radius."""
MAX_ROUNDING = 0.01
"""A given precision is refused if it rounds positions in the first frame by more than this fraction."""


def sufficient(q: Array, radii: ArrayLike) -> np.dtype[Any]:
    """float32, or float64 if float32 would move a body by a notable part of the smallest radius.

    >>> [str(sufficient(np.array([[x, 2.0]]), 0.2)) for x in (10.0, 5e6)]
    ['float32', 'float64']
    """
    sizes = np.asarray(radii, dtype=float)
    sizes = sizes[sizes > 0.0]
    furthest = float(np.abs(q[np.isfinite(q)]).max(initial=0.0))
    rounding = furthest * float(np.finfo(np.float32).eps) / 2.0
    return np.dtype(np.float64 if len(sizes) and rounding > NEGLIGIBLE_ROUNDING * sizes.min() else np.float32)


def check_precision(q: ArrayLike, radii: ArrayLike, dtype: DTypeLike) -> None:
    """Refuse positions so far from the origin that numbers of a type round them by a notable part of a radius.

    >>> check_precision([[5e6, 0.0], [5e6, 1.0]], 0.25, np.float32)             # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    jostle.errors.InvalidValue: float32 rounds positions near 5e+06 by up to 0.25, and the smallest radius is 0.25: ...
    """
    sizes = np.asarray(radii, dtype=float).ravel()
    places = np.abs(np.asarray(q, dtype=float).ravel())
    smallest = float(sizes[sizes > 0.0].min(initial=np.inf))
    furthest = float(places[np.isfinite(places)].max(initial=0.0))
    rounding = float(np.finfo(dtype).eps) / 2.0 * 2.0 ** np.floor(np.log2(max(furthest, TINY)))
    if rounding > MAX_ROUNDING * smallest:
        finer = "" if np.dtype(dtype) == float else ', or dtype=np.float64 (in a scenario: precision = "float64")'
        raise InvalidValue(
            f"{np.dtype(dtype).name} rounds positions near {furthest:g} by up to {rounding:.2g}, and the smallest "
            f"radius is {smallest:g}: choose an origin near the bodies{finer}"
        )
