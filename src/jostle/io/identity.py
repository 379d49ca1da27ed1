"""What makes two runs the same run: what must agree when a run is resumed from a checkpoint, and what may change.

Data are compared by their values: numbers, texts, arrays, and objects by their public attributes. A description is a
mapping from places (``within.sets[0].radii``) to strings. What a function computes cannot be read off its code and its
data: functions are described by their names, and those of a problem are called as well, because two runs are the same
only if their functions return the same values. Conditions and changes are not called, since they may have effects; a
warning names those that are functions.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import types
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from enum import Enum
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from jostle._tools.arrays import Array
from jostle._tools.plugins import is_of_jostle
from jostle.bodies import Bodies, neighbour_distance
from jostle.convex.metric import Metric
from jostle.errors import NotReproducible, warn
from jostle.kernels.parallel import threads
from jostle.pose import Pose
from jostle.problems import Motion, Remembers
from jostle.sets.balls import Balls
from jostle.sets.base import ConstraintSet, parts
from jostle.sets.joints import Motors
from jostle.sets.user import UserSet

MAX_WRITTEN_OUT = 8
"""Arrays and lists with at most this many entries are written out."""
FUNCTIONS = types.FunctionType, types.BuiltinFunctionType, np.ufunc
"""Functions that are no objects of a class of their own."""
DIGEST_LENGTH = 12
"""Number of characters of a digest."""
MAX_LISTED = 4
"""Largest number of differences listed in an error message; further ones are counted."""
VALUE_TOLERANCE = 1e-9
"""Values that a function returns may differ by this fraction of the largest, because machines round differently."""

Description = dict[str, str]
Values = dict[str, list[float] | str]
"""What functions returned, by name: some numbers, or the name of the error that was raised."""


def describe(thing: Any, kept: Any = None, *, called: bool = False) -> Description:
    """The description of an object; `kept` is a random generator whose state the checkpoint stores.

    With `called`, the functions of the user in it are compared by the values that they return: objects that are
    functions are then described by their names, and not by attributes, which may count the calls.
    """
    found: Description = {}
    _Describer(kept, called).add(found, "", thing)
    return found


def _numbers_of(values: np.ndarray[Any, Any]) -> list[float]:
    if values.size <= MAX_WRITTEN_OUT:
        return [float(value) for value in values]
    weights = 1.0 + np.cos(np.arange(values.size))
    return [float(values.size), float(values.min()), float(values.max()), float(np.mean(weights * values))]


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(name, old, new) for each place at which two descriptions differ, or function that returned other values."""
    names = [*before, *(name for name in after if name not in before)]
    pairs = [(name, before.get(name, "nothing"), after.get(name, "nothing")) for name in names]
    return [(name, str(old), str(new)) for name, old, new in pairs if not _agree(old, new)]


def _agree(old: Any, new: Any) -> bool:
    """Whether two texts are the same, or two lists of numbers up to `VALUE_TOLERANCE`."""
    if isinstance(old, str) or isinstance(new, str) or len(old) != len(new):
        return bool(old == new)
    a, b = np.asarray(old, dtype=float), np.asarray(new, dtype=float)
    equal = (a == b) | (np.isnan(a) & np.isnan(b))
    ends = slice(1, None) if len(a) == 4 else slice(None)  # the size of a long array is no value
    size = max(float(np.abs(part[ends][np.isfinite(part[ends])]).max(initial=0.0)) for part in (a, b))
    with np.errstate(invalid="ignore"):
        return bool((equal | (np.abs(a - b) <= VALUE_TOLERANCE * size)).all())


def digest(data: Any) -> str:
    """A short hash of bytes or of a description."""
    raw = data if isinstance(data, bytes) else json.dumps(data, sort_keys=True).encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()[:DIGEST_LENGTH]


def listed(changed: Iterable[tuple[str, str, str]]) -> str:
    """The first differences in words, and the number of further ones.

    >>> listed([("problem.mass", "1.0", "2.0")])
    'problem.mass was 1.0, now 2.0'
    """
    words = [f"{place or 'it'} was {old}, now {new}" for place, old, new in changed]
    more = len(words) - MAX_LISTED
    return "; ".join(words[:MAX_LISTED]) + (f"; and {more} more" if more > 0 else "")


