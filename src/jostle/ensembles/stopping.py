"""Rules that end a study before its last repetition, once the wanted accuracy is reached.

A rule looks at the runs of one case in the order of their repetitions, and ends the case at the first number of runs
that meets its criterion. The runs of a study therefore do not depend on the number of workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from jostle.analysis.samples import summary
from jostle.arguments import Count, Positive, check_arguments
from jostle.ensembles.curve_changes import curve_changes
from jostle.ensembles.executing import Outcome
from jostle.ensembles.study import Study
from jostle.errors import InvalidValue
from jostle.spelling import suggestion


class StoppingRule(Protocol):
    """A rule that decides when the runs of a case are enough."""

    def check(self, study: Study) -> None:
        """Raise if the study does not measure what the rule needs."""

    def holds(self, outcomes: Sequence[Outcome]) -> bool:
        """Whether the runs are enough; failed runs are left out, the others are in the order of their repetitions."""


@check_arguments
@dataclass(frozen=True)
class PreciseMean:
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

    Raises
    ------
    InvalidValue
        If both or none of `width` and `relative` are given, or a value is out of range.

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
    confidence: float = 0.95
    least: Count = 10

    def __post_init__(self) -> None:
        if (self.width is None) == (self.relative is None):
            raise InvalidValue("give either width, in the unit of the measure, or relative, a fraction of the mean")
        if not 0.0 < self.confidence < 1.0:
            raise InvalidValue(f"confidence must be between 0 and 1, not {self.confidence}")

    def check(self, study: Study) -> None:
        """Check that the study has the measure.

        Parameters
        ----------
        study : Study
            The study.

        Raises
        ------
        InvalidValue
            If the study does not have the measure.
        """
        _check_name(self.measure, study.measured, "measure")

    def holds(self, outcomes: Sequence[Outcome]) -> bool:
        """Tell whether the interval is narrow enough.

        Parameters
        ----------
        outcomes : sequence of Outcome
            Outcomes of the runs of a case that did not fail, in the order of their repetitions.

        Returns
        -------
        bool
            True if no more runs are needed.

        Raises
        ------
        InvalidValue
            If the runs do not have the measure.
        """
        if len(outcomes) < max(self.least, 2):
            return False
        if self.measure not in outcomes[0].measures:
            raise InvalidValue(f"the rule needs the measure {self.measure!r}, which the runs do not have")
        found = summary([outcome.measures[self.measure] for outcome in outcomes], confidence=self.confidence)
        return found.width <= (self.width or (self.relative or 0.0) * abs(found.mean))


@check_arguments
@dataclass(frozen=True)
class SettledCurves:
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
        """Check that the study has the curve.

        Parameters
        ----------
        study : Study
            The study.

        Raises
        ------
        InvalidValue
            If the study does not have the curve.
        """
        _check_name(self.curve, study.traced, "curve")

    def holds(self, outcomes: Sequence[Outcome]) -> bool:
        """Tell whether the mean curve met all limits in the last `consecutive` runs.

        Parameters
        ----------
        outcomes : sequence of Outcome
            Outcomes of the runs of a case that did not fail, in the order of their repetitions.

        Returns
        -------
        bool
            True if no more runs are needed.
        """
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
