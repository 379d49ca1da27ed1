"""Where a run is computed: its problem goes to the device once, and its states come back where they are needed.

A state that is not needed on the host stays there. What does not run on a device is refused by name before anything is
computed: each scheme, solver and set says what it can do.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from jostle._tools.arrays import on_device, read_only, to_device, to_host
from jostle.bodies import Bodies
from jostle.convex.metric import Metric
from jostle.errors import DeviceUnavailable
from jostle.kernels import devices, offers
from jostle.schemes.base import Scheme
from jostle.schemes.capabilities import STIFF, TURNING, able, in_words, needs_of
from jostle.schemes.state import State
from jostle.sets.base import parts
from jostle.solvers import SOLVERS

MOST_DIMENSIONS = 3
"""Of the space that bodies live in, on a device."""


def array_module(device: str) -> Any:
    """The module of the arrays of a device, numpy or cupy; `DeviceUnavailable` if the device cannot be used."""
    try:
        return devices.array_module(device)
    except RuntimeError as error:
        raise DeviceUnavailable(str(error)) from None


class Device:
    """The device of one run, "cpu" or "cuda".

    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], within=jo.HalfSpace([1.0]))
    >>> cpu = Device("cpu", ball, jo.Maury())
    >>> cpu.problem is ball
    True
    """

    def __init__(self, name: str, problem: Any, scheme: Scheme):
        self.place = array_module(name)
        if self.place is not np:
            _check(name, self.place, problem, scheme)
        self.bodies, self.problem = problem.bodies, problem if self.place is np else problem.on(self.place)
        """What the steps are computed from."""
        self._seen: tuple[State, State] | None = None
        """The state that was last moved: there, and here."""

    def host(self, state: State) -> State:
        """A state of the run with arrays of NumPy, moved once however many look at it."""
        if self.place is np or not on_device(state.q):
            return state
        if self._seen is None or self._seen[0] is not state:
            here = _of_bodies(to_host(state), self.bodies)
            read_only(here.q)
            read_only(here.w)
            self._seen = state, here
        return self._seen[1]

    def moved(self, state: State) -> State:
        """A state with arrays of NumPy as one of the run; what it shares with the last one is not moved again."""
        if self.place is np:
            return state
        there, here = self._seen or (None, None)
        values: dict[str, Any] = {}
        for name in (each.name for each in fields(State)):
            value = getattr(state, name)
            same = here is not None and value is getattr(here, name)
            values[name] = getattr(there, name) if same else to_device(value, self.place)
        moved = _of_bodies(State(**values), self.problem.bodies)
        self._seen = moved, state
        return moved


def _of_bodies(state: State, bodies: Bodies) -> State:
    """The state with bodies whose arrays are where its own are."""
    return state if state.pose.bodies is bodies else state.replace(pose=replace(state.pose, bodies=bodies))


def _check(name: str, place: Any, problem: Any, scheme: Scheme) -> None:
    """Refuse what does not run on a device."""
    if not scheme.on_devices:
        others = [each.__name__ for each in able(needs_of(problem)).values() if getattr(each, "on_devices", False)]
        remedy = f"use {in_words(others)}, or" if others else "use"
        raise DeviceUnavailable(f"{type(scheme).__name__} does not run on {name}; {remedy} device='cpu'")
    if STIFF in needs_of(problem):
        raise DeviceUnavailable(f"a StiffForce is not computed on {name}; use device='cpu'")
    dimension = problem.q0.shape[-1] if problem.q0.ndim == 2 else 1
    if dimension > MOST_DIMENSIONS:
        raise DeviceUnavailable(f"on {name} bodies live in at most {MOST_DIMENSIONS} dimensions, not {dimension}")
    refused = [repr(Q) for Q in parts(problem.within) if not Q.on_devices]
    if refused:
        raise DeviceUnavailable(f"{refused[0]} cannot be computed on {name}; use device='cpu'")
    if TURNING in needs_of(problem) and (problem.bodies.own_axes or problem.law.rolls):
        what = "the inertia of bodies that are no balls" if problem.bodies.own_axes else "rolling resistance"
        raise DeviceUnavailable(f"{what} is not computed on {name}; leave it out, or use device='cpu'")
    array = place.asarray(np.zeros(1))
    if not offers(array, scheme.solver.kernels):
        served = [each.__name__ for _, each in SOLVERS.items() if offers(array, each.kernels)]
        raise DeviceUnavailable(f"{scheme.solver.name} has no kernels for {name}; use {in_words(served)}")
    mass, bodies = problem.mass, len(problem.q0) if problem.q0.ndim == 2 else 1
    if mass is not None and (not isinstance(mass, Metric) or mass.of_bodies(bodies) is None):
        raise DeviceUnavailable(f"on {name} each body has one mass; give a number, or one for each body, as mass=")
