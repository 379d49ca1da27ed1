"""Removal of temporary files that killed processes left behind, when the same target is written again."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def remove_leftovers(folder: Path, begin: str, end: str, held: Callable[[Path], bool]) -> None:
    """Remove the files ``<begin><process>.<random><end>`` whose process has ended.

    `held(path)` tells whether the lock of a file is held, because its process may run on another machine.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(begin) and entry.name.endswith(end) and entry.is_file(follow_symlinks=False):
                process = entry.name.removeprefix(begin).split(".")[0]
                if process.isdecimal() and not _alive(int(process)) and not held(Path(entry.path)):
                    os.unlink(entry.path)


def _alive(process: int) -> bool:
    """Whether a process with this number runs on this machine; True if that cannot be determined."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
