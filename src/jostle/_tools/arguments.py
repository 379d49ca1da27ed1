"""Arguments are checked against the signature of a call: a wrong kind of value is an error that names the parameter.

`check_arguments` decorates public functions and classes. It reads their annotations as they are written and does not
evaluate them, so that it imports nothing. Shapes, and what else the mathematics asks, are up to the function itself.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import real
from jostle._tools.suggestions import suggestion
from jostle.errors import InvalidValue, WrongCall

T = TypeVar("T")
Finite = float
Positive = float
NotNegative = float
Count = int
Natural = int
Fraction = float
Constant = ArrayLike
Truths = ArrayLike
"""Conditions on a value beyond its type: finite, positive, 0 or more, at least 1 or 0, between 0 and 1, without NaN."""
LONGEST_VALUE = 80
"""Characters of a wrong value that an error shows."""
ALIASES = {
    "InTime": "ArrayLike | Callable[[t], ArrayLike]",
    "Array": "ArrayLike",
    "Integers": "ArrayLike",
    "Ends": "tuple[ArrayLike, ArrayLike]",
    "Vertices": "ArrayLike | Sequence",
    "Wish": "Callable",
    "Field": "Callable",
    "Gap": "Callable[[t, q], ArrayLike]",
    "Route": "Sequence[str | None]",
    "FilePath": "os.PathLike",
    "Span": "ArrayLike",
    "OfPlaces": "Callable",
}
"""Names of unions that signatures use."""


class Rule(NamedTuple):
    """What a parameter may be."""

    holds: Callable[[Any], bool]
    words: str


def numbers(value: object) -> bool:
    """Whether NumPy takes a value for real numbers: a number, nested lists of equal lengths, an array."""
    return real(value) is not None


def number(value: object) -> bool:
    """Whether a value is one real number."""
    return isinstance(value, Real) or (isinstance(value, np.ndarray) and value.ndim == 0 and numbers(value))


def _shown(value: object, *kinds: str) -> bool:
    return isinstance(value, str | os.PathLike) or any(_inherits(value, kind) for kind in kinds)


def _inherits(value: object, name: str) -> bool:
    """Whether the class of a value, or one that it inherits from, is the one of this name that jostle means."""
    package = PACKAGES.get(name, "jostle")
    return any(kind.__name__ == name and kind.__module__.partition(".")[0] == package for kind in type(value).__mro__)


def _precision(value: Any) -> bool:
    try:
        return value is not None and np.dtype(value) in (np.float32, np.float64)
    except (TypeError, ValueError):
        return False


def _constant(value: object) -> bool:
    return numbers(value) and not np.isnan(np.asarray(value, dtype=float)).any()


RULES = {
    "float": Rule(number, "a number"),
    "int": Rule(lambda value: isinstance(value, Integral), "a whole number"),
    "bool": Rule(lambda value: isinstance(value, bool | np.bool_), "True or False"),
    "str": Rule(lambda value: isinstance(value, str), "a text"),
    "os.PathLike": Rule(lambda value: isinstance(value, os.PathLike), "a path"),
    "ArrayLike": Rule(numbers, "numbers"),
    "Constant": Rule(_constant, "numbers"),
    "Callable": Rule(callable, "a function"),
    "Shown": Rule(
        lambda value: _shown(value, "Solution", "EventSolution"), "a Solution, or the path of a trajectory file"
    ),
    "ShownDensity": Rule(
        lambda value: _shown(value, "Evolution", "Images"), "an Evolution, or the path of a file of images"
    ),
    "LinearMap": Rule(lambda value: hasattr(value, "adjoint") or hasattr(value, "tocsr"), "a linear map"),
    "StoppingRule": Rule(
        lambda value: callable(getattr(value, "holds", None)), "a stopping rule such as jo.study.PreciseMean(...)"
    ),
    "Law": Rule(lambda value: hasattr(value, "impact"), "a law of jo.macro"),
    "DTypeLike": Rule(_precision, "numpy.float32 or numpy.float64"),
    "slice": Rule(lambda value: isinstance(value, slice), "a slice"),
    "Finite": Rule(lambda value: number(value) and bool(np.isfinite(value)), "a finite number"),
    "Positive": Rule(lambda value: number(value) and 0.0 < value < np.inf, "a positive number"),
    "NotNegative": Rule(lambda value: number(value) and 0.0 <= value < np.inf, "a number that is 0 or more"),
    "Count": Rule(lambda value: isinstance(value, Integral) and int(value) >= 1, "a whole number, at least 1"),
    "Natural": Rule(lambda value: isinstance(value, Integral) and int(value) >= 0, "a whole number, at least 0"),
    "Fraction": Rule(lambda value: number(value) and 0.0 < value < 1.0, "a number between 0 and 1"),
    "Mapping": Rule(lambda value: isinstance(value, Mapping), "a dictionary"),
    "None": Rule(lambda value: value is None, "None"),
}
CLASSES = {
    "Crowd": "the people of jo.crowds.crowd(...)", "Distribution": "a distribution such as jo.crowds.Normal(...)",
    "Gate": "a jo.crowds.Gate", "AnyStop": "a jo.crowds.Stop, WaitingArea or Queue",
    "Branch": "a branch of jo.vibro.follow(...)",
    "ByEvents": "a jo.vibro.ByEvents()", "Copies": "a jo.vibro.Copies", "Gaps": "a jo.vibro.Gaps",
    "MoreauJean": "a jo.MoreauJean()", "Paoli": "a jo.Paoli()",
    "Facts": "a jo.io.Facts", "Units": "a jo.io.Units, such as jo.io.SI",
    "Axes": "matplotlib axes", "Cone": "a jo.convex.Cone",
    "Console": "a rich.Console",
    "ConstraintSet": "an admissible set such as jo.Balls(...)", "Grid": "a jo.macro.Grid", "Group": "a jo.crowds.Group",
    "Lattice": "a lattice of jo.macro", "Map": "a map of densities or speeds",
    "Area": "a jo.crowds.Area", "Link": "a jo.crowds.Link", "Metric": "a metric",
    "Order": "a jo.analysis.Order", "Output": "a jo.io.Output", "Packing": "a jo.macro.Packing",
    "Plan": "a jo.crowds.Plan", "PlanFormat": "a plan format such as jo.crowds.DXF()", "Polar": "the polar of a cone",
    "Executor": "an executor of concurrent.futures", "Study": "a jo.study.Study",
    "ImpactLaw": "an impact law such as jo.Restitution(0.8)", "Scheme": "a scheme such as jo.Maury()",
    "Solution": "a solution", "Solver": "a solver such as jo.ActiveSet()", "State": "a state",
    "StiffForce": "a jo.StiffForce", "Shaken": "a jo.models.Shaken", "Turning": "a jo.models.Turning",
    "Velocity": "a velocity of a grid", "np.random.Generator": "a random generator",
}  # fmt: skip
"""Classes that signatures name, in words."""
PACKAGES = {"Axes": "matplotlib", "Console": "rich", "Executor": "concurrent", "Generator": "numpy"}
"""Packages of those classes that are not jostle's."""


