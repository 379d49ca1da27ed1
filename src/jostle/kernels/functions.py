"""Functions of the user, compiled for the loop over many copies of a small system (`kernels.cpu.copies`).

They get numbers and read-only arrays, and return a number, a tuple or an array. What they raise ends the loop.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba
import numpy as np
from numba.core import errors, types
from numba.extending import overload

from jostle._tools.arrays import Array
from jostle.kernels.compiling import FORCE, GLIDE, READ, ROWS

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
DIFFERENCE = float(np.finfo(float).eps) ** (1.0 / 3.0)
"""Step of central differences, as a fraction of the coordinate or the length."""
DIP = 4.0 / 27.0
"""A cubic with the rates -a and b at the ends of a step dips by at most this multiple of h (a + b)."""
MAX_KEPT = 64
"""Number of compiled functions that are kept."""


class CannotCompile(Exception):
    """Why numba refuses a function."""


def compiled(function: Callable[..., Any], *sizes: int) -> Any:
    """The function for a time and read-only arrays of these sizes; an index outside them is an IndexError."""
    signature, plain = (types.float64, *(READ,) * len(sizes)), getattr(function, "py_func", function)
    inner = numba.njit(boundscheck=not _reads_within(plain, sizes), **OPTIONS)(plain)
    try:
        inner.compile(signature)
    except errors.NumbaError as error:
        raise CannotCompile(_reason(error)) from None
    returned = inner.overloads[signature].signature.return_type
    if not isinstance(returned, types.Number | types.Boolean | types.BaseTuple | types.Array | types.List):
        raise CannotCompile(f"it returns {returned}, and not a number, a tuple or an array")
    return inner


def _reads_within(function: Callable[..., Any], sizes: tuple[int, ...]) -> bool:
    """Whether each index in a function is a constant within the size of an argument after the first, so that it need
    not be checked in each call: a function that checks is six times slower, because nothing is compiled across it."""
    size_of = dict(zip(function.__code__.co_varnames[1:], sizes, strict=False))
    steps = list(dis.get_instructions(function))
    for k, step in enumerate(steps):
        if step.opname.startswith("STORE_FAST") and step.argval in size_of:
            return False
        if step.opname == "BINARY_SUBSCR" or (step.opname == "BINARY_OP" and step.argrepr == "[]"):
            array, index = steps[k - 2], steps[k - 1]
            constant = index.opname in ("LOAD_CONST", "LOAD_SMALL_INT") and type(index.argval) is int
            known = array.opname.startswith("LOAD_FAST") and array.argval in size_of
            if not (constant and known and 0 <= index.argval < size_of[array.argval]):
                return False
        elif step.opname in ("BINARY_SLICE", "MAKE_FUNCTION"):
            return False
    return True


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
def force_of(function: Callable[..., Any], d: int, k: int) -> Any:
    """force(t, q, u, parameters, out) of a function force(t, q, u, parameters), with d coordinates and k parameters."""
    inner = compiled(function, d, d, k)

    def force(t: float, q: Array, u: Array, parameters: Array, out: Array) -> None:
        _store(out, inner(t, q, u, parameters))

    return _wrapped(force, FORCE)


@lru_cache(MAX_KEPT)
def rows_of(function: Callable[..., Any], gradient: Callable[..., Any] | None, step: float, d: int, k: int) -> Any:
    """rows(t, q, parameters, gap, G) of gaps(t, q, parameters) and their gradient; differences over +- step if none."""
    inner = compiled(function, d, k)
    if gradient is not None:
        slope = compiled(gradient, d, k)

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


@lru_cache(MAX_KEPT)
def glide_of(force: Any, d: int, m: int) -> Any:
    """glide(t0, done, left, h, held, state, parameters, root, shift, G, vectors) for a compiled force: how many of the
    steps that are left are done, which is until a gap shift + G q may close, the contact `held` at rest (-1: none)
    opens, or the motion is not resolved.

    The same steps as those of `cpu.flights`, compiled together with the force. With no steps left it computes one
    flight of length h, NEW_Q and NEW_U, whatever it meets, and returns 1.
    """
    from jostle.kernels.cpu.flights import COARSE, NEW_Q, NEW_U, Q_NOISE, RATE, RELEASE, SLOPE, STAGE_Q, STAGE_U, SUM
    from jostle.kernels.reference.copies import Q, U

    def glide(
        t0: float, done: int, left: int, h: float, held: int, state: Array, parameters: Array, root: Array,
        shift: Array, G: Array, vectors: Array,
    ) -> int:  # fmt: skip
        q, u, stage_q, stage_u, rate = state[Q], state[U], vectors[STAGE_Q], vectors[STAGE_U], vectors[RATE]
        q_sum, u_sum, new_q, new_u = vectors[SLOPE], vectors[SUM], vectors[NEW_Q], vectors[NEW_U]
        square = 0.0
        for k in range(d):
            square += (G[max(held, 0), k] * root[k]) ** 2
        for count in range(max(left, 1)):
            t = t0 + (done + count) * h
            for k in range(d):
                stage_q[k], stage_u[k], u_sum[k], q_sum[k] = q[k], u[k], 0.0, 0.0
            for stage in range(0 if d == 1 and held >= 0 else 4):
                time = t if stage == 0 else t + h if stage == 3 else t + 0.5 * h
                weight = 1.0 if stage in (0, 3) else 2.0
                part = 0.5 * h if stage < 2 else h
                rate[0] = np.nan
                force(time, stage_q, stage_u, parameters, rate)
                along = 0.0
                for k in range(d):
                    rate[k] *= root[k] * root[k]
                    along += G[max(held, 0), k] * rate[k]
                for k in range(d):
                    if held >= 0:
                        rate[k] -= root[k] * root[k] * G[held, k] * along / square
                    slope, change = stage_u[k], rate[k]
                    u_sum[k] += weight * change
                    q_sum[k] += weight * slope
                    stage_q[k] = q[k] + part * slope
                    stage_u[k] = u[k] + part * change
            way, speed, size = 0.0, 0.0, 0.0
            for k in range(d):
                new_q[k] = q[k] + h / 6.0 * q_sum[k]
                new_u[k] = u[k] + h / 6.0 * u_sum[k]
                way = max(way, abs(new_q[k] - q[k] - 0.5 * h * (u[k] + new_u[k])))
                speed, size = max(speed, abs(u[k]) + abs(new_u[k] - u[k])), max(size, abs(q[k]))
            if left == 0:
                return 1
            if not way <= COARSE * h * speed + Q_NOISE * size or not abs(way) < np.inf:
                return count
            if held >= 0:  # neither a gap nor a rate, and no force that opens it
                gap, along, push, size = shift[held], 0.0, 0.0, 0.0
                for k in range(d):
                    gap += G[held, k] * new_q[k]
                    along += G[held, k] * new_u[k]
                for k in range(d):
                    new_q[k] -= root[k] * root[k] * G[held, k] * gap / square
                    new_u[k] -= root[k] * root[k] * G[held, k] * along / square
                rate[0] = np.nan
                force(t + h, new_q, new_u, parameters, rate)
                for k in range(d):
                    push += G[held, k] * rate[k] * root[k] * root[k]
                    size += abs(G[held, k] * rate[k] * root[k] * root[k])
                if not push <= RELEASE * size:
                    return count
            for i in range(m):
                if i == held:
                    continue
                first, gap, before, after = shift[i], shift[i], 0.0, 0.0
                for k in range(d):
                    first += G[i, k] * q[k]
                    gap += G[i, k] * new_q[k]
                    before += G[i, k] * u[k]
                    after += G[i, k] * new_u[k]
                if not gap >= 0.0 or (before < 0.0 and after > 0.0 and min(first, gap) <= DIP * h * (after - before)):
                    return count
            for k in range(d):
                q[k], u[k] = new_q[k], new_u[k]
        return left

    return _wrapped(glide, GLIDE)


def _wrapped(function: Callable[..., None], signature: Any) -> Any:
    try:
        return numba.njit(signature, **OPTIONS)(function)
    except errors.NumbaError as error:
        raise CannotCompile(_reason(error)) from None
