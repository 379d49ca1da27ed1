"""Grains: their sizes and masses, where they start, the walls that move, who comes and goes, and when a run ends."""

from functools import partial

import numpy as np
import pytest

import jostle as jo
from jostle.models.movements import Movement, Shaken, Turning
from jostle.scenarios import parse
from jostle.scenarios.grains import Size, Spread, drawn

PLANE = """
[problem]
kind = "grains"
dimension = 2
n = 20
radii = 0.1
[problem.start]
kind = "lattice"
lower = [0.0, 0.0]
upper = [2.0, inf]
[run]
t = 1.0
h = 0.01
"""
SPACE = """
[problem]
kind = "grains"
dimension = 3
n = 20
radii = 0.1
[problem.start]
kind = "lattice"
lower = [-1.0, -1.0, 0.0]
upper = [1.0, 1.0, inf]
[run]
t = 1.0
h = 0.01
"""


def built(text, *settings):
    return parse(text, settings=settings).build()


def solved(text, *settings):
    return jo.solve(**built(text, *settings)._asdict())


def wall(text, description, number=1):
    """The set of the library that a wall becomes."""
    return built(text, f"problem.walls=[{description}]").problem.within.sets[number]


# --- sizes and masses ---


def test_a_mixture_has_its_shares_exactly():
    mixture = Spread(mixture=(Size(radius=1.0, share=3.0), Size(radius=2.0, share=1.0), Size(radius=0.5, share=1.0)))
    radii = drawn(mixture, 100, np.random.default_rng(0))
    assert {float(r): int((radii == r).sum()) for r in np.unique(radii)} == {0.5: 20, 1.0: 60, 2.0: 20}
    assert len(drawn(mixture, 7, np.random.default_rng(0))) == 7


def test_a_range_of_radii_is_filled():
    radii = built(PLANE, "problem.radii={ uniform = [0.05, 0.1] }", "problem.n=100").problem.within.radii
    assert 0.05 <= radii.min() < 0.055
    assert 0.095 < radii.max() <= 0.1


@pytest.mark.parametrize(("text", "volume"), [(PLANE, np.pi * 0.01), (SPACE, 4 / 3 * np.pi * 0.001)])
def test_weights_follow_from_the_density(text, volume):
    problem = built(text, "problem.density=3.0", "problem.gravity=2.0").problem
    np.testing.assert_allclose(problem.constant_force[:, -1], -2.0 * 3.0 * volume, rtol=1e-14)
    assert (problem.constant_force[:, :-1] == 0.0).all()


def test_masses_and_gravity_may_be_given_one_by_one():
    problem = built(PLANE, "problem.n=2", "problem.masses=[1.0, 4.0]", "problem.gravity=[1.0, -3]").problem
    assert problem.constant_force.tolist() == [[1.0, -3.0], [4.0, -12.0]]
    np.testing.assert_allclose(problem.metric(problem.q0).mass.reshape(2, 2), [[1.0, 1.0], [4.0, 4.0]])


def test_all_grains_start_with_the_velocity():
    assert built(PLANE, "problem.velocity=[1.0, 2.0]").problem.v0.tolist() == [[1.0, 2.0]] * 20


# --- starts ---


def test_a_lattice_leaves_out_the_places_in_walls():
    obstacle = "{ kind = 'balls', centres = [[1.0, 0.5]], radius = 0.3 }"
    q = built(PLANE, f"problem.walls=[{obstacle}]", "problem.n=30").problem.q0
    assert np.linalg.norm(q - [1.0, 0.5], axis=1).min() > 0.4
    free = built(PLANE, "problem.n=30").problem.q0
    assert np.linalg.norm(free - [1.0, 0.5], axis=1).min() < 0.3


def test_a_lattice_fills_a_vessel_from_inside():
    cone = "{ kind = 'vessel', profile = [[0.2, 0.0], [1.0, 2.0]], base = [0.1, 0.0, 0.0] }"
    q = built(SPACE, f"problem.walls=[{cone}]", "problem.n=40").problem.q0 - [0.1, 0.0, 0.0]
    assert (np.linalg.norm(q[:, :2], axis=1) < 0.2 + 0.4 * q[:, 2] - 0.1).all()


