"""Names of array types, and the small conversions that every layer needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jostle.errors import InvalidValue, NotFinite

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Shorts = NDArray[np.int32]
Booleans = NDArray[np.bool_]
InTime = ArrayLike | Callable[[float], ArrayLike]
"""A value, or a function of time that returns one."""


def numbers(value: Any, name: str) -> Array:
    """A new array of floats with the entries of value, which may be infinite or NaN but must be real numbers.

    It is a copy: a function that fills and returns the same array at each call keeps that array to itself.

    >>> numbers([1, 2], "force").tolist()
    [1.0, 2.0]
    >>> numbers(None, "what force(t, q) returned")
    Traceback (most recent call last):
    ...
    jostle.errors.InvalidValue: what force(t, q) returned must be numbers, not None
    """
    try:
        found = np.asarray(value)
        if found.dtype.kind in "biuf" or (found.dtype.kind == "O" and not any(one is None for one in found.flat)):
            return np.array(found, dtype=float)
    except (TypeError, ValueError):
        pass
    raise InvalidValue(f"{name} must be numbers, not {value!r}")


def at(value: InTime, t: float) -> Array:
    """The value at time t of something that may depend on time."""
    if callable(value):
        return numbers(value(t), f"what {_named(value)} returned at t = {t:g}")
    return np.asarray(value, dtype=float)


def _named(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "<lambda>")
    return "a function of time" if name == "<lambda>" else f"{name}(t)"


def frozen(value: InTime) -> Any:
    """A constant becomes a read-only array of floats; a function of time stays a function."""
    if callable(value):
        return value
    array = np.array(value, dtype=float)
    array.setflags(write=False)
    return array


def finite(value: ArrayLike, name: str) -> Array:
    """value as an array of floats, all of them finite."""
    array = numbers(value, name)
    if not np.isfinite(array).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise NotFinite(f"{name} is {array[where]} at index {where}; every entry must be finite")
    return array


def alike(value: ArrayLike, name: str, other: Array, of: str) -> Array:
    """value as an array of finite floats, repeated to the shape of another array, which is called `of`."""
    array = finite(value, name)
    try:
        return np.array(np.broadcast_to(array, other.shape))
    except ValueError as error:
        raise InvalidValue(f"{name} has shape {array.shape}, {of} has shape {other.shape}") from error


def shaped(value: ArrayLike, name: str, *shape: int) -> Array:
    """value as an array of finite floats of a shape, in which -1 stands for any length.

    >>> shaped([0, 0, 4, 0], "corners", -1, 2).tolist()
    [[0.0, 0.0], [4.0, 0.0]]
    """
    array = finite(value, name)
    try:
        return array.reshape(shape)
    except ValueError:
        words = " x ".join("k" if length < 0 else str(length) for length in shape)
        raise InvalidValue(f"{name} must be {words} numbers, not an array of the shape {array.shape}") from None
