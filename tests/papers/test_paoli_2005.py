"""Paoli 2005: the scheme (1.4)-(1.6) for inelastic shocks in a convex set, with a force that depends on the velocity.

U^1     = Proj_K (u_0 + h v_0 + h z(h)),                                                                     (1.4)
U^{n+1} = Proj_K (2 U^n - U^{n-1} + h^2 F^n),   F^n at the velocity (U^{n+1} - U^{n-1}) / 2 h          (1.5), (1.6)
"""

import itertools

import numpy as np
import pytest
from scipy.special import ellipk

import jostle as jo
from jostle.analysis import acute, order
from rows import few, halvings

G = 9.81
FLOOR = jo.HalfSpace([1.0])
UNIT_DISC = jo.Inside([0.0, 0.0], 1.0)


# --- free fall ------------------------------------------------------------------------------------------------------


def fall_error(scheme, h):
    """Largest error of a ball that falls from 1 and stays on the floor."""
    sol = jo.solve(jo.Motion(q0=[1.0], force=[-G], within=FLOOR), scheme, t=1.0, h=h)
    return np.abs(sol.q[:, 0] - np.maximum(0.0, 1.0 - G * sol.t**2 / 2.0)).max()


@pytest.mark.parametrize("implicit", [False, True])
def test_without_the_first_kick_free_fall_has_order_one(implicit):
    """P02: z = 0 gives the sup error g h t_i / 2 = 2.2147 h, at most 2.3 h."""
    steps = halvings(0.04)
    errors = [fall_error(jo.Paoli(z=0.0, implicit=implicit), h) for h in steps]
    assert (np.array(errors) <= 2.3 * np.array(steps)).all()
    assert order(steps, errors).order == pytest.approx(1.0, abs=0.02)
    assert errors[-1] / steps[-1] == pytest.approx(2.21472345904, rel=0.01)


@pytest.mark.each_value
@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("h", [0.1, 0.03, 0.001])
def test_with_half_a_first_kick_free_fall_is_exact(h, implicit):
    """P02: z(h) = h F(0) / 2, the default, is exact at the nodes before the impact and at rest after it."""
    assert fall_error(jo.Paoli(implicit=implicit), h) <= 1e-12


def test_the_first_kick_may_be_any_function_that_vanishes_with_h():
    """(1.4): z(h) -> 0 is all that is asked; z(h) = -h^2 changes U^1 by h^3 and the fall by h^2 t."""
    ball = jo.Motion(q0=[1.0], force=[-G], within=FLOOR)
    h = 0.01
    sol = jo.solve(ball, jo.Paoli(z=lambda h: np.array([-(h**2)]), implicit=True), t=0.4, h=h)
    n = np.arange(len(sol.t))
    assert sol.q[:, 0] == pytest.approx(1.0 - n * h**3 - G * h**2 * n * (n - 1) / 2.0, abs=1e-12)


# --- a force that depends on the velocity ---------------------------------------------------------------------------


def falls_with_drag(c):
    return jo.Motion(q0=[1.0], force=lambda t, q, u: -G - c * u, within=FLOOR)


def height_with_drag(t, c=0.5):
    """y until the impact at t_i = 0.46917, then 0."""
    y = 1.0 - (G / c) * t + (G / c) * (1.0 - np.exp(-c * t)) / c
    return np.where(t < 0.46917186682, y, 0.0)


@pytest.mark.parametrize(("z", "expected"), [(0.0, 1.0), (0.5, 2.0)])
def test_a_fall_with_drag_converges(z, expected):
    """P06: sup error at most 2.5 h and order 1 with z = 0, at most h^2 and order 2 with z = h f(0) / 2."""
    assert height_with_drag(0.3) == pytest.approx(0.579819005081, abs=1e-11)
    steps, errors = halvings(0.04), []
    for h in steps:
        sol = jo.solve(falls_with_drag(0.5), jo.Paoli(z=z, implicit=True), t=0.6, h=h)
        errors.append(np.abs(sol.q[:, 0] - height_with_drag(sol.t)).max())
        assert errors[-1] <= (2.5 * h if z == 0.0 else h**2)
    assert order(steps, errors).order == pytest.approx(expected, abs=0.05)


