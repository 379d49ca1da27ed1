"""Working memory of a kernel, kept from one call to the next.

The system clears and maps each page of new memory when it is first written, and threads that do so wait for each other:
for the arrays of 30 000 contacts this takes longer than filling them. So one block of memory is kept, from which a call
takes its arrays. While a call has it, others get new memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import prod
from typing import Any

import numpy as np

MOST_KEPT = 2**27
"""Bytes: the block does not become larger."""
LINE = 64
"""Bytes in a cache line, at which each array begins."""


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
