"""Pictures of a `Solution`: one frame, or several side by side.

Discs are to scale, walls are black lines, and orange bars between centres are contact forces, whose width is the square
root of the force; with friction, a bar points along the whole force, and misses the centres. Gluey contacts that pull
are purple. Bodies in space are drawn without perspective, and far bodies are hidden behind near ones; forces are not
hidden, but fade with the distance. A ball that turns has a spot, in space six of them, so that one sees it roll. The
balls of a clump are drawn as one body. Shapes in the plane are drawn with their rounding; those in space are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import EllipseCollection, LineCollection, PolyCollection
from matplotlib.colorbar import Colorbar
from matplotlib.colors import BoundaryNorm, Colormap, ListedColormap, Normalize, PowerNorm, to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from numpy.typing import ArrayLike

from jostle._tools.arguments import Finite
from jostle._tools.arrays import Array, Integers
from jostle._tools.colours import GROUPS, LIGHT, PULL, PUSH, UNKNOWN
from jostle.errors import InvalidValue
from jostle.result.solution import Solution
from jostle.sets.outlines import CELL, SOLID, WALL, WIRE, Revolved, View, line_segments, patches, surfaces
from jostle.viz.figures import MARGIN, frames_at, painted, side_by_side
from jostle.viz.quantities import Quantity, chosen
from jostle.viz.scene import Frame, Scene
from jostle.viz.sources import LENGTH, Shown, solution, with_time, with_unit
from jostle.viz.style import BODY_COLOURS, plain, plot

# Projection of points in space onto the plane of a picture.


AZIMUTH: float = -62.0
ELEVATION: float = 16.0
"""Default azimuth and elevation of the view of space, in degrees."""


def directions(view: tuple[float, float]) -> Array:
    """(3, 3) rows: to the right, upwards, towards the eye. `view` is the azimuth and the elevation in degrees."""
    a, b = np.radians(view[0] + 90.0), np.radians(view[1])
    return np.array(
        [
            [np.cos(a), np.sin(a), 0.0],
            [-np.sin(b) * np.sin(a), np.sin(b) * np.cos(a), np.cos(b)],
            [np.cos(b) * np.sin(a), -np.cos(b) * np.cos(a), np.sin(b)],
        ]
    )


def as_seen(points: Array, view: tuple[float, float]) -> Array:
    """Points of space as they are seen: to the right, upwards, towards the eye; points of the plane as they are.

    >>> as_seen(np.array([[1.0, 2.0]]), (-60.0, 20.0)).tolist()
    [[1.0, 2.0]]
    """
    return points if points.shape[-1] == 2 else points @ directions(view).T


# Frames of a `Solution` on one scale, drawn by matplotlib.


MAX_BAR_WIDTH = {2: 0.34, 3: 0.22}
"""Width of the bar of the largest force in two and three dimensions, as a fraction of the median diameter."""
LEAST_SIDES = np.array([0.25, 0.12])
"""Smallest width of a picture over its height, and smallest height over its width: room for ticks and titles."""
SPACE_MARGIN = 0.004
"""Margin for bodies in space, whose axes are not drawn: half the width of an outline."""
BALL_LAYERS = (
    (1.0, 0.0, -0.3),
    (0.93, 0.03, -0.12),
    (0.8, 0.1, 0.0),
    (0.58, 0.2, 0.16),
    (0.32, 0.3, 0.38),
    (0.12, 0.36, 0.62),
)
"""Discs that shade a ball: fraction of the radius, shift towards the light, and change of the lightness."""
ARC = 33
"""Points of the rounding of a corner."""
OUTLINE = 0.1
"""Width of the outline of a disc, as a fraction of its diameter: wider ones would hide the colours of small discs."""
SPOT_SIZE, SPOT_PLACE = 0.2, 0.62
"""Radius of the spot of a disc that turns, and its distance from the centre, as fractions of the radius."""
SPOT_SHADE, SPOT_SHINE, DARK = 0.45, 0.75, 0.45
"""Brightness of a spot on a ball in space, as a fraction of that of the ball; lightening of the spots of a dark ball;
and the largest mean of red, green and blue of a dark ball."""
LIGHT_DIRECTION = np.array([-0.6, 0.8])
"""Direction towards the light, in the plane of the picture."""
BALL_HAZE = 0.35
"""Fraction by which the furthest ball fades into the background."""
BAR_HAZE = 0.85
"""Fraction by which the furthest bar of a force fades into the background."""
GLASS_LAYERS = (0.0, 0.35, 0.55, 0.7, 0.8, 0.88, 0.95)
"""Steepness from which each layer of a curved wall in space is drawn; 1 is a wall seen from the side."""
GLASS_OPACITY = 0.045
"""Opacity of each layer of a curved wall."""
LEAST_PRESENT = 0.25
"""Smallest share of the bodies, relative to the largest one, that is present in a picture of several frames."""
MOST_CANDIDATES = 400
"""Largest number of frames among which those of a picture are chosen."""
TRIAD_LENGTH = 0.05
"""Length of the arrows that show the axes of space, as a fraction of the larger side of the picture."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A scene, and the scale on which some of its frames are drawn."""

    scene: Scene
    colour: Quantity | Array
    view: tuple[float, float]
    box: View
    """Box of the bodies and the walls of all frames."""
    limits: View
    """Lower left and upper right corner of the picture."""
    key: ScalarMappable
    strongest: Array
    """(m,) the largest force of each frame; the maximum has the widest bar."""

    @classmethod
    def of(cls, sol: Solution, numbers: Sequence[int], colour: str | ArrayLike, view: tuple[float, float]) -> Picture:
        """Choose a scale that fits the frames with these numbers; they are read one after the other and not kept."""
        scene, seen = Scene(sol), View.empty(2)
        box, colours = View.empty(scene.d), _colours(scene, colour)
        low = colours.low if isinstance(colours, Quantity) and colours.low is not None else np.inf
        high, strongest, times = -np.inf, list[float](), list[float]()
        for frame in scene.frames(numbers):
            values = _values(frame, colours)
            known = values[np.isfinite(values)]
            low, high = min(low, float(known.min(initial=np.inf))), max(high, float(known.max(initial=-np.inf)))
            strongest.append(float(np.abs(frame.bars.force).max(initial=0.0)))
            other, r = scene.view(frame), frame.radii[:, None]
            box = box.holding(np.stack([other.lower, other.upper]))
            flat = as_seen(frame.x, view)[:, :2]
            rods = as_seen(scene.rods(frame).reshape(-1, scene.d), view)[:, :2]
            seen = seen.holding(flat - r).holding(flat + r).holding(rods)
            times.append(frame.t)
        if not low < high:
            low, high = (low, low + 1.0) if np.isfinite(low) else (0.0, 1.0)
        sides = box.upper - box.lower
        if scene.d == 2 and np.isfinite(sides).all():
            short = np.maximum(LEAST_SIDES * sides[::-1] - sides, 0.0) / 2.0
            box = View(box.lower - short, box.upper + short)
        wider = box.wider(MARGIN)
        if scene.d == 2:
            limits = View(*wider)
        else:
            for t in times:
                seen = seen.holding(as_seen(line_segments(scene.walls(t, wider), 3).reshape(-1, 3), view)[:, :2])
            limits = View(*seen.wider(SPACE_MARGIN))
        categories = colours.categories(scene) if isinstance(colours, Quantity) else ()
        # One contact can press a hundred times harder than most: a linear scale would show all others in one colour.
        steep = isinstance(colours, Quantity) and colours.steep
        norm = PowerNorm(0.5, low, high) if steep else Normalize(low, high)
        key = _of_categories(len(categories)) if categories else ScalarMappable(norm, BODY_COLOURS)
        return cls(scene, colours, view, box, limits, key, np.array(strongest))

    def bar(self, figure: Figure | SubFigure, axes: Axes | list[Axes]) -> Colorbar:
        """Add the colour bar, with the label and the unit of the quantity, and the names of groups."""
        if not isinstance(self.colour, Quantity):
            return figure.colorbar(self.key, ax=axes, shrink=0.8)
        bar = figure.colorbar(self.key, ax=axes, label=plain(self.colour.title(self.scene)), shrink=0.8)
        categories = self.colour.categories(self.scene)
        if categories:
            bar.set_ticks(list(range(len(categories))), labels=[plain(name) for name in categories])
        return bar

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        width, height = self.limits.upper - self.limits.lower
        return float(width), float(height)

    def onto(self, ax: Axes, frame: Frame, contacts: bool) -> None:
        """Draw a frame."""
        values = _values(frame, self.colour)
        if self.scene.bodies == 1:
            ax.plot(*self.flat(self.scene.path)[:, :2].T, color="0.55", linewidth=0.8, zorder=1.5)
        if self.scene.d == 2:
            self._plane(ax, frame, values)
        else:
            self._space(ax, frame, values)
        rods = list(self.flat(self.scene.rods(frame))[..., :2])
        ax.add_collection(LineCollection(rods, colors=LIGHT.wall, linewidths=1.4, zorder=1.8))
        self.walls(ax, frame.t, self.box.wider(MARGIN))
        if contacts:
            self._bars(ax, frame)
        self.settle(ax)
        ax.set_title(plain(with_time(f"t = {frame.t:.4g}", self.scene.facts.units)))

    def walls(self, ax: Axes, t: float, box: View) -> None:
        """Draw the walls at time t inside a box: lines, and curved walls in space as glass."""
        walls = self.scene.walls(t, box)
        if self.scene.d == 2:
            solid = [wall.points for wall in walls if wall.kind == SOLID]
            ax.add_collection(PolyCollection(solid, facecolor="0.82", edgecolor="0.25", linewidth=1.0, zorder=1))
            for kind, style in ((WALL, "solid"), (CELL, "dashed")):
                lines = [wall.points for wall in walls if wall.kind == kind]
                ax.add_collection(LineCollection(lines, colors=LIGHT.wall, linewidths=1.4, linestyles=style, zorder=4))
            return
        middle = float(self.flat(self.box.centre[None])[0, 2])
        pieces = self.flat(line_segments([wall for wall in walls if wall.kind != WIRE], 3))
        for behind, alpha, zorder in ((True, 0.35, 1), (False, 0.55, 4)):
            lines = [piece[:, :2] for piece in pieces if (piece[:, 2].mean() < middle) == behind]
            ax.add_collection(LineCollection(lines, colors=LIGHT.wall, linewidths=0.8, alpha=alpha, zorder=zorder))
        for surface in surfaces(self.scene.shapes(t)):
            self._glass(ax, surface)

    def _glass(self, ax: Axes, surface: Revolved) -> None:
        """Draw a surface, which is more opaque where it is seen from the side, with its silhouette."""
        corners, normals = patches(surface)
        seen = self.flat(corners)[..., :2]
        ahead, behind = seen[:, :, 2] - seen[:, :, 0], seen[:, :, 3] - seen[:, :, 1]
        front = ahead[..., 0] * behind[..., 1] - ahead[..., 1] * behind[..., 0] > 0.0
        steep = 1.0 - np.abs(normals @ directions(self.view)[2])
        for side, zorder in ((~front, 1), (front, 4)):
            for least in GLASS_LAYERS:  # each layer is one path, so that no seams are visible
                quads = seen[side & (steep >= least)]
                if len(quads):
                    path = Path.make_compound_path_from_polys(quads)
                    layer = PathPatch(path, facecolor=LIGHT.glass, edgecolor="none", alpha=GLASS_OPACITY, zorder=zorder)
                    ax.add_patch(layer)
        along = front != np.roll(front, -1, axis=1)
        around = np.concatenate([np.ones_like(front[:1]), front[1:] != front[:-1]])
        last = np.ones_like(front[:1])
        edges = [seen[:, :, 1:3][along], seen[:, :, :2][around], seen[-1:, :, 2:][last]]
        ax.add_collection(
            LineCollection(list(np.concatenate(edges)), colors=LIGHT.glass, linewidths=1.2, capstyle="round", zorder=4)
        )

    def settle(self, ax: Axes) -> None:
        """Set the aspect, the limits and the labels of the axes."""
        low, high = self.limits
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
        for spine in ax.spines.values():
            spine.set_color("0.8")
        if self.scene.d == 3:
            ax.set_axis_off()
            self._triad(ax)
            return
        unit = plain(with_unit("", self.scene.facts.units, LENGTH))
        ax.set_xlabel(f"$x${unit}")
        if self.scene.dimension == 1:
            ax.set_yticks([])
        else:
            ax.set_ylabel(f"$y${unit}")

    def flat(self, points: Array) -> Array:
        """Points of space as they are seen: to the right, upwards, towards the eye; points of the plane as they are."""
        return as_seen(points, self.view)

    def _plane(self, ax: Axes, frame: Frame, values: Array) -> None:
        made_of = self.scene.facts.parts
        if made_of is not None and made_of.core is not None:
            first = np.flatnonzero(np.diff(made_of.core, prepend=-1))
            outlines = rounded(frame.x, self.scene.radii(frame.k), made_of.core)
            style: dict[str, Any] = {"norm": self.key.norm, "cmap": self.key.cmap, "edgecolor": "0.35", "zorder": 2}
            colours = np.ma.masked_invalid(values[first])
            ax.add_collection(PolyCollection(outlines, array=colours, linewidth=0.5, **style))
            return
        rows, images = self.scene.images(frame)
        scale = 72.0 / ax.figure.dpi * float((np.asarray(ax.bbox.size) / self.size).min())  # points, before the layout
        outline = float(np.clip(OUTLINE * scale * 2.0 * np.median(frame.radii), 0.1, 0.7)) if len(frame.radii) else 0.0
        for x, who, alpha in ((frame.x, np.arange(len(frame.x)), 1.0), (images, rows, 0.4)):
            across = 2.0 * frame.radii[who]
            coloured: dict[str, Any] = {"norm": self.key.norm, "cmap": self.key.cmap, "alpha": alpha}
            discs = draw_discs(ax, x, across, zorder=2, array=np.ma.masked_invalid(values[who]), **coloured)
            discs.set(edgecolor="0.35", linewidth=outline)
            if len(self.scene.clumps):  # cover the outlines of discs inside the discs of their clumps
                some = np.isin(frame.number[who], self.scene.clumps)
                shown = np.ma.masked_invalid(values[who][some])
                draw_discs(ax, x[some], across[some], zorder=2.1, linewidth=0.0, array=shown, **coloured)
            self._spots(ax, frame, x, who, alpha)

    def _spots(self, ax: Axes, frame: Frame, x: Array, who: Integers, alpha: float) -> None:
        """Draw a spot on each disc that turns and is not part of a clump."""
        if frame.axes is None:
            return
        alone = ~np.isin(frame.number[who], self.scene.clumps)
        r = frame.radii[who][alone]
        places = x[alone] + SPOT_PLACE * r[:, None] * frame.axes[who][alone, :, 0]
        width = float(np.clip(12.0 / np.sqrt(max(len(frame.x), 1)), 0.1, 1.0))
        style = {"facecolors": "white", "edgecolors": "0.15", "linewidth": width}
        draw_discs(ax, places, 2.0 * SPOT_SIZE * r, zorder=2.2, alpha=alpha, **style)

    def _space(self, ax: Axes, frame: Frame, values: Array) -> None:
        if self.scene.facts.bodies.has_cores:
            raise InvalidValue("shapes in space cannot be drawn yet: use jo.io.export(sol, 'run.csv') for their places")
        flat = self.flat(frame.x)
        order = np.argsort(flat[:, 2])
        base = self.key.to_rgba(np.ma.masked_invalid(values[order]))[:, :3]
        base = base + BALL_HAZE * _far(flat[order, 2])[:, None] * (1.0 - base)
        r = frame.radii[order]
        sizes, places, colours = [], [], []
        for part, towards, shine in BALL_LAYERS:
            sizes.append(2 * part * r)
            places.append(flat[order, :2] + towards * r[:, None] * LIGHT_DIRECTION)
            colours.append(base + shine * (1.0 - base) if shine > 0 else base * (1.0 + shine))
        heights, angles = list(sizes), [0.0 * r for _ in sizes]
        if frame.axes is not None:
            alone, dark = ~np.isin(frame.number[order], self.scene.clumps), base.mean(axis=1, keepdims=True) <= DARK
            seen = np.einsum("ij,njk->nki", directions(self.view), frame.axes[order])
            for spot in np.concatenate([seen, -seen], axis=1).transpose(1, 0, 2):
                there = np.where(alone & (spot[:, 2] > 0.0), 2.0 * SPOT_SIZE * r, 0.0)
                sizes.append(there * spot[:, 2])
                heights.append(there)
                angles.append(np.degrees(np.arctan2(spot[:, 1], spot[:, 0])))
                places.append(flat[order, :2] + np.sqrt(1.0 - SPOT_SIZE**2) * r[:, None] * spot[:, :2])
                colours.append(np.where(dark, base + SPOT_SHINE * (1.0 - base), SPOT_SHADE * base))
        across, upright, offsets, faces = (np.stack(each, axis=1) for each in (sizes, heights, places, colours))
        balls = EllipseCollection(
            across.ravel(), upright.ravel(), np.stack(angles, axis=1).ravel(), units="xy", linewidths=0.0, zorder=2,
            facecolors=faces.reshape(-1, 3).clip(0, 1), offsets=offsets.reshape(-1, 2), offset_transform=ax.transData,
        )  # fmt: skip
        ax.add_collection(balls)

    def _bars(self, ax: Axes, frame: Frame) -> None:
        bars, strongest = frame.bars, float(self.strongest.max(initial=0.0))
        if not len(bars.force) or strongest == 0.0:
            return
        # a bar across the end of a periodic cell is drawn at both of its bodies
        split, shift = self.scene.split(frame)
        start = self.flat(np.concatenate([bars.start, bars.end[split] + shift]))
        end = self.flat(np.concatenate([bars.end, bars.start[split] + shift]))
        force = np.concatenate([bars.force, bars.force[split]])
        part = np.sqrt(np.minimum(np.abs(force) / strongest, 1.0))
        bodies = self.scene.facts.bodies
        size = bodies.parts.length if bodies.parts is not None and bodies.has_cores else float(np.median(frame.radii))
        width = MAX_BAR_WIDTH[self.scene.d] * 2.0 * size * part
        along = (end - start)[:, :2]
        length = np.linalg.norm(along, axis=1, keepdims=True)
        aside = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.where(length > 0, length, 1.0) * width[:, None] / 2.0
        corners = [start[:, :2] + aside, start[:, :2] - aside, end[:, :2] - aside, end[:, :2] + aside]
        colours = np.where(force[:, None] >= 0.0, to_rgb(PUSH), to_rgb(PULL))
        order = np.arange(len(force))
        if self.scene.d == 3:
            middle = (start + end)[:, 2]
            order, colours = np.argsort(middle), colours + BAR_HAZE * _far(middle)[:, None] * (1.0 - colours)
        quads = np.stack(corners, axis=1)[order]
        ax.add_collection(PolyCollection(list(quads), facecolors=colours[order].tolist(), zorder=3))

    def _triad(self, ax: Axes) -> None:
        """Draw the directions of x, y and z."""
        length = TRIAD_LENGTH * max(self.size)
        low, _ = self.limits
        corner = np.array([low[0] + 1.2 * length, low[1] + 0.2 * length])
        for name, axis in zip("xyz", directions(self.view)[:2].T, strict=True):
            ax.plot(*np.stack([corner, corner + length * axis]).T, color="0.45", linewidth=1.0)
            right, up = corner + 1.35 * length * axis
            ax.text(right, up, name, color="0.3", ha="center", va="center", fontsize="small")


