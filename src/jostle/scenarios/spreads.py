"""Properties of people in a group: one number for all, one for each, or a distribution to draw from."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from jostle.crowds.distributions import SPEEDS, Distribution, LogNormal, Normal, Uniform
from jostle.crowds.walk import FASTEST
from jostle.scenarios.fields import (
    MAX_PEOPLE,
    NotNegative,
    Number,
    Positive,
    Table,
    WalkingSpeed,
    allowed,
    complain,
    shape_of,
)


class Restricted(Table):
    """The limits of a distribution."""

    low: Number | None = Field(None, description="Values below this are drawn again.")
    high: Number | None = Field(None, description="Values above this are drawn again.")

    @model_validator(mode="after")
    def _has_a_range(self) -> Self:
        if self.low is not None and self.high is not None and self.low >= self.high:
            complain([(("high",), f"must be above low = {self.low:g}")])
        return self

    def limits(self) -> dict[str, float]:
        """The limits that are given."""
        return {name: value for name in ("low", "high") if (value := getattr(self, name)) is not None}


class NormalTable(Restricted):
    """A normal distribution."""

    kind: Literal["normal"] = Field(description="A normal distribution.")
    mean: Number = Field(description="Mean of the distribution.")
    deviation: NotNegative = Field(description="Standard deviation of the distribution.")

    def build(self) -> Distribution:
        return Normal(self.mean, self.deviation, **self.limits())


class LogNormalTable(Restricted):
    """A log-normal distribution."""

    kind: Literal["log-normal"] = Field(description="A log-normal distribution.")
    mean: Positive = Field(description="Mean of the values, not of their logarithms.")
    deviation: NotNegative = Field(description="Standard deviation of the values, not of their logarithms.")

    def build(self) -> Distribution:
        return LogNormal(self.mean, self.deviation, **self.limits())


class UniformTable(Table):
    """A uniform distribution."""

    kind: Literal["uniform"] = Field(description="All values from low to high are equally likely.")
    low: Number = Field(description="The smallest value.")
    high: Number = Field(description="The largest value.")

    @model_validator(mode="after")
    def _has_a_range(self) -> Self:
        complain([] if self.low < self.high else [(("high",), f"must be above low = {self.low:g}")])
        return self

    def build(self) -> Distribution:
        return Uniform(self.low, self.high)


AnyDistribution = Annotated[NormalTable | LogNormalTable | UniformTable, Field(discriminator="kind")]


def _form(value: Any) -> str:
    """The tag of a value that may be a number, a list, a name or a table."""
    return "<text>" if isinstance(value, str) else shape_of(value)


def _known(name: str) -> str:
    if name not in SPEEDS:
        raise ValueError
    return name


def _one_of(what: str, example: str) -> Any:
    """The allowed values in words, for error messages."""
    return allowed(f"{what}; or a list of them, or a distribution such as {{ kind = {example} }}")


Radius = Annotated[
    Annotated[Positive, _one_of("a positive number", '"uniform", low = 0.18, high = 0.22'), Tag("<one>")]
    | Annotated[tuple[Positive, ...], Field(min_length=1, max_length=MAX_PEOPLE, strict=False), Tag("<list>")]
    | Annotated[AnyDistribution, Tag("<table>")],
    Discriminator(shape_of),
]
Times = Annotated[
    Annotated[
        NotNegative,
        _one_of("a number that is 0 or more", '"log-normal", mean = 60.0, deviation = 30.0'),
        Tag("<one>"),
    ]
    | Annotated[tuple[NotNegative, ...], Field(min_length=1, max_length=MAX_PEOPLE, strict=False), Tag("<list>")]
    | Annotated[AnyDistribution, Tag("<table>")],
    Discriminator(shape_of),
]
Speed = Annotated[
    Annotated[
        WalkingSpeed,
        _one_of(
            f"a positive number of at most {FASTEST:g} m/s; divide km/h by 3.6",
            '"normal", mean = 1.34, deviation = 0.26',
        ),
        Tag("<one>"),
    ]
    | Annotated[tuple[WalkingSpeed, ...], Field(min_length=1, max_length=MAX_PEOPLE, strict=False), Tag("<list>")]
    | Annotated[AnyDistribution, Tag("<table>")]
    | Annotated[
        str, AfterValidator(_known), allowed("one of " + ", ".join(f'"{name}"' for name in SPEEDS)), Tag("<text>")
    ],
    Discriminator(_form),
]


def spread(value: Any) -> Any:
    """A value of a file in the form that `jostle.crowds.Group` takes.

    >>> spread(1.2), str(spread("weidmann"))
    (1.2, 'normal with mean 1.34 and standard deviation 0.26, drawn again below 0.56 and above 2.12')
    """
    if isinstance(value, str):
        return SPEEDS[value]
    return value.build() if isinstance(value, NormalTable | LogNormalTable | UniformTable) else value
