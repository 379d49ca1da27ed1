"""An executor with processes of this machine, each of which does one run at a time.

`concurrent.futures.ProcessPoolExecutor` gives up all its runs when one of its processes dies. Here each process belongs
to a thread that waits for it: when a process is killed, its run fails with `WorkerDied`, the other runs continue, and
the next run of the thread starts a new process. Processes are spawned, so that they share no locks with this process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

from jostle.ensembles.executing import ONE_THREAD
from jostle.errors import JostleError

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
