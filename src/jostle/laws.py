"""Moreau's impact law: u+ = u- - (1 + e) P_N u- = P_C u- - e P_N u-, with e in [0, 1].

Bourdin & Maury 2020, section 2; Paoli 2010 (2). C is the cone of admissible velocities of the closed
contacts and N its polar, in the kinetic metric. The kinetic energy lost is (1 - e^2) |P_N u-|_M^2 / 2.

With one e_i for each contact it becomes the projection of u- on {v : G_i v >= -e_i G_i u-}, which is the same point if
all e_i are equal: M (u+ - u-) = G^T p, 0 <= p ⟂ G u+ + e G u- >= 0. An equality has no restitution: G_i u+ = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import NamedArguments, accepts, check_arguments, described, number
from jostle._tools.arrays import Array, Booleans, Integers, moved_to, numbers, place_of, to_host
from jostle._tools.plugins import is_of_jostle
from jostle.contacts import Contacts
from jostle.convex.linear_map import LinearMap
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Cone, Polyhedron
from jostle.convex.projection import Projection
from jostle.errors import InvalidValue, NoFriction, NotApproaching, warn
from jostle.kernels.reference.dense import ROUND_OFF
from jostle.sets.base import ConstraintSet, part_of, parts
from jostle.sets.outlines import walls_of
from jostle.sets.rods import Rods
from jostle.sets.user import UserSet
from jostle.sets.walls import Box, HalfSpace, Walls
from jostle.solvers.automatic import Automatic
from jostle.solvers.base import Solver
from jostle.solvers.project import project

__all__ = ["ConvexFriction", "Impact", "ImpactLaw"]


class ImpactLaw(NamedArguments):
    """A law that gives each contact a restitution coefficient e: it separates e times as fast as it approached.

    A law of your own inherits from this class and defines `coefficients`, or `uniform` if it has one number e.
    `MoreauJean` takes every law, `Paoli` those with one number e.

    Examples
    --------
    >>> import jostle as jo
    >>> class Sticky(jo.laws.ImpactLaw):
    ...     def coefficients(self, contacts, speed):
    ...         return np.where(speed < 1.0, 0.0, 0.5)                  # slow impacts do not rebound
    >>> ball = jo.Motion(q0=[0.5], v0=[-2.0], within=jo.HalfSpace([1.0]), law=Sticky())
    >>> jo.solve(ball, jo.MoreauJean(), t=1.0, h=0.1).u[-1].tolist()
    [1.0]
    """

    @property
    def uniform(self) -> float | None:
        """The number e, if it is the same for all contacts and speeds; None if it is not."""
        return None

    def coefficients(self, contacts: Contacts, speed: Array) -> ArrayLike:
        """The restitution coefficient of each contact.

        Parameters
        ----------
        contacts : Contacts
            The m contacts that are closed; ``contacts.pairs`` says who touches whom.
        speed : array, shape (m,)
            Rate at which each gap closes; 0 if it opens.

        Returns
        -------
        array_like, shape (m,)
            The coefficients e, in [0, 1].
        """
        return np.full(len(speed), self.number)

    def bound_to(self, Q: ConstraintSet, q0: Array) -> ImpactLaw:
        """The law for one problem; a law that refers to bodies and walls by name looks them up here.

        Parameters
        ----------
        Q : ConstraintSet
            Admissible set of the problem.
        q0 : array
            Positions at the start.

        Returns
        -------
        ImpactLaw
            The law that the problem uses.
        """
        return self

    @property
    def number(self) -> float:
        """The number e of a law that has only one; an `InvalidValue` otherwise."""
        if self.uniform is None:
            raise InvalidValue(f"{self!r} has no restitution coefficient that all contacts share")
        return self.uniform


Sides = tuple[Booleans, Booleans]
"""Which bodies and walls, (n + walls,) each, stand on the two sides of an entry."""


@dataclass(frozen=True, repr=False)
class Restitution(ImpactLaw):
    """Restitution: 0 inelastic, 1 elastic.

    One coefficient for all contacts, or one for each pair of sides, ``{(side, side): e}``, or for all contacts of a
    side, ``{side: e}``. A side is the number of a body, the name of one of the `groups`, or a wall: "wall 0" as
    ``sol.impacts()`` prints it, or its name in ``sol.facts.wall_names``. Of several entries for one contact the last
    one holds.

    Parameters
    ----------
    e : float, callable (v) -> array_like, or mapping, default 0.0
        Restitution coefficient, in [0, 1]; or a function of the speeds v, shape (m,), at which the gaps of m contacts
        close, which returns one coefficient for each of them; or a mapping from sides to either.
    groups : mapping of str to array_like of int, optional
        Numbers of the bodies of each group, for a mapping.
    default : float or callable (v) -> array_like, default 0.0
        Coefficient of contacts without an entry in a mapping.

    Attributes
    ----------
    found : object or None
        The entries by numbers of bodies and walls, once the problem of a mapping is known.

    Examples
    --------
    >>> Restitution(0.8).e
    0.8
    >>> import jostle as jo
    >>> viscoelastic = jo.Restitution(lambda v: 1.0 / (1.0 + 0.25 * v))
    >>> ball = jo.Motion(q0=[0.5], v0=[-4.0], within=jo.HalfSpace([1.0]), law=viscoelastic)
    >>> jo.solve(ball, jo.MoreauJean(), t=1.0, h=0.1).u[-1].tolist()
    [2.0]
    >>> law = jo.Restitution({("steel", "wall 0"): 0.5, ("rubber", "wall 0"): 0.25},
    ...                      groups={"steel": [0], "rubber": [1]}, default=1.0)
    >>> balls = jo.Motion(q0=[[0.0, 1.5], [3.0, 1.5]], v0=[0.0, -1.0], law=law,
    ...                   within=jo.Balls([0.5, 0.5]) & jo.HalfSpace([0.0, 1.0]))
    >>> jo.solve(balls, jo.MoreauJean(), t=2.0, h=0.1).u[-1].tolist()
    [[0.0, 0.5], [0.0, 0.25]]
    """

    e: float | Callable[[Array], ArrayLike] | Mapping[Any, Any] = 0.0
    groups: Mapping[str, ArrayLike] = field(default_factory=dict)
    default: float | Callable[[Array], ArrayLike] = 0.0
    found: _Found | None = field(default=None, init=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.groups, Mapping):
            raise InvalidValue(f"groups must be a dictionary, not {self.groups!r}")
        if isinstance(self.e, Mapping):
            for name, value in [*self.e.items(), ("default", self.default)]:
                if not _restitution(value):
                    raise InvalidValue(
                        f"the restitution of {name!r} must lie in [0, 1] or be a function of the speeds v, not "
                        f"{value!r}"
                    )
            object.__setattr__(self, "e", dict(self.e))
            object.__setattr__(self, "groups", {name: np.asarray(who).tolist() for name, who in self.groups.items()})
        elif self.groups or self.default != 0.0:
            raise InvalidValue("groups and default belong to a table, jo.Restitution({(side, side): e, ...})")
        elif callable(self.e):
            if not accepts(self.e, 1):
                raise InvalidValue(f"e must be a function of the speeds v, not {described(self.e)}")
        elif not (isinstance(self.e, int | float | np.floating) and 0.0 <= self.e <= 1.0):
            raise InvalidValue(
                f"the restitution e must lie in [0, 1], not {self.e!r}: the normal energy is multiplied by e^2"
            )

    def __hash__(self) -> int:
        return hash(tuple(map(str, self.e)) if isinstance(self.e, Mapping) else self.e)

    def __repr__(self) -> str:
        more = f", groups={self.groups!r}, default={self.default!r}" if isinstance(self.e, Mapping) else ""
        return f"Restitution(e={self.e!r}{more})"

    @property
    def uniform(self) -> float | None:
        return None if callable(self.e) or isinstance(self.e, Mapping) else self.e

    @property
    def numbers(self) -> bool:
        """Whether all coefficients are numbers, and none is a function of the speed."""
        return not any(map(callable, [*self.e.values(), self.default] if isinstance(self.e, Mapping) else [self.e]))

    def bound_to(self, Q: ConstraintSet, q0: Array) -> Restitution:
        if not isinstance(self.e, Mapping):
            return self
        known = copy(self)
        object.__setattr__(known, "found", _Found(self.e, self.groups, Q, q0))
        return known

    def coefficients(self, contacts: Contacts, speed: Array) -> ArrayLike:
        if callable(self.e):
            return self.e(speed)
        if not isinstance(self.e, Mapping):
            return np.full(len(speed), self.e)
        if self.found is None:
            raise InvalidValue("a table of restitutions needs the names of a problem: give it to jo.Motion(law=...)")
        e = np.array(np.broadcast_to(Restitution(self.default).coefficients(contacts, speed), (len(speed),)))
        for rows, value in self.found.of(contacts):
            e[rows] = Restitution(value).coefficients(contacts.only(rows), speed[rows])
        return e


def _restitution(value: Any) -> bool:
    """Whether a value is a number from 0 to 1, or a function of the speeds."""
    return accepts(value, 1) if callable(value) else (number(value) and bool(0.0 <= value <= 1.0))


class _Found:
    """The entries of a table, {side or (side, side): value}, by numbers of bodies and walls of a problem."""

    def __init__(self, entries: Mapping[Any, Any], groups: Mapping[str, ArrayLike], Q: ConstraintSet, q0: Array):
        made_of, (_, names) = Q.bodies.parts, walls_of(Q, 0.0, q0)
        self.owner = None if made_of is None else made_of.owner
        n = (
            part_of(Q, lambda one: not one.of_poses).linearise(0.0, q0, 0.0).part_count
            if made_of is None
            else len(made_of.inertia)
        )
        self.bodies = n if made_of is not None else max(n, len(q0) if q0.ndim > 1 else 1)
        sides = _Sides(self.bodies, _wall_numbers(Q, q0), names, groups)
        self.entries = tuple((sides.of_key(key), value) for key, value in entries.items())

    def of(self, contacts: Contacts) -> Iterator[tuple[Integers, Any]]:
        """The rows that each entry is for, and its value; later entries replace earlier ones."""
        first, second = to_host(contacts.pairs).T
        wall = self.bodies + np.where(first < 0, second, -1 - second)
        if self.owner is not None:
            first, second = (np.where(ball < 0, ball, self.owner[np.maximum(ball, 0)]) for ball in (first, second))
        one, other = np.where(first < 0, wall, first), np.where((first < 0) | (second < 0), wall, second)
        for (left, right), value in self.entries:
            yield np.flatnonzero((left[one] & right[other]) | (left[other] & right[one])), value


def _wall_numbers(Q: ConstraintSet, q0: Array) -> list[int]:
    """The wall of each constraint number; the corners of obstacles, which shapes meet, have numbers of their own."""
    found: list[int] = []
    for part in parts(Q):
        own = part.row_walls if isinstance(part, Walls) else np.arange(walls_of(part, 0.0, q0)[0])
        found += (len(found) + own).tolist()
    return found


class _Sides:
    """The names of the bodies and walls of a problem."""

    def __init__(self, n: int, walls: list[int], names: tuple[str, ...], groups: Mapping[str, ArrayLike]):
        self.n, self.count = n, n + len(walls)
        self.named: dict[str, list[int]] = {}
        for w, wall in enumerate(walls):
            for name in {f"wall {w}", f"wall {wall}", names[w] if names else ""} - {""}:
                self.named.setdefault(name, []).append(n + w)
        for name, bodies in groups.items():
            members = numbers(bodies, f"the group {name!r}")
            if np.asarray(bodies).dtype == bool:
                raise InvalidValue(f"the group {name!r} must be numbers of bodies: np.flatnonzero finds those of True")
            if name in self.named or members.ndim != 1 or not np.isin(members, np.arange(n)).all():
                raise InvalidValue(
                    f"the group {name!r} must be numbers of bodies from 0 to {n - 1} under a name that no wall has, "
                    f"not {bodies!r}"
                )
            self.named[name] = members.astype(int).tolist()

    def of_key(self, key: Any) -> Sides:
        """The two sides of an entry; a single side stands for all contacts that it takes part in."""
        if not isinstance(key, tuple):
            return self._of_side(key), np.ones(self.count, dtype=bool)
        if len(key) != 2:
            raise InvalidValue(f"an entry is between two sides, such as (0, 'wall 0'), not {key!r}")
        return self._of_side(key[0]), self._of_side(key[1])

    def _of_side(self, side: Any) -> Booleans:
        chosen = np.zeros(self.count, dtype=bool)
        if isinstance(side, int | np.integer) and not isinstance(side, bool) and 0 <= side < self.n:
            chosen[side] = True
        elif isinstance(side, str) and side in self.named:
            chosen[self.named[side]] = True
        else:
            known = ", ".join(repr(name) for name in self.named) or "none"
            raise InvalidValue(
                f"unknown body, wall or group {side!r} in a table of contacts: bodies are 0 to {self.n - 1}, "
                f"walls and groups are {known}"
            )
        return chosen


@dataclass(frozen=True, repr=False)
class Coulomb(ImpactLaw):
    """Coulomb's law of friction: bodies stick, or slide and lose mu times the normal impulse. They have spin.

    In each contact, with the normal impulse p_n, the tangential one p_T and the velocity s_T with which the surfaces
    slide on each other after the step: |p_T| <= mu p_n, and where they slide p_T = -mu p_n s_T / |s_T|. `Maury` and
    `MoreauJean` solve this exactly in each step, all contacts together (Acary, Cadoux, Lemaréchal & Malick 2011).
    Energy does not grow, up to the tolerance of the solver, if e = 0; with e > 0 it may grow where contacts are not in
    line with centres of mass, in clumps and in several contacts at once (Kane & Levinson 1985). There is friction
    between balls, and between balls and walls; rods and @constraints have none, and a warning (`NoFriction`) names
    inequalities of your own.

    Parameters
    ----------
    mu : float or mapping
        Friction coefficient, 0 or more; or one for each pair of sides, as in `Restitution`.
    e : float, callable (v) -> array_like, or Restitution, default 0.0
        Restitution in the normal direction, in [0, 1], which `MoreauJean` takes.
    rolling : float or mapping, default 0.0
        Rolling resistance: the contact turns against the relative spin with at most `rolling` times p_n. A length.
    groups : mapping of str to array_like of int, optional
        Numbers of the bodies of each group, for mappings.
    default : float, default 0.0
        Friction coefficient of contacts without an entry in a mapping.
    surface_velocity : mapping of str to array_like or callable (t, x) -> array, optional
        The velocity of the surface of a wall along itself, by its name: a vector for a belt, or a function of the time
        and of the points x, shape (k, d), at which bodies touch it, for a drum that turns.

    Examples
    --------
    A disc that is thrown without spin slides first, and then rolls with 2/3 of its speed:

    >>> import jostle as jo
    >>> disc = jo.Motion(q0=[[0.0, 1.0]], v0=[3.0, 0.0], force=[0.0, -10.0], law=jo.Coulomb(mu=0.5),
    ...                  within=jo.Balls([1.0]) & jo.HalfSpace([0.0, 1.0]))
    >>> sol = jo.solve(disc, jo.Maury(), t=1.0, h=0.01)
    >>> sol.u[-1].round(9).tolist(), sol.spin[-1].round(9).tolist()
    ([[2.0, 0.0]], [-2.0])
    """

    mu: float | Mapping[Any, Any]
    e: float | Callable[[Array], ArrayLike] | Restitution = 0.0
    rolling: float | Mapping[Any, Any] = 0.0
    groups: Mapping[str, ArrayLike] = field(default_factory=dict)
    default: float = 0.0
    surface_velocity: Mapping[str, Any] = field(default_factory=dict)
    found: dict[str, _Found] = field(default_factory=dict, init=False, compare=False)
    exact: ClassVar[bool] = True
    """True for Coulomb's law, False for its convex relative."""

    def __post_init__(self) -> None:
        if not isinstance(self.e, Restitution):
            object.__setattr__(self, "e", Restitution(self.e))
        for name in ("groups", "surface_velocity"):
            if not isinstance(getattr(self, name), Mapping):
                raise InvalidValue(f"{name} must be a dictionary, not {getattr(self, name)!r}")
        for name in ("mu", "rolling", "default"):
            given = getattr(self, name)
            for value in given.values() if isinstance(given, Mapping) and name != "default" else [given]:
                if not (number(value) and 0.0 <= value < np.inf):
                    raise InvalidValue(f"{name} must be a number that is finite and not negative, not {value!r}")
        if self.default != 0.0 and not isinstance(self.mu, Mapping):
            raise InvalidValue("default belongs to a table, jo.Coulomb({(side, side): mu, ...})")

    def __hash__(self) -> int:
        return hash((type(self), self.e, str(self.mu), str(self.rolling)))

    def __repr__(self) -> str:
        more = f", rolling={self.rolling!r}" if self.rolling else ""
        if isinstance(self.mu, Mapping):
            more += f", default={self.default!r}"
        if self.surface_velocity:  # without the addresses of functions, which differ from run to run
            given = {name: "a function of t and x" if callable(v) else v for name, v in self.surface_velocity.items()}
            more += f", surface_velocity={given!r}"
        assert isinstance(self.e, Restitution)
        return f"{type(self).__name__}(mu={self.mu!r}, e={self.e.e!r}{more})"

    @property
    def uniform(self) -> float | None:
        assert isinstance(self.e, Restitution)
        return self.e.uniform

    @property
    def rolls(self) -> bool:
        """Whether there is rolling resistance."""
        return isinstance(self.rolling, Mapping) or self.rolling > 0.0

    def bound_to(self, Q: ConstraintSet, q0: Array) -> Coulomb:
        assert isinstance(self.e, Restitution)
        known, names = copy(self), ("mu", "rolling", "surface_velocity")
        tables = {name: getattr(self, name) for name in names}
        found = {
            name: _Found(table, self.groups, Q, q0) for name, table in tables.items() if isinstance(table, Mapping)
        }
        object.__setattr__(known, "e", self.e.bound_to(Q, q0))
        object.__setattr__(known, "found", found)
        _check_surfaces(Q, q0, found.get("surface_velocity"))
        if any(np.any(list(mu.values()) if isinstance(mu, Mapping) else mu) for mu in (self.mu, self.default)):
            _warn_of_no_friction(Q, q0)
        return known

    def coefficients(self, contacts: Contacts, speed: Array) -> ArrayLike:
        assert isinstance(self.e, Restitution)
        return self.e.coefficients(contacts, speed)

    def friction(self, contacts: Contacts) -> Array:
        """The friction coefficient of each contact.

        Parameters
        ----------
        contacts : Contacts
            The m contacts.

        Returns
        -------
        array, shape (m,)
            The coefficients mu.
        """
        return self._each("mu", contacts, self.default)

    def resistance(self, contacts: Contacts) -> Array:
        """The rolling resistance of each contact.

        Parameters
        ----------
        contacts : Contacts
            The m contacts.

        Returns
        -------
        array, shape (m,)
            The coefficients, lengths.
        """
        return self._each("rolling", contacts, 0.0)

    def _each(self, name: str, contacts: Contacts, default: float) -> Array:
        """(m,) a coefficient of each contact."""
        given, place = getattr(self, name), place_of(contacts.gap)
        if not isinstance(given, Mapping):
            return place.full(len(contacts.gap), float(given))
        each = np.full(len(contacts.gap), default)
        for rows, value in self.found[name].of(contacts):
            each[rows] = value
        return moved_to(each, contacts.gap)

    def surface_velocities(self, contacts: Contacts, t: float, points: Array) -> Array:
        """The velocity of the surface of the wall in each contact.

        Parameters
        ----------
        contacts : Contacts
            The m contacts.
        t : float
            Time.
        points : array, shape (m, d)
            Where bodies touch.

        Returns
        -------
        array, shape (m, d)
            The velocities; 0 where two bodies touch.
        """
        if not self.surface_velocity:
            return place_of(points).zeros(points.shape)
        there, points = points, to_host(points)
        velocities = np.zeros(points.shape)
        for rows, value in self.found["surface_velocity"].of(contacts):
            given = numbers(value(t, points[rows]) if callable(value) else value, "surface_velocity")
            try:
                velocities[rows] = given
            except ValueError:
                raise InvalidValue(
                    f"surface_velocity has shape {given.shape}: give {points.shape[1:]}, or one row for each of "
                    f"{len(rows)} points"
                ) from None
        return moved_to(velocities, there)


