"""What bounds a projection: one number of iterations for all solvers that try, memory, and progress that is real."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import jostle as jo
from jostle.convex import emptiness
from jostle.convex.metric import metric
from jostle.solvers import automatic, interior_point

SOLVERS = [jo.ActiveSet, jo.GaussSeidel, jo.InteriorPoint, jo.Automatic]


def lattice(seed, side=13, spacing=1.1, jitter=0.04):
    """Discs on a jittered triangular lattice that fly towards its centre."""
    random = np.random.default_rng(seed)
    row, k = (axis.ravel() for axis in np.meshgrid(np.arange(side), np.arange(side), indexing="ij"))
    q = spacing * np.stack([k + 0.5 * (row % 2), np.sqrt(3.0) / 2.0 * row], axis=1)
    q += random.uniform(-jitter, jitter, q.shape) - q.mean(axis=0)
    v = -0.5 * q + 0.3 * random.normal(size=q.shape)
    return jo.Motion(q0=q, v0=v, within=jo.Balls(np.full(len(q), 0.5)))


def jam(side=12, d=2):
    """(w, K): bodies on a shaken cubic lattice that are pushed together."""
    random = np.random.default_rng(d)
    q = np.stack(np.meshgrid(*[np.arange(float(side))] * d), axis=d).reshape(-1, d)
    q += random.uniform(-0.03, 0.03, q.shape)
    K = jo.Balls(np.full(len(q), 0.5)).linearise(0.0, q, 0.1).velocities(0.01)
    return 0.1 * random.normal(size=q.shape) - q, K


@pytest.mark.parametrize("seed", [0, 1])
def test_second_order_goes_on_while_its_products_fall_although_the_stopping_test_does_not(seed):
    """Where the first discs meet, the answer is near w: sum p |s| and |u - w|^2 fall together for ten iterations."""
    sol = jo.solve(lattice(seed), jo.Maury(solver=jo.InteriorPoint()), t=1.0, h=0.05)
    assert sol.status == "finished"
    assert 10 < sol.stats["iterations"].max() <= 40


# --- a point that passes the test ---


@pytest.mark.parametrize("make", [jo.GaussSeidel, jo.InteriorPoint])
def test_a_point_that_passes_the_test_is_projected_to_itself_at_once(make):
    for violation in (1e-12, 0.4e-3, 0.9e-3):
        P = make(tol=1e-3).project([0.0], jo.convex.Polyhedron([[1.0]], [-violation], length=1.0))
        assert (P.iterations, P.converged, P.point.tolist(), P.multipliers.tolist()) == (0, True, [0.0], [0.0])
        assert P.residual.primal == pytest.approx(violation)
    assert make(tol=1e-3).project([0.0], jo.convex.Polyhedron([[1.0]], [-1.1e-3], length=1.0)).iterations > 0


def test_many_discs_that_pass_the_test_are_projected_to_themselves_by_the_default():
    _, K = jam()
    w = np.zeros((144, 2))
    tol = 2.0 * float((-K.slack(w) / K.length).max())
    P = jo.Automatic(tol=tol).project(w, K)
    assert (P.iterations, P.converged, np.abs(P.point).max(), P.multipliers.max()) == (0, True, 0.0, 0.0)


def test_few_resting_contacts_carry_their_load_in_steps_that_move_less_than_the_tolerance():
    """A ball on the floor, h^2 g = 1e-9 radii: each step has the force m g, though w passes the test of 1e-8."""
    within = jo.Balls([1.0]) & jo.Box([-np.inf, 0.0], [np.inf, np.inf], radii=1.0)
    ball = jo.Motion(q0=[[0.0, 1.0]], force=[0.0, -10.0], within=within)
    sol = jo.solve(ball, jo.Maury(), t=20e-5, h=1e-5)
    np.testing.assert_allclose([p.sum() / 1e-5 for p in sol.multipliers[1:]], 10.0, rtol=1e-6)


def test_a_budget_of_overlap_needs_no_iteration_where_no_overlap_exceeds_it():
    P = jo.GaussSeidel(max_iterations=100, budget=True, overlap=1e-3).project(
        [0.0], jo.convex.Polyhedron([[1.0]], [-1e-4], length=1.0)
    )
    assert (P.iterations, P.point.tolist(), P.converged) == (0, [0.0], False)
    w, K = jam()
    loose = jo.GaussSeidel(
        max_iterations=100, budget=True, overlap=2.0 * float((-K.slack(0.0 * w) / K.length).max())
    ).project(0.0 * w, K)
    assert (loose.iterations, np.abs(loose.point).max()) == (0, 0.0)


# --- iterations ---


@pytest.fixture
def counted(monkeypatch):
    """(solver, iterations) of each solver that ran."""
    ran = []

    def spied(own):
        def solve(self, *given):
            answer = own(self, *given)
            ran.append((self.name, answer[2]))
            return answer

        return solve

    for make in (jo.ActiveSet, jo.GaussSeidel, jo.InteriorPoint):
        monkeypatch.setattr(make, "_solve", spied(make._solve))
    return ran


@pytest.mark.parametrize("most", [1, 7, 41, 45, 200_000])
@pytest.mark.parametrize("d", [2, 3])
def test_max_iterations_bounds_the_sum_of_all_solvers_that_try_and_iterations_is_that_sum(counted, most, d):
    w, K = jam(12 if d == 2 else 5, d)
    P = jo.Automatic(tol=1e-7, max_iterations=most).project(w, K)
    assert counted
    assert P.iterations == sum(iterations for _, iterations in counted) <= most
    assert counted[0][0] == "GaussSeidel"
    assert P.converged or P.iterations == most < 200_000


@pytest.mark.parametrize("make", SOLVERS)
def test_one_iteration_is_one_iteration(make):
    """General rows: the interior point method may be asked several times, more precisely each time."""
    random = np.random.default_rng(0)
    G, w = random.normal(size=(150, 100)), random.normal(size=100)
    P = make(max_iterations=1).project(w, jo.convex.Polyhedron(G, random.exponential(0.3, 150) - 1.0, length=1.0))
    assert P.iterations <= 1
    assert not P.converged


@pytest.mark.parametrize("most", [8, 20, 60])
def test_rows_beside_contacts_do_not_begin_the_iterations_anew(most):
    """A row of discs is too long for its wall: first its contacts are solved alone, then with the wall."""
    q = np.stack([np.arange(100.0), np.zeros(100)], axis=1)
    K = (jo.Balls(np.full(100, 0.5)) & jo.constraints(lambda t, q: [q[0, 0] + 0.1])).linearise(0.0, q, 0.1)
    w = np.zeros(q.shape)
    w[-1, 0] = -900.0
    P = jo.InteriorPoint(max_iterations=most).project(w, K.velocities(0.1), metric(1.0, q.shape))
    assert 0 < P.iterations <= most
    assert P.converged == (most == 60)


def test_the_error_says_who_gave_up_and_whose_answer_was_best():
    w, K = jam()
    with pytest.raises(jo.NotConverged, match=r"^Automatic \(best answer by \w+\) stopped after 3 iterations with"):
        jo.project(w, K, solver=jo.Automatic(max_iterations=3))


# --- memory and time ---


@pytest.mark.parametrize("d", [2, 3])
def test_factors_that_do_not_fit_are_not_computed_and_the_default_says_who_answered_instead(monkeypatch, d):
    w, K = jam(12 if d == 2 else 6, d)
    monkeypatch.setattr(interior_point, "most_memory", lambda: 10_000)
    P = jo.InteriorPoint().project(w, K)
    assert (P.iterations, P.converged) == (0, False)
    with pytest.raises(
        jo.NotConverged, match=r"InteriorPoint was left out: the factors of \d+ bodies would take .* GiB"
    ):
        jo.project(w, K, solver=jo.InteriorPoint())
    monkeypatch.setattr(automatic, "MAX_SPHERE_ITERATIONS", 1)
    monkeypatch.setattr(automatic, "TRIALS", ())
    Q = jo.Automatic(tol=1e-6).project(w, K)
    assert (Q.converged, Q.solver) == (True, "ActiveSet" if len(K.c) <= 2000 else "GaussSeidel")
    assert "InteriorPoint was left out" in Q.remark


def test_the_memory_that_is_allowed_is_part_of_what_the_machine_has():
    assert 0 < interior_point.most_memory() <= interior_point.MOST_MEMORY


def test_an_answer_without_a_decision_on_emptiness_says_so(monkeypatch):
    w, K = jam()
    monkeypatch.setattr(emptiness, "MOST_ENTRIES", 1)
    with pytest.raises(jo.NotConverged, match="whether the set is empty was not decided: the linear program") as caught:
        jo.project(w, K, solver=jo.GaussSeidel(max_iterations=2))
    assert caught.value.projection.remark


def banded(n, m):
    """Rows of three neighbouring unknowns, and a point outside of them."""
    random = np.random.default_rng(0)
    first = random.integers(0, n - 2, m)
    G = csr_array(
        (random.normal(size=3 * m), (np.repeat(np.arange(m), 3), (first[:, None] + np.arange(3)).ravel())), (m, n)
    )
    return np.zeros(n), jo.convex.Polyhedron(G, random.exponential(0.1, m) - G @ random.normal(size=n), length=1.0)


def test_factors_of_general_rows_that_do_not_fit_are_not_computed(monkeypatch):
    """Three numbers a row, neighbours in a band or anywhere: a band has small factors, the other has full ones."""
    w, band = banded(600, 900)
    mixed = jo.convex.Polyhedron(
        csr_array(band.G.tocsr()[:, np.random.default_rng(1).permutation(600)]), band.c, length=1.0
    )
    random = np.random.default_rng(2)
    anywhere = csr_array((random.normal(size=2700), (np.repeat(np.arange(900), 3), random.integers(0, 600, 2700))))
    full = jo.convex.Polyhedron(anywhere, random.exponential(0.1, 900) - anywhere @ random.normal(size=600), length=1.0)
    monkeypatch.setattr(interior_point, "most_memory", lambda: 200_000)
    monkeypatch.setattr(interior_point, "_piqp", spy := Spy(interior_point._piqp))
    for K in (band, mixed):
        assert jo.InteriorPoint(tol=1e-6).project(w, K).converged
    assert spy.calls > 0
    before = spy.calls
    with pytest.raises(jo.NotConverged, match=r"InteriorPoint was left out: the factors of 900 rows would take .* GiB"):
        jo.project(w, full, solver=jo.InteriorPoint(tol=1e-6))
    assert spy.calls == before
    P = jo.Automatic(tol=1e-6).project(w, full)
    assert P.converged
    assert "InteriorPoint was left out" in P.remark


class Spy:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *given):
        self.calls += 1
        return self.function(*given)


@pytest.mark.parametrize("kind", ["band", "grid", "anywhere"])
def test_the_estimate_of_factors_is_that_of_a_real_factorisation_or_more(monkeypatch, kind):
    from scipy.linalg import cholesky
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n, random = 400, np.random.default_rng(0)
    first = random.integers(0, n - 22, 2 * n)
    columns = {
        "band": first[:, None] + np.arange(3),
        "grid": first[:, None] + np.array([0, 1, 20]),
        "anywhere": random.integers(0, n, (2 * n, 3)),
    }[kind]
    A = csr_array((random.normal(size=6 * n), (np.repeat(np.arange(2 * n), 3), columns.ravel())), (2 * n, n))
    monkeypatch.setattr(interior_point, "most_memory", lambda: 100 * A.nnz)
    square = csr_array(A.T @ A)
    place = reverse_cuthill_mckee(square, symmetric_mode=True)
    factor = cholesky((np.eye(n) + square.toarray())[np.ix_(place, place)], lower=True)
    numbers = np.count_nonzero(factor) + A.nnz
    assert numbers <= interior_point.fill(A) <= min(3.0 * numbers, A.nnz + n * (n + 1) // 2)


@pytest.mark.parametrize("d", [2, 3])
def test_the_default_leaves_out_factorisations_that_cost_more_than_first_order(monkeypatch, d):
    w, K = jam(12 if d == 2 else 6, d)
    monkeypatch.setattr(automatic, "MAX_SPHERE_ITERATIONS", 1)
    monkeypatch.setattr(automatic, "TRIALS", ())
    monkeypatch.setattr(automatic, "MAX_FALLBACK_ROWS", 0)
    assert jo.Automatic(tol=1e-6).project(w, K).solver == "InteriorPoint"
    monkeypatch.setattr(automatic, "MIN_OPERATIONS", 1.0)
    monkeypatch.setattr(automatic, "ROW_OPERATIONS", 1e-3)
    P = jo.Automatic(tol=1e-6).project(w, K)
    assert (P.solver, P.converged) == ("GaussSeidel", True)
    assert "take longer than 200000 iterations of first order" in P.remark
