"""Copies of frozen dataclasses."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def with_fields(value: T, **fields: Any) -> T:
    """A frozen dataclass with other fields: nothing is checked again, and what follows from its fields is kept.

    >>> import jostle as jo
    >>> with_fields(jo.Restitution(0.5), e=0.4)
    Restitution(e=0.4)
    """
    other: T = object.__new__(type(value))
    other.__dict__.update(value.__dict__, **fields)
    return other
