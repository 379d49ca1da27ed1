"""Light bodies beside heavy ones: their errors are seen, and masses that arithmetic cannot hold are refused."""

from dataclasses import astuple

import numpy as np
import pytest

import jostle as jo
from jostle.convex.light_bodies import error_of_light_bodies
from jostle.convex.metric import MAX_MASS_RATIO, metric
from jostle.convex.residuals import residual
from jostle.solvers.semismooth_newton import SemismoothNewton

SOLVERS = [jo.Automatic(), jo.ActiveSet(), jo.GaussSeidel(max_iterations=3000), jo.InteriorPoint(), SemismoothNewton()]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
ORDERS = ["Ll", "lL", "LlL", "lLl", "llL", "Lll"]
G = 9.81


def column(order, ratio, h, gap=0.008):
    """Balls of radius 0.4 above each other on a floor, from below: heavy ones (L) and light ones (l) that fall."""
    mass = np.where(np.array(list(order)) == "L", ratio, 1.0)
    height = 0.4 + gap + (0.8 + gap) * np.arange(len(mass))
    within = jo.Balls(np.full(len(mass), 0.4)) & jo.HalfSpace([0.0, 1.0])
    force = np.stack([0.0 * mass, -G * mass], axis=1)
    return jo.Motion(q0=np.stack([0.0 * height, height], axis=1), mass=mass, force=force, within=within)


@pytest.mark.each_value
@every_solver
@pytest.mark.parametrize("scheme", [jo.Maury, jo.MoreauJean])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ratio", [3e5, 2e9, 7e13, 1e15])
def test_a_column_of_heavy_and_light_balls_stands_or_says_that_it_does_not_converge(order, ratio, scheme, solver):
    """All balls fall alike, and rest: no ball goes through another one, or is thrown up."""
    problem = column(order, ratio, 0.01)
    try:
        sol = jo.solve(problem, scheme(solver=solver), t=0.25, h=0.01)
    except (jo.NotConverged, jo.errors.EmptySet):
        return
    if sol.status == "budget":
        return
    assert sol.status == "finished"
    assert np.abs(sol.q[-1] - [[0.0, 0.4 + 0.8 * k] for k in range(len(order))]).max() <= 0.08
    assert np.abs(sol.u[-1]).max() <= 2e-4 * G * 0.01


def test_the_default_solver_stands_columns_up_to_a_ratio_of_ten_to_the_ten():
    for order in ORDERS:
        sol = jo.solve(column(order, 1e10, 0.01), jo.Maury(), t=0.25, h=0.01)
        np.testing.assert_allclose(sol.q[-1][:, 1], 0.4 + 0.8 * np.arange(len(order)), atol=1e-9)


def test_a_light_point_stays_on_the_floor_beside_a_heavy_one():
    """The norm of the masses does not see a point that falls through the floor, if it is light enough."""
    mass = np.array([1.0, 2e15])
    points = jo.Motion(
        q0=[[0.0, 0.3], [2.0, 0.3]], mass=mass, force=np.outer(mass, [0.0, -G]), within=jo.HalfSpace([0.0, 1.0])
    )
    try:
        sol = jo.solve(points, jo.Maury(), t=1.0, h=0.004)
    except jo.NotConverged:
        return
    assert np.abs(sol.q[-1][:, 1]).max() <= 1e-6


@every_solver
def test_a_light_body_that_its_multiplier_throws_up_does_not_count_as_converged(solver):
    """Each of two points stops at its wall; the residuals of the heavy one alone hide the light one."""
    K, M, w = jo.convex.Cone(np.eye(2)), metric([1e12, 1.0], (2,)), np.array([-1.0, -1.0])
    P = solver.project(w, K, M)
    assert not P.converged or np.abs(P.point).max() <= 1e-3
    thrown, p = np.array([0.0, 3.0]), np.array([1e12, 4.0])
    assert max(astuple(residual(w, K, M, thrown, p))) <= 1e-10
    assert error_of_light_bodies(w, K, M, thrown, p, 1e-8) == pytest.approx(0.75, rel=1e-6)


