"""Pieces of the work on several threads: what they compute, to the bit, does not depend on how many there are."""

import multiprocessing
import subprocess
import sys
import threading

import numpy as np
import pytest

import jostle as jo
from jostle.kernels import cpu, reference, sharing, workers
from jostle.kernels.cpu.contacts import BLOCK
from jostle.kernels.cpu.meeting import HAS_CLOCK
from jostle.kernels.sharing import by_rows, chunks_of, cut, together
from jostle.kernels.threads import threads, use_threads

CHUNKS = [2, 3, 7]


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
    return i, j, normal, c, w, mass, u, p, length, 1e-14, np.full(m, 1e-15)


def listed(n=4000):
    """The arguments of `near` but for the number of chunks."""
    random = np.random.default_rng(1)
    q, radii, period = random.uniform(0.0, 14.0, (n, 3)), random.uniform(0.3, 0.6, n), np.array([np.inf, 14.0, np.inf])
    return *cpu.pair_list(q, radii + 0.2, period, 1), q, radii, random.uniform(0.0, 0.2, n), period


@pytest.mark.parametrize("chunks", CHUNKS)
def test_products_and_residuals_have_the_same_bits_in_any_number_of_chunks(chunks):
    i, j, normal, n, random = rows()
    p = random.normal(size=len(i))
    assert bits(cpu.adjoint(i, j, normal, p, n, chunks)) == bits(cpu.adjoint(i, j, normal, p, n, 1))
    found = answer(3 * BLOCK + 17, 2 * BLOCK + 5)
    one = cpu.residual_pairs(*found, 1)
    assert min(one) > 0.0
    assert cpu.residual_pairs(*found, chunks) == one


@pytest.mark.parametrize("chunks", CHUNKS)
def test_pairs_have_the_same_bits_in_any_number_of_chunks(chunks):
    i, j, q, radii, reach, period = listed()
    assert bits(cpu.pair_list(q, radii + 0.2, period, chunks)) == bits((i, j))
    one = cpu.near(i, j, q, radii, reach, period, 1)
    assert 0 < len(one[0]) < len(i)
    assert bits(cpu.near(i, j, q, radii, reach, period, chunks)) == bits(one)
    assert len(cpu.near(i[:0], j[:0], q, radii, reach, period, chunks)[0]) == 0


