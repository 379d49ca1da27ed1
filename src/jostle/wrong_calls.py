"""Messages about calls that do not fit a signature: a misspelt, missing or repeated argument, or too many by position.

Python's own `TypeError` knows neither the spelling that was meant nor which arguments must be given by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from inspect import Parameter
from typing import Any

from jostle.errors import InvalidCall
from jostle.spelling import nearest, suggestion

BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
"""Kinds of parameters whose arguments may be given by position, and by name."""


def wrong_call(name: str, parameters: Sequence[Parameter], count: int, named: Collection[str]) -> InvalidCall:
    """The error about a call with `count` positional arguments and with the arguments `named`.

    >>> from inspect import signature
    >>> parameters = list(signature(lambda problem, scheme, *, t, every=None: 0).parameters.values())
    >>> print(wrong_call("solve", parameters, 2, ["t", "evry"]))
    solve() has no argument 'evry'; did you mean 'every'?
    >>> print(wrong_call("solve", parameters, 3, []))
    solve() takes 2 positional arguments (problem, scheme), not 3; give t, every by name: t=...
    """
    lines = [
        *_too_many(name, parameters, count),
        *_unknown(name, parameters, count, named),
        *_twice(name, parameters, count, named),
        *_missing(name, parameters, count, named),
    ]
    return InvalidCall(" ".join(line if line.endswith("?") else f"{line}." for line in lines).removesuffix("."))


def _names(parameters: Sequence[Parameter], kinds: Collection[Any]) -> list[str]:
    return [each.name for each in parameters if each.kind in kinds]


def _listed(names: Sequence[str], write: Callable[[str], str] = repr) -> str:
    return ", ".join(map(write, names))


def _too_many(name: str, parameters: Sequence[Parameter], count: int) -> list[str]:
    known, others = _names(parameters, BY_POSITION), _names(parameters, [Parameter.KEYWORD_ONLY])
    if count <= len(known) or any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return []
    most = f"{len(known)} positional argument{'s' * (len(known) > 1)} ({', '.join(known)}), not {count}"
    hint = f"; give {', '.join(others)} by name: {others[0]}=..." if others else ""
    return [f"{name}() takes {most if known else 'no positional arguments'}{hint}"]


def _unknown(name: str, parameters: Sequence[Parameter], count: int, named: Collection[str]) -> list[str]:
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return []
    known, order = _names(parameters, BY_NAME), _names(parameters, BY_POSITION)
    free = [each for each in known if each not in named and each not in order[:count]]
    listed = f"its arguments are {', '.join(known)}" if known else "it takes none"
    return [
        f"{name}() takes {wrong!r} by position only"
        if wrong in order
        else f"{name}() has no argument {wrong!r}; {suggestion(wrong, free, listed)}"
        for wrong in named
        if wrong not in known
    ]


def _twice(name: str, parameters: Sequence[Parameter], count: int, named: Collection[str]) -> list[str]:
    both = [each for each in _names(parameters, BY_POSITION)[:count] if each in named]
    return [f"{name}() got {_listed(both)} twice, by position and by name"] if both else []


def _missing(name: str, parameters: Sequence[Parameter], count: int, named: Collection[str]) -> list[str]:
    """What is missing, if no argument can have been meant for it."""
    order = _names(parameters, BY_POSITION)
    if count > len(order):
        return []
    given = {*order[:count], *named}
    open_ = [each.name for each in parameters if each.kind in (*BY_POSITION, *BY_NAME) and each.name not in given]
    meant = {nearest(wrong, open_) for wrong in named if wrong not in _names(parameters, BY_NAME)}
    needed = {each.name for each in parameters if each.default is each.empty}
    left = [each for each in open_ if each in needed and each not in meant]
    return [f"{name}() misses the argument{'s' * (len(left) > 1)} {_listed(left)}"] if left else []
