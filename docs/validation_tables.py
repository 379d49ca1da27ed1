"""Figure and tables of the page on validation, from the results of benchmarks/validation.py."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from jostle._tools.colours import BLUE, GREEN, VERMILION

figures = json.loads((Path(__file__).parent / "_static" / "validation.json").read_text())
OURS, SPEED, FORCE = "Pedestrians", "JuPedSim, speed", "JuPedSim, force"
STYLE = {OURS: (BLUE, "o"), SPEED: (VERMILION, "s"), FORCE: (GREEN, "^")}
COLUMNS = " | ".join(STYLE)
UNITS = {"doors": "people/s/m", "single file": "m/s", "corridor": "m/s", "stairs": "people/s/m"}


def rows(name):
    """The results of one experiment."""
    return [row for row in figures["rows"] if row["experiment"] == name]


def text(row, model, locked="-"):
    """A result in words; `locked` stands for people who do not get out."""
    if model not in row:
        return "not run"
    if model in row["stopped"]:
        return "stops"
    return locked if row[model] is None else f"{row[model]:.2f}"


def values(row, locked="-"):
    """The results of all models in words."""
    return " | ".join(text(row, model, locked) for model in STYLE)


def figure():
    """Doors, single file and corridor beside the experiments."""
    _, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    across = ("width of the door / m", "distance in the file / m", "density / (people/m²)")
    up = ("flow per metre / (people/s/m)", "speed / (m/s)", "speed / (m/s)")
    for ax, name, x, y in zip(axes, ("doors", "single file", "corridor"), across, up, strict=True):
        case, wanted = np.array([(row["case"], row["expected"]) for row in rows(name)], dtype=float).T
        if name == "doors":
            near = figures["near"]
            ax.fill_between(case, wanted - near, wanted + near, color="0.9", label=f"within {near:g}")
        ax.plot(case, wanted, "k--", label="experiments")
        for model, (colour, marker) in STYLE.items():
            points = [(float(row["case"]), row[model]) for row in rows(name) if row.get(model) is not None]
            if points:
                ax.plot(*zip(*points, strict=True), color=colour, marker=marker, label=model)
        ax.set(xlabel=x, ylabel=y, ylim=(0, None), title=name)
    axes[0].legend(fontsize=8, loc="lower right")
    axes[2].legend(fontsize=8)


def doors():
    """The table of doors."""
    found = [f"| width / m | experiments | {COLUMNS} | error of Pedestrians | within 0.3 |", "|---" * 7 + "|"]
    for row in rows("doors"):
        error = row[OURS] - row["expected"]
        near = "yes" if abs(error) <= figures["near"] else "**no**"
        found.append(f"| {row['case']:g} | {row['expected']:.2f} | {values(row)} | {error:+.2f} | {near} |")
    return "\n".join(found)


def speeds(name, label):
    """The table of single file or corridor."""
    found = [f"| {label} | experiments | {COLUMNS} |", "|---" * 5 + "|"]
    found += [f"| {row['case']:g} | {row['expected']:.2f} | {values(row)} |" for row in rows(name)]
    return "\n".join(found)


def others():
    """The table of corners, stairs and counterflow."""
    found = [f"| | unit | experiments | {COLUMNS} |", "|---" * 6 + "|"]
    found += [f"| corner, {row['case']:g} m | people/s/m | | {values(row)} |" for row in rows("corners")]
    for row in rows("stairs"):
        own = text(row, OURS)
        found.append(f"| stairs {row['case']} | people/s/m | {row['expected']:.2f} | {own} | no stairs | no stairs |")
    for row in rows("counterflow"):
        case = f"counterflow, {row['case']} against {row['case']}"
        found.append(f"| {case} | empty after, s | | {values(row, 'not in 180 s')} |")
    return "\n".join(found)


def junction():
    """The table of the T-junction."""
    found = [f"| | unit | {COLUMNS} |", "|---" * 5 + "|"]
    found += [f"| {row['case']} | {row['unit']} | {values(row)} |" for row in rows("T-junction")]
    return "\n".join(found)


def errors():
    """The table of mean errors."""
    found = [f"| mean distance to the experiments | {COLUMNS} |", "|---" * 4 + "|"]
    for name, error in figures["errors"].items():
        each = " | ".join("-" if error.get(model) is None else f"{error[model]:.2f}" for model in STYLE)
        found.append(f"| {name}, {UNITS[name]} | {each} |")
    return "\n".join(found)
