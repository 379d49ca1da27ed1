"""The loop over the runs of a study: on any executor, with retries, a journal, and a rule that ends it."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.arguments import Count, check_arguments
from jostle.ensembles.executing import Outcome, Work, execute
from jostle.ensembles.journal import TRAJECTORIES, Journal
from jostle.ensembles.processes import NoWorkers, Processes
from jostle.ensembles.stopping import StoppingRule
from jostle.ensembles.study import RunOf, Study, packed
from jostle.ensembles.table import Results, write_table
from jostle.errors import Interrupted, InvalidValue, JostleError, MissingPackage
from jostle.statuses import FAILED

POLL = 0.2
"""Longest time between two looks at the runs, in seconds: Ctrl-C is noticed, and progress is shown."""
MAX_ATTEMPTS = 3
"""Number of times that a run is tried whose process dies."""
MAX_IN_FLIGHT = 1000
"""Largest number of runs that are handed to an executor at once."""


class ExecutorBroke(JostleError, RuntimeError):
    """An executor that was given to `sweep` takes no more runs; ``error.results`` has the finished ones."""

    results: Any = None


@dataclass(frozen=True)
class StudyProgress:
    """How far a study is: what ``sweep(..., progress=...)`` is called with.

    >>> StudyProgress(step=3, steps=10, failed=1)
    StudyProgress(step=3, steps=10, failed=1)
    """

    step: int
    """Number of finished runs, with those of an earlier session."""
    steps: int
    """Number of runs in all; with a stopping rule it may become smaller."""
    failed: int
    """Number of runs that failed."""


@check_arguments
def sweep(
    study: Study,
    *,
    executor: Executor | None = None,
    workers: Count | None = None,
    folder: str | os.PathLike[str] | None = None,
    until: StoppingRule | None = None,
    retry_failed: bool = False,
    progress: Callable[[StudyProgress], None] | None = None,
) -> Results:
    """Run a study, and return its results: one row for each run, in the order of their numbers.

    Without an `executor` the runs are done by `workers` processes, one for each core by default, each on one thread.
    Any `concurrent.futures.Executor` will do instead, such as Dask's ``client.get_executor()``; `workers` is then the
    number of runs that are handed to it at once. A run whose process dies is tried three times in all. A run that
    raises an error is recorded with it, and the others go on.

    With a `folder` each finished run is written to disk at once. The same call again continues a study that was
    interrupted or killed, or extends it if `repeat` has grown; the table is the same as without the interruption.
    `retry_failed` repeats the runs that failed. `until` is a rule, such as `PreciseMean`, that ends each case as soon
    as it holds; `study.repeat` is then the largest number of repetitions.

    A program that calls it without an executor needs ``if __name__ == "__main__":`` around its main part.

    >>> import jostle as jo
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> study = Study("cradle_apart", over=[{"run.t": 0.1}, {"run.t": 0.2}], measures=["kinetic_energy"])
    >>> with ThreadPoolExecutor(1) as threads:
    ...     sweep(study, executor=threads)["kinetic_energy"].round(6).tolist()
    [0.5, 0.5]
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise InvalidValue('sweep was called while a process of a sweep starts: write `if __name__ == "__main__":` '
                           "around the main part of the program")  # fmt: skip
    if until is not None:
        until.check(study)
    place = None if folder is None else Path(folder)
    if study.trajectories and place is None:
        raise InvalidValue("folder is missing: a study with trajectories needs one to write them to")
    trajectories = None if place is None or not study.trajectories else place.absolute() / TRAJECTORIES
    work: bytes | Work = Work(study.subject, study.measured, study.traced, trajectories)
    if not isinstance(executor, ThreadPoolExecutor):  # threads share the functions, which then need not be picklable
        work = packed(work)
    with _journal(place, study) as journal:
        sweeping = _Sweep(study, until, journal, retry_failed, progress)
        try:
            with _executor(executor, workers) as chosen:
                sweeping.loop(chosen, work, _in_flight(executor, workers, until))
        except KeyboardInterrupt:
            raise sweeping.interrupted(place) from None
        except BrokenExecutor as error:
            broke = ExecutorBroke(f"the executor takes no more runs ({error}): {sweeping.hint(place)}")
            broke.results = sweeping.results()
            raise broke from error
        results = sweeping.results()
        if journal is not None:
            journal.finish(sweeping.ends)
    if place is not None:
        write_results(results, place)
    return results


def write_results(results: Results, folder: Path) -> list[Path]:
    """Write table, curves and summaries into the folder of a study: .csv, and .parquet if pyarrow is installed."""
    tables = {"table": results.table, "curves": results.long_curves(), "summary": results.summaries()}
    written = [write_table(columns, folder / f"{name}.csv") for name, columns in tables.items() if columns]
    with suppress(MissingPackage):
        written += [write_table(columns, folder / f"{name}.parquet") for name, columns in tables.items() if columns]
    return written


