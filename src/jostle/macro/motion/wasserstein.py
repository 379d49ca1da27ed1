"""The Wasserstein projection on {rho <= 1}: the density rho' <= 1 with the mass of rho that minimises W2.

Maury, Roudneff-Chupin & Santambrogio 2010. Its dual problem is concave: find p >= 0 with the largest

    J(p) = integral of rho q - integral of p,      q(x) = min_y |x - y|^2 / 2 + p(y),      W2^2 = 2 max J.

The gradient of J is T# rho - 1, with T = x - grad q. As in the back-and-forth method (Jacobs & Léger 2020; Jacobs, Lee
& Léger 2021) each iteration takes an ascent step in H^1, then the c-transform of p and the c-transform back, which
never lower J. The step differs in two ways. It keeps p >= 0, which makes it an obstacle problem, because a gradient
step would not converge where 0 < rho' < 1. Its metric is the second derivative of J, the diagonal of (I + D^2 p)^-1, so
that about ten steps are enough at every size. Each grid starts from the solution on a grid of twice the mesh width.

Internally lengths are in cells. The iteration ends with the density T# rho. It is one where p > 0, except in cells at
the edge of the saturated zone, where p has a kink if there is no mass beyond; `repaired` corrects these cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.errors import InvalidValue, NotConverged
from jostle.macro.grid import Grid
from jostle.macro.kernels import envelopes
from jostle.macro.motion.domain import MAX_EXCESS, Domain, check_mass, checked_density
from jostle.macro.obstacle import FivePoint, in_fours, linear_solution, nested, obstacle

# The c-transform of a potential on a grid, for the cost |x - y|^2 / 2, and its transport map.
#
#     q(x) = min_y |x - y|^2 / 2 + p(y),        T(x) = x - grad q(x)        (Jacobs & Léger 2020)
#
# Lengths are in cells, and the grid starts at 0. Minima along x, then along y, are lower envelopes of parabolas. They
# are also taken along y, then along x, and the mean of both preserves the symmetries of the data.


def c_transform(p: Array) -> Array:
    """(nx, ny): min_y |x - y|^2 / 2 + p(y) at the centres of the cells.

    >>> c_transform(np.array([[0.0, 9.0, 9.0]])).tolist()
    [[0.0, 0.5, 2.0]]
    """
    x_last = envelopes(_turned(envelopes(p)))
    y_last = envelopes(_turned(envelopes(_turned(p))))
    return 0.5 * (_turned(x_last) + y_last)


def map_of_faces(q: Array) -> tuple[Array, Array]:
    """(nx + 1, ny) and (nx, ny + 1): images of the faces across x and across y under x - grad q; the sides stay.

    >>> [x.tolist() for x in map_of_faces(np.array([[0.0], [0.25]]))]
    [[[0.0], [0.75], [2.0]], [[0.0, 1.0], [0.0, 1.0]]]
    """
    nx, ny = q.shape
    x, y = np.repeat(np.arange(nx + 1.0)[:, None], ny, axis=1), np.repeat(np.arange(ny + 1.0)[None], nx, axis=0)
    x[1:-1] -= np.diff(q, axis=0)
    y[:, 1:-1] -= np.diff(q, axis=1)
    return np.clip(x, 0.0, nx), np.clip(y, 0.0, ny)


def _turned(field: Array) -> Array:
    return np.ascontiguousarray(field.T)


# The push-forward of a density by a map of the faces of a grid, which conserves mass, and the cost of the map.
#
# The map takes each cell to the rectangle between the images of its faces. The mass of the cell is spread evenly over
# the rectangle and divided among the cells that it covers. For small displacements, density times displacement crosses
# each face, so that a map x - grad q adds the five-point Laplacian of q to a density of one. Lengths are in cells.


MIN_WIDTH = 1e-9
"""Smallest width of the image of a cell, in cells."""


def pushed(density: Array, x: Array, y: Array) -> Array:
    """(nx, ny): the density after faces across x moved to x (nx + 1, ny), and those across y to y (nx, ny + 1).

    >>> pushed(np.array([[1.0], [0.0]]), np.array([[0.0], [1.5], [2.0]]), np.array([[0.0, 1.0]] * 2)).tolist()
    [[0.6666666666666666], [0.3333333333333333]]
    """
    nx, ny = density.shape
    there = density > 0.0
    mass = density[there]
    column, across = _shares(x[:-1][there], x[1:][there], nx)
    row, along = _shares(y[:, :-1][there], y[:, 1:][there], ny)
    total = np.zeros((nx + len(across) - 1) * (ny + len(along) - 1))
    stride = ny + len(along) - 1
    for a, part_x in enumerate(across):
        for b, part_y in enumerate(along):
            place = (column + a) * stride + row + b
            total += np.bincount(place, weights=mass * part_x * part_y, minlength=len(total))
    return total.reshape(-1, stride)[:nx, :ny]


def cost(density: Array, x: Array, y: Array) -> float:
    """The integral of density |T - identity|^2, for the map that is linear along both axes in each cell.

    >>> cost(np.array([[2.0]]), np.array([[0.0], [3.0]]), np.array([[0.0, 1.0]]))
    2.6666666666666665
    """
    nx, ny = density.shape
    right, up = x - np.arange(nx + 1.0)[:, None], y - np.arange(ny + 1.0)
    squares = _mean_square(right[:-1], right[1:]) + _mean_square(up[:, :-1], up[:, 1:])
    return float((density * squares).sum())


def _shares(low: Array, high: Array, cells: int) -> tuple[Integers, list[Array]]:
    """The first cell of each interval, and the fractions of the interval in this cell, the next one, and so on."""
    middle, width = 0.5 * (low + high), np.maximum(high - low, MIN_WIDTH)
    low, high = middle - 0.5 * width, middle + 0.5 * width
    first = np.clip(np.floor(low).astype(np.int64), 0, cells - 1)
    most = int((np.ceil(high).astype(np.int64) - first).max(initial=1))
    parts = [np.maximum(np.minimum(high, first + k + 1) - np.maximum(low, first + k), 0.0) for k in range(most)]
    total = np.sum(parts, axis=0)  # less than the width where round-off moves an image beyond a side
    return first, [part / total for part in parts]


def _mean_square(a: Array, b: Array) -> Array:
    """The mean of the square of a function that is linear between a and b."""
    return (a * a + a * b + b * b) / 3.0


# Small corrections that make a density admissible: one in a saturated zone, and between 0 and 1 elsewhere.
#
#     rho' = rho + Laplace m,     m = a + b - c
#
# where a makes the density one in the zone (a linear system, a = 0 outside), b >= 0 spreads densities above one (an
# obstacle problem), and c >= 0 removes densities below zero (the same problem for 1 - rho). All are fluxes between
# cells, so that mass is conserved up to round-off and moves no further than necessary. Lengths are in cells; the sides
# are closed.


TOLERANCE = 1e-10
"""Relative residual of the linear system."""
DENSITY_ROUND_OFF = 1e-13
"""Densities below zero by less than this are rounded to zero."""


def repaired(room: Domain, density: Array, zone: Booleans) -> tuple[Array, Array]:
    """(nx, ny) each: the admissible density with a saturated zone, and the potential m of the fluxes to it."""
    everywhere = room.laplacian()
    m = _filling(room, density, zone)
    found = density - everywhere.applied(m)
    if found.max() > 1.0 + MAX_EXCESS:
        m = m + obstacle(everywhere, found - 1.0, np.where(zone | (found > 1.0), 1.0, 0.0))[0]
        found = density - everywhere.applied(m)
    if found.min() < -DENSITY_ROUND_OFF:
        m = m - obstacle(everywhere, -found, nested(everywhere, -found))[0]
        found = density - everywhere.applied(m)
    return np.maximum(found, 0.0), m


def _filling(room: Domain, density: Array, zone: Booleans) -> Array:
    """a = 0 outside a zone with density + Laplace a = 1 inside; a = 0 if the zone is the whole grid."""
    if zone.all() or not zone.any():
        return np.zeros(density.shape)
    return linear_solution(room.laplacian(zone=zone), np.where(zone, density - 1.0, 0.0), TOLERANCE)


MIN_STRETCH, MAX_STRETCH = 0.2, 10.0
"""Entries of (I + D^2 p)^-1 are kept between these bounds, because p has kinks."""
MIN_DETERMINANT = 0.25
"""Least determinant of I + D^2 p, as a fraction of the product of its diagonal."""
STEP_TOLERANCE = 1e-7
"""Relative residual of the linear systems in a step."""
MIN_GAIN = 3e-5
"""Iterations in which J grows by less than this fraction count as idle."""
EQUALITY_TOLERANCE = 1e-7
"""Values of J that differ by less than this fraction are equal, and p below this fraction of the largest is zero."""
PATIENCE = 3
"""The iteration has converged after this many idle iterations in a row."""
MAX_COARSEST = 32
"""Grids with at most this many cells along each axis are started from p = 0."""

SIDE_TOLERANCE = 1e-9
"""Largest increase of the density beside an open side."""


@dataclass(frozen=True, eq=False)
class WassersteinProjection:
    """The Wasserstein projection of a density on {rho <= 1}, with a certificate.

    Attributes
    ----------
    density : array, shape (nx, ny)
        The projected density rho', at most one, with the mass of rho.
    potential : array, shape (nx, ny)
        p >= 0, with p = 0 where rho' < 1; the mass at y came from y + grad p.
    displacement : array, shape (nx, ny, 2)
        T(x) - x, averaged over each cell; zero where there is no mass.
    squared_distance : float
        W2^2: the cost of the transport from rho to rho' that was found.
    dual : float
        2 J(p), a lower bound of W2^2 up to the accuracy of the grid, h^2 times the mass that changes cells.
    iterations : int
        Number of iterations on the finest grid.

    Examples
    --------
    >>> grid = Grid([0, 0], [4, 1], h=1 / 8, closed=True)
    >>> found = wasserstein_projection(grid, 2.0 * grid.block([1.5, 0], [2.5, 1]))  # becomes 1 on [1, 3] x [0, 1]
    >>> bool(abs(found.density - grid.block([1, 0], [3, 1])).max() < 1e-6)
    True
    >>> round(found.squared_distance, 3), round(found.dual, 3), round(1 / 6, 3)
    (0.163, 0.17, 0.167)
    """

    density: Array
    potential: Array
    displacement: Array
    squared_distance: float
    dual: float
    iterations: int

    @property
    def gap(self) -> float:
        """|squared_distance - dual|, which is zero for the exact projection, up to the accuracy of the grid."""
        return abs(self.squared_distance - self.dual)


class _Iterate(NamedTuple):
    p: Array
    q: Array
    density: Array
    """T# rho."""
    J: float


