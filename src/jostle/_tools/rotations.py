"""How bodies turn in the plane and in space: angles, or unit quaternions (w, x, y, z); spins in fixed axes.

In the plane a spin is one number, and a turn one angle. In space a spin is a vector, and a turn a unit quaternion. All
functions take those of n bodies: (n,) or (n, 3) spins, (n,) or (n, 4) turns.
"""

from __future__ import annotations

import numpy as np

from jostle._tools.arrays import Array, place_of

AXES = {2: 1, 3: 3}
"""The number of axes about which a body turns, by the dimension of space."""
MAX_ITERATIONS = 20
"""Newton iterations of a free rotation; three or four are usual."""
DIAGONAL = 1e-9
"""Largest product of inertia, as a fraction of the moments, for which the given axes count as principal ones."""
ROUND_OFF = 16 * float(np.finfo(float).eps)


def crossed(spin: Array, arm: Array) -> Array:
    """spin x arm, the velocity at the end of an arm (n, d) of a body that turns about its beginning.

    >>> crossed(np.array([2.0]), np.array([[1.0, 1.0]])).tolist()
    [[-2.0, 2.0]]
    """
    if arm.shape[1] == 3:
        return cross(spin, arm)
    out: Array = place_of(arm).empty(arm.shape)
    out[:, 0], out[:, 1] = -spin * arm[:, 1], spin * arm[:, 0]
    return out


def cross(a: Array, b: Array) -> Array:
    """(n, 3) the products a x b of vectors in space; `np.cross` takes five times as long for a few of them.

    >>> cross(np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 1.0, 0.0]])).tolist()
    [[0.0, 0.0, 1.0]]
    """
    (a0, a1, a2), (b0, b1, b2) = a.T, b.T
    out: Array = place_of(a).empty(b.shape)
    out[:, 0], out[:, 1], out[:, 2] = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    return out


def matrices(turn: Array) -> Array:
    """(n, d, d) the rotations of the turns.

    >>> matrices(np.array([np.pi / 2]))[0].round(12).tolist(), matrices(np.array([[1.0, 0, 0, 0]]))[0].tolist()
    ([[0.0, -1.0], [1.0, 0.0]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """
    d = 2 if turn.ndim == 1 else 3
    R: Array = place_of(turn).empty((len(turn), d, d))
    if d == 2:
        R[:, 0, 0] = R[:, 1, 1] = np.cos(turn)
        R[:, 1, 0] = np.sin(turn)
        R[:, 0, 1] = -R[:, 1, 0]
        return R
    w, x, y, z = turn.T
    R[:, 0, 0], R[:, 0, 1], R[:, 0, 2] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)
    R[:, 1, 0], R[:, 1, 1], R[:, 1, 2] = 2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)
    R[:, 2, 0], R[:, 2, 1], R[:, 2, 2] = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)
    return R


def principal(tensor: Array) -> tuple[Array, Array]:
    """The orientation (4,) of the principal axes of an inertia tensor (3, 3), and the moments (3,) about them.

    A tensor that is diagonal up to a fraction of 1e-9 keeps the axes in which it was given.

    >>> axes, moments = principal(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 3.5]]))
    >>> abs(axes).round(6).tolist(), moments.round(12).tolist()
    ([0.92388, 0.0, 0.0, 0.382683], [1.0, 3.0, 3.5])
    """
    if np.abs(tensor - np.diag(tensor.diagonal())).max() <= DIAGONAL * np.abs(tensor).max():
        return np.array([1.0, 0.0, 0.0, 0.0]), tensor.diagonal().copy()
    moments, E = np.linalg.eigh(tensor)
    if np.linalg.det(E) < 0.0:
        E[:, 0] *= -1.0
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(E).as_quat()
    return np.array([w, x, y, z]), moments


def product(one: Array, two: Array) -> Array:
    """The turns `two`, followed by the turns `one`."""
    if one.ndim == 1:
        return one + two
    (a, b, c, d), (w, x, y, z) = one.T, two.T
    return np.stack(
        [
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        ],
        axis=1,
    )


def turned(turn: Array, way: Array) -> Array:
    """The turns after small ones, `way` = h spin: their sum, or in space Cayley's map of the way.

    >>> turned(np.array([[1.0, 0.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 2.0]])).round(6).tolist()
    [[0.707107, 0.0, 0.0, 0.707107]]
    """
    if turn.ndim == 1:
        return turn + way
    small = np.concatenate([place_of(turn).ones((len(way), 1)), way / 2.0], axis=1)
    after: Array = product(small, turn)
    after /= np.sqrt((after * after).sum(axis=1))[:, None]
    return after


def euler_rotation(turn: Array, R: Array, spin: Array, inertia: Array, h: float) -> tuple[Array, Array]:
    """Turns and spins after a time h without torques, in space; spins and inertia, (n, 3), are about the axes R.

    Euler's equations by the implicit midpoint rule, and Cayley's map of the mean spin: energy and angular momentum stay
    as they are.
    """
    after, J = spin.copy(), inertia[:, :, None] * np.eye(3)
    for _ in range(MAX_ITERATIONS):
        mean = (spin + after) / 2.0
        L = inertia * mean
        rest = inertia * (after - spin) + h * cross(mean, L)
        slope = J + h / 2.0 * (_cross_matrices(mean) @ J - _cross_matrices(L))
        change = np.linalg.solve(slope, rest[:, :, None])[:, :, 0]
        after = after - change
        if (np.abs(change) <= ROUND_OFF * np.abs(after).max(initial=0.0)).all():
            break
    mean = (spin + after) / 2.0
    return turned(turn, h * np.einsum("nij,nj->ni", R, mean)), after


def _cross_matrices(vectors: Array) -> Array:
    """(n, 3, 3) matrices A with A b = a x b."""
    x, y, z = vectors.T
    A = np.zeros((len(vectors), 3, 3))
    A[:, 0, 1], A[:, 0, 2], A[:, 1, 0], A[:, 1, 2], A[:, 2, 0], A[:, 2, 1] = -z, y, z, -x, -y, x
    return A


def at_lever(lever: Array, axes: Array | None) -> Array:
    """(m, d, d + s) matrices that map w to v + spin x lever; `axes` (m, d, d) are those of the spins, None: fixed.

    >>> at_lever(np.array([[0.0, 2.0]]), None).tolist()
    [[[1.0, 0.0, -2.0], [0.0, 1.0, 0.0]]]
    """
    m, d = lever.shape
    block = np.zeros((m, d, d + AXES[d]))
    for k in range(d):
        block[:, k, k] = 1.0
    if d == 2:
        block[:, 0, 2], block[:, 1, 2] = -lever[:, 1], lever[:, 0]
        return block
    x, y, z = lever.T
    block[:, 0, 4], block[:, 0, 5] = z, -y
    block[:, 1, 3], block[:, 1, 5] = -z, x
    block[:, 2, 3], block[:, 2, 4] = y, -x
    if axes is not None:
        block[:, :, 3:] = block[:, :, 3:] @ axes
    return block
