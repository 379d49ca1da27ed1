"""A periodic orbit followed in a parameter: its stable and unstable branches, and the points where it changes.

The orbits x with F(x, p) = x form curves, which are followed by their arc length (Keller 1977). Along a curve,

    fold        the curve turns back in p            a multiplier is  1    p'' of the arc length
    doubling    an orbit of twice the period begins  a multiplier is -1    c > 0: it is stable (Kuznetsov 2004)
    grazing     an impact vanishes or appears        a minimum w of a gap is 0; a multiplier grows like c / sqrt(-w)

Each is located, with the coefficient of its normal form, which must not be zero. At a grazing the curve has a corner:
the orbit on its other side is looked for with w of the other sign, and followed on (Nordmark 1991). Each point can
itself be followed in two parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from jostle._tools.arguments import Count, Finite, Natural, Positive, check_arguments
from jostle._tools.arrays import Array, Booleans
from jostle.errors import InvalidValue, NotConverged
from jostle.vibro.copies import Copies, changed, chosen, walls
from jostle.vibro.orbits import Mapped, mapped, periodic_orbits

TOLERANCE = 1e-11
"""A point of a curve is found when Newton steps are below this fraction of its size."""
MAX_NEWTON_STEPS = 12
"""Largest number of Newton steps to a point of a curve; where it is exceeded, the step along the curve is halved."""
SHORTEST = 1e-6
"""Shortest step along a curve, as a fraction of the first."""
GROWTH = 1.4
"""Factor by which steps along a curve grow after each success, up to the first step."""
SHARPEST_TURN = 0.9
"""Smallest cosine of the angle between the tangents at both ends of a step."""
CLOSE_TO_GRAZING = 0.02
"""An orbit that is closer to grazing than this fraction of its size is led to it where the curve cannot be followed."""
GRAZED = 1e-10
"""Size of the minimum of a gap, as a fraction of that of the orbit, from which a grazing is extrapolated."""
BEYOND = 1e-5
"""The same minimum of the first orbit beyond a grazing."""
FIRST_APART = 0.02
"""First distance of the doubled orbit from a period doubling, where the size of the orbit is 1; shorter ones follow."""
DIFFERENCE = 1e-3
"""Step of the differences of F in the normal form of a doubling."""
SLOPE_STEP = 1e-6
"""Step of the differences of multipliers along two parameters."""
SLOPE_OF_PERIOD = 1e-5
"""Relative step of the differences of the period."""


SAME_NORMAL = 1e-6
"""Gradients of walls that differ by less than this fraction are equal, also those computed by differences."""


class Bifurcation(NamedTuple):
    """A point of a branch at which the orbit changes, found by `follow`.

    Attributes
    ----------
    kind : str
        "fold", "doubling" or "grazing".
    value : float
        The parameter.
    q : array, shape (d,)
        Position at the start of a period.
    u : array, shape (d,)
        Velocity at the start of a period.
    coefficient : float
        Coefficient of the normal form. Fold: the second derivative of the parameter by the arc length of the branch,
        not zero. Doubling: positive if the orbit of twice the period is stable, negative if it is unstable. Grazing: c,
        if the largest multiplier is c / sqrt(-w) for orbits whose impact has the depth -w = v^2 / 2 a, as a fraction of
        the size of the first orbit, with the speed v of the impact and the acceleration a that opens the gap; NaN if no
        orbit with the impact was found.
    after : int
        Number of the point of the branch before it.

    Examples
    --------
    >>> import jostle as jo
    >>> jo.vibro.Bifurcation("fold", 0.5, np.zeros(1), np.zeros(1), -2.0, 7).kind
    'fold'
    """

    kind: str
    value: float
    q: Array
    u: Array
    coefficient: float
    after: int


@dataclass(frozen=True, eq=False)
class Branch:
    """Periodic orbits along a parameter, found by `follow`.

    Attributes
    ----------
    value : array, shape (k,)
        The parameter of each orbit.
    q : array, shape (k, d)
        Positions at the start of a period.
    u : array, shape (k, d)
        Velocities at the start of a period.
    multipliers : array, shape (k, 2 d)
        Multipliers of the orbits.
    points : tuple of Bifurcation
        Folds, period doublings and grazings in the order in which they were passed.
    ending : str
        Why the branch ends.
    family : Family
        The problem of the branch, for `follow_point`.

    Examples
    --------
    >>> import jostle as jo
    >>> def drive(t, q, u, parameters):
    ...     return np.cos(parameters[0] * t) - q[0]
    >>> start = jo.vibro.Copies(
    ...     q0=[-0.65], v0=[0.02], force=drive, within=jo.HalfSpace([-1.0]), parameters=[2.6], restitution=0.8
    ... )
    >>> branch = jo.vibro.follow(start, to=2.7, period=lambda parameters: 2 * np.pi / parameters[0], steps=64)
    >>> [(point.kind, round(point.value, 5)) for point in branch.points]            # 2.65334772786 is exact
    [('doubling', 2.65335)]
    >>> bool(branch.stable[0]), bool(branch.stable[-1]), branch.ending
    (True, False, 'the parameter leaves its interval')
    """

    value: Array
    q: Array
    u: Array
    multipliers: NDArray[np.complex128]
    points: tuple[Bifurcation, ...]
    ending: str
    family: Family

    @property
    def stable(self) -> Booleans:
        """(k,): whether all multipliers of an orbit lie inside the unit circle."""
        inside: Booleans = np.abs(self.multipliers).max(axis=1) < 1.0
        return inside


@dataclass(frozen=True, eq=False)
class Curve:
    """A fold, a period doubling or a grazing along two parameters, found by `follow_point`.

    Attributes
    ----------
    kind : str
        "fold", "doubling" or "grazing".
    values : array, shape (k, 2)
        Both parameters.
    q : array, shape (k, d)
        Positions of the orbits at the start of a period.
    u : array, shape (k, d)
        Velocities at the start of a period.
    multipliers : array, shape (k, 2 d)
        Multipliers of the orbits; at a grazing, of the orbit without the impact.
    ending : str
        Why the curve ends.

    Examples
    --------
    >>> import jostle as jo
    >>> nothing = np.zeros((0, 1))
    >>> len(jo.vibro.Curve("fold", np.zeros((0, 2)), nothing, nothing, np.zeros((0, 2), complex), "").values)
    0
    """

    kind: str
    values: Array
    q: Array
    u: Array
    multipliers: NDArray[np.complex128]
    ending: str


class Family(NamedTuple):
    """Orbits z = (q, u T / 2 pi, p), in which one or two parameters vary; all entries in units of their sizes."""

    copies: Copies
    period: Callable[[Array], float]
    steps: int
    times: int
    which: tuple[int, ...]
    """The parameters; their number is the restitution."""
    unit: float
    """T / 2 pi at the start, which makes lengths of velocities."""
    size: Array
    """(2 d + p,) sizes of the entries of z."""
    interval: tuple[float, float]
    """The values of the first parameter between which the orbits are followed."""

    def states(self, z: Array) -> Copies:
        """Copies at the states z (n, 2 d + p)."""
        d, x = self.copies.q0.shape[1], z * self.size
        own = np.append(self.copies.parameters[0], self.copies.restitution[0])
        values = np.repeat(own[None], len(z), axis=0)
        values[:, list(self.which)] = x[:, 2 * d :]
        one, e = np.zeros(len(z), dtype=int), values[:, -1].copy()
        if (e < 0.0).any() or (e > 1.0).any():
            raise Lost("the restitution leaves [0, 1]")
        given = {"parameters": np.ascontiguousarray(values[:, :-1]), "restitution": e}
        return chosen(self.copies, one, q0=x[:, :d].copy(), v0=x[:, d : 2 * d] / self.unit, **given)

    def check_normals(self, to: float) -> None:
        """Refuse walls whose gradients depend on the last parameter, between its value and `to`: Newton's method misses
        that the wall turns."""
        number, own = self.which[-1], self.copies.parameters
        if number == own.shape[1]:  # the restitution
            return
        other = own.copy()
        other[:, number] = to
        (_, G), (_, turned) = (walls(changed(self.copies, parameters=values)) for values in (own, other))
        if not np.allclose(G, turned, rtol=SAME_NORMAL, atol=SAME_NORMAL * np.abs(G).max(initial=0.0)):
            raise InvalidValue(
                f"the gradients of the walls change with parameter {number}, and branches are followed only where it "
                f"moves walls along their normals: give gaps whose gradients do not depend on it"
            )

    def time(self, parameters: Array) -> float:
        """The period T of the force."""
        T = float(self.period(parameters.copy()))
        if not 0.0 < T < np.inf:
            raise InvalidValue(f"period must be positive, not {T} for the parameters {parameters.tolist()}")
        return T

    def at(self, z: Array) -> Mapped:
        """F(x, p) - x and its derivative in z (n, 2 d + p), lowest gaps and their derivatives; all without units."""
        copies, n, d = self.states(z), len(z), self.copies.q0.shape[1]
        T = np.array([self.time(own) for own in copies.parameters])
        directions = np.zeros((len(self.which), copies.parameters.shape[1] + 1))
        for k, number in enumerate(self.which):
            directions[k, number] = self.size[2 * d + k]
        size = self.size[: 2 * d]
        found = mapped(copies, T / self.steps, self.steps * self.times, np.full(n, self.unit), directions)
        derivative = found.derivative.copy()
        derivative[:, :, : 2 * d] *= size
        slope = found.slope.copy()
        slope[:, : 2 * d] *= size
        for copy in range(n):
            own, end = copies.parameters[copy], found.end[copy]
            q, u, t = end[:d], end[d:] / self.unit, float(copies.t0[copy]) + T[copy] * self.times
            given = self.copies.force
            force = np.ravel(given(t, q, u, own)) if callable(given) else given
            flow = np.concatenate([u, np.asarray(force, dtype=float) / self.copies.mass * self.unit]) * self.times
            for k, direction in enumerate(directions):
                step = SLOPE_OF_PERIOD * direction[:-1]
                rate = (self.time(own + step) - self.time(own - step)) / (2.0 * SLOPE_OF_PERIOD)
                derivative[copy, :, 2 * d + k] += flow * rate
        derivative /= size[:, None]
        derivative[:, :, : 2 * d] -= np.eye(2 * d)
        length, residual = size.max(), found.end / size - z[:, : 2 * d]
        return found._replace(end=residual, derivative=derivative, lowest=found.lowest / length, slope=slope / length)

    def one(self, z: Array) -> Mapped:
        """The same at one z; `Lost` if it is behind a wall or the motion ends before."""
        gap, _ = walls(self.states(z[None]))
        if (gap < 0.0).any() or not np.isfinite(z).all():
            raise Lost("the orbit meets a wall at the start of a period; choose another t0")
        found = self.at(z[None])
        if found.reasons[0]:
            raise Lost(found.reasons[0])
        if found.rests[0]:  # the derivative with respect to the period is that of a motion in flight
            raise Lost("the orbit rests on a wall at the start of a period; choose another t0")
        return found

    def beside(self, guess: Array, normal: Array) -> tuple[Array, Mapped]:
        """The point of the curve in the plane through a guess."""
        return self.solved(guess, lambda z, _: (np.array([normal @ (z - guess)]), normal[None]))

    def multipliers(self, found: Mapped) -> NDArray[np.complex128]:
        d = len(found.end[0])
        return np.asarray(np.linalg.eigvals(found.derivative[0, :, :d] + np.eye(d)), dtype=complex)

    def flip(self, found: Mapped) -> tuple[Array, Array, Array]:
        """dF, and its eigenvectors v and w (of the transpose) with the eigenvalue closest to -1; v.v = v.w = 1."""
        d = len(found.end[0])
        A, both = found.derivative[0, :, :d] + np.eye(d), []
        for matrix in (A, A.T):
            values, vectors = np.linalg.eig(matrix)
            x = np.real(vectors[:, int(np.abs(values + 1.0).argmin())])
            both.append(x / np.linalg.norm(x))
        return A, both[0], both[1] / (both[1] @ both[0])

    def solved(self, z: Array, extra: Callable[[Array, Mapped], tuple[Array, Array]]) -> tuple[Array, Mapped]:
        """z with F = x and some more equations, by Newton's method; `extra` gives their residuals and derivatives."""
        for _ in range(MAX_NEWTON_STEPS):
            found = self.one(z)
            more, rows = extra(z, found)
            system = np.concatenate([found.derivative[0], rows])
            try:
                move = np.linalg.solve(system, -np.concatenate([found.end[0], more]))
            except np.linalg.LinAlgError:
                raise Lost("the orbit is not isolated") from None
            if not np.abs(move).max() < 10.0:
                raise Lost("Newton's method does not converge")
            z = z + move
            if np.abs(move).max() <= TOLERANCE * max(np.abs(z).max(), 1.0):
                return z, self.one(z)
        raise Lost("Newton's method does not converge")


