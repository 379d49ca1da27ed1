"""Convex analysis: metrics, linear maps, polyhedra, cones, and what a projection is."""