def _check_surfaces(Q: ConstraintSet, q0: Array, told: _Found | None) -> None:
    """Refuse walls that may move along themselves, if nobody says how fast: their gaps do not."""
    first = 0
    for part in parts(Q):
        count = walls_of(part, 0.0, q0)[0]
        walls = range(first, first + count)
        first += count
        if count == 0 or not _may_drag(part):
            continue
        said = set() if told is None else {w for (left, _), _ in told.entries for w in np.flatnonzero(left)}
        missing = [w for w in walls if (0 if told is None else told.bodies) + w not in said]
        if missing:
            raise InvalidValue(
                f"wall {missing[0]} ({part!r}) may move along itself, and with friction it drags bodies along: say how "
                f"fast with surface_velocity={{'wall {missing[0]}': velocity}}, a vector or a function (t, x); zeros "
                f"if it does not"
            )


def _may_drag(part: ConstraintSet) -> bool:
    """Whether the walls of a set may move along themselves: all but planes that move along their normals."""
    if isinstance(part, Walls):
        planes = isinstance(part, HalfSpace) and not callable(part.normal)
        return not (part.at_rest or planes or (isinstance(part, Box) and part.parallel))
    return part.moving is True and not isinstance(part, Rods | UserSet)  # which have no friction


def _warn_of_no_friction(Q: ConstraintSet, q0: Array) -> None:
    """Warn of inequalities on the whole configuration, which have no tangents; joints and rods are not meant to rub."""
    names = [part.name if isinstance(part, UserSet) else type(part).__name__ for part in parts(Q) if _smooth(part, q0)]
    if names:
        warn(
            f"{', '.join(names)}: constraints on the whole configuration have no friction, they push along their "
            f"gradients alone. Use a wall such as jo.HalfSpace or jo.Outside where bodies should rub",
            NoFriction,
        )


