"""The two problems of the papers: what is to be solved, and nothing about how.

Motion     M(q) q'' - f(t, q, q') in -N_Q(q),  with an impact law       Bernicot & Lefebvre-Lepot 2010 (1.6),
                                                                      Paoli 2010 (P), Paoli 2005 (P)
Sweeping   q' - U(t, q) in -N_{Q(t)}(q)                                 Venel 2009 (5),
           normals in the metric of a mass                             Moreau 1977
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import Truths, accepts, check_arguments, described
from jostle.arrays import Array, alike, finite, numbers, place_of, to_device, to_host
from jostle.convex.metric import Metric, euclidean, metric
from jostle.errors import InvalidValue, NotFinite
from jostle.laws import ImpactLaw, Restitution
from jostle.past import Remembers, remembering
from jostle.pickling import check_parts
from jostle.sets.base import ConstraintSet, Free
from jostle.sets.presence import Presence

Field = Callable[..., Array]
P = TypeVar("P")
Admissible = ConstraintSet
"""Checked by `_within`, which says more."""


@check_arguments
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Motion:
    """Second order: M(q) q'' = f(t, q, q') + reaction, q in Q(t), with Moreau's law at impacts.

    `force` is an array or a function f(t, q) or f(t, q, u); `mass` a number, one per body, a symmetric matrix, or
    a function M(q) that returns one. All arrays have the shape of q0, or broadcast to it. `present` (n,) says who is
    there at the start, in runs where bodies come and go (see `Source` and `Outlet`). `potential`, a function V(q) with
    f = -dV/dq, is for energies (`sol.energy()`, `sol.energy_balance()`); the motion does not depend on it.

    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[0.0, 1.0], force=[0.0, -9.81], within=jo.HalfSpace([0, 1]))
    >>> ball.force(0.0, ball.q0, ball.v0).tolist()
    [0.0, -9.81]
    """

    q0: Array
    within: ConstraintSet
    v0: Array
    force: Field
    """f(t, q, u), whatever was given."""
    mass: Metric | Callable[[Array], ArrayLike]
    law: ImpactLaw
    constant_force: Array | None
    """The force, if it is the same at all times and places."""
    presence: Presence | None
    """Who is there at the start; None: everyone, always."""
    past: Remembers | None
    """The force that was given, if it depends on the past of the run."""
    potential: Callable[[Array], float] | None = None
    """V(q), if it was given."""
    _given: ClassVar[Any]
    """The force as it was given, for `pickle`."""
    _given_potential: ClassVar[Any]

    def __init__(
        self,
        *,
        q0: ArrayLike,
        within: Admissible | None = None,
        v0: ArrayLike = 0.0,
        force: ArrayLike | Callable[..., ArrayLike] = 0.0,
        mass: ArrayLike | Metric | Callable[[Array], ArrayLike] = 1.0,
        law: ImpactLaw | None = None,
        present: Truths | None = None,
        potential: Callable[[Array], float] | None = None,
    ):
        q = finite(q0, "q0")
        q.setflags(write=False)
        f, constant = _field(force, q, "force", arguments=3)
        M = mass if callable(mass) else metric(mass, q.shape)
        if not (law is None or isinstance(law, ImpactLaw)):
            raise InvalidValue(f"law must be an impact law such as jo.Restitution(0.8), not {law!r}")
        _set(self, q0=q, within=_within(within), v0=_like(q, v0, "v0"))
        _set(self, force=f, constant_force=constant, mass=M, past=remembering(force))
        _set(self, _given=force, _given_potential=potential)
        presence = None if present is None else Presence.of(q, present, _within(within).widest())
        if potential is not None:  # without one, checkpoints describe the problem as they did before there was one
            _set(self, potential=_energy(potential))
        start = q if presence is None else presence.placed(q)
        _set(self, presence=presence, law=Restitution() if law is None else law.bound_to(self.within, start))

    def __repr__(self) -> str:
        return f"Motion(q0 of shape {self.q0.shape}, within={self.within!r}, law={self.law!r})"

    def metric(self, q: Array) -> Metric:
        """The kinetic metric M(q)."""
        if isinstance(self.mass, Metric):
            return self.mass
        M = self.mass(q)
        return metric(M if isinstance(M, Metric) else finite(M, "what the function mass(q) returned"), q.shape)

    def of_those_present(self, presence: Presence) -> Motion:
        """The same motion for the bodies that are there: the others have no contacts and no force."""
        there, force, constant = copy(self), self.force, self.constant_force
        _set(there, within=presence.within(self.within), force=lambda *state: presence.still(force(*state)))
        _set(there, _given=None)
        _set(there, constant_force=None if constant is None else presence.still(constant))
        return there

    def on(self, place: Any) -> Motion:
        """The same motion for states whose arrays are those of the module `place`; functions get arrays of NumPy."""
        there, mass = copy(self), self.mass
        _set(there, force=_from_host(self.force, place), constant_force=to_device(self.constant_force, place))
        _set(there, mass=to_device(mass, place) if isinstance(mass, Metric) else mass, within=self.within.anew())
        _set(there, _given=None)
        return there

    def __copy__(self) -> Self:
        return _twin(self)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the functions that were given, not those that check their values."""
        parts = dict(vars(self))
        if self._given is not None:
            parts["force"] = parts.pop("_given")
        if self._given_potential is not None:
            parts["potential"] = parts.pop("_given_potential")
        return check_parts(self, parts)

    def __setstate__(self, parts: dict[str, Any]) -> None:
        _set(self, **parts)
        if "_given" not in parts:
            _set(self, _given=self.force, force=_field(self.force, self.q0, "force", arguments=3)[0])
        if "_given_potential" not in parts and self.potential is not None:
            _set(self, _given_potential=self.potential, potential=_energy(self.potential))

    def acceleration(self, t: float, q: Array, u: Array) -> Array:
        """M(q)^-1 f(t, q, u)."""
        return self.metric(q).solve(self.force(t, q, u).ravel()).reshape(q.shape)


