"""Derivatives of runs from impact to impact: exact cases, random scenes against differences, and what is refused."""

import warnings

import numpy as np
import pytest

import jostle as jo
from jostle.errors import NoDerivative, SchemeRefuses, WeakContacts
from rows import whole

FLOOR = jo.HalfSpace([0.0, 1.0])


def dropped(y0=1.0, v0=0.0, e=0.8, g=9.81):
    return jo.Motion(q0=[y0], v0=[v0], force=[-g], within=jo.HalfSpace([1.0]), law=jo.Restitution(e))


@pytest.mark.parametrize(
    ("t", "by_y0", "by_v0", "by_e"),
    [(0.7, 0.19055156, -0.11274255, 1.10061), (1.5, 0.67555601, 0.0370634, 2.63901)],
)
def test_a_dropped_ball_has_the_exact_derivatives(t, by_y0, by_v0, by_e):
    found = jo.sensitivity_by_events(dropped(), t=t)
    gradient = found.reverse(q=[1.0])
    assert gradient.q0[0] == pytest.approx(by_y0, abs=5e-9)
    assert gradient.v0[0] == pytest.approx(by_v0, abs=5e-9)
    assert gradient.e == pytest.approx(by_e, abs=5e-6)
    assert (found.weak, found.differenced) == ((), ())


def test_a_bounce_without_a_force_is_linear():
    """G01: y(T) = r - e (y0 - r + v0 T)."""
    r, e, t = 0.25, 0.6, 2.0
    wall = jo.HalfSpace([1.0], radii=r)
    found = jo.sensitivity_by_events(jo.Motion(q0=[1.0], v0=[-1.0], within=wall, law=jo.Restitution(e)), t=t)
    gradient = found.reverse(q=[1.0])
    assert found.q[0] == pytest.approx(r - e * (1.0 - r - t))
    np.testing.assert_allclose([gradient.q0[0], gradient.v0[0]], [-e, -e * t], rtol=1e-14)
    np.testing.assert_allclose([gradient.radii, gradient.e], [1.0 + e, -(1.0 - r - t)], rtol=1e-14)


