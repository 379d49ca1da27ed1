"""Paoli 2010: the scheme (4)-(7) with restitution, a mass M(q) and sets K that need not be convex.

Every case has an exact answer of its own: closed form, a map from impact to impact with exact flights, or a plain loop
over (4)-(7). The Moreau-Jean scheme is held against the same answers at the end.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import jostle as jo
from jostle.analysis import order
from rows import few, halvings, whole

G = 9.81
FALL = np.sqrt(2.0 * G)
"""The speed after a fall from height one."""
TURN = 2.0 * np.pi
ABOVE = jo.HalfSpace([1.0])


def assert_order(h, errors, expected, within=0.15):
    fit = order(h, errors)
    assert abs(fit.order - expected) <= within, f"order {fit.order:.3f}, errors {fit.error}"


def falling_ball(e):
    return jo.Motion(q0=[1.0], force=[-G], within=ABOVE, law=jo.Restitution(e))


def bouncing(t, e):
    """Height and velocity of a ball dropped from height one, flight by flight; at rest after the accumulation."""
    t = np.asarray(t, dtype=float)
    first = FALL / G
    y, v = np.where(t < first, 1.0 - G * t**2 / 2.0, 0.0), np.where(t < first, -G * t, 0.0)
    start, speed = first, e * FALL
    while speed > 1e-12:
        s, length = t - start, 2.0 * speed / G
        flies = (s >= 0.0) & (s < length)
        y, v = np.where(flies, speed * s - G * s**2 / 2.0, y), np.where(flies, speed - G * s, v)
        start, speed = start + length, e * speed
    return y, v


def plain_loop(q0, v0, F, e, h, steps, z):
    """U^0, ..., U^steps of (4)-(7) for one coordinate, K = [0, inf), constant F and z(h) = z h F."""
    U = [q0, max(0.0, q0 + h * v0 + z * h**2 * F)]
    for n in range(1, steps):
        W = (2.0 * U[n] - (1.0 - e) * U[n - 1] + h**2 * F) / (1.0 + e)
        U.append(-e * U[n - 1] + (1.0 + e) * max(0.0, W))
    return np.array(U)


def around_the_impact(sol):
    """The velocities before and after the first impact, which takes the steps that lead to nodes k and k + 1."""
    k = np.searchsorted(sol.t, sol.impacts().t[0] - 1e-9)
    return np.concatenate([sol.u[k - 1], sol.u[k + 1]])


def state_at(problem, t, h):
    """The positions and centred velocities at time t, in one vector, and the run."""
    sol = jo.solve(problem, jo.Paoli(), t=t + h, h=h)
    return np.concatenate([sol.q[-2], (sol.q[-1] - sol.q[-3]) / (2.0 * h)]), sol


# One ball and a plane


def test_positions_lag_and_velocities_are_exact_without_force():
    """P03: U^60, V^59, the lag -2 e v h, how far U leaves K, and that Z does not."""
    v, e, h = -1.0, 0.5, 0.03
    ball = jo.Motion(q0=[1.0], v0=[v], within=ABOVE, law=jo.Restitution(e))
    sol = jo.solve(ball, jo.Paoli(z=0.0), t=60 * h, h=h)
    exact = -e * v * (sol.t[60] - 1.0)
    assert len(sol.t) == 61
    assert sol.q[60, 0] == pytest.approx(0.37, abs=1e-12)
    assert sol.u[60, 0] == pytest.approx(0.5, abs=1e-12)
    assert sol.q[60, 0] - exact == pytest.approx(-0.03, abs=1e-12)
    assert sol.q.min() == pytest.approx(-0.02, abs=1e-12)
    assert sol.z.min() == pytest.approx(0.0, abs=1e-12)
    impact = int(np.argmin(sol.q[:, 0]))
    later = sol.t[impact + 1 :]
    np.testing.assert_allclose(sol.q[impact + 1 :, 0] + e * v * (later - 1.0), 2.0 * e * v * h, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(sol.u[impact + 2 :, 0], -e * v, rtol=0.0, atol=1e-12)


def test_a_bouncing_ball_is_within_six_steps_of_its_solution_through_the_accumulation():
    """P04: e = 0.5, sup error <= 6 h and of first order, over the accumulation of impacts at t = 1.3546."""
    steps = halvings(4e-2)
    errors = []
    for h in steps:
        sol = jo.solve(falling_ball(0.5), jo.Paoli(), t=2.0, h=h)
        errors.append(np.abs(sol.q[:, 0] - bouncing(sol.t, 0.5)[0]).max())
    assert (np.array(errors) <= 6.0 * steps).all()
    assert_order(steps, errors, 1.0, within=0.1)


def test_a_bouncing_ball_has_the_known_heights_and_velocities():
    """P04: heights at 0.6, 1.0, 1.3 and velocities at 0.6, 1.0, after one and two impacts, for e = 0.5."""
    heights, velocities = [0.220702226263, 0.0612555656575, 0.000241637333295], [0.758170377105, 0.156255565658]
    y, v = bouncing([0.6, 1.0, 1.3], 0.5)
    np.testing.assert_allclose(y, heights, rtol=1e-9)
    np.testing.assert_allclose(v, [*velocities, 0.120080105641], rtol=1e-9)
    h = 2e-4
    sol = jo.solve(falling_ball(0.5), jo.Paoli(), t=1.4, h=h)
    np.testing.assert_allclose(sol([0.6, 1.0, 1.3])[:, 0], heights, rtol=0.0, atol=6.0 * h)
    for t, impacts, exact in zip((0.6, 1.0), (1, 2), velocities, strict=True):
        # Each impact comes two steps late and takes the speed of a node up to one step off.
        velocity = (sol(t + h) - sol(t - h))[0] / (2.0 * h)
        assert abs(velocity - exact) <= 3.0 * impacts * G * h


@pytest.mark.parametrize("h", [4e-3, 1e-3])
def test_the_impulses_of_a_ball_that_came_to_rest_add_up_to_its_weight(h):
    """P04: the total impulse over [0, 2] is 19.62, less the half step g h / 2 that is the start's."""
    sol = jo.solve(falling_ball(0.5), jo.Paoli(), t=2.0, h=h)
    total = sum(p.sum() for p in sol.multipliers)
    assert total + G * h / 2.0 == pytest.approx(19.62, abs=1e-9)


