"""Geometry of buildings: floor plans, stairs and lifts, shortest paths, and drawings that plans are read from."""

from jostle.plans.stored import plan_of

__all__ = ["plan_of"]
