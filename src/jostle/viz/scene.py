"""Scenes of a `Solution` for pictures and the viewer: bodies with radii, the forces between them, and the walls.

A scene has two or three dimensions: balls on a line lie on the x axis of a plane. Bodies in a periodic space are shown
within one cell. What is drawn are balls: each body is one ball, or a clump of several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from jostle._tools.arrays import Array, Integers
from jostle._tools.rotations import matrices
from jostle.errors import InvalidValue
from jostle.io.polydata import WALL_HEIGHT
from jostle.io.reading import source_of
from jostle.result.solution import Solution
from jostle.sets.outlines import CELL, Outline, Shape, View, between, enclosure, holding_walls, outlines, sides

# One saved time for pictures: bodies, and the contacts that carry a force.


@dataclass(frozen=True, eq=False)
class Bars:
    """The m contacts that carry a force, drawn as bars between centres of bodies, or from a body to a wall.

    Where there is friction, a bar has the direction of the whole force, and goes through the point of contact.
    """

    start: Array
    """(m, d) starts of the bars; `end` has their ends."""
    end: Array
    force: Array
    """(m,) forces, positive for a push and negative for a pull."""
    rows: Integers
    """(m, 2) rows of the two bodies in the frame; -1 - w for wall w."""


@dataclass(frozen=True, eq=False)
class Frame:
    """The n balls that are present at one saved time; the argument of functions in `jostle.viz.QUANTITIES`.

    Each body is one ball, or a clump of several. The velocity, mass, group, force and contacts of a ball are those of
    its body.

    Attributes
    ----------
    k : int
        Number of the saved time.
    t : float
        Time.
    dimension : int
        Dimension of the space of the bodies: 1, 2 or 3.
    number : array of int, shape (n,)
        Numbers of the balls; those of the bodies, unless they are clumps.
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
    body : array of int, shape (n,)
        Body numbers.
    axes : array, shape (n, d, d), or None
        How the balls are turned: the k-th column is the k-th axis of the ball. None if bodies do not turn.
    spin : array, shape (n,) or (n, 3), or None
        Angular velocities; None if bodies do not turn.

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
    body: Integers
    axes: Array | None = None
    spin: Array | None = None

    @property
    def speed(self) -> Array:
        """(n,): the speeds."""
        return np.asarray(np.linalg.norm(self.u, axis=1))

    @property
    def contacts(self) -> Array:
        """(n,): the number of contacts of each body that carry a force."""
        touched = self.body[self.bars.rows[self.bars.rows >= 0]]
        return np.bincount(touched, minlength=int(self.body.max(initial=-1)) + 1)[self.body].astype(float)


POINT_RADIUS = 0.012
"""Radius with which bodies without a radius are shown, as a fraction of the size of the scene."""
SAMPLED_FRAMES = 64
"""Number of frames from which the extent of the motion is estimated."""
MIN_IMPULSE = 1e-6
"""Impulses below this fraction of the largest in a frame are not shown."""
CELL_MARGIN = 0.02
"""A periodic cell is centred at zero if no body starts further outside than this fraction of the period."""


