"""Progress of a run in a terminal: a bar with the speed, the worst overlap and the worst residual."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from jostle.kernels.compile_news import PATIENCE, Compiling, listening
from jostle.result.status import fraction_in_words
from jostle.run import loop
from jostle.schemes.state import State
from jostle.study.runs import StudyProgress
from jostle.viz.films import Drawn

if TYPE_CHECKING:
    from jostle.macro.motion.problems import State as DensityState

__all__ = ["Watch", "progress_bar"]

REFRESH_INTERVAL = 0.1
"""Time between two updates of the progress bar, in seconds."""


@dataclass
class Watch:
    """Counts steps and keeps the worst overlap and residual of a run; an argument of ``solve(..., progress=...)``.

    Attributes
    ----------
    overlap : float, default 0.0
        Worst overlap of all steps so far; `Solution.overlap` explains its unit.
    residual : float, default 0.0
        Worst residual of all steps so far.
    overshoot : float, default 0.0
        Worst overshoot of all steps so far; see `State.overshoot`.
    iterations : int, default 0
        Iterations of all projections so far.
    steps : int, default 0
        Number of steps so far.
    status : str, default "running"
        Status that the run would have if it ended now.
    t : float, default 0.0
        Time that the last step led to.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> watch = Watch()
    >>> sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.01, progress=watch)
    >>> watch.steps, watch.overlap, watch.status
    (100, 0.0, 'finished')
    """

    overlap: float = 0.0
    residual: float = 0.0
    overshoot: float = 0.0
    iterations: int = 0
    steps: int = 0
    status: str = "running"
    t: float = 0.0

    def __call__(self, progress: loop.Progress[State]) -> None:
        P = progress.state.projection
        assert P is not None
        self.overlap = max(self.overlap, P.residual.primal, progress.state.overshoot)
        self.residual = max(self.residual, P.residual.worst)
        self.overshoot = max(self.overshoot, progress.state.overshoot)
        self.iterations += P.iterations
        self.steps, self.status, self.t = self.steps + 1, progress.status, progress.t


class TwoLines(Progress):
    """A progress bar with a second line of text, for words that do not fit beside the bar."""

    second = ""
    """Text of the second line; empty for no second line."""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if self.second:
            yield self.second


class ProgressBar(Watch):
    """A `Watch` with a bar on the screen: steps per second, the time left, the worst overlap and residual so far.

    It follows films too, frame by frame, runs of densities, and studies, run by run.
    """

    def __init__(self, bar: TwoLines) -> None:
        super().__init__()
        self._sized = True
        self._task: TaskID | None = None
        self._compiling: TaskID | None = None
        self._last: loop.Progress[Any] | Drawn | None = None
        self._bar, self._shown, self._begin = bar, 0.0, time.monotonic()

    def __call__(self, progress: loop.Progress[State] | loop.Progress[DensityState] | Drawn | StudyProgress) -> None:
        if isinstance(progress, StudyProgress):
            self._show_study(progress)
            return
        if isinstance(progress, loop.Progress) and isinstance(progress.state, State):
            super().__call__(cast("loop.Progress[State]", progress))
        else:
            self.steps, self.t = progress.step, progress.t
        self._last = progress
        if time.monotonic() - self._shown >= REFRESH_INTERVAL or progress.step == progress.steps:
            self._show(progress, progress.steps)

    def finish(self) -> None:
        """Show the last step; a run that its stopping condition ended has all of its steps."""
        if self._last is not None:
            self._show(self._last, self._last.step)

    def _show(self, progress: loop.Progress[Any] | Drawn, steps: int) -> None:
        """Draw the bar of a run or of a film."""
        if self._task is None:
            self._task = self._bar.add_task("")
        state = progress.state if isinstance(progress, loop.Progress) else None
        self._shown = now = time.monotonic()
        rate = self.steps / max(now - self._begin, 1e-9)
        speed = f"{rate:,.0f}" if rate >= 100.0 else f"{rate:.3g}"
        words = f"t = {progress.t:.4g}, {speed} {'frames' if isinstance(progress, Drawn) else 'steps'}/s"
        if isinstance(state, State):
            self._bar.second = self._quality(state)
        self._bar.update(self._task, completed=progress.step, total=steps, description=words)

    def _quality(self, state: State) -> str:
        """The worst overlap and residual so far; overlaps are compared with a size only if all contacts have one."""
        if state.contacts is not None and len(state.contacts.length):
            self._sized = self._sized and bool((state.contacts.length > 0.0).all())
        overlap = f"{self.overlap:.1e}" if self.overlap else "none"
        if self.overlap and self._sized:
            overlap = f"{fraction_in_words(self.overlap)} of the radius"
        remark = "" if state.projection is None else state.projection.remark
        return f"worst overlap {overlap}, worst residual {self.residual:.1e}{remark and f'; last step: {remark}'}"

    def _show_study(self, progress: StudyProgress) -> None:
        """Show the number of finished runs of a study; runs of an earlier session do not count for the time left."""
        if self._task is None:
            self._task = self._bar.add_task("", total=progress.steps, completed=progress.step)
        failed = f", {progress.failed} failed" if progress.failed else ""
        words = f"{progress.step} of {progress.steps} runs{failed}"
        self.steps = progress.step
        self._bar.update(self._task, completed=progress.step, total=progress.steps, description=words)

    def compiling(self, news: Compiling | None) -> None:
        """Show that kernels are compiled, which takes a while after an installation."""
        if news is not None and news.seconds >= PATIENCE and self._compiling is None:
            self._compiling = self._bar.add_task("", total=None)
        if news is not None and self._compiling is not None:
            self._bar.update(self._compiling, total=news.known, completed=news.compiled, description=str(news))
        if news is None and self._compiling is not None:
            self._bar.remove_task(self._compiling)
            self._compiling = None


@contextmanager
def progress_bar(console: Console | None = None) -> Iterator[ProgressBar]:
    """Show a progress bar for ``solve(..., progress=bar)`` or ``viz.animate(...)``.

    Nothing is drawn where there is no terminal.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where the bar is drawn. None: the standard error stream.

    Yields
    ------
    ProgressBar
        A function to give as `progress`.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> with progress_bar() as bar:
    ...     sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.01, progress=bar)
    """
    console = console or Console(stderr=True)
    times = TimeElapsedColumn(), TextColumn("elapsed,"), TimeRemainingColumn(), TextColumn("left")
    columns = BarColumn(), TaskProgressColumn(), *times, TextColumn("{task.description}")
    bar = TwoLines(*columns, console=console, disable=not console.is_terminal)
    with bar:
        shown = ProgressBar(bar)
        with listening(shown.compiling):
            yield shown
        shown.finish()
