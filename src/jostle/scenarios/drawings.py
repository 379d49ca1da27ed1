"""plan = "floor.dxf": floor plans of scenarios that are read from drawings, pictures and well-known text.

The drawings are read together with the scenario file, and the rooms, walls, columns and exits found in them replace the
key `plan`: a trajectory that stores the text of its scenario needs no drawing to be resumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, Tag, TypeAdapter, ValidationError, model_validator

from jostle._tools.arrays import Array
from jostle.errors import InvalidValue, JostleError
from jostle.plans.formats import PLAN_FORMATS, Outline, format_of, options_of
from jostle.plans.outlines import a_segment, polygons, rings
from jostle.scenarios.fields import NotNegative, Point, Positive, Table, Text, by_shape, complain, many
from jostle.scenarios.toml import ScenarioError, Source

MAX_DRAWINGS = 100
"""Largest number of drawings of a scenario."""
OPTIONS = ("scale", "walls", "exits", "tolerance")
"""Keys of drawings that are options of their formats."""


MAX_LAYERS = 1000
"""Largest number of layers of walls."""
Layers = Annotated[
    Annotated[Text, Tag("<text>")] | Annotated[tuple[Text, ...], many(1, MAX_LAYERS), Tag("<list>")],
    by_shape("<text>", "<list>"),
]


class DrawingTable(Table):
    """A floor plan from a file, relative to the folder of the scenario file."""

    file: Text = Field(description="Name of the drawing, relative to the folder of the scenario file.")
    scale: Positive | None = Field(
        None,
        description="Size of a pixel, or of a unit of the drawing (m). A DXF drawing may name its unit itself, and the "
        "unit of well-known text is 1 m by default.",
    )
    shift: Point = Field((0.0, 0.0), description="Position of its origin (m): floors are placed side by side.")
    walls: Layers = Field("WALLS", description="The layer of walls and columns in a DXF drawing, or a list of layers.")
    exits: Text = Field("EXITS", description="The layer of the exits in a DXF drawing; EXITS-name gives their names.")
    tolerance: NotNegative = Field(
        0.0, description="Distance (m) up to which oblique walls of a picture are straightened."
    )

    @model_validator(mode="after")
    def _has_the_keys_of_its_format(self) -> Self:
        try:
            own = options_of(format_of(self.file))
        except InvalidValue:
            return self  # `read` reports an unknown suffix
        complain(
            [
                ((key,), f"must be left out: it is for {_suffixes(key)} drawings only")
                for key in OPTIONS
                if key in self.model_fields_set and key not in own
            ]
        )
        return self

    def read(self, folder: FilePath) -> Outline:
        """The contents of the drawing."""
        form = format_of(self.file)
        given = {key: getattr(self, key) for key in OPTIONS if key in self.model_fields_set}
        missing = [key for key, must in options_of(form).items() if must and key not in given]
        if missing:
            raise ScenarioError(
                [f"{self.file}: a {FilePath(self.file).suffix} drawing needs {' and '.join(missing)} = ..."]
            )
        return form(**given).read(folder / self.file)


def _suffixes(key: str) -> str:
    """The suffixes of the formats that have an option."""
    return ", ".join(suffix for _, form in PLAN_FORMATS.items() if key in options_of(form) for suffix in form.suffixes)


Drawings = Annotated[
    Annotated[Text, Tag("<text>")]
    | Annotated[DrawingTable, Tag("<table>")]
    | Annotated[tuple[DrawingTable, ...], many(1, MAX_DRAWINGS), Tag("<list>")],
    by_shape("<table>", "<text>", "<list>"),
]


def with_drawings(data: dict[str, Any], folder: FilePath | None, source: Source) -> dict[str, Any]:
    """The tables of a scenario, with rooms, walls, columns and exits in place of the drawings that it names."""
    problem = data.get("problem")
    if not isinstance(problem, dict) or "plan" not in problem or problem.get("kind") != "crowd":
        return data
    place = ("problem", "plan")
    try:
        found: Any = TypeAdapter(Drawings).validate_python(problem["plan"])
    except ValidationError:
        return data  # the check of the whole scenario reports the errors
    if folder is None:
        raise source.error(place, "a drawing needs a scenario file, read by load(path); this text has no folder")
    if isinstance(found, str):
        found = DrawingTable.model_validate({"file": found})
    drawings = found if isinstance(found, tuple) else (found,)
    new = {key: value for key, value in problem.items() if key != "plan"}
    openings: dict[str, Any] = {}
    for k, drawing in enumerate(drawings):
        where = (*place, k) if isinstance(found, tuple) else place
        try:
            floor = drawing.read(folder)
            _add(new, openings, floor, np.array(drawing.shift))
        except JostleError as error:
            raise source.error(where, str(error)) from error
    used = set(_named_ends(new, openings, source))
    exits = [{"name": name, "ends": ends} for name, ends in openings.items() if name not in used]
    _append(new, "exits", exits)
    return {**data, "problem": new}


def _add(problem: dict[str, Any], openings: dict[str, Any], floor: Outline, shift: Array) -> None:
    """Add the contents of a drawing, moved by `shift`, to the tables of the problem."""
    rooms = []
    for room in polygons(floor.area):
        outline, *holes = [(ring + shift).tolist() for ring in rings(room)]
        rooms.append({"corners": outline, **({"holes": holes} if holes else {})})
    walls = (np.array(floor.walls, dtype=float).reshape(-1, 2, 2) + shift).tolist()
    columns = np.array(floor.columns, dtype=float).reshape(-1, 3)
    columns[:, :2] += shift
    labels = [{"name": name, "place": (at + shift).tolist()} for name, at in (floor.labels or {}).items()]
    for key, values in (("rooms", rooms), ("walls", walls), ("columns", columns.tolist()), ("labels", labels)):
        if values:
            _append(problem, key, values)
    for name, ends in floor.exits.items():
        if name in openings:
            raise ScenarioError([f"two drawings have an exit {name!r}: give one of them another name"])
        openings[name] = (a_segment(ends, f"exit {name!r}") + shift).tolist()


def _append(problem: dict[str, Any], key: str, values: list[Any]) -> None:
    """Add entries to a list of the problem; the check of the whole scenario reports a value that is not a list."""
    there = problem.get(key, [])
    problem[key] = [*there, *values] if isinstance(there, list) else there


def _named_ends(problem: dict[str, Any], openings: dict[str, Any], source: Source) -> Iterator[str]:
    """Replace the name of an exit at which stairs start or end by the ends of the exit, and yield the name."""
    stairs = problem.get("stairs")
    if not isinstance(stairs, list):
        return
    problem["stairs"] = tables = [dict(table) if isinstance(table, dict) else table for table in stairs]
    for k, table in enumerate(tables):
        for key in ("start", "end"):
            name = table.get(key) if isinstance(table, dict) else None
            if not isinstance(name, str):
                continue
            if name not in openings:
                known = ", ".join(f'"{one}"' for one in openings)
                raise source.error(("problem", "stairs", k, key), f"must be two points, or one of {known}")
            table[key] = openings[name]
            yield name
