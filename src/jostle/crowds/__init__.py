"""Crowds of people who walk to exits: floor plans, wishes, and behaviours (Venel 2009, section 4.2)."""

from jostle.crowds.behaviour import Behaviour
from jostle.crowds.continuum import densest_packing, density
from jostle.crowds.crowd import Crowd, crowd
from jostle.crowds.distributions import Distribution, LogNormal, Normal, Uniform, walking_speed
from jostle.crowds.entries import arrivals, timetable
from jostle.crowds.families import Together
from jostle.crowds.free_wish import FreeWish
from jostle.crowds.gates import Gate
from jostle.crowds.groups import Group
from jostle.crowds.journeys import Journey
from jostle.crowds.knowledge import KnownExits
from jostle.crowds.pedestrians import Pedestrians
from jostle.crowds.plans import Plan
from jostle.crowds.quickest import quickest
from jostle.crowds.reactions import Reaction
from jostle.crowds.repulsion import repulsion
from jostle.crowds.rooms import Room
from jostle.crowds.stairs import Link
from jostle.crowds.stops import Queue, Stop, WaitingArea
from jostle.crowds.strategies import TIME_GAP as TIME_GAP
from jostle.crowds.strategies import AvoidJams, following, inhibition
from jostle.crowds.time_gap import time_gap
from jostle.crowds.walk import walk
from jostle.crowds.wish import Wish

__all__ = [
    "AvoidJams",
    "Behaviour",
    "Crowd",
    "Distribution",
    "FreeWish",
    "Gate",
    "Group",
    "Journey",
    "KnownExits",
    "Link",
    "LogNormal",
    "Normal",
    "Pedestrians",
    "Plan",
    "Queue",
    "Reaction",
    "Room",
    "Stop",
    "Together",
    "Uniform",
    "WaitingArea",
    "Wish",
    "arrivals",
    "crowd",
    "densest_packing",
    "density",
    "following",
    "inhibition",
    "quickest",
    "repulsion",
    "time_gap",
    "timetable",
    "walk",
    "walking_speed",
]
