"""People who leave a room or a building: Venel 2009, section 4.2.

Everyone wants to walk to an exit. The actual velocities are the nearest ones for which discs neither overlap nor cross
walls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Natural, check_arguments
from jostle._tools.arrays import Array, Integers, finite
from jostle.crowds.behaviour import check_wish
from jostle.crowds.distributions import Distribution
from jostle.crowds.entries import Entry, regions
from jostle.crowds.free_wish import FreeWish
from jostle.crowds.gates import ClosedGates, Gate, GatedWalk, Gates, check_gates, ends_of
from jostle.crowds.groups import DEFAULT_SPEED, ONE_GROUP, Group, groups_of, places_of
from jostle.crowds.itineraries import Itinerary
from jostle.crowds.lifts import with_lift_doors
from jostle.crowds.openings import check_ways
from jostle.crowds.plan_checks import check_inside
from jostle.crowds.plans import Plan
from jostle.crowds.reactions import Reaction, reacting
from jostle.crowds.stair_paces import StairPaces
from jostle.crowds.stairs import passages
from jostle.crowds.stops import AnyStop
from jostle.crowds.strategies import TIME_GAP
from jostle.crowds.strategies import inhibition as inhibited
from jostle.crowds.walk import walk
from jostle.crowds.wish import Wish
from jostle.errors import InvalidValue
from jostle.problems import Sweeping
from jostle.schemes.state import State
from jostle.sets.balls import Balls
from jostle.sets.base import ConstraintSet
from jostle.sets.presence import Presence
from jostle.sets.walls import Outside, Segments


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

    Attributes
    ----------
    velocity : Wish
        The wish, at the pace of the stairs where people are on stairs.
    longest_step : float
        Longest time step (s) of which `solve` does not warn.

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
    ):
        late = np.array(np.broadcast_to(finite(reaction, "reaction"), np.shape(q0)[:1]))
        late.setflags(write=False)
        wish = reacting(wish, late)
        stairs = any(link.pace != 1.0 for link in plan.links.values())
        super().__init__(q0=q0, velocity=StairPaces(wish, plan) if stairs else wish, within=within, present=present)
        numbers = np.zeros(len(self.q0), dtype=np.int64) if group is None else np.array(group, dtype=np.int64)
        numbers.setflags(write=False)
        values: dict[str, Any] = {
            "plan": plan,
            "wish": wish,
            "groups": tuple(groups),
            "group": numbers,
            "reaction": late,
        }
        values |= {"entries": tuple(entries), "gates": gates}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def longest_step(self) -> float:
        """Longest time step (s) of which `solve` does not warn."""
        return self.wish.longest_step

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

        Raises
        ------
        InvalidValue
            If there is no group with this name.

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

    def anyone_waits(self, state: State) -> bool:
        """Tell whether somebody waits on purpose or for a lift, somebody will enter later, or a closed gate will open.

        Parameters
        ----------
        state : State
            A state of the run.

        Returns
        -------
        bool
            True if people who stand still do not mean that the crowd is blocked.

        Examples
        --------
        >>> import jostle as jo
        >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
        >>> people = jo.crowds.crowd(8, radius=0.25, room=room, reaction=5.0)
        >>> [people.anyone_waits(jo.Venel().start(people, t)) for t in (0.0, 6.0)]
        [True, False]
        """
        waits = self.wish.waits(state.t, len(state.q))
        if self.gates is not None and self.gates.opens_later(state.t):
            return True
        for k, one in enumerate(passages(self.plan.links, self.plan.shafts), len(self.plan.exits)):
            if one.link.every is not None:
                waits |= one.inside(state.q) | (self.wish.chosen(state.q) == k if one.link.phase(state.t) else False)
        if state.presence is None:
            return bool(waits.any())
        coming = [np.isin(one.who[one.times > state.t], state.presence.waiting).any() for one in self.entries]
        return bool((waits & state.presence.here).any() or any(coming))

    def wishing(self, wish: Wish) -> Crowd:
        """The same people with another wish, such as a behaviour around their own.

        Parameters
        ----------
        wish : Wish
            The new wish, such as a behaviour around ``people.wish``. Stair paces are kept, and a wish without
            behaviours gets the reaction times.

        Returns
        -------
        Crowd
            The new crowd.

        Raises
        ------
        InvalidValue
            If somebody cannot leave, or does not fit through an opening on the way of the new wish, or if behaviours
            wrap a wish without the reaction times of these people.

        Examples
        --------
        >>> import jostle as jo
        >>> box, exits = [(0, 0), (5, 0), (5, 4), (0, 4)], {"a": ((5, 1), (5, 2)), "b": ((0, 1), (0, 2))}
        >>> people = jo.crowds.crowd(8, radius=0.25, room=jo.crowds.Plan(box, exits=exits))
        >>> people.wishing(jo.crowds.AvoidJams(people.wish)).wish.eligible
        2
        """
        radii = np.broadcast_to(self.within.radii_at(0.0), (len(self.q0),))
        check_ways(self.plan, self.q0, radii, wish)
        present = None if self.presence is None else self.presence.here
        return Crowd(
            q0=self.q0, wish=wish, within=self.within, plan=self.plan, groups=self.groups, group=self.group,
            present=present, reaction=self.reaction, entries=self.entries, gates=self.gates,
        )  # fmt: skip


@check_arguments
def crowd(
    n: int | Group | Sequence[Group],
    *,
    room: Plan,
    radius: ArrayLike | Distribution | None = None,
    speed: ArrayLike | Distribution = DEFAULT_SPEED,
    reaction: ArrayLike | Distribution = 0.0,
    seed: Natural | np.random.Generator = 0,
    goal: str | Sequence[str | None] | None = None,
    inhibition: float | bool = False,
    behaviour: Callable[[Wish, Plan, Array], Wish] | None = None,
    start: Any = None,
    q0: ArrayLike | None = None,
    wish: Wish | Callable[[float, Array], ArrayLike] | None = None,
    stops: Mapping[str, AnyStop] | None = None,
    gates: Sequence[Gate] = (),
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
    radius : float, array_like or Distribution, optional
        Radius of each person (m): one for all, one for each, or drawn from a distribution. Required without groups.
    speed : float, array_like or Distribution, default 1.0
        Desired speed of each person (m/s): one for all, one for each, or drawn.
    reaction : float, array_like or Distribution, default 0.0
        Pre-movement time of each person (s): one for all, one for each, or drawn.
    seed : int or numpy.random.Generator, default 0
        Source of random places and random properties.
    goal : str or sequence of str, optional
        Name of the exit of all people or of each person. None means the nearest exit.
    inhibition : float or bool, default False
        Time gap T (s): nobody tries to walk faster than s / T, where s is the free distance ahead. True means
        TIME_GAP, False no limit.
    behaviour : callable (wish, plan, radii) -> Wish, optional
        Changes the wish, in which people stand until their reaction time; ``Pedestrians()`` is the behaviour of people
        in buildings. It excludes `inhibition`. None means that people walk the shortest way and push.
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

    Returns
    -------
    Crowd
        The first-order problem, for `Venel`. ``solve(..., change=room.changes(people))`` removes people who have left.

    Raises
    ------
    InvalidValue
        If there is no room for everyone, if somebody is outside the plan or cannot reach their exit, or if arguments
        exclude each other.

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
    if wish is not None and (any(goal is not None for goal in goals) or (speeds != DEFAULT_SPEED).any()):
        raise InvalidValue("a crowd with wish= takes neither speed nor goal: make them part of the wish")
    within = with_lift_doors(Balls(radii) & Segments(room.walls, radii=radii), room, radii)
    if len(room.columns):
        within &= Outside(room.columns[:, :2], room.columns[:, 2], radii=radii)
    places = places_of(groups, room, random)
    check_inside(room, places)
    itinerary = Itinerary(groups, stops or {}, room)
    shutting = Gates(gates, ends_of(gates, room.exits, room.doors), radii, places) if gates else None
    if shutting is not None:
        within &= ClosedGates(shutting, radii)
    if wish is None:
        to = partial(
            walk, room, radius=_one(radii), speed=_one(speeds), goal=_goal(goals),
            stops={name: stop.target for name, stop in itinerary.stops.items()},
        )  # fmt: skip
        if shutting is not None:
            find = partial(_passing, to)
            check_gates(shutting, find, places)
            walking: Wish = GatedWalk(shutting, find)
        else:
            walking = to()
        wished: Wish = itinerary.around(walking, to(), places, radii, random)
        wished = Reaction(wished, late) if late.any() else wished
    else:
        itinerary.check_unused()
        if inhibition is not False or behaviour is not None:
            check_wish(wish, "behaviour" if inhibition is False else "inhibition")
        wished = reacting(wish if isinstance(wish, Wish) else FreeWish(wish, nearer=None), late)
    if inhibition is not False:
        wished = inhibited(wished, radii, T=TIME_GAP if inhibition is True else inhibition)
    if behaviour is not None:
        if inhibition is not False:
            raise InvalidValue("give inhibition or behaviour, not both: both limit the speed by the gap ahead")
        wished = behaviour(wished, room, radii)
    enters = np.concatenate([group.times_of_entry for group in groups])
    here = enters == 0.0
    if here.all():
        within.check_start(0.0, places)
    else:
        presence = Presence.of(places, here, float(radii.max()))
        presence.within(within).check_start(0.0, presence.placed(places))
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
        gates=shutting, present=None if here.all() else here,
    )  # fmt: skip


def _passing(to: Callable[..., Wish], closed: Array) -> Wish:
    """The walk that does not pass the segments `closed` (k, 2, 2)."""
    return to(closed=closed)


def _one(values: Array) -> Array:
    """A single value if all are the same."""
    return values[0] if (values == values[0]).all() else values


def _goal(goals: list[str | None]) -> str | list[str | None] | None:
    return goals[0] if len(set(goals)) == 1 else goals
