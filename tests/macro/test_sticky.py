"""Blocks on a line: the projection, the impacts one by one, grains on a line, and closed forms."""

import re
import warnings
from decimal import Context, Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

import jostle as jo
from jostle import macro
from jostle.macro.motion import sticky
from rows import examples, few

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


def random_blocks(seed, n=6, e=0.0, forces=True, walls=NO_WALLS):
    random = np.random.default_rng(seed)
    lengths = random.uniform(0.2, 1.0, n)
    x = np.cumsum(random.uniform(0.05, 1.0, n)) + np.concatenate([[0], np.cumsum(lengths)[:-1]])
    a = random.normal(size=n) if forces else 0.0
    return macro.StickyBlocks(x, lengths, random.normal(size=n), acceleration=a, restitution=e, walls=walls)


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
    assert blocks.mergers()[:] == [(0.5, -1, 0, 0.0, 1.0), (1.0, 2, 1, 0.0, 2.0)]
    assert blocks.at(5.0).tolist() == [0.0, 1.0]
    assert blocks.momentum([0.0, 0.75, 5.0]).tolist() == [-2.0, -1.0, 0.0]
    right = macro.StickyBlocks([0.5], 1.0, 1.0, walls=(-np.inf, 2.5))
    assert right.mergers()[:] == [(1.0, 0, -2, 0.0, 1.0)]


def test_blocks_without_room_do_not_move():
    blocks = macro.StickyBlocks([0.0, 1.0], 1.0, [3.0, -2.0], acceleration=[1.0, -4.0], restitution=0.5, walls=(0, 2))
    assert blocks.at([0.5, 4.0]) == pytest.approx(np.array([[0.0, 1.0], [0.0, 1.0]]), abs=1e-12)


# --- grains on a line ---


@pytest.mark.each_value
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("walls", [NO_WALLS, (0.0, np.inf), (-np.inf, 9.0), (-0.5, 8.0)])
def test_grains_on_a_line_are_the_same_numbers(e, walls):
    t, compared = np.linspace(0.05, 2.0, 9), 0
    for seed in range(8):
        blocks = random_blocks(seed, e=e, forces=seed % 2 == 0, walls=walls)
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
        n, e = int(random.integers(2, 7)), float(random.choice([0.5, 1.0]))
        lengths = random.integers(1, 4, n) / 2
        x = np.cumsum(random.integers(0, 3, n) / 2) + np.concatenate([[0], np.cumsum(lengths)[:-1]])
        v, upper = random.integers(-2, 3, n).astype(float), x[-1] + lengths[-1] + 0.5
        walls = [NO_WALLS, (0.0, np.inf), (-1.0, upper)][seed % 3]
        blocks = macro.StickyBlocks(x, lengths, v, acceleration=-1.0 * (seed % 2), restitution=e, walls=walls)
        micro = jo.solve_by_events(blocks.motion(), t=1.0)
        if not micro.accumulations:
            compared += 1
            t = np.array([0.1, 0.4, 0.99])
            assert micro.q(t) - lengths / 2 == pytest.approx(blocks.at(t), abs=1e-7)
    assert compared >= 2 * seeds // 3


