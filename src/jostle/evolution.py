"""The third verb: `solve`, the time loop."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle.errors import DeviceUnavailable, Interrupted, InvalidValue, JostleError, NotConverged, NotFinite
from jostle.exchange import changes
from jostle.interrupts import Interrupts
from jostle.problems import Motion, Sweeping
from jostle.recording import Recorder, Recording, smallest_gap
from jostle.schemes.base import Scheme, State
from jostle.sets.base import check_start
from jostle.solution import Solution
from jostle.solvers.project import require

if TYPE_CHECKING:
    from jostle.io.checkpoint import Checkpoint
    from jostle.io.recorder import Output

SAME = 1e-9
"""T counts as a multiple of h, and a time as reached, up to this part of a step (or of T, for an array of steps)."""
ROUND_OFF = 8 * float(np.finfo(float).eps)


class Progress(NamedTuple):
    """What `solve(..., progress=...)` is called with after each step.

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
    """Steps done, of so many:"""
    steps: int
    t: float
    end: float
    state: State
    """After the step; ``state.projection`` has its residuals."""
    status: str
    """What the status of the run would be now."""


def solve(
    problem: Motion | Sweeping,
    scheme: Scheme,
    *,
    t: float | tuple[float, float],
    h: float | ArrayLike,
    every: int | float | None = None,
    until: Callable[[State], bool] | None = None,
    change: Callable[[State], State] | Sequence[Callable[[State], State]] | None = None,
    device: str = "cpu",
    strict: bool = True,
    output: str | os.PathLike[str] | Output | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    resume: bool = False,
    progress: Callable[[Progress], object] | None = None,
) -> Solution:
    """Follow the problem from time 0 (or t[0]) to t (or t[1]) with steps of length h.

    If the time is not a multiple of h the last step is shorter, so that the run ends exactly at t. `h` may also be
    the array of all steps. `every` saves each so many steps (an int) or at the first step at or after each multiple of
    a time (a float); the first and last states are always saved. `until(state)` ends the run when it is true; a
    state has .t, .q and .u. `change(state)`, or several of them, return the state to go on from after each step: bodies
    come and go by `Source` and `Outlet`. With strict=False a projection that did not converge is recorded instead of
    raised.

    With `output`, a path or a `jostle.io.Output`, what is saved goes into a trajectory file while the run goes on, and
    the solution reads it from there when asked. `checkpoint`, a path or a `jostle.io.Checkpoint`, keeps the state of
    the run safe each minute and at its end; the same call with resume=True goes on from there, to the same bits as a
    run that was never interrupted. `progress` is called with a `Progress` after each step.

    An error in the middle carries the step and what was computed before it, in ``error.solution``; so does
    `Interrupted`, which Ctrl-C raises when the step is done.

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
    if device != "cpu":
        raise DeviceUnavailable(f"device {device!r} is not supported; use 'cpu'")
    if not isinstance(scheme, Scheme):
        raise InvalidValue(f"scheme must be an object such as jo.Paoli(), with its brackets, not {scheme!r}")
    t0, count, steps = _steps(t, h)
    end = float(np.ravel(t)[-1])
    made, due = changes(change), _Saving(every, t0)
    keeping = _Keeping(checkpoint, problem, scheme, t0, h)
    state, done, status, written = keeping.start(due) if resume else (scheme.start(problem, t0), 0, "finished", None)
    recorder = _recorder(problem, scheme, output, state, written)
    if done and until is not None and until(state):
        return recorder.solution("stopped" if status == "finished" else status)
    with Interrupts() as interrupts:
        for number, (t_next, step) in enumerate(itertools.islice(steps, done, None), start=done + 1):
            before = state
            try:
                state = _timed(scheme.step(problem, before._replace(duration=np.nan), step), t_next, step)
                state.q.setflags(write=False)
                state.u.setflags(write=False)
                _check(state, scheme, strict)
                after = _changed(problem, state, made) if made else state
                stop = until is not None and bool(until(after))
                recorder.add(before, state, step)
                state, last = after, stop or number == count
                if state.projection is not None and not state.projection.converged:
                    status = "not converged" if scheme.solver.promises else "budget"
                if stop and status == "finished":
                    status = "stopped"
                if due(number, t_next, step) or last:
                    recorder.save(state)
                if keeping.due() or last:
                    keeping.save(recorder, state, number, due.next, status)
                if progress is not None:
                    progress(Progress(number, count, t_next, end, state, status))
            except (Exception, KeyboardInterrupt) as error:
                _close(recorder, error, before, number, t_next)
                raise
            if last:
                break
            if interrupts.came:
                keeping.save(recorder, state, number, due.next, status)
                raise _interrupted(recorder, state, number, keeping)
    return recorder.solution(status)


def _timed(state: State, t: float, h: float) -> State:
    """The state after a step of length h, at exactly t; its impulses acted over h unless the scheme says otherwise."""
    return state._replace(t=t, duration=h if np.isnan(state.duration) else state.duration)


def _close(recorder: Recording, error: BaseException, before: State, number: int, t: float) -> None:
    """Give the error its step, and the solution up to it; in a file, keep what was computed."""
    if isinstance(error, JostleError):
        error.step, error.time = number, t
    else:
        error.add_note(f"in step {number} (t = {t:.6g}); error.solution has what was computed before")
    if recorder.broken:
        return
    if recorder.saved_at < before.t:
        recorder.save(before)
    error.solution = recorder.solution("failed")  # type: ignore[attr-defined]


def _recorder(problem: Any, scheme: Scheme, output: Any, state: State, written: tuple[int, int] | None) -> Recording:
    """What is saved is kept in memory, or goes into a file."""
    if output is None:
        return Recorder(problem, scheme, state)
    from jostle.io.recorder import FileRecorder, Output

    to = output if isinstance(output, Output) else Output(output)
    return FileRecorder(problem, scheme, to, state, written)


class _Keeping:
    """The checkpoints of a run, if it has any."""

    def __init__(self, checkpoint: Any, problem: Any, scheme: Scheme, t0: float, h: Any):
        self.checkpoint, self.problem, self.scheme, self.run = checkpoint, problem, scheme, ""
        if checkpoint is None:
            return
        from jostle.io.checkpoint import Checkpoint, name_of_run

        self.checkpoint = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
        self.run = name_of_run(problem, scheme, t0, h)

    def start(self, due: _Saving) -> tuple[State, int, str, tuple[int, int]]:
        """The state to go on from, the steps done, the status, and what of the output belongs to it."""
        if self.checkpoint is None:
            raise InvalidValue("resume needs the checkpoint to go on from: solve(..., checkpoint=..., resume=True)")
        kept = self.checkpoint.load(self.run, self.problem, self.scheme)
        due.next = kept.saved
        status = "finished" if kept.status == "stopped" else kept.status
        return kept.state, kept.step, status, (kept.frames, kept.records)

    def due(self) -> bool:
        return self.checkpoint is not None and self.checkpoint.due()

    def save(self, recorder: Recording, state: State, number: int, saved: int, status: str) -> None:
        if self.checkpoint is None:
            return
        from jostle.io.checkpoint import Position

        gap = smallest_gap(self.problem, state)
        self.checkpoint.save(self.run, Position(state, number, saved, status, *recorder.written(), gap))


def _interrupted(recorder: Recording, state: State, number: int, keeping: _Keeping) -> Interrupted:
    if recorder.saved_at != state.t:
        recorder.save(state)
    where = f"after step {number}, t = {state.t:.6g}"
    path = None if keeping.checkpoint is None else keeping.checkpoint.path
    error = Interrupted(f"interrupted {where}" + ("" if path is None else f"; {path} has the state to resume from"))
    error.solution = recorder.solution("interrupted")
    return error


def _changed(problem: Motion | Sweeping, state: State, made: Sequence[Callable[[State], State]]) -> State:
    """The state after all changes; who came in, or was moved, must not overlap anyone."""
    before = state
    for change in made:
        state = change(state)
        if not isinstance(state, State):
            raise InvalidValue(f"change must return a state, such as state._replace(u=...), not {state!r}")
    if state.q.shape != before.q.shape:
        raise InvalidValue(f"change must keep the shape of q, {before.q.shape}; it returned {state.q.shape}")
    here = None if state.presence is None else state.presence.here
    moved = (state.q if here is None else np.where(here[:, None], state.q, before.q)) != before.q
    if moved.any() or (before.presence is None and here is not None):  # the first who goes shows whether any may
        contacts = state.linearise(problem.within, state.t, 0.0)
        first, second = contacts.pairs.T
        if moved.ndim == 2 and (first >= 0).all():
            body = moved.any(axis=1)
            contacts = contacts.only(np.flatnonzero(body[first] | ((second >= 0) & body[np.maximum(second, 0)])))
        check_start(contacts)
    return state


def _check(state: State, scheme: Scheme, strict: bool) -> None:
    if not np.isfinite(state.q).all():
        body = tuple(int(k) for k in np.argwhere(~np.isfinite(state.q))[0])
        raise NotFinite(f"position {body} became {state.q[body]}")
    P = state.projection
    if strict and scheme.solver.promises and P is not None and not P.converged:
        try:
            require(P, scheme.solver)
        except NotConverged as error:
            raise NotConverged(f"{error}; strict=False records it and goes on", P) from None


class _Saving:
    """Is a state to be saved?"""

    def __init__(self, every: Any, t0: float):
        if every is not None and not every > 0:
            raise InvalidValue(f"every must be positive, not {every}")
        self.every, self.t0, self.next = every, t0, 1

    def __call__(self, number: int, t: float, h: float) -> bool:
        if self.every is None:
            return True
        if isinstance(self.every, Integral):
            return number % self.every == 0
        if t < self.t0 + self.next * self.every - SAME * h:
            return False
        self.next = int(np.floor((t - self.t0) / self.every + SAME)) + 1
        return True


def _steps(t: float | tuple[float, float], h: float | ArrayLike) -> tuple[float, int, Iterator[tuple[float, float]]]:
    """The first time, how many steps there are, and the pairs (t^{n+1}, h_n)."""
    if np.ndim(t) and np.size(t) != 2:
        raise InvalidValue(f"t must be the end, or the pair (start, end), not {np.size(t)} times; `every` saves fewer")
    t0, t1 = (float(end) for end in np.ravel(t)) if np.ndim(t) else (0.0, float(t))  # type: ignore[arg-type]
    if not np.isfinite(t1 - t0) or t1 < t0:
        raise InvalidValue(f"t must be a time after the start {t0:g}, not {t1:g}")
    sizes = np.asarray(h, dtype=float)
    if sizes.ndim > 1 or sizes.size == 0 or not np.isfinite(sizes).all() or (sizes <= 0).any():
        raise InvalidValue(f"h must be positive and finite, a number or one step after the other, not {h!r}")
    if sizes.ndim == 0:
        return t0, *_equal_steps(t0, t1, float(sizes))
    ends = t0 + np.cumsum(sizes)
    if abs(ends[-1] - t1) > SAME * (t1 - t0):
        raise InvalidValue(f"the steps h lead to t = {ends[-1]:.12g}, not to {t1:.12g}")
    ends[-1] = t1
    return t0, len(ends), zip(ends.tolist(), sizes.tolist(), strict=True)


def _equal_steps(t0: float, t1: float, h: float) -> tuple[int, Iterator[tuple[float, float]]]:
    whole = int(np.floor((t1 - t0) / h * (1.0 + SAME) + SAME))
    rest = t1 - (t0 + whole * h)
    if rest > SAME * h + ROUND_OFF * max(abs(t0), abs(t1)):
        return whole + 1, itertools.chain(((t0 + (n + 1) * h, h) for n in range(whole)), [(t1, rest)])
    return whole, ((t1 if n + 1 == whole else t0 + (n + 1) * h, h) for n in range(whole))
