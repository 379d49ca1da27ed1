"""How kernels are compiled: what the cache on disk knows, threads that run at the same time, the limit of BLAS."""

import importlib.util
import pkgutil
import shutil
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import jostle as jo
from jostle.kernels import blas, cpu
from jostle.kernels.cpu import jit

KERNELS = Path(cpu.__file__).parent.parent


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
        assert isinstance(kernel._cache, jit._KernelCache), kernel
        assert kernel.targetoptions["nogil"], kernel


# --- the cache on disk ---


def test_the_digest_changes_with_every_source_of_the_kernels(tmp_path):
    copy = tmp_path / "kernels"
    shutil.copytree(KERNELS, copy, ignore=shutil.ignore_patterns("__pycache__"))

    def digest():
        return jit.digest_of(copy / "cpu", copy / "reference")

    assert digest() == jit.digest_of_kernels()
    reference = copy / "reference" / "sweeps.py"
    source = reference.read_text()
    reference.write_text(source.replace("FAR = 3.0", "FAR = 4.0"))
    changed = digest()
    reference.write_text(source)
    (copy / "cpu" / "new.py").write_text("")
    assert len({jit.digest_of_kernels(), changed, digest()}) == 3
    assert digest() != jit.digest_of(copy / "reference", copy / "cpu")


@pytest.fixture
def scaled(tmp_path, monkeypatch):
    """A function that compiles a kernel of a file that imports a constant of another one, and calls it."""

    def call(margin, digest):
        monkeypatch.setattr(jit, "digest_of_kernels", lambda: digest)
        (tmp_path / "kernel_of_test.py").write_text(
            "from jostle.kernels.cpu.jit import jit\n"
            "from constants_of_test import MARGIN\n"
            "@jit()\ndef scaled(x):\n    return MARGIN * x\n"
        )
        constants = type(sys)("constants_of_test")
        constants.MARGIN = margin
        monkeypatch.setitem(sys.modules, "constants_of_test", constants)
        spec = importlib.util.spec_from_file_location("kernel_of_test", tmp_path / "kernel_of_test.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "kernel_of_test", module)
        spec.loader.exec_module(module)
        return module.scaled(2.0), sum(module.scaled.stats.cache_hits.values())

    return call


def test_a_constant_that_changed_in_another_file_is_seen_and_old_kernels_are_removed(scaled, tmp_path):
    folder = tmp_path / "__pycache__"
    assert scaled(1.5, "a" * 16) == (3.0, 0)
    assert scaled(1.5, "a" * 16) == (3.0, 1)
    assert scaled(2.5, "b" * 16) == (5.0, 0)
    assert scaled(2.5, "b" * 16) == (5.0, 1)
    assert [file.name.split(".jostle-")[1][:16] for file in folder.glob("*.nbc")] == ["b" * 16]
    assert len(list(folder.glob("*.nbi"))) == 1


def test_the_user_says_where_the_cache_is(scaled, tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "mine"))
    assert scaled(1.5, "a" * 16) == (3.0, 0)
    assert scaled(1.5, "a" * 16) == (3.0, 1)
    assert len(list((tmp_path / "mine").rglob("*.nbc"))) == 1
    assert not (tmp_path / "__pycache__").exists() or not list((tmp_path / "__pycache__").glob("*.nb?"))


def test_without_a_folder_to_write_to_kernels_work_and_a_warning_says_what_to_do(scaled, monkeypatch):
    def refuse(function):
        raise RuntimeError("no locator available")

    jit._can_cache.cache_clear()
    monkeypatch.setattr(jit, "FunctionCache", refuse)
    with pytest.warns(UserWarning, match="set NUMBA_CACHE_DIR"):
        assert scaled(1.5, "a" * 16) == (3.0, 0)
    assert scaled(2.5, "a" * 16) == (5.0, 0)
    jit._can_cache.cache_clear()


def test_without_room_for_them_kernels_work_and_a_warning_says_what_to_do(scaled, full_disk):
    with full_disk(1000), pytest.warns(UserWarning, match="could not be kept.*make room, or set NUMBA_CACHE_DIR"):
        assert scaled(1.5, "a" * 16) == (3.0, 0)
    assert scaled(1.5, "a" * 16) == (3.0, 0), "nothing half-written was left"
    assert scaled(1.5, "a" * 16) == (3.0, 1)


def test_two_processes_that_save_at_the_same_time_do_not_mix_up_what_they_saved(tmp_path):
    """Each has read the index before the other wrote it: what is lost is compiled again, nothing is taken for it."""
    one, two = (jit._KernelFiles(str(tmp_path), "kernel", "a" * 16) for _ in range(2))
    seen = two._load_index()
    one.save("int32", "compiled for int32")
    two._load_index = lambda: seen
    two.save("int64", "compiled for int64")
    assert one.load("int64") == "compiled for int64"
    assert one.load("int32") in (None, "compiled for int32")


# --- threads ---


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
