"""Thousands to millions of copies of a small vibro-impact system, each with its own start and parameters.

    M q'' = f(t, q, q', parameters) + G^T p,   0 <= p  ⟂  g(t, q, parameters) >= 0,   u+ = u- - (1 + e) P_N u-

The force and the constraints are functions that numba compiles. All copies run in one compiled loop on all cores
(`March`); results do not depend on the number of cores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Positive, check_arguments
from jostle._tools.arrays import Array, Integers, finite
from jostle.errors import CannotCompile, InfeasibleStart, InvalidValue, NotConverged, NotFinite, SchemeRefuses
from jostle.kernels.parallel import cut, threads, together
from jostle.kernels.reference import copies as loops
from jostle.kernels.reference.copies import (
    DONE,
    ESCAPED,
    GOES_ON,
    MOREAU_JEAN,
    NO_POINT,
    NOT_FINITE,
    PAOLI,
    STATUS,
    TOO_MANY_IMPACTS,
    Q,
)
from jostle.problems import check_coordinates
from jostle.schemes.checks import COARSEST, too_far
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli
from jostle.sets.base import ConstraintSet, Free

SAMPLED_TIMES = (0.0, 0.1234, 0.9876, 2.7183, 17.321)
"""Times after the start at which gaps said to be at rest are compared with those at the start."""
SAMPLED_COPIES = 100
"""Largest number of copies, from the first to the last, whose gaps are compared; others are not examined."""
AFFINE_TOLERANCE = 1e-9
"""Gaps are affine if their second differences are below this fraction of their size."""


@check_arguments
@dataclass(frozen=True)
class Gaps:
    """Constraints of many copies: every number that a function returns stays >= 0.

    numba compiles the functions. Their arguments are the time, the coordinates q (d,) and the parameters (k,) of one
    copy.

    Parameters
    ----------
    function : callable (t, q, parameters) -> float, tuple or array
        The gaps, m numbers.
    gradient : callable (t, q, parameters) -> tuple or array, optional
        The m d entries of dg/dq, row by row. None: finite differences of the gaps.
    flat : bool, default False
        Whether the gaps are affine in q. Differences are then exact, and `ByEvents` can be used.
    moving : bool, default False
        Whether the gaps depend on t.
    length : float, default 1.0
        Typical length of the system, positive, to which the steps of the differences are proportional.

    Examples
    --------
    >>> import jostle as jo
    >>> def stop(t, q, parameters):
    ...     return parameters[1] - q[0]                         # the second parameter is where the stop is
    >>> jo.vibro.Gaps(stop, flat=True).flat
    True
    """

    function: Callable[[float, Array, Array], Any]
    gradient: Callable[[float, Array, Array], Any] | None = None
    flat: bool = False
    moving: bool = False
    length: Positive = 1.0


class Planes(NamedTuple):
    """The constraints offset + G q >= 0, and the length (m,) that each gap is compared with, 0 if there is none."""

    G: Array
    offset: Array
    length: Array


@check_arguments
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Copies:
    """Many copies of a small system, each with its own start and parameters.

    Arrays with one entry per copy have n rows; a value that is given once is shared by all copies.

    Parameters
    ----------
    q0 : array_like, shape (d,) or (n, d)
        Coordinates at the start.
    force : array_like, shape (d,), or callable (t, q, u, parameters) -> float, tuple or array
        The force: constant, or a function that numba compiles, of the time and the coordinates (d,), velocities (d,)
        and parameters (k,) of one copy.
    within : ConstraintSet, Gaps or callable (t, q, parameters) -> float, tuple or array, optional
        The constraints: half-spaces at rest (`HalfSpace`, `Box`, or several joined by &), or gaps that stay >= 0. None:
        no constraints.
    v0 : array_like, shape (d,) or (n, d), default 0.0
        Velocities at the start.
    parameters : array_like, shape (n,) or (n, k), default ()
        Parameters that are passed to the force and the gaps.
    restitution : float or array_like, shape (n,), default 0.0
        Restitution coefficient, between 0 and 1.
    mass : float or array_like, shape (d,), default 1.0
        Mass of each coordinate, positive.
    t0 : float or array_like, shape (n,), default 0.0
        Time at the start.

    Raises
    ------
    InfeasibleStart
        If the start of a copy violates a constraint.

    Examples
    --------
    >>> import jostle as jo
    >>> def drive(t, q, u, parameters):
    ...     return np.cos(parameters[0] * t) - q[0]
    >>> oscillators = Copies(
    ...     q0=[-0.5], force=drive, within=jo.HalfSpace([-1.0]), parameters=np.linspace(2.6, 2.7, 100), restitution=0.8
    ... )
    >>> oscillators
    Copies(100 of 1 coordinate, 1 constraint)
    """

    q0: Array
    v0: Array
    parameters: Array
    restitution: Array
    t0: Array
    mass: Array
    force: Any
    within: Any

    def __init__(
        self,
        *,
        q0: ArrayLike,
        force: ArrayLike | Callable[[float, Array, Array, Array], Any],
        within: ConstraintSet | Gaps | Callable[[float, Array, Array], Any] | None = None,
        v0: ArrayLike = 0.0,
        parameters: ArrayLike = (),
        restitution: ArrayLike = 0.0,
        mass: ArrayLike = 1.0,
        t0: ArrayLike = 0.0,
    ):
        q, v, own = finite(q0, "q0"), finite(v0, "v0"), np.atleast_1d(finite(parameters, "parameters"))
        e, start = finite(restitution, "restitution"), finite(t0, "t0")
        if q.ndim not in (1, 2) or q.size == 0 or own.ndim > 2 or e.ndim > 1 or start.ndim > 1:
            raise InvalidValue(
                f"q0 must have shape (d,) or (n, d), parameters (n,) or (n, k), restitution and t0 () or (n,); they "
                f"have {q.shape}, {own.shape}, {e.shape} and {start.shape}"
            )
        if (e < 0.0).any() or (e > 1.0).any():
            raise InvalidValue(f"restitution must lie in [0, 1], not {float(e.min()):g} to {float(e.max()):g}")
        if own.size == 0:
            own = own.reshape(1, 0)
        elif own.ndim == 1:
            own = own[:, None]
        d, counts = q.shape[-1], {"q0": len(q) if q.ndim == 2 else 1, "v0": len(v) if v.ndim == 2 else 1}
        counts |= {"parameters": len(own), "restitution": e.size, "t0": start.size}
        n = max(counts.values())
        wrong = [f"{name} has {count}" for name, count in counts.items() if count not in (1, n)]
        if wrong:
            raise InvalidValue(f"there are {n} copies, but {', '.join(wrong)}: give one value per copy, or one for all")
        M = finite(mass, "mass")
        if M.shape not in ((), (d,)) or not (M > 0.0).all():
            raise InvalidValue(f"mass must be positive, a number or one for each of {d} coordinates, not {mass!r}")
        check_coordinates(v, "v0", (d,))
        try:
            v = np.broadcast_to(v, (n, d))
        except ValueError:
            raise InvalidValue(f"v0 has shape {v.shape}, q0 has {q.shape}") from None
        values = {
            "q0": np.broadcast_to(q, (n, d)), "v0": v, "parameters": np.broadcast_to(own, (n, own.shape[1])),
            "restitution": np.broadcast_to(e.ravel(), n), "t0": np.broadcast_to(start.ravel(), n),
            "mass": np.broadcast_to(M.ravel(), d),
        }  # fmt: skip
        for name, value in values.items():
            array = np.array(value, order="C")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "force", _checked_force(force, d))
        object.__setattr__(self, "within", _checked_within(within, d))
        self._check_start()

    def __len__(self) -> int:
        return len(self.q0)

    def __repr__(self) -> str:
        d, m = self.q0.shape[1], self.constraints
        return f"Copies({len(self)} of {d} coordinate{'s' * (d != 1)}, {m} constraint{'s' * (m != 1)})"

    @property
    def flat(self) -> bool:
        """Whether all gaps are affine in q."""
        return not isinstance(self.within, Gaps) or self.within.flat

    @property
    def moving(self) -> bool:
        """Whether the gaps depend on time."""
        return isinstance(self.within, Gaps) and self.within.moving

    @property
    def constraints(self) -> int:
        """Number m of constraints."""
        if not isinstance(self.within, Gaps):
            return len(self.within.offset)
        return int(np.size(self._gaps(0, float(self.t0[0]), self.q0[0])))

    @property
    def lengths(self) -> Array:
        """The length (m,) that each gap is compared with; 0 if there is none, and the coordinates serve."""
        return np.zeros(self.constraints) if isinstance(self.within, Gaps) else self.within.length

    def _gaps(self, copy: int, t: float, q: Array) -> Array:
        """The gaps of one copy, evaluated by the Python function."""
        return _value(self, "within", self.within.function, t, q, self.parameters[copy])

    def _check_start(self) -> None:
        """Refuse starts that violate constraints, and gaps that contradict `flat` or `moving`."""
        if not isinstance(self.within, Gaps):
            G, offset, _ = self.within
            gap, size = self.q0 @ G.T + offset, np.abs(self.q0) @ np.abs(G).T + np.abs(offset)
        else:
            gap = np.array([self._gaps(k, float(self.t0[k]), self.q0[k]) for k in range(len(self))])
            size = np.abs(gap) + np.abs(self.q0).max(axis=1, keepdims=True)
            for copy in sampled(len(self)):
                self._check_gaps(copy, gap[copy])
        if not np.isfinite(gap).all():
            raise NotFinite(f"a gap of copy {int(np.argwhere(~np.isfinite(gap))[0, 0])} is not finite at the start")
        bad = gap < -loops.PLACE_ROUND_OFF * size
        if bad.any():
            copy, row = (int(k) for k in np.argwhere(bad)[0])
            raise InfeasibleStart(
                f"q0 of copy {copy} is not admissible: gap {gap[copy, row]:.2e} in constraint {row}; "
                f"{int(bad.any(axis=1).sum())} of {len(self)} copies violate constraints. Change q0"
            )

    def _check_gaps(self, copy: int, start: Array) -> None:
        """Refuse gaps of a copy that move or are curved, if they should not; `start` (m,) are its gaps at the start."""
        q, t, length = np.array(self.q0[copy]), float(self.t0[copy]), self.within.length
        scale = np.abs(start).max(initial=0.0) + length
        where = f"the gaps of `within` of copy {copy} (parameters {self.parameters[copy].tolist()})"
        if not self.within.moving:
            for later in SAMPLED_TIMES:
                if np.abs(self._gaps(copy, t + later, q) - start).max(initial=0.0) > AFFINE_TOLERANCE * scale:
                    raise InvalidValue(f"{where} depend on t: use Gaps(function, moving=True)")
        if self.within.flat:
            for k in range(len(q)):
                step = np.zeros_like(q)
                step[k] = length
                curvature = self._gaps(copy, t, q + step) + self._gaps(copy, t, q - step) - 2.0 * start
                if np.abs(curvature).max(initial=0.0) > AFFINE_TOLERANCE * scale:
                    raise InvalidValue(f"{where} are not affine in q[{k}]: remove flat=True")


def sampled(n: int) -> list[int]:
    """Numbers of some of n copies, from the first to the last."""
    return [int(k) for k in np.unique(np.linspace(0, n - 1, SAMPLED_COPIES).astype(int))]


def _value(copies: Copies, name: str, function: Callable[..., Any], *given: Any) -> Array:
    """What a function returns when Python calls it, as an array with one index."""
    try:
        with np.errstate(all="ignore"):  # what is not finite is refused where it is used
            return np.asarray(function(*given), dtype=float).ravel()
    except IndexError as error:
        raise InvalidValue(f"{name} reads {_outside(copies)} ({error})") from error


def _outside(copies: Copies) -> str:
    """What is wrong with an index outside the arrays of one copy."""
    d, k = copies.q0.shape[1], copies.parameters.shape[1]
    return f"outside its arrays: q and u have {d} entr{'y' if d == 1 else 'ies'}, parameters {k}"


def _checked_force(force: Any, d: int) -> Any:
    if callable(force):
        return force
    constant = finite(force, "force")
    check_coordinates(constant, "force", (d,))
    if constant.shape not in ((), (d,)):
        raise InvalidValue(f"force has shape {constant.shape}, and q0 has {d} coordinates: give one entry for each")
    return np.array(np.broadcast_to(constant, d))


def _checked_within(within: Any, d: int) -> Any:
    """`Gaps` or `Planes`."""
    if within is None or isinstance(within, Free):
        # a row that is always open, because the loops need at least one
        return Planes(np.zeros((1, d)), np.ones(1), np.zeros(1))
    if isinstance(within, ConstraintSet):
        if not within.flat or within.moving is not False or within.equalities:
            raise InvalidValue(
                f"within must be a set of half-spaces at rest (HalfSpace, Box), or a function g(t, q, parameters), not "
                f"{within!r}"
            )
        contacts = within.linearise(0.0, np.zeros(d))
        here = np.isfinite(contacts.gap)
        G = np.ascontiguousarray(contacts.G.toarray()[here])
        return Planes(G, np.array(contacts.gap[here]), np.array(contacts.length[here]))
    return within if isinstance(within, Gaps) else Gaps(within)


def changed(copies: Copies, **values: Array) -> Copies:
    """The same copies with other values of some fields, which are not checked."""
    other = object.__new__(Copies)
    for name, value in {**vars(copies), **values}.items():
        object.__setattr__(other, name, value)
    return other


def chosen(copies: Copies, which: Any, **values: Array) -> Copies:
    """Some of the copies, with other values of some fields."""
    own = {name: getattr(copies, name)[which] for name in ("q0", "v0", "parameters", "restitution", "t0")}
    return changed(copies, **(own | values))


def walls(copies: Copies) -> tuple[Array, Array]:
    """The gaps (n, m) at the starts, and their gradients (n, m, d)."""
    if not isinstance(copies.within, Gaps):
        G, offset, _ = copies.within
        return copies.q0 @ G.T + offset, np.broadcast_to(G, (len(copies), *G.shape))
    _, rows = compiled(copies)
    n, d = copies.q0.shape
    gap, G = np.empty((n, copies.constraints)), np.empty((n, copies.constraints, d))
    for k in range(n):
        rows(float(copies.t0[k]), copies.q0[k], copies.parameters[k], gap[k], G[k])
    return gap, G


def compiled(copies: Copies) -> tuple[Any, Any]:
    """The force and the constraints, compiled by numba; `CannotCompile` if it cannot compile them."""
    from jostle.kernels import functions

    given, within = copies.force, copies.within
    d, k = copies.q0.shape[1], copies.parameters.shape[1]
    name = "force"
    try:
        force = functions.force_of(given, d, k) if callable(given) else functions.constant(given.tobytes())
        name = "within"
        if isinstance(within, Gaps):
            step = within.length if within.flat else functions.DIFFERENCE * within.length
            rows = functions.rows_of(within.function, within.gradient, step, d, k)
        else:
            rows = functions.planes(within.G, within.offset)
    except functions.CannotCompile as error:
        raise CannotCompile(
            f"{name} cannot be compiled by numba: {error}. Use numbers, tuples, NumPy arrays, and functions of "
            f"math and numpy that numba supports"
        ) from None
    _check_functions(copies)
    return force, rows


def _check_functions(copies: Copies) -> None:
    """Call the force and the gradient once, and refuse a number of values that does not fit."""
    d, m, t, q, own = copies.q0.shape[1], copies.constraints, float(copies.t0[0]), copies.q0[0], copies.parameters[0]
    gradient = copies.within.gradient if isinstance(copies.within, Gaps) else None
    calls: list[tuple[Any, str, tuple[Any, ...], int, str]] = [
        (copies.force, "force", (t, q, copies.v0[0], own), d, "coordinate"),
        (gradient, "gradient", (t, q, own), m * d, "gap and coordinate"),
    ]
    for function, name, given, size, each in calls:
        if callable(function) and (found := _value(copies, name, function, *given).size) != size:
            raise InvalidValue(f"{name} returned {found} numbers; it must return {size}, one for each {each}")


# The compiled loop over many copies: schemes, steps, threads, and the errors of copies that stopped.


STEPS_PER_CALL = 5_000_000
"""Number of steps of all copies between two checks for Ctrl-C: about one second on one core."""
DEFAULT_Z = 0.5
"""The only z of `Paoli` that the compiled loop supports."""


@dataclass(frozen=True)
class ByEvents:
    """Runge-Kutta flights of order 4 with exact impacts between them, for copies with flat constraints.

    Impacts are located on the flight to round-off, so that the motion depends smoothly on its start: orbits,
    multipliers and bifurcations have an error of order h^4. A sequence of ever shorter flights (e < 1) ends in a
    contact at rest once a flight is shorter than a thousandth of the step. Where a contact at rest opens, the error is
    of order h^2. Two impacts, or a dip below zero, inside one step are detected if the gap is well approximated by a
    cubic there. Walls may move, but not turn: their velocities and accelerations are differences over three quarters of
    a step to either side, so that the gaps must be smooth in t. Steps in which the motion changes too quickly are
    halved, also where a copy goes to infinity; the time of its escape is thereby known to round-off.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.vibro.Copies(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), restitution=0.5)
    >>> jo.vibro.advance(ball, jo.vibro.ByEvents(), t=0.6, h=0.1).v0.round(9).tolist()
    [[0.708203932]]
    """


CompiledScheme = ByEvents | Paoli | MoreauJean


class March:
    """Copies in motion. `go` does some steps; results do not depend on how the steps are divided among calls.

    With `ByEvents`, some tangents (dq, du) are followed: so many orthonormal ones and the logarithms of their growth,
    or those that are given (n, tangents, 2 d), with their changes of the parameters and of e (tangents, k + 1). A copy
    that stops ends the march with an error, unless its status is tolerated.
    """

    def __init__(
        self,
        copies: Copies,
        scheme: CompiledScheme | None,
        h: Array,
        hits: int = 0,
        tangents: int | Array = 0,
        directions: Array | None = None,
        tolerated: tuple[int, ...] = (),
    ):
        self.copies, self.scheme, self.tolerated = copies, ByEvents() if scheme is None else scheme, tolerated
        check_scheme(copies, self.scheme)
        n, d = copies.q0.shape
        self.functions, m = compiled(copies), copies.constraints
        self.h = np.array(np.broadcast_to(h, n))
        self.states = np.zeros((n, 3, d))
        self.states[:, 0], self.states[:, 1], self.states[:, 2] = copies.q0, copies.q0, copies.v0
        self.counts, self.touched = np.zeros((n, 3), np.int64), np.zeros((n, 2, m))
        self.touched[:, 1] = -np.inf  # no contact has closed yet
        self.hits = np.zeros((n, hits, 3))
        self.renewed = isinstance(tangents, int)
        if isinstance(tangents, int):
            tangents = np.linalg.qr(np.random.default_rng(0).normal(size=(2 * d, 2 * d)))[0][:tangents]
        count, k = tangents.shape[-2], copies.parameters.shape[1]
        self.tangents = np.zeros((n, count, 2 * d + 1))
        self.tangents[:, :, :-1] = tangents
        self.directions = np.zeros((count, k + 1)) if directions is None else directions
        self.grazing, self.escape = np.zeros((n, 1 + count)), np.full(n, np.inf)
        self.grazing[:, 0] = np.inf
        self.root = np.ascontiguousarray(1.0 / np.sqrt(copies.mass))
        self._check_resolution()

    def go(self, steps: int, sections: int, skipped: int = 0, kept: int = 0) -> Array:
        """Do `sections` times `steps` steps; return q and u (n, kept, 2 d) after the first `skipped` sections."""
        n, d = self.copies.q0.shape
        numbers = np.stack([self.copies.t0, self.h, self.copies.restitution], axis=1)
        written = self.states, self.counts, self.touched, self.hits, self.tangents, self.grazing, self.escape
        saved = np.full((n, kept, 2 * d), np.nan)
        pieces = cut(n, min(threads(), n))
        at_once = max(1, int(STEPS_PER_CALL * len(pieces) / max(n * steps, 1)))
        kernel = self._kernel()

        def work(first: int, last: int, done: int, count: int) -> None:
            own = slice(first, last)
            begin, end = (min(max(number - done, 0), count) for number in (skipped, skipped + kept))
            try:
                given = loops.Copies._make([array[own] for array in (numbers, self.copies.parameters, *written)])
                new, ends = kernel(given, steps, count, begin, end - begin)
            except IndexError as error:
                raise InvalidValue(f"force or within reads {_outside(self.copies)}") from error
            for array, value in zip(written, new[2:], strict=True):
                array[own] = value
            saved[own, done + begin - skipped : done + end - skipped] = ends

        for done in range(0, sections, at_once):
            together(work, [(*piece, done, min(at_once, sections - done)) for piece in pieces])
            self._check()
        return saved

    def _kernel(self) -> Callable[..., loops.Moved]:
        """The loop of the scheme for these functions."""
        from jostle.kernels import functions
        from jostle.kernels.cpu.copies import march
        from jostle.kernels.cpu.flights import fly

        copies = self.copies
        common = loops.Common(*self.functions, copies.flat, copies.moving, copies.lengths, self.root)
        if isinstance(self.scheme, ByEvents):
            glide = functions.glide_of(common.force, copies.q0.shape[1], copies.constraints)
            return partial(fly, common._replace(glide=glide, directions=self.directions, renewed=self.renewed))
        return partial(march, common, MOREAU_JEAN if isinstance(self.scheme, MoreauJean) else PAOLI)

    def _check_resolution(self) -> None:
        """Refuse coordinates so large that their round-off is not small beside the smallest length of a constraint."""
        sizes, lengths = np.abs(self.states[:, Q]), self.copies.lengths
        sizes = np.where(self.counts[:, STATUS, None] == GOES_ON, sizes, 0.0)
        copy, place = (int(k) for k in np.unravel_index(sizes.argmax(), sizes.shape))
        length = float(lengths.min(initial=np.inf, where=lengths > 0.0))
        if np.spacing(sizes[copy, place]) > COARSEST * length:
            beside = f"the smallest length of the constraints, {length:.3g}"
            raise too_far(f"q[{place}] of copy {copy}", float(sizes[copy, place]), beside)

    def _check(self) -> None:
        """Raise the error of the first copy that could not continue, or that is too far away."""
        status = self.counts[:, STATUS]
        stopped = np.flatnonzero((status != GOES_ON) & ~np.isin(status, self.tolerated))
        if len(stopped) == 0:
            self._check_resolution()
            return
        copy = int(stopped[0])
        what, remedy = self._reason(copy)
        where = (
            f"copy {copy} (parameters {self.copies.parameters[copy].tolist()}) in step {self.counts[copy, DONE] + 1}"
        )
        more = f"; {len(stopped)} of {len(self.copies)} copies stopped" if len(stopped) > 1 else ""
        error = NotFinite if status[copy] in (NOT_FINITE, ESCAPED) else NotConverged
        raise error(f"{where}, {self._time(copy)}: {what}{more}; {remedy}")

    def _time(self, copy: int) -> str:
        return f"t = {float(self.copies.t0[copy] + self.counts[copy, DONE] * self.h[copy]):.6g}"

    def _reason(self, copy: int) -> tuple[str, str]:
        """Why a copy stopped, and what to do."""
        status, shorter = int(self.counts[copy, STATUS]), "choose a shorter step h"
        if status == ESCAPED:
            return f"it escapes to infinity at t = {self.escape[copy]:.6g}", "end before, or use sections or basins"
        if status == NOT_FINITE:
            return "the force, a gap or the motion is not finite", shorter
        if status == NO_POINT:
            proof = "no admissible point or velocity was found; jo.solve proves whether there is one"
            return "the constraints contradict each other, up to round-off", proof
        if status == TOO_MANY_IMPACTS:
            return "too many impacts in one step", shorter
        within = self.copies.within
        differenced = not self.copies.flat and isinstance(within, Gaps) and within.gradient is None
        remedy = "give the gradient of the gaps, Gaps(function, gradient=...), or " if differenced else ""
        return "the nearest admissible point was not found", remedy + shorter

    def reasons(self) -> list[str]:
        """Why each copy stopped, and when; "" for those that did not."""
        stopped = self.counts[:, STATUS] != GOES_ON
        return [f"{self._reason(k)[0]} ({self._time(k)})" if stopped[k] else "" for k in range(len(self.copies))]

    @property
    def ends(self) -> Copies:
        """The copies in their present state."""
        t = self.copies.t0 + self.counts[:, 0] * self.h
        return changed(self.copies, q0=self.states[:, 0].copy(), v0=self.states[:, 2].copy(), t0=t)

    def impacts(self) -> tuple[Array, Integers]:
        """The last impacts (n, kept, 3) in the order of time, NaN where there were fewer, and their total numbers."""
        kept = self.hits.shape[1]
        count = self.counts[:, 2].copy()
        order = (count[:, None] + np.arange(kept)) % max(kept, 1)
        found = np.take_along_axis(self.hits, order[:, :, None], axis=1)
        found[np.arange(kept) < kept - count[:, None]] = np.nan
        return found, count


def check_scheme(copies: Copies, scheme: CompiledScheme) -> None:
    """Refuse constraints that the compiled loop of a scheme does not support."""
    if isinstance(scheme, Paoli) and (scheme.implicit or scheme.z != DEFAULT_Z):
        raise SchemeRefuses("the compiled loop supports Paoli's scheme with z = 1/2 and an explicit force only")
    if copies.moving and isinstance(scheme, Paoli):
        raise SchemeRefuses("Paoli does not support moving constraints; use ByEvents() or MoreauJean()")
    if isinstance(scheme, ByEvents) and not copies.flat:
        raise SchemeRefuses("ByEvents needs gaps that are affine in q; use Paoli() or MoreauJean()")
    if isinstance(scheme, ByEvents) and copies.moving:
        for copy in sampled(len(copies)):
            _check_normals(copies, copy)


def _check_normals(copies: Copies, copy: int) -> None:
    """Refuse moving gaps of a copy whose gradients depend on t."""
    q, t, length = np.array(copies.q0[copy]), float(copies.t0[copy]), copies.within.length

    def slopes(t: float) -> Array:
        below = copies._gaps(copy, t, q)
        return np.array([copies._gaps(copy, t, q + step) - below for step in length * np.eye(len(q))])

    start = slopes(t)
    for later in SAMPLED_TIMES:
        if np.abs(slopes(t + later) - start).max() > AFFINE_TOLERANCE * (np.abs(start).max() + length):
            raise SchemeRefuses(
                f"ByEvents needs walls that do not turn: dg/dq of `within` of copy {copy} depends on t; "
                "use MoreauJean()"
            )


def check_smooth(scheme: object, what: str) -> None:
    """Refuse a scheme whose motion does not depend smoothly on its start."""
    if not (scheme is None or isinstance(scheme, ByEvents)):
        raise SchemeRefuses(
            f"{what} need a motion that depends smoothly on its start; with {type(scheme).__name__} it does not, where "
            f"an impact moves from one step to the next. Use ByEvents()"
        )


def check_skip(skip: int, periods: int) -> None:
    """Refuse to leave out all periods."""
    if skip >= periods:
        raise InvalidValue(f"skip must be below periods = {periods}, not {skip}: no period would be left")


def step_of(period: ArrayLike, steps: int, n: int) -> Array:
    """(n,): the time step that divides a period (a number, or one per copy)."""
    T = finite(period, "period")
    if T.ndim > 1 or T.size not in (1, n) or not (T > 0.0).all():
        raise InvalidValue(f"period must be positive, a number or one for each of {n} copies, not of shape {T.shape}")
    return np.array(np.broadcast_to(T.ravel() / steps, n))