class _Describer:
    """Describes an object recursively; an object that occurs again is named by its first place."""

    def __init__(self, kept: Any, called: bool):
        self.kept, self.called = kept, called
        self.seen: dict[int, tuple[str, Any]] = {}

    def add(self, found: Description, place: str, thing: Any) -> None:
        simple = _simple(thing)
        if simple is not None:
            found[place] = simple
        elif self.kept is not None and thing is self.kept:
            found[place] = "the generator that the checkpoint keeps"
        elif isinstance(thing, Bodies):  # by what they are, whoever shares them
            self._parts(found, place.removesuffix("bodies").removesuffix("."), _of_bodies(thing))
        elif id(thing) in self.seen:
            found[place] = f"the same as {self.seen[id(thing)][0] or 'the whole'}"
        else:
            self.seen[id(thing)] = place, thing  # referenced, so that no other object gets its id
            self._add(found, place, thing)

    def _add(self, found: Description, place: str, thing: Any) -> None:
        if isinstance(thing, np.random.Generator | np.random.BitGenerator):
            found[place] = _seed(thing)
        elif isinstance(thing, Mapping):
            self._parts(found, place, {f"[{key!r}]": value for key, value in thing.items()} or {"": "an empty mapping"})
        elif isinstance(thing, list | tuple | set | frozenset | np.ndarray):  # an array of objects
            self._entries(found, place, thing)
        elif callable(thing) and not is_of_jostle(thing):
            found[place] = f"function {_name(thing)}"
            if not self.called:
                self._parts(found, place, _data_of_function(thing))
        else:
            found[f"{place}.type".removeprefix(".")] = f"{type(thing).__module__}.{type(thing).__qualname__}"
            self._parts(found, place, _attributes(thing))

    def _parts(self, found: Description, place: str, parts: Mapping[str, Any]) -> None:
        for name, value in parts.items():
            self.add(found, (place + name).removeprefix("."), value)

    def _entries(self, found: Description, place: str, thing: Any) -> None:
        if isinstance(thing, set | frozenset):
            entries = sorted(thing, key=lambda entry: digest(describe(entry)))
        else:
            entries = np.ravel(thing).tolist() if isinstance(thing, np.ndarray) else list(thing)
        named = {f"[{k}]": entry for k, entry in enumerate(entries)}
        if len(entries) <= MAX_WRITTEN_OUT:
            self._parts(found, place, named or {"": "no entry"})
        else:
            alone: Description = {}
            self._parts(alone, "", named)
            found[place] = f"{type(thing).__name__} of {len(entries)} {digest(alone)}"


def _of_bodies(bodies: Bodies) -> dict[str, Any]:
    """What bodies are, by name; how they turn and what balls they consist of only if they do."""
    more = {".inertia": bodies.inertia, ".parts": bodies.parts}
    there = {name: one for name, one in more.items() if one is not None}
    return {".radii": bodies.radii, ".mass": bodies.mass, **there}


def _simple(thing: Any) -> str | None:
    """The description of numbers, strings, arrays of numbers, and objects identified by a name; else None."""
    if thing is None or isinstance(thing, bool | int | float | complex | str | bytes):
        return repr(thing) if len(repr(thing)) < 80 else f"{repr(thing)[:40]}... {digest(repr(thing))}"
    if isinstance(thing, np.generic) and thing.dtype.kind != "O":
        return _simple(thing.item())
    if isinstance(thing, np.ndarray) and thing.dtype.kind in "biufc":
        return _numbers(thing)
    if isinstance(thing, Enum | PurePath | range | slice | np.dtype):
        return repr(thing)
    if isinstance(thing, types.ModuleType):
        return f"module {thing.__name__}"
    if isinstance(thing, type):
        return f"{thing.__module__}.{thing.__qualname__}"
    return None


def _numbers(array: np.ndarray[Any, Any]) -> str:
    if array.size <= MAX_WRITTEN_OUT:
        return str(array.tolist())
    words = f"from {array.min():.6g} to {array.max():.6g}, " if array.dtype.kind in "iuf" else ""
    shown = f"{array.shape}, {words}"
    return f"array of shape {shown}{digest(str(array.dtype).encode() + np.ascontiguousarray(array).tobytes())}"


