"""`solve(..., accuracy=...)`: halve the time step until solutions agree, and ask whether the limit can be trusted.

    d_k = max |q_k(t) - q_{k+1}(t)|  over the saved times of q_k and its end,    q_k the solution with steps h / 2^k
    error estimate of q_{k+1} = max(d_k, d_{k-1} / 2, d_{k-2} / 4)

The schemes are of first order, so d_k is about the error of q_{k+1}. Where impacts fall inside their steps makes single
d_k small by accident; the older ones guard against that. A run from a start that is a distance delta away then shows
whether the solution depends continuously on its data. If it does, the two come together as delta becomes smaller. At
corners where the angle conditions of Paoli 2005 (H5) or 2010 (H6) fail they do not: there are two limits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import Array, read_only
from jostle.errors import InvalidValue, JostleError, JostleWarning, NotContinuous, NotConverged, warn
from jostle.problems import Motion, Sweeping
from jostle.result.solution import Solution
from jostle.sets.nearest import nearest

Run = Callable[[Any, ArrayLike, int | float | None], Solution]
"""A function (problem, h, every) that solves the problem."""
MAX_HALVINGS = 14
"""Largest number of times that the step is halved."""
LOOK_BACK = 3
"""Number of differences that the error estimate looks at."""
STALLED = 7
"""Differences that do not fall to a half in this many halvings have stalled."""
APART = 2.0
"""Distance of the other start from q0, in multiples of the accuracy: limits that differ by a few of them are found."""
APART_STEPS = 8.0
"""Smallest distance of the other start, in displacements of one step: from a nearer one, successive impacts merge."""
MAX_SHORTER = 16
"""From the other start, steps are at most this many times shorter."""
NEARER = ((1, 1), (3, 2), (9, 4))
"""A start that ends far away is tried again, nearer by the first factor, with steps shorter by the second."""
AMPLIFICATION = 1.5
"""A start whose distance grows by less than this factor is not tried again."""
SHRINKING = 0.7
"""Distances that fall by this factor from one start to the next nearer one shrink; for a grazing impact it is 0.58."""
SAME_TIME = 1e-9
"""Two saved times are the same up to this fraction of the run."""
SEED = 0
"""Seed of the directions in which the start is moved."""


@dataclass(frozen=True, eq=False)
class Refinement:
    """How `solve(..., accuracy=...)` chose its time step; ``sol.refinement`` of its solution.

    Attributes
    ----------
    accuracy : float
        The error that was asked for, in the unit of q.
    h : array, shape (k + 1,)
        The longest step of each run.
    difference : array, shape (k,)
        Largest |q - q'| between each run and the next one.
    error : float
        Estimated error of the last run.
    apart : float
        Distance of the other start from q0; 0 if no other start was tried.
    ends : float
        Largest distance between the solutions of the two starts.
    continuous : bool or None
        True if the two solutions stayed together. None: no start beside q0 has a solution to compare with.
    other : Solution or None
        The solution of the other start, if the two did not stay together.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> found = jo.solve(ball, jo.Maury(), t=0.4, h=0.1, accuracy=0.03).refinement
    >>> found.h.tolist(), found.difference.round(4).tolist(), round(found.error, 4), found.continuous
    ([0.1, 0.05, 0.025, 0.0125], [0.1, 0.05, 0.025], 0.025, True)
    """

    accuracy: float
    h: Array
    difference: Array
    error: float
    apart: float = 0.0
    ends: float = 0.0
    continuous: bool | None = None
    other: Solution | None = None

    @property
    def reached(self) -> bool:
        """True if the estimated error is at most `accuracy`."""
        return self.error <= self.accuracy


def refined(
    run: Run, problem: Motion | Sweeping, h: ArrayLike, every: int | float | None, accuracy: float, strict: bool
) -> Solution:
    """The first solution whose estimated error is at most the accuracy, with its `Refinement`.

    If strict, raises `NotContinuous` or `NotConverged`, with the solution, if the refinement failed.
    """
    if problem.bodies.parts is not None:
        raise InvalidValue(
            f"accuracy= starts from other places, and does not know those of {problem.bodies.several}: give h alone"
        )
    steps = np.asarray(h, dtype=float)
    sizes, differences = [float(steps.max())], []
    before, _ = _quiet(run, problem, steps, every)
    while True:
        steps, every = _shortened(steps, every, 2)
        sol, told = _quiet(run, problem, steps, every)
        differences.append(difference(before, sol))
        sizes.append(float(steps.max()))
        error = max(d / 2.0**k for k, d in enumerate(differences[: -LOOK_BACK - 1 : -1]))
        stalled = len(differences) > STALLED and differences[-1] > 0.5 * differences[-1 - STALLED]
        if (error <= accuracy and len(differences) >= LOOK_BACK) or stalled or len(differences) >= MAX_HALVINGS:
            break
        before = sol
    _repeat(told)
    found = Refinement(accuracy, np.array(sizes), np.array(differences), error)
    sol = replace(sol, refinement=_other_starts(run, problem, sol, steps, every, found))
    if strict:
        _check(sol)
    return sol


def _check(sol: Solution) -> None:
    """Raise the error of a refinement that failed."""
    found = sol.refinement
    if found.continuous is False:
        raise NotContinuous(
            f"the solution does not depend continuously on its data: a start {found.apart:.3g} away ends "
            f"{found.ends:.3g} away, as far as starts {NEARER[-1][0]} times farther. error.solution and error.other "
            f"are the two, jo.theory.hypotheses(error.solution) shows whether an angle condition fails, and "
            f"strict=False returns the first",
            sol,
            found.other,
        )
    if not found.reached:
        error = NotConverged(
            f"accuracy = {found.accuracy:.3g} was not reached: steps from {found.h[0]:.3g} to {found.h[-1]:.3g} "
            f"differ by {', '.join(f'{d:.2g}' for d in found.difference)}; strict=False returns the last solution"
        )
        error.solution = sol
        raise error


def difference(one: Solution, other: Solution) -> float:
    """max |q - q'| over the saved times of one solution and the bodies that are there in both.

    The last states are compared even if a condition `until` ended the two runs at different times.

    Raises `InvalidValue` if the other solution, which has shorter steps, has not saved one of the times.
    """
    tolerance = SAME_TIME * max(one.t[-1] - one.t[0], other.t[-1] - other.t[0])
    place = np.clip(np.searchsorted(other.t, one.t - tolerance), 0, len(other.t) - 1)
    common = np.abs(other.t[place] - one.t) <= tolerance
    missing = ~common[:-1] & (one.t[:-1] < other.t[-1])
    if missing.any():
        raise InvalidValue(
            f"accuracy= compares runs at their saved times, and with shorter steps t = {one.t[:-1][missing][0]:.6g} is "
            f"not saved: choose every as a multiple of h, or as a number of steps"
        )
    place[-1], common[-1] = len(other.t) - 1, True
    apart = np.abs(np.asarray(one.q)[common] - np.asarray(other.q)[place[common]])
    return float(np.nan_to_num(apart, nan=0.0).max(initial=0.0))


def _other_starts(
    run: Run, problem: Motion | Sweeping, sol: Solution, h: Array, every: int | float | None, found: Refinement
) -> Refinement:
    """The refinement with what starts beside q0 show."""
    way = APART_STEPS * float(found.h[-1]) * float(np.abs(np.nan_to_num(np.asarray(sol.u))).max(initial=0.0))
    wanted = float(np.exp2(np.ceil(np.log2(max(way / (APART * found.accuracy), 1.0)))))
    shorter = min(int(wanted), MAX_SHORTER) if found.reached else 1
    apart = max(APART * found.accuracy, way / shorter)
    farthest: list[float] = []
    for direction in _directions(problem, float(sol.t[0])):
        ends: list[float] = []
        for nearer, finer in NEARER:
            try:
                start = _moved(problem, apart / nearer * direction, float(sol.t[0]))
                other, _ = _quiet(run, start, *_shortened(h, every, finer * shorter))
            except JostleError:  # beside q0 there is no admissible start, or none that can be solved
                break
            ends.append(difference(sol, other))
            if ends[-1] <= AMPLIFICATION * apart / nearer or (ends[1:] and ends[-1] <= SHRINKING * ends[-2]):
                break
        else:
            last = apart / NEARER[-1][0]
            return replace(found, apart=last, ends=ends[-1], continuous=False, other=other)
        farthest += ends[:1]
    if not farthest:
        return found
    return replace(found, apart=apart, ends=max(farthest), continuous=True)


def _shortened(h: Array, every: int | float | None, factor: int) -> tuple[Array, int | float | None]:
    """Steps that are shorter by a factor, and the `every` with which the same times are saved."""
    steps = h / factor if h.ndim == 0 else np.repeat(h / factor, factor)
    return steps, factor * every if isinstance(every, int | np.integer) else every


def _directions(problem: Motion | Sweeping, t: float) -> Iterator[Array]:
    """Unit changes of q0: at random, its opposite, and one that opens all closed contacts if there are any."""
    random = np.random.default_rng(SEED).normal(size=problem.q0.shape)
    random /= np.abs(random).max(initial=1e-300)
    yield random
    yield -random
    contacts = problem.within.linearise(t, problem.q0) if problem.presence is None else None
    closed = None if contacts is None else contacts.cone()
    if closed is not None and closed.G.shape[0]:
        out = closed.G.adjoint(np.ones(closed.G.shape[0]))
        size = float(np.abs(out).max(initial=0.0))
        if size > 0.0:
            yield (out / size).reshape(problem.q0.shape)


def _moved(problem: Motion | Sweeping, way: Array, t: float) -> Motion | Sweeping:
    """The problem from the admissible start nearest to q0 + way."""
    q0 = problem.q0 + way
    if problem.within.overlap(t, q0) > 0.0:
        q0 = nearest(q0, problem.within, t=t).point
    moved = copy(problem)
    object.__setattr__(moved, "q0", read_only(q0))
    return moved


def _quiet(
    run: Run, problem: Motion | Sweeping, h: Array, every: int | float | None
) -> tuple[Solution, list[warnings.WarningMessage]]:
    """A run, and its warnings: those of longer steps and other starts do not concern the answer."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", JostleWarning)
        return run(problem, float(h) if h.ndim == 0 else h, every), told


def _repeat(told: list[warnings.WarningMessage]) -> None:
    """Give the warnings of a run."""
    for one in told:
        if issubclass(one.category, JostleWarning):
            warn(str(one.message), one.category)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
