"""What all problems of scenarios share: how they become something for `solve`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar, NamedTuple

from jostle.errors import JostleError
from jostle.problems import Motion, Sweeping
from jostle.scenarios.endings import Ending
from jostle.scenarios.fields import Complaint, Path, Table
from jostle.schemes.state import State

Change = Callable[[State], State]


class Built(NamedTuple):
    """What a kind of problem builds.

    >>> import jostle as jo
    >>> Built(jo.Motion(q0=[1.0])).change
    ()
    """

    problem: Motion | Sweeping
    change: tuple[Change, ...] = ()
    """Functions that let bodies come and go, as `solve` takes them."""
    empty: Ending | None = None
    """Tells whether nobody is left; it ends runs with until = { kind = "empty" }."""


class ProblemTable(Table):
    """The table [problem] of a scenario. A new kind defines its keys and `build`; the rest has defaults.

    >>> from typing import Literal
    >>> import jostle as jo
    >>> class Fall(ProblemTable):
    ...     kind: Literal["fall"]
    ...     height: float = 1.0
    ...     def build(self, seed):
    ...         return Built(jo.Motion(q0=[self.height], force=[-9.81], within=jo.HalfSpace([1.0])))
    >>> Fall(kind="fall", height=2.0).build(seed=0).problem.q0.tolist()
    [2.0]

    ``jo.scenarios.KINDS.register("fall", Fall)``, or an entry point of a package, makes it known to scenario files.
    """

    first_order: ClassVar[bool] = False
    """Is it a first-order problem (`Sweeping`), without inertia?"""
    endings: ClassVar[tuple[str, ...]] = ("never", "at_rest")
    """The kinds of `run.until` that make sense for it; the default comes from `ending`."""
    tol: ClassVar[float | None] = None
    """The tolerance of the solver, if the file does not say."""
    step: ClassVar[float | None] = None
    """The time step (s), if the file does not say; None: it must."""
    example: ClassVar[str] = ""
    """The text of a scenario file with this kind, for `jostle new`."""

    kind: str

    def scheme(self) -> str:
        """The scheme that is used if the file does not say."""
        return "venel" if self.first_order else "paoli"

    def ending(self) -> str:
        """The kind of `run.until` that is used if the file does not say."""
        return "never"

    def needs(self) -> dict[str, Path]:
        """What a scheme must be able to do, in the words of `schemes.abilities`, and the key that asks for it."""
        return {}

    def refuses_ending(self, kind: str) -> Iterator[str]:
        """Why this kind of `run.until`, though among `endings`, does not fit what the file says."""
        yield from ()

    def beyond(self, t: float) -> Iterator[Complaint]:
        """What the file says about times that the run, which ends at t, does not come to."""
        yield from ()

    def build(self, seed: int) -> Built:
        """The problem as the library knows it."""
        raise NotImplementedError


class Misfit(Exception):
    """An error of the library, and the key of the scenario that it belongs to."""

    def __init__(self, path: Path, error: JostleError):
        super().__init__(str(error))
        self.path, self.error = path, error


@contextmanager
def belongs_to(*path: str | int) -> Iterator[None]:
    """Errors of the library raised inside belong to this key; blocks inside each other add up to a path."""
    try:
        yield
    except JostleError as error:
        raise Misfit(path, error) from error
    except Misfit as inner:
        raise Misfit((*path, *inner.path), inner.error) from inner.error
