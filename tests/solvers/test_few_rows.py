"""Few rows are projected and measured by one compiled call: the same bits as step by step, and the same errors."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jostle as jo
from jostle.errors import EmptySet, NotFinite

SOLVERS = [jo.ActiveSet(), jo.Automatic(), jo.Automatic(tol=1e-3)]


def step_by_step(monkeypatch, *args):
    """`Solver.project` without the one call."""
    with monkeypatch.context() as context:
        for kind in (jo.ActiveSet, jo.Automatic):
            context.setattr(kind, "_at_once", jo.Solver._at_once)
        return args[0].project(*args[1:])


def rows(random, m, n, lengths):
    """Half-spaces around the origin, some of which w violates."""
    G = random.normal(size=(m, n))
    return jo.convex.Polyhedron(G, random.uniform(0.0, 0.3, m), length=lengths)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@given(seed=st.integers(0, 10**6), m=st.integers(2, 9), n=st.integers(1, 9), lengths=st.sampled_from([None, 0.7]))
def test_one_call_has_the_bits_of_many(solver, seed, m, n, lengths):
    random = np.random.default_rng(seed)
    K, w, mass = rows(random, m, n, lengths), random.normal(size=n), random.uniform(0.5, 2.0, n)
    with pytest.MonkeyPatch.context() as patch:
        many = step_by_step(patch, solver, w, K, mass)
    one = solver.project(w, K, mass)
    assert one.point.tobytes() == many.point.tobytes()
    assert one.multipliers.tobytes() == many.multipliers.tobytes()
    assert one.residual == many.residual
    assert (one.iterations, one.converged, one.solver) == (many.iterations, many.converged, many.solver)
    assert (K.slack(one.point) >= -1e-9).all()


def test_the_shape_of_the_point_is_kept():
    K = jo.convex.Polyhedron([[1.0, 0.0, 0.0, 0.0]], [-2.0])
    P = jo.Automatic().project(np.zeros((2, 2)), K)
    assert P.point.tolist() == [[2.0, 0.0], [0.0, 0.0]]
    assert P.solver == "ActiveSet"


def test_a_point_inside_is_its_own_projection_without_iterations():
    w = np.array([3.0, 4.0])
    P = jo.Automatic().project(w, jo.convex.Cone([[1.0, 0.0]]))
    assert (P.iterations, P.solver, P.residual.worst) == (0, "Automatic", 0.0)
    P.point[0] = 7.0
    assert w.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_errors_are_those_of_the_solver(solver):
    contradiction = jo.convex.Polyhedron([[1.0], [-1.0]], [-2.0, 1.0])
    with pytest.raises(EmptySet):
        solver.project([0.0], contradiction)
    with pytest.raises(NotFinite, match="row 1 is not finite"):
        solver.project([0.0, 1.0], jo.convex.Polyhedron([[1.0, 0.0], [0.0, 1.0]], [-1.0, np.nan]))
    with pytest.raises(NotFinite, match="the point to project"):
        solver.project([np.nan, 1.0], jo.convex.Cone([[0.0, 1.0]]))


@pytest.mark.parametrize("kind", [jo.ActiveSet, jo.Automatic])
def test_the_budget_of_iterations_is_kept(kind):
    random = np.random.default_rng(3)
    K, w = rows(random, 9, 6, None), 5.0 * random.normal(size=6)
    enough = kind().project(w, K).iterations
    assert enough > 2
    few = kind(max_iterations=enough - 2).project(w, K)
    assert not few.converged
    assert few.iterations <= enough - 2


def test_a_solver_of_the_user_that_inherits_is_not_passed_over():
    class Noted(jo.ActiveSet):
        def _solve(self, *args):
            called.append("solve")
            return super()._solve(*args)

    class Planned(jo.Automatic):
        def _plan(self, K):
            called.append("plan")
            yield from super()._plan(K)

    for solver in (Noted(), Planned()):
        called = []
        assert solver.project([-1.0], jo.convex.Cone([[1.0]])).converged
        assert called


def test_a_looser_tolerance_is_that_of_the_solver_that_was_asked():
    K, w = jo.convex.Polyhedron([[1.0, 1.0]], [-1.0], length=1.0), np.zeros(2)
    for tol in (1e-3, 1e-12):
        P = replace(jo.Automatic(), tol=tol).project(w, K)
        assert P.converged
        assert P.residual.worst <= tol


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("n", [2, 9])
def test_a_row_that_is_infinitely_violated_is_not_finite(solver, n):
    """Its round-off is infinite, too, so that it may not pass for round-off."""
    one, several = np.eye(n)[:1], np.eye(n)
    for G in (one, several):
        for c, w in ((-np.inf, 1.0), (-1e308, -1e308)):
            far = np.where(np.arange(n) == 0, w, 1.0)
            with pytest.raises(NotFinite, match="row 0 is not finite"):
                solver.project(far, jo.convex.Polyhedron(G, np.full(len(G), c)))


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_floor_that_jumps_to_a_huge_height_stops_the_run():
    floor = jo.HalfSpace([0.0, 1.0], offset=lambda t: 1e307 if t > 0 else 0.0)
    for within, q0 in ((floor, [0.0, 1.0]), (floor & jo.Balls([0.1, 0.1]), [[0.0, 1.0], [3.0, 1.0]])):
        with pytest.raises(NotFinite, match="not finite") as raised:
            jo.solve(jo.Motion(q0=q0, within=within), jo.Maury(), t=2e-3, h=1e-3)
        assert raised.value.step == 1


def test_the_plan_and_the_start_of_a_solver_of_the_user_are_asked():
    class First(jo.ActiveSet):
        def _plan(self, K):
            yield jo.GaussSeidel(tol=self.tol)

    class Starting(jo.ActiveSet):
        accepts_start = True

    cone = jo.convex.Polyhedron([[0.0, 1.0]], [0.0], length=1.0)
    assert First(tol=1e-8).project([1.0, -1.0], cone).solver == "GaussSeidel"
    assert Starting(tol=1e-3).project([1.0, -1e-6], cone).point.tolist() == [1.0, -1e-6]
