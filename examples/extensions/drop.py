"""A kind of scenario: a ball that falls on a floor, for files with kind = "drop"."""

from typing import ClassVar, Literal

from pydantic import Field

import jostle as jo
from jostle.scenarios import KINDS, ProblemTable
from jostle.scenarios.fields import Positive


class Drop(ProblemTable):
    """A ball that falls on a floor."""

    kind: Literal["drop"] = Field(description="A ball that falls on a floor.")
    height: Positive = Field(1.0, description="Height of the ball at the start (m).")
    e: float = Field(0.0, ge=0.0, le=1.0, description="Restitution coefficient.")

    example: ClassVar[str] = """
problem = { kind = "drop", height = 2.0 }
run = { t = 1.0, h = 0.01 }
"""

    def build(self, seed):
        floor = jo.HalfSpace([1.0])
        law = jo.Restitution(self.e)
        return jo.Motion(q0=[self.height], force=[-9.81], within=floor, law=law)


KINDS.register("drop", Drop)  # in a package, use an entry point instead
