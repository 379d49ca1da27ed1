"""Results of runs: contact forces and packings, crowds and evacuations, statistics, and the conditions of theorems."""

from jostle.analysis.angles import acute, orthogonal
from jostle.analysis.bands import band, people_inside
from jostle.analysis.blockades import blockade
from jostle.analysis.contact_numbers import coordination, coordination_by_gap
from jostle.analysis.crowd_forces import crowd_forces
from jostle.analysis.crowd_maps import crowd_maps
from jostle.analysis.crowd_summary import crowd_summary
from jostle.analysis.crowds import crossings, flow
from jostle.analysis.crushing import crowd_pressure, pressed, time_in_contact
from jostle.analysis.density_maps import density_map, speed_map
from jostle.analysis.evacuation import evacuation_time, leaving_times
from jostle.analysis.exits import exit_use
from jostle.analysis.force_chains import force_chains, force_distribution
from jostle.analysis.fundamental_diagram import fundamental_diagram, weidmann
from jostle.analysis.grains import Forces, forces, pressure, stress
from jostle.analysis.jams import jams
from jostle.analysis.level_of_service import level_of_service
from jostle.analysis.order import Order, order
from jostle.analysis.packing_fraction import packing_fraction
from jostle.analysis.ranges import impulse_range, load_range, multiplier_range
from jostle.analysis.samples import summary
from jostle.analysis.venel import eta, gamma, inverse_triangle, most_neighbours
from jostle.analysis.voronoi import densities, density
from jostle.analysis.walks import travel
from jostle.analysis.wall_forces import wall_force, wall_labels, wall_pressure

__all__ = [
    "Forces",
    "Order",
    "acute",
    "band",
    "blockade",
    "coordination",
    "coordination_by_gap",
    "crossings",
    "crowd_forces",
    "crowd_maps",
    "crowd_pressure",
    "crowd_summary",
    "densities",
    "density",
    "density_map",
    "eta",
    "evacuation_time",
    "exit_use",
    "flow",
    "force_chains",
    "force_distribution",
    "forces",
    "fundamental_diagram",
    "gamma",
    "impulse_range",
    "inverse_triangle",
    "jams",
    "leaving_times",
    "level_of_service",
    "load_range",
    "most_neighbours",
    "multiplier_range",
    "order",
    "orthogonal",
    "packing_fraction",
    "people_inside",
    "pressed",
    "pressure",
    "speed_map",
    "stress",
    "summary",
    "time_in_contact",
    "travel",
    "wall_force",
    "wall_labels",
    "wall_pressure",
    "weidmann",
]
