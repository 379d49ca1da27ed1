"""Reading scenario files: TOML, settings, and errors with line numbers. pydantic is imported when a file is read."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NamedTuple

from jostle._tools.arguments import check_arguments
from jostle._tools.suggestions import suggestion
from jostle.scenarios.kinds import KINDS
from jostle.scenarios.toml import (
    Path,
    ScenarioError,
    Source,
    check_depth,
    check_length,
    document,
    lines,
    tables,
    text_of,
)
from jostle.scenarios.toml import path as written

if TYPE_CHECKING:
    from jostle.scenarios.scenario import Scenario

MAX_DEPTH = 12
"""Largest number of keys in the path of a setting."""
WORD = re.compile(r"[A-Za-z][\w ./+-]*")
"""A value without quotes that is taken as a text."""
WITH_UNIT = re.compile(r"([-+]?[0-9][0-9_.]*(?:e[-+]?[0-9]+)?)\s*[A-Za-z%°/²³^]+.*")
"""A number with a unit."""


class Changed(NamedTuple):
    """The tables after all settings have been applied."""

    data: dict[str, Any]
    origins: dict[Path, str]
    """The setting that each changed key comes from."""
    wrong: list[tuple[str, str]]
    """The settings that could not be applied, each with the reason."""


class _Refused(Exception):
    """The reason why a setting cannot be applied."""


def changed(data: dict[str, Any], settings: Iterable[str]) -> Changed:
    """The tables with some values replaced or added."""
    after = Changed(copy.deepcopy(data), {}, [])
    for setting in settings:
        try:
            keys, value = _split(setting)
            after.origins[_put(after.data, keys, value)] = setting
        except _Refused as error:
            after.wrong.append((setting, str(error)))
    return after


def _split(setting: str) -> tuple[list[str], Any]:
    key, equals, text = setting.partition("=")
    keys = [part.strip() for part in key.split(".")]
    if not equals or not all(keys) or len(keys) > MAX_DEPTH or not _printable(setting):
        raise _Refused("must be key=value, such as problem.n=200")
    return keys, _value(text.strip())


def _printable(text: str) -> bool:
    """Is it valid Unicode? The shell passes other bytes on as lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _value(text: str) -> Any:
    """A TOML value, or a bare word."""
    try:
        found = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError) as error:
        if WORD.fullmatch(text):
            return text
        if with_unit := WITH_UNIT.fullmatch(text):
            raise _Refused(f"numbers have no units here: write {with_unit[1]}; lengths are in m, times in s") from error
        raise _Refused(f"the value {text[:60]!r} is neither TOML nor a word") from error
    if len(found) != 1:
        raise _Refused(f"the value {text[:60]!r} has more than one line")
    return found["value"]


def _put(data: dict[str, Any], path: list[str], value: Any) -> Path:
    """Write the value into the tables and return its path; entries of lists are numbers."""
    here: Any = data
    done: Path = ()
    for key in path[:-1]:
        if isinstance(here, list):
            number = _number(here, key, done)
            here, done = here[number], (*done, number)
        elif isinstance(here, dict):
            here, done = here.setdefault(key, {}), (*done, key)
        else:
            break
    last: str | int = path[-1]
    if isinstance(here, list):
        last = _number(here, path[-1], done)
    elif not isinstance(here, dict):
        raise _Refused(f"{written(done)} is neither a table nor a list")
    here[last] = value
    return (*done, last)


def _number(entries: list[Any], key: str, path: Path) -> int:
    if key.isascii() and key.isdecimal() and len(key) < 10 and int(key) < len(entries):
        return int(key)
    known = f"entries 0 to {len(entries) - 1}" if entries else "no entries"
    raise _Refused(f"{written(path)} is a list with {known}; it has no entry {key!r}")


SHIPPED = FilePath(__file__).parent / "shipped"
"""The folder of the scenarios that come with jostle."""


def names() -> list[str]:
    """The names of the scenarios that come with jostle, and of the kinds of plug-ins that have an example.

    Returns
    -------
    list of str
        The names, sorted; `load` and `shipped` take them.

    Examples
    --------
    >>> "hourglass" in names()
    True
    """
    return sorted([*_files(), *(name for name in KINDS.added() if KINDS.get(name).example)])


