"""Macroscopic impact laws, and the passage from grains to densities (Bourdin & Maury 2020, sections 2 to 6)."""

from jostle.macro.grid import Disc, Grid, Mask, Polygon, Velocity
from jostle.macro.homogenise import ErrorTable, Homogenised, Packing, homogenise, phi
from jostle.macro.isotropic import Isotropic
from jostle.macro.lattice import Lattice, square_lattice, triangular_lattice
from jostle.macro.law import Collision
from jostle.macro.line import Interval, LineCollision
from jostle.macro.motion.barrier import Barrier
from jostle.macro.motion.domain import Passage
from jostle.macro.motion.impacts import Impacts
from jostle.macro.motion.pressure import ObstacleStep, obstacle_step
from jostle.macro.motion.problems import Crowd, Flow, State
from jostle.macro.motion.result import Evolution
from jostle.macro.motion.solve import solve
from jostle.macro.motion.splitting import Splitting
from jostle.macro.motion.sticky import Merger, StickyBlocks
from jostle.macro.motion.wasserstein import WassersteinProjection, wasserstein_projection
from jostle.macro.square import Square
from jostle.macro.structure import Structure, structure
from jostle.macro.triangular import Triangular

__all__ = [
    "Barrier",
    "Collision",
    "Crowd",
    "Disc",
    "ErrorTable",
    "Evolution",
    "Flow",
    "Grid",
    "Homogenised",
    "Impacts",
    "Interval",
    "Isotropic",
    "Lattice",
    "LineCollision",
    "Mask",
    "Merger",
    "ObstacleStep",
    "Packing",
    "Passage",
    "Polygon",
    "Splitting",
    "Square",
    "State",
    "StickyBlocks",
    "Structure",
    "Triangular",
    "Velocity",
    "WassersteinProjection",
    "homogenise",
    "obstacle_step",
    "phi",
    "solve",
    "square_lattice",
    "structure",
    "triangular_lattice",
    "wasserstein_projection",
]
