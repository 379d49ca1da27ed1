"""People who leave a room or a building: Venel 2009, section 4.2.

Everyone wishes to walk to an exit; the actual velocities are the nearest ones at which discs neither overlap nor cross
walls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import Natural, check_arguments
from jostle.arrays import Array, finite
from jostle.crowds.places import free_places
from jostle.crowds.plans import Plan
from jostle.crowds.strategies import TIME_GAP
from jostle.crowds.strategies import inhibition as inhibited
from jostle.crowds.walk import check_speed
from jostle.crowds.wish import Wish
from jostle.errors import InvalidValue
from jostle.problems import Sweeping
from jostle.sets.balls import Balls
from jostle.sets.base import ConstraintSet
from jostle.sets.segments import Segments
from jostle.sets.walls import Outside, body_radii


class Crowd(Sweeping):
    """The sweeping process of people on a plan, which they wish to leave; made by `crowd`.

    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    >>> jo.crowds.crowd(8, radius=0.25, room=room).plan is room
    True
    """

    plan: Plan

    def __init__(
        self,
        *,
        q0: ArrayLike,
        velocity: Callable[[float, Array], ArrayLike],
        within: ConstraintSet,
        plan: Plan,
        present: ArrayLike | None = None,
    ):
        super().__init__(q0=q0, velocity=velocity, within=within, present=present)
        object.__setattr__(self, "plan", plan)


@check_arguments
def crowd(
    n: int,
    *,
    radius: ArrayLike,
    room: Plan,
    speed: ArrayLike = 1.0,
    seed: Natural | np.random.Generator = 0,
    goal: str | Sequence[str | None] | None = None,
    inhibition: float | bool = False,
    start: Any = None,
    q0: ArrayLike | None = None,
    wish: Wish | Callable[[float, Array], ArrayLike] | None = None,
) -> Crowd:
    """n people, discs placed at random in a room or plan, who wish to leave it by the nearest exit.

    Radius, speed and goal, the name of an exit, are one for all or one for each. With `inhibition`, nobody wishes to
    walk faster than s / T, s the free way ahead and T that time, or TIME_GAP if it is True. `start` is the polygon in
    which people are placed, if it is not the whole plan; or `q0` (n, 2) are their places. `wish`, a `Wish` or a
    function (t, q) -> (n, 2), replaces the walk to an exit. Only of a `Wish` it is checked that people fit through
    its exits: a plain function does not say where they go.

    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    >>> people = jo.crowds.crowd(8, radius=0.25, room=room, speed=1.4)
    >>> jo.solve(people, jo.Venel(), t=20.0, h=0.05, until=room.empty).status
    'stopped'
    """
    if n != int(n) or n < 1:
        raise InvalidValue(f"a crowd is at least one person, not {n}")
    radii = np.array(body_radii(finite(radius, "radius"), n, 0.0))
    pace = finite(speed, "speed")
    if (pace < 0.0).any():
        raise InvalidValue(f"speed must not be negative, not {speed!r}")
    if pace.shape not in ((), (n,)):
        raise InvalidValue(f"speed has shape {pace.shape}, there are {n} people")
    check_speed(pace, radii)
    if not (goal is None or isinstance(goal, str)) and len(goal) != n:
        raise InvalidValue(f"there are {len(goal)} goals and {n} people")
    if wish is not None and (goal is not None or (pace != 1.0).any()):
        raise InvalidValue("with a wish of its own a crowd takes neither speed nor goal: make them part of the wish")
    within = Balls(radii) & Segments(room.walls, radii=radii)
    if len(room.columns):
        within &= Outside(room.columns[:, :2], room.columns[:, 2], radii=radii)
    one_size = (radii == radii[0]).all()
    wished = wish if wish is not None else room.walk(radius=radii[0] if one_size else radii, speed=pace, goal=goal)
    if q0 is None:
        places = free_places(radii, room, start, np.random.default_rng(seed))
    else:
        places = finite(q0, "q0")
        if places.shape != (n, 2):
            raise InvalidValue(f"q0 has shape {places.shape}, expected ({n}, 2)")
    room.check_inside(places)
    within.check_start(0.0, places)
    room.check_ways(places, radii, wished)
    if inhibition is not False:
        # a plain function is refused here: it does not say who is nearer
        wished = inhibited(wished, radii, T=TIME_GAP if inhibition is True else inhibition)  # type: ignore[arg-type]
    return Crowd(q0=places, velocity=wished, within=within, plan=room)
