"""Solvers of plug-ins: what they return is checked against the problem that they were given."""

import pytest

import jostle as jo


class Scribbling(jo.Solver):
    """Writes on its arguments: the point itself would be the answer to the problem that is left."""

    def _solve(self, w, K, M, slack, guess):
        w[:] = 0.0
        slack[:] = 0.0
        return w, 0.0 * slack, 1


class Short(jo.Solver):
    def _solve(self, w, K, M, slack, guess):
        return w[:1], slack, 1


class Long(jo.Solver):
    def _solve(self, w, K, M, slack, guess):
        return w, [*slack, 0.0], 1


class Lists(jo.Solver):
    def _solve(self, w, K, M, slack, guess):
        P = jo.ActiveSet().project(w, K, M)
        return P.point.tolist(), P.multipliers.tolist(), 1


FLOOR = jo.convex.Cone([[0.0, 1.0]])


def test_a_solver_that_writes_on_its_arguments_does_not_change_the_problem():
    point = [3.0, -1.0]
    P = Scribbling().project(point, FLOOR)
    assert not P.converged
    assert point == [3.0, -1.0]
    ball = jo.Motion(q0=[0.0, 0.1], v0=[0.0, -1.0], force=[0.0, -9.81], within=jo.HalfSpace([0, 1]))
    with pytest.raises(jo.NotConverged, match="Scribbling stopped after 1 iterations"):
        jo.solve(ball, jo.Maury(solver=Scribbling()), t=1.0, h=0.1)


@pytest.mark.parametrize("solver", [Short(), Long()], ids=lambda solver: solver.name)
def test_an_answer_of_the_wrong_shape_names_the_solver(solver):
    with pytest.raises(
        jo.InvalidValue, match=rf"{solver.name}\._solve must return u of shape \(2,\), p of shape \(1,\)"
    ):
        solver.project([3.0, -1.0], FLOOR)


def test_an_answer_may_consist_of_lists():
    P = Lists().project([3.0, -1.0], FLOOR)
    assert P.converged
    assert P.point.tolist() == [3.0, 0.0]
