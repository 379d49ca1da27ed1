"""Farkas' lemma: an empty polyhedron is proven empty by y >= 0, G^T y = 0, c . y < 0; others are left alone."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jostle as jo
from jostle.convex import emptiness
from jostle.convex.emptiness import MAX_NAMED_ROWS, ROUND_OFF, Undecided, contradiction, empty_set, proof
from jostle.convex.metric import metric
from rows import examples

SOLVERS = [jo.ActiveSet(), jo.GaussSeidel(max_iterations=2000), jo.InteriorPoint(), jo.Automatic()]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)

TRIANGLE = np.array([[0.0, 1.0], [np.sqrt(3.0) / 2.0, -0.5], [-np.sqrt(3.0) / 2.0, -0.5]])
"""Inward normals of a triangle: they add up to zero."""


def triangle(size, scale=1.0):
    """{u : size + n_k . u >= 0}: a triangle around the origin, empty if size < 0."""
    return jo.convex.Polyhedron(TRIANGLE, np.full(3, size * scale))


def assert_proves_emptiness(y, K):
    assert y.min() >= 0.0
    assert np.abs(K.G.adjoint(y)).max() <= 1e-7 * y.max()
    assert K.c @ y < 0.0


@pytest.mark.parametrize("mass", [1.0, [1.0, 9.0], [[2.0, 1.0], [1.0, 3.0]]], ids=["one", "diagonal", "matrix"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_contradiction_is_a_proof_in_every_unit_and_metric(mass, scale):
    K = triangle(-1.0, scale)
    y = contradiction(K, metric(mass, (2,)))
    assert_proves_emptiness(y, K)
    np.testing.assert_allclose(y / y.max(), np.ones(3), rtol=1e-6)


def test_only_the_rows_that_contradict_each_other_are_in_the_proof():
    """u_0 >= 1 and u_0 <= 0 among rows that have nothing to do with it."""
    K = jo.convex.Polyhedron([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [-1.0, 0.0]], [3.0, -1.0, 5.0, 0.0])
    y = contradiction(K, metric(1.0, (2,)))
    assert_proves_emptiness(y, K)
    assert np.flatnonzero(y > 1e-9).tolist() == [1, 3]


@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0])
def test_a_set_with_a_point_has_no_contradiction(size):
    """Not even the triangle of size zero, which is one point."""
    assert contradiction(triangle(size), metric(1.0, (2,))) is None


def test_the_lengths_of_the_rows_prove_nothing():
    """1 <= u <= 2 and 2 >= u >= 1 in rows a thousand times longer or shorter; and the same without room."""
    for long, short in ((1e3, 1.0), (1.0, 1e3)):
        G = np.array([[long], [-short]])
        assert contradiction(jo.convex.Polyhedron(G, [-long, 2.0 * short]), metric(1.0, (1,))) is None
        K = jo.convex.Polyhedron(G, [-2.0 * long, short])
        assert_proves_emptiness(contradiction(K, metric(1.0, (1,))), K)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_contradiction_within_the_tolerance_times_the_length_does_not_count(unit):
    """u >= 1.001 and u <= 1: rows that may be violated by 1e-2 of a length of one, or of a tenth, meet or do not."""
    G, c, M = [[1.0], [-1.0]], [-1.001 * unit, unit], metric(1.0, (1,))
    long, short = (jo.convex.Polyhedron(G, c, length=length * unit) for length in (1.0, 0.01))
    assert contradiction(long, M, 1e-2) is None
    assert_proves_emptiness(contradiction(short, M, 1e-2), short)
    assert_proves_emptiness(contradiction(long, M), long)
    assert_proves_emptiness(contradiction(jo.convex.Polyhedron(G, c), M, 1e-2), long)
    balanced = np.array([3.0, 3.0])
    assert emptiness.proven_by(balanced, long.c, long, M, 1e-2) is None
    assert_proves_emptiness(emptiness.proven_by(balanced, short.c, short, M, 1e-2), short)


@pytest.mark.parametrize("limit", ["MOST_ENTRIES", "MOST_ITERATIONS"])
def test_a_linear_program_beyond_its_limits_decides_nothing(monkeypatch, limit):
    random = np.random.default_rng(0)
    K = jo.convex.Polyhedron(random.normal(size=(30, 5)), -np.ones(30))
    assert_proves_emptiness(contradiction(K, metric(1.0, (5,))), K)
    monkeypatch.setattr(emptiness, limit, 1)
    with pytest.raises(Undecided, match="the linear program that decides it"):
        contradiction(K, metric(1.0, (5,)))


def test_an_unbounded_set_and_a_cone_have_no_contradiction():
    assert contradiction(jo.convex.Polyhedron([[1.0, 0.0], [0.0, 1.0]], [-5.0, -5.0]), metric(1.0, (2,))) is None
    assert contradiction(jo.convex.Cone(TRIANGLE), metric(1.0, (2,))) is None


@every_solver
@pytest.mark.parametrize("mass", [1.0, [1.0, 9.0], [[2.0, 1.0], [1.0, 3.0]]], ids=["one", "diagonal", "matrix"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_every_solver_says_that_the_set_is_empty_and_why(solver, mass, scale):
    with pytest.raises(
        jo.errors.EmptySet, match=r"contradict each other: row 0; row 1; row 2\. .*\. Proof: the weights y"
    ):
        solver.project([0.3 * scale, -0.1 * scale], triangle(-1.0, scale), mass)


@every_solver
def test_every_solver_sees_a_row_that_nothing_can_satisfy(solver):
    """A row of zeros with c < 0."""
    K = jo.convex.Polyhedron([[1.0, 0.0], [0.0, 0.0]], [0.0, -2.0])
    with pytest.raises(jo.errors.EmptySet, match="row 1") as caught:
        solver.project([-1.0, 0.0], K)
    assert caught.value.rows.tolist() == [1]


@every_solver
def test_a_row_of_zeros_that_holds_does_no_harm(solver):
    K = jo.convex.Polyhedron([[1.0, 0.0], [0.0, 0.0]], [0.0, 2.0])
    P = solver.project([-1.0, 0.5], K)
    assert P.converged
    np.testing.assert_allclose(P.point, [0.0, 0.5], atol=1e-6)


@every_solver
def test_the_set_of_one_point_is_not_empty(solver):
    """u >= 1 and u <= 1, twice over, seen from both sides."""
    K = jo.convex.Polyhedron([[1.0], [-1.0], [2.0]], [-1.0, 1.0, -2.0])
    for w in (-3.0, 4.0):
        assert solver.project([w], K).point[0] == pytest.approx(1.0, abs=1e-5)


def test_the_message_names_a_few_rows_in_words_and_counts_the_others():
    n = MAX_NAMED_ROWS + 3
    K = jo.convex.Polyhedron(np.ones((n, 1)), -np.ones(n), describe="wall number {}".format)
    error = empty_set(K, np.append(np.ones(n - 1), 0.0))
    assert isinstance(error, jo.errors.EmptySet)
    assert isinstance(error, ValueError)
    named = "; ".join(f"wall number {row}" for row in range(MAX_NAMED_ROWS))
    assert f"{named} and 2 more" in str(error)
    assert f"c . y = {1 - n}" in str(error)
    assert error.rows.tolist() == list(range(n - 1))


def test_closing_walls_name_themselves():
    """P17 in small: a ball of diameter 1 between walls half a metre apart."""
    walls = jo.Line([0.5], lower=0.0, upper=0.5)
    K = walls.linearise(0.0, np.array([0.25])).velocities(0.1)
    with pytest.raises(jo.errors.EmptySet, match="ball 0 and the lower wall; ball 0 and the upper wall"):
        jo.project([0.0], K)


# --- multipliers that grow without end ---


def overfull(n=150):
    """Spheres on top of each other in a small cube: (w, K), and K is empty."""
    q = np.random.default_rng(0).uniform(0.0, 2.0, (n, 3))
    Q = jo.Balls(np.full(n, 0.3)) & jo.Box([0.0] * 3, [2.0] * 3, radii=0.3)
    return np.zeros_like(q), Q.linearise(0.0, q, 0.1).velocities(1.0)


@pytest.mark.parametrize("solver", [jo.GaussSeidel(max_iterations=10_000), jo.Automatic()], ids=lambda s: s.name)
def test_an_empty_set_too_large_for_the_linear_program_is_proven_by_the_multipliers(solver, monkeypatch):
    monkeypatch.setattr("jostle.solvers.base.contradiction", lambda *_: pytest.fail("there is a proof already"))
    w, K = overfull()
    with pytest.raises(jo.errors.EmptySet, match="contradict each other") as caught:
        solver.project(w, K)
    y = caught.value.weights
    assert y.min() >= 0.0
    assert np.linalg.norm(K.G.adjoint(y)) <= 1e-8 * y.sum()
    assert float(K.c @ y) < -1e-3 * y.sum()
    assert 0 < caught.value.iterations <= 20_000


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 10**6), st.floats(-8.0, 8.0))
def test_no_multipliers_prove_that_a_set_with_a_point_is_empty(seed, size):
    """Also those that nearly balance: some of the rows are opposite to others."""
    random = np.random.default_rng(seed)
    G = random.normal(size=(6, 3))
    G = np.concatenate([G, -G[:4]])
    u = random.normal(size=3)
    K = jo.convex.Polyhedron(G, random.exponential(1e-3, 10) - G @ u)
    p = 10.0**size * np.where(random.random(10) < 0.5, 1.0, random.exponential(1.0, 10))
    p[6:] = np.where(random.random(4) < 0.7, p[:4], p[6:])
    assert emptiness.proven_by(p, K.c, K, metric(1.0, (3,))) is None


def test_the_message_begins_in_plain_words_and_ends_with_the_proof():
    """Who contradicts whom, what to do, why the step found it, and last the weights for those who want to check."""
    press = jo.Motion(q0=[0.3], within=jo.Box(lambda t: [t], lambda t: [1.0 - t], radii=[0.1]))
    with pytest.raises(jo.errors.EmptySet) as caught:
        jo.solve(press, jo.Maury(), t=1.0, h=0.03)
    said = str(caught.value)
    places = [
        said.index(words)
        for words in ("contradict each other: body 0 and wall", "Move walls apart, make bodies smaller", "Proof: ")
    ]
    assert places == sorted(places)
    assert "G^T" not in said[: places[-1]]
    assert caught.value.proof in said
    other = caught.value.because("The law contradicts itself")
    assert str(other).index("The law contradicts itself. Proof: ") > 0
    assert other.weights is caught.value.weights


def test_equalities_that_contradict_each_other_blame_the_rods():
    with pytest.raises(jo.errors.EmptySet, match="change the length of a rod, or leave one of these constraints out"):
        jo.project([0.0], jo.convex.Polyhedron([[1.0], [1.0]], [0.0, 1.0], equal=[True, True]))


# --- what is a proof, and what only looks like one ---


def exactly(row, v, c):
    """c + row . v, without any round-off."""
    return sum((Fraction(float(g)) * Fraction(float(x)) for g, x in zip(row, v, strict=True)), Fraction(float(c)))


def slabs(random, scaled):
    """Nearly parallel slabs with a point in all of them, perhaps far away, and sizes of the columns or masses."""
    n, far, apart = random.integers(1, 6), 10.0 ** random.integers(-5, 10), 10.0 ** random.uniform(-15, -3)
    v, a, sizes = far * random.normal(size=n), random.normal(size=n), 10.0 ** random.uniform(-7, 7, n)
    turns = (-1.0) ** np.arange(5)
    G = turns[:, None] * a + apart * random.normal(size=(5, n))
    c = -(G @ v) + 1e-13 * (np.abs(G) @ np.abs(v) + 1.0)
    return (G * sizes, c, v / sizes, sizes) if scaled else (G, c, v, sizes)


@every_solver
@pytest.mark.parametrize("scaled", [True, False], ids=["columns", "masses"])
def test_a_set_with_a_point_is_never_called_empty(solver, scaled):
    """Whatever the columns and the masses, and however nearly parallel the rows: the point is found, or it is not."""
    random, checked, missed = np.random.default_rng(7), 0, 0
    for _ in range(80):
        G, c, v, sizes = slabs(random, scaled)
        if min(exactly(row, v, offset) for row, offset in zip(G, c, strict=True)) > 0:
            checked += 1
            try:
                solver.project(np.zeros(len(v)), jo.convex.Polyhedron(G, c), 1.0 if scaled else sizes)
            except jo.errors.EmptySet:
                missed += 1
    assert checked > 60
    assert missed == 0


def test_equalities_with_a_common_point_are_never_called_empty():
    random = np.random.default_rng(11)
    for _ in range(80):
        n, apart = random.integers(2, 6), 2.0 ** -random.integers(5, 42)
        G = (-1.0) ** np.arange(4)[:, None] * random.integers(-8, 9, n) + apart * random.integers(-3, 4, (4, n))
        v, sizes = random.integers(-8, 9, n) * 2.0 ** random.integers(-10, 20), 2.0 ** random.integers(-30, 31, n)
        c = -(G @ v)
        assert all(exactly(row, v, offset) == 0 for row, offset in zip(G, c, strict=True))
        K = jo.convex.Polyhedron(G * sizes, c, equal=[True, False, True, True])
        jo.ActiveSet().project(np.zeros(n), K)  # which would raise EmptySet


def test_a_wedge_of_a_tiny_angle_has_points_far_away():
    """u_1 >= 1 and u_1 <= 1e-11 u_0: the nearest point is 1e11 away."""
    K = jo.convex.Polyhedron([[0.0, 1.0], [1e-11, -1.0]], [-1.0, 0.0])
    assert proof(K, np.array([1.0, 1.0])) is None
    for solver in SOLVERS:
        found = solver.project([0.0, 0.0], K)
        assert found.converged == (found.residual.worst <= solver.tol)
    with pytest.raises(Undecided, match="may be points far away"):
        contradiction(K, metric(1.0, (2,)))
    with pytest.raises(jo.NotConverged, match=r"whether the set is empty was not decided: .* far away from it"):
        jo.project([0.0, 0.0], K)


@every_solver
@pytest.mark.parametrize("angle", [0.3, 0.7, 1.1, 2.2, 2.9, 3.9])
def test_walls_that_are_parallel_up_to_the_last_digits_leave_no_point(solver, angle):
    """The normals of opposite walls, by the sine and the cosine of both angles, are not opposite numbers."""
    G = [[np.cos(a), np.sin(a)] for a in (angle, angle + np.pi)]
    with pytest.raises(jo.errors.EmptySet, match="row 0; row 1") as caught:
        solver.project([3.0, -1.0], jo.convex.Polyhedron(G, [-1.0, 0.875]))
    assert caught.value.weights[1] == pytest.approx(caught.value.weights[0], rel=1e-12)


def test_the_sums_of_a_proof_are_the_round_off_of_their_terms_also_in_columns_of_different_size():
    w, K = overfull()
    sizes = 10.0 ** np.random.default_rng(3).uniform(-6.0, 6.0, w.size)
    scaled = jo.convex.Polyhedron(K.G.toarray() * sizes, K.c)
    with pytest.raises(jo.errors.EmptySet) as caught:
        jo.GaussSeidel(max_iterations=10_000).project(w, K)
    for y in (caught.value.weights, proof(scaled, caught.value.weights)):
        assert y.min() >= 0.0
        assert exactly(y, K.c, 0.0) < 0
        for column in scaled.G.toarray().T:
            some = np.flatnonzero(y * column)
            terms = [Fraction(a) * Fraction(g) for a, g in zip(y[some].tolist(), column[some].tolist(), strict=True)]
            assert abs(sum(terms)) <= Fraction(ROUND_OFF) * sum(abs(term) for term in terms)


def test_weights_that_balance_up_to_a_tolerance_become_a_proof():
    """A network of forces that was computed to six digits, with a row that does not belong to it."""
    G = np.zeros((4, 3))
    G[:3, :2], G[3, 2] = TRIANGLE, 1.0
    K = jo.convex.Polyhedron(G, [-1.0, -1.0, -1.0, -5.0])
    y = proof(K, np.array([1.0, 1.0 + 1e-6, 1.0 - 1e-6, 1e-6]))
    np.testing.assert_allclose(y[:3], y[0], rtol=1e-15)
    assert y[3] == 0.0
    assert proof(K, np.array([1.0, 0.0, 0.0, 1.0])) is None
    assert proof(jo.convex.Polyhedron(G, [1.0, 1.0, 1.0, -5.0]), np.ones(4)) is None
