"""Threads that wait for each other: all of them run, and all of them end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from jostle.kernels import teams
from jostle.kernels.teams import in_step

pytestmark = pytest.mark.usefixtures("no_hang")


def count_members(members):
    """What in_step divides: the number of its threads."""
    return (lambda _: members), [(member,) for member in range(members)]


def nothing():
    raise AssertionError("nobody waits")


def in_time(barrier):
    return lambda members: ((lambda k: barrier.wait(30.0) >= 0 and k + 10), [(k,) for k in range(members)])


@pytest.mark.parametrize("count", [2, 3, 8])
def test_all_pieces_run_at_the_same_time(count):
    for _ in range(20):
        assert in_step(count, in_time(threading.Barrier(count)), nothing) == (10, count)


def test_one_thread_is_the_caller():
    assert in_step(1, lambda members: (threading.get_ident, [()]), nothing) == (threading.get_ident(), 1)


def test_while_a_team_is_at_work_others_work_alone():
    inner = []

    def divided(members):
        inner.append(in_step(3, count_members, nothing))
        return count_members(members)

    assert in_step(3, divided, nothing) == (3, 3)
    assert inner == [(1, 1)]
    assert in_step(2, count_members, nothing) == (2, 2)


def test_callers_on_other_threads_do_not_wait_for_the_team():
    at_work, end, found = threading.Event(), threading.Event(), []

    def long(member):
        at_work.set()
        return end.wait(60.0)

    def call():
        found.append(in_step(3, lambda members: (long, [(k,) for k in range(members)]), nothing))

    caller = threading.Thread(target=call, daemon=True)
    caller.start()
    assert at_work.wait(60.0)
    assert in_step(3, count_members, nothing) == (1, 1)
    end.set()
    caller.join(60.0)
    assert found == [(True, 3)]


def test_first_calls_at_the_same_time_share_no_thread(monkeypatch):
    """Threads of two teams would wait for each other."""
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    found = []
    try:
        for _ in range(100):
            monkeypatch.setattr(teams, "_members", [])
            start = threading.Barrier(3)

            def call(start=start):
                start.wait(30.0)
                found.append(in_step(3, lambda members: in_time(threading.Barrier(members))(members), nothing))

            callers = [threading.Thread(target=call, daemon=True) for _ in range(3)]
            for caller in callers:
                caller.start()
            for caller in callers:
                caller.join(60.0)
    finally:
        sys.setswitchinterval(switch)
    assert len(found) == 300
    assert set(found) <= {(10, 1), (10, 3)}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_died_is_replaced():
    def fail(member):
        raise ValueError("of a piece")

    with pytest.raises(ValueError, match="of a piece"):
        in_step(2, lambda members: (fail, [(k,) for k in range(members)]), nothing)
    for thread in teams._members[:2]:
        thread.join(30.0)  # `nothing` has raised an error in it
        assert not thread.is_alive()
    assert in_step(2, count_members, nothing) == (2, 2)


def test_a_member_that_fails_lets_the_others_go():
    """Also if it is not the first, which all results wait for."""
    called = threading.Event()

    def work(member):
        if member == 2:
            raise MemoryError("of the third")
        assert called.wait(30.0), "nobody said that one failed"
        return member

    with pytest.raises(MemoryError, match="of the third"):
        in_step(3, lambda members: (work, [(member,) for member in range(members)]), called.set)
    assert in_step(3, count_members, nothing) == (3, 3), "they work again"


def test_the_lock_is_free_again_if_the_work_cannot_be_divided():
    def divided(members):
        raise MemoryError

    with pytest.raises(MemoryError):
        in_step(3, divided, nothing)
    assert in_step(3, count_members, nothing) == (3, 3)


@pytest.mark.parametrize(("more", "left"), [(0, 1), (1, 1), (2, 2)])
def test_fewer_work_if_threads_cannot_be_started(monkeypatch, more, left):
    start, started = threading.Thread.start, []

    def limited(self):
        if len(started) == more:
            raise RuntimeError("can't start new thread")
        started.append(self)
        start(self)

    monkeypatch.setattr(teams, "_members", [])
    monkeypatch.setattr("threading.Thread.start", limited)
    assert in_step(4, count_members, nothing) == (left, left)


def test_pieces_obey_what_numpy_shall_do_about_errors():
    def work(member):
        return np.float64(1.0) / np.float64(0.0)

    def divided(members):
        return work, [(member,) for member in range(members)]

    with np.errstate(divide="ignore"):
        assert in_step(2, divided, nothing) == (np.inf, 2)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        in_step(2, divided, lambda: None)


def test_threads_keep_nothing_of_what_they_did():
    import gc
    import weakref

    arrays = [np.zeros(10)]
    kept = weakref.ref(arrays[0])
    in_step(3, lambda members: (len, [(arrays[0],)] * members), nothing)
    arrays.clear()
    deadline = time.monotonic() + 30.0
    while kept() is not None:
        assert time.monotonic() < deadline
        gc.collect()
        time.sleep(0.01)


def test_a_team_that_waited_for_cores_is_smaller_for_a_while(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(teams, "_fewer", teams.Fewer())
    monkeypatch.setattr(teams, "MOST_LOST", 0.5)
    monkeypatch.setattr(teams.time, "monotonic", lambda: now[0])

    def members():
        return in_step(8, count_members, nothing)[0]

    for lost in (0.4, 0.6, 0.4, 0.6):  # the part of the time for which the other seven waited
        teams.judge(8, 7 * lost, 1.0)
        assert members() == 8
    for one, lost, left in ((8, 0.6, 4), (4, 0.6, 2), (2, 0.6, 1)):
        teams.judge(one, (one - 1) * lost, 1.0)
        assert members() == left
    now[0] += teams.FEWER_FOR
    assert members() == 8


def test_threads_in_step_begin_on_a_core_each_and_may_leave_it():
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("cores cannot be chosen here")
    cores = sorted(os.sched_getaffinity(0))
    assert teams._cores_for(len(cores)) == cores
    assert teams._cores_for(len(cores) + 1) == [None] * (len(cores) + 1)
    assert teams._on_core(cores[-1], os.sched_getaffinity, 0) == set(cores)
    assert teams._on_core(10**5, pow, 2, 3) == 8, "there is no such core"


AT_THE_END = """
import atexit, os, sys, threading, time
from jostle.kernels.teams import in_step

