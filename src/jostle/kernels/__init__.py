"""Arrays in, arrays out: the loops, in plain NumPy (`reference`) and in numba (`cpu`), behind one interface."""

from jostle.kernels.interface import Kernels, kernels_for

__all__ = ["Kernels", "kernels_for"]
