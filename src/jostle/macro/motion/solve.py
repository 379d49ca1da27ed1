"""The time loop of moving densities: the sibling of `jostle.solve`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.errors import Interrupted, InvalidValue, JostleError
from jostle.evolution import Progress, Span
from jostle.interrupts import Interrupts
from jostle.io.checkpoint import Checkpoint as CheckpointFile
from jostle.io.recorder import Output
from jostle.macro.motion.checkpoint import Checkpoint
from jostle.macro.motion.output import ImageFile
from jostle.macro.motion.problems import Crowd, Flow
from jostle.macro.motion.result import STATISTICS, Evolution, energy
from jostle.macro.motion.scheme import Scheme
from jostle.macro.motion.state import State
from jostle.statuses import FAILED, FINISHED, INTERRUPTED, RUNNING, STOPPED
from jostle.steps import Grid as Steps
from jostle.steps import Saving


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
    """Follow a density from time 0 (or t[0]) to t (or t[1]), with steps of length h.

    `problem` is a `Crowd` or a `Flow`, `scheme` a `Splitting`, a `Barrier` or `Impacts`. A step in which more than half
    of a cell would leave is cut into parts; `stats["substeps"]` says into how many. t, h, `every`, `until` and
    `progress` are those of `jostle.solve`; `until=problem.empty` ends a run when less than a thousandth of its mass is
    left.

    With `output`, a path that ends in .vtkhdf or a `jostle.io.Output`, the frames go into a file of images, also if the
    run ends with an error; ParaView opens it, `jostle.io.read_images` and the pictures of `jostle.viz` read it.
    `checkpoint`, a path or a `jostle.io.Checkpoint`, keeps the whole run every minute and at its end; the same call
    with `resume=True` goes on from there, with the same bits as a run without a break. Only t, `every` and `until` may
    change. The file of images is brought up to date with each checkpoint. An error carries what was computed in
    ``error.solution``; so does `Interrupted`, which Ctrl-C raises at the end of a step.

    >>> import jostle as jo
    >>> grid = jo.macro.Grid([-1, -1], [1, 1], h=1 / 16, closed=True)
    >>> to_centre = lambda t, q: -q / np.linalg.norm(q, axis=1, keepdims=True)
    >>> people = jo.macro.Crowd(grid=grid, density=0.5 * grid.disc([0, 0], 0.9), velocity=to_centre)
    >>> jo.macro.solve(people, jo.macro.Splitting(), t=0.2, h=0.02)
    Splitting of a Crowd on 32 x 32 cells: finished, reached the end time
    t = 0 to 0.2, 10 steps, 11 frames; mass 1.26562 of 1.26562, 0 gone
    """
    if not isinstance(scheme, Scheme):
        raise InvalidValue(f"scheme must be an object such as jo.macro.Splitting(), with its brackets, not {scheme!r}")
    if not isinstance(problem, Crowd | Flow):
        raise InvalidValue(f"problem must be a jo.macro.Crowd or a jo.macro.Flow, not {problem!r}")
    scheme.check(problem)
    file = None if output is None else ImageFile(output, resume=resume)
    steps = Steps.of(t, h)
    run, due = _Run(problem, scheme, scheme.start(problem, steps.start)), Saving(every, steps.start)
    kept = None if checkpoint is None else Checkpoint(checkpoint, problem, scheme, steps)
    done = 0
    if resume:
        if kept is None:
            raise InvalidValue("resume needs the checkpoint to go on from: solve(..., checkpoint=..., resume=True)")
        done = kept.load(run)
    elif kept is not None:
        kept.check_free()
    if file is not None:
        file.write(run.evolution(RUNNING))
    status = FINISHED
    with Interrupts() as interrupts:
        for number, (t_next, step, whole) in enumerate(steps.after(done), start=done + 1):
            before = run.state.t
            try:
                state = scheme.advance(problem, run.state, step, t_next)
                stop = until is not None and bool(until(state))
                status, last = (STOPPED if stop else FINISHED), stop or number == steps.count
                if kept is not None and not whole:  # a longer run does not have this step
                    kept.save(run, number - 1)
                run.add(state, step, due(number, before, t_next))
                if kept is not None and whole and (last or kept.due()):
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

    def __init__(self, problem: Crowd | Flow, scheme: Scheme, state: State) -> None:
        self.problem, self.scheme, self.state = problem, scheme, state
        self.frames, self.records = [state], list[tuple[Any, ...]]()
        self.pressure, self.since = np.zeros(problem.grid.shape), 0.0
        """The time integral of the pressure since the last frame, and how long that is."""

    def add(self, state: State, h: float, save: bool) -> None:
        self.state, self.since = state, self.since + h
        self.pressure = self.pressure + h * state.pressure
        mass = float(state.density.sum()) * self.problem.grid.h**2
        excess = max(float(state.density.max()) - 1.0, 0.0)
        kinetic = energy(self.problem.domain, state)
        self.records.append((state.t, h, state.substeps, state.iterations, excess, mass, state.gone, kinetic))
        if save:
            self.frames.append(state._replace(pressure=self.pressure / self.since))
            self.pressure, self.since = np.zeros_like(self.pressure), 0.0

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


def _interrupted(run: _Run, number: int, kept: Checkpoint | None) -> Interrupted:
    where = f"after step {number}, t = {run.state.t:.6g}"
    if kept is not None:
        kept.save(run, number)
        where += f"; {kept.path} has the state to resume from"
    error = Interrupted(f"interrupted {where}")
    error.solution = run.evolution(INTERRUPTED)
    return error
