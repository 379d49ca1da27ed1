"""The quantities of jostle itself: see `jostle.viz.quantities`."""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.arrays import Array
from jostle.viz.quantities import FORCE_PERCENTILE, NO_CONTACTS, NO_DURATIONS, Part, Quantity
from jostle.viz.scene import Scene
from jostle.viz.units import FORCE as NEWTON
from jostle.viz.units import IMPULSE, LENGTH, NO_UNIT, VELOCITY, Unit
from jostle.viz.units import MASS as KILOGRAM


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


def _all(values: Any) -> Array:
    """(count,) the numbers of all bodies; NaN for a body without a group."""
    array = np.zeros(0) if values is None else np.asarray(values, dtype=float)
    return np.where(array < 0.0, np.nan, array)


def _axis(name: str, axis: int) -> Quantity:
    label, part, unit = (f"velocity {name[1]}", "u", VELOCITY) if name.startswith("v") else (name, "x", LENGTH)
    lacks = f"needs {axis + 1} dimensions, but the bodies have fewer"
    return Quantity(
        name, Part(part, axis=axis), label, unit, lacks=lambda scene: lacks if axis >= scene.dimension else ""
    )


SPEED = Quantity("speed", Part("u"), unit=VELOCITY, low=0.0)
FORCE = Quantity(
    "force", Part("force"), lambda scene: scene.force_name, _unit_of_force, low=0.0, most=FORCE_PERCENTILE,
    lacks=_contacts,
)  # fmt: skip
PRESSURE = Quantity(
    "pressure",
    Part("force", over_surface=True),
    lambda scene: "pressure" if scene.force_name == "force" else f"{scene.force_name} over surface",
    _unit_of_pressure,
    low=0.0,
    most=FORCE_PERCENTILE,
    lacks=_forces,
)
CONTACTS = Quantity("contacts", Part("contacts"), low=0.0, lacks=_contacts)
RADIUS = Quantity("radius", Part("radii"), unit=LENGTH)
MASS = Quantity(
    "mass", Part("mass"), unit=KILOGRAM, constant=lambda scene: _all(scene.facts.masses),
    lacks=lambda scene: "needs masses, which are unknown" if scene.facts.masses is None else "",
)  # fmt: skip
GROUP = Quantity(
    "group", Part("group"),
    constant=lambda scene: _all(None if scene.facts.groups is None else scene.facts.groups.number),
    lacks=_groups,
    categories=lambda scene: () if scene.facts.groups is None else scene.facts.groups.names,
)  # fmt: skip
NUMBER = Quantity("number", Part("number"), "body number", low=0.0)
X, Y, Z = (_axis(name, axis) for axis, name in enumerate("xyz"))
VX, VY, VZ = (_axis(f"v{name}", axis) for axis, name in enumerate("xyz"))
