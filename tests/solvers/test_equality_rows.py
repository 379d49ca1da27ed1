"""Rows that hold with equality: all solvers against the optimality conditions, solved by enumeration in plain NumPy."""

import warnings
from functools import cache
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import block_diag, csr_array

import jostle as jo
from jostle.convex.emptiness import contradiction, proven_by
from jostle.convex.linear_map import as_map
from jostle.convex.metric import metric
from jostle.convex.residuals import residual
from jostle.kernels.reference.dense import EMPTY
from jostle.solvers.automatic import _Guess
from jostle.solvers.dual_active_set import UnitRows, incompatible, project_with_equalities
from jostle.solvers.semismooth_newton import SemismoothNewton
from rows import examples

SOLVERS = [jo.ActiveSet(), jo.InteriorPoint(tol=1e-9), jo.GaussSeidel(tol=1e-9), jo.Automatic()]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
AGREEMENT = 1e-4
"""Points agree up to this part of the distance moved: the square root of the solvers' tolerance, and some."""


def nearest_by_enumeration(w, G, c, equal, matrix):
    """The u of M (u - w) = G^T p, s = c + G u: every choice of active inequalities is tried, and the right one kept."""
    fixed, free = np.flatnonzero(equal), np.flatnonzero(~equal)
    for chosen in chain.from_iterable(combinations(free, k) for k in range(len(free) + 1)):
        rows = np.array([*fixed, *chosen], dtype=int)
        A = G[rows]
        system = np.block([[matrix, -A.T], [A, np.zeros((len(rows), len(rows)))]])
        found = np.linalg.lstsq(system, np.append(matrix @ w, -c[rows]), rcond=None)[0]
        u, p, s = found[: len(w)], found[len(w) + len(fixed) :], c + G @ found[: len(w)]
        held = np.abs(s[rows]).max(initial=0.0) < 1e-9 and np.abs(matrix @ (u - w) - A.T @ found[len(w) :]).max() < 1e-9
        if held and p.min(initial=0.0) > -1e-9 and s[free].min(initial=0.0) > -1e-9:
            return u
    raise AssertionError("no choice of active rows satisfies the optimality conditions")


def problem(seed, equalities, inequalities, dependent, coupled):
    """A projection on a set that is not empty: w, K, mass; K has rows of both kinds in random order."""
    random = np.random.default_rng(seed)
    n = int(random.integers(max(equalities, 2), equalities + 4))
    E = random.normal(size=(equalities, n))
    if dependent:  # a third row that says the same as the two before
        E = np.vstack([E, 2.0 * E[:1] - E[-1:]])
    G = np.vstack([E, random.normal(size=(inequalities, n))])
    equal = np.arange(len(G)) < len(E)
    c = -G @ random.normal(size=n) + np.where(equal, 0.0, random.exponential(0.5, len(G)))
    order = random.permutation(len(G))
    root = random.normal(size=(n, n))
    mass = root @ root.T + np.eye(n) if coupled else random.uniform(0.3, 3.0, n)
    return 3.0 * random.normal(size=n), jo.convex.Polyhedron(G[order], c[order], equal=equal[order]), mass


@every_solver
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 4), st.booleans(), st.booleans())
def test_every_solver_finds_the_point_of_the_optimality_conditions(solver, seed, equalities, more, dependent, coupled):
    w, K, mass = problem(seed, equalities, more, dependent, coupled)
    matrix = mass if coupled else np.diag(mass)
    expected = nearest_by_enumeration(w, K.G.toarray(), K.c, K.equal, matrix)
    P = solver.project(w, K, mass)
    distance = np.sqrt((expected - w) @ matrix @ (expected - w))
    assert P.converged
    assert np.sqrt((P.point - expected) @ matrix @ (P.point - expected)) <= AGREEMENT * distance
    assert np.abs(K.slack(P.point)[K.equal]).max() <= 1e-7 * max(1.0, distance)
    assert P.multipliers[~K.equal].min(initial=0.0) >= 0.0
    assert matrix @ (P.point - w) == pytest.approx(K.G.adjoint(P.multipliers), abs=1e-6 * distance)