def rounded(x: Array, radii: Array, core: Integers) -> list[Array]:
    """The outlines (k, 2) of convex cores in the plane, by their corners x (b, 2), counter-clockwise, and roundings.

    >>> square = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    >>> outline, = rounded(square, np.full(4, 0.5), np.zeros(4, int))
    >>> outline.max(axis=0).tolist(), outline.min(axis=0).tolist()
    ([1.5, 1.5], [-0.5, -0.5])
    """
    number = np.arange(len(x))
    first = np.searchsorted(core, core)
    last = np.searchsorted(core, core, side="right") - 1
    after, before = x[np.where(number == last, first, number + 1)], x[np.where(number == first, last, number - 1)]
    (ax, ay), (bx, by) = (after - x).T, (x - before).T
    angle = np.arctan2(-bx, by)  # of the normal of the edge before a corner
    turn = np.mod(np.arctan2(-ax, ay) - angle, 2.0 * np.pi)
    turn = np.where(first == last, 2.0 * np.pi, turn)
    angles = angle[:, None] + turn[:, None] * np.linspace(0.0, 1.0, ARC)
    points = x[:, None] + radii[:, None, None] * np.stack([np.cos(angles), np.sin(angles)], axis=2)
    return [part.reshape(-1, 2) for part in np.split(points, np.flatnonzero(np.diff(core)) + 1)]


