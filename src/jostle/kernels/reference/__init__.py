"""The definition of each kernel in plain NumPy: slow, short, and the oracle of the tests."""

from jostle.kernels.reference.blocks import collisions
from jostle.kernels.reference.bodies import near_sides, outran, speeds, stayed
from jostle.kernels.reference.cells import all_pairs, near, near_segments, pair_list
from jostle.kernels.reference.contacts import (
    adjoint,
    by_pair,
    magnitude,
    norms,
    pairs_to_dense,
    rates,
    residual_pairs,
    whitened,
)
from jostle.kernels.reference.copies import march
from jostle.kernels.reference.dense import exact, project_dense, residual_dense
from jostle.kernels.reference.envelopes import envelopes
from jostle.kernels.reference.flights import fly
from jostle.kernels.reference.grids import obstacle
from jostle.kernels.reference.headings import headings
from jostle.kernels.reference.marching import descent, marched
from jostle.kernels.reference.runs import isotonic, pressures
from jostle.kernels.reference.sweeps import gauss_seidel, interior_point, sweep_rows
from jostle.kernels.reference.walkers import gaps_ahead, spread, turned

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
