"""Threads: the same bits for any number of them, and an end in every case, also after an error, Ctrl-C or a fork."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import jostle as jo
from jostle.kernels import Answer, ContactRows, Stop, parallel
from jostle.kernels.compiling import KERNELS, Bools, Floats2, Ints, OutFloats, OutInts, jit
from jostle.kernels.cpu.contacts import BLOCK
from jostle.kernels.cpu.meeting import ABANDONED, ARRIVED, HAS_CLOCK, LATE, meet, new_meeting
from jostle.kernels.parallel import by_rows, chunks_of, cut, in_step, threads, together, use_threads
from kernel_sets import cpu, reference
from rows import examples, whole

pytestmark = pytest.mark.usefixtures("no_hang")

CHUNKS = [2, 3, 7]


@pytest.fixture
def three_threads(monkeypatch):
    monkeypatch.setattr(parallel, "threads", lambda: 3)


# Bits


def bits(result):
    return [np.asarray(one).tobytes() for one in (result if isinstance(result, tuple) else (result,))]


def rows(m=3 * BLOCK + 17, n=2 * BLOCK + 5, d=3):
    """Rows between any bodies, some of them with a wall."""
    random = np.random.default_rng(0)
    i, j = random.integers(0, n, (2, m))
    j = np.where(j == i, -1, j)
    j[::11] = -2
    return i, j, random.normal(size=(m, d)), n, random


def answer(m, n):
    """The arguments of `residual_pairs` but for the number of chunks."""
    i, j, normal, n, random = rows(m, n)
    c, p = random.normal(size=m), random.exponential(1.0, m)
    w, u = random.normal(size=(2, n, 3))
    mass, length = random.uniform(0.5, 2.0, (n, 3)), np.where(random.uniform(size=m) < 0.5, 0.3, 0.0)
    return ContactRows(i, j, normal), Answer(c, np.full(m, 1e-15), length, w, mass, u, p)


def listed(n=4000):
    """The arguments of `near` but for the number of chunks."""
    random = np.random.default_rng(1)
    q, radii, period = random.uniform(0.0, 14.0, (n, 3)), random.uniform(0.3, 0.6, n), np.array([np.inf, 14.0, np.inf])
    return *cpu.pair_list(q, radii + 0.2, period, 1), q, radii, random.uniform(0.0, 0.2, n), period


@pytest.mark.parametrize("chunks", CHUNKS)
def test_products_and_residuals_have_the_same_bits_in_any_number_of_chunks(chunks):
    i, j, normal, n, random = rows()
    p = random.normal(size=len(i))
    contacts = ContactRows(i, j, normal)
    assert bits(cpu.adjoint(contacts, p, n, chunks)) == bits(cpu.adjoint(contacts, p, n, 1))
    found = answer(3 * BLOCK + 17, 2 * BLOCK + 5)
    one = cpu.residual_pairs(*found, 1)
    assert min(one) > 0.0
    assert cpu.residual_pairs(*found, chunks) == one


@pytest.mark.parametrize("chunks", CHUNKS)
def test_pairs_have_the_same_bits_in_any_number_of_chunks(chunks):
    i, j, q, radii, cutoff, period = listed()
    assert bits(cpu.pair_list(q, radii + 0.2, period, chunks)) == bits((i, j))
    one = cpu.near(i, j, q, radii, cutoff, period, 1)
    assert 0 < len(one[2]) < len(i)
    assert bits(cpu.near(i, j, q, radii, cutoff, period, chunks)) == bits(one)
    assert len(cpu.near(i[:0], j[:0], q, radii, cutoff, period, chunks)[2]) == 0


def test_residuals_of_several_blocks_are_those_of_the_definition():
    found = answer(90, 40)
    defined = reference.residual_pairs(*found, 1)
    assert cpu.residual_pairs(*found, 1) == pytest.approx(defined, rel=1e-12)
    (i, j, normal), many = ([np.tile(array, (300,) + (1,) * (array.ndim - 1)) for array in part] for part in found)
    i, j = i + 40 * (np.arange(len(i)) // 90), np.where(j < 0, j, j + 40 * (np.arange(len(j)) // 90))
    assert min(len(i), len(many[3])) > BLOCK
    # 300 copies side by side: primal violations over lengths and ratios of sums stay what they are
    several = cpu.residual_pairs(ContactRows(i, j, normal), Answer(*many), 3)
    assert several[1:] == pytest.approx(defined[1:], rel=1e-9)
    assert several[0] <= defined[0]


def test_dense_neighbourhoods_are_all_found_whatever_the_samples_saw():
    """A few balls that all meet, far from many that do not: no sample sees how dense they are."""
    alone = np.stack(np.meshgrid(*[3.0 * np.arange(20.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    heap = 25.0 + 0.01 * np.random.default_rng(0).uniform(size=(400, 3))
    q = np.concatenate([alone, heap])
    for chunks in (1, 3):
        i, _ = cpu.pair_list(q, np.full(len(q), 0.5), np.full(3, np.inf), chunks)
        assert len(i) >= 400 * 399 // 2
        heaped = i >= len(alone)
        assert heaped.sum() == 400 * 399 // 2


@pytest.mark.parametrize("walls", ["last", "first", "none"])
def test_values_follow_their_pairs_where_most_are_in_order(walls):
    random = np.random.default_rng(2)
    every = np.array([(a, b) for a in range(60) for b in range(a + 1, 60)])
    on_walls = np.array([(a, -1 - k) for k in range(3) for a in range(60)])

    def some(of):
        balls = of[random.uniform(size=len(of)) < 0.5]
        parts = {"last": [balls, on_walls[::2]], "first": [on_walls[::3], balls], "none": [balls]}[walls]
        return np.concatenate(parts)

    before, after = some(every), some(every)
    values = random.uniform(1.0, 2.0, len(before))
    for wanted in (after, random.permutation(after), before, before[::-1]):
        for pairs in (before, np.asfortranarray(before)):
            for chunks in (1, 2, 5):
                found = cpu.by_pair(pairs, values, wanted, 9.0, chunks)
                assert found.tolist() == reference.by_pair(before, values, wanted, 9.0, 1).tolist()


def test_values_follow_their_pairs_where_none_are_in_order():
    pairs, values = np.array([(a, a + 1) for a in range(99, -1, -1)]), np.arange(1.0, 101.0)
    assert cpu.by_pair(pairs, values, pairs, 0.0, 1).tolist() == values.tolist()


def test_chunks_make_up_the_whole():
    for count in (0, 1, 5, 100):
        for chunks in (1, 2, 7):
            parts = cut(count, chunks)
            assert len(parts) == chunks
            assert [k for first, last in parts for k in range(first, last)] == list(range(count))


def sweeps(chunks, iterations=100):
    """A call of `gauss_seidel` on a lattice of 512 balls, in blocks of space."""
    side = np.arange(8.0)
    q = np.stack(np.meshgrid(side, side, side, indexing="ij"), axis=-1).reshape(-1, 3)
    (i, j), normal, gap = reference.all_pairs(q, np.full(512, 0.5), np.full(512, 0.1), np.full(3, np.inf))
    m = len(i)
    unit, never = np.full(m, np.sqrt(2.0)), np.full(m, -np.inf)
    stop = Stop(never, 0.0, iterations, 10**6)
    return cpu.gauss_seidel(ContactRows(i, j, normal), unit, np.ones(512), gap - 0.1, np.zeros(m), stop, chunks, q)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("jostle.kernels.cpu.arrangement.BLOCKED_ROWS", 10)
    monkeypatch.setattr("jostle.kernels.cpu.arrangement.ROWS_A_BLOCK", 20)


@pytest.mark.parametrize("chunks", [2, 3, whole(7), whole(16)])
def test_threads_that_sweep_in_step_lose_nothing_of_each_other(small_blocks, chunks):
    """More threads than cores, too: who waits offers its core to the others."""
    one, several = sweeps(1), sweeps(chunks)
    assert one[1] == several[1] == 100
    assert one[0].any()
    assert one[0].tobytes() == several[0].tobytes()


def test_two_callers_at_the_same_time_get_the_same_bits(small_blocks):
    """One of them works in step on several threads, the others meanwhile alone."""
    expected = sweeps(1)[0].tobytes()
    assert [p.tobytes() for p, _ in together(sweeps, [(3,)] * 4)] == [expected] * 4


def test_sweeps_tell_how_long_their_threads_waited(small_blocks, monkeypatch):
    told = []
    monkeypatch.setattr("jostle.kernels.cpu.loop.judge", lambda *times: told.append(times))
    sweeps(3)
    ((members, late, whole),) = told
    assert members == 3
    assert late >= 0.0
    assert (whole > 0.0) == HAS_CLOCK


@pytest.mark.parametrize("many", [100, 10**9], ids=["compiled", "NumPy"])
def test_a_step_has_the_same_bits_on_one_thread_and_on_several(monkeypatch, many):
    """So small a step is not shared: the thresholds are lowered, all of them."""
    monkeypatch.setattr("jostle.kernels.interface.MANY", many)
    monkeypatch.setattr(parallel, "ROWS_A_CHUNK", 100)
    monkeypatch.setattr("jostle.sets.balls.PARALLEL_BALLS", 100)
    monkeypatch.setattr("jostle.solvers.gauss_seidel.PARALLEL_ROWS", 100)
    monkeypatch.setattr("jostle.solvers.gauss_seidel.ROWS_A_THREAD", 10)
    monkeypatch.setattr("jostle.kernels.cpu.arrangement.BLOCKED_ROWS", 100)
    side, random = np.arange(9.0), np.random.default_rng(0)
    q = 1.01 * np.stack(np.meshgrid(side, side, side, indexing="ij"), axis=-1).reshape(-1, 3)
    within = jo.Balls(np.full(len(q), 0.5)) & jo.Box([-0.5] * 3, [np.inf] * 3)
    problem = jo.Motion(q0=q, v0=-0.2 * q + random.normal(size=q.shape), within=within)
    found, before = [], threads()
    try:
        for count in sorted({1, min(2, before), before}):
            use_threads(count)
            found.append(jo.solve(problem, jo.Maury(solver=jo.GaussSeidel(tol=1e-4)), t=0.06, h=0.02).q.tobytes())
    finally:
        use_threads(before)
    assert len(set(found)) == 1


# Pieces that are independent


def test_rows_are_shared_only_if_there_are_many(monkeypatch):
    monkeypatch.setattr(parallel, "threads", lambda: 4)
    assert [chunks_of(rows) for rows in (0, 39_999, 40_000, 60_000, 10**7)] == [1, 1, 2, 3, 4]
    calls = []

    def double(x, factor):
        calls.append(threading.current_thread().name)
        return factor * x

    x = np.arange(600_000.0)
    assert (by_rows(double, (x,), 2.0) == 2.0 * x).all()
    assert len(calls) == 4
    by_rows(double, (x[:10],), 2.0)
    assert len(calls) == 5


def test_pieces_run_at_the_same_time_and_all_end_before_an_error_is_raised(monkeypatch):
    monkeypatch.setattr(parallel, "threads", lambda: 3)
    meeting, ended = threading.Barrier(3), []

    def work(k):
        meeting.wait(timeout=60.0)  # nobody passes unless all run
        ended.append(k)
        if k != 1:
            raise ValueError(f"piece {k}")
        return k

    with pytest.raises(ValueError, match="piece 0"):
        together(work, [(0,), (1,), (2,)])
    assert sorted(ended) == [0, 1, 2]


def test_after_an_error_the_pieces_that_nobody_has_begun_are_left_out():
    """And the error of the first piece that failed is raised, on the caller's thread or on another one."""
    done = []

    def work(k):
        if k == 0:
            raise ValueError("piece 0")
        done.append(k)

    with pytest.raises(ValueError, match="piece 0"):
        together(work, [(k,) for k in range(1000)])
    assert len(done) < 999


