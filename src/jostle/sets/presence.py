"""Which bodies are present: some wait to come in, some have gone.

All of them keep their numbers, radii and masses. Those that are not present are put aside, each at a place of its own
far from all others, and have no contacts and no velocity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import Array, Booleans, Integers, real
from jostle.errors import InvalidValue

WAITING, PRESENT, GONE = 0, 1, 2
SPACING = 8.0
"""Bodies that are not present are kept at least this many times the largest radius apart, because they may swell."""


@dataclass(frozen=True, eq=False)
class Presence:
    """Who is present: codes (n,) of WAITING, PRESENT and GONE, and where the others are kept (n, d)."""

    codes: Integers
    aside: Array
    start: float = 0.0
    """The time of the start."""
    entered: tuple[tuple[int, int], ...] = ()
    """(source, how many it let in)."""

    @staticmethod
    def of(q0: Array, present: ArrayLike, widest: float = 0.0) -> Presence:
        """At the start: those who are not present wait; widest is the largest radius."""
        here = real(present)
        if here is None:
            raise InvalidValue(f"present must be one True or False for each body, not {present!r}")
        if q0.ndim != 2 or here.shape != q0.shape[:1] or here.dtype != bool:
            raise InvalidValue(
                f"present must be one True or False for each body: it has shape {here.shape} and type {here.dtype}, q0 "
                f"has shape {q0.shape}"
            )
        return Presence(np.where(here, PRESENT, WAITING), _places(q0, here, widest))

    @property
    def here(self) -> Booleans:
        """(n,) who is there."""
        here: Booleans = self.codes == PRESENT
        return here

    @property
    def waiting(self) -> Integers:
        """The numbers of those who have not come in yet."""
        return np.flatnonzero(self.codes == WAITING)

    def changed(self, bodies: Booleans | Integers, code: int) -> Presence:
        """This presence with another code for some bodies."""
        codes = self.codes.copy()
        codes[bodies] = code
        return replace(self, codes=codes)

    def let_in(self, source: int, bodies: Integers) -> Presence:
        """This presence with some more bodies, which came in through this source."""
        counts = dict(self.entered)
        counts[source] = counts.get(source, 0) + len(bodies)
        return replace(self.changed(bodies, PRESENT), entered=tuple(counts.items()))

    def still(self, u: Array) -> Array:
        """u, or spins, zero for those who are not there."""
        return np.where(self.here[:, None] if u.ndim == 2 else self.here, u, 0.0)

    def placed(self, q: Array) -> Array:
        """q, with those who are not there put aside."""
        return np.where(self.here[:, None], q, self.aside)

    def both_here(self, pairs: Integers) -> Booleans:
        """(m,) which pairs, as in `Contacts.pairs`, are of two who are there, or of one of them and a wall."""
        here, (first, second) = self.here, pairs.T
        both: Booleans = here[first] & ((second < 0) | here[np.maximum(second, 0)])
        return both


def _places(q0: Array, here: Booleans, widest: float) -> Array:
    """One place for each absent body, beyond the lowest corner of those present and as far apart as they are.

    At random within a lattice, so that in a periodic space no two come to the same place, and none lies on a wall.
    """
    n, d = q0.shape
    some = q0[here] if here.any() else np.zeros((1, d))
    low, width = some.min(axis=0), max(float(np.ptp(some, axis=0).max()), SPACING * widest) or 1.0
    side = int(np.ceil(n ** (1.0 / d)))
    index = np.stack(np.unravel_index(np.arange(n), (side,) * d), axis=1)
    return np.asarray(low - width * (1.0 + 2.0 * index + np.random.default_rng(0).random((n, d))))