@check_arguments
def wasserstein_projection(
    grid: Grid, density: ArrayLike, *, tol: Positive = 0.01, max_iterations: Count = 60
) -> WassersteinProjection:
    """Find the density rho' <= 1 on a rectangle that is nearest to a density rho in the Wasserstein distance W2.

    There are no walls inside the rectangle, because distances around walls need another method; `obstacle_step` takes
    walls and exits. No mass leaves the rectangle.

    Parameters
    ----------
    grid : Grid
        The grid.
    density : array_like, shape (nx, ny)
        Density rho in the cells, not negative; its mass must fit into the grid.
    tol : float, default 0.01
        Largest relative duality gap, positive. The accuracy of the grid, h^2 times the mass that changes cells, is
        added to it.
    max_iterations : int, default 60
        Largest number of iterations on each grid.

    Returns
    -------
    WassersteinProjection
        The projected density, the transport and the duality gap.

    Raises
    ------
    NotConverged
        If the duality gap exceeds its tolerance.

    Examples
    --------
    >>> grid = Grid([-1, -1], [1, 1], h=1 / 64)
    >>> found = wasserstein_projection(grid, 2.0 * grid.disc([0, 0], 0.5))      # the disc of radius sqrt(2) / 2
    >>> exact = (2**0.5 - 1) ** 2 * np.pi / 2**4
    >>> bool(abs(found.squared_distance / exact - 1) < 0.01), bool(found.gap < 0.005 * exact)
    (True, True)
    """
    rho = checked_density(grid, density)
    if rho.max() <= 1.0:
        return WassersteinProjection(rho, np.zeros(grid.shape), np.zeros((*grid.shape, 2)), 0.0, 0.0, 0)
    room = Domain(Grid(grid.lower, grid.upper, grid.h, closed=True))
    check_mass(room, rho)
    found, iterations = _ascent(rho, max_iterations)
    x, y = map_of_faces(found.q)
    after, moved = repaired(room, found.density, found.p > EQUALITY_TOLERANCE * found.p.max())
    _check_sides(grid, after, rho)
    # a flux f through a face adds 2 f . (y - x) + f^2 to the cost, for mass that came from x = y + grad p
    squares = sum(float((np.diff(moved, axis=axis) ** 2).sum()) for axis in (0, 1))
    total = cost(rho, x, y) - 2.0 * float((found.p * (after - found.density)).sum()) + squares
    allowed = tol * total + 0.5 * float(np.abs(after - rho).sum())
    gap = abs(total - 2.0 * found.J)
    if gap > allowed:
        raise NotConverged(
            f"the duality gap of the Wasserstein projection is {gap * grid.h**4:.3g} after {iterations} iterations, "
            f"more than {allowed * grid.h**4:.3g}; resolve large densities with more cells, or raise max_iterations"
        )
    steps = np.stack([_displacement(x, 0), _displacement(y, 1)], axis=-1)
    return WassersteinProjection(
        density=after,
        potential=grid.h**2 * found.p,
        displacement=grid.h * np.where(rho[..., None] > 0.0, steps, 0.0),
        squared_distance=total * grid.h**4,
        dual=2.0 * found.J * grid.h**4,
        iterations=iterations,
    )