def test_rows_obey_what_numpy_shall_do_about_errors(monkeypatch):
    monkeypatch.setattr(parallel, "threads", lambda: 4)
    zeros = np.zeros(400_000)
    with np.errstate(divide="ignore", invalid="ignore"):
        assert np.isnan(by_rows(np.divide, (zeros, zeros))).all()
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        by_rows(
            np.divide,
            (np.where(np.arange(400_000) < 300_000, 1.0, 0.0), np.where(np.arange(400_000) < 300_000, 1.0, 0.0)),
        )


def test_pieces_that_threads_take_one_after_the_other_keep_their_order_and_their_errors():
    assert together(lambda a, b: a - b, [(k, 1) for k in range(50)]) == list(range(-1, 49))
    assert together(pow, []) == []
    with pytest.raises(ZeroDivisionError):
        together(lambda a: 1 / a, [(1,), (0,), (2,)])


@pytest.mark.usefixtures("three_threads")
def test_nothing_is_begun_after_an_interruption():
    begun = []

    def work(k):
        begun.append(k)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        together(work, [(k,) for k in range(100)])
    assert len(begun) <= 3


def test_what_was_given_away_before_an_interruption_is_not_begun_after_it():
    class Interrupted:
        """A worker; Ctrl-C comes while it is given a job."""

        given, job = property(lambda self: self), None

        def put(self, job):
            raise KeyboardInterrupt

    begun, told = [], []
    job = parallel._Job(begun.append, [(k,) for k in range(10)], lambda: told.append(True))
    with pytest.raises(KeyboardInterrupt):
        job.run([Interrupted()], caller_helps=False)
    job.help()  # a worker that was given the job wakes up late
    assert (begun, told) == ([], [True])


