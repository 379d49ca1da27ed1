"""Progress of a run: a bar with the time left, the speed, the worst overlap and the worst residual.

A terminal and a notebook show a bar, everything else a line every ten seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from html import escape
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
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
LINE_INTERVAL = 10.0
"""Time between two lines where there is neither a terminal nor a notebook, in seconds."""
MIN_SHARE = 0.05
"""Share of the way to an early end from which on the time left is estimated by it."""


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


class Bar(Progress):
    """A bar in a terminal, with a second line of text for words that do not fit beside it."""

    def __init__(self, console: Console) -> None:
        self.second = ""
        self.run: TaskID | None = None
        self.compiling: TaskID | None = None
        times = TimeElapsedColumn(), TextColumn("elapsed, {task.description}")
        super().__init__(BarColumn(), TaskProgressColumn(), *times, console=console)

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if self.second:
            yield self.second

    def draw(self, share: float, words: str, second: str) -> None:
        """Show the share of the run that is done, with words beside the bar and below it."""
        self.second = second
        if self.run is None:
            self.run = self.add_task("", total=1.0)
        self.update(self.run, completed=share, description=words)

    def compile(self, news: Compiling | None) -> None:
        """Show that kernels are compiled; None: no longer."""
        if news is not None and self.compiling is None:
            self.compiling = self.add_task("", total=None)
        if self.compiling is not None:
            if news is not None:
                self.update(self.compiling, total=news.known, completed=news.compiled, description=str(news))
            else:
                self.remove_task(self.compiling)
                self.compiling = None


class Lines:
    """A line every ten seconds, where there is neither a terminal nor a notebook."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.begin = self.said = time.monotonic()
        self.told = False

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def draw(self, share: float, words: str, second: str) -> None:
        """Print a line, unless the last one is recent."""
        now = time.monotonic()
        if now - self.said >= LINE_INTERVAL:
            self.print(f"{share:.0%} after {_clock(now - self.begin)}, {words}" + (second and f"; {second}"))

    def compile(self, news: Compiling | None) -> None:
        """Announce the first compilation, and print a line about it every ten seconds."""
        if news is not None and (not self.told or time.monotonic() - self.said >= LINE_INTERVAL):
            self.told = True
            self.print(str(news))

    def print(self, text: str) -> None:
        self.said = time.monotonic()
        if not self.console.quiet:
            print(text, file=self.console.file, flush=True)


class NotebookBar:
    """A bar below the cell of a notebook."""

    def __init__(self) -> None:
        from IPython.display import display

        self.handle = display({"text/plain": ""}, raw=True, display_id=True)
        self.begin = time.monotonic()

    def __enter__(self) -> NotebookBar:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def draw(self, share: float, words: str, second: str) -> None:
        """Update the bar."""
        text = f"{share:.0%} after {_clock(time.monotonic() - self.begin)}, {words}"
        below = f"<br><small>{escape(second)}</small>" if second else ""
        bar = f'<progress value="{share:.3f}" style="width: 16em"></progress> {escape(text)}{below}'
        self.handle.update({"text/plain": text, "text/html": bar}, raw=True)

    def compile(self, news: Compiling | None) -> None:
        """Show that kernels are compiled."""
        if news is not None:
            self.handle.update({"text/plain": str(news)}, raw=True)


def _clock(seconds: float) -> str:
    """A duration as hours, minutes and seconds.

    >>> _clock(75.2)
    '0:01:15'
    """
    return str(timedelta(seconds=round(seconds)))


