"""Results of runs: contact forces and packings, statistics, and the conditions of theorems."""

from jostle.analysis.angles import acute, orthogonal
from jostle.analysis.forces import (
    Forces,
    force_chains,
    force_distribution,
    forces,
    mobilised,
    pressure,
    stress,
    wall_force,
    wall_labels,
    wall_pressure,
    wall_torque,
)
from jostle.analysis.order import Order, order
from jostle.analysis.packings import coordination, coordination_by_gap, packing_fraction
from jostle.analysis.ranges import impulse_range, load_range, multiplier_range
from jostle.analysis.statistics import band, people_inside, summary
from jostle.analysis.venel import eta, gamma, inverse_triangle, most_neighbours

__all__ = [
    "Forces",
    "Order",
    "acute",
    "band",
    "coordination",
    "coordination_by_gap",
    "eta",
    "force_chains",
    "force_distribution",
    "forces",
    "gamma",
    "impulse_range",
    "inverse_triangle",
    "load_range",
    "mobilised",
    "most_neighbours",
    "multiplier_range",
    "order",
    "orthogonal",
    "packing_fraction",
    "people_inside",
    "pressure",
    "stress",
    "summary",
    "wall_force",
    "wall_labels",
    "wall_pressure",
    "wall_torque",
]
