"""The packing fraction of balls in a region, and the coordination number of their contacts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Natural, NotNegative, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, finite
from jostle.analysis.forces import forces, owners
from jostle.bodies import body_radii
from jostle.errors import InvalidValue
from jostle.result.solution import Solution
from jostle.sets.balls import Balls
from jostle.sets.base import ConstraintSet

# The exact volume of a disc or ball inside a rectangular region, by inclusion and exclusion of its corners.


def volumes_inside(x: Array, r: Array, low: Array, high: Array) -> Array:
    """(n,) volume of each ball inside the region."""
    d, size = len(low), r[:, None]
    below, above = np.clip(low - x, -size, size), np.clip(high - x, -size, size)
    inside = ((below < size) & (above > -size)).all(axis=1)
    parts = np.where(inside, np.pi * r**2 if d == 2 else 4.0 / 3.0 * np.pi * r**3, 0.0)
    cut = inside & ((below > -size) | (above < size)).any(axis=1)
    volume = _quadrant if d == 2 else _octant
    corners = np.stack([below[cut], above[cut]]) / size[cut]
    total = np.zeros(np.count_nonzero(cut))
    for sides in np.ndindex((2,) * d):
        total += (-1) ** sum(sides) * volume(*[corners[side, :, axis] for axis, side in enumerate(sides)])
    parts[cut] = r[cut] ** d * total
    return parts


def _quadrant(a: Array, b: Array, r: Array | float = 1.0) -> Array:
    """The area of the disc |x| <= r where x > a and y > b."""
    # Let s(x) = sqrt(r^2 - x^2), S its integral from -r, and c = s(b). The circular segment above |b| has the area
    # T = S(-a) - S(-c) - |b| (c - a) to the right of a, if -c <= a <= c. The result is T if b > 0, else 2 S(-a) - T.
    a, b = np.clip(a, -r, r), np.clip(b, -r, r)
    c = np.sqrt(r**2 - b**2)
    start = np.clip(a, -c, c)
    T = _under_arc(-start, r) - _under_arc(-c, r) - np.abs(b) * (c - start)
    return np.where(b > 0.0, T, 2.0 * _under_arc(-a, r) - T)


def _under_arc(x: Array, r: Array | float) -> Array:
    """S(x), the integral of sqrt(r^2 - x^2) from -r to x."""
    s = np.sqrt(np.maximum(r**2 - x**2, 0.0))
    return np.asarray((x * s + r**2 * (np.arctan2(x, s) + np.pi / 2.0)) / 2.0)


def _octant(a: Array, b: Array, c: Array) -> Array:
    """The volume of the unit ball where x > a, y > b and z > c."""
    # By the divergence theorem, three times the volume is the area on the sphere, minus a times the area of the face
    # x = a (a quadrant of a smaller disc), minus b and c times the areas of the other two faces.
    volume = _triangle(a, b, c)
    for u, v, w in ((a, b, c), (b, c, a), (c, a, b)):
        volume = volume - u * _quadrant(v, w, np.sqrt(1.0 - u**2))
    return volume / 3.0


def _triangle(a: Array, b: Array, c: Array) -> Array:
    """The area on the unit sphere where x > a, y > b and z > c."""
    # For a, b, c >= 0 it is a triangle with sides on three circles, or empty. By the Gauss-Bonnet theorem its area is
    # the sum of its angles, minus pi, minus the angle of each arc times the height of its circle. For c < 0 it is the
    # region x > a, y > b without the mirror image of the triangle for -c.
    A, B, C = np.abs(a), np.abs(b), np.abs(c)
    area = np.zeros_like(A) - np.pi
    for u, v, w in ((A, B, C), (B, C, A), (C, A, B)):
        vertex, other = _root(u, v), _root(w, u)
        arc = np.arctan2(vertex, v) + np.arctan2(other, w) - np.pi / 2.0
        area = area + np.arctan2(vertex, u * v) - u * arc
    area = np.where(A**2 + B**2 + C**2 < 1.0, area, 0.0)
    area = np.where(c < 0.0, _lune(A, B) - area, area)
    area = np.where(b < 0.0, _lune(A, c) - area, area)
    return np.where(a < 0.0, _lune(b, c) - area, area)


def _lune(a: Array, b: Array) -> Array:
    """The area on the unit sphere where x > a and y > b, by the Gauss-Bonnet theorem."""
    vertex = _root(a, b)
    return np.asarray(2.0 * (np.arctan2(vertex, a * b) - a * np.arctan2(vertex, b) - b * np.arctan2(vertex, a)))


def _root(a: Array, b: Array) -> Array:
    """The height z of the point (a, b, z) of the unit sphere; 0 if there is no such point."""
    return np.asarray(np.sqrt(np.maximum(1.0 - a**2 - b**2, 0.0)))


PERIOD_TOLERANCE = 1e-9
"""Relative difference up to which the width of a region counts as one period."""


FULL = 1e-9
"""Round-off of the fraction of a region that is full."""


@check_arguments
def packing_fraction(
    q: ArrayLike, radii: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, period: ArrayLike | None = None
) -> float:
    """The fraction of a rectangular region that discs or spheres occupy, if they do not overlap; at most 1.

    Balls that the boundary cuts are counted with the volume inside, which is exact, also at edges and corners. With a
    period the images are counted as well; along an axis on which the region is one period wide nothing is cut.

    Parameters
    ----------
    q : array_like, shape (n, d)
        Positions of the balls, d = 2 or 3. Balls whose position is NaN are absent.
    radii : float or array_like, shape (n,)
        Radius of all balls or of each ball.
    lower : float or array_like, shape (d,)
        Lower corner of the region.
    upper : float or array_like, shape (d,)
        Upper corner of the region.
    period : float or array_like, shape (d,), optional
        Period along each axis, as in `Balls`; infinite along axes without a period. None means no period.

    Returns
    -------
    float
        Occupied volume divided by the volume of the region.

    Examples
    --------
    >>> round(packing_fraction([[0.0, 0.0]], 1.0, [-1, -1], [1, 1]), 9)                       # pi / 4
    0.785398163
    >>> round(packing_fraction([[0.0, 0.0, 0.0]], 1.0, [0, 0, 0], [1, 1, 1]), 9)              # pi / 6
    0.523598776
    >>> round(packing_fraction([[0.0, 0.0]], 1.0, [-4, -4], [4, 4], period=8.0), 9)           # pi / 64
    0.049087385
    """
    x = np.asarray(q, dtype=float)
    if x.ndim != 2 or x.shape[1] not in (2, 3):
        raise InvalidValue(f"q must have one row per ball, shape (n, 2) or (n, 3), not {x.shape}")
    n, d = x.shape
    there = ~np.isnan(x).all(axis=1)
    x, r = finite(x[there], "q"), body_radii(finite(radii, "radii"), n, 0.0, allow_zero=True)[there]
    low, high = (_ends(ends, name, d) for ends, name in ((lower, "lower"), (upper, "upper")))
    if not (low < high).all():
        raise InvalidValue(f"the region is empty: lower {low.tolist()}, upper {high.tolist()}")
    volume = float(np.prod(high - low))
    if period is not None:
        x, r, low, high = _unfolded(x, r, low, high, period)
    found = float(volumes_inside(x, r, low, high).sum() / volume)
    if found > 1.0 + FULL:
        raise InvalidValue(
            f"the balls have {found:.3g} times the volume of the region, so they overlap: check radii and lower, upper"
        )
    return found


def _ends(ends: ArrayLike, name: str, d: int) -> Array:
    found = finite(ends, name)
    if found.shape not in ((), (d,)):
        raise InvalidValue(f"{name} has shape {found.shape}, expected a number or shape ({d},)")
    return np.array(np.broadcast_to(found, (d,)))


def _unfolded(x: Array, r: Array, low: Array, high: Array, period: ArrayLike) -> tuple[Array, Array, Array, Array]:
    """The balls with their images near the region, and the region, open along the axes where it is one period wide."""
    P = np.asarray(period, dtype=float)
    if P.shape not in ((), low.shape) or not (P > 0.0).all():
        raise InvalidValue(f"period must be positive, one number or one for each of {len(low)} axes, not {period!r}")
    P = np.broadcast_to(P, low.shape)
    width = high - low
    if (width > P * (1.0 + PERIOD_TOLERANCE)).any():
        raise InvalidValue(
            f"the region is {width.tolist()} wide, more than the period {P.tolist()}: balls would count twice"
        )
    whole = width >= P * (1.0 - PERIOD_TOLERANCE)
    for axis in np.flatnonzero(np.isfinite(P) & ~whole):
        step = np.zeros(len(low))
        step[axis] = P[axis]
        middle = (low[axis] + high[axis]) / 2.0
        reach = int(np.ceil(float(r.max(initial=0.0)) / P[axis]))
        x = x - step * np.round((x[:, axis] - middle) / P[axis])[:, None]
        images = np.arange(-reach, reach + 1)
        x, r = (x + images[:, None, None] * step).reshape(-1, len(low)), np.tile(r, len(images))
        near = np.abs(x[:, axis] - middle) < width[axis] / 2.0 + r
        x, r = x[near], r[near]
    return x, r, np.where(whole, -np.inf, low), np.where(whole, np.inf, high)


# The contacts of packings: coordination numbers and rattlers.
#
#     z = (2 contacts between bodies + contacts with walls) / bodies
#
# Without friction, a rigid packing of N balls in d dimensions needs at least as many contacts as it has degrees of
# freedom. In a periodic box these are d (N - 1), so z = 2 d (1 - 1/N), and one more contact for a nonzero pressure (2 /
# N in z). Between fixed walls they are d N, so z = 2 d - (contacts with walls) / N. A packing with exactly this number
# is called isostatic. Hard balls of unequal sizes come to rest in an isostatic packing, because more gaps do not close
# at the same time (Moukarzel 1998; O'Hern, Silbert, Liu & Nagel 2003; Goodrich, Liu & Nagel 2012 for the 1/N).


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
    does not add contacts. Two clumps that touch with two pairs of balls have two contacts. Rattlers are bodies with
    fewer than `fewest` contacts; they are removed again and again until none is left. The isostatic value of z is
    2 d (1 - 1/N) in a periodic box, and 2 d - (contacts with walls) / N between walls, for balls without friction.

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
    found, owner = forces(sol, k), owners(sol)
    chosen = ~found.noise & (np.abs(found.magnitude) > threshold * found.mean)
    d, pairs, present = found.normals.shape[1], found.pairs[chosen], found.present
    if owner is not None:
        pairs, present = np.where(pairs >= 0, owner[pairs], pairs), np.bincount(owner, present) > 0
    return _coordination(pairs, present, d + 1 if fewest is None else fewest)


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
        The same fields as for `coordination`.

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