class ProgressBar(Watch):
    """A `Watch` that shows the time left, steps per second, and the worst overlap and residual so far.

    It follows films too, frame by frame, runs of densities, and studies, run by run.
    """

    def __init__(self, display: Bar | Lines | NotebookBar) -> None:
        super().__init__()
        self._display = display
        self._sized = True
        self._last: loop.Progress[Any] | Drawn | None = None
        self._shown, self._begin = 0.0, time.monotonic()
        self._first: tuple[float, float] | None = None
        """Time of the first step, and the share of the run that was done then."""

    def __call__(self, progress: loop.Progress[State] | loop.Progress[DensityState] | Drawn | StudyProgress) -> None:
        if isinstance(progress, StudyProgress):
            failed = f", {progress.failed} failed" if progress.failed else ""
            self.steps = progress.step
            words = f"{progress.step} of {progress.steps} runs{failed}"
            self._draw(progress.step / max(progress.steps, 1), False, words)
            return
        if isinstance(progress, loop.Progress) and isinstance(progress.state, State):
            super().__call__(cast("loop.Progress[State]", progress))
        else:
            self.steps, self.t = progress.step, progress.t
        self._last = progress
        if self._first is None or time.monotonic() - self._shown >= REFRESH_INTERVAL:
            self._show(progress)

    def finish(self) -> None:
        """Show the last step; a run that its stopping condition ended has all of its steps."""
        if self._last is not None:
            self._show(self._last, finished=True)

    def _show(self, progress: loop.Progress[Any] | Drawn, finished: bool = False) -> None:
        """Draw the bar of a run or of a film."""
        share, early, second = progress.step / progress.steps, False, ""
        rate = self.steps / max(time.monotonic() - self._begin, 1e-9)
        speed = f"{rate:,.0f}" if rate >= 100.0 else f"{rate:.3g}"
        words = f"t = {progress.t:.4g}, {speed} {'frames' if isinstance(progress, Drawn) else 'steps'}/s"
        if isinstance(progress, loop.Progress):
            done = max((one.done(progress.state) for one in progress.endings if hasattr(one, "done")), default=0.0)
            early = bool(progress.endings) and done < MIN_SHARE
            share = max(share, done if done >= MIN_SHARE else 0.0)
            if isinstance(progress.state, State):
                second = self._quality(progress.state)
        self._draw(1.0 if finished else share, early, words, second)

    def _draw(self, share: float, early: bool, words: str, second: str = "") -> None:
        """Draw a bar, with the time left; `early`: the run may end before that, and nobody knows when."""
        self._shown = now = time.monotonic()
        if self._first is None:
            self._first = now, share
        begin, before = self._first
        if before < share < 1.0:
            left = _clock((now - begin) * (1.0 - share) / (share - before))
            words = f"{'at most' if early else 'about'} {left} left, {words}"
        self._display.draw(share, words, second)

    def _quality(self, state: State) -> str:
        """The worst overlap and residual so far; overlaps are compared with a size only if all contacts have one."""
        if state.contacts is not None and len(state.contacts.length):
            self._sized = self._sized and bool((state.contacts.length > 0.0).all())
        overlap = f"{self.overlap:.1e}" if self.overlap else "none"
        if self.overlap and self._sized:
            overlap = f"{fraction_in_words(self.overlap)} of the radius"
        remark = "" if state.projection is None else state.projection.remark
        return f"worst overlap {overlap}, worst residual {self.residual:.1e}{remark and f'; last step: {remark}'}"

    def compiling(self, news: Compiling | None) -> None:
        """Show that kernels are compiled, which takes a while after an installation."""
        if news is None or news.seconds >= PATIENCE:
            self._display.compile(news)


@contextmanager
def progress_bar(console: Console | None = None) -> Iterator[ProgressBar]:
    """Show a progress bar for ``viz.animate(..., progress=bar)`` or ``study.sweep``; `solve` takes ``progress=True``.

    Where there is neither a terminal nor a notebook, it prints a line every ten seconds.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where the bar is drawn. None: the standard error stream, or below the cell of a notebook.

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
    shows_bar = console.is_terminal and not console.quiet
    with NotebookBar() if console.is_jupyter else Bar(console) if shows_bar else Lines(console) as display:
        shown = ProgressBar(display)
        with listening(shown.compiling):
            yield shown
        shown.finish()
