"""What all problems of scenarios share: how they become something for `solve`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

from jostle.problems import Motion, Sweeping
from jostle.scenarios.endings import Ending
from jostle.scenarios.fields import Complaint, Path, Table
from jostle.schemes.state import State

Change = Callable[[State], State]


class Built(NamedTuple):
    """A problem, who comes and goes, and when nobody is left."""

    problem: Motion | Sweeping
    change: tuple[Change, ...] = ()
    empty: Ending | None = None


class ProblemTable(Table):
    """What moves."""

    first_order: ClassVar[bool] = False
    """Is it a sweeping process, without inertia?"""
    endings: ClassVar[tuple[str, ...]] = ("never", "at_rest")
    """The kinds of `run.until` that make sense for it; the default comes from `ending`."""
    tol: ClassVar[float | None] = None
    """The tolerance of the solver, if the file does not say."""

    def scheme(self) -> str:
        """The scheme that fits, if the file does not say."""
        return "venel" if self.first_order else "paoli"

    def ending(self) -> str:
        return "never"

    def refuses(self, scheme: str) -> Iterator[Complaint]:
        """Why this scheme does not fit; the path is that of the key which says so."""
        yield from ()

    def build(self, seed: int) -> Built:
        """The problem as the library knows it."""
        raise NotImplementedError


class Misfit(Exception):
    """An error of the library, and the key of the problem that it belongs to."""

    def __init__(self, path: Path, error: Any):
        super().__init__(str(error))
        self.path, self.error = path, error


@contextmanager
def belongs_to(*path: str | int) -> Iterator[None]:
    """Errors of the library raised inside belong to this key of the problem."""
    from jostle.errors import JostleError

    try:
        yield
    except JostleError as error:
        raise Misfit(path, error) from error
