"""Lower envelopes of parabolas along the rows of a table."""

from __future__ import annotations

import numpy as np

from jostle._tools.arrays import Array


def envelopes(p: Array) -> Array:
    """(m, n): for each row, and i = 0 ... n - 1, the least (i - y)^2 / 2 + p(y) over 0 <= y <= n - 1.

    The least value over the whole numbers y = j is looked for first. Between j and its neighbours p is then taken for a
    parabola, with the smaller of the second differences at both ends (that of the next place at an end of the row), so
    that a kink of p stays one.
    """
    n = p.shape[1]
    place = np.arange(n)
    f = 0.5 * (place[:, None] - place) ** 2 + p[:, None]
    least = f.argmin(axis=2)[..., None]
    bend = np.ones_like(p)
    if n > 2:
        bend[:, 1:-1] += p[:, 2:] - 2.0 * p[:, 1:-1] + p[:, :-2]
        bend[:, 0], bend[:, -1] = bend[:, 1], bend[:, -2]
    value = np.take_along_axis(f, least, axis=2)
    gain = np.zeros_like(value)
    for step in (-1, 1):
        beside = np.clip(least + step, 0, n - 1)
        rise = np.take_along_axis(f, beside, axis=2) - value
        at, other = (np.take_along_axis(np.broadcast_to(bend[:, None], f.shape), k, axis=2) for k in (least, beside))
        curvature = np.where(beside == least, 0.0, np.minimum(at, other))
        reach = np.maximum(0.5 * curvature - rise, 0.0)
        gain = np.maximum(gain, np.divide(reach**2, 2.0 * curvature, out=np.zeros_like(reach), where=curvature > 0.0))
    return np.asarray((value - gain)[..., 0])
