"""All kernels compiled at once, on all cores, into the cache on disk."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from jostle.kernels.compiling import KERNELS
from jostle.kernels.cpu.fused import gauss_seidel
from jostle.kernels.cpu.grips import sweep_grips
from jostle.kernels.cpu.levers import sweep_levers
from jostle.kernels.interface import COMPILED
from jostle.kernels.reference.cones import Grip
from jostle.kernels.reference.contacts import ContactRows
from jostle.kernels.reference.levers import Lever
from jostle.kernels.reference.sweeps import Stop

LONG = ("barrier", "polyhedra", "copies", "flights", "fused", "grips", "levers", "compiled", "cells", "dense")
"""The modules whose kernels take longest to compile: they are begun first."""

for name in COMPILED:
    import_module(name)  # which makes its kernels known


def tasks() -> list[str]:
    """What can be compiled alone: `module.kernel` of each kernel that declares its types, or a call below."""
    names = [_named(kernel) for kernel in KERNELS if kernel.from_python and kernel.declared]
    calls = ["fused 2", "fused 3", "grips 3", "levers 3"]
    module = {name: name.partition(" ")[0].split(".")[-2:][0] for name in [*names, *calls]}
    return sorted(module, key=lambda name: LONG.index(module[name]) if module[name] in LONG else len(LONG))


def perform(task: str) -> str:
    """Compile what a task names, unless the cache has it."""
    what, *numbers = task.split()
    if what in ("fused", "grips", "levers"):
        d = int(numbers[0])
        one, normal, both, stop = np.ones(1), np.eye(1, d), np.ones((2, 2)), Stop(np.ones(1), 1.0, 1, 1)
        first, second = np.zeros(1, np.int64), np.ones(1, np.int64)
        if what == "fused":
            gauss_seidel(ContactRows(first, second, normal), one, np.ones(2), one, one, stop, 1, None)
        elif what == "levers":
            block = np.zeros((1, 3, 6))
            lever = Lever(first, second, block, block, normal, one, np.ones((1, 3, 3)), both[:1], both[:1])
            sweep_levers(lever, np.ones((2, 6)), normal, normal, True, stop, 1, None)
        else:
            grip = Grip(first, second, normal, both[:1], one, both[:1], one)
            sweep_grips(grip, both, normal, normal, True, stop, 1, None)
    else:
        kernel = next(one for one in KERNELS if _named(one) == what)
        kernel.compile(kernel.declared)
    return task


def _named(kernel: Any) -> str:
    return f"{kernel.__module__}.{kernel.__name__}"


def warm_up(processes: int) -> Iterator[tuple[str, int, int]]:
    """Compile all kernels by several processes; yields (task, tasks done, tasks) as each is done."""
    all_tasks = tasks()
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(perform, task) for task in all_tasks]
        for done, future in enumerate(as_completed(waiting), start=1):
            yield future.result(), done, len(all_tasks)


def compiled_files() -> list[tuple[Path, str]]:
    """The files of all compiled kernels that Python calls, for these sources, this Python and this numba.

    Each comes with the folder beside its source, in the package: a wheel contains it there.
    """
    found = ((path, kernel.__module__) for kernel in KERNELS if kernel.from_python for path in kernel._cache.files)
    return sorted((path, "/".join([*module.split(".")[:-1], "__pycache__"])) for path, module in found)
