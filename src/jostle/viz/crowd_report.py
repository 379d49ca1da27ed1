"""The report of a run of people: one HTML page with plan, film, curves, maps, tables, assumptions and versions.

The page is self-contained and needs no network. The film is the viewer of `page`.
"""

from __future__ import annotations

import io
import os
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from hashlib import sha256
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from jostle._tools.arguments import Count, check_arguments
from jostle._tools.arrays import Array
from jostle._tools.colours import DARK, FONTS, LIGHT
from jostle.crowds.measure.blockades import SLOW_FRACTION
from jostle.crowds.measure.crowding import MAP_FRAMES
from jostle.crowds.measure.jams import JAM_PEOPLE
from jostle.crowds.measure.leaving import JAM_SPEED
from jostle.crowds.measure.moves import radii_in
from jostle.crowds.measure.pressing import THRESHOLDS
from jostle.crowds.measure.summary import LONGEST_INTERVAL, MAX_VORONOI_PEOPLE, CrowdSummary
from jostle.crowds.model.crowd import STANDSTILL
from jostle.crowds.model.facts import crowd_facts
from jostle.errors import InvalidValue
from jostle.io.new_files import whole
from jostle.io.reading import about
from jostle.plans.stored import plan_of
from jostle.result.solution import Solution
from jostle.result.status import EMPTY_BUILDING, STOPPED, overlap_in_words
from jostle.viz.floor_plans import WIDE, Shot, draw_plan
from jostle.viz.sources import Shown, file_of, lift_times, target_for
from jostle.viz.style import axes, legend, pen, plain
from jostle.viz.viewer import PAGES, page, part

# The assumptions of a crowd report: the model, the parameters of the people, and the definitions of its figures.