def _smooth(part: ConstraintSet, q0: Array) -> bool:
    """Whether a set has inequalities on the whole configuration."""
    if isinstance(part, UserSet) or is_of_jostle(part):
        return isinstance(part, UserSet) and not part.equalities
    found = part.linearise(0.0, q0, 0.0)
    rows = to_host(found.pairs)[:, 0] < 0
    return bool((rows if found.equal is None else rows & ~found.equal).any())


@dataclass(frozen=True, repr=False)
class ConvexFriction(Coulomb):
    """The convex relative of Coulomb's law: a body that slides lifts off a little.

    |p_T| <= mu p_n as in Coulomb's law, but the velocity after a step has s_n >= mu |s_T|: one convex projection
    (Anitescu 2006), solved faster and always solvable. While a body slides, it keeps a gap of h mu |s_T|; and a body in
    contact that begins to slide at v is thrown up with mu v / (1 + mu^2), for every h. Solving warns (`ThrownUp`) where
    that happens.

    Parameters
    ----------
    mu, e, rolling, groups, default, surface_velocity : object
        As in `Coulomb`.

    Examples
    --------
    A point that is thrown along a floor leaves it:

    >>> import warnings
    >>> import jostle as jo
    >>> floor = jo.HalfSpace([0.0, 1.0])
    >>> point = jo.Motion(q0=[[0.0, 0.0]], v0=[1.0, 0.0], within=floor, law=jo.laws.ConvexFriction(0.5))
    >>> with warnings.catch_warnings(action="ignore"):
    ...     jo.solve(point, jo.Maury(), t=0.1, h=0.1).u[-1].round(9).tolist()
    [[0.8, 0.4]]
    """

    exact: ClassVar[bool] = False


