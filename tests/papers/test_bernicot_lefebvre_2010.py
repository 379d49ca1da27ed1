"""Bernicot & Lefebvre-Lepot 2010: the scheme (1.12)-(1.15), completely inelastic, with constraints that may move.

The exact answers are closed forms, events found by root finding, or printed numbers of a peer (SCoPI).
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, isotonic_regression

import jostle as jo
from jostle.analysis import order
from rows import few, halvings, whole

G = 9.81
FLOOR = jo.HalfSpace([1.0])


def impulse(sol, k, pair):
    """The impulse of a pair in step k."""
    return float(sol.multipliers[k][(sol.pairs[k] == pair).all(axis=1)].sum())


# --- one mass and a plane -------------------------------------------------------------------------------------------


def test_free_fall_is_the_discrete_closed_form():
    """P01: q^n = y0 - g h^2 n (n + 1) / 2 until the contact step, which ends on the plane; then rest."""
    h, g = 0.01, 10.0
    sol = jo.solve(jo.Motion(q0=[1.0], force=[-g], within=FLOOR), jo.Maury(), t=0.6, h=h)
    q, u = sol.q[:, 0], sol.u[:, 0]
    n = np.arange(45)
    assert np.abs(q[:45] - (1.0 - g * h**2 * n * (n + 1) / 2.0)).max() <= 1e-12
    assert np.abs(u[:45] + g * h * n).max() <= 1e-12
    assert q[44] == pytest.approx(0.01, abs=1e-12)
    assert u[45] == pytest.approx(-1.0, abs=1e-12)
    assert np.abs(q[45:]).max() <= 1e-12
    assert np.abs(u[46:]).max() <= 1e-12


def test_the_impulses_of_a_ball_at_rest_balance_its_weight():
    """P01: sum h lambda over [0, T] = g T once the ball rests, though it fell first."""
    sol = jo.solve(jo.Motion(q0=[1.0], force=[-10.0], within=FLOOR), jo.Maury(), t=0.6, h=0.01)
    assert sum(p.sum() for p in sol.multipliers) == pytest.approx(6.0, abs=1e-12)


def test_free_fall_on_a_plane_converges_with_order_one():
    """P02: sup error g h t_i / 2 = 2.2147 h, at most 2.3 h; order 1 over the halvings."""
    steps = halvings(0.02, 5)
    errors = []
    for h in steps:
        sol = jo.solve(jo.Motion(q0=[1.0], force=[-G], within=FLOOR), jo.Maury(), t=1.0, h=h)
        errors.append(np.abs(sol.q[:, 0] - np.maximum(0.0, 1.0 - G * sol.t**2 / 2.0)).max())
        assert errors[-1] <= 2.3 * h
    fit = order(steps, errors)
    assert fit.order == pytest.approx(1.0, abs=0.02)
    assert errors[-1] / steps[-1] == pytest.approx(2.21472345904, rel=0.01)


@pytest.mark.parametrize("eps", [0.0, 0.01])
@pytest.mark.parametrize("h", few(halvings(0.04, 4)))
def test_a_grazing_flight_lags_by_half_a_kick(eps, h):
    """P07: q = (t - 1)^2 + eps is missed by exactly f h t / 2, and nothing is touched."""
    graze = jo.Motion(q0=[1.0 + eps], v0=[-2.0], force=[2.0], within=FLOOR)
    sol = jo.solve(graze, jo.Maury(), t=2.0, h=h)
    error = sol.q[:, 0] - (sol.t - 1.0) ** 2 - eps
    assert np.abs(error).max() <= 2.1 * h
    assert np.abs(error - h * sol.t).max() <= 1e-12
    assert sum(p.sum() for p in sol.multipliers) == 0.0


@pytest.mark.parametrize("eps", [0.0, 0.01])
@pytest.mark.parametrize("h", [0.04, 0.03, 0.01])
def test_a_grazing_flight_started_with_the_half_kick_is_exact(eps, h):
    """P07: started with v0 - h f / 2 the scheme is Störmer-Verlet, exact for a constant force."""
    graze = jo.Motion(q0=[1.0 + eps], v0=[-2.0 - h], force=[2.0], within=FLOOR)
    sol = jo.solve(graze, jo.Maury(), t=1.8, h=h)
    assert np.abs(sol.q[:, 0] - (sol.t - 1.0) ** 2 - eps).max() <= 1e-12


# --- constraints that move ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", few([*halvings(0.05), 0.037, 0.013, 0.0071]))
def test_a_decelerating_wall_throws_a_resting_mass(h):
    """P13: met at t_c = 2 - sqrt(2), the mass takes the velocity of the wall and leaves it at once."""
    wall = jo.HalfSpace([1.0], offset=lambda t: 2.0 * t - t**2 / 2.0)
    sol = jo.solve(jo.Motion(q0=[1.0], within=wall), jo.Maury(), t=2.5, h=h)
    assert abs(sol.q[-1, 0] - 3.70710678119) <= 4.0 * h
    assert abs(sol.u[-1, 0] - 1.41421356237) <= 4.0 * h
    assert (sol.q[:, 0] >= 2.0 * sol.t - sol.t**2 / 2.0 - 1e-12).all()


def test_a_rotating_wall_pushes_a_particle_outwards():
    """P14: r = cosh t, error at most 0.6 h; lambda = 2 sinh t, of order 1."""
    steps, errors = halvings(0.04), []
    wall = jo.HalfSpace(normal=lambda t: [-np.sin(t), np.cos(t)])
    for h in steps:
        sol = jo.solve(jo.Motion(q0=[1.0, 0.0], v0=[0.0, 1.0], within=wall), jo.Maury(), t=1.0, h=h)
        exact = np.cosh(sol.t)[:, None] * np.stack([np.cos(sol.t), np.sin(sol.t)], axis=1)
        assert np.linalg.norm(sol.q - exact, axis=1).max() <= 0.6 * h
        assert np.abs(sol.q[-1] - [0.833730025131, 1.29845758142]).max() <= 0.6 * h
        errors.append(abs(sol.multipliers[-1][0] / h - 2.35040238729))
    assert order(steps, errors).order == pytest.approx(1.0, abs=0.05)


def bouncing_table(Gamma):
    """Amplitude of the table, detachment and landing of a completely inelastic ball on it, gravity 1."""
    w = 2.0 * np.pi
    A = Gamma / w**2
    detach = np.arcsin(1.0 / Gamma) / w

    def flight(t):
        s = t - detach
        return A * np.sin(w * detach) + A * w * np.cos(w * detach) * s - s**2 / 2.0

    land = brentq(lambda t: flight(t) - A * np.sin(w * t), detach + 0.1, detach + 1.0, xtol=1e-15)

    def height(t):
        phase = t - np.floor(t)
        return np.where((detach < phase) & (phase < land), flight(phase), A * np.sin(w * phase))

    return A, detach, land, height


@pytest.mark.parametrize(
    ("Gamma", "printed"),
    [(2.0, (0.0506605918212, 0.0833333333333, 0.824812574824)), whole((1.2, (None, 0.156785250661, 0.539123954211)))],
)
def test_an_inelastic_ball_on_a_vibrating_table_has_period_one(Gamma, printed):
    """P15: detaches, lands and sticks in each period; sup error at most 2 h^2 when started on the table, order 2."""
    A, detach, land, height = bouncing_table(Gamma)
    for value, number in zip((A, detach, land), printed, strict=True):
        assert number is None or value == pytest.approx(number, abs=1e-11)
    table = jo.HalfSpace([1.0], offset=lambda t: A * np.sin(2.0 * np.pi * t))
    ball = jo.Motion(q0=[0.0], v0=[2.0 * np.pi * A], force=[-1.0], within=table)
    steps, errors = halvings(1.0 / 50.0, 7), []
    for h in steps:
        sol = jo.solve(ball, jo.Maury(), t=2.0, h=h)
        errors.append(np.abs(sol.q[:, 0] - height(sol.t)).max())
        assert errors[-1] <= 2.0 * h**2
    assert order(steps, errors).order == pytest.approx(2.0, abs=0.15)


@pytest.mark.parametrize("h", [0.01, 0.1, 1.0, 7.0])
@pytest.mark.parametrize("on_a_line", [True, False])
def test_a_growing_chain_spreads_evenly(h, on_a_line):
    """P16: radii 1 + 0.3 t drive a touching chain apart with u_i = 0.3 (2 i - n - 1) from the first step, for every h.

    The constraint taken at t^{n+1} contains the growth of the radii, which the cone printed in section 4 leaves out.
    """

    def radii(t):
        return np.full(5, 1.0 + 0.3 * t)

    x = 2.0 * np.arange(5)
    q0, within = (x, jo.Line(radii)) if on_a_line else (np.stack([x, 0.0 * x], axis=1), jo.Balls(radii))
    sol = jo.solve(jo.Motion(q0=q0, within=within), jo.Maury(), t=5 * h, h=h)
    u = np.array([-1.2, -0.6, 0.0, 0.6, 1.2])
    along = sol.q if on_a_line else sol.q[:, :, 0]
    speed = sol.u if on_a_line else sol.u[:, :, 0]
    assert np.abs(speed[1:] - u).max() <= 1e-12
    assert np.abs(along - x - np.outer(sol.t, u)).max() <= 1e-12 * max(1.0, np.abs(along).max())
    assert [impulse(sol, 1, (k, k + 1)) for k in range(4)] == pytest.approx([1.2, 1.8, 1.8, 1.2], abs=1e-12)
    assert max(np.abs(p).max() for p in sol.multipliers[2:]) <= 1e-12


def growing_in_a_box():
    """Four balls of radius 0.5 + 0.2 t between walls at 0 and 10: they jam at t = 3.75."""
    within = jo.Line(lambda t: np.full(4, 0.5 + 0.2 * t), lower=0.0, upper=10.0)
    return jo.Motion(q0=[1.0, 2.2, 5.0, 8.0], within=within)


JAMMED = np.array([1.25, 3.75, 6.25, 8.75])


@pytest.mark.parametrize("h", [0.1, 0.02, 0.37])
def test_growing_balls_are_led_to_the_jam_whatever_their_history(h):
    """P17: |q_i - q_i,jam| <= L - 2 n r(t), the slack, which is 0.08 at t = 3.7."""
    sol = jo.solve(growing_in_a_box(), jo.Maury(), t=3.7, h=h)
    slack = 10.0 - 8.0 * (0.5 + 0.2 * sol.t)
    assert slack[-1] == pytest.approx(0.08, abs=1e-12)
    assert (np.abs(sol.q - JAMMED).max(axis=1) <= slack + 1e-12).all()


def test_beyond_the_jam_the_set_is_empty_and_the_state_is_kept():
    """P17: K_h is empty for t^{n+1} > 3.75: EmptySet in the step to 3.8, with all that came before."""
    with pytest.raises(jo.errors.EmptySet, match="wall") as caught:
        jo.solve(growing_in_a_box(), jo.Maury(), t=5.0, h=0.1)
    error = caught.value
    assert error.step == 38
    assert error.time == pytest.approx(3.8, abs=1e-12)
    assert error.solution.status == "failed"
    assert len(error.solution.t) == 38
    assert error.solution.t[-1] == pytest.approx(3.7, abs=1e-12)
    assert np.abs(error.solution.q[-1] - JAMMED).max() <= 0.08 + 1e-12


@pytest.mark.parametrize("h", [0.05, 0.25, 0.75])
def test_at_the_instant_of_the_jam_nothing_explodes(h):
    """P17: at t = 3.75 the set is one point; it is found to 1e-6 or refused, never left."""
    with pytest.raises(jo.errors.EmptySet) as caught:
        jo.solve(growing_in_a_box(), jo.Maury(), t=6.0, h=h)
    sol = caught.value.solution
    assert caught.value.time >= 3.75 - 1e-12
    assert sol.t[-1] <= 3.75 + 1e-12
    slack = 10.0 - 8.0 * (0.5 + 0.2 * sol.t[-1])
    assert np.abs(sol.q[-1] - JAMMED).max() <= slack + 1e-6


# --- curved obstacles -----------------------------------------------------------------------------------------------


def slide(v0):
    """Leaving time, and the motion after it, of a point that slides from the top of the unit disc with speed v0."""
    cosine = 2.0 / 3.0 + v0**2 / (3.0 * G)
    angle = np.arccos(cosine)
    time = quad(lambda a: 1.0 / np.sqrt(v0**2 + 2.0 * G * (1.0 - np.cos(a))), 0.0, angle, epsabs=1e-14)[0]
    speed = np.sqrt(v0**2 + 2.0 * G * (1.0 - cosine))

    def later(s):
        x = np.sin(angle) + speed * cosine * s
        y = cosine - speed * np.sin(angle) * s - G * s**2 / 2.0
        return np.array([x, y])

    return time, speed, later


def test_a_particle_slides_off_a_disc_with_order_two():
    """P23: leaves at cos theta = 2/3 + v0^2 / 3 g R; 0.2 later the error is at most 15 h^2. Never inside the disc."""
    time, speed, later = slide(0.2)
    assert time == pytest.approx(1.04871588566, abs=1e-10)
    assert speed == pytest.approx(2.55994791614, abs=1e-10)
    assert later(0.2) == pytest.approx([1.08616035, 0.09083487], abs=1e-8)
    particle = jo.Motion(q0=[0.0, 1.0], v0=[0.2, 0.0], force=[0.0, -G], within=jo.Outside([0.0, 0.0], 1.0))
    steps, errors = [(time + 0.2) / N for N in (50, 100, 200, 400)], []
    for h in steps:
        sol = jo.solve(particle, jo.Maury(), t=time + 0.2, h=h)
        errors.append(np.linalg.norm(sol.q[-1] - later(0.2)))
        assert errors[-1] <= 15.0 * h**2
        assert (np.linalg.norm(sol.q, axis=1) >= 1.0 - 1e-13).all()
    assert order(steps, errors).order == pytest.approx(2.0, abs=0.1)


def scopi_discs(t, h):
    fixed = jo.Outside([0.0, 0.0], 1.0, radii=1.0)
    disc = jo.Motion(q0=[1.0, np.sqrt(3.0)], force=[0.0, -10.0], within=fixed)
    return jo.solve(disc, jo.Maury(), t=t, h=h)


def test_scopi_gives_the_same_sphere_on_a_sphere():
    """P24: SCoPI's obstacles_sphere_sphere_moving, 100 steps of 0.005, to 1e-9."""
    q = scopi_discs(0.5, 0.005).q
    assert q.shape == (101, 2)
    assert np.abs(q[-1] - [1.52578725897, 1.29313182077]).max() <= 1e-9
    assert np.abs(q[-1] - [1.52578725887, 1.29313182065]).max() <= 1e-9


