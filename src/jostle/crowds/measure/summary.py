"""The main results of an evacuation: how long it takes, by which exits, how dense it is, where people jam."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array
from jostle.crowds.measure.blockades import Blockade, blockade_of, gate_lines, missed, standing
from jostle.crowds.measure.crowding import MAP_FRAMES, CrowdMaps, Mapped, level_of_service
from jostle.crowds.measure.jams import Jam, Jamming
from jostle.crowds.measure.leaving import ExitUse, Leaving, Travel, Walked, exit_lines, known_plan, uses_of, watch
from jostle.crowds.model.facts import crowd_facts
from jostle.result.solution import Solution

LEFT_FRACTION = 0.95
"""Fraction of the people who have left at the second evacuation time."""
MAX_VORONOI_PEOPLE = 1000
"""Largest crowd with Voronoi densities; in larger ones people are counted in squares, which is much faster."""
LONGEST_INTERVAL = 1.0
"""Longest time between two saved frames (s) at which exits and flows are measured well: people who leave are seen close
to their exit."""
LARGEST_SPECIFIC_FLOW = 2.5
"""Largest flow through an exit (people/s/m) that does not cause a warning. Experiments at doors of 0.4 to 1.2 m have
1.7 to 2.3 people/s/m (Kretz, Grünebohm & Schreckenberg 2006)."""
LARGEST_DENSITY = 7.0
"""Largest density (people/m2) that does not cause a warning: from there on a crowd moves like a fluid (Fruin 1993)."""
FASTEST_WALK = 2.2
"""Largest desired speed (m/s) that does not cause a warning. People walk at 1.34 m/s, with a standard deviation of 0.26
m/s (Weidmann 1993)."""
FEWEST_IN_FLOW, SHORTEST_FLOW = 10, 3.0
"""Number of people and time (s) from which the flow through an exit is judged."""


@dataclass(frozen=True, eq=False)
class CrowdSummary:
    """The main results of a run; see `crowd_summary`."""

    people: int
    inside: int
    never_inside: int
    evacuation_time: float
    evacuation_time_95: float
    interval: float
    exits: dict[str, ExitUse]
    left_elsewhere: int
    travel: Travel
    maps: CrowdMaps
    jams: list[Jam]
    blockade: Blockade | None
    missed: int = 0
    standing: int = 0
    fastest: float = np.nan
    gates: dict[str, Array] = field(default_factory=dict)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What lies outside the range of real people, each with its source: flows, density, desired speeds."""
        found = []
        for name, use in self.exits.items():
            if use.count < FEWEST_IN_FLOW or use.t[-1] - use.t[0] < SHORTEST_FLOW:
                continue
            if use.specific > LARGEST_SPECIFIC_FLOW:
                found.append(
                    f"{use.specific:.2f} people/s/m at exit {name!r} is not realistic: in experiments, 1.7 to 2.3 "
                    f"people/s/m pass doors of 0.4 to 1.2 m (Kretz, Grünebohm & Schreckenberg 2006)"
                )
        density = self.maps.peak[0]
        if density > LARGEST_DENSITY:
            found.append(
                f"at a density of {density:.1f} people/m² people are in danger: from {LARGEST_DENSITY:g} people/m² on "
                f"a crowd moves like a fluid (Fruin 1993), and people stop walking at 5.4 people/m² (Weidmann 1993)"
            )
        if self.fastest > FASTEST_WALK:
            found.append(
                f"a desired speed of {self.fastest:.2f} m/s is faster than people walk: their speed is 1.34 m/s with a "
                f"standard deviation of 0.26 m/s (Weidmann 1993)"
            )
        return tuple(found)

    @property
    def blocked(self) -> bool:
        """Whether nobody moves at the end although people are inside and want to walk."""
        return self.blockade is not None and self.blockade.certain

    def rows(self) -> dict[str, Any]:
        """The results as plain values, for tables and JSON; a value that does not exist is None.

        Lengths, times and speeds are in the units of the run: metres and seconds in scenarios.
        """
        density, t, place = self.maps.peak
        there = ~np.isnan(self.travel.left)
        loss, jammed = self.travel.loss[there], self.travel.jammed[there]
        found: dict[str, Any] = {
            "people": self.people,
            "inside_at_end": self.inside,
            "evacuation_time": _known(self.evacuation_time),
            "evacuation_time_95": _known(self.evacuation_time_95),
            "time_between_frames": self.interval,
            "exits": {name: _exit(use) for name, use in self.exits.items()},
            "worst_density": _known(density),
            "worst_density_at": None if np.isnan(density) else {"t": t, "x": place[0], "y": place[1]},
            "level_of_service": None if np.isnan(density) else str(level_of_service(density)),
            "mean_time_loss": _mean(loss) if self.travel.speeds_known else None,
            "largest_time_loss": _known(float(loss.max(initial=0.0))) if self.travel.speeds_known else None,
            "mean_time_in_jams": _mean(jammed),
            "jams": [_jam(jam) for jam in self.jams],
            "blocked": self.blocked,
        }
        unusual = {
            "missed": self.missed,
            "standing_at_end": 0 if self.blocked else self.standing,
            "warnings": [*self.warnings],
            "never_inside": self.never_inside,
            "left_elsewhere": self.left_elsewhere,
        }
        found |= {name: value for name, value in unusual.items() if value}
        if self.blockade is not None:
            found["blockade" if self.blocked else "standstill"] = str(self.blockade)
        return found


