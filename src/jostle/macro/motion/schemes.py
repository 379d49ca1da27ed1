"""Registry of the schemes for moving densities, by the names that scenario files use."""

from __future__ import annotations

from typing import Any

from jostle.errors import InvalidValue
from jostle.macro.motion.scheme import Scheme
from jostle.plugins import Registry


def _check(name: str, item: Any) -> None:
    if not (isinstance(item, type) and issubclass(item, Scheme)):
        raise InvalidValue(f"the scheme {name!r} must be a class that inherits from macro.motion.scheme.Scheme")


DENSITY_SCHEMES: Registry[type[Scheme]] = Registry(
    "jostle.density_schemes",
    "scheme for densities",
    {
        "splitting": "jostle.macro.motion.splitting:Splitting",
        "barrier": "jostle.macro.motion.barrier:Barrier",
        "impacts": "jostle.macro.motion.impacts:Impacts",
    },
    _check,
)
"""All schemes for moving densities, by name."""
