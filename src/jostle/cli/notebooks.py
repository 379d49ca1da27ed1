"""Pages of the documentation as Jupyter notebooks: MyST Markdown in, notebook format 4.5 out.

A page is Markdown with fenced ``{code-cell}`` blocks. Text becomes Markdown cells, blocks become code cells without
outputs. Cells that the page folds away stay folded.
"""

from __future__ import annotations

import json
import re
from typing import Any

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
    """The notebook of a page.

    >>> text = "# Title\\n\\nSee [there](other.md).\\n\\n```{code-cell}\\n:tags: [hide-input]\\nprint(1)\\n```\\n"
    >>> [(cell["cell_type"], cell["source"]) for cell in notebook(text)["cells"]]
    [('markdown', '# Title\\n\\nSee there.'), ('code', 'print(1)')]
    """
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
