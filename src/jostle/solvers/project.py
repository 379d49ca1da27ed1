"""`project`, and Moreau's decomposition (Bourdin & Maury 2020, section 2).

For a cone C and its polar N, every velocity is U = P_C U + P_N U with <P_C U, P_N U>_M = 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, floats
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Cone, Polar
from jostle.convex.projection import Projection
from jostle.convex.rows import Rows
from jostle.errors import InvalidValue, NotConverged
from jostle.solvers.automatic import Automatic
from jostle.solvers.base import Solver, check_round_off

LOOSEST = 0.1
"""Errors recommend no looser tolerance than this."""


@check_arguments
def project(
    w: ArrayLike,
    onto: Rows | Polar | Any,
    *,
    mass: ArrayLike | Metric = 1.0,
    solver: Solver | None = None,
    guess: Array | None = None,
) -> Projection:
    """The nearest point to w of a polyhedron, a cone or its polar, in the norm of a mass.

    `jostle.nearest` projects on admissible sets.

    Parameters
    ----------
    w : array_like
        The point to project.
    onto : Polyhedron, Cone or Polar
        The set to project on.
    mass : float, array_like or Metric, default 1.0
        One number, one for each body, one for each coordinate, or a symmetric positive definite matrix.
    solver : Solver, optional
        Solves the projection. None: ``Automatic()``.
    guess : array, shape (m,), optional
        Multipliers to start from. None: zeros.

    Returns
    -------
    Projection
        The nearest point, with its multipliers and residuals.

    Raises
    ------
    NotConverged
        If the answer misses the tolerance; ``error.projection`` holds it.
    EmptySet
        If the set has no points.

    Examples
    --------
    >>> import jostle as jo
    >>> K = jo.convex.Polyhedron([[1.0, 1.0]], [-2.0])               # x + y >= 2
    >>> P = jo.project([0.0, 0.0], K, mass=[1.0, 3.0])
    >>> P.point.round(12).tolist(), P.multipliers.round(12).tolist(), P.converged
    ([1.5, 0.5], [1.5], True)
    """
    solver = solver or Automatic()
    if isinstance(onto, Polar):
        w = np.asarray(w, dtype=float)
        P = require(solver.project(w, onto.cone, mass, guess), solver)
        return replace(P, point=w - P.point)
    if not isinstance(onto, Rows):
        raise InvalidValue(
            f"onto must be a polyhedron, a cone or its polar, not {onto!r}; jo.nearest(w, within) projects on "
            f"admissible sets"
        )
    check_round_off(floats(w, name="w"), onto, solver.tol)
    return require(solver.project(w, onto, mass, guess), solver)


@check_arguments
def decompose(
    u: ArrayLike, cone: Cone, *, mass: ArrayLike | Metric = 1.0, solver: Solver | None = None
) -> tuple[Array, Array]:
    """Moreau's decomposition of a velocity into its projections onto a cone C and its polar cone N.

    Parameters
    ----------
    u : array_like
        The velocity.
    cone : Cone
        The cone C.
    mass : float, array_like or Metric, default 1.0
        One number, one for each body, one for each coordinate, or a symmetric positive definite matrix.
    solver : Solver, optional
        Solves the projection. None: ``Automatic()``.

    Returns
    -------
    along : array
        P_C u, the admissible part.
    against : array
        P_N u, the rest; orthogonal to P_C u in the metric of the mass.

    Raises
    ------
    NotConverged
        If the projection misses its tolerance.

    Examples
    --------
    >>> import jostle as jo
    >>> along, against = jo.solvers.decompose([-1.0, 2.0], jo.convex.Cone([[1.0, 0.0]]))
    >>> along.tolist(), against.tolist()
    ([0.0, 2.0], [-1.0, 0.0])
    """
    velocity = np.asarray(u, dtype=float)
    along = project(velocity, cone, mass=mass, solver=solver).point
    return along, velocity - along


def require(projection: Projection, solver: Solver) -> Projection:
    """The projection, if it converged."""
    if projection.converged:
        return projection
    raise not_converged(projection, solver)


def not_converged(projection: Projection, solver: Solver, scheme: str = "") -> NotConverged:
    """The error of a projection that misses its tolerance, in a step of a scheme with this name."""
    r, who = projection.residual, solver.name
    if projection.solver != who:
        who = f"{who} (best answer by {projection.solver})"
    return NotConverged(
        f"{who} stopped after {projection.iterations} iterations with violation "
        f"{r.primal:.2e}, stationarity {r.dual:.2e}, complementarity {r.complementarity:.2e} "
        f"(estimated error of u: {r.eta:.1e}); tol is {solver.tol:.1e}. {_remedy(projection, solver, scheme)}"
        + (f" ({projection.remark})" if projection.remark else ""),
        projection,
    )


def _remedy(projection: Projection, solver: Solver, scheme: str) -> str:
    """What to do about a projection that did not converge: Automatic changes the algorithm, the others do not."""
    more = ["allow more iterations"] if projection.iterations >= solver.max_iterations else []
    other = (
        [] if solver.name == "Automatic" else [f"use jo.Automatic(tol={solver.tol:g}), which tries several algorithms"]
    )
    looser, loosen = 10.0 ** np.ceil(np.log10(max(projection.residual.worst, solver.tol))), "loosen tol"
    if looser <= LOOSEST:
        changed = f"solver=jo.{solver.name}(tol={looser:g})"
        loosen += f": jo.{scheme}({changed})" if scheme else f": {changed}"
    said = "; ".join([*other, *more, loosen])
    return said[0].upper() + said[1:]
