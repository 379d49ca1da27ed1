"""The image file that a run of a moving density writes."""

from __future__ import annotations

import os
import platform
from dataclasses import replace
from pathlib import Path

from jostle.errors import FileIsThere, InvalidValue, JostleError, WriteFailed
from jostle.io.container import reason
from jostle.io.images import check_path, write_images
from jostle.io.locks import LOCK_POSITION, Lock
from jostle.io.new_files import create, refuse_existing
from jostle.io.outputs import Output
from jostle.io.reading_images import are_images
from jostle.io.recorder import versions
from jostle.macro.motion.result import Evolution
from jostle.result.facts import Units
from jostle.result.status import RUNNING


class ImageFile:
    """The image file of a run, rewritten completely at the start, with each checkpoint and at the end."""

    def __init__(self, output: str | os.PathLike[str] | Output, *, resume: bool) -> None:
        to = output if isinstance(output, Output) else Output(output)
        if to.contacts or to.groups:
            raise InvalidValue("a density has no contacts and no groups of bodies: remove contacts= and groups=")
        check_path(to.path)
        self.path, self.units = Path(to.path), to.units or Units()
        self.about = {f"version of {name}": version for name, version in versions().items()}
        self.about |= {"machine": platform.platform(), **to.about}
        self._lock: Lock | None = None
        self._written: tuple[int, int] | None = None
        """Device and number of the file that was written last, or that may be replaced."""
        if os.path.lexists(self.path):
            self._lock, self._written = _replaceable(self.path, asked=resume or to.overwrite), _number(self.path)

    def write(self, found: Evolution) -> None:
        """Replace the file, which stays locked until the run has ended."""
        try:
            self._write(found)
        except BaseException:
            self._release()
            raise
        if found.status != RUNNING:
            self._release()

    def _write(self, found: Evolution) -> None:
        if self._written is None:
            try:
                create(self.path)  # two runs cannot both create it
            except FileExistsError:
                refuse_existing(self.path)
                raise
            except OSError as error:
                raise WriteFailed(f"{self.path} cannot be written: {reason(error)}") from None
        elif os.path.lexists(self.path) and _number(self.path) != self._written:
            raise FileIsThere(f"{self.path} was replaced by another program while this run wrote it: it is kept")
        write_images(self.path, replace(found.images(self.about), units=self.units))
        self._release()
        self._lock, self._written = Lock(self.path, LOCK_POSITION), _number(self.path)

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
        self._lock = None


def _number(path: Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _replaceable(path: Path, *, asked: bool) -> Lock:
    """The lock of an image file that is replaced because the user asked for it; other files are refused."""
    if not asked:
        raise FileIsThere(
            f"{path} exists already: choose another name, remove it, or use jo.io.Output(path, overwrite=True)"
        )
    try:
        fields = are_images(path)
    except JostleError:
        fields = False
    if not fields:
        raise FileIsThere(f"{path} is not an image file and is not overwritten: choose another name or remove it")
    return Lock(path, LOCK_POSITION)
