"""The two problems of the papers; how they are solved is the business of schemes and solvers.

Motion     M(q) q'' - f(t, q, q') in -N_Q(q),  with an impact law       Bernicot & Lefebvre-Lepot 2010 (1.6),
                                                                      Paoli 2010 (P), Paoli 2005 (P)
Sweeping   q' - U(t, q) in -N_{Q(t)}(q)                                 Venel 2009 (5),
           normals in the metric of a mass                             Moreau 1977
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Truths, accepts, check_arguments, described, required_arguments
from jostle._tools.arrays import Array, alike, finite, lowest, numbers, read_only, to_device, to_host
from jostle._tools.of_run import Remembers as Remembers
from jostle._tools.of_run import remembering
from jostle._tools.pickling import check_parts
from jostle._tools.rotations import AXES
from jostle.bodies import Bodies, solid
from jostle.convex.metric import Metric, of_masses
from jostle.errors import InvalidValue, NotFinite, SchemeRefuses
from jostle.laws import Coulomb, ImpactLaw, Restitution, check_law
from jostle.pose import Pose
from jostle.sets.base import ConstraintSet, Free, anew, of_present, parts
from jostle.sets.clumps import CENTRED, Clumps
from jostle.sets.presence import Presence
from jostle.sets.rigid_shapes import of_dimension

# Forces, velocities and potentials that a user gives to a problem, with their values checked.


Field = Callable[..., Array]
"""A force or velocity as a function of (t, q, ...)."""
SYMMETRY = 1e-12
"""Largest |S - S^T| / |S| of a slope S that still counts as round-off."""
TURNS = "give law=jo.Coulomb(mu), or make them of jo.Clumps or jo.Shapes"
"""How bodies are made that turn."""
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
        return np.array(np.broadcast_to(S, q.shape), order="C").ravel()
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
    return read_only(alike(given, name, q0, "q0"))


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
    takes = min(arguments, required_arguments(function, arguments))
    if takes < 2 or not accepts(function, takes):
        letters = "(t, q)" if arguments == 2 else "(t, q) or (t, q, u)"
        raise InvalidValue(f"{name} must be a function of {letters}, not {described(function)}")

    def value(*state: Any) -> Array:
        given = function(*state[:takes])
        if type(given) is np.ndarray and given.dtype == float:
            array = np.array(given, order="C")  # as `numbers` does, without the words of an error
        else:
            array = numbers(given, f"what {name} returned at t = {state[0]:g}")
        if array.shape != shape:
            check_coordinates(array, f"what {name} returned at t = {state[0]:g}", shape)
            try:
                array = np.array(np.broadcast_to(array, shape), order="C")
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


Admissible = ConstraintSet
"""Type of `within`, which `_within` checks with a better message."""


Change = Callable[[Any], Any]
"""A function of the state after a step that returns the state to continue from, for `Problem.changes`."""
Ending = Callable[[Any], bool | str]
"""A function of the state after a step that ends a run: True for the status "stopped", or the word "blocked"."""


class Problem:
    """What both problems have: a start, an admissible set, bodies that may be present or not, and what a run needs.

    A class of your own that inherits from `Motion` or `Sweeping` defines `changes`, `ending`, `longest_step` and
    `facts` where its runs need them.

    Examples
    --------
    >>> import jostle as jo
    >>> class Drain(jo.Motion):
    ...     def changes(self):
    ...         return [jo.Outlet(lambda q: q[:, 1] < 0.0)]
    >>> rain = Drain(q0=[[0.0, 1.0], [3.0, 2.0]], force=[0.0, -1.0], within=jo.Balls([0.5, 0.5]))
    >>> np.isfinite(jo.solve(rain, jo.Maury(), t=1.7, h=0.1).q[-1]).all(axis=1).tolist()
    [False, True]
    """

    q0: Array
    within: ConstraintSet
    bodies: Bodies
    presence: Presence | None
    past: Remembers | None
    orientation0: Array | None = None
    spin0: Array | None = None

    @cached_property
    def pose0(self) -> Pose:
        """Where the bodies are at the start, and how they are turned."""
        return Pose.of(self.bodies, self.q0, self.orientation0)

    @cached_property
    def w0(self) -> Array:
        """The velocities of all that moves at the start, see `jostle.pose`."""
        return read_only(self.pose0.joined(getattr(self, "v0", np.zeros_like(self.q0)), self.spin0))

    @cached_property
    def smallest_length(self) -> float:
        """The smallest length of bodies whose radii do not depend on time, and walls; infinite if there is none."""
        return smallest_length(self.bodies, self.within, 0.0)

    def changes(self) -> Sequence[Change]:
        """What acts on the state after each step of a run, such as sources and outlets, gates and stairs.

        Returns
        -------
        sequence of callable (state) -> State
            The functions, in the order in which they act; none by default.
        """
        return ()

    def ending(self) -> Ending | None:
        """When a run is over before its time t.

        Returns
        -------
        callable (state) -> bool or str, or None
            A condition as for ``solve(..., until=...)``, made anew for each run; None, the default: at t.
        """
        return None

    def longest_step(self) -> float | None:
        """The longest time step with which results are known to be reliable; `solve` warns of longer ones.

        Returns
        -------
        float or None
            The time step; None, the default: there is no limit.
        """
        return None

    def facts(self) -> Mapping[str, Any]:
        """What a trajectory keeps of the problem beside its states, in ``sol.facts.carried`` and in files.

        Returns
        -------
        mapping of str to None, bool, number, str, array, list or dict
            The facts by name, none by default; arrays are read back as lists. The fact "groups", the numbers of the
            bodies in each group by its name, gives the bodies their groups.
        """
        return {}

    def metric(self, q: Array) -> Metric:
        """The metric M(q) of the projections; a function `mass` is evaluated at q."""
        return self.bodies.metric(q)

    def of_those_present(self, presence: Presence) -> Self:
        """The same problem for the bodies that are present: the others have no contacts and no force or velocity.

        Parameters
        ----------
        presence : Presence
            Who is present.

        Returns
        -------
        Motion or Sweeping
            The problem that a step solves.
        """
        raise NotImplementedError

    def on(self, place: Any) -> Self:
        """The same problem for arrays of another module; the functions of the problem still get arrays of NumPy.

        Parameters
        ----------
        place : module
            The module of the arrays, such as cupy.

        Returns
        -------
        Motion or Sweeping
            The problem for states with such arrays.
        """
        raise NotImplementedError

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        _set(twin, **_attributes(self))
        return twin


CARRIED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "changes": ("a list of functions of the state", lambda found: isinstance(found, list | tuple)),
    "ending": ("a function of the state, or None", lambda found: found is None or _is_function(found)),
    "longest_step": ("a positive number, or None", lambda found: found is None or _is_positive(found)),
    "facts": ("a dict of facts by name", lambda found: isinstance(found, Mapping)),
}
"""The methods of a problem that its runs ask: what each must return."""


def _is_function(found: Any) -> bool:
    return callable(found) and not isinstance(found, type) and accepts(found, 1)


def _is_positive(found: Any) -> bool:
    return isinstance(found, Real) and float(found) > 0.0


def carried(problem: Problem, name: str) -> Any:
    """What a method of a problem says about its runs; an attribute of its name that is no method is refused.

    >>> import jostle as jo
    >>> class Sale(jo.Sweeping):
    ...     changes = 3
    >>> carried(Sale(q0=[0.0]), "changes")
    Traceback (most recent call last):
    ...
    jostle.errors.InvalidValue: Sale.changes is 3, and solve needs the method changes() of a problem there: rename it
    """
    kind, method, (wanted, fits) = type(problem).__name__, getattr(problem, name), CARRIED[name]
    if not callable(method) or not accepts(method, 0):
        raise InvalidValue(
            f"{kind}.{name} is {described(method)}, and solve needs the method {name}() of a problem there: rename it"
        )
    found = method()
    if not fits(found):
        raise InvalidValue(f"{kind}.{name}() must return {wanted}, not {described(found)}")
    return found


def refuse_changes(problem: Problem, where: str, *, ending: bool = True) -> None:
    """Refuse a problem whose runs have changes, or an ending of their own, where these are not computed.

    >>> import jostle as jo
    >>> class Drain(jo.Motion):
    ...     def changes(self):
    ...         return [jo.Outlet(lambda q: q[:, 1] < 0.0)]
    >>> jo.solve_by_events(Drain(q0=[[0.0, 1.0]]), t=1.0)
    Traceback (most recent call last):
    ...
    jostle.errors.SchemeRefuses: solve_by_events does not compute the changes of Drain during a run (Outlet): use \
