"""The derivative of a run in time steps: of `Maury`, `Venel` and `CatchingUp`.

The forward mode takes the changes of a state from the first step to the last one, the reverse mode goes back; `steps`
has the derivative of each step. `rounded` finds the events at which this derivative of the run is not that of the
motion, whatever h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, check_arguments
from jostle._tools.arrays import Array, finite
from jostle._tools.of_run import new_run
from jostle.errors import InvalidValue, RoundedEvents, WeakContacts, warn
from jostle.gradients.functions import spread
from jostle.gradients.projection import by_bodies
from jostle.gradients.rounded import Rounded, RoundedEvent
from jostle.gradients.steps import Change, Run, Step, Sums
from jostle.problems import Motion, Sweeping
from jostle.run.steps import Grid, Span
from jostle.schemes.base import Scheme
from jostle.schemes.state import State
from jostle.sets.user import differences_of

MAX_KEPT_BYTES = 2**28
"""All steps of a run are kept, and none is run again, if they take no more memory than this."""
FIXED_BYTES = 2**14
"""Memory of a step without its arrays."""


class Gradient(NamedTuple):
    """The gradient of a number that depends on the end of a run, with respect to everything that the run depends on.

    Attributes
    ----------
    q0 : array
        Derivative with respect to the positions at the start.
    v0 : array
        Derivative with respect to the velocities at the start; zeros for `Sweeping`.
    mass : array or None
        Derivative with respect to the mass of each body, shape (n,), or () for one body; in the shape of q0 if the
        coordinates of a body have different masses; shape (N, N) for a matrix; None if the mass is a function of q.
    radii : array or None
        Derivative with respect to the radius of each body, shape (n,), or () for one body; None if bodies are points.
        If radii depend on time, it is that of a number that is added to them at all times.
    theta : array or None
        Derivative with respect to the parameters theta, in their shape; None if there are none.
    e : float or None
        Derivative with respect to the restitution coefficient, by `sensitivity_by_events`; None for runs in time steps.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], v0=[-1.0], mass=2.0)
    >>> jo.sensitivity(ball, jo.Maury(), t=0.5, h=0.1).reverse(q=[1.0]).v0.round(12).tolist()
    [0.5]
    """

    q0: Array
    v0: Array
    mass: Array | None
    radii: Array | None
    theta: Array | None
    e: float | None = None


class WeakStep(NamedTuple):
    """A step at which a run has one-sided derivatives only.

    Attributes
    ----------
    step : int
        Number of the step, from 1 on.
    t : float
        Time that the step leads to.
    contacts : tuple of str
        Constraints that touch and do not push: the least change opens them, or makes them push.

    Examples
    --------
    >>> import jostle as jo
    >>> jo.gradients.WeakStep(3, 0.3, ("balls 0 and 1",)).contacts
    ('balls 0 and 1',)
    """

    step: int
    t: float
    contacts: tuple[str, ...]


class Tape:
    """All steps of a run: kept, or run again from stored states."""

    def __init__(self, run: Run, grid: Grid, checkpoints: int | None):
        self.run, self.steps = run, list(grid.after(0))
        count, own = grid.count, differences_of(run.problem.within)
        state = run.scheme.start(run.problem, grid.start)
        self.stride = max(1, -(-count // (checkpoints or max(isqrt(count), 1))))
        self.starts: list[tuple[State, Any]] = []
        """The states before every `stride` steps, and what the admissible set remembered then."""
        self.kept: list[Step] | None = [] if checkpoints is None or checkpoints >= count else None
        self.doubtful, rounded, room = False, Rounded(), MAX_KEPT_BYTES if checkpoints is None else np.inf
        farthest, fastest = (float(np.abs(v).max(initial=0.0)) for v in (state.q, state.u))
        for number, (t, h, _) in enumerate(self.steps):
            if number % self.stride == 0:
                self.starts.append((state, [one.memory for one in own]))
            step, state = run.step(state, h, t)
            rounded.see(number + 1, step)
            self.doubtful = self.doubtful or len(step.weak) > 0 or step.saddle.dependent
            if self.kept is not None:
                room -= 8 * (10 * state.q.size + (state.q[:1].size + 8) * len(step.contacts.gap)) + FIXED_BYTES
                self.kept.append(step)
                self.kept = self.kept if room > 0 else None
            farthest = max(farthest, float(np.abs(state.q).max(initial=0.0)))
            fastest = max(fastest, float(np.abs(state.u).max(initial=0.0)))
        self.end, self.rounded = state, tuple(rounded.found)
        run.slopes.varies_over(farthest, fastest, sum(h for _, h, _ in self.steps))

    def block(self, first: int) -> list[Step]:
        """The steps from one stored state to the next."""
        if self.kept is not None:
            return self.kept[first : first + self.stride]
        run, found = self.run, []
        state, remembered = self.starts[first // self.stride]
        with new_run():
            for one, memory in zip(differences_of(run.problem.within), remembered, strict=True):
                one.restore(memory)
            for t, h, _ in self.steps[first : first + self.stride]:
                step, state = run.step(state, h, t)
                found.append(step)
        return found

    def forwards(self) -> Iterator[Step]:
        """All steps, from the first one to the last."""
        for first in range(0, len(self.steps), self.stride):
            yield from self.block(first)

    def backwards(self) -> Iterator[Step]:
        """All steps, from the last one to the first."""
        for first in reversed(range(0, len(self.steps), self.stride)):
            yield from reversed(self.block(first))

    def examined(self) -> tuple[tuple[WeakStep, ...], tuple[int, ...]]:
        """The steps with weak rows that open or push for a random change of all data, and those that are ambiguous.

        Bodies that stick together after an impact touch and do not push. No change of the data opens such a contact or
        makes it push, because the impact keeps them together.
        """
        if not self.doubtful:
            return (), ()
        run, q, rng = self.run, self.end.q, np.random.default_rng(0)
        length = run.length or float(np.abs(q).max(initial=0.0)) or 1.0
        dq, du = length * rng.standard_normal((2, q.size))
        mass = rng.standard_normal(len(q) if q.ndim > 1 else 1)
        radii = length * rng.standard_normal(run.bodies) if run.sized else None
        theta = rng.standard_normal(len(run.twins)) if run.twins else None
        change, largest = Change(mass if run.metric.diagonal else None, radii, theta), 0.0
        weak, dependent = [], []
        for number, step in enumerate(self.forwards(), start=1):
            largest = max(largest, float(np.abs(dq).max()))
            before, (dq, du) = dq, step.forward(dq, du, change)
            if len(step.weak):
                opening = step.weak[step.opens(before, dq, du, change, largest)]
                if len(opening):
                    names = tuple(step.contacts.describe(row) for row in opening.tolist())
                    weak.append(WeakStep(number, self.steps[number - 1].t, names))
            if step.saddle.dependent and step.is_ambiguous(before, dq, change, rng):
                dependent.append(number)
        return tuple(weak), tuple(dependent)


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity:
    """The end of a run and its derivative, made by `sensitivity`.

    Attributes
    ----------
    q : array
        Positions at the end, in the shape of q0.
    u : array
        Velocities at the end.
    weak : tuple of WeakStep
        Steps at which constraints touch and do not push. The run has one-sided derivatives only there; `forward` and
        `reverse` take these constraints as open.
    rounded : tuple of RoundedEvent
        Events whose times the run rounds to a step: contacts that are lost while they press or right after an impact,
        and impacts on bodies that curved contacts hold. The derivative of the run does not tend to that of the motion
        there, whatever h.
    dependent : tuple of int
        Numbers of the steps in which the derivative depends on the choice of the multipliers, as it can in a regular
        packing, whose contacts depend on each other. Derivatives with respect to velocities and masses are exact there,
        those with respect to positions and radii are not unique. More than 64 active rows count as dependent only if
        they are more than the coordinates of their bodies.
    differenced : tuple of str
        What was differentiated by central differences: the force, constraints, theta.

    Examples
    --------
    >>> import jostle as jo
    >>> point = jo.Motion(q0=[0.3, 3.0], force=[0.0, -10.0], within=jo.Outside([0.0, 0.0], 2.0))
    >>> run = jo.sensitivity(point, jo.Maury(), t=1.0, h=1e-3)
    >>> dq, du = run.forward(q0=[1.0, 0.0])
    >>> dq.round(2).tolist()                     # the exact derivative is (2.924, -1.643)
    [2.93, -1.65]
    """

    q: Array
    u: Array
    weak: tuple[WeakStep, ...]
    rounded: tuple[RoundedEvent, ...]
    dependent: tuple[int, ...]
    differenced: tuple[str, ...]
    _tape: Tape

    def __repr__(self) -> str:
        return f"Sensitivity(steps: {len(self._tape.steps)}, weak: {len(self.weak)}, rounded: {len(self.rounded)})"

    def forward(
        self,
        *,
        q0: ArrayLike | None = None,
        v0: ArrayLike | None = None,
        mass: ArrayLike | None = None,
        radii: ArrayLike | None = None,
        theta: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """The changes of q and u at the end for small changes of the data, J v.

        Parameters
        ----------
        q0 : array_like, optional
            Change of the positions at the start. None, here and below: no change.
        v0 : array_like, optional
            Change of the velocities at the start.
        mass : float or array_like, optional
            Change of the mass, in one of the forms in which a mass is given.
        radii : float or array_like, shape (n,), optional
            Change of the radii.
        theta : array_like, optional
            Change of the parameters.

        Returns
        -------
        q, u : array
            Changes of the positions and velocities at the end.

        Examples
        --------
        >>> import jostle as jo
        >>> play = jo.Sweeping(q0=[0.03], within=jo.Box(lambda t: t - 0.5, lambda t: t + 0.5))
        >>> jo.sensitivity(play, jo.CatchingUp(), t=2.0, h=0.1).forward(q0=[1.0])[0].tolist()     # it was pushed
        [0.0]
        """
        run, shape = self._tape.run, self.q.shape
        dq, du = (spread(way, shape, name).ravel() for way, name in ((q0, "q0"), (v0, "v0")))
        if radii is not None and not run.sized:
            raise InvalidValue("the bodies are points: leave out radii")
        each = None
        if theta is not None:
            if run.theta is None:
                raise InvalidValue("the run has no theta: give sensitivity a function theta -> problem, and theta=")
            each = spread(theta, run.theta.shape, "theta").ravel()
            for size, (ahead, behind, width) in zip(each, run.twins, strict=True):
                dq = dq + size * (ahead.q0 - behind.q0).ravel() / width
                if isinstance(ahead, Motion):
                    du = du + size * (ahead.v0 - behind.v0).ravel() / width
        sizes = None if radii is None else spread(radii, (run.bodies,), "radii")
        masses = None if mass is None else finite(mass, "mass")
        if masses is not None and masses.shape == 2 * (self.q.size,) != shape:
            masses = (masses + masses.T) / 2.0
        change = Change(masses, sizes, each)
        for step in self._tape.forwards():
            dq, du = step.forward(dq, du, change)
        return dq.reshape(shape), du.reshape(shape)

    def reverse(self, *, q: ArrayLike | None = None, u: ArrayLike | None = None) -> Gradient:
        """The gradient of <q, q(end)> + <u, u(end)> with respect to all data, J^T v.

        Parameters
        ----------
        q : array_like, optional
            Weights of the positions at the end, such as the derivative of a loss. None: zeros.
        u : array_like, optional
            Weights of the velocities at the end. None: zeros.

        Returns
        -------
        Gradient
            Derivatives with respect to q0, v0, masses, radii and theta.

        Examples
        --------
        >>> import jostle as jo
        >>> pair = jo.Motion(q0=[[0.0], [0.973]], v0=[[1.0], [0.0]], within=jo.Balls([0.2, 0.2]))   # e = 0
        >>> run = jo.sensitivity(pair, jo.Maury(), t=1.0, h=0.01)
        >>> run.reverse(u=[[0.0], [1.0]]).v0.round(12).tolist()                   # they go on together
        [[0.5], [0.5]]
        """
        run, shape = self._tape.run, self.q.shape
        of_q, of_u = (spread(way, shape, name).ravel() for way, name in ((q, "q"), (u, "u")))
        sums = Sums(run)
        for step in self._tape.backwards():
            of_q, of_u = step.reverse(of_q, of_u, sums)
        motion = isinstance(run.problem, Motion)
        if not motion:
            of_u = np.zeros_like(of_u)
        for k, (ahead, behind, width) in enumerate(run.twins):
            sums.theta[k] += of_q @ (ahead.q0 - behind.q0).ravel() / width
            if motion:
                sums.theta[k] += of_u @ (ahead.v0 - behind.v0).ravel() / width
        one = len(shape) < 2
        return Gradient(
            of_q.reshape(shape),
            of_u.reshape(shape),
            by_bodies(sums.mass, run.metric, shape) if run.metric.diagonal else sums.mass,
            None if not run.sized else sums.radii.reshape(() if one and run.bodies == 1 else (run.bodies,)),
            None if run.theta is None else sums.theta.reshape(run.theta.shape),
        )


def _more_steps(number: int) -> str:
    """How many steps follow the first one of a list of this length, in words."""
    return "" if number == 1 else f" (and in {number - 1} more)"


@check_arguments
def sensitivity(
    problem: Motion | Sweeping | Callable[..., Any],
    scheme: Scheme,
    *,
    t: Span,
    h: float | ArrayLike,
    theta: ArrayLike | None = None,
    checkpoints: Count | None = None,
) -> Sensitivity:
    """Run a problem with `Maury`, `Venel` or `CatchingUp`, and differentiate its end with respect to all data.

    The derivative is that of the run in time steps, and is exact up to round-off. With respect to q0, v0, masses and
    radii it is exact for any number of bodies. Other parameters are entries of `theta`.

    As h tends to 0, it tends to the derivative of the motion if each contact, once closed, lasts until its force has
    died. It does not, whatever h, where a contact is lost that still presses (a ball slides over the edge of a table, a
    wall stops, another body lifts it off), and with `Maury` neither where a contact is lost right after its impact
    (balls that collide obliquely) nor where an impact moves bodies that rods or curved contacts hold. The run rounds
    the times of these events to a step; `Sensitivity.rounded` lists them. A force that jumps has the same effect and
    is not reported.

    The run is that of `solve`, but its projections are exact: an active-set iteration improves them to round-off (those
    of `CatchingUp` are solved to 1e-10). A contact counts as weak if it pushes and is open by less than 1e-11 of
    the largest change that contacts make in the step, or by less than round-off.

    Parameters
    ----------
    problem : Motion, Sweeping, or callable (theta) -> Motion or Sweeping
        The problem; or a function of a few parameters that returns it: forces, positions of walls, anything.
    scheme : Maury, Venel or CatchingUp
        The time-stepping scheme; its solver must have a tolerance of at most 1e-8.
    t : float or (float, float)
        End time, or start time and end time.
    h : float or array_like
        Time step; or all time steps, one after the other.
    theta : array_like, optional
        The parameters at which the function is differentiated, by central differences of the data of each step.
    checkpoints : int, optional
        Number of states that are stored; the steps between two of them are run again, with the same bits, when a
        product is asked for. None: all steps are kept if they take less than 256 MB; otherwise as many states as the
        square root of the number of steps.

    Returns
    -------
    Sensitivity
        The end of the run, its weak contacts, and products with the derivative.

    Raises
    ------
    SchemeRefuses
        If the scheme has no derivative that converges, or the problem has friction, a `StiffForce`, or bodies that come
        and go.

    Warns
    -----
    RoundedEvents
        If the run rounds the time of an event to a step, so that its derivative is not that of the motion.
    WeakContacts
        If contacts touch and do not push in a step: only one-sided derivatives exist there; or if active contacts
        depend on each other, so that the derivative is not unique.

    Examples
    --------
    A point slides over a ball; where it ends depends on the radius of the ball.

    >>> import jostle as jo
    >>> def slide(theta):
    ...     return jo.Sweeping(q0=[-2.0, 0.1], velocity=[1.0, 0.0], within=jo.Outside([0.0, 0.0], theta[0]))
    >>> run = jo.sensitivity(slide, jo.Venel(), t=5.0, h=0.01, theta=[1.0])
    >>> run.q.round(2).tolist(), run.reverse(q=[0.0, 1.0]).theta.round(2).tolist()
    ([0.99, 1.0], [1.0])
    """
    if not isinstance(scheme, Scheme):
        raise InvalidValue(f"scheme must be an object such as jo.Maury(), with parentheses, not {scheme!r}")
    if theta is None and not isinstance(problem, Motion | Sweeping):
        raise InvalidValue("problem is a function of theta: give theta=, the parameters at which it is differentiated")
    if theta is not None and isinstance(problem, Motion | Sweeping):
        raise InvalidValue("theta needs a problem that depends on it: give a function theta -> problem")
    run = Run(problem, scheme, None if theta is None else finite(theta, "theta"))
    with new_run():
        tape = Tape(run, Grid.of(t, h), checkpoints)
    weak, dependent = tape.examined()
    _warn_of(weak, tape.rounded, dependent)
    return Sensitivity(tape.end.q, tape.end.u, weak, tape.rounded, dependent, run.differenced, tape)


def _warn_of(weak: tuple[WeakStep, ...], rounded: tuple[RoundedEvent, ...], dependent: tuple[int, ...]) -> None:
    """Warn of steps without a derivative, and of those that the motion has another one for."""
    if rounded:
        first, more = rounded[0], f" (and {len(rounded) - 1} more)" if len(rounded) > 1 else ""
        warn(
            f"{first.contact}, step {first.step}, t = {first.t:.6g}: {first.why}{more}. The run rounds the time of "
            f"this event to a step, so that its derivative does not tend to that of the motion, whatever h: use "
            f"jo.sensitivity_by_events, or differences over many steps. See Sensitivity.rounded",
            RoundedEvents,
        )
    if weak:
        warn(
            f"{weak[0].contacts[0]} touch and do not push in step {weak[0].step}{_more_steps(len(weak))}, so that the "
            f"run has one-sided derivatives only; such contacts are taken as open. See Sensitivity.weak",
            WeakContacts,
        )
    if dependent:
        warn(
            f"active constraints depend on each other in step {dependent[0]}{_more_steps(len(dependent))}: derivatives "
            f"with respect to velocities and masses are exact, those with respect to positions and radii are not "
            f"unique. See Sensitivity.dependent",
            WeakContacts,
        )
