"""What bodies may be coloured by: names, values, and the ranges that the colours stand for.

web/quantities.js computes the same values from the bytes of a frame; what a user gives is sent with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array
from jostle.errors import InvalidValue
from jostle.viz.scene import Frame, Scene

Given = Mapping[str, ArrayLike | Callable[[int], ArrayLike]]
"""Numbers of the user by name: (n,) for all frames, (k, n) for each, or a function of the number of a frame."""

MOST = 98.0
"""Per cent of the forces on bodies that the colours tell apart: an impact would make all others look alike."""
AXES = "xyz"
REAL = "biufO"
"""The kinds of arrays that hold real numbers; in one of objects None is one that is not known."""
LONG = 60
"""Characters of a wrong value that an error repeats."""


@dataclass(frozen=True)
class Quantity:
    """One number a body.

    >>> import jostle as jo
    >>> scene = Scene(jo.solve(jo.models.chain(3, gravity=1.0), jo.Maury(), t=0.1, h=0.1))
    >>> force = standard(scene)[1]
    >>> force.name, force.range([force.sample(scene.frame(-1))])
    ('force', [0.0, 4.92])
    """

    key: str
    name: str
    of: Callable[[Frame], Array]
    low: float | None = None
    """Where the colours begin; the smallest value if it is not said."""
    most: float = 100.0
    """Per cent of the positive values that the colours tell apart."""

    def sample(self, frame: Frame) -> Array:
        """What must be known of a frame to find the range."""
        values = np.asarray(self.of(frame), dtype=float)
        values = values[np.isfinite(values)]
        if self.most < 100.0:
            return np.asarray(values[values > 0.0])
        return np.array([values.min(), values.max()]) if len(values) else values

    def range(self, samples: Sequence[Array]) -> list[float]:
        """The values of the first and the last colour."""
        values = np.concatenate([np.zeros(0), *samples])
        if len(values) == 0:
            return [self.low or 0.0, (self.low or 0.0) + 1.0]
        low = float(values.min()) if self.low is None else self.low
        high = float(np.percentile(values, self.most))
        return [low, high if high > low or self.low is None else low + 1.0]


def standard(scene: Scene) -> list[Quantity]:
    """What every solution has; of those that were read from a file without contacts, no forces.

    >>> import jostle as jo
    >>> [quantity.name for quantity in standard(Scene(jo.solve(jo.models.rack(2), jo.Maury(), t=0.1, h=0.1)))]
    ['speed', 'force', 'pressure', 'contacts', 'radius', 'body number', 'x', 'y', 'velocity x', 'velocity y']
    """
    found = [Quantity("speed", "speed", lambda frame: frame.speed, low=0.0)]
    if scene.contacts_known:
        found += _of_contacts(scene)
    found += [
        Quantity("radius", "radius", lambda frame: frame.radii),
        Quantity("number", "body number", lambda frame: frame.number.astype(float), low=0.0),
    ]
    axes = range(scene.dimension)
    found += [Quantity(f"q{a}", AXES[a], lambda frame, a=a: frame.x[:, a]) for a in axes]  # type: ignore[misc]
    found += [Quantity(f"u{a}", f"velocity {AXES[a]}", lambda frame, a=a: frame.u[:, a]) for a in axes]  # type: ignore[misc]
    return found


def _of_contacts(scene: Scene) -> list[Quantity]:
    name = scene.force_name
    found = [Quantity("force", name, lambda frame: frame.force, low=0.0, most=MOST)]
    if scene.dimension > 1 and scene.sized:
        times, power = (2.0, 1) if scene.dimension == 2 else (4.0, 2)
        found.append(
            Quantity(
                "pressure",
                "pressure" if name == "force" else f"{name} over surface",
                lambda frame: frame.force / (times * np.pi * frame.radii**power),
                low=0.0,
                most=MOST,
            )
        )
    return [*found, Quantity("contacts", "contacts", _contacts, low=0.0)]


def _contacts(frame: Frame) -> Array:
    touched = frame.bars.rows[frame.bars.rows >= 0]
    return np.bincount(touched, minlength=len(frame.number)).astype(float)


def given(scene: Scene, numbers: Given | None) -> list[Quantity]:
    """What the user gives, by frame.

    >>> import jostle as jo
    >>> scene = Scene(jo.solve(jo.models.rack(2), jo.Maury(), t=0.2, h=0.1))
    >>> age, = given(scene, {"age": [30, 40, 50, 60]})
    >>> age.key, age.of(scene.frame(1)).tolist()
    ('given0', [30.0, 40.0, 50.0, 60.0])
    """
    found = []
    for position, (name, values) in enumerate(checked(numbers).items()):
        of_frame = values if callable(values) else _by_frame(scene, name, values)
        found.append(Quantity(f"given{position}", name, _of(scene, name, of_frame)))
    return found


def checked(numbers: Given | None) -> Given:
    """What the user gives, which must be numbers with names.

    >>> list(checked({"age": [30, 40]})), dict(checked(None))
    (['age'], {})
    """
    if numbers is None:
        return {}
    if not isinstance(numbers, Mapping) or not all(isinstance(name, str) for name in numbers):
        raise InvalidValue(f"quantities must be numbers with names, {{'age': ages}}, not {_words(numbers)}")
    return numbers


def _real(name: str, values: ArrayLike) -> Array:
    try:
        array = np.asarray(values)
        if array.dtype.kind in REAL:
            return np.asarray(array, dtype=float)
    except (TypeError, ValueError):
        pass
    raise InvalidValue(f"the quantity {name!r} must be real numbers, one a body, not {_words(values)}")


def _words(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONG else f"{text[:LONG]} ..."


def _by_frame(scene: Scene, name: str, values: ArrayLike) -> Callable[[int], Any]:
    array = _real(name, values)
    frames = len(scene.sol.t)
    if array.shape not in ((scene.count,), (frames, scene.count)):
        raise InvalidValue(
            f"the quantity {name!r} has shape {array.shape}: give one number a body, ({scene.count},), or one for each "
            f"of the frames too, ({frames}, {scene.count})"
        )
    unknown = np.full(scene.count, np.nan)  # of frames that were saved later
    return lambda k: array if array.ndim == 1 else array[k] if k < frames else unknown


def _of(scene: Scene, name: str, of_frame: Callable[[int], ArrayLike]) -> Callable[[Frame], Array]:
    def values(frame: Frame) -> Array:
        array = _real(name, of_frame(frame.k))
        if array.shape != (scene.count,):
            raise InvalidValue(
                f"the quantity {name!r} of frame {frame.k} has shape {array.shape}: one number a body is expected, "
                f"({scene.count},)"
            )
        return np.asarray(array[frame.number])

    return values
