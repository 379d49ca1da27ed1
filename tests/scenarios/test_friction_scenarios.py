"""Scenarios with friction: the law, spins, clumps, and walls that drag."""

import json

import numpy as np
import pytest

import jostle as jo
from jostle.laws import ConvexFriction
from jostle.models.movements import Movement, Shaken, Turning
from jostle.scenarios import ScenarioError, load, parse

DISC = """
[problem]
kind = "grains"
dimension = 2
radii = 0.5
density = 1.0
gravity = 10.0
law = { kind = "coulomb", mu = 0.5 }
start = { kind = "points", points = [[0.0, 0.5]] }
walls = [{ kind = "plane", normal = [0.0, 1.0] }]
[run]
t = 1.0
h = 0.01
"""
FLOOR = "normal = [0.0, 1.0]"
START = "points = [[0.0, 0.5]]"
BALL = "{ arms = [[0.0, 0.0]], radii = 0.2 }"


def built(text, *settings):
    return parse(text, settings=settings).build()


def with_key(text, line):
    """The text with a further line in [problem]."""
    return text.replace("dimension = 2", f"dimension = 2\n{line}")


def test_a_disc_that_is_thrown_rolls_with_two_thirds_of_its_speed():
    sol = built(with_key(DISC, "velocity = [3.0, 0.0]")).solve()
    assert sol.u[-1, 0] == pytest.approx([2.0, 0.0], abs=1e-6)
    assert sol.spin[-1] == pytest.approx([-4.0], abs=1e-5)


def test_a_spin_at_the_start_makes_it_roll():
    sol = built(with_key(DISC, "spin = -6.0")).solve()
    assert sol.u[-1, 0, 0] == pytest.approx(1.0, abs=1e-5)  # a third of radius times spin


def test_inertia_may_be_given():
    run = built(with_key(DISC, "inertia = 0.5"))
    assert run.problem.bodies.inertia.tolist() == [[0.5]]
    assert built(DISC).problem.bodies.inertia[0].tolist() == pytest.approx([0.5 * np.pi * 0.25 * 0.25])


def test_the_law_is_that_of_the_file():
    law = built(DISC.replace("mu = 0.5", "mu = 0.3, e = 0.25, rolling = 0.01")).problem.law
    assert type(law) is jo.Coulomb
    assert (law.mu, law.e.e, law.rolling) == (0.3, 0.25, 0.01)
    assert type(built(DISC.replace("coulomb", "convex_friction")).problem.law) is ConvexFriction


@pytest.mark.parametrize(("e", "scheme"), [(0.0, jo.Maury), (0.5, jo.MoreauJean)])
def test_the_scheme_is_one_that_can(e, scheme):
    assert isinstance(built(DISC.replace("mu = 0.5", f"mu = 0.5, e = {e}")).scheme, scheme)


def test_walls_have_coefficients_of_their_own():
    box = 'kind = "box", lower = [-1.0, -inf], upper = [1.0, inf]'
    text = DISC.replace(f'[{{ kind = "plane", {FLOOR} }}]', f'[{{ {box} }}, {{ kind = "plane", {FLOOR}, @ }}]')
    law = built(text.replace("@", "mu = 0.1, rolling = 0.2, e = 0.5").replace(START, f"{START[:-1]}, [2.0, 5.0]]")
                .replace("-1.0, -inf], upper = [1.0", "-9.0, -inf], upper = [9.0")).problem.law  # fmt: skip
    assert law.mu == {"wall 0": 0.5, "wall 1": 0.5, "wall 2": 0.1}
    assert law.rolling == {("grains", "grains"): 0.0, "wall 0": 0.0, "wall 1": 0.0, "wall 2": 0.2}
    assert law.default == 0.5
    assert law.e.e == {"wall 0": 0.0, "wall 1": 0.0, "wall 2": 0.5}


def test_a_belt_drags_a_disc_along():
    sol = built(DISC.replace(FLOOR, f"{FLOOR}, surface_velocity = [1.0, 0.0]")).solve()
    assert sol.u[-1, 0, 0] == pytest.approx(1.0 / 3.0, abs=1e-5)  # the surface of the disc has the speed of the belt
    assert 0.5 * sol.spin[-1, 0] + sol.u[-1, 0, 0] == pytest.approx(1.0, abs=1e-5)


