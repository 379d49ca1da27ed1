"""Floor plans as matplotlib draws them: the walkable area, walls, openings with their names, a scale bar, people.

`floor_plans` draws runs with it, and plans before a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection, LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, PathPatch, Polygon
from matplotlib.path import Path as Outline

from jostle.arrays import Array, Booleans, Integers
from jostle.colours import BAD, GREEN, GROUPS, LIGHT, ORANGE, PURPLE
from jostle.crowds.crowd import Crowd
from jostle.crowds.gates import Gate
from jostle.io.areas import floors, needed, walkable
from jostle.shapes import BALL, SEGMENTS, Shape
from jostle.viz.style import plain
from jostle.viz.units import lift_times

EXIT_COLOUR, STAIRS_COLOUR, DOOR_COLOUR, JAM_COLOUR = GREEN, PURPLE, ORANGE, BAD
"""Colours of exits, stairs, doors and of the rings of people in jams."""
MARGIN = 0.05
"""Margin around a plan, as a fraction of its larger side."""
ROUND_LENGTHS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Lengths of scale bars in metres."""
BAR_PART = 0.15
"""Smallest length of a scale bar, as a fraction of the width of the plan."""


@dataclass(frozen=True, eq=False)
class Building:
    """A plan, ready to be drawn.

    >>> import jostle as jo
    >>> hall = jo.crowds.Plan([(0, 0), (20, 0), (20, 10), (0, 10)], exits={"east": ((20, 4), (20, 6))})
    >>> Building(hall).bounds[0].tolist(), round(Building(hall).aspect, 3)
    ([-1.0, -1.0], 1.833)
    """

    plan: Any
    unit: str = "m"

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

    def walls(self, ax: Axes, shapes: Iterable[Shape]) -> None:
        """Walls and columns."""
        for shape in shapes:
            if shape.kind == SEGMENTS:
                lines = np.asarray(shape.points).reshape(-1, 2, 2)
                ax.add_collection(LineCollection(list(lines), colors=LIGHT.wall, linewidths=1.6, zorder=5))
            elif shape.kind == BALL:
                ax.add_patch(Circle(shape.points[0], float(shape.points[1][0]), color="0.2", zorder=5))

    def openings(
        self, ax: Axes, details: Mapping[str, str] | None = None, is_open: Mapping[str, bool] | None = None
    ) -> None:
        """Names of rooms; exits, stairs and doors with their names; closed gates have the colour of walls.

        `is_open` has the state of each gate by the name of its opening. With `details`, which may say more about an
        opening by its name, the widths are written instead of the states.
        """
        for name, at in getattr(self.plan, "labels", {}).items():
            x, y = map(float, at)
            ax.text(x, y, plain(name), zorder=2, ha="center", va="center", fontsize=8, fontstyle="italic", color="0.45")
        middle, states = np.mean(self.bounds, axis=0), dict(is_open or {})
        found = [(name, np.asarray(ends), EXIT_COLOUR, middle, "") for name, ends in self.plan.exits.items()]
        for name, link in self.plan.links.items():
            more = f"{link.length:g} {self.unit} long" if link.every is None else f"lift, {lift_times(link)}"
            found.append((name, np.asarray(link.start), STAIRS_COLOUR, middle, more))
        for number, door in enumerate(getattr(self.plan, "doors", ())):
            found.append((f"door {number}", np.asarray(door), DOOR_COLOUR, np.mean(door, axis=0) - [0.0, 1.0], ""))
        for name, ends, colour, inside, more in found:
            words = name
            if details is not None:
                width = f"{float(np.linalg.norm(ends[1] - ends[0])):.2f} {self.unit}"
                words = ", ".join(filter(None, [name, width, more, details.get(name, "")]))
            elif name in states:
                words = f"{name} ({'open' if states[name] else 'closed'})"
            self._opening(ax, ends, colour if states.get(name, True) else LIGHT.wall, words, inside)

    def _opening(self, ax: Axes, ends: Array, colour: str, name: str, middle: Array) -> None:
        """A segment and its name, on the side that is away from the middle of the plan."""
        ax.plot(*ends.T, color=colour, linewidth=3.0, solid_capstyle="butt", zorder=5.5)
        at = ends.mean(axis=0)
        normal = np.array([-(ends[1] - ends[0])[1], (ends[1] - ends[0])[0]])
        normal = normal / np.linalg.norm(normal)
        normal = normal if normal @ (at - middle) >= 0.0 else -normal
        across, up = ("left" if normal[0] > 0.5 else "right" if normal[0] < -0.5 else "center"), "center"
        if across == "center":
            up = "bottom" if normal[1] > 0.0 else "top"
        turned = 90.0 if across != "center" else 0.0
        ax.annotate(
            plain(name), at, xytext=tuple(4.0 * normal), textcoords="offset points", ha=across, va=up, fontsize=7,
            rotation=turned, color="0.1", zorder=6, annotation_clip=False,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": colour, "linewidth": 0.8},
        )  # fmt: skip

    def scale_bar(self, ax: Axes) -> None:
        """A round length below the plan, on the right."""
        low, high = self.bounds
        least = BAR_PART * float(high[0] - low[0])
        length = next((each for each in ROUND_LENGTHS if each >= least), ROUND_LENGTHS[-1])
        end, y = float(high[0]), float(low[1])
        ax.annotate(
            "", (end - length, y), xytext=(end, y), annotation_clip=False,
            arrowprops={"arrowstyle": "|-|,widthA=0.25,widthB=0.25", "shrinkA": 0, "shrinkB": 0, "linewidth": 1.6},
        )  # fmt: skip
        middle: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "top", "fontsize": 7}
        words = plain(f"{length:g} {self.unit}")
        ax.annotate(words, (end - length / 2.0, y), xytext=(0, -4), annotation_clip=False, **middle)

    def before(self, ax: Axes, people: Crowd | None) -> None:
        """The plan before a run: widths of openings, areas of floors, stairs, and people where they start."""
        plan, columns = self.plan, np.asarray(self.plan.columns)
        for shaft in plan.shafts.values():
            ax.add_patch(Polygon(shaft.corners, facecolor=STAIRS_COLOUR, alpha=0.25, edgecolor="none", zorder=0.6))
        balls = [Shape(BALL, np.array([[x, y], [r, 0.0]])) for x, y, r in columns]
        self.walls(ax, [Shape(SEGMENTS, plan.walls.reshape(-1, 2)), *balls])
        if people is None or people.gates is None:
            self.openings(ax, {})
        else:
            gates, shut = people.gates.gates, people.gates.first.shut
            details = {gate.at: _opening_times(gate) for gate in gates}
            self.openings(ax, details, {gates[k].at: False for k in np.flatnonzero(shut)})
        self.scale_bar(ax)
        several = floors(walkable(plan))
        for floor in several if len(several) > 1 else ():
            left, _, _, top = floor.bounds
            words = plain(f"{floor.area:.4g} {self.unit}²")
            ax.text(left, top, words, color="0.3", ha="left", va="bottom", fontsize=8)
        widths = sum(float(np.linalg.norm(ends[1] - ends[0])) for ends in plan.exits.values())
        count = len(plan.exits)
        exits = "1 exit" if count == 1 else f"{count} exits, together"
        said = [f"{plan.size:.4g} {self.unit}²", f"{exits} {widths:.2f} {self.unit} wide"]
        if people is not None:
            said.append(self._people(ax, people))
        ax.set_title(plain("    ".join(said)), fontsize=9, loc="left")

    def _people(self, ax: Axes, people: Crowd) -> str:
        """Draw people where they start, and the regions where others enter; return their number in words."""
        n = len(people.q0)
        radii = np.broadcast_to(people.within.radii_at(0.0), (n,))
        here = np.ones(n, dtype=bool) if people.presence is None else people.presence.here
        draw_people(ax, people.q0[here], radii[here], people.group[here])
        for entry in people.entries:
            for part in floors(entry.region):
                colour = GROUPS[int(people.group[entry.who[0]]) % len(GROUPS)] if len(entry.who) else "0.5"
                ring = np.asarray(part.exterior.coords)[:, :2]
                ax.plot(*ring.T, color=colour, linewidth=1.0, linestyle="--", zorder=2)
        later = n - int(here.sum())
        return f"{n} people" + (f", {later} of them later" if later else "")


