"""Some moments of a `Solution` on one scale, as matplotlib draws them; see `jostle.viz.drawing`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import EllipseCollection, LineCollection, PolyCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgb
from numpy.typing import ArrayLike

from jostle.arrays import Array
from jostle.errors import InvalidValue
from jostle.solution import Solution
from jostle.viz.scene import Frame, Scene
from jostle.viz.shapes import CELL, SOLID, WALL, Outline, View, segments

COLOURS = LinearSegmentedColormap.from_list(
    "jostle", ["#f3f6fa", "#c9ddee", "#8fbfdf", "#4a95c9", "#1c65a8", "#0b3a75", "#061b45"]
)
"""White at rest, dark blue at the top: it differs in lightness, for every kind of sight, and in print."""
PUSH, PULL = "#d55e00", "#7b3294"
WIDEST = {2: 0.34, 3: 0.22}
"""The bar of the largest force, as a part of the median diameter: in the plane and in space."""
MARGIN = 0.02
LAYERS = (
    (1.0, 0.0, -0.3),
    (0.93, 0.03, -0.12),
    (0.8, 0.1, 0.0),
    (0.58, 0.2, 0.16),
    (0.32, 0.3, 0.38),
    (0.12, 0.36, 0.62),
)
"""A ball is discs on each other: the part of its radius, how far to the light, how much lighter (or darker)."""
LIGHT = np.array([-0.6, 0.8])
HAZE = 0.35
"""The furthest ball fades by so much,"""
MIST = 0.85
"""and the furthest bar."""
TRIAD = 0.06
"""The length of the arrows that show the axes of space, as a part of the width."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Some frames of a scene on one scale."""

    scene: Scene
    frames: list[Frame]
    values: list[Array]
    """What the colours of each frame say, one number a body."""
    label: str
    box: View
    key: ScalarMappable
    strongest: float
    """The largest force of all frames."""
    view: tuple[float, float]

    @classmethod
    def of(cls, sol: Solution, numbers: list[int], colour: str | ArrayLike, view: tuple[float, float]) -> Picture:
        scene = Scene(sol)
        frames = [scene.frame(k) for k in numbers]
        values, label = _values(scene, frames, colour)
        everything = np.concatenate(values)
        known = everything[np.isfinite(everything)]
        low = min(0.0, float(known.min(initial=0.0))) if isinstance(colour, str) else float(known.min(initial=np.inf))
        high = float(known.max(initial=-np.inf))
        if not low < high:
            low, high = (low, low + 1.0) if np.isfinite(low) else (0.0, 1.0)
        box = scene.view(frames[0])
        for frame in frames[1:]:
            other = scene.view(frame)
            box = box.holding(np.stack([other.lower, other.upper]))
        strongest = max(float(np.abs(frame.bars.force).max(initial=0.0)) for frame in frames)
        return cls(scene, frames, values, label, box, ScalarMappable(Normalize(low, high), COLOURS), strongest, view)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        low, high = self._limits
        return float(high[0] - low[0]), float(high[1] - low[1])

    def onto(self, ax: Axes, frame: Frame, contacts: bool) -> None:
        """Draw one of the frames."""
        walls = self.scene.walls(frame.t, self.box.wider(MARGIN))
        values = self.values[self.frames.index(frame)]
        if self.scene.count == 1:
            ax.plot(*self._flat(self.scene.path)[:, :2].T, color="0.55", linewidth=0.8, zorder=1.5)
        if self.scene.d == 2:
            self._plane(ax, frame, values, walls)
        else:
            self._space(ax, frame, values, walls)
        if contacts:
            self._bars(ax, frame)
        low, high = self._limits
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", title=f"t = {frame.t:.4g}")
        self._axes(ax)

    def _plane(self, ax: Axes, frame: Frame, values: Array, walls: list[Outline]) -> None:
        solid = [wall.points for wall in walls if wall.kind == SOLID]
        ax.add_collection(PolyCollection(solid, facecolor="0.82", edgecolor="0.25", linewidth=1.0, zorder=1))
        rows, images = self.scene.images(frame)
        for x, who, alpha in ((frame.x, np.arange(len(frame.x)), 1.0), (images, rows, 0.4)):
            across = 2.0 * frame.radii[who]
            discs = EllipseCollection(
                across, across, 0 * across, units="xy", offsets=x, offset_transform=ax.transData, zorder=2, alpha=alpha
            )
            discs.set(array=values[who], norm=self.key.norm, cmap=COLOURS)
            discs.set(edgecolor="0.35", linewidth=float(np.clip(12.0 / np.sqrt(max(len(values), 1)), 0.1, 0.7)))
            ax.add_collection(discs)
        for kind, style in ((WALL, "solid"), (CELL, "dashed")):
            lines = [wall.points for wall in walls if wall.kind == kind]
            ax.add_collection(LineCollection(lines, colors="black", linewidths=1.4, linestyles=style, zorder=4))

    def _space(self, ax: Axes, frame: Frame, values: Array, walls: list[Outline]) -> None:
        flat = self._flat(frame.x)
        middle = float(self.box.centre @ self._frame_of_view[2])
        order = np.argsort(flat[:, 2])
        base = self.key.to_rgba(values[order])[:, :3]
        base = base + HAZE * _far(flat[order, 2])[:, None] * (1.0 - base)
        r = frame.radii[order]
        sizes, places, colours = [], [], []
        for part, towards, shine in LAYERS:
            sizes.append(2 * part * r)
            places.append(flat[order, :2] + towards * r[:, None] * LIGHT)
            colours.append(base + shine * (1.0 - base) if shine > 0 else base * (1.0 + shine))
        across, offsets, faces = (np.stack(each, axis=1) for each in (sizes, places, colours))
        balls = EllipseCollection(
            across.ravel(), across.ravel(), 0 * across.ravel(), units="xy", facecolors=faces.reshape(-1, 3).clip(0, 1),
            linewidths=0.0, offsets=offsets.reshape(-1, 2), offset_transform=ax.transData, zorder=2,
        )  # fmt: skip
        ax.add_collection(balls)
        pieces = self._flat(segments(walls, 3))
        for behind, alpha, zorder in ((True, 0.35, 1), (False, 0.55, 4)):
            lines = [piece[:, :2] for piece in pieces if (piece[:, 2].mean() < middle) == behind]
            ax.add_collection(LineCollection(lines, colors="black", linewidths=0.8, alpha=alpha, zorder=zorder))

    def _bars(self, ax: Axes, frame: Frame) -> None:
        bars = frame.bars
        if not len(bars.force) or self.strongest == 0.0:
            return
        # across the end of a periodic cell a bar is seen from both of its bodies
        j = bars.rows[:, 1]
        split = np.flatnonzero((j >= 0) & (np.linalg.norm(bars.end - frame.x[j], axis=1) > frame.radii[j]))
        other = frame.x[j[split]]
        start = self._flat(np.concatenate([bars.start, other]))
        end = self._flat(np.concatenate([bars.end, other + bars.start[split] - bars.end[split]]))
        force = np.concatenate([bars.force, bars.force[split]])
        width = WIDEST[self.scene.d] * 2.0 * float(np.median(frame.radii)) * np.sqrt(np.abs(force) / self.strongest)
        along = (end - start)[:, :2]
        length = np.linalg.norm(along, axis=1, keepdims=True)
        aside = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.where(length > 0, length, 1.0) * width[:, None] / 2.0
        corners = [start[:, :2] + aside, start[:, :2] - aside, end[:, :2] - aside, end[:, :2] + aside]
        colours = np.where(force[:, None] >= 0.0, to_rgb(PUSH), to_rgb(PULL))
        order = np.arange(len(force))
        if self.scene.d == 3:
            middle = (start + end)[:, 2]
            order, colours = np.argsort(middle), colours + MIST * _far(middle)[:, None] * (1.0 - colours)
        quads = np.stack(corners, axis=1)[order]
        ax.add_collection(PolyCollection(list(quads), facecolors=colours[order].tolist(), zorder=3))

    @cached_property
    def _frame_of_view(self) -> Array:
        """(3, 3) rows: to the right, upwards, towards the eye."""
        a, b = np.radians(self.view[0] + 90.0), np.radians(self.view[1])
        return np.array(
            [
                [np.cos(a), np.sin(a), 0.0],
                [-np.sin(b) * np.sin(a), np.sin(b) * np.cos(a), np.cos(b)],
                [np.cos(b) * np.sin(a), -np.cos(b) * np.cos(a), np.sin(b)],
            ]
        )

    @cached_property
    def _limits(self) -> tuple[Array, Array]:
        """The lower left and the upper right corner."""
        box = self.box.wider(MARGIN)
        if self.scene.d == 2:
            return box.lower, box.upper
        seen = View(np.full(2, np.inf), np.full(2, -np.inf))
        for frame in self.frames:
            flat, r = self._flat(frame.x)[:, :2], frame.radii[:, None]
            walls = self._flat(segments(self.scene.walls(frame.t, box), 3).reshape(-1, 3))[:, :2]
            seen = seen.holding(flat - r).holding(flat + r).holding(walls)
        return seen.wider(MARGIN)

    def _flat(self, points: Array) -> Array:
        """Points of space as they are seen: to the right, upwards, towards the eye; points of the plane as they are."""
        return points if self.scene.d == 2 else points @ self._frame_of_view.T

    def _axes(self, ax: Axes) -> None:
        for spine in ax.spines.values():
            spine.set_color("0.8")
        if self.scene.d == 3:
            ax.set_axis_off()
            self._triad(ax)
            return
        ax.set_xlabel("x")
        if self.scene.dimension == 1:
            ax.set_yticks([])
        else:
            ax.set_ylabel("y")

    def _triad(self, ax: Axes) -> None:
        """Where x, y and z point."""
        length = TRIAD * self.size[0]
        low, _ = self._limits
        corner = np.array([low[0] + 1.2 * length, low[1] + 0.2 * length])
        for name, axis in zip("xyz", self._frame_of_view[:2].T, strict=True):
            ax.plot(*np.stack([corner, corner + length * axis]).T, color="0.45", linewidth=1.0)
            right, up = corner + 1.35 * length * axis
            ax.text(right, up, name, color="0.3", ha="center", va="center", fontsize="small")


def _far(depth: Array) -> Array:
    """0 for the nearest to the eye, 1 for the furthest."""
    if len(depth) == 0 or np.ptp(depth) == 0.0:
        return 0.0 * depth
    return np.asarray((depth.max() - depth) / np.ptp(depth))


def _values(scene: Scene, frames: list[Frame], colour: str | ArrayLike) -> tuple[list[Array], str]:
    if isinstance(colour, str):
        if colour == "speed":
            return [frame.speed for frame in frames], "speed"
        if colour == "pressure":
            return [frame.force / _surface(frame.radii, scene.dimension) for frame in frames], "pressure"
        raise InvalidValue(f"colour is 'speed', 'pressure' or one number for each body, not {colour!r}")
    given = np.asarray(colour, dtype=float)
    if given.shape != (scene.count,):
        raise InvalidValue(f"colour has shape {given.shape}; there are {scene.count} bodies, one number for each")
    return [given[frame.number] for frame in frames], ""


def _surface(radii: Array, dimension: int) -> Array:
    """Two ends on a line, a circumference, a surface: the forces over it are the mean stress in the body."""
    return np.asarray({1: 2.0 + 0.0 * radii, 2: 2.0 * np.pi * radii, 3: 4.0 * np.pi * radii**2}[dimension])
