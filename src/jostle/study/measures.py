"""Measures of a run: named functions of a `Solution`. Plug-ins and scripts can add to both lists.

    MEASURES    functions that return one number: evacuation_time, flow, worst_density ...
    CURVES      functions that return a list of numbers, such as the times at which people left

A measure may also be any Python function of a solution, or its place "module:function".
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from jostle._tools.arguments import accepts, described
from jostle._tools.arrays import Array
from jostle._tools.plugins import Registry
from jostle.crowds.measure.leaving import evacuation_time as analysed_evacuation_time
from jostle.crowds.measure.leaving import leaving_times as analysed_leaving_times
from jostle.crowds.measure.leaving import watch
from jostle.crowds.measure.pressing import crowd_pressure
from jostle.crowds.measure.summary import density_maps
from jostle.errors import InvalidValue
from jostle.plans.stored import plan_of
from jostle.result.solution import Solution

Measure = Callable[[Any], Any]


def evacuation_time(sol: Solution) -> float:
    """Time at which the last person left, in seconds; infinite if somebody did not leave."""
    return analysed_evacuation_time(sol)


def flow(sol: Solution) -> float:
    """People who leave per second: J = (N - 1) / (t_N - t_1), for N people who left between t_1 and t_N."""
    left = leaving_times(sol)
    left = left[np.isfinite(left)]
    if len(left) < 2 or left[-1] <= left[0]:
        raise InvalidValue(
            f"the flow needs at least two people who leave at different times; {len(left)} left in this run"
        )
    return (len(left) - 1) / float(left[-1] - left[0])


def people_left(sol: Solution) -> int:
    """Number of people who left."""
    return int(np.isfinite(leaving_times(sol)).sum())


def worst_density(sol: Solution) -> float:
    """Largest density in a square of 1 m at a saved time, in people per square metre, as in `crowd_summary`."""
    plan = plan_of(sol)
    if plan is None:
        raise InvalidValue("the density needs the floor plan of a crowd, which this run does not have")
    mapped = density_maps(sol, plan)
    watch(sol, plan, mapped)
    return float(np.nan_to_num(mapped.maps.peak[0]))  # NaN if nobody was inside


def worst_pressure(sol: Solution) -> float:
    """Largest pressure on a person at a saved time: the sum of their contact forces over their circumference."""
    return float(max(np.nanmax(crowd_pressure(sol, k).pressure) for k in range(1, len(sol.t))))


def largest_force(sol: Solution) -> float:
    """Largest contact force at a saved time; in a first-order run, the largest multiplier."""
    return float(sol.impulses()["force"].max(initial=0.0))


def kinetic_energy(sol: Solution) -> float:
    """Kinetic energy at the end."""
    return float(sol.energy().kinetic[-1])


def dissipated_energy(sol: Solution) -> float:
    """Energy dissipated by contacts during the run."""
    return float(sol.energy_balance().dissipated[-1])


def end_time(sol: Any) -> float:
    """Time at which the run ended."""
    return float(sol.t[-1])


def worst_overlap(sol: Solution) -> float:
    """Largest overlap of all steps, such as a fraction of the smallest radius; see `Solution.overlap`."""
    return sol.overlap


def leaving_times(sol: Solution) -> Array:
    """(n,) the times at which people left, in increasing order; infinite for people who did not leave."""
    left = analysed_leaving_times(sol)
    return np.sort(left[~np.isnan(left)])


def _check(name: str, item: object) -> None:
    if not callable(item) or not accepts(item, 1):
        raise InvalidValue(f"the measure {name!r} must be a function of a solution, not {described(item)}")


MEASURES: Registry[Measure] = Registry(
    "jostle.measures", "measure",
    {
        name: f"jostle.study.measures:{name}"
        for name in (
            "evacuation_time", "flow", "people_left", "worst_density", "worst_pressure", "largest_force",
            "kinetic_energy", "dissipated_energy", "end_time", "worst_overlap",
        )
    },
    _check,
)  # fmt: skip
"""Registry of the measures of a run; each returns one number.

>>> import jostle as jo
>>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
>>> jo.study.MEASURES.get("end_time")(jo.solve(ball, jo.Maury(), t=0.5, h=0.1))
0.5
"""
CURVES: Registry[Measure] = Registry(
    "jostle.curves", "curve", {"leaving_times": "jostle.study.measures:leaving_times"}, _check
)
"""Registry of the curves of a run; each returns a list of numbers.

>>> import jostle as jo
>>> jo.study.CURVES.names()
['leaving_times']
"""


def found(measure: str | Measure, known: Registry[Measure]) -> Measure:
    """The function with a name, at a place "module:function", or the function itself.

    >>> import jostle as jo
    >>> found("evacuation_tme", MEASURES)
    Traceback (most recent call last):
    jostle.errors.InvalidValue: unknown measure 'evacuation_tme'; did you mean 'evacuation_time'?
    """
    if not isinstance(measure, str):
        _check(getattr(measure, "__name__", "?"), measure)
        return measure
    if ":" not in measure:
        return known.get(measure)
    item: Measure = at_place(measure, known.noun)
    _check(measure, item)
    return item


def at_place(place: str, noun: str) -> Any:
    """The object at a place "module:name".

    >>> at_place("math:tau", "number") > 6.28
    True
    """
    module, _, name = place.partition(":")
    try:
        value: Any = import_module(module)
    except (ImportError, ValueError) as error:
        raise InvalidValue(f"the {noun} {place!r} cannot be imported: {error}") from None
    for part in name.split("."):
        if not hasattr(value, part):
            file = getattr(sys.modules[module], "__file__", None)
            raise InvalidValue(
                f"the {noun} {place!r} does not exist: {module} has no {name!r}{f' (it is {file})' if file else ''}"
            )
        value = getattr(value, part)
    return value
