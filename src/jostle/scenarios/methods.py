"""How a scenario is solved: the tables [scheme] and [solver], made from the options that the classes declare.

The keys of such a table are the fields of the class. A class of a plug-in needs no more than this: the first line of
its docstring describes it, ``field(metadata={"description": ...})`` describes an option, and its ``__post_init__``
checks the values.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field

from jostle._tools.plugins import Registry
from jostle.macro.motion.scheme import DENSITY_SCHEMES
from jostle.macro.motion.scheme import Scheme as DensityScheme
from jostle.scenarios.derived import Made, table_of
from jostle.scenarios.fields import (
    Iterations,
    NotPositive,
    Number,
    Positive,
    ProperPart,
    Samples,
    Switch,
    Tolerance,
    allowed,
)
from jostle.schemes import SCHEMES

DEFAULT_SOLVER = "automatic"
"""The solver of a file that does not name one."""
DESCRIPTIONS = {
    "maury": "Motion without rebound (e = 0); bodies never overlap.",
    "gluey": "Like maury, but contacts stick until an equal impulse has pulled them apart.",
    "paoli": "Motion with restitution, with constraints on positions; for few bodies.",
    "moreau_jean": "Motion with restitution, with constraints on velocities; for many bodies.",
    "venel": "First-order motion, such as crowds; bodies never overlap.",
    "catching_up": "First-order motion, such as labyrinths; projects onto the set itself.",
    "splitting": "Densities: free motion, then a projection onto densities of at most one.",
    "barrier": "Densities: a pressure that grows without bound as the density approaches one.",
    "impacts": "Densities: an impact law with restitution wherever the density is one.",
    "automatic": "Chooses an algorithm by the size of the problem and by the progress of the iteration. The default.",
    "active_set": "Active-set method, for up to about a hundred contacts.",
    "interior_point": "Interior-point method, for jammed discs and tight tolerances.",
    "gauss_seidel": "Accelerated Gauss-Seidel sweeps, for spheres and loose tolerances.",
}
"""Purpose of each scheme and solver of jostle."""
GammaExponent = Annotated[float, Field(ge=1.0, le=100.0, allow_inf_nan=False), allowed("a number from 1 to 100")]
Structure = Literal["isotropic", "square", "triangular"]
OPTIONS: dict[str, tuple[Any, str]] = {
    "samples": (Samples, "Number of Gauss points over which a force that changes in time is averaged."),
    "weakest": (NotPositive, "Minus the largest impulse (N s) that a contact stores; -inf, the default: no limit."),
    "z": (Number, "Weight of the force in the first step: 0.5 is second order, 0 leaves the force out."),
    "implicit": (Switch, "Evaluate the velocity in the force at the new time (e = 0 only)."),
    "tol": (Tolerance, "Largest overlap, relative to the smallest radius; 1e-6 by default for grains."),
    "max_iterations": (Iterations, "Largest number of iterations in one step."),
    "eps": (Positive, "Strength of the barrier: the smaller it is, the closer to one the density comes."),
    "gamma": (GammaExponent, "Exponent of the barrier, at least 1."),
    "structure": (Structure, "The impact law: isotropic, or that of a square or a triangular lattice."),
    "budget": (Switch, "Take the answer after max_iterations sweeps as it is; the remaining overlap is reported."),
    "overlap": (ProperPart, "With a budget: a step ends when no overlap exceeds this fraction of the smallest radius."),
}
"""Options of the schemes and solvers of jostle: allowed values and meaning."""
DENSITY_TOLERANCE = "Largest amount by which a density may exceed one; 1e-8 by default."
"""Meaning of the option tol in the schemes for densities."""


class AllSchemes:
    """The schemes for bodies and those for densities, as one list."""

    lists: tuple[Registry[Any], ...] = (SCHEMES, DENSITY_SCHEMES)

    def names(self) -> list[str]:
        return [name for each in self.lists for name in each.names()]

    def get(self, name: str) -> Any:
        return next((each for each in self.lists if name in each), SCHEMES).get(name)

    def items(self) -> Iterator[tuple[str, Any]]:
        return ((name, self.get(name)) for name in self.names())

    def __contains__(self, name: object) -> bool:
        return any(name in each for each in self.lists)


class Method(Made):
    """A scheme or a solver with its options."""

    kind: str


@cache
def method_table(kind: str, makes: type[Any]) -> type[Made]:
    """The table of a scheme or a solver.

    >>> import jostle as jo
    >>> sorted(method_table("maury", jo.Maury).model_fields)
    ['kind', 'samples']
    """
    known = {name: OPTIONS[name] for name in inspect.signature(makes).parameters if _is_ours(makes, name)}
    texts = {name: text for name, (_, text) in known.items()}
    if issubclass(makes, DensityScheme) and "tol" in texts:
        texts["tol"] = DENSITY_TOLERANCE
    if kind in DESCRIPTIONS:
        texts["kind"] = DESCRIPTIONS[kind]
    own = {"kind": kind} if kind == DEFAULT_SOLVER else {}
    values = {name: value for name, (value, _) in known.items()}
    return table_of(makes, kind=kind, leave=("solver",), values=values, own=own, texts=texts, base=Method)


def _is_ours(makes: type[Any], name: str) -> bool:
    """Whether an option is one of OPTIONS, declared by a class of jostle."""
    first = next((each for each in reversed(makes.__mro__) if name in vars(each).get("__annotations__", {})), makes)
    return name in OPTIONS and first.__module__.startswith("jostle.")
