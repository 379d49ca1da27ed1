"""CONTRIBUTING.md names files, targets and tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_links_and_paths_lead_somewhere():
    named = set(re.findall(r"\]\(([\w./]+)\)", TEXT)) | set(re.findall(r"\b(?:src|tests|benchmarks)/[\w/]+\.py", TEXT))
    assert {"docs/about/architecture.md", "docs/about/extending.md", "CHANGELOG.md"} <= named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_target_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    named = set(re.findall(r"^make ([a-z-]+)", TEXT, re.M))
    assert {"test", "test-all", "lint", "docs", "dist"} <= named
    assert named <= targets


def test_the_test_that_is_shown_exists():
    path, word = re.search(r"pytest (tests/\S+) -k (\w+)", TEXT).groups()
    assert re.search(rf"def test_\w*{word}", (ROOT / path).read_text(encoding="utf-8"))
