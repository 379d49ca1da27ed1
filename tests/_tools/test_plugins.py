"""Open lists: what packages and scripts add, and what is wrong with a plug-in."""

import re
import sys
from pathlib import Path

import pytest

import jostle as jo
from jostle._tools.plugins import Registry
from jostle._tools.suggestions import nearest
from jostle.errors import BrokenPlugin


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs a package of one module for this test: its name, its source, and its entry points."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(package: str, source: str, entry_points: str) -> Path:
        (tmp_path / f"{package}.py").write_text(source)
        folder = tmp_path / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(entry_points)
        return tmp_path

    return install


def test_a_package_adds_to_a_list_by_an_entry_point(installed):
    installed("plugin_of_stars", "class Star: ...", "[jostle.shapes]\nstar = plugin_of_stars:Star\n")
    shapes = Registry("jostle.shapes", "shape", {"fraction": "fractions:Fraction"})
    assert shapes.names() == ["fraction", "star"]
    assert shapes.added() == ["star"]
    assert shapes.get("star").__name__ == "Star"
    assert [item.__name__ for _, item in shapes.items()] == ["Fraction", "Star"]


def test_names_are_known_before_anything_is_imported(installed):
    installed("plugin_that_raises", "raise RuntimeError('no key')", "[jostle.shapes]\nstar = plugin_that_raises:A\n")
    shapes = Registry("jostle.shapes", "shape", {"fraction": "fractions:Fraction"})
    assert shapes.names() == ["fraction", "star"]
    assert shapes.get("fraction").__name__ == "Fraction", "a broken plug-in does not harm the others"
    assert "star" in shapes
    with pytest.raises(BrokenPlugin, match=r"shape 'star' of package 'plugin_that_raises' .*: RuntimeError: no key"):
        shapes.get("star")


def test_a_plugin_that_is_not_what_it_says_names_its_package(installed):
    installed("plugin_of_nothing", "", "[jostle.shapes]\nstar = plugin_of_nothing:Star\n")
    with pytest.raises(BrokenPlugin, match=r"package 'plugin_of_nothing' .*AttributeError"):
        Registry("jostle.shapes", "shape").get("star")


def test_two_definitions_of_one_name_are_refused(installed):
    installed("plugin_one", "class Star: ...", "[jostle.shapes]\nstar = plugin_one:Star\n")
    with pytest.raises(BrokenPlugin, match=r"'star' is defined twice, by jostle and by package 'plugin_one'"):
        Registry("jostle.shapes", "shape", {"star": "fractions:Fraction"}).names()
    shapes = Registry("jostle.shapes", "shape")
    with pytest.raises(jo.InvalidValue, match="the shape 'star' is already defined by package 'plugin_one'"):
        shapes.register("star", object())


def test_a_script_registers_by_a_call_or_a_decorator_and_may_do_so_again():
    shapes = Registry("jostle.shapes", "shape")
    assert shapes.register("star", 1) == 1
    assert shapes.register("star", 2) == 2, "a cell of a notebook that is run again"
    assert shapes.get("star") == 2
    with pytest.raises(jo.InvalidValue, match=r"unknown shape 'circle'; known: star$"):
        shapes.get("circle")


def test_items_are_checked_when_they_are_added(installed):
    def check(name, item):
        if not isinstance(item, type):
            raise jo.InvalidValue(f"the shape {name!r} must be a class, not {item!r}")

    installed("plugin_of_numbers", "star = 3", "[jostle.shapes]\nstar = plugin_of_numbers:star\n")
    shapes = Registry("jostle.shapes", "shape", check=check)
    with pytest.raises(jo.InvalidValue, match="the shape 'disc' must be a class, not 1"):
        shapes.register("disc", 1)
    with pytest.raises(BrokenPlugin, match=r"package 'plugin_of_numbers' .* must be a class, not 3"):
        shapes.get("star")


def test_only_a_similar_name_is_suggested():
    assert nearest("gravty", ["gravity", "e"]) == "gravity"
    assert nearest("colour", ["gravity", "e"]) == ""


def test_the_doctor_names_the_broken_plugins_of_every_list(installed, monkeypatch):
    from jostle.cli import machine

    sources = Path(jo.__file__).parent.rglob("*.py")
    groups = {name for file in sources for name in re.findall(r'Registry\(\s*"(jostle\.\w+)"', file.read_text())}
    groups -= {"jostle.shapes"}  # the example in the docstring of the class
    assert len(groups) > 5
    names = "".join(f"[{group}]\nmine = a_broken_plugin:Mine\n" for group in sorted(groups))
    machine._plugins()  # imports the lists, and lets them find what is installed apart from this test
    installed("a_broken_plugin", "raise RuntimeError('no key')", names)
    known = {each for module in list(sys.modules.values()) for each in vars(module).values() if type(each) is Registry}
    for each in known:
        monkeypatch.setattr(each, "_references", None)
    broken = [each for each in machine._plugins() if "a_broken_plugin" in each]
    assert len(broken) == len(groups)
    assert all(each.startswith(machine.BROKEN) for each in broken)
