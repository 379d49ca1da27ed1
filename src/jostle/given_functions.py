"""Forces, velocities and potentials that a user gives to a problem, with their values checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import accepts, described
from jostle.arrays import Array, alike, finite, numbers, to_device, to_host
from jostle.errors import InvalidValue, NotFinite

Field = Callable[..., Array]
"""A force or velocity as a function of (t, q, ...)."""


def from_host(field: Field, place: Any) -> Field:
    """A force or velocity that is computed from arrays of NumPy, and returned as an array of the module `place`."""
    return lambda t, *arrays: to_device(field(t, *map(to_host, arrays)), place)


def check_coordinates(given: Array, name: str, shape: tuple[int, ...]) -> None:
    """Refuse one entry where there are several coordinates: NumPy would repeat it, and a weight act sideways, too.

    A number is accepted for q with one index, whose entries may be bodies on a line. Zero is always accepted.

    >>> check_coordinates(np.array([-9.81]), "force", (2,))
    Traceback (most recent call last):
    ...
    jostle.errors.InvalidValue: force has shape (1,), one entry for 2 coordinates: give one entry for each
    """
    coordinates = shape[-1] if shape else 1
    number = len(shape) == 2 and bool((given != 0.0).any())
    if coordinates > 1 and (number if given.ndim == 0 else given.shape[-1] == 1):
        what = "is one number" if given.ndim == 0 else f"has shape {given.shape}, one entry"
        raise InvalidValue(f"{name} {what} for {coordinates} coordinates: give one entry for each")


def like_start(q0: Array, value: ArrayLike, name: str) -> Array:
    """A read-only array in the shape of q0: values are repeated over bodies, but not over coordinates."""
    given = finite(value, name)
    check_coordinates(given, name, q0.shape)
    like = alike(given, name, q0, "q0")
    like.setflags(write=False)
    return like


def field_of(
    value: ArrayLike | Callable[..., ArrayLike], q0: Array, name: str, arguments: int
) -> tuple[Callable[..., Array], Array | None]:
    """A force or velocity as a function of (t, q, ...), and its value if it is constant."""
    if callable(value):
        return _checked(value, q0.shape, name, arguments), None
    constant = like_start(q0, value, name)
    return lambda *state: constant, constant


def _checked(function: Callable[..., ArrayLike], shape: tuple[int, ...], name: str, arguments: int) -> Field:
    """The user's function, called with as many of (t, q, u) as it takes, its value checked and copied."""
    takes = min(arguments, _required(function, arguments))
    if takes < 2 or not accepts(function, takes):
        letters = "(t, q)" if arguments == 2 else "(t, q) or (t, q, u)"
        raise InvalidValue(f"{name} must be a function of {letters}, not {described(function)}")

    def value(*state: Any) -> Array:
        array = numbers(function(*state[:takes]), f"what {name} returned at t = {state[0]:g}")
        if array.shape != shape:
            check_coordinates(array, f"what {name} returned at t = {state[0]:g}", shape)
            try:
                array = np.array(np.broadcast_to(array, shape))
            except ValueError as error:
                raise InvalidValue(f"{name} returned shape {array.shape}, q has shape {shape}") from error
        if not np.isfinite(array).all():
            where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            raise NotFinite(f"{name} is {array[where]} at index {where}, t = {state[0]:g}, q = {state[1][where]}")
        return array

    value.__wrapped__ = function  # type: ignore[attr-defined]
    return value


def checked_potential(potential: Callable[[Array], float]) -> Callable[[Array], float]:
    """The user's potential, its value checked."""
    if not accepts(potential, 1):
        raise InvalidValue(f"potential must be a function of q, not {described(potential)}")

    def value(q: Array) -> float:
        found = finite(potential(q), "what potential(q) returned")
        if found.size != 1:
            raise InvalidValue(f"potential(q) must return one number for all bodies together, not shape {found.shape}")
        return float(found.item())

    return value


def _required(function: Callable[..., Any], unknown: int) -> int:
    """Number of required positional arguments; `unknown` if the function takes any number or does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return unknown
    if any(parameter.kind == parameter.VAR_POSITIONAL for parameter in parameters):
        return unknown
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return len([p for p in parameters if p.kind in positional and p.default is inspect.Parameter.empty])
