"""Named parts of a floor plan, such as rows of seats and gangways."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans, shaped
from jostle.errors import InvalidValue
from jostle.plans.outlines import package


@check_arguments
@dataclass(frozen=True, eq=False)
class Area:
    """A named part of a floor plan, for pictures and for the names of jams.

    Parameters
    ----------
    name : str
        Name of the area.
    corners : array_like, shape (k, 2)
        Corners of a polygon (m), in order around it.
    counts : bool, default True
        Whether the people in it count in density maps and in jams. People between seats stand closer than others walk.

    Examples
    --------
    >>> Area("row 4", [(0, 0), (4, 0), (4, 1), (0, 1)], counts=False).contains(np.array([[1.0, 0.5], [5.0, 0.5]]))
    array([ True, False])
    """

    name: str
    corners: ArrayLike
    _: KW_ONLY
    counts: bool = True

    def __post_init__(self) -> None:
        corners = shaped(self.corners, f"corners of area {self.name!r}", -1, 2)
        shape = package("shapely").Polygon(corners) if len(corners) > 2 else None
        if shape is None or not shape.is_valid or not shape.area > 0.0:
            raise InvalidValue(
                f"area {self.name!r} must be a polygon that does not cross itself, not {corners.tolist()}"
            )
        object.__setattr__(self, "corners", corners)

    def contains(self, q: Array) -> Booleans:
        """Tell which positions are in the area.

        Parameters
        ----------
        q : ndarray, shape (n, 2)
            Positions (m).

        Returns
        -------
        ndarray of bool, shape (n,)
            True for positions inside or on the boundary.
        """
        return np.asarray(package("shapely").intersects_xy(package("shapely").Polygon(self.corners), q), dtype=bool)

    @property
    def middle(self) -> Array:
        """(2,) a point inside, near the middle."""
        point = package("shapely").Polygon(self.corners).representative_point()
        return np.array([point.x, point.y])
