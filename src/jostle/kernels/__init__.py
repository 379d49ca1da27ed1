"""Arrays in, arrays out: the loops, in plain NumPy (`reference`) and in numba (`cpu`)."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from types import ModuleType

SPIN = "1000"
"""How long a thread of GNU OpenMP spins before it sleeps. By default it spins so long that on a busy machine, where the
other thread waits for its core, an iteration on two threads takes many times as long as on one."""


@cache
def compiled() -> ModuleType:
    """The kernels in numba, imported when they are first needed: numba takes a second."""
    os.environ.setdefault("GOMP_SPINCOUNT", SPIN)
    return import_module("jostle.kernels.cpu")