def test_a_lively_ball_converges_at_first_order():
    """P04: e = 0.9, three impacts in [0, 2]; positions equal those of a plain loop over (4)-(7)."""
    steps = halvings(1e-2, 5)
    errors = []
    for h in steps:
        sol = jo.solve(falling_ball(0.9), jo.Paoli(), t=2.0, h=h)
        loop = plain_loop(1.0, 0.0, -G, 0.9, h, len(sol.t) - 1, z=0.5)
        np.testing.assert_allclose(sol.q[:, 0], loop, rtol=0.0, atol=1e-9)
        errors.append(np.abs(sol.q[:, 0] - bouncing(sol.t, 0.9)[0]).max())
    assert_order(steps, errors, 1.0)


def test_impacts_accumulate_at_the_known_time():
    """P04: first impact at t_1 = 0.4515 and rest from t_inf = 1.3546 on (e = 0.5); e = 0.9 still jumps at t = 2."""
    h = 1e-3
    sol = jo.solve(falling_ball(0.5), jo.Paoli(), t=2.0, h=h)
    assert sol.impacts().t[0] == pytest.approx(0.451523640986, abs=2.0 * h)
    moving = sol.t[np.abs(sol.u[:, 0]) > G * h]
    # So many steps late: two for each impact that is faster than g h.
    late = 2.0 * np.log2(FALL / (G * h)) * h
    assert -late <= moving[-1] - 1.35457092296 <= late
    lively = jo.solve(falling_ball(0.9), jo.Paoli(), t=2.0, h=h)
    assert np.abs(lively.u[-1, 0]) > 2.0


def test_the_bouncing_ball_of_siconos_is_reproduced():
    """P05: SchatzmanPaoliOSI of Siconos, z(h) = h F, e = 0.9, h = 0.005: its numbers and a plain loop, to 1e-9."""
    h = 0.005
    sol = jo.solve(falling_ball(0.9), jo.Paoli(z=1.0), t=10.0, h=h)
    assert len(sol.t) == 2001
    assert sol.q[1, 0] == pytest.approx(1.0 - G * h**2, abs=1e-15)
    siconos = [0.705774375, 0.0285231375, 0.1394543305, 0.0037171644]
    np.testing.assert_allclose(sol.q[[200, 400, 1000, 1500], 0], siconos, rtol=0.0, atol=1e-9)
    loop = plain_loop(1.0, 0.0, -G, 0.9, h, 2000, z=1.0)
    np.testing.assert_allclose(sol.q[:1501, 0], loop[:1501], rtol=0.0, atol=1e-9)
    assert np.abs(sol.q[:, 0] - bouncing(sol.t, 0.9)[0]).max() == pytest.approx(0.08615794, abs=1e-8)


@pytest.mark.parametrize("clearance", [0.0, 0.01])
def test_grazing_is_free_flight(clearance):
    """P07: q = (t - 1)^2 + eps to round-off, and no impulse, for an exact graze and a near miss with e = 0.5."""
    ball = jo.Motion(q0=[1.0 + clearance], v0=[-2.0], force=[2.0], within=ABOVE, law=jo.Restitution(0.5))
    sol = jo.solve(ball, jo.Paoli(), t=2.0, h=0.01)
    np.testing.assert_allclose(sol.q[:, 0], (sol.t - 1.0) ** 2 + clearance, rtol=0.0, atol=1e-12)
    assert sol.q[-1, 0] == pytest.approx(1.0 + clearance, abs=1e-12)
    assert sum(p.sum() for p in sol.multipliers) == 0.0
    assert len(sol.impacts()) == 0


# Corners


def wedge(theta):
    """The wedge between the directions (1, 0) and (cos theta, sin theta)."""
    return jo.HalfSpace([0.0, 1.0]) & jo.HalfSpace([np.sin(theta), -np.cos(theta)])


@pytest.mark.parametrize("degrees", [60.0, 90.0, 120.0])
def test_a_shot_at_the_vertex_returns_along_itself(degrees):
    """P09: both faces hit at once, u+ = -e u- for every angle; e = 0.5."""
    half = np.radians(degrees) / 2.0
    bisector = np.array([np.cos(half), np.sin(half)])
    shot = jo.Motion(q0=bisector, v0=-bisector, within=wedge(2.0 * half), law=jo.Restitution(0.5))
    sol = jo.solve(shot, jo.Paoli(), t=2.0, h=1e-2)
    np.testing.assert_allclose(sol.u[-1], 0.5 * bisector, rtol=0.0, atol=1e-12)
    if degrees == 60.0:
        np.testing.assert_allclose(sol.u[-1], [0.433012701892, 0.25], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("offset", "after"),
    [
        (0.0, (0.749427888413, 0.662085976342)),
        (0.02, (0.948097219208, 0.317980601499)),
        (-0.02, (0.948097219208, 0.317980601499)),
    ],
)
def test_an_elastic_wedge_of_sixty_degrees_tells_the_vertex_from_its_neighbourhood(offset, after):
    """P10: (H6) fails, and the limit jumps between a shot at the vertex and three reflections beside it."""
    angle = np.pi / 6.0 + 0.2
    c = np.array([np.cos(angle), np.sin(angle)])
    start = c + offset * np.array([-c[1], c[0]])
    shot = jo.Motion(q0=start, v0=-c, within=wedge(np.pi / 3.0), law=jo.Restitution(1.0))
    assert not jo.analysis.orthogonal(shot.within.linearise(0.0, np.zeros(2)).cone())
    sol = jo.solve(shot, jo.Paoli(), t=3.0, h=4e-3)
    np.testing.assert_allclose(sol.u[-1], after, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 0.05])
