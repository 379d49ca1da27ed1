"""Work that several threads do at the same time: pieces of rows or of bodies, each of which writes its own results.

Kernels run without Python's global lock, so that threads can share their rows, and nothing is compiled twice. Results
do not depend on the number of pieces, as long as a piece computes each of its rows as if it were alone.

Pieces of kernels are done by a `crew`, where there is one; pieces of other functions are done by Python's threads (see
`workers`). Pieces that wait for each other need a team, see `teams`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from jostle._tools.arrays import Array
from jostle.kernels.threads import threads
from jostle.kernels.workers import Job

Result = TypeVar("Result")

ROWS_A_CHUNK = 20_000
"""A thread is given at least this many rows: with fewer, starting the pieces costs more than they gain."""
PIECES, ROWS_A_PIECE = 4, 80_000
"""NumPy's functions take Python's lock, for which many threads would wait: rows are cut into at most PIECES pieces for
them, or into pieces of ROWS_A_PIECE rows."""
NUMBERS_A_CHUNK = 250_000
"""A thread is given at least this many numbers to copy, or to look at once."""


def chunks_of(rows: int, least: int | None = None) -> int:
    """The number of pieces into which rows are cut: one for each thread, unless they had fewer than `least` rows."""
    least = ROWS_A_CHUNK if least is None else least
    return max(1, min(threads(), rows // least)) if rows >= 2 * least else 1


def cut(count: int, chunks: int) -> list[tuple[int, int]]:
    """The (first, last) of chunks of about equal size that make up 0 to count.

    >>> cut(10, 3)
    [(0, 3), (3, 6), (6, 10)]
    """
    if chunks == 1:
        return [(0, count)]
    return list(pairwise(count * r // chunks for r in range(chunks + 1)))


def together(work: Callable[..., Result], pieces: Sequence[tuple[Any, ...]]) -> list[Result]:
    """[work(*piece) for piece in pieces]: each thread takes the next piece when it has finished one; waits for all.

    >>> together(pow, [(2, 3), (3, 2), (5, 1)])
    [8, 9, 5]
    """
    if len(pieces) == 1:
        return [work(*pieces[0])]
    helpers = min(threads(), len(pieces)) - 1
    if helpers < 1:
        return [work(*piece) for piece in pieces]
    if not hasattr(type(work), "packed"):
        return Job(work, pieces).run(helpers)
    from jostle.kernels.cpu.crew import crew

    results: list[Result] | None = crew().share(work.packed, pieces, helpers)  # type: ignore[attr-defined]
    return [work(*piece) for piece in pieces] if results is None else results


def by_rows(kernel: Callable[..., Array], rows: tuple[Any, ...], *others: Any) -> Array:
    """kernel(*rows, *others), one number a row: all threads share the rows if there are many.

    Arrays that are not NumPy's go to the kernel as they are.

    >>> by_rows(lambda x, y, factor: factor * (x + y), (np.arange(3.0), np.ones(3)), 2.0)
    array([2., 4., 6.])
    """
    count = len(rows[0])
    if count < 2 * ROWS_A_CHUNK or not isinstance(rows[0], np.ndarray):
        return kernel(*rows, *others)
    chunks = min(chunks_of(count), max(PIECES, count // ROWS_A_PIECE))
    out = np.empty(count)

    def fill(first: int, last: int) -> None:
        out[first:last] = kernel(*(array[first:last] for array in rows), *others)

    together(fill, cut(count, chunks))
    return out


def all_finite(array: Any) -> bool:
    """Whether all entries of an array are finite.

    >>> all_finite(np.ones((2, 3))), all_finite(np.array([1.0, np.nan]))
    (True, False)
    """
    if not isinstance(array, np.ndarray):
        return bool(np.isfinite(array).all())
    if array.size < 2 * NUMBERS_A_CHUNK:
        return bool(np.logical_and.reduce(np.isfinite(array), axis=None))
    chunks = chunks_of(array.size, NUMBERS_A_CHUNK)
    flat = array.reshape(-1)
    return all(together(_finite, [(flat[first:last],) for first, last in cut(len(flat), chunks)]))


def _finite(array: Array) -> bool:
    return bool(np.isfinite(array).all())


def copy_all(copies: Sequence[tuple[Any, Any]]) -> None:
    """to[:] = source for each (to, source) of the same length; all threads share them if there is much to copy.

    >>> to = np.zeros(3)
    >>> copy_all([(to[:1], np.ones(1)), (to[1:], np.arange(2.0))])
    >>> to.tolist()
    [1.0, 0.0, 1.0]
    """
    several = all(isinstance(to, np.ndarray) for to, _ in copies)
    chunks = chunks_of(sum(to.size for to, _ in copies), NUMBERS_A_CHUNK) if several else 1

    def copy(piece: int) -> None:
        for to, source in copies:
            part = slice(len(to) * piece // chunks, len(to) * (piece + 1) // chunks)
            to[part] = source[part]

    together(copy, [(piece,) for piece in range(chunks)])


def concatenated(arrays: Sequence[Any]) -> Any:
    """The arrays one after the other, the array itself if there is only one.

    >>> concatenated([np.zeros(1), np.ones(2)]).tolist()
    [0.0, 1.0, 1.0]
    """
    if len(arrays) == 1:
        return arrays[0]
    size = 0
    for array in arrays:
        size += array.size
    if not isinstance(arrays[0], np.ndarray) or size < 2 * NUMBERS_A_CHUNK:
        return np.concatenate(arrays)
    ends = np.cumsum([len(array) for array in arrays]).tolist()
    out = np.empty((ends[-1], *arrays[0].shape[1:]), np.result_type(*arrays))
    copy_all([(out[end - len(array) : end], array) for end, array in zip(ends, arrays, strict=True)])
    return out
