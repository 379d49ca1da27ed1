"""Round containers: the inside of a circle or a sphere, at rest or moving.

The gap of a body of radius r in a container of radius R is g = (R - r) - |q - c|, which is concave in q. A linearised
step keeps the body on one side of a tangent: from a place in the container, a step of length l ends at a distance of at
most sqrt(rho^2 + l^2) from the centre, rho = R - r, and so at most

    sqrt(rho^2 + l^2) - rho  <=  l^2 / (2 rho)

behind the wall. The next step brings the body back. `Maury` and `Venel` measure this overshoot in each step
(``sol.stats["overshoot"]``). With every scheme, a step in which the centre of a body leaves the container is an error,
`LeftTheSet`.
"""

from __future__ import annotations

import numpy as np

from jostle.arguments import check_arguments
from jostle.arrays import place_of
from jostle.sets.crossings import Crossing, Step
from jostle.sets.surfaces import Spheres
from jostle.sets.walls import Outside

SMALL_EXCESS = 0.1
"""A body may leave a container by this fraction of its radius, which small bodies do in steps longer than they are."""


@check_arguments
class Inside(Outside):
    """The inside of a circle or a sphere, {q : |q - centre_k| <= radius_k}: a bowl, a drum, a round hall, a string.

    `Maury` and `Venel` go up to O(h^2) through its wall, measure that and report it.

    Parameters
    ----------
    centre : array_like, shape (d,) or (k, d), or callable (t) -> array
        Centres of the containers.
    radius : float, array_like, shape (k,), or callable (t) -> array
        Radii of the containers, 0 or more.
    radii : float, array_like, shape (n,), or callable (t) -> array, optional
        Radii of the bodies. None: those of the `Balls` in an intersection; otherwise the bodies are points.

    Raises
    ------
    InvalidValue
        If a radius is negative, or the number of containers changes with time.

    Examples
    --------
    >>> Inside(centre=[0.0, 0.0], radius=1.0).nearest([3.0, 4.0]).point.round(12).tolist()
    [0.6, 0.8]
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[0.6, 0.0], force=[0.0, -10.0], within=jo.Inside([0.0, 0.0], 1.0, radii=0.25))
    >>> jo.solve(ball, jo.Maury(), t=1.0, h=0.01).overlap < 1e-2
    True
    """

    sign = -1.0
    kind = "container"
    convex_gaps = passable = False
    curved = True

    def crossing(self, step: Step) -> Crossing | None:
        """A body whose centre a step took out of the container: a point by more than half the container's radius, a
        body smaller than a tenth of it by more than a tenth.

        Parameters
        ----------
        step : Step
            Times and positions before and after the step.

        Returns
        -------
        Crossing or None
            The body and the container; None if there is none.
        """
        x, y = (self._bodies(q) for q in step.ends)
        walls, (radii, _) = self._now(step.times[1], y), self._sizes(step.times[1], y)
        assert isinstance(walls, Spheres)
        size = place_of(y).zeros((len(y), 1)) if radii is None else radii[:, None]
        room = np.maximum(np.where(size > 0.0, size, walls.radius / 2.0), SMALL_EXCESS * walls.radius)
        moved = np.sqrt(((y - x) ** 2).sum(axis=1)) + self._now(step.times[0], x).sway(walls)
        lost = (size - walls.distances(y) > room) & (moved > 0.0)[:, None]
        if not lost.any():
            return None
        body, wall = (int(k) for k in np.argwhere(lost)[0])
        return Crossing(body, self.names[wall], float(moved[body]), float(room[body, wall]))