def test_the_sphere_on_a_sphere_converges_with_order_one():
    """P24: the tangential acceleration at the start costs the half kick, 1.47 h at t = 0.5."""
    steps = halvings(0.02)
    errors = [np.linalg.norm(scopi_discs(0.5, h).q[-1] - [1.52098906708, 1.29868866855]) for h in steps]
    fit = order(steps, errors)
    assert fit.order == pytest.approx(1.0, abs=0.02)
    assert errors[-1] / steps[-1] == pytest.approx(1.47, abs=0.01)


def three_cylinders():
    r = 0.5
    q0 = [[-r, r], [r, r], [0.0, r + np.sqrt(3.0) * r]]
    within = jo.Balls(np.full(3, r)) & jo.HalfSpace([0.0, 1.0], radii=r)
    return jo.Motion(q0=q0, force=[0.0, -G], within=within)


@pytest.mark.parametrize("h", [1e-3, 0.01, 0.1, 0.5])
def test_three_cylinders_start_to_spread_as_they_should_for_any_step(h):
    """P26: u_top = -g h / 7, u_base = -+ sqrt(3) g h / 7; 2 sqrt(3) g / 7 in the contacts, 10 g / 7 on the floor."""
    sol = jo.solve(three_cylinders(), jo.Maury(), t=h, h=h)
    left, right, top = sol.u[1] / (G * h)
    assert top == pytest.approx([0.0, -1.0 / 7.0], abs=1e-10)
    assert right == pytest.approx([0.247435829653, 0.0], abs=1e-10)
    assert left == pytest.approx([-0.247435829653, 0.0], abs=1e-10)
    forces = [impulse(sol, 1, pair) / (G * h) for pair in [(0, 2), (1, 2), (0, 1), (0, -1), (1, -1), (2, -1)]]
    assert forces == pytest.approx([0.494871659305, 0.494871659305, 0.0, 10.0 / 7.0, 10.0 / 7.0, 0.0], abs=1e-10)


