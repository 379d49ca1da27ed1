"""Files with floor plans: `read_plan`, `write_plan`, and the formats, to which a plug-in or a script can add.

A reader returns an `Outline`, which is not a plan yet: a scenario moves and joins several of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from jostle._tools.arguments import check_arguments, check_fields
from jostle._tools.arrays import Array
from jostle._tools.plugins import Registry
from jostle.errors import InvalidValue
from jostle.plans.plan import Plan


class Outline(NamedTuple):
    """What a file says of a floor, in metres: arguments of `Plan`.

    Parameters
    ----------
    area : polygon, array_like or sequence
        The rooms, as `Plan` takes them.
    exits : dict of str to array_like, shape (2, 2), or line
        Exits by name.
    walls : array_like, shape (k, 2, 2), default ()
        Thin walls inside the area.
    columns : array_like, shape (k, 3), default ()
        Round columns, (x, y, radius) each.
    labels : dict of str to array, shape (2,), default None
        Names of rooms, and the points where pictures show them.

    Examples
    --------
    >>> Outline([(0, 0), (4, 0), (4, 3), (0, 3)], {"east": ((4, 1), (4, 2))}).plan()
    Plan(12 m², exits 'east', 5 walls)
    """

    area: Any
    exits: Mapping[str, Any]
    walls: Array | Sequence[Array] = ()
    columns: Array | Sequence[Array] = ()
    labels: Mapping[str, Array] | None = None

    def plan(self) -> Plan:
        """Make the floor plan.

        Returns
        -------
        Plan
            The floor plan.
        """
        return Plan(self.area, exits=self.exits, walls=self.walls, columns=self.columns, labels=self.labels)


@dataclass(frozen=True, kw_only=True)
class PlanFormat:
    """A format of files with floor plans. A new one inherits from this class and defines `read`, `write` or both.

    The fields of a format are its options. Scenario files set those called ``scale``, ``walls``, ``exits`` and
    ``tolerance``, and leave the others at their defaults.

    Attributes
    ----------
    suffixes : tuple of str
        Suffixes of the names of files, in small letters with their dots.

    Examples
    --------
    >>> class Corners(PlanFormat):
    ...     suffixes = (".corners",)
    ...
    ...     def read(self, path):
    ...         corners = [tuple(map(float, line.split())) for line in Path(path).read_text().splitlines()]
    ...         return Outline(corners, {"exit": corners[:2]})
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "room.corners"
    ...     _ = path.write_text("4 1\\n4 2\\n4 3\\n0 3\\n0 0\\n4 0\\n")
    ...     read_plan(path, Corners())
    Plan(12 m², exits 'exit', 5 walls)
    """

    suffixes: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_fields(self)

    def read(self, path: str | os.PathLike[str]) -> Outline:
        """The contents of a file.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Outline
            Rooms, exits, walls, columns and labels, in metres.
        """
        raise InvalidValue(f"{type(self).__name__} writes floor plans, and does not read them")

    def write(self, plan: Plan, path: str | os.PathLike[str]) -> None:
        """Write a plan to a file.

        Parameters
        ----------
        plan : Plan
            The floor plan.
        path : str or path
            The file, which is overwritten.
        """
        raise InvalidValue(f"{type(self).__name__} reads floor plans, and does not write them")


def _check(name: str, item: Any) -> None:
    if not (isinstance(item, type) and issubclass(item, PlanFormat) and item.suffixes):
        raise InvalidValue(
            f"the plan format {name!r} must be a class that inherits from jo.crowds.PlanFormat and has suffixes, not "
            f"{item!r}"
        )


PLAN_FORMATS: Registry[type[PlanFormat]] = Registry(
    "jostle.plan_formats",
    "plan format",
    {"dxf": "jostle.plans.dxf:DXF", "picture": "jostle.plans.picture:Picture", "wkt": "jostle.plans.wkt:WKT"},
    _check,
)
"""Registry of the formats of floor plans, by name."""


def format_of(path: str | os.PathLike[str]) -> type[PlanFormat]:
    """The format of a file, by the suffix of its name.

    >>> format_of("Ground floor.DXF").__name__
    'DXF'
    """
    known = [form for _, form in PLAN_FORMATS.items()]
    for form in known:
        if Path(path).suffix.lower() in form.suffixes:
            return form
    suffixes = ", ".join(suffix for form in known for suffix in form.suffixes)
    raise InvalidValue(f"{Path(path).name}: unknown kind of drawing; the suffixes are {suffixes}")


def options_of(form: type[PlanFormat]) -> dict[str, bool]:
    """The options of a format, and whether each must be given.

    >>> options_of(format_of("floor.png"))["scale"], options_of(format_of("floor.dxf"))["scale"]
    (True, False)
    """
    return {each.name: each.default is MISSING and each.default_factory is MISSING for each in fields(form)}


def _form(path: str | os.PathLike[str], form: PlanFormat | None) -> PlanFormat:
    """The given format, or that of the suffix with its defaults."""
    if form is not None:
        return form
    found = format_of(path)
    needed = [name for name, must in options_of(found).items() if must]
    if needed:
        said = ", ".join(f"{name}=..." for name in needed)
        raise InvalidValue(f"{Path(path).name}: this format needs options; give {found.__name__}({said})")
    return found()


@check_arguments
def read_plan(path: str | os.PathLike[str], form: PlanFormat | None = None) -> Plan:
    """Read a floor plan from a file.

    Parameters
    ----------
    path : str or path
        The file.
    form : PlanFormat, optional
        The format and its options, such as ``DXF(scale=0.001)``. None: that of the suffix, with its defaults.

    Returns
    -------
    Plan
        The plan, in metres.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> text = "GEOMETRYCOLLECTION (POLYGON ((0 0, 4 0, 4 3, 0 3, 0 0)), LINESTRING (4 1, 4 2))"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "floor.wkt"
    ...     _ = path.write_text(text)
    ...     jo.crowds.read_plan(path)
    Plan(12 m², exits 'exit 0', 5 walls)
    """
    return _form(path, form).read(path).plan()


@check_arguments
def write_plan(plan: Plan, path: str | os.PathLike[str], form: PlanFormat | None = None) -> None:
    """Write a floor plan to a file.

    Parameters
    ----------
    plan : Plan
        The floor plan.
    path : str or path
        The file, which is overwritten.
    form : PlanFormat, optional
        The format and its options, such as ``Picture(scale=0.1)``. None: that of the suffix, with its defaults.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> room = jo.crowds.Room([(0, 0), (4, 0), (4, 3), (0, 3)], doors=[((4, 1), (4, 2))])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     jo.crowds.write_plan(room, Path(folder) / "room.wkt")
    ...     jo.crowds.read_plan(Path(folder) / "room.wkt").size
    12.0
    """
    _form(path, form).write(plan, path)
