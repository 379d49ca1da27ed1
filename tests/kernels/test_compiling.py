"""How kernels are compiled: in one way, for threads that run at the same time, on disk; and those who wait are told."""

import gc
import importlib.util
import io
import pkgutil
import shutil
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import caching
from numba.core.dispatcher import Dispatcher
from rich.console import Console

import jostle as jo
from jostle.kernels import compiling, cpu
from jostle.kernels.compile_news import Compiling, _Terminal, listening, tell
from jostle.kernels.compiling import KERNELS, KernelCache, jit
from jostle.kernels.cpu import warm_up
from jostle.kernels.interface import sources_of_kernels
from jostle.terminal import progress_bar
from kernel_sets import cpu as compiled

SOURCES = Path(cpu.__file__).parent.parent


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
    radii, cutoff, open_ = np.full(3000, 0.01), np.full(3000, 0.01), np.full(2, np.inf)
    count, over, interval = [0], threading.Event(), sys.getswitchinterval()

    def counting():
        while not over.is_set():
            count[0] += 1
            time.sleep(1e-4)

    compiled.all_pairs(q[:2], radii[:2], cutoff[:2], open_)
    counter = threading.Thread(target=counting)
    counter.start()
    sys.setswitchinterval(1000.0)
    try:
        for _ in range(20):
            before = count[0]
            compiled.all_pairs(q, radii, cutoff, open_)
            if count[0] > before:
                break
    finally:
        sys.setswitchinterval(interval)
        over.set()
        counter.join()
    assert count[0] > before


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
from jostle.plans.kernels import descent, marched

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


def test_the_digest_changes_with_every_source_of_the_kernels_and_with_numba(tmp_path, monkeypatch):
    copy = tmp_path / "kernels"
    shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("__pycache__"))

    def digest():
        return compiling.digest_of(*(copy / name for name in ("compiling.py", "cpu", "reference")))

    before = digest()
    assert before == compiling.digest_of(*(SOURCES / name for name in ("compiling.py", "cpu", "reference")))
    assert compiling.digest_of_kernels() == compiling.digest_of(SOURCES / "compiling.py", *sources_of_kernels())
    reference = copy / "reference" / "sweeps.py"
    source = reference.read_text()
    reference.write_text(source.replace("FAR = 3.0", "FAR = 4.0"))
    changed = digest()
    reference.write_text(source)
    (copy / "cpu" / "new.py").write_text("")
    assert len({before, changed, digest()}) == 3
    (copy / "cpu" / "new.py").rename(copy / "reference" / "new.py")
    assert len({before, changed, digest()}) == 3
    with monkeypatch.context() as patch:
        patch.setattr(numba, "__version__", "another one")
        assert compiling.digest_of(SOURCES / "compiling.py", *sources_of_kernels()) != compiling.digest_of_kernels()
    (copy / "reference" / "new.py").unlink()
    assert digest() == before


@pytest.fixture
def scaled(tmp_path, monkeypatch):
    """A function that compiles a kernel of a file that imports a constant of another one, and calls it."""

    def call(margin, digest, folder=tmp_path, formula="MARGIN * x"):
        monkeypatch.setattr(compiling, "digest_of_kernels", lambda: digest)
        file = folder / "kernel_of_test.py"
        file.write_text(
            "from jostle.kernels.compiling import jit\n"
            "from constants_of_test import MARGIN\n"
            f"@jit()\ndef scaled(x):\n    return {formula}\n"
        )
        constants = type(sys)("constants_of_test")
        constants.MARGIN = margin
        monkeypatch.setitem(sys.modules, "constants_of_test", constants)
        spec = importlib.util.spec_from_file_location("kernel_of_test", file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "kernel_of_test", module)
        spec.loader.exec_module(module)
        return module.scaled(2.0), sum(module.scaled.stats.cache_hits.values())

    count = len(KERNELS)
    yield call
    del KERNELS[count:]


@pytest.fixture
def read_only(monkeypatch):
    """Make all folders read-only for numba; permissions would not do so for the root user."""

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    return lambda: monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", refuse)