def test_three_cylinders_lose_contact_at_the_right_angle():
    """P26: at c = cos phi with c^3 + 3 c = 2 cos 30°, found within 2 h; the speed of the base then is of order 2."""
    c0 = np.cos(np.pi / 6.0)
    c = brentq(lambda x: x**3 + 3.0 * x - 2.0 * c0, 0.0, 1.0, xtol=1e-15)
    speed = np.sqrt(2.0 * G * c**2 * (c0 - c) / (1.0 + c**2))
    assert c == pytest.approx(0.528222288593, abs=1e-12)
    assert speed == pytest.approx(1.2024294029, abs=1e-10)
    steps, errors = halvings(0.032), []
    for h in steps:
        sol = jo.solve(three_cylinders(), jo.Maury(), t=1.0, h=h, until=lambda state: state.q[2, 1] < 0.95)
        pushed = [impulse(sol, k, (1, 2)) > 0.0 for k in range(1, len(sol.t))]
        last = sum(pushed)
        assert all(pushed[:last])
        assert not any(pushed[last:])
        height = sol.q[last, 2, 1] - sol.q[last, 1, 1]
        assert abs(height - c) <= 2.0 * h
        errors.append(abs(sol.u[-1, 1, 0] - speed))
    assert order(steps, errors).order == pytest.approx(2.0, abs=0.15)


