"""Where a moving density stands at one time."""

from __future__ import annotations

from typing import NamedTuple

from jostle.arrays import Array
from jostle.macro.motion.domain import Faces


class State(NamedTuple):
    """What a scheme gets, and what a step returns.

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
    """(nx, ny), between 0 and 1."""
    velocity: Faces
    """Across x (nx + 1, ny) and across y (nx, ny + 1), on the faces of the cells."""
    pressure: Array
    """(nx, ny): the mean over the last step."""
    gone: float = 0.0
    """The mass that has left through exits and open sides."""
    iterations: int = 0
    """Of the solver, in the last step."""
    substeps: int = 0
    """Into so many parts the last step was cut."""
