"""All errors and warnings of the library.

A message says what is wrong, where, and what to do. Every error is a `JostleError` and also an error of Python, so that
``except ValueError`` works. Errors raised inside `solve` carry the step, the time and the solution computed so far
(``error.step``, ``error.time``, ``error.solution``).
"""

from __future__ import annotations

import pickle
import sys
import warnings
from signal import SIGINT
from typing import TYPE_CHECKING, Any

__all__ = [
    "BrokenFile",
    "BrokenPlugin",
    "CannotCompile",
    "CloseImpacts",
    "DeviceUnavailable",
    "EmptySet",
    "EnergyDrift",
    "FileInUse",
    "FileIsThere",
    "Implausible",
    "Interrupted",
    "LongStep",
    "MissingPackage",
    "NoContraction",
    "NoDerivative",
    "NoFriction",
    "NoSuchFile",
    "NotApproaching",
    "NotContinuous",
    "NotFinite",
    "NotPicklable",
    "NotReproducible",
    "RoundedEvents",
    "SchemeRefuses",
    "UndefinedGradient",
    "UnresolvedEvent",
    "UnstableStep",
    "WeakContacts",
    "Wedged",
    "WriteFailed",
    "WrongCall",
]
"""All but those that `jostle` itself has: the ones that programs catch most often."""

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class JostleError(Exception):
    """Base class of all errors of the library.

    Attributes
    ----------
    step : int or None
        Number of the step that failed; None outside of runs.
    time : float or None
        Time that the step would have led to; None outside of runs.
    solution : Solution or None
        The solution up to the step before; None outside of runs.
    """

    step: int | None = None
    time: float | None = None
    solution: Any = None

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.step is None else f"step {self.step} (t = {self.time:.6g}): {text}"


class InvalidValue(JostleError, ValueError):
    """An argument has a value or a shape that is not allowed."""


class WrongCall(JostleError, TypeError):
    """A call has an argument of an unknown name, or lacks one; the message says what the argument is called here."""


class InfeasibleStart(JostleError, ValueError):
    """The start q0 is not admissible: some gap is negative, or an equality does not hold."""


class UndefinedGradient(JostleError, ValueError):
    """The gradient of an active constraint is zero or not finite, as for two balls with the same centre."""


class EmptySet(JostleError, ValueError):
    """No point satisfies all constraints, and there is a proof: walls close, or bodies grow in a jam.

    The proof is that of Farkas' lemma, weights y >= 0 with G^T y = 0 and c . y < 0, in which each entry of G^T y is at
    most as large as the round-off of its terms: no point satisfies every constraint by more than the round-off of its
    gap. Bodies that have more volume than the box that holds them are a proof without weights. A solver that finds no
    point, and no proof that there is none, raises `NotConverged`.

    Attributes
    ----------
    rows : array of int or None
        The constraints that contradict each other.
    weights : array or None
        The proof: y >= 0, of any sign in equalities, with G^T y = 0 up to round-off and c . y < 0.
    iterations : int
        Number of iterations that the solver took before it found the proof.
    proof : str
        The proof in words, which ends the message.
    """

    def __init__(
        self,
        message: str,
        rows: NDArray[np.int64] | None = None,
        weights: NDArray[np.float64] | None = None,
        iterations: int = 0,
        proof: str = "",
    ):
        super().__init__(message)
        self.rows, self.weights = rows, weights
        self.iterations, self.proof = iterations, proof

    def __str__(self) -> str:
        return super().__str__() + (f". Proof: {self.proof}" if self.proof else "")

    def because(self, why: str) -> EmptySet:
        """The same error with another sentence before its proof."""
        return EmptySet(f"{self.args[0]}. {why}", self.rows, self.weights, self.iterations, self.proof)


class NotConverged(JostleError, RuntimeError):
    """A solver stopped before it reached its tolerance; ``error.projection`` is its best `Projection`."""

    def __init__(self, message: str, projection: Any = None):
        super().__init__(message)
        self.projection = projection


class NotContinuous(JostleError, RuntimeError):
    """Arbitrarily close initial states lead to different solutions: ``error.solution`` and ``error.other``."""

    def __init__(self, message: str, solution: Any = None, other: Any = None):
        super().__init__(message)
        self.solution, self.other = solution, other


class NoContraction(JostleError, RuntimeError):
    """The fixed-point iteration of an implicit force does not contract: h is too large."""


class LeftTheSet(JostleError, RuntimeError):
    """A step left Q: a linearised scheme met a gap that is not convex, or a centre went through a wall or a ball."""


