"""The kernels of `reference` in numba: whole loops, one call per projection."""

from jostle.kernels.cpu.barrier import interior_point
from jostle.kernels.cpu.blocks import collisions
from jostle.kernels.cpu.bodies import near_sides, outran, speeds, stayed
from jostle.kernels.cpu.cells import all_pairs, near, pair_list
from jostle.kernels.cpu.contacts import (
    adjoint,
    by_pair,
    magnitude,
    norms,
    pairs_to_dense,
    rates,
    residual_pairs,
    whitened,
)
from jostle.kernels.cpu.copies import march
from jostle.kernels.cpu.dense import exact, project_dense, residual_dense
from jostle.kernels.cpu.envelopes import envelopes
from jostle.kernels.cpu.flights import fly
from jostle.kernels.cpu.fused import gauss_seidel
from jostle.kernels.cpu.headings import headings
from jostle.kernels.cpu.marching import descent, marched
from jostle.kernels.cpu.multigrid import obstacle
from jostle.kernels.cpu.runs import isotonic, pressures
from jostle.kernels.cpu.segments import near_segments
from jostle.kernels.cpu.sparse import sweep_rows
from jostle.kernels.cpu.walkers import gaps_ahead, spread, turned

__all__ = [
    "adjoint",
    "all_pairs",
    "by_pair",
    "collisions",
    "descent",
    "envelopes",
    "exact",
    "fly",
    "gaps_ahead",
    "gauss_seidel",
    "headings",
    "interior_point",
    "isotonic",
    "magnitude",
    "march",
    "marched",
    "near",
    "near_segments",
    "near_sides",
    "norms",
    "obstacle",
    "outran",
    "pair_list",
    "pairs_to_dense",
    "pressures",
    "project_dense",
    "rates",
    "residual_dense",
    "residual_pairs",
    "speeds",
    "spread",
    "stayed",
    "sweep_rows",
    "turned",
    "whitened",
]
