"""Several shapes that are one rigid body, for shapes that are not convex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, finite
from jostle._tools.rotations import matrices
from jostle.errors import InvalidValue
from jostle.shapes.shape import Shape, solid

Part = tuple[Shape, ArrayLike, ArrayLike]


@check_arguments
class Compound(Shape):
    """Several shapes that are one rigid body, such as a cross, a bolt or a concave polygon cut into convex ones.

    Parameters
    ----------
    parts : sequence of (shape, centre, orientation)
        For each part, its shape; where its centre of mass lies; and how it is turned about that point: an angle in the
        plane, a quaternion (w, x, y, z) in space. Parts may overlap.

    Notes
    -----
    Every part has the same density, and its whole mass: where parts overlap, the mass counts twice.
    ``Motion(mass=..., inertia=...)`` sets other values.

    Examples
    --------
    >>> import jostle as jo
    >>> bar = jo.shapes.Box([3.0, 1.0])
    >>> ell = jo.shapes.Compound([(bar, [0.0, 0.0], 0.0), (bar, [1.0, 2.0], np.pi / 2)])
    >>> ell.measure, ell.centre.tolist(), len(ell.cores), ell.inertia.round(9).tolist()
    (6.0, [0.5, 1.0], 2, [2.083333333])
    """

    def __init__(self, parts: Sequence[Part]):
        given = [_part(k, part) for k, part in enumerate(parts)]
        if not given:
            raise InvalidValue("parts has no shape: give one (shape, centre, orientation) for each part")
        d = len(given[0][1])
        if any(len(at) != d for _, at, _ in given):
            raise InvalidValue("some centres of parts are in the plane and some in space: give all in one of them")
        placed = [(shape.of_dimension(d), at, R) for shape, at, R in given]
        measure = sum(shape.measure for shape, _, _ in placed)
        share = [shape.measure / measure for shape, _, _ in placed]
        centre = np.sum([m * at for m, (_, at, _) in zip(share, placed, strict=True)], axis=0)
        tensor = np.zeros((1, 1) if d == 2 else (3, 3))
        for m, (shape, at, R) in zip(share, placed, strict=True):
            arm = at - centre
            if d == 2:
                tensor += m * (shape.inertia + arm @ arm)
                continue
            E = R @ matrices(shape.axes[None])[0]
            tensor += m * (E @ np.diag(shape.inertia) @ E.T + arm @ arm * np.eye(3) - np.outer(arm, arm))
        cores = tuple(core.moved(R, at - centre) for shape, at, R in placed for core in shape.cores)
        self._solid = solid(cores, measure, centre, tensor, min(shape.size for shape, _, _ in placed))

    def __repr__(self) -> str:
        return f"a compound of {len(self.cores)} parts"


def _part(k: int, part: Any) -> tuple[Shape, Array, Array]:
    """A shape, its centre (d,) and its rotation (d, d), checked."""
    try:
        shape, centre, orientation = part
    except (TypeError, ValueError):
        raise InvalidValue(f"part {k} must be (shape, centre, orientation), not {part!r}") from None
    if not isinstance(shape, Shape):
        raise InvalidValue(f"part {k} must begin with a shape such as jo.shapes.Box([1, 1]), not {shape!r}")
    at, turn = finite(centre, f"the centre of part {k}"), finite(orientation, f"the orientation of part {k}")
    if at.shape not in ((2,), (3,)):
        raise InvalidValue(f"the centre of part {k} has shape {at.shape}: give 2 numbers in the plane or 3 in space")
    wanted, words = ((), "an angle") if len(at) == 2 else ((4,), "a quaternion (w, x, y, z)")
    size = float(np.linalg.norm(turn))
    if turn.shape != wanted or (len(at) == 3 and size == 0.0):
        raise InvalidValue(f"the orientation of part {k} must be {words}, not {orientation!r}")
    return shape, at, matrices(turn[None] if len(at) == 2 else turn[None] / size)[0]
