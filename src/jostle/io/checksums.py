"""Checksums of the contents of a trajectory, so that damaged bytes are never read as data.

HDF5 protects its own tables by checksums (`lookup3`), but not the data. Its filter `fletcher32` would, but a chunk is
rewritten with the next frame, and a process killed meanwhile would leave old frames with a wrong checksum. Each frame
therefore has its own checksums, written once: the CRC-32 of its rows in each data set, and a weighted sum of words (mod
2^32, odd weights), which is faster for many short rows, for its entries in the tables and for each step record.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Checks = NDArray[np.uint32]
MULTIPLIER = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio, rounded to an odd number; its powers are the weights of a checksum."""


def of_rows(values: NDArray[Any]) -> int:
    """CRC-32 of an array's bytes.

    >>> of_rows(np.zeros(3)) == of_rows(np.zeros(3)), of_rows(np.zeros(3)) == of_rows(np.zeros(4))
    (True, False)
    """
    return zlib.crc32(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)


def of_records(values: NDArray[Any]) -> Checks:
    """(k,) one checksum per record, or per row of an array with 8 bytes per entry.

    >>> some = np.array([[1, 2], [1, 2], [2, 1]])
    >>> first, second, third = of_records(some).tolist()
    >>> first == second, first == third
    (True, False)
    """
    k = len(values)
    plain = (
        np.ascontiguousarray(values).reshape(k, -1).view(np.uint8).reshape(k, -1) if k else np.zeros((0, 1), np.uint8)
    )
    padded = np.pad(plain, ((0, 0), (0, -plain.shape[1] % 4)))
    words = padded.view("<u4").astype(np.uint64)
    weights = np.cumprod(np.full(words.shape[1] + 1, MULTIPLIER, dtype=np.uint64))
    sums = words @ weights[1:] + weights[0]  # not 0 for a row of zeros
    return np.asarray((sums ^ sums >> np.uint64(32)) & np.uint64(0xFFFFFFFF), dtype=np.uint32)


def lookup3(data: bytes) -> int:
    """Jenkins' lookup3, the checksum of HDF5.

    >>> hex(lookup3(b"Four score and seven years ago"))
    '0x17770551'
    """

    def turned(x: int, by: int) -> int:
        return (x << by | x >> (32 - by)) & 0xFFFFFFFF

    a = b = c = (0xDEADBEEF + len(data)) & 0xFFFFFFFF
    blocks = max((len(data) + 11) // 12, 1)
    words = struct.unpack(f"<{3 * blocks}I", data.ljust(12 * blocks, b"\0"))
    for k in range(0, len(words), 3):
        a, b, c = ((x + word) & 0xFFFFFFFF for x, word in zip((a, b, c), words[k : k + 3], strict=True))
        if k + 3 < len(words):
            for by in (4, 6, 8, 16, 19, 4):
                a = (a - c & 0xFFFFFFFF) ^ turned(c, by)
                a, b, c = b, c + b & 0xFFFFFFFF, a
        elif data:
            for by in (14, 11, 25, 16, 4, 14, 24):
                c = ((c ^ b) - turned(b, by)) & 0xFFFFFFFF
                a, b, c = b, c, a
    return b if data else c
