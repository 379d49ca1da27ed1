"""Forces, velocities and potentials that a user gives to a problem, with their values checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import accepts, check_arguments, described
from jostle.arrays import Array, alike, finite, numbers, read_only, to_device, to_host
from jostle.errors import InvalidValue, NotFinite

Field = Callable[..., Array]
"""A force or velocity as a function of (t, q, ...)."""
SYMMETRY = 1e-12
"""Largest |S - S^T| / |S| of a slope S that still counts as round-off."""
MAX_COORDINATES_SHOWN = 3
"""Up to this many coordinates an error writes a whole vector out."""


@check_arguments
@dataclass(frozen=True, eq=False)
class StiffForce:
    """A force with its slopes, K = -df/dq and C = -df/du, which `Maury` and `MoreauJean` take implicitly.

    With an explicit force, a step must be shorter than 2 / w, w the fastest frequency of the springs. With the slopes
    of the force, each step solves M + theta h C + theta^2 h^2 K instead of M, and is stable for all h. The slopes need
    not be exact: the schemes converge for all of them.

    Parameters
    ----------
    function : callable (t, q) -> array or (t, q, u) -> array
        The whole force on each coordinate.
    stiffness : float, array_like, or callable (t, q, u) -> array, default 0.0
        K: one number, one for each coordinate, or a symmetric matrix of shape (N, N) for the N coordinates of all
        bodies; or a function that returns one of these.
    damping : float, array_like, or callable (t, q, u) -> array, default 0.0
        C, in the same forms.

    Raises
    ------
    InvalidValue
        If a slope has another shape, or a matrix is not symmetric.

    Examples
    --------
    A spring that is too stiff for the step, and rests 0.5 above the floor: w h = 10.

    >>> import jostle as jo
    >>> k = 1e6
    >>> spring = jo.StiffForce(lambda t, q: -k * (q - 0.5), stiffness=k)
    >>> ball = jo.Motion(q0=[1.0], force=spring, within=jo.HalfSpace([1.0]))
    >>> jo.solve(ball, jo.Maury(), t=1.0, h=0.01).q[-1].round(9).tolist()
    [0.5]
    """

    function: Callable[..., ArrayLike]
    stiffness: ArrayLike | Callable[..., ArrayLike] = 0.0
    damping: ArrayLike | Callable[..., ArrayLike] = 0.0
    _metrics: dict[float, Any] = field(default_factory=dict, init=False, repr=False)
    """The effective metric of a scheme with a weight theta, and the mass and time step that it belongs to."""

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping"):
            given = getattr(self, name)
            if not callable(given):  # a copy: what is derived from it is kept
                object.__setattr__(self, name, read_only(np.array(finite(given, name))))

    def slopes(self, t: float, q: Array, u: Array) -> tuple[Array, Array]:
        """The slopes K and C at one state.

        Parameters
        ----------
        t : float
            Time.
        q : array
            Positions.
        u : array
            Velocities, in the shape of q.

        Returns
        -------
        K, C : array
            Diagonals of shape (N,), or matrices of shape (N, N).
        """
        K, C = (_slope(getattr(self, name), name, t, q, u) for name in ("stiffness", "damping"))
        return K, C

    def _known(self, theta: float, M: Any, h: float) -> Any:
        """The effective metric that `_keep` kept, if it was for this mass and time step; otherwise None."""
        mass, step, W = self._metrics.get(theta, (None, 0.0, None))
        return W if mass is M and step == h else None

    def _keep(self, theta: float, M: Any, h: float, W: Any) -> None:
        """Keep an effective metric for the next step, if the slopes are constant."""
        if not callable(self.stiffness) and not callable(self.damping):
            self._metrics[theta] = M, h, W


def _slope(given: Any, name: str, t: float, q: Array, u: Array) -> Array:
    """A slope of the force as a diagonal (N,) or a symmetric matrix (N, N)."""
    what = f"what {name} returned at t = {t:g}" if callable(given) else name
    S = finite(given(t, q, u) if callable(given) else given, what)
    if S.shape in ((), q.shape):
        return np.array(np.broadcast_to(S, q.shape)).ravel()
    if S.shape != (q.size, q.size):
        raise InvalidValue(
            f"{what} has shape {S.shape}; for q of shape {q.shape} give a number, {q.shape} (one per coordinate) or "
            f"({q.size}, {q.size}) (a symmetric matrix)"
        )
    skew = np.abs(S - S.T).max()
    if skew > SYMMETRY * np.abs(S).max():
        raise InvalidValue(
            f"{what} is not symmetric, |S - S^T| = {skew:.3g}: give its symmetric part, (S + S.T) / 2, which keeps the "
            f"order of the scheme"
        )
    return S


def from_host(field: Field, place: Any) -> Field:
    """A force or velocity that is computed from arrays of NumPy, and returned as an array of the module `place`."""
    return lambda t, *arrays: to_device(field(t, *map(to_host, arrays)), place)


def check_coordinates(given: Array, name: str, shape: tuple[int, ...]) -> None:
    """Refuse one entry where there are several coordinates: NumPy would repeat it, and a weight act sideways, too.

    The number zero is always accepted.

    >>> check_coordinates(np.array(-1), "v0", (2,))
    Traceback (most recent call last):
    ...
    jostle.errors.InvalidValue: v0 is one number for 2 coordinates: give one entry for each, [0, -1] along the last \
