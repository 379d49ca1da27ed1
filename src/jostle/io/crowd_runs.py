"""What is known about a run of people: the floor plan, the radii and the fastest speed."""

from __future__ import annotations

import numpy as np

from jostle._tools.arrays import Array
from jostle.errors import InvalidValue
from jostle.plans.plan import Plan
from jostle.result.solution import Solution


def plan_of(sol: Solution) -> Plan | None:
    """The floor plan of a crowd, from the problem or from the file; None if it is unknown.

    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    >>> sol = jo.solve(jo.crowds.crowd(1, radius=0.25, room=room), jo.Venel(), t=0.1, h=0.1)
    >>> plan_of(sol) is room
    True
    """
    found: Plan | None = getattr(sol.problem, "plan", None)
    return sol.facts.plan if found is None else found


def radii_in(sol: Solution, k: int) -> Array:
    """(n,) the radii of people in frame k, from the problem or from the file; 0 if they are unknown.

    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.5, 0.0], within=jo.Balls([0.2]))
    >>> radii_in(jo.solve(walker, jo.Venel(), t=1.0, h=0.5), 0).tolist()
    [0.2]
    """
    if sol.problem is not None:
        radii = sol.problem.within.radii_at(float(sol.t[k]))
    elif sol.radii is None:
        radii = np.zeros(())
    else:
        k = range(len(sol.t))[k]
        now, before = sol.radii[k], sol.radii[max(k - 1, 0)]
        radii = np.where(now > 0.0, now, before)  # people who left in the last step are not in the frame
    return np.broadcast_to(radii, sol.q.shape[1])


def planar(sol: Solution) -> Solution:
    """Check that a solution is one of bodies in the plane, and return it."""
    if sol.q.ndim != 3 or sol.q.shape[2] != 2:
        raise InvalidValue(f"people walk in the plane: q must have the shape (frames, n, 2), not {sol.q.shape}")
    return sol


def fastest(sol: Solution) -> float:
    """The fastest recorded speed: of a velocity, or of the median displacement if that is larger.

    It is infinite if all velocities are zero, because speeds are then unknown.

    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.5, 0.0], within=jo.Balls([0.2]))
    >>> fastest(jo.solve(walker, jo.Venel(), t=1.0, h=0.5))
    1.5
    """
    speed, usual = 0.0, []
    time, before = 0.0, np.zeros((0, 2))
    for k, (t, q, u) in enumerate(zip(sol.t, sol.q, sol.u, strict=True)):
        speed = max(speed, float(np.linalg.norm(u[np.isfinite(u).all(axis=1)], axis=1).max(initial=0.0)))
        if k:
            way = np.linalg.norm(q - before, axis=1) / (t - time)
            usual.append(float(np.median(way[np.isfinite(way)])) if np.isfinite(way).any() else 0.0)
        time, before = float(t), q
    return np.inf if speed == 0.0 else max(speed, float(np.median(usual)) if usual else 0.0)
