"""A scheme of a plug-in."""

from dataclasses import dataclass
from typing import ClassVar

import jostle as jo
from jostle.schemes.capabilities import MOVING, RESTITUTION, SECOND


@dataclass(frozen=True, kw_only=True)
class Damped(jo.Maury):
    """Maury's scheme with a linear damping of all velocities."""

    capabilities: ClassVar[frozenset[str]] = frozenset({SECOND, MOVING, RESTITUTION})

    rate: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rate < 0.0:
            raise jo.InvalidValue(f"rate must not be negative, it is {self.rate}")

    def step(self, problem: jo.Motion, state: jo.schemes.State, h: float) -> jo.schemes.State:
        return super().step(problem, state.replace(u=state.u / (1.0 + h * self.rate)), h)
