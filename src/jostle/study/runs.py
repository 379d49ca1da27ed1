"""The loop over the runs of a study: on any executor, with retries, a journal, and a stopping rule."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle._tools.arguments import Count, check_arguments
from jostle.errors import FileIsThere, Interrupted, InvalidValue, JostleError, MissingPackage, NotReproducible, warn
from jostle.io.new_files import TRAJECTORY_SUFFIXES
from jostle.result.status import FAILED
from jostle.study.cases import SEED, RunOf, Study, packed, seed_of
from jostle.study.executing import NoWorkers, Outcome, Processes, Work, execute
from jostle.study.journal import TRAJECTORIES, Journal, description, outcomes
from jostle.study.repetitions import StoppingRule
from jostle.study.tables import FORMATS, Results, write_table

POLL_SECONDS = 0.2
"""Longest wait for a run to finish, in seconds, before checking for Ctrl-C."""
MAX_ATTEMPTS = 3
"""Number of attempts for a run whose process dies."""
MAX_IN_FLIGHT = 1000
"""Largest number of runs handed to an executor at once."""


class ExecutorBroke(JostleError, RuntimeError):
    """An executor given to `sweep` takes no more runs; ``error.results`` has the finished runs."""

    results: Any = None


@dataclass(frozen=True)
class StudyProgress:
    """Progress of a study, passed to ``sweep(..., progress=...)``.

    Attributes
    ----------
    step : int
        Number of finished runs, including those of earlier sessions.
    steps : int
        Number of all runs; a stopping rule may reduce it.
    failed : int
        Number of runs that failed.

    Examples
    --------
    >>> StudyProgress(step=3, steps=10, failed=1)
    StudyProgress(step=3, steps=10, failed=1)
    """

    step: int
    steps: int
    failed: int


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
    """Run a study on all cores or on a cluster.

    A run whose process dies is tried three times. The error of a run is recorded, and the other runs continue. A
    program that calls `sweep` without an executor needs ``if __name__ == "__main__":`` around its main part.

    Parameters
    ----------
    study : Study
        The study.
    executor : concurrent.futures.Executor, optional
        Executor that does the runs, such as Dask's ``client.get_executor()``. None: processes of this machine, each
        with one thread.
    workers : int, optional
        Number of processes, or of runs that are handed to a given executor at once. None: one process per core.
    folder : str or path, optional
        Folder to which each finished run is written at once. The same call continues a study that was interrupted, or
        extends it if `repeat` has grown; the table is the same as without interruption. One of the finished runs is
        repeated first, to see whether the functions still give its results. None: no files.
    until : PreciseMean or SettledCurves, optional
        Rule that ends the repetitions of a case early; `study.repeat` is then their largest number. None: all
        repetitions.
    retry_failed : bool, default False
        Whether runs that failed in an earlier session are repeated.
    progress : callable (StudyProgress) -> None, optional
        Called after each run. None: nothing is called.

    Returns
    -------
    Results
        One row per run, in the order of the run numbers.

    Raises
    ------
    FileIsThere
        If the folder contains another study or other files, or the run that is repeated gives other results.
    FileInUse
        If another process runs the study in this folder.
    Interrupted
        After Ctrl-C; `error.results` has the finished runs.
    ExecutorBroke
        If the executor takes no more runs; `error.results` has the finished runs.

    Examples
    --------
    >>> import jostle as jo
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> study = Study("cradle_apart", over=[{"run.t": 0.1}, {"run.t": 0.2}], measures=["kinetic_energy"])
    >>> with ThreadPoolExecutor(1) as threads:
    ...     sweep(study, executor=threads)["kinetic_energy"].round(6).tolist()
    [0.5, 0.5]
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise InvalidValue('sweep was called again by one of its own processes: put `if __name__ == "__main__":` '
                           "around the main part of the program")  # fmt: skip
    if until is not None:
        until.check(study)
    place = None if folder is None else Path(folder)
    if place is not None and place.suffix.lower() in (*FORMATS, *TRAJECTORY_SUFFIXES):
        raise InvalidValue(
            f"a study writes a folder, and {place.name!r} is the name of a file: choose a name such as "
            f"{place.stem or 'study'!r}; the folder will have table.csv and summary.csv"
        )
    if study.trajectories and place is None:
        raise InvalidValue("folder is missing: a study with trajectories needs a folder")
    trajectories = None if place is None or not study.trajectories else place.absolute() / TRAJECTORIES
    work: bytes | Work = Work(study.subject, study.measured, study.traced, trajectories)
    if not isinstance(executor, ThreadPoolExecutor):  # threads share the functions, which then need not be picklable
        work = packed(work)
    with _journal(place, study) as journal:
        sweeping = _Sweep(study, until, journal, retry_failed, progress)
        try:
            with _executor(executor, workers) as chosen:
                if place is not None:
                    again = Work(study.subject, study.measured, study.traced, None)
                    sweeping.check_same_results(chosen, packed(again) if isinstance(work, bytes) else again, place)
                sweeping.loop(chosen, work, sweeping.pending(), _in_flight(executor, workers, until), sweeping.finish)
        except KeyboardInterrupt as error:
            raise sweeping.interrupted(place, error) from None
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
    """The state of a running study."""

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
        """Number of repetitions of each case."""
        self.settled = [False] * len(study.cases)
        self.looked = [0] * len(study.cases)
        """Number of repetitions of each case to which the rule was applied."""
        self.total, self.done, self.failed = study.runs, 0, 0
        self._count()
        for case in range(len(study.cases)):
            self._apply_rule(case)

    def wanted(self, number: int) -> bool:
        """Whether the run belongs to the study, by the outcomes so far."""
        repetition, case = divmod(number, len(self.study.cases))
        return repetition < self.ends[case]

    def _count(self) -> None:
        """Count the finished and failed runs again."""
        done = [outcome for number, outcome in self.outcomes.items() if self.wanted(number)]
        self.total, self.done = sum(self.ends), len(done)
        self.failed = sum(outcome.failed for outcome in done)

    def pending(self) -> Iterator[RunOf]:
        """The runs that are not finished, in the order of their numbers."""
        for number in range(self.study.runs):
            if number not in self.outcomes and self.wanted(number):
                yield self.study.run(number)

    def check_same_results(self, executor: Executor, work: bytes | Work, folder: Path) -> None:
        """Repeat one finished run, and refuse a folder whose results the functions of the study do not give now."""
        # The run of middle duration is repeated: short ones may be special cases, and long ones take long. If it gives
        # other results each time, the results say nothing about the functions, and the user is warned.
        finished = (one for one in self.outcomes.values() if self.wanted(one.run) and not one.failed)
        done = sorted(finished, key=lambda one: one.seconds)
        if not done:
            return
        before, found = done[len(done) // 2], list[Outcome]()
        run = self.study.run(before.run)
        self.loop(executor, work, iter([run]), 1, lambda _, outcome: found.append(outcome))
        if (different := _other_results(before, found[0])) is None:
            return
        self.loop(executor, work, iter([run]), 1, lambda _, outcome: found.append(outcome))
        if _other_results(*found) is None:
            raise FileIsThere(
                f"{folder} contains a study with other functions: in run {run.number}, {different}. Choose another "
                f"folder, or remove this one"
            )
        warn(
            f"run {run.number} gives other results each time it is repeated, so the functions of the study cannot be "
            f"compared with those of {folder}: {different}",
            NotReproducible,
        )

    def loop(
        self,
        executor: Executor,
        work: bytes | Work,
        pending: Iterator[RunOf],
        most: int,
        finish: Callable[[RunOf, Outcome], object],
    ) -> None:
        """Hand runs to the executor until all are finished; `finish` is called for each of them."""
        attempts = dict[int, int]()
        flying: dict[Future[Outcome], RunOf] = {}
        self._tell()
        try:
            while True:
                while len(flying) < most and (run := next(pending, None)) is not None:
                    flying[executor.submit(execute, work, run)] = run
                if not flying:
                    return
                done, _ = wait(flying, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda future: flying[future].number):
                    run = flying.pop(future)
                    problem = None if future.cancelled() else future.exception()
                    if isinstance(problem, BrokenExecutor | NoWorkers | KeyboardInterrupt):
                        raise problem
                    if problem is None and not future.cancelled():
                        finish(run, future.result())
                        continue
                    attempts[run.number] = attempts.get(run.number, 0) + 1
                    words = "was cancelled" if problem is None else f"{type(problem).__name__}: {problem}"
                    if attempts[run.number] < MAX_ATTEMPTS:
                        flying[executor.submit(execute, work, run)] = run
                    else:
                        error = f"the process that did the run died {MAX_ATTEMPTS} times: {' '.join(words.split())}"
                        finish(run, Outcome(run.number, FAILED, error=error))
                for future in [future for future, run in flying.items() if not self.wanted(run.number)]:
                    future.cancel()
                    del flying[future]
        finally:
            for future in flying:
                future.cancel()

    def finish(self, run: RunOf, outcome: Outcome) -> None:
        """Record the outcome of a run."""
        if not self.wanted(run.number):
            return
        if self.journal is not None:
            self.journal.add(outcome)
        self.outcomes[run.number] = outcome
        self.done, self.failed = self.done + 1, self.failed + outcome.failed
        self._apply_rule(run.case)
        self._tell()

    def _apply_rule(self, case: int) -> None:
        """Apply the rule to the runs of a case up to the first missing one, repetition by repetition."""
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
        """How to continue after an interruption."""
        done = f"{self.done} of {self.total} runs are finished"
        return f"{done}; error.results has them" if folder is None else f"{done}; repeat the call to continue {folder}"

    def interrupted(self, folder: Path | None, by: KeyboardInterrupt) -> Interrupted:
        """The error raised after Ctrl-C, or another signal."""
        error = Interrupted(f"interrupted: {self.hint(folder)}")
        error.results, error.signal = self.results(), getattr(by, "signal", error.signal)
        return error


def _other_results(before: Outcome, after: Outcome) -> str | None:
    """The first result that differs between two outcomes of a run, in words; None if there is none."""
    if after.failed:
        return f"it ended with the error {after.error}"
    for name in (*before.measures, *after.measures, *before.curves, *after.curves):
        old, new = ({**one.measures, **one.curves}.get(name, "nothing") for one in (before, after))
        if old != new:
            return f"{name} was {old}, now {new}" if name in before.measures else f"{name} has changed"
    return None if before.status == after.status else f"its status was {before.status}, now {after.status}"


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
    """The given executor, or processes that end with the study."""
    if given is not None:
        yield given
        return
    own = Processes(workers or _cores())
    try:
        yield own
    finally:
        own.shutdown()


def _in_flight(given: Executor | None, workers: int | None, until: StoppingRule | None) -> int:
    """Number of runs that are handed out at once: two per process, so that none is idle."""
    if given is None:
        return 2 * (workers or _cores())
    if workers is not None:
        return workers
    return MAX_IN_FLIGHT if until is None else 2 * _cores()


def _cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Reading the results of a study from its folder, also while it runs.


@check_arguments
def read(folder: str | os.PathLike[str]) -> Results:
    """Read the results of all finished runs from the folder of a study, also while the study runs.

    Parameters
    ----------
    folder : str or path
        The folder that was given to `sweep`.

    Returns
    -------
    Results
        The results of the finished runs.

    Raises
    ------
    BrokenFile
        If a file of the study is damaged.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> study = jo.study.Study("cradle_apart", over=[{"run.t": 0.1}], measures=["end_time"])
    >>> with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as threads:
    ...     results = jo.study.sweep(study, executor=threads, folder=folder + "/study")
    ...     read(folder + "/study")["end_time"].tolist()
    [0.1]
    """
    place = Path(folder)
    said, known = description(place), outcomes(place)
    identity, cases = said["identity"], said["identity"]["cases"]
    runs = []
    for number in sorted(known):
        repetition, case = divmod(number, len(cases))
        if said["repetitions"] is not None and repetition >= said["repetitions"][case]:
            continue  # the run was in progress when the stopping rule was met
        seed = cases[case].get(SEED, seed_of(identity["seed"], number))
        runs.append(RunOf(number, case, repetition, seed, cases[case]))
    return Results(tuple(runs), tuple(known[run.number] for run in runs))
