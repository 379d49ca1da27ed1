"""Section 4 of the papers, ready made: small problems with a name. Each function returns a problem."""

from jostle.models.crowd import Room, crowd
from jostle.models.labyrinth import labyrinth
from jostle.models.line import chain, cradle
from jostle.models.machines import double_pendulum, impact_oscillator, vibrating_table
from jostle.models.rack import rack
from jostle.models.spheres import spheres

__all__ = [
    "Room",
    "chain",
    "cradle",
    "crowd",
    "double_pendulum",
    "impact_oscillator",
    "labyrinth",
    "rack",
    "spheres",
    "vibrating_table",
]