CASCADES = {
    "at_a_wall": ([0, 1.5, 3, 4], [1, 1.5, 1, 0.5], [-1, 2, 0, 1], 1, 1.0, (-1, 4.5)),
    "velocities_that_become_equal": (
        [0.5, 3, 4.5, 5, 5.5, 6], [1.5, 0.5, 0.5, 0.5, 0.5, 1], [0, 2, 1, -1, 1, -1], 1, 1.0, (-1, 7)
    ),
    "forces": (
        [1, 2, 2.5, 3.5, 5.5, 6.5], [1, 0.5, 1, 1.5, 0.5, 0.5], [2, 0, 2, -2, 1, 1], [-2, -1, -2, 2, -1, 1], 1.0,
        (-np.inf, 7.5),
    ),
    "after_a_collapse": (
        [0, 1.5, 3.5, 4, 6.5, 9], [0.5, 1, 0.5, 1.5, 1.5, 1.5], [0, 0, -1, 1, -2, -2], 0, 0.1, (-1, 10.5)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASCADES)
def test_impacts_that_follow_each_other_at_one_time_are_those_of_grains(name):
    """First all contacts that close at that time, then those that they make collide; what has collapsed is one."""
    x, lengths, v, a, e, walls = CASCADES[name]
    blocks = macro.StickyBlocks(x, lengths, v, acceleration=a, restitution=e, walls=walls)
    t = np.array([0.1, 0.5, 1.0]) * (3.0 if name == "after_a_collapse" else 1.0)
    micro = jo.solve_by_events(blocks.motion(), t=3.0)
    assert micro.q(t) - blocks.lengths / 2 == pytest.approx(blocks.at(t), abs=1e-7)
    assert micro.u(t) == pytest.approx(blocks.velocities(t), abs=1e-6)


def test_a_scheme_with_time_steps_follows_the_same_grains():
    blocks = random_blocks(5, n=8, forces=False)
    sol = jo.solve(blocks.motion(), jo.Maury(), t=2.0, h=0.25)
    assert sol.q - blocks.lengths / 2 == pytest.approx(blocks.at(sol.t), abs=1e-9)


def test_a_cradle_that_touches_moves_as_one():
    """Moreau's law at all contacts together, as in `jo.models.cradle`."""
    for gap, expected in ((0.0, [-0.6, 0.4, 0.4, 0.4, 0.4]), (0.1, [0, 0, 0, 0, 1])):
        x = np.concatenate([[0.0], 2.0 + (1.0 + gap) * np.arange(4)])
        cradle = macro.StickyBlocks(x, 1.0, [1, 0, 0, 0, 0], restitution=1.0)
        assert cradle.velocities(4.0) == pytest.approx(expected, abs=1e-12)


# --- closed forms ---


@pytest.mark.parametrize("walls", [NO_WALLS, (-0.5, np.inf), (-0.5, 60.0)])
def test_equal_blocks_with_e_1_pass_on_their_velocities(walls):
    """Without their lengths they are points that go through each other, reflected at the walls."""
    random = np.random.default_rng(0)
    n, length = 40, 0.5
    y, v = np.sort(random.uniform(0.0, 30.0, n)), random.normal(size=n)
    blocks = macro.StickyBlocks(y + length * np.arange(n), length, v, restitution=1.0, walls=walls)
    lower, upper = walls[0], walls[1] - n * length
    t = 5.0
    free = y + t * v
    if walls[0] > -np.inf:
        free = lower + np.abs(free - lower)
    if walls[1] < np.inf:
        free = np.where(free > upper, 2 * upper - free, free)
    assert blocks.at(t) == pytest.approx(np.sort(free) + length * np.arange(n), abs=1e-9)
    assert len(blocks.mergers(until=t)) == 0


def test_a_block_that_bounces_comes_to_rest_at_the_limit():
    """From 1.25 with g = 10: impacts at 0.5, then after 0.5, 0.25, 0.125 ..., at rest from 1.5 on."""
    blocks = macro.StickyBlocks([1.25], 1, 0, acceleration=-10, restitution=0.5, walls=(0, np.inf))
    s = np.array([0.25, 0.5, 0.1])  # after the impacts at 0.5, 1.0 and 1.25, with the velocities 2.5, 1.25 and 0.625
    t, v = np.array([0.5, 1.0, 1.25]) + s / 4, np.array([2.5, 1.25, 0.625])
    assert blocks.at(t)[:, 0] == pytest.approx(v * s / 4 - 5 * (s / 4) ** 2, abs=1e-12)
    (rest,) = blocks.mergers(until=100.0)
    assert (rest.time, rest.left, rest.right) == (pytest.approx(1.5, abs=1e-12), -1, 0)
    assert blocks.at(50.0).tolist() == [0.0]
    assert blocks.velocities([1.6, 50.0]).tolist() == [[0.0], [0.0]]


def test_blocks_that_a_force_presses_together_stick_at_the_limit_of_their_impacts():
    """Relative velocity 1 at t = 1, then e = 1/2 and relative acceleration 2: the flights 1/2, 1/4 ... add up to 1."""
    blocks = macro.StickyBlocks([0.0, 2.0], 1.0, [0.0, 0.0], acceleration=[1.0, -1.0], restitution=0.5)
    (stuck,) = blocks.mergers(until=100.0)
    assert stuck.time == pytest.approx(1.0 + 2.0 * 0.5 * 2.0 / 2.0 / (1.0 - 0.5), abs=1e-12)
    assert stuck.velocity == pytest.approx(0.0, abs=1e-15)
    assert blocks.at(50.0) == pytest.approx([0.5, 1.5], abs=1e-14)


@pytest.mark.parametrize(("e", "collapses"), [(0.02, True), (0.06, True), (0.1, False), (0.3, False)])
def test_three_equal_blocks_collapse_if_e_is_below_7_minus_4_sqrt_3(e, collapses):
    """McNamara & Young 1992: infinitely many impacts in a finite time, for e < 0.0718."""
    blocks = macro.StickyBlocks([0.0, 1.1, 3.0], 1.0, [1.0, 0.0, -1.0], restitution=e)
    left = 3 - len(blocks.mergers(until=1e6))
    assert left == (1 if collapses else 3)
    assert blocks.momentum(1e6) == pytest.approx(0.0, abs=1e-12)
    if collapses:
        assert blocks.velocities(10.0) == pytest.approx(np.zeros(3), abs=1e-12)


def in_many_digits(y, v, walls, e, until):
    """Points of mass one between two walls, impact by impact with 600 digits; an accumulation is one from 1e-20 on.

    Each digit of its velocities takes up to seven of its times and gaps.
    """
    with localcontext(Context(prec=600)):
        y, v = [*map(Decimal, (walls[0], *y, walls[1]))], [*map(Decimal, (0.0, *v, 0.0))]
        sizes, walled = [1] * len(y), [True, *[False] * (len(y) - 2), True]
        left, e, small, rest = Decimal(until), Decimal(e), Decimal("1e-20"), Decimal("1e-10")
        while True:
            times = [(y[k + 1] - y[k]) / (v[k] - v[k + 1]) if v[k] > v[k + 1] else left for k in range(len(y) - 1)]
            s = min(left, *times) if times else left
            y, left = [a + s * u for a, u in zip(y, v, strict=True)], left - s
            if left == 0:
                return np.array([float(a) for a, size in zip(y, sizes, strict=True) for _ in range(size)][1:-1])
            begin = times.index(s)
            end, sticks = begin + 2, v[begin] - v[begin + 1] < small
            while sticks and begin > 0 and y[begin] - y[begin - 1] < rest > abs(v[begin] - v[begin - 1]):
                begin -= 1
            while sticks and end < len(y) and y[end] - y[end - 1] < rest > abs(v[end] - v[end - 1]):
                end += 1
            total, fixed = sum(sizes[begin:end]), any(walled[begin:end])
            mean = Decimal(0) if fixed else sum(sizes[k] * v[k] for k in range(begin, end)) / total
            if sticks:
                place = next((y[k] for k in range(begin, end) if walled[k]), y[begin])
                y[begin:end], v[begin:end], walled[begin:end], sizes[begin:end] = [place], [mean], [fixed], [total]
            else:
                v[begin:end] = [v[k] if walled[k] else mean + e * (mean - v[k]) for k in range(begin, end)]


def test_a_group_whose_impacts_accumulate_closes_as_one():
    """The last three come to rest at the wall together, before the first block bounces off them."""
    blocks = macro.StickyBlocks([1, 3, 5, 7], 1, [4, 3, 0, -2], restitution=0.2, walls=(0, 9))
    assert blocks.at(8.0) == pytest.approx([3.5010847186944, 6.0, 7.0, 8.0], abs=1e-12)
    assert blocks.mergers(until=8.0).time == pytest.approx([1.9999288848536079] * 3, abs=1e-13)
    assert blocks.mergers(until=8.0).first.min() == 1


@settings(max_examples=examples(30), deadline=None)
@given(seed=st.integers(0, 10**6), e=st.sampled_from([0.1, 0.2, 0.2]), n=st.integers(3, 8))
def test_accumulations_of_many_impacts_are_those_of_many_digits(seed, e, n):
    random = np.random.default_rng(seed)
    y, v, walls = np.sort(random.uniform(0.0, n, n)), random.uniform(-4.0, 4.0, n), (-0.5, n + 0.5)
    blocks = macro.StickyBlocks(y + np.arange(n), 1.0, v, restitution=e, walls=(-0.5, 2 * n + 0.5))
    expected = in_many_digits(blocks.x - np.arange(n), v, walls, e, 20.0)
    assert blocks.at(20.0) - np.arange(n) == pytest.approx(expected, abs=1e-10)


def test_blocks_with_equal_velocities_never_meet():
    blocks = macro.StickyBlocks([0.0, 1.5, 4.0], 1.0, 2.0)
    assert len(blocks.mergers()) == 0
    assert blocks.at(7.0).tolist() == [14.0, 15.5, 18.0]


def test_blocks_that_touch_and_stay_in_touch_are_one_from_the_start():
    blocks = macro.StickyBlocks(0.1 * np.arange(30), 0.1, 2.0)
    assert blocks.mergers().time.tolist() == [0.0] * 29
    apart = macro.StickyBlocks([0.0, 1.0], 1.0, [0.0, 1.0])
    assert len(apart.mergers()) == 0
    pulled = macro.StickyBlocks([0.0, 1.0], 1.0, 0.0, acceleration=[0.0, 1.0])
    assert len(pulled.mergers(until=9.0)) == 0


def test_a_vacuum_opens_between_blocks_that_part():
    blocks = macro.StickyBlocks([0.0, 1.0, 2.0, 3.0], 1.0, [1.0, -1.0, 1.5, 0.5])
    assert blocks.at(2.0) == pytest.approx([0.0, 1.0, 4.0, 5.0], abs=1e-12)
    assert [m[:3] for m in blocks.mergers()] == [(0.0, 0, 1), (0.0, 2, 3)]


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_blocks_that_meet_at_one_time_take_part_in_one_impact(e):
    """From both sides of one at rest, in the middle of which nothing happens."""
    blocks = macro.StickyBlocks([0.0, 1.7, 3.4], 1.0, [1.0, 0.0, -1.0], restitution=e)
    assert blocks.velocities(0.8) == pytest.approx([-e, 0.0, e], abs=1e-13)
    assert blocks.mergers(until=0.8).time == pytest.approx([0.7, 0.7] if e == 0.0 else [], abs=1e-13)


# --- invariants ---


@pytest.mark.each_value
@pytest.mark.parametrize("e", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("walls", [NO_WALLS, (0.0, 9.0)])
def test_energy_never_grows_and_e_1_keeps_it(e, walls):
    for seed in range(6):
        blocks = random_blocks(seed, e=e, walls=walls)
        energy = blocks.energy(np.linspace(0, 3, 60))
        assert np.diff(energy).max() <= 1e-11
        if e == 1.0:
            assert energy == pytest.approx(np.full(60, energy[0]), abs=1e-10)


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 10**6), e=st.sampled_from([0.0, 0.4, 1.0]), forces=st.booleans())
def test_momentum_changes_by_the_forces_alone(seed, e, forces):
    blocks, t = random_blocks(seed, e=e, forces=forces), np.linspace(0, 2, 5)
    force = blocks.lengths @ blocks.acceleration
    assert blocks.momentum(t) == pytest.approx(blocks.lengths @ blocks.v + t * force, abs=1e-10)
    assert np.diff(blocks.at(t), axis=1).min() >= 0.2


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 10**6), e=st.sampled_from([0.0, 0.4, 1.0]), walls=st.sampled_from([NO_WALLS, (0.0, 12.0)]))
def test_a_mirror_and_other_units_change_nothing_else(seed, e, walls):
    blocks, t = random_blocks(seed, e=e, walls=walls), np.array([0.3, 0.9, 1.4])
    L = 1024.0  # lengths in these units, and times in units of 2
    mirrored = macro.StickyBlocks(
        -L * (blocks.x + blocks.lengths)[::-1], L * blocks.lengths[::-1], -L / 2 * blocks.v[::-1],
        acceleration=-L / 4 * blocks.acceleration[::-1], restitution=e, walls=(-L * walls[1], -L * walls[0]),
    )  # fmt: skip
    assert -(mirrored.at(2 * t)[:, ::-1] / L + blocks.lengths) == pytest.approx(blocks.at(t), abs=1e-8)


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 10**6), e=st.sampled_from([0.0, 0.4, 1.0]), speed=st.floats(-100, 100))
def test_a_frame_that_moves_changes_nothing_else(seed, e, speed):
    blocks, t = random_blocks(seed, e=e), np.array([0.3, 0.9, 1.4])
    moving = macro.StickyBlocks(
        blocks.x, blocks.lengths, blocks.v + speed, acceleration=blocks.acceleration, restitution=e
    )
    assert moving.at(t) - speed * t[:, None] == pytest.approx(blocks.at(t), abs=1e-8)


