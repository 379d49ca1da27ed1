"""People who walk to exits: floor plans, wishes, and what people do about each other (Venel 2009, section 4.2)."""

from jostle.crowds.continuum import densest_packing, density
from jostle.crowds.crowd import Crowd, crowd
from jostle.crowds.groups import Group
from jostle.crowds.journeys import Journey
from jostle.crowds.pedestrians import Pedestrians
from jostle.crowds.plans import Plan
from jostle.crowds.quickest import quickest
from jostle.crowds.repulsion import repulsion
from jostle.crowds.rooms import Room
from jostle.crowds.stairs import Link
from jostle.crowds.strategies import TIME_GAP as TIME_GAP
from jostle.crowds.strategies import AvoidJams, following, inhibition
from jostle.crowds.time_gap import time_gap
from jostle.crowds.walk import walk
from jostle.crowds.wish import Behaviour, FreeWish, Wish

__all__ = [
    "AvoidJams",
    "Behaviour",
    "Crowd",
    "FreeWish",
    "Group",
    "Journey",
    "Link",
    "Pedestrians",
    "Plan",
    "Room",
    "Wish",
    "crowd",
    "densest_packing",
    "density",
    "following",
    "inhibition",
    "quickest",
    "repulsion",
    "time_gap",
    "walk",
]
