"""Derivatives of the runs of `solve_by_events`, forwards and backwards.

Every part of a run, an impact or a flight, is a matrix on few coordinates; `saltation` finds them. `forward` multiplies
by them in order, `reverse` by their transposes in the opposite order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, check_arguments
from jostle._tools.arrays import Array, Integers, finite
from jostle.errors import InvalidValue, WeakContacts, warn
from jostle.events.accumulations import MAX_PERIOD
from jostle.events.solution import Event, EventSolution
from jostle.events.solve import integrated
from jostle.gradients.functions import spread
from jostle.gradients.runs import Gradient
from jostle.gradients.saltation import Differentiation, Matrix, Model, Part
from jostle.problems import Motion
from jostle.result.status import FINISHED
from jostle.run.steps import Span, start_and_end


@dataclass(frozen=True, eq=False, repr=False)
class EventSensitivity:
    """The derivatives of the states of a run of `solve_by_events`; made by `sensitivity_by_events`.

    They are those of the final state. `at` returns those at other times, from the same run.

    Attributes
    ----------
    solution : EventSolution
        The run.
    t : array
        The times: the end of the run, or those that were given to `at`.
    q : array
        Positions at these times, in the shape of t followed by that of q0.
    u : array
        Velocities at these times, in the same shape.
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
    t: Array
    q: Array
    u: Array
    weak: tuple[str, ...]
    differenced: tuple[str, ...]
    _model: Model
    _parts: tuple[Part, ...]
    _times: Mapping[int, Matrix]

    def __repr__(self) -> str:
        weak = f", weak: {len(self.weak)}" if self.weak else ""
        return f"EventSensitivity({len(self.solution.events)} impacts, t = {self.solution.end:g}{weak})"

    def at(self, t: ArrayLike) -> EventSensitivity:
        """The derivatives of the states at other times.

        All of them come from one run: `forward` returns the changes at all times, and `reverse` the gradient of a
        function of all these states, in one pass.

        Parameters
        ----------
        t : float or array_like
            Times from start to end. At the time of an impact, derivatives are those after it.

        Returns
        -------
        EventSensitivity
            The same run, with other times.

        Examples
        --------
        >>> import jostle as jo
        >>> ball = jo.Motion(q0=[1.0], force=[-9.81], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.8))
        >>> found = jo.sensitivity_by_events(ball, t=1.5).at([0.3, 0.7, 1.5])
        >>> found.forward(q0=[1.0])[0].ravel().round(8).tolist()
        [1.0, 0.19055156, 0.67555601]
        """
        times = finite(t, "t")
        return replace(self, t=times, q=self.solution.q(times), u=self.solution.u(times))

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
        """How the state changes with small changes of the arguments (J v).

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
            Changes of the positions and velocities, in the shapes of `EventSensitivity.q` and `u`.
        """
        q, u = np.moveaxis(
            self._along(*self._changes(q0, v0, mass, radii, theta, e)).reshape(-1, 2, self._model.N), 1, 0
        )
        return q.reshape(self.q.shape), u.reshape(self.q.shape)

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
        found = []
        for number, part in enumerate(self._parts):
            if number in self._times:
                found.append(self._times[number].product(z, d).item())
            z = part.forward(z, d)
        impacts = np.array(found)
        events = self.solution.events
        ends = [sum(event.t <= limit.t for event in events) for limit in self.solution.accumulations]
        return impacts, np.array([_limit(events[:end], impacts[:end]) for end in ends])

    def reverse(self, *, q: ArrayLike | None = None, u: ArrayLike | None = None) -> Gradient:
        """The gradient of a function of the state with respect to everything (J^T v).

        Parameters
        ----------
        q : array_like, optional
            Gradient of the function with respect to the positions, at all times. None: 0.
        u : array_like, optional
            Gradient of the function with respect to the velocities. None: 0.

        Returns
        -------
        Gradient
            Gradients with respect to q0, v0, mass, radii, theta and e.
        """
        model = self._model
        weights = [spread(v, self.q.shape, name).reshape(-1, model.N) for v, name in ((q, "q"), (u, "u"))]
        w, d = np.concatenate(weights, axis=1)[:, :, None], np.zeros((model.parameters, 1))
        inside = self._inside()
        z = w[inside == len(self._parts)].sum(axis=0)
        for number in range(len(self._parts) - 1, -1, -1):
            part = self._parts[number]
            z = part.reverse(z, d)
            if not isinstance(part, Matrix) and (inside == number).any():
                z = z + part.back(self.t.ravel()[inside == number], w[inside == number], d)
        m, n = model.masses, model.bodies
        q0, v0 = z.reshape(2, *model.shape)
        theta = None if model.theta is None else d[m + n + 1 :].reshape(model.theta.shape)
        return Gradient(q0, v0, model.of_mass(d[:m, 0]), model.of_radii(d[m : m + n, 0]), theta, float(d[m + n, 0]))

    @property
    def derivative(self) -> Array:
        """(..., 2 N, 2 N): the derivative of the positions and velocities with respect to those at the start.

        If the final state is the same as that at the start, its eigenvalues are the Floquet multipliers.
        """
        z = np.eye(2 * self._model.N)
        found = self._along(z, np.zeros((self._model.parameters, len(z))))
        return found.reshape(*self.t.shape, *z.shape)

    def _inside(self) -> Integers:
        """(k,) in which part, a flight, each time is; the number of all parts for the end."""
        times = self.t.ravel()
        inside = np.full(len(times), len(self._parts))
        for number, part in enumerate(self._parts):
            if not isinstance(part, Matrix):
                inside[(times >= part.start) & (times < self.solution.end)] = number  # later flights come after it
        return inside

    def _along(self, z: Array, d: Array) -> Array:
        """(k, 2 N, c) the changes at all times by changes (2 N, c) of the start, and d (p, c) of all parameters."""
        inside = self._inside()
        found = np.empty((len(inside), *z.shape))
        for number, part in enumerate(self._parts):
            if not isinstance(part, Matrix) and (inside == number).any():
                found[inside == number] = part.along(self.t.ravel()[inside == number], z, d)
            z = part.forward(z, d)
        found[inside == len(self._parts)] = z
        return found

    def _changes(self, q0: Any, v0: Any, mass: Any, radii: Any, theta: Any, e: Any) -> tuple[Array, Array]:
        """The changes of the start (2 N, 1), and of all parameters (p, 1)."""
        model, shape = self._model, self._model.shape
        if theta is not None and model.theta is None:
            raise InvalidValue("there is no theta: give problem= as a function of theta, and theta=")
        if radii is not None and model.bodies == 0:
            raise InvalidValue("the bodies are points: leave out radii")
        start = [spread(given, shape, name).ravel() for given, name in ((q0, "q0"), (v0, "v0"))]
        d = [
            model.mass_changes(mass),
            spread(radii, (model.bodies,), "radii"),
            spread(e, (1,), "e"),
            np.zeros(0) if model.theta is None else spread(theta, model.theta.shape, "theta").ravel(),
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
    """Differentiate the states of `solve_by_events` with all impacts: the final state, and those at other times.

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
        The parameters of a function `problem`: any numbers on which the problem depends smoothly. They may be at the
        end of their range, such as a restitution of 1.
    max_events : int, default 100000
        Largest number of events.

    Returns
    -------
    EventSensitivity
        The final state and its derivatives: `forward` (J v), `reverse` (J^T v) and `times`; `at` for other times.

    Raises
    ------
    NoDerivative
        If contacts that belong together close at the same time, or if one only grazes: if it closes at gap rate 0, or
        if round-off decides whether it does.
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
    solution = run.solution(FINISHED)
    found = Differentiation(problem, made, parameters, run.flights, solution, start_and_end(t))
    weak, differenced = tuple(found.weak), tuple(sorted(found.differenced))
    if weak:
        more = f" (and {len(weak) - 1} more)" if len(weak) > 1 else ""
        warn(f"{weak[0]}{more}; see EventSensitivity.weak", WeakContacts)
    end = np.array(solution.end)
    q, u = solution.q(end), solution.u(end)
    return EventSensitivity(solution, end, q, u, weak, differenced, found.model, tuple(found.parts), found.times)