def test_a_right_angle_reflects_together_as_one_after_the_other(offset):
    """P11: (H6) holds, u+ = (0.5, 0.5) for a shot at the corner and beside it."""
    corner = jo.Box([0.0, 0.0], [np.inf, np.inf])
    shot = jo.Motion(q0=[1.0 + offset, 1.0], v0=[-1.0, -1.0], within=corner, law=jo.Restitution(0.5))
    assert jo.analysis.orthogonal(corner.linearise(0.0, np.zeros(2)).cone())
    sol = jo.solve(shot, jo.Paoli(), t=2.0, h=1e-2)
    np.testing.assert_allclose(sol.u[-1], [0.5, 0.5], rtol=0.0, atol=1e-10)


# A mass that depends on the configuration, and sets that are not convex


POLAR_IMPACT = (1.07533732613, -0.036496350365, -0.283937383865, 0.346715328467)
PENDULUM_IMPACT = (-1.49836057776, -0.161414864511, 0.74918028888, -2.14528406041)
CART_IMPACT = (1.40994836605, -3.06192690617, -0.845969019628, -1.05067542767)
"""Two velocities before, two after."""


def free_particle_in_polar_coordinates():
    """From (1, 0.5) with velocity (1, 0.4) towards the wall x = 1.5, in coordinates (r, theta)."""
    wall = jo.constraints(gradient=lambda t, q: [[-np.cos(q[1]), q[0] * np.sin(q[1])]])(
        lambda t, q: [1.5 - q[0] * np.cos(q[1])]
    )
    r = np.hypot(1.0, 0.5)
    return jo.Motion(
        q0=[r, np.arctan2(0.5, 1.0)],
        v0=[1.2 / r, -0.1 / r**2],
        mass=lambda q: np.diag([1.0, q[0] ** 2]),
        force=lambda t, q, u: [q[0] * u[1] ** 2, -2.0 * q[0] * u[0] * u[1]],
        within=wall,
        law=jo.Restitution(0.5),
    )


def cart_with_pendulum():
    """A cart of mass 2 with a pendulum of mass 1 and length 1 on it, and a stop x <= 0.3."""

    def mass(q):
        return [[3.0, np.cos(q[1])], [np.cos(q[1]), 1.0]]

    def force(t, q, u):
        return [np.sin(q[1]) * u[1] ** 2, -G * np.sin(q[1])]

    stop = jo.HalfSpace([-1.0, 0.0], -0.3)
    return jo.Motion(q0=[0.0, 1.0], v0=[0.5, 0.0], mass=mass, force=force, within=stop, law=jo.Restitution(0.6))


def first_impact(problem, start):
    """Time and velocities before and after it by (2), from the equations of motion alone."""

    def flow(t, state):
        q, u = np.split(state, 2)
        return np.concatenate([u, problem.acceleration(t, q, u)])

    def gap(t, state):
        return problem.within.gap(t, np.split(state, 2)[0])

    gap.terminal = True
    state = np.concatenate([problem.q0, problem.v0])
    run = solve_ivp(flow, (start, start + 2.0), state, method="DOP853", rtol=1e-12, atol=1e-13, events=gap)
    t, (q, before) = run.t_events[0][0], np.split(run.y_events[0][0], 2)
    n = problem.within.linearise(t, q).G.toarray()[0]
    lifted = problem.metric(q).solve(n)
    after = before - (1.0 + problem.law.e) * (n @ before) / (n @ lifted) * lifted
    return [t, *before, *after]


@pytest.mark.parametrize(
    ("problem", "start", "expected"),
    [
        (free_particle_in_polar_coordinates, 0.0, (0.5, *POLAR_IMPACT)),
        (jo.models.double_pendulum, 0.0, (0.456522569149, *PENDULUM_IMPACT)),
        (cart_with_pendulum, 0.0, (0.340974320937, *CART_IMPACT)),
        (
            lambda: jo.models.impact_oscillator(omega=2.6, x0=-0.659030593353, v0=-0.0505439970894),
            2.37345214975,
            (2.37345214975 + np.pi / 2.6, 0.505439970894, -0.8 * 0.505439970894),
        ),
    ],
    ids=["polar", "double pendulum", "cart", "oscillator"],
)
def test_the_equations_of_motion_lead_to_the_known_first_impact(problem, start, expected):
    """P18, P19, P20, P27: mass, force and stop are right, whatever the scheme: first impact to ten digits."""
    assert first_impact(problem(), start) == pytest.approx(expected, abs=1e-10)