def _ascent(rho: Array, most: int) -> tuple[_Iterate, int]:
    """The p with the largest J found, and the number of iterations."""
    best = now = _iterate(rho, _start(rho, most))
    idle = 0
    for k in range(1, most + 1):
        now = _iterate(rho, _step(now))
        idle = 0 if now.J > (1.0 + MIN_GAIN) * best.J else idle + 1
        best = now if now.J > (1.0 + EQUALITY_TOLERANCE) * best.J else best  # symmetric data have ties, up to round-off
        if idle == PATIENCE:
            return best, k
    return best, most


def _start(rho: Array, most: int) -> Array:
    """p on a grid of twice the mesh width, interpolated linearly."""
    if max(rho.shape) <= MAX_COARSEST:
        return np.zeros(rho.shape)
    coarse = _ascent(in_fours(rho).mean(axis=(1, 3)), most)[0].p
    fine = 4.0 * _refined(_refined(coarse).T).T
    fine[coarse.repeat(2, axis=0).repeat(2, axis=1) == 0.0] = 0.0
    return np.ascontiguousarray(fine[: rho.shape[0], : rho.shape[1]])


def _refined(field: Array) -> Array:
    around = np.pad(field, [(1, 1), (0, 0)], mode="edge")
    halves = 0.75 * field + 0.25 * around[:-2], 0.75 * field + 0.25 * around[2:]
    return np.stack(halves, axis=1).reshape(-1, field.shape[1])


