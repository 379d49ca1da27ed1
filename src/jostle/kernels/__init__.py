"""Arrays in, arrays out: the loops over contacts and bodies. `Kernel` says how each finds the device of its arrays."""

from jostle.kernels.interface import Kernel, offers
from jostle.kernels.reference.bodies import expected_ways, near_planes, outran, stayed
from jostle.kernels.reference.cells import all_pairs, near, near_segments, pair_list
from jostle.kernels.reference.cones import (
    Blocks,
    Grip,
    GripRows,
    adjoint_grips,
    rates_grips,
    residual_grips,
    sweep_cones,
    sweep_grips,
    whitened_grips,
)
from jostle.kernels.reference.contacts import (
    ContactRows,
    adjoint,
    by_pair,
    magnitude,
    norms,
    pairs_to_dense,
    rates,
    whitened,
)
from jostle.kernels.reference.dense import exact, project_dense
from jostle.kernels.reference.levers import (
    Cone,
    Lever,
    LeverRows,
    adjoint_levers,
    local_levers,
    rates_levers,
    residual_levers,
    sweep_levers,
    whitened_levers,
)
from jostle.kernels.reference.polygons import PolygonRows, near_polygons
from jostle.kernels.reference.polyhedra import SolidRows, Solids, near_solids
from jostle.kernels.reference.residuals import Answer, project_few, residual_dense, residual_pairs
from jostle.kernels.reference.sweeps import Stop, gauss_seidel, interior_point, sweep_rows

__all__ = [
    "Answer", "Blocks", "Cone", "ContactRows", "Grip", "GripRows", "Kernel", "Lever", "LeverRows", "PolygonRows",
    "SolidRows", "Solids", "Stop", "adjoint", "adjoint_grips", "adjoint_levers", "all_pairs", "by_pair", "exact",
    "expected_ways", "gauss_seidel", "interior_point", "local_levers", "magnitude", "near", "near_planes",
    "near_polygons", "near_segments", "near_solids", "norms", "offers", "outran", "pair_list", "pairs_to_dense",
    "project_dense", "project_few", "rates", "rates_grips", "rates_levers", "residual_dense", "residual_grips",
    "residual_levers", "residual_pairs", "stayed", "sweep_cones", "sweep_grips", "sweep_levers", "sweep_rows",
    "whitened", "whitened_grips", "whitened_levers",
]  # fmt: skip
