"""Arrays in, arrays out: the loops over contacts and bodies. `Kernel` says how each finds the device of its arrays."""

from jostle.kernels import reference
from jostle.kernels.interface import Kernel, offers
from jostle.kernels.reference.cones import Blocks, Grip, GripRows
from jostle.kernels.reference.contacts import ContactRows
from jostle.kernels.reference.levers import Cone, Lever, LeverRows
from jostle.kernels.reference.residuals import Answer
from jostle.kernels.reference.sweeps import Stop

adjoint = Kernel(reference.contacts.adjoint)
adjoint_grips = Kernel(reference.cones.adjoint_grips)
adjoint_levers = Kernel(reference.levers.adjoint_levers)
all_pairs = Kernel(reference.cells.all_pairs)
by_pair = Kernel(reference.contacts.by_pair)
exact = Kernel(reference.dense.exact)
expected_ways = Kernel(reference.bodies.expected_ways)
gauss_seidel = Kernel(reference.sweeps.gauss_seidel)
interior_point = Kernel(reference.sweeps.interior_point)
local_levers = Kernel(reference.levers.local_levers)
magnitude = Kernel(reference.contacts.magnitude)
near = Kernel(reference.cells.near)
near_planes = Kernel(reference.bodies.near_planes)
near_segments = Kernel(reference.cells.near_segments)
norms = Kernel(reference.contacts.norms)
outran = Kernel(reference.bodies.outran)
pair_list = Kernel(reference.cells.pair_list)
pairs_to_dense = Kernel(reference.contacts.pairs_to_dense)
project_dense = Kernel(reference.dense.project_dense)
project_few = Kernel(reference.residuals.project_few)
rates = Kernel(reference.contacts.rates)
rates_grips = Kernel(reference.cones.rates_grips)
rates_levers = Kernel(reference.levers.rates_levers)
residual_dense = Kernel(reference.residuals.residual_dense)
residual_grips = Kernel(reference.cones.residual_grips)
residual_levers = Kernel(reference.levers.residual_levers)
residual_pairs = Kernel(reference.residuals.residual_pairs)
stayed = Kernel(reference.bodies.stayed)
sweep_cones = Kernel(reference.cones.sweep_cones)
sweep_grips = Kernel(reference.cones.sweep_grips)
sweep_levers = Kernel(reference.levers.sweep_levers)
sweep_rows = Kernel(reference.sweeps.sweep_rows)
whitened = Kernel(reference.contacts.whitened)
whitened_grips = Kernel(reference.cones.whitened_grips)
whitened_levers = Kernel(reference.levers.whitened_levers)

__all__ = [
    "Answer",
    "Blocks",
    "Cone",
    "ContactRows",
    "Grip",
    "GripRows",
    "Kernel",
    "Lever",
    "LeverRows",
    "Stop",
    "offers",
    "reference",
]
