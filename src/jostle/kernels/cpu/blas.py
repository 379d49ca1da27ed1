"""Products of small matrices on one thread: on a busy machine the threads of BLAS wait longer than they work."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread() -> Any:
    """A context in which BLAS uses one thread."""
    return _controller().limit(limits=1, user_api="blas")
