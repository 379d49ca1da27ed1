"""Derivatives of the forces and velocities that a user gives: by functions of the user, or by central differences."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments, required_arguments
from jostle._tools.arrays import Array, finite, numbers
from jostle.differences import RELATIVE_STEP
from jostle.errors import InvalidValue

AT_REST = 1e-6
"""Velocities below this fraction of one length during the run are too small for the steps of differences."""
GOLDEN = (5.0**0.5 - 1.0) / 2.0
"""Multiples of this modulo 1 are all different."""
MAX_DIFFERENCED_COORDINATES = 400
"""A force that couples bodies is differenced one coordinate after the other up to this many coordinates."""


class WithDerivative:
    """A force or velocity with its derivative, made by `with_vjp`."""

    def __init__(self, function: Callable[..., ArrayLike], vjp: Callable[..., Any], jvp: Callable[..., Any] | None):
        self.function, self.vjp, self.jvp = function, vjp, jvp

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def __call__(self, *state: Any) -> ArrayLike:
        """The value of the function."""
        return self.function(*state)


@check_arguments
def with_vjp(
    function: Callable[..., ArrayLike], vjp: Callable[..., Any], *, jvp: Callable[..., Any] | None = None
) -> WithDerivative:
    """A force or velocity together with its derivative, for `sensitivity`.

    Parameters
    ----------
    function : callable (t, q) -> array or (t, q, u) -> array
        The force or velocity.
    vjp : callable
        Gradient of <y, f>: ``vjp(t, q, y)`` returns an array in the shape of q; if the function takes u,
        ``vjp(t, q, u, y)`` returns two arrays, the derivatives with respect to q and to u.
    jvp : callable, optional
        Directional derivative: ``jvp(t, q, dq)``, or ``jvp(t, q, u, dq, du)``, returns the change of f. None: central
        differences along the direction.

    Returns
    -------
    callable
        The function, for `Motion` or `Sweeping`.

    Examples
    --------
    >>> import jostle as jo
    >>> spring = jo.gradients.with_vjp(lambda t, q: -4.0 * q, lambda t, q, y: -4.0 * y)
    >>> ball = jo.Motion(q0=[1.0], force=spring, within=jo.HalfSpace([1.0]))
    >>> jo.sensitivity(ball, jo.Maury(), t=0.1, h=0.1).reverse(q=[1.0]).q0.round(12).tolist()
    [0.96]
    """
    return WithDerivative(function, vjp, jvp)


class Slopes:
    """Products with the derivatives of a force or velocity with respect to q and u."""

    def __init__(self, value: Callable[..., Array], given: Any, takes_velocity: bool, length: float):
        self.value, self.takes_velocity = value, takes_velocity
        """The function as the problem has it, and whether it takes u: (t, q, u) or (t, q)."""
        self.length = length
        """The length over which the function varies; 0: that of the positions."""
        self.constant = not callable(given)  # what the user gave: an array, a function, or a `WithDerivative`
        self.given = given if isinstance(given, WithDerivative) else None
        self.speed = 0.0
        """The velocity over which the function varies; 0: that of the velocities."""
        self._velocity_given = (
            takes_velocity and self.given is not None and required_arguments(self.given.function, 3) > 2
        )

    def varies_over(self, farthest: float, fastest: float, duration: float) -> None:
        """Choose the steps of differences by the largest coordinate and velocity of a run.

        Velocities of a run at rest are round-off; then the way of one length during the run takes their place.
        """
        self.length = self.length or farthest
        walk = (self.length or 1.0) / (duration or 1.0)
        self.speed = fastest if fastest > AT_REST * walk else walk

    @property
    def differenced(self) -> bool:
        """Whether the reverse derivative is by differences."""
        return not self.constant and self.given is None

    def forward(self, t: float, q: Array, u: Array, dq: Array, du: Array) -> Array:
        """The change of the value in a direction."""
        if self.constant:
            return np.zeros_like(q)
        if self.given is not None and self.given.jvp is not None:
            state = (t, q, u, dq, du) if self._velocity_given else (t, q, dq)
            return self._numbers(self.given.jvp(*state), q)
        step, speed = self._steps(q, u)
        way = max(_largest(dq) / step, _largest(du) / speed)
        if way == 0.0:
            return np.zeros_like(q)
        ahead, behind = (self._at(t, q + sign / way * dq, u + sign / way * du) for sign in (1.0, -1.0))
        return (ahead - behind) * (way / 2.0)

    def reverse(self, t: float, q: Array, u: Array, y: Array) -> tuple[Array, Array]:
        """The gradients of <y, f> with respect to q and u."""
        if self.constant:
            return np.zeros_like(q), np.zeros_like(q)
        if self.given is not None and self._velocity_given:
            of_q, of_u = self.given.vjp(t, q, u, y)
            return self._numbers(of_q, q), self._numbers(of_u, q)
        if self.given is not None:
            return self._numbers(self.given.vjp(t, q, y), q), np.zeros_like(q)
        local = self._is_local(t, q, u)
        if not local and q.size > MAX_DIFFERENCED_COORDINATES:
            raise InvalidValue(
                f"the force or velocity of a body depends on other bodies, and {q.size} coordinates are too many to "
                f"difference one by one; give its derivative, jo.gradients.with_vjp(function, vjp)"
            )
        found = np.zeros((2, *q.shape))
        for which in range(2 if self.takes_velocity else 1):
            step = self._steps(q, u)[which]
            for entries in _directions(q.shape, local):
                moved = np.zeros_like(q)
                moved[entries] = step
                way = (moved, 0.0) if which == 0 else (0.0, moved)
                ahead, behind = (self._at(t, q + sign * way[0], u + sign * way[1]) for sign in (1.0, -1.0))
                slope = y * (ahead - behind) / (2.0 * step)
                found[which][entries] = slope.sum(axis=1) if local else slope.sum()
        return found[0], found[1]

    def _at(self, t: float, q: Array, u: Array) -> Array:
        return self.value(t, q, u) if self.takes_velocity else self.value(t, q)

    def _numbers(self, value: Any, q: Array) -> Array:
        found = numbers(value, "the derivative of a force or velocity")
        if found.shape != q.shape:
            raise InvalidValue(
                f"the derivative of a force or velocity has shape {found.shape}; expected that of q, {q.shape}"
            )
        return found

    def _steps(self, q: Array, u: Array) -> tuple[float, float]:
        """The steps of differences in q and in u."""
        return RELATIVE_STEP * (self.length or _largest(q) or 1.0), RELATIVE_STEP * (self.speed or _largest(u) or 1.0)

    def _is_local(self, t: float, q: Array, u: Array) -> bool:
        """Whether the value of each body depends on its own q and u alone.

        Bodies are moved by the digits of their numbers: any two bodies differ in a digit, so each dependence shows. All
        coordinates are moved by different distances, so that a dependence on their differences shows as well.
        """
        if q.ndim != 2 or len(q) < 2:
            return False
        here, (step, speed) = self._at(t, q, u), self._steps(q, u)
        number, uneven = np.arange(len(q)), 1.0 + (GOLDEN * np.arange(1.0, q.size + 1.0) % 1.0).reshape(q.shape)
        for digit in range(int(len(q) - 1).bit_length()):
            for side in (0, 1):
                moves = ((number >> digit) & 1) == side
                there = self._at(t, q + step * moves[:, None] * uneven, u + speed * moves[:, None] * uneven[::-1])
                if not np.array_equal(there[~moves], here[~moves]):
                    return False
        return True


def _directions(shape: tuple[int, ...], local: bool) -> Iterator[Any]:
    """The entries that are moved together: a coordinate of all bodies, or one entry after the other."""
    if local:
        yield from ((slice(None), axis) for axis in range(shape[1]))
    else:
        yield from np.ndindex(shape)


def _largest(v: Array) -> float:
    return float(np.abs(v).max(initial=0.0))


def spread(given: ArrayLike | None, shape: tuple[int, ...], name: str) -> Array:
    """An array of this shape; zeros for None."""
    if given is None:
        return np.zeros(shape)
    array = finite(given, name)
    try:
        return np.array(np.broadcast_to(array, shape), order="C")
    except ValueError:
        raise InvalidValue(f"{name} has shape {array.shape}, expected {shape}") from None
