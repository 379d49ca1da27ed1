"""Configurations to start from: the space that balls live in, and random sequential addition.

Along each axis the space ends at two walls, given by the `box`, or is periodic, as in ``Balls(radii, period=...)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Constant, Natural, Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, finite
from jostle.bodies import body_radii
from jostle.errors import InvalidValue
from jostle.sets.balls import Balls
from jostle.sets.base import ConstraintSet
from jostle.sets.walls import Box

Ends = tuple[ArrayLike, ArrayLike]
"""Lower and upper corner of a box, with one number per axis."""
CHUNK_DIVISOR = 8
"""Places are sought at the same time for a fraction 1 / CHUNK_DIVISOR of the remaining balls."""
MIN_CHUNK = 64
"""Least number of balls for which places are sought at the same time."""
SIMILAR_RADII = 0.8
"""Places are sought at the same time only for balls with at least this fraction of the largest remaining radius."""
MAX_PROPOSALS = 50_000
"""Largest number of places that are tried at the same time."""
MAX_FAILURES = 100_000
"""Number of consecutive places without room after which the space counts as full."""
SATURATION_FRACTIONS = {2: 0.547, 3: 0.384}
"""Packing fraction at which random sequential addition of equal balls ends (Feder 1980; Zhang & Torquato 2013)."""
STRICT_FACTOR = 1.0 + 4.0 * float(np.finfo(float).eps)
"""Distances must exceed the sum of the radii by this factor, so that round-off leaves no overlap."""


class Cell(NamedTuple):
    """The space that balls live in: along each axis it has walls at lower and upper, or a period."""

    lower: Array
    upper: Array
    period: Array

    @property
    def volume(self) -> float:
        return float(np.prod(self.upper - self.lower))

    def within(self, radii: Array) -> ConstraintSet:
        """The admissible configurations of balls with these radii."""
        balls = Balls(radii, period=self.period)
        walls = np.isinf(self.period)
        lower, upper = np.where(walls, self.lower, -np.inf), np.where(walls, self.upper, np.inf)
        if not np.isfinite([lower, upper]).any():
            return balls
        return balls & Box(lower, upper, radii=radii)


def cell(box: Ends | None, period: ArrayLike | None) -> Cell:
    """The cell of a box, a period, or both: walls along the axes that have no period."""
    ends = (-np.inf, np.inf) if box is None else box
    given = [np.asarray(value, dtype=float) for value in (*ends, np.inf if period is None else period)]
    axes = max((value.size for value in given if value.ndim == 1), default=0)
    if len(given) != 3 or not axes or any(value.shape not in ((), (axes,)) for value in given):
        raise InvalidValue(
            f"expected box=(lower, upper) or period, with one number for each axis; box is {box!r}, period {period!r}"
        )
    lower, upper, length = (np.broadcast_to(value, axes) for value in given)
    periodic = np.isfinite(length)
    if np.isfinite([lower, upper])[:, periodic].any():
        raise InvalidValue(f"axis {int(np.argmax(periodic))} has both a period and walls; make the box infinite there")
    lower, upper = np.where(periodic, 0.0, lower), np.where(periodic, length, upper)
    if not np.isfinite([lower, upper]).all() or not (lower < upper).all():
        raise InvalidValue(
            f"every axis needs two finite walls, lower < upper, or a period; box is {box!r}, period {period!r}"
        )
    return Cell(lower, upper, length.copy())


@check_arguments
def random_sequential(
    radii: ArrayLike,
    *,
    box: Ends | None = None,
    period: Constant | None = None,
    seed: Natural | np.random.Generator = 0,
) -> Array:
    """Random positions without overlap, by random sequential addition: balls are placed one after the other.

    The largest balls come first. Equal discs fill up to 0.547 of the plane in this way, equal spheres 0.384 of space;
    close to these limits the last balls need very many tries.

    Parameters
    ----------
    radii : array_like, shape (n,)
        Radius of each ball, positive.
    box : pair of array_like, shape (d,), optional
        Lower and upper corner of the box. None means that every axis has a period.
    period : float or array_like, shape (d,), optional
        Period along each axis, infinite for an axis with walls. None means walls along every axis.
    seed : int or numpy.random.Generator, default 0
        Source of the random positions.

    Returns
    -------
    ndarray, shape (n, d)
        The positions, in the order of `radii`.

    Examples
    --------
    >>> radii = np.random.default_rng(0).uniform(0.5, 1.0, 100)
    >>> q = random_sequential(radii, box=([0, 0], [25, 25]))
    >>> import jostle as jo
    >>> (jo.Balls(radii) & jo.Box([0, 0], [25, 25], radii=radii)).gap(0.0, q) > 0.0
    True
    """
    space = cell(box, period)
    size = finite(radii, "radii")
    size = body_radii(size, size.size, 0.0)
    widest = 2.0 * float(size.max(initial=0.0))
    if (space.upper - space.lower < widest).any():
        raise InvalidValue(f"the largest ball is {widest:g} wide, the box only {(space.upper - space.lower).min():g}")
    placed, full = Placed(space, size), partial(_saturated, space, size)
    return filled(placed, size, np.random.default_rng(seed), MAX_FAILURES, full)


def filled(
    placed: Placed, radii: Array, random: np.random.Generator, tries: int, full: Callable[[Integers, int], InvalidValue]
) -> Array:
    """Find places for all balls that have none, the largest first.

    After `tries` places in a row without room it raises the error full(remaining balls, places tried).
    """
    left = np.argsort(-radii, kind="stable")
    left = left[np.isnan(placed.q[left, 0])]
    rate, in_vain = 1.0, 0
    while len(left):
        balls = left[: max(len(left) // CHUNK_DIVISOR, MIN_CHUNK)]
        balls = balls[radii[balls] >= SIMILAR_RADII * radii[balls[0]]]
        each = int(np.clip(1.0 / rate, 1, max(MAX_PROPOSALS // len(balls), 1)))
        found, rate = placed.propose(balls, each, random)
        left = left[~np.isin(left, found)]
        in_vain = 0 if len(found) else in_vain + len(balls) * each
        if in_vain > tries:
            raise full(left, in_vain)
    return placed.q


class Placed:
    """The balls that have a place, sorted into classes of about the same size."""

    def __init__(self, space: Cell, radii: Array):
        self.space, self.radii = space, radii
        self.q = np.full((len(radii), len(space.lower)), np.nan)
        self.kind = np.floor(np.log2(radii.max(initial=1.0) / radii)).astype(int)
        self.trees: dict[int, tuple[Integers, Any]] = {}
        self.boxsize = np.where(np.isinf(space.period), 0.0, space.period)

    def propose(self, balls: Integers, each: int, random: np.random.Generator) -> tuple[Integers, float]:
        """Try `each` random places for each ball, and take the first free one.

        Returns the balls that found a place, and the fraction of the places that were free.
        """
        ball = np.repeat(balls, each)
        margin = np.where(np.isinf(self.space.period), self.radii[ball, None], 0.0)
        lower, upper = self.space.lower + margin, self.space.upper - margin
        places = lower + random.random(lower.shape) * (upper - lower)
        free = np.flatnonzero(self._free(ball, places))
        first = free[np.unique(ball[free], return_index=True)[1]]
        first = first[np.argsort(first)]
        own, x = ball[first], places[first]
        met = self._tree(x).query_pairs(2.0 * self.radii[own].max(initial=0.0), output_type="ndarray")
        close = self._distance(x[met[:, 0]], x[met[:, 1]]) < STRICT_FACTOR * self.radii[own[met]].sum(axis=1)
        keeps = np.ones(len(own), dtype=bool)
        keeps[met[close, 1]] = False
        self.take(own[keeps], x[keeps])
        return own[keeps], max(len(free) / len(ball), 1.0 / MAX_PROPOSALS)

    def _free(self, ball: Integers, places: Array) -> Booleans:
        free, size = np.ones(len(ball), dtype=bool), self.radii[ball]
        for there, tree in self.trees.values():
            cutoff = STRICT_FACTOR * float(size.max() + self.radii[there].max())
            near = self._tree(places).sparse_distance_matrix(tree, cutoff, output_type="ndarray")
            i, j = near["i"], there[near["j"]]
            free[i[self._distance(places[i], self.q[j]) < STRICT_FACTOR * (size[i] + self.radii[j])]] = False
        return free

    def take(self, balls: Integers, x: Array) -> None:
        """Put balls at the given places."""
        self.q[balls] = x
        for kind in np.unique(self.kind[balls]):
            there = np.flatnonzero((self.kind == kind) & np.isfinite(self.q[:, 0]))
            self.trees[int(kind)] = there, self._tree(self.q[there])

    def _tree(self, x: Array) -> Any:
        from scipy.spatial import KDTree

        return KDTree(x, boxsize=self.boxsize)

    def _distance(self, x: Array, y: Array) -> Array:
        apart = y - x
        apart -= self.boxsize * np.round(apart / self.space.period)
        return np.asarray(np.linalg.norm(apart, axis=1))


def ball_volume(radii: Array, d: int) -> float:
    """The total volume of balls in dimension d."""
    return float((radii**d).sum() * math.pi ** (d / 2.0) / math.gamma(d / 2.0 + 1.0))


def _saturated(space: Cell, radii: Array, left: Integers, tries: int) -> InvalidValue:
    n, d = len(radii), len(space.lower)
    there = np.delete(radii, left)
    filled, wanted = (ball_volume(size, d) / space.volume for size in (there, radii))
    end = (
        f"; for equal balls the limit is {SATURATION_FRACTIONS[d]}, and less between walls"
        if d in SATURATION_FRACTIONS
        else ""
    )
    return InvalidValue(
        f"random sequential addition placed {len(there)} of {n} balls; then {tries} random places had no room for a "
        f"ball of radius {radii[left[0]]:.3g}. The placed balls fill {filled:.3f} of the space, all {n} would fill "
        f"{wanted:.3f}{end}. Take a larger space, a lattice, or random_close_packing with slightly smaller radii"
    )


# Lattices: n points in a box, filled from below, as far apart as touching balls of diameter `spacing`.
#
# The last axis is vertical, and the box may be open at the top. Points stay half a spacing away from the walls.


DEFAULT_SPACING = 1.02
"""Distance between neighbouring places of a lattice, in multiples of the largest diameter."""
MAX_PLACES_IN_LAYER = 4_000_000
"""Largest number of places in one layer of a lattice."""
PLACES_PER_BALL = 1000
"""Largest number of lattice places that are searched for each ball."""

SPACING_TOLERANCE = 1e-9
"""Fraction of a spacing by which a box may be too narrow: a box of width 3 a holds three balls of diameter a."""


@check_arguments
def square_lattice(n: Natural, spacing: ArrayLike, *, box: Ends) -> Array:
    """The first n points of a square lattice (cubic in 3-D) that fills a box from below.

    Points stay half a spacing away from the walls. The last axis is vertical.

    Parameters
    ----------
    n : int
        Number of points.
    spacing : float or array_like, shape (d,)
        Distance between neighbours, in the unit of the box: one positive number, or one for each axis.
    box : pair of array_like, shape (d,)
        Lower and upper corner of the box, d = 2 or 3. The upper end of the last axis may be infinite.

    Returns
    -------
    ndarray, shape (n, d)
        The points, from the lowest layer to the highest.

    Examples
    --------
    >>> square_lattice(5, 1.0, box=([0, 0], [2.5, np.inf])).tolist()
    [[0.5, 0.5], [1.5, 0.5], [0.5, 1.5], [1.5, 1.5], [0.5, 2.5]]
    """
    lower, width = _walls(box)
    a = np.broadcast_to(_positive(spacing, "spacing"), lower.shape)
    axes = [np.arange(_fitting(w, step)) * step for w, step in zip(width[:-1], a, strict=False)]
    layer = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    return _stacked(n, (layer,), float(a[-1]), a, lower, float(width[-1]))


@check_arguments
def triangular_lattice(n: Natural, spacing: float, *, box: Ends) -> Array:
    """The first n points of a triangular lattice (hexagonal close packing in 3-D) that fills a box from below.

    These lattices are the densest: balls of diameter `spacing` fill pi / sqrt(12) of the plane and pi / sqrt(18) of
    space. Points stay half a spacing away from the walls. The last axis is vertical.

    Parameters
    ----------
    n : int
        Number of points.
    spacing : float
        Distance between neighbours, positive, in the unit of the box.
    box : pair of array_like, shape (d,)
        Lower and upper corner of the box, d = 2 or 3. The upper end of the last axis may be infinite.

    Returns
    -------
    ndarray, shape (n, d)
        The points, from the lowest layer to the highest.

    Examples
    --------
    >>> triangular_lattice(5, 1.0, box=([0, 0], [2.5, np.inf])).round(3).tolist()
    [[0.5, 0.5], [1.5, 0.5], [1.0, 1.366], [2.0, 1.366], [0.5, 2.232]]
    """
    lower, width = _walls(box)
    a = float(_positive(spacing, "spacing"))
    if len(lower) == 2:
        layers = tuple(_row(float(width[0]), a, offset) for offset in (0.0, a / 2.0))
        rise = a * np.sqrt(3.0) / 2.0
    else:
        layers = tuple(_sheet(width[:2], a, offset) for offset in ((0.0, 0.0), (a / 2.0, a / np.sqrt(12.0))))
        rise = a * np.sqrt(2.0 / 3.0)
    return _stacked(n, layers, rise, np.full(len(lower), a), lower, float(width[-1]))


def _row(width: float, a: float, offset: float) -> Array:
    return np.asarray(offset + a * np.arange(_fitting(width - offset, a)), dtype=float)[:, None]


def _sheet(width: Array, a: float, offset: tuple[float, float]) -> Array:
    """One horizontal layer of the hexagonal close packing."""
    rise, sheet = a * np.sqrt(3.0) / 2.0, [np.zeros((0, 2))]
    for k in range(_fitting(width[1] - offset[1], a, rise)):
        row = _row(float(width[0]), a, (offset[0] + k * a / 2.0) % a)
        sheet.append(np.hstack([row, np.full_like(row, offset[1] + k * rise)]))
    return np.concatenate(sheet)


def _stacked(n: int, layers: tuple[Array, ...], rise: float, a: Array, lower: Array, height: float) -> Array:
    """The first n points of a stack of layers that repeat in turn, each `rise` above the one below."""
    most = _fitting(height, float(a[-1]), rise) if np.isfinite(height) else np.inf
    points, placed, k = [np.zeros((0, len(lower)))], 0, 0
    while placed < n:
        layer = layers[k % len(layers)]
        if k >= most or not len(layers[0]):
            raise InvalidValue(
                f"the box has room for {placed} points of a lattice with spacing {a.tolist()}, not for {n}"
            )
        points.append(np.hstack([layer, np.full((len(layer), 1), k * rise)]))
        placed, k = placed + len(layer), k + 1
    return np.concatenate(points)[:n] + a / 2.0 + lower


def _fitting(width: float, size: float, step: float | None = None) -> int:
    """Number of balls of diameter `size` that fit side by side into a width, with centres one step apart."""
    return max(0, int(np.floor((width - size) / (step or size) + 1.0 + SPACING_TOLERANCE)))


def _walls(box: Ends) -> tuple[Array, Array]:
    """The lower corner and the widths of a box; only its top may be open."""
    lower, upper = np.array(box[0], dtype=float), np.array(box[1], dtype=float)
    if lower.shape != upper.shape or lower.shape not in ((2,), (3,)):
        raise InvalidValue(f"box must be (lower, upper) with 2 or 3 numbers each, not {box!r}")
    if not (lower < upper).all() or not np.isfinite([*lower, *upper[:-1]]).all():
        raise InvalidValue(f"box must have lower < upper, and only its top may be open, not {box!r}")
    return lower, upper - lower


def _positive(value: ArrayLike, name: str) -> Array:
    number = finite(value, name)
    if not (number > 0.0).all():
        raise InvalidValue(f"{name} must be positive, not {value!r}")
    return number


@check_arguments
def lattice_places(
    radii: ArrayLike,
    *,
    box: Ends,
    lattice: Callable[..., Array] = triangular_lattice,
    loose: Positive = DEFAULT_SPACING,
    free: Callable[[Array, float], Booleans] | None = None,
    seed: Natural | np.random.Generator = 0,
) -> Array:
    """Free places of a loose lattice in a box, filled from below, each shifted a little at random.

    Parameters
    ----------
    radii : array_like, shape (n,)
        Radius of each ball, positive.
    box : pair of array_like, shape (d,)
        Lower and upper corner of the box that is filled; the top, the last number of the upper corner, may be infinite.
    lattice : callable, default triangular_lattice
        `triangular_lattice` or `square_lattice`.
    loose : float, default 1.02
        Distance between neighbouring places, in multiples of the largest diameter.
    free : callable (x, radius) -> array of bool, shape (m,), optional
        Which of the places x, shape (m, d), balls of this radius may take. None means all of them.
    seed : int or numpy.random.Generator, default 0
        Source of the random shifts.

    Returns
    -------
    ndarray, shape (n, d)
        The places.

    Examples
    --------
    >>> q = lattice_places([0.5, 0.4, 0.5], box=([0.0, 0.0], [2.5, np.inf]))
    >>> q.shape, bool((np.abs(q[:2, 1] - 0.51) < 0.02).all())
    ((3, 2), True)
    """
    sizes = finite(radii, "radii")
    if sizes.ndim != 1 or not len(sizes) or not (sizes > 0.0).all():
        raise InvalidValue(f"radii must be positive, one for each ball, not {radii!r}")
    lower, upper = finite(box[0], "box"), np.asarray(box[1], dtype=float)
    n, largest, d = len(sizes), float(sizes.max()), len(lower)
    spacing = 2.0 * largest * loose
    places = np.prod(np.maximum((upper[:-1] - lower[:-1]) / spacing, 1.0))
    if places > MAX_PLACES_IN_LAYER:
        raise InvalidValue(f"a layer of the lattice would have {places:.1e} places; take a narrower box")
    room = spacing / 2.0 - largest
    looked, most = n, min(PLACES_PER_BALL * (n + PLACES_PER_BALL // 10), MAX_PLACES_IN_LAYER)
    while True:
        x = lattice(looked, spacing, box=(lower, np.append(upper[:-1], np.inf)))
        fits = x[:, -1] + spacing / 2.0 <= upper[-1] * (1.0 + 1e-9)
        above = not fits[-1]
        if free is not None:
            fits &= free(x, largest + room)
        found = x[fits]
        if len(found) >= n:
            shifts = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, d))
            return np.asarray(found[:n] + room / np.sqrt(d) * shifts)
        if above or looked >= most:
            raise InvalidValue(
                f"there are places for {len(found)} grains with radii up to {largest:g}, not for {n}; take fewer or "
                f"smaller grains, or a larger box"
            )
        looked = min(2 * looked, most)