def test_the_implicit_force_is_taken_at_the_central_velocity():
    """P06, (1.5)-(1.6): in flight U^{n+1} solves U^{n+1} - 2 U^n + U^{n-1} = -h^2 g - h c (U^{n+1} - U^{n-1}) / 2."""
    h, c = 0.01, 3.0
    sol = jo.solve(falls_with_drag(c), jo.Paoli(implicit=True), t=0.3, h=h)
    U = [1.0, 1.0 - G * h**2 / 2.0]
    for _ in range(29):
        U.append((2.0 * U[-1] - (1.0 - h * c / 2.0) * U[-2] - h**2 * G) / (1.0 + h * c / 2.0))
    assert sol.q[:, 0] == pytest.approx(U, abs=1e-12)


@pytest.mark.parametrize("factor", [0.5, 0.9, 0.99])
def test_the_fixed_point_is_found_up_to_its_bound(factor):
    """P06: it contracts for all h < 2 / L, by the factor h L / 2, however near to 1."""
    c = 10.0
    h = factor * 2.0 / c
    sol = jo.solve(falls_with_drag(c), jo.Paoli(implicit=True), t=5 * h, h=h)
    q = sol.q[:, 0]
    W = 2.0 * q[1:-1] - q[:-2] + h**2 * (-G - c * (q[2:] - q[:-2]) / (2.0 * h))
    assert q[2:] == pytest.approx(np.maximum(W, 0.0), abs=1e-11)


@pytest.mark.parametrize(("c", "h"), [(100.0, 0.05), (100.0, 0.021), (1e4, 1e-3)])
def test_a_fixed_point_that_does_not_contract_is_refused(c, h):
    """P06: for h > 2 / L (c = 100, h = 0.05: factor 2.5) the error says so, in the first step that iterates."""
    with pytest.raises(jo.errors.NoContraction, match="h < 2 / L") as caught:
        jo.solve(falls_with_drag(c), jo.Paoli(implicit=True), t=1.0, h=h)
    assert caught.value.step == 2
    assert len(caught.value.solution.t) == 2


# --- curved convex sets ---------------------------------------------------------------------------------------------


@pytest.mark.each_value
@pytest.mark.parametrize("h", few([*halvings(0.004, 4), 0.0017, 0.0009]))
@pytest.mark.parametrize("implicit", [False, True])
def test_a_string_becomes_taut(h, implicit):
    """P21: free fall until |q| = 1 at t = 0.40386, within h; four steps later |V| is |v+| = 2.37709 within 40 h."""
    weight = jo.Motion(q0=[0.6, 0.0], force=[0.0, -G], within=UNIT_DISC)
    sol = jo.solve(weight, jo.Paoli(implicit=implicit), t=0.5, h=h)
    pulled = np.flatnonzero([p.sum() > 0.0 for p in sol.multipliers])
    first = pulled[0]
    assert abs(sol.t[first] - 0.403855021877) <= h
    assert np.abs(sol.q[first] - [0.6, -0.8]).max() <= 4.0 * h
    assert abs(np.linalg.norm(sol.u[first + 4]) - 2.37709065877) <= 40.0 * h
    assert np.linalg.norm(sol.u[first - 1]) == pytest.approx(G * (sol.t[first - 1] - h / 2.0), rel=1e-9)
    assert (np.linalg.norm(sol.q, axis=1) <= 1.0 + 1e-12).all()


def test_the_velocity_of_a_taut_string_converges_to_its_tangential_part():
    """P21: v+ = Proj_T v- = (-1.90167, -1.42625), with order 1."""
    weight = jo.Motion(q0=[0.6, 0.0], force=[0.0, -G], within=UNIT_DISC)
    steps, errors = halvings(0.004), []
    for h in steps:
        sol = jo.solve(weight, jo.Paoli(), t=0.42, h=h)
        first = np.flatnonzero([p.sum() > 0.0 for p in sol.multipliers])[0]
        errors.append(np.abs(sol.u[first + 4] - [-1.90167252701, -1.42625439526]).max())
    assert order(steps, errors).order == pytest.approx(1.0, abs=0.1)


