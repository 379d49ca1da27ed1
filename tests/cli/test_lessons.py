"""``jostle dev lessons``: notebooks that open, run, and say what the pages say."""

import json
import re
import tomllib
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import nbformat
import pytest

from jostle._tools.installing import installing
from jostle.cli import lessons
from jostle.cli.lessons import notebook

matplotlib.use("Agg")
ROOT = Path(__file__).parents[2]
TEACHING = ROOT / "docs" / "teaching"
NAMES = sorted(path.stem for path in TEACHING.glob("*.md") if path.stem != "index")


def read(folder, name):
    return json.loads((folder / f"{name}.ipynb").read_text(encoding="utf-8"))


def code_of(book):
    return [cell["source"] for cell in book["cells"] if cell["cell_type"] == "code"]


def test_the_notebooks_are_saved_and_the_command_says_how_to_open_them(here, jostle):
    code, out, err = jostle("dev", "lessons")
    assert (code, err) == (0, "")
    assert "Open them with jupyter lab lessons" in out
    assert sorted(path.stem for path in (here / "lessons").iterdir()) == NAMES
    assert jostle("dev", "lessons", "-o", "a/b")[0] == 0
    assert (here / "a" / "b" / "jamming.ipynb").exists()


def test_a_notebook_that_exists_is_kept_unless_one_says_so(here, jostle):
    (here / "lessons").mkdir()
    mine = here / "lessons" / "jamming.ipynb"
    mine.write_text("my work")
    code, out, err = jostle("dev", "lessons")
    assert (code, out) == (1, "")
    assert "jamming.ipynb" in err
    assert "--overwrite" in err
    assert [path.name for path in mine.parent.iterdir()] == ["jamming.ipynb"]
    assert mine.read_text() == "my work"
    assert jostle("dev", "lessons", "--overwrite")[0] == 0
    assert read(mine.parent, "jamming")["nbformat"] == 4


def test_what_is_not_installed_is_said(here, jostle, monkeypatch):
    monkeypatch.setattr(lessons, "find_spec", lambda name: None)
    out = jostle("dev", "lessons")[1]
    assert f"  {installing('jupyterlab')}" in out.splitlines()
    assert f"  {installing(extras='plot,crowd')}" in out.splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_the_text_and_the_code_of_its_page(name):
    page = (TEACHING / f"{name}.md").read_text(encoding="utf-8")
    book = notebook(page)
    nbformat.validate(book)
    assert len(code_of(book)) == page.count("```{code-cell}")
    words = "\n".join(cell["source"] for cell in book["cells"] if cell["cell_type"] == "markdown")
    assert words.startswith("# ")
    assert re.findall(r"^## .*", words, re.M) == re.findall(r"^## .*", page, re.M)
    assert not re.search(r"\{[a-z-]+\}`|```\{|\]\(\.\.|\.md\)", words), "nothing that only the site understands"
    assert not any(source.startswith((":tags", "```")) for source in code_of(book))


def test_solutions_are_folded_away():
    book = notebook("```{code-cell}\n:tags: [hide-cell]\n1\n```\n```{code-cell}\n2\n```\n")
    first, second = (cell["metadata"] for cell in book["cells"])
    assert first == {"tags": ["hide-cell"], "jupyter": {"source_hidden": True, "outputs_hidden": True}}
    assert second == {}


def test_links_within_the_site_become_text_and_others_stay():
    text = "[a](b.md#c) [d](../e) [f](https://g.org) ![h](i.png) $[0, 1](x)$"
    [cell] = notebook(text)["cells"]
    assert cell["source"].startswith("a d [f](https://g.org) ![h](i.png)")


def test_a_notebook_runs_from_its_first_cell_to_its_last(here, jostle):
    """The build of the documentation runs all pages; here the quickest one is run."""
    jostle("dev", "lessons")
    names: dict = {}
    for source in code_of(read(here / "lessons", "jamming")):
        exec(compile(source, "jamming.ipynb", "exec"), names)
    assert plt.get_fignums()
    plt.close("all")


def test_the_wheel_has_the_lessons():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    assert build["targets"]["wheel"]["force-include"] == {"docs/teaching": f"jostle/{lessons.PACKAGED}"}


def test_an_installed_package_has_its_own_lessons(tmp_path, monkeypatch):
    (tmp_path / "site" / "jostle" / "teaching").mkdir(parents=True)
    (tmp_path / "site" / "jostle" / "teaching" / "one.md").write_text("# One\n", encoding="utf-8")
    monkeypatch.setattr(lessons, "files", lambda package: tmp_path / "site" / package)
    assert lessons.pages() == {"one": "# One\n"}
    monkeypatch.setattr(lessons, "files", lambda package: tmp_path / "other" / package)
    with pytest.raises(lessons.NoSuchFile, match="the lessons are missing"):
        lessons.pages()
