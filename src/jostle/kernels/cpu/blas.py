"""Products of small matrices on one thread: on a busy machine the threads of BLAS wait longer than they work."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    # Numba's products are SciPy's, whose BLAS it loads at the first one: only a library that is there can be limited.
    import scipy.linalg.cython_blas  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread() -> Any:
    """A context in which BLAS uses one thread."""
    return _controller().limit(limits=1, user_api="blas")
