"""Convex analysis: metrics, linear maps, polyhedra, cones, and what a projection is."""

from jostle.convex.linear_map import Pairs
from jostle.convex.polyhedron import Cone, Polyhedron
from jostle.convex.projection import Projection, Residual

__all__ = ["Cone", "Pairs", "Polyhedron", "Projection", "Residual"]
