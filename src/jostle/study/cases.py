"""A study: a scenario or a function, its cases, the number of repetitions, and the measures.

Run number k is repetition k // C of case k % C, where C is the number of cases. Its seed depends only on the seed of
the study and on k,

    SeedSequence(seed, spawn_key=(k,)),

so that results depend neither on the order of the runs nor on the number of workers, and a study can be extended by
more repetitions.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jostle._tools.arguments import Count, Natural, check_arguments
from jostle._tools.plugins import Registry
from jostle._tools.suggestions import suggestion
from jostle.errors import InvalidValue
from jostle.scenarios import ScenarioError, load, parse
from jostle.scenarios.toml import path as written_path
from jostle.scenarios.toml import value as written
from jostle.study.measures import CURVES, MEASURES, Measure, found

if TYPE_CHECKING:
    from jostle.scenarios import Scenario


# The subject of a study: a scenario with changed settings, or a function. Both are sent to other processes.


SEED = "seed"
"""Name of the parameter for the seed of a run; a case may set it."""
MAX_CHECKED_CASES = 200
"""Largest number of cases checked before a study of a scenario starts; the others are checked when they run."""


@dataclass(frozen=True)
class ScenarioSubject:
    """A scenario; the parameters of a case are settings of it, such as problem.groups.0.n."""

    text: str
    name: str

    def scenario(self, parameters: Mapping[str, Any], seed: int | None) -> Scenario:
        """The scenario of a case."""
        settings = [f"{key}={_value(key, given)}" for key, given in parameters.items()]
        return parse(self.text, self.name, settings=settings, seed=None if SEED in parameters else seed)

    def check(self, cases: Iterable[Mapping[str, Any]]) -> None:
        """Raise if a case has an unknown parameter or an invalid value; only cases with new values are parsed."""
        seen: set[tuple[str, str]] = set()
        checked = 0
        for case in cases:
            new = {(key, repr(given)) for key, given in case.items() if key != SEED} - seen
            if (new or not checked) and checked < MAX_CHECKED_CASES:
                seen |= new
                checked += 1
                self.scenario(case, 0)

    def run(self, parameters: Mapping[str, Any], seed: int) -> Any:
        """The result of one run."""
        return self.scenario(parameters, seed).build().solve()

    def identity(self) -> dict[str, str]:
        """The description that must agree when a study is resumed."""
        return {"scenario": self.text}


@dataclass(frozen=True)
class FunctionSubject:
    """A function, which is called with the parameters of a case, and with the seed if it has a parameter `seed`."""

    function: Callable[..., Any]

    @cached_property
    def signature(self) -> inspect.Signature | None:
        """The signature of the function; some functions written in C have none."""
        try:
            return inspect.signature(self.function)
        except ValueError:
            return None

    def arguments(self, parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """The parameters, and the seed if the function takes it."""
        known = {} if self.signature is None else self.signature.parameters
        open_ended = any(each.kind is each.VAR_KEYWORD for each in known.values())
        return {**({SEED: seed} if SEED in known or open_ended else {}), **parameters}

    def check(self, cases: Iterable[Mapping[str, Any]]) -> None:
        if self.signature is None:
            return
        place, known = place_of(self.function), self.signature.parameters
        names = [name for name, each in known.items() if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)]
        open_ended = any(each.kind is each.VAR_KEYWORD for each in known.values())
        for case in cases:
            for name in case:
                if name not in names and not open_ended:
                    hint = suggestion(name, names, f"its parameters are {', '.join(names) or 'none'}")
                    raise InvalidValue(f"over: the function {place} has no parameter {name!r}; {hint}")
            try:
                self.signature.bind(**self.arguments(case, 0))
            except TypeError as error:
                raise InvalidValue(f"over: the function {place} cannot be called with {case}: {error}") from None

    def run(self, parameters: Mapping[str, Any], seed: int) -> Any:
        return self.function(**self.arguments(parameters, seed))

    def identity(self) -> dict[str, str]:
        return {"function": place_of(self.function)}


Subject = ScenarioSubject | FunctionSubject


def subject_of(of: Any) -> Subject:
    """The subject of a study: the name or the file of a scenario, a `Scenario`, or a function.

    >>> subject_of("cradle_apart").run({"run.t": 0.1}, seed=0).status
    'finished'
    """
    if isinstance(of, str | Path):
        of = load(of)
    if callable(of):
        return FunctionSubject(of)
    if hasattr(of, "build") and hasattr(of, "text"):
        return ScenarioSubject(of.text, of.name)
    raise InvalidValue(f"of must be a scenario, its name, its file, or a function, not {of!r}")


def _value(key: str, given: Any) -> str:
    """A value as written in a setting."""
    if not isinstance(given, bool | int | float | str | list | tuple | dict):
        raise ScenarioError([f"{written_path(key.split('.'))}: {given!r} is not a value that a scenario can have"])
    return written(given)


# Designs of studies: lists of cases, each of which is a dictionary of parameters and their values.
#
# Any list of dictionaries is a design. The functions here make the usual ones:
#
#     grid               all combinations of given values
#     latin_hypercube    n points that fill a box evenly (McKay, Beckman, Conover 1979; by scipy.stats.qmc)


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


RUN_COLUMNS = ("run", "case", "repetition", SEED)
"""The first columns of a table."""
STATUS, ERROR = "status", "error"
"""The columns for the status and the error of a run."""
SEED_BITS = 63
"""Number of random bits of the seed of a run; scenario files hold no larger numbers."""

Measures = Sequence[str | Measure] | Mapping[str, str | Measure]


class RunOf(NamedTuple):
    """One run of a study: its number, the number of its case and of the repetition, its seed and its parameters."""

    number: int
    case: int
    repetition: int
    seed: int
    parameters: Case


def seed_of(study: int, number: int) -> int:
    """The seed of a run, from the seed of its study and its number."""
    state = np.random.SeedSequence(study, spawn_key=(number,)).generate_state(1, np.uint64)
    return int(state[0]) >> (64 - SEED_BITS)


@check_arguments
@dataclass(frozen=True)
class Study:
    """A study: a scenario or a function, the cases it is run over, the repetitions, and the measures; `sweep` runs it.

    Parameters
    ----------
    of : str, path, Scenario or callable
        A scenario (its name, its file or the object), whose settings the cases change; or a function, which is called
        with the parameters of a case, and with `seed` if it has that parameter. The function returns a `Solution`,
        which is measured, or the results: a number or a dictionary of numbers.
    over : iterable of mapping, default ({},)
        The cases: dictionaries of parameters and values, all with the same parameters.
    repeat : int, default 1
        Number of runs of each case, with different seeds.
    measures : sequence or mapping of str or callable, default ()
        Numbers measured in each run: names in `MEASURES`, places "module:function", or functions of a solution; a
        mapping gives names to them.
    curves : sequence or mapping of str or callable, default ()
        Lists of numbers measured in each run: names in `CURVES`, places "module:function", or functions of a solution.
    seed : int, default 0
        Seed from which the seeds of all runs are derived.
    trajectories : bool, default False
        Whether the trajectory of each run is kept in the folder of the study.
    title : str, default ""
        Title of the study.

    Attributes
    ----------
    cases : tuple of dict
        The cases.
    measured : dict of str to callable
        Functions of the measures by name.
    traced : dict of str to callable
        Functions of the curves by name.

    Raises
    ------
    ScenarioError
        If a setting of the scenario is wrong.

    Examples
    --------
    >>> import jostle as jo
    >>> study = Study("cradle_apart", over=jo.study.grid({"problem.n": [2, 3]}), measures=["kinetic_energy"])
    >>> study.runs, study.run(1).parameters
    (2, {'problem.n': 3})
    """

    of: Any
    over: Iterable[Mapping[str, Any]] = ({},)
    repeat: Count = 1
    measures: Measures = ()
    curves: Measures = ()
    seed: Natural = 0
    trajectories: bool = False
    title: str = ""
    subject: Subject = field(init=False, repr=False)
    cases: tuple[Case, ...] = field(init=False, repr=False)
    measured: dict[str, Measure] = field(init=False, repr=False)
    traced: dict[str, Measure] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        subject, cases = subject_of(self.of), tuple(_case(each) for each in self.over)
        if not cases:
            raise InvalidValue("over has no cases; leave it out to repeat one case")
        if any(set(case) != set(cases[0]) for case in cases):
            odd = next(case for case in cases if set(case) != set(cases[0]))
            raise InvalidValue(f"over: all cases must have the same parameters; {cases[0]} and {odd} differ")
        object.__setattr__(self, "subject", subject)
        object.__setattr__(self, "cases", cases)
        object.__setattr__(self, "measured", _named(self.measures, MEASURES, "measures"))
        object.__setattr__(self, "traced", _named(self.curves, CURVES, "curves"))
        taken = [*RUN_COLUMNS[:3], STATUS, ERROR, *([] if SEED in cases[0] else [SEED])]
        for name in [*self.measured, *self.traced, *cases[0]]:
            if name in taken:
                raise InvalidValue(f"two columns of the table would have the name {name!r}: rename one of them")
            taken.append(name)
        subject.check(cases)

    @property
    def runs(self) -> int:
        """Number of runs, if no stopping rule ends the study early."""
        return len(self.cases) * self.repeat

    def run(self, number: int) -> RunOf:
        """Describe a run.

        Parameters
        ----------
        number : int
            Number of the run.

        Returns
        -------
        RunOf
            Number, case, repetition, seed and parameters of the run.
        """
        repetition, case = divmod(number, len(self.cases))
        parameters = self.cases[case]
        seed = parameters[SEED] if SEED in parameters else seed_of(self.seed, number)
        return RunOf(number, case, repetition, seed, parameters)


def packed(value: object) -> bytes:
    """A value as bytes for another process; functions of scripts and notebooks need cloudpickle, part of Dask."""
    pickler: Any = import_module("cloudpickle") if find_spec("cloudpickle") else pickle
    try:
        return bytes(pickler.dumps(value))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InvalidValue(
            f"a function of the study cannot be sent to other processes ({error}): define it with `def` at the top "
            f"level of a module, and import it from there"
        ) from None


def _case(given: Mapping[str, Any]) -> Case:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InvalidValue(f"over must be a list of dictionaries of parameters, such as {{'n': 3}}, not of {given!r}")
    return {name: _plain(name, value) for name, value in given.items()}


def _plain(name: str, value: Any) -> Any:
    """A value in types that JSON can store."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(name, each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(name, each) for key, each in value.items()}
    if value is not None and not isinstance(value, bool | int | float | str):
        raise InvalidValue(
            f"over: the parameter {name!r} must be a number, a string, or a list or dictionary of them, not {value!r}; "
            f"create other objects inside the function that is run"
        )
    if name == SEED and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**SEED_BITS):
        raise InvalidValue(f"over: a seed must be a whole number from 0 to 2^{SEED_BITS} - 1, not {value!r}")
    return value


def _named(given: Any, known: Registry[Measure], argument: str) -> dict[str, Measure]:
    """Measures by name."""
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
        raise InvalidValue(f"{argument} must be a list of names or functions, or a dictionary of them, not {given!r}")
    if isinstance(given, Mapping):
        items = [(str(name), each) for name, each in given.items()]
    else:
        items = [(name_of(each), each) for each in given]
    names = [name for name, _ in items]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InvalidValue(f"{argument} has two entries named {twice[0]!r}: give names, {{'a name': function, ...}}")
    wrong = [each for _, each in items if not isinstance(each, str) and not callable(each)]
    if wrong:
        raise InvalidValue(f"{argument} must be names or functions of a solution, not {wrong[0]!r}")
    return {name: found(each, known) for name, each in items}


def name_of(measure: Any) -> str:
    """The name of the column of a measure.

    >>> name_of("flow"), name_of("my_module:queue_length"), name_of(max)
    ('flow', 'queue_length', 'max')
    """
    if isinstance(measure, str):
        return measure.rpartition(":")[2]
    return str(getattr(measure, "__name__", type(measure).__name__))


def place_of(function: Callable[..., Any]) -> str:
    """The module and the name of a function."""
    return f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__qualname__)}"
