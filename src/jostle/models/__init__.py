"""Section 4 of the papers, ready made: problems with a name, and configurations to start from."""

from jostle.models.crowd import Crowd, crowd
from jostle.models.journeys import Journey
from jostle.models.labyrinth import labyrinth
from jostle.models.lattices import square_lattice, triangular_lattice
from jostle.models.line import chain, cradle
from jostle.models.machines import double_pendulum, impact_oscillator, vibrating_table
from jostle.models.packings import random_close_packing
from jostle.models.plans import Plan
from jostle.models.rack import rack
from jostle.models.rooms import Room
from jostle.models.separate import separate
from jostle.models.spheres import spheres
from jostle.models.stairs import Link
from jostle.models.starts import random_sequential
from jostle.models.strategies import TIME_GAP as TIME_GAP
from jostle.models.strategies import AvoidJams, following, inhibition
from jostle.models.wish import FreeWish, Wish
from jostle.models.wishes import walk

__all__ = [
    "AvoidJams",
    "Crowd",
    "FreeWish",
    "Journey",
    "Link",
    "Plan",
    "Room",
    "Wish",
    "chain",
    "cradle",
    "crowd",
    "double_pendulum",
    "following",
    "impact_oscillator",
    "inhibition",
    "labyrinth",
    "rack",
    "random_close_packing",
    "random_sequential",
    "separate",
    "spheres",
    "square_lattice",
    "triangular_lattice",
    "vibrating_table",
    "walk",
]