class Lost(Exception):
    """A point that is not on the curve: why."""


def _tangent(found: Mapped, towards: Array) -> Array:
    """The unit tangent of the curve in the direction of a vector."""
    _, _, V = np.linalg.svd(found.derivative[0])
    tangent: Array = V[-1] if V[-1] @ towards >= 0.0 else -V[-1]
    return tangent


@check_arguments
def follow(
    copies: Copies,
    *,
    to: Finite,
    period: Callable[[Array], float],
    steps: Count,
    parameter: Natural = 0,
    times: Count = 1,
    longest: Positive = 0.02,
    max_points: Count = 1000,
) -> Branch:
    """Follow a periodic orbit in a parameter, through folds, period doublings and grazings.

    Parameters
    ----------
    copies : Copies
        One copy, which starts close to the orbit.
    to : float
        Value to which the parameter goes first. The branch ends where the parameter leaves the interval between its
        value in `copies` and `to`, also after it has turned back.
    period : callable (parameters) -> float
        Period of the force for parameters (k,).
    steps : int
        Number of time steps per period.
    parameter : int, default 0
        Number of the parameter; k, the number of parameters, is the restitution.
    times : int, default 1
        Number of periods after which the orbit repeats itself.
    longest : float, default 0.02
        Longest step along the branch, where the interval of the parameter and the size of the orbit are 1.
    max_points : int, default 1000
        Largest number of orbits.

    Returns
    -------
    Branch
        The orbits, their multipliers, and the points where they change.

    Raises
    ------
    NotConverged
        If there is no orbit close to the start.

    Examples
    --------
    >>> import jostle as jo
    >>> def table(t, q, parameters):
    ...     return q[0] - parameters[0] * np.sin(2 * np.pi * t)
    >>> ball = jo.vibro.Copies(
    ...     q0=[0.13], v0=[0.19], t0=0.5, force=[-1.0], parameters=[0.025], restitution=0.8,
    ...     within=jo.vibro.Gaps(table, flat=True, moving=True),
    ... )
    >>> branch = jo.vibro.follow(ball, to=0.005, period=lambda parameters: 1.0, steps=40, longest=0.05)
    >>> [(point.kind, round(point.value * (2 * np.pi) ** 2, 6)) for point in branch.points]     # pi (1 - e) / (1 + e)
    [('fold', 0.349066)]
    """
    if len(copies) != 1:
        raise InvalidValue(f"follow takes one copy, not {len(copies)}: choose the start of one branch")
    k, d = copies.parameters.shape[1], copies.q0.shape[1]
    if parameter > k:
        raise InvalidValue(f"parameter must be at most {k}, the number of parameters, not {parameter}")
    begin = float(np.append(copies.parameters[0], copies.restitution)[parameter])
    if begin == to:
        raise InvalidValue(f"to must differ from the parameter of the copy, {begin:g}")
    T = float(period(copies.parameters[0].copy()))
    orbit = periodic_orbits(copies, period=T, steps=steps, times=times)
    if not orbit.converged[0]:
        raise NotConverged(f"no orbit was found from the start of the branch: {orbit.reason[0]}")
    unit = T / (2.0 * np.pi)
    x = np.concatenate([orbit.q[0], orbit.u[0] * unit])
    size = max(float(np.abs(x).max()), np.finfo(float).tiny ** 0.5)
    family = Family(
        changed(copies, q0=orbit.q, v0=orbit.u), period, steps, times, (parameter,), unit,
        np.append(np.full(2 * d, size), abs(to - begin)), (min(begin, to), max(begin, to)),
    )  # fmt: skip
    family.check_normals(to)
    z = np.append(x / size, begin / abs(to - begin))
    try:
        return _Walk(family, z, np.append(np.zeros(2 * d), to - begin), longest, max_points).branch()
    except Lost as reason:
        raise NotConverged(f"the branch cannot be followed from its start: {reason}") from None


