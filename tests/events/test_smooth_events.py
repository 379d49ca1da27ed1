"""Event-driven integration under smooth forces, with masses M(q) and moving walls: closed forms and high precision."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ellipk

import jostle as jo
from jostle._tools.smooth_paths import follow
from jostle.differences import differentiated
from rows import examples, whole

G = 9.81


def test_p19_a_double_pendulum_hits_its_stop():
    sol = jo.solve_by_events(jo.models.double_pendulum(), t=1.0)
    (hit,) = sol.events
    np.testing.assert_allclose(hit.t, 0.456522569149, atol=1e-11)
    np.testing.assert_allclose(sol.q(hit.t), [0.0, 0.489252572436], atol=1e-11)
    np.testing.assert_allclose(hit.before, [-1.49836057776, -0.161414864511], atol=1e-10)
    np.testing.assert_allclose(hit.after, [0.74918028888, -2.14528406041], atol=1e-10)
    np.testing.assert_allclose(sol.q(1.0), [0.109884020636, -0.474856263845], atol=1e-11)
    np.testing.assert_allclose(sol.u(1.0), [-1.32054164788, 0.389375436577], atol=1e-10)
    M = sol.problem.metric(sol.q(hit.t))
    lost = 0.5 * (M.inner(hit.before, hit.before) - M.inner(hit.after, hit.after))
    np.testing.assert_allclose(lost, 1.02785715133, atol=1e-10)


def test_p18_polar_coordinates_give_the_cartesian_billiard():
    def mass(q):
        return np.diag([1.0, q[0] ** 2])

    def force(t, q, u):
        return [q[0] * u[1] ** 2, -2.0 * q[0] * u[0] * u[1]]

    @jo.constraints(gradient=lambda t, q: [[-np.cos(q[1]), q[0] * np.sin(q[1])]], moving=False)
    def wall(t, q):
        return [1.5 - q[0] * np.cos(q[1])]

    x, v = np.array([1.0, 0.5]), np.array([1.0, 0.4])
    r, angle = np.hypot(*x), np.arctan2(x[1], x[0])
    v0 = [x @ v / r, (x[0] * v[1] - x[1] * v[0]) / r**2]
    sol = jo.solve_by_events(
        jo.Motion(q0=[r, angle], v0=v0, mass=mass, force=force, within=wall, law=jo.Restitution(0.5)), t=1.0
    )
    np.testing.assert_allclose([event.t for event in sol.events], [0.5], atol=1e-11)
    np.testing.assert_allclose(sol.q(1.0), [1.54029218008, 0.624023052977], atol=1e-10)


@pytest.mark.whole
def test_p15_a_ball_takes_off_from_a_vibrating_table_and_lands_on_it():
    sol = jo.solve_by_events(jo.models.vibrating_table(2.0), t=1.1)  # it takes off again at 1 + 1 / 12
    (landing,) = sol.events
    np.testing.assert_allclose(landing.t, 0.824812574824, atol=1e-11)
    table = np.array([0.0506605918212 * np.sin(2 * np.pi * t) for t in (0.05, 0.08, 0.9, 1.0)])
    np.testing.assert_allclose(sol.q([0.05, 0.08, 0.9, 1.0])[:, 0], table, atol=1e-11)
    up, s = 1.0 / 12.0, 0.5 - 1.0 / 12.0
    height = 0.5 * 0.0506605918212 + 0.275664447711 * s - 0.5 * s * s
    np.testing.assert_allclose(sol.q(0.5), [height], atol=1e-11)
    np.testing.assert_allclose(sol.u(up), [0.275664447711], atol=1e-10)


def test_a_ball_bounces_on_a_sinusoidal_table_until_it_rests_there():
    """e = 0.8, the table at A sin w t with A w^2 < g: each impact is the root of a scalar equation."""
    A, w, e, end = 0.05, 2.0 * np.pi, 0.8, 2.3
    table = jo.HalfSpace([1.0], offset=lambda t: A * np.sin(w * t))
    sol = jo.solve_by_events(jo.Motion(q0=[0.3], force=[-G], within=table, law=jo.Restitution(e)), t=end)
    t, x, v, exact = 0.0, 0.3, 0.0, []
    while len(exact) < 20:

        def gap(s, t=t, x=x, v=v):
            return x + v * s - 0.5 * G * s * s - A * np.sin(w * (t + s))

        grid = np.linspace(1e-9 if exact else 0.0, 0.6, 20001)
        first = int(np.argmax(gap(grid) < 0.0))
        s = brentq(gap, grid[first - 1], grid[first], xtol=1e-15)
        t, v = t + s, v - G * s
        x, wall = A * np.sin(w * t), A * w * np.cos(w * t)
        v = wall - e * (v - wall)
        exact.append((t, v))
    times, after = np.array([(event.t, event.after[0]) for event in sol.events[:20]]).T
    np.testing.assert_allclose(times, [each[0] for each in exact], atol=1e-11)
    np.testing.assert_allclose(after, [each[1] for each in exact], atol=1e-10)
    (rest,) = sol.accumulations
    assert 0.0 < rest.t - sol.events[-1].t < 1e-5
    at = np.linspace(rest.t + 1e-9, end, 7)
    np.testing.assert_allclose(sol.q(at)[:, 0], A * np.sin(w * at), atol=1e-10)


def test_a_force_that_is_a_function_gives_the_parabolas_of_a_constant_one():
    given = {"q0": [1.0], "within": jo.HalfSpace([1.0]), "law": jo.Restitution(0.5)}
    smooth = jo.solve_by_events(jo.Motion(**given, force=lambda t, q: [-G]), t=2.0)
    exact = jo.solve_by_events(jo.Motion(**given, force=[-G]), t=2.0)
    n = len(smooth.events)
    assert n >= 15
    np.testing.assert_allclose([one.t for one in smooth.events], [one.t for one in exact.events[:n]], atol=1e-12)
    np.testing.assert_allclose(smooth.accumulations[0].t, exact.accumulations[0].t, atol=1e-10)
    at = np.linspace(0.0, 2.0, 101)
    np.testing.assert_allclose(smooth.q(at), exact.q(at), atol=1e-11)
    np.testing.assert_array_equal(smooth.u(2.0), [0.0])


@pytest.mark.parametrize("rates", [(1.0, 50.0), (50.0, 1.0)])
def test_one_step_of_differences_serves_all_rows(rates):
    """The row that oscillates fifty times as fast needs a step that is far below one; the other would take any."""
    rates = np.array(rates)
    found = differentiated(lambda s: np.where(rates == 1.0, s, np.sin(rates * s)), 1.0)
    assert found.first_step < 0.1
    assert (found.first_error < 1e-8).all()
    assert found.first == pytest.approx(rates, abs=1e-8)


def test_p23_a_particle_slides_off_a_disc_where_the_contact_force_vanishes():
    disc = jo.Outside([0.0, 0.0], 1.0)
    sol = jo.solve_by_events(jo.Motion(q0=[0.0, 1.0], v0=[0.2, 0.0], force=[0.0, -G], within=disc), t=1.3)
    leaves = 1.04871588566
    assert sol.events == ()
    np.testing.assert_allclose(sol.q(leaves)[1], 0.668025823989, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(sol.u(leaves)), 2.55994791614, atol=1e-10)
    np.testing.assert_allclose(sol.q(leaves + 0.2), [1.08616035, 0.09083487], atol=1e-8)
    on = np.linalg.norm(sol.q(np.linspace(0.0, leaves, 50)), axis=1)
    np.testing.assert_allclose(on, 1.0, atol=1e-12)
    assert np.linalg.norm(sol.q(1.3)) > 1.05


def test_p21_p25_a_string_becomes_taut_and_a_pendulum_has_its_period():
    bowl = jo.Inside([0.0, 0.0], 1.0)
    taut = jo.solve_by_events(jo.Motion(q0=[0.6, 0.0], force=[0.0, -G], within=bowl), t=0.41)
    (jerk,) = taut.events
    np.testing.assert_allclose(jerk.t, 0.403855021877, atol=1e-11)
    np.testing.assert_allclose(jerk.after, [-1.90167252701, -1.42625439526], atol=1e-10)
    start, period = [np.sin(np.pi / 3), -0.5], 2.15287466688
    swing = jo.solve_by_events(jo.Motion(q0=start, force=[0.0, -G], within=bowl), t=period / 2.0)
    np.testing.assert_allclose(swing.q(period / 2.0), [-start[0], start[1]], atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(swing.u(period / 4.0)), 3.13209195267, atol=1e-9)


def test_a_bead_in_a_bowl_hits_a_wall_and_stays_in_the_bowl():
    """Down from 60 degrees to the lowest point, where the wall is, and back to e^2 times the height."""
    within = jo.Inside([0.0, 0.0], 1.0) & jo.HalfSpace([1.0, 0.0])
    start = [np.sin(np.pi / 3), -0.5]
    bead = jo.Motion(q0=start, force=[0.0, -G], within=within, law=jo.Restitution(0.5))
    sol = jo.solve_by_events(bead, t=0.65)
    (hit,) = sol.events
    np.testing.assert_allclose(hit.t, 2.15287466688 / 4.0, atol=1e-10)
    np.testing.assert_allclose(hit.after, [0.5 * 3.13209195267, 0.0], atol=1e-10)
    at = np.linspace(0.0, 0.65, 41)
    np.testing.assert_allclose(np.linalg.norm(sol.q(at), axis=1), 1.0, atol=1e-11)
    energy = 0.5 * np.sum(sol.u(0.65) ** 2) + G * sol.q(0.65)[1]
    np.testing.assert_allclose(energy, 0.125 * 3.13209195267**2 - G, atol=1e-9)


def test_p27_a_forced_oscillator_stays_on_its_periodic_orbit():
    w, start = 2.6, 2.37345214975
    turn = 10.0 * 2.0 * np.pi / w
    orbit = jo.Motion(
        q0=[-0.659030593353], v0=[-0.0505439970894], force=lambda t, q: np.cos(w * (t + start)) - q,
        within=jo.HalfSpace([-1.0]), law=jo.Restitution(0.8),
    )  # fmt: skip
    sol = jo.solve_by_events(orbit, t=turn)
    assert len(sol.events) == 10
    np.testing.assert_allclose(sol.q(turn), orbit.q0, atol=1e-9)
    np.testing.assert_allclose([event.before[0] for event in sol.events], 0.505439970894, atol=1e-9)


def test_a_wall_that_rises_briefly_is_not_missed():
    """The ball alone would be integrated in one step."""

    def bump(height):
        return jo.HalfSpace([1.0], offset=lambda t: height * np.exp(-(((t - 1.0) / 0.01) ** 2)))

    hit = jo.solve_by_events(jo.Motion(q0=[1.0], v0=[1e-3], within=bump(1.5), law=jo.Restitution(1.0)), t=2.0)
    assert len(hit.events) == 1
    assert abs(hit.events[0].t - 1.0) < 0.02
    missed = jo.solve_by_events(jo.Motion(q0=[1.0], v0=[1e-3], within=bump(0.9)), t=2.0)
    assert missed.events == ()


@settings(max_examples=examples(10), deadline=None, derandomize=True)
@given(w=st.floats(1.0, 1000.0), depth=st.sampled_from([1e-3, 1e-5, 1e-7]))
@example(w=5.0, depth=1e-5)
@example(w=50.0, depth=1e-5)
@example(w=4.337456791448622, depth=1e-5)
def test_a_grazing_impact_is_found_wherever_the_steps_end(w, depth):
    """q = 1 - depth - (1 - cos w t) / 2 is negative for a short time around w t = pi."""
    force = {"force": lambda t, q: [-0.5 * w * w * np.cos(w * t)], "within": jo.HalfSpace([1.0])}
    sol = jo.solve_by_events(jo.Motion(q0=[1.0 - depth], **force, law=jo.Restitution(1.0)), t=3.5 / w)
    assert len(sol.events) == 1
    np.testing.assert_allclose(w * sol.events[0].t, np.arccos(2.0 * depth - 1.0), atol=1e-8)
    missed = jo.solve_by_events(jo.Motion(q0=[1.0 + depth], **force), t=3.5 / w)
    assert missed.events == ()


def test_several_smooth_contacts_at_once_are_one_impact():
    """A corner, reached under a central force: both walls, and the law of their cone."""
    corner = jo.Box([0.0, 0.0], [np.inf, np.inf])
    ball = jo.Motion(q0=[1.0, 1.0], force=lambda t, q: -q - 1.0, within=corner, law=jo.Restitution(0.5))
    sol = jo.solve_by_events(ball, t=1.5)
    assert sol.events[0].pairs.tolist() == [[0, -1], [0, -2]]
    np.testing.assert_allclose(sol.events[0].t, np.pi / 3.0, atol=1e-11)  # 2 cos t - 1 = 0
    np.testing.assert_allclose(sol.events[0].after, 0.5 * np.sqrt(3.0), atol=1e-10)


def test_errors_keep_the_motion_until_then():
    ball = jo.Motion(q0=[1.0], force=lambda t, q: [-G], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.9))
    with pytest.raises(jo.errors.UnresolvedEvent, match="more than 3 events") as caught:
        jo.solve_by_events(ball, t=2.0, max_events=3)
    assert caught.value.solution.status == "failed"
    assert len(caught.value.solution.events) == 2
    with pytest.raises(jo.InfeasibleStart):
        jo.solve_by_events(jo.Motion(q0=[-1.0], force=lambda t, q: -q, within=jo.HalfSpace([1.0])), t=1.0)


@pytest.mark.parametrize("place", [whole(0.0), 1000.0])
def test_a_free_rod_turns_with_constant_angular_velocity_and_length(place):
    w, at = 3.0, np.linspace(0.0, 2.0, 41)
    q0, v0 = place + np.array([[-0.5, 0.0], [0.5, 0.0]]), [[0.2, 0.1 - 0.5 * w], [0.2, 0.1 + 0.5 * w]]
    sol = jo.solve_by_events(jo.Motion(q0=q0, v0=v0, within=jo.Rods([(0, 1)], 1.0)), t=2.0)
    rod, rate = (v[:, 1] - v[:, 0] for v in (sol.q(at), sol.u(at)))
    np.testing.assert_allclose(np.linalg.norm(rod, axis=1), 1.0, atol=1e-10)
    np.testing.assert_allclose(rod[:, 0] * rate[:, 1] - rod[:, 1] * rate[:, 0], w, atol=1e-10)
    np.testing.assert_allclose(rod, np.transpose([np.cos(w * at), np.sin(w * at)]), atol=1e-10)


@pytest.mark.parametrize("by_hand", [False, whole(True)])
def test_a_pendulum_on_a_rod_has_the_period_of_the_elliptic_integral(by_hand):
    period = 4.0 / np.sqrt(G) * ellipk(np.sin(1.0) ** 2)  # from an angle of 2
    rod = jo.Rods([(0, -1)], 1.0, points=[[0.0, 0.0]])
    if by_hand:
        unit = {"gradient": lambda t, q: q[None] / np.linalg.norm(q), "moving": False}
        rod = jo.constraints(equal=True, **unit)(lambda t, q: [np.linalg.norm(q) - 1.0])
    start = np.array([[np.sin(2.0), -np.cos(2.0)]])
    sol = jo.solve_by_events(jo.Motion(q0=start, force=[0.0, -G], within=rod), t=period / 4.0)
    np.testing.assert_allclose(sol.q(period / 4.0), [[0.0, -1.0]], atol=1e-10)
    at = np.linspace(0.0, period / 4.0, 41)
    np.testing.assert_allclose(np.linalg.norm(sol.q(at), axis=-1), 1.0, atol=1e-10)
    np.testing.assert_allclose(sol.energy(at).total, G * start[0, 1], atol=1e-9)


@pytest.mark.parametrize("e", [whole(0.0), whole(0.5), 1.0])
def test_two_masses_on_a_rod_hit_the_floor_by_moreaus_law(e):
    rod, mass = jo.Rods([(0, 1)], 1.0) & jo.HalfSpace([0.0, 1.0]), [1.0, 2.0]
    q0, force = [[0.0, 0.1], [np.cos(0.4), 0.1 + np.sin(0.4)]], [[0.0, -G], [0.0, -2.0 * G]]
    drop = jo.Motion(q0=q0, v0=[[0.0, -4.0]] * 2, mass=mass, force=force, within=rod, law=jo.Restitution(e))
    sol = jo.solve_by_events(drop, t=0.15)
    first = sol.events[0]
    assert first.pairs.tolist() == [[0, -2]]  # the rod is no contact
    np.testing.assert_allclose(first.t, (np.sqrt(16.0 + 0.2 * G) - 4.0) / G, rtol=1e-12)
    by_law = jo.impact(first.before, rod.linearise(0.0, sol.q(first.t)).cone(1e-12), law=drop.law, mass=mass)
    np.testing.assert_allclose(first.after, by_law.velocity, atol=1e-13)
    at = np.linspace(0.0, 0.15, 41)
    np.testing.assert_allclose([rod.overlap(0.0, q) for q in sol.q(at)], 0.0, atol=1e-11)
    if e == 1.0:
        assert len(sol.events) >= 2
        np.testing.assert_allclose(sol.energy(at).total, sol.energy([0.0]).total[0], rtol=1e-9)


def test_steps_start_from_corrected_states_so_that_errors_do_not_grow():
    circle = lambda t, y: np.array([-y[1], y[0]])  # noqa: E731
    given = (circle, 0.0, np.array([1.0, 0.0]), 50.0, lambda t, y: np.zeros((len(t), 0)), np.zeros(0), 1.0, None)
    path = follow(*given, lambda t, y: y / np.linalg.norm(y))
    np.testing.assert_allclose([np.linalg.norm(piece.y(piece.end)) for piece in path.pieces], 1.0, atol=2e-14)
    assert abs(np.linalg.norm(follow(*given).y) - 1.0) > 1e-13


def test_a_rod_pulls_at_the_mass_that_a_ledge_stops():
    """The upper mass alone falls on the ledge: with the lower one it is a pendulum whose point of support slides."""
    ledge = jo.constraints(gradient=lambda t, q: [[[0.0, 1.0], [0.0, 0.0]]], moving=False)(lambda t, q: [q[0, 1]])
    within, start = jo.Rods([(0, 1)], 1.0) & ledge, [[0.0, 0.1], [np.sin(0.4), 0.1 - np.cos(0.4)]]
    sol = jo.solve_by_events(jo.Motion(q0=start, force=[0.0, -G], within=within), t=0.25)
    (hit,) = sol.events
    by_law = jo.impact(hit.before, within.linearise(0.0, sol.q(hit.t)).cone(1e-12))
    np.testing.assert_allclose(hit.after, by_law.velocity, atol=1e-13)
    assert by_law.impulse[0] < 0.0  # tension
    q, u, at = sol.q, sol.u, np.array([hit.t, 0.25])
    np.testing.assert_allclose([q(0.25)[0, 1], within.overlap(0.0, q(0.25))], 0.0, atol=1e-12)
    np.testing.assert_allclose(u(0.25)[:, 0].sum(), 0.0, atol=1e-11)  # nothing pushes sideways
    np.testing.assert_allclose(np.ptp(sol.energy(at).total), 0.0, atol=1e-10)


def test_a_ladder_leaves_the_wall_at_two_thirds_of_its_height():
    """Two masses at its ends slide down: x^2 + y^2 = 1 and y^2 (y0 - y) is largest where the wall stops pushing."""
    corner = jo.Rods([(0, 1)], 1.0) & jo.Box([0.0, 0.0], [np.inf, np.inf])
    start = [[0.0, np.sin(1.2)], [np.cos(1.2), 0.0]]
    sol = jo.solve_by_events(jo.Motion(q0=start, force=[0.0, -G], within=corner), t=0.55)
    leaves = brentq(lambda t: sol.q(t)[0, 1] - np.sin(1.2) / 1.5, 0.1, 0.55, xtol=1e-14)
    assert np.abs(sol.starts - leaves).min() < 1e-9
    on, off = sol.q([leaves - 0.01, leaves + 0.01])[:, 0, 0]
    np.testing.assert_allclose(on, 0.0, atol=1e-13)
    assert off > 1e-7
    np.testing.assert_allclose(sol.energy([0.0, 0.55]).total, G * np.sin(1.2), rtol=1e-11)


@pytest.mark.parametrize("w", [3e-5, 3.0])
def test_rods_that_depend_on_each_other_turn_as_one_body(w):
    corners = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    braced = jo.Rods([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3)], [2.0] * 4 + [np.sqrt(8.0)] * 2)
    square = jo.Motion(q0=corners, v0=w * corners[:, ::-1] * [-1.0, 1.0], within=braced)
    sol = jo.solve_by_events(square, t=0.5)
    c, s = np.cos(0.5 * w), np.sin(0.5 * w)
    np.testing.assert_allclose(sol.q(0.5), corners @ [[c, s], [-s, c]], atol=1e-10)


def test_rods_of_wrong_length_are_refused_and_the_start_velocity_along_them_is_lost():
    rod = jo.Rods([(0, 1)], 1.0)
    with pytest.raises(jo.InfeasibleStart, match="rod 0"):
        jo.solve_by_events(jo.Motion(q0=[[0.0, 0.0], [1.1, 0.0]], within=rod), t=1.0)
    pulled = jo.Motion(q0=[[0.0, 0.0], [1.0, 0.0]], v0=[[0.0, 0.0], [1.0, 0.0]], within=rod)
    sol = jo.solve_by_events(pulled, t=1.0)
    np.testing.assert_allclose(sol.u([0.0, 1.0])[..., 0], 0.5, atol=1e-14)
    np.testing.assert_allclose(sol.q(1.0), [[0.5, 0.0], [1.5, 0.0]], atol=1e-14)


def test_equality_constraints_are_refused_where_impact_laws_are_compared():
    with pytest.raises(jo.InvalidValue, match="equality constraints"):
        jo.impacts.compare([1.0, 0.0], jo.convex.Cone([[1.0, 0.0]], equal=[True]))


def table(height, hertz):
    return jo.HalfSpace([1.0], offset=lambda t: height * np.sin(2.0 * np.pi * hertz * t))


def top(energy):
    """Where a point in the potential q^2 / 2 + q^4 / 4 turns back."""
    return np.sqrt(-1.0 + np.sqrt(1.0 + 4.0 * energy))


def until(problem, end, events):
    try:
        return jo.solve_by_events(problem, t=end, max_events=events)
    except jo.errors.UnresolvedEvent as error:
        return error.solution


@pytest.mark.parametrize("end", [1.0, 64.0, 128.0, 4096.0])
@pytest.mark.parametrize(("height", "hertz", "y0"), [(0.08, 2.5, 0.4), (5e-4, 80.0, 0.03)])
def test_an_impact_on_a_shaking_table_does_not_depend_on_the_end_of_the_run(end, height, hertz, y0):
    w, e = 2.0 * np.pi * hertz, 0.6

    def gap(t):
        return y0 - 0.5 * G * t * t - height * np.sin(w * t)

    grid = np.linspace(0.0, 0.4, 40001)
    first = int(np.argmax(gap(grid) < 0.0))
    hit = brentq(gap, grid[first - 1], grid[first], xtol=1e-15)
    ball = jo.Motion(q0=[y0], force=[-G], within=table(height, hertz), law=jo.Restitution(e))
    (event, *_) = until(ball, end, 2).events
    assert event.t == pytest.approx(hit, abs=1e-11)
    assert event.after[0] == pytest.approx((1.0 + e) * height * w * np.cos(w * hit) + e * G * hit, abs=1e-9)


def test_impacts_under_a_force_from_the_origin_do_not_depend_on_the_end_of_the_run():
    """A point at 0 has no length, and a force that is 0 there no size."""
    point = jo.Motion(q0=[0.0], v0=[1.0], force=lambda t, q: -q - q**3, within=jo.HalfSpace([1.0]))
    bouncing = jo.Motion(q0=[0.0], v0=[1.0], force=point.force, within=point.within, law=jo.Restitution(0.9))
    short, long = (until(bouncing, end, 8) for end in (1e2, 1e8))
    half = [2.0 * quad(lambda q, E=E: 1.0 / np.sqrt(2.0 * E - q**2 - 0.5 * q**4), 0.0, top(E))[0] for E in (0.5, 0.405)]
    np.testing.assert_allclose([event.t for event in short.events[:2]], np.cumsum(half), atol=1e-8)
    np.testing.assert_allclose([one.t for one in long.events], [one.t for one in short.events], atol=1e-12)


@pytest.mark.parametrize("end", [0.5, 2.0])
def test_a_ball_rests_on_a_table_from_the_start_of_its_sine(end):
    """Second differences of a sine vanish at 0: they are those of a straight line there."""
    sol = jo.solve_by_events(jo.Motion(q0=[0.0], v0=[0.02 * 4.0 * np.pi], force=[-G], within=table(0.02, 2.0)), t=end)
    at = np.array([0.0, 0.1, 0.33, 0.5])
    np.testing.assert_allclose(sol.q(at)[:, 0], 0.02 * np.sin(4.0 * np.pi * at), atol=1e-11)


@pytest.mark.parametrize("end", [0.4, 96.0])
def test_a_ball_takes_off_from_a_table_whatever_the_end_of_the_run(end):
    w, k = 2.0 * np.pi / 0.6, 1.6
    height, leaves = k * G / w**2, np.arcsin(1.0 / k) / w
    ball = jo.Motion(q0=[0.0], v0=[height * w], force=[-G], within=table(height, 1.0 / 0.6))
    s = 0.25 - leaves
    exact = height / k + height * w * np.cos(w * leaves) * s - 0.5 * G * s * s
    assert until(ball, end, 3).q(0.25)[0] == pytest.approx(exact, abs=1e-9)


def test_a_pendulum_on_a_shaken_point_does_not_depend_on_the_end_of_the_run():
    rod = jo.Rods([(0, -1)], 0.5, points=lambda t: [[0.1 * np.sin(2.0 * np.pi * t), 0.0]])
    pendulum = jo.Motion(q0=[[0.0, -0.5]], v0=[[0.2 * np.pi, 0.0]], force=[0.0, -G], within=rod)
    short, long = (jo.solve_by_events(pendulum, t=end) for end in (0.5, 1.5))
    np.testing.assert_allclose(long.q(0.5), short.q(0.5), atol=1e-9)


@pytest.mark.parametrize(("w", "r0", "start"), [(1.5, 0.7, 0.0), (-1.5, 0.7, 0.0), (0.8, 20.0, 0.6)])
def test_a_bead_that_a_wall_pushes_or_leaves_from_a_force_of_zero(w, r0, start):
    """r'' = w^2 r, and the contact force 2 w r' begins at 0; a wall that turns away leaves the bead alone."""
    turn = [np.cos(start), np.sin(start)]
    wall = jo.HalfSpace(lambda t: [-np.sin(start + w * t), np.cos(start + w * t)])
    v0 = w * r0 * np.array([-turn[1], turn[0]])
    sol = jo.solve_by_events(jo.Motion(q0=np.multiply(r0, turn), v0=v0, within=wall), t=1.0)
    if w > 0.0:
        exact = r0 * np.cosh(w) * np.array([np.cos(start + w), np.sin(start + w)])
    else:
        exact = np.multiply(r0, turn) + v0
    np.testing.assert_allclose(sol.q(1.0), exact, atol=1e-8 * r0)


