"""The normals of saved states are those of their own step, also where objects are used again."""

import numpy as np
from scipy.sparse import csr_array

import jostle as jo
from jostle.contacts import Contacts
from jostle.convex.linear_map import LinearMap, Sparse


class OneRow(LinearMap):
    """A map of a user with one row, which may be exchanged."""

    shape = (1, 2)
    row = np.zeros((1, 2))

    def __matmul__(self, u):
        return self.row @ u

    def adjoint(self, p):
        return p @ self.row

    def tocsr(self):
        return csr_array(self.row)

    def rows(self, selection):
        return Sparse(self.tocsr()[selection])


class Turning(jo.ConstraintSet):
    """A plane that turns about the origin, of a user who returns the same map in each step."""

    convex_gaps, moving = True, True

    def __init__(self):
        self.G, self.pairs = OneRow(), np.array([[0, -1]])

    def linearise(self, t, q, cutoff=np.inf):
        self.G.row = np.array([[np.sin(t), np.cos(t)]])
        return Contacts(self.G @ q, self.G, self.pairs, constraint_count=1)


def test_a_set_may_return_the_same_map_with_other_rows():
    sol = jo.solve(jo.Motion(q0=[0.0, 1.0], within=Turning()), jo.Maury(), t=0.3, h=0.1)
    for t, normal in zip(sol.t[1:], sol.normals[1:], strict=True):
        np.testing.assert_allclose(normal, [[-np.sin(t), -np.cos(t)]], atol=1e-15)


def test_a_wall_that_does_not_change_keeps_one_array_of_normals():
    ball = jo.Motion(q0=[0.0, 0.0], v0=[1.0, 0.0], force=[0.0, -9.81], within=jo.HalfSpace([0.0, 1.0]))
    sol = jo.solve(ball, jo.Maury(), t=0.05, h=0.01)
    assert sol.normals[1] is sol.normals[-1]
    assert sol.normals[1].tolist() == [[0.0, -1.0]]