@given(st.integers(0, 10**6), st.integers(1, 2), st.integers(0, 3), st.booleans())
def test_polar_cones_decompose_the_identity_with_equalities(seed, equalities, inequalities, dependent):
    w, K, mass = problem(seed, equalities, inequalities, dependent, False)
    cone = jo.convex.Cone(K.G, equal=K.equal)
    along, against = jo.solvers.decompose(w, cone, mass=mass)
    assert along + against == pytest.approx(w)
    assert abs((mass * along) @ against) <= 1e-9 * float((mass * w) @ w)
    assert np.abs(cone.G @ along)[K.equal].max() <= 1e-9 * np.abs(w).max()
    assert jo.project(w, cone.polar, mass=mass).point == pytest.approx(against, abs=1e-9 * np.abs(w).max())


def test_a_point_on_either_side_of_an_equality_moves_onto_it():
    line = jo.convex.Polyhedron([[0.0, 1.0]], [-1.0], equal=[True])
    for y in (-3.0, 0.0, 1.0, 5.0):
        P = jo.project([2.0, y], line)
        assert P.point.tolist() == [2.0, 1.0]
        assert P.multipliers.tolist() == [1.0 - y]


@every_solver
def test_equalities_that_contradict_each_other_are_named(solver):
    K = jo.convex.Polyhedron(
        [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [0.0, 0.0, 1.0, 0.0],  # x = 0, x + y = 0, 2 x + y = -1, z >= 0
        equal=[True, True, True, False],
        describe="joint {}".format,
    )
    with pytest.raises(jo.errors.EmptySet, match="joint 0; joint 1; joint 2") as raised:
        solver.project([1.0, 2.0, -3.0], K)
    y = raised.value.weights
    assert np.abs(K.G.adjoint(y)).max() <= 1e-6 * np.abs(y).max()
    assert K.c @ y < 0.0
    assert sorted(raised.value.rows.tolist()) == [0, 1, 2]


@every_solver
def test_an_inequality_that_an_equality_excludes_is_named(solver):
    K = jo.convex.Polyhedron([[1.0, 1.0], [-1.0, -1.0]], [-1.0, 0.0], equal=[True, False])  # x + y = 1, x + y <= 0
    with pytest.raises(jo.errors.EmptySet, match="row 0; row 1"):
        solver.project([3.0, -1.0], K)


def test_the_linear_program_finds_contradictions_of_equalities():
    M = metric(1.0, (1,))
    assert contradiction(jo.convex.Polyhedron([[1.0], [2.0]], [0.0, 1.0], equal=[True, True]), M) is not None
    assert contradiction(jo.convex.Polyhedron([[1.0], [2.0]], [1.0, 2.0], equal=[True, True]), M) is None
    assert contradiction(jo.convex.Polyhedron([[1.0], [2.0]], [0.0, 1.0], equal=[True, False]), M) is None


def hanging_chain(links):
    """The velocities that a chain allows in a step: rods in a zigzag, above a floor that some of its joints touch."""
    k = np.arange(1, links + 1)
    q = np.stack([0.8 * k, 0.6 * (k % 2)], axis=1)
    rods = jo.Rods([(0, -1)] + [(i, i + 1) for i in range(links - 1)], 1.0, points=[[0.0, 0.0]])
    return (rods & jo.HalfSpace([0.0, 1.0])).linearise(0.0, q).velocities(0.1)


def test_a_long_chain_is_projected_by_a_sparse_factorisation():
    K, w = hanging_chain(200), np.random.default_rng(1).normal(size=(200, 2))
    P = jo.Automatic().project(w, K)
    assert P.converged
    assert P.solver == "SemismoothNewton"
    assert P.multipliers[K.equal].min() < 0.0 < P.multipliers[~K.equal].max()
    assert P.point == pytest.approx(jo.ActiveSet().project(w, K).point, abs=1e-7)


def test_rows_that_depend_on_each_other_do_not_harm_the_sparse_factorisation():
    K, w = hanging_chain(100), np.random.default_rng(1).normal(size=(100, 2))
    G, equal = K.G.toarray(), np.append(K.equal, K.equal)
    twice = jo.convex.Polyhedron(csr_array(np.vstack([G, 3.0 * G])), np.append(K.c, 3.0 * K.c), equal=equal)
    P = SemismoothNewton().project(w, twice)
    assert P.converged
    assert P.point == pytest.approx(jo.ActiveSet().project(w, K).point, abs=1e-7)


def test_where_newton_goes_round_in_circles_another_solver_takes_over():
    found = 0
    for seed in range(5):
        w, K, mass = problem(seed, 60, 80, False, False)
        alone, together = SemismoothNewton().project(w, K, mass), jo.Automatic().project(w, K, mass)
        assert together.converged
        found += not alone.converged
    assert found > 0


@pytest.mark.parametrize("wrong", [[True], [[True, False]], [1.0, 0.0], [1, 0]])
def test_the_kind_of_each_row_is_true_or_false(wrong):
    with pytest.raises(jo.InvalidValue, match="equal"):
        jo.convex.Polyhedron([[1.0], [2.0]], [0.0, 0.0], equal=wrong)


def test_rows_without_equalities_are_the_same_polyhedron():
    K = jo.convex.Polyhedron([[1.0], [2.0]], [0.0, 0.0], equal=[False, False])
    assert K.equal is None


def test_moreaus_law_reflects_along_an_equality():
    """A bead on the wire x + y = 0 hits a wall x >= 0: it comes back along the wire."""
    cone = jo.convex.Cone([[1.0, 1.0], [1.0, 0.0]], equal=[True, False])
    hit = jo.impact([-2.0, 2.0], cone, law=jo.Restitution(0.5))
    assert hit.velocity == pytest.approx([1.0, -1.0])
    assert hit.approaching
    assert hit.admissible


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 10**6), e=st.floats(0.0, 1.0))
def test_no_law_gives_an_equality_a_restitution(seed, e):
    """A velocity across equalities is lost whatever e is; the other rows obey their law."""
    random = np.random.default_rng(seed)
    G, u, mass = random.normal(size=(3, 5)), random.normal(size=5), random.uniform(1.0, 3.0, 5)
    cone = jo.convex.Cone(G, equal=[False, True, True])
    for law in (jo.Restitution(e), jo.Restitution(lambda v: np.full(len(v), e))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jo.errors.NotApproaching)  # the inequality may open before the impact
            hit = jo.impact(u, cone, law=law, mass=mass)
        rate, allowed = G @ hit.velocity, 1e-7 * np.abs(G @ u).max()
        np.testing.assert_allclose(rate[1:], 0.0, atol=allowed)
        np.testing.assert_allclose(mass * (hit.velocity - u), G.T @ hit.impulse, atol=1e-7)
        over = rate[0] + e * (G @ u)[0]
        assert over >= -allowed
        assert hit.impulse[0] * over == pytest.approx(0.0, abs=1e-6)
        assert not hit.approaching
        assert hit.admissible == (rate[0] >= -allowed)


