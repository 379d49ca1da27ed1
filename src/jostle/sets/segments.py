"""Thin straight walls in the plane, for discs."""

from __future__ import annotations

from jostle.arguments import check_arguments
from jostle.arrays import Array, InTime, finite, frozen
from jostle.errors import InvalidValue
from jostle.sets.surfaces import Lines, Surfaces
from jostle.sets.wall_sets import Walls, same_number


@check_arguments
class Segments(Walls):
    """Thin straight walls in the plane for discs, at rest or moving.

    A thin wall has two sides and no inside: a run in which it moves past the centre of a disc in one step ends with an
    error. Use `Polygons` for walls that move fast.

    Parameters
    ----------
    ends : array_like, shape (k, 2, 2), or callable (t) -> array
        The two end points of each wall.
    radii : float, array_like, shape (n,), or callable (t) -> array, optional
        Radii of the discs. None: those of the `Balls` in an intersection.

    Raises
    ------
    InvalidValue
        If `ends` have another shape, or their number changes with time; when the set is used, if the bodies have no
        radii.

    Examples
    --------
    >>> Segments([[[0, 0], [4, 0]]], radii=0.5).gap(0.0, [2.0, 1.5])
    1.0
    >>> import numpy as np
    >>> turnstile = Segments(lambda t: [[[0, 0], [np.cos(t), np.sin(t)]]], radii=0.1)
    >>> turnstile.moving, round(turnstile.gap(np.pi / 2, [0.5, 0.5]), 12)
    (True, 0.4)
    """

    passable = thin = on_devices = True

    def __init__(self, ends: InTime, *, radii: InTime | None = None):
        super().__init__(radii, ends)
        self.dimension = 2
        first = self._ends_at(ends, 0.0)
        self.ends = ends if callable(ends) else frozen(first)
        self.names = tuple(
            f"segment {k}, moving" if callable(ends) else f"segment {a.tolist()} to {b.tolist()}"
            for k, (a, b) in enumerate(first)
        )

    @staticmethod
    def _ends_at(ends: InTime, t: float) -> Array:
        array = finite(ends(t), f"ends at t = {t:g}") if callable(ends) else finite(ends, "ends")
        if array.size % 4:
            raise InvalidValue(f"ends of segments have shape (k, 2, 2), two points each; these have {array.shape}")
        return array.reshape(-1, 2, 2)

    def _surfaces(self, t: float) -> Surfaces:
        ends = self._ends_at(self.ends, t)
        same_number(self.names, len(ends), "segment", t)
        return Lines.between(ends[:, 0], ends[:, 1])