def _seed(generator: Any) -> str:
    """A random generator by its seed, because its state changes during a run."""
    bits = getattr(generator, "bit_generator", generator)
    seeds = getattr(bits, "seed_seq", None)
    return f"{type(bits).__name__} of seed {getattr(seeds, 'entropy', None)} {getattr(seeds, 'spawn_key', ())}"


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _data_of_function(function: Any) -> dict[str, Any]:
    """The arguments that a partial function has already, the object of a method, or the attributes of an object."""
    if isinstance(function, functools.partial):
        return {".func": function.func, ".args": function.args, ".keywords": function.keywords}
    if isinstance(function, types.MethodType):
        return {".self": function.__self__}
    return {} if isinstance(function, FUNCTIONS) else _attributes(function)


def _attributes(thing: Any) -> dict[str, Any]:
    """The public attributes of an object without cached properties; private ones are often caches."""
    kind = type(thing)
    slots = [vars(base).get("__slots__", ()) for base in kind.__mro__]
    names = [name for some in slots for name in ([some] if isinstance(some, str) else some)]
    values = {name: getattr(thing, name) for name in names if hasattr(thing, name)} | getattr(thing, "__dict__", {})
    return {f".{name}": value for name, value in values.items() if not name.startswith("_") and not _cached(kind, name)}


def _cached(kind: type, name: str) -> bool:
    return any(isinstance(vars(base).get(name), functools.cached_property) for base in kind.__mro__)


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
        """What they return: up to 8 numbers, of longer arrays the size, the extremes and a weighted mean.

        Every call begins with the same state of the generator and without memories; both are left as they were.
        """
        bits, past = None if self.random is None else self.random.bit_generator, self.past
        before, memory = None if bits is None else bits.state, None if past is None else deepcopy(past.memory)
        found: Values = {}
        for name, function in self.functions(t, state).items():
            if bits is not None:
                bits.state = type(bits)(0).state
            if past is not None:
                past.restore(None)
            try:
                with np.errstate(all="ignore"):
                    found[name] = _numbers_of(np.asarray(function(), dtype=float).ravel())
            except Exception as error:  # noqa: BLE001 - a function may raise anything; the run itself will then tell
                found[name] = type(error).__name__
        if bits is not None:
            bits.state = before
        if past is not None:
            past.restore(memory)
        return found


