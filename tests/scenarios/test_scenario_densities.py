"""Scenarios about densities: what a file says is what runs, from the command line too; what is wrong is said."""

import json

import numpy as np
import pytest

import jostle as jo
from jostle.scenarios import ScenarioError, load, parse, schema, shipped

FILE = """
[problem]
kind = "flow"
upper = [4.0, 2.0]
cell = 0.25
closed = ["left", "right", "bottom", "top"]
[[problem.blocks]]
kind = "box"
lower = [0.5, 0.5]
upper = [1.5, 1.5]
density = 0.5
velocity = [1.0, 0.0]
[[problem.blocks]]
kind = "disc"
centre = [3.0, 1.0]
radius = 0.5
towards = [0.0, 1.0]
speed = 2.0
[scheme]
kind = "splitting"
[run]
t = 1.0
h = 0.1
every = 0.2
"""


def test_a_file_says_where_the_density_is_and_how_it_moves():
    run = parse(FILE).build()
    assert run.is_density
    grid = run.problem.grid
    block, disc = grid.block([0.5, 0.5], [1.5, 1.5]), grid.disc([3.0, 1.0], 0.5)
    assert (run.problem.density == 0.5 * block + disc).all()
    u = run.problem.velocity.cells
    assert (u[block] == [1.0, 0.0]).all()
    assert np.linalg.norm(u[disc], axis=1) == pytest.approx(2.0)
    x, y = (centre[disc] for centre in grid.centres)
    assert (u[disc][:, 0] < 0.0).all()
    assert u[disc][:, 1] / u[disc][:, 0] == pytest.approx((1.0 - y) / (0.0 - x))
    assert (u[~(block | disc)] == 0.0).all()
    assert (run.scheme, run.t, run.h, run.every) == (jo.macro.Splitting(), 1.0, 0.1, 0.2)


def test_a_crowd_as_a_density_leaves_by_its_exit():
    text = """
[problem]
kind = "crowd_density"
upper = [4.0, 2.0]
cell = 0.25
closed = ["left", "right", "bottom", "top"]
towards = [4.0, 1.0]
blocks = [{ kind = "box", lower = [0.5, 0.5], upper = [1.5, 1.5], density = 0.8 }]
exits = [{ kind = "box", lower = [3.75, 0.5], upper = [4.0, 1.5] }]
[run]
t = 6.0
h = 0.1
every = 1.0
"""
    sol = parse(text).build().solve()
    assert sol.mass[0] == pytest.approx(0.8)
    assert sol.mass[-1] < 0.01
    ended = parse(text + 'until = { kind = "empty" }').build().solve()
    assert ended.status == "stopped"
    inside = ended.stats["mass"] / 0.8
    assert inside[-1] < 1e-3 < inside[-2]
    assert ended.t[-1] < sol.t[-1]


