"""Arrays in, arrays out: the loops, in plain NumPy (`reference`) and in numba (`cpu`)."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType


@cache
def compiled() -> ModuleType:
    """The kernels in numba, imported when they are first needed: numba takes a second."""
    return import_module("jostle.kernels.cpu")
