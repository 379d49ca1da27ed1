"""Tables and pictures of the page on verification: `python docs/verification_tables.py` runs all tests and saves them.

The tests take a few minutes, so the build of the page reads what this program has saved. Run it again after a change of
the model; `make test-all` compares the saved verdicts with new ones.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt

import jostle as jo
from jostle.verification import EDITIONS, verify

STATIC = Path(__file__).parent / "_static"
RESULTS, PICTURE = STATIC / "verification.json", STATIC / "verification.png"


def results(lines):
    """What is saved of each test: all but its run."""
    return [{name: value for name, value in line._asdict().items() if name != "sol"} for line in lines]


def tables():
    """The saved results as text in Markdown, a table for each guideline."""
    rows = json.loads(RESULTS.read_text())
    verdicts = [row["verdict"] for row in rows]
    total = ", ".join(f"{verdicts.count(kind)} {kind}" for kind in ("pass", "fail", "not applicable"))
    text = [f"{len(rows)} tests: {total}."]
    for name, edition in EDITIONS.items():
        text += [f"\n## {name}\n\n{edition}\n"]
        text += ["| test | definition | expected | result | verdict |", "|---|---|---|---|---|"]
        text += [
            f"| {row['number']} | {row['asks']} | {row['expected']} | {row['found']} | **{row['verdict']}** |"
            for row in rows
            if row["guideline"] == name
        ]
    return "\n".join(text)


def draw(lines):
    """One picture for each run, with the names of the tests that it belongs to."""
    named = {}
    for line in lines:
        if line.sol is not None:
            tests = named.setdefault(id(line.sol), (line.sol, []))[1]
            tests.append(f"{line.guideline} {line.number}")
    rows = -(-len(named) // 3)
    figure, axes = plt.subplots(rows, 3, figsize=(11, 2.4 * rows), layout="constrained")
    for ax in axes.flat:
        ax.set_axis_off()
    for ax, (sol, tests) in zip(axes.flat, named.values(), strict=False):
        k = len(sol.t) // 3
        jo.viz.draw(sol, k, ax=ax, contacts=False)
        ax.set_title(", ".join(tests) + f"\nafter {sol.t[k]:.1f} s", fontsize=7)
    return figure


if __name__ == "__main__":
    jo.viz.use_style()
    lines = verify()
    RESULTS.write_text(json.dumps(results(lines), indent=1, ensure_ascii=False) + "\n")
    draw(lines).savefig(PICTURE, dpi=100)
