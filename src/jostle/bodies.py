"""The bodies of a problem: how large and how heavy they are, what balls they consist of, and how they turn.

Radii and masses live here and nowhere else. Sets ask their `Bodies` for radii; the sets of an intersection share one
object. A problem adds the masses, and the inertia of bodies that turn.

A body is one ball, or a clump of several, which sit at the ends of arms from its centre of mass; `jostle.pose` says
where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jostle._tools.arrays import Array, Integers, InTime, at, contiguous, finite, frozen, moved_to
from jostle._tools.rotations import AXES, matrices
from jostle.convex.metric import Metric, metric, of_masses
from jostle.errors import InvalidValue, NotFinite

UNTURNED = (1.0, 0.0, 0.0, 0.0)
"""The quaternion of a body that is not turned."""
PLURALS = {"body": "bodies", "person": "people", "box": "boxes"}
"""Words for several bodies, which have no plural in -s."""
Sizes = tuple[Array | None, float]
"""The radii of n bodies, None for points; and the smallest of them, 0 for points."""


def body_radii(radii: Array, n: int, t: float, allow_zero: bool = False, called: str = "body") -> Array:
    """The radii of n bodies at time t, checked."""
    if radii.ndim > 1 or radii.size not in (1, n):
        raise InvalidValue(
            f"radii have shape {radii.shape}, and q has the positions of {n} {'body' if n == 1 else 'bodies'}: give "
            f"one radius for all bodies or one for each, and q of shape (n, d) for n bodies"
        )
    given = radii.ravel()
    spread = np.broadcast_to(given, (n,))
    if n == 0:
        return spread
    if not np.isfinite(given).all():
        raise NotFinite(f"radius of {called} {int(np.argmin(np.isfinite(given)))} is not finite at t = {t:g}")
    if given.min() < 0 or (given.min() == 0 and not allow_zero):
        body = int(np.argmin(given))
        raise InvalidValue(f"radius of {called} {body} is {given[body]:g} at t = {t:g}; it must be positive")
    return spread


def contact_points(places: NDArray[np.floating[Any]], radii: ArrayLike, pairs: Integers, normals: Array) -> Array:
    """(m, d) where contacts of balls act, on the surface of the first ball of each pair; NaN for all other rows.

    >>> contact_points(np.array([[0.0, 2.0], [3.0, 2.0]]), 1.5, np.array([[0, 1], [-1, 0]]), np.eye(2)).tolist()
    [[1.5, 2.0], [nan, nan]]
    """
    d, own = places.shape[1], np.flatnonzero(pairs[:, 0] >= 0)
    points = np.full((len(pairs), d), np.nan)
    if normals.shape[1] == d:
        first = pairs[own, 0]
        points[own] = places[first] + np.broadcast_to(radii, (len(places),))[first, None] * normals[own]
    return points


def pair_keys(i: Integers, j: Integers) -> Integers:
    """(m,) one number for each pair of bodies, in either order.

    >>> keys = pair_keys(np.array([0, 7]), np.array([7, 0]))
    >>> bool(keys[0] == keys[1])
    True
    """
    return (np.minimum(i, j).astype(np.int64) << 32) + np.maximum(i, j)


class Parts(NamedTuple):
    """Which balls belong to which body."""

    owner: Integers
    """(b,) the number of the body of each ball, ascending."""
    arms: Array
    """(b, d) from the centre of mass of the body to the centre of the ball, along the axes of the body: the principal
    axes of its balls, or those in which it was given, if its moments of inertia were given about these."""
    axes: Array
    """(n,) or (n, 4) how the axes of the body are turned against those in which its arms were given."""
    inertia: Array
    """(n, 1) or (n, 3) moments of inertia of a body of mass 1 and one density, about its principal axes."""
    length: float
    """What overlaps are compared with: the smallest radius that is not 0, or else the size of the smallest clump; half
    the thickness of the thinnest shape."""
    core: Integers | None = None
    """(b,) the number of the convex core whose corner each part is, ascending, over all bodies; None for balls."""

    @property
    def number(self) -> Integers:
        """(b,) the number of each ball in its body, from 0."""
        return np.arange(len(self.owner)) - np.searchsorted(self.owner, self.owner)

    def as_given(self) -> Parts:
        """The same clumps by the axes in which their arms were given, which need not be principal axes of the balls."""
        if self.axes.ndim == 1:
            return self
        arms = np.einsum("bij,bj->bi", matrices(self.axes)[self.owner], self.arms)
        return self._replace(arms=arms, axes=np.broadcast_to(UNTURNED, self.axes.shape).copy())


@dataclass(frozen=True, eq=False)
class Bodies:
    """How large and how heavy the bodies are.

    Parameters
    ----------
    radii : float, array_like, shape (n,), or callable (t) -> array, optional
        Radii of the bodies: one for all or one for each, and they may depend on time. None: not known, and the bodies
        are points.
    apart : bool, default False
        Whether no two bodies may overlap. Walls without radii of their own, in an intersection, take over these bodies.
    mass : Metric or callable (q) -> array, optional
        Mass of all bodies together, or a function of the configuration. None: not known; sets do not say it, but
        problems do.
    inertia : array, shape (n, 1) or (n, 3), optional
        Moments of inertia about the principal axes. None: the bodies do not turn.
    parts : Parts, optional
        Which balls belong to which body. None: each body is one ball.
    called : str, default "body"
        What a body is called: "ball", "clump", "person".
    cores : Cores, optional
        The convex cores of shapes, for obstacles; see `jostle.sets.cores`. None: bodies are balls.

    Examples
    --------
    >>> import jostle as jo
    >>> within = jo.Balls([1.0, 2.0]) & jo.HalfSpace([0.0, 1.0])
    >>> within.bodies.radii_at(0.0).tolist(), within.sets[1].bodies is within.bodies
    ([1.0, 2.0], True)
    """

    radii: InTime | None = None
    apart: bool = False
    mass: Metric | Callable[[Array], ArrayLike] | None = None
    inertia: Array | None = None
    parts: Parts | None = None
    called: str = "body"
    cores: Any = None
    _kept: dict[tuple[int, type], Sizes] = field(default_factory=dict, init=False, repr=False)
    """Radii that do not depend on time, as arrays of each type."""
    _metrics: list[Metric] = field(default_factory=list, init=False, repr=False)
    """The last metric without spins, and with them."""

    def __post_init__(self) -> None:
        if self.radii is not None:
            object.__setattr__(self, "radii", frozen(self.radii))

    @property
    def swell(self) -> bool:
        """Whether the radii may depend on time."""
        return callable(self.radii)

    @property
    def largest(self) -> float:
        """The largest radius at time 0; 0 if the bodies are points."""
        return float(self.radii_at(0.0).max(initial=0.0))

    def radii_at(self, t: float) -> Array:
        """The radii at one time, as they were given: (n,) one for each body, or () one for all; 0 of points."""
        return at(0.0 if self.radii is None else self.radii, t)

    def sizes(self, t: float, x: Any) -> Sizes:
        """(n,) the radii at one time of the bodies x, checked, of the type of x; and what overlaps are compared with.

        That is the smallest radius, or `Parts.length` of clumps; None and 0 if the bodies are points.
        """
        these = len(x), type(x)
        known = self._kept.get(these)
        if known is not None:
            return known
        radii = self.radii_at(t)
        if radii.ndim or radii:
            each = contiguous(body_radii(radii, len(x), t, allow_zero=True, called=self.called))
            smallest = float(each.min(initial=np.inf)) if self.parts is None else self.parts.length
            found: Sizes = moved_to(each, x), smallest
        else:
            found = None, 0.0
        if not callable(self.radii):
            self._kept[these] = found
        return found

    def metric(self, q: Array) -> Metric:
        """The kinetic metric M(q); a function `mass` is evaluated at q."""
        if isinstance(self.mass, Metric):
            return self.mass
        assert self.mass is not None
        M = self.mass(q)
        return of_masses(M if isinstance(M, Metric) else finite(M, "what the function mass(q) returned"), q.shape)

    def same_radii(self, other: Bodies) -> bool:
        """Whether others have the same radii: the same function of time, or the same numbers."""
        if self is other or self.radii is other.radii:
            return True
        return not (self.swell or other.swell) and np.array_equal(self.radii_at(0.0), other.radii_at(0.0))

    @property
    def several(self) -> str:
        """What several bodies are called."""
        return PLURALS.get(self.called, f"{self.called}s")

    def name(self, part: int) -> str:
        """What a part is called in an error, a table, a picture and a file: by its body, and by its number in it.

        >>> import jostle as jo
        >>> jo.Balls([0.5] * 4).bodies.name(3), jo.Clumps([([[0.0, 0.0], [1.0, 0.0]], 0.5)] * 3).bodies.name(5)
        ('ball 3', 'clump 2, ball 1')
        >>> jo.Shapes([jo.shapes.Box([2.0, 1.0])] * 3).bodies.name(5)
        'box 1, corner 1'
        """
        if self.parts is None:
            return f"{self.called} {part}"
        kind = "ball" if self.parts.core is None else "corner"
        number = part - int(np.searchsorted(self.parts.owner, self.parts.owner[part]))
        return f"{self.body_name(part)}, {kind} {number}"

    def body_name(self, part: int) -> str:
        """What the body of a part is called.

        >>> import jostle as jo
        >>> jo.Shapes([jo.shapes.Box([2.0, 1.0])] * 3).bodies.body_name(5)
        'box 1'
        """
        return f"{self.called} {part if self.parts is None else int(self.parts.owner[part])}"

    def names(self, i: int, j: int) -> str:
        """What two parts are called together.

        >>> import jostle as jo
        >>> jo.Balls([0.5] * 4).bodies.names(0, 3)
        'balls 0 and 3'
        """
        if self.parts is None:
            return f"{self.several} {i} and {j}"
        return f"{self.name(i)} and {self.name(j)}"

    def pair_name(self, i: int, j: int) -> str:
        """What a pair of `Contacts.pairs` is called in a table: two parts, a part and a wall, or a row.

        >>> Bodies().pair_name(0, 1), Bodies().pair_name(0, -3), Bodies().pair_name(-1, 2)
        ('0 - 1', '0 - wall 2', 'row 2')
        """
        if i < 0:
            return f"row {j}"
        name = str if self.parts is None else self.name
        if j < 0:
            return f"{name(i)} - wall {-1 - j}"
        return f"{name(i)} - {self.body_name(j) if self.has_cores else name(j)}"

    @property
    def has_cores(self) -> bool:
        """Whether bodies are convex shapes, and their parts corners, which other bodies touch between them, too."""
        return self.parts is not None and self.parts.core is not None

    @property
    def single(self) -> bool:
        """Whether each body is one part."""
        return self.parts is None

    def owners(self, balls: Integers) -> Integers:
        """The body of each ball."""
        return balls if self.parts is None else self.parts.owner[balls]

    @cached_property
    def own_axes(self) -> bool:
        """Whether angular velocities are taken about the axes of each body: in space, if its moments differ."""
        return self.inertia is not None and not bool((self.inertia == self.inertia[:, :1]).all())

    @property
    def turn(self) -> bool:
        """Whether the bodies turn: those with friction, and clumps."""
        return self.inertia is not None

    def energy_of_spins(self, w: Array) -> float:
        """The kinetic energy of the spins in velocities w, see `jostle.pose`."""
        assert self.inertia is not None
        J = moved_to(self.inertia, w)
        return 0.5 * float((J * w[:, -J.shape[1] :] ** 2).sum())

    def with_inertia(self, M: Metric, shape: tuple[int, ...]) -> Metric:
        """The metric on velocities w, which have spins, from that on velocities in a shape."""
        if not self._metrics or self._metrics[0] is not M:
            self._metrics[:] = M, self._with_inertia(M, shape)
        return self._metrics[1]

    def _with_inertia(self, M: Metric, shape: tuple[int, ...]) -> Metric:
        J, d = self.inertia, shape[-1]
        assert J is not None
        if M.diagonal:
            both = np.concatenate([M.mass.reshape(-1, d), J], axis=1).ravel()
            return Metric(both, 1.0 / np.sqrt(both), M.ratio)
        n, s = J.shape
        place = np.arange(n * (d + s)).reshape(n, d + s)
        whole = np.zeros((n * (d + s),) * 2)
        of_u, of_spin = place[:, :d].ravel(), place[:, d:].ravel()
        whole[np.ix_(of_u, of_u)], whole[of_spin, of_spin] = M.mass, J.ravel()
        return replace(metric(whole, (n, d + s)), ratio=M.ratio)


def solid(radii: Array, mass: Array, d: int) -> Array:
    """(n, s) moments of inertia of solid discs or spheres.

    >>> solid(np.array([1.0]), np.array([5.0]), 3).tolist(), solid(np.array([2.0]), np.array([1.0]), 2).tolist()
    ([[2.0, 2.0, 2.0]], [[2.0]])
    """
    one = (0.5 if d == 2 else 0.4) * mass * radii * radii
    return np.repeat(one[:, None], AXES[d], axis=1)


def neighbour_distance(q: Array) -> float:
    """About the distance of neighbours, so that not all pairs of many bodies are asked for; infinite for one body."""
    spread = float(np.ptp(q, axis=0).max()) if q.ndim == 2 and len(q) else 0.0
    return spread / len(q) ** (1.0 / q.shape[1]) if spread > 0.0 else np.inf


POINTS = Bodies()
"""Bodies of which no set says how large they are."""