# --- many bodies ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [1e-4, 0.01, 1.0])
def test_each_ball_of_a_column_carries_those_above_it(h):
    """P36: p_k = m g (n - k + 1) h in every step, and nothing moves."""
    r, n = 0.5, 6
    floor = jo.Line(np.full(n, r), lower=0.0)
    column = jo.Motion(q0=r + 2.0 * r * np.arange(n), force=np.full(n, -2.0 * G), mass=2.0, within=floor)
    sol = jo.solve(column, jo.Maury(), t=20 * h, h=h)
    for p in sol.multipliers[1:]:
        assert p / (2.0 * G * h) == pytest.approx([6.0, 5.0, 4.0, 3.0, 2.0, 1.0], abs=1e-12)
    assert np.abs(sol.q - sol.q[0]).max() <= 1e-12


@pytest.mark.parametrize("n", [6, 12, 24])
def test_walls_without_friction_carry_no_weight(n):
    """P36: discs that zigzag in a shaft press on its walls, yet the floor carries all of them: no Janssen effect."""
    r, h = 0.5, 0.5
    k = np.arange(n)
    q0 = np.stack([r + 0.6 * (k % 2), r + 0.8 * k], axis=1)
    shaft = jo.Balls(np.full(n, r)) & jo.HalfSpace([0.0, 1.0], radii=r)
    walls = jo.HalfSpace([1.0, 0.0], radii=r) & jo.HalfSpace([-1.0, 0.0], -1.6, radii=r)
    sol = jo.solve(jo.Motion(q0=q0, force=[0.0, -1.0], within=shaft & walls), jo.Maury(), t=10 * h, h=h)
    assert np.abs(sol.u).max() <= 1e-12
    for pairs, p in zip(sol.pairs[1:], sol.multipliers[1:], strict=True):
        floor, left, right = (p[pairs[:, 1] == -1 - wall].sum() / h for wall in range(3))
        assert floor == pytest.approx(n, rel=1e-12)
        assert left == pytest.approx(right, rel=1e-11)
        assert left >= n / 2.0


