"""Arrays that begin at cache lines, and freed memory that a process keeps for later arrays.

The C library returns large blocks to the system when arrays are freed. Each page of a new array is then cleared and
mapped again, which takes up to a tenth of a step with several threads; `keep_freed_memory` prevents it.
"""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any

import numpy as np

LINE = 64
"""Bytes in a cache line."""
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Settings of glibc: the free memory above which it returns memory, and the size of blocks that it always returns."""
KEPT, LARGEST_IN_OLD_VERSIONS = 2**30, 2**25
"""Bytes: the value of both settings, and the largest size of blocks that old versions of glibc accept."""


def aligned(shape: tuple[int, ...], dtype: Any) -> Any:
    """A new array of any numbers that begins at a cache line, so that no record of a body lies in two lines.

    >>> aligned((2, 3), np.float64).ctypes.data % LINE
    0
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    block = np.empty(size + LINE, np.uint8)
    first = -block.ctypes.data % LINE
    return block[first : first + size].view(dtype).reshape(shape)


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