@pytest.mark.parametrize("force", [[-G], lambda t, q: [-G]])
def test_a_run_of_no_time_is_its_start(force):
    ball = jo.Motion(q0=[1.5], v0=[-2.0], force=force, within=jo.HalfSpace([1.0]))
    for span in (0.0, (3.0, 3.0)):
        sol = jo.solve_by_events(ball, t=span)
        assert (sol.start, sol.end, sol.events) == (sol.end, sol.end, ())
        assert (sol.q(sol.end).tolist(), sol.u(sol.end).tolist()) == ([1.5], [-2.0])
        np.testing.assert_array_equal(jo.sensitivity_by_events(ball, t=span).derivative, np.eye(2))
    with pytest.raises(jo.InfeasibleStart):
        jo.solve_by_events(jo.Motion(q0=[-1.0], force=force, within=jo.HalfSpace([1.0])), t=0.0)


def test_a_long_rest_takes_few_integration_steps():
    """The contact force and the weight cancel up to round-off, which moves nothing: 13188 steps otherwise."""
    force = lambda t, q: [-1.3 * (1.0 - t / 900.0)]  # noqa: E731
    resting = jo.Motion(q0=[1.0], mass=0.7, force=force, within=jo.HalfSpace([1.0], 1.0))
    sol = jo.solve_by_events(resting, t=1000.0)
    np.testing.assert_array_equal(sol.q([300.0, 899.0]), 1.0)
    assert len(sol.pieces) < 100
