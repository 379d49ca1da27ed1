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
from collections.abc import Callable, Sequence
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
ADDRESS, WORDS, STRIDE, BELL, STOP, NUMBERS = 112, 113, 114, 115, 116, 128
"""Entries that only the caller writes: the function to call; where the arguments of the first piece are, and how far
apart those of two pieces; the file to which a byte is written when all are done or one fails, or -1; whether all
threads shall end."""
PIECES = 1 << 32
"""The factor of the number of pieces in NEXT."""
SPIN = LOOKS // 5
"""Number of looks before a thread sleeps: a tenth of a millisecond."""
SLEEP, WAKE = 128, 129
"""What the system call FUTEX shall do, for threads of one process."""
if FUTEX is not None:  # elsewhere the module can be imported, but not used
    _system = system_call("syscall", "jostle_syscall", *[types.int64] * 7, result=types.int64)
    _write = system_call("write", "jostle_write", types.int32, types.voidptr, types.uint64, result=types.int64)


@intrinsic
def _call(typing: Any, address: Any, words: Any) -> Any:
    """Call the function at an address with an address, and return its result."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words_type = ir.IntType(64).as_pointer()
        kind = ir.FunctionType(ir.IntType(64), [words_type]).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], kind), [builder.inttoptr(arguments[1], words_type)])

    return types.int64(types.int64, types.int64), generate


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
    bell, failed = look(mail, BELL), _call(look(mail, ADDRESS), look(mail, WORDS) + number * look(mail, STRIDE)) != 0
    if failed:
        exchange(mail, FAILED, 1)
    if (add(mail, DONE, 1) == pieces - 1 or failed) and bell >= 0:
        _write(np.int32(bell), mail.ctypes, np.uint64(1))
    return True


@jit()
def serve(mail: OutInts, turn_at: int) -> None:
    """Do pieces, and sleep if there are none; turn_at is the address of TURN."""
    add(mail, INSIDE, 1)
    looks = 0
    while look(mail, STOP) == 0:
        turn = look(mail, TURN)
        if _do_one(mail):
            looks = 0
        elif looks < SPIN:
            looks += 1
            relax()
        else:
            add(mail, SLEEPING, 1)
            _system(FUTEX, turn_at, SLEEP, turn % PIECES, 0, 0, 0)
            add(mail, SLEEPING, -1)
            looks = 0
    add(mail, INSIDE, -1)


@jit()
def post(mail: OutInts, turn_at: int, address: int, words: int, stride: int, pieces: int, bell: int, wake: int) -> None:
    """Offer the pieces of a job, and wake some threads; the pieces of the job before are all done."""
    mail[ADDRESS], mail[WORDS], mail[STRIDE], mail[BELL] = address, words, stride, bell
    mail[DONE] = mail[FAILED] = 0
    exchange(mail, NEXT, pieces * PIECES)
    _wake(mail, turn_at, wake)


@jit(helper=True)
def _wake(mail: OutInts, turn_at: int, count: int) -> None:
    """Wake some of the threads that sleep, or are about to."""
    add(mail, TURN, 1)
    if look(mail, SLEEPING) > 0:
        _system(FUTEX, turn_at, WAKE, count, 0, 0, 0)


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
        self.turn_at = self.mail[TURN:].ctypes.data
        self.listen, self.bell = os.pipe()
        self.threads: list[Thread] = []
        self.mail[STOP] = 1
        serve(self.mail, self.turn_at)  # compiled here: not while a job is at work, nor as the process ends
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
                self._post(packed, words, -1, helpers)
            finally:
                finish(self.mail)
            self._check(packed)
        return packed.results(words)

    def in_step(self, packed: Packed, pieces: Sequence[tuple[Any, ...]], abandon: Callable[[], object]) -> list[Any]:
        """The same for pieces that wait for each other: each has a thread of its own, and the caller obeys Ctrl-C.

        If the caller is interrupted, or a piece fails, `abandon` tells those that wait.
        """
        with self.at_work:
            words = packed.pack(pieces)
            if not self._start(len(pieces)):
                raise RuntimeError(
                    f"{len(pieces)} threads are needed, and only {len(self.threads)} can be started; "
                    "set the environment variable NUMBA_NUM_THREADS to a smaller number"
                )
            try:
                self._post(packed, words, self.bell, len(pieces))
                done = 0
                while done < len(pieces):
                    os.read(self.listen, 1024)  # may also find the byte of an earlier job that was interrupted
                    done = int(self.mail[DONE])
                    self._check(packed)
            except BaseException:
                abandon()
                raise
            finally:
                finish(self.mail)
        return packed.results(words)

    def _start(self, count: int) -> bool:
        """Start threads until there are `count`; False if not all of them can be started."""
        while len(self.threads) < min(count, MAX_THREADS):
            thread = Thread(target=serve, args=(self.mail, self.turn_at), name="jostle", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is about to end, or there are too many threads
                break
            self.threads.append(thread)
        return len(self.threads) >= count

    def _post(self, packed: Packed, words: Any, bell: int, wake: int) -> None:
        post(
            self.mail, self.turn_at, packed.address, words.ctypes.data, words.strides[0], len(words), bell, wake
        )  # fmt: skip

    def _check(self, packed: Packed) -> None:
        """Raise an error if a piece of the job has failed."""
        if self.mail[FAILED]:
            raise RuntimeError(f"{packed.name} failed in a thread, probably because memory ran out")

    def dismiss(self) -> None:
        """Let all threads leave compiled code, which is about to be removed. From now on nobody works with the crew."""
        if os.getpid() == self.process:
            self.at_work.acquire()  # the last job, of a daemon thread, has ended; those who come later work alone
            self.mail[STOP] = 1
            post(self.mail, self.turn_at, 0, 0, 0, 0, -1, PIECES // 2 - 1)
            while self.mail[INSIDE] > 0:
                time.sleep(1e-4)


@cache
def crew() -> Crew:
    """The crew of this process."""
    return Crew()


if hasattr(os, "register_at_fork"):  # the threads stay with the parent
    os.register_at_fork(after_in_child=crew.cache_clear)
