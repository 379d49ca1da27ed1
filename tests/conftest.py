"""The suite does the same however it was started: on a slow machine, without a terminal, in the background."""

import gc
import os
import signal
import sys
from collections import defaultdict
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import typer.main
from hypothesis import HealthCheck, settings

from glides import no_glide
from jostle.kernels import functions, parallel
from rows import WHOLE, each_value, examples

HERE = Path(__file__).resolve().parent

# a test runs it in a process of its own; to look for examples in it would import JAX into each process of the tests
collect_ignore = ["gradients/with_jax.py"]

# a shell that starts a job in the background makes it ignore Ctrl-C, and nohup the end of the terminal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# the first example of a test may compile kernels for a minute; and all examples are the same in each run
settings.register_profile(
    "jostle",
    max_examples=examples(50),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("jostle")

# as many threads as a test asks for, also if other programs use the cores
parallel.MOST_LOST = float("inf")

if not WHOLE:
    functions.glide_of = lambda *_: no_glide()

# the same commands each time; to build all of them takes longer than most calls of one
typer.main.get_command = cache(typer.main.get_command)

# what the command line prints must not depend on the terminal, nor on what its owner likes
for variable in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "PYTHONWARNINGS", "BROWSER"):
    os.environ.pop(variable, None)
os.environ.update(COLUMNS="160", LINES="50", TERM="xterm-256color", PYTHONIOENCODING="utf-8")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def full_disk(monkeypatch):
    """full_disk(size) is a disk on which no file grows beyond so many bytes, as long as it is entered."""
    resource = pytest.importorskip("resource", reason="has no limits of file sizes")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    @contextmanager
    def limited(size):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, before)

    return limited


@pytest.fixture
def only_words(monkeypatch):
    """Figures of reports of crowds are made, but not drawn."""
    import matplotlib.pyplot as plt

    def image(figure, caption=""):
        plt.close(figure)
        return caption

    monkeypatch.setattr("jostle.viz.crowd_report.image", image)


@pytest.fixture
def jostle(capsys):
    """Run a command in this process: its exit code, what it printed, and what it said on stderr."""

    def run(*arguments):
        from jostle.cli import main

        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return ended.value.code or 0, captured.out, captured.err

    return run


def pytest_collection(session):
    """Begin to import at another file in each process: the first compiles the asserts of a file for all, at length."""
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if count == 1 or not any(Path(path).resolve() == HERE for path in session.config.args):
        return
    gc.disable()  # until everything is collected: what compiles asserts makes millions of objects without a circle
    files = sorted(HERE.rglob("test_*.py"))
    start = len(files) * int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw")) // count
    for file in files[start:]:
        if str(file.parent) not in sys.path:
            sys.path.insert(0, str(file.parent))
        with suppress(Exception, pytest.skip.Exception):  # pytest imports it once more, and says what is wrong
            import_module(file.stem)


def pytest_collection_modifyitems(config, items):
    """Leave out what only `make test-all` runs."""
    if WHOLE:
        return
    kept = [item for item in items if not item.get_closest_marker("whole")]
    products = defaultdict(dict)
    for item in kept:
        if item.get_closest_marker("each_value"):
            row = frozenset((name, id(value)) for name, value in item.callspec.params.items())
            products[item.parent, item.originalname][row] = item
    rest = {product[row] for product in products.values() for row in product.keys() - each_value(list(product))}
    items[:], left_out = (
        [item for item in kept if item not in rest],
        [item for item in items if item in rest or item.get_closest_marker("whole")],
    )
    config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish():
    """Leave what was imported and collected out of all further searches for garbage."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 5)
