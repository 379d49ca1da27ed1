"""Threads: how many there may be, the one pool of them, and work that is cut into pieces for them.

Kernels run without Python's global lock, so threads can share their rows, and nothing is compiled twice. Results do not
depend on the number of pieces, as long as a piece computes each of its rows as if it were alone.

There are two kinds of pieces. Pieces of `together` are independent: the caller does pieces as well, and a thread that
wakes up late costs nothing but its help. Pieces of `in_step` wait for each other in compiled code (see `cpu.meeting`),
so each of them has a thread of its own; the caller only waits, which Ctrl-C can interrupt.

The pool works for one caller at a time, and other callers work alone meanwhile, those inside a piece included: no
thread ever waits for one that has something else to do. Ctrl-C may come between any two calls. What it must not divide
is therefore a single call in C, such as that by which a thread is given a job; Python's executors and conditions can
keep a lock forever if they are interrupted.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
from itertools import count, pairwise
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

import numpy as np

from jostle._tools.arrays import Array

Result = TypeVar("Result")

MAX_THREADS = 512
"""Largest number of threads."""
ROWS_A_CHUNK = 20_000
"""A thread is given at least this many rows: with fewer, starting the pieces costs more than they gain."""
PIECES, ROWS_A_PIECE = 4, 80_000
"""NumPy's functions take Python's lock, for which many threads would wait: rows are cut into at most PIECES pieces for
them, or into pieces of ROWS_A_PIECE rows."""
MOST_LOST = 0.6
"""Part of the time that the others may wait for a member of a team."""
FEWER_FOR = 1.0
"""Seconds until a team that had to wait has all of its threads again."""

# ---------------------------------------------------------------------------------------------------------------------
# How many threads
# ---------------------------------------------------------------------------------------------------------------------

_forked = False
"""Whether this process is a forked child. It then uses one thread, since forked processes usually share the cores."""


def threads() -> int:
    """How many threads the kernels use: all cores, or as many as NUMBA_NUM_THREADS or numba.set_num_threads say.

    One in a child that was forked off (start children by `spawn` to give them more).
    """
    if _forked:
        return 1
    if "numba" not in sys.modules:  # nobody has changed the number yet, and numba takes a second to import
        return min(_cores(), MAX_THREADS)
    import numba

    return min(int(numba.get_num_threads()), MAX_THREADS)


def _cores() -> int:
    """How many threads numba will have: NUMBA_NUM_THREADS, or the cores that this process may use."""
    told = os.environ.get("NUMBA_NUM_THREADS", "")
    if told:
        return int(told)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def most_threads() -> int:
    """The most threads that can be asked for: the cores that there are, or NUMBA_NUM_THREADS."""
    import numba

    return int(numba.config.NUMBA_NUM_THREADS)


def use_threads(count: int) -> None:
    """Set the number of threads that the kernels use, from 1 to `most_threads`."""
    import numba

    numba.set_num_threads(count)


# ---------------------------------------------------------------------------------------------------------------------
# The pool
# ---------------------------------------------------------------------------------------------------------------------


class _Job:
    """Pieces of work, each of which is done once, by whoever takes it first. `abandon` is called if a piece fails."""

    def __init__(self, work: Callable[..., Any], pieces: Sequence[tuple[Any, ...]], abandon: Callable[[], object]):
        self.work, self.pieces, self.abandon, self.context = work, pieces, abandon, copy_context()
        self.results: list[Any] = [None] * len(pieces)
        self.errors: dict[int, BaseException] = {}
        self.todo, self.finished = iter(range(len(pieces))), count(1)  # Python's lock makes each next() a whole
        self.all_done = Lock()
        self.all_done.acquire()

    def help(self) -> None:
        """Do pieces until none is left; after an error, leave out those that nobody has begun."""
        for piece in self.todo:
            try:
                if not self.errors:
                    self.results[piece] = self.context.copy().run(self.work, *self.pieces[piece])
            except BaseException as error:  # noqa: BLE001 - the caller raises it
                self.errors[piece] = error
                self.abandon()
            finally:
                if next(self.finished) == len(self.pieces):
                    self.all_done.release()

    def run(self, workers: list[_Worker], caller_helps: bool) -> list[Any]:
        """Do the pieces with some workers, and return the results; raises the error of the first piece that failed."""
        try:
            for worker in workers:
                worker.given.put(self)
            if caller_helps:
                self.help()
            self.all_done.acquire()
        except BaseException as error:  # Ctrl-C: nothing new is begun, and what is begun ends
            self.errors.setdefault(len(self.pieces), error)
            self.abandon()
            while any(worker.job is self for worker in workers):
                time.sleep(1e-3)
            raise
        if self.errors:
            raise self.errors[min(self.errors)]
        return self.results


class _Worker(Thread):
    """A thread that sleeps until it is given a job. It never ends."""

    def __init__(self) -> None:
        super().__init__(name="jostle", daemon=True)
        self.given: SimpleQueue[_Job] = SimpleQueue()
        self.job: _Job | None = None

    def run(self) -> None:
        while True:
            self.job = self.given.get()
            with suppress(BaseException):  # of `abandon`: the job has the error that came before
                self.job.help()
            self.job = None  # its arrays are not kept while the thread sleeps


_workers: list[_Worker] = []
_at_work, _end_is_near = Lock(), False
"""Held by whoever has the pool; and whether nobody will have it any more."""


def _is_free() -> bool:
    """Whether the pool can be had. Whoever takes it says `with _at_work`, which Ctrl-C never leaves locked."""
    return not (_end_is_near or _at_work.locked())


def _started(wanted: int) -> list[_Worker]:
    """The first workers, which are started when they are first needed; fewer if no more can be started."""
    while len(_workers) < min(wanted, MAX_THREADS):
        worker = _Worker()
        try:
            worker.start()
        except RuntimeError:  # the interpreter is about to end, or there are too many threads
            break
        _workers.append(worker)
    return _workers[:wanted]


@atexit.register
def _end() -> None:
    """The process ends: wait until no worker is in compiled code, which is about to be removed."""
    global _end_is_near
    _end_is_near = True
    _at_work.acquire()
    while any(worker.job is not None for worker in _workers):
        time.sleep(1e-4)


def _start_anew() -> None:
    """A forked child has only the thread that forked it: no worker, and nobody who unlocks what was locked."""
    global _at_work, _end_is_near, _forked, _limit
    _workers.clear()
    _at_work, _end_is_near, _forked = Lock(), False, True
    inherited, _limit = _limit, _BlasLimit()
    if inherited.users:
        inherited.restore()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


# ---------------------------------------------------------------------------------------------------------------------
# Pieces that are independent
# ---------------------------------------------------------------------------------------------------------------------


def together(work: Callable[..., Result], pieces: Sequence[tuple[Any, ...]]) -> list[Result]:
    """[work(*piece) for piece in pieces]: each thread takes the next piece when it has finished one; waits for all.

    >>> together(pow, [(2, 3), (3, 2), (5, 1)])
    [8, 9, 5]
    """
    helpers = min(threads(), len(pieces)) - 1 if len(pieces) > 1 else 0
    if helpers > 0 and _is_free():
        with _at_work:
            return _Job(work, pieces, int).run(_started(helpers), caller_helps=True)
    return [work(*piece) for piece in pieces]


def chunks_of(rows: int, least: int | None = None) -> int:
    """The number of pieces into which rows are cut: one for each thread, unless they had fewer than `least` rows."""
    least = ROWS_A_CHUNK if least is None else least
    return max(1, min(threads(), rows // least)) if rows >= 2 * least else 1


def cut(count: int, chunks: int) -> list[tuple[int, int]]:
    """The (first, last) of chunks of about equal size that make up 0 to count.

    >>> cut(10, 3)
    [(0, 3), (3, 6), (6, 10)]
    """
    if chunks == 1:
        return [(0, count)]
    return list(pairwise(count * r // chunks for r in range(chunks + 1)))


def by_rows(kernel: Callable[..., Array], rows: tuple[Any, ...], *others: Any) -> Array:
    """kernel(*rows, *others), one number a row: all threads share the rows if there are many.

    Arrays that are not NumPy's go to the kernel as they are.

    >>> by_rows(lambda x, y, factor: factor * (x + y), (np.arange(3.0), np.ones(3)), 2.0)
    array([2., 4., 6.])
    """
    count = len(rows[0])
    if count < 2 * ROWS_A_CHUNK or not isinstance(rows[0], np.ndarray):
        return kernel(*rows, *others)
    chunks = min(chunks_of(count), max(PIECES, count // ROWS_A_PIECE))
    out = np.empty(count)

    def fill(first: int, last: int) -> None:
        out[first:last] = kernel(*(array[first:last] for array in rows), *others)

    together(fill, cut(count, chunks))
    return out


def all_finite(array: Any) -> bool:
    """Whether all entries of an array are finite.

    >>> all_finite(np.ones((2, 3))), all_finite(np.array([1.0, np.nan]))
    (True, False)
    """
    return bool(np.isfinite(array).all())


# ---------------------------------------------------------------------------------------------------------------------
# Pieces that wait for each other
# ---------------------------------------------------------------------------------------------------------------------

Divided = Callable[[int], tuple[Callable[..., Result], Sequence[tuple[Any, ...]]]]
"""A function of the number of threads: what all of them do, and the arguments of each."""


def in_step(most: int, divided: Divided[Result], abandon: Callable[[], object]) -> tuple[Result, int]:
    """Work that is divided between at most `most` threads, which wait for each other; the result of the first thread,
    and how many threads there were.

    There is one while the pool works for somebody else, and where no threads can be started; fewer for some time after
    a team has waited for cores, see `judge`. If a thread fails, or the caller is interrupted, `abandon` tells those
    that wait.

    >>> in_step(1, lambda members: (pow, [(2, 3), (3, 2)][:members]), print)
    (8, 1)
    """
    if time.monotonic() < _fewer.until:
        most = min(most, _fewer.members)
    if most > 1 and _is_free():
        with _at_work:
            team = _started(most)
            if len(team) > 1:
                work, pieces = divided(len(team))
                on_cores = [(core, work, *piece) for core, piece in zip(_cores_for(len(team)), pieces, strict=True)]
                return _Job(_on_core, on_cores, abandon).run(team, caller_helps=False)[0], len(team)
    work, pieces = divided(1)
    return work(*pieces[0]), 1


@dataclass
class _Fewer:
    """How many threads may work in step until some time."""

    members: int = 1
    until: float = 0.0
    late_before: bool = False


_fewer = _Fewer()


def judge(members: int, late: float, whole: float) -> None:
    """Let fewer threads work in step for a while if those of a team waited for each other for most of the time.

    All others wait while one of them has no core, since other programs use it, or while it alone has work. `late` is
    how long they did, added up, and `whole` how long they worked. Half as many threads are faster then. Once may be
    chance, or the time to start the threads: it must happen twice in a row.
    """
    if members == 1:
        return
    too_late = late > MOST_LOST * (members - 1) * whole
    if too_late and _fewer.late_before:
        _fewer.members, _fewer.until = max(1, members // 2), time.monotonic() + FEWER_FOR
    _fewer.late_before = too_late


def _cores_for(members: int) -> list[int | None]:
    """A core for each member of a team that needs all cores; else None for each: the system chooses."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return [*cores] if len(cores) == members else [None] * members


