"""How a run can end, in one word and in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FINISHED, STOPPED, BLOCKED, INTERRUPTED, FAILED = "finished", "stopped", "blocked", "interrupted", "failed"
NOT_CONVERGED, BUDGET, RUNNING, KILLED = "not converged", "budget", "running", "killed"
MESSAGES = {
    FINISHED: "reached the end time",
    STOPPED: "stopping condition met",
    BLOCKED: "blocked: nobody has moved for a while",
    INTERRUPTED: "interrupted before the end time",
    FAILED: "ended by an error",
    NOT_CONVERGED: "some steps were not solved to the tolerance",
    BUDGET: "the budget of iterations was not enough for the tolerance in some steps",
    RUNNING: "still running",
    KILLED: "killed: the process that wrote it ended without notice",
}
"""What each status means."""
EMPTY_BUILDING = "building empty"
"""What STOPPED means for a crowd of which nobody is inside any more."""


# How well a run was solved, in words: the worst overlap with its unit, and the iterations of its steps.


SMALLEST_PERCENTAGE = 1e-4
"""Fractions from this one on are written as percentages."""
NO_UNIT = "in the unit of q"
"""Unit of a length in a run that does not know its unit of length."""


def run_in_words(sol: Any) -> str:
    """One line about a `Solution`: how it ended, what was saved, and how well its steps were solved.

    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> print(run_in_words(jo.solve(ball, jo.Maury(), t=1.0, h=0.2)))
    finished: 5 steps of Maury, t = 0 to 1, 6 frames saved, q of shape (1,), worst overlap none, worst residual 0.0e+00
    """
    saved = f"t = {sol.t[0]:g} to {sol.t[-1]:g}" if len(sol.t) else "nothing saved"
    if len(sol.t):
        saved += f"{sol.facts.units.time and ' ' + sol.facts.units.time}, {len(sol.t)} frames saved"
    scheme = f" of {type(sol.scheme).__name__}" if sol.scheme is not None else ""  # None: read from a file
    n = len(sol.stats)
    return (
        f"{sol.status}: {n} step{'s' * (n != 1)}{scheme}, {saved}, q of shape {sol.q.shape[1:]}, "
        f"worst overlap {overlap_in_words(sol)}, worst residual {sol.residual:.1e}"
    )


def overlap_in_words(sol: Any) -> str:
    """The deepest overlap of all steps of a `Solution`: its depth, and how large it is beside the smallest body."""
    facts, unit = sol.facts, sol.facts.units.length or NO_UNIT
    primal, overshoot = (float(sol.stats[name].max(initial=0.0)) for name in ("primal", "overshoot"))
    worst = max(primal, overshoot)
    if worst == 0.0:
        return "none"
    if facts.dimension and _has_rows_without_length(sol):
        return f"{worst:.2g}, as a fraction of the smallest radius, or in the unit of a gap without a length"
    if facts.radii is None and facts.dimension and not facts.rods:  # radii that change in time
        return f"{fraction_in_words(worst)} of the smallest radius"
    radius = float(facts.radii.min(initial=np.inf)) if facts.radii is not None else 0.0
    if facts.parts is not None and facts.parts.core is not None and not facts.rods:
        return f"{worst * facts.parts.length:.2g} {unit}, {fraction_in_words(worst)} of half the thinnest shape"
    if facts.rods:
        return f"{fraction_in_words(worst)} of a radius or of the length of a rod"
    if 0.0 < radius < np.inf:
        return f"{worst * radius:.2g} {unit}, {fraction_in_words(worst)} of the smallest radius"
    if sol.problem is None or sol.problem.within.contacts(float(sol.t[0]), sol.pose(0), np.inf).length.any():
        return f"{fraction_in_words(worst)} of the size of a wall or constraint"
    return f"{overshoot:.2g} {unit}" if overshoot else f"{fraction_in_words(primal)} of the distance moved in a step"


def _has_rows_without_length(sol: Any) -> bool:
    """Whether a set beside bodies with radii has constraints without a length, the overlap of which is undivided."""
    if sol.problem is None or not len(sol.t) or not np.isfinite(sol.q[0]).all():
        return False
    length = sol.problem.within.contacts(float(sol.t[0]), sol.pose(0), 0.0).length
    return bool((length == 0.0).any() and (sol.problem.bodies.radii_at(float(sol.t[0])) > 0.0).any())


def iterations_in_words(stats: NDArray[Any]) -> str:
    """How many iterations the projections of a run took."""
    counts = stats["iterations"]
    busy, most = int(np.count_nonzero(counts)), f"at most {counts.max(initial=0):,}"
    if busy == 0:
        return "none needed"
    if busy == len(counts):
        return f"{counts.mean():.3g} per step, {most}"
    return f"{counts.sum():,} in all, in {busy:,} of {len(counts):,} steps, {most} per step"


def fraction_in_words(value: float) -> str:
    """A fraction as a percentage, or in scientific notation if it is very small.

    >>> fraction_in_words(0.004), fraction_in_words(1e-5)
    ('0.4 %', '1.0e-05')
    """
    return f"{100.0 * value:.2g} %" if value >= SMALLEST_PERCENTAGE else f"{value:.1e}"