def test_grains_start_at_random_in_a_periodic_space():
    random = built(PLANE, "problem.start={ kind = 'random' }", "problem.period=[3.0, 2.0]").problem
    assert random.within.gap(0.0, random.q0) > 0.0
    assert (random.q0 >= 0.0).all()
    assert (random.q0 <= [3.0, 2.0]).all()


def test_points_are_taken_as_they_are():
    problem = built(PLANE, "problem.n=2", "problem.start={ kind = 'points', points = [[0, 0], [1, 1]] }").problem
    assert problem.q0.tolist() == [[0.0, 0.0], [1.0, 1.0]]


# --- walls ---


def test_a_shaken_floor_is_where_the_formula_says():
    plane = wall(
        PLANE, "{ kind = 'plane', normal = [0, 2], through = [5, -1], "
        "shaken = { amplitude = 0.5, frequency = 2.0, phase = 0.1 } }",
    )  # fmt: skip
    for t in (0.0, 0.1, 0.33):
        height = -1.0 + 0.5 * np.sin(2 * np.pi * (2.0 * t + 0.1))
        assert plane.gap(t, np.array([[3.0, 4.0]] * 20)) == pytest.approx(4.0 - height - 0.1, abs=1e-12)


def test_a_turning_plane_turns_about_its_centre():
    plane = wall(
        PLANE,
        "{ kind = 'plane', normal = [0, 1], through = [0, -5], turning = { frequency = 0.25, centre = [0, -5] } }",
    )
    x = np.array([[-3.0, -4.0]] * 20)
    assert plane.gap(0.0, x) == pytest.approx(1.0 - 0.1)
    assert plane.gap(1.0, x) == pytest.approx(3.0 - 0.1)


def test_a_wall_in_the_plane_has_no_axis():
    turning = "turning = { frequency = 0.25, centre = [0, -5], axis = [0, 1] }"
    with pytest.raises(
        jo.scenarios.ScenarioError, match=r"walls\.0\.turning\.axis = .*: must be left out in dimension 2"
    ):
        wall(PLANE, f"{{ kind = 'plane', normal = [0, 1], through = [0, -5], {turning} }}")


@pytest.mark.parametrize(
    ("text", "description", "t", "x", "distance"),
    [
        (PLANE, "{ kind = 'segments', points = [[9, 0], [10, 0], [10, 4]] }", 0.0, [9.0, 2.0], 1.0),
        (PLANE, "{ kind = 'segments', points = [[8, 0], [9, 0]], turning = { frequency = 0.25, centre = [8, 0] } }",
         1.0, [8.5, 0.5], 0.5),
        (PLANE, "{ kind = 'polygon', corners = [[8, 0], [9, 0], [9, 1], [8, 1]], "
         "shaken = { amplitude = 2, frequency = 0.25, direction = [3, 0] } }", 1.0, [8.0, 0.5], 2.0),
        (PLANE, "{ kind = 'balls', centres = [[9, 0], [9, 5]], radius = 0.5, "
         "turning = { frequency = 0.5, centre = [8, 0] } }", 1.0, [7.0, 1.0], 0.5),
        (PLANE, "{ kind = 'box', lower = [-1, -1], upper = [9, inf], shaken = { amplitude = 1, frequency = 0.25 } }",
         1.0, [5.0, 2.0], 2.0),
        (SPACE, "{ kind = 'balls', centres = [[9, 0, 0]], radius = 0.5, "
         "turning = { frequency = 0.25, centre = [8, 0, 0] } }", 1.0, [8.0, 1.0, 2.0], 1.5),
        (SPACE, "{ kind = 'plane', normal = [1, 0, 0], through = [-9, 0, 0], "
         "turning = { frequency = 0.25, centre = [-9, 0, 0] } }", 1.0, [0.0, 3.0, 0.0], 3.0),
        (SPACE, "{ kind = 'vessel', profile = [[3, -1], [3, 9]], shaken = { amplitude = 1, frequency = 0.25, "
         "direction = [1, 0, 0] } }", 1.0, [2.0, 0.0, 1.0], 2.0),
        (SPACE, "{ kind = 'vessel', profile = [[3, -9], [3, 9]], turning = { frequency = 0.25, centre = [0, 0, 0], "
         "axis = [1, 0, 0] } }", 1.0, [0.0, 5.0, 2.0], 1.0),
    ],
)  # fmt: skip
def test_walls_are_where_they_should_be(text, description, t, x, distance):
    found = wall(text, description)
    assert found.gap(t, np.array([x] * 20)) == pytest.approx(distance - 0.1, abs=1e-12)
    assert found.moving == (t > 0.0)