_accepts = cache(accepts)
"""Whether a function takes a number of arguments, remembered: reading signatures takes as long as all other checks."""


def check_law(law: ImpactLaw) -> None:
    """Refuse a law without coefficients, or whose `uniform` is no restitution or hides the `coefficients` of its class.

    >>> class Faster(ImpactLaw):
    ...     uniform = 1.5
    >>> check_law(Faster())
    Traceback (most recent call last):
    ...
    jostle.errors.InvalidValue: uniform of Faster is 1.5; it must lie in [0, 1], or be None if contacts differ
    """
    kind, e = type(law), law.uniform
    if e is None and kind.coefficients is ImpactLaw.coefficients:
        raise InvalidValue(f"{kind.__name__} defines neither coefficients(self, contacts, speed) nor uniform")
    if not (_accepts(kind.coefficients, 3) or accepts(law.coefficients, 2)):
        raise InvalidValue(
            f"{kind.__name__} must define coefficients(self, contacts, speed), not {described(kind.coefficients)}"
        )
    if e is None:
        return
    if not 0.0 <= e <= 1.0:
        raise InvalidValue(f"uniform of {kind.__name__} is {e!r}; it must lie in [0, 1], or be None if contacts differ")
    owner = {name: next(one for one in kind.__mro__ if name in vars(one)) for name in ("uniform", "coefficients")}
    if owner["uniform"] is not owner["coefficients"] and issubclass(owner["coefficients"], owner["uniform"]):
        raise InvalidValue(
            f"{kind.__name__} defines coefficients, which are not used because it inherits uniform = {e:g} from "
            f"{owner['uniform'].__name__}: inherit from jo.laws.ImpactLaw"
        )


