"""Plans as pictures, as in cromosim: black walls, red exits, everything else is floor.

The outline runs along the edges of pixels. It is exact for horizontal and vertical walls; oblique walls are staircases
of pixels, unless a `tolerance` allows them to be straightened.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Finite, Positive
from jostle._tools.arrays import Array, Booleans, finite
from jostle.errors import InvalidValue
from jostle.plans.formats import Outline, PlanFormat
from jostle.plans.limits import MAX_PICTURE_CORNERS, MAX_PIXELS, MAX_RUNS, check, regular_file
from jostle.plans.outlines import package
from jostle.plans.plan import Plan

COLOUR = 64
"""Largest difference of each channel between a pixel and its nominal colour, of 255."""
MARGIN = 2
"""Number of pixels around the plan in a written picture."""
FORMATS = ("PNG", "BMP", "GIF", "JPEG")
"""Formats of pictures that are read; other formats could start external programs."""
WHITE, BLACK, RED = (255, 255, 255), (0, 0, 0), (255, 0, 0)


@dataclass(frozen=True, kw_only=True)
class Picture(PlanFormat):
    """Pictures (PNG, BMP, GIF, JPEG): black walls, red exits, everything else is floor.

    The plan is the floor that borders an exit; floor that reaches the edge of the picture is outside. The exits are
    the straight lines between floor and exit pixels: "exit 0", "exit 1", ... from bottom to top, and from left to
    right. The lower left corner of the plan is that of the picture.

    A picture is written with white floor, red pixels behind exits, and black elsewhere.

    Parameters
    ----------
    scale : float
        Size of a pixel (m).
    tolerance : float, default 0.0
        Largest distance (m) by which oblique walls are straightened.
    wall_colour : array_like, shape (3,), default (0, 0, 0)
        Colour of the walls: red, green and blue from 0 to 255.
    exit_colour : array_like, shape (3,), default (255, 0, 0)
        Colour of the exits.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> room = jo.crowds.Room([(0, 0), (4, 0), (4, 3), (0, 3)], doors=[((4, 1), (4, 2))])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     jo.crowds.write_plan(room, f"{folder}/room.png", jo.crowds.Picture(scale=0.1))
    ...     jo.crowds.read_plan(f"{folder}/room.png", jo.crowds.Picture(scale=0.1))
    Plan(12 m², exits 'exit 0', 5 walls)
    """

    suffixes = (".png", ".bmp", ".gif", ".jpg", ".jpeg")
    scale: Positive
    tolerance: Finite = 0.0
    wall_colour: ArrayLike = BLACK
    exit_colour: ArrayLike = RED

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.tolerance >= 0.0:
            raise InvalidValue(f"tolerance must be 0 or more, not {self.tolerance}")
        for name in ("wall_colour", "exit_colour"):
            wanted = finite(getattr(self, name), name)
            if wanted.shape not in ((3,), (4,)) or not ((wanted >= 0) & (wanted <= 255)).all():
                raise InvalidValue(
                    f"{name} must be three numbers from 0 to 255 (red, green, blue), not {getattr(self, name)!r}"
                )

    def read(self, path: str | PathLike[str]) -> Outline:
        scale, tolerance = self.scale, self.tolerance
        shapely, name = package("shapely"), regular_file(path, "a picture")
        image = _pixels_of(name)
        wall, leaving = (_coloured(image, colour) for colour in (self.wall_colour, self.exit_colour))
        if not leaving.any():
            raise InvalidValue(f"{name} has no pixel of the colour {self.exit_colour!r} of exits")
        floor = _floor(~wall & ~leaving, leaving)
        for pixels in (floor, leaving):
            check(_corners(pixels), MAX_PICTURE_CORNERS, name, "corners", "MAX_PICTURE_CORNERS")
        outline = shapely.union_all(_runs(floor, name)).boundary
        behind = shapely.union_all(_runs(leaving, name)).boundary
        lines = shapely.line_merge(shapely.intersection(behind, outline))
        ways_out = [line for line in shapely.get_parts(lines) if line.geom_type == "LineString"]
        rest = shapely.line_merge(shapely.difference(outline, shapely.union_all(ways_out)))
        straight = [shapely.simplify(line, tolerance / scale) for line in [*ways_out, *shapely.get_parts(rest)]]
        found = [scale * shapely.get_coordinates(line) for line in straight[: len(ways_out)]]
        for line in found:
            if len(line) != 2:
                raise InvalidValue(
                    f"the exit near {line[0].round(3).tolist()} is not straight: it has {len(line) - 1} edges; paint "
                    f"it along one straight edge of the floor, or give a tolerance above {scale:g}"
                )
        faces = shapely.get_parts(shapely.polygonize([shapely.union_all(straight)]))
        inside = [face for face in faces if _is_floor(face.representative_point(), floor)]
        rooms = [shapely.transform(face, lambda x: scale * x) for face in inside]
        found.sort(key=lambda line: tuple(line.mean(axis=0)[::-1]))
        return Outline(rooms, {f"exit {k}": line for k, line in enumerate(found)})

    def write(self, plan: Plan, path: str | PathLike[str]) -> None:
        shapely, scale = package("shapely"), self.scale
        low, high = np.array(plan.area.bounds).reshape(2, 2)
        columns, rows = (np.ceil(np.round((high - low) / scale, 6)).astype(int) + 2 * MARGIN).tolist()
        x = low[0] + scale * (np.arange(columns) - MARGIN + 0.5)
        y = low[1] + scale * (np.arange(rows) - MARGIN + 0.5)
        inside = shapely.contains_xy(plan.area, *np.meshgrid(x, y))
        image = np.where(inside[..., None], WHITE, BLACK).astype(np.uint8)
        for wall in plan.inner_walls:
            image[_pixels(wall, np.zeros(2), low, scale)] = BLACK
        for name, ends in plan.exits.items():
            behind = _pixels(ends, 0.5 * scale * plan.outward[name], low, scale)
            image[behind] = np.where(inside[behind][:, None], image[behind], RED)
        package("PIL.Image").fromarray(image[::-1]).save(fspath(path))


def _pixels(ends: Array, aside: Array, low: Array, scale: float) -> tuple[Any, Any]:
    """Rows and columns of the pixels along a segment, or beside it, without pixels that it only touches at its ends."""
    length = float(np.linalg.norm(ends[1] - ends[0]))
    number = max(int(np.ceil(4.0 * length / scale)), 1)
    part = (np.arange(number) + 0.5) / number
    points = ends[0] + part[:, None] * (ends[1] - ends[0]) + aside
    index = np.floor((points - low) / scale).astype(int) + MARGIN
    return index[:, 1], index[:, 0]


def _pixels_of(path: str) -> Any:
    """(rows, columns, 3) pixels of a picture from bottom to top; its size is checked before they are decoded."""
    images = package("PIL.Image")
    try:
        with images.open(path, formats=FORMATS) as picture:
            check(picture.width * picture.height, MAX_PIXELS, path, "pixels", "MAX_PIXELS")
            return np.asarray(picture.convert("RGB"))[::-1]
    except InvalidValue:
        raise
    except (OSError, ValueError, SyntaxError, TypeError, LookupError, EOFError, struct.error) as error:
        raise InvalidValue(f"{path} cannot be read as a picture ({', '.join(FORMATS)}): {error}") from None
    except images.DecompressionBombError:
        raise InvalidValue(f"{path} has more pixels than the limit MAX_PIXELS = {MAX_PIXELS}") from None


def _coloured(image: Any, colour: ArrayLike) -> Booleans:
    like = np.ones(image.shape[:2], dtype=bool)
    for channel, value in enumerate(np.asarray(colour)[:3]):
        like &= (image[..., channel] >= value - COLOUR) & (image[..., channel] <= value + COLOUR)
    return like


def _floor(free: Booleans, leaving: Booleans) -> Booleans:
    """The areas of free pixels that border an exit, without those that reach the edge if there are others."""
    from scipy.ndimage import binary_dilation, label

    areas, _ = label(free)
    bordering = set(np.unique(areas[binary_dilation(leaving) & free]).tolist())
    rim = set(np.concatenate([areas[0], areas[-1], areas[:, 0], areas[:, -1]]).tolist())
    kept = (bordering - rim) or bordering
    if not kept:
        raise InvalidValue("no exit of the picture borders a floor; paint the exits into the walls")
    return np.asarray(np.isin(areas, list(kept)))


def _corners(pixels: Booleans) -> int:
    """The number of corners of the outline of some pixels; where two touch at a corner only, it is counted twice."""
    padded = np.pad(pixels, 1)
    below, above = padded[:-1], padded[1:]
    counts = below[:, :-1].astype(np.int8) + below[:, 1:] + above[:, :-1] + above[:, 1:]
    diagonal = (counts == 2) & (below[:, :-1] == above[:, 1:])
    return int((counts % 2 == 1).sum() + 2 * diagonal.sum())


def _runs(pixels: Booleans, path: str) -> list[Any]:
    """One box for each run of pixels in a row, in units of pixels."""
    padded = np.pad(pixels, ((0, 0), (1, 1))).astype(np.int8)
    row, column = np.nonzero(np.diff(padded, axis=1))
    check(len(row) // 2, MAX_RUNS, path, "runs of pixels of one kind in its rows", "MAX_RUNS")
    return list(package("shapely").box(column[::2], row[::2], column[1::2], row[::2] + 1))


def _is_floor(point: Any, floor: Booleans) -> bool:
    row, column = int(np.floor(point.y)), int(np.floor(point.x))
    return bool(0 <= row < floor.shape[0] and 0 <= column < floor.shape[1] and floor[row, column])
