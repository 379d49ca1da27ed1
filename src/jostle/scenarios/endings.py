"""When a run ends before its time: what `until` of the table [run] may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from jostle.errors import EmptySet
from jostle.problems import Motion
from jostle.scenarios.fields import NotNegative, Number, Positive, Share, Table
from jostle.schemes.base import Scheme, State

Ending = Callable[[State], bool]


class Never(Table):
    """The run goes on to its time t."""

    kind: Literal["never"] = Field(description="The run goes on to its time t.")


class Empty(Table):
    """Everyone is gone: the crowd has left the room, or no grain is left and none waits."""

    kind: Literal["empty"] = Field(description="Everyone is gone: nobody is left in the room, or no grain is left.")


class Below(Table):
    """Grains have fallen below a height."""

    kind: Literal["below"] = Field(description="So many grains are below a height, or gone.")
    height: Number = Field(description="The height (m).")
    share: Share = Field(1.0, description="The part of all grains that must be below.")

    def build(self) -> Ending:
        def fallen(state: State) -> bool:
            below = state.q[:, -1] < self.height
            if state.presence is not None:
                gone = ~state.presence.here
                gone[state.presence.waiting] = False
                below = gone | (below & state.presence.here)
            return bool(below.mean() >= self.share)

        return fallen


class Jammed(Table):
    """Grains that swell have no room to grow any further."""

    kind: Literal["jammed"] = Field(description="Grains that swell have no room for one more step.")


class AtRest(Table):
    """Nothing moves any more."""

    kind: Literal["at_rest"] = Field(description="Nothing is faster than a speed, and no grain waits to come in.")
    speed: Positive = Field(description="The speed (m/s).")
    after: NotNegative = Field(0.0, description="Not before this time (s): things at rest may be about to fall.")

    def build(self) -> Ending:
        def resting(state: State) -> bool:
            if state.presence is not None and len(state.presence.waiting):
                return False
            fastest = float(np.atleast_1d(np.linalg.norm(state.u, axis=-1)).max())
            return state.t >= self.after and fastest <= self.speed

        return resting


def nobody_left(state: State) -> bool:
    """No body is there, and none waits."""
    presence = state.presence
    return presence is not None and not presence.here.any() and not len(presence.waiting)


def jammed(problem: Motion, scheme: Scheme, h: float) -> Ending:
    """Is there no velocity at which all could grow for one more step of length h?"""

    def stuck(state: State) -> bool:
        try:
            scheme.step(problem, state, h)
        except EmptySet:
            return True
        return False

    return stuck


Until = Annotated[Never | Empty | Below | Jammed | AtRest, Field(discriminator="kind")]
