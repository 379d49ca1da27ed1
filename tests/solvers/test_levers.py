"""Blocks with levers: the map and its matrix, and the loop over them beside the one over rows of any form."""

import numpy as np
import pytest

import jostle as jo
from jostle import kernels
from jostle.convex.linear_map import BallBlocks, LeverBlocks, Sparse
from jostle.convex.metric import metric
from jostle.convex.residuals import residual


def blocks(seed, d=3, m=12, n=6, rolls=False):
    """Contacts of n bodies with any levers, some of them with a wall, and a diagonal metric."""
    random = np.random.default_rng(seed)
    s = 1 if d == 2 else 3
    i = random.integers(0, n - 1, m)
    j = np.where(np.arange(m) % 4 == 0, -1, i + 1)
    first, second = random.normal(size=(2, m, d + s if rolls else d, d + s))
    first[:, :d, :d], second[:, :d, :d] = -np.eye(d), np.eye(d)
    second[j < 0] = 0.0
    masses = random.uniform(0.5, 2.0, (n, d + s))
    masses[:, :d] = masses[:, :1]
    normal = np.tile(np.eye(d)[0], (m, 1))
    G = LeverBlocks(i, j, normal, n, first=first, second=second)
    return G, metric(masses.ravel(), (n * (d + s),)), random


@pytest.mark.parametrize("rolls", [False, True])
@pytest.mark.parametrize("d", [2, 3])
def test_the_map_is_its_matrix(d, rolls):
    G, M, random = blocks(0, d, rolls=rolls)
    m, e = G.first.shape[:2]
    matrix, u, p = Sparse(G.tocsr()), random.normal(size=G.shape[1]), random.normal(size=G.shape[0])
    np.testing.assert_allclose(G @ u, matrix @ u, atol=1e-13)
    np.testing.assert_allclose(G.adjoint(p), matrix.adjoint(p), atol=1e-13)
    np.testing.assert_allclose(G.local_matrices(m, e, M), matrix.local_matrices(m, e, M), atol=1e-13)
    np.testing.assert_array_equal(G.rows(np.array([3, 1])).toarray(), matrix.toarray()[[3, 1]])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("coulomb", [True, False])
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("m", [12, 150])
def test_the_loop_over_blocks_finds_what_the_one_over_rows_finds(m, d, coulomb, seed):
    """Also beyond the number of contacts that are swept in their order, in one call."""
    G, M, random = blocks(seed, d, m, n=m + 20)
    axis = random.normal(size=(m, d))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    cones = jo.convex.Cones(axis, random.uniform(0.0, 0.3, m), coulomb)
    K = jo.convex.Polyhedron(G, random.normal(size=m * d), length=1.0, cones=cones)
    L = jo.convex.Polyhedron(Sparse(G.tocsr()), K.c, length=1.0, cones=cones)
    w, solver = random.normal(size=G.shape[1]), jo.GaussSeidel(tol=1e-9)
    P, Q = solver.project(w, K, M), solver.project(w, L, M)
    assert P.converged
    assert Q.converged
    np.testing.assert_allclose(residual(w, K, M, P.point, P.multipliers).worst, P.residual.worst)
    assert residual(w, L, M, P.point, P.multipliers).worst < 1.1e-9
    if not coulomb:  # one answer
        np.testing.assert_allclose(P.point, Q.point, atol=1e-4)


def test_a_few_contacts_with_friction_are_swept_by_one_loop(monkeypatch):
    """Nothing becomes dense or sparse, and sweeps over rows of any form are not asked."""
    for form in (LeverBlocks, BallBlocks):
        monkeypatch.setattr(form, "tocsr", None)
        monkeypatch.setattr(form, "dense", None)
    monkeypatch.setattr(kernels, "sweep_cones", None)
    law, floor = jo.Coulomb(0.3), jo.HalfSpace([0.0, 1.0])
    clump = [[-0.5, 0.0], [0.5, 0.1]], 0.4
    for Q in (jo.Balls([0.5]), jo.Clumps([clump])):
        problem = jo.Motion(q0=[[0.0, 0.6]], v0=[1.0, 0.0], force=[0.0, -9.81], within=Q & floor, law=law, inertia=0.2)
        assert jo.solve(problem, jo.Maury(), t=0.5, h=0.01).stats["active"].max() > 0


def test_numbers_that_are_not_finite_are_named():
    G, M, random = blocks(0)
    axis = np.tile([0.0, 0.0, 1.0], (12, 1))
    K = jo.convex.Polyhedron(G, random.normal(size=36), cones=jo.convex.Cones(axis, np.full(12, 0.3)))
    w = random.normal(size=G.shape[1])
    w[4] = np.nan
    with pytest.raises(jo.errors.NotFinite):
        jo.Automatic().project(w, K, M)
    with pytest.raises(jo.InvalidValue, match="guess"):
        jo.Automatic().project(np.zeros(G.shape[1]), K, M, guess=np.full(36, np.nan))
