"""`reference.gauss_seidel` and `reference.sweep_grips` on contacts of bodies, with friction or without: all iterations
between two looks from the host are one launch."""

from __future__ import annotations

from functools import cache
from typing import Any

import cupy
import numpy as np

from jostle import kernels
from jostle._tools.arrays import Array, Integers
from jostle.kernels.cuda.arrangement import arranged
from jostle.kernels.cuda.launch import (
    COLOURS,
    PIECE,
    SWEEPING_THREADS,
    Kind,
    each,
    floats,
    on_host,
    sweeping,
    whole,
    with_friction,
    without_friction,
)
from jostle.kernels.reference.cones import Grip
from jostle.kernels.reference.contacts import ContactRows
from jostle.kernels.reference.sweeps import Stop, least_damping

ITERATIONS_A_LAUNCH = 2000
"""Largest number of iterations of a launch, which must end before a watchdog stops it, and let Ctrl-C in."""
STANDING = np.dtype(
    [(name, float) for name in ("theta", "beta", "lowest", "size", "against", "linear")]
    + [(name, float) for name in ("damping", "changes", "changes_before")]
    + [(name, np.int64) for name in ("phase", "iteration", "tested", "restarted", "swapped", "exact", "tests", "steps")]
)
"""Where the iteration stands: `Standing` in sweeps.cu."""
CLEAR, DONE = 4, 7
"""The first phase and the last."""
START = (1.0, 0.0, np.inf, 0.0, 0.0, 0.0, 0.0, 0.0, np.inf, CLEAR, 0, 0, 0, 0, 0, 0, 0)
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
    kind, given = without_friction(rows.normal.shape[1]), floats(rows.normal, unit, s0, start)
    p, iterations = _swept(kind, rows.i, rows.j, inverse[:, None], given, False, stop, places)
    return p.ravel(), iterations


@kernels.sweep_grips.on("cupy")
def sweep_grips(
    grip: Grip, inverse: Array, s0: Array, start: Array, coulomb: bool, stop: Stop, chunks: int,
    places: Array | None,
) -> tuple[Array, int]:  # fmt: skip
    """See `reference.sweep_grips`; `chunks` makes no difference here."""
    kind = with_friction(grip.normal.shape[1])
    given = floats(grip.normal, grip.arms, grip.mu, grip.scale, grip.noise, s0, start)
    return _swept(kind, grip.i, grip.j, inverse, given, coulomb, stop, places)


def _swept(
    kind: Kind, i: Integers, j: Integers, inverse: Array, given: list[Any], coulomb: bool, stop: Stop,
    places: Array | None,
) -> tuple[Array, int]:  # fmt: skip
    """The multipliers (m, parts) of rows, whose numbers are `given` to the source of their kind; and the iterations."""
    (m, n), (i, j) = (len(i), len(inverse)), whole(i, j)
    number, source, begin, groups, owned = arranged(i, j, n, kind.d, places)
    ends, numbers, p = cupy.empty((m, 2), np.uint32), cupy.empty((kind.numbers, m)), cupy.empty((kind.parts, m))
    limits, before = cupy.empty((kind.limits, m)), cupy.full(m, -np.inf)
    each("write_ends", kind, m, source, number, i, j, ends)
    each("write_rows", kind, m, source, *floats(stop.violation), *given, limits, numbers, p)
    held = ends, numbers, p, p.copy()
    near = [cupy.empty_like(array) for array in held]
    blocks, pieces = int(groups[-1]), -(-n // PIECE)
    body = cupy.zeros((3, n, kind.stride))
    body[0, number, kind.width : kind.width + inverse.shape[1]] = inverse
    first = np.array([START], STANDING)
    first["damping"] = least_damping(stop.tol)
    standing = cupy.asarray(first.view(np.int64))
    (launch, size), most = sweeping(kind), int(np.diff(groups).max())
    shape = (max(1, min(_resident(kind, cupy.cuda.Device().id), max(most, pieces))),), (SWEEPING_THREADS,)
    counts = np.int64(n), np.int64(m), np.int64(len(groups) - 1), np.int64(blocks), cupy.asarray(groups), begin
    rows = *held, *near, cupy.empty(m, np.uint32)
    numbers_of_steps = (np.int64(k) for k in (stop.max_iterations, stop.every, ITERATIONS_A_LAUNCH))
    until = np.int64(coulomb), np.float64(stop.tol), *numbers_of_steps
    kept, touched = cupy.zeros(blocks * COLOURS, np.int32), cupy.zeros(n, np.uint32)
    moving, sums = (limits, before, *body, touched, owned), cupy.zeros((2, shape[0][0], 3))
    while True:
        come = cupy.zeros(1, np.uint64)
        launch(*shape, (*counts, kept, *rows, *moving, sums, standing, come, *until), shared_mem=size)
        told = on_host(standing).view(STANDING)[0]
        if told["phase"] == DONE:
            break
        standing[STEPS] = 0
    out: Array = cupy.empty((m, kind.parts))
    each("read_rows", kind, m, source, p, out)
    return out, int(told["iteration"])


@cache
def _resident(kind: Kind, device: int) -> int:
    """How many blocks of threads can wait for each other: as many as this device holds at a time."""
    attributes: Any = cupy.cuda.Device(device).attributes
    launch, size = sweeping(kind)
    per_processor = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
        launch.kernel.ptr, SWEEPING_THREADS, size
    )
    return int(per_processor) * int(attributes["MultiProcessorCount"])
