"""The kernels of contacts on a GPU of NVIDIA, by CuPy; `jostle.kernels.reference` defines them.

They are the loops of `jostle.kernels.cpu`, in CUDA: float64 throughout, and sums in a fixed order, so that a run has
the same bits each time.
"""

from jostle.kernels.cuda.bodies import near_sides, outran, speeds, stayed
from jostle.kernels.cuda.cells import all_pairs, near, near_segments, pair_list
from jostle.kernels.cuda.contacts import adjoint, by_pair, magnitude, norms, rates, residual_pairs, whitened
from jostle.kernels.cuda.fused import gauss_seidel

__all__ = [
    "adjoint",
    "all_pairs",
    "by_pair",
    "gauss_seidel",
    "magnitude",
    "near",
    "near_segments",
    "near_sides",
    "norms",
    "outran",
    "pair_list",
    "rates",
    "residual_pairs",
    "speeds",
    "stayed",
    "whitened",
]