def test_bodies_with_friction_are_seen_by_themselves():
    """A light disc slides on after a projection whose heavy disc sticks: the answer is wrong by its whole velocity."""
    axis, mu = np.tile([0.0, 1.0], (2, 1)), np.full(2, 0.5)
    K = jo.convex.Polyhedron(np.eye(4), np.zeros(4), cones=jo.convex.Cones(axis, mu))
    w, mass = np.array([0.2, -1.0, 0.2, -1.0]), np.array([1e10, 1e10, 1.0, 1.0])
    M = metric(mass, (4,))
    right, wrong = np.zeros(4), np.array([0.0, 0.0, 0.2, 0.0])
    assert error_of_light_bodies(w, K, M, right, mass * (right - w), 1e-8) == 0.0
    assert error_of_light_bodies(w, K, M, wrong, mass * (wrong - w), 1e-8) > 0.09
    assert max(astuple(residual(w, K, M, wrong, mass * (wrong - w)))[:3]) <= 1e-8


@pytest.mark.parametrize("mass", [[1e-17, 3.0], [3e20, 1e2], np.diag([1e9, 1e-9]), lambda q: [1e18, 1.0]])
def test_masses_that_differ_beyond_round_off_are_refused(mass):
    with pytest.raises(jo.InvalidValue, match=r"masses from .* differ so much"):
        jo.solve(jo.Motion(q0=[0.5, 0.5], mass=mass, within=jo.Box([0.0, 0.0], [1.0, 1.0])), jo.Paoli(), t=0.1, h=0.1)


def test_masses_just_below_the_limit_are_accepted():
    assert metric([1.0, 0.9 * MAX_MASS_RATIO], (2,)).ratio == 0.9 * MAX_MASS_RATIO
    assert metric(np.diag([4.0, 1.0]), (2,)).ratio == 4.0


def test_moments_of_inertia_do_not_count_as_masses():
    """Grains of a tenth of a millimetre have moments of inertia far below their masses, in metres."""
    within = jo.Balls([1e-4]) & jo.HalfSpace([0.0, 1.0])
    grain = jo.Motion(q0=[[0.0, 1e-4]], force=[1.0, -10.0], within=within, law=jo.Coulomb(0.3))
    bodies, M = grain.bodies, grain.metric(grain.q0)
    assert bodies.with_inertia(M, grain.q0.shape).ratio == 1.0
    assert bodies.with_inertia(metric(np.eye(2), (1, 2)), grain.q0.shape).ratio == 1.0


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean(), jo.Paoli()])
@pytest.mark.parametrize(
    ("within", "q0"),
    [
        (jo.HalfSpace([0.0, 1.0]), [0.0, 2.0]),
        (jo.HalfSpace([1.0]), [0.7]),
        (jo.Box([0.0, 0.0], [4.0, 4.0]), [[1.0, 2.0], [3.0, 2.0]]),
        (jo.Balls([0.3]) & jo.HalfSpace([0.0, 1.0]), [[0.0, 0.9]]),
        (jo.Balls([0.3, 0.2]) & jo.Box([0.0, 0.0], [4.0, 4.0]), [[1.0, 2.0], [3.0, 2.0]]),
    ],
)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_force_that_moves_a_body_beyond_the_round_off_of_its_position_is_refused(scheme, within, q0, unit):
    """A body of mass 3e-19 that is pulled down would end somewhere, by the round-off of 1e15 lengths."""
    q0 = np.array(q0)
    pull = np.zeros(q0.shape[-1])
    pull[-1] = -5.0
    light = jo.Motion(q0=q0, mass=3e-19 * unit, force=pull * unit, within=within)
    with pytest.raises(jo.InvalidValue, match="round-off"):
        jo.solve(light, scheme, t=1.0, h=0.01)