@pytest.mark.usefixtures("three_threads")
def test_no_more_threads_than_asked_for_share_many_pieces(monkeypatch):
    monkeypatch.setattr(parallel, "_workers", [])
    for _ in range(500):
        assert together(abs, [(-1,)] * 10) == [1] * 10
    assert len(parallel._workers) == 2


def test_threads_that_cannot_be_started_are_missed(monkeypatch):
    def cannot(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(parallel, "_workers", [])
    monkeypatch.setattr(parallel, "threads", lambda: 4)
    monkeypatch.setattr("threading.Thread.start", cannot)
    assert together(abs, [(-1,)] * 10) == [1] * 10


@pytest.mark.usefixtures("three_threads")
def test_who_has_nothing_to_do_sleeps():
    together(abs, [(-1,)] * 6)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.15


@pytest.mark.usefixtures("three_threads")
def test_a_second_caller_and_one_inside_a_piece_work_alone():
    def names(_):
        return set(together(lambda _: threading.current_thread().name, [(k,) for k in range(20)]))

    for found in together(names, [(k,) for k in range(3)]):
        assert len(found) == 1
    with parallel._at_work:
        assert names(0) == {threading.current_thread().name}


def _in_a_child(queue):
    queue.put(together(pow, [(2, 3), (3, 2)]))


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_starts_threads_of_its_own():
    together(pow, [(2, 3), (3, 2)])
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_a_child, args=(queue,))
    child.start()
    try:
        assert queue.get(timeout=60) == [8, 9]
    finally:
        child.join(10)
        child.kill()


