"""Facts about a problem that are needed to draw and measure a run, besides its states.

A `Solution` returned by `solve` has its problem. A `Solution` read from a file has these facts instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Integers, InTime, at
from jostle.bodies import Bodies, Parts
from jostle.convex.metric import Metric
from jostle.errors import InvalidValue
from jostle.problems import Motion, Problem, Sweeping, carried
from jostle.sets.balls import Balls, Line
from jostle.sets.base import ConstraintSet, parts
from jostle.sets.joints import Joints, Motors
from jostle.sets.outlines import Shape, may_move, shapes_of, walls_of
from jostle.sets.rods import Rods
from jostle.sets.walls import Walls

# The rods of a run, as they are drawn: which bodies and points they join.


class SavedRods(NamedTuple):
    """Rods between bodies, or between bodies and points; in clumps, between balls."""

    pairs: Integers
    """(m, 2) the bodies of each rod, or the balls of clumps; -1 - k in second place for point k."""
    points: InTime | None
    """(k, d) the points, or a function of the time; None if there are none."""

    @property
    def at_rest(self) -> bool:
        """Whether the points do not move, so that a file can store them."""
        return not callable(self.points)

    def ends(self, t: float, x: Array) -> Array:
        """(m, 2, d) both ends of each rod, for bodies, or balls of clumps, at x (n, d).

        >>> SavedRods(np.array([[0, -1]]), np.array([[0.0, 2.0]])).ends(0.0, np.array([[0.0, 1.0]])).tolist()
        [[[0.0, 1.0], [0.0, 2.0]]]
        """
        places = x if self.points is None else np.concatenate([x, at(self.points, t)[::-1]])  # point k is -1 - k
        return np.asarray(places[self.pairs])


def rods_of(within: ConstraintSet) -> tuple[SavedRods, ...]:
    """The rods among the parts of a set.

    >>> import jostle as jo
    >>> len(rods_of(jo.Balls([0.1]) & Rods([(0, -1)], 1.0, points=[[0.0, 0.0]])))
    1
    """
    return tuple(SavedRods(part.pairs, part.points) for part in parts(within) if isinstance(part, Rods))


def motors_of(within: ConstraintSet, walls: int) -> tuple[int, ...]:
    """The constraint numbers of all motors: those of joints are the last ones of a set.

    >>> import jostle as jo
    >>> motors_of(jo.Motors([(0, -1), (1, 0)], 1.0) & jo.Hinges([(0, -1)], [[0.0, 0.0]]) & jo.HalfSpace([0.0, 1.0]), 5)
    (1, 2)
    """
    joints = [part for part in parts(within) if isinstance(part, Joints)]
    found: list[int] = []
    first = walls - sum(part.constraint_count for part in joints)
    for part in joints:
        found += range(first, first + len(part.pairs)) if isinstance(part, Motors) else ()
        first += part.constraint_count
    return tuple(found)


MAX_DIMENSIONS = 3
"""Largest dimension of a space that can be drawn."""
NO_GROUP = -1
"""Group number of a body without a group."""


@check_arguments
@dataclass(frozen=True)
class Units:
    """Names of the units of length, time and mass.

    Parameters
    ----------
    length : str, default ""
        Unit of length, such as "m"; empty if it is unknown.
    time : str, default ""
        Unit of time, such as "s"; empty if it is unknown.
    mass : str, default ""
        Unit of mass, such as "kg"; empty if it is unknown.

    Examples
    --------
    >>> Units("cm", "s", "g").length, Units().mass
    ('cm', '')
    """

    length: str = ""
    time: str = ""
    mass: str = ""


SI = Units("m", "s", "kg")
"""The units of scenario files: metre, second, kilogram."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of bodies, such as the groups of a crowd.

    Attributes
    ----------
    names : tuple of str
        Names of the groups.
    number : array of int, shape (n,)
        Position of the group of each body in `names`; -1 for a body without a group.

    Examples
    --------
    >>> Groups.of({"left": [0, 2], "right": [1]}, 4)
    Groups(names=('left', 'right'), number=array([ 0,  1,  0, -1]))
    """

    names: tuple[str, ...]
    number: Integers

    @classmethod
    def of(cls, members: Mapping[str, ArrayLike], n: int) -> Groups:
        """Make the groups of n bodies.

        Parameters
        ----------
        members : mapping of str to array_like of int
            Numbers of the bodies of each group.
        n : int
            Number of bodies.

        Returns
        -------
        Groups
            The groups.
        """
        number = np.full(n, NO_GROUP, dtype=np.int64)
        for position, (name, bodies) in enumerate(members.items()):
            chosen = np.asarray(bodies)
            if chosen.dtype.kind not in "iu" or chosen.ndim != 1 or not ((chosen >= 0) & (chosen < n)).all():
                raise InvalidValue(f"the group {name!r} must be body numbers from 0 to {n - 1}, not {bodies!r}")
            twice = chosen[number[chosen] != NO_GROUP]
            if len(twice):
                other = list(members)[number[twice[0]]]
                raise InvalidValue(f"body {twice[0]} belongs to two groups, {other!r} and {name!r}; remove it from one")
            number[chosen] = position
        return cls(tuple(members), number)


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts about a problem that are needed to draw and measure a run; a trajectory file stores them.

    Attributes
    ----------
    order : int
        2 for `Motion`, 1 for `Sweeping`, 0 if unknown.
    dimension : int
        Dimension of the space of one body; 0 if unknown.
    period : array, shape (dimension,), or None
        Period of space along each axis, infinite along an open axis; None if no axis is periodic.
    walls : int or None
        Number of walls; None if unknown.
    wall_names : tuple of str
        Name of each wall; empty if the walls have no names.
    walls_move : bool
        Whether the shapes of the walls may differ between frames.
    radii : array, shape (n,), or None
        Radius of each ball, 0 for points; None if radii change or are unknown.
    masses : array, shape (n,), or None
        Mass of each body; None if a body has several masses, and for a `Sweeping` without a mass.
    force : array, of the shape of q, or None
        The force, if it is constant; None otherwise.
    groups : Groups or None
        Groups of the bodies; None if there are none.
    units : Units
        Names of the units.
    weighted : bool
        True for a `Sweeping` with a mass, whose reactions are masses times velocities: M (u - U) = G^T p.
    rods : tuple of SavedRods
        Rods between bodies and points. A file stores those whose points do not move.
    motors : tuple of int
        For each motor, k of the pair (-1, k) of its multiplier.
    inertia : array, shape (n, 1) or (n, 3), or None
        Moments of inertia of bodies that turn; None if they do not.
    parts : Parts or None
        Which balls belong to which body; None if each body is one ball.
    called : str
        What a body is called, such as "ball" or "person"; see `Bodies.name`.
    carried : dict
        What the problem itself says (`Motion.facts`), as numbers, texts, lists and dicts. Who knows problems of its
        kind can read it, such as ``jostle.plans.plan_of(sol)``; files keep it also if nobody does.

    Examples
    --------
    >>> import jostle as jo
    >>> heap = jo.models.spheres([0.5, 1.0], box=([0, 0], [4, np.inf]))
    >>> found = Facts.of(heap)
    >>> found.order, found.dimension, found.wall_names
    (2, 2, ('wall q[0] >= lower', 'wall q[1] >= lower', 'wall q[0] <= upper'))
    """

    order: int = 0
    dimension: int = 0
    period: Array | None = None
    walls: int | None = None
    wall_names: tuple[str, ...] = ()
    walls_move: bool = False
    radii: Array | None = None
    masses: Array | None = None
    force: Array | None = None
    groups: Groups | None = None
    units: Units = Units()
    weighted: bool = False
    rods: tuple[SavedRods, ...] = ()
    motors: tuple[int, ...] = ()
    inertia: Array | None = None
    parts: Parts | None = None
    called: str = "body"
    carried: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def bodies(self) -> Bodies:
        """Radii, inertia, clumps and what they are called, together."""
        return Bodies(self.radii, inertia=self.inertia, parts=self.parts, called=self.called)

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
        """Collect the facts about a problem.

        Parameters
        ----------
        problem : Motion or Sweeping
            The problem.
        t : float, default 0.0
            Time at which walls are counted.
        q : array, of the shape of q0, optional
            Positions, NaN for absent bodies. None: q0.
        units : Units, optional
            Names of the units. None: unknown.
        groups : Groups, optional
            Groups of the bodies. None: those of the problem, if it has groups.

        Returns
        -------
        Facts
            The facts.
        """
        said = _storable(carried(problem, "facts"), f"{type(problem).__name__}.facts()")
        _check_units(problem, units, said.get("units"))
        if groups is None and "groups" in said:
            groups = Groups.of(said["groups"], len(problem.q0))
        own = {name: value for name, value in said.items() if name != "groups"}
        within, d = problem.within, dimension_of(problem)
        places = problem.pose0.at(problem.q0 if q is None else q).centres
        walls, names = walls_of(within, t, places)
        return cls(
            order=2 if isinstance(problem, Motion) else 1,
            dimension=d,
            period=period_of(within, d),
            walls=walls,
            wall_names=names,
            walls_move=may_move(within),
            radii=_radii(problem, d),
            masses=masses_of(problem),
            force=problem.constant_force if isinstance(problem, Motion) else None,
            groups=groups,
            units=units or Units(),
            weighted=isinstance(problem, Sweeping) and problem.mass is not None,
            rods=rods_of(within),
            motors=motors_of(within, walls),
            inertia=problem.bodies.inertia,
            parts=problem.bodies.parts,
            called=problem.bodies.called,
            carried=own,
        )


