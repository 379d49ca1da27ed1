"""A study: what is run, over which cases, how often, and what is measured.

Run number k is repetition k // C of case k % C, where C is the number of cases. Its seed derives from the seed of the
study and from k alone,

    SeedSequence(seed, spawn_key=(k,)),

so that results depend neither on the order of the runs nor on the number of workers, and a study can be extended by
more repetitions.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from jostle.arguments import Count, Natural, check_arguments
from jostle.ensembles.designs import Case
from jostle.ensembles.measures import CURVES, MEASURES, Measure, found
from jostle.ensembles.subjects import SEED, Subject, subject_of
from jostle.errors import InvalidValue
from jostle.plugins import Registry

RUN_COLUMNS = ("run", "case", "repetition", SEED)
"""The first columns of a table."""
STATUS, ERROR = "status", "error"
"""The columns that say how a run ended."""
SEED_BITS = 63
"""Number of random bits of the seed of a run; scenario files hold no larger numbers."""

Measures = Sequence[str | Measure] | Mapping[str, str | Measure]


class RunOf(NamedTuple):
    """One run of a study."""

    number: int
    case: int
    repetition: int
    seed: int
    parameters: Case


def seed_of(study: int, number: int) -> int:
    """The seed of a run, from the seed of its study and its number.

    >>> seed_of(1, 0), seed_of(1, 0) == seed_of(1, 1)
    (4215923173971654960, False)
    """
    state = np.random.SeedSequence(study, spawn_key=(number,)).generate_state(1, np.uint64)
    return int(state[0]) >> (64 - SEED_BITS)


@check_arguments
@dataclass(frozen=True)
class Study:
    """What is run, over which cases, how often, and what is measured; `sweep` runs it.

    `of` is a scenario (its name, its file, or a `Scenario`), whose settings the cases change, or a function that is
    called with the parameters of a case, and with `seed` if it has such a parameter. A function returns a `Solution`
    that is measured, or the results themselves: a number, or a dictionary of numbers. Values of `curves` are lists of
    numbers. `trajectories` keeps the trajectory of each run in the folder of the study.

    >>> import jostle as jo
    >>> study = Study("cradle_apart", over=jo.ensembles.grid({"problem.n": [2, 3]}), measures=["kinetic_energy"])
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
    """The functions of the measures by their names."""
    traced: dict[str, Measure] = field(init=False, repr=False)
    """The functions of the curves by their names."""

    def __post_init__(self) -> None:
        subject, cases = subject_of(self.of), tuple(_case(each) for each in self.over)
        if not cases:
            raise InvalidValue("over has no cases: the design is empty; leave it out to repeat one case")
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
                raise InvalidValue(f"two columns of the table would be called {name!r}: give one another name")
            taken.append(name)
        subject.check(cases)

    @property
    def runs(self) -> int:
        """The number of runs, if no rule ends the study before."""
        return len(self.cases) * self.repeat

    def place(self, number: int) -> tuple[int, int]:
        """Case and repetition of a run."""
        repetition, case = divmod(number, len(self.cases))
        return case, repetition

    def run(self, number: int) -> RunOf:
        """One of the runs."""
        case, repetition = self.place(number)
        parameters = self.cases[case]
        seed = parameters[SEED] if SEED in parameters else seed_of(self.seed, number)
        return RunOf(number, case, repetition, seed, parameters)

    def identity(self) -> dict[str, Any]:
        """What must agree for a study to be resumed: all but the number of repetitions and the title."""
        from importlib.metadata import version

        return {
            **self.subject.identity(),
            "cases": [dict(case) for case in self.cases],
            "measures": {name: _place(measure) for name, measure in self.measured.items()},
            "curves": {name: _place(curve) for name, curve in self.traced.items()},
            "seed": self.seed,
            "trajectories": self.trajectories,
            "jostle": version("jostle"),
        }


def packed(value: object) -> bytes:
    """A value as bytes for another process; functions of scripts and notebooks need cloudpickle, which Dask brings.

    >>> pickle.loads(packed(len)) is len
    True
    """
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
    """A value as JSON can keep it."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(name, each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(name, each) for key, each in value.items()}
    if value is not None and not isinstance(value, bool | int | float | str):
        raise InvalidValue(
            f"over: the parameter {name!r} must be a number, a text, or a list or dictionary of them, not {value!r}: "
            f"tables and journals hold nothing else. Make other objects inside the function that is run"
        )
    if name == SEED and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**SEED_BITS):
        raise InvalidValue(f"over: a seed must be a whole number from 0 to 2^{SEED_BITS} - 1, not {value!r}")
    return value


def _named(given: Any, known: Registry[Measure], argument: str) -> dict[str, Measure]:
    """Measures with their names."""
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
        raise InvalidValue(f"{argument} must be a list of names or functions, or a dictionary of them, not {given!r}")
    if isinstance(given, Mapping):
        items = [(str(name), each) for name, each in given.items()]
    else:
        items = [(_name(each), each) for each in given]
    names = [name for name, _ in items]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InvalidValue(f"{argument} has two of the name {twice[0]!r}: give names, {{'a name': function, ...}}")
    wrong = [each for _, each in items if not isinstance(each, str) and not callable(each)]
    if wrong:
        raise InvalidValue(f"{argument} must be names or functions of a solution, not {wrong[0]!r}")
    return {name: found(each, known) for name, each in items}


def _name(measure: Any) -> str:
    if isinstance(measure, str):
        return measure.rpartition(":")[2]
    return str(getattr(measure, "__name__", type(measure).__name__))


def _place(function: Callable[..., Any]) -> str:
    return f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__qualname__)}"
