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
from matplotlib.collections import EllipseCollection, LineCollection
from matplotlib.colors import BoundaryNorm, ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, PathPatch
from matplotlib.path import Path as Outline

from jostle.analysis.crowd_forces import MASS, RELAXATION_TIME, crowd_forces
from jostle.analysis.crowd_summary import CrowdSummary, crowd_summary
from jostle.analysis.crowds import crossings
from jostle.analysis.exits import distance_to_segment, known_plan
from jostle.analysis.level_of_service import FRUIN, LEVELS
from jostle.analysis.walks import JAM_SPEED, desired_speeds
from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.errors import InvalidValue
from jostle.io.areas import floors, needed, present, walkable
from jostle.io.moves import radii_in
from jostle.shapes import BALL, SEGMENTS
from jostle.solution import Solution
from jostle.viz.drawing import frames_at
from jostle.viz.picture import COLOURS
from jostle.viz.sources import Shown, solution
from jostle.viz.style import GROUPS
from jostle.viz.units import with_time, with_unit

EXIT_COLOUR, STAIRS_COLOUR, DOOR_COLOUR, JAM_COLOUR = "#009e73", "#cc79a7", "#e69f00", "#d62728"
"""Colours of exits, stairs, doors and of the rings of people in jams."""
SERVICE_COLOURS = ("#2c7bb6", "#7fbfdc", "#c6e5a5", "#ffe08a", "#f7945d", "#c51b1b")
"""Colours of the levels of service A to F."""
NOT_STARTED = 0.02
"""People who are nearer (m) than this to where they were at the start have not started to walk."""
OPEN, CLOSED = "open", "closed"
"""States of gates."""
GATE_TOUCHED = 1e-3
"""People whose discs reach into a gate by less than this part of their radius do not stand in it."""
LAYERS = ("density", "worst density", "level of service", "speed", "jam time", "force")
"""Names of the maps that can be drawn."""
FORCE_LABEL = f"largest load of a person (N)\nif m = {MASS:g} kg, tau = {RELAXATION_TIME:g} s"
"""Label of the map of forces, with its assumption."""
LARGEST_DENSITY = 1e3
"""End of the colours of the level F, in people per square metre."""
WIDE = 2.5
"""Plans that are wider than this many times their height are drawn below each other, not side by side."""
MARGIN = 0.05
"""Margin around a plan, as a part of its larger side."""
ROUND_LENGTHS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Lengths of scale bars in metres."""
BAR_PART = 0.15
"""A scale bar is at least this part of the width of a plan."""


@dataclass(frozen=True, eq=False)
class Shot:
    """What the pictures of one run share."""

    sol: Solution
    plan: Any
    found: CrowdSummary

    @classmethod
    def of(cls, shown: Shown, plan: Any) -> Shot:
        """The plan and the answers of a run."""
        sol = solution(shown)
        known = known_plan(sol, plan, "viz.plan")
        return cls(sol, known, crowd_summary(sol, known))

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The corners of the picture."""
        low, high = np.reshape(walkable(self.plan).bounds, (2, 2))
        margin = MARGIN * float((high - low).max())
        return low - margin, high + margin

    @property
    def aspect(self) -> float:
        """Width over height."""
        low, high = self.bounds
        return float((high - low)[0] / (high - low)[1])

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

    @cached_property
    def outline(self) -> Outline:
        """The walkable area as a path, with holes."""
        rings, codes = [], []
        for floor in floors(walkable(self.plan)):
            turned = needed("shapely").orient_polygons(floor)
            for ring in (turned.exterior, *turned.interiors):
                rings.append(np.asarray(ring.coords)[:, :2])
                codes += [Outline.MOVETO, *[Outline.LINETO] * (len(rings[-1]) - 2), Outline.CLOSEPOLY]
        return Outline(np.concatenate(rings), codes)

    def ground(self, ax: Axes) -> None:
        """The walkable area in white on grey."""
        low, high = self.bounds
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
        ax.set_facecolor("0.88")
        ax.add_patch(PathPatch(self.outline, facecolor="white", edgecolor="none", zorder=0.5))
        ax.set_xticks([])
        ax.set_yticks([])
        for spine in ax.spines.values():
            spine.set_visible(False)

    def building(self, ax: Axes, k: int) -> None:
        """Walls, openings with their names, gates with their state, names of rooms, and the scale bar."""
        for shape in self.sol.shapes(k):
            if shape.kind == SEGMENTS:
                lines = np.asarray(shape.points).reshape(-1, 2, 2)
                ax.add_collection(LineCollection(list(lines), colors="black", linewidths=1.6, zorder=5))
            elif shape.kind == BALL:
                ax.add_patch(Circle(shape.points[0], float(shape.points[1][0]), color="0.2", zorder=5))
        middle, closed = np.mean(self.bounds, axis=0), self.closed(k)
        gates = {gate.name: CLOSED if shut else OPEN for gate, shut in zip(self.sol.facts.gates, closed, strict=True)}
        for name, ends in self.plan.exits.items():
            self._opening(ax, np.asarray(ends), EXIT_COLOUR, name, middle, gates.get(name, ""))
        for name, link in self.plan.links.items():
            self._opening(ax, np.asarray(link.start), STAIRS_COLOUR, name, middle)
        for number, ends in enumerate(getattr(self.plan, "doors", ())):
            name, below = f"door {number}", np.mean(ends, axis=0) - [0.0, 1.0]
            self._opening(ax, np.asarray(ends), DOOR_COLOUR, name, below, gates.get(name, ""))
        for name, at in getattr(self.plan, "labels", {}).items():
            ax.text(
                float(at[0]),
                float(at[1]),
                name,
                ha="center",
                va="center",
                fontsize=8,
                fontstyle="italic",
                color="0.45",
                zorder=2,
            )
        self._scale_bar(ax)

    def closed(self, k: int) -> list[bool]:
        """Which gates are closed in frame k: by their times or their number of people, if nobody stands in them."""
        t, q = float(self.sol.t[k]), np.asarray(self.sol.q[k])
        here = present(q)
        found = []
        for gate in self.sol.facts.gates:
            shut = not ((gate.open[:, 0] <= t) & (t < gate.open[:, 1])).any()
            if gate.most is not None:
                shut |= int((crossings(self.sol, gate.ends).t <= t).sum()) >= gate.most
            near = distance_to_segment(q[here], gate.ends) < (1.0 - GATE_TOUCHED) * radii_in(self.sol, k)[here]
            found.append(bool(shut and not near.any()))
        return found

    def _opening(self, ax: Axes, ends: Array, colour: str, name: str, middle: Array, state: str = "") -> None:
        """A segment and its name, on the side that is away from the middle of the plan; black if it is closed."""
        ax.plot(*ends.T, color="black" if state == CLOSED else colour, linewidth=3.0, solid_capstyle="butt", zorder=5.5)
        at = ends.mean(axis=0)
        normal = np.array([-(ends[1] - ends[0])[1], (ends[1] - ends[0])[0]])
        normal = normal / np.linalg.norm(normal)
        normal = normal if normal @ (at - middle) >= 0.0 else -normal
        across, up = ("left" if normal[0] > 0.5 else "right" if normal[0] < -0.5 else "center"), "center"
        if across == "center":
            up = "bottom" if normal[1] > 0.0 else "top"
        turned = 90.0 if across != "center" else 0.0
        words = f"{name} ({state})" if state else name
        ax.annotate(
            words, at, xytext=tuple(4.0 * normal), textcoords="offset points", ha=across, va=up, fontsize=7,
            rotation=turned, color="0.1", zorder=6, annotation_clip=False,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": colour, "linewidth": 0.8},
        )  # fmt: skip

    def _scale_bar(self, ax: Axes) -> None:
        """A round length below the plan, on the right."""
        low, high = self.bounds
        least = BAR_PART * float(high[0] - low[0])
        length = next((each for each in ROUND_LENGTHS if each >= least), ROUND_LENGTHS[-1])
        end, y = float(high[0]), float(low[1])
        label = f"{length:g} {self.sol.facts.units.length or 'm'}"
        ax.annotate(
            "", (end - length, y), xytext=(end, y), annotation_clip=False,
            arrowprops={"arrowstyle": "|-|,widthA=0.25,widthB=0.25", "shrinkA": 0, "shrinkB": 0, "linewidth": 1.6},
        )  # fmt: skip
        middle: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "top", "fontsize": 7}
        ax.annotate(label, (end - length / 2.0, y), xytext=(0, -4), annotation_clip=False, **middle)

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
        across = 2.0 * np.where(radii > 0.0, radii, 0.2)[who]
        discs = EllipseCollection(
            across, across, 0.0 * across, units="xy", offsets=q[who], offset_transform=ax.transData, zorder=3,
            facecolors=[GROUPS[each % len(GROUPS)] for each in number[who]],
            edgecolors=[JAM_COLOUR if each else "white" for each in jammed],
            linewidths=np.where(jammed, 1.1, 0.3).tolist(),
        )  # fmt: skip
        ax.add_collection(discs)

    def legend(self, figure: Figure) -> None:
        """The names of the groups, and what the ring means, below the plan."""
        groups = self.sol.facts.groups
        names = ("people",) if groups is None else groups.names
        dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 6}
        handles = [
            Line2D([], [], markerfacecolor=GROUPS[k % len(GROUPS)], markeredgecolor="0.6", label=name, **dot)
            for k, name in enumerate(names)
        ]
        ring = f"in a jam: slower than {100 * JAM_SPEED:g} % of their desired speed"
        handles.append(Line2D([], [], markerfacecolor="white", markeredgecolor=JAM_COLOUR, label=ring, **dot))
        figure.legend(handles=handles, frameon=False, fontsize=7, loc="outside lower left", ncols=min(len(handles), 4))

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
        scale: dict[str, Any] = {"cmap": COLOURS, "norm": Normalize(0.0, high or 1.0)}
        if name == "level of service":
            norm = BoundaryNorm([0.0, *FRUIN["walkways"], LARGEST_DENSITY], len(LEVELS))
            scale = {"cmap": ListedColormap(SERVICE_COLOURS), "norm": norm}
        mesh = ax.pcolormesh(maps.x, maps.y, np.ma.masked_invalid(values), zorder=1, **scale)
        mesh.set_clip_path(self.outline, ax.transData)
        bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.8)
        bar.set_label(label, fontsize=8)
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
    shot.ground(ax)
    if layer is None:
        shot.people(ax, k)
        ax.set_title(shot.counters(k), fontsize=9, loc="left")
    else:
        shot.layer(ax, layer)
    shot.building(ax, k)


