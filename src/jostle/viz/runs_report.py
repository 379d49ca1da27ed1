"""The report of many runs of one crowd scenario: one page of A4 about what differs from run to run.

Every figure says over how many runs it is. Means have 95 % confidence intervals, by Student's t distribution.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from jostle._tools.arrays import Array
from jostle._tools.colours import FONTS, LIGHT
from jostle.analysis.statistics import people_inside, summary
from jostle.io.new_files import whole
from jostle.result.solution import Solution
from jostle.viz.crowd_report import HASH_DIGITS, image, table
from jostle.viz.floor_plans import Shot, draw_plan
from jostle.viz.sources import target_for
from jostle.viz.style import axes
from jostle.viz.viewer import PAGES, part

MAX_JAMS = 5
"""Largest number of places of jams that the page lists."""
MAX_SEEDS = 6
"""Largest number of seeds that a sentence names."""
POINTS = 200
"""Number of times at which the curves of people inside are drawn."""


@dataclass(frozen=True, eq=False)
class CrowdRun:
    """One run of a crowd: its seed, the figures of its summary, and when people came in and left."""

    seed: int
    rows: dict[str, Any]
    """The figures, as `CrowdSummary.rows` has them."""
    left: Array
    """(n,) leaving times; inf for people who did not leave, NaN for people who were never inside."""
    warnings: tuple[str, ...] = ()

    @property
    def time(self) -> float:
        """The evacuation time; infinite if somebody did not leave."""
        found = self.rows["evacuation_time"]
        return np.inf if found is None else float(found)


def report_of_runs(
    runs: Sequence[CrowdRun],
    slowest: Solution,
    path: str | os.PathLike[str],
    *,
    title: str,
    scenario: str,
    behaviour: str,
    aset: float | None = None,
    author: str = "",
    failed: Iterable[str] = (),
) -> Path:
    """Write the page.

    Parameters
    ----------
    runs : sequence of CrowdRun
        The runs, at least one.
    slowest : Solution
        The run with the longest evacuation time, for the pictures.
    path : str or path
        Name of the page, .html.
    title, scenario, behaviour : str
        The title, the text of the scenario, and its behaviour in words.
    aset : float, optional
        Available safe egress time (s), with which the evacuation time of the slowest run is compared.
    author : str, default ""
        Who answers for the report; empty: nobody is named.
    failed : iterable of str, default ()
        Tests of guidelines that the behaviour fails, in words.

    Returns
    -------
    Path
        The page.
    """
    target = target_for(path, "a report", PAGES, None)
    today, count = date.today(), len(runs)
    lead = (
        f"{count} {'run' if count == 1 else 'runs'} with the seeds {runs[0].seed} to {runs[-1].seed}. Report of "
        f"{today.day} {today:%B %Y}{author and ', by ' + author}. Scenario: SHA-256 "
        f"{sha256(scenario.encode()).hexdigest()[:HASH_DIGITS]}."
    )
    head = ("", "mean", "95 % interval of the mean", "smallest", "largest (seed)")
    exits = table(("exit", "people, mean (range)", "people/s/m"), _exits(runs))
    body = [
        f'<h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p>',
        *_verdicts(runs, aset),
        f"<h2>Over {count} runs</h2>", table(head, _figures(runs)),
        f'<div class="pair">{_curves(runs, aset)}{_worst(slowest)}</div>',
        f'<div class="pair"><div><h2>Exits, over {count} runs</h2>{exits}</div>',
        f"<div><h2>Jams, over {count} runs</h2>{_jams(runs)}</div></div>",
        _box(behaviour, failed, runs),
    ]  # fmt: skip
    style = f":root {{ --fonts: {FONTS}; {LIGHT.variables()} }}\n{part('report.css')}\n{part('runs_report.css')}"
    html = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )
    with whole(target) as new:
        new.write_text(html, encoding="utf-8")
    return target


def _verdicts(runs: Sequence[CrowdRun], aset: float | None) -> list[str]:
    """How long it takes, who did not get out, and whether the time is enough."""
    worst, times = max(runs, key=lambda run: run.time), [run.time for run in runs if np.isfinite(run.time)]
    stay, count = [run for run in runs if not np.isfinite(run.time)], len(runs)
    said = []
    if times:
        found = summary(times)
        spread = f" (95 % interval of the mean {found.low:.1f} to {found.high:.1f} s)" if len(times) > 1 else ""
        text = f"The last person leaves after {found.mean:.1f} s on average over {len(times)} runs{spread}. "
        text += f"The slowest of {count} runs takes {worst.time:.1f} s (seed {worst.seed})." if not stay else ""
        said.append((text, False))
    if stay:
        inside = max(run.rows["inside_at_end"] for run in stay)
        said.append((
            f"Not everybody left in {len(stay)} of {count} runs ({_seeds(stay)}): up to {inside} stayed inside.",
            True,
        ))  # fmt: skip
    if aset is not None and stay:
        said.append(
            (f"Available time (ASET) {aset:g} s: not enough in the runs in which somebody did not get out.", True)
        )
    elif aset is not None:
        margin, late = aset - worst.time, [run for run in runs if run.time > aset]
        text = f"Available time (ASET) {aset:g} s, required time (RSET) {worst.time:.1f} s (slowest of {count} runs): "
        text += f"the margin is {margin:.1f} s." if not late else (
            f"{len(late)} of {count} runs take too long ({_seeds(late)}), by up to {-margin:.1f} s."
        )  # fmt: skip
        said.append((text, bool(late)))
    for text in dict.fromkeys(text for run in runs for text in run.warnings):
        said.append((f"Warning: {text}.", True))
    return [f'<p class="verdict{" bad" if bad else ""}">{escape(text)}</p>' for text, bad in said]


def _seeds(runs: Sequence[CrowdRun]) -> str:
    names = ", ".join(str(run.seed) for run in runs[:MAX_SEEDS])
    return f"seed{'s' if len(runs) > 1 else ''} {names}" + (", ..." if len(runs) > MAX_SEEDS else "")


def _figures(runs: Sequence[CrowdRun]) -> Iterable[tuple[str, ...]]:
    """The rows of the table of figures."""
    for name, key, unit in (
        ("evacuation time", "evacuation_time", " s"), ("evacuation time, 95 %", "evacuation_time_95", " s"),
        ("inside at the end", "inside_at_end", ""), ("worst density", "worst_density", " people/m²"),
        ("mean time loss", "mean_time_loss", " s"), ("largest jam", "largest_jam", " people"),
    ):  # fmt: skip
        known = [(float(_value(run, key)), run.seed) for run in runs if _value(run, key) is not None]
        if not known:
            continue
        found, largest = summary([value for value, _ in known]), max(known)
        over = "" if len(known) == len(runs) else f" ({len(known)} runs)"
        digits = 0 if key in ("inside_at_end", "largest_jam") else 1
        low, high = (f"{value:.{digits}f}{unit}" for value in (min(known)[0], largest[0]))
        if min(known)[0] == largest[0]:
            yield name + over, low, "", low, high
        else:
            spread = f"{found.low:.1f} to {found.high:.1f}{unit}"
            yield name + over, f"{found.mean:.1f}{unit}", spread, low, f"{high} ({largest[1]})"


def _value(run: CrowdRun, key: str) -> Any:
    if key == "largest_jam":
        return max((jam["people"] for jam in run.rows["jams"]), default=0)
    return run.rows[key]


def _exits(runs: Sequence[CrowdRun]) -> Iterable[tuple[str, ...]]:
    for name in runs[0].rows["exits"]:
        each = [run.rows["exits"][name] for run in runs]
        people, flows = [one["people"] for one in each], [one["specific_flow"] for one in each if one["specific_flow"]]
        flow = f"{np.mean(flows):.2f}" if flows else ""
        yield name, f"{np.mean(people):.1f} ({min(people)} to {max(people)})", flow


def _jams(runs: Sequence[CrowdRun]) -> str:
    """The places of jams, those with the longest waiting first."""
    places: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        for jam in run.rows["jams"]:
            places.setdefault(jam["at"], []).append(jam)
    if not places:
        return "<p>None.</p>"
    order = sorted(places.items(), key=lambda item: -sum(jam["waited"] for jam in item[1]))
    rows = [
        (at, f"{len(same)} of {len(runs)}", f"{np.mean([jam['people'] for jam in same]):.0f}",
         str(max(jam["people"] for jam in same)), f"{np.mean([jam['duration'] for jam in same]):.0f}")
        for at, same in order[:MAX_JAMS]
    ]  # fmt: skip
    more = f"<p>{len(order) - MAX_JAMS} more places.</p>" if len(order) > MAX_JAMS else ""
    return table(("where", "runs", "people, mean", "most", "lasts (s)"), rows) + more


def _curves(runs: Sequence[CrowdRun], aset: float | None) -> str:
    """People inside over time, one line a run."""
    ends = [run.left[np.isfinite(run.left)].max(initial=0.0) for run in runs]
    t = np.linspace(0.0, max(*ends, aset or 0.0, 1.0), POINTS)
    inside = people_inside([run.left[~np.isnan(run.left)] for run in runs], t)
    ax = axes(None, (5.0, 2.9))
    ax.plot(t, inside.T, color=LIGHT.accent, linewidth=0.7, alpha=0.4)
    ax.plot(t, inside.mean(axis=0), color=LIGHT.text, linewidth=1.6, label=f"mean of {len(runs)} runs")
    if aset is not None:
        ax.axvline(aset, color=LIGHT.bad, linewidth=1.2, linestyle="--", label="ASET")
    ax.set(xlabel="t (s)", ylabel="people who have not left")
    ax.set_ylim(bottom=0.0)
    ax.legend(frameon=False, fontsize=8)
    return image(ax.figure, "Each thin line is one run.")  # type: ignore[arg-type]


def _worst(slowest: Solution) -> str:
    shot = Shot.of(slowest, None)
    figure = plt.figure(figsize=(5.0, float(np.clip(4.2 / shot.aspect, 1.2, 2.9))), layout="compressed")
    draw_plan(shot, figure.subplots(), -1, "worst density")
    return image(figure, "Worst density in each square metre in the slowest run.")


def _box(behaviour: str, failed: Iterable[str], runs: Sequence[CrowdRun]) -> str:
    tests = "; ".join(failed)
    known = f"The default behaviour of jostle fails these tests of guidelines: {tests}." if tests else ""
    return (
        f'<p class="limits"><b>Read with care.</b> People are discs; their behaviour is {escape(behaviour)}. '
        f"{escape(known)} Runs differ in what is random: places, and what is drawn from distributions. What happens in "
        f"fewer than one of {len(runs)} runs is not seen here. Smoke and people who need help are not simulated.</p>"
    )
