"""Compiling takes a while after an installation: those who wait are told, and all can be compiled at once."""

import gc
import io
import sys

import numba
import pytest
from rich.console import Console

from jostle.kernels import cpu
from jostle.kernels.compiling import Compiling, _Terminal, listening, tell
from jostle.kernels.cpu import warm_up
from jostle.kernels.cpu.jit import KERNELS, jit
from jostle.terminal import progress_bar


class Screen(io.StringIO):
    def isatty(self):
        return True


def news(compiled, seconds=2.1):
    return Compiling("cells._search", compiled, 60, seconds)


def test_after_two_seconds_a_bar_is_drawn_and_wiped_out_in_the_end(monkeypatch):
    screen, terminal = Screen(), _Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    terminal(news(0, seconds=1.9))
    terminal(None)
    assert screen.getvalue() == ""
    terminal(news(20))
    terminal(news(30))
    _, first, second = screen.getvalue().split("\r")
    assert (
        first
        == "jostle is compiling, once after an installation: 20 of at most 60 kernels [" + 10 * "#" + 20 * "." + "]"
    )
    assert second.count("#") == 15
    terminal(None)
    assert screen.getvalue().split("\r")[3:] == [" " * len(second), ""]


def test_without_a_terminal_nothing_is_printed_and_in_a_notebook_a_sentence(monkeypatch, capsys):
    terminal = _Terminal()
    terminal(news(1))
    assert capsys.readouterr() == ("", "")
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    for k in range(3):
        terminal(news(k))
    assert capsys.readouterr().err.count("once after an installation") == 1


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
        assert bar._bar.tasks == []
        tell(news(7))
        assert [(task.completed, task.total) for task in bar._bar.tasks] == [(7, 60)]
        assert "7 of at most 60 kernels" in bar._bar.tasks[0].description
        tell(None)
        assert bar._bar.tasks == []


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
