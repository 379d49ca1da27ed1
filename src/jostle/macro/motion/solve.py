"""The time loop of moving densities, the counterpart of `jostle.solve`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle.errors import Interrupted, InvalidValue, JostleError
from jostle.io.checkpoint import Checkpoint as CheckpointFile
from jostle.io.outputs import Output
from jostle.macro.motion.checkpoint import Checkpoint
from jostle.macro.motion.output import ImageFile
from jostle.macro.motion.problems import Crowd, Flow, State
from jostle.macro.motion.result import STATISTICS, Evolution, energy
from jostle.macro.motion.scheme import Scheme
from jostle.problems import Remembers, remembering
from jostle.result.status import FAILED, FINISHED, INTERRUPTED, RUNNING, STOPPED
from jostle.run.solve import Interrupts, Progress
from jostle.run.steps import Grid as Steps
from jostle.run.steps import Saving, Span


@check_arguments
def solve(
    problem: Crowd | Flow,
    scheme: Scheme,
    *,
    t: Span,
    h: float | ArrayLike,
    every: int | float | None = None,
    until: Callable[[State], bool] | None = None,
    output: str | os.PathLike[str] | Output | None = None,
    checkpoint: str | os.PathLike[str] | CheckpointFile | None = None,
    resume: bool = False,
    progress: Callable[[Progress[State]], object] | None = None,
) -> Evolution:
    """Advance a density in time, from 0 (or t[0]) to t (or t[1]) with steps of length h.

    A step in which more than half the mass of a cell would leave it is cut into parts; `stats["substeps"]` counts them.

    Parameters
    ----------
    problem : Crowd or Flow
        The problem.
    scheme : Splitting, Barrier or Impacts
        The scheme.
    t : float or (float, float)
        The end time, or the start and the end time.
    h : float or array_like
        Length of a step, or the lengths of all steps. If the time is not a multiple of h, the last step is shorter.
    every : int or float, optional
        Number of steps between two saved frames (int), or the time between them (float). None: every step is saved. The
        first and the last frame are always saved.
    until : callable (State) -> bool, optional
        Ends the run when it is true; `problem.empty` is true when less than a thousandth of the mass is left. A
        condition that depends on the past of the run implements `jostle.problems.Remembers`. None: the run ends at t.
    output : str, path or jostle.io.Output, optional
        Image file to write (.vtkhdf), for ParaView, `jostle.io.read_images` and the pictures of `jostle.viz`. It is
        written at the start, with each checkpoint and at the end, also if the run fails. None: no file.
    checkpoint : str, path or jostle.io.Checkpoint, optional
        File that stores the whole run every minute and at its end. None: no checkpoint.
    resume : bool, default False
        Continue from the checkpoint: the result is bit-identical to an uninterrupted run. Only t, `every` and `until`
        may differ from the first call. A run that `until` has ended continues from the step before.
    progress : callable (Progress) -> object, optional
        Called after each step. None: nothing is called.

    Returns
    -------
    Evolution
        The frames, with the status of the run and statistics of its steps.

    Raises
    ------
    InvalidValue
        If an argument is wrong, a step would be cut into more than 10 000 parts, or `resume` is used without a
        checkpoint or with the checkpoint of another run.
    SchemeRefuses
        If the scheme cannot solve the problem.
    NotConverged
        If the pressure of a step misses its tolerance. Errors during the run have the frames so far in
        `error.solution`.
    Interrupted
        After Ctrl-C, at the end of a step; `error.solution` has the frames so far.
    FileIsThere
        If the output file or the checkpoint exists already, or another program replaced the output file meanwhile.
    FileInUse
        If another run writes the output file.

    Examples
    --------
    >>> import jostle as jo
    >>> grid = jo.macro.Grid([-1, -1], [1, 1], h=1 / 16, closed=True)
    >>> to_centre = lambda t, q: -q / np.linalg.norm(q, axis=1, keepdims=True)
    >>> people = jo.macro.Crowd(grid=grid, density=0.5 * grid.disc([0, 0], 0.9), velocity=to_centre)
    >>> jo.macro.solve(people, jo.macro.Splitting(), t=0.2, h=0.02)
    Splitting of a Crowd on 32 x 32 cells: finished, reached the end time
    t = 0 to 0.2, 10 steps, 11 frames; mass 1.26562 of 1.26562, 0 gone
    """
    if not isinstance(scheme, Scheme):
        raise InvalidValue(f"scheme must be an object such as jo.macro.Splitting(), with parentheses, not {scheme!r}")
    if not isinstance(problem, Crowd | Flow):
        raise InvalidValue(f"problem must be a jo.macro.Crowd or a jo.macro.Flow, not {problem!r}")
    scheme.check(problem)
    steps = Steps.of(t, h)
    things = {"until": until, "velocity": problem.velocity}
    past = {name: known for name, thing in things.items() if (known := remembering(thing)) is not None}
    for thing in past.values():  # before the run starts and is described
        thing.remind(None)
    run, due = _Run(problem, scheme, scheme.start(problem, steps.start), past), Saving(every, steps.start)
    kept = None if checkpoint is None else Checkpoint(checkpoint, problem, scheme, steps, past)
    done = 0
    if resume:
        if kept is None:
            raise InvalidValue("resume needs a checkpoint to continue from: solve(..., checkpoint=..., resume=True)")
        done = kept.load(run)
    elif kept is not None:
        kept.check_free()
    file = None if output is None else ImageFile(output, resume=resume)  # it is locked from now on
    if file is not None:
        file.write(run.evolution(RUNNING))
    status = FINISHED
    with Interrupts() as interrupts:
        for number, (t_next, step, whole) in enumerate(steps.after(done), start=done + 1):
            before = run.state.t
            try:
                state = scheme.advance(problem, run.state, step, t_next)
                stop = until is not None and _stops(until, state)
                status, last = (STOPPED if stop else FINISHED), stop or number == steps.count
                again = stop or not whole  # a resumed run repeats this step: another `until`, or a longer step
                if kept is not None and again:
                    kept.save(run, number - 1)
                run.add(state, step, due(number, before, t_next))
                if kept is not None and not again and (last or kept.due()):
                    kept.save(run, number)
                    if file is not None and not last:
                        file.write(run.evolution(RUNNING))
                if progress is not None:
                    progress(Progress(number, steps.count, t_next, steps.end, state, status))
            except (Exception, KeyboardInterrupt) as error:
                if isinstance(error, JostleError):
                    error.step, error.time = number, t_next
                so_far = run.evolution(INTERRUPTED if isinstance(error, KeyboardInterrupt) else FAILED)
                if file is not None:
                    file.write(so_far)
                error.solution = so_far  # type: ignore[union-attr]
                raise
            if last:
                break
            if interrupts.came:
                stopped = _interrupted(run, number, kept)
                if file is not None:
                    file.write(stopped.solution)
                raise stopped
    found = run.evolution(status)
    if file is not None:
        file.write(found)
    return found


class _Run:
    """The frames and records of a run."""

    def __init__(self, problem: Crowd | Flow, scheme: Scheme, state: State, past: Mapping[str, Remembers]) -> None:
        self.problem, self.scheme, self.state, self.past = problem, scheme, state, past
        self.memories = {name: deepcopy(thing.memory) for name, thing in past.items()}
        """What `until` and the desired velocity remembered after the last step."""
        self.frames, self.records = [state], list[tuple[Any, ...]]()
        self.pressure, self.since = np.zeros(problem.grid.shape), 0.0
        """The time integral of the pressure since the last frame, and the time since then."""

    def add(self, state: State, h: float, save: bool) -> None:
        self.state, self.since = state, self.since + h
        self.memories = {name: deepcopy(thing.memory) for name, thing in self.past.items()}
        self.pressure = self.pressure + h * state.pressure
        mass = float(state.density.sum()) * self.problem.grid.h**2
        excess = max(float(state.density.max()) - 1.0, 0.0)
        kinetic = energy(self.problem.domain, state)
        self.records.append((state.t, h, state.substeps, state.iterations, excess, mass, state.gone, kinetic))
        if save:
            self.frames.append(state._replace(pressure=self.pressure / self.since))
            self.pressure, self.since = np.zeros_like(self.pressure), 0.0

    def remind(self, memories: Mapping[str, Any]) -> None:
        """Continue with the memories of a checkpoint."""
        for name, thing in self.past.items():
            thing.remind(deepcopy(memories[name]))
        self.memories = dict(memories)

    def evolution(self, status: str) -> Evolution:
        frames = self.frames
        if frames[-1].t < self.state.t:
            frames = [*frames, self.state._replace(pressure=self.pressure / self.since)]
        velocity = tuple(np.stack([frame.velocity[axis] for frame in frames]) for axis in (0, 1))
        density, pressure = (np.stack([getattr(frame, name) for frame in frames]) for name in ("density", "pressure"))
        times, gone = (np.array([getattr(frame, name) for frame in frames]) for name in ("t", "gone"))
        stats = np.array(self.records, dtype=STATISTICS)
        return Evolution(
            self.problem, self.scheme, status, times, density, (velocity[0], velocity[1]), pressure, gone, stats
        )


def _stops(until: Callable[[State], bool], state: State) -> bool:
    said = until(state)
    if not (said is None or (np.size(said) == 1 and np.asarray(said).dtype == bool)):
        raise InvalidValue(f"until(state) must return True or False, not {said!r}")
    return bool(said)


def _interrupted(run: _Run, number: int, kept: Checkpoint | None) -> Interrupted:
    where = f"after step {number}, t = {run.state.t:.6g}"
    if kept is not None:
        kept.save(run, number)
        where += f"; resume from {kept.path}"
    error = Interrupted(f"interrupted {where}")
    error.solution = run.evolution(INTERRUPTED)
    return error
