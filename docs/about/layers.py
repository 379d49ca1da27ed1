"""Draws the house from its imports, a floor for each package: python docs/about/layers.py house.svg

A floor says what the package is for and how long it is. The dots on its right are the packages that it imports, the
larger the more of its files do. All dots lie on one side of the diagonal, since imports go down only.
"""

import ast
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt

ROOT = Path(__file__).parent.parent.parent
SOURCES = ROOT / "src" / "jostle"
IMPORT = re.compile(r"^ *(?:from|import) jostle(?:\.| import )(\w+)", re.MULTILINE)
"""A line that imports a part of jostle, at the top of a file or in a function."""


def floors():
    """The packages and the modules beside them from the top down, in the order of pyproject.toml."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    rows = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return [part.strip() for row in rows for part in row.split("|")]


def files(floor):
    """The files of a floor, which is a module or a package."""
    return [path for path in [SOURCES / f"{floor}.py", *sorted((SOURCES / floor).rglob("*.py"))] if path.exists()]


def imported(path):
    """The floors that a file imports."""
    return set(IMPORT.findall(path.read_text()))


def purpose(floor):
    """What a floor is for: the first words of its docstring."""
    words = ast.get_docstring(ast.parse(files(floor)[0].read_text())).splitlines()[0]
    for end in (": ", "; ", ". ", " (", ", checked"):
        words = words.partition(end)[0]
    return words.rstrip(".").replace("`", "")


def length(paths):
    """Number of lines of some files."""
    return sum(len(path.read_text().splitlines()) for path in paths)


def draw():
    """The picture."""
    rows = floors()
    figure, (house, arrows) = plt.subplots(
        1, 2, figsize=(12.0, 7.0), width_ratios=(2, 1), sharey=True, layout="constrained"
    )
    dots = []
    longest = max(length(files(floor)) for floor in rows)
    for row, floor in enumerate(rows):
        paths = files(floor)
        house.barh(row, length(paths) / longest, color="C0", alpha=0.25, height=0.8)
        name = floor.replace("_", r"\_")
        house.text(0.01, row, f"$\\bf{{{name}}}$  {purpose(floor)}", va="center", fontsize=9)
        size = f"{len(paths)} file{'s'[: len(paths) - 1]}, {length(paths)} lines"
        house.text(1.32, row, size, va="center", ha="right", fontsize=8)
        counts = Counter(name for path in paths for name in imported(path) if name in rows and name != floor)
        dots += [(rows.index(name), row, 8 + 60 * count / len(paths)) for name, count in counts.items()]
    columns, heights, sizes = zip(*dots, strict=True)
    arrows.scatter(columns, heights, s=sizes, color=["C0" if x > y else "C3" for x, y, _ in dots])
    house.set(xlim=(0, 1.33), ylim=(len(rows) - 0.5, -0.5), xticks=[], yticks=[])
    house.set_title("packages, with bars as long as their code", fontsize=10)
    house.spines[:].set_visible(False)
    arrows.set_xticks(range(len(rows)), rows, rotation=90, fontsize=8)
    arrows.xaxis.tick_top()
    arrows.set_xlabel("the row imports the column", fontsize=9)
    arrows.grid(alpha=0.2)
    return figure


if __name__ == "__main__":
    draw().savefig(sys.argv[1])
    paths = sorted(SOURCES.rglob("*.py"))
    print(f"{len(paths)} files, {length(paths)} lines")
