"""Signals that interrupt a run: the step is finished and written, then the run ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, Self

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals with which batch systems and closed terminals end programs; Windows has the first one only."""


class Signalled(KeyboardInterrupt):
    """A signal came that ends programs, as Ctrl-C does.

    >>> exit_code(Signalled(signal.SIGTERM)), exit_code(KeyboardInterrupt())
    (143, 130)
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.signal = number


def exit_code(error: KeyboardInterrupt) -> int:
    """The exit code that shells give to programs ended by this signal; 130 for Ctrl-C."""
    return 128 + int(getattr(error, "signal", signal.SIGINT))


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise Signalled(number)


@contextmanager
def ending_signals() -> Iterator[None]:
    """Signals that would kill the process raise `Signalled` while this is entered, so that files are closed."""
    ours = threading.current_thread() is threading.main_thread()
    taken = [number for number in ENDING if ours and signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


class Interrupts:
    """While it is entered, the first signal that would raise KeyboardInterrupt is noted in `came`, the next one raised.

    Only in the main thread, where signals arrive. Other handlers are left alone, and so are signals that would kill the
    process: ``signal.signal(signal.SIGTERM, signal.default_int_handler)`` lets SIGTERM interrupt runs as Ctrl-C does.

    >>> with Interrupts() as interrupts:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupts.came == signal.SIGINT
    True
    """

    def __init__(self) -> None:
        self.came = 0
        """Number of the signal that came; 0 if none did."""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}
            for number, handler in handlers.items():
                if handler in (signal.default_int_handler, _end):
                    self._before[number] = handler
                    signal.signal(number, self._note)
        return self

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.came:
            self._before[number](number, frame)
        self.came = number
