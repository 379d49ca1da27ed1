"""The figures of the README are those of the pages with the measurements, which have the command, machine and date."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def rows(text, heading):
    """The rows of the first table below a heading, as lists of cells."""
    below = text.split(f" {heading}\n", 1)[1]
    table = re.search(r"^\|.*?\n\n", below, re.S | re.M)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.replace("\xa0", " ").splitlines()]


def rounded(text):
    """A measured number, as the README has it: two digits at most."""
    return f"{float(f'{float(text):.2g}'):g}"


def percent(text):
    return f"{float(f'{100 * float(text):.2g}'):g} %"


SPEED = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
MACHINES = (ROOT / "docs" / "machines.md").read_text(encoding="utf-8")


def discs():
    found = {row[0]: row[3:] for row in rows(SPEED, "Compared with game physics")}  # settled: CPU ms per step, overlap
    ours, pymunk, box2d = (next(row for name, row in found.items() if start in name) for start in ("1e-3", "py", "Box"))
    yield f"{percent(ours[1])} of the radius, {rounded(ours[0])} ms"
    yield f"pymunk: {percent(pymunk[1])}, {rounded(pymunk[0])} ms"
    yield f"native code: {percent(box2d[1])}, {rounded(box2d[0])} ms"


def crowd():
    table = rows(SPEED, "Crowds")
    first = next(k for k, row in enumerate(table) if row[0] == "768")
    walls, seconds = ({row[1]: row[column] for row in table[first : first + 3]} for column in (5, 3))
    yield f"{abs(float(walls['jostle'])):g} mm, {seconds['jostle']} s"
    yield f"cromosim: {abs(float(walls['cromosim'])):.0f} mm, {seconds['cromosim']} s"
    yield f"JuPedSim: {abs(float(walls['JuPedSim'])):.0f} mm, {seconds['JuPedSim']} s"


def chain():
    ours, soft, stiff = rows(MACHINES, "Solvers with equalities")[2:5]
    yield f"{percent(ours[4])}, {ours[3]} ms"
    yield f"MuJoCo: {percent(soft[4])} by default, {percent(stiff[4])} with its stiffest setting, {stiff[3]} ms"
    assert soft[3] == stiff[3]


def friction():
    text = (ROOT / "docs" / "friction.md").read_text(encoding="utf-8")
    table = {row[0]: row for row in rows(" box\n" + text.split("--only box", 1)[1], "box")}
    ours, pymunk, box2d = (next(row for name, row in table.items() if name.startswith(start)) for start in NAMES)
    yield f"{percent(ours[4])} of the radius, {ours[2]} s"
    yield f"pymunk: {percent(pymunk[4])}, {pymunk[2]} s"
    yield f"{percent(box2d[4])}, {box2d[2]} s"


NAMES = ("jostle, 1e-3", "pymunk, 10", "Box2D")


def projection():
    names, *table = rows(SPEED, "Solvers compared at the same residual")
    of = dict(zip(names, next(row for row in table if row[:2] == ["spheres", "10 000"]), strict=True))
    yield f"| {of['jostle']} s |"
    yield f"Clarabel: {of['clarabel']} s"
    assert of["piqp"] == "–"  # not within 60 s


@pytest.mark.parametrize(
    ("task", "figures"),
    [
        ("10 000 settled discs", discs),
        ("768 people", crowd),
        ("chain of 1000", chain),
        ("one projection", projection),
        ("1000 discs with friction", friction),
    ],
)
def test_the_readme_has_the_figures_of_the_pages(task, figures):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    row = next(line for line in readme.splitlines() if line.startswith(f"| {task}"))
    assert [figure for figure in figures() if figure not in row] == []
