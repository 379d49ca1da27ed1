"""One run of a study, in any process: the result is measured there, and only numbers are sent back."""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from jostle.errors import InvalidValue, JostleError
from jostle.kernels.parallel import one_blas_thread, threads, use_threads
from jostle.result.solution import Solution
from jostle.result.status import FAILED, FINISHED
from jostle.study.cases import RunOf, Subject
from jostle.study.measures import Measure

ONE_THREAD = dict.fromkeys(
    ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
"""Environment of a process in which numba and BLAS use one thread."""
MAX_WORKS = 4
"""Number of studies whose unpickled functions a process keeps."""


@dataclass(frozen=True)
class Work:
    """The part of a study that all runs share: the subject, the measures, and the folder of the trajectories."""

    subject: Subject
    measures: Mapping[str, Measure]
    curves: Mapping[str, Measure]
    trajectories: Path | None


@dataclass(frozen=True)
class Outcome:
    """The status and the results of a run, in types that JSON can store."""

    run: int
    status: str
    measures: dict[str, float] = field(default_factory=dict)
    curves: dict[str, list[float]] = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0
    """Duration of the run."""
    cpu_seconds: float = 0.0
    """CPU time of the thread of the run."""

    @property
    def failed(self) -> bool:
        """Whether the run ended with an error."""
        return bool(self.error)


def execute(work: bytes | Work, run: RunOf) -> Outcome:
    """Do one run on one thread, and measure it. Errors are recorded in the outcome."""
    begin, cpu = time.perf_counter(), time.thread_time()
    try:
        with _one_thread():
            status, measures, curves = _measured(_unpacked(work) if isinstance(work, bytes) else work, run)
        error = ""
    except (Exception, SystemExit) as problem:  # noqa: BLE001 the function of a user may raise anything
        status, measures, curves, error = FAILED, {}, {}, _told(problem)
    return Outcome(run.number, status, measures, curves, error, time.perf_counter() - begin, time.thread_time() - cpu)


@lru_cache(MAX_WORKS)
def _unpacked(work: bytes) -> Work:
    try:
        return pickle.loads(work)  # type: ignore[no-any-return]
    except (AttributeError, ImportError) as error:
        raise InvalidValue(
            f"a function of the study cannot be imported in the process that runs it ({error}): define it at the top "
            f"level of a module that can be imported there, or install cloudpickle"
        ) from None


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread for a run, because several runs at once already use all cores."""
    if ONE_THREAD.items() <= os.environ.items():
        yield
        return
    before = threads()
    use_threads(1)
    try:
        with one_blas_thread():
            yield
    finally:
        use_threads(before)


def _told(problem: BaseException) -> str:
    """The error in one line; errors of other packages with the file and the line where they were raised."""
    words = " ".join(f"{type(problem).__name__}: {problem}".split())
    place = next(iter(traceback.extract_tb(problem.__traceback__)[-1:]), None)
    if type(problem).__module__.startswith("jostle.") or place is None:
        return words
    return f"{words} ({Path(place.filename).name}, line {place.lineno})"


def _measured(work: Work, run: RunOf) -> tuple[str, dict[str, float], dict[str, list[float]]]:
    result = work.subject.run(run.parameters, run.seed)
    if not hasattr(result, "status"):
        if work.measures or work.curves or work.trajectories is not None:
            raise InvalidValue(
                f"measures, curves and trajectories need a Solution, but the run returned {type(result).__name__}"
            )
        return FINISHED, _returned(result), {}
    if work.trajectories is not None:
        _keep(result, work.trajectories / f"{run.number:06d}.vtkhdf", run)
    measures = {name: number(name, measure(result)) for name, measure in work.measures.items()}
    return result.status, measures, {name: numbers(name, curve(result)) for name, curve in work.curves.items()}


def _returned(result: Any) -> dict[str, float]:
    """The results of a function that returns numbers."""
    if isinstance(result, Mapping):
        return {str(name): number(str(name), value) for name, value in result.items()}
    return {"result": number("result", result)}


def number(name: str, value: Any) -> float:
    """The number that a measure returned, as a float or an int; anything else, including NaN, is an error.

    >>> number("mass", np.float32(0.5)), number("people", np.int64(3))
    (0.5, 3)
    """
    if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, int | float):
        shown = f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)[:60]
        raise InvalidValue(f"the measure {name!r} must return one number, not {shown}; lists of numbers are `curves`")
    if math.isnan(value):
        raise InvalidValue(f"the measure {name!r} is NaN (not a number) in this run")
    return value if isinstance(value, float) else int(value)


def numbers(name: str, values: Any) -> list[float]:
    """The numbers that a curve returned; NaN is an error.

    >>> numbers("times", [1, 2.5])
    [1.0, 2.5]
    """
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype.kind not in "biuf":
        raise InvalidValue(
            f"the curve {name!r} must return a list of numbers, not {type(values).__name__} {found.shape}"
        )
    if np.isnan(found.astype(float)).any():
        raise InvalidValue(f"the curve {name!r} has a NaN (not a number) in this run")
    return [float(value) for value in found]


def _keep(result: Any, path: Path, run: RunOf) -> None:
    """Write the trajectory of a run, replacing one left by an earlier attempt."""
    from jostle.io import write

    if not isinstance(result, Solution):
        raise InvalidValue(
            f"trajectories can be kept for runs of bodies only, but this run returned {type(result).__name__}"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        path.unlink()
    about = {f"parameter {name}": str(value) for name, value in run.parameters.items()}
    write(result, path, about={"run": str(run.number), "seed": str(run.seed), **about})


# An executor with processes of this machine, each of which does one run at a time.
#
# `concurrent.futures.ProcessPoolExecutor` gives up all its runs when one of its processes dies. Here each process
# belongs to a thread that waits for it: when a process is killed, its run fails with `WorkerDied`, the other runs
# continue, and the next run of the thread starts a new process. Processes are spawned, so that they share no locks with
# this process.


CANNOT_START = (
    "the processes that do the runs cannot start, see the error above. A program that calls sweep must protect its "
    'main part with `if __name__ == "__main__":`, because each process imports it first'
)
"""Message about processes that end with an error before their first run."""


class WorkerDied(JostleError, RuntimeError):
    """The process that did a run ended before the run was finished."""


class NoWorkers(JostleError, RuntimeError):
    """Processes that do runs cannot be started."""


class Processes(Executor):
    """An executor with `count` processes; `shutdown` kills those that are still running.

    >>> Processes(1).shutdown()                      # processes start with the first run that they do
    """

    def __init__(self, count: int) -> None:
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="jostle-sweep")
        self._local = threading.local()
        self._lock = threading.Lock()
        self._alive: set[_Process] = set()
        self._over = False

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Call function(*arguments) in one of the processes and return a future; all must be picklable."""
        return self._threads.submit(self._call, function, arguments, named)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Kill all processes; runs that are not finished are lost."""
        with self._lock:
            self._over = True
            alive, self._alive = self._alive, set()
        self._threads.shutdown(wait=False, cancel_futures=cancel_futures)
        for process in alive:
            process.kill()
        self._threads.shutdown(wait=wait)

    def _call(self, function: Callable[..., Any], arguments: Any, named: Any) -> Any:
        process = getattr(self._local, "process", None) or self._started()
        try:
            return process.call(function, arguments, named)
        except (WorkerDied, NoWorkers):
            self._local.process = None
            with self._lock:
                self._alive.discard(process)
            process.kill()
            raise

    def _started(self) -> _Process:
        with self._lock:
            if self._over:
                raise WorkerDied("the study has ended")
            try:
                process = self._local.process = _Process()
            except (
                OSError,
                AssertionError,
            ) as error:  # too many processes, or a daemonic process, which cannot have children
                raise NoWorkers(f"cannot start a process for the runs: {error}") from None
            self._alive.add(process)
        return process


class _Process:
    """One process and the pipe to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._ready = False
        self._process = context.Process(target=_serve, args=(theirs,))
        with _environment(ONE_THREAD):
            self._process.start()
        theirs.close()

    def call(self, function: Callable[..., Any], arguments: Any, named: Any) -> Any:
        try:
            self._ready = self._ready or self._pipe.recv()
            self._pipe.send((function, arguments, named))
            return self._pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            if not self._ready and (self._process.exitcode or 0) > 0:
                raise NoWorkers(CANNOT_START) from None
            raise WorkerDied(_ending(self._process.exitcode)) from None

    def kill(self) -> None:
        """End the process; its thread then finds the pipe closed."""
        self._process.kill()
        self._process.join()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for the processes that are started in this context."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is not None and code < 0:
        with suppress(ValueError):
            return f"the process was killed by {signal.Signals(-code).name}"
    return f"the process ended with exit code {code}"


def _serve(pipe: Connection) -> None:
    """Do the calls that come through the pipe until it is closed. The parent process handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        pipe.send(True)
        while True:
            function, arguments, named = pipe.recv()
            pipe.send(function(*arguments, **named))
