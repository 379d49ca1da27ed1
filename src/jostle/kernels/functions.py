"""Functions of the user, compiled for the loop over many copies of a small system (`kernels.cpu.copies`).

They get numbers and read-only arrays, and return a number, a tuple or an array. What they raise ends the loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba
import numpy as np
from numba.core import errors, types
from numba.extending import overload

from jostle._tools.arrays import Array
from jostle.kernels.compiling import FORCE, READ, ROWS

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
DIFFERENCE = float(np.finfo(float).eps) ** (1.0 / 3.0)
"""Step of central differences, as a fraction of the coordinate or the length."""
MAX_KEPT = 64
"""Number of compiled functions that are kept."""


class CannotCompile(Exception):
    """Why numba refuses a function."""


def compiled(function: Callable[..., Any], arguments: int) -> Any:
    """The function for a time and read-only arrays; an index outside them is an IndexError."""
    signature = types.float64, *(READ,) * (arguments - 1)
    inner = numba.njit(boundscheck=True, **OPTIONS)(getattr(function, "py_func", function))
    try:
        inner.compile(signature)
    except errors.NumbaError as error:
        raise CannotCompile(_reason(error)) from None
    returned = inner.overloads[signature].signature.return_type
    if not isinstance(returned, types.Number | types.Boolean | types.BaseTuple | types.Array | types.List):
        raise CannotCompile(f"it returns {returned}, and not a number, a tuple or an array")
    return inner


def _reason(error: BaseException) -> str:
    """What numba says, without its advice: the first sentences, and the place."""
    lines = [line.strip() for line in _COLOUR.sub("", str(error)).splitlines() if line.strip()]
    place = next((line.removesuffix(":") for line in lines if line.startswith("File ")), "")
    words = [line for line in lines if not line.startswith(_ADVICE)]
    return " ".join(words[:2]) + (f" ({place})" if place else "")


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ADVICE = ("Failed in nopython", "During:", "File ", "[", "<", "This error may", "There are", "-", "^")


def _store(out: Any, value: Any) -> None:
    raise NotImplementedError


@overload(_store)
def _overloaded_store(out: Any, value: Any) -> Any:
    """out = value, a number, a tuple of numbers or an array; NaN where the lengths differ."""
    if isinstance(value, types.Number | types.Boolean):

        def store(out: Any, value: Any) -> None:
            out[0] = value if len(out) == 1 else np.nan

    elif isinstance(value, types.UniTuple | types.Array | types.List):

        def store(out: Any, value: Any) -> None:
            for k in range(len(out)):
                out[k] = value[k] if len(value) == len(out) else np.nan

    elif isinstance(value, types.Tuple):

        def store(out: Any, value: Any) -> None:
            k = 0
            for one in numba.literal_unroll(value):
                out[min(k, len(out) - 1)] = one if len(value) == len(out) else np.nan
                k += 1  # noqa: SIM113 - literal_unroll knows no enumerate

    else:
        return None
    return store


@lru_cache(MAX_KEPT)
def force_of(function: Callable[..., Any]) -> Any:
    """force(t, q, u, parameters, out) of a function force(t, q, u, parameters)."""
    inner = compiled(function, 4)

    def force(t: float, q: Array, u: Array, parameters: Array, out: Array) -> None:
        _store(out, inner(t, q, u, parameters))

    return _wrapped(force, FORCE)


@lru_cache(MAX_KEPT)
def rows_of(function: Callable[..., Any], gradient: Callable[..., Any] | None, step: float) -> Any:
    """rows(t, q, parameters, gap, G) of gaps(t, q, parameters) and their gradient; differences over +- step if none."""
    inner = compiled(function, 3)
    if gradient is not None:
        slope = compiled(gradient, 3)

        def rows(t: float, q: Array, parameters: Array, gap: Array, G: Array) -> None:
            _store(gap, inner(t, q, parameters))
            _store(G.reshape(G.size), slope(t, q, parameters))

        return _wrapped(rows, ROWS)

    def differenced(t: float, q: Array, parameters: Array, gap: Array, G: Array) -> None:
        _store(gap, inner(t, q, parameters))
        x, above, below = q.copy(), np.empty(len(gap)), np.empty(len(gap))
        for k in range(len(q)):
            x[k] = q[k] + step
            _store(above, inner(t, x, parameters))
            high = x[k]
            x[k] = q[k] - step
            _store(below, inner(t, x, parameters))
            for i in range(len(gap)):
                G[i, k] = (above[i] - below[i]) / (high - x[k])
            x[k] = q[k]

    return _wrapped(differenced, ROWS)


def planes(G: Array, offset: Array) -> Any:
    """rows(t, q, parameters, gap, G) of the flat constraints offset + G q >= 0."""
    m, d = G.shape
    return _planes(m, d, G.tobytes(), offset.tobytes())


@lru_cache(MAX_KEPT)
def _planes(m: int, d: int, normals: bytes, offsets: bytes) -> Any:
    fixed, shift = np.frombuffer(normals).reshape(m, d), np.frombuffer(offsets)

    def rows(t: float, q: Array, parameters: Array, gap: Array, G: Array) -> None:
        for i in range(m):
            total = shift[i]
            for k in range(d):
                G[i, k] = fixed[i, k]
                total += fixed[i, k] * q[k]
            gap[i] = total

    return _wrapped(rows, ROWS)


@lru_cache(MAX_KEPT)
def constant(values: bytes) -> Any:
    """force(t, q, u, parameters, out) of a force that is always the same."""
    fixed = np.frombuffer(values)

    def force(t: float, q: Array, u: Array, parameters: Array, out: Array) -> None:
        for k in range(len(out)):
            out[k] = fixed[k]

    return _wrapped(force, FORCE)


def _wrapped(function: Callable[..., None], signature: Any) -> Any:
    try:
        return numba.njit(signature, **OPTIONS)(function)
    except errors.NumbaError as error:
        raise CannotCompile(_reason(error)) from None