def test_polar_coordinates_give_the_billiard_of_cartesian_ones():
    """P18: M = diag(1, r^2); q(1) within 1.5 h, polar velocities at the impact to first order."""
    r, theta = np.hypot(1.25, 0.9), np.arctan2(0.9, 1.25)
    np.testing.assert_allclose([r, theta], [1.54029218008, 0.624023052977], rtol=1e-11)
    steps = halvings(2e-2, 5)
    errors, jumps = [], []
    for h in steps:
        sol = jo.solve(free_particle_in_polar_coordinates(), jo.Paoli(), t=1.0, h=h)
        errors.append(np.abs(sol.q[-1] - [r, theta]).max())
        jumps.append(np.abs(around_the_impact(sol) - POLAR_IMPACT).max())
        assert sol.impacts().t == pytest.approx([0.5], abs=2.0 * h)
    assert (np.array(errors) <= 1.5 * steps).all()
    assert_order(steps, errors, 1.0, within=0.05)
    assert_order(steps, jumps, 1.0)


def test_a_double_pendulum_hits_its_stop():
    """P19: angles at t = 1 within 4 h; velocities there, and at the impact, to first order; the law; the energy."""
    final = [0.109884020636, -0.474856263845, -1.32054164788, 0.389375436577]
    steps = halvings(4e-2, 5)
    angles, velocities, jumps, losses = [], [], [], []
    for h in steps:
        state, sol = state_at(jo.models.double_pendulum(), 1.0, h)
        angles.append(np.abs(state[:2] - final[:2]).max())
        velocities.append(np.abs(state[2:] - final[2:]).max())
        around = around_the_impact(sol)
        jumps.append(np.abs(around - PENDULUM_IMPACT).max())
        k = np.searchsorted(sol.t, sol.impacts().t[0] - 1e-9)
        kinetic = sol.energy().kinetic
        losses.append(abs(kinetic[k - 1] - kinetic[k + 1] - 1.02785715133))
        assert sol.impacts().t == pytest.approx([0.456522569149], abs=2.0 * h)
        assert around[2] == pytest.approx(-0.5 * around[0], abs=1e-9)
    assert (np.array(angles) <= 4.0 * steps).all()
    assert_order(steps, angles, 1.0)
    assert_order(steps, velocities, 1.0)
    assert_order(steps, jumps, 1.0)
    assert_order(steps, losses, 1.0)


def test_a_cart_with_a_pendulum_hits_its_stop():
    """P20: positions and velocities at t = 1 within 4 h, velocities at the impact to first order."""
    final = [-0.138908341606, -0.547101228721, -1.06829074218, -0.315863790476]
    steps = halvings(4e-2)
    errors, jumps = [], []
    for h in steps:
        state, sol = state_at(cart_with_pendulum(), 1.0, h)
        errors.append(np.abs(state - final).max())
        around = around_the_impact(sol)
        jumps.append(np.abs(around - CART_IMPACT).max())
        assert sol.impacts().t == pytest.approx([0.340974320937], abs=2.0 * h)
        assert around[2] == pytest.approx(-0.6 * around[0], abs=1e-9)
    assert (np.array(errors) <= 4.0 * steps).all()
    assert_order(steps, errors, 1.0)
    assert_order(steps, jumps, 1.0)


def test_the_nearest_point_outside_a_disc_depends_on_the_mass():
    """P22: the projection on |x| >= 1 in the metric diag(1, 4), and its distance."""
    W, mass = np.array([0.3, 0.2]), np.array([1.0, 4.0])
    found = jo.nearest(W, jo.Outside([0.0, 0.0], 1.0), mass=mass)
    np.testing.assert_allclose(found.point, [0.970337966165, 0.241752417607], rtol=0.0, atol=1e-10)
    distance = np.sqrt(mass @ (found.point - W) ** 2)
    assert distance == pytest.approx(0.675519094021, abs=1e-10)
    assert found.converged


def test_from_the_centre_of_a_disc_one_of_the_two_nearest_points_is_found():
    """P22: W = 0 has the nearest points (1, 0) and (-1, 0); the choice is always the same."""
    disc = jo.Outside([0.0, 0.0], 1.0)
    x, y = jo.nearest([0.0, 0.0], disc, mass=[1.0, 4.0]).point
    assert abs(x) == pytest.approx(1.0, abs=1e-10)
    assert y == pytest.approx(0.0, abs=1e-10)
    assert jo.nearest([0.0, 0.0], disc, mass=[1.0, 4.0]).point.tolist() == [x, y]


def test_a_shot_at_a_disc_rebounds_by_the_law_at_first_order():
    """(2) and (7) with K = {|q| >= 1}, which is not convex: position and velocity after the rebound, e = 0.5."""
    start, velocity, e, end = np.array([-3.0, 0.5]), np.array([1.0, 0.0]), 0.5, 4.0
    hit = np.array([-np.sqrt(0.75), 0.5])
    meeting = hit[0] - start[0]
    after = velocity - (1.0 + e) * (hit @ velocity) * hit
    # The impact has the same phase within its step for every h, so that the errors are a clean power of h.
    steps = meeting / (5.2 * 2.0 ** np.arange(6))
    positions, velocities = [], []
    for h in steps:
        shot = jo.Motion(q0=start, v0=velocity, within=jo.Outside([0.0, 0.0], 1.0), law=jo.Restitution(e))
        sol = jo.solve(shot, jo.Paoli(), t=np.ceil(end / h) * h, h=h)
        positions.append(np.abs(sol.q[-1] - hit - (sol.t[-1] - meeting) * after).max())
        velocities.append(np.abs(sol.u[-1] - after).max())
        assert np.linalg.norm(sol.z, axis=1).min() >= 1.0 - 1e-12
    assert_order(steps, positions, 1.0, within=0.1)
    assert_order(steps, velocities, 1.0, within=0.1)


# Oscillators, with their maps from impact to impact


