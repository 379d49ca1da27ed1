"""A scenario: what moves, how it is solved, how long, and what is kept. The tables of a file, checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, PrivateAttr, model_validator

from jostle.errors import JostleError
from jostle.problems import Motion, Sweeping
from jostle.scenarios.buildings import Building
from jostle.scenarios.endings import AtRest, Below, EmptyOrBlocked, Ending, Until, jammed
from jostle.scenarios.fields import Complaint, Path, Positive, Seed, Switch, Table, Text, complain
from jostle.scenarios.grains import Grains
from jostle.scenarios.methods import DEFAULTS, AnyScheme, AnySolver, AutomaticTable, scheme_of
from jostle.scenarios.others import Cradle, Crowd, Labyrinth
from jostle.scenarios.problem import Built, Change, Misfit
from jostle.scenarios.source import ScenarioError, Source
from jostle.scenarios.writing import document
from jostle.scenarios.writing import path as written_path
from jostle.schemes.base import Scheme

MOST_STEPS = 100_000_000
FRAMES = 200
"""Frames that are saved if the file does not say how often."""
FIRST_ORDER, SECOND_ORDER = ("venel", "catching_up"), ("maury", "gluey", "paoli", "moreau_jean")


class Run(NamedTuple):
    """All that `solve` takes.

    >>> import jostle as jo
    >>> run = jo.scenarios.load("cradle_apart").build()
    >>> jo.solve(**run._asdict()).status
    'finished'
    """

    problem: Motion | Sweeping
    scheme: Scheme
    t: float
    h: float
    every: float
    until: Ending | None
    change: tuple[Change, ...] | None
    strict: bool


class RunTable(Table):
    """The table [run]."""

    t: Positive = Field(description="The time at which the run ends, at the latest (s).")
    h: Positive = Field(description="The time step (s).")
    every: Positive | None = Field(
        None, description=f"Time between two saved frames (s); a {FRAMES}th of t if not given."
    )
    until: Until | None = Field(None, description="What ends the run before t. By default that depends on the problem.")
    strict: Switch = Field(True, description="Stop with an error if a step was not solved up to the tolerance.")


class OutputTable(Table):
    """The table [output]."""

    contacts: Switch = Field(default=False, description="Also store who touches whom, and with which impulse.")
    precision: Literal["float32", "float64"] = Field(
        default="float32", description="Of the stored positions and velocities."
    )


class Scenario(Table):
    """A scenario, read and checked: `build` makes of it what `solve` takes.

    >>> from jostle.scenarios import load
    >>> scenario = load("cradle_apart", settings=["problem.n=3"])
    >>> scenario.problem.n, scenario.run.t, scenario.build().problem
    (3, 6.0, Motion(q0 of shape (3,), within=Line, law=Restitution(e=1.0)))
    """

    title: Text = Field("", description="What it shows, in a line.")
    seed: Seed = Field(0, description="All that is random follows from it: the same seed gives the same run.")
    problem: Annotated[Grains | Cradle | Crowd | Building | Labyrinth, Field(discriminator="kind")] = Field(
        description="What moves."
    )
    scheme: AnyScheme | None = Field(None, description="How time advances. By default what fits the problem.")
    solver: AnySolver = Field(
        AutomaticTable(), description="How the velocities without overlap are found in each step."
    )
    run: RunTable = Field(description="How long, in which steps, and what is saved.")
    output: OutputTable = Field(OutputTable(), description="What goes into a file of the trajectory.")
    _source: Source | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        complain([*self._scheme_fits(), *self._ends(), *self._steps()])
        return self

    def _scheme_fits(self) -> Iterator[Complaint]:
        kind = self.problem.kind
        fitting = FIRST_ORDER if self.problem.first_order else SECOND_ORDER
        scheme = self.problem.scheme() if self.scheme is None else self.scheme.kind
        if scheme not in fitting:
            names = ", ".join(f'"{name}"' for name in fitting)
            yield ("scheme", "kind"), f'must be one of {names} for a problem of kind "{kind}"'
            return
        for path, message in self.problem.refuses(scheme):
            yield ("problem", *path), message

    def _ends(self) -> Iterator[Complaint]:
        kinds = self.problem.endings
        if self.run.until is not None and self.run.until.kind not in kinds:
            names = ", ".join(f'"{name}"' for name in kinds)
            yield ("run", "until", "kind"), f'must be one of {names} for a problem of kind "{self.problem.kind}"'
        elif isinstance(self.problem, Grains):
            kind = self._ending()
            if kind == "jammed" and self.problem.swelling is None:
                yield ("run", "until", "kind"), 'can be "jammed" only if the grains swell (problem.swelling)'
            if kind == "empty" and not self.problem.outlets:
                yield ("run", "until", "kind"), 'can be "empty" only if there is an outlet (problem.outlets)'

    def _steps(self) -> Iterator[Complaint]:
        if self.run.h > self.run.t:
            yield ("run", "h"), f"must be at most t = {self.run.t:g}"
        elif self.run.t / self.run.h > MOST_STEPS:
            yield ("run", "h"), f"must be at least {self.run.t / MOST_STEPS:g}: at most {MOST_STEPS} steps to t"

    @property
    def text(self) -> str:
        """What reproduces the run, with all settings and the seed: ``parse(scenario.text)`` builds the same bits."""
        if self._source is None:
            return document(self.model_dump(exclude_none=True))
        return self._source.text

    @property
    def name(self) -> str:
        """The name of the file, or of the shipped scenario."""
        return "scenario" if self._source is None else self._source.name

    def build(self) -> Run:
        """The problem, the scheme and all else that `solve` takes: ``jo.solve(**scenario.build()._asdict())``."""
        with np.errstate(all="ignore"):
            try:
                return self._build()
            except Misfit as error:
                raise self._error(("problem", *error.path), str(error)) from error.error
            except JostleError as error:
                raise self._error(("problem",), str(error)) from error

    def _error(self, path: Path, message: str) -> ScenarioError:
        source = self._source or Source(self.name, "", {}, {})
        return ScenarioError([f"{source.place(path)}{written_path(path)}: {message}"])

    def _build(self) -> Run:
        built = self.problem.build(self.seed)
        method = self.scheme or DEFAULTS[self.problem.scheme()]
        scheme = scheme_of(method, self.solver, self.problem.tol)
        scheme.start(built.problem, 0.0)
        t, h = self.run.t, self.run.h
        every = t / FRAMES if self.run.every is None else self.run.every
        until = self._until(built, scheme)
        return Run(built.problem, scheme, t, h, every, until, built.change or None, self.run.strict)

    def _ending(self) -> str:
        return self.problem.ending() if self.run.until is None else self.run.until.kind

    def _until(self, built: Built, scheme: Scheme) -> Ending | None:
        until: Any = self.run.until
        if isinstance(until, Below | AtRest):
            return until.build()
        if self._ending() == "jammed":
            assert isinstance(built.problem, Motion)
            return jammed(built.problem, scheme, self.run.h)
        if self._ending() != "empty" or built.empty is None:
            return None
        if isinstance(self.problem, Crowd | Building):
            return EmptyOrBlocked(built.empty, built.problem.within.radii_at(0.0))
        return built.empty


def schema() -> dict[str, Any]:
    """The JSON schema of scenario files, for editors that complete and check them.

    >>> sorted(schema()["properties"])
    ['output', 'problem', 'run', 'scheme', 'seed', 'solver', 'title']
    """
    found = Scenario.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, "title": "A scenario of jostle"}