def test_two_discs_with_masses_collide_obliquely():
    """P41, e = 0: normal velocities are shared by momentum, tangential ones kept; q(3) within 2 h (Remark 4.1)."""
    discs = jo.Motion(
        q0=[[0.0, 0.0], [3.0, 0.4]], v0=[[1.0, 0.0], [-0.5, 0.0]], mass=[1.0, 2.0], within=jo.Balls([0.5, 0.5])
    )
    after = [[0.16, -0.366606055596], [-0.08, 0.183303027798]]
    end = [[1.64675152216, -0.590606055596], [2.17662423892, 0.695303027798]]
    for h in [*halvings(0.05), 0.037, 0.0113, 0.0031]:
        sol = jo.solve(discs, jo.Maury(), t=3.0, h=h)
        assert np.abs(sol.q[-1] - end).max() <= 2.0 * h
        assert np.abs(sol.u[-1] - after).max() <= 2.0 * h
        assert sum(p.sum() for p in sol.multipliers) == pytest.approx(0.916515138991, abs=2.0 * h)


@pytest.mark.parametrize("h", few([0.01, 0.07, 0.3, 1.1, 3.0]))
def test_sticky_particles_on_a_line_are_exact_for_every_step(h):
    """P50: without force, q(t) = P_K(q0 + t U) at every node (isotonic regression after taking the diameters out)."""
    q0, U, offsets = np.array([0.0, 1.5, 3.0, 5.0]), np.array([2.0, 1.0, 0.5, 0.0]), np.arange(4.0)
    sol = jo.solve(jo.Motion(q0=q0, v0=U, within=jo.Line(np.full(4, 0.5))), jo.Maury(), t=3.0, h=h)
    for t, q in zip(sol.t, sol.q, strict=True):
        assert q - offsets == pytest.approx(isotonic_regression(q0 + t * U - offsets).x, abs=1e-12)
    assert sol.q[-1] == pytest.approx([3.5, 4.5, 5.5, 6.5], abs=1e-12)


