"""Exports of crowds to programs of pedestrian dynamics: PedPy, JuPedSim, the Pedestrian Dynamics Data Archive.

    to_pedpy         PedPy's trajectories in memory, for its `compute_...` functions
    write_text       a row "ID frame x/m y/m z/m" per person and frame, for `pedpy.load_trajectory`
    write_jupedsim   JuPedSim's SQLite file, for its `Recording`, its notebooks, and `pedpy.load_..._jupedsim_sqlite`

All of these have frames and a rate instead of times. Frame 0 is the first saved time. The rate is that of the saved
times, which must be evenly spaced, or a given rate; people are then interpolated between the saved times, along the
stairs that they took (see `moves`), and people who came or left between two saved times are absent in between. People
keep their numbers, and coordinates are in metres.

Frames are read one at a time, so that files may be larger than memory. A target is written under a temporary name
first, so that it is complete or absent. (SQLite tables: JuPedSim 1.4, sqlite_serialization.py, version 2.)
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

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array, Integers
from jostle.crowds.measure.moves import Move, moves, planar
from jostle.errors import InvalidValue
from jostle.io.new_files import whole
from jostle.plans.outlines import package
from jostle.plans.plan import present, walkable
from jostle.plans.stored import plan_of
from jostle.result.solution import Solution

# Evenly spaced frames of a crowd, for programs that have frames and a rate instead of times.


SPACING_TOLERANCE = 1e-6
"""Times are evenly spaced if none is off by more than this fraction of the spacing."""
NO_FRAME = "the solution has no frames"
"""Error message about a solution without frames."""


class People(NamedTuple):
    """The people in one frame."""

    number: int
    """Number of the frame."""
    person: Integers
    """(m,) the numbers of the people who are present."""
    place: Array
    """(m, 2) their positions."""
    velocity: Array
    """(m, 2) their velocities."""


def frame_rate(sol: Solution) -> float:
    """Frames per second of evenly spaced saved times.

    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    >>> frame_rate(jo.solve(walker, jo.Venel(), t=1.0, h=0.05, every=2))
    10.0
    """
    if len(sol.t) == 0:
        raise InvalidValue(NO_FRAME)
    if len(sol.t) == 1:
        raise InvalidValue("a solution with one frame has no frame rate: save more frames, or give rate=...")
    spacing = (sol.t[-1] - sol.t[0]) / (len(sol.t) - 1)
    off = np.abs(np.diff(sol.t) - spacing)
    if off.max() > SPACING_TOLERANCE * spacing:
        k = int(off.argmax())
        raise InvalidValue(
            f"the saved times are not evenly spaced: {spacing:.6g} s on average, but {sol.t[k + 1] - sol.t[k]:.6g} s "
            f"after t = {sol.t[k]:g}. Give rate=..., the frames per second at which people are interpolated"
        )
    return float(f"{1.0 / spacing:.12g}")


def usual_rate(sol: Solution) -> float:
    """Frames per second from the median spacing of the saved times, because the last frame of a run may be off.

    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    >>> usual_rate(jo.solve(walker, jo.Venel(), t=1.05, h=0.05, every=2))
    10.0
    """
    if len(sol.t) < 2:
        return frame_rate(sol)
    return float(f"{1.0 / float(np.median(np.diff(sol.t))):.12g}")


def frames(sol: Solution, *, rate: float | None = None, inside: Any = None, plan: Any = None) -> Iterator[People]:
    """Yield the people of each frame, at the saved times or at a given rate; with `inside`, only those in an area.

    Nobody on the boundary is in the area, as in PedPy.
    A plan with stairs, by default that of the crowd, determines how people move between floors. A run without anybody
    is an error.

    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    >>> sol = jo.solve(walker, jo.Venel(), t=1.0, h=0.25)
    >>> [float(people.place[0, 0]) for people in frames(sol, rate=2.0)]
    [0.0, 0.5, 1.0]
    """
    planar(sol)
    if len(sol.t) == 0:
        raise InvalidValue(NO_FRAME)
    polygon = None if inside is None else walkable(inside, "inside")
    states = enumerate(zip(sol.q, sol.u, strict=True)) if rate is None else _at_rate(sol, rate, plan)
    somebody = False
    for number, (q, u) in states:
        person = np.flatnonzero(present(q))
        if polygon is not None:
            person = person[package("shapely").contains_xy(polygon, q[person])]
        somebody |= len(person) > 0
        yield People(number, person, q[person], u[person])
    if not somebody:
        raise InvalidValue("nobody is present in any frame")


def _at_rate(sol: Solution, rate: float, plan: Any) -> Iterator[tuple[int, tuple[Array, Array]]]:
    """q and u at evenly spaced times, linear between the saved times and on both sides of a jump."""
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
    """(n, 2) positions at a time, on the last part of the way that each person began; NaN for people who left."""
    place = np.full_like(legs[0].before, np.nan)
    for leg in legs:
        begun = (leg.start <= t) & ~leg.gone
        length = leg.end - leg.start
        part = np.clip(np.divide(t - leg.start, length, out=np.ones_like(length), where=length > 0.0), 0.0, 1.0)
        x = (1.0 - part[:, None]) * leg.before + part[:, None] * leg.after
        place = np.where(begun[:, None], x, place)
    return place


DATABASE_VERSION = 2
"""Version of JuPedSim's database."""
TABLES = (
    "CREATE TABLE trajectory_data (frame INTEGER NOT NULL, id INTEGER NOT NULL, pos_x REAL NOT NULL, "
    "pos_y REAL NOT NULL, ori_x REAL NOT NULL, ori_y REAL NOT NULL)",
    "CREATE TABLE metadata (key TEXT NOT NULL UNIQUE PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE geometry (hash INTEGER NOT NULL, wkt TEXT NOT NULL)",
    "CREATE UNIQUE INDEX geometry_hash ON geometry (hash)",
    "CREATE TABLE frame_data (frame INTEGER NOT NULL, geometry_hash INTEGER NOT NULL)",
    "CREATE INDEX frame_id_idx ON trajectory_data (frame, id)",
)
"""Tables of JuPedSim's database."""


