"""Runs of many bodies with Coulomb's law have a tolerance of their own, unless their solver was given one."""

import pickle

import numpy as np
import pytest

import jostle as jo


def row_of_discs(n, law):
    q0 = np.stack([1.1 * np.arange(n), np.full(n, 0.5)], axis=1)
    within = jo.Balls(np.full(n, 0.5)) & jo.HalfSpace([0.0, 1.0])
    return jo.Motion(q0=q0, force=np.tile([0.0, -10.0], (n, 1)), within=within, law=law)


@pytest.mark.parametrize(
    ("bodies", "law", "solver", "tol"),
    [
        (8, jo.Coulomb(0.5), jo.Automatic(), 1e-3),
        (8, jo.Coulomb(0.5), jo.Automatic(max_iterations=10_000), 1e-3),
        (8, jo.Coulomb(0.5), pickle.loads(pickle.dumps(jo.Automatic())), 1e-3),
        (8, jo.Coulomb(0.5), jo.Automatic(tol=1e-8), 1e-8),
        (8, jo.Coulomb(0.5), jo.GaussSeidel(), 1e-6),
        (7, jo.Coulomb(0.5), jo.Automatic(), 1e-8),
        (8, jo.Restitution(0.0), jo.Automatic(), 1e-8),
        (8, jo.laws.ConvexFriction(0.5), jo.Automatic(), 1e-8),
    ],
)
def test_the_tolerance_of_a_run(bodies, law, solver, tol):
    sol = jo.solve(row_of_discs(bodies, law), jo.Maury(solver=solver), t=0.02, h=0.01)
    assert sol.scheme.solver.tol == tol
    assert sol.scheme.solver.max_iterations == solver.max_iterations


def test_bodies_that_may_come_count():
    run = {"t": 0.02, "h": 0.01, "changes": lambda state: state}
    assert jo.solve(row_of_discs(1, jo.Coulomb(0.5)), jo.Maury(), **run).scheme.solver.tol == 1e-3
