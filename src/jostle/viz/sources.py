"""What to show, a solution or a density, from memory or a file; units; and checks of the files to write."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jostle._tools.arrays import Array
from jostle._tools.installing import missing
from jostle.errors import InvalidValue
from jostle.events.solution import EventSolution
from jostle.io.images import Images, are_images, read_images
from jostle.io.reading import read, source_of
from jostle.macro.motion.result import Evolution
from jostle.result.facts import SI, Units
from jostle.result.solution import Solution

Shown = Solution | EventSolution | str | os.PathLike[str]
"""A solution, or the path of a trajectory file."""
EVENT_FRAMES = 401
"""Number of frames, evenly spaced in time, of a solution of `solve_by_events`."""


def solution(sol: Shown) -> Solution:
    """The solution itself, that of `solve_by_events` at evenly spaced times, or the solution in the file.

    >>> solution(7)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    jostle.errors.InvalidValue: sol must be a Solution or the name of a trajectory file, not 7
    """
    if isinstance(sol, Solution):
        return sol
    if isinstance(sol, EventSolution):
        return sol.sampled(np.linspace(sol.start, sol.end, EVENT_FRAMES))
    if not isinstance(sol, str | os.PathLike):
        raise InvalidValue(f"sol must be a Solution or the name of a trajectory file, not {sol!r}")
    return read(sol)


def file_of(run: Solution | Images) -> Path | None:
    """The path of the file from which a solution or a density was read; None if it is in memory."""
    if isinstance(run, Images):
        return run.path
    source = source_of(run)
    return None if source is None else source.path


def target_for(path: str | os.PathLike[str], what: str, suffixes: Sequence[str], source: Path | None) -> Path:
    """The path to write `what` to, which must have one of these suffixes and not be the trajectory itself.

    >>> target_for("run.html", "a page", [".html", ".htm"], None).name
    'run.html'
    >>> target_for("run.vtkhdf", "a page", [".html", ".htm"], None)
    Traceback (most recent call last):
    jostle.errors.InvalidValue: the name of a page must end in .html or .htm, not be 'run.vtkhdf'
    """
    found = Path(path)
    if found.suffix.lower() not in suffixes:
        allowed = " or ".join(filter(None, [", ".join(suffixes[:-1]), suffixes[-1]]))
        raise InvalidValue(f"the name of {what} must end in {allowed}, not be {found.name!r}")
    if source is not None and os.path.exists(found) and os.path.exists(source) and os.path.samefile(found, source):
        raise InvalidValue(f"{found} is the trajectory itself, which {what} would replace: choose another name")
    return found


def need_matplotlib(what: str, extra: str = "plot") -> None:
    """Raise `MissingPackage` if matplotlib is not installed, or does not work.

    >>> need_matplotlib("pictures")
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise missing(f"{what} need matplotlib ({error})", extra) from None


# Units of quantities in pictures, from the names of the units of length, time and mass in a trajectory.


Unit = tuple[int, int, int]
"""The exponents of length, time and mass."""
NO_UNIT, LENGTH, TIME, MASS = (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)
"""Units as the exponents of length, time and mass."""
AREA, VELOCITY, FORCE, IMPULSE, ENERGY = (2, 0, 0), (1, -1, 0), (1, -2, 1), (1, -1, 1), (2, -2, 1)
"""Derived units as the exponents of length, time and mass."""
NAMED_UNITS = {FORCE: "N", (0, -2, 1): "N/m", (-1, -2, 1): "Pa", IMPULSE: "N s", ENERGY: "J"}
"""SI units with a name of their own."""
SUPERSCRIPTS = {2: "²", 3: "³"}
"""Exponents as superscripts."""


def unit_text(units: Units, unit: Unit) -> str:
    """The name of a unit; empty for a plain number, and if a unit that it needs is unknown."""
    names = [units.length, units.time, units.mass]
    if any(power and not name for name, power in zip(names, unit, strict=True)):
        return ""
    if units == SI and unit in NAMED_UNITS:
        return NAMED_UNITS[unit]
    above, below = (
        [f"{name}{SUPERSCRIPTS.get(abs(k), '')}" for name, k in zip(names, unit, strict=True) if sign * k > 0]
        for sign in (1, -1)
    )
    return " ".join(above or ["1"] * bool(below)) + "".join(f"/{name}" for name in below)


def with_unit(label: str, units: Units, unit: Unit) -> str:
    """A label with its unit in parentheses.

    >>> with_unit("speed", SI, VELOCITY), with_unit("speed", Units(), VELOCITY)
    ('speed (m/s)', 'speed')
    """
    words = unit_text(units, unit)
    return f"{label} ({words})" if words else label


def with_time(text: str, units: Units) -> str:
    """A text about a time, with the unit of time.

    >>> with_time("t = 0.5", SI)
    't = 0.5 s'
    """
    return f"{text} {units.time}" if units.time else text


def lift_times(link: Any) -> str:
    """The times of a lift in words.

    >>> from jostle.crowds import Link
    >>> lift = Link("lift", ((4, 1), (4, 2)), ((10, 1), (10, 2)), length=1.5, every=40.0, travel=8.0, doors=2.0)
    >>> lift_times(lift)
    'every 40 s, travel 8 s, doors 2 s'
    """
    times = [("every", link.every), ("travel", link.travel), ("doors", link.doors)]
    return ", ".join(f"{name} {time:g} s" for name, time in times if time)


# The fields of a moving density, from a run or from a file, and the number by which each cell is coloured.


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


def run_of(shown: Shown | ShownDensity) -> Solution | Images:
    """The solution or the fields of a density, from memory or from a file.

    >>> run_of(7)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    jostle.errors.InvalidValue: sol must be a Solution or the name of a trajectory file, not 7
    """
    if isinstance(shown, Evolution | Images):
        return images_of(shown)
    return read_images(shown) if isinstance(shown, str | os.PathLike) and are_images(shown) else solution(shown)


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