# Pieces of kernels


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


def members(count, times=200, missing=0):
    """The arguments of `in_step` for threads that only meet; some never come."""
    meeting, came = new_meeting(), np.zeros(count, np.int64)

    def divided(all_of_them):
        assert all_of_them == count
        return all_meet, [(meeting, member, count + missing, times, came) for member in range(count)]

    return count, divided, lambda: meeting.__setitem__(ABANDONED, 1)


@pytest.mark.usefixtures("three_threads")
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


@pytest.mark.usefixtures("three_threads")
def test_threads_did_some_of_the_work():
    """And not always the caller alone: those that sleep are woken, too."""
    meeting, came = new_meeting(), np.zeros(2, np.int64)
    time.sleep(0.05)
    together(all_meet, [(meeting, member, 2, 3, came) for member in range(2)])  # two that wait for each other
    assert came.tolist() == [3, 3]


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((4, 2), np.float32),
        np.zeros(4),
        np.zeros((2, 4)).T,
        np.zeros((4, 2), np.int64),
    ],
    ids=["float32", "1-D", "not contiguous", "integers"],
)
def test_arrays_of_other_types_are_refused(wrong):
    out = np.zeros(4)
    with pytest.raises(TypeError, match="No matching definition"):
        together(smallest, [(wrong, 1.0, 0, 2, False, out), (wrong, 1.0, 2, 4, False, out)])
    assert together(number, [(np.ones(4, np.int64), 0, 2)] * 2) == [2, 2], "the pool is free again"