@check_arguments
def plan(sol: Shown, k: int = -1, *, layer: str | None = None, plan: Any = None, ax: Axes | None = None) -> Axes:
    """The plan of a crowd with the people of frame k, or with a map of the whole run as `layer`.

    The layers are "density" (mean), "worst density", "level of service" (Fruin 1971, of the worst density), "speed",
    "jam time", and, if contacts were saved, "force" (the largest load on a person, see `analysis.crowd_forces`). A run
    that does not know its plan needs it.

    >>> import jostle as jo
    >>> room = jo.crowds.Plan([(0, 0), (6, 0), (6, 4), (0, 4)], exits={"east": ((6, 1), (6, 2.2))})
    >>> people = jo.crowds.crowd(12, radius=0.2, room=room, speed=1.3)
    >>> run = jo.solve(people, jo.Venel(), t=10.0, h=0.05, every=0.5, change=room.changes(people))
    >>> ax = plan(run, 2)
    >>> ax.get_title(loc="left").split()[-4:], [text.get_text() for text in ax.texts if text.get_text()]
    (['inside', '11', 'out', '1'], ['east', '1 m'])
    >>> plt.close(ax.figure)
    """
    shot = Shot.of(sol, plan)
    if not -len(shot.sol.t) <= k < len(shot.sol.t):
        raise InvalidValue(f"there is no frame {k}: the solution has {len(shot.sol.t)}")
    alone = ax is None
    if ax is None:
        ax = _figure(shot, 1).subplots()
    draw_plan(shot, ax, k, layer)
    if alone and layer is None:
        shot.legend(cast("Figure", ax.figure))
    return ax


@check_arguments
def plans(sol: Shown, moments: int | Sequence[float] = 3, *, plan: Any = None) -> Figure:
    """Several moments of a crowd on its plan: side by side, or below each other if the plan is wide.

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
    figure = _figure(shot, len(numbers))
    rows, columns = (len(numbers), 1) if shot.aspect >= WIDE else (1, len(numbers))
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, k in zip(axes, numbers, strict=True):
        draw_plan(shot, ax, k, None)
    shot.legend(figure)
    return figure


def _figure(shot: Shot, number: int) -> Figure:
    """A figure for a number of plans, at most 12 inches wide."""
    tall = 1.0 / shot.aspect
    if shot.aspect >= WIDE:
        return plt.figure(figsize=(11.0, number * (11.0 * tall + 0.45) + 0.3), layout="constrained")
    each = float(np.clip(12.0 / number, 3.6, 7.0 / max(tall, 0.7)))
    return plt.figure(figsize=(each * number, each * tall + 0.8), layout="constrained")
