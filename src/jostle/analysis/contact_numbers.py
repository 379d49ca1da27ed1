"""The geometry of packings: coordination numbers, rattlers, packing fraction.

    z    = (2 contacts between bodies + contacts with walls) / bodies
    phi  = volume of the balls in a region / volume of the region

Without friction a rigid packing of N balls in d dimensions needs as many contacts as there are motions to stop. In a
periodic box these are d (N - 1), so that z = 2 d (1 - 1/N), and one contact more if it is to have a pressure (2 / N in
z); between fixed walls they are d N, so that z = 2 d - (contacts with walls) / N. A packing with just as many is called
isostatic. Hard balls of unequal sizes come to rest in one: more gaps would not close at once (Moukarzel 1998; O'Hern,
Silbert, Liu & Nagel 2003; Goodrich, Liu & Nagel 2012 for the 1/N).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.analysis.grains import forces
from jostle.arguments import Natural, NotNegative, check_arguments
from jostle.arrays import Array, Booleans, Integers, finite
from jostle.errors import InvalidValue
from jostle.sets.balls import Balls
from jostle.sets.base import ConstraintSet
from jostle.sets.radii import body_radii
from jostle.solution import Solution

PERIOD_TOLERANCE = 1e-9
"""A region is as wide as a period if the widths agree up to this fraction."""


@dataclass(frozen=True, eq=False)
class Coordination:
    """How many contacts a body has; see `coordination`."""

    z: float
    """The mean number of contacts of all bodies,"""
    z_rigid: float
    """and of those that are no rattlers, among themselves and with the walls; 0 if all are rattlers."""
    rattlers: int
    """How many bodies are rattlers."""
    loose: Booleans
    """(n,) which ones."""


@check_arguments
def coordination(
    sol: Solution, k: int = -1, *, threshold: NotNegative = 0.0, fewest: Natural | None = None
) -> Coordination:
    """The mean number of contacts of a body with |f| > threshold <|f|> in frame k, with and without rattlers.

    Rattlers are the bodies with fewer than `fewest` contacts, and those with fewer when these are taken out, and so on.
    By default that is d + 1, with less of which no body is held against pushes from all sides. In a pile under gravity
    a ball at rest needs d only: give fewest=d. The isostatic value of z is 2 d (1 - 1/N) in a periodic box, and between
    walls 2 d - (contacts with walls) / N.

    >>> import jostle as jo
    >>> arch = jo.Motion(q0=[[1.0, 1.0], [3.4, 1.0], [2.2, 2.6]], force=[0.0, -1.0],
    ...                  within=jo.Balls([1.0] * 3) & jo.Box([0, 0], [4.4, np.inf], radii=1.0))
    >>> sol = jo.solve(arch, jo.Maury(), t=0.1, h=0.01)
    >>> found = coordination(sol, fewest=2)                             # 2 contacts, 4 more on walls: isostatic
    >>> round(found.z, 9), found.z_rigid == found.z, found.rattlers
    (2.666666667, True, 0)
    """
    found = forces(sol, k)
    chosen = np.abs(found.magnitude) > threshold * found.mean
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
    """The same for a packing that is not a run: a contact is a gap of at most tol times the smaller radius.

    `within` has all the contacts that count, ``Balls(radii) & Box(...)``, say. Without it the contacts of the balls
    with each other are counted, in a periodic space if there is a `period`.

    >>> found = coordination_by_gap([[0.0, 0.0], [2.0, 0.0], [1.0, 3.0**0.5], [9.0, 9.0]], 1.0, fewest=2)
    >>> found.z, found.z_rigid, found.loose.tolist()
    (1.5, 2.0, [False, False, False, True])
    """
    x = finite(q, "q")
    if x.ndim != 2:
        raise InvalidValue(f"q has one row a body, (n, d), not shape {x.shape}")
    if within is not None and period is not None:
        raise InvalidValue("give within or period, not both: Balls(radii, period=...) & walls has both")
    n, d = x.shape
    r = body_radii(finite(radii, "radii"), n, 0.0)
    Q = Balls(r, period=period) if within is None else within
    contacts = Q.linearise(0.0, x, tol * float(r.max(initial=0.0)))
    i, j = contacts.pairs.T
    if (i < 0).any():
        raise InvalidValue("within must be made of contacts of bodies (Balls, walls), not of other constraints")
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
    """(n,) how many contacts each body has."""
    return np.bincount(pairs[pairs >= 0], minlength=n)


@check_arguments
def packing_fraction(
    q: ArrayLike, radii: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, period: ArrayLike | None = None
) -> float:
    """The part of the region lower <= x <= upper that discs or spheres occupy, if they do not overlap.

    Balls that are cut count with the part inside, exactly, at edges and corners of the region too. With a `period`, as
    in `Balls`, the images count as well; along an axis on which the region is one period wide nothing is cut. Bodies
    whose q is NaN are not there.

    >>> round(packing_fraction([[0.0, 0.0]], 1.0, [-1, -1], [1, 1]), 9)                       # pi / 4
    0.785398163
    >>> round(packing_fraction([[0.0, 0.0, 0.0]], 1.0, [0, 0, 0], [1, 1, 1]), 9)              # pi / 6
    0.523598776
    >>> round(packing_fraction([[0.0, 0.0]], 1.0, [-4, -4], [4, 4], period=8.0), 9)           # pi / 64
    0.049087385
    """
    x = np.asarray(q, dtype=float)
    if x.ndim != 2 or x.shape[1] not in (2, 3):
        raise InvalidValue(f"q has one row a ball, (n, 2) or (n, 3), not shape {x.shape}")
    n, d = x.shape
    there = ~np.isnan(x).all(axis=1)
    x, r = finite(x[there], "q"), body_radii(finite(radii, "radii"), n, 0.0, allow_zero=True)[there]
    low, high = (_ends(ends, name, d) for ends, name in ((lower, "lower"), (upper, "upper")))
    if not (low < high).all():
        raise InvalidValue(f"the region is empty: lower {low.tolist()}, upper {high.tolist()}")
    volume = float(np.prod(high - low))
    if period is not None:
        x, r, low, high = _unfolded(x, r, low, high, period)
    return float(_parts(x, r, low, high).sum() / volume)


def _ends(ends: ArrayLike, name: str, d: int) -> Array:
    found = finite(ends, name)
    if found.shape not in ((), (d,)):
        raise InvalidValue(f"{name} has shape {found.shape}; the balls live in dimension {d}")
    return np.array(np.broadcast_to(found, (d,)))


def _unfolded(x: Array, r: Array, low: Array, high: Array, period: ArrayLike) -> tuple[Array, Array, Array, Array]:
    """The balls with their images near the region, and the region, open along the axes where it is a whole period."""
    P = np.asarray(period, dtype=float)
    if P.shape not in ((), low.shape) or not (P > 0.0).all():
        raise InvalidValue(f"period must be positive, one number or one for each of {len(low)} axes, not {period!r}")
    P = np.broadcast_to(P, low.shape)
    width = high - low
    if (width > P * (1.0 + PERIOD_TOLERANCE)).any():
        raise InvalidValue(
            f"the region is {width.tolist()} wide, more than the period {P.tolist()}: it would count twice"
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


def _parts(x: Array, r: Array, low: Array, high: Array) -> Array:
    """(n,) the volume of each ball in the region."""
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
    """The area of the disc |x| <= r where x > a and y > b.

    With s(x) = sqrt(r^2 - x^2), S its integral from -r, and c = s(b): the part right of a of the segment above |b| has
    the area T = S(-a) - S(-c) - |b| (c - a), if -c <= a <= c. The answer is T if b > 0, else 2 S(-a) - T.
    """
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
    """The volume of the unit ball where x > a, y > b and z > c.

    By the divergence theorem three times the volume is the area on the sphere less a times that of the face x = a, a
    quadrant of a smaller disc, less b and c times the others.
    """
    volume = _triangle(a, b, c)
    for u, v, w in ((a, b, c), (b, c, a), (c, a, b)):
        volume = volume - u * _quadrant(v, w, np.sqrt(1.0 - u**2))
    return volume / 3.0


def _triangle(a: Array, b: Array, c: Array) -> Array:
    """The area on the unit sphere where x > a, y > b and z > c.

    For a, b, c >= 0 it is a triangle with sides on three circles, or empty. Gauss and Bonnet: its angles less pi, less
    the angle of each arc times the height of its circle. For c < 0: all of x > a, y > b but the mirror image for -c.
    """
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
    """The area on the unit sphere where x > a and y > b, by Gauss and Bonnet."""
    vertex = _root(a, b)
    return np.asarray(2.0 * (np.arctan2(vertex, a * b) - a * np.arctan2(vertex, b) - b * np.arctan2(vertex, a)))


def _root(a: Array, b: Array) -> Array:
    """The height z of the point (a, b, z) of the unit sphere; 0 if there is none."""
    return np.asarray(np.sqrt(np.maximum(1.0 - a**2 - b**2, 0.0)))
