"""One saved time for pictures: bodies, and the contacts that carry a force."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle.arrays import Array, Integers


@dataclass(frozen=True, eq=False)
class Bars:
    """The m contacts that carry a force, drawn as bars between centres of bodies, or from a body to a wall.

    Attributes
    ----------
    start : array, shape (m, d)
        Starts of the bars.
    end : array, shape (m, d)
        Ends of the bars.
    force : array, shape (m,)
        Forces, positive for a push and negative for a pull.
    rows : array of int, shape (m, 2)
        Rows of the two bodies in the frame; -1 - w for wall w.
    """

    start: Array
    end: Array
    force: Array
    rows: Integers


@dataclass(frozen=True, eq=False)
class Frame:
    """The n bodies that are present at one saved time; the argument of functions in `jostle.viz.QUANTITIES`.

    Attributes
    ----------
    k : int
        Number of the saved time.
    t : float
        Time.
    dimension : int
        Dimension of the space of the bodies: 1, 2 or 3.
    number : array of int, shape (n,)
        Body numbers.
    x : array, shape (n, d)
        Positions; d is 2 or 3.
    u : array, shape (n, d)
        Velocities.
    radii : array, shape (n,)
        Radii as drawn; bodies without a radius have a small one.
    force : array, shape (n,)
        Sum of the magnitudes of all contact forces on each body.
    mass : array, shape (n,)
        Masses; NaN if unknown.
    group : array of int, shape (n,)
        Number of the group of each body; -1 for none.
    bars : Bars
        The contacts that carry a force.
    speed : array, shape (n,)
        Speeds.
    contacts : array, shape (n,)
        Number of contacts of each body that carry a force.

    Examples
    --------
    >>> import jostle as jo
    >>> scene = jo.viz.scene.Scene(jo.solve(jo.models.chain(3), jo.Maury(), t=0.1, h=0.1))
    >>> frame = scene.frame(-1)
    >>> frame.t, frame.number.tolist(), frame.radii.tolist()
    (0.1, [0, 1, 2], [0.5, 0.5, 0.5])
    """

    k: int
    t: float
    dimension: int
    number: Integers
    x: Array
    u: Array
    radii: Array
    force: Array
    mass: Array
    group: Integers
    bars: Bars

    @property
    def speed(self) -> Array:
        """(n,): the speeds."""
        return np.asarray(np.linalg.norm(self.u, axis=1))

    @property
    def contacts(self) -> Array:
        """(n,): the number of contacts of each body that carry a force."""
        touched = self.bars.rows[self.bars.rows >= 0]
        return np.bincount(touched, minlength=len(self.number)).astype(float)
