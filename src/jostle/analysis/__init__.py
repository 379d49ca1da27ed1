"""What the theorems ask and promise, computed."""

from jostle.analysis.angles import acute, orthogonal
from jostle.analysis.contact_numbers import coordination, coordination_by_gap, packing_fraction
from jostle.analysis.crowds import crossings, evacuation_time, flow, leaving_times
from jostle.analysis.crushing import crowd_pressure, pressed, time_in_contact
from jostle.analysis.grains import (
    Forces,
    force_chains,
    force_distribution,
    forces,
    pressure,
    stress,
    wall_force,
    wall_pressure,
)
from jostle.analysis.order import Order, order
from jostle.analysis.ranges import impulse_range, load_range, multiplier_range
from jostle.analysis.samples import band, people_inside, summary
from jostle.analysis.venel import eta, gamma, inverse_triangle, most_neighbours
from jostle.analysis.voronoi import densities, density, density_map, speed_map

__all__ = [
    "Forces",
    "Order",
    "acute",
    "band",
    "coordination",
    "coordination_by_gap",
    "crossings",
    "crowd_pressure",
    "densities",
    "density",
    "density_map",
    "eta",
    "evacuation_time",
    "flow",
    "force_chains",
    "force_distribution",
    "forces",
    "gamma",
    "impulse_range",
    "inverse_triangle",
    "leaving_times",
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
    "wall_force",
    "wall_pressure",
]