class Scene:
    """A solution, ready to be shown."""

    def __init__(self, sol: Solution) -> None:
        self.sol = sol
        self.facts = sol.facts
        self.dimension = self.facts.dimension or _dimension(sol)
        """Dimension of the space of the bodies: 1, 2 or 3."""
        self.d = max(self.dimension, 2)
        """Dimension of the pictures: 2 or 3."""
        if self.dimension > 3:
            raise InvalidValue(f"q has shape {sol.q.shape[1:]}: bodies are shown on a line, in the plane or in space")
        self.bodies = int(np.prod(sol.q.shape[1:])) // self.dimension
        """Number of bodies."""
        made_of = self.facts.parts
        self.owner = np.arange(self.bodies) if made_of is None else made_of.owner
        """(count,) the body of each ball."""
        self.count = len(self.owner)
        """Number of balls."""
        self.clumps = np.flatnonzero(np.bincount(self.owner, minlength=self.bodies)[self.owner] > 1)
        """Numbers of the balls that are not alone in their bodies."""
        self.period = np.full(self.dimension, np.inf) if self.facts.period is None else self.facts.period
        self.contacts_known = sol.contacts_saved
        """Whether contacts are known; files contain them only if `Output(contacts=True)` was used."""

    def continued(self, sol: Solution) -> Scene:
        """The scene of the same run with more frames, without reading all frames again.

        >>> import jostle as jo
        >>> scene = Scene(jo.solve(jo.models.rack(2), jo.Maury(), t=1.0, h=0.1))
        >>> later = scene.continued(jo.solve(jo.models.rack(2), jo.Maury(), t=2.0, h=0.1))
        >>> len(later.sol.t), bool((later.ways.upper >= scene.ways.upper).all())
        (21, True)
        """
        later = Scene(sol)
        last = len(sol.t) - 1
        x, r = later.places(last), later.radii(last)[:, None]
        later.__dict__ |= {
            "cell_start": self.cell_start,
            "ways": self.ways.holding(x - r).holding(x + r),
            "point": self.point,
            "sized": self.sized,
        }
        return later

    @property
    def force_name(self) -> str:
        """What the multipliers are: "force" p / h, "reaction" p of a first-order problem, or "impulse" if unknown."""
        return {2: "force", 1: "reaction"}.get(self._order, "impulse")

    @cached_property
    def _order(self) -> int:
        """2 if the multipliers are impulses over known times, 1 if they are velocities, 0 if unknown."""
        timed = (
            self.sol.impulse_times is None
            or np.isfinite(self.sol.impulse_times[1:]).all()
            or self.sol.scheme is not None
        )
        return self.sol.order if timed or self.sol.order == 1 else 0

    def frame(self, k: int) -> Frame:
        """Frame k; negative numbers count from the end."""
        if not -len(self.sol.t) <= k < len(self.sol.t):
            raise InvalidValue(f"there is no frame {k}: the solution has {len(self.sol.t)} frames")
        k = k % len(self.sol.t)
        everyone = self.places(k)
        here = np.flatnonzero(np.isfinite(everyone).all(axis=1))
        body = self.owner[here]
        x, u = everyone[here], self._embedded(np.asarray(self.sol.u[k]))[body]
        shown = self.radii(k)[here]
        shown[shown <= 0.0] = self.point
        row = np.full(self.count, -1)
        row[here] = np.arange(len(here))
        bars, force = self._forces(k, x, shown, row)
        if len(self.clumps):
            force = np.asarray(np.bincount(body, force, self.bodies)[body], dtype=float)
        facts, unknown, none = self.facts, np.full(self.bodies, np.nan), np.full(self.bodies, -1)
        mass = (unknown if facts.masses is None else facts.masses)[body]
        group = (none if facts.groups is None else facts.groups.number)[body]
        sol, turned = self.sol, dict[str, Any]()
        if sol.orientation is not None and sol.spin is not None:
            turned = {"axes": matrices(np.asarray(sol.orientation[k]))[body], "spin": np.asarray(sol.spin[k])[body]}
        return Frame(k, float(sol.t[k]), self.dimension, here, x, u, shown, force, mass, group, bars, body, **turned)

    def frames(self, numbers: Sequence[int]) -> Iterator[Frame]:
        """Yield frames; consecutive frames of a file are read together.

        >>> import jostle as jo
        >>> scene = Scene(jo.solve(jo.models.rack(2), jo.Maury(), t=1.0, h=0.1))
        >>> [frame.k for frame in scene.frames([3, 4, 9])]
        [3, 4, 9]
        """
        source = source_of(self.sol)
        together = 1 if source is None else source.block
        for start in range(0, len(numbers), together):
            few = numbers[start : start + together]
            if len(few) == 1 or list(few) != list(range(max(few[0], 0), few[-1] + 1)):
                yield from (self.frame(k) for k in few)
                continue
            loaded = self._loaded(slice(few[0], few[-1] + 1))
            yield from (replace(loaded.frame(row), k=k) for row, k in enumerate(few))

    def _loaded(self, some: slice) -> Scene:
        """The same scene with only these frames, in memory."""
        sol, loaded = self.sol, copy(self)
        loaded.__dict__ |= {"cell_start": self.cell_start, "point": self.point, "_order": self._order}
        names = ("orientation", "spin", "tangential", "rolling", "points")
        turned: dict[str, Any] = {name: getattr(sol, name) for name in names}
        turned = {name: None if given is None else given[some] for name, given in turned.items()}
        loaded.sol = replace(
            sol, t=sol.t[some], q=sol.q[some], u=sol.u[some], multipliers=sol.multipliers[some], pairs=sol.pairs[some],
            normals=sol.normals[some], radii=sol.radii[some],
            impulse_times=None if sol.impulse_times is None else sol.impulse_times[some],
            saved_shapes=None if sol.saved_shapes is None else sol.saved_shapes[some], saved_facts=self.facts,
            **turned,
        )  # fmt: skip
        return loaded

    def places(self, k: int) -> Array:
        """(count, d) positions of all balls in frame k, as drawn; NaN for absent bodies."""
        return self.placed(self.sol.places(k))

    def everywhere(self) -> Array:
        """(k, bodies, d) positions of all bodies in all frames, as drawn."""
        return np.stack([self.placed(q) for q in self.sol.q])

    def placed(self, q: Array) -> Array:
        """(m, d) positions of bodies or balls, as drawn."""
        x = np.asarray(q, dtype=float).reshape(-1, self.dimension)
        wraps = np.isfinite(self.period)
        if wraps.any():
            L, low = self.period[wraps], self.cell_start[wraps]
            x = x.copy()
            x[:, wraps] = (x[:, wraps] - low) % L + low
        return self._embedded(x)

    def speeds(self, k: int) -> Array:
        """(count,) speeds of all balls in frame k."""
        return np.asarray(np.linalg.norm(self._embedded(np.asarray(self.sol.u[k])), axis=1))[self.owner]

    def radii(self, k: int) -> Array:
        """(count,) radii of all bodies in frame k, 0 for points."""
        if self.facts.radii is not None:
            return self.facts.radii.copy()
        sol = self.sol
        if sol.radii is not None:
            known = sol.radii[k]
        else:
            known = 0.0 if sol.problem is None else sol.problem.bodies.radii_at(float(sol.t[k]))
        return np.array(np.broadcast_to(np.ravel(known), (self.count,)), dtype=float)

    @property
    def radii_change(self) -> bool:
        """Whether the radii may differ between frames."""
        return self.facts.radii is None and (self.sol.radii is not None or self.sol.problem is not None)

    @cached_property
    def sized(self) -> bool:
        """Whether the bodies have radii; otherwise they are points."""
        looked_at = np.unique(np.linspace(0, len(self.sol.t) - 1, SAMPLED_FRAMES).astype(int))
        return any(bool(self.radii(int(k)).any()) for k in looked_at)  # a file has no radius for bodies that come later

    @cached_property
    def cell_start(self) -> Array:
        """(dimension,) the lower corner of the periodic cell: 0, or -period / 2 if all bodies start around 0."""
        x = np.asarray(self.sol.q[0], dtype=float).reshape(-1, self.dimension)
        x = x[np.isfinite(x).all(axis=1)]
        lower, margin = -self.period / 2.0, CELL_MARGIN * self.period
        around = (x >= lower - margin).all(axis=0) & (x <= -lower + margin).all(axis=0)
        return np.where(around & (x < -margin).any(axis=0) & np.isfinite(self.period), lower, 0.0)

    @cached_property
    def ways(self) -> View:
        """The box of all positions during the whole run."""
        frames = np.unique(np.linspace(0, len(self.sol.t) - 1, SAMPLED_FRAMES).astype(int))
        box = View.empty(self.d)
        for k in frames:
            x, r = self.places(int(k)), self.radii(int(k))[:, None]
            box = box.holding(x - r).holding(x + r)
        return box if np.isfinite(box.lower).all() else View(np.zeros(self.d), np.ones(self.d))

    @cached_property
    def path(self) -> Array:
        """(k, d) positions of the first body in all frames."""
        return self.everywhere()[:, 0]

    @cached_property
    def point(self) -> float:
        """The radius with which points are drawn."""
        return POINT_RADIUS * (self.with_walls(self.ways, self.shapes(float(self.sol.t[0]))).size or 1.0)

    def view(self, frame: Frame) -> View:
        """A box that contains the bodies and the walls of a frame; for a single body, its path."""
        r = frame.radii[:, None]
        nothing = View.empty(self.d)
        box = nothing if len(frame.x) and self.count > 1 else self.ways
        box = box.holding(frame.x - r).holding(frame.x + r).holding(self.rods(frame).reshape(-1, self.d))
        return self.with_walls(box, self.shapes(frame.t))

    def enclosure(self, t: float) -> View:
        """The box of the bounded walls, without obstacles; infinite where there are none."""
        found = enclosure(self.shapes(t), self.dimension)
        lower, upper = np.full(self.d, -np.inf), np.full(self.d, np.inf)
        lower[: self.dimension], upper[: self.dimension] = found
        return View(lower, upper)

    def images(self, frame: Frame) -> tuple[Integers, Array]:
        """The bodies that extend beyond the ends of a periodic cell: their rows, and the positions of their images."""
        rows, x = np.arange(len(frame.x)), frame.x
        for axis in np.flatnonzero(np.isfinite(self.period)):
            L, low, r = self.period[axis], self.cell_start[axis], frame.radii[rows]
            for reaches, shift in ((x[:, axis] - r < low, L), (x[:, axis] + r > low + L, -L)):
                again = np.flatnonzero(reaches[: len(r)])
                rows, x = np.append(rows, rows[again]), np.concatenate([x, x[again] + shift * np.eye(self.d)[axis]])
        return rows[len(frame.x) :], x[len(frame.x) :]

    def split(self, frame: Frame) -> tuple[Integers, Array]:
        """The bars across an end of a periodic cell, and by how much their other images are shifted."""
        i, j = frame.bars.rows.T
        both = np.flatnonzero(j >= 0)
        apart = frame.x[j[both]] - frame.x[i[both]]
        shift = apart - self._nearest_image(apart.copy())
        across = (shift != 0.0).any(axis=1)
        return both[across], shift[across]

    def rods(self, frame: Frame) -> Array:
        """(m, 2, d) the ends of all rods whose bodies are there; files do not contain rods whose points move."""
        everyone = np.full((self.count, self.dimension), np.nan)
        everyone[frame.number] = frame.x[:, : self.dimension]
        found = np.zeros((0, 2, self.d))
        for rods in self.facts.rods:
            ends = rods.ends(frame.t, everyone)
            flat = np.zeros((*ends.shape[:2], self.d))
            flat[..., : self.dimension] = ends
            found = np.concatenate([found, flat[np.isfinite(flat).all(axis=(1, 2))]])
        return found

    def shapes(self, t: float) -> tuple[Shape, ...]:
        """The shapes of the walls at time t; between two saved times they move in straight lines, as bodies do."""
        saved = self.sol.t
        k = int(np.clip(np.searchsorted(saved, t, side="right") - 1, 0, len(saved) - 1))
        if not self.facts.walls_move:
            return self._at_rest
        if t <= saved[k] or k == len(saved) - 1:
            return self.sol.shapes(k)
        part = float((t - saved[k]) / (saved[k + 1] - saved[k]))
        return between(self.sol.shapes(k), self.sol.shapes(k + 1), part)

    @cached_property
    def _at_rest(self) -> tuple[Shape, ...]:
        return self.sol.shapes(0)

    def walls(self, t: float, view: View) -> list[Outline]:
        """The outlines of the walls at time t inside the view, in d dimensions."""
        axes = slice(0, self.dimension)
        seen = View(view.lower[axes], view.upper[axes])
        lines = outlines(self.shapes(t), seen)
        if np.isfinite(self.period).any():
            lower = np.where(np.isfinite(self.period), self.cell_start, -np.inf)
            upper = np.where(np.isfinite(self.period), self.cell_start + self.period, np.inf)
            lines += sides(lower, upper, seen, CELL)
        if self.dimension > 1:
            return lines
        half = WALL_HEIGHT * self._tallest
        return [Outline(np.array([[x, -half], [x, half]]), line.kind) for line in lines for x in line.points[:, 0]]

    @cached_property
    def _tallest(self) -> float:
        return float(self.radii(0).max(initial=0.0)) or self.point

    def with_walls(self, view: View, shapes: tuple[Shape, ...]) -> View:
        """The view, made larger so that it holds the walls and the periodic cell."""
        axes = slice(0, self.dimension)
        grown = holding_walls(shapes, View(view.lower[axes], view.upper[axes]))
        lower, upper = view.lower.copy(), view.upper.copy()
        lower[axes], upper[axes] = grown.lower, grown.upper
        wraps = np.flatnonzero(np.isfinite(self.period))
        lower[wraps] = np.minimum(lower[wraps], self.cell_start[wraps])
        upper[wraps] = np.maximum(upper[wraps], (self.cell_start + self.period)[wraps])
        return View(lower, upper)

    def _embedded(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float).reshape(-1, self.dimension)
        return np.column_stack([x, np.where(np.isfinite(x), 0.0, np.nan)]) if self.dimension == 1 else x

    def _forces(self, k: int, x: Array, radii: Array, row: Integers) -> tuple[Bars, Array]:
        p, pairs, normals = (np.asarray(of[k]) for of in (self.sol.multipliers, self.sol.pairs, self.sol.normals))
        shown = np.abs(p) > MIN_IMPULSE * np.abs(p).max(initial=0.0)
        shown &= pairs[:, 0] >= 0
        i, j = (np.where(body >= 0, row[np.clip(body, 0, len(row) - 1)], -1) for body in pairs.T)
        shown &= (i >= 0) & ((j >= 0) | (pairs[:, 1] < 0))  # both bodies are still present
        if not shown.any():
            return self._no_bars, np.zeros(len(x))
        i, j, wall, f = i[shown], j[shown], pairs[shown, 1], p[shown] / self.impulse_time(k)
        along = (
            None if self.sol.tangential is None else np.asarray(self.sol.tangential[k])[shown] / self.impulse_time(k)
        )
        if along is not None:
            f = np.copysign(np.hypot(f, np.linalg.norm(along, axis=1)), f)
        between = j >= 0
        size, carried = np.abs(f), np.zeros(len(x))
        carried += np.bincount(i, size, len(x))
        carried += np.bincount(j[between], size[between], len(x))
        if normals.shape[1] != self.dimension:
            return self._no_bars, carried
        start = x[i]
        apart = self._nearest_image(x[j] - start)
        walls = np.flatnonzero(~between)
        apart[walls] = 0.0
        apart[walls, : self.dimension] = normals[np.flatnonzero(shown)[walls]] * radii[i[walls], None]
        rows = np.stack([i, np.where(between, j, wall)], axis=1)
        if along is None:
            return Bars(start, start + apart, f, rows), carried
        n = normals[shown]
        whole = n * (p[shown] / self.impulse_time(k))[:, None] + along
        unit = whole / np.linalg.norm(whole, axis=1)[:, None]
        touched = start + radii[i, None] * n
        made_of = self.facts.parts
        half = np.full(len(i), made_of.length) if made_of is not None and made_of.core is not None else None
        one, other = (radii[i], radii[j]) if half is None else (half, half)
        if half is not None and self.sol.points is not None:  # obstacles touch edges, too
            touched = np.asarray(self.sol.points[k], dtype=float)[shown]
        end = touched + np.where(between, other, 0.0)[:, None] * unit
        return Bars(touched - one[:, None] * unit, end, f, rows), carried

    @property
    def _no_bars(self) -> Bars:
        nowhere = np.zeros((0, self.d))
        return Bars(nowhere, nowhere, np.zeros(0), np.zeros((0, 2), dtype=np.int64))

    def _nearest_image(self, apart: Array) -> Array:
        if not np.isfinite(self.period).any():
            return apart
        L = np.where(np.isfinite(self.period), self.period, 1.0)
        turns = np.where(np.isfinite(self.period), np.round(apart[:, : self.dimension] / L), 0.0)
        apart[:, : self.dimension] -= turns * L
        return apart

    def impulse_time(self, k: int) -> float:
        """The time over which the impulses of frame k acted; 1 if multipliers are shown as they are."""
        return self.sol.impulse_time(k) if self._order == 2 else 1.0


def _dimension(sol: Solution) -> int:
    """Dimension of the space of one body if it is unknown: a q of shape (N,) is one body, or balls on a line."""
    shape = sol.q.shape[1:]
    if len(shape) > 1:
        return int(shape[-1])
    size = int(np.prod(shape))
    frames = np.linspace(len(sol.t) - 1, 0, SAMPLED_FRAMES // 8).astype(int)
    normals = (np.asarray(sol.normals[int(k)]) for k in frames)
    components = next((normal.shape[1] for normal in normals if len(normal)), 0)
    if 0 < components <= 3:
        return int(components)
    return size if size <= 3 and (sol.radii is None or np.size(sol.radii[0]) <= 1) else 1
