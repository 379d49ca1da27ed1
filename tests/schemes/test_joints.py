"""Rods, joints, beads on wires and chains: all schemes against ordinary differential equations and exact shapes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import jostle as jo
from rows import examples, few, whole

GRAVITY = 9.81
START = 1.0
"""The angle at which the pendulum starts, from below."""


def at_angle(angle):
    return np.array([[np.sin(angle), -np.cos(angle)]])


def integrated(right, start, t):
    return solve_ivp(right, (0.0, t), start, rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]


def exact_pendulum(t):
    return at_angle(integrated(lambda _, y: [y[1], -GRAVITY * np.sin(y[0])], [START, 0.0], t)[0])


def pendulum(v0=0.0, e=0.0):
    rod = jo.Rods([(0, -1)], 1.0, points=[[0.0, 0.0]])
    law = jo.Restitution(e)
    return jo.Motion(q0=at_angle(START), v0=v0, force=[0.0, -GRAVITY], within=rod, law=law)


def half_a_kick_back(h):
    """v0 - h a / 2 with the acceleration a at the start, along the circle."""
    along = np.array([[np.cos(START), np.sin(START)]])
    return h / 2.0 * GRAVITY * np.sin(START) * along


def errors(solve, exact, steps):
    """The largest error of the last position, for each h."""
    return np.array([np.abs(solve(h).q[-1] - exact).max() for h in steps])


def orders(values):
    return np.log2(values[:-1] / values[1:])


STEPS = (0.01, 0.005)
RUNS = {
    "Maury": (lambda h: jo.solve(pendulum(), jo.Maury(), t=1.0, h=h), 1.0),
    "Maury with half a kick": (lambda h: jo.solve(pendulum(half_a_kick_back(h)), jo.Maury(), t=1.0, h=h), 2.0),
    "MoreauJean": (lambda h: jo.solve(pendulum(), jo.MoreauJean(), t=1.0, h=h), 2.0),
    "MoreauJean, e = 0.7": (lambda h: jo.solve(pendulum(e=0.7), jo.MoreauJean(), t=1.0, h=h), 2.0),
    "Paoli": (lambda h: jo.solve(pendulum(), jo.Paoli(), t=1.0, h=h), 1.0),
    "Paoli, e = 0.5": (lambda h: jo.solve(pendulum(e=0.5), jo.Paoli(), t=1.0, h=h), 1.0),
    "Paoli, e = 1": (lambda h: jo.solve(pendulum(e=1.0), jo.Paoli(), t=1.0, h=h), 2.0),
}


@pytest.mark.parametrize("name", few(RUNS))
def test_a_pendulum_converges_to_the_differential_equation(name):
    solve, order = RUNS[name]
    found = errors(solve, exact_pendulum(1.0), STEPS)
    assert orders(found) == pytest.approx(order, abs=0.15)
    assert found[-1] < (4e-4 if order == 2.0 else 4e-2)


@pytest.mark.parametrize("e", [0.5, whole(1.0)])
def test_a_pendulum_with_steps_that_change_stays_on_its_circle_where_contacts_bounce(e):
    """Paoli's scheme reflects the path of the step before, which has left the equalities: it is put back first."""

    def solve(h):
        sizes = np.random.default_rng(0).uniform(0.3, 1.7, round(1.0 / h))
        return jo.solve(pendulum(e=e), jo.Paoli(), t=1.0, h=sizes / sizes.sum())

    steps = np.array([0.01, 0.005])
    assert (errors(solve, exact_pendulum(1.0), steps) < 3.0 * steps).all()
    assert solve(0.01).overlap < 20.0 * 0.01**2


@pytest.mark.parametrize(
    "scheme", [whole(jo.Maury()), whole(jo.MoreauJean()), jo.Paoli()], ids=lambda scheme: type(scheme).__name__
)
def test_the_length_error_of_a_rod_is_of_second_order_and_does_not_grow(scheme):
    drifts = []
    for h in (0.02, 0.01):
        sol = jo.solve(pendulum(), scheme, t=2.2, h=h)
        drift = -sol.gaps()
        half = len(drift) // 2
        assert drift[half:].max() <= 1.02 * drift[:half].max() + 1e-12
        assert sol.overlap == pytest.approx(drift.max(), rel=1e-9, abs=1e-9)
        drifts.append(drift.max())
    assert drifts[0] < 2e-3
    assert drifts[1] <= 0.27 * drifts[0] + 1e-12


def test_with_the_half_kick_the_energy_of_a_pendulum_stays_for_long():
    h = 0.01
    sol = jo.solve(pendulum(half_a_kick_back(h)), jo.Maury(), t=5.0, h=h)
    middle = (sol.q[1:-1, 0, 1] + sol.q[:-2, 0, 1]) / 2.0  # u^n belongs to the middle of the step
    energy = 0.5 * (sol.u[1:-1, 0] ** 2).sum(axis=1) + GRAVITY * middle
    assert np.ptp(energy) < 5e-3 * GRAVITY


