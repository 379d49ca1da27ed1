"""A scenario: the checked tables of a file, from which the problem, the scheme and the solver are built."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from pydantic import Field, PrivateAttr, model_validator

from jostle._tools.plugins import Registry
from jostle.crowds.model.crowd import STANDSTILL
from jostle.macro.motion.problems import Crowd as DensityCrowd
from jostle.macro.motion.problems import Flow
from jostle.macro.motion.scheme import DENSITY_SCHEMES
from jostle.macro.motion.scheme import Scheme as DensityScheme
from jostle.macro.motion.solve import solve as solve_density
from jostle.problems import Ending, Motion, Sweeping
from jostle.run.solve import solve
from jostle.scenarios.densities import DensityTable, outside_of_densities
from jostle.scenarios.fields import (
    Complaint,
    Iterations,
    Made,
    NotPositive,
    Number,
    OneOf,
    Positive,
    ProperPart,
    Samples,
    Seed,
    Share,
    Switch,
    Table,
    Text,
    Tolerance,
    allowed,
    by_kind,
    complain,
    made,
    table_of,
)
from jostle.scenarios.kinds import KINDS
from jostle.scenarios.problem import Misfit, ProblemTable, belongs_to
from jostle.scenarios.toml import Source, document
from jostle.schemes import SCHEMES
from jostle.schemes.capabilities import FIRST, SECOND, able, in_words, nobody
from jostle.solvers import SOLVERS
from jostle.solvers.dual_active_set import ActiveSet
from jostle.stopping import AtRest, Below, Empty, Jammed, Never

# How a scenario is solved: the tables [scheme] and [solver], made from the options that the classes declare.
#
# The keys of such a table are the fields of the class. A class of a plug-in needs no more than this: the first line of
# its docstring describes it, ``field(metadata={"description": ...})`` describes an option, and its ``__post_init__``
# checks the values.


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
GapTolerance = Annotated[float, Field(ge=0.0, le=0.1, allow_inf_nan=False), allowed("a number from 0 to 0.1")]
Structure = Literal["isotropic", "square", "triangular"]
OPTIONS: dict[str, tuple[Any, str]] = {
    "samples": (Samples, "Number of Gauss points over which a force that changes in time is averaged."),
    "gap_tol": (GapTolerance, "With friction: largest gap of surfaces that touch, relative to the smallest radius."),
    "weakest": (NotPositive, "Minus the largest impulse (N s) that a contact stores; -inf, the default: no limit."),
    "z": (Number, "Weight of the force in the first step: 0.5 is second order, 0 leaves the force out."),
    "implicit": (Switch, "Evaluate the velocity in the force at the new time (e = 0 only)."),
    "tol": (Tolerance, "Largest overlap over the smallest radius; for grains 1e-6 by default, 1e-3 with friction."),
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


class Method(Made):
    """A scheme or a solver with its options."""

    kind: str


@cache
def method_table(kind: str, makes: type[Any]) -> type[Made]:
    """The table of a scheme or a solver.

    >>> import jostle as jo
    >>> sorted(method_table("maury", jo.Maury).model_fields)
    ['gap_tol', 'kind', 'samples']
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


MAX_STEPS = 100_000_000
"""Largest number of steps of a run."""
DEFAULT_FRAMES = 200
"""Number of saved frames if the file does not set run.every."""


if TYPE_CHECKING:  # type checkers do not know classes that are made here
    Until: TypeAlias = Any
else:
    NOTHING_LEFT = (
        "Nothing is left: no person, no grain, or less than a thousandth of a density. The run of a crowd in which "
        f"nobody moves for {STANDSTILL:g} s ends as blocked."
    )
    Until = by_kind(
        table_of(Never, kind="never", texts={"kind": "The run continues to its end time t."}),
        table_of(Empty, kind="empty", texts={"kind": NOTHING_LEFT}),
        table_of(Below, kind="below", values={"share": Share}),
        table_of(Jammed, kind="jammed"),
        table_of(AtRest, kind="at_rest"),
    )


class Run(NamedTuple):
    """A run that `Scenario.build` makes from a scenario file: the arguments of `solve`.

    Attributes
    ----------
    problem : Motion, Sweeping, macro.Crowd or macro.Flow
        The problem.
    scheme : Scheme
        The scheme, with its solver, or a scheme for densities.
    t : float
        End time of the run (s).
    h : float
        Time step (s).
    every : float
        Time between two saved frames (s).
    until : callable (state) -> bool or str, or None
        Condition that ends the run before t; None for that of the problem.
    strict : bool
        Whether a step that misses the tolerance of the solver ends the run with an error.

    Examples
    --------
    >>> import jostle as jo
    >>> run = jo.scenarios.load("cradle_apart").build()
    >>> run.solve().status
    'finished'
    """

    problem: Any
    scheme: Any
    t: float
    h: float
    every: float
    until: Ending | None
    strict: bool

    @property
    def is_density(self) -> bool:
        """True if the problem is that of a density, for `macro.solve`."""
        return not isinstance(self.problem, Motion | Sweeping)

    def solve(self, **more: Any) -> Any:
        """Run it, with `solve` or, for a density, with `macro.solve`.

        Parameters
        ----------
        **more
            Further arguments of the function, such as ``output=`` and ``device=``.

        Returns
        -------
        Solution or macro.Evolution
            The result of the run.
        """
        said = self._asdict()
        if not self.is_density:
            return solve(**said, **more)
        return solve_density(**{name: said[name] for name in ("problem", "scheme", "t", "h", "every", "until")}, **more)


