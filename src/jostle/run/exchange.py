"""Bodies that come and go during a run, by ``solve(..., changes=...)``.

A change is a function of the state after a step that returns the state to continue from; `Source` and `Outlet` are two.
All bodies are in the problem from the start; `present` says who is present (see `sets.presence`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Natural, Positive, accepts, check_arguments, described
from jostle._tools.arrays import Array, Booleans, Integers, finite, numbers, read_only
from jostle.contacts import check_start
from jostle.errors import InvalidValue
from jostle.problems import Change, Motion, Sweeping, carried, check_coordinates
from jostle.schemes.checks import check_finite
from jostle.schemes.state import State
from jostle.sets.base import ConstraintSet, nearest_call, of_present
from jostle.sets.presence import GONE, PRESENT, Presence

RATE_TOLERANCE = 1e-12
"""A body is due if rate times time reaches its number up to this fraction."""


@check_arguments
@dataclass(frozen=True, eq=False)
class Outlet:
    """Take bodies out of a run, such as those that left a silo or a room; an argument of ``solve(..., changes=...)``.

    Parameters
    ----------
    leaves : callable (q) -> array of bool, shape (n,)
        Which bodies leave after a step, from their positions q, shape (n, d).

    Examples
    --------
    >>> import jostle as jo
    >>> rain = jo.Motion(q0=[[0.0, 1.0], [3.0, 2.0]], force=[0.0, -1.0], within=jo.Balls([0.5, 0.5]))
    >>> sol = jo.solve(rain, jo.Maury(), t=1.7, h=0.1, changes=jo.Outlet(lambda q: q[:, 1] < 0.0))
    >>> np.isfinite(sol.q[-1]).all(axis=1).tolist()                       # the first one is gone
    [False, True]
    """

    leaves: Callable[[Array], Booleans]

    def __call__(self, state: State) -> State:
        presence = state.presence or Presence.of(state.q, np.ones(len(state.q), dtype=bool))
        here = presence.here
        leaves = np.asarray(self.leaves(state.q))
        if leaves.shape != here.shape or leaves.dtype != bool:
            raise InvalidValue(
                f"leaves(q) must return one True or False for each body, shape {here.shape}; it returned shape "
                f"{leaves.shape} and type {leaves.dtype} at t = {state.t:g}"
            )
        going = here & leaves
        if not going.any():
            return state
        return state.with_presence(presence.changed(going, GONE))


@check_arguments
@dataclass(frozen=True, eq=False, init=False)
class Source:
    """Let waiting bodies into a run at random places of a box; an argument of ``solve(..., changes=...)``.

    Bodies come in in the order of their numbers. A place must be free: a body that finds none tries again after the
    next step, at another place.

    Parameters
    ----------
    box : (array_like, array_like)
        Lower and upper corner of the box, shape (d,) each.
    rate : float
        Number of bodies that come in per unit of time; positive.
    within : ConstraintSet
        The admissible set of the problem; a body comes in where it violates no constraint.
    velocity : array_like, shape (d,), default 0.0
        Velocity of the bodies that come in.
    seed : int, default 0
        Seed of the random places; the same seed gives the same places.

    Attributes
    ----------
    lower : array, shape (d,)
        Lower corner of the box.
    upper : array, shape (d,)
        Upper corner of the box.
    number : int
        Number that distinguishes several sources of a run.

    Examples
    --------
    >>> import jostle as jo
    >>> within = jo.Balls(np.full(20, 0.4)) & jo.Box([0, 0], [4, np.inf], radii=0.4)
    >>> rain = jo.Motion(q0=np.zeros((20, 2)), force=[0.0, -1.0], within=within, present=np.zeros(20, dtype=bool))
    >>> source = jo.Source(([0.5, 6], [3.5, 9]), rate=5.0, within=within)
    >>> sol = jo.solve(rain, jo.Maury(), t=3.0, h=0.02, changes=source)
    >>> int(np.isfinite(sol.q[-1]).all(axis=1).sum())
    15
    """

    lower: Array
    upper: Array
    rate: float
    within: ConstraintSet
    velocity: Array
    seed: int
    number: int

    def __init__(
        self,
        box: tuple[ArrayLike, ArrayLike],
        *,
        rate: Positive,
        within: ConstraintSet,
        velocity: ArrayLike = 0.0,
        seed: Natural = 0,
    ):
        lower, upper = finite(box[0], "box"), finite(box[1], "box")
        if lower.shape != upper.shape or (lower > upper).any():
            raise InvalidValue(f"a source needs a box (lower, upper), not {lower.tolist()}, {upper.tolist()}")
        speed = finite(velocity, "velocity")
        check_coordinates(speed, "velocity", lower.shape)
        number = zlib.crc32(b"".join(part.tobytes() for part in (lower, upper, np.float64(rate), speed)) + b"%d" % seed)
        values = {"lower": lower, "upper": upper, "rate": float(rate), "within": within, "seed": seed, "number": number}
        for name, value in {**values, "velocity": speed}.items():
            object.__setattr__(self, name, value)

    def told_apart(self, number: int) -> Source:
        """The same source under another number.

        Parameters
        ----------
        number : int
            Number that distinguishes the source from other sources of the run.

        Returns
        -------
        Source
            A copy with this number.
        """
        other = copy(self)
        object.__setattr__(other, "number", number)
        return other

    def __call__(self, state: State) -> State:
        presence = state.presence
        if presence is None or len(presence.waiting) == 0:
            return state
        waiting = presence.waiting
        come = dict(presence.entered).get(self.number, 0)
        due = int(np.floor(self.rate * (state.t - presence.start) * (1.0 + RATE_TOLERANCE))) - come
        candidates = waiting[: max(due, 0)]
        if len(candidates) == 0:
            return state
        self._check_dimension(state.q.shape[1])
        q, u = state.q.copy(), state.u.copy()
        moment = int(np.float64(state.t).view(np.uint64))
        q[candidates] = [
            np.random.default_rng([self.seed, int(body), moment]).uniform(self.lower, self.upper) for body in candidates
        ]
        u[candidates] = self.velocity
        refused = self._overlapping(presence.changed(candidates, PRESENT), state.t, q, candidates)
        presence = presence.let_in(self.number, np.setdiff1d(candidates, refused))
        return state.replace(q=q, u=u).with_presence(presence)

    def _check_dimension(self, d: int) -> None:
        """Refuse a box and a velocity that are not those of bodies with d coordinates."""
        for name, value, shapes in (("box", self.lower, ((d,),)), ("velocity", self.velocity, ((), (d,)))):
            if value.shape not in shapes:
                raise InvalidValue(
                    f"the {name} of a source has shape {value.shape}, and bodies have {d} coordinates: give {d} numbers"
                )

    def _overlapping(self, presence: Presence, t: float, q: Array, candidates: Integers) -> Integers:
        """The candidates that overlap something; if two of them overlap, the later one."""
        contacts = of_present(self.within, presence).linearise(t, q, 0.0)
        first, second = contacts.pairs[contacts.gap < 0.0].T
        new = np.zeros(len(q), dtype=bool)
        new[candidates] = True
        return np.unique(np.where(new[np.maximum(second, 0)] & (second >= 0), second, first))


def changes_of_run(problem: Motion | Sweeping, changes: Any) -> tuple[Change, ...]:
    """The changes of a problem and those given for its run; sources that are equal get different numbers."""
    given = () if changes is None else tuple(changes) if isinstance(changes, list | tuple) else (changes,)
    own = tuple(carried(problem, "changes"))
    acting: list[Change] = []
    taken: set[int] = set()
    for one in (*own, *given):
        if not callable(one) or not accepts(one, 1):
            wanted = "changes must be functions of the state, such as jo.Outlet(...)"
            raise InvalidValue(f"{wanted}, not {described(one)}")
        if isinstance(one, Source):
            number = one.number
            while number in taken:
                number += 1
            taken.add(number)
            one = one if number == one.number else one.told_apart(number)
        acting.append(one)
    again = [described(one) for one in given if any(_same(one, other) for other in own)]
    if again:
        raise InvalidValue(
            f"changes= has what {type(problem).__name__}.changes() says already, and would act twice: leave out "
            f"{', '.join(again)}"
        )
    return tuple(acting)


def _same(one: Any, other: Any) -> bool:
    """Whether two changes are the same one, perhaps made anew: equal sources, or functions of the same source lines."""
    if isinstance(one, Source) and isinstance(other, Source):
        return one.number == other.number
    if isinstance(one, Outlet) and isinstance(other, Outlet):
        return _same(one.leaves, other.leaves)
    if isinstance(one, FunctionType) and isinstance(other, FunctionType) and one.__code__ is other.__code__:
        cells = zip(one.__closure__ or (), other.__closure__ or (), strict=True)
        return all(mine is its or mine.cell_contents is its.cell_contents for mine, its in cells)
    return one is other


def changed(problem: Motion | Sweeping, state: State, acting: Sequence[Change]) -> State:
    """The state after all changes; a body that came in or was moved must not overlap anything."""
    before, within, bodies = state, problem.within, problem.bodies
    for change in acting:
        state = change(state)
        if not isinstance(state, State):
            raise InvalidValue(f"a change must return a state, such as state.replace(u=...), not {state!r}")
    if state is before:
        return state
    if state.t != before.t:
        raise InvalidValue(
            f"a change must keep the time of the state, t = {before.t:g}; it returned t = {state.t:g}: t and h of "
            f"solve give the times of a run"
        )
    if state.q is not before.q:
        state = state.replace(q=_own(state.q, before.q, "q"))
    if state.w is not before.w:
        state = state.replace(u=_own(state.u, before.u, "u"))
    if state.presence is not None and bodies.parts is not None:
        raise InvalidValue(f"{bodies.several} cannot come and go: leave out sources and outlets, or use jo.Balls")
    here = None if state.presence is None else state.presence.here
    for name, value in ("q", state.q), ("u", state.u):
        there = value if here is None else np.where(here[:, None], value, 0.0)
        check_finite(there, f"{name} of the changed state, entry")
    moved = (state.q if here is None else np.where(here[:, None], state.q, before.q)) != before.q
    now, then = state.pose.orientation, before.pose.orientation
    if bodies.parts is not None and now is not then and now is not None and then is not None:
        turned = (now != then).reshape(len(now), -1).any(axis=1)
        moved = moved | (turned[:, None] if moved.ndim == 2 else turned)
    first_left = before.presence is None and here is not None  # whether the set allows that is checked once
    if moved.any() or first_left:
        present, places = state.within(within), state.centres
        contacts = present.linearise(state.t, places, 0.0)
        first, second = (np.where(ball < 0, ball, bodies.owners(ball)) for ball in contacts.pairs.T)
        if moved.ndim == 2 and (first >= 0).all():
            body = moved.any(axis=1)
            contacts = contacts.only(np.flatnonzero(body[first] | ((second >= 0) & body[np.maximum(second, 0)])))
        terms = state.pose.terms
        check_start(contacts, nearest_call(present, state.t, "q"), "the q that a change returned", terms)
    return state


def _own(changed: Array, before: Array, name: str) -> Array:
    """q or u of a changed state: a read-only copy of the same shape."""
    array = numbers(changed, f"the {name} of the state that a change returned")
    if array.shape != before.shape:
        raise InvalidValue(f"a change must keep the shape of {name}, {before.shape}; it returned {array.shape}")
    return read_only(array)
