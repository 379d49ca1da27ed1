"""The results of a study: a tidy table with a row for each run, the curves of the runs, summaries of the cases."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.analysis.samples import LEVELS, Summary, summary
from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.ensembles.designs import Case
from jostle.ensembles.executing import Outcome
from jostle.ensembles.study import ERROR, RUN_COLUMNS, STATUS, RunOf
from jostle.ensembles.subjects import SEED
from jostle.errors import InvalidValue, MissingPackage
from jostle.io.container import whole
from jostle.plugins import nearest

FORMATS = (".csv", ".parquet")
"""File formats of tables."""


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """What a study found: ``results["evacuation_time"]`` is a column of its table, one entry for each run.

    >>> import jostle as jo
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> def area(side):
    ...     return {"area": side**2}
    >>> study = jo.ensembles.Study(area, over=jo.ensembles.grid({"side": [1.0, 2.0, 3.0]}))
    >>> with ThreadPoolExecutor(2) as threads:
    ...     results = jo.ensembles.sweep(study, executor=threads)
    >>> results, results["area"].tolist()
    (Results(3 runs of 3 cases, 0 failed: area), [1.0, 4.0, 9.0])
    """

    runs: tuple[RunOf, ...]
    outcomes: tuple[Outcome, ...]
    """Of each run, in the order of their numbers."""
    settled: tuple[bool, ...] = ()
    """Of each case, whether the stopping rule held; empty without a rule."""

    def __repr__(self) -> str:
        cases, failed = len(self.cases), len(self.failures)
        return f"Results({len(self.runs)} runs of {cases} cases, {failed} failed: {', '.join(self.measures)})"

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.table:
            near = nearest(str(name), self.table)
            hint = f"did you mean {near!r}?" if near else f"the columns are {', '.join(self.table)}"
            raise InvalidValue(f"there is no column {name!r}; {hint}")
        return self.table[name]

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The names of what was measured."""
        return tuple(dict.fromkeys(name for outcome in self.outcomes for name in outcome.measures))

    @cached_property
    def table(self) -> dict[str, NDArray[Any]]:
        """The columns: run, case, repetition, seed, the parameters, status, the measures, error.

        A measure is NaN in the rows of runs that failed. ``pandas.DataFrame(results.table)`` makes a data frame.
        """
        parameters = [name for name in (self.runs[0].parameters if self.runs else {}) if name != SEED]
        columns: dict[str, list[Any]] = {
            name: [] for name in (*RUN_COLUMNS, *parameters, STATUS, *self.measures, ERROR)
        }
        for run, outcome in zip(self.runs, self.outcomes, strict=True):
            row = {**outcome.measures, **run.parameters, SEED: run.seed, STATUS: outcome.status, ERROR: outcome.error}
            row |= {"run": run.number, "case": run.case, "repetition": run.repetition}
            for name, column in columns.items():
                column.append(row.get(name, np.nan))
        return {name: _column(values) for name, values in columns.items()}

    @property
    def failures(self) -> dict[int, str]:
        """The errors of the runs that failed, by the number of the run."""
        return {outcome.run: outcome.error for outcome in self.outcomes if outcome.failed}

    @property
    def seconds(self) -> Array:
        """(k,) the CPU time of each run. It is no column of the table, which is the same however it was computed."""
        return np.array([outcome.cpu_seconds for outcome in self.outcomes])

    @cached_property
    def cases(self) -> dict[int, Case]:
        """The parameters of the cases by their numbers."""
        return {run.case: dict(run.parameters) for run in sorted(self.runs, key=lambda run: run.case)}

    def curves(self, name: str, case: int | None = None) -> list[Array]:
        """The curves of a name, one for each run that did not fail: of one case, or of all."""
        if case is not None:
            self._check_case(case)
        kept = [outcome for run, outcome in self._pairs() if case in (None, run.case) and not outcome.failed]
        known = list(dict.fromkeys(key for outcome in self.outcomes for key in outcome.curves))
        if name not in known:
            raise InvalidValue(f"there is no curve {name!r} in these results; there are: {', '.join(known) or 'none'}")
        return [np.array(outcome.curves[name]) for outcome in kept]

    def summary(
        self, measure: str, case: int | None = None, *, confidence: float = 0.95, levels: Sequence[float] = LEVELS
    ) -> Summary:
        """Mean, confidence interval and quantiles of a measure: over the runs of one case, or over all runs."""
        values = self[measure]
        if measure not in self.measures:
            raise InvalidValue(f"{measure!r} is not a measure; the measures are {', '.join(self.measures)}")
        if case is not None:
            self._check_case(case)
            values = values[self["case"] == case]
        return summary(values[~np.isnan(values)], confidence=confidence, levels=levels)

    def _check_case(self, case: int) -> None:
        if case not in self.cases:
            raise InvalidValue(f"there is no case {case} in these results")

    def summaries(self, *, confidence: float = 0.95, levels: Sequence[float] = LEVELS) -> dict[str, NDArray[Any]]:
        """A tidy table of all summaries: a row for each case and measure."""
        rows = []
        failures = Counter(run.case for run, outcome in self._pairs() if outcome.failed)
        for case, parameters in self.cases.items():
            for measure in self.measures:
                found = self.summary(measure, case, confidence=confidence, levels=levels)
                parts = {"n": found.n, "failed": failures[case], "mean": found.mean, "std": found.std}
                parts |= {"low": found.low, "high": found.high}
                parts |= {f"q{100.0 * level:g}": value for level, value in found.quantiles.items()}
                rows.append({"case": case, **parameters, "measure": measure, **parts})
        return {name: _column([row[name] for row in rows]) for name in (rows[0] if rows else ())}

    def _pairs(self) -> Iterable[tuple[RunOf, Outcome]]:
        return zip(self.runs, self.outcomes, strict=True)

    def long_curves(self) -> dict[str, NDArray[Any]]:
        """All curves as one tidy table: run, case, curve, k, value."""
        rows = [
            (run.number, run.case, name, k, value)
            for run, outcome in self._pairs()
            for name, values in outcome.curves.items()
            for k, value in enumerate(values)
        ]
        names = ("run", "case", "curve", "k", "value")
        return {name: _column(list(column)) for name, column in zip(names, zip(*rows, strict=True), strict=bool(rows))}


