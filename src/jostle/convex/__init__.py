"""Convex analysis: metrics, linear maps, polyhedra, cones, and what a projection is."""

from jostle.convex.cones import Cones
from jostle.convex.linear_map import Grips, Pairs
from jostle.convex.polyhedron import Cone, Polyhedron
from jostle.convex.projection import Projection
from jostle.convex.residuals import Residual

__all__ = ["Cone", "Cones", "Grips", "Pairs", "Polyhedron", "Projection", "Residual"]
