"""How people walk in buildings: quickest ways, repulsion in direction, and speed by the gap ahead, together."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from jostle.arguments import NotNegative, Positive, check_arguments
from jostle.crowds.plans import Plan
from jostle.crowds.quickest import OTHERS_WEIGHT, OWN_WEIGHT, quickest
from jostle.crowds.repulsion import DECAY, STRENGTH, repulsion
from jostle.crowds.time_gap import FOLLOWING_TIME, time_gap
from jostle.crowds.wish import Wish


@check_arguments
@dataclass(frozen=True, kw_only=True)
class Pedestrians:
    """The behaviour of people in buildings: `time_gap` around `repulsion` around `quickest`, with these parameters.

    Called with a wish, its plan and the radii of people it returns the wish with this behaviour.

    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"east": ((9, 0), (9, 3))})
    >>> people = jo.crowds.crowd(
    ...     2, radius=0.2, speed=1.4, room=plan, q0=[[4.0, 1.5], [4.9, 1.5]], behaviour=Pedestrians(T=0.5)
    ... )
    >>> people.wish(0.0, people.q0).round(2).tolist()        # half a metre is free
    [[1.0, 0.0], [1.4, 0.0]]
    """

    T: Positive = FOLLOWING_TIME
    """The time in seconds that people keep behind each other."""
    own: NotNegative = OWN_WEIGHT
    """The weight of the density of people with the same goal, in square metres."""
    others: NotNegative = OTHERS_WEIGHT
    """The weight of the density of people with other goals, and of those who stand, in square metres."""
    strength: NotNegative = STRENGTH
    """The repulsion of two people who touch."""
    decay: Positive = DECAY
    """The distance in metres over which the repulsion falls by a factor e."""

    def __call__(self, wish: Wish, plan: Plan, radii: ArrayLike) -> Wish:
        quick = quickest(wish, plan, radii, own=self.own, others=self.others)
        return time_gap(repulsion(quick, radii, strength=self.strength, decay=self.decay), radii, T=self.T)
