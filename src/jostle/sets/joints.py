"""Hinges and motors: joints of bodies that turn.

A hinge keeps a point of one body on a point of another one, or of the ground: D = x_j + R_j b - x_i - R_i a = 0, with
the arms a and b of the point in both bodies. In space it may also keep an axis of one parallel to an axis of the other:
e . R_j c = 0 for two vectors e of the first body across its axis. The rows are equalities on the velocities w of the
bodies. Their impulses act on both bodies at one point, half-way in D or on the ground, so that angular momentum stays
as it is. The schemes go along the tangent and leave the set by O(h^2) in a step, which the next one takes back.

A motor prescribes the spin of a body relative to another one, about an axis: a . (w_i - w_j) = speed(t), with a torque
of at most `max_torque`. If that does not suffice, the torque is at its limit, and the motor slips.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Never

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Integers, InTime, at, finite, frozen, numbers, read_only
from jostle._tools.rotations import AXES, at_lever, cross
from jostle.bodies import Bodies, pair_keys
from jostle.contacts import GAP_ROUND_OFF, Contacts, Cutoff, JointRows
from jostle.convex.linear_map import Dense, LinearMap, Sparse
from jostle.convex.metric import Metric
from jostle.errors import InvalidValue, NotFinite
from jostle.pose import Pose
from jostle.sets.base import ConstraintSet
from jostle.solvers.base import MAX_DENSE_ENTRIES

PARALLEL = 1e-9
"""Two axes are parallel if the sine of their angle is at most this."""


class Joints(ConstraintSet):
    """Rows on the velocities of bodies that turn, between two bodies or between a body and the ground."""

    convex_gaps, moving, curved, equalities, of_poses = False, False, True, True, True
    kind: str
    pairs: Integers
    rows = 1
    """Number of rows of each joint."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.pairs)})"

    @property
    def constraint_count(self) -> int:
        """Number of rows of all joints."""
        return self.rows * len(self.pairs)

    def linearise(self, t: float, q: Array, cutoff: Any = np.inf) -> Never:
        # Gaps at positions alone, which joints do not have.
        raise InvalidValue(
            f"{self!r} depends on how bodies are turned, and not on the positions of their parts alone: give it to "
            f"jo.Motion, and ask the solution, sol.gaps() or sol.overlap"
        )

    def bound_to(self, pose: Pose) -> ConstraintSet:
        # The same joints of these bodies.
        if pose.orientation is None:
            raise InvalidValue(
                f"a {self.kind} joins bodies that turn, and these do not: give law=jo.Coulomb(mu), or make them of "
                f"jo.Clumps or jo.Shapes"
            )
        n, d = len(pose.orientation), pose.q.shape[-1]
        if self.pairs.max(initial=-1) >= n:
            row, side = np.unravel_index(int(self.pairs.argmax()), self.pairs.shape)
            raise InvalidValue(
                f"{self.kind} {row} names body {self.pairs[row, side]}, and there are {n}, numbered from 0 to {n - 1}"
            )
        bound = copy(self)
        bound.bodies = Bodies(called=pose.bodies.called)
        bound._bind(pose, d)
        return bound

    def _bind(self, pose: Pose, d: int) -> None:
        raise NotImplementedError

    def _contacts(self, pose: Pose, gap: Array, length: Array, joints: JointRows) -> Contacts:
        numbers = np.arange(len(gap))
        return Contacts(
            gap,
            Dense(np.zeros((0, pose.centres.size))),
            np.stack([np.full_like(numbers, -1), numbers], axis=1),
            constraint_count=len(gap),
            length=length,
            describe=self._describe,
            at=pose.centres,
            part_count=pose.centres.size // pose.q.shape[-1],
            equal=np.ones(len(gap), dtype=np.bool_),
            pose=pose,
            known=True,
            joints=joints,
        )

    def _describe(self, row: int) -> str:
        joint, called = row // self.rows, self.bodies.called
        i, j = self.pairs[joint].tolist()
        return f"{self.kind} {joint} between {called} {i} and {f'{called} {j}' if j >= 0 else 'the ground'}"


