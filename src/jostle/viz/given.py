"""Numbers given by the user to colour bodies: ``page(sol, path, quantities={"age": ages})``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array
from jostle.errors import InvalidValue
from jostle.viz.frames import Frame
from jostle.viz.quantities import Quantity
from jostle.viz.scene import Scene

Given = Mapping[str, ArrayLike | Callable[[int], ArrayLike]]
"""Numbers given by the user, by name: (n,) for all frames, (k, n) per frame, or a function of the frame number."""
REAL_KINDS = "biufO"
"""Kinds of NumPy arrays of real numbers; in an array of objects, None is an unknown number."""
MAX_QUOTED = 60
"""Largest number of characters of a wrong value in an error message."""


def given(scene: Scene, numbers: Given | None) -> list[Quantity]:
    """The numbers given by the user, as quantities.

    >>> import jostle as jo
    >>> scene = Scene(jo.solve(jo.models.rack(2), jo.Maury(), t=0.2, h=0.1))
    >>> age, = given(scene, {"age": [30, 40, 50, 60]})
    >>> age.label, age.of(scene.frame(1)).tolist()
    ('age', [30.0, 40.0, 50.0, 60.0])
    """
    found = []
    for position, (name, values) in enumerate(checked(numbers).items()):
        of_frame = values if callable(values) else _by_frame(scene, name, values)
        found.append(Quantity(f"given{position}", _of(scene, name, of_frame), name))
    return found


def checked(numbers: Given | None) -> Given:
    """Check that the user gives numbers with names.

    >>> list(checked({"age": [30, 40]})), dict(checked(None))
    (['age'], {})
    """
    if numbers is None:
        return {}
    if not isinstance(numbers, Mapping) or not all(isinstance(name, str) for name in numbers):
        raise InvalidValue(f"quantities must be a mapping of names to numbers, {{'age': ages}}, not {_words(numbers)}")
    return numbers


def _real(name: str, values: ArrayLike) -> Array:
    try:
        array = np.asarray(values)
        if array.dtype.kind in REAL_KINDS:
            return np.asarray(array, dtype=float)
    except (TypeError, ValueError):
        pass
    raise InvalidValue(f"the quantity {name!r} must be real numbers, one per body, not {_words(values)}")


def _words(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]} ..."


def _by_frame(scene: Scene, name: str, values: ArrayLike) -> Callable[[int], Any]:
    array = _real(name, values)
    frames = len(scene.sol.t)
    if array.shape not in ((scene.count,), (frames, scene.count)):
        raise InvalidValue(
            f"the quantity {name!r} has shape {array.shape}: give one number per body, ({scene.count},), or one per "
            f"frame and body, ({frames}, {scene.count})"
        )
    unknown = np.full(scene.count, np.nan)  # for frames that were saved later
    return lambda k: array if array.ndim == 1 else array[k] if k < frames else unknown


def _of(scene: Scene, name: str, of_frame: Callable[[int], ArrayLike]) -> Callable[[Frame], Array]:
    def values(frame: Frame) -> Array:
        array = _real(name, of_frame(frame.k))
        if array.shape != (scene.count,):
            raise InvalidValue(
                f"the quantity {name!r} of frame {frame.k} has shape {array.shape}: one number per body is expected, "
                f"({scene.count},)"
            )
        return np.asarray(array[frame.number])

    return values
