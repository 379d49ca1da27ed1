"""The derivative of a projection: against differences, its adjoint, active sets that are not unique, weak rows."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings

import jostle as jo
from jostle.gradients import of_projection

EXACT = jo.ActiveSet(tol=1e-12)
EPS = 1e-6


def random_problem(seed):
    """w, G, c, equal and a mass in one of three forms, with a point that is admissible."""
    rng = np.random.default_rng(seed)
    N, m = int(rng.integers(1, 7)), int(rng.integers(1, 6))
    G, inside = rng.normal(size=(m, N)), rng.normal(size=N)
    equal = rng.random(m) < 0.2
    if equal.sum() >= N:
        equal[:] = False
    c = -G @ inside + np.where(equal, 0.0, rng.uniform(0.0, 1.0, m))
    L = rng.normal(size=(N, N))
    mass = [2.0, rng.uniform(0.5, 2.0, N), L @ L.T + np.eye(N)][int(rng.integers(3))]
    return rng, 3.0 * rng.normal(size=N), G, c, equal, mass


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_products_are_those_of_central_differences_and_adjoint_to_each_other(seed):
    rng, w, G, c, equal, mass = random_problem(seed)
    derivative = of_projection(w, jo.convex.Polyhedron(G, c, equal=equal), mass=mass)
    way = {"w": rng.normal(size=w.shape), "c": rng.normal(size=c.shape), "G": rng.normal(size=G.shape)}
    way["mass"] = 0.1 * rng.normal(size=np.shape(mass))
    if np.ndim(mass) == 2:
        way["mass"] = way["mass"] + way["mass"].T

    def answer(size):
        K = jo.convex.Polyhedron(G + size * way["G"], c + size * way["c"], equal=equal)
        P = jo.project(w + size * way["w"], K, mass=mass + size * way["mass"], solver=EXACT)
        return P.point, tuple(P.multipliers != 0.0)

    (ahead, active), (behind, other) = answer(EPS), answer(-EPS)
    assume(active == other)
    du = derivative.forward(**way)
    np.testing.assert_allclose(du, (ahead - behind) / (2.0 * EPS), atol=1e-6 * (1.0 + np.abs(du).max()))
    np.testing.assert_allclose(derivative.one_sided(**way), du, atol=1e-8 * (1.0 + np.abs(du).max()))
    v = rng.normal(size=w.shape)
    back = derivative.reverse(v)
    sums = [np.sum(getattr(back, name) * way[name]) for name in way]
    assert v @ du == pytest.approx(sum(sums), rel=1e-10, abs=1e-10 * np.abs(sums).sum())


def test_the_derivative_of_the_projection_on_a_half_space_is_known():
    """G06: I inside, I - M^-1 n n^T / (n^T M^-1 n) outside."""
    n, m = np.array([0.6, 0.8]), np.array([1.0, 3.0])
    half = jo.convex.Polyhedron([n], [-1.0])
    inside, outside = of_projection([5.0, 5.0], half, mass=m), of_projection([0.0, 0.0], half, mass=m)
    expected = np.eye(2) - np.outer(n / m, n) / (n @ (n / m))
    np.testing.assert_array_equal(np.transpose([inside.forward(w=e) for e in np.eye(2)]), np.eye(2))
    np.testing.assert_allclose(np.transpose([outside.forward(w=e) for e in np.eye(2)]), expected, atol=1e-14)


def test_bodies_that_stick_together_share_momentum():
    """G07: du_i / dU_j = m_j / M_B inside a block, 0 outside."""
    mass = np.array([1.0, 2.0, 3.0, 4.0])
    touching = jo.convex.Cone(np.diff(np.eye(4), axis=0)[[0, 2]])  # blocks {0, 1} and {2, 3}
    derivative = of_projection([2.0, 1.0, 5.0, 3.0], touching, mass=mass)
    found = np.transpose([derivative.forward(w=e) for e in np.eye(4)])
    expected = np.zeros((4, 4))
    expected[:2, :2], expected[2:, 2:] = mass[:2] / 3.0, mass[2:] / 7.0
    np.testing.assert_allclose(found, expected, atol=1e-14)


def seven_discs():
    """A disc and the six around it, which all approach: twelve contacts."""
    angle = np.arange(6) * np.pi / 3.0
    q = np.concatenate([[[0.0, 0.0]], 2.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1)])
    return q, jo.Balls(np.ones(7)).linearise(0.0, q).cone(1e-9)


@pytest.mark.parametrize(
    "solver", [jo.ActiveSet(), jo.InteriorPoint(), jo.GaussSeidel(tol=1e-8, max_iterations=100_000)]
)
def test_the_derivative_does_not_depend_on_the_choice_of_multipliers(solver):
    """G08: seven discs have multipliers in many ways; some solvers leave six contacts without any."""
    q, cone = seven_discs()
    derivative = of_projection(-q, cone, solver=solver)
    assert len(derivative.active) == 12
    assert len(derivative.weak) == 0
    assert derivative.dependent
    for way in np.random.default_rng(0).normal(size=(3, 7, 2)):
        mean, turn = way.mean(axis=0), np.stack([-q[:, 1], q[:, 0]], axis=1)
        rigid = mean + turn * np.sum(turn * way) / np.sum(turn * turn)  # all touch and stay together
        np.testing.assert_allclose(derivative.forward(w=way), rigid, atol=1e-9)
        np.testing.assert_allclose(derivative.reverse(way).w, rigid, atol=1e-9)


def test_a_row_that_touches_and_does_not_push_has_one_sided_derivatives():
    """G09: 1 and 0."""
    derivative = of_projection([0.0], jo.convex.Cone([[1.0]]))
    assert derivative.weak.tolist() == [0]
    assert (derivative.one_sided(w=[1.0]).item(), derivative.one_sided(w=[-1.0]).item()) == (1.0, 0.0)
    assert repr(derivative) == "ProjectionDerivative(active rows: 0, weak: row 0)"


def test_one_sided_derivatives_are_the_limits_of_difference_quotients():
    K = jo.convex.Polyhedron([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, 0.0, 0.0])
    w = np.array([-1.0, 0.0])  # the first row pushes, the other two touch
    derivative = of_projection(w, K)
    assert derivative.active.tolist() == [0]
    assert derivative.weak.tolist() == [1, 2]
    for way in np.random.default_rng(1).normal(size=(8, 2)):
        there = jo.project(w + EPS * way, K, solver=EXACT).point
        np.testing.assert_allclose(derivative.one_sided(w=way), (there - derivative.point) / EPS, atol=1e-9)


def test_rows_that_can_push_are_not_weak_though_they_have_no_multiplier():
    """Two opposite rows hold the point between them, whatever the solver gives them."""
    derivative = of_projection([0.0, 1.0], jo.convex.Cone([[1.0, 0.0], [-1.0, 0.0]]))
    assert derivative.active.tolist() == [0, 1]
    np.testing.assert_allclose(derivative.forward(w=[1.0, 1.0]), [0.0, 1.0], atol=1e-14)


def test_large_problems_agree_with_small_ones_and_G_keeps_its_pattern():
    """A row of balls that collide in pairs: conjugate gradients, and the exact answer of each pair."""
    n = 400
    G = jo.convex.NormalRows(np.arange(0, n, 2), np.arange(1, n, 2), np.tile([[1.0, 0.0]], (n // 2, 1)), bodies=n)
    rng = np.random.default_rng(2)
    w = np.stack([np.tile([1.0, -1.0], n // 2), rng.normal(size=n)], axis=1)
    mass, c = rng.uniform(0.5, 2.0, n), rng.uniform(0.0, 1.0, n // 2)
    derivative = of_projection(w, jo.convex.Polyhedron(G, c), mass=mass)
    way, dc, v = rng.normal(size=w.shape), rng.normal(size=n // 2), rng.normal(size=w.shape)
    found = derivative.forward(w=way, c=dc)
    pair, m = way[:, 0].reshape(-1, 2), mass.reshape(-1, 2)
    middle = (m * pair).sum(axis=1) / m.sum(axis=1)
    first = middle + dc * m[:, 1] / m.sum(axis=1)
    np.testing.assert_allclose(found[0::2, 0], first, atol=1e-12)
    np.testing.assert_allclose(found[:, 1], way[:, 1], atol=1e-12)
    back = derivative.reverse(v)
    assert np.sum(v * found) == pytest.approx(np.sum(back.w * way) + back.c @ dc, rel=1e-11)
    assert back.G.shape == G.shape
    assert back.G.nnz == 2 * n


def test_a_rotation_of_rows_in_a_large_problem_is_differentiated_with_respect_to_G():
    rng = np.random.default_rng(3)
    n = 150
    q = np.stack([1.9 * np.arange(n), rng.uniform(-0.3, 0.3, n)], axis=1)
    w = rng.normal(size=(n, 2)) - 0.02 * (q - q.mean(axis=0))

    def rows(x):
        contacts = jo.Balls(np.full(n, 0.9)).linearise(0.0, x, 0.3)
        return contacts.velocities(1.0)

    K = rows(q)
    derivative = of_projection(w, K)
    assert len(derivative.active) > 64
    way = rng.normal(size=q.shape)
    (ahead, behind) = (rows(q + size * way) for size in (EPS, -EPS))
    assert ahead.G.shape == behind.G.shape == K.G.shape
    change = (ahead.G.tocsr() - behind.G.tocsr()) / (2.0 * EPS)
    dc = (ahead.c - behind.c) / (2.0 * EPS)
    points = [jo.project(w, there, solver=jo.Automatic(tol=1e-13)).point for there in (ahead, behind)]
    du = derivative.forward(c=dc, G=change)
    np.testing.assert_allclose(du, (points[0] - points[1]) / (2.0 * EPS), atol=1e-6 * np.abs(du).max())
    v = rng.normal(size=q.shape)
    back = derivative.reverse(v)
    assert np.sum(v * du) == pytest.approx(back.c @ dc + (back.G.multiply(change)).sum(), rel=1e-9)


def test_what_has_no_derivative_is_refused():
    K = jo.convex.Cone([[1.0]])
    with pytest.raises(jo.InvalidValue, match="fixed number of iterations"):
        of_projection([0.0], K, solver=jo.GaussSeidel(budget=True))
    with pytest.raises(jo.InvalidValue, match="v has 2 numbers"):
        of_projection([1.0], K).reverse([1.0, 2.0])
    with pytest.raises(jo.InvalidValue, match="change of G has shape"):
        of_projection([1.0], K).forward(G=[[1.0, 2.0]])
    with pytest.raises(jo.InvalidValue, match="change of the mass"):
        of_projection([1.0], K).forward(mass=[1.0, 2.0, 3.0])
    floor = jo.convex.Cones(axis=[[0.0, 1.0]], mu=[0.5])
    with pytest.raises(jo.InvalidValue, match="friction cones"):
        of_projection([3.0, -1.0], jo.convex.Polyhedron(np.eye(2), [0.0, 0.0], cones=floor))
