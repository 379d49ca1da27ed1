"""One state as the PolyData of VTK: points, velocities and radii of the bodies, contacts, walls and rods.

Walls and rods are lines, stored after the points and the contacts of each frame. Unbounded walls are drawn slightly
beyond the bodies of the frame, up to the next corners of a grid whose spacing is a power of two. The lines therefore
depend only on the frame, and a resumed file is identical to an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from jostle._tools.arrays import Array, Integers
from jostle._tools.rotations import AXES
from jostle.bodies import Bodies, contact_points
from jostle.errors import InvalidValue
from jostle.pose import Pose
from jostle.result.facts import SavedRods
from jostle.result.recording import Turned
from jostle.sets.outlines import Shape, View, holding_walls, outlines, unbounded

CIRCLE_POINTS = 24
"""Number of points of a circle."""
WALL_HEIGHT = 2.0
"""Half the height of a wall on a line, in multiples of the largest radius."""


class WallLines(NamedTuple):
    """Polylines: points (w, 3), the numbers of the points along each line, and the end of each line in that list."""

    points: Array
    joined: Integers
    ends: Integers


NO_LINES = WallLines(np.zeros((0, 3)), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
"""Lines of a state without walls."""


def rod_lines(ends: Array, dtype: DTypeLike) -> WallLines:
    """Rods with these ends (m, 2, d) as lines; those of absent bodies, at NaN, are left out.

    >>> rod_lines(np.array([[[0.0, 1.0], [2.0, 1.0]], [[0.0, 1.0], [np.nan, np.nan]]]), float).points.tolist()
    [[0.0, 1.0, 0.0], [2.0, 1.0, 0.0]]
    """
    there = ends[np.isfinite(ends).all(axis=(1, 2))]
    points = np.zeros((2 * len(there), 3), dtype=dtype)
    points[:, : ends.shape[2]] = there.reshape(-1, ends.shape[2])
    return WallLines(points, np.arange(len(points)), np.arange(2, len(points) + 1, 2))


def together(first: WallLines, second: WallLines) -> WallLines:
    """The lines of both."""
    if len(second.points) == 0:
        return first
    return WallLines(
        np.concatenate([first.points, second.points]),
        np.concatenate([first.joined, second.joined + len(first.points)]),
        np.concatenate([first.ends, second.ends + len(first.joined)]),
    )


class WallDrawer:
    """Draws the walls of successive frames; lines that do not change are not computed again.

    >>> floor = (Shape("plane", np.array([[0.0, 1.0], [0.0, 0.0]])),)
    >>> lines = WallDrawer(float).lines(floor, np.array([[0.5, 1.0], [3.0, 1.0]]), np.ones(2))
    >>> lines.points.tolist(), lines.joined.tolist(), lines.ends.tolist()
    ([[-8.0, 0.0, 0.0], [8.0, 0.0, 0.0]], [0, 1], [2])
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self._dtype = dtype
        self._last: tuple[Sequence[Shape], bytes, WallLines] = ((), b"", NO_LINES)

    def lines(self, shapes: Sequence[Shape], x: Array, radii: Array) -> WallLines:
        """The lines of the walls around bodies at x (n, d)."""
        d, tallest = x.shape[1], float(radii.max(initial=0.0))
        if not shapes or shapes[0].points.shape[1] != d:  # no walls, or each entry of q is drawn as a point
            return NO_LINES
        view = View(np.zeros(d), np.ones(d))
        if unbounded(shapes):
            view = _snapped(holding_walls(shapes, View.empty(d).holding(x - tallest).holding(x + tallest)))
        size = np.array([*view.lower, *view.upper, tallest if d == 1 else 0.0]).tobytes()
        known, size_known, lines = self._last
        if shapes is not known or size != size_known:
            lines = _drawn(shapes, view, WALL_HEIGHT * (tallest or 1.0), self._dtype)
            self._last = shapes, size, lines
        return lines


def _drawn(shapes: Sequence[Shape], view: View, half: float, dtype: DTypeLike) -> WallLines:
    lines = [line.points for line in outlines(shapes, view, CIRCLE_POINTS)]
    if len(view.lower) == 1:
        lines = [np.array([[line[0, 0], -half], [line[0, 0], half]]) for line in lines]
    if not lines:
        return NO_LINES
    flat = np.concatenate(lines)
    points, joined = np.unique(np.pad(flat, ((0, 0), (0, 3 - flat.shape[1]))), axis=0, return_inverse=True)
    return WallLines(points.astype(dtype), joined.ravel(), np.cumsum([len(line) for line in lines]))


