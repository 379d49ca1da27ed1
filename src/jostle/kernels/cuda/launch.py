"""The sources of the kernels, compiled by CuPy when they are first needed, and how they are launched."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from jostle.kernels.reference.sweeps import DRIFT, FAR, RISE

SOURCES = ("common.cu", "bodies.cu", "contacts.cu", "cells.cu", "arrangement.cu", "sweeps.cu", "fused.cu")
THREADS, MOST_BLOCKS, SUMMING_BLOCKS = 256, 8192, 256
"""Threads of a block, and most blocks, in kernels that treat each row or body by itself, and in those whose blocks each
write a sum; threads may take several rows."""
TEAM = 128
"""Threads that sweep a block of rows together."""
SWEEPING_THREADS, RESIDENT = 3 * TEAM, 2
"""Threads of a block of the sweeps, and how many such blocks a processor shall hold at a time."""
STAGED = 256
"""Rows that a team has at hand in the memory of its processor; it reads further ones when they are needed."""
PIECE = 4 * TEAM
"""Bodies that a team treats at a time, between the sweeps."""
COLOURS = 64
"""The last one is for the rows of bodies with too many: these may share a body."""


@cache
def _module(d: int) -> Any:
    """All kernels for contacts in d dimensions."""
    text = "\n".join((Path(__file__).parent / name).read_text() for name in SOURCES)
    sizes = {"THREADS": SWEEPING_THREADS, "RESIDENT": RESIDENT, "TEAM": TEAM, "STAGED": STAGED, "PIECE": PIECE}
    defined = {"D": d, "COLOURS": COLOURS, "FAR": FAR, "RISE": RISE, "DRIFT": DRIFT, **sizes}
    return cupy.RawModule(code=text, options=("--std=c++17", *(f"-D{name}={value}" for name, value in defined.items())))


@cache
def function(name: str, d: int) -> Any:
    """A kernel in d dimensions."""
    return _module(d).get_function(name)


@cache
def sweeping(d: int) -> tuple[Any, int]:
    """The kernel of the sweeps, and how many bytes of the memory of a processor each of its blocks of threads needs."""
    kernel, size = function("gauss_seidel", d), 8 * (SWEEPING_THREADS // TEAM) * (d + 4) * STAGED
    kernel.max_dynamic_shared_size_bytes = size
    return kernel, size


def each(name: str, d: int, count: int, *arguments: Any, most: int = MOST_BLOCKS) -> None:
    """Run a kernel that does one thing for each of `count` rows or bodies, its first argument."""
    if count:
        blocks = min(-(-count // THREADS), most)
        function(name, d)((blocks,), (THREADS,), (np.int64(count), *arguments))


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
