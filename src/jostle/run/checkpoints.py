"""The checkpoints of a run: what `solve` stores to be resumed, and how it resumes."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any

from jostle.errors import BrokenFile, InvalidValue
from jostle.problems import remembering
from jostle.result.recording import Recording, smallest_gap
from jostle.run.devices import Device
from jostle.run.steps import Grid
from jostle.schemes.base import Scheme
from jostle.schemes.state import State

if TYPE_CHECKING:
    from jostle.io.checkpoint import Position


class CheckpointsOfRun:
    """The checkpoints of a run, if it has any."""

    def __init__(
        self, checkpoint: Any, problem: Any, scheme: Scheme, made: Any, grid: Grid, free: dict[str, Any], where: Device
    ) -> None:
        self.where = where
        self.checkpoint, self.problem, self.scheme, self.grid = checkpoint, problem, scheme, grid
        things = {"until": free["until"], "problem": getattr(problem, "past", None)}
        things |= {f"change{k}": change for k, change in enumerate(made)}
        self.past = {name: found for name, thing in things.items() if (found := remembering(thing)) is not None}
        """Objects that depend on the past of the run, by the name of their argument."""
        self._forget()  # before the run is described
        self.run: Any = None
        self.changed: dict[str, list[str]] = {}
        """What changed when the run was resumed: {name: [old, new]}."""
        if checkpoint is None:
            return
        from jostle.io.checkpoint import Checkpoint
        from jostle.io.run_identity import Called, Run, functions_of

        self.checkpoint = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
        told = {"t": grid.end, **free}
        called = Called(partial(functions_of, problem), self.checkpoint.random, self.past.get("problem"))
        self.run = Run(problem, scheme, made, (grid.start, grid.end), grid.sizes, told, called)
        self._forget()

    def load(self) -> Position:
        """The position to resume from."""
        if self.checkpoint is None:
            raise InvalidValue("resume needs a checkpoint: solve(..., checkpoint=..., resume=True)")
        position, self.changed = self.checkpoint.load(self.run, self.past)
        self.grid.check_reached(position.step, position.state.t)
        return position  # type: ignore[no-any-return]

    def _forget(self) -> None:
        """Begin without memories; comparing two runs calls functions, which may remember it."""
        self.remind({})
        self.problem.within.memory = None

    def remind(self, noted: Mapping[str, Any]) -> None:
        """Give each object that depends on the past its memory at this position; None at the start."""
        for name, thing in self.past.items():
            try:
                thing.remind(noted.get(name))
            except InvalidValue as error:
                if name not in noted:
                    raise
                raise BrokenFile(f"{self.checkpoint.path} is damaged, in the memory of the {name}: {error}") from None

    def check_free(self) -> None:
        if self.checkpoint is not None:
            self.checkpoint.check_free(self.run, self.past)
            self._forget()

    def clear(self) -> None:
        if self.checkpoint is not None:
            self.checkpoint.clear()

    def due(self) -> bool:
        return self.checkpoint is not None and self.checkpoint.due()

    def position(
        self, recorder: Recording, state: State, number: int, quality: str, remembered: Any
    ) -> Position | None:
        """Where the run stands, to resume it from here; `remembered` is the memory of the admissible set."""
        if self.checkpoint is None:
            return None
        from jostle.io.checkpoint import Position

        noted = {name: deepcopy(thing.memory) for name, thing in self.past.items()}  # some change theirs in place
        return Position(state, number, quality, *recorder.counted, self.checkpoint.drawn(), noted, within=remembered)

    def save(self, recorder: Recording, position: Position | None) -> None:
        if position is not None:
            recorder.commit()
            state = self.where.host(position.state)
            now = {name: deepcopy(thing.memory) for name, thing in self.past.items()}
            self.remind(deepcopy(position.noted))
            self.checkpoint.save(self.run, position._replace(state=state, gap=smallest_gap(self.problem, state)))
            self.remind(now)
