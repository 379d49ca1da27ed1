"""Memory that arrays have freed, kept for the arrays of the next step.

The C library returns large blocks to the system when arrays are freed. Each page of a new array is then cleared and
mapped again, which takes up to a tenth of a step with several threads.
"""

from __future__ import annotations

import ctypes

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Settings of glibc: the free memory above which it returns memory, and the size of blocks that it always returns."""
KEPT, LARGEST_IN_OLD_VERSIONS = 2**30, 2**25
"""Bytes: the value of both settings, and the largest size of blocks that old versions of glibc accept."""


def keep_freed_memory() -> bool:
    """Keep freed memory in this process until it ends; False if the C library has no such setting.

    It is meant for programs that do nothing else, such as the command line: the setting holds for the whole process.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return False
    blocks = mallopt(MMAP_THRESHOLD, KEPT) or mallopt(MMAP_THRESHOLD, LARGEST_IN_OLD_VERSIONS)
    return bool(mallopt(TRIM_THRESHOLD, KEPT) and blocks)
