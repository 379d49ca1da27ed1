"""The checkpoints of a run: what a time loop saves to be resumed, and how it resumes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jostle._tools.arrays import to_host
from jostle._tools.of_run import remembering
from jostle.errors import BrokenFile, InvalidValue
from jostle.result.recording import Saver, smallest_gap
from jostle.run.devices import Device
from jostle.run.steps import Grid
from jostle.schemes.base import Scheme
from jostle.schemes.state import State
from jostle.sets.user import differences_of

if TYPE_CHECKING:
    from jostle.io.checkpoint import Checkpoint, Contents, Position
    from jostle.io.saving import Output


class Checkpoints:
    """The checkpoints of a run of bodies or of a density, if it has any."""

    compared = "problem"
    """Name of the object that depends on the past and whose values are compared when a run is resumed."""

    def __init__(
        self,
        output: Output | None,
        problem: Any,
        scheme: Any,
        grid: Grid,
        free: dict[str, Any],
        things: Mapping[str, Any],
        acting: Any = (),
    ) -> None:
        """`free` are the settings that may change when the run is resumed, `things` those that may remember."""
        self.problem, self.scheme, self.grid = problem, scheme, grid
        self.past = {name: found for name, thing in things.items() if (found := remembering(thing)) is not None}
        """Objects that depend on the past of the run, by the name of their argument."""
        self.forget()  # before the run is described
        self.run: Any = None
        self.checkpoint: Checkpoint | None = None
        self.resume = output is not None and output.resume
        self.changed: dict[str, list[str]] = {}
        """What changed when the run was resumed: {name: [old, new]}."""
        if output is None or output.checkpoint is None:
            return
        from jostle.io.checkpoint import Checkpoint
        from jostle.io.identity import Called, Run

        self.checkpoint = Checkpoint(Path(output.checkpoint), output.seconds, output.random, output.overwrite)
        called = Called(self.functions, self.checkpoint.random, self.past.get(self.compared))
        uncalled = {name: thing for name, thing in things.items() if name != self.compared}
        times = grid.start, grid.end
        self.run = Run(problem, scheme, acting, times, grid.sizes, {"t": grid.end, **free}, called, uncalled)
        self.forget()

    def functions(self, t: float, state: Any) -> dict[str, Callable[[], Any]]:
        """The functions of the problem at a time and a state, by which two runs are compared."""
        raise NotImplementedError

    def values(self, position: Position) -> dict[str, Any]:
        """The state of a position, as numbers and arrays by name."""
        raise NotImplementedError

    def state_in(self, kept: Contents) -> Any:
        """The state that a checkpoint contains."""
        raise NotImplementedError

    def completed(self, position: Position, kept: Contents) -> Position:
        """The position with what else the checkpoint contains, after checks."""
        return position

    def load(self) -> Position:
        """The position to resume from."""
        assert self.checkpoint is not None
        position, kept = self.checkpoint.load(self.run, self.past, self.state_in)
        position, self.changed = self.completed(position, kept), self.run.changes(kept.run())
        self.grid.check_reached(position.step, position.state.t)
        self.run.warn_of_functions()
        return position

    def forget(self) -> None:
        """Begin without memories; comparing two runs calls functions, which may remember it."""
        self.restore({})

    def restore(self, noted: Mapping[str, Any]) -> None:
        """Give each object that depends on the past its memory at this position; None at the start."""
        for name, thing in self.past.items():
            try:
                thing.restore(noted.get(name))
            except InvalidValue as error:
                if name not in noted or self.checkpoint is None:
                    raise
                raise BrokenFile(f"{self.checkpoint.path} is damaged, in the memory of the {name}: {error}") from None

    def check_free(self) -> None:
        if self.checkpoint is not None:
            self.checkpoint.check_free(self.run, self.past, self.state_in)
            self.forget()

    def clear(self) -> None:
        if self.checkpoint is not None:
            self.checkpoint.clear()

    def try_writing(self, state: Any, quality: str) -> None:
        """Write a checkpoint of the first state for a trial: the first one to keep may come after a minute."""
        if self.checkpoint is not None:
            from jostle.io.checkpoint import Position

            position = Position(state, 0, quality, 0, 0, self.checkpoint.drawn(), self._noted())
            self._write(position, trial=True)

    def advice(self) -> str:
        """What to do after the files of the run could not be written any more."""
        if self.checkpoint is None or not self.checkpoint.written:
            return "start the run again"
        return f"resume the run from {self.checkpoint.path}"

    def _noted(self) -> dict[str, Any]:
        """What objects remember now; some change their memory in place."""
        return {name: deepcopy(thing.memory) for name, thing in self.past.items()}

    def position(self, saver: Saver, state: Any, number: int, quality: str) -> Position | None:
        """Where the run stands, to resume it from here."""
        if self.checkpoint is None:
            return None
        from jostle.io.checkpoint import Position

        frames, records, impacts = saver.counted
        return Position(
            state, number, quality, frames, records, self.checkpoint.drawn(), self._noted(),
            impacts=impacts, closing=None if saver.log is None else saver.log.memory,
        )  # fmt: skip

    def save(self, saver: Saver, position: Position | None) -> None:
        if position is not None:
            saver.commit()
            position = position._replace(frame_checksum=saver.frame_checksum(position.frames))
            now = self._noted()
            self.restore(deepcopy(position.noted))
            self._write(position)
            self.restore(now)

    def _write(self, position: Position, *, trial: bool = False) -> None:
        """Write the checkpoint of a position, of which all objects have been reminded."""
        assert self.checkpoint is not None
        self.checkpoint.save(self.run, position, self.values(position), trial=trial)


class CheckpointsOfRun(Checkpoints):
    """The checkpoints of a run of bodies."""

    def __init__(
        self,
        output: Output | None,
        problem: Any,
        scheme: Scheme,
        acting: Any,
        ending: Any,
        grid: Grid,
        free: dict[str, Any],
        where: Device,
    ) -> None:
        self.where = where
        things = {"until": free["until"], "ending": ending, "problem": getattr(problem, "past", None)}
        things |= {f"change{k}": change for k, change in enumerate(acting)}
        things |= {f"within{k}": one for k, one in enumerate(differences_of(problem.within))}
        super().__init__(output, problem, scheme, grid, free, things, acting)

    def functions(self, t: float, state: State | None) -> dict[str, Callable[[], Any]]:
        from jostle.io.identity import functions_of

        return functions_of(self.problem, t, state)

    def values(self, position: Position) -> dict[str, Any]:
        from jostle.io.checkpoint import values_of_bodies

        return values_of_bodies(position)

    def state_in(self, kept: Contents) -> State:
        return kept.state(self.problem, self.scheme)

    def completed(self, position: Position, kept: Contents) -> Position:
        from jostle.io.checkpoint import check_inside

        gap = kept.number("gap", finite=False)
        check_inside(kept.path, self.problem, position.state, gap)
        closing = kept.closing(self.problem, position.state)
        return position._replace(gap=gap, closing=closing)

    def _write(self, position: Position, *, trial: bool = False) -> None:
        state = self.where.host(position.state)
        position = position._replace(state=state, gap=smallest_gap(self.problem, state))
        super()._write(position._replace(closing=to_host(position.closing)), trial=trial)
