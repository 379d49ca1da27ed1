"""Crowds of people who walk to exits: floor plans, wishes, and behaviours (Venel 2009, section 4.2)."""

from jostle.crowds.behaviour import Behaviour
from jostle.crowds.blockades import blockade
from jostle.crowds.continuum import densest_packing, density
from jostle.crowds.crowd import Crowd, crowd
from jostle.crowds.crowding import densities, density_map, fundamental_diagram, level_of_service, speed_map, weidmann
from jostle.crowds.crowding import voronoi as voronoi
from jostle.crowds.delays import jams, travel
from jostle.crowds.distributions import Distribution, LogNormal, Normal, Uniform, walking_speed
from jostle.crowds.entries import arrivals, timetable
from jostle.crowds.families import Together
from jostle.crowds.free_wish import FreeWish
from jostle.crowds.gates import Gate
from jostle.crowds.groups import Group
from jostle.crowds.journeys import Journey
from jostle.crowds.knowledge import KnownExits
from jostle.crowds.leaving import crossings, evacuation_time, exit_use, flow, leaving_times
from jostle.crowds.maps import crowd_maps
from jostle.crowds.pedestrians import Pedestrians
from jostle.crowds.plans import Plan
from jostle.crowds.pressing import crowd_forces, crowd_pressure, pressed, time_in_contact
from jostle.crowds.quickest import quickest
from jostle.crowds.reactions import Reaction
from jostle.crowds.repulsion import repulsion
from jostle.crowds.rooms import Room
from jostle.crowds.stairs import Link
from jostle.crowds.stops import Queue, Stop, WaitingArea
from jostle.crowds.strategies import TIME_GAP as TIME_GAP
from jostle.crowds.strategies import AvoidJams, following, inhibition
from jostle.crowds.summary import crowd_summary
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
    "blockade",
    "crossings",
    "crowd",
    "crowd_forces",
    "crowd_maps",
    "crowd_pressure",
    "crowd_summary",
    "densest_packing",
    "densities",
    "density",
    "density_map",
    "evacuation_time",
    "exit_use",
    "flow",
    "following",
    "fundamental_diagram",
    "inhibition",
    "jams",
    "leaving_times",
    "level_of_service",
    "pressed",
    "quickest",
    "repulsion",
    "speed_map",
    "time_gap",
    "time_in_contact",
    "timetable",
    "travel",
    "voronoi",
    "walk",
    "walking_speed",
    "weidmann",
]
