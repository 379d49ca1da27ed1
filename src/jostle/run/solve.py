"""`solve`: runs of bodies with all schemes, and what happens in one of their steps."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import highest
from jostle._tools.displays import shown
from jostle._tools.of_run import new_run
from jostle.errors import InvalidValue, LongStep, NotConverged, warn
from jostle.kernels.reference.dense import ROUND_OFF
from jostle.problems import Motion, Sweeping, carried, refuse_changes
from jostle.result.recording import MemorySaver, Saver, constant_acceleration
from jostle.result.solution import Solution
from jostle.result.status import BUDGET, NOT_CONVERGED
from jostle.run.checkpoints import CheckpointsOfRun
from jostle.run.devices import Device
from jostle.run.exchange import changed, changes_of_run
from jostle.run.free_flight import FreeFlight
from jostle.run.loop import Progress, Steps, files_of, follow
from jostle.run.refinement import refined
from jostle.run.steps import STEP_TOLERANCE, Grid, Saving, Span
from jostle.schemes.base import Scheme
from jostle.schemes.checks import check_convexity, check_declaration, check_displacement
from jostle.schemes.friction import has_friction
from jostle.schemes.state import MIN_WARM_CONTACTS, State
from jostle.schemes.stiffness import ForceWatch
from jostle.sets.base import parts
from jostle.solvers.automatic import PILE_TOLERANCE, NotGiven
from jostle.solvers.project import not_converged
from jostle.stopping import Never

if TYPE_CHECKING:
    from jostle.io.checkpoint import Position
    from jostle.io.saving import Output


MAX_ROUND_OFF = 1e-6
"""Largest round-off of the first step, as a fraction of the coordinates and gaps at the start."""

Changes = Callable[[State], State] | Sequence[Callable[[State], State]]
"""Functions that return the state to continue from after each step."""


@check_arguments
def solve(
    problem: Motion | Sweeping,
    scheme: Scheme,
    *,
    t: Span,
    h: float | ArrayLike,
    every: int | float | None = None,
    until: Callable[[State], bool | str] | None = None,
    changes: Changes | None = None,
    device: str = "cpu",
    strict: bool = True,
    output: str | os.PathLike[str] | Output | None = None,
    progress: bool | Callable[[Progress[State]], object] | None = None,
    accuracy: Positive | None = None,
) -> Solution:
    """Solve a problem with a time-stepping scheme.

    The run goes from time 0 (or ``t[0]``) to `t` (or ``t[1]``) in steps of length `h`. If the time is not a multiple of
    `h`, the last step is shorter, so that the run ends exactly at `t`.

    **Accuracy.** With `accuracy`, the run is repeated with half the steps until the estimated error of q, the largest
    |q_h - q_{h/2}| over the saved times, is at most that; ``sol.refinement`` tells how. Then it is repeated from starts
    beside q0: if those end elsewhere, however near they begin, the solution does not depend continuously on its data,
    and `NotContinuous` is raised with both solutions. With strict=False the refinement says so instead. A run with
    `accuracy` takes about ten times as long as its last repetition alone.

    **Tolerance.** If the solver of the scheme was given no tolerance, it is 1e-8, and 1e-3 for eight or more bodies
    with Coulomb's law, whose piles are slow to converge further; ``sol.scheme`` has it.

    **Files.** With ``output="run.vtkhdf"``, the saved states go into a trajectory file during the run, and the solution
    reads them from there. With ``output=jo.io.Output("run.vtkhdf", checkpoint="run.checkpoint")``, the state of the run
    is also stored every minute and at its end. The same call with ``resume=True`` in the `Output` continues from there:
    the result is bit-identical to an uninterrupted run. Only `t`, `every`, `until` and `strict` may change; with a
    later `t` the run continues from the last step that the longer run has too. Objects that depend on the past of the
    run inherit from `jostle.problems.Remembers`.

    Parameters
    ----------
    problem : Motion or Sweeping
        The problem: start, forces or velocities, masses and admissible set.
    scheme : Scheme
        The time-stepping scheme, such as ``jo.Maury()``.
    t : float or (float, float)
        End time, or start time and end time.
    h : float or array_like
        Time step, in the unit of `t`; or all time steps, one after the other.
    every : int or float, optional
        Number of steps between two saved states (an int), or the time between them (a float); the first step at or
        after each multiple of that time is saved. The first and last states are always saved. None saves every step.
    until : callable (state) -> bool or str, optional
        Ends the run after the first step for which it returns True; the status is then "stopped", or "blocked" if it
        returns that word. The `State` has ``.t``, ``.q`` and ``.u``. An object with an attribute ``ended_by``, an error
        class, also stops the run before a step that raises this error. The ending that the problem has itself
        (`Motion.ending`) ends the run as well: the first of both. ``jo.stopping.Never()`` goes on to t.
    changes : callable (state) -> State, or a sequence of them, optional
        Called after each step, beside the changes that the problem has itself (`Motion.changes`); the run continues
        from the state that it returns. `Source` and `Outlet` let bodies come and go.
    device : str, default "cpu"
        Where the run is computed: "cpu", or "cuda" for a GPU; see the page "On a GPU" of the documentation.
    strict : bool, default True
        True raises `NotConverged` for a projection that misses its tolerance. False records it, and the status of the
        run becomes "not converged".
    output : str, path or jostle.io.Output, optional
        Trajectory file to write; or the files of the run with options, such as its checkpoint. None keeps the saved
        states in memory.
    progress : bool or callable (Progress) -> None, optional
        True shows a bar in a terminal or a notebook; elsewhere, a line every ten seconds. A function is called after
        each step.
    accuracy : float, optional
        Error of q to reach by halving the steps, in the unit of q; positive. It excludes `changes` and
        `output`. None solves once, with the steps `h`.

    Returns
    -------
    Solution
        The saved times and states, with the multipliers, the statistics of the steps and the status of the run.

    Raises
    ------
    SchemeRefuses
        If the scheme cannot solve the problem; the message names schemes that can.
    InfeasibleStart
        If q0 is not in the admissible set.
    NotConverged
        If a projection misses its tolerance and `strict` is True, or if `accuracy` is not reached.
    EmptySet
        If no position or velocity satisfies all constraints of a step.
    LeftTheSet
        If a step left the admissible set, or the centre of a body went through a wall or a ball.
    NotFinite
        If a force, a velocity or a position becomes NaN or infinite.
    NotContinuous
        If `accuracy` is given, `strict` is True, and two starts close to each other end far apart.
    DeviceUnavailable
        If there is no GPU for ``device="cuda"``.
    Interrupted
        After Ctrl-C, or another signal that raises KeyboardInterrupt; the step is finished first.

    Notes
    -----
    An error during the run carries the solution up to the step before, in ``error.solution``; so does `Interrupted`.
    The impulse of an impact also balances the forces of its two steps; see `Solution.impacts`.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[0.0, 1.0], v0=[1.0, 0.0], force=[0.0, -9.81],
    ...                  within=jo.HalfSpace(normal=[0, 1]), law=jo.Restitution(0.8))
    >>> sol = jo.solve(ball, jo.Paoli(), t=2.0, h=1e-3)
    >>> print(sol.impacts())
    3 impacts
             t  pair          before     after   impulse
        0.4530  0 - wall 0   -4.4292    3.5434    7.9922
        1.1770  0 - wall 0   -3.5394    2.8316    6.3906
        1.7560  0 - wall 0   -2.8288    2.2630    5.1115
    """
    if not isinstance(scheme, Scheme):
        raise InvalidValue(f"scheme must be an object such as jo.Paoli(), with parentheses, not {scheme!r}")
    if accuracy is not None:
        _check_alone(changes=changes, output=output)
        refuse_changes(problem, "solve with accuracy=", ending=False)

        def run(start: Any, h: ArrayLike, every: int | float | None) -> Solution:
            return solve(
                start, scheme, t=t, h=h, every=every, until=until, device=device, strict=strict, progress=progress
            )

        return refined(run, problem, h, every, accuracy, strict)
    scheme.check(problem)
    grid, acting = Grid.of(t, h), changes_of_run(problem, changes)
    scheme = _with_tolerance(problem, scheme, bool(acting))
    where = Device(device, problem, scheme)
    _warn_of_long_steps(problem, grid)
    _check_first_step(problem, grid)
    due = Saving(every, grid.start)
    files = files_of(output)
    free = {"every": every, "until": until, "strict": strict, "device": device}
    own = None if isinstance(until, Never) else carried(problem, "ending")
    endings = tuple(one for one in (until, own) if one is not None and not isinstance(one, Never))

    def saver(state: State, resumed: Position | None) -> Saver:
        if files is None or files.path is None:
            return MemorySaver(problem, scheme, state, None if resumed is None else resumed.closing)
        from jostle.io.saving import TrajectorySaver

        return TrajectorySaver(problem, scheme, files, state, resumed, keeping.changed)

    with new_run(), shown(progress) as told:
        keeping = CheckpointsOfRun(files, problem, scheme, acting, own, grid, free, where)
        steps = BodySteps(keeping, saver, acting, strict)
        if files is None or files.random is None:  # the watch would draw from the generator of the run
            steps.watch = ForceWatch.of(where.problem, scheme)
        steps.flies = not (acting or endings or told or files or device != "cpu")
        solution: Solution = follow(steps, due, endings, told)
    return solution


def _with_tolerance(problem: Motion | Sweeping, scheme: Scheme, changes: bool) -> Scheme:
    """The scheme with `PILE_TOLERANCE` if many bodies rub, or may come, and its solver was given no tolerance."""
    if not (isinstance(scheme.solver.tol, NotGiven) and isinstance(problem, Motion) and has_friction(problem)):
        return scheme
    if len(problem.q0) < MIN_WARM_CONTACTS and not changes:
        return scheme
    return replace(scheme, solver=replace(scheme.solver, tol=PILE_TOLERANCE))


class BodySteps(Steps):
    """The steps of bodies on their device, with checks of each step and changes after it."""

    watch: ForceWatch | None = None
    flies = False
    """Whether steps may be computed many at a time, because nothing looks at single ones."""

    def __init__(self, keeping: CheckpointsOfRun, saver: Callable[..., Saver], acting: Any, strict: bool) -> None:
        super().__init__(keeping, saver)
        self.where, self.acting, self.strict = keeping.where, acting, strict
        self.moved, self.host = self.where.moved, self.where.host  # type: ignore[method-assign]
        self.on_host = self.where.place is np

    def start(self, t: float, resumed: Position | None) -> State:
        state: State = super().start(t, resumed)
        if resumed is None:
            check_displacement(self.problem, state, self._largest_displacement(), self.grid.count)
        self.look = 1 if resumed is None else resumed.step + 1
        self.flight = FreeFlight.of(self.problem, self.scheme, self.grid) if self.flies else None
        return state

    def step(self, number: int, before: State, h: float, t: float) -> tuple[State, State, str | None]:
        scheme, where = self.scheme, self.where
        looks = number >= self.look  # in steps 1, 2, 4, 8 and so on, or in the first one after a flight
        if looks:
            present = None if before.presence is None else before.presence.here
            check_declaration(parts(where.problem.within), (self.grid.start, t), before.centres, present)
        state: State = scheme.advance(where.problem, before, h, t)
        P = state.projection
        assert P is not None
        if self.strict and not P.converged and scheme.solver.strict:
            error = not_converged(P, scheme.solver, type(scheme).__name__)
            raise NotConverged(f"{error}; strict=False records it and continues", P)
        if scheme.linearises and (looks or number == self.grid.count):
            check_convexity(scheme.solver.tol, where.problem.within, before, state)
        if looks:
            self.look = 2 * number
        if self.watch is not None:
            self.watch.after(before, state, h, number)
        after = where.moved(changed(self.problem, where.host(state), self.acting)) if self.acting else state
        return state, after, None if P.converged else NOT_CONVERGED if scheme.solver.strict else BUDGET

    def _largest_displacement(self) -> float:
        """How far bodies may move in a step without contacts; 0 if forces or velocities are functions."""
        problem, duration = self.problem, self.grid.end - self.grid.start
        if isinstance(problem, Motion):
            acceleration = constant_acceleration(problem)
            speeds = (
                0.0 if acceleration is None else np.abs(problem.v0).max(initial=0.0) + duration * np.abs(acceleration)
            )
        else:
            speeds = 0.0 if hasattr(problem.velocity, "__wrapped__") else problem.velocity(self.grid.start, problem.q0)
        return float(self.grid.sizes.max() * np.abs(speeds).max(initial=0.0))


def _warn_of_long_steps(problem: Any, grid: Grid) -> None:
    """Warn of steps longer than the longest one with which the problem is known to give reliable results."""
    longest, step = carried(problem, "longest_step"), float(grid.sizes.max())
    if longest is not None and step > longest * (1.0 + STEP_TOLERANCE):
        warn(
            f"h = {step:g} is longer than {longest:g}, the longest step for which the results of this behaviour are "
            f"close to those of short steps; take h = {longest / 2.0:.2g}",
            LongStep,
        )


def _check_first_step(problem: Any, grid: Grid) -> None:
    """Refuse a constant force that moves bodies so far in the first step that round-off hides where they start."""
    force, largest = getattr(problem, "constant_force", None), highest(problem.bodies.radii_at(grid.start), 0.0)
    if force is None or problem.presence is not None or problem.bodies.turn:
        return
    h, scale = float(grid.sizes.max()), max(largest, float(np.abs(problem.q0).max(initial=0.0)))
    a = problem.metric(problem.q0).solve(force.ravel()).reshape(problem.q0.shape)
    far = h * float(np.abs(problem.v0 + h * a).max(initial=0.0))
    if ROUND_OFF * far <= MAX_ROUND_OFF * scale:
        return
    gaps = np.zeros(1) if largest else np.abs(problem.within.linearise(grid.start, problem.q0).gap)
    scale = max(scale, float(gaps.max(initial=0.0, where=np.isfinite(gaps))))
    if 0.0 < scale < ROUND_OFF * far / MAX_ROUND_OFF and len(gaps):
        raise InvalidValue(
            f"the first step, h = {h:g}, would move a body by {far:.2g} without contacts, and round-off of that hides "
            f"all positions, which are up to {scale:.2g}: take a shorter time step, weaker forces or heavier bodies"
        )


def _check_alone(**others: object) -> None:
    """Refuse arguments that cannot be combined with `accuracy`, which repeats the run with other steps."""
    for name, value in others.items():
        if value is not None:
            raise InvalidValue(
                f"accuracy= repeats the run with shorter steps, which {name} does not allow: leave out one of both "
                f"(jo.io.write(sol, path) saves a solution)"
            )
