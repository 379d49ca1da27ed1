"""Memory that is kept for later: the working memory of a kernel, and what arrays have freed.

The system clears and maps each page of new memory when it is first written, and threads that do so wait for each other:
for the arrays of 30 000 contacts this takes longer than filling them. So one block of memory is kept, from which a call
takes its arrays. While a call has it, others get new memory.

The C library returns large blocks to the system when arrays are freed. Each page of a new array is then cleared and
mapped again, which takes up to a tenth of a step with several threads; `keep_freed_memory` prevents it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import prod
from typing import Any

import numpy as np

MOST_KEPT = 2**27
"""Bytes: the block does not become larger."""
LINE = 64
"""Bytes in a cache line, at which each array begins."""
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Settings of glibc: the free memory above which it returns memory, and the size of blocks that it always returns."""
KEPT, LARGEST_IN_OLD_VERSIONS = 2**30, 2**25
"""Bytes: the value of both settings, and the largest size of blocks that old versions of glibc accept."""


class WorkingMemory:
    """A block of memory, and how much of it is taken; arrays that do not fit get memory of their own."""

    def __init__(self) -> None:
        self.block, self.taken = np.empty(0, np.uint8), 0

    def array(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array of any numbers: whoever takes it writes an entry before reading it."""
        size = prod(shape) * np.dtype(dtype).itemsize
        first = self.taken + -(self.block.ctypes.data + self.taken) % LINE
        self.taken = first + size
        if self.taken > len(self.block):
            own = np.empty(size + LINE, np.uint8)
            start = -own.ctypes.data % LINE
            return own[start : start + size].view(dtype).reshape(shape)
        return self.block[first : self.taken].view(dtype).reshape(shape)


_kept: list[WorkingMemory] = []


@contextmanager
def working_memory() -> Iterator[WorkingMemory]:
    """Yield memory that nobody else has; its arrays must not be used afterwards.

    >>> with working_memory() as memory:
    ...     memory.array((2, 3), np.float64).shape
    (2, 3)
    """
    try:
        memory = _kept.pop()
    except IndexError:
        memory = WorkingMemory()
    memory.taken = 0
    yield memory
    if len(memory.block) < memory.taken <= MOST_KEPT - LINE:
        with suppress(MemoryError):  # the next call then has memory of its own
            memory.block = np.empty(min(memory.taken * 9 // 8 + LINE, MOST_KEPT), np.uint8)  # with room for a few more
    _kept[:] = [memory]


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