@check_arguments
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Sweeping:
    """First order: q' = U(t, q) + reaction, q in Q(t). `velocity` is an array or a function U(t, q).

    `mass` is the matrix M of the metric in which normals are taken and projections made: M (q' - U) = G^T p. It is a
    number, one per body, one per coordinate, or a symmetric positive definite matrix; without it the metric is
    Euclidean. The matrix is called `mass`, as in `Motion`, `project` and `Q.nearest`, because it plays the same role in
    each projection: the heavier of two bodies that push each other gives way less, although nothing here has inertia.

    >>> import jostle as jo
    >>> drift = jo.Sweeping(q0=[-2.0, 0.1], velocity=[1.0, 0.0], within=jo.Outside([0.0, 0.0], 1.0))
    >>> drift.velocity(0.0, drift.q0).tolist()
    [1.0, 0.0]
    >>> pair = jo.Balls([0.5, 0.5])
    >>> push = jo.Sweeping(q0=[[0.0], [1.0]], velocity=[[1.0], [-1.0]], within=pair, mass=[1.0, 3.0])
    >>> jo.solve(push, jo.Venel(), t=0.1, h=0.1).u[-1].round(12).tolist()        # both (1 - 3) / (1 + 3)
    [[-0.5], [-0.5]]
    """

    q0: Array
    within: ConstraintSet
    velocity: Callable[[float, Array], Array]
    """U(t, q), whatever was given."""
    presence: Presence | None
    """Who is there at the start; None: everyone, always."""
    past: Remembers | None
    """The velocity that was given, if it depends on the past of the run."""
    mass: Metric | None = None
    """The metric of the projections, if one was given; None: the Euclidean one."""
    _given: ClassVar[Any]
    """The velocity as it was given, for `pickle`."""

    def __init__(
        self,
        *,
        q0: ArrayLike,
        within: Admissible | None = None,
        velocity: ArrayLike | Callable[..., ArrayLike] = 0.0,
        mass: ArrayLike | Metric | None = None,
        present: Truths | None = None,
    ):
        q = finite(q0, "q0")
        q.setflags(write=False)
        wished, _ = _field(velocity, q, "velocity", arguments=2)
        _set(self, q0=q, within=_within(within), velocity=wished, past=remembering(velocity))
        _set(self, presence=None if present is None else Presence.of(q, present, _within(within).widest()))
        _set(self, _given=velocity)
        if mass is not None:  # without one, checkpoints describe the process as they did before there was a mass
            _set(self, mass=metric(mass, q.shape))

    def metric(self, q: Array) -> Metric:
        """The metric of the projections, where q is."""
        return euclidean(q.shape, place_of(q)) if self.mass is None else self.mass

    def of_those_present(self, presence: Presence) -> Sweeping:
        """The same process for the bodies that are there: the others have no contacts and do not move."""
        there, velocity = copy(self), self.velocity
        _set(there, within=presence.within(self.within), velocity=lambda t, q: presence.still(velocity(t, q)))
        _set(there, _given=None)
        return there

    def on(self, place: Any) -> Sweeping:
        """The same process for states whose arrays are those of the module `place`; functions get arrays of NumPy."""
        there = copy(self)
        _set(there, velocity=_from_host(self.velocity, place), within=self.within.anew(), _given=None)
        if self.mass is not None:
            _set(there, mass=to_device(self.mass, place))
        return there

    def __copy__(self) -> Self:
        return _twin(self)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the velocity that was given, not the function that checks its values."""
        parts = dict(vars(self))
        if self._given is not None:
            parts["velocity"] = parts.pop("_given")
        return check_parts(self, parts)

    def __setstate__(self, parts: dict[str, Any]) -> None:
        _set(self, **parts)
        if "_given" not in parts:
            _set(self, _given=self.velocity, velocity=_field(self.velocity, self.q0, "velocity", arguments=2)[0])

    def __repr__(self) -> str:
        mass = "" if self.mass is None else f", mass of shape {self.mass.mass.shape}"
        return f"Sweeping(q0 of shape {self.q0.shape}, within={self.within!r}{mass})"


def _twin(problem: P) -> P:
    """Another problem with the same parts."""
    twin = object.__new__(type(problem))
    _set(twin, **vars(problem))
    return twin


def _set(problem: Any, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(problem, name, value)


def _from_host(field: Field, place: Any) -> Field:
    """A force or velocity that is computed from arrays of NumPy, and returned as an array of the module `place`."""
    return lambda t, *arrays: to_device(field(t, *map(to_host, arrays)), place)


def _within(within: ConstraintSet | None) -> ConstraintSet:
    if within is None:
        return Free()
    if not isinstance(within, ConstraintSet):
        raise InvalidValue(
            f"within must be an admissible set, not {within!r}: decorate a function with @jo.constraints, combine "
            f"sets with Q1 & Q2, and give an object, not its class"
        )
    return within


def _like(q0: Array, value: ArrayLike, name: str) -> Array:
    like = alike(value, name, q0, "q0")
    like.setflags(write=False)
    return like


def _field(
    value: ArrayLike | Callable[..., ArrayLike], q0: Array, name: str, arguments: int
) -> tuple[Callable[..., Array], Array | None]:
    """A force or velocity as a function of (t, q, ...), and its value if it is constant."""
    if callable(value):
        return _checked(value, q0.shape, name, arguments), None
    constant = _like(q0, value, name)
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
            try:
                array = np.array(np.broadcast_to(array, shape))
            except ValueError as error:
                raise InvalidValue(f"{name} returned shape {array.shape}, q has shape {shape}") from error
        if not np.isfinite(array).all():
            where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            raise NotFinite(f"{name} is {array[where]} at index {where}, t = {state[0]:g}, q = {state[1][where]}")
        return array

    return value


def _energy(potential: Callable[[Array], float]) -> Callable[[Array], float]:
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
    """How many positional arguments the function must be given; `unknown` if it takes any number or does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return unknown
    if any(parameter.kind == parameter.VAR_POSITIONAL for parameter in parameters):
        return unknown
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return len([p for p in parameters if p.kind in positional and p.default is inspect.Parameter.empty])
