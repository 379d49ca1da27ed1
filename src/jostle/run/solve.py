"""`solve`: the time loop of all schemes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import to_host
from jostle.errors import Interrupted, InvalidValue, JostleError, LongStep, NotConverged, warn
from jostle.problems import Motion, Sweeping
from jostle.result.recording import MemorySaver, Saver
from jostle.result.solution import Solution
from jostle.result.status import BLOCKED, BUDGET, FAILED, FINISHED, INTERRUPTED, NOT_CONVERGED, STOPPED
from jostle.run.checkpoints import Checkpoints, CheckpointsOfRun
from jostle.run.devices import Device
from jostle.run.exchange import changed, changes
from jostle.run.free_flight import FreeFlight
from jostle.run.refinement import refined
from jostle.run.steps import STEP_TOLERANCE, Grid, Saving, Span
from jostle.schemes.base import Scheme, check_convexity
from jostle.schemes.state import State
from jostle.schemes.stiffness import ForceWatch
from jostle.sets.base import parts
from jostle.sets.declarations import check_declaration
from jostle.sets.differences import put_back, searched
from jostle.sets.user import differences_of
from jostle.solvers.project import not_converged

if TYPE_CHECKING:
    from jostle.io.checkpoint import Checkpoint, Position
    from jostle.io.saving import Output


# Ctrl-C in the middle of a run: the step is finished and written, then the run ends.


class Interrupts:
    """While it is entered, Ctrl-C is noted (`came`) instead of raised; a second one is raised at once.

    Only in the main thread, where signals arrive, and only if Ctrl-C would have raised KeyboardInterrupt: other
    handlers are left alone.

    >>> with Interrupts() as interrupts:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupts.came
    True
    """

    def __init__(self) -> None:
        self.came = False
        self._before: Any = None

    def __enter__(self) -> Self:
        ours = threading.current_thread() is threading.main_thread()
        if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.came:
            raise KeyboardInterrupt
        self.came = True


Changes = Callable[[State], State] | Sequence[Callable[[State], State]]
"""Functions that return the state to continue from after each step."""
AnyState = TypeVar("AnyState")
"""A state of bodies or of a density."""


class Progress(NamedTuple, Generic[AnyState]):
    """What the `progress` function of `solve` and of `macro.solve` is called with after each step.

    Attributes
    ----------
    step : int
        Number of steps done.
    steps : int
        Number of steps of the whole run.
    t : float
        Time that the step led to.
    end : float
        End time of the run.
    state : State
        State after the step. In runs of bodies, ``state.projection`` holds the residuals of the step; in runs of
        `macro.solve` it is a state of a density.
    status : str
        Status that the run would have if it ended now; see `Solution`.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> def tell(progress):
    ...     if progress.step % 5 == 0:
    ...         print(f"{progress.step} of {progress.steps}, t = {progress.t:.2f}, height {progress.state.q[0]:.3f}")
    >>> sol = jo.solve(ball, jo.Maury(), t=0.1, h=0.01, progress=tell)
    5 of 10, t = 0.05, height 0.985
    10 of 10, t = 0.10, height 0.945
    """

    step: int
    steps: int
    t: float
    end: float
    state: AnyState
    status: str


@check_arguments
def solve(
    problem: Motion | Sweeping,
    scheme: Scheme,
    *,
    t: Span,
    h: float | ArrayLike,
    every: int | float | None = None,
    until: Callable[[State], bool | str] | None = None,
    change: Changes | None = None,
    device: str = "cpu",
    strict: bool = True,
    output: str | os.PathLike[str] | Output | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    resume: bool = False,
    progress: Callable[[Progress[State]], object] | None = None,
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

    **Files.** With `output`, the saved states go into a trajectory file during the run, and the solution reads them
    from there. With `checkpoint`, the state of the run is stored every minute and at its end. The same call with
    ``resume=True`` continues from there: the result is bit-identical to an uninterrupted run. Only `t`, `every`,
    `until` and `strict` may change; with a later `t` the run continues from the last step that the longer run has too.
    Objects that depend on the past of the run implement `jostle.problems.Remembers`.

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
        class, also stops the run before a step that raises this error.
    change : callable (state) -> State, or a sequence of them, optional
        Called after each step; the run continues from the state that it returns. `Source` and `Outlet` let bodies come
        and go.
    device : str, default "cpu"
        Where the run is computed: "cpu", or "cuda" for a GPU; see the page "On a GPU" of the documentation.
    strict : bool, default True
        True raises `NotConverged` for a projection that misses its tolerance. False records it, and the status of the
        run becomes "not converged".
    output : str, path or jostle.io.Output, optional
        Trajectory file to write. None keeps the saved states in memory.
    checkpoint : str, path or jostle.io.Checkpoint, optional
        File for the state of the run, to resume from. None stores no checkpoints.
    resume : bool, default False
        True continues the run of the checkpoint.
    progress : callable (Progress) -> None, optional
        Called after each step; `jostle.terminal.progress_bar` makes one that shows a bar.
    accuracy : float, optional
        Error of q to reach by halving the steps, in the unit of q; positive. It excludes `change`, `output`,
        `checkpoint` and `resume`. None solves once, with the steps `h`.

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
        If a step left the admissible set, or the centre of a body went through a wall.
    NotFinite
        If a force, a velocity or a position becomes NaN or infinite.
    NotContinuous
        If `accuracy` is given, `strict` is True, and two starts close to each other end far apart.
    DeviceUnavailable
        If there is no GPU for ``device="cuda"``.
    Interrupted
        If Ctrl-C is pressed; the step is finished first.

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
        _check_alone(change=change, output=output, checkpoint=checkpoint, resume=resume or None)

        def run(start: Any, h: ArrayLike, every: int | float | None) -> Solution:
            return solve(
                start, scheme, t=t, h=h, every=every, until=until, device=device, strict=strict, progress=progress
            )

        return refined(run, problem, h, every, accuracy, strict)
    scheme.check(problem)
    where = Device(device, problem, scheme)
    grid, made = Grid.of(t, h), changes(change)
    _warn_of_long_steps(problem, grid)
    due = Saving(every, grid.start)
    free = {"every": every, "until": until, "strict": strict, "device": device}
    keeping = CheckpointsOfRun(checkpoint, problem, scheme, made, grid, free, where)
    keeping.apart_from(output)
    resumed, differences = keeping.load() if resume else None, differences_of(problem.within)
    if resumed is None:
        keeping.check_free()
        state, done, quality = scheme.start(problem, grid.start), 0, FINISHED
        remembered = searched(differences)
    else:
        state, done, quality, remembered = resumed.state, resumed.step, resumed.status, resumed.within
    keeping.remind({} if resumed is None else resumed.noted)
    saver = _saver(problem, scheme, output, state, resumed, keeping)
    if done == grid.count and saver.saved_at < state.t:
        saver.save(state)
    state = where.moved(state)
    here, ended = keeping.position(saver, state, done, quality, remembered), FINISHED
    watched = made or until or progress or checkpoint or output or device != "cpu"
    drawn = getattr(checkpoint, "random", None) is not None  # the watch would draw from the generator of the run
    watch = None if drawn else ForceWatch.of(where.problem, scheme)
    on_host = where.place is np
    flight, flown, look = None if watched else FreeFlight.of(problem, scheme, grid), done, done + 1
    with Interrupts() as interrupts:
        for number, (t_next, step, shared) in enumerate(grid.after(done), start=done + 1):
            if number <= flown:  # a step of a free flight
                continue
            before, there = state, here
            try:
                present = None if before.presence is None else before.presence.here
                if number >= look:  # in steps 1, 2, 4, 8 and so on, or in the first one after a flight
                    check_declaration(parts(where.problem.within), (grid.start, t_next), before.q, present)
                if differences:  # undo what other calls of the set did since the last step
                    put_back(differences, remembered)
                state = scheme.advance(where.problem, before, step, t_next)
                if differences:
                    remembered = searched(differences)
                P = state.projection
                assert P is not None
                if strict and scheme.solver.promises and not P.converged:
                    why = not_converged(P, scheme.solver)
                    raise NotConverged(f"{why}; strict=False records it and continues", P)
                if scheme.linearises and (number >= look or number == grid.count):
                    check_convexity(scheme.solver.tol, where.problem.within, before, state)
                look = 2 * number if number >= look else look
                if watch is not None:
                    watch.after(before, state, step, number)
                after = where.moved(changed(problem.within, where.host(state), made)) if made else state
                ended = FINISHED if until is None else _ended(until, where.host(after))
                saver.add(before, state, step)
                state, last = after, ended != FINISHED or number == grid.count
                if not P.converged:
                    quality = NOT_CONVERGED if scheme.solver.promises else BUDGET
                if every is None or due(number, before.t, t_next):
                    saver.save(state if on_host else where.host(state))
                if keeping.checkpoint is not None:
                    here = keeping.position(saver, state, number, quality, remembered)
                if last and saver.saved_at < state.t:
                    saver.save(where.host(state))
                if keeping.checkpoint is not None and (keeping.due() or last):
                    keeping.save(saver, here if shared and ended == FINISHED else there)
                if progress is not None:
                    now = where.host(state)
                    progress(Progress(number, grid.count, t_next, grid.end, now, _status(quality, ended)))
            except getattr(until, "ended_by", ()):
                state, ended = before, STOPPED
                if saver.saved_at < state.t:
                    saver.save(where.host(state))
                keeping.save(saver, there)
                break
            except (Exception, KeyboardInterrupt) as error:
                close_after(error, saver, before, where.host, number, t_next)
                raise
            if last:
                break
            if flight is not None and (steps := flight.after(state, number, grid)) is not None:
                assert isinstance(saver, MemorySaver)
                flight.record(saver, state, steps, number, due)
                state, flown = flight.landed(state, steps), number + len(steps.t)
            if interrupts.came:
                keeping.save(saver, here)
                raise interrupted(saver, where.host(state), number, keeping)
    return saver.solution(_status(quality, ended))


def _warn_of_long_steps(problem: Any, grid: Grid) -> None:
    """Warn of steps longer than the longest one with which the problem is known to give reliable results."""
    longest, step = getattr(problem, "longest_step", np.inf), float(grid.sizes.max())
    if step > longest * (1.0 + STEP_TOLERANCE):
        warn(
            f"h = {step:g} is longer than {longest:g}, the longest step for which the results of this behaviour are "
            f"close to those of short steps; take h = {longest / 2.0:.2g}",
            LongStep,
        )


def _check_alone(**others: object) -> None:
    """Refuse arguments that cannot be combined with `accuracy`, which repeats the run with other steps."""
    for name, value in others.items():
        if value is not None:
            raise InvalidValue(
                f"accuracy= repeats the run with shorter steps, which {name} does not allow: leave out one of both "
                f"(jo.io.write(sol, path) saves a solution)"
            )


def _ended(until: Callable[[State], bool | str], state: State) -> str:
    """How the condition ends the run; FINISHED while it is not met."""
    said = until(state)
    if isinstance(said, str) and said == BLOCKED:
        return BLOCKED
    if not (said is None or isinstance(said, str) or (np.size(said) == 1 and np.asarray(said).dtype == bool)):
        raise InvalidValue(f"until(state) must return True, False or {BLOCKED!r}, not {said!r}")
    return STOPPED if said else FINISHED


def _status(quality: str, ended: str) -> str:
    """The status of a run.

    A step that was not solved counts more than how the run ended; a budget that was too small counts less than BLOCKED.
    """
    if quality == NOT_CONVERGED or (quality == BUDGET and ended != BLOCKED):
        return quality
    return ended


def close_after(
    error: BaseException,
    saver: Saver,
    before: Any,
    host: Callable[[Any], Any],
    number: int,
    t: float,
) -> None:
    """Give the error its step and the solution up to it, and finish the file; `host` moves a state off its device."""
    if isinstance(error, JostleError):
        error.step, error.time = number, t
        if isinstance(error, NotConverged):
            error.projection = to_host(error.projection)
    else:
        error.add_note(f"in step {number} (t = {t:.6g}); error.solution has what was computed before")
    if saver.broken:
        return
    if saver.saved_at < before.t:
        try:
            saver.save(host(before))
        except RuntimeError as lost:  # a device that failed does not give its last state back
            error.add_note(f"the state before this step could not be brought back from the device: {lost}")
    status = INTERRUPTED if isinstance(error, KeyboardInterrupt) else FAILED
    error.solution = saver.solution(status)  # type: ignore[attr-defined]


def _saver(
    problem: Any, scheme: Scheme, output: Any, state: State, resumed: Position | None, keeping: CheckpointsOfRun
) -> Saver:
    """Where saved states go: into memory, or into a file."""
    saver: Saver
    if output is None:
        saver = MemorySaver(problem, scheme, state)
    else:
        from jostle.io.saving import Output, TrajectorySaver

        to = output if isinstance(output, Output) else Output(output)
        saver = TrajectorySaver(problem, scheme, to, state, resumed, keeping.changed)
    if resumed is None:
        keeping.clear()
    return saver


def interrupted(saver: Saver, state: Any, number: int, keeping: Checkpoints) -> Interrupted:
    """The error after Ctrl-C, with the solution up to the last step."""
    if saver.saved_at != state.t:
        saver.save(state)
    where = f"after step {number}, t = {state.t:.6g}"
    path = None if keeping.checkpoint is None else keeping.checkpoint.path
    error = Interrupted(f"interrupted {where}" + ("" if path is None else f"; {path} has the state to resume from"))
    error.solution = saver.solution(INTERRUPTED)
    return error
