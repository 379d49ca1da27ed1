"""Where threads that work in step wait for each other: a barrier that compiled code can call.

A thread that waits reads a number again and again; then it offers its core to others between two looks, and at last it
sleeps between them: on a busy machine the others may wait for a core themselves. How long it looks before that is
learnt: a wait that lasts longer halves the patience of all, one that ends in time raises it a little.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.signatures import Ints, OutInts

ARRIVED, TURN, ABANDONED, PATIENCE, NUMBERS = 0, 16, 32, 48, 64
"""The entries of a meeting, 128 bytes apart so that they share no line of a cache: how many threads have arrived, how
often all have met, whether some thread will not come, and how often a thread looks before it offers its core."""
LEAST_LOOKS, MOST_LOOKS = 5000, 500_000
"""The bounds of that patience: about 5 and 500 microseconds."""
RISE = 32
"""A wait that ends in time raises the patience by one in so many."""
OFFERS = 50
"""How often a thread offers its core before it sleeps."""
PAUSE = 0 if sys.platform == "win32" else 30
"""For how long it then sleeps between two looks: microseconds (Windows: milliseconds)."""


def new_meeting() -> Ints:
    """A place for threads to meet."""
    meeting = np.zeros(NUMBERS, np.int64)
    meeting[PATIENCE] = MOST_LOOKS
    return meeting


def _system_call(name: str, symbol: str, *arguments: Any) -> Any:
    """A function of the operating system, for compiled code."""
    library: Any = ctypes.windll.kernel32 if sys.platform == "win32" else ctypes.CDLL(None)
    binding.add_symbol(symbol, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    return types.ExternalFunction(symbol, types.int32(*arguments))


_offer_core = _system_call("SwitchToThread" if sys.platform == "win32" else "sched_yield", "jostle_offer_core")
_sleep = _system_call("Sleep" if sys.platform == "win32" else "usleep", "jostle_sleep", types.uint32)


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The address of an entry of an array."""
    data = make_array(signature.args[0])(context, builder, arguments[0]).data
    return cgutils.gep(builder, data, arguments[1])


@intrinsic
def _add(typing: Any, array: Any, at: Any, more: Any) -> Any:
    """array[at] += more in one step, whatever other threads do; returns what it was before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _pointer(context, builder, signature, arguments)
        return builder.atomic_rmw("add", place, arguments[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), generate


@intrinsic
def _look(typing: Any, array: Any, at: Any) -> Any:
    """array[at] as another thread left it, with all that it wrote before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _pointer(context, builder, signature, arguments)
        return builder.load_atomic(place, "seq_cst", 8, typ=ir.IntType(64))

    return types.int64(array, types.int64), generate


@jit(helper=True)
def count_up(counts: OutInts, at: int) -> None:
    """counts[at] += 1, seen by `wait_for` together with all that was written before."""
    _add(counts, at, 1)


@jit(helper=True)
def wait_for(counts: OutInts, at: int, least: int, meeting: OutInts) -> bool:
    """Wait until counts[at] >= least; False if a member of the meeting will not come."""
    looks, patience = 0, _look(meeting, PATIENCE)
    while _look(counts, at) < least:
        looks += 1
        if looks > patience:
            if _look(meeting, ABANDONED) != 0:
                return False
            if looks <= patience + OFFERS:
                _offer_core()
            else:
                _sleep(PAUSE)
    if looks > patience:
        meeting[PATIENCE] = max(LEAST_LOOKS, patience // 2)
    elif patience < MOST_LOOKS:
        meeting[PATIENCE] = min(MOST_LOOKS, patience + patience // RISE)
    return True


@jit(helper=True)
def meet(meeting: OutInts, members: int) -> bool:
    """Wait until all members are here; False if one of them will not come."""
    if members == 1:
        return True
    turn = _look(meeting, TURN)
    if _add(meeting, ARRIVED, 1) == members - 1:
        _add(meeting, ARRIVED, -members)
        _add(meeting, TURN, 1)
        return True
    return wait_for(meeting, TURN, turn + 1, meeting)
