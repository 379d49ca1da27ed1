"""Derivatives of the runs of `solve_by_events`: saltation matrices, forwards and backwards.

Neighbouring motions hit the same contact at times that differ by dt = -(G dq + dg) / (G u- + dg/dt), where dq is their
distance at a fixed time and dg the change of the gap with the parameters. Both fly on with other velocities meanwhile.
With the impact u+ = R(t, q, u-) and the accelerations a- and a+ before and after it, the distances after the impact are

    dq+ = dq + (u- - u+) dt
    du+ = R_q (dq + u- dt) + R_u (du + a- dt) + R_t dt + R_p dp - a+ dt

(Aizerman & Gantmakher 1958). For a flat wall at rest, a unit mass and a constant force these are dq+ = R dq and
du+ = R du + (1 + e) n (n.f)(n.dq) / (n.u-) with R = I - (1 + e) n n^T. Between two impacts the distances obey the
linearised equation of motion, which has a closed form where the force is constant and the contacts that stay closed are
flat. Where contacts come to rest, neighbours come to rest as well: G dq = 0 and G du = 0 from there on.

Every part of a run is a matrix on few coordinates. `forward` multiplies by them in order, `reverse` by their transposes
in the opposite order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, check_arguments
from jostle._tools.arrays import Array, Integers, finite
from jostle.convex.metric import Metric
from jostle.errors import InvalidValue, NoDerivative, SchemeRefuses, WeakContacts, warn
from jostle.events.smooth import (
    LONGEST_MOVE,
    SmoothContacts,
    best_step,
    equalised,
    extrapolated,
    first_differences,
    second_differences,
)
from jostle.events.solution import Event, EventSolution, Flight
from jostle.events.solve import integrated
from jostle.gradients.functions import Slopes, WithDerivative, spread
from jostle.gradients.runs import Gradient, check_twin
from jostle.problems import Motion
from jostle.result.status import FINISHED
from jostle.run.steps import Span, start_and_end
from jostle.sets.balls import Balls, Line
from jostle.sets.base import parts
from jostle.sets.nearest import curvature
from jostle.sets.user import UserSet
from jostle.sets.walls import Walls

THETA_STEP = 1e-3
"""Longest difference step of a parameter, as a fraction of the parameter, or of 1 if it is 0."""
CLOSE = 1e-9
"""Gaps, gap rates and contact forces below this fraction of the lengths, velocities and forces around are zero."""
SAMPLES = 33
"""Number of times in each flight at which the gaps are looked at to find contacts that almost close."""
MAX_PERIOD = 6
"""Longest sequence of contacts that take turns in an accumulation of impacts."""
VARIATION_TOLERANCE = 1e-9
"""Relative error of each step of the linearised equation of motion."""


class _Matrix(NamedTuple):
    """A linear map of the distances of some coordinates, which adds that of some parameters."""

    at: Integers
    of: Integers
    L: Array
    """(2 c, 2 c + p) for c coordinates, positions before velocities, and p parameters."""

    def forward(self, z: Array, d: Array) -> Array:
        rows = np.concatenate([self.at, len(z) // 2 + self.at])
        z = z.copy()
        z[rows] = self.L @ np.concatenate([z[rows], d[self.of]])
        return z

    def reverse(self, z: Array, d: Array) -> Array:
        rows = np.concatenate([self.at, len(z) // 2 + self.at])
        back, z = self.L.T @ z[rows], z.copy()
        z[rows] = back[: len(rows)]
        d[self.of] += back[len(rows) :]
        return z


class _Parabola(NamedTuple):
    """A flight of length s with a constant acceleration a; the contacts G that stay closed are flat."""

    s: float
    a: Array
    mass: Array
    G: Array
    inverse: Array
    """(G M^-1 G^T)^+."""
    slope: Array
    """(N, k) da/dtheta."""

    def forward(self, z: Array, d: Array) -> Array:
        N, k = self.slope.shape
        da = self.slope @ d[len(d) - k :] + self._across(-self.a[:, None] * d[:N] / self.mass[:, None])
        dq, du = z[:N], z[N:]
        return np.concatenate([dq + self.s * du + 0.5 * self.s**2 * da, du + self.s * da])

    def reverse(self, z: Array, d: Array) -> Array:
        N, k = self.slope.shape
        q, u = z[:N], z[N:]
        a = 0.5 * self.s**2 * q + self.s * u
        d[len(d) - k :] += self.slope.T @ a
        d[:N] -= self.a[:, None] * self._across(a / self.mass[:, None])  # M^-1 P^T = P M^-1
        return np.concatenate([q, u + self.s * q])

    def _across(self, v: Array) -> Array:
        """v without its part along the contacts that stay closed, v - M^-1 G^T (G M^-1 G^T)^+ G v."""
        if len(self.G) == 0:
            return v
        along: Array = self.G.T @ (self.inverse @ (self.G @ v))
        return v - along / self.mass[:, None]


_Part = _Matrix | _Parabola


class _Time(NamedTuple):
    """How the time of an impact changes: a row on some coordinates and parameters, before one of the parts."""

    part: int
    row: _Matrix


@dataclass(frozen=True, eq=False, repr=False)
class EventSensitivity:
    """The derivatives of the final state of a run of `solve_by_events`; made by `sensitivity_by_events`.

    Attributes
    ----------
    solution : EventSolution
        The run.
    q : array
        Final positions, in the shape of q0.
    u : array
        Final velocities, in the shape of q0.
    weak : tuple of str
        Where neighbouring motions differ in kind, so that the derivative belongs to one side only: contacts that are
        closed without a force, that are closed at the start or at the end, or that almost close. Empty: none.
    differenced : tuple of str
        What was differentiated by differences. All the rest is exact to round-off.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-9.81], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.8))
    >>> found = jo.sensitivity_by_events(ball, t=0.7)
    >>> dq, du = found.forward(q0=[1.0])
    >>> dq.round(8).tolist()
    [0.19055156]
    >>> gradient = found.reverse(q=[1.0])
    >>> gradient.v0.round(8).tolist(), round(gradient.e, 5)
    ([-0.11274255], 1.10061)
    """

    solution: EventSolution
    q: Array
    u: Array
    weak: tuple[str, ...]
    differenced: tuple[str, ...]
    _model: _Model
    _theta: Array | None
    _parts: tuple[_Part, ...]
    _times: tuple[_Time, ...]

    def __repr__(self) -> str:
        weak = f", weak: {len(self.weak)}" if self.weak else ""
        return f"EventSensitivity({len(self.solution.events)} impacts, t = {self.solution.end:g}{weak})"

    def forward(
        self,
        *,
        q0: ArrayLike | None = None,
        v0: ArrayLike | None = None,
        mass: ArrayLike | None = None,
        radii: ArrayLike | None = None,
        theta: ArrayLike | None = None,
        e: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """How the final state changes with small changes of the arguments (J v).

        Parameters
        ----------
        q0 : array_like, optional
            Change of the positions at the start. None, here and below: no change.
        v0 : array_like, optional
            Change of the velocities at the start.
        mass : array_like, optional
            Change of the mass, in one of the forms in which a mass is given.
        radii : array_like, optional
            Change of the radii: one number, or one for each body.
        theta : array_like, optional
            Change of theta.
        e : float, optional
            Change of the restitution coefficient.

        Returns
        -------
        q, u : array
            Changes of the final positions and velocities, in the shape of q0.
        """
        z, d = self._changes(q0, v0, mass, radii, theta, e)
        for part in self._parts:
            z = part.forward(z, d)
        q, u = z.reshape(2, *self.q.shape)
        return q, u

    def times(
        self,
        *,
        q0: ArrayLike | None = None,
        v0: ArrayLike | None = None,
        mass: ArrayLike | None = None,
        radii: ArrayLike | None = None,
        theta: ArrayLike | None = None,
        e: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """How the times of the impacts, and of their limits, change with small changes of the arguments.

        Parameters
        ----------
        q0, v0, mass, radii, theta, e : array_like, optional
            The changes, as in `forward`.

        Returns
        -------
        impacts : array, shape (k,)
            Changes of the times of ``solution.events``.
        limits : array, shape (l,)
            Changes of the times of ``solution.accumulations``.

        Examples
        --------
        The impacts of a ball end at the time sqrt(2 y0 / g) (1 + e) / (1 - e).

        >>> import jostle as jo
        >>> ball = jo.Motion(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
        >>> found = jo.sensitivity_by_events(ball, t=2.0)
        >>> [round(float(found.times(**{name: 1.0})[1][0]), 9) for name in ("q0", "e")]      # 1.5 / 2.5, and 0.5 * 8
        [0.6, 4.0]
        """
        z, d = self._changes(q0, v0, mass, radii, theta, e)
        found, rows = [], iter([*self._times, None])
        wanted = next(rows)
        for number, part in enumerate(self._parts):
            if wanted is not None and wanted.part == number:
                at = np.concatenate([wanted.row.at, len(z) // 2 + wanted.row.at])
                found.append((wanted.row.L @ np.concatenate([z[at], d[wanted.row.of]])).item())
                wanted = next(rows)
            z = part.forward(z, d)
        impacts = np.array(found)
        events = self.solution.events
        ends = [sum(event.t <= limit.t for event in events) for limit in self.solution.accumulations]
        return impacts, np.array([_limit(events[:end], impacts[:end]) for end in ends])

    def reverse(self, *, q: ArrayLike | None = None, u: ArrayLike | None = None) -> Gradient:
        """The gradient of a function of the final state with respect to everything (J^T v).

        Parameters
        ----------
        q : array_like, optional
            Gradient of the function with respect to the final positions. None: 0.
        u : array_like, optional
            Gradient of the function with respect to the final velocities. None: 0.

        Returns
        -------
        Gradient
            Gradients with respect to q0, v0, mass, radii, theta and e.
        """
        model, shape = self._model, self.q.shape
        z = np.concatenate([spread(v, shape, name).ravel() for v, name in ((q, "q"), (u, "u"))])[:, None]
        d = np.zeros((model.parameters(self._theta), 1))
        for part in reversed(self._parts):
            z = part.reverse(z, d)
        m, n = model.masses, model.bodies
        q0, v0 = z.reshape(2, *shape)
        theta = None if self._theta is None else d[m + n + 1 :].reshape(self._theta.shape)
        return Gradient(q0, v0, model.of_mass(d[:m, 0]), model.of_radii(d[m : m + n, 0]), theta, float(d[m + n, 0]))

    @property
    def derivative(self) -> Array:
        """(2 N, 2 N): the derivative of the final positions and velocities with respect to those at the start.

        If the state is the same at both ends, its eigenvalues are the Floquet multipliers.
        """
        z = np.eye(2 * self.q.size)
        d = np.zeros((self._model.parameters(self._theta), len(z)))
        for part in self._parts:
            z = part.forward(z, d)
        return z

    def _changes(self, q0: Any, v0: Any, mass: Any, radii: Any, theta: Any, e: Any) -> tuple[Array, Array]:
        """The changes of the start (2 N, 1), and of all parameters (p, 1)."""
        model, shape = self._model, self.q.shape
        if theta is not None and self._theta is None:
            raise InvalidValue("there is no theta: give problem= as a function of theta, and theta=")
        if radii is not None and model.bodies == 0:
            raise InvalidValue("the bodies are points: leave out radii")
        sized = () if self._theta is None else self._theta.shape
        start = [spread(given, shape, name).ravel() for given, name in ((q0, "q0"), (v0, "v0"))]
        d = [
            model.mass_changes(mass),
            spread(radii, (model.bodies,), "radii"),
            spread(e, (1,), "e"),
            spread(theta, sized, "theta").ravel() if self._theta is not None else np.zeros(0),
        ]
        return np.concatenate(start)[:, None], np.concatenate(d)[:, None]


def _limit(events: tuple[Event, ...], changes: Array) -> float:
    """The change of the limit t + T2^2 / (T1 - T2) of impacts, where T1 and T2 are the last two flights or rounds."""
    pairs = [event.pairs.tolist() for event in events]
    period = next((p for p in range(1, MAX_PERIOD + 1) if pairs[-2 * p : -p] == pairs[-p:]), 1)
    if len(events) < 2 * period + 1:
        return float("nan")
    t = np.array([events[-1 - k * period].t for k in range(3)])
    d = changes[[-1 - k * period for k in range(3)]]
    (T2, T1), (d2, d1) = -np.diff(t), -np.diff(d)
    return float(d[0] + T2 * (2.0 * d2 * (T1 - T2) - T2 * (d1 - d2)) / (T1 - T2) ** 2)


@check_arguments
def sensitivity_by_events(
    problem: Motion | Callable[[Array], Motion], *, t: Span, theta: ArrayLike | None = None, max_events: Count = 100_000
) -> EventSensitivity:
    """Differentiate the final state of `solve_by_events`, with all its impacts.

    The derivatives are those of the motion itself, with respect to the start, the masses, the radii, the restitution
    coefficient, and any parameters theta of the problem. Time stepping has no such derivatives if e > 0.

    Contacts that come to rest and stay closed are part of the motion. After impacts that accumulate on a curved wall
    derivatives are accurate to about 1e-6. Forces without `gradients.with_vjp`, masses M(q), walls that move,
    `@constraints` and theta are differentiated by differences; `EventSensitivity.differenced` names them.

    Parameters
    ----------
    problem : Motion or callable (theta) -> Motion
        The problem, as `solve_by_events` takes it; or a function that makes one of the parameters theta.
    t : float or pair of float
        End time; the motion starts at time 0. A pair (t0, t1): start and end time.
    theta : array_like, optional
        The parameters of a function `problem`: any numbers on which the problem depends smoothly.
    max_events : int, default 100000
        Largest number of events.

    Returns
    -------
    EventSensitivity
        The final state and its derivatives: `forward` (J v), `reverse` (J^T v) and `times`.

    Raises
    ------
    NoDerivative
        If contacts that belong together close at the same time, or if one closes at gap rate 0.
    SchemeRefuses
        If `solve_by_events` does not support the problem, or if contacts of rods, of `@constraints`, or of curved
        walls that move stay closed.
    UnresolvedEvent
        If an event cannot be computed safely.

    Examples
    --------
    A ball is dropped from the height theta[0] on a floor with the restitution coefficient theta[1].

    >>> import jostle as jo
    >>> def drop(theta):
    ...     law = jo.Restitution(theta[1])
    ...     return jo.Motion(q0=[theta[0]], force=[-9.81], within=jo.HalfSpace([1.0]), law=law)
    >>> found = jo.sensitivity_by_events(drop, t=0.7, theta=[1.0, 0.8])
    >>> found.reverse(q=[1.0]).theta.round(5).tolist()
    [0.19055, 1.10061]
    """
    made: Any = problem
    parameters = None if theta is None else finite(theta, "theta")
    if isinstance(problem, Motion) != (parameters is None):
        raise InvalidValue("theta= and a function problem= belong together: give both, or a jo.Motion without theta")
    if parameters is not None:
        made = made(parameters.copy())
        if not isinstance(made, Motion):
            raise InvalidValue(f"the function problem= must return a jo.Motion, not {made!r}")
    run = integrated(made, t, int(max_events))
    return _Differentiation(problem, made, parameters, run.flights, run.solution(FINISHED), start_and_end(t)).found()


class _Model:
    """A problem as functions of flat states: gaps, impacts and accelerations."""

    def __init__(self, problem: Motion, span: tuple[float, float]):
        self.problem, self.contacts = problem, SmoothContacts(problem, *span)
        self.e, self.shape = float(problem.law.number), problem.q0.shape
        self.N = problem.q0.size
        self.constant_mass = isinstance(problem.mass, Metric)
        self.diagonal = isinstance(problem.mass, Metric) and problem.mass.diagonal
        self.masses = self.N if self.diagonal else self.N**2 if self.constant_mass else 0
        """Number of parameters of the mass: those of a diagonal, or of a matrix."""
        known = problem.bodies.radii is not None
        self.bodies = max(self.contacts.linearise(span[0], problem.q0.ravel()).bodies, 1) if known else 0
        """Number of bodies with radii."""
        counts = [len(part.gaps(span[0], problem.q0)) for part in parts(problem.within)]
        common = problem.within.bodies
        shared = [
            known and isinstance(part, Balls | Line | Walls) and common.same_radii(part.bodies)
            for part in parts(problem.within)
        ]
        self.sized = np.repeat(shared, counts)
        """(m,) whether each gap depends on the radii."""

    def parameters(self, theta: Array | None) -> int:
        """The number of all parameters: masses, radii, e and theta."""
        return self.masses + self.bodies + 1 + (0 if theta is None else theta.size)

    def rows(self, t: float, q: Array, rows: Integers) -> tuple[Array, Array]:
        """(k, N) gradients and (k,) gap rates at rest of some rows."""
        return self.contacts.linearise(t, q).only(rows).G.toarray(), self.contacts.drift(t, q).rate[rows]

    def gaps(self, t: float, q: Array, rows: Integers) -> Array:
        return self.contacts.gaps(t, q)[rows]

    def rates(self, t: float, q: Array, u: Array, rows: Integers) -> Array:
        G, drift = self.rows(t, q, rows)
        return G @ u + drift

    def after(self, t: float, q: Array, u: Array, rows: Integers) -> Array:
        """The velocities after an impact in which some rows push."""
        G, drift = self.rows(t, q, rows)
        return u + (1.0 + self.e) * (equalised(u, G, -drift, self.contacts.metric(q))[0] - u)

    def radii_slopes(self, rows: Integers) -> Array:
        """(k, n) the derivative of the gaps of some rows with respect to the radii."""
        slopes = np.zeros((len(rows), self.bodies))
        for k, row in enumerate(rows):
            if self.sized[row]:
                slopes[k, [body for body in self.contacts.pairs[row] if body >= 0]] = -1.0
        return slopes

    def mass_times(self, y: Array) -> Array:
        """(N, p) the derivative of M y with respect to the parameters of the mass."""
        if self.diagonal:
            return np.diag(y)
        return np.asarray(np.kron(np.eye(self.N), y)) if self.constant_mass else np.zeros((self.N, 0))

    def mass_changes(self, given: ArrayLike | None) -> Array:
        """(p,) a change of the mass as a change of its parameters."""
        if given is None:
            return np.zeros(self.masses)
        if not self.constant_mass:
            raise InvalidValue("the mass is a function of q, and has no derivative: make it depend on theta")
        change = finite(given, "mass")
        if not self.diagonal:
            M = spread(np.eye(self.N) * change if change.ndim == 0 else change, (self.N, self.N), "mass")
            return np.asarray((M + M.T) / 2.0).ravel()
        if change.ndim == 1 and change.shape == self.shape[:1]:
            change = change.reshape(-1, *[1] * (len(self.shape) - 1))
        return spread(change, self.shape, "mass").ravel()

    def of_mass(self, d: Array) -> Array | None:
        """The gradient with respect to the mass: one number for each body, if possible; None if it is a function."""
        if not self.constant_mass:
            return None
        if not self.diagonal:
            return (d.reshape(self.N, self.N) + d.reshape(self.N, self.N).T) / 2.0
        mass, each = self.problem.mass.mass.reshape(self.shape), d.reshape(self.shape)
        inner = tuple(range(1 if len(self.shape) > 1 else 0, len(self.shape)))
        alike = bool((mass == mass.max(axis=inner, keepdims=True)).all()) if mass.size else True
        return np.asarray(each.sum(axis=inner)) if alike else each

    def of_radii(self, d: Array) -> Array | None:
        """The gradient with respect to the radii, one number for each body; None if the bodies are points."""
        if self.problem.bodies.radii is None:
            return None
        return d if len(self.shape) > 1 or len(d) > 1 else d.reshape(())


class _Differentiation:
    """The parts of a run, differentiated one after the other."""

    def __init__(
        self,
        make: Any,
        problem: Motion,
        theta: Array | None,
        flights: list[Flight],
        solution: EventSolution,
        span: tuple[float, float],
    ):
        self.model, self.theta, self.flights, self.solution, self.span = (
            _Model(problem, span),
            theta,
            flights,
            solution,
            span,
        )
        self.parts: list[_Part] = []
        self.times: list[_Time] = []
        self.weak: list[str] = []
        self.differenced: set[str] = set() if theta is None else {"theta"}
        pairs = self.model.contacts.pairs
        self.row_of = {pair: row for row, pair in enumerate(map(tuple, pairs.tolist()))}
        self.other = cache(lambda k, s: _Model(check_twin(make(self._moved(k, s)), problem), span))
        """The problem with theta[k] moved by s."""
        self.fastest = max(float(np.abs(flight.u).max(initial=0.0)) for flight in flights) or 1.0

    def found(self) -> EventSensitivity:
        """Differentiate the whole run."""
        nothing: Integers = np.zeros(0, dtype=np.int64)
        equal = np.flatnonzero(self.model.contacts.equal)
        kept, events, limits = equal, 0, 0
        self._start(equal)
        for number, flight in enumerate(self.flights):
            impacts = self.solution.events[events : flight.events]
            if len(impacts) > 1:
                raise NoDerivative(
                    f"t = {flight.t:.15g}: {len(impacts)} impacts at the same time, one after the other; neighbouring "
                    f"motions have them in another order: perturb q0 or v0"
                )
            hit = nothing
            for event in impacts:
                pushing = [self.row_of[pair] for pair in map(tuple, event.pairs.tolist())]
                hit = np.setdiff1d(pushing, kept)
            self._check_closed(number, flight, kept, hit)
            for event in impacts:
                self._hits(event, flight, kept, hit)
            if flight.accumulations > limits or number == 0:
                self._settle(flight, flight.kept)
            elif impacts and self.model.e == 0.0:  # with a small e neighbours bounce, and rest at once
                self._settle(flight, self._pressed(flight))
            kept, events, limits = flight.kept, flight.events, flight.accumulations
            self._fly(flight, self.flights[number + 1] if number + 1 < len(self.flights) else None)
        self._check_end()
        q, u = self.solution.q(self.solution.end), self.solution.u(self.solution.end)
        told = tuple(sorted(self.differenced))
        if self.weak:
            more = f" (and {len(self.weak) - 1} more)" if len(self.weak) > 1 else ""
            warn(f"{self.weak[0]}{more}; see EventSensitivity.weak", WeakContacts)
        return EventSensitivity(
            self.solution, q, u, tuple(self.weak), told, self.model, self.theta, tuple(self.parts), tuple(self.times)
        )

    # Parameters.

    def _moved(self, k: int, s: float) -> Array:
        """theta with its entry k moved by s."""
        assert self.theta is not None
        moved = self.theta.copy()
        moved.flat[k] += s
        return moved

    def _by_theta(self, of: Callable[[_Model], Array]) -> Array:
        """(r, k) the derivative with respect to theta of a vector that a problem has, by differences."""
        columns = []
        for k in range(0 if self.theta is None else self.theta.size):
            assert self.theta is not None
            step = THETA_STEP * (abs(float(self.theta.flat[k])) or 1.0)
            columns.append(extrapolated(first_differences, lambda s, k=k: of(self.other(k, s)), step))  # type: ignore[misc]
        return np.stack(columns, axis=1) if columns else np.zeros((len(of(self.model)), 0))

    def _all_parameters(self, masses: Integers) -> Integers:
        """The numbers of some parameters of the mass, and of all others."""
        return np.concatenate([masses, np.arange(self.model.masses, self.model.parameters(self.theta))])

    # The start, impacts, and contacts that come to rest.

    def _start(self, equal: Integers) -> None:
        """The start as a function of theta; equalities make it agree with them."""
        everything, first = np.arange(self.model.N), self.flights[0]
        if self.theta is not None:
            slope = self._by_theta(lambda model: np.concatenate([model.problem.q0.ravel(), model.problem.v0.ravel()]))
            count = self.model.parameters(self.theta)
            of = np.arange(count - self.theta.size, count)
            self.parts.append(_Matrix(everything, of, np.hstack([np.eye(2 * self.model.N), slope])))
        if len(equal):
            self._settle(first._replace(u=first.before), equal)

    def _check_closed(self, number: int, flight: Flight, kept: Integers, hit: Integers) -> None:
        """Refuse contacts that close at gap rate 0; report those that are closed at the start, or without a force."""
        model, (t, q) = self.model, (flight.t, flight.x)
        new = np.setdiff1d(flight.closed, np.union1d(kept, hit))
        grazing = new[model.rates(t, q, flight.before, new) <= CLOSE * self.fastest]
        if len(grazing) and number > 0 and flight.accumulations == self.flights[number - 1].accumulations:
            raise NoDerivative(
                f"t = {t:.15g}: {model.contacts.describe(int(grazing[0]))} touch at gap rate 0; some neighbouring "
                f"motions have an impact there and others have none: perturb q0 or v0"
            )
        if number == 0:
            rate = model.rates(t, q, flight.u, new)
            resting = np.setdiff1d(new[np.abs(rate) <= CLOSE * self.fastest], flight.kept)
            for row in (*hit, *resting):
                self._report(t, int(row), "are closed at the start: only starts on one side are admissible")
        loose, pressed = flight.kept[~model.contacts.equal[flight.kept]], self._pressed(flight)
        for row in loose:
            if row not in pressed:
                self._report(
                    t, int(row), "stay closed without a force: a change that opens them has another derivative"
                )
            elif model.e == 1.0:
                self._report(t, int(row), "stay closed with e = 1: neighbouring motions bounce for ever")

    def _pressed(self, flight: Flight) -> Integers:
        """The contacts, without equalities, that a force keeps closed at the start of a flight."""
        model, (t, q, kept) = self.model, (flight.t, flight.x, flight.kept)
        loose = ~model.contacts.equal[kept]
        if not loose.any():
            return kept[:0]
        a, forces = model.contacts.forced(t, q, flight.u, kept, model.contacts.bend_step(t, q, kept))
        free = model.contacts.acceleration(t, q, flight.u)
        small = CLOSE * max(np.abs(free).max(initial=0.0), np.abs(a).max(initial=0.0))
        heaviest = float(np.abs(model.contacts.metric(q).mass).max())
        return np.asarray(kept[loose & (forces / heaviest > small)])

    def _report(self, t: float, row: int, why: str) -> None:
        """Add a contact to the list of weak ones, once."""
        if len(self.weak) < 1000:
            told = f"{self.model.contacts.describe(row)} {why}"
            if not any(one.endswith(told) for one in self.weak):
                self.weak.append(f"t = {t:.15g}: {told}")

    def _hits(self, event: Event, flight: Flight, kept: Integers, hit: Integers) -> None:
        """The saltation of an impact: one for each contact, if several that are independent close at once."""
        model, t, q = self.model, flight.t, flight.x
        u, goal, scale = event.before.ravel(), event.after.ravel(), CLOSE * self.fastest
        rate = model.rates(t, q, goal, kept)
        held = kept[(np.abs(rate) <= scale) | model.contacts.equal[kept]]
        groups = self._groups(t, q, hit, held)
        if len(groups) > 1 and model.problem.constant_force is None:
            self._refuse_simultaneous(t, hit)
        a, done = self._acceleration(t, q, u, kept), held[:0]
        for number, (row, rows) in enumerate(groups):
            after, done = model.after(t, q, u, rows), np.union1d(done, rows)
            last = number == len(groups) - 1
            stays = np.union1d(np.setdiff1d(kept, done), np.intersect1d(flight.kept, done))
            b = self._acceleration(t, q, after, flight.kept if last else stays)
            self._salt(flight.events, flight, (u, after), (a, b), row, rows)
            u, a = after, b
        if np.abs(u - goal).max(initial=0.0) > np.sqrt(CLOSE) * self.fastest:
            self._refuse_simultaneous(t, hit)

    def _refuse_simultaneous(self, t: float, hit: Integers) -> None:
        names = ", and ".join(self.model.contacts.describe(int(row)) for row in hit[:3])
        raise NoDerivative(
            f"t = {t:.15g}: {names} have an impact together; neighbouring motions have these impacts one after the "
            f"other, in either order: perturb q0 or v0"
        )

    def _groups(self, t: float, q: Array, hit: Integers, held: Integers) -> list[tuple[int, Integers]]:
        """Each contact that is hit, and all that push in its impact; contacts that are hit must be independent."""
        model, rows = self.model, np.concatenate([hit, held])
        G, _ = model.rows(t, q, rows)
        M = model.contacts.metric(q)
        W = np.array([M.solve(row) for row in G]).reshape(G.shape)
        S = np.abs(G @ W.T)
        linked = CLOSE * np.sqrt(np.outer(S.diagonal(), S.diagonal())) < S
        reach = linked.copy()
        for _ in rows:
            reach = (reach.astype(float) @ linked) > 0.0
        if (reach[: len(hit), : len(hit)].sum(axis=1) > 1).any():
            self._refuse_simultaneous(t, hit)
        shares = (np.abs(G) @ np.abs(G).T > 0.0)[: len(hit)] & ~reach[: len(hit)]
        for k, j in np.argwhere(shares):  # they share a body, at a right angle: it must stay one
            if self._curved(t, q, rows[[k, j]]) or not (model.contacts.still or model.contacts.flat):
                if j < len(hit):
                    self._refuse_simultaneous(t, hit)
                self._report(t, int(rows[j]), "stay closed in an impact at a right angle to them")
        return [(int(row), np.sort(rows[reach[k]])) for k, row in enumerate(hit)]

    def _curved(self, t: float, q: Array, rows: Integers) -> bool:
        """Whether the normal of one of these rows depends on the place."""
        bend = None if self.model.contacts.flat else self.model.contacts.linearise(t, q).only(rows).bend
        return not self.model.contacts.flat and (bend is None or bool(bend.any()))

    def _hessians(self, t: float, q: Array, rows: Integers, at: Integers) -> Array:
        """(k, c, c) the second derivatives of the gaps of some rows with respect to some coordinates."""
        model = self.model
        if not self._curved(t, q, rows):
            return np.zeros((len(rows), len(at), len(at)))
        here = model.contacts.linearise(t, q)
        if here.bend is None:
            self.differenced |= {part.name for part in parts(model.problem.within) if isinstance(part, UserSet)}
            gradients = lambda x: model.contacts.linearise(t, x).only(rows).G.toarray().ravel()  # noqa: E731
            each = _slopes(gradients, q, _steps(gradients, q, LONGEST_MOVE * model.contacts.size))
            return each.reshape(len(rows), model.N, model.N)[:, at][:, :, at]
        unit = np.eye(len(here.gap))
        exact = [curvature(lambda x: model.contacts.linearise(t, x), q, unit[row]) for row in rows]
        return np.array([H[np.ix_(at, at)] for H in exact])

    def _turning(self, t: float, q: Array, rows: Integers, at: Integers) -> tuple[Array, Array]:
        """(k, c) dG/dt and (k,) d^2 g / dt^2 of some rows."""
        contacts = self.model.contacts
        if contacts.still:
            return np.zeros((len(rows), len(at))), np.zeros(len(rows))
        self.differenced.add("moving sets")
        bent = best_step(second_differences, lambda s: contacts.gaps(t + s, q)[rows], contacts.longest)
        if contacts.flat:
            return np.zeros((len(rows), len(at))), bent.value
        gradient = lambda s: contacts.linearise(t + s, q).only(rows).G.toarray()[:, at]  # noqa: E731
        return extrapolated(first_differences, gradient, bent.h), bent.value

    def _local(self, t: float, q: Array, rows: Integers, also: Array) -> Integers:
        """The coordinates that an impact of some rows reads or changes."""
        if not self.model.diagonal:
            return np.arange(self.model.N)
        G, _ = self.model.rows(t, q, rows)
        return np.flatnonzero(np.abs(G).any(axis=0) | (np.abs(also) > 0.0))

    def _salt(
        self,
        number: int,
        flight: Flight,
        velocities: tuple[Array, Array],
        accelerations: tuple[Array, Array],
        hit: int,
        rows: Integers,
    ) -> None:
        """The saltation of the impact of one contact, in which some `rows` push; a part of impact `number`, from 1."""
        model, t, q, (u, after), (a, b) = self.model, flight.t, flight.x, velocities, accelerations
        at = self._local(t, q, rows, b - a)
        c, of = len(at), self._all_parameters(at if model.diagonal else np.arange(model.masses))
        m = len(of) - (model.parameters(self.theta) - model.masses)
        e = 2 * c + m + model.bodies
        radii, theta = slice(2 * c + m, e), slice(e + 1, None)
        columns = 2 * c + len(of)
        G, drift = (v[:, at] if v.ndim == 2 else v for v in model.rows(t, q, rows))
        first = int(np.flatnonzero(rows == hit)[0])
        # when: the change of the time of the impact
        when = np.zeros(columns)
        when[:c] = G[first]
        when[radii] = model.radii_slopes(rows[[first]])[0]
        when[theta] = self._by_theta(lambda other: other.gaps(t, q, rows[[first]]))[0]
        rate = G @ u[at] + drift
        when /= -rate[first]
        dq = np.eye(c, columns) + np.outer(u[at], when)
        du = np.eye(c, columns, c) + np.outer(a[at], when)
        # the impact u+ = u - (1 + e) y, with M y = G^T p and G y = G u + dg/dt
        solve = self._solve(q, at)
        W = solve(G.T)
        inverse = np.linalg.pinv(G @ W, hermitian=True)
        p = inverse @ rate
        y = W @ p
        H, (turned, bent) = self._hessians(t, q, rows, at), self._turning(t, q, rows, at)
        pushed = np.einsum("k,kij->ij", p, H) @ dq + np.outer(turned.T @ p, when)  # dG^T p
        pushed[:, 2 * c : 2 * c + m] -= model.mass_times(self._whole(y, at))[np.ix_(at, of[:m])]
        pushed -= self._mass_slope(q, self._whole(y, at))[np.ix_(at, at)] @ dq
        rates = G @ du + (np.einsum("kij,j->ki", H, u[at] - y) + turned) @ dq  # d(G u + dg/dt) - dG y
        rates += np.outer(bent + turned @ (u[at] - y), when)
        dy = solve(pushed) + W @ (inverse @ (rates - G @ solve(pushed)))
        change = du - (1.0 + model.e) * dy
        change[:, e] -= y
        change[:, theta] += self._by_theta(lambda other: other.after(t, q, u, rows))[at]
        L = np.vstack([dq - np.outer(after[at], when), change - np.outer(b[at], when)])
        if len(self.times) < number:
            self.times.append(_Time(len(self.parts), _Matrix(at, of, when[None, :])))
        self.parts.append(_Matrix(at, of, L))

    def _settle(self, flight: Flight, rows: Integers) -> None:
        """Neighbours of a motion whose contacts come to rest have them closed as well, at gap rate 0."""
        if len(rows) == 0:
            return
        model, t, q, u = self.model, flight.t, flight.x, flight.u
        at = self._local(t, q, rows, np.zeros(model.N))
        c, of = len(at), np.arange(model.masses, model.parameters(self.theta))
        G = model.rows(t, q, rows)[0][:, at]
        W = self._solve(q, at)(G.T)
        back = W @ np.linalg.pinv(G @ W, hermitian=True)
        gaps = np.hstack(
            [
                G,
                np.zeros((len(rows), c)),
                model.radii_slopes(rows),
                np.zeros((len(rows), 1)),
                self._by_theta(lambda other: other.gaps(t, q, rows)),
            ]
        )
        dq = np.eye(c, gaps.shape[1]) - back @ gaps
        H, turned = self._hessians(t, q, rows, at), self._turning(t, q, rows, at)[0]
        rates = (np.einsum("kij,j->ki", H, u[at]) + turned) @ dq
        rates[:, c : 2 * c] += G
        rates[:, 2 * c + model.bodies + 1 :] += self._by_theta(lambda other: other.rates(t, q, u, rows))
        du = np.eye(c, gaps.shape[1], c) - back @ rates
        self.parts.append(_Matrix(at, of, np.vstack([dq, du])))

    def _solve(self, q: Array, at: Integers) -> Callable[[Array], Array]:
        """M^-1 times the columns of a matrix, for some coordinates."""
        M = self.model.contacts.metric(q)
        if M.diagonal:
            return lambda v: v / M.mass[at, None]
        return lambda v: np.asarray(M.solve(v))

    def _whole(self, y: Array, at: Integers) -> Array:
        """A vector of all coordinates with these entries."""
        whole = np.zeros(self.model.N)
        whole[at] = y
        return whole

    def _mass_slope(self, q: Array, y: Array) -> Array:
        """(N, N) the derivative of M(q) y with respect to q."""
        model = self.model
        if model.constant_mass:
            return np.zeros((model.N, model.N))
        self.differenced.add("mass")
        return _slopes(lambda x: model.contacts.metric(x).times(y), q, LONGEST_MOVE * model.contacts.size)

    def _acceleration(self, t: float, q: Array, u: Array, kept: Integers) -> Array:
        contacts = self.model.contacts
        return contacts.forced(t, q, u, kept, contacts.bend_step(t, q, kept) if len(kept) else 0.0)[0]

    # Flights.

    def _fly(self, flight: Flight, after: Flight | None) -> None:
        """The linearised motion of a flight; `after` is the next one."""
        model, t, kept = self.model, flight.t, flight.kept
        end = self.solution.end if after is None else after.t
        if end <= t:
            return
        if end - t > CLOSE * (self.solution.end - self.solution.start):
            self._check_approaches(flight, end)
        straight = len(kept) == 0 or (model.contacts.still and not self._curved(t, flight.x, kept))
        if not (straight and model.diagonal and model.problem.constant_force is not None):
            self.parts.append(self._integrated(flight, end))
            return
        G = model.rows(t, flight.x, kept)[0] if len(kept) else np.zeros((0, model.N))
        inverse = np.asarray(np.linalg.pinv(G @ self._solve(flight.x, np.arange(model.N))(G.T), hermitian=True))
        slope = self._by_theta(lambda other: other.contacts.forced(t, flight.x, flight.u, kept, 1.0)[0])
        a = model.contacts.forced(t, flight.x, flight.u, kept, 1.0)[0]
        length, pull = end - t, float(a @ a)
        if after is not None and pull > 0.0 and np.abs(after.before).max() < max(abs(t), abs(end)) * np.sqrt(pull):
            length = float((after.before - flight.u) @ a) / pull  # less round-off than the difference of two times
        self.parts.append(_Parabola(length, a, model.problem.mass.mass, G, inverse, slope))

    def _integrated(self, flight: Flight, end: float) -> _Matrix:
        """The linearised motion of a flight, integrated along it."""
        from scipy.integrate import solve_ivp

        model, t, kept, N = self.model, flight.t, flight.kept, self.model.N
        state, contacts, masses = self._path(t, end), model.contacts, model.masses
        step = contacts.bend_step(t, flight.x, kept) if len(kept) else 0.0
        slopes = self._slopes_along(flight, end, state)

        def derivative(s: float, y: Array) -> Array:
            q, u = state(s)
            z, d = y.reshape(2, N, -1), np.zeros((N, y.size // (2 * N)))
            a, forces = contacts.forced(s, q, u, kept, step)
            of_q, of_u = slopes(s, q, u, a, forces)
            d[:, 2 * N : 2 * N + masses] = -self._across(s, q, kept, model.mass_times(a))
            d[:, 2 * N + masses :] = self._by_theta(lambda other: other.contacts.forced(s, q, u, kept, step)[0])
            return np.concatenate([z[1].ravel(), (d + of_q @ z[0] + of_u @ z[1]).ravel()])

        theta = 0 if self.theta is None else self.theta.size
        start = np.eye(2 * N, 2 * N + masses + theta)
        length, speed = contacts.size, max(self.fastest, contacts.size / (end - t))
        given: Array = np.zeros(0) if self.theta is None else np.abs(self.theta).ravel()
        of_mass = np.full(masses, np.abs(contacts.metric(flight.x).mass).max(initial=0.0))
        columns = np.concatenate([np.full(N, length), np.full(N, speed), of_mass, given])
        columns[columns == 0.0] = 1.0
        sizes = np.repeat([length, speed], N)[:, None] / columns
        tolerances = {"rtol": VARIATION_TOLERANCE, "atol": VARIATION_TOLERANCE * sizes.ravel()}
        found = solve_ivp(derivative, (t, end), start.ravel(), method="DOP853", **tolerances)
        if not found.success:
            raise NoDerivative(f"t = {t:.15g}: the linearised motion cannot be integrated: {found.message}")
        count = model.parameters(self.theta)
        of = np.concatenate([np.arange(masses), np.arange(count - theta, count)])
        return _Matrix(np.arange(N), of, found.y[:, -1].reshape(start.shape))

    def _slopes_along(self, flight: Flight, end: float, state: Any) -> Callable[..., tuple[Array, Array]]:
        """The derivatives (N, N) of the acceleration with respect to q and to u, as functions of the state."""
        model, kept, contacts, N = self.model, flight.kept, self.model.contacts, self.model.N
        self._check_known(flight)
        given, constant = model.problem._given, model.problem.constant_force is not None
        products = Slopes(model.problem.force, given, True, 0.0) if isinstance(given, WithDerivative) else None

        def force(t: float, q: Array, u: Array) -> Array:
            return model.problem.force(t, q.reshape(model.shape), u.reshape(model.shape)).ravel()

        if products is None and not constant:
            self.differenced.add("force")
            middle = 0.5 * (flight.t + end)
            q, u = state(middle)
            steps_q = _steps(lambda x: force(middle, x, u), q, LONGEST_MOVE * contacts.size)
            steps_u = _steps(lambda v: force(middle, q, v), u, LONGEST_MOVE * self.fastest)

        def slopes(t: float, q: Array, u: Array, a: Array, forces: Array) -> tuple[Array, Array]:
            if constant:
                of_q, of_u = np.zeros((N, N)), np.zeros((N, N))
            elif products is not None:
                shaped = q.reshape(model.shape), u.reshape(model.shape)
                rows = [products.reverse(t, *shaped, y.reshape(model.shape)) for y in np.eye(N)]
                of_q, of_u = (np.array([row[k].ravel() for row in rows]) for k in (0, 1))
            else:
                of_q = _slopes(lambda x: force(t, x, u), q, steps_q)
                of_u = _slopes(lambda v: force(t, q, v), u, steps_u)
            of_q = of_q - self._mass_slope(q, a)
            if len(kept) == 0:
                return self._across(t, q, kept, of_q), self._across(t, q, kept, of_u)
            # M da = df + dG^T p + G^T dp and G da = -dG a - db, with b = u . H u
            H, everything = self._hessians(t, q, kept, np.arange(N)), np.arange(N)
            of_q = of_q + np.einsum("k,kij->ij", forces, H)
            bent = np.einsum("kij,j->ki", H, a) + self._bend_slopes(t, q, u, kept)
            G, solve = model.rows(t, q, kept)[0], self._solve(q, everything)
            W = solve(G.T)
            back = W @ np.linalg.pinv(G @ W, hermitian=True)
            turned = 2.0 * np.einsum("kij,j->ki", H, u)
            return self._across(t, q, kept, of_q) - back @ bent, self._across(t, q, kept, of_u) - back @ turned

        return slopes

    def _check_known(self, flight: Flight) -> None:
        """Refuse contacts that stay closed if it is not known how their normals turn."""
        model, t, q, kept = self.model, flight.t, flight.x, flight.kept
        if len(kept) == 0:
            return
        bend = model.contacts.linearise(t, q).bend
        turned = self._turning(t, q, kept, np.arange(model.N))[0]
        if bend is None or (not model.contacts.still and (bend[kept].any() or turned.any())):
            raise SchemeRefuses(
                f"sensitivity_by_events does not support contacts that stay closed in rods, @constraints, and curved "
                f"or turning walls that move: {model.contacts.describe(int(kept[0]))} at t = {t:.15g}"
            )

    def _bend_slopes(self, t: float, q: Array, u: Array, rows: Integers) -> Array:
        """(k, N) the derivative of u . H u with respect to q, for gaps that are distances."""
        # with the relative velocity w and H = b (I - n n^T) it is b^2 (3 (n.w)^2 n - |w|^2 n - 2 (n.w) w)
        here = self.model.contacts.linearise(t, q).only(rows)
        assert here.bend is not None
        each, G = u.reshape(here.bodies, -1), here.G.toarray().reshape(len(rows), here.bodies, -1)
        found = np.zeros_like(G)
        for k, (i, j) in enumerate(here.pairs.tolist()):
            n, w = G[k, i], each[i] - (each[j] if j >= 0 else 0.0)
            along = float(n @ w)
            slope = here.bend[k] ** 2 * (3.0 * along**2 * n - (w @ w) * n - 2.0 * along * w)
            found[k, i] += slope
            if j >= 0:
                found[k, j] -= slope
        return found.reshape(len(rows), -1)

    def _across(self, t: float, q: Array, kept: Integers, F: Array) -> Array:
        """The accelerations by forces, the columns of F, with the forces that keep some rows closed."""
        solve = self._solve(q, np.arange(self.model.N))
        if len(kept) == 0:
            return solve(F)
        G = self.model.rows(t, q, kept)[0]
        W = solve(G.T)
        return solve(F) - W @ (np.linalg.pinv(G @ W, hermitian=True) @ (G @ solve(F)))

    def _path(self, start: float, end: float) -> Callable[[float], tuple[Array, Array]]:
        """The state during one flight, up to the velocities before the impact at its end."""
        sol = self.solution
        first = int(np.searchsorted(sol.starts, start, side="right")) - 1
        last = max(int(np.searchsorted(sol.starts, end, side="left")) - 1, first)

        def state(t: float) -> tuple[Array, Array]:
            k = min(max(int(np.searchsorted(sol.starts, t, side="right")) - 1, first), last)
            x, u, a = sol.parabolas[k]
            s = t - sol.starts[k]
            if not sol.pieces:
                return x + s * u + 0.5 * s * s * a, u + s * a
            moved = sol.pieces[k].y(t).reshape(2, -1)
            return x + moved[0], moved[1]

        return state

    # Contacts that almost close.

    def _check_approaches(self, flight: Flight, end: float) -> None:
        """Report contacts whose gap falls to zero during a flight and rises again."""
        from scipy.optimize import minimize_scalar

        contacts, state = self.model.contacts, self._path(flight.t, end)
        count = len(contacts.pairs)
        if count == 0:
            return
        small = CLOSE * contacts.sizes(contacts.linearise(flight.t, flight.x), flight.x)
        times = np.linspace(flight.t, end, SAMPLES)
        g = np.array([contacts.gaps(t, state(t)[0]) for t in times])
        dips = (g[1:-1] <= g[:-2]) & (g[1:-1] <= g[2:])
        dips &= g.max(axis=0) > 100.0 * small  # not in the last bounces of an accumulation
        dips &= g[1:-1] <= np.abs(g[:-2] + g[2:] - 2.0 * g[1:-1]) + small
        dips[:, np.union1d(flight.kept, np.flatnonzero(contacts.equal))] = False
        after = [flight.closed for flight in self.flights if flight.t == end]
        dips[0, flight.closed] = dips[-1, np.concatenate([flight.closed[:0], *after])] = False
        for k, row in np.argwhere(dips):
            low = minimize_scalar(
                lambda t, row=row: float(contacts.gaps(t, state(t)[0])[row]),
                bounds=(times[k], times[k + 2]), method="bounded", options={"xatol": 1e-12 * (end - flight.t)},
            )  # fmt: skip
            if low.fun <= small[row]:
                self._report(float(low.x), int(row), "touch and do not push: some neighbouring motions have an impact")

    def _check_end(self) -> None:
        """Report contacts that close at the end time."""
        contacts, last = self.model.contacts, self.flights[-1]
        q = self.solution.q(self.solution.end).ravel()
        here = contacts.linearise(self.solution.end, q)
        closed = np.flatnonzero(here.gap <= CLOSE * contacts.sizes(here, q))
        for row in np.setdiff1d(closed, np.union1d(last.kept, np.flatnonzero(contacts.equal))):
            self._report(self.solution.end, int(row), "are closed at the end time")


def _steps(f: Callable[[Array], Array], x: Array, longest: float) -> Array:
    """(N,) the best difference step of a function of x along each coordinate."""
    axes = np.eye(len(x))
    found = [best_step(first_differences, lambda s, k=k: f(x + s * axes[k]), longest) for k in range(len(x))]  # type: ignore[misc]
    return np.array([each.h for each in found])


def _slopes(f: Callable[[Array], Array], x: Array, steps: Any) -> Array:
    """(r, N) the derivative of a function of x by differences along each coordinate."""
    axes: Iterable[Array] = np.eye(len(x))
    each = np.broadcast_to(steps, x.shape)
    return np.stack(
        [extrapolated(first_differences, lambda s, k=k: f(x + s * k), h) for k, h in zip(axes, each, strict=True)],  # type: ignore[misc]
        axis=1,
    )
