"""Facts about a problem: what is needed to draw and to measure a run, besides its states.

A `Solution` that `solve` returns has its problem. One that was read from a file has these facts instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array, Integers, at
from jostle.convex.metric import Metric
from jostle.errors import InvalidValue, MissingPackage
from jostle.problems import Motion, Sweeping
from jostle.sets.balls import Balls, Line
from jostle.sets.base import ConstraintSet
from jostle.sets.wall_sets import Walls
from jostle.shapes import Shape, may_move, parts, shapes_of, walls_of

MOST_DIMENSIONS = 3
"""Of a space that can be drawn."""
NO_GROUP = -1
"""The number of the group of a body that belongs to none."""


@check_arguments
@dataclass(frozen=True)
class Units:
    """The names of the units of length, time and mass; an empty text for one that is not known.

    >>> Units("cm", "s", "g").length, Units().mass
    ('cm', '')
    """

    length: str = ""
    time: str = ""
    mass: str = ""


SI = Units("m", "s", "kg")
"""The units of scenario files."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Bodies that belong together: the names of the groups, and the number of the group of each body.

    >>> Groups.of({"left": [0, 2], "right": [1]}, 4)
    Groups(names=('left', 'right'), number=array([ 0,  1,  0, -1]))
    """

    names: tuple[str, ...]
    number: Integers
    """(n,) the position of the group in `names`, -1 for a body without a group."""

    @classmethod
    def of(cls, members: Mapping[str, ArrayLike], n: int) -> Groups:
        """The groups of n bodies, from the numbers of the members of each."""
        number = np.full(n, NO_GROUP, dtype=np.int64)
        for position, (name, bodies) in enumerate(members.items()):
            chosen = np.asarray(bodies)
            if chosen.dtype.kind not in "iu" or chosen.ndim != 1 or not ((chosen >= 0) & (chosen < n)).all():
                raise InvalidValue(f"the group {name!r} must be numbers of bodies from 0 to {n - 1}, not {bodies!r}")
            twice = chosen[number[chosen] != NO_GROUP]
            if len(twice):
                other = list(members)[number[twice[0]]]
                raise InvalidValue(
                    f"body {twice[0]} belongs to two groups, {other!r} and {name!r}; leave it out of one"
                )
            number[chosen] = position
        return cls(tuple(members), number)


class Stair(NamedTuple):
    """Stairs of a recorded plan: where they start and end, (2, 2) each, how long they are, and their directions."""

    start: Array
    end: Array
    length: float
    outward: Array
    inward: Array


@dataclass(frozen=True, eq=False)
class RecordedPlan:
    """The plan of a crowd as a file keeps it: the area where people can walk, its exits, its stairs and its doors.

    >>> plan = RecordedPlan("POLYGON ((0 0, 4 0, 4 3, 0 3, 0 0))", {"door": np.array([[4, 1], [4, 2]])}, {})
    >>> plan.area.area, list(plan.exits)
    (12.0, ['door'])
    """

    wkt: str
    exits: Mapping[str, Array]
    stairs: Mapping[str, Stair]
    doors: Array = field(default_factory=lambda: np.zeros((0, 2, 2)))
    """(k, 2, 2) between two rooms; none in files of earlier versions."""
    labels: Mapping[str, Array] = field(default_factory=dict)
    """Names of rooms and the points (2,) where pictures show them; none in files of earlier versions."""

    @cached_property
    def area(self) -> Any:
        """The polygon of shapely, or one for each floor."""
        try:
            return import_module("shapely").from_wkt(self.wkt)
        except ImportError:
            raise MissingPackage("a plan needs the package shapely: pip install 'jostle[crowd]'") from None

    @property
    def links(self) -> Mapping[str, Stair]:
        """The stairs, as a plan with floors has them."""
        return self.stairs

    @property
    def shafts(self) -> Mapping[str, Stair]:
        """The corridors of the stairs, as a plan with floors has them."""
        return self.stairs


@runtime_checkable
class HasGroups(Protocol):
    """A problem whose bodies belong to groups, such as `crowds.Crowd`: their names, and the number of each body's."""

    groups: tuple[str, ...]
    group: Integers


