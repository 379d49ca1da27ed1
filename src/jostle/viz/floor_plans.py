"""Pictures of a crowd on its plan: names of exits, doors and stairs, a scale bar, groups, counters, and maps.

Walls are drawn over everything else. People have the colour of their group; whoever is in a jam (`analysis.travel`) has
a red ring. The layers are maps of the whole run from `analysis.crowd_maps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap, Normalize
from matplotlib.figure import Figure

from jostle.analysis.crowd_forces import MASS, RELAXATION_TIME, crowd_forces
from jostle.analysis.crowd_summary import CrowdSummary, crowd_summary
from jostle.analysis.crowds import crossings
from jostle.analysis.exits import distance_to_segment, known_plan
from jostle.analysis.level_of_service import FRUIN, LEVELS
from jostle.analysis.walks import JAM_SPEED, desired_speeds
from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.colours import SERVICE_LEVELS
from jostle.crowds.crowd import Crowd
from jostle.crowds.plans import Plan
from jostle.errors import InvalidValue
from jostle.io.areas import present, walkable
from jostle.io.crowd_runs import radii_in
from jostle.solution import Solution
from jostle.viz.buildings import Building, draw_people, name_groups
from jostle.viz.drawing import frames_at
from jostle.viz.sources import Shown, solution
from jostle.viz.style import CELL_COLOURS, plain
from jostle.viz.units import with_time, with_unit

NOT_STARTED = 0.02
"""People who moved by less than this distance, in metres, have not started to walk."""
GATE_TOUCHED = 1e-3
"""People whose discs reach into a gate by less than this fraction of their radius do not stand in it."""
LAYERS = ("density", "worst density", "level of service", "speed", "jam time", "force")
"""Names of the maps that can be drawn."""
FORCE_LABEL = f"largest load of a person (N)\nif m = {MASS:g} kg, tau = {RELAXATION_TIME:g} s"
"""Label of the map of forces, with its assumption."""
LARGEST_DENSITY = 1e3
"""End of the colours of the level F, in people per square metre."""
WIDE = 2.5
"""Ratio of width to height above which several plans are drawn below each other, not side by side."""


@dataclass(frozen=True, eq=False)
class Shot:
    """The data that the pictures of one run share."""

    sol: Solution
    plan: Any
    found: CrowdSummary

    @classmethod
    def of(cls, shown: Shown, plan: Any) -> Shot:
        """The plan and the answers of a run."""
        sol = solution(shown)
        known = known_plan(sol, plan, "viz.plan")
        return cls(sol, known, crowd_summary(sol, known))

    @cached_property
    def building(self) -> Building:
        """The drawing of the plan."""
        return Building(self.plan, self.sol.facts.units.length or "m")

    @property
    def aspect(self) -> float:
        """Width over height."""
        return self.building.aspect

    def counters(self, k: int) -> str:
        """The time, and how many people are inside, out, and out by each exit, in frame k."""
        t, left = float(self.sol.t[k]), self.found.travel.left
        there = ~np.isnan(left) & (self.found.travel.start <= t)
        out = int((there & (left <= t)).sum())
        text = with_time(f"t = {t:.1f}", self.sol.facts.units) + f"    inside {int(there.sum()) - out}    out {out}"
        if len(self.found.exits) > 1:
            each = [f"{name} {int(use.passed(np.array([t]))[0])}" for name, use in self.found.exits.items()]
            text += f"  ({', '.join(each)})"
        return text

    def gates(self, k: int) -> dict[str, bool]:
        """Whether each gate is open in frame k, by its times and its number of people; open while somebody is in it."""
        t, q = float(self.sol.t[k]), np.asarray(self.sol.q[k])
        here, found = present(q), {}
        for gate in self.sol.facts.gates:
            shut = not ((gate.open[:, 0] <= t) & (t < gate.open[:, 1])).any()
            if gate.most is not None:
                shut |= int((crossings(self.sol, gate.ends).t <= t).sum()) >= gate.most
            near = distance_to_segment(q[here], gate.ends) < (1.0 - GATE_TOUCHED) * radii_in(self.sol, k)[here]
            found[gate.name] = not shut or bool(near.any())
        return found

    def people(self, ax: Axes, k: int) -> None:
        """Discs in the colours of their groups, with rings around those in jams."""
        q, u, radii = np.asarray(self.sol.q[k]), np.asarray(self.sol.u[k]), radii_in(self.sol, k)
        who = np.flatnonzero(present(q))
        groups = self.sol.facts.groups
        number = np.zeros(len(q), dtype=int) if groups is None else np.maximum(groups.number, 0)
        speed, _ = desired_speeds(self.sol)
        jammed = (np.linalg.norm(u[who], axis=1) < JAM_SPEED * speed[who]) & (k % len(self.sol.t) > 0)
        jammed &= present(q[who], walkable(self.plan))
        start = np.asarray(self.sol.q[0])[who]
        jammed &= ~(np.linalg.norm(q[who] - start, axis=1) < NOT_STARTED)  # who has not started waits on purpose
        if self.sol.facts.reaction is not None:
            jammed &= self.sol.facts.reaction[who] <= self.sol.t[k]
        draw_people(ax, q[who], radii[who], number[who], jammed)

    def legend(self, figure: Figure) -> None:
        """The names of the groups, and what the ring means, below the plan."""
        groups = self.sol.facts.groups
        ring = f"in a jam: slower than {100 * JAM_SPEED:g} % of their desired speed"
        name_groups(figure, ("people",) if groups is None else groups.names, ring)

    def forces(self) -> Array:
        """(r, c) the largest force on a person in each square of the maps, at any saved time, in newtons."""
        x, y = self.found.maps.x, self.found.maps.y
        found, area = np.zeros((len(y) - 1, len(x) - 1)), walkable(self.plan)
        for q, load in zip(self.sol.q, crowd_forces(self.sol).load, strict=True):
            who = np.flatnonzero(present(np.asarray(q), area))
            column, row = (
                np.clip(np.searchsorted(edges, np.asarray(q)[who, axis], side="right") - 1, 0, len(edges) - 2)
                for axis, edges in enumerate((x, y))
            )
            np.maximum.at(found, (row, column), load[who])
        return np.where(np.isfinite(self.found.maps.mean), found, np.nan)

    def layer(self, ax: Axes, name: str) -> None:
        """A map of the whole run with its colour bar."""
        maps, units = self.found.maps, self.sol.facts.units
        per_area = f"/{units.length or 'm'}²"
        values, label = {
            "density": (maps.mean, f"mean density (people{per_area})"),
            "worst density": (maps.worst, f"worst density (people{per_area})"),
            "level of service": (maps.worst, "level of service (Fruin)\nof the worst density"),
            "speed": (maps.speed, with_unit("mean speed", units, (1, -1, 0))),
            "jam time": (maps.jammed, f"time in jams (person {units.time or 's'}{per_area})"),
            "force": (self.forces() if name == "force" else maps.mean, FORCE_LABEL),
        }[name]
        high = float(np.nanmax(values)) if np.isfinite(values).any() else 1.0
        scale: dict[str, Any] = {"cmap": CELL_COLOURS, "norm": Normalize(0.0, high or 1.0)}
        if name == "level of service":
            norm = BoundaryNorm([0.0, *FRUIN["walkways"], LARGEST_DENSITY], len(LEVELS))
            scale = {"cmap": ListedColormap(SERVICE_LEVELS), "norm": norm}
        mesh = ax.pcolormesh(maps.x, maps.y, np.ma.masked_invalid(values), zorder=1, **scale)
        mesh.set_clip_path(self.building.outline, ax.transData)
        bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.8)
        bar.set_label(plain(label), fontsize=8)
        if name != "level of service":
            return
        bar.set_ticks(list(FRUIN["walkways"]), labels=[f"{each:.2f}" for each in FRUIN["walkways"]])
        for number, level in enumerate(LEVELS):
            y = (number + 0.5) / len(LEVELS)
            bar.ax.text(0.5, y, level, transform=bar.ax.transAxes, ha="center", va="center", fontsize=8)


def draw_plan(shot: Shot, ax: Axes, k: int, layer: str | None) -> None:
    """The plan of a run on some axes, with the people of frame k or with a map."""
    if layer is not None and layer not in LAYERS:
        raise InvalidValue(
            f"layer must be one of {', '.join(map(repr, LAYERS))}, or None for the people, not {layer!r}"
        )
    shot.building.ground(ax)
    if layer is None:
        shot.people(ax, k)
        ax.set_title(plain(shot.counters(k)), fontsize=9, loc="left")
    else:
        shot.layer(ax, layer)
    shot.building.walls(ax, shot.sol.shapes(k))
    shot.building.openings(ax, is_open=shot.gates(k))
    shot.building.scale_bar(ax)


@check_arguments
def plan(
    sol: Shown | Plan | Crowd, k: int = -1, *, layer: str | None = None, plan: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw the floor plan of a crowd with the people of one frame, or with a map of the whole run.

    Before a run, a `Plan` is drawn with the widths of its openings, and the people of `crowds.crowd` where they start.

    Parameters
    ----------
    sol : Solution, str, path, Plan or Crowd
        A solution, or the name of a trajectory file; before a run, a floor plan, or the people of `crowds.crowd`.
    k : int, default -1
        Number of the frame; negative numbers count from the end.
    layer : str, optional
        Map of the whole run to draw: "density" (mean), "worst density", "level of service" (Fruin 1971, of the worst
        density), "speed", "jam time", or, if contacts were saved, "force" (largest load on a person, see
        `jostle.analysis.crowd_forces`). None: the people of frame k.
    plan : Plan or Room, optional
        The floor plan. None: that of the run, which must then be known.
    ax : matplotlib Axes, optional
        Where to draw. None: a new figure, with a legend.

    Returns
    -------
    matplotlib Axes
        The Axes with the picture.

    Raises
    ------
    InvalidValue
        If there is no such frame, the layer is unknown, or the floor plan is unknown.

    Examples
    --------
    >>> import jostle as jo
    >>> room = jo.crowds.Plan([(0, 0), (6, 0), (6, 4), (0, 4)], exits={"east": ((6, 1), (6, 2.2))})
    >>> people = jo.crowds.crowd(12, radius=0.2, room=room, speed=1.3)
    >>> run = jo.solve(people, jo.Venel(), t=10.0, h=0.05, every=0.5, change=room.changes(people))
    >>> ax = plan(run, 2)
    >>> ax.get_title(loc="left").split()[-4:], [text.get_text() for text in ax.texts if text.get_text()]
    (['inside', '11', 'out', '1'], ['east', '1 m'])
    >>> plt.close(ax.figure)
    >>> ax = plan(room)
    >>> ax.get_title(loc="left"), [text.get_text() for text in ax.texts if text.get_text()]
    ('24 m²    1 exit 1.20 m wide', ['east, 1.20 m', '1 m'])
    >>> plt.close(ax.figure)
    """
    if isinstance(sol, Plan | Crowd):
        return _before(sol, k, layer, plan, ax)
    shot = Shot.of(sol, plan)
    if not -len(shot.sol.t) <= k < len(shot.sol.t):
        raise InvalidValue(f"there is no frame {k}: the solution has {len(shot.sol.t)}")
    alone = ax is None
    if ax is None:
        ax = _figure(shot.aspect, 1).subplots()
    draw_plan(shot, ax, k, layer)
    if alone and layer is None:
        shot.legend(cast("Figure", ax.figure))
    return ax


