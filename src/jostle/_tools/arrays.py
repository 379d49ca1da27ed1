"""Names of array types, the small conversions that every layer needs, and the only functions that move memory.

Arrays live in the memory of the machine (NumPy) or of a GPU (CuPy). The same code computes with both: NumPy hands its
functions on to CuPy where the arguments live there. What CuPy does not take is done by the functions at the end of this
module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jostle.errors import InvalidValue, NotFinite

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Shorts = NDArray[np.int32]
Booleans = NDArray[np.bool_]
T = TypeVar("T")
InTime = ArrayLike | Callable[[float], ArrayLike]
"""A value, or a function of time that returns one."""


def real(value: Any) -> NDArray[Any] | None:
    """The array that NumPy takes a value for, if its entries are real numbers and none of them is masked."""
    if type(value) is not np.ndarray and isinstance(value, np.ndarray) and np.ma.is_masked(value):
        return None  # NumPy would take what is below the mask
    try:
        found = np.asarray(value)
        if found.dtype.kind == "O" and not any(one is None for one in found.flat):
            found = found.astype(float)
    except (TypeError, ValueError):
        return None
    return found if found.dtype.kind in "biuf" else None


def numbers(value: Any, name: str) -> Array:
    """A new array of floats in C order, as kernels take it, with the entries of value: real, infinite or NaN."""
    found = real(value)
    if found is not None:
        return np.array(found, dtype=float, order="C")  # a function may fill and return the same array at each call
    if np.ma.is_masked(value):
        raise InvalidValue(f"{name} has masked entries: fill them in, or leave those bodies out")
    raise InvalidValue(f"{name} must be numbers, not {value!r}")


def at(value: InTime, t: float) -> Array:
    """The value at time t of something that may depend on time."""
    if callable(value):
        given = value(t)
        if isinstance(given, float):
            return np.array(given)
        return numbers(given, f"what {_named(value)} returned at t = {t:g}")
    return np.asarray(value, dtype=float)


def _named(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "<lambda>")
    return "a function of time" if name == "<lambda>" else f"{name}(t)"


def frozen(value: InTime) -> Any:
    """A constant becomes a read-only array of floats; a function of time stays a function."""
    return value if callable(value) else read_only(np.array(value, dtype=float, order="C"))


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
        return np.array(np.broadcast_to(array, other.shape), order="C")
    except ValueError as error:
        raise InvalidValue(f"{name} has shape {array.shape}, {of} has shape {other.shape}") from error


def shaped(value: ArrayLike, name: str, *shape: int) -> Array:
    """value as an array of finite floats of a shape, in which -1 stands for any length."""
    array = finite(value, name)
    try:
        return array.reshape(shape)
    except ValueError:
        words = " x ".join("k" if length < 0 else str(length) for length in shape)
        raise InvalidValue(f"{name} must be {words} numbers, not an array of the shape {array.shape}") from None


# --- where arrays live ---

DEVICE_TABLE_ENTRIES = 2**25
"""Numbers of a table that a GPU computes at a time: enough to occupy all of it."""


def on_device(array: Any) -> bool:
    """Whether an array is in the memory of a GPU."""
    return not isinstance(array, np.ndarray) and hasattr(type(array), "__cuda_array_interface__")


class Place(Protocol):
    """A module that makes arrays: numpy or cupy. NumPy's own `like=` hands arguments on that CuPy does not take."""

    def __hash__(self) -> int: ...

    def arange(self, stop: int) -> Integers: ...

    def asarray(self, value: Any, dtype: Any = None, order: Any = None) -> NDArray[Any]: ...

    def ascontiguousarray(self, value: Any, dtype: Any = None) -> NDArray[Any]: ...

    def empty(self, shape: Any, dtype: Any = float) -> NDArray[Any]: ...

    def full(self, shape: Any, value: Any) -> NDArray[Any]: ...

    def ones(self, shape: Any) -> NDArray[Any]: ...

    def zeros(self, shape: Any, dtype: Any = float) -> NDArray[Any]: ...


def place_of(array: Any) -> Place:
    """The module that made an array, which says where it lives: numpy or cupy."""
    place: Any = np if isinstance(array, np.ndarray) else sys.modules[type(array).__module__.partition(".")[0]]
    return place  # type: ignore[no-any-return]


STAYS: Mapping[str, str] = {"device": "stays"}
"""Metadata of a field of a dataclass that `to_device` and `to_host` leave as it is."""


