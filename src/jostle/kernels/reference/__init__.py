"""The definition of each kernel in plain NumPy: slow, short, and the oracle of the tests."""

from jostle.kernels.reference import bodies, cells, cones, contacts, copies, dense, levers, residuals, sweeps

__all__ = ["bodies", "cells", "cones", "contacts", "copies", "dense", "levers", "residuals", "sweeps"]