class Run:
    """The identity of a run: `fixed` must agree when it is resumed, `free` may change."""

    def __init__(
        self, problem: Any, scheme: Any, changes: Any, times: tuple[float, float], h: Array, free: dict[str, Any],
        called: Called, uncalled: Mapping[str, Any],
    ):  # fmt: skip
        self.problem, self.scheme, self.sizes, self.called = problem, scheme, h, called
        random = called.random
        things = {"scheme": scheme, "problem": problem, "changes": changes}
        self.titles = {name: ADDRESS.sub("", " ".join(repr(thing).split())) for name, thing in things.items()}
        self.fixed = {name: describe(thing, random, called=name == "problem") for name, thing in things.items()}
        self.fixed["start"] = {"": repr(times[0])}
        told = free | {"threads": threads()}
        self.free = {name: _free(name, told[name], random) for name in CHANGEABLE}
        start, end = times
        self.early = {repr(t): called.returned(t) for t in (start + part * (end - start) for part in FRACTIONS)}
        """What the functions return at some times, with the positions and velocities of the start."""
        for name, first, second in differences(self.early[repr(start)], called.returned(start)):
            warn(
                f"{name} returned {first}, and {second} when it was called again with the same arguments: the result "
                f"then depends on how often checkpoints compare it, and a resumed run differs. Let it depend on its "
                f"arguments only, or let it inherit from jostle.problems.Remembers, or give its generator to the "
                f"checkpoint, jo.io.Output(checkpoint=path, random=generator)",
                NotReproducible,
            )
        self.uncalled = uncalled
        """The conditions and changes of the user, by name, which are not called to compare runs."""

    def warn_of_functions(self) -> None:
        """Warn of changes that are functions, and of changes and conditions that may count what they see."""
        plain = isinstance(self.uncalled.get("until"), FUNCTIONS)  # conditions that count are objects
        names = [
            name for name, thing in self.uncalled.items() if _may_remember(thing) and not (name == "until" and plain)
        ]
        if names:
            warn(
                f"the checkpoint contains the names alone of {', '.join(names)}, and nothing that functions remember: "
                f"the resumed run differs from an uninterrupted one if they are others, or depend on more than their "
                f"argument. Make them frozen dataclasses with __call__, or let them inherit from "
                f"jostle.problems.Remembers",
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
        for name in ("h", "start", "scheme", "problem", "changes"):
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
            for name, old, new in differences(values, now):
                found.setdefault(name, (f"{name} at the start, with t = {float(t):g},", old, new))
        return f"a function returns other values: {listed(found.values())}" if found else ""

    def other_state(self, kept: dict[str, Any], state: Any) -> str:
        """The functions that return other values at the state of a checkpoint, in words."""
        changed = differences(kept["values"]["now"], self.called.returned(state.t, state))
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


def _may_remember(thing: Any) -> bool:
    """Whether this is a function of the user, or an object that may change, and does not inherit from `Remembers`."""
    if isinstance(thing, functools.partial):
        return _may_remember(thing.func)
    owner = getattr(thing, "__self__", thing)
    if not callable(thing) or isinstance(thing, Remembers) or is_of_jostle(owner):
        return False
    of_jostle = str(getattr(thing, "__module__", "")).partition(".")[0] == "jostle"
    frozen = bool(getattr(getattr(owner, "__dataclass_params__", None), "frozen", False))
    return not of_jostle and not frozen


def functions_of(problem: Any, t: float, state: Any) -> dict[str, Callable[[], Any]]:
    """The functions of a problem of bodies at a time and a state; None: the positions and velocities of the start."""
    pose = problem.pose0 if state is None else state.pose
    q, places = pose.q, pose.centres
    found: dict[str, Callable[[], Any]] = {}
    if isinstance(problem, Motion):
        u = problem.v0 if state is None else state.u
        if problem.constant_force is None:
            found["force"] = functools.partial(problem.force, t, q, u)
        if not isinstance(problem.mass, Metric):
            found["mass"] = lambda: problem.metric(q).mass
        if (stiff := problem.stiff) is not None:
            found["slopes"] = lambda: np.concatenate([slope.ravel() for slope in stiff.slopes(t, q, u)])
        if problem.law.uniform is None:
            found["law"] = lambda: _coefficients(problem, t, pose, float(np.abs(u).max(initial=0.0)) or 1.0)
        if problem.torque is not None:
            spin = problem.spin0 if state is None else state.spin
            found["torque"] = functools.partial(problem.torque, t, pose.as_given, spin)
    else:
        found["velocity"] = functools.partial(problem.velocity, t, q)
    for k, Q in enumerate(parts(problem.within)):
        if isinstance(Q, Motors):
            found[f"the speeds of set {k}, {Q!r},"] = functools.partial(Q.speeds, t)
        elif Q.moving is not False or isinstance(Q, UserSet) or not is_of_jostle(Q):
            found[f"set {k}, {Q!r},"] = functools.partial(_gaps, Q, t, places)
    return found


def _gaps(Q: ConstraintSet, t: float, q: Array) -> Array:
    """The gaps of a set that functions determine; of balls, their radii, since there are too many pairs."""
    if isinstance(Q, Balls) and is_of_jostle(Q):
        return Q.bodies.radii_at(t)
    return Q.gaps(t, q) if is_of_jostle(Q) else np.sort(Q.linearise(t, q, neighbour_distance(q)).gap)


def _coefficients(problem: Motion, t: float, pose: Pose, speed: float) -> list[Any]:
    """The restitution coefficients of the contacts near a configuration, at several speeds."""
    cutoff = nearby = neighbour_distance(pose.centres)
    contacts = problem.within.contacts(t, pose, cutoff)
    while len(contacts.gap) == 0 and cutoff < np.inf:
        cutoff = WIDER * cutoff if WIDER * cutoff < FURTHEST * nearby else np.inf
        contacts = problem.within.contacts(t, pose, cutoff)
    contacts = contacts.only(np.arange(min(len(contacts.gap), MAX_LAW_CONTACTS)))
    every = np.ones(len(contacts.gap))
    return [np.broadcast_to(problem.law.coefficients(contacts, part * speed * every), every.shape) for part in SPEEDS]
