"""Where all bodies are at one time, how they are turned, and how they move on.

A body is one ball, or a clump of several, its parts, which sit at the ends of levers from its centre of mass. Sets see
the centres of the parts and their velocities; schemes see bodies.

The velocities of everything that moves are one array w. Where bodies do not turn, it has the shape of q0. Otherwise it
has shape (n, d + s), one row for each body: its translation u, and its spin about s axes. Spins are about the axes of
each body in space if its moments of inertia differ, so that the kinetic metric is diagonal, and about fixed axes if
not. That is what solvers, energies and checkpoints have; users see u, and spins about fixed axes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from jostle._tools.arrays import STAYS, Array, Booleans, Integers, contiguous, read_only
from jostle._tools.rotations import AXES, at_lever, cross, crossed, euler_rotation, matrices, product, turned
from jostle.bodies import Bodies
from jostle.convex.linear_map import Dense, LinearMap, Sparse, stacked
from jostle.convex.metric import Metric
from jostle.solvers.base import MAX_DENSE_ENTRIES


@dataclass(frozen=True, eq=False)
class Pose:
    """Positions and orientations of all bodies at one time; what follows from them is computed once.

    Parameters
    ----------
    bodies : Bodies
        The bodies.
    q : array
        Positions of their centres of mass, in the shape of q0.
    orientation : array, shape (n,) or (n, 4), optional
        Orientations of their principal axes: angles in the plane, unit quaternions (w, x, y, z) in space. None: bodies
        do not turn.

    Examples
    --------
    >>> import jostle as jo
    >>> rods = jo.Motion(q0=[[0.0, 3.0]], spin0=2.0, within=jo.Clumps([([[-1.0, 0.0], [1.0, 0.0]], 0.5)]))
    >>> rods.pose0.centres.tolist(), rods.pose0.velocities(rods.w0).tolist()
    ([[-1.0, 3.0], [1.0, 3.0]], [[0.0, -2.0], [0.0, 2.0]])
    >>> pose, w = rods.pose0.moved(rods.w0, h=0.1)
    >>> pose.orientation.tolist(), w.tolist()
    ([0.2], [[0.0, 0.0, 2.0]])
    """

    bodies: Bodies = field(repr=False, metadata=STAYS)
    q: Array
    orientation: Array | None = None

    @staticmethod
    def of(bodies: Bodies, q: Array, orientation: Array | None) -> Pose:
        """The pose of bodies by the orientations of the axes in which they were given, as a `Solution` has them."""
        if orientation is not None and bodies.parts is not None:
            orientation = product(orientation, bodies.parts.axes)
        return Pose(bodies, q, orientation)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: not what follows from it."""
        return {"bodies": self.bodies, "q": self.q, "orientation": self.orientation}

    def at(self, q: Array) -> Pose:
        """The same orientations elsewhere."""
        return Pose(self.bodies, q, self.orientation)

    @property
    def as_given(self) -> Array | None:
        """Orientations of the axes in which the bodies were given."""
        made_of, orientation = self.bodies.parts, self.orientation
        if made_of is None or orientation is None or orientation.ndim == 1:
            return orientation
        return product(orientation, made_of.axes * np.array([1.0, -1.0, -1.0, -1.0]))

    @property
    def count(self) -> int:
        """Number of bodies."""
        return int(self.q.size) // int(self.q.shape[-1])

    @cached_property
    def rotations(self) -> Array:
        """(n, d, d) rotation matrices: their columns are the principal axes of each body."""
        assert self.orientation is not None
        return matrices(read_only(self.orientation))

    @cached_property
    def axes(self) -> Array | None:
        """The rotation matrices if spins are about the axes of each body; None if they are about fixed axes."""
        return self.rotations if self.bodies.own_axes else None

    @cached_property
    def levers(self) -> Array:
        """(b, d) from the centre of mass of its body to the centre of each part."""
        made_of = self.bodies.parts
        if made_of is None:
            return np.zeros((1, self.q.shape[-1])).repeat(self.q.size // self.q.shape[-1], axis=0)
        return np.asarray(np.einsum("bij,bj->bi", self.rotations[made_of.owner], made_of.arms))

    @cached_property
    def centres(self) -> Array:
        """The centres of all parts: q itself if each body is one ball, (b, d) for clumps of b balls together."""
        made_of = self.bodies.parts
        if made_of is None or self.orientation is None:
            return self.q
        return np.asarray(self.q.reshape(-1, made_of.arms.shape[1])[made_of.owner] + self.levers)

    @property
    def terms(self) -> Array | float:
        """The sizes of the centre of mass and of the lever that each centre of a clump is the sum of; otherwise 0."""
        if self.centres is self.q:
            return 0.0
        return np.asarray(np.abs(self.levers) + np.abs(self.centres - self.levers))

    def velocities(self, w: Array) -> Array:
        """The velocities of the centres of all parts, in the shape of `centres`."""
        made_of = self.bodies.parts
        if self.orientation is None:
            return w
        if made_of is None:
            return self.translation(w)
        spin = self.spin(w)
        assert spin is not None
        return np.asarray(w[:, : made_of.arms.shape[1]][made_of.owner] + crossed(spin[made_of.owner], self.levers))

    def impulse(self, on_parts: Array) -> Array:
        """Impulses and moments on the bodies, in the shape of w, of impulses at the centres of all parts."""
        if self.orientation is None:
            return on_parts.reshape(self.q.shape)
        each, arm = on_parts.reshape(-1, self.q.shape[-1]), self.levers
        moment = cross(arm, each) if arm.shape[1] == 3 else (arm[:, 0] * each[:, 1] - arm[:, 1] * each[:, 0])[:, None]
        w = np.zeros((self.q.size // arm.shape[1], arm.shape[1] + moment.shape[1]))
        np.add.at(w, self.bodies.owners(np.arange(len(each))), np.concatenate([each, moment], axis=1))
        if self.axes is not None:
            w[:, arm.shape[1] :] = np.einsum("nji,nj->ni", self.axes, w[:, arm.shape[1] :])
        return w

    def translation(self, w: Array) -> Array:
        """The velocities u of the centres of mass, in the shape of q."""
        return w if self.orientation is None else contiguous(w[:, : self.q.shape[-1]]).reshape(self.q.shape)

    def spin(self, w: Array) -> Array | None:
        """(n,) or (n, 3) angular velocities about fixed axes; None if bodies do not turn."""
        if self.orientation is None:
            return None
        spin = w[:, self.q.shape[-1] :]
        if self.axes is not None:
            spin = np.einsum("nij,nj->ni", self.axes, spin)
        return contiguous(spin[:, 0] if self.orientation.ndim == 1 else spin)  # type: ignore[no-any-return]

    def joined(self, u: Array, spin: Array | None) -> Array:
        """w, by the velocities of the centres of mass and the spins about fixed axes."""
        if spin is None or self.orientation is None:
            return u
        if self.axes is not None:
            spin = np.einsum("nji,nj->ni", self.axes, spin)
        n, d = len(self.orientation), self.q.shape[-1]
        return np.concatenate([u.reshape(n, d), spin.reshape(n, AXES[d])], axis=1)

    def with_spins(self, u: Array, M: Metric, w: Array) -> tuple[Array, Metric]:
        """Velocities u with the spins of w, and the metric of both: u and M themselves if bodies do not turn."""
        if self.orientation is None:
            return u, M
        d = self.q.shape[-1]
        return np.concatenate([u.reshape(-1, d), w[:, d:]], axis=1), self.bodies.with_inertia(M, u.shape)

    def moved(self, w: Array, h: float) -> tuple[Pose, Array]:
        """The pose after a motion of length h without contacts, and w then: free rotation changes spins.

        A body with different moments of inertia turns by Euler's equations, others with a constant spin.
        """
        if self.orientation is None:
            return Pose(self.bodies, self.q + h * w), w
        bodies, d = self.bodies, self.q.shape[-1]
        assert bodies.inertia is not None
        q = self.q + h * self.translation(w)
        if self.axes is None:
            spin = w[:, d] if self.orientation.ndim == 1 else w[:, d:]
            return Pose(bodies, q, turned(self.orientation, h * spin)), w
        orientation, spin = euler_rotation(self.orientation, self.axes, w[:, d:], bodies.inertia, h)
        return Pose(bodies, q, orientation), np.concatenate([w[:, :d], spin], axis=1)

    def on_bodies(self, G: LinearMap) -> LinearMap:
        """Rows on the velocities of the centres of all parts as rows on w."""
        assert self.orientation is not None
        (m, _), d, n, levers = G.shape, self.q.shape[-1], len(self.orientation), self.levers
        parts, width = np.arange(len(levers)), d + AXES[d]
        body = self.bodies.owners(parts)
        block = at_lever(levers, None if self.axes is None else self.axes[body])
        if G.shape[0] * G.shape[1] <= MAX_DENSE_ENTRIES:
            by_part = np.einsum("mbi,bij->mbj", G.toarray().reshape(m, len(parts), d), block)
            return Dense(np.add.reduceat(by_part, np.searchsorted(body, np.arange(n)), axis=1).reshape(m, n * width))
        from scipy.sparse import csr_array

        rows = np.broadcast_to((d * parts)[:, None, None] + np.arange(d)[:, None], block.shape)
        columns = np.broadcast_to((width * body)[:, None, None] + np.arange(width), block.shape)
        shape = d * len(parts), width * n
        return Sparse(csr_array(G.tocsr() @ csr_array((block.ravel(), (rows.ravel(), columns.ravel())), shape=shape)))


@dataclass(frozen=True, eq=False)
class RowsOfBodies(LinearMap):
    """Rows on the velocities of the centres of all parts, and rows on w after them, as one map on w."""

    pose: Pose
    on_parts: LinearMap
    on_w: LinearMap | None = None

    def __post_init__(self) -> None:
        d, more = self.pose.q.shape[-1], 0 if self.on_w is None else self.on_w.shape[0]
        object.__setattr__(self, "shape", (self.on_parts.shape[0] + more, self.pose.count * (d + AXES[d])))

    def __matmul__(self, u: Array) -> Array:
        count, d = self.pose.count, self.pose.q.shape[-1]
        rates = self.on_parts @ self.pose.velocities(u.reshape(count, d + AXES[d])).ravel()
        return rates if self.on_w is None else np.append(rates, self.on_w @ u)

    def adjoint(self, p: Array) -> Array:
        k = self.on_parts.shape[0]
        on_w = self.pose.impulse(self.on_parts.adjoint(p[:k])).ravel()
        return on_w if self.on_w is None else on_w + self.on_w.adjoint(p[k:])

    def tocsr(self) -> Any:
        return self.assembled().tocsr()

    def toarray(self) -> Array:
        return self.assembled().toarray()

    def rows(self, selection: Booleans | Integers) -> LinearMap:
        chosen, k = np.arange(self.shape[0])[selection], self.on_parts.shape[0]
        on_w = None if self.on_w is None else self.on_w.rows(chosen[chosen >= k] - k)
        return RowsOfBodies(self.pose, self.on_parts.rows(chosen[chosen < k]), on_w)

    def assembled(self) -> LinearMap:
        """The same map by its entries, as solvers take it."""
        if self.on_w is None:
            return self.pose.on_bodies(self.on_parts)
        return stacked(self.pose.on_bodies(self.on_parts), self.on_w) if self.on_parts.shape[0] else self.on_w