def next_impact(flight, t, v, longest):
    """Time of, and rate at, the first return of a gap that leaves zero at time t with rate v."""
    s = np.linspace(0.0, longest, 601)[1:]
    gap = flight(s, t, v)[0]
    k = np.flatnonzero((gap[:-1] > 0.0) & (gap[1:] <= 0.0))[0]
    landing = brentq(lambda s: flight(s, t, v)[0], s[k], s[k + 1], xtol=1e-15)
    return t + landing, flight(landing, t, v)[1]


def trace_and_determinant(flight, t, v, e, longest):
    """Of the linearised map (t, v) -> (t', v') from impact to impact, by complex steps in the exact flight."""
    tiny = 1e-30j
    s = next_impact(flight, t, v, longest)[0] - t
    along_s, along_t, along_v = (
        np.imag(flight(*point)) / tiny.imag for point in ((s + tiny, t, v), (s, t + tiny, v), (s, t, v + tiny))
    )
    later = [-along[0] / along_s[0] for along in (along_t, along_v)]
    rates = [-e * (along[1] + along_s[1] * delay) for along, delay in zip((along_t, along_v), later, strict=True)]
    J = np.array([[1.0 + later[0], later[1]], rates])
    return np.trace(J), np.linalg.det(J)


def oscillator(omega):
    """The exact flight of the gap -x, where x'' + x = cos(omega t)."""
    gain = 1.0 / (1.0 - omega**2)

    def flight(s, t, v):
        a, b = gain * np.cos(omega * t), v - gain * omega * np.sin(omega * t)
        gap = a * np.cos(s) + b * np.sin(s) - gain * np.cos(omega * (t + s))
        return gap, -a * np.sin(s) + b * np.cos(s) + gain * omega * np.sin(omega * (t + s))

    return flight


def orbit_of_oscillator(omega, e=0.8):
    """The periodic orbit with one impact each period, stop at zero: impact speed and phase of the impact."""
    gain, cot = 1.0 / (1.0 - omega**2), 1.0 / np.tan(np.pi / omega)
    speed = abs(gain) / np.hypot((1.0 - e) / (2.0 * omega), (1.0 + e) * cot / 2.0)
    phase = np.arctan2(-(1.0 - e) * speed / (2.0 * omega * gain), (1.0 + e) * speed * cot / (2.0 * gain))
    return speed, phase


def oscillator_on_its_orbit(omega):
    """The model half a period after an impact of that orbit, and the time."""
    speed, phase = orbit_of_oscillator(omega)
    gap, rate = oscillator(omega)(np.pi / omega, phase / omega, 0.8 * speed)
    return jo.models.impact_oscillator(omega=omega, x0=-gap, v0=-rate), (phase + np.pi) / omega


@pytest.mark.parametrize("periods", [4, whole(30)])
def test_the_forced_oscillator_keeps_to_its_orbit(periods):
    """P27: after some periods, one impact in each, |x - x0| <= h."""
    omega, e = 2.6, 0.8
    period = TURN / omega
    speed, phase = orbit_of_oscillator(omega)
    trace, determinant = trace_and_determinant(oscillator(omega), phase / omega, e * speed, e, 2.0 * period)
    assert [speed, phase] == pytest.approx([0.505439970894, 3.02938293575], abs=1e-10)
    assert [trace, determinant] == pytest.approx([-1.14907931, 0.64], abs=5e-9)
    problem, start = oscillator_on_its_orbit(omega)
    numbers = [2.37345214975, -0.659030593353, -0.0505439970894]
    assert [start, problem.q0[0], problem.v0[0]] == pytest.approx(numbers, abs=1e-10)
    h = period / 400
    sol = jo.solve(problem, jo.Paoli(), t=(start, start + periods * period), h=h, every=400)
    assert abs(sol.q[-1, 0] - problem.q0[0]) <= h
    assert len(sol.impacts()) == periods


def attractor(omega, e=0.8):
    """The impact speeds and intervals, in periods, of the last four of 600 impacts of the exact map."""
    flight, period = oscillator(omega), TURN / omega
    speed, phase = orbit_of_oscillator(omega)
    t, v = phase / omega, 1.0001 * e * speed
    times, speeds = [t], []
    for _ in range(600):
        t, rate = next_impact(flight, t, v, 2.0 * period)
        v = -e * rate
        times.append(t)
        speeds.append(-rate)
    return np.array(speeds[-4:]), np.diff(times)[-4:] / period


def test_the_orbit_of_the_oscillator_doubles_its_period_where_an_eigenvalue_is_minus_one():
    """P28: 1 + tr + det = 0 at omega = 2.6533; period one at 2.63, two at 2.68 and 2.70 with known impact speeds."""

    def condition(omega):
        speed, phase = orbit_of_oscillator(omega)
        return 1.0 + sum(trace_and_determinant(oscillator(omega), phase / omega, 0.8 * speed, 0.8, 2.0 * TURN / omega))

    assert brentq(condition, 2.6, 2.7) == pytest.approx(2.65334772786, abs=1e-10)
    speeds, intervals = attractor(2.63)
    assert speeds == pytest.approx([orbit_of_oscillator(2.63)[0]] * 4, abs=1e-9)
    assert intervals == pytest.approx([1.0] * 4, abs=1e-9)
    speeds, intervals = attractor(2.68)
    assert np.sort(speeds) == pytest.approx([0.450135, 0.450135, 0.456355, 0.456355], abs=1e-5)
    assert np.sort(intervals) == pytest.approx([0.88069, 0.88069, 1.11931, 1.11931], abs=1e-5)
    speeds, _ = attractor(2.70)
    assert np.sort(speeds) == pytest.approx([0.451024, 0.451024, 0.459833, 0.459833], abs=1e-5)


