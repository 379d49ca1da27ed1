"""How the people of a group differ: distributions from which speeds, radii and times are drawn.

A distribution may have cut-offs `low` and `high`: values beyond them are drawn again, so what is drawn follows the
distribution restricted to [low, high]. No value is ever moved to a limit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass

import numpy as np

from jostle.arguments import Finite, NotNegative, Positive, check_arguments
from jostle.arrays import Array
from jostle.errors import InvalidValue

MAX_ROUNDS = 1000
"""Number of times that values beyond the cut-offs are drawn again before the distribution is refused."""


class Distribution(ABC):
    """A distribution of speeds (m/s), radii (m) or times (s) among people; `draw` gives one value to each.

    >>> isinstance(Normal(1.34, 0.26, low=0.5), Distribution)
    True
    """

    low: float
    high: float

    @abstractmethod
    def _values(self, n: int, random: np.random.Generator) -> Array:
        """n values of the distribution without cut-offs."""

    @abstractmethod
    def _name(self) -> str:
        """The distribution in words, without its cut-offs."""

    def draw(self, n: int, random: np.random.Generator) -> Array:
        """(n,) values between the cut-offs; the same generator gives the same values.

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
            f"{self}: after {MAX_ROUNDS} attempts {len(wrong)} of {n} values are still beyond the cut-offs; move low "
            f"and high so that a notable part of the distribution lies between them"
        )

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InvalidValue(f"low = {self.low:g} must be below high = {self.high:g}")

    def __str__(self) -> str:
        limits = [f"below {self.low:g}"] * (self.low > -np.inf) + [f"above {self.high:g}"] * (self.high < np.inf)
        return self._name() + (f", drawn again {' and '.join(limits)}" if limits else "")


@check_arguments
@dataclass(frozen=True)
class Normal(Distribution):
    """The normal distribution with a mean and a standard deviation, restricted to [low, high].

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
    """The log-normal distribution whose values (not their logarithms) have this mean and standard deviation.

    Pre-movement times are often of this kind: nobody reacts before 0, and a few react late. The mean and the standard
    deviation are those without the cut-offs.

    >>> print(LogNormal(60.0, 30.0, high=300.0))
    log-normal with mean 60 and standard deviation 30, drawn again above 300
    """

    mean: Positive
    deviation: NotNegative
    _: KW_ONLY
    low: float = -np.inf
    high: float = np.inf

    def _values(self, n: int, random: np.random.Generator) -> Array:
        variance = np.log1p((self.deviation / self.mean) ** 2)
        return random.lognormal(np.log(self.mean) - 0.5 * variance, np.sqrt(variance), n)

    def _name(self) -> str:
        return f"log-normal with mean {self.mean:g} and standard deviation {self.deviation:g}"


@check_arguments
@dataclass(frozen=True)
class Uniform(Distribution):
    """All values between low and high are equally likely.

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
"""Walking speeds (m/s) on level ground, by name: all adults (Weidmann 1993, mean and standard deviation; cut off at
three standard deviations), by age (after Weidmann, as ranges in table 1 of the RiMEA guideline), and by sex and age
(International Maritime Organization, MSC.1/Circ.1533, table 3.4)."""


@check_arguments
def walking_speed(name: str) -> Distribution:
    """The distribution of walking speeds (m/s) on level ground that is known by this name: one of SPEEDS.

    >>> print(walking_speed("imo women under 30"))
    uniform from 0.93 to 1.55
    """
    if name not in SPEEDS:
        raise InvalidValue(f"there are no walking speeds by the name {name!r}; the names are {', '.join(SPEEDS)}")
    return SPEEDS[name]
