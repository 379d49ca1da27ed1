"""The impacts of many copies: their times, phases and speeds give the impact map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle.arguments import Count, Positive, check_arguments
from jostle.arrays import Array, Integers
from jostle.ensembles.copies import Copies
from jostle.ensembles.marching import ByEvents, March
from jostle.ensembles.sections import steps_in
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli


@dataclass(frozen=True, eq=False)
class CopyImpacts:
    """The last impacts of n copies in the order of time, found by `impacts`.

    Attributes
    ----------
    t : array, shape (n, k)
        Times of the impacts; NaN where a copy had fewer than k.
    speed : array, shape (n, k)
        Speeds at which the gaps closed; NaN where a copy had fewer than k impacts.
    row : array of int, shape (n, k)
        Number of the constraint; -1 where there is no impact.
    count : array of int, shape (n,)
        Total number of impacts of each copy.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.ensembles.Copies(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), restitution=0.5)
    >>> hits = jo.ensembles.impacts(ball, t=1.2, h=0.1, keep=3)
    >>> hits.t.round(6).tolist(), hits.speed.round(6).tolist(), hits.count.tolist()
    ([[nan, 0.5, 1.0]], [[nan, 5.0, 2.5]], [2])
    """

    t: Array
    speed: Array
    row: Integers
    count: Integers


@check_arguments
def impacts(
    copies: Copies, scheme: ByEvents | Paoli | MoreauJean | None = None, *, t: Positive, h: Positive, keep: Count = 100
) -> CopyImpacts:
    """Compute the last impacts of all copies.

    The pairs (phase, speed) of one impact and the next are the impact map.

    Parameters
    ----------
    copies : Copies
        The copies.
    scheme : ByEvents, Paoli or MoreauJean, optional
        The scheme. None: `ByEvents`.
    t : float
        Duration of the motion, a multiple of h.
    h : float
        Time step.
    keep : int, default 100
        Number of impacts of each copy that are kept.

    Returns
    -------
    CopyImpacts
        Times, speeds and constraints of the last impacts.

    Raises
    ------
    InvalidValue
        If t is not a multiple of h.
    SchemeRefuses
        If the scheme does not support the constraints.

    Examples
    --------
    >>> import jostle as jo
    >>> def drive(t, q, u, parameters):
    ...     return np.cos(2.68 * t) - q[0]
    >>> copies = jo.ensembles.Copies(q0=[-0.5], force=drive, within=jo.HalfSpace([-1.0]), restitution=0.8)
    >>> hits = jo.ensembles.impacts(copies, t=2000.0, h=0.05, keep=3)
    >>> hits.speed.round(4).tolist()                                  # the period has doubled
    [[0.4501, 0.4564, 0.4501]]
    """
    march = March(copies, scheme, np.array(h), keep)
    march.go(1, steps_in(t, h))
    found, count = march.impacts()
    row = np.where(np.isnan(found[:, :, 2]), -1, np.nan_to_num(found[:, :, 2])).astype(np.int64)
    return CopyImpacts(found[:, :, 0], found[:, :, 1], row, count)
