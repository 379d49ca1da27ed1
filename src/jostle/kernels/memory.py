"""Arrays that begin at cache lines."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

LINE = 64
"""Bytes in a cache line."""


def aligned(shape: tuple[int, ...], dtype: Any) -> Any:
    """A new array of any numbers that begins at a cache line, so that no record of a body lies in two lines.

    >>> aligned((2, 3), np.float64).ctypes.data % LINE
    0
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    block = np.empty(size + LINE, np.uint8)
    first = -block.ctypes.data % LINE
    return block[first : first + size].view(dtype).reshape(shape)
