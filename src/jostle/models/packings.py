"""Random close packings: balls that swell until they jam.

The protocol of O'Hern, Silbert, Liu & Nagel (2003), random points and descent of the overlap, with smaller and smaller
radii, and at the end that of Torquato & Jiao (2010), the largest growth s of all radii that the linearised gaps allow:

    min 1/2 |u|^2 + k/2 (s - S)^2   subject to   g + G u - (r_i + r_j) s >= 0,

a projection again, of (0, S), with the growth as one coordinate more. No iterate overlaps. The multipliers are contact
forces: when s = 0 they balance on every ball, G^T p = 0, and there are as many as it takes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import Natural, check_arguments
from jostle.arrays import Array, Integers, finite
from jostle.convex.maps import Sparse
from jostle.convex.polyhedron import Polyhedron
from jostle.convex.projection import Projection
from jostle.errors import InvalidValue, NotConverged
from jostle.models.separate import BALANCED, NEAR, descend, largest
from jostle.models.starts import Cell, Ends, ball_volume, cell
from jostle.sets.contacts import Contacts
from jostle.sets.radii import body_radii
from jostle.solvers.gauss_seidel import GaussSeidel
from jostle.solvers.project import require

FILLED = {2: 0.86, 3: 0.66}
"""The part of space that the overlapping balls fill at first, overlaps counted twice: a little more than at the end."""
SOFT = 3e-3
"""Up to this overlap a ball, as a part of the mean radius, radii shrink; then come the projections."""
SHRINK = 6.0
"""Radii shrink by the overlap over this: the overlap falls three to five times as much, never all of it at once."""
GROW = 1.1
"""Radii grow by this factor if nothing overlaps at first."""
GROWTH = 1e-2
"""S, the growth that is wished for in each projection,"""
PUSH = 1e3
"""and k, in units of n r^2: how much displacement it is worth."""
PRECISE = 0.05
"""The projections are solved up to this part of the last growth,"""
COARSEST = 1e-4
"""and at least up to this part of a radius."""
PROJECTIONS = 500
CARRIES = 1e-6
"""A contact carries if its force is more than this part of the largest."""


class Packing(NamedTuple):
    """Balls that can grow no further, and the contacts that hold them."""

    q: Array
    """(n, d) positions; with a period they are not wrapped."""
    radii: Array
    """(n,) radii."""
    pairs: Integers
    """(m, 2) the contacts that carry a force: two balls, or a ball and a wall, as in `Contacts.pairs`."""
    forces: Array
    """(m,) their forces, one on average. They balance on each ball."""


@check_arguments
def random_close_packing(
    radii: ArrayLike,
    *,
    box: Ends | None = None,
    period: ArrayLike | None = None,
    seed: Natural | np.random.Generator = 0,
    tol: float = 1e-6,
) -> Packing:
    """Balls with these relative radii, jammed at random in a box or a periodic space, in 2-D or 3-D.

    No two balls overlap, and the radii are largest, up to the part `tol` by which the last projection let them grow.
    In a large periodic space equal spheres fill 0.64 of it, discs of two sizes, 1 and 1.4, as many of each, 0.84 (equal
    discs crystallise in part). They have as many contacts as it takes to hold them, 2 d (1 - 1/N) + 2/N for each of the
    N balls that are no rattlers.

    >>> packing = random_close_packing(np.repeat([1.0, 1.4], 30), period=[1.0, 1.0])
    >>> bool(0.78 < np.pi * (packing.radii**2).sum() < 0.87)
    True
    """
    space = cell(box, period)
    d = len(space.lower)
    if d not in FILLED:
        raise InvalidValue(f"random_close_packing is for discs and spheres, in dimension 2 or 3, not {d}")
    if not 0.0 < tol < 1.0:
        raise InvalidValue(f"tol must lie between 0 and 1, not {tol}")
    size = finite(radii, "radii")
    size = body_radii(size, size.size, 0.0)
    random = np.random.default_rng(seed)
    q = space.lower + random.random((len(size), d)) * (space.upper - space.lower)
    size = size * (FILLED[d] * space.volume / ball_volume(size, d)) ** (1.0 / d)
    q, size = _quenched(space, q, size)
    return _jammed(space, q, size, tol)


def _quenched(space: Cell, q: Array, radii: Array) -> tuple[Array, Array]:
    """The points relaxed, and the radii shrunk until the balls overlap a little only."""
    expected, overlaps = 0.1, False
    while True:
        mean = float(radii.mean())
        q = descend(space.within(radii), q, expected * mean)
        overlap = -float(np.minimum(space.within(radii).linearise(0.0, q, 0.0).gap, 0.0).sum()) / (len(q) * mean)
        if overlap <= BALANCED * expected and not overlaps:
            radii = GROW * radii
        elif overlap <= SOFT:
            return q, radii
        else:
            overlaps, expected = True, 0.3 * overlap
            radii = radii * (1.0 - overlap / SHRINK)


def _jammed(space: Cell, q: Array, radii: Array, tol: float) -> Packing:
    """The radii as large as they can be without overlap: a sequence of projections."""
    radii = radii * (1.0 + _spare(space, q, radii, 0.0))
    s = GROWTH
    for _ in range(PROJECTIONS):
        contacts, P = _grown(space, q, radii, min(COARSEST, PRECISE * s))
        u, s = P.point[:-1].reshape(q.shape), float(P.point[-1])
        closer = 2.0 * (largest(u) + s * float(radii.max()))
        part = min(1.0, float(contacts.reach) / closer)
        q = q + part * u
        radii = radii * (1.0 + _spare(space, q, radii, part * s))
        if part == 1.0 and s <= tol:
            forces = P.multipliers
            carry = np.flatnonzero(forces > CARRIES * forces.max(initial=0.0))
            return Packing(q, radii, contacts.pairs[carry], forces[carry] / forces[carry].mean())
        s = max(s, tol)
    raise NotConverged(
        f"after {PROJECTIONS} projections the radii still grow by {s:.1e} in each; loosen tol, {tol:.1e}"
    )


def _grown(space: Cell, q: Array, radii: Array, tol: float) -> tuple[Contacts, Projection]:
    """The projection of (0, S): the displacements u of all balls, and the growth s."""
    from scipy.sparse import csr_array, hstack

    contacts = space.within(radii).linearise(0.0, q, NEAR * float(radii.max()))
    column = csr_array(-_sums(contacts, radii)[:, None])
    K = Polyhedron(
        Sparse(csr_array(hstack([contacts.G.tocsr(), column]))), contacts.gap,
        length=contacts.length, describe=contacts.describe, noise=contacts.noise,
    )  # fmt: skip
    wished = np.append(np.zeros(q.size), GROWTH)
    mass = np.append(np.ones(q.size), PUSH * len(q) * float((radii**2).mean()))
    solver = GaussSeidel(tol=tol)
    return contacts, require(solver.project(wished, K, mass), solver)


def _spare(space: Cell, q: Array, radii: Array, most: float) -> float:
    """The part by which all radii can grow where they are, or must shrink; at most so much."""
    contacts = space.within(radii).linearise(0.0, q, NEAR * float(radii.max()))
    return float((contacts.gap / _sums(contacts, radii)).min(initial=most))


def _sums(contacts: Contacts, radii: Array) -> Array:
    """(m,) r_i + r_j, or r_i at a wall: how fast a gap closes when the radii grow."""
    i, j = contacts.pairs.T
    return np.asarray(radii[i] + np.where(j >= 0, radii[np.maximum(j, 0)], 0.0))