def test_a_pendulum_in_a_bowl_swings_to_the_other_side_in_half_a_period():
    """P25: from 60 degrees it is at -60 after half a period, and its speed at the bottom was 3.13209, both within 15 h.

    The normal is taken at U^{n+1}, so that it loses some energy: order 1.
    """
    half = 2.0 * np.sqrt(1.0 / G) * ellipk(np.sin(np.pi / 6.0) ** 2)
    speed = np.sqrt(2.0 * G * (1.0 - np.cos(np.pi / 3.0)))
    assert 2.0 * half == pytest.approx(2.15287466688, abs=1e-11)
    assert speed == pytest.approx(3.13209195267, abs=1e-11)
    start = np.array([np.sin(np.pi / 3.0), -np.cos(np.pi / 3.0)])
    ball = jo.Motion(q0=start, force=[0.0, -G], within=UNIT_DISC)
    steps, errors = halvings(half / 100.0, 4), []
    for h in steps:
        sol = jo.solve(ball, jo.Paoli(), t=half, h=h)
        errors.append(np.linalg.norm(sol.q[-1] - start * [-1.0, 1.0]))
        fastest = np.linalg.norm(sol.u, axis=1).max()
        assert errors[-1] <= 15.0 * h
        assert speed - 15.0 * h <= fastest <= speed
        assert (np.linalg.norm(sol.q, axis=1) <= 1.0 + 1e-12).all()
    assert order(steps, errors).order == pytest.approx(1.0, abs=0.06)


# --- corners: (H5) --------------------------------------------------------------------------------------------------


def wedge(theta):
    """K between the edges (1, 0) and (cos theta, sin theta), and the unit vector that halves it."""
    K = jo.HalfSpace([0.0, 1.0]) & jo.HalfSpace([np.sin(theta), -np.cos(theta)])
    return K, np.array([np.cos(theta / 2.0), np.sin(theta / 2.0)])


def shot(theta, offset, h, scheme):
    """The velocity after a shot along the bisector from distance 0.1, moved sideways by offset, e = 0."""
    K, bisector = wedge(theta)
    aside = offset * np.array([bisector[1], -bisector[0]])
    particle = jo.Motion(q0=0.1 * bisector + aside, v0=-bisector, within=K)
    return jo.solve(particle, scheme, t=0.25, h=h).u[-1]


SCHEMES = {"implicit": jo.Paoli(implicit=True), "explicit": jo.Paoli(), "Maury": jo.Maury()}
all_schemes = pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES.keys())
ANGLES = [np.pi / 3.0, np.pi / 2.0, 2.0 * np.pi / 3.0]


@pytest.mark.parametrize(("theta", "product"), list(zip(ANGLES, [-0.5, 0.0, 0.5], strict=True)))
def test_the_angle_condition_holds_up_to_a_right_angle(theta, product):
    """P09: the inner product of the unit gradients is -cos theta: (H5) asks for theta <= 90 degrees."""
    corner = wedge(theta)[0].linearise(0.0, np.zeros(2)).cone()
    rows = corner.G.toarray()
    assert rows[0] @ rows[1] == pytest.approx(product, abs=1e-12)
    assert acute(corner) == (product <= 0.0)


@pytest.mark.each_value
@all_schemes
@pytest.mark.parametrize("theta", ANGLES)
@pytest.mark.parametrize("h", [0.1, 0.037, 2e-3])
def test_a_shot_into_the_corner_ends_there(theta, h, scheme):
    """P09: both faces are met at once, and Proj_T u- = 0 for every angle."""
    assert np.abs(shot(theta, 0.0, h, scheme)).max() <= 1e-12


