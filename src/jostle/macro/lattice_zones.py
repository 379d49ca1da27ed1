"""Square and triangular lattices of discs that fill a zone."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array, finite
from jostle.macro.checks import OfPlaces, holds, point, positive
from jostle.macro.lattice import SQUARE, TRIANGULAR, Lattice, numbered


@check_arguments
def square_lattice(
    spacing: float,
    *,
    box: tuple[ArrayLike, ArrayLike],
    zone: OfPlaces | None = None,
    walls: OfPlaces | None = None,
    angle: float = 0.0,
) -> Lattice:
    """Fill a zone with touching discs on a square lattice.

    With angle 0 the lattice starts at the lower corner of the box: a box whose sides are multiples of the spacing is
    filled exactly. With any other angle a point is at the centre of the box.

    Parameters
    ----------
    spacing : float
        Distance of neighbouring points, positive.
    box : (array_like, array_like), each of shape (2,)
        Lower and upper corner of the region to fill.
    zone : callable (x, y) -> array of bool, optional
        Condition on the points. None: the whole box.
    walls : callable (x, y) -> array of bool, optional
        Condition that is true in walls. None: no walls.
    angle : float, default 0.0
        Angle of the direction e_0 with the x axis, in radians.

    Returns
    -------
    Lattice
        The discs inside the zone.

    Raises
    ------
    InvalidValue
        If the spacing is not positive, or a condition does not return booleans.

    Examples
    --------
    >>> len(square_lattice(0.1, box=([-1, -1], [1, 1]), zone=lambda x, y: x**2 + y**2 < 1))
    316
    """
    return _filled(spacing, SQUARE, box, zone, walls, angle, centred=angle == 0.0)


@check_arguments
def triangular_lattice(
    spacing: float,
    *,
    box: tuple[ArrayLike, ArrayLike],
    zone: OfPlaces | None = None,
    walls: OfPlaces | None = None,
    angle: float = 0.0,
) -> Lattice:
    """Fill a zone with touching discs on a triangular lattice, with one disc at the centre of the box.

    Parameters
    ----------
    spacing : float
        Distance of neighbouring points, positive.
    box : (array_like, array_like), each of shape (2,)
        Lower and upper corner of the region to fill.
    zone : callable (x, y) -> array of bool, optional
        Condition on the points. None: the whole box.
    walls : callable (x, y) -> array of bool, optional
        Condition that is true in walls. None: no walls.
    angle : float, default 0.0
        Angle of the direction e_0 with the x axis, in radians.

    Returns
    -------
    Lattice
        The discs inside the zone.

    Raises
    ------
    InvalidValue
        If the spacing is not positive, or a condition does not return booleans.

    Examples
    --------
    >>> flower = triangular_lattice(1.0, box=([-2, -2], [2, 2]), zone=lambda x, y: x**2 + y**2 < 1.5)
    >>> len(flower), flower.cone.G.shape[0]
    (7, 12)
    """
    return _filled(spacing, TRIANGULAR, box, zone, walls, angle, centred=False)


def _filled(
    spacing: float,
    e: Array,
    box: tuple[ArrayLike, ArrayLike],
    zone: OfPlaces | None,
    walls: OfPlaces | None,
    angle: float,
    *,
    centred: bool,
) -> Lattice:
    lower, upper = point(box[0], "box"), point(box[1], "box")
    spacing, angle = positive(spacing, "spacing"), float(finite(angle, "angle"))
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    directions = e @ turn
    origin = lower + spacing / 2.0 if centred else (lower + upper) / 2.0
    corners = np.array([(x, y) for x in (lower[0], upper[0]) for y in (lower[1], upper[1])]) - origin
    reach = corners @ np.linalg.inv(directions[:2]) / spacing
    least, most = np.floor(reach.min(axis=0)).astype(int) - 1, np.ceil(reach.max(axis=0)).astype(int) + 1
    i, j = np.meshgrid(*(np.arange(a, b + 1) for a, b in zip(least, most, strict=True)), indexing="ij")
    x, y = np.moveaxis(origin + spacing * (np.stack([i, j], axis=-1) @ directions[:2]), -1, 0)
    slack = 1e-9 * spacing
    inside = (x > lower[0] - slack) & (x < upper[0] + slack) & (y > lower[1] - slack) & (y < upper[1] + slack)
    wall = np.zeros_like(inside) if walls is None else holds(walls, x, y)
    if zone is not None:
        inside &= holds(zone, x, y)
    start = origin + spacing * (least @ directions[:2])
    return Lattice(spacing, directions, start, numbered(inside & ~wall, wall))
