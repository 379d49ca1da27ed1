"""Blocks on a line: the projection, the impacts one by one, grains on a line, and closed forms."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

import jostle as jo
from jostle import macro
from jostle.macro.motion import sticky
from rows import examples

NO_WALLS = (-np.inf, np.inf)


@st.composite
def rows(draw, most=12, walls=False, forces="none"):
    """Blocks on a coarse lattice of places, lengths and velocities: many touch, many meet at the same time."""
    n = draw(st.integers(1, most))
    number = st.integers(0, 20).map(lambda k: k / 10)
    gaps, lengths = (np.array(draw(st.lists(number, min_size=n, max_size=n))) for _ in range(2))
    v = draw(st.lists(st.integers(-10, 10).map(float), min_size=n, max_size=n))
    sizes = lengths + 0.1
    x = np.cumsum(gaps) + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    lower = draw(st.sampled_from([-np.inf, 0.0, -0.5])) if walls else -np.inf
    upper = draw(st.sampled_from([np.inf, 0.0, 0.7])) + x[-1] + sizes[-1] if walls else np.inf
    a = 0.0
    if forces == "pressing":
        a = -np.sort(-np.array(draw(st.lists(st.integers(-5, 5).map(float), min_size=n, max_size=n))))
        a = np.minimum(a, 0.0) if lower > -np.inf else a
        a = np.maximum(a, 0.0) if upper < np.inf else a
    return macro.StickyBlocks(x, sizes, v, acceleration=a, walls=(lower, upper))


def random_blocks(seed, n=6, forces=True, walls=NO_WALLS):
    random = np.random.default_rng(seed)
    lengths = random.uniform(0.2, 1.0, n)
    x = np.cumsum(random.uniform(0.05, 1.0, n)) + np.concatenate([[0], np.cumsum(lengths)[:-1]])
    a = random.normal(size=n) if forces else 0.0
    return macro.StickyBlocks(x, lengths, random.normal(size=n), acceleration=a, walls=walls)


# --- the projection and the impacts ---


@settings(max_examples=examples(60), deadline=None)
@given(blocks=rows(), t=st.floats(0, 3))
def test_the_projection_and_the_queue_of_events_agree(blocks, t):
    x = blocks.at(t)
    assert blocks._followed(t) == pytest.approx(x, abs=1e-11)
    assert (np.diff(x) >= blocks.lengths[:-1] - 1e-11).all()
    momentum = blocks.lengths @ (x - blocks.x)
    assert momentum == pytest.approx(t * (blocks.lengths @ blocks.v), abs=1e-9)


@settings(max_examples=examples(100), deadline=None)
@given(blocks=rows(walls=True, forces="pressing"), t=st.floats(0, 3))
def test_the_projection_holds_with_walls_and_forces_that_press(blocks, t):
    assert blocks.sticks
    x = blocks.at(t)
    assert blocks._followed(t) == pytest.approx(x, abs=1e-10)
    assert (np.diff(x) >= blocks.lengths[:-1] - 1e-10).all()
    assert x[0] >= blocks.walls[0] - 1e-10
    assert x[-1] + blocks.lengths[-1] <= blocks.walls[1] + 1e-10


def test_a_force_on_all_is_a_frame_that_falls():
    blocks = random_blocks(3, n=9, forces=False)
    falling = macro.StickyBlocks(blocks.x, blocks.lengths, blocks.v, acceleration=-9.81)
    t = np.linspace(0, 3, 7)
    fall = -9.81 / 2 * t[:, None] ** 2
    assert falling.at(t) == pytest.approx(blocks.at(t) + fall, abs=1e-12)
    assert falling._followed(t) == pytest.approx(blocks.at(t) + fall, abs=1e-12)
    assert [m[:3] for m in falling.mergers()] == [m[:3] for m in blocks.mergers()]


def projected(blocks, t):
    """P_K (X0 + t U0 + t^2/2 a), whether contacts open or not."""
    free = blocks.x + t * (blocks.v + 0.5 * t * blocks.acceleration) - blocks.before
    upper = blocks.walls[1] - blocks.lengths.sum()
    return np.clip(isotonic_regression(free, weights=blocks.lengths).x, blocks.walls[0], upper) + blocks.before


def test_blocks_that_forces_pull_apart_touch_and_go():
    """They meet at t = 1/2, lose their relative velocity, and separate with the relative acceleration 2."""
    blocks = macro.StickyBlocks([0, 2], 1, [2.25, -0.25], acceleration=[-1, 1])
    s = 0.5
    meet = 2.5 * s - s**2  # the distance they have come together
    assert meet == pytest.approx(1.0)
    t = np.array([0.5, 0.75, 2.5])
    v, x = 1.0, 2.25 * s - s**2 / 2  # their mean velocity, and where the left one is
    assert not blocks.sticks
    assert len(blocks.mergers(until=10.0)) == 0
    assert blocks.velocities(0.5) == pytest.approx([v, v], abs=1e-12)
    assert blocks.at(t)[:, 0] == pytest.approx(x + v * (t - s) - (t - s) ** 2 / 2, abs=1e-12)
    assert blocks.at(t)[:, 1] == pytest.approx(x + 1 + v * (t - s) + (t - s) ** 2 / 2, abs=1e-12)
    assert projected(blocks, 0.75) == pytest.approx([1.25, 2.25])  # which holds on too long
    assert blocks.at(0.75) == pytest.approx([1.25 - 1 / 32, 2.25 + 1 / 32])


def test_a_force_takes_a_block_off_the_wall_it_stuck_to():
    """It reaches the wall at t = 1 and stops; then it falls back from rest."""
    blocks = macro.StickyBlocks([0.0], 1.0, 1.5, acceleration=-1.0, walls=(-np.inf, 2.0))
    assert blocks.at([1.0, 1.5, 3.0])[:, 0] == pytest.approx([1.0, 1.0 - 0.125, 1.0 - 2.0], abs=1e-12)
    assert len(blocks.mergers(until=10.0)) == 0
    assert np.abs(projected(blocks, 1.5) - blocks.at(1.5)).max() > 0.1


def test_a_block_sticks_to_a_wall_without_a_force():
    blocks = macro.StickyBlocks([0.5, 2.0], 1.0, [-1.0, -1.0], walls=(0.0, np.inf))
    assert blocks.mergers() == [(0.5, -1, 0, 0.0, 1.0, 0, 0), (1.0, 2, 1, 0.0, 2.0, 0, 1)]
    assert blocks.at(5.0).tolist() == [0.0, 1.0]
    assert blocks.momentum([0.0, 0.75, 5.0]).tolist() == [-2.0, -1.0, 0.0]
    right = macro.StickyBlocks([0.5], 1.0, 1.0, walls=(-np.inf, 2.5))
    assert right.mergers() == [(1.0, 0, -2, 0.0, 1.0, 0, 0)]


def test_blocks_without_room_do_not_move():
    blocks = macro.StickyBlocks([0.0, 1.0], 1.0, [3.0, -2.0], acceleration=[1.0, -4.0], walls=(0, 2))
    assert blocks.at([0.5, 4.0]) == pytest.approx(np.array([[0.0, 1.0], [0.0, 1.0]]), abs=1e-12)


# --- grains on a line ---


@pytest.mark.parametrize("walls", [NO_WALLS, (0.0, np.inf), (-np.inf, 9.0), (-0.5, 8.0)])
def test_grains_on_a_line_are_the_same_numbers(walls):
    t, compared = np.linspace(0.05, 2.0, 9), 0
    for seed in range(8):
        blocks = random_blocks(seed, forces=seed % 2 == 0, walls=walls)
        micro = jo.solve_by_events(blocks.motion(), t=2.0)
        if micro.accumulations:  # a limit of impacts is known to 1e-8 there
            continue
        compared += 1
        assert micro.q(t) - blocks.lengths / 2 == pytest.approx(blocks.at(t), abs=1e-9)
        assert micro.u(t) == pytest.approx(blocks.velocities(t), abs=1e-8)
    assert compared >= 4


def test_grains_that_touch_and_collide_at_the_same_time_are_the_same_numbers():
    """Lattice data: contacts that are closed at the start, or close together, take part in one impact."""
    compared = 0
    seeds = examples(120)
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        n = int(random.integers(2, 7))
        lengths = random.integers(1, 4, n) / 2
        x = np.cumsum(random.integers(0, 3, n) / 2) + np.concatenate([[0], np.cumsum(lengths)[:-1]])
        v, upper = random.integers(-2, 3, n).astype(float), x[-1] + lengths[-1] + 0.5
        a, walls = random.integers(-2, 3, n).astype(float), [NO_WALLS, (0.0, np.inf), (-1.0, upper)][seed % 3]
        blocks = macro.StickyBlocks(x, lengths, v, acceleration=a, walls=walls)
        micro = jo.solve_by_events(blocks.motion(), t=1.0)
        if not micro.accumulations:
            compared += 1
            t = np.array([0.1, 0.4, 0.99])
            assert micro.q(t) - lengths / 2 == pytest.approx(blocks.at(t), abs=1e-7)
    assert compared >= 2 * seeds // 3


def test_many_clusters_that_meet_at_once_and_are_pulled_apart_take_one_velocity():
    """Impacts of two at a time would repeat without end: the outer two are faster than the mean of all."""
    blocks = macro.StickyBlocks([0.0, 2.0, 4.0], 1.0, [1.0, 0.0, -1.0], acceleration=[-2.0, 0.0, 2.0])
    early = macro.StickyBlocks([0.0, 1.0, 2.0], 1.0, [1.0, 0.0, -1.0], acceleration=[-1.0, 0.0, 1.0])
    assert len(blocks.mergers()) == len(early.mergers()) == 0
    assert early.velocities([0.0, 2.0]) == pytest.approx(np.array([[0.0, 0.0, 0.0], [-2.0, 0.0, 2.0]]), abs=1e-12)
    assert early.at(2.0) == pytest.approx([-2.0, 1.0, 4.0], abs=1e-12)


def test_a_scheme_with_time_steps_follows_the_same_grains():
    blocks = random_blocks(5, n=8, forces=False)
    sol = jo.solve(blocks.motion(), jo.Maury(), t=2.0, h=0.25)
    assert sol.q - blocks.lengths / 2 == pytest.approx(blocks.at(sol.t), abs=1e-9)


# --- closed forms ---


def test_blocks_with_equal_velocities_never_meet():
    blocks = macro.StickyBlocks([0.0, 1.5, 4.0], 1.0, 2.0)
    assert len(blocks.mergers()) == 0
    assert blocks.at(7.0).tolist() == [14.0, 15.5, 18.0]


def test_blocks_that_touch_and_stay_in_touch_are_one_from_the_start():
    blocks = macro.StickyBlocks(0.1 * np.arange(30), 0.1, 2.0)
    assert [m.time for m in blocks.mergers()] == [0.0] * 29
    apart = macro.StickyBlocks([0.0, 1.0], 1.0, [0.0, 1.0])
    assert len(apart.mergers()) == 0
    pulled = macro.StickyBlocks([0.0, 1.0], 1.0, 0.0, acceleration=[0.0, 1.0])
    assert len(pulled.mergers(until=9.0)) == 0


def test_a_vacuum_opens_between_blocks_that_part():
    blocks = macro.StickyBlocks([0.0, 1.0, 2.0, 3.0], 1.0, [1.0, -1.0, 1.5, 0.5])
    assert blocks.at(2.0) == pytest.approx([0.0, 1.0, 4.0, 5.0], abs=1e-12)
    assert [m[:3] for m in blocks.mergers()] == [(0.0, 0, 1), (0.0, 2, 3)]


def test_blocks_that_meet_at_one_time_take_part_in_one_impact():
    """From both sides of one at rest, in the middle of which nothing happens."""
    blocks = macro.StickyBlocks([0.0, 1.7, 3.4], 1.0, [1.0, 0.0, -1.0])
    assert blocks.velocities(0.8) == pytest.approx([0.0, 0.0, 0.0], abs=1e-13)
    assert [m.time for m in blocks.mergers(until=0.8)] == pytest.approx([0.7, 0.7], abs=1e-13)


# --- invariants ---


@pytest.mark.parametrize("walls", [NO_WALLS, (0.0, 9.0)])
def test_energy_never_grows(walls):
    for seed in range(6):
        energy = random_blocks(seed, walls=walls).energy(np.linspace(0, 3, 60))
        assert np.diff(energy).max() <= 1e-11


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 10**6), forces=st.booleans())
def test_momentum_changes_by_the_forces_alone(seed, forces):
    blocks, t = random_blocks(seed, forces=forces), np.linspace(0, 2, 5)
    force = blocks.lengths @ blocks.acceleration
    assert blocks.momentum(t) == pytest.approx(blocks.lengths @ blocks.v + t * force, abs=1e-10)
    assert np.diff(blocks.at(t), axis=1).min() >= 0.2


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 10**6), walls=st.sampled_from([NO_WALLS, (0.0, 12.0)]))
def test_a_mirror_and_other_units_change_nothing_else(seed, walls):
    blocks, t = random_blocks(seed, walls=walls), np.array([0.3, 0.9, 1.4])
    L = 1024.0  # lengths in these units, and times in units of 2
    mirrored = macro.StickyBlocks(
        -L * (blocks.x + blocks.lengths)[::-1], L * blocks.lengths[::-1], -L / 2 * blocks.v[::-1],
        acceleration=-L / 4 * blocks.acceleration[::-1], walls=(-L * walls[1], -L * walls[0]),
    )  # fmt: skip
    assert -(mirrored.at(2 * t)[:, ::-1] / L + blocks.lengths) == pytest.approx(blocks.at(t), abs=1e-8)


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 10**6), speed=st.floats(-100, 100))
def test_a_frame_that_moves_changes_nothing_else(seed, speed):
    blocks, t = random_blocks(seed), np.array([0.3, 0.9, 1.4])
    moving = macro.StickyBlocks(blocks.x, blocks.lengths, blocks.v + speed, acceleration=blocks.acceleration)
    assert moving.at(t) - speed * t[:, None] == pytest.approx(blocks.at(t), abs=1e-8)


# --- times ---


def test_many_times_at_once_are_each_time_alone():
    t = np.array([[2.0, 0.0, 0.7], [0.1, 1.3, 0.7]])
    for blocks in (random_blocks(1, walls=(0.0, np.inf)), random_blocks(1, forces=False)):
        for many in (blocks.at, blocks._followed, blocks.velocities, blocks.energy):
            alone = np.array([[many(s) for s in row] for row in t])
            assert many(t) == pytest.approx(alone, abs=1e-13)
        assert blocks.at(t).shape == (2, 3, 6)
        assert blocks.at([]).shape == (0, 6)
        assert blocks._followed([]).shape == (0, 6)
    assert blocks.at(0.0) == pytest.approx(blocks.x, abs=1e-15)


def test_a_merger_at_the_very_time_that_is_asked_for_counts():
    blocks = macro.StickyBlocks([0, 2, 6], [1, 2, 1], [1, 0, -1])
    assert [merger.time for merger in blocks.mergers(until=1.0)] == [1.0]
    assert len(blocks.mergers(until=np.nextafter(1.0, 0.0))) == 0
    assert [merger.time for merger in blocks.mergers(until=1.75)] == [1.0, 1.75]
    assert blocks.velocities(1.0) == pytest.approx([1 / 3, 1 / 3, -1.0], abs=1e-15)


@pytest.mark.parametrize("tau", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("walls", [NO_WALLS, (-1.0, np.inf), (-1.0, 62.0)])
def test_splitting_of_maury_and_preux_is_exact_on_a_line(tau, walls):
    """X+ = P_K (X + tau u), u+ = (X+ - X) / tau, whatever tau is."""
    v = np.random.default_rng(0).normal(size=40)
    blocks = macro.StickyBlocks(np.arange(40) * 1.5, 1.0, v, walls=walls)
    x, u = blocks.x, blocks.v
    for step in range(1, 12):
        moved = macro.StickyBlocks(x, blocks.lengths, u, walls=walls).at(tau)
        x, u = moved, (moved - x) / tau
        assert x == pytest.approx(blocks.at(step * tau), abs=1e-11)


# --- many blocks ---


def test_a_long_queue_agrees_to_round_off():
    n, rng = 20_000, np.random.default_rng(0)
    blocks = macro.StickyBlocks(np.arange(n) * 1.2 / n, 1 / n, rng.normal(size=n))
    assert np.abs(blocks._followed(0.01) - blocks.at(0.01)).max() <= 1e-13


def test_the_mergers_are_a_tree():
    n, rng = 2000, np.random.default_rng(1)
    blocks = macro.StickyBlocks(np.arange(n) * 1.2, rng.uniform(0.5, 1.0, n), rng.normal(size=n))
    time, left, right, _, mass, first, last = map(np.array, zip(*blocks.mergers(), strict=True))
    parts = np.concatenate([left, right])
    assert len(np.unique(parts)) == len(parts)
    assert (parts < n + np.tile(np.arange(len(time)), 2)).all()
    assert (np.diff(time) >= 0.0).all()
    firsts, lasts = np.concatenate([np.arange(n), first]), np.concatenate([np.arange(n), last])
    assert (lasts[left] + 1 == firsts[right]).all()
    total = np.concatenate([[0.0], np.cumsum(blocks.lengths)])
    assert mass == pytest.approx(total[last + 1] - total[first], rel=1e-10)


def test_forces_and_walls_among_many_blocks():
    """A column of blocks falls on a floor: at the end it rests there, block on block."""
    n, rng = 3000, np.random.default_rng(2)
    lengths = rng.uniform(0.5, 1.5, n)
    x = np.cumsum(rng.uniform(0.0, 1.0, n)) + np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    column = macro.StickyBlocks(x, lengths, 0.0, acceleration=-1.0, walls=(0.0, np.inf))
    assert column.sticks
    t = np.array([10.0, 40.0, 100.0])
    assert column._followed(t) == pytest.approx(column.at(t), abs=1e-9)
    assert column.at(100.0) == pytest.approx(column.before, abs=1e-9)
    assert len(column.mergers()) == n


# --- what is refused ---


def test_blocks_may_overlap_by_round_off_only():
    assert jo.macro.StickyBlocks([0.0, 1.0 - 1e-13], 1.0, 0.0).at(1.0).tolist() == pytest.approx([0.0, 1.0])
    with pytest.raises(jo.InvalidValue, match="blocks 0 and 1 overlap by 1e-09"):
        jo.macro.StickyBlocks([0.0, 1.0 - 1e-9], 1.0, 0.0)


def test_blocks_that_overlap_are_refused():
    with pytest.raises(jo.InvalidValue, match=r"blocks 0 and 1 overlap by 0\.5"):
        macro.StickyBlocks([0, 0.5], 1.0, 0.0)
    with pytest.raises(jo.InvalidValue, match=r"block 0 is 0\.5 inside the wall on the left, at 0\.5"):
        macro.StickyBlocks([0, 2], 1.0, 0.0, walls=(0.5, np.inf))
    with pytest.raises(jo.InvalidValue, match=r"block 1 is 0\.5 inside the wall on the right, at 2\.5"):
        macro.StickyBlocks([0, 2], 1.0, 0.0, walls=(-np.inf, 2.5))


@pytest.mark.parametrize("walls", [(1.0, 0.0), (np.nan, 1.0), (np.inf, np.inf), (-np.inf, -np.inf)])
def test_walls_are_one_on_the_left_and_one_on_the_right(walls):
    with pytest.raises(jo.InvalidValue, match="walls"):
        macro.StickyBlocks([0, 2], 1.0, 0.0, walls=walls)


@pytest.mark.parametrize("e", [-0.1, 1.1])
def test_the_restitution_of_blocks_lies_between_0_and_1(e):
    with pytest.raises(jo.InvalidValue, match="restitution"):
        macro.StickyBlocks([0, 2], 1.0, 0.0, restitution=e)


@pytest.mark.parametrize("t", [-1.0, np.nan, np.inf, [0.0, -1.0]])
def test_sticky_blocks_have_a_time(t):
    blocks = macro.StickyBlocks([0, 2], 1, [1, -1])
    for at in (blocks.at, blocks._followed, blocks.velocities):
        with pytest.raises(jo.InvalidValue, match="finite time"):
            at(t)
    with pytest.raises(jo.InvalidValue, match="until"):
        blocks.mergers(until=-1.0)


def test_impacts_without_end_are_an_error(monkeypatch):
    monkeypatch.setattr(sticky, "MAX_IMPACTS_PER_BLOCK", 0)
    with pytest.raises(jo.errors.UnresolvedEvent, match=r"more than 0 impacts up to t = 0\.5"):
        macro.StickyBlocks([0, 2], 1, [1, -1]).mergers()


@pytest.mark.parametrize("e", [0.3, 1.0])
def test_blocks_that_bounce_are_solved_by_events(e):
    blocks = macro.StickyBlocks([0, 2], 1, [1, -1], restitution=e)
    for ask in (
        blocks.at,
        blocks.velocities,
        blocks.momentum,
        blocks.energy,
        lambda t: blocks.mergers(),
        lambda t: blocks.sticks,
    ):
        with pytest.raises(jo.InvalidValue, match=r"restitution=0, not .* jo\.solve_by_events\(blocks\.motion\(\), t="):
            ask(1.0)
    micro = jo.solve_by_events(blocks.motion(), t=1.0)
    assert micro.u(1.0) == pytest.approx([-e, e], abs=1e-12)


def test_histories_can_be_pickled():
    blocks = random_blocks(0, n=2000)
    blocks.mergers()
    assert pickle.loads(pickle.dumps(blocks)).at(1.0).tolist() == blocks.at(1.0).tolist()
