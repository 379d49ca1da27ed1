"""The folder of a study, whose finished runs survive a crash of the process that writes it.

study.json         description of the study; a resumed study must have the same
journal.jsonl      one line per finished run with a checksum, written to disk before the next run is counted
table.csv          the table of all runs, and table.parquet if pyarrow is installed
curves.csv         the curves of all runs, one row per number
summary.csv        means, confidence intervals and quantiles of each case
trajectories/      one file per run, if trajectories are kept
"""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jostle.errors import BrokenFile, FileInUse, FileIsThere, NoSuchFile
from jostle.io.new_files import Lock, whole
from jostle.study.cases import Study, place_of
from jostle.study.executing import Outcome

STUDY, JOURNAL, TRAJECTORIES = "study.json", "journal.jsonl", "trajectories"
"""File and folder names in the folder of a study."""
SEPARATOR = b"\t"
"""Between the outcome and the checksum in a line of the journal; JSON writes a tab as \\t."""
FORMAT = 2
"""Version of the file format."""
MAX_SHOWN = 60
"""Largest number of characters of a value in an error message."""


class Journal:
    """The journal of a study, open for writing by one process at a time."""

    def __init__(self, folder: Path, study: Study) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        description = folder / STUDY
        if not description.exists():
            if any(folder.iterdir()):
                raise FileIsThere(f"{folder} contains other files and no study: choose another folder")
            _write_description(description, study)
        check_same(folder, study)
        self.path = folder / JOURNAL
        self.path.touch()
        try:
            self._lock = Lock(self.path)
        except FileInUse:
            raise FileInUse(
                f"another process runs the study in {folder}: wait until it ends, or see jostle info {folder}"
            ) from None
        self.known = outcomes(folder)
        self._file = open(self.path, "r+b", buffering=0)  # noqa: SIM115 it stays open while the study runs
        self._file.truncate(_whole_lines(self.path.read_bytes()))
        self._file.seek(0, os.SEEK_END)
        self._study = study
        _write_description(description, study)

    def add(self, outcome: Outcome) -> None:
        """Write an outcome to the disk."""
        self._file.write(line_of(outcome))
        os.fsync(self._file.fileno())

    def finish(self, repetitions: list[int]) -> None:
        """Record that the study is finished, with the number of repetitions of each case."""
        _write_description(self.path.with_name(STUDY), self._study, repetitions)

    def close(self) -> None:
        """Close the journal, so that other processes can open it."""
        self._file.close()
        self._lock.release()


def outcomes(folder: Path) -> dict[int, Outcome]:
    """The finished runs by number; if a run has several outcomes, the last one counts.

    An incomplete last line was left by a process that was killed while writing, and is ignored.
    """
    path = folder / JOURNAL
    if not path.exists():
        return {}
    content = path.read_bytes()
    found = {}
    for number, line in enumerate(content[: _whole_lines(content)].splitlines(), start=1):
        text, _, check = line.rpartition(SEPARATOR)
        if check != _checksum(text):
            raise BrokenFile(f"{path}: line {number} is damaged; remove the line, and its run will be repeated")
        try:
            outcome = Outcome(**json.loads(text))
        except (ValueError, TypeError, RecursionError):
            raise BrokenFile(f"{path}: line {number} is not the outcome of a run; remove the line") from None
        found[outcome.run] = outcome
    return found


def line_of(outcome: Outcome) -> bytes:
    """The line of a finished run in the journal: its outcome as JSON, and a checksum.

    >>> line_of(Outcome(3, "finished", {"value": 0.5}))[-14:]
    b'0.0}\\t63a2110e\\n'
    """
    text = json.dumps(asdict(outcome)).encode()
    return text + SEPARATOR + _checksum(text) + b"\n"


def _checksum(text: bytes) -> bytes:
    return b"%08x" % zlib.crc32(text)


def _whole_lines(content: bytes) -> int:
    """The number of bytes up to the end of the last whole line."""
    return content.rfind(b"\n") + 1


def description(folder: Path) -> dict[str, Any]:
    """The description of the study in a folder."""
    path = folder / STUDY
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NoSuchFile(f"{folder} is not the folder of a study: it has no {STUDY}") from None
    except (ValueError, RecursionError):
        raise BrokenFile(f"{path} is damaged: it is not JSON") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT or not isinstance(found.get("identity"), dict):
        raise BrokenFile(f"{path} cannot be read by this version of jostle: it is not a study of format {FORMAT}")
    if found.pop("check", None) != _check_of(found):
        raise BrokenFile(f"{path} is damaged: its checksum is wrong; run the study again in another folder")
    return found


def _write_description(path: Path, study: Study, repetitions: list[int] | None = None) -> None:
    found = {"title": study.title, "repeat": study.repeat, "repetitions": repetitions, "format": FORMAT}
    found["identity"] = _identity(study)
    with whole(path) as new:
        new.write_text(json.dumps({**found, "check": _check_of(found)}, indent=1) + "\n", encoding="utf-8")


def _check_of(description: dict[str, Any]) -> str:
    """A checksum of the description of a study."""
    return _checksum(json.dumps(description, sort_keys=True).encode()).decode()


def _identity(study: Study) -> dict[str, Any]:
    """What must agree for a study to be resumed: everything except the number of repetitions and the title."""
    return {
        **study.subject.identity(),
        "cases": [dict(case) for case in study.cases],
        "measures": {name: place_of(measure) for name, measure in study.measured.items()},
        "curves": {name: place_of(curve) for name, curve in study.traced.items()},
        "seed": study.seed,
        "trajectories": study.trajectories,
        "jostle": version("jostle"),
    }


def check_same(folder: Path, study: Study) -> None:
    """Raise if the folder belongs to another study."""
    there, asked = description(folder)["identity"], json.loads(json.dumps(_identity(study)))
    for key in sorted({*there, *asked}):
        if there.get(key) != asked.get(key):
            raise FileIsThere(
                f"{folder} contains another study: its {key} is {_short(there.get(key))}, not "
                f"{_short(asked.get(key))}. Choose another folder, or remove this one"
            )


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + " ..."
