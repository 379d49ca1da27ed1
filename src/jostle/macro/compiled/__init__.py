"""The loops of densities in numba: see `jostle.macro.kernels`."""

from jostle.macro.compiled import collisions, envelopes, multigrid, runs

__all__ = ["collisions", "envelopes", "multigrid", "runs"]