@pytest.mark.parametrize(("omega", "short", "long"), [whole((2.63, 1.0, 1.0)), whole((2.68, 0.88069, 1.11931))])
def test_the_scheme_doubles_the_period_of_the_oscillator(omega, short, long):
    """P28: started on the orbit of period one, the run keeps it at 2.63 and leaves it for period two at 2.68."""
    period = TURN / omega
    problem, start = oscillator_on_its_orbit(omega)
    sol = jo.solve(problem, jo.Paoli(), t=(start, start + 40 * period), h=period / 200, every=200)
    assert len(sol.impacts()) == 40
    intervals = np.diff(sol.impacts().t)[-20:].reshape(10, 2) / period
    few_steps = 12.0 / 200.0
    np.testing.assert_allclose(intervals.min(axis=1), short, rtol=0.0, atol=few_steps)
    np.testing.assert_allclose(intervals.max(axis=1), long, rtol=0.0, atol=few_steps)


GAMMA_SN, GAMMA_PD = 0.349065850399, 1.07083646825


def table(Gamma):
    """The exact flight of the height above a table at A sin(2 pi t), gravity 1, Gamma = A (2 pi)^2."""
    A = Gamma / TURN**2

    def flight(s, t, v):
        rise = np.sin(TURN * (t + s)) - np.sin(TURN * t) - TURN * s * np.cos(TURN * t)
        rate = v - s - A * TURN * (np.cos(TURN * (t + s)) - np.cos(TURN * t))
        return v * s - s**2 / 2.0 - A * rise, rate

    return flight


def orbit_of_table(Gamma, e=0.8):
    """The orbit with one impact each period: the ball leaves at speed 1/2, the table having (1 - e) / (1 + e) of it."""
    table_speed = 0.5 * (1.0 - e) / (1.0 + e)
    return np.arccos(min(1.0, TURN * table_speed / Gamma)) / TURN, 0.5 - table_speed


def run_on_table(Gamma, orbit_of, periods, steps):
    """A run that starts on the orbit of period one of `orbit_of`, at the moment when the ball rests above the table."""
    t, v = orbit_of_table(orbit_of)
    flight = table(orbit_of)
    top = brentq(lambda s: flight(s, t, v)[1], 0.1, 0.9)
    problem = jo.models.vibrating_table(Gamma, e=0.8, height=flight(top, t, v)[0])
    return jo.solve(problem, jo.Paoli(), t=(t + top, t + top + periods), h=1.0 / steps)


def test_the_ball_on_a_table_has_an_orbit_of_period_one_in_a_window():
    """P29: it is born at Gamma_SN, where an eigenvalue is 1, and doubles at Gamma_PD, where one is -1; e = 0.8."""
    e = 0.8
    born = np.pi * (1.0 - e) / (1.0 + e)
    doubles = np.hypot(born, 2.0 * (1.0 + e**2) / (1.0 + e) ** 2)
    assert [born, doubles] == pytest.approx([GAMMA_SN, GAMMA_PD], abs=1e-11)

    def linearised(Gamma):
        return trace_and_determinant(table(Gamma), *orbit_of_table(Gamma), e, 2.0)

    trace, determinant = linearised(born)
    assert 1.0 - trace + determinant == pytest.approx(0.0, abs=1e-7)
    assert brentq(lambda Gamma: 1.0 + sum(linearised(Gamma)), 0.9, 1.2) == pytest.approx(doubles, abs=1e-10)
    for Gamma in (0.5, 0.9):
        t, v = orbit_of_table(Gamma)
        landing, rate = next_impact(table(Gamma), t, v, 2.0)
        assert [landing - t, -e * rate] == pytest.approx([1.0, v], abs=1e-12)


def test_the_scheme_doubles_the_period_of_the_table_within_two_hundredths():
    """P29: heights a period apart agree at Gamma_PD - 0.02 and differ, alternating, at Gamma_PD + 0.02."""
    below = run_on_table(GAMMA_PD - 0.02, GAMMA_PD - 0.02, periods=42, steps=100)
    above = run_on_table(GAMMA_PD + 0.02, GAMMA_PD + 0.02, periods=24, steps=100)
    assert (len(below.impacts()), len(above.impacts())) == (42, 24)
    assert np.abs(np.diff(below.q[::100, 0]))[-4:].max() < 1e-5
    changes = np.diff(above.q[::100, 0])[-4:]
    assert np.abs(changes).min() > 0.03
    assert (changes[1:] * changes[:-1] < 0.0).all()


@pytest.mark.whole
def test_the_scheme_loses_the_orbit_of_the_table_within_two_hundredths():
    """P29: at Gamma_SN + 0.02 the ball goes on jumping each period, at Gamma_SN - 0.02 it comes to rest."""
    above = run_on_table(GAMMA_SN + 0.02, GAMMA_SN + 0.02, periods=14, steps=200)
    below = run_on_table(GAMMA_SN - 0.02, GAMMA_SN + 0.02, periods=14, steps=200)
    assert len(above.impacts()) == 14
    assert above.q[-200:].max() > 0.1
    assert np.abs(below.q[-200:]).max() < 1e-12


# Several bodies


@pytest.mark.parametrize("n", [2, 3, 5])
def test_an_elastic_cradle_with_gaps_passes_its_velocity_on(n):
    """P31: e = 1, n - 1 collisions of two, and only the last ball flies off."""
    sol = jo.solve(jo.models.cradle(n, gap=1.0, e=1.0), jo.Paoli(), t=n + 0.5, h=0.01)
    np.testing.assert_allclose(sol.u[-1], [0.0] * (n - 1) + [1.0], rtol=0.0, atol=1e-9)
    assert len(sol.impacts()) == n - 1


