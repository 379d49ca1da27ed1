"""What a run remembers beyond its state, so that a resumed run is bit-identical to an uninterrupted one.

Most conditions, changes and velocities depend on the state alone. One that depends on what happened before implements
`Remembers`. Then `solve` clears its memory when a run starts, writes it into the checkpoints, and gives it back when
the run is resumed.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Remembers(Protocol):
    """A condition `until`, a change, a force or a velocity that depends on the past of the run.

    Attributes
    ----------
    remembers : type or None
        The NamedTuple class of `memory`, which consists of numbers and arrays; None if there is nothing to remember.
    memory : NamedTuple or None
        What is remembered now; None stands for nothing. Checkpoints contain copies of it.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> import jostle as jo
    >>> class Lowest(NamedTuple):
    ...     height: float
    >>> class Rebounds:
    ...     '''True as soon as the ball is higher than it has been.'''
    ...     remembers = Lowest
    ...     memory = None
    ...     def remind(self, memory):
    ...         self.memory = memory
    ...     def __call__(self, state):
    ...         height, before = float(state.q[0]), self.memory
    ...         self.memory = Lowest(height)
    ...         return before is not None and height > before.height
    >>> isinstance(Rebounds(), Remembers)
    True
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> round(float(jo.solve(ball, jo.Paoli(), t=2.0, h=0.01, until=Rebounds()).t[-1]), 2)
    0.47
    """

    @property
    def remembers(self) -> type[Any] | None:
        """The NamedTuple class of `memory`; None if there is nothing to remember."""

    @property
    def memory(self) -> Any:
        """What is remembered now; None stands for nothing."""

    def remind(self, memory: Any) -> None:
        """Continue with a memory.

        Parameters
        ----------
        memory : NamedTuple or None
            The memory of a checkpoint; None at the start of a run.

        Raises
        ------
        InvalidValue
            If the memory is not possible.
        """


def remembering(thing: Any) -> Remembers | None:
    """The object itself, if it has something to remember; otherwise None.

    >>> remembering(lambda state: False) is None
    True
    """
    return thing if isinstance(thing, Remembers) and thing.remembers is not None else None
