"""The ball in a labyrinth of holes, driven by the tilt of the board: Venel 2009, section 4.1."""

from __future__ import annotations

import numpy as np

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array
from jostle.problems import Sweeping
from jostle.sets.walls import Box, Outside

HOLES = np.array([[1.4, 0.8], [2.1, 2.2], [2.9, 0.9], [3.4, 2.9], [4.2, 1.5], [4.9, 3.1], [5.2, 0.7]])
"""Centres of the holes in the board [0, 6] x [0, 4]; the radius of each is 1/2."""
TILTS = ((0.0, (1.0, 0.3)), (5.0, (0.2, 1.0)), (7.5, (1.0, -0.15)))
"""Start time of each tilt of the board, with the velocity that it gives a free ball."""


@check_arguments
def labyrinth(q0: tuple[float, float] = (0.5, 0.6)) -> Sweeping:
    """A ball that slides around holes and along walls while the board is tilted in three directions in turn.

    The board is the rectangle [0, 6] x [0, 4] with seven holes of radius 1/2. The ball is a point with two coordinates.

    Parameters
    ----------
    q0 : pair of float, default (0.5, 0.6)
        Position of the ball at the start, on the board and outside the holes.

    Returns
    -------
    Sweeping
        The first-order problem, for `Venel` or `CatchingUp`.

    Examples
    --------
    >>> import jostle as jo
    >>> sol = jo.solve(jo.models.labyrinth(), jo.Venel(), t=10.0, h=0.01)
    >>> bool(sol.gaps().min() >= -1e-9)
    True
    """

    def tilt(t: float, q: Array) -> tuple[float, float]:
        return [velocity for start, velocity in TILTS if t >= start][-1]

    return Sweeping(q0=list(q0), velocity=tilt, within=Box([0.0, 0.0], [6.0, 4.0]) & Outside(HOLES, 0.5))
