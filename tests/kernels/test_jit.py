"""How kernels are compiled: all in one way, for threads that run at the same time; and the limit of BLAS."""

import pkgutil
import subprocess
import sys
import threading
import time
from importlib import import_module

import numpy as np
from numba.core.dispatcher import Dispatcher

import jostle as jo
from jostle.kernels import blas, cpu
from jostle.kernels.cpu.cache_on_disk import KernelCache


def kernels():
    """All compiled functions of `jostle.kernels`."""
    for module in pkgutil.iter_modules(cpu.__path__):
        for value in vars(import_module(f"jostle.kernels.cpu.{module.name}")).values():
            if isinstance(value, Dispatcher):
                yield value


def test_all_kernels_are_compiled_in_one_way():
    """A kernel that used numba's own decorator would not notice when what it imports changes."""
    found = list(kernels())
    assert len(found) > 50
    for kernel in found:
        assert isinstance(kernel._cache, KernelCache), kernel
        assert kernel.targetoptions["nogil"], kernel


def test_other_threads_run_while_a_kernel_does():
    """Nobody else gets Python's lock from the main thread but during a kernel: others may ask for it after 1000 s."""
    q = np.random.default_rng(0).uniform(0.0, 30.0, (3000, 2))
    radii, reach, open_ = np.full(3000, 0.01), np.full(3000, 0.01), np.full(2, np.inf)
    count, over, interval = [0], threading.Event(), sys.getswitchinterval()

    def counting():
        while not over.is_set():
            count[0] += 1
            time.sleep(1e-4)

    cpu.all_pairs(q[:2], radii[:2], reach[:2], open_)
    counter = threading.Thread(target=counting)
    counter.start()
    sys.setswitchinterval(1000.0)
    try:
        for _ in range(20):
            before = count[0]
            cpu.all_pairs(q, radii, reach, open_)
            if count[0] > before:
                break
    finally:
        sys.setswitchinterval(interval)
        over.set()
        counter.join()
    assert count[0] > before


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
    monkeypatch.setattr(blas, "_libraries", lambda: [library])
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()
    seen = {}

    def first():
        with blas.one_blas_thread():
            first_in.set()
            second_in.wait(300.0)
        first_out.set()

    def second():
        first_in.wait(300.0)
        with blas.one_blas_thread():
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
    monkeypatch.setattr(blas, "_libraries", lambda: [library])
    monkeypatch.setattr(blas, "_limit", blas._Limit())
    blas._limit.enter()  # another thread, which the child does not have
    blas._start_anew()
    assert library.threads == 7
    with blas.one_blas_thread():
        assert library.threads == 1
    assert library.threads == 7


def test_two_threads_that_project_at_the_same_time_get_what_one_gets():
    random = np.random.default_rng(0)
    q = np.stack(np.meshgrid(np.arange(14.0), np.arange(14.0)), axis=2).reshape(-1, 2)
    K = jo.Balls(np.full(196, 0.5)).linearise(0.0, q, 0.1).velocities(0.01)
    points = [random.normal(size=q.shape) for _ in range(2)]
    alone = [jo.InteriorPoint().project(w, K) for w in points]
    together, start = [[], []], threading.Barrier(2)

    def work(k):
        start.wait(300.0)
        together[k] += [jo.InteriorPoint().project(points[k], K) for _ in range(5)]

    workers = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for k in range(2):
        assert len(together[k]) == 5
        assert all((P.point == alone[k].point).all() for P in together[k])


FIRST_CALLS = """
import threading, time
import numpy as np
from numba.core.types import abstract
from jostle.kernels.cpu import descent, marched

numbered, threads = abstract._autoincr, 4
together, failed = threading.Barrier(threads), []

def slowly():
    time.sleep(0.005)
    return numbered()

def call():
    free, start = np.ones((9, 9), dtype=bool), np.full((9, 9), np.inf)
    start[3, 3] = 0.0
    together.wait()
    try:
        descent(marched(free, start, 0.1), 0.1)
    except TypeError as error:
        failed.append(error)

abstract._autoincr = slowly
crowd = [threading.Thread(target=call) for _ in range(threads)]
for one in crowd:
    one.start()
for one in crowd:
    one.join()
print(failed)
"""


def test_the_first_calls_of_a_kernel_may_come_from_several_threads():
    """Also if threads change places while numba gives a number to a type."""
    done = subprocess.run([sys.executable, "-c", FIRST_CALLS], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
