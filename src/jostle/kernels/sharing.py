"""Work that several threads do at the same time: pieces of rows or of bodies, each of which writes its own results.

Kernels run without Python's global lock, so that threads can share their rows, and nothing is compiled twice. Results
do not depend on the number of pieces, as long as a piece computes each of its rows as if it were alone.

Pieces of kernels are done by a `crew`, where there is one; pieces of other functions are done by Python's threads (see
`workers`). Pieces that wait for each other (`in_step`) must all run at the same time, each on a thread of its own, of
an executor. The caller waits for them and stays free for Ctrl-C.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jostle.arrays import Array
from jostle.kernels.threads import MAX_THREADS, threads
from jostle.kernels.workers import Job

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Result = TypeVar("Result")

ROWS_A_CHUNK = 20_000
"""A thread is given at least this many rows: with fewer, starting the pieces costs more than they gain."""
PIECES, ROWS_A_PIECE = 4, 80_000
"""NumPy's functions take Python's lock, for which many threads would wait: rows are cut into at most PIECES pieces for
them, or into pieces of ROWS_A_PIECE rows."""
MOST_LOST = 0.6
"""Part of the time that the others may wait for a member of a team."""
FEWER_FOR = 1.0
"""Seconds until a team that had to wait has all of its threads again."""
NUMBERS_A_CHUNK = 250_000
"""A thread is given at least this many numbers to copy, or to look at once."""


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


def together(work: Callable[..., Result], pieces: Sequence[tuple[Any, ...]]) -> list[Result]:
    """[work(*piece) for piece in pieces]: each thread takes the next piece when it has finished one; waits for all.

    >>> together(pow, [(2, 3), (3, 2), (5, 1)])
    [8, 9, 5]
    """
    helpers = min(threads(), len(pieces)) - 1
    if helpers < 1:
        return [work(*piece) for piece in pieces]
    if not hasattr(type(work), "packed"):
        return Job(work, pieces).run(helpers)
    from jostle.kernels.cpu.crew import crew

    results: list[Result] | None = crew().share(work.packed, pieces, helpers)  # type: ignore[attr-defined]
    return [work(*piece) for piece in pieces] if results is None else results


@contextmanager
def team(chunks: int) -> Iterator[int]:
    """Yield how many threads may work in step: `chunks`, or one while another team is at work or the process ends.

    They are fewer for some time after a team has waited for cores, see `judge`.
    """
    lock = _at_work()
    if time.monotonic() < _fewer.until:
        chunks = min(chunks, _fewer.members)
    if chunks == 1 or not _ready() or lock.locked():
        yield 1
        return
    with lock:  # Ctrl-C never leaves it locked, unlike after acquire()
        yield chunks


@dataclass
class Fewer:
    """How many threads may work in step until some time."""

    members: int = 1
    until: float = 0.0
    late_before: bool = False


_fewer = Fewer()


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


def in_step(work: Callable[..., Result], pieces: Sequence[tuple[Any, ...]], abandon: Callable[[], object]) -> Result:
    """work(*piece) for each of the pieces, which wait for each other, on threads of a `team`; what the first returns.

    If not all of them can be started, one of them fails, or the caller is interrupted, `abandon` tells those that wait.
    """
    if len(pieces) == 1:
        return work(*pieces[0])
    from concurrent.futures import FIRST_EXCEPTION, wait

    waiting, cores = [], _cores_for(len(pieces))
    try:
        for core, piece in zip(cores, pieces, strict=True):
            waiting.append(_pool().submit(copy_context().run, _on_core, core, work, *piece))
        for one in wait(waiting, return_when=FIRST_EXCEPTION).done:
            one.result()
        return waiting[0].result()
    except BaseException:
        abandon()
        raise
    finally:
        wait(waiting)


def _cores_for(members: int) -> list[int | None]:
    """A core for each member of a team that needs all cores; else None for each: the system chooses."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return [*cores] if len(cores) == members else [None] * members


def _on_core(core: int | None, work: Callable[..., Result], *piece: Any) -> Result:
    """work(*piece), begun on a certain core.

    Otherwise the system may let two threads begin on the same core, and separate them only after ten milliseconds, if
    the core of their caller was not free yet when they were woken.
    """
    if core is not None:
        allowed = os.sched_getaffinity(0)
        with suppress(OSError):  # the cores that may be used have just changed
            os.sched_setaffinity(0, {core})
            os.sched_setaffinity(0, allowed)
    return work(*piece)


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
    chunks = chunks_of(array.size, NUMBERS_A_CHUNK) if isinstance(array, np.ndarray) else 1
    if chunks == 1:
        return bool(np.isfinite(array).all())
    flat = array.reshape(-1)
    return all(together(_finite, [(flat[first:last],) for first, last in cut(len(flat), chunks)]))


def _finite(array: Array) -> bool:
    return bool(np.isfinite(array).all())


def copy_all(copies: Sequence[tuple[Any, Any]]) -> None:
    """to[:] = source for each (to, source) of the same length; all threads share them if there is much to copy.

    >>> to = np.zeros(3)
    >>> copy_all([(to[:1], np.ones(1)), (to[1:], np.arange(2.0))])
    >>> to.tolist()
    [1.0, 0.0, 1.0]
    """
    several = all(isinstance(to, np.ndarray) for to, _ in copies)
    chunks = chunks_of(sum(to.size for to, _ in copies), NUMBERS_A_CHUNK) if several else 1

    def copy(piece: int) -> None:
        for to, source in copies:
            part = slice(len(to) * piece // chunks, len(to) * (piece + 1) // chunks)
            to[part] = source[part]

    together(copy, [(piece,) for piece in range(chunks)])


def concatenated(arrays: Sequence[Any]) -> Any:
    """The arrays one after the other, the array itself if there is only one.

    >>> concatenated([np.zeros(1), np.ones(2)]).tolist()
    [0.0, 1.0, 1.0]
    """
    if len(arrays) == 1:
        return arrays[0]
    if not isinstance(arrays[0], np.ndarray) or sum(array.size for array in arrays) < 2 * NUMBERS_A_CHUNK:
        return np.concatenate(arrays)
    ends = np.cumsum([len(array) for array in arrays]).tolist()
    out = np.empty((ends[-1], *arrays[0].shape[1:]), np.result_type(*arrays))
    copy_all([(out[end - len(array) : end], array) for end, array in zip(ends, arrays, strict=True)])
    return out


def _ready() -> bool:
    """Can threads still be given work? Not when the interpreter is about to end, nor where no thread can be started."""
    try:
        _pool().submit(int)
    except RuntimeError:
        return False
    return True


@cache
def _pool() -> ThreadPoolExecutor:
    """The threads, which are started when they are first needed."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="jostle")


@cache
def _at_work() -> Lock:
    """Held by the team that is at work: threads of two teams would wait for each other's cores."""
    return Lock()


if hasattr(os, "register_at_fork"):  # the threads stay with the parent
    os.register_at_fork(after_in_child=_pool.cache_clear)
    os.register_at_fork(after_in_child=_at_work.cache_clear)