@pytest.mark.parametrize("u", [[0.0, 1.0], [1.0, 0.0]])
@pytest.mark.parametrize("e", [0.0, 0.5, lambda v: 0.0 * v, lambda v: 0.5 + 0.0 * v])
def test_the_ends_of_a_rod_go_on_together(u, e):
    hit = jo.impact(u, jo.convex.Cone([[-1.0, 1.0]], equal=[True]), law=jo.Restitution(e))
    assert hit.velocity == pytest.approx([0.5, 0.5])
    assert hit.admissible


def test_a_law_that_varies_warns_of_an_inadmissible_velocity():
    """The second row opens before the impact: the law with e = 1 lets it close after it."""
    cone = jo.convex.Cone([[1.0, 0.0], [-1.0, 0.1]])
    for law in (jo.Restitution(1.0), jo.Restitution(np.ones_like)):
        with pytest.warns(jo.errors.NotApproaching, match="with e = 1 the law gives an inadmissible velocity"):
            assert not jo.impact([-1.0, 0.0], cone, law=law).admissible


def row_of_balls(n):
    """Balls on a line that touch, some of which are glued together: contacts of bodies, with equalities among them."""
    i = np.arange(n - 1)
    G = jo.convex.NormalRows(i, i + 1, np.ones((n - 1, 1)), bodies=n, positions=np.arange(float(n))[:, None])
    return jo.convex.Polyhedron(G, np.zeros(n - 1), equal=i % 5 == 0, length=1.0)


@cache
def many_equalities():
    """400 balls in a row, a velocity of each, and its projection."""
    K, w = row_of_balls(400), np.random.default_rng(3).normal(size=(400, 1))
    return K, w, jo.ActiveSet().project(w, K).point


@pytest.mark.parametrize(
    "solver", [jo.GaussSeidel(tol=1e-6), jo.GaussSeidel(tol=1e-6, max_iterations=20_000, budget=True), jo.Automatic()]
)
def test_contacts_of_bodies_may_be_equalities(solver):
    """More rows than are treated as dense: the fused sweeps over contacts."""
    K, w, exact = many_equalities()
    P = solver.project(w, K)
    assert P.converged
    assert P.point == pytest.approx(exact, abs=1e-3)
    assert P.multipliers[K.equal].min() < 0.0