@check_arguments
class Hinges(Joints):
    """Hinges between bodies that turn, and between bodies and the ground: machines, chains, pendulums, doors.

    Intersect with `Shapes`, `Clumps`, or `Balls` that have friction, and with walls. Two bodies that a hinge joins have
    no contact with each other, and may overlap.

    Parameters
    ----------
    pairs : array_like of int, shape (m, 2)
        Numbers of the two bodies of each hinge; -1 in second place stands for the ground.
    points : array_like, shape (m, d)
        Where the hinges are at the start, in fixed coordinates.
    axes : array_like, shape (3,) or (m, 3), optional
        In space, the directions at the start of the axes about which bodies turn against each other. None: they turn
        about all axes, as on a ball joint. In the plane bodies turn about the hinge itself.

    Examples
    --------
    A compound pendulum: a rod of length 1 and mass 1 that hangs from one end.

    >>> import jostle as jo
    >>> rod = jo.Clumps([([[-0.5, 0.0], [0.5, 0.0]], 0.05)])
    >>> pendulum = jo.Motion(q0=[[0.5, 0.0]], force=[0.0, -9.81], inertia=1 / 12,
    ...                      within=rod & jo.Hinges([(0, -1)], points=[[0.0, 0.0]]))
    >>> sol = jo.solve(pendulum, jo.MoreauJean(), t=1.0, h=0.01)
    >>> round(float(np.linalg.norm(sol.q[-1])), 3), sol.overlap < 2e-3
    (0.5, True)
    """

    kind = "hinge"
    _arms: Array | None = None

    def __init__(self, pairs: Integers, points: ArrayLike, axes: ArrayLike | None = None):
        self.pairs = _pairs(pairs, self.kind)
        points = finite(points, "points")
        self.points = read_only(np.array(points.reshape(-1, points.shape[-1] if points.ndim else 1)))
        d = self.points.shape[1]
        if points.ndim not in (1, 2) or d not in AXES or len(self.points) not in (1, len(self.pairs)):
            raise InvalidValue(
                f"points have shape {points.shape}: give one point for each of {len(self.pairs)} hinges, shape "
                f"({len(self.pairs)}, 2) in the plane or ({len(self.pairs)}, 3) in space"
            )
        if axes is not None and d == 2:
            raise InvalidValue("hinges in the plane turn about their points: leave out axes=")
        self.axes = None if axes is None else _axes(axes, len(self.pairs), self.kind)
        self.rows, self.hinged = d if axes is None else 2 * d - 1, pair_keys(*self.pairs.T)
        same = _repeated(self.pairs, None)
        if same is not None:
            i, j = self.pairs[same[0]].tolist()
            bodies = f"bodies {i} and {j}" if j >= 0 else f"body {i} and the ground"
            raise InvalidValue(
                f"hinges {same[0]} and {same[1]} both join {bodies}: leave one out"
                + (", or give one hinge with axes=" if d == 3 else "; bodies that are rigid together are one clump")
            )

    def _bind(self, pose: Pose, d: int) -> None:
        if self._arms is not None:
            return
        if self.points.shape[1] != d:
            raise InvalidValue(f"the points of hinges live in dimension {self.points.shape[1]}, the bodies in {d}")
        frames = [_frames(pose, bodies) for bodies in self.pairs.T]
        self._arms = np.stack([np.einsum("mji,mj->mi", R, self.points - x) for x, R in frames], axis=1)
        sizes = np.linalg.norm(self._arms, axis=2)
        sizes[self.pairs < 0] = 0.0
        length = np.maximum(sizes.max(axis=1, initial=0.0), _gyration(pose)[self.pairs[:, 0]])
        self._length = np.repeat(length[:, None], self.rows, axis=1)
        if self.axes is not None:
            self._length[:, d:] = 1.0
            across = np.stack(_across(self.axes), axis=1)
            self._across = np.einsum("mji,mkj->mki", frames[0][1], across)
            self._along = np.einsum("mji,mj->mi", frames[1][1], self.axes)

    def contacts(self, t: float, pose: Pose, cutoff: Cutoff) -> Contacts:
        # The distance of both points along each axis, and the cosines of two angles.
        arms, (i, j), d = self._arms, self.pairs.T, pose.q.shape[-1]
        assert arms is not None
        (x, R), (y, S) = _frames(pose, i), _frames(pose, j)
        a, b = np.einsum("mij,mj->mi", R, arms[:, 0]), np.einsum("mij,mj->mi", S, arms[:, 1])
        one, other, m = x + a, y + b, len(i)
        point = np.where((j < 0)[:, None], other, 0.5 * (one + other))
        gap, noise = np.zeros((m, self.rows)), np.full((m, self.rows), GAP_ROUND_OFF)
        gap[:, :d] = other - one
        noise[:, :d] *= np.abs(x) + np.abs(a) + np.abs(y) + np.abs(b)
        G = np.zeros((m, self.rows, 2, d + AXES[d]))
        turns = [None if pose.axes is None else frame for frame in (R, S)]
        G[:, :d, 0], G[:, :d, 1] = -at_lever(point - x, turns[0]), at_lever(point - y, turns[1])
        if self.axes is not None:
            across, along = np.einsum("mij,mkj->mki", R, self._across), np.einsum("mij,mj->mi", S, self._along)
            gap[:, d:] = np.einsum("mki,mi->mk", across, along)
            for k in range(2):
                about = cross(along, across[:, k])
                for side, sign in enumerate((-1.0, 1.0)):
                    G[:, d + k, side, d:] = sign * _about(about, turns[side])
        rows = np.repeat(self.pairs, self.rows, axis=0), G.reshape(-1, 2, d + AXES[d])
        nothing = np.zeros(gap.size)
        none, unlimited = np.zeros(gap.size, dtype=np.bool_), np.full(gap.size, np.inf)
        joints = JointRows(_map(*rows, pose), noise.ravel(), none, unlimited, lambda t: nothing, nothing)
        return self._contacts(pose, gap.ravel(), self._length.ravel(), joints)


