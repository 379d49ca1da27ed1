"""Threads that help with the pieces of a job, and sleep in between.

The caller does pieces as well, as long as there are any: a worker that wakes up late, or never, costs nothing but its
help. Each worker sleeps on a lock of its own, so that all of them wake up at the same time.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from itertools import count
from threading import Lock, Thread
from typing import Any

from jostle.kernels.threads import MAX_THREADS


class Job:
    """Pieces of work, each of which is done once, by whoever takes it first."""

    __slots__ = ("all_done", "context", "errors", "finished", "pieces", "results", "todo", "work")

    def __init__(self, work: Callable[..., Any], pieces: Sequence[tuple[Any, ...]]):
        self.work, self.pieces, self.context = work, pieces, copy_context()
        self.results: list[Any] = [None] * len(pieces)
        self.errors: dict[int, BaseException] = {}
        self.todo, self.finished = iter(range(len(pieces))), count(1)  # Python's lock makes each next() a whole
        self.all_done = Lock()
        self.all_done.acquire()

    def help(self, context: Context) -> None:
        """Do pieces until none is left; after an error, leave out those that nobody has begun."""
        for piece in self.todo:
            try:
                if not self.errors:
                    self.results[piece] = context.run(self.work, *self.pieces[piece])
            except BaseException as error:  # noqa: BLE001 - the caller raises it
                self.errors[piece] = error
            if next(self.finished) == len(self.pieces):
                self.all_done.release()

    def run(self, helpers: int) -> list[Any]:
        """Do the pieces with some helpers, and return the results; raises the error of the first piece that failed."""
        for _ in range(helpers):
            if not wake(self, 2 * helpers):
                break
        try:
            self.help(self.context)
            self.all_done.acquire()
        except BaseException as error:  # Ctrl-C while waiting: nothing new is begun
            self.errors.setdefault(len(self.pieces), error)
            raise
        if self.errors:
            raise self.errors[min(self.errors)]
        return self.results


class Worker(Thread):
    """A thread that sleeps until it is given a job."""

    def __init__(self) -> None:
        super().__init__(name="jostle", daemon=True)
        self.given, self.job = Lock(), None
        self.given.acquire()

    job: Job | None

    def run(self) -> None:
        while True:
            self.given.acquire()
            job, self.job = self.job, None
            if job is not None:
                job.help(job.context.copy())
            del job  # its arrays are not kept while the thread sleeps
            idle.append(self)


idle: deque[Worker] = deque()
"""The workers that sleep."""
workers: list[Worker] = []
"""All workers. They never end."""


def wake(job: Job, most: int) -> bool:
    """Give a job to a worker that sleeps, or to a new one if there are fewer than `most`; False if nobody helps.

    A worker that has ended its job sleeps only when the system has let it run again. So a few more than the helpers of
    a job may be needed, but not a new one for each job that the caller has done alone.
    """
    try:
        worker = idle.pop()
    except IndexError:
        if len(workers) >= min(most, MAX_THREADS):
            return False
        worker = Worker()
        try:
            worker.start()
        except RuntimeError:  # the interpreter is about to end, or there are too many threads
            return False
        workers.append(worker)
    worker.job = job
    worker.given.release()
    return True


def _forget() -> None:
    """The threads stay with the parent of a forked process."""
    idle.clear()
    workers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
