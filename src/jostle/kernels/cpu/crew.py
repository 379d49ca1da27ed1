"""Threads that wait in compiled code for pieces of kernels, and do them without Python's lock.

Handing a piece to a thread of Python's takes 50 to 100 microseconds, since it needs Python's lock to begin and to end.
A thread of the crew takes one within a microsecond. It waits for about a millisecond after the last piece, and then
returns to Python, where it sleeps (see `workers`) until it is called up again.

There is one job at a time, which `mail` describes. NEXT holds its number of pieces and the next one of them, so that a
thread takes a piece by adding one, and knows whether there was any; what it needs for the piece is then in place,
since a job is not replaced before all of its pieces are done.
"""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Sequence
from contextvars import Context
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from jostle.kernels.cpu.jit import jit
from jostle.kernels.cpu.meeting import LOOKS, OFFERS, add, exchange, look, offer_core, relax, system_call, wait_for
from jostle.kernels.cpu.packed import Packed
from jostle.kernels.cpu.signatures import OutInts
from jostle.kernels.threads import threads
from jostle.kernels.workers import Workers

NEXT, DONE, INSIDE, ADDRESS, WORDS, STRIDE, BELL, SEATS, NUMBERS = 0, 16, 48, 64, 65, 66, 67, 68, 80
"""The entries of `mail`: the next piece; how many are done; how many threads wait for pieces or do them; the function
to call, where the arguments of the first piece are, and how far apart those of two pieces; the file to which a byte is
written when all are done, or -1; how many threads may wait for the next job. What threads write is 128 bytes apart;
entry 32 is that of a meeting that nobody abandons."""
PIECES = 1 << 32
"""The factor of the number of pieces in NEXT."""
_write = system_call("write", "jostle_write", types.int32, types.voidptr, types.uint64, result=types.int64)


@intrinsic
def _call(typing: Any, address: Any, words: Any) -> Any:
    """Call the function at an address with an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words_type = ir.IntType(64).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [words_type]).as_pointer()
        builder.call(builder.inttoptr(arguments[0], kind), [builder.inttoptr(arguments[1], words_type)])
        return context.get_dummy_value()

    return types.none(types.int64, types.int64), generate


@jit(helper=True)
def _do_one(mail: OutInts) -> bool:
    """Do a piece, if there is any that nobody has begun."""
    state = look(mail, NEXT)
    if state % PIECES >= state // PIECES:
        return False
    state = add(mail, NEXT, 1)
    number = state % PIECES
    if number >= state // PIECES:
        return False
    _call(look(mail, ADDRESS), look(mail, WORDS) + number * look(mail, STRIDE))
    bell, pieces = look(mail, BELL), state // PIECES
    if add(mail, DONE, 1) == pieces - 1 and bell >= 0:
        _write(np.int32(bell), mail.ctypes, np.uint64(1))
    return True


@jit()
def serve(mail: OutInts) -> None:
    """Do pieces, until there have been none for some time, or there are more threads than may wait."""
    add(mail, INSIDE, 1)
    looks = 0
    while looks < LOOKS + OFFERS:
        if _do_one(mail):
            looks = 0
            continue
        if look(mail, INSIDE) > look(mail, SEATS):
            if add(mail, INSIDE, -1) > look(mail, SEATS):
                return
            add(mail, INSIDE, 1)
        looks += 1
        if looks < LOOKS:
            relax()
        else:
            offer_core()
    add(mail, INSIDE, -1)


@jit()
def post(mail: OutInts, address: int, words: int, stride: int, pieces: int, bell: int, seats: int) -> None:
    """Offer the pieces of a job; those of the one before are all done."""
    mail[ADDRESS], mail[WORDS], mail[STRIDE], mail[DONE] = address, words, stride, 0
    mail[BELL], mail[SEATS] = bell, seats
    exchange(mail, NEXT, pieces * PIECES)


@jit()
def finish(mail: OutInts) -> None:
    """Do what nobody has begun, and wait for the others."""
    while _do_one(mail):
        pass
    wait_for(mail, DONE, look(mail, NEXT) // PIECES, mail)


class Crew:
    """The threads, and what they are told."""

    def __init__(self) -> None:
        self.mail, self.at_work = np.zeros(NUMBERS, np.int64), Lock()
        self.threads, self.context, self.process = Workers(), Context(), os.getpid()
        self.listen, self.bell = os.pipe()
        atexit.register(self.dismiss)

    def help(self, context: Context) -> None:
        """What a thread does that is woken."""
        serve(self.mail)

    def needed(self) -> bool:
        """Whether there are pieces that nobody has begun."""
        return bool(self.mail[NEXT] % PIECES < self.mail[NEXT] // PIECES)

    def share(self, packed: Packed, pieces: Sequence[tuple[Any, ...]]) -> list[Any] | None:
        """What a kernel returns for each piece: the caller works too. None if the crew is at work elsewhere."""
        if not self.at_work.acquire(blocking=False):
            return None
        try:
            words = packed.pack(pieces)
            try:
                self._post(packed, words, -1)
                self.threads.rouse(self, len(pieces) - 1)
            finally:
                finish(self.mail)
        finally:
            self.at_work.release()
        return packed.results(words)

    def in_step(self, packed: Packed, pieces: Sequence[tuple[Any, ...]], abandon: Callable[[], object]) -> list[Any]:
        """The same for pieces that wait for each other: each has a thread of its own, and the caller obeys Ctrl-C.

        If the caller is interrupted, or not all threads can be started, `abandon` tells those that wait.
        """
        with self.at_work:
            words = packed.pack(pieces)
            try:
                self._post(packed, words, self.bell)
                if not self.threads.rouse(self, len(pieces)):
                    raise RuntimeError(f"{len(pieces)} threads are needed, and not all of them can be started")
                os.read(self.listen, 1)
            except BaseException:
                abandon()
                finish(self.mail)
                os.read(self.listen, 1)
                raise
            finally:
                finish(self.mail)
        return packed.results(words)

    def _post(self, packed: Packed, words: Any, bell: int) -> None:
        """Offer a job. While it lasts, the caller and those who may wait afterwards have a core each."""
        post(self.mail, packed.address, words.ctypes.data, words.strides[0], len(words), bell, threads() - 1)

    def dismiss(self) -> None:
        """Let all threads leave compiled code, which is about to be removed."""
        self.mail[SEATS] = 0
        while self.mail[INSIDE] > 0 and os.getpid() == self.process:
            time.sleep(1e-4)


@cache
def crew() -> Crew:
    """The crew of this process."""
    return Crew()


if hasattr(os, "register_at_fork"):  # the threads stay with the parent
    os.register_at_fork(after_in_child=crew.cache_clear)