@pytest.mark.usefixtures("three_threads")
def test_what_is_written_must_be_writable():
    out = np.zeros(4)
    out.flags.writeable = False
    with pytest.raises(TypeError):
        together(smallest, [(np.zeros((4, 2)), 1.0, 0, 2, False, out)] * 2)


@pytest.mark.parametrize("count", [2, 4, whole(8)])
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
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/.."]
import test_parallel
from jostle import kernels
from jostle.kernels import parallel
from jostle.kernels.parallel import in_step
from rows_in_space import sweeping
parallel.threads, parallel.MOST_LOST = lambda: 3, np.inf

def interrupt(*_):
    raise KeyboardInterrupt

def work():
    assert parallel.together(test_parallel.number, [(ones, 0, 2)] * 3) == [2] * 3
    assert in_step(*test_parallel.members(3, 2)) == (10, 3)
    assert kernels.gauss_seidel(*problem)[0].tobytes() == expected

ones, interrupted, problem = np.ones(4, np.int64), 0, sweeping(3, chunks=3)
expected = kernels.gauss_seidel(*problem)[0].tobytes()
work()  # imports: Python loses an interrupt that comes while it removes the lock of a module
signal.signal(signal.SIGALRM, interrupt)
for k in range(int(sys.argv[2])):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.Random(k).uniform(1e-5, 2e-3))
        while True:
            work()
    except KeyboardInterrupt:
        interrupted += 1
