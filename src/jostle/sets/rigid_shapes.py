"""Bodies of convex shapes that do not overlap: D = dist(core_i, core_j) - radius_i - radius_j >= 0.

With the unit normal n in which two cores A and B are farthest apart, D = n . (b - a) - r_A - r_B for their nearest
points a and b. At fixed orientations D is convex in the positions, and its gradient is that of the two points held on
their bodies. Where the nearest points are not unique, as those of two faces, the rows of the pair are all extreme ones,
which share one normal: the contact is a manifold, and no face rocks on a point.

A row keeps a translation from any overlap, whatever the step. A corner that turns by h w over a plane sinks by at most
(h w)^2 (rho - H) / 2, with the height H of the centre of mass above the contact and the radius of curvature rho there:
not at all if rho <= H. A face that turns below a corner may end up to (h w)^2 H / 2 too high. ``sol.overlap`` is what a
run had.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Integers, contiguous, floats, lowest
from jostle._tools.rotations import matrices
from jostle.bodies import Bodies, Parts
from jostle.contacts import BY_NORMALS, Contacts, Cutoff
from jostle.errors import InvalidValue, NotFinite, UndefinedGradient
from jostle.sets.balls import PairList
from jostle.sets.base import BodySet, ConstraintSet, Intersection, parts
from jostle.sets.cores import Cores, feet_of, solids_of
from jostle.shapes import Core, Shape

FIRST_SEARCH_RADIUS, SEARCH_FACTOR = 0.1, 4.0
"""First search radius of `gap`, as a fraction of the mean size of cores, and by how much it grows in each search."""


PROPERTIES = "arms", "axes", "inertia"
"""What `Parts` have of each shape."""


@check_arguments
class Shapes(BodySet):
    """Rigid bodies of convex shapes, which do not overlap: boxes, polygons, polyhedra, capsules, and compounds of them.

    A body of the problem has one of `jostle.shapes`, and q is its centre of mass. Its inertia is that of its shape,
    with one density. Two faces that touch have contacts at the corners of their common part, so that towers stand.

    Parameters
    ----------
    shapes : sequence of Shape
        The shape of each body, all in the plane or all in space; ``[shape] * n`` makes n alike.

    Attributes
    ----------
    shapes : tuple of Shape
        The shapes, in the plane or in space.
    bodies : Bodies
        The corners of all cores, and which body each belongs to.

    Examples
    --------
    >>> import jostle as jo
    >>> brick = jo.shapes.Box([2.0, 1.0])
    >>> wall = jo.Motion(q0=[[0.0, 0.5], [0.5, 1.5]], force=[0.0, -9.81], law=jo.Coulomb(0.5),
    ...                  within=jo.Shapes([brick] * 2) & jo.HalfSpace([0.0, 1.0]))
    >>> sol = jo.solve(wall, jo.Maury(), t=1.0, h=0.01)
    >>> bool(abs(sol.q[-1] - wall.q0).max() < 1e-6), sol.pairs[-1].tolist()
    (True, [[0, 4], [6, 0], [2, -1], [3, -1]])
    """

    convex_gaps, curved, moving = False, True, False

    def __init__(self, shapes: Sequence[Shape]):
        self._make(shapes, 2)

    def _make(self, shapes: Sequence[Shape], dimension: int) -> None:
        """The set of shapes; `dimension` is that of discs and capsules alone."""
        self.shapes, self._given = _of_one_dimension(shapes, dimension), shapes
        self.undecided = all(shape.dimension is None for shape in shapes)
        """Whether all shapes are discs and capsules, which may be in the plane or in space."""
        known: dict[int, _Made] = {}
        made = [known.setdefault(id(shape), _Made(shape)) for shape in self.shapes]
        sizes, rounding = (np.concatenate([getattr(one, name) for one in made]) for name in ("corners", "rounding"))
        owner = np.repeat(np.arange(len(made)), [len(one.corners) for one in made])
        each = list({id(shape): shape for shape in self.shapes}.values())
        kind, solids = None, None
        if self.shapes[0].dimension == 3:
            first = dict(zip(map(id, each), np.cumsum([0, *(len(one.cores) for one in each)]), strict=False))
            kind = np.concatenate([first[id(one)] + np.arange(len(one.cores)) for one in self.shapes])
            solids = solids_of([core for one in each for core in one.cores])
        self.cores = Cores(np.append(0, np.cumsum(sizes)), rounding, owner, kind, solids)
        self._list: PairList | None = None
        arms, axes, inertia = (np.concatenate([getattr(one, name) for one in made]) for name in PROPERTIES)
        length, core = min(one.size for one in each) / 2.0, np.repeat(np.arange(len(sizes)), sizes)
        self.parts = Parts(owner[core], arms, axes, inertia, length, core)
        kinds = {type(shape).__name__.lower() for shape in each}
        called = kinds.pop() if len(kinds) == 1 else "body"
        self.bodies = Bodies(rounding[core], apart=True, parts=self.parts, called=called, cores=self.cores)

    def __repr__(self) -> str:
        return f"Shapes({len(self.shapes)} {self.bodies.several})"

    def in_space(self) -> Shapes:
        """The same set for discs and capsules in space.

        Returns
        -------
        Shapes
            The set.
        """
        there = copy(self)
        there._make(self._given, 3)
        return there

    def linearise(self, t: float, q: Array, cutoff: Cutoff = np.inf) -> Contacts:
        # The rows of all pairs of cores within the cutoff.
        x = self._corners(q)
        rows, self._list = self.cores.near(x, cutoff, self._list, self.hinged)
        lost = np.flatnonzero(np.isnan(rows.gap) | np.isnan(rows.normal[:, 0]))
        if len(lost):
            self._refuse(x, rows.pairs[lost[0]])
        return Contacts(
            rows.gap,
            BY_NORMALS,
            rows.pairs,
            constraint_count=0,
            length=self.parts.length,
            cutoff=cutoff,
            describe=partial(self._describe, rows.pairs),
            at=x,
            part_count=len(x),
            normal=rows.normal,
            feet=feet_of(rows, x, self.bodies.radii_at(t)[rows.pairs[:, 0]]),
            known=True,
        )

    def overlap(self, t: float, q: Array) -> float:
        return self.linearise(t, q, 0.0).overlap()

    def gap(self, t: float, q: ArrayLike) -> float:
        # The smallest gap between two shapes.
        x = self._corners(floats(q, name="q"))
        if len(self.shapes) == 1:
            return np.inf
        cutoff = FIRST_SEARCH_RADIUS * float(np.ptp(x, axis=0).max())
        while len(gap := self.linearise(t, x, cutoff).gap) == 0:
            cutoff *= SEARCH_FACTOR
        return lowest(gap, np.inf)

    def _corners(self, q: Array) -> Array:
        if q.shape != (there := self.parts.arms.shape):
            raise InvalidValue(f"shapes have corners of shape {there}; their positions have shape {q.shape}")
        x: Array = contiguous(q)
        return x

    def _describe(self, pairs: Integers, row: int) -> str:
        i, j = sorted(self.parts.owner[pairs[row]].tolist())
        return f"{self.bodies.several} {i} and {j}"

    def _refuse(self, x: Array, pair: Integers) -> None:
        """The error of two cores without a normal."""
        for part in pair:
            if not np.isfinite(x[part]).all():
                raise NotFinite(f"the position of {self.bodies.name(int(part))} is {x[part].tolist()}")
        raise UndefinedGradient(
            f"{self._describe(pair[None], 0)} have the same centre {x[pair[0]].tolist()}; the direction between them "
            f"is undefined: move one of them"
        )


def of_dimension(within: ConstraintSet, shape: tuple[int, ...]) -> ConstraintSet:
    """The set for positions of a shape (..., d): discs and capsules alone may be in the plane or in space."""
    if shape != (3,) or not any(isinstance(Q, Shapes) and Q.undecided for Q in parts(within)):
        return within
    sets = tuple(Q.in_space() if isinstance(Q, Shapes) else Q for Q in parts(within))
    return Intersection(sets) if isinstance(within, Intersection) else sets[0]


def _of_one_dimension(shapes: Sequence[Shape], dimension: int) -> tuple[Shape, ...]:
    """The shapes, checked; discs and capsules are of the dimension of the others, or of this one."""
    given = tuple(shapes)
    for k, shape in enumerate(given):
        if not isinstance(shape, Shape):
            raise InvalidValue(f"shape {k} must be one of jo.shapes, such as jo.shapes.Box([2.0, 1.0]), not {shape!r}")
    if not given:
        raise InvalidValue("shapes must be one of jo.shapes for each body, and there are none")
    dimensions = {shape.dimension for shape in given} - {None}
    if len(dimensions) > 1:
        flat, solid = (next(k for k, one in enumerate(given) if one.dimension == d) for d in (2, 3))
        raise InvalidValue(
            f"shapes must be all in the plane or all in space: shape {flat}, {given[flat]!r}, is in the plane, and "
            f"shape {solid}, {given[solid]!r}, in space"
        )
    d = dimensions.pop() if dimensions else dimension
    made = {id(shape): shape.of_dimension(d) for shape in given}  # type: ignore[arg-type]
    return tuple(made[id(shape)] for shape in given)


class _Made:
    """A shape as `Parts` have it."""

    def __init__(self, shape: Shape):
        cores: tuple[Core, ...] = shape.cores
        if any(core.semi_axes is not None for core in cores):
            raise InvalidValue(f"{shape!r} cannot be a body yet: use polygons, boxes, hulls, capsules and balls")
        self.corners = np.array([len(core.vertices) for core in cores])
        self.rounding = np.array([core.radius for core in cores])
        arms = np.concatenate([core.vertices for core in cores])
        self.axes, self.inertia = np.reshape(shape.axes, (1, -1) if shape.dimension == 3 else 1), shape.inertia[None]
        self.arms = arms if shape.dimension == 2 else arms @ matrices(self.axes)[0]
