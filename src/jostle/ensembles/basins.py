"""Basins of attraction: which starts end on which periodic orbit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import Count, Positive, check_arguments
from jostle.arrays import Array, Integers
from jostle.ensembles.copies import Copies
from jostle.ensembles.marching import ByEvents
from jostle.ensembles.sections import sections
from jostle.errors import InvalidValue
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli

SAME_ORBIT = 20.0
"""Two copies are on the same orbit if their sections agree up to this multiple of the tolerance of a repetition."""
MAX_ATTRACTORS = 1000
"""Largest number of orbits that are told apart."""


class Attractor(NamedTuple):
    """A periodic orbit that copies end on.

    >>> import jostle as jo
    >>> rest = jo.ensembles.Attractor(period=1, q=np.zeros((1, 1)), u=np.zeros((1, 1)), members=5)
    >>> rest.period, rest.q.tolist()
    (1, [[0.0]])
    """

    period: int
    """After how many sections it repeats itself."""
    q: Array
    """(period, d) positions of its sections."""
    u: Array
    """(period, d) velocities."""
    members: int
    """Number of copies that end on it."""


@dataclass(frozen=True, eq=False)
class Basins:
    """Where n copies end: each on one of the attractors, or on none that repeats itself.

    >>> import jostle as jo
    >>> found = jo.ensembles.Basins(np.array([0, 0, -1]), ())
    >>> found.share(0)
    0.6666666666666666
    """

    label: Integers
    """(n,) the number of the attractor, the one with most members first; -1 for a copy that does not repeat itself."""
    attractors: tuple[Attractor, ...]

    def share(self, number: int) -> float:
        """The part of the copies that end on this attractor."""
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
    """Which periodic orbit each copy ends on, after `periods` periods of `steps` steps.

    Orbits of up to `most` periods are told apart. `tol` is how well a section must come back, as a part of the extent
    of all sections; a copy that is not that near to its orbit yet counts as one that does not repeat itself.

    >>> import jostle as jo
    >>> def two_wells(t, q, u, parameters):
    ...     return q[0] - q[0] ** 3 - 0.5 * u[0]
    >>> copies = jo.ensembles.Copies(q0=[[-1.5], [-0.5], [0.5]], force=two_wells)
    >>> found = jo.ensembles.basins(copies, period=1.0, steps=10, periods=80)
    >>> found.label.tolist(), [one.q.round(3).tolist() for one in found.attractors]
    ([0, 0, 1], [[[-1.0]], [[1.0]]])
    """
    kept = 2 * most
    if periods <= kept:
        raise InvalidValue(f"periods must exceed {kept}, twice the longest orbit that is looked for, not {periods}")
    seen = sections(copies, scheme, period=period, steps=steps, periods=periods, skip=periods - kept)
    both = np.concatenate([seen.q, seen.u], axis=2)
    extent = float(np.ptp(both, axis=(0, 1)).max(initial=0.0)) or 1.0
    repeats = seen.periods(most, tol)
    label = np.full(len(copies), -1)
    found: list[tuple[int, int, Array]] = []
    for p in range(1, most + 1):
        left = np.flatnonzero(repeats == p)
        while len(left) and len(found) < MAX_ATTRACTORS:
            orbit = both[left[0], -p:]
            shifts = [np.abs(both[left, -p:] - np.roll(orbit, k, axis=0)).max(axis=(1, 2)) for k in range(p)]
            same = np.min(shifts, axis=0) <= SAME_ORBIT * tol * extent
            label[left[same]] = len(found)
            found.append((int(same.sum()), p, orbit))
            left = left[~same]
    order = sorted(range(len(found)), key=lambda k: -found[k][0])
    number = np.empty(len(found) + 1, dtype=np.int64)
    number[order], number[-1] = np.arange(len(found)), -1
    d = copies.q0.shape[1]
    attractors = tuple(Attractor(found[k][1], found[k][2][:, :d], found[k][2][:, d:], found[k][0]) for k in order)
    return Basins(number[label], attractors)
