"""Projections on friction cones: answers known in closed form, other solvers, and the laws themselves."""

import numpy as np
import pytest

import jostle as jo

W8 = np.array([[15.0, -1.0, -2.0], [-1.0, 14.0, 1.0], [-2.0, 1.0, 16.0]])
ONE_CONTACT = [
    (np.eye(3), [-1.0, 1.0, 3.0], True, [1.0, -0.0316227766, -0.0948683298]),
    (np.eye(3), [-1.0, 1.0, 3.0], False, [1.3031958, -0.0412107, -0.1236320]),
    (W8, [-1.0, 2.0, 3.0], True, [0.06569568, -0.00367861, -0.00544307]),
    (W8, [-1.0, 2.0, 3.0], False, [0.08717928, -0.00489745, -0.00721230]),
]


@pytest.mark.parametrize(("W", "b", "coulomb", "expected"), ONE_CONTACT)
def test_one_contact_whose_multipliers_are_known(W, b, coulomb, expected):
    cones = jo.convex.Cones([[1.0, 0.0, 0.0]], [0.1], coulomb)
    P = jo.project(np.zeros(3), jo.convex.Polyhedron(np.linalg.cholesky(W), b, cones=cones))
    assert P.multipliers == pytest.approx(expected, abs=1e-8 if W[0, 0] > 1 else 1e-7)
    assert P.residual.natural < 1e-12