def coefficients(law: ImpactLaw, contacts: Contacts, rate: Array) -> Array:
    """(m,) e of each contact whose gap changes at this rate before the impact, checked; 0 of equalities.

    >>> from jostle.convex.linear_map import Dense
    >>> floor = Contacts(np.zeros(1), Dense(np.eye(1)), np.array([[0, -1]]), constraint_count=1)
    >>> coefficients(Restitution(lambda v: 0.1 * v), floor, np.array([-20.0]))
    Traceback (most recent call last):
    ...
    jostle.errors.InvalidValue: the restitution of constraint 0 is 2 at a speed of 20; it must lie in [0, 1]
    """
    if contacts.equal is not None:
        e, loose = np.zeros(len(rate)), np.flatnonzero(~contacts.equal)
        e[loose] = coefficients(law, contacts.only(loose), rate[loose])
        return e
    if len(rate) == 0:
        return np.zeros(0)
    speed = np.maximum(-rate, 0.0)
    speed.setflags(write=False)
    e = numbers(law.coefficients(contacts, speed), "the restitution that an impact law returned")
    if e.ndim > 1 or e.size not in (1, len(rate)):
        raise InvalidValue(f"an impact law returned restitutions of shape {e.shape} for {len(rate)} contacts")
    e = np.broadcast_to(e.ravel(), (len(rate),))
    wrong = ~((e >= 0.0) & (e <= 1.0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidValue(
            f"the restitution of {contacts.describe(row)} is {e[row]:g} at a speed of {speed[row]:g}; it must lie in "
            f"[0, 1]"
        )
    return e


@dataclass(frozen=True, eq=False)
class Impact:
    """The result of `impact`.

    Attributes
    ----------
    velocity : array
        Velocity u+ after the impact, in the shape of the velocity before.
    impulse : array, shape (m,)
        Impulse p >= 0 of each row, with M (u+ - u-) = G^T p; it contains the factor 1 + e. No sign in equalities.
    projection : Projection
        The projection P_C u- of the velocity before on the cone.
    approaching : bool
        True if u- is in -C: all contacts approach or rest, as before a real impact.
    admissible : bool
        True if u+ is in C. It always is if `approaching` is True; otherwise the law may fail when e > 0.

    Examples
    --------
    >>> import jostle as jo
    >>> hit = jo.impact([-1.0], jo.convex.Cone([[1.0]]), law=jo.Restitution(0.5))
    >>> hit.velocity.tolist(), hit.impulse.tolist(), hit.approaching, hit.admissible
    ([0.5], [1.5], True, True)
    """

    velocity: Array
    impulse: Array
    projection: Projection
    approaching: bool
    admissible: bool


def reflected(projected: Any, before: Any, e: Any) -> Any:
    """(1 + e) P - e before: Moreau's law u+ = u- - (1 + e) P_N u- for P = P_C u-, of numbers or arrays."""
    return (1.0 + e) * projected - e * before


def aimed(free: Any, before: Any, e: Any) -> Any:
    """(free + e before) / (1 + e): what a scheme projects, so that `reflected` gives `free` where there is no contact.

    >>> reflected(aimed(3.0, -1.0, 0.5), -1.0, 0.5)
    3.0
    """
    return (free + e * before) / (1.0 + e)


@check_arguments
def impact(
    u: ArrayLike,
    cone: Cone,
    *,
    law: ImpactLaw | None = None,
    mass: ArrayLike | Metric = 1.0,
    solver: Solver | None = None,
) -> Impact:
    """Apply Moreau's impact law to the velocity u at the contacts of a cone.

    Equalities have no restitution: the velocity across them is lost. Warns (`NotApproaching`) when e > 0 and the result
    is not admissible because some contacts are already separating.

    Parameters
    ----------
    u : array_like
        Velocity before the impact.
    cone : Cone
        Cone of admissible velocities of the closed contacts, such as ``Q.linearise(t, q).cone()``.
    law : ImpactLaw, optional
        Impact law. None: ``Restitution(0.0)``.
    mass : float, array_like or Metric, default 1.0
        One number, one for each body, one for each coordinate, or a symmetric positive definite matrix.
    solver : Solver, optional
        Solves the projection. None: ``Automatic()``.

    Returns
    -------
    Impact
        The velocity after, and the impulse of each contact.

    Raises
    ------
    NotConverged
        If the projection misses its tolerance.
    EmptySet
        If the coefficients of the contacts contradict each other.

    Examples
    --------
    >>> import jostle as jo
    >>> cradle = jo.convex.Cone([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    >>> jo.impact([1.0, 0.0, 0.0], cone=cradle, law=jo.Restitution(1.0)).velocity.round(6).tolist()
    [-0.333333, 0.666667, 0.666667]
    """
    law, solver = law or Restitution(), solver or Automatic()
    check_law(law)
    if isinstance(law, Coulomb):
        raise InvalidValue(
            f"the rows of a cone have no tangents for {law!r}: give it to jo.Motion(law=...), or friction cones to "
            f"jo.project"
        )
    before = np.asarray(u, dtype=float)
    P = project(before, cone, mass=mass, solver=solver)
    rate_before = cone.slack(before)
    if law.uniform is not None and cone.equal is None:
        e: float | Array = law.uniform
        after = reflected(P.point, before, e) if e > 0.0 else P.point.copy()
        impulse = (1.0 + e) * P.multipliers
    else:
        e = _coefficients_of_rows(law, cone, rate_before)
        K = Polyhedron(cone.G, e * rate_before, describe=cone.describe, equal=cone.equal)
        found = project(before, K, mass=mass, solver=solver)
        after, impulse = found.point, found.multipliers
    rate_after = cone.margin(cone.slack(after))
    approaching, admissible = _within(cone, -cone.margin(-rate_before), before, after), True
    if rate_after.min(initial=0.0) < 0.0:
        allowed = solver.tol * np.abs(rate_before).max(initial=0.0)
        admissible = _within(cone, -rate_after - allowed, before, after)
    if np.any(e) and not admissible:
        row = int(np.argmin(rate_after))
        warn(
            f"with e = {np.broadcast_to(e, len(rate_after))[row]:g} the law gives an inadmissible velocity: gap rate "
            f"{rate_after[row]:.3g} in {cone.describe(row)}, because not all contacts approach; leave out those that "
            f"separate",
            NotApproaching,
        )
    return Impact(after, impulse, P, approaching, admissible)


def _coefficients_of_rows(law: ImpactLaw, cone: Cone, rate: Array) -> Array:
    """(m,) e of each row of a cone, whose rows are not assigned to bodies."""
    if isinstance(law.e, Mapping) if isinstance(law, Restitution) else type(law).bound_to is not ImpactLaw.bound_to:
        raise InvalidValue(
            f"{law!r} refers to bodies and walls by name, and rows of a cone have none: give it to jo.Motion(law=...)"
        )
    rows = np.arange(len(rate))
    pairs = np.stack([np.full_like(rows, -1), rows], axis=1)
    contacts = Contacts(
        np.zeros(len(rows)), cone.G, pairs, constraint_count=len(rows), describe=cone.describe, equal=cone.equal
    )
    return coefficients(law, contacts, rate)


def _within(cone: Cone, rates: Array, before: Array, after: Array) -> bool:
    """Whether all rates are at most zero, up to the round-off of G applied to both velocities."""
    if len(rates) == 0:
        return True
    largest = int(np.argmax(rates))
    if rates[largest] <= 0.0:
        return True

    def noise(G: LinearMap) -> Array:
        return ROUND_OFF * (G.magnitude(before.ravel()) + G.magnitude(after.ravel()))

    if rates[largest] > noise(cone.G.rows(np.array([largest])))[0]:
        return False
    return bool((rates <= noise(cone.G)).all())
