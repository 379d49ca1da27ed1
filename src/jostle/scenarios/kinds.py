"""The kinds of problems in scenario files: an open list that plug-ins and scripts can add to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from jostle._tools.plugins import Registry
from jostle.errors import InvalidValue

if TYPE_CHECKING:
    from jostle.scenarios.problem import ProblemTable


def _check(name: str, item: Any) -> None:
    if not (isinstance(item, type) and hasattr(item, "model_fields") and hasattr(item, "refuses_ending")):
        raise InvalidValue(f"the kind {name!r} must be a class that inherits from ProblemTable, not {item!r}")
    if get_args(item.model_fields["kind"].annotation) != (name,):
        raise InvalidValue(f'{item.__name__} must have the field `kind: Literal["{name}"]`')


KINDS: Registry[type[ProblemTable]] = Registry(
    "jostle.scenarios",
    "kind of problem",
    {
        "grains": "jostle.scenarios.grains:Grains",
        "cradle": "jostle.scenarios.cradle_and_labyrinth:Cradle",
        "labyrinth": "jostle.scenarios.cradle_and_labyrinth:Labyrinth",
        "crowd": "jostle.scenarios.people:Crowd",
        "flow": "jostle.scenarios.densities:FlowTable",
        "crowd_density": "jostle.scenarios.densities:CrowdDensityTable",
    },
    _check,
)
"""All kinds of problems, by their names in scenario files."""