jo.solve, or a problem without changes, jo.Motion(q0=..., within=..., ...)
    """
    own = carried(problem, "ending") if ending else None
    for what, found in ("changes", carried(problem, "changes")), ("ending", () if own is None else (own,)):
        names = dict.fromkeys(getattr(one, "__name__", type(one).__name__) for one in found)
        if names:
            kind = "Motion" if isinstance(problem, Motion) else "Sweeping"
            raise SchemeRefuses(
                f"{where} does not compute the {what} of {type(problem).__name__} during a run ({', '.join(names)}): "
                f"use jo.solve, or a problem without {what}, jo.{kind}(q0=..., within=..., ...)"
            )


@check_arguments
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Motion(Problem):
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
        Impact law, such as ``jo.Restitution(0.8)``, or ``jo.Coulomb(mu=0.5)``, with which bodies have spin. None:
        ``Restitution(0.0)``, inelastic impacts.
    present : array_like of bool, shape (n,), optional
        Who is present at the start, in runs where bodies come and go (see `Source` and `Outlet`). None: everyone.
    potential : callable (q) -> float, optional
        Potential V(q) of all bodies together, with f = -dV/dq, for `Solution.energy` and `Solution.energy_balance`; the
        motion does not depend on it.
    spin0 : array_like, default 0.0
        Angular velocities at the start, of bodies with friction, `Clumps` and `Shapes`: one number for each body in
        the plane, one vector in space.
    orientation0 : array_like, optional
        How the bodies are turned at the start: angles in the plane, quaternions (w, x, y, z) in space. None: not
        turned.
    inertia : array_like, optional
        Moments of inertia of bodies with friction, `Clumps` and `Shapes`: one number for all or one for each; in space
        also three for each, about the axes in which its clump or shape is given. These must be the principal axes of
        the body, so that there are no products of inertia. None: that of solid discs or spheres, of the balls of
        clumps, and of shapes.
    torque : array_like or callable (t, orientation, spin) -> array, optional
        Torque on each body, about fixed axes, of bodies with friction, `Clumps` and `Shapes`: one number for each body
        in the plane, one vector in space. A function gets the arrays of a `Solution` at one time, and is called at the
        middle of each step. None: no torques.

    Attributes
    ----------
    bodies : Bodies
        How large the bodies are, according to `within`, and their mass.
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
    orientation0, spin0 : array or None
        How the bodies are turned, and their angular velocities, at the start; None if they do not turn.

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
    bodies: Bodies
    law: ImpactLaw
    constant_force: Array | None
    stiff: StiffForce | None
    presence: Presence | None
    past: Remembers | None
    orientation0: Array | None
    spin0: Array | None
    torque: Field | None
    potential: Callable[[Array], float] | None = None
    _given: ClassVar[Any]
    _given_potential: ClassVar[Any]
    _given_torque: ClassVar[Any]

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
        spin0: ArrayLike = 0.0,
        orientation0: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
        torque: ArrayLike | Callable[..., ArrayLike] | None = None,
    ):
        q = read_only(finite(q0, "q0"))
        f, constant = field_of(force, q, "force", arguments=3)
        M = mass if callable(mass) else of_masses(mass, q.shape)
        if law is not None:
            check_law(law)
        _set(self, q0=q, within=of_dimension(_within(within), q.shape[-1:]), v0=like_start(q, v0, "v0"))
        stiff = force if isinstance(force, StiffForce) else None
        _set(self, force=f, constant_force=constant, stiff=stiff, bodies=replace(self.within.bodies, mass=M))
        _set(self, past=remembering(force if stiff is None else stiff.function))
        _set(self, _given=force if callable(force) or stiff else deepcopy(force), _given_potential=potential)
        presence = None if present is None else Presence.of(q, present, self.bodies.largest)
        _set(self, potential=None if potential is None else checked_potential(potential))
        self._turn(law, spin0, orientation0, inertia)
        _set(self, torque=self._torque(torque), _given_torque=torque if callable(torque) else deepcopy(torque))
        if presence is not None and (self.bodies.parts is not None or self.within.of_poses):
            what = self.bodies.several if self.bodies.parts is not None else "bodies with hinges or motors"
            raise InvalidValue(f"{what} cannot come and go: leave out present=, or use jo.Balls alone")
        if self.within.of_poses:
            _set(self, within=self.within.bound_to(self.pose0))
        start = (self.pose0 if presence is None else self.pose0.at(presence.placed(q))).centres
        _set(self, presence=presence, law=Restitution() if law is None else law.bound_to(self.within, start))

    def _turn(
        self, law: ImpactLaw | None, spin0: ArrayLike, orientation0: ArrayLike | None, inertia: ArrayLike | None
    ) -> None:
        """Give the bodies inertia, orientations and spins, if they have friction or are clumps."""
        bodies, q, made_of = self.bodies, self.q0, self.bodies.parts
        _set(self, orientation0=None, spin0=None)
        if not isinstance(law, Coulomb) and made_of is None:
            if inertia is not None or orientation0 is not None or np.any(spin0):
                raise InvalidValue(
                    "balls without friction do not turn: give law=jo.Coulomb(mu), or leave out spin0, orientation0 and "
                    "inertia"
                )
            return
        if q.ndim not in (1, 2) or q.shape[-1] not in AXES:
            raise InvalidValue(
                f"friction and spin need bodies in the plane or in space: q0 of shape (n, 2) or (n, 3), not {q.shape}"
            )
        n, d = q.size // q.shape[-1], q.shape[-1]
        if made_of is not None and (made_of.arms.shape[1] != d or len(made_of.inertia) != n):
            raise InvalidValue(
                f"there are {len(made_of.inertia)} {bodies.several} in dimension {made_of.arms.shape[1]}, and q0 "
                f"has shape {q.shape}: give one position for each"
            )
        J = _inertia(inertia, bodies, self.within, n, d)
        if made_of is not None and inertia is not None:
            made_of = made_of.as_given()
            bodies = replace(bodies, parts=made_of)
        _set(self, spin0=read_only(_of_bodies(spin0, "spin0", n, d)))
        _set(self, orientation0=read_only(_orientations(orientation0, n, d)))
        _set(self, bodies=replace(bodies, inertia=J))

    def _torque(self, given: Any) -> Field | None:
        """The torques as a function of (t, orientation, spin), with values of shape (n,) or (n, 3); None without."""
        if given is None:
            return None
        spin = self.spin0
        if spin is None:
            raise InvalidValue(f"a torque turns bodies, and these do not turn: {TURNS}")
        n, d = len(spin), self.q0.shape[-1]
        if not callable(given):
            constant = read_only(_of_bodies(given, "torque", n, d))
            return lambda *state: constant
        if not accepts(given, 3):
            raise InvalidValue(f"torque must be a function of (t, orientation, spin), not {described(given)}")
        return lambda *state: _of_bodies(given(*state), f"what torque returned at t = {state[0]:g}", n, d)

    def spun(self, t: float, pose: Pose, w: Array, h: float) -> Array:
        """The velocities w after the torques at a time have acted over a time h.

        Parameters
        ----------
        t, pose : float, Pose
            The time and the pose in which the torques are taken.
        w : array
            Velocities of all that moves, see `jostle.pose`.
        h : float
            How long they act.

        Returns
        -------
        array
            The velocities; w itself if there are no torques.
        """
        if self.torque is None:
            return w
        d, J = pose.q.shape[-1], self.bodies.inertia
        assert J is not None
        return np.concatenate([w[:, :d], w[:, d:] + h * self._torques(t, pose, w) / J], axis=1)

    def work_of_torque(self, t: float, pose: Pose, w: Array, mean: Array, h: float) -> float:
        """The work of the torques that `spun` takes, at the mean velocities of a step.

        Parameters
        ----------
        t, pose, w : float, Pose, array
            As for `spun`.
        mean : array
            The mean of the velocities before and after the step.
        h : float
            Time step.

        Returns
        -------
        float
            The work.
        """
        return h * float((self._torques(t, pose, w) * mean[:, pose.q.shape[-1] :]).sum())

    def _torques(self, t: float, pose: Pose, w: Array) -> Array:
        """(n, s) the torques about the axes of the spins in w."""
        assert self.torque is not None
        torque = self.torque(t, pose.as_given, pose.spin(w)).reshape(len(w), -1)
        return torque if pose.axes is None else np.einsum("nji,nj->ni", pose.axes, torque)

    def __repr__(self) -> str:
        return f"Motion(q0 of shape {self.q0.shape}, within={self.within!r}, law={self.law!r})"

    @property
    def mass(self) -> Any:
        """The mass that was given: a Metric, or a function of q."""
        return self.bodies.mass

    def of_those_present(self, presence: Presence) -> Self:
        there, force, constant, torque = copy(self), self.force, self.constant_force, self.torque
        if torque is not None:
            _set(there, torque=lambda *state: presence.still(torque(*state)))
        _set(there, within=of_present(self.within, presence), force=lambda *state: presence.still(force(*state)))
        _set(there, _given=None)
        _set(there, constant_force=None if constant is None else presence.still(constant))
        return there

    def on(self, place: Any) -> Self:
        there = copy(self)
        _set(there, force=from_host(self.force, place), constant_force=to_device(self.constant_force, place))
        mass, inertia = to_device(self.bodies.mass, place), to_device(self.bodies.inertia, place)
        if self.torque is not None:
            _set(there, torque=from_host(self.torque, place))
        _set(there, bodies=replace(self.bodies, mass=mass, inertia=inertia), within=anew(self.within), _given=None)
        return there

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the functions that were given, not those that check their values."""
        parts = _attributes(self)
        if self._given is not None:
            parts["force"] = parts.pop("_given")
        if self._given_potential is not None:
            parts["potential"] = parts.pop("_given_potential")
        parts["torque"] = parts.pop("_given_torque")
        check_parts(self, {"mass": self.mass})  # by the name that it was given by
        return check_parts(self, parts)

    def __setstate__(self, parts: dict[str, Any]) -> None:
        _set(self, **parts)
        if "_given" not in parts:
            _set(self, _given=self.force, force=field_of(self.force, self.q0, "force", arguments=3)[0])
        if "_given_potential" not in parts and self.potential is not None:
            _set(self, _given_potential=self.potential, potential=checked_potential(self.potential))
        _set(self, torque=self._torque(self.torque), _given_torque=self.torque)

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
class Sweeping(Problem):
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
    bodies : Bodies
        How large the bodies are, according to `within`, and their mass.
    weighted : bool
        Whether a mass was given.
    presence : Presence or None
        Who is present at the start; None: everyone, always.
    past : Remembers or None
        The velocity that was given, if it depends on the past of the run.

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
    bodies: Bodies
    weighted: bool = False
    _given: ClassVar[Any]

    def __init__(
        self,
        *,
        q0: ArrayLike,
        within: Admissible | None = None,
        velocity: ArrayLike | Callable[..., ArrayLike] = 0.0,
        mass: ArrayLike | Metric | None = None,
        present: Truths | None = None,
    ):
        q = read_only(finite(q0, "q0"))
        wished, _ = field_of(velocity, q, "velocity", arguments=2)
        if _within(within).bodies.parts is not None:
            kind = "Shapes" if _within(within).bodies.has_cores else "Clumps"
            raise InvalidValue(f"{kind} turn, which only bodies with inertia do: use jo.Motion, or jo.Balls for discs")
        if _within(within).of_poses:
            raise InvalidValue(
                "hinges and motors join bodies that turn, which only bodies with inertia do: use jo.Motion"
            )
        _set(self, q0=q, within=_within(within), velocity=wished, past=remembering(velocity))
        M = of_masses(1.0 if mass is None else mass, q.shape)
        _set(self, bodies=replace(self.within.bodies, mass=M), weighted=mass is not None)
        _set(self, presence=None if present is None else Presence.of(q, present, self.bodies.largest))
        _set(self, _given=velocity if callable(velocity) else deepcopy(velocity))

    @property
    def mass(self) -> Metric | None:
        """The metric of the projections; None: the Euclidean one."""
        return self.bodies.metric(self.q0) if self.weighted else None

    def of_those_present(self, presence: Presence) -> Self:
        there, velocity = copy(self), self.velocity
        _set(there, within=of_present(self.within, presence), velocity=lambda t, q: presence.still(velocity(t, q)))
        _set(there, _given=None)
        return there

    def on(self, place: Any) -> Self:
        there = copy(self)
        _set(there, velocity=from_host(self.velocity, place), within=anew(self.within), _given=None)
        _set(there, bodies=replace(self.bodies, mass=to_device(self.bodies.mass, place)))
        return there

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the velocity that was given, not the function that checks its values."""
        parts = _attributes(self)
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


def _of_bodies(value: ArrayLike, name: str, n: int, d: int) -> Array:
    """Spins (n,) or (n, 3): one for all bodies, or one for each."""
    given, shape = finite(value, name), (n,) if d == 2 else (n, 3)
    fits = (given.ndim <= 1 and given.size in (1, n)) if d == 2 else given.shape in ((3,), (n, 3))
    if not fits and not (given.ndim == 0 and given == 0.0):
        each = "one number for all bodies or one for each" if d == 2 else "one vector for all bodies or one for each"
        raise InvalidValue(f"{name} has shape {given.shape}: give {each}, {shape}")
    return np.array(np.broadcast_to(given.ravel() if d == 2 else given, shape), order="C")


def _orientations(value: ArrayLike | None, n: int, d: int) -> Array:
    """Angles (n,), or unit quaternions (n, 4)."""
    if d == 2:
        return _of_bodies(0.0 if value is None else value, "orientation0", n, d)
    given = finite([1.0, 0.0, 0.0, 0.0] if value is None else value, "orientation0")
    if given.shape not in ((4,), (n, 4)):
        raise InvalidValue(
            f"orientation0 has shape {given.shape}: give one quaternion (w, x, y, z) for all bodies or one for each, "
            f"{(n, 4)}"
        )
    size = np.linalg.norm(given, axis=-1, keepdims=True)
    if not (size > 0.0).all():
        raise InvalidValue("a quaternion in orientation0 is zero, and does not say how its body is turned")
    return np.array(np.broadcast_to(given / size, (n, 4)), order="C")


def _inertia(value: ArrayLike | None, bodies: Bodies, within: ConstraintSet, n: int, d: int) -> Array:
    """(n, 1) or (n, 3) moments of inertia, given or those of the balls."""
    if value is not None:
        J = finite(value, "inertia")
        if J.shape not in ((), (n,), (n, AXES[d]), (AXES[d],)):
            raise InvalidValue(f"inertia has shape {J.shape}: give one number, {(n,)} or {(n, AXES[d])}")
        if J.size and not J.min() > 0.0:
            raise InvalidValue(
                f"inertia must be positive, not {J.min():g}: a body without inertia would spin without bound"
            )
        each = J[:, None] if J.shape == (n,) else J
        return np.array(np.broadcast_to(each, (n, AXES[d])), order="C")
    if n == 0:
        return np.zeros((0, AXES[d]))
    M = bodies.mass
    mass = M.of_bodies(n) if isinstance(M, Metric) else None
    if mass is None or bodies.swell:
        raise InvalidValue(
            "give inertia=: it cannot be computed from masses that are functions or differ between the "
            "coordinates of a body, or from radii that change"
        )
    mass = 1.0 / mass
    if bodies.parts is not None:
        off = next((Q.off_centre for Q in parts(within) if isinstance(Q, Clumps)), None)
        if off is not None and off.max(initial=0.0) > CENTRED:
            raise InvalidValue(
                f"the centre of mass of clump {int(off.argmax())} is not the origin of its arms, by {off.max():.3g} of "
                f"its size: subtract it from the arms, or give inertia= for a clump that is not of one density"
            )
        J = mass[:, None] * bodies.parts.inertia
        if J.size and not J.min() > 0.0:
            raise InvalidValue(
                f"the inertia of clump {int(np.argmin(J.min(axis=1)))} is zero about an axis, because "
                f"its balls are points on it: give inertia="
            )
        return J
    radii = np.broadcast_to(bodies.radii_at(0.0), (n,))
    return solid(np.where(radii > 0.0, radii, 1.0), mass, d)  # nothing turns a point, so that any inertia will do


def _attributes(problem: Any) -> dict[str, Any]:
    """The attributes of a problem, without those that follow from others."""
    return {name: value for name, value in vars(problem).items() if name not in ("pose0", "w0", "smallest_length")}


def smallest_length(bodies: Bodies, within: ConstraintSet, t: float) -> float:
    """The smallest length of bodies and walls at a time; infinite if there is none."""
    smallest = lowest(bodies.radii_at(t), np.inf) if bodies.parts is None else bodies.parts.length
    own = (getattr(Q, "own_length", None) for Q in parts(within))
    return min(length or np.inf for length in (max(smallest, 0.0), *own))  # negative radii are refused elsewhere


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
