"""Time-stepping schemes, one file for each author; `SCHEMES` lists them, and a plug-in or a script can add to it.

>>> sorted(SCHEMES.names())
['catching_up', 'gluey', 'maury', 'moreau_jean', 'paoli', 'venel']
>>> SCHEMES.get("maury")
<class 'jostle.schemes.maury.Maury'>
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from jostle._tools.plugins import Registry
from jostle.errors import InvalidValue

__all__ = ["SCHEMES"]


class SchemeClass(Protocol):
    """A class of schemes, as far as the list needs to know it."""

    __name__: str
    __module__: str
    abilities: ClassVar[frozenset[str]]

    def __call__(self, **options: Any) -> Any:
        """A scheme with these options."""


def _check(name: str, item: Any) -> None:
    if not (isinstance(item, type) and hasattr(item, "abilities") and hasattr(item, "step")):
        raise InvalidValue(f"the scheme {name!r} must be a class that inherits from jo.Scheme, not {item!r}")


SCHEMES: Registry[SchemeClass] = Registry(
    "jostle.schemes",
    "scheme",
    {
        "maury": "jostle.schemes.maury:Maury",
        "gluey": "jostle.schemes.gluey:Gluey",
        "paoli": "jostle.schemes.paoli:Paoli",
        "moreau_jean": "jostle.schemes.moreau_jean:MoreauJean",
        "venel": "jostle.schemes.venel:Venel",
        "catching_up": "jostle.schemes.catching_up:CatchingUp",
    },
    _check,
)
"""All schemes by the name that scenario files use."""
