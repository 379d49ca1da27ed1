"""Memory that arrays have freed, kept for the arrays of the next step.

The C library returns large blocks to the system when arrays are freed. Each page of a new array is then cleared and
mapped again, which takes up to a tenth of a step with several threads.
"""

from __future__ import annotations

import ctypes

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Settings of glibc: the free memory above which it returns memory, and the size of blocks that it always returns."""
KEPT = 2**30
"""Bytes, for both settings."""


def keep_freed_memory() -> bool:
    """Keep freed memory in this process until it ends; False if the C library has no such setting.

    It is meant for programs that do nothing else, as the command line: the setting holds for the whole process.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return False
    return bool(mallopt(MMAP_THRESHOLD, KEPT) and mallopt(TRIM_THRESHOLD, KEPT))
