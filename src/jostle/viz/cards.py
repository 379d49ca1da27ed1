"""Cards: a result as a table in HTML, for notebooks. Every text from a user is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import singledispatch
from html import escape

import numpy as np

from jostle._tools.arrays import Array, to_host
from jostle.contacts import Contacts
from jostle.convex.projection import Projection
from jostle.errors import JostleError
from jostle.macro.motion.result import Evolution
from jostle.plans.plan import Plan
from jostle.result.solution import Solution
from jostle.result.status import MESSAGES, iterations_in_words, overlap_in_words
from jostle.sets.outlines import View
from jostle.viz.sources import file_of, lift_times, with_time

MAX_NAMES = 6
"""Largest number of names that a row of a table lists."""
STYLES = {
    "table": "border-collapse:collapse;margin:0;color:inherit;font-size:inherit",
    "caption": "text-align:left;font-weight:bold;padding:0 0 .3em;caption-side:top;color:inherit",
    "th": "text-align:left;font-weight:normal;opacity:.7;padding:.1em 1em .1em 0;vertical-align:top",
    "td": "text-align:left;padding:.1em 0",
}
"""Styles of the elements of a card; colours are those of the page."""


@singledispatch
def card(shown: object) -> str:
    """The card of a result.

    >>> import jostle as jo
    >>> print(card(jo.project([-2.0, 1.0], jo.convex.Cone([[1.0, 0.0]])))[:9])
    <table st
    """
    return write_card(type(shown).__name__, {"value": repr(shown)})


@card.register
def _(sol: Solution) -> str:
    """A run: how it ended, and how well each step was solved."""
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
    return write_card("Solution", rows)


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
    return write_card("Plan", rows)


def _length(ends: Array) -> float:
    return float(np.linalg.norm(ends[1] - ends[0]))


@card.register
def _(found: Projection) -> str:
    """A projection: whether it converged, and its residuals."""
    p = np.asarray(to_host(found.multipliers))
    rows = {
        "status": "converged" if found.converged else "not converged",
        "solver": found.solver,
        "iterations": f"{found.iterations:,}",
        "point": f"shape {np.shape(found.point)}",
        "rows": f"{p.size:,}, {int(np.count_nonzero(p)):,} with a multiplier",
        "primal residual": small_number(found.residual.primal),
        "dual residual": small_number(found.residual.dual),
        "complementarity": small_number(found.residual.complementarity),
        "remark": found.remark,
    }
    return write_card("Projection", rows)


@card.register
def _(contacts: Contacts) -> str:
    """Contacts: how many there are, the smallest gap, and between whom."""
    gap, margin, tolerance = (
        np.asarray(to_host(part)) for part in (contacts.gap, contacts.margin, contacts.tolerance())
    )
    rows: dict[str, object] = {"rows": f"{len(gap):,}", "parts": f"{contacts.part_count:,}"}
    known = np.isfinite(margin)
    if known.any():
        worst = int(np.argmin(np.where(known, margin, np.inf)))
        rows["smallest gap"] = f"{gap[worst]:.3g}, {contacts.describe(worst)}"
        rows["closed"] = f"{int((margin <= tolerance).sum()):,}"
        rows["deepest overlap"] = small_number(contacts.overlap())
    rows["equalities"] = f"{int(contacts.equal.sum()):,}" if contacts.equal is not None else ""
    rows["not finite"] = "" if known.all() else f"{int((~known).sum()):,} gaps"
    return write_card("Contacts", rows)


@card.register
def _(run: Evolution) -> str:
    """A density in time."""
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
    return write_card("Evolution", rows)


def write_card(title: str, rows: Mapping[str, object]) -> str:
    """A table with a title; names and values are escaped.

    >>> "a &lt;b&gt;" in write_card("Run", {"title": "a <b>"})
    True
    """
    cells = "".join(
        f'<tr style="background:none">{_tag("th", escape(str(name)))}{_tag("td", escape(str(value)))}</tr>'
        for name, value in rows.items()
        if value not in (None, "")
    )
    return _tag("table", f"{_tag('caption', escape(title))}<tbody>{cells}</tbody>")


def _tag(name: str, inside: str) -> str:
    return f'<{name} style="{STYLES[name]}">{inside}</{name}>'


def listed(words: Iterable[str]) -> str:
    """Some names, and how many more there are."""
    names = list(words)
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def short_number(value: float) -> str:
    return f"{value:.4g}"


def small_number(value: float) -> str:
    return f"{value:.1e}" if value else "0"
