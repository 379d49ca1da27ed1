"""A barrier at which threads wait for each other, and which compiled code can call.

A waiting thread reads a number repeatedly. After half a millisecond it offers its core between two looks: on a
busy machine the others may wait for a core themselves. After a millisecond of that it sleeps between two looks, which
takes much longer than a meeting, so that threads that meet often must not come so far.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from jostle.kernels.compiling import Ints, OutInts, jit

ARRIVED, TURN, ABANDONED, LATE, WHOLE, NUMBERS = 0, 16, 32, 33, 34, 48
"""The entries of a meeting, 128 bytes apart so that they share no line of a cache: how many threads have arrived; how
often all have met; whether a thread will not come, how long threads waited beyond half a millisecond, all of them
together, and how long all lasted (times are ticks of the processor's clock)."""
RELAX = {
    "x86_64": ("llvm.x86.sse2.pause", ()),
    "amd64": ("llvm.x86.sse2.pause", ()),
    "aarch64": ("llvm.aarch64.hint", (1,)),
    "arm64": ("llvm.aarch64.hint", (1,)),
}.get(platform.machine().lower())
"""The instruction that tells a processor that a thread waits, and its arguments."""
HAS_CLOCK = platform.machine().lower() in ("x86_64", "amd64") or binding.llvm_version_info[0] >= 20
"""Whether LLVM reads a clock that programs may read. Older versions read another one on ARM, which ends the program."""
LOOKS = 10_000 if platform.machine().lower() in ("x86_64", "amd64") else 250_000
"""Number of looks before a thread offers its core: about half a millisecond."""
OFFERS = 2000
"""Number of times that a thread offers its core before it sleeps: about a millisecond on an idle machine."""
PAUSE = 0 if sys.platform == "win32" else 30
"""Time that a thread sleeps between two looks: microseconds (Windows: milliseconds)."""


def new_meeting() -> Ints:
    """A place for threads to meet."""
    return np.zeros(NUMBERS, np.int64)


def _system_call(name: str, symbol: str, *arguments: Any) -> Any:
    """A function of the operating system, which compiled code finds by the symbol when it is loaded."""
    library: Any = ctypes.windll.kernel32 if sys.platform == "win32" else ctypes.CDLL(None)
    binding.add_symbol(symbol, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    return types.ExternalFunction(symbol, types.int32(*arguments))


_offer_core = _system_call("SwitchToThread" if sys.platform == "win32" else "sched_yield", "jostle_offer_core")
_sleep = _system_call("Sleep" if sys.platform == "win32" else "usleep", "jostle_sleep", types.uint32)


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The address of an entry of an array."""
    array = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=arguments[0])
    return builder.gep(array.data, [arguments[1]])


@intrinsic
def add(typing: Any, array: Any, at: Any, more: Any) -> Any:
    """array[at] += more in one step, whatever other threads do; returns what it was before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments)
        return builder.atomic_rmw("add", place, arguments[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), generate


@intrinsic
def look(typing: Any, array: Any, at: Any) -> Any:
    """array[at] as another thread left it, with all that it wrote before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments)
        return builder.load_atomic(place, "seq_cst", 8, typ=ir.IntType(64))

    return types.int64(array, types.int64), generate


def _instruction(builder: Any, name: str, result: Any, *values: int) -> Any:
    """Call an instruction of the processor by LLVM's name for it."""
    given = [ir.Constant(ir.IntType(32), value) for value in values]
    kind = ir.FunctionType(result, [value.type for value in given])
    return builder.call(builder.module.declare_intrinsic(name, fnty=kind), given)


@intrinsic
def relax(typing: Any) -> Any:
    """Tell the processor that this thread waits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if RELAX is not None:
            name, values = RELAX
            _instruction(builder, name, ir.VoidType(), *values)
        return context.get_dummy_value()

    return types.none(), generate


@intrinsic
def clock(typing: Any) -> Any:
    """Ticks of the processor's clock; zero if programs may not read it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if not HAS_CLOCK:
            return ir.Constant(ir.IntType(64), 0)
        return _instruction(builder, "llvm.readcyclecounter", ir.IntType(64))

    return types.int64(), generate


@jit(helper=True)
def count_up(counts: OutInts, at: int) -> None:
    """counts[at] += 1, seen by `wait_for` together with all that was written before."""
    add(counts, at, 1)


@jit(helper=True)
def wait_for(counts: OutInts, at: int, least: int, meeting: OutInts) -> bool:
    """Wait until counts[at] >= least; False if a member of the meeting will not come."""
    looks, since = 0, 0
    while look(counts, at) < least:
        looks += 1
        if looks <= LOOKS:
            relax()
            continue
        if looks == LOOKS + 1:
            since = clock()
        if look(meeting, ABANDONED) != 0:
            return False
        if looks <= LOOKS + OFFERS:
            _offer_core()
        else:
            _sleep(PAUSE)
    if looks > LOOKS:
        add(meeting, LATE, clock() - since)
    return True


@jit(helper=True)
def meet(meeting: OutInts, members: int) -> bool:
    """Wait until all members are here; False if one of them will not come."""
    if members == 1:
        return True
    if look(meeting, ABANDONED) != 0:  # who never waits for long would not see it otherwise
        return False
    turn = look(meeting, TURN)
    if add(meeting, ARRIVED, 1) == members - 1:
        add(meeting, ARRIVED, -members)
        add(meeting, TURN, 1)
        return True
    return wait_for(meeting, TURN, turn + 1, meeting)
