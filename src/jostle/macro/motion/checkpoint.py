"""The checkpoints of a run of a density."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jostle.errors import InvalidValue
from jostle.io.checkpoint import Contents, Position
from jostle.io.saving import Output
from jostle.macro.grid import Velocity
from jostle.macro.motion.problems import Crowd, Flow, State
from jostle.macro.motion.scheme import Scheme
from jostle.run.checkpoints import Checkpoints
from jostle.run.steps import Grid


class CheckpointsOfDensity(Checkpoints):
    """The checkpoints of a run of a density, if it has any."""

    compared = "velocity"

    def __init__(
        self,
        output: Output | None,
        problem: Crowd | Flow,
        scheme: Scheme,
        grid: Grid,
        free: dict[str, Any],
        things: Mapping[str, Any],
    ) -> None:
        if output is not None and output.random is not None:
            raise InvalidValue("the run of a density uses no random numbers: remove random= from the output")
        super().__init__(output, problem, scheme, grid, free, things)

    def functions(self, t: float, state: State | None) -> dict[str, Callable[[], Any]]:
        # The desired velocity of a crowd, which does not depend on the state.
        problem = self.problem
        if isinstance(problem, Flow) or isinstance(problem.velocity, Velocity):
            return {}
        return {"velocity": lambda: np.concatenate([faces.ravel() for faces in problem.wish(t)])}

    def values(self, position: Position) -> dict[str, Any]:
        state: State = position.state
        x, y = state.velocity
        return state._asdict() | {"velocity": x, "velocity_y": y}

    def state_in(self, kept: Contents) -> State:
        nx, ny = self.problem.grid.shape
        density, pressure = (kept.array(name, (nx, ny)) for name in ("density", "pressure"))
        velocity = kept.array("velocity", (nx + 1, ny)), kept.array("velocity_y", (nx, ny + 1))
        numbers = kept.number("gone"), kept.count("iterations"), kept.count("substeps")
        return State(kept.number("t"), density, velocity, pressure, *numbers)
