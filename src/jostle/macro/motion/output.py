"""The image file that a run of a moving density writes."""

from __future__ import annotations

import os
import platform
from dataclasses import replace
from pathlib import Path

from jostle.errors import FileIsThere, InvalidValue, JostleError
from jostle.facts import Units
from jostle.io.images import check_path, write_images
from jostle.io.outputs import Output
from jostle.io.reading_images import are_images
from jostle.io.recorder import versions
from jostle.macro.motion.result import Evolution


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
        if os.path.lexists(self.path):
            _check_replaceable(self.path, asked=resume or to.overwrite)

    def write(self, found: Evolution) -> None:
        write_images(self.path, replace(found.images(self.about), units=self.units))


def _check_replaceable(path: Path, *, asked: bool) -> None:
    """Allow image files to be replaced if the user asked for it, and other files never."""
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
