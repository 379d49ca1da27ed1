"""Exports for ParaView and other readers of VTK XML files: a .pvd file, and one .vtp file per time beside it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.io.exports import Series, pictures
from jostle.io.new_files import whole
from jostle.io.pictures import Picture
from jostle.result.solution import Solution


def write_pvd(sol: Solution, path: Path) -> Path:
    """Write the series, and return the .pvd file, which lists the others."""
    entries = []
    for k, (t, picture) in enumerate(pictures(sol, contacts=True)):
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
    """A VTK XML file; each array is written in base64, after its number of bytes."""
    # Appended raw data would be a quarter smaller, but ParaView 5.11 of Debian 12 cannot read appended data.
    touching, n = picture.touching, len(picture.points)
    assert touching is not None
    cells, walls = min(picture.n, 1), len(picture.walls.ends)
    groups: dict[str, dict[str, NDArray[Any]]] = {
        "PointData": {"velocity": picture.velocity, "body": picture.body, "radius": picture.radius, **picture.more},
        "CellData": {
            name: np.concatenate([_cells(values, cells, 0), values, _cells(values, walls, -(values.dtype.kind == "i"))])
            for name, values in (
                ("impulse", touching.impulse), ("normal", touching.normal), ("body", touching.first),
                ("partner", touching.second), *touching.more.items(),
            )
        },
        "Points": {"Points": picture.points},
        "Verts": {"connectivity": np.arange(picture.n), "offsets": np.full(cells, picture.n)},
        "Lines": {"connectivity": picture.joined, "offsets": picture.ends},
    }  # fmt: skip
    yield b'<VTKFile type="PolyData" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n<PolyData>\n'
    yield f'<Piece NumberOfPoints="{n}" NumberOfVerts="{cells}" NumberOfLines="{len(picture.ends)}">\n'.encode()
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


PVD = Series(write_pvd)
"""Export to a series of .vtp files with a .pvd file that lists them."""
