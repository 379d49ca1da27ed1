"""Quantities by which bodies are coloured: one registry for pictures, films, the viewer and the command line.

A package adds a quantity with an entry point of the group "jostle.quantities", a script with ``QUANTITIES.register``.
Either is a function of a `Frame` that returns one number per body, or a `Quantity`, which also has a label, a unit and
a scale. The page computes a `Part` of a frame itself; all other values are sent to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import Array
from jostle._tools.plugins import Registry
from jostle.errors import BrokenPlugin, InvalidValue, JostleWarning, warn
from jostle.viz.scene import Frame, Scene
from jostle.viz.sources import FORCE as NEWTON
from jostle.viz.sources import IMPULSE, LENGTH, NO_UNIT, VELOCITY, Unit, with_unit
from jostle.viz.sources import MASS as KILOGRAM

NO_CONTACTS = (
    "needs contacts, which this run does not contain: run the scenario with --set output.contacts=true, "
    "or in Python with output=jo.io.Output(path, contacts=True)"
)
"""Message about a quantity that needs contacts."""
NO_DURATIONS = "needs forces, but the file does not say whether its problem is of first or second order"
"""Message about a quantity that needs forces."""


@dataclass(frozen=True)
class Part:
    """A part of a frame as one number per body: an attribute, one of its components, or the length of a vector.

    >>> import jostle as jo
    >>> frame = Scene(jo.solve(jo.models.chain(3, gravity=1.0), jo.Maury(), t=0.1, h=0.1)).frame(-1)
    >>> Part("x", axis=0)(frame).round(9).tolist(), Part("force", over_surface=True)(frame).round(9).tolist()
    ([0.5, 1.5, 2.5], [2.5, 1.5, 0.5])
    """

    name: str
    """Name of the attribute: 'x', 'u', 'radii', 'force', 'body', 'contacts', 'mass' or 'group'."""
    axis: int | None = None
    over_surface: bool = False
    """Whether the number is divided by the surface of the body, see `surface`."""

    def __call__(self, frame: Frame) -> Array:
        values = np.asarray(getattr(frame, self.name), dtype=float)
        if self.name == "group":
            values = np.where(values < 0.0, np.nan, values)
        if values.ndim == 2:
            values = np.linalg.norm(values, axis=1) if self.axis is None else values[:, self.axis]
        return np.asarray(values / surface(frame.radii, frame.dimension) if self.over_surface else values)


def surface(radii: Array, dimension: int) -> Array:
    """The surface of a body: 2 on a line, the circumference in the plane, the surface in space.

    Forces divided by it are the mean stress in the body.
    """
    return np.asarray({1: 2.0 + 0.0 * radii, 2: 2.0 * np.pi * radii, 3: 4.0 * np.pi * radii**2}[dimension])


@dataclass(frozen=True)
class Quantity:
    """A quantity by which bodies are coloured: one number per body, with a label, a unit and a scale.

    Parameters
    ----------
    name : str
        Name by which the quantity is chosen.
    of : callable (Frame) -> array, shape (n,)
        The numbers of the bodies of a frame.
    label : str or callable (Scene) -> str, default ""
        Label of the colour bar; empty: the name.
    unit : tuple of int or callable (Scene) -> tuple of int, default (0, 0, 0)
        Exponents of length, time and mass in the unit.
    low : float, optional
        Value of the first colour. None: the smallest value.
    steep : bool, default False
        Whether colours follow the square root of the values: a few large values then leave colours for the others.
    lacks : callable (Scene) -> str, optional
        Returns what the scene lacks to show the quantity, as the end of a sentence; empty if it lacks nothing.
    constant : callable (Scene) -> array, shape (count,), optional
        Returns the values of all bodies if they are the same during the whole run. None: values may change.
    categories : callable (Scene) -> tuple of str, optional
        Returns the names of the values 0, 1, 2 ... if they are categories; empty if they are amounts.

    Examples
    --------
    >>> import jostle as jo
    >>> scene = Scene(jo.solve(jo.models.chain(3, gravity=1.0), jo.Maury(), t=0.1, h=0.1))
    >>> force = chosen(scene, "force")
    >>> force.title(scene), force.of(scene.frame(-1)).round(9).tolist()
    ('force', [5.0, 3.0, 1.0])
    """

    name: str
    of: Callable[[Frame], Array]
    label: str | Callable[[Scene], str] = ""
    unit: Unit | Callable[[Scene], Unit] = NO_UNIT
    low: float | None = None
    steep: bool = False
    lacks: Callable[[Scene], str] = field(default_factory=lambda: lambda scene: "")
    constant: Callable[[Scene], Array] | None = None
    categories: Callable[[Scene], tuple[str, ...]] = field(default_factory=lambda: lambda scene: ())

    def title(self, scene: Scene) -> str:
        """Return the label with its unit.

        Parameters
        ----------
        scene : Scene
            The scene.

        Returns
        -------
        str
            The label of the colour bar.
        """
        label = self.label(scene) if callable(self.label) else self.label or self.name
        return with_unit(label, scene.facts.units, self.unit(scene) if callable(self.unit) else self.unit)


def _check(name: str, item: Any) -> None:
    if not isinstance(item, Quantity) and not callable(item):
        raise InvalidValue(f"the quantity {name!r} must be a function of a frame, or a jo.viz.Quantity, not {item!r}")


QUANTITIES: Registry[Quantity | Callable[[Frame], ArrayLike]] = Registry(
    "jostle.quantities",
    "colour",
    {
        name: f"jostle.viz.quantities:{name.upper()}"
        for name in (
            "speed", "force", "pressure", "contacts", "radius", "mass", "group", "number", "x", "y", "z", "vx", "vy",
            "vz", "spin",
        )
    },
    check=_check,
)  # fmt: skip
"""Registry of the quantities by which bodies can be coloured, by name."""


def chosen(scene: Scene, name: str) -> Quantity:
    """The quantity with a name, if the scene has what it needs."""
    quantity = _quantity(name)
    lacks = quantity.lacks(scene)
    if lacks:
        raise InvalidValue(f"the colour {name!r} {lacks}")
    return quantity


def offered(scene: Scene) -> list[Quantity]:
    """All quantities by which the bodies of a scene can be coloured."""
    found = []
    for name in QUANTITIES.names():
        try:
            quantity = _quantity(name)
        except BrokenPlugin as error:  # the other quantities can still be shown
            warn(f"a colour is not available: {error}", JostleWarning)
            continue
        if not quantity.lacks(scene):
            found.append(quantity)
    return found


def _quantity(name: str) -> Quantity:
    """The quantity of a name; the values of a function are checked."""
    item = QUANTITIES.get(name)
    quantity = item if isinstance(item, Quantity) else Quantity(name, item)  # type: ignore[arg-type]
    of = quantity.of if isinstance(quantity.of, Part) else _checked(name, quantity.of)
    return replace(quantity, name=name, of=of)


def _checked(name: str, function: Callable[[Frame], ArrayLike]) -> Callable[[Frame], Array]:
    """The function of a plug-in, with a check of the values it returns."""

    def values(frame: Frame) -> Array:
        found: Any = function(frame)
        try:
            array = np.array(found, dtype=float)
        except (TypeError, ValueError):
            array = np.zeros(0)
        if array.shape != frame.number.shape:
            raise InvalidValue(
                f"the quantity {name!r} must be one number for each of the {len(frame.number)} bodies of a frame, not "
                f"{found!r:.60}"
            )
        return array

    return values


# The quantities of jostle itself.


def _contacts(scene: Scene) -> str:
    return "" if scene.contacts_known else NO_CONTACTS


def _forces(scene: Scene) -> str:
    if not scene.contacts_known:
        return NO_CONTACTS
    if scene.force_name == "impulse":
        return NO_DURATIONS
    return "" if scene.sized else "needs bodies with a radius, but these are points"


def _groups(scene: Scene) -> str:
    groups = scene.facts.groups
    return "needs several groups of bodies" if groups is None or len(groups.names) < 2 else ""


def _unit_of_force(scene: Scene) -> Unit:
    if scene.force_name == "reaction" and scene.facts.weighted:
        return IMPULSE if scene.facts.masses is not None else NO_UNIT  # the entries of a mass matrix may have any unit
    return {"force": NEWTON, "reaction": VELOCITY}.get(scene.force_name, IMPULSE)


def _unit_of_pressure(scene: Scene) -> Unit:
    unit = _unit_of_force(scene)
    length, time, mass = unit
    return NO_UNIT if unit == NO_UNIT else (length - scene.dimension + 1, time, mass)


def _all(scene: Scene, values: Any) -> Array:
    """(count,) the numbers of all bodies, for each ball; NaN for a body without a group."""
    array = np.zeros(0) if values is None else np.asarray(values, dtype=float)[scene.owner]
    return np.where(array < 0.0, np.nan, array)


def _axis(name: str, axis: int) -> Quantity:
    label, part, unit = (f"velocity {name[1]}", "u", VELOCITY) if name.startswith("v") else (name, "x", LENGTH)
    lacks = f"needs {axis + 1} dimensions, but the bodies have fewer"
    return Quantity(
        name, Part(part, axis=axis), label, unit, lacks=lambda scene: lacks if axis >= scene.dimension else ""
    )


def _spin(frame: Frame) -> Array:
    """(n,) the spin in the plane, its size in space."""
    assert frame.spin is not None
    return frame.spin if frame.spin.ndim == 1 else np.asarray(np.linalg.norm(frame.spin, axis=1))


SPEED = Quantity("speed", Part("u"), unit=VELOCITY, low=0.0)
FORCE = Quantity(
    "force", Part("force"), lambda scene: scene.force_name, _unit_of_force, low=0.0, steep=True,
    lacks=_contacts,
)  # fmt: skip
PRESSURE = Quantity(
    "pressure",
    Part("force", over_surface=True),
    lambda scene: "pressure" if scene.force_name == "force" else f"{scene.force_name} over surface",
    _unit_of_pressure,
    low=0.0,
    steep=True,
    lacks=_forces,
)
CONTACTS = Quantity("contacts", Part("contacts"), low=0.0, lacks=_contacts)
RADIUS = Quantity("radius", Part("radii"), unit=LENGTH)
MASS = Quantity(
    "mass", Part("mass"), unit=KILOGRAM, constant=lambda scene: _all(scene, scene.facts.masses),
    lacks=lambda scene: "needs masses, which are unknown" if scene.facts.masses is None else "",
)  # fmt: skip
GROUP = Quantity(
    "group", Part("group"),
    constant=lambda scene: _all(scene, None if scene.facts.groups is None else scene.facts.groups.number),
    lacks=_groups,
    categories=lambda scene: () if scene.facts.groups is None else scene.facts.groups.names,
)  # fmt: skip
NUMBER = Quantity("number", Part("body"), "body number", low=0.0)
X, Y, Z = (_axis(name, axis) for axis, name in enumerate("xyz"))
VX, VY, VZ = (_axis(f"v{name}", axis) for axis, name in enumerate("xyz"))
SPIN = Quantity(
    "spin", _spin, unit=(0, -1, 0),
    lacks=lambda scene: "needs bodies that turn, but these have no friction" if scene.sol.spin is None else "",
)  # fmt: skip
