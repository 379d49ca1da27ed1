"""Solvers of projections, one file for each algorithm. `SOLVERS` lists them, and a plug-in or a script can add to it.

>>> SOLVERS.names()
['automatic', 'active_set', 'interior_point', 'gauss_seidel']
>>> SOLVERS.get("active_set")
<class 'jostle.solvers.dual_active_set.ActiveSet'>
"""

from __future__ import annotations

from typing import Any

from jostle._tools.plugins import Registry
from jostle.errors import InvalidValue
from jostle.solvers.project import decompose

__all__ = ["SOLVERS", "decompose"]


def _check(name: str, item: Any) -> None:
    if not (isinstance(item, type) and hasattr(item, "project")):
        raise InvalidValue(f"the solver {name!r} must be a class that inherits from jo.Solver, not {item!r}")


SOLVERS: Registry[type[Any]] = Registry(
    "jostle.solvers",
    "solver",
    {
        "automatic": "jostle.solvers.automatic:Automatic",
        "active_set": "jostle.solvers.dual_active_set:ActiveSet",
        "interior_point": "jostle.solvers.interior_point:InteriorPoint",
        "gauss_seidel": "jostle.solvers.gauss_seidel:GaussSeidel",
    },
    _check,
)
"""All solvers by the name that scenario files use."""