def _snapped(view: View) -> View:
    """The smallest box that contains the view on a grid whose spacing is the diagonal rounded up to a power of two."""
    lower, upper = (np.where(np.isfinite(end), end, 0.0) for end in view)
    size = float(np.linalg.norm(upper - lower))
    spacing = 2.0 ** np.ceil(np.log2(size)) if size > 0.0 else 1.0
    return View(spacing * np.floor(lower / spacing), spacing * np.ceil(upper / spacing))


Floats = NDArray[np.floating[Any]]
Numbers = NDArray[np.int32]
NO_BODIES = np.zeros(0, dtype=np.int64)
"""An empty list of body numbers."""


def points_of(shape: tuple[int, ...], dimension: int = 0) -> tuple[int, int]:
    """The number of points as which a q of this shape is stored, and their dimension; `dimension` is that of a body."""
    if len(shape) == 1 and 1 <= dimension <= 3 and shape[0] % dimension == 0:
        return shape[0] // dimension, dimension
    return (shape[0], shape[1]) if len(shape) == 2 and 1 <= shape[1] <= 3 else (prod(shape), 1)


def balls_of(everybody: NDArray[Any], body: Any) -> Any:
    """The numbers of the balls of some bodies, by the body of each ball of all; all balls of a body are there or none.

    >>> balls_of(np.array([0, 0, 1, 2, 2]), np.array([0, 0, 2, 2])).tolist()
    [0, 1, 3, 4]
    """
    return np.flatnonzero(np.isin(everybody, body))


def orientations(turn: Array) -> Array:
    """(n, 4) turns as unit quaternions (w, x, y, z), from angles in the plane or from quaternions.

    >>> orientations(np.array([np.pi])).round(12).tolist()
    [[0.0, 0.0, 0.0, 1.0]]
    """
    if turn.ndim == 2:
        return turn
    zero = np.zeros_like(turn)
    return np.stack([np.cos(turn / 2.0), zero, zero, np.sin(turn / 2.0)], axis=1)


class Touching(NamedTuple):
    """The contacts with p != 0 of one state."""

    ends: Numbers
    """(m, 2) the points that the lines join."""
    first: Numbers
    """(m,) the first bodies, -1 for constraints on the whole configuration."""
    second: Numbers
    """(m,) the second bodies, -1 - k for walls, k for constraints on the whole configuration."""
    impulse: Floats
    normal: Floats
    """(m, 3) the normals, padded with zeros."""
    components: int
    """Number of components of the normals; 0 if there are no normals, or more than three components."""
    more: dict[str, NDArray[Any]]
    """Of bodies that turn, (m, 3): tangential and rolling, the impulses of friction and of rolling resistance, and
    point, where they act; of clumps, (m,): first_part and second_part, the numbers of balls in their bodies."""


class PolyData(NamedTuple):
    """One state: the n balls that are present, their contacts, and the w points of the lines of the walls.

    Each body is one ball, or a clump of several.
    """

    n: int
    points: Floats
    """(n + w, 3) positions of the balls, then of the points of walls."""
    velocity: Floats
    """(n + w, 3) velocities of their bodies, 0 for points of walls."""
    body: Numbers
    """(n + w,) body numbers, -1 for points of walls."""
    radius: Floats
    """(n + w,) radii, 0 for points of walls."""
    touching: Touching | None
    walls: WallLines
    more: dict[str, NDArray[Any]]
    """Of bodies that turn, (n + w, ...): spin, orientation, in the plane turn; of clumps part, -1 for points of walls,
    and the centre of mass."""

    @property
    def joined(self) -> Numbers:
        """The points that the lines join: two per contact, then those of the walls."""
        of_walls = (self.walls.joined + self.n).astype(np.int32)
        return of_walls if self.touching is None else np.concatenate([self.touching.ends.ravel(), of_walls])

    @property
    def ends(self) -> Numbers:
        """(lines,) the end of each line in `joined`."""
        m = 0 if self.touching is None else len(self.touching.impulse)
        return np.concatenate([np.arange(2, 2 * m + 2, 2), 2 * m + self.walls.ends]).astype(np.int32)


