"""Copies of frozen dataclasses."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def with_fields(value: T, **fields: Any) -> T:
    """A frozen dataclass with other fields: nothing is checked again, and what follows from its fields is kept.

    >>> from jostle.convex.projection import Residual
    >>> with_fields(Residual(1.0, 0.0, 0.0), primal=0.5).primal
    0.5
    """
    other: T = object.__new__(type(value))
    vars(other).update(vars(value), **fields)
    return other
