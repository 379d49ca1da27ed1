"""Pictures and the browser viewer.

draw, strip      one moment of a solution, several side by side: matplotlib
page             a page that plays it: one HTML file
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from jostle.viz.viewer import page

if TYPE_CHECKING:
    from jostle.viz.drawing import draw, strip

__all__ = ["draw", "page", "strip"]


def __getattr__(name: str) -> Any:
    """What needs matplotlib is imported when it is first used."""
    if name not in ("draw", "strip"):
        raise AttributeError(f"module 'jostle.viz' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module("jostle.viz.drawing"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "matplotlib":
            raise
        raise ModuleNotFoundError(
            f"jostle.viz.{name} draws with matplotlib: pip install 'jostle[plot]'", name="matplotlib"
        ) from error