class NotFinite(JostleError, FloatingPointError):
    """A force, a position, a gap or a radius became NaN or infinite."""


class UnresolvedEvent(JostleError, RuntimeError):
    """`solve_by_events` cannot compute an event safely; ``error.solution`` holds the motion until then.

    `macro.StickyBlocks` raises it for more impacts than it can follow; ``error.time`` is the time of the last one.
    """


class NoDerivative(JostleError, ArithmeticError):
    """The end of a run has no derivative: neighbouring motions differ in kind, as where two contacts close at once."""


class SchemeRefuses(JostleError, NotImplementedError):
    """The scheme cannot solve the problem; the message names schemes that can."""


class NotPicklable(JostleError, pickle.PicklingError, TypeError):
    """A part of a problem cannot be sent to another process; the message names it."""


class CannotCompile(JostleError, TypeError):
    """Numba cannot compile a function; the message names it, and says why."""


class DeviceUnavailable(JostleError, RuntimeError):
    """The requested device is not available."""


class BrokenFile(JostleError, OSError):
    """A file has the wrong format, or is damaged."""


class NoSuchFile(JostleError, FileNotFoundError):
    """The file does not exist."""


class FileIsThere(JostleError, FileExistsError):
    """The file exists already."""


class FileInUse(JostleError, OSError):
    """Another process, or another writer of the same process, is writing the file."""


class WriteFailed(JostleError, OSError):
    """The disk is full or failed; the first ``error.frames`` frames are safe."""

    frames: int = 0


class MissingPackage(JostleError, ImportError):
    """An optional package is not installed; the message says how to install it."""


class BrokenPlugin(JostleError, ImportError):
    """A plug-in cannot be imported, or is not what its entry point says."""


class Interrupted(KeyboardInterrupt):
    """A signal such as Ctrl-C came during a run: the step was finished, and ``error.solution`` holds the run up to it.

    Attributes
    ----------
    solution : Solution or None
        The solution up to the last step that was finished.
    results : object or None
        The results of the finished runs, where a study was interrupted.
    signal : int
        Number of the signal: 2 after Ctrl-C.

    Examples
    --------
    >>> import jostle as jo, signal
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> def hit_ctrl_c(progress):
    ...     if progress.step == 3:
    ...         signal.raise_signal(signal.SIGINT)
    >>> try:
    ...     jo.solve(ball, jo.Maury(), t=1.0, h=0.01, progress=hit_ctrl_c)
    ... except jo.errors.Interrupted as error:
    ...     print(error, len(error.solution.t))
    interrupted after step 3, t = 0.03 4
    """

    solution: Any = None
    results: Any = None
    signal: int = SIGINT


class JostleWarning(UserWarning):
    """Base class of all warnings of the library."""


class CloseImpacts(JostleWarning):
    """Two impacts of one body are too close to each other for the time step of `Paoli`.

    The message contains a time step that is short enough.
    """


class NotApproaching(JostleWarning):
    """Moreau's law with e > 0 was applied to a velocity with which some contacts are already separating."""


class EnergyDrift(JostleWarning):
    """A run with e = 1 lost or gained a notable part of its energy; the message says how much, and what to do."""


class NoFriction(JostleWarning):
    """A law of friction was given, and some constraints have none, because they are functions of the user."""


class ThrownUp(JostleWarning):
    """The convex law of friction threw a body up that began to slide in contact; Coulomb's law does not."""


class Wedged(JostleWarning):
    """No impulses obeyed friction and restitution together in a step, so some contacts did not bounce in it."""


class Implausible(JostleWarning):
    """A value is possible, but not to be expected: people who do not move, or errors that grow as the step shrinks."""


class LongStep(JostleWarning):
    """The time step is longer than the longest one with which a model or a scheme is known to give reliable results."""


class UnstableStep(JostleWarning):
    """An explicit force is too stiff for the time step; the message says by how much, and what to do."""


class WeakContacts(JostleWarning):
    """Contacts of a differentiated run touch and do not push, so that only one-sided derivatives exist."""


class RoundedEvents(JostleWarning):
    """A differentiated run rounds the times of events to its steps: its derivative is not that of the motion."""


class NotReproducible(JostleWarning):
    """A run of a study gives other results each time, or a run with checkpoints cannot be resumed to the same result.

    The second happens if a force returns other values when it is called again, or if a condition or a change remembers
    what the checkpoint does not contain; see `jostle.problems.Remembers`.
    """


def warn(text: str, category: type[JostleWarning]) -> None:
    """Warn at the line of the user's program that called the library."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, category, stacklevel=depth)
