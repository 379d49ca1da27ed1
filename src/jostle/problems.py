"""The two problems of the papers; how they are solved is the business of schemes and solvers.

Motion     M(q) q'' - f(t, q, q') in -N_Q(q),  with an impact law       Bernicot & Lefebvre-Lepot 2010 (1.6),
                                                                      Paoli 2010 (P), Paoli 2005 (P)
Sweeping   q' - U(t, q) in -N_{Q(t)}(q)                                 Venel 2009 (5),
           normals in the metric of a mass                             Moreau 1977
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

from numpy.typing import ArrayLike

from jostle.arguments import Truths, check_arguments
from jostle.arrays import Array, finite, to_device
from jostle.convex.metric import Metric, metric
from jostle.errors import InvalidValue
from jostle.given_functions import Field, StiffForce, checked_potential, field_of, from_host, like_start
from jostle.laws import ImpactLaw, Restitution, check_law
from jostle.past import Remembers, remembering
from jostle.pickling import check_parts
from jostle.sets.base import ConstraintSet, Free
from jostle.sets.presence import Presence

P = TypeVar("P")
Admissible = ConstraintSet
"""Type of `within`, which `_within` checks with a better message."""


@check_arguments
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Motion:
    """A second-order problem: M(q) q'' = f(t, q, q') + reaction, q in Q(t), with Moreau's law at impacts.

    All arrays have the shape of q0, or broadcast to it. Values are repeated over bodies and never over coordinates: one
    number for several coordinates is refused, unless it is 0.

    Parameters
    ----------
    q0 : array_like
        Positions at the start: shape (d,) for one body, (n, d) for n bodies, or any other shape for general
        coordinates.
    within : ConstraintSet, optional
        The admissible set Q(t). None: no constraints.
    v0 : array_like, default 0.0
        Velocities at the start.
    force : array_like, callable (t, q) -> array or (t, q, u) -> array, or StiffForce, default 0.0
        Force on each coordinate. One force for all bodies, of shape (d,), is repeated. A `StiffForce` has slopes, with
        which `Maury` and `MoreauJean` are stable for all h.
    mass : float, array_like, or callable (q) -> array, default 1.0
        One number, one for each body, one for each coordinate, or a symmetric positive definite matrix; or a function
        of q that returns a mass in any of these forms.
    law : ImpactLaw, optional
        Impact law, such as ``jo.Restitution(0.8)``. None: ``Restitution(0.0)``, inelastic impacts.
    present : array_like of bool, shape (n,), optional
        Who is present at the start, in runs where bodies come and go (see `Source` and `Outlet`). None: everyone.
    potential : callable (q) -> float, optional
        Potential V(q) of all bodies together, with f = -dV/dq, for `Solution.energy` and `Solution.energy_balance`; the
        motion does not depend on it.

    Attributes
    ----------
    force : callable (t, q, u) -> array
        The force as a function, whatever was given.
    constant_force : array or None
        The force, if it is the same at all times and places.
    stiff : StiffForce or None
        The force that was given, if it has slopes.
    presence : Presence or None
        Who is present at the start; None: everyone, always.
    past : Remembers or None
        The force that was given, if it depends on the past of the run.

    Raises
    ------
    InvalidValue
        If a shape does not fit that of q0, `within` is not an admissible set, or a function takes the wrong number of
        arguments.
    NotFinite
        During a run, if the force is NaN or infinite.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[0.0, 1.0], force=[0.0, -9.81], within=jo.HalfSpace([0, 1]))
    >>> ball.force(0.0, ball.q0, ball.v0).tolist()
    [0.0, -9.81]
    """

    q0: Array
    within: ConstraintSet
    v0: Array
    force: Field
    mass: Metric | Callable[[Array], ArrayLike]
    law: ImpactLaw
    constant_force: Array | None
    stiff: StiffForce | None
    presence: Presence | None
    past: Remembers | None
    potential: Callable[[Array], float] | None = None
    _given: ClassVar[Any]
    _given_potential: ClassVar[Any]

    def __init__(
        self,
        *,
        q0: ArrayLike,
        within: Admissible | None = None,
        v0: ArrayLike = 0.0,
        force: ArrayLike | Callable[..., ArrayLike] | StiffForce = 0.0,
        mass: ArrayLike | Metric | Callable[[Array], ArrayLike] = 1.0,
        law: ImpactLaw | None = None,
        present: Truths | None = None,
        potential: Callable[[Array], float] | None = None,
    ):
        q = finite(q0, "q0")
        q.setflags(write=False)
        f, constant = field_of(force, q, "force", arguments=3)
        M = mass if callable(mass) else metric(mass, q.shape)
        if law is not None:
            check_law(law)
        _set(self, q0=q, within=_within(within), v0=like_start(q, v0, "v0"))
        stiff = force if isinstance(force, StiffForce) else None
        _set(self, force=f, constant_force=constant, stiff=stiff, mass=M)
        _set(self, past=remembering(force if stiff is None else stiff.function))
        _set(self, _given=force if callable(force) or stiff else deepcopy(force), _given_potential=potential)
        presence = None if present is None else Presence.of(q, present, _within(within).widest())
        _set(self, potential=None if potential is None else checked_potential(potential))
        start = q if presence is None else presence.placed(q)
        _set(self, presence=presence, law=Restitution() if law is None else law.bound_to(self.within, start))

    def __repr__(self) -> str:
        return f"Motion(q0 of shape {self.q0.shape}, within={self.within!r}, law={self.law!r})"

    def metric(self, q: Array) -> Metric:
        """The kinetic metric M(q).

        Parameters
        ----------
        q : array
            Positions, in the shape of q0.

        Returns
        -------
        Metric
            The metric; a function `mass` is evaluated at q.
        """
        if isinstance(self.mass, Metric):
            return self.mass
        M = self.mass(q)
        return metric(M if isinstance(M, Metric) else finite(M, "what the function mass(q) returned"), q.shape)

    def of_those_present(self, presence: Presence) -> Motion:
        """The same motion for the bodies that are present: the others have no contacts and no force.

        Parameters
        ----------
        presence : Presence
            Who is present.

        Returns
        -------
        Motion
            The motion that a step solves.
        """
        there, force, constant = copy(self), self.force, self.constant_force
        _set(there, within=presence.within(self.within), force=lambda *state: presence.still(force(*state)))
        _set(there, _given=None)
        _set(there, constant_force=None if constant is None else presence.still(constant))
        return there

    def on(self, place: Any) -> Motion:
        """The same motion for arrays of another module; the functions of the problem still get arrays of NumPy.

        Parameters
        ----------
        place : module
            The module of the arrays, such as cupy.

        Returns
        -------
        Motion
            The motion for states with such arrays.
        """
        there, mass = copy(self), self.mass
        _set(there, force=from_host(self.force, place), constant_force=to_device(self.constant_force, place))
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
            _set(self, _given=self.force, force=field_of(self.force, self.q0, "force", arguments=3)[0])
        if "_given_potential" not in parts and self.potential is not None:
            _set(self, _given_potential=self.potential, potential=checked_potential(self.potential))

    def acceleration(self, t: float, q: Array, u: Array) -> Array:
        """Acceleration without contacts, M(q)^-1 f(t, q, u).

        Parameters
        ----------
        t : float
            Time.
        q : array
            Positions, in the shape of q0.
        u : array
            Velocities, in the shape of q0.

        Returns
        -------
        array
            The acceleration, in the shape of q0.
        """
        return self.metric(q).solve(self.force(t, q, u).ravel()).reshape(q.shape)


@check_arguments
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Sweeping:
    """A first-order problem (sweeping process): q' = U(t, q) + reaction, q in Q(t).

    The matrix M of the metric is called `mass`, as in `Motion` and `project`: the heavier of two bodies that
    push each other gives way less, although nothing here has inertia.

    Parameters
    ----------
    q0 : array_like
        Positions at the start: shape (d,) for one body, (n, d) for n bodies, or any other shape for general
        coordinates.
    within : ConstraintSet, optional
        The admissible set Q(t). None: no constraints.
    velocity : array_like or callable (t, q) -> array, default 0.0
        Desired velocity U of each coordinate.
    mass : float or array_like, optional
        Matrix M of the metric in which normals are taken and projections made, M (q' - U) = G^T p: one number, one for
        each body, one for each coordinate, or a symmetric positive definite matrix. None: the Euclidean metric.
    present : array_like of bool, shape (n,), optional
        Who is present at the start, in runs where bodies come and go (see `Source` and `Outlet`). None: everyone.

    Attributes
    ----------
    velocity : callable (t, q) -> array
        The desired velocity as a function, even if a constant was given.
    mass : Metric or None
        The metric of the projections; None: the Euclidean one.
    presence : Presence or None
        Who is present at the start; None: everyone, always.
    past : Remembers or None
        The velocity that was given, if it depends on the past of the run.

    Raises
    ------
    InvalidValue
        If a shape does not fit that of q0, `within` is not an admissible set, or a function takes the wrong number of
        arguments.
    NotFinite
        During a run, if the velocity is NaN or infinite.

    Examples
    --------
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
    presence: Presence | None
    past: Remembers | None
    mass: Metric | None = None
    _given: ClassVar[Any]
    _metric: ClassVar[Metric]

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
        wished, _ = field_of(velocity, q, "velocity", arguments=2)
        _set(self, q0=q, within=_within(within), velocity=wished, past=remembering(velocity))
        _set(self, presence=None if present is None else Presence.of(q, present, _within(within).widest()))
        _set(self, _given=velocity if callable(velocity) else deepcopy(velocity))
        M = metric(1.0 if mass is None else mass, q.shape)
        _set(self, mass=None if mass is None else M, _metric=M)

    def metric(self, q: Array) -> Metric:
        """The metric of the projections.

        Parameters
        ----------
        q : array
            Positions, in the shape of q0; the metric does not depend on them.

        Returns
        -------
        Metric
            The metric of `mass`, or the Euclidean one.
        """
        return self._metric

    def of_those_present(self, presence: Presence) -> Sweeping:
        """The same process for the bodies that are present: the others have no contacts and do not move.

        Parameters
        ----------
        presence : Presence
            Who is present.

        Returns
        -------
        Sweeping
            The process that a step solves.
        """
        there, velocity = copy(self), self.velocity
        _set(there, within=presence.within(self.within), velocity=lambda t, q: presence.still(velocity(t, q)))
        _set(there, _given=None)
        return there

    def on(self, place: Any) -> Sweeping:
        """The same process for arrays of another module; the functions of the problem still get arrays of NumPy.

        Parameters
        ----------
        place : module
            The module of the arrays, such as cupy.

        Returns
        -------
        Sweeping
            The process for states with such arrays.
        """
        there = copy(self)
        _set(there, velocity=from_host(self.velocity, place), within=self.within.anew(), _given=None)
        _set(there, _metric=to_device(self._metric, place))
        if self.mass is not None:
            _set(there, mass=there._metric)
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
            _set(self, _given=self.velocity, velocity=field_of(self.velocity, self.q0, "velocity", arguments=2)[0])

    def __repr__(self) -> str:
        mass = "" if self.mass is None else f", mass of shape {self.mass.mass.shape}"
        return f"Sweeping(q0 of shape {self.q0.shape}, within={self.within!r}{mass})"


def _twin(problem: P) -> P:
    """A copy with the same parts."""
    twin = object.__new__(type(problem))
    _set(twin, **vars(problem))
    return twin


def _set(problem: Any, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(problem, name, value)


def _within(within: ConstraintSet | None) -> ConstraintSet:
    if within is None:
        return Free()
    if not isinstance(within, ConstraintSet):
        raise InvalidValue(
            f"within must be an admissible set, not {within!r}: decorate a function with @jo.constraints, combine "
            f"sets with Q1 & Q2, and give an object, not its class"
        )
    return within
