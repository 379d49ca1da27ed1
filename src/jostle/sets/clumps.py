"""Rigid clumps of balls: dumbbells, rods, worms, blocks by their corners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Integers, finite, floats, lowest
from jostle._tools.rotations import AXES, matrices, principal
from jostle.bodies import Parts
from jostle.contacts import Contacts, Cutoff
from jostle.errors import InvalidValue
from jostle.sets.balls import Balls
from jostle.sets.base import Free

CENTRED = 1e-9
"""Largest distance of the centre of mass from the origin of the arms, as a fraction of the size of a clump."""


@check_arguments
class Clumps(Balls):
    """Rigid clumps of balls, which do not overlap: dumbbells, rods, worms, blocks by their corners.

    A body of the problem is a clump, and q its centre of mass. Bodies touch by their balls alone: corners of radius 0
    touch walls and larger balls, but not each other. A clump may have overlapping balls.

    Parameters
    ----------
    shapes : sequence of (arms, radii)
        For each body, the centres of its balls, shape (k, d), seen from the centre of mass and as they lie where its
        turn is zero; and their radii, one number or one for each ball, 0 for points. ``[shape] * n`` makes n alike.

    Attributes
    ----------
    bodies : Bodies
        The balls, and which body each belongs to.

    Notes
    -----
    Without ``Motion(inertia=...)`` the inertia is that of the balls, taken as solid discs or spheres of one density
    (points: of one mass); the origin of the arms must then be their centre of mass.

    Examples
    --------
    >>> import jostle as jo
    >>> dumbbell = [[-1.0, 0.0], [1.0, 0.0]], 0.5
    >>> thrown = jo.Motion(q0=[[0.0, 3.0]], v0=[1.0, 0.0], spin0=2.0, within=jo.Clumps([dumbbell]))
    >>> sol = jo.solve(thrown, jo.Maury(), t=1.0, h=0.1)
    >>> sol.q[-1].round(9).tolist(), sol.orientation[-1].round(9).tolist(), sol.spin[-1].tolist()
    ([[1.0, 3.0]], [2.0], [2.0])
    """

    convex_gaps = False
    curved = True
    on_devices = False

    def __init__(self, shapes: Sequence[tuple[ArrayLike, ArrayLike]]):
        given = [_shape(k, shape) for k, shape in enumerate(shapes)]
        if not given or len({arms.shape[1] for arms, _ in given}) != 1:
            raise InvalidValue("shapes must be one (arms, radii) for each body, all in the plane or all in space")
        known: dict[int, tuple[Array, Array, Array]] = {}
        made = [known.setdefault(id(shapes[k]), _principal(*shape)) for k, shape in enumerate(given)]
        radii = np.concatenate([radii for _, radii in given])
        super().__init__(radii)
        owner = np.repeat(np.arange(len(given)), [len(arms) for arms, _ in given])
        extent = [float((np.linalg.norm(arms, axis=1) + radii).max()) for arms, radii in given]
        positive = radii[radii > 0.0]
        length = float(positive.min()) if len(positive) else min(extent)
        arms, axes, inertia = (np.concatenate([each[k] for each in made]) for k in range(3))
        made_of = Parts(owner, arms, axes, inertia, length)
        self.bodies = replace(self.bodies, parts=made_of, called="clump")
        self.off_centre = np.array([_off_centre(*shape) for shape in given])
        """(n,) how far the centre of mass of the balls is from the origin of the arms, over the size of the clump."""

    def linearise(self, t: float, q: Array, cutoff: Cutoff = np.inf) -> Contacts:
        # The pairs of balls of two bodies; none if all balls are points.
        return super().linearise(t, q, cutoff) if self.radii.any() else Free().linearise(t, q)

    def overlap(self, t: float, q: Array) -> float:
        _, radii, length = self._bodies(t, q)
        (_, _, gap), _ = self._near(q, radii, np.zeros(len(q)))
        return abs(lowest(gap, 0.0)) / length

    def _near(self, x: Array, radii: Array, cutoff: Any) -> tuple[tuple[Integers, Array, Array], Array]:
        """The pairs of balls of two bodies, of which one at least is not a point."""
        assert self.bodies.parts is not None
        (pairs, normal, gap), cutoff = super()._near(x, radii, cutoff)
        (i, j), owner = pairs, self.bodies.parts.owner
        two = (owner[i] != owner[j]) & (radii[i] + radii[j] > 0.0)
        return (pairs.compress(two, axis=1), normal[two], gap[two]), cutoff

    def gap(self, t: float, q: ArrayLike) -> float:
        gaps = self.linearise(t, floats(q, name="q")).gap
        return float(gaps.min(initial=np.inf))

    def _bodies(self, t: float, q: Array) -> tuple[Array, Array, float]:
        assert self.bodies.parts is not None
        radii: Array = self.radii
        if q.ndim != 2 or len(q) != len(radii):
            raise InvalidValue(f"there are {len(radii)} balls in clumps; their places have shape {q.shape}")
        return q, radii, self.bodies.parts.length


def _shape(k: int, shape: Any) -> tuple[Array, Array]:
    """The arms (k, d) and radii (k,) of a clump, checked."""
    try:
        arms, radii = finite(shape[0], f"the arms of clump {k}"), finite(shape[1], f"the radii of clump {k}")
    except (TypeError, IndexError, KeyError):
        raise InvalidValue(f"clump {k} must be (arms, radii), not {shape!r}") from None
    if arms.ndim != 2 or arms.shape[1] not in AXES or len(arms) == 0:
        raise InvalidValue(f"the arms of clump {k} have shape {arms.shape}: give (balls, 2) or (balls, 3)")
    if radii.ndim > 1 or radii.size not in (1, len(arms)) or (radii < 0.0).any():
        raise InvalidValue(
            f"the radii of clump {k} must be 0 or more: one for all or one for each of {len(arms)} balls"
        )
    return arms, np.broadcast_to(radii.ravel(), (len(arms),)).astype(float)


def _masses(arms: Array, radii: Array) -> Array:
    """(k,) the masses of the balls of a clump of mass 1: by their areas or volumes, or all the same for points."""
    sizes = radii ** arms.shape[1]
    return sizes / sizes.sum() if sizes.any() else np.full(len(arms), 1.0 / len(arms))


def _off_centre(arms: Array, radii: Array) -> float:
    size = float((np.linalg.norm(arms, axis=1) + radii).max())
    return float(np.linalg.norm(_masses(arms, radii) @ arms)) / size if size > 0.0 else 0.0


def _principal(arms: Array, radii: Array) -> tuple[Array, Array, Array]:
    """The arms along the principal axes, the turn of these axes, and the moments of inertia of a clump of mass 1."""
    m, d = _masses(arms, radii), arms.shape[1]
    own = float(m @ ((0.5 if d == 2 else 0.4) * radii * radii))
    if d == 2:
        return arms, np.zeros(1), np.array([[own + float(m @ (arms * arms).sum(axis=1))]])
    tensor = np.eye(3) * (own + float(m @ (arms * arms).sum(axis=1))) - np.einsum("k,ki,kj->ij", m, arms, arms)
    turn, moments = principal(tensor)
    return arms @ matrices(turn[None])[0], turn[None], moments[None]
