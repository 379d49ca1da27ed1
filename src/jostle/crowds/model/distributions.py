"""Distributions from which the speeds, radii and times of people are drawn.

A distribution may have limits `low` and `high`: values beyond them are drawn again, so that the result follows the
distribution restricted to [low, high]. No value is moved to a limit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass

import numpy as np

from jostle._tools.arguments import Finite, NotNegative, Positive, check_arguments
from jostle._tools.arrays import Array
from jostle.errors import InvalidValue

MAX_ROUNDS = 1000
"""Number of times that values beyond the limits are drawn again before the distribution is refused."""


class Distribution(ABC):
    """Base class of distributions of speeds (m/s), radii (m) or times (s) among people.

    Examples
    --------
    >>> isinstance(Normal(1.34, 0.26, low=0.5), Distribution)
    True
    """

    low: float
    high: float

    @abstractmethod
    def _values(self, n: int, random: np.random.Generator) -> Array:
        """n values of the distribution without its limits."""

    @abstractmethod
    def _name(self) -> str:
        """The distribution in words, without its limits."""

    def draw(self, n: int, random: np.random.Generator) -> Array:
        """Draw one value for each person, between the limits.

        Parameters
        ----------
        n : int
            Number of people.
        random : numpy.random.Generator
            Source of random numbers; the same state gives the same values.

        Returns
        -------
        ndarray, shape (n,)
            The values.

        Examples
        --------
        >>> Normal(1.34, 0.26, low=0.5, high=2.0).draw(3, np.random.default_rng(0)).round(3).tolist()
        [1.373, 1.306, 1.507]
        """
        found = self._values(n, random)
        for _ in range(MAX_ROUNDS):
            wrong = np.flatnonzero(~((found >= self.low) & (found <= self.high)))
            if len(wrong) == 0:
                return found
            found[wrong] = self._values(len(wrong), random)
        raise InvalidValue(
            f"{self}: after {MAX_ROUNDS} attempts {len(wrong)} of {n} values are still beyond the limits; choose low "
            f"and high so that a larger part of the distribution lies between them"
        )

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InvalidValue(f"high must be above low = {self.low:g}, not {self.high:g}")

    def __str__(self) -> str:
        limits = [f"below {self.low:g}"] * (self.low > -np.inf) + [f"above {self.high:g}"] * (self.high < np.inf)
        return self._name() + (f", drawn again {' and '.join(limits)}" if limits else "")


@check_arguments
@dataclass(frozen=True)
class Normal(Distribution):
    """A normal distribution, restricted to [low, high].

    Parameters
    ----------
    mean : float
        Mean without the limits.
    deviation : float
        Standard deviation without the limits, 0 or more.
    low : float, default -inf
        Values below are drawn again.
    high : float, default inf
        Values above are drawn again.

    Examples
    --------
    >>> print(Normal(1.34, 0.26, low=0.5, high=2.2))
    normal with mean 1.34 and standard deviation 0.26, drawn again below 0.5 and above 2.2
    """

    mean: Finite
    deviation: NotNegative
    _: KW_ONLY
    low: float = -np.inf
    high: float = np.inf

    def _values(self, n: int, random: np.random.Generator) -> Array:
        return random.normal(self.mean, self.deviation, n)

    def _name(self) -> str:
        return f"normal with mean {self.mean:g} and standard deviation {self.deviation:g}"


@check_arguments
@dataclass(frozen=True)
class LogNormal(Distribution):
    """A log-normal distribution, restricted to [low, high].

    Pre-movement times often follow it: nobody reacts before 0, and a few people react late.

    Parameters
    ----------
    mean : float
        Mean of the values, not of their logarithms, without the limits; positive.
    deviation : float
        Standard deviation of the values without the limits, 0 or more.
    low : float, default -inf
        Values below are drawn again.
    high : float, default inf
        Values above are drawn again.

    Examples
    --------
    >>> print(LogNormal(60.0, 30.0, high=300.0))
    log-normal with mean 60 and standard deviation 30, drawn again above 300
    """

    mean: Positive
    deviation: NotNegative
    _: KW_ONLY
    low: float = -np.inf
    high: float = np.inf

    def _values(self, n: int, random: np.random.Generator) -> Array:
        variance = np.log1p(np.square(self.deviation / self.mean))
        return random.lognormal(np.log(self.mean) - 0.5 * variance, np.sqrt(variance), n)

    def _name(self) -> str:
        return f"log-normal with mean {self.mean:g} and standard deviation {self.deviation:g}"


@check_arguments
@dataclass(frozen=True)
class Uniform(Distribution):
    """A uniform distribution: all values between low and high are equally likely.

    Parameters
    ----------
    low : float
        Smallest value.
    high : float
        Largest value, above `low`.

    Examples
    --------
    >>> print(Uniform(0.93, 1.55))
    uniform from 0.93 to 1.55
    """

    low: Finite
    high: Finite

    def _values(self, n: int, random: np.random.Generator) -> Array:
        return random.uniform(self.low, self.high, n)

    def _name(self) -> str:
        return f"uniform from {self.low:g} to {self.high:g}"

    def __str__(self) -> str:
        return self._name()


SPEEDS: dict[str, Distribution] = {
    "weidmann": Normal(1.34, 0.26, low=0.56, high=2.12),
    "weidmann under 30": Uniform(0.58, 1.61),
    "weidmann 30 to 50": Uniform(1.41, 1.54),
    "weidmann over 50": Uniform(0.68, 1.41),
    "weidmann limited mobility": Uniform(0.46, 0.76),
    "imo women under 30": Uniform(0.93, 1.55),
    "imo women 30 to 50": Uniform(0.71, 1.19),
    "imo women over 50": Uniform(0.56, 0.94),
    "imo men under 30": Uniform(1.11, 1.85),
    "imo men 30 to 50": Uniform(0.97, 1.62),
    "imo men over 50": Uniform(0.84, 1.40),
}
"""Walking speeds (m/s) on level ground, by name: all adults (Weidmann 1993, mean and standard deviation; limited to
three standard deviations), by age (after Weidmann, as ranges in table 1 of the RiMEA guideline), and by sex and age
(International Maritime Organization, MSC.1/Circ.1533, table 3.4)."""


@check_arguments
def walking_speed(name: str) -> Distribution:
    """A distribution of walking speeds (m/s) on level ground from the literature.

    Parameters
    ----------
    name : str
        "weidmann" for adults (Weidmann 1993); "weidmann under 30", "weidmann 30 to 50", "weidmann over 50" or "weidmann
        limited mobility" (ranges of the RiMEA guideline); or by sex and age of the IMO (MSC.1/Circ.1533), "imo women
        under 30", "imo women 30 to 50", "imo women over 50", and the same for men.

    Returns
    -------
    Distribution
        The distribution.

    Examples
    --------
    >>> print(walking_speed("imo women under 30"))
    uniform from 0.93 to 1.55
    """
    if name not in SPEEDS:
        raise InvalidValue(f"unknown walking speeds {name!r}; the names are {', '.join(SPEEDS)}")
    return SPEEDS[name]
