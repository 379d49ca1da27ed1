"""The contacts of packings: coordination numbers and rattlers.

    z = (2 contacts between bodies + contacts with walls) / bodies

Without friction, a rigid packing of N balls in d dimensions needs at least as many contacts as it has degrees of
freedom. In a periodic box these are d (N - 1), so z = 2 d (1 - 1/N), and one more contact for a nonzero pressure (2 / N
in z). Between fixed walls they are d N, so z = 2 d - (contacts with walls) / N. A packing with exactly this number is
called isostatic. Hard balls of unequal sizes come to rest in an isostatic packing, because more gaps do not close at
the same time (Moukarzel 1998; O'Hern, Silbert, Liu & Nagel 2003; Goodrich, Liu & Nagel 2012 for the 1/N).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.analysis.grains import forces
from jostle.arguments import Natural, NotNegative, check_arguments
from jostle.arrays import Booleans, Integers, finite
from jostle.errors import InvalidValue
from jostle.sets.balls import Balls
from jostle.sets.base import ConstraintSet
from jostle.sets.radii import body_radii
from jostle.solution import Solution


@dataclass(frozen=True, eq=False)
class Coordination:
    """Mean numbers of contacts; see `coordination`."""

    z: float
    """Mean number of contacts of all bodies."""
    z_rigid: float
    """Mean number of contacts of the bodies that are not rattlers, among themselves and with walls; 0 without any."""
    rattlers: int
    """Number of rattlers."""
    loose: Booleans
    """(n,) whether each body is a rattler."""


@check_arguments
def coordination(
    sol: Solution, k: int = -1, *, threshold: NotNegative = 0.0, fewest: Natural | None = None
) -> Coordination:
    """The coordination number of one frame of a run: the mean number of contacts per body, with and without rattlers.

    A contact is a row with a force that is not solver noise (``forces(sol).noise``), so a loose tolerance of the solver
    does not add contacts. Rattlers are bodies with fewer than `fewest` contacts; they are removed again and again until
    none is left. The isostatic value of z is 2 d (1 - 1/N) in a periodic box, and 2 d - (contacts with walls) / N
    between walls.

    Parameters
    ----------
    sol : Solution
        A run with contacts.
    k : int, default -1
        Number of the saved frame.
    threshold : float, default 0.0
        Only contacts with a force of more than `threshold` times the mean force are counted; 0 means all contacts.
    fewest : int, optional
        Smallest number of contacts of a body that is not a rattler. None means d + 1, which holds a body against pushes
        from all sides. In a pile under gravity a ball at rest needs only d.

    Returns
    -------
    Coordination
        The fields are `z` (all bodies), `z_rigid` (without rattlers; 0 if all are rattlers), `rattlers` (their number)
        and `loose` (n,), True for each rattler.

    Raises
    ------
    InvalidValue
        If the contacts of the run were not saved, or have no normals.

    Examples
    --------
    >>> import jostle as jo
    >>> arch = jo.Motion(q0=[[1.0, 1.0], [3.4, 1.0], [2.2, 2.6]], force=[0.0, -1.0],
    ...                  within=jo.Balls([1.0] * 3) & jo.Box([0, 0], [4.4, np.inf], radii=1.0))
    >>> sol = jo.solve(arch, jo.Maury(), t=0.1, h=0.01)
    >>> found = coordination(sol, fewest=2)                             # 2 contacts, 4 more on walls: isostatic
    >>> round(found.z, 9), found.z_rigid == found.z, found.rattlers
    (2.666666667, True, 0)
    """
    found = forces(sol, k)
    chosen = ~found.noise & (np.abs(found.magnitude) > threshold * found.mean)
    d = found.normals.shape[1]
    return _coordination(found.pairs[chosen], found.present, d + 1 if fewest is None else fewest)


@check_arguments
def coordination_by_gap(
    q: ArrayLike,
    radii: ArrayLike,
    *,
    within: ConstraintSet | None = None,
    period: ArrayLike | None = None,
    tol: NotNegative = 1e-6,
    fewest: Natural | None = None,
) -> Coordination:
    """The coordination number of a configuration, where a contact is a gap of at most `tol` times the smaller radius.

    Parameters
    ----------
    q : array_like, shape (n, d)
        Positions of the balls.
    radii : float or array_like, shape (n,)
        Radius of all balls or of each ball.
    within : ConstraintSet, optional
        All contacts that count, such as ``Balls(radii) & Box(...)``. None means the contacts between balls only.
    period : float or array_like, shape (d,), optional
        Period along each axis, if `within` is not given. None means no period.
    tol : float, default 1e-6
        Largest gap of a contact, in units of the smaller radius.
    fewest : int, optional
        Smallest number of contacts of a body that is not a rattler. None means d + 1; see `coordination`.

    Returns
    -------
    Coordination
        The fields are `z` (all bodies), `z_rigid` (without rattlers; 0 if all are rattlers), `rattlers` (their number)
        and `loose` (n,), True for each rattler.

    Raises
    ------
    InvalidValue
        If q is not of shape (n, d), if both `within` and `period` are given, or if `within` has constraints other than
        contacts of bodies.

    Examples
    --------
    >>> found = coordination_by_gap([[0.0, 0.0], [2.0, 0.0], [1.0, 3.0**0.5], [9.0, 9.0]], 1.0, fewest=2)
    >>> found.z, found.z_rigid, found.loose.tolist()
    (1.5, 2.0, [False, False, False, True])
    """
    x = finite(q, "q")
    if x.ndim != 2:
        raise InvalidValue(f"q must have one row per body, shape (n, d), not {x.shape}")
    if within is not None and period is not None:
        raise InvalidValue("give within or period, not both: within can be Balls(radii, period=...) & walls")
    n, d = x.shape
    r = body_radii(finite(radii, "radii"), n, 0.0)
    Q = Balls(r, period=period) if within is None else within
    contacts = Q.linearise(0.0, x, tol * float(r.max(initial=0.0)))
    i, j = contacts.pairs.T
    if (i < 0).any():
        raise InvalidValue("within must consist of contacts of bodies (Balls, walls), not of other constraints")
    smaller = np.minimum(r[i], np.where(j >= 0, r[np.maximum(j, 0)], np.inf))
    touching = contacts.gap <= tol * smaller
    return _coordination(contacts.pairs[touching], np.ones(n, dtype=bool), d + 1 if fewest is None else fewest)


def _coordination(pairs: Integers, present: Booleans, fewest: int) -> Coordination:
    there = int(present.sum())
    rigid, kept = present.copy(), pairs
    while True:
        contacts = _contacts(kept, len(present))
        loose = rigid & (contacts < fewest)
        if not loose.any():
            break
        rigid &= ~loose
        i, j = kept.T
        kept = kept[rigid[i] & (rigid[np.maximum(j, 0)] | (j < 0))]
    left = int(rigid.sum())
    z = _contacts(pairs, len(present)).sum() / max(there, 1)
    return Coordination(float(z), float(contacts.sum() / max(left, 1)), there - left, present & ~rigid)


def _contacts(pairs: Integers, n: int) -> Integers:
    """(n,) number of contacts of each body."""
    return np.bincount(pairs[pairs >= 0], minlength=n)
