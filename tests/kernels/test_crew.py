"""Threads that take pieces of kernels without Python's lock: the same results, and an end in every case."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from jostle.kernels import sharing
from jostle.kernels.cpu.crew import SLEEPING, crew
from jostle.kernels.cpu.jit import KERNELS, _Kernel, jit
from jostle.kernels.cpu.meeting import ABANDONED, ARRIVED, LATE, meet, new_meeting
from jostle.kernels.cpu.signatures import Bools, Floats2, Ints, OutFloats, OutInts
from jostle.kernels.sharing import cut, together
from jostle.kernels.teams import in_step

pytestmark = [
    pytest.mark.skipif(not hasattr(_Kernel, "packed"), reason="Python's threads share the pieces here"),
    pytest.mark.usefixtures("no_hang"),
]


@jit()
def smallest(x: Floats2, factor: float, first: int, last: int, skip: bool, out: OutFloats) -> float:
    found = np.inf
    for a in range(first, last):
        out[a] = factor * x[a, 0] + x[a, 1]
        if not skip:
            found = min(found, out[a])
    return found


@jit()
def number(x: Ints, first: int, last: int) -> int:
    count = 0
    for a in range(first, last):
        count += x[a] > 0
    return count


@jit()
def any_of(x: Bools, first: int, last: int) -> bool:
    found = False
    for a in range(first, last):
        found |= x[a]
    return found


@jit()
def ends(x: Ints, first: int, last: int) -> tuple[int, int, int]:
    return x[first], x[last - 1], last - first


@jit()
def all_meet(meeting: OutInts, member: int, members: int, times: int, came: OutInts) -> int:
    for k in range(times):
        came[member] += 1
        if not meet(meeting, members):
            return -1
        for one in range(members):
            if came[one] < k + 1:
                return -2
        if not meet(meeting, members):
            return -1
    return member + 10


@jit()
def fails(meeting: OutInts, member: int, members: int) -> int:
    if member == 1:
        raise ValueError
    return 0 if meet(meeting, members) else -1


for kernel in (smallest, number, any_of, ends, all_meet, fails):
    KERNELS.remove(kernel)  # not the library's


@pytest.fixture(autouse=True)
def three_threads(monkeypatch):
    monkeypatch.setattr(sharing, "threads", lambda: 3)


def members(count, times=200, missing=0):
    """The arguments of `in_step` for threads that only meet; some never come."""
    meeting, came = new_meeting(), np.zeros(count, np.int64)

    def divided(all_of_them):
        assert all_of_them == count
        return all_meet, [(meeting, member, count + missing, times, came) for member in range(count)]

    return count, divided, lambda: meeting.__setitem__(ABANDONED, 1)


@pytest.mark.parametrize("pieces", [2, 3, 7, 40])
def test_results_are_those_of_single_calls(pieces):
    random, n = np.random.default_rng(pieces), 1000
    x, k, yes = random.normal(size=(n, 2)), random.integers(-5, 5, n), np.zeros(n, bool)
    yes[700] = True
    one, several = np.zeros(n), np.zeros(n)
    for _ in range(50):  # threads come early and late
        parts = cut(n, pieces)
        expected = [smallest(x, 2.0, *part, part[0] == 0, one) for part in parts]
        assert together(smallest, [(x, 2.0, *part, part[0] == 0, several) for part in parts]) == expected
        assert several.tobytes() == one.tobytes()
        several[:] = 0.0
        assert together(number, [(k, *part) for part in parts]) == [number(k, *part) for part in parts]
        assert together(any_of, [(yes, *part) for part in parts]) == [first <= 700 < last for first, last in parts]
        assert together(ends, [(k, *part) for part in parts]) == [ends(k, *part) for part in parts]


def test_threads_did_some_of_the_work():
    """And not always the caller alone: those that sleep are woken, too."""
    meeting, came = new_meeting(), np.zeros(2, np.int64)
    time.sleep(0.05)
    together(all_meet, [(meeting, member, 2, 3, came) for member in range(2)])  # two that wait for each other
    assert came.tolist() == [3, 3]


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((4, 2), np.float32),
        np.zeros(4),
        np.zeros((2, 4)).T,
        np.zeros((4, 2), np.int64),
        np.zeros(65, np.uint8)[1:].view(np.float64).reshape(4, 2),
    ],
    ids=["float32", "1-D", "not contiguous", "integers", "not aligned"],
)
def test_arrays_of_other_types_are_refused(wrong):
    out = np.zeros(4)
    with pytest.raises(TypeError, match="smallest"):
        together(smallest, [(wrong, 1.0, 0, 2, False, out), (wrong, 1.0, 2, 4, False, out)])
    assert together(number, [(np.ones(4, np.int64), 0, 2)] * 2) == [2, 2], "the crew is free again"


def test_what_counts_as_true_is_true():
    x, out = np.ones((4, 2)), np.zeros(4)
    for yes in (True, np.True_, 2):
        assert together(smallest, [(x, 1.0, 0, 2, yes, out), (x, 1.0, 2, 4, yes, out)]) == [np.inf] * 2


def test_what_is_written_must_be_writable():
    out = np.zeros(4)
    out.flags.writeable = False
    with pytest.raises(TypeError, match="smallest"):
        together(smallest, [(np.zeros((4, 2)), 1.0, 0, 2, False, out)] * 2)


@pytest.mark.parametrize("count", [2, 8])
def test_pieces_that_wait_for_each_other_all_run(count):
    for _ in range(2):
        assert in_step(*members(count)) == (10, count)


def test_long_waits_are_timed():
    """The second of two comes half a second late."""
    meeting, came = new_meeting(), np.zeros(2, np.int64)
    first = threading.Thread(target=all_meet, args=(meeting, 0, 2, 1, came))
    first.start()
    time.sleep(0.5)
    all_meet(meeting, 1, 2, 1, came)
    first.join()
    assert meeting[LATE] > 0
    assert came.tolist() == [1, 1]


def test_ctrl_c_ends_pieces_that_wait():
    """A fourth one never comes: the others wait until the caller is interrupted."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        in_step(*members(3, missing=1))
    assert time.monotonic() - begin > 0.2
    assert in_step(*members(3)) == (10, 3), "threads work again"