@jo.constraints(equal=True)
def parabola(t, q):
    """The wire y = x^2."""
    return [q[1] - q[0] ** 2]


@jo.constraints(equal=True, gradient=lambda t, q: [2.0 * q], length=1.0, moving=False)
def circle(t, q):
    """The wire |q| = 1, as a quadratic function."""
    return [q @ q - 1.0]


def exact_bead_on_parabola(t):
    """(1 + 4 x^2) x'' + 4 x x'^2 + 2 g x = 0."""

    def right(_, y):
        x, v = y
        return [v, -(4.0 * x * v**2 + 2.0 * GRAVITY * x) / (1.0 + 4.0 * x**2)]

    x = integrated(right, [1.0, 0.0], t)[0]
    return np.array([x, x**2])


def exact_bead_on_circle(t):
    return exact_pendulum(t)[0]


BEADS = {
    "parabola, Maury": (parabola, [1.0, 1.0], exact_bead_on_parabola, jo.Maury(), 1.0),
    "parabola, MoreauJean": (parabola, [1.0, 1.0], exact_bead_on_parabola, jo.MoreauJean(), 2.0),
    "circle, Maury": (circle, at_angle(START)[0], exact_bead_on_circle, jo.Maury(), 1.0),
    "circle, MoreauJean": (circle, at_angle(START)[0], exact_bead_on_circle, jo.MoreauJean(), 2.0),
    "circle, Paoli": (circle, at_angle(START)[0], exact_bead_on_circle, jo.Paoli(), 1.0),
}


@pytest.mark.parametrize("name", few(BEADS))
def test_a_bead_on_a_wire_converges_to_the_differential_equation(name):
    wire, start, exact, scheme, order = BEADS[name]
    bead = jo.Motion(q0=start, force=[0.0, -GRAVITY], within=wire)
    found = errors(lambda h: jo.solve(bead, scheme, t=0.8, h=h), exact(0.8), STEPS)
    assert orders(found) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("scheme", [jo.Venel(), jo.CatchingUp()], ids=lambda scheme: type(scheme).__name__)
def test_a_bead_that_is_dragged_goes_round_its_wire(scheme):
    """x' = the part of U along the circle: theta' = cos(theta), so that sin(theta) = tanh(t)."""
    drag = jo.Sweeping(q0=[1.0, 0.0], velocity=[0.0, 1.0], within=circle)
    exact = np.array([1.0 / np.cosh(1.0), np.tanh(1.0)])
    found = errors(lambda h: jo.solve(drag, scheme, t=1.0, h=h), exact, (0.02, 0.01))
    assert orders(found) == pytest.approx(1.0, abs=0.2)


def chain(links, width, length):
    """A chain of equal links between two points at the same height, which hangs in a V."""
    link, along = length / links, np.arange(links + 1) * length / links
    slope = np.arccos(width / length)
    x, y = along * np.cos(slope), -np.minimum(along, length - along) * np.sin(slope)
    pairs = [(0, -1), *((i, i + 1) for i in range(links - 2)), (links - 2, -2)]
    return np.stack([x, y], axis=1)[1:-1], jo.Rods(pairs, link, points=[[0.0, 0.0], [width, 0.0]])


def discrete_catenary(links, width, length):
    """The joints at rest, and the horizontal force H in weights of a joint: the slope of link k is k / H."""
    link, k = length / links, np.arange(links) - (links - 1) / 2.0
    H = brentq(lambda H: (link / np.hypot(1.0, k / H)).sum() - width, 1e-3, 1e3 * links)
    steps = link * np.stack([np.ones(links), k / H], axis=1) / np.hypot(1.0, k / H)[:, None]
    return np.cumsum(steps, axis=0)[:-1], H, k


def hung(links, width=1.0, length=1.5):
    """The chain after it has been lowered until it rests."""
    q0, rods = chain(links, width, length)
    h = 0.75 / links**2  # the tensions are in proportion to the links, and stiff links are short
    return jo.solve(jo.Sweeping(q0=q0, velocity=[0.0, -1.0], within=rods), jo.Venel(), t=6.0, h=h, every=100)


def test_a_chain_hangs_in_the_discrete_catenary():
    sol = hung(10)
    shape, H, k = discrete_catenary(10, 1.0, 1.5)
    assert sol.q[-1] == pytest.approx(shape, abs=1e-10)
    assert -sol.multipliers[-1] == pytest.approx(H * np.hypot(1.0, k / H), rel=1e-8)