def _opening_times(gate: Gate) -> str:
    """When a gate is open, in words.

    >>> _opening_times(Gate("east", open=[(0.0, 30.0), (60.0, np.inf)], most=200))
    'open 0 to 30 s, from 60 s, for 200 people'
    """
    spans = []
    for start, end in np.asarray(gate.open):
        since = f"from {start:g} s" if np.isfinite(start) else ""
        until = f"until {end:g} s" if np.isfinite(end) else ""
        spans.append(f"{start:g} to {end:g} s" if since and until else since or until)
    most = f"for {gate.most} people" if gate.most is not None else ""
    return "open " + ", ".join(filter(None, [*spans, most]))


def draw_people(ax: Axes, q: Array, radii: Array, group: Integers, jammed: Booleans | None = None) -> None:
    """Discs in the colours of their groups, with rings around those in jams."""
    across = 2.0 * np.where(radii > 0.0, radii, 0.2)
    ringed = np.zeros(len(q), dtype=bool) if jammed is None else jammed
    discs = EllipseCollection(
        across, across, 0.0 * across, units="xy", offsets=q, offset_transform=ax.transData, zorder=3,
        facecolors=[GROUPS[each % len(GROUPS)] for each in group],
        edgecolors=[JAM_COLOUR if each else "white" for each in ringed],
        linewidths=np.where(ringed, 1.1, 0.3).tolist(),
    )  # fmt: skip
    ax.add_collection(discs)


def name_groups(figure: Figure, names: Sequence[str], ring: str = "") -> None:
    """Draw the legend below the plan: names of the groups, and the meaning of the ring."""
    dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 6}
    handles = [
        Line2D([], [], markerfacecolor=GROUPS[k % len(GROUPS)], markeredgecolor="0.6", label=plain(name), **dot)
        for k, name in enumerate(names)
    ]
    if ring:
        handles.append(Line2D([], [], markerfacecolor="white", markeredgecolor=JAM_COLOUR, label=ring, **dot))
    figure.legend(handles=handles, frameon=False, fontsize=7, loc="outside lower left", ncols=min(len(handles), 4))
