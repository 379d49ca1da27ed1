"""Basins of attraction: the periodic orbit on which each start ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, Positive, check_arguments
from jostle._tools.arrays import Array, Integers
from jostle.errors import InvalidValue
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli
from jostle.vibro.copies import ByEvents, Copies
from jostle.vibro.sections import sections

SAME_ORBIT = 20.0
"""Two copies are on the same orbit if their sections agree to within this multiple of the tolerance of one of them; two
copies at rest are at the same place to within this multiple of their motion during the sections that are compared."""
ESCAPES = -2
"""Label of copies that escape to infinity."""
MAX_ATTRACTORS = 1000
"""Largest number of orbits that are distinguished."""


class Attractor(NamedTuple):
    """A periodic orbit that copies end on, found by `basins`.

    Attributes
    ----------
    period : int
        Number of sections after which the orbit repeats itself.
    q : array, shape (period, d)
        Positions of the orbit at its sections.
    u : array, shape (period, d)
        Velocities of the orbit at its sections.
    members : int
        Number of copies that end on the orbit.

    Examples
    --------
    >>> import jostle as jo
    >>> rest = jo.vibro.Attractor(period=1, q=np.zeros((1, 1)), u=np.zeros((1, 1)), members=5)
    >>> rest.period, rest.q.tolist()
    (1, [[0.0]])
    """

    period: int
    q: Array
    u: Array
    members: int


@dataclass(frozen=True, eq=False)
class Basins:
    """The attractor on which each of n copies ends, found by `basins`.

    Attributes
    ----------
    label : array of int, shape (n,)
        Number of the attractor of each copy; -1 for a copy that does not repeat itself, -2 for one that escapes to
        infinity.
    attractors : tuple of Attractor
        The attractors, the one with the most members first.
    escape : array, shape (n,)
        Time at which a copy escapes; inf for copies that do not.

    Examples
    --------
    >>> import jostle as jo
    >>> found = jo.vibro.Basins(np.array([0, 0, -1]), (), np.full(3, np.inf))
    >>> found.share(0)
    0.6666666666666666
    """

    label: Integers
    attractors: tuple[Attractor, ...]
    escape: Array

    def share(self, number: int) -> float:
        """Return the fraction of the copies that end on an attractor.

        Parameters
        ----------
        number : int
            Number of the attractor; -1 for the copies that do not repeat themselves, -2 for those that escape.

        Returns
        -------
        float
            The fraction, between 0 and 1.
        """
        return float((self.label == number).mean())


@check_arguments
def basins(
    copies: Copies,
    scheme: ByEvents | Paoli | MoreauJean | None = None,
    *,
    period: ArrayLike,
    steps: Count,
    periods: Count,
    most: Count = 8,
    tol: Positive = 1e-5,
) -> Basins:
    """Find the periodic orbit on which each copy ends, or when it escapes to infinity.

    Parameters
    ----------
    copies : Copies
        The copies, with their starts.
    scheme : ByEvents, Paoli or MoreauJean, optional
        The scheme. None: `ByEvents`.
    period : float or array_like, shape (n,)
        Time between two sections, for all copies or for each copy.
    steps : int
        Number of time steps per period.
    periods : int
        Number of periods before copies are compared; more than 2 `most`.
    most : int, default 8
        Longest orbit that is recognised, in periods.
    tol : float, default 1e-5
        How closely a section must come back, as a fraction of the motion of its copy during one period. A copy that is
        further away from its orbit counts as one that does not repeat itself. Copies at rest are found
        by `Sections.at_rest`.

    Returns
    -------
    Basins
        The attractor of each copy.

    Examples
    --------
    >>> import jostle as jo
    >>> def two_wells(t, q, u, parameters):
    ...     return q[0] - q[0] ** 3 - 0.5 * u[0]
    >>> copies = jo.vibro.Copies(q0=[[-1.5], [-0.5], [0.5]], force=two_wells)
    >>> found = jo.vibro.basins(copies, period=1.0, steps=10, periods=80)
    >>> found.label.tolist(), [one.q.round(3).tolist() for one in found.attractors]
    ([0, 0, 1], [[[-1.0]], [[1.0]]])
    """
    kept = 2 * most
    if periods <= kept:
        raise InvalidValue(f"periods must exceed {kept}, twice the longest orbit (most={most}), not {periods}")
    seen = sections(copies, scheme, period=period, steps=steps, periods=periods, skip=periods - kept)
    x, repeats, extent = seen.points, seen.periods(most, tol), seen.extent[:, 1]
    approach = np.maximum(np.ptp(x, axis=1).max(axis=1), extent)
    apart = SAME_ORBIT * np.maximum(np.where(seen.at_rest(tol), approach, tol * extent), seen.noise)
    label = np.full(len(copies), -1)
    found: list[tuple[int, int, int]] = []
    for p in range(1, most + 1):
        left = np.flatnonzero(repeats == p)
        while len(left) and len(found) < MAX_ATTRACTORS:
            one = left[0]
            shifts = [np.abs(x[left, -p:] - np.roll(x[one, -p:], k, axis=0)).max(axis=(1, 2)) for k in range(p)]
            same = np.min(shifts, axis=0) <= np.maximum(apart[left], apart[one])
            label[left[same]] = len(found)
            found.append((int(same.sum()), p, one))
            left = left[~same]
    order = sorted(range(len(found)), key=lambda k: -found[k][0])
    number = np.empty(len(found) + 1, dtype=np.int64)
    number[order], number[-1] = np.arange(len(found)), -1
    attractors = tuple(
        Attractor(p, seen.q[one, -p:], seen.u[one, -p:], size) for size, p, one in (found[k] for k in order)
    )
    return Basins(np.where(np.isfinite(seen.escape), ESCAPES, number[label]), attractors, seen.escape)
