"""Forces and desired velocities: how they change with q, u and t at one place.

Whether a function of the user is continuous or Lipschitz everywhere cannot be found out from its values. What can be
computed is its slope here: a lower bound of every Lipschitz constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jostle.arrays import Array
from jostle.problems import Sweeping
from jostle.theory.places import Place

MAX_COORDINATES = 60
"""Slopes are differenced for at most this many coordinates."""
RELATIVE_STEP = float(np.sqrt(np.finfo(float).eps))
"""Difference step, relative to the size of q or u."""


class Slopes(NamedTuple):
    """Of the acceleration M^-1 f(t, q, u) of a `Motion`, or of the velocity U(t, q) of a `Sweeping`."""

    size: float
    """The largest value at the place, |M^-1 f| or |U|, in the Euclidean norm."""
    in_q: float
    """The largest singular value of the derivative by q; NaN if it is not known."""
    in_u: float
    """The same by u; 0 for a `Sweeping`."""
    constant: bool
    """True if the field is the same at all times and places."""


def slopes(place: Place, u: Array | None = None) -> Slopes:
    """The slopes at a place, for bodies with velocity u (by default v0)."""
    problem, t, q = place.problem, place.t, place.q
    if isinstance(problem, Sweeping):
        wished = problem.velocity(t, q)
        size = float(np.linalg.norm(wished))
        return Slopes(size, _slope(lambda x: problem.velocity(t, x), q), 0.0, False)
    v = problem.v0 if u is None else u
    size = float(np.linalg.norm(problem.acceleration(t, q, v)))
    if problem.constant_force is not None and not callable(problem.mass):
        return Slopes(size, 0.0, 0.0, True)
    in_q = _slope(lambda x: problem.acceleration(t, x, v), q)
    return Slopes(size, in_q, _slope(lambda w: problem.acceleration(t, q, w), v), False)


def _slope(field: Callable[[Array], Array], x: Array) -> float:
    """The largest singular value of the derivative of a field at x."""
    if x.size > MAX_COORDINATES:
        return np.nan
    step = RELATIVE_STEP * (float(np.abs(x).max(initial=0.0)) or 1.0)
    here, columns = field(x).ravel(), []
    for k in range(x.size):
        beside = x.ravel().copy()
        beside[k] += step
        columns.append((field(beside.reshape(x.shape)).ravel() - here) / step)
    return float(np.linalg.norm(np.array(columns), 2)) if columns else 0.0