@pytest.mark.parametrize("d", [2, 3])
def test_a_movement_keeps_distances_and_its_centre(d):
    random = np.random.default_rng(d)
    centre = tuple(random.standard_normal(d))
    turning = Turning(frequency=0.3, centre=centre, axis=tuple(random.standard_normal(3)) if d == 3 else None)
    moves = Movement(d, turning=turning)
    x = random.standard_normal((5, d))
    after = moves.placed(x, 0.7)
    np.testing.assert_allclose(np.linalg.norm(after[1:] - after[:-1], axis=1), np.linalg.norm(x[1:] - x[:-1], axis=1))
    np.testing.assert_allclose(moves.placed(np.array(centre), 0.7), centre, atol=1e-14)
    np.testing.assert_allclose(moves.placed(x, 1 / 0.3), x, atol=1e-12)
    shaken = Movement(d, shaken=Shaken(amplitude=2.0, frequency=1.0), turning=turning)
    np.testing.assert_allclose(shaken.placed(x, 0.25) - moves.placed(x, 0.25), np.eye(d)[-1] * 2.0 + 0 * x, atol=1e-12)


def test_a_turning_drum_keeps_its_grains():
    corners = [[float(np.cos(a)), float(np.sin(a))] for a in np.linspace(0, 2 * np.pi, 13)]
    drum = f"{{ kind = 'segments', points = {corners}, turning = {{ frequency = 0.5, centre = [0, 0] }} }}"
    sol = solved(
        PLANE, f"problem.walls=[{drum}]", "problem.start.lower=[-0.5, -0.5]", "problem.start.upper=[0.5, 0.5]",
        "problem.n=8", "problem.radii=0.08",
    )  # fmt: skip
    assert np.linalg.norm(sol.q, axis=2).max() < 1.0 - 0.08 + 1e-6
    assert sol.gaps().min() >= -1e-6
    assert np.ptp(sol.q[-1, :, 0]) > 0.1


# --- who comes and goes, and when a run ends ---

GATES = """
[problem]
kind = "grains"
dimension = 2
n = 20
radii = 0.1
[[problem.sources]]
lower = [0.0, 5.0]
upper = [4.0, 6.0]
rate = 50.0
velocity = [0.0, -1.0]
[[problem.outlets]]
below = 0.0
[run]
t = 9.0
h = 0.01
every = 0.05
"""


def test_waiting_grains_come_in_and_go_out():
    sol = solved(GATES)
    there = np.isfinite(sol.q[:, :, 0]).sum(axis=1)
    assert there[0] == 0
    assert there.max() == 20
    assert there[-1] == 0
    assert sol.status == "stopped"
    assert 1.0 < sol.t[-1] < 3.0
    assert np.nanmin(sol.q[:, :, 1]) > -0.15
    assert sol.gaps().min() >= -1e-7


def test_each_source_has_a_seed_of_its_own_that_follows_the_seed_of_the_scenario():
    two = "problem.sources=[{ lower=[0, 5], upper=[4, 6], rate=9.0 }, { lower=[0, 5], upper=[4, 6], rate=9.0 }]"
    seeds = [[change.seed for change in built(GATES, two, f"seed={seed}").problem.changes()[:2]] for seed in (3, 30)]
    assert len({*seeds[0], *seeds[1]}) == 4
    body = np.isfinite(solved(GATES, two, "run.t=1.0").q[-1]).all(axis=1)
    assert body.sum() == 18


def test_some_may_be_there_and_others_wait():
    sol = solved(GATES, "problem.start={ kind='points', points=[[1, 1], [2, 1]] }", "problem.waiting=18")
    assert np.isfinite(sol.q[0, :, 0]).sum() == 2
    assert np.isfinite(sol.q[:, :, 0]).any(axis=0).all()


@pytest.mark.parametrize(
    ("outlet", "x"), [("{ above = 1.0 }", [0.0, 1.5]), ("{ axis = 'x', below = -1.0 }", [-2.0, 5.0])]
)
def test_an_outlet_takes_out_who_is_beyond(outlet, x):
    change = built(PLANE, f"problem.outlets=[{outlet}]").problem.changes()[0]
    assert change.leaves(np.array([x, [0.0, 0.5]])).tolist() == [True, False]


