"""The angle conditions under which the motion depends continuously on its data.

    Paoli 2005 (H5)   e = 0: <grad g_a, grad g_b>_{M^-1} <= 0 for all pairs of active constraints
    Paoli 2010 (H6)   e > 0: <grad g_a, grad g_b>_{M^-1} = 0 (the value of (8) at q_1 = q_2)

Where they fail, a shot at the corner and a shot beside it end differently, however near.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Cone
from jostle.errors import InvalidValue

COSINE_TOLERANCE = 1e-12
"""Cosines up to this size count as zero."""


def inequality_rows(cone: Cone) -> Array:
    """G of a cone of inequalities."""
    check_inequalities(cone)
    return cone.G.toarray()


def check_inequalities(cone: Cone) -> None:
    """Refuse a cone with equalities: the conditions of the papers are about inequalities."""
    if cone.equal is not None:
        row = int(np.argmax(cone.equal))
        raise InvalidValue(
            f"the condition is about inequalities, and {cone.describe(row)} is an equality; leave it out"
        )


def cosines(cone: Cone, mass: ArrayLike | Metric = 1.0) -> Array:
    """Cosines of the angles between the gradients of the cone's rows, in the metric M^-1."""
    M = metric(mass, (cone.G.shape[1],))
    white = M.whiten(inequality_rows(cone))
    white = white / np.linalg.norm(white, axis=1, keepdims=True)
    return np.asarray(white @ white.T)


@check_arguments
def acute(cone: Cone, mass: ArrayLike | Metric = 1.0) -> bool:
    """Do the active constraints satisfy (H5) of Paoli 2005: interior angles of at most 90 degrees?

    >>> import jostle as jo
    >>> jo.analysis.acute(jo.Cone([[1.0, 0.0], [0.0, 1.0]])), jo.analysis.acute(jo.Cone([[1.0, 0.0], [1.0, 1.0]]))
    (True, False)
    """
    c = cosines(cone, mass)
    return bool((c[~np.eye(len(c), dtype=bool)] <= COSINE_TOLERANCE).all())


@check_arguments
def orthogonal(cone: Cone, mass: ArrayLike | Metric = 1.0) -> bool:
    """Do the active constraints satisfy (H6) of Paoli 2010: orthogonal in the metric M^-1?

    >>> import jostle as jo
    >>> corner = jo.Cone([[1.0, 0.0], [1.0, 1.0]])
    >>> jo.analysis.orthogonal(corner), jo.analysis.orthogonal(corner, mass=[[2.0, 1.0], [1.0, 1.0]])
    (False, True)
    """
    c = cosines(cone, mass)
    return bool((np.abs(c[~np.eye(len(c), dtype=bool)]) <= COSINE_TOLERANCE).all())