def draw_discs(ax: Axes, x: Array, across: Array, **style: Any) -> EllipseCollection:
    """Draw discs to scale, at x (n, 2) and with these diameters (n,)."""
    place: dict[str, Any] = {"units": "xy", "offsets": x, "offset_transform": ax.transData}
    discs = EllipseCollection(across, across, 0.0 * across, **place, **style)
    ax.add_collection(discs)
    return discs


def _far(depth: Array) -> Array:
    """0 for the point nearest to the eye, 1 for the furthest."""
    if len(depth) == 0 or np.ptp(depth) == 0.0:
        return 0.0 * depth
    return np.asarray((depth.max() - depth) / np.ptp(depth))


def _colours(scene: Scene, colour: str | ArrayLike) -> Quantity | Array:
    if isinstance(colour, str):
        return chosen(scene, colour)
    given = np.asarray(colour, dtype=float)
    if given.shape != (scene.bodies,):
        raise InvalidValue(f"colour must have one number per body, shape ({scene.bodies},), not {given.shape}")
    return given


def _values(frame: Frame, colour: Quantity | Array) -> Array:
    """The numbers by which the bodies of a frame are coloured."""
    return colour.of(frame) if isinstance(colour, Quantity) else np.asarray(colour[frame.body])


def _of_categories(count: int) -> ScalarMappable:
    """Colours for the values 0, 1, ... count - 1."""
    colours: Colormap = ListedColormap([GROUPS[k % len(GROUPS)] for k in range(count)])
    bounds = BoundaryNorm(np.arange(count + 1) - 0.5, count)
    return ScalarMappable(bounds, colours.with_extremes(bad=UNKNOWN))