# `jostle export` writes people at the usual rate of the saved times, and only while they are in the walkable area:
# PedPy calls a trajectory invalid if anybody is outside, such as people who have left and are not yet removed.


def export_text(sol: Solution, path: Path) -> None:
    """The text file of `write_text` for `jostle export`."""
    write_text(sol, path, rate=usual_rate(sol), inside=plan_of(sol))


def export_jupedsim(sol: Solution, path: Path) -> None:
    """The SQLite file of `write_jupedsim` for `jostle export`."""
    plan = plan_of(sol)
    if plan is None:
        raise InvalidValue(
            "a JuPedSim file needs the floor plan, which is unknown for this run: give an area in Python, "
            "jo.crowds.write_jupedsim(sol, path, area)"
        )
    write_jupedsim(sol, path, plan, rate=usual_rate(sol), inside=plan)


@check_arguments
def to_pedpy(sol: Solution, *, rate: Positive | None = None, inside: Any = None) -> Any:
    """Make a `pedpy.TrajectoryData`; PedPy also needs the area, `pedpy.WalkableArea(walkable(room))`.

    For Voronoi cells PedPy accepts nobody outside the area: pass the area as `inside`, too.

    Parameters
    ----------
    sol : Solution
        The run of a crowd in the plane.
    rate : float, optional
        Frames per second, between which people are interpolated. Without it, the saved times, which must be evenly
        spaced.
    inside : optional
        Only people in this area are taken: a polygon, its corners, or a plan.

    Returns
    -------
    pedpy.TrajectoryData
        The people of all frames.

    Examples
    --------
    >>> import jostle as jo
    >>> two = jo.Sweeping(q0=[[0.5, 0.5], [3.0, 0.5]], velocity=[1.0, 0.0], within=jo.Balls([0.2, 0.2]))
    >>> data = jo.crowds.to_pedpy(jo.solve(two, jo.Venel(), t=1.0, h=0.25), inside=[(0, 0), (3.6, 0), (3.6, 1), (0, 1)])
    >>> data.frame_rate, data.data.id.tolist(), data.data.x.tolist()
    (4.0, [0, 1, 0, 1, 0, 1, 0, 0], [0.5, 3.0, 0.75, 3.25, 1.0, 3.5, 1.25, 1.5])
    """
    found = frame_rate(sol) if rate is None else rate
    people = list(frames(sol, rate=rate, inside=inside))
    pandas, pedpy = package("pandas"), package("pedpy")
    x, y = np.concatenate([one.place for one in people]).T
    frame = np.repeat([one.number for one in people], [len(one.person) for one in people])
    table = {"id": np.concatenate([one.person for one in people]), "frame": frame, "x": x, "y": y}
    return pedpy.TrajectoryData(data=pandas.DataFrame(table), frame_rate=found)