def test_a_floor_that_is_shaken_along_itself_drags_as_well():
    shaken = "shaken = { amplitude = 0.1, frequency = 0.5, direction = [1.0, 0.0] }"
    moves = Movement(2, shaken=Shaken(0.1, 0.5, direction=[1.0, 0.0]))
    sol = built(DISC.replace(FLOOR, f"{FLOOR}, {shaken}"), "run.t=0.5").solve()
    speed = moves.velocity(0.49, np.zeros((1, 2)))[0, 0]
    assert sol.u[-1, 0, 0] + 0.5 * sol.spin[-1, 0] == pytest.approx(speed, abs=0.01)
    assert np.abs(sol.u[:, 0, 0]).max() > 0.05


@pytest.mark.parametrize(
    "moves",
    [
        Movement(2, shaken=Shaken(0.3, 1.5, direction=[1.0, 2.0], phase=0.1), turning=Turning(0.4, [0.5, -0.25])),
        Movement(3, shaken=Shaken(0.3, 1.5), turning=Turning(-0.4, [0.5, -0.25, 1.0], axis=[1.0, 2.0, 3.0])),
    ],
)
def test_the_velocity_of_a_wall_is_that_of_its_points(moves):
    points, t, dt = np.random.default_rng(0).normal(size=(5, moves.d)), 0.7, 1e-5
    slope = (moves.placed(points, t + dt) - moves.placed(points, t - dt)) / (2.0 * dt)
    assert moves.velocity(t, moves.placed(points, t)) == pytest.approx(slope, abs=1e-7)


WORMS = DISC.replace("radii = 0.5", "clumps = [{ arms = [[-0.4, 0.0], [0.4, 0.0]], radii = 0.3 }, @]").replace(
    START, "points = [[0.0, 1.0], [3.0, 1.0], [6.0, 1.0], [9.0, 1.0]]"
)
ONE, TWO = "{ arms = [[0.0, 0.0]], radii = 0.2 }", "{ arms = [[0.0, 0.0]], radii = [0.2], share = 3.0 }"


@pytest.mark.parametrize(("other", "balls"), [(ONE, 6), (TWO, 5)])
def test_clumps_have_shapes_by_their_shares(other, balls):
    problem = built(WORMS.replace("@", other)).problem
    made_of = problem.bodies.parts
    assert len(made_of.owner) == balls
    assert problem.q0.shape == (4, 2)
    counts = np.bincount(made_of.owner)
    masses = problem.bodies.mass.mass.reshape(4, 2)[:, 0]
    assert masses == pytest.approx(np.where(counts == 2, 2 * np.pi * 0.09, np.pi * 0.04))
    assert len(set(problem.orientation0.tolist())) == 4


def test_a_seed_says_how_clumps_are_turned():
    turns = [built(WORMS.replace("@", ONE), f"seed={seed}").problem.orientation0.tolist() for seed in (1, 1, 2)]
    assert turns[0] == turns[1] != turns[2]


def test_clumps_fall_and_do_not_overlap():
    sol = built(WORMS.replace("@", ONE), "run.t=0.3").solve()
    assert sol.q[-1, 0, 1] < 0.7
    assert sol.gaps().min() > -1e-5


