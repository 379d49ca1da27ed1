"""Discs or spheres that settle in a box: Bernicot & Lefebvre-Lepot 2010, section 4."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Finite, Natural, check_arguments
from jostle._tools.arrays import Array, finite
from jostle.bodies import body_radii
from jostle.errors import InvalidValue
from jostle.problems import Motion
from jostle.sets.balls import Balls
from jostle.sets.walls import Box

START_SPACING = 1.02
"""Spacing of the lattice at the start, in multiples of the largest diameter."""


@check_arguments
def spheres(radii: ArrayLike, *, box: tuple[ArrayLike, ArrayLike], gravity: Finite = 9.81, seed: Natural = 0) -> Motion:
    """Discs or spheres of unit density that fall from a loose lattice into a box.

    The last axis is vertical. The balls stand on the lattice in the order of `radii`, from the floor upwards, each
    shifted a little sideways at random.

    Parameters
    ----------
    radii : array_like, shape (n,)
        Radius of each ball, positive.
    box : pair of array_like, shape (d,)
        Lower and upper corner of the box, d = 2 or 3. The upper end of the last axis may be infinite.
    gravity : float, default 9.81
        Gravitational acceleration, downwards.
    seed : int, default 0
        Seed of the random shifts.

    Returns
    -------
    Motion
        The second-order problem. The mass of a ball is its area in 2-D, its volume in 3-D.

    Examples
    --------
    >>> import jostle as jo
    >>> heap = jo.models.spheres(np.full(12, 0.5), box=([0, 0], [4, np.inf]))
    >>> sol = jo.solve(heap, jo.Maury(), t=1.0, h=0.01)
    >>> bool(sol.gaps().min() >= -1e-8)
    True
    """
    lower, upper = finite(box[0], "box"), np.asarray(box[1], dtype=float)
    size = finite(radii, "radii")
    size = body_radii(size, size.size, 0.0)
    d = len(lower)
    random = np.random.default_rng(seed)
    q0 = _lattice(len(size), 2.0 * START_SPACING * float(size.max()), lower, upper)
    q0[:, :-1] += random.uniform(-0.5, 0.5, (len(size), d - 1)) * (START_SPACING - 1.0) * size.max()
    mass = np.pi * size**2 if d == 2 else 4.0 / 3.0 * np.pi * size**3
    weight = np.zeros((len(size), d))
    weight[:, -1] = -gravity * mass
    within = Balls(size) & Box(lower, upper, radii=size)
    return Motion(q0=q0, force=weight, mass=mass, within=within)


def _lattice(n: int, spacing: float, lower: Array, upper: Array) -> Array:
    """n points of a cubic lattice, from the floor upwards, at least half a spacing away from the walls."""
    width = upper[:-1] - lower[:-1]
    if not np.isfinite(width).all():
        raise InvalidValue(f"only the top of the box may be open; upper is {upper.tolist()}")
    counts = np.floor(width / spacing).astype(int)
    if (counts < 1).any():
        raise InvalidValue(f"the box is {width.min():g} wide, the largest ball needs {spacing:g}")
    layer = int(np.prod(counts))
    index = np.unravel_index(np.arange(n) % layer, tuple(counts))
    heights = (np.arange(n) // layer + 0.5) * spacing
    if heights[-1] + spacing / 2.0 > upper[-1] - lower[-1]:
        raise InvalidValue(
            f"the box is {upper[-1] - lower[-1]:g} high; {n} balls on the initial lattice need "
            f"{heights[-1] + spacing / 2.0:g}"
        )
    columns = [(k + 0.5) * w / count for k, w, count in zip(index, width, counts, strict=True)]
    return np.stack([*columns, heights], axis=1) + lower
