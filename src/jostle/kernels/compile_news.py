"""Telling those who wait: kernels that were not compiled during the installation are compiled when first needed.

After two seconds of compiling, a line appears in the terminal, and goes away in the end; a notebook or a log gets one
sentence. Both say how long it usually takes. `listening` gives the news to another listener, such as the bar of a run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from typing import NamedTuple

PATIENCE = 2.0
"""Seconds of compiling after which the user is told."""
USUALLY = "usually 10 to 30 s"
"""How long first runs compile: `benchmarks/first_runs.py` measures it."""


class Compiling(NamedTuple):
    """The kernel that is being compiled, and the progress so far."""

    kernel: str
    compiled: int
    """Number of kernels that this process compiled before."""
    known: int
    """Number of all kernels; a run needs some of them."""
    seconds: float
    """Time that this process has spent compiling (s)."""

    def __str__(self) -> str:
        return f"compiling kernels, once after an installation: {USUALLY}, {self.seconds:.0f} s so far"


Listener = Callable[[Compiling | None], object]
"""Called with news when the compilation of a kernel begins, and with None when nothing is left to compile for now."""


class _Terminal:
    """The listener unless another one listens: a line on stderr, which goes away, or one sentence without a terminal.

    Only the program itself speaks: its worker processes compile the same kernels at the same time.
    """

    def __init__(self) -> None:
        self.shown = 0
        self.told = False

    def __call__(self, news: Compiling | None) -> None:
        if (news is None and not self.shown) or (news is not None and news.seconds < PATIENCE):
            return
        if sys.stderr is not None and sys.stderr.isatty():
            self.draw(news)
        elif news is not None and sys.stderr is not None and not self.told and parent_process() is None:
            self.told = True
            print(f"jostle is compiling kernels, once after an installation: {USUALLY}", file=sys.stderr)

    def draw(self, news: Compiling | None) -> None:
        line = "" if news is None else f"jostle is {news}"
        sys.stderr.write("\r" + line.ljust(self.shown) + ("" if line else "\r"))
        sys.stderr.flush()
        self.shown = len(line)


_listeners: list[Listener] = [_Terminal()]


def tell(news: Compiling | None) -> None:
    """Pass the news to the listener of the moment."""
    _listeners[-1](news)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """A context in which a listener gets the news instead of the terminal.

    >>> with listening(print):
    ...     tell(Compiling("cells._search", compiled=3, known=70, seconds=2.5))
    compiling kernels, once after an installation: usually 10 to 30 s, 2 s so far
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
