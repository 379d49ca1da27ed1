"""Sets that act on each body alone: half-space, box, outside of a ball.

A configuration q is one body, shape (d,), or n of them, shape (n, d). With `radii` the bodies are balls and
gaps are measured from their surfaces. In an intersection with `Balls` or `Line`, walls take the radii of the balls
unless they are given others; ``radii=0`` keeps the centres inside. Alone, and without radii, the bodies are points.
Centres, offsets, ends and radii may be functions of time.

All gaps are convex in q, as the linearised schemes ask.
"""

from __future__ import annotations

import numpy as np

from jostle.arguments import check_arguments
from jostle.arrays import (
    Array,
    InTime,
    at,
    finite,
    frozen,
)
from jostle.errors import InvalidValue, NotFinite, UndefinedGradient
from jostle.sets.surfaces import Plane, Sides, Spheres, Surfaces
from jostle.sets.wall_sets import Walls, same_number


@check_arguments
class HalfSpace(Walls):
    """The half-space {q : normal . q >= offset}: a floor, a wall, a moving or turning plane.

    Parameters
    ----------
    normal : array_like, shape (d,), or callable (t) -> array
        Normal of the plane, of any length but 0; it points to the side where the bodies are.
    offset : float or callable (t) -> float, default 0.0
        Offset of the plane, in the unit of normal . q.
    radii : float, array_like, shape (n,), or callable (t) -> array, optional
        Radii of the bodies. None: those of the balls in an intersection; otherwise the bodies are points.

    Raises
    ------
    UndefinedGradient
        If the normal is zero or not finite.
    InvalidValue
        If the offset is not one number.
    NotFinite
        If the offset is NaN or infinite.

    Examples
    --------
    >>> HalfSpace(normal=[0, 1]).gap(0.0, [3.0, 2.0])
    2.0
    >>> table = HalfSpace(normal=[1.0], offset=lambda t: 0.1 * np.sin(t))
    >>> table.moving
    True
    """

    on_devices = True

    def __init__(self, normal: InTime, offset: InTime = 0.0, *, radii: InTime | None = None):
        super().__init__(radii, normal, offset)
        self.normal, self.offset = frozen(normal), frozen(offset)
        self.dimension = at(normal, 0.0).size
        self._offset(0.0)
        self.names = (f"plane {self._words()}",)
        self.flat = not callable(normal)
        self._unit = self._normal(0.0) if self.flat else None
        self._surfaces(0.0)

    def _words(self) -> str:
        where = "moving" if self.moving else f"at offset {self.offset.item():g}"
        return f"with normal {'turning' if callable(self.normal) else self.normal.tolist()}, {where}"

    def _normal(self, t: float) -> tuple[Array, float]:
        normal = at(self.normal, t).ravel()
        if len(normal) != self.dimension:
            raise InvalidValue(
                f"the normal of a half-space has {len(normal)} entries at t = {t:g}, and {self.dimension} at t = 0"
            )
        size = float(np.linalg.norm(normal))
        if not 0.0 < size < np.inf:
            raise UndefinedGradient(f"the normal of a half-space is {normal.tolist()} at t = {t:g}")
        return normal / size, size

    def _offset(self, t: float) -> Array:
        offset = at(self.offset, t)
        if offset.size != 1:
            raise InvalidValue(f"the offset of a half-space is one number; at t = {t:g} it has shape {offset.shape}")
        return offset

    def _surfaces(self, t: float) -> Surfaces:
        unit, size = self._unit or self._normal(t)
        offset = self._offset(t)
        if not np.isfinite(offset).all():
            raise NotFinite(f"the offset of the {self.names[0]} is {offset.item()} at t = {t:g}; it must be finite")
        return Plane(unit, offset.ravel() / size)


