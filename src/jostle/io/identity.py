"""Descriptions of everything that determines the results of a run, so that two runs can be compared.

A description is a mapping from places (``within.parts[0].radii``) to strings. Numbers and short arrays are written out,
long arrays have a digest. A function of the user is described by its compiled code, its default arguments, the values
of its closure and the global names that it reads; an object of a class of the user by its attributes and the code of
its class. Functions and classes of jostle, of the standard library and of installed packages are described by their
names: the user does not change them, and much of what their code reads differs from process to process.

A description does not include what a function reads from files, from the attributes of modules, or from compiled
extensions, nor attributes that an object computes. Opaque objects are described by their type only.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import json
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any

import numpy as np

LIBRARIES = {"builtins", "jostle", "numba", "numpy", "scipy", "shapely"} | set(sys.stdlib_module_names) - {"__main__"}
"""Packages whose functions and classes are described by their names."""
CHANGING = {
    ("jostle.sets.differences", "Differences"): {"steps"},
    ("logging", "Logger"): {"_cache", "handlers", "manager", "parent"},
    ("logging", "RootLogger"): {"_cache", "handlers", "manager", "parent"},
}
"""Attributes of classes that change during a run and are therefore not described."""
RENAMED = {
    "jostle.sets.walls.Inside": "jostle.sets.containers.Inside",
    "jostle.solvers.exact.Exact": "jostle.solvers.dual_active_set.ActiveSet",
    "jostle.solvers.nesterov.Nesterov": "jostle.solvers.gauss_seidel.GaussSeidel",
}
"""Old and new names of classes that older versions of jostle described."""
MAX_WRITTEN_OUT = 8
"""Arrays and lists with at most this many entries are written out."""
DIGEST_LENGTH = 12
"""Number of characters of a digest."""
MAX_LISTED = 4
"""Largest number of differences listed in an error message; further ones are counted."""

Description = dict[str, str]


def describe(thing: Any, kept: Any = None) -> Description:
    """The description of an object; `kept` is a random generator whose state the checkpoint stores.

    >>> describe({"g": 9.81, "radii": np.arange(3.0)})
    {"['g']": '9.81', "['radii']": '[0.0, 1.0, 2.0]'}
    """
    found: Description = {}
    _Describer(found, kept).add("", thing)
    return found


def digest(data: Any) -> str:
    """A short hash of bytes or of a description."""
    raw = data if isinstance(data, bytes) else json.dumps(data, sort_keys=True).encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()[:DIGEST_LENGTH]


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """(place, old, new) for each place at which two descriptions differ."""
    places = [*before, *(place for place in after if place not in before)]
    nothing = "nothing"
    pairs = ((place, before.get(place, nothing), after.get(place, nothing)) for place in places)
    return [(place, old, new) for place, old, new in pairs if RENAMED.get(old, old) != new]


def listed(changed: Iterable[tuple[str, str, str]], one: Callable[[str, str, str], str]) -> str:
    """The first differences in words, and the number of further ones."""
    words = [one(*difference) for difference in changed]
    more = len(words) - MAX_LISTED
    return "; ".join(words[:MAX_LISTED]) + (f"; and {more} more" if more > 0 else "")


def was(place: str, old: str, new: str) -> str:
    """One difference in words.

    >>> was("problem.mass", "1.0", "2.0")
    'problem.mass was 1.0, now 2.0'
    """
    return f"{place or 'it'} was {old}, now {new}"


class _Describer:
    """Describes an object recursively; an object that occurs again is named by its first place."""

    def __init__(self, found: Description, kept: Any):
        self.found, self.kept = found, kept
        self.seen: dict[int, tuple[str, Any]] = {}

    def add(self, place: str, thing: Any) -> None:
        simple = _simple(thing)
        if simple is not None:
            self.found[place] = simple
            return
        if self.kept is not None and thing is self.kept:
            self.found[place] = "the generator that the checkpoint keeps"
            return
        if id(thing) in self.seen:
            self.found[place] = f"the same as {self.seen[id(thing)][0] or 'the whole'}"
            return
        self.seen[id(thing)] = place, thing  # referenced, so that no other object gets its id
        self._add(place, thing)

    def _add(self, place: str, thing: Any) -> None:
        if isinstance(thing, np.ndarray):
            self._entries(place, thing.ravel().tolist(), f"objects of shape {thing.shape}")  # of dtype object
        elif isinstance(thing, np.random.Generator | np.random.BitGenerator):
            self.found[place] = _seed(thing)
        elif isinstance(thing, Mapping):
            self._parts(place, {f"[{key!r}]": value for key, value in thing.items()}, "an empty mapping")
        elif isinstance(thing, list | tuple):
            self._entries(place, list(thing), f"{len(thing)} entries")
        elif isinstance(thing, set | frozenset):
            self.found[place] = f"{len(thing)} entries {digest(sorted(digest(describe(one)) for one in thing))}"
        elif isinstance(thing, functools.partial):
            self._parts(place, {".func": thing.func, ".args": thing.args, ".keywords": thing.keywords})
        elif isinstance(thing, types.MethodType):
            self._parts(place, {".self": thing.__self__, f".{thing.__name__}": thing.__func__})
        elif isinstance(thing, types.FunctionType):
            self._function(place, thing)
        elif isinstance(getattr(thing, "py_func", None), types.FunctionType):  # compiled by numba
            self._function(place, thing.py_func)
        elif isinstance(thing, types.CodeType):
            self._code(place, thing)
        elif isinstance(thing, type):
            self._class(place, thing)
        else:
            self._object(place, thing)

    def _parts(self, place: str, parts: Mapping[str, Any], empty: str = "nothing") -> None:
        if not parts:
            self.found[place] = empty
        for name, value in parts.items():
            self.add((place + name).removeprefix("."), value)

    def _entries(self, place: str, entries: list[Any], what: str) -> None:
        if len(entries) > MAX_WRITTEN_OUT:
            self.found[place] = f"{what} {digest(describe(dict(enumerate(entries)), self.kept))}"
        else:
            self._parts(place, {f"[{k}]": entry for k, entry in enumerate(entries)}, "no entry")

    def _function(self, place: str, function: types.FunctionType) -> None:
        """Describe a function of the user by its code and what it reads, one of a library by its name and closure."""
        code, library = function.__code__, _of_library(function)
        name = f"{function.__module__}.{function.__qualname__}" if library else _signature(function)
        self.found[place] = f"{name}" if library else f"{name} {digest(_of_code(code))}"
        values = function.__defaults__ or ()
        first = code.co_argcount - len(values)
        parts = dict(zip(code.co_varnames[first : code.co_argcount], values, strict=False))
        parts |= function.__kwdefaults__ or {}
        for variable, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            parts[variable] = _content(cell)
        if not library:
            known = function.__globals__
            parts |= {name: known[name] for name in _globals(code) if name in known}
        for name, value in parts.items():
            self.add(f"{place}.{name}".removeprefix("."), value)

    def _code(self, place: str, code: types.CodeType) -> None:
        self.found[place] = f"code {digest(_of_code(code))}"

    def _class(self, place: str, kind: type) -> None:
        """Describe a class of the user by its methods and data, a class of a library by its name."""
        self.found[place] = f"{kind.__module__}.{kind.__qualname__}"
        if _of_library(kind):
            return
        for base in kind.__mro__:
            if not _of_library(base):
                for name, value in vars(base).items():
                    if not (name.startswith("__") and name.endswith("__")) or isinstance(value, types.FunctionType):
                        self.add(f"{place}.{name}", _plain(value))

    def _object(self, place: str, thing: Any) -> None:
        kind = type(thing)
        attributes = _attributes(thing)
        if attributes is None:
            attributes = _reduced(thing)
        if attributes is None:
            self.found[place] = f"a {kind.__module__}.{kind.__qualname__}, of which nothing more can be seen"
            return
        name = f"{kind.__module__}.{kind.__qualname__}"
        self.found[f"{place}.type".removeprefix(".")] = name
        if not _of_library(kind):
            self.add(f"{place}.class".removeprefix("."), kind)
        for attribute, value in attributes.items():
            self.add(f"{place}.{attribute}".removeprefix("."), value)


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
    if isinstance(thing, types.BuiltinFunctionType) and not isinstance(thing.__self__, types.ModuleType | None):
        return None
    if isinstance(thing, types.BuiltinFunctionType | np.ufunc):
        return f"{getattr(thing, '__module__', None) or 'numpy'}.{thing.__name__}"
    if isinstance(thing, types.FunctionType | type) and _of_library(thing) and not getattr(thing, "__closure__", None):
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


def _of_library(thing: Any) -> bool:
    package = str(getattr(thing, "__module__", None)).split(".")[0]
    return package in LIBRARIES or _installed(package)


@functools.cache
def _installed(package: str) -> bool:
    """Was the package installed, and is not a module or an editable installation of the user?"""
    module = sys.modules.get(package)
    places = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
    return any({"site-packages", "dist-packages"} & set(PurePath(place).parts) for place in places)


def _signature(function: types.FunctionType) -> str:
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    return f"function {function.__name__}({', '.join(code.co_varnames[:count])})"


def _of_code(code: types.CodeType) -> list[Any]:
    """The code without file names and line numbers."""
    constants = [_of_code(one) if isinstance(one, types.CodeType) else _constant(one) for one in code.co_consts]
    return [code.co_code.hex(), constants, list(code.co_names), list(code.co_varnames), list(code.co_freevars)]


def _constant(value: Any) -> str:
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def _globals(code: types.CodeType) -> list[str]:
    """The global names that the code, or code inside it, reads."""
    found = {one.argval: None for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found |= dict.fromkeys(_globals(inner))
    return list(found)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return "empty"


def _plain(value: Any) -> Any:
    """The function inside a static method, a class method, a property or a cached property."""
    for name in ("__func__", "fget", "func"):
        if isinstance(getattr(value, name, None), types.FunctionType):
            return getattr(value, name)
    return type(value) if isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType) else value


def _attributes(thing: Any) -> dict[str, Any] | None:
    """The attributes of an object, without private attributes of jostle's objects and cached properties."""
    kind = type(thing)
    slots = [name for base in kind.__mro__ for name in _slots(base)]
    if not hasattr(thing, "__dict__") and not slots:
        return None
    values = {name: getattr(thing, name) for name in slots if hasattr(thing, name)}
    values |= getattr(thing, "__dict__", {})
    left_out: frozenset[str] = _private(kind) | CHANGING.get((kind.__module__, kind.__qualname__), set())
    return {name: value for name, value in values.items() if name not in left_out and not _cached(kind, name)}


def _private(kind: type) -> frozenset[str]:
    """The private attributes that classes of jostle use; they are caches, or determined by public attributes."""
    bases = [base for base in kind.__mro__ if base.__module__.split(".")[0] == "jostle"]
    methods = [_plain(value) for base in bases for value in vars(base).values()]
    names = {name for one in methods if isinstance(one, types.FunctionType) for name in one.__code__.co_names}
    return frozenset(name for name in names if name.startswith("_"))


def _slots(base: type) -> list[str]:
    slots = vars(base).get("__slots__", ())
    return [name for name in ([slots] if isinstance(slots, str) else slots) if name not in ("__dict__", "__weakref__")]


def _cached(kind: type, name: str) -> bool:
    return any(isinstance(vars(base).get(name), functools.cached_property) for base in kind.__mro__)


def _reduced(thing: Any) -> dict[str, Any] | None:
    """The parts from which pickle would rebuild the object."""
    try:
        made = thing.__reduce_ex__(2)
    except Exception:  # noqa: BLE001 - an object of another package may raise anything; it is then opaque
        return None
    return {"made of": str(made)} if isinstance(made, str) else {f"part {k}": part for k, part in enumerate(made[:3])}
