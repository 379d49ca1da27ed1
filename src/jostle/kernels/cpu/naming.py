"""One function compiled twice, for other types of arguments."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any


def renamed(function: Any, name: str, **types: str) -> Callable[..., Any]:
    """The same function under another name, and with other `types` of arguments: see `signatures`.

    Numba's cache on disk tells functions apart by name, not by options.
    """
    copy = FunctionType(function.__code__, function.__globals__, name)
    copy.__qualname__ = name
    copy.__annotations__ = {**function.__annotations__, **types}
    return copy