def divided(members):
    barrier = threading.Barrier(members)
    return (lambda k: barrier.wait(30.0) >= 0), [(k,) for k in range(members)]

def work():
    return in_step(3, divided, lambda: None)

def endless():
    while True:
        work()

if "atexit" in sys.argv:
    atexit.register(lambda: print(*work()))  # before the threads: runs after their end
assert work() == (True, 3)
if "fork" in sys.argv:
    child = os.fork()
    assert work()[0]
    if child:
        assert os.waitpid(child, 0)[1] == 0
if "endless" in sys.argv:
    threading.Thread(target=endless, daemon=True).start()
    time.sleep(0.05)
if "daemon" in sys.argv:
    def slow(k):
        time.sleep(0.5)
        if k == 0:
            print("done")
    threading.Thread(target=in_step, args=(3, lambda n: (slow, [(k,) for k in range(n)]), int), daemon=True).start()
    time.sleep(0.1)
if "thread" in sys.argv:
    def late():
        threading.main_thread().join()
        print(work()[0])
    threading.Thread(target=late).start()
"""


SAID = {"alone": "", "fork": "", "endless": "", "daemon": "done\n", "atexit": "True 1\n", "thread": "True\n"}


@pytest.mark.parametrize("how", SAID)
def test_a_process_ends_after_the_team_at_work(how):
    if how == "fork" and not hasattr(os, "fork"):
        pytest.skip("no fork")
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", AT_THE_END, how], capture_output=True, text=True, timeout=60
    )
    assert (found.stderr, found.returncode) == ("", 0)
    assert found.stdout == SAID[how]