@check_arguments
class Motors(Joints):
    """Motors that turn a body relative to another one, or to the ground, at a given speed.

    A motor holds nothing in place: give its bodies a hinge, too. ``sol.motor_torque`` has the torques on the first
    bodies; those on the second ones have the other sign.

    Parameters
    ----------
    pairs : array_like of int, shape (m, 2)
        Numbers of the body that each motor turns and of the body that carries the motor; -1 in second place stands for
        the ground.
    speed : float, array_like, shape (m,), or callable (t) -> array
        Spin of the first body relative to the second one, in radians per unit of time.
    max_torque : float or array_like, shape (m,), default inf
        The largest torque of each motor. A motor that needs more slips, with this torque.
    axes : array_like, shape (3,) or (m, 3), optional
        In space, the directions of the axes at the start; they turn with the second body.

    Examples
    --------
    A motor turns a wheel of inertia 0.5, with at most a torque of 2, until it has the speed 10:

    >>> import jostle as jo
    >>> wheel = jo.Clumps([([[0.0, 0.0]], 1.0)]) & jo.Hinges([(0, -1)], [[0.0, 0.0]])
    >>> driven = jo.Motion(q0=[[0.0, 0.0]], within=wheel & jo.Motors([(0, -1)], speed=10.0, max_torque=2.0))
    >>> sol = jo.solve(driven, jo.Maury(), t=4.0, h=0.5)
    >>> sol.spin[:, 0].round(9).tolist()
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 10.0, 10.0, 10.0]
    >>> sol.motor_torque[:, 0].round(9).tolist()
    [0.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0, 0.0, 0.0]
    """

    kind = "motor"
    _about: Array | None = None

    def __init__(self, pairs: Integers, speed: InTime, max_torque: ArrayLike = np.inf, axes: ArrayLike | None = None):
        self.pairs, m = _pairs(pairs, self.kind), len(np.asarray(pairs))
        self.speed = frozen(speed)
        if not callable(speed):
            self.speeds(0.0)
        torque = numbers(max_torque, "max_torque")
        if torque.shape not in ((), (m,)):
            raise InvalidValue(f"max_torque must be one number, or one for each of {m} motors, not {torque.shape}")
        if not (torque >= 0.0).all():
            wrong = float(np.ravel(torque)[np.argmin(np.ravel(torque) >= 0.0)])
            raise InvalidValue(f"max_torque must be 0 or more, not {wrong:g}")
        self.max_torque = read_only(np.array(np.broadcast_to(torque, (m,))))
        self.axes = None if axes is None else _axes(axes, m, self.kind)
        same = _repeated(self.pairs, self.axes)
        if same is not None:
            raise InvalidValue(
                f"motors {same[0]} and {same[1]} turn the same bodies about the same axis: leave one out, or add up "
                f"their torques"
            )

    def speeds(self, t: float) -> Array:
        """The speeds of all motors at a time.

        Parameters
        ----------
        t : float
            Time.

        Returns
        -------
        array, shape (m,)
            The speeds.
        """
        speed, m = at(self.speed, t), len(self.pairs)
        if speed.shape not in ((), (m,)):
            raise InvalidValue(
                f"speed must be one number, or one for each of {m} motors; at t = {t:g} it has shape {speed.shape}"
            )
        each = np.broadcast_to(speed, (m,))
        if not np.isfinite(each).all():
            row = int(np.argmin(np.isfinite(each)))
            raise NotFinite(f"the speed of motor {row} is {each[row]} at t = {t:g}")
        return each

    def _bind(self, pose: Pose, d: int) -> None:
        if (self.axes is None) is (d == 3):
            raise InvalidValue(
                "motors in space need axes=, the directions of their axes at the start"
                if d == 3
                else "motors in the plane turn bodies about the normal of the plane: leave out axes="
            )
        if self._about is not None or self.axes is None:
            return
        self._about = np.einsum("mji,mj->mi", _frames(pose, self.pairs[:, 1])[1], self.axes)

    def contacts(self, t: float, pose: Pose, cutoff: Cutoff) -> Contacts:
        # The spins about the axes, which have no gaps.
        m, d, (i, j) = len(self.pairs), pose.q.shape[-1], self.pairs.T
        G, nothing = np.zeros((m, 2, d + AXES[d])), np.zeros(m)
        (_, R), (_, S) = _frames(pose, i), _frames(pose, j)
        about = np.ones((m, 1)) if self._about is None else np.einsum("mij,mj->mi", S, self._about)
        for side, (sign, frame) in enumerate(((1.0, R), (-1.0, S))):
            G[:, side, d:] = sign * _about(about, None if pose.axes is None else frame)
        joints = JointRows(
            _map(self.pairs, G, pose), nothing, np.ones(m, dtype=np.bool_), self.max_torque, self.speeds, self.speeds(t)
        )
        return self._contacts(pose, nothing.copy(), np.ones(m), joints)


