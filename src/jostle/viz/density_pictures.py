"""Pictures of moving densities: a frame, several frames side by side, the mass over time.

Cells are to scale and coloured by density, pressure or speed. Walls and closed sides are dark, open sides are dashed,
and exits are green. Contours of the pressure are vermilion, arrows of the velocity orange.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_rgba
from matplotlib.figure import Figure

from jostle._tools.arrays import Array
from jostle._tools.colours import GREEN, ORANGE, PUSH
from jostle.errors import InvalidValue
from jostle.io.images import Images
from jostle.macro.grid import Grid
from jostle.viz.fields import arrows
from jostle.viz.figures import HEADROOM, MARGIN, frames_at, painted, side_by_side
from jostle.viz.sources import LENGTH, TIME, VACUUM, ShownDensity, images_of, unit_of, values, with_time, with_unit
from jostle.viz.style import CELL_COLOURS, axes, by_name, legend, pen, plain, plot

LABELS = {"density": r"density $\rho$", "pressure": "pressure $p$", "speed": "speed $|u|$"}
"""Quantities by which cells can be coloured, and the labels of their colour bars."""
CONTOURS = 6
"""Number of contours of the pressure, evenly spaced up to its maximum."""
WALL, EXIT, ARROW = to_rgba("0.3"), to_rgba(GREEN, 0.55), ORANGE
"""Colours of the cells of walls and of exits, and of arrows."""


@dataclass(frozen=True, eq=False)
class DensityPicture:
    """Fields, the quantity that is shown, and the colour scale that several frames share."""

    images: Images
    colour: str
    key: ScalarMappable
    most: Mapping[str, float]
    """The largest pressure and the largest speed of the frames."""

    @classmethod
    def of(cls, images: Images, numbers: Sequence[int], colour: str) -> DensityPicture:
        """Choose a scale that fits the frames with these numbers."""
        if colour not in LABELS:
            raise InvalidValue(f"colour must be one of {', '.join(LABELS)}, not {colour!r}")
        most = {
            name: max(float(np.nanmax(_values(images, name, k), initial=0.0)) for k in numbers)
            for name in ("pressure", "speed")
        }
        top = 1.0 if colour == "density" else most[colour] or 1.0
        return cls(images, colour, ScalarMappable(Normalize(0.0, top), CELL_COLOURS.with_extremes(bad="white")), most)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        width, height = self.images.upper - self.images.lower
        return float(width), float(height)

    def bar(self, figure: Any, axes: Axes | list[Axes]) -> None:
        """Add the colour bar."""
        unit = with_unit("", self.images.units, unit_of(self.images, self.colour))
        figure.colorbar(self.key, ax=axes, label=LABELS[self.colour] + plain(unit), shrink=0.8)

    def onto(self, ax: Axes, k: int, *, contours: bool = False, velocities: bool = False) -> None:
        """Draw frame k."""
        images = self.images
        (left, bottom), (right, top) = images.lower, images.upper
        place: dict[str, Any] = {"origin": "lower", "extent": (left, right, bottom, top), "interpolation": "nearest"}
        low, high = self.key.get_clim()
        ax.imshow(_values(images, self.colour, k).T, cmap=self.key.cmap, zorder=0, vmin=low, vmax=high, **place)
        for mask, colour in ((images.walls, WALL), (images.exits, EXIT)):
            if mask is not None and mask.any():
                ax.imshow(np.where(mask.T[..., None], colour, 0.0), zorder=1, **place)
        self._sides(ax)
        grid = Grid(images.lower, images.upper, images.h)
        if contours and self.most["pressure"] > 0.0 and min(grid.shape) > 1:
            levels = self.most["pressure"] * (np.arange(CONTOURS) + 0.5) / CONTOURS
            p = np.ma.array(images.fields["pressure"][k], mask=False if images.walls is None else images.walls)
            ax.contour(*grid.centres, p, levels=levels, colors=PUSH, linewidths=0.9)
        if velocities and self.most["speed"] > 0.0:
            u = grid.velocity(*np.moveaxis(images.fields["velocity"][k], -1, 0))
            there = np.asarray(images.fields["density"][k]) > VACUUM
            arrows(u, zone=there, fastest=self.most["speed"], ax=ax)
            ax.collections[-1].set_color(ARROW)
        margin, unit = MARGIN * max(self.size), plain(with_unit("", images.units, LENGTH))
        ax.set(
            xlabel=f"$x${unit}", ylabel=f"$y${unit}", aspect="equal",
            title=plain(with_time(f"t = {images.t[k]:.4g}", images.units)),
            xlim=(left - margin, right + margin), ylim=(bottom - margin, top + margin),
        )  # fmt: skip

    def _sides(self, ax: Axes) -> None:
        """Draw the sides of the grid; closed sides are walls."""
        (left, bottom), (right, top) = self.images.lower, self.images.upper
        (at_left, at_right), (at_bottom, at_top) = self.images.closed
        for closed, x, y in (
            (at_left, (left, left), (bottom, top)), (at_right, (right, right), (bottom, top)),
            (at_bottom, (left, right), (bottom, bottom)), (at_top, (left, right), (top, top)),
        ):  # fmt: skip
            if closed:
                ax.plot(x, y, color=WALL, linewidth=2.0, solid_capstyle="projecting", zorder=2)
            else:
                ax.plot(x, y, color="0.6", linewidth=0.8, linestyle=(0, (4, 3)), zorder=2)


def _values(images: Images, name: str, k: int) -> Array:
    """(nx, ny): the numbers by which the cells of frame k are coloured."""
    needed = ("density", "velocity") if name == "speed" else (name,)
    return values({field: np.asarray(images.fields[field][k]) for field in needed}, name)


@plot
def density(
    sol: ShownDensity,
    k: int = -1,
    *,
    colour: str = "density",
    contours: bool = False,
    arrows: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw one frame of a moving density, with its walls and exits.

    Parameters
    ----------
    sol : Evolution, Images, str or path
        The result of `jo.macro.solve`, its images, or the name of its file.
    colour : {"density", "pressure", "speed"}, default "density"
        The quantity by which cells are coloured.
    contours : bool, default False
        Whether lines of equal pressure are drawn.
    arrows : bool, default False
        Whether the velocity is drawn as arrows.
    ax : matplotlib Axes, optional
        Where to draw. None: a new figure, with a colour bar.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import jostle as jo
    >>> grid = jo.macro.Grid([0, 0], [4, 2], h=1 / 8, closed=True)
    >>> left, right = grid.block([0.5, 0.5], [1.5, 1.5]), grid.block([2, 0.5], [3, 1.5])
    >>> blocks = jo.macro.Flow(grid=grid, density=left | right, velocity=grid.velocity(left - right, 0))
    >>> ax = density(jo.macro.solve(blocks, jo.macro.Splitting(), t=0.5, h=0.05), contours=True)
    >>> ax.get_title(), ax.get_aspect(), ax.images[0].get_array().shape
    ('t = 0.5', 1.0, (16, 32))
    >>> plt.close(ax.figure)
    """
    images = images_of(sol)
    if not -len(images.t) <= k < len(images.t):
        raise InvalidValue(f"k must be the number of one of the {len(images.t)} frames, not {k}")
    picture = DensityPicture.of(images, [k], colour)
    return painted(picture, ax, lambda ax: picture.onto(ax, k, contours=contours, velocities=arrows))


