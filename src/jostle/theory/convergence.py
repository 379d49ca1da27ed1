"""The order of convergence of a scheme on a problem, by halving its steps, with an error bar.

    d_k = max |q_{h/2^k} - q_{h/2^{k+1}}|  ~  c h^order

Where an impact falls inside its step changes the error by a factor that depends on chance: single ratios d_k / d_{k+1}
say little. So each h is tried with several first steps (the phases), the root mean square of their differences is
fitted over all halvings, and the scatter about the line gives the confidence interval of the order. The variation of
the velocity, which the theorems bound as h -> 0 (Bernicot & Lefebvre-Lepot 2010, Prop. 2.4), is listed as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle._tools.arguments import Count, Positive, check_arguments
from jostle._tools.arrays import Array
from jostle.analysis.order import Order, order
from jostle.errors import InvalidValue
from jostle.problems import Motion, Sweeping
from jostle.result.solution import Solution
from jostle.run.refinement import difference
from jostle.run.solve import solve
from jostle.schemes.base import Scheme

ERRATIC = 0.25
"""An order whose uncertainty is larger than this is called erratic."""
GOLDEN = (5.0**0.5 - 1.0) / 2.0
"""Multiples of this number, modulo 1, are the phases: halved steps of two phases never fall on the same times."""
GROWTH = 1.2
"""The variation of the velocity stays bounded if it grows by less than this factor over the last halving."""


@dataclass(frozen=True, eq=False)
class Convergence:
    """The result of `convergence`: differences of solutions with steps h, h / 2, ..., and the order that fits them.

    Attributes
    ----------
    order : Order or None
        The fitted order with its uncertainty; None if solutions with different steps are equal up to round-off.
    h : array, shape (k,)
        The time steps.
    difference : array, shape (k,)
        Difference of the solutions with steps h and h / 2: the root mean square over the phases.
    each : array, shape (k, phases)
        The differences of each phase.
    variation : array, shape (k,)
        Total variation of the velocity, the largest over the phases.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> found = jo.theory.convergence(ball, jo.Maury(), t=0.4, h=0.1, halvings=3, phases=1)
    >>> found
    order 1.00 +- 0.00 (max |q - q'| over halvings of h, 1 phase)
             h  difference   Var(u)
           0.1         0.1        4
          0.05        0.05        4
         0.025       0.025        4
    """

    order: Order | None
    h: Array
    difference: Array
    each: Array
    variation: Array

    @property
    def erratic(self) -> bool:
        """True if the order is not known to a quarter."""
        return self.order is not None and not self.order.uncertainty <= ERRATIC

    @property
    def bounded(self) -> bool:
        """True if the variation of the velocity has stopped growing."""
        return bool(self.variation[-1] <= GROWTH * self.variation[-2])

    def __repr__(self) -> str:
        phases = self.each.shape[1]
        words = f"max |q - q'| over halvings of h, {phases} phase{'s' * (phases > 1)}"
        first = f"order {self.order}{', erratic' * self.erratic}" if self.order is not None else "no differences"
        lines = [f"{first} ({words})", "         h  difference   Var(u)"]
        for h, d, variation in zip(self.h, self.difference, self.variation, strict=True):
            lines.append(f"{h:10.4g}  {d:10.4g} {variation:8.4g}")
        return "\n".join(lines)


@check_arguments
def convergence(
    problem: Motion | Sweeping, scheme: Scheme, *, t: Positive, h: Positive, halvings: Count = 5, phases: Count = 4
) -> Convergence:
    """Measure the order of convergence of a scheme on a problem by halving h, with an error bar.

    With several phases the first step of each run is shorter by another fraction of h, so that impacts fall on other
    places inside their steps.

    Parameters
    ----------
    problem : Motion or Sweeping
        The problem.
    scheme : Scheme
        The scheme.
    t : float
        End time of all runs; positive.
    h : float
        The longest time step; the others are h / 2 to h / 2^halvings.
    halvings : int, default 5
        Number of times that the step is halved; at least 2.
    phases : int, default 4
        Number of different first steps.

    Returns
    -------
    Convergence
        The order, and the differences that it was fitted to.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> found = jo.theory.convergence(ball, jo.Paoli(), t=0.7, h=0.02, halvings=4)
    >>> abs(found.order.order - 1.0) < found.order.uncertainty < 1.0, found.bounded
    (True, True)
    """
    if not isinstance(problem, Motion | Sweeping):
        raise InvalidValue(f"problem must be a jo.Motion or a jo.Sweeping, not {problem!r}")
    if halvings < 2:
        raise InvalidValue(f"halvings must be at least 2 to fit an order, not {halvings}")
    each, variation = np.zeros((halvings, phases)), np.zeros((halvings, phases))
    for phase in range(phases):
        steps = _steps(t, h, 1.0 - phase * GOLDEN % 1.0)
        before = solve(problem, scheme, t=t, h=steps)
        for k in range(halvings):
            steps = np.repeat(steps / 2.0, 2)
            after = solve(problem, scheme, t=t, h=steps)
            each[k, phase] = difference(before, after)
            variation[k, phase] = _variation(before)
            before = after
    found, sizes = np.sqrt((each**2).mean(axis=1)), h * 0.5 ** np.arange(halvings, dtype=np.float64)
    scale = float(np.abs(np.asarray(before.q)).max(initial=0.0))
    fit = order(sizes, found) if (found > np.finfo(float).eps ** 0.75 * scale).all() else None
    return Convergence(fit, sizes, found, each, variation.max(axis=1))


def _steps(t: float, h: float, part: float) -> Array:
    """Steps of length h up to t, of which the first is a part of h, and the last what is left."""
    first = part * h
    count = int(np.ceil((t - first) / h - 1e-9)) if t > first else 0
    ends = np.minimum(first + h * np.arange(count + 1), t)
    ends[-1] = t
    return np.diff(ends, prepend=0.0)


def _variation(sol: Solution) -> float:
    u = np.nan_to_num(np.asarray(sol.u)).reshape(len(sol.t), -1)
    return float(np.linalg.norm(np.diff(u, axis=0), axis=1).sum())