@pytest.mark.parametrize("radius", [0.0, 0.5])
def test_three_balls_with_gaps_collide_three_times(radius):
    """P31: e = 1/2 gives (13/64, 15/64, 9/16) after the last collision at t = 13."""
    h = 0.01
    sol = jo.solve(jo.models.cradle(3, gap=1.0, radius=radius, e=0.5), jo.Paoli(), t=16.0, h=h)
    np.testing.assert_allclose(sol.u[-1], [0.203125, 0.234375, 0.5625], rtol=0.0, atol=1e-9)
    assert len(sol.impacts()) == 3
    # The gap lags by O(h) and closes at the rate 1/16 only.
    assert sol.impacts().t[-1] == pytest.approx(13.0, abs=16.0 * h)


def test_three_rods_between_walls_are_a_tonks_gas():
    """P64: e = 1, period 14; x within 90 h, kinetic energy, speeds, and the mean force 2 on each wall."""
    h = 4e-3
    box = jo.Line([0.5, 0.5, 0.5], lower=0.0, upper=10.0)
    rods = jo.Motion(q0=[2.0, 5.0, 8.0], v0=[1.0, -2.0, 3.0], within=box, law=jo.Restitution(1.0))
    sol = jo.solve(rods, jo.Paoli(), t=14.0, h=h)
    assert np.abs(sol.q[-1] - [2.0, 5.0, 8.0]).max() <= 90.0 * h
    assert sol.energy().kinetic[-1] == pytest.approx(7.0, abs=1e-9)
    np.testing.assert_allclose(sol.u[-1], [1.0, -2.0, 3.0], rtol=0.0, atol=1e-9)
    impulse = {"lower": 0.0, "upper": 0.0}
    for p, pairs in zip(sol.multipliers[1:], sol.pairs[1:], strict=True):
        impulse["lower"] += p[pairs[:, 1] == -1].sum()
        impulse["upper"] += p[pairs[:, 1] == -2].sum()
    assert impulse["lower"] / 14.0 == pytest.approx(2.0, abs=1e-9)
    assert impulse["upper"] / 14.0 == pytest.approx(2.0, abs=1e-9)


# Two solutions for one force that never pulls up


def pressed_ball(e, v0):
    """f = -1 on the first part of each [2^n, 2^{n+1}) and stronger on the rest; the ball is on the floor at 1/8."""
    split, strong = (1.8, -16.0) if e == 0.5 else (5.0 / 3.0, -4.0)

    def force(t, q):
        return [-1.0 if t / 2.0 ** np.floor(np.log2(t)) < split else strong]

    return jo.Motion(q0=[0.0], v0=[v0], force=force, within=ABOVE, law=jo.Restitution(e))


@pytest.mark.parametrize("h", [1e-3, whole(5e-4)])
@pytest.mark.parametrize(
    ("e", "speed", "apex", "when", "constant"),
    [(0.5, 0.8, 0.32, 1.8, 1.0), whole((1.0, 2.0 / 3.0, 2.0 / 9.0, 5.0 / 3.0, 6.0))],
)
def test_a_pressed_ball_may_bounce_higher_and_higher(e, speed, apex, when, constant, h):
    """P62: the self-similar bounce q(2t) = 4 q(t) from its data at t = 1/8, to the apex of the fourth flight.

    The jumps of the force for e = 1/2 lie on nodes.
    """
    sol = jo.solve(pressed_ball(e, speed / 8.0), jo.Paoli(), t=(0.125, when), h=h)
    assert abs(sol.q[-1, 0] - apex) <= constant * h
    impacts = sol.impacts(speed=0.1)
    assert impacts.t == pytest.approx([0.25, 0.5, 1.0], abs=8.0 * h)
    assert impacts.after[-1] == pytest.approx(speed, abs=60.0 * h)


@pytest.mark.parametrize("e", [0.5, 1.0])
def test_a_pressed_ball_may_as_well_stay_at_rest(e):
    """P62: from U^0 = U^1 = 0 the scheme stays at zero."""
    sol = jo.solve(pressed_ball(e, 0.0), jo.Paoli(), t=(0.125, 2.0), h=5e-3)
    assert (sol.q == 0.0).all()


# Orders, and steps that change


def harmonic_error(steps, e, z):
    """Error at t = 2 of x'' = -x from (1, 0.5), the stop too far away to matter."""
    problem = jo.Motion(
        q0=[1.0], v0=[0.5], force=lambda t, q: -q, within=jo.HalfSpace([1.0], -10.0), law=jo.Restitution(e)
    )
    t = float(np.sum(steps))
    sol = jo.solve(problem, jo.Paoli(z=z), t=t, h=steps)
    return np.abs(sol.q[:, 0] - np.cos(sol.t) - 0.5 * np.sin(sol.t)).max()


@pytest.mark.each_value
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("z", "expected"), [(0.5, 2.0), (0.0, 1.0)])
def test_free_flight_is_second_order_if_the_first_step_has_its_force(z, expected, e):
    """Order 2 with z(h) = h F / 2 and 1 with z = 0, without impact, for a force that depends on the position."""
    h = halvings(2.0 / 25)
    errors = [harmonic_error(np.full(round(2.0 / step), step), e, z) for step in h]
    assert_order(h, errors, expected, within=0.05)


@pytest.mark.parametrize("e", [0.0, whole(0.5), 1.0])
def test_free_flight_is_second_order_with_steps_that_alternate(e):
    """Steps h, 1.5 h, h, 1.5 h, ... are still second order."""
    h = halvings(2.0 / 25, 5)
    errors = [harmonic_error(np.tile([step, 1.5 * step], round(2.0 / (2.5 * step))), e, 0.5) for step in h]
    assert_order(h, errors, 2.0, within=0.05)


