"""Zones of cells as masks that also take part in arithmetic: `left | right` is a zone, `left - right` a field."""

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
    """A zone of cells: an array of booleans that can also be used in arithmetic.

    `left | right` is the zone of both, `left - right` a field with the values 1, -1 and 0. Masks are made by the
    methods `zone`, `block`, `disc` and `polygon` of a `Grid`.

    Parameters
    ----------
    values : array_like of bool
        One boolean per cell.

    Examples
    --------
    >>> left, right = Mask([True, True, False]), Mask([False, False, True])
    >>> bool((left | right).all()), (left - right).tolist(), (0.5 * left).tolist()
    (True, [1.0, 1.0, -1.0], [0.5, 0.5, 0.0])
    """

    def __new__(cls, values: Any) -> Mask:
        return np.array(values, dtype=bool).view(cls)

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


def numbers(values: Any) -> Array:
    """A field, or a mask, as an ordinary array of floats."""
    return np.array(values, dtype=float).view(np.ndarray)
