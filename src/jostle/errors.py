"""What can go wrong, each with what was expected, what came, and what to do.

Every error of the library is a `JostleError` and also the builtin it is, so that
``except ValueError`` works. Errors raised inside `solve` carry the step, the time
and the solution computed so far (``error.step``, ``error.time``, ``error.solution``).
"""

from __future__ import annotations

import pickle
import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class JostleError(Exception):
    """The parent of all errors of the library."""

    step: int | None = None
    time: float | None = None
    solution: Any = None

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.step is None else f"step {self.step} (t = {self.time:.6g}): {text}"


class InvalidValue(JostleError, ValueError):
    """A number, an array or a shape that the mathematics does not allow."""


class InfeasibleStart(JostleError, ValueError):
    """The start q0 is outside Q(0): some gap is negative."""


class UndefinedGradient(JostleError, ValueError):
    """The gradient of a gap that matters is zero or not finite (coincident centres, say)."""


class EmptySet(JostleError, ValueError):
    """No point satisfies all constraints: closing walls, jammed growing radii.

    ``error.rows`` are the constraints that contradict each other, and ``error.weights`` the proof: y >= 0 with
    G^T y = 0 and c . y < 0.
    """

    def __init__(
        self,
        message: str,
        rows: NDArray[np.int64] | None = None,
        weights: NDArray[np.float64] | None = None,
        iterations: int = 0,
    ):
        super().__init__(message)
        self.rows, self.weights = rows, weights
        self.iterations = iterations
        """Number of iterations that the solver took before there was a proof."""


class NotConverged(JostleError, RuntimeError):
    """A solver stopped before its test was met; ``error.projection`` is the `Projection` that it had."""

    def __init__(self, message: str, projection: Any = None):
        super().__init__(message)
        self.projection = projection


class NotContinuous(JostleError, RuntimeError):
    """Two starts as near as one likes have solutions far apart: ``error.solution`` and ``error.other``."""

    def __init__(self, message: str, solution: Any = None, other: Any = None):
        super().__init__(message)
        self.solution, self.other = solution, other


class NoContraction(JostleError, RuntimeError):
    """The fixed point of an implicit force does not contract: h is too large."""


class LeftTheSet(JostleError, RuntimeError):
    """A step left Q: a linearised scheme met a gap that is not convex in q, or a centre went through a wall."""


class NotFinite(JostleError, FloatingPointError):
    """A force, a position, a gap or a radius became NaN or infinite."""


class UnresolvedEvent(JostleError, RuntimeError):
    """An event of `solve_by_events` that cannot be computed safely; ``error.solution`` holds the motion until then.

    Also more impacts of `macro.StickyBlocks` than can be followed; ``error.time`` is the time of the last one.
    """


class SchemeRefuses(JostleError, NotImplementedError):
    """The problem is not one that this scheme can solve."""


class NotPicklable(JostleError, pickle.PicklingError, TypeError):
    """A part of a problem cannot be sent to another process; the message names it."""


class CannotCompile(JostleError, TypeError):
    """A function that numba cannot compile; the message names it, and says why."""


class DeviceUnavailable(JostleError, RuntimeError):
    """The device asked for is not there."""


class BrokenFile(JostleError, OSError):
    """A file is not what it should be, or is damaged."""


class NoSuchFile(JostleError, FileNotFoundError):
    """There is no file of this name."""


class FileIsThere(JostleError, FileExistsError):
    """A file of this name exists already."""


class FileInUse(JostleError, OSError):
    """Another process, or another writer of this one, is writing the file."""


class WriteFailed(JostleError, OSError):
    """A disk that is full or fails; ``error.frames`` frames are safe."""

    frames: int = 0


class MissingPackage(JostleError, ImportError):
    """Something optional is not installed; the message says how to get it."""


class BrokenPlugin(JostleError, ImportError):
    """A plug-in of another package cannot be imported, or is not what its entry point says."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed during a run: the step was finished, and ``error.solution`` holds the run up to it.

    Attributes
    ----------
    solution : Solution or None
        The solution up to the last step that was finished.
    results : object or None
        The results of the finished runs, where a study was interrupted.

    Examples
    --------
    >>> import jostle as jo, signal
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> def hit_ctrl_c(progress):
    ...     if progress.step == 3:
    ...         signal.raise_signal(signal.SIGINT)
    >>> try:
    ...     jo.solve(ball, jo.Maury(), t=1.0, h=0.01, progress=hit_ctrl_c)
    ... except jo.Interrupted as error:
    ...     print(error, len(error.solution.t))
    interrupted after step 3, t = 0.03 4
    """

    solution: Any = None
    results: Any = None


class JostleWarning(UserWarning):
    """The parent of all warnings of the library."""


class CloseImpacts(JostleWarning):
    """Two impacts of one body came too close to each other for the time step of `Paoli`; the message has one that is
    short enough."""


class NotApproaching(JostleWarning):
    """Moreau's law with e > 0 was applied to a velocity that is not in -C."""


class EnergyDrift(JostleWarning):
    """A run with e = 1 lost or gained a notable part of its energy; the message says how much, and what to do."""


class LongStep(JostleWarning):
    """The time step is longer than that up to which the results of a model are known to depend little on it."""


class OldSpelling(JostleWarning, FutureWarning):
    """A scenario file uses a kind or a key that has another name now; the message says which."""


def warn(text: str, category: type[JostleWarning]) -> None:
    """Warn at the line that called the library, through however many functions of it the call went."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, category, stacklevel=depth)
