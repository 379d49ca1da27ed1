"""What is pickled, for other processes and clusters; and which part of a problem cannot be, by name.

A function is pickled by the name of its module and its own: lambdas, and functions defined inside of others, cannot be.
The package cloudpickle, which Dask uses where pickle fails, can; where it is loaded and succeeds, nothing is refused.
"""

from __future__ import annotations

import functools
import importlib
import pickle
import sys
import types
from collections.abc import Iterator
from typing import Any

from jostle.errors import NotPicklable

REFUSALS = (pickle.PicklingError, TypeError, AttributeError, RecursionError)
"""What pickle raises for an object that cannot be pickled."""


def check_parts(owner: object, parts: dict[str, Any]) -> dict[str, Any]:
    """The parts of an object, if all of them can be pickled; else `NotPicklable` names the one that cannot."""
    if _fails(parts) and not _cloudpickle_can(parts):
        path, culprit = _culprit("", parts, set())
        name = path.removeprefix(".")
        raise NotPicklable(f"this {type(owner).__name__} cannot be pickled, because its {name} is {_words(culprit)}")
    return parts


def by_name(module: str, path: str) -> Any:
    """The object of this name in a module, such as a set that `@constraints` made."""
    return functools.reduce(getattr, path.split("."), importlib.import_module(module))


def has_name(thing: object, module: str, path: str) -> bool:
    """Whether this is the object that `by_name` finds in a module that is already imported."""
    if module not in sys.modules or "<" in path:
        return False
    found: Any = sys.modules[module]
    for name in path.split("."):
        found = getattr(found, name, None)
    return found is thing


def _fails(thing: object) -> bool:
    """Whether pickle refuses an object; arrays are not copied to find out."""
    try:
        pickle.dumps(thing, protocol=5, buffer_callback=lambda buffer: None)
    except NotPicklable:
        raise
    except REFUSALS:
        return True
    return False


def _cloudpickle_can(thing: object) -> bool:
    cloudpickle = sys.modules.get("cloudpickle")
    if cloudpickle is None:
        return False
    try:
        cloudpickle.dumps(thing)
    except REFUSALS:
        return False
    return True


def _culprit(path: str, thing: Any, seen: set[int]) -> tuple[str, Any]:
    """The innermost part that cannot be pickled, and where it is."""
    seen.add(id(thing))
    for name, part in _parts(thing):
        if id(part) not in seen and _fails(part):
            return _culprit(path + name, part, seen)
    return path, thing


def _parts(thing: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, dict):
        yield from ((f".{key}" if isinstance(key, str) else f"[{key!r}]", value) for key, value in thing.items())
    elif isinstance(thing, list | tuple):
        yield from ((f"[{k}]", value) for k, value in enumerate(thing))
    elif isinstance(thing, functools.partial):
        yield from (("", thing.func), ("", thing.args), ("", thing.keywords))
    elif isinstance(thing, types.MethodType):
        yield "", thing.__self__
    elif hasattr(thing, "__dict__") and not isinstance(thing, type | types.FunctionType | types.ModuleType):
        yield from _parts(vars(thing))


def _words(culprit: Any) -> str:
    if isinstance(culprit, types.FunctionType):
        name, _, inner = culprit.__qualname__.rpartition(".<locals>.")
        what = "a lambda" if culprit.__name__ == "<lambda>" else f"{inner}, defined inside of {name}"
        if not name and inner != "<lambda>":
            what = f"{inner}, which {culprit.__module__} does not have under this name"
        return f"{what}: define it by `def` at the top level of a module"
    return f"a {type(culprit).__module__}.{type(culprit).__qualname__}, which pickle refuses"
