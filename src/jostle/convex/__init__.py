"""Convex analysis: metrics, linear maps, polyhedra, cones, and what a projection is."""

from jostle.convex.cones import Cones
from jostle.convex.linear_map import BallBlocks, ContactMap, LeverBlocks, NormalRows
from jostle.convex.polyhedron import Cone, Polyhedron
from jostle.convex.projection import Projection
from jostle.convex.residuals import Residual

__all__ = [
    "BallBlocks", "Cone", "Cones", "ContactMap", "LeverBlocks", "NormalRows", "Polyhedron", "Projection", "Residual",
]  # fmt: skip
