"""Reports: what was checked, what was found, and what could not be checked, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import escape

import numpy as np

from jostle._tools.colours import BAD, GOOD, OPEN
from jostle.errors import InvalidValue

HOLDS, FAILS, UNKNOWN = "holds", "fails", "not known"
"""The verdicts of a line."""
SEVERITY = {HOLDS: 0, UNKNOWN: 1, FAILS: 2}
"""Order of the verdicts: the worst one of several is shown."""
CELL = "text-align: left; vertical-align: top; padding: 0 1em 0.2em 0"
"""Style of the cells of a table in HTML."""
COLOURS = {HOLDS: GOOD, UNKNOWN: OPEN, FAILS: BAD}


@dataclass(frozen=True)
class Line:
    """One hypothesis or promise that was checked.

    Attributes
    ----------
    name : str
        Name in the paper, such as "(A1)".
    statement : str
        What is asked or promised, as a formula.
    verdict : str
        "holds", "fails" or "not known".
    detail : str
        Where it fails and by how much, what would decide it, or for which q it holds.
    values : mapping of str to float
        The numbers that were computed, by name.
    needed : bool
        True if the verdict of the section depends on this line.
    local : bool
        True if it was seen at this configuration or time, and is asked at every one: then it is not known.
    badness : float
        Of two lines with the same verdict, the one with the larger number is shown for a whole trajectory.

    Examples
    --------
    >>> line = Line("(A1)", "alpha <= |grad g_i| <= beta", HOLDS, "everywhere", {"alpha": 1.0, "beta": 2.0})
    >>> line.verdict, line.values["beta"], line.found
    ('holds', 2.0, 'alpha = 1, beta = 2; everywhere')
    """

    name: str
    statement: str
    verdict: str
    detail: str = ""
    values: Mapping[str, float] = field(default_factory=dict)
    needed: bool = True
    local: bool = False
    badness: float = 0.0

    @property
    def found(self) -> str:
        """The numbers and the detail, as text."""
        numbers = ", ".join(f"{name} = {value:.4g}" for name, value in self.values.items() if np.isfinite(value))
        limits = ", ".join(f"{name} unlimited" for name, value in self.values.items() if value == np.inf)
        return "; ".join(part for part in (numbers, limits, self.detail) if part)


@dataclass(frozen=True)
class Section:
    """Lines that belong together, such as the hypotheses of one theorem.

    Attributes
    ----------
    title : str
        Paper and theorem.
    promise : str
        What follows if all lines hold; empty if nothing is concluded from them together.
    lines : tuple of Line
        What was checked.
    asked : bool
        True if the lines are hypotheses. False: they are promises, and the summary says whether they are kept.

    Examples
    --------
    >>> Section("Theorem 1", "the scheme converges", (Line("(A1)", "...", HOLDS), Line("(A2)", "...", UNKNOWN))).verdict
    'not known'
    """

    title: str
    promise: str
    lines: tuple[Line, ...]
    asked: bool = True

    @property
    def verdict(self) -> str:
        """The worst verdict of the lines that are needed."""
        return max((line.verdict for line in self.lines if line.needed), key=SEVERITY.__getitem__, default=HOLDS)

    @property
    def summary(self) -> str:
        """The promise, and which lines stand in its way."""
        if not self.promise:
            return ""
        needed = [line for line in self.lines if line.needed]
        failing = [line.name for line in needed if line.verdict == FAILS]
        unknown = [line.name for line in needed if line.verdict == UNKNOWN]
        if not self.asked:
            words = f"not kept, because of {', '.join(failing)}" if failing else "kept"
            return f"{words}: {self.promise}" + (f" (not checked: {', '.join(unknown)})" if unknown else "")
        if failing:
            return f"not promised, because of {', '.join(failing)}: {self.promise}"
        if unknown:
            return f"promised if {_listed(unknown)} {'hold' if unknown[1:] else 'holds'}: {self.promise}"
        return f"holds: {self.promise}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


@dataclass(frozen=True, repr=False)
class Report:
    """The result of `hypotheses` and `promises`: a table of what was checked, and the numbers in it.

    ``report["(A1)"]`` is a `Line`. Where two papers use the same name, the section decides: ``report["Paoli 2010
    (H3)"]``.

    Attributes
    ----------
    title : str
        What was checked, and where.
    sections : tuple of Section
        The lines, by theorem.

    Examples
    --------
    >>> section = Section("Paoli 2010", "the scheme converges", (Line("(H3)", "independent", FAILS, "rank 1 of 2"),))
    >>> report = Report("At t = 0", (section,))
    >>> report["(H3)"].verdict, [line.name for line in report.failing]
    ('fails', ['(H3)'])
    >>> report
    At t = 0
    Paoli 2010
      not promised, because of (H3): the scheme converges
      (H3)  independent  fails  rank 1 of 2
    """

    title: str
    sections: tuple[Section, ...]

    def __iter__(self) -> Iterator[Line]:
        return (line for section in self.sections for line in section.lines)

    @property
    def failing(self) -> tuple[Line, ...]:
        """The lines that fail."""
        return tuple(line for line in self if line.verdict == FAILS)

    def __getitem__(self, name: str) -> Line:
        found = [
            (f"{section.title} {line.name}", line)
            for section in self.sections
            for line in section.lines
            if name.strip("()") == line.name.strip("()")
            or (name.endswith(line.name) and section.title.startswith(name.removesuffix(line.name).strip(" ,")))
        ]
        if not found:
            raise InvalidValue(
                f"unknown line {name!r}; the lines of this report are {', '.join(line.name for line in self)}"
            )
        if found[1:]:
            raise InvalidValue(f"{name!r} is in several sections: {'; '.join(full for full, _ in found)}; name one")
        return found[0][1]

    def __repr__(self) -> str:
        every = list(self)
        wide = [max((len(text) for text in texts), default=0) for texts in zip(*map(_cells, every), strict=True)]
        out = [self.title]
        for section in self.sections:
            out += [section.title, *([f"  {section.summary}"] if section.summary else [])]
            for line in section.lines:
                cells = [cell.ljust(width) for cell, width in zip(_cells(line), wide, strict=True)]
                out.append(f"  {'  '.join(cells).rstrip()}")
        return "\n".join(out)

    def _repr_html_(self) -> str:
        rows = [f"<p><b>{escape(self.title)}</b></p><table>"]
        for section in self.sections:
            shown = f'<span style="color: {COLOURS[section.verdict]}">{escape(section.summary)}</span>'
            rows.append(
                f'<tr><th colspan="4" style="text-align: left">{escape(section.title)}<br>'
                f'<span style="font-weight: normal">{shown}</span></th></tr>'
            )
            for line in section.lines:
                name, statement, verdict, found = map(escape, _cells(line))
                rows.append(
                    f'<tr><td style="{CELL}; white-space: nowrap">{name}</td><td style="{CELL}">{statement}</td>'
                    f'<td style="{CELL}; color: {COLOURS[line.verdict]}">{verdict}</td>'
                    f'<td style="{CELL}">{found}</td></tr>'
                )
        return "\n".join([*rows, "</table>"])


def _cells(line: Line) -> tuple[str, str, str, str]:
    return line.name, line.statement, line.verdict, line.found


def worst(title: str, reports: Mapping[float, Report]) -> Report:
    """One report for several times: each line as it is at the time at which it is worst."""
    times = list(reports)
    sections = []
    for k, section in enumerate(reports[times[0]].sections):
        lines = []
        for shown in section.lines:
            every = ((line, t) for t in times for line in reports[t].sections[k].lines)
            each = [(line, t) for line, t in every if line.name == shown.name]
            line, t = max(each, key=lambda one: (SEVERITY[one[0].verdict], one[0].badness))
            same = all(other.found == line.found for other, _ in each)
            detail = line.detail if same else "; ".join(part for part in (line.detail, f"t = {t:.4g}") if part)
            lines.append(replace(line, detail=detail))
        sections.append(replace(section, lines=tuple(lines)))
    return Report(title, tuple(sections))