@check_arguments
def follow_doubled(branch: Branch, number: Natural, *, longest: Positive = 0.02, max_points: Count = 1000) -> Branch:
    """Follow the orbit of twice the period that begins at a period doubling of a branch.

    Parameters
    ----------
    branch : Branch
        The branch, in whose interval of the parameter the other orbit is followed as well.
    number : int
        Number of the period doubling in `branch.points`.
    longest : float, default 0.02
        Longest step along the branch, as in `follow`.
    max_points : int, default 1000
        Largest number of orbits.

    Returns
    -------
    Branch
        The orbits of twice the period, with their multipliers, and the points where they change. Its period doublings
        can be given to this function again.

    Raises
    ------
    NotConverged
        If no orbit of twice the period is found beside the period doubling.

    Examples
    --------
    >>> import jostle as jo
    >>> def drive(t, q, u, parameters):
    ...     return np.cos(parameters[0] * t) - q[0]
    >>> start = jo.vibro.Copies(
    ...     q0=[-0.65], v0=[0.02], force=drive, within=jo.HalfSpace([-1.0]), parameters=[2.6], restitution=0.8
    ... )
    >>> branch = jo.vibro.follow(start, to=2.7, period=lambda parameters: 2 * np.pi / parameters[0], steps=64)
    >>> doubled = jo.vibro.follow_doubled(branch, 0)
    >>> bool(doubled.stable[0]), bool((doubled.value > branch.points[0].value).all())
    (True, True)
    """
    if number >= len(branch.points) or branch.points[number].kind != "doubling":
        doublings = [k for k, point in enumerate(branch.points) if point.kind == "doubling"]
        raise InvalidValue(f"number must be that of a period doubling of the branch, one of {doublings}, not {number}")
    point, once = branch.points[number], branch.family
    z = np.concatenate([point.q, point.u * once.unit, [point.value]]) / once.size
    found = once.one(z)
    across = np.append(once.flip(found)[1], 0.0)
    along = _tangent(found, across)
    across -= (across @ along) * along  # in the plane across it, the orbits of the branch are far
    family, step = once._replace(times=2 * once.times), FIRST_APART
    while step > SHORTEST:
        guess = z + step * across
        try:
            new, _ = family.beside(guess, across)
            if np.linalg.norm(new - guess) < 0.5 * step:
                return _Walk(family, new, new - z, longest, max_points).branch()
        except Lost:
            pass
        step *= 0.5
    raise NotConverged(f"no orbit of twice the period was found beside the period doubling at {point.value:g}")


