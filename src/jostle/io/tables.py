"""Exports as tables and arrays: .csv for spreadsheets, pandas and R, .npz for NumPy."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from jostle._tools.rotations import AXES
from jostle.io.exports import pictures, radii
from jostle.io.pictures import Scene
from jostle.result.solution import Solution

OF_TURNING = (
    ("spin", ("spin_x", "spin_y", "spin_z")), ("turn", ("turn",)), ("orientation", ("qw", "qx", "qy", "qz")),
    ("centre", ("centre_x", "centre_y", "centre_z")),
)  # fmt: skip
"""Columns of bodies that turn; `turn` is the angle in the plane."""


def write_csv(sol: Solution, path: Path) -> None:
    """Write one row per ball and time; of clumps the centre of mass of the body as well."""
    with open(path, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        more = [name for name, _ in OF_TURNING if name in _names(sol)]
        columns = [column for name, some in OF_TURNING if name in more for column in some]
        table.writerow(["t", "body", "x", "y", "z", "vx", "vy", "vz", "radius", *columns])
        for t, picture in pictures(sol):
            turned = [picture.more[name] for name in more]
            numbers = np.column_stack([picture.points, picture.velocity, picture.radius, *turned])
            for body, row in zip(picture.body.tolist(), _shortest(numbers), strict=True):
                table.writerow([t, body, *row])


def _names(sol: Solution) -> set[str]:
    """The columns of bodies that turn, by their names in a `Picture`."""
    facts = sol.facts
    if facts.inertia is None:
        return set()
    return {"spin", "turn" if facts.dimension == 2 else "orientation"} | ({"centre"} if facts.clumped else set())


def _shortest(numbers: NDArray[Any]) -> list[list[Any]]:
    """Rows of numbers, written with as many digits as their precision has."""
    return numbers.astype("U").tolist() if numbers.dtype == np.float32 else numbers.tolist()  # type: ignore[no-any-return]


def write_npz(sol: Solution, path: Path) -> None:
    """Write NumPy arrays; contacts of all frames are concatenated, those of frame k end at contact_ends[k].

    Of clumps, `places` are the centres of the balls, and `owner` is the body of each ball.
    """
    sizes = [len(p) for p in sol.multipliers]
    widest = max((normal.shape[1] for normal in sol.normals), default=0)
    normals = (np.pad(normal, ((0, 0), (0, widest - normal.shape[1]))) for normal in sol.normals)
    count, steps, contacts = len(sol.t), len(sol.stats), sum(sizes)
    scene = Scene(sol.q.shape[1:], dtype=float, dimension=sol.facts.dimension, bodies=sol.facts.bodies)
    sizes_of_all = (scene.broadcast(np.asarray(some, dtype=float)) for some in radii(sol))
    arrays: dict[str, tuple[DTypeLike, tuple[int, ...], Iterable[Any]]] = {
        "t": (float, (count,), sol.t),
        "q": (float, sol.q.shape, sol.q),
        "u": (float, sol.u.shape, sol.u),
        "radii": (float, (count, scene.count), sizes_of_all),
        "pairs": (np.int64, (contacts, 2), sol.pairs),
        "multipliers": (float, (contacts,), sol.multipliers),
        "normals": (float, (contacts, widest), normals),
        "contact_ends": (np.int64, (count,), accumulate(sizes)),
        "stats": (sol.stats.dtype, (steps,), [sol.stats]),
        "status": (f"U{len(sol.status)}", (), [sol.status]),
    }
    if sol.turn is not None and sol.spin is not None and sol.tangential is not None and sol.rolling is not None:
        d = sol.facts.dimension
        arrays |= {
            "turn": (float, sol.turn.shape, sol.turn),
            "spin": (float, sol.spin.shape, sol.spin),
            "tangential": (float, (contacts, d), sol.tangential),
            "rolling": (float, (contacts, AXES[d]), sol.rolling),
        }
    if (clumped := sol.facts.clumped) is not None:
        arrays["owner"] = np.int64, clumped.owner.shape, [clumped.owner]
        arrays["places"] = float, (count, scene.count, sol.facts.dimension), (sol.places(k) for k in range(count))
    with zipfile.ZipFile(path, "w") as archive:
        for name, (dtype, shape, parts) in arrays.items():
            header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array_header_2_0(file, header)
                for part in parts:
                    file.write(np.asarray(part, dtype=dtype).tobytes())