assert parallel.together(test_parallel.number, [(ones, 0, 2)] * 3) == [2] * 3
assert len(parallel._workers) == 3 and not parallel._at_work.locked(), "the pool is free"
print(interrupted, *in_step(*test_parallel.members(3)))
"""


def test_many_interruptions_end_neither_the_pool_nor_the_process():
    times = examples(600)
    program = [sys.executable, "-c", AT_ANY_MOMENT, os.path.dirname(__file__), str(times)]
    found = subprocess.run(program, capture_output=True, text=True, timeout=120)
    assert (found.stderr, found.returncode) == ("", 0)
    assert found.stdout == f"{times} 10 3\n"


def test_who_never_waits_for_long_sees_that_a_meeting_is_abandoned():
    meeting, came = new_meeting(), np.zeros(2, np.int64)
    meeting[ARRIVED], meeting[ABANDONED] = 1, 1  # the other one is already here
    assert all_meet(meeting, 0, 2, 1, came) == -1


@pytest.mark.usefixtures("three_threads")
def test_a_piece_that_fails_is_an_error_and_nobody_waits_for_it():
    meeting = new_meeting()
    for _ in range(3):
        with pytest.raises(ValueError):
            together(fails, [(meeting, k, 1) for k in range(3)])
    assert together(number, [(np.ones(4, np.int64), 0, 2)] * 2) == [2, 2]


# Pieces that wait for each other


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
            monkeypatch.setattr(parallel, "_workers", [])
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

    monkeypatch.setattr(parallel, "_workers", [])
    monkeypatch.setattr("threading.Thread.start", limited)
    assert in_step(4, count_members, nothing) == (left, left)


def test_threads_in_step_obey_what_numpy_shall_do_about_errors():
    def work(member):
        return np.float64(1.0) / np.float64(0.0)

    def divided(members):
        return work, [(member,) for member in range(members)]

    with np.errstate(divide="ignore"):
        assert in_step(2, divided, nothing) == (np.inf, 2)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        in_step(2, divided, lambda: None)


def test_threads_keep_nothing_of_what_they_did():
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
    monkeypatch.setattr(parallel, "_fewer", parallel._Fewer())
    monkeypatch.setattr(parallel, "MOST_LOST", 0.5)
    monkeypatch.setattr(parallel.time, "monotonic", lambda: now[0])

    def members():
        return in_step(8, count_members, nothing)[0]

    for lost in (0.4, 0.6, 0.4, 0.6):  # the part of the time for which the other seven waited
        parallel.judge(8, 7 * lost, 1.0)
        assert members() == 8
    for one, lost, left in ((8, 0.6, 4), (4, 0.6, 2), (2, 0.6, 1)):
        parallel.judge(one, (one - 1) * lost, 1.0)
        assert members() == left
    now[0] += parallel.FEWER_FOR
    assert members() == 8


def test_threads_in_step_begin_on_a_core_each_and_may_leave_it():
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("cores cannot be chosen here")
    cores = sorted(os.sched_getaffinity(0))
    assert parallel._cores_for(len(cores)) == cores
    assert parallel._cores_for(len(cores) + 1) == [None] * (len(cores) + 1)
    assert parallel._on_core(cores[-1], os.sched_getaffinity, 0) == set(cores)
    assert parallel._on_core(10**5, pow, 2, 3) == 8, "there is no such core"


def test_a_thread_lives_on_if_nobody_can_be_told_that_it_failed():
    def fail(member):
        raise ValueError("of a piece")

    with pytest.raises(ValueError, match="of a piece"):
        in_step(2, lambda members: (fail, [(k,) for k in range(members)]), nothing)
    assert all(worker.is_alive() for worker in parallel._workers)
    assert in_step(2, count_members, nothing) == (2, 2)


# The threads of BLAS


class Library:
    """A BLAS library, as far as its threads go."""

    def __init__(self):
        self.threads = 7

    def get_num_threads(self):
        return self.threads

    def set_num_threads(self, threads):
        self.threads = threads


def test_the_limit_of_blas_holds_until_the_last_of_two_threads_has_left_and_then_no_longer(monkeypatch):
    library = Library()
    monkeypatch.setattr(parallel, "_blas_libraries", lambda: [library])
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()
    seen = {}

    def first():
        with parallel.one_blas_thread():
            first_in.set()
            second_in.wait(300.0)
        first_out.set()

    def second():
        first_in.wait(300.0)
        with parallel.one_blas_thread():
            second_in.set()
            first_out.wait(300.0)
            seen["inside"] = library.threads

    workers = [threading.Thread(target=work) for work in (first, second)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (seen["inside"], library.threads) == (1, 7)


def test_a_forked_child_gets_its_threads_back(monkeypatch):
    library = Library()
    monkeypatch.setattr(parallel, "_blas_libraries", lambda: [library])
    monkeypatch.setattr(parallel, "_limit", parallel._BlasLimit())
    parallel._limit.enter()  # another thread, which the child does not have
    monkeypatch.setattr(parallel, "_workers", [])
    for name in ("_at_work", "_end_is_near", "_forked"):
        monkeypatch.setattr(parallel, name, getattr(parallel, name))
    parallel._start_anew()
    assert library.threads == 7
    with parallel.one_blas_thread():
        assert library.threads == 1
    assert library.threads == 7


# The end of a process


PIECES_AT_THE_END = """
import atexit, threading, time
from jostle.kernels import parallel
if {early}:
    parallel.together(pow, [(2, 3), (3, 2)])