AT_ANY_MOMENT = """
import random, signal, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import test_crew
from jostle.kernels import cpu, sharing, teams
from jostle.kernels.cpu.crew import crew
from jostle.kernels.teams import in_step
from rows_in_space import sweeping
sharing.threads, teams.MOST_LOST = lambda: 3, np.inf

def interrupt(*_):
    raise KeyboardInterrupt

def work():
    assert sharing.together(test_crew.number, [(ones, 0, 2)] * 3) == [2] * 3
    assert in_step(*test_crew.members(3, 2)) == (10, 3)
    assert cpu.gauss_seidel(*problem)[0].tobytes() == expected

ones, interrupted, problem = np.ones(4, np.int64), 0, sweeping(3, chunks=3)
expected = cpu.gauss_seidel(*problem)[0].tobytes()
work()  # imports: Python loses an interrupt that comes while it removes the lock of a module
signal.signal(signal.SIGALRM, interrupt)
for k in range(600):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.Random(k).uniform(1e-5, 2e-3))
        while True:
            work()
    except KeyboardInterrupt:
        interrupted += 1
assert sharing.together(test_crew.number, [(ones, 0, 2)] * 3) == [2] * 3
assert crew().share(test_crew.number.packed, [(ones, 0, 2)] * 3, 2) == [2] * 3, "the crew is free"
print(interrupted, *in_step(*test_crew.members(3)))
"""


def test_many_interruptions_end_neither_the_crew_nor_the_process():
    found = subprocess.run(
        [sys.executable, "-c", AT_ANY_MOMENT, os.path.dirname(__file__)], capture_output=True, text=True, timeout=120
    )
    assert (found.stderr, found.returncode) == ("", 0)
    assert found.stdout == "600 10 3\n"


def test_who_never_waits_for_long_sees_that_a_meeting_is_abandoned():
    meeting, came = new_meeting(), np.zeros(2, np.int64)
    meeting[ARRIVED], meeting[ABANDONED] = 1, 1  # the other one is already here
    assert all_meet(meeting, 0, 2, 1, came) == -1


def test_a_piece_that_fails_is_an_error_and_nobody_waits_for_it():
    meeting = new_meeting()
    for _ in range(3):
        with pytest.raises(RuntimeError, match="fails failed"):
            together(fails, [(meeting, k, 1) for k in range(3)])
    assert together(number, [(np.ones(4, np.int64), 0, 2)] * 2) == [2, 2]


def test_no_more_threads_than_asked_for_share_many_pieces():
    before = len(crew().threads)
    assert together(number, [(np.ones(4, np.int64), 0, 2)] * 100) == [2] * 100
    assert len(crew().threads) == max(before, 2)


def test_threads_that_cannot_be_started_are_missed(monkeypatch):
    def cannot(self):
        raise RuntimeError("can't start new thread")

    count = len(crew().threads) + 2
    with monkeypatch.context() as patch:
        patch.setattr("threading.Thread.start", cannot)
        patch.setattr(sharing, "threads", lambda: count)
        assert together(number, [(np.ones(4, np.int64), 0, 2)] * count) == [2] * count


def test_who_has_nothing_to_do_sleeps():
    together(number, [(np.ones(4, np.int64), 0, 2)] * 6)
    deadline = time.monotonic() + 30.0
    while crew().mail[SLEEPING] < len(crew().threads):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.15


def test_a_second_caller_works_alone():
    with crew().at_work:
        assert crew().share(number.packed, [(np.ones(4, np.int64), 0, 2)] * 2, 1) is None
        assert together(number, [(np.ones(4, np.int64), 0, 2)] * 2) == [2, 2]


AT_THE_END = """
import atexit, os, sys, threading, time
import numpy as np
from jostle.kernels import sharing
sharing.threads = lambda: 3
from jostle.kernels.cpu.contacts import _fill_rates
i, v = np.zeros(10, np.int64), np.ones((2, 3))
def work():
    out = np.zeros((3, 10))
    sharing.together(_fill_rates, [(i, i + 1, np.ones((10, 3)), v, 0, 10, out[k]) for k in range(3)])
def endless():
    while True:
        work()
if "atexit" in sys.argv:
    atexit.register(work)  # before the crew: runs after its end
work()
if "fork" in sys.argv:
    child = os.fork()
    work()
    if child:
        assert os.waitpid(child, 0)[1] == 0
if "daemon" in sys.argv:
    threading.Thread(target=endless, daemon=True).start()
    time.sleep(0.05)
"""


@pytest.mark.parametrize("how", ["alone", "fork", "daemon", "atexit"])
def test_a_process_ends_while_its_threads_wait(how):
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", AT_THE_END, how], capture_output=True, text=True, timeout=60
    )
    assert (found.stderr, found.returncode) == ("", 0)
