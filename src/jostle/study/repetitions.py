"""Rules that end a study before its last repetition, once the wanted accuracy is reached.

A rule looks at the runs of one case in the order of their repetitions, and ends the case at the first number of runs
that meets its criterion. The runs of a study therefore do not depend on the number of workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, Fraction, Positive, check_arguments
from jostle._tools.arrays import Array
from jostle._tools.suggestions import suggestion
from jostle.analysis.statistics import summary
from jostle.errors import InvalidValue
from jostle.study.cases import Study
from jostle.study.executing import Outcome

SMOOTHING = 0.05
"""Distance s of the differences in the secant cosine, as a fraction of the number of people."""


class CurveChanges(NamedTuple):
    """Changes of the mean evacuation curve with each run; see `curve_changes`."""

    erd: Array
    epc: Array
    sc: Array
    mean: Array
    std: Array


@check_arguments
def curve_changes(leaving_times: Sequence[ArrayLike]) -> CurveChanges:
    """Measure how much each further run changes the mean evacuation curve.

    M_j is the mean of the leaving times of j runs, each in increasing order. With E = M_j and m = M_{j-1}, the changes
    are ERD, |1 - EPC| and |1 - SC|,

        ERD = |E - m| / |m|                  Euclidean relative difference, 0 if both are equal
        EPC = E . m / m . m                  Euclidean projection coefficient, 1 if both have the same size
        SC  = dE . dm / (|dE| |dm|)          secant cosine, 1 if both have the same shape; dE_k = E_k - E_{k-s}

    and the relative changes of the mean and of the standard deviation of the evacuation time (Ronchi, Reneke, Peacock,
    Fire Technology 50, 2014, 1545-1571, which ISO 20414:2020 describes for the number of runs).

    Parameters
    ----------
    leaving_times : sequence of array_like, each of shape (n,)
        Leaving times of each run; at least two runs with the same number n of people.

    Returns
    -------
    CurveChanges
        Arrays erd, epc, sc, mean and std, with one entry per run from the second on. A change is infinite if it is
        unknown, because somebody did not leave or the standard deviation became zero.

    Examples
    --------
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


class StoppingRule(Protocol):
    """A rule that decides when the runs of a case are enough."""

    def check(self, study: Study) -> None:
        """Refuse a study that does not measure what the rule needs."""

    def holds(self, outcomes: Sequence[Outcome]) -> bool:
        """Whether these runs of a case, in the order of their repetitions and without failed ones, are enough."""
        raise NotImplementedError


@check_arguments
@dataclass(frozen=True)
class PreciseMean(StoppingRule):
    """Repeat each case until the confidence interval of the mean of a measure is narrow enough.

    Give either `width` or `relative`.

    Parameters
    ----------
    measure : str
        Name of the measure.
    width : float, optional
        Largest full width of the interval, in the unit of the measure. None: `relative` is used.
    relative : float, optional
        Largest full width of the interval, as a fraction of the absolute value of the mean. None: `width` is used.
    confidence : float, default 0.95
        Confidence level of the interval, between 0 and 1.
    least : int, default 10
        Smallest number of runs, because intervals of few runs are unreliable.

    Examples
    --------
    >>> rule = PreciseMean("time", width=1.0, least=3)
    >>> times = [10.0, 10.2, 10.1, 10.3]
    >>> runs = [Outcome(k, "finished", {"time": time}) for k, time in enumerate(times)]
    >>> rule.holds(runs[:2]), rule.holds(runs[:3])
    (False, True)
    """

    measure: str
    width: Positive | None = None
    relative: Positive | None = None
    confidence: Fraction = 0.95
    least: Count = 10

    def __post_init__(self) -> None:
        if (self.width is None) == (self.relative is None):
            raise InvalidValue("give either width, in the unit of the measure, or relative, a fraction of the mean")

    def check(self, study: Study) -> None:
        _check_name(self.measure, study.measured, "measure")

    def holds(self, outcomes: Sequence[Outcome]) -> bool:
        if len(outcomes) < max(self.least, 2):
            return False
        if self.measure not in outcomes[0].measures:
            raise InvalidValue(f"the rule needs the measure {self.measure!r}, which the runs do not have")
        found = summary([outcome.measures[self.measure] for outcome in outcomes], confidence=self.confidence)
        return found.width <= (self.width or (self.relative or 0.0) * abs(found.mean))


@check_arguments
@dataclass(frozen=True)
class SettledCurves(StoppingRule):
    """Repeat each case until the mean evacuation curve stops changing: the criterion of Ronchi, Reneke, Peacock 2014.

    The method leaves the limits to the engineer: state them with the result.

    Parameters
    ----------
    curve : str, default "leaving_times"
        Name of the curve.
    erd : float, default 0.01
        Limit of the Euclidean relative difference.
    epc : float, default 0.01
        Limit of |1 - EPC|, with the Euclidean projection coefficient EPC.
    sc : float, default 0.01
        Limit of |1 - SC|, with the secant cosine SC.
    mean : float, default 0.01
        Limit of the relative change of the mean evacuation time.
    std : float, default 0.05
        Limit of the relative change of the standard deviation of the evacuation time.
    consecutive : int, default 10
        Number of consecutive runs that must meet all limits.

    Examples
    --------
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

    def check(self, study: Study) -> None:
        _check_name(self.curve, study.traced, "curve")

    def holds(self, outcomes: Sequence[Outcome]) -> bool:
        if len(outcomes) < self.consecutive + 2:  # the change of a standard deviation needs three runs
            return False
        changes = curve_changes([outcome.curves[self.curve] for outcome in outcomes])
        limits = (self.erd, self.epc, self.sc, self.mean, self.std)
        latest = [values[-self.consecutive :] for values in changes]
        return all(bool((values <= limit).all()) for values, limit in zip(latest, limits, strict=True))


def _check_name(name: str, known: Mapping[str, object], noun: str) -> None:
    """Refuse a name that a study does not have; functions that return their results have no list to check."""
    if name in known or (noun == "measure" and not known):
        return
    hint = suggestion(name, known, f"the study has: {', '.join(known) or 'none'}")
    raise InvalidValue(f"until: the study has no {noun} {name!r}; {hint}")
