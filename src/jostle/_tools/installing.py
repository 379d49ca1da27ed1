"""The command that installs optional packages into the environment in which this Python runs.

Environments may have pip, or uv instead of it, or neither. A project that is installed already, also from a clone,
satisfies the requirement `jostle[extra]`, so the command adds the packages of an extra and looks for jostle nowhere.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from jostle.errors import MissingPackage


def installing(*packages: str, extras: str = "") -> str:
    """The command that installs packages, or extras of jostle, into the environment of this Python.

    >>> installing(extras="plot").endswith("pip install 'jostle[plot]'") or not find_spec("pip")
    True
    """
    wanted = " ".join([*packages, *([_with_extras(extras)] if extras else [])])
    python = _python()
    if find_spec("pip"):
        return f"{python} -m pip install {wanted}"
    if find_spec("uv"):
        return f"{python} -m uv pip install {wanted}"
    if shutil.which("uv"):
        return f"uv pip install {wanted} --python {python}"
    return f"python3 -m pip --python {python} install {wanted}"


def missing(what: str, extra: str) -> MissingPackage:
    """The error that an optional package is missing, with the command that installs its extra on a line of its own.

    >>> print(missing("a .gsd file needs the package gsd", "export"))  # doctest: +ELLIPSIS
    a .gsd file needs the package gsd. To install it:
      ...install 'jostle[export]'...
    """
    return MissingPackage(f"{what}. To install it:\n  {installing(extras=extra)}")


def _with_extras(extras: str) -> str:
    """The requirement of jostle with extras: its name, or its folder where Python runs it without an installation."""
    try:
        distribution("jostle")
    except PackageNotFoundError:
        return f"-e {shlex.quote(f'{Path(__file__).parents[3]}[{extras}]')}"
    return f"'jostle[{extras}]'"


def _python() -> str:
    """This Python, as it is called in the current folder."""
    here = Path(sys.executable)
    for name in ("python", "python3"):
        found = shutil.which(name)
        if found is not None and Path(found).parent == here.parent:
            return name
    return shlex.quote(str(here.relative_to(Path.cwd()) if here.is_relative_to(Path.cwd()) else here))
