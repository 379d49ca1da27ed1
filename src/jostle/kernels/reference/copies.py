"""Many copies of a small system in motion: what the arrays of `kernels.cpu.copies` and `kernels.cpu.flights` mean.

The definition of their steps is elsewhere: `march` does those of `schemes.paoli` and `schemes.moreau_jean`, for a
diagonal mass and inequalities, and `fly` finds the motion of `solve_by_events`. The functions of the user are force(t,
q, u, parameters, out) and rows(t, q, parameters, gap, G), which write what they compute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Integers

PAOLI, MOREAU_JEAN = 0, 1
"""The schemes."""
GOES_ON, NOT_FINITE, NO_PROJECTION, NO_NEAREST, NO_POINT, TOO_MANY_IMPACTS, ESCAPED = 0, 1, 2, 3, 4, 5, 6
"""Status of a copy: it continues, or it was ended by a number that is not finite, a projection that did not converge, a
search for the nearest admissible point that did not converge, contradictory constraints, too many impacts, or a motion
that went to infinity."""
HUGE = 1e50
"""A copy with coordinates beyond this number escapes when numbers overflow."""
T, H, E = 0, 1, 2
"""The columns of `numbers`: the first time, the time step, and the restitution."""
Q, BEFORE, U = 0, 1, 2
"""The rows of a state: q, the q of the step before (for Paoli's scheme), and u."""
DONE, STATUS, HITS = 0, 1, 2
"""The columns of `counts`: number of steps done, status of the copy, and number of impacts."""
MOMENT, SPEED, ROW = 0, 1, 2
"""The columns of a recorded impact: when the gap closed, how fast, and its number."""
MAX_SWEEPS = 50
"""Largest number of linearisations in the search for the nearest admissible point."""
SWEEP_TOLERANCE = 1e-13
"""The search ends when the point moves by less than this fraction of the coordinates."""
MAX_ITERATIONS = 1000
"""Largest number of iterations of the active-set method."""
CLOSED = 1e-9
"""A gap below this fraction of its length, or of the way of half a step, is a contact."""
PLACE_ROUND_OFF = 64 * float(np.finfo(float).eps)
"""A gap without a length below this fraction of its coordinates is a contact: round-off of several operations.
Coordinates say where the origin is, and not how large anything is."""
GAP_ROUND_OFF = 4 * float(np.finfo(float).eps)
"""The round-off of a gap, as a fraction of the coordinates that it depends on."""
NOISE_LEVEL = 4 * float(np.finfo(float).eps)
"""The round-off of the rate of a gap, as a fraction of the velocities that it depends on."""


class Common(NamedTuple):
    """What all copies share."""

    force: Callable[[float, Array, Array, Array, Array], None]
    rows: Callable[[float, Array, Array, Array, Array], None]
    flat: bool
    """Whether the gaps are affine in q."""
    moving: bool
    """Whether the gaps depend on t."""
    length: Array
    """(m,) what the gaps are compared with, 0 for the coordinates."""
    root: Array
    """(d,) the inverse roots of the masses."""
    glide: Callable[..., int] | None = None
    """Does steps of flights without events, see `kernels.functions.glide_of`; None where it is not needed."""
    directions: Array = np.zeros((0, 1))
    """(tangents, k + 1) the changes of the k parameters and of the restitution that belong to the tangents."""
    renewed: bool = True
    """Whether tangents are made orthonormal."""


class Copies(NamedTuple):
    """The state of n copies."""

    numbers: Array
    """(n, 3): see `T`."""
    parameters: Array
    """(n, k)."""
    states: Array
    """(n, 3, d): see `Q`."""
    counts: Integers
    """(n, 3): see `DONE`."""
    touched: Array
    """(n, 2, m) the multipliers of the last step and, for Moreau and Jean, the largest gap of each contact since it
    closed (-inf: open). In flights, 1 in contacts at rest."""
    hits: Array
    """(n, number, 3) the last impacts, at their number modulo those that there is room for: see `MOMENT`."""
    tangents: Array
    """(n, tangents, 2 d + 1) vectors (dq, du), and the sums of the logarithms of their growth, which `fly`
    carries along."""
    grazing: Array
    """(n, 1 + tangents) the minimum of a gap that is closest to zero, and how it changes along the tangents."""
    escape: Array
    """(n,) the time at which a copy went to infinity, inf if it did not."""

    def copied(self) -> Copies:
        """New arrays for what the loops write into."""
        return Copies._make([*self[:2], *(array.copy() for array in self[2:])])

    def room_to_save(self, sections: int) -> Array:
        """(n, sections, 2 d) room for q and u at the ends of sections, NaN where a copy has stopped."""
        return np.full((len(self.states), sections, 2 * self.states.shape[2]), np.nan)


Moved = tuple[Copies, Array]
"""What `march` and `fly` return: the new state of the copies, and the saved sections."""
