"""The code of every page runs: in CI here, many pages in one process; otherwise when the documentation is built."""

import os
import re
import warnings
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

matplotlib.use("Agg")

DOCS = Path(__file__).parent.parent / "docs"
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(?::[^\n]*\n)*(.*?)^```", re.DOTALL | re.MULTILINE)
LONG = {"verification.md", "grains.md", "models.md", "buildings.md", "impacts.md", "sweeping.md", "joints.md"}
"""Pages that take more than ten seconds; `make docs` runs them."""
ELSEWHERE = {"coming_from.md"}
"""Pages that test_docs.py runs."""
PAGES = [
    path
    for path in sorted(DOCS.rglob("*.md"))
    if not {"_build", "gallery"} & set(path.relative_to(DOCS).parts)
    and path.name not in LONG | ELSEWHERE
    and CELL.search(path.read_text())
]


@pytest.mark.skipif(not os.environ.get("CI"), reason="`make docs` runs the code of the pages")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_the_code_of_a_page_runs(page, monkeypatch):
    display = pytest.importorskip("IPython.display")
    monkeypatch.chdir(page.parent)
    monkeypatch.syspath_prepend(DOCS)
    names = {"__name__": "__main__", "display": display.display}
    try:
        for code in CELL.findall(page.read_text(encoding="utf-8")):
            with warnings.catch_warnings(action="default"):  # a page may show a warning
                exec(compile(code, page.name, "exec"), names)
    finally:
        plt.close("all")


def test_pages_are_found():
    assert len(PAGES) > 20
