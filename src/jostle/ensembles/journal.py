"""The folder of a study, which survives whatever happens to the process that writes it.

study.json         what the study is; a study that is resumed must be the same
journal.jsonl      one line for each finished run, on the disk before the next run is counted
table.csv          the tidy table, with .parquet beside it where pyarrow is installed
curves.csv         the curves of all runs, in long form
summary.csv        means, confidence intervals and quantiles of each case
trajectories/      one file for each run, where asked
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from jostle.ensembles.executing import Outcome
from jostle.ensembles.study import Study
from jostle.errors import BrokenFile, FileInUse, FileIsThere, NoSuchFile
from jostle.io.container import Lock, whole

STUDY, JOURNAL, TRAJECTORIES = "study.json", "journal.jsonl", "trajectories"
"""Names in the folder of a study."""
FORMAT = 1
"""Version of the files."""
MAX_SHOWN = 60
"""Number of characters of a value that an error shows."""


class Journal:
    """The journal of a study, open for writing; one process at a time holds it."""

    def __init__(self, folder: Path, study: Study) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        description = folder / STUDY
        if not description.exists():
            if any(folder.iterdir()):
                raise FileIsThere(f"{folder} holds other files and no study: choose another folder")
            _write_description(description, study)
        check_same(folder, study)
        self.path = folder / JOURNAL
        self.path.touch()
        try:
            self._lock = Lock(self.path)
        except FileInUse:
            raise FileInUse(
                f"another process runs the study in {folder}: wait for its end, or look at it with jostle info {folder}"
            ) from None
        self.known = outcomes(folder)
        self._file = open(self.path, "r+b", buffering=0)  # noqa: SIM115 it is open as long as the study runs
        self._file.truncate(_whole_lines(self.path.read_bytes()))
        self._file.seek(0, os.SEEK_END)
        self._study = study
        _write_description(description, study)

    def add(self, outcome: Outcome) -> None:
        """Write an outcome to the disk."""
        self._file.write(json.dumps(outcome.as_dict()).encode() + b"\n")
        os.fsync(self._file.fileno())

    def finish(self, repetitions: list[int]) -> None:
        """Note that the study is finished, and how many repetitions of each case it has."""
        _write_description(self.path.with_name(STUDY), self._study, repetitions)

    def close(self) -> None:
        """Let others write the journal."""
        self._file.close()
        self._lock.release()


def outcomes(folder: Path) -> dict[int, Outcome]:
    """The finished runs by their numbers; of several outcomes of one run the last counts.

    A last line that is cut off belongs to a process that was killed while it wrote it, and is left out.
    """
    path = folder / JOURNAL
    if not path.exists():
        return {}
    content = path.read_bytes()
    found = {}
    for number, line in enumerate(content[: _whole_lines(content)].splitlines(), start=1):
        try:
            outcome = Outcome(**json.loads(line))
        except (ValueError, TypeError):
            raise BrokenFile(f"{path}: line {number} is damaged; remove it, and its run will be done again") from None
        found[outcome.run] = outcome
    return found


def _whole_lines(content: bytes) -> int:
    """The number of bytes up to the end of the last whole line."""
    return content.rfind(b"\n") + 1


def description(folder: Path) -> dict[str, Any]:
    """What the folder says about its study."""
    path = folder / STUDY
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NoSuchFile(f"{folder} is not the folder of a study: it has no {STUDY}") from None
    except ValueError:
        raise BrokenFile(f"{path} is damaged: it is not JSON") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT or not isinstance(found.get("identity"), dict):
        raise BrokenFile(f"{path} is not the description of a study that this version of jostle can read")
    return found


def _write_description(path: Path, study: Study, repetitions: list[int] | None = None) -> None:
    names = {"title": study.title, "repeat": study.repeat, "repetitions": repetitions, "format": FORMAT}
    with whole(path) as new:
        new.write_text(json.dumps({**names, "identity": study.identity()}, indent=1) + "\n", encoding="utf-8")


def check_same(folder: Path, study: Study) -> None:
    """Raise if the folder belongs to another study."""
    there, asked = description(folder)["identity"], json.loads(json.dumps(study.identity()))
    for key in sorted({*there, *asked}):
        if there.get(key) != asked.get(key):
            raise FileIsThere(
                f"{folder} holds another study: its {key} is {_short(there.get(key))}, not {_short(asked.get(key))}. "
                f"Choose another folder, or remove this one"
            )


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + " ..."