def assumptions(sol: Solution, radii: Array, noted: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names and texts of the table of assumptions."""
    speeds, late, *_ = crowd_facts(sol)
    scheme = noted.get("scheme") or repr(sol.scheme)
    steps = sol.stats["h"]
    density = "people counted" if len(radii) > MAX_VORONOI_PEOPLE else "Voronoi density"
    return [
        (
            "model",
            "people are discs that do not overlap; their velocity is the admissible one nearest to the desired one "
            "(Venel 2009)",
        ),
        ("behaviour", noted.get("behaviour") or str(getattr(sol.problem, "behaviour", "unknown"))),
        ("scheme", scheme),
        ("time step", f"{np.median(steps):.4g} s" if len(steps) else "no step"),
        ("worst overlap", overlap_in_words(sol)),
        ("radii of people", _range(radii, "m")),
        ("desired speeds", "unknown" if speeds is None else _range(speeds, "m/s")),
        ("reaction times", "unknown" if late is None else _range(late, "s")),
        (
            "density",
            f"{density} in squares of 1 m, at {min(MAP_FRAMES, len(sol.t))} of {len(sol.t)} saved times; people before "
            f"their reaction time do not count" + _uncounted(plan_of(sol)),
        ),
        (
            "jam",
            f"at least {JAM_PEOPLE} people on the same way, within 1 m of each other, who are slower than "
            f"{100 * JAM_SPEED:g} % of their desired speed",
        ),
        ("time loss", "time beyond that of the same way at the desired speed, from the first movement on"),
        ("blocked", "nobody moved for 10 s although people are inside and want to walk"),
        ("between saved times", "people walk straight on; leaving times are interpolated"),
        *((f"lift {name!r}", lift_times(link)) for name, link in _lifts(sol).items()),
    ]


def _uncounted(plan: Any) -> str:
    """The areas of a plan in which nobody is counted, in words."""
    names = [one.name for one in getattr(plan, "areas", {}).values() if not one.counts]
    return f", nor do those in {', '.join(names)}" if names else ""


def _lifts(sol: Solution) -> dict[str, Any]:
    """The lifts of the plan by name."""
    plan = plan_of(sol)
    return {} if plan is None else {name: link for name, link in plan.links.items() if link.every is not None}


def _range(values: Array, unit: str) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:g} {unit}" if low == high else f"{low:.3g} to {high:.3g} {unit}, mean {values.mean():.3g} {unit}"


MOST_BYTES = 8_000_000
"""Default for the largest size of a report, in bytes."""
FILM_SHARE = 0.6
"""Fraction of the size that the film may take."""
DOTS = 110
"""Resolution of the pictures, in dots per inch."""
MOMENTS = 4
"""Number of frames drawn on the floor plan."""
HASH_DIGITS = 16
"""Number of digits of the hash of a scenario."""
MAP_WIDTHS = (5.2, 9.0)
"""Smallest and largest width of a map, in inches."""
MAP_HEIGHT = 8.0
"""Largest height of a map that is wider than MAP_WIDTHS[0], in inches."""
SCENARIO = "scenario"
"""Key under which a trajectory stores the text of its scenario."""


@check_arguments
def report(
    sol: Shown,
    path: str | os.PathLike[str],
    *,
    title: str = "",
    plan: Any = None,
    author: str = "",
    film: bool = True,
    most_bytes: Count = MOST_BYTES,
) -> Path:
    """Write a report about a crowd as one HTML page.

    It contains answers, the floor plan, a film, curves, maps, tables, assumptions and versions.

    Parameters
    ----------
    sol : Solution, str or path
        A solution, or the name of a trajectory file, which also contains the scenario and the versions.
    path : str or path
        Name of the page, .html.
    title : str, default ""
        Title of the report; empty: the title of the scenario.
    plan : Plan or Room, optional
        The floor plan. None: that of the run, which must then be known.
    author : str, default ""
        Who answers for the report; empty: nobody is named.
    film : bool, default True
        Whether the page contains a film.
    most_bytes : int, default 8_000_000
        Largest size of the page, in bytes; frames of the film are left out evenly to fit.

    Returns
    -------
    Path
        The page.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> room = jo.crowds.Plan([(0, 0), (6, 0), (6, 4), (0, 4)], exits={"east": ((6, 1), (6, 2.2))})
    >>> people = jo.crowds.crowd(5, radius=0.2, room=room, speed=1.3)
    >>> run = jo.solve(people, jo.Venel(), t=12.0, h=0.05, every=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     html = report(run, f"{folder}/run.html", title="Five people", film=False).read_text()
    >>> "<title>Five people</title>" in html, "5 people, all have left" in html
    (True, True)
    """
    shot = Shot.of(sol, plan)
    source = file_of(shot.sol)
    target = target_for(path, "a report", PAGES, source)
    noted = {} if source is None else about(source)
    heading = title or noted.get("title", "") or "A crowd"
    parts = [*_answers(shot), *_pictures(shot)]
    tail = [*_tables(shot), *_forces(shot), *_assumptions(shot.sol, noted)]
    if film:
        room = int(FILM_SHARE * most_bytes)
        parts += ["<h2>Film</h2>", _film(shot.sol, heading, room)]
    dark = f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {DARK.variables()} }} }}"
    style = f":root {{ --fonts: {FONTS}; {LIGHT.variables()} }}\n{dark}\n{part('report.css')}"
    html = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(heading)}</title><style>{style}</style></head><body><main>"
        f'<h1>{escape(heading)}</h1><p class="lead">{escape(_origin(author, noted))}</p>'
        f"{''.join([*parts, *tail])}</main></body></html>\n"
    )
    if len(html.encode()) > most_bytes:
        raise InvalidValue(
            f"the report takes {len(html.encode())} bytes, more than most_bytes = {most_bytes}: use film=False, or "
            f"increase most_bytes"
        )
    with whole(target) as new:
        new.write_text(html, encoding="utf-8")
    return target


def _origin(author: str, noted: Mapping[str, str]) -> str:
    """When and by whom the report was written, and about which scenario."""
    today = date.today()
    said = f"Report of {today.day} {today:%B %Y}{author and ', by ' + author}."
    if noted.get(SCENARIO):
        said += f" Scenario: SHA-256 {sha256(noted[SCENARIO].encode()).hexdigest()[:HASH_DIGITS]}."
    return said


def _answers(shot: Shot) -> list[str]:
    """The verdict and the most important figures."""
    found, sol = shot.found, shot.sol
    inside = "all have left" if not found.inside else f"{found.inside} still inside at t = {sol.t[-1]:.1f} s"
    verdict = f"{found.people} people, {inside}. "
    if found.never_inside:
        verdict += f"{found.never_inside} more never came in. "
    if found.missed:
        verdict += f"{found.missed} of them missed their exits, which have closed. "
    if found.standing and not found.blocked:
        slow = f"slower than {100.0 * SLOW_FRACTION:g} % of their desired speed"
        verdict += f"{found.standing} of them were {slow} in the last {STANDSTILL:g} s: stuck or waiting. "
    bad = found.blocked or bool(found.inside) or bool(found.never_inside)
    if found.blockade is None:
        empty = sol.status == STOPPED and not found.inside
        verdict += f"End of the run: {EMPTY_BUILDING if empty else sol.message}."
    else:
        verdict += f"{'Blocked' if found.blocked else 'Standstill'}: {found.blockade}."
    density, t, place = found.maps.peak
    rows = found.rows()
    cards = [
        ("evacuation time, last", _seconds(found.evacuation_time)),
        ("evacuation time, 95 %", _seconds(found.evacuation_time_95)),
        ("inside at the end", str(found.inside)),
        ("worst density", "none" if np.isnan(density) else f"{density:.1f} people/m²"),
        ("mean time loss", "not known" if rows["mean_time_loss"] is None else f"{rows['mean_time_loss']:.1f} s"),
        ("largest jam", f"{found.jams[0].people} people" if found.jams else "none"),
    ]
    text = "".join(f'<div class="card"><b>{escape(value)}</b><span>{name}</span></div>' for name, value in cards)
    where = ""
    if not np.isnan(density):
        level = rows["level_of_service"]
        where = (
            f"<p>The worst density is near ({place[0]:.1f}, {place[1]:.1f}) at t = {t:.1f} s, level of service {level} "
            f"of walkways (Fruin 1971).</p>"
        )
    return [
        f'<p class="verdict{" bad" if bad else ""}">{escape(verdict)}</p>',
        *(f'<p class="verdict bad">Warning: {escape(text)}.</p>' for text in found.warnings),
        f'<div class="cards">{text}</div>',
        where,
    ]


def _pictures(shot: Shot) -> list[str]:
    """The floor plan at several times, the curves, and the maps."""
    html = ["<h2>Plan</h2>", _plans(shot, shot.frames(MOMENTS)), "<h2>Curves</h2>"]
    html += [f'<div class="pair">{image(_inside(shot.found, shot.sol))}{image(_travel(shot.found))}</div>']
    html.append("<h2>Maps of the whole run</h2>")
    names = ["worst density", "level of service", "speed", "jam time"]
    if shot.sol.contacts_saved:
        names.append("force")
    maps = []
    width = float(np.clip(MAP_HEIGHT * shot.aspect + 1.2, *MAP_WIDTHS))
    for name in names:
        figure = plt.figure(figsize=(width, (width - 1.2) / shot.aspect + 0.3), layout="compressed")
        draw_plan(shot, figure.subplots(), -1, name)
        maps.append(image(figure, name.capitalize()))
    return [*html, *maps]


def _plans(shot: Shot, moments: Sequence[int]) -> str:
    columns = 1 if shot.aspect >= WIDE else 2 if shot.aspect >= 1.0 else 4
    rows = -(-len(moments) // columns)
    each = 10.0 / columns
    figure = plt.figure(figsize=(10.0, rows * (each / shot.aspect + 0.35) + 0.4), layout="compressed")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in grid[len(moments) :]:
        ax.set_axis_off()
    for ax, k in zip(grid, moments, strict=False):
        draw_plan(shot, ax, k, None)
    shot.legend(figure)
    return image(figure, "People on the plan, until most of them have left.")


def _inside(found: CrowdSummary, sol: Solution) -> Figure:
    """The number of people inside, and of people who left by each exit, over time."""
    ax = axes(None, (5.4, 3.4))
    t = np.asarray(sol.t)
    left, start = found.travel.left, found.travel.start
    there = ~np.isnan(left)
    inside = [int((there & (start <= now) & (left > now)).sum()) for now in t]
    ax.step(t, inside, where="post", label="inside", linewidth=1.8, **pen(6))
    for number, (name, use) in enumerate(found.exits.items()):
        ax.step(t, use.passed(t), where="post", label=plain(f"out by {name}"), linewidth=1.4, **pen(number))
    ax.set(xlabel="t (s)", ylabel="people", xlim=(t[0], t[-1]))
    ax.set_ylim(bottom=0.0)
    legend(ax, ["inside", *found.exits])
    ax.set_title("People inside, and N(t) of each exit", fontsize=10, loc="left")
    return ax.figure  # type: ignore[return-value]


def _travel(found: CrowdSummary) -> Figure:
    """Travel times of people, and time losses."""
    ax = axes(None, (5.4, 3.4))
    out = np.isfinite(found.travel.left)
    bins = np.linspace(0.0, max(float(found.travel.time[out].max(initial=0.0)), 1.0), 21).tolist()
    ax.hist(found.travel.time[out], bins=bins, color=pen(0)["color"], label="travel time")
    if found.travel.speeds_known:
        ax.hist(
            found.travel.loss[out], bins=bins, histtype="step", linewidth=1.6, color=pen(1)["color"], label="time loss"
        )
    ax.set(xlabel="time (s)", ylabel="people who left")
    ax.locator_params(axis="y", integer=True)
    ax.legend(frameon=False)
    ax.set_title("Travel times and time losses", fontsize=10, loc="left")
    return ax.figure  # type: ignore[return-value]


def _tables(shot: Shot) -> list[str]:
    found = shot.found
    exits = [
        (name, use.count, *([f"{use.t[0]:.1f}", f"{use.t[-1]:.1f}"] if use.count else ["", ""]), f"{use.width:.2f}",
         _number(use.flow), _number(use.specific))
        for name, use in found.exits.items()
    ]  # fmt: skip
    head: tuple[str, ...] = (
        "exit",
        "people",
        "first (s)",
        "last (s)",
        "width (m)",
        "flow (people/s)",
        "specific flow (people/s/m)",
    )
    html = ["<h2>Exits</h2>", table(head, exits)]
    if found.interval > LONGEST_INTERVAL * (1.0 + 1e-9):
        html.append(f"<p>Frames are {found.interval:.3g} s apart: exits and flows are estimates.</p>")
    if found.left_elsewhere:
        html.append(f"<p>{found.left_elsewhere} people left the plan without crossing an exit.</p>")
    rows = [
        (jam.at, jam.people, f"{jam.start:.1f}", f"{jam.end:.1f}",
         f"{round(jam.end, 1) - round(jam.start, 1):.1f}", f"{jam.duration:.1f}",
         f"({jam.place[0]:.1f}, {jam.place[1]:.1f})")
        for jam in found.jams
    ]  # fmt: skip
    head = ("at", "largest size", "from (s)", "to (s)", "lasted (s)", "of which jammed (s)", "centre (m)")
    html += ["<h2>Jams</h2>", table(head, rows) if rows else "<p>None.</p>"]
    head = ("group", "people", "left", "mean travel time (s)", "longest (s)", "mean time loss (s)")
    return [*html, "<h2>Groups</h2>", table(head, list(_groups(shot)))]


def _groups(shot: Shot) -> Iterable[tuple[Any, ...]]:
    travel, groups = shot.found.travel, shot.sol.facts.groups
    names = ("people",) if groups is None else groups.names
    number = np.zeros(len(travel.left), dtype=int) if groups is None else groups.number
    for k, name in enumerate(names):
        members = (number == k) & ~np.isnan(travel.left)
        out = members & np.isfinite(travel.left)
        time, loss = travel.time[out], travel.loss[members]
        loss_text = _number(loss.mean()) if travel.speeds_known and len(loss) else "not known"
        mean, longest = (_number(time.mean()), _number(time.max())) if len(time) else ("", "")
        yield name, int(members.sum()), int(out.sum()), mean, longest, loss_text


def _forces(shot: Shot) -> list[str]:
    html = ["<h2>Forces between people</h2>"]
    if not shot.sol.contacts_saved:
        return [
            *html,
            "<p>Not known: the file contains no contacts. Run the scenario with --set output.contacts=true.</p>",
        ]
    found = shot.pressing
    largest = float(found.load.max(initial=0.0))
    rows = [
        (each.name, f"{each.force:g} {'N/m' if each.per_metre else 'N'}", f"{each.duration:g} s" if each.duration else
         "any time", found.exceeded(each), each.source)
        for each in THRESHOLDS
    ]  # fmt: skip
    html.append(
        f"<p>The largest load of a person is {largest:.0f} N, under the assumption {escape(found.assumption)}.</p>"
    )
    return [*html, table(("threshold", "force", "lasting", "people above it", "source"), rows)]


def _assumptions(sol: Solution, noted: Mapping[str, str]) -> list[str]:
    radii = radii_in(sol, 0)
    html = ["<h2>Assumptions</h2>", table(("what", "value"), assumptions(sol, radii, noted))]
    if noted.get(SCENARIO):
        html += ["<h2>Scenario</h2>", f"<pre>{escape(noted[SCENARIO])}</pre>"]
    versions = [(name, text) for name, text in noted.items() if name not in (SCENARIO, "title")]
    if versions:
        html += ["<h2>Versions</h2>", table(("what", "value"), versions)]
    return html


def _film(sol: Solution, title: str, most_bytes: int) -> str:
    with TemporaryDirectory() as folder:
        html = page(sol, Path(folder) / "film.html", title=title, most_bytes=most_bytes).read_text(encoding="utf-8")
    return f'<iframe title="Film of the run" sandbox="allow-scripts" srcdoc="{escape(html)}"></iframe>'


def image(figure: Figure, caption: str = "") -> str:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DOTS)
    plt.close(figure)
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    data = b64encode(file.getvalue()).decode()
    return f'<figure><img alt="{escape(caption or "curves")}" src="data:image/png;base64,{data}">{below}</figure>'


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An HTML table.

    >>> table(("a",), [("<1>",)])
    '<div class="table"><table><tr><th>a</th></tr><tr><td>&lt;1&gt;</td></tr></table></div>'
    """
    lines = ["".join(f"<th>{escape(name)}</th>" for name in head)]
    lines += ["".join(f"<td>{escape(str(value))}</td>" for value in row) for row in rows]
    return f'<div class="table"><table>{"".join(f"<tr>{line}</tr>" for line in lines)}</table></div>'


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if np.isfinite(value) else "not reached"


def _number(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else ""