@check_arguments
def crowd_summary(sol: Solution, plan: Any = None) -> CrowdSummary:
    """The main results of a run of people on a floor plan, from memory or from a file.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane.
    plan : Plan, optional
        The floor plan. None means the plan of the run.

    Returns
    -------
    CrowdSummary
        The fields are the numbers of `people` who were inside at some saved time, `inside` at the end, and
        `never_inside` (they found no free place, or the run ended before); the `evacuation_time` of the last person and
        `evacuation_time_95`, when 95 % had left (NaN if they have not); the longest `interval` between two saved
        frames, to which times are known (beyond 1 s, exits and flows are estimates); `exits` (see `exit_use`), the
        number of people who `left_elsewhere`, `travel`, `maps` (see `crowd_maps`; for more than 1000 people, counts in
        squares), `jams`, `blockade` and `blocked`; the numbers of people inside at the end who `missed` their exits,
        because all of them have closed for good, and of others `standing`, slower than 5 % of their desired speed in
        the last 10 s although they are not known to wait on purpose; the `fastest` desired speed (NaN if unknown), the
        times at which people passed each of the `gates` for the first time, and `warnings` (what real people do not do,
        with sources). ``rows()`` gives plain values for tables and JSON.

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (6, 0), (6, 5), (0, 5)], exits={"east": ((6, 2), (6, 3.2))})
    >>> people = jo.crowds.crowd(20, radius=0.2, room=plan, speed=1.3)
    >>> sol = jo.solve(people, jo.Venel(), t=30.0, h=0.05, until=plan.empty)
    >>> found = crowd_summary(sol)
    >>> found.people, found.inside, found.exits["east"].count, found.blocked
    (20, 0, 20, False)
    >>> bool(0.0 < found.evacuation_time_95 <= found.evacuation_time <= sol.t[-1])
    True
    """
    known = known_plan(sol, plan, "crowd_summary")
    leaving, walked, jamming, mapped = Leaving(), Walked(), Jamming(sol, known), density_maps(sol, known)
    exits, gates = exit_lines(known), gate_lines(sol, known)
    watch(sol, known, leaving, walked, jamming, mapped, *exits.values(), *gates.values())
    journeys, uses, late = walked.travel(sol, leaving), uses_of(known, leaving, exits), missed(sol, known, gates)
    came = ~np.isnan(journeys.left)
    left = np.sort(np.where(came, journeys.left, np.inf))
    inside, people = int(np.isinf(journeys.left).sum()), int(came.sum())
    last = float(left[-1]) if len(left) else np.nan
    most = float(left[int(np.ceil(LEFT_FRACTION * len(left))) - 1]) if len(left) else np.nan
    return CrowdSummary(
        people=people,
        inside=inside,
        never_inside=len(left) - people,
        evacuation_time=last if np.isfinite(last) else np.nan,
        evacuation_time_95=most if np.isfinite(most) else np.nan,
        interval=float(np.diff(sol.t).max(initial=0.0)),
        exits=uses,
        left_elsewhere=people - inside - sum(use.count for use in uses.values()),
        travel=journeys,
        maps=mapped.maps,
        jams=jamming.jams,
        blockade=blockade_of(sol, known, late),
        missed=int(late.sum()),
        standing=int(standing(sol, known, late).sum()),
        fastest=np.nan if (speeds := crowd_facts(sol).speeds) is None else float(speeds.max(initial=0.0)),
        gates={name: line.passed for name, line in gates.items()},
    )


def density_maps(sol: Solution, plan: Any) -> Mapped:
    """The maps of a summary, to be watched; their peak is the worst density of the run."""
    counted = int(sol.q.shape[1]) > MAX_VORONOI_PEOPLE
    return Mapped(sol, plan, _size(plan), MAP_FRAMES, counted=counted)


def _size(plan: Any) -> float:
    """Side of the squares in which densities are measured: 1 m, or 1/200 of a plan that is wider than 200 m."""
    low_x, low_y, high_x, high_y = plan.area.bounds
    return float(max(1.0, max(high_x - low_x, high_y - low_y) / 200.0))


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _mean(values: Any) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _exit(use: ExitUse) -> dict[str, Any]:
    ends = (float(use.t[0]), float(use.t[-1])) if use.count else (None, None)
    return {
        "people": use.count, "first": ends[0], "last": ends[1], "width": use.width, "flow": _known(use.flow),
        "specific_flow": _known(use.specific),
    }  # fmt: skip


def _jam(jam: Jam) -> dict[str, Any]:
    return {
        "at": jam.at, "people": jam.people, "t": jam.t, "x": float(jam.place[0]), "y": float(jam.place[1]),
        "start": jam.start, "end": jam.end, "duration": jam.duration, "waited": jam.waited,
    }  # fmt: skip