# --- times ---


def test_many_times_at_once_are_each_time_alone():
    t = np.array([[2.0, 0.0, 0.7], [0.1, 1.3, 0.7]])
    for blocks in (random_blocks(1, e=0.5, walls=(0.0, np.inf)), random_blocks(1, forces=False)):
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
    n, rng = 100_000, np.random.default_rng(0)
    blocks = macro.StickyBlocks(np.arange(n) * 1.2 / n, 1 / n, rng.normal(size=n))
    assert np.abs(blocks._followed(0.01) - blocks.at(0.01)).max() <= 1e-13


def test_the_merge_tree_is_a_tree():
    n, rng = 2000, np.random.default_rng(1)
    blocks = macro.StickyBlocks(np.arange(n) * 1.2, rng.uniform(0.5, 1.0, n), rng.normal(size=n))
    tree = blocks.mergers()
    parts = np.concatenate([tree.left, tree.right])
    assert len(np.unique(parts)) == len(parts)
    assert (parts < n + np.tile(np.arange(len(tree)), 2)).all()
    assert (np.diff(tree.time) >= 0.0).all()
    first = np.concatenate([np.arange(n), tree.first])
    last = np.concatenate([np.arange(n), tree.last])
    assert (last[tree.left] + 1 == first[tree.right]).all()
    total = np.concatenate([[0.0], np.cumsum(blocks.lengths)])
    assert tree.mass == pytest.approx(total[tree.last + 1] - total[tree.first], rel=1e-10)
    assert repr(tree).endswith(f"{len(tree) - 8} more]")


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
    gas = macro.StickyBlocks(x, lengths, rng.normal(size=n), restitution=0.9, walls=(0.0, x[-1] + lengths[-1]))
    assert np.diff(gas.energy(np.linspace(0, 5, 11))).max() <= 1e-9
    gaps = np.diff(gas.at([1.0, 5.0])) - lengths[:-1]
    assert gaps.min() >= -1e-9


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
    monkeypatch.setattr(sticky, "MAX_IMPACTS", 1000)
    blocks = macro.StickyBlocks([0.5], 1.0, 1.0, restitution=1.0, walls=(0.0, 2.0))
    assert blocks.at(100.0)[0] == pytest.approx(0.5, abs=1e-9)
    with pytest.raises(jo.errors.UnresolvedEvent, match="more than 1000 impacts up to t = 999"):
        blocks.mergers()


