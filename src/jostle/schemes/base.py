"""What all schemes share: the state, the refusals, and the projection on K_h with a checked cut-off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from jostle.arguments import check_fields
from jostle.arrays import Array, Integers
from jostle.convex.metric import Metric
from jostle.convex.projection import Projection
from jostle.errors import EmptySet, InvalidValue, LeftTheSet, NotFinite
from jostle.problems import Motion, Sweeping
from jostle.schemes.abilities import EXCHANGE, FIRST, MOVING, NOT_CONVEX, REASONS, SECOND, needs_of, refusal, remedy
from jostle.sets.base import ConstraintSet
from jostle.sets.contacts import CLOSED, Contacts, Reach, by_pair, check_start
from jostle.sets.crossings import Step
from jostle.sets.differences import Differences, wrong_entry
from jostle.sets.presence import Presence
from jostle.solvers.automatic import Automatic
from jostle.solvers.base import Solver

Found = TypeVar("Found")
WARM = 100
"""From so many rows on, a projection starts from the multipliers of the step before."""
WIDEN = 4.0
"""The first cut-off, as a multiple of the way that the fastest body would go, if all have the same,"""
MEAN, SPREAD = 0.5, 1.0
"""and what is added to the own way of each body for its first reach: so many times the mean, and the standard
deviation, of the ways of all that move. One that is pushed goes about as far as those who push it."""
CONVEX = "The linearised constraint keeps q in Q only where the gap is convex in q"
AHEAD = 1.5
"""The next reach, as a multiple of the way that was gone."""


class State(NamedTuple):
    """Where a run stands at time t.

    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> scheme = jo.Maury()
    >>> state = scheme.step(ball, scheme.start(ball, 0.0), h=0.1)
    >>> state.t, state.q.tolist(), state.u.tolist(), state.multipliers.tolist()
    (0.1, [0.9], [-1.0], [0.0])
    """

    t: float
    q: Array
    u: Array
    projection: Projection | None = None
    """The projection of the last step."""
    contacts: Contacts | None = None
    """The linearised constraints of the last step."""
    multipliers: Array = np.zeros(0)
    """p >= 0 per row of contacts: impulses (second order), or reactions u - U = G^T p (first order)."""
    memory: Any = None
    """What the scheme needs to remember beyond q and u."""
    overshoot: float = 0.0
    """The deepest overlap of q that ``projection.residual.primal`` does not bound, over the length of the contacts.

    `Maury` and `Venel` have one where they went through a curved wall (see `ConstraintSet.curved`); `MoreauJean`, and
    `Paoli` with e > 0, have one wherever bodies overlap, because they do not project q itself."""
    presence: Presence | None = None
    """Who is there; None: everyone."""
    duration: float = np.nan
    """The time over which the multipliers acted. NaN stands for the length of the step; see `Solution.duration`."""

    def linearise(self, within: ConstraintSet, t: float, reach: Reach) -> Contacts:
        """The contacts at q of those who are there, at time t."""
        if self.presence is None:
            return within.near(t, self.q, reach)
        return self.presence.linearise(within, t, self.q, reach)

    def still(self, u: Array) -> Array:
        """u, zero for those who are not there."""
        return u if self.presence is None else self.presence.still(u)

    def impulses_of(self, contacts: Contacts) -> Array | None:
        """The multipliers of the same pairs in the last step: where to start from; None where that does not pay."""
        if self.contacts is None or len(contacts.gap) < WARM or not self.multipliers.any():
            return None
        return by_pair(self.contacts.pairs, self.multipliers, contacts.pairs)


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """A time-stepping scheme. A new one defines `step`, and its `abilities` if it cannot do everything.

    >>> import jostle as jo
    >>> jo.Maury().check(jo.Motion(q0=[1.0], law=jo.Restitution(0.5)))
    Traceback (most recent call last):
    ...
    jostle.errors.SchemeRefuses: Maury is a scheme for e = 0, the problem has e = 0.5; use Paoli or MoreauJean
    """

    abilities: ClassVar[frozenset[str]] = frozenset(REASONS)
    """What the scheme can do, in the words of `schemes.abilities`; a problem that needs more is refused."""
    remembers: ClassVar[type[Any] | None] = None
    """The NamedTuple that `State.memory` is, for checkpoints; None if the scheme remembers nothing."""
    linearises: ClassVar[bool] = False
    """Does every step keep the constraints linearised at q^n, so that nothing crosses a wall with convex gaps?"""

    solver: Solver = field(default_factory=Automatic)

    def __post_init__(self) -> None:
        check_fields(self)

    def start(self, problem: Any, t: float) -> State:
        """The state at the first time."""
        self.check(problem)
        problem.within.memory = None  # runs from the same start have the same bits
        q, u, presence = problem.q0, getattr(problem, "v0", np.zeros_like(problem.q0)), problem.presence
        if presence is not None:
            presence = replace(presence, start=t)
            q, u = presence.placed(q), presence.still(u)
        state = State(t, q, u, presence=presence)
        check_start(state.linearise(problem.within, t, 0.0))
        return state

    def check(self, problem: Any) -> None:
        """Refuse, by name, what the scheme cannot do."""
        if not isinstance(problem, Motion | Sweeping):
            raise refusal(type(self).__name__, FIRST if SECOND in self.abilities else SECOND, problem)
        for need in REASONS:
            if need in needs_of(problem) - self.abilities:
                raise refusal(type(self).__name__, need, problem)

    def step(self, problem: Any, state: State, h: float) -> State:
        """One step of length h."""
        raise NotImplementedError

    def needs_everyone(self, problem: Any, state: State) -> None:
        """Refuse a state in which some bodies are not there."""
        if state.presence is not None:
            raise refusal(type(self).__name__, EXCHANGE, problem)

    def needs_still_set(self, problem: Any, state: State, h: float) -> None:
        """Refuse a set of which it is not known whether it moves, if its gaps at q change during the step."""
        if problem.within.moving is None and problem.within.moves((state.t, state.t + h), state.q):
            raise refusal(type(self).__name__, MOVING, problem)


def project_velocity(
    solver: Solver, within: ConstraintSet, state: State, h: float, w: Array, M: Metric
) -> tuple[Contacts, Projection]:
    """P_{K_h(t + h, q)} w for the state (t, q), Bernicot & Lefebvre-Lepot 2010 (1.13)."""

    def attempt(reach: Reach) -> tuple[Contacts, Projection, None]:
        contacts = state.linearise(within, state.t + h, reach)
        try:
            return contacts, solver.project(w, contacts.velocities(h), M, state.impulses_of(contacts)), None
        except EmptySet as error:
            if within.flat:
                raise
            where = "Linearised at the last q, that is: the set itself may have points left, out of its reach"
            raise EmptySet(f"{error}. {where}", error.rows, error.weights) from None

    return with_checked_reach(within, state, h, w, attempt)[:2]


def with_checked_reach(
    within: ConstraintSet,
    state: State,
    h: float,
    w: Array,
    attempt: Callable[[Reach], tuple[Contacts, Projection, Found]],
) -> tuple[Contacts, Projection, Found]:
    """attempt(reach), where pairs of bodies that are not expected to meet in a step of length h from w are left out.

    Afterwards it is checked that none of those left out did: either no body went further than its reach, or the
    linearised constraints of all that a longer reach adds hold too, so that they would have changed nothing. If not,
    it is done again with the longer reach.
    """
    reach = first_reach(h, w, state.u)
    while True:
        contacts, P, found = attempt(reach)
        way = h * _speeds(P.point)
        if not isinstance(contacts.reach, np.ndarray):
            way = 2.0 * way.max(initial=0.0)
        beyond = ~(way <= contacts.reach)
        if not np.any(beyond) or np.all(contacts.reach == np.inf):
            return contacts, P, found
        if not np.isfinite(way).all():
            raise NotFinite("the velocity that a projection returned is not finite")
        if np.any(beyond & (contacts.reach < reach)):
            part = float(np.max(way / contacts.reach))
            most = float(np.max(way)) / (1.0 if isinstance(contacts.reach, np.ndarray) else 2.0)
            raise InvalidValue(
                f"h = {h:g} is too large for the period: a body goes {most:g} in a step, and pairs are seen up to a "
                f"gap of {2.0 * most / part:g} only; choose h below {h / part:.2g}"
            )
        reach = np.maximum(reach, AHEAD * way)
        more = state.linearise(within, state.t + h, reach)
        new = by_pair(contacts.pairs, np.ones(len(contacts.pairs)), more.pairs) == 0.0
        if np.all(way <= more.reach) and (more.gap + h * (more.G @ P.point.ravel()) >= 0.0)[new].all():
            return contacts, P, found


def first_reach(h: float, w: Array, before: Array) -> Reach:
    """How far bodies may go in a step of length h from w: of each, or of any two if w does not say of which bodies.

    Who was pushed in the step before, faster than w, will be so again.
    """
    speeds = np.maximum(_speeds(w), _speeds(before))
    if w.ndim != 2:
        return float(WIDEN * h * speeds)
    moving = max(np.count_nonzero(speeds), 1)
    mean = speeds.sum() / moving
    spread = np.sqrt(max(0.0, speeds @ speeds / moving - mean * mean))  # zero if they overflow: the reach is infinite
    return np.asarray(h * (speeds + MEAN * mean + SPREAD * spread))


def _speeds(u: Array) -> Array:
    """(n,) of bodies (n, d), or that of the whole."""
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", u, u) if u.ndim == 2 else (u * u).sum()))


def check_inside(scheme: Scheme, problem: Any, state: State, t: float, q: Array) -> None:
    """If it is not known that the gaps are convex, check that q did not leave Q(t) in the step from the state."""
    if problem.within.convex_gaps is True:
        return
    within = problem.within.unknown_part()
    gaps = within.gaps(t, q)
    lowest = gaps.min(initial=0.0)
    if lowest >= 0.0:
        return
    contacts = within.linearise(t, q)
    allowed = (1.0 + scheme.solver.tol / CLOSED) * contacts.tolerance()
    if not (contacts.gap < -allowed).any():
        return
    row = int(np.argmin(contacts.gap + allowed))
    wrong = _wrong_gradient(within, t, state.q, contacts.pairs[row])
    raise LeftTheSet(
        f"{type(scheme).__name__} left the set: gap {contacts.gap[row]:.3e} in {contacts.describe(row)}. "
        + (wrong or f"{CONVEX}; {remedy(problem, NOT_CONVEX)}")
    )


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


def check_crossings(scheme: Scheme, within: ConstraintSet, before: State, after: State) -> None:
    """Refuse a step in which the centre of a body went through a wall: the next ones would not see that."""
    held = scheme.linearises and after.projection is not None and after.projection.converged
    overlap = np.inf if after.contacts is None else -float(after.contacts.gap.min(initial=0.0))
    found = within.crossing(Step((before.t, after.t), (before.q, after.q), held, overlap))
    if found is None:
        return
    h = after.t - before.t
    remedy = f"{found.clearance:.3g} is safe; choose h below {h * found.clearance / found.moved:.2g}"
    if found.moved < found.clearance:
        remedy = f"they had overlapped before; choose h below {h / 2.0:.2g}, or a solver that leaves no overlaps"
    raise LeftTheSet(
        f"the centre of body {found.body} went through {found.wall}: together they moved by {found.moved:.3g} in a "
        f"step of h = {h:.3g}, and {remedy}"
    )


def overshoot(within: ConstraintSet, state: State, contacts: Contacts, t: float, q: Array) -> float:
    """How far q is beyond a curved wall, over the length of the contacts: O(h^2), repaired by the next step.

    All other gaps are convex, so the residual of the linearised constraints bounds their overlaps.
    """
    return overlap(within.curved_part(), state, contacts, t, q) if within.curved else 0.0


def overlap(within: ConstraintSet, state: State, contacts: Contacts, t: float, q: Array) -> float:
    """The deepest overlap at q among those who are there, over the length of the contacts (as it is without one)."""
    if state.presence is None:
        deepest = within.gap(t, q)
    else:
        deepest = float(state.presence.linearise(within, t, q, 0.0).gap.min(initial=0.0))
    return max(0.0, -deepest) / (contacts.length or 1.0)
