"""The behaviour of people in buildings: quickest paths, repulsion in direction, and speed by the gap ahead."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from jostle._tools.arguments import NotNegative, Positive, check_arguments
from jostle.crowds.plans import Plan
from jostle.crowds.quickest import OTHERS_WEIGHT, OWN_WEIGHT, quickest
from jostle.crowds.repulsion import DECAY, STRENGTH, repulsion
from jostle.crowds.time_gap import FOLLOWING_TIME, time_gap
from jostle.crowds.wish import Wish


@check_arguments
@dataclass(frozen=True, kw_only=True)
class Pedestrians:
    """The behaviour of people in buildings: `time_gap` around `repulsion` around `quickest`.

    Called with a wish, its plan and the radii of people (n,), it returns the wish with this behaviour.

    Parameters
    ----------
    T : float, default 0.7
        Time gap that people keep to the person ahead (s).
    own : float, default 0.8
        Weight of the density of people with the same goal (m2), 0 or more.
    others : float, default 4.0
        Weight of the density of people with other goals and of people who stand (m2), 0 or more.
    strength : float, default 2.0
        Repulsion of two people who touch, relative to the wish to walk on; 0 or more.
    decay : float, default 0.1
        Distance over which the repulsion falls by a factor e (m).

    Examples
    --------
    >>> import jostle as jo
    >>> plan = jo.crowds.Plan([(0, 0), (9, 0), (9, 3), (0, 3)], exits={"east": ((9, 0), (9, 3))})
    >>> people = jo.crowds.crowd(
    ...     2, radius=0.2, speed=1.4, room=plan, q0=[[4.0, 1.5], [4.9, 1.5]], behaviour=Pedestrians(T=0.5)
    ... )
    >>> people.wish(0.0, people.q0).round(2).tolist()        # half a metre is free
    [[1.0, 0.0], [1.4, 0.0]]
    """

    T: Positive = FOLLOWING_TIME
    own: NotNegative = OWN_WEIGHT
    others: NotNegative = OTHERS_WEIGHT
    strength: NotNegative = STRENGTH
    decay: Positive = DECAY

    def __call__(self, wish: Wish, plan: Plan, radii: ArrayLike) -> Wish:
        quick = quickest(wish, plan, radii, own=self.own, others=self.others)
        return time_gap(repulsion(quick, radii, strength=self.strength, decay=self.decay), radii, T=self.T)