class _Walk:
    """The points of a branch, one after the other."""

    def __init__(self, family: Family, z: Array, towards: Array, longest: float, most: int):
        self.family, self.longest, self.most = family, longest, most
        self.z, self.found = z, family.one(z)
        self.tangent = _tangent(self.found, towards)
        self.path, self.steps, self.points = [z], [self.found], list[Bifurcation]()

    def branch(self) -> Branch:
        low, high = np.array(self.family.interval) / self.family.size[-1]
        step, ending = self.longest, f"it has {self.most} points"
        while len(self.path) < self.most:
            try:
                z, found = self.family.beside(self.z + step * self.tangent, self.tangent)
                tangent = _tangent(found, self.tangent)
                if tangent @ self.tangent < SHARPEST_TURN or found.hits[0] != self.found.hits[0]:
                    raise Lost("the branch turns sharply")
            except Lost as reason:
                if self.found.margin[0] < max(CLOSE_TO_GRAZING, 2.0 * step) and self._grazes():
                    if not self._beyond():
                        ending = "it grazes a wall, and no orbit was found on the other side"
                        break
                    step = self.longest * 0.05
                    continue
                step *= 0.5
                if step < SHORTEST * self.longest:
                    ending = str(reason)
                    break
                continue
            self._examine(z, found, tangent)
            self._append(z, found, tangent)
            step = min(GROWTH * step, self.longest)
            if not low <= z[-1] <= high:
                ending = "the parameter leaves its interval"
                break
        return self._branch(ending)

    def _append(self, z: Array, found: Mapped, tangent: Array) -> None:
        self.z, self.found, self.tangent = z, found, tangent
        self.path.append(z)
        self.steps.append(found)

    def _determinant(self, found: Mapped) -> float:
        """det(dF + I)."""
        size = len(found.end[0])
        return float(np.linalg.det(found.derivative[0, :, :size] + 2.0 * np.eye(size)))

    def _examine(self, z: Array, found: Mapped, tangent: Array) -> None:
        """Locate the folds and doublings in the step from self.z to z."""
        chord = z - self.z
        length = float(np.linalg.norm(chord))

        def point(s: float) -> tuple[Array, Mapped]:
            return self.family.beside(self.z + s * chord, chord / length)

        def turning(s: float) -> float:
            return float(_tangent(point(s)[1], self.tangent)[-1])

        def doubling(s: float) -> float:
            return self._determinant(point(s)[1])

        located = []
        try:
            if self.tangent[-1] * tangent[-1] < 0.0:
                s = float(brentq(turning, 0.0, 1.0, xtol=1e-9))
                both = [turning(s - 1e-3), turning(s + 1e-3)]
                curvature = (both[1] - both[0]) / (2e-3 * length)
                located.append((s, "fold", curvature))
            if self._determinant(self.found) * self._determinant(found) < 0.0:
                s = float(brentq(doubling, 0.0, 1.0, xtol=1e-10))
                located.append((s, "doubling", self._flip(*point(s))))
        except (Lost, ValueError):  # a grazing in between: it is found with shorter steps
            raise Lost("the branch changes quickly") from None
        for s, kind, coefficient in sorted(located):
            self._note(kind, point(s)[0], coefficient)

    def _note(self, kind: str, z: Array, coefficient: float) -> None:
        states = self.family.states(z[None])
        value = float(z[-1] * self.family.size[-1])
        self.points.append(Bifurcation(kind, value, states.q0[0], states.v0[0], coefficient, len(self.path) - 1))

    def _flip(self, z: Array, found: Mapped) -> float:
        """The cubic coefficient of a doubling, by differences of F."""
        size = len(found.end[0])
        A, v, w = self.family.flip(found)
        step = min(DIFFERENCE, 0.1 * float(found.margin[0]))

        def F(y: Array) -> Array:
            shifted = z + step * np.append(y, np.zeros(len(z) - size))
            moved = self.family.one(shifted)
            return np.asarray(moved.end[0] + shifted[:size])

        def second(a: Array, b: Array) -> Array:
            return (F(a + b) - F(a - b) - F(b - a) + F(-a - b)) / (4.0 * step**2)

        third = (F(2.0 * v) - 2.0 * F(v) + 2.0 * F(-v) - F(-2.0 * v)) / (2.0 * step**3)
        y = np.asarray(np.linalg.solve(np.eye(size) - A, second(v, v)), dtype=float)
        long = max(float(np.linalg.norm(y)), 1e-300)
        return float(w @ third / 6.0 + 0.5 * long * (w @ second(v, np.asarray(y / long))))

    def _at_depth(self, z: Array, depth: float) -> tuple[Array, Mapped]:
        """The orbit whose lowest gap is `depth`."""
        return self.family.solved(z, lambda _, found: (found.lowest - depth, found.slope[:1]))

    def _grazes(self) -> bool:
        """Lead the last orbit to the grazing that it is close to, and note it; False if it just comes from there."""
        if self.points and self.points[-1].kind == "grazing" and self.points[-1].after >= len(self.path) - 2:
            return False
        z, depth, side = self.z, float(self.found.lowest[0]), float(np.sign(self.found.lowest[0]))
        try:
            while abs(depth) > 2.0 * GRAZED:
                depth = side * max(abs(depth) * 0.04, GRAZED)
                z, found = self._at_depth(z, depth)
            half, _ = self._at_depth(z, 0.25 * depth)
        except Lost:
            return False
        grazing = 2.0 * half - z if side < 0.0 else half + (half - z) / 3.0
        self._note("grazing", grazing, self._growth(found, depth) if side < 0.0 else np.nan)
        self.grazing, self.side, self.last = grazing, side, found
        return True

    def _growth(self, found: Mapped, depth: float) -> float:
        """c, if the largest multiplier is c / sqrt(-depth)."""
        multipliers = self.family.multipliers(found)
        return float(np.real(multipliers[np.abs(multipliers).argmax()]) * np.sqrt(-depth))

    def _beyond(self) -> bool:
        """Go on with the orbit on the other side of the last grazing."""
        slope = self.last.slope[0]
        for depth in -self.side * BEYOND * np.array([1.0, 0.1, 0.01]):
            guess = self.grazing + slope * depth / (slope @ slope)
            try:
                z, found = self._at_depth(guess, depth)
                if self.side > 0.0:
                    _, deep = self._at_depth(z, 0.01 * depth)
                    self.points[-1] = self.points[-1]._replace(coefficient=self._growth(deep, 0.01 * depth))
            except Lost:
                continue
            self._append(z, found, _tangent(found, z - self.grazing))
            return True
        return False

    def _branch(self, ending: str) -> Branch:
        states = self.family.states(np.array(self.path))
        multipliers = np.array([self.family.multipliers(found) for found in self.steps])
        value = np.array(self.path)[:, -1] * self.family.size[-1]
        return Branch(value, states.q0, states.v0, multipliers, tuple(self.points), ending, self.family)