@pytest.mark.whole
def test_a_chain_of_many_links_hangs_in_the_catenary():
    """a cosh((x - 1/2) / a) + const, 2 a sinh(1 / 2a) = 1.5: the lowest point, with second order in the links."""
    a = brentq(lambda a: 2.0 * a * np.sinh(0.5 / a) - 1.5, 0.05, 10.0)
    depth = a * np.cosh(0.5 / a) - a
    found = np.array([abs(-hung(links).q[-1][:, 1].min() - depth) for links in (6, 12)])
    assert orders(found) == pytest.approx(2.0, abs=0.15)


@pytest.mark.whole
def test_a_chain_that_swings_comes_to_rest_in_the_same_catenary():
    q0, rods = chain(8, 1.0, 1.5)
    swing = jo.Motion(q0=q0, force=lambda t, q, u: [0.0, -GRAVITY] - 4.0 * u, within=rods)
    sol = jo.solve(swing, jo.Maury(), t=9.0, h=0.01, every=400)
    assert sol.q[-1] == pytest.approx(discrete_catenary(8, 1.0, 1.5)[0], abs=1e-5)


def test_a_free_rod_keeps_its_momentum_and_its_angular_momentum():
    mass = np.array([1.0, 3.0])
    rod = jo.Motion(q0=[[0.0, 0.0], [1.0, 0.0]], v0=[[0.3, -1.0], [0.3, 2.0]], mass=mass, within=jo.Rods([(0, 1)], 1.0))
    sol = jo.solve(rod, jo.Maury(), t=3.0, h=0.01)
    momentum = np.einsum("b,kbd->kd", mass, sol.u)
    spin = np.einsum("b,kb->k", mass, sol.q[..., 0] * sol.u[..., 1] - sol.q[..., 1] * sol.u[..., 0])
    assert momentum == pytest.approx(np.tile(momentum[0], (len(momentum), 1)), abs=1e-11)
    assert spin == pytest.approx(np.full(len(spin), spin[0]), abs=1e-10)
    assert np.sqrt(((sol.q[:, 1] - sol.q[:, 0]) ** 2).sum(axis=1)) == pytest.approx(1.0, abs=2e-3)


def double_pendulum(e):
    """The double pendulum of `jo.models` in the plane: two rods, and a wall that the first body hits."""
    angles = np.array([0.6, 0.2])
    q0 = np.cumsum(np.stack([np.sin(angles), -np.cos(angles)], axis=1), axis=0)
    rods = jo.Rods([(0, -1), (0, 1)], 1.0, points=[[0.0, 0.0]])

    @jo.constraints(gradient=lambda t, q: [[[1.0, 0.0], [0.0, 0.0]]], convex=True, moving=False)
    def wall(t, q):
        return [q[0, 0]]

    return jo.Motion(q0=q0, force=[0.0, -GRAVITY], within=rods & wall, law=jo.Restitution(e))


def exact_double_pendulum(e, t):
    """The joints at time t and the time of the one impact, from the model in angles and an event of the integrator."""
    model = jo.models.double_pendulum(e=e)

    def right(time, y):
        return np.append(y[2:], np.linalg.solve(model.mass(y[:2]), model.force(time, y[:2], y[2:])))

    def hits(time, y):
        return y[0]

    hits.terminal, hits.direction = True, -1
    until = solve_ivp(right, (0.0, t), [*model.q0, 0.0, 0.0], events=hits, rtol=1e-12, atol=1e-13)
    y, reaction = until.y[:, -1], np.linalg.solve(model.mass(until.y[:2, -1]), [1.0, 0.0])
    y[2:] -= (1.0 + e) * y[2] * reaction / reaction[0]
    angles = solve_ivp(right, (until.t[-1], t), y, rtol=1e-12, atol=1e-13).y[:2, -1]
    return np.cumsum(np.stack([np.sin(angles), -np.cos(angles)], axis=1), axis=0), until.t[-1]


@pytest.mark.parametrize("scheme", [jo.MoreauJean(), whole(jo.Paoli())], ids=lambda scheme: type(scheme).__name__)
def test_a_double_pendulum_of_rods_hits_a_wall_like_one_in_angles(scheme):
    exact, time = exact_double_pendulum(0.5, 0.6)
    sol = jo.solve(double_pendulum(0.5), scheme, t=0.6, h=2e-3)
    assert np.abs(sol.q[-1] - exact).max() < 6.0 * 2e-3
    hit = sol.impacts(speed=0.5)
    assert hit.t == pytest.approx([time], abs=4e-3)
    assert hit.pairs.tolist() == [[-1, 2]]  # the wall: rods do not close