@runtime_checkable
class HasFloors(Protocol):
    """A problem of people on a plan, such as `crowds.Crowd`."""

    plan: Any


@runtime_checkable
class HasSpeeds(Protocol):
    """A problem of people who wish to walk at speeds that are known, such as `crowds.Crowd`."""

    wish: Any


class RecordedGate(NamedTuple):
    """A door or an exit that opens and closes during a run."""

    name: str
    ends: Array
    """(2, 2)"""
    open: Array
    """(k, 2) the intervals (from, to) in which it is open."""
    most: int | None
    """The number of people behind whom it closes for good, if there is one."""


@runtime_checkable
class HasGates(Protocol):
    """A problem of people in a building with gates, such as `crowds.Crowd`; None if there are none."""

    gates: Any


@runtime_checkable
class HasReactions(Protocol):
    """A problem of people who do not walk before their reaction times, such as `crowds.Crowd`."""

    reaction: Array


@dataclass(frozen=True, eq=False)
class Facts:
    """What a file says about its problem.

    >>> import jostle as jo
    >>> heap = jo.models.spheres([0.5, 1.0], box=([0, 0], [4, np.inf]))
    >>> found = Facts.of(heap)
    >>> found.order, found.dimension, found.wall_names
    (2, 2, ('wall q[0] >= lower', 'wall q[1] >= lower', 'wall q[0] <= upper'))
    """

    order: int = 0
    """2 for `Motion`, 1 for `Sweeping`, 0 if it is not known."""
    dimension: int = 0
    """Of the space of one body; 0 if it is not known."""
    period: Array | None = None
    """(dimension,) of a periodic space, infinite along an axis that is open; None if no axis is periodic."""
    walls: int | None = None
    """The number of walls, touched or not; None if it is not known."""
    wall_names: tuple[str, ...] = ()
    """One for each wall, or none at all."""
    walls_move: bool = False
    """May the shapes of the walls differ from frame to frame?"""
    radii: Array | None = None
    """(n,) one for each body, 0 for points; None if they change, or are not known."""
    masses: Array | None = None
    """(n,) one for each body; None if the mass is not one number per body, and for a `Sweeping` without a mass."""
    force: Array | None = None
    """The force, in the shape of q, if it is the same at all times and places."""
    groups: Groups | None = None
    units: Units = Units()
    plan: Any = None
    """The plan of a crowd: a `RecordedPlan`, or the plan itself."""
    weighted: bool = False
    """Is it a `Sweeping` with a mass? Then reactions are masses times velocities, M (u - U) = G^T p."""
    speeds: Array | None = None
    """(n,) how fast each person of a crowd wishes to walk where nobody is in the way; None if it is not known."""
    reaction: Array | None = None
    """(n,) the time before which each person of a crowd does not walk; None if it is not known."""
    gates: tuple[RecordedGate, ...] = ()
    """Doors and exits of a crowd that open and close."""

    @classmethod
    def of(
        cls,
        problem: Motion | Sweeping,
        *,
        t: float = 0.0,
        q: Array | None = None,
        units: Units | None = None,
        groups: Groups | None = None,
    ) -> Facts:
        """The facts of a problem; q (by default q0) is NaN for those who are not there."""
        within, d = problem.within, dimension_of(problem)
        walls, names = walls_of(within, t, problem.q0 if q is None else q)
        return cls(
            order=2 if isinstance(problem, Motion) else 1,
            dimension=d,
            period=period_of(within, d),
            walls=walls,
            wall_names=names,
            walls_move=may_move(within),
            radii=_radii(problem, d),
            masses=_masses(problem, d),
            force=problem.constant_force if isinstance(problem, Motion) else None,
            groups=groups or (Groups(problem.groups, problem.group) if isinstance(problem, HasGroups) else None),
            units=units or Units(),
            plan=problem.plan if isinstance(problem, HasFloors) else None,
            weighted=isinstance(problem, Sweeping) and problem.mass is not None,
            speeds=_speeds(problem),
            reaction=np.array(problem.reaction) if isinstance(problem, HasReactions) else None,
            gates=_gates(problem.gates) if isinstance(problem, HasGates) and problem.gates is not None else (),
        )