def to_device(value: T, place: Any) -> T:
    """An array of NumPy as one of the module `place`, numpy or cupy; also all arrays of a dataclass or a NamedTuple."""

    def moved(array: Any) -> Any:
        return place.asarray(np.asarray(array, order="C")) if isinstance(array, np.ndarray) else array

    found: T = _converted(value, moved)
    return found


def to_host(value: T) -> T:
    """An array as one of NumPy, the array itself if it is one; also all arrays of a dataclass or a NamedTuple."""
    if isinstance(value, np.ndarray):
        return value
    found: T = _converted(value, lambda array: array.get() if on_device(array) else array)
    return found


def moved_to(value: T, other: Any) -> T:
    """`value`, an array or a dataclass of arrays, in the memory where the array `other` lives."""
    return value if isinstance(other, np.ndarray) else to_device(value, place_of(other))


def _converted(value: Any, convert: Callable[[Any], Any]) -> Any:
    """The value with its arrays converted; an object in which nothing changes stays the same object."""
    if isinstance(value, np.ndarray) or on_device(value):
        return convert(value)
    if is_dataclass(value) and not isinstance(value, type):
        moving = [field.name for field in fields(value) if field.init and field.metadata != STAYS]
        before = {name: getattr(value, name) for name in moving}
        changed = _changed(before, convert)
        return replace(value, **changed) if changed else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        changed = _changed(value._asdict(), convert)  # type: ignore[attr-defined]
        return value._replace(**changed) if changed else value  # type: ignore[attr-defined]
    return value


def _changed(before: dict[str, Any], convert: Callable[[Any], Any]) -> dict[str, Any]:
    after = {name: _converted(value, convert) for name, value in before.items()}
    return {name: value for name, value in after.items() if value is not before[name]}


# --- what NumPy does to its own arrays only, for all of them ---


def floats(value: Any, order: Any = None, name: str = "an array") -> Array:
    """An array of floats, where it lives; real numbers of any other kind as an array of NumPy."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return np.asarray(value, order=order)
    if isinstance(value, np.ndarray) or not on_device(value):
        found = real(value)
        return np.asarray(numbers(value, name) if found is None else found, dtype=float, order=order)
    return place_of(value).asarray(value, dtype=float, order=order)


def contiguous(value: Any, kind: Any = float) -> Any:
    """An array of a type, in C order, where it lives; the array itself if it is one."""
    if isinstance(value, np.ndarray) or not on_device(value):
        return np.ascontiguousarray(value, kind)
    return place_of(value).ascontiguousarray(value, kind)


def read_only(array: T) -> T:
    """The array, protected against writing if it is one of NumPy: those of CuPy have no such flag."""
    if isinstance(array, np.ndarray):
        array.setflags(write=False)
    return array


def lowest(array: Any, initial: float) -> float:
    """The smallest of `initial` and the entries, NaN if one of them is."""
    if isinstance(array, np.ndarray):
        return float(np.minimum.reduce(array, axis=None, initial=initial))
    found = float(array.min()) if array.size else initial
    return initial if found >= initial else found


def highest(array: Any, initial: float) -> float:
    """The largest of `initial` and the entries, NaN if one of them is."""
    if isinstance(array, np.ndarray):
        return float(np.maximum.reduce(array, axis=None, initial=initial))
    found = float(array.max()) if array.size else initial
    return initial if found <= initial else found


def dot(vectors: Array, vector: Array) -> Any:
    """vectors . vector along the last axis, without NumPy's library of linear algebra (BLAS)."""
    # After a product, the threads of BLAS wait busily for the next one, for tens of milliseconds, and take the cores
    # that the sweeps need.
    return vectors @ vector if on_device(vectors) else np.einsum("...d,d->...", vectors, vector)


def squares(vectors: Array) -> Array:
    """(n,) the squares of the lengths of vectors (n, d)."""
    if on_device(vectors):  # CuPy's einsum takes ten times as long
        found: Array = (vectors * vectors) @ place_of(vectors).ones(vectors.shape[1])
        return found
    return np.asarray(np.einsum("nd,nd->n", vectors, vectors))


def table_entries(array: Array, in_cache: int) -> int:
    """Number of entries of a table to compute at a time on the device of an array; `in_cache` is that of a core."""
    return in_cache if isinstance(array, np.ndarray) else DEVICE_TABLE_ENTRIES
