"""Good directions: a unit vector u that opens all closed contacts at once (Venel 2009, Lemma 2.10).

    <grad g_i, u> >= delta |grad g_i| > 0     for all i in I(t, q)

The largest delta is 1 / gamma, with gamma the best constant of the inverse triangle inequality (A5') at q: both are
solved by the shortest v with <grad g_i, v> >= |grad g_i|, one projection. Where no such u exists, some gradients
balance each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.analysis.venel import opening
from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Cone
from jostle.errors import EmptySet

MAX_NAMED_ROWS = 3
"""Largest number of gradients that balance each other and are named."""


@dataclass(frozen=True, eq=False)
class Direction:
    """A good direction of a cone; the result of `good_direction`.

    Attributes
    ----------
    u : array or None
        The unit vector, flat, |u|_M = 1; None if there is none.
    delta : float
        The smallest <G_i, u> / |G_i|, which no other direction exceeds; 0 if there is none, 1 without contacts.
    gamma : float
        1 / delta: the best constant of the inverse triangle inequality.
    balanced : str
        The contacts whose gradients balance each other, in words; empty if there is a good direction.

    Examples
    --------
    >>> import jostle as jo
    >>> good_direction(jo.Cone([[2.0, 0.0]])).u.tolist()
    [1.0, 0.0]
    """

    u: Array | None
    delta: float
    gamma: float
    balanced: str


@check_arguments
def good_direction(cone: Cone, mass: ArrayLike | Metric = 1.0) -> Direction:
    """The unit vector that opens all contacts of a cone fastest, and how fast it opens them.

    Parameters
    ----------
    cone : Cone
        The closed contacts.
    mass : float, array_like or Metric, default 1.0
        One number, one for each body, one for each coordinate, or a symmetric positive definite matrix.

    Returns
    -------
    Direction
        The direction, or the contacts that leave none.

    Examples
    --------
    >>> import jostle as jo
    >>> found = good_direction(jo.Cone([[1.0, 0.0], [0.0, 1.0]]))
    >>> found.u.round(6).tolist(), round(found.delta, 6), round(found.gamma, 6)
    ([0.707107, 0.707107], 0.707107, 1.414214)
    >>> good_direction(jo.Cone([[1.0], [-1.0]])).balanced
    'row 0; row 1'
    """
    M = metric(mass, (cone.G.shape[1],))
    if cone.G.shape[0] == 0:
        return Direction(None, 1.0, 1.0, "")
    try:
        v = opening(cone, M)
    except EmptySet as error:
        rows = np.arange(0) if error.rows is None else error.rows
        more = f" and {len(rows) - MAX_NAMED_ROWS} more" if len(rows) > MAX_NAMED_ROWS else ""
        named = "; ".join(cone.describe(int(row)) for row in rows[:MAX_NAMED_ROWS])
        return Direction(None, 0.0, float("inf"), named + more)
    gamma = M.norm(v)
    return Direction(v / gamma, 1.0 / gamma, gamma, "")
