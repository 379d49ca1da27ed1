"""Limits BLAS to one thread for small matrices: on a busy machine its threads wait longer than they work."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any


@cache
def _libraries() -> list[Any]:
    # Numba's products are SciPy's, whose BLAS it loads at the first one: only a library that is there can be limited.
    import scipy.linalg.cython_blas  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


class _Limit:
    """The limit of one thread, which all threads of this process that are in `one_blas_thread` share."""

    def __init__(self) -> None:
        self.lock, self.users = Lock(), 0
        self.before: list[int] = []

    def enter(self) -> None:
        """The first user remembers how many threads BLAS had, and sets one."""
        with self.lock:
            if self.users == 0:
                self.before = [library.get_num_threads() for library in _libraries()]
                for library in _libraries():
                    library.set_num_threads(1)
            self.users += 1

    def leave(self) -> None:
        """The last user gives BLAS its threads back."""
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.restore()

    def restore(self) -> None:
        for library, threads in zip(_libraries(), self.before, strict=True):
            library.set_num_threads(threads)


_limit = _Limit()


def _start_anew() -> None:
    """A forked child has only the thread that forked it: nobody else will leave, or unlock what was locked."""
    global _limit
    inherited, _limit = _limit, _Limit()
    if inherited.users:
        inherited.restore()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS uses one thread. The limit holds for the whole process, until the last user has left."""
    shared = _limit
    shared.enter()
    try:
        yield
    finally:
        shared.leave()