def test_clumps_in_space_start_on_a_lattice_of_their_sizes():
    text = """
    [problem]
    kind = "grains"
    dimension = 3
    n = 8
    clumps = [{ arms = [[-0.4, 0.0, 0.0], [0.4, 0.0, 0.0]], radii = 0.3 }]
    spin = [1.0, 2.0, 3.0]
    start = { kind = "lattice", lower = [0.0, 0.0, 0.0], upper = [4.0, 4.0, inf] }
    [run]
    t = 0.1
    h = 0.01
    """
    problem = built(text).problem
    apart = np.linalg.norm(problem.q0[:, None] - problem.q0, axis=2)[np.triu_indices(8, 1)]
    assert apart.min() >= 1.4
    assert np.linalg.norm(problem.orientation0, axis=1) == pytest.approx(np.ones(8))
    assert problem.spin0.tolist() == [[1.0, 2.0, 3.0]] * 8


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mu = 0.5", "mu = -0.5", "problem.law.mu = -0.5: must be a number that is 0 or more"),
        ("mu = 0.5", "rolling = 0.1", "missing key 'mu' in .problem.law.: Friction coefficient"),
        ('"coulomb"', '"coulom"', 'must be one of "convex_friction", "coulomb"; did you mean "coulomb"'),
        ("density = 1.0", "e = 0.5", "problem.e = 0.5: must be a key of the law"),
        ("radii = 0.5", "", "missing key 'radii' in .problem.: Radius"),
        ("density = 1.0", "spin = [1.0, 2.0]", "problem.spin .*: must be a list of three numbers in dimension 3"),
        ("density = 1.0", "inertia = 0.0", "problem.inertia = 0.0: must be a positive number"),
        ("density = 1.0", "inertia = [1.0, 2.0]", "problem.inertia .*: must have one entry for each of the 1 grains"),
        (FLOOR, f"{FLOOR}, surface_velocity = [1.0]", "must have at least 2 entries"),
        (FLOOR, f"{FLOOR}, surface_velocity = [1.0, 0.0, 0.0]", "surface_velocity .*: must have 2 numbers"),
        ("density = 1.0", f"clumps = [{BALL}]", "problem.radii = 0.5: must be left out if there are clumps"),
        ("radii = 0.5", f"clumps = [{BALL}]".replace("0.2 }", "[0.2, 0.3] }"), "must have one entry for each of the 1"),
        ("radii = 0.5", f"period = [9.0, inf]\nclumps = [{BALL}]", "problem.period .*: must be left out"),
        ("radii = 0.5", f"clumps = [{BALL}]".replace("[0.0,", "[0.3,"), "centre of mass"),
        ("[run]", '[scheme]\nkind = "paoli"\n[run]', 'the scheme "paoli" cannot handle bodies that turn'),
    ],
)
def test_what_does_not_fit_is_an_error(old, new, message):
    with pytest.raises(ScenarioError, match=message):
        built(DISC.replace(old, new, 1))


@pytest.mark.parametrize("line", ["spin = 1.0", "inertia = 2.0"])
def test_spins_need_friction_or_clumps(line):
    with pytest.raises(ScenarioError, match="needs grains that turn"):
        parse(with_key(DISC.replace('law = { kind = "coulomb", mu = 0.5 }\n', ""), line))


@pytest.mark.parametrize("line", ["mu = 1.0", "rolling = 1.0", "surface_velocity = [1.0, 0.0]"])
def test_walls_need_a_law(line):
    without = DISC.replace('law = { kind = "coulomb", mu = 0.5 }\n', "")
    with pytest.raises(ScenarioError, match="needs a law of friction"):
        parse(without.replace(FLOOR, f"{FLOOR}, {line}"))


FOUNTAIN = """n = 3
waiting = 3
outlets = [{ above = 1.0, axis = "x" }]
sources = [{ lower = [0.0, 2.0], upper = [0.5, 2.0], rate = 5.0, velocity = [2.0, 0.0] }]"""


def test_grains_with_friction_come_and_go():
    text = DISC.replace(f'start = {{ kind = "points", {START} }}', FOUNTAIN)
    sol = built(text, "problem.radii=0.2", "run.t=1.5").solve()
    here = np.isfinite(sol.q[:, :, 0])
    assert not here[0].any()
    assert here.any(axis=1).sum() > 20
    assert here.sum(axis=0).max() < len(sol.t) - 10


def test_the_drum_lifts_the_discs_on_the_side_where_it_goes_up():
    run = load("drum", settings=["problem.n=12", "run.t=0.8", "problem.walls.0.turning.frequency=-0.5"]).build()
    sol = run.solve()
    assert sol.status == "finished"
    assert run.problem.law.surface_velocity.keys() == {"wall 0"}
    assert sol.q[len(sol.t) // 2 :, :, 0].mean() < -0.05  # clockwise: up on the left, again and again
    assert np.abs(sol.spin[-1]).max() > 1.0
    assert sol.energy_balance().work_of_walls[-1] > 0.0


def test_the_command_line_runs_it_tells_the_law_and_draws_it(here, jostle):
    small = "--set problem.n=6 --set run.t=0.1"
    commands = (
        "info drum", f"run drum {small} --output a.vtkhdf", "info a.vtkhdf --json", "plot a.vtkhdf --colour spin",
        "view a.vtkhdf -o a.html",
    )  # fmt: skip
    answers = [jostle(*command.split()) for command in commands]
    assert [code for code, _, _ in answers] == [0] * 5
    assert "Coulomb(mu=" in answers[0][1]
    assert json.loads(answers[2][1])["law"].endswith("surface_velocity={'wall 0': 'a function of t and x'})")
    assert jo.io.read("a.vtkhdf").spin.shape[1] == 6
    assert (here / "a.png").stat().st_size > 10_000
    assert (here / "a.html").exists()