def _storable(value: Any, place: str) -> Any:
    """A fact as numbers, texts, lists and dicts, which a file can store."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic | np.ndarray) and np.asarray(value).dtype.kind in "biufU":
        return value.tolist()
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _storable(each, f"{place}[{name!r}]") for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(each, f"{place}[{k}]") for k, each in enumerate(value)]
    raise InvalidValue(
        f"{place} is {value!r}, which a file cannot store: a fact is None, a number, a text, an array, or a list or a "
        f"dict of them"
    )


def _check_units(problem: Problem, units: Units | None, own: Any) -> None:
    """Refuse other units than those of a problem whose facts say them."""
    for name, unit in ({} if units is None or own is None else own).items():
        if getattr(units, name) not in ("", unit):
            raise InvalidValue(
                f"units: {type(problem).__name__} is measured in {unit}, not in {getattr(units, name)}: convert its "
                f"data"
            )


def dimension_of(problem: Motion | Sweeping) -> int:
    """Dimension of the space of one body; 0 if neither the shape of q nor a set determines it.

    >>> import jostle as jo
    >>> dimension_of(jo.models.cradle(5)), dimension_of(jo.Motion(q0=[0.0, 0.0]))
    (1, 0)
    """
    shape = problem.q0.shape
    if len(shape) > 1 or problem.bodies.inertia is not None:
        return int(shape[-1])
    for Q in parts(problem.within):
        if isinstance(Q, Line):
            return 1
        if isinstance(Q, Balls) and at(Q.radii, 0.0).size and at(Q.radii, 0.0).ndim:
            return problem.q0.size // at(Q.radii, 0.0).size
        if isinstance(Q, Walls):
            return Q.dimension
        if isinstance(Q, Rods) and Q.points is not None:
            return int(at(Q.points, 0.0).shape[1])
    return next((shape.points.shape[1] for shape in shapes_of(problem.within, 0.0)), 0)


def drawable(within: ConstraintSet, t: float, dimension: int) -> tuple[Shape, ...]:
    """The shapes of the walls in the space of one body, if it has at most three dimensions.

    >>> import jostle as jo
    >>> len(drawable(jo.Box([0, 0], [1, 1]), 0.0, 2)), len(drawable(jo.Box([0] * 4, [1] * 4), 0.0, 4))
    (1, 0)
    """
    if not 1 <= dimension <= MAX_DIMENSIONS:
        return ()
    return tuple(shape for shape in shapes_of(within, t) if shape.points.shape[1] == dimension)


def period_of(within: ConstraintSet, dimension: int) -> Array | None:
    """(dimension,): the period of the space of the balls, infinite along an open axis; None if no axis is periodic.

    >>> import jostle as jo
    >>> period_of(jo.Balls([1.0], period=[5.0, np.inf]), 2).tolist()
    [5.0, inf]
    """
    for Q in parts(within):
        if isinstance(Q, Balls) and np.isfinite(Q.period).any() and dimension:
            return np.broadcast_to(Q.period, (dimension,)).astype(float)
    return None


def _radii(problem: Motion | Sweeping, dimension: int) -> Array | None:
    bodies = problem.bodies
    if dimension == 0 or bodies.swell:
        return None
    radii = bodies.radii_at(0.0).ravel()
    count = problem.q0.size // dimension if bodies.parts is None else len(bodies.parts.owner)
    return np.array(np.broadcast_to(radii, (count,))) if radii.size in (1, count) else None


def masses_of(problem: Motion | Sweeping) -> Array | None:
    """(n,) the mass of each body; None if a body has several masses, and for a `Sweeping` without a mass."""
    if not isinstance(problem.mass, Metric) or not problem.mass.diagonal:
        return None
    each = problem.mass.mass.reshape(-1, dimension_of(problem) or 1)
    return each[:, 0].copy() if (each == each[:, :1]).all() else None
