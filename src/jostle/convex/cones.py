"""Friction cones of blocks of rows: what each block is, and how far it is from being violated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers, finite, place_of
from jostle.errors import InvalidValue
from jostle.kernels.reference.cones import lengths as lengths_of
from jostle.kernels.reference.cones import parts


class Cones(NamedTuple):
    """Friction cones of blocks of rows, the first rows of a set: c + G u is the slip of each contact in space.

    A block has d rows, the relative velocity s of a contact in d dimensions. With its axis n, s_n = s . n and
    s_T = s - s_n n, the multiplier p of a block lies in K = {|p_T| <= mu p_n}.

    Parameters
    ----------
    axis : array, shape (b, d)
        Unit vectors: the normals of the contacts.
    mu : array, shape (b,)
        Friction coefficients.
    coulomb : bool, default True
        True for Coulomb's law: s_n >= 0, p_n s_n = 0, and p_T = -mu p_n s_T / |s_T| where s_T is not zero. False for
        the convex law s_n >= mu |s_T|, whose answer is the projection on a convex set; a sliding contact opens by
        mu |s_T|.
    rolling : array, shape (b,), optional
        Rolling resistance: blocks then have d + 1 rows (d = 2) or d + 3 rows (d = 3). After the slip comes the relative
        spin s_R, and |p_R| <= rolling p_n.

    Examples
    --------
    >>> import jostle as jo
    >>> floor = jo.convex.Cones(axis=[[0.0, 1.0]], mu=[0.5])
    >>> K = jo.convex.Polyhedron([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], cones=floor)
    >>> jo.project([3.0, -1.0], K).point.round(9).tolist()            # it slides on, slower
    [2.5, 0.0]
    >>> jo.project([0.4, -1.0], K).point.round(9).tolist()            # it sticks
    [0.0, 0.0]
    """

    axis: Array
    mu: Array
    coulomb: bool = True
    rolling: Array | None = None

    @property
    def height(self) -> int:
        """Number of rows of a block."""
        d = int(self.axis.shape[1])
        return d if self.rolling is None else d + (1 if d == 2 else 3)

    @property
    def rows(self) -> int:
        """Number of rows of all blocks."""
        return len(self.mu) * self.height

    @property
    def resistance(self) -> Array:
        """(b,) the coefficients of rolling resistance, zeros if there is none."""
        return place_of(self.mu).zeros(len(self.mu)) if self.rolling is None else self.rolling

    def blocks_of(self, rows: Array) -> Array:
        """The entries of the blocks.

        Parameters
        ----------
        rows : array, shape (m,)
            One entry for each row of a set.

        Returns
        -------
        array, shape (b, height)
            One row for each block.
        """
        return rows[: self.rows].reshape(len(self.mu), self.height)

    def margin(self, slack: Array) -> Array:
        """How far the blocks are from being violated.

        Parameters
        ----------
        slack : array, shape (m,)
            c + G u.

        Returns
        -------
        array, shape (b,)
            s_n by Coulomb's law, s_n - mu |s_T| - rolling |s_R| by the convex one.
        """
        normal, tangent, spin = parts(self.blocks_of(slack), self.axis)
        if self.coulomb:
            return normal
        return normal - self.mu * lengths_of(tangent) - self.resistance * lengths_of(spin)

    def only(self, rows: Integers) -> Cones:
        """The cones of some rows of a set.

        Parameters
        ----------
        rows : array of int
            Numbers of rows, of which a block must have all or none, in their order.

        Returns
        -------
        Cones
            The cones of these blocks.
        """
        chosen = rows[rows < self.rows]
        blocks = chosen[:: self.height] // self.height
        if not np.array_equal(chosen, (blocks[:, None] * self.height + np.arange(self.height)).ravel()):
            raise InvalidValue("a block of rows in a cone is chosen as a whole, before all other rows")
        rolling = None if self.rolling is None else self.rolling[blocks]
        return Cones(self.axis[blocks], self.mu[blocks], self.coulomb, rolling)


UNIT = 1e-9
"""How far the length of an axis may be from one."""


def checked_cones(cones: Cones, rows: int, equal: Booleans | None) -> Cones:
    """Cones with arrays of numbers that fit each other and the rows."""
    if not isinstance(cones, Cones):
        raise InvalidValue(f"cones must be a jo.convex.Cones, not {cones!r}")
    axis, mu = finite(cones.axis, "axis"), finite(cones.mu, "mu")
    rolling = None if cones.rolling is None else finite(cones.rolling, "rolling")
    if axis.ndim != 2 or not 1 <= axis.shape[1] <= 3 or mu.shape != axis.shape[:1]:
        raise InvalidValue(
            f"cones need one axis of at most three coordinates and one mu for each block; axis has shape {axis.shape}, "
            f"mu has shape {mu.shape}"
        )
    if rolling is not None and (rolling.shape != mu.shape or axis.shape[1] == 1):
        raise InvalidValue(
            f"rolling must be one number for each of the {len(mu)} blocks in two or three dimensions; it has shape "
            f"{rolling.shape}, and the blocks have {axis.shape[1]} dimensions"
        )
    for name, values in (("mu", mu), ("rolling", rolling)):
        if values is not None and (values < 0.0).any():
            block = int(np.argmin(values))
            raise InvalidValue(f"{name} must not be negative; that of block {block} is {values[block]:g}")
    off = np.abs(lengths_of(axis) - 1.0)
    if (off > UNIT).any():
        block = int(np.argmax(off))
        raise InvalidValue(f"the axes of cones must have length one; that of block {block} is {axis[block].tolist()}")
    found = Cones(axis, mu, bool(cones.coulomb), rolling)
    if found.rows > rows:
        raise InvalidValue(f"{len(mu)} cones of {found.height} rows each need {found.rows} rows; there are {rows}")
    if equal is not None and equal[: found.rows].any():
        raise InvalidValue(f"row {int(np.argmax(equal))} is part of a cone; it cannot be an equality")
    return found
