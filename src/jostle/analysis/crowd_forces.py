"""Forces between people in newtons, and the assumption that they need.

A first-order crowd has no forces, but contact multipliers p that are velocities: u - U = G^T p, where U is the wish.
They become forces if people are modelled as bodies of mass m that reach the desired velocity within a relaxation time
tau,

    m du/dt = m (U - u) / tau + G^T F.

Where the motion changes slowly compared with tau, du/dt is small, and F = m p / tau. The default values m = 80 kg and
tau = 0.5 s are those of Helbing, Farkas & Vicsek, Nature 407 (2000). The forces are as good as this assumption: a
person who wants to walk at 1.3 m/s and cannot move pushes with 210 N. In dense crowds p is not unique: see
`load_range`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jostle.analysis.crushing import _loads
from jostle.arguments import Positive, check_arguments
from jostle.arrays import Array
from jostle.errors import InvalidValue
from jostle.io.crowd_runs import planar, radii_in
from jostle.solution import Solution

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
    """(k,) the saved times."""
    load: Array
    """(k, n) sum of the contact forces on each person in newtons; 0 for people who are absent."""
    per_metre: Array
    """(k, n) load divided by the circumference, in newtons per metre; NaN for points."""
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
        The fields are the times `t` (k,), the sum `load` (k, n) of the contact forces on each person (N), the load
        `per_metre` (k, n) of circumference (N/m), `mass` and `relaxation_time`. ``above(threshold)`` and
        ``exceeded(threshold)`` compare the forces with thresholds of the literature.

    Raises
    ------
    InvalidValue
        If the run is of second order, or if its contacts were not saved.

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
