"""What the theorems ask and promise, computed."""

from jostle.analysis.angles import acute, orthogonal
from jostle.analysis.contact_numbers import coordination, coordination_by_gap, packing_fraction
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
from jostle.analysis.venel import eta, gamma, inverse_triangle

__all__ = [
    "Forces",
    "Order",
    "acute",
    "coordination",
    "coordination_by_gap",
    "eta",
    "force_chains",
    "force_distribution",
    "forces",
    "gamma",
    "inverse_triangle",
    "order",
    "orthogonal",
    "packing_fraction",
    "pressure",
    "stress",
    "wall_force",
    "wall_pressure",
]