@plot
def densities(
    sol: ShownDensity,
    moments: int | Sequence[float] = 3,
    *,
    colour: str = "density",
    contours: bool = False,
    arrows: bool = False,
) -> Figure:
    """Draw several frames of a moving density side by side, on one colour scale.

    Parameters
    ----------
    sol : Evolution, Images, str or path
        The result of `jo.macro.solve`, its images, or the name of its file.
    moments : int or sequence of float, default 3
        Number of frames from start to end, or the times of the frames.
    colour : {"density", "pressure", "speed"}, default "density"
        The quantity by which cells are coloured.
    contours : bool, default False
        Whether lines of equal pressure are drawn.
    arrows : bool, default False
        Whether the velocity is drawn as arrows.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import jostle as jo
    >>> grid = jo.macro.Grid([0, 0], [2, 1], h=1 / 8)
    >>> block = jo.macro.Flow(grid=grid, density=grid.block([0, 0], [1, 1]), velocity=grid.velocity(1.0, 0))
    >>> figure = densities(jo.macro.solve(block, jo.macro.Splitting(), t=0.5, h=0.05), [0.0, 0.5])
    >>> [ax.get_title() for ax in figure.axes[:-1]]
    ['t = 0', 't = 0.5']
    >>> plt.close(figure)
    """
    images = images_of(sol)
    numbers = frames_at(images.t, moments)
    picture = DensityPicture.of(images, numbers, colour)
    return side_by_side(picture, numbers, lambda ax, k: picture.onto(ax, k, contours=contours, velocities=arrows))


@plot
def mass_inside(runs: ShownDensity | Mapping[str, ShownDensity], *, ax: Axes | None = None) -> Axes:
    """Plot the mass of a density that has not left, over time.

    Parameters
    ----------
    runs : Evolution, Images, str or path, or a mapping of str to these
        One run, or several runs by name.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import jostle as jo
    >>> grid = jo.macro.Grid([0, 0], [2, 1], h=1 / 8)
    >>> block = jo.macro.Flow(grid=grid, density=grid.block([0, 0], [1, 1]), velocity=grid.velocity(1.0, 0))
    >>> ax = mass_inside(jo.macro.solve(block, jo.macro.Splitting(), t=3.0, h=0.1))
    >>> ax.lines[0].get_ydata()[[0, -1]].round(3).tolist()
    [1.0, 0.0]
    >>> plt.close(ax.figure)
    """
    named = {name: images_of(run) for name, run in by_name(runs, "runs").items()}
    ax = axes(ax)
    for number, (name, images) in enumerate(named.items()):
        ax.plot(images.t, images.totals["mass"], label=name, linewidth=1.4, **pen(number))
    most = max(float(images.totals["mass"].max()) for images in named.values())
    units = next(iter(named.values())).units
    ax.set(xlabel=with_unit("$t$", units, TIME), ylabel="mass inside", ylim=(0.0, HEADROOM * (most or 1.0)))
    legend(ax, list(named))
    return ax