def test_residuals_of_several_blocks_are_those_of_the_definition():
    found = answer(90, 40)
    defined = reference.residual_pairs(*found, 1)
    assert cpu.residual_pairs(*found, 1) == pytest.approx(defined, rel=1e-12)
    many = [np.tile(array, (300,) + (1,) * (array.ndim - 1)) for array in (*found[:4], *found[7:9], found[10])]
    i, j, normal, c, p, length, noise = many
    i, j = i + 40 * (np.arange(len(i)) // 90), np.where(j < 0, j, j + 40 * (np.arange(len(j)) // 90))
    w, mass, u = (np.tile(array, (300, 1)) for array in found[4:7])
    assert min(len(i), len(w)) > BLOCK
    # 300 copies side by side: primal violations over lengths and ratios of sums stay what they are
    several = cpu.residual_pairs(i, j, normal, c, w, mass, u, p, length, 1e-14, noise, 3)
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


def test_chunks_make_up_the_whole():
    for count in (0, 1, 5, 100):
        for chunks in (1, 2, 7):
            parts = cut(count, chunks)
            assert len(parts) == chunks
            assert [k for first, last in parts for k in range(first, last)] == list(range(count))


def test_rows_are_shared_only_if_there_are_many(monkeypatch):
    monkeypatch.setattr(sharing, "threads", lambda: 4)
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
    monkeypatch.setattr(sharing, "threads", lambda: 3)
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


def sweeps(chunks, iterations=200):
    """A call of `gauss_seidel` on a lattice of 512 balls, in blocks of space."""
    side = np.arange(8.0)
    q = np.stack(np.meshgrid(side, side, side, indexing="ij"), axis=-1).reshape(-1, 3)
    i, j, normal, gap = reference.all_pairs(q, np.full(512, 0.5), np.full(512, 0.1), np.full(3, np.inf))
    m = len(i)
    unit, never = np.full(m, np.sqrt(2.0)), np.full(m, -np.inf)
    return cpu.gauss_seidel(
        i, j, normal, unit, np.ones(512), gap - 0.1, np.zeros(m), never, 0.0, iterations, 10**6, chunks, q
    )


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("jostle.kernels.cpu.arrangement.BLOCKED_ROWS", 10)
    monkeypatch.setattr("jostle.kernels.cpu.arrangement.ROWS_A_BLOCK", 20)


@pytest.mark.parametrize("chunks", [*CHUNKS, 16])
def test_threads_that_sweep_in_step_lose_nothing_of_each_other(small_blocks, chunks):
    """More threads than cores, too: who waits offers its core to the others."""
    one, several = sweeps(1), sweeps(chunks)
    assert one[1] == several[1] == 200
    assert one[0].any()
    assert one[0].tobytes() == several[0].tobytes()


def test_two_callers_at_the_same_time_get_the_same_bits(small_blocks):
    """One of them works in step on several threads, the others meanwhile alone."""
    expected = sweeps(1)[0].tobytes()
    assert [p.tobytes() for p, _ in together(sweeps, [(3,)] * 4)] == [expected] * 4


def test_sweeps_tell_how_long_their_threads_waited(small_blocks, monkeypatch):
    told = []
    monkeypatch.setattr("jostle.kernels.cpu.fused.judge", lambda *times: told.append(times))
    sweeps(3)
    ((members, late, whole),) = told
    assert members == 3
    assert late >= 0.0
    assert (whole > 0.0) == HAS_CLOCK


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


@pytest.mark.parametrize("many", [100, 10**9], ids=["compiled", "NumPy"])
def test_a_step_has_the_same_bits_on_one_thread_and_on_several(monkeypatch, many):
    """So small a step is not shared: the thresholds are lowered, all of them."""
    monkeypatch.setattr("jostle.kernels.interface.MANY", many)
    monkeypatch.setattr(sharing, "ROWS_A_CHUNK", 100)
    monkeypatch.setattr(sharing, "NUMBERS_A_CHUNK", 100)
    monkeypatch.setattr("jostle.sets.neighbours.PARALLEL_BALLS", 100)
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


def test_large_arrays_are_copied_and_joined_by_all_threads(monkeypatch):
    monkeypatch.setattr(sharing, "threads", lambda: 3)
    monkeypatch.setattr(sharing, "NUMBERS_A_CHUNK", 10)
    parts = [np.arange(60.0).reshape(20, 3), np.zeros((0, 3)), np.ones((7, 3))]
    joined = sharing.concatenated(parts)
    assert joined.tolist() == np.concatenate(parts).tolist()
    assert joined.dtype == float
    assert sharing.concatenated(parts[:1]) is parts[0]
    to = np.zeros((2, 50), dtype=np.int64)
    sharing.copy_all([(to[0], np.arange(50)), (to[1], np.arange(100)[::2])])
    assert to.tolist() == [list(range(50)), list(range(0, 100, 2))]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_entry_that_is_not_finite_is_seen_wherever_it_is(monkeypatch, bad):
    monkeypatch.setattr(sharing, "threads", lambda: 3)
    monkeypatch.setattr(sharing, "NUMBERS_A_CHUNK", 10)
    array = np.ones((50, 3))
    assert sharing.all_finite(array)
    for place in ((0, 0), (25, 1), (49, 2)):
        spoilt = array.copy()
        spoilt[place] = bad
        assert not sharing.all_finite(spoilt)
        assert not sharing.all_finite(spoilt.T)


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


AT_THE_END = """
import atexit, threading, time
from jostle.kernels import sharing
if {early}:
    sharing.together(pow, [(2, 3), (3, 2)])
def late(name):
    if name == "thread":
        threading.main_thread().join()
    print(name, sharing.together(pow, [(2, 3), (3, 2)]), flush=True)
atexit.register(late, "atexit")
threading.Thread(target=late, args=("thread",)).start()
"""


@pytest.mark.parametrize("early", [True, False])
def test_work_goes_on_when_the_interpreter_is_about_to_end(early):
    found = subprocess.run(
        [sys.executable, "-c", AT_THE_END.format(early=early)], capture_output=True, text=True, timeout=60
    )
    assert (found.stderr, found.returncode) == ("", 0)
    assert found.stdout.splitlines() == ["thread [8, 9]", "atexit [8, 9]"]


def test_pieces_obey_what_numpy_shall_do_about_errors(monkeypatch):
    monkeypatch.setattr(sharing, "threads", lambda: 4)
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


def test_short_jobs_do_not_start_a_thread_each():
    """A worker that has not run again since its last job does not sleep yet: callers started more and more of them."""
    before = len(workers.workers)
    for _ in range(500):
        assert workers.Job(abs, [(-1,), (-2,)]).run(1) == [1, 2]
    assert len(workers.workers) <= max(before, 2)


def test_nothing_is_begun_after_an_interruption():
    begun = []

    def work(k):
        begun.append(k)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workers.Job(work, [(k,) for k in range(100)]).run(0)
    assert begun == [0]
