"""The assumptions of a crowd report: the model, the parameters of the people, and the definitions of its figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jostle.analysis.crowd_maps import MAP_FRAMES
from jostle.analysis.crowd_summary import MAX_VORONOI_PEOPLE
from jostle.analysis.jams import JAM_PEOPLE
from jostle.analysis.walks import JAM_SPEED
from jostle.arrays import Array
from jostle.run_summaries import overlap_in_words
from jostle.solution import Solution
from jostle.viz.units import lift_times


def assumptions(sol: Solution, radii: Array, noted: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names and texts of the table of assumptions.

    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    >>> rows = dict(assumptions(jo.solve(walker, jo.Venel(), t=1.0, h=0.1), np.array([0.2]), {}))
    >>> rows["radii of people"], rows["time step"]
    ('0.2 m', '0.1 s')
    """
    speeds = sol.facts.speeds
    scheme = noted.get("scheme") or repr(sol.scheme)
    steps = sol.stats["h"]
    density = "people counted" if len(radii) > MAX_VORONOI_PEOPLE else "Voronoi density"
    return [
        (
            "model",
            "people are discs that do not overlap; their velocity is the admissible one nearest to the desired one "
            "(Venel 2009)",
        ),
        ("scheme", scheme),
        ("time step", f"{np.median(steps):.4g} s" if len(steps) else "no step"),
        ("worst overlap", overlap_in_words(sol)),
        ("radii of people", _range(radii, "m")),
        ("desired speeds", "unknown" if speeds is None else _range(speeds, "m/s")),
        ("density", f"{density} in squares of 1 m, at {min(MAP_FRAMES, len(sol.t))} of {len(sol.t)} saved times"),
        (
            "jam",
            f"at least {JAM_PEOPLE} people slower than {100 * JAM_SPEED:g} % of their desired speed at one opening",
        ),
        ("time loss", "time beyond that of the same way at the desired speed, from the first movement on"),
        ("blocked", "nobody moved for 10 s although people are inside and want to walk"),
        ("between saved times", "people walk straight on; leaving times are interpolated"),
        *((f"lift {name!r}", lift_times(link)) for name, link in _lifts(sol).items()),
    ]


def _lifts(sol: Solution) -> dict[str, Any]:
    """The lifts of the plan by name."""
    plan = sol.facts.plan
    return {} if plan is None else {name: link for name, link in plan.links.items() if link.every is not None}


def _range(values: Array, unit: str) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:g} {unit}" if low == high else f"{low:.3g} to {high:.3g} {unit}, mean {values.mean():.3g} {unit}"
