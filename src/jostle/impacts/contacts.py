"""What all impact laws start from: the velocity before, the closed contacts, the masses and the coefficients e."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import Array, finite
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Cone
from jostle.errors import InvalidValue
from jostle.kernels.reference.dense import ROUND_OFF
from jostle.laws import Impact, ImpactLaw, Restitution, coefficients, impact
from jostle.problems import Motion


@dataclass(frozen=True, eq=False)
class Meeting:
    """Bodies in contact just before an impact."""

    u: Array
    """Velocity before, in the shape that was given."""
    cone: Cone
    metric: Metric
    e: Array
    """(m,) restitution coefficient of each contact."""

    @cached_property
    def G(self) -> Array:
        """(m, N) gradients of the closed contacts."""
        return self.cone.G.toarray()

    @cached_property
    def to_velocity(self) -> Array:
        """(N, m) M^-1 G^T: what a unit impulse in each contact does to the velocity."""
        return np.array([self.metric.solve(row) for row in self.G]).T.reshape(self.u.size, len(self.G))

    @cached_property
    def delassus(self) -> Array:
        """(m, m) G M^-1 G^T: what a unit impulse in one contact does to the gap rate of another."""
        return self.G @ self.to_velocity

    @cached_property
    def rates(self) -> Array:
        """(m,) gap rates before; negative: approaching."""
        return np.asarray(self.G @ self.u.ravel())

    @cached_property
    def noise(self) -> Array:
        """(m,) gap rates up to this size count as zero."""
        largest = np.abs(self.u).max(initial=0.0) * np.ones(self.u.size)
        return np.asarray(ROUND_OFF * (np.abs(self.G) @ largest))

    def after(self, impulse: Array) -> Array:
        """The velocity after these impulses, M (u+ - u-) = G^T p."""
        change: Array = self.to_velocity @ impulse
        return self.u + change.reshape(self.u.shape)

    def energy(self, u: Array) -> float:
        """1/2 |u|_M^2."""
        return 0.5 * self.metric.inner(u.ravel(), u.ravel())

    def by_moreau(self) -> Impact:
        """The impact by Moreau's law."""
        one = len(set(self.e.tolist())) == 1
        law = Restitution(float(self.e[0])) if one else Restitution(lambda v: self.e)
        return impact(self.u, self.cone, law=law, mass=self.metric)

    def coefficients(self) -> str:
        """The coefficients e in words, as in "e = 0.5" or "e = 0 to 0.5"."""
        low, high = (f"{end:g}" for end in (self.e.min(initial=1.0), self.e.max(initial=0.0)))
        return f"e = {high}" if low == high or not len(self.e) else f"e = {low} to {high}"

    def momentum(self, u: Array) -> Array:
        """M u, summed over the bodies, which are the first axis of u."""
        momenta: Array = self.metric.times(u.ravel()).reshape(u.shape)
        return np.asarray(momenta.sum(axis=0))


def meeting(
    before: Motion | Meeting | ArrayLike, cone: Cone | None, law: Restitution | None, mass: ArrayLike | Metric | None
) -> Meeting:
    """The contacts that are closed at the start of a problem, or those that were given."""
    if isinstance(before, Motion | Meeting) and not (cone is None and law is None and mass is None):
        raise InvalidValue(f"a {type(before).__name__} has contacts, a law and masses: leave out cone=, law= and mass=")
    if isinstance(before, Meeting):
        return before
    if isinstance(before, Motion):
        if before.within.moving is not False:
            raise InvalidValue(f"impact laws are compared for sets that do not move; this one may: {before.within!r}")
        contacts = before.within.linearise(0.0, before.q0)
        closed = contacts.only(np.flatnonzero(contacts.margin <= contacts.tolerance()))
        _check_law(before.law)
        e = coefficients(before.law, closed, np.zeros(len(closed.gap)))
        return _checked(before.v0, closed.cone(np.inf), e, before.metric(before.q0))
    u = finite(before, "before")
    if not isinstance(cone, Cone):
        raise InvalidValue(f"cone must be a jo.convex.Cone, the closed contacts, not {cone!r}; or give a jo.Motion")
    law = law or Restitution(1.0)
    _check_law(law)
    return _checked(u, cone, np.full(len(cone.c), law.number), metric(1.0 if mass is None else mass, u.shape))


def _check_law(law: ImpactLaw) -> None:
    """Refuse coefficients that depend on the speed: the impacts of a sequence have speeds of their own."""
    if not (isinstance(law, Restitution) and law.numbers):
        raise InvalidValue(
            f"law must be jo.Restitution(e) with one number e, or with a table of numbers in a jo.Motion, not {law!r}"
        )


def _checked(u: Array, cone: Cone, e: Array, M: Metric) -> Meeting:
    if cone.G.shape[1] != u.size:
        raise InvalidValue(f"before has {u.size} coordinates, the contacts of the cone have {cone.G.shape[1]}")
    if getattr(cone, "equal", None) is not None:
        raise InvalidValue("impact laws are compared for contacts, not for equality constraints")
    return Meeting(u, cone, M, e)