@check_arguments
def follow_point(
    branch: Branch,
    number: Natural,
    *,
    parameter: Natural,
    to: Finite,
    longest: Positive = 0.02,
    max_points: Count = 500,
) -> Curve:
    """Follow a fold, a period doubling or a grazing of a branch in a second parameter.

    Parameters
    ----------
    branch : Branch
        The branch.
    number : int
        Number of the point in `branch.points`.
    parameter : int
        Number of the second parameter; the number of parameters is the restitution.
    to : float
        Value to which the second parameter goes first. The curve ends where it leaves the interval between its value on
        the branch and `to`.
    longest : float, default 0.02
        Longest step along the curve, where the intervals of both parameters and the size of the orbit are 1.
    max_points : int, default 500
        Largest number of points.

    Returns
    -------
    Curve
        Both parameters along the curve, and the orbits.

    Examples
    --------
    >>> import jostle as jo
    >>> def drive(t, q, u, parameters):
    ...     return np.cos(parameters[0] * t) - q[0]
    >>> start = jo.vibro.Copies(
    ...     q0=[-0.65], v0=[0.02], force=drive, within=jo.HalfSpace([-1.0]), parameters=[2.6], restitution=0.8
    ... )
    >>> branch = jo.vibro.follow(start, to=2.7, period=lambda parameters: 2 * np.pi / parameters[0], steps=64)
    >>> curve = jo.vibro.follow_point(branch, 0, parameter=1, to=0.6, longest=0.1)        # frequency and restitution
    >>> bool((abs(curve.multipliers + 1).min(axis=1) < 1e-6).all()), curve.ending
    (True, 'the parameter leaves its interval')
    """
    if number >= len(branch.points):
        raise InvalidValue(
            f"number must be below {len(branch.points)}, the number of points of the branch, not {number}"
        )
    point, old = branch.points[number], branch.family
    values = np.append(old.copies.parameters[0], old.copies.restitution)
    if parameter >= len(values) or parameter == old.which[0]:
        raise InvalidValue(
            f"parameter must be another number than {old.which[0]}, at most {len(values) - 1}, not {parameter}"
        )
    begin = float(values[parameter])
    if begin == to:
        raise InvalidValue(f"to must differ from the parameter of the branch, {begin:g}")
    family = old._replace(which=(old.which[0], parameter), size=np.append(old.size, abs(to - begin)))
    family.check_normals(to)
    z = np.concatenate([point.q, point.u * family.unit, [point.value, begin]]) / family.size
    sign = 1.0 if point.kind == "doubling" else -1.0

    def test(z: Array, found: Mapped) -> tuple[Array, Array]:
        """What is zero along the curve, and its derivative."""
        if point.kind == "grazing":
            return found.lowest - GRAZED, found.slope[:1]

        def determinants(found: Mapped) -> Array:
            size = found.end.shape[1]
            return np.asarray(np.linalg.det(found.derivative[:, :, :size] + (1.0 + sign) * np.eye(size)))

        steps = SLOPE_STEP * np.eye(len(z))
        beside = determinants(family.at(np.concatenate([z + steps, z - steps])))
        return determinants(found), ((beside[: len(z)] - beside[len(z) :]) / (2.0 * SLOPE_STEP))[None]

    def on_plane(origin: Array, normal: Array) -> tuple[Array, Mapped, Array]:
        """The point of the curve in a plane, and the tangent there."""

        def extra(z: Array, found: Mapped) -> tuple[Array, Array]:
            value, row = test(z, found)
            return np.append(value, normal @ (z - origin)), np.concatenate([row, normal[None]])

        z, found = family.solved(origin, extra)
        _, _, V = np.linalg.svd(np.concatenate([found.derivative[0], test(z, found)[1]]))
        return z, found, V[-1]

    if point.kind == "grazing":  # on the side without the impact
        found = family.one(z)
        z = z + found.slope[0] * (2.0 * GRAZED + abs(found.lowest[0])) / (found.slope[0] @ found.slope[0])
    try:
        z, found, tangent = on_plane(z, np.eye(len(z))[-1])
    except Lost as reason:
        raise NotConverged(f"the {point.kind} was not found again: {reason}") from None
    tangent = tangent * np.sign(tangent[-1]) * np.sign(to - begin)
    low, high = sorted((begin / family.size[-1], to / family.size[-1]))
    path, steps, step, ending = [z], [found], longest, f"it has {max_points} points"
    while len(path) < max_points:
        try:
            new, found, turned = on_plane(path[-1] + step * tangent, tangent)
            turned = turned if turned @ tangent >= 0.0 else -turned
            if turned @ tangent < SHARPEST_TURN or found.hits[0] != steps[-1].hits[0]:
                raise Lost("the curve turns sharply")
        except Lost as reason:
            step *= 0.5
            if step < SHORTEST * longest:
                ending = str(reason)
                break
            continue
        path.append(new)
        steps.append(found)
        tangent, step = turned, min(GROWTH * step, longest)
        if not low <= new[-1] <= high:
            ending = "the parameter leaves its interval"
            break
    states, both = family.states(np.array(path)), np.array(path)[:, -2:] * family.size[-2:]
    multipliers = np.array([family.multipliers(found) for found in steps])
    return Curve(point.kind, both, states.q0, states.v0, multipliers, ending)
