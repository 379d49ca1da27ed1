"""Impact laws side by side: one configuration, one velocity before, and the velocity that each law predicts.

Moreau's law takes all contacts at once, sequences of binary impacts take one after the other, and the law of Liu, Zhao
and Brogliato takes them as springs. For two bodies all of them agree; for more they need not (Nguyen & Brogliato 2018,
named by Bourdin & Maury 2020, section 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, Natural, check_arguments
from jostle._tools.arrays import Array, Integers
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Cone
from jostle.errors import InvalidValue
from jostle.impacts.binary import MAX_IMPACTS, MAX_STATES, BinaryImpacts, Sequence, binary_impacts, by_times
from jostle.impacts.contacts import Meeting, meeting
from jostle.impacts.springs import HERTZ, liu_zhao_brogliato
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
    before: Motion | Meeting | ArrayLike,
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
    before : Motion, array_like or Meeting
        A problem whose bodies touch at its start, or the velocity before the impact. The law of the problem is
        `Restitution` with numbers. The `meeting` of another comparison stands for its bodies.
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

    Examples
    --------
    >>> import jostle as jo
    >>> three = jo.models.rack(rows=2, e=1.0)                         # a ball hits two at once
    >>> found = jo.impacts.compare(three)
    >>> found["Moreau"].velocity[0].round(6).tolist(), len(found.binary.outcomes)
    ([-0.428571, 0.0], 2)
    >>> law = jo.Restitution({(0, 1): 1.0, (1, 2): 0.0})         # the last two are of putty
    >>> row = jo.Motion(q0=[0.0, 1.0, 2.0], v0=[1.0, 0.0, 0.0], within=jo.Line([0.5] * 3), law=law)
    >>> jo.impacts.compare(row)["binary"].velocity.tolist()
    [0.0, 0.5, 0.5]
    """
    one = meeting(before, cone, law, mass)
    hit = one.by_moreau()
    binary = binary_impacts(one, max_states=max_states)
    found = [_outcome(one, MOREAU, hit.velocity, hit.impulse)]
    found += [_outcome(one, _named(each.rows), each.velocity, each.impulse) for each in binary.outcomes]
    for name, exponent in ((LINEAR, 1.0), (HERTZIAN, HERTZ)):
        springs = liu_zhao_brogliato(one, stiffness=stiffness, exponent=exponent)
        found.append(_outcome(one, name, springs.velocity, springs.impulse))
    return Comparison(one, tuple(found), binary)


def _named(rows: tuple[int, ...]) -> str:
    return f"binary, {' '.join(map(str, rows))}" if rows else "binary, no impact"


def _outcome(one: Meeting, law: str, velocity: Array, impulse: Array) -> Outcome:
    rates = one.G @ velocity.ravel()
    admissible = bool((rates >= -np.maximum(one.noise, SETTLED * np.abs(one.rates).max(initial=0.0))).all())
    return Outcome(law, velocity, impulse, one.energy(velocity), one.momentum(velocity), admissible)


# The possible outcomes of a multiple impact whose contacts are not quite closed (Bourdin & Maury 2020, Fig. 10).
#
# Bodies that touch in a model are apart by small gaps in reality. The gaps decide in which order the contacts close,
# and the order decides the result, however small the gaps are: the motion is not continuous in the data. Here gaps are
# drawn at random, the impacts follow each other by their times, and the different results are counted. The velocity
# after depends on the order alone, so that the outcomes are finitely many where the sequences are finite.


SAME_OUTCOME = 1e-9
"""Velocities that differ by less than this fraction of the largest coordinate before are the same outcome."""


