"""The code of every page runs, many pages in one process."""

import re
import warnings
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

from names import unknown_names
from rows import whole

matplotlib.use("Agg")

DOCS = Path(__file__).parents[2] / "docs"
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(?::[^\n]*\n)*(.*?)^```", re.DOTALL | re.MULTILINE)
LONG = {
    "architecture.md", "concert.md", "crowds.md", "derivatives.md", "evacuation.md", "friction.md", "grains.md",
    "impacts.md", "machines.md", "macro.md", "mathematics.md", "own_constraint.md", "pictures.md", "platform.md",
    "runs.md", "schemes.md", "silo.md", "solvers.md", "sweeping.md", "sweeps.md", "theorems.md", "vibrated_bed.md",
    "vibro_impact.md",
}  # fmt: skip
"""Pages that take more than two seconds; `make docs` and `make test-all` run them."""
ELSEWHERE = {"coming_from.md", "jamming.md"}
"""Pages that test_docs.py and cli/test_lessons.py run."""
PAGES = {
    path.relative_to(DOCS).as_posix(): path
    for path in sorted(DOCS.rglob("*.md"))
    if not {"_build", "gallery"} & set(path.relative_to(DOCS).parts)
    and path.name not in ELSEWHERE
    and CELL.search(path.read_text(encoding="utf-8"))
}


def cells(page):
    return CELL.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [whole(name) if PAGES[name].name in LONG else name for name in PAGES])
def test_the_code_of_a_page_runs(name, monkeypatch):
    display = pytest.importorskip("IPython.display")
    monkeypatch.chdir(PAGES[name].parent)
    monkeypatch.syspath_prepend(PAGES[name].parent)
    names = {"__name__": "__main__", "display": display.display}
    try:
        for code in cells(PAGES[name]):
            with warnings.catch_warnings(action="default"):  # a page may show a warning
                exec(compile(code, name, "exec"), names)
    finally:
        plt.close("all")


def test_pages_use_names_that_exist():
    """Also the pages that only `make test-all` runs."""
    assert {name: unknown for name in PAGES if (unknown := unknown_names("\n".join(cells(PAGES[name]))))} == {}


def test_pages_are_found():
    assert len(PAGES) > 20
