"""The impacts of a run, as its solution lists them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle._tools.arrays import Array, Integers
from jostle.bodies import POINTS, Bodies


def impact_type(d: int = 0) -> np.dtype[Any]:
    """The type of a record of one impact; d is the dimension of its impulse of friction, 0 without friction.

    >>> impact_type().names
    ('t', 'pair', 'before', 'after', 'impulse', 'moment')
    """
    fields: list[Any] = [("t", float), ("pair", np.int64, (2,))]
    fields += [(name, float) for name in ("before", "after", "impulse", "moment")]
    return np.dtype(fields + ([("tangential", float, (d,))] if d else []))


@dataclass(frozen=True, eq=False)
class Impacts:
    """The impacts of a run: contacts that closed with a jump of the velocity, in order of time.

    The schemes spread an impact over two steps. `after` is the rate after the second of them, and `impulse` is what the
    contact gave in both: the jump of the momentum, and what balances the forces meanwhile. A ball of mass m that falls
    on a floor gets m (after - before) + 2 h m g. Piles make many small impacts: `sol.impacts(speed=...)` leaves them
    out.

    `moment` has an error of order h^2 against the motion that the scheme computes, and none for a plane and a constant
    force; the error of the scheme itself comes on top, which is of order h for `Maury`, and for all schemes after the
    first impact.

    Attributes
    ----------
    t : array, shape (k,)
        Time that the step of each impact led to.
    pairs : array of int, shape (k, 2)
        Who met: (i, j) two bodies, (i, -1 - w) body i and wall w, (-1, c) constraint c. In `Clumps` i and j are numbers
        of balls, counted through all clumps.
    before : array, shape (k,)
        Rate of the gap before the impact; negative where the bodies approach.
    after : array, shape (k,)
        Rate of the gap after the impact.
    impulse : array, shape (k,)
        Impulse of the contact in the two steps of the impact.
    moment : array, shape (k,)
        Time inside the step at which the gap closed along a free flight; for `Paoli` with e > 0 a little before the
        step.
    tangential : array, shape (k, d), or None
        Impulse of friction on the second body or the wall in the two steps of the impact; None without friction.
    bodies : Bodies
        The bodies of the run, which say what a body is called.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> hits = jo.solve(ball, jo.MoreauJean(), t=0.9, h=0.08).impacts()
    >>> hits.t.round(9).tolist(), hits.moment.round(9).tolist()
    ([0.56], [0.5])
    >>> float((hits.impulse - (hits.after - hits.before))[0].round(9))         # 2 h m g
    1.6
    """

    t: Array
    pairs: Integers
    before: Array
    after: Array
    impulse: Array
    moment: Array
    tangential: Array | None = None
    bodies: Bodies = POINTS

    @classmethod
    def of(cls, records: NDArray[Any], bodies: Bodies = POINTS) -> Impacts:
        """The impacts of records, see `impact_type`."""
        columns: list[Any] = [np.ascontiguousarray(records[name]) for name in records.dtype.names or ()]
        return replace(cls(*columns), bodies=bodies)

    @property
    def records(self) -> NDArray[Any]:
        """The impacts as records, see `impact_type`."""
        found = np.zeros(len(self.t), dtype=impact_type(0 if self.tangential is None else self.tangential.shape[1]))
        for name in found.dtype.names or ():
            found[name] = getattr(self, {"pair": "pairs"}.get(name, name))
        return found

    def blocks(self) -> Iterator[Impacts]:
        """The impacts block by block: all at once in memory, some at a time from a file."""
        yield self

    def faster_than(self, speed: float) -> Impacts:
        """The impacts whose gaps closed faster than this speed."""
        return Impacts.of(self.records[-self.before > speed], self.bodies)

    def __len__(self) -> int:
        return len(self.t)

    def __iter__(self) -> Iterator[tuple[float, tuple[int, int], float, float, float]]:
        for k in range(len(self)):
            i, j = (int(body) for body in self.pairs[k])
            yield float(self.t[k]), (i, j), float(self.before[k]), float(self.after[k]), float(self.impulse[k])

    def __str__(self) -> str:
        names = [self.bodies.pair_name(i, j) for i, j in self.pairs.tolist()]
        width = max([10, *map(len, names)])
        lines = [f"{len(self)} impact{'s' * (len(self) != 1)}"]
        lines.append(f"         t  {'pair':{width}s}    before     after   impulse")
        for name, (t, _, before, after, impulse) in zip(names, self, strict=True):
            lines.append(f"{t:10.4f}  {name:{width}s} {before:9.4f} {after:9.4f} {impulse:9.4f}")
        return "\n".join(lines)