def test_a_constant_that_changed_in_another_file_is_seen_and_old_kernels_are_removed(scaled, tmp_path):
    folder = tmp_path / "__pycache__"
    assert scaled(1.5, "a" * 16) == (3.0, 0)
    assert scaled(1.5, "a" * 16) == (3.0, 1)
    assert scaled(2.5, "b" * 16) == (5.0, 0)
    assert scaled(2.5, "b" * 16) == (5.0, 1)
    assert [file.name.split(".jostle-")[1][:16] for file in folder.glob("*.nbc")] == ["b" * 16]


def test_the_user_says_where_the_cache_is(scaled, tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "mine"))
    assert scaled(1.5, "a" * 16) == (3.0, 0)
    assert scaled(1.5, "a" * 16) == (3.0, 1)
    assert len(list((tmp_path / "mine").rglob("*.nbc"))) == 1
    assert not (tmp_path / "__pycache__").exists() or not list((tmp_path / "__pycache__").glob("*.nbc"))


def test_kernels_that_come_with_an_installation_are_not_compiled(scaled, tmp_path):
    source, installed = tmp_path / "source", tmp_path / "installed"
    for folder in (source, installed):
        folder.mkdir()
    assert scaled(1.5, "a" * 16, source) == (3.0, 0)
    shutil.copytree(source / "__pycache__", installed / "__pycache__")
    assert scaled(1.5, "a" * 16, installed) == (3.0, 1)


def test_a_read_only_installation_uses_its_kernels_and_others_are_stored_elsewhere(
    scaled, tmp_path, monkeypatch, read_only
):
    assert scaled(1.5, "a" * 16) == (3.0, 0)
    installed = sorted((tmp_path / "__pycache__").glob("*.nbc"))
    with monkeypatch.context() as patch:
        patch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "mine"))
        assert scaled(1.5, "a" * 16) == (3.0, 1)
        assert sorted(KERNELS[-1]._cache.files) == installed
        assert list((tmp_path / "mine").rglob("*.nbc")) == []
        assert scaled(2.5, "b" * 16) == (5.0, 0)
        assert scaled(2.5, "b" * 16) == (5.0, 1)
        assert len(list((tmp_path / "mine").rglob("*.nbc"))) == 1
    read_only()
    assert scaled(1.5, "a" * 16) == (3.0, 1), "without a warning"
    assert sorted((tmp_path / "__pycache__").glob("*.nbc")) == installed


def test_without_a_folder_to_write_to_kernels_work_and_one_warning_says_what_to_do(scaled, read_only):
    read_only()
    with pytest.warns(UserWarning, match=r"\(no folder can be written to\).*set NUMBA_CACHE_DIR") as warned:
        values = [scaled(margin, "a" * 16) for margin in (1.5, 2.5)]
    assert values == [(3.0, 0), (5.0, 0)]
    assert len(warned) == 1


def test_the_files_of_the_kernels_are_those_of_these_sources_and_this_python(scaled, tmp_path, monkeypatch):
    """What `compile_kernels.py` puts into a wheel."""
    assert scaled(1.5, "a" * 16) == (3.0, 0)
    monkeypatch.setattr(warm_up, "KERNELS", KERNELS[-1:])
    (data,) = (tmp_path / "__pycache__").glob("*.nbc")
    for old, new in (("a" * 16, "b" * 16), ("cpython-", "cpython-1"), ("scaled", "another")):
        shutil.copy(data, data.with_name(data.name.replace(old, new)))
    assert [path for path, _ in warm_up.compiled_files()] == [data]
    data.unlink()
    assert warm_up.compiled_files() == []


def test_a_kernel_that_changed_in_place_is_compiled_again(scaled, tmp_path):
    """Also if the digest is the same: kernels of tests are in no digest."""
    assert scaled(1.5, "a" * 16) == (3.0, 0)
    assert scaled(1.5, "a" * 16, formula="MARGIN - 2 * x") == (-2.5, 0)
    assert scaled(1.5, "a" * 16) == (3.0, 1)
    assert not [path for path in (tmp_path / "__pycache__").iterdir() if path.suffix not in (".nbc", ".pyc")]


def test_a_kernel_is_found_without_importing_what_it_does_not_need():
    """Crowds, files and h5py are imported by those who use them."""
    program = "import sys; from jostle.kernels import compiling; compiling.digest_of_kernels(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"jostle.crowds", "jostle.macro", "jostle.io", "h5py"} & set(done.stdout.split())


