"""Export formats, colours and outlines of walls from outside: by a package with entry points, or by a script."""

import os
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import EllipseCollection, LineCollection

import jostle as jo
from commands import run_commands
from jostle.errors import BrokenPlugin, InvalidValue
from jostle.viz.quantities import chosen, offered
from jostle.viz.scene import Scene

MOST_LINES = 40
PACKAGE = '''
"""Three extensions in one file: a format, a colour, and the outline of a set."""

import numpy as np

import jostle as jo
from jostle.viz import Quantity, Shape


def write_xyz(sol, path):
    """XYZ files: the number of bodies, the time, then a line for each body."""
    with open(path, "w") as file:
        for t, q in zip(sol.t, sol.q):
            here = q[np.isfinite(q).all(axis=1)]
            file.write(f"{len(here)}\\nt = {t}\\n")
            file.writelines(f"A {' '.join(map(str, x))} 0.0\\n" for x in here)


energy = Quantity("energy", lambda frame: 0.5 * frame.mass * frame.speed**2, "kinetic energy", (2, -2, 1), low=0.0)


class Ramp(jo.HalfSpace):
    """A plane that is drawn as a zigzag."""


def zigzag(ramp, t):
    return [Shape("line", [[0.0, 0.0], [1.0, 0.5], [2.0, 0.0]])]
'''
ENTRY_POINTS = """
[jostle.exports]
xyz = jostle_extras:write_xyz
[jostle.quantities]
energy = jostle_extras:energy
[jostle.outlines]
Ramp = jostle_extras:zigzag
"""


