"""The bodies of a problem: how large and how heavy they are, what balls they consist of, and how they turn.

Radii and masses live here and nowhere else. Sets ask their `Bodies` for radii; the sets of an intersection share one
object. A problem adds the masses, and the inertia of bodies that turn.

Sets know balls only. A body is one ball, or a clump of several, which sit at the ends of arms from its centre of mass:
`places` and `velocities` are those of the balls, by the positions and turns of the bodies. Between two contacts a body
moves on by `moved`: in a straight line, and turning freely.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import Array, Integers, InTime, at, contiguous, finite, frozen, moved_to
from jostle._tools.rotations import AXES, crossed, free_rotation, matrices, product
from jostle.convex.metric import Metric, metric, of_masses
from jostle.errors import InvalidValue, NotFinite

UNTURNED = (1.0, 0.0, 0.0, 0.0)
"""The quaternion of a body that is not turned."""
KEPT = 3
"""A step knows the turns before it, in the middle of it and after it."""
PLURALS = {"body": "bodies", "person": "people"}
"""Words for several bodies, which have no plural in -s."""
Sizes = tuple[Array | None, float]
"""The radii of n bodies, None for points; and the smallest of them, 0 for points."""


def body_radii(radii: Array, n: int, t: float, allow_zero: bool = False, called: str = "body") -> Array:
    """The radii of n bodies at time t, checked."""
    if radii.ndim > 1 or radii.size not in (1, n):
        raise InvalidValue(f"radii have shape {radii.shape}, there are {n} bodies")
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


class Turning(NamedTuple):
    """How bodies are turned and how fast they turn, and the friction of the last step."""

    turn: Array
    """(n,) angles in the plane, or (n, 4) unit quaternions (w, x, y, z) in space."""
    spin: Array
    """(n,) or (n, 3) angular velocities, about fixed axes."""
    tangential: Array
    """(m, d) the impulse along the surfaces in each contact of the last step, on the second body of its pair."""
    rolling: Array
    """(m, 1) or (m, 3) the angular impulse of rolling resistance in each contact, on the second body of its pair."""


class Oriented(NamedTuple):
    """What follows from the turns of bodies."""

    turn: Array
    rotations: Array
    """(n, d, d) from the axes of each body to fixed axes."""
    levers: Any
    """(b, d) from the centre of mass of a body to the centre of each ball, in fixed axes; 0 where bodies are balls."""


class Clumped(NamedTuple):
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
    """What overlaps are compared with: the smallest radius that is not 0, or else the size of the smallest clump."""

    @property
    def number(self) -> Integers:
        """(b,) the number of each ball in its body, from 0."""
        return np.arange(len(self.owner)) - np.searchsorted(self.owner, self.owner)

    def as_given(self) -> Clumped:
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
    clumped : Clumped, optional
        Which balls belong to which body. None: each body is one ball.
    called : str, default "body"
        What a body is called: "ball", "clump", "person".

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
    clumped: Clumped | None = None
    called: str = "body"
    _kept: dict[tuple[int, type], Sizes] = field(default_factory=dict, init=False, repr=False)
    """Radii that do not depend on time, as arrays of each type."""
    _oriented: list[Oriented] = field(default_factory=list, init=False, repr=False)
    """What is known of the last turns, as a step asks for them about twenty times."""

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

        That is the smallest radius, or `Clumped.length` of clumps; None and 0 if the bodies are points.
        """
        these = len(x), type(x)
        known = self._kept.get(these)
        if known is not None:
            return known
        radii = self.radii_at(t)
        if radii.ndim or radii:
            each = contiguous(body_radii(radii, len(x), t, allow_zero=True, called=self.called))
            smallest = float(each.min(initial=np.inf)) if self.clumped is None else self.clumped.length
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

    def places(self, q: Array, turning: Turning | None) -> Array:
        """The centres of the balls: q itself if each body is one ball, (b, d) for clumps of b balls together."""
        return q if turning is None else self._balls(q, turning.turn)

    def balls(self, q: Array, turn: Array) -> Array:
        """The centres of the balls, by the turns of the axes in which bodies were given, as a `Solution` has them."""
        return q if self.clumped is None else self._balls(q, product(turn, self.clumped.axes))

    def _balls(self, q: Array, turn: Array) -> Array:
        """The centres of the balls, by the turns of principal axes."""
        if self.clumped is None:
            return q
        centres: Array = q.reshape(-1, self.clumped.arms.shape[1])[self.clumped.owner] + self.levers(turn)
        return centres

    def velocities(self, u: Array, turning: Turning | None) -> Array:
        """The velocities of the centres of the balls: u itself if each body is one ball, (b, d) for b balls."""
        if self.clumped is None or turning is None:
            return u
        owner, levers = self.clumped.owner, self.levers(turning.turn)
        return u.reshape(-1, self.clumped.arms.shape[1])[owner] + crossed(turning.spin[owner], levers)

    def levers(self, turn: Array, balls: Any = slice(None)) -> Any:
        """(m, d) from the centre of mass of a body to the centre of each of these balls; 0 where bodies are balls."""
        if self.clumped is None:
            return 0.0
        return self.oriented(turn).levers[balls]

    def oriented(self, turn: Array) -> Oriented:
        """What follows from the turns of the bodies, which are read-only from now on."""
        for known in self._oriented:
            if known.turn is turn:
                return known
        turn.setflags(write=False)
        R, levers = matrices(turn), 0.0
        if self.clumped is not None:
            levers = np.einsum("bij,bj->bi", R[self.clumped.owner], self.clumped.arms)
        found = Oriented(turn, R, levers)
        self._oriented[:] = [found, *self._oriented[: KEPT - 1]]
        return found

    def terms(self, places: Array, turning: Turning | None) -> Array | float:
        """The sizes of the centre of mass and of the arm that each centre of a ball in clumps is the sum of; else 0."""
        if self.clumped is None or turning is None:
            return 0.0
        arms = self.levers(turning.turn)
        return np.asarray(np.abs(arms) + np.abs(places - arms))

    @property
    def several(self) -> str:
        """What several bodies are called."""
        return PLURALS.get(self.called, f"{self.called}s")

    def name(self, part: int) -> str:
        """What a part is called in an error, a table, a picture and a file: by its body, and by its number in it.

        >>> import jostle as jo
        >>> jo.Balls([0.5] * 4).bodies.name(3), jo.Clumps([([[0.0, 0.0], [1.0, 0.0]], 0.5)] * 3).bodies.name(5)
        ('ball 3', 'clump 2, ball 1')
        """
        if self.clumped is None:
            return f"{self.called} {part}"
        body = int(self.clumped.owner[part])
        return f"{self.called} {body}, ball {part - int(np.searchsorted(self.clumped.owner, body))}"

    def names(self, i: int, j: int) -> str:
        """What two parts are called together.

        >>> import jostle as jo
        >>> jo.Balls([0.5] * 4).bodies.names(0, 3)
        'balls 0 and 3'
        """
        if self.clumped is None:
            return f"{self.several} {i} and {j}"
        return f"{self.name(i)} and {self.name(j)}"

    def pair_name(self, i: int, j: int) -> str:
        """What a pair of `Contacts.pairs` is called in a table: two parts, a part and a wall, or a row.

        >>> Bodies().pair_name(0, 1), Bodies().pair_name(0, -3), Bodies().pair_name(-1, 2)
        ('0 - 1', '0 - wall 2', 'row 2')
        """
        if i < 0:
            return f"row {j}"
        name = str if self.clumped is None else self.name
        return f"{name(i)} - {name(j) if j >= 0 else f'wall {-1 - j}'}"

    def owners(self, balls: Integers) -> Integers:
        """The body of each ball."""
        return balls if self.clumped is None else self.clumped.owner[balls]

    @cached_property
    def own_axes(self) -> bool:
        """Whether angular velocities are taken about the axes of each body: in space, if its moments differ."""
        return self.inertia is not None and not bool((self.inertia == self.inertia[:, :1]).all())

    def joined(self, u: Array, turn: Array, spin: Array) -> Array:
        """(n, d + s) velocities and spins; the spins are about the axes of each body if its moments differ."""
        return np.concatenate([u.reshape(len(turn), u.shape[-1]), self._own_spin(turn, spin)], axis=1)

    def _own_spin(self, turn: Array, spin: Array) -> Array:
        """(n, s) spins, about the axes of each body if its moments differ."""
        if self.own_axes:
            spin = np.einsum("nji,nj->ni", self.oriented(turn).rotations, spin)
        return spin if spin.ndim == 2 else spin[:, None]

    def split(self, w: Array, turn: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Velocities in a shape, and spins: the opposite of `joined`."""
        d = shape[-1]
        spin = w[:, d:]
        if self.own_axes:
            spin = np.einsum("nij,nj->ni", self.oriented(turn).rotations, spin)
        return contiguous(w[:, :d]).reshape(shape), contiguous(spin if d == 3 else spin[:, 0])

    def rotated(self, turn: Array, spin: Array, h: float) -> tuple[Array, Array]:
        """Turns and spins after a time h without torques."""
        assert self.inertia is not None
        return free_rotation(turn, spin, self.inertia, h, lambda turn: self.oriented(turn).rotations)

    def energy_of_spins(self, turn: Array, spin: Array) -> float:
        """The kinetic energy of spins, by the turns of principal axes."""
        assert self.inertia is not None
        return 0.5 * float((moved_to(self.inertia, spin) * self._own_spin(turn, spin) ** 2).sum())

    def given_turn(self, turn: Array) -> Array:
        """The turns of the axes in which the bodies were given, by those of their principal axes."""
        if self.clumped is None or turn.ndim == 1:
            return turn
        return product(turn, self.clumped.axes * np.array([1.0, -1.0, -1.0, -1.0]))

    def with_inertia(self, M: Metric, shape: tuple[int, ...]) -> Metric:
        """The metric on velocities and spins together, as `joined` arranges them, for velocities in a shape."""
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
