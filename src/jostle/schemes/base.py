"""What all schemes share: `start`, the refusals, and `advance`, which does everything around the equation of a step."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from jostle._tools.arguments import check_fields
from jostle._tools.arrays import Array, Integers, lowest, read_only, to_host
from jostle._tools.citations import cite
from jostle._tools.plugins import Registry, is_of_jostle
from jostle.convex.metric import Metric
from jostle.errors import InvalidValue, LeftTheSet, NotFinite, SchemeRefuses
from jostle.kernels.parallel import all_finite
from jostle.problems import Motion, Sweeping
from jostle.schemes.state import State
from jostle.sets.base import ConstraintSet, margins, part_of, parts
from jostle.sets.contacts import CLOSED, Contacts, by_pair, check_bodies, check_owned, check_start, check_unchanged
from jostle.sets.differences import Differences, put_back, wrong_entry
from jostle.sets.presence import Presence
from jostle.sets.surfaces import Crossing, Step
from jostle.sets.user import UserSet, check_rest, differences_of, moves
from jostle.solvers.automatic import Automatic
from jostle.solvers.base import Solver


def _check_scheme(name: str, item: Any) -> None:
    if not (isinstance(item, type) and hasattr(item, "abilities") and hasattr(item, "step")):
        raise InvalidValue(f"the scheme {name!r} must be a class that inherits from jo.Scheme, not {item!r}")


SCHEMES: Registry[type[Scheme]] = Registry(
    "jostle.schemes",
    "scheme",
    {
        "maury": "jostle.schemes.maury:Maury",
        "gluey": "jostle.schemes.gluey:Gluey",
        "paoli": "jostle.schemes.paoli:Paoli",
        "moreau_jean": "jostle.schemes.moreau_jean:MoreauJean",
        "venel": "jostle.schemes.venel:Venel",
        "catching_up": "jostle.schemes.catching_up:CatchingUp",
    },
    _check_scheme,
)
"""All schemes by the name that scenario files use."""


# What problems need and schemes can do: a scheme refuses a problem that needs more, and names schemes that accept it.
#
# Each scheme class says what it can do, in `abilities`. A class that inherits this from another scheme is never
# recommended: it may solve another problem, as `Gluey` does.


SECOND, FIRST = "second order", "first order"
RESTITUTION, VARIABLE_MASS, MOVING = "restitution", "a variable mass", "a moving set"
NOT_CONVEX, EXCHANGE = "gaps that are not convex", "bodies that come and go"
METRIC, EQUALITIES = "a mass in first order", "equality constraints"
VARIED_RESTITUTION = "restitution that differs between contacts"
STIFF = "a StiffForce"
TURNING = "bodies that turn"
"""Needs of problems, which are abilities of schemes."""

REASONS = {
    SECOND: "solves first-order problems (Sweeping), not {kind}",
    FIRST: "solves second-order problems (Motion), not {kind}",
    RESTITUTION: "is a scheme for e = 0, the problem has {e}",
    VARIED_RESTITUTION: "reflects the whole configuration with one number e, the problem has {e}",
    VARIABLE_MASS: "needs a constant mass, the problem has M(q)",
    MOVING: "needs a set that does not move",
    NOT_CONVEX: "linearises the gaps and stays in Q only if they are convex in q, which these are not",
    EXCHANGE: "projects all bodies together, none may come or go",
    METRIC: "projects in the Euclidean metric, the problem has a mass",
    EQUALITIES: "has no room for equality constraints, and the problem has some",
    STIFF: "takes forces explicitly, and the force is a StiffForce",
    TURNING: "has no spin, and the bodies turn: the problem has friction, or clumps",
}
"""Why a scheme refuses a problem with a need that is not among its abilities."""


def needs_of(problem: Any) -> frozenset[str]:
    """What a scheme for the problem must be able to do, as far as the problem says.

    >>> import jostle as jo
    >>> sorted(needs_of(jo.Motion(q0=[1.0], law=jo.Restitution(0.5))))
    ['restitution', 'second order']
    """
    if not isinstance(problem, Motion | Sweeping):
        return frozenset()
    second, within = isinstance(problem, Motion), problem.within
    found = {
        SECOND: second,
        FIRST: not second,
        RESTITUTION: isinstance(problem, Motion) and problem.law.uniform != 0.0,
        VARIED_RESTITUTION: isinstance(problem, Motion) and problem.law.uniform is None,
        VARIABLE_MASS: isinstance(problem, Motion) and not isinstance(problem.mass, Metric),
        MOVING: within.moving is True,
        NOT_CONVEX: within.convex_gaps is False and not within.curved,
        EXCHANGE: problem.presence is not None,
        METRIC: isinstance(problem, Sweeping) and problem.mass is not None,
        EQUALITIES: within.equalities,
        STIFF: isinstance(problem, Motion) and problem.stiff is not None,
        TURNING: isinstance(problem, Motion) and problem.turning is not None,
    }
    return frozenset(need for need, there in found.items() if there)


def able(needs: frozenset[str]) -> dict[str, type[Scheme]]:
    """The schemes that meet all needs, by their names in scenario files.

    >>> list(able(frozenset({SECOND, RESTITUTION})))
    ['paoli', 'moreau_jean']
    """
    return {name: each for name, each in SCHEMES.items() if "abilities" in vars(each) and needs <= each.abilities}


def remedy(problem: Any, also: str | None = None) -> str:
    """What to do about a refusal: use schemes that accept the problem, or none does; `also` is one more need."""
    needs = needs_of(problem) | ({also} if also else set())
    names = [_imported_name(each) for each in able(needs).values()]
    if names:
        return f"use {in_words(names)}"
    frame = "; if the set moves as a whole, write the problem in its frame, where it rests" if MOVING in needs else ""
    return f"{nobody(needs)}{frame}"


def nobody(needs: frozenset[str]) -> str:
    """The sentence that no scheme meets all of these needs.

    >>> nobody(frozenset({SECOND, VARIABLE_MASS, MOVING}))
    'no known scheme solves a second-order problem with all of: a moving set, a variable mass'
    """
    order = "second-order" if SECOND in needs else "first-order"
    return f"no known scheme solves a {order} problem with all of: {', '.join(sorted(needs - {SECOND, FIRST}))}"


def in_words(names: list[str]) -> str:
    """The names as a choice.

    >>> in_words(["a", "b", "c"])
    'a, b or c'
    """
    return " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _imported_name(scheme: type[Scheme]) -> str:
    """The name of a scheme, with its module if it belongs to a plug-in."""
    inside = scheme.__module__.partition(".")[0] in ("jostle", "__main__")
    return scheme.__name__ if inside else f"{scheme.__module__}.{scheme.__name__}"


def refusal(scheme: str, need: str, problem: Any) -> SchemeRefuses:
    """The error for a problem with a need that the scheme does not meet."""
    if not isinstance(problem, Motion | Sweeping):
        wanted = "jo.Motion (second order) or jo.Sweeping (first order)"
        return SchemeRefuses(f"{scheme} {REASONS[need].format(kind=type(problem).__name__)}; give a {wanted}")
    one = problem.law.uniform if isinstance(problem, Motion) else 0.0
    e = "an e that differs between contacts or speeds" if one is None else f"e = {one:g}"
    why = REASONS[need].format(kind=type(problem).__name__, e=e)
    return SchemeRefuses(f"{scheme} {why}; {remedy(problem, need)}")


# What is checked and measured after each step, whatever the scheme.


MAX_EQUALITY_ERROR = 0.25
"""Largest error of an equality after a step, as a fraction of the most that the step could have changed its gap by: the
motion of the bodies, and of the set itself."""
NEARBY = 4.0
"""Rows whose gap before a step is at most this multiple of the longest displacement are looked at for convexity."""
CONVEX = "The linearised constraint keeps q in Q only where the gap is convex in q"


def check_finite(values: Array, name: str) -> None:
    """Raise `NotFinite`, naming the coordinate, if the positions or velocities of this name are not finite."""
    if not all_finite(values):
        body = tuple(int(k) for k in np.argwhere(~np.isfinite(values))[0])
        raise NotFinite(f"{name} {body} became {float(values[body])}")


def check_returned(name: str, before: State, after: Any) -> Contacts:
    """The contacts of what the step of a scheme returned; an error if it is no state, or its arrays do not fit."""
    if isinstance(after, State) and after.projection is not None and isinstance(after.contacts, Contacts):
        arrays = zip((after.q, after.u, after.multipliers), (before.q, before.q, after.contacts.gap), strict=True)
        if all(getattr(one, "shape", None) == other.shape and one.dtype == other.dtype for one, other in arrays):
            return after.contacts
    raise InvalidValue(
        f"the step of {name} must return a state with its projection and contacts: State(t + h, q, u, projection, "
        f"contacts, multipliers), q and u of {before.q.dtype} and of shape {before.q.shape}, and a multiplier for each "
        f"of its contacts"
    )


def check_inside(name: str, tol: float, problem: Motion | Sweeping, before: State, after: State) -> None:
    """Raise `LeftTheSet` if a linearised step left Q(t), where it is not known that the gaps are convex.

    `name` is that of the scheme, `tol` the tolerance of its solver.
    """
    t, q, within = after.t, after.q, part_of(problem.within, lambda Q: Q.convex_gaps is None)
    if lowest(margins(within, t, q), 0.0) >= 0.0:
        return
    contacts = within.near(t, q, np.inf)
    allowed = _round_off(tol, problem, contacts, before, after)
    if not (contacts.margin < -allowed).any():
        return
    row = int(np.argmin(contacts.margin + allowed))
    wrong = _wrong_gradient(within, t, before.q, contacts.pairs[row])
    raise LeftTheSet(
        f"{name} left the set: gap {contacts.gap[row]:.3e} in {contacts.describe(row)}. "
        + (wrong or f"{CONVEX}; {remedy(problem, NOT_CONVEX)}")
    )


def check_convexity(tol: float, within: ConstraintSet, before: State, after: State) -> None:
    """Raise `LeftTheSet` if a step shows that a user declares ``convex_gaps = True`` or ``convex=True`` wrongly.

    A convex gap is at least as large as its linearisation g + G (q' - q) at the q before the step, which the step kept
    >= 0. `tol` is the tolerance of the solver.
    """
    if before.presence is not None or after.projection is None or not after.projection.converged:
        return
    for Q in parts(within):
        of_user = isinstance(Q, UserSet)
        if Q.convex_gaps is not True or Q.equalities or (is_of_jostle(Q) and not of_user):
            continue
        if of_user and lowest(Q.gaps(after.t, after.q), 0.0) >= 0.0:  # without the gradient, which is costly
            continue
        here, way = Q.near(after.t, after.q, 0.0), after.q - before.q
        if lowest(here.gap, 0.0) >= 0.0:
            continue
        reach = np.inf if way.ndim == 1 else NEARBY * float(np.abs(way).max())
        start = Q.near(after.t, before.q, reach)
        linear = by_pair(start.pairs, start.gap + (start.G @ way.ravel()), here.pairs, -np.inf)
        below = to_host(here.gap - linear + (1.0 + tol / CLOSED) * here.tolerance(np.abs(way)))
        gap, name = to_host(here.gap), type(Q).__name__
        row = int(np.argmin(np.where(gap < 0.0, below, np.inf)))
        if gap[row] < 0.0 and below[row] < 0.0:
            said, remedy = f" of {name}", "correct the gradient G, or set convex_gaps to False or None"
            declared = f"{name} declares convex_gaps = True"
            if of_user:
                said, declared, remedy = "", "convex=True was given", "correct the gradient, or leave out convex=True"
            raise LeftTheSet(
                f"the gap of {here.describe(row)}{said} is {gap[row]:.3e} after a step, and by its linearisation "
                f"{float(linear[row]):.3e}, although {declared}: {remedy}"
            )


def check_kinds(within: ConstraintSet, contacts: Contacts, state: State) -> None:
    """Raise `InvalidValue` if a set names constraints or bodies that it does not have, or hides its equalities."""
    check_owned(repr(within), contacts.pairs, contacts.numbers)
    if state.q.ndim == 2:
        check_bodies(repr(within), contacts.pairs, len(state.q))
    if contacts.equal is not None and not within.equalities:
        raise InvalidValue(f"{within!r} has equalities but does not declare them: set equalities = True in its class")
    if within.equalities:
        equal = part_of(within, lambda Q: Q.equalities)
        found = equal.linearise(state.t, state.q)
        if len(found.gap) and (found.equal is None or not found.equal.all()):
            raise InvalidValue(
                f"{equal!r} declares that its constraints are equalities, but not all are: build its "
                f"Contacts with equal=, and put inequalities into another set"
            )


def check_equalities(name: str, tol: float, problem: Motion | Sweeping, before: State, after: State) -> None:
    """Raise `LeftTheSet` if an equality is violated by as much as the bodies and the set itself moved in the step.

    An error of second order in the step is small beside the step itself. Where it is not, the linearised equality has
    nothing to do with the true one: the step is too long, or the equalities cannot all hold. Motion is measured by the
    larger one of the speeds before and after the step, since a body that turns back moves by less than its speeds say.
    A gap that a longer step left, and that does not grow any more, is no error of this step.
    """
    contacts, equal = after.contacts, part_of(problem.within, lambda Q: Q.equalities)
    gap = equal.gaps(after.t, after.q)
    if contacts is None or contacts.equal is None or len(gap) == 0:
        return
    h = after.t - before.t
    furthest = max(
        float(np.abs(after.q - before.q).max()), h * float(np.abs(before.u).max()), h * float(np.abs(after.u).max())
    )
    moved = contacts.G.magnitude(np.full(after.q.size, furthest))[contacts.equal]
    allowed = MAX_EQUALITY_ERROR * moved + _round_off(tol, problem, contacts, before, after)[contacts.equal]
    if (np.abs(gap) <= allowed).all():
        return
    drift = np.abs(equal.near(after.t, before.q, np.inf).drifts(before.t, h)).max(axis=0)
    allowed += MAX_EQUALITY_ERROR * h * drift
    allowed = np.maximum(allowed, np.abs(equal.gaps(before.t, before.q)) + MAX_EQUALITY_ERROR * allowed)
    row = int(np.argmax(np.abs(gap) - allowed))
    if abs(gap[row]) <= allowed[row]:
        return
    there = np.flatnonzero(contacts.equal)[row]
    raise LeftTheSet(
        f"{name} left the set: gap {gap[row]:.3e} in {contacts.describe(int(there))}, after a step in which bodies "
        f"moved by up to {furthest:.3g}. The step is too long for the linearised equality, or the equalities cannot "
        f"all hold; choose h below {h / 2.0:.2g}"
    )


def _round_off(tol: float, problem: Motion | Sweeping, contacts: Contacts, before: State, after: State) -> Array:
    """(m,) how far the round-off of a step, and the tolerance of the solver, may leave the rows violated."""
    # A row without a length is compared with what the step moved: the way from q to q', and the displacement
    # h M^-1 G^T p that the projection took away, all that moves near the origin, where bodies are held at rest.
    tolerance, length = contacts.tolerance(np.abs(after.q - before.q)), contacts.length
    if after.contacts is not None and after.turning is None and not (length > 0.0).all():
        M, h = problem.metric(before.q), after.t - before.t
        push = h * M.norm(M.solve(after.contacts.G.adjoint(after.multipliers)))
        tolerance = tolerance + np.where(length > 0.0, 0.0, CLOSED * push * contacts.G.norms(M))
    return (1.0 + tol / CLOSED) * tolerance


def _wrong_gradient(within: ConstraintSet, t: float, q: Array, pair: Integers) -> str | None:
    """What is wrong with the gradient at q of the row of a pair, by differences of its gap; None if it is right."""
    here = within.linearise(t, q)
    rows = np.flatnonzero((here.pairs == pair).all(axis=1))
    if len(rows) != 1 or len(within.gaps(t, q)) != len(here.gap):
        return None
    given = here.G.rows(rows).toarray()
    found = Differences(lambda time, place: within.gaps(time, place)[rows]).search(t, q, here.gap[rows])
    wrong = wrong_entry(given, found)
    if wrong is None:
        return None
    return (
        f"Its gradient is wrong: d/dq[{wrong[1]}] is {given[wrong]:.6g} at t = {t:g}, and differences of the gap give "
        f"{found.G[wrong]:.6g}; correct the gradient of the set"
    )


def check_depth(within: ConstraintSet, before: State, after: State) -> None:
    """Raise `LeftTheSet` if a constraint of the user is violated by more than the length that was given for it."""
    for Q in parts(within):
        if not isinstance(Q, UserSet) or not Q.length or Q.equalities:
            continue
        gap = Q.gaps(after.t, after.q)
        row = int(np.argmin(gap)) if len(gap) else 0
        if len(gap) and gap[row] < -Q.length:
            h = after.t - before.t
            raise LeftTheSet(
                f"constraint {row} of {Q.name} is {gap[row]:.3e} after a step of h = {h:.3g}, violated by more than "
                f"its length {Q.length:g}: a body may have gone through; choose h below "
                f"{h * Q.length / -gap[row] / 2.0:.2g}"
            )


def check_crossings(linearises: bool, sets: tuple[ConstraintSet, ...], before: State, after: State) -> None:
    """Raise `LeftTheSet` if the centre of a body went through a wall or a ball: the next steps would not notice.

    `linearises` says whether the scheme keeps the constraints linearised at the state before.
    """
    for Q in sets:
        if Q.crossing is not None:
            held = linearises and after.projection is not None and after.projection.converged
            gaps = None if after.contacts is None else after.contacts.gap
            found = Q.crossing(Step((before.t, after.t), (before.q, after.q), held, gaps))
            if found is not None:
                raise _went_through(found, after.t - before.t)


def _went_through(found: Crossing, h: float) -> LeftTheSet:
    """The error that says which body went through which wall, and which step would be safe."""
    remedy = f"{found.clearance:.3g} is safe; choose h below {h * found.clearance / found.moved:.2g}"
    if found.moved < found.clearance:
        remedy = f"they had overlapped before; choose h below {h / 2.0:.2g}, or a solver that leaves no overlaps"
    return LeftTheSet(
        f"the centre of body {found.body} went through {found.wall}: together they moved by {found.moved:.3g} in a "
        f"step of h = {h:.3g}, and {remedy}"
    )


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """A time-stepping scheme. A new one inherits from this class and defines `step`.

    Parameters
    ----------
    solver : Solver, default Automatic()
        Solves the projection of each step.

    Attributes
    ----------
    abilities : frozenset of str
        What the scheme can do, in the words of `jostle.schemes.base`; a problem that needs more is refused. By
        default everything.
    remembers : type or None
        The NamedTuple class of `State.memory`, for checkpoints; None if the scheme remembers nothing.
    linearises : bool
        True if every step keeps the constraints linearised at q^n, so that nothing crosses a wall with convex gaps.
    theta : float
        Weight of the new velocity in the move of positions, at which a `StiffForce` is taken; 0: it is not.
    balances : bool
        True if M (u^{n+1} - u^n) - G^T p is the impulse of the force in each step, so that stiff forces are noticed.
    on_devices : bool
        True if `step` takes arrays of CuPy as well; otherwise runs on a GPU are refused.

    Examples
    --------
    >>> import jostle as jo
    >>> jo.Maury().check(jo.Motion(q0=[1.0], law=jo.Restitution(0.5)))
    Traceback (most recent call last):
    ...
    jostle.errors.SchemeRefuses: Maury is a scheme for e = 0, the problem has e = 0.5; use Paoli or MoreauJean
    """

    abilities: ClassVar[frozenset[str]] = frozenset(REASONS)
    remembers: ClassVar[type[Any] | None] = None
    linearises: ClassVar[bool] = False
    theta: ClassVar[float] = 0.0
    balances: ClassVar[bool] = False
    on_devices: ClassVar[bool] = False
    solver: Solver = field(default_factory=Automatic)

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    def cite(cls, *, bibtex: bool = True) -> str:
        """Name the papers of the scheme.

        Parameters
        ----------
        bibtex : bool
            Whether to return BibTeX entries, or lines of text.

        Returns
        -------
        str
            One entry for each paper, as `jo.cite` returns them.

        Examples
        --------
        >>> import jostle as jo
        >>> jo.Maury.cite().splitlines()[0]
        '@article{bernicot2010,'
        """
        return cite(cls, bibtex=bibtex)

    def start(self, problem: Any, t: float) -> State:
        """The state at the start of a run.

        Parameters
        ----------
        problem : Motion or Sweeping
            The problem.
        t : float
            Start time.

        Returns
        -------
        State
            The state with q0 and v0.

        Raises
        ------
        SchemeRefuses
            If the scheme cannot solve the problem.
        InfeasibleStart
            If q0 is not in the admissible set.
        """
        self.check(problem)
        put_back(differences_of(problem.within), None)  # runs from the same start have the same bits
        q, u, presence = problem.q0, getattr(problem, "v0", np.zeros_like(problem.q0)), problem.presence
        state = State(t, q, u, turning=getattr(problem, "turning", None))
        if presence is not None:
            state = state.with_presence(replace(presence, start=t))
        seen = state.of_balls(problem.bodies)
        contacts = state.within(problem.within).near(t, seen.q, 0.0)
        check_kinds(problem.within, contacts, seen)
        check_start(contacts)
        return state

    def check(self, problem: Any) -> None:
        """Refuse a problem that the scheme cannot solve.

        Parameters
        ----------
        problem : Motion or Sweeping
            The problem.

        Raises
        ------
        SchemeRefuses
            If the problem needs more than the `abilities` of the scheme; the message names schemes that accept it.
        """
        if not isinstance(problem, Motion | Sweeping):
            raise refusal(type(self).__name__, FIRST if SECOND in self.abilities else SECOND, problem)
        for need in REASONS:
            if need in needs_of(problem) - self.abilities:
                raise refusal(type(self).__name__, need, problem)

    def step(self, problem: Any, state: State, h: float) -> State:
        """One step of length h: the equation of the scheme, and nothing else.

        Parameters
        ----------
        problem : Motion or Sweeping
            The problem of the bodies that are present: the others have no contacts, no force and no velocity, and
            `advance` puts them back aside after the step.
        state : State
            The state before the step.
        h : float
            Time step.

        Returns
        -------
        State
            The state after the step, with its projection, contacts and multipliers.
        """
        raise NotImplementedError

    def projects_positions(self, problem: Any) -> bool:
        """Whether the residual of a step bounds the overlaps of its q; otherwise they are measured.

        Parameters
        ----------
        problem : Motion or Sweeping
            The problem.

        Returns
        -------
        bool
            True if the residual of a step bounds the overlaps of its q.
        """
        return self.linearises

    def advance(self, problem: Any, state: State, h: float, t_next: float | None = None) -> State:
        """One step with all its checks and measurements.

        Parameters
        ----------
        problem : Motion or Sweeping
            The problem.
        state : State
            The state before the step.
        h : float
            Time step.
        t_next : float, optional
            Exact time that the step leads to. None: ``state.t + h``.

        Returns
        -------
        State
            The state after the step.

        Raises
        ------
        SchemeRefuses
            If the set moves, or bodies come and go, and the scheme cannot do that.
        NotFinite
            If a position, or a velocity of a scheme of your own, becomes NaN or infinite.
        LeftTheSet
            If the step left the admissible set, or the centre of a body went through a wall or a ball.
        """
        there = problem if state.presence is None else problem.of_those_present(state.presence)
        if state.presence is not None and EXCHANGE not in self.abilities:
            raise refusal(type(self).__name__, EXCHANGE, problem)
        sets, before = parts(problem.within), state if state.turning is None else state.of_balls(problem.bodies)
        if MOVING in self.abilities:
            check_rest(sets, (state.t, state.t + h), before.q)
        elif moves(sets, (state.t, state.t + h), before.q) and problem.within.moving is None:
            raise refusal(type(self).__name__, MOVING, problem)
        after = self.step(there, state, h)
        contacts = check_returned(type(self).__name__, state, after)
        if isinstance(state.contacts, Contacts):  # those of a checkpoint are pairs and normals alone
            check_unchanged(repr(problem.within), contacts.numbers, state.contacts.numbers, state.t)
        if state.presence is not None:
            after = self._aside(after, state.presence)
        told = after.duration is not state.duration and after.duration == after.duration  # neither copied nor NaN
        after = State(
            after.t if t_next is None else t_next,
            read_only(after.q),
            read_only(after.u),
            after.projection,
            after.contacts,
            after.multipliers,
            after.memory,
            self._overshoot(there, after, t_next),
            state.presence,
            after.duration if told else h,
            after.turning,
        )
        check_finite(after.q, "position")
        if after.turning is not None:
            check_finite(after.turning.spin, "spin")
        if not is_of_jostle(self):  # in schemes of jostle q would not be finite either
            check_finite(after.u, "velocity")
            check_finite(after.multipliers, "multiplier")
        within, seen = there.within, after if after.turning is None else after.of_balls(problem.bodies)
        if not self.linearises:
            check_depth(within, before, seen)
        elif within.convex_gaps is not True:
            check_inside(type(self).__name__, self.solver.tol, there, before, seen)
        if within.equalities:
            check_equalities(type(self).__name__, self.solver.tol, there, before, seen)
        check_crossings(self.linearises, sets, before, seen)
        return after

    def _aside(self, after: State, presence: Presence) -> State:
        """The state with those who are not present aside, where a scheme may leave NaN; an error if they move."""
        moved = ~presence.here & (np.nan_to_num(after.u) != 0.0).any(axis=1)
        if moved.any():
            raise InvalidValue(
                f"{type(self).__name__} moved body {int(np.argmax(moved))}, which is not present: a matrix of mass, "
                f"stiffness or damping that couples bodies needs all of them; give one number per body"
            )
        return after.with_presence(presence)

    def _overshoot(self, problem: Any, after: State, t_next: float | None) -> float:
        """The deepest overlap of the new q that the residual of the projection does not bound."""
        t, within = after.t if t_next is None else t_next, problem.within
        q = after.q if after.turning is None else after.of_balls(problem.bodies).q
        bounded = self.projects_positions(problem) and is_of_jostle(self)  # others may move what they projected
        if not bounded or problem.bodies.clumped is not None:
            return float(within.overlap(t, q)) if all_finite(q) else np.inf
        return float(part_of(within, lambda Q: Q.curved).overlap(t, q)) if within.curved else 0.0