# --- two solutions for one force ------------------------------------------------------------------------------------


def pulses(t, q):
    """1.6 on [2^n, 1.25 2^n), -1 elsewhere; the mantissa of t lies in [1/2, 1)."""
    mantissa, _ = math.frexp(t)
    return 1.6 if mantissa < 1.25 / 2.0 else -1.0


def from_rest_at(octave, end):
    """The motion under pulses from rest at t = 2^octave to t = 2^end, 1600 steps to an octave."""
    times = 2.0 ** (octave + np.arange((end - octave) * 1600 + 1) / 1600.0)
    ball = jo.Motion(q0=[0.0], force=pulses, within=FLOOR)
    return jo.solve(ball, jo.Maury(samples=16), t=(times[0], times[-1]), h=np.diff(times))


@pytest.mark.parametrize("octave", [-1, whole(-3)])
def test_started_at_an_odd_power_of_two_the_ball_flies_over_the_pulse(octave):
    """P61: one force, the solution q_B; q_B(1) within 5e-5 with 1600 geometric steps to an octave and f averaged."""
    sol = from_rest_at(octave, 0)
    assert abs(sol.q[-1, 0] - 0.0171875) <= 5e-5
    assert abs(sol.u[-1, 0] + 0.175) <= 5e-5


@pytest.mark.whole
def test_started_at_an_even_power_of_two_the_ball_takes_off_with_the_pulse():
    """P61: the same force, the solution q_A: over the pulse at 1/2, lands at 0.8936 (within two steps), rests at 1."""
    sol = from_rest_at(-4, 0)
    half = len(sol.t) - 1 - 1600
    assert sol.t[half] == pytest.approx(0.5, abs=1e-12)
    assert abs(sol.q[half, 0] - 0.06875 / 16.0) <= 5e-5 / 4.0
    assert abs(sol.u[half, 0] + 0.35 / 4.0) <= 5e-5 / 2.0
    last = np.flatnonzero(sol.q[:, 0] > 1e-12)[-1]
    assert sol.t[last - 2] <= 3.57449979984 / 4.0 <= sol.t[last + 2]
    assert abs(sol.q[-1, 0]) <= 1e-15
    assert abs(sol.u[-1, 0]) <= 1e-15