def test_a_run_ends_when_enough_have_fallen():
    sol = solved(PLANE, "run.until={ kind='below', height=0.0, share=0.5 }", "run.every=0.01")
    below = (sol.q[:, :, 1] < 0.0).sum(axis=1)
    assert sol.status == "stopped"
    assert below[-1] >= 10
    assert below[-2] < 10


def test_who_is_gone_counts_as_fallen():
    sol = solved(
        PLANE, "problem.outlets=[{ below = -0.2 }]", "run.until={ kind='below', height=-0.1 }", "run.t=3.0",
    )  # fmt: skip
    there = np.isfinite(sol.q[-1]).all(axis=1)
    assert sol.status == "stopped"
    assert 0 < there.sum() < 20
    assert (sol.q[-1][there][:, 1] < -0.1).all()


def test_a_run_ends_when_all_is_at_rest_but_not_before_it_began():
    settings = ["problem.walls=[{ kind='box', lower=[0,0], upper=[0.3,inf] }]", "problem.n=3", "run.t=5.0",
                "problem.start.upper=[0.3, inf]", "problem.start.lower=[0.0, 0.5]"]  # fmt: skip
    ends = [
        solved(PLANE, *settings, f"run.until={{ kind='at_rest', speed=0.2, after={after} }}").t[-1]
        for after in (0.0, 0.2, 4.5)
    ]
    assert ends[0] == pytest.approx(0.01)
    assert 0.3 < ends[1] < 4.0
    assert ends[2] == pytest.approx(4.5)


def test_swelling_may_end_before_the_jam():
    settings = ["problem.swelling={ rate=1.0, most=1.2 }", "problem.gravity=0.0", "problem.n=4"]
    sol = solved(PLANE, *settings)
    assert sol.status == "finished"
    radii = sol.problem.within.radii
    np.testing.assert_allclose([radii(t)[0] for t in (0.0, 0.1, 0.5)], [0.1, 0.11, 0.12])


def test_bouncing_grains_bounce():
    settings = ["problem.walls=[{ kind='plane', normal=[0,1] }]", "problem.n=1", "problem.e=0.8", "run.h=0.001",
                "problem.start={ kind='points', points=[[0, 1.1]] }"]  # fmt: skip
    sol = solved(PLANE, *settings)
    assert isinstance(sol.scheme, jo.MoreauJean)
    hit = sol.impacts()
    assert hit.t[0] == pytest.approx(np.sqrt(2.0 / 9.81), abs=2e-3)
    assert hit.after[0] / -hit.before[0] == pytest.approx(0.8, abs=0.01)


def test_python_has_the_start_the_movement_and_the_ending_of_a_file():
    run = parse("""
seed = 4
[problem]
kind = "grains"
dimension = 2
n = 5
radii = 0.1
start = { kind = "lattice", lower = [0.0, 0.2], upper = [1.0, inf], lattice = "square" }
walls = [{ kind = "plane", normal = [0, 1], shaken = { amplitude = 0.05, frequency = 2.0 } }]
[run]
t = 2.0
h = 0.01
until = { kind = "at_rest", speed = 0.4, after = 0.2 }
""").build()
    floor = jo.models.Movement(2, shaken=jo.models.Shaken(0.05, 2.0))
    up, radii = np.array([0.0, 1.0]), np.full(5, 0.1)
    plane = jo.HalfSpace(up, partial(floor.offset, up, np.zeros(2)), radii=radii)
    box, lattice = ([0.0, 0.2], [1.0, np.inf]), jo.models.square_lattice
    q0 = jo.models.lattice_places(radii, box=box, lattice=lattice, seed=4)
    mass = np.full(5, 1000.0 * np.pi * 0.01)
    falling = jo.Motion(q0=q0, mass=mass, force=np.outer(mass, [0.0, -9.81]), within=jo.Balls(radii) & plane)
    until = jo.stopping.AtRest(0.4, after=0.2)
    mine = jo.solve(falling, run.scheme, t=2.0, h=0.01, every=run.every, until=until)
    theirs = run.solve()
    assert theirs.status == "stopped"
    np.testing.assert_array_equal(mine.q, theirs.q)


def test_a_wall_is_shaken_with_a_positive_frequency():
    with pytest.raises(jo.InvalidValue, match="frequency must be a positive number"):
        jo.models.Shaken(0.5, -1.0, [0.0, 1.0])