@pytest.mark.parametrize("start", few([1.0, 1.01, 1.02, 1.03, 1.04]))
@pytest.mark.parametrize(
    "steps",
    [np.tile([0.02, 0.03], 40), np.tile([0.03, 0.02], 40), 0.01 * 1.05 ** np.arange(50)],
    ids=["alternate", "alternate, the longer first", "grow"],
)
def test_the_velocity_after_an_impact_is_exact_with_steps_that_change(steps, start):
    """P03 with steps that alternate between h and 1.5 h, or grow: the velocity is e v after the impact."""
    ball = jo.Motion(q0=[start], v0=[-1.0], within=ABOVE, law=jo.Restitution(0.5))
    sol = jo.solve(ball, jo.Paoli(z=0.0), t=float(np.sum(steps)), h=steps)
    assert sol.u[-1, 0] == pytest.approx(0.5, abs=1e-12)
    assert sol.z.min() >= -1e-12


# The Moreau-Jean scheme


@pytest.mark.parametrize("phase", [0.2, whole(0.4), whole(0.7)])
def test_moreau_jean_bounces_at_first_order(phase):
    """P04 with the Moreau-Jean scheme: e = 0.5, sup error of first order; the impulses are the weight.

    For e = 1/2 the impacts come at 1, 2, 5/2, ... times t_1: with t_1 / h = N + phase they have the same phase within
    their steps for every N, and the errors are a clean power of h.
    """
    steps = FALL / G / (20 * 2.0 ** np.arange(5) + phase)
    errors = []
    for h in steps:
        t = np.ceil(2.0 / h) * h
        sol = jo.solve(falling_ball(0.5), jo.MoreauJean(), t=t, h=h)
        errors.append(np.abs(sol.q[:, 0] - bouncing(sol.t, 0.5)[0]).max())
        assert sum(p.sum() for p in sol.multipliers) == pytest.approx(G * t, abs=1e-9)
    assert_order(steps, errors, 1.0, within=0.05)


@pytest.mark.parametrize("e", few([0.0, 0.3, 0.5, 1.0]))
@pytest.mark.parametrize("start", [1.0, 1.01, 1.02])
def test_moreau_jean_gives_the_exact_velocity_without_force(start, e):
    """P03 with the Moreau-Jean scheme: the velocity is -v e from the node after the impact on."""
    ball = jo.Motion(q0=[start], v0=[-1.0], within=ABOVE, law=jo.Restitution(e))
    sol = jo.solve(ball, jo.MoreauJean(), t=1.8, h=0.03)
    np.testing.assert_allclose(sol.u[sol.t < start - 0.03, 0], -1.0, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(sol.u[sol.t > start + 0.03, 0], e, rtol=0.0, atol=1e-12)


SCHEMES = pytest.mark.parametrize("scheme", [jo.MoreauJean(), jo.Paoli()], ids=["Moreau-Jean", "Paoli"])


@pytest.mark.each_value
@SCHEMES
@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_the_touching_cradle_obeys_moreaus_law(n, e, scheme):
    """P30: u_1 = (1 + e) / n - e, u_j = (1 + e) / n, and the impulses (1 + e)(1 - j / n)."""
    sol = jo.solve(jo.models.cradle(n, gap=0.0, e=e), scheme, t=2.0, h=0.08)
    law = np.full(n, (1.0 + e) / n)
    law[0] -= e
    np.testing.assert_allclose(sol.u[-1], law, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(sum(sol.multipliers[1:]), (1.0 + e) * (1.0 - np.arange(1, n) / n), rtol=0.0, atol=1e-12)
    if e == 1.0:
        assert sol.energy().kinetic[-1] == pytest.approx(0.5, abs=1e-12)


@SCHEMES
def test_the_touching_cradle_has_the_printed_numbers(scheme):
    """P30: the velocities and impulses of five balls."""
    elastic = jo.solve(jo.models.cradle(5, gap=0.0, e=1.0), scheme, t=2.0, h=0.08)
    half = jo.solve(jo.models.cradle(5, gap=0.0, e=0.5), scheme, t=2.0, h=0.08)
    np.testing.assert_allclose(elastic.u[-1], [-0.6, 0.4, 0.4, 0.4, 0.4], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(sum(elastic.multipliers[1:]), [1.6, 1.2, 0.8, 0.4], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(half.u[-1], [-0.2, 0.3, 0.3, 0.3, 0.3], rtol=0.0, atol=1e-12)


# --- the first step, and steps that change ---


@pytest.mark.parametrize("z", [0.5, 1.0])
def test_the_first_step_takes_the_force_at_the_initial_velocity(z):
    """(4) with z(h) = z h F(0, u_0, v_0): a drag acts from the first step on."""
    h, drag = 0.1, 3.0
    ball = jo.Motion(q0=[2.0], v0=[5.0], force=lambda t, q, u: -drag * u + q + np.cos(t), mass=2.0)
    sol = jo.solve(ball, jo.Paoli(z=z), t=h, h=h)
    F = (-drag * 5.0 + 2.0 + 1.0) / 2.0
    np.testing.assert_allclose(sol.q[1], [2.0 + h * 5.0 + z * h * h * F], rtol=1e-14)


def test_drag_is_of_second_order_from_the_first_step_on():
    exact, errors = 1.0 - np.exp(-1.0), []
    for h in (0.02, 0.01):
        sol = jo.solve(jo.Motion(q0=[0.0], v0=[1.0], force=lambda t, q, u: -u), jo.Paoli(implicit=True), t=1.0, h=h)
        errors.append(abs(sol.q[-1, 0] - exact))
    assert errors[0] / errors[1] > 3.5
