"""Reading scenario files: TOML, settings, and errors with line numbers. pydantic is imported when a file is read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from jostle.arguments import check_arguments
from jostle.errors import OldSpelling, warn
from jostle.scenarios.kinds import KINDS
from jostle.scenarios.lines import lines
from jostle.scenarios.old_spellings import modern
from jostle.scenarios.settings import changed
from jostle.scenarios.source import Path, ScenarioError, Source
from jostle.scenarios.writing import document
from jostle.scenarios.writing import path as written_path
from jostle.spelling import suggestion

if TYPE_CHECKING:
    from jostle.scenarios.scenario import Scenario

SHIPPED = FilePath(__file__).parent / "shipped"
"""The folder of the scenarios that come with jostle."""
MAX_FILE_SIZE = 32 * 2**20
"""Largest size of a scenario file, in bytes."""
MAX_DEPTH = 20
"""Largest depth of nested tables and lists."""


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


def text_of(path: FilePath) -> str:
    """The text of a file, or a `ScenarioError` that says why it cannot be read.

    >>> text_of(SHIPPED / "silo.toml") == shipped("silo")
    True
    """
    name = str(path)
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise ScenarioError([f"{name}: is a pipe or a device; scenarios are read from regular files only"])
        with path.open("rb") as file:
            content = file.read(MAX_FILE_SIZE + 1)
    except OSError as error:
        raise ScenarioError([f"{name}: cannot be read: {error.strerror or error}"]) from error
    except ScenarioError:
        raise
    except ValueError as error:
        raise ScenarioError([f"{name!r} is not a valid file name"]) from error
    if len(content) > MAX_FILE_SIZE:
        raise ScenarioError([f"{name}: is larger than {MAX_FILE_SIZE // 2**20} MB, the limit for scenario files"])
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ScenarioError([f"{name}:{line}: is not valid UTF-8: byte {content[error.start]:#04x}"]) from error


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
    _check_depth(data, name)
    new = modern(data, origins)
    data, source = new.data, Source(name, document(new.data) if given else text, new.moved(known), new.moved(origins))
    drawn = with_drawings(data, folder, source)
    if drawn is not data:
        data, source = drawn, replace(source, text=document(drawn))
    for path, remark in new.remarks:
        warn(f"{source.place(path)}{remark}", OldSpelling)
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        raise ScenarioError(problems(error, Scenario, data, source)) from None
    scenario._source = source
    return scenario


def tables(text: str, name: str) -> dict[str, Any]:
    """The tables of a TOML text.

    >>> tables("[run]\\nt = 1.0", "mine.toml")
    {'run': {'t': 1.0}}
    """
    try:
        text.encode("utf-8")
        data = tomllib.loads(text)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise ScenarioError([f"{name}:{line}: contains an invalid Unicode character, {text[error.start]!r}"]) from None
    except ValueError as error:
        raise ScenarioError([_not_toml(str(error), text, name)]) from None
    except RecursionError:
        raise ScenarioError([f"{name}: lists and tables are nested too deeply"]) from None
    _check_depth(data, name)
    return data


def _not_toml(message: str, text: str, name: str) -> str:
    """tomllib's message, with the line in front."""
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", message, re.DOTALL)
    if match is None:
        return f"{name}: invalid TOML: {message}"
    words, line, column = match.groups()
    if line is None:
        return f"{name}:{text.count(chr(10)) + 1}: invalid TOML: {words}, at the end of the file"
    return f"{name}:{line}: invalid TOML: {words}, at column {column}"


def _check_depth(data: dict[str, Any], name: str) -> None:
    """Refuse tables and lists that are nested too deeply for recursive functions."""
    level: list[tuple[str, Any]] = list(data.items())
    for _ in range(MAX_DEPTH):
        level = [
            (top, inner)
            for top, value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    where = written_path([level[0][0]])
    raise ScenarioError([f"{name}: {where}: lists and tables are nested deeper than {MAX_DEPTH} levels"])
