"""Units of quantities in pictures, from the names of the units of length, time and mass in a trajectory."""

from __future__ import annotations

from typing import Any

from jostle.facts import SI, Units

Unit = tuple[int, int, int]
"""The exponents of length, time and mass."""
NO_UNIT, LENGTH, TIME, MASS = (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)
"""Units as the exponents of length, time and mass."""
VELOCITY, FORCE, IMPULSE = (1, -1, 0), (1, -2, 1), (1, -1, 1)
"""Derived units as the exponents of length, time and mass."""
NAMED_UNITS = {FORCE: "N", (0, -2, 1): "N/m", (-1, -2, 1): "Pa", IMPULSE: "N s"}
"""SI units with a name of their own."""
SUPERSCRIPTS = {2: "²", 3: "³"}
"""Exponents as superscripts."""


def unit_text(units: Units, unit: Unit) -> str:
    """The name of a unit; empty for a plain number, and if a unit that it needs is unknown.

    >>> unit_text(SI, VELOCITY), unit_text(Units(length="m"), VELOCITY)
    ('m/s', '')
    >>> unit_text(Units("cm", "s", "g"), FORCE)
    'cm g/s²'
    """
    names = [units.length, units.time, units.mass]
    if any(power and not name for name, power in zip(names, unit, strict=True)):
        return ""
    if units == SI and unit in NAMED_UNITS:
        return NAMED_UNITS[unit]
    above, below = (
        [f"{name}{SUPERSCRIPTS.get(abs(k), '')}" for name, k in zip(names, unit, strict=True) if sign * k > 0]
        for sign in (1, -1)
    )
    return " ".join(above or ["1"] * bool(below)) + "".join(f"/{name}" for name in below)


def with_unit(label: str, units: Units, unit: Unit) -> str:
    """A label with its unit in parentheses.

    >>> with_unit("speed", SI, VELOCITY), with_unit("speed", Units(), VELOCITY)
    ('speed (m/s)', 'speed')
    """
    words = unit_text(units, unit)
    return f"{label} ({words})" if words else label


def with_time(text: str, units: Units) -> str:
    """A text about a time, with the unit of time.

    >>> with_time("t = 0.5", SI)
    't = 0.5 s'
    """
    return f"{text} {units.time}" if units.time else text


def lift_times(link: Any) -> str:
    """The times of a lift in words.

    >>> from jostle.crowds import Link
    >>> lift = Link("lift", ((4, 1), (4, 2)), ((10, 1), (10, 2)), length=1.5, every=40.0, travel=8.0, doors=2.0)
    >>> lift_times(lift)
    'every 40 s, travel 8 s, doors 2 s'
    """
    times = [("every", link.every), ("travel", link.travel), ("doors", link.doors)]
    return ", ".join(f"{name} {time:g} s" for name, time in times if time)