def many_blocks(seed, e, n=30):
    random = np.random.default_rng(seed)
    y, v = np.sort(random.uniform(0.0, n, n)), random.uniform(-4.0, 4.0, n)
    return macro.StickyBlocks(y + np.arange(n), 1.0, v, restitution=e, walls=(-0.5, 2 * n + 0.5))


@pytest.mark.parametrize("seed", [0, 17, 19])
def test_a_motion_that_depends_on_round_off_is_a_warning_with_its_time_and_blocks(seed):
    """In other units of time the motion is another one by the end."""
    blocks = many_blocks(seed, 0.5)
    with pytest.warns(jo.errors.DependsOnRoundOff, match=r"from t = \d.* on, first at block") as found:
        X = blocks.at(20.0)
    time = float(re.search("from t = ([^ ]*) on", str(found[0].message))[1])
    assert blocks.at(0.5 * time) == pytest.approx(many_blocks(seed, 0.5).at(0.5 * time), abs=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jo.errors.DependsOnRoundOff)
        others = [
            macro.StickyBlocks(blocks.x, 1.0, c * blocks.v, restitution=0.5, walls=blocks.walls)
            for c in (0.3, 0.6, 0.9, 1.1)
        ]
        ends = [other.at(20.0 / c) for c, other in zip((0.3, 0.6, 0.9, 1.1), others, strict=True)]
    assert max(np.abs(end - X).max() for end in ends) > 1e-6


