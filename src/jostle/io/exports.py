"""Trajectories for other programs: `export` writes what the suffix of the target says.

    .vtkhdf   HDF5, one file for all times: VTK, ParaView and `jostle.io.read`
    .pvd      a series of .vtp files beside it, for ParaView and what else reads XML files of VTK; .vtp is the same
    .gsd      HOOMD, OVITO and freud, without contacts; log/time is the time, log/particles/body the number of a body
    .csv      a row for each body at each time: spreadsheets, pandas, R
    .npz      the arrays of NumPy; contacts one after the other, those of frame k end at contact_ends[k]

States are taken one at a time, so that the trajectory need not fit into memory. A target is written under another name
first: it is there as a whole or not at all.
"""

from __future__ import annotations

import csv
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.errors import InvalidValue, MissingPackage
from jostle.io.container import beside, publish, refuse_existing, whole
from jostle.io.pictures import Picture, Scene, points_of
from jostle.io.reading import Ragged, States, about, read
from jostle.io.reading import Source as Stored
from jostle.io.trajectory import Writer
from jostle.shapes import Shape
from jostle.solution import Solution


@check_arguments
def export(source: Solution | str | os.PathLike[str], target: str | os.PathLike[str]) -> Path:
    """Write a solution, or a trajectory file, in the format that the suffix of the target says; the file written.

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
    if path.suffix not in FORMATS:
        raise InvalidValue(f"cannot export to {path.name}: the suffix must be one of {', '.join(FORMATS)}")
    sol = source if isinstance(source, Solution) else read(source)
    if path.suffix == ".vtkhdf":
        noted = None if isinstance(source, Solution) else about(source)
        return write(sol, path, dtype=_precision(sol), about=noted)
    return FORMATS[path.suffix](sol, path)


@check_arguments
def write(
    sol: Solution,
    path: str | os.PathLike[str],
    *,
    dtype: DTypeLike = np.float32,
    about: Mapping[str, str] | None = None,
) -> Path:
    """Write a solution as a trajectory file, which must not exist, and which `read`, VTK and ParaView open.

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
    stored = _file_of(sol)
    contacts = stored is None or stored.header.contacts
    new = beside(path)
    try:
        with Writer(new, shape=sol.q.shape[1:], contacts=contacts, dtype=dtype, facts=sol.facts, about=noted) as file:
            contacts_of = (sol.pairs, sol.multipliers, sol.normals, _durations(sol))
            for state in zip(sol.t, sol.q, sol.u, _radii(sol), *contacts_of, _shapes(sol), strict=True):
                file.frame(*state)
            file.steps(sol.stats)
            file.close(sol.status)
        publish(new, path)
    finally:
        new.unlink(missing_ok=True)
    return path


def _file_of(sol: Solution) -> Stored | None:
    """The file that a solution was read from, if it was."""
    q: Any = sol.q
    return q.source if isinstance(q, States) else None


def _durations(sol: Solution) -> Array:
    """(k,) the time over which the multipliers of each saved time acted; NaN if it is not known."""
    known = np.full(len(sol.t), np.nan) if sol.durations is None else np.array(sol.durations)
    if sol.order != 0 and sol.scheme is not None and sol.contacts_saved:
        for k in np.flatnonzero(np.isnan(known)):
            known[k] = sol.duration(int(k))
    return known


def _precision(sol: Solution) -> np.dtype[Any]:
    stored = _file_of(sol)
    return np.dtype(float) if stored is None else stored.dtype


def _radii(sol: Solution) -> Iterable[Any]:
    """The radii at each saved time: of the file, of the problem, or 0."""
    stored = _file_of(sol)
    if stored is not None:
        return Ragged(stored, stored.radii)
    return (0.0 if sol.problem is None else sol.problem.within.radii_at(t) for t in sol.t)


def _shapes(sol: Solution) -> Iterator[tuple[Shape, ...]]:
    """The shapes of the walls at each saved time; walls at rest are looked at once."""
    shapes = sol.shapes(0)
    for k in range(len(sol.t)):
        shapes = sol.shapes(k) if k and sol.facts.walls_move else shapes
        yield shapes


def _pictures(sol: Solution, contacts: bool = False) -> Iterator[tuple[float, Picture]]:
    """Time and picture of one frame after the other."""
    scene = Scene(sol.q.shape[1:], contacts=contacts, dtype=_precision(sol))
    touching = (sol.pairs, sol.multipliers, sol.normals) if contacts else ([()] * len(sol.t),) * 3
    walls = _shapes(sol) if contacts else [()] * len(sol.t)
    for t, *state in zip(sol.t, sol.q, sol.u, _radii(sol), *touching, walls, strict=True):
        yield float(t), scene.picture(*state)


def _csv(sol: Solution, path: Path) -> Path:
    with whole(path) as new, open(new, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["t", "body", "x", "y", "z", "vx", "vy", "vz", "radius"])
        for t, picture in _pictures(sol):
            numbers = np.column_stack([picture.points, picture.velocity, picture.radius])
            for body, row in zip(picture.body.tolist(), _shortest(numbers), strict=True):
                table.writerow([t, body, *row])
    return path


def _shortest(numbers: NDArray[Any]) -> list[list[Any]]:
    """Rows of numbers that are written with as many digits as their precision has."""
    return numbers.astype("U").tolist() if numbers.dtype == np.float32 else numbers.tolist()  # type: ignore[no-any-return]


