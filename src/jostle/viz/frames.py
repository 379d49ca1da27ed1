"""What is seen at one saved time: bodies, and the contacts that carry a force."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle.arrays import Array, Integers


@dataclass(frozen=True, eq=False)
class Bars:
    """The m contacts that carry a force: from the centre of a body to that of another, or to a wall."""

    start: Array
    """(m, d)"""
    end: Array
    """(m, d)"""
    force: Array
    """(m,) positive for a push, negative for a pull."""
    rows: Integers
    """(m, 2) the rows of the two bodies in the frame; -1 - w for wall w."""


@dataclass(frozen=True, eq=False)
class Frame:
    """The n bodies that are there at one saved time.

    >>> import jostle as jo
    >>> scene = jo.viz.scene.Scene(jo.solve(jo.models.chain(3), jo.Maury(), t=0.1, h=0.1))
    >>> frame = scene.frame(-1)
    >>> frame.t, frame.number.tolist(), frame.radii.tolist()
    (0.1, [0, 1, 2], [0.5, 0.5, 0.5])
    """

    k: int
    """Which of the saved times."""
    t: float
    dimension: int
    """Of the space of the bodies: 1, 2 or 3."""
    number: Integers
    """(n,) who they are."""
    x: Array
    """(n, d), d = 2 or 3."""
    u: Array
    """(n, d)"""
    radii: Array
    """(n,) as they are shown: bodies without a radius have a small one."""
    force: Array
    """(n,) the sum of the forces of all contacts, whatever their directions."""
    mass: Array
    """(n,) NaN where the masses are not known."""
    group: Integers
    """(n,) the number of the group of each body, -1 for none."""
    bars: Bars

    @property
    def speed(self) -> Array:
        """(n,)"""
        return np.asarray(np.linalg.norm(self.u, axis=1))

    @property
    def contacts(self) -> Array:
        """(n,) the number of contacts that carry a force."""
        touched = self.bars.rows[self.bars.rows >= 0]
        return np.bincount(touched, minlength=len(self.number)).astype(float)
