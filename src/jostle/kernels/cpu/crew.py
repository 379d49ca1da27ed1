"""Threads that wait in compiled code for pieces of kernels, and do them without Python's lock.

Handing a piece to a thread of Python's takes 50 to 100 microseconds, since it needs Python's lock to begin and to end.
A thread of the crew takes one within a microsecond, or within about 50 if it sleeps, which it does after a tenth of a
millisecond without work. It never returns to Python before the process ends.

There is one job at a time, which `mail` describes. NEXT holds its number of pieces and the next one of them, so that a
thread takes a piece by adding one, and knows whether there was any. The arguments of that piece are then in place,
since a job is not replaced before all of its pieces are done.
"""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Sequence
from functools import cache
from threading import Lock, Thread
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from jostle.kernels.cpu.jit import FUTEX, jit
from jostle.kernels.cpu.meeting import LOOKS, add, exchange, look, relax, system_call, wait_for
from jostle.kernels.cpu.packed import Packed
from jostle.kernels.cpu.signatures import OutInts
from jostle.kernels.threads import MAX_THREADS

NEXT, DONE, TURN, SLEEPING, INSIDE, FAILED = 0, 16, 48, 64, 80, 96
"""Entries of `mail` that threads write, 128 bytes apart: the next piece; how many are done; how many jobs there were;
how many threads sleep; how many threads there are; whether a piece failed. Entries 32 and 33 are those of a meeting
that nobody abandons."""
ADDRESS, WORDS, STRIDE, STOP, TURN_AT, NUMBERS = 112, 113, 114, 115, 116, 128
"""Entries that only the caller writes: the function to call; where the arguments of the first piece are, and how far
apart those of two pieces; whether all threads shall end; the address of TURN."""
PIECES = 1 << 32
"""The factor of the number of pieces in NEXT."""
SPIN = LOOKS // 5
"""Number of looks before a thread sleeps: a tenth of a millisecond."""
SLEEP, WAKE = 128, 129
"""What the system call FUTEX shall do, for threads of one process."""
WOKEN = 2
"""Number of threads that each one wakes that begins a piece, as long as there are more pieces."""
if FUTEX is not None:  # elsewhere the module can be imported, but not used
    _system = system_call("syscall", "jostle_syscall", *[types.int64] * 7, result=types.int64)


@intrinsic
def _call(typing: Any, address: Any, words: Any) -> Any:
    """Call the function at an address with an address, and return its result."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words_type = ir.IntType(64).as_pointer()
        kind = ir.FunctionType(ir.IntType(64), [words_type]).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], kind), [builder.inttoptr(arguments[1], words_type)])

    return types.int64(types.int64, types.int64), generate


@jit(helper=True)
def _wake(mail: OutInts, count: int) -> None:
    """Wake some of the threads that sleep. Those that are about to will see that TURN has changed."""
    if look(mail, SLEEPING) > 0:
        _system(FUTEX, look(mail, TURN_AT), WAKE, count, 0, 0, 0)


@jit(helper=True)
def _do_one(mail: OutInts) -> bool:
    """Do a piece, if there is any that nobody has begun."""
    state = look(mail, NEXT)
    if state % PIECES >= state // PIECES:
        return False
    state = add(mail, NEXT, 1)
    number, pieces = state % PIECES, state // PIECES
    if number >= pieces:
        return False
    if number + 1 < pieces:
        _wake(mail, WOKEN)
    if _call(look(mail, ADDRESS), look(mail, WORDS) + number * look(mail, STRIDE)) != 0:
        exchange(mail, FAILED, 1)
    add(mail, DONE, 1)
    return True


@jit()
def serve(mail: OutInts) -> None:
    """Do pieces, and sleep if there are none."""
    add(mail, INSIDE, 1)
    looks = 0
    while True:
        turn = look(mail, TURN)  # before STOP, which `dismiss` writes first: who sees the last turn also sees it
        if look(mail, STOP) != 0:
            break
        if _do_one(mail):
            looks = 0
        elif looks < SPIN:
            looks += 1
            relax()
        else:
            add(mail, SLEEPING, 1)
            _system(FUTEX, look(mail, TURN_AT), SLEEP, turn % PIECES, 0, 0, 0)
            add(mail, SLEEPING, -1)
            looks = 0
    add(mail, INSIDE, -1)


@jit()
def post(mail: OutInts, address: int, words: int, stride: int, pieces: int, wake: int) -> None:
    """Offer the pieces of a job, and wake some threads; the pieces of the job before are all done."""
    mail[ADDRESS], mail[WORDS], mail[STRIDE] = address, words, stride
    mail[DONE] = mail[FAILED] = 0
    exchange(mail, NEXT, pieces * PIECES)
    add(mail, TURN, 1)
    _wake(mail, wake)


@jit()
def finish(mail: OutInts) -> None:
    """Do what nobody has begun, and wait for the others."""
    while _do_one(mail):
        pass
    wait_for(mail, DONE, look(mail, NEXT) // PIECES, mail)


class Crew:
    """The threads, and what they are told."""

    def __init__(self) -> None:
        self.mail, self.at_work, self.process = np.zeros(NUMBERS, np.int64), Lock(), os.getpid()
        self.mail[TURN_AT] = self.mail[TURN:].ctypes.data
        self.threads: list[Thread] = []
        self.mail[STOP] = 1
        serve(self.mail)  # compiled here: not while a job is at work, nor as the process ends
        finish(self.mail)
        self.mail[STOP] = 0
        atexit.register(self.dismiss)

    def share(self, packed: Packed, pieces: Sequence[tuple[Any, ...]], helpers: int) -> list[Any] | None:
        """What a kernel returns for each piece; the caller works as well. None if the crew is at work elsewhere."""
        if self.at_work.locked():
            return None
        with self.at_work:  # Ctrl-C never leaves it locked, unlike after acquire()
            words = packed.pack(pieces)
            self._start(helpers)
            try:
                post(self.mail, packed.address, words.ctypes.data, words.strides[0], len(words), 1)
            finally:
                finish(self.mail)
            self._check(packed)
        return packed.results(words)

    def _start(self, count: int) -> None:
        """Start threads until there are `count`, if they can be started: the caller does what nobody else does."""
        while len(self.threads) < min(count, MAX_THREADS):
            thread = Thread(target=serve, args=(self.mail,), name="jostle", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is about to end, or there are too many threads
                return
            self.threads.append(thread)

    def _check(self, packed: Packed) -> None:
        """Raise an error if a piece of the job has failed."""
        if self.mail[FAILED]:
            raise RuntimeError(f"{packed.name} failed in a thread, probably because memory ran out")

    def dismiss(self) -> None:
        """Let all threads leave compiled code, which is about to be removed. From now on nobody works with the crew."""
        if os.getpid() == self.process:
            self.at_work.acquire()  # the last job, of a daemon thread, has ended; those who come later work alone
            self.mail[STOP] = 1
            post(self.mail, 0, 0, 0, 0, PIECES // 2 - 1)
            while self.mail[INSIDE] > 0:
                time.sleep(1e-4)


@cache
def crew() -> Crew:
    """The crew of this process."""
    return Crew()


if hasattr(os, "register_at_fork"):  # the threads stay with the parent
    os.register_at_fork(after_in_child=crew.cache_clear)
