"""Zones of saturated cells as masks that one may also count with: `left | right` is a zone, `left - right` a field."""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.arrays import Array, Booleans

LOGICAL = {
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.logical_and, np.logical_or, np.logical_not,
    np.logical_xor, np.equal, np.not_equal,
}  # fmt: skip
"""Operations on masks that give a mask; in all others a mask counts as ones and zeros."""


class Mask(np.ndarray[Any, np.dtype[np.bool_]]):
    """Booleans, one a cell. Sums and differences of masks are fields of numbers.

    >>> left, right = mask([True, True, False]), mask([False, False, True])
    >>> bool((left | right).all()), (left - right).tolist(), (0.5 * left).tolist()
    (True, [1.0, 1.0, -1.0], [0.5, 0.5, 0.0])
    """

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        logical = ufunc in LOGICAL or method == "reduce"
        plain = [_plain(value, logical) for value in inputs]
        if "out" in options:
            options["out"] = tuple(_plain(value, True) for value in options["out"])
        result = getattr(ufunc, method)(*plain, **options)
        if logical and isinstance(result, np.ndarray) and result.dtype == bool:
            return result.view(Mask)
        return result


def _plain(value: Any, logical: bool) -> Any:
    if not isinstance(value, Mask):
        return value
    array: Booleans = value.view(np.ndarray)
    return array if logical else array.astype(float)


def mask(values: Any) -> Mask:
    """An array of booleans as a mask.

    >>> (~mask([[True, False]])).tolist()
    [[False, True]]
    """
    return np.array(values, dtype=bool).view(Mask)


def numbers(values: Any) -> Array:
    """A field, or a mask, as an ordinary array of floats."""
    return np.array(values, dtype=float).view(np.ndarray)
