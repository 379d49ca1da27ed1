"""Pictures of a crowd on its plan: names of exits, doors and stairs, a scale bar, groups, counters, and maps.

Walls are drawn over everything else. People have the colour of their group; people in a jam (`crowds.travel`) have a
red ring. The layers are maps of the whole run from `crowds.crowd_maps`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import BoundaryNorm, ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, PathPatch, Polygon
from matplotlib.path import Path as Outline

from jostle._tools.arrays import Array, Booleans, Integers
from jostle._tools.colours import BAD, GREEN, GROUPS, LIGHT, ORANGE, PURPLE, SERVICE_LEVELS
from jostle.crowds.measure.crowding import FRUIN, LEVELS
from jostle.crowds.measure.leaving import JAM_SPEED, desired_speeds, known_plan
from jostle.crowds.measure.moves import radii_in
from jostle.crowds.measure.pressing import MASS, RELAXATION_TIME, CrowdForces, crowd_forces
from jostle.crowds.measure.summary import CrowdSummary, crowd_summary
from jostle.crowds.model.crowd import Crowd
from jostle.crowds.model.facts import crowd_facts
from jostle.errors import InvalidValue
from jostle.plans.openings import Gate, ends_of
from jostle.plans.outlines import distance_to, package
from jostle.plans.plan import Plan, floors, present, walkable
from jostle.result.solution import Solution
from jostle.sets.outlines import BALL, SEGMENTS, Shape
from jostle.viz.drawing import draw_discs, telling_frames
from jostle.viz.sources import Shown, lift_times, solution, with_time, with_unit
from jostle.viz.style import CELL_COLOURS, plain, plot

# A floor plan as matplotlib draws it: the walkable area, walls, openings with their names, a scale bar, people.


EXIT_COLOUR, STAIRS_COLOUR, DOOR_COLOUR, JAM_COLOUR = GREEN, PURPLE, ORANGE, BAD
"""Colours of exits, stairs, doors and of the rings of people in jams."""
MARGIN = 0.05
"""Margin around a plan, as a fraction of its larger side."""
LABEL_ORDER = 2.9
"""Order in which names of openings are drawn: below people, whom they must not cover."""
NAME_LENGTH = 0.08
"""Length of the name of an opening, as a fraction of the larger side of the picture, where a place for it is sought."""
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
            turned = package("shapely").orient_polygons(floor)
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
        for name, area in getattr(self.plan, "areas", {}).items():
            ax.add_patch(Polygon(area.corners, facecolor="none", edgecolor="0.7", linestyle=":", zorder=0.7))
            x, y = area.middle
            ax.text(x, y, plain(name), zorder=2, ha="center", va="center", fontsize=7, fontstyle="italic", color="0.45")
        states = dict(is_open or {})
        found = [(name, np.asarray(ends), EXIT_COLOUR, "") for name, ends in self.plan.exits.items()]
        for name, link in self.plan.links.items():
            more = f"{link.length:g} {self.unit} long" if link.every is None else f"lift, {lift_times(link)}"
            found.append((name, np.asarray(link.start), STAIRS_COLOUR, more))
        for number, door in enumerate(getattr(self.plan, "doors", ())):
            found.append((f"door {number}", np.asarray(door), DOOR_COLOUR, ""))
        for name, ends, colour, more in found:
            words = name
            if details is not None:
                width = f"{float(np.linalg.norm(ends[1] - ends[0])):.2f} {self.unit}"
                words = ", ".join(filter(None, [name, width, more, details.get(name, "")]))
            elif name in states:
                words = f"{name} ({'open' if states[name] else 'closed'})"
            self._opening(ax, ends, colour if states.get(name, True) else LIGHT.wall, words)

    def _opening(self, ax: Axes, ends: Array, colour: str, name: str) -> None:
        """A segment, and its name at one of its ends."""
        ax.plot(*ends.T, color=colour, linewidth=3.0, solid_capstyle="butt", zorder=5.5)
        end, along, normal = self._beside(ends)
        upright = abs(normal[0]) > 0.5
        across = ("left" if normal[0] > 0.0 else "right") if upright else ("left" if along[0] > 0.0 else "right")
        up = ("bottom" if along[1] > 0.0 else "top") if upright else ("bottom" if normal[1] > 0.0 else "top")
        ax.annotate(
            plain(name),
            (end[0], end[1]),
            xytext=tuple(4.0 * (normal + along)),
            textcoords="offset points",
            ha=across,
            va=up,
            fontsize=7,
            rotation=90.0 if upright else 0.0,
            color="0.1",
            zorder=LABEL_ORDER,
            annotation_clip=False,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": colour, "linewidth": 0.8},
        )

    def _beside(self, ends: Array) -> tuple[Array, Array, Array]:
        """An end of an opening, the direction of its name, and the side of it: where nobody walks, if there is one.

        Otherwise at the end that is nearer to the middle of the plan, and on the side that is further from it.
        """
        low, high = self.bounds
        middle, long = (low + high) / 2.0, NAME_LENGTH * float((high - low).max())
        along = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
        along = -along if along @ (middle - ends.mean(axis=0)) < 0.0 else along
        normal = np.array([-along[1], along[0]])
        normal = normal if normal @ (ends[int(np.argmax(ends @ along))] - middle) >= 0.0 else -normal
        places = [(ends[int(np.argmax(ends @ a))], a, n) for a in (along, -along) for n in (normal, -normal)]
        for end, a, n in places:
            name = package("shapely").LineString(end + long * np.array([0.1 * a + 0.25 * n, a + 0.25 * n]))
            if name.disjoint(walkable(self.plan)):
                return end, a, n
        return places[0]

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
        radii = np.broadcast_to(people.within.bodies.radii_at(0.0), (n,))
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
    """When a gate is open, in words."""
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
    draw_discs(
        ax, q, across, zorder=3,
        facecolors=[GROUPS[each % len(GROUPS)] for each in group],
        edgecolors=[JAM_COLOUR if each else "white" for each in ringed],
        linewidths=np.where(ringed, 1.1, 0.3).tolist(),
    )  # fmt: skip


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


# The plan of a run with its people, or with a map; and plans before a run.


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
MAX_EXITS_IN_TITLE = {False: 3, True: 8}
"""Largest number of exits whose counts fit into the title of a picture, by whether the plan is WIDE."""


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

    def frames(self, moments: int | Sequence[float]) -> list[int]:
        """The numbers of the frames to draw: those at given times, or a number of them before most people have left."""
        t, travel = np.asarray(self.sol.t), self.found.travel
        return telling_frames(self.sol, moments, np.array([np.mean(~(travel.left <= now)) for now in t]))

    def counters(self, k: int) -> str:
        """The time, and how many people are inside and out, in frame k; and out by each exit, if there are few."""
        t, left = float(self.sol.t[k]), self.found.travel.left
        there = ~np.isnan(left) & (self.found.travel.start <= t)
        out = int((there & (left <= t)).sum())
        text = with_time(f"t = {t:.1f}", self.sol.facts.units) + f"    inside {int(there.sum()) - out}    out {out}"
        if 1 < len(self.found.exits) <= MAX_EXITS_IN_TITLE[self.aspect >= WIDE]:
            each = [f"{name} {int(use.passed(np.array([t]))[0])}" for name, use in self.found.exits.items()]
            text += f"  ({', '.join(each)})"
        return text

    def gates(self, k: int) -> dict[str, bool]:
        """Whether each gate is open in frame k, by its times and its number of people; open while somebody is in it."""
        t, q = float(self.sol.t[k]), np.asarray(self.sol.q[k])
        here, found = present(q), {}
        gates = crowd_facts(self.sol).gates
        for gate, ends in zip(gates, ends_of(gates, self.plan), strict=True):
            shut = not gate.is_open(t)
            if gate.most is not None:
                shut |= int((self.found.gates[gate.at] <= t).sum()) >= gate.most
            near = distance_to(ends[None], q[here])[0] < (1.0 - GATE_TOUCHED) * radii_in(self.sol, k)[here]
            found[gate.at] = not shut or bool(near.any())
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
        travel = self.found.travel
        jammed &= (travel.start + travel.delay)[who] < self.sol.t[k]  # who has not started waits on purpose
        draw_people(ax, q[who], radii[who], number[who], jammed)

    def legend(self, figure: Figure) -> None:
        """The names of the groups, and what the ring means, below the plan."""
        groups = self.sol.facts.groups
        ring = f"in a jam: slower than {100 * JAM_SPEED:g} % of their desired speed"
        name_groups(figure, ("people",) if groups is None else groups.names, ring)

    @cached_property
    def pressing(self) -> CrowdForces:
        """The forces between people."""
        return crowd_forces(self.sol)

    def forces(self) -> Array:
        """(r, c) the largest force on a person in each square of the maps, at any saved time, in newtons."""
        x, y = self.found.maps.x, self.found.maps.y
        found, area = np.zeros((len(y) - 1, len(x) - 1)), walkable(self.plan)
        for q, load in zip(self.sol.q, self.pressing.load, strict=True):
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


@plot
def plan(
    sol: Shown | Plan | Crowd, k: int = -1, *, layer: str | None = None, plan: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw the floor plan of a crowd with the people of one frame, or with a map of the whole run.

    Before a run, a `Plan` is drawn with the widths of its openings, and the people of `crowds.crowd` where they start.

    Parameters
    ----------
    sol : Solution, str, path, Plan or Crowd
        A solution, or the name of a trajectory file; before a run, a floor plan, or the people of `crowds.crowd`.
    layer : str, optional
        Map of the whole run to draw: "density" (mean), "worst density", "level of service" (Fruin 1971, of the worst
        density), "speed", "jam time", or, if contacts were saved, "force" (largest load on a person, see
        `jostle.crowds.crowd_forces`). None: the people of frame k.
    plan : Plan or Room, optional
        The floor plan. None: that of the run, which must then be known.
    ax : matplotlib Axes, optional
        Where to draw. None: a new figure, with a legend.

    Examples
    --------
    >>> import jostle as jo
    >>> room = jo.crowds.Plan([(0, 0), (6, 0), (6, 4), (0, 4)], exits={"east": ((6, 1), (6, 2.2))})
    >>> people = jo.crowds.crowd(12, radius=0.2, room=room, speed=1.3)
    >>> run = jo.solve(people, jo.Venel(), t=10.0, h=0.05, every=0.5)
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


@plot
def plans(sol: Shown, moments: int | Sequence[float] = 3, *, plan: Any = None) -> Figure:
    """Draw several frames of a crowd on its floor plan, side by side, or below each other if the plan is wide.

    Parameters
    ----------
    sol : Solution, str or path
        A solution, or the name of a trajectory file.
    moments : int or sequence of float, default 3
        Number of frames, or the times of the frames. A number of frames is spread evenly over time and motion, and
        the last one is before most people have left.
    plan : Plan or Room, optional
        The floor plan. None: that of the run, which must then be known.

    Examples
    --------
    >>> import jostle as jo
    >>> room = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"east": ((9, 1), (9, 2.2))})
    >>> people = jo.crowds.crowd(12, radius=0.2, room=room, speed=1.3)
    >>> run = jo.solve(people, jo.Venel(), t=10.0, h=0.05, every=0.5)
    >>> figure = plans(run, [0.0, 4.0])
    >>> [ax.get_title(loc="left").split()[2] for ax in figure.axes]
    ['0.0', '4.0']
    >>> plt.close(figure)
    """
    shot = Shot.of(sol, plan)
    numbers = shot.frames(moments)
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
        return plt.figure(figsize=(11.0, number * (11.0 * tall + 0.45) + 0.3), layout="compressed")
    each = float(np.clip(12.0 / number, 3.6, 7.0 / max(tall, 0.7)))
    return plt.figure(figsize=(each * number, each * tall + 0.8), layout="compressed")
