"""Convex analysis: metrics, linear maps, polyhedra, cones, and what a projection is."""

from jostle.convex.linear_map import Grips, Pairs
from jostle.convex.polyhedron import Cone, Polyhedron
from jostle.convex.projection import Projection, Residual
from jostle.convex.rows import Cones

__all__ = ["Cone", "Cones", "Grips", "Pairs", "Polyhedron", "Projection", "Residual"]
