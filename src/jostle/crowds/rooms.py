"""Rooms: plans of one polygon whose doors are exits."""

from __future__ import annotations

from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import shaped
from jostle.crowds.plans import Plan
from jostle.errors import InvalidValue


@check_arguments
def Room(corners: ArrayLike, *, doors: ArrayLike) -> Plan:
    """The plan of one room: a polygon whose doors are the exits "door 0", "door 1", ...

    Parameters
    ----------
    corners : array_like, shape (k, 2)
        Corners of the room (m), in order around it.
    doors : array_like, shape (m, 2, 2)
        The two ends of each door, on an edge of the room.

    Returns
    -------
    Plan
        The floor plan.

    Raises
    ------
    InvalidValue
        If there is no door, if a door does not lie on an edge, or if the outline crosses itself.

    Examples
    --------
    >>> import numpy as np
    >>> room = Room([(0, 0), (10, 0), (10, 8), (0, 8)], doors=[((10, 3.2), (10, 4.8))])
    >>> room.inside(np.array([[5.0, 4.0], [11.0, 4.0]])).tolist(), list(room.exits)
    ([True, False], ['door 0'])
    """
    ends = shaped(doors, "doors", -1, 2, 2)
    if len(ends) == 0:
        raise InvalidValue("a room needs at least one door")
    return Plan(shaped(corners, "corners", -1, 2), exits={f"door {k}": door for k, door in enumerate(ends)})
