"""The time loop of moving densities, the counterpart of `jostle.solve`."""

from __future__ import annotations

import os
from collections.abc import Callable

from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle.errors import InvalidValue
from jostle.io.checkpoint import Position
from jostle.io.saving import Output
from jostle.macro.motion.checkpoint import CheckpointsOfDensity
from jostle.macro.motion.problems import Crowd, Flow, State
from jostle.macro.motion.result import Evolution
from jostle.macro.motion.saving import DensitySaver, ImageSaver, MeanPressure
from jostle.macro.motion.scheme import Scheme
from jostle.run.loop import Progress, Steps, files_of, follow
from jostle.run.steps import Grid, Saving, Span


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
        Image file to write (.vtkhdf), for ParaView, `jostle.io.read_images` and the pictures of `jostle.viz`. Frames go
        into it during the run, and the result reads them from there. None keeps the frames in memory. An `Output` also
        names the checkpoint. With ``resume=True`` the run continues from it, bit-identical to an uninterrupted run;
        only t, `every` and `until` may differ from the first call. A run that `until` has ended continues from the step
        before. Frames are added to the file; without a file, the result begins at the checkpoint.
    progress : callable (Progress) -> object, optional
        Called after each step. None: nothing is called.

    Returns
    -------
    Evolution
        The frames, with the status of the run and statistics of its steps.

    Raises
    ------
    SchemeRefuses
        If the scheme cannot solve the problem.
    NotConverged
        If the pressure of a step misses its tolerance. Errors during the run have the frames so far in
        `error.solution`.
    Interrupted
        After Ctrl-C, at the end of a step; `error.solution` has the frames so far.
    FileIsThere
        If the output file, or the checkpoint of another run, exists already, or another program replaced the output
        file meanwhile.
    FileInUse
        If another run writes the output file.

    Examples
    --------
    >>> import jostle as jo, numpy as np
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
    grid, mean = Grid.of(t, h), MeanPressure(problem.grid.shape)
    due, files = Saving(every, grid.start), files_of(output)
    free = {"every": every, "until": until, "strict": True, "device": "cpu"}
    things = {"until": until, "velocity": problem.velocity, "pressure": mean}
    keeping = CheckpointsOfDensity(files, problem, scheme, grid, free, things)

    def saver(state: State, resumed: Position | None) -> DensitySaver | ImageSaver:
        if files is None or files.path is None:
            return DensitySaver(problem, scheme, mean, state)
        return ImageSaver(problem, scheme, mean, files, state, resumed, keeping.changed)

    found: Evolution = follow(Steps(keeping, saver), due, until, progress)
    return found
