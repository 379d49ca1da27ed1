"""The break of a triangular rack of discs by a cue ball: many simultaneous impacts in the plane."""

from __future__ import annotations

import numpy as np

from jostle._tools.arguments import Count, NotNegative, Positive, check_arguments
from jostle.laws import Restitution
from jostle.problems import Motion
from jostle.sets.balls import Balls


@check_arguments
def rack(rows: Count = 4, *, radius: Positive = 0.5, gap: NotNegative = 0.0, e: float = 0.0) -> Motion:
    """A cue ball (body 0) that moves with velocity (1, 0) towards the apex of a triangular rack of touching discs.

    With four rows or more there are more contacts than velocity components: the multipliers are not unique, the
    velocities are.

    Parameters
    ----------
    rows : int, default 4
        Number of rows of the rack, which holds rows (rows + 1) / 2 discs.
    radius : float, default 0.5
        Radius of all discs.
    gap : float, default 0.0
        Distance between the cue ball and the apex at the start, in the unit of `radius`.
    e : float, default 0.0
        Restitution coefficient, between 0 and 1.

    Returns
    -------
    Motion
        The second-order problem in the plane.

    Examples
    --------
    >>> import jostle as jo
    >>> break_ = jo.models.rack(rows=3)
    >>> contacts = break_.within.linearise(0.0, break_.q0)
    >>> jo.impact(break_.v0, contacts.cone()).velocity[0].round(9).tolist()
    [0.193548387, 0.0]
    """
    d = 2.0 * radius
    centres = [[-d - gap, 0.0]]
    for row in range(rows):
        for k in range(row + 1):
            centres.append([row * d * np.sqrt(3.0) / 2.0, (k - row / 2.0) * d])
    q0 = np.array(centres)
    v0 = np.zeros_like(q0)
    v0[0, 0] = 1.0
    return Motion(q0=q0, v0=v0, within=Balls(np.full(len(q0), radius)), law=Restitution(e))
