"""Every internal link of the README and of the documentation leads to a page, a heading or a file that exists.

Addresses of other sites are not fetched.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = {"_build", "gallery"}  # folders that the build of the documentation makes
WRITTEN = sorted(path for path in DOCS.rglob("*.md") if not GENERATED & set(path.relative_to(DOCS).parts))
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *WRITTEN]
DEEPEST_ANCHOR = 3  # myst_heading_anchors in docs/conf.py
DIRECTIVES = r"^```\{(?:figure|image|literalinclude)\} (\S+)"
NAMED_FILES = r"(?<![\w/.-])(?:docs|benchmarks|examples|tests|src)/[\w/.-]+\.(?:md|py|toml|json|png|dxf)\b"


def name(page):
    return page.relative_to(ROOT).as_posix()


def prose(page):
    """The text of a page without its code blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)


def slug(heading):
    """The anchor of a heading, as GitHub and MyST write it."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(page):
    """The anchors of a page: headings, of which a repeated one gets a number, and explicit targets."""
    found: set[str] = set(re.findall(r"^\(([\w-]+)\)=$", prose(page), re.M))
    seen: dict[str, int] = {}
    for marks, heading in re.findall(r"^(#+) (.+)$", prose(page), re.M):
        anchor = slug(heading)
        if len(marks) <= DEEPEST_ANCHOR:
            found.add(f"{anchor}-{seen[anchor]}" if anchor in seen else anchor)
        seen[anchor] = seen.get(anchor, 0) + 1
    return found


def links(page):
    """The targets of the links, pictures and included files of a page that are not addresses of other sites."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    targets += re.findall(DIRECTIVES, page.read_text(encoding="utf-8"), re.M)
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def source(path):
    """The file from which a page of the gallery is made; any other file itself."""
    if not path.is_relative_to(DOCS / "gallery"):
        return path
    program = path.relative_to(DOCS / "gallery").with_suffix(".py")
    header = ROOT / "examples" / "gallery" / "GALLERY_HEADER.rst"
    return header if program.name == "index.py" else ROOT / "examples" / "gallery" / program


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    broken = []
    for target in links(page):
        file, _, anchor = target.partition("#")
        path = source((page.parent / file).resolve() if file else page)
        if not path.exists() or (anchor and anchor not in anchors(path)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8")
    assert [file for file in re.findall(NAMED_FILES, text) if not (ROOT / file).exists()] == []


@pytest.mark.parametrize("page", ["architecture", "files"])
def test_source_files_that_are_named_without_their_folder_exist(page):
    text = (ROOT / "docs" / "about" / f"{page}.md").read_text(encoding="utf-8")
    named = {file for file in re.findall(r"`([\w/]+\.(?:py|cu|js))`", text) if not re.match(NAMED_FILES, file)}
    paths = [f"/{file.relative_to(ROOT).as_posix()}" for file in (ROOT / "src").rglob("*.*")]
    assert named
    assert [file for file in named if not any(path.endswith(f"/{file}") for path in paths)] == []


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Two words\n## Rods & `joints`\n## Twice\n## Twice\n[a](other.md#x) [b](https://a.b/c)\n")
    assert anchors(page) == {"two-words", "rods--joints", "twice", "twice-1"}
    assert links(page) == ["other.md#x"]
