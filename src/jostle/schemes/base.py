"""What all schemes share: `start`, and `advance`, which does everything around the equation of a step."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from jostle._tools.arguments import NamedArguments, check_fields
from jostle._tools.arrays import read_only
from jostle._tools.citations import cite
from jostle._tools.frozen import with_fields
from jostle.contacts import Contacts, check_start, check_unchanged
from jostle.errors import InvalidValue
from jostle.kernels.parallel import all_finite
from jostle.problems import Motion, Sweeping
from jostle.schemes.capabilities import EXCHANGE, FIRST, MOVING, REASONS, SECOND, needs_of, refusal
from jostle.schemes.checks import (
    check_crossings,
    check_depth,
    check_equalities,
    check_finite,
    check_inside,
    check_kinds,
    check_resolution,
    check_rest,
    check_returned,
    moves,
)
from jostle.schemes.state import State
from jostle.sets.base import nearest_call, part_of, parts
from jostle.sets.presence import Presence
from jostle.sets.user import differences_of
from jostle.solvers.automatic import Automatic
from jostle.solvers.base import Solver


@dataclass(frozen=True, kw_only=True)
class Scheme(NamedArguments):
    """A time-stepping scheme. A new one inherits from this class and defines `step`.

    Parameters
    ----------
    solver : Solver, default Automatic()
        Solves the projection of each step.

    Attributes
    ----------
    capabilities : frozenset of str
        What the scheme can do, in the words of `jostle.schemes.capabilities`; a problem that needs more is refused. By
        default everything.
    memory_type : type or None
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

    capabilities: ClassVar[frozenset[str]] = frozenset(REASONS)
    memory_type: ClassVar[type[Any] | None] = None
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
        for differences in differences_of(problem.within):  # runs from the same start have the same bits
            differences.restore(None)
        state, presence = State(t, problem.pose0, problem.w0), problem.presence
        if presence is not None:
            state = state.with_presence(replace(presence, start=t))
        check_resolution(problem, state)
        there = state.within(problem.within)
        contacts = there.contacts(t, state.pose, 0.0)
        check_kinds(problem.within, contacts, state)
        nearest = nearest_call(there, t, "q0")
        check_start(contacts, nearest, terms=state.pose.terms, allowed=self.overlap_at_start(problem))
        return state

    def overlap_at_start(self, problem: Any) -> float:
        """The largest overlap of q0 that is accepted, as a fraction of the length of a contact.

        Parameters
        ----------
        problem : Motion or Sweeping
            The problem.

        Returns
        -------
        float
            0, up to round-off; a scheme whose steps leave overlaps accepts these, so that a run can go on from them.
        """
        return 0.0

    def check(self, problem: Any) -> None:
        """Refuse a problem that the scheme cannot solve.

        Parameters
        ----------
        problem : Motion or Sweeping
            The problem.

        Raises
        ------
        SchemeRefuses
            If the problem needs more than the `capabilities` of the scheme; the message names schemes that accept it.
        """
        if not isinstance(problem, Motion | Sweeping):
            raise refusal(type(self).__name__, FIRST if SECOND in self.capabilities else SECOND, problem)
        for need in REASONS:
            if need in needs_of(problem) - self.capabilities:
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

    def begun(self, problem: Any, state: State, h: float) -> State:
        """The state that a step of length h begins with: after an impact at the start that a step takes first.

        Parameters
        ----------
        problem : Motion or Sweeping
            The problem.
        state : State
            The state before the step.
        h : float
            Time step.

        Returns
        -------
        State
            The state itself; or the state after the impact, with its contacts and impulses.
        """
        return state

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
        """One step with all its checks and measurements, without the changes of the problem, which `solve` applies.

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
        if state.presence is not None and EXCHANGE not in self.capabilities:
            raise refusal(type(self).__name__, EXCHANGE, problem)
        sets, span = parts(problem.within), (state.t, state.t + h)
        if MOVING in self.capabilities:
            check_rest(sets, span, state.centres)
        elif moves(sets, span, state.centres) and problem.within.moving is None:
            raise refusal(type(self).__name__, MOVING, problem)
        after = self.step(there, state, h)
        ours = type(self).__module__.startswith("jostle.")
        if not ours:
            check_returned(type(self).__name__, state, after)
        assert after.contacts is not None
        if isinstance(state.contacts, Contacts):  # those of a checkpoint are pairs and normals alone
            check_unchanged(problem.within, after.contacts.constraint_count, state.contacts.constraint_count, state.t)
        if state.presence is not None:
            after = self._aside(after, state.presence)
        time = after.impulse_time
        after = with_fields(
            after,
            t=after.t if t_next is None else t_next,
            overshoot=self._overshoot(there, after, ours, t_next),
            presence=state.presence,
            impulse_time=h if time is state.impulse_time or time != time else time,  # not copied and not NaN
        )
        read_only(after.q)
        read_only(after.w)
        check_resolution(there, after)
        if after.pose.orientation is not None and after.spin is not None:
            check_finite(after.spin, "spin")
        if not ours:  # in schemes of jostle q would not be finite either
            check_finite(after.u, "velocity")
            check_finite(after.multipliers, "multiplier")
        within = there.within
        if not self.linearises:
            check_depth(within, state, after)
        elif within.convex_gaps is not True and after.projection is not None and after.projection.converged:
            check_inside(type(self).__name__, self.solver.tol, there, state, after)
        if within.equalities:
            check_equalities(type(self).__name__, self.solver.tol, there, state, after)
        check_crossings(self.linearises, sets, state, after)
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

    def _overshoot(self, problem: Any, after: State, ours: bool, t_next: float | None) -> float:
        """The deepest overlap of the new q that the residual of the projection does not bound.

        A scheme that is not one of jostle (`ours`) may move what it projected.
        """
        t, within = after.t if t_next is None else t_next, problem.within
        if not (ours and self.projects_positions(problem)) or problem.bodies.parts is not None:
            return float(within.overlap_in(t, after.pose)) if all_finite(after.centres) else np.inf
        behind = float(part_of(within, lambda Q: Q.curved).overlap_in(t, after.pose)) if within.curved else 0.0
        return max(behind, after.overshoot)
