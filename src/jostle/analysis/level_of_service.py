"""Levels of service A (free) to F (jammed), by the density of people.

They are those of Fruin, Pedestrian Planning and Design, 1971: the area for each person in square feet, converted to
people per square metre.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jostle.arguments import check_arguments
from jostle.arrays import numbers
from jostle.errors import InvalidValue

SQUARE_FOOT = 0.3048**2
"""A square foot in square metres."""
FRUIN_AREAS = {"walkways": (35, 25, 15, 10, 5), "stairs": (20, 15, 10, 7, 4), "queues": (13, 10, 7, 3, 2)}
"""Smallest area for each person, in square feet, of the levels A to E (Fruin 1971)."""
FRUIN = {use: tuple(1.0 / (feet * SQUARE_FOOT) for feet in areas) for use, areas in FRUIN_AREAS.items()}
"""Largest density of the levels A to E, in people per square metre."""
LEVELS = "ABCDEF"
"""Names of the levels of service."""


@check_arguments
def level_of_service(density: ArrayLike, *, use: str = "walkways") -> NDArray[np.str_]:
    """The level of service A (free) to F (jammed) of densities, by Fruin 1971.

    Parameters
    ----------
    density : array_like
        People per square metre, 0 or more.
    use : str, default "walkways"
        "walkways", "stairs" or "queues".

    Returns
    -------
    ndarray of str
        The levels, in the shape of `density`; '' where the density is NaN.

    Raises
    ------
    InvalidValue
        If a density is negative, or if `use` is unknown.

    Examples
    --------
    >>> level_of_service([0.2, 1.0, 3.0]).tolist(), level_of_service(3.0, use="queues").tolist()
    (['A', 'D', 'F'], 'D')
    """
    if use not in FRUIN:
        raise InvalidValue(f"use must be one of {', '.join(map(repr, FRUIN))}, not {use!r}")
    values = numbers(density, "density")
    if (values < 0.0).any():
        raise InvalidValue(f"a density must not be negative, not {values[values < 0.0].flat[0]}")
    number = np.searchsorted(FRUIN[use], values, side="right")
    return np.where(np.isnan(values), "", np.array(list(LEVELS))[np.minimum(number, len(LEVELS) - 1)])