def test_two_equal_balls_exchange_their_derivatives():
    """G04."""
    pair = jo.Motion(q0=[[0.0], [0.52]], v0=[[1.0], [0.0]], within=jo.Balls([0.1, 0.1]), law=jo.Restitution(1.0))
    found = jo.sensitivity_by_events(pair, t=1.0)
    gradient = found.reverse(q=[[0.0], [1.0]])
    assert found.q[1, 0] == pytest.approx(1.2)
    np.testing.assert_allclose(gradient.q0.ravel(), [1.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(gradient.v0.ravel(), [1.0, 0.0], atol=1e-14)


def test_a_flat_wall_has_the_saltation_of_the_formula():
    n, e, f = np.array([0.6, 0.8]), 0.7, np.array([0.3, -9.81])
    ball = jo.Motion(q0=[0.1, 1.0], v0=[0.4, 0.0], force=f, within=jo.HalfSpace(n), law=jo.Restitution(e))
    hit = jo.solve_by_events(ball, t=1.0).events[0]
    before = jo.sensitivity_by_events(ball, t=hit.t - 1e-9).derivative
    after = jo.sensitivity_by_events(ball, t=hit.t + 1e-9).derivative
    R = np.eye(2) - (1.0 + e) * np.outer(n, n)
    turned = (1.0 + e) * np.outer(n, n) * (n @ f) / (n @ hit.before)
    np.testing.assert_allclose(after, np.block([[R, np.zeros((2, 2))], [turned, R]]) @ before, atol=1e-7)


def test_an_impact_on_a_wall_that_turns_has_the_derivative_of_a_difference():
    wall = jo.HalfSpace(lambda t: [-np.sin(0.2 + 1.5 * t * t), np.cos(0.2 + 1.5 * t * t)], lambda t: 0.1 * np.sin(t))

    def ball(x):
        return jo.Motion(q0=x[:2], v0=x[2:], force=[0.3, -9.81], mass=[1.0, 2.0], within=wall, law=jo.Restitution(0.7))

    def end(x):
        sol = jo.solve_by_events(ball(x), t=0.5)
        assert len(sol.events) == 1
        return np.concatenate([sol.q(0.5), sol.u(0.5)])

    x, way = np.array([0.3, 1.0, 0.4, 0.0]), np.array([0.7, -0.2, 0.5, 0.3])
    found = jo.sensitivity_by_events(ball(x), t=0.5)
    difference = (end(x + 1e-4 * way) - end(x - 1e-4 * way)) / 2e-4
    np.testing.assert_allclose(found.derivative @ way, difference, atol=1e-5 * np.abs(difference).max())
    assert found.differenced == ("moving sets",)


def test_the_time_at_which_bounces_end_has_the_exact_derivative():
    """G13: sqrt(2 y0 / g) (1 + e) / (1 - e)."""
    y0, e, g = 1.3, 0.6, 9.81
    found = jo.sensitivity_by_events(dropped(y0, 0.0, e, g), t=3.0)
    end = np.sqrt(2.0 * y0 / g) * (1.0 + e) / (1.0 - e)
    assert found.solution.accumulations[0].t == pytest.approx(end)
    assert found.times(q0=[1.0])[1][0] == pytest.approx(end / (2.0 * y0), rel=1e-8)
    assert found.times(e=1.0)[1][0] == pytest.approx(np.sqrt(2.0 * y0 / g) * 2.0 / (1.0 - e) ** 2, rel=1e-8)
    assert found.times(q0=[1.0])[0][0] == pytest.approx(1.0 / np.sqrt(2.0 * g * y0))
    np.testing.assert_allclose(found.derivative, 0.0, atol=1e-12)  # it rests, wherever it fell from


def test_a_point_that_slides_off_a_circle_has_the_exact_derivatives():
    point = jo.Motion(q0=[0.3, 3.0], force=[0.0, -10.0], within=jo.Outside([0.0, 0.0], 2.0))
    found = jo.sensitivity_by_events(point, t=1.0)
    np.testing.assert_allclose(found.derivative[:2, 0], [2.92422838, -1.64287622], atol=2e-8)
    np.testing.assert_allclose(found.derivative[:2, 1], [-0.23778178, 0.13358944], atol=2e-8)
    assert found.differenced == ()


def box(q0, v0, mass, radii, e, theta):
    within = jo.Balls(radii) & jo.Box([0.0, 0.0], [4.0 + theta[1], 4.0])
    return jo.Motion(q0=q0, v0=v0, mass=mass, law=jo.Restitution(e), force=[0.0, -theta[0]], within=within)


def curved(q0, v0, mass, radii, e, theta):
    within = jo.Balls(radii) & jo.Outside([[2.0, 0.3 + theta[1]]], 0.5) & jo.Inside([2.0, 2.0], 2.6)
    return jo.Motion(q0=q0, v0=v0, mass=mass, law=jo.Restitution(e), force=[theta[1], -theta[0]], within=within)


def shaken(q0, v0, mass, radii, e, theta):
    table = jo.HalfSpace([0.0, 1.0], lambda t: 0.2 * np.sin(3.0 * t + theta[1]))
    within = jo.Balls(radii) & jo.Box([0.0, -5.0], [4.0, 9.0]) & table
    return jo.Motion(q0=q0, v0=v0, mass=mass, law=jo.Restitution(e), force=[0.0, -theta[0]], within=within)


def driven(q0, v0, mass, radii, e, theta):
    def force(t, q, u):
        return -theta[0] * (q - [2.0, 1.9]) - theta[1] * u * np.linalg.norm(u, axis=1)[:, None]

    within = jo.Balls(radii) & jo.Inside([2.0, 2.0], 2.3)
    return jo.Motion(q0=q0, v0=v0, mass=mass, law=jo.Restitution(e), force=force, within=within)


def sliding(q0, v0, mass, radii, e, theta):
    within = jo.Balls(radii) & jo.Box([-20.0, 0.0], [4.0 + theta[1], 20.0])
    pull = [1.0 + theta[1], -3.0 * theta[0]]
    return jo.Motion(q0=q0, v0=v0, mass=mass, law=jo.Restitution(e), force=pull, within=within)


SCENES = [(make, seed) for seed in range(4) for make in (box, curved, shaken, driven, sliding)]


@pytest.mark.parametrize(("make", "seed"), [*SCENES[:4], *map(whole, SCENES[4:-1]), SCENES[-1]])
def test_derivatives_of_random_scenes_agree_with_differences_of_the_same_run(make, seed):
    rng, n, t = np.random.default_rng(seed), 2 if make is shaken else 3, {sliding: 1.6, shaken: 0.5}.get(make, 0.8)
    theta = np.array([rng.uniform(2.0, 5.0), rng.uniform(0.05, 0.2)])
    data = {"mass": rng.uniform(0.5, 2.0, n), "radii": rng.uniform(0.2, 0.4, n), "e": rng.uniform(0.4, 0.95)}
    data["e"] *= 0.4 if make is sliding else 1.0  # so that bodies come to rest
    while True:
        start = {"q0": rng.uniform(1.0, 3.0, (n, 2)), "v0": 2.0 * rng.normal(size=(n, 2))}
        problem = make(**start, **data, theta=theta)
        if problem.within.gap(0.0, problem.q0) > 0.02 and jo.solve_by_events(problem, t=t).events:
            break
    data |= start
    found = jo.sensitivity_by_events(lambda theta: make(**data, theta=theta), t=t, theta=theta)
    data["theta"] = theta
    change = {name: rng.normal(size=np.shape(value)) for name, value in data.items()}
    weights = rng.normal(size=(2, n, 2))

    def value(s):
        sol = jo.solve_by_events(make(**{name: data[name] + s * change[name] for name in data}), t=t)
        return float((weights[0] * sol.q(t)).sum() + (weights[1] * sol.u(t)).sum())

    dq, du = found.forward(**change)
    forward = float((weights[0] * dq).sum() + (weights[1] * du).sum())
    coarse, fine = ((value(h) - value(-h)) / (2.0 * h) for h in (2e-5, 1e-5))
    assert forward == pytest.approx(fine + (fine - coarse) / 3.0, rel=1e-6)
    gradient = found.reverse(q=weights[0], u=weights[1])
    reverse = sum(float(np.sum(getattr(gradient, name) * change[name])) for name in data)
    assert reverse == pytest.approx(forward, rel=1e-10)


def test_a_matrix_mass_has_a_symmetric_gradient():
    M, floor = np.array([[2.0, 0.4], [0.4, 1.0]]), jo.HalfSpace([0.2, 1.0])

    def end(M):
        ball = jo.Motion(q0=[0.0, 1.0], force=[0.3, -9.81], mass=M, within=floor, law=jo.Restitution(0.7))
        return ball, jo.solve_by_events(ball, t=0.6).q(0.6)[0]

    gradient = jo.sensitivity_by_events(end(M)[0], t=0.6).reverse(q=[1.0, 0.0]).mass
    for change in (np.diag([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]])):
        difference = (end(M + 1e-5 * change)[1] - end(M - 1e-5 * change)[1]) / 2e-5
        assert (gradient * change).sum() == pytest.approx(difference, rel=1e-6)


def test_a_given_derivative_of_the_force_is_used():
    spring = jo.gradients.with_vjp(lambda t, q: -4.0 * q, lambda t, q, y: -4.0 * y)
    ball = {"q0": [1.0], "v0": [-3.0], "within": jo.HalfSpace([1.0], -0.2), "law": jo.Restitution(0.8)}
    given = jo.sensitivity_by_events(jo.Motion(force=spring, **ball), t=1.0)
    differenced = jo.sensitivity_by_events(jo.Motion(force=lambda t, q: -4.0 * q, **ball), t=1.0)
    assert (given.differenced, differenced.differenced) == ((), ("force",))
    np.testing.assert_allclose(given.derivative, differenced.derivative, rtol=1e-8)


def test_several_independent_impacts_at_once_have_a_derivative():
    corner = jo.Motion(q0=[1.0, 1.0], v0=[-1.0, -1.0], within=jo.Box(0.0, [9.0, 9.0]), law=jo.Restitution(0.5))
    np.testing.assert_allclose(
        jo.sensitivity_by_events(corner, t=3.0).derivative[:2], np.hstack([-0.5 * np.eye(2), -1.5 * np.eye(2)])
    )


def test_impacts_that_depend_on_each_other_are_refused():
    wedge = jo.HalfSpace([1.0, 1.0]) & jo.HalfSpace([-1.0, 2.0])
    point = jo.Motion(q0=[0.0, 1.0], v0=[0.0, -1.0], within=wedge, law=jo.Restitution(0.5))
    with pytest.raises(NoDerivative, match="together; neighbouring motions"):
        jo.sensitivity_by_events(point, t=2.0)


@pytest.mark.parametrize(
    ("motion", "t", "why"),
    [
        (jo.Motion(q0=[0.0, 0.0], v0=[1.0, 2.0], force=[0.0, -2.0], within=jo.Box([-9, -9], [9, 1])), 1.5, "not push"),
        (jo.Motion(q0=[1.0], v0=[-1.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5)), 1.0, "the end time"),
        (jo.Motion(q0=[0.0], v0=[-1.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5)), 1.0, "at the start"),
        (jo.Motion(q0=[0.0], within=jo.HalfSpace([1.0])), 1.0, "without a force"),
        (jo.Motion(q0=[0.0], force=[-1.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(1.0)), 1.0, "bounce"),
    ],
)  # fmt: skip
def test_where_only_one_sided_derivatives_exist_the_contact_is_reported(motion, t, why):
    with pytest.warns(WeakContacts, match=why):
        found = jo.sensitivity_by_events(motion, t=t)
    assert len(found.weak) == 1


def test_rods_that_stay_closed_are_refused():
    rod = jo.Rods([(0, -1)], 1.0, points=[[0.0, 0.0]])
    with pytest.raises(SchemeRefuses, match=r"stay closed in rods.*at t = 0"):
        jo.sensitivity_by_events(jo.Motion(q0=[[0.0, -1.0]], v0=[[1.0, 0.0]], within=rod), t=0.5)


def test_theta_and_a_function_belong_together():
    with pytest.raises(jo.InvalidValue, match="belong together"):
        jo.sensitivity_by_events(dropped(), t=1.0, theta=[1.0])
    with pytest.raises(jo.InvalidValue, match="there is no theta"):
        jo.sensitivity_by_events(dropped(), t=1.0).forward(theta=[1.0])


def test_multipliers_and_lyapunov_spectra_of_copies_are_those_of_the_saltation_matrices():
    """`jo.study` differences its map for multipliers, and has saltation matrices in compiled loops for spectra."""
    omega, wall = 2.6, jo.HalfSpace([-1.0])
    period = 2.0 * np.pi / omega

    def drive(t, q, u, parameters):
        return np.cos(parameters[0] * t) - q[0]

    start = {"q0": [-0.65], "v0": [0.02], "within": wall, "parameters": [omega], "restitution": 0.8}
    orbit = jo.vibro.periodic_orbits(jo.vibro.Copies(force=drive, **start), period=period, steps=128)
    swing = jo.gradients.with_vjp(lambda t, q: np.cos(omega * t) - q, lambda t, q, y: -y)
    motion = {"force": swing, "within": wall, "law": jo.Restitution(0.8)}
    found = jo.sensitivity_by_events(jo.Motion(q0=orbit.q[0], v0=orbit.u[0], **motion), t=period)
    np.testing.assert_allclose(found.derivative, orbit.derivative[0], rtol=1e-5)
    np.testing.assert_allclose(
        np.sort_complex(np.linalg.eigvals(found.derivative)), np.sort_complex(orbit.multipliers[0]), rtol=1e-5
    )
    copies = jo.vibro.Copies(force=drive, **start)
    spectrum = jo.vibro.lyapunov_spectra(copies, period=period, steps=128, periods=3)[0]
    found = jo.sensitivity_by_events(jo.Motion(q0=[-0.65], v0=[0.02], **motion), t=3.0 * period)
    growth = np.log(np.abs(np.linalg.det(found.derivative))) / (3.0 * period)
    assert spectrum.sum() == pytest.approx(growth, rel=1e-6)


def test_with_e_0_a_body_that_stays_on_the_floor_does_not_depend_on_e():
    """With a small e it bounces, and rests after a time of the order of e."""
    ball = jo.Motion(q0=[0.0, 1.0], force=[0.0, -9.81], within=jo.HalfSpace([0.2, 1.0]))
    np.testing.assert_allclose(jo.sensitivity_by_events(ball, t=0.7).forward(e=1.0), 0.0, atol=1e-12)
    balls = jo.Motion(q0=[[0.0], [1.0]], v0=[[1.0], [0.0]], within=jo.Balls([0.2, 0.2]))
    with pytest.warns(jo.errors.WeakContacts, match="without a force"):
        found = jo.sensitivity_by_events(balls, t=1.0)
    np.testing.assert_allclose(found.forward(e=1.0)[0].ravel(), [-0.2, 0.2], atol=1e-12)  # they part


def test_all_walls_that_are_given_the_same_radii_depend_on_them():
    def make(radii):
        within = jo.HalfSpace([1.0, 0.0], -9.0, radii=radii) & jo.HalfSpace([0.0, 1.0], radii=radii)
        return jo.Motion(q0=[[0.0, 1.0]], v0=[[0.0, -1.0]], within=within, law=jo.Restitution(0.5))

    found = jo.sensitivity_by_events(make([0.1]), t=1.5)
    np.testing.assert_allclose(found.forward(radii=[1.0])[0], [[0.0, 1.5]], atol=1e-12)


def test_functions_of_theta_may_change_their_argument_and_must_keep_the_shape_of_q0():
    def doubled(theta):
        theta *= 2.0
        return jo.Motion(q0=theta**2)

    found = jo.sensitivity_by_events(doubled, t=0.2, theta=[1.5])
    assert found.reverse(q=[1.0]).theta.item() == pytest.approx(12.0)
    assert jo.sensitivity_by_events(lambda theta: jo.Motion(q0=[1.0]), t=0.2, theta=[]).reverse(q=[1.0]).q0 == 1.0
    with pytest.raises(jo.InvalidValue, match="same shape"):
        jo.sensitivity_by_events(lambda theta: jo.Motion(q0=np.zeros(1 + int(theta[0] > 0.0))), t=0.2, theta=[0.0])


def test_gaps_with_a_kink_end_with_an_error_that_names_them():
    """A lift that stops, and a ramp made with max(): differences across a kink release the contact too early."""
    lift = jo.HalfSpace([1.0], lambda t: min(t, 0.02))
    ramp = jo.constraints(lambda t, q: [q[1] - np.maximum(0.0, q[0])])
    for within, q0, v0 in ((lift, [0.0], [1.0]), (ramp, [-0.02, 0.0], [1.0, 0.0])):
        problem = jo.Motion(q0=q0, v0=v0, force=[0.0, -9.81][-len(q0) :], within=within)
        with pytest.raises(jo.errors.UnresolvedEvent, match=r"has a kink near here.*smooth it, or use jo.solve"):
            jo.sensitivity_by_events(problem, t=0.1)


def test_radii_of_points_are_refused_and_a_mass_that_is_a_function_has_no_gradient():
    point = jo.Motion(q0=[0.5, 1.0], force=[0.0, -1.0], mass=lambda q: np.diag([1.0 + q[0] ** 2, 2.0]))
    found = jo.sensitivity_by_events(point, t=0.5)
    with pytest.raises(jo.InvalidValue, match="points: leave out radii"):
        found.forward(radii=1.0)
    with pytest.raises(jo.InvalidValue, match="the mass is a function of q"):
        found.forward(mass=1.0)
    assert found.reverse(q=[1.0, 1.0]).mass is None


@pytest.mark.parametrize("force", [[-8.0], lambda t, q: [-8.0]])
def test_an_impact_that_only_grazes_has_no_derivative_and_its_neighbours_have(force):
    """A ball that is thrown up touches a ceiling at its highest point; to the left the derivative has no bound."""

    def thrown(height):
        ceiling = jo.HalfSpace([-1.0], offset=-1.0)
        return jo.Motion(q0=[0.0], v0=[np.sqrt(16.0 * height)], force=force, within=ceiling, law=jo.Restitution(0.7))

    t = 0.65
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((NoDerivative, WeakContacts), match=r"graze|touch"):
            jo.sensitivity_by_events(thrown(1.0), t=t)
        below = jo.sensitivity_by_events(thrown(1.0 - 1e-6), t=t).reverse(q=[1.0])
        above = jo.sensitivity_by_events(thrown(1.0 + 1e-6), t=t).reverse(q=[1.0])
    assert below.v0[0] == pytest.approx(t)
    v0 = np.sqrt(16.0 * (1.0 + 1e-6))
    hit = np.sqrt(v0**2 - 16.0)
    s, dhit, dt = t - (v0 - hit) / 8.0, v0 / hit, (1.0 - v0 / hit) / 8.0
    assert above.v0[0] == pytest.approx(-0.7 * dhit * s + (0.7 * hit + 8.0 * s) * dt, rel=1e-6)


@pytest.mark.parametrize("e", [1.0, 0.0, 0.999, 0.4])
def test_a_parameter_may_be_the_restitution_at_the_ends_of_its_range(e):
    def ball(theta):
        return jo.Motion(q0=[1.3], force=[-9.81], within=jo.HalfSpace([1.0]), law=jo.Restitution(theta[0]))

    t, hit = 0.8, np.sqrt(2.6 / 9.81)
    found = jo.sensitivity_by_events(ball, t=t, theta=[e])
    exact = 0.0 if e == 0.0 else 9.81 * hit * (t - hit)
    assert found.reverse(q=[1.0]).theta[0] == pytest.approx(exact, rel=1e-8, abs=1e-8)


def test_the_derivative_by_a_fast_phase_is_differenced_by_what_it_changes():
    """After 20 s at 30 Hz the phase of the table changes by 3.8 with a part of 1e-3 of the frequency."""
    A, e, T = 0.01, 0.5, 30.0

    def ball(theta):
        table = jo.HalfSpace([1.0], offset=lambda t: A * np.sin(theta[0] * t))
        return jo.Motion(q0=[20.0], v0=[-1.0], within=table, law=jo.Restitution(e))

    w = 2.0 * np.pi * 30.0
    found = jo.sensitivity_by_events(ball, t=T, theta=[w])
    (hit,) = found.solution.events
    c, s = np.cos(w * hit.t), np.sin(w * hit.t)
    dt = -A * hit.t * c / (1.0 + A * w * c)  # 20 - t = A sin w t
    after = e + (1.0 + e) * A * w * c
    dafter = (1.0 + e) * A * (c - w * s * (hit.t + w * dt))
    exact = -dt - after * dt + dafter * (T - hit.t)
    assert found.reverse(q=[1.0]).theta[0] == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("force", [[-9.81], jo.gradients.with_vjp(lambda t, q: -9.81 - q, lambda t, q, y: -y)])
def test_derivatives_at_many_times_are_those_of_runs_that_end_there(force):
    ball = jo.Motion(q0=[1.0], force=force, within=jo.HalfSpace([1.0]), law=jo.Restitution(0.4))
    times = np.array([[0.2, 0.6], [0.9, 1.4]])  # it rests in the end
    found = jo.sensitivity_by_events(ball, t=1.4).at(times)
    ends = [jo.sensitivity_by_events(ball, t=t) for t in times.ravel()]
    assert found.derivative.shape == (2, 2, 2, 2)
    np.testing.assert_allclose(found.derivative.reshape(4, 2, 2), [end.derivative for end in ends], atol=1e-8)
    np.testing.assert_allclose(found.q.ravel(), [end.q[0] for end in ends], atol=1e-10)
    np.testing.assert_allclose(
        found.forward(e=1.0, mass=0.3)[0].ravel(), [end.forward(e=1.0, mass=0.3)[0][0] for end in ends], atol=1e-8
    )
    weights = np.array([[[1.0], [-2.0]], [[3.0], [0.5]]])
    gradient = found.reverse(q=weights, u=2.0 * weights)
    each = [end.reverse(q=[w], u=[2.0 * w]) for end, w in zip(ends, weights.ravel(), strict=True)]
    for name in ("q0", "v0", "mass", "e"):
        assert getattr(gradient, name) == pytest.approx(sum(getattr(one, name) for one in each), abs=1e-8)
    with pytest.raises(jo.InvalidValue, match=r"t must lie in \[0, 1.4\]"):
        found.at(1.5)


def test_at_the_time_of_an_impact_the_derivative_is_that_after_it():
    found = jo.sensitivity_by_events(dropped(), t=1.0)
    (hit,) = (event.t for event in found.solution.events)
    before, at, after = found.at([hit - 1e-9, hit, hit + 1e-9]).derivative
    np.testing.assert_allclose(at, after, atol=1e-7)
    assert np.abs(at - before).max() > 1.0


def test_parameters_of_which_a_start_at_zero_depends_are_differenced():
    found = jo.sensitivity_by_events(lambda x: jo.Motion(q0=[0.0], v0=[np.sin(3.0 * x[0])]), t=2.0, theta=[0.0])
    assert found.forward(theta=[1.0])[0][0] == pytest.approx(6.0, rel=1e-10)


def test_one_ball_beside_another_set_hits_each_wall_of_a_box():
    """There are more walls than bodies."""
    within = jo.Balls([0.1, 0.1]) & jo.Box([0.0, 0.0], [1.0, 1.0])
    for way in ([1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]):
        balls = jo.Motion(q0=[[0.5, 0.5], [0.15, 0.15]], v0=[way, [0.0, 0.0]], within=within, law=jo.Restitution(0.5))
        found = jo.sensitivity_by_events(balls, t=0.5)
        np.testing.assert_allclose(found.forward(q0=[way, [0.0, 0.0]])[0][0], np.multiply(-0.5, way), atol=1e-12)
