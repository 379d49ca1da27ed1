"""A crowd behaviour: people who get tired and walk slower and slower."""

from dataclasses import dataclass
from functools import partial

import numpy as np

import jostle as jo


@dataclass(frozen=True, eq=False)
class Fatigue(jo.crowds.Behaviour):
    """Wraps a wish; goals, ways and distances are passed on unchanged."""

    half_time: float = 30.0
    """Time after which people walk half as fast (s)."""

    def towards(self, t, q, goal):
        return np.exp2(-t / self.half_time) * self.wish.towards(t, q, goal)


jo.crowds.BEHAVIOURS.register(
    "fatigue", Fatigue
)  # behaviour = { kind = "fatigue", half_time = 60.0 } in a file


def tired(n, half_time=30.0, **more):
    """A crowd of n people who get tired; `more` are arguments of `crowd`."""
    return jo.crowds.crowd(n, behaviour=partial(Fatigue, half_time=half_time), **more)