@check_arguments
class Box(Walls):
    """The box {q : lower <= q <= upper}; infinite entries are open sides.

    Parameters
    ----------
    lower : float, array_like, shape (d,), or callable (t) -> array
        Lower corner; -inf for an open side.
    upper : float, array_like, shape (d,), or callable (t) -> array
        Upper corner; inf for an open side.
    radii : float, array_like, shape (n,), or callable (t) -> array, optional
        Radii of the bodies. None: those of the balls in an intersection; otherwise the bodies are points.

    Raises
    ------
    InvalidValue
        If the box is empty, or a corner is NaN.
    NotFinite
        During a run, if a corner becomes NaN.

    Examples
    --------
    >>> Box(lower=[0, 0], upper=[2, np.inf]).gap(0.0, [0.5, 9.0])
    0.5
    """

    flat = on_devices = True

    def __init__(self, lower: InTime, upper: InTime, *, radii: InTime | None = None):
        super().__init__(radii, lower, upper)
        self.lower, self.upper = frozen(lower), frozen(upper)
        low, high = np.broadcast_arrays(np.atleast_1d(at(lower, 0.0)), np.atleast_1d(at(upper, 0.0)))
        for name, ends in (("lower", low), ("upper", high)):
            if np.isnan(ends).any():
                raise InvalidValue(f"{name} of the box is {ends.tolist()}; use infinity for an open side")
        if (low > high).any() or (low == np.inf).any() or (high == -np.inf).any():
            raise InvalidValue(f"box is empty: lower {low.tolist()} exceeds upper {high.tolist()}")
        self.dimension = low.size
        walled = np.concatenate([low > -np.inf, high < np.inf])
        self._sides = np.flatnonzero(walled)
        width = float((high - low).min(initial=np.inf))
        self.own_length = width if 0.0 < width < np.inf else None
        words = [f"wall q[{a}] {end}" for end in (">= lower", "<= upper") for a in range(self.dimension)]
        self.names = tuple(words[side] for side in self._sides)

    def widths(self, t: float, radii: Array, d: int) -> Array:
        """The sides of a box that holds balls of given radii, with those of its own bodies taken into account.

        Parameters
        ----------
        t : float
            Time.
        radii : array, shape (n,)
            Radii of the balls.
        d : int
            Dimension of space.

        Returns
        -------
        array, shape (d,)
            The sides; infinite where the box is open.
        """
        own, _ = self._sizes(t, radii)
        beyond = float((radii - (0.0 if own is None else own)).max(initial=-np.inf))
        return np.broadcast_to(at(self.upper, t) - at(self.lower, t), (d,)) + 2.0 * beyond

    def _surfaces(self, t: float) -> Surfaces:
        d, sides = self.dimension, self._sides
        ends = np.concatenate([np.broadcast_to(at(ends, t), (d,)) for ends in (self.lower, self.upper)])
        if np.isnan(ends).any():
            side = self._side(int(np.argmax(np.isnan(ends))))
            raise NotFinite(f"{side} of the box is nan at t = {t:g}; use infinity for an open side")
        closed = np.isfinite(ends)
        closed[sides] = False
        if closed.any():
            k = int(np.argmax(closed))
            raise InvalidValue(
                f"{self._side(k)} of the box is {ends[k]:g} at t = {t:g}, and was infinite at t = 0: an open side "
                f"stays open; start with a wall that is far away"
            )
        axis, sign = sides % d, np.where(sides < d, 1.0, -1.0)
        return Sides(axis, sign, ends[sides], sign[:, None] * np.eye(d)[axis])

    def _side(self, k: int) -> str:
        """The name of a side: the lower ones come first."""
        end, axis = divmod(k, self.dimension)
        return f"{('lower', 'upper')[end]}[{axis}]"


@check_arguments
class Outside(Walls):
    """The outside of circles or spheres, {q : |q - centre_k| >= radius_k}: round obstacles.

    Parameters
    ----------
    centre : array_like, shape (d,) or (k, d), or callable (t) -> array
        Centres of the obstacles.
    radius : float, array_like, shape (k,), or callable (t) -> array
        Radii of the obstacles, 0 or more.
    radii : float, array_like, shape (n,), or callable (t) -> array, optional
        Radii of the bodies. None: those of the balls in an intersection; otherwise the bodies are points.

    Raises
    ------
    InvalidValue
        If a radius is negative, or the number of obstacles changes with time.
    UndefinedGradient
        When the set is used, if a body is on the centre of an obstacle.

    Examples
    --------
    >>> Outside(centre=[[0.0, 0.0], [5.0, 0.0]], radius=1.0).gap(0.0, [2.0, 0.0])
    1.0
    """

    sign = 1.0
    kind = "obstacle"
    passable = on_devices = True

    def __init__(self, centre: InTime, radius: InTime, *, radii: InTime | None = None):
        super().__init__(radii, centre, radius)
        self.centre, self.radius = frozen(centre), frozen(radius)
        centres = np.atleast_2d(finite(at(centre, 0.0), f"centre of {self.kind}s"))
        self.dimension = centres.shape[1]
        self.names = tuple(f"{self.kind} {k}" for k in range(len(centres)))
        size = self._sizes_of(finite(at(radius, 0.0), f"radius of {self.kind}s"), 0.0)
        if not (size >= 0).all():
            raise InvalidValue(f"radius must not be negative: {size.tolist()}")
        self.own_length = float(size.min()) or None

    def _sizes_of(self, radius: Array, t: float) -> Array:
        """(k,) the radius of each obstacle."""
        if radius.shape not in ((), (1,), (len(self.names),)):
            raise InvalidValue(
                f"radius has shape {radius.shape} at t = {t:g}, and there are {len(self.names)} {self.kind}s"
            )
        return np.broadcast_to(radius, (len(self.names),))

    def _surfaces(self, t: float) -> Surfaces:
        centre = np.atleast_2d(finite(at(self.centre, t), f"centre of {self.kind}s at t = {t:g}"))
        same_number(self.names, len(centre), self.kind, t)
        radius = self._sizes_of(finite(at(self.radius, t), f"radius of {self.kind}s at t = {t:g}"), t)
        if not radius.min(initial=0.0) >= 0.0:
            k = int(np.argmin(radius))
            raise InvalidValue(f"radius of {self.names[k]} is {radius[k]:g} at t = {t:g}; it must not be negative")
        return Spheres(centre, radius, self.sign)

    def _undefined(self, body: int, wall: str) -> str:
        return (
            f"body {body} sits exactly on the centre of {wall}; the distance has no gradient there: "
            f"move it off the centre"
        )
