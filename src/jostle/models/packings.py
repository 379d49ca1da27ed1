"""Random close packings: balls that grow until they jam.

The method begins like that of O'Hern, Silbert, Liu & Nagel (2003): random points, and descent of the overlap with
smaller and smaller radii. It ends like that of Torquato & Jiao (2010): the largest growth s of all radii that the
linearised gaps allow,

    min 1/2 |u|^2 + k/2 (s - S)^2   subject to   g + G u - (r_i + r_j) s >= 0.

This is a projection of (0, S), with the growth as an additional coordinate. No iterate overlaps. The multipliers are
contact forces: when s = 0 they balance on every ball, G^T p = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Natural, check_arguments
from jostle._tools.arrays import Array, Integers, finite
from jostle.convex.linear_map import Sparse
from jostle.convex.polyhedron import Polyhedron
from jostle.convex.projection import Projection
from jostle.errors import InvalidValue, NotConverged
from jostle.models.separate import BALANCE_TOLERANCE, MIN_SEARCH_RADIUS, descend, largest
from jostle.models.starts import Cell, Ends, ball_volume, cell
from jostle.sets.balls import body_radii
from jostle.sets.contacts import Contacts
from jostle.solvers.gauss_seidel import GaussSeidel
from jostle.solvers.project import require

INITIAL_FRACTIONS = {2: 0.86, 3: 0.66}
"""Packing fraction at the start, by dimension, with overlaps counted twice: a little more than in the final packing."""
MAX_DESCENT_OVERLAP = 3e-3
"""Mean overlap per ball, in mean radii, at which the descent ends and the projections begin."""
SHRINK_DIVISOR = 6.0
"""Radii shrink by the mean overlap divided by this number; the overlap falls three to five times as much."""
GROWTH_FACTOR = 1.1
"""Factor by which the radii grow if nothing overlaps at the start."""
TARGET_GROWTH = 1e-2
"""S, the target growth of the radii in each projection."""
GROWTH_WEIGHT = 1e3
"""k, the weight of the growth against displacements, in units of n r^2."""
RELATIVE_TOLERANCE = 0.05
"""Tolerance of a projection, as a fraction of the growth in the projection before it."""
MAX_TOLERANCE = 1e-4
"""Largest tolerance of a projection, in radii."""
MAX_PROJECTIONS = 500
"""Largest number of projections."""
MIN_RELATIVE_FORCE = 1e-6
"""A contact belongs to the packing if its force is more than this fraction of the largest force."""


class Packing(NamedTuple):
    """Balls that can grow no further, and the contacts that hold them."""

    q: Array
    """(n, d) positions, not wrapped into the period."""
    radii: Array
    """(n,) radii."""
    pairs: Integers
    """(m, 2) contacts that carry a force: two balls, or a ball and a wall, as in `Contacts.pairs`."""
    forces: Array
    """(m,) contact forces with mean 1, which balance on each ball."""


@check_arguments
def random_close_packing(
    radii: ArrayLike,
    *,
    box: Ends | None = None,
    period: ArrayLike | None = None,
    seed: Natural | np.random.Generator = 0,
    tol: float = 1e-6,
) -> Packing:
    """Balls with given relative radii, jammed at random in a box or in a periodic space, in 2-D or 3-D.

    No two balls overlap, and the radii are the largest possible up to the relative error `tol`. In a large periodic
    space equal spheres fill 0.64 of the volume; equal numbers of discs of radii 1 and 1.4 fill 0.84 of the area (equal
    discs partly crystallise). The packing is isostatic: in a periodic space the N balls that are not rattlers have
    2 d (1 - 1/N) + 2/N contacts each on average.

    Parameters
    ----------
    radii : array_like, shape (n,)
        Radii of the balls up to a common factor, positive.
    box : pair of array_like, shape (d,), optional
        Lower and upper corner of the box. None means that every axis has a period.
    period : float or array_like, shape (d,), optional
        Period along each axis, infinite for an axis with walls. None means walls along every axis.
    seed : int or numpy.random.Generator, default 0
        Source of the random positions at the start.
    tol : float, default 1e-6
        Relative growth of the radii in one projection below which the packing counts as jammed, between 0 and 1.

    Returns
    -------
    Packing
        Named tuple (q, radii, pairs, forces): the positions (n, d), not wrapped into the period; the radii (n,); the
        contacts (m, 2) that carry a force, as in `Contacts.pairs`; and their forces (m,), with mean 1, which balance on
        each ball.

    Raises
    ------
    NotConverged
        If the radii still grow by more than `tol` after 500 projections.

    Examples
    --------
    >>> packing = random_close_packing(np.repeat([1.0, 1.4], 30), period=[1.0, 1.0])
    >>> bool(0.78 < np.pi * (packing.radii**2).sum() < 0.87)
    True
    """
    space = cell(box, period)
    d = len(space.lower)
    if d not in INITIAL_FRACTIONS:
        raise InvalidValue(f"random_close_packing is for discs and spheres, in dimension 2 or 3, not {d}")
    if not 0.0 < tol < 1.0:
        raise InvalidValue(f"tol must lie between 0 and 1, not {tol}")
    size = finite(radii, "radii")
    size = body_radii(size, size.size, 0.0)
    random = np.random.default_rng(seed)
    q = space.lower + random.random((len(size), d)) * (space.upper - space.lower)
    size = size * (INITIAL_FRACTIONS[d] * space.volume / ball_volume(size, d)) ** (1.0 / d)
    q, size = _quenched(space, q, size)
    return _jammed(space, q, size, tol)


def _quenched(space: Cell, q: Array, radii: Array) -> tuple[Array, Array]:
    """Points and radii after relaxation: the radii shrink until the balls overlap only a little."""
    expected, overlaps = 0.1, False
    while True:
        mean = float(radii.mean())
        q = descend(space.within(radii), q, expected * mean)
        overlap = -float(np.minimum(space.within(radii).linearise(0.0, q, 0.0).gap, 0.0).sum()) / (len(q) * mean)
        if overlap <= BALANCE_TOLERANCE * expected and not overlaps:
            radii = GROWTH_FACTOR * radii
        elif overlap <= MAX_DESCENT_OVERLAP:
            return q, radii
        else:
            overlaps, expected = True, 0.3 * overlap
            radii = radii * (1.0 - overlap / SHRINK_DIVISOR)


def _jammed(space: Cell, q: Array, radii: Array, tol: float) -> Packing:
    """The radii as large as they can be without overlap: a sequence of projections."""
    radii = radii * (1.0 + _spare(space, q, radii, 0.0))
    s = TARGET_GROWTH
    for _ in range(MAX_PROJECTIONS):
        contacts, P = _grown(space, q, radii, min(MAX_TOLERANCE, RELATIVE_TOLERANCE * s))
        u, s = P.point[:-1].reshape(q.shape), float(P.point[-1])
        closer = 2.0 * (largest(u) + s * float(radii.max()))
        part = min(1.0, float(contacts.reach) / closer)
        q = q + part * u
        radii = radii * (1.0 + _spare(space, q, radii, part * s))
        if part == 1.0 and s <= tol:
            forces = P.multipliers
            carry = np.flatnonzero(forces > MIN_RELATIVE_FORCE * forces.max(initial=0.0))
            return Packing(q, radii, contacts.pairs[carry], forces[carry] / forces[carry].mean())
        s = max(s, tol)
    raise NotConverged(
        f"after {MAX_PROJECTIONS} projections the radii still grow by {s:.1e} in each; increase tol = {tol:.1e}"
    )


def _grown(space: Cell, q: Array, radii: Array, tol: float) -> tuple[Contacts, Projection]:
    """The projection of (0, S): the displacements u of all balls, and the growth s."""
    from scipy.sparse import csr_array, hstack

    contacts = space.within(radii).linearise(0.0, q, MIN_SEARCH_RADIUS * float(radii.max()))
    column = csr_array(-_sums(contacts, radii)[:, None])
    K = Polyhedron(
        Sparse(csr_array(hstack([contacts.G.tocsr(), column]))), contacts.gap,
        length=contacts.length, describe=contacts.describe, noise=contacts.noise,
    )  # fmt: skip
    wished = np.append(np.zeros(q.size), TARGET_GROWTH)
    mass = np.append(np.ones(q.size), GROWTH_WEIGHT * len(q) * float((radii**2).mean()))
    solver = GaussSeidel(tol=tol)
    return contacts, require(solver.project(wished, K, mass), solver)


def _spare(space: Cell, q: Array, radii: Array, most: float) -> float:
    """Relative amount by which all radii can grow without overlap (negative: must shrink), at most `most`."""
    contacts = space.within(radii).linearise(0.0, q, MIN_SEARCH_RADIUS * float(radii.max()))
    return float((contacts.gap / _sums(contacts, radii)).min(initial=most))


def _sums(contacts: Contacts, radii: Array) -> Array:
    """(m,) r_i + r_j, or r_i at a wall: the rate at which each gap closes when the radii grow."""
    i, j = contacts.pairs.T
    return np.asarray(radii[i] + np.where(j >= 0, radii[np.maximum(j, 0)], 0.0))
