"""Plots, films, and the browser viewer.

draw, strip                                         one frame of a solution, or several side by side
history, paths, phase, impacts, energies, balance   curves of a solution
orders, evacuation, bifurcation, branches, basins   convergence orders, evacuation curves, diagrams of many runs
quantile_band, mean_curve                           quantiles and confidence intervals of many runs
field, arrows                                       densities, pressures, velocities of a continuum
plan, plans                                         a crowd on its floor plan: names, scale, groups, counters, maps
report                                              one HTML page about a crowd: answers, plan, film, maps, tables
density, densities, mass_inside                     runs of moving densities, and their files
animate                                             a film: mp4 or gif
page, serve, widget                                 the viewer: as an HTML file, in the browser, in a notebook
use_style                                           the colours of jostle for other matplotlib figures
QUANTITIES, OUTLINES                                registries: quantities that colour bodies, shapes of walls

Functions that show a solution also take the result of `solve_by_events`, or the name of a trajectory file. All except
the viewer draw with matplotlib. A function that draws one picture takes the Axes to draw on, `ax`, and returns it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from jostle._tools.suggestions import suggestion
from jostle.sets.outlines import OUTLINES, Shape
from jostle.viz.films import Drawn
from jostle.viz.quantities import QUANTITIES, Quantity
from jostle.viz.scene import Frame
from jostle.viz.server import Server, serve
from jostle.viz.sources import need_matplotlib
from jostle.viz.viewer import page
from jostle.viz.widget import widget

if TYPE_CHECKING:
    from jostle.viz.crowd_report import report
    from jostle.viz.curves import balance, energies, history, impacts, paths, phase
    from jostle.viz.density_pictures import densities, density, mass_inside
    from jostle.viz.drawing import draw, strip
    from jostle.viz.fields import arrows, field
    from jostle.viz.floor_plans import plan, plans
    from jostle.viz.movie import animate
    from jostle.viz.results import basins, bifurcation, branches, evacuation, mean_curve, orders, quantile_band
    from jostle.viz.style import use_style

__all__ = [
    "OUTLINES",
    "QUANTITIES",
    "Drawn",
    "Frame",
    "Quantity",
    "Server",
    "Shape",
    "animate",
    "arrows",
    "balance",
    "basins",
    "bifurcation",
    "branches",
    "densities",
    "density",
    "draw",
    "energies",
    "evacuation",
    "field",
    "history",
    "impacts",
    "mass_inside",
    "mean_curve",
    "orders",
    "page",
    "paths",
    "phase",
    "plan",
    "plans",
    "quantile_band",
    "report",
    "serve",
    "strip",
    "use_style",
    "widget",
]

_DRAWN = {
    "drawing": ("draw", "strip"),
    "fields": ("arrows", "field"),
    "density_pictures": ("densities", "density", "mass_inside"),
    "curves": ("balance", "energies", "history", "impacts", "paths", "phase"),
    "results": ("basins", "bifurcation", "branches", "evacuation", "mean_curve", "orders", "quantile_band"),
    "movie": ("animate",),
    "floor_plans": ("plan", "plans"),
    "crowd_report": ("report",),
    "style": ("use_style",),
}


def __dir__() -> list[str]:
    """List names that are not imported yet, for completion and the documentation."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import functions that need matplotlib when they are first used."""
    module = next((module for module, names in _DRAWN.items() if name in names), None)
    if module is None:
        hint = "" if name.startswith("_") else f": {suggestion(name, __all__, 'see help(jostle.viz)')}"
        raise AttributeError(f"module 'jostle.viz' has no attribute {name!r}{hint}")
    need_matplotlib(f"jostle.viz.{name} and other pictures")
    return getattr(importlib.import_module(f"jostle.viz.{module}"), name)
