"""Who is pressed in a crowd, where, and for how long.

Contacts push with p >= 0: in a first-order run u - U = G^T p, so p is a velocity, the force on a person of unit drag.
If people have masses, M (u - U) = G^T p, and p is a mass times a velocity. The load of a person is the sum of p over
all their contacts, without forces that are solver noise (see `jostle.analysis.forces`), and their pressure is the load
divided by their circumference. `jostle.analysis.ranges` tells how well these are determined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jostle._tools.arguments import NotNegative, Positive, check_arguments
from jostle._tools.arrays import Array, Integers
from jostle.analysis.forces import forces, wall_force
from jostle.crowds.measure.moves import planar, radii_in
from jostle.errors import InvalidValue
from jostle.result.solution import Solution


@dataclass(frozen=True, eq=False)
class CrowdPressure:
    """Who is pressed in one frame; see `crowd_pressure`."""

    load: Array
    pressure: Array
    walls: Array


@check_arguments
def crowd_pressure(sol: Solution, k: int = -1) -> CrowdPressure:
    """The load and the pressure of each person, and the load of each wall, in the step that led to one frame.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane, with contacts.
    k : int, default -1
        Number of the saved frame.

    Returns
    -------
    CrowdPressure
        The fields are `load` (n,), the sum of the contact forces p on each person, 0 for people who are absent;
        `pressure` (n,), the load divided by the circumference, NaN for points; and `walls`, the sum of p on each wall,
        numbered as in `sol.pairs` (`jostle.analysis.wall_force` gives vectors).

    Examples
    --------
    >>> import jostle as jo
    >>> within = jo.Balls([0.5, 0.5]) & jo.Box([-np.inf, -np.inf], [1.0, np.inf], radii=0.5)
    >>> two = jo.Sweeping(q0=[[0.5, 0.0], [-0.5, 0.0]], velocity=[1.0, 0.0], within=within)
    >>> found = crowd_pressure(jo.solve(two, jo.Venel(), t=0.1, h=0.1))
    >>> found.load.round(9).tolist(), found.walls.round(9).tolist()        # 0 is between 1, who pushes, and the wall
    ([3.0, 1.0], [2.0])
    """
    pairs, p, load = _loads(sol, k)
    on_wall = pairs[:, 1] < 0
    number = -1 - pairs[on_wall, 1]
    count = len(wall_force(sol, k))
    around = 2.0 * np.pi * radii_in(sol, k)
    unloaded = np.where(np.isfinite(sol.q[k]).all(axis=1), np.nan, 0.0)
    pressure = np.divide(load, around, out=unloaded, where=around > 0.0)
    return CrowdPressure(load, pressure, _summed(number, p[on_wall], count))


def _loads(sol: Solution, k: int) -> tuple[Integers, Array, Array]:
    """The pairs with a force in frame k, their forces, and the load (n,) of each person."""
    found = forces(planar(sol), k)
    i, j = found.pairs.T
    n, between, f = sol.q.shape[1], found.between, np.where(found.noise, 0.0, found.magnitude)
    return found.pairs, f, _summed(i, f, n) + _summed(j[between], f[between], n)


def _summed(number: Integers, values: Array, count: int) -> Array:
    """(count,) the sum of the values of each number."""
    return np.bincount(number, values, count).astype(float)


@check_arguments
def time_in_contact(sol: Solution, *, threshold: NotNegative = 0.0) -> Array:
    """The time for which the load of each person was above a threshold.

    The load of frame k is used for the whole time since the previous frame.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane, with contacts.
    threshold : float, default 0.0
        The load, in the unit of `crowd_pressure`, above which time is counted.

    Returns
    -------
    ndarray, shape (n,)
        The times.

    Examples
    --------
    >>> import jostle as jo
    >>> walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.HalfSpace([-1, 0], -0.5))
    >>> time_in_contact(jo.solve(walker, jo.Venel(), t=2.0, h=0.25)).tolist()
    [1.5]
    """
    total = np.zeros(planar(sol).q.shape[1])
    for k in range(1, len(sol.t)):
        total += (_loads(sol, k)[2] > threshold) * (sol.t[k] - sol.t[k - 1])
    return total


@dataclass(frozen=True, eq=False)
class Pressed:
    """The people whose load was above a threshold, with time and place; see `pressed`."""

    t: Array
    frame: Integers
    person: Integers
    load: Array
    place: Array

    def __len__(self) -> int:
        return len(self.t)

    @property
    def people(self) -> Integers:
        """Numbers of the people concerned, without repetition."""
        return np.unique(self.person)


@check_arguments
def pressed(sol: Solution, threshold: NotNegative) -> Pressed:
    """List the people whose load is above a threshold, in each saved frame.

    Parameters
    ----------
    sol : Solution
        A run of people in the plane, with contacts.
    threshold : float
        The load, in the unit of `crowd_pressure`, above which people are listed.

    Returns
    -------
    Pressed
        One entry for each person and frame, in order of time: `t`, `frame`, `person`, `load` and `place` (m, 2), which
        is that of the frame before for people who left in the step; `people` lists the numbers of all people concerned.

    Examples
    --------
    >>> import jostle as jo
    >>> within = jo.Balls([0.5, 0.5]) & jo.Box([-np.inf, -np.inf], [1.0, np.inf], radii=0.5)
    >>> two = jo.Sweeping(q0=[[0.5, 0.0], [-0.75, 0.0]], velocity=[1.0, 0.0], within=within)
    >>> found = pressed(jo.solve(two, jo.Venel(), t=0.5, h=0.125), 2.0)
    >>> found.t.tolist(), found.people.tolist(), found.load.round(9).tolist()
    ([0.375, 0.5], [0], [3.0, 3.0])
    """
    rows, before = [], np.asarray(planar(sol).q[0])
    for k, (t, q) in enumerate(zip(sol.t, sol.q, strict=True)):
        load = _loads(sol, k)[2]
        person = np.flatnonzero(load > threshold)
        place = np.where(np.isfinite(q), q, before)[person]
        rows.append((np.full(len(person), t), np.full(len(person), k), person, load[person], place))
        before = q
    return Pressed(*(np.concatenate(column) for column in zip(*rows, strict=True)))


# Forces between people in newtons, and the assumption that they need.
#
# A first-order crowd has no forces, but contact multipliers p that are velocities: u - U = G^T p, where U is the wish.
# They become forces if people are modelled as bodies of mass m that reach the desired velocity within a relaxation time
# tau,
#
#     m du/dt = m (U - u) / tau + G^T F.
#
# Where the motion changes slowly compared with tau, du/dt is small, and F = m p / tau. The default values m = 80 kg and
# tau = 0.5 s are those of Helbing, Farkas & Vicsek, Nature 407 (2000). The forces are as good as this assumption: a
# person who wants to walk at 1.3 m/s and cannot move pushes with 210 N. In dense crowds p is not unique: see
# `jostle.analysis.load_range`.


MASS, RELAXATION_TIME = 80.0, 0.5
"""Mass of a person (kg) and relaxation time (s): Helbing, Farkas & Vicsek 2000."""


class Threshold(NamedTuple):
    """A force that is considered dangerous, with its source in the literature."""

    name: str
    force: float
    """Force in newtons, or in newtons per metre of circumference if `per_metre` is true."""
    duration: float
    """Time in seconds for which the force must last; 0 for any time."""
    per_metre: bool
    source: str


THRESHOLDS = (
    Threshold(
        "tolerable", 623.0, 0.0, False,
        "Evans & Hayden 1971, men pressed against a bar of 100 mm; after Lee & Hughes, Accid. Anal. Prev. 38 (2006)",
    ),
    Threshold(
        "deadly within minutes", 1112.0, 240.0, False,
        "Hopkins et al. 1993, death after 4 to 6 minutes; after Lee & Hughes, Accid. Anal. Prev. 38 (2006)",
    ),
    Threshold(
        "deadly at once", 6227.0, 15.0, False,
        "Hopkins et al. 1993, death after 15 s; after Lee & Hughes, Accid. Anal. Prev. 38 (2006)",
    ),
    Threshold(
        "injury", 1600.0, 0.0, True,
        "Helbing, Farkas & Vicsek, Nature 407 (2000): radial forces over the circumference of a person",
    ),
)  # fmt: skip
"""Dangerous forces on a person, from the literature."""


@dataclass(frozen=True, eq=False)
class CrowdForces:
    """The forces on people over a run; see `crowd_forces`."""

    t: Array
    load: Array
    per_metre: Array
    mass: float
    relaxation_time: float

    @property
    def assumption(self) -> str:
        """The modelling assumption in words."""
        return (
            f"F = m p / tau with a mass m = {self.mass:g} kg and a relaxation time tau = {self.relaxation_time:g} s "
            f"for each person; p, by which contacts change the desired velocity of a person, is computed"
        )

    def above(self, threshold: Threshold) -> Array:
        """(n,) longest uninterrupted time for which the load of each person was above a threshold."""
        values = self.per_metre if threshold.per_metre else self.load
        longest = now = np.zeros(values.shape[1])
        for k in range(1, len(self.t)):
            now = np.where(values[k] > threshold.force, now + self.t[k] - self.t[k - 1], 0.0)
            longest = np.maximum(longest, now)
        return longest

    def exceeded(self, threshold: Threshold) -> int:
        """The number of people who were above a threshold for its duration."""
        longest = self.above(threshold)
        return int(((longest > 0.0) & (longest >= threshold.duration)).sum())


@check_arguments
def crowd_forces(sol: Solution, *, mass: Positive = MASS, relaxation_time: Positive = RELAXATION_TIME) -> CrowdForces:
    """The contact forces on all people at all saved times, F = m p / tau, in newtons if lengths are in metres.

    The contacts must have been saved; files contain them if the scenario has [output] contacts = true.

    Parameters
    ----------
    sol : Solution
        A first-order run with contacts.
    mass : float, default 80.0
        Mass m of each person (kg). A crowd with its own masses keeps them.
    relaxation_time : float, default 0.5
        Relaxation time tau of each person (s).

    Returns
    -------
    CrowdForces
        The fields are the times `t` (k,), the sum `load` (k, n) of the contact forces on each person (N), 0 for people
        who are absent, the load `per_metre` (k, n) of circumference (N/m), NaN for points, `mass`, `relaxation_time`
        and the `assumption` in words. ``above(threshold)`` and ``exceeded(threshold)`` compare the forces with
        thresholds of the literature.

    Examples
    --------
    >>> import jostle as jo
    >>> within = jo.Balls([0.25, 0.25]) & jo.Box([-np.inf, -np.inf], [1.0, np.inf], radii=0.25)
    >>> two = jo.Sweeping(q0=[[0.75, 0.0], [0.25, 0.0]], velocity=[1.0, 0.0], within=within)
    >>> found = crowd_forces(jo.solve(two, jo.Venel(), t=0.2, h=0.1))
    >>> found.load[-1].round(6).tolist()            # 1 pushes 0 with 160 N, and both push the wall with 320 N
    [480.0, 160.0]
    """
    planar(sol)
    if sol.order == 2:
        raise InvalidValue("crowd_forces is for first-order runs; for this second-order run, use jo.analysis.forces")
    if not sol.contacts_saved:
        raise InvalidValue(
            "this file contains no contacts, so forces are not known: run the scenario with [output] contacts = true, "
            "or --set output.contacts=true"
        )
    factor = (1.0 if sol.facts.weighted else mass) / relaxation_time
    load = np.array([factor * _loads(sol, k)[2] for k in range(len(sol.t))]).reshape(len(sol.t), -1)
    around = np.array([2.0 * np.pi * radii_in(sol, k) for k in range(len(sol.t))])
    per_metre = np.divide(load, around, out=np.full_like(load, np.nan), where=around > 0.0)
    return CrowdForces(np.asarray(sol.t), load, per_metre, mass, relaxation_time)
