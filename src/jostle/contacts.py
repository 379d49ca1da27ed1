"""Contacts: the gaps of an admissible set, linearised at a configuration.

From them come the three convex sets of the papers:

    .velocities(h)   K_h(t, q) = {u : g + h G u >= 0}          Bernicot & Lefebvre-Lepot 2010 (1.11)
    .positions(q)    Q~(t, q) = {x : g + G (x - q) >= 0}       Venel 2009 (22)
    .cone()          C_{t,q} = {u : G_i u >= 0 if g_i = 0}     Bernicot & Lefebvre-Lepot 2010 (4.1)

K_h is kept as g/h + G u >= 0, so that its multipliers p are impulses: M (u - w) = G^T p. Rows marked in `equal` are
equalities, g_i = 0: they hold with equality in all three sets, and a gap of either sign violates them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike

from jostle import kernels
from jostle._tools.arrays import Array, Booleans, Integers, contiguous, floats, highest, lowest, place_of
from jostle._tools.displays import html
from jostle._tools.rotations import AXES, at_lever
from jostle.bodies import POINTS, Bodies
from jostle.convex.linear_map import (
    Dense,
    FootRows,
    LeverBlocks,
    LinearMap,
    NormalRows,
    Sparse,
    as_map,
    stacked,
)
from jostle.convex.polyhedron import Cone
from jostle.convex.rows import Rows, kinds, lengths, margins, some_kinds
from jostle.errors import InfeasibleStart, InvalidValue, NotFinite
from jostle.kernels import offers
from jostle.kernels.parallel import by_rows, chunks_of
from jostle.kernels.reference.copies import PLACE_ROUND_OFF
from jostle.pose import Pose, RowsOfBodies
from jostle.solvers.base import DENSE_KERNELS, MAX_DENSE_ENTRIES
from jostle.solvers.dual_active_set import incompatible

# The numbers by which constraints keep their identity; see `Contacts.pairs` and `Contacts.constraint_count`.


def pairs_of_rows(row: Integers, k: int) -> Integers:
    """(body, -1 - wall) of the rows body k + wall."""
    body, wall = pairs = place_of(row).empty((2, len(row)), dtype=np.int64)
    np.floor_divide(row, max(k, 1), out=body)
    np.remainder(row, max(k, 1), out=wall)
    np.invert(wall, out=wall)  # -1 - wall
    return pairs.T


def check_owned(name: str, pairs: Integers, count: Any) -> None:
    """Refuse pairs that are not two whole numbers for each row, and more constraints than the set declares."""
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise InvalidValue(
            f"the pairs of {name} must be two whole numbers for each row, shape (m, 2), not {pairs.dtype} of "
            f"{pairs.shape}"
        )
    if not isinstance(count, Integral):
        raise InvalidValue(f"{name} must declare a whole number of constraints, not constraint_count={count!r}")
    largest = _largest_number(pairs)
    if largest >= count:
        raise InvalidValue(
            f"{name} uses constraint number {largest} in its pairs but declares constraint_count={count}, so "
            f"it cannot be told apart from other sets in an intersection; build its Contacts with "
            f"constraint_count={largest + 1}, the number of constraints that the set can ever have"
        )


def check_bodies(name: str, pairs: Integers, n: int, bodies: Bodies = POINTS) -> None:
    """Refuse rows of bodies, or of balls of clumps, that do not exist."""
    of_bodies = pairs[pairs[:, 0] >= 0]
    if len(of_bodies) and int(of_bodies.max()) >= n:
        one, several = (bodies.called, bodies.several) if bodies.single else ("ball", "balls")
        raise InvalidValue(
            f"{name} has a row for {one} {int(of_bodies.max())}, and there are {n} {several}, 0 to {n - 1}; (-1, k) "
            f"stands for constraint k on the whole configuration"
        )


def check_unchanged(within: object, count: int, before: int, t: float) -> None:
    """Refuse a set that declares another count than before: the numbers of the sets after it would shift."""
    if count != before:
        raise InvalidValue(
            f"{within!r} declares constraint_count={count} at t = {t:g} and declared constraint_count={before} "
            f"before; declare the number of constraints that the set can ever have, present or not; a function returns "
            f"a large gap for one that does not act"
        )


def same_pair(pairs: Integers) -> tuple[int, int] | None:
    """Two rows that name the same constraint, if any."""
    order = np.lexsort(pairs.T)
    same = np.flatnonzero((np.diff(pairs[order], axis=0) == 0).all(axis=1))
    if len(same) == 0:
        return None
    one, other = sorted(int(row) for row in order[same[0] :][:2])
    return one, other


def _largest_number(pairs: Integers) -> int:
    """The largest constraint number k in pairs; -1 if all rows are between two bodies."""
    if len(pairs) == 0:
        return -1
    lowest = min(int(pairs[:, 1].min()), 0)
    if int(pairs[:, 0].min()) >= 0:
        return -1 - lowest
    return max(-1 - lowest, int(pairs[pairs[:, 0] < 0, 1].max()))


CLOSED = 1e-9
"""A gap below this fraction of the length (or of the way of a body) is a contact; below minus it, an overlap."""

GAP_ROUND_OFF = 4 * float(np.finfo(float).eps)
"""The round-off of a gap, as a fraction of the coordinates that it depends on."""

MAX_CURVATURE = 8.0
"""Gaps of equalities that depend on each other are compatible up to this multiple of the square of the largest gap,
over the length; a larger difference is a contradiction."""
MAX_INCOMPATIBLE = 0.1
"""Gaps of equalities that depend on each other contradict each other beyond this fraction of the largest gap."""

MOST = float(np.finfo(float).max)
"""The largest number."""
BY_NORMALS: Any = None
"""`Contacts.G` of contacts of bodies whose map is made from their normals when it is first asked for."""

Cutoff = float | Array
"""Largest gap of a pair that is kept: one number, or cutoff_i + cutoff_j of two bodies and cutoff_i of a body and a
wall, where each body has a cutoff (n,)."""


def of_bodies(cutoff: Cutoff) -> TypeGuard[Array]:
    """Whether the cutoff is given for each body."""
    return getattr(cutoff, "ndim", 0) > 0


def map_of_bodies(pairs: Integers, normal: Array, count: int, positions: Array | None) -> LinearMap:
    """The map G of contacts by pairs (2, m) and normals (m, d); dense if there is one body alone."""
    if count == 1 and offers(normal, DENSE_KERNELS):
        return Dense(-normal)
    return NormalRows(pairs[0], pairs[1], normal, count, positions, known=True)


class Feet(NamedTuple):
    """Where the two points that each row keeps apart sit on their bodies: means of the positions of parts.

    The envelope theorem: the rate of a distance is that of the two nearest points, held on their bodies.
    """

    parts: Integers
    """(m, k) the parts that carry the two points."""
    weights: Array
    """(m, k) their weights: those of the first point, which are negative, have the sum -1, and those of the second one
    the sum 1; without a second body there are none."""
    points: Array
    """(m, d) the point of contact, half-way in the gap; NaN where it is at the end of an arm, as that of two balls."""

    def only(self, rows: Integers) -> Feet:
        """The feet of some of the rows."""
        return Feet(self.parts[rows], self.weights[rows], self.points[rows])

    @staticmethod
    def joined(tables: Sequence[Contacts]) -> Feet | None:
        """The feet of all rows of the tables, one after the other; None if none has feet."""
        given = [one.feet for one in tables if one.feet is not None]
        if not given:
            return None
        m, k = sum(len(one.gap) for one in tables), max(one.parts.shape[1] for one in given)
        points = np.full((m, given[0].points.shape[1]), np.nan)
        feet, end = Feet(np.zeros((m, k), np.int64), np.zeros((m, k)), points), 0
        for one in tables:
            start, end = end, end + len(one.gap)
            if one.feet is not None:
                for whole, part in zip(feet, one.feet, strict=True):
                    whole[start:end, : part.shape[1]] = part
            elif one.normal is not None:
                feet.parts[start:end, :2] = np.maximum(one.pairs, 0)
                feet.weights[start:end, :2] = np.where(one.pairs >= 0, (-1.0, 1.0), 0.0)
        return feet


class JointRows(NamedTuple):
    """Equalities on the velocities w of bodies that turn, by levers and axes: the last rows of `Contacts`."""

    G: LinearMap
    """(j, N) rates of the gaps at the velocities w."""
    noise: Array
    """(j,) round-off of the gaps."""
    driven: Booleans
    """(j,) True for rows of motors, whose gap is 0 and whose rate G w is given."""
    torque: Array
    """(j,) the largest |p| over the time step; infinite if there is no limit."""
    speed: Callable[[float], Array]
    """(j,) the rates G w at a time; 0 in rows that are not driven."""
    rate: Array
    """(j,) the rates at the time of the contacts."""

    def only(self, rows: Integers) -> JointRows:
        """Some of the rows."""
        noise, driven, torque = self.noise[rows], self.driven[rows], self.torque[rows]
        return JointRows(self.G.rows(rows), noise, driven, torque, lambda t: self.speed(t)[rows], self.rate[rows])

    @staticmethod
    def joined(found: Sequence[JointRows]) -> JointRows | None:
        """The rows of several sets, one after the other; None if there are none."""
        if len(found) < 2:
            return found[0] if found else None
        maps, noise, driven, torque, speeds, rate = zip(*found, strict=True)
        speed = lambda t: np.concatenate([each(t) for each in speeds])  # noqa: E731
        kinds_of = np.concatenate(noise), np.concatenate(driven), np.concatenate(torque)
        return JointRows(stacked(*maps), *kinds_of, speed, np.concatenate(rate))


@dataclass(frozen=True, eq=False, repr=False)
class Contacts:
    """The gaps of a set at one configuration, and their gradients.

    `ConstraintSet.linearise` returns them. The three convex sets of the papers come from them: `velocities`,
    `positions` and `cone`.

    Parameters
    ----------
    gap : array_like, shape (m,)
        Gaps g_i(t, q).
    G : array_like or LinearMap, shape (m, N), optional
        Gradients dg/dq; the attribute is a map. None: all rows are contacts of bodies with these normals, and the map
        is made when it is first asked for.
    pairs : array_like of int, shape (m, 2)
        Who touches whom: (i, j) two bodies, (i, -1 - k) body i and constraint k, (-1, k) constraint k on the whole
        configuration. The same pair keeps its numbers from step to step.
    constraint_count : int
        The set owns the constraint numbers k = 0, ..., constraint_count - 1 at all times, whether or not their rows are
        present. An intersection distinguishes the constraints of its parts by them.
    length : float or array, shape (m,), optional
        What the violation of each row is compared with, such as the smallest radius; 0 for a row without one, whose
        violation is compared with the distance moved. None: no row has one. The attribute is always an array.
    cutoff : float or array, shape (n,), default inf
        Pairs whose gap is larger were left out: one number for all pairs, or one for each body, of which a pair has the
        sum.
    describe : callable (int) -> str, default "constraint {}".format
        What a row is, in words, for error messages.
    at : array, optional
        The configuration: without a length, its size says how large the round-off of a gap is. None: not known.
    curvature : callable () -> array, optional
        Returns `curvatures`, which few need, with NaN for rows whose curvature is not known. None: that of no row is
        known.
    part_count : int, default 1
        Number of parts of bodies whose positions are the configuration: that of the bodies, if each is one part.
    equal : array of bool, shape (m,), optional
        Which rows are equalities, g_i = 0. None: all are inequalities.
    gap_at : callable (t, rows) -> array, optional
        Gaps of some rows at another time and the same configuration. None: the set is at rest.
    normal : array, shape (m, d), optional
        Unit vectors from the first body to the second, or into the wall, if all rows are contacts of bodies. None: not
        known. Beside G they are only taken if `known`; otherwise those of G count.
    feet : Feet, optional
        Where the two points that a row keeps apart sit on their bodies, beside the normals. None: each row is between
        the centres of the two parts of its pair, or of one and a wall.
    pose : Pose, optional
        The pose that the contacts belong to. None: that of no bodies, such as in `linearise`.
    known : bool, default False
        True if the numbers in `pairs` are certain to be those of the set, and the lengths to fit the rows; they are
        then not checked in each step.
    joints : JointRows, optional
        The last rows, which are on the velocities w of bodies and not in G. None: all rows are in G.

    Examples
    --------
    >>> import jostle as jo
    >>> contacts = jo.Balls([1.0, 1.0]).linearise(0.0, np.array([[0.0, 0.0], [2.0, 0.0]]))
    >>> contacts.gap.tolist(), contacts.pairs.tolist(), contacts.describe(0)
    ([0.0], [[0, 1]], 'balls 0 and 1')
    >>> contacts.cone().slack([[1.0, 0.0], [0.0, 0.0]]).tolist()         # they approach
    [-1.0]
    >>> contacts
    Contacts(rows: 1, parts: 2, smallest gap 0)
    """

    gap: Array
    G: LinearMap
    pairs: Integers
    _: KW_ONLY
    constraint_count: int
    length: Any = None
    cutoff: Cutoff = np.inf
    describe: Callable[[int], str] = "constraint {}".format
    at: Array | None = None
    curvature: Callable[[], Array] | None = None
    part_count: int = 1
    equal: Booleans | None = None
    gap_at: Callable[[float, Integers], Array] | None = None
    normal: Array | None = None
    feet: Feet | None = None
    pose: Pose | None = None
    known: bool = False
    joints: JointRows | None = None

    def __post_init__(self) -> None:
        if self.__dict__["G"] is None:
            del self.__dict__["G"]
        if self.known and type(self.length) is float:
            each = self.gap.copy()
            each[:] = self.length
            self.__dict__["length"] = each
        elif not self.known or getattr(self.length, "ndim", 0) == 0:
            if not self.known:
                self._check()
            self.__dict__["length"] = lengths(self.length, len(self.gap), self.gap)
        if self.equal is not None:
            object.__setattr__(self, "equal", kinds(self.equal, len(self.gap)))

    def _check(self) -> None:
        """Refuse what does not belong together, and keep the numbers as compiled kernels take them."""
        pairs = self.pairs if hasattr(self.pairs, "dtype") else np.asarray(self.pairs)
        pairs = contiguous(pairs, np.int64) if pairs.dtype.kind in "iu" else pairs  # others are refused with their set
        vars(self).update(gap=floats(self.gap, "C", "gap"), pairs=pairs)
        if "G" in vars(self):  # a class may change the gradients that it inherits, and leave the normals
            G = as_map(self.G)
            vars(self).update(G=Dense(contiguous(G.array)) if isinstance(G, Dense) else G, normal=None)
        elif pairs.ndim != 2 or ((pairs[:, 0] < 0) | (pairs >= self.part_count).any(axis=1)).any():
            raise InvalidValue(
                f"contacts without gradients G are between bodies 0 to part_count - 1 = {self.part_count - 1} or with "
                f"walls, and their pairs are {pairs.tolist()[:5]}: give part_count, the number of bodies, or G"
            )
        if not len(self.gap) == len(self.pairs) == self.G.shape[0] + self._joint_count:
            raise InvalidValue(
                f"a set gives {len(self.gap)} gaps, {self.G.shape[0]} gradients and {len(self.pairs)} pairs: give one "
                f"of each for every constraint"
            )
        if (undefined := self.gap != self.gap).any():  # NaN alone differs from itself
            raise NotFinite(f"the gap of {self.describe(int(undefined.argmax()))} is NaN")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> LinearMap:
            """`G`, which is made when it is first asked for, where only the normals were given."""
            if name != "G":
                raise AttributeError(f"contacts have no {name!r}")
            if self.normal is None or self.at is None:
                raise InvalidValue(
                    "contacts need gradients G, or the normals and the configuration that they belong to"
                )
            at, shape = self.at, (self.part_count, self.normal.shape[1])
            positions = at.reshape(shape) if at.size == shape[0] * shape[1] else None
            if self.feet is not None:
                G: LinearMap = FootRows(self.feet.parts, self.feet.weights, self.normal, self.part_count)
            else:
                G = map_of_bodies(self.pairs.T, self.normal, self.part_count, positions)
            vars(self)["G"] = G
            return G

    def __repr__(self) -> str:
        smallest = f", smallest gap {lowest(self.gap, np.inf):.3g}" if len(self.gap) else ""
        return f"Contacts(rows: {len(self.gap)}, parts: {self.part_count}{smallest})"

    _repr_html_ = html

    @property
    def _joint_count(self) -> int:
        return 0 if self.joints is None else len(self.joints.rate)

    def _and_joints(self, of_parts: Array, of_joints: Any = 0.0) -> Array:
        """(m,) values of the rows of G, and those of joints after them."""
        if self.joints is None:
            return of_parts
        return np.append(of_parts, np.broadcast_to(of_joints, (self._joint_count,)))

    @cached_property
    def on_velocities(self) -> LinearMap:
        """All rows on the velocities w of bodies; G itself if they do not turn."""
        if self.pose is None:
            return self.G
        return RowsOfBodies(self.pose, self.G, None if self.joints is None else self.joints.G)

    def magnitude(self, way: float, turned: float) -> Array:
        """By how much gaps change at most where bodies move and turn.

        Parameters
        ----------
        way : float
            How far each part moves along each axis.
        turned : float
            How far each body moves along each axis, and turns about it.

        Returns
        -------
        array, shape (m,)
            The largest change of each gap.
        """
        of_parts = self.G.magnitude(np.full(self.G.shape[1], way))
        if self.joints is None:
            return of_parts
        return self._and_joints(of_parts, self.joints.G.magnitude(np.full(self.joints.G.shape[1], turned)))

    def bounds(self, h: float) -> Array | None:
        """The largest impulses of motors in a time.

        Parameters
        ----------
        h : float
            The time.

        Returns
        -------
        array, shape (m,), or None
            One for each row, infinite where there is no limit; None if no row has one.
        """
        if self.joints is None or not np.isfinite(self.joints.torque).any():
            return None
        torque, none = self.joints.torque, np.full(self.G.shape[0], np.inf)
        return self._and_joints(none, np.where(np.isfinite(torque), h * np.minimum(torque, MOST), np.inf))

    @property
    def margin(self) -> Array:
        """(m,): the gap of each inequality, -|g_i| of each equality: negative where q violates the row."""
        return self.gap if self.equal is None else margins(self.gap, self.equal)

    @property
    def curvatures(self) -> Array:
        """(m,): b with d^2 g = b (I - n n^T): 1 / distance for balls, 0 for planes; NaN where it is not known."""
        return place_of(self.gap).full(len(self.gap), np.nan) if self.curvature is None else self.curvature()

    @property
    def normals(self) -> Array:
        """Unit vectors (m, d) from the first body to the second, or into the wall; (m, 0) if rows are not contacts."""
        if self.normal is not None:
            return self.normal
        contacts = self.G.contacts
        if self.joints is None and contacts is not None and (contacts is self.G or len(self.G.others) == 0):
            return contacts.normal
        first = self.pairs[:, 0]
        d, odd = divmod(self.G.shape[1], max(self.part_count, 1))
        if odd or ((first < 0) | (first >= self.part_count)).any():
            return place_of(self.gap).zeros((len(self.gap), 0))
        rows = place_of(first).arange(len(first))
        return -self.G.toarray().reshape(len(first), self.part_count, d)[rows, first]

    @property
    def bodies(self) -> Integers:
        """(m, 2): `pairs` by the numbers of the bodies, instead of those of their parts."""
        if self.pose is None or self.pose.bodies.single:
            return self.pairs
        balls = (self.pairs >= 0) & (self.pairs[:, :1] >= 0)
        bodies = self.pairs.copy()
        bodies[balls] = self.pose.bodies.owners(self.pairs[balls])
        return bodies

    def arms(self, t: float) -> Array:
        """The distances from the centres of both parts to the point of contact, half-way in the gap.

        Parameters
        ----------
        t : float
            Time, for radii that grow.

        Returns
        -------
        array, shape (m, 2)
            The distances, zero for a wall.
        """
        assert self.pose is not None
        (i, j), place = self.pairs.T, place_of(self.gap)
        radii, _ = self.pose.bodies.sizes(t, self.pose.centres.reshape(-1, self.pose.q.shape[-1]))
        arms, wall = place.zeros((len(i), 2)), j < 0
        if radii is not None:
            arms[:, 0], arms[:, 1] = radii[i], np.where(wall, 0.0, radii[np.maximum(j, 0)])
        two = (~wall).nonzero()[0]
        if len(two):  # both touch the same point, also where radii have grown: angular momentum stays as it is
            gap = self.gap[two] if self.gap_at is None else self.gap_at(t, two)
            arms[two] += gap[:, None] / 2.0
        return arms

    def levers(self, t: float) -> tuple[Array, Array]:
        """The vectors from the centres of mass of both bodies to the point of contact.

        Parameters
        ----------
        t : float
            Time, for radii that grow.

        Returns
        -------
        tuple of array, shape (m, d)
            The vectors, zero for a wall.
        """
        assert self.pose is not None
        (i, j), arms = self.pairs.T, self.arms(t)
        normal = self.normals.reshape(len(arms), self.pose.q.shape[-1])
        first, second = arms[:, :1] * normal, -arms[:, 1:] * normal
        if not self.pose.bodies.single:
            first, second = first + self.pose.levers[i], self.pose.levers[np.maximum(j, 0)] + second
        if self.feet is not None:
            (one, other), q = self.bodies.T, self.pose.q.reshape(-1, first.shape[1])
            own = np.isfinite(self.feet.points)
            first = np.where(own, self.feet.points - q[one], first)
            second = np.where(own, self.feet.points - q[np.maximum(other, 0)], second)
        return first, np.where((j < 0)[:, None], 0.0, second)

    def on_bodies(self, t: float) -> LinearMap:
        """The gradients as a map on the velocities w of bodies that turn.

        Parameters
        ----------
        t : float
            Time, for radii that grow.

        Returns
        -------
        LinearMap
            One row for each contact, made of its normal and its levers if these are known.
        """
        assert self.pose is not None
        if self.normal is None or self.pose.bodies.single:
            return cast(RowsOfBodies, self.on_velocities).assembled()
        rows = self.blocks(t, self.normal[:, None])
        return rows.dense() if rows.shape[0] * rows.shape[1] <= MAX_DENSE_ENTRIES else Sparse(rows.tocsr())

    def blocks(self, t: float, onto: Array | None = None, rolling: bool = False) -> LeverBlocks:
        """The velocities of the second points of contact relative to the first ones, as a map on w.

        Parameters
        ----------
        t : float
            Time, for radii that grow.
        onto : array, shape (m, e, d), optional
            The vectors along which the velocities are taken. None: the fixed axes.
        rolling : bool, default False
            Whether the relative spins follow in each block.

        Returns
        -------
        LeverBlocks
            A block of rows for each contact.
        """
        pose = self.pose
        assert pose is not None
        (i, j), blocks, d = self.bodies.T, [], pose.q.shape[-1]
        for body, lever, sign in zip((i, j), self.levers(t), (-1.0, 1.0), strict=True):
            R = None if pose.axes is None else pose.axes[np.maximum(body, 0)]  # a wall has no axes
            block = at_lever(lever, R) * sign
            if onto is not None:
                block = onto @ block
            if rolling:
                spin = np.zeros((len(body), AXES[d], d + AXES[d]))
                spin[:, :, d:] = sign * (np.eye(AXES[d]) if R is None else R)
                block = np.concatenate([block, spin], axis=1)
            block[body < 0] = 0.0
            blocks.append(block)
        positions = pose.q.reshape(-1, d)
        normal = self.normals.reshape(-1, d)
        return LeverBlocks(i, j, normal, len(positions), positions, True, first=blocks[0], second=blocks[1])

    def rates(self, w: Array) -> Array:
        """The rates of the gaps at velocities of bodies, those of walls and radii left out.

        Parameters
        ----------
        w : array
            Velocities of all that moves, as in `State`.

        Returns
        -------
        array, shape (m,)
            G times the velocities of all parts.
        """
        return self.on_velocities @ w.ravel()

    def impulse(self, p: Array) -> Array:
        """The impulses of the rows on the bodies.

        Parameters
        ----------
        p : array, shape (m,)
            Multipliers of the rows.

        Returns
        -------
        array
            G^T p on the velocities w, in their shape.
        """
        on_w = self.on_velocities.adjoint(p)
        return on_w if self.pose is None else on_w.reshape(self.pose.count, -1)

    def velocities(self, h: float) -> Rows:
        """The admissible velocities K_h = {u : g / h + G u >= 0} of a step.

        Parameters
        ----------
        h : float
            Time step.

        Returns
        -------
        Rows
            K_h; its multipliers are impulses.
        """
        gap = self.gap if self.equal is None else self.compatible_gap()
        c, length = by_rows(np.divide, (gap,), h), by_rows(np.divide, (self.length,), h)
        noise = by_rows(np.divide, (self.noise,), h)
        if self.pose is None:
            return Rows(self.G, c, length, noise, self.equal, self.describe)
        if self.joints is not None:
            c[self.G.shape[0] :] -= self.joints.rate
        return Rows(self.on_velocities, c, length, noise, self.equal, self.describe, bound=self.bounds(h))

    def displacements(self) -> Rows:
        """The linearised admissible set as seen from the configuration, {d : g + G d >= 0}.

        Returns
        -------
        Rows
            The set of the displacements d.
        """
        gap = self.gap if self.equal is None else self.compatible_gap()
        return Rows(self.G, gap, self.length, self.noise, self.equal, self.describe)

    def positions(self, q: ArrayLike) -> Rows:
        """The linearised admissible set Q~ = {x : g + G (x - q) >= 0}.

        Parameters
        ----------
        q : array_like
            The configuration that the contacts belong to.

        Returns
        -------
        Rows
            Q~.
        """
        gap = self.gap if self.equal is None else self.compatible_gap()
        c = gap - (self.G @ floats(q, name="q").ravel())
        return Rows(self.G, c, self.length, self.noise, self.equal, self.describe)

    @property
    def noise(self) -> Array:
        """(m,): round-off of each gap, by the size of the coordinates that it depends on."""
        if self.at is None:
            return place_of(self.gap).zeros(len(self.gap))
        noise = by_rows(np.multiply, (self.G.magnitude(self.at.ravel()),), GAP_ROUND_OFF)
        return noise if self.joints is None else self._and_joints(noise, self.joints.noise)

    def compatible_gap(self) -> Array:
        """The gaps, without what no displacement can close in equalities that depend on each other.

        A frame with more rods than it needs has such equalities: y^T G = 0 for some y, and a displacement closes all
        gaps only if y^T g = 0. Where a step moved along the tangents, y^T g is of second order. This part is left out;
        a larger one stays, so that the projection finds the contradiction and names it.

        Returns
        -------
        array, shape (m,)
            The gaps g; in equalities, g plus a term of second order.

        Examples
        --------
        >>> import jostle as jo
        >>> twice = jo.constraints(lambda t, q: [np.hypot(*q) - 1.0, q @ q - 1.0], equal=True)  # the same circle
        >>> contacts = twice.linearise(0.0, np.array([0.0, 1.01]))
        >>> contacts.gap.round(6).tolist(), contacts.compatible_gap().round(6).tolist()
        ([0.01, 0.0201], [0.009975, 0.02015])
        """
        if self.equal is None or np.count_nonzero(self.equal) < 2:
            return self.gap
        rows = np.flatnonzero(self.equal)
        if self.joints is not None:
            rows = rows[self._and_joints(np.zeros(self.G.shape[0]), self.joints.driven)[rows] == 0.0]
        part, unit = incompatible(self.on_velocities.rows(rows), self.gap[rows])
        length = self.length[rows] / unit
        furthest = float((np.abs(self.gap[rows]) / unit).max(initial=0.0))
        bent = np.divide(MAX_CURVATURE * furthest, length, out=np.full(len(rows), np.inf), where=length > 0.0)
        second_order = np.abs(part) <= np.minimum(bent, MAX_INCOMPATIBLE) * furthest
        gaps = self.gap.copy()
        gaps[rows] -= np.where(second_order, unit * part, 0.0)
        return gaps

    def only(self, rows: Integers) -> Contacts:
        """The contacts of some of the rows.

        Parameters
        ----------
        rows : array of int
            Numbers of the rows.

        Returns
        -------
        Contacts
            The contacts of these rows.
        """
        normal, own, joints = None if self.normal is None else self.normal[rows], rows, None
        if self.joints is not None:
            own, of_joints = rows[rows < self.G.shape[0]], rows[rows >= self.G.shape[0]] - self.G.shape[0]
            joints = self.joints.only(of_joints) if len(of_joints) else None
        return Contacts(
            self.gap[rows],
            self.G.rows(own) if "G" in vars(self) else BY_NORMALS,
            self.pairs[rows],
            constraint_count=self.constraint_count,
            length=self.length[rows],
            cutoff=self.cutoff,
            describe=lambda row: self.describe(int(rows[row])),
            at=self.at,
            curvature=None if self.curvature is None else partial(_some, self.curvature, rows),
            part_count=self.part_count,
            equal=some_kinds(self.equal, rows),
            gap_at=None if self.gap_at is None else partial(_some_gaps, self.gap_at, rows),
            normal=normal,
            feet=None if self.feet is None else self.feet.only(rows),
            pose=self.pose,
            known=self.known,
            joints=joints,
        )

    def drifts(self, t: float, h: float) -> tuple[Array, Array]:
        """The rates dg/dt of a moving set at both ends of a step, at the same configuration; of motors minus the speed.

        They are those of the parabola through the gaps at t, t + h/2 and t + h; the set is not evaluated outside the
        step. Walls of constant acceleration have no error; the error of others is h^2 / 12 times the third derivative
        of the gap.

        Parameters
        ----------
        t : float
            Time before the step.
        h : float
            Time step.

        Returns
        -------
        first : array, shape (m,)
            Rates at t.
        last : array, shape (m,)
            Rates at t + h.

        Examples
        --------
        >>> import jostle as jo
        >>> table = jo.HalfSpace([1.0], offset=lambda t: t * t)
        >>> [rate.round(12).tolist() for rate in table.near(0.0, np.array([3.0]), 9.0).drifts(1.0, 0.5)]
        [[-2.0], [-3.0]]
        """
        if self.gap_at is None:
            rates = place_of(self.gap).zeros(len(self.gap))
            ends = rates, rates
        else:
            rows = place_of(self.gap).arange(len(self.gap))
            first, middle, last = (self.gap_at(time, rows) for time in (t, t + h / 2.0, t + h))
            half, whole = middle - first, last - first
            ends = (4.0 * half - whole) / h, (3.0 * whole - 4.0 * half) / h
        if self.joints is None:
            return ends
        none, speed = np.zeros(self.G.shape[0]), self.joints.speed
        return ends[0] - self._and_joints(none, speed(t)), ends[1] - self._and_joints(none, speed(t + h))

    def cone(self, closed: float | None = None) -> Cone:
        """The cone of admissible velocities of the closed contacts, C_{t,q}.

        It is for sets at rest: the rates dg/dt of a moving set, which (1.7) has, are not in it.

        Parameters
        ----------
        closed : float, optional
            Rows with a gap up to this are closed. None: those whose gap is zero up to round-off. Equalities always are.

        Returns
        -------
        Cone
            The cone.
        """
        near = self.margin <= (self.tolerance() if closed is None else closed)
        closed_ones = self.only(np.flatnonzero(near))
        return Cone(closed_ones.G, describe=closed_ones.describe, equal=closed_ones.equal)

    def tolerance(self, way: Array | float = 0.0) -> Array:
        """How negative a margin may be before it counts as an overlap.

        Parameters
        ----------
        way : array, default 0.0
            How far each coordinate moves meanwhile, positive.

        Returns
        -------
        array, shape (m,)
            A fraction of the length of each row. If it has no length: a fraction of the ways, which the gap changes by,
            and the round-off of the coordinates, which does not grow with anything else.
        """
        if self.at is None or (self.length > 0.0).all():
            return CLOSED * cast(Array, self.length)
        ways = np.abs(way) + np.zeros(self.at.size).reshape(self.at.shape)
        by_place = CLOSED * self.G.magnitude(ways.ravel()) + PLACE_ROUND_OFF * self.G.magnitude(self.at.ravel())
        return np.where(self.length > 0.0, CLOSED * self.length, self._and_joints(by_place))

    def overlap(self) -> float:
        """The deepest overlap -g_i, or the largest |g_i| of an equality.

        Returns
        -------
        float
            The overlap as a fraction of the length of its row, undivided if the row has none; 0 if there is no overlap.
        """
        return deepest(self.margin, self.length)

    def smallest_length(self) -> float | None:
        """The smallest length of a row.

        Returns
        -------
        float or None
            The length; None if no row has one.
        """
        return lowest(self.length[self.length > 0.0], np.inf) if self.length.any() else None


def _some(values: Callable[[], Array], rows: Integers) -> Array:
    """Some of the values that a function returns."""
    return values()[rows]


def _some_gaps(gap_at: Callable[[float, Integers], Array], rows: Integers, t: float, some: Integers) -> Array:
    """`Contacts.gap_at` of some of these rows."""
    return gap_at(t, rows[some])


def deepest(gap: Array, length: Array) -> float:
    """The deepest overlap -g_i over its length (as it is where the length is 0); 0 if there is none.

    >>> deepest(np.array([-0.1, -0.3, 2.0]), np.array([0.5, 0.0, 0.0]))
    0.3
    """
    overlap = -np.minimum(gap, 0.0)
    return highest(overlap / np.where(length > 0.0, length, 1.0), 0.0)


def by_pair(pairs: Integers, values: Array, wanted: Integers, otherwise: float = 0.0) -> Array:
    """The value of each wanted pair, where pairs[c] (see `Contacts.pairs`) has values[c]; else `otherwise`."""
    if len(pairs) == 0 or len(wanted) == 0:
        return place_of(wanted).full(len(wanted), otherwise)
    if len(pairs) == len(wanted) == 1:
        return values.copy() if (pairs == wanted).all() else place_of(wanted).full(1, otherwise)
    return kernels.by_pair(pairs, values, wanted, otherwise, chunks_of(len(wanted)))


def check_start(
    contacts: Contacts,
    nearest: str | None = "jo.nearest(q0, within).point",
    q: str = "q0",
    terms: Array | float = 0.0,
    allowed: float = 0.0,
) -> None:
    """Raise `InfeasibleStart`, naming the worst rows, if a gap is negative, or that of an equality is not zero.

    `nearest` is the call that returns the nearest admissible configuration, or None if there is none; `q` is what the
    configuration is called; `terms` are the `Bodies.terms` that it is the sum of. Overlaps up to a part `allowed` of
    the length of their row are accepted.
    """
    if not np.isfinite(contacts.gap).all():
        row = int(np.flatnonzero(~np.isfinite(contacts.gap))[0])
        raise NotFinite(f"gap of {contacts.describe(row)} is {contacts.gap[row]} at the start")
    same = same_pair(contacts.pairs)
    if same is not None:
        raise InvalidValue(
            f"rows {same[0]} ({contacts.describe(same[0])}) and {same[1]} ({contacts.describe(same[1])}) have the same "
            f"pair {contacts.pairs[same[0]].tolist()}; give each constraint of a set a number of its own"
        )
    margin = contacts.margin
    most = contacts.tolerance(terms)
    if allowed > 0.0:
        more = allowed * contacts.length
        most = most + (more if contacts.equal is None else np.where(contacts.equal, 0.0, more))
    overlap = np.flatnonzero(margin < -most)
    if len(overlap) == 0:
        return
    worst = overlap[np.argsort(margin[overlap])][:5]
    said: dict[str, str] = {}  # two faces have several rows
    for row in worst:
        what = contacts.describe(int(row))
        said.setdefault(what, f"the gap of {what} is {contacts.gap[row]:.2e}")
    named = "; ".join(said.values())
    others = f" (and {len(overlap) - 5} more)" if len(overlap) > 5 else ""
    equal = contacts.equal is not None and bool(contacts.equal[overlap].any())
    remedy = "The gap of an equality must be zero at the start: change the positions" if equal else "Move them apart"
    if nearest is not None:
        remedy += f", or start from the nearest admissible configuration, {nearest}"
    raise InfeasibleStart(f"{q} is not admissible: {named}{others}. {remedy}")
