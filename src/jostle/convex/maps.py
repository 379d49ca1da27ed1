"""The forms of G, and how an array, a sparse matrix or a map of the user's own becomes one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.convex.linear_map import Dense, LinearMap, Sparse
from jostle.convex.mixed import Mixed, stacked
from jostle.convex.pairs import Pairs
from jostle.errors import InvalidValue

__all__ = ["Dense", "LinearMap", "Mixed", "Pairs", "Sparse", "as_map", "stacked"]


def as_map(G: ArrayLike | LinearMap | Any) -> LinearMap:
    """G as a linear map: an array, a scipy sparse matrix, or a map as it is."""
    if isinstance(G, LinearMap):
        return G
    if hasattr(G, "adjoint"):
        raise InvalidValue(f"{type(G).__name__} looks like a linear map: let it inherit jostle.convex.maps.LinearMap")
    if hasattr(G, "tocsr"):
        return Sparse(G.tocsr())
    array = np.array(G, dtype=float, order="C")
    if array.ndim != 2:
        raise InvalidValue(f"G must have two axes (rows, coordinates), not shape {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidValue("G has entries that are not finite")
    return Dense(array)
