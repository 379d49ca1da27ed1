"""``jostle dev lessons``: the lessons of the documentation as notebooks."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from jostle._tools.installing import installing
from jostle.cli.files import check_free, output
from jostle.cli.show import say
from jostle.errors import NoSuchFile

# Pages of the documentation as Jupyter notebooks: MyST Markdown in, notebook format 4.5 out.
#
# A page is Markdown with fenced ``{code-cell}`` blocks. Text becomes Markdown cells, blocks become code cells without
# outputs. Cells that the page folds away stay folded.


FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.S)
"""Settings at the top of a page."""
CODE_CELL = re.compile(r"^```\{code-cell\}[^\n]*\n((?::[^\n]*\n)*)(.*?)^```[ \t]*$", re.S | re.M)
"""A block of code, with its options."""
TAGS = re.compile(r"^:tags: \[(.*)\]$", re.M)
"""Tags of a block."""
SITE_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+:)[^)]*\)")
"""A link to another page of the site, which a notebook cannot follow."""
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
"""Kernel that runs the notebooks."""


def notebook(page: str) -> dict[str, Any]:
    """The notebook of a page."""
    text = FRONT_MATTER.sub("", page)
    cells, end = [], 0
    for found in CODE_CELL.finditer(text):
        cells += [_words(text[end : found.start()]), _code(found[1], found[2])]
        end = found.end()
    cells.append(_words(text[end:]))
    kept = [cell | {"id": f"cell-{number}"} for number, cell in enumerate(cell for cell in cells if cell["source"])]
    return {"cells": kept, "metadata": {"kernelspec": KERNEL}, "nbformat": 4, "nbformat_minor": 5}


def notebook_text(page: str) -> str:
    """The notebook of a page, as the text of an .ipynb file."""
    return json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n"


def _words(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": SITE_LINK.sub(r"\1", text).strip()}


def _code(options: str, source: str) -> dict[str, Any]:
    found = TAGS.search(options)
    tags = [tag.strip() for tag in found[1].split(",")] if found else []
    metadata: dict[str, Any] = {"tags": tags} if tags else {}
    if {"hide-input", "hide-cell"} & set(tags):
        metadata["jupyter"] = {"source_hidden": True, "outputs_hidden": "hide-cell" in tags}
    return {"cell_type": "code", "execution_count": None, "metadata": metadata, "outputs": [], "source": source.strip()}


PACKAGED = "teaching"
"""Folder of the lessons in an installed package."""
SOURCES = Path("docs") / "teaching"
"""Folder of the lessons in a source tree."""
NEEDED = {"matplotlib": "plot", "shapely": "crowd"}
"""Packages that the lessons use, with the extras that install them."""


def pages() -> dict[str, str]:
    """The text of each lesson, by its name."""
    package = files("jostle")
    folder = package / PACKAGED
    if not folder.is_dir():  # a source tree keeps them in its documentation
        folder = Path(str(package)).parents[1] / SOURCES
    if not folder.is_dir():
        raise NoSuchFile(f"the lessons are missing from this installation: there is no folder {folder}")
    found = {path.name: path for path in folder.iterdir() if path.name.endswith(".md") and path.name != "index.md"}
    return {name.removesuffix(".md"): found[name].read_text(encoding="utf-8") for name in sorted(found)}


def lessons(
    directory: Annotated[Path | None, output("Folder for the notebooks; by default lessons.")] = None,
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
        say(f"Jupyter is not installed. To install it:\n  {installing('jupyterlab')}")
    if extras:
        say(f"The lessons need more packages. To install them:\n  {installing(extras=','.join(extras))}")
