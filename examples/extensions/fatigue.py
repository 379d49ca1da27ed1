"""A crowd behaviour: people who get tired and walk slower and slower."""

from dataclasses import dataclass

import numpy as np

import jostle as jo


@dataclass(frozen=True, eq=False)
class Fatigue(jo.crowds.Behaviour):
    """Wraps a wish; goals, ways and distances are passed on unchanged."""

    half_time: float = 30.0
    """Time after which people walk half as fast (s)."""

    def towards(self, t, q, goal):
        return np.exp2(-t / self.half_time) * self.wish.towards(t, q, goal)


def tired(people, half_time=30.0):
    """The same crowd, tired."""
    return people.wishing(Fatigue(people.wish, half_time))
