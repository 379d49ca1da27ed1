"""The examples of the papers (section 4 of each), and configurations of balls to start from."""

import importlib
import warnings
from typing import Any

from jostle.models.counterexamples import (
    two_inelastic_motions,
    two_motions_under_a_smooth_force,
    two_motions_with_restitution,
)
from jostle.models.labyrinth import labyrinth
from jostle.models.lattices import square_lattice, triangular_lattice
from jostle.models.line import chain, cradle
from jostle.models.machines import double_pendulum, impact_oscillator, vibrating_table
from jostle.models.packings import random_close_packing
from jostle.models.rack import rack
from jostle.models.separate import separate
from jostle.models.spheres import spheres
from jostle.models.starts import random_sequential
from jostle.models.two_motions import TwoMotions

__all__ = [
    "TwoMotions",
    "chain",
    "cradle",
    "double_pendulum",
    "impact_oscillator",
    "labyrinth",
    "rack",
    "random_close_packing",
    "random_sequential",
    "separate",
    "spheres",
    "square_lattice",
    "triangular_lattice",
    "two_inelastic_motions",
    "two_motions_under_a_smooth_force",
    "two_motions_with_restitution",
    "vibrating_table",
]

_MOVED = (
    "TIME_GAP", "AvoidJams", "Crowd", "FreeWish", "Journey", "Link", "Plan", "Room", "Wish", "crowd", "following",
    "inhibition", "walk",
)  # fmt: skip
"""Names that moved to `jostle.crowds`; they are removed here in version 0.2."""


def __getattr__(name: str) -> Any:
    """The names that moved to `jostle.crowds`, with a warning."""
    if name not in _MOVED:
        raise AttributeError(f"module 'jostle.models' has no attribute {name!r}")
    warnings.warn(f"jo.models.{name} has moved: use jo.crowds.{name}", DeprecationWarning, stacklevel=2)
    return getattr(importlib.import_module("jostle.crowds"), name)
