"""The fundamental diagram: walking speed over density, measured in an area, and Weidmann's curve.

The points are the Voronoi densities and speeds of a measurement area (Steffen & Seyfried 2010) at saved times. The
curve of Weidmann (Transporttechnik der Fussgänger, 1993) is the usual reference for walking on level ground,

    v(rho) = v0 (1 - exp(-1.913 (1 / rho - 1 / 5.4))),   v0 = 1.34 m/s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.analysis.exits import known_plan
from jostle.analysis.voronoi import densities
from jostle.arguments import Positive, check_arguments
from jostle.arrays import Array, finite
from jostle.errors import InvalidValue
from jostle.solution import Solution

WEIDMANN_SPEED, WEIDMANN_DECAY, WEIDMANN_DENSITY = 1.34, 1.913, 5.4
"""Free speed (m/s), decay (people per square metre) and largest density (people per square metre) of Weidmann 1993."""


@dataclass(frozen=True, eq=False)
class FundamentalDiagram:
    """Density and speed in an area, at the saved times at which somebody was in it; see `fundamental_diagram`."""

    t: Array
    density: Array
    """(k,) people per square metre."""
    speed: Array
    """(k,) Voronoi speed."""

    @property
    def flow(self) -> Array:
        """(k,) specific flow, density times speed."""
        return self.density * self.speed


@check_arguments
def fundamental_diagram(sol: Solution, measure: Any, plan: Any = None) -> FundamentalDiagram:
    """Density and speed in a measurement area, at the saved times at which somebody is in it.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    measure : polygon or array_like
        The measurement area as a `shapely.Polygon` or its corners (m, 2).
    plan : Plan, optional
        The floor plan. None means the plan of the run.

    Returns
    -------
    FundamentalDiagram
        The fields are `t`, the Voronoi `density` (people per square metre), the Voronoi `speed`, and the specific
        `flow`, their product; (k,) each.

    Raises
    ------
    InvalidValue
        If the plan of the run is not known.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 1), (0, 1)], exits={"east": ((9, 0), (9, 1))})
    >>> people = jo.crowds.crowd(3, radius=0.2, room=plan, q0=[[1, 0.5], [2, 0.5], [3, 0.5]], speed=1.2)
    >>> sol = jo.solve(people, jo.Venel(), t=2.0, h=0.1, change=plan.changes(people))
    >>> found = fundamental_diagram(sol, [(2, 0), (4, 0), (4, 1), (2, 1)])
    >>> float(found.speed.min().round(6)), bool((found.density > 0.0).all())
    (1.2, True)
    """
    found = densities(sol, known_plan(sol, plan, "fundamental_diagram"), measure)
    there = (found.classic > 0.0) & (sol.t > sol.t[0])  # velocities belong to the step before a frame
    return FundamentalDiagram(found.t[there], found.voronoi[there], found.voronoi_speed[there])


@check_arguments
def weidmann(density: ArrayLike, *, speed: Positive = WEIDMANN_SPEED) -> Array:
    """The walking speed at a density by Weidmann 1993: `speed` in an empty room, 0 from 5.4 people per square metre on.

    Parameters
    ----------
    density : array_like
        People per square metre, 0 or more.
    speed : float, default 1.34
        Free walking speed (m/s).

    Returns
    -------
    ndarray
        Walking speeds in the unit of `speed`, in the shape of `density`.

    Raises
    ------
    InvalidValue
        If a density is negative.

    Examples
    --------
    >>> weidmann([0.0, 1.0, 5.4]).round(3).tolist()
    [1.34, 1.058, 0.0]
    """
    rho = finite(density, "density")
    if (rho < 0.0).any():
        raise InvalidValue(f"a density must not be negative, not {rho[rho < 0.0].flat[0]}")
    with np.errstate(divide="ignore"):
        found = speed * (1.0 - np.exp(-WEIDMANN_DECAY * (1.0 / rho - 1.0 / WEIDMANN_DENSITY)))
    return np.asarray(np.maximum(found, 0.0))
