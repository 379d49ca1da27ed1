"""Threads in step: pieces of work that wait for each other, so that each needs a thread of its own.

The caller waits for them and stays free for Ctrl-C, which may come at any moment. So all that is done under Python's
lock is a single call in C, which no interrupt divides: Python's executors, and its conditions, can keep a lock forever
if they are interrupted. While a team is at work, others work alone: threads of two teams would wait for each other's
cores.
"""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
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
    """What one thread does: its result or its error, and a lock that is free when it is done."""

    __slots__ = ("arguments", "context", "done", "error", "result")

    def __init__(self, *arguments: Any):
        self.arguments, self.context, self.done = arguments, copy_context(), Lock()
        self.result: Any = None
        self.error: BaseException | None = None
        self.done.acquire()

    def do(self, abandon: Callable[[], object]) -> None:
        try:
            self.result = self.context.run(*self.arguments)
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            self.error = error
            abandon()
        finally:
            self.done.release()


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
    lock = _at_work()
    if time.monotonic() < _fewer.until:
        most = min(most, _fewer.members)
    if most > 1 and not lock.locked():
        with lock:  # Ctrl-C never leaves it locked, unlike after acquire()
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
        _wait_for(given)
    except BaseException:
        abandon()
        _wait_for(given)
        raise
    for piece in given:
        if piece.error is not None:
            raise piece.error
    result: Result = given[0].result
    return result


def _wait_for(pieces: list[Piece]) -> None:
    for piece in pieces:
        with piece.done:
            pass


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


@cache
def _at_work() -> Lock:
    """Held by the team that is at work."""
    return Lock()


_members: list[Member] = []
"""All threads of teams."""


def _started(count: int) -> list[Member]:
    """The first threads, which are started when they are first needed; fewer if no more can be started."""
    if not _members:
        atexit.unregister(_end)  # a forked child may have it from its parent: it must run once
        atexit.register(_end)
    while len(_members) < min(count, MAX_THREADS):
        thread = Member()
        try:
            thread.start()
        except RuntimeError:  # the interpreter is about to end, or there are too many threads
            break
        _members.append(thread)
    return _members[:count]


def _end() -> None:
    """The process ends: wait for the team at work, whose code is about to be removed. The next ones work alone."""
    _at_work().acquire()


def _forget() -> None:
    """The threads stay with the parent of a forked process."""
    _members.clear()
    _at_work.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
