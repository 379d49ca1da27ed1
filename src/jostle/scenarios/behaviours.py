"""The table [problem.behaviour] of a crowd: how people react to each other."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from jostle._tools.arrays import Array
from jostle.crowds.pedestrians import Pedestrians
from jostle.crowds.plans import Plan
from jostle.crowds.quickest import OTHERS_WEIGHT, OWN_WEIGHT
from jostle.crowds.repulsion import DECAY, STRENGTH
from jostle.crowds.strategies import TIME_GAP, inhibition
from jostle.crowds.time_gap import FOLLOWING_TIME
from jostle.crowds.wish import Wish
from jostle.scenarios.fields import NotNegative, Positive, Table


class PedestriansTable(Table):
    """People choose the quickest way, step aside, and keep a time gap to the person ahead."""

    kind: Literal["pedestrians"] = Field(
        description="People take the quickest way, turn away from others, and slow down as the gap ahead closes."
    )
    T: Positive = Field(FOLLOWING_TIME, description="Time gap (s) that people keep to the person ahead.")
    own: NotNegative = Field(OWN_WEIGHT, description="Weight (m2) of the density of people with the same goal.")
    others: NotNegative = Field(OTHERS_WEIGHT, description="Weight (m2) of the density of all others.")
    strength: NotNegative = Field(STRENGTH, description="Repulsion of two people who touch.")
    decay: Positive = Field(DECAY, description="Distance (m) over which the repulsion falls by a factor e.")

    def build(self, wish: Wish, plan: Plan, radii: Array) -> Wish:
        parameters = {name: getattr(self, name) for name in type(self).model_fields if name != "kind"}
        return Pedestrians(**parameters)(wish, plan, radii)


class InhibitionTable(Table):
    """People keep a time gap to the person ahead on the shortest way."""

    kind: Literal["inhibition"] = Field(
        description="Nobody walks faster than the free distance ahead divided by T; people do not step aside."
    )
    T: Positive = Field(TIME_GAP, description="Time gap T (s).")

    def build(self, wish: Wish, plan: Plan, radii: Array) -> Wish:
        return inhibition(wish, radii, T=self.T)


class PlainTable(Table):
    """People walk the shortest way and push."""

    kind: Literal["plain"] = Field(
        description="The model of Venel 2009: everyone walks the shortest way at their own speed, and pushes."
    )

    def build(self, wish: Wish, plan: Plan, radii: Array) -> Wish:
        return wish


Behaviour = Annotated[PedestriansTable | InhibitionTable | PlainTable, Field(discriminator="kind")]
DEFAULT = PedestriansTable.model_validate({"kind": "pedestrians"})
"""The behaviour if the file does not name one."""
