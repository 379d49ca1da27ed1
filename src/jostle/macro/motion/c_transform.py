"""The c-transform of a potential on a grid, for the cost |x - y|^2 / 2, and its transport map.

    q(x) = min_y |x - y|^2 / 2 + p(y),        T(x) = x - grad q(x)        (Jacobs & Léger 2020)

Lengths are in cells, and the grid starts at 0. Minima along x, then along y, are lower envelopes of parabolas. They are
also taken along y, then along x, and the mean of both preserves the symmetries of the data.
"""

from __future__ import annotations

import numpy as np

from jostle.arrays import Array
from jostle.kernels import kernels_for


def c_transform(p: Array) -> Array:
    """(nx, ny): min_y |x - y|^2 / 2 + p(y) at the centres of the cells.

    >>> c_transform(np.array([[0.0, 9.0, 9.0]])).tolist()
    [[0.0, 0.5, 2.0]]
    """
    envelopes = kernels_for(p).envelopes
    x_last = envelopes(_turned(envelopes(p)))
    y_last = envelopes(_turned(envelopes(_turned(p))))
    return 0.5 * (_turned(x_last) + y_last)


def map_of_faces(q: Array) -> tuple[Array, Array]:
    """(nx + 1, ny) and (nx, ny + 1): images of the faces across x and across y under x - grad q; the sides stay.

    >>> [x.tolist() for x in map_of_faces(np.array([[0.0], [0.25]]))]
    [[[0.0], [0.75], [2.0]], [[0.0, 1.0], [0.0, 1.0]]]
    """
    nx, ny = q.shape
    x, y = np.repeat(np.arange(nx + 1.0)[:, None], ny, axis=1), np.repeat(np.arange(ny + 1.0)[None], nx, axis=0)
    x[1:-1] -= np.diff(q, axis=0)
    y[:, 1:-1] -= np.diff(q, axis=1)
    return np.clip(x, 0.0, nx), np.clip(y, 0.0, ny)


def _turned(field: Array) -> Array:
    return np.ascontiguousarray(field.T)