def late(name):
    if name == "thread":
        threading.main_thread().join()
    print(name, parallel.together(pow, [(2, 3), (3, 2)]), flush=True)
atexit.register(late, "atexit")
threading.Thread(target=late, args=("thread",)).start()
"""


@pytest.mark.parametrize("early", [True, False])
def test_work_goes_on_when_the_interpreter_is_about_to_end(early):
    found = subprocess.run(
        [sys.executable, "-c", PIECES_AT_THE_END.format(early=early)], capture_output=True, text=True, timeout=60
    )
    assert (found.stderr, found.returncode) == ("", 0)
    assert found.stdout.splitlines() == ["thread [8, 9]", "atexit [8, 9]"]


KERNELS_AT_THE_END = """
import atexit, os, sys, threading, time
import numpy as np
from jostle.kernels import parallel
parallel.threads = lambda: 3
from jostle.kernels.cpu.contacts import _fill_rates
i, v = np.zeros(10, np.int64), np.ones((2, 3))
def work():
    out = np.zeros((3, 10))
    parallel.together(_fill_rates, [(i, i + 1, np.ones((10, 3)), v, 0, 10, out[k]) for k in range(3)])
def endless():
    while True:
        work()
if "atexit" in sys.argv:
    atexit.register(work)
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


@pytest.mark.parametrize("how", [whole("alone"), "fork", whole("daemon"), whole("atexit")])
def test_a_process_ends_while_its_threads_wait(how):
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KERNELS_AT_THE_END, how], capture_output=True, text=True, timeout=60
    )
    assert (found.stderr, found.returncode) == ("", 0)


TEAMS_AT_THE_END = """
import atexit, os, sys, threading, time
from jostle.kernels import parallel
from jostle.kernels.parallel import in_step

def divided(members):
    barrier = threading.Barrier(members)
    return (lambda k: barrier.wait(30.0) >= 0), [(k,) for k in range(members)]

def work():
    return in_step(3, divided, lambda: None)

def endless():
    while True:
        work()

if "atexit" in sys.argv:
    atexit.register(lambda: print(*work()))
assert work() == (True, 3)
if "fork" in sys.argv:
    child = os.fork()
    assert work()[0]
    if child:
        assert os.waitpid(child, 0)[1] == 0
if "fork at work" in sys.argv:
    held, over = threading.Event(), threading.Event()
    def hold():
        with parallel._at_work:
            held.set()
            over.wait(30.0)
    threading.Thread(target=hold).start()
    held.wait(30.0)
    child = os.fork()  # the child does not have the thread that holds the lock
    if child:
        ended = os.waitpid(child, 0)[1]
        over.set()
        assert ended == 0
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


SAID = {
    "alone": "",
    "fork": "",
    "fork at work": "",
    "endless": "",
    "daemon": "done\n",
    "atexit": "True 3\n",
    "thread": "True\n",
}


@pytest.mark.parametrize("how", [whole(how) if how in ("alone", "fork", "thread") else how for how in SAID])
def test_a_process_ends_after_the_team_at_work(how):
    if "fork" in how and not hasattr(os, "fork"):
        pytest.skip("no fork")
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TEAMS_AT_THE_END, how], capture_output=True, text=True, timeout=60
    )
    assert (found.stderr, found.returncode) == ("", 0)
    assert found.stdout == SAID[how]
