"""Geometry of buildings: floor plans, stairs and lifts, shortest paths, and drawings that plans are read from."""