def test_a_guess_of_either_sign_is_a_start():
    K, w = hanging_chain(100), np.random.default_rng(1).normal(size=(100, 2))
    P = jo.Automatic().project(w, K)
    again = jo.GaussSeidel(tol=1e-6).project(w, K, guess=P.multipliers)
    assert again.iterations == 0
    assert again.point == pytest.approx(P.point, abs=1e-9)


def test_conditions_of_the_papers_are_about_inequalities():
    cone = jo.convex.Cone([[1.0, 0.0], [0.0, 1.0]], equal=[False, True])
    for ask in (jo.analysis.acute, jo.analysis.orthogonal, jo.analysis.inverse_triangle):
        with pytest.raises(jo.InvalidValue, match="row 1 is an equality"):
            ask(cone)
    with pytest.raises(jo.InvalidValue, match="row 1 is an equality"):
        jo.analysis.impulse_range(cone, [1.0, 1.0])


@pytest.mark.parametrize("y", [0.7, 1.3])
def test_a_slack_of_either_sign_is_a_residual_of_an_equality(y):
    K, M = jo.convex.Polyhedron([[0.0, 1.0]], [-1.0], equal=[True], length=2.0), metric(1.0, (2,))
    found = residual(np.array([0.0, 5.0]), K, M, np.array([0.0, y]), np.array([y - 5.0]))
    assert found.primal == pytest.approx(0.15)
    assert found.dual == 0.0  # the multiplier is negative, as it may be


def test_multipliers_of_either_sign_prove_that_a_set_is_empty():
    K = jo.convex.Polyhedron([[1.0], [2.0]], [0.0, 1.0], equal=[True, True])  # x = 0 and 2 x = -1
    y = proven_by(np.array([20.0, -10.0]), K.c, K, metric(1.0, (1,)))
    assert y is not None
    assert K.c @ y < 0.0
    assert proven_by(np.array([-20.0, 10.0]), K.c, K, metric(1.0, (1,))) is None  # that c . y is positive


def test_the_elimination_itself_finds_equalities_that_contradict_each_other():
    A, nothing = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), np.zeros(3)
    rows = UnitRows(A, np.array([0.0, 1.0, 0.5]), nothing, nothing, np.array([True, True, True]))
    _, y, status, _ = project_with_equalities(rows, 10)
    assert status == EMPTY
    assert A.T @ y == pytest.approx([0.0, 0.0])
    assert rows.s0 @ y < 0.0
    close = rows._replace(allowed=np.full(3, 0.6))
    assert project_with_equalities(close, 10)[2] != EMPTY  # a violation that is allowed


def test_an_interior_point_leaves_nothing_on_open_contacts_beside_equalities():
    K = jo.convex.Polyhedron([[1.0, 1.0], [1.0, 0.0]], [-2.0, 30.0], equal=[True, False])  # x + y = 2, x >= -30
    P = jo.InteriorPoint().project([3.0, 9.0], K)
    assert P.multipliers[0] == pytest.approx(-5.0)
    assert P.multipliers[1] == 0.0


def test_the_multipliers_of_the_step_before_are_taken_as_they_are():
    K = jo.convex.Polyhedron([[1.0, 1.0]], [-2.0], equal=[True])
    assert _Guess(tol=1e-9).project([3.0, 9.0], K, guess=np.array([-5.0])).converged


@pytest.mark.parametrize("copies", [1, 80], ids=["dense", "sparse"])
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 3))
@settings(max_examples=15)
def test_what_dependent_rows_do_not_agree_on_is_the_least_squares_residual(copies, seed, independent, dependent):
    random = np.random.default_rng(seed)
    E = random.normal(size=(independent, 5))
    E = np.vstack([E, random.normal(size=(dependent, independent)) @ E])
    size = 10.0 ** random.uniform(-3.0, 3.0, len(E))  # the unit of each row
    c = random.normal(size=len(E))
    unit = np.linalg.norm(E, axis=1)
    expected = c / unit + E / unit[:, None] @ np.linalg.lstsq(E / unit[:, None], -c / unit, rcond=1e-10)[0]
    G = as_map(block_diag([size[:, None] * E] * copies, format="csr") if copies > 1 else size[:, None] * E)
    part, lengths = incompatible(G, np.tile(size * c, copies))
    assert lengths == pytest.approx(np.tile(size * unit, copies))
    assert part == pytest.approx(np.tile(expected, copies), abs=1e-7 * np.abs(c / unit).max())
