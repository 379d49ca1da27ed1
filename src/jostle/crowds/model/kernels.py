"""What people do about the others near them, and how dense they are on a grid.

Two people i and j at q, of radii r, have the gap |q_j - q_i| - r_i - r_j and the normal n from i to j. `compiled`
computes these kernels; the tests have them in plain NumPy.
"""

from __future__ import annotations

from jostle._tools.arrays import Array, Booleans
from jostle.kernels.interface import kernel

IN_FILE, ASIDE = 0.375, 0.875
"""Distances aside from the direction of walking, in the width of both people, up to which somebody is in the same file,
and from which they are beside."""
NEAR, ALONE = 0.6, 1.0
"""Gaps (m) up to which somebody beside counts fully, and from which they do not count."""


@kernel("jostle.crowds.model.compiled")
def turned(q: Array, radii: Array, direction: Array, strength: float, decay: float, sight: float, chunks: int) -> Array:
    """(n, 2) the unit vectors along direction - sum of strength exp(-gap / decay) n; 0 where the sum or direction is 0.

    The sum is over all others whose gap is at most `sight`; Tordeux, Chraibi & Seyfried 2016, equation (5). `chunks`
    says how many threads share the work; it does not change the result.
    """
    raise NotImplementedError


@kernel("jostle.crowds.model.compiled")
def gaps_ahead(q: Array, radii: Array, direction: Array, sight: float, strip: float, chunks: int) -> Array:
    """(2, n) the smallest gap to a person ahead, and how much somebody is beside, from 0 to 1.

    Ahead are those whose centre is less than `strip` times both radii aside from the direction of walking; with
    strip = 1 their discs meet the strip of the own width. The gap is infinite if nobody is within a gap of `sight`, and
    does not count if both are ahead of the other on similar ways and the other has the walker straighter ahead.

    Somebody is beside as far as they are between IN_FILE and ASIDE from the direction of walking, times how far their
    gap is from ALONE to NEAR. `chunks` says how many threads share the work; it does not change the result.
    """
    raise NotImplementedError


@kernel("jostle.crowds.model.compiled")
def spread(amount: Array, east: Booleans, north: Booleans, part: float, passes: int) -> Array:
    """(nx, ny) an amount at the nodes after some passes, in each of which neighbours exchange part of what they have.

    Node (i, j) exchanges with (i + 1, j) where east[i, j], and with (i, j + 1) where north[i, j]; the last row of east
    and the last column of north are not used. This is the explicit scheme for the heat equation with walls that let
    nothing through: the sum stays, and far from walls a single amount becomes a Gaussian of variance 2 part passes.
    """
    raise NotImplementedError
