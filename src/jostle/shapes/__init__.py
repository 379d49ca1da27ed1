"""Rigid shapes of bodies: capsules, polygons, boxes, polyhedra, ellipsoids, superellipsoids, and compounds of them.

Ball, Capsule                   discs and balls; rods with round ends
Polygon, Box, Hull              convex shapes with flat faces, whose corners are rounded a little
Ellipsoid, Superellipsoid       smooth shapes
Compound                        several shapes that are one rigid body
Shape, Core                     what all shapes have: mass properties, and convex cores with a rounding radius
"""

from jostle.shapes.compound import Compound
from jostle.shapes.flat import Box, Hull, Polygon
from jostle.shapes.round import Ball, Capsule, Ellipsoid, Superellipsoid
from jostle.shapes.shape import Core, Shape

__all__ = ["Ball", "Box", "Capsule", "Compound", "Core", "Ellipsoid", "Hull", "Polygon", "Shape", "Superellipsoid"]
