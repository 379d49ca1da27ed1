"""Scenario files: TOML files that describe what moves, how it is solved, and for how long, without any Python.

>>> import jostle as jo
>>> scenario = jo.scenarios.load("cradle_apart")
>>> sol = scenario.build().solve()
>>> (sol.u[-1].round(6) + 0.0).tolist()                     # the last ball has the velocity of the first
[0.0, 0.0, 0.0, 0.0, 1.0]
"""

import importlib as _importlib
import typing as _typing

from jostle.scenarios.kinds import KINDS
from jostle.scenarios.reading import load, names, parse, shipped
from jostle.scenarios.toml import ScenarioError

if _typing.TYPE_CHECKING:
    from jostle.scenarios.problem import ProblemTable
    from jostle.scenarios.scenario import Run, Scenario, schema

__all__ = [
    "KINDS",
    "ProblemTable",
    "Run",
    "Scenario",
    "ScenarioError",
    "load",
    "names",
    "parse",
    "schema",
    "shipped",
]
_LAZY = {
    "ProblemTable": "problem", "Run": "scenario",
    "Scenario": "scenario", "schema": "scenario",
}  # fmt: skip
"""Modules of the names that need pydantic; it is imported when one of these names is first used."""


if not _typing.TYPE_CHECKING:  # type checkers refuse names that do not exist

    def __getattr__(name: str) -> object:
        """The names in `_LAZY`."""
        if name in _LAZY:
            return getattr(_importlib.import_module(f"jostle.scenarios.{_LAZY[name]}"), name)
        raise AttributeError(f"module 'jostle.scenarios' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, and those that Python gives every module."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
