"""Restitution where walls and radii move: the law is one on relative velocities."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

import jostle as jo
from rows import examples, whole

GRAVITY, AMPLITUDE, FREQUENCY = 9.81, 0.1, 5.0


def height(t):
    return AMPLITUDE * np.sin(FREQUENCY * t)


def speed(t):
    return AMPLITUDE * FREQUENCY * np.cos(FREQUENCY * t)


def on_a_table(q0, e):
    table = jo.HalfSpace([1.0], offset=height)
    return jo.Motion(q0=[q0], force=[-GRAVITY], within=table, law=jo.Restitution(e))


def by_events(q, e, end, samples=4000):
    """Position, velocity and (time, rate before, rate after) of the impacts of a ball on the table, by root finding."""
    t, v, impacts = 0.0, 0.0, []
    while True:

        def gap(s, t=t, q=q, v=v):
            return q + v * (s - t) - GRAVITY / 2.0 * (s - t) ** 2 - height(s)

        times = np.linspace(t, end, samples)[1:]
        below = np.flatnonzero(gap(times) < 0.0)
        if len(below) == 0:
            return gap(end) + height(end), v - GRAVITY * (end - t), impacts
        hit = brentq(gap, times[below[0] - 1], times[below[0]], xtol=1e-13)
        rate = v - GRAVITY * (hit - t) - speed(hit)
        t, q, v = hit, height(hit), speed(hit) - e * rate
        impacts.append((hit, rate, -e * rate))


def test_the_reference_is_that_of_event_driven_integration():
    exact, found = by_events(1.0, 0.8, 1.2), jo.solve_by_events(on_a_table(1.0, 0.8), t=1.2)
    np.testing.assert_allclose([event.t for event in found.events], [one[0] for one in exact[2]], atol=1e-11)
    np.testing.assert_allclose([found.q(1.2)[0], found.u(1.2)[0]], exact[:2], atol=1e-10)


def test_a_ball_on_a_sinusoidal_table_converges_with_order_one_to_the_event_driven_solution():
    starts, errors = np.linspace(0.8, 1.2, 10), []
    exact = np.array([by_events(q, 0.8, 1.1)[0] for q in starts])
    balls = jo.Motion(
        q0=starts[:, None], force=-GRAVITY, within=jo.HalfSpace([1.0], offset=height), law=jo.Restitution(0.8)
    )
    for h in (4e-3, 5e-4):
        sol = jo.solve(balls, jo.MoreauJean(), t=1.1, h=h, every=10**6)
        errors.append(np.abs(sol.q[-1, :, 0] - exact).mean())
    order = np.log2(errors[0] / errors[-1]) / 3.0
    assert 0.8 < order < 1.2, (order, errors)
    assert errors[-1] < 2e-3


@pytest.mark.parametrize(("t", "count"), [(0.8, 1), whole((1.5, 2)), whole((2.6, 5))])
def test_the_impacts_on_a_table_are_those_of_the_event_driven_solution(t, count):
    sol, (_, _, impacts) = jo.solve(on_a_table(1.0, 0.8), jo.MoreauJean(), t=t, h=5e-4), by_events(1.0, 0.8, t)
    found = sol.impacts(speed=0.1)
    assert len(found) == len(impacts) == count
    np.testing.assert_allclose(found.t, [one[0] for one in impacts], atol=2e-2)
    np.testing.assert_allclose(found.before, [one[1] for one in impacts], atol=8e-2)
    np.testing.assert_allclose(found.after, -0.8 * found.before, atol=1e-2)  # gravity acts for one more step


def test_after_an_impact_in_the_last_step_the_velocity_is_relative_to_the_wall_at_the_end():
    ball = jo.Motion(q0=[0.05], within=jo.HalfSpace([1.0], offset=lambda t: t * t), law=jo.Restitution(0.5))
    first = jo.solve(ball, jo.MoreauJean(), t=1.0, h=0.1).impacts().t[0]
    sol = jo.solve(ball, jo.MoreauJean(), t=first, h=0.1)
    np.testing.assert_allclose(sol.impacts().after, sol.u[-1] - 2.0 * first, atol=1e-12)


def test_a_ball_that_rests_on_a_table_follows_it_without_chatter():
    """The table never accelerates downwards faster than the ball falls, so that the ball stays on it."""
    slow = jo.HalfSpace([1.0], offset=lambda t: 0.1 * np.sin(5.0 * t + 0.5 * np.pi))
    ball = jo.Motion(q0=[0.1], force=[-GRAVITY], within=slow, law=jo.Restitution(0.8))
    for h in (1e-2, 5e-3):
        sol = jo.solve(ball, jo.MoreauJean(), t=1.4, h=h)
        np.testing.assert_allclose(sol.q[:, 0], 0.1 * np.cos(5.0 * sol.t), atol=8.0 * h**2)


PISTON_SPEEDS = [2.0, -0.5, 0.0]


@pytest.mark.each_value
@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("w", PISTON_SPEEDS)
@pytest.mark.parametrize("h", [0.1, 0.013])
def test_a_piston_of_constant_velocity_gives_the_exact_velocity(e, w, h):
    piston = jo.HalfSpace([1.0], offset=lambda t: w * t)
    ball = jo.Motion(q0=[1.0], v0=[-1.0], mass=3.0, within=piston, law=jo.Restitution(e))
    sol = jo.solve(ball, jo.MoreauJean(), t=3.0, h=h)
    np.testing.assert_allclose(sol.u[-1], e + (1.0 + e) * w, atol=1e-11)
    np.testing.assert_allclose(
        sol.multipliers[int(np.argmax([p.any() for p in sol.multipliers]))], 3.0 * (1 + e) * (1 + w)
    )


def test_a_piston_goes_at_most_half_a_step_into_a_ball_at_rest():
    piston = jo.HalfSpace([1.0], offset=lambda t: 2.0 * t)
    for q0 in (0.01, 0.11, 0.19):
        sol = jo.solve(jo.Motion(q0=[q0], within=piston, law=jo.Restitution(1.0)), jo.MoreauJean(), t=1.0, h=0.1)
        assert sol.gaps().min() >= -0.1 - 1e-12
        np.testing.assert_allclose(sol.u[-1], 4.0, atol=1e-11)


def test_a_ball_that_lands_on_a_table_without_restitution_has_its_velocity_in_the_list_of_impacts():
    sol = jo.solve(on_a_table(1.0, 0.0), jo.Maury(), t=0.6, h=0.01)
    landed = sol.impacts(speed=1.0)
    assert len(landed) == 1
    np.testing.assert_allclose(landed.after, 0.0, atol=1e-9)


def disc_hit_by(paddle, h, e=0.6):
    disc = jo.Motion(q0=[[1.0, 0.4]], within=paddle, law=jo.Restitution(e))
    return jo.solve(disc, jo.MoreauJean(), t=0.6, h=h)


def turned(angle, points):
    c, s = np.cos(angle), np.sin(angle)
    return np.asarray(points) @ np.array([[c, s], [-s, c]])


PADDLES = {
    "thin": lambda t: jo.Segments(lambda t: [turned(t, [[0.0, 0.0], [2.0, 0.0]])], radii=0.1),
    "solid": lambda t: jo.Polygons(lambda t: turned(t, [[0.0, 0.0], [2.0, 0.0], [2.0, -0.3], [0.0, -0.3]]), radii=0.1),
    "a plane": lambda t: jo.HalfSpace(lambda t: [-np.sin(t), np.cos(t)], radii=0.1),
    "a user's": lambda t: jo.constraints(lambda t, q: [q.ravel() @ [-np.sin(t), np.cos(t)] - 0.1]),
}


@pytest.mark.parametrize("paddle", PADDLES.values(), ids=PADDLES)
@pytest.mark.parametrize(("h", "most"), [(4e-3, 8e-3), whole((1e-3, 2e-3))])
def test_a_turning_paddle_hits_a_disc(paddle, h, most):
    """At the angle at which it is 0.1 away, the foot of the disc on the paddle moves at its distance from the hinge."""
    angle = brentq(lambda a: -np.sin(a) + 0.4 * np.cos(a) - 0.1, 0.0, 0.6, xtol=1e-14)
    foot = np.cos(angle) + 0.4 * np.sin(angle)
    exact = 1.6 * foot * np.array([-np.sin(angle), np.cos(angle)])
    assert np.abs(disc_hit_by(paddle(0.0), h).u[-1, 0] - exact).max() < most


def test_a_disc_that_swells_pushes_its_neighbour_away():
    """The gap of two discs closes at the rate 0.5 of the radius; the one that swells is held by its mass."""
    swelling = jo.Balls(lambda t: [0.5 + 0.5 * t, 0.5])
    pair = jo.Motion(q0=[[0.0], [1.25]], mass=[1e12, 1.0], within=swelling, law=jo.Restitution(0.5))
    np.testing.assert_allclose(jo.solve(pair, jo.MoreauJean(), t=1.0, h=0.01).u[-1, 1], 0.75, atol=1e-9)
    row = jo.Motion(q0=[0.0, 1.25], mass=[1e12, 1.0], within=jo.Line(swelling.radii), law=jo.Restitution(0.5))
    np.testing.assert_allclose(jo.solve(row, jo.MoreauJean(), t=1.0, h=0.01).u[-1, 1], 0.75, atol=1e-9)


def test_a_ball_in_a_drum_that_moves_is_carried_along():
    """Two impacts in a row on a circle that moves sideways: each reverses the relative velocity, e = 1."""
    drum = jo.Inside(lambda t: [0.5 * t, 0.0], 1.0)
    ball = jo.Motion(q0=[0.0, 0.0], v0=[2.0, 0.0], within=drum, law=jo.Restitution(1.0))
    sol = jo.solve(ball, jo.MoreauJean(), t=3.0, h=1e-2)
    np.testing.assert_allclose(sol.impacts().before, [-1.5, -1.5], atol=1e-6)
    np.testing.assert_allclose(sol.u[-1], [2.0, 0.0], atol=1e-6)


def test_a_bead_in_a_drum_that_shrinks_sinks_no_further_than_it_has():
    """g + h (G u' + dg/dt) is the largest gap so far, with g and G at the midpoint of a step and dg/dt at its end.

    The radius is a parabola in time, whose rate the scheme knows to round-off.
    """
    drum = jo.Inside([0.0, 0.0], lambda t: 1.0 - 0.1 * t - 0.2 * t * t)
    h, bead = 0.1, jo.Motion(q0=[1.0, 0.0], v0=[-0.1, 2.0], within=drum)
    sol, gaps, sunk = jo.solve(bead, jo.MoreauJean(), t=1.0, h=h), [], []
    for t, q, u, after in zip(sol.t, sol.q, sol.u[:-1], sol.u[1:], strict=False):
        here = drum.linearise(t + h / 2.0, q + h / 2.0 * u)
        gaps.append(float(here.gap[0]))
        sunk.append(gaps[-1] + h * (float((here.G @ after)[0]) - 0.1 - 0.4 * (t + h)))
    assert sunk == pytest.approx(np.maximum.accumulate(gaps), abs=1e-11)
    assert len(sunk) == 10
    assert np.ptp(gaps) > 1e-3


def test_a_bead_that_a_drum_reaches_in_the_middle_of_a_step_moves_at_the_rate_of_its_end():
    """Its gap there is above zero by less than what counts as closed."""
    drum, h = jo.Inside([0.0, 0.0], lambda t: 1.0 - 0.1 * t - 0.2 * t * t), 0.1
    bead = jo.Motion(q0=[1.0 - 0.1 * 0.05 - 0.2 * 0.05**2 - 1e-10, 0.0], within=drum)
    assert 0.0 < drum.gap(h / 2.0, bead.q0) < 1e-9
    assert jo.solve(bead, jo.MoreauJean(), t=h, h=h).u[-1] == pytest.approx([-0.1 - 0.4 * h, 0.0], abs=1e-8)


class Shifted(jo.ConstraintSet):
    """A set of another package: it moves, and gives nothing but `linearise`."""

    moving, convex_gaps = True, True

    def linearise(self, t, q, cutoff=np.inf):
        return jo.HalfSpace([1.0], offset=2.0 * t).linearise(0.0, q, cutoff)


def test_a_set_that_only_linearises_bounces_as_well():
    ball = jo.Motion(q0=[1.0], v0=[-1.0], within=Shifted() & jo.Box(-50.0, 50.0), law=jo.Restitution(0.5))
    np.testing.assert_allclose(jo.solve(ball, jo.MoreauJean(), t=2.0, h=0.05).u[-1], 3.5, atol=1e-11)


CIRCLE = partial(turned, points=[[3.0, 0.0], [0.0, 3.0], [-3.0, 0.0]])
MOVING = {
    "HalfSpace": (jo.HalfSpace(lambda t: [np.cos(t), np.sin(t)], lambda t: -3.0 + np.sin(t), radii=0.1), 2),
    "Box": (jo.Box(lambda t: [-2.0 - t, -3.0], lambda t: [2.0, 2.0 + np.sin(t)], radii=0.1), 2),
    "Outside": (jo.Outside(lambda t: [3.0 + t, 0.0], lambda t: 0.5 + t**2, radii=0.1), 2),
    "Inside": (jo.Inside(lambda t: [t, 0.0], lambda t: 4.0 - t, radii=0.1), 2),
    "Segments": (jo.Segments(lambda t: [turned(t, [[2.0, -1.0], [2.0, 3.0]]), [[-3.0, t], [3.0, 4.0]]], radii=0.1), 2),
    "Polygons": (jo.Polygons(lambda t: [CIRCLE(t) + 6.0, CIRCLE(-t) - 6.0], radii=0.1), 2),
    "Vessel": (jo.Vessel(lambda t: [(2.0 + t, -2.0), (2.5, 3.0)], axis=lambda t: (0.1, t, 1.0), radii=0.1), 3),
    "Balls": (jo.Balls(lambda t: [0.1 + t, 0.2, 0.3 + t**2]), 2),
    "radii of walls": (jo.Box(-3.0 * np.ones(2), 3.0 * np.ones(2), radii=lambda t: [0.1, 0.2 + t, 0.3]), 2),
    "a user's": (jo.constraints(lambda t, q: np.ravel(q) + 5.0 + np.sin(t) * np.arange(q.size)), 2),
}


@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize("with_others", [False, True])
def test_the_rate_of_each_moving_set_is_the_derivative_of_its_gaps(name, with_others):
    Q, d = MOVING[name]
    q = np.random.default_rng(1).uniform(-1.0, 1.0, (3, d))
    if with_others:
        Q = jo.HalfSpace(np.ones(d), -9.0, radii=0.1) & Q & jo.Outside(lambda t: np.full(d, 7.0 + t), 0.2, radii=0.1)
    t, h, s = 0.3, 1e-3, 1e-5
    contacts = Q.near(t, q, np.inf)
    for time, rate in zip((t, t + h), contacts.drifts(t, h), strict=True):
        differences = (Q.gaps(time + s, q) - Q.gaps(time - s, q)) / (2.0 * s)
        np.testing.assert_allclose(rate, differences, atol=2e-6)
    some = np.array([len(contacts.gap) - 1, 0])
    np.testing.assert_allclose(contacts.only(some).drifts(t, h)[0], contacts.drifts(t, h)[0][some], atol=1e-12)


def moving_frame(seed, V, h, steps=60):
    """Three discs in a box that breathes, seen from a frame in which everything has the additional velocity V."""
    random = np.random.default_rng(seed)
    e, v0, shift = random.uniform(0.0, 1.0), random.uniform(-1.0, 1.0, (3, 2)), np.asarray(V)
    q0 = np.array([[-0.6, -0.5], [0.6, -0.4], [0.1, 0.6]]) + random.uniform(-0.1, 0.1, (3, 2))
    phase = random.uniform(0.0, 6.0, 2)
    box = jo.Box(
        lambda t: [-1.2 - 0.1 * np.sin(3.0 * t + phase[0]) + shift[0] * t, -1.2 + shift[1] * t],
        lambda t: [1.2 + shift[0] * t, 1.2 + 0.1 * np.sin(2.0 * t + phase[1]) + shift[1] * t],
    )
    radii = jo.Balls(lambda t: 0.3 + 0.02 * np.sin(t))
    problem = jo.Motion(
        q0=q0, v0=v0 + shift, within=radii & box, law=jo.Restitution(e), mass=random.uniform(1.0, 2.0, 3)
    )
    sol = jo.solve(problem, jo.MoreauJean(), t=steps * h, h=h)
    return sol, sol.q - shift * sol.t[:, None, None]


@settings(max_examples=examples(12), deadline=None)
@given(seed=st.integers(0, 10**6), V=st.tuples(st.floats(-5.0, 5.0), st.floats(-5.0, 5.0)))
def test_a_uniform_velocity_of_walls_and_bodies_shifts_the_solution(seed, V):
    (_, here), (moving, there) = moving_frame(seed, (0.0, 0.0), 0.05), moving_frame(seed, V, 0.05)
    np.testing.assert_allclose(there, here, atol=1e-9)
    assert len(moving.impacts()) > 0


def test_walls_that_squeeze_a_ball_are_named():
    jaws = jo.Box(lambda t: t, lambda t: 1.0 - t)
    ball = jo.Motion(q0=[0.5], within=jaws, law=jo.Restitution(0.5))
    with pytest.raises(jo.errors.EmptySet, match=r"wall q\[0\] >= lower.*they are squeezed"):
        jo.solve(ball, jo.MoreauJean(), t=1.0, h=0.01)


def test_paoli_still_refuses_what_moves_and_names_the_scheme_that_does_not():
    with pytest.raises(jo.errors.SchemeRefuses, match="Paoli needs a set that does not move; use MoreauJean"):
        jo.solve(on_a_table(1.0, 0.8), jo.Paoli(), t=1.0, h=0.01)


def test_grains_that_come_and_go_bounce_on_a_moving_floor():
    floor = jo.HalfSpace([0.0, 1.0], offset=lambda t: 2.0 * t)
    balls = jo.Motion(
        q0=[[0.0, 1.0], [3.0, 1.0]], v0=[0.0, -1.0], within=jo.Balls([0.1, 0.1]) & floor, law=jo.Restitution(0.5),
        present=[True, False],
    )  # fmt: skip
    np.testing.assert_allclose(
        jo.solve(balls, jo.MoreauJean(), t=1.0, h=0.02).u[-1], [[0.0, 3.5], [0.0, 0.0]], atol=1e-11
    )


@pytest.mark.parametrize("law", [jo.Restitution(0.5), jo.Restitution(lambda v: 0.5)], ids=["number", "function"])
def test_a_dumbbell_bounces_off_a_piston_as_one_body(law):
    """Equalities beside contacts that move: both ends leave with w + e (w - u)."""
    within = jo.Rods([[0, 1]], 1.0) & jo.HalfSpace([1.0, 0.0], offset=lambda t: 2.0 * t)
    dumbbell = jo.Motion(q0=[[1.0, 0.0], [2.0, 0.0]], v0=[[-1.0, 0.0], [-1.0, 0.0]], within=within, law=law)
    sol = jo.solve(dumbbell, jo.MoreauJean(), t=1.0, h=0.01)
    assert sol.u[-1] == pytest.approx(np.array([[3.5, 0.0], [3.5, 0.0]]), abs=1e-9)
    assert np.linalg.norm(sol.q[-1, 1] - sol.q[-1, 0]) == pytest.approx(1.0, abs=1e-9)