DRAWN_BY = {
    **dict.fromkeys(["Evolution", "Images"], "; jo.viz.density and jo.viz.densities draw densities"),
    **dict.fromkeys(["Solution", "EventSolution"], "; jo.viz.draw and jo.viz.strip draw bodies"),
}
"""What draws a result that was given to a function for other ones."""


def check_arguments(called: T) -> T:
    """A function or a class whose arguments are of the kinds that its signature says."""
    if isinstance(called, type):
        called.__init__ = _wrapped(called.__init__, skip=1)  # type: ignore[misc]
        return called
    return _wrapped(called)  # type: ignore[arg-type, return-value]


def check_fields(instance: Any) -> None:
    """Check the fields of a dataclass, from its ``__post_init__``."""
    for field in instance.__dataclass_fields__.values():
        rule = _rule(field.type)
        if rule is not None and field.init:
            _check(field.name, getattr(instance, field.name), rule)


def set_fields(instance: object, **values: object) -> None:
    """Set the fields of a frozen dataclass that is being made."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


class NamedArguments:
    """Base class of dataclasses whose calls are checked: an unknown name is an error that says what it is called here.

    >>> import jostle as jo
    >>> jo.Coulomb(0.5, restitution=0.3)
    Traceback (most recent call last):
    jostle.errors.WrongCall: Coulomb has no argument 'restitution': here it is 'e'
    """

    def __new__(cls, *positional: Any, **named: Any) -> Self:
        if named and not (call := _call(cls.__init__, 1)).knows(named):
            raise call.error(cls.__name__, positional, named)
        return super().__new__(cls)


class _Call(NamedTuple):
    """What a function can be called with."""

    parameters: tuple[inspect.Parameter, ...]
    names: tuple[str, ...]
    """Those that may be given by position."""
    takes: frozenset[str]
    """Those that may be given by name."""
    required: tuple[tuple[int, str], ...]
    """Those without a default, with their positions."""
    is_open: bool
    """Whether it takes any name."""

    def knows(self, named: Mapping[str, Any]) -> bool:
        """Whether it takes these names."""
        return self.is_open or self.takes.issuperset(named)

    def fits(self, positional: Sequence[Any], named: Mapping[str, Any]) -> bool:
        """Whether the names are known, and all that is required is given."""
        return self.knows(named) and all(place < len(positional) or name in named for place, name in self.required)

    def error(self, who: str, positional: Sequence[Any], named: Mapping[str, Any]) -> WrongCall:
        """The error of a call that does not fit."""
        unknown = [] if self.knows(named) else [name for name in named if name not in self.takes]
        free = [name for name in self.takes if name not in named and name not in self.names[: len(positional)]]
        if unknown:
            otherwise = f"it has {', '.join(each.name for each in self.parameters)}"
            said = [f"no argument {name!r}: {suggestion(name, free, otherwise)}" for name in unknown]
            return WrongCall(f"{who} has {'; '.join(dict.fromkeys(said))}")
        missing = [name for place, name in self.required if place >= len(positional) and name not in named]
        bare = [each.replace(annotation=each.empty) for each in self.parameters]
        return WrongCall(f"{who} needs {' and '.join(missing)}: {who}{inspect.Signature(bare)}")


@functools.cache
def _call(function: Callable[..., Any], skip: int) -> _Call:
    parameters = tuple(inspect.signature(function).parameters.values())[skip:]
    kinds = inspect.Parameter
    takes = [each.name for each in parameters if each.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)]
    ordered = [each.name for each in parameters if each.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    places = {name: place for place, name in enumerate(ordered)}
    required = [
        (places.get(each.name, MANY), each.name)
        for each in parameters
        if each.default is each.empty and each.name in takes
    ]
    is_open = any(each.kind == kinds.VAR_KEYWORD for each in parameters)
    return _Call(parameters, tuple(ordered), frozenset(takes), tuple(required), is_open)


MANY = 1 << 30
"""More arguments than a call can have: the place of one that is given by its name."""


def _wrapped(function: Callable[..., Any], skip: int = 0) -> Callable[..., Any]:
    """A function whose arguments are checked; the first `skip` of them, such as self, are not."""
    expected = _call(function, skip)
    rules = {each.name: rule for each in expected.parameters if (rule := _rule(each.annotation)) is not None}

    @functools.wraps(function)
    def call(*positional: Any, **named: Any) -> Any:
        given = positional[skip:] if skip else positional
        if not expected.fits(given, named):
            raise expected.error(type(positional[0]).__name__ if skip else function.__name__, given, named)
        for name, value in (*zip(expected.names, given, strict=False), *named.items()):
            if name in rules:
                _check(name, value, rules[name])
        return function(*positional, **named)

    return call


def _check(name: str, value: object, rule: Rule) -> None:
    if not rule.holds(value):
        shown = described(value).partition("\n")[0]
        shown = shown if len(shown) <= LONGEST_VALUE else shown[:LONGEST_VALUE] + "..."
        hint = ": give an object, with parentheses" if isinstance(value, type) else ""
        if rule in (RULES["Shown"], RULES["ShownDensity"]):
            hint = DRAWN_BY.get(type(value).__name__, hint)
        raise InvalidValue(f"{name} must be {rule.words}, not {shown}{hint}")


@functools.cache
def _rule(annotation: Any) -> Rule | None:
    """The rule of an annotation; None if some part of it is not known."""
    if not isinstance(annotation, str):
        return None
    found = [_one(part) for part in _split(annotation, "|")]
    rules = [rule for rule in found if rule is not None]
    if len(rules) < len(found):
        return None
    if len(rules) == 1:
        return rules[0]
    words = list(dict.fromkeys(rule.words for rule in rules))
    quickest_first = sorted((rule.holds for rule in rules), key=lambda holds: holds in (numbers, _constant))
    return Rule(lambda value: any(holds(value) for holds in quickest_first), " or ".join(words))


@functools.cache
def _one(name: str) -> Rule | None:
    """The rule of an annotation that is no union."""
    base, _, inside = name.removesuffix("]").partition("[")
    if base in ALIASES:
        return _rule(ALIASES[base])
    if base == "Callable" and inside.startswith("["):
        parameters = _split(_split(inside, ",")[0][1:-1], ",")
        return _function([kind.partition("[")[0] for kind in parameters])
    if base in RULES:
        return RULES[base]
    if base in CLASSES:
        short = base.rpartition(".")[2]
        return Rule(lambda value: _inherits(value, short), CLASSES[base])
    if base == "tuple":
        return _tuple(_split(inside, ","))
    if base in ("Sequence", "Iterable", "list"):
        return _several(_rule(inside) if inside else None)
    return None


def accepts(function: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with this number of positional arguments, by its signature."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # some functions written in C do not say what they take
        return True
    return True


def required_arguments(function: Callable[..., Any], unknown: int) -> int:
    """Number of required positional arguments; `unknown` if the function takes any number or does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return unknown
    if any(parameter.kind == parameter.VAR_POSITIONAL for parameter in parameters):
        return unknown
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return len([p for p in parameters if p.kind in positional and p.default is inspect.Parameter.empty])


