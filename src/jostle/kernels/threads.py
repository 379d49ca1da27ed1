"""How many threads the kernels may use. They do not decide it: they are told into how many chunks to cut their work."""

from __future__ import annotations

import os
import sys

MAX_THREADS = 512
"""Largest number of threads."""

_forked = False
"""Whether this process is a forked child. It then uses one thread, since forked processes usually share the cores."""


def _note_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


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
