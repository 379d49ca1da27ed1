"""The sources of the kernels, compiled by CuPy when they are first needed, and how they are launched."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import cupy
import numpy as np

from jostle.kernels.reference.sweeps import DAMPING, DRIFT, FAR, RISE, TIGHT, TIGHT_DAMPING, WINDOW

SOURCES = ("common.cu", "bodies.cu", "contacts.cu", "cells.cu", "arrangement.cu")
SWEEPS = ("sweeps.cu", "fused.cu")
"""The sources of the sweeps, which follow those of a kind of rows."""
THREADS, MOST_BLOCKS, SUMMING_BLOCKS = 256, 8192, 256
"""Threads of a block, and most blocks, in kernels that treat each row or body by itself, and in those whose blocks each
write a sum; threads may take several rows."""
TEAM = 128
"""Threads that sweep a block of rows together."""
SWEEPING_THREADS = 3 * TEAM
"""Threads of a block of the sweeps."""
PIECE = 4 * TEAM
"""Bodies that a team treats at a time, between the sweeps."""
COLOURS = 64
"""The last one is for the rows of bodies with too many: these may share a body."""


class Kind(NamedTuple):
    """A kind of rows that can be swept; its source says what the numbers are, and has their counts as constants."""

    source: str
    d: int
    width: int
    """Coordinates of a body."""
    stride: int
    """Numbers of a body: coordinates, inverse masses, and zeros up to an even count."""
    numbers: int
    """Numbers of a row that do not change."""
    parts: int
    """Numbers of a multiplier."""
    limits: int
    """Numbers of a row that the stopping test needs."""
    staged: int
    """Rows that a team has at hand in the memory of its processor; it reads further ones when they are needed."""
    resident: int
    """How many blocks of threads of the sweeps a processor shall hold at a time."""


def without_friction(d: int) -> Kind:
    """Contacts of bodies that do not turn."""
    return Kind("rows.cu", d, d, 2 if d == 1 else 4, d + 1, 1, 1, 256, 2)


def with_friction(d: int) -> Kind:
    """Contacts of balls with spin."""
    return Kind("grips.cu", d, 3 if d == 2 else 6, 6 if d == 2 else 8, 2 * d + 5, d, 2, 96, 1)


@cache
def _module(sources: tuple[str, ...], **defined: float) -> Any:
    """The kernels of some sources."""
    text = "\n".join((Path(__file__).parent / name).read_text() for name in sources)
    return cupy.RawModule(code=text, options=("--std=c++17", *(f"-D{name}={value}" for name, value in defined.items())))


@cache
def function(name: str, kind: int | Kind) -> Any:
    """A kernel in a number of dimensions, or one of the sweeps over a kind of rows."""
    if not isinstance(kind, Kind):
        return _module(SOURCES, D=kind, COLOURS=COLOURS).get_function(name)
    counts = {name.upper(): value for name, value in kind._asdict().items() if name not in ("source", "d")}
    sizes = {"THREADS": SWEEPING_THREADS, "TEAM": TEAM, **counts}
    limits = {"FAR": FAR, "RISE": RISE, "DRIFT": DRIFT, "WINDOW": WINDOW}
    limits |= {"DAMPING": DAMPING, "TIGHT_DAMPING": TIGHT_DAMPING, "TIGHT": TIGHT}
    sources = "common.cu", kind.source, *SWEEPS
    return _module(sources, D=kind.d, COLOURS=COLOURS, PIECE=PIECE, **sizes, **limits).get_function(name)


@cache
def sweeping(kind: Kind) -> tuple[Any, int]:
    """The kernel of the sweeps, and how many bytes of the memory of a processor each of its blocks of threads needs."""
    kernel, teams = function("gauss_seidel", kind), SWEEPING_THREADS // TEAM
    size = 8 * teams * (kind.numbers + 2 * kind.parts + 1) * kind.staged
    kernel.max_dynamic_shared_size_bytes = size
    return kernel, size


def each(name: str, kind: int | Kind, count: int, *arguments: Any, most: int = MOST_BLOCKS) -> None:
    """Run a kernel that does one thing for each of `count` rows or bodies, its first argument."""
    if count:
        blocks = min(-(-count // THREADS), most)
        function(name, kind)((blocks,), (THREADS,), (np.int64(count), *arguments))


def summed_by_blocks(name: str, d: int, count: int, *arguments: Any, sums: int) -> Any:
    """(blocks, sums) the numbers that the blocks of threads of a kernel compute, each for some of the bodies.

    The array is the last argument of the kernel.
    """
    out = cupy.zeros((SUMMING_BLOCKS, sums))
    each(name, d, count, *arguments, out, most=SUMMING_BLOCKS)
    return out[: -(-count // THREADS)]


def floats(*arrays: Any) -> list[Any]:
    """The arrays as kernels read them, which look at no type: float64, without gaps."""
    return [cupy.ascontiguousarray(array, np.float64) for array in arrays]


def whole(*arrays: Any) -> list[Any]:
    """Arrays of whole numbers as kernels read them, which look at no type: int64, without gaps."""
    return [cupy.ascontiguousarray(array, np.int64) for array in arrays]


def summed(counts: Any) -> Any:
    """The sums of all entries up to each."""
    return cupy.cumsum(counts, dtype=np.int64)


def on_host(array: Any) -> Any:
    """A copy on the host, once it has been computed."""
    return cupy.asnumpy(array)


def incident(i: Any, j: Any, bodies: int) -> tuple[Any, Any]:
    """(start, lists): the rows of body a are lists[start[a]:start[a + 1]], 2 c where it is the first of row c, 2 c + 1
    where it is the second, in order. Those of the last call are kept, since a projection needs them twice: i and j must
    not be written to."""
    global _last
    i, j = whole(i, j)
    found = _last  # another thread may replace it at any time
    if found is None or not (found[0] is i and found[1] is j and found[2] == bodies):
        counts = cupy.zeros(bodies + 1, np.uint64)
        each("count_incident", 1, len(i), i, j, counts)
        start = summed(counts.view(np.int64))
        lists = cupy.empty(2 * len(i), np.int32)
        each("fill_incident", 1, len(i), i, j, start, cupy.zeros(bodies, np.uint32), lists)
        each("sort_lists", 1, bodies, start, lists)
        _last = found = i, j, bodies, start, lists
    return found[3], found[4]


_last: tuple[Any, Any, int, Any, Any] | None = None
