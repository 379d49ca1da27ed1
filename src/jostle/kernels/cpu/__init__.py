"""The kernels of `reference` in numba: whole loops, one call per projection."""

from jostle.kernels.cpu import (
    barrier,
    bodies,
    cells,
    cones,
    contacts,
    copies,
    dense,
    flights,
    fused,
    grips,
    sparse,
)

__all__ = [
    "barrier",
    "bodies",
    "cells",
    "cones",
    "contacts",
    "copies",
    "dense",
    "flights",
    "fused",
    "grips",
    "sparse",
]