@plot
def draw(
    sol: Shown,
    k: int = -1,
    *,
    ax: Axes | None = None,
    colour: str | ArrayLike = "speed",
    contacts: bool = True,
    view: tuple[Finite, Finite] = (AZIMUTH, ELEVATION),
) -> Axes:
    """Draw one frame of a solution: the bodies to scale, the forces between them, and the walls.

    Parameters
    ----------
    ax : matplotlib Axes, optional
        Where to draw: flat Axes, also for bodies in space. None: a new figure, with a colour bar.
    colour : str or array_like, shape (n,), default "speed"
        The quantity by which bodies are coloured: a name in `jostle.viz.QUANTITIES`, such as "speed", "force",
        "pressure" (the forces on a body divided by its surface) or "group"; or one number per body.
    contacts : bool, default True
        Whether contact forces are drawn: bars from centre to centre; with friction along the whole force, through the
        point of contact, so that they miss the centres.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import jostle as jo
    >>> heap = jo.models.spheres(np.full(12, 0.5), box=([0, 0], [4, np.inf]))
    >>> ax = draw(jo.solve(heap, jo.Maury(), t=1.0, h=0.01, every=0.1), k=3)
    >>> ax.get_title(), ax.get_aspect(), len(ax.collections[0].get_offsets())
    ('t = 0.3', 1.0, 12)
    >>> plt.close(ax.figure)
    """
    refuse_space(ax)
    picture = Picture.of(solution(sol), [k], colour, view)
    return painted(picture, ax, lambda ax: picture.onto(ax, picture.scene.frame(k), contacts))


