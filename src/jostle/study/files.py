"""Study files: studies without Python. A TOML file names a scenario, a design and the measures."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self, TypeAlias

from pydantic import Field, ValidationError, model_validator

from jostle.errors import InvalidValue
from jostle.scenarios import ScenarioError, load
from jostle.scenarios.fields import Complaint, Count, Seed, Switch, Table, Text, by_kind, complain, made, table_of
from jostle.scenarios.messages import problems
from jostle.scenarios.toml import Source, lines, tables, text_of
from jostle.scenarios.toml import value as written
from jostle.study.cases import Case, Study, grid, latin_hypercube, name_of
from jostle.study.measures import at_place
from jostle.study.repetitions import PreciseMean, SettledCurves, StoppingRule

Names = Annotated[tuple[Text, ...], Field(strict=False)]
Values = dict[str, Any]
MEASURED = ("measures", "curves")
"""Keys of a study file that list names of functions, or their places "module:function"."""


class GridTable(Table):
    """All combinations of values."""

    kind: Literal["grid"] = Field(description="All combinations of the values of the parameters.")
    parameters: Values = Field(description="For each parameter, the list of its values.")

    def cases(self) -> list[Case]:
        return grid(dict(flat(self.parameters)))


class ListTable(Table):
    """A list of cases."""

    kind: Literal["list"] = Field(description="A list of cases.")
    cases_: tuple[Values, ...] = Field(alias="cases", strict=False, description="For each case, a table of its values.")

    def cases(self) -> list[Case]:
        return [dict(flat(case)) for case in self.cases_]


class LatinHypercubeTable(Table):
    """Points that fill a box evenly."""

    kind: Literal["latin_hypercube"] = Field(description="Points that fill a box evenly.")
    n: Count = Field(description="The number of cases.")
    seed: Seed = Field(0, description="Seed of the random positions of the points.")
    parameters: Values = Field(description="For each parameter, the ends of its interval, [low, high].")

    def cases(self) -> list[Case]:
        return latin_hypercube(dict(flat(self.parameters)), self.n, seed=self.seed)


if TYPE_CHECKING:  # type checkers do not know classes that are made here
    Until: TypeAlias = Any
else:
    Until = by_kind(table_of(PreciseMean, kind="precise_mean"), table_of(SettledCurves, kind="settled_curves"))


class StudyTable(Table):
    """A study file."""

    title: Text = Field("", description="Title of the study, in one line.")
    scenario: Text | None = Field(None, description="A name from jostle list, or a .toml file beside the study file.")
    function: Text | None = Field(None, description='A Python function instead of a scenario, "module:function".')
    seed: Seed = Field(0, description="Seed from which the seeds of all runs are derived.")
    repeat: Count = Field(1, description="Number of runs of each case, with different seeds.")
    measures: Names = Field((), description='Measures of each run: names, or "module:function".')
    curves: Names = Field((), description="Lists of numbers kept for each run, such as leaving_times.")
    trajectories: Switch = Field(False, description="Keep the trajectory of each run.")
    set: Values = Field({}, description="Settings that are the same in all cases.")
    design: Annotated[GridTable | ListTable | LatinHypercubeTable, Field(discriminator="kind")] | None = Field(
        None, description="The cases; without a design there is one case."
    )
    until: Until | None = Field(None, description="Rule that ends the repetitions of a case early.")

    def cases(self) -> list[Case]:
        """The parameters of each case; [set] belongs to them for a function, and to the scenario otherwise."""
        fixed = {} if self.function is None else dict(flat(self.set))
        return [{**fixed, **case} for case in ([Case()] if self.design is None else self.design.cases())]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        complain([*self._complaints()])
        return self

    def _complaints(self) -> Iterator[Complaint]:
        if (self.scenario is None) == (self.function is None):
            yield ("scenario",), "give either a scenario or a function"
        if self.until is not None and self.repeat == 1:
            yield ("repeat",), "must be at least 2 with [until], where it is the largest number of runs of a case"


class StudyFile(NamedTuple):
    """The study and the stopping rule of a study file."""

    study: Study
    until: StoppingRule | None


def load_study(path: Path) -> StudyFile:
    """Load a study from a TOML file; the file may refer to Python modules in its folder.

    The folder is searched last, so that a file in it cannot stand in for an installed package.
    """
    table, folder = _table(path), str(path.absolute().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        return StudyFile(_study(table, path.parent), made(table.until))
    except InvalidValue as error:
        raise ScenarioError([f"{path}: {error}"]) from None


def study_description(path: Path) -> dict[str, Any]:
    """What a study file would do. The modules that it names are not imported: to look at a file runs no code of it."""
    table = _table(path)
    try:
        cases = table.cases()
        if table.function is None:
            named = {part: tuple(name for name in getattr(table, part) if ":" not in name) for part in MEASURED}
            _study(table.model_copy(update=named), path.parent)  # checks the settings and the names of measures
    except InvalidValue as error:
        raise ScenarioError([f"{path}: {error}"]) from None
    of = {"scenario": table.scenario} if table.function is None else {"function": table.function}
    return {
        "title": table.title, **of, "cases": len(cases), "repeat": table.repeat,
        "runs": len(cases) * table.repeat, "parameters": list(cases[0]),
        **{part: [name_of(each) for each in getattr(table, part)] for part in MEASURED},
        "until": "the last run" if table.until is None else table.until.kind, "seed": table.seed,
    }  # fmt: skip


def _table(path: Path) -> StudyTable:
    """The content of a study file, checked."""
    name, text = str(path), text_of(path)
    data = tables(text, name)
    try:
        return StudyTable.model_validate(data)
    except ValidationError as error:
        raise ScenarioError(problems(error, StudyTable, data, Source(name, text, lines(text), {}))) from None


def is_study(path: Path) -> bool:
    """Whether a file is a study file and not a scenario."""
    data = tables(text_of(path), str(path))
    return "problem" not in data and bool({"scenario", "function", "design"} & data.keys())


def _study(table: StudyTable, folder: Path) -> Study:
    of: Any
    if table.function is not None:
        of = at_place(table.function, "function")
    else:
        assert table.scenario is not None
        source = folder / table.scenario if table.scenario.endswith(".toml") else table.scenario
        of = load(source, settings=[f"{key}={written(item)}" for key, item in flat(table.set)])
    return Study(
        of, table.cases(), table.repeat, table.measures, table.curves, table.seed, table.trajectories, table.title
    )


def flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys and their values: TOML turns unquoted keys with dots into nested tables.

    >>> dict(flat({"problem": {"groups": {"0": {"n": [50, 100]}}}, "run.h": [0.01]}))
    {'problem.groups.0.n': [50, 100], 'run.h': [0.01]}
    """
    for key, item in values.items():
        if isinstance(item, Mapping):
            yield from flat(item, f"{before}{key}.")
        else:
            yield f"{before}{key}", item
