"""Draws the layers of jostle from its imports: python docs/layers.py layers.svg

A row imports the columns that have a number: how many of its files do. All numbers lie to the right of the diagonal,
since imports go down only.
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
    """The parts of the package from the top down, as pyproject.toml orders them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return [name.strip().removeprefix("jostle.") for layer in contract for name in layer.split("|")]


def files(part):
    """The files of a part: a module or a package."""
    return [SOURCES / f"{part}.py"] if (SOURCES / f"{part}.py").exists() else sorted((SOURCES / part).rglob("*.py"))


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
    parts = layers()
    counts = {part: Counter(name for path in files(part) for name in imported(path)) for part in parts}
    figure, axes = plt.subplots(figsize=(9.0, 7.2), layout="constrained")
    for row, part in enumerate(parts):
        axes.add_patch(plt.Rectangle((row - 0.5, row - 0.5), 1, 1, color="0.85"))
        for column, name in enumerate(parts):
            if column != row and counts[part][name]:
                right = column > row
                axes.text(column, row, counts[part][name], ha="center", va="center", color="C0" if right else "C3")
    lines = {part: sum(len(path.read_text().splitlines()) for path in files(part)) for part in parts}
    words = [f"{part}  (files {len(files(part))}, lines {lines[part]})" for part in parts]
    axes.set(xlim=(-0.5, len(parts) - 0.5), ylim=(len(parts) - 0.5, -0.5), xticks=range(len(parts)))
    axes.set_yticks(range(len(parts)), words)
    axes.set_xticks(range(len(parts)), parts, rotation=90)
    axes.xaxis.tick_top()
    axes.set_xlabel("files of the row that import the column")
    axes.grid(alpha=0.2)
    return figure


if __name__ == "__main__":
    draw().savefig(sys.argv[1])
    found = sizes()
    print(f"{len(found)} files, {sum(found)} lines, median {median(found):g}, longest {max(found)}")
