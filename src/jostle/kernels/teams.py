"""Threads in step: pieces of work that wait for each other, so that each needs a thread of its own.

The caller waits for them and stays free for Ctrl-C, which may come at any moment. What an interrupt must not divide is
therefore a single call in C, such as that by which a thread is given its piece. Python's executors and conditions can
keep a lock forever if they are interrupted.

While a team is at work, others work alone: threads of two teams would wait for each other.
"""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from jostle.kernels.threads import MAX_THREADS

Result = TypeVar("Result")

MOST_LOST = 0.6
"""Part of the time that the others may wait for a member of a team."""
FEWER_FOR = 1.0
"""Seconds until a team that had to wait has all of its threads again."""


class Piece:
    """What one thread does, and its result or its error."""

    __slots__ = ("arguments", "context", "done", "error", "lock", "result")

    def __init__(self, *arguments: Any):
        self.arguments, self.context = arguments, copy_context()
        self.result: Any = None
        self.error: BaseException | None = None
        self.done, self.lock = False, Lock()
        self.lock.acquire()

    def do(self, abandon: Callable[[], object]) -> None:
        """Do it; if it fails, `abandon` tells the others, which wait for it."""
        try:
            self.result = self.context.run(*self.arguments)
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            self.error = error
            abandon()
        finally:
            self.done = True
            self.lock.release()

    def wait(self) -> None:
        """Wait until it is done; once more, if the first time was interrupted."""
        if not self.done:
            self.lock.acquire()


class Member(Thread):
    """A thread that does the pieces it is given. It never ends."""

    def __init__(self) -> None:
        super().__init__(name="jostle", daemon=True)
        self.given: SimpleQueue[tuple[Piece, Callable[[], object]]] = SimpleQueue()

    def run(self) -> None:
        while True:
            piece, abandon = self.given.get()
            piece.do(abandon)
            del piece, abandon  # their arrays are not kept while the thread sleeps


Divided = Callable[[int], tuple[Callable[..., Result], Sequence[tuple[Any, ...]]]]
"""A function of the number of threads: what all of them do, and the arguments of each."""


def in_step(most: int, divided: Divided[Result], abandon: Callable[[], object]) -> tuple[Result, int]:
    """Work that is divided between at most so many threads, which wait for each other; what the first one returns, and
    how many there were.

    There is one while another team is at work, and where no threads can be started; fewer for some time after a team
    has waited for cores, see `judge`. If one of them fails, or the caller is interrupted, `abandon` tells those that
    wait.

    >>> in_step(1, lambda members: (pow, [(2, 3), (3, 2)][:members]), print)
    (8, 1)
    """
    if time.monotonic() < _fewer.until:
        most = min(most, _fewer.members)
    if most > 1 and not (_end_is_near or _at_work.locked()):
        with _at_work:  # up to Python 3.13, an interrupt never leaves it locked, unlike after acquire()
            threads = _started(most)
            if len(threads) > 1:
                return _by_members(threads, *divided(len(threads)), abandon), len(threads)
    work, pieces = divided(1)
    return work(*pieces[0]), 1


def _by_members(
    threads: list[Member],
    work: Callable[..., Result],
    pieces: Sequence[tuple[Any, ...]],
    abandon: Callable[[], object],
) -> Result:
    """What the first thread returns, when all of them have done their pieces."""
    given: list[Piece] = []
    try:
        for thread, core, arguments in zip(threads, _cores_for(len(threads)), pieces, strict=True):
            piece = Piece(_on_core, core, work, *arguments)
            thread.given.put((piece, abandon))
            given.append(piece)  # afterwards: nobody waits for a piece that was not given away
        for piece in given:
            piece.wait()
    except BaseException:
        abandon()
        for piece in given:
            piece.wait()
        raise
    for piece in given:
        if piece.error is not None:
            raise piece.error
    result: Result = given[0].result
    return result


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


_members: list[Member] = []
"""All threads of teams."""
_at_work, _end_is_near = Lock(), False
"""Held by the team that is at work; and whether there will be no more teams."""


def _started(count: int) -> list[Member]:
    """The first threads, which are started when they are first needed; fewer if no more can be started."""
    if not _members:
        atexit.unregister(_end)  # a forked child may have it from its parent
        atexit.register(_end)
    _members[:] = [thread for thread in _members if thread.is_alive()]
    while len(_members) < min(count, MAX_THREADS):
        thread = Member()
        try:
            thread.start()
        except RuntimeError:  # the interpreter is about to end, or there are too many threads
            break
        _members.append(thread)
    return _members[:count]


def _end() -> None:
    """The process ends: wait until no thread is in compiled code, which is about to be removed. The next work alone."""
    global _end_is_near
    _end_is_near = True
    _at_work.acquire()
    last = [(thread, Piece(int)) for thread in _members if thread.is_alive()]
    for thread, piece in last:
        thread.given.put((piece, int))
    for _, piece in last:
        piece.wait()


def _forget() -> None:
    """The threads stay with the parent of a forked process."""
    global _at_work, _end_is_near
    _members.clear()
    _at_work, _end_is_near = Lock(), False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
