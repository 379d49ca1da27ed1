"""Where few of many coordinates occur in the rows, the others are left out of the projection, and stay as they are."""

import numpy as np
import pytest

import jostle as jo
from jostle.solvers import dual_active_set


@pytest.mark.parametrize("seed", range(12))
def test_coordinates_without_a_row_stay_and_the_others_are_projected_as_before(seed, monkeypatch):
    random = np.random.default_rng(seed)
    m, n = 1 + seed % 6, 200
    G = np.zeros((m, n))
    for row in G:
        row[random.integers(0, n, 3)] = random.normal(size=3)
    K = jo.convex.Polyhedron(G, random.normal(size=m) * 0.3 - 5.0)
    w, mass = random.normal(size=n), random.uniform(0.5, 2.0, n)
    found = jo.ActiveSet().project(w, K, mass=mass)
    monkeypatch.setattr(dual_active_set, "MAX_COLUMNS_A_ROW", 1000)
    whole = jo.ActiveSet().project(w, K, mass=mass)
    assert found.converged
    assert (found.point != w).any()
    free = ~G.any(axis=0)
    assert (found.point[free] == w[free]).all()
    np.testing.assert_allclose(found.point, whole.point, atol=1e-13)
    np.testing.assert_allclose(found.multipliers, whole.multipliers, atol=1e-12)


def test_an_empty_set_is_told_there_too():
    G = np.zeros((2, 100))
    G[:, 3] = 1.0, -1.0
    with pytest.raises(jo.errors.EmptySet):
        jo.ActiveSet().project(np.zeros(100), jo.convex.Polyhedron(G, [-1.0, -1.0]))
