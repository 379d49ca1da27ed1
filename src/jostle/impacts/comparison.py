"""Impact laws side by side: one configuration, one velocity before, and the velocity that each law predicts.

Moreau's law takes all contacts at once, sequences of binary impacts take one after the other, and the law of Liu, Zhao
and Brogliato takes them as springs. For two bodies all of them agree; for more they need not (Nguyen & Brogliato 2018,
named by Bourdin & Maury 2020, section 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import Count, check_arguments
from jostle.arrays import Array
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Cone
from jostle.errors import InvalidValue
from jostle.impacts.binary import MAX_IMPACTS, MAX_STATES, BinaryImpacts, in_all_orders
from jostle.impacts.contacts import Meeting, meeting
from jostle.impacts.springs import HERTZ, by_springs
from jostle.laws import Restitution
from jostle.problems import Motion

MAX_PRINTED_NUMBERS = 8
"""Velocities with more coordinates than this are not printed in a table."""
MAX_PRINTED_ROWS = 30
"""Largest number of outcomes that are printed in a table."""
SETTLED = 1e-8
"""Contacts that approach by less than this fraction of the largest rate before the impact are at rest."""
MOREAU, LINEAR, HERTZIAN = "Moreau", "Liu-Zhao-Brogliato, linear", "Liu-Zhao-Brogliato, Hertz"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one law gives for an impact.

    Attributes
    ----------
    law : str
        Name of the law.
    velocity : array
        The velocity after, in the shape of the velocity before.
    impulse : array, shape (m,)
        Impulse p >= 0 of each contact, M (u+ - u-) = G^T p. Moreau's is not unique where contacts depend on each other.
    energy : float
        Kinetic energy after the impact.
    momentum : array
        Momentum M u, summed over the bodies (the first axis of the velocity). Walls change it.
    admissible : bool
        True if no contact approaches after the impact.

    Examples
    --------
    >>> import jostle as jo
    >>> row = jo.Motion(q0=[0.0, 1.0], v0=[1.0, 0.0], within=jo.Line([0.5] * 2), law=jo.Restitution(0.0))
    >>> one = jo.impacts.compare(row)["Moreau"]
    >>> one.velocity.tolist(), one.impulse.tolist(), one.energy, one.momentum.tolist(), one.admissible
    ([0.5, 0.5], [0.5], 0.25, 1.0, True)
    """

    law: str
    velocity: Array
    impulse: Array
    energy: float
    momentum: Array
    admissible: bool


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of `compare`: the outcomes of all laws. It prints as a table.

    ``comparison["Moreau"]`` is the first `Outcome` whose law has a name that begins like this.

    Attributes
    ----------
    meeting : Meeting
        The velocity before, the closed contacts, the masses and e.
    outcomes : tuple of Outcome
        What each law gives.
    binary : BinaryImpacts
        The sequences of binary impacts behind the outcomes named "binary".
    spread : float
        Largest difference of two outcomes in the kinetic metric, relative to the velocity before.

    Examples
    --------
    >>> import jostle as jo
    >>> row = jo.Motion(q0=[0.0, 1.0, 2.0], v0=[1.0, 0.0, 0.0], within=jo.Line([0.5] * 3), law=jo.Restitution(1.0))
    >>> jo.impacts.compare(row)
    2 contacts, e = 1, binary impacts in all orders: 1 outcome
    law                             energy  momentum  velocity
    before                             0.5         1  1 0 0
    Moreau                             0.5         1  -0.333333 0.666667 0.666667
    binary, 0 1                        0.5         1  0 0 1
    Liu-Zhao-Brogliato, linear         0.5         1  -0.130262 0.15023 0.980032
    Liu-Zhao-Brogliato, Hertz          0.5         1  -0.0709524 0.076403 0.994549
    """

    meeting: Meeting
    outcomes: tuple[Outcome, ...]
    binary: BinaryImpacts

    def __getitem__(self, law: str) -> Outcome:
        """The first outcome whose law has this name, or a name that begins like this."""
        for outcome in self.outcomes:
            if outcome.law.startswith(law):
                return outcome
        raise InvalidValue(f"unknown law {law!r}; the laws are {', '.join(outcome.law for outcome in self.outcomes)}")

    @property
    def spread(self) -> float:
        """The largest difference of two outcomes in the kinetic metric, relative to the velocity before."""
        M, size = self.meeting.metric, self.meeting.metric.norm(self.meeting.u.ravel())
        found = [outcome.velocity.ravel() for outcome in self.outcomes]
        return max(M.norm(one - other) for one in found for other in found) / (size or 1.0)

    def __repr__(self) -> str:
        n, given = len(self.binary.outcomes), self.meeting
        cut = "" if self.binary.complete else " or more: the search was cut"
        title = f"{len(given.rates)} contact{'s' * (len(given.rates) != 1)}, {given.coefficients()}, "
        title += f"binary impacts in all orders: {n} outcome{'s' * (n != 1)}{cut}"
        lines = [("before", given.energy(given.u), given.momentum(given.u), given.u)]
        lines += [(one.law, one.energy, one.momentum, one.velocity) for one in self.outcomes[:MAX_PRINTED_ROWS]]
        names = [_short(name) for name, *_ in lines]
        momenta = [_numbers(momentum) for _, _, momentum, _ in lines]
        wide, far = max(map(len, [*names, "law"])), max(map(len, [*momenta, "momentum"]))
        head = f"{'law':{wide}s}  {'energy':>10s}  {'momentum':>{far}s}"
        printed = given.u.size <= MAX_PRINTED_NUMBERS
        rows = [head + "  velocity" * printed]
        for name, momentum, (_, energy, _, velocity) in zip(names, momenta, lines, strict=True):
            row = f"{name:{wide}s}  {_number(energy):>10s}  {momentum:>{far}s}"
            rows.append(f"{row}  {_numbers(velocity)}" if printed else row)
        left = len(self.outcomes) - MAX_PRINTED_ROWS
        return "\n".join([title, *rows, *([f"... {left} more outcomes"] if left > 0 else [])])


def _number(value: float) -> str:
    return f"{value:.6g}" if abs(value) > 1e-12 else "0"


def _numbers(values: Array) -> str:
    return " ".join(_number(value) for value in np.ravel(values))


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:37]}..."


@check_arguments
def compare(
    before: Motion | ArrayLike,
    cone: Cone | None = None,
    *,
    law: Restitution | None = None,
    mass: ArrayLike | Metric | None = None,
    stiffness: ArrayLike = 1.0,
    max_states: Count = MAX_STATES,
) -> Comparison:
    """Compare impact laws: what Moreau, all orders of binary impacts, and Liu-Zhao-Brogliato make of one impact.

    The law of Liu, Zhao and Brogliato is applied with linear springs and with those of Hertz. Binary impacts have one
    outcome for each velocity that some order leads to, named after the contacts of a shortest sequence; the table says
    if the search was cut.

    Parameters
    ----------
    before : Motion or array_like
        A problem whose bodies touch at its start, or the velocity before the impact. The law of the problem is
        `Restitution` with one number e or `RestitutionTable` with numbers.
    cone : Cone, optional
        The closed contacts, if `before` is a velocity.
    law : Restitution, optional
        Law with one number e, if `before` is a velocity. None: e = 1.
    mass : float, array_like or Metric, optional
        Masses, if `before` is a velocity. None: 1.
    stiffness : float or array_like, shape (m,), default 1.0
        Stiffness of each contact for Liu-Zhao-Brogliato, positive; only the ratios matter.
    max_states : int, default 5000
        Number of velocities after which sequences of binary impacts do not branch any more.

    Returns
    -------
    Comparison
        The outcome of each law.

    Raises
    ------
    InvalidValue
        If the contacts, law and masses do not fit, the set of the problem may move, or a stiffness is not positive.

    Examples
    --------
    >>> import jostle as jo
    >>> three = jo.models.rack(rows=2, e=1.0)                         # a ball hits two at once
    >>> found = jo.impacts.compare(three)
    >>> found["Moreau"].velocity[0].round(6).tolist(), len(found.binary.outcomes)
    ([-0.428571, 0.0], 2)
    >>> law = jo.RestitutionTable({(0, 1): 1.0, (1, 2): 0.0})         # the last two are of putty
    >>> row = jo.Motion(q0=[0.0, 1.0, 2.0], v0=[1.0, 0.0, 0.0], within=jo.Line([0.5] * 3), law=law)
    >>> jo.impacts.compare(row)["binary"].velocity.tolist()
    [0.0, 0.5, 0.5]
    """
    one = meeting(before, cone, law, mass)
    hit = one.by_moreau()
    binary = in_all_orders(one, MAX_IMPACTS, max_states)
    found = [_outcome(one, MOREAU, hit.velocity, hit.impulse)]
    found += [_outcome(one, _named(each.rows), each.velocity, each.impulse) for each in binary.outcomes]
    for name, exponent in ((LINEAR, 1.0), (HERTZIAN, HERTZ)):
        springs = by_springs(one, stiffness, exponent)
        found.append(_outcome(one, name, springs.velocity, springs.impulse))
    return Comparison(one, tuple(found), binary)


def _named(rows: tuple[int, ...]) -> str:
    return f"binary, {' '.join(map(str, rows))}" if rows else "binary, no impact"


def _outcome(one: Meeting, law: str, velocity: Array, impulse: Array) -> Outcome:
    rates = one.G @ velocity.ravel()
    admissible = bool((rates >= -np.maximum(one.noise, SETTLED * np.abs(one.rates).max(initial=0.0))).all())
    return Outcome(law, velocity, impulse, one.energy(velocity), one.momentum(velocity), admissible)
