"""How a scenario is solved: the tables [scheme] and [solver]."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from jostle.scenarios.fields import Iterations, NotPositive, Number, ProperPart, Samples, Switch, Table, Tolerance
from jostle.schemes.base import Scheme
from jostle.schemes.catching_up import CatchingUp
from jostle.schemes.gluey import Gluey
from jostle.schemes.maury import Maury
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli
from jostle.schemes.venel import Venel
from jostle.solvers.automatic import Automatic
from jostle.solvers.base import Solver
from jostle.solvers.budget import Budget
from jostle.solvers.exact import Exact
from jostle.solvers.interior_point import InteriorPoint
from jostle.solvers.nesterov import Nesterov


class Method(Table):
    """A scheme or a solver, with the name of its class and its options."""

    makes: ClassVar[type]

    def options(self) -> dict[str, Any]:
        """What the file says; the rest is up to the library."""
        return {key: value for key, value in self.model_dump(exclude={"kind"}).items() if value is not None}


class MauryTable(Method):
    """Maury's scheme."""

    makes: ClassVar[type] = Maury
    kind: Literal["maury"] = Field(description="Motion without rebound (e = 0), never any overlap.")
    samples: Samples = Field(2, description="Gauss points at which a force that changes in time is averaged.")


class GlueyTable(Method):
    """Gluey contacts."""

    makes: ClassVar[type] = Gluey
    kind: Literal["gluey"] = Field(description="As maury, but contacts stick: what pressed them must be paid back.")
    samples: Samples = Field(2, description="Gauss points at which a force that changes in time is averaged.")
    weakest: NotPositive | None = Field(
        None, description="Minus the largest impulse (N s) that a contact remembers; -inf, the default: all of it."
    )


class PaoliTable(Method):
    """Paoli's scheme."""

    makes: ClassVar[type] = Paoli
    kind: Literal["paoli"] = Field(description="Motion with restitution, by positions; for few bodies.")
    z: Number = Field(0.5, description="The force in the first step: 0.5 is second order, 0 leaves it out.")
    implicit: Switch = Field(False, description="Take the velocity in the force at the new time (e = 0 only).")


class MoreauJeanTable(Method):
    """The scheme of Moreau and Jean."""

    makes: ClassVar[type] = MoreauJean
    kind: Literal["moreau_jean"] = Field(description="Motion with restitution, by velocities; for many bodies.")


class VenelTable(Method):
    """Venel's scheme."""

    makes: ClassVar[type] = Venel
    kind: Literal["venel"] = Field(description="For crowds and labyrinths: never any overlap.")


class CatchingUpTable(Method):
    """Moreau's catching-up algorithm."""

    makes: ClassVar[type] = CatchingUp
    kind: Literal["catching_up"] = Field(description="For crowds and labyrinths: projects on the set itself.")


AnyScheme = Annotated[
    MauryTable | GlueyTable | PaoliTable | MoreauJeanTable | VenelTable | CatchingUpTable, Field(discriminator="kind")
]
DEFAULTS: dict[str, Method] = {
    kind: table.model_validate({"kind": kind})
    for kind, table in (
        ("maury", MauryTable), ("paoli", PaoliTable), ("moreau_jean", MoreauJeanTable), ("venel", VenelTable),
    )
}  # fmt: skip


class SolverTable(Method):
    """What all solvers have."""

    tol: Tolerance | None = Field(
        default=None,
        description="Overlap that is allowed, as a part of the smallest radius; 1e-6 by default for grains.",
    )
    max_iterations: Iterations | None = Field(default=None, description="At most so many iterations in a step.")


class AutomaticTable(SolverTable):
    """The default."""

    makes: ClassVar[type] = Automatic
    kind: Literal["automatic"] = Field(
        default="automatic", description="Chooses by size and by what it sees. The default."
    )


class ExactTable(SolverTable):
    """Dual active set."""

    makes: ClassVar[type] = Exact
    kind: Literal["exact"] = Field(description="Exact, for up to about a hundred contacts.")


class InteriorPointTable(SolverTable):
    """Second order."""

    makes: ClassVar[type] = InteriorPoint
    kind: Literal["interior_point"] = Field(description="Second order: jammed discs, tight tolerances.")


class NesterovTable(SolverTable):
    """First order."""

    makes: ClassVar[type] = Nesterov
    kind: Literal["nesterov"] = Field(description="First order: spheres, loose tolerances.")


class BudgetTable(SolverTable):
    """First order without a promise."""

    makes: ClassVar[type] = Budget
    kind: Literal["budget"] = Field(description="A fixed number of iterations; the overlap it leaves is reported.")
    overlap: ProperPart | None = Field(
        default=None, description="A step ends when no overlap exceeds this part of the smallest radius."
    )


def _automatic(value: Any) -> Any:
    """A table [solver] that does not name one means the automatic one."""
    return {"kind": "automatic", **value} if isinstance(value, dict) else value


AnySolver = Annotated[
    AutomaticTable | ExactTable | InteriorPointTable | NesterovTable | BudgetTable,
    Field(discriminator="kind"),
    BeforeValidator(_automatic),
]


def scheme_of(method: Method, solver: SolverTable, tol: float | None) -> Scheme:
    """The scheme with its solver; tol is what the problem asks for by default.

    >>> scheme_of(VenelTable(kind="venel"), ExactTable(kind="exact", tol=1e-9), None)
    Venel(solver=Exact(tol=1e-09, max_iterations=10000))
    """
    options = solver.options()
    if tol is not None and solver.makes is not Exact:
        options.setdefault("tol", tol)
    solving: Solver = solver.makes(**options)
    scheme: Scheme = method.makes(solver=solving, **method.options())
    return scheme