one, or np.full(2, -1) along each
    """
    coordinates = shape[-1] if shape else 1
    if coordinates == 1 or (given.ndim and given.shape[-1] != 1) or (given.ndim == 0 and given == 0.0):
        return
    what = "is one number" if given.ndim == 0 else f"has shape {given.shape}, one entry"
    one, others = f"{given.flat[0]:g}" if given.size else "1", "0, " * (coordinates - 1)
    along_last = f"[{others}{one}] along the last one, or " if coordinates <= MAX_COORDINATES_SHOWN else ""
    raise InvalidValue(
        f"{name} {what} for {coordinates} coordinates: give one entry for each, {along_last}np.full({coordinates}, "
        f"{one}) along each"
    )


def like_start(q0: Array, value: ArrayLike, name: str) -> Array:
    """A read-only array in the shape of q0: values are repeated over bodies, but not over coordinates."""
    given = finite(value, name)
    check_coordinates(given, name, q0.shape)
    like = alike(given, name, q0, "q0")
    like.setflags(write=False)
    return like


def field_of(
    value: ArrayLike | Callable[..., ArrayLike] | StiffForce, q0: Array, name: str, arguments: int
) -> tuple[Callable[..., Array], Array | None]:
    """A force or velocity as a function of (t, q, ...), and its value if it is constant."""
    if isinstance(value, StiffForce):
        value = value.function
    if callable(value):
        return _checked(value, q0.shape, name, arguments), None
    constant = like_start(q0, value, name)
    return lambda *state: constant, constant


def _checked(function: Callable[..., ArrayLike], shape: tuple[int, ...], name: str, arguments: int) -> Field:
    """The user's function, called with as many of (t, q, u) as it takes, its value checked and copied."""
    takes = min(arguments, _required(function, arguments))
    if takes < 2 or not accepts(function, takes):
        letters = "(t, q)" if arguments == 2 else "(t, q) or (t, q, u)"
        raise InvalidValue(f"{name} must be a function of {letters}, not {described(function)}")

    def value(*state: Any) -> Array:
        array = numbers(function(*state[:takes]), f"what {name} returned at t = {state[0]:g}")
        if array.shape != shape:
            check_coordinates(array, f"what {name} returned at t = {state[0]:g}", shape)
            try:
                array = np.array(np.broadcast_to(array, shape))
            except ValueError as error:
                raise InvalidValue(f"{name} returned shape {array.shape}, q has shape {shape}") from error
        if not np.isfinite(array).all():
            where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            raise NotFinite(f"{name} is {array[where]} at index {where}, t = {state[0]:g}, q = {state[1][where]}")
        return array

    value.__wrapped__ = function  # type: ignore[attr-defined]
    return value


def checked_potential(potential: Callable[[Array], float]) -> Callable[[Array], float]:
    """The user's potential, its value checked."""
    if not accepts(potential, 1):
        raise InvalidValue(f"potential must be a function of q, not {described(potential)}")

    def value(q: Array) -> float:
        found = finite(potential(q), "what potential(q) returned")
        if found.size != 1:
            raise InvalidValue(f"potential(q) must return one number for all bodies together, not shape {found.shape}")
        return float(found.item())

    return value


def _required(function: Callable[..., Any], unknown: int) -> int:
    """Number of required positional arguments; `unknown` if the function takes any number or does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return unknown
    if any(parameter.kind == parameter.VAR_POSITIONAL for parameter in parameters):
        return unknown
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return len([p for p in parameters if p.kind in positional and p.default is inspect.Parameter.empty])
