"""The order of elimination, the factors of M + G^T W G, and the interior point method that stands on them."""

import numpy as np
import pytest
from from_python import from_python
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import jostle as jo
from jostle.kernels import ContactRows
from jostle.kernels.cpu import multifrontal
from jostle.kernels.cpu.dissection import LEAF, adjacency, dissect, fronts
from jostle.kernels.cpu.meeting import new_meeting
from jostle.kernels.cpu.multifrontal import LARGE, arranged, layout
from kernel_sets import cpu, reference
from rows import whole

EPS = float(np.finfo(float).eps)
SOME = settings(max_examples=8, deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate))


def scattered(n, d, random, degree=4.0):
    """The nearest pairs of n points, and nothing between the rest: clusters, strings, and isolated bodies."""
    x = random.uniform(size=(n, d))
    i, j = np.triu_indices(n, k=1)
    nearest = np.argsort(np.linalg.norm(x[j] - x[i], axis=1))[: int(degree * n / 2)]
    return x, i[nearest], j[nearest]


def islands(n, d, random):
    """Two clouds far apart: the first cut needs no separator at all."""
    x, i, j = scattered(n, d, random)
    x[n // 2 :, 0] += 10.0
    same = (i < n // 2) == (j < n // 2)
    return x, i[same], j[same]


def hubs(n, d, random):
    """All touch one or two bodies only: the cuts below these are empty, but pass fill on."""
    x, centre = random.uniform(size=(n, d)), random.choice(n, min(2, n), replace=False)
    i, j = (side.ravel() for side in np.meshgrid(np.arange(n), centre))
    chosen = (i != j) & (random.uniform(size=len(i)) < 0.7)
    return x, i[chosen], j[chosen]


def complete(n, d, random):
    """Everybody touches everybody: nothing can be kept apart."""
    i, j = np.triu_indices(n, k=1)
    return random.uniform(size=(n, d)), i, j


def alone(n, d, random):
    """Nobody touches anybody."""
    nobody = np.zeros(0, dtype=np.int64)
    return random.uniform(size=(n, d)), nobody, nobody


def in_one_place(n, d, random):
    """Places that do not tell the bodies apart."""
    _, i, j = scattered(n, d, random)
    return np.zeros((n, d)), i, j


GRAPHS = [scattered, islands, hubs, complete, alone, in_one_place]
every_graph = pytest.mark.parametrize("make", GRAPHS, ids=lambda make: make.__name__)


def rows_of(make, n, d, seed):
    """(x, i, j, e, random): the rows of a graph in any order and direction, some twice, and some walls."""
    random = np.random.default_rng([n, d, seed])
    x, i, j = make(n, d, random)
    again = random.integers(0, len(i), len(i) // 8) if len(i) else np.zeros(0, dtype=np.int64)
    wall = random.integers(0, n, 1 + n // 4)
    i, j = np.concatenate([i, j[again], wall]), np.concatenate([j, i[again], -1 - random.integers(0, 3, len(wall))])
    turned = (j >= 0) & (random.uniform(size=len(i)) < 0.5)
    i, j = np.where(turned, j, i), np.where(turned, i, j)
    order = random.permutation(len(i))
    e = random.normal(size=(len(i), d))
    return x, i[order], j[order], e / np.linalg.norm(e, axis=1, keepdims=True), random


def touching(i, j):
    """The set of unordered pairs of bodies."""
    return {(min(a, b), max(a, b)) for a, b in zip(i.tolist(), j.tolist(), strict=True) if b >= 0}


def ancestors(parent, g):
    """g, its parent, and so on."""
    line = [g]
    while parent[line[-1]] >= 0:
        line.append(parent[line[-1]])
    return line


def cut(x, i, j):
    """(order, first, last, parent, start, other)."""
    graph = adjacency(i, j, len(x))
    return *dissect(x, *graph), *graph


sizes_of_graphs = given(st.integers(1, 90), st.integers(1, 3), st.integers(0, 1000))


# --- the order ---


@every_graph
@SOME
@sizes_of_graphs
def test_bodies_know_all_they_touch_and_no_walls(make, n, d, seed):
    _, i, j, _, _ = rows_of(make, n, d, seed)
    start, other = adjacency(i, j, n)
    assert start[0] == 0
    for a in range(n):
        mine = slice(start[a], start[a + 1])
        rows = np.flatnonzero((j >= 0) & ((i == a) | (j == a)))
        assert other[mine].tolist() == np.where(i == a, j, i)[rows].tolist()


@every_graph
@SOME
@sizes_of_graphs
def test_each_body_is_eliminated_once_and_every_group_after_its_children(make, n, d, seed):
    x, i, j, _, _ = rows_of(make, n, d, seed)
    order, first, last, parent, _, _ = cut(x, i, j)
    assert sorted(order.tolist()) == list(range(n))
    assert (first[0], last[-1]) == (0, n)
    assert (last[:-1] == first[1:]).all()
    assert parent[-1] == -1
    assert (parent[:-1] > np.arange(len(first) - 1)).all()
    below = [g for g in range(len(first)) if g not in parent]
    assert max(last[g] - first[g] for g in below) <= LEAF
    for g in range(len(first)):  # postorder: a group and all below it stand next to each other
        family = [h for h in range(len(first)) if g in ancestors(parent, h)]
        assert family == list(range(family[0], g + 1))


@every_graph
@SOME
@sizes_of_graphs
def test_groups_touch_their_ancestors_only(make, n, d, seed):
    """The two halves of a cut do not touch: what connects them was taken out, and comes later."""
    x, i, j, _, _ = rows_of(make, n, d, seed)
    order, first, last, parent, _, _ = cut(x, i, j)
    group = np.empty(n, dtype=np.int64)
    for g in range(len(first)):
        group[order[first[g] : last[g]]] = g
    for a, b in touching(i, j):
        early, late = sorted((group[a], group[b]))
        assert late in ancestors(parent, early)


def test_a_cut_takes_out_few_bodies():
    """A square lattice of 20 by 20: the last group is about one row of it, and not much is filled in."""
    x = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=2).reshape(-1, 2)
    i, j = np.triu_indices(400, k=1)
    near = np.linalg.norm(x[j] - x[i], axis=1) < 1.1
    order, first, last, parent, start, other = cut(x, i[near], j[near])
    assert 10 <= last[-1] - first[-1] <= 20
    below = fronts(order, first, last, parent, start, other)[1]
    own = last - first
    assert (own * (own + np.diff(below))).sum() < 0.1 * 400**2


@every_graph
@SOME
@sizes_of_graphs
def test_a_front_holds_the_later_bodies_that_its_group_and_all_below_touch(make, n, d, seed):
    x, i, j, _, _ = rows_of(make, n, d, seed)
    order, first, last, parent, start, other = cut(x, i, j)
    place, below, rows = fronts(order, first, last, parent, start, other)
    assert (order[place] == np.arange(n)).all()
    assert (below[0], below[-1]) == (0, len(rows))
    pairs = [(min(place[a], place[b]), max(place[a], place[b])) for a, b in touching(i, j)]
    for g in range(len(first)):
        begin = first[min(h for h in range(g + 1) if g in ancestors(parent, h))]
        expected = sorted({late for early, late in pairs if begin <= early < last[g] <= late})
        assert rows[below[g] : below[g + 1]].tolist() == expected


# --- the factors ---


def factored(x, i, j, e, mass, W, products=False):
    """A function that solves (M + G^T W G) x = b, the pivots that failed, and the dense matrix."""
    n, d = mass.shape
    graph = adjacency(i, j, n)
    order, first, last, parent = dissect(x, *graph)
    place, below, fill = fronts(order, first, last, parent, *graph)
    by, ends, turned, start = arranged(i, j, e, place)
    plan = layout(ends, start, (first, last, parent, below, fill), d)
    L, stack, rest, v, carry = (np.full(size, np.nan) for size in plan.sizes(d))
    factor = from_python(multifrontal.factor, products="bool" if products else "Nothing")
    rest, nobody = rest.reshape(1, -1), np.zeros(len(first), np.int64)
    team = multifrontal.Team(0, nobody, nobody.copy(), new_meeting(), np.zeros(1, np.int64))
    matrix = multifrontal.Matrix(mass[order].ravel(), start, ends, turned)
    factors = multifrontal.Factors(L, stack, rest, v, carry, np.full((n, d, d), np.nan))
    failed = factor(team, matrix, W[by][None], 0, plan, factors, True if products else None)

    def solved(b):
        body = b[order].reshape(1, -1)
        from_python(multifrontal.solve)(plan, factors, d, body, 0)
        return body.reshape(n, d)[place]

    G = reference.pairs_to_dense(ContactRows(i, j, e), n)
    return solved, failed, np.diag(mass.ravel()) + G.T @ (W[:, None] * G)


@pytest.mark.parametrize("products", [whole(False), True], ids=["loops", "products"])
def test_large_fronts_solve_what_the_matrix_solves(products):
    """A lattice whose last cuts are so large that matrix products eliminate them; weights over six decades."""
    x = np.stack(np.meshgrid(*[np.arange(8.0)] * 3), axis=3).reshape(-1, 3)
    i, j = np.triu_indices(len(x), k=1)
    near = np.linalg.norm(x[j] - x[i], axis=1) < 1.5
    i, j, random = i[near], j[near], np.random.default_rng(0)
    e = (x[j] - x[i]) / np.linalg.norm(x[j] - x[i], axis=1, keepdims=True)
    mass, W, b = (
        random.uniform(0.2, 5.0, x.shape),
        10.0 ** random.uniform(-3.0, 3.0, len(i)),
        random.normal(size=x.shape),
    )
    by_factors, failed, A = factored(x, i, j, e, mass, W, products)
    _, first, last, _ = dissect(x, *adjacency(i, j, len(x)))
    assert 3 * np.sort(last - first)[-2] > LARGE
    assert failed == 0
    y = by_factors(b).ravel()
    assert np.linalg.norm(A @ y - b.ravel()) <= 64 * EPS * np.abs(A).sum(axis=1).max() * np.linalg.norm(y)


@every_graph
@SOME
@sizes_of_graphs
def test_the_factors_solve_what_the_dense_matrix_solves(make, n, d, seed):
    """Masses of their own for each axis; a third of the weights is zero."""
    x, i, j, e, random = rows_of(make, n, d, seed)
    mass = random.uniform(0.2, 5.0, (n, d))
    W = random.uniform(0.0, 3.0, len(i)) * (random.uniform(size=len(i)) < 0.67)
    by_factors, failed, A = factored(x, i, j, e, mass, W)
    b = random.normal(size=(n, d))
    assert failed == 0
    np.testing.assert_allclose(by_factors(b).ravel(), np.linalg.solve(A, b.ravel()), rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(by_factors((A @ b.ravel()).reshape(n, d)), b, rtol=1e-10, atol=1e-11)


@every_graph
@SOME
@sizes_of_graphs
def test_weights_over_twelve_decades_cost_no_more_than_the_condition_of_the_matrix(make, n, d, seed):
    x, i, j, e, random = rows_of(make, n, d, seed)
    mass, W = 10.0 ** random.uniform(-1.0, 1.0, (n, d)), 10.0 ** random.uniform(-6.0, 6.0, len(i))
    by_factors, failed, A = factored(x, i, j, e, mass, W)
    b = random.normal(size=n * d)
    y = by_factors(b.reshape(n, d)).ravel()
    expected = np.linalg.solve(A, b)
    assert failed == 0
    values = np.linalg.eigvalsh(A)
    assert np.linalg.norm(A @ y - b) <= 64 * EPS * values[-1] * np.linalg.norm(y)
    assert np.linalg.norm(y - expected) <= 64 * EPS * values[-1] / values[0] * np.linalg.norm(expected)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_one_body_at_a_wall(d):
    normal = np.full((1, d), -1.0 / np.sqrt(d))
    mass, b = np.arange(1.0, d + 1.0)[None], np.ones((1, d))
    one = np.array([0])
    by_factors, _, _ = factored(np.zeros((1, d)), one, np.array([-1]), normal, mass, np.array([4.0]))
    expected = np.linalg.solve(np.diag(mass[0]) + 4.0 / d * np.ones((d, d)), b[0])
    np.testing.assert_allclose(by_factors(b)[0], expected, rtol=1e-14)


def test_without_weights_only_the_masses_are_left():
    x, i, j, e, random = rows_of(scattered, 70, 2, 0)
    mass, b = random.uniform(0.2, 5.0, (70, 2)), random.normal(size=(70, 2))
    by_factors, _, _ = factored(x, i, j, e, mass, np.zeros(len(i)))
    np.testing.assert_allclose(by_factors(b), b / mass, rtol=1e-14)


def test_pivots_that_are_not_positive_are_counted():
    """1 - 2 at the wall; and [[1 - 2, 2], [2, 1 - 2]] of a pair, whose first pivot is taken out before the second."""
    x, normal, mass = np.zeros((2, 1)), np.ones((1, 1)), np.ones((2, 1))
    minus = np.array([-2.0])
    assert factored(x, np.array([0]), np.array([-1]), normal, mass, minus)[1] == 1
    assert factored(x, np.array([0]), np.array([1]), normal, mass, minus)[1] == 2
    assert factored(x, np.array([0]), np.array([1]), normal, mass, -minus)[1] == 0


# --- the interior point method ---


def unit_rows(i, j, normal, mass):
    return normal / cpu.norms(ContactRows(i, j, normal), 1.0 / mass, 1)[:, None]


def quality(i, j, e, mass, s0, p, violation, tol):
    """How far p is from passing the stopping test, by the dense matrix: at most 1 where it passes."""
    G = reference.pairs_to_dense(ContactRows(i, j, e), len(mass))
    moved = (G.T @ p) / mass.ravel()
    s, size = s0 + G @ moved, mass.ravel() @ moved**2
    return max(0.0, (-s / violation).max(), p @ np.abs(s) / (tol * size))


def contacts_in_the_way(n, d, seed, axes=False):
    """The arguments of the kernel for a random graph, its rows half closed, half open: x = 0 violates many."""
    x, i, j, e, random = rows_of(scattered, n, d, seed)
    mass = random.uniform(0.2, 5.0, (n, d)) if axes else np.repeat(random.uniform(0.2, 5.0, n), d).reshape(n, d)
    inside, e = random.normal(size=(n, d)), unit_rows(i, j, e, mass)
    s0 = random.exponential(0.3, len(i)) * (random.uniform(size=len(i)) < 0.5) - cpu.rates(
        ContactRows(i, j, e), inside, 1
    )
    return i, j, e, mass, s0, x


@pytest.mark.parametrize("axes", [False, True], ids=["one mass a body", "a mass an axis"])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 9, 60])
def test_the_interior_point_is_the_exact_projection(n, d, axes):
    """|u - u*|_M is at most what the residual promises, sqrt(2 sum p |s|), and round-off."""
    for seed, tol in ((0, 1e-6), (1, 1e-10)):
        i, j, e, mass, s0, x = contacts_in_the_way(n, d, seed, axes)
        if s0.min() >= 0.0:
            s0 = s0 - 2.0 * s0.min() - 1.0
        violation = np.full(len(i), tol)
        p, iterations, found, _ = cpu.interior_point(
            ContactRows(i, j, e), mass, s0, np.zeros(len(s0)), x, violation, tol, 200, 10**9, 1
        )
        K = jo.convex.Polyhedron(reference.pairs_to_dense(ContactRows(i, j, e), n), s0)
        exact = jo.ActiveSet().project(np.zeros(n * d), K, mass.ravel())
        moved = cpu.adjoint(ContactRows(i, j, e), p, n, 1).ravel() / mass.ravel()
        assert found <= 1.0
        assert 0 < iterations <= 40
        assert p.min() >= 0.0
        assert quality(i, j, e, mass, s0, p, violation, tol) <= 1.0 + 1e-3
        distance = np.sqrt(mass.ravel() @ exact.point**2)
        wrong = np.sqrt(mass.ravel() @ (moved - exact.point) ** 2)
        assert wrong <= (np.sqrt(2.0 * tol) + 1e-9) * distance


def test_a_good_guess_shortens_the_interior_point_and_the_answer_stays():
    i, j, e, mass, s0, x = contacts_in_the_way(200, 2, 3)
    tol, random = 1e-8, np.random.default_rng(0)
    rest = x, np.full(len(i), tol), tol, 200, 10**9, 1
    rows, nothing = ContactRows(i, j, e), np.zeros(len(s0))
    before = cpu.interior_point(rows, mass, s0, nothing, *rest)[0]
    moved = s0 + 1e-3 * random.normal(size=len(s0))
    cold, warm = (cpu.interior_point(rows, mass, moved, start, *rest) for start in (nothing, before))
    assert warm[1] <= 0.7 * cold[1]
    for found in (cold, warm):
        assert found[2] <= 1.0
    (u, v) = (cpu.adjoint(rows, p, 200, 1).ravel() / mass.ravel() for p in (cold[0], warm[0]))
    assert np.sqrt(mass.ravel() @ (u - v) ** 2) <= 2.0 * np.sqrt(2.0 * tol) * np.sqrt(mass.ravel() @ u**2)


@pytest.mark.parametrize("guess", ["huge", "tiny", "one row", "wrong rows"])
def test_a_wrong_guess_does_not_keep_the_interior_point_from_the_answer(guess):
    w, K, mass = settled(2)
    right = jo.InteriorPoint().project(w, K, mass)
    p, first = right.multipliers, np.arange(len(right.multipliers)) == 0
    wrong = {"huge": 1e9 + p, "tiny": 1e-9 * p, "one row": 1e3 * first, "wrong rows": np.where(p > 0.0, 0.0, 1.0)}
    found = jo.InteriorPoint().project(w, K, mass, wrong[guess])
    assert found.converged
    np.testing.assert_allclose(found.point, right.point, atol=1e-3 * np.abs(right.point - w).max())


def contradiction(d):
    """A body between two walls that have met, in a cloud of others."""
    i, j, e, mass, s0, x = contacts_in_the_way(40, d, 5)
    wall = np.zeros((2, d))
    wall[:, 0] = [1.0, -1.0]
    squeezed, walls = np.array([7, 7]), np.array([-1, -2])
    e = np.concatenate([e, unit_rows(squeezed, walls, wall, mass)])
    return np.append(i, squeezed), np.append(j, walls), e, mass, np.append(s0, [-1.0, -1.0]), x


@pytest.mark.parametrize("possible", [True, False], ids=["possible", "contradiction"])
def test_the_best_point_seen_is_returned_however_few_the_iterations(possible):
    """How far from passing: as the kernel says, never worse with one iteration more, and better in the end."""
    i, j, e, mass, s0, x = contacts_in_the_way(60, 2, 3) if possible else contradiction(2)
    tol, found = 1e-8, [np.inf]
    violation = np.full(len(i), tol)
    for most in range(12):
        p, iterations, value, _ = cpu.interior_point(
            ContactRows(i, j, e), mass, s0, np.zeros(len(s0)), x, violation, tol, most, 10**9, 1
        )
        assert iterations <= most
        assert value <= found[-1]
        assert p.min() >= 0.0
        assert value == pytest.approx(quality(i, j, e, mass, s0, p, violation, tol), rel=1e-3, abs=1e-3)
        found.append(value)
    assert found[-1] < (1e-4 if possible else 0.5) * found[1]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_rows_that_contradict_each_other_end_early_and_unsolved(d):
    i, j, e, mass, s0, x = contradiction(d)
    tol = 1e-8
    p, iterations, found, _ = cpu.interior_point(
        ContactRows(i, j, e), mass, s0, np.zeros(len(s0)), x, np.full(len(i), tol), tol, 200, 10**9, 1
    )
    assert iterations <= 20
    assert found > 1e3
    assert np.isfinite(p).all()
    assert p.min() >= 0.0


def settled(d):
    """(w, K, mass): discs in a triangular, or spheres in a cubic lattice, in a box, pulled down and shaken."""
    random = np.random.default_rng(d)
    if d == 2:
        row, k = (side.ravel() for side in np.meshgrid(np.arange(10), np.arange(9), indexing="ij"))
        q = np.stack([k + 0.5 * (row % 2), np.sqrt(3.0) / 2.0 * row], axis=1) + 0.5
        top = [9.5, np.inf]
    else:
        q = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=3).reshape(-1, 3) + 0.5
        top = [4.0, 4.0, np.inf]
    radii = random.uniform(0.48, 0.5, len(q))
    within = jo.Balls(radii) & jo.Box(np.zeros(d), top, radii=radii)
    mass, h = radii**d, 0.01
    w = 0.3 * random.normal(size=q.shape)
    w[:, -1] -= 1.0
    return w, within.linearise(0.0, q, 0.2).velocities(h), mass


@pytest.mark.parametrize("d", [2, 3])
def test_a_pile_is_projected_as_the_exact_solver_does(d):
    w, K, mass = settled(d)
    rows, coordinates = K.G.shape
    assert rows * coordinates > 16_384  # below, rows are treated as dense and go elsewhere
    exact = jo.ActiveSet().project(w, K, mass)
    for tol in (1e-5, 1e-8, 1e-11):
        P = jo.InteriorPoint(tol=tol).project(w, K, mass)
        assert P.converged
        assert P.iterations <= 40
        wrong, distance = (np.sqrt(mass @ (v**2).sum(axis=1)) for v in (P.point - exact.point, exact.point - w))
        assert wrong <= (P.residual.eta + 1e-9) * distance
        assert P.residual.eta <= np.sqrt(2.0 * tol)
        assert (K.slack(P.point) >= -tol * K.length * (1.0 + 1e-6)).all()


@pytest.mark.parametrize("d", [2, 3])
def test_a_pile_of_bodies_with_masses_per_axis_is_projected_as_well(d):
    w, K, _ = settled(d)
    mass = np.random.default_rng(0).uniform(0.2, 5.0, w.shape)
    exact, P = jo.ActiveSet().project(w, K, mass), jo.InteriorPoint().project(w, K, mass)
    assert P.converged
    wrong, distance = (np.sqrt((mass * v**2).sum()) for v in (P.point - exact.point, exact.point - w))
    assert wrong <= (P.residual.eta + 1e-9) * distance


def test_contacts_that_carry_nothing_say_so():
    """Nobody above the hole carries anything: multipliers are zero there, not small."""
    w, K, mass = settled(2)
    up = w.copy()
    up[:, -1] = np.where(np.arange(len(w)) < len(w) // 2, -1.0, 3.0 * np.arange(len(w)))
    P = jo.InteriorPoint().project(up, K, mass)
    assert P.converged
    open_rows = K.slack(P.point) > 1e-3 * K.length
    assert open_rows.any()
    assert (P.multipliers[open_rows] == 0.0).all()


@pytest.mark.parametrize("d", [2, 3])
def test_factors_beyond_the_room_that_is_given_are_not_computed(d):
    i, j, e, mass, s0, x = contacts_in_the_way(60, d, 0)
    given = ContactRows(i, j, e), mass, s0, np.zeros(len(s0)), x, np.full(len(i), 1e-6), 1e-6, 200
    p, iterations, found, numbers = cpu.interior_point(*given, 10**9, 1)
    assert found <= 1.0
    assert 60 * d < numbers < 2 * (60 * d) ** 2
    assert cpu.interior_point(*given, numbers, 1)[1] == iterations
    p, iterations, found, needed = cpu.interior_point(*given, numbers - 1, 1)
    assert (p.max(), iterations, found, needed) == (0.0, 0, np.inf, numbers)