def _column(values: list[Any]) -> NDArray[Any]:
    """An array of numbers or texts; values of several kinds stay what they are."""
    if all(isinstance(value, bool) for value in values):
        return np.array(values, dtype=bool)
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return np.array(values, dtype=np.int64)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return np.array(values, dtype=float)
    if all(isinstance(value, str) for value in values):
        return np.array(values, dtype=str)
    column = np.empty(len(values), dtype=object)
    column[:] = [json.dumps(value) if isinstance(value, list | dict) else value for value in values]
    return column


@check_arguments
def write_table(columns: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the columns of a table as .csv or .parquet, which needs pyarrow; an existing file is replaced.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table({"n": np.array([1, 2]), "x": np.array([0.5, np.nan])}, Path(folder) / "a.csv").read_text()
    'n,x\\n1,0.5\\n2,\\n'
    """
    path = Path(path)
    if path.suffix not in FORMATS:
        raise InvalidValue(f"path: a table is a {' or '.join(FORMATS)} file, not {path.name!r}")
    wrong = [name for name, column in columns.items() if np.ndim(column) != 1]
    if wrong or len({len(column) for column in columns.values()}) > 1:
        raise InvalidValue("columns must be lists of equal lengths")
    if path.suffix == ".csv":
        with whole(path) as new:
            new.write_text(_csv(columns), encoding="utf-8", newline="")
        return path
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingPackage("a .parquet file needs the package pyarrow: pip install 'jostle[tables]'") from None
    plain = {name: np.asarray(column).tolist() for name, column in columns.items()}
    plain = {name: [None if v != v else v for v in values] for name, values in plain.items()}
    kinds = {name: {type(value) for value in values} - {type(None)} for name, values in plain.items()}
    for name, found in kinds.items():
        if len(found) > 1 and found != {int, float}:
            plain[name] = [None if value is None else str(value) for value in plain[name]]
    with whole(path) as new:
        pq.write_table(pa.table(plain), new)
    return path


def _csv(columns: Mapping[str, Any]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True):
        writer.writerow(["" if value is None or value != value else _shown(value) for value in row])
    return text.getvalue()


def _shown(value: Any) -> Any:
    """Truth values as TOML and JSON write them; numbers in full."""
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, float) else value
