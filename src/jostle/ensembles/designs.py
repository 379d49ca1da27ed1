"""Designs of studies: lists of cases, each of which is a dictionary of parameters and their values.

Any list of dictionaries is a design. The functions here make the usual ones:

    grid               all combinations of given values
    latin_hypercube    n points that fill a box evenly (McKay, Beckman, Conover 1979; by scipy.stats.qmc)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from jostle.arguments import Count, Natural, check_arguments
from jostle.errors import InvalidValue

Case = dict[str, Any]
"""The parameters of a run and their values."""
MAX_CASES = 1_000_000
"""Largest number of cases of a design."""


@check_arguments
def grid(parameters: Mapping[str, Iterable[Any]]) -> list[Case]:
    """List all combinations of the values of some parameters; the last parameter varies fastest.

    Parameters
    ----------
    parameters : mapping of str to iterable
        Values of each parameter.

    Returns
    -------
    list of dict
        One dictionary of parameters and values per case.

    Raises
    ------
    InvalidValue
        If there is no parameter, a parameter has no values, or there are more than 1 000 000 cases.

    Examples
    --------
    >>> grid({"n": [50, 100], "speed": [1.0, 1.4]})[:3]
    [{'n': 50, 'speed': 1.0}, {'n': 50, 'speed': 1.4}, {'n': 100, 'speed': 1.0}]
    """
    _check_names(parameters)
    values = {name: _values(name, given) for name, given in parameters.items()}
    count = int(np.prod([len(given) for given in values.values()], dtype=float))
    if count > MAX_CASES:
        raise InvalidValue(f"parameters give a grid of {count} cases, more than {MAX_CASES}: use fewer values")
    return [dict(zip(values, combination, strict=True)) for combination in product(*values.values())]


@check_arguments
def latin_hypercube(parameters: Mapping[str, tuple[float, float]], n: Count, *, seed: Natural = 0) -> list[Case]:
    """Draw n cases that fill a box evenly.

    Each parameter has one value in each of n equal parts of its interval (McKay, Beckman, Conover 1979). Values are
    real numbers also if both ends are whole numbers; round them in the function that you run.

    Parameters
    ----------
    parameters : mapping of str to (float, float)
        Lower and upper end of the interval of each parameter.
    n : int
        Number of cases, at most 1 000 000.
    seed : int, default 0
        Seed of the random numbers.

    Returns
    -------
    list of dict
        One dictionary of parameters and values per case.

    Raises
    ------
    InvalidValue
        If there is no parameter, or the ends of an interval are not in order.

    Examples
    --------
    >>> cases = latin_hypercube({"speed": (1.0, 2.0)}, 4, seed=1)
    >>> sorted(int(4.0 * (case["speed"] - 1.0)) for case in cases)
    [0, 1, 2, 3]
    """
    _check_names(parameters)
    if n > MAX_CASES:
        raise InvalidValue(f"n must be at most {MAX_CASES}, not {n}")
    from scipy.stats import qmc

    ends = [_ends(name, given) for name, given in parameters.items()]
    low, high = np.array(ends).T
    places = qmc.LatinHypercube(d=len(ends), rng=np.random.default_rng(seed)).random(n)
    return [dict(zip(parameters, row, strict=True)) for row in (low + places * (high - low)).tolist()]


def _check_names(parameters: Mapping[str, Any]) -> None:
    if not parameters:
        raise InvalidValue("parameters must contain at least one parameter")
    wrong = [name for name in parameters if not isinstance(name, str) or not name]
    if wrong:
        raise InvalidValue(f"names of parameters must be non-empty strings, not {wrong[0]!r}")


def _values(name: str, given: Any) -> list[Any]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidValue(f"parameters: {name!r} needs a list of values, not {given!r}")
    found = list(given)
    if not found:
        raise InvalidValue(f"parameters: {name!r} has no values")
    return found


def _ends(name: str, given: Any) -> Sequence[float]:
    ends = np.asarray(given) if isinstance(given, list | tuple | np.ndarray) else np.zeros(0)
    if ends.shape != (2,) or ends.dtype.kind not in "iuf" or not np.isfinite(ends).all() or ends[0] >= ends[1]:
        raise InvalidValue(f"parameters: {name!r} needs two ends, (low, high) with low < high, not {given!r}")
    return [float(end) for end in ends]
