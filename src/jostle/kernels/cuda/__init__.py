"""The kernels of contacts on a GPU of NVIDIA, by CuPy; `jostle.kernels.reference` declares them.

They are the loops of `jostle.kernels.cpu`, in CUDA: float64 throughout, and sums in a fixed order, so that a run has
the same bits each time.
"""

from jostle.kernels.cuda import bodies, cells, contacts, fused, grips

__all__ = ["bodies", "cells", "contacts", "fused", "grips"]