def test_without_room_for_them_kernels_work_and_a_warning_says_what_to_do(scaled, full_disk):
    with full_disk(1000), pytest.warns(UserWarning, match="could not be kept.*make room, or set NUMBA_CACHE_DIR"):
        assert scaled(1.5, "a" * 16) == (3.0, 0)
    assert scaled(1.5, "a" * 16) == (3.0, 0), "nothing half-written was left"
    assert scaled(1.5, "a" * 16) == (3.0, 1)


@pytest.mark.parametrize("damage", [lambda content: b"", lambda content: content[:-9], lambda content: content[::-1]])
def test_a_damaged_file_is_compiled_again(scaled, tmp_path, damage):
    assert scaled(1.5, "a" * 16) == (3.0, 0)
    (file,) = (tmp_path / "__pycache__").glob("*.nbc")
    file.write_bytes(damage(file.read_bytes()))
    assert scaled(1.5, "a" * 16) == (3.0, 0)
    assert scaled(1.5, "a" * 16) == (3.0, 1)


class Screen(io.StringIO):
    def isatty(self):
        return True


def news(compiled, seconds=2.1):
    return Compiling("cells._search", compiled, 60, seconds)


def test_after_two_seconds_a_line_says_how_long_it_takes_and_is_wiped_out_in_the_end(monkeypatch):
    screen, terminal = Screen(), _Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    terminal(news(0, seconds=1.9))
    terminal(None)
    assert screen.getvalue() == ""
    terminal(news(20))
    terminal(news(30, seconds=7.4))
    _, first, second = screen.getvalue().split("\r")
    assert first == "jostle is compiling kernels, once after an installation: usually 10 to 30 s, 2 s so far"
    assert second.endswith(" 7 s so far")
    terminal(None)
    assert screen.getvalue().split("\r")[3:] == [" " * len(second), ""]


def test_without_a_terminal_one_sentence_is_printed_and_none_by_workers(monkeypatch, capsys):
    terminal = _Terminal()
    monkeypatch.setattr("jostle.kernels.compile_news.parent_process", lambda: "the program")
    terminal(news(1))
    assert capsys.readouterr() == ("", "")
    monkeypatch.undo()
    for k in range(3):
        terminal(news(k))
    assert capsys.readouterr().err == "jostle is compiling kernels, once after an installation: usually 10 to 30 s\n"


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """Nothing is in the cache, and kernels of the test are forgotten after it."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    count = len(KERNELS)
    yield
    del KERNELS[count:]


@pytest.mark.usefixtures("fresh")
def test_what_numba_compiles_is_told_and_nothing_is_left_changed():
    @jit()
    def twice(x):
        return 2 * x

    heard = []
    with listening(heard.append):
        assert twice(3) == 6
    assert heard[0].kernel == "twice"
    assert heard[0].known == len(KERNELS)
    assert heard[-1] is None
    assert gc.isenabled()


@pytest.mark.usefixtures("fresh")
def test_a_kernel_that_cannot_be_compiled_leaves_nothing_changed():
    @jit()
    def wrong(x):
        return x.no_such_thing

    heard = []
    with listening(heard.append), pytest.raises(Exception, match="no_such_thing"):
        wrong(3)
    assert heard[-1] is None
    assert gc.isenabled()


def test_the_bar_of_a_run_shows_it_too():
    console = Console(file=io.StringIO(), force_terminal=True, width=160)
    with progress_bar(console) as bar:
        tell(news(0, seconds=0.5))
        assert bar._display.tasks == []
        tell(news(7))
        assert [(task.completed, task.total) for task in bar._display.tasks] == [(7, 60)]
        assert "once after an installation" in bar._display.tasks[0].description
        tell(None)
        assert bar._display.tasks == []


def test_a_warm_up_leaves_nothing_to_compile():
    for task in warm_up.tasks():
        warm_up.perform(task)
    assert [kernel.__name__ for kernel in KERNELS if kernel.from_python and not kernel.overloads] == []
    heard = []
    with listening(heard.append):
        for d in (2, 3):
            for chunks in (1, 2):
                warm_up.perform(f"fused {d} {chunks}")
    assert heard == []
    assert cpu.__all__
