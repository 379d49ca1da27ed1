"""Round containers under the linearised schemes: exact answers, and an overshoot of order h^2 that is measured."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ellipk

import jostle as jo
from rows import examples, whole

BOWL = jo.Inside([0.0, 0.0], 1.0, radii=0.2)
RHO = 0.8
"""How far a centre may be from that of the bowl."""


def in_the_bowl(q0, v0=(0.0, 0.0), gravity=0.0):
    return jo.Motion(q0=[q0], v0=v0, force=[0.0, -gravity], within=BOWL)


def deepest(sol, within=BOWL):
    return -min(within.gap(t, q) for t, q in zip(sol.t, sol.q, strict=True))


@pytest.mark.parametrize("h", [0.1, 0.01])
def test_a_ball_at_the_bottom_stays_and_presses_with_its_weight(h):
    sol = jo.solve(in_the_bowl([0.0, -RHO], gravity=9.81), jo.Maury(), t=1.0, h=h)
    np.testing.assert_allclose(sol.q, np.broadcast_to([0.0, -RHO], sol.q.shape), atol=1e-12)
    np.testing.assert_allclose(sol.multipliers[-1] / sol.impulse_time(-1), 9.81, atol=1e-9)
    assert sol.overlap < 1e-12


def test_a_ball_that_goes_around_overshoots_by_half_the_square_of_its_step():
    """Without gravity it keeps its speed, up to O(h^2), and is l^2 / (2 rho) behind the wall at most, l = h v."""
    steps, found, lag = (0.04, 0.02, 0.01), [], []
    for h in steps:
        sol = jo.solve(in_the_bowl([RHO, 0.0], [0.0, 1.0]), jo.Maury(), t=3.0, h=h)
        found.append(deepest(sol))
        assert 0.0 < found[-1] <= h**2 / (2.0 * RHO)
        assert sol.overlap == pytest.approx(found[-1] / 0.2)  # over the radius of the ball
        angle = 3.0 / RHO
        lag.append(np.linalg.norm(sol.q[-1, 0] - RHO * np.array([np.cos(angle), np.sin(angle)])))
    np.testing.assert_allclose(np.divide(found[:-1], found[1:]), 4.0, rtol=0.03)
    np.testing.assert_allclose(np.divide(lag[:-1], lag[1:]), 4.0, rtol=0.03)


def test_a_ball_swings_in_a_bowl_as_a_pendulum_does():
    """It starts at 60 degrees, and is at the bottom after a quarter of a period, sqrt(rho / g) K(sin^2 30)."""
    start = RHO * np.array([-np.sin(np.pi / 3.0), -np.cos(np.pi / 3.0)])
    quarter, errors = np.sqrt(RHO / 9.81) * ellipk(0.25), []
    for steps in (50, 100, 200):
        h = quarter / steps
        sol = jo.solve(in_the_bowl(start, gravity=9.81), jo.Maury(), t=2.0 * quarter, h=h)
        errors.append(np.linalg.norm(sol.q[steps, 0] - [0.0, -RHO]))
        np.testing.assert_allclose(sol.q[-1, 0], start * [-1.0, 1.0], atol=40.0 * h**2)
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, rtol=0.1)
    assert errors[-1] < 1e-2


def test_a_person_in_a_round_hall_walks_along_the_wall():
    """Venel: theta' = -sin(theta) / rho, so that tan(theta / 2) = tan(theta_0 / 2) exp(-t / rho)."""
    errors, found = [], []
    for h in (0.02, 0.01, 0.005):
        walk = jo.Sweeping(q0=[[0.0, RHO]], velocity=[1.0, 0.0], within=BOWL)
        sol = jo.solve(walk, jo.Venel(), t=1.0, h=h)
        theta = 2.0 * np.arctan(np.exp(-1.0 / RHO))
        errors.append(np.linalg.norm(sol.q[-1, 0] - RHO * np.array([np.cos(theta), np.sin(theta)])))
        found.append(deepest(sol))
        assert sol.overlap == pytest.approx(found[-1] / 0.2)
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, rtol=0.1)
    np.testing.assert_allclose(np.divide(found[:-1], found[1:]), 4.0, rtol=0.1)


def test_a_crowd_in_a_round_hall_keeps_its_distances():
    random = np.random.default_rng(2)
    q0 = np.stack(np.meshgrid(np.arange(-2, 3), np.arange(-2, 3)), axis=-1).reshape(-1, 2) * 0.55
    people = jo.Balls(np.full(25, 0.25)) & jo.Inside([0.0, 0.0], 2.4)
    walk = jo.Sweeping(q0=q0 + 0.01 * random.normal(size=q0.shape), velocity=[1.0, 0.2], within=people)
    sol = jo.solve(walk, jo.Venel(), t=2.0, h=0.02)
    assert sol.stats["primal"].max() < 1e-7
    assert sol.overlap <= (0.02 * 1.02) ** 2 / (2.0 * 2.15) / 0.25
    assert np.linalg.norm(sol.q[-1], axis=1).max() == pytest.approx(2.15, abs=1e-3)


def turned(t, points):
    c, s = np.cos(t), np.sin(t)
    return np.asarray(points) @ np.array([[c, s], [-s, c]])


BLADES = np.array([[[0.7, -0.05], [0.98, -0.05], [0.98, 0.05], [0.7, 0.05]]])


def drum(blades=4, speed=1.5):
    """The blades of a drum of radius 1, which turn with it."""
    return jo.Polygons(lambda t: [turned(speed * t + 2.0 * np.pi * k / blades, BLADES[0]) for k in range(blades)])