class RunTable(Table):
    """The table [run]."""

    t: Positive = Field(description="End time of the run (s).")
    h: Positive = Field(description="Time step (s).")
    every: Positive | None = Field(
        None, description=f"Time between two saved frames (s); t / {DEFAULT_FRAMES} by default, at most 1 s for crowds."
    )
    until: Until | None = Field(
        None, description="Condition that ends the run before t; the default depends on the problem."
    )
    strict: Switch = Field(True, description="Stop with an error if a step does not reach the tolerance of the solver.")


class OutputTable(Table):
    """The table [output]."""

    contacts: Switch = Field(default=False, description="Also store the contacts and their impulses.")
    precision: Literal["float32", "float64"] | None = Field(
        default=None,
        description="Precision of the stored positions and velocities: float32 by default, or float64 for bodies that "
        "are far from the origin, as in map coordinates.",
    )


class Scenario(Table):
    """A scenario file, read and checked by `load` or `parse`; `build` makes the arguments of `solve` from it.

    Attributes
    ----------
    title : str
        One line that says what the scenario shows.
    seed : int
        Seed of all random numbers; the same seed gives the same run.
    problem : ProblemTable
        The table [problem]: what moves.
    scheme : table or None
        The table [scheme]: the time-stepping scheme. None means one that suits the problem.
    solver : table
        The table [solver]: the solver of the projection in each step.
    run : table
        The table [run]: duration, time step, and what is saved.
    output : table
        The table [output]: contents of the trajectory file.

    Examples
    --------
    >>> from jostle.scenarios import load
    >>> scenario = load("cradle_apart", settings=["problem.n=3"])
    >>> scenario.problem.n, scenario.run.t, scenario.build().problem
    (3, 6.0, Motion(q0 of shape (3,), within=Line, law=Restitution(e=1.0)))
    """

    title: Text = Field("", description="One line that says what the scenario shows.")
    seed: Seed = Field(0, description="Seed of all random numbers; the same seed gives the same run.")
    problem: Annotated[ProblemTable, OneOf(KINDS)] = Field(description="What moves.")
    scheme: Annotated[Method, OneOf(SCHEMES, DENSITY_SCHEMES, table=method_table)] | None = Field(
        None, description="The time-stepping scheme; by default one that fits the problem."
    )
    solver: Annotated[Method, OneOf(SOLVERS, table=method_table, default=DEFAULT_SOLVER)] = Field(
        {}, validate_default=True, description="The solver of the projection in each step."
    )
    run: RunTable = Field(description="Duration, time step, and what is saved.")
    output: OutputTable = Field(OutputTable(), description="Contents of the trajectory file.")
    _source: Source | None = PrivateAttr(None)

    @model_validator(mode="before")
    @classmethod
    def _with_its_step(cls, data: Any) -> Any:
        """The tables with the default time step of the kind of problem, if it has one and the file does not set h."""
        problem, run = (data.get(key) if isinstance(data, dict) else None for key in ("problem", "run"))
        kind = problem.get("kind") if isinstance(problem, dict) else None
        if not isinstance(run, dict) or "h" in run or not isinstance(kind, str) or kind not in KINDS:
            return data
        step = KINDS.get(kind).step
        return data if step is None else {**data, "run": {**run, "h": step}}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        late = [(("problem", *path), message) for path, message in self.problem.beyond(self.run.t)]
        complain([*self._scheme_fits(), *self._ends(), *self._steps(), *late])
        return self

    def _scheme_fits(self) -> Iterator[Complaint]:
        if isinstance(self.problem, DensityTable):
            yield from self.problem.scheme_fits(self.problem.scheme() if self.scheme is None else self.scheme.kind)
            yield from outside_of_densities({name: getattr(self, name) for name in self.model_fields_set})
            return
        order, needs = FIRST if self.problem.first_order else SECOND, self.problem.needs()
        kind = self.problem.scheme() if self.scheme is None else self.scheme.kind
        capabilities = SCHEMES.get(kind).capabilities if kind in SCHEMES else frozenset()
        if order not in capabilities:
            fitting = [f'"{name}"' for name, scheme in SCHEMES.items() if order in scheme.capabilities]
            yield ("scheme", "kind"), f'must be {in_words(fitting)} for a problem of kind "{self.problem.kind}"'
            return
        every = frozenset({order, *needs})
        for need, path in needs.items():
            if need not in capabilities:
                others = [f'"{name}"' for name in able(every)]
                remedy = f"use {in_words(others)}" if others else nobody(every)
                yield ("problem", *path), f'the scheme "{kind}" cannot handle {need}; {remedy}'

    def _ends(self) -> Iterator[Complaint]:
        kinds = self.problem.endings
        if self.run.until is not None and self.run.until.kind not in kinds:
            names = in_words([f'"{name}"' for name in kinds])
            yield ("run", "until", "kind"), f'must be {names} for a problem of kind "{self.problem.kind}"'
            return
        for message in self.problem.refuses_ending(self._ending()):
            yield ("run", "until", "kind"), message

    def _steps(self) -> Iterator[Complaint]:
        if self.run.h > self.run.t:
            yield ("run", "h"), f"must be at most t = {self.run.t:g}"
        elif self.run.t / self.run.h > MAX_STEPS:
            yield ("run", "h"), f"must be at least {self.run.t / MAX_STEPS:g}: a run has at most {MAX_STEPS} steps"

    def __reduce__(self) -> tuple[Callable[..., Scenario], tuple[dict[str, Any], Source | None]]:
        """Pickle the values: the classes of the tables of schemes and solvers are made at run time."""
        return _validated, (self.model_dump(exclude_none=True, exclude_unset=True), self._source)

    @property
    def text(self) -> str:
        """The TOML text with all settings and the seed; ``parse(scenario.text)`` builds the same run."""
        if self._source is None:
            return document(self.model_dump(exclude_none=True, exclude_unset=True))
        return self._source.text

    @property
    def name(self) -> str:
        """The name of the file, or of the shipped scenario."""
        return "scenario" if self._source is None else self._source.name

    def build(self) -> Run:
        """Build the problem and the scheme, and collect the arguments of `solve`.

        ``scenario.build().solve()`` runs the scenario.

        Returns
        -------
        Run
            The run: the arguments of `solve`, or those of `macro.solve` for a scenario about a density.

        Raises
        ------
        ScenarioError
            If a value does not suit the others, such as grains that overlap; the message names its line and key.
        """
        with np.errstate(all="ignore"):
            try:
                return self._build()
            except Misfit as error:
                source = self._source or Source(self.name, "", {}, {})
                raise source.error(error.path, str(error)) from error.error

    def _build(self) -> Run:
        with belongs_to("problem"):
            problem = self.problem.build(self.seed)
        scheme = self._scheme()
        with belongs_to("problem"):
            scheme.start(problem, 0.0)
        kind = self._ending()
        until: Ending | None = None
        own: dict[str, Callable[[], Ending]] = {"never": Never, "jammed": Jammed}
        if isinstance(problem, DensityCrowd | Flow):
            until = problem.empty if kind == "empty" else None
        elif kind != "empty":  # which is the ending of the problem itself
            until = own[kind]() if self.run.until is None else made(self.run.until)
        usual, longest = self.run.t / DEFAULT_FRAMES, self.problem.longest_interval
        every = self.run.every or (usual if longest is None else min(usual, longest))
        return Run(problem, scheme, self.run.t, self.run.h, every, until, self.run.strict)

    def _scheme(self) -> Any:
        """The scheme with its solver, whose tolerance is that of the problem if the file does not set it."""
        is_density = isinstance(self.problem, DensityTable)
        schemes: Registry[Any] = DENSITY_SCHEMES if is_density else SCHEMES
        makes = schemes.get(self.problem.scheme()) if self.scheme is None else self.scheme.makes
        options = {} if self.scheme is None else self.scheme.options()
        if not is_density:
            said = self.solver.options()
            if self.problem.tol is not None and self.solver.makes is not ActiveSet:
                said.setdefault("tol", self.problem.tol)
            with belongs_to("solver"):
                options["solver"] = self.solver.makes(**said)
        with belongs_to("scheme"):
            return makes(**options)

    def _ending(self) -> str:
        return self.problem.ending() if self.run.until is None else self.run.until.kind


def _validated(data: dict[str, Any], source: Source | None) -> Scenario:
    """Restore a scenario from a pickle."""
    scenario = Scenario.model_validate(data)
    scenario._source = source
    return scenario


def schema() -> dict[str, Any]:
    """The JSON schema of scenario files, for editors that complete and check them.

    Returns
    -------
    dict
        The schema in the 2020-12 dialect, with all kinds of problems, schemes and solvers, those of plug-ins included.

    Examples
    --------
    >>> sorted(schema()["properties"])
    ['output', 'problem', 'run', 'scheme', 'seed', 'solver', 'title']
    """
    found = Scenario.model_json_schema()
    about = {"title": "A scenario of jostle", "description": "A run of jostle: what moves, how it is solved, how long."}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, **about}
