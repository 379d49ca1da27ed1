"""Exports of trajectories to other programs; the suffix of the target gives the format.

    .vtkhdf   HDF5, one file for all times: VTK, ParaView and `jostle.io.read`
    .pvd      a series of .vtp files, for ParaView and other readers of VTK XML files; .vtp is the same
    .gsd      HOOMD, OVITO and freud, without contacts; log/time is the time, log/particles/body the body number
    .csv      one row per body and time: spreadsheets, pandas, R
    .npz      NumPy arrays; the contacts of all frames are concatenated, those of frame k end at contact_ends[k]
    .sqlite   people for JuPedSim and PedPy, with the floor plan and evenly spaced frames, see `crowds.pedestrians`
    .txt      people for PedPy and the Pedestrian Dynamics Data Archive, with evenly spaced frames

A package adds a format with an entry point of the group "jostle.exports", named after the suffix without its dot; a
script with ``EXPORTS.register("xyz", function)``. The function takes a `Solution` and the path of the file to write.

States are read one at a time, so that the trajectory need not fit into memory. A target is written under a temporary
name first, so that it is complete or absent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array
from jostle._tools.plugins import Registry, nearest
from jostle.errors import InvalidValue
from jostle.io.new_files import beside, publish, refuse_existing, whole
from jostle.io.pictures import Picture, Scene, Turned
from jostle.io.reading import Ragged, Source, States, about, read
from jostle.io.saving import check_precision, sufficient
from jostle.io.trajectory import Writer
from jostle.result.solution import Solution
from jostle.sets.shapes import Shape


def file_of(sol: Solution) -> Source | None:
    """The file from which a solution was read, or None."""
    q: Any = sol.q
    return q.source if isinstance(q, States) else None


def durations(sol: Solution) -> Array:
    """(k,) the time over which the multipliers of each frame acted; NaN if unknown."""
    return np.full(len(sol.t), np.nan) if sol.durations is None else np.array(sol.durations)


def precision(sol: Solution) -> np.dtype[Any]:
    """The precision of the numbers in the file, or in memory."""
    source = file_of(sol)
    return np.dtype(float) if source is None else source.dtype


def radii(sol: Solution) -> Iterable[Any]:
    """The radii in each frame: from the file, from the problem, or 0."""
    source = file_of(sol)
    if source is not None:
        return Ragged(source, source.radii)
    return (0.0 if sol.problem is None else sol.problem.bodies.radii_at(t) for t in sol.t)


def shapes(sol: Solution) -> Iterator[tuple[Shape, ...]]:
    """The shapes of the walls in each frame; walls at rest are computed once."""
    now = sol.shapes(0)
    for k in range(len(sol.t)):
        now = sol.shapes(k) if k and sol.facts.walls_move else now
        yield now


def pictures(sol: Solution, contacts: bool = False) -> Iterator[tuple[float, Picture]]:
    """Yield the time and the picture of each frame."""
    rods = sol.facts.rods if contacts else ()
    facts = sol.facts
    form: dict[str, Any] = {"dtype": precision(sol), "dimension": facts.dimension, "bodies": facts.bodies}
    scene = Scene(sol.q.shape[1:], contacts=contacts, rods=rods, **form)
    touching = (sol.pairs, sol.multipliers, sol.normals) if contacts else ([()] * len(sol.t),) * 3
    walls = shapes(sol) if contacts else [()] * len(sol.t)
    for t, *state in zip(sol.t, sol.q, sol.u, radii(sol), *touching, walls, turns(sol), strict=True):
        yield float(t), scene.picture(*state)


def turns(sol: Solution) -> Iterable[Turned | None]:
    """How bodies are turned and turn in each frame; None if they do not."""
    if sol.turn is None or sol.spin is None or sol.tangential is None or sol.rolling is None:
        return [None] * len(sol.t)
    return map(Turned, sol.turn, sol.spin, sol.tangential, sol.rolling)


Export = Callable[[Solution, Path], object]
"""A function that writes a solution to a file."""


class Series(NamedTuple):
    """A format of several files: `write` takes a solution and the target, and returns the file that lists them."""

    write: Callable[[Solution, Path], Path]


def _check(name: str, item: Any) -> None:
    if not isinstance(item, Series) and not callable(item):
        raise InvalidValue(f"the export format {name!r} must be a function of a solution and a path, not {item!r}")


EXPORTS: Registry[Export | Series] = Registry(
    "jostle.exports",
    "export format",
    {
        "vtkhdf": "jostle.io.exports:write", "pvd": "jostle.io.vtp:PVD", "vtp": "jostle.io.vtp:PVD",
        "gsd": "jostle.io.gsd_files:write_gsd", "csv": "jostle.io.tables:write_csv",
        "npz": "jostle.io.tables:write_npz", "sqlite": "jostle.crowds.pedestrians:export_jupedsim",
        "txt": "jostle.crowds.pedestrians:export_text",
    },
    check=_check,
)  # fmt: skip
"""Registry of the export formats of trajectories, by suffix without its dot."""


@check_arguments
def export(source: Solution | str | os.PathLike[str], target: str | os.PathLike[str]) -> Path:
    """Convert a solution or a trajectory file to another format, given by the suffix of the target.

    Parameters
    ----------
    source : Solution, str or path
        A solution, or the name of a trajectory file.
    target : str or path
        Name of the file to write, with a suffix of `EXPORTS`: .vtkhdf, .pvd, .vtp, .gsd, .csv, .npz, .sqlite or .txt.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> ball = jo.Motion(q0=[[1.0]], force=[[-10.0]], within=jo.HalfSpace([1.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = export(jo.solve(ball, jo.Maury(), t=0.2, h=0.1), Path(folder) / "ball.csv")
    ...     print(table.read_text())
    t,body,x,y,z,vx,vy,vz,radius
    0.0,0,1.0,0.0,0.0,0.0,0.0,0.0,0.0
    0.1,0,0.9,0.0,0.0,-1.0,0.0,0.0,0.0
    0.2,0,0.7,0.0,0.0,-2.0,0.0,0.0,0.0
    """
    path = Path(target)
    name = path.suffix.removeprefix(".")
    if name not in EXPORTS:
        hint = f"; did you mean .{near}?" if (near := nearest(name, EXPORTS.names())) else ""
        known = ", ".join(f".{known}" for known in EXPORTS.names())
        raise InvalidValue(f"cannot export to {path.name}: the suffix must be one of {known}{hint}")
    sol = source if isinstance(source, Solution) else read(source)
    if name == "vtkhdf":
        noted = None if isinstance(source, Solution) else about(source)
        return write(sol, path, dtype=precision(sol), about=noted)
    chosen = EXPORTS.get(name)
    if isinstance(chosen, Series):
        return chosen.write(sol, path)
    with whole(path) as new:
        chosen(sol, new)
    return path


@check_arguments
def write(
    sol: Solution,
    path: str | os.PathLike[str],
    *,
    dtype: DTypeLike | None = None,
    about: Mapping[str, str] | None = None,
) -> Path:
    """Write a solution to a new trajectory file, which `read`, VTK and ParaView open.

    Parameters
    ----------
    sol : Solution
        The solution.
    path : str or path
        Name of the new file, .vtkhdf.
    dtype : float32 or float64, optional
        Precision of positions and velocities. None: float32, or float64 if bodies are so far from the origin that
        float32 would move them by more than a thousandth of the smallest radius.
    about : mapping of str to str, optional
        Notes to store in the file. None: the scheme and the problem.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    FileIsThere
        If the file exists already.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> ball = jo.Motion(q0=[[1.0]], force=[[-10.0]], within=jo.HalfSpace([1.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(jo.solve(ball, jo.Maury(), t=0.2, h=0.1), Path(folder) / "ball.vtkhdf")
    ...     read(path).q[:, 0, 0].round(3).tolist()
    [1.0, 0.9, 0.7]
    """
    path = Path(path)
    refuse_existing(path)
    noted = {"scheme": repr(sol.scheme), "problem": repr(sol.problem)} if about is None else about
    source = file_of(sol)
    places = np.array([sol.q[k] for k in (0, len(sol.t) - 1) if k >= 0])
    sizes = next(iter(radii(sol)), 0.0)
    dtype = sufficient(places, sizes) if dtype is None else dtype
    if source is None or np.dtype(dtype) != source.dtype:  # a copy of a file loses nothing
        check_precision(places, sizes, dtype)
    contacts = source is None or source.header.contacts
    new = beside(path)
    try:
        with Writer(new, shape=sol.q.shape[1:], contacts=contacts, dtype=dtype, facts=sol.facts, about=noted) as file:
            contacts_of = (sol.pairs, sol.multipliers, sol.normals, durations(sol))
            states = zip(sol.t, sol.q, sol.u, radii(sol), *contacts_of, shapes(sol), strict=True)
            for state, turned in zip(states, turns(sol), strict=True):
                file.frame(*state, *(turned or ()))
            file.steps(sol.stats)
            file.close(sol.status)
        publish(new, path)
    finally:
        new.unlink(missing_ok=True)
    return path
