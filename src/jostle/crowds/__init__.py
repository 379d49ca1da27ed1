"""Crowds of people who walk to exits: floor plans, wishes, and behaviours (Venel 2009, section 4.2)."""

from jostle.crowds.measure.blockades import blockade
from jostle.crowds.measure.crowding import (
    crowd_maps,
    densities,
    density_map,
    fundamental_diagram,
    level_of_service,
    speed_map,
    voronoi,
    weidmann,
)
from jostle.crowds.measure.jams import jams
from jostle.crowds.measure.leaving import crossings, evacuation_time, exit_use, flow, leaving_times, travel
from jostle.crowds.measure.pedestrians import to_pedpy, write_jupedsim, write_text
from jostle.crowds.measure.pressing import crowd_forces, crowd_pressure, pressed, time_in_contact
from jostle.crowds.measure.summary import crowd_summary
from jostle.crowds.model.behaviours import (
    BEHAVIOURS,
    AvoidJams,
    Following,
    Inhibition,
    KnownExits,
    Pedestrians,
    Plain,
    Reaction,
    Repulsion,
    TimeGap,
    Together,
)
from jostle.crowds.model.behaviours import TIME_GAP as TIME_GAP
from jostle.crowds.model.continuum import densest_packing, density
from jostle.crowds.model.crowd import Crowd, crowd
from jostle.crowds.model.distributions import Distribution, LogNormal, Normal, Uniform, walking_speed
from jostle.crowds.model.groups import Group, arrivals, timetable
from jostle.crowds.model.journeys import Journey, Queue, Stop, WaitingArea
from jostle.crowds.model.quickest import Quickest
from jostle.crowds.model.walk import walk
from jostle.crowds.model.wish import Behaviour, FreeWish, Wish
from jostle.plans.areas import Area
from jostle.plans.dxf import DXF
from jostle.plans.formats import PLAN_FORMATS, Outline, PlanFormat, read_plan, write_plan
from jostle.plans.links import Link
from jostle.plans.openings import Gate
from jostle.plans.picture import Picture
from jostle.plans.plan import Plan, Room
from jostle.plans.ways import shortest_paths
from jostle.plans.wkt import WKT

__all__ = [
    "BEHAVIOURS",
    "DXF",
    "PLAN_FORMATS",
    "WKT",
    "Area",
    "AvoidJams",
    "Behaviour",
    "Crowd",
    "Distribution",
    "Following",
    "FreeWish",
    "Gate",
    "Group",
    "Inhibition",
    "Journey",
    "KnownExits",
    "Link",
    "LogNormal",
    "Normal",
    "Outline",
    "Pedestrians",
    "Picture",
    "Plain",
    "Plan",
    "PlanFormat",
    "Queue",
    "Quickest",
    "Reaction",
    "Repulsion",
    "Room",
    "Stop",
    "TimeGap",
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
    "fundamental_diagram",
    "jams",
    "leaving_times",
    "level_of_service",
    "pressed",
    "read_plan",
    "shortest_paths",
    "speed_map",
    "time_in_contact",
    "timetable",
    "to_pedpy",
    "travel",
    "voronoi",
    "walk",
    "walking_speed",
    "weidmann",
    "write_jupedsim",
    "write_plan",
    "write_text",
]
