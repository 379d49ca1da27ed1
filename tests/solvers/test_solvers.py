"""All solvers on the same problems: the right point, the stated stopping test, and no silence about failure."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.sparse import csr_array

import jostle as jo
from rows import examples

DATA = Path(__file__).parents[1] / "data"
SOLVERS = [
    jo.ActiveSet(),
    jo.GaussSeidel(),
    jo.GaussSeidel(tol=1e-9),
    jo.InteriorPoint(),
    jo.Automatic(),
    jo.Automatic(tol=1e-5),
]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: f"{solver.name}-{solver.tol:g}")
ROUND_OFF = 1e-10


def nearest_point(w, G, c, matrix):
    """The projection by non-negative least squares (Lawson & Hanson 1974, chapter 23), polished on its active rows."""
    L = np.linalg.cholesky(matrix)
    A, s0 = np.linalg.solve(L, G.T).T, c + G @ w
    E, f = np.vstack([A.T, -s0]), np.append(np.zeros(len(w)), 1.0)
    y, _ = nnls(E, f, maxiter=10_000)
    active = A[y > 0.0]
    x = -np.linalg.lstsq(active, s0[y > 0.0], rcond=None)[0]
    return w + np.linalg.solve(L.T, x)


def isotonic():
    """P33: eight balls in a row."""
    G = np.diff(np.eye(8), axis=0)
    mass = np.array([1.0, 1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0])
    return np.array([1.0, 3.0, 2.0, 0.5, 4.0, -1.0, 2.0, 2.5]), jo.convex.Cone(G), mass


def polyhedron(m, n, seed):
    random = np.random.default_rng(seed)
    G = random.normal(size=(m, n))
    c = random.exponential(0.3, m) - G @ random.normal(size=n)
    return random.normal(size=n), jo.convex.Polyhedron(G, c), random.uniform(0.2, 5.0, n)


def with_matrix():
    w, K, _ = polyhedron(20, 6, 3)
    root = np.random.default_rng(8).normal(size=(6, 6))
    return w, K, root @ root.T + np.eye(6)


def repeated_rows():
    w, K, mass = polyhedron(9, 4, 5)
    G = np.vstack([K.G.toarray(), 3.0 * K.G.toarray(), K.G.toarray()])
    return w, jo.convex.Polyhedron(G, np.concatenate([K.c, 3.0 * K.c, K.c])), mass


def sparse_rows():
    w, K, mass = polyhedron(30, 12, 6)
    return w, jo.convex.Polyhedron(csr_array(K.G.toarray()), K.c, length=0.7), mass


def rack():
    """P38: the cue ball and a rack of four rows, 19 contacts of rank 18."""
    d = np.sqrt(3.0) / 2.0
    q = [(-1.0, 0.0)] + [(row * d, k - row / 2.0) for row in range(4) for k in range(row + 1)]
    q = np.array(q)
    i, j = (side for side in np.triu_indices(len(q), k=1))
    close = np.abs(np.linalg.norm(q[j] - q[i], axis=1) - 1.0) < 1e-9
    i, j = i[close], j[close]
    v = np.zeros((len(q), 2))
    v[0, 0] = 1.0
    return v, jo.convex.Cone(jo.convex.NormalRows(i, j, q[j] - q[i], bodies=len(q))), np.ones(len(q))


def as_matrix(mass, w):
    mass = np.asarray(mass, dtype=float)
    return mass if mass.ndim == 2 else np.diag(np.repeat(mass, w.size // len(mass)))


PROBLEMS = {
    "isotonic": isotonic,
    "few rows": lambda: polyhedron(3, 8, 1),
    "many rows": lambda: polyhedron(60, 7, 2),
    "full mass matrix": with_matrix,
    "repeated rows": repeated_rows,
    "sparse rows": sparse_rows,
    "rack": rack,
}
every_problem = pytest.mark.parametrize("make", PROBLEMS.values(), ids=PROBLEMS)


def assert_stopping_test(w, K, matrix, P, tol):
    """violation <= tol r and sum p |s| <= tol |u - w|_M^2, from what was returned alone."""
    G, w, u, p = K.G.toarray(), np.ravel(w), P.point.ravel(), P.multipliers
    s, moved = K.c + G @ u, u - w
    distance = np.sqrt(moved @ matrix @ moved)
    lengths = np.sqrt(np.einsum("ij,ij->i", G @ np.linalg.inv(matrix), G))
    allowed = np.where(K.length > 0.0, K.length, distance * lengths)
    noise = 1e-14 * (np.abs(K.c) + np.abs(G) @ (np.abs(u) + np.abs(w)))
    assert (-s <= tol * allowed + noise).all()
    assert p @ np.abs(s) <= tol * distance**2 + p @ noise
    assert p.min() >= 0.0
    force = matrix @ moved - G.T @ p
    rounding = 1e-14 * np.sqrt(np.diag(matrix).max()) * (np.linalg.norm(w) + np.linalg.norm(u) + np.abs(p) @ lengths)
    assert np.sqrt(force @ np.linalg.solve(matrix, force)) <= tol * distance + rounding


@every_solver
@every_problem
def test_every_solver_finds_the_nearest_point_and_meets_its_test(solver, make):
    w, K, mass = make()
    matrix = as_matrix(mass, w)
    P = solver.project(w, K, mass)
    expected = nearest_point(w.ravel(), K.G.toarray(), K.c, matrix)
    assert P.converged
    assert P.residual.within(solver.tol)
    assert P.point.shape == w.shape
    assert_stopping_test(w, K, matrix, P, solver.tol)
    wrong, moved = P.point.ravel() - expected, P.point.ravel() - w.ravel()
    distance = np.sqrt(moved @ matrix @ moved)
    assert np.sqrt(wrong @ matrix @ wrong) <= (P.residual.eta + ROUND_OFF) * distance
    assert P.residual.eta <= np.sqrt(2.0 * solver.tol)


def test_the_oracle_of_this_file_knows_the_reference_cases():
    """P33 and P38: u = (1, 1.875, 1.875, 1.875, 2.57142857143 ...); u_cue = 0.144329896907 = 14/97."""
    w, K, mass = isotonic()
    u = nearest_point(w, K.G.toarray(), K.c, np.diag(mass))
    np.testing.assert_allclose(u, [1.0] + [1.875] * 3 + [18.0 / 7.0] * 4, atol=1e-11)
    w, K, _ = rack()
    assert K.G.shape[0] == 19
    assert np.linalg.matrix_rank(K.G.toarray()) == 18
    u = nearest_point(w.ravel(), K.G.toarray(), K.c, np.eye(w.size))
    np.testing.assert_allclose(u[:2], [14.0 / 97.0, 0.0], atol=1e-10)


def test_the_multipliers_of_independent_rows_are_the_known_ones():
    """P33: p = (0, 1.125, 1.375, 0, 4.28571428571, 0.714285714286, 0.142857142857)."""
    P = jo.project(*isotonic()[:2], mass=isotonic()[2])
    np.testing.assert_allclose(P.multipliers, [0.0, 1.125, 1.375, 0.0, 30.0 / 7.0, 5.0 / 7.0, 1.0 / 7.0], atol=1e-11)


@every_solver
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_units_do_not_matter(solver, unit):
    """Velocities in another unit, and masses in another unit: the same iterations, the same point."""
    w, K, mass = polyhedron(60, 7, 2)
    G = K.G.toarray()
    plain = solver.project(w, jo.convex.Polyhedron(G, K.c, length=0.5), mass)
    scaled = solver.project(unit * w, jo.convex.Polyhedron(G, unit * K.c, length=0.5 * unit), mass / unit)
    assert scaled.converged
    assert scaled.iterations == plain.iterations
    np.testing.assert_allclose(scaled.point / unit, plain.point, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(scaled.multipliers, plain.multipliers, rtol=1e-4, atol=1e-6)


@every_solver
def test_masses_over_twelve_decades(solver):
    """Masses 1e-6 to 1e6: the exact solver is right to 1e-8; the others are right or say that they are not."""
    mass = 10.0 ** np.array([0, -6, 6, -3, 3, 6, -6])
    w = np.array([2.0, -1.0, 0.5, -3.0, 1.0, -0.5, 4.0])
    P = solver.project(w, jo.convex.Cone(np.diff(np.eye(7), axis=0)), mass)
    expected = pooled(w, mass)
    wrong = np.sqrt(mass @ (P.point - expected) ** 2) / np.sqrt(mass @ (expected - w) ** 2)
    if P.solver == "ActiveSet":
        assert P.converged
        assert wrong <= 1e-8
    else:
        assert P.converged or P.residual.eta > np.sqrt(2.0 * solver.tol)
        assert wrong <= P.residual.eta


def test_the_default_copes_with_masses_over_twelve_decades_in_larger_problems():
    """150 balls in a row, masses 1e-6 to 1e6: the default answers to 1e-8."""
    random = np.random.default_rng(0)
    mass, w = 10.0 ** random.uniform(-6.0, 6.0, 150), random.normal(size=150)
    P = jo.project(w, jo.convex.Cone(np.diff(np.eye(150), axis=0)), mass=mass)
    expected = pooled(w, mass)
    assert np.sqrt(mass @ (P.point - expected) ** 2) <= 1e-8 * np.sqrt(mass @ (expected - w) ** 2)


def pooled(w, mass):
    """Weighted isotonic regression by pooling adjacent violators."""
    blocks = []
    for value, weight in zip(w, mass, strict=True):
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, m, k), (b, n, j) = blocks[-2], blocks[-1]
            blocks[-2:] = [[(m * a + n * b) / (m + n), m + n, k + j]]
    return np.concatenate([np.full(count, value) for value, _, count in blocks])


@every_solver
def test_a_point_inside_stays_where_it_is(solver):
    w, K, mass = polyhedron(9, 4, 5)
    inside = nearest_point(w, K.G.toarray(), K.c - 1e-3, np.diag(mass))
    assert (K.slack(inside) > 0.0).all()
    P = solver.project(inside, K, mass)
    assert (P.point == inside).all()
    assert (P.multipliers == 0.0).all()
    assert (P.iterations, P.converged, P.solver) == (0, True, solver.name)


@every_solver
def test_no_rows_and_no_coordinates_are_no_problem(solver):
    P = solver.project([1.0, -2.0], jo.convex.Cone(np.zeros((0, 2))))
    assert P.converged
    assert P.point.tolist() == [1.0, -2.0]
    assert solver.project(np.zeros((0, 2)), jo.convex.Cone(np.zeros((0, 0)))).point.shape == (0, 2)


# --- real piles ---


def pile(name):
    """(w, K, mass, u): one step of a simulation and its velocities, with u - w = M^-1 G^T p for rows over h."""
    data, answer = np.load(DATA / f"{name}.npz"), np.load(DATA / f"ref_{name}.npz")
    n, h = len(data["mass"]), float(data["h"])
    i, j = data["I"].astype(np.int64), data["J"].astype(np.int64)
    G = jo.convex.NormalRows(i, np.where(j == n, -1, j), data["E"], bodies=n)
    K = jo.convex.Polyhedron(G, data["D"] / h, length=float(data["rmin"]) / h)
    return data["U"], K, data["mass"], answer["u"][:n]


def m_norm(v, mass):
    return np.sqrt(mass @ (v**2).sum(axis=1))


PILE_SOLVERS = [
    ("pile_2d_100_2", jo.ActiveSet()),
    ("pile_2d_100_2", jo.GaussSeidel(tol=1e-4)),
    ("pile_2d_100_2", jo.GaussSeidel(tol=1e-8)),
    ("pile_2d_100_2", jo.InteriorPoint(tol=1e-6)),
    ("pile_2d_100_2", jo.InteriorPoint(tol=1e-10)),
    ("pile_2d_100_2", jo.Automatic()),
    ("pile_2d_1000_2", jo.GaussSeidel(tol=1e-4)),
    ("pile_2d_1000_2", jo.InteriorPoint()),
    ("xtal_2d_1000_2", jo.GaussSeidel(tol=1e-4)),
    ("xtal_2d_1000_2", jo.InteriorPoint()),
]


@pytest.mark.parametrize(("name", "solver"), PILE_SOLVERS, ids=lambda part: str(part).split(",")[0])
def test_real_piles_meet_the_stopping_test_and_eta_bounds_the_error(name, solver):
    w, K, mass, u = pile(name)
    P = solver.project(w, K, mass)
    assert P.converged
    s, distance = K.slack(P.point), m_norm(P.point - w, mass)
    assert (s >= -solver.tol * K.length).all()
    assert P.multipliers @ np.abs(s) <= solver.tol * distance**2
    assert P.multipliers.min() >= 0.0
    np.testing.assert_allclose(w.ravel() + K.G.adjoint(P.multipliers) / np.repeat(mass, 2), P.point.ravel(), atol=1e-9)
    assert m_norm(P.point - u, mass) <= (P.residual.eta + ROUND_OFF) * distance
    assert P.residual.complementarity == pytest.approx(P.multipliers @ np.abs(s) / distance**2, rel=1e-3, abs=1e-12)


def test_the_reference_of_a_pile_passes_the_test_itself():
    """The files mean what their page says: p impulses over h, u the projection."""
    w, K, mass, u = pile("pile_2d_100_2")
    data, answer = np.load(DATA / "pile_2d_100_2.npz"), np.load(DATA / "ref_pile_2d_100_2.npz")
    p = float(data["h"]) * answer["p"]
    assert (answer["u"][-1] == 0.0).all()
    np.testing.assert_allclose(w.ravel() + K.G.adjoint(p) / np.repeat(mass, 2), u.ravel(), atol=1e-9)
    assert K.slack(u).min() >= -1e-9
    assert p @ np.abs(K.slack(u)) <= 1e-10 * m_norm(u - w, mass) ** 2


def test_a_guess_saves_nesterov_iterations():
    """Warm start from a slightly different step of the same pile."""
    w, K, mass, _ = pile("pile_2d_100_2")
    solver = jo.GaussSeidel(tol=1e-4)
    cold = solver.project(w, K, mass)
    before = solver.project(1.01 * w, K, mass)
    warm = solver.project(w, K, mass, guess=before.multipliers)
    assert cold.converged
    assert warm.converged
    assert warm.iterations < cold.iterations / 2
    assert m_norm(warm.point - cold.point, mass) <= (warm.residual.eta + cold.residual.eta) * m_norm(
        cold.point - w, mass
    )
    assert solver.project(w, K, mass, guess=cold.multipliers).iterations == 0


@every_solver
def test_a_bad_guess_does_not_change_the_answer(solver):
    w, K, mass = polyhedron(60, 7, 2)
    guess = np.random.default_rng(0).normal(size=60)
    given = guess.copy()
    P = solver.project(w, K, mass, guess=guess)
    expected = nearest_point(w, K.G.toarray(), K.c, np.diag(mass))
    assert P.converged
    assert np.sqrt(mass @ (P.point - expected) ** 2) <= (P.residual.eta + ROUND_OFF) * np.sqrt(
        mass @ (expected - w) ** 2
    )
    assert (guess == given).all()  # not written into


# --- the default ---


def test_the_default_picks_by_size_and_says_what_it_picked():
    w, K, mass, _ = pile("pile_2d_100_2")
    few = jo.convex.Polyhedron(K.G.rows(np.arange(128)), K.c[:128], length=K.length[:128])
    more = jo.convex.Polyhedron(K.G.rows(np.arange(129)), K.c[:129], length=K.length[:129])
    assert jo.project(w, few, mass=mass).solver == "ActiveSet"
    assert jo.project(w, more, mass=mass).solver == "InteriorPoint"
    start = jo.project(w, more, mass=mass).multipliers
    loose = jo.Automatic(tol=1e-4)
    assert (start > 0.0).mean() > 0.5
    assert jo.project(w, more, mass=mass, solver=loose, guess=start).solver == "Guess"
    assert jo.project(w, more, mass=mass, solver=loose, guess=(1.0 + 1e-3) * start).solver == "GaussSeidel"


@pytest.mark.parametrize(
    ("discs", "residuals", "iterations"),
    [
        (200, [1e3], [100]),
        (200, [20.0, 15.0], [100, 200]),
        (200, [20.0, np.nan], [100, 200]),
        (10_000, [20.0, 9.0, 4.0, 1.5], [300, 600, 1200, 2400]),
    ],
)
def test_trials_of_first_order_end_when_they_no_longer_halve_the_residual(discs, residuals, iterations):
    """Residuals in tolerances: beyond thirty of them there is but one trial."""
    tol = 1e-4
    trials, tried = jo.Automatic(tol=tol)._trials(discs), []

    def answer(worst):
        return jo.convex.Projection(np.zeros(2), np.zeros(3), jo.convex.Residual(worst * tol, 0.0, 0.0), 0, False, "")

    next(trials)
    solver = trials.send(answer(1.0))
    for worst in residuals:
        tried.append(solver.max_iterations)
        try:
            solver = trials.send(answer(worst))
        except StopIteration:
            break
    assert tried == iterations


def test_the_default_takes_spheres_by_first_order():
    """130 spheres on a floor, in three dimensions."""
    n = 130
    floor = jo.convex.NormalRows(np.arange(n), np.full(n, -1), np.tile([0.0, 0.0, -1.0], (n, 1)), bodies=n)
    w = np.tile([1.0, 0.0, -1.0], (n, 1))
    P = jo.project(w, jo.convex.Cone(floor))
    assert P.solver == "GaussSeidel"
    np.testing.assert_allclose(P.point, np.tile([1.0, 0.0, 0.0], (n, 1)), atol=1e-4)


def test_the_default_tries_the_other_solver_when_the_first_gives_up():
    w, K, mass, u = pile("pile_2d_100_2")
    P = jo.project(w, K, mass=mass, solver=jo.Automatic(tol=1e-5, max_iterations=140))
    assert P.solver == "InteriorPoint"
    assert 100 < P.iterations <= 140
    assert m_norm(P.point - u, mass) <= 1e-2 * m_norm(P.point - w, mass)


# --- failure is said aloud ---


@pytest.mark.parametrize(
    "solver",
    [jo.ActiveSet(max_iterations=3), jo.GaussSeidel(max_iterations=3), jo.InteriorPoint(max_iterations=2)],
    ids=lambda solver: solver.name,
)
def test_too_few_iterations_are_not_convergence(solver):
    w, K, mass, u = pile("pile_2d_100_2")
    P = solver.project(w, K, mass)
    assert not P.converged
    assert not P.residual.within(solver.tol)
    assert 0 < P.iterations <= solver.max_iterations
    assert m_norm(P.point - u, mass) > 1e-3 * m_norm(w - u, mass)
    with pytest.raises(jo.NotConverged, match=f"{solver.name} stopped after {P.iterations} iterations") as caught:
        jo.project(w, K, mass=mass, solver=solver)
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.projection.residual == P.residual
    assert f"tol is {solver.tol:.1e}. Use jo.Automatic(tol={solver.tol:g}), which tries" in str(caught.value)
    with pytest.raises(jo.NotConverged, match=r"tol is 1\.0e-08\. (Allow more iterations; l|L)oosen tol"):
        jo.project(w, K, mass=mass, solver=jo.Automatic(max_iterations=2))


@pytest.mark.parametrize("make", [jo.ActiveSet, jo.GaussSeidel, jo.InteriorPoint, jo.Automatic])
@pytest.mark.parametrize("tol", [0.0, -1e-8, 1.0, np.nan])
def test_a_tolerance_lies_between_zero_and_one(make, tol):
    with pytest.raises(jo.InvalidValue, match="tol must lie between 0 and 1"):
        make(tol=tol)


@pytest.mark.parametrize("make", [jo.ActiveSet, jo.GaussSeidel, jo.InteriorPoint, jo.Automatic])
def test_at_least_one_iteration(make):
    with pytest.raises(jo.InvalidValue, match="max_iterations"):
        make(max_iterations=0)


@every_solver
def test_what_is_not_finite_is_refused(solver):
    K = jo.convex.Polyhedron([[1.0, 0.0]], [-1.0])
    for w in ([np.nan, 0.0], [0.0, np.inf], [-np.inf, 0.0]):
        with pytest.raises(jo.errors.NotFinite):
            solver.project(w, K)
    with pytest.raises(jo.errors.NotFinite):
        solver.project([0.0, 0.0], jo.convex.Polyhedron([[1.0, 0.0]], [np.nan]))


@every_solver
def test_the_sizes_must_fit(solver):
    with pytest.raises(jo.InvalidValue, match="w has 3 coordinates, G has 2 columns"):
        solver.project([0.0, 0.0, 0.0], jo.convex.Cone([[1.0, 0.0]]))


# --- the polar cone, and decompositions ---


@every_solver
def test_polar_cones_decompose_the_identity(solver):
    """U = P_C U + P_N U, <P_C U, P_N U>_M = 0, P_N U = -M^-1 G^T p."""
    w, K, mass = isotonic()
    onto_cone, onto_polar = jo.project(w, K, mass=mass, solver=solver), jo.project(w, K.polar, mass=mass, solver=solver)
    along, against = jo.solvers.decompose(w, K, mass=mass, solver=solver)
    np.testing.assert_allclose(onto_cone.point + onto_polar.point, w, atol=1e-14)
    assert (along == onto_cone.point).all()
    np.testing.assert_allclose(against, onto_polar.point, atol=1e-14)
    np.testing.assert_allclose(onto_polar.point, -K.G.adjoint(onto_polar.multipliers) / mass, atol=1e-12)
    size = mass @ w**2
    assert abs(mass @ (onto_cone.point * onto_polar.point)) <= (solver.tol + ROUND_OFF) * size


@pytest.mark.parametrize(("seed", "tol"), [(1, 1e-10), (1, 1e-12), (5, 1e-12)])
def test_second_order_reaches_tight_tolerances_and_does_not_aim_beyond(seed, tol):
    """150 discs shaken on a square lattice: products s p far below the tolerance would end in round-off at 1e-8."""
    random = np.random.default_rng(seed)
    x, y = np.meshgrid(np.arange(15.0), np.arange(10.0))
    q = np.stack([x.ravel(), y.ravel()], axis=1) + random.uniform(-0.03, 0.03, (150, 2))
    within = jo.Balls(np.full(150, 0.5)) & jo.Box([-0.5, -0.5], [14.5, np.inf], radii=0.5)
    K = within.linearise(0.0, q, 0.05).velocities(0.01)
    assert jo.InteriorPoint(tol=tol).project(0.1 * random.normal(size=q.shape), K).converged


def test_a_solver_with_a_name_that_statistics_cannot_keep_is_refused():
    name = "SolverWhoseNameIsLongerThanAnybodyReads"
    solver = type(name, (jo.GaussSeidel,), {})
    with pytest.raises(jo.InvalidValue, match=f"the name of the solver {name} must have at most 32 ASCII characters"):
        solver()


@settings(max_examples=examples(30), derandomize=True, deadline=None)
@given(
    seed=st.integers(0, 10_000), decades=st.sampled_from([0.0, 3.0]), changed=st.integers(0, 20), twice=st.booleans()
)
def test_the_active_set_started_from_any_guess_is_that_started_without_one(seed, decades, changed, twice):
    """Up to round-off: from the rows that are active, from a guess with wrong rows, and with dependent rows."""
    random, active = np.random.default_rng(seed), np.arange(100) < 80
    G, u = random.normal(size=(100, 110)), random.normal(size=110)
    if twice:
        G[70:80] = G[:10]
    mass = 10.0 ** random.uniform(-decades, decades, 110)
    p = np.where(active, random.uniform(0.1, 1.0, 100), 0.0)
    K = jo.convex.Polyhedron(G, np.where(active, 0.0, random.uniform(0.1, 1.0, 100)) - G @ u, length=1.0)
    w = u - G.T @ p / mass
    guess = p.copy()
    guess[random.permutation(100)[:changed]] = random.choice([0.0, 1.0])
    found = [jo.ActiveSet().project(w, K, mass, one) for one in (None, guess)]
    for P in found:
        np.testing.assert_allclose(P.point, u, atol=1e-9 * np.abs(u - w).max())
        assert P.residual.worst <= 1e-11
    assert found[1].iterations <= 3 or changed or twice


def test_discs_at_rest_need_few_factorisations():
    """Their active rows are those of the step before; without them the method adds one row at a time."""
    radii = np.random.default_rng(1).uniform(0.35, 0.5, 50)
    pile = jo.models.spheres(radii, box=([0, 0], [7.0, np.inf]))
    sol = jo.solve(pile, jo.Maury(), t=6.0, h=0.02)
    at_rest = sol.stats[-50:]
    assert (at_rest["solver"] == "ActiveSet").all()
    assert at_rest["active"].min() > 90
    assert np.median(at_rest["iterations"]) <= 3
    assert at_rest["complementarity"].max() <= 1e-12
