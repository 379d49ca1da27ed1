"""The time loop of a run of bodies or of a density: what happens around its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from jostle._tools.arrays import to_host
from jostle._tools.of_run import new_run
from jostle.errors import Interrupted, InvalidValue, JostleError, NotConverged, WriteFailed
from jostle.problems import Ending
from jostle.result.status import BLOCKED, BUDGET, FAILED, FINISHED, INTERRUPTED, NOT_CONVERGED, STOPPED
from jostle.run.checkpoints import Checkpoints
from jostle.run.interrupts import Interrupts
from jostle.run.steps import Saving

if TYPE_CHECKING:
    from jostle.io.checkpoint import Position
    from jostle.io.saving import Output


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
    endings : sequence of callables
        Conditions that may end the run before `end`. Some have a method ``done(state)``, the share of the way to their
        end that lies behind.

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
    endings: Sequence[Ending] = ()


class Steps:
    """How a run starts and steps; bodies have more to do in a step than densities."""

    flight: Any = None
    """Flights over many steps at once; None if the run has none."""
    on_host = True
    """Whether states have arrays of NumPy."""

    def __init__(self, keeping: Checkpoints, saver: Callable[[Any, Position | None], Any]) -> None:
        """`saver` gives the saver of the frames for the first state and, if the run is resumed, its position."""
        self.keeping, self.problem, self.scheme, self.grid = keeping, keeping.problem, keeping.scheme, keeping.grid
        self.saver = saver

    def start(self, t: float, resumed: Position | None) -> Any:
        """The state to begin with."""
        return self.scheme.start(self.problem, t) if resumed is None else resumed.state

    def step(self, number: int, before: Any, h: float, t: float) -> tuple[Any, Any, str | None]:
        """The state after a step, the state to continue from, and a status if the step was not solved well."""
        state = self.scheme.advance(self.problem, before, h, t)
        return state, state, None

    def moved(self, state: Any) -> Any:
        """A state on the device of the run."""
        return state

    def host(self, state: Any) -> Any:
        """A state with arrays of NumPy."""
        return state


def files_of(output: Any) -> Output | None:
    """The files of a run, which are an `Output` or the name of a trajectory."""
    if output is None:
        return None
    from jostle.io.saving import Output

    return output if isinstance(output, Output) else Output(output)


def follow(
    steps: Steps,
    due: Saving,
    endings: Sequence[Ending],
    progress: Callable[[Progress[Any]], object] | None,
) -> Any:
    """Do all steps of a run, save its frames and checkpoints, and return its solution."""
    grid, keeping = steps.grid, steps.keeping
    resumed = keeping.load() if keeping.resume else None
    if resumed is None:
        keeping.check_free()
    state = steps.start(grid.start, resumed)
    done, quality, noted = (0, FINISHED, {}) if resumed is None else (resumed.step, resumed.status, resumed.noted)
    keeping.restore(noted)
    keeping.try_writing(state, quality)
    saver = steps.saver(state, resumed)
    keeping.restore(noted)  # writing looks at sets, which may remember that
    if resumed is None:
        keeping.clear()
    if done == grid.count and saver.saved_at < state.t:
        saver.save(state)
    state = steps.moved(state)
    here, ended, flown = keeping.position(saver, state, done, quality), FINISHED, done
    try:
        with Interrupts() as interrupts:
            for number, (t, h, shared) in enumerate(grid.after(done), start=done + 1):
                if number <= flown:  # a step of a flight
                    continue
                before, there, computed = state, here, state
                try:
                    after, state, missed = steps.step(number, before, h, t)
                    ended = _ended(endings, steps.host(state)) if endings else FINISHED
                    saver.add(before, after, h)
                    quality, last = missed or quality, ended != FINISHED or number == grid.count
                    if due.every is None or due(number, before.t, t):
                        saver.save(state if steps.on_host else steps.host(state))
                    computed = state
                    if keeping.checkpoint is not None:
                        here = keeping.position(saver, state, number, quality)
                    if last and saver.saved_at < state.t:
                        saver.save(steps.host(state))
                    if keeping.checkpoint is not None and (keeping.checkpoint.due() or last):
                        keeping.save(saver, here if shared and ended == FINISHED else there)
                    if progress is not None:
                        now = steps.host(state)
                        with new_run():  # what it asks of sets leaves the memory of the run as it is
                            progress(Progress(number, grid.count, t, grid.end, now, _status(quality, ended), endings))
                    if last:
                        break
                    if steps.flight is not None:
                        state, flown = steps.flight.over(saver, state, number, grid, due)
                        computed = state
                    if interrupts.came:
                        keeping.save(saver, here)
                        raise _interrupted(interrupts.came, max(number, flown), state.t, keeping)
                except tuple(one.ended_by for one in endings if hasattr(one, "ended_by")):
                    state, ended = before, STOPPED
                    if saver.saved_at < state.t:
                        saver.save(steps.host(state))
                    keeping.save(saver, there)
                    break
                except BaseException as error:
                    _close_after(error, saver, computed, steps.host, number, t)
                    raise
        return saver.solution(_status(quality, ended))
    except WriteFailed as error:
        error.args = (f"{error.args[0]}, and {keeping.advice()}",)
        if saver.broken:
            with suppress(JostleError):  # not even one frame may have been written
                error.solution = saver.read()
        raise


def _ended(endings: Sequence[Ending], state: Any) -> str:
    """How the first condition that is met ends the run; FINISHED while none is. All are asked in each step."""
    found = [said for until in endings if (said := _said(until, state)) != FINISHED]
    return found[0] if found else FINISHED


def _said(until: Ending, state: Any) -> str:
    said = until(state)
    if isinstance(said, str) and said == BLOCKED:
        return BLOCKED
    if np.size(said) != 1 or np.asarray(said).dtype != bool:
        missing = ": its return is missing" if said is None else ""
        raise InvalidValue(f"until(state) must return True, False or {BLOCKED!r}, not {said!r}{missing}")
    return STOPPED if np.asarray(said).all() else FINISHED


def _status(quality: str, ended: str) -> str:
    """The status of a run: steps that were not solved count most, then BLOCKED, then a budget that was too small."""
    if quality == NOT_CONVERGED or (quality == BUDGET and ended != BLOCKED):
        return quality
    return ended


def _close_after(
    error: BaseException, saver: Any, computed: Any, host: Callable[[Any], Any], number: int, t: float
) -> None:
    """Give the error its step and the solution up to the last computed state; `host` moves a state off its device."""
    if isinstance(error, JostleError):
        error.step, error.time = number, t
        if isinstance(error, NotConverged):
            error.projection = to_host(error.projection)
    elif not isinstance(error, Interrupted):
        error.add_note(f"in step {number} (t = {t:.6g}); error.solution has what was computed before")
    if saver.broken:
        return
    if saver.saved_at < computed.t:
        try:
            saver.save(host(computed))
        except RuntimeError as lost:  # a device that failed does not give its last state back
            error.add_note(f"the state before this step could not be brought back from the device: {lost}")
    # Ctrl-C, SystemExit and GeneratorExit end a run from outside; they are no errors
    error.solution = saver.solution(FAILED if isinstance(error, Exception) else INTERRUPTED)  # type: ignore[attr-defined]


def _interrupted(signal: int, number: int, t: float, keeping: Checkpoints) -> Interrupted:
    """The error after a signal that came during step `number`."""
    path = None if keeping.checkpoint is None else keeping.checkpoint.path
    advice = "" if path is None else f"; {path} has the state to resume from"
    error = Interrupted(f"interrupted after step {number}, t = {t:.6g}{advice}")
    error.signal = signal
    return error
