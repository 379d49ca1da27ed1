"""Colours are defined in one place."""

import re
from dataclasses import asdict
from pathlib import Path

import pytest

import jostle
from jostle._tools.colours import DARK, LIGHT, PALETTE

ROOT = Path(__file__).parents[2]
SOURCE = Path(jostle.__file__).parent
HEX = re.compile(r"#[0-9a-fA-F]{6}\b")
MADE = {ROOT / "docs" / "_build", ROOT / "docs" / "gallery"}
KINDS = {".py", ".js", ".css", ".html", ".md", ".svg"}


def files():
    for folder in (SOURCE, ROOT / "docs", ROOT / "examples", ROOT / "benchmarks"):
        for path in folder.rglob("*"):
            if path.suffix in KINDS and not MADE & set(path.parents):
                yield path


def test_no_other_file_writes_a_colour():
    written = {path.name for path in files() if HEX.search(path.read_text(encoding="utf-8"))}
    assert written <= {"colours.py", "logo.svg"}


def test_the_logo_is_in_the_colours_of_the_palette():
    logo = (SOURCE / "viz" / "web" / "logo.svg").read_text(encoding="utf-8")
    assert set(HEX.findall(logo)) <= set(PALETTE)


def test_the_discs_of_the_logo_touch_and_do_not_overlap():
    logo = (SOURCE / "viz" / "web" / "logo.svg").read_text(encoding="utf-8")
    discs = [tuple(map(float, found)) for found in re.findall(r'cx="(\S+)" cy="(\S+)" r="(\S+)"', logo)]
    assert len(discs) == 3
    for i, (x, y, r) in enumerate(discs):
        for a, b, s in discs[:i]:
            assert ((x - a) ** 2 + (y - b) ** 2) ** 0.5 == pytest.approx(r + s, abs=0.02)


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def channels(colour):
    return [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]


def contrast(one, other):
    """As WCAG 2.1 defines it, from 1 to 21."""
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read_and_marks_can_be_seen(theme):
    for name in ("text", "faint", "accent", "good", "bad"):
        assert contrast(getattr(theme, name), theme.back) >= 4.5, name
    assert contrast(theme.good, theme.good_back) >= 4.5
    assert contrast(theme.bad, theme.bad_back) >= 4.5
    for name in ("wall", "solid", "mark", "push", "pull"):
        assert contrast(getattr(theme, name), theme.back) >= 3.0, name
    assert contrast(theme.bodies[0], theme.back) >= 1.25
    assert contrast(theme.cells[0], theme.back) <= 1.25


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_colour_maps_go_one_way_in_grey(theme):
    """So that they are read in any kind of sight, and on grey paper."""
    for stops in (theme.bodies, theme.cells):
        grey = [luminance(stop) for stop in stops]
        assert grey == sorted(grey, reverse=theme is LIGHT)


def test_every_colour_has_six_digits_and_panels_are_partly_transparent():
    for theme in (LIGHT, DARK):
        for name, value in asdict(theme).items():
            for one in [value] if isinstance(value, str) else value:
                assert re.fullmatch(r"#[0-9a-f]{6}" + ("e0" if name == "panel" else ""), one), name