@dataclass(frozen=True, eq=False, repr=False)
class Outcomes:
    """The result of `outcomes`: which velocities small gaps lead to, the most frequent first. It prints as a table.

    Attributes
    ----------
    meeting : Meeting
        The velocity before, the closed contacts, the masses and e.
    touching : array
        The velocity after by Moreau's law, if all gaps are zero.
    velocities : array, shape (k, ...)
        The different velocities after.
    counts : array of int, shape (k,)
        Number of samples that led to each velocity.
    gaps : array, shape (k, m)
        The first gaps that were drawn and led to each velocity.
    sequences : tuple of Sequence
        The impacts that these gaps lead to.
    unfinished : int
        Number of samples that were cut before the last impact; they are left out.

    Examples
    --------
    >>> import jostle as jo
    >>> row = jo.Motion(q0=[0.0, 1.0, 2.0], v0=[1.0, 0.0, -1.0], within=jo.Line([0.5] * 3), law=jo.Restitution(0.5))
    >>> jo.impacts.outcomes(row, samples=100, seed=1)
    100 samples of small gaps, e = 0.5: 2 outcomes
     share  impacts  velocity
              touch  -0.5 0 0.5
      0.53        3  -0.359375 0.046875 0.3125
      0.47        3  -0.3125 -0.046875 0.359375
    """

    meeting: Meeting
    touching: Array
    velocities: Array
    counts: Integers
    gaps: Array
    sequences: tuple[Sequence, ...]
    unfinished: int

    @property
    def continuous(self) -> bool:
        """True if all samples ended as the touching bodies do: small gaps change nothing."""
        size = np.abs(self.meeting.u).max(initial=0.0)
        one = self.unfinished == 0 and len(self.velocities) == 1
        return one and bool(np.abs(self.velocities[0] - self.touching).max(initial=0.0) <= SAME_OUTCOME * size)

    def __repr__(self) -> str:
        n, total, e = len(self.counts), int(self.counts.sum()), self.meeting.coefficients()
        cut = f", {self.unfinished} samples cut" if self.unfinished else ""
        lines = [f"{total + self.unfinished} samples of small gaps, {e}: {n} outcome{'s' * (n != 1)}{cut}"]
        printed = self.meeting.u.size <= MAX_PRINTED_NUMBERS
        lines.append(" share  impacts" + "  velocity" * printed)
        rows = [("", "touch", self.touching)]
        for count, one, velocity in zip(self.counts, self.sequences, self.velocities, strict=True):
            rows.append((f"{count / total:.2g}", str(len(one.rows)), velocity))
        for share, impacts, velocity in rows[: MAX_PRINTED_ROWS + 1]:
            lines.append(f"{share:>6s}  {impacts:>7s}" + (f"  {_numbers(velocity)}" if printed else ""))
        return "\n".join([*lines, *([f"... {n - MAX_PRINTED_ROWS} more outcomes"] if n > MAX_PRINTED_ROWS else [])])


@check_arguments
def outcomes(
    before: Motion | Meeting | ArrayLike,
    cone: Cone | None = None,
    *,
    law: Restitution | None = None,
    mass: ArrayLike | Metric | None = None,
    samples: Count = 1000,
    seed: Natural | np.random.Generator = 0,
    max_impacts: Count = MAX_IMPACTS,
) -> Outcomes:
    """Draw small gaps at random and count the velocities that the impacts, in the order of their times, lead to.

    The gaps are uniform in [0, 1]; only their ratios matter, because the gaps are small against all other lengths and
    the normals stay as they are. The outcomes found are possible; those of rare gaps may be missing, and
    `binary_impacts` has all that any order leads to.

    Parameters
    ----------
    before, cone, law, mass : Motion or array_like, Cone, Restitution, Metric
        The velocity before the impact, the contacts and the masses, as for `compare`.
    samples : int, default 1000
        Number of samples.
    seed : int or numpy.random.Generator, default 0
        Seed or generator of the random gaps.
    max_impacts : int, default 1000
        Largest number of impacts of one sample.

    Returns
    -------
    Outcomes
        The different velocities, and how often they were found.

    Examples
    --------
    >>> import jostle as jo
    >>> row = jo.Motion(q0=[0.0, 1.0, 2.0], v0=[1.0, 0.0, 0.0], within=jo.Line([0.5] * 3), law=jo.Restitution(1.0))
    >>> found = jo.impacts.outcomes(row, samples=50)
    >>> found.velocities.tolist(), found.touching.round(6).tolist(), found.continuous
    ([[0.0, 0.0, 1.0]], [-0.333333, 0.666667, 0.666667], False)
    """
    one = meeting(before, cone, law, mass)
    random = np.random.default_rng(seed)
    unit = SAME_OUTCOME * (np.abs(one.u).max(initial=0.0) or 1.0)
    found: list[tuple[Array, Sequence]] = []
    counts: list[int] = []
    unfinished = 0
    for gaps in random.uniform(size=(samples, len(one.rates))):
        sequence = by_times(one, gaps, max_impacts)
        if not sequence.finished:
            unfinished += 1
            continue
        apart = (np.abs(known.velocity - sequence.velocity).max(initial=0.0) for _, known in found)
        k = next((k for k, distance in enumerate(apart) if distance <= unit), len(found))
        if k == len(found):
            found.append((gaps, sequence))
            counts.append(0)
        counts[k] += 1
    order = np.argsort(-np.array(counts, dtype=np.int64), kind="stable")
    chosen = [found[k] for k in order]
    return Outcomes(
        one,
        one.by_moreau().velocity,
        np.array([sequence.velocity for _, sequence in chosen]).reshape(len(chosen), *one.u.shape),
        np.array(counts, dtype=np.int64)[order],
        np.array([gaps for gaps, _ in chosen]).reshape(len(chosen), len(one.rates)),
        tuple(sequence for _, sequence in chosen),
        unfinished,
    )
