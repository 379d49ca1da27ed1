"""``jostle lessons``: the lessons of the documentation as notebooks."""

from __future__ import annotations

from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.files import check_free
from jostle.cli.notebooks import notebook_text
from jostle.cli.show import say
from jostle.errors import NoSuchFile

PACKAGED = "teaching"
"""Folder of the lessons in an installed package."""
SOURCES = Path("docs") / "teaching"
"""Folder of the lessons in a source tree."""
NEEDED = {"matplotlib": "plot", "shapely": "crowd"}
"""Packages that the lessons use, with the extras that install them."""


def pages() -> dict[str, str]:
    """The text of each lesson, by its name.

    >>> sorted(pages())
    ['evacuation', 'impacts', 'jamming', 'sweeping', 'vibro_impact']
    """
    package = files("jostle")
    folder = package / PACKAGED
    if not folder.is_dir():  # a source tree keeps them in its documentation
        folder = Path(str(package)).parents[1] / SOURCES
    if not folder.is_dir():
        raise NoSuchFile(f"the lessons are missing from this installation: there is no folder {folder}")
    found = {path.name: path for path in folder.iterdir() if path.name.endswith(".md") and path.name != "index.md"}
    return {name.removesuffix(".md"): found[name].read_text(encoding="utf-8") for name in sorted(found)}


def lessons(
    directory: Annotated[Path | None, typer.Argument(help="Folder for the notebooks; by default lessons.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace notebooks that exist.")] = False,
) -> None:
    """Save the lessons as Jupyter notebooks."""
    folder = directory or Path("lessons")
    targets = {folder / f"{name}.ipynb": page for name, page in pages().items()}
    for target in targets:
        check_free(target, overwrite)
    folder.mkdir(parents=True, exist_ok=True)
    for target, page in targets.items():
        target.write_text(notebook_text(page), encoding="utf-8")
    say(f"saved {', '.join(target.name for target in targets)} in {folder}")
    say(f"Open them with jupyter lab {folder}")
    extras = [extra for package, extra in NEEDED.items() if find_spec(package) is None]
    if find_spec("jupyterlab") is None:
        say("Jupyter is not installed: pip install jupyterlab")
    if extras:
        say(f"The lessons need more packages: pip install 'jostle[{','.join(extras)}]'")
