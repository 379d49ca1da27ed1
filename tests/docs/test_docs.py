"""The documentation is complete: every public name has its place, every page is reached, every snippet is run."""

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from jostle.cli import app
from jostle.cli.machine import EXTRAS
from names import exists, public_names, unknown_names

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if not {"_build", "gallery"} & set(path.relative_to(DOCS).parts))


def listed():
    """The names that the pages of the reference document, without the leading jostle."""
    text = "".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "api").glob("*.md")))
    return Counter(re.findall(r"auto(?:class|exception|function|data):: jostle\.([\w.]+)", text))


def test_the_reference_has_every_public_name_exactly_once():
    found = listed()
    assert {name for name in public_names() if found[name] != 1} == set()
    assert {name for name, times in found.items() if times != 1} == set()


def entries(page):
    """The pages in the toctrees of a page."""
    trees = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    lines = [re.sub(r".*<(.+)>", r"\1", line.strip()) for tree in trees for line in tree.splitlines()]
    return [(page.parent / line).resolve() for line in lines if line and not line.startswith(":")]


def test_every_page_is_in_a_table_of_contents():
    reached = {path for page in PAGES for path in entries(page)}
    assert {page for page in PAGES if page.with_suffix("").resolve() not in reached} == {DOCS / "index.md"}


README = (DOCS.parent / "README.md").read_text(encoding="utf-8")


def test_the_program_of_the_readme_runs_as_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    programs = re.findall(r"^```python\n(.*?)^```", README, re.S | re.M)
    assert programs
    for program in programs:
        exec(compile(program, "README.md", "exec"), {})
    assert capsys.readouterr().out == "".join(re.findall(r"^```text\n(.*?)^```", README, re.S | re.M))


@pytest.mark.parametrize("page", [DOCS.parent / "README.md", *PAGES], ids=lambda page: page.name)
def test_names_on_a_page_exist(page):
    """Each jo.name, in prose and in code; and the keywords of calls in inline code, as in `jo.solve(..., h=0.1)`."""
    text = page.read_text(encoding="utf-8")
    assert [name for name in set(re.findall(r"\bjo(?:\.[A-Za-z_]\w*)+", text)) if not exists(name)] == []
    calls = [code for code in re.findall(r"`(jo\.[^`\n]+\))`", text) if parses(code)]
    assert {code: bad for code in calls if (bad := unknown_names(f"import jostle as jo\n{code}"))} == {}


def test_extras_are_written_in_one_way_and_exist():
    """pip install 'jostle[name]': it adds what is missing to any installed jostle, also to one from a clone."""
    known = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    texts = {path: path.read_text(encoding="utf-8") for path in [DOCS.parent / "README.md", *PAGES]}
    assert [name for name, text in texts.items() if re.search(r"install ['\"]?\.\[", text)] == []
    named = [each for text in texts.values() for each in re.findall(r"install (\S*jostle\[\S+\]\S?)", text)]
    assert len(named) > 15
    assert [each for each in named if not re.fullmatch(r"'jostle\[.+\]'", each)] == []
    extras = {extra for each in named if "{" not in each for extra in each[len("'jostle[") : -2].split(",")}
    assert extras <= set(known)


def test_one_function_writes_the_commands_that_install_extras():
    sources = {path: path.read_text(encoding="utf-8") for path in (DOCS.parent / "src").rglob("*.py")}
    assert [path.name for path, text in sources.items() if re.search(r"install '?jostle\[", text)] == ["installing.py"]
    asked = {extra for text in sources.values() for extra in re.findall(r'\bmissing\(.*, "(\w+)"\)', text)}
    assert {"crowd", "export", "movie", "notebook", "tables", "jax", "torch", "cluster"} <= asked <= set(EXTRAS)


def test_the_demo_installs_the_extras_of_the_readme():
    """The first picture has people on a floor plan, whose commands must run afterwards."""
    makefile = (DOCS.parent / "Makefile").read_text(encoding="utf-8")
    demo = re.search(r"^\$\(VENV\)/demo-ready:.*?-e '\.\[(.*?)\]'", makefile, re.S | re.M)[1].split(",")
    assert demo == re.search(r"^pip install 'jostle\[(.*?)\]'", README, re.M)[1].split(",")
    assert {"plot", "movie", "crowd"} <= set(demo)


def parses(code):
    try:
        return bool(ast.parse(code))
    except SyntaxError:
        return False


def test_a_dead_name_is_noticed():
    assert exists("jo.models.rack")
    assert exists("jo.Maury.cite")
    assert exists("jo.Maury.samples")
    assert not exists("jo.models.packing")
    assert not exists("jo.io.pedestrians.to_pedpy")


def test_the_programs_for_those_who_come_from_elsewhere_run_as_written():
    """Each of the five sections shows the same problem in another program and in jostle."""
    text = (DOCS / "coming_from.md").read_text(encoding="utf-8")
    programs = re.findall(r"^```\{code-cell\}\n(.*?)^```", text, re.S | re.M)
    assert len(programs) == len(re.findall(r"^## ", text, re.M)) == 5
    for program in programs:
        names: dict = {}
        exec(compile(program, "coming_from.md", "exec"), names)
        assert names["sol"].status in ("finished", "stopped")


def test_the_commands_of_the_readme_exist():
    shells = "".join(re.findall(r"^```sh\n(.*?)^```", README, re.S | re.M))
    shown = set(re.findall(r"`jostle ([a-z]+)", README) + re.findall(r"^jostle ([a-z]+)", shells, re.M))
    assert "run" in shown
    assert shown <= {command.callback.__name__.rstrip("_") for command in app.registered_commands}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_pages_with_code_are_run_by_the_build(page):
    text = page.read_text(encoding="utf-8")
    if "{code-cell}" in text:
        assert "file_format: mystnb" in text.split("---")[1]


WIDEST_CODE = 90  # characters that fit beside the table of contents in a window 1280 pixels wide


@pytest.mark.parametrize("page", [DOCS.parent / "README.md", *PAGES], ids=lambda page: page.name)
def test_code_fits_on_the_page(page):
    blocks = re.findall(r"^```(?:\{code-cell\}|\w+)\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)
    assert [line for block in blocks for line in block.splitlines() if len(line) > WIDEST_CODE] == []


@pytest.mark.parametrize("page", sorted((DOCS / "teaching").glob("[!i]*.md")), ids=lambda page: page.stem)
def test_lessons_have_exercises_solutions_and_pictures(page):
    text = page.read_text(encoding="utf-8")
    lesson, exercises = text.split("## Exercises")
    assert len(re.findall(r"^\*\*\d\.\*\*", exercises, re.M)) >= 3
    assert "hide-cell" in exercises
    assert "jo.viz." in lesson
