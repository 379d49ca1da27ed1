"""One run of a study, in any process: the result is measured there, and only numbers are sent back."""

from __future__ import annotations

import math
import os
import pickle
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from jostle.ensembles.measures import Measure
from jostle.ensembles.study import RunOf
from jostle.ensembles.subjects import Subject
from jostle.errors import InvalidValue
from jostle.kernels.blas import one_blas_thread
from jostle.kernels.threads import threads, use_threads
from jostle.solution import Solution
from jostle.statuses import FAILED, FINISHED

ONE_THREAD = dict.fromkeys(
    ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
"""Environment of a process in which numba and BLAS use one thread."""
MAX_WORKS = 4
"""Number of studies whose unpickled functions a process keeps."""


@dataclass(frozen=True)
class Work:
    """The part of a study that all runs share: the subject, the measures, and the folder of the trajectories."""

    subject: Subject
    measures: Mapping[str, Measure]
    curves: Mapping[str, Measure]
    trajectories: Path | None


@dataclass(frozen=True)
class Outcome:
    """The status and the results of a run, in types that JSON can store."""

    run: int
    status: str
    measures: dict[str, float] = field(default_factory=dict)
    curves: dict[str, list[float]] = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0
    """Duration of the run."""
    cpu_seconds: float = 0.0
    """CPU time of the thread of the run."""

    @property
    def failed(self) -> bool:
        """Whether the run ended with an error."""
        return bool(self.error)

    def as_dict(self) -> dict[str, Any]:
        """The fields by their names."""
        return asdict(self)


def execute(work: bytes | Work, run: RunOf) -> Outcome:
    """Do one run on one thread, and measure it. Errors are recorded in the outcome."""
    begin, cpu = time.perf_counter(), time.thread_time()
    try:
        with _one_thread():
            status, measures, curves = _measured(_unpacked(work) if isinstance(work, bytes) else work, run)
        error = ""
    except (Exception, SystemExit) as problem:  # noqa: BLE001 the function of a user may raise anything
        status, measures, curves, error = FAILED, {}, {}, _told(problem)
    return Outcome(run.number, status, measures, curves, error, time.perf_counter() - begin, time.thread_time() - cpu)


@lru_cache(MAX_WORKS)
def _unpacked(work: bytes) -> Work:
    try:
        return pickle.loads(work)  # type: ignore[no-any-return]
    except (AttributeError, ImportError) as error:
        raise InvalidValue(
            f"a function of the study cannot be imported in the process that runs it ({error}): define it at the top "
            f"level of a module that can be imported there, or install cloudpickle"
        ) from None


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread for a run, because several runs at once already use all cores."""
    if ONE_THREAD.items() <= os.environ.items():
        yield
        return
    before = threads()
    use_threads(1)
    try:
        with one_blas_thread():
            yield
    finally:
        use_threads(before)


def _told(problem: BaseException) -> str:
    """The error in one line; errors of other packages with the file and the line where they were raised."""
    words = " ".join(f"{type(problem).__name__}: {problem}".split())
    place = next(iter(traceback.extract_tb(problem.__traceback__)[-1:]), None)
    if type(problem).__module__.startswith("jostle.") or place is None:
        return words
    return f"{words} ({Path(place.filename).name}, line {place.lineno})"


def _measured(work: Work, run: RunOf) -> tuple[str, dict[str, float], dict[str, list[float]]]:
    result = work.subject.run(run.parameters, run.seed)
    if not hasattr(result, "status"):
        if work.measures or work.curves or work.trajectories is not None:
            raise InvalidValue(
                f"measures, curves and trajectories need a Solution, but the run returned {type(result).__name__}"
            )
        return FINISHED, _returned(result), {}
    if work.trajectories is not None:
        _keep(result, work.trajectories / f"{run.number:06d}.vtkhdf", run)
    measures = {name: number(name, measure(result)) for name, measure in work.measures.items()}
    return result.status, measures, {name: numbers(name, curve(result)) for name, curve in work.curves.items()}


def _returned(result: Any) -> dict[str, float]:
    """The results of a function that returns numbers."""
    if isinstance(result, Mapping):
        return {str(name): number(str(name), value) for name, value in result.items()}
    return {"result": number("result", result)}


def number(name: str, value: Any) -> float:
    """The number that a measure returned, as a float or an int; anything else, including NaN, is an error.

    >>> number("mass", np.float32(0.5)), number("people", np.int64(3))
    (0.5, 3)
    """
    if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, int | float):
        shown = f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)[:60]
        raise InvalidValue(f"the measure {name!r} must return one number, not {shown}; lists of numbers are `curves`")
    if math.isnan(value):
        raise InvalidValue(f"the measure {name!r} is NaN (not a number) in this run")
    return value if isinstance(value, float) else int(value)


def numbers(name: str, values: Any) -> list[float]:
    """The numbers that a curve returned; NaN is an error.

    >>> numbers("times", [1, 2.5])
    [1.0, 2.5]
    """
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype.kind not in "biuf":
        raise InvalidValue(
            f"the curve {name!r} must return a list of numbers, not {type(values).__name__} {found.shape}"
        )
    if np.isnan(found.astype(float)).any():
        raise InvalidValue(f"the curve {name!r} has a NaN (not a number) in this run")
    return [float(value) for value in found]


def _keep(result: Any, path: Path, run: RunOf) -> None:
    """Write the trajectory of a run, replacing one left by an earlier attempt."""
    from jostle.io import write

    if not isinstance(result, Solution):
        raise InvalidValue(
            f"trajectories can be kept for runs of bodies only, but this run returned {type(result).__name__}"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        path.unlink()
    about = {f"parameter {name}": str(value) for name, value in run.parameters.items()}
    write(result, path, about={"run": str(run.number), "seed": str(run.seed), **about})