@pytest.mark.parametrize(
    ("scheme", "e"), [(jo.Maury(), 0.0), whole((jo.MoreauJean(), 0.3))], ids=["Maury", "MoreauJean"]
)
def test_grains_in_a_turning_drum_are_lifted_by_its_blades(scheme, e):
    q0 = np.array([(x, y) for y in (-0.55, -0.4) for x in np.linspace(-0.3, 0.3, 5)])
    within = jo.Balls(np.full(10, 0.06)) & jo.Inside([0.0, 0.0], 1.0) & drum()
    grains = jo.Motion(q0=q0, force=[0.0, -9.81], within=within, law=jo.Restitution(e))
    sol = jo.solve(grains, scheme, t=1.4, h=0.01)
    assert sol.q[..., 1].max() > 0.3  # thrown by a blade: no grain starts above -0.4
    assert sol.overlap < (0.02 if e == 0.0 else 0.5)
    if e == 0.0:
        assert sol.stats["primal"].max() < 1e-6  # grains and blades never overlap


@pytest.mark.parametrize("shape", ["thin", "planes"])
def test_a_ball_in_a_turning_triangle_of_walls_never_leaves_it(shape):
    """Polygons from inside are walls of their own: no overshoot, since each gap is convex."""
    corners = 2.0 * np.array([[np.cos(a), np.sin(a)] for a in 2.0 * np.pi * np.arange(3) / 3])
    if shape == "thin":
        walls = jo.Segments(lambda t: [turned(t, corners[[k, k - 1]]) for k in range(3)], radii=0.2)
    else:
        sides = [jo.HalfSpace(lambda t, k=k: turned(t, corners[k]), -1.0 * 2.0, radii=0.2) for k in range(3)]
        walls = sides[0] & sides[1] & sides[2]
    ball = jo.Motion(q0=[[0.0, 0.0]], v0=[0.3, 0.0], force=[0.0, -9.81], within=walls)
    sol = jo.solve(ball, jo.Maury(), t=3.0, h=0.01)
    assert sol.overlap < 1e-8
    assert np.linalg.norm(sol.q[-1]) > 0.4
    drift = jo.solve(jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=walls), jo.Venel(), t=3.0, h=0.01)
    assert drift.overlap < 1e-8


@settings(max_examples=examples(40), deadline=None)
@given(
    polar=st.tuples(st.floats(0.0, RHO), st.floats(0.0, 6.3)),
    v=st.tuples(st.floats(-30.0, 30.0), st.floats(-30.0, 30.0)),
)
def test_no_step_overshoots_more_than_the_bound_says(polar, v):
    """sqrt(rho^2 + l^2) - rho, and the radius of the ball: what is beyond is an error."""
    q0 = polar[0] * np.array([np.cos(polar[1]), np.sin(polar[1])])
    h = 0.05
    try:
        sol = jo.solve(in_the_bowl(q0, v), jo.Maury(), t=h, h=h)
    except jo.LeftTheSet:
        assert h * np.linalg.norm(v) > 0.2
        return
    length = np.linalg.norm(sol.q[1] - sol.q[0])
    assert deepest(sol) <= min(np.hypot(RHO, length) - RHO, 0.2) + 1e-9


def test_a_step_that_takes_a_centre_out_is_an_error_and_the_advice_helps():
    with pytest.raises(jo.LeftTheSet, match=r"the centre of body 0 went through container 0.*choose h below 0\.02"):
        jo.solve(in_the_bowl([0.0, 0.0], [10.0, 0.0]), jo.Maury(), t=1.0, h=0.2)
    assert jo.solve(in_the_bowl([0.0, 0.0], [10.0, 0.0]), jo.Maury(), t=1.0, h=0.019).overlap < 1e-8
    point = jo.Sweeping(q0=[0.0, 0.0], velocity=[10.0, 0.0], within=jo.Inside([0.0, 0.0], 1.0))
    with pytest.raises(jo.LeftTheSet, match="body 0 went through container 0"):
        jo.solve(point, jo.Venel(), t=1.0, h=0.2)


def test_a_container_that_leaves_a_ball_at_rest_behind_is_an_error():
    drum = jo.Inside(lambda t: [1.2 * t, 0.0], 1.0, radii=0.2)
    with pytest.raises(jo.LeftTheSet, match="body 0 went through container 0"):
        jo.solve(jo.Motion(q0=[[0.0, 0.0]], within=drum), jo.MoreauJean(), t=1.0, h=1.0)


def test_bodies_that_are_not_there_are_not_outside():
    balls = jo.Motion(
        q0=[[0.0, -0.5], [9.0, 9.0]], force=[0.0, -1.0], within=jo.Balls([0.2, 0.2]) & jo.Inside([0.0, 0.0], 1.0),
        present=[True, False],
    )  # fmt: skip
    sol = jo.solve(balls, jo.Maury(), t=2.0, h=0.01)
    np.testing.assert_allclose(sol.q[-1, 0], [0.0, -RHO], atol=1e-9)
    assert sol.overlap < 1e-9


def test_a_sphere_in_a_sphere_and_one_that_shrinks():
    ball = jo.Motion(q0=[0.5, 0.0, 0.0], within=jo.Inside([0.0, 0.0, 0.0], lambda t: 1.0 - 0.5 * t, radii=0.25))
    sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.01)
    np.testing.assert_allclose(sol.q[-1], [0.25, 0.0, 0.0], atol=1e-9)


def test_a_container_is_curved_and_stays_so_in_an_intersection():
    assert jo.Inside.curved
    assert (jo.Balls([0.1]) & jo.Inside([0.0, 0.0], 1.0)).curved
    users = jo.constraints(convex=False)(lambda t, q: [1.0 - q @ q])
    assert not (users & jo.Inside([0.0, 0.0], 1.0)).curved  # still refused
