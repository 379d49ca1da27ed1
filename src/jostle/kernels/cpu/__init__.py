"""The kernels of `reference` in numba: whole loops, one call per projection."""

from jostle.kernels.cpu import (
    barrier,
    bodies,
    cells,
    contacts,
    copies,
    dense,
    flights,
    fused,
    grip_rows,
    grips,
    levers,
    polygons,
    polyhedra,
    sparse,
)  # fmt: skip

__all__ = [
    "barrier",
    "bodies",
    "cells",
    "contacts",
    "copies",
    "dense",
    "flights",
    "fused",
    "grip_rows",
    "grips",
    "levers",
    "polygons",
    "polyhedra",
    "sparse",
]
