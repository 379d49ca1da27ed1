"""How people walk in buildings: quickest ways, repulsion, speed by the gap ahead, each against its definition."""

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import FreeWish, Group, Journey, Pedestrians, Plan, Quickest, Repulsion, TimeGap
from jostle.crowds.model.behaviours import SIGHT
from jostle.crowds.model.quickest import Floor, Window, _cost
from kernel_sets import cpu, reference
from plain import crowd
from rows import WHOLE, few

pytest.importorskip("shapely")

R, V = 0.2, 1.34
CORRIDOR = Plan([(0, 0), (10, 0), (10, 3), (0, 3)], exits={"west": ((0, 0), (0, 3)), "east": ((10, 0), (10, 3))})
EAST = FreeWish(lambda t, q: [V, 0.0], nearer=None)
TURNS = {
    "turned by 90 degrees": np.array([[0.0, -1.0], [1.0, 0.0]]),
    "mirrored": np.array([[1.0, 0.0], [0.0, -1.0]]),
}


def people_at_random(n=40, seed=3):
    random = np.random.default_rng(seed)
    return random.uniform(0.0, 4.0, (n, 2)), random.uniform(0.15, 0.25, n)


def test_repulsion_is_its_formula():
    q, radii = people_at_random()
    found = Repulsion(EAST, radii, strength=1.5, decay=0.2)(0.0, q)
    for k in range(len(q)):
        e = np.array([1.0, 0.0])
        for other in range(len(q)):
            apart = q[other] - q[k]
            gap = np.linalg.norm(apart) - radii[k] - radii[other]
            if other != k and gap <= SIGHT * 0.2:
                e -= 1.5 * np.exp(-gap / 0.2) * apart / np.linalg.norm(apart)
        np.testing.assert_allclose(found[k], V * e / np.linalg.norm(e), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("strip", [1.0, 0.6])
def test_the_speed_is_that_of_the_gap_ahead(strip):
    q, radii = people_at_random()
    q[::3] *= 2.0  # some are alone
    way = np.where(np.arange(len(q)) % 2 == 0, 1.0, -1.0)
    wish = FreeWish(lambda t, x: np.outer(way, [V, 0.0]), nearer=None)
    found = TimeGap(wish, radii, T=0.5, T_file=0.9, strip=strip)(0.0, q)
    times = []
    for k in range(len(q)):
        least, beside = np.inf, 0.0
        for other in range(len(q)):
            x, y = q[other] - q[k]
            width = radii[k] + radii[other]
            if other != k and way[k] * x > 0.0 and abs(y) < strip * width:
                least = min(least, np.hypot(x, y) - width)
            if other != k:
                aside, gap = abs(y) / width, np.hypot(x, y) - width
                beside = max(beside, np.clip((aside - 0.375) / 0.5, 0.0, 1.0) * np.clip((1.0 - gap) / 0.4, 0.0, 1.0))
        times.append(0.9 - 0.4 * beside)
        np.testing.assert_allclose(found[k], [way[k] * min(V, max(least, 0.0) / times[k]), 0.0], atol=1e-12)
    assert {0.5, 0.9} < {round(float(time), 9) for time in times}  # in a crowd, in single file, and in between


def test_of_two_who_are_each_ahead_of_the_other_the_one_who_is_looked_at_less_straight_goes():
    """Side by side before a door; and head-on, where both stop."""
    q, angle = np.array([[0.0, 0.0], [0.25, 0.35]]), np.deg2rad([40.0, -35.0])
    way = V * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    before = TimeGap(FreeWish(lambda t, x: way, nearer=None), R)(0.0, q)
    np.testing.assert_allclose(before, [0.0 * way[0], way[1]], atol=0.05)
    both = TimeGap(FreeWish(lambda t, x: [[V, 0.0], [-V, 0.0]], nearer=None), R)(
        0.0, np.array([[0.0, 0.0], [0.4, 0.0]])
    )
    np.testing.assert_allclose(both, 0.0, atol=1e-12)


def test_those_who_stand_stay_and_nobody_is_faster_than_they_wish():
    q = np.random.default_rng(3).uniform([3.0, 0.3], [7.0, 2.7], (12, 2))
    speed = np.where(np.arange(12) % 3 == 0, 0.0, V)
    wish = Pedestrians()(jo.crowds.walk(CORRIDOR, radius=0.25, speed=speed), CORRIDOR, np.full(12, 0.25))
    found = np.linalg.norm(wish(0.0, q), axis=1)
    assert (found <= speed + 1e-12).all()
    assert found[speed > 0.0].max() > 0.0


def density(floor, q, width):
    """People per unit area at all nodes of the grid."""
    return _cost(*floor.density(q, np.ones(len(q)), width), Window((0, 0), floor.grid.shape)) - 1.0


def test_the_density_is_a_gaussian_that_walls_reflect():
    """The walls are in the middle between nodes, so they are where the links are cut."""
    plan = Plan([(0, 0), (8, 0), (8, 3.001), (0, 3.001)], exits={"east": ((8, 1), (8, 2))})
    floor = Floor.on(plan, jo.crowds.shortest_paths(plan, R, spacing=0.1).grid)
    q, width = np.array([[5.03, 1.52], [2.0, 0.3]]), 0.35
    found, x = density(floor, q, width), floor.grid.nodes()
    images = [*q, *(q * [1.0, -1.0]), *([0.0, 6.002] + q * [1.0, -1.0])]
    exact = sum(np.exp(-((x - at) ** 2).sum(axis=1) / (2 * width**2)) for at in images) / (2 * np.pi * width**2)
    assert found.sum() * 0.1**2 == pytest.approx(2.0)
    assert np.abs(found.ravel() - exact)[plan.inside(x)].max() < 0.04 * exact.max()


def test_nobody_is_felt_through_a_thin_wall():
    walls = [((5.0, 0.0), (5.0, 3.0))]
    exits = {"west": ((0, 1), (0, 2)), "east": ((10, 1), (10, 2))}
    plan = Plan([(0, 0), (10, 0), (10, 3), (0, 3)], exits=exits, walls=walls)
    floor = Floor.on(plan, jo.crowds.shortest_paths(plan, R, spacing=0.1).grid)
    found = density(floor, np.array([[4.7, 1.5]]), 0.35).ravel()
    x = floor.grid.nodes()
    assert found[x[:, 0] > 5.0].max() == 0.0
    assert found[x[:, 0] < 5.0].sum() * 0.1**2 == pytest.approx(1.0)


def test_distances_with_a_cost_are_those_of_the_eikonal_equation():
    """d = (1 + 2 x)^2 / 4 has |grad d| = 1 + 2 x."""
    x = np.linspace(0.0, 1.0, 41)
    exact = np.repeat(((1.0 + 2.0 * x) ** 2 / 4.0)[:, None], 9, axis=1)
    cost = np.repeat((1.0 + 2.0 * x)[:, None], 9, axis=1)
    start = np.where(np.arange(41)[:, None] < 2, exact, np.inf)
    free = np.ones(exact.shape, dtype=bool)
    found = cpu.marched(free, start, x[1], cost)
    np.testing.assert_allclose(found, exact, atol=2e-3)
    random = 1.0 + np.random.default_rng(0).uniform(size=(9, 7))
    source = np.full((9, 7), np.inf)
    source[3, 2] = 0.0
    both = [kernels.marched(np.ones((9, 7), dtype=bool), source, 0.1, random) for kernels in (cpu, reference)]
    np.testing.assert_allclose(*both, rtol=1e-12)


def test_a_uniform_density_does_not_change_the_ways():
    """Far from the only person in the way the quickest way is the shortest."""
    wish = jo.crowds.walk(CORRIDOR, radius=R, speed=V, goal="east")
    q = np.array([[2.0, 1.0], [2.5, 2.0]])
    np.testing.assert_allclose(Quickest(wish, CORRIDOR, R, own=0.0, others=0.0)(0.0, q), wish(0.0, q), atol=1e-3)


def moved(matrix, seed=1):
    """The wish of pedestrians on the plan that a matrix makes of an L-shaped one, and where they are."""
    area = np.array([(0, 0), (6, 0), (6, 6), (4, 6), (4, 2), (0, 2)], dtype=float)
    random = np.random.default_rng(seed)
    q = np.concatenate(
        [random.uniform([0.3, 0.3], [5.7, 1.7], (12, 2)), random.uniform([4.3, 2.0], [5.7, 5.0], (4, 2))]
    )
    plan = Plan(area @ matrix.T, exits={"out": np.array([(4.4, 6.0), (5.6, 6.0)]) @ matrix.T})
    return Pedestrians()(jo.crowds.walk(plan, radius=R, speed=V), plan, R)(0.0, q @ matrix.T)


@pytest.mark.parametrize("turn", TURNS)
def test_a_plan_that_is_turned_or_mirrored_turns_the_wish(turn):
    """Up to 1e-6: round-off may decide between differences of first and second order in the marching."""
    np.testing.assert_allclose(moved(TURNS[turn]), moved(np.eye(2)) @ TURNS[turn].T, atol=1e-6)


def counterflow(n=6, behaviour=None):
    start = [[(0, 0), (4, 0), (4, 3), (0, 3)], [(6, 0), (10, 0), (10, 3), (6, 3)]]
    groups = [
        Group(goal, n, radius=R, speed=V, goal=goal, start=where)
        for goal, where in zip(("east", "west"), start, strict=True)
    ]
    return crowd(groups, room=CORRIDOR, seed=2, behaviour=behaviour or Pedestrians())


def test_people_who_meet_in_a_corridor_pass_each_other():
    people = counterflow()
    sol = jo.solve(people, jo.Venel(), t=30.0, h=0.05, every=20, until=CORRIDOR.empty)
    assert sol.status == "stopped"
    assert sol.t[-1] < 14.0


STARTS = 100 if WHOLE else 4


@pytest.mark.parametrize("width", few([1.0, 1.25, 1.5, 1.75, 2.0]))
def test_two_people_who_meet_in_a_corridor_pass_within_twice_the_free_time(width):
    length = 5.0
    corners = [(0, 0), (length, 0), (length, width), (0, width)]
    plan = Plan(corners, exits={"west": ((0, 0), (0, width)), "east": ((length, 0), (length, width))})
    for seed in range(STARTS):
        random = np.random.default_rng(seed)
        way, speed = random.uniform(length - 1.5, length - 0.5, 2), random.uniform(1.0, V, 2)
        x, y = [length - way[0], way[1]], random.uniform(1.05 * R, width - 1.05 * R, 2)
        groups = [
            Group(goal, places=[place], radius=R, speed=pace, goal=goal)
            for goal, place, pace in zip(("east", "west"), zip(x, y, strict=True), speed, strict=True)
        ]
        people = crowd(groups, room=plan, behaviour=Pedestrians())
        sol = jo.solve(people, jo.Venel(), t=2.0 * (way / speed).max(), h=0.05, every=100)
        assert not plan.inside(sol.q[-1]).any(), f"seed {seed}: {sol.q[-1]}"


def test_somebody_who_stands_in_a_corridor_holds_nobody():
    with pytest.warns(jo.errors.Implausible, match="hardly moves"):
        groups = [Group("standing", places=[[6.0, 1.5]], radius=R, speed=0.0)]
    groups += [Group("walking", 12, radius=R, speed=V, goal="east", start=[(0, 0), (4, 0), (4, 3), (0, 3)])]
    people = crowd(groups, room=CORRIDOR, behaviour=Pedestrians())
    sol = jo.solve(people, jo.Venel(), t=16.0, h=0.05, every=20)
    left = ~np.isfinite(sol.q[-1]).all(axis=1)
    assert left.tolist() == [False] + 12 * [True]
    np.testing.assert_allclose(sol.q[-1][0], [6.0, 1.5], atol=0.15)


def test_two_runs_have_the_same_bits_and_a_resumed_run_has_them_too(tmp_path):
    """The run is interrupted between two of the times at which people look around."""
    people = counterflow()
    whole, again = (jo.solve(people, jo.Venel(), t=3.0, h=0.05) for _ in range(2))
    np.testing.assert_array_equal(whole.q, again.q)
    jo.solve(counterflow(), jo.Venel(), t=1.85, h=0.05, output=jo.io.Output(checkpoint=tmp_path / "c"))
    resumed = jo.solve(
        counterflow(), jo.Venel(), t=3.0, h=0.05, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True)
    )
    np.testing.assert_array_equal(resumed.q[-1], whole.q[-1])


