"""Kinds and keys of scenario files that have been renamed: the old spelling is still read, with a warning.

kind = "building"                          kind = "crowd"
kind = "crowd" with corners, doors, n      kind = "crowd" with [[rooms]], [[exits]] and [[groups]]
[solver] kind = "exact"                    kind = "active_set"
[solver] kind = "nesterov"                 kind = "gauss_seidel"
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from jostle.scenarios.kinds import KINDS
from jostle.scenarios.source import Path
from jostle.solvers import SOLVERS

Value = TypeVar("Value")
RENAMED_SOLVERS = {"exact": "active_set", "nesterov": "gauss_seidel"}
"""Current names of renamed solvers."""
OF_GROUPS = ("n", "radius", "speed")
"""Keys of [problem] that belong to [[problem.groups]]."""
ROOM_DEFAULTS = {"radius": 0.25, "speed": 1.4}
"""Defaults of the old kind "crowd" for the people in a room."""
ROOM_INHIBITION, ROOM_OUTLET = False, 2.0
"""Defaults of the old kind "crowd": no inhibition, and people removed two metres (m) behind a door."""


class Modern(NamedTuple):
    """The tables of a scenario in the current spelling."""

    data: dict[str, Any]
    places: dict[Path, Path]
    """The old path of each key that has moved: {new path: old path}."""
    remarks: list[tuple[Path, str]]
    """The paths of old spellings, each with a warning."""

    def moved(self, found: Mapping[Path, Value]) -> dict[Path, Value]:
        """A dictionary by the paths of the file, such as that of their lines, with the new paths added."""
        more = dict(found)
        for new, old in self.places.items():
            more |= {(*new, *path[len(old) :]): value for path, value in found.items() if path[: len(old)] == old}
        return more


def modern(data: dict[str, Any], settings: Mapping[Path, str]) -> Modern:
    """The tables of a scenario in the current spelling; `settings` has the paths of keys that were changed by settings.

    >>> modern({"problem": {"kind": "building"}}, {}).data
    {'problem': {'kind': 'crowd'}}
    """
    found = Modern(dict(data), {}, [])
    _solver(found)
    problem = data.get("problem")
    if not isinstance(problem, dict) or problem.get("kind") not in ("building", "crowd"):
        return found
    found.data["problem"] = dict(problem)
    if problem["kind"] == "building" and "building" not in KINDS:  # a plug-in may have one
        found.data["problem"]["kind"] = "crowd"
        found.remarks.append((("problem", "kind"), 'kind = "building" is deprecated; write kind = "crowd"'))
    elif problem["kind"] == "crowd" and "corners" in problem and not problem.keys() & {"rooms", "exits", "groups"}:
        _room(found)
    _settings(found, settings)
    return found


def _solver(found: Modern) -> None:
    """Rename solvers."""
    solver = found.data.get("solver")
    if not isinstance(solver, dict) or not isinstance(solver.get("kind"), str):
        return
    old = solver["kind"]
    if old in RENAMED_SOLVERS and old not in SOLVERS:  # a plug-in may have one
        new = RENAMED_SOLVERS[old]
        found.data["solver"] = {**solver, "kind": new}
        found.remarks.append((("solver", "kind"), f'kind = "{old}" is deprecated; write kind = "{new}"'))


def _room(found: Modern) -> None:
    """Move corners, doors and people of a room, which were keys of [problem], into tables of their own."""
    problem = found.data["problem"]
    doors, group = problem.pop("doors", None), dict(ROOM_DEFAULTS)
    problem["rooms"] = [{"corners": problem.pop("corners")}]
    found.places["problem", "rooms", 0, "corners"] = ("problem", "corners")
    if isinstance(doors, list):
        problem["exits"] = [{"name": f"door {k}", "ends": ends} for k, ends in enumerate(doors)]
        found.places.update({("problem", "exits", k, "ends"): ("problem", "doors", k) for k in range(len(doors))})
    elif doors is not None:
        problem["exits"] = doors
    found.places["problem", "exits"] = ("problem", "doors")
    for key in OF_GROUPS:
        if key in problem:
            group[key] = problem.pop(key)
            found.places["problem", "groups", 0, key] = ("problem", key)
    problem["groups"] = [group]
    problem.setdefault("inhibition", ROOM_INHIBITION)
    problem.setdefault("outlet", ROOM_OUTLET)
    what = "corners, doors, n, radius and speed in [problem] are deprecated"
    remedy = "write [[problem.rooms]], [[problem.exits]] and [[problem.groups]]: `jostle new evacuation` shows how"
    found.remarks.append((("problem", "corners"), f"{what}; {remedy}"))


def _settings(found: Modern, settings: Mapping[Path, str]) -> None:
    """Apply settings such as problem.n=200 to the only group of a crowd."""
    problem = found.data["problem"]
    groups = problem.get("groups")
    if not (isinstance(groups, list) and len(groups) == 1 and isinstance(groups[0], dict)):
        return
    for key in OF_GROUPS:
        if key in problem and ("problem", key) in settings:
            problem["groups"] = [{**problem["groups"][0], key: problem.pop(key)}]
            found.places["problem", "groups", 0, key] = ("problem", key)
            found.remarks.append((("problem", key), f"problem.{key} is deprecated; set problem.groups.0.{key}"))
