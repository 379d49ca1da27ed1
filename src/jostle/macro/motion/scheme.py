"""The common part of the schemes for moving densities: the start, cutting of steps that are too long, and checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from jostle._tools.arguments import Fraction, NamedArguments, check_fields
from jostle._tools.arrays import Array
from jostle._tools.plugins import Registry
from jostle.errors import InvalidValue, NotFinite, SchemeRefuses
from jostle.macro.motion.domain import Faces
from jostle.macro.motion.problems import Crowd, Flow, State
from jostle.macro.motion.transport import crossing, shared

MAX_CROSSED = 0.5
"""Largest fraction of a cell that leaves in one step, for constant densities; slopes may double it."""
MAX_SUBSTEPS = 10_000
"""Largest number of parts into which a step is cut."""


@dataclass(frozen=True, kw_only=True)
class Scheme(NamedArguments):
    """Base class of schemes that advance a density. A subclass defines `step`, for steps that are short enough."""

    solves: ClassVar[tuple[type[Any], ...]] = (Crowd, Flow)
    """The kinds of problems that the scheme solves."""
    bounces: ClassVar[bool] = False
    """Whether the scheme supports restitution coefficients e > 0."""

    tol: Fraction = 1e-8
    """How much a density may exceed one."""

    def __post_init__(self) -> None:
        check_fields(self)

    def check(self, problem: Crowd | Flow) -> None:
        """Refuse problems that the scheme cannot solve."""
        name = type(self).__name__
        if not isinstance(problem, self.solves):
            known = " or ".join(f"a jo.macro.{kind.__name__}" for kind in self.solves)
            raise SchemeRefuses(f"{name} is for {known}, not for a {type(problem).__name__}")
        if isinstance(problem, Flow) and problem.law.number > 0.0 and not self.bounces:
            raise SchemeRefuses(f"{name} needs e = 0, the flow has e = {problem.law.number:g}; use jo.macro.Impacts")

    def start(self, problem: Crowd | Flow, t: float) -> State:
        """The state at the first time."""
        self.check(problem)
        velocity = problem.start() if isinstance(problem, Flow) else problem.wish(t)
        return State(t, np.array(problem.density), velocity, np.zeros(problem.grid.shape))

    def step(self, problem: Any, state: State, u: Faces, h: float) -> State:
        """One step of length h, in which mass moves freely with the velocity u."""
        raise NotImplementedError

    def advance(self, problem: Crowd | Flow, state: State, h: float, t_next: float | None = None) -> State:
        """Advance from state.t to state.t + h, or exactly to t_next, in as many parts as the velocities require."""
        end = state.t + h if t_next is None else t_next
        left, parts, iterations, pressure = h, 0, 0, np.zeros(problem.grid.shape)
        while left > 0.0:
            u = driven(problem, state, left)
            crossed = crossing(problem.domain, u, left)
            if not np.isfinite(crossed):
                raise NotFinite(f"the velocity at t = {state.t:g} is not finite")
            number = max(int(np.ceil(crossed / MAX_CROSSED)), 1)
            if number + parts > MAX_SUBSTEPS:
                raise InvalidValue(
                    f"at t = {state.t:g} a step of h = {left:g} crosses {crossed:.3g} cells and would be cut into "
                    f"{number} parts: use h below {MAX_SUBSTEPS * MAX_CROSSED * left / crossed:.2g}"
                )
            part = left / number
            if number > 1 and isinstance(problem, Flow):  # the force acts for a shorter time
                u = driven(problem, state, part)
            state = self.step(problem, state, u, part)
            _check(state, self.tol)
            parts, iterations = parts + 1, iterations + state.iterations
            pressure += part / h * state.pressure
            left = 0.0 if number == 1 else left - part
            state = state._replace(t=end - left)
        return state._replace(pressure=pressure, substeps=parts, iterations=iterations)


def driven(problem: Crowd | Flow, state: State, h: float) -> Faces:
    """The velocity at the beginning of a step of length h: the desired one, or that of free flight with the force."""
    if isinstance(problem, Crowd):
        return problem.wish(state.t)
    masses, force = problem.domain.means(state.density), np.asarray(problem.force)
    x, y = (
        np.where(through & (mass > 0.0), u + h * f, u)
        for u, f, through, mass in zip(state.velocity, force, problem.domain.open, masses, strict=True)
    )
    return shared(problem.domain, state.density, (x, y))


def _check(state: State, tol: float) -> None:
    rho = state.density
    worst = np.unravel_index(int(np.argmax(np.where(np.isfinite(rho), np.abs(rho - 0.5), np.inf))), rho.shape)
    if not np.isfinite(rho[worst]):
        raise NotFinite(f"the density in cell {[int(k) for k in worst]} is {rho[worst]} at t = {state.t:g}")
    if rho[worst] > 1.0 + tol or rho[worst] < -tol:
        raise InvalidValue(
            f"the density in cell {[int(k) for k in worst]} is {rho[worst]:.9g} at t = {state.t:g}, not between 0 and 1"
        )


def emptied(problem: Crowd | Flow, density: Array, crossed: Faces) -> tuple[Array, float]:
    """The density with empty exits, and the mass that left through exits and open sides."""
    domain, (x, y) = problem.domain, crossed
    out = x[-1].sum() - x[0].sum() + y[:, -1].sum() - y[:, 0].sum() + density[domain.exits].sum()
    return np.where(domain.exits, 0.0, density), float(out) * problem.grid.h**2


# Registry of the schemes for moving densities, by the names that scenario files use.


def _check_scheme(name: str, item: Any) -> None:
    if not (isinstance(item, type) and issubclass(item, Scheme)):
        raise InvalidValue(f"the scheme {name!r} must be a class that inherits from macro.motion.scheme.Scheme")


DENSITY_SCHEMES: Registry[type[Scheme]] = Registry(
    "jostle.density_schemes",
    "scheme for densities",
    {
        "splitting": "jostle.macro.motion.splitting:Splitting",
        "barrier": "jostle.macro.motion.barrier:Barrier",
        "impacts": "jostle.macro.motion.impacts:Impacts",
    },
    _check_scheme,
)
"""All schemes for moving densities, by name."""