def _frames(pose: Pose, bodies: Integers) -> tuple[Array, Array]:
    """(m, d) the centres of mass of bodies, and (m, d, d) their rotations; the ground is at zero and not turned."""
    d, ground = pose.q.shape[-1], bodies < 0
    x, R = pose.q.reshape(-1, d)[bodies], pose.rotations[bodies]
    x[ground], R[ground] = 0.0, np.eye(d)
    return x, R


def _about(axes: Array, frames: Array | None) -> Array:
    """Axes (m, s) in fixed coordinates, about the axes of bodies if their spins are about these."""
    return axes if frames is None else np.einsum("mi,mij->mj", axes, frames)


def _map(pairs: Integers, blocks: Array, pose: Pose) -> LinearMap:
    """Rows on w, by their blocks (m, 2, d + s) on the first and the second body."""
    (m, _, width), n, there = blocks.shape, pose.q.size // pose.q.shape[-1], pairs >= 0
    rows = np.broadcast_to(np.arange(m)[:, None], pairs.shape)[there]
    if m * n * width <= MAX_DENSE_ENTRIES:
        G = np.zeros((m, n, width))
        G[rows, pairs[there]] = blocks[there]
        return Dense(G.reshape(m, -1))
    from scipy.sparse import csr_array

    columns = width * pairs[there][:, None] + np.arange(width)
    entries = blocks[there].ravel(), (np.repeat(rows, width), columns.ravel())
    return Sparse(csr_array(entries, shape=(m, n * width)))


def _gyration(pose: Pose) -> Array:
    """(n,) the largest radius of gyration of each body; 0 if its mass is not one number."""
    bodies, J = pose.bodies, pose.bodies.inertia
    assert J is not None
    inverse = bodies.mass.of_bodies(len(J)) if isinstance(bodies.mass, Metric) else None
    return np.zeros(len(J)) if inverse is None else np.sqrt(J.max(axis=1) * inverse)


def _across(axes: Array) -> tuple[Array, Array]:
    """Two unit vectors across each axis, and across each other."""
    least = np.eye(3)[np.abs(axes).argmin(axis=1)]
    one = cross(axes, least)
    one /= np.linalg.norm(one, axis=1)[:, None]
    return one, cross(axes, one)


def _axes(axes: ArrayLike, m: int, kind: str) -> Array:
    given = finite(axes, "axes")
    if given.shape not in ((3,), (m, 3)):
        raise InvalidValue(f"axes have shape {given.shape}: give one axis for all {kind}s, or one for each, ({m}, 3)")
    each = np.broadcast_to(given, (m, 3))
    size = np.linalg.norm(each, axis=1)
    if not (size > 0.0).all():
        raise InvalidValue(f"the axis of {kind} {int(np.argmin(size))} is zero, and has no direction")
    return read_only(each / size[:, None])


def _repeated(pairs: Integers, axes: Array | None) -> tuple[int, int] | None:
    """The numbers of two joints of the same bodies, about parallel axes if there are axes; None if there are none."""
    sides = np.sort(pairs, axis=1)
    for second in range(len(pairs)):
        for first in np.flatnonzero((sides[:second] == sides[second]).all(axis=1)):
            if axes is None or np.linalg.norm(np.cross(axes[first], axes[second])) <= PARALLEL:
                return int(first), second
    return None


def _pairs(pairs: ArrayLike, kind: str) -> Integers:
    given = np.array(pairs)
    if given.size == 0:
        given = np.zeros((0, 2), dtype=np.int64)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise InvalidValue(
            f"pairs must be two whole numbers for each {kind}, shape (m, 2), not {given.dtype} of {given.shape}"
        )
    wrong = np.flatnonzero((given[:, 0] < 0) | (given[:, 1] < -1) | (given[:, 0] == given[:, 1]))
    if len(wrong):
        raise InvalidValue(
            f"{kind} {wrong[0]} is between {given[wrong[0]].tolist()}: the first must be a body, 0 or larger, and the "
            f"second another body, or -1 for the ground"
        )
    return read_only(given.astype(np.int64))
