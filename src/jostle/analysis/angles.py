"""The angle conditions under which the motion depends continuously on its data.

    Paoli 2005 (H5)   e = 0: <grad g_a, grad g_b>_{M^-1} <= 0 for all pairs of active constraints
    Paoli 2010 (H6)   e > 0: <grad g_a, grad g_b>_{M^-1} = 0 (the value of (8) at q_1 = q_2)

Where they fail, two motions that start arbitrarily close to each other, one into a corner and one beside it, end apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Cone
from jostle.errors import InvalidValue

COSINE_TOLERANCE = 1e-12
"""Cosines up to this absolute value count as zero."""


def inequality_rows(cone: Cone) -> Array:
    """The matrix G of a cone that has inequalities only."""
    check_inequalities(cone)
    return cone.G.toarray()


def check_inequalities(cone: Cone) -> None:
    """Raise if a cone has equalities: the conditions of the papers are about inequalities."""
    if cone.equal is not None:
        row = int(np.argmax(cone.equal))
        raise InvalidValue(
            f"the condition is about inequalities, but {cone.describe(row)} is an equality; leave it out"
        )


def cosines(cone: Cone, mass: ArrayLike | Metric = 1.0) -> Array:
    """Cosines of the angles between the gradients of the cone's rows, in the metric M^-1."""
    M = metric(mass, (cone.G.shape[1],))
    white = M.whiten(inequality_rows(cone))
    white = white / np.linalg.norm(white, axis=1, keepdims=True)
    return np.asarray(white @ white.T)


@check_arguments
def acute(cone: Cone, mass: ArrayLike | Metric = 1.0) -> bool:
    """Tell whether active constraints satisfy (H5) of Paoli 2005: no interior angle exceeds 90 degrees.

    Parameters
    ----------
    cone : Cone
        The cone of the active constraints, such as ``contacts.cone()``; its rows are the gradients of the gaps.
    mass : float, array_like or Metric, default 1.0
        Masses that define the metric M^-1 of the angles.

    Returns
    -------
    bool
        True if the condition holds for every pair of rows.

    Examples
    --------
    >>> import jostle as jo
    >>> right, sharp = jo.convex.Cone([[1.0, 0.0], [0.0, 1.0]]), jo.convex.Cone([[1.0, 0.0], [1.0, 1.0]])
    >>> jo.analysis.acute(right), jo.analysis.acute(sharp)
    (True, False)
    """
    c = cosines(cone, mass)
    return bool((c[~np.eye(len(c), dtype=bool)] <= COSINE_TOLERANCE).all())


@check_arguments
def orthogonal(cone: Cone, mass: ArrayLike | Metric = 1.0) -> bool:
    """Tell whether active constraints satisfy (H6) of Paoli 2010: their gradients are orthogonal in the metric M^-1.

    Parameters
    ----------
    cone, mass : Cone, array_like or Metric
        The same as for `acute`.

    Returns
    -------
    bool
        True if the condition holds for every pair of rows.

    Examples
    --------
    >>> import jostle as jo
    >>> corner = jo.convex.Cone([[1.0, 0.0], [1.0, 1.0]])
    >>> jo.analysis.orthogonal(corner), jo.analysis.orthogonal(corner, mass=[[2.0, 1.0], [1.0, 1.0]])
    (False, True)
    """
    c = cosines(cone, mass)
    return bool((np.abs(c[~np.eye(len(c), dtype=bool)]) <= COSINE_TOLERANCE).all())
