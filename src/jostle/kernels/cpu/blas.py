"""Products of small matrices on one thread: on a busy machine the threads of BLAS wait longer than they work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@cache
def _libraries() -> list[Any]:
    # Numba's products are SciPy's, whose BLAS it loads at the first one: only a library that is there can be limited.
    import scipy.linalg.cython_blas  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS uses one thread."""
    before = [library.get_num_threads() for library in _libraries()]
    for library in _libraries():
        library.set_num_threads(1)
    try:
        yield
    finally:
        for library, threads in zip(_libraries(), before, strict=True):
            library.set_num_threads(threads)