def _iterate(rho: Array, p: Array) -> _Iterate:
    """Apply both c-transforms to p and evaluate J."""
    q = c_transform(p)
    p = np.maximum(np.minimum(p, -c_transform(-q)), 0.0)
    return _Iterate(p, q, pushed(rho, *map_of_faces(q)), float((rho * q).sum() - p.sum()))


def _step(now: _Iterate) -> Array:
    """The p >= 0 that maximises the second-order expansion of J."""
    A = _second_derivative(now.p)
    load = now.density - 1.0 + A.applied(now.p)
    start = now.p if now.p.any() else nested(A, load)
    return obstacle(A, load, start, tol=STEP_TOLERANCE)[0]


def _second_derivative(p: Array) -> FivePoint:
    """-J'' without mixed derivatives: the diagonal of (I + D^2 p)^-1, averaged over faces."""
    around = np.pad(p, 1, mode="edge")
    x = np.maximum(1.0 + around[2:, 1:-1] - 2.0 * p + around[:-2, 1:-1], 1.0 / MAX_STRETCH)
    y = np.maximum(1.0 + around[1:-1, 2:] - 2.0 * p + around[1:-1, :-2], 1.0 / MAX_STRETCH)
    mixed = 0.25 * (around[2:, 2:] - around[2:, :-2] - around[:-2, 2:] + around[:-2, :-2])
    determinant = np.maximum(x * y - mixed**2, MIN_DETERMINANT * x * y)
    stretch_x, stretch_y = (np.maximum(field / determinant, MIN_STRETCH) for field in (y, x))
    east, north = np.zeros(p.shape), np.zeros(p.shape)
    east[:-1] = 0.5 * (stretch_x[1:] + stretch_x[:-1])
    north[:, :-1] = 0.5 * (stretch_y[:, 1:] + stretch_y[:, :-1])
    return FivePoint(east, north, np.zeros(p.shape))


def _displacement(faces: Array, axis: int) -> Array:
    """(nx, ny): the mean displacement of each cell along an axis, from the new positions of its faces."""
    moved = np.moveaxis(faces, axis, 0) - np.arange(faces.shape[axis])[:, None]
    return np.moveaxis(0.5 * (moved[1:] + moved[:-1]), 0, axis)


def _check_sides(grid: Grid, after: Array, before: Array) -> None:
    """Refuse a result with mass beside an open side, because that mass would have moved on."""
    for name, axis, end in (("left", 0, 0), ("right", 0, -1), ("bottom", 1, 0), ("top", 1, -1)):
        gain = (after - before).take(end, axis=axis)
        if not grid.closed[axis][end] and gain.max() > SIDE_TOLERANCE:
            raise InvalidValue(
                f"the projected density reaches the {name} side of the grid, which is open; use a larger grid, "
                "or close the side: Grid(..., closed=True)"
            )
