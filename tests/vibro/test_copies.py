"""Many copies of a small system: the compiled loops are the schemes of the library, and have their orders."""

import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from numba import njit
from scipy.optimize import brentq

import jostle as jo
from glides import glide_of
from jostle.analysis import order
from jostle.kernels import functions
from jostle.kernels.parallel import threads
from jostle.vibro import (
    ByEvents,
    Copies,
    Gaps,
    advance,
    impacts,
    lyapunov_exponents,
    lyapunov_spectra,
    periodic_orbits,
    sections,
)
from rows import whole

DOUBLING = 2.65334772786
"""Where the period of the impact oscillator with e = 0.8 doubles (P28)."""


def drive(t, q, u, parameters):
    return np.cos(parameters[0] * t) - q[0]


def oscillators(omega, **more):
    settings = {"q0": [-0.65], "v0": [0.02], "force": drive, "within": jo.HalfSpace([-1.0]), "restitution": 0.8}
    return Copies(parameters=np.atleast_1d(omega), **(settings | more))


def single_impact_orbit(omega, e=0.8):
    """The speed of the impacts on the orbit with one impact a period (P27), for a stop at zero."""
    T, gam = 2 * np.pi / omega, 1 / (1 - omega**2)
    return abs(gam) / np.hypot((1 - e) / (2 * omega), (1 + e) / np.tan(T / 2) / 2)


# --- the same schemes ---


def pull(t, q, u, parameters):
    return parameters[0] * np.sin(t) - 0.1 * u[0], -9.81 - 0.1 * u[1]


def pull_of_one(t, q, u):
    return np.array(pull(t, q, u, (0.7,)))


SETS = {
    "floor": jo.HalfSpace([0.0, 1.0]),
    "corner": jo.Box([0.0, 0.0], [1.5, np.inf]),
    "valley": jo.HalfSpace([0.6, 0.8]) & jo.HalfSpace([-0.6, 0.8]),
    "free": None,
}


