"""Lattices of touching discs: square and triangular, in any orientation.

Bourdin & Maury 2020, section 4, figures 3 and 5. With u_k = u . e_k, the constraints (22) and (32) state that u_k does
not decrease along lines of direction e_k. The square lattice has two directions, the triangular lattice three:
e_0 = (1, 0), e_1, e_2 = (-1/2, +-sqrt(3)/2). (In (33) the third component has the wrong sign.)
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Finite, Positive, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers
from jostle.convex.linear_map import NormalRows
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Cone
from jostle.convex.projection import Projection
from jostle.convex.rows import Rows
from jostle.macro.checks import OfPlaces, holds, point
from jostle.macro.kernels import isotonic, pressures
from jostle.solvers.base import Solver
from jostle.solvers.interior_point import InteriorPoint

# Isotonic regression along saturated runs: the projection behind the 1-D, square and triangular laws.
#
# A run is a sequence of adjacent saturated points. Velocities must not decrease along it, and must not point into a
# wall, which is at rest. The projection of y on this cone C is (Bourdin & Maury 2020, section 3 and (30))
#
#     u = isotonic regression of y,  held >= 0 after a wall and <= 0 before one,
#     p = the sum of m (y - u) from a free end on:  p >= 0, and p = 0 wherever u increases.
#
# If both ends are walls, u = 0 and p is known up to a constant, which is chosen such that min p = 0.


EQUAL_MASSES = np.zeros(0)
"""Tells the kernels that all masses are one."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Points in runs, with the ends that are at walls.

    >>> runs = Runs(np.arange(5), np.array([0, 3, 5]), np.array([False, True]), np.array([False, False]))
    >>> y = np.array([2.0, 0.0, 1.0, -1.0, 3.0])
    >>> runs.isotonic(y).tolist(), runs.pressure(y - runs.isotonic(y)).tolist()
    ([1.0, 1.0, 1.0, 0.0, 3.0], [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    """

    order: Integers
    """(n,) the numbers of the points, run by run."""
    starts: Integers
    """(r + 1,) index in `order` at which each run begins, and at which the last run ends."""
    low: Booleans
    """(r,) whether each run begins at a wall."""
    high: Booleans
    """(r,) whether each run ends at a wall."""
    mass: Array | None = None
    """(n,) masses of the points; None if all are one."""

    @cached_property
    def run(self) -> Integers:
        """(n,) the run of each point of `order`."""
        return np.repeat(np.arange(len(self.low)), np.diff(self.starts))

    @cached_property
    def edges(self) -> Integers:
        """(n,) index of the edge after each point in arrays by edges; a run of k points has k + 1 edges."""
        return np.asarray(np.arange(len(self.order)) + self.run + 1)

    @cached_property
    def inner(self) -> Booleans:
        """(n + r,) whether an edge lies between two points of a run, that is, is a contact and not an end."""
        inner = np.ones(len(self.order) + len(self.low), dtype=bool)
        inner[self.starts[:-1] + np.arange(len(self.low))] = False
        inner[self.starts[1:] + np.arange(len(self.low))] = False
        return inner

    @cached_property
    def closed(self) -> Booleans:
        """(n + r,) whether an edge can carry an impulse: contacts and walls."""
        closed = self.inner.copy()
        closed[self.starts[:-1] + np.arange(len(self.low))] = self.low
        closed[self.starts[1:] + np.arange(len(self.low))] |= self.high
        return closed

    def isotonic(self, y: Array) -> Array:
        """(n,) the projection of y on the cone of the runs."""
        return isotonic(y, self._mass, self.order, self.starts, self.low, self.high)

    def pressure(self, lost: Array) -> Array:
        """(n + r,) the pressure p at each edge for lost = y - u; zero at free ends, min p = 0 between walls."""
        return pressures(lost, self._mass, self.order, self.starts, self.low, self.high)

    @property
    def _mass(self) -> Array:
        return EQUAL_MASSES if self.mass is None else self.mass

    def contacts(self) -> tuple[Integers, Integers, Array]:
        """(c,) each: the two points of every closed edge, the second -1 at a wall, and the sign of its normal."""
        before, after = np.full((2, len(self.inner)), -1)
        before[self.edges], after[self.edges - 1] = self.order, self.order
        before, after = before[self.closed], after[self.closed]
        begins = before < 0  # after a wall
        return np.where(begins, after, before), np.where(begins, -1, after), np.where(begins, -1.0, 1.0)

    def on_edges(self, p: Array) -> Array:
        """(n + r,) the numbers p of the closed edges, and zero at all other edges."""
        found = np.zeros(len(self.closed))
        found[self.closed] = p
        return found

    def rates(self, u: Array) -> Array:
        """(n + r,) opening rate of each edge: u after it minus u before it; walls are at rest, free ends give zero."""
        along = u[self.order]
        before, after = np.zeros(len(self.inner)), np.zeros(len(self.inner))
        before[self.edges], after[self.edges - 1] = along, along
        return np.where(self.closed, after - before, 0.0)


EMPTY, WALL = -1, -2
"""Entries of `Lattice.number` at sites without a disc and at sites in a wall."""
SQUARE = np.array([[1.0, 0.0], [0.0, 1.0]])
"""Directions of the contacts on the square lattice."""
TRIANGULAR = np.array([[1.0, 0.0], [-0.5, np.sqrt(0.75)], [-0.5, -np.sqrt(0.75)]])
"""Directions of the contacts on the triangular lattice."""
STEPS = np.array([[1, 0], [0, 1], [-1, -1]])
"""The directions in the basis (e_0, e_1): e_2 = -e_0 - e_1 on the triangular lattice."""
Field = Callable[[Array, Array], tuple[Any, Any]]
"""A velocity field (x, y) -> (u_x, u_y)."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """Touching discs on a square or triangular lattice, made by `square_lattice` or `triangular_lattice`.

    The point [i, j] is at origin + spacing (i e_0 + j e_1).

    Attributes
    ----------
    spacing : float
        Distance of neighbouring points, which is the diameter of the discs.
    e : array, shape (2, 2) or (3, 2)
        Directions of the contacts.
    origin : array, shape (2,)
        Position of the point [0, 0].
    number : array of int
        Number of the disc at [i, j]; -1 where there is none, -2 in a wall. The outermost rows and columns hold no disc.

    Examples
    --------
    >>> from jostle.macro.lattice import square_lattice
    >>> lattice = square_lattice(0.5, box=([0, 0], [1, 1]))
    >>> lattice.points.tolist(), lattice.cone.G.shape
    ([[0.25, 0.25], [0.25, 0.75], [0.75, 0.25], [0.75, 0.75]], (4, 8))
    """

    spacing: float
    e: Array
    origin: Array
    number: Integers

    @cached_property
    def place(self) -> Integers:
        """(n, 2): the indices [i, j] of each disc."""
        found = np.argwhere(self.number >= 0)
        return np.asarray(found[np.argsort(self.number[tuple(found.T)])])

    @cached_property
    def points(self) -> Array:
        """(n, 2): the centres of the discs."""
        i, j = self.place.T
        return self.origin + self.spacing * np.stack(
            [i * self.e[0, axis] + j * self.e[1, axis] for axis in (0, 1)], axis=1
        )

    def __len__(self) -> int:
        return len(self.place)

    @property
    def area(self) -> float:
        """Area of a Voronoi cell, which is a square or a hexagon."""
        return self.spacing**2 * float(np.abs(np.linalg.det(self.e[:2])))

    @cached_property
    def runs(self) -> tuple[Runs, ...]:
        """The runs of discs in contact, one entry per direction."""
        return tuple(self._runs(step) for step in STEPS[: len(self.e)])

    def _runs(self, step: Integers) -> Runs:
        i, j = self.place.T
        line, along = (j, i) if step[0] == 1 else (i, j) if step[0] == 0 else (i - j, -i)
        order = _line_by_line(line, backwards=step[0] < 0)
        sorted_line, sorted_along = line[order], along[order]
        breaks = (np.diff(sorted_line) != 0) | (np.diff(sorted_along) != 1)
        starts = np.concatenate([[0], np.flatnonzero(breaks) + 1, [len(order)]]) if len(order) else np.array([0])
        first, last = self.place[order[starts[:-1]]], self.place[order[starts[1:] - 1]]
        low = self.number[tuple((first - step).T)] == WALL
        high = self.number[tuple((last + step).T)] == WALL
        return Runs(order, starts, low, high)

    @cached_property
    def cone(self) -> Cone:
        """The admissible velocities (2) of the discs: one row per contact, in the order of the runs, walls included."""
        first, second, signs = zip(*(runs.contacts() for runs in self.runs), strict=True)
        normal = np.concatenate([sign[:, None] * e for sign, e in zip(signs, self.e, strict=True)])
        points = self.points if len(self.e) > 2 else None
        return Cone(NormalRows(np.concatenate(first), np.concatenate(second), normal, len(self), points))

    @cached_property
    def quadrature(self) -> tuple[Array, Array]:
        """(q, 2) offsets and (q,) weights with sum one for means over a Voronoi cell, exact at least to degree 3."""
        offsets, weights = _square_cell() if len(self.e) == 2 else _hexagon()
        turn = self.e[0]
        rotated = offsets @ np.array([turn, [-turn[1], turn[0]]])
        return self.spacing * rotated, weights

    def means(self, field: Field) -> Array:
        """Average a velocity field over the Voronoi cells, (37).

        Parameters
        ----------
        field : callable (x, y) -> (ux, uy)
            The velocity field.

        Returns
        -------
        array, shape (n, 2)
            The mean velocity in each Voronoi cell.
        """
        offsets, weights = self.quadrature
        total = np.zeros((len(self), 2))
        for offset, weight in zip(offsets, weights, strict=True):
            ux, uy = field(*(self.points + offset).T)
            total[:, 0] += weight * ux
            total[:, 1] += weight * uy
        return total


def _line_by_line(line: Integers, backwards: bool) -> Integers:
    """The order of points along lines, for points sorted by their indices; backwards reverses each line."""
    n, number = len(line), line - line.min(initial=0)
    short = number.astype(np.uint16) if number.max(initial=0) < 2**16 else number  # sorted by radix
    if backwards:
        return np.asarray(n - 1 - np.argsort(short[::-1], kind="stable"))
    return np.argsort(short, kind="stable")


def along_edges(lattice: Lattice, p: Array) -> list[tuple[Runs, Array]]:
    """The runs in each direction, and the multipliers p of the cone of a lattice on their edges."""
    ends = np.cumsum([int(runs.closed.sum()) for runs in lattice.runs])
    return [(runs, runs.on_edges(part)) for runs, part in zip(lattice.runs, np.split(p, ends[:-1]), strict=True)]


def numbered(inside: Booleans, wall: Booleans) -> Integers:
    """Number the points inside; WALL and EMPTY elsewhere."""
    number = np.where(wall, WALL, EMPTY).astype(np.int64)
    number[inside] = np.arange(int(inside.sum()))
    return number


def _square_cell() -> tuple[Array, Array]:
    x, w = np.polynomial.legendre.leggauss(4)
    points = np.stack(np.meshgrid(x / 2.0, x / 2.0, indexing="ij"), axis=-1).reshape(-1, 2)
    return points, np.outer(w, w).ravel() / 4.0


def _hexagon() -> tuple[Array, Array]:
    """Six triangles, each with the 6-point rule of degree 4 (Dunavant 1985)."""
    a, b, wa = 0.445948490915965, 0.091576213509771, 0.223381589678011
    barycentric = np.array([[1 - 2 * s if k == m else s for m in range(3)] for s in (a, b) for k in range(3)])
    weights = np.array([wa] * 3 + [1.0 / 3.0 - wa] * 3)
    angle = np.pi / 6.0 + np.arange(7) * np.pi / 3.0
    corner = np.stack([np.cos(angle), np.sin(angle)], axis=1) / np.sqrt(3.0)
    points = [barycentric @ np.array([[0.0, 0.0], corner[k], corner[k + 1]]) for k in range(6)]
    return np.concatenate(points), np.tile(weights, 6) / 6.0


# Square and triangular lattices of discs that fill a zone.


@check_arguments
def square_lattice(
    spacing: Positive,
    *,
    box: tuple[ArrayLike, ArrayLike],
    zone: OfPlaces | None = None,
    walls: OfPlaces | None = None,
    angle: Finite = 0.0,
) -> Lattice:
    """Fill a zone with touching discs on a square lattice.

    With angle 0 the lattice starts at the lower corner of the box: a box whose sides are multiples of the spacing is
    filled exactly. With any other angle a point is at the centre of the box.

    Parameters
    ----------
    spacing : float
        Distance of neighbouring points, positive.
    box : (array_like, array_like), each of shape (2,)
        Lower and upper corner of the region to fill.
    zone : callable (x, y) -> array of bool, optional
        Condition on the points. None: the whole box.
    walls : callable (x, y) -> array of bool, optional
        Condition that is true in walls. None: no walls.
    angle : float, default 0.0
        Angle of the direction e_0 with the x axis, in radians.

    Returns
    -------
    Lattice
        The discs inside the zone.

    Examples
    --------
    >>> len(square_lattice(0.1, box=([-1, -1], [1, 1]), zone=lambda x, y: x**2 + y**2 < 1))
    316
    """
    return _filled(spacing, SQUARE, box, zone, walls, angle, centred=angle == 0.0)


@check_arguments
def triangular_lattice(
    spacing: Positive,
    *,
    box: tuple[ArrayLike, ArrayLike],
    zone: OfPlaces | None = None,
    walls: OfPlaces | None = None,
    angle: Finite = 0.0,
) -> Lattice:
    """Fill a zone with touching discs on a triangular lattice, with one disc at the centre of the box.

    Parameters
    ----------
    spacing, box, zone, walls, angle : float, pair of array_like, callable, callable, float
        The same as for `square_lattice`.

    Returns
    -------
    Lattice
        The discs inside the zone.

    Examples
    --------
    >>> flower = triangular_lattice(1.0, box=([-2, -2], [2, 2]), zone=lambda x, y: x**2 + y**2 < 1.5)
    >>> len(flower), flower.cone.G.shape[0]
    (7, 12)
    """
    return _filled(spacing, TRIANGULAR, box, zone, walls, angle, centred=False)


def _filled(
    spacing: float,
    e: Array,
    box: tuple[ArrayLike, ArrayLike],
    zone: OfPlaces | None,
    walls: OfPlaces | None,
    angle: float,
    *,
    centred: bool,
) -> Lattice:
    lower, upper = point(box[0], "box"), point(box[1], "box")
    spacing = float(spacing)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    directions = e @ turn
    origin = lower + spacing / 2.0 if centred else (lower + upper) / 2.0
    corners = np.array([(x, y) for x in (lower[0], upper[0]) for y in (lower[1], upper[1])]) - origin
    reach = corners @ np.linalg.inv(directions[:2]) / spacing
    least, most = np.floor(reach.min(axis=0)).astype(int) - 1, np.ceil(reach.max(axis=0)).astype(int) + 1
    i, j = np.meshgrid(*(np.arange(a, b + 1) for a, b in zip(least, most, strict=True)), indexing="ij")
    x, y = np.moveaxis(origin + spacing * (np.stack([i, j], axis=-1) @ directions[:2]), -1, 0)
    slack = 1e-9 * spacing
    inside = (x > lower[0] - slack) & (x < upper[0] + slack) & (y > lower[1] - slack) & (y < upper[1] + slack)
    wall = np.zeros_like(inside) if walls is None else holds(walls, x, y)
    if zone is not None:
        inside &= holds(zone, x, y)
    start = origin + spacing * (least @ directions[:2])
    return Lattice(spacing, directions, start, numbered(inside & ~wall, wall))


# Projection on the admissible velocities of a lattice by regressions along its lines, for square and triangular laws.
#
#     min 1/2 |U - sum_k I_k e_k|^2  over  I_k in the polar of the non-decreasing functions along lines e_k,
#     u = U - sum_k I_k e_k,   p_k = the sums of I_k along the lines        (Bourdin & Maury 2020, (29) and (35))
#
# by the accelerated gradient (Nesterov 1983) with restarts (O'Donoghue & Candès 2015). The projection on a polar is
# y minus its isotonic regression. The Lipschitz constant is the largest eigenvalue of sum_k e_k e_k^T at any size:
# 3/2 for three directions. Two directions at right angles decouple, with one regression per line.


TEST_INTERVAL = 10
"""Number of iterations between two stopping tests."""
INNER_TOLERANCE = 0.5
"""The loop stops at this fraction of tol, so that the common stopping test of the solvers is passed as well."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Isotonic(Solver):
    """Isotonic regressions along the lines of a lattice; `InteriorPoint` takes over if they do not converge."""

    lattice: Lattice
    tol: float = 1e-8
    max_iterations: int = 2000

    def _plan(self, K: Rows) -> Generator[Solver, Projection, None]:
        if len(self.lattice.e) == 2:
            yield self
            return
        second = InteriorPoint(tol=self.tol)
        yield replace(self, max_iterations=max(1, self.max_iterations - second.max_iterations))
        yield second

    def _solve(self, w: Array, K: Rows, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        U, e, runs = w.reshape(-1, 2), self.lattice.e, self.lattice.runs
        if len(e) == 2:
            return self._lines(U, M)
        lost = np.zeros((len(e), len(U)))
        ahead, new, t = lost.copy(), np.empty_like(lost), 1.0
        scaled = along(e, U) * (2.0 / 3.0)
        for k in range(1, self.max_iterations + 1):
            # with e_k . e_l = -1/2, the step ahead_k + (2/3) (U - sum_l ahead_l e_l) . e_k is (2/3) U . e_k + mean
            mean = (ahead[0] + ahead[1] + ahead[2]) / 3.0
            for part, y, line in zip(new, scaled, runs, strict=True):
                moved = y + mean
                np.subtract(moved, line.isotonic(moved), out=part)
            change = new - lost
            if k % TEST_INTERVAL == 0 and self._met(U, new):
                lost = new
                break
            np.subtract(ahead, new, out=ahead)
            if float(np.einsum("kn,kn->", ahead, change)) > 0.0:
                t = 1.0
            faster = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
            np.multiply(change, (t - 1.0) / faster, out=ahead)
            ahead += new
            lost, new, t = new, lost, faster
        mass = M.mass.reshape(-1, 2)[:, 0]
        p = [line.pressure(mass * part)[line.closed] for part, line in zip(lost, runs, strict=True)]
        return (U - together(e, lost)).ravel(), np.concatenate(p), k

    def _lines(self, U: Array, M: Metric) -> tuple[Array, Array, int]:
        """Two directions at right angles: one regression per line."""
        u, p = np.zeros_like(U), []
        mass = M.mass.reshape(-1, 2)[:, 0]
        for e, line in zip(self.lattice.e, self.lattice.runs, strict=True):
            y = U[:, 0] * e[0] + U[:, 1] * e[1]
            kept = line.isotonic(y)
            for axis in (0, 1):
                if e[axis] != 0.0:
                    u[:, axis] += kept * e[axis]
            p.append(line.pressure(mass * (y - kept))[line.closed])
        return u.ravel(), np.concatenate(p), 1

    def _met(self, U: Array, lost: Array) -> bool:
        """The stopping test of all solvers: violation and sum p |s|, relative to the distance moved."""
        taken = together(self.lattice.e, lost)
        u, distance = U - taken, float(np.sqrt((taken**2).sum()))
        product, violation = 0.0, 0.0
        for e, part, line in zip(self.lattice.e, lost, self.lattice.runs, strict=True):
            s = line.rates(u[:, 0] * e[0] + u[:, 1] * e[1])
            product += float((line.pressure(part) * np.abs(s)).sum())
            violation = max(violation, -float(s.min(initial=0.0)))
        tol = INNER_TOLERANCE * self.tol
        return violation <= tol * distance and product <= tol * distance**2


# Sums over two or three directions are written out: starting threads for a matrix product would take longer.
def along(e: Array, u: Array) -> Array:
    """(k, n): the components u . e_k."""
    return np.stack([u[:, 0] * ek[0] + u[:, 1] * ek[1] for ek in e])


def together(e: Array, I: Array) -> Array:  # noqa: E741
    """(n, 2): sum_k I_k e_k."""
    return np.stack([sum(Ik * ek[axis] for Ik, ek in zip(I, e, strict=True)) for axis in (0, 1)], axis=1)