def test_quickest_ways_of_a_journey_are_resumed_with_its_stages(tmp_path):
    def go(t, **more):
        stops = {"desk": (5, 1)}
        walk = jo.crowds.walk(CORRIDOR, radius=R, speed=V, stops=stops)
        journey = Journey(walk, ["desk", "west"], people=4, reach=0.6)
        wish = TimeGap(Quickest(journey, CORRIDOR, R), R)
        q0 = [[2.0, 0.5], [2.0, 1.5], [3.0, 1.0], [7.0, 1.0]]
        return jo.solve(crowd(4, radius=R, room=CORRIDOR, q0=q0, wish=wish), jo.Venel(), t=t, h=0.05, **more)

    whole = go(4.0)
    go(2.3, output=jo.io.Output(checkpoint=tmp_path / "c"))
    np.testing.assert_array_equal(
        go(4.0, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True)).q[-1], whole.q[-1]
    )


def test_steps_that_are_too_long_are_warned_of():
    people = counterflow()
    assert people.longest_step() == pytest.approx(0.1 * Pedestrians().T)
    assert TimeGap(TimeGap(EAST, R, T=0.5), R, T=0.9).longest_step == pytest.approx(0.05)
    with pytest.warns(jo.errors.LongStep, match=r"h = 0\.2 is longer than .*; take h = "):
        jo.solve(people, jo.Venel(), t=0.2, h=0.2)


def test_what_cannot_be_meant_is_refused():
    walk = jo.crowds.walk(CORRIDOR, radius=R, speed=V)
    with pytest.raises(jo.InvalidValue, match="a wish that knows paths"):
        Quickest(EAST, CORRIDOR, R)
    with pytest.raises(jo.InvalidValue, match="made with Quickest"):
        Quickest(Quickest(walk, CORRIDOR, R), CORRIDOR, R)
    other = Plan([(0, 0), (10, 0), (10, 3), (0, 3)], exits={"south": ((0, 0), (3, 0))})
    with pytest.raises(jo.InvalidValue, match=r"those of the plan .*give Quickest the plan"):
        Quickest(walk, other, R)
