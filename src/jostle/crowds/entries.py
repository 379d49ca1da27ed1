"""People who enter during a run, by a timetable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import Count, Finite, Positive, check_arguments
from jostle._tools.arrays import Array, Integers, finite
from jostle.errors import InvalidValue
from jostle.plans.outlines import package
from jostle.schemes.state import State
from jostle.sets.base import ConstraintSet
from jostle.sets.presence import PRESENT

MAX_TRIES = 10_000
"""Number of random points outside a region after which it counts as empty."""


@check_arguments
def timetable(table: ArrayLike) -> Array:
    """Times at which people enter, from a table; for ``Group(..., enters=...)``.

    Parameters
    ----------
    table : array_like, shape (k, 2)
        Rows (time in seconds, number of people).

    Returns
    -------
    ndarray, shape (n,)
        The time (s) of each person.

    Examples
    --------
    >>> timetable([(0.0, 2), (60.0, 3)]).tolist()
    [0.0, 0.0, 60.0, 60.0, 60.0]
    """
    rows = finite(table, "table")
    if rows.ndim != 2 or rows.shape[1] != 2 or (rows[:, 1] != np.rint(rows[:, 1])).any() or (rows[:, 1] < 0.0).any():
        raise InvalidValue(f"table must have rows (time, number of people), not {table!r}")
    return np.repeat(rows[:, 0], rows[:, 1].astype(np.int64))


@check_arguments
def arrivals(n: Count, *, rate: Positive, start: Finite = 0.0) -> Array:
    """Times at which people enter one after the other at a constant rate; for ``Group(..., enters=...)``.

    Parameters
    ----------
    n : int
        Number of people.
    rate : float
        People per second.
    start : float, default 0.0
        Time of the first person (s).

    Returns
    -------
    ndarray, shape (n,)
        The time (s) of each person.

    Examples
    --------
    >>> arrivals(3, rate=0.5, start=10.0).tolist()
    [10.0, 12.0, 14.0]
    """
    return np.asarray(start + np.arange(n) / rate)


@dataclass(frozen=True, eq=False)
class Entry:
    """A change for `solve`: people of a group enter at random places in a region, each from a given time on.

    A place must be free: people who find none try again at another place after the next step. The places depend on the
    seed, the person and the time alone, so that a resumed run needs no memory of them.
    """

    region: Any
    """Polygon of shapely in which people appear."""
    who: Integers
    """(k,) numbers of the people."""
    times: Array
    """(k,) times at which the people are due (s)."""
    within: ConstraintSet
    seed: int

    def __call__(self, state: State) -> State:
        presence = state.presence
        if presence is None:
            return state
        due = np.intersect1d(self.who[self.times <= state.t], presence.waiting)
        if len(due) == 0:
            return state
        moment = int(np.float64(state.t).view(np.uint64))
        q = state.q.copy()
        q[due] = [point_in(self.region, np.random.default_rng([self.seed, int(body), moment])) for body in due]
        contacts = presence.changed(due, PRESENT).within(self.within).linearise(state.t, q, 0.0)
        first, second = contacts.pairs[contacts.gap < 0.0].T
        new = np.zeros(len(q), dtype=bool)
        new[due] = True
        refused = np.unique(np.where(new[np.maximum(second, 0)] & (second >= 0), second, first))
        here = presence.changed(np.setdiff1d(due, refused), PRESENT)
        return state._replace(q=here.placed(q), u=here.still(state.u), presence=here)


def point_in(region: Any, random: np.random.Generator) -> Array:
    """(2,) a random point in a polygon of shapely.

    >>> import shapely
    >>> point_in(shapely.box(0, 0, 2, 1), np.random.default_rng(0)).round(3).tolist()
    [1.274, 0.27]
    """
    low, high = np.array(region.bounds).reshape(2, 2)
    for _ in range(MAX_TRIES):
        point = random.uniform(low, high)
        if package("shapely").contains_xy(region, *point):
            return np.asarray(point)
    raise InvalidValue(f"no random point was found in the region {region.wkt} in which people enter")


def regions(plan_area: Any, start: Any, size: float) -> Any:
    """The part of a plan, or of the region `start` in it, where a disc of radius `size` can have its centre."""
    shapely = package("shapely")
    inner = shapely.buffer(plan_area, -size)
    if start is None:
        return inner
    region = start if isinstance(start, shapely.Geometry) else shapely.Polygon(np.asarray(start, dtype=float))
    found = shapely.intersection(region, inner)
    if not found.area > 0.0:
        raise InvalidValue(
            f"the region in which people enter, {region.wkt}, has no room for a person {2.0 * size:g} wide"
        )
    return found
