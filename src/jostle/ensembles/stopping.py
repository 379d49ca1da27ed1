"""Rules that end a study before its last repetition, once the wanted accuracy is reached.

A rule looks at the runs of one case in the order of their repetitions, and holds at the first number of runs at which
its criterion is met. Which runs a study has does therefore not depend on the number of workers.

Mean evacuation curves (Ronchi, Reneke, Peacock, Fire Technology 50, 2014, 1545-1571; the method that ISO 20414:2020
describes for the number of runs). Of run i let m_i be the vector of the n leaving times in increasing order, and
M_j = (m_1 + ... + m_j) / j the mean curve of j runs. Two consecutive mean curves, E = M_j and m = M_{j-1}, are
compared by

    ERD = |E - m| / |m|                                Euclidean relative difference, 0 if they are equal
    EPC = E . m / m . m                                Euclidean projection coefficient, 1 if they have the same size
    SC  = dE . dm / (|dE| |dm|),  dE_k = E_k - E_{k-s}     secant cosine, 1 if they have the same shape

where s smooths the differences. The mean T_j and the standard deviation S_j of the evacuation times, the last entries
of m_1 ... m_j, are compared by |T_j - T_{j-1}| / T_j and |S_j - S_{j-1}| / S_j. The rule holds when all of these
differences, ERD, |1 - EPC|, |1 - SC| and both relative changes, are at most their limits for b runs in a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from jostle.analysis.samples import summary
from jostle.arguments import Count, Positive, check_arguments, check_fields
from jostle.arrays import Array
from jostle.ensembles.executing import Outcome
from jostle.ensembles.study import Study
from jostle.errors import InvalidValue
from jostle.plugins import nearest

SMOOTHING = 0.05
"""Distance s of the differences of the secant cosine, as a part of the number of people."""


class StoppingRule(Protocol):
    """When the runs of a case are enough."""

    def check(self, study: Study) -> None:
        """Raise if the study does not measure what the rule looks at."""

    def holds(self, outcomes: Sequence[Outcome]) -> bool:
        """Are the runs enough? They come in the order of their repetitions, without those that failed."""


@dataclass(frozen=True)
class PreciseMean:
    """Go on until the confidence interval of the mean of a measure is narrow enough.

    `width` is the full width of the interval, in the units of the measure; `relative` is the width over the absolute
    value of the mean. Give one of them. At least `least` runs are made: intervals of few runs are unreliable.

    >>> rule = PreciseMean("time", width=1.0, least=3)
    >>> times = [10.0, 10.2, 10.1, 10.3]
    >>> runs = [Outcome(k, "finished", {"time": time}) for k, time in enumerate(times)]
    >>> rule.holds(runs[:2]), rule.holds(runs[:3])
    (False, True)
    """

    measure: str
    width: Positive | None = None
    relative: Positive | None = None
    confidence: float = 0.95
    least: Count = 10

    def __post_init__(self) -> None:
        check_fields(self)
        if (self.width is None) == (self.relative is None):
            raise InvalidValue("give either width, in the units of the measure, or relative, a part of the mean")
        if not 0.0 < self.confidence < 1.0:
            raise InvalidValue(f"confidence must be between 0 and 1, not {self.confidence}")

    def check(self, study: Study) -> None:
        _check_name(self.measure, study.measured, "measure")

    def holds(self, outcomes: Sequence[Outcome]) -> bool:
        if len(outcomes) < max(self.least, 2):
            return False
        if self.measure not in outcomes[0].measures:
            raise InvalidValue(f"the rule needs the measure {self.measure!r}, which the runs do not have")
        found = summary([outcome.measures[self.measure] for outcome in outcomes], confidence=self.confidence)
        return found.width <= (self.width or (self.relative or 0.0) * abs(found.mean))


@dataclass(frozen=True)
class SettledCurves:
    """Go on until the mean evacuation curve does not change any more: the criterion of Ronchi, Reneke, Peacock 2014.

    The limits are those of ERD, |1 - EPC|, |1 - SC| and of the relative changes of the mean and of the standard
    deviation of the evacuation time; `consecutive` is the number of runs in a row that must meet them. The method
    leaves the limits to the engineer: state them with the result.

    >>> rule = SettledCurves(consecutive=2)
    >>> runs = [Outcome(k, "finished", curves={"leaving_times": [1.0, 2.0, 3.0 + 0.1 * (k % 2)]}) for k in range(40)]
    >>> [rule.holds(runs[:k]) for k in (2, 4, 40)]
    [False, False, True]
    """

    curve: str = "leaving_times"
    erd: Positive = 0.01
    epc: Positive = 0.01
    sc: Positive = 0.01
    mean: Positive = 0.01
    std: Positive = 0.05
    consecutive: Count = 10

    def __post_init__(self) -> None:
        check_fields(self)

    def check(self, study: Study) -> None:
        _check_name(self.curve, study.traced, "curve")

    def holds(self, outcomes: Sequence[Outcome]) -> bool:
        if len(outcomes) < self.consecutive + 2:  # a standard deviation needs two runs, and its change a third one
            return False
        changes = curve_changes([outcome.curves[self.curve] for outcome in outcomes])
        limits = (self.erd, self.epc, self.sc, self.mean, self.std)
        latest = [values[-self.consecutive :] for values in changes]
        return all(bool((values <= limit).all()) for values, limit in zip(latest, limits, strict=True))


class CurveChanges(NamedTuple):
    """How much the mean evacuation curve changed with each run; see `curve_changes`."""

    erd: Array
    epc: Array
    sc: Array
    mean: Array
    std: Array


@check_arguments
def curve_changes(leaving_times: Sequence[ArrayLike]) -> CurveChanges:
    """ERD, |1 - EPC|, |1 - SC| and the changes of T and S with the runs j = 2, 3 ...: see the formulas above.

    Each entry of `leaving_times` has the leaving times of one run. A change that is not known, because somebody did not
    leave or because S = 0 came from S > 0, is infinite.

    >>> changes = curve_changes([[1.0, 2.0], [1.0, 4.0], [1.0, 3.0]])
    >>> changes.erd.round(4).tolist(), changes.mean.round(4).tolist()
    ([0.4472, 0.0], [0.3333, 0.0])
    """
    if len(leaving_times) < 2:
        raise InvalidValue(f"leaving_times must have at least two runs, not {len(leaving_times)}")
    runs = [np.sort(np.asarray(run, dtype=float)) for run in leaving_times]
    if len({run.shape for run in runs}) > 1 or runs[0].ndim != 1 or not len(runs[0]):
        counts = sorted({run.size for run in runs})
        raise InvalidValue(
            f"leaving_times must have the same number of people, at least one, in all runs, not {counts}"
        )
    times = np.array(runs)
    j = np.arange(1, len(times) + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        M = np.cumsum(times, axis=0) / j[:, None]
        E, m = M[1:], M[:-1]
        last = times[:, -1]
        S = np.array([last[:k].std(ddof=1) if k > 1 else np.nan for k in j])
        size = np.linalg.norm(m, axis=1)
        s = max(round(SMOOTHING * times.shape[1]), 1)
        dE, dm = (curve[:, s:] - curve[:, :-s] for curve in (E, m))
        changes = CurveChanges(
            np.linalg.norm(E - m, axis=1) / size,
            np.abs(1.0 - (E * m).sum(axis=1) / size**2),
            np.abs(1.0 - (dE * dm).sum(axis=1) / (np.linalg.norm(dE, axis=1) * np.linalg.norm(dm, axis=1))),
            np.abs(np.diff(M[:, -1])) / M[1:, -1],
            np.where(S[1:] == S[:-1], 0.0, np.abs(np.diff(S)) / S[1:]),
        )
    if times.shape[1] <= s:  # one person: a curve of one point has no shape
        changes = changes._replace(sc=np.zeros(len(E)))
    return CurveChanges(*(np.where(np.isnan(values), np.inf, values) for values in changes))


def _check_name(name: str, known: Mapping[str, object], noun: str) -> None:
    """A study of a function that returns its results has no list of measures, which is no error."""
    if name in known or (noun == "measure" and not known):
        return
    near = nearest(name, known)
    hint = f"did you mean {near!r}?" if near else f"the study has: {', '.join(known) or 'none'}"
    raise InvalidValue(f"until: the study has no {noun} {name!r}; {hint}")
