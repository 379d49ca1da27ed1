"""`reference.gauss_seidel` on contacts of bodies: all iterations between two looks from the host are one launch."""

from __future__ import annotations

from functools import cache
from typing import Any

import cupy
import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array
from jostle.kernels.cuda.arrangement import arranged
from jostle.kernels.cuda.launch import COLOURS, PIECE, SWEEPING_THREADS, each, floats, on_host, sweeping, whole
from jostle.kernels.reference.contacts import ContactRows
from jostle.kernels.reference.sweeps import Stop

ITERATIONS_A_LAUNCH = 2000
"""Largest number of iterations of a launch, which must end before a watchdog stops it, and let Ctrl-C in."""
STANDING = np.dtype(
    [(name, float) for name in ("theta", "beta", "lowest", "size", "against", "linear")]
    + [(name, np.int64) for name in ("phase", "iteration", "tested", "restarted", "swapped", "exact", "tests", "steps")]
)
"""Where the iteration stands: `Standing` in sweeps.cu."""
CLEAR, DONE = 4, 7
"""The first phase and the last."""
START = (1.0, 0.0, np.inf, 0.0, 0.0, 0.0, CLEAR, 0, 0, 0, 0, 0, 0, 0)
STEPS = len(START) - 1


@kernels.gauss_seidel.on("cupy")
def gauss_seidel(
    rows: ContactRows,
    unit: Array,
    inverse: Array,
    s0: Array,
    start: Array,
    stop: Stop,
    chunks: int,
    places: Array | None,
) -> tuple[Array, int]:
    """See `reference.gauss_seidel`; `chunks` makes no difference here."""
    (m, d), n = rows.normal.shape, len(inverse)
    (i, j), (normal, inverse) = whole(rows.i, rows.j), floats(rows.normal, inverse)
    number, ordered, source, begin, groups, owned = arranged(
        i, j, normal, tuple(floats(unit, s0, start, stop.violation)), n, places
    )
    blocks, pieces, stride = int(groups[-1]), -(-n // PIECE), 2 if d == 1 else 4
    *held, allowed, before = ordered
    near = [cupy.empty_like(array) for array in held]
    body = cupy.zeros((3, n, stride))
    body[0, number, d] = inverse
    standing = cupy.asarray(np.array([START], STANDING).view(np.int64))
    (launch, size), most = sweeping(d), int(np.diff(groups).max())
    shape = (max(1, min(_resident(d, cupy.cuda.Device().id), max(most, pieces))),), (SWEEPING_THREADS,)
    counts = np.int64(n), np.int64(m), np.int64(len(groups) - 1), np.int64(blocks), cupy.asarray(groups), begin
    selected = *near, cupy.empty(m, np.uint32)
    limits = np.float64(stop.tol), *(np.int64(k) for k in (stop.max_iterations, stop.every, ITERATIONS_A_LAUNCH))
    kept, touched = cupy.zeros(blocks * COLOURS, np.int32), cupy.zeros(n, np.uint32)
    moving, sums = (allowed, before, *body, touched, owned), cupy.zeros((2, shape[0][0], 3))
    while True:
        come = cupy.zeros(1, np.uint64)
        launch(*shape, (*counts, kept, *held, *selected, *moving, sums, standing, come, *limits), shared_mem=size)
        told = on_host(standing).view(STANDING)[0]
        if told["phase"] == DONE:
            break
        standing[STEPS] = 0
    out: Array = cupy.empty(m)
    each("read_rows", d, m, source, ordered.p, out)
    return out, int(told["iteration"])


@cache
def _resident(d: int, device: int) -> int:
    """How many blocks of threads can wait for each other: as many as this device holds at a time."""
    attributes: Any = cupy.cuda.Device(device).attributes
    launch, size = sweeping(d)
    per_processor = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
        launch.kernel.ptr, SWEEPING_THREADS, size
    )
    return int(per_processor) * int(attributes["MultiProcessorCount"])