def smooth(t, q):
    """A force with derivatives of all orders, zero at t = 0, that changes its sign infinitely often there."""
    return np.exp(-1.0 / t) * (6.0 * np.sin(t**-3) - 1.0)


def take_off(n):
    """When the force becomes positive for the n-th time, counted towards t = 0."""
    return (np.pi - np.arcsin(1.0 / 6.0) + 2.0 * np.pi * n) ** (-1.0 / 3.0)


@pytest.mark.parametrize(
    ("first", "last", "q", "u"),
    [whole((40, 8, 1.2584106682e-07, -0.00011863324)), whole((41, 7, 2.5955256725e-07, 0.000252523433))],
)
def test_a_smooth_force_has_two_solutions_as_well(first, last, q, u):
    """P63: even and odd take-offs from rest, both to 1e-3 at t = 0.28.

    A hundred steps for each oscillation of the force until the last take-off (landings forget all errors), then the
    short steps that order 1 needs.
    """
    phases = np.linspace(take_off(first) ** -3, take_off(last) ** -3, 100 * (first - last) + 1)
    final = np.linspace(take_off(last), 0.28, int((0.28 - take_off(last)) / 1.5e-6))
    times = np.concatenate([phases[:-1] ** (-1.0 / 3.0), final])
    ball = jo.Motion(q0=[0.0], force=smooth, within=FLOOR)
    sol = jo.solve(ball, jo.Maury(), t=(times[0], times[-1]), h=np.diff(times))
    assert sol.q[-1, 0] == pytest.approx(q, rel=1e-3)
    assert sol.u[-1, 0] == pytest.approx(u, rel=1e-3)
    assert abs(sol.q[len(phases) - 1, 0]) <= 1e-6 * q


# --- feasibility: Proposition 2.1 -----------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [0.1, 1.0, 40.0, 1e4])
@pytest.mark.parametrize("aside", few([0.0, 0.3, 1.0, 1.999]))
def test_nothing_tunnels_however_long_the_step(h, aside):
    """Proposition 2.1: a disc that would go many diameters in a step does not pass through a fixed disc.

    The gap is convex and does not move: each step lies in a half-plane of Q, so that not even the way between the
    nodes overlaps, up to the round-off of the distance 7 h.
    """
    fixed = jo.Outside([0.0, 0.0], 1.0, radii=1.0)
    disc = jo.Motion(q0=[-5.0, aside], v0=[7.0, 0.0], within=fixed)
    sol = jo.solve(disc, jo.Maury(), t=10 * h, h=h)
    assert max(p.max(initial=0.0) for p in sol.multipliers) > 0.0
    for start, end in pairwise(sol.q):
        way = end - start
        length = np.linalg.norm(way)
        part = np.clip(-(start @ way) / length**2, 0.0, 1.0) if length > 0.0 else 0.0
        assert np.linalg.norm(start + part * way) >= 2.0 - 1e-15 * max(10.0, 7.0 * h)


@pytest.mark.parametrize("h", [0.1, 1.0, 40.0, 1e4])
def test_a_head_on_shot_ends_in_contact_however_long_the_step(h):
    """Proposition 2.1: what remains of a completely inelastic central impact is rest, on the side it came from."""
    disc = jo.Motion(q0=[-5.0, 0.0], v0=[7.0, 0.0], within=jo.Outside([0.0, 0.0], 1.0, radii=1.0))
    sol = jo.solve(disc, jo.Maury(), t=10 * h, h=h)
    assert sol.q[-1] == pytest.approx([-2.0, 0.0], abs=1e-15 * max(10.0, 7.0 * h))
    assert sol.u[-1] == pytest.approx([0.0, 0.0], abs=1e-14)