class _Sweep:
    """The state of a study that is running."""

    def __init__(
        self, study: Study, until: StoppingRule | None, journal: Journal | None, retry_failed: bool, progress: Any
    ) -> None:
        self.study, self.until, self.journal, self.progress = study, until, journal, progress
        known = {} if journal is None else journal.known
        self.outcomes: dict[int, Outcome] = {
            number: outcome
            for number, outcome in known.items()
            if number < study.runs and not (retry_failed and outcome.failed)
        }
        self.ends = [study.repeat] * len(study.cases)
        """Of each case, the number of repetitions."""
        self.settled = [False] * len(study.cases)
        self.looked = [0] * len(study.cases)
        """Of each case, the number of repetitions that the rule has looked at."""
        self.total, self.done, self.failed = study.runs, 0, 0
        self._count()
        for case in range(len(study.cases)):
            self._apply_rule(case)

    def wanted(self, number: int) -> bool:
        """Does the run belong to the study, as far as is known?"""
        case, repetition = self.study.place(number)
        return repetition < self.ends[case]

    def _count(self) -> None:
        """Count all runs again."""
        done = [outcome for number, outcome in self.outcomes.items() if self.wanted(number)]
        self.total, self.done = sum(self.ends), len(done)
        self.failed = sum(outcome.failed for outcome in done)

    def pending(self) -> Iterator[RunOf]:
        """The runs that are not finished, in the order of their numbers."""
        for number in range(self.study.runs):
            if number not in self.outcomes and self.wanted(number):
                yield self.study.run(number)

    def loop(self, executor: Executor, work: bytes | Work, most: int) -> None:
        """Hand runs to the executor until all are finished."""
        pending, attempts = self.pending(), dict[int, int]()
        flying: dict[Future[Outcome], RunOf] = {}
        self._tell()
        try:
            while True:
                while len(flying) < most and (run := next(pending, None)) is not None:
                    flying[executor.submit(execute, work, run)] = run
                if not flying:
                    return
                done, _ = wait(flying, timeout=POLL, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda future: flying[future].number):
                    run = flying.pop(future)
                    problem = None if future.cancelled() else future.exception()
                    if isinstance(problem, BrokenExecutor | NoWorkers | KeyboardInterrupt):
                        raise problem
                    if problem is None and not future.cancelled():
                        self._finish(run, future.result())
                        continue
                    attempts[run.number] = attempts.get(run.number, 0) + 1
                    words = "was cancelled" if problem is None else f"{type(problem).__name__}: {problem}"
                    if attempts[run.number] < MAX_ATTEMPTS:
                        flying[executor.submit(execute, work, run)] = run
                    else:
                        error = f"lost {MAX_ATTEMPTS} times with the process that did it: {' '.join(words.split())}"
                        self._finish(run, Outcome(run.number, FAILED, error=error))
                for future in [future for future, run in flying.items() if not self.wanted(run.number)]:
                    future.cancel()
                    del flying[future]
        finally:
            for future in flying:
                future.cancel()

    def _finish(self, run: RunOf, outcome: Outcome) -> None:
        if not self.wanted(run.number):
            return
        if self.journal is not None:
            self.journal.add(outcome)
        self.outcomes[run.number] = outcome
        self.done, self.failed = self.done + 1, self.failed + outcome.failed
        self._apply_rule(run.case)
        self._tell()

    def _apply_rule(self, case: int) -> None:
        """Look at the runs of a case up to the first that is missing, one repetition after the other."""
        if self.until is None or self.settled[case]:
            return
        count = len(self.study.cases)
        while self.looked[case] < self.study.repeat and case + count * self.looked[case] in self.outcomes:
            self.looked[case] += 1
            found = [self.outcomes[case + count * k] for k in range(self.looked[case])]
            if self.until.holds([outcome for outcome in found if not outcome.failed]):
                self.settled[case], self.ends[case] = True, self.looked[case]
                self._count()
                return

    def _tell(self) -> None:
        if self.progress is not None:
            self.progress(StudyProgress(self.done, self.total, self.failed))

    def results(self) -> Results:
        """The results of the finished runs."""
        kept = tuple(self.study.run(number) for number in sorted(self.outcomes) if self.wanted(number))
        settled = () if self.until is None else tuple(self.settled)
        return Results(kept, tuple(self.outcomes[run.number] for run in kept), settled)

    def hint(self, folder: Path | None) -> str:
        """What to do after an interruption."""
        done = f"{self.done} of {self.total} runs are finished"
        return (
            f"{done}; error.results has them" if folder is None else f"{done}; the same call again continues {folder}"
        )

    def interrupted(self, folder: Path | None) -> Interrupted:
        """The error of Ctrl-C."""
        error = Interrupted(f"interrupted: {self.hint(folder)}")
        error.results = self.results()
        return error


@contextmanager
def _journal(folder: Path | None, study: Study) -> Iterator[Journal | None]:
    if folder is None:
        yield None
        return
    journal = Journal(folder, study)
    try:
        yield journal
    finally:
        journal.close()


@contextmanager
def _executor(given: Executor | None, workers: int | None) -> Iterator[Executor]:
    """The executor that was given, or processes that end with the study."""
    if given is not None:
        yield given
        return
    own = Processes(workers or _cores())
    try:
        yield own
    finally:
        own.shutdown()


def _in_flight(given: Executor | None, workers: int | None, until: StoppingRule | None) -> int:
    """How many runs are handed out at once: two for each process, so that none waits."""
    if given is None:
        return 2 * (workers or _cores())
    if workers is not None:
        return workers
    return MAX_IN_FLIGHT if until is None else 2 * _cores()


def _cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
