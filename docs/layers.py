"""Draws the layers of jostle from its imports: python docs/layers.py layers.svg

A row imports the columns that have a number: how many of its files do. All numbers lie to the right of the diagonal,
since imports go down only. Modules between two packages share a row.
"""

import ast
import sys
import tomllib
from collections import Counter
from pathlib import Path
from statistics import median

import matplotlib.pyplot as plt

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / "jostle"


def layers():
    """The rows of the picture from the top down, in the order of pyproject.toml.

    A package has a row of its own. The modules between two packages share one.
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    rows, modules = [], []
    for layer in settings["tool"]["importlinter"]["contracts"][0]["layers"]:
        parts = [name.strip().removeprefix("jostle.") for name in layer.split("|")]
        packages = [part for part in parts if (SOURCES / part).is_dir()]
        if packages and modules:
            rows.append(modules)
            modules = []
        rows += [[part] for part in packages]
        modules = modules + [part for part in parts if part not in packages]
    return [*rows, modules]


def files(parts):
    """The files of some parts, which are modules or packages."""
    return [
        path for part in parts for path in [SOURCES / f"{part}.py", *(SOURCES / part).rglob("*.py")] if path.exists()
    ]


def imported(path):
    """The parts that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("jostle.")}


def sizes():
    """The number of lines of each file."""
    return [len(path.read_text().splitlines()) for path in sorted(SOURCES.rglob("*.py"))]


def draw():
    """The picture."""
    rows = layers()
    of = {part: row for row, parts in enumerate(rows) for part in parts}
    size = len(rows)
    figure, axes = plt.subplots(figsize=(9.0, 6.6), layout="constrained")
    words = []
    for row, parts in enumerate(rows):
        axes.add_patch(plt.Rectangle((row - 0.5, row - 0.5), 1, 1, color="0.85"))
        counts = Counter(
            column for path in files(parts) for column in {of[name] for name in imported(path) & of.keys()}
        )
        for column in counts.keys() - {row}:
            axes.text(
                column, row, counts[column], ha="center", va="center", color="C0" if column > row else "C3", fontsize=9
            )
        lines = sum(len(path.read_text().splitlines()) for path in files(parts))
        name = parts[0] if len(parts) == 1 else f"{parts[0]}, {parts[1]} and {len(parts) - 2} more"
        words.append((name, f"{name}  ({len(files(parts))} files, {lines} lines)"))
    axes.set(xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5))
    axes.set_yticks(range(size), [long for _, long in words])
    axes.set_xticks(range(size), [short.split(",")[0] + " …" * ("," in short) for short, _ in words], rotation=90)
    axes.xaxis.tick_top()
    axes.set_xlabel("files of the row that import the column")
    axes.grid(alpha=0.2)
    return figure


if __name__ == "__main__":
    draw().savefig(sys.argv[1])
    found = sizes()
    print(f"{len(found)} files, {sum(found)} lines, median {median(found):g}, longest {max(found)}")
