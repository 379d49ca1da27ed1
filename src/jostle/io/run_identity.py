"""The identity of a run: what must agree when it is resumed from a checkpoint, and what may change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array
from jostle._tools.plugins import is_of_jostle
from jostle.convex.metric import Metric
from jostle.errors import NotReproducible, warn
from jostle.io.identity import Values, describe, differences, digest, listed, other_values, returned
from jostle.kernels.threads import threads
from jostle.problems import Motion, Remembers
from jostle.sets.balls import Balls
from jostle.sets.base import ConstraintSet, Intersection
from jostle.sets.user import UserSet

CHANGEABLE = ("t", "every", "until", "strict", "threads", "device")
"""Settings that may change when a run is resumed."""
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""Address of an object in memory, which differs between processes."""
MAX_TITLE = 160
"""Largest number of characters of a description in an error message."""
FRACTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Fractions of the time of a run at which its functions are called, with the positions and velocities of the start."""
SPEEDS = (0.1, 0.5, 1.0, 2.0, 10.0)
"""Speeds at which impact laws are compared, in multiples of the largest velocity of a body."""
MAX_LAW_CONTACTS = 100
"""Largest number of contacts for which impact laws are compared."""
WIDER, FURTHEST = 4.0, 100.0
"""Contacts for the comparison of laws are searched this many times as far, up to the second factor, then everywhere."""


class Called(NamedTuple):
    """The functions of a problem, which two runs are compared by."""

    functions: Callable[[float, Any], dict[str, Callable[[], Any]]]
    """The functions at a time and a state, None for the start, by name."""
    random: Any = None
    """The random generator from which they draw, if the checkpoint keeps one."""
    past: Remembers | None = None
    """The function that remembers something, if there is one."""

    def returned(self, t: float, state: Any = None) -> Values:
        """What they return."""
        return returned(self.functions(t, state), self.random, self.past)


class Run:
    """The identity of a run: `fixed` must agree when it is resumed, `free` may change."""

    def __init__(
        self, problem: Any, scheme: Any, change: Any, times: tuple[float, float], h: Array, free: dict[str, Any],
        called: Called,
    ):  # fmt: skip
        self.problem, self.scheme, self.sizes, self.called = problem, scheme, h, called
        random = called.random
        things = {"scheme": scheme, "problem": problem, "change": change}
        self.titles = {name: ADDRESS.sub("", " ".join(repr(thing).split())) for name, thing in things.items()}
        self.fixed = {name: describe(thing, random, called=name == "problem") for name, thing in things.items()}
        self.fixed["start"] = {"": repr(times[0])}
        told = free | {"threads": threads()}
        self.free = {name: _free(name, told[name], random) for name in CHANGEABLE}
        start, end = times
        self.early = {repr(t): called.returned(t) for t in (start + part * (end - start) for part in FRACTIONS)}
        """What the functions return at some times, with the positions and velocities of the start."""
        for name, first, second in other_values(self.early[repr(start)], called.returned(start)):
            warn(
                f"{name} returned {first}, and {second} when it was called again with the same arguments: the result "
                f"then depends on how often checkpoints compare it, and a resumed run differs. Let it depend on its "
                f"arguments only, or let it implement jostle.problems.Remembers, or give its generator to the "
                f"checkpoint, jo.io.Checkpoint(path, random=generator)",
                NotReproducible,
            )

    def text(self, done: int, state: Any = None) -> str:
        """The description of the run that a checkpoint stores after `done` steps, as JSON."""
        values = {"early": self.early, "now": {} if state is None else self.called.returned(state.t, state)}
        return json.dumps({"titles": self.titles, "fixed": self._fixed(done), "free": self.free, "values": values})

    def _fixed(self, done: int) -> dict[str, dict[str, str]]:
        """The fixed part, with the steps done; later steps may change."""
        if self.sizes.ndim == 0:
            return self.fixed | {"h": {"": repr(float(self.sizes))}}
        if len(self.sizes) < done:
            return self.fixed | {"h": {"": f"{len(self.sizes)} steps"}}
        return self.fixed | {"h": {"": f"{done} steps {digest(self.sizes[:done].tobytes())}"}}

    def difference(self, kept: dict[str, Any], done: int) -> str:
        """The differences between the data of a checkpoint and of this run, in words; empty if there are none."""
        now = self._fixed(done)
        words = []
        for name in ("h", "start", "scheme", "problem", "change"):
            changed = differences(kept["fixed"].get(name, {}), now[name])
            if not changed:
                continue
            before, after = (str(titles.get(name, ""))[:MAX_TITLE] for titles in (kept["titles"], self.titles))
            if name in ("h", "start"):
                words.append(f"{name} was {changed[0][1]}, now it is {changed[0][2]}")
            elif before != after:
                words.append(f"{name} was {before}, now it is {after} ({listed(changed)})")
            else:
                words.append(f"{name} was {before} and has changed: {listed(changed)}")
        return "; ".join(words)

    def other_start(self, kept: dict[str, Any]) -> str:
        """The functions that return other values at the start, or later with q0, than those of a checkpoint."""
        found: dict[str, tuple[str, str, str]] = {}
        for t, values in kept["values"]["early"].items():
            now = self.early[t] if t in self.early else self.called.returned(float(t))
            for name, old, new in other_values(values, now):
                found.setdefault(name, (f"{name} at the start, with t = {float(t):g},", old, new))
        return f"a function returns other values: {listed(found.values())}" if found else ""

    def other_state(self, kept: dict[str, Any], state: Any) -> str:
        """The functions that return other values at the state of a checkpoint, in words."""
        changed = other_values(kept["values"]["now"], self.called.returned(state.t, state))
        found = [(f"{name} at the saved state, t = {state.t:g},", old, new) for name, old, new in changed]
        return f"a function returns other values: {listed(found)}" if found else ""

    def changes(self, kept: dict[str, Any]) -> dict[str, list[str]]:
        """{name: [old, new]} for the settings that may change and did."""
        before = {name: str(kept["free"].get(name)) for name in CHANGEABLE}
        return {name: [before[name], self.free[name]] for name in CHANGEABLE if before[name] != self.free[name]}


def _free(name: str, value: Any, random: Any) -> str:
    if name != "until" or value is None:
        return repr(value)
    return f"{getattr(value, '__name__', type(value).__name__)} {digest(describe(value, random))}"


def functions_of(problem: Any, t: float, state: Any) -> dict[str, Callable[[], Any]]:
    """The functions of a problem of bodies at a time and a state; None: the positions and velocities of the start."""
    q = problem.q0 if state is None else state.q
    found: dict[str, Callable[[], Any]] = {}
    if isinstance(problem, Motion):
        u = problem.v0 if state is None else state.u
        if problem.constant_force is None:
            found["force"] = partial(problem.force, t, q, u)
        if not isinstance(problem.mass, Metric):
            found["mass"] = lambda: problem.metric(q).mass
        if (stiff := problem.stiff) is not None:
            found["slopes"] = lambda: np.concatenate([slope.ravel() for slope in stiff.slopes(t, q, u)])
        if problem.law.uniform is None:
            found["law"] = lambda: _coefficients(problem, t, q, float(np.abs(u).max(initial=0.0)) or 1.0)
    else:
        found["velocity"] = partial(problem.velocity, t, q)
    for k, Q in enumerate(problem.within.sets if isinstance(problem.within, Intersection) else (problem.within,)):
        if Q.moving is not False or isinstance(Q, UserSet) or not is_of_jostle(Q):
            found[f"set {k}, {Q!r},"] = partial(_gaps, Q, t, q)
    return found


def _gaps(Q: ConstraintSet, t: float, q: Array) -> Array:
    """The gaps of a set that functions determine; of balls, their radii, since there are too many pairs."""
    if isinstance(Q, Balls) and is_of_jostle(Q):
        return Q.radii_at(t)
    return Q.gaps(t, q) if is_of_jostle(Q) else np.sort(Q.linearise(t, q, _reach(q)).gap)


def _reach(q: Array) -> float:
    """About the distance of neighbours, so that not all pairs of many bodies are asked for; infinite for one body."""
    spread = float(np.ptp(q, axis=0).max()) if q.ndim == 2 and len(q) else 0.0
    return spread / len(q) ** (1.0 / q.shape[1]) if spread > 0.0 else np.inf


def _coefficients(problem: Motion, t: float, q: Array, speed: float) -> list[Any]:
    """The restitution coefficients of the contacts near a configuration, at several speeds."""
    reach = _reach(q)
    contacts = problem.within.linearise(t, q, reach)
    while len(contacts.gap) == 0 and reach < np.inf:
        reach = WIDER * reach if WIDER * reach < FURTHEST * _reach(q) else np.inf
        contacts = problem.within.linearise(t, q, reach)
    contacts = contacts.only(np.arange(min(len(contacts.gap), MAX_LAW_CONTACTS)))
    every = np.ones(len(contacts.gap))
    return [np.broadcast_to(problem.law.coefficients(contacts, part * speed * every), every.shape) for part in SPEEDS]