def _npz(sol: Solution, path: Path) -> Path:
    sizes = [len(p) for p in sol.multipliers]
    widest = max((normal.shape[1] for normal in sol.normals), default=0)
    normals = (np.pad(normal, ((0, 0), (0, widest - normal.shape[1]))) for normal in sol.normals)
    count, steps, contacts = len(sol.t), len(sol.stats), sum(sizes)
    scene = Scene(sol.q.shape[1:], dtype=float)
    radii = (scene.broadcast(np.asarray(radii, dtype=float)) for radii in _radii(sol))
    arrays: dict[str, tuple[DTypeLike, tuple[int, ...], Iterable[Any]]] = {
        "t": (float, (count,), sol.t),
        "q": (float, sol.q.shape, sol.q),
        "u": (float, sol.u.shape, sol.u),
        "radii": (float, (count, scene.count), radii),
        "pairs": (np.int64, (contacts, 2), sol.pairs),
        "multipliers": (float, (contacts,), sol.multipliers),
        "normals": (float, (contacts, widest), normals),
        "contact_ends": (np.int64, (count,), accumulate(sizes)),
        "stats": (sol.stats.dtype, (steps,), [sol.stats]),
        "status": (f"U{len(sol.status)}", (), [sol.status]),
    }
    with whole(path) as new, zipfile.ZipFile(new, "w") as archive:
        for name, (dtype, shape, parts) in arrays.items():
            header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array_header_2_0(file, header)
                for part in parts:
                    file.write(np.asarray(part, dtype=dtype).tobytes())
    return path


def _gsd(sol: Solution, path: Path) -> Path:
    try:
        import gsd.hoomd
    except ImportError:
        raise MissingPackage("a .gsd file needs the package gsd: pip install jostle[export]") from None

    _, d = points_of(sol.q.shape[1:])
    far = np.zeros(3)
    for _, picture in _pictures(sol):
        reach = np.abs(picture.points) + picture.radius[:, None]
        far = np.maximum(far, reach.max(axis=0, initial=0.0))
    sides = np.where(far > 0.0, 2.0 * far, 1.0)
    with whole(path) as new, gsd.hoomd.open(str(new), "w") as file:
        for step, (t, picture) in enumerate(_pictures(sol)):
            frame = gsd.hoomd.Frame()
            frame.configuration.step = step
            frame.configuration.dimensions = 3 if d == 3 else 2
            frame.configuration.box = [*sides, 0.0, 0.0, 0.0]
            particles = frame.particles
            particles.N, particles.types = len(picture.body), ["A"]
            particles.position, particles.velocity = picture.points, picture.velocity
            particles.diameter = 2.0 * picture.radius
            frame.log = {"time": np.array([t]), "particles/body": picture.body}
            file.append(frame)
    return path


def _pvd(sol: Solution, path: Path) -> Path:
    entries = []
    for k, (t, picture) in enumerate(_pictures(sol, contacts=True)):
        name = f"{path.stem}_{k:06d}.vtp"
        with whole(path.with_name(name)) as new:
            new.write_bytes(b"".join(_vtp(picture)))
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


def _vtp(picture: Picture) -> Iterator[bytes]:
    """An XML file of VTK: the arrays stand behind it, each after its number of bytes."""
    touching, n = picture.touching, len(picture.points)
    assert touching is not None
    cells, walls = min(picture.n, 1), len(picture.walls.ends)
    groups: dict[str, dict[str, NDArray[Any]]] = {
        "PointData": {"velocity": picture.velocity, "body": picture.body, "radius": picture.radius},
        "CellData": {
            name: np.concatenate([_cells(values, cells, 0), values, _cells(values, walls, -(values.dtype.kind == "i"))])
            for name, values in (
                ("impulse", touching.impulse), ("normal", touching.normal), ("body", touching.first),
                ("partner", touching.second),
            )
        },
        "Points": {"Points": picture.points},
        "Verts": {"connectivity": np.arange(picture.n), "offsets": np.full(cells, picture.n)},
        "Lines": {"connectivity": picture.joined, "offsets": picture.ends},
    }  # fmt: skip
    parts, at = [], 0
    yield b'<VTKFile type="PolyData" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n<PolyData>\n'
    yield f'<Piece NumberOfPoints="{n}" NumberOfVerts="{cells}" NumberOfLines="{len(picture.ends)}">\n'.encode()
    for group, arrays in groups.items():
        yield f"<{group}>\n".encode()
        for name, array in arrays.items():
            values = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            kind = f"{'Float' if values.dtype.kind == 'f' else 'Int'}{8 * values.itemsize}"
            width = values.shape[1] if values.ndim == 2 else 1
            what = f'type="{kind}" Name="{name}" NumberOfComponents="{width}"'
            yield f'<DataArray {what} format="appended" offset="{at}"/>\n'.encode()
            parts += [values.nbytes.to_bytes(8, "little"), values.tobytes()]
            at += 8 + values.nbytes
        yield f"</{group}>\n".encode()
    yield b'</Piece>\n</PolyData>\n<AppendedData encoding="raw">\n_'
    yield from parts
    yield b"\n</AppendedData>\n</VTKFile>\n"


def _cells(like: NDArray[Any], count: int, value: int) -> NDArray[Any]:
    return np.full((count, *like.shape[1:]), value, dtype=like.dtype)


FORMATS: dict[str, Callable[[Solution, Path], Path]] = {
    ".vtkhdf": write, ".pvd": _pvd, ".vtp": _pvd, ".gsd": _gsd, ".csv": _csv, ".npz": _npz,
}  # fmt: skip
