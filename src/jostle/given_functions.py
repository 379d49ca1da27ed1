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


def like_start(q0: Array, value: ArrayLike, name: str) -> Array:
    """A read-only array in the shape of q0: values are repeated over bodies, but not over coordinates."""
    given = finite(value, name)
    _refuse_repeated_coordinates(given, q0.shape, name)
    like = alike(given, name, q0, "q0")
    like.setflags(write=False)
    return like


def _refuse_repeated_coordinates(value: Array, shape: tuple[int, ...], name: str) -> None:
    """An error if one value would be repeated over coordinates: a weight -9.81 would push a ball sideways, too.

    A number is allowed for q0 with one index, whose entries may be bodies on a line, and zero is always allowed.
    """
    coordinates = shape[-1] if shape else 1
    number = len(shape) == 2 and bool((value != 0.0).any())
    repeated = number if value.ndim == 0 else value.shape[-1] == 1
    if repeated and coordinates > 1:
        raise InvalidValue(f"{name} has one entry for {coordinates} coordinates: give one entry for each")


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
            _refuse_repeated_coordinates(array, shape, f"what {name} returned at t = {state[0]:g}")
            try:
                array = np.array(np.broadcast_to(array, shape))
            except ValueError as error:
                raise InvalidValue(f"{name} returned shape {array.shape}, q has shape {shape}") from error
        if not np.isfinite(array).all():
            where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            raise NotFinite(f"{name} is {array[where]} at index {where}, t = {state[0]:g}, q = {state[1][where]}")
        return array

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