def _files() -> dict[str, FilePath]:
    """The scenario files of jostle by their names."""
    return {path.stem: path for path in SHIPPED.glob("*.toml")}


@check_arguments
def shipped(name: str) -> str:
    """The text of a scenario that comes with jostle or with a plug-in, with its comments.

    Parameters
    ----------
    name : str
        One of `names()`.

    Returns
    -------
    str
        The TOML text.

    Raises
    ------
    ScenarioError
        If there is no scenario with this name.

    Examples
    --------
    >>> shipped("cradle_apart").splitlines()[0].startswith("#")
    True
    """
    files = _files()
    if name in files:
        return files[name].read_text(encoding="utf-8")
    if name in KINDS.added() and KINDS.get(name).example:
        return KINDS.get(name).example
    hint = suggestion(name, names(), "give a .toml file, or a name from `jostle list`")
    raise ScenarioError([f"unknown scenario {name!r}; {hint}"])


@check_arguments
def load(source: str | FilePath, *, settings: Iterable[str] = (), seed: int | None = None) -> Scenario:
    """Read a scenario from a .toml file, or one that comes with jostle by its name.

    Drawings that a file names are read with it.

    Parameters
    ----------
    source : str or path
        A .toml file, or one of `names()`.
    settings : iterable of str, default ()
        Changes to the file, each ``"key.sub=value"`` with a TOML value or a word without quotes. Entries of lists are
        numbered: ``"problem.walls.0.radius=2"``.
    seed : int, optional
        Seed of all random numbers. None keeps that of the file.

    Returns
    -------
    Scenario
        The checked scenario.

    Raises
    ------
    ScenarioError
        If the file cannot be read or has errors; all errors are reported together, each with its line.

    Examples
    --------
    >>> load("cradle_touching", settings=["problem.n=4"], seed=3).problem.n
    4
    """
    path, name = FilePath(source), str(source)
    if isinstance(source, str) and not name.endswith(".toml") and not re.search(r"[/\\\0]", name):
        return parse(shipped(name), name, settings=settings, seed=seed)
    return _parse(text_of(path), name, settings, seed, path.parent)


@check_arguments
def parse(text: str, name: str = "scenario", *, settings: Iterable[str] = (), seed: int | None = None) -> Scenario:
    r"""Read a scenario from a TOML text.

    Parameters
    ----------
    text : str
        The contents of a scenario file.
    name : str, default "scenario"
        Name of the scenario in error messages.
    settings : iterable of str, default ()
        Changes to the text, each ``"key.sub=value"``, as in `load`.
    seed : int, optional
        Seed of all random numbers. None keeps that of the text.

    Returns
    -------
    Scenario
        The checked scenario.

    Raises
    ------
    ScenarioError
        If the text has errors; all errors are reported together, each with its line.

    Examples
    --------
    >>> parse('problem = { kind = "cradle" }\nrun = { t = 1.0, h = 0.01 }').problem.n
    5
    """
    return _parse(text, name, settings, seed, None)


def _parse(text: str, name: str, settings: Iterable[str], seed: int | None, folder: FilePath | None) -> Scenario:
    """Read a scenario from a text; `folder` contains the drawings that it names."""
    from pydantic import ValidationError

    from jostle.scenarios.drawings import with_drawings
    from jostle.scenarios.messages import problems
    from jostle.scenarios.scenario import Scenario

    data = tables(text, name)
    known: dict[Path, int] = lines(text)
    given = [*settings, *([] if seed is None else [f"seed={seed}"])]
    data, origins, wrong = changed(data, given)
    if wrong:
        raise ScenarioError([f"{name}, setting {setting[:80]!r}: {message}" for setting, message in wrong])
    check_depth(data, name)
    source = Source(name, document(data) if given else text, known, origins)
    drawn = with_drawings(data, folder, source)
    if drawn is not data:
        data, source = drawn, replace(source, text=document(drawn))
        check_length(source.text, f"{name} with its drawings")  # or the trajectory could not be resumed
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        raise ScenarioError(problems(error, Scenario, data, source)) from None
    scenario._source = source
    return scenario
