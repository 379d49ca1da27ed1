"""Facts about the problem in a trajectory: numbers per body as data sets, everything else as JSON.

    jostle/problem/radii    (n,), or empty if they change
    jostle/problem/masses   (n,), or empty
    jostle/problem/groups   (n,), or empty: the position of the group of each body in the list of names
    jostle/problem/force    the entries of a constant force, or empty
    jostle/problem/text     UTF-8: dimension, period, walls, names, units, plan; whether a first-order problem has a
                            mass; for a crowd the desired speeds and, if there are any, the reaction times, one for all
                            or one per person, and the gates; rods, if their points do not move

The attribute "checksum" of jostle/problem covers all of them.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from jostle._tools.arrays import Array
from jostle.errors import BrokenFile
from jostle.io.hdf5 import data_set, inside, of_rows, rows
from jostle.plans.openings import Gate
from jostle.plans.plan import Plan
from jostle.result.facts import Facts, Groups, SavedRods, Units

PROBLEM = "jostle/problem"
"""Group of the facts about the problem."""
CHECK = "checksum"
"""Attribute of the checksum of all facts."""
COLUMNS: dict[str, DTypeLike] = {
    "radii": np.float64, "masses": np.float64, "groups": np.int32, "force": np.float64, "text": np.uint8,
}  # fmt: skip
"""Data sets of the facts about the problem, with their types."""
MAX_CHUNK_ROWS = 1024
"""Largest number of rows of a chunk."""


def write_facts(file: Any, facts: Facts) -> None:
    """Write the facts into a new file."""
    arrays = _arrays(facts)
    for name, values in arrays.items():
        chunk = (min(max(len(values), 1), MAX_CHUNK_ROWS),)
        file.create_dataset(f"{PROBLEM}/{name}", data=values, maxshape=(None,), chunks=chunk)
    file[PROBLEM].attrs[CHECK] = np.uint32(_check(arrays))


def facts_in(file: Any, shape: tuple[int, ...], order: int, walls: int) -> Facts:
    """The facts stored in a file, for a q of this shape."""
    arrays = {}
    for name, dtype in COLUMNS.items():
        data = data_set(file, f"{PROBLEM}/{name}", dtype)
        arrays[name] = rows(file, data, 0, len(data))
    if _check(arrays) != int(inside(file, PROBLEM).attrs[CHECK]):
        raise BrokenFile(f"{file.filename} is damaged: {PROBLEM} does not match its checksum")
    try:
        return _facts(arrays, shape, order, None if walls < 0 else walls)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise BrokenFile(f"{file.filename} is damaged: its facts about the problem cannot be read ({error})") from None


def _arrays(facts: Facts) -> dict[str, NDArray[Any]]:
    groups = facts.groups
    said: dict[str, Any] = {
        "dimension": facts.dimension,
        "period": None if facts.period is None else [None if np.isinf(L) else float(L) for L in facts.period],
        "wall_names": list(facts.wall_names),
        "walls_move": facts.walls_move,
        "groups": None if groups is None else list(groups.names),
        "units": asdict(facts.units),
        "plan": facts.building.stored() if isinstance(facts.building, Plan) else facts.building,
    }
    if facts.weighted:
        said["weighted"] = True
    if facts.speeds is not None and len(facts.speeds):
        said["speeds"] = _short(facts.speeds)
    if facts.reaction is not None and facts.reaction.any():
        said["reaction"] = _short(facts.reaction)
    if facts.gates:
        said["gates"] = [
            {"at": gate.at, "open": _finite(np.asarray(gate.open)), "most": gate.most} for gate in facts.gates
        ]
    if rods := [rods for rods in facts.rods if rods.at_rest]:
        said["rods"] = [
            {"pairs": one.pairs.tolist(), "points": None if one.points is None else np.asarray(one.points).tolist()}
            for one in rods
        ]
    return {
        "radii": _flat(facts.radii),
        "masses": _flat(facts.masses),
        "groups": np.zeros(0, np.int32) if groups is None else np.asarray(groups.number, dtype=np.int32),
        "force": _flat(facts.force),
        "text": np.frombuffer(json.dumps(said).encode(), dtype=np.uint8),
    }


def _short(values: Array) -> float | list[float]:
    """One number, if all are the same; or else one for each."""
    return float(values[0]) if (values == values[0]).all() else [float(value) for value in values]


def _finite(values: Array) -> list[list[float | None]]:
    """Rows of numbers as JSON has them: None for infinite ones."""
    return [[float(value) if np.isfinite(value) else None for value in row] for row in values]


def _flat(values: Array | None) -> Array:
    return np.zeros(0) if values is None else np.asarray(values, dtype=float).ravel()


def _facts(arrays: dict[str, NDArray[Any]], shape: tuple[int, ...], order: int, walls: int | None) -> Facts:
    said = json.loads(arrays["text"].tobytes().decode())
    d, period = int(said["dimension"]), said["period"]
    bodies = int(np.prod(shape)) // max(d, 1)
    names = tuple(str(name) for name in said["wall_names"])
    if period is not None:
        period = np.array([np.inf if L is None else float(L) for L in period])
    for name, count in (("radii", bodies), ("masses", bodies), ("groups", bodies), ("force", int(np.prod(shape)))):
        if len(arrays[name]) not in (0, count):
            raise ValueError(f"{len(arrays[name])} {name} of {count}")
    if (period is not None and period.shape != (d,)) or len(names) not in (0, walls):
        raise ValueError("a list of another length")
    return Facts(
        order=order,
        dimension=d,
        period=period,
        walls=walls,
        wall_names=names,
        walls_move=bool(said["walls_move"]),
        radii=arrays["radii"] if len(arrays["radii"]) else None,
        masses=arrays["masses"] if len(arrays["masses"]) else None,
        force=arrays["force"].reshape(shape) if len(arrays["force"]) else None,
        groups=_groups(arrays["groups"], said["groups"]),
        units=Units(**{name: str(said["units"][name]) for name in ("length", "time", "mass")}),
        building=_building(said["plan"]),
        weighted=bool(said.get("weighted", False)),
        speeds=_of_people("speeds", said.get("speeds"), bodies),
        reaction=_of_people("reaction", said.get("reaction"), bodies),
        gates=tuple(_gate(one) for one in said.get("gates", [])),
        rods=tuple(_rods(one, bodies, d) for one in said.get("rods", [])),
    )


def _gate(said: dict[str, Any]) -> Gate:
    times = [[-np.inf if a is None else float(a), np.inf if b is None else float(b)] for a, b in said["open"]]
    return Gate(str(said["at"]), open=times, most=None if said["most"] is None else int(said["most"]))


def _rods(said: dict[str, Any], bodies: int, dimension: int) -> SavedRods:
    pairs = np.array(said["pairs"], dtype=np.int64).reshape(-1, 2)
    points = None if said["points"] is None else np.array(said["points"], dtype=float)
    if points is not None and (points.ndim != 2 or points.shape[1] != dimension):
        raise ValueError(f"points of shape {points.shape}")
    last = 0 if points is None else len(points)
    if len(pairs) and not (pairs[:, 0].min() >= 0 and -last <= pairs.min() <= pairs.max() < bodies):
        raise ValueError("rods between bodies or points that do not exist")
    return SavedRods(pairs, points)


def _of_people(name: str, said: float | list[float] | None, bodies: int) -> Array | None:
    if said is None:
        return None
    found = np.array(said, dtype=float)
    if found.shape not in ((), (bodies,)) or not (np.isfinite(found) & (found >= 0.0)).all():
        raise ValueError(f"{name} of shape {found.shape} for {bodies} people")
    return np.array(np.broadcast_to(found, (bodies,)))


def _groups(number: NDArray[Any], names: list[str] | None) -> Groups | None:
    if names is None:
        return None
    if len(number) and not -1 <= number.min() <= number.max() < len(names):
        raise ValueError("groups that have no name")
    return Groups(tuple(str(name) for name in names), number.astype(np.int64))


def _building(said: dict[str, Any] | None) -> dict[str, Any] | None:
    """The arguments of a floor plan; the plan is made when it is asked for."""
    if said is not None and not {"rooms", "exits"} <= said.keys():
        raise ValueError("a floor plan without rooms or exits")
    return said


def _check(arrays: dict[str, NDArray[Any]]) -> int:
    return of_rows(np.concatenate([arrays[name].view(np.uint8) for name in COLUMNS]))
