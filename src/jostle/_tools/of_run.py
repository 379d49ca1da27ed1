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

from jostle._tools.arguments import described
from jostle.errors import InvalidValue

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


# What a run remembers beyond its state, so that a resumed run is bit-identical to an uninterrupted one.
#
# Most conditions, changes and velocities depend on the state alone. One that depends on what happened before inherits
# from `Remembers`. Its memory belongs to the run: it is empty when the run starts, written into the checkpoints, and
# given back when the run is resumed.


class Remembers:
    """Base class of conditions, changes, forces and velocities that depend on the past of the run.

    Attributes
    ----------
    memory_type : type or None
        The NamedTuple class of `memory`, of numbers and arrays; None if there is nothing to remember.
    memory : NamedTuple or None
        What is remembered now. Each run has a memory of its own, which starts as None and is copied into checkpoints;
        after a run, it is that of its last step.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> import jostle as jo
    >>> class Lowest(NamedTuple):
    ...     height: float
    >>> class Rebounds(Remembers):
    ...     '''True as soon as the ball is higher than it has been.'''
    ...     memory_type = Lowest
    ...     def __call__(self, state):
    ...         height, before = float(state.q[0]), self.memory
    ...         self.memory = Lowest(height)
    ...         return before is not None and height > before.height
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> round(float(jo.solve(ball, jo.Paoli(), t=2.0, h=0.01, until=Rebounds()).t[-1]), 2)
    0.47
    """

    memory_type: Any = None
    memory: Any = OfRun()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        for name, value in vars(cls).items():  # a property composes the memories of what the object is made of
            if isinstance(getattr(super(cls, cls), name, None), OfRun) and not isinstance(value, OfRun | property):
                raise InvalidValue(
                    f"{cls.__name__}.{name} would belong to all runs at once: leave it out of the class and set "
                    f"self.{name}, which each run has for itself"
                )

    def restore(self, memory: Any) -> None:
        """Continue with a memory; a class that starts with another memory than None, or checks it, redefines this.

        Parameters
        ----------
        memory : NamedTuple or None
            The memory of a checkpoint; None at the start of a run.
        """
        object.__setattr__(self, "memory", memory)  # also in frozen dataclasses


def remembering(thing: Any) -> Remembers | None:
    """The object itself, if it has something to remember; otherwise None."""
    if isinstance(thing, Remembers):
        return None if thing.memory_type is None else thing
    if not isinstance(thing, type) and getattr(thing, "memory_type", None) is not None:
        raise InvalidValue(
            f"{described(thing)} remembers something, which would belong to all runs at once: its class must inherit "
            f"from jostle.problems.Remembers"
        )
    return None