@check_arguments
def write_text(
    sol: Solution, path: str | os.PathLike[str], *, rate: Positive | None = None, inside: Any = None
) -> Path:
    """Write the text file of the Pedestrian Dynamics Data Archive, which `pedpy.load_trajectory` reads.

    Parameters
    ----------
    sol : Solution
        The run of a crowd in the plane.
    path : str or path
        The file to write.
    rate : float, optional
        Frames per second, between which people are interpolated. Without it, the saved times, which must be evenly
        spaced.
    inside : optional
        Only people in this area are written: a polygon, its corners, or a plan.

    Returns
    -------
    Path
        The path of the file.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> walker = jo.Sweeping(q0=[[0.0, 0.5]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = jo.crowds.write_text(jo.solve(walker, jo.Venel(), t=0.5, h=0.25), Path(folder) / "walker.txt")
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
        for number, person, place, _ in frames(sol, rate=rate, inside=inside):
            rows = zip(person.tolist(), place.tolist(), strict=True)
            file.writelines(f"{who} {number} {x!r} {y!r} 0.0\n" for who, (x, y) in rows)
    return target


@check_arguments
def write_jupedsim(
    sol: Solution, path: str | os.PathLike[str], area: Any, *, rate: Positive | None = None, inside: Any = None
) -> Path:
    """Write JuPedSim's SQLite file, with an area as its geometry.

    The floors of a plan with stairs are written as a MULTIPOLYGON; PedPy's `WalkableArea` takes one polygon only.

    The orientation of a person is the direction of walking, the last one if they stand still, and (1, 0) at first.

    Parameters
    ----------
    sol : Solution
        The run of a crowd in the plane.
    path : str or path
        The file to write.
    area : Plan or polygon
        The geometry in the file: a polygon of shapely, its corners, or a plan.
    rate : float, optional
        Frames per second, between which people are interpolated. Without it, the saved times, which must be evenly
        spaced.
    inside : optional
        Only people in this area are written: a polygon, its corners, or a plan.

    Returns
    -------
    Path
        The path of the file.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> walker = jo.Sweeping(q0=[[0.5, 0.5]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    >>> sol = jo.solve(walker, jo.Venel(), t=0.5, h=0.25)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = jo.crowds.write_jupedsim(sol, Path(folder) / "walker.sqlite", [(0, 0), (2, 0), (2, 1), (0, 1)])
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
        for people in frames(sol, rate=rate, inside=inside, plan=area):
            rows = np.column_stack([people.place, _directions(facing, people)]).tolist()
            named = zip(people.person.tolist(), rows, strict=True)
            who = ((people.number, person, *row) for person, row in named)
            file.executemany("INSERT INTO trajectory_data VALUES (?, ?, ?, ?, ?, ?)", who)
            file.execute("INSERT INTO frame_data VALUES (?, ?)", (people.number, number))
        file.execute("COMMIT")
    return target


def _directions(facing: Array, people: People) -> Array:
    """(m, 2) the orientations of people; `facing` (n, 2) stores the last ones."""
    speed = np.linalg.norm(people.velocity, axis=1, keepdims=True)
    walks = speed[:, 0] > 0.0
    facing[people.person[walks]] = people.velocity[walks] / speed[walks]
    return np.asarray(facing[people.person])
