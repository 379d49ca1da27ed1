"""Sizes of grains: one for all, one for each, a range, or a mixture; and how they swell."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Self

import numpy as np
from pydantic import Discriminator, Field, Tag, model_validator

from jostle._tools.arrays import Array, InTime
from jostle.scenarios.fields import MAX_BODIES, Multiple, Positive, Table, allowed, complain, shape_of


class Size(Table):
    """One of the sizes of a mixture."""

    radius: Positive = Field(description="Radius of the grains of this size (m).")
    share: Positive = Field(1.0, description="Relative number of grains of this size.")


class Spread(Table):
    """Grains of several sizes: give either a range or a mixture."""

    uniform: Annotated[tuple[Positive, ...], Field(min_length=2, max_length=2, strict=False)] | None = Field(
        None, description="The smallest and the largest radius (m) of a uniform distribution."
    )
    mixture: Annotated[tuple[Size, ...], Field(min_length=1, max_length=100, strict=False)] | None = Field(
        None, description="A few sizes, each with its share of the number of grains."
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        given = [name for name in ("uniform", "mixture") if getattr(self, name) is not None]
        if len(given) != 1:
            what = "both are given" if given else "neither is given"
            complain([((), f"must have either uniform = [smallest, largest] or mixture = [...]; {what}")])
        if self.uniform is not None and self.uniform[0] > self.uniform[1]:
            complain([(("uniform",), "must be [smallest, largest], in this order")])
        return self


Radii = Annotated[
    Annotated[Positive, allowed("a positive number, a list of them, or { uniform = [from, to] }"), Tag("<one>")]
    | Annotated[
        Annotated[tuple[Positive, ...], Field(min_length=1, max_length=MAX_BODIES, strict=False)], Tag("<list>")
    ]
    | Annotated[Spread, Tag("<table>")],
    Discriminator(shape_of),
]


def drawn(radii: float | tuple[float, ...] | Spread, n: int, random: np.random.Generator) -> Array:
    """(n,) radii; those of a mixture in random order.

    >>> drawn(0.5, 2, np.random.default_rng(0)).tolist(), drawn((0.5, 0.25), 2, np.random.default_rng(0)).tolist()
    ([0.5, 0.5], [0.5, 0.25])
    """
    if isinstance(radii, float):
        return np.full(n, radii)
    if isinstance(radii, tuple):
        return np.array(radii)
    if radii.uniform is not None:
        return random.uniform(radii.uniform[0], radii.uniform[1], n)
    assert radii.mixture is not None
    shares = np.array([size.share for size in radii.mixture])
    ends = np.round(np.cumsum(shares / shares.sum()) * n).astype(int)
    each = np.diff(ends, prepend=0)
    return random.permutation(np.repeat([size.radius for size in radii.mixture], each))


class Swelling(Table):
    """All radii grow in proportion: r(t) = (1 + rate t) r(0), up to a limit if there is one."""

    rate: Positive = Field(description="Growth per second, as a fraction of the radius at the start (1/s).")
    most: Multiple | None = Field(
        None, description="Largest radius, as a multiple of the radius at the start; unlimited by default."
    )

    def of(self, radii: Array) -> Callable[[float], Array]:
        """The radii as a function of time."""
        most = np.inf if self.most is None else self.most
        return partial(_swollen, radii, self.rate, most)


def _swollen(radii: Array, rate: float, most: float, t: float) -> Array:
    return radii * min(1.0 + rate * t, most)


def in_time(radii: Array, swelling: Swelling | None) -> InTime:
    """The radii in the form that constraint sets take: fixed, or a function of time."""
    return radii if swelling is None else swelling.of(radii)
