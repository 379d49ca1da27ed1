"""Imports between the files of the package never lead back to where they began.

Files of one folder may know each other's types: imports for type checkers do not count between them.
"""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import jostle

SOURCE = Path(jostle.__file__).parent


def files(source: Path) -> dict[str, Path]:
    """The modules and packages under a folder, by their full names."""
    paths = {(source.name, *path.relative_to(source).with_suffix("").parts): path for path in source.rglob("*.py")}
    return {".".join(parts).removesuffix(".__init__"): path for parts, path in paths.items()}


def named(tree: ast.AST, package: str) -> set[str]:
    """All names that a file in a package imports: at the top, in functions, for type checkers, relative, by a text."""
    found = set()
    for node in ast.walk(tree):
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
        tree = ast.parse(path.read_text(encoding="utf-8"))
        types = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
        tree.body = [node for node in tree.body if node not in types]
        of_types = {_file(name, modules) for name in named(ast.Module(types, []), package)}
        beside = {name for name in of_types if name.rpartition(".")[0] == package}
        found = {_file(name, modules) for name in named(tree, package)}
        graph[module] = (found | (of_types - beside)) & modules.keys()
    return graph


def _file(name: str, modules: dict[str, Path]) -> str:
    return name if name in modules else name.rpartition(".")[0]


@cache
def imports_of_jostle() -> dict[str, set[str]]:
    return imports(SOURCE)


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
    of_devices = {name for name in graph if name.startswith(("jostle.kernels.cpu", "jostle.kernels.cuda"))}
    outside = {(name, one) for name in graph.keys() - of_devices for one in graph[name] & of_devices}
    assert outside == {
        ("jostle.kernels.interface", "jostle.kernels.cpu"),
        ("jostle.kernels.functions", "jostle.kernels.cpu.signatures"),  # types only
        ("jostle.kernels.sharing", "jostle.kernels.cpu.crew"),  # threads, no loop
        ("jostle.cli.machine", "jostle.kernels.cpu.warm_up"),
    }
    served = reached(graph, "jostle.kernels.cpu") | reached(graph, "jostle.kernels.cuda")
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
