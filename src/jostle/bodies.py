"""The bodies of a problem: how large and how heavy they are.

Radii and masses live here and nowhere else. Sets ask their `Bodies` for radii; the sets of an intersection share one
object. A problem adds the masses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import Array, InTime, at, contiguous, finite, frozen, moved_to
from jostle.convex.metric import Metric, metric
from jostle.errors import InvalidValue, NotFinite

Sizes = tuple[Array | None, float]
"""The radii of n bodies, None for points; and the smallest of them, 0 for points."""


def body_radii(radii: Array, n: int, t: float, allow_zero: bool = False) -> Array:
    """The radii of n bodies at time t, checked."""
    if radii.ndim > 1 or radii.size not in (1, n):
        raise InvalidValue(f"radii have shape {radii.shape}, there are {n} bodies")
    given = radii.ravel()
    spread = np.broadcast_to(given, (n,))
    if n == 0:
        return spread
    if not np.isfinite(given).all():
        raise NotFinite(f"radius of body {int(np.argmin(np.isfinite(given)))} is not finite at t = {t:g}")
    if given.min() < 0 or (given.min() == 0 and not allow_zero):
        body = int(np.argmin(given))
        raise InvalidValue(f"radius of body {body} is {given[body]:g} at t = {t:g}; it must be positive")
    return spread


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
    _kept: dict[tuple[int, type], Sizes] = field(default_factory=dict, init=False, repr=False)
    """Radii that do not depend on time, as arrays of each type."""

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
        """The radii at one time, as they were given: one for each body, or one for all; 0 if they are points.

        Parameters
        ----------
        t : float
            Time.

        Returns
        -------
        array, shape (n,) or ()
            The radii.
        """
        return at(0.0 if self.radii is None else self.radii, t)

    def sizes(self, t: float, x: Any) -> Sizes:
        """The radii of the bodies x at one time, checked, and the smallest of them.

        Parameters
        ----------
        t : float
            Time.
        x : array, shape (n, ...)
            One row for each body.

        Returns
        -------
        radii : array, shape (n,), or None
            The radii, an array of the same type as x; None if the bodies are points.
        smallest : float
            The smallest radius; 0 if the bodies are points, infinite if there are none.
        """
        these = len(x), type(x)
        known = self._kept.get(these)
        if known is not None:
            return known
        radii = self.radii_at(t)
        if radii.ndim or radii:
            each = contiguous(body_radii(radii, len(x), t, allow_zero=True))
            found: Sizes = moved_to(each, x), float(each.min(initial=np.inf))
        else:
            found = None, 0.0
        if not callable(self.radii):
            self._kept[these] = found
        return found

    def metric(self, q: Array) -> Metric:
        """The kinetic metric M(q).

        Parameters
        ----------
        q : array
            Configuration.

        Returns
        -------
        Metric
            The metric; a function `mass` is evaluated at q.
        """
        if isinstance(self.mass, Metric):
            return self.mass
        assert self.mass is not None
        M = self.mass(q)
        return metric(M if isinstance(M, Metric) else finite(M, "what the function mass(q) returned"), q.shape)

    def same_radii(self, other: Bodies) -> bool:
        """Whether others have the same radii: the same function of time, or the same numbers.

        Parameters
        ----------
        other : Bodies
            Other bodies.

        Returns
        -------
        bool
            True if the radii are the same.
        """
        if self is other or self.radii is other.radii:
            return True
        return not (self.swell or other.swell) and np.array_equal(self.radii_at(0.0), other.radii_at(0.0))


POINTS = Bodies()
"""Bodies of which no set says how large they are."""
