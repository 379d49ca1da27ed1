"""Imports between the files of the package never lead back to where they began.

All imports count: at the top of a file, for type checkers alone, and those of a function when it is called.
"""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import jostle
from jostle.kernels.interface import COMPILED

SOURCE = Path(jostle.__file__).parent


def files(source: Path) -> dict[str, Path]:
    """The modules and packages under a folder, by their full names."""
    paths = {(source.name, *path.relative_to(source).with_suffix("").parts): path for path in source.rglob("*.py")}
    return {".".join(parts).removesuffix(".__init__"): path for parts, path in paths.items()}


parsed = cache(ast.parse)


def nodes(tree: ast.AST, kinds: tuple[type, ...]) -> Iterator[ast.AST]:
    """A tree and all nodes of some kinds in it."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [one for one in ast.iter_child_nodes(node) if isinstance(one, kinds)]


def named(text: str, package: str) -> set[str]:
    """All names that a file in a package imports: at the top, in functions, for type checkers, relative, by a text."""
    found = set()
    kinds = (ast.AST,) if "import_module" in text else (ast.stmt, ast.excepthandler, ast.match_case)
    for node in nodes(parsed(text), kinds):
        match node:
            case ast.Import(names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module, names, level):
                above = package.split(".")[: package.count(".") + 2 - level] if level else []
                start = ".".join([*above, *([module] if module else [])])
                found |= {f"{start}.{alias.name}" for alias in names}
            case ast.Call(
                ast.Name("import_module") | ast.Attribute(attr="import_module"), [ast.Constant(str(name)), *_]
            ):
                found.add(name)
    return found


def imports(source: Path) -> dict[str, set[str]]:
    """Which file imports which. ``from package import name`` means the file of that name, or else the package's own."""
    modules = files(source)
    graph = {}
    for module, path in modules.items():
        package = module if path.stem == "__init__" else module.rpartition(".")[0]
        found = named(path.read_text(encoding="utf-8"), package)
        graph[module] = {one if one in modules else one.rpartition(".")[0] for one in found} & modules.keys()
    return graph


@cache
def imports_of_jostle() -> dict[str, set[str]]:
    graph = imports(SOURCE)
    parsed.cache_clear()  # the trees are large
    return graph


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Some files that import each other in a circle, if there are any."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_imports_between_files_have_no_circle():
    found = circle(imports_of_jostle())
    assert not found, f"{' imports '.join(reversed(found))}; move what they share into a file below both"


def reached(graph: dict[str, set[str]], start: str) -> set[str]:
    """The files that a file imports, and those that these import, and so on."""
    found, new = set(), {start}
    while new:
        found |= new
        new = set().union(*(graph[name] for name in new)) - found
    return found


def test_kernels_are_reached_through_their_interface_alone():
    """A loop that somebody imported from its own file could do without a definition and a comparison with it."""
    graph = imports_of_jostle()
    packages = *COMPILED, "jostle.kernels.cuda"
    of_devices = {name for name in graph if name.startswith(packages)}
    outside = {(name, one) for name in graph.keys() - of_devices for one in graph[name] & of_devices}
    assert outside == {
        ("jostle.cli.machine", "jostle.kernels.cpu.warm_up"),
        ("jostle.vibro.copies", "jostle.kernels.cpu.copies"),  # defined by the schemes
        ("jostle.vibro.copies", "jostle.kernels.cpu.flights"),  # defined by `solve_by_events`
        ("jostle.kernels.functions", "jostle.kernels.cpu.flights"),  # the rows of its arrays: the same steps
    }
    served = set().union(*(reached(graph, package) for package in packages))
    assert of_devices - served == {"jostle.kernels.cpu.warm_up"}, "files that serve no kernel of the interface"


@pytest.mark.parametrize(
    "text",
    [
        "import box.up.b",
        "from box.up import b",
        "from box.up.b import something",
        "from .up import b",
        "from .up.b import something",
        "def later():\n    from box.up.b import something",
        "if TYPE_CHECKING:\n    from box.up.b import something",
        "import importlib\nb = importlib.import_module('box.up.b')",
    ],
)
def test_a_circle_is_seen_however_it_is_written(tmp_path, text):
    up = tmp_path / "box" / "up"
    up.mkdir(parents=True)
    for empty in (up.parent, up):
        (empty / "__init__.py").touch()
    (up / "b.py").write_text("from .. import a\n", encoding="utf-8")
    (up.parent / "a.py").write_text("", encoding="utf-8")
    assert not circle(imports(up.parent))
    (up.parent / "a.py").write_text(text, encoding="utf-8")
    assert set(circle(imports(up.parent))) == {"box.a", "box.up.b"}


def test_a_package_that_its_own_file_imports_closes_a_circle(tmp_path):
    box = tmp_path / "box"
    box.mkdir()
    (box / "__init__.py").write_text("from box.a import name", encoding="utf-8")
    (box / "a.py").write_text("from box import other", encoding="utf-8")
    assert set(circle(imports(box))) == {"box", "box.a"}