def described(value: object) -> str:
    """A value as an error shows it; a function with its parameters."""
    if not inspect.isroutine(value):
        return repr(value)
    try:
        return f"{value.__name__}{inspect.signature(value)}"
    except ValueError:
        return value.__name__


def _function(parameters: Sequence[str]) -> Rule:
    """A function that takes these positional arguments."""
    return Rule(
        lambda value: callable(value) and accepts(value, len(parameters)), f"a function of ({', '.join(parameters)})"
    )


def _several(entry: Rule | None) -> Rule:
    """Any number of values of one kind."""

    def holds(value: Any) -> bool:
        if isinstance(value, str | bytes) or not isinstance(value, Iterable):
            return False
        return entry is None or not isinstance(value, Sequence) or all(map(entry.holds, value))

    return Rule(holds, "a list" + ("" if entry is None else f", each entry {entry.words}"))


def _tuple(parts: Sequence[str]) -> Rule | None:
    """As many values as there are parts."""
    if "..." in parts:
        return _several(_rule(parts[0]))
    rules = [_rule(part) for part in parts]

    def holds(value: Any) -> bool:
        if not isinstance(value, list | tuple | np.ndarray) or len(value) != len(rules):
            return False
        return all(rule is None or rule.holds(entry) for rule, entry in zip(rules, value, strict=True))

    words = list(dict.fromkeys("anything" if rule is None else rule.words for rule in rules))
    return Rule(holds, f"{len(rules)} values, each {' or '.join(words)}")


def _split(text: str, separator: str) -> list[str]:
    """The parts of an annotation, not those inside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]
