"""The law of Liu, Zhao and Brogliato 2008: contacts as springs, at the scale of impulses (Darboux 1880, Keller 1986).

The bodies do not move during the impact; the impulses P take the place of time. Contact j stores the potential energy
E_j, and the increments of two impulses are in the ratio of the forces of springs F = k delta^exponent,

    dP_j / dP_i = (k_j / k_i)^(1 / (exponent + 1)) (E_j / E_i)^(exponent / (exponent + 1)),      M du = G^T dP,
    dE_j = -(G_j u) dP_j       while contact j is compressed, G_j u < 0,
    dE_j = -(G_j u) dP_j / e^2 while it is restored, G_j u > 0.

Each contact returns e^2 times the work that it took (the energetic coefficient of Stronge 1990; "bi-stiffness" of Liu,
Zhao and Brogliato 2008, Frictionless multiple impacts in multibody systems, part I). The impact is over when
all energies are zero and no contact approaches. A contact that approaches again is compressed again. With e = 0
a contact loses its energy when its compression ends.

The ratios are 0 / 0 at the start. With delta_j >= 0 defined by E_j = k_j delta_j^(exponent + 1) / (exponent + 1), and
a parameter s with dP_j = k_j delta_j^exponent ds, the same law is the regular differential equation

    delta_j' = -G_j u (compressed),   -G_j u / e^2 (restored),   P_j' = k_j delta_j^exponent,

which for e = 1 is that of the springs themselves, as long as no contact that has opened closes again. The exponent is
3/2 for elastic balls (Hertz) and 1 for linear springs; only the ratios of the stiffnesses k matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, alike
from jostle._tools.smooth_paths import follow
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Cone
from jostle.errors import InvalidValue, NotConverged
from jostle.impacts.contacts import Meeting, meeting
from jostle.laws import Restitution
from jostle.problems import Motion

HERTZ = 1.5
"""Exponent of the force between two elastic balls."""
MAX_PHASES = 10_000
"""Largest number of times at which a contact begins or ends to be compressed or restored."""
AT_REST = 1e-13
"""Scaled gap rates and compressions up to this size count as zero."""
SETTLED = 1e-11
"""An impact is over when no scaled gap rate is below minus this number and no scaled energy above its square."""
LONGEST = 1e6
"""An impact must be over before this time, in units of the duration of a binary impact."""
OPEN, COMPRESSED, RESTORED = 0, 1, 2


@dataclass(frozen=True, eq=False)
class SpringImpact:
    """The result of `liu_zhao_brogliato`.

    Attributes
    ----------
    velocity : array
        The velocity after the impact.
    impulse : array, shape (m,)
        Impulse of each contact.
    absorbed : array, shape (m,)
        Work that compressed each contact; it returned e^2 times as much.

    Examples
    --------
    >>> import jostle as jo
    >>> row = jo.Motion(q0=[0.0, 1.0], v0=[1.0, 0.0], within=jo.Line([0.5] * 2), law=jo.Restitution(0.5))
    >>> hit = jo.impacts.liu_zhao_brogliato(row)
    >>> hit.velocity.round(9).tolist(), hit.impulse.round(9).tolist(), hit.absorbed.round(9).tolist()
    ([0.25, 0.75], [0.75], [0.25])
    """

    velocity: Array
    impulse: Array
    absorbed: Array


@check_arguments
def liu_zhao_brogliato(
    before: Motion | Meeting | ArrayLike,
    cone: Cone | None = None,
    *,
    law: Restitution | None = None,
    mass: ArrayLike | Metric | None = None,
    stiffness: ArrayLike = 1.0,
    exponent: Positive = HERTZ,
) -> SpringImpact:
    """The velocity after an impact by the energy law of Liu, Zhao and Brogliato 2008.

    e is the energetic coefficient of each contact, which for one contact alone is that of Newton.

    Parameters
    ----------
    before, cone, law, mass : Motion or array_like, Cone, Restitution, Metric
        The velocity before the impact, the contacts and the masses, as for `compare`.
    stiffness : float or array_like, shape (m,), default 1.0
        Stiffness of each contact, positive; only the ratios matter.
    exponent : float, default 1.5
        Exponent of the contact force: 3/2 for elastic balls (Hertz), 1 for linear springs.

    Returns
    -------
    SpringImpact
        The velocity after, and the impulse and work of each contact.

    Raises
    ------
    NotConverged
        If the impact does not end in 10000 phases of compression and restitution.

    Examples
    --------
    >>> import jostle as jo
    >>> row = jo.Motion(q0=[0.0, 1.0, 2.0], v0=[1.0, 0.0, 0.0], within=jo.Line([0.5] * 3), law=jo.Restitution(1.0))
    >>> jo.impacts.liu_zhao_brogliato(row).velocity.round(4).tolist()
    [-0.071, 0.0764, 0.9945]
    >>> jo.impacts.liu_zhao_brogliato(row, stiffness=[1.0, 1e4]).velocity.round(2).tolist()      # the last two as one
    [-0.33, 0.67, 0.67]
    """
    one = meeting(before, cone, law, mass)
    k = alike(stiffness, "stiffness", one.rates, "the list of contacts")
    if (k <= 0.0).any():
        raise InvalidValue(f"stiffness must be positive; that of contact {int(np.argmin(k))} is {k.min():g}")
    if (one.rates >= -one.noise).all():
        nothing = np.zeros(len(k))
        return SpringImpact(one.u.copy(), nothing, nothing.copy())
    return _Springs(one, k, float(exponent)).impact()


class _Springs:
    """The differential equation of the springs in units in which speeds, masses and stiffnesses are about one."""

    def __init__(self, one: Meeting, stiffness: Array, exponent: float):
        self.one, self.exponent = one, exponent
        self.speed = float(-one.rates.min())
        self.mass = float(1.0 / one.delassus.diagonal().max())
        self.k = stiffness / stiffness.max()
        self.rates, self.delassus = one.rates / self.speed, one.delassus * self.mass
        self.rates[np.abs(one.rates) <= one.noise] = 0.0
        self.size = len(self.k)

    def impact(self) -> SpringImpact:
        m, e = self.size, self.one.e
        y = np.zeros(3 * m)  # compressions, impulses, absorbed work
        phase = np.where(self.rates < 0.0, COMPRESSED, OPEN)
        s = 0.0
        for _ in range(MAX_PHASES):
            if self.over(y):
                impulse = y[m : 2 * m] * self.mass * self.speed
                return SpringImpact(self.one.after(impulse), impulse, y[2 * m :] * self.mass * self.speed**2)
            derivative = partial(self.derivative, phase)

            def watched(times: Array, states: Array, phase: Integers = phase) -> Array:
                return np.array(
                    [self.watched(phase, t, state) for t, state in zip(times.tolist(), states, strict=True)]
                )

            path = follow(derivative, s, y, s + LONGEST, watched, np.full(2 * m, AT_REST), 1.0)
            if path.crossed is None:
                break
            s, y = path.t, path.y
            row, emptied = path.crossed % m, path.crossed >= m
            if emptied:
                phase[row] = OPEN
            elif phase[row] == COMPRESSED:
                phase[row] = RESTORED if e[row] ** 2 > 0.0 else OPEN
            else:
                phase[row] = COMPRESSED
            y[:m][phase == OPEN] = 0.0
        raise NotConverged(f"the impact does not end in {MAX_PHASES} phases of compression and restitution")

    def over(self, y: Array) -> bool:
        """Whether no contact approaches and no energy is left."""
        energy = self.k * np.maximum(y[: self.size], 0.0) ** (self.exponent + 1.0) / (self.exponent + 1.0)
        return bool((self.gap_rates(y) >= -SETTLED).all() and (energy <= SETTLED**2).all())

    def gap_rates(self, y: Array) -> Array:
        return self.rates + self.delassus @ y[self.size : 2 * self.size]

    def derivative(self, phase: Integers, s: float, y: Array) -> Array:
        rate, delta = self.gap_rates(y), np.maximum(y[: self.size], 0.0)
        force = self.k * delta**self.exponent
        compressed: Booleans = phase == COMPRESSED
        slow = np.where(self.one.e**2 > 0.0, self.one.e**2, 1.0)
        change = np.where(compressed, -rate, np.where(phase == RESTORED, -rate / slow, 0.0))
        return np.concatenate([change, force, np.where(compressed, -rate * force, 0.0)])

    def watched(self, phase: Integers, s: float, y: Array) -> Array:
        """(2 m,) what is positive while no phase ends: the sign of each gap rate, then what is left to be restored."""
        rate = self.gap_rates(y)
        left = np.where(phase == RESTORED, y[: self.size], 1.0)
        return np.concatenate([np.where(phase == COMPRESSED, -rate, rate), left])