@pytest.mark.each_value
@pytest.mark.parametrize("within", SETS.values(), ids=SETS)
@pytest.mark.parametrize("scheme", [jo.Paoli(), jo.MoreauJean()], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(("e", "mass"), [(0.0, 1.0), (0.6, (2.0, 3.0))])
def test_a_copy_moves_as_by_solve(within, scheme, e, mass):
    q0, v0 = [0.7, 1.0], [1.0, 0.3]
    one = jo.Motion(
        q0=q0, v0=v0, force=pull_of_one, within=within, law=jo.Restitution(e), mass=np.diag(np.broadcast_to(mass, 2))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jo.errors.CloseImpacts)
        plain = jo.solve(one, scheme, t=1.5, h=0.01)
    copies = Copies(q0=q0, v0=v0, force=pull, within=within, parameters=[0.7], restitution=e, mass=mass)
    found = sections(copies, scheme, period=0.01, steps=1, periods=150)
    np.testing.assert_allclose(found.q[0], plain.q[1:], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.u[0], plain.u[1:], rtol=0, atol=1e-10)


VALLEY = jo.HalfSpace([0.6, 0.8]) & jo.HalfSpace([-0.6, 0.8])


def shake(t, q, u, parameters):
    return parameters[0] * np.sin(parameters[1] * t), -parameters[2]


@pytest.mark.each_value
@pytest.mark.parametrize("within", [jo.Box([0.0, 0.0], [1.5, 1.5]), VALLEY], ids=["box", "valley"])
@pytest.mark.parametrize("e", [0.0, whole(0.3), 1.0])
def test_copies_in_a_corner_at_the_origin_move_as_by_solve(within, e):
    """Coordinates and gaps are zero: what is round-off there is told by the velocities and the force."""
    random = np.random.default_rng(1)
    for _ in range(4):
        parameters, mass = random.uniform([0.0, 0.5, 1.0], [10.0, 7.0, 10.0]), random.uniform(0.3, 3.0, 2)
        one = jo.Motion(
            q0=[0.0, 0.0], force=lambda t, q, u, p=parameters: np.array(shake(t, q, u, p)), within=within,
            law=jo.Restitution(e), mass=np.diag(mass),
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jo.errors.CloseImpacts)
            plain = jo.solve(one, jo.MoreauJean(), t=0.4, h=0.01)
        copies = Copies(q0=[0.0, 0.0], force=shake, within=within, parameters=[parameters], restitution=e, mass=mass)
        found = sections(copies, jo.MoreauJean(), period=0.01, steps=1, periods=40)
        np.testing.assert_allclose(found.q[0], plain.q[1:], rtol=0, atol=1e-12)


def test_a_ball_pressed_into_a_corner_at_the_origin_stays_there():
    """A wall must not open by round-off, in single runs neither."""
    ball = jo.Motion(q0=[0.0, 0.0], force=[1.0, -9.81], within=VALLEY, mass=np.diag([1.3, 0.7]))
    assert np.abs(jo.solve(ball, jo.MoreauJean(), t=1.0, h=0.01).q).max() < 1e-12


@pytest.mark.parametrize("e", [0.0, 0.4])
def test_a_ball_comes_to_rest_between_two_walls(e):
    """Contacts at rest keep no velocity: the ball must not creep into one of the walls."""
    start = {"q0": [[0.0, 0.5], [0.1, 0.9], [0.2, 0.7]], "v0": [[0.1, 0.0]], "mass": [1.3, 0.7]}
    copies = Copies(force=[0.3, -5.0], within=VALLEY, restitution=e, **start)
    end = advance(copies, t=8.0, h=0.02)
    assert np.abs(end.q0).max() < 1e-12
    assert np.abs(end.v0).max() < 1e-12
    found = sections(copies, period=0.02, steps=1, periods=400)
    gap = found.q @ np.array([[0.6, -0.6], [0.8, 0.8]])
    assert gap.min() > -1e-14, "impacts are located to round-off"


def table(t, q, parameters):
    return q[0] - 0.3 * np.sin(5.0 * t)


def test_a_moving_table_is_the_same_as_by_solve():
    one = jo.Motion(
        q0=[0.5], force=[-9.81], within=jo.HalfSpace([1.0], lambda t: 0.3 * np.sin(5.0 * t)), law=jo.Restitution(0.5)
    )
    plain = jo.solve(one, jo.MoreauJean(), t=1.5, h=0.01)
    copies = Copies(q0=[0.5], force=[-9.81], within=Gaps(table, flat=True, moving=True), restitution=0.5)
    found = sections(copies, jo.MoreauJean(), period=0.01, steps=1, periods=150)
    np.testing.assert_allclose(found.q[0], plain.q[1:], rtol=0, atol=1e-12)


def test_a_moving_table_by_events_is_that_of_solve_by_events():
    """Bounces, the ball at rest on the table, and where the table falls faster than the ball."""
    one = jo.Motion(
        q0=[0.5], force=[-9.81], within=jo.HalfSpace([1.0], lambda t: 0.6 * np.sin(5.0 * t)), law=jo.Restitution(0.3)
    )
    exact = jo.solve_by_events(one, t=4.0)
    copies = Copies(q0=[0.5], force=[-9.81], within=Gaps(wide_table, flat=True, moving=True), restitution=0.3)
    found = sections(copies, period=0.01, steps=1, periods=400)
    np.testing.assert_allclose(found.q[0, :, 0], [exact.q(t)[0] for t in 0.01 * np.arange(1, 401)], atol=2e-6)
    assert (found.q[0, :, 0] - 0.6 * np.sin(0.05 * np.arange(1, 401))).min() > -1e-9
    assert impacts(copies, t=4.0, h=0.01).count[0] > 5


def wide_table(t, q, parameters):
    return q[0] - 0.6 * np.sin(5.0 * t)


def bounced(t, q, parameters):
    return q[0] - parameters[0] * np.sin(2.0 * np.pi * t)


def test_a_ball_on_a_shaken_table_doubles_its_period_where_it_should():
    """P29: the exact map of a ball with e = 0.8 on a table A sin 2 pi t under the acceleration 1."""

    def doubling(gamma):
        height, speed = gamma / (2.0 * np.pi) ** 2, 0.5 * 0.2 / 1.8
        phase = np.arccos(2.0 * np.pi * speed / gamma) / (2.0 * np.pi)
        start = Copies(
            q0=[height * np.sin(2.0 * np.pi * phase) + 1e-12], v0=[0.5 + 0.0], force=[-1.0], t0=phase,
            within=Gaps(bounced, flat=True, moving=True), parameters=[height], restitution=0.8,
        )  # fmt: skip
        later = advance(start, t=0.25, h=0.0125)
        return periodic_orbits(later, period=1.0, steps=40).doubling[0]

    assert brentq(doubling, 1.05, 1.09, xtol=1e-10) == pytest.approx(1.07083646825, abs=1e-7)


def outside(t, q, parameters):
    return np.sqrt(q[0] ** 2 + q[1] ** 2) - 1.0


def outwards(t, q, parameters):
    return q / np.sqrt(q[0] ** 2 + q[1] ** 2)


@pytest.mark.each_value
@pytest.mark.parametrize("within", [outside, Gaps(outside, outwards)], ids=["differences", "gradient"])
@pytest.mark.parametrize("scheme", [jo.Paoli(), jo.MoreauJean()], ids=lambda one: type(one).__name__)
def test_a_curved_obstacle_is_the_same_as_by_solve(within, scheme):
    obstacle = jo.constraints(lambda t, q: [np.hypot(*q) - 1.0])
    one = jo.Motion(q0=[0.2, 2.0], force=[0.0, -9.81], within=obstacle, law=jo.Restitution(0.5))
    plain = jo.solve(one, scheme, t=0.8, h=0.005)
    copies = Copies(q0=[0.2, 2.0], force=[0.0, -9.81], within=within, restitution=0.5)
    found = sections(copies, scheme, period=0.005, steps=1, periods=160)
    np.testing.assert_allclose(found.q[0], plain.q[1:], rtol=0, atol=1e-8)


# --- by events ---


def test_a_ball_bounces_exactly_and_comes_to_rest():
    ball = Copies(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), restitution=0.5)
    hits = impacts(ball, t=1.4, h=0.1, keep=4)
    np.testing.assert_allclose(hits.t[0], [0.5, 1.0, 1.25, 1.375], rtol=1e-13)
    np.testing.assert_allclose(hits.speed[0], [5.0, 2.5, 1.25, 0.625], rtol=1e-12)
    end = advance(ball, t=2.0, h=0.1)
    assert abs(end.q0[0, 0]) < 1e-12
    assert end.v0[0, 0] == 0.0


def push_then_lift(t, q, u, parameters):
    return t - 1.0


def test_a_contact_at_rest_opens_when_the_force_lifts():
    ball = Copies(q0=[0.0], force=push_then_lift, within=jo.HalfSpace([1.0]), restitution=0.5)
    end = [advance(ball, t=3.0, h=h).q0[0, 0] for h in (0.03, 0.015)]  # (t - 1)^3 / 6
    assert abs(end[0] - 8.0 / 6.0) < 2e-4
    assert abs(end[1] - 8.0 / 6.0) < 0.35 * abs(end[0] - 8.0 / 6.0)


def test_events_agree_with_solve_by_events():
    problem = jo.models.impact_oscillator(omega=2.8)
    exact = jo.solve_by_events(problem, t=30.0)
    copies = oscillators(2.8, q0=[-0.5], v0=[0.0])
    end = advance(copies, t=30.0, h=0.01)
    np.testing.assert_allclose(end.q0[0], exact.q(30.0), atol=1e-7)
    np.testing.assert_allclose(end.v0[0], exact.u(30.0), atol=1e-7)


