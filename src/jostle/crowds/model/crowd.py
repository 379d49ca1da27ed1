"""People who leave a room or a building: Venel 2009, section 4.2.

Everyone wants to walk to an exit. The actual velocities are the nearest ones for which discs neither overlap nor cross
walls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Natural, check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, finite
from jostle.contacts import check_start
from jostle.crowds.model.behaviours import BEHAVIOURS, Reaction, behaving, reacting
from jostle.crowds.model.defaults import BEHAVIOUR, RADIUS, SPEED
from jostle.crowds.model.distributions import Distribution
from jostle.crowds.model.gates import ClosedGates, GatedWalk, Gates, check_gates
from jostle.crowds.model.groups import ONE_GROUP, Entry, Group, groups_of, places_of, regions
from jostle.crowds.model.journeys import AnyStop, Itinerary
from jostle.crowds.model.stairs import StairPaces, Stairs, doors_of, with_lift_doors
from jostle.crowds.model.turns import TakingTurns, used_both_ways
from jostle.crowds.model.walk import check_reaction, walk, warn_of_units
from jostle.crowds.model.wish import NEAREST, FreeWish, Wish, behaviours_in_words, check_wish
from jostle.errors import InvalidValue
from jostle.plans.openings import Gate, ends_of, openings
from jostle.plans.plan import Plan, check_inside, check_space_behind, far_from
from jostle.plans.stored import stored
from jostle.plans.ways import FIT
from jostle.problems import Change, Remembers, Sweeping
from jostle.result.facts import SI
from jostle.result.status import BLOCKED
from jostle.run.exchange import Outlet
from jostle.schemes.state import State
from jostle.sets.balls import Balls
from jostle.sets.base import ConstraintSet, of_present
from jostle.sets.presence import Presence
from jostle.sets.walls import Outside, Segments
from jostle.stopping import Empty

STANDSTILL = 10.0
"""Time (s) without movement that makes a blockade."""
STANDSTILL_DISTANCE = 0.5
"""People who have moved by less than this fraction of their radius count as standing still; people who are held up step
from side to side."""
WITHOUT_PROGRESS = 30.0
"""Time (s) in which nobody comes nearer to their goal that makes a blockade, although people step to and fro."""
CHECK_INTERVAL = 1.0
"""Time (s) between two checks for movement."""
OUTLET_RADII = 4.0
"""Default distance behind an exit at which people are removed from a run, in multiples of the largest radius."""


class Standing(NamedTuple):
    """The positions when somebody last moved, that time, and the time of the last check; and how near people came."""

    since: float
    looked: float
    q: Array
    here: Booleans
    nearer: float
    """The time at which somebody last came nearer to their goal."""
    to: Integers
    left: Array
    """(n,) shortest ways to these goals so far."""


class EmptyOrBlocked(Remembers):
    """Ends the run of a crowd: everyone has left, or nobody has moved for STANDSTILL seconds.

    It also ends if nobody has come nearer to their goal for WITHOUT_PROGRESS seconds, where `order` is known. The
    crowd is not blocked while `waits(state)` is true, because people have not reacted yet or wait on purpose, nor
    if those who stand are outside of the plan.
    """

    memory_type = Standing

    done = Empty.done

    def __init__(
        self,
        outside: Callable[[State], bool],
        radii: Array | float,
        waits: Callable[[State], bool] | None = None,
        order: Callable[[Array], tuple[Array, Integers]] | None = None,
    ):
        self.outside, self.radii, self.waits, self.order = outside, radii, waits, order

    def __call__(self, state: State) -> bool | str:
        here = np.ones(len(state.q), dtype=bool) if state.presence is None else state.presence.here
        if not here.any() and (state.presence is None or not len(state.presence.waiting)):
            return True
        known: Standing | None = self.memory
        if known is not None and state.t < known.looked + CHECK_INTERVAL:
            return False
        outside = self.outside(state)
        on_purpose = not outside and self.waits is not None and self.waits(state)
        left, to = self.order(state.q) if self.order else (np.zeros(len(state.q)), np.zeros(len(state.q), dtype=int))
        left = np.where(np.isfinite(left), left, 0.0)  # people outside have arrived
        if known is None or on_purpose or (here != known.here).any():
            self.memory = Standing(state.t, state.t, state.q, here, state.t, to, left)
            return False
        least = STANDSTILL_DISTANCE * np.asarray(self.radii)
        nearer = here & ((to != known.to) | (left < known.left - least))
        if nearer.any() or self.order is None:
            known = known._replace(nearer=state.t, to=to, left=np.where(nearer, left, known.left))
        if (np.linalg.norm(state.q - known.q, axis=-1) > least)[here].any():
            known = known._replace(since=state.t, q=state.q)
        self.memory = known._replace(looked=state.t)
        if state.t < known.since + STANDSTILL and state.t < known.nearer + WITHOUT_PROGRESS:
            return False
        return True if outside else BLOCKED


class Crowd(Sweeping):
    """The sweeping process of people on a floor plan who want to leave it; `crowd` makes it.

    Parameters
    ----------
    q0 : array_like, shape (n, 2)
        Positions at the start (m).
    wish : Wish
        Rule for the desired velocities and goals of people on level ground.
    within : ConstraintSet
        Positions without overlap: discs, walls and columns.
    plan : Plan
        The floor plan.
    groups : sequence of str, default ("people",)
        Names of the groups.
    group : array_like of int, shape (n,), optional
        Number of the group of each person. None means that all are in the first group.
    present : array_like of bool, shape (n,), optional
        People who are present at the start. None means everyone.
    reaction : float or array_like, shape (n,), default 0.0
        Times before which people do not walk (s). They belong inside all behaviours, so that others see who still
        stands.
    entries : sequence of Entry, default ()
        How people enter who are not present at the start.
    gates : Gates, optional
        Doors and exits that open and close. None means that all stay open.
    exits : array_like of bool, shape (n, exits), optional
        Whether each person may leave by each exit of the plan. None means that everyone may leave by every exit.
    outlet : float, optional
        Distance (m) from the plan at which people are removed. None means four times the largest radius.

    Attributes
    ----------
    velocity : Wish
        The desired velocity; on stairs, with the speed of the stairs.
    behaviour : str
        The behaviours of the wish with their options, in words.

    Examples
    --------
    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    >>> people = jo.crowds.crowd(8, radius=0.25, room=room)
    >>> people.plan is room, people.groups, people.group.tolist()
    (True, ('people',), [0, 0, 0, 0, 0, 0, 0, 0])
    """

    plan: Plan
    wish: Wish
    groups: tuple[str, ...]
    group: Integers
    reaction: Array
    entries: tuple[Entry, ...]
    gates: Gates | None
    exits: Booleans
    _changes: tuple[Change, ...]

    def __init__(
        self,
        *,
        q0: ArrayLike,
        wish: Wish,
        within: ConstraintSet,
        plan: Plan,
        groups: Sequence[str] = (ONE_GROUP,),
        group: Integers | None = None,
        present: ArrayLike | None = None,
        reaction: ArrayLike = 0.0,
        entries: Sequence[Entry] = (),
        gates: Gates | None = None,
        exits: Booleans | None = None,
        outlet: float | None = None,
    ):
        late = np.array(np.broadcast_to(finite(reaction, "reaction"), np.shape(q0)[:1]))
        check_reaction(late)
        late.setflags(write=False)
        wish = reacting(wish, late)
        stairs = any(link.pace != 1.0 for link in plan.links.values())
        super().__init__(q0=q0, velocity=StairPaces(wish, plan) if stairs else wish, within=within, present=present)
        numbers = np.zeros(len(self.q0), dtype=np.int64) if group is None else np.array(group, dtype=np.int64)
        numbers.setflags(write=False)
        if exits is None:
            exits = np.ones((len(self.q0), len(plan.exits)), dtype=bool)
        values: dict[str, Any] = {
            "plan": plan, "wish": wish, "groups": tuple(groups), "group": numbers, "reaction": late,
            "entries": tuple(entries), "gates": gates, "exits": exits,
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_changes", self._acting(outlet))

    def longest_step(self) -> float:
        """The longest time step of which `solve` does not warn: that of the behaviour.

        Returns
        -------
        float
            The time step (s); infinite for a behaviour without a limit.
        """
        return self.wish.longest_step

    @property
    def behaviour(self) -> str:
        """The behaviours of the wish with their options, in words, for reports and files."""
        return behaviours_in_words(self.wish)

    def members(self, name: str) -> Integers:
        """The numbers of the people in a group.

        Parameters
        ----------
        name : str
            Name of the group.

        Returns
        -------
        ndarray of int
            Numbers of people, in order.

        Examples
        --------
        >>> import jostle as jo
        >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
        >>> adults, children = jo.crowds.Group("adults", 2, radius=0.25), jo.crowds.Group("children", 3, radius=0.2)
        >>> jo.crowds.crowd([adults, children], room=room).members("children").tolist()
        [2, 3, 4]
        """
        if name not in self.groups:
            raise InvalidValue(f"there is no group {name!r}; the groups are {', '.join(map(repr, self.groups))}")
        return np.flatnonzero(self.group == self.groups.index(name))

    def _anyone_waits(self, state: State) -> bool:
        """Tell whether somebody waits on purpose, for a lift or a gate, or enters later, or nobody wants to walk."""
        if not self._anyone_walks(state):
            return True
        waits = self.wish.waits(state.t, len(state.q))
        if self.gates is not None and self.gates.opens_later(state.t):
            return True
        for k, one in enumerate(self.plan.passages, len(self.plan.exits)):
            if one.link.every is not None:
                waits |= one.inside(state.q) | (self.wish.chosen(state.q) == k if one.phase(state.t) else False)
        if state.presence is None:
            return bool(waits.any())
        coming = [np.isin(one.who[one.times > state.t], state.presence.waiting).any() for one in self.entries]
        return bool((waits & state.presence.here).any() or any(coming))

    def _anyone_walks(self, state: State) -> bool:
        """Tell whether the desired speed of somebody is not zero."""
        try:
            speeds = self.wish.speeds(len(state.q))
        except InvalidValue:  # a plain function has no known speeds
            speeds = np.linalg.norm(self.wish.towards(state.t, state.q, self.wish.chosen(state.q)), axis=1)
        return bool((speeds if state.presence is None else speeds[state.presence.here]).any())

    def ending(self) -> EmptyOrBlocked:
        """The ending of a run of these people; `solve` uses it.

        Returns
        -------
        callable (state) -> bool or str
            Ends a run when the outlet has taken everyone, or when nobody has moved for 10 s, or come nearer to their
            goal for 30 s, although nobody waits on purpose. People whom a gate cuts off for good do not wait on
            purpose.

        Examples
        --------
        >>> import jostle as jo
        >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
        >>> people = jo.crowds.crowd(3, radius=0.25, room=room)
        >>> jo.solve(people, jo.Venel(), t=60.0, h=0.05).status
        'stopped'
        >>> gated = jo.crowds.crowd(3, radius=0.25, room=room, gates=[jo.crowds.Gate("door 0", most=1)])
        >>> jo.solve(gated, jo.Venel(), t=60.0, h=0.05).status
        'blocked'
        """
        order = self.wish.order if self.wish.goals else None
        return EmptyOrBlocked(self.plan.empty, self.within.bodies.radii_at(0.0), self._anyone_waits, order)

    empty_or_blocked = ending  # by what it says, where somebody asks it beside a run

    def changes(self) -> tuple[Change, ...]:
        """What acts during a run of these people; `solve` uses it.

        Returns
        -------
        tuple of callable (state) -> State
            The stairs, the outlet behind the exits, the entries, and the gates and doors that open and close.

        Examples
        --------
        >>> import jostle as jo
        >>> plan = jo.crowds.Plan([(0, 0), (4, 0), (4, 3), (0, 3)], exits={"east": ((4, 1), (4, 2))})
        >>> people = jo.crowds.crowd(3, radius=0.25, room=plan, speed=1.4)
        >>> bool(np.isfinite(jo.solve(people, jo.Venel(), t=9.0, h=0.05).q[-1]).any())
        False
        """
        return self._changes

    def facts(self) -> dict[str, Any]:
        """What a trajectory keeps of these people: plan, behaviour, groups, speeds, reaction times and gates.

        Returns
        -------
        dict
            The facts, which `jostle.plans.plan_of` and the measures of crowds read.
        """
        said: dict[str, Any] = {
            "plan": stored(self.plan),
            "behaviour": self.behaviour,
            "units": {"length": SI.length, "time": SI.time},
            "groups": {name: self.members(name) for name in self.groups},
            "reaction": _one(self.reaction),
        }
        with suppress(InvalidValue):  # a plain function has no known speeds
            said["speeds"] = _one(np.asarray(self.wish.speeds(len(self.q0)), dtype=float))
        given = self.wish.own(len(self.q0)) if self.wish.goals else np.zeros(0)
        goals = np.where(given < len(self.plan.exits), given, NEAREST)
        if (goals != NEAREST).any():
            said["goals"] = _one(goals)
        if self.gates is not None:
            sets, number = np.unique(self.exits, axis=0, return_inverse=True)
            said["gates"] = [{"at": one.at, "open": np.asarray(one.open), "most": one.most} for one in self.gates.gates]
            said["exits"] = {"sets": sets, "number": number.ravel()}
        return said

    def _acting(self, outlet: float | None) -> tuple[Change, ...]:
        limit = OUTLET_RADII * self.within.bodies.largest if outlet is None else outlet
        if not limit > 0.0:
            raise InvalidValue(f"outlet must be positive, not {outlet}")
        check_space_behind(self.plan, limit)
        radii = np.broadcast_to(self.within.bodies.radii_at(0.0), len(self.q0))
        stairs = [
            Stairs(one, radii, self.within, self.wish if one.link.both else None, k)
            for k, one in enumerate(self.plan.passages, len(self.plan.exits))
        ]
        gates = () if self.gates is None else (self.gates,)
        leaving = Outlet(partial(far_from, self.plan, limit))
        return (*stairs, leaving, *self.entries, *gates, *doors_of(self.within, self.plan))


@check_arguments
def crowd(
    n: int | Group | Sequence[Group],
    *,
    room: Plan,
    radius: ArrayLike | Distribution = RADIUS,
    speed: ArrayLike | Distribution = SPEED,
    reaction: ArrayLike | Distribution = 0.0,
    seed: Natural | np.random.Generator = 0,
    goal: str | Sequence[str | None] | None = None,
    behaviour: Callable[..., Wish] | None = None,
    start: Any = None,
    q0: ArrayLike | None = None,
    wish: Wish | Callable[[float, Array], ArrayLike] | None = None,
    stops: Mapping[str, AnyStop] | None = None,
    gates: Sequence[Gate] = (),
    outlet: float | None = None,
) -> Crowd:
    """People on a floor plan, as discs, who want to leave it by the nearest exit.

    The first argument is a number of people, who are placed at random, or one or several `Group`, each with its own
    radius, speed, reaction, goal and start.

    Parameters
    ----------
    n : int, Group or sequence of Group
        Number of people, or groups of people.
    room : Plan
        The floor plan.
    radius : float, array_like or Distribution, default 0.2
        Radius of each person (m): one for all, one for each, or drawn from a distribution.
    speed : float, array_like or Distribution, default 1.34
        Desired speed of each person (m/s): one for all, one for each, or drawn.
    reaction : float, array_like or Distribution, default 0.0
        Pre-movement time of each person (s): one for all, one for each, or drawn.
    seed : int or numpy.random.Generator, default 0
        Source of random places and random properties.
    goal : str or sequence of str, optional
        Name of the exit of all people or of each person. None means the nearest exit.
    behaviour : callable (wish, plan, radii) -> Wish, or Behaviour class, optional
        How people react to each other: ``Plain()`` is the model of Venel 2009, in which people walk the shortest way
        and push, ``Inhibition`` or ``functools.partial(Inhibition, T=0.5)`` a time gap. It changes the wish, in which
        people stand until their reaction time. None means ``Pedestrians()``, the behaviour of people in buildings, or
        no other behaviour than that of `wish`, if it is given.
    start : polygon or array_like, shape (k, 2), optional
        Region in which people are placed at random, a `shapely.Polygon` or its corners. None means the whole plan.
    q0 : array_like, shape (n, 2), optional
        Positions at the start (m), instead of random ones.
    wish : Wish or callable (t, q) -> array, shape (n, 2), optional
        Replaces the walk to an exit, with its speed and goal. A plain function is not checked for openings that are too
        narrow, because it has no goals.
    stops : dict of str to Stop, WaitingArea or Queue, optional
        Places that the routes of groups pass, by name.
    gates : sequence of Gate, default ()
        Doors and exits that open and close.
    outlet : float, optional
        Distance (m) from the plan at which people are removed. None means four times the largest radius.

    Returns
    -------
    Crowd
        The first-order problem, for `Venel`.

    Examples
    --------
    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    >>> people = jo.crowds.crowd(8, radius=0.25, room=room, speed=1.4)
    >>> jo.solve(people, jo.Venel(), t=20.0, h=0.05, until=room.empty).status
    'stopped'
    >>> groups = [jo.crowds.Group("adults", 5, radius=0.25, speed=1.4), jo.crowds.Group("children", 3, radius=0.18)]
    >>> jo.crowds.crowd(groups, room=room).group.tolist()
    [0, 0, 0, 0, 0, 1, 1, 1]
    """
    said = {"radius": radius, "speed": speed, "reaction": reaction, "goal": goal, "start": start, "q0": q0}
    random = np.random.default_rng(seed)
    groups = [group.drawn(random) for group in groups_of(n, said)]
    radii = np.concatenate([group.radii for group in groups])
    speeds = np.concatenate([group.speeds for group in groups])
    late = np.concatenate([group.reactions for group in groups])
    goals = [goal for group in groups for goal in group.goals]
    if wish is not None and (any(goal is not None for goal in goals) or (speeds != SPEED).any()):
        raise InvalidValue("a crowd with wish= takes neither speed nor goal: make them part of the wish")
    warn_of_units(room, radii)
    people = Balls(radii)
    people.bodies = replace(people.bodies, called="person")
    within = with_lift_doors(people & Segments(room.walls, radii=radii), room, radii)
    if len(room.columns):
        within &= Outside(room.columns[:, :2], room.columns[:, 2], radii=radii)
    places = places_of(groups, room, random)
    check_inside(room, places)
    itinerary = Itinerary(groups, stops or {}, room)
    shutting = Gates(gates, ends_of(gates, room), radii, places) if gates else None
    if shutting is not None:
        within &= ClosedGates(shutting, radii)
    if wish is None:
        to = partial(
            walk, room, radius=_one(radii), speed=_one(speeds), goal=goals[0] if len(set(goals)) == 1 else goals,
            stops={name: stop.target for name, stop in itinerary.stops.items()},
        )  # fmt: skip
        if shutting is not None:
            find = partial(_passing, to, itinerary.knowing)
            check_gates(shutting, find, places)
            walking: Wish = GatedWalk(find(np.zeros((0, 2, 2))), shutting, find)
        else:
            walking = itinerary.knowing(to())
        wished: Wish = itinerary.around(walking, to(), places, radii, random)
        wished = Reaction(wished, late) if late.any() else wished
    else:
        itinerary.check_unused()
        if behaviour is not None:
            check_wish(wish, "behaviour")
        wished = reacting(wish if isinstance(wish, Wish) else FreeWish(wish, nearer=None), late)
    if wished.goals and used_both_ways(room):
        wished = TakingTurns(wished, room)
    if behaviour is None and wish is None:
        behaviour = BEHAVIOURS.get(BEHAVIOUR)()
    if behaviour is not None:
        wished = behaving(behaviour, wished, room, radii)
    enters = np.concatenate([group.times_of_entry for group in groups])
    here = enters == 0.0
    if here.all():
        check_start(within.linearise(0.0, places, 0.0), None)
    else:
        presence = Presence.of(places, here, float(radii.max()))
        check_start(of_present(within, presence).linearise(0.0, presence.placed(places), 0.0), None)
    check_ways(room, places, radii, wished)
    group = np.repeat(np.arange(len(groups)), [group.size for group in groups])
    names = [group.name for group in groups]
    entries = []
    for k, one in enumerate(groups):
        who = np.flatnonzero((group == k) & ~here)
        if len(who):
            region = regions(room.area, one.start, float(radii[who].max()))
            entries.append(Entry(region, who, enters[who], within, int(random.integers(2**32))))
    return Crowd(
        q0=places, wish=wished, within=within, plan=room, groups=names, group=group, reaction=late, entries=entries,
        gates=shutting, exits=itinerary.exits, present=None if here.all() else here, outlet=outlet,
    )  # fmt: skip


def _passing(to: Callable[..., Wish], knowing: Callable[[Wish], Wish], closed: Array) -> Wish:
    """The walk that does not pass the segments `closed` (k, 2, 2), of people with the exits that they know."""
    return knowing(to(closed=closed))


def _one(values: Array) -> Array:
    """A single value if all are the same."""
    return values[0] if len(values) and (values == values[0]).all() else values


def check_ways(plan: Plan, q: Array, radii: Array, wish: Wish) -> None:
    """Raise, naming the person and the opening, if somebody cannot leave; wishes without exits are not checked."""
    if not wish.goals:
        return
    lost = np.flatnonzero(~np.isfinite(wish.length(q)))
    if len(lost):
        person, others = int(lost[0]), f", nor can {len(lost) - 1} others" if len(lost) > 1 else ""
        names = [f"{name!r} ({np.linalg.norm(ends[1] - ends[0]):g} wide)" for name, ends in plan.exits.items()]
        raise InvalidValue(
            f"person {person} at {q[person].tolist()}, {2.0 * radii[person]:g} wide, cannot reach their exit{others}: "
            f"every path to it is blocked by a wall, or by a door or an exit that is too narrow. The exits are "
            f"{', '.join(names)}; widen one, open a door, or use smaller radii"
        )
    _check_openings(plan, q, radii, wish.widest(len(q)))


def _check_openings(plan: Plan, q: Array, radii: Array, widest: Array) -> None:
    """Raise if somebody is too wide for an opening that their wish takes for passable."""
    wide = np.flatnonzero(radii > widest)
    if len(wide) == 0:
        return
    passable, needed = ((1.0 + FIT) * 2.0 * size[wide] for size in (widest, radii))
    for opening in openings(plan, float(passable.min()), float(needed.max())):
        stuck = wide[(passable <= opening.width) & (opening.width < needed)]
        if len(stuck):
            person = int(stuck[0])
            raise InvalidValue(
                f"person {person} at {q[person].tolist()} is {2.0 * radii[person]:g} wide and does not fit through "
                f"{opening}, but the wish was made for people {2.0 * widest[person]:g} wide: make it with their "
                f"radius, such as jo.crowds.walk(plan, radius={radii[person]:g}), or widen the opening"
            )
