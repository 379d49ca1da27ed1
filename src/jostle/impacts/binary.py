"""Sequences of binary impacts: one contact at a time, u+ = u- - (1 + e) (G_i u-) / (G_i M^-1 G_i^T) M^-1 G_i^T.

An impact takes place in one of the contacts that approach, until none does. Where several contacts approach, their
order is a choice, and other orders can have other results (Nguyen & Brogliato 2018; Bourdin & Maury 2020, section 1).
`binary_impacts` follows all orders. `impacts_by_times` takes the order that small gaps give: the bodies fly straight in
between, so that only the ratios of the gaps matter.

For e = 1 every impact moves u towards the cone C of admissible velocities. For e < 1 infinitely many impacts can follow
each other; their limit is reached up to round-off, or the sequence is cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, check_arguments
from jostle._tools.arrays import Array, finite
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Cone
from jostle.errors import InvalidValue
from jostle.impacts.contacts import Meeting, meeting
from jostle.laws import Restitution
from jostle.problems import Motion

SAME_RATES = 1e-10
"""Gap rates that differ by less than this fraction of the largest one before the impact are the same."""
AT_REST = 4.0
"""Contacts that approach by less than this multiple of `SAME_RATES` are at rest."""
SAME_END = 100.0
"""Outcomes whose gap rates differ by less than this multiple of `SAME_RATES` are the same."""
MAX_IMPACTS = 1000
"""Largest number of impacts of one sequence, unless another is asked for."""
MAX_STATES = 5000
"""Largest number of velocities that are followed in all orders, unless another is asked for."""
MAX_CONTINUED = 50
"""Largest number of sequences that are followed to their end after the search in all orders was cut."""


@dataclass(frozen=True, eq=False)
class Sequence:
    """Impacts of single contacts, one after the other.

    Attributes
    ----------
    rows : tuple of int
        Number of the contact of each impact.
    velocity : array
        The velocity after the last impact.
    impulse : array, shape (m,)
        Sum of the impulses of each contact.
    finished : bool
        True if no contact approaches any more; False if the sequence was cut.

    Examples
    --------
    >>> import jostle as jo
    >>> row = jo.Motion(q0=[0.0, 1.0, 2.0], v0=[1.0, 0.0, 0.0], within=jo.Line([0.5] * 3), law=jo.Restitution(1.0))
    >>> one = jo.impacts.impacts_by_times(row, gaps=[1.0, 1.0])
    >>> one.rows, one.velocity.tolist(), one.impulse.tolist(), one.finished
    ((0, 1), [0.0, 0.0, 1.0], [1.0, 1.0], True)
    """

    rows: tuple[int, ...]
    velocity: Array
    impulse: Array
    finished: bool


@dataclass(frozen=True, eq=False)
class BinaryImpacts:
    """All results that sequences of binary impacts can have, with a shortest sequence for each.

    Attributes
    ----------
    outcomes : tuple of Sequence
        One sequence for each velocity after the impacts.
    complete : bool
        True if all orders were followed to their end; False if some were cut, and there may be other outcomes.
    states : int
        Number of different velocities that were met.

    Examples
    --------
    >>> import jostle as jo
    >>> row = jo.Motion(q0=[0.0, 1.0, 2.0], v0=[1.0, 0.0, -1.0], within=jo.Line([0.5] * 3), law=jo.Restitution(0.0))
    >>> found = jo.impacts.binary_impacts(row)
    >>> found.complete, found.states, [(abs(one.velocity) < 1e-9).all().item() for one in found.outcomes]
    (True, 67, [True])
    """

    outcomes: tuple[Sequence, ...]
    complete: bool
    states: int


@check_arguments
def impacts_by_times(
    before: Motion | Meeting | ArrayLike,
    cone: Cone | None = None,
    *,
    gaps: ArrayLike,
    law: Restitution | None = None,
    mass: ArrayLike | Metric | None = None,
    max_impacts: Count = MAX_IMPACTS,
) -> Sequence:
    """Binary impacts in the order of their times, for contacts that are apart by small gaps.

    The bodies move straight between impacts, with the normals of the given configuration: it is the limit of gaps that
    shrink while their ratios stay. Impacts at the same time take place in the order of the rows.

    Parameters
    ----------
    before, cone : Motion, Meeting or array_like, Cone
        The velocity before the impact and the contacts, as for `compare`.
    gaps : array_like, shape (m,)
        Gap of each contact, 0 or more; only the ratios matter.
    law, mass : Restitution, array_like or Metric
        The law and the masses, if `before` is a velocity, as for `compare`.
    max_impacts : int, default 1000
        Largest number of impacts.

    Returns
    -------
    Sequence
        The impacts, and the velocity after the last one.

    Examples
    --------
    >>> import jostle as jo
    >>> row = jo.Motion(q0=[0.0, 1.0, 2.0], v0=[1.0, 0.0, 0.0], within=jo.Line([0.5] * 3), law=jo.Restitution(0.5))
    >>> (64 * jo.impacts.impacts_by_times(row, gaps=[1.0, 1.0]).velocity).tolist()
    [13.0, 15.0, 36.0]
    """
    one = meeting(before, cone, law, mass)
    apart = finite(gaps, "gaps")
    if apart.shape != one.rates.shape or (apart < 0.0).any():
        raise InvalidValue(f"gaps must be {len(one.rates)} numbers, one for each contact, 0 or more")
    return by_times(one, apart, max_impacts)


def by_times(one: Meeting, gaps: Array, max_impacts: int) -> Sequence:
    """`impacts_by_times` for contacts that were checked."""
    gap, rate, impulse = gaps.copy(), one.rates.copy(), np.zeros(len(gaps))
    rows: list[int] = []
    for _ in range(max_impacts + 1):
        closing = np.flatnonzero(rate < -one.noise)
        if len(closing) == 0:
            return Sequence(tuple(rows), one.after(impulse), impulse, True)
        if len(rows) == max_impacts:
            break
        flights = gap[closing] / -rate[closing]
        row = int(closing[np.argmin(flights)])
        gap = np.maximum(gap + flights.min() * rate, 0.0)
        p = -(1.0 + one.e[row]) * rate[row] / one.delassus[row, row]
        rate, gap[row], impulse[row] = rate + p * one.delassus[:, row], 0.0, impulse[row] + p
        rows.append(row)
    return Sequence(tuple(rows), one.after(impulse), impulse, False)


@check_arguments
def binary_impacts(
    before: Motion | Meeting | ArrayLike,
    cone: Cone | None = None,
    *,
    law: Restitution | None = None,
    mass: ArrayLike | Metric | None = None,
    max_impacts: Count = MAX_IMPACTS,
    max_states: Count = MAX_STATES,
) -> BinaryImpacts:
    """The results of binary impacts in all orders: any contact that approaches may be the next.

    Velocities that were met before are followed once. After `max_states` velocities only a few sequences go on, without
    branching, and after `max_impacts` impacts sequences are cut; then `complete` is False, and outcomes may be missing.

    Parameters
    ----------
    before, cone, law, mass : Motion or array_like, Cone, Restitution, Metric
        The velocity before the impact, the contacts and the masses, as for `compare`.
    max_impacts : int, default 1000
        Largest number of impacts of one sequence.
    max_states : int, default 5000
        Number of velocities after which sequences do not branch any more.

    Returns
    -------
    BinaryImpacts
        One sequence for each result.

    Examples
    --------
    >>> import jostle as jo
    >>> corner = jo.convex.Cone([[0.0, 1.0], [0.8, -0.6]])                   # a wedge: two orders, two results
    >>> found = jo.impacts.binary_impacts([-1.0, -0.2], corner)
    >>> [(one.rows, one.velocity.round(6).tolist()) for one in found.outcomes]
    [((1, 0, 1), [0.95072, 0.36896]), ((0, 1, 0, 1), [0.73568, 0.70624])]
    """
    one = meeting(before, cone, law, mass)
    unit = SAME_RATES * (np.abs(one.rates).max(initial=0.0) or 1.0)
    met, ends = _Met(unit, len(one.rates)), _Met(SAME_END * unit, len(one.rates))
    met.add(one.rates)
    waiting: list[tuple[tuple[int, ...], Array]] = [((), np.zeros(len(one.rates)))]
    outcomes: list[Sequence] = []
    complete = True
    while waiting:
        if len(met) >= max_states:
            complete, waiting = False, waiting[:MAX_CONTINUED]
        following, waiting = waiting, []
        for rows, impulse in following:
            rate = one.rates + one.delassus @ impulse
            closing = np.flatnonzero(rate < -np.maximum(one.noise, AT_REST * unit))
            if len(closing) == 0:
                if ends.add(rate):
                    outcomes.append(Sequence(rows, one.after(impulse), impulse, True))
                continue
            if len(met) >= max_states:  # from here on sequences go on, but do not branch
                closing = closing[:1]
            if len(rows) == max_impacts:
                complete = False
                continue
            for row in closing.tolist():
                more = impulse.copy()
                more[row] -= (1.0 + one.e[row]) * rate[row] / one.delassus[row, row]
                if met.add(one.rates + one.delassus @ more):
                    waiting.append(((*rows, row), more))
    return BinaryImpacts(tuple(outcomes), complete, len(met))


class _Met:
    """Gap rates that were met, up to a unit. They are looked up by one number, a fixed mean of their entries."""

    def __init__(self, unit: float, size: int):
        self.unit = unit
        weights = np.random.default_rng(0).uniform(0.5, 1.0, size)
        self.weights = weights / max(weights.sum(), 1.0)
        self.known: dict[int, list[Array]] = {}
        self.count = 0

    def add(self, rate: Array) -> bool:
        """Remember gap rates; False if they were met before."""
        key = int(np.floor(self.weights @ rate / self.unit))
        near = (each for k in (key - 1, key, key + 1) for each in self.known.get(k, ()))
        if any(np.abs(each - rate).max(initial=0.0) <= self.unit for each in near):
            return False
        self.known.setdefault(key, []).append(rate)
        self.count += 1
        return True

    def __len__(self) -> int:
        return self.count
