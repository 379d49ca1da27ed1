"""Where grains enter and leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from jostle._tools.arrays import Array, Booleans
from jostle.run.exchange import Outlet, Source
from jostle.scenarios.fields import Complaint, Number, Path, Positive, Table, Vector, complain
from jostle.sets.base import ConstraintSet

AXES = "xyz"


class OutletTable(Table):
    """Grains whose centre is beyond a coordinate are removed."""

    below: Number | None = Field(None, description="Grains below this height (m) are removed.")
    above: Number | None = Field(None, description="Grains above this height (m) are removed.")
    axis: Literal["x", "y", "z"] | None = Field(
        None, description="Axis along which heights are measured; by default the vertical, which is the last axis."
    )

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if self.below is None and self.above is None:
            complain([((), "must have below = ... or above = ...")])
        return self

    def of_dimension(self, d: int, path: Path = ()) -> Iterator[Complaint]:
        if self.axis == "z" and d == 2:
            yield (*path, "axis"), 'must be "x" or "y" in dimension 2'

    def build(self, d: int) -> Outlet:
        axis = d - 1 if self.axis is None else AXES.index(self.axis)
        below = -np.inf if self.below is None else self.below
        above = np.inf if self.above is None else self.above
        return Outlet(partial(_beyond, axis, below, above))


def _beyond(axis: int, below: float, above: float, q: Array) -> Booleans:
    return np.asarray((q[:, axis] < below) | (q[:, axis] > above))


class SourceTable(Table):
    """Waiting grains enter at random places in a box."""

    vectors: ClassVar[tuple[str, ...]] = ("lower", "upper", "velocity")
    lower: Vector = Field(description="Lowest coordinates (m) of the box in which grains appear.")
    upper: Vector = Field(description="Highest coordinates (m) of the box in which grains appear.")
    rate: Positive = Field(description="Number of grains that enter per second (1/s).")
    velocity: Vector | None = Field(None, description="Velocity with which grains enter (m/s); zero by default.")

    @model_validator(mode="after")
    def _is_a_box(self) -> Self:
        pairs = zip(self.lower, self.upper, strict=False)
        complain([] if all(a <= b for a, b in pairs) else [(("upper",), f"must be above lower = {list(self.lower)}")])
        return self

    def build(self, within: ConstraintSet, seed: int) -> Callable[..., object]:
        box = (np.array(self.lower), np.array(self.upper))
        return Source(box, rate=self.rate, within=within, velocity=self.velocity or 0.0, seed=seed)
