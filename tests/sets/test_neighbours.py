"""Balls in large numbers and in periodic space: the list of pairs lasts, and nothing depends on it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jostle as jo
from jostle.errors import InvalidValue, NotFinite
from jostle.sets import balls as neighbours
from kernel_sets import cpu, reference
from rows import examples

OPEN = np.full(2, np.inf)


def rows(contacts):
    return contacts.pairs.tolist(), contacts.gap.tolist(), contacts.normals.tolist()


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 10_000), st.floats(0.0, 0.4), st.floats(0.0, 0.02), st.booleans())
def test_contacts_do_not_depend_on_what_was_looked_at_before(seed, step, growth, periodic):
    """Bodies walk and swell at random: a set that kept its list agrees, to the bit, with one that never saw them."""
    random = np.random.default_rng(seed)
    period = np.array([16.0, 16.0]) if periodic else None
    q, r = random.uniform(0.0, 16.0, (130, 2)), random.uniform(0.3, 0.6, 130)
    used = jo.Balls(lambda t: r * (1.0 + growth * t), period=period)
    for k in range(6):
        q = q + random.normal(size=q.shape) * step / 4.0 + [1.0, 0.5]
        cutoff = random.uniform(0.0, 0.5)
        fresh = jo.Balls(lambda t: r * (1.0 + growth * t), period=period)
        assert rows(used.linearise(float(k), q, cutoff)) == rows(fresh.linearise(float(k), q, cutoff))
        each = np.full(len(q), cutoff / 2.0)
        (i, j), _, _ = reference.all_pairs(q, r * (1.0 + growth * k), each, OPEN if period is None else period)
        assert used.linearise(float(k), q, cutoff).pairs.tolist() == np.stack([i, j], axis=1).tolist()


def test_the_list_is_kept_while_it_serves(monkeypatch):
    made = []
    search = neighbours.pair_list
    monkeypatch.setattr(neighbours, "pair_list", lambda *args: made.append(1) or search(*args))
    q = np.random.default_rng(0).uniform(0.0, 20.0, (200, 2))
    balls = jo.Balls(np.full(200, 0.5))
    balls.linearise(0.0, q, 0.01)
    balls.linearise(0.0, q + np.array([5.0, -3.0]), 0.01)  # all together
    small = q.copy()
    small[3] += 0.01
    balls.linearise(0.0, small, 0.02)
    assert len(made) == 1
    large = q.copy()
    large[3] += 0.5
    balls.linearise(0.0, large, 0.02)
    balls.linearise(0.0, large, 0.9)
    assert len(made) == 3


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 10_000), st.integers(-3, 3), st.integers(-3, 3))
def test_gaps_in_periodic_space_do_not_change_when_a_body_goes_round(seed, a, b):
    random = np.random.default_rng(seed)
    n, period = 100, np.array([12.0, 9.0])
    q = random.uniform(0.0, 9.0, (n, 2))
    balls = jo.Balls(np.full(n, 0.3), period=period)
    before = balls.linearise(0.0, q, 0.5)
    moved = q.copy()
    moved[random.integers(n)] += [a * period[0], b * period[1]]
    after = balls.linearise(0.0, moved, 0.5)
    assert before.pairs.tolist() == after.pairs.tolist()
    np.testing.assert_allclose(before.gap, after.gap, atol=1e-12)
    np.testing.assert_allclose(before.normals, after.normals, atol=1e-10)


@pytest.mark.parametrize("n", [3, 80])
def test_a_ball_meets_the_image_of_another(n):
    q = np.stack([3.0 * np.arange(n), np.zeros(n)], axis=1)
    q[-1] = [-1.5, 0.0]
    balls = jo.Balls(np.full(n, 0.5), period=[3.0 * n, np.inf])
    assert balls.gap(0.0, q) == pytest.approx(0.5)
    push = jo.Motion(q0=q, v0=np.where(np.arange(n)[:, None] == n - 1, [1.0, 0.0], 0.0), within=balls)
    sol = jo.solve(push, jo.Maury(), t=1.0, h=0.1)
    assert sol.u[-1, :, 0].sum() == pytest.approx(1.0)
    assert sol.u[-1, 0, 0] == pytest.approx(0.5)
    assert sol.gaps().min() > -1e-9


def test_a_period_too_short_or_a_step_too_long_is_refused():
    with pytest.raises(InvalidValue, match="four radii"):
        jo.Balls([0.5, 0.5], period=[1.9, np.inf]).gap(0.0, [[0.0, 0.0], [1.0, 0.0]])
    with pytest.raises(InvalidValue, match="must be positive"):
        jo.Balls([0.5], period=[-1.0])
    with pytest.raises(InvalidValue, match="3 periods"):
        jo.Balls([0.5, 0.5], period=[9.0, 9.0, 9.0]).gap(0.0, [[0.0, 0.0], [1.0, 0.0]])
    q = np.stack([2.0 * np.arange(100.0), np.zeros(100)], axis=1)
    fast = jo.Motion(q0=q, v0=[[90.0, 0.0]] * 100, within=jo.Balls(np.full(100, 0.5), period=[200.0, np.inf]))
    with pytest.raises(InvalidValue, match="too large for the period"):
        jo.solve(fast, jo.Maury(), t=2.0, h=1.0)


def test_a_step_too_long_for_the_period_of_a_ring_is_refused_too():
    """The configuration is not one of bodies (n, d), so that all pairs have one cutoff."""
    ring = jo.Motion(q0=[0.0, 3.0, 6.0], v0=[9.0, 0.0, 0.0], within=jo.Balls(np.full(3, 0.5), period=10.0))
    assert ring.within.linearise(0.0, ring.q0, 100.0).cutoff == 4.0
    with pytest.raises(InvalidValue, match="too large for the period"):
        jo.solve(ring, jo.Maury(), t=1.0, h=1.0)


def test_the_smallest_gap_of_many_is_found_however_large_it_is():
    q = np.stack(np.meshgrid(np.arange(10.0), np.arange(10.0)), axis=2).reshape(-1, 2)
    for spacing in (1.0, 1.1, 5.0, 1e6):
        assert jo.Balls(np.full(100, 0.5)).gap(0.0, spacing * q) == pytest.approx(spacing - 1.0, rel=1e-9, abs=1e-12)


def test_a_position_that_is_not_finite_is_named():
    q = np.random.default_rng(0).uniform(0.0, 20.0, (100, 2))
    q[42, 1] = np.nan
    with pytest.raises(NotFinite, match="ball 42"):
        jo.Balls(np.full(100, 0.1)).linearise(0.0, q, 0.1)


@pytest.mark.parametrize("kernels", [cpu, reference])
def test_near_pairs_that_are_not_in_the_list_are_left_out(kernels):
    row, half, far = np.array([[0.0], [1.0], [2.0]]), np.full(3, 0.5), np.full(1, np.inf)
    listed = np.array([[0], [1]], dtype=np.int32)
    pairs, normal, gap = kernels.near(*listed, row, half, np.zeros(3), far, 1)
    assert (pairs.tolist(), normal.tolist(), gap.tolist()) == ([[0], [1]], [[1.0]], [0.0])


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([20, 150]))
def test_each_body_may_have_a_reach_of_its_own(seed, n):
    random = np.random.default_rng(seed)
    q, radii, cutoff = random.uniform(0.0, 12.0, (n, 2)), random.uniform(0.2, 0.6, n), random.exponential(0.2, n)
    cutoff[0] = 8.0
    for Q in (jo.Balls(radii), jo.Box([-1.0, -1.0], [13.0, 13.0], radii=radii)):
        full, near = Q.linearise(0.0, q), Q.linearise(0.0, q, cutoff)
        i, j = full.pairs.T
        rows = np.flatnonzero(full.gap <= cutoff[i] + np.where(j >= 0, cutoff[np.maximum(j, 0)], 0.0))
        assert 0 < len(rows) < len(full.gap)
        assert near.pairs.tolist() == full.pairs[rows].tolist()
        assert near.gap.tolist() == full.gap[rows].tolist()
        assert near.cutoff.tolist() == cutoff.tolist()


def test_one_fast_body_makes_no_rows_for_the_others():
    """It goes twenty radii a step through a loose layer: the others have the rows that they would have without it."""
    q = np.stack(np.meshgrid(np.arange(40) * 1.3, np.arange(40) * 1.3, indexing="ij"), axis=-1).reshape(-1, 2)
    q = np.concatenate([q, [[-3.0, 20.3]]])
    v = np.zeros_like(q)
    v[:-1, 1], v[-1, 0] = 0.1, 1000.0
    problem = jo.Motion(q0=q, v0=v, within=jo.Balls(np.full(len(q), 0.5)))
    sol = jo.solve(problem, jo.Maury(), t=0.05, h=0.01)
    assert sol.gaps().min() >= -1e-8
    assert sol.u[-1, :-1, 0].max() > 1.0  # it did hit some
    assert sol.stats["rows"].max() <= 4 * len(q)


def test_a_set_that_knows_one_reach_only_gets_a_number():
    asked = []

    class Mine(jo.HalfSpace):
        by_body = False

        def linearise(self, t, q, cutoff=np.inf):
            asked.append(cutoff)
            return super().linearise(t, q, cutoff)

    within = jo.Balls(np.full(3, 0.5)) & Mine([0.0, 1.0], radii=0.5)
    contacts = within.linearise(0.0, np.array([[0.0, 1.0], [3.0, 1.0], [6.0, 4.0]]), np.array([0.1, 0.4, 0.2]))
    assert asked == [0.8]
    assert contacts.pairs.tolist() == [[0, -1], [1, -1]]
    assert contacts.cutoff.tolist() == [0.1, 0.4, 0.2]


# --- the cut-off, at its very edge ---

EDGE = 1e-9


def at_the_edge(axis, d, small):
    """Pairs of balls that just meet along one axis, each pair shifted a little further against the grid of cells."""
    shifts = np.arange(0.0, 1.0, 0.004)
    radii = np.stack([np.full(len(shifts), small), np.ones(len(shifts))], axis=1)
    radii[1::2] = radii[1::2, ::-1]
    q = np.zeros((len(shifts), 2, d))
    q[:, :, (axis + 1) % d] = 5.0 * np.arange(len(shifts))[:, None]
    q[:, 0, axis] = 2.0 * shifts
    q[:, 1, axis] = 2.0 * shifts + (1.0 - EDGE) * radii.sum(axis=1)
    return q.reshape(-1, d), radii.ravel()


@pytest.mark.parametrize("small", [1.0, 0.7, 0.3])
@pytest.mark.parametrize(("d", "axis"), [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)])
@pytest.mark.parametrize("chunks", [1, 3])
def test_balls_that_just_meet_are_found_wherever_the_cells_end(d, axis, small, chunks):
    """A search that is short by half a percent loses the pairs whose second ball lies just beyond an end of a cell."""
    q, radii = at_the_edge(axis, d, small)
    i, j = cpu.pair_list(q, radii, np.full(d, np.inf), chunks)
    assert np.stack([i, j], axis=1).tolist() == [[k, k + 1] for k in range(0, len(q), 2)]


@pytest.mark.parametrize("small", [1.0, 0.3])
def test_balls_that_just_miss_each_other_are_not_listed(small):
    q, radii = at_the_edge(0, 2, small)
    i, _ = cpu.pair_list(q, (1.0 - 2.0 * EDGE) * radii, OPEN, 1)
    assert len(i) == 0


def a_pair_and_others(distance, angle):
    """Two balls around the origin, and 81 far away that do not move."""
    half = distance / 2.0 * np.array([np.cos(angle), np.sin(angle)])
    others = 40.0 + 3.0 * np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=2).reshape(-1, 2)
    return np.concatenate([[-half, half], others])


@pytest.mark.parametrize("cutoff", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("angle", np.linspace(0.0, 3.1, 8))
@pytest.mark.parametrize("lists", [1, 2])
def test_a_list_serves_as_long_as_it_has_every_pair_that_came_within_reach(monkeypatch, cutoff, angle, lists):
    """Two balls come towards each other as far as the list allows, or a little further.

    In the first case their rooms just met when the list was made, in the second they just did not.
    """
    made = []
    search = neighbours.pair_list
    monkeypatch.setattr(neighbours, "pair_list", lambda *args: made.append(search(*args)) or made[-1])
    n, r = 83, 0.5
    room = r + neighbours.CUTOFF_MARGIN * cutoff + neighbours.SKIN * r
    slack, balls, each = room - r - cutoff, jo.Balls(np.full(n, r)), np.full(n, cutoff)
    first, way = (2.0 * room * (1.0 - EDGE), slack * (1.0 - EDGE)) if lists == 1 else (2.001 * room, 1.01 * slack)
    way = max(way, first / 2.0 - r - cutoff * (1.0 - EDGE)) if lists == 2 else way
    balls.linearise(0.0, a_pair_and_others(first, angle), each)
    assert made[0].room.tolist() == pytest.approx([room] * n)
    contacts = balls.linearise(0.0, a_pair_and_others(first - 2.0 * way, angle), each)
    assert len(made) == lists
    assert contacts.pairs.tolist() == [[0, 1]]
    assert contacts.gap[0] <= 2.0 * cutoff
