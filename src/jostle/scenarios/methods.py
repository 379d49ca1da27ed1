"""How a scenario is solved: the tables [scheme] and [solver], made from the options that the classes declare.

The keys of such a table are the fields of the class. A class of a plug-in needs nothing else: the first line of its
docstring describes it, ``field(metadata={"description": ...})`` describes an option, and its ``__post_init__`` checks
the values.
"""

from __future__ import annotations

import dataclasses
import math
from functools import cache
from typing import Any, ClassVar, Literal, cast

from pydantic import Field, create_model

from jostle.errors import InvalidValue
from jostle.scenarios.fields import (
    CountOrNone,
    Iterations,
    NotNegative,
    NotPositive,
    Number,
    Positive,
    ProperPart,
    Samples,
    Switch,
    Table,
    Text,
    Tolerance,
    Whole,
)

DEFAULT_SOLVER = "automatic"
"""The solver of a file that does not name one."""
DESCRIPTIONS = {
    "maury": "Motion without rebound (e = 0); bodies never overlap.",
    "gluey": "Like maury, but contacts stick until the impulse that pressed them is paid back.",
    "paoli": "Motion with restitution, by positions; for few bodies.",
    "moreau_jean": "Motion with restitution, by velocities; for many bodies.",
    "venel": "First-order motion, such as crowds; bodies never overlap.",
    "catching_up": "First-order motion, such as labyrinths; projects on the set itself.",
    "automatic": "Chooses an algorithm by the size of the problem and by its progress. The default.",
    "active_set": "Active-set method, for up to about a hundred contacts.",
    "interior_point": "Interior-point method, for jammed discs and tight tolerances.",
    "gauss_seidel": "Accelerated Gauss-Seidel sweeps, for spheres and loose tolerances.",
    "budget": "Gauss-Seidel sweeps, a fixed number of them; the overlap that remains is reported.",
}
"""What the schemes and solvers of jostle are for."""
OPTIONS: dict[str, tuple[Any, str]] = {
    "samples": (Samples, "Number of Gauss points over which a force that changes in time is averaged."),
    "weakest": (NotPositive, "Minus the largest impulse (N s) that a contact remembers; -inf, the default: all of it."),
    "z": (Number, "Weight of the force in the first step: 0.5 is second order, 0 leaves the force out."),
    "implicit": (Switch, "Evaluate the velocity in the force at the new time (e = 0 only)."),
    "tol": (Tolerance, "Largest overlap, relative to the smallest radius; 1e-6 by default for grains."),
    "max_iterations": (Iterations, "Largest number of iterations in one step."),
    "overlap": (ProperPart, "A step ends when no overlap exceeds this part of the smallest radius."),
}
"""The options of the classes of jostle: what a file may say, and what they do."""
TYPES = {
    "float": Number, "int": Whole, "bool": Switch, "str": Text,
    "Finite": Number, "Positive": Positive, "NotNegative": NotNegative, "Count": Iterations, "Natural": CountOrNone,
}  # fmt: skip
"""What a file may say for an option of a plug-in, by the annotation of its field."""


class Method(Table):
    """A scheme or a solver with its options."""

    makes: ClassVar[type[Any]]
    """The class that the table describes."""
    kind: str

    def options(self) -> dict[str, Any]:
        """The options that the file sets."""
        return {name: getattr(self, name) for name in self.model_fields_set if name != "kind"}


@cache
def table_of(kind: str, makes: type[Any]) -> type[Method]:
    """The table of a scheme or a solver.

    >>> import jostle as jo
    >>> sorted(table_of("maury", jo.Maury).model_fields)
    ['kind', 'samples']
    """
    summary = DESCRIPTIONS.get(kind) or (makes.__doc__ or makes.__name__).strip().splitlines()[0]
    default = kind if kind == DEFAULT_SOLVER else ...
    fields: dict[str, Any] = {"kind": (Literal[kind], Field(default, description=summary))}
    for each in dataclasses.fields(makes):
        if not each.init or each.name == "solver":
            continue
        allowed, description = _allowed(makes, each)
        if allowed is not None:
            fields[each.name] = (allowed, Field(_default(each), description=description))
        elif each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING:
            raise InvalidValue(
                f"{makes.__name__} cannot be used in scenario files: its option {each.name!r} has no default, and "
                f"its type is none of {', '.join(TYPES)}"
            )
    table = cast("type[Method]", create_model(f"{makes.__name__}Table", __base__=Method, __doc__=summary, **fields))
    table.makes = makes
    return table


def _allowed(makes: type[Any], field: dataclasses.Field[Any]) -> tuple[Any, str]:
    """What a file may say for an option, or None, and what the option does."""
    first = next(each for each in reversed(makes.__mro__) if field.name in vars(each).get("__annotations__", {}))
    if first.__module__.startswith("jostle.") and field.name in OPTIONS:
        return OPTIONS[field.name]
    annotation = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))
    return TYPES.get(annotation.removesuffix(" | None")), field.metadata.get("description", "")


def _default(field: dataclasses.Field[Any]) -> Any:
    """The default, as far as JSON can say it."""
    default = field.default
    known = isinstance(default, bool | int | str) or (isinstance(default, float) and math.isfinite(default))
    return default if known else None
