"""Figures and tables of the page on validation, from the results of benchmarks/validation.py."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from jostle._tools.colours import BLUE, GREEN, VERMILION
from jostle.crowds import weidmann

figures = json.loads((Path(__file__).parent / "_static" / "validation.json").read_text())
trade = json.loads((Path(__file__).parent / "_static" / "validation_trade.json").read_text())
OURS, SPEED, FORCE = "Pedestrians", "JuPedSim, speed", "JuPedSim, force"
STYLE = {OURS: (BLUE, "o"), SPEED: (VERMILION, "s"), FORCE: (GREEN, "^")}
COLUMNS = " | ".join(STYLE)
UNITS = {"doors": "people/s/m", "single file": "m/s", "corridor": "m/s", "ring": "m/s", "stairs": "people/s/m"}


def rows(name):
    """The results of one experiment."""
    return [row for row in figures["rows"] if row["experiment"] == name]


def text(row, model, locked="-"):
    """A result in words, with its scatter; `locked` stands for people who do not get out."""
    if model not in row:
        return "not run"
    if model in row["stopped"]:
        return "stops"
    if row[model] is None or row[model] == 0.0:
        return locked
    spread, left = row["spread"].get(model), row["locked"].get(model)
    words = f"{row[model]:.2f}" + ("" if spread is None else f" ± {spread:.2f}")
    return words + (f" ({left} of {figures['seeds']} not)" if left else "")


def values(row, locked="-"):
    """The results of all models in words."""
    return " | ".join(text(row, model, locked) for model in STYLE)


def points(found, model):
    """The cases and results of a model that has them."""
    return [(float(row["case"]), row[model]) for row in found if row.get(model) is not None]


def figure():
    """Doors, single file and corridor beside the experiments."""
    _, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    across = ("width of the door / m", "people per metre", "density / (people/m²)")
    up = ("flow per metre / (people/s/m)", "speed / (m/s)", "speed / (m/s)")
    for ax, name, x, y in zip(axes, ("doors", "single file", "corridor"), across, up, strict=True):
        case, wanted = np.array([(row["case"], row["expected"]) for row in rows(name)], dtype=float).T
        if name == "doors":
            near = figures["near"]
            ax.fill_between(case, wanted - near, wanted + near, color="0.9", label=f"within {near:g}")
        ax.plot(case, wanted, "k--", label="experiments")
        for model, (colour, marker) in STYLE.items():
            if found := points(rows(name), model):
                spread = [row["spread"].get(model, 0.0) for row in rows(name) if row.get(model) is not None]
                ax.errorbar(*zip(*found, strict=True), spread, color=colour, marker=marker, capsize=3, label=model)
        ax.set(xlabel=x, ylabel=y, ylim=(0, None), title=name)
    axes[0].legend(fontsize=8, loc="lower right")
    axes[2].legend(fontsize=8)


def diagrams():
    """Speed against density: Weidmann, the closed ring and the open corridor, with two of the models."""
    drawn, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
    density = np.linspace(0.3, 4.2, 100)
    for ax, model in zip(axes, (OURS, SPEED), strict=True):
        ax.plot(density, weidmann(density), "k--", label="Weidmann 1993")
        for name, marker in (("ring", "o"), ("open corridor", "s"), ("bidirectional", "^")):
            ax.plot(*np.array(figures["curves"][name]).T, marker, color="0.6", label=f"experiment, {name}")
        for name, line, label in (("corridor", ":", "3 m, same density"), ("ring", "o-", "1.8 m, same density")):
            if found := points(rows(name), model):
                ax.plot(*zip(*found, strict=True), line, color=BLUE, label=label)
        for name, marker, colour in (("open corridor", "s", VERMILION), ("bidirectional", "^", GREEN)):
            pairs = [
                (by["density"][model], by["speed"][model])
                for by in by_case(name).values()
                if by["density"].get(model) and by["speed"].get(model)
            ]
            if pairs:
                ax.plot(*zip(*sorted(pairs), strict=True), marker + "-", color=colour, label=name)
        ax.set(xlabel="density / (people/m²)", ylabel="speed / (m/s)", title=model, xlim=(0, 4.2), ylim=(0, 1.6))
    drawn.legend(*axes[0].get_legend_handles_labels(), fontsize=8, loc="outside right center")


def by_case(name):
    """The rows of each case of an experiment, by quantity."""
    found = {}
    for row in rows(name):
        found.setdefault(row["case"], {})[row["quantity"]] = row
    return found


def bands():
    """What one set of parameters should reach, and what the models reach."""
    found = [f"| | unit | experiments | {COLUMNS} |", "|---" * 6 + "|"]
    for line in figures["bands"]:
        each = []
        for model in STYLE:
            value, spread = line.get(model), line["spread"] if model == OURS else None
            inside = value is not None and line["low"] <= value <= line["high"]
            number = "-" if value is None else f"{value:.{3 if line['high'] < 0.1 else 2}f}"
            words = f"**{number}**" if inside else number
            each.append(words + ("" if spread is None else f" ± {spread:.2f}"))
        found.append(f"| {line['what']} | {line['unit']} | {line['low']:g} to {line['high']:g} | {' | '.join(each)} |")
    return "\n".join(found)


def choice():
    """The candidates for the parameters, and what each reaches."""
    names = list(trade["bands"])
    found = ["| parameters | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    wanted = [f"{low:g} to {high:g}" for low, high in trade["bands"].values()]
    found.append("| experiments | " + " | ".join(wanted) + " |")
    for one in trade["candidates"]:
        each = []
        for name, (low, high) in trade["bands"].items():
            value = one["figures"][name]
            words = f"{value:.3f}" if high < 0.1 else f"{value:.2f}"
            words = f"**{words}**" if low <= value <= high else words
            each.append(words + (f" ± {one['spread'][name]:.2f}" if one["spread"][name] else ""))
        found.append(f"| {one['parameters']} | {' | '.join(each)} |")
    return "\n".join(found)


def doors():
    """The table of doors."""
    found = [f"| width / m | experiments | {COLUMNS} | error of Pedestrians | within 0.3 |", "|---" * 7 + "|"]
    for row in rows("doors"):
        error = row[OURS] - row["expected"]
        near = "yes" if abs(error) <= figures["near"] else "**no**"
        found.append(f"| {row['case']:g} | {row['expected']:.2f} | {values(row)} | {error:+.2f} | {near} |")
    return "\n".join(found)


def speeds(name, label):
    """The table of an experiment with one number for each case."""
    found = [f"| {label} | experiments | {COLUMNS} |", "|---" * 5 + "|"]
    found += [f"| {row['case']:g} | {row['expected']:.2f} | {values(row)} |" for row in rows(name)]
    return "\n".join(found)


def pairs(name, label):
    """The table of an experiment that is compared at the density that arises: density, speed, flow of each model."""
    found = [f"| {label} | experiments, speed at the density of Pedestrians | {COLUMNS} |", "|---" * 5 + "|"]
    for case, by in by_case(name).items():
        each = [
            ", ".join(text(by[quantity], model) for quantity in ("density", "speed", "flow"))
            if by["density"].get(model)
            else text(by["density"], model, "do not get through")
            for model in STYLE
        ]
        wanted = by["speed"]["expected"]
        found.append(f"| {case} | {'-' if wanted is None else f'{wanted:.2f}'} | {' | '.join(each)} |")
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


def quantities(name):
    """The table of an experiment with several quantities."""
    found = [f"| | unit | experiment | {COLUMNS} |", "|---" * 6 + "|"]
    found += [f"| {row['quantity']} | {row['unit']} | {row['expected']:.2f} | {values(row)} |" for row in rows(name)]
    return "\n".join(found)


def errors():
    """The table of mean errors."""
    found = [f"| mean distance to the experiments | {COLUMNS} |", "|---" * 4 + "|"]
    for name, error in figures["errors"].items():
        each = " | ".join("-" if error.get(model) is None else f"{error[model]:.2f}" for model in STYLE)
        found.append(f"| {name}, {UNITS[name]} | {each} |")
    return "\n".join(found)
