"""Cards: a result as a table and a small drawing, in HTML, for notebooks.

The cost of a card does not grow with the number of steps or lines drawn: the last frame is read, and of many bodies a
selection is drawn. Every text from a user is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch

import numpy as np

from jostle.arrays import Array, to_host
from jostle.colours import GREEN, LIGHT, ORANGE, PURPLE, VERMILION
from jostle.convex.projection import Projection
from jostle.crowds.plans import Plan
from jostle.errors import JostleError
from jostle.macro.motion.result import Evolution
from jostle.polylines import CELL, View
from jostle.run_summaries import iterations_in_words, overlap_in_words
from jostle.sets.contacts import Contacts
from jostle.solution import Solution
from jostle.statuses import MESSAGES
from jostle.viz.card_tables import listed, short_number, small_number, write_card
from jostle.viz.perspective import AZIMUTH, ELEVATION, as_seen
from jostle.viz.scene import POINT_RADIUS, Scene
from jostle.viz.sketches import BODY, INK, MAX_LINES, Sketch, sample, selection
from jostle.viz.sources import file_of
from jostle.viz.units import lift_times, with_time

MAX_POINTS = 400
"""Largest number of points of a path."""
SMALLEST_RESIDUAL = 1e-16
"""Left end of the scale of residuals, whose right end is 1."""
SEEN_FROM = (AZIMUTH, ELEVATION)
"""Direction from which space is drawn."""
DOT_PIXELS = 3.5
"""Diameter of the dots that stand for bodies between contacts, in pixels."""
DEPTHS = LIGHT.bodies[4:1:-1]
"""Colours of bodies in space, from the furthest to the nearest."""


@singledispatch
def card(shown: object) -> str:
    """The card of a result.

    >>> import jostle as jo
    >>> print(card(jo.project([-2.0, 1.0], jo.Cone([[1.0, 0.0]])))[:9])
    <div styl
    """
    return write_card(type(shown).__name__, {"value": repr(shown)})


@card.register
def _(sol: Solution) -> str:
    """A run: how it ended, and how well each step was solved, beside the last frame."""
    stats, units = sol.stats, sol.facts.units
    ended = f"{sol.status}: {sol.message}" if sol.message != sol.status else sol.status
    rows: dict[str, object] = {"status": ended}
    if sol.scheme is not None:
        rows["scheme"] = type(sol.scheme).__name__
    rows["time"] = with_time(f"{sol.t[0]:g} to {sol.t[-1]:g}", units) if len(sol.t) else ""
    rows["saved frames"] = f"{len(sol.t):,}"
    rows |= _bodies(sol)
    if len(stats):
        least, most = float(stats["h"].min()), float(stats["h"].max())
        sizes = short_number(least) if least == most else f"{short_number(least)} to {short_number(most)}"
        rows["steps"] = f"{len(stats):,}, h = {with_time(sizes, units)}"
        rows["solver"] = listed(filter(None, dict.fromkeys(stats["solver"].tolist())))
        rows["iterations"] = iterations_in_words(stats)
        rows["worst overlap"] = overlap_in_words(sol)
        rows["worst residual"] = small_number(sol.residual)
        failed = int((~stats["converged"]).sum())
        rows["not converged"] = f"{failed:,} steps" if failed else ""
    path = file_of(sol)
    rows["file"] = path.name if path is not None else ""
    return write_card("Solution", rows, _drawing_of(sol))


def _bodies(sol: Solution) -> dict[str, object]:
    """How many bodies there are; one that has left has no place."""
    shape, d = sol.q.shape[1:], sol.facts.dimension
    if d == 0:
        return {"configuration": f"{int(np.prod(shape))} coordinates"}
    count = int(np.prod(shape)) // d
    bodies = f"{count:,} in dimension {d}"
    try:
        last = np.asarray(sol.q[-1:]).reshape(-1, d)
    except JostleError as error:  # the file was removed, or is damaged
        return {"bodies": bodies, "note": str(error)}
    there = int(np.isfinite(last).all(axis=1).sum())
    return {"bodies": bodies + (f", {there:,} at the end" if there < len(last) else "")}


@np.errstate(all="ignore")  # bodies that flew away after a failure
def _drawing_of(sol: Solution) -> str:
    """The last frame; an empty text if it cannot be drawn."""
    if len(sol.t) == 0 or sol.q.size == 0:
        return ""
    try:
        scene = Scene(sol)
        rows = sample(scene.count)
        x, radii = scene.places(-1)[rows], scene.radii(-1)[rows]
        track = x[:0]
        if scene.count == 1:
            track = np.stack([scene.places(int(k))[0] for k in selection(len(sol.t), MAX_POINTS)])
        view = View.empty(scene.d).holding(x - radii[:, None]).holding(x + radii[:, None]).holding(track)
        view = scene.with_walls(view, sol.shapes(-1))
    except JostleError:  # more than three dimensions, or a file that was removed
        return ""
    if not np.isfinite([*view.lower, *view.upper]).all():
        return ""
    walls = [(as_seen(wall.points, SEEN_FROM), wall.kind == CELL) for wall in scene.walls(float(sol.t[-1]), view)]
    seen, path = as_seen(x, SEEN_FROM), as_seen(track, SEEN_FROM)
    radii = np.where(radii > 0.0, radii, POINT_RADIUS * view.size)
    flat = View.empty(2).holding(seen[:, :2] - radii[:, None]).holding(seen[:, :2] + radii[:, None])
    for points, _ in walls:
        flat = flat.holding(points[:, :2])
    sketch = Sketch.of(flat.holding(path[:, :2]))
    if sketch is None:
        return ""
    for dashed in (False, True):
        sketch.lines([points for points, cell in walls if cell == dashed], dashed=dashed)
    sketch.lines([path], BODY, 1.0)
    if scene.d == 2:
        sketch.discs(seen, radii)
        return sketch.svg()
    for layer, colour in zip(np.array_split(np.argsort(seen[:, 2]), len(DEPTHS)), DEPTHS, strict=True):
        sketch.discs(seen[layer], radii[layer], colour)
    return sketch.svg()


@card.register
def _(plan: Plan) -> str:
    """A floor plan: its size and its openings."""
    view = View.empty(2).holding(plan.walls.reshape(-1, 2))
    view = view.holding(np.array([*plan.exits.values()]).reshape(-1, 2))
    width, height = view.upper - view.lower
    rows = {
        "area": f"{plan.size:.4g} m²",
        "size": f"{width:.4g} m by {height:.4g} m",
        "exits": listed(f"{name} ({_length(ends):.2f} m)" for name, ends in plan.exits.items()),
        "stairs": listed(
            f"{name} ({f'{link.length:.3g} m' if link.every is None else f'lift, {lift_times(link)}'})"
            for name, link in plan.links.items()
        ),
        "doors": listed(f"door {k} ({_length(ends):.2f} m)" for k, ends in enumerate(plan.doors)),
        "walls": f"{len(plan.walls):,}",
        "columns": f"{len(plan.columns):,}" if len(plan.columns) else "",
    }
    sketch = Sketch.of(view)
    if sketch is None:
        return write_card("Plan", rows)
    sketch.lines(list(plan.walls))
    sketch.discs(plan.columns[:, :2], plan.columns[:, 2], INK)
    sketch.lines(list(plan.doors), ORANGE, 2.5)
    sketch.lines([np.asarray(link.start) for link in plan.links.values()], PURPLE, 3.0)
    sketch.lines(list(plan.exits.values()), GREEN, 3.0)
    return write_card("Plan", rows, sketch.svg())


def _length(ends: Array) -> float:
    return float(np.linalg.norm(ends[1] - ends[0]))


@card.register
def _(found: Projection) -> str:
    """A projection: whether it converged, and its residuals on a logarithmic scale."""
    residuals = {
        "primal residual": found.residual.primal,
        "dual residual": found.residual.dual,
        "complementarity": found.residual.complementarity,
    }
    p = np.asarray(to_host(found.multipliers))
    rows = {
        "status": "converged" if found.converged else "not converged",
        "solver": found.solver,
        "iterations": f"{found.iterations:,}",
        "point": f"shape {np.shape(found.point)}",
        "rows": f"{p.size:,}, {int(np.count_nonzero(p)):,} with a multiplier",
        **{name: small_number(value) for name, value in residuals.items()},
        "remark": found.remark,
    }
    return write_card("Projection", rows, _bars(residuals, GREEN if found.converged else VERMILION))


def _bars(values: Mapping[str, float], colour: str) -> str:
    """One bar for each residual, from 1e-16 on the left to 1 on the right."""
    sketch = Sketch.of(View(np.array([-16.0, -1.5]), np.array([0.0, 8.0])))
    assert sketch is not None
    for k, (name, value) in enumerate(values.items()):
        end = float(np.log10(np.clip(value, SMALLEST_RESIDUAL, 1.0))) if np.isfinite(value) else 0.0
        y = 5.5 - 2.5 * k
        sketch.lines([np.array([[-16.0, y], [end, y]])], colour, 7.0)
        sketch.text(np.array([-16.0, y + 0.7]), name)
    sketch.lines([np.array([[-16.0, -0.4], [0.0, -0.4]])], width=0.8)
    for power, words, anchor in ((-16, "1e-16", "start"), (-8, "1e-8", "middle"), (0, "1", "end")):
        sketch.lines([np.array([[power, -0.4], [power, -0.1]])], width=0.8)
        sketch.text(np.array([power, -1.4]), words, anchor)
    return sketch.svg()


@card.register
def _(contacts: Contacts) -> str:
    """Contacts: how many there are, the smallest gap, and between whom."""
    gap, margin, tolerance = (
        np.asarray(to_host(part)) for part in (contacts.gap, contacts.margin, contacts.tolerance())
    )
    rows: dict[str, object] = {"rows": f"{len(gap):,}", "bodies": f"{contacts.bodies:,}"}
    known = np.isfinite(margin)
    if known.any():
        worst = int(np.argmin(np.where(known, margin, np.inf)))
        rows["smallest gap"] = f"{gap[worst]:.3g}, {contacts.describe(worst)}"
        rows["closed"] = f"{int((margin <= tolerance).sum()):,}"
        rows["deepest overlap"] = small_number(contacts.overlap())
    rows["equalities"] = f"{int(contacts.equal.sum()):,}" if contacts.equal is not None else ""
    rows["not finite"] = "" if known.all() else f"{int((~known).sum()):,} gaps"
    return write_card("Contacts", rows, _network(contacts, margin, tolerance))


def _network(contacts: Contacts, margin: Array, tolerance: Array) -> str:
    """The bodies as dots, with lines between those that touch; lines are red where bodies overlap."""
    if contacts.at is None or contacts.bodies == 0:
        return ""
    x, pairs = np.asarray(to_host(contacts.at), dtype=float), np.asarray(to_host(contacts.pairs))
    d, odd = divmod(x.size, contacts.bodies)
    if odd or d not in (2, 3):
        return ""
    x = x.reshape(contacts.bodies, d)
    seen = as_seen(x[sample(len(x))], SEEN_FROM)[:, :2]
    sketch = Sketch.of(View.empty(2).holding(seen))
    if sketch is None:
        return ""
    closed = (pairs >= 0).all(axis=1) & (margin <= tolerance)
    for overlapping, colour in ((False, INK), (True, VERMILION)):
        rows = np.flatnonzero(closed & ((margin < -tolerance) == overlapping))
        ends = x[pairs[rows[selection(len(rows), MAX_LINES)]]].reshape(-1, d)
        sketch.lines(list(as_seen(ends, SEEN_FROM)[:, :2].reshape(-1, 2, 2)), colour, 1.0)
    sketch.discs(seen, np.full(len(seen), DOT_PIXELS / 2.0 / sketch.scale))
    return sketch.svg()


@card.register
def _(run: Evolution) -> str:
    """A density in time, beside its last frame."""
    grid, stats = run.problem.grid, run.stats
    rows: dict[str, object] = {
        "status": f"{run.status}: {MESSAGES.get(run.status, run.status)}",
        "problem": type(run.problem).__name__,
        "scheme": type(run.scheme).__name__,
        "cells": f"{grid.shape[0]} by {grid.shape[1]}, side {grid.h:g}",
        "time": f"{run.t[0]:g} to {run.t[-1]:g}" if len(run.t) else "",
        "saved frames": f"{len(run.t):,}",
        "steps": f"{len(stats):,}",
    }
    if len(run.t) == 0:
        return write_card("Evolution", rows)
    rows["mass"] = f"{short_number(run.mass[-1])} of {short_number(run.mass[0])}, {short_number(run.gone[-1])} gone"
    rows["largest density"] = short_number(float(np.max(run.density[-1])))
    if len(stats):
        rows["largest excess"] = small_number(float(stats["excess"].max()))
        rows["iterations"] = f"{stats['iterations'].mean():.3g} per step, at most {stats['iterations'].max()}"
    sketch = Sketch.of(View(np.asarray(grid.lower), np.asarray(grid.upper)))
    if sketch is None:
        return write_card("Evolution", rows)
    sketch.cells(np.asarray(run.density[-1]), np.asarray(grid.lower), grid.h)
    (a, b), (c, d) = grid.lower, grid.upper
    sketch.lines([np.array([[a, b], [c, b], [c, d], [a, d], [a, b]])], width=0.8)
    return write_card("Evolution", rows, sketch.svg())
