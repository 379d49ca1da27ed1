"""`check_arguments` beside beartype: ``python benchmarks/argument_checks.py [--quick]``.

Time that each decorator adds to a call, in microseconds, for signatures of the library; what each says about calls that
are wrong; and which calls that are right each refuses. beartype reads numpy's `ArrayLike`, in which texts and complex
numbers are allowed, so a second run gives it a validator of our own for numbers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from beartype import BeartypeConf, beartype
from beartype.roar import BeartypeCallHintParamViolation
from beartype.vale import Is
from numpy.typing import ArrayLike
from small import best_of

import jostle as jo
from jostle._tools.arguments import check_arguments, numbers

Numbers = Annotated[object, Is[numbers]]
CONF = BeartypeConf(is_pep484_tower=True)


def one_number(radius: float) -> None: ...


def options(radius: float, *, many: int = 1, name: str | None = None, strict: bool = True) -> None: ...


def array(q: ArrayLike) -> None: ...


def in_time(radii: ArrayLike | Callable[[float], ArrayLike]) -> None: ...


def array_of_numbers(q: Numbers) -> None: ...


Q = np.zeros((1000, 3))
RIGHT: list[tuple[str, Any, tuple[Any, ...], dict[str, Any]]] = [
    ("a float", one_number, (2.0,), {}),
    ("an int for a float", one_number, (2,), {}),
    ("numpy.float32 for a float", one_number, (np.float32(2.0),), {}),
    ("four options", options, (2.0,), {"many": 3, "name": "a", "strict": False}),
    ("numpy.int64 for an int", options, (2.0,), {"many": np.int64(3)}),
    ("an array of 1000 x 3", array, (Q,), {}),
    ("a list of 30 numbers", array, ([float(k) for k in range(30)],), {}),
    ("a function of time", in_time, (lambda t: t,), {}),
]
WRONG: list[tuple[str, Any, tuple[Any, ...], dict[str, Any]]] = [
    ("a text for a number", one_number, ("2",), {}),
    ("a text for an array", array, ("abc",), {}),
    ("None in a list", array, ([1.0, None],), {}),
    ("a complex array", array, (1j * Q,), {}),
    ("a function without arguments", in_time, (lambda: 1.0,), {}),
    ("a class for an object", one_number, (float,), {}),
]


def added(function: Any, decorated: Any, positional: tuple[Any, ...], named: dict[str, Any], seconds: float) -> float:
    """Microseconds that the decorator adds to a call."""
    many = 100

    def repeat(call: Any) -> None:
        for _ in range(many):
            call(*positional, **named)

    times = [best_of(lambda call=call: repeat(call), seconds) for call in (decorated, function)]  # type: ignore[misc]
    return 1e6 * (times[0] - times[1]) / many


def says(call: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> str:
    """The error of a call, or that there is none."""
    try:
        call(*positional, **named)
    except (jo.InvalidValue, BeartypeCallHintParamViolation) as error:
        return " ".join(str(error).split())
    return "accepted"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter measurements")
    seconds = 0.2 if parser.parse_args().quick else 1.0
    ours = {each.__name__: check_arguments(each) for each in (one_number, options, array, in_time)}
    theirs = {each.__name__: beartype(conf=CONF)(each) for each in (one_number, options, array, in_time)}
    validated = beartype(conf=CONF)(array_of_numbers)
    times, messages = [], []
    print(f"{'right calls':32s}{'ours us':>9s}{'beartype us':>12s}   beartype says")
    for name, function, positional, named in RIGHT:
        key = function.__name__
        verdict = says(theirs[key], positional, named)
        row: dict[str, Any] = {"call": name, "ours": added(function, ours[key], positional, named, seconds)}
        assert says(ours[key], positional, named) == "accepted"
        if verdict == "accepted":
            row["beartype"] = added(function, theirs[key], positional, named, seconds)
        if key == "array":
            row["beartype with validator"] = added(array_of_numbers, validated, positional, named, seconds)
        times.append({**row, "beartype says": verdict[:200]})
        extra = f"; with our validator {row['beartype with validator']:.2f} us" if key == "array" else ""
        print(f"{name:32s}{row['ours']:9.2f}{row.get('beartype', np.nan):12.2f}   {verdict[:90]}{extra}")
    print("wrong calls")
    for name, function, positional, named in WRONG:
        found = [says(group[function.__name__], positional, named) for group in (ours, theirs)]
        messages.append({"call": name, "ours": found[0], "beartype": found[1]})
        print(f"{name}\n    ours:     {found[0][:160]}\n    beartype: {found[1][:160]} ({len(found[1])} characters)")
    print(json.dumps({"microseconds": times, "messages": messages}))
