"""Exports of trajectories to other programs; the suffix of the target gives the format.

    .vtkhdf   HDF5, one file for all times: VTK, ParaView and `jostle.io.read`
    .pvd      a series of .vtp files, for ParaView and other readers of VTK XML files; .vtp is the same
    .gsd      HOOMD, OVITO and freud, without contacts; log/time is the time, log/particles/body the body number
    .csv      one row per body and time: spreadsheets, pandas, R
    .npz      NumPy arrays; the contacts of all frames are concatenated, those of frame k end at contact_ends[k]
    .sqlite   people for JuPedSim and PedPy, with the floor plan and evenly spaced frames, see
              `crowds.measure.pedestrians`
    .txt      people for PedPy and the Pedestrian Dynamics Data Archive, with evenly spaced frames

A package adds a format with an entry point of the group "jostle.exports", named after the suffix without its dot; a
script with ``EXPORTS.register("xyz", function)``. The function takes a `Solution` and the path of the file to write.

States are read one at a time, so that the trajectory need not fit into memory. A target is written under a temporary
name first, so that it is complete or absent.
"""

from __future__ import annotations

import csv
import os
import zipfile
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate, repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from jostle._tools.arguments import check_arguments
from jostle._tools.installing import missing
from jostle._tools.plugins import Registry
from jostle._tools.rotations import AXES
from jostle._tools.suggestions import nearest
from jostle.errors import InvalidValue
from jostle.io.new_files import beside, check_trajectory_name, discard, publish, refuse_existing, whole
from jostle.io.polydata import Converter, PolyData, points_of
from jostle.io.reading import Ragged, about, read, source_of
from jostle.io.saving import check_precision, sufficient
from jostle.io.trajectory import Writer
from jostle.result.recording import Turned
from jostle.result.solution import Solution
from jostle.sets.outlines import Shape


def precision(sol: Solution) -> np.dtype[Any]:
    """The precision of the numbers in the file, or in memory."""
    source = source_of(sol)
    return np.dtype(float) if source is None else source.dtype


def radii(sol: Solution) -> Iterable[Any]:
    """The radii in each frame: from the file, from the problem, or 0."""
    source = source_of(sol)
    if source is not None:
        return Ragged(source, source.radii)
    return (0.0 if sol.problem is None else sol.problem.bodies.radii_at(t) for t in sol.t)


def shapes(sol: Solution) -> Iterator[tuple[Shape, ...]]:
    """The shapes of the walls in each frame; walls at rest are computed once."""
    now = sol.shapes(0)
    for k in range(len(sol.t)):
        now = sol.shapes(k) if k and sol.facts.walls_move else now
        yield now


def states(sol: Solution, contacts: bool = False) -> Iterator[tuple[float, PolyData]]:
    """Yield the time and the data of each frame."""
    rods = sol.facts.rods if contacts else ()
    facts = sol.facts
    form: dict[str, Any] = {"dtype": precision(sol), "dimension": facts.dimension, "bodies": facts.bodies}
    converter = Converter(sol.q.shape[1:], contacts=contacts, rods=rods, **form)
    touching = (sol.pairs, sol.multipliers, sol.normals) if contacts else ([()] * len(sol.t),) * 3
    walls = shapes(sol) if contacts else [()] * len(sol.t)
    for t, *state in zip(sol.t, sol.q, sol.u, radii(sol), *touching, walls, turns(sol), strict=True):
        yield float(t), converter.polydata(*state)


def turns(sol: Solution) -> Iterable[Turned | None]:
    """How bodies are turned and turn in each frame; None if they do not."""
    if sol.orientation is None or sol.spin is None or sol.tangential is None or sol.rolling is None:
        return [None] * len(sol.t)
    points = repeat(None) if sol.points is None else sol.points
    return map(Turned, sol.orientation, sol.spin, sol.tangential, sol.rolling, points)


Export = Callable[[Solution, Path], object]
"""A function that writes a solution to a file."""