@plot
def strip(
    sol: Shown,
    moments: int | Sequence[float] = 3,
    *,
    colour: str | ArrayLike = "speed",
    contacts: bool = True,
    view: tuple[Finite, Finite] = (AZIMUTH, ELEVATION),
) -> Figure:
    """Draw several frames of a solution side by side, on one scale.

    Parameters
    ----------
    moments : int or sequence of float, default 3
        Number of frames, or the times of the frames. A number of frames is spread evenly over time and motion, and
        the last one is before most bodies have left.
    colour : str or array_like, shape (n,), default "speed"
        The quantity by which bodies are coloured, as for `draw`.
    contacts : bool, default True
        Whether contact forces are drawn: bars from centre to centre; with friction along the whole force, through the
        point of contact, so that they miss the centres.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import jostle as jo
    >>> figure = strip(jo.solve(jo.models.rack(), jo.Maury(), t=2.0, h=0.1), [0.0, 0.5, 2.0])
    >>> [ax.get_title() for ax in figure.axes[:-1]]
    ['t = 0', 't = 0.5', 't = 2']
    >>> plt.close(figure)
    """
    sol = solution(sol)
    frames = telling_frames(sol, moments)
    picture = Picture.of(sol, frames, colour, view)
    return side_by_side(picture, frames, lambda ax, k: picture.onto(ax, picture.scene.frame(k), contacts))


