"""The results of a study: a table with one row per run, the curves of the runs, and summaries of the cases."""

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

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array
from jostle._tools.installing import missing
from jostle._tools.suggestions import suggestion
from jostle.analysis.statistics import LEVELS, Summary, summary
from jostle.errors import InvalidValue
from jostle.io.new_files import whole
from jostle.study.cases import ERROR, RUN_COLUMNS, SEED, STATUS, Case, RunOf
from jostle.study.executing import Outcome


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """The results of a study; ``results["evacuation_time"]`` is a column of its table, with one entry per run.

    Attributes
    ----------
    runs : tuple of RunOf
        The finished runs, in the order of their numbers.
    outcomes : tuple of Outcome
        The outcome of each run.
    settled : tuple of bool
        Whether the stopping rule was met, for each case; empty without a rule.

    Examples
    --------
    >>> import jostle as jo
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> def area(side):
    ...     return {"area": side**2}
    >>> study = jo.study.Study(area, over=jo.study.grid({"side": [1.0, 2.0, 3.0]}))
    >>> with ThreadPoolExecutor(2) as threads:
    ...     results = jo.study.sweep(study, executor=threads)
    >>> results, results["area"].tolist()
    (Results(3 runs of 3 cases, 0 failed: area), [1.0, 4.0, 9.0])
    """

    runs: tuple[RunOf, ...]
    outcomes: tuple[Outcome, ...]
    settled: tuple[bool, ...] = ()

    def __repr__(self) -> str:
        cases, failed = len(self.cases), len(self.failures)
        return f"Results({len(self.runs)} runs of {cases} cases, {failed} failed: {', '.join(self.measures)})"

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.table:
            hint = suggestion(str(name), self.table, f"the columns are {', '.join(self.table)}")
            raise InvalidValue(f"unknown column {name!r}; {hint}")
        return self.table[name]

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures."""
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
        """Errors of the failed runs, by run number."""
        return {outcome.run: outcome.error for outcome in self.outcomes if outcome.failed}

    @property
    def seconds(self) -> Array:
        """(k,): CPU time of each run, in seconds; not in the table, so that equal studies have equal tables."""
        return np.array([outcome.cpu_seconds for outcome in self.outcomes])

    @cached_property
    def cases(self) -> dict[int, Case]:
        """Parameters of the cases, by case number."""
        return {run.case: dict(run.parameters) for run in sorted(self.runs, key=lambda run: run.case)}

    def curves(self, name: str, case: int | None = None) -> list[Array]:
        """Return the curves of one name, for all runs that did not fail.

        Parameters
        ----------
        name : str
            Name of the curve.
        case : int, optional
            Number of the case. None: all cases.

        Returns
        -------
        list of array
            One curve per run.
        """
        if case is not None:
            self._check_case(case)
        kept = [outcome for run, outcome in self._pairs() if case in (None, run.case) and not outcome.failed]
        known = list(dict.fromkeys(key for outcome in self.outcomes for key in outcome.curves))
        if name not in known:
            raise InvalidValue(f"unknown curve {name!r}; the curves are: {', '.join(known) or 'none'}")
        return [np.array(outcome.curves[name]) for outcome in kept]

    def summary(
        self, measure: str, case: int | None = None, *, confidence: float = 0.95, levels: Sequence[float] = LEVELS
    ) -> Summary:
        """Compute mean, confidence interval and quantiles of a measure.

        Parameters
        ----------
        measure : str
            Name of the measure.
        case : int, optional
            Number of the case. None: all runs.
        confidence : float, default 0.95
            Confidence level of the interval, between 0 and 1.
        levels : sequence of float, default (0.05, 0.5, 0.95)
            Levels of the quantiles, between 0 and 1.

        Returns
        -------
        Summary
            Mean, standard deviation, confidence interval and quantiles.
        """
        values = self[measure]
        if measure not in self.measures:
            raise InvalidValue(f"{measure!r} is not a measure; the measures are {', '.join(self.measures)}")
        if case is not None:
            self._check_case(case)
            values = values[self["case"] == case]
        return summary(values[~np.isnan(values)], confidence=confidence, levels=levels)

    def _check_case(self, case: int) -> None:
        if case not in self.cases:
            raise InvalidValue(f"unknown case {case}: the results have no runs of it")

    def summaries(self, *, confidence: float = 0.95, levels: Sequence[float] = LEVELS) -> dict[str, NDArray[Any]]:
        """Compute the summaries of all cases and measures, as a table.

        Parameters
        ----------
        confidence : float, default 0.95
            Confidence level of the intervals, between 0 and 1.
        levels : sequence of float, default (0.05, 0.5, 0.95)
            Levels of the quantiles, between 0 and 1.

        Returns
        -------
        dict of str to array
            The columns: case, the parameters, measure, n, failed, mean, std, low, high and the quantiles.
        """
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
        """Collect all curves in one table.

        Returns
        -------
        dict of str to array
            The columns run, case, curve, k and value, with one row per number.
        """
        rows = [
            (run.number, run.case, name, k, value)
            for run, outcome in self._pairs()
            for name, values in outcome.curves.items()
            for k, value in enumerate(values)
        ]
        names = ("run", "case", "curve", "k", "value")
        return {name: _column(list(column)) for name, column in zip(names, zip(*rows, strict=True), strict=bool(rows))}


def _column(values: list[Any]) -> NDArray[Any]:
    """An array of numbers or texts; a column with values of several kinds keeps them as objects."""
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


# Tables of studies as files, CSV and Parquet.


FORMATS = (".csv", ".parquet")
"""File formats of tables."""


@check_arguments
def write_table(columns: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the columns of a table to a file, replacing an existing one.

    Parameters
    ----------
    columns : mapping of str to array_like
        Columns of equal lengths.
    path : str or path
        Name of the file, .csv or .parquet; Parquet needs the package pyarrow.

    Returns
    -------
    Path
        The path of the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table({"n": np.array([1, 2]), "x": np.array([0.5, np.nan])}, Path(folder) / "a.csv").read_text()
    'n,x\\n1,0.5\\n2,\\n'
    """
    path = Path(path)
    if path.suffix not in FORMATS:
        raise InvalidValue(f"path must end in {' or '.join(FORMATS)}, not be {path.name!r}")
    wrong = [name for name, column in columns.items() if np.ndim(column) != 1]
    if wrong or len({len(column) for column in columns.values()}) > 1:
        raise InvalidValue("columns must be lists of equal length")
    if path.suffix == ".csv":
        with whole(path) as new:
            new.write_text(_csv(columns), encoding="utf-8", newline="")
        return path
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing("a .parquet file needs the package pyarrow", "tables") from None
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
    """Booleans as in TOML and JSON; numbers with all digits."""
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, float) else value
