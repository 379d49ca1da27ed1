"""`reference.gauss_seidel` on contacts of bodies: all iterations between two looks from the host are one launch."""

from __future__ import annotations

from functools import cache
from typing import Any

import cupy
import numpy as np

from jostle.arrays import Array, Integers
from jostle.kernels.cuda.arrangement import COLOURS, arranged
from jostle.kernels.cuda.launch import SWEEPING_THREADS, each, function, on_host

PIECE = 2 * SWEEPING_THREADS
"""Bodies of a piece."""
SHARED_STEP = 4096
"""Shared memory is asked for in multiples of so many bytes."""
ITERATIONS_A_LAUNCH = 2000
"""A launch does at most so many iterations: it must end before a watchdog stops it, and let Ctrl-C in."""
STANDING = np.dtype(
    [(name, float) for name in ("theta", "beta", "lowest", "size", "against", "linear")]
    + [(name, np.int64) for name in ("phase", "iteration", "tested", "restarted", "swapped", "steps")]
)
"""Where the iteration stands: `Standing` in fused.cu."""
CLEAR, DONE = 4, 7
"""The first phase and the last."""
START = (1.0, 0.0, np.inf, 0.0, 0.0, 0.0, CLEAR, 0, 0, 0, 0, 0)
STEPS = len(START) - 1


def gauss_seidel(
    i: Integers,
    j: Integers,
    normal: Array,
    unit: Array,
    inverse: Array,
    s0: Array,
    start: Array,
    violation: Array,
    tol: float,
    max_iterations: int,
    every: int,
    chunks: int,
    places: Array | None,
) -> tuple[Array, int]:
    """See `reference.gauss_seidel`; `chunks` makes no difference here."""
    (m, d), n = normal.shape, len(inverse)
    normal = cupy.ascontiguousarray(normal)
    order = arranged(i, j, normal, (unit, s0, start, violation), n, places)
    groups, blocks, pieces, stride = order.groups, int(order.groups[-1]), -(-n // PIECE), 2 if d == 1 else 4
    *values, allowed, before = order.rows
    near = [cupy.empty_like(array) for array in values]
    body = cupy.zeros((3, n, stride))
    body[0, order.number, d] = inverse
    standing = cupy.asarray(np.array([START], STANDING).view(np.int64))
    launch, held, resident = _launch(d, -(-8 * stride * order.most // SHARED_STEP))
    shape = (max(1, min(resident, max(int(np.diff(groups).max()), pieces))),), (SWEEPING_THREADS,)
    whole = np.int64(n), np.int64(m), np.int64(len(groups) - 1), np.int64(blocks), cupy.asarray(groups), order.begin
    rows = *values, *near, cupy.empty(m, np.uint32), allowed, before
    lists = cupy.empty(2 * m, np.uint32), cupy.zeros(blocks, np.int32), cupy.zeros((len(groups) - 1) * n, np.uint64)
    bodies = *body, *lists, np.int64(held), order.owned
    limits = np.float64(tol), np.int64(max_iterations), np.int64(every), np.int64(ITERATIONS_A_LAUNCH)
    kept, sums = cupy.zeros(blocks * COLOURS, np.int32), cupy.zeros((blocks + pieces + 1, 3))
    while True:
        waiting = cupy.zeros(2, np.uint64)
        arguments = *whole, kept, *rows, *bodies, sums, standing, waiting, *limits
        launch(*shape, arguments, shared_mem=held)
        told = on_host(standing).view(STANDING)[0]
        if told["phase"] == DONE:
            break
        standing[STEPS] = 0
    out: Array = cupy.empty(m)
    each("read_rows", d, m, order.source, order.rows.p, out)
    return out, int(told["iteration"])


@cache
def _launch(d: int, steps: int) -> tuple[Any, int, int]:
    """(the kernel, the shared memory of a block of threads, how many of these the device holds at a time).

    All blocks of threads wait for each other, so no more than that may be launched. Bodies that need more steps of
    shared memory than there is stay where they are.
    """
    kernel, attributes = function("gauss_seidel", d), cupy.cuda.Device().attributes
    held = steps * SHARED_STEP
    if held > int(attributes["MaxSharedMemoryPerBlockOptin"]) - kernel.shared_size_bytes:
        held = 0
    kernel.max_dynamic_shared_size_bytes = max(held, kernel.max_dynamic_shared_size_bytes)
    count = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, SWEEPING_THREADS, held)
    return kernel, held, int(count) * int(attributes["MultiProcessorCount"])