@pytest.mark.parametrize(("e", "n", "most"), few([(0.1, 8, 0), (0.2, 8, 0), (0.5, 8, 0), (0.1, 30, 0), (0.8, 30, 4)]))
def test_few_random_motions_depend_on_round_off(e, n, most):
    count = 0
    for seed in range(24):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            many_blocks(seed, e, n).at(20.0)
        count += len(found)
    assert count <= most


def test_mergers_without_an_end_that_depend_on_round_off_are_a_warning():
    """Their times, up to 1e15, are others in other units; the comparison up to t = inf compared NaN."""
    with pytest.warns(jo.errors.DependsOnRoundOff, match=r"from t = \d.* on, first at block"):
        many_blocks(1, 0.8).mergers()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(many_blocks(0, 0.1).mergers()) == 30
        assert len(macro.StickyBlocks([0.0, 3.0], 1.0, [1.0, 2.0], restitution=0.5).mergers()) == 0


@pytest.mark.parametrize("ask", [lambda row: row.at(20.0), lambda row: row.mergers()], ids=["at", "mergers"])
def test_early_impacts_that_depend_on_round_off_are_a_warning(ask):
    """All are over before t = 2e-4, when no position differs yet: the velocities do, and the positions later."""
    random = np.random.default_rng(135)
    x = np.arange(30) + 1e-8 * np.cumsum(random.integers(0, 4, 30))
    with pytest.warns(jo.errors.DependsOnRoundOff, match="first at block"):
        ask(macro.StickyBlocks(x, 1.0, random.normal(size=30), restitution=0.5))
