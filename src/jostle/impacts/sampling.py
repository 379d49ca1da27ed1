"""The possible outcomes of a multiple impact whose contacts are not quite closed (Bourdin & Maury 2020, Fig. 10).

Bodies that touch in a model are apart by small gaps in reality. The gaps decide in which order the contacts close, and
the order decides the result, however small the gaps are: the motion is not continuous in the data. Here gaps are drawn
at random, the impacts follow each other by their times, and the different results are counted. The velocity after
depends on the order alone, so that the outcomes are finitely many where the sequences are finite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import Count, Natural, check_arguments
from jostle.arrays import Array, Integers
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Cone
from jostle.impacts.binary import MAX_IMPACTS, Sequence, by_times
from jostle.impacts.comparison import MAX_PRINTED_NUMBERS, MAX_PRINTED_ROWS
from jostle.impacts.contacts import Meeting, meeting
from jostle.laws import Restitution
from jostle.problems import Motion

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
    continuous : bool
        True if all samples ended as the touching bodies do: small gaps change nothing.

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
            numbers = " ".join(f"{x:.6g}" if abs(x) > 1e-12 else "0" for x in velocity.ravel())
            lines.append(f"{share:>6s}  {impacts:>7s}" + (f"  {numbers}" if printed else ""))
        return "\n".join([*lines, *([f"... {n - MAX_PRINTED_ROWS} more outcomes"] if n > MAX_PRINTED_ROWS else [])])


@check_arguments
def outcomes(
    before: Motion | ArrayLike,
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
    before : Motion or array_like
        A problem whose bodies touch at its start, or the velocity before the impact. The law of the problem is
        `Restitution` with one number e or `RestitutionTable` with numbers.
    cone : Cone, optional
        The closed contacts, if `before` is a velocity.
    law : Restitution, optional
        Law with one number e, if `before` is a velocity. None: e = 1.
    mass : float, array_like or Metric, optional
        Masses, if `before` is a velocity. None: 1.
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

    Raises
    ------
    InvalidValue
        If the contacts, law and masses do not fit, or the set of the problem may move.

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