def _on_core(core: int | None, work: Callable[..., Result], *arguments: Any) -> Result:
    """work(*arguments), begun on a certain core.

    Otherwise the system may let two threads begin on the same core, and separate them only after ten milliseconds, if
    the core of their caller was not free yet when they were woken.
    """
    if core is not None:
        allowed = os.sched_getaffinity(0)
        with suppress(OSError):  # the cores that may be used have just changed
            os.sched_setaffinity(0, {core})
            os.sched_setaffinity(0, allowed)
    return work(*arguments)


# ---------------------------------------------------------------------------------------------------------------------
# The threads of BLAS
# ---------------------------------------------------------------------------------------------------------------------


@cache
def _blas_libraries() -> list[Any]:
    # Numba's products are SciPy's, whose BLAS it loads at the first one: only a library that is there can be limited.
    import scipy.linalg.cython_blas  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


class _BlasLimit:
    """The limit of one thread, which all threads of this process that are in `one_blas_thread` share."""

    def __init__(self) -> None:
        self.lock, self.users = Lock(), 0
        self.before: list[int] = []

    def enter(self) -> None:
        """The first user remembers how many threads BLAS had, and sets one."""
        with self.lock:
            if self.users == 0:
                self.before = [library.get_num_threads() for library in _blas_libraries()]
                for library in _blas_libraries():
                    library.set_num_threads(1)
            self.users += 1

    def leave(self) -> None:
        """The last user gives BLAS its threads back."""
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.restore()

    def restore(self) -> None:
        for library, before in zip(_blas_libraries(), self.before, strict=True):
            library.set_num_threads(before)


_limit = _BlasLimit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS uses one thread, since for small matrices its threads wait longer than they work.

    The limit holds for the whole process, until the last user has left.
    """
    shared = _limit
    shared.enter()
    try:
        yield
    finally:
        shared.leave()
