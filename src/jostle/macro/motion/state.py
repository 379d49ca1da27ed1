"""The state of a moving density at one time."""

from __future__ import annotations

from typing import NamedTuple

from jostle.arrays import Array
from jostle.macro.motion.domain import Faces


class State(NamedTuple):
    """A moving density at one time: the input and the output of a step of a scheme.

    Attributes
    ----------
    t : float
        Time.
    density : array, shape (nx, ny)
        Density in the cells, between 0 and 1.
    velocity : tuple of array
        Velocities on the faces across x, (nx + 1, ny), and across y, (nx, ny + 1).
    pressure : array, shape (nx, ny)
        Mean pressure in the cells over the last step.
    gone : float
        Mass that has left through exits and open sides.
    iterations : int
        Number of solver iterations in the last step.
    substeps : int
        Number of parts into which the last step was cut.

    Examples
    --------
    >>> import jostle as jo
    >>> grid = jo.macro.Grid([0, 0], [4, 1], h=1.0, closed=True)
    >>> flow = jo.macro.Flow(grid=grid, density=grid.block([0, 0], [1, 1]), velocity=grid.velocity(1.0, 0))
    >>> scheme = jo.macro.Splitting()
    >>> state = scheme.advance(flow, scheme.start(flow, 0.0), h=0.5)
    >>> state.density.ravel().tolist(), state.substeps
    ([0.5, 0.5, 0.0, 0.0], 1)
    """

    t: float
    density: Array
    velocity: Faces
    pressure: Array
    gone: float = 0.0
    iterations: int = 0
    substeps: int = 0