def test_a_double_pendulum_that_does_not_bounce_stays_at_the_wall_in_both_models():
    in_angles = jo.solve(jo.models.double_pendulum(e=0.0), jo.Paoli(), t=0.6, h=2e-3).q[-1]
    expected = np.cumsum(np.stack([np.sin(in_angles), -np.cos(in_angles)], axis=1), axis=0)
    sol = jo.solve(double_pendulum(0.0), jo.Maury(), t=0.6, h=2e-3)
    assert sol.q[-1] == pytest.approx(expected, abs=0.02)
    assert sol.gaps().min() > -4e-4


def test_a_chain_of_1000_links_hangs_and_hits_a_floor():
    links, link = 1000, 0.1
    x = link * np.arange(1, links + 1)
    rods = jo.Rods([(0, -1), *((i, i + 1) for i in range(links - 1))], link, points=[[0.0, 0.0]])
    within = rods & jo.HalfSpace([0.0, 1.0], -0.25)
    fall = jo.Motion(q0=np.stack([x, np.zeros(links)], axis=1), force=[0.0, -GRAVITY], within=within)
    sol = jo.solve(fall, jo.Maury(), t=0.4, h=4e-3, every=20)
    assert sol.status == "finished"
    assert set(sol.stats["solver"][1:].tolist()) == {"SemismoothNewton"}
    assert sol.q[-1][:, 1].min() == pytest.approx(-0.25, abs=1e-9)
    assert (sol.q[-1][:, 1] < -0.25 + 1e-9).sum() > 500
    assert sol.overlap < 0.05
    assert sol.multipliers[-1][:links].min() < 0.0  # the links at the point hang


few_runs = settings(max_examples=examples(8))
"""Each example is a run."""


@few_runs
@given(st.floats(-5.0, 5.0), st.floats(1e-3, 1e-2), st.floats(0.2, 5.0), st.booleans())
def test_a_rod_hoisted_at_a_constant_speed_carries_the_weight(speed, h, length, dependent):
    """Also if the rod is there twice, so that the two depend on each other."""

    def points(t):
        return [[0.0, length + speed * t]]

    rods = jo.Rods([(0, -1)] * (2 if dependent else 1), length, points=points)
    load = jo.Motion(q0=[[0.0, 0.0]], v0=[[0.0, speed]], force=[0.0, -GRAVITY], within=rods)
    sol = jo.solve(load, jo.Maury(), t=20 * h, h=h)
    tension = np.array([p.sum() for p in sol.multipliers[1:]]) / h
    assert tension == pytest.approx(-GRAVITY, rel=1e-6)
    assert sol.u[:, 0, 1] == pytest.approx(speed, abs=1e-9)


@few_runs
@given(st.floats(0.3, 3.0), st.floats(0.3, 3.0), st.floats(1.0, 6.0), st.floats(0.5, 2.0), st.floats(0.005, 0.02))
def test_a_rod_on_a_moving_point_is_too_long_by_what_a_step_across_it_makes(wide, high, rate, length, h):
    """Linearised at the end of the step, the rod has its length along its old direction, and h |u| across it."""

    def points(t):
        return [[wide * np.sin(rate * t), high * np.sin(1.7 * rate * t)]]

    rods = jo.Rods([(0, -1)], length, points=points)
    bob = jo.Motion(q0=[[0.0, -length]], force=[0.0, -GRAVITY], within=rods)
    sol = jo.solve(bob, jo.Maury(), t=60 * h, h=h)
    speed = np.linalg.norm(sol.u[:, 0], axis=1)
    assert (-sol.gaps() <= (h * speed) ** 2 / (2.0 * length) + 1e-9 * length).all()


@jo.constraints(equal=True, gradient=lambda t, q: [[[0.0, 1.0]]], moving=False)
def guide(t, q):
    """The straight guide of a slider."""
    return [q[0, 1]]


@pytest.mark.parametrize("scheme", [whole(jo.Maury()), jo.MoreauJean()], ids=lambda scheme: type(scheme).__name__)
@few_runs
@given(st.floats(0.05, 0.8), st.floats(0.05, 0.12), st.floats(-3.0, 3.0))
def test_a_slider_crank_passes_its_dead_centres(scheme, crank, turn, decade):
    """`crank` is the radius over the length of the rod, `turn` the angle of a step."""
    length = 10.0**decade
    r, h = crank * length, 1e-3

    def pin(t):
        return [[r * np.cos(turn * t / h), r * np.sin(turn * t / h)]]

    within = jo.Rods([(0, -1)], length, points=pin) & guide
    slider = jo.Motion(q0=[[r + length, 0.0]], within=within)
    sol = jo.solve(slider, scheme, t=h * np.ceil(3.6 / turn), h=h)
    angle = turn * sol.t / h
    exact = r * np.cos(angle) + np.sqrt(length**2 - (r * np.sin(angle)) ** 2)
    assert np.abs(sol.q[:, 0, 0] - exact).max() <= turn**2 * r / (1.0 - crank)
