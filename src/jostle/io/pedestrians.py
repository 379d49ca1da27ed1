"""Crowds for the programs of pedestrian dynamics: PedPy, JuPedSim, the Pedestrian Dynamics Data Archive.

    to_pedpy         PedPy's trajectories in memory, for its `compute_...` functions
    write_text       a row "ID frame x/m y/m z/m" for each person in each frame, for `pedpy.load_trajectory`
    write_jupedsim   JuPedSim's SQLite file, for its `Recording`, its notebooks, and `pedpy.load_..._jupedsim_sqlite`

All of them know frames and a rate, not times: frame 0 is the first saved time, and the rate is that of the saved times,
which must be evenly spaced, or else one that is asked for; then people are interpolated between the saved times, along
the stairs where they took them (see `moves`), and who came or left between two of them is not there in between. Persons
keep their numbers, coordinates are metres.

Frames are taken one at a time, so that files may be larger than memory. A target is written under another name first:
it is there as a whole or not at all. (SQLite tables: JuPedSim 1.4, sqlite_serialization.py, version 2.)
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jostle.arrays import Array, Integers
from jostle.errors import InvalidValue
from jostle.io.areas import needed, present, walkable
from jostle.io.container import whole
from jostle.io.moves import Move, moves, plan_of, planar
from jostle.solution import Solution

SPACING_TOLERANCE = 1e-6
"""Times are evenly spaced if none is off by more than this fraction of the spacing."""
NO_FRAME = "the solution has no frame, not even that of the start"
"""The error of a solution without frames."""
DATABASE_VERSION = 2
"""Version of the database of JuPedSim."""
TABLES = (
    "CREATE TABLE trajectory_data (frame INTEGER NOT NULL, id INTEGER NOT NULL, pos_x REAL NOT NULL, "
    "pos_y REAL NOT NULL, ori_x REAL NOT NULL, ori_y REAL NOT NULL)",
    "CREATE TABLE metadata (key TEXT NOT NULL UNIQUE PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE geometry (hash INTEGER NOT NULL, wkt TEXT NOT NULL)",
    "CREATE UNIQUE INDEX geometry_hash ON geometry (hash)",
    "CREATE TABLE frame_data (frame INTEGER NOT NULL, geometry_hash INTEGER NOT NULL)",
    "CREATE INDEX frame_id_idx ON trajectory_data (frame, id)",
)
"""Tables of the database of JuPedSim."""


class People(NamedTuple):
    """Who is where in one frame."""

    number: int
    """of the frame."""
    person: Integers
    """(m,) the numbers of those who are there,"""
    place: Array
    """(m, 2) where they are,"""
    velocity: Array
    """(m, 2) and how they walk."""


def frame_rate(sol: Solution) -> float:
    """Frames a second, where the saved times are evenly spaced.

    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    >>> frame_rate(jo.solve(walker, jo.Venel(), t=1.0, h=0.05, every=2))
    10.0
    """
    if len(sol.t) == 0:
        raise InvalidValue(NO_FRAME)
    if len(sol.t) == 1:
        raise InvalidValue("a solution with one frame has no frame rate: save more of them, or say rate=...")
    spacing = (sol.t[-1] - sol.t[0]) / (len(sol.t) - 1)
    off = np.abs(np.diff(sol.t) - spacing)
    if off.max() > SPACING_TOLERANCE * spacing:
        k = int(off.argmax())
        raise InvalidValue(
            f"the saved times are not evenly spaced: {spacing:.6g} s on average, but {sol.t[k + 1] - sol.t[k]:.6g} s "
            f"after t = {sol.t[k]:g}. Say rate=..., the frames a second that people are to be interpolated at"
        )
    return float(f"{1.0 / spacing:.12g}")


def usual_rate(sol: Solution) -> float:
    """Frames a second by the median spacing of the saved times: the last one, at which a run ended, may be off.

    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    >>> usual_rate(jo.solve(walker, jo.Venel(), t=1.05, h=0.05, every=2))
    10.0
    """
    if len(sol.t) < 2:
        return frame_rate(sol)
    return float(f"{1.0 / float(np.median(np.diff(sol.t))):.12g}")


def export_text(sol: Solution, path: Path) -> None:
    """The text file of `write_text`, at the usual rate of the saved times, for `jostle export`."""
    write_text(sol, path, rate=usual_rate(sol))


def export_jupedsim(sol: Solution, path: Path) -> None:
    """The SQLite file of `write_jupedsim`, at the usual rate of the saved times, for `jostle export`."""
    plan = plan_of(sol)
    if plan is None:
        raise InvalidValue(
            "the plan of this run is not known, and a JuPedSim file needs it: write it in Python with "
            "jo.io.pedestrians.write_jupedsim(sol, path, area)"
        )
    write_jupedsim(sol, path, plan, rate=usual_rate(sol))


def frames(sol: Solution, *, rate: float | None = None, inside: Any = None, plan: Any = None) -> Iterator[People]:
    """The people of each frame, at the saved times or at another rate; `inside` an area, only those who are in it.

    A plan with stairs, by default that of the crowd, says how people go from floor to floor between the saved times.

    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    >>> sol = jo.solve(walker, jo.Venel(), t=1.0, h=0.25)
    >>> [float(people.place[0, 0]) for people in frames(sol, rate=2.0)]
    [0.0, 0.5, 1.0]
    """
    planar(sol)
    if len(sol.t) == 0:
        raise InvalidValue(NO_FRAME)
    polygon = None if inside is None else walkable(inside)
    states = enumerate(zip(sol.q, sol.u, strict=True)) if rate is None else _at_rate(sol, rate, plan)
    for number, (q, u) in states:
        person = np.flatnonzero(present(q, polygon))
        yield People(number, person, q[person], u[person])


def _at_rate(sol: Solution, rate: float, plan: Any) -> Iterator[tuple[int, tuple[Array, Array]]]:
    """q and u at evenly spaced times, affine between the saved ones and on both sides of a jump."""
    if not 0.0 < rate < np.inf:
        raise InvalidValue(f"rate must be positive and finite, frames a second, not {rate}")
    last = int(np.floor((sol.t[-1] - sol.t[0]) * rate * (1.0 + SPACING_TOLERANCE)))
    times = np.minimum(sol.t[0] + np.arange(last + 1) / rate, sol.t[-1])
    yield 0, (sol.q[0], sol.u[0])
    number, k, legs = 1, 1, []
    for move in moves(sol, plan):
        legs.append(move)
        if not (move.end == sol.t[k]).all():
            continue
        before, after = sol.u[k - 1], sol.u[k]
        while number <= last and times[number] <= sol.t[k]:
            part = (times[number] - sol.t[k - 1]) / (sol.t[k] - sol.t[k - 1])
            exact = part == 1.0
            q = sol.q[k] if exact else _on_the_way(legs, float(times[number]))
            yield number, (q, after if exact else (1.0 - part) * before + part * after)
            number += 1
        k, legs = k + 1, []


def _on_the_way(legs: list[Move], t: float) -> Array:
    """(n, 2) where people are at a time, on the last leg that they have begun; NaN for those who left."""
    place = np.full_like(legs[0].before, np.nan)
    for leg in legs:
        begun = (leg.start <= t) & ~leg.gone
        length = leg.end - leg.start
        part = np.clip(np.divide(t - leg.start, length, out=np.ones_like(length), where=length > 0.0), 0.0, 1.0)
        x = (1.0 - part[:, None]) * leg.before + part[:, None] * leg.after
        place = np.where(begun[:, None], x, place)
    return place


def to_pedpy(sol: Solution, *, rate: float | None = None, inside: Any = None) -> Any:
    """A `pedpy.TrajectoryData`; with `pedpy.WalkableArea(walkable(room))` it is all that PedPy asks for.

    PedPy wants no one outside of the area where cells are cut out: give that as `inside`, too.

    >>> import jostle as jo
    >>> two = jo.Sweeping(q0=[[0.5, 0.5], [3.0, 0.5]], velocity=[1.0, 0.0], within=jo.Balls([0.2, 0.2]))
    >>> data = to_pedpy(jo.solve(two, jo.Venel(), t=1.0, h=0.25), inside=[(0, 0), (3.6, 0), (3.6, 1), (0, 1)])
    >>> data.frame_rate, data.data.id.tolist(), data.data.x.tolist()
    (4.0, [0, 1, 0, 1, 0, 1, 0, 0], [0.5, 3.0, 0.75, 3.25, 1.0, 3.5, 1.25, 1.5])
    """
    found = frame_rate(sol) if rate is None else rate
    people = list(frames(sol, rate=rate, inside=inside))
    pandas, pedpy = needed("pandas"), needed("pedpy")
    x, y = np.concatenate([one.place for one in people]).T
    if len(x) == 0:
        raise InvalidValue("nobody is there in any frame")
    frame = np.repeat([one.number for one in people], [len(one.person) for one in people])
    table = {"id": np.concatenate([one.person for one in people]), "frame": frame, "x": x, "y": y}
    return pedpy.TrajectoryData(data=pandas.DataFrame(table), frame_rate=found)


def write_text(sol: Solution, path: str | os.PathLike[str], *, rate: float | None = None, inside: Any = None) -> Path:
    """Write the text file of the Pedestrian Dynamics Data Archive, which `pedpy.load_trajectory` reads.

    >>> import jostle as jo, tempfile
    >>> walker = jo.Sweeping(q0=[[0.0, 0.5]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_text(jo.solve(walker, jo.Venel(), t=0.5, h=0.25), Path(folder) / "walker.txt")
    ...     print(path.read_text())
    # description: written by jostle
    # framerate: 4.0
    # ID frame x/m y/m z/m
    0 0 0.0 0.5 0.0
    0 1 0.25 0.5 0.0
    0 2 0.5 0.5 0.0
    """
    target = Path(path)
    found = frame_rate(sol) if rate is None else rate
    with whole(target) as new, open(new, "w", newline="\n") as file:
        file.write(f"# description: written by jostle\n# framerate: {found!r}\n# ID frame x/m y/m z/m\n")
        somebody = False
        for number, person, place, _ in frames(sol, rate=rate, inside=inside):
            somebody |= len(person) > 0
            rows = zip(person.tolist(), place.tolist(), strict=True)
            file.writelines(f"{who} {number} {x!r} {y!r} 0.0\n" for who, (x, y) in rows)
        if not somebody:
            raise InvalidValue("nobody is there in any frame")
    return target


def write_jupedsim(
    sol: Solution, path: str | os.PathLike[str], area: Any, *, rate: float | None = None, inside: Any = None
) -> Path:
    """Write JuPedSim's SQLite file, with `area` as its geometry: a polygon, its corners, or a plan (see `walkable`).

    The floors of a plan with stairs are written as a MULTIPOLYGON; PedPy's `WalkableArea` takes one polygon only.

    Orientations are directions of walking: of those who stand still, the last one; (1, 0) before they ever walked.

    >>> import jostle as jo, tempfile
    >>> walker = jo.Sweeping(q0=[[0.5, 0.5]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    >>> sol = jo.solve(walker, jo.Venel(), t=0.5, h=0.25)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_jupedsim(sol, Path(folder) / "walker.sqlite", [(0, 0), (2, 0), (2, 1), (0, 1)])
    ...     with closing(sqlite3.connect(path)) as file:
    ...         file.execute("SELECT frame, id, pos_x, pos_y FROM trajectory_data").fetchall()
    [(0, 0, 0.5, 0.5), (1, 0, 0.75, 0.5), (2, 0, 1.0, 0.5)]
    """
    target, polygon = Path(path), walkable(area)
    found = frame_rate(sol) if rate is None else rate
    wkt = polygon.wkt
    number = zlib.crc32(wkt.encode())
    bounds = zip(("xmin", "ymin", "xmax", "ymax"), polygon.bounds, strict=True)
    with whole(target, sqlite3.Error) as new, closing(sqlite3.connect(new, isolation_level=None)) as file:
        file.execute("PRAGMA synchronous = OFF")
        file.execute("PRAGMA journal_mode = OFF")
        file.execute("BEGIN")
        for table in TABLES:
            file.execute(table)
        about = [("version", str(DATABASE_VERSION)), ("fps", repr(found))]
        about += [(key, repr(value)) for key, value in bounds]
        file.executemany("INSERT INTO metadata VALUES (?, ?)", about)
        file.execute("INSERT INTO geometry VALUES (?, ?)", (number, wkt))
        facing = np.tile([1.0, 0.0], (sol.q.shape[1], 1))
        somebody = False
        for people in frames(sol, rate=rate, inside=inside, plan=area):
            somebody |= len(people.person) > 0
            rows = np.column_stack([people.place, _directions(facing, people)]).tolist()
            named = zip(people.person.tolist(), rows, strict=True)
            who = ((people.number, person, *row) for person, row in named)
            file.executemany("INSERT INTO trajectory_data VALUES (?, ?, ?, ?, ?, ?)", who)
            file.execute("INSERT INTO frame_data VALUES (?, ?)", (people.number, number))
        if not somebody:
            raise InvalidValue("nobody is there in any frame")
        file.execute("COMMIT")
    return target


def _directions(facing: Array, people: People) -> Array:
    """(m, 2) where people face; `facing` (n, 2) is kept for those who will stand still."""
    speed = np.linalg.norm(people.velocity, axis=1, keepdims=True)
    walks = speed[:, 0] > 0.0
    facing[people.person[walks]] = people.velocity[walks] / speed[walks]
    return np.asarray(facing[people.person])