def refuse_space(ax: Axes | None) -> None:
    """Refuse Axes with three dimensions, which draw neither discs to scale nor spheres in front of each other."""
    if ax is not None and ax.name == "3d":
        raise InvalidValue(
            "ax must be flat Axes, such as plt.subplots() returns, not Axes with projection='3d': bodies in space are "
            "drawn as they are seen from the direction view=(azimuth, elevation)"
        )


def telling_frames(sol: Solution, moments: int | Sequence[float], present: Array | None = None) -> list[int]:
    """The numbers of the frames to draw: those nearest to given times, or a number of them that show what happens.

    They are spread evenly over time and motion, and end when most bodies have left; `present` has the share of bodies
    that are present at each saved time.

    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[[0.0, 9.0]], force=[0.0, -2.0], within=jo.HalfSpace([0.0, 1.0]))
    >>> sol = jo.solve(ball, jo.Maury(), t=9.0, h=0.1)
    >>> [round(float(sol.t[k]), 1) for k in telling_frames(sol, 3)]
    [0.0, 2.5, 9.0]
    """
    if not isinstance(moments, int) or moments < 1:
        return frames_at(sol.t, moments)
    candidates = np.unique(np.linspace(0, len(sol.t) - 1, MOST_CANDIDATES).round().astype(int))
    if present is None:
        shares = np.array([np.isfinite(np.asarray(sol.q[k])).mean() for k in candidates])
    else:
        shares = present[candidates]
    candidates = candidates[: np.flatnonzero(shares >= LEAST_PRESENT * shares.max())[-1] + 1]
    t = np.asarray(sol.t)[candidates]
    speed = np.array([np.linalg.norm(np.nan_to_num(np.asarray(sol.u[k]))) for k in candidates])
    parts = [np.diff(t), 0.5 * (speed[1:] + speed[:-1]) * np.diff(t)]
    way = np.concatenate([[0.0], np.cumsum(sum(part / part.sum() for part in parts if part.sum() > 0.0))])
    if moments == 1 or len(candidates) < moments:
        return [int(k) for k in (candidates[-1:] if moments == 1 else candidates)]
    nearest = [int(np.abs(way - each).argmin()) for each in np.linspace(0.0, way[-1], moments)]
    return [int(k) for k in np.unique(candidates[nearest])]