@check_arguments
def plans(sol: Shown, moments: int | Sequence[float] = 3, *, plan: Any = None) -> Figure:
    """Draw several frames of a crowd on its floor plan, side by side, or below each other if the plan is wide.

    Parameters
    ----------
    sol : Solution, str or path
        A solution, or the name of a trajectory file.
    moments : int or sequence of float, default 3
        Number of frames from start to end, or the times of the frames.
    plan : Plan or Room, optional
        The floor plan. None: that of the run, which must then be known.

    Returns
    -------
    matplotlib Figure
        The figure.

    Raises
    ------
    InvalidValue
        If a time lies outside the run, or the floor plan is unknown.

    Examples
    --------
    >>> import jostle as jo
    >>> room = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"east": ((9, 1), (9, 2.2))})
    >>> people = jo.crowds.crowd(12, radius=0.2, room=room, speed=1.3)
    >>> run = jo.solve(people, jo.Venel(), t=10.0, h=0.05, every=0.5, change=room.changes(people))
    >>> figure = plans(run, [0.0, 4.0])
    >>> [ax.get_title(loc="left").split()[2] for ax in figure.axes]
    ['0.0', '4.0']
    >>> plt.close(figure)
    """
    shot = Shot.of(sol, plan)
    numbers = frames_at(np.asarray(shot.sol.t), moments)
    figure = _figure(shot.aspect, len(numbers))
    rows, columns = (len(numbers), 1) if shot.aspect >= WIDE else (1, len(numbers))
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, k in zip(axes, numbers, strict=True):
        draw_plan(shot, ax, k, None)
    shot.legend(figure)
    return figure


def _before(sol: Plan | Crowd, k: int, layer: str | None, plan: Any, ax: Axes | None) -> Axes:
    """A plan before a run, with the people where they start."""
    if layer is not None or k not in (0, -1):
        raise InvalidValue("layer and k belong to a run: give a Solution or the path of a trajectory file")
    people = sol if isinstance(sol, Crowd) else None
    found = (sol.plan if plan is None else plan) if isinstance(sol, Crowd) else sol
    building, alone = Building(found), ax is None
    if ax is None:
        ax = _figure(building.aspect, 1).subplots()
    building.ground(ax)
    building.before(ax, people)
    if people is not None and alone:
        name_groups(cast("Figure", ax.figure), people.groups)
    return ax


def _figure(aspect: float, number: int) -> Figure:
    """A figure for a number of plans, at most 12 inches wide."""
    tall = 1.0 / aspect
    if aspect >= WIDE:
        return plt.figure(figsize=(11.0, number * (11.0 * tall + 0.45) + 0.3), layout="constrained")
    each = float(np.clip(12.0 / number, 3.6, 7.0 / max(tall, 0.7)))
    return plt.figure(figsize=(each * number, each * tall + 0.8), layout="constrained")
