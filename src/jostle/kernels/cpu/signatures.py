"""The types that kernels declare: annotations of their arguments, read by mypy and by numba.

An array that a kernel only reads is declared as read-only, and numba accepts writable ones in its place. So each kernel
is compiled once, whatever arrays it is called with. Arrays are C-contiguous.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Floats2 = NDArray[np.float64]
Floats3 = NDArray[np.float64]
Singles3 = NDArray[np.float32]
OutFloats = NDArray[np.float64]
OutFloats2 = NDArray[np.float64]
OutFloats3 = NDArray[np.float64]
Ints = NDArray[np.int64]
Ints2 = NDArray[np.int64]
OutInts = NDArray[np.int64]
OutInts2 = NDArray[np.int64]
Shorts = NDArray[np.int32]
Shorts2 = NDArray[np.int32]
OutShorts = NDArray[np.int32]
OutShorts2 = NDArray[np.int32]
Indices = NDArray[np.uint32]
Indices2 = NDArray[np.uint32]
OutIndices = NDArray[np.uint32]
OutIndices2 = NDArray[np.uint32]
Bools = NDArray[np.bool_]
Bools2 = NDArray[np.bool_]
OutBools = NDArray[np.bool_]
OutBits = NDArray[np.uint64]
Force = Callable[..., None]
Rows = Callable[..., None]

READ, WRITTEN = types.Array(types.float64, 1, "C", readonly=True), types.Array(types.float64, 1, "C")
FORCE = types.void(types.float64, READ, READ, READ, WRITTEN)
"""force(t, q, u, parameters, out): a compiled function of the user."""
ROWS = types.void(types.float64, READ, READ, WRITTEN, types.Array(types.float64, 2, "C"))
"""rows(t, q, parameters, gap, G): the gaps (m,) and their gradients (m, d), of a function of the user."""
SCALARS = {
    "int": types.int64, "float": types.float64, "bool": types.boolean, "Nothing": types.none, "Any": None,
    "Force": types.FunctionType(FORCE), "Rows": types.FunctionType(ROWS),
}  # fmt: skip
ENTRIES = {
    "Floats": types.float64,
    "Singles": types.float32,
    "Ints": types.int64,
    "Shorts": types.int32,
    "Indices": types.uint32,
    "Bits": types.uint64,
    "Bools": types.boolean,
}
ARRAYS = tuple(
    types.Array(entry, dimension, "C", readonly=readonly)
    for entry in ENTRIES.values()
    for dimension in (1, 2, 3)
    for readonly in (False, True)
)
"""The types of all arrays that kernels take, held from the start. Numba numbers a type when it meets one that nobody
holds, and this takes two steps: threads that met a type at the same time gave it several numbers, and numba found no
kernel for all but one of them ("No matching definition for argument type(s)")."""


def declared(function: Any) -> tuple[Any, ...] | None:
    """The numba types of the arguments of a function; None if it does not annotate them.

    The type of an argument that is annotated with Any is None here: a helper takes it from its caller.

    >>> def scale(x: Floats, factor: float, out: OutFloats2) -> None: ...
    >>> declared(scale)
    (Array(float64, 1, 'C', True, aligned=True), float64, Array(float64, 2, 'C', False, aligned=True))
    """
    names = [name for argument, name in function.__annotations__.items() if argument != "return"]
    return tuple(_numba_type(name) for name in names) if names else None


def _numba_type(name: str) -> Any:
    if name in SCALARS:
        return SCALARS[name]
    entries = name.removeprefix("Out")
    dimension = int(entries[-1]) if entries[-1].isdigit() else 1
    return types.Array(ENTRIES[entries.rstrip("23")], dimension, "C", readonly=entries == name)
