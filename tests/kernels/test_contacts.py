"""The loops over contacts of bodies, and the cells that find them, against their plain definitions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows_in_space import rows_in_space

from contact_definitions import accelerated_sweeps
from jostle.kernels import Answer, ContactRows, space
from jostle.kernels.cpu import arrangement
from jostle.kernels.cpu.arrangement import ROW, GivenRows, arranged
from jostle.kernels.reference.sweeps import Stop
from kernel_sets import cpu, reference
from rows import WHOLE, examples, whole

AGREE = 1e-12


def contacts(m, n, d, seed):
    """m random rows between n bodies, some of them walls."""
    random = np.random.default_rng([m, n, d, seed])
    i = random.integers(0, n, m)
    j = np.where(random.uniform(size=m) < 0.2, -1 - random.integers(0, 3, m), (i + random.integers(1, n, m)) % n)
    normal = random.normal(size=(m, d))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return i, j, normal, np.repeat(random.uniform(0.2, 5.0, n), d).reshape(n, d), random


SIZES = [(1, 2, 1), (7, 3, 2), (40, 12, 2), (60, 15, 3), (30, 9, 4), (30, 9, 9)]


@pytest.mark.parametrize(("m", "n", "d"), SIZES)
def test_products_with_contacts_are_those_of_the_dense_matrix(m, n, d):
    i, j, normal, inverse, random = contacts(m, n, d, 0)
    G = reference.pairs_to_dense(ContactRows(i, j, normal), n)
    v, p = random.normal(size=(n, d)), random.uniform(size=m)
    np.testing.assert_allclose(cpu.rates(ContactRows(i, j, normal), v, 1), G @ v.ravel(), atol=AGREE)
    np.testing.assert_allclose(
        cpu.magnitude(ContactRows(i, j, normal), v, 1), np.abs(G) @ np.abs(v.ravel()), atol=AGREE
    )
    np.testing.assert_allclose(cpu.adjoint(ContactRows(i, j, normal), p, n, 1).ravel(), G.T @ p, atol=AGREE)
    np.testing.assert_allclose(
        cpu.norms(ContactRows(i, j, normal), inverse, 1), np.sqrt((G**2 * inverse.ravel()).sum(axis=1)), rtol=AGREE
    )


@pytest.mark.parametrize("kernels", [cpu, reference], ids=["cpu", "reference"])
def test_the_residual_of_a_contact_weighs_both_bodies(kernels):
    """w = 0, masses 1 and 4, u_0 = (1, 0), u_1 = 0, p = -1, and no length."""
    rows = ContactRows(np.array([0]), np.array([1]), np.array([[1.0, 0.0]]))
    w, mass, u = np.zeros((2, 2)), np.array([[1.0, 1.0], [4.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 0.0]])
    found = kernels.residual_pairs(rows, Answer(*np.zeros((3, 1)), w, mass, u, np.array([-1.0])), 1)
    # |u - w|_M = 1; slack -1; |G| = sqrt(1 + 1/4) in the dual norm; M (u - w) - G^T p = ((0, 0), (1, 0)), of norm 1/2
    assert found == pytest.approx((1.0 / np.sqrt(1.25), 0.5 + np.sqrt(1.25), 1.0), rel=AGREE)


def whitened(i, j, normal, inverse):
    """The rows in coordinates where the metric is Euclidean, and their lengths."""
    A = reference.pairs_to_dense(ContactRows(i, j, normal), len(inverse)) * np.sqrt(inverse.ravel())
    unit = np.linalg.norm(A, axis=1)
    return A / unit[:, None], unit


def order_of(i, j, normal, n, places=None, chunks=1):
    """The rows in the order of a sweep, and how they are arranged."""
    m = len(i)
    found = arranged(GivenRows(i, j, normal, np.ones(m), *np.zeros((3, m))), n, places, chunks)
    return found.index[ROW].astype(int), found


@pytest.mark.parametrize(("m", "n", "d"), [whole(size) if size[2] == 4 else size for size in SIZES])
def test_the_fused_loop_walks_the_path_of_its_definition(m, n, d):
    i, j, normal, inverse, random = contacts(m, n, d, 2)
    s0, start = random.normal(size=m) - 0.2, random.uniform(size=m)
    A, unit = whitened(i, j, normal, inverse)
    (order, _), never = order_of(i, j, normal, n), np.full(m, -np.inf)
    for iterations in (0, 1, 2, 25, 100):  # after more than 60, the objective rises and momentum is given up
        stop = Stop(never, 0.0, iterations, 20)
        _, p, count = accelerated_sweeps(A[order], s0[order], start[order], stop)
        rows = ContactRows(i, j, normal)
        q, counted = cpu.gauss_seidel(rows, unit, inverse[:, 0].copy(), s0, start, stop, 1, None)
        assert count == counted == iterations
        np.testing.assert_allclose(q[order], p, atol=1e-9)


@pytest.mark.parametrize(("m", "n", "d"), SIZES)
def test_rows_that_follow_each_other_share_no_body(m, n, d):
    """Rows of a colour are after each other, and no colour could have been joined with the one before."""
    i, j, normal, _, _ = contacts(m, n, d, 5)
    order, _ = order_of(i, j, normal, n)
    assert sorted(order) == list(range(m))
    colours, bodies = [], {None}
    for c in order:
        of_row = {int(i[c])} | ({int(j[c])} if j[c] >= 0 else set())
        if bodies & of_row or None in bodies:
            colours.append([])
            bodies = set()
        colours[-1].append(c)
        bodies |= of_row
    most = max(np.bincount(np.concatenate([i, j[j >= 0]])))
    assert len(colours) <= 2 * most


@pytest.fixture(params=[1, 2, 3], ids=["1-D", "2-D", "3-D"])
def blocked(request, monkeypatch):
    """Contacts of many balls and walls, two of them far apart, that are arranged in many blocks."""
    monkeypatch.setattr(arrangement, "BLOCKED_ROWS", 50)
    monkeypatch.setattr(arrangement, "ROWS_A_BLOCK", 4)
    monkeypatch.setattr(space, "NARROWEST", 1.1)
    return rows_in_space(request.param)


def test_blocks_of_a_group_share_no_body_and_nothing_is_lost(blocked):
    i, j, normal, _, q = blocked
    order, found = order_of(i, j, normal, len(q), q)
    assert sorted(order) == list(range(len(i)))
    assert sorted(found.number) == list(range(len(q)))
    assert found.groups[-1] == len(found.ends) - 1 > 8
    for first, last in pairwise(found.groups):
        seen = set()
        for block in range(first, last):
            rows = order[found.ends[block] : found.ends[block + 1]]
            bodies = set(i[rows]) | set(j[rows][j[rows] >= 0])
            assert not seen & bodies
            seen |= bodies
    assert {0, 1} <= set(order[found.ends[-2] :].tolist()), "rows of bodies far apart are in the last block"
    walls = found.index[1][found.index[1] >= len(q)]
    assert len(set(walls)) > 4


def test_blocks_are_swept_as_one_would_in_their_order_whatever_the_number_of_threads(blocked):
    i, j, normal, s0, q = blocked
    n, random = len(q), np.random.default_rng(1)
    inverse, start, never = random.uniform(0.5, 2.0, n), random.uniform(size=len(i)), np.full(len(i), -np.inf)
    A, unit = whitened(i, j, normal, np.repeat(inverse, normal.shape[1]).reshape(n, -1))
    order, _ = order_of(i, j, normal, n, q)
    stop = Stop(never, 0.0, 25, 20)
    _, p, _ = accelerated_sweeps(A[order], s0[order], start[order], stop)
    same = None
    for chunks in (1, 2, 3, 7) if WHOLE else (1, 3):
        rest = unit, inverse, s0, start, stop, chunks, q
        found, _ = cpu.gauss_seidel(ContactRows(i, j, normal), *rest)
        np.testing.assert_allclose(found[order], p, atol=1e-9)
        assert same is None or found.tobytes() == same
        same = found.tobytes()


def test_a_few_contacts_among_many_bodies_stop_when_they_are_solved():
    """Blocks of a group without rows once kept the sums of bodies, and the iteration never stopped."""
    rows, random = arrangement.BLOCKED_ROWS, np.random.default_rng(3)
    places = random.uniform(size=(340_000, 2))
    i, j = random.permutation(len(places))[: 2 * rows].reshape(2, rows)
    places[j] = places[i] + 1e-4
    normal, unit, inverse = np.tile([0.6, 0.8], (rows, 1)), np.full(rows, np.sqrt(2.0)), np.ones(len(places))
    s0, start, small = np.full(rows, -1.0), np.full(rows, 0.5), np.full(rows, 1e-9)
    for chunks in (1, 2):
        rest = unit, inverse, s0, start, Stop(small, 1e-9, 1000, 20), chunks, places
        p, iterations = cpu.gauss_seidel(ContactRows(i, j, normal), *rest)
        assert iterations == 5, "pairs apart from each other are solved by one sweep, which the first test sees"
        np.testing.assert_allclose(p, 1.0, rtol=1e-12)


@pytest.mark.each_value
@pytest.mark.parametrize("nowhere", [np.nan, np.inf])
def test_bodies_that_are_nowhere_spoil_no_block(blocked, nowhere):
    """Those who left a run have no place; here some of them even have contacts."""
    i, j, normal, s0, q = blocked
    places, n = q.copy(), len(q)
    places[::9] = nowhere
    order, found = order_of(i, j, normal, n, places)
    assert sorted(order) == list(range(len(i)))
    assert len(found.ends) > 5
    unit, never = np.full(len(i), np.sqrt(2.0)), np.full(len(i), -np.inf)
    settings = unit, np.ones(n), s0, np.zeros(len(i)), Stop(never, 0.0, 30, 20)
    p = [cpu.gauss_seidel(ContactRows(i, j, normal), *settings, chunks, places)[0] for chunks in (1, 3)]
    assert np.isfinite(p[0]).all()
    assert p[0].any()
    assert p[0].tobytes() == p[1].tobytes()
    everywhere, all_nowhere = (order_of(i, j, normal, n, where)[0] for where in (q, np.full_like(q, nowhere)))
    assert sorted(all_nowhere) == sorted(everywhere)


def test_the_fused_loop_stops_where_its_definition_stops():
    i, j, normal, inverse, random = contacts(40, 12, 2, 3)
    s0, start, violation, tol = random.normal(size=40) + 0.5, np.zeros(40), np.full(40, 1e-6), 1e-6
    A, unit = whitened(i, j, normal, inverse)
    order, _ = order_of(i, j, normal, 12)
    stop, rows = Stop(violation, tol, 10_000, 20), ContactRows(i, j, normal)
    _, p, count = accelerated_sweeps(A[order], s0[order], start, stop)
    q, counted = cpu.gauss_seidel(rows, unit, inverse[:, 0].copy(), s0, start, stop, 1, None)
    assert 0 < count == counted < 10_000
    np.testing.assert_allclose(q[order], p, atol=1e-8)
    again, none = cpu.gauss_seidel(rows, unit, inverse[:, 0].copy(), s0, q, stop, 1, None)
    assert none == 0
    assert again.tolist() == pytest.approx(q.tolist(), abs=1e-14)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 6), st.integers(0, 1000))
def test_values_follow_their_pairs(old, new, bodies, seed):
    random = np.random.default_rng(seed)
    every = np.array([(a, b) for a in range(-1, bodies) for b in range(-3, bodies) if a != b])
    before = random.permutation(every)[:old]
    after = random.permutation(every)[:new]
    values = random.uniform(1.0, 2.0, len(before))
    expected = reference.by_pair(before, values, after, 9.0, 1)
    assert cpu.by_pair(before, values, after, 9.0, 1).tolist() == expected.tolist()
    assert cpu.by_pair(before, values, before, 9.0, 1).tolist() == values.tolist()


PERIODS = {"open": (np.inf, np.inf, np.inf), "one axis": (9.0, np.inf, np.inf), "all axes": (9.0, 8.0, 9.5)}


@pytest.mark.parametrize("chunks", [1, 3])
@pytest.mark.parametrize("periods", PERIODS.values(), ids=list(PERIODS))
@pytest.mark.parametrize("ratio", [1.0, 1.3, 20.0])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_cells_find_the_pairs_of_the_double_loop(d, ratio, periods, chunks):
    random = np.random.default_rng([d, int(ratio)])
    n, period = 150, np.array(periods[:d])
    q = random.uniform(-8.0, 8.0, (n, d))
    radii = np.exp(random.uniform(-np.log(ratio), 0.0, n)) * 0.8
    cutoff, less = random.uniform(0.1, 0.4, n), random.uniform(0.0, 0.1, n)
    pairs, normal, gap = reference.all_pairs(q, radii, cutoff, period)
    i, j = pairs
    found = cpu.pair_list(q, radii + cutoff, period, chunks)
    assert len(i) > 10
    assert found[0].tolist() == i.tolist()
    assert found[1].tolist() == j.tolist()
    rest = cpu.near(*found, q, radii, less, period, chunks)
    few = gap <= less[i] + less[j]
    assert 0 < few.sum() < len(few)
    for mine, theirs in zip(rest, (pairs[:, few], normal[few], gap[few]), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=AGREE)
    for mine, theirs in zip(cpu.all_pairs(q, radii, cutoff, period), (pairs, normal, gap), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=AGREE)


@pytest.mark.parametrize("kernels", [cpu, reference], ids=["cpu", "reference"])
def test_balls_that_touch_are_a_pair(kernels):
    i, j = kernels.pair_list(np.array([[0.0], [2.0]]), np.ones(2), np.array([np.inf]), 1)
    assert (i.tolist(), j.tolist()) == ([0], [1])


def test_more_pairs_than_there_is_room_for_are_all_found():
    q = np.random.default_rng(0).uniform(0.0, 1.0, (60, 2))
    i, j = cpu.pair_list(q, np.full(60, 1.0), np.full(2, np.inf), 2)
    assert len(i) == len(j) == 60 * 59 // 2


def test_an_outlier_far_away_costs_neither_pairs_nor_memory():
    q = np.random.default_rng(0).uniform(0.0, 20.0, (300, 3))
    q[7] = [1e9, -1e9, 3e8]
    radii, period = np.full(300, 0.5), np.full(3, np.inf)
    (i, j), _, _ = reference.all_pairs(q, radii, np.full(300, 0.15), period)
    found = cpu.pair_list(q, radii + 0.15, period, 1)
    assert found[0].tolist() == i.tolist()
    assert found[1].tolist() == j.tolist()


@pytest.mark.parametrize(("n", "k"), [(0, 3), (5, 0), (40, 12), (9, 40), (3, 400)])
def test_points_near_segments_are_those_of_the_definition(n, k):
    random = np.random.default_rng([n, k])
    x, start, along = random.uniform(size=(n, 2)), random.uniform(size=(k, 2)), random.uniform(-0.3, 0.3, (k, 2))
    along[k // 2 :][:1] = 0.0  # one is a point
    if n > 5:
        x[3] = np.nan
    square = np.maximum((along**2).sum(axis=1), 1e-300)
    segments = random.uniform(0.0, 0.4, n), start, along, along / square[:, None]
    row, distance = cpu.near_segments(x, *segments)
    expected, distances = reference.near_segments(x, *segments)
    assert row.tolist() == expected.tolist()
    assert distance == pytest.approx(distances, abs=1e-15, nan_ok=True)
    assert len(row) > 0 or n * k == 0
