"""The file of images that a run of a moving density writes."""

from __future__ import annotations

import os
import platform
from dataclasses import replace
from pathlib import Path

from jostle.errors import FileIsThere, InvalidValue, JostleError
from jostle.facts import Units
from jostle.io.images import are_images, check_path, write_images
from jostle.io.recorder import Output, versions
from jostle.macro.motion.result import Evolution


class ImageFile:
    """Where a run is written to, whole each time: at the start, with each checkpoint, and at the end."""

    def __init__(self, output: str | os.PathLike[str] | Output, *, resume: bool) -> None:
        to = output if isinstance(output, Output) else Output(output)
        if to.contacts or to.groups:
            raise InvalidValue("a density has no contacts and no groups of bodies: leave contacts and groups out")
        check_path(to.path)
        self.path, self.units = Path(to.path), to.units or Units()
        self.about = {f"version of {name}": version for name, version in versions().items()}
        self.about |= {"machine": platform.platform(), **to.about}
        if os.path.lexists(self.path):
            _check_replaceable(self.path, asked=resume or to.overwrite)

    def write(self, found: Evolution) -> None:
        write_images(self.path, replace(found.images(self.about), units=self.units))


def _check_replaceable(path: Path, *, asked: bool) -> None:
    """Files of fields are replaced where that was asked for, and other files never."""
    if not asked:
        raise FileIsThere(
            f"{path} exists already: choose another name, remove it, or write jo.io.Output(path, overwrite=True)"
        )
    try:
        fields = are_images(path)
    except JostleError:
        fields = False
    if not fields:
        raise FileIsThere(f"{path} is not a file of fields, and is not replaced: choose another name or remove it")