@pytest.mark.parametrize(
    ("force", "within", "e", "start"),
    [
        (drive, jo.HalfSpace([-1.0]), 0.8, ([-0.65], [0.02])),
        (drive, jo.Box([-1.0], [0.2]), 0.0, ([-0.65], [0.02])),
        (pull, jo.HalfSpace([0.0, 1.0]), 0.0, ([0.7, 1.0], [1.0, 0.3])),
        (pull, VALLEY, 0.6, ([0.7, 1.0], [1.0, 0.3])),
    ],
    ids=["impacts", "rest in one dimension", "rest on a floor", "two walls"],
)
def test_glides_take_the_general_steps(force, within, e, start, monkeypatch):
    copies = Copies(q0=start[0], v0=start[1], force=force, within=within, parameters=[[0.7], [2.5]], restitution=e)
    general = sections(copies, period=0.5, steps=20, periods=30)
    monkeypatch.setattr(functions, "glide_of", glide_of)
    with_glides = sections(copies, period=0.5, steps=20, periods=30)
    np.testing.assert_allclose(with_glides.q, general.q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(with_glides.u, general.u, rtol=0, atol=1e-10)


def test_a_dip_inside_a_step_is_an_impact():
    """The gap is positive at both ends of the step, and negative between them."""
    copies = Copies(q0=[0.01], v0=[-1.0], force=[10.0], within=jo.HalfSpace([1.0]), restitution=1.0)
    assert impacts(copies, t=0.2, h=0.2).count.tolist() == [1]
    near = Copies(q0=[0.0501], v0=[-1.0], force=[10.0], within=jo.HalfSpace([1.0]), restitution=1.0)
    assert impacts(near, t=0.2, h=0.2).count.tolist() == [0]  # v^2 / 2 f = 0.05


def test_two_walls_are_hit_in_turn():
    copies = Copies(q0=[0.25], v0=[1.0], force=[0.0], within=jo.Box([0.0], [1.0]), restitution=1.0)
    hits = impacts(copies, t=4.0, h=1.0, keep=4)
    np.testing.assert_allclose(hits.t[0], [0.75, 1.75, 2.75, 3.75])
    assert hits.row[0, 0] == hits.row[0, 2] != hits.row[0, 1]


@pytest.mark.parametrize("omega", [2.6, 2.64])
def test_the_orbit_with_one_impact_a_period(omega):
    hits = impacts(oscillators(omega), t=1500.0, h=0.025, keep=3)
    np.testing.assert_allclose(hits.speed[0], single_impact_orbit(omega), rtol=1e-7)


def test_velocities_after_the_period_has_doubled():
    hits = impacts(oscillators([2.68, 2.7]), t=3000.0, h=0.025, keep=2)
    np.testing.assert_allclose(np.sort(hits.speed), [[0.450135, 0.456355], [0.451024, 0.459833]], atol=1e-6)  # P28


def doubling_at(steps):
    def doubling(omega):
        return periodic_orbits(oscillators(omega), period=2 * np.pi / omega, steps=steps).doubling[0]

    return brentq(doubling, 2.64, 2.67, xtol=1e-13)


def test_period_doubling_is_located_with_order_four():
    steps = np.array([16, 32, 64, 128])
    error = [abs(doubling_at(count) - DOUBLING) for count in steps]
    assert error[-1] < 2e-8
    assert 3.5 < order(1.0 / steps, error).order < 4.5


@pytest.mark.parametrize("scheme", [jo.Paoli(), jo.MoreauJean()], ids=lambda one: type(one).__name__)
def test_time_stepping_finds_the_orbit_with_order_one(scheme):
    exact = single_impact_orbit(2.6)
    T = 2 * np.pi / 2.6
    errors, each = [], np.array([100, 200, 400, 800, 1600, 3200])
    for steps in each:  # where in a step the impacts fall is a matter of chance: single errors vary
        found = impacts(oscillators(2.6), scheme, t=120 * T, h=T / steps, keep=20)
        errors.append(np.abs(found.speed[0] - exact).max())
    assert 0.7 < order(1.0 / each, errors).order < 1.5
    assert errors[-1] < 5e-3


def test_the_diagram_shows_where_the_period_doubles():
    omega = np.array([2.60, 2.63, 2.64, 2.67, 2.68, 2.70])
    seen = sections(oscillators(omega), period=2 * np.pi / omega, steps=32, periods=2500, skip=2480)
    assert seen.periods().tolist() == [1, 1, 1, 2, 2, 2]
    assert seen.periods(most=2).tolist() == [1, 1, 1, 2, 2, 2]
    assert seen.periods(most=1).tolist() == [1, 1, 1, 0, 0, 0]


# --- orbits, exponents ---


def test_the_multipliers_of_the_orbit_multiply_to_the_restitution_squared():
    """The determinant of the impact map is e^2 for one impact a period."""
    found = periodic_orbits(oscillators([2.6, 2.64]), period=2 * np.pi / np.array([2.6, 2.64]), steps=64)
    assert found.converged.all()
    assert found.stable.all()
    np.testing.assert_allclose(found.multipliers.prod(axis=1).real, 0.64, atol=1e-5)


def test_orbits_are_found_from_random_starts_and_the_others_have_reasons():
    """Newton's method leads some starts behind the wall, and to infinity."""
    random, n, T = np.random.default_rng(0), 60, 2 * np.pi / 2.6
    starts = {"q0": -random.uniform(0.0, 1.5, (n, 1)), "v0": random.uniform(-1.5, 1.5, (n, 1))}
    found = periodic_orbits(oscillators(np.full(n, 2.6), **starts), period=T, steps=32)
    assert 10 <= found.converged.sum() < n
    assert ((found.reason == "") == found.converged).all()
    assert (found.q <= 0.0).all()
    again = advance(oscillators(np.full(n, 2.6), q0=found.q, v0=found.u), t=T, h=T / 32)
    np.testing.assert_allclose(again.q0[found.converged], found.q[found.converged], atol=1e-9)


def stop_of_parameter(t, q, parameters):
    return parameters[1] - q[0]


@pytest.mark.parametrize("speed", [0.3, 2.1e-3, 1e-4])
def test_multipliers_near_grazing_are_those_of_the_closed_form(speed):
    """P27 with a stop at a distance: det = e^2, and the trace of the impact map."""
    w, e = 2.6, 0.8
    T, gain = 2 * np.pi / w, 1 / (1 - w**2)
    sine = -(1 - e) * speed / (2 * gain * w)
    cosine = -np.sqrt(1 - sine**2)
    cot = 1 / np.tan(T / 2)
    stop = gain * cosine - (1 + e) * speed * cot / 2
    phase = np.arctan2(sine, cosine)
    B, s = -(1 + e) * speed / 2, 0.5 * T  # x = A cos s + B sin s + gain cos(w s + phase) after the impact
    A = B * cot
    q = A * np.cos(s) + B * np.sin(s) + gain * np.cos(w * s + phase)
    u = -A * np.sin(s) + B * np.cos(s) - gain * w * np.sin(w * s + phase)
    start = Copies(
        q0=[q], v0=[u], t0=(phase / w + s), force=drive, within=Gaps(stop_of_parameter, flat=True),
        parameters=[[w, stop]], restitution=e,
    )  # fmt: skip
    found = periodic_orbits(start, period=T, steps=128)
    if speed < 1e-3:
        assert found.reason[0].startswith("it grazes a wall, up to round-off")
        return
    assert found.converged[0]
    assert np.linalg.det(found.derivative[0]) == pytest.approx(e**2, rel=1e-5 + 1e-7 / speed)
    pull = np.cos(phase) - stop  # the acceleration before the impact
    flight = np.array([[np.cos(T), np.sin(T)], [-np.sin(T), np.cos(T)]])
    jump = np.array([[-e, 0.0], [(1 + e) * pull / speed, -e]])
    assert np.trace(found.derivative[0]) == pytest.approx(np.trace(flight @ jump), rel=1e-5)
    expected = speed**2 / (2 * abs(pull))
    assert found.margin[0] == pytest.approx(expected, rel=9.0)
    assert (found.margin[0] < 1e-4) == (speed < 0.01)


def softening(t, q, u, parameters):
    return parameters[0] * np.sin(0.85 * t) - q[0] + q[0] ** 2 - 0.1 * u[0]


def test_escape_is_an_answer():
    """Thompson's equation: some starts go to infinity; the others end on one orbit."""
    q, u = np.meshgrid(np.linspace(-0.8, 1.2, 8), np.linspace(-1.0, 1.0, 8))
    copies = Copies(q0=q.reshape(-1, 1), v0=u.reshape(-1, 1), force=softening, parameters=[0.08])
    T = 2 * np.pi / 0.85
    found = jo.vibro.basins(copies, period=T, steps=48, periods=50, most=2, tol=1e-3)
    escapes = np.isfinite(found.escape)
    assert 0.5 < found.share(-2) == escapes.mean() < 0.95
    assert [one.period for one in found.attractors] == [1]
    seen = sections(copies, period=T, steps=48, periods=50)
    np.testing.assert_array_equal(np.isnan(seen.q[:, -1, 0]), escapes)
    np.testing.assert_array_equal(np.isfinite(seen.q[:, 0, 0]), seen.escape > T)
    exponents = lyapunov_exponents(copies, period=T, steps=48, periods=50)
    np.testing.assert_array_equal(np.isnan(exponents), escapes)
    orbits = periodic_orbits(copies, period=T, steps=48)
    assert orbits.converged.any()
    assert any(why.startswith("it escapes to infinity at t = ") for why in orbits.reason)
    with pytest.raises(
        jo.errors.NotFinite, match=r"copy \d+ .*: it escapes to infinity at t = \d.*; end before, or use"
    ):
        advance(copies, t=200.0, h=0.1)
    by_steps = sections(copies, jo.Paoli(), period=T, steps=400, periods=3)
    assert np.isfinite(by_steps.escape[seen.escape < 2 * T]).all()


def blows_up(t, q, u, parameters):
    return 6.0 * q[0] ** 2


def test_the_time_of_an_escape_is_that_of_the_closed_form():
    """q = 1 / (t* - t)^2 for t* = 1 and 10."""
    copies = Copies(q0=[[1.0], [0.01]], v0=[[2.0], [0.002]], force=blows_up)
    found = sections(copies, period=0.05, steps=1, periods=220)
    np.testing.assert_allclose(found.escape, [1.0, 10.0], atol=0.1 * 0.05)


def becomes_nan(t, q, u, parameters):
    return np.sqrt(0.5 - q[0])


def test_a_force_that_is_not_defined_is_no_escape():
    with pytest.raises(
        jo.errors.NotFinite, match="the force, a gap or the motion is not finite; choose a shorter step h"
    ):
        sections(Copies(q0=[0.0], v0=[1.0], force=becomes_nan), period=1.0, steps=10, periods=3)


def test_an_unstable_orbit_is_found_and_said_to_be_unstable():
    found = periodic_orbits(oscillators(2.7), period=2 * np.pi / 2.7, steps=64)
    assert found.converged[0]
    assert not found.stable[0]
    assert found.multipliers.real.min() < -1.0


def duffing(t, q, u, parameters):
    return q[0] - q[0] ** 3 / parameters[0] ** 2 - 0.3 * u[0] + 0.5 * parameters[0] * np.cos(1.2 * t)


def test_lyapunov_exponents_depend_neither_on_the_unit_of_length_nor_on_a_start_at_the_origin():
    period, sizes = 2 * np.pi / 1.2, 2.0 ** np.array([0, -30, 10])
    same = lyapunov_exponents(Copies(q0=[0.0], force=duffing, parameters=sizes), period=period, steps=64, periods=200)
    assert same == pytest.approx(same[0], rel=1e-12)
    starts = Copies(q0=[[0.0], [1e-12], [1e-9]], force=duffing, parameters=[1.0])
    chaos = lyapunov_exponents(starts, period=period, steps=64, periods=400, skip=50)
    assert chaos == pytest.approx(0.11, abs=0.04)  # the spread of chaotic motions over 350 periods


def hardening(t, q, u, parameters):
    return parameters[0] * np.cos(0.7 * t) - q[0] - 0.2 * u[0] - 0.3 * q[0] ** 3 / parameters[0] ** 2


def test_orbits_depend_neither_on_the_unit_of_length_nor_on_a_start_at_the_origin():
    sizes = 2.0 ** np.array([0, -20, -30, 10])
    for start in (0.0, 1e-13):
        copies = Copies(q0=(start * sizes)[:, None], force=hardening, parameters=sizes)
        found = periodic_orbits(copies, period=2 * np.pi / 0.7, steps=64)
        assert found.converged.all()
        assert found.q[:, 0] / sizes == pytest.approx(found.q[0, 0], rel=1e-9)
        assert np.abs(found.multipliers) == pytest.approx(np.abs(found.multipliers[0, 0]), rel=1e-9)


def test_the_lyapunov_exponent_of_an_orbit_is_that_of_its_largest_multiplier():
    omega = np.array([2.65, 2.652])  # with real multipliers, which the exponents come to quickly
    T = 2 * np.pi / omega
    largest = np.abs(periodic_orbits(oscillators(omega), period=T, steps=64).multipliers).max(axis=1)
    found = lyapunov_exponents(oscillators(omega), period=T, steps=64, periods=600, skip=400)
    np.testing.assert_allclose(found, np.log(largest) / T, atol=1e-4)


def test_chaos_has_a_positive_exponent():
    """The impact oscillator with elastic impacts and without damping."""
    copies = oscillators(np.array([2.8]), restitution=1.0, q0=[-0.4], v0=[0.1])
    assert lyapunov_exponents(copies, period=2 * np.pi / 2.8, steps=64, periods=400, skip=50)[0] > 0.02


def damped(t, q, u, parameters):
    return -parameters[0] * q[0] - parameters[1] * u[0]


def test_the_exponents_of_a_damped_oscillator_are_the_real_parts_of_its_roots():
    """q'' + c q' + k q = 0; over a turn of the phase where the roots are complex."""
    k, c = np.array([2.0, 30.0, 1.0, 4.0]), np.array([3.0, 11.0, 0.2, 0.0])
    roots = np.array([np.roots([1.0, b, a]) for a, b in zip(k, c, strict=True)])
    turn = np.where(roots[:, 0].imag == 0.0, 1.0, 2 * np.pi / np.maximum(np.abs(roots[:, 0].imag), 1e-9))
    copies = Copies(q0=[1.0], force=damped, parameters=np.stack([k, c], axis=1))
    found = lyapunov_spectra(copies, period=turn, steps=200, periods=40, skip=20)
    np.testing.assert_allclose(found, -np.sort(-roots.real, axis=1), atol=2e-6)
    np.testing.assert_allclose(found.sum(axis=1), -c, atol=2e-6)
    largest = lyapunov_exponents(copies, period=turn, steps=200, periods=40, skip=20)
    np.testing.assert_allclose(largest, found[:, 0], atol=1e-6)


def shaken(t, q, u, parameters):
    c, omega = parameters[0], parameters[1]
    return 2.0 * np.cos(omega * t) - q[0] - 0.5 * q[1] - c * u[0], np.sin(q[0]) - q[1] - 0.5 * c * u[1]


def test_volumes_shrink_in_flight_by_the_damping_and_in_impacts_by_e_squared():
    """Sixty random systems; those in which a contact comes to rest lose all volume."""
    random, t, h = np.random.default_rng(0), 60.0, 0.04
    c, omega, e = (random.uniform(low, high, 60) for low, high in ((0.0, 0.3), (1.0, 4.0), (0.4, 1.0)))
    copies = Copies(
        q0=[-0.5, 0.1], force=shaken, within=jo.HalfSpace([-0.6, -0.8]), parameters=np.stack([c, omega], axis=1),
        restitution=e, mass=[1.0, 2.0],
    )  # fmt: skip
    total = t * lyapunov_spectra(copies, period=t, steps=1500, periods=1).sum(axis=1)
    exact = -(c + 0.5 * c / 2.0) * t + 2.0 * np.log(e) * impacts(copies, t=t, h=h).count
    moving = np.isfinite(total)
    assert 40 <= moving.sum() < 60
    assert (total[~moving] == -np.inf).all()
    np.testing.assert_allclose(total[moving], exact[moving], atol=1e-5)


def test_the_spectrum_of_an_orbit_is_that_of_its_multipliers():
    omega = np.array([2.65, 2.652])
    T = 2 * np.pi / omega
    orbit = periodic_orbits(oscillators(omega), period=T, steps=64)
    on_it = Copies(q0=orbit.q, v0=orbit.u, force=drive, within=jo.HalfSpace([-1.0]), parameters=omega, restitution=0.8)
    found = lyapunov_spectra(on_it, period=T, steps=64, periods=300, skip=250)
    exact = -np.sort(-np.log(np.abs(orbit.multipliers)) / T[:, None], axis=1)
    np.testing.assert_allclose(found, exact, atol=1e-5)  # the multipliers are differences


def pressed(t, q, u, parameters):
    return -1.0 - parameters[0] * np.cos(t)


@pytest.mark.parametrize("steps", [20, 50, 137])
def test_separations_end_where_contacts_come_to_rest(steps):
    """A ball on the floor for good, one that rests for a part of each period, and one that rests beside a swing."""
    floor = {"within": jo.HalfSpace([1.0]), "restitution": 0.5}
    ball = Copies(q0=[1.0], force=[-10.0], **floor)
    assert lyapunov_exponents(ball, period=1.0, steps=steps, periods=20, skip=10).tolist() == [-np.inf]
    lifted = Copies(q0=[0.5], force=pressed, parameters=[1.5, 3.0], **floor)
    spectra = lyapunov_spectra(lifted, period=2 * np.pi, steps=steps, periods=30, skip=10)
    assert spectra.tolist() == [[-np.inf, -np.inf]] * 2
    beside = Copies(q0=[1.0, 1.0], force=beside_a_swing, within=jo.HalfSpace([0.0, 1.0]), restitution=0.5)
    found = lyapunov_spectra(beside, period=1.0, steps=steps, periods=60, skip=20)[0]
    assert found[:2] == pytest.approx([-1.0, -2.0], abs=1e-4)
    assert found[2:].tolist() == [-np.inf, -np.inf]


def beside_a_swing(t, q, u, parameters):
    return -2.0 * q[0] - 3.0 * u[0], -10.0


def test_a_rest_in_the_periods_left_out_does_not_count():
    """A ball rests until it is pulled away, and oscillates above the floor then."""
    ball = Copies(q0=[0.1], force=pulled_after_a_while, within=jo.HalfSpace([1.0]), restitution=0.5)
    found = lyapunov_spectra(ball, period=2 * np.pi, steps=100, periods=20, skip=10)
    np.testing.assert_allclose(found, [[-0.05, -0.05]], atol=2e-3)
    assert lyapunov_exponents(ball, period=2 * np.pi, steps=100, periods=20, skip=0)[0] == -np.inf


def pulled_after_a_while(t, q, u, parameters):
    return -5.0 if t < 10.0 else 3.0 - q[0] - 0.1 * u[0]


@pytest.mark.parametrize("steps", [30, 100])
def test_an_impact_without_restitution_ends_one_of_two_separations(steps):
    """The force pulls away from the wall, so that nothing comes to rest."""
    copies = Copies(q0=[0.5], v0=[-3.0], force=pulled_away, within=jo.HalfSpace([1.0]))
    found = lyapunov_spectra(copies, period=2 * np.pi, steps=steps, periods=10)[0]
    assert np.isfinite(found[0])
    assert found[1] == -np.inf


def pulled_away(t, q, u, parameters):
    return 1.0 - q[0]


def test_errors_of_exponents_name_copies_that_exist():
    with pytest.raises(jo.errors.NotFinite, match=r"copy 0 \(parameters \[1e\+308\]\)"):
        lyapunov_exponents(Copies(q0=[1.0], force=grows, parameters=[1e308]), period=1.0, steps=10, periods=5)


# --- the number of cores, and of copies ---


def test_results_do_not_depend_on_the_number_of_threads_or_of_copies(monkeypatch):
    omega = np.linspace(2.5, 3.5, 7)
    run = partial(sections, period=2 * np.pi / omega, steps=20, periods=30, skip=10)
    both = []
    for count in (1, 3):
        monkeypatch.setattr("jostle.vibro.copies.threads", lambda count=count: count)
        both.append(run(oscillators(omega)))
    np.testing.assert_array_equal(both[0].q, both[1].q)
    alone = sections(oscillators(omega[4]), period=2 * np.pi / omega[4], steps=20, periods=30, skip=10)
    np.testing.assert_array_equal(alone.u[0], both[0].u[4])
    assert threads() >= 1


@pytest.mark.parametrize("scheme", [ByEvents(), jo.Paoli(), jo.MoreauJean()], ids=lambda one: type(one).__name__)
def test_results_do_not_depend_on_how_the_loop_is_cut(scheme, monkeypatch):
    run = partial(sections, oscillators([2.6, 2.8]), scheme, period=2.4, steps=20, periods=10, skip=3)
    whole = run()
    monkeypatch.setattr("jostle.vibro.copies.STEPS_PER_CALL", 1)
    np.testing.assert_array_equal(run().q, whole.q)


def test_copies_can_be_pickled():
    copies = oscillators([2.6, 2.7])
    again = pickle.loads(pickle.dumps(copies))
    np.testing.assert_array_equal(advance(again, t=1.0, h=0.1).q0, advance(copies, t=1.0, h=0.1).q0)


# --- what is refused ---


def of_nothing(t, q, u, parameters):
    pass


def of_unknown_function(t, q, u, parameters):
    return jo.solve(q)


def writes(t, q, u, parameters):
    q[0] = 0.0
    return u[0]


def raises(t, q, u, parameters):
    if t > 0.5:
        raise ValueError("no such time")
    return 0.0


def of_two(t, q, u, parameters):
    return 1.0, 2.0


@pytest.mark.parametrize("force", [of_nothing, of_unknown_function, writes], ids=lambda one: one.__name__)
def test_what_cannot_be_compiled_is_named(force):
    with pytest.raises(jo.errors.CannotCompile, match=r"^force cannot be compiled by numba: \w"):
        advance(Copies(q0=[0.0], force=force), t=1.0, h=0.1)


def test_constraints_that_cannot_be_compiled_are_named():
    copies = Copies(q0=[1.0], force=[1.0], within=lambda t, q, parameters: np.array(q.tolist()))
    with pytest.raises(jo.errors.CannotCompile, match="within cannot be compiled by numba"):
        advance(copies, jo.MoreauJean(), t=1.0, h=0.1)


@pytest.mark.parametrize("scheme", [ByEvents(), jo.Paoli(), jo.MoreauJean()], ids=lambda one: type(one).__name__)
def test_a_force_that_fails_ends_the_run_with_an_error(scheme):
    with pytest.raises(ValueError, match="no such time"):
        advance(Copies(q0=[0.0], force=raises), scheme, t=1.0, h=0.1)
    with pytest.raises(jo.errors.NotFinite, match=r"copy 1 \(parameters \[1e\+308\]\) in step [12]"):
        advance(Copies(q0=[1.0], force=grows, parameters=[0.0, 1e308]), scheme, t=1.0, h=0.1)


def grows(t, q, u, parameters):
    return parameters[0] * (t > 0.05) * 10.0


def shaken_by_parameter(t, q, parameters):
    return q[0] - parameters[0] * np.sin(5.0 * t)


def curved_by_parameter(t, q, parameters):
    return q[0] - parameters[0] * q[0] ** 2


def turning_wall(t, q, parameters):
    return np.cos(t) * q[1] - np.sin(t) * q[0]


WRONG = {
    "not admissible: gap -1.00e\\+00 in constraint 0; 1 of 2 copies": lambda: oscillators(2.6, q0=[[-1.0], [1.0]]),
    "there are 3 copies, but q0 has 2": lambda: oscillators([1.0, 2.0, 3.0], q0=[[-1.0], [-2.0]]),
    "restitution must lie in": lambda: oscillators(2.6, restitution=1.5),
    "mass must be positive": lambda: oscillators(2.6, mass=-1.0),
    "force must be numbers or a function of \\(float, Array, Array, Array\\)": lambda: oscillators(
        2.6, force=lambda t, q: q
    ),
    "within must be .* or a function of \\(float, Array, Array\\)": lambda: oscillators(2.6, within=lambda q: q),
    "within must be a set of half-spaces": lambda: oscillators(2.6, within=jo.Outside([3.0], 1.0)),
    "depend on t: use Gaps": lambda: Copies(q0=[0.5], force=[0.0], within=table),
    "are not affine in q\\[0\\]": lambda: Copies(q0=[2.0, 1.0], force=[0.0, 0.0], within=Gaps(outside, flat=True)),
    "of copy 2 \\(parameters \\[0.02.*\\]\\) depend on t": lambda: Copies(
        q0=[1.0], force=[0.0], within=shaken_by_parameter, parameters=np.linspace(0.0, 1.0, 99)[[0, 0, 2, 98]]
    ),
    "of copy 9.* are not affine in q\\[0\\]": lambda: Copies(
        q0=[1.0], force=[0.0], within=Gaps(curved_by_parameter, flat=True), parameters=np.repeat([0.0, 1.0], [9, 1])
    ),
    "ByEvents needs gaps that are affine": lambda: advance(
        Copies(q0=[2.0, 1.0], force=[0.0, 0.0], within=outside), t=1.0, h=0.1
    ),
    "ByEvents needs walls that do not turn: dg/dq of `within` of copy 0 depends on t": lambda: advance(
        Copies(q0=[0.0, 1.0], force=[0.0, 0.0], within=Gaps(turning_wall, flat=True, moving=True)), t=1.0, h=0.1
    ),
    "Paoli does not support moving constraints": lambda: advance(
        Copies(q0=[0.5], force=[0.0], within=Gaps(table, flat=True, moving=True)), jo.Paoli(), t=1.0, h=0.1
    ),
    "scheme must be a jo.vibro.ByEvents": lambda: advance(oscillators(2.6), jo.Maury(), t=1.0, h=0.1),
    "z = 1/2 and an explicit force": lambda: advance(oscillators(2.6), jo.Paoli(z=0.0), t=1.0, h=0.1),
    "must be a multiple of h": lambda: advance(oscillators(2.6), t=1.0, h=0.3),
    "skip must be below periods": lambda: sections(oscillators(2.6), period=1.0, steps=10, periods=5, skip=5),
    "skip must be below periods = 5, not 6": lambda: lyapunov_exponents(
        oscillators(2.6), period=1.0, steps=10, periods=5, skip=6
    ),
    "period must be positive": lambda: sections(oscillators(2.6), period=[1.0, 2.0], steps=10, periods=5),
    "Lyapunov exponents need a motion": lambda: lyapunov_exponents(
        oscillators(2.6), jo.Paoli(), period=1.0, steps=10, periods=5
    ),
    "periods must exceed 16": lambda: jo.vibro.basins(oscillators(2.6), period=1.0, steps=10, periods=5),
}


@pytest.mark.parametrize("message", WRONG)
def test_nonsense_is_refused_in_words(message):
    with pytest.raises(jo.JostleError, match=message):
        WRONG[message]()


# --- basins ---


def two_wells(t, q, u, parameters):
    return q[0] - q[0] ** 3 - 0.5 * u[0]


def test_basins_of_two_wells_are_mirror_images():
    x, v = np.meshgrid(np.linspace(-1.5, 1.5, 10), np.linspace(-1.0, 1.0, 10), indexing="ij")
    starts = np.stack([x.ravel(), v.ravel()], axis=1)
    copies = Copies(q0=starts[:, :1], v0=starts[:, 1:], force=two_wells)
    found = jo.vibro.basins(copies, period=1.0, steps=10, periods=100)
    label = found.label.reshape(x.shape)
    assert sorted(set(found.label)) == [0, 1]
    np.testing.assert_array_equal(label, 1 - label[::-1, ::-1])
    assert [one.members for one in found.attractors] == [50, 50]
    assert found.share(0) == 0.5


def test_orbits_that_differ_by_their_phase_are_one_attractor():
    """After the doubling, copies are on the same orbit in either of its two phases."""
    starts = np.linspace(-0.9, -0.1, 12)[:, None]
    copies = oscillators(2.68, q0=starts)
    found = jo.vibro.basins(copies, period=2 * np.pi / 2.68, steps=32, periods=2000)
    assert [one.period for one in found.attractors] == [2]
    assert found.share(0) == 1.0


def in_a_round_wall(t, q, parameters):
    return parameters[0] * (1.0 - np.sqrt(q[0] ** 2 + q[1] ** 2))


def gradient_of_a_round_wall(t, q, parameters):
    distance = np.sqrt(q[0] ** 2 + q[1] ** 2)
    return -parameters[0] * q[0] / distance, -parameters[0] * q[1] / distance


def test_constraints_of_a_copy_that_contradict_each_other_are_no_proof_that_there_is_no_point():
    """The compiled loop has no proof; `jo.solve` has one."""
    press = Gaps(between_closing_walls, flat=True, moving=True)
    with pytest.raises(jo.NotConverged, match=r"copy 0 .*contradict each other, up to round-off; no admissible point"):
        advance(Copies(q0=[0.5], force=[0.0], within=press), jo.MoreauJean(), t=2.0, h=0.1)


def between_closing_walls(t, q, parameters):
    return q[0] - 0.5 * t, 1.0 - 0.5 * t - q[0]


def test_a_nearest_point_that_is_not_found_asks_for_the_gradient():
    """Differences of a curved gap are too inexact for long steps; with the gradient the same steps are possible."""
    start = {"q0": [-0.4, 0.4], "v0": [0.3, 0.0], "force": [0.0, -9.81], "parameters": [0.5], "restitution": 0.5}
    with pytest.raises(jo.NotConverged, match=r"was not found; give the gradient of the gaps, .* or choose a shorter"):
        advance(Copies(within=Gaps(in_a_round_wall), **start), jo.Paoli(), t=3.0, h=0.05)
    given = Gaps(in_a_round_wall, gradient=gradient_of_a_round_wall)
    advance(Copies(within=given, **start), jo.Paoli(), t=3.0, h=0.05)


# --- functions that read outside their arrays ---


def reads_a_parameter(t, q, u, parameters):
    return -parameters[1] * q[0]


def reads_a_coordinate(t, q, u, parameters):
    return -q[1]


def reads_a_parameter_beyond_one(t, q, u, parameters):
    return -q[0] if q[0] < 1.0 else -parameters[5]


def stop_of_a_parameter(t, q, parameters):
    return parameters[3] - q[0]


@pytest.mark.parametrize(
    "given",
    [{"force": reads_a_parameter}, {"force": reads_a_coordinate}, {"force": [1.0], "within": stop_of_a_parameter}],
    ids=["parameter", "coordinate", "gap"],
)
def test_a_function_that_reads_outside_its_arrays_is_refused(given):
    with pytest.raises(jo.InvalidValue, match="outside its arrays: q and u have 1 entry, parameters 1"):
        advance(Copies(q0=[0.5], parameters=[2.0], **given), jo.MoreauJean(), t=1.0, h=0.1)


@pytest.mark.each_value
@pytest.mark.parametrize("force", [reads_a_parameter_beyond_one, njit(reads_a_parameter_beyond_one)])
@pytest.mark.parametrize("scheme", [None, jo.MoreauJean()])
def test_a_function_that_reads_outside_its_arrays_later_ends_the_run(force, scheme):
    copies = Copies(q0=[0.5], v0=[2.0], force=force, parameters=[2.0])
    with pytest.raises(jo.InvalidValue, match="force or within reads outside its arrays"):
        advance(copies, scheme, t=1.0, h=0.1)


def test_forces_and_gradients_return_one_number_for_each_coordinate():
    with pytest.raises(jo.InvalidValue, match="force returned 2 numbers; it must return 1"):
        advance(Copies(q0=[0.5], force=of_two), t=1.0, h=0.1)
    gaps = Gaps(lambda t, q, parameters: 1.0 - q[0], gradient=lambda t, q, parameters: (-1.0, 0.0))
    with pytest.raises(jo.InvalidValue, match="gradient returned 2 numbers; it must return 1"):
        advance(Copies(q0=[0.5], force=[1.0], within=gaps), jo.MoreauJean(), t=1.0, h=0.1)
    with pytest.raises(jo.InvalidValue, match="force is one number for 2 coordinates"):
        Copies(q0=[0.5, 1.0], force=-9.81)


def hard_impacts(amplitudes, omega=2.7):
    """Oscillators that rest on their stop, in different units of length; their period has doubled."""

    def drive(t, q, u, parameters):
        return parameters[0] * np.cos(parameters[1] * t) - q[0]

    A = np.array(amplitudes)
    return jo.vibro.Copies(
        q0=-0.5 * A[:, None], force=drive, parameters=np.stack([A, np.full(len(A), omega)], axis=1),
        within=jo.HalfSpace([-1.0], 0.0), restitution=0.8,
    )  # fmt: skip


@pytest.mark.parametrize("beside", [[], [1e7], [1e-7], [3.0, 1e12]])
def test_the_period_of_a_copy_does_not_depend_on_other_copies(beside):
    seen = jo.vibro.sections(hard_impacts([1.0, *beside]), period=2 * np.pi / 2.7, steps=100, periods=600, skip=500)
    assert seen.periods().tolist() == [2] * (1 + len(beside))


def wells(starts, speeds=0.0, place=0.0, length=1.0, damping=0.5):
    """Two wells, at one length to the left and to the right of a place, and a coordinate that drifts."""

    def force(t, q, u, parameters):
        x = (q[0] - parameters[0]) / parameters[1]
        return parameters[1] * (x - x**3) - damping * u[0], 0.0

    q0 = np.stack([place + length * np.array(starts), np.zeros(len(starts))], axis=1)
    v0 = np.stack([np.zeros(len(starts)), np.broadcast_to(speeds, len(starts))], axis=1)
    return jo.vibro.Copies(q0=q0, v0=v0, force=force, parameters=[[place, length]])


def test_copies_in_different_wells_are_on_different_attractors_beside_one_that_drifts():
    found = jo.vibro.basins(wells([-0.5, 0.5, 1.2, 0.3], [0.0, 0.0, 0.0, 1e5]), period=1.0, steps=10, periods=80)
    assert found.label.tolist() == [1, 0, 0, -1]
    assert [one.q[0, 0].round(6) for one in found.attractors] == [1.0, -1.0]


def test_copies_that_start_far_away_reach_different_wells_in_the_end():
    """Their wells are closer together than the tolerance times their first motion; they have arrived."""

    def force(t, q, u, parameters):
        return np.tanh(5.0 * q[0]) - q[0] - 0.5 * u[0]

    copies = jo.vibro.Copies(q0=[[-1e7], [1.0], [1e7], [-1.0], [2e7]], force=force)
    found = jo.vibro.basins(copies, period=1.0, steps=10, periods=250, most=1)
    ends = jo.vibro.advance(copies, t=250.0, h=0.1).q0[:, 0]
    assert len(found.attractors) == 2
    assert ((found.label == found.label[1]) == (ends > 0.0)).all()


@pytest.mark.parametrize(("place", "length"), [(0.0, 1e-6), (0.0, 1e6), (1e6, 1.0)])
def test_attractors_do_not_depend_on_the_unit_of_length_or_the_origin(place, length):
    found = jo.vibro.basins(wells([-1.5, -0.5, 0.5], place=place, length=length), period=1.0, steps=10, periods=80)
    assert found.label.tolist() == [0, 0, 1]


def test_attractors_do_not_depend_on_the_unit_of_time():
    """With a longer unit of time velocities are larger numbers, and positions the same."""

    def drive(t, q, u, parameters):
        c = parameters[0]
        return c * c * (np.cos(2.7 * c * t) - q[0])

    for c in (1e-4, 1.0, 1e4):
        copies = jo.vibro.Copies(q0=[-0.5], force=drive, within=jo.HalfSpace([-1.0]), parameters=[c], restitution=0.8)
        seen = jo.vibro.sections(copies, period=2 * np.pi / 2.7 / c, steps=100, periods=600, skip=580)
        assert seen.periods().tolist() == [2]


def test_a_copy_that_drifts_for_a_long_time_does_not_repeat_itself():
    drifting = jo.vibro.Copies(q0=[0.0], force=[0.0], v0=[[1.0], [0.0]])
    seen = jo.vibro.sections(drifting, period=1.0, steps=1, periods=200_000, skip=199_980)
    assert seen.periods().tolist() == [0, 1]
    assert seen.at_rest().tolist() == [False, True]