def test_the_shipped_blocks_collide_and_lose_the_energy_of_the_impact():
    scenario = load("blocks", settings=["problem.cell=0.1", "run.t=0.8", "run.every=0.4"])
    sol = scenario.build().solve()
    assert sol.energy[0] == pytest.approx(1.05)
    assert sol.energy[-1] < 0.85 * sol.energy[0]
    assert sol.mass == pytest.approx(2.0)
    assert sol.momentum[-1] == pytest.approx(sol.momentum[0], abs=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "splitting"', 'kind = "maury"', 'must be "splitting" or "barrier" or "impacts"'),
        ('kind = "splitting"', 'kind = "barrier"', "missing key 'eps' in [scheme]"),
        ('kind = "splitting"', 'kind = "splitting"\n[solver]\nkind = "gauss_seidel"', "solver: must be left out"),
        ("t = 1.0", "t = 1.0\nstrict = false", "strict = false: must be left out"),
        ("t = 1.0", 't = 1.0\nuntil = { kind = "at_rest", speed = 1.0 }', 'must be "never" or "empty"'),
        ("t = 1.0", 't = 1.0\nuntil = { kind = "empty" }', "there is no exit, so nothing can leave"),
        ("speed = 2.0", "speed = 2.0\nvelocity = [1.0, 0.0]", "must be left out where velocity is given"),
        ("towards = [0.0, 1.0]\n", "", "belongs to towards"),
        ("cell = 0.25", "cell = 0.3", "do not fill"),
        ("cell = 0.25", "cell = 1e-9", "more than 4000000 cells"),
        ("upper = [4.0, 2.0]", "upper = [-4.0, 2.0]", "must be above and to the right of lower"),
        ("centre = [3.0, 1.0]", "centre = [1.0, 1.0]", "overlaps an earlier block"),
        ("centre = [3.0, 1.0]", "centre = [9.0, 1.0]", "contains no centre of a cell"),
        *[
            (
                "[scheme]",
                f'[[problem.{name}]]\nkind = "box"\nlower = [1.9, 0.0]\nupper = [2.1, 2.0]\n[scheme]',
                f"problem.{name}.0: the block from [1.9, 0.0] to [2.1, 2.0] contains no centre of a cell",
            )
            for name in ("walls", "exits")
        ],
        ("cell = 0.25", "cell = 0.25\ne = 0.5", 'must be 0 with the scheme "splitting"; use "impacts"'),
        ("density = 0.5", "density = 1.5", "must be a number above 0, at most 1"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(old, new, message):
    assert FILE.count(old) == 1
    with pytest.raises(ScenarioError) as error:
        parse(FILE.replace(old, new), "mine.toml").build()
    assert message in str(error.value)
    assert str(error.value).startswith("mine.toml:")


def test_a_scheme_for_densities_does_not_move_bodies():
    with pytest.raises(ScenarioError, match=r'must be .*"paoli".* for a problem of kind "cradle"'):
        parse('[problem]\nkind = "cradle"\n[scheme]\nkind = "splitting"\n[run]\nt = 1.0\nh = 0.1')


def test_the_schema_and_the_list_know_densities():
    text = json.dumps(schema())
    for word in ("crowd_density", "flow", "splitting", "barrier", "impacts", "towards"):
        assert f'"{word}"' in text
    assert shipped("blocks").startswith("# Two blocks")


def test_the_command_line_runs_resumes_and_refuses(here, jostle):
    (here / "mine.toml").write_text(FILE.replace("every = 0.2\n", ""))  # a longer run then saves less often
    commands = (
        "run mine.toml --json --set run.t=0.5",
        "resume mine.vtkhdf --json --set run.t=1.0",
        "run mine.toml --json -o whole.vtkhdf",
        "run mine.toml",
        "view mine.vtkhdf -o mine.html",
        "info mine.toml --json",
        "run mine.toml --overwrite --quiet --device cuda",
        "info mine.vtkhdf --scenario",
    )
    answers = [jostle(*command.split()) for command in commands]
    assert [code for code, _, _ in answers] == [0, 0, 0, 1, 0, 0, 2, 0]
    first, resumed, whole = (json.loads(answers[k][1]) for k in (0, 1, 2))
    assert (first["t"], resumed["t"], resumed["status"]) == (0.5, 1.0, "finished")
    assert resumed["mass_at_end"] == whole["mass_at_end"]
    one, two = (jo.io.read_images(name) for name in ("mine.vtkhdf", "whole.vtkhdf"))
    assert (np.asarray(one.fields["density"])[-1] == np.asarray(two.fields["density"])[-1]).all()
    assert (one.steps == two.steps).all()
    assert (here / "mine.html").stat().st_size > 10_000
    assert json.loads(answers[5][1])["cells"] == [16, 8]
    assert "on the CPU only" in answers[6][2]
    assert "t = 1.0" in answers[7][1]


def test_frames_are_saved_200_times_unless_the_file_says_otherwise():
    assert parse(FILE.replace("every = 0.2\n", "")).build().every == 1.0 / 200
