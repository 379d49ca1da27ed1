"""Arrays in, arrays out: the loops, in plain NumPy (`reference`) and in numba (`cpu`), behind one interface."""

from jostle.kernels.interface import ContactKernels, Kernels, kernels_for, offers

__all__ = ["ContactKernels", "Kernels", "kernels_for", "offers"]