class Converter:
    """Converts states with a q of fixed shape into PolyData.

    >>> converter = Converter((2, 2), contacts=True)
    >>> contacts = [[0, 1], [1, -1]], [3.0, 0.0], [[1, 0], [0, -1]]
    >>> data = converter.polydata([[0, 0], [2, 0]], np.zeros((2, 2)), 1.0, *contacts)
    >>> data.points.tolist(), data.touching.ends.tolist(), data.touching.impulse.tolist()
    ([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]], [[0, 1]], [3.0])
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        *,
        contacts: bool = False,
        dtype: DTypeLike = np.float32,
        dimension: int = 0,
        rods: Sequence[SavedRods] = (),
        bodies: Bodies | None = None,
    ) -> None:
        """`bodies` are those of a problem whose bodies turn; None if they do not."""
        self.shape, self.contacts, self.dtype = tuple(shape), contacts, np.dtype(dtype)
        self.count, self.d = points_of(self.shape, dimension)
        self.everybody = np.arange(self.count, dtype=np.int32)
        self.bodies = bodies if bodies is None or bodies.inertia is not None else None
        if self.bodies is not None and self.bodies.parts is not None:
            self.everybody = self.bodies.parts.owner.astype(np.int32)
            self.count = len(self.everybody)
            self.part = self.bodies.parts.number.astype(np.int32)
        self._drawer = WallDrawer(self.dtype)
        self._rods = [one for one in rods if one.at_rest and self.d == dimension]

    def polydata(
        self,
        q: ArrayLike,
        u: ArrayLike,
        radii: ArrayLike,
        pairs: ArrayLike,
        multipliers: ArrayLike,
        normals: ArrayLike,
        walls: Sequence[Shape] = (),
        turned: Turned | None = None,
    ) -> PolyData:
        """Convert the state (q, u), with one radius per point or one for all, and the shapes of the walls."""
        x, v = np.asarray(q), np.asarray(u)
        if x.shape != self.shape or v.shape != self.shape:
            raise InvalidValue(f"q and u must have the shape {self.shape}, not {x.shape} and {v.shape}")
        x, v = x.reshape(-1, self.d), v.reshape(-1, self.d)
        more = self._turned(x, turned)
        if "centre" in more:
            assert self.bodies is not None
            assert turned is not None
            x, v = Pose.of(self.bodies, x, np.asarray(turned.orientation)).centres, v[self.everybody]
        radius = np.asarray(radii, dtype=self.dtype)
        if radius.shape != (self.count,):
            radius = self.broadcast(radius)
        rods = NO_LINES
        for one in self._rods:
            rods = together(rods, rod_lines(one.ends(0.0, x), self.dtype))
        body, absent, everyone = self.everybody, np.isnan(x), (x, radius)
        if absent.any():
            here = ~absent.any(axis=1)
            x, v, radius, body = x[here], v[here], radius[here], body[here]
            more = {name: values[here] for name, values in more.items()}
        n, lines = len(x), together(self._drawer.lines(walls, x, radius), rods)
        w = len(lines.points)
        points, velocity = np.zeros((2, n + w, 3), dtype=self.dtype)
        points[:n, : self.d], velocity[:n, : self.d] = x, v
        touching = self._touching(body, everyone, pairs, multipliers, normals, turned) if self.contacts else None
        if w:
            more = {name: np.pad(each, [(0, w), (0, 0)][: each.ndim]) for name, each in more.items()}
            if more:
                more["orientation"][n:, 0] = 1.0
            if "part" in more:
                more["part"][n:] = -1
            points[n:] = lines.points
            body, radius = np.pad(body, (0, w), constant_values=-1), np.pad(radius, (0, w))
        return PolyData(n, points, velocity, body, radius, touching, lines, more)

    def _turned(self, x: Array, turned: Turned | None) -> dict[str, NDArray[Any]]:
        """The point data of bodies at x that turn, for each ball."""
        if (turned is None) != (self.bodies is None):
            raise InvalidValue(
                "orientation, spin, tangential and rolling belong to bodies that turn, whose inertia the facts "
                "contain, and to no others"
            )
        if turned is None or self.bodies is None:
            return {}
        turn, spin = np.asarray(turned.orientation, dtype=float), np.asarray(turned.spin, dtype=float)
        shapes = [(len(x),), (len(x),)] if self.d == 2 else [(len(x), 4), (len(x), 3)]
        if [turn.shape, spin.shape] != shapes:
            raise InvalidValue(
                f"orientation and spin must have the shapes {shapes[0]} and {shapes[1]}, not {turn.shape} and "
                f"{spin.shape}"
            )
        more = {"spin": self._in_space(spin.reshape(len(x), -1)), "orientation": orientations(turn)}
        if self.d == 2:
            more["turn"] = turn
        if self.bodies.parts is not None:
            centre = np.zeros((len(x), 3))
            centre[:, : self.d] = x
            more = {name: each[self.everybody] for name, each in (more | {"centre": centre}).items()}
        found = {name: each.astype(self.dtype) for name, each in more.items()}
        return found if self.bodies.parts is None else found | {"part": self.part}

    def _in_space(self, turns: Array) -> Array:
        """(m, 3) angular velocities or moments, those of the plane about the third axis."""
        return turns if turns.shape[1] == 3 else np.pad(turns, ((0, 0), (2, 0)))

    def broadcast(self, radii: Floats) -> Floats:
        """(n,) the radii of all points, from one radius for all or one per body, which may be several points."""
        by_entry = self.shape != (self.count, self.d)
        if radii.size not in (1, self.count) and not (by_entry and radii.size and self.count % radii.size == 0):
            raise InvalidValue(f"there are {self.count} points, and radii of shape {radii.shape}")
        return np.repeat(radii.ravel(), self.count // max(radii.size, 1))

    def _touching(
        self,
        body: Numbers,
        everyone: tuple[Floats, Floats],
        pairs: ArrayLike,
        multipliers: ArrayLike,
        normals: ArrayLike,
        turned: Turned | None,
    ) -> Touching:
        p, pair, n = np.asarray(multipliers), np.asarray(pairs), np.asarray(normals)
        if pair.shape != (len(p), 2) or len(n) != len(p):
            raise InvalidValue(f"there are {len(p)} multipliers, pairs of shape {pair.shape}, normals of {n.shape}")
        rows, active = len(p), np.flatnonzero(p) if len(body) else NO_BODIES
        if len(active) < len(p):
            p, pair, n = p.take(active), pair.take(active, axis=0), n.take(active, axis=0)
        components = n.shape[1] if n.shape[1] <= 3 else 0
        normal = np.zeros((len(p), 3), dtype=self.dtype)
        normal[:, :components] = n[:, :components]
        first, second = np.array(pair.T, dtype=np.int32, order="C")
        more: dict[str, NDArray[Any]] = {}
        if turned is not None:
            tangential, rolling = np.asarray(turned.tangential, dtype=float), np.asarray(turned.rolling, dtype=float)
            if [tangential.shape, rolling.shape] != [(rows, self.d), (rows, AXES[self.d])]:
                raise InvalidValue(
                    f"there are {rows} multipliers, tangential impulses of shape {tangential.shape}, and rolling "
                    f"resistances of shape {rolling.shape}"
                )
            along = np.zeros((len(p), 3))
            along[:, : self.d] = tangential[active]
            at = np.full((len(p), 3), np.nan)
            known = turned.points
            at[:, : self.d] = contact_points(*everyone, pair, n) if known is None else known[active]
            more = {"tangential": along, "rolling": self._in_space(rolling[active]), "point": at}
            more = {name: each.astype(self.dtype) for name, each in more.items()}
        ends = self._ends(body, first, second)
        if self.bodies is not None and self.bodies.parts is not None:
            own, two = first >= 0, (first >= 0) & (second >= 0)
            one, other = np.where(own, first, 0), np.where(two, second, 0)  # there may be more constraints than balls
            more |= {
                "first_part": np.where(own, self.part[one], -1),
                "second_part": np.where(two, self.part[other], -1),
            }
            first, second = np.where(own, self.everybody[one], -1), np.where(two, self.everybody[other], second)
        return Touching(ends, first, second, p.astype(self.dtype), normal, components, more)

    def _ends(self, body: Numbers, first: Numbers, second: Numbers) -> Numbers:
        """The points that the lines join."""
        ends = np.stack([first, np.where(second < 0, first, second)], axis=1)
        if len(ends) == 0:
            return ends
        if len(body) == self.count and first.min() >= 0 and ends.max() < self.count:
            return ends
        place = np.full(max(int(ends.max()) + 2, self.count + 1), -1, dtype=np.int32)
        place[balls_of(self.everybody, body)] = np.arange(len(body))
        ends[first < 0] = -1
        ends = place[ends]
        return np.asarray(np.maximum(np.where(ends < 0, ends[:, ::-1], ends), 0))
