"""The base class of all problems of scenario files, which they build for `solve`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from jostle.errors import JostleError, MissingPackage
from jostle.macro.motion.problems import Crowd, Flow
from jostle.problems import Motion, Sweeping
from jostle.scenarios.fields import Complaint, Table
from jostle.scenarios.toml import Path

AnyProblem = Motion | Sweeping | Crowd | Flow
"""The problem that `solve` or, for a density, `macro.solve` takes."""


class ProblemTable(Table):
    """Base class of the table [problem] of a scenario: a new kind of problem defines its keys and `build`.

    ``jo.scenarios.KINDS.register("fall", Fall)``, or an entry point of a package, makes a kind known to scenario files.
    The class attributes below have defaults that a new kind may replace.

    Parameters
    ----------
    kind : str
        Name of the kind in scenario files; a subclass annotates it as ``Literal["name"]``.

    Attributes
    ----------
    first_order : bool
        True for a first-order problem (`Sweeping`), without inertia. The default is False.
    endings : tuple of str
        Kinds of `run.until` that make sense for the problem. The default is ("never", "at_rest").
    tol : float or None
        Tolerance of the solver if the file does not set it. None keeps that of the solver.
    step : float or None
        Time step (s) if the file does not set it. None means that the file must set it.
    longest_interval : float or None
        Longest time between two saved frames (s) if the file does not set it. None means no limit.
    example : str
        Text of a scenario file with this kind, for `jostle new`.

    Examples
    --------
    >>> from typing import Literal
    >>> import jostle as jo
    >>> class Fall(ProblemTable):
    ...     kind: Literal["fall"]
    ...     height: float = 1.0
    ...     def build(self, seed):
    ...         return jo.Motion(q0=[self.height], force=[-9.81], within=jo.HalfSpace([1.0]))
    >>> Fall(kind="fall", height=2.0).build(seed=0).q0.tolist()
    [2.0]
    """

    first_order: ClassVar[bool] = False
    endings: ClassVar[tuple[str, ...]] = ("never", "at_rest")
    tol: ClassVar[float | None] = None
    step: ClassVar[float | None] = None
    longest_interval: ClassVar[float | None] = None
    example: ClassVar[str] = ""

    kind: str

    def scheme(self) -> str:
        """The kind of the scheme that is used if the file does not name one.

        Returns
        -------
        str
            A name in `jostle.schemes.SCHEMES`: "venel" for first-order problems, else "paoli", unless overridden.
        """
        return "venel" if self.first_order else "paoli"

    def ending(self) -> str:
        """The kind of `run.until` that is used if the file does not set it.

        Returns
        -------
        str
            One of `endings`; "never" unless a subclass changes it.
        """
        return "never"

    def needs(self) -> dict[str, Path]:
        """The capabilities that a scheme must have for this problem, each with the key that requires it.

        Returns
        -------
        dict of str to path
            The capabilities as named in `jostle.schemes.capabilities`, with the path of a key relative to [problem],
            such as ``("walls", 0)``. Empty unless a subclass changes it.
        """
        return {}

    def refuses_ending(self, kind: str) -> Iterator[str]:
        """Reasons why a kind of `run.until`, although among `endings`, does not suit the contents of the file.

        Parameters
        ----------
        kind : str
            The kind of `run.until`.

        Yields
        ------
        str
            An error message.
        """
        yield from ()

    def beyond(self, t: float) -> Iterator[Complaint]:
        """Errors about times in the file that are not before the end of the run.

        Parameters
        ----------
        t : float
            End time of the run (s).

        Yields
        ------
        pair of path and str
            The path of a key relative to [problem], and what is allowed there.
        """
        yield from ()

    def build(self, seed: int) -> AnyProblem:
        """Build the problem that the table describes.

        Parameters
        ----------
        seed : int
            Seed of all random numbers of the problem.

        Returns
        -------
        Motion, Sweeping, macro.Crowd or macro.Flow
            The problem for `solve`, which says itself what changes and ends its runs; for a density, for `macro.solve`.
        """
        raise NotImplementedError


class Misfit(Exception):
    """An error of the library, with the key of the scenario that caused it."""

    def __init__(self, path: Path, error: JostleError):
        super().__init__(str(error))
        self.path, self.error = path, error


@contextmanager
def belongs_to(*path: str | int) -> Iterator[None]:
    """Attribute errors of the library raised in this block to a key; nested blocks make up a path."""
    try:
        yield
    except MissingPackage:  # which is no matter of the file
        raise
    except JostleError as error:
        raise Misfit(path, error) from error
    except Misfit as inner:
        raise Misfit((*path, *inner.path), inner.error) from inner.error
