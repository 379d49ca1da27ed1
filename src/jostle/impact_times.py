"""When an impact happened inside a time step: the root of the gap along the free flight around the step.

A scheme knows at which step a contact closed. Around the start t^n of this step the motion without the contact is

    q(t^n + s) = q^n + s v + s^2 a / 2,

with the velocity v at t^n and the acceleration a where it is constant (else a = 0 here). Maury's and Paoli's
velocities, with which q^n = q^{n-1} + h u^n, belong to the middle of the last step, so that v = u^n + h a / 2; those of
Moreau and Jean are v = u^n. The gap, linear in q, has its first root at a time whose error is O(h^2) against the motion
that the scheme computes, and zero for a plane and a constant force. Errors of q^n come on top.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.arrays import Array, moved_to, place_of
from jostle.convex.metric import Metric
from jostle.problems import Motion
from jostle.schemes.state import State
from jostle.sets.contacts import Contacts

SAME_STEP = 1e-9
"""A step that differs from h u by less than this fraction of it is h u."""


def constant_acceleration(problem: Motion) -> Array | None:
    """M^-1 f where force and mass are constant; None where they are functions."""
    if problem.constant_force is None or not isinstance(problem.mass, Metric):
        return None
    return problem.mass.solve(problem.constant_force.ravel())


class ImpactTimes:
    """Finds the times of impacts in the steps of one run."""

    def __init__(self, acceleration: Array | None):
        self.acceleration = acceleration
        self.steps: list[tuple[Any, float]] = []
        """Start q and length h of the last two steps."""

    def begin(self, before: State, h: float) -> None:
        """Note the step of length h that begins here."""
        self.steps = [*self.steps[-1:], (before.q, h)]

    def find(self, before: State, contacts: Contacts, rate: Array) -> Array:
        """The times at which contacts closed in the step from `before`, which approached at these rates."""
        h = self.steps[-1][1]
        if contacts.at is None:
            return np.full(len(rate), before.t + h)
        gap = contacts.gap
        if contacts.gap_at is not None:
            gap = contacts.gap_at(before.t, place_of(gap).arange(len(gap)))
        gap = gap + contacts.G @ (before.q - contacts.at).ravel()
        earliest, bend = 0.0, 0.0 * rate
        if self.acceleration is not None:
            bend = contacts.G @ moved_to(self.acceleration, rate)
        if len(self.steps) == 2:
            (q, earliest), u = self.steps[0], before.u
            off = np.abs(before.q - q - earliest * u).max()
            if off <= SAME_STEP * earliest * np.abs(u).max():
                rate = rate + earliest / 2.0 * bend
        s = _first_root(gap, rate, bend / 2.0)
        inside = np.isfinite(s) & (s <= h) & (s >= -earliest)
        return before.t + np.where(inside, s, h)


def _first_root(c: Array, b: Array, a: Array) -> Array:
    """Where c + b s + a s^2 goes from positive to negative, near 0 if b < 0; not finite if it does not.

    >>> _first_root(np.array([1.0, -1.0, 0.0, 1.0]), np.array([-2.0, -2.0, 1.0, 1.0]), np.array([0.0, 0.0, -2.0, 0.0]))
    array([ 0.5, -0.5,  0.5,  inf])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(b * b - 4.0 * a * c)
        falling = 2.0 * c / (root - b)
        rising = np.where(a < 0.0, (b + root) / (-2.0 * a), np.inf)
        return np.where(b < 0.0, falling, rising)
