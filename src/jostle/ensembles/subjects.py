"""The subject of a study: a scenario with changed settings, or a function. Both are sent to other processes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from jostle.errors import InvalidValue
from jostle.scenarios import ScenarioError, load, parse
from jostle.scenarios.writing import path as written_path
from jostle.scenarios.writing import value as written
from jostle.spelling import suggestion

if TYPE_CHECKING:
    from jostle.scenarios import Scenario

SEED = "seed"
"""Name of the parameter for the seed of a run; a case may set it."""
MAX_CHECKED_CASES = 200
"""Largest number of cases checked before a study of a scenario starts; the others are checked when they run."""


class Subject(Protocol):
    """The subject of a study."""

    def check(self, cases: Iterable[Mapping[str, Any]]) -> None:
        """Raise if a case has an unknown parameter or an invalid value."""

    def run(self, parameters: Mapping[str, Any], seed: int) -> Any:
        """The result of one run: a `Solution`, or the return value of a function."""

    def identity(self) -> dict[str, str]:
        """The description that must agree when a study is resumed."""


@dataclass(frozen=True)
class ScenarioSubject:
    """A scenario; the parameters of a case are settings of it, such as problem.groups.0.n."""

    text: str
    name: str

    def scenario(self, parameters: Mapping[str, Any], seed: int | None) -> Scenario:
        """The scenario of a case."""
        settings = [f"{key}={_value(key, given)}" for key, given in parameters.items()]
        return parse(self.text, self.name, settings=settings, seed=None if SEED in parameters else seed)

    def check(self, cases: Iterable[Mapping[str, Any]]) -> None:
        """Parse the cases with a value that no earlier case has."""
        seen: set[tuple[str, str]] = set()
        checked = 0
        for case in cases:
            new = {(key, repr(given)) for key, given in case.items() if key != SEED} - seen
            if (new or not checked) and checked < MAX_CHECKED_CASES:
                seen |= new
                checked += 1
                self.scenario(case, 0)

    def run(self, parameters: Mapping[str, Any], seed: int) -> Any:
        from jostle.evolution import solve
        from jostle.macro import solve as solve_density
        from jostle.scenarios import Run

        built = self.scenario(parameters, seed).build()
        return solve(**built._asdict()) if isinstance(built, Run) else solve_density(**built._asdict())

    def identity(self) -> dict[str, str]:
        return {"scenario": self.text}


@dataclass(frozen=True)
class FunctionSubject:
    """A function, which is called with the parameters of a case, and with the seed if it has a parameter `seed`."""

    function: Callable[..., Any]

    @cached_property
    def signature(self) -> inspect.Signature | None:
        """The signature of the function; some functions written in C have none."""
        try:
            return inspect.signature(self.function)
        except ValueError:
            return None

    @property
    def place(self) -> str:
        """Module and name."""
        name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return f"{getattr(self.function, '__module__', '?')}:{name}"

    def arguments(self, parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """The parameters, and the seed if the function takes it."""
        known = {} if self.signature is None else self.signature.parameters
        open_ended = any(each.kind is each.VAR_KEYWORD for each in known.values())
        return {**({SEED: seed} if SEED in known or open_ended else {}), **parameters}

    def check(self, cases: Iterable[Mapping[str, Any]]) -> None:
        if self.signature is None:
            return
        known = self.signature.parameters
        names = [name for name, each in known.items() if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)]
        open_ended = any(each.kind is each.VAR_KEYWORD for each in known.values())
        for case in cases:
            for name in case:
                if name not in names and not open_ended:
                    hint = suggestion(name, names, f"its parameters are {', '.join(names) or 'none'}")
                    raise InvalidValue(f"over: the function {self.place} has no parameter {name!r}; {hint}")
            try:
                self.signature.bind(**self.arguments(case, 0))
            except TypeError as error:
                raise InvalidValue(f"over: the function {self.place} cannot be called with {case}: {error}") from None

    def run(self, parameters: Mapping[str, Any], seed: int) -> Any:
        return self.function(**self.arguments(parameters, seed))

    def identity(self) -> dict[str, str]:
        return {"function": self.place}


def subject_of(of: Any) -> Subject:
    """The subject of a study: the name or the file of a scenario, a `Scenario`, or a function.

    >>> subject_of("cradle_apart").run({"run.t": 0.1}, seed=0).status
    'finished'
    """
    if isinstance(of, str | Path):
        of = load(of)
    if callable(of):
        return FunctionSubject(of)
    if hasattr(of, "build") and hasattr(of, "text"):
        return ScenarioSubject(of.text, of.name)
    raise InvalidValue(f"of must be a scenario, its name, its file, or a function, not {of!r}")


def _value(key: str, given: Any) -> str:
    """A value as written in a setting."""
    if not isinstance(given, bool | int | float | str | list | tuple | dict):
        raise ScenarioError([f"{written_path(key.split('.'))}: {given!r} is not a value that a scenario can have"])
    return written(given)