@pytest.mark.parametrize("h", [0.5, 20.0])
def test_two_fast_balls_do_not_pass_through_each_other(h):
    """Proposition 2.1: head-on, many diameters in a step, they meet and share their momentum."""
    q0, v0 = [[-3.0, 0.0, 0.0], [3.0, 0.0, 0.0]], [[9.0, 0.0, 0.0], [-6.0, 0.0, 0.0]]
    balls = jo.Motion(q0=q0, v0=v0, mass=[1.0, 3.0], within=jo.Balls([0.5, 0.5]))
    sol = jo.solve(balls, jo.Maury(), t=4 * h, h=h)
    distance = sol.q[:, 1, 0] - sol.q[:, 0, 0]
    assert distance[1:] == pytest.approx(1.0, abs=1e-10)
    assert sol.u[2:, :, 0] == pytest.approx((9.0 - 18.0) / 4.0, abs=1e-10)


def random_system(seed):
    """A few balls with masses, radii that may grow, in 2-D or 3-D, thrown about above a floor."""
    random = np.random.default_rng(seed)
    n, d = int(random.integers(2, 9)), int(random.integers(2, 4))
    radius, growth = random.uniform(0.2, 0.5, n), random.choice([0.0, 0.1])
    lattice = np.stack(np.meshgrid(*[np.arange(3.0)] * d), axis=-1).reshape(-1, d)
    q0 = random.permutation(lattice)[:n] + 0.5

    def radii(t):
        return radius * (1.0 + growth * t)

    floor = np.eye(d)[-1]
    mass = random.uniform(0.1, 10.0, n)
    problem = jo.Motion(
        q0=q0, v0=3.0 * random.normal(size=(n, d)), mass=mass, force=random.normal(size=(n, d)) - 5.0 * floor,
        within=jo.Balls(radii) & jo.HalfSpace(floor, radii=radii),
    )  # fmt: skip
    return problem, radii, mass, 10.0 ** random.uniform(-2.0, 1.0)


def gaps_and_gradients(q, radii):
    """All pairs (i, j) and floors (i, -1) of balls in their half-space: {who: (gap, gradient)}."""
    rows = {}
    for i in range(len(q)):
        up = np.zeros_like(q)
        up[i, -1] = 1.0
        rows[i, -1] = q[i, -1] - radii[i], up
        for j in range(i + 1, len(q)):
            apart = q[j] - q[i]
            distance = np.linalg.norm(apart)
            row = np.zeros_like(q)
            row[j], row[i] = apart / distance, -apart / distance
            rows[i, j] = distance - radii[i] - radii[j], row
    return rows


@pytest.mark.parametrize("seed", few(range(12)))
def test_configurations_are_feasible_at_all_nodes(seed):
    """Proposition 2.1: q^n is in Q(t^n) for every h, from 0.01 to 10, also with growing radii."""
    problem, radii, _, h = random_system(seed)
    sol = jo.solve(problem, jo.Maury(), t=30 * h, h=h)
    touched = 0
    for t, q, p in zip(sol.t, sol.q, sol.multipliers, strict=True):
        gap = min(gap for gap, _ in gaps_and_gradients(q, radii(t)).values())
        assert gap >= -1e-9 * radii(t).min()
        touched += int((p > 0.0).sum())
    assert touched > 0


@pytest.mark.parametrize("seed", few(range(12)))
def test_momentum_is_balanced_in_each_step(seed):
    """(1.15): M (u^{n+1} - u^n) = h f + sum p G(q^n), p >= 0, and p = 0 unless g(t^{n+1}, q^n) + h G u^{n+1} = 0."""
    problem, radii, mass, h = random_system(seed)
    sol = jo.solve(problem, jo.Maury(), t=15 * h, h=h)
    f = problem.constant_force
    for k in range(15):
        rows = gaps_and_gradients(sol.q[k], radii(sol.t[k + 1]))
        u, momentum = sol.u[k + 1], mass[:, None] * (sol.u[k + 1] - sol.u[k])
        scale = np.abs(mass[:, None] * u).max() + h * np.abs(f).max()
        reaction = np.zeros_like(f)
        for pair, p in zip(map(tuple, sol.pairs[k + 1].tolist()), sol.multipliers[k + 1], strict=True):
            gap, row = rows[pair]
            assert p >= 0.0
            assert p * abs(gap + h * np.sum(row * u)) <= 1e-9 * scale * h * np.abs(u).max()
            reaction += p * row
        assert np.abs(momentum - h * f - reaction).max() <= 1e-9 * scale
