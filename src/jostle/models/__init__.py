"""The examples of the papers (section 4 of each), and configurations of balls to start from."""

from jostle.models.balls import chain, cradle, labyrinth, rack, spheres
from jostle.models.machines import double_pendulum, impact_oscillator, vibrating_table
from jostle.models.movements import Movement, Shaken, Turning
from jostle.models.packings import random_close_packing, separate
from jostle.models.starts import lattice_places, random_sequential, square_lattice, triangular_lattice

__all__ = [
    "Movement",
    "Shaken",
    "Turning",
    "chain",
    "cradle",
    "double_pendulum",
    "impact_oscillator",
    "labyrinth",
    "lattice_places",
    "rack",
    "random_close_packing",
    "random_sequential",
    "separate",
    "spheres",
    "square_lattice",
    "triangular_lattice",
    "vibrating_table",
]