def _check(name: str, item: Any) -> None:
    if not callable(item):
        raise InvalidValue(f"the export format {name!r} must be a function of a solution and a path, not {item!r}")


EXPORTS: Registry[Export] = Registry(
    "jostle.exports",
    "export format",
    {
        "vtkhdf": "jostle.io.exports:write",
        "pvd": "jostle.io.exports:write_pvd", "vtp": "jostle.io.exports:write_pvd",
        "gsd": "jostle.io.exports:write_gsd", "csv": "jostle.io.exports:write_csv",
        "npz": "jostle.io.exports:write_npz", "sqlite": "jostle.crowds.measure.pedestrians:export_jupedsim",
        "txt": "jostle.crowds.measure.pedestrians:export_text",
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
    if chosen is write_pvd:  # which writes several files
        return write_pvd(sol, path)
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
    check_trajectory_name(path)
    refuse_existing(path)
    noted = {"scheme": repr(sol.scheme), "problem": repr(sol.problem)} if about is None else about
    source = source_of(sol)
    places = np.array([sol.q[k] for k in (0, len(sol.t) - 1) if k >= 0])
    sizes = next(iter(radii(sol)), 0.0)
    dtype = sufficient(places, sizes) if dtype is None else dtype
    if source is None or np.dtype(dtype) != source.dtype:  # a copy of a file loses nothing
        check_precision(places, sizes, dtype)
    contacts = source is None or source.header.contacts
    new = beside(path)
    try:
        form: dict[str, Any] = {"contacts": contacts, "dtype": dtype, "facts": sol.facts, "about": noted}
        with Writer(new, shape=sol.q.shape[1:], impacts=sol.recorded is not None, **form) as file:
            times = np.full(len(sol.t), np.nan) if sol.impulse_times is None else sol.impulse_times
            contacts_of = (sol.pairs, sol.multipliers, sol.normals, times)
            states = zip(sol.t, sol.q, sol.u, radii(sol), *contacts_of, shapes(sol), strict=True)
            for state, turned in zip(states, turns(sol), strict=True):
                file.frame(*state, *(turned or ()))
            file.steps(sol.stats)
            for impacts in () if sol.recorded is None else sol.recorded.blocks():
                file.impacts(impacts.records)
            file.close(sol.status)
        publish(new, path)
    finally:
        discard(new)
    return path


# Exports as tables and arrays: .csv for spreadsheets, pandas and R, .npz for NumPy.


OF_TURNING = (
    ("spin", ("spin_x", "spin_y", "spin_z")), ("turn", ("turn",)), ("orientation", ("qw", "qx", "qy", "qz")),
    ("centre", ("centre_x", "centre_y", "centre_z")),
)  # fmt: skip
"""Columns of bodies that turn; `turn` is the angle in the plane."""


def write_csv(sol: Solution, path: Path) -> None:
    """Write one row per ball and time; of clumps also the number of the ball in its body, and the centre of mass."""
    with open(path, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        more = [name for name, _ in OF_TURNING if name in _names(sol)]
        columns = [column for name, some in OF_TURNING if name in more for column in some]
        clumps = sol.facts.parts is not None
        table.writerow(
            ["t", "body", *(["ball"] if clumps else []), "x", "y", "z", "vx", "vy", "vz", "radius", *columns]
        )
        for t, data in states(sol):
            turned = [data.more[name] for name in more]
            numbers = np.column_stack([data.points, data.velocity, data.radius, *turned])
            if numbers.dtype == np.float32:
                numbers = numbers.astype("U")  # with as many digits as the precision has
            who = np.stack([data.body, data.more["part"]] if clumps else [data.body], axis=1)
            for names, row in zip(who.tolist(), numbers.tolist(), strict=True):
                table.writerow([t, *names, *row])


def _names(sol: Solution) -> set[str]:
    """The columns of bodies that turn, by their names in a `PolyData`."""
    facts = sol.facts
    if facts.inertia is None:
        return set()
    return {"spin", "turn" if facts.dimension == 2 else "orientation"} | ({"centre"} if facts.parts else set())


def write_npz(sol: Solution, path: Path) -> None:
    """Write NumPy arrays; contacts of all frames are concatenated, those of frame k end at contact_ends[k].

    `impacts` are those of the whole run, as records. Of clumps, `places` are the centres of the balls, and `owner` is
    the body of each ball.
    """
    sizes = [len(p) for p in sol.multipliers]
    widest = max((normal.shape[1] for normal in sol.normals), default=0)
    normals = (np.pad(normal, ((0, 0), (0, widest - normal.shape[1]))) for normal in sol.normals)
    count, steps, contacts = len(sol.t), len(sol.stats), sum(sizes)
    converter = Converter(sol.q.shape[1:], dtype=float, dimension=sol.facts.dimension, bodies=sol.facts.bodies)
    sizes_of_all = (converter.broadcast(np.asarray(some, dtype=float)) for some in radii(sol))
    arrays: dict[str, tuple[DTypeLike, tuple[int, ...], Iterable[Any]]] = {
        "t": (float, (count,), sol.t),
        "q": (float, sol.q.shape, sol.q),
        "u": (float, sol.u.shape, sol.u),
        "radii": (float, (count, converter.count), sizes_of_all),
        "pairs": (np.int64, (contacts, 2), sol.pairs),
        "multipliers": (float, (contacts,), sol.multipliers),
        "normals": (float, (contacts, widest), normals),
        "contact_ends": (np.int64, (count,), accumulate(sizes)),
        "stats": (sol.stats.dtype, (steps,), [sol.stats]),
        "status": (f"U{len(sol.status)}", (), [sol.status]),
    }
    if sol.recorded is not None:
        impacts = np.concatenate([block.records for block in sol.recorded.blocks()])
        arrays["impacts"] = impacts.dtype, impacts.shape, [impacts]
    if sol.orientation is not None and sol.spin is not None and sol.tangential is not None and sol.rolling is not None:
        d = sol.facts.dimension
        arrays |= {
            "orientation": (float, sol.orientation.shape, sol.orientation),
            "spin": (float, sol.spin.shape, sol.spin),
            "tangential": (float, (contacts, d), sol.tangential),
            "rolling": (float, (contacts, AXES[d]), sol.rolling),
        }
    if (made_of := sol.facts.parts) is not None:
        arrays["owner"] = np.int64, made_of.owner.shape, [made_of.owner]
        arrays["places"] = float, (count, converter.count, sol.facts.dimension), (sol.places(k) for k in range(count))
    with zipfile.ZipFile(path, "w") as archive:
        for name, (dtype, shape, parts) in arrays.items():
            header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array_header_2_0(file, header)
                for part in parts:
                    file.write(np.asarray(part, dtype=dtype).tobytes())


# Exports for ParaView and other readers of VTK XML files: a .pvd file, and one .vtp file per time beside it.


def write_pvd(sol: Solution, path: Path) -> Path:
    """Write the series, and return the .pvd file, which lists the others."""
    entries = []
    for k, (t, data) in enumerate(states(sol, contacts=True)):
        name = f"{path.stem}_{k:06d}.vtp"
        with whole(path.with_name(name)) as new:
            new.write_bytes(b"".join(_vtp(data)))
        entries.append(f'<DataSet timestep="{t!r}" part="0" file="{name}"/>')
    series = path.with_suffix(".pvd")
    with whole(series) as new:
        lines = [
            '<VTKFile type="Collection" version="0.1">',
            "<Collection>",
            *entries,
            "</Collection>",
            "</VTKFile>",
            "",
        ]
        new.write_text("\n".join(lines))
    return series


def _vtp(data: PolyData) -> Iterator[bytes]:
    """A VTK XML file; each array is written in base64, after its number of bytes."""
    # Appended raw data would be a quarter smaller, but ParaView 5.11 of Debian 12 cannot read appended data.
    touching, n = data.touching, len(data.points)
    assert touching is not None
    cells, walls = min(data.n, 1), len(data.walls.ends)
    groups: dict[str, dict[str, NDArray[Any]]] = {
        "PointData": {"velocity": data.velocity, "body": data.body, "radius": data.radius, **data.more},
        "CellData": {
            name: np.concatenate([_cells(values, cells, 0), values, _cells(values, walls, -(values.dtype.kind == "i"))])
            for name, values in (
                ("impulse", touching.impulse), ("normal", touching.normal), ("first_body", touching.first),
                ("second_body", touching.second), *touching.more.items(),
            )
        },
        "Points": {"Points": data.points},
        "Verts": {"connectivity": np.arange(data.n), "offsets": np.full(cells, data.n)},
        "Lines": {"connectivity": data.joined, "offsets": data.ends},
    }  # fmt: skip
    yield b'<VTKFile type="PolyData" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n<PolyData>\n'
    yield f'<Piece NumberOfPoints="{n}" NumberOfVerts="{cells}" NumberOfLines="{len(data.ends)}">\n'.encode()
    for group, arrays in groups.items():
        yield f"<{group}>\n".encode()
        for name, array in arrays.items():
            values = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            kind = f"{'Float' if values.dtype.kind == 'f' else 'Int'}{8 * values.itemsize}"
            width = values.shape[1] if values.ndim == 2 else 1
            yield f'<DataArray type="{kind}" Name="{name}" NumberOfComponents="{width}" format="binary">'.encode()
            yield b64encode(values.nbytes.to_bytes(8, "little") + values.tobytes())
            yield b"</DataArray>\n"
        yield f"</{group}>\n".encode()
    yield b"</Piece>\n</PolyData>\n</VTKFile>\n"


def _cells(like: NDArray[Any], count: int, value: int) -> NDArray[Any]:
    return np.full((count, *like.shape[1:]), value, dtype=like.dtype)


# Exports for HOOMD, OVITO and freud: .gsd.


def write_gsd(sol: Solution, path: Path) -> None:
    """Write bodies without contacts: log/time is the time, log/particles/body the body number, types are groups.

    Bodies that turn have an orientation and log/particles/spin; a clump is several particles with one body number.
    """
    try:
        import gsd.hoomd
    except ImportError:
        raise missing("a .gsd file needs the package gsd", "export") from None

    facts = sol.facts
    count, d = points_of(sol.q.shape[1:], facts.dimension)
    names, kinds = _types(sol, count)
    masses = None if facts.masses is None or len(facts.masses) != count else facts.masses
    far = np.zeros(3)
    for _, data in states(sol):
        reach = np.abs(data.points) + data.radius[:, None]
        far = np.maximum(far, reach.max(axis=0, initial=0.0))
    sides = np.where(far > 0.0, 2.0 * far, 1.0)
    with gsd.hoomd.open(str(path), "w") as file:
        for step, (t, data) in enumerate(states(sol)):
            frame = gsd.hoomd.Frame()
            frame.configuration.step = step
            frame.configuration.dimensions = 3 if d == 3 else 2
            frame.configuration.box = [*sides, 0.0, 0.0, 0.0]
            particles = frame.particles
            particles.N, particles.types = len(data.body), names
            particles.typeid = kinds[data.body]
            if masses is not None:
                particles.mass = masses[data.body]
            particles.position, particles.velocity = data.points, data.velocity
            particles.diameter = 2.0 * data.radius
            frame.log = {"time": np.array([t]), "particles/body": data.body}
            if "orientation" in data.more:
                particles.orientation, frame.log["particles/spin"] = data.more["orientation"], data.more["spin"]
            if facts.parts is not None:
                particles.body = data.body
            file.append(frame)


def _types(sol: Solution, count: int) -> tuple[list[str], NDArray[Any]]:
    """The names of the groups, and the group of each body; the last group contains all other bodies."""
    groups = sol.facts.groups
    if groups is None or len(groups.number) != count:
        return ["A"], np.zeros(count, dtype=np.uint32)
    names = [*groups.names, "A"]
    return names, (groups.number % len(names)).astype(np.uint32)
