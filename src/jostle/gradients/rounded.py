"""Events whose times a run rounds to its time steps, so that its derivative misses how these times change.

A contact that is lost at the time t* changes the acceleration by a jump A, unless its force has died before. Neighbours
lose it at the time t* + dt, so that their velocities differ by A dt more. A run in time steps loses the contact at the
border of a step, and A dt is missing in its derivative, whatever h. Three things are looked for:

- a contact is lost while it presses. A force that dies is s (d + h), s d in its last two steps, with some d <= h;
- `Maury`: a contact is lost right after its impact, because the bodies curve away from each other or forces part them;
- `Maury`: an impact moves bodies that rods or other curved contacts hold. Its impulse p is divided between two steps,
  in parts x and 1 - x, and the derivative has an error (1 - 2 x) H (u+ - u-) p dt with the Hessian H of their gaps.

`Venel` and `CatchingUp` have velocities that jump instead of accelerations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers
from jostle.contacts import by_pair
from jostle.gradients.steps import Step

LAST_RATIO, RATIO_BEFORE = 0.6, 0.75
"""A force has died if its last value is less than the first fraction of the one before, and that one less than the
second fraction of the one before it: 1/2 and 2/3 is the most for a force that falls linearly."""
STEADY = 2.0
"""A force that changes by less than this factor in a step is not that of an impact."""
MOVING = 1e-9
"""Gap rates below this fraction of the velocities are round-off."""
FREE = 0.1
"""A lost contact counts if the other contacts leave at least this fraction of its push to the bodies."""
BENT = 1e-2
"""Curved contacts count in an impact if they turn its velocities by at least this fraction of a radian."""


class RoundedEvent(NamedTuple):
    """An event whose time a run rounds to a time step, so that its derivative is not that of the motion.

    Attributes
    ----------
    step : int
        Number of the step, from 1 on.
    t : float
        Time that the step leads to.
    contact : str
        The contact that is lost or has the impact.
    why : str
        "lost while it pressed", "lost right after its impact", or "impact on bodies that curved contacts hold".

    Examples
    --------
    >>> import jostle as jo
    >>> jo.gradients.RoundedEvent(3, 0.3, "balls 0 and 1", "lost while it pressed").contact
    'balls 0 and 1'
    """

    step: int
    t: float
    contact: str
    why: str


class Rounded:
    """Looks at the steps of a run one after the other, and collects the events whose times are rounded."""

    def __init__(self) -> None:
        self.found: list[RoundedEvent] = []
        self._before: Step | None = None
        self._forces: list[tuple[Integers, Array]] = []
        """The pairs that push in the last four steps, and their forces, the last step first."""
        self._rng = np.random.default_rng(0)

    def see(self, number: int, step: Step) -> None:
        """Look at the next step."""
        pairs, forces = np.ascontiguousarray(step.contacts.pairs[step.active]), step.forces()
        if self._before is not None and len(self._forces[0][0]):
            self._check_lost(number, step, self._before)
        if step.second_order and self._before is not None and len(pairs) > 1:
            self._check_bent(number, step, self._before, pairs)
        self._before, self._forces = step, [(pairs, forces), *self._forces[:3]]

    def _check_lost(self, number: int, step: Step, before: Step) -> None:
        """Collect the contacts that pushed in the step before and are open now, though their force has not died."""
        pairs, c = self._forces[0]
        touching = np.concatenate([step.contacts.pairs[step.active], step.contacts.pairs[step.weak]])
        lost = (by_pair(touching, np.ones(len(touching)), pairs) == 0.0) & (c > 0.0)
        if before.contacts.equal is not None:
            lost &= ~before.contacts.equal[before.active]
        if not lost.any():
            return
        pairs, c, rows = np.ascontiguousarray(pairs[lost]), c[lost], before.active[lost]
        b, a, first = (
            by_pair(*self._forces[k], pairs) if k < len(self._forces) else np.zeros(len(c)) for k in (1, 2, 3)
        )
        pressed = np.where(c > LAST_RATIO * b, _steady(b, c), (b > RATIO_BEFORE * a) & _steady(first, a)) & _steady(
            a, b
        )
        wrong = pressed
        if step.second_order:
            wrong = ((c > LAST_RATIO * b) | (b > RATIO_BEFORE * a)) & self._opens(step, pairs)
        wrong[wrong] = self._frees(step, before, rows[wrong])
        for row, press in zip(rows[wrong], pressed[wrong], strict=True):
            why = "lost while it pressed" if press else "lost right after its impact"
            self.found.append(RoundedEvent(number, step.end_time, before.contacts.describe(int(row)), why))

    @staticmethod
    def _opens(step: Step, pairs: Integers) -> Booleans:
        """Which lost pairs open in a step by more than round-off."""
        contacts = step.contacts
        rates = contacts.gap / step.h + (contacts.G @ step.u)
        noise = MOVING * contacts.G.magnitude(np.abs(step.u)) + contacts.noise / step.h
        return np.asarray(by_pair(contacts.pairs, rates - noise, pairs, 1.0) > 0.0)

    def _frees(self, step: Step, before: Step, rows: Integers) -> Booleans:
        """Which lost rows change the motion: not those whose push the contacts of the next step take over."""
        if len(rows) == 0:
            return np.zeros(0, dtype=bool)
        G = before.contacts.G.rows(rows)
        unit = G.norms(before.M)
        push = G.adjoint(self._rng.uniform(0.5, 1.0, len(rows)) / unit)  # all at once, so that they do not cancel
        moved = step.saddle.roughly(push)
        return np.asarray(np.abs(G @ moved) > FREE * unit)

    def _check_bent(self, number: int, step: Step, before: Step, pairs: Integers) -> None:
        """Collect impacts on bodies that are held by contacts that turn."""
        new = np.zeros(len(pairs), dtype=bool)
        for earlier, _ in self._forces[:2]:
            new |= by_pair(earlier, np.ones(len(earlier)), pairs) == 0.0
        if not new.any() or step.rows is None:
            return
        jump, turn = step.u - before.u, step.rows.curvature.force
        of_jump, of_motion = turn(step.p, jump), turn(step.p, before.u)
        if not of_jump.any():
            return
        missing = step.saddle.roughly(of_jump)
        if step.M.norm(missing) > BENT * step.M.norm(step.M.solve(np.abs(of_jump) + np.abs(of_motion))):
            row = int(step.active[np.argmax(np.where(new, step.p, -1.0))])
            why = "impact on bodies that curved contacts hold"
            self.found.append(RoundedEvent(number, step.end_time, step.contacts.describe(row), why))


def _steady(one: Array, other: Array) -> Booleans:
    """Which forces of two steps are about the same."""
    return np.asarray((one < STEADY * other) & (other < STEADY * one))
