"""One function compiled twice, serial and parallel."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any


def renamed(function: Any, name: str) -> Callable[..., Any]:
    """The same function under another name: numba's cache on disk tells functions apart by name, not by options."""
    copy = FunctionType(function.__code__, function.__globals__, name)
    copy.__qualname__ = name
    return copy