@pytest.mark.each_value
@all_schemes
@pytest.mark.parametrize("theta", ANGLES[:2])
@pytest.mark.parametrize("offset", [0.02, 1e-3, -1e-3])
@pytest.mark.parametrize("h", [0.01, 1e-3])
def test_where_the_condition_holds_a_shot_beside_the_corner_ends_in_it_too(theta, offset, h, scheme):
    """P09: at 60 and 90 degrees the faces are met one after the other and nothing is left: continuity on data."""
    assert np.abs(shot(theta, offset, h, scheme)).max() <= 1e-12


@pytest.mark.each_value
@all_schemes
@pytest.mark.parametrize("h", [1e-3, 5e-4])
def test_where_it_fails_a_shot_beside_the_corner_slides_out(h, scheme):
    """P09: at 120 degrees a fixed offset gives the sequential answer, speed 1/4 along the other edge, to 1e-12."""
    e1, e2 = np.array([1.0, 0.0]), np.array([np.cos(ANGLES[2]), np.sin(ANGLES[2])])
    above = shot(ANGLES[2], 1e-3, h, scheme)
    assert above == pytest.approx([-0.125, 0.216506350946], abs=1e-12)
    assert above == pytest.approx(0.25 * e2, abs=1e-12)
    assert shot(ANGLES[2], -1e-3, h, scheme) == pytest.approx(0.25 * e1, abs=1e-12)


@all_schemes
def test_where_it_fails_an_offset_within_a_step_gives_an_answer_in_between(scheme):
    """P09: at 120 degrees with offset 1e-3 and h = 1e-2 the speed is 0.0433: convergence is not uniform."""
    speed = np.linalg.norm(shot(ANGLES[2], 1e-3, 1e-2, scheme))
    assert speed == pytest.approx(0.0433, abs=5e-5)


# --- any convex set -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", few(range(6)))
def test_positions_stay_in_the_set_and_velocities_grow_by_the_force_alone(seed):
    """(1.5), (2.6): every U^n is in K, and |V^n| <= |V^{n-1}| + h |F^n|, for convex K and every h."""
    random = np.random.default_rng(seed)
    angles = 2.0 * np.pi * random.uniform(size=3)
    normals = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    K = UNIT_DISC
    for normal in normals:
        K = K & jo.HalfSpace(normal, -0.5)
    f, drag, h = 5.0 * random.normal(size=2), random.uniform(0.0, 1.0), 10.0 ** random.uniform(-1.5, 0.0)
    particle = jo.Motion(
        q0=[0.0, 0.0], v0=3.0 * random.normal(size=2), force=lambda t, q, u: f - drag * u - q, within=K
    )
    sol = jo.solve(particle, jo.Paoli(implicit=True), t=20 * h, h=h)
    assert (np.linalg.norm(sol.q, axis=1) <= 1.0 + 1e-10).all()
    assert (sol.q @ normals.T >= -0.5 - 1e-10).all()
    force = f - drag * (sol.q[2:] - sol.q[:-2]) / (2.0 * h) - sol.q[1:-1]
    before, after = np.linalg.norm(sol.u[1:-1], axis=1), np.linalg.norm(sol.u[2:], axis=1)
    assert (after <= before + h * np.linalg.norm(force, axis=1) + 1e-10).all()
    assert sum(p.sum() for p in sol.multipliers) > 0.0


def test_the_implicit_velocity_spans_both_steps_when_they_change():
    """(1.6) with V = (U^{n+1} - U^{n-1}) / (h + h'): for a linear drag the step is solved by hand."""
    c, steps = 2.0, [0.1, 0.02, 0.3, 0.05]
    ball = jo.Motion(q0=[0.0], v0=[1.0], force=lambda t, q, u: -c * u)
    sol = jo.solve(ball, jo.Paoli(implicit=True), t=sum(steps), h=steps)
    path = [0.0, steps[0] * 1.0 - 0.5 * steps[0] ** 2 * c]
    for before, h in itertools.pairwise(steps):
        free = path[-1] + h / before * (path[-1] - path[-2])
        weight = h * (h + before) / 2.0 * c / (h + before)  # F = -c (U^{n+1} - U^{n-1}) / (h + h')
        path.append((free + weight * path[-2]) / (1.0 + weight))
    np.testing.assert_allclose(sol.q[:, 0], path, rtol=1e-11)