@pytest.fixture
def extras(tmp_path):
    """The folder of an installed package, jostle_extras."""
    assert len(PACKAGE.splitlines()) <= MOST_LINES
    folder = tmp_path / "site"
    (folder / "jostle_extras-1.0.dist-info").mkdir(parents=True)
    (folder / "jostle_extras.py").write_text(PACKAGE)
    (folder / "jostle_extras-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: jostle-extras\nVersion: 1.0\n"
    )
    (folder / "jostle_extras-1.0.dist-info" / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


@pytest.fixture
def two(tmp_path):
    """Two discs of mass 2 and 3, one of which moves; the path of the trajectory, too."""
    pair = jo.Motion(
        q0=[[0.0, 0.0], [2.0, 1.0]], v0=[[1.0, 0.0], [0.0, 0.0]], mass=[2.0, 3.0], within=jo.Balls([0.4] * 2)
    )
    sol = jo.solve(pair, jo.Maury(), t=0.2, h=0.1)
    return sol, jo.io.write(sol, tmp_path / "two.vtkhdf", dtype=float)


def test_a_package_adds_a_format_and_a_colour_to_the_command_line(extras, two, tmp_path):
    target, picture, page = (tmp_path / f"two.{suffix}" for suffix in ("xyz", "png", "html"))
    written, again, misspelt, plotted, shown, unknown = run_commands(
        ["export", two[1], "-o", target],
        ["export", two[1], "-o", target],
        ["export", two[1], "-o", tmp_path / "two.xzy"],
        ["plot", two[1], "--moments", 1, "--colour", "energy", "-o", picture],
        ["view", two[1], "-o", page],
        ["plot", two[1], "--colour", "energi", "-o", tmp_path / "a.png"],
        folder=extras,
    )
    assert written == (0, f"{target}\n", "")
    assert target.read_text().splitlines()[:4] == ["2", "t = 0.0", "A 0.0 0.0 0.0", "A 2.0 1.0 0.0"]
    assert len(target.read_text().splitlines()) == 12
    assert (again[0], "exists already: replace it with --overwrite" in again[2]) == (1, True)
    assert (misspelt[0], "did you mean .xyz?" in misspelt[2]) == (2, True)
    assert plotted[0] == 0
    assert picture.stat().st_size > 1000
    assert shown[0] == 0
    assert '"label": "kinetic energy"' in page.read_text()
    assert (unknown[0], "unknown colour 'energi'; did you mean 'energy'?" in unknown[2]) == (2, True)


def test_a_set_of_a_package_has_its_outline_in_pictures_and_files(extras, tmp_path):
    program = """
import jostle as jo, jostle_extras, sys
ball = jo.Motion(q0=[[1.0, 2.0]], within=jo.Balls([0.2]) & jostle_extras.Ramp([0.0, 1.0], radii=0.2))
jo.solve(ball, jo.Maury(), t=0.1, h=0.1, output=sys.argv[1])
"""
    path = {**os.environ, "PYTHONPATH": os.pathsep.join([str(extras), os.environ.get("PYTHONPATH", "")])}
    run = tmp_path / "run.vtkhdf"
    subprocess.run([sys.executable, "-c", program, str(run)], check=True, env=path)
    (shape,) = jo.io.read(run).shapes(0)  # in this process the package is not installed
    assert (shape.kind, shape.points.tolist()) == ("line", [[0.0, 0.0], [1.0, 0.5], [2.0, 0.0]])
    ax = jo.viz.draw(run)
    lines = [path.vertices.tolist() for c in ax.collections if isinstance(c, LineCollection) for path in c.get_paths()]
    plt.close("all")
    assert lines == [[[0.0, 0.0], [1.0, 0.5], [2.0, 0.0]]]


@pytest.fixture
def lists(monkeypatch):
    """The open lists, as they were before when the test ends."""
    for registry in (jo.io.EXPORTS, jo.viz.QUANTITIES, jo.viz.OUTLINES):
        monkeypatch.setattr(registry, "_items", dict(registry._items))


def test_a_script_registers_a_format(lists, two, tmp_path):
    @jo.io.EXPORTS.register("ages")
    def write_ages(sol, path):
        path.write_text(f"{len(sol.t)} times")

    assert jo.io.export(two[0], tmp_path / "two.ages").read_text() == "3 times"
    assert jo.io.export(two[1], tmp_path / "other.ages").read_text() == "3 times"


def test_a_format_that_fails_leaves_nothing_behind(lists, two, tmp_path):
    @jo.io.EXPORTS.register("bad")
    def write_half(sol, path):
        path.write_text("half")
        raise RuntimeError("the other half")

    with pytest.raises(RuntimeError, match="the other half"):
        jo.io.export(two[0], tmp_path / "two.bad")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["two.vtkhdf"]


def test_a_script_registers_a_colour(lists, two, tmp_path):
    @jo.viz.QUANTITIES.register("energy")
    def energy(frame):
        return 0.5 * frame.mass * frame.speed**2

    for shown in two:
        ax = jo.viz.draw(shown, colour="energy")
        discs = next(c for c in ax.collections if isinstance(c, EllipseCollection))
        assert np.asarray(discs.get_array()) == pytest.approx([1.0, 0.0])
        assert ax.figure.axes[1].get_ylabel() == "energy"
    plt.close("all")
    assert "energy" in [quantity.name for quantity in offered(Scene(two[0]))]
    assert '"label": "energy"' in jo.viz.page(two[0], tmp_path / "two.html").read_text()


@pytest.mark.parametrize("wrong", [lambda frame: [1.0], lambda frame: "red", lambda frame: None])
def test_a_colour_that_is_not_one_number_a_body_is_refused(lists, two, wrong):
    jo.viz.QUANTITIES.register("wrong", wrong)
    with pytest.raises(InvalidValue, match="the quantity 'wrong' must be one number for each of the 2 bodies"):
        jo.viz.draw(two[0], colour="wrong")


def test_what_is_no_function_is_refused_when_it_is_registered(lists):
    for registry in (jo.io.EXPORTS, jo.viz.QUANTITIES, jo.viz.OUTLINES):
        with pytest.raises(InvalidValue, match="must be a function"):
            registry.register("wrong", 7)


def test_a_broken_colour_is_named_with_its_package_and_harms_no_other(two, extras, monkeypatch):
    (extras / "jostle_extras.py").write_text("raise RuntimeError('no key')")
    monkeypatch.syspath_prepend(extras)
    monkeypatch.setattr(jo.viz.QUANTITIES, "_references", None)
    scene, words = Scene(two[0]), r"'energy' of package 'jostle-extras' cannot be used: RuntimeError: no key"
    with pytest.raises(BrokenPlugin, match=words):
        chosen(scene, "energy")
    with pytest.warns(jo.JostleWarning, match=f"a colour is not available: .*{words}"):
        assert [quantity.name for quantity in offered(scene)][:2] == ["speed", "force"]


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ([("circle", [[0.0, 0.0], [1.0, 0.0]])], "unknown kind 'circle'"),
        ([("line", [0.0, 1.0])], "points of shape"),
        ([("ball", [[0.0, 0.0]])], "needs .* at least 2 points"),
        ([("line", [[0.0, np.nan]])], "not finite"),
        (["line"], "must be shapes"),
    ],
)
def test_an_outline_that_is_none_is_refused(lists, shapes, words):
    class Torus(jo.HalfSpace):
        pass

    jo.viz.OUTLINES.register("Torus", lambda Q, t: shapes)
    ball = jo.Motion(q0=[[1.0, 2.0]], within=jo.Balls([0.2]) & Torus([0.0, 1.0], radii=0.2))
    with pytest.raises(InvalidValue, match=f"the outline of Torus at t = 0 .*{words}"):
        jo.viz.draw(jo.solve(ball, jo.Maury(), t=0.1, h=0.1))
    plt.close("all")


def test_a_class_that_inherits_from_a_wall_looks_like_it(lists):
    class Floor(jo.HalfSpace):
        pass

    ball = jo.Motion(q0=[[1.0, 2.0]], within=jo.Balls([0.2]) & Floor([0.0, 1.0], radii=0.2))
    assert jo.solve(ball, jo.Maury(), t=0.1, h=0.1).shapes(0)[0].kind == "plane"
