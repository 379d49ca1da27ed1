"""Moreau's impact law: u+ = u- - (1 + e) P_N u- = P_C u- - e P_N u-, with e in [0, 1].

Bourdin & Maury 2020, section 2; Paoli 2010 (2). C is the cone of admissible velocities of the closed
contacts and N its polar, in the kinetic metric. The kinetic energy lost is (1 - e^2) |P_N u-|_M^2 / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.convex.linear_map import ROUND_OFF
from jostle.convex.maps import LinearMap
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Cone
from jostle.convex.projection import Projection
from jostle.errors import InvalidValue, NotApproaching, warn
from jostle.solvers.automatic import Automatic
from jostle.solvers.base import Solver
from jostle.solvers.project import project


@dataclass(frozen=True)
class Restitution:
    """The coefficient e: 0 gives up all normal velocity, 1 keeps the energy.

    >>> Restitution(0.8).e
    0.8
    """

    e: float = 0.0

    def __post_init__(self) -> None:
        if not (isinstance(self.e, int | float | np.floating) and 0.0 <= self.e <= 1.0):
            raise InvalidValue(
                f"the restitution e must lie in [0, 1], not {self.e!r}: the normal energy is multiplied by e^2"
            )


@dataclass(frozen=True, eq=False)
class Impact:
    """What an impact did.

    >>> import jostle as jo
    >>> hit = jo.impact([-1.0], jo.Cone([[1.0]]), law=jo.Restitution(0.5))
    >>> hit.velocity.tolist(), hit.impulse.tolist(), hit.approaching, hit.admissible
    ([0.5], [1.5], True, True)
    """

    velocity: Array
    """u+, in the shape of u-."""
    impulse: Array
    """p >= 0 per row, with M (u+ - u-) = G^T p: the factor 1 + e is in it."""
    projection: Projection
    """P_C u-."""
    approaching: bool
    """Is u- in -C: do all contacts approach or rest, as before a real impact?"""
    admissible: bool
    """Is u+ in C? Always, if approaching; else the law may fail when e > 0."""


@check_arguments
def impact(
    u: ArrayLike,
    cone: Cone,
    *,
    law: Restitution | None = None,
    mass: ArrayLike | Metric = 1.0,
    solver: Solver | None = None,
) -> Impact:
    """Apply Moreau's law to the velocity u at the contacts of the cone (by default e = 0).

    Warns (`NotApproaching`) when e > 0 and the result is not admissible because u was not in -C.

    >>> import jostle as jo
    >>> cradle = jo.Cone([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    >>> jo.impact([1.0, 0.0, 0.0], cone=cradle, law=jo.Restitution(1.0)).velocity.round(6).tolist()
    [-0.333333, 0.666667, 0.666667]
    """
    e, solver = (law or Restitution()).e, solver or Automatic()
    before = np.asarray(u, dtype=float)
    P = project(before, cone, mass=mass, solver=solver)
    after = (1.0 + e) * P.point - e * before if e > 0.0 else P.point.copy()
    rate_before, rate_after = cone.slack(before), cone.margin(cone.slack(after))
    approaching, admissible = _within(cone, -cone.margin(-rate_before), before, after), True
    if rate_after.min(initial=0.0) < 0.0:
        allowed = solver.tol * np.abs(rate_before).max(initial=0.0)
        admissible = _within(cone, -rate_after - allowed, before, after)
    if e > 0.0 and not admissible:
        row = int(np.argmin(rate_after))
        warn(
            f"with e = {e:g} the law gives an inadmissible velocity: gap rate {rate_after[row]:.3g} "
            f"in {cone.describe(row)}, because not all contacts approach; leave out those that separate",
            NotApproaching,
        )
    return Impact(after, (1.0 + e) * P.multipliers, P, approaching, admissible)


def _within(cone: Cone, rates: Array, before: Array, after: Array) -> bool:
    """Are all these rates at most zero, up to the round-off of G applied to both velocities?"""
    if len(rates) == 0:
        return True
    largest = int(np.argmax(rates))
    if rates[largest] <= 0.0:
        return True

    def noise(G: LinearMap) -> Array:
        return ROUND_OFF * (G.magnitude(before.ravel()) + G.magnitude(after.ravel()))

    if rates[largest] > noise(cone.G.rows(np.array([largest])))[0]:
        return False
    return bool((rates <= noise(cone.G)).all())
