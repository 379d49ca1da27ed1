"""The fields of a moving density, from a run or from a file, and the number by which each cell is coloured."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

from jostle._tools.arrays import Array
from jostle.io.images import Images, are_images, read_images
from jostle.macro.motion.result import Evolution
from jostle.viz.sources import NO_UNIT, VELOCITY, Unit

ShownDensity = Evolution | Images | str | os.PathLike[str]
"""The run of a density, its fields, or the name of their file."""
VACUUM = 1e-3
"""Density below which a cell has no speed and no arrow in a picture."""
PRESSURES: Mapping[str, Unit] = {"Flow": (2, -2, 0), "Crowd": (2, -1, 0)}
"""The unit of a pressure whose gradient is an acceleration, and of one whose gradient is a velocity."""


def images_of(shown: ShownDensity) -> Images:
    """The fields of a run, or of a file."""
    if isinstance(shown, Evolution):
        return shown.images()
    return shown if isinstance(shown, Images) else read_images(shown)


def density_in(shown: object) -> Images | None:
    """The fields of a density; None for anything else, such as a solution or a trajectory of bodies.

    >>> print(density_in(7))
    None
    """
    if isinstance(shown, Evolution | Images):
        return images_of(shown)
    return read_images(shown) if isinstance(shown, str | os.PathLike) and are_images(shown) else None


def colours(images: Images) -> list[str]:
    """The quantities by which cells can be coloured: each scalar field, and the speed if there is a velocity.

    >>> fields = {"density": np.ones((1, 4, 3)), "pressure": np.ones((1, 4, 3)), "velocity": np.ones((1, 4, 3, 2))}
    >>> colours(Images(t=np.zeros(1), lower=np.zeros(2), h=0.5, fields=fields))
    ['density', 'speed', 'pressure']
    """
    scalars = [name for name, values in images.fields.items() if len(values.shape) == 3]
    found = sorted({*scalars, *["speed"] * ("velocity" in images.fields)})
    first = ("density", "speed", "pressure")
    return [*(name for name in first if name in found), *(name for name in found if name not in first)]


def values(fields: Mapping[str, Array], name: str) -> Array:
    """(nx, ny): the numbers by which the cells of a frame are coloured; the speed is NaN where there is no mass.

    >>> velocity = np.array([[[3.0, 4.0], [3.0, 4.0]]])
    >>> values({"density": np.array([[0.5, 0.0]]), "velocity": velocity}, "speed").tolist()
    [[5.0, nan]]
    """
    if name != "speed" or name in fields:
        return np.asarray(fields[name])
    speed = np.linalg.norm(fields["velocity"], axis=-1)
    return np.where(fields["density"] > VACUUM, speed, np.nan) if "density" in fields else np.asarray(speed)


def unit_of(images: Images, name: str) -> Unit:
    """The unit of a field; the unit of a pressure depends on the problem.

    >>> unit_of(Images(t=np.zeros(1), lower=np.zeros(2), h=0.5, fields={}, about={"problem": "Crowd"}), "pressure")
    (2, -1, 0)
    """
    if name == "pressure":
        return PRESSURES.get(images.about.get("problem", ""), NO_UNIT)
    return VELOCITY if name in ("speed", "velocity") else NO_UNIT
