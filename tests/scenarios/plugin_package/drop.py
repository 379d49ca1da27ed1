"""A kind of problem of a plug-in."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

import jostle as jo
from jostle.scenarios import ProblemTable
from jostle.scenarios.fields import Positive


class Drop(ProblemTable):
    """Balls that fall on a floor from different heights."""

    example: ClassVar[str] = """title = "Three balls fall on a floor"
problem = { kind = "drop", heights = [1.0, 2.0, 3.0] }
run = { t = 1.0, h = 0.01 }
"""

    kind: Literal["drop"] = Field(description="Balls that fall on a floor.")
    heights: tuple[Positive, ...] = Field(strict=False, description="The heights (m) of the balls at the start.")

    def build(self, seed: int) -> jo.Motion:
        q0 = np.array([[2.0 * k, height] for k, height in enumerate(self.heights)])
        return jo.Motion(q0=q0, force=[0.0, -9.81], within=jo.HalfSpace([0.0, 1.0]))
