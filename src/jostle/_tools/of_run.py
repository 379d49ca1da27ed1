"""Attributes whose values belong to a run: two runs of one object, in two threads or one inside the other, do not meet.

Which gates are closed, how far people are on their way, or what a condition of the user has counted, is not a property
of the problem: each run has its own. An object keeps such a value in an attribute `OfRun`. Within ``new_run()`` it has
a value of its own there; when the run has ended, the object shows the last value.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Values = dict[tuple[int, str], tuple[Any, Any]]
"""The objects of a run and their values, by the identity of the object and the name of the attribute."""
_runs: ContextVar[tuple[Values, ...]] = ContextVar("_runs", default=())
"""The values of the runs that go on in this thread: that of the innermost one first."""


class OfRun:
    """An attribute with a value of its own in each run; a run that has not set it sees that of the run around it.

    >>> class Counter:
    ...     count = OfRun(0)
    >>> counter = Counter()
    >>> counter.count = 3
    >>> with new_run():
    ...     counter.count = 5
    ...     with new_run():
    ...         counter.count = 8
    ...     counter.count
    5
    >>> counter.count
    5
    """

    def __init__(self, default: Any = None):
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.outside = name, f"_{name}_outside_of_runs"

    def __get__(self, thing: Any, owner: type | None = None) -> Any:
        if thing is None:
            return self
        for values in _runs.get():
            if (found := values.get((id(thing), self.name))) is not None:
                return found[1]
        return thing.__dict__.get(self.outside, self.default)

    def __set__(self, thing: Any, value: Any) -> None:
        runs = _runs.get()
        if runs:
            runs[0][id(thing), self.name] = thing, value
        if not runs or self.outside not in thing.__dict__:  # an object that is made during a run may be used after it
            thing.__dict__[self.outside] = value


@contextmanager
def new_run() -> Iterator[None]:
    """A run, in which attributes `OfRun` have values of their own."""
    values: Values = {}
    before = _runs.set((values, *_runs.get()))
    try:
        yield
    finally:
        _runs.reset(before)
        for (_, name), (thing, value) in values.items():
            thing.__dict__[getattr(type(thing), name).outside] = value