def dimension_of(problem: Motion | Sweeping) -> int:
    """Of the space of one body; 0 if a q of shape (N,) does not tell, and no set does.

    >>> import jostle as jo
    >>> dimension_of(jo.models.cradle(5)), dimension_of(jo.Motion(q0=[0.0, 0.0]))
    (1, 0)
    """
    shape = problem.q0.shape
    if len(shape) > 1:
        return int(shape[-1])
    for Q in parts(problem.within):
        if isinstance(Q, Line):
            return 1
        if isinstance(Q, Balls) and at(Q.radii, 0.0).size and at(Q.radii, 0.0).ndim:
            return problem.q0.size // at(Q.radii, 0.0).size
        if isinstance(Q, Walls):
            return Q.dimension
    return next((shape.points.shape[1] for shape in shapes_of(problem.within, 0.0)), 0)


def drawable(within: ConstraintSet, t: float, dimension: int) -> tuple[Shape, ...]:
    """The shapes of the walls in the space of one body, if it is one that can be drawn.

    >>> import jostle as jo
    >>> len(drawable(jo.Box([0, 0], [1, 1]), 0.0, 2)), len(drawable(jo.Box([0] * 4, [1] * 4), 0.0, 4))
    (1, 0)
    """
    if not 1 <= dimension <= MOST_DIMENSIONS:
        return ()
    return tuple(shape for shape in shapes_of(within, t) if shape.points.shape[1] == dimension)


def period_of(within: ConstraintSet, dimension: int) -> Array | None:
    """(dimension,) of the space of the balls, infinite where it is open; None if it is open everywhere.

    >>> import jostle as jo
    >>> period_of(jo.Balls([1.0], period=[5.0, np.inf]), 2).tolist()
    [5.0, inf]
    """
    for Q in parts(within):
        if isinstance(Q, Balls) and np.isfinite(Q.period).any() and dimension:
            return np.broadcast_to(Q.period, (dimension,)).astype(float)
    return None


def _radii(problem: Motion | Sweeping, dimension: int) -> Array | None:
    sets = parts(problem.within)
    plain = all(type(Q).radii_at is ConstraintSet.radii_at for Q in sets)
    if dimension == 0 or not plain or any(callable(getattr(Q, "radii", None)) for Q in sets):
        return None
    radii, count = problem.within.radii_at(0.0).ravel(), problem.q0.size // dimension
    return np.array(np.broadcast_to(radii, (count,))) if radii.size in (1, count) else None


def _masses(problem: Motion | Sweeping, dimension: int) -> Array | None:
    if not isinstance(problem.mass, Metric) or not problem.mass.diagonal:
        return None
    each = problem.mass.mass.reshape(-1, dimension or 1)
    return each[:, 0].copy() if (each == each[:, :1]).all() else None


def _speeds(problem: Motion | Sweeping) -> Array | None:
    if not isinstance(problem, HasSpeeds):
        return None
    try:
        return np.array(problem.wish.speeds(len(problem.q0)), dtype=float)
    except InvalidValue:  # a wish that is a plain function does not tell
        return None


def _gates(gates: Any) -> tuple[RecordedGate, ...]:
    pairs = zip(gates.gates, gates.ends, strict=True)
    return tuple(RecordedGate(gate.at, np.array(ends), np.array(gate.open), gate.most) for gate, ends in pairs)
