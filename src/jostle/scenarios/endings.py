"""Conditions that end a run before its time t: the kinds of `until` in the table [run]."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from jostle._tools.arrays import Array, Booleans
from jostle.crowds.blockades import STANDSTILL, STANDSTILL_DISTANCE
from jostle.errors import EmptySet
from jostle.result.status import BLOCKED
from jostle.scenarios.fields import NotNegative, Number, Positive, Share, Table
from jostle.schemes.state import State

Ending = Callable[[State], bool | str]
CHECK_INTERVAL = 1.0
"""Time (s) between two checks for movement."""


class Never(Table):
    """The run continues to its end time t."""

    kind: Literal["never"] = Field(description="The run continues to its end time t.")


class Empty(Table):
    """Nothing is left: no person, no grain (and none waits), or less than a thousandth of a density.

    A crowd also ends when it is blocked.
    """

    kind: Literal["empty"] = Field(
        description="Nothing is left: no person, no grain, or less than a thousandth of a density. The run of a crowd "
        f"in which nobody moves for {STANDSTILL:g} s ends as blocked."
    )


class Below(Table):
    """Grains have fallen below a height."""

    kind: Literal["below"] = Field(description="A share of the grains is below a height, or has left.")
    height: Number = Field(description="Height (m) below which grains are counted.")
    share: Share = Field(1.0, description="Fraction of all grains that must be below the height.")

    def build(self) -> Ending:
        return partial(_fallen, self.height, self.share)


def _fallen(height: float, share: float, state: State) -> bool:
    below = state.q[:, -1] < height
    if state.presence is not None:
        gone = ~state.presence.here
        gone[state.presence.waiting] = False
        below = gone | (below & state.presence.here)
    return bool(below.mean() >= share)


class Jammed(Table):
    """Swelling grains have no room to grow any further."""

    kind: Literal["jammed"] = Field(description="Swelling grains have no room for another step.")


class AtRest(Table):
    """Nothing moves any more."""

    kind: Literal["at_rest"] = Field(description="Nothing moves faster than a speed, and no grain waits to enter.")
    speed: Positive = Field(description="Largest speed (m/s) of a body at rest.")
    after: NotNegative = Field(0.0, description="Earliest end (s): bodies at rest at t = 0 may be about to fall.")

    def build(self) -> Ending:
        return partial(_resting, self.speed, self.after)


def _resting(speed: float, after: float, state: State) -> bool:
    if state.presence is not None and len(state.presence.waiting):
        return False
    fastest = float(np.atleast_1d(np.linalg.norm(state.u, axis=-1)).max())
    return state.t >= after and fastest <= speed


def nobody_left(state: State) -> bool:
    """Tell whether no body is present and none waits."""
    presence = state.presence
    return presence is not None and not presence.here.any() and not len(presence.waiting)


class Standing(NamedTuple):
    """The positions when somebody last moved, that time, and the time of the last check."""

    since: float
    looked: float
    q: Array
    here: Booleans


class EmptyOrBlocked:
    """Ends the run of a crowd: everyone has left, or nobody has moved for STANDSTILL seconds.

    The crowd is not blocked while `waits(state)` is true, because people have not reacted yet or wait on purpose.

    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    >>> people = jo.crowds.crowd(2, radius=0.25, room=room, wish=lambda t, q: 0.0 * q)     # nobody wants to leave
    >>> sol = jo.solve(people, jo.Venel(), t=60.0, h=0.5, until=EmptyOrBlocked(room.empty, 0.25))
    >>> sol.status, sol.message, float(sol.t[-1])
    ('blocked', 'blocked: nobody has moved for a while', 10.5)
    """

    remembers: ClassVar[type[Any]] = Standing

    def __init__(self, empty: Ending, radii: Array | float, waits: Callable[[State], bool] | None = None):
        self.empty, self.radii, self.waits = empty, radii, waits
        self.memory: Standing | None = None

    def remind(self, memory: Standing | None) -> None:
        self.memory = memory

    def __call__(self, state: State) -> bool | str:
        if self.empty(state):
            return True
        known = self.memory
        if known is not None and state.t < known.looked + CHECK_INTERVAL:
            return False
        here = np.ones(len(state.q), dtype=bool) if state.presence is None else state.presence.here
        if known is None or self._moved(known, state, here) or (self.waits and self.waits(state)):
            self.memory = Standing(state.t, state.t, state.q, here)
            return False
        self.memory = known._replace(looked=state.t)
        return BLOCKED if state.t >= known.since + STANDSTILL else False

    def _moved(self, known: Standing, state: State, here: Booleans) -> bool:
        """Tell whether anyone has come, gone or moved since the positions were stored."""
        if (here != known.here).any():
            return True
        away = np.linalg.norm(state.q - known.q, axis=-1)
        return bool((away > STANDSTILL_DISTANCE * np.asarray(self.radii))[here].any())


class NoRoom:
    """Ends a run at the first step that no velocities allow: swelling grains are jammed.

    >>> import jostle as jo
    >>> discs = jo.Balls(lambda t: np.array([1.0, 1.0]) + t) & jo.Box([0.0], [6.0])
    >>> swelling = jo.Motion(q0=[[1.0], [5.0]], within=discs)
    >>> sol = jo.solve(swelling, jo.Maury(), t=1.0, h=0.1, until=NoRoom())
    >>> sol.status, sol.t[-1].round(9).item()
    ('stopped', 0.5)
    """

    ended_by = EmptySet

    def __call__(self, state: State) -> bool:
        return False


Until = Annotated[Never | Empty | Below | Jammed | AtRest, Field(discriminator="kind")]
